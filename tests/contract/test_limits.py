"""Time limits: who looks at the clock, what is said when it is over, what counts as not judged yet.

No test waits: clocks jump ahead by a second whenever somebody looks at them, or are over from the beginning.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cellveil.adjustment.adjusting import METHODS as ADJUSTING
from cellveil.adjustment.adjusting import adjust
from cellveil.attackers.attacker import Attacker
from cellveil.clock import OVERTIME_SECONDS, OVERTIME_SHARE, Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.movement import Movement
from cellveil.errors import InfeasibleError, NotSafeError
from cellveil.judge.insider import NOT_JUDGED, audit_insiders
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.suppression import METHODS, suppress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.infeasible import relaxing
from cellveil.suppression.infeasible.relaxing import diagnose
from cellveil.suppression.methods import auto
from cellveil.suppression.other_attackers import outsider_shield
from cellveil.suppression.other_attackers.defence import Defence
from cellveil.suppression.other_attackers.insider_shield import InsiderShield
from helpers.problem_kinds import problem_of, protected

INSIDER = Attacker("insider")
LOOKS_AFTERWARDS = 300
"""So often the clock may be looked at after the end, in tables of some hundred cells: to see that it is."""


class Clock:
    """Goes on by so much whenever somebody looks at it."""

    def __init__(self, step: float = 1.0) -> None:
        self.now, self.step, self.looks = 1_000.0, step, 0

    def __call__(self) -> float:
        self.looks += 1
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The clock of all searches."""
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made)
    yield made
    monkeypatch.undo()


def with_contributions(seed: int = 2) -> Problem:
    return random_table((7, 8), contributors=3, zeros=0.2, contributions=True, depth=5, seed=seed)


# -- deadlines -----------------------------------------------------------------------------------------------


def test_shares_are_earlier_and_overtime_is_later(clock: Clock) -> None:
    clock.step = 0.0
    deadline = Deadline(100.0)
    clock.now += 50.0
    assert deadline.share(0.5).left == 25.0
    assert deadline.share(0.5, most=10.0).left == 10.0
    assert deadline.overtime().left == 50.0 + 100.0 * OVERTIME_SHARE + OVERTIME_SECONDS
    clock.now += 60.0
    assert deadline.is_over and deadline.share(1.0).is_over and not deadline.overtime().is_over
    endless = Deadline(None)
    assert endless.share(0.5, most=1.0).left is None and endless.overtime().left is None


def test_overtime_leaves_room_within_the_promise() -> None:
    assert OVERTIME_SHARE <= 0.05 and OVERTIME_SECONDS <= 1.5


# -- every method looks at the clock -------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [3.0, 40.0])
@pytest.mark.parametrize("kind", ["flat 3-D", "two trees", "linked tables"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_ends_soon_after_the_limit(method: str, kind: str, limit: float, clock: Clock) -> None:
    problem = problem_of(kind)
    draft = METHODS[method].run(problem, deadline=Deadline(limit), seed=0, progress=None)
    assert clock.looks <= limit + LOOKS_AFTERWARDS
    assert (draft.hidden[problem.status == Status.PRIMARY]).all()
    assert not draft.hidden[problem.status == Status.FROZEN].any()


@pytest.mark.parametrize("method", METHODS)
def test_out_of_time_few_programs_are_solved(method: str) -> None:
    problem = problem_of("linked tables")
    hurried = METHODS[method].run(problem, deadline=Deadline(1e-9), seed=0, progress=None)
    assert hurried.num_lps <= 2 * len(problem.primaries) if method == "optimal" else hurried.num_lps <= 3


@pytest.mark.parametrize("method", ADJUSTING)
def test_adjusting_ends_soon_after_the_limit(method: str, clock: Clock) -> None:
    problem = random_table((5, 4, 4), primaries=0.1, seed=3)
    with contextlib.suppress(NotSafeError):
        adjust(problem, method, time_limit=40.0)
    assert clock.looks <= 40 + LOOKS_AFTERWARDS


# -- what is said --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat 3-D", "two trees", "linked tables"])
@pytest.mark.parametrize("method", METHODS)
def test_cells_hidden_for_lack_of_time_are_counted_and_told_first(method: str, kind: str) -> None:
    problem = problem_of(kind)
    found = suppress(problem, method, attackers=[], time_limit=1e-9)
    number = found.hidden_for_lack_of_time
    secondaries = int((found.pattern.hidden & ~problem.hidden_at_start).sum())
    assert 0 <= number <= secondaries
    assert protected(method, kind).hidden_for_lack_of_time == 0
    if number:
        assert found.reason.startswith(f"time ran out: {number:,} cells are hidden only because")
        assert "time limit" in found.reason
        helps = method not in ("auto", "hypercube") and has_cubes(problem.table)
        assert ("take the method hypercube" in found.reason) == helps
        assert f"{number} cells hidden for lack of time" in repr(found)
    if (found.pattern.hidden == (problem.status != Status.FROZEN)).all() and secondaries:
        assert number


@pytest.mark.parametrize("method", METHODS)
def test_out_of_time_what_no_pattern_protects_is_infeasible(method: str) -> None:
    """A level beyond the value itself: more time would not help, and nothing says so."""
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 25)})
    with pytest.raises(InfeasibleError, match="no pattern can protect"):
        suppress(problem, method, time_limit=1e-9)


def test_whole_networks_are_counted() -> None:
    problem = random_table((12, 12), seed=4)
    found = suppress(problem, "network", attackers=[], time_limit=1e-9)
    assert found.hidden_for_lack_of_time > 0 and found.is_safe


# -- insiders ------------------------------------------------------------------------------------------------


def test_what_was_not_judged_is_neither_safe_nor_exposed(clock: Clock) -> None:
    problem = with_contributions()
    pattern = Pattern.hiding(problem, problem.status != Status.FROZEN, "everything")
    report = audit_insiders(problem, pattern, time_limit=20.0)
    assert report.judged.any() and not report.judged.all()
    assert not report.is_safe and not report.safe[~report.judged].any()
    assert not np.isin(report.exposed_cells, report.cells[~report.judged]).any()
    assert {report.closest[k] for k in np.flatnonzero(~report.judged)} == {NOT_JUDGED}
    assert "time ran out" in report.reason


def test_nothing_is_hidden_for_cells_not_judged_yet() -> None:
    problem = with_contributions()
    shield, over = InsiderShield(problem, INSIDER), Deadline(0.0)
    hidden = suppress(problem, "sequential", attackers=[]).pattern.hidden
    report = shield.judge(hidden, over)
    assert len(report.unsafe_cells) and not report.is_safe
    assert (shield.strengthen(hidden, Movement.of(problem, Deadline(None))) == hidden).sum() < len(
        hidden
    )  # judged now
    shield = InsiderShield(problem, INSIDER)
    assert (shield.strengthen(hidden, Movement.of(problem, over)) == hidden).all()


def test_insiders_end_soon_after_the_limit(clock: Clock) -> None:
    found = suppress(with_contributions(), "hypercube", attackers=[INSIDER], time_limit=200.0)
    assert clock.looks <= 200 + LOOKS_AFTERWARDS
    assert not found.is_safe and found.outcome == "not_safe" and found.reason.startswith("time ran out")


@pytest.mark.parametrize("seed", range(3))
def test_verdicts_carry_over_to_patterns_that_hide_more(seed: int) -> None:
    problem = with_contributions(seed)
    shield, endless = InsiderShield(problem, INSIDER), Deadline(None)
    hidden = suppress(problem, "sequential", attackers=[]).pattern.hidden
    shield.judge(hidden, endless)
    more = shield.strengthen(hidden, Movement.of(problem, endless))
    carried, anew = shield.judge(more, endless), InsiderShield(problem, INSIDER).judge(more, endless)
    assert (carried.safe == anew.safe).all() and carried.reason == anew.reason
    view = PublicView.of(problem, Pattern.hiding(problem, more, ""))
    assert carried.view_hash == anew.view_hash == view.content_hash


def test_a_clean_up_cut_short_keeps_the_verdict_of_the_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = with_contributions()
    found = suppress(problem, "sequential", attackers=[INSIDER])
    defence = Defence(problem, [INSIDER])
    deadline = Deadline(1e6)

    def thinned(self: Defence, hidden: Any, start: Any, until: Deadline) -> Any:
        monkeypatch.setattr(Deadline, "left", property(lambda self: None if self.limit is None else 0.0))
        return original(self, hidden, start, Deadline(None))

    original = Defence._thinned
    monkeypatch.setattr(Defence, "_thinned", thinned)
    hidden = defence.strengthened(found.pattern.hidden, deadline)
    assert all(verdict.is_safe for verdict in defence.verdicts(Pattern.hiding(problem, hidden, "kept")))


# -- bounds, mending, diagnosis ------------------------------------------------------------------------------


def test_a_better_bound_is_a_matter_of_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def spy(problem: Problem, **options: Any) -> Any:
        asked.extend([True] * bool(options.get("integral")))
        return cover_bound(problem, **options)

    monkeypatch.setattr(auto, "cover_bound", spy)
    problem = random_table((5, 5, 5), seed=2)
    options: dict[str, object] = {"always_bounded": 0, "good_enough": 1.0}
    plain = suppress(problem, attackers=[], options=options)
    assert not asked and plain.lower_bound is not None
    better = suppress(problem, attackers=[], options=options | {"better_bound": True})
    assert asked and better.lower_bound is not None and better.lower_bound >= plain.lower_bound
    asked.clear()
    suppress(problem, attackers=[], options=options | {"good_enough": -1.0})
    assert asked


def test_mending_gets_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float | None] = []
    original = outsider_shield.protect_in_turn

    def spy(problem: Problem, deadline: Deadline, **options: Any) -> Any:
        limits.append(deadline.left)
        return original(problem, deadline, **options)

    monkeypatch.setattr(outsider_shield, "protect_in_turn", spy)
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    outsider_shield.mended(problem, problem.hidden_at_start, problem.primaries, Deadline(50.0))
    outsider_shield.mended(problem, problem.hidden_at_start, problem.primaries, Deadline(None))
    assert limits[0] is not None and limits[0] <= 50.0 and limits[1] is None


def frozen_row() -> Problem:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = problem.status.copy()
    status[[problem.table.cell("r0"), problem.table.cell("r0", "c1")]] = Status.FROZEN
    return problem.replace(status=status)


def test_a_diagnosis_cut_short_claims_nothing() -> None:
    diagnosis = diagnose(frozen_row(), deadline=Deadline(1e-12))
    assert diagnosis.was_cut and diagnosis.relaxation is None
    assert not diagnose(frozen_row()).was_cut
    with pytest.raises(InfeasibleError) as caught:
        raise relaxing.infeasibility(frozen_row(), frozen_row().primaries, "", diagnosis)
    assert "No relaxation helps" not in str(caught.value)


def test_the_diagnosis_has_its_share_of_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from cellveil.suppression import suppressing as run

    limits: list[float] = []
    original = run.diagnose

    def spy(problem: Problem, *, deadline: Deadline, **options: Any) -> Any:
        limits.append(deadline.limit or 0.0)
        return original(problem, deadline=deadline, **options)

    monkeypatch.setattr(run, "diagnose", spy)
    found = suppress(frozen_row(), attackers=[], time_limit=100.0, relax=True)
    assert found.relaxation is not None and 0 < limits[0] <= 0.5 * 106.0


def test_the_proof_of_an_adjustment_passes_its_time_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers for the senses that branch and cut found are looked for within the limit, too."""
    from cellveil.adjustment.fixed_senses import FixedSenses
    from cellveil.adjustment.mixed_integer import prove
    from cellveil.adjustment.model import Limits, build_model
    from cellveil.clock import Deadline

    model = build_model(two_way([[20, 50, 30], [8, 19, 22]], primaries={(0, 0): 3}), "l1", Limits())
    limits = []
    fit = FixedSenses.fit

    def noted(self: FixedSenses, senses: Any, clock: Any = None) -> Any:
        limits.append(clock.left)
        return fit(self, senses, clock)

    monkeypatch.setattr(FixedSenses, "fit", noted)
    assert prove(model, FixedSenses(model), None, Deadline(30.0)).fit is not None
    assert limits and all(limit is not None and limit <= 30.0 for limit in limits)
