"""Greedy elimination with a sparse basis: complete patterns of linked tables, exact, by `auto` as well."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.datasets.linked_tables import publication
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import are_deviations
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.parallel import using
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.engines.irregular import IrregularParams
from cellveil.suppression.engines.kernel_search import KernelSearchParams
from cellveil.suppression.engines.sparse_elimination import SparseElimination, SparseEliminationParams
from cellveil.suppression.methods.auto import AutoParams
from cellveil.suppression.suppressing import suppress
from helpers.linked_tables import linked

ENDLESS = Deadline(None)


class Stages(Progress):
    """Which stages a run goes through."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def stage(self, name: str) -> None:
        self.names.append(name)


def pattern(problem: Problem, most_coordinates: int = 400) -> Ledger:
    params = SparseEliminationParams(most_coordinates=most_coordinates)
    found = SparseElimination.of(problem, ENDLESS, params=params)
    assert found is not None
    return found.pattern(ENDLESS)


@pytest.mark.parametrize("most_coordinates", [1, 400])
@pytest.mark.parametrize("seed", range(3))
def test_elimination_ends_with_an_exact_witness_for_every_demand(seed, most_coordinates):
    problem = linked(seed)
    ledger = pattern(problem, most_coordinates)
    assert not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()
    assert ledger.cost < 0.5 * problem.weight[~problem.hidden_at_start].sum()


@pytest.mark.parametrize("seed", range(3))
def test_cells_of_a_cover_stay_undetermined(seed):
    problem = linked(seed)
    cover = cover_bound(problem).suggestion
    asked: list[np.ndarray] = []

    class Watched(SparseElimination):
        def _check(self, ledger, *rest):
            asked.append(ledger.hidden.copy())
            super()._check(ledger, *rest)

    found = Watched.of(problem, ENDLESS, cover=cover)
    assert found is not None
    ledger = found.pattern(ENDLESS)
    assert asked[0][cover].all() and not asked[0].all()
    assert not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


@pytest.mark.parametrize("worth_harvesting", [0, 1_000_000])
def test_harvests_leave_exact_witnesses_for_every_demand(worth_harvesting):
    problem = linked(1)
    params = SparseEliminationParams(first_harvest=1, worth_harvesting=worth_harvesting)
    found = SparseElimination.of(problem, ENDLESS, params=params)
    assert found is not None
    ledger = found.pattern(ENDLESS)
    assert not ledger.num_open
    assert are_deviations(problem, ledger.hidden, ledger.witnesses()).all()


def test_the_same_seed_gives_the_same_pattern():
    problem = linked(2)
    assert (pattern(problem).hidden == pattern(problem).hidden).all()


@pytest.mark.parametrize("workers", [2, 3])
def test_workers_repair_side_by_side(workers):
    """Each on a ledger of its own; a limit that does not bind leaves the pattern to seed and workers."""
    problem, hour = linked(1), Deadline(3600.0)
    params = SparseEliminationParams(most_coordinates=1, at_once=1, worth_harvesting=1_000_000)
    ledgers = []
    for _ in range(2):
        with using(workers):
            found = SparseElimination.of(problem, hour, params=params)
            assert found is not None
            ledgers.append(found.pattern(hour))
    assert not ledgers[0].num_open
    assert are_deviations(problem, ledgers[0].hidden, ledgers[0].witnesses()).all()
    assert (ledgers[0].hidden == ledgers[1].hidden).all()


def test_without_a_limit_the_pattern_does_not_depend_on_workers():
    problem = linked(1)
    with using(3):
        beside = pattern(problem, 1)
    assert (beside.hidden == pattern(problem, 1).hidden).all()


def test_the_bound_is_looked_for_beside_a_search_through_windows():
    problem, stages = publication(600, tables=6, seed=2), Stages()
    own = KernelSearchParams(most_entries=0)
    params = AutoParams(small=0, many=0, most_for_exact=0, kernel_search=own, barren=5)
    result = suppress(
        problem, "auto", attackers=[], params=params, progress=stages, time_limit=3600, workers=2
    )
    assert result.is_safe and "bound beside the search" in stages.names
    assert "better bound" not in stages.names


def test_frozen_cells_stay_published():
    problem = linked(3)
    status = problem.status.copy()
    status[np.argsort(-problem.weight)[:20]] = Status.FROZEN
    status[problem.primaries] = Status.PRIMARY
    frozen = problem.replace(status=status)
    assert not pattern(frozen).hidden[status == Status.FROZEN].any()


def test_without_time_there_is_none():
    assert SparseElimination.of(linked(1), Deadline(0.0)) is None
    params = SparseEliminationParams(most_entries=3)
    assert SparseElimination.of(linked(1), ENDLESS, params=params) is None


@pytest.mark.parametrize("most_cells", [0, 25_000])
def test_auto_protects_linked_tables_so_when_the_dense_tableau_is_too_large(most_cells):
    problem, stages = publication(600, tables=6, seed=2), Stages()
    params = AutoParams(
        small=0,
        many=0,
        kernel_search=KernelSearchParams(most_entries=0),
        irregular=IrregularParams(most_cells=most_cells),
        trials=10,
        steps=1_000,
    )
    result = suppress(problem, "auto", attackers=[], params=params, progress=stages)
    assert result.is_safe and result.audit.certificate is not None
    assert "sparse elimination" in stages.names and "start" not in stages.names
    assert result.pattern.hidden.sum() < 0.6 * problem.table.num_cells


def test_smaller_linked_tables_are_protected_as_before():
    stages = Stages()
    suppress(linked(2), "auto", attackers=[], params=AutoParams(small=0), progress=stages)
    assert "sparse elimination" not in stages.names


def test_tables_with_a_product_structure_are_not_for_it():
    stages = Stages()
    params = AutoParams(small=0, many=0, polish_trials=10, trials=10)
    suppress(random_table((9, 8, 7), seed=1), "auto", attackers=[], params=params, progress=stages)
    assert "sparse elimination" not in stages.names
