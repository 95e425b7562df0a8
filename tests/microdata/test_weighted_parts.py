"""Weighted microdata: insiders know, and aim at, parts of the weighted total, whoever they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cellveil.attackers.own_parts import OwnParts
from cellveil.attackers.unlisted_parts import AllParts
from cellveil.errors import InputError
from cellveil.judge.insider import audit_insiders
from cellveil.microdata.tabulate import tabulate
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table

REGION = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))

Row = tuple[str, str, str, float, float]

RECORDS: list[Row] = [  # region, firm, group, amount, weight
    *(("N", firm, firm, amount, 1.0) for firm, amount in (("a", 80), ("b", 40), ("c", 25), ("d", 20))),
    *(("N", "z", "zz", 5, 400.0),),  # 2,000 of the 2,165
    *(("S", f"s{k}", f"s{k}", 30, 1.0) for k in range(5)),
    *(("W", f"w{k}", f"w{k}", 500, 1.0) for k in range(5)),
]


def tabulated(records: list[Row], **options: Any) -> Table:
    names = ("region", "firm", "group", "sales", "weight")
    columns = dict(zip(names, map(list, zip(*records, strict=True)), strict=True))
    settings: dict[str, Any] = {"contributor": "firm", "holding": "group", "weight": "weight"}
    return tabulate(pa.table(columns), [REGION], "sales", **(settings | options))


def hidden(table: Table, *regions: str, level: int = 1) -> tuple[Problem, Pattern]:
    """The first region primary, all of them hidden."""
    cells = [table.cell(region) for region in regions]
    problem = Problem.of(table, {cells[0]: (level, level)})
    return problem, Pattern.hiding(problem, np.isin(np.arange(table.num_cells), cells), "by hand")


@pytest.mark.parametrize("level", ["unit", "holding"])
@pytest.mark.parametrize("coalition", [1, 2])
def test_the_largest_by_weight_is_the_target(level: str, coalition: int) -> None:
    """One firm has 2,000 of 2,165 by weight, though four others report more: 150 in S cannot hide 200."""
    table = tabulated(RECORDS)
    assert table.floats()[table.cell("N")] == 2165
    problem, pattern = hidden(table, "N", "S")
    report = audit_insiders(problem, pattern, "pq", p=15, q=100, level=level, coalition=coalition)
    assert not report.is_safe
    problem, pattern = hidden(table, "N", "W")  # 2,500 can
    assert audit_insiders(problem, pattern, "pq", p=15, q=100, level=level, coalition=coalition).is_safe


def test_what_an_unlisted_one_can_have_is_weighted() -> None:
    """The list of N is cut off after three: whoever is not on it has less than the third part, by weight."""
    table = tabulated(RECORDS, depth=2)
    parts = OwnParts.of(hidden(table, "N", "S")[0])
    cell = table.cell("N")
    assert parts.amount[cell].tolist() == [2000, 80]
    assert (parts.unlisted[cell], parts.second[cell]) == (80, 80)
    assert parts.name(int(parts.who[cell, 0])) == "z"
    assert table.units is not None and table.units.top[cell].tolist() == [80, 40]


def test_an_insider_knows_its_weighted_part() -> None:
    """A firm with nearly all of a secondary cell by weight knows that the primary beside it cannot grow."""
    records: list[Row] = [("N", f"n{k}", "g", 40, 1.0) for k in range(4)]
    records += [("S", f"s{k}", "h", 60, 1.0) for k in range(3)] + [("S", "z", "zz", 10, 98.2)]
    records += [("W", "w", "w", 7, 1.0)]
    table = tabulated(records)  # N = 160, S = 180 + 982
    problem, pattern = hidden(table, "N", "S", level=200)
    report = audit_insiders(problem.replace(lpl=problem.lpl * 0), pattern, "insider")
    assert report.attackers == ("z",)
    weaker, pattern = hidden(table, "N", "S", level=180)
    assert audit_insiders(weaker.replace(lpl=weaker.lpl * 0), pattern, "insider").is_safe


def test_records_of_different_weight_make_one_part() -> None:
    records: list[Row] = [
        ("N", "a", "g", 100, 1.0),
        ("N", "b", "h", 90, 1.0),
        ("N", "z", "g", 10, 0.5),
        ("N", "z", "g", 20, 12.25),
        ("S", "z", "h", -30, 2.5),
    ]
    table = tabulated(records, allow_negative=True, depth=2)
    units, holdings = table.units, table.holdings
    assert units is not None and holdings is not None and units.part_who is not None
    north, total = table.cell("N"), table.cell()
    assert units.parts is not None and holdings.parts is not None
    assert units.parts[north].tolist() == [250, 100]  # 5 + 245 (each rounded once)
    assert [units.names[w] for w in units.part_who[north]] == ["z", "a"]
    assert units.parts[total].tolist() == [175, 100]
    assert holdings.parts[north].tolist() == [350, 90]
    assert holdings.parts[total].tolist() == [350, 15]
    assert (units.absolute[total], units.total[total]) == (365, 365)


def test_linked_tables_keep_the_weighted_parts() -> None:
    table = tabulated(RECORDS, depth=2)
    finer = tabulated(RECORDS, depth=3)
    joint = link([table, finer])
    assert joint.units is not None and joint.units.parts is not None and joint.units.part_who is not None
    cell = joint.cell("N")
    assert joint.units.parts[cell].tolist() == [2000, 80]
    assert [joint.units.names[w] for w in joint.units.part_who[cell]] == ["z", "a"]


def test_a_list_of_all_weighted_parts() -> None:
    table = tabulated(RECORDS, depth=2)
    problem, pattern = hidden(table, "N", "W")
    codes, who = [(r[0],) for r in RECORDS], [r[1] for r in RECORDS]
    everything = AllParts.of(table, codes, who, [round(r[3] * r[4]) for r in RECORDS])
    assert audit_insiders(problem, pattern, "pq", p=15, everything=everything).is_safe
    unweighted = AllParts.of(table, codes, who, [int(r[3]) for r in RECORDS])
    with pytest.raises(InputError, match="not that of all contributions"):
        audit_insiders(problem, pattern, "pq", p=15, everything=unweighted)


def test_weights_without_the_weighted_parts_are_refused() -> None:
    table = tabulated(RECORDS)
    assert table.units is not None
    bare = Contributions(**vars(table.units) | {"parts": None, "part_who": None})
    problem, pattern = hidden(table.replace(units=bare), "N", "S")
    with pytest.raises(InputError, match="largest weighted parts were not kept"):
        audit_insiders(problem, pattern, "insider")


@pytest.mark.parametrize("seed", range(6))
def test_short_lists_of_weighted_parts_are_never_kinder(seed: int) -> None:
    """What is shown safe with the few largest kept is safe with all of them kept."""
    random = np.random.default_rng(seed)
    regions = random.choice(["N", "S", "W"], 24)
    records: list[Row] = [
        (
            str(region),
            f"f{random.integers(9)}",
            f"g{random.integers(4)}",
            float(random.integers(1, 60)),
            float(w),
        )
        for region, w in zip(regions, random.choice([0.5, 1.0, 3.25, 30.0], 24), strict=True)
    ]
    tables = {depth: tabulated(records, depth=depth) for depth in (2, 3, 30)}
    for kind, coalition in (("insider", 1), ("pq", 1), ("pq", 2)):
        verdicts = []
        for depth in (coalition + 1, 30):
            problem, pattern = hidden(tables[depth], "N", "S", level=40)
            options: dict[str, Any] = {"p": 15, "q": 100} if kind == "pq" else {}
            report = audit_insiders(problem, pattern, kind, coalition=coalition, **options)  # type: ignore[arg-type]
            verdicts.append(report.is_safe)
        assert verdicts[0] <= verdicts[1]
