"""`suppress`: odd problems, demands, public instances. The contract of all methods is in tests/contract."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cellveil.certificate import verify
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.demand import Demand, Demands
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witness
from cellveil.errors import InfeasibleError, InputError
from cellveil.formats.instance import read_instance
from cellveil.judge.outsider import audit_outsider
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression import suppress
from cellveil.suppression.bounds.cover import CoverBound, cover_bound
from cellveil.suppression.draft import Draft
from cellveil.suppression.shared_search import shared_search
from cellveil.suppression.suppressing import RunParams
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import UNBOUNDED
from helpers.instances import INSTANCES, needs_instances
from helpers.linked_tables import linked


def test_a_level_beyond_the_bounds_is_infeasible() -> None:
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 25)})
    with pytest.raises(InfeasibleError):
        suppress(problem)


class InterruptedAt(Progress):
    """Somebody presses Ctrl-C as a stage begins."""

    def __init__(self, name: str) -> None:
        self.name = name

    def stage(self, name: str) -> None:
        if name == self.name:
            raise KeyboardInterrupt


def test_an_interrupt_keeps_the_best_certified_pattern() -> None:
    problem = random_table((5, 5, 5), seed=2)
    result = suppress(problem, progress=InterruptedAt("search"))
    assert result.was_interrupted and result.is_safe
    assert verify(problem, result.pattern, result.certificate).is_valid
    with pytest.raises(KeyboardInterrupt):  # nothing complete yet
        suppress(problem, progress=InterruptedAt("bound"))


@pytest.mark.parametrize(("used", "left"), [(0.0, 500.0), (980.0, 10.0), (1_500.0, 0.1)])
def test_a_bound_after_the_method_keeps_the_limit(
    used: float, left: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Progress):
        """The method takes so many seconds of the clock."""

        def stage(self, name: str) -> None:
            if name == "hypercube":
                monkeypatch.setattr("cellveil.clock.counted_time", lambda: used)

    asked: list[float | None] = []

    def bound(problem: Problem, *, deadline: Deadline, **settings: Any) -> CoverBound:
        asked.append(deadline.left)
        return cover_bound(problem, **settings)

    monkeypatch.setattr("cellveil.clock.counted_time", lambda: 0.0)
    monkeypatch.setattr("cellveil.suppression.suppressing.cover_bound", bound)
    options = {"run.bound_seconds": 1e6}
    found = suppress(random_table((3, 3)), "hypercube", time_limit=1_000, options=options, progress=Slow())
    assert asked == [pytest.approx(left)] and found.is_safe


def test_a_search_that_the_clock_ended_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clock(Progress):
        """Time is up as the search begins."""

        is_over = False

        def stage(self, name: str) -> None:
            self.is_over |= name == "search"

    clock = Clock()
    monkeypatch.setattr(Deadline, "left", property(lambda self: 0.0 if clock.is_over else 1000.0))
    result = suppress(random_table((5, 5, 5), seed=2), attackers=[], time_limit=1000, progress=clock)
    assert result.is_safe and result.reason == "time limit"


@pytest.mark.parametrize("attackers", [(), ("insider",), ("integer",)])
def test_cells_that_protect_nothing_are_published_whatever_the_method_hides(
    attackers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = random_table((6, 5), seed=4, contributors=6, unit=500, contributions=True)
    spare: list[int] = []

    def wasteful(asked: Problem, *given: Any, **settings: Any) -> Draft:
        """The pattern of a search, with one cell more that everybody can compute."""
        draft = shared_search(asked, *given, **settings)
        hidden = np.flatnonzero(draft.hidden)
        relations = asked.table.relations
        for row in range(len(relations)):
            cells = relations.row(row)[0]
            open_cells = cells[~draft.hidden[cells] & (asked.status[cells] == Status.SAFE)]
            if not np.isin(cells, hidden).any() and len(open_cells):
                spare.append(int(open_cells[0]))
        draft.hidden[spare[:1]] = True
        return draft

    plain = suppress(problem, attackers=attackers)
    monkeypatch.setattr("cellveil.suppression.suppressing.shared_search", wasteful)
    found = suppress(problem, attackers=attackers)
    assert spare and not found.pattern.hidden[spare[0]]
    assert found.is_safe and found.cost == plain.cost and found.outcome == plain.outcome
    assert verify(problem, found.pattern, found.certificate).is_valid


def test_unknown_method_names_the_nearest() -> None:
    with pytest.raises(InputError, match="Did you mean 'sequential'"):
        suppress(two_way([[20, 50], [8, 19]]), "sequental")


def test_negative_tables_and_unbounded_cells() -> None:
    interior = [[-20, 50, 9], [8, -19, 7], [5, 6, 9]]
    problem = two_way(interior, primaries={(0, 0): (5, 5), (1, 1): (4, 4)})
    assert (problem.lb == -UNBOUNDED).all()
    assert suppress(problem).is_safe


def test_wide_range_of_values() -> None:
    """Cells of 1 beside cells of 10^12: neither drowns the other."""
    rng = np.random.default_rng(3)
    interior = (10.0 ** rng.uniform(0, 12, (6, 7))).astype(np.int64)
    primaries = {(0, 0): 1, (1, 2): int(interior[1, 2] // 10 + 1), (5, 6): int(interior[5, 6] // 5 + 1)}
    problem = two_way(interior.tolist(), primaries=primaries)
    result = suppress(problem)
    assert result.is_safe and audit_outsider(problem, result.pattern).is_safe


# -- demands -------------------------------------------------------------------------------------------------


def test_demands_in_descending_order_and_sliding() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (2, 3), (1, 1): (7, 1)})
    first, second = problem.primaries.tolist()
    assert Demands(problem).of(problem.primaries) == [
        Demand(second, False, 7),
        Demand(first, True, 3),
        Demand(first, False, 2),
        Demand(second, True, 1),
    ]
    sliding = problem.replace(spl=np.where(problem.upl == 3, 10, 0))
    assert Demands(sliding).up[first] == 8 and Demands(sliding).down[first] == 2


def test_harvest_scales_and_reverses() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): (6, 6)})
    cells = [problem.table.cell(*key) for key in (("r0", "c0"), ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))]
    order = np.argsort(cells)
    unit = Witness(np.array(cells)[order], np.array([1, -1, -1, 1])[order], 1)
    ledger = Ledger(problem)
    ledger.add(unit, hide=True, stretch=True)
    assert ledger.num_open == 0, "8 of the cell below and 19 beside it leave room for 6 either way"
    tight = Ledger(two_way([[20, 50], [5, 19]], primaries={(0, 0): (6, 6)}))
    tight.add(unit, hide=True, stretch=True)
    assert tight.num_open == 1


# -- public instances ----------------------------------------------------------------------------------------

SMALL = ["targus", "table7", "table8", "hie1372d", "hie1327d", "table1", "table6"]
SMALL += ["hier13", "hier133a", "hier133d", "hier133e"]


@needs_instances
@pytest.mark.parametrize("name", SMALL)
def test_public_instances_are_protected(name: str) -> None:
    problem = read_instance(INSTANCES / "csp" / f"{name}.jj")
    result = suppress(problem, time_limit=2)
    assert result.outcome in ("safe", "optimal")
    assert audit_outsider(problem, result.pattern, exact=problem.table.num_cells < 1500).is_safe
    assert (result.pattern.status[problem.status == Status.FROZEN] == Status.FROZEN).all()


@pytest.mark.slow
@needs_instances
@pytest.mark.parametrize("name", ["osorio", "cbs", "two5in6"])
def test_large_public_instances_are_protected(name: str) -> None:
    problem = read_instance(INSTANCES / "csp" / f"{name}.jj")
    result = suppress(problem, time_limit=60)
    assert result.is_safe and audit_outsider(problem, result.pattern, exact=False).is_safe


@pytest.mark.parametrize("close", [-1.0, 1.0])
def test_auto_closes_small_gaps_by_branch_and_cut_in_larger_tables(
    monkeypatch: pytest.MonkeyPatch, close: float
) -> None:
    """Which tables are larger, and what is small, is set for the test: no demand is too much to solve."""
    from cellveil.suppression.methods import auto

    problem = random_table((4, 4, 3), contributors=4, primaries=0.15, seed=3)
    least = suppress(problem, "optimal").cost
    calls: list[float | None] = []
    solve = auto.optimal

    def spy(*args: Any, **options: Any) -> Draft:
        calls.append(options["deadline"].limit)
        return solve(*args, **options)

    monkeypatch.setattr(auto, "optimal", spy)
    monkeypatch.setattr(
        auto, "cover_bound", lambda *args, **options: _worthless(cover_bound(*args, **options))
    )
    options = {"most_for_exact": 0, "close": close, "barren": 3}
    found = suppress(problem, "auto", time_limit=60.0, options=options)
    assert found.is_safe and found.cost >= least
    assert found.lower_bound is not None and found.lower_bound <= least
    assert bool(calls) == (close > 0)


def _worthless(bound: CoverBound) -> CoverBound:
    return replace(bound, bound=min(bound.bound, 0.0))


def test_large_tables_without_cubes_leave_more_of_the_time_to_the_method() -> None:
    """Their first pattern takes long; without it everything would be hidden."""
    run, with_cubes = RunParams(irregular_cells=100), linked(1).table
    cells = Dimension.unstructured("cell", map(str, range(with_cubes.num_cells)))
    without = with_cubes.replace(dimensions=(cells,), keys=(np.arange(with_cubes.num_cells, dtype=np.int32),))
    assert run.share_of(without) == run.irregular_share
    assert run.share_of(with_cubes) == run.method_share
    assert run.share_of(random_table((12, 12), seed=1).table) == run.method_share
    assert RunParams().share_of(without) == run.method_share
