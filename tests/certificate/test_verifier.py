"""The certificate and its exact check: good ones pass, every corruption is rejected."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cellveil.certificate import Certificate, read_certificate, verify, write_certificate
from cellveil.certificate.certificate import pattern_hash
from cellveil.datasets import random_table, two_way
from cellveil.deviations.components import split
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witness
from cellveil.errors import InfeasibleError, InputError
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression import suppress
from cellveil.tables.relations import Relations
from helpers.brute_force import is_protected
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem


def certified(problem: Problem) -> tuple[Pattern, Certificate]:
    result = suppress(problem, attackers=[])
    return result.pattern, result.certificate


def made(problem: Problem, pattern: Pattern, *witnesses: tuple[list[int], list[int], int]) -> Certificate:
    listed = [(np.array(c, dtype=np.int64), np.array(n, dtype=np.int64), d) for c, n, d in witnesses]
    return Certificate.of(problem.content_hash, pattern_hash(pattern.hidden), listed)


@pytest.fixture
def square() -> tuple[Problem, Pattern, list[int]]:
    """A 3 × 3 table with a rectangle hidden; the cells of the rectangle in ascending order."""
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): (3, 4)})
    cells = [problem.table.cell(*key) for key in (("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))]
    hidden = np.zeros(problem.table.num_cells, dtype=bool)
    hidden[cells] = True
    return problem, Pattern.hiding(problem, hidden, "by hand"), cells


# -- what a certificate must show ----------------------------------------------------------------------------


def test_a_hand_made_certificate(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    proof = verify(problem, pattern, made(problem, pattern, (cells, [4, -4, -4, 4], 1)))
    assert proof.is_valid and (proof.met, proof.demands) == (2, 2)
    short = verify(problem, pattern, made(problem, pattern, (cells, [3, -3, -3, 3], 1)))
    assert not short.is_valid and not short.faults and (short.met, short.demands) == (1, 2)


def test_bounds_are_respected_in_each_direction(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    far = verify(problem, pattern, made(problem, pattern, (cells, [9, -9, -9, 9], 1)))  # r1 c0 holds 8 only
    assert far.met == 1, "only the reversal, downwards by 9, stays above 0"
    capped = problem.replace(ub=problem.table.values + 5)
    for step, met in ((5, 2), (6, 0)):
        proof = verify(capped, pattern, made(capped, pattern, (cells, [step, -step, -step, step], 1)))
        assert proof.met == met


def test_fractions_count_exactly(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    exact = [12, -12, -12, 12]
    assert verify(problem, pattern, made(problem, pattern, (cells, exact, 3))).is_valid
    assert not verify(problem, pattern, made(problem, pattern, (cells, [11, -11, -11, 11], 3))).is_valid


def test_sliding_levels_add_both_sides(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    wide = problem.replace(spl=np.where(problem.upl > 0, 9, 0))
    both = made(wide, pattern, (cells, [4, -4, -4, 4], 1), (cells, [-5, 5, 5, -5], 1))
    assert verify(wide, pattern, both).is_valid
    one = made(wide, pattern, (cells, [4, -4, -4, 4], 1))
    assert not verify(wide, pattern, one).is_valid
    halves = made(wide, pattern, (cells, [9, -9, -9, 9], 2))
    assert verify(wide, pattern, halves).is_valid, "4.5 up and 4.5 down"


@pytest.mark.parametrize(
    ("cells", "numerators", "fault"),
    [
        ([0, 1, 2, 3], [1, -1, -1, 1], "published"),
        (None, [4, -4, -4, 5], "breaks a relation"),
        (None, [2**62 + 1, -(2**62) - 1, -(2**62) - 1, 2**62 + 1], "out of range"),
        ([10**6], [1], "not there"),
        ([-1], [1], "not there"),
    ],
)
def test_faulty_witnesses(
    square: tuple[Problem, Pattern, list[int]], cells: list[int] | None, numerators: list[int], fault: str
) -> None:
    problem, pattern, own = square
    proof = verify(problem, pattern, made(problem, pattern, (cells or own, numerators, 1)))
    assert not proof.is_valid and fault in proof.faults[0]


def test_order_denominators_and_strangers(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    twice = made(problem, pattern, ([cells[0], cells[0], *cells[1:]], [2, 2, -4, -4, 4], 1))
    assert "order" in verify(problem, pattern, twice).faults[0]
    assert (
        "denominator"
        in verify(problem, pattern, made(problem, pattern, (cells, [4, -4, -4, 4], 0))).faults[0]
    )
    good = made(problem, pattern, (cells, [4, -4, -4, 4], 1))
    assert "another instance" in verify(problem.replace(weight=problem.weight + 1), pattern, good).faults[0]
    more = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "all")
    assert "another pattern" in verify(problem, more, good).faults[0]


def test_patterns_that_break_the_rules(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, _, cells = square
    nothing = Pattern(np.zeros(problem.table.num_cells, dtype=np.int8), "nothing")
    assert "primary" in verify(problem, nothing, made(problem, nothing)).faults[0]
    status = problem.status.copy()
    status[cells[3]] = Status.FROZEN
    frozen = problem.replace(status=status)
    hidden = np.isin(np.arange(problem.table.num_cells), cells)
    pattern = Pattern(np.where(hidden, Status.SECONDARY, 0).astype(np.int8), "frozen hidden")
    assert "frozen" in verify(frozen, pattern, made(frozen, pattern)).faults[0]


def test_sums_beyond_64_bits_do_not_wrap() -> None:
    """2^62 − 2^62 … chosen so that 64-bit sums would wrap to 0."""
    coefs = [2, 2, 2, 2]
    table = two_way([[1, 1], [1, 1]]).table
    relations = Relations.from_rows(table.num_cells, [list(enumerate(coefs))], rhs=[8])
    values = np.where(np.arange(table.num_cells) < 4, 1, 0)
    table = table.replace(relations=relations, values=values)
    problem = Problem.of(table, {0: (0, 1)})
    problem = problem.replace(lb=np.full(table.num_cells, -(2**62)))
    pattern = Pattern.hiding(problem, values > 0, "all four")
    wrapping = made(problem, pattern, ([0, 1, 2, 3], [2**61] * 4, 1))  # 4 · 2 · 2^61 = 2^64
    assert "breaks a relation" in verify(problem, pattern, wrapping).faults[0]


# -- certificates of the audit -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_auditor_verifier_and_enumeration_agree(shape: str) -> None:
    rng = np.random.default_rng(40 + SHAPES.index(shape))
    for _ in range(12):
        problem = half_hidden_problem(shape, rng)
        pattern = Pattern.hiding(problem, problem.hidden_at_start, "given")
        report = audit_outsider(problem, pattern, exact=False)
        proof = verify(problem, pattern, report.certificate)
        expected = is_protected(problem, pattern)
        assert not proof.faults
        assert dict(zip(proof.cells.tolist(), proof.protected.tolist(), strict=True)) == expected
        assert (proof.protected == report.safe).all()


def test_three_dimensional_vertices_are_lifted() -> None:
    """Tables whose LP vertices are fractional are certified as well."""
    fractional = 0
    for seed in range(6):
        problem = random_table((6, 6, 6), contributors=3, zeros=0.2, seed=seed)
        pattern = suppress(problem, "textbook", attackers=[]).pattern
        certificate = audit_outsider(problem, pattern, exact=False).certificate
        assert verify(problem, pattern, certificate).is_valid
        fractional += int((certificate.denominators > 1).sum())
    assert fractional > 0, "the examples must have fractional witnesses"


def test_lifting_solves_exactly_where_rounding_fails() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): (3, 4)})
    _, components = split(problem.table.relations, np.ones(problem.table.num_cells, dtype=bool))
    component = components[0]
    room = np.full(len(component.cells), 10**6)
    y = np.zeros(len(component.cells))
    for key, sign in ((("r0", "c0"), 1), (("r0", "c1"), -1), (("r1", "c0"), -1), (("r1", "c1"), 1)):
        y[np.searchsorted(component.cells, problem.table.cell(*key))] = sign * np.pi
    witness = lift(component, y, room, room)
    assert witness is not None
    moved = Fraction(int(np.abs(witness.numerators[0])), witness.denominator)
    assert abs(float(moved) - np.pi) < 1e-3 and len(set(np.abs(witness.numerators))) == 1
    y[0] += 5.0  # not a deviation at all
    assert lift(component, y, room, np.zeros_like(room)) is None


def test_ledger_stretches_to_the_capacities(square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    ledger = Ledger(problem, pattern.hidden, is_final=True)
    ledger.add(Witness(np.array(cells), np.array([1, -1, -1, 1]), 1), stretch=True)
    fall, rise = ledger.farthest()
    assert (rise[cells[0]], fall[cells[0]]) == (8, 19)


# -- the file ------------------------------------------------------------------------------------------------


def test_round_trip(tmp_path: Path, square: tuple[Problem, Pattern, list[int]]) -> None:
    problem, pattern, cells = square
    certificate = made(problem, pattern, (cells, [12, -12, -12, 12], 3), (cells, [-4, 4, 4, -4], 1))
    write_certificate(certificate, tmp_path / "c")
    again = read_certificate(tmp_path / "c")
    assert verify(problem, pattern, again).is_valid
    assert again.to_bytes() == certificate.to_bytes()


def test_two_hundred_corruptions_are_rejected(tmp_path: Path) -> None:
    """One random change to the certificate's bytes, its numbers, the pattern or the instance."""
    rng = np.random.default_rng(8)
    problem = None
    while problem is None:
        candidate = small_problem("flat 3-D", rng, primaries=3)
        try:
            pattern, certificate = certified(candidate)
            problem = candidate
        except InfeasibleError:
            continue
    assert verify(problem, pattern, certificate).is_valid
    data = certificate.to_bytes()
    for turn in range(200):
        kind = turn % 4
        if kind == 0:  # a bit of the file
            broken = bytearray(data)
            broken[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
            with pytest.raises(InputError):
                Certificate.from_bytes(bytes(broken))
        elif kind == 1:  # a number, with a fresh checksum
            numerators = certificate.numerators.copy()
            numerators[rng.integers(len(numerators))] += int(rng.choice([-1, 1]))
            changed = Certificate(
                certificate.instance, certificate.pattern, "outsider", certificate.starts, certificate.cells,
                numerators, certificate.denominators,
            )  # fmt: skip
            assert not verify(problem, pattern, Certificate.from_bytes(changed.to_bytes())).is_valid
        elif kind == 2:  # the pattern
            hidden = pattern.hidden.copy()
            cell = rng.integers(len(hidden))
            hidden[cell] = ~hidden[cell]
            status = np.where(hidden, Status.SECONDARY, Status.SAFE).astype(np.int8)
            assert not verify(problem, Pattern(status, "x"), certificate).is_valid
        else:  # the instance
            name = str(rng.choice(["upl", "lpl", "ub", "lb"]))
            column = getattr(problem, name).copy()
            cell = int(rng.choice(problem.primaries))
            column[cell] += -1 if name == "lb" else 1
            assert not verify(problem.replace(**{name: column}), pattern, certificate).is_valid


def test_the_verifier_imports_no_solver() -> None:
    code = (
        "import sys, cellveil.certificate;"
        "bad = {'highspy', 'scipy', 'pyscipopt'} | {m for m in sys.modules if m.startswith('cellveil.') and "
        "m.split('.')[1] in ('solvers', 'attack', 'suppression', 'auditing')};"
        "print(sorted(bad & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
