"""Several releases attacked together, against enumeration and against linear programs over cells by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from cellveil.attackers.attacker import Attacker
from cellveil.datasets import two_way
from cellveil.judge import audit
from cellveil.judge.former_release import FormerRelease
from cellveil.judge.over_time import audit_together
from cellveil.judge.published_table import PublishedTable
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.named_keys import CellKey, cell_keys
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table
from helpers.brute_force import is_protected

VALUES = [[20, 50, 10], [8, 19, 22], [17, 32, 12]]


def hiding(problem: Problem, *cells: tuple[str, str]) -> Pattern:
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*codes) for codes in cells]] = True
    return Pattern.hiding(problem, hidden, "by hand")


def published(table: Table, hidden: np.ndarray, name: str = "May", **options: int) -> FormerRelease:
    """What everybody sees of a table; hidden values are not in it."""
    nothing, everything = np.zeros(table.num_cells, dtype=np.int64), np.full(table.num_cells, UNBOUNDED)
    shown = table.replace(values=np.where(hidden, 0, table.values))
    seen = PublishedTable.of(shown, hidden, nothing, everything, **options)
    return FormerRelease(name, seen, tuple(cell_keys(table)))


# -- one table, two patterns -------------------------------------------------------------------------------


def test_two_safe_releases_of_one_table_disclose_together() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    old = hiding(problem, ("r0", "c2"), ("r2", "c0"), ("r2", "c2"))
    assert audit(problem, new).is_safe and audit(problem, old).is_safe
    found = audit_together(problem, new, [published(problem.table, old.hidden)])
    assert not found.is_safe and found.opened_now == ("(r0, c0)",)
    assert "together with May" in found.findings[0] and "(r0, c0)" in found.findings[0]
    assert audit_together(problem, new, [published(problem.table, new.hidden)]).is_safe
    judged = replace(audit(problem, new), together=found)
    assert not judged.is_safe and judged.objections == found.findings


@pytest.mark.parametrize("seed", range(12))
def test_the_verdict_on_one_table_is_that_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(1, 9, (2, 3)).tolist()
    problem = two_way(values, primaries={(0, 0): 1, (1, 1): 2})
    problem = problem.replace(ub=np.full(problem.table.num_cells, 99))
    masks = [rng.random(problem.table.num_cells) < 0.75 for _ in range(3)]
    patterns = [Pattern.hiding(problem, mask | problem.hidden_at_start, "drawn") for mask in masks]
    formers = [published(problem.table, pattern.hidden) for pattern in patterns[1:]]
    found = audit_together(problem, patterns[0], formers)
    both = Pattern.hiding(problem, np.logical_and.reduce([p.hidden for p in patterns]), "all")
    wanted = is_protected(problem, both)
    names = [problem.table.cell_name(cell) for cell, safe in wanted.items() if not safe]
    assert sorted(found.opened_now) == sorted(names)
    assert found.is_safe == (not names)


def test_a_primary_cell_that_was_published_is_open() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    found = audit_together(problem, new, [published(problem.table, np.zeros(16, dtype=bool))])
    assert found.opened_now == ("(r0, c0)",)


# -- other breakdowns of the same data -------------------------------------------------------------------


def breakdown(cube: np.ndarray, axis: int, name: str) -> Table:
    """Region by the dimension on one axis of a cube of region × size × branch."""
    data = cube.sum(axis=3 - axis)
    letters = name[0]
    region = Dimension.of("region", Hierarchy.flat([f"g{i}" for i in range(data.shape[0])]))
    other = Dimension.of(name, Hierarchy.flat([f"{letters}{i}" for i in range(data.shape[1])]))
    rows, columns = np.indices(data.shape)
    codes = {
        "region": [f"g{i}" for i in rows.ravel()],
        name: [f"{letters}{i}" for i in columns.ravel()],
    }
    return table_from_interior([region, other], codes, data.ravel().tolist())


def intervals(tables: list[tuple[Table, np.ndarray]]) -> dict[CellKey, tuple[float, float]]:
    """What cells can be, by name: a linear program for each end, over all tables at once."""
    names: dict[CellKey, int] = {}
    fixed: dict[CellKey, int] = {}
    rows: list[Mapping[CellKey, int]] = []
    for table, hidden in tables:
        keys = cell_keys(table)
        for cell, key in enumerate(keys):
            names.setdefault(key, len(names))
            if not hidden[cell]:
                fixed[key] = int(table.values[cell])
        for row in range(len(table.relations)):
            cells, coefs = table.relations.row(row)
            rows.append({keys[cell]: int(coef) for cell, coef in zip(cells, coefs, strict=True)})
    matrix = np.zeros((len(rows), len(names)))
    for number, row in enumerate(rows):
        for key, coef in row.items():
            matrix[number, names[key]] = coef
    bounds = [(fixed[key], fixed[key]) if key in fixed else (0, None) for key in names]
    found = {}
    for key, place in names.items():
        ends = []
        for sign in (1, -1):
            cost = np.zeros(len(names))
            cost[place] = sign
            solved = linprog(cost, A_eq=matrix, b_eq=np.zeros(len(rows)), bounds=bounds)
            ends.append(sign * solved.fun if solved.status == 0 else -sign * np.inf)
        found[key] = ends[0], ends[1]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_other_breakdowns_are_attacked_as_one_system(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    cube = rng.integers(1, 30, (3, 3, 3))
    new, old = breakdown(cube, 1, "size"), breakdown(cube, 2, "branch")
    problem = Problem.of(new, {new.cell("g0", "s0"): (2, 2), new.cell("g1", "s1"): (3, 3)})
    drawn = rng.random(new.num_cells) < 0.5
    pattern = Pattern.hiding(problem, drawn | problem.hidden_at_start, "drawn")
    old_hidden = rng.random(old.num_cells) < 0.5
    found = audit_together(problem, pattern, [published(old, old_hidden)])
    together = intervals([(new, pattern.hidden), (old, old_hidden)])
    alone = intervals([(old, old_hidden)])
    keys, values = cell_keys(new), new.values
    narrow = [
        new.cell_name(cell)
        for cell in problem.primaries.tolist()
        if together[keys[cell]][0] > values[cell] - problem.lpl[cell] + 1e-6
        or together[keys[cell]][1] < values[cell] + problem.upl[cell] - 1e-6
    ]
    assert sorted(found.opened_now) == sorted(narrow)
    only_old = [key for key in cell_keys(old) if key not in set(keys)]
    hides = dict(zip(cell_keys(old), old_hidden.tolist(), strict=True))

    def is_known(of: Mapping[CellKey, tuple[float, float]], key: CellKey) -> bool:
        return of[key][1] - of[key][0] < 0.5

    opened = [k for k in only_old if hides[k] and is_known(together, k) and not is_known(alone, k)]
    assert len(found.opened_before) == len(opened)
    assert len(found.open_already) == sum(hides[key] and is_known(alone, key) for key in only_old)
    assert found.is_safe == (not narrow and not opened)


def test_a_new_breakdown_that_opens_an_older_one_names_its_cells() -> None:
    """The older release hides two regions' totals of a branch; the new one publishes these totals."""
    cube = np.arange(1, 28).reshape(3, 3, 3)
    new, old = breakdown(cube, 1, "size"), breakdown(cube, 2, "branch")
    hidden = np.zeros(old.num_cells, dtype=bool)
    hidden[[old.cell("g0", "b0"), old.cell("g0"), old.cell("g1"), old.cell("g1", "b0")]] = True
    problem = Problem.of(new, {})
    shown = Pattern.hiding(problem, np.zeros(new.num_cells, dtype=bool), "nothing")
    found = audit_together(problem, shown, [published(old, hidden)])
    assert found.opened_before == ("May: (branch b0, region g0)", "May: (branch b0, region g1)")
    assert not found.opened_now and "of former ones" in found.findings[0]
    closed = np.zeros(new.num_cells, dtype=bool)
    closed[[new.cell(), new.cell("g0"), new.cell("g0", "s0"), new.cell("g0", "s1")]] = True
    closed[[new.cell("g1"), new.cell("g1", "s0"), new.cell("g1", "s1")]] = True
    assert audit_together(problem, Pattern.hiding(problem, closed, "most"), [published(old, hidden)]).is_safe


def test_the_verdict_says_who_was_asked_beside_former_releases() -> None:
    cube = np.arange(1, 28).reshape(3, 3, 3)
    new, old = breakdown(cube, 1, "size"), breakdown(cube, 2, "branch")
    problem = Problem.of(new, {})
    shown = Pattern.hiding(problem, np.zeros(new.num_cells, dtype=bool), "nothing")
    asked = [Attacker(), Attacker("integer")]
    alone = audit(problem, shown, attackers=asked)
    same = audit_together(problem, shown, [published(old, np.zeros(16, dtype=bool))], attackers=asked)
    assert replace(alone, together=same).against.endswith("whole numbers, also beside May")
    fewer = audit_together(problem, shown, [published(old, np.zeros(16, dtype=bool))])
    assert replace(alone, together=fewer).against.endswith("also beside May (there outsiders only)")


# -- revisions, rounding, adjusted tables ----------------------------------------------------------------


def test_revised_values_are_cells_of_their_own() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    before = two_way([[20, 50, 10], [9, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})  # r1, c0 was revised
    old = hiding(before, ("r0", "c2"), ("r2", "c0"), ("r2", "c2"))
    found = audit_together(problem, new, [published(before.table, old.hidden)])
    assert found.joint is not None
    assert set(found.joint.revised) == {
        "May: (column c0, row r1)",
        "May: (row r1)",
        "May: (column c0)",
        "May: (Total)",
    }
    assert found.opened_now == ("(r0, c0)",), "row r0 is unchanged: it gives the cell away as before"
    assert not found.joint.set_apart


def test_a_revision_of_a_hidden_cell_is_seen_in_its_relations() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    before = two_way([[27, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})  # the cell itself
    old = published(before.table, new.hidden)
    found = audit_together(problem, new, [old])
    assert found.is_safe and found.joint is not None
    assert {"May: (column c0, row r0)", "May: (column c1, row r0)"} <= set(found.joint.set_apart)
    assert "taken as revised" in "\n".join(found.lines())
    said = audit_together(problem, new, [old], revised=True)
    assert said.is_safe and said.joint is not None and not said.joint.set_apart


def test_a_value_of_today_that_stands_in_a_former_release_is_known_whatever_was_revised() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    before = two_way([[27, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    old = published(before.table, hiding(before, ("r0", "c2"), ("r2", "c0"), ("r2", "c2")).hidden)
    for revised in (False, True):
        assert audit_together(problem, new, [old], revised=revised).opened_now == ("(r0, c0)",)


def test_the_same_data_with_fewer_decimals_are_the_same_data() -> None:
    fine = two_way([[204, 501, 103], [81, 193, 224], [172, 324, 122]], primaries={(0, 0): 30})
    table = fine.table.replace(decimals=1)
    problem = fine.replace(table=table)
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    coarse = two_way(VALUES, primaries={(0, 0): 3})
    old = hiding(coarse, ("r0", "c2"), ("r2", "c0"), ("r2", "c2"))
    found = audit_together(problem, new, [published(coarse.table, old.hidden)])
    assert found.opened_now == ("(r0, c0)",), "known up to rounding is known"
    rounded = audit_together(problem, new, [published(coarse.table, new.hidden)])
    assert rounded.is_safe


def test_adjusted_tables_stand_alone() -> None:
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    beside = audit_together(problem, new, [FormerRelease("May", None)])
    assert not beside.is_safe and "May is an adjusted table" in beside.findings[0]
    adjusted = audit_together(problem, None, [published(problem.table, new.hidden)])
    assert not adjusted.is_safe and "adjusted table" in adjusted.findings[0]


def test_what_no_table_agrees_with_is_not_called_safe() -> None:
    """Two branches of a region alone come to more than the region has today."""
    cube = np.full((3, 3, 3), 10)
    new, other = breakdown(cube, 1, "size"), np.zeros((3, 1, 3), dtype=np.int64)
    other[:, 0] = [[5, 60, 40], [25, 25, 25], [30, 30, 30]]
    old = breakdown(other, 2, "branch")
    problem = Problem.of(new, {new.cell("g0", "s0"): (2, 2)})
    hidden = np.zeros(old.num_cells, dtype=bool)
    hidden[[old.cell("g0"), old.cell("g0", "b0"), old.cell("g1"), old.cell("g1", "b0")]] = True
    pattern = Pattern.hiding(problem, np.ones(new.num_cells, dtype=bool), "everything")
    found = audit_together(problem, pattern, [published(old, hidden)])
    assert not found.is_safe and "no table was found" in found.findings[0]
    assert audit_together(problem, pattern, [published(old, hidden)], revised=True).is_safe


def test_rounded_releases_narrow_what_is_known() -> None:
    """A former release in multiples of four: each value is known to two."""
    problem = two_way(VALUES, primaries={(0, 0): 3})
    new = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    table = problem.table
    rounded = table.replace(values=np.rint(table.values / 4).astype(np.int64) * 4)
    nothing = np.zeros(table.num_cells, dtype=bool)
    seen = PublishedTable.of(rounded, nothing, rounded.values - 2, rounded.values + 2, rounding=4)
    found = audit_together(problem, new, [FormerRelease("May", seen, tuple(cell_keys(table)))])
    assert found.opened_now == ("(r0, c0)",), "known to 2, and 3 were asked for"
    wide = PublishedTable.of(rounded, nothing, rounded.values - 9, rounded.values + 9, rounding=18)
    assert audit_together(problem, new, [FormerRelease("May", wide, tuple(cell_keys(table)))]).is_safe


def test_former_cells_are_known_exactly_in_their_own_unit() -> None:
    """The new totals have tenths: a former whole number that is left within less than one is known."""
    fine = table_from_interior(
        [Dimension.of("region", Hierarchy.flat(["g0", "g1"]))],
        {"region": ["g0", "g1"]},
        [60.4, 66.3],
        decimals=1,
    )
    old = breakdown(np.array([[[10, 20, 30]], [[11, 22, 33]]]), 2, "branch")
    hidden = np.zeros(old.num_cells, dtype=bool)
    hidden[[old.cell("g0"), old.cell("g1"), old.cell("g0", "b0"), old.cell("g1", "b0")]] = True
    problem = Problem.of(fine, {})
    shown = Pattern.hiding(problem, np.zeros(3, dtype=bool), "nothing")
    found = audit_together(problem, shown, [published(old, hidden)])
    assert found.joint is not None and found.joint.problem.table.decimals == 1
    asked = found.joint.problem.spl > 0
    assert asked.sum() == 2 and (found.joint.problem.spl[asked] == 10).all()


def test_finer_releases_keep_their_own_relations_exact() -> None:
    """By branch, in tenths: the branches of a region add up exactly, though its total here is rounded."""
    cube = np.array([[[101, 202, 303]], [[111, 222, 333]]])
    old = breakdown(cube, 2, "branch").replace(decimals=1)
    whole = table_from_interior(
        [Dimension.of("region", Hierarchy.flat(["g0", "g1"]))], {"region": ["g0", "g1"]}, [61, 66]
    )
    problem = Problem.of(whole, {})
    shown = Pattern.hiding(problem, np.zeros(3, dtype=bool), "nothing")
    hidden = np.zeros(old.num_cells, dtype=bool)
    hidden[[old.cell("g0", "b0"), old.cell("g0", "b1"), old.cell("g1", "b0"), old.cell("g1", "b1")]] = True
    found = audit_together(problem, shown, [published(old, hidden)])
    assert found.is_safe and found.joint is not None
    hidden[old.cell("g1", "b1")] = False
    again = audit_together(problem, shown, [published(old, hidden)])
    assert again.is_safe and len(again.open_already) == 3
