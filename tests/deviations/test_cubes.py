"""Cubes: every witness is exact, and in small tables none is missed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cellveil.certificate import Certificate, Verification, verify
from cellveil.certificate.certificate import pattern_hash
from cellveil.datasets import random_table, two_way
from cellveil.deviations.cubes import prove_by_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from helpers.small_problems import SHAPES, small_problem


def proven(problem: Problem, hidden: np.ndarray) -> tuple[Ledger, Verification]:
    """What cubes show, and what the verifier says to it."""
    ledger = Ledger(problem, hidden, is_final=True)
    prove_by_cubes(ledger)
    pattern = Pattern.hiding(problem, hidden, "x")
    witnesses = ((w.cells, w.numerators, w.denominator) for w in ledger.witnesses())
    certificate = Certificate.of(problem.content_hash, pattern_hash(hidden), witnesses)
    return ledger, verify(problem, pattern, certificate)


def by_enumeration(problem: Problem, hidden: np.ndarray) -> dict[tuple[int, bool], bool]:
    """For each demand of a flat table whether some cube of hidden cells meets it."""
    table = problem.table
    ledger = Ledger(problem, hidden, is_final=True)
    cell_at = {tuple(key): c for c, key in enumerate(zip(*(k.tolist() for k in table.keys), strict=True))}
    met = {}
    for cell in problem.primaries.tolist():
        own = tuple(int(column[cell]) for column in table.keys)
        for up in (True, False):
            level = int((problem.upl if up else problem.lpl)[cell])
            met[cell, up] = level == 0
            others = [[c for c in range(size) if c != o] for size, o in zip(table.sizes, own, strict=True)]
            for partner in product(*others):
                room = []
                for corner in product((0, 1), repeat=len(own)):
                    key = tuple(p if bit else o for o, p, bit in zip(own, partner, corner, strict=True))
                    number = cell_at.get(key)
                    if number is None or not hidden[number]:
                        room = [0]
                        break
                    # code 0 is the total: exchanging a part for it turns the sign
                    turned = sum((a == 0) != (b == 0) for a, b in zip(own, key, strict=True))
                    rises = up ^ bool((sum(corner) + turned) % 2)
                    room.append(int((ledger.room_up if rises else ledger.room_down)[number]))
                met[cell, up] |= min(room) >= level
    return met


@pytest.mark.parametrize("shape", [(5, 6), (4, 4, 4), (3, 3, 3, 3)])
def test_no_cube_of_a_small_table_is_missed(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    outcomes = set()
    for seed, share in enumerate((0.1, 0.3, 0.5, 0.7, 0.85, 0.95)):
        problem = random_table(shape, contributors=2, zeros=0.1, unit=5, seed=seed)
        hidden = problem.hidden_at_start | (
            (rng.random(problem.table.num_cells) < share) & (problem.table.values > 0)
        )
        ledger, proof = proven(problem, hidden)
        assert not proof.faults
        for (cell, up), expected in by_enumeration(problem, hidden).items():
            # harvest may show more than the cell's own cubes, never less
            assert ledger.shows(cell, up=up) >= expected
            outcomes.add(expected)
    assert outcomes == {True, False}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_witness_is_exact(shape: str) -> None:
    """Whatever the structure: the verifier finds no fault, and agrees on what was shown."""
    rng = np.random.default_rng(SHAPES.index(shape))
    found = 0
    for _ in range(15):
        problem = small_problem(shape, rng, primaries=4)
        hidden = problem.hidden_at_start | (
            (rng.random(problem.table.num_cells) < 0.8) & (problem.status == 0)
        )
        ledger, proof = proven(problem, hidden)
        assert not proof.faults
        shown = [
            ledger.shows(c, up=True) and ledger.shows(c, up=False) and ledger.shows_width(c)
            for c in proof.cells
        ]
        assert shown == proof.protected.tolist()
        found += len(ledger.witnesses())
    assert found > 0


def test_levels_between_leaves_and_total_have_cubes() -> None:
    """A code in the middle of a tree moves with a leaf below it."""
    problem = random_table((20, 8), hierarchical=[0], contributors=5, zeros=0.0, seed=3)
    table = problem.table
    everything = np.ones(table.num_cells, dtype=bool)
    ledger, proof = proven(problem, everything)
    assert not proof.faults
    tree = table.dimensions[0]
    middle = tree.is_parent[table.keys[0]] & (table.keys[0] != tree.total)
    assert middle.any()
    used = np.unique(np.concatenate([w.cells for w in ledger.witnesses()]))
    assert middle[used].any()
    assert ledger.num_open == 0


def test_amounts_near_the_limits_stay_exact() -> None:
    big = 2**40 + 1
    problem = two_way([[big, big], [big, big]], primaries={(0, 0): (big, big)})
    hidden = np.isin(problem.table.values, [big])
    ledger, proof = proven(problem, hidden)
    assert proof.is_valid and ledger.num_open == 0
    beyond = problem.replace(upl=np.where(problem.upl > 0, big + 1, 0))
    assert proven(beyond, hidden)[0].num_open == 1


def test_the_audit_gives_the_same_verdicts_with_cubes(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table((7, 7, 6), contributors=3, zeros=0.2, seed=9)
    rng = np.random.default_rng(1)
    hidden = problem.hidden_at_start | (
        (rng.random(problem.table.num_cells) < 0.3) & (problem.table.values > 0)
    )
    pattern = Pattern.hiding(problem, hidden, "random")
    fast = audit_outsider(problem, pattern, exact=False)
    monkeypatch.setattr("cellveil.judge.outsider.prove_by_cubes_and_sums", lambda *args, **options: 0)
    slow = audit_outsider(problem, pattern, exact=False)
    assert (fast.safe == slow.safe).all() and 0 < fast.safe.sum() < len(fast.safe)
    assert fast.num_lps <= slow.num_lps
    shown = (fast.lower <= fast.required_lower) & (fast.upper >= fast.required_upper)
    assert (shown == fast.safe).all(), "what was shown by cubes stands in the intervals"
