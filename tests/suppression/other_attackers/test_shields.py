"""Shields, each by itself: the attacker gets through before, not after, and nothing is published again."""

from dataclasses import replace

import pytest

from cellveil.attackers.attacker import Attacker
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witnesses
from cellveil.problem import Problem
from cellveil.suppression import suppress
from cellveil.suppression.other_attackers.insider_shield import InsiderShield
from cellveil.suppression.other_attackers.outsider_shield import OutsiderShield, WholeShield, meeting_levels
from cellveil.suppression.other_attackers.shield import Shield
from helpers.contributions import with_contributions

PARTS = {(r, c): [10 + 3 * r + c, 7 + r + 2 * c, 4] for r in range(3) for c in range(4)}
RECTANGLE = [("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1")]


def table_of_parts() -> Problem:
    """The cells of the rectangle have one contributor each, the others three."""
    parts = PARTS | {(r, c): [30] for r in range(2) for c in range(2)}
    interior = [[sum(parts[r, c]) for c in range(4)] for r in range(3)]
    return with_contributions(two_way(interior, {(0, 0): (8, 8)}), parts)


def strengthened(shield: Shield, problem: Problem) -> tuple[bool, bool, bool]:
    """Whether the rectangle is safe, whether what the shield makes of it is, and whether it hides more."""
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*key) for key in RECTANGLE]] = True
    endless = Deadline(None)
    before = shield.judge(hidden, endless).is_safe
    after = shield.strengthen(hidden, Movement.of(problem, endless))
    assert (after >= hidden).all() and not after.all()
    return before, shield.judge(after, endless).is_safe, bool((after & ~hidden).any())


def test_a_singleton_in_the_rectangle_is_kept_off() -> None:
    problem = table_of_parts()
    shield = InsiderShield(problem, Attacker("insider"))
    assert strengthened(shield, problem) == (False, True, True)
    assert not shield.infeasible


@pytest.mark.parametrize(("prior", "before"), [(None, True), (10, False)])
def test_prior_knowledge_makes_more_necessary(prior: float | None, before: bool) -> None:
    """The rectangle keeps off who knows nothing; who knows 30 to 10 % is within the level of 8."""
    problem = table_of_parts()
    shield = OutsiderShield(problem, prior)
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*key) for key in RECTANGLE]] = True
    assert shield.judge(hidden, Deadline(None)).is_safe == before


def test_of_many_deviations_outsiders_are_told_those_that_meet_levels() -> None:
    problem = random_table((9, 8), contributors=3, zeros=0.1, seed=2)
    found = suppress(problem, attackers=[])
    proven = Witnesses.proven_by(found.certificate)
    useless = Witnesses.of([replace(one, numerators=one.numerators, denominator=10**9) for one in proven])
    few = meeting_levels(problem, Witnesses.joined([useless, proven, proven]))
    assert 0 < len(few) <= len(proven)
    shield = OutsiderShield(problem)
    shield.believe(Witnesses.joined([useless, proven, proven]))
    assert shield.claimed is not None and len(shield.claimed) == len(few)
    report = shield.judge(found.pattern.hidden, Deadline(None))
    assert report.is_safe and not report.num_lps


def test_sliding_levels_need_several_deviations() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    spl = problem.spl.copy()
    spl[problem.primaries] = 9
    sliding, some = problem.replace(spl=spl), Witnesses.proven_by(suppress(problem, attackers=[]).certificate)
    assert len(meeting_levels(sliding, some)) == len(some)


def test_an_outsider_is_kept_off_from_the_bare_primary() -> None:
    problem = table_of_parts()
    for shield in (OutsiderShield(problem), WholeShield(problem), OutsiderShield(problem, 60)):
        hidden, endless = problem.hidden_at_start.copy(), Deadline(None)
        assert not shield.judge(hidden, endless).is_safe
        after = shield.strengthen(hidden, Movement.of(shield.known, endless))
        assert shield.judge(after, endless).is_safe and 4 <= after.sum() <= 9
