"""Made-up data: the same for the same seed, additive, and shaped as asked."""

from __future__ import annotations

import csv
import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cellveil.datasets import business, random_table, two_way
from cellveil.datasets.draw import choose, choose_by_row, normal, pick, poisson
from cellveil.datasets.random_tables import random_tree
from cellveil.errors import InputError
from cellveil.files import sha256
from cellveil.problem import Problem, Status
from cellveil.tables.hierarchy import Hierarchy


@pytest.fixture(scope="module")
def firms():
    return business(20_000, seed=1)


@pytest.fixture(scope="module")
def columns(firms):
    frame = firms.frame
    return {name: np.array(frame[name].to_pylist()) for name in frame.column_names}


def leaf_cells(problem: Problem) -> np.ndarray:
    table = problem.table
    inner = [dimension.is_parent[keys] for dimension, keys in zip(table.dimensions, table.keys, strict=True)]
    return ~np.any(inner, axis=0)


# -- draws -------------------------------------------------------------------------------------------------


def test_draws_have_the_moments_they_should():
    rng = np.random.default_rng(5)
    counts = poisson(rng, 3.0, 200_000)
    assert counts.min() == 0
    assert abs(counts.mean() - 3) < 0.02
    assert abs(counts.var() - 3) < 0.05
    assert abs(poisson(rng, 2000.0, 1000).mean() - 2000) < 10
    values = normal(rng, 200_000)
    assert abs(values.mean()) < 0.01
    assert abs(values.std() - 1) < 0.01
    assert abs((values > 1.6449).mean() - 0.05) < 0.003


def test_choices_follow_the_shares():
    rng = np.random.default_rng(6)
    drawn = np.bincount(choose(rng, np.array([1.0, 0.0, 3.0]), 100_000))
    assert drawn[1] == 0
    assert abs(drawn[0] / 100_000 - 0.25) < 0.01
    shares = np.array([[1.0, 1.0, 2.0], [0.0, 5.0, 0.0]])
    rows = np.arange(100_000) % 2
    columns = choose_by_row(rng, shares, rows)
    assert set(columns[rows == 1]) == {1}
    assert np.allclose(np.bincount(columns[rows == 0]) / 50_000, [0.25, 0.25, 0.5], atol=0.01)


def test_picked_numbers_differ():
    picked = pick(np.random.default_rng(0), 30, 100)
    assert len(set(picked.tolist())) == 30
    assert picked.min() >= 0
    assert picked.max() < 100


# -- random tables -----------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_table():
    make = {"sizes": (12, 40, 7), "hierarchical": [1], "contributions": True}
    first, again, other = (
        random_table(**make, seed=4),
        random_table(**make, seed=4),
        random_table(**make, seed=5),
    )
    assert first.content_hash == again.content_hash
    assert first.content_hash != other.content_hash
    assert np.array_equal(first.table.units.who, again.table.units.who)


def test_the_data_of_a_seed_do_not_change_between_versions():
    problem = random_table((20, 40, 5), hierarchical=[1], seed=1)
    assert problem.content_hash == "665e387523cb9e674990c93c15ae8ec86a5133b2d1d2c12f7ce1e39da03ddcc3"


def test_contributions_do_not_change_the_table():
    plain = random_table((9, 8, 7), seed=2, primaries=0.2)
    assert (
        plain.content_hash == random_table((9, 8, 7), seed=2, primaries=0.2, contributions=True).content_hash
    )


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(3, 12), min_size=1, max_size=4),
    data=st.data(),
    seed=st.integers(0, 10**6),
)
def test_totals_are_the_sums_of_their_leaves(sizes, data, seed):
    trees = data.draw(st.sets(st.sampled_from(range(len(sizes)))))
    try:
        problem = random_table(sizes, hierarchical=trees, zeros=0.2, contributors=2.5, seed=seed)
    except InputError:  # all of a handful of cells happened to be empty
        assume(False)
    table = problem.table
    assert table.sizes == tuple(sizes)
    assert table.relations.residuals(table.values) == {}
    assert table.relations.residuals(table.contributors) == {}
    interior = leaf_cells(problem)
    whole = table.cell()
    assert table.values[whole] == table.values[interior].sum()
    assert table.contributors[whole] == table.contributors[interior].sum()
    assert (table.contributors >= 1).all()
    assert (table.values >= table.contributors).all()


@settings(max_examples=60, deadline=None)
@given(levels=st.integers(1, 4), extra=st.integers(0, 300), seed=st.integers(0, 1000))
def test_a_tree_has_exactly_the_codes_and_levels_asked_for(levels, extra, seed):
    size = 2 ** (levels + 1) - 1 + extra
    tree = random_tree(size, levels, np.random.default_rng(seed))
    assert len(tree.codes) == len(set(tree.codes)) == size
    assert tree.depth == levels
    assert min(len(below) for below in tree.children.values()) >= 2
    depth = {tree.root: 0}
    for parent, child in tree.pairs():
        depth[child] = depth[parent] + 1
    assert {depth[leaf] for leaf in tree.leaves} == {levels}


def test_shapes_of_the_literature():
    problem = random_table((30, 242, 22), hierarchical=[1, 2], zeros=0.0, contributors=8.0)
    assert problem.table.sizes == (30, 242, 22)
    assert problem.table.num_cells == pytest.approx(30 * 242 * 22, rel=0.002)
    assert [dimension.level.max() for dimension in problem.table.dimensions] == [1, 3, 2]


def test_a_given_tree_or_depth_is_used():
    tree = Hierarchy.from_dict({"All": {"X": ["X1", "X2"], "Y": ["Y1", "Y2", "Y3"]}})
    problem = random_table((8, 20), hierarchical={0: tree, 1: 1}, seed=3)
    assert problem.table.dimensions[0].codes == tree.codes
    assert problem.table.dimensions[1].level.max() == 1


def test_shares_of_empty_cells_and_numbers_of_contributors():
    problem = random_table((60, 60, 10), zeros=0.4, contributors=2.0, seed=8)
    interior = leaf_cells(problem)
    filled = interior.sum() / (59 * 59 * 9)
    assert filled == pytest.approx(0.6 * (1 - np.exp(-2)), abs=0.01)
    mean = problem.table.contributors[interior].mean()
    assert mean == pytest.approx(2 / (1 - np.exp(-2)), abs=0.03)


def test_contributions_have_the_tail_of_the_recipe():
    problem = random_table((80, 80), zeros=0.0, contributors=3.0, contributions=True, depth=1, seed=9)
    interior = leaf_cells(problem) & (problem.table.contributors == 1)
    single = problem.table.values[interior]
    for value in (50, 100, 500, 1000):  # P(−100/log r > v) = 1 − exp(−100/v)
        assert (single > value).mean() == pytest.approx(1 - np.exp(-100 / value), abs=0.05)


def test_primaries_by_contributors_and_by_share():
    few = random_table((15, 15), seed=3)
    assert np.array_equal(few.status == Status.PRIMARY, few.table.contributors < 3)
    share = random_table((15, 15), seed=3, primaries=0.25)
    assert len(share.primaries) == round(0.25 * share.table.num_cells)
    assert len(random_table((15, 15), primaries=0.0).primaries) == 0
    assert not np.array_equal(share.primaries, few.primaries)


def test_levels_are_a_share_rounded_up_in_integers():
    problem = random_table((40, 40), level=0.1, unit=3, seed=1)
    for cell in problem.primaries:
        value = int(problem.table.values[cell])
        assert problem.upl[cell] == max(1, (value + 9) // 10)
        assert problem.lpl[cell] == min(value, problem.upl[cell])
    wide = random_table((40, 40), level=1.5, unit=3, seed=1)
    assert (wide.lpl[wide.primaries] == wide.table.values[wide.primaries]).all()
    assert (wide.upl[wide.primaries] == -(-3 * wide.table.values[wide.primaries] // 2)).all()


def test_weights_and_decimals():
    by_value = random_table((6, 6), decimals=2)
    assert np.allclose(by_value.weight, by_value.table.values / 100)
    assert (random_table((6, 6), weight="one").weight == 1).all()
    by_count = random_table((6, 6), weight="contributors")
    assert np.array_equal(by_count.weight, by_count.table.contributors)


def test_largest_contributions_against_brute_force():
    problem = random_table((5, 8, 4), hierarchical=[1], contributions=True, depth=3, seed=11)
    table, units = problem.table, problem.table.units
    deep = random_table((5, 8, 4), hierarchical=[1], contributions=True, depth=40, seed=11).table.units
    interior = np.flatnonzero(leaf_cells(problem))
    assert deep.count[interior].max() <= 40
    covers = [
        set(zip(*map(np.ndarray.tolist, dimension.closure), strict=True)) for dimension in table.dimensions
    ]
    for cell in range(table.num_cells):
        below = [
            leaf
            for leaf in interior
            if all(
                (int(keys[leaf]), int(keys[cell])) in cover
                for keys, cover in zip(table.keys, covers, strict=True)
            )
        ]
        made = sorted(
            (
                (int(deep.top[leaf, k]), int(deep.who[leaf, k]))
                for leaf in below
                for k in range(deep.count[leaf])
            ),
            reverse=True,
        )
        assert table.values[cell] == sum(amount for amount, _ in made)
        assert units.count[cell] == len(made)
        kept = [amount for amount, _ in made[:3]]
        assert units.top[cell].tolist() == kept + [0] * (3 - len(kept))
        for amount, who in zip(units.top[cell], units.who[cell], strict=True):
            assert ((int(amount), int(who)) in made) if amount else who == -1
    whose = [table.units.names[who] for who in units.who[table.cell()]]
    assert len(set(whose)) == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sizes": (2, 5)}, "a total and two codes"),
        ({"sizes": ()}, "a total and two codes"),
        ({"sizes": (10**4, 10**4, 10**4)}, "more than"),
        ({"zeros": 1.0}, "zeros"),
        ({"contributors": 0}, "contributors"),
        ({"primaries": 1.5}, "primaries"),
        ({"level": 0}, "level"),
        ({"unit": 0}, "unit"),
        ({"depth": 0}, "depth"),
        ({"weight": "values"}, "Did you mean 'value'"),
        ({"hierarchical": [2]}, "no axis 2"),
        ({"hierarchical": {0: 3}}, "cannot have 3 levels"),
        ({"hierarchical": {0: 0}}, "cannot have 0 levels"),
        ({"hierarchical": {0: Hierarchy.flat("abc")}}, "has 4 codes, not 5"),
        ({"contributors": 1e-9}, "empty"),
    ],
)
def test_wrong_arguments_are_named(wrong, message):
    with pytest.raises(InputError, match=message):
        random_table(**({"sizes": (5, 5)} | wrong))


# -- two-way tables by hand --------------------------------------------------------------------------------


def test_two_way_has_all_cells_and_totals():
    problem = two_way([[1, 0, 3], [4, 5, 6]], [(0, 0), (2, 3)])
    table = problem.table
    assert table.num_cells == 12
    full = np.array([[1, 0, 3], [4, 5, 6]])
    full = np.vstack([full, full.sum(axis=0)])
    full = np.hstack([full, full.sum(axis=1, keepdims=True)])
    for i, j in itertools.product(range(3), range(4)):
        row, column = ["r0", "r1", "Total"][i], ["c0", "c1", "c2", "Total"][j]
        assert table.values[table.cell(row, column)] == full[i, j]
    assert set(problem.primaries) == {table.cell("r0", "c0"), table.cell()}
    assert problem.status[table.cell("r0", "c1")] == Status.FROZEN
    assert problem.upl[table.cell()] == 2
    assert problem.lpl[table.cell("r0", "c0")] == 1


def test_two_way_levels_and_decimals():
    problem = two_way([[1.5, 2.25], [3, 4]], {(0, 0): 7, (1, 2): (3, 5)}, decimals=2, weight="one")
    cell, total = problem.table.cell("r0", "c0"), problem.table.cell("r1", "Total")
    assert (problem.lpl[cell], problem.upl[cell]) == (7, 7)
    assert (problem.lpl[total], problem.upl[total]) == (3, 5)
    assert problem.table.values[problem.table.cell()] == 1075
    assert (problem.weight == 1).all()


def test_two_way_with_negative_values_and_one_row():
    negative = two_way([[-5, 2], [1, 1]], [(0, 0)])
    cell = negative.primaries[0]
    assert (negative.lpl[cell], negative.upl[cell]) == (1, 1)
    one_row = two_way([[4, 6]], [(0, 1)])
    assert one_row.table.num_cells == 3


def test_two_way_rejects_ragged_rows_and_unknown_weights():
    for interior in ([[1, 2], [3]], [], [[]]):
        with pytest.raises(InputError, match="rows"):
            two_way(interior)
    with pytest.raises(InputError, match="no weight"):
        two_way([[1, 2], [3, 4]], weight="contributors")
    with pytest.raises(InputError, match="outside"):
        two_way([[1, 2], [3, 4]], [(0, 3)])


# -- business data -----------------------------------------------------------------------------------------


def test_the_firms_of_a_seed_do_not_change_between_versions():
    frame = business(3000, seed=7).frame
    digest = sha256(*(repr((name, frame[name].to_pylist())).encode() for name in frame.column_names))
    assert digest == "daff00660b8edb937b189a863ae7804a5a2d68c0c6512f2109af681d07b5d462"


def test_firms_of_other_seeds_differ():
    assert business(500, seed=3).frame.equals(business(500, seed=3).frame)
    assert not business(500, seed=3).frame.equals(business(500, seed=4).frame)


def test_turnover_is_domestic_plus_export(columns):
    assert np.array_equal(columns["turnover"], columns["domestic"] + columns["export"])
    assert (columns["turnover"] >= 1).all()
    assert (columns["export"] >= 0).all()
    assert (columns["domestic"] >= 0).all()
    assert 0.05 < (columns["export"] > 0).mean() < 0.2


def test_firms_are_skewed_like_reality(columns):
    employees, turnover = columns["employees"], np.sort(columns["turnover"])[::-1]
    assert employees.min() == 1
    assert 0.87 < (employees < 10).mean() < 0.95
    assert 0.001 < (employees >= 250).mean() < 0.006
    assert turnover[: len(turnover) // 100].sum() > 0.4 * turnover.sum()
    assert turnover[0] < 0.3 * turnover.sum()
    per_region = np.unique(columns["region"], return_counts=True)[1]
    assert per_region.max() > 5 * np.median(per_region)
    capital, part = columns["region"] == "W11", np.char.startswith(columns["industry"], "C")
    assert capital.sum() == per_region.max()
    assert part.sum() == pytest.approx(0.087 * len(part), rel=0.1)


def test_districts_specialise(columns):
    division = np.unique(np.array([code[:3] for code in columns["industry"]]), return_inverse=True)[1]
    region = np.unique(columns["region"], return_inverse=True)[1]
    observed = np.zeros((division.max() + 1, region.max() + 1))
    np.add.at(observed, (division, region), 1)
    expected = observed.sum(axis=1, keepdims=True) * observed.sum(axis=0) / observed.sum()
    assert ((observed - expected) ** 2 / expected).sum() > 3 * observed.size


def test_size_classes_match_the_employees(columns):
    borders = {"1-9": (1, 9), "10-49": (10, 49), "50-249": (50, 249), "250+": (250, 10**9)}
    for code, (low, high) in borders.items():
        employees = columns["employees"][columns["size"] == code]
        assert len(employees)
        assert employees.min() >= low
        assert employees.max() <= high


def test_weights_are_one_for_large_firms(columns):
    weight = columns["weight"]
    assert weight.min() == 1.0
    assert weight.max() == 8.0
    assert np.array_equal(np.round(weight, 1), weight)
    assert (weight[columns["employees"] >= 50] == 1.0).all()
    assert weight[columns["employees"] < 10].mean() > 3


def test_few_firms_ask_for_protection_or_waive_it(columns):
    assert set(columns["request"]) == {"0", "1", "2"}
    assert (columns["request"] != "0").mean() < 0.01
    assert 0 < columns["waiver"].mean() < 0.01


def test_holdings_span_several_cells(columns):
    in_holding = np.char.startswith(columns["holding"], "H")
    assert in_holding.mean() == pytest.approx(0.08, abs=0.002)
    assert np.array_equal(columns["holding"][~in_holding], columns["firm"][~in_holding])
    members: dict[str, list[int]] = {}
    for row in np.flatnonzero(in_holding):
        members.setdefault(columns["holding"][row], []).append(row)
    sizes = [len(rows) for rows in members.values()]
    assert min(sizes) >= 2
    assert max(sizes) == 12
    several = [
        len({(columns["industry"][r], columns["region"][r]) for r in rows}) > 1 for rows in members.values()
    ]
    assert np.mean(several) > 0.95
    assert columns["employees"][in_holding].mean() > 2 * columns["employees"][~in_holding].mean()


def test_ids_are_distinct(columns):
    assert len(set(columns["firm"])) == len(columns["firm"])


def test_dimensions_and_labels_fit_the_data(firms, columns):
    industry, region, size = firms.dimensions
    assert [len(dimension.hierarchies[0].leaves) for dimension in firms.dimensions] == [276, 40, 4]
    assert len(industry.hierarchies[0].children["Total"]) == 20
    assert len(region.hierarchies) == 2
    assert set(region.hierarchies[1].children) == {"Total", "COAST", "INLAND"}
    for dimension in (industry, region, size):
        assert not dimension.aliases
        assert set(columns[dimension.name]) <= set(dimension.hierarchies[0].leaves)
        labels = firms.labels[dimension.name]
        assert set(labels) == set(dimension.codes)
        assert all(labels.values())
        assert len(set(labels.values())) == len(labels)
    for parent, child in industry.hierarchies[0].pairs():
        assert parent == "Total" or child.startswith(parent)


def test_written_files_are_what_a_user_would_bring(firms, columns, tmp_path):
    import pyarrow.parquet

    names = [path.name for path in firms.write(tmp_path)]
    assert sorted(names) == sorted(path.name for path in tmp_path.iterdir())
    with (tmp_path / "firms.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["industry"] for row in rows] == columns["industry"].tolist()
    assert [int(row["turnover"]) for row in rows] == columns["turnover"].tolist()
    assert [float(row["weight"]) for row in rows] == columns["weight"].tolist()
    trees = {
        "industry": firms.dimensions[0].hierarchies[0],
        "region": firms.dimensions[1].hierarchies[0],
        "region_coast": firms.dimensions[1].hierarchies[1],
        "size": firms.dimensions[2].hierarchies[0],
    }
    for name, tree in trees.items():
        with (tmp_path / f"hier_{name}.csv").open(encoding="utf-8", newline="") as file:
            pairs = [(row["parent"], row["child"]) for row in csv.DictReader(file)]
        assert Hierarchy.from_pairs(pairs) == tree
    with (tmp_path / "labels.csv").open(encoding="utf-8", newline="") as file:
        labels = {(row["dimension"], row["code"]): row["label"] for row in csv.DictReader(file)}
    assert labels["industry", "C"] == "Manufacturing"
    parquet = firms.write(tmp_path / "new" / "folder", format="parquet")[0]
    assert pyarrow.parquet.read_table(parquet).equals(firms.frame)


def test_business_rejects_nonsense(firms, tmp_path):
    with pytest.raises(InputError, match="firms"):
        business(0)
    with pytest.raises(InputError, match="unknown format"):
        firms.write(tmp_path, format="xls")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [1, 2, 5, 30])
def test_few_firms_work_too(number):
    assert len(business(number)) == number


def test_nothing_confidential_in_the_repr(firms):
    assert repr(firms) == "BusinessData(20000 firms)"


def test_import_loads_no_heavy_package():
    code = "import sys, cellveil.datasets; print({'pyarrow', 'pandas', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
