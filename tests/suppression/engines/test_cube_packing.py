"""Cube packing and `hypercube`: every witness checked by exact arithmetic that shares nothing with them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cellveil import clock
from cellveil.certificate import Certificate
from cellveil.certificate.certificate import pattern_hash
from cellveil.certificate.verifier import Verification, check_witnesses
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.cube_packing import Packing
from cellveil.suppression.methods.hypercube import hypercube
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.brute_force import is_protected
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem, small_table

TABLES = [
    {"sizes": (7, 8)},
    {"sizes": (5, 4, 6)},
    {"sizes": (4, 3, 4, 3)},
    {"sizes": (3, 3, 3, 3, 3)},
    {"sizes": (15, 6), "hierarchical": [0]},
    {"sizes": (9, 5, 10), "hierarchical": [0, 2]},
    {"sizes": (8, 7, 9), "hierarchical": [0, 1, 2]},
    {"sizes": (17, 5, 3), "hierarchical": {0: 3}},
]


def verified(ledger: Ledger) -> Verification:
    """What the witnesses of a ledger show, by the certificate's own check."""
    witnesses = ledger.witnesses()
    assert are_deviations(ledger.problem, ledger.hidden, witnesses).all()
    certificate = Certificate(
        ledger.problem.content_hash,
        pattern_hash(ledger.hidden),
        "outsider",
        witnesses.starts,
        witnesses.cells.astype(np.int32),
        witnesses.numerators,
        witnesses.denominators,
    )
    assert not ledger.hidden[ledger.problem.status == Status.FROZEN].any()
    assert ledger.hidden[ledger.problem.hidden_at_start].all()
    return check_witnesses(ledger.problem, ledger.hidden, certificate)


def random_problem(number: int, seed: int, weight: str, primaries: float | None) -> Problem:
    return random_table(
        **TABLES[number], contributors=2, zeros=0.2, unit=10, primaries=primaries, weight=weight, seed=seed
    )


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, len(TABLES) - 1),
    st.integers(0, 10**6),
    st.sampled_from(["value", "one"]),
    st.sampled_from([None, 0.05, 0.3]),
)
@example(5, 0, "value", 0.3)
def test_everything_is_protected(number: int, seed: int, weight: str, primaries: float | None) -> None:
    problem = random_problem(number, seed, weight, primaries)
    ledger = Ledger(problem)
    packing = Packing(ledger, seed=seed)
    demands = ledger.num_open
    left = packing.prove()
    assert ledger.cost == 0 and left <= demands
    assert verified(ledger).met == demands - left
    assert packing.protect() == 0
    assert verified(ledger).is_valid
    before = ledger.cost
    packing.clean()
    assert verified(ledger).is_valid
    packing.improve(trials=300)
    assert verified(ledger).is_valid
    assert ledger.cost <= before
    assert ledger.cost == pytest.approx(problem.weight[ledger.secondaries()].sum())


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 10**6))
def test_claims_hold_under_any_capacities(shape: str, seed: int) -> None:
    """Finite bounds, frozen cells, sliding levels, overlapping hierarchies: what is called met is met."""
    problem = small_problem(shape, np.random.default_rng(seed), primaries=5)
    if not has_cubes(problem.table):
        assert shape == "linked"
        return
    ledger = Ledger(problem)
    Packing(ledger).protect()
    Packing(ledger, seed=1).improve(trials=100)
    shown = verified(ledger)
    assert not shown.faults
    for position, cell in enumerate(shown.cells.tolist()):
        open_up = ledger.need_up[cell] > 0 and ledger.witness_up[cell] < 0
        open_down = ledger.need_down[cell] > 0 and ledger.witness_down[cell] < 0
        assert shown.protected[position] or open_up or open_down


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "linked"])
def test_many_demands_are_met_under_any_capacities(shape: str) -> None:
    met = []
    for seed in range(6):
        ledger = Ledger(small_problem(shape, np.random.default_rng(seed), primaries=5))
        Packing(ledger).protect()
        met += verified(ledger).protected.tolist()
    assert np.mean(met) >= 0.3


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_single_cubes_are_found(number: int) -> None:
    """Where all cells are hidden, every demand that one cube can meet is met: compared with all cubes."""
    problem = random_problem(number, 3, "one", 0.2)
    ledger = Ledger(problem, problem.status != Status.FROZEN)
    Packing(ledger).prove()
    open_cells, up, amounts = ledger.open_demands()
    reach = largest_cubes(problem)
    for cell, rising, amount in zip(open_cells.tolist(), up.tolist(), amounts.tolist(), strict=True):
        assert reach[cell, int(rising)] < amount


def test_lines_follow_what_is_hidden() -> None:
    problem = random_table((7, 6, 5), contributors=3, seed=3)
    ledger = Ledger(problem)
    packing, rng = Packing(ledger), np.random.default_rng(1)
    undone = 0
    for cell in rng.permutation(problem.primaries)[:20].tolist():
        witness, cost = packing.meet(cell, True, int(problem.upl[cell]), beams=50, budget=0.0)
        undone += witness is not None and cost > 0
        assert (packing.grid.bits == packing.layout.line_bits(ledger.hidden)).all()
        if witness is not None:
            added = witness.cells[~ledger.hidden[witness.cells]]
            packing.hide(added)
            assert ledger.hidden[witness.cells].all()
            assert (packing.grid.bits == packing.layout.line_bits(ledger.hidden)).all()
            packing.publish(added[:2])
            assert not ledger.hidden[added[:2]].any()
            assert (packing.grid.bits == packing.layout.line_bits(ledger.hidden)).all()
    assert undone > 3


def largest_cubes(problem: Problem) -> np.ndarray:
    """How far each cell can be moved down and up by one product of minimal moves, by trying them all."""
    table = problem.table
    moves = [minimal_moves(dimension) for dimension in table.dimensions]
    place = {tuple(key): cell for cell, key in enumerate(zip(*(k.tolist() for k in table.keys), strict=True))}
    values = table.values.tolist()
    reach = np.zeros((table.num_cells, 2))
    for parts in product(*moves):
        corners = [
            (tuple(code for code, _ in corner), int(np.prod([sign for _, sign in corner])))
            for corner in product(*parts)
        ]
        cells = [(place.get(key, -1), sign) for key, sign in corners]
        if any(cell < 0 for cell, _ in cells):
            continue
        for turn in (1, -1):
            room = min((values[cell] for cell, sign in cells if sign * turn < 0), default=np.inf)
            for cell, sign in cells:
                side = int(sign * turn > 0)
                reach[cell, side] = max(reach[cell, side], room)
    return reach


def minimal_moves(dimension: Dimension) -> list[list[tuple[int, int]]]:
    """Ways from leaf to leaf and from leaf to root in a tree, from the parents of its codes."""
    parent = {
        child: equation.parent
        for equation in dimension.equations
        for child in equation.codes
        if child != equation.parent
    }
    leaves = [code for code in range(len(dimension)) if code not in parent.values()]

    def chain(code: int) -> list[int]:
        return [code, *(chain(parent[code]) if code in parent else [])]

    moves = [[(code, 1) for code in chain(leaf)] for leaf in leaves]
    for i, first in enumerate(leaves):
        for second in leaves[:i]:
            both = set(chain(first)) & set(chain(second))
            moves.append(
                [(code, 1) for code in chain(first) if code not in both]
                + [(code, -1) for code in chain(second) if code not in both]
            )
    return moves


def test_sums_of_cubes() -> None:
    """One cube moves the cell by 4 only, two by 8; the cheapest columns are taken."""
    interior = [[20, 4, 5, 90], [30, 40, 50, 60]]
    problem = two_way(interior, primaries={(0, 0): (0, 8)}, weight="value")
    ledger = Ledger(problem)
    assert Packing(ledger).protect() == 0
    assert verified(ledger).is_valid
    hidden = problem.table.cell_names(np.flatnonzero(ledger.hidden))
    assert hidden == ["(r0, c0)", "(r0, c1)", "(r0, c2)", "(r1, c0)", "(r1, c1)", "(r1, c2)"]


def test_frozen_cells_leave_demands_open() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = problem.status.copy()
    status[problem.table.cell("r0")] = status[problem.table.cell("r0", "c1")] = Status.FROZEN
    ledger = Ledger(problem.replace(status=status))
    assert Packing(ledger).protect() == 2
    assert ledger.cost == 0


def test_where_it_applies() -> None:
    rng = np.random.default_rng(0)
    assert all(has_cubes(small_table(shape, rng)) for shape in ("flat 2-D", "hierarchical", "overlapping"))
    names = [Dimension.unstructured("cell", [str(i) for i in range(9)])]
    plain = two_way([[20, 50], [8, 19]]).table.replace(
        dimensions=tuple(names), keys=(np.arange(9, dtype=np.int32),)
    )
    assert not has_cubes(plain)
    with pytest.raises(ValueError, match="no cubes"):
        Packing(Ledger(Problem.of(plain, {4: (1, 1)})))


def test_dimension_without_equations_is_left_alone() -> None:
    """Two tables side by side: nothing need be hidden in the other one."""
    from cellveil.tables.build import assemble

    year = Dimension.unstructured("year", ["2023", "2024"])
    region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    keys = [np.repeat([0, 1], 4).astype(np.int32), np.tile(np.arange(4), 2).astype(np.int32)]
    table = assemble([year, region], keys, np.array([12, 3, 4, 5, 15, 4, 5, 6]), 0)
    problem = Problem.of(table, {1: (1, 1)})
    ledger = Ledger(problem)
    assert Packing(ledger).protect() == 0
    assert verified(ledger).is_valid
    assert ledger.hidden.tolist() == [False, True, True, False, False, False, False, False]


@pytest.mark.parametrize("shape", SHAPES)
def test_hypercube_ends_safe(shape: str) -> None:
    """Also where cells are frozen or bounded, and where cubes do not apply: judged by enumeration."""
    rng = np.random.default_rng(SHAPES.index(shape))
    judged = 0
    while judged < 3:
        problem = half_hidden_problem(shape, rng)
        draft = hypercube(problem, seed=1)
        pattern = Pattern.hiding(problem, draft.hidden, "hypercube")
        if draft.infeasible or draft.hidden.sum() > 12:
            continue
        judged += 1
        assert all(is_protected(problem, pattern).values())


def test_hypercube_under_prior_knowledge() -> None:
    problem = random_problem(4, 2, "value", None).known_within(60)
    draft = hypercube(problem, seed=1)
    report = audit_outsider(
        problem, Pattern.hiding(problem, draft.hidden, "hypercube"), claims=draft.witnesses
    )
    assert not draft.infeasible and report.is_safe


def test_hypercube_recovers_dimensions() -> None:
    """A table known by its relations only is packed all the same."""
    problem = random_problem(1, 5, "value", None)
    names = Dimension.unstructured("cell", map(str, range(problem.table.num_cells)))
    bare = problem.table.replace(
        dimensions=(names,), keys=(np.arange(problem.table.num_cells, dtype=np.int32),)
    )
    draft = hypercube(problem.replace(table=bare), seed=1)
    assert draft.num_lps == 0
    assert are_deviations(problem, draft.hidden, draft.witnesses).all()


def test_out_of_time_is_safe() -> None:
    problem = random_problem(1, 5, "value", None)
    draft = hypercube(problem, deadline=Deadline(1e-9))
    assert draft.reason.startswith("time limit")
    assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "hypercube")).is_safe


def test_same_seed_same_pattern() -> None:
    problem = random_problem(5, 8, "value", None)
    patterns = []
    for seed in (3, 3):
        ledger = Ledger(problem)
        packing = Packing(ledger, seed=seed)
        packing.protect()
        packing.improve(trials=500)
        patterns.append(ledger.hidden.tolist())
    assert patterns[0] == patterns[1]


class SteppingTime:
    """A clock that moves on by a step whenever it is read."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0

    def monotonic(self) -> float:
        self.now += self.step
        return self.now


def test_the_pattern_of_a_larger_table_does_not_depend_on_the_speed_of_the_machine(monkeypatch) -> None:
    problem, costs = random_table((40, 30, 20), seed=1), set()
    for step in (0.0, 10.0):
        monkeypatch.setattr(clock, "time", SteppingTime(step))
        packing = Packing(Ledger(problem), seed=1)
        packing.protect()
        packing.improve(trials=1000)
        costs.add(packing.ledger.cost)
    assert len(costs) == 1


@pytest.mark.parametrize("share", [0.0, 0.02, 1e9])
def test_only_what_is_cheap_is_packed_and_the_books_stay_right(share: float) -> None:
    problem = random_problem(5, 3, "value", None)
    ledger = Ledger(problem)
    Packing(ledger).prove()
    ledger.hide(np.flatnonzero((problem.status != Status.FROZEN) & ~ledger.hidden)[::7])
    before, cost = ledger.num_open, ledger.cost
    packing = Packing(ledger)
    packing.protect_cheaply(share)
    up, down = ledger.need_up > 0, ledger.need_down > 0
    missing = (up & (ledger.witness_up < 0)).sum() + (down & (ledger.witness_down < 0)).sum()
    assert ledger.num_open == missing <= before
    proven = verified(ledger)
    assert proven.demands - missing <= proven.met <= proven.demands
    if share == 0.0:
        assert ledger.cost == cost
    if share == 1e9:
        assert not missing
    packing.protect()
    assert not ledger.num_open
