"""Patterns beside earlier releases: what these give away alone, what ran out of time, and what is lowered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from itertools import count

import numpy as np
import pytest

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.default_attackers import AttackersTested
from cellveil.clock import NO_LIMIT
from cellveil.errors import InfeasibleError
from cellveil.judge import audit
from cellveil.judge.attack_report import Ending
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.previous.joint import JointProblem
from cellveil.previous.releases import PreviousRelease, ReleasedTable
from cellveil.previous.together import _num_undecided, suppress_jointly, without_known
from cellveil.problem import Problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.cells import cell_number
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table

OUTSIDERS = AttackersTested((Attacker(),))


def table(names: str, values: Sequence[int], primaries: Mapping[str, int]) -> Problem:
    """One dimension and its total; primaries with their protection level."""
    dimension = Dimension.of("reg", Hierarchy.flat(list(names), total="T"))
    own = table_from_interior([dimension], {"reg": list(names)}, list(values), variable="v")
    return Problem.of(own, {(name,): level for name, level in primaries.items()})


def release(
    dimensions: Sequence[str],
    rows: Mapping[tuple[str, ...], int | None],
    contains: Mapping[str, Sequence[str]] | None = None,
) -> PreviousRelease:
    """An earlier release of one table; its codes with what they contain."""
    about = {
        "absent": "unknown",
        "columns": {name: name for name in dimensions},
        "contains": {dimensions[0]: dict(contains or {})},
    }
    codes = tuple(tuple(key[place] for key in rows) for place in range(len(dimensions)))
    values = tuple(None if value is None else Decimal(value) for value in rows.values())
    totals = dict.fromkeys(dimensions, "T")
    one = ReleasedTable("v", tuple(dimensions), codes, values, 0, totals)
    return PreviousRelease("before", about, (one,), "0" * 64)


PAIRS = {"ab": ["a", "b"], "bc": ["b", "c"], "ac": ["a", "c"]}
"""Codes that overlap: a = (ab + ac − bc) / 2, which no single relation tells."""


def pairs() -> PreviousRelease:
    return release(["reg"], {("ab",): 30, ("bc",): 50, ("ac",): 40}, PAIRS)


def test_what_earlier_releases_give_away_alone_is_found() -> None:
    problem = table("abcd", [10, 20, 30, 40], {"a": 3})
    joint = JointProblem.of(problem, [pairs()])
    assert joint is not None
    cell = cell_number(problem.table, ("a",))
    found, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS)
    assert judged.known_already == ["(a)"] and not judged.is_safe and found.pattern.hidden[cell]
    found, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS, accepted="known since May")
    assert judged.known_already == ["(a)"] and judged.is_safe and found.pattern.hidden[cell]


def test_a_level_that_earlier_releases_break_is_no_level_to_lower() -> None:
    problem = table("abcd", [10, 20, 30, 40], {"a": 3})
    joint = JointProblem.of(problem, [pairs()])
    assert joint is not None
    found, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS, relax=True)
    assert judged.known_already == ["(a)"] and not judged.is_safe
    assert found.relaxation is None


C_ROWS: dict[tuple[str, ...], int | None] = {("c", "x"): 4, ("c", "y"): 6, ("c", "T"): 10}


@pytest.mark.parametrize("relax", [False, True])
def test_what_only_the_empty_cells_of_this_release_give_away_is_not_known_before(relax: bool) -> None:
    """(a, x) is 5 as soon as b, and so (b, x), is known to be empty; before that only their sum is."""
    rows: dict[tuple[str, ...], int | None] = {("a", "x"): None, ("b", "x"): None, ("ab", "x"): 5, **C_ROWS}
    former = release(["reg", "size"], rows, {"ab": ["a", "b"]})
    problem = table("abc", [8, 0, 10], {})
    joint = JointProblem.of(problem, [former])
    assert joint is not None
    cells = joint.problem.primaries
    assert len(cells)
    assert without_known(joint, cells, None)[1] == ()
    with pytest.raises(InfeasibleError):
        suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS, accepted="all is known", relax=relax)


def test_former_cells_known_before_need_the_consent_of_the_office() -> None:
    rows: dict[tuple[str, ...], int | None] = {("a", "x"): None, ("b", "x"): 3, ("ab", "x"): 5, **C_ROWS}
    former = release(["reg", "size"], rows, {"ab": ["a", "b"]})
    problem = table("abc", [8, 7, 10], {})
    joint = JointProblem.of(problem, [former])
    assert joint is not None
    _, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS)
    assert len(judged.known_former) == 1 and not judged.is_safe and "accept_known" in judged.findings[0]
    _, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS, accepted="known since May")
    assert judged.is_safe and any("Accepted" in line for line in judged.lines())


# -- the size of revisions -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("then", "percent"), [(1002, 1), (1015, 2), (1300, 50), (900, 10)])
def test_the_size_of_a_revision_is_stated_in_bands(then: int, percent: int) -> None:
    problem = table("abcd", [1000, 20, 30, 40], {})
    rows: dict[tuple[str, ...], int | None] = {("a",): then, ("b",): 20, ("c",): 30, ("d",): 40}
    joint = JointProblem.of(problem, [release(["reg"], rows)])
    assert joint is not None
    (facts,) = joint.facts
    assert facts.revised == 1 and facts.to_dict()["largest_revision_percent"] == percent
    assert f"by {percent} % at most" in facts.line()


# -- lack of time --------------------------------------------------------------------------------------------


def narrow() -> Problem:
    """The first cell, 10 with level 3, can only be worked out from three relations together."""
    values = np.array([10, 20, 30, 30, 50, 40])
    rows = [[(0, 1), (1, 1), (3, -1)], [(1, 1), (2, 1), (4, -1)], [(0, 1), (2, 1), (5, -1)]]
    dimension = Dimension.unstructured(CELL, list("abcdef"))
    relations = Relations.from_rows(6, rows)
    own = Table((dimension,), (np.arange(6, dtype=np.int32),), values, 0, relations, variable="v")
    return Problem.of(own, {0: 3})


def test_a_refuted_cell_is_not_undecided_because_time_ran_out() -> None:
    """Whenever time runs out: once one direction is refuted, the cell is not protected."""
    problem = narrow()
    pattern = Pattern.hiding(problem, np.array([1, 1, 1, 0, 0, 0], dtype=bool), "by hand")
    seen = set()
    for looks in range(400):
        number = count()
        deadline = NO_LIMIT.or_when(lambda number=number, looks=looks: next(number) >= looks)
        report = audit_outsider(problem, pattern, exact=False, deadline=deadline)
        assert not report.is_safe
        seen.add((str(report.reason), len(report.undecided)))
        if report.reason == Ending.COMPLETE:
            break
    assert (str(Ending.SOLVE_UNCLEAR), 1) in seen  # nothing was solved
    assert (str(Ending.SOLVE_UNCLEAR), 0) in seen  # one direction was refuted, the other one not reached
    assert (str(Ending.COMPLETE), 0) in seen


def test_only_undecided_cells_count_as_not_tested() -> None:
    problem = narrow()
    pattern = Pattern.hiding(problem, np.array([1, 1, 1, 0, 0, 0], dtype=bool), "by hand")
    assert _num_undecided(audit(problem, pattern, exact=False)) == 0  # refuted
    assert _num_undecided(audit(problem, pattern, exact=False, time_limit=0.0)) == 1


# -- what earlier releases leave open ------------------------------------------------------------------------


def test_of_what_earlier_releases_leave_open_the_new_one_leaves_a_share_open() -> None:
    """a + b = 14 was published: a of 10 can rise by 4, not by 6, and the new release must not tell it."""
    problem = table("abcd", [10, 4, 30, 40], {"a": 6})
    joint = JointProblem.of(problem, [release(["reg"], {("ab",): 14, ("c",): 30}, {"ab": ["a", "b"]})])
    assert joint is not None
    found, judged = suppress_jointly(joint, problem, "auto", attackers=OUTSIDERS, accepted="known since May")
    cell = cell_number(problem.table, ("a",))
    assert judged.is_safe and judged.known_already == ["(a)"]
    assert (judged.joint.own.upl[cell], judged.joint.own.lpl[cell]) == (2, 6)
    assert found.pattern.hidden[cell] and found.audit.is_safe
    report = audit_outsider(judged.joint.problem, judged.joint.pattern(found.pattern.hidden))
    place = report.cells.tolist().index(cell)
    assert report.lower[place] <= 4 and report.upper[place] >= 12


def test_a_cell_is_lowered_only_once() -> None:
    problem = table("abcd", [10, 4, 30, 40], {"a": 6})
    joint = JointProblem.of(problem, [release(["reg"], {("ab",): 14, ("c",): 30}, {"ab": ["a", "b"]})])
    assert joint is not None
    cells = joint.problem.primaries
    lowered, known = without_known(joint, cells, None)
    assert known == tuple(cells)
    assert without_known(lowered, cells, None) == (lowered, ())
