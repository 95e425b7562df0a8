"""Linked tables against tables built jointly; equations; contributors; what protecting one by one misses."""

from decimal import Decimal
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InfeasibleError, InputError
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.suppression import suppress
from cellveil.tables.build import table_from_cells, table_from_interior
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.scaled import LARGEST
from cellveil.tables.table import Table
from helpers.instances import INSTANCES, needs_instances
from helpers.naive_tables import (
    brute_relations,
    brute_totals,
    columns_of,
    contents,
    flat,
    interiors,
    relation_set,
)

REGION, SIZE, ACT = flat("region", "NS"), flat("size", "sl"), flat("act", "abc")


def up_to_sign(rows) -> set[frozenset]:
    return {min(row, frozenset((key, -coef) for key, coef in row), key=sorted) for row in rows}


def margin(axes, interior: dict, kept: tuple[int, ...]) -> Table:
    """The table of some of the dimensions, made from the interior of all."""
    chosen = [axes[axis] for axis in kept]
    sums: dict = {}
    for key, value in interior.items():
        short = tuple(key[axis] for axis in kept)
        sums[short] = sums.get(short, 0) + value
    return table_from_interior(chosen, columns_of(chosen, sums), list(sums.values()))


def in_joint_order(table: Table, axes) -> tuple[dict, set[frozenset]]:
    """Cells and relations with the keys in the order of `axes`; dimensions left out count as total."""
    place = [[d.name for d in table.dimensions].index(axis.name) for axis in axes]

    def turned(key: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(key[position] for position in place)

    cells = {turned(key): value for key, value in contents(table).items()}
    rows = [frozenset((turned(key), coef) for key, coef in row) for row in relation_set(table)]
    assert len(up_to_sign(rows)) == len(rows)
    return cells, up_to_sign(rows)


@settings(deadline=None, max_examples=60)
@given(interiors(1, fewest=8), st.data())
def test_margins_linked_are_the_joint_table_restricted_to_them(given_table, data):
    axes, interior = given_table
    if not interior:
        return
    subsets = [c for size in range(1, len(axes) + 1) for c in combinations(range(len(axes)), size)]
    kept = data.draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=3))
    linked = link([margin(axes, interior, chosen) for chosen in kept])
    used = sorted(set().union(*kept))
    axes, interior = [axes[axis] for axis in used], margin_dict(interior, used)
    totals = brute_totals(axes, interior)
    root = [d.codes[d.total] for d in axes]
    wanted = {
        key: value
        for key, value in totals.items()
        if any(all(key[i] == root[i] or axis in chosen for i, axis in enumerate(used)) for chosen in kept)
    }
    cells, rows = in_joint_order(linked, axes)
    assert cells == wanted
    adding_up = [
        row for row in brute_relations(axes, wanted) if not sum(coef * wanted[key] for key, coef in row)
    ]
    assert rows == up_to_sign(adding_up)
    if any(len(chosen) == len(used) for chosen in kept):  # one of the tables is the joint one
        assert rows == up_to_sign(brute_relations(axes, totals))
    assert linked.relations.residuals(linked.values) == {}


def margin_dict(interior: dict, kept: list[int]) -> dict:
    sums: dict = {}
    for key, value in interior.items():
        short = tuple(key[axis] for axis in kept)
        sums[short] = sums.get(short, 0) + value
    return sums


# -- dimensions that differ -------------------------------------------------------------------------------

SECTIONS = Hierarchy.flat(["A", "B", "C"])
DIVISIONS = Hierarchy.from_dict({"Total": {"A": ["A1", "A2"], "B": ["B1"], "C": ["C1", "C2", "C3"]}})
DETAIL = {"A1": 1, "A2": 2, "B1": 4, "C1": 8, "C2": 16, "C3": 32}


def by_act(tree: Hierarchy, values: dict[str, int], name: str = "act", **options) -> Table:
    dimension = Dimension.of(name, tree)
    return table_from_interior([dimension], {name: list(values)}, list(values.values()), **options)


@pytest.mark.parametrize("order", [1, -1])
def test_levels_of_one_classification(order):
    coarse = by_act(SECTIONS, {"A": 3, "B": 4, "C": 56})
    fine = by_act(DIVISIONS, DETAIL)
    linked = link([coarse, fine][::order])
    assert in_joint_order(linked, fine.dimensions) == in_joint_order(fine, fine.dimensions)
    assert linked.cell("B1") == linked.cell("B")


@pytest.mark.parametrize("order", [1, -1])
def test_detail_of_one_part_only(order):
    """The larger tree is below a code of the smaller one: the total is still that of everything."""
    coarse = by_act(SECTIONS, {"A": 3, "B": 4, "C": 56})
    part = by_act(Hierarchy.from_dict({"C": [f"C{n}" for n in range(1, 9)]}), {"C1": 8, "C2": 16, "C8": 32})
    sizes = table_from_interior([SIZE], {"size": ["s", "l"]}, [60, 3])
    linked = link([coarse, part, sizes][::order])
    act = next(d for d in linked.dimensions if d.name == "act")
    assert act.codes[act.total] == "Total"
    names = {linked.relation_name(row) for row in range(len(linked.relations))}
    shown = {name.replace(", Total)", ")").replace("(Total, ", "(") for name in names}
    assert shown == {
        "(Total) = (A) + (B) + (C)",
        "(C) = (C1) + (C2) + (C8)",
        "(Total) = (s) + (l)",
    }


def test_overlapping_hierarchies_of_two_tables():
    one = Hierarchy.from_dict({"Total": {"coast": ["A1", "B1", "C1"], "inland": ["A2", "C2", "C3"]}})
    linked = link([by_act(DIVISIONS, DETAIL), by_act(one, DETAIL)])
    both = Dimension.of("act", DIVISIONS, one)
    joint = table_from_interior([both], {"act": list(DETAIL)}, list(DETAIL.values()))
    assert in_joint_order(linked, [both]) == in_joint_order(joint, [both])


def test_totals_of_different_names_are_tied():
    """The grand total of one table is the sum of cells of the other one."""
    one = by_act(Hierarchy.flat("NS", "Total"), {"N": 4, "S": 6})
    two = by_act(Hierarchy.flat("NS", "FR"), {"N": 4, "S": 6})
    linked = link([one, two])
    names = {linked.relation_name(row) for row in range(len(linked.relations))}
    assert names == {"(Total) = (N) + (S)", "(FR) = (N) + (S)"}


def test_classifications_that_contradict_each_other():
    with pytest.raises(InputError, match="disagree about what 'Total' consists of"):
        link([by_act(SECTIONS, {"A": 1}), by_act(Hierarchy.flat(["A", "B"]), {"A": 1})])


# -- values -----------------------------------------------------------------------------------------------


def test_different_decimals():
    one = by_act(SECTIONS, {"A": "3.5", "B": "4", "C": "1"}, name="act")
    two = table_from_interior([SIZE], {"size": ["s", "l"]}, ["8.375", "0.125"])
    linked = link([one, two])
    assert (linked.decimals, linked.floats()[linked.cell()]) == (3, 8.5)
    assert linked.values[linked.cell(act="A")] == 3500
    large = by_act(SECTIONS, {"A": LARGEST - 1})
    fine = table_from_interior([SIZE], {"size": ["s"]}, ["0.5"])
    with pytest.raises(InputError, match="too large"):
        link([large, fine])


def test_common_cells_that_disagree_are_named_without_their_values():
    one = by_act(SECTIONS, {"A": 71234, "B": 82345})
    two = table_from_interior(
        [Dimension.of("act", SECTIONS), SIZE], {"act": ["A", "B"], "size": ["s", "l"]}, [71234, 82346]
    )
    with pytest.raises(InputError, match=r"table 2 has another value .*\(2 such cells\)") as caught:
        link([one, two])
    assert caught.value.cell in ("(Total, Total)", "(B, Total)")
    assert not any(value in str(caught.value) for value in ("71234", "82345", "82346"))


def test_a_sum_across_tables_that_does_not_add_up():
    """No cell is common, but together the tables show all terms of a sum."""
    coarse = by_act(SECTIONS, {"A": 3, "B": 4, "C": 7})
    fine = by_act(Hierarchy.from_dict({"X": {"A": ["A1", "A2"]}}), {"A1": 1, "A2": 2})
    cells = np.array([cell for cell in range(fine.num_cells) if fine.key(cell)[0] in ("A1", "A2")])
    loose = fine.replace(
        keys=tuple(column[cells] for column in fine.keys),
        values=fine.values[cells] + np.array([0, 5]),
        relations=fine.relations.take_rows(np.zeros(0, dtype=np.int64)).renumber(
            2, np.zeros(3, dtype=np.int64)
        ),
    )
    with pytest.raises(InputError, match=r"\(A\) = \(A1\) \+ \(A2\) is off"):
        link([coarse, loose])


def test_nothing_to_link():
    with pytest.raises(InputError, match="no table to link"):
        link([])
    alone = by_act(SECTIONS, {"A": 1, "B": 2})
    assert in_joint_order(link([alone]), alone.dimensions) == in_joint_order(alone, alone.dimensions)


# -- equations between variables --------------------------------------------------------------------------


def variable(name: str, values: list[int], decimals: int = 0) -> Table:
    return table_from_interior([REGION], {"region": ["N", "S"]}, values, variable=name, decimals=decimals)


DOMESTIC, EXPORT = variable("domestic", [3, 5]), variable("export", [4, 0])
TURNOVER = variable("turnover", [7, 5])


def test_a_variable_is_the_sum_of_others():
    linked = link([TURNOVER, DOMESTIC, EXPORT], {"turnover": ["domestic", "export"]})
    variables = Dimension.of("variable", Hierarchy.from_dict({"turnover": ["domestic", "export"]}))
    joint = table_from_interior(
        [REGION, variables],
        {"region": ["N", "N", "S", "S"], "variable": ["domestic", "export"] * 2},
        [3, 4, 5, 0],
    )
    assert in_joint_order(linked, joint.dimensions) == in_joint_order(joint, joint.dimensions)
    assert linked.values[linked.cell("N", "export")] == 4


def test_an_equation_with_coefficients():
    profit, costs = variable("profit", [2, -1]), variable("costs", [5, 6])
    linked = link([profit, TURNOVER, costs], {"profit": {"turnover": 1, "costs": -1}})
    names = {linked.relation_name(row) for row in range(len(linked.relations))}
    for region in ("Total", "N", "S"):
        assert f"({region}, profit) + ({region}, costs) = ({region}, turnover)" in names
    assert len(names) == 6


def test_variables_without_equation_stay_apart():
    linked = link([DOMESTIC, EXPORT])
    assert (linked.num_cells, len(linked.relations), linked.variable) == (6, 2, "value")


def test_an_equation_where_an_empty_cell_is_not_stored():
    sparse = table_from_interior([REGION], {"region": ["N"]}, [4], variable="export")
    linked = link([TURNOVER, DOMESTIC, sparse], {"turnover": ["domestic", "export"]})
    names = {linked.relation_name(row) for row in range(len(linked.relations))}
    assert "(S, turnover) = (S, domestic)" in names


def test_an_equation_that_does_not_hold_is_not_dropped():
    wrong = variable("turnover", [8, 4])
    with pytest.raises(InputError, match=r"\(N, turnover\) = \(N, domestic\) \+ \(N, export\) is off"):
        link([wrong, DOMESTIC, EXPORT], {"turnover": ["domestic", "export"]})


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        ({"turnover": ["domestic", "exports"]}, r"names 'exports', .* Did you mean 'export'"),
        ({"sales": ["domestic", "export"]}, "names 'sales'"),
        ({"turnover": ["domestic", "domestic"]}, "names a variable twice"),
        ({"turnover": ["turnover", "export"]}, "names a variable twice"),
        ({"turnover": []}, "is empty"),
        (
            {"turnover": {"domestic": 0.5, "export": 1}},
            "coefficient of 'domestic' is 0 or not a whole number",
        ),
        ({"turnover": {"domestic": 1, "export": 0}}, "coefficient of 'export' is 0 or not a whole number"),
    ],
)
def test_equations_that_are_wrong(equations, message):
    with pytest.raises(InputError, match=message) as caught:
        link([TURNOVER, DOMESTIC, EXPORT], equations)
    assert caught.value.remedy


def test_linking_what_is_linked():
    linked = link([TURNOVER, DOMESTIC, EXPORT], {"turnover": ["domestic", "export"]})
    again = link([linked, DOMESTIC])
    assert in_joint_order(again, linked.dimensions) == in_joint_order(linked, linked.dimensions)
    with pytest.raises(InputError, match="a table has no dimension 'variable'"):
        link([linked, variable("costs", [1, 2])])
    with pytest.raises(InputError, match="have a dimension 'variable' already"):
        link([linked], {"turnover": ["domestic", "export"]})


# -- contributors -----------------------------------------------------------------------------------------


def with_units(table: Table, decimals: int, who: list[str], depth: int = 1) -> Table:
    """One contributor makes up each cell; by name."""
    names = tuple(sorted(set(who), reverse=True))
    top = np.zeros((table.num_cells, depth), dtype=np.int64)
    top[:, 0] = table.values * 10**decimals
    positions = np.full(top.shape, -1, dtype=np.int32)
    positions[:, 0] = [names.index(name) for name in who]
    units = Contributions(
        decimals, np.arange(table.num_cells), top[:, 0].copy(), top[:, 0].copy(), top, positions, names
    )
    return table.replace(units=units, contributors=np.arange(table.num_cells))


ONE = with_units(by_act(SECTIONS, {"A": 3, "B": 4, "C": 1}), 0, ["all", "ann", "bob", "cy"], depth=2)
TWO = with_units(table_from_interior([SIZE], {"size": ["s", "l"]}, [2, 6]), 2, ["all", "sue", "ann"])


@pytest.mark.parametrize("order", [1, -1])
def test_contributors_keep_their_names(order):
    linked = link([ONE, TWO][::order])
    units = linked.units
    assert (units.decimals, units.depth) == (2, 1)

    def maker(**codes: str) -> tuple[str, int]:
        cell = linked.cell(**codes)
        return units.names[units.who[cell, 0]], int(units.top[cell, 0])

    assert maker() == ("all", 800)
    assert (maker(act="A"), maker(act="B"), maker(act="C")) == (("ann", 300), ("bob", 400), ("cy", 100))
    assert (maker(size="s"), maker(size="l")) == (("sue", 200), ("ann", 600))
    assert sorted(units.names) == ["all", "ann", "bob", "cy", "sue"]


def test_contributors_known_in_some_tables_only():
    linked = link([ONE.replace(units=None, contributors=None), TWO])
    assert linked.units is None
    counts = {linked.key(cell): int(count) for cell, count in enumerate(linked.contributors)}
    assert counts[("Total", "Total")] == TWO.contributors[TWO.cell()]
    assert counts[("A", "Total")] == -1
    assert link([ONE.replace(contributors=None), TWO.replace(contributors=None)]).contributors is None


def test_the_smallest_known_count_counts():
    more = TWO.replace(contributors=np.array([5, -1, 7]))
    linked = link([ONE, more])
    assert linked.contributors[linked.cell()] == ONE.contributors[ONE.cell()] == 0
    assert linked.contributors[linked.cell(size="s")] == -1


def test_contributors_of_different_kinds():
    weighted = TWO.units.top * 1.0
    odd = TWO.replace(units=Contributions(**vars(TWO.units) | {"top_weight": weighted}))
    with pytest.raises(InputError, match="only some of the linked tables carry top_weight"):
        link([ONE, odd])


def test_columns_present_in_all():
    one = ONE.replace(columns={"cost": np.arange(4.0), "only": np.zeros(4)})
    two = TWO.replace(columns={"cost": np.arange(10.0, 13.0)})
    linked = link([one, two])
    assert list(linked.columns) == ["cost"]
    assert linked.columns["cost"][linked.cell(size="l")] == 12


# -- why: safe one by one is not safe together ------------------------------------------------------------


def totals_of(rows: dict[str, tuple[int, int]], other: Dimension) -> Table:
    codes = [code for code in other.codes if code != "Total"]
    keys = [(act, code) for act in rows for code in codes]
    return table_from_interior([ACT, other], columns_of([ACT, other], keys), sum(rows.values(), ()))


def test_tables_that_are_safe_one_by_one_can_give_a_cell_away_together():
    """One table swaps a's total with b's, the other one with c's: each of them gives away the other's."""
    by_region = totals_of({"a": (20, 20), "b": (8, 52), "c": (30, 30)}, REGION)
    by_size = totals_of({"a": (20, 20), "b": (30, 30), "c": (8, 52)}, SIZE)
    joint = link([by_region, by_size])
    hidden = np.zeros(joint.num_cells, dtype=bool)
    for table in (by_region, by_size):
        problem = Problem.of(table, {table.cell("a"): (5, 5)})
        result = suppress(problem)
        assert audit_outsider(problem, result.pattern).is_safe
        for cell in np.flatnonzero(result.pattern.hidden).tolist():
            codes = {d.name: code for d, code in zip(table.dimensions, table.key(cell), strict=True)}
            hidden[joint.cell(**codes)] = True  # common cells are hidden in both tables

    problem = Problem.of(joint, {joint.cell(act="a"): (5, 5)})
    verdict = audit_outsider(problem, Pattern.hiding(problem, hidden, "one by one"))
    assert not verdict.is_safe
    assert (verdict.lower[0], verdict.upper[0]) == (40, 40)  # the attacker knows it exactly

    together = suppress(problem)
    verdict = audit_outsider(problem, together.pattern)
    assert verdict.is_safe
    assert verdict.lower[0] <= 35
    assert verdict.upper[0] >= 45


@settings(deadline=None, max_examples=60)
@given(interiors(1, fewest=8), st.data())
def test_linked_tables_suppressed_together_pass_the_audit_of_the_whole(given_table, data):
    axes, interior = given_table
    if len(axes) < 2 or len(interior) < 4:
        return
    axes, interior = axes[:3], margin_dict(interior, list(range(min(3, len(axes)))))
    pairs = list(combinations(range(len(axes)), max(1, len(axes) - 1)))
    linked = link([margin(axes, interior, chosen) for chosen in pairs])
    cell = data.draw(st.integers(0, linked.num_cells - 1))
    problem = Problem.of(linked, {cell: (1, 1)})
    try:
        result = suppress(problem)
    except InfeasibleError:  # alone in its sums: nothing can hide it
        everything = Pattern.hiding(problem, linked.values != 0, "everything")
        assert not audit_outsider(problem, everything).is_safe
        return
    assert result.is_safe == audit_outsider(problem, result.pattern).is_safe
    assert result.is_safe


# -- the French sample ------------------------------------------------------------------------------------

FOLDER = INSTANCES / "microdata"
FRENCH = {
    "act_size": ("ACTIVITY", "SIZE"),
    "act_cj": ("ACTIVITY", "CJ"),
    "nuts_size": ("NUTS", "SIZE"),
    "nuts_cj": ("NUTS", "CJ"),
}


@needs_instances
def test_french_linked_tables():
    """Four tables of turnover with 4 decimals, exactly additive, linked by their margins."""
    activity = pd.read_csv(FOLDER / "rtau_activity_corr_table.csv", dtype=str)
    nuts = pd.read_csv(FOLDER / "rtau_nuts23_fr_corr_table.csv", dtype=str)
    dimensions = {
        "ACTIVITY": Dimension.of("ACTIVITY", Hierarchy.from_columns(activity, ["A10", "A21", "A88"])),
        "SIZE": flat("SIZE", ["tr1", "tr2", "tr3"]),
        "CJ": flat("CJ", ["LL", "PA", "SP"]),
        "NUTS": Dimension.of("NUTS", Hierarchy.from_columns(nuts, ["NUTS2", "NUTS3"])),
    }
    tables, expected = [], {}
    for name, axes in FRENCH.items():
        frame = pd.read_csv(FOLDER / f"rtau_turnover_{name}.csv", dtype=str)
        codes = {axis: frame[axis].tolist() for axis in axes}
        tables.append(table_from_cells([dimensions[axis] for axis in axes], codes, frame["TOT"].tolist()))
        for row in frame.to_dict("records"):
            key = tuple(d.codes[d.index[row.get(axis, "Total")]] for axis, d in dimensions.items())
            assert expected.setdefault(key, int(Decimal(row["TOT"]).scaleb(4))) == int(
                Decimal(row["TOT"]).scaleb(4)
            )
    linked = link(tables)
    assert (linked.num_cells, linked.decimals) == (1493, 4)
    cells, rows = in_joint_order(linked, list(dimensions.values()))
    assert cells == expected
    assert rows == up_to_sign(
        row
        for row in brute_relations(list(dimensions.values()), expected)
        if not sum(coef * expected[key] for key, coef in row)
    )
    assert len(rows) == 835 < sum(len(table.relations) for table in tables)


# -- what the joint table cannot see -----------------------------------------------------------------------


def by(*axes, interior: dict) -> Table:
    return table_from_interior(list(axes), columns_of(axes, interior), list(interior.values()))


def test_tables_that_share_contributors_but_not_their_finest_cells_are_named():
    crossed = {(r, s): 1 for r in "NS" for s in "sl"}
    regions = by(REGION, interior={("N",): 2, ("S",): 2})
    sizes = by(SIZE, interior={("s",): 2, ("l",): 2})
    both = by(REGION, SIZE, interior=crossed)
    (note,) = link([regions, sizes]).notes
    assert note.startswith("tables 1 (value: region) and 2 (value: size)") and "status m" in note
    assert link([regions, sizes, both]).notes == ()
    assert link([regions, sizes]).replace(variable="other").notes == (note,)
    with_act = by(REGION, ACT, interior={(r, a): 1 for r in "NS" for a in "ab"})
    assert [n.split(" have")[0] for n in link([both, regions, with_act]).notes] == [
        "tables 1 (value: region × size) and 3 (value: region × act)"
    ]


def test_tables_of_different_parts_or_variables_are_not():
    coarse = by_act(SECTIONS, {"A": 3, "B": 4, "C": 56})
    details = [by_act(Hierarchy.from_dict({"A": ["A1", "A2"]}), {"A1": 1, "A2": 2})]
    details += [by_act(Hierarchy.from_dict({"C": ["C1", "C2"]}), {"C1": 24, "C2": 32})]
    assert link([coarse, *details]).notes == ()
    turnover = table_from_interior([REGION], {"region": ["N", "S"]}, [4, 6], variable="turnover")
    staff = table_from_interior([SIZE], {"size": ["s", "l"]}, [1, 2], variable="staff")
    assert link([turnover, staff]).notes == ()
    export = table_from_interior([SIZE], {"size": ["s", "l"]}, [1, 1], variable="export")
    assert len(link([turnover, export], {"turnover": {"export": 5}}).notes) == 1
