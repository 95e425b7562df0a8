"""The audit of very large components, played in small ones: windows, batches and workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cellveil.attack.interval_programs import IntervalParams
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table
from cellveil.judge import Audit, audit
from cellveil.judge.auditing import AuditParams
from cellveil.judge.cell_batches import _hardest_first
from cellveil.judge.cell_judge import AuditedView, CellJudge, OutsiderParams
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.suppression.methods import METHODS
from cellveil.tasks import InProcess, TaskPool, using_pool
from cellveil.tasks.local_processes import LocalProcesses

WINDOWS = IntervalParams(most_tied=0, window=2, tied=64)
"""Every component is taken for a very large one."""


def params_of(intervals: IntervalParams = WINDOWS, **others: int) -> AuditParams:
    """Without joint witnesses of the whole table, which need no windows."""
    return AuditParams(outsider=OutsiderParams(most_joint=0, batch=4, intervals=intervals, **others))


@pytest.fixture(scope="module")
def protected() -> tuple[Problem, Pattern]:
    """A table and a safe pattern, which single cubes do not show to be safe."""
    problem = random_table((7, 7, 6), contributors=3, zeros=0.1, seed=4)
    method = METHODS["sequential"]
    draft = method.run(problem, deadline=Deadline(None), seed=0, progress=None, params=method.read({}))
    return problem, Pattern.hiding(problem, draft.hidden, "sequential")


def opened(problem: Problem, pattern: Pattern) -> Pattern:
    """A secondary cell in relation with primaries is published after all."""
    secondary = np.flatnonzero(pattern.hidden & ~problem.hidden_at_start)
    hidden = pattern.hidden.copy()
    hidden[secondary[: len(secondary) // 2]] = False
    return Pattern.hiding(problem, hidden, "less")


def judged(problem: Problem, pattern: Pattern, params: AuditParams) -> Audit:
    return audit(problem, pattern, attackers="outsider", exact=False, params=params)


@pytest.mark.parametrize("intervals", [WINDOWS, replace(WINDOWS, narrow=0), replace(WINDOWS, windows=0)])
def test_windows_change_no_verdict(protected: tuple[Problem, Pattern], intervals: IntervalParams) -> None:
    problem, pattern = protected
    found = judged(problem, pattern, params_of(intervals))
    assert found.is_safe and found.num_lps > 0 and found.verification is not None
    assert found.verification.is_valid
    less = opened(problem, pattern)
    there, plain = judged(problem, less, params_of(intervals)), audit(problem, less, attackers="outsider")
    assert not there.is_safe and (there.safe == plain.safe).all()


@pytest.mark.parametrize("narrow", [0, 5])
def test_both_kinds_of_windows_show_something(protected: tuple[Problem, Pattern], narrow: int) -> None:
    problem, pattern = protected
    outsider = OutsiderParams(intervals=replace(WINDOWS, narrow=narrow))
    view = AuditedView(problem, PublicView.of(problem, pattern), False, False, outsider)
    judge = CellJudge(view, Deadline(None))
    shown = [
        judge._shows_in_windows(cell, True, float(judge.need_high[cell]))
        for cell in problem.primaries.tolist()
    ]
    assert any(shown)
    for cell, is_shown in zip(problem.primaries.tolist(), shown, strict=True):
        assert judge.ledger.shows(cell, up=True) >= is_shown


def test_levels_beyond_what_is_possible_are_not_shown(protected: tuple[Problem, Pattern]) -> None:
    """A planted fault: the pattern is for lower levels."""
    problem, pattern = protected
    plain = audit(problem, pattern, attackers="outsider").outsider
    assert plain is not None
    limited = plain.cells[np.isfinite(plain.upper)]
    upper = dict(zip(plain.cells.tolist(), plain.upper.tolist(), strict=True))
    cell = int(limited[0])
    upl = problem.upl.copy()
    upl[cell] = int(upper[cell]) - int(problem.table.values[cell]) + 1
    found = judged(problem.replace(upl=upl), pattern, params_of())
    assert found.unsafe_cells.tolist() == [cell]


@pytest.mark.parametrize("workers", [InProcess, lambda: LocalProcesses(2)])
def test_the_certificate_is_the_same_byte_by_byte(
    protected: tuple[Problem, Pattern], workers: Callable[[], TaskPool]
) -> None:
    """By simplex: the last digits of interior points are the solver's affair."""
    (problem, pattern), params = protected, params_of(replace(WINDOWS, windows=3), most_batches=3)
    alone = judged(problem, pattern, params).certificate.to_bytes()
    with using_pool(workers()):
        found = judged(problem, pattern, params)
    assert found.is_safe and found.certificate.to_bytes() == alone


def test_batches_with_large_demands_come_first(protected: tuple[Problem, Pattern]) -> None:
    problem, pattern = protected
    view = AuditedView(problem, PublicView.of(problem, pattern), False, False, OutsiderParams())
    batches = np.array_split(problem.primaries, 5)
    ordered = _hardest_first(CellJudge(view, NO_LIMIT), batches)
    asked = [int(np.maximum(problem.upl, problem.lpl)[batch].max()) for batch in ordered]
    assert asked == sorted(asked, reverse=True) and len(set(asked)) > 1
    assert np.array_equal(np.sort(np.concatenate(ordered)), np.sort(problem.primaries))


def test_no_contribution_crosses_to_workers(protected: tuple[Problem, Pattern]) -> None:
    problem, pattern = protected
    known = random_table((7, 7, 6), contributors=3, zeros=0.1, seed=4, contributions=True)
    assert known.table.units is not None and known.content_hash == problem.content_hash
    view = AuditedView(known, PublicView.of(known, pattern), False, False, OutsiderParams())
    crossed = pickle.loads(pickle.dumps(view))
    assert crossed.problem.table.units is None and view.problem.table.units is not None
    assert crossed.problem.content_hash == problem.content_hash
