"""The attacker and the judge against enumeration, and planted faults that must be noticed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cellveil.attack.intervals import OutsiderAttack
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.errors import InputError
from cellveil.judge.cell_judge import OutsiderParams
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.tables.scaled import UNBOUNDED
from helpers.brute_force import intervals, is_protected
from helpers.small_problems import SHAPES, half_hidden_problem

Disagreement = tuple[str, int]


def given_pattern(problem: Problem) -> Pattern:
    return Pattern.hiding(problem, problem.hidden_at_start, "given")


def problems(shape: str, count: int = 15) -> list[Problem]:
    rng = np.random.default_rng(SHAPES.index(shape))
    return [half_hidden_problem(shape, rng) for _ in range(count)]


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_equal_enumeration(shape: str) -> None:
    for problem in problems(shape):
        pattern = given_pattern(problem)
        expected = intervals(problem, pattern)
        report = audit_outsider(problem, pattern)
        for position, cell in enumerate(report.cells.tolist()):
            low, high = expected[cell]
            assert report.lower[position] == pytest.approx(float(low), abs=1e-6)
            assert report.upper[position] == pytest.approx(float(high), abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("exact", [True, False])
def test_verdicts_equal_enumeration(shape: str, exact: bool) -> None:
    verdicts = set()
    for problem in problems(shape):
        pattern = given_pattern(problem)
        expected = is_protected(problem, pattern)
        report = audit_outsider(problem, pattern, exact=exact)
        assert dict(zip(report.cells.tolist(), report.safe.tolist(), strict=True)) == expected
        assert report.is_safe == all(expected.values())
        verdicts.update(expected.values())
    assert verdicts == {True, False}, "the examples must show both verdicts"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_attack_needs_no_origin(shape: str) -> None:
    for problem in problems(shape, 4):
        pattern = given_pattern(problem)
        view = PublicView.of(problem, pattern)
        blind = OutsiderAttack(view)
        for cell, (low, high) in intervals(problem, pattern).items():
            assert blind.push(cell, up=True) == pytest.approx(float(high), abs=1e-6)
            assert blind.push(cell, up=False) == pytest.approx(float(low), abs=1e-6)


def test_the_view_holds_no_hidden_value() -> None:
    problem = two_way([[987654, 50], [8, 19]], primaries={(0, 0): 3})
    view = PublicView.of(problem, given_pattern(problem))
    assert 987654 not in view.published
    assert (view.published[view.hidden] == 0).all()


def test_an_origin_that_disagrees_is_refused() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    view = PublicView.of(problem, given_pattern(problem))
    wrong = problem.table.values.copy()
    wrong[problem.primaries[0]] += 1
    with pytest.raises(InputError, match="does not agree"):
        OutsiderAttack(view, wrong)


def test_contradictory_publications_are_named() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    view = PublicView.of(problem, given_pattern(problem))
    published = view.published.copy()
    published[problem.table.cell("r0", "c1")] += 100  # more than its row holds
    broken = PublicView(view.relations, view.hidden, published, view.lb, view.ub)
    with pytest.raises(InputError, match="contradict"):
        OutsiderAttack(broken)


def test_unbounded_intervals() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    everything = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "all")
    report = audit_outsider(problem, everything)
    assert report.upper[0] == np.inf and report.lower[0] == 0
    assert report.is_safe


def test_a_published_primary_is_never_safe() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    report = audit_outsider(problem, Pattern(np.zeros(problem.table.num_cells, dtype=np.int8), "nothing"))
    assert not report.is_safe and not report.safe.any()


@pytest.mark.parametrize("exact", [True, False])
def test_no_time_means_not_safe(exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellveil.judge.outsider.prove_by_cubes_and_sums", lambda *args, **options: 0)
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): 3})
    everything = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "all")
    report = audit_outsider(problem, everything, exact=exact, deadline=Deadline(0.0))
    assert not report.is_safe and "time" in report.reason and not report.is_exact


@pytest.mark.parametrize("status", [LPStatus.UNKNOWN, LPStatus.INFEASIBLE])
def test_an_unclear_solver_means_not_safe(status: LPStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): 3})
    everything = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "all")
    monkeypatch.setattr(LiveLP, "solve", lambda self, *args, **options: LPAnswer(status))
    report = audit_outsider(problem, everything)
    assert not report.is_safe and not report.safe.any()


@pytest.mark.parametrize("exact", [True, False])
def test_workers_do_not_change_the_verdict(exact: bool) -> None:
    problem = random_table((6, 6, 5), contributors=3, zeros=0.2, seed=9)
    rng = np.random.default_rng(1)
    hidden = problem.hidden_at_start | (
        (rng.random(problem.table.num_cells) < 0.2) & (problem.table.values > 0)
    )
    pattern = Pattern.hiding(problem, hidden, "random")
    alone, shared = (
        audit_outsider(problem, pattern, exact=exact, params=OutsiderParams(workers=workers, batch=4))
        for workers in (1, 2)
    )
    assert (alone.safe == shared.safe).all() and 0 < alone.safe.sum() < len(alone.safe)
    if exact:
        assert shared.num_lps > 0
        assert alone.lower == pytest.approx(shared.lower) and alone.upper == pytest.approx(shared.upper)


# -- planted faults: an auditor that is wrong must be caught -------------------------------------------------


def _halve_levels(problem: Problem) -> Problem:
    return problem.replace(
        upl=np.where(problem.upl > 1, problem.upl // 2, problem.upl),
        lpl=problem.lpl // 2,
        spl=problem.spl * 0,
    )


def _forget_upper_levels(problem: Problem) -> Problem:
    return problem.replace(upl=np.minimum(problem.upl, 1), spl=problem.spl * 0)


def _forget_sliding_levels(problem: Problem) -> Problem:
    return problem.replace(spl=problem.spl * 0)


def _unbounded_above(problem: Problem) -> Problem:
    return problem.replace(ub=np.full(len(problem.ub), UNBOUNDED))


def _negative_allowed(problem: Problem) -> Problem:
    return problem.replace(lb=problem.lb - 1000)


def _drop_relations(problem: Problem) -> Problem:
    table = problem.table
    rows = np.arange(len(table.relations))[::2]
    return problem.replace(table=table.replace(relations=table.relations.take_rows(rows)))


FAULTS: list[Callable[[Problem], Problem]] = [
    _halve_levels,
    _forget_upper_levels,
    _forget_sliding_levels,
    _unbounded_above,
    _negative_allowed,
    _drop_relations,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_caught(fault: Callable[[Problem], Problem]) -> None:
    """An audit with the fault disagrees with enumeration on some of the examples the tests above use."""

    def is_noticed(problem: Problem) -> bool:
        pattern = given_pattern(problem)
        report = audit_outsider(fault(problem), pattern)
        verdicts = dict(zip(report.cells.tolist(), report.safe.tolist(), strict=True))
        return verdicts != is_protected(problem, pattern)

    assert any(is_noticed(problem) for shape in SHAPES for problem in problems(shape))
