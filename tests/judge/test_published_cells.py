"""The (p, q) attacker is asked about every cell: what is published and fails the criterion is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.insiders import PriorPosteriorInsiders, SelfKnowing
from cellveil.attackers.own_parts import OwnParts
from cellveil.datasets import two_way
from cellveil.judge.insider import audit_insiders
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.tables.scaled import UNBOUNDED
from helpers.contributions import with_contributions

CELLS = {
    (0, 0): [10, 9, 8],
    (0, 1): [90, 3, 2],  # one firm has nearly all of it, and the rule did not look
    (0, 2): [20, 20, 20],
    (1, 0): [15, 15, 15],
    (1, 1): [30, 30, 30],
    (1, 2): [12, 12, 12],
    (2, 0): [25, 25, 20],
    (2, 1): [40, 30, 30],
    (2, 2): [18, 18, 18],
}
INTERIOR = [[sum(CELLS[r, c]) for c in range(3)] for r in range(3)]
PQ = Attacker("pq", p=10)


def problem_of(primaries: dict[tuple[int, int], int]) -> Problem:
    return with_contributions(two_way(INTERIOR, primaries), CELLS)


def test_a_published_cell_that_fails_the_criterion_is_not_safe() -> None:
    problem = problem_of({})
    pattern = Pattern(problem.status, "nothing hidden")
    report = audit_insiders(problem, pattern, "pq", p=10)
    assert not report.is_safe
    assert problem.table.cell_names(report.unsafe_cells) == ["(r0, c1)"]
    assert report.is_published.all() and not report.is_primary.any()
    assert report.attackers == ("firm 4",)
    assert "published although unsafe by the criterion: (r0, c1)" in report.reason
    whole = cv.audit(problem, pattern, attackers=[Attacker(), PQ])
    assert not whole.is_safe and "(r0, c1)" in " ".join(whole.objections)
    assert not whole.verdict.startswith("Safe") and "(r0, c1)" in whole.verdict


@pytest.mark.parametrize("primaries", [{}, {(1, 2): 3}])
def test_what_fails_the_criterion_is_hidden_and_protected(primaries: dict[tuple[int, int], int]) -> None:
    problem = problem_of(primaries)
    found = cv.suppress(problem, attackers=[PQ])
    assert found.outcome in ("safe", "optimal") and found.pattern.hidden[problem.table.cell("r0", "c1")]
    report = audit_insiders(problem, found.pattern, "pq", p=10)
    assert report.is_safe and not report.is_published.any()
    alone = np.zeros(problem.table.num_cells, dtype=bool)
    alone[problem.table.cell("r0", "c1")] = True
    assert not audit_insiders(problem, Pattern.hiding(problem, alone, ""), "pq", p=10).is_safe


def test_what_must_be_published_and_fails_the_criterion_is_infeasible() -> None:
    problem = problem_of({(1, 2): 3})
    status = problem.status.copy()
    status[problem.table.cell("r0", "c1")] = Status.FROZEN
    with pytest.raises(cv.InfeasibleError, match=r"r0, c1"):
        cv.suppress(problem.replace(status=status), attackers=[PQ])


def test_whose_contributors_agreed_is_not_asked() -> None:
    problem = problem_of({})
    waived = np.zeros(problem.table.num_cells, dtype=bool)
    waived[problem.table.cell("r0", "c1")] = True
    agreed = problem.replace(waived=waived)
    assert audit_insiders(agreed, Pattern(problem.status, ""), "pq", p=10).is_safe
    by_hand = cv.make_problem(problem.table, cv.PriorPosterior(p=10, q=100), waived=[("r0", "c1")])
    assert audit_insiders(by_hand, Pattern(by_hand.status, ""), "pq", p=10).is_safe


def test_holdings_fail_where_units_do_not(tmp_path: Path) -> None:
    """Three firms of one holding and a small one: the rule looks at firms, the attackers are holdings."""
    rows = ["region,kind,firm,holding,sales"]
    for region in ("N", "S"):
        for kind in ("a", "b", "c"):
            same = (region, kind) == ("N", "a")
            for firm in range(5):
                holding = "H" if same and firm < 4 else f"{region}{kind}{firm}"
                rows.append(f"{region},{kind},{region}{kind}{firm},{holding},{10 + firm}")
    (tmp_path / "firms.csv").write_text("\n".join(rows) + "\n")
    flat = {
        name: cv.Dimension.of(name, cv.Hierarchy.flat(codes))
        for name, codes in (("region", "NS"), ("kind", "abc"))
    }
    table = cv.tabulate(
        tmp_path / "firms.csv", list(flat.values()), "sales", contributor="firm", holding="holding"
    )
    problem = cv.make_problem(table, cv.PPercent(10))
    assert len(problem.primaries) == 0
    pattern = Pattern(problem.status, "")
    assert audit_insiders(problem, pattern, "pq", p=10).is_safe
    report = audit_insiders(problem, pattern, "pq", p=10, level="holding")
    assert table.cell_names(report.unsafe_cells) == ["(N, a)"]
    found = cv.suppress(problem, attackers=[Attacker("pq", p=10, level="holding")])
    assert found.outcome in ("safe", "optimal") and found.pattern.hidden[table.cell("N", "a")]


def test_the_criterion_of_all_cells_is_that_of_each() -> None:
    rng = np.random.default_rng(4)
    for _ in range(10):
        cells = {key: rng.integers(1, 60, rng.integers(1, 5)).tolist() for key in CELLS}
        interior = [[sum(cells[r, c]) for c in range(3)] for r in range(3)]
        problem = with_contributions(two_way(interior, {}), cells)
        for coalition in (1, 2, 3):
            rule = PriorPosteriorInsiders(problem, OwnParts.of(problem), 20, 80, coalition)
            for cell in range(problem.table.num_cells):
                assert rule.failing[cell] == bool(list(rule.demands(cell)))


# -- contributions of both signs -----------------------------------------------------------------------------

SIGNED = {(0, 0): [90, -40, -10], (0, 1): [30, 25, 20], (1, 0): [20, 18, 16], (1, 1): [33, 32, 31]}


def signed_problem(lower: int) -> Problem:
    interior = [[sum(SIGNED[r, c]) for c in range(2)] for r in range(2)]
    problem = with_contributions(two_way(interior, {(0, 0): (30, 10)}), SIGNED)
    return problem.replace(lb=np.full(problem.table.num_cells, lower))


@pytest.mark.parametrize("lower", [0, -500, -UNBOUNDED])
def test_an_own_part_is_no_floor_where_others_may_be_negative(lower: int) -> None:
    """The cell is 40 and its largest firm has 90 of it: it must not be thought to know all of the cell."""
    problem = signed_problem(lower)
    cell = problem.table.cell("r0", "c0")
    insiders = SelfKnowing(problem, OwnParts.of(problem))
    for attacker in insiders.parts.in_cell(cell):
        assert insiders.demand(cell, False, attacker) == 30
        down, up = insiders.rooms(attacker, cell)
        assert down[cell] >= 30 and insiders.room(attacker, cell, False, cell) in (None, int(down[cell]))
        assert up[cell] == UNBOUNDED
    assert list(insiders.demands(cell)) == [(True, 10), (False, 30)]
    alone = problem.hidden_at_start
    assert not audit_insiders(problem, Pattern.hiding(problem, alone, "")).is_safe


def test_parts_that_are_at_most_nothing_have_a_ceiling() -> None:
    """Mirrored: where nobody contributes more than 0, a firm knows the cell to be at most its own part."""
    mirrored = {key: [-abs(part) for part in parts] for key, parts in SIGNED.items()}
    positive = {key: [abs(part) for part in parts] for key, parts in SIGNED.items()}
    sides = []
    for cells, levels in ((positive, (120, 10)), (mirrored, (10, 120))):
        interior = [[sum(cells[r, c]) for c in range(2)] for r in range(2)]
        problem = with_contributions(two_way(interior, {(0, 0): levels}), cells)
        nothing = np.zeros(problem.table.num_cells, dtype=np.int64)
        far = np.full(problem.table.num_cells, UNBOUNDED)
        bounds = {"lb": nothing, "ub": far} if cells is positive else {"lb": -far, "ub": nothing}
        sides.append(SelfKnowing(problem.replace(**bounds), OwnParts.of(problem)))
    ours, theirs = sides
    cell = ours.problem.table.cell("r0", "c0")
    for attacker in ours.parts.in_cell(cell):
        assert ours.demand(cell, False, attacker) == theirs.demand(cell, True, attacker)
        for one, other in zip(
            ours.rooms(attacker, cell), reversed(theirs.rooms(attacker, cell)), strict=True
        ):
            assert one.tolist() == other.tolist()
        for k in range(ours.problem.table.num_cells):
            assert ours.room(attacker, k, False, cell) == theirs.room(attacker, k, True, cell)
