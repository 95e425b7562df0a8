"""The ledger of witnesses against a slow one made of lists and fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.datasets import random_table, two_way
from cellveil.deviations.demand import Demands
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witness, Witnesses, are_deviations
from cellveil.problem import Problem, Status
from helpers.small_problems import SHAPES, small_problem


def kernel_vectors(problem: Problem, rng: np.random.Generator, count: int) -> list[Witness]:
    """Exact deviations over movable cells: whole combinations of a basis of the kernel, over a divisor."""
    from flint import fmpz_mat

    movable = np.flatnonzero(problem.status != Status.FROZEN)
    matrix = problem.table.relations.matrix.toarray().astype(int)[:, movable]
    basis, rank = fmpz_mat(matrix.tolist()).nullspace()
    columns = np.array([[int(x) for x in row] for row in basis.tolist()])[:, :rank]
    found = []
    for _ in range(count):
        vector = columns @ rng.integers(-2, 3, rank) if rank else np.zeros(len(movable), dtype=int)
        support = np.flatnonzero(vector)
        if len(support):
            common = int(np.gcd.reduce(vector))
            found.append(Witness(movable[support], vector[support] // common, int(rng.integers(1, 3))))
    return found


class SlowLedger:
    """The same in the plainest way; nothing is ever undone, a state is copied instead."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.hidden = set(np.flatnonzero(problem.hidden_at_start).tolist())
        demands = Demands(problem)
        self.open = {(c, True): int(demands.up[c]) for c in np.flatnonzero(demands.up).tolist()}
        self.open |= {(c, False): int(demands.down[c]) for c in np.flatnonzero(demands.down).tolist()}
        self.met: dict[tuple[int, bool], Witness] = {}

    def copy(self) -> SlowLedger:
        other = SlowLedger(self.problem)
        other.hidden, other.open, other.met = set(self.hidden), dict(self.open), dict(self.met)
        return other

    def add(self, witness: Witness, *, hide: bool) -> int:
        values, lb, ub = (x.tolist() for x in (self.problem.table.values, self.problem.lb, self.problem.ub))
        cells = witness.cells.tolist()
        y = [Fraction(int(n), witness.denominator) for n in witness.numerators]
        if not hide and not self.hidden.issuperset(cells):
            return 0
        met = []
        for sign in (1, -1):
            moved = [sign * part for part in y]
            if all(lb[c] <= values[c] + m <= ub[c] for c, m in zip(cells, moved, strict=True)):
                met += [
                    (c, m > 0)
                    for c, m in zip(cells, moved, strict=True)
                    if (c, m > 0) in self.open and abs(m) >= self.open[c, m > 0]
                ]
        for demand in met:
            del self.open[demand]
            self.met[demand] = witness
        if met:
            self.hidden.update(cells)
        return len(met)

    def publish(self, cell: int) -> set[tuple[int, bool]]:
        self.hidden.discard(cell)
        reopened = {demand for demand, witness in self.met.items() if cell in witness.cells}
        demands = Demands(self.problem)
        for c, up in reopened:
            self.open[c, up] = int((demands.up if up else demands.down)[c])
            del self.met[c, up]
        return reopened


def assert_same(ledger: Ledger, slow: SlowLedger) -> None:
    assert set(np.flatnonzero(ledger.hidden).tolist()) == slow.hidden
    cells, up, amounts = ledger.open_demands()
    assert {
        (c, u): a for c, u, a in zip(cells.tolist(), up.tolist(), amounts.tolist(), strict=True)
    } == slow.open
    assert ledger.num_open == len(cells) and (np.diff(amounts) <= 0).all()
    free = set(np.flatnonzero(ledger.problem.hidden_at_start).tolist())
    assert ledger.cost == pytest.approx(sum(ledger.problem.weight[c] for c in slow.hidden - free))
    assert set(ledger.secondaries().tolist()) == slow.hidden - free
    for cell in range(ledger.problem.table.num_cells):
        using = {id(w) for w in slow.met.values() if cell in w.cells}
        assert len(ledger.users(cell)) == len(using)
    kept = ledger.witnesses()
    assert len(kept) == len({id(w) for w in slow.met.values()})
    assert are_deviations(ledger.problem, ledger.hidden, kept).all()
    assert all((np.diff(kept[number].cells) > 0).all() for number in range(len(kept)))
    for demand, witness in slow.met.items():
        number = (ledger.witness_up if demand[1] else ledger.witness_down)[demand[0]]
        assert ledger.witness(number).numerators.tolist() == witness.numerators.tolist()


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6))
def test_like_the_slow_ledger(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(shape, rng, primaries=5)
    vectors = kernel_vectors(problem, rng, 40)
    ledger, slow = Ledger(problem), SlowLedger(problem)
    states = []
    for witness in vectors:
        action = rng.integers(10)
        if action < 6:
            hide = bool(rng.integers(2))
            assert ledger.add(witness, hide=hide) == slow.add(witness, hide=hide)
        elif action < 8 and len(ledger.secondaries()):
            cell = int(rng.choice(ledger.secondaries()))
            cells, up = ledger.publish(cell)
            assert set(zip(cells.tolist(), up.tolist(), strict=True)) == slow.publish(cell)
        elif action == 8:
            states.append((ledger.mark(), slow.copy()))
        elif states:
            mark, slow = states.pop(rng.integers(len(states)))
            states = [state for state in states if state[0].trail <= mark.trail]
            slow = slow.copy()
            ledger.rollback(mark)
        elif rng.integers(2):
            ledger.compact()
        assert_same(ledger, slow)
    ledger.compact()
    assert_same(ledger, slow)


def test_in_bulk_as_one_by_one() -> None:
    rng = np.random.default_rng(5)
    problem = small_problem("flat 3-D", rng, primaries=6)
    vectors = kernel_vectors(problem, rng, 60)
    one, bulk = Ledger(problem), Ledger(problem)
    met = sum(one.add(witness, hide=True) for witness in vectors)
    assert bulk.add_all(Witnesses.of(vectors), hide=True) == met > 0
    assert (one.hidden == bulk.hidden).all() and one.cost == bulk.cost
    assert (one.witness_up == bulk.witness_up).all()


def test_stretched_both_ways() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (9, 10)})
    unit = Witness(np.array([4, 5, 7, 8]), np.array([1, -1, -1, 1]), 1)
    ledger = Ledger(problem)
    assert ledger.add(unit, hide=True) == 0 and not ledger.hidden[8]
    assert ledger.add(unit, hide=True, stretch=True) == 1  # down by 19, but up by 8 only
    assert ledger.open_demands()[0].tolist() == [4] and ledger.open_demands()[1].all()
    assert sorted(np.abs(ledger.witnesses().numerators).tolist()) == [19] * 4


def test_neither_frozen_nor_published_cells_move() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    witness = Witness(np.array([4, 5, 7, 8]), np.array([4, -4, -4, 4]), 1)
    assert Ledger(problem).add(witness) == 0
    status = problem.status.copy()
    status[8] = Status.FROZEN
    frozen = Ledger(problem.replace(status=status))
    assert frozen.add(witness, hide=True) == 0 and frozen.cost == 0
    with pytest.raises(ValueError, match="must be published"):
        frozen.hide(np.array([8]))
    with pytest.raises(ValueError, match="must be published"):
        Ledger(problem.replace(status=status), np.ones(9, dtype=bool))
    with pytest.raises(ValueError, match="can be published"):
        frozen.publish(4)


def test_marks_end_when_tidied() -> None:
    ledger = Ledger(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}))
    mark = ledger.mark()
    ledger.hide(np.array([8]))
    ledger.tidy()
    with pytest.raises(ValueError, match="since this mark"):
        ledger.rollback(mark)
    assert ledger.hidden[8]


def test_starts_from_a_pattern() -> None:
    problem = random_table((5, 6), contributors=2, zeros=0, seed=1)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    ledger = Ledger(problem, hidden)
    secondary = ~problem.hidden_at_start
    assert ledger.cost == pytest.approx(problem.weight[secondary].sum())
    assert ledger.num_open == int((problem.upl > 0).sum() + (problem.lpl > 0).sum())


# -- the judge's ledger --------------------------------------------------------------------------------------


def rectangle(rises: int, denominator: int = 1) -> Witness:
    return Witness(np.array([4, 5, 7, 8]), np.array([rises, -rises, -rises, rises]), denominator)


def test_a_final_ledger_takes_the_pattern_as_it_is() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    published = np.isin(np.arange(9), [5, 7, 8])
    ledger = Ledger(problem, published, is_final=True)
    assert ledger.add(rectangle(4), stretch=True) == 0 and not ledger.shows(4, up=True)
    assert not ledger.hidden[4] and len(ledger.witnesses()) == 0
    status = problem.status.copy()
    status[8] = Status.FROZEN
    hidden = np.isin(np.arange(9), [4, 5, 7, 8])
    against_the_rules = Ledger(problem.replace(status=status), hidden, is_final=True)
    assert against_the_rules.add(rectangle(4), stretch=True) == 2, "what is hidden may move"


def test_a_final_ledger_shows_widths_exactly() -> None:
    """Half units on both sides add up to the width of a sliding level; whole units alone do not."""
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 1})
    bounds = {"lb": problem.table.values - 3, "ub": problem.table.values + 3}
    problem = problem.replace(**bounds, spl=np.where(np.arange(9) == 4, 5, 0))
    hidden = np.isin(np.arange(9), [4, 5, 7, 8])
    narrow = problem.replace(lb=problem.table.values - 2, ub=problem.table.values + 2)
    for one, expected in ((problem, True), (narrow, False)):
        ledger = Ledger(one, hidden, is_final=True)
        assert not ledger.shows_width(4)
        ledger.add(rectangle(5, 2), stretch=True)
        assert ledger.shows_width(4) == expected
    whole = Ledger(problem, hidden, is_final=True, whole=True)
    whole.add(rectangle(5, 2), stretch=True)
    assert not whole.shows_width(4) and len(whole.witnesses()) == 0


def test_claims_count_only_where_they_are_deviations() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    hidden = np.isin(np.arange(9), [4, 5, 7, 8])
    wrong = Witness(np.array([4, 5, 7, 8]), np.array([4, -4, -4, 5]), 1)
    ledger = Ledger(problem, hidden, is_final=True)
    ledger.add_claims(Witnesses.of([wrong]))
    assert ledger.num_open == 2
    ledger.add_claims(Witnesses.of([wrong, rectangle(4)]))
    assert ledger.num_open == 0 and len(ledger.witnesses()) == 1
