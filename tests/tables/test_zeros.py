"""Rules about empty cells on tabulated microdata: every combination of codes is there, and zeros are hidden.

The public file alone is attacked, by linear programs written here: nothing is taken from the package.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

import cellveil as cv
from cellveil.microdata import tabulate as tabulating
from cellveil.microdata.tabulate import tabulate
from cellveil.rules import Threshold, ZeroRule, acro, rule_from_dict, sdctable
from cellveil.rules.apply import make_problem
from cellveil.tables.build import table_from_cells, table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from helpers.examples import few_of

REGIONS, SIZES = ["N", "S", "W", "E"], ["a", "b", "c", "d"]

JOB = """
[microdata]
file = "firms.csv"
contributor = "firm"
{micro}

[[tables]]
dimensions = ["region", "size"]
{response}

[[rules]]
{rule}
"""


def firms(seed: int = 0, empty: int = 4) -> pd.DataFrame:
    """Eight firms in every cell, but for a few that are empty."""
    random = np.random.default_rng(seed)
    cells = list(itertools.product(REGIONS, SIZES))
    left_out = {cells[k] for k in random.choice(len(cells), empty, replace=False)}
    rows = [
        (region, size, f"f{random.integers(10**6)}", int(random.integers(20, 90)))
        for region, size in cells
        if (region, size) not in left_out
        for _ in range(8)
    ]
    return pd.DataFrame(rows, columns=["region", "size", "firm", "sales"])


def run(folder: Path, data: pd.DataFrame, rule: str, response: str = 'response = "sales"', **more: str):
    data.to_csv(folder / "firms.csv", index=False)
    text = JOB.format(rule=rule, response=response, micro=more.get("micro", "")) + more.get("further", "")
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return cv.run_job(cv.read_job(folder / "job.toml"))


def public(result: cv.JobResult) -> dict[tuple[str, str], int | None]:
    """The cells of the public file, None where hidden."""
    assert result.is_safe and result.release is not None
    table = pd.read_csv(result.release.folder / "table.csv", dtype=str, keep_default_na=False)
    return {
        (row["region"], row["size"]): None if row["value"] == "x" else int(row["value"])
        for row in table.to_dict("records")
    }


def amounts(data: pd.DataFrame, column: str | None) -> dict[tuple[str, str], tuple[int, int]]:
    """Value and number of firms of every combination."""
    found = {}
    for region, size in itertools.product(["Total", *REGIONS], ["Total", *SIZES]):
        chosen = data[
            data["region"].isin(REGIONS if region == "Total" else [region])
            & data["size"].isin(SIZES if size == "Total" else [size])
        ]
        value = len(chosen) if column is None else int(chosen[column].sum())
        found[region, size] = value, chosen["firm"].nunique()
    return found


def highest(cells: dict[tuple[str, str], int | None], wanted: tuple[str, str]) -> float:
    """The largest value of a cell that agrees with everything published; values are at least 0."""
    keys = list(cells)
    place = {key: k for k, key in enumerate(keys)}
    rows = []
    for one in ["Total", *REGIONS]:
        rows.append([(one, "Total"), *((one, size) for size in SIZES)])
    for other in ["Total", *SIZES]:
        rows.append([("Total", other), *((region, other) for region in REGIONS)])
    matrix = np.zeros((len(rows), len(keys)))
    for number, (total, *parts) in enumerate(rows):
        matrix[number, place[total]] = -1
        matrix[number, [place[part] for part in parts]] = 1
    bounds = [(0, None) if value is None else (value, value) for value in cells.values()]
    cost = np.zeros(len(keys))
    cost[place[wanted]] = -1
    answer = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(rows)), bounds=bounds)
    return float("inf") if answer.status == 3 else -answer.fun


ZEROS = {
    "threshold": 'rule = "threshold"\nminimum = 3\nzeros = true',
    "gauss": 'preset = "gauss-suppression"\nmax_n = 3',
    "acro": 'preset = "acro"\nthreshold = 5\nnk = [1, 90]\np = 1',
    "sdctable": 'preset = "sdctable"\nmax_n = 3\nallow_zeros = true',
    "nested": 'first = [{rule = "dominance", n = 1, k = 90}, {any = [{rule = "threshold", zeros = true}]}]',
}


@pytest.mark.parametrize("rule", list(ZEROS))
@pytest.mark.parametrize("seed", few_of(range(2), 1))
def test_empty_cells_are_hidden_and_can_be_more(tmp_path: Path, rule: str, seed: int) -> None:
    data = firms(seed)
    cells, true = public(run(tmp_path, data, ZEROS[rule])), amounts(data, "sales")
    assert set(cells) == set(true)  # every combination is listed
    empty = [key for key, (_, number) in true.items() if number == 0]
    assert len(empty) == 4
    for key, value in cells.items():
        if key in empty:
            assert value is None and highest(cells, key) >= 1
        else:
            assert value in (None, true[key][0])
    assert any(value is not None for value in cells.values())


def test_counts_with_zeros(tmp_path: Path) -> None:
    data = firms(3)
    cells = public(run(tmp_path, data, ZEROS["threshold"] + '\nof = "value"', response=""))
    for key, (_, number) in amounts(data, None).items():
        assert number > 0 or (cells[key] is None and highest(cells, key) >= 1)


def test_a_region_without_any_firm(tmp_path: Path) -> None:
    """A hierarchy brings a code nobody has: the total of that code is an empty cell too."""
    data = firms(1)
    data = data[data["region"] != "W"]
    pd.DataFrame([("Total", code) for code in REGIONS], columns=["parent", "child"]).to_csv(
        tmp_path / "regions.csv", index=False
    )
    further = '\n[dimensions.region]\nhierarchy = "regions.csv"\n'
    cells = public(run(tmp_path, data, ZEROS["gauss"], further=further))
    true = amounts(data, "sales")
    assert true["W", "Total"][1] == 0 and len(cells) == 25
    for key, (_, number) in true.items():
        assert number > 0 or (cells[key] is None and highest(cells, key) >= 1)


def test_without_a_rule_about_zeros_empty_cells_are_not_tabulated(tmp_path: Path) -> None:
    data = firms(0)
    data.loc[0, "sales"] = 10**4
    cells = public(run(tmp_path, data, 'rule = "p%"\np = 90'))
    assert set(cells) == {key for key, (_, number) in amounts(data, "sales").items() if number}


def test_a_zero_of_contributors_is_hidden_by_the_zero_rule(tmp_path: Path) -> None:
    """Eight firms that all report 0: the cell has records, so it is there, and the rule hides it."""
    data = firms(0, empty=0)
    first = data[(data["region"] == data["region"][0]) & (data["size"] == data["size"][0])]
    data.loc[first.index, "sales"] = 0
    key = str(data["region"][0]), str(data["size"][0])
    cells = public(run(tmp_path, data, 'rule = "zero"\nrange = 5'))
    assert cells[key] is None and highest(cells, key) >= 5


def test_published_zeros_are_listed_as_zero(tmp_path: Path) -> None:
    """Empty cells that are exempt are 0 in every file, not absent."""
    rule = 'exempt = {region = ["N"]}\nof = {rule = "threshold", minimum = 3, zeros = true}'
    data = firms(0)
    data = data[~((data["region"] == "N") & (data["size"] == "a"))]
    result = run(tmp_path, data, rule)
    assert public(result)["N", "a"] == 0
    assert result.release is not None
    folder = result.release.folder
    frame = pd.read_parquet(folder / "table.parquet")
    assert frame[(frame["region"] == "N") & (frame["size"] == "a")]["value"].tolist() == [0]
    sheets = pd.read_excel(folder / "table.xlsx", sheet_name=None, header=None)
    assert not any("–" in sheet.astype(str).to_numpy() for sheet in sheets.values())


@pytest.mark.parametrize(
    "attacker",
    ['kind = "insider"', 'kind = "insider"\ncoalition = 2', 'kind = "integer"', 'kind = "pq"\np = 15'],
)
def test_other_attackers(tmp_path: Path, attacker: str) -> None:
    data = firms(2)
    cells = public(run(tmp_path, data, ZEROS["gauss"], further=f"\n[[attackers]]\n{attacker}"))
    for key, (_, number) in amounts(data, "sales").items():
        assert number > 0 or (cells[key] is None and highest(cells, key) >= 1)


# -- refusals --------------------------------------------------------------------------------


def test_too_many_combinations_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabulating, "LARGEST_PRODUCT", 24)
    with pytest.raises(cv.InputError, match=r"25 combinations of codes.*more than 24") as error:
        run(tmp_path, firms(), ZEROS["gauss"])
    assert "protect_zeros" in error.value.remedy


FLAT = [Dimension.of("region", Hierarchy.flat(["N", "S"])), Dimension.of("size", Hierarchy.flat(["a", "b"]))]


def test_a_table_without_its_empty_cells_is_refused() -> None:
    data = pd.DataFrame({"region": ["N", "N", "S"], "size": ["a", "b", "a"], "sales": [1, 2, 3]})
    some, every = (tabulate(data, FLAT, "sales", all_cells=all_cells) for all_cells in (False, True))
    for rule in (Threshold(3, zeros=True), acro(), sdctable(max_n=2, allow_zeros=True) & Threshold(2)):
        assert rule.needs_all_cells
        with pytest.raises(cv.InputError, match="looks at empty cells"):
            make_problem(some, rule)
    problem = make_problem(every, Threshold(3, zeros=True))
    cell = every.cell("S", "b")
    assert (problem.lpl[cell], problem.upl[cell], problem.lb[cell]) == (0, 1, 0)
    assert every.units is not None and every.units.who[cell].tolist() == [-1, -1, -1]
    for rule in (Threshold(3), ZeroRule(), rule_from_dict({"preset": "acro", "zeros": False})):
        assert not rule.needs_all_cells and make_problem(some, rule)


def test_a_ready_made_table_with_gaps_is_refused() -> None:
    codes = {"region": ["N", "N", "S"], "size": ["a", "b", "a"]}
    gaps = table_from_interior(FLAT, codes, [5, 6, 7])
    with pytest.raises(cv.InputError, match="looks at empty cells"):
        make_problem(gaps, Threshold(3, of="value", zeros=True))
    full = table_from_interior(FLAT, {k: [*v, "Sb"[k == "size"]] for k, v in codes.items()}, [5, 6, 7, 0])
    assert make_problem(full, Threshold(3, of="value", zeros=True)).primaries.tolist() == [
        full.cell("S", "b")
    ]
    assert full.has_all_cells and not gaps.has_all_cells
    assert table_from_cells([FLAT[0]], {"region": ["Total", "N", "S"]}, [5, 5, 0]).has_all_cells


def test_linked_tables_need_all_cells_each() -> None:
    data = pd.DataFrame({"region": ["N", "N", "S"], "size": ["a", "b", "a"], "sales": [1, 2, 3]})
    by_region = tabulate(data, FLAT[:1], "sales")
    by_size = tabulate(data, FLAT[1:], "sales")
    gaps = tabulate(data, FLAT, "sales")
    assert link([by_region, by_size]).has_all_cells
    assert not link([by_region, gaps]).has_all_cells
    assert not link([link([by_region, gaps]), by_size]).has_all_cells
