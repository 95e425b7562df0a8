"""Sums of cubes: exact, inside what is hidden, and enough where no single cube is."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.certificate import Certificate, Verification, verify
from cellveil.certificate.certificate import pattern_hash
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.cube_sums import CubeSumParams, CubeSums, prove_by_cubes_and_sums
from cellveil.deviations.cubes import prove_by_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from helpers.small_problems import SHAPES, small_problem


def checked(problem: Problem, ledger: Ledger) -> Verification:
    """What the verifier says to the witnesses of a ledger."""
    pattern = Pattern.hiding(problem, ledger.hidden, "x")
    witnesses = ((w.cells, w.numerators, w.denominator) for w in ledger.witnesses())
    return verify(
        problem, pattern, Certificate.of(problem.content_hash, pattern_hash(ledger.hidden), witnesses)
    )


def one_among_small_ones(amount: int) -> tuple[Problem, np.ndarray]:
    """A cell of 60 that must move by an amount, among three rows and columns of 20; totals are published."""
    interior = [[60, 20, 20, 20], [20, 20, 20, 20], [20, 20, 20, 20], [20, 20, 20, 20]]
    problem = two_way(interior, {(0, 0): (amount, amount)})
    return problem, np.asarray(problem.table.values <= 60)


@pytest.mark.parametrize(
    ("amount", "by_one", "by_sum"), [(20, True, True), (60, False, True), (61, False, False)]
)
def test_cubes_add_up_as_far_as_there_is_room(amount: int, by_one: bool, by_sum: bool) -> None:
    problem, hidden = one_among_small_ones(min(amount, 60))
    problem = problem.replace(upl=np.where(problem.upl > 0, amount, 0))
    single, sums = (Ledger(problem, hidden, is_final=True) for _ in range(2))
    prove_by_cubes(single)
    prove_by_cubes_and_sums(sums)
    assert single.shows(int(problem.primaries[0]), up=True) == by_one
    assert sums.shows(int(problem.primaries[0]), up=True) == by_sum
    assert not checked(problem, sums).faults


@pytest.mark.parametrize("shape", SHAPES)
def test_every_sum_is_exact_and_claims_no_more_than_programs_find(shape: str) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(8):
        problem = small_problem(shape, rng, primaries=4)
        hidden = problem.hidden_at_start | (
            (rng.random(problem.table.num_cells) < 0.6) & (problem.status == 0)
        )
        ledger = Ledger(problem, hidden, is_final=True)
        prove_by_cubes_and_sums(ledger)
        proof = checked(problem, ledger)
        assert not proof.faults
        found = audit_outsider(problem, Pattern.hiding(problem, hidden, "x"), exact=True)
        assert not (proof.protected & ~found.safe).any()


def test_sums_meet_what_single_cubes_leave_open() -> None:
    problem = random_table((9, 8, 7), contributors=3, zeros=0.2, level=0.8, seed=2)
    rng = np.random.default_rng(1)
    hidden = problem.hidden_at_start | (
        (rng.random(problem.table.num_cells) < 0.5) & (problem.table.values > 0)
    )
    ledgers = [Ledger(problem, hidden, is_final=True) for _ in range(3)]
    prove_by_cubes(ledgers[0])
    prove_by_cubes_and_sums(ledgers[1])
    prove_by_cubes_and_sums(ledgers[2])
    assert ledgers[1].num_open < ledgers[0].num_open
    assert not checked(problem, ledgers[1]).faults and not ledgers[1].cost > ledgers[0].cost
    ours, theirs = (ledger.witnesses() for ledger in ledgers[1:])
    assert (ours.numerators == theirs.numerators).all() and (ours.cells == theirs.cells).all()


def test_nothing_is_shown_without_time_or_beams() -> None:
    problem, hidden = one_among_small_ones(60)
    late, idle = (Ledger(problem, hidden, is_final=True) for _ in range(2))
    prove_by_cubes_and_sums(late, deadline=Deadline(0.0))
    assert CubeSums(idle, CubeSumParams(most_beams=0)).prove_by_sums() == late.num_open == 2
