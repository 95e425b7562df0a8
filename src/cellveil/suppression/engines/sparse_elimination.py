"""Greedy elimination with a sparse basis of the null space: first patterns of large linked tables.

1. *Greedy elimination* (`cellveil.deviations.sparse_kernel`): from everything hidden, cells are published one
   after the other, the dearest first, each unless that would determine a primary. Elimination knows nothing
   of capacities; so it can be given a cover (`cellveil.suppression.bounds.cover`), cells that meet the levels
   in every relation on its own: they stay hidden and undetermined, too.
2. *Check*: a column that fits the capacities is a witness as it stands. Others are joint witnesses, which a
   harvest finds for thousands of demands in seconds (`cellveil.deviations.joint_witness`). The columns fall
   into components of some dozens, each a pattern of its own; for what is left there are programs in the
   coordinates of the component (`cellveil.deviations.pattern_kernel`).
3. *Repair*: the cheapest deviation of what is still open, through windows (`windowed_demand`), with harvests
   after 8, 16, 32, … of them. With a time limit all workers repair side by side, each a few demands on a copy
   of the ledger; then what all of them have hidden is hidden for all.

Requires any relations whose null space has a sparse basis. Ensures exact witnesses for all it calls met. Does
not ensure the least cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline
from cellveil.deviations.joint_witness import JointWitness, JointWitnessParams
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.pattern_kernel import PatternKernel, PatternKernelParams
from cellveil.deviations.sparse_kernel import SparseKernel, sparse_basis
from cellveil.deviations.witness import Witness
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.solvers.parallel import num_workers, side_by_side
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.windowed_demand import WindowedDemand, WindowParams

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, kw_only=True)
class SparseEliminationParams(Params):
    """Parameters of greedy elimination with a sparse basis."""

    most_entries: int = param(20_000_000, "Entries of the basis: more are not kept in memory.", least=0)
    cells_per_second: int = param(5_000, "Cells that can be eliminated in a second.", least=1)
    largest: int = param(64, "Limit of the entries of deviations.", least=1)
    tries: int = param(4, "Columns tried for the publication of one cell.", least=1)
    most_coordinates: int = param(400, "Coordinates of a component for programs over them.", least=1)
    first_harvest: int = param(8, "Programs before the first harvest; then twice as many each time.", least=1)
    worth_harvesting: int = param(50, "Least number of open demands for a harvest.", least=0)
    at_once: int = param(
        4, "Demands that each of several workers repairs before it hears what the others hid.", least=1
    )
    joint_witness: JointWitnessParams = part(JointWitnessParams)
    pattern_kernel: PatternKernelParams = part(PatternKernelParams)
    windows: WindowParams = part(WindowParams)


class SparseElimination:
    """The null space of one problem, and a pattern found in it.

    Parameters
    ----------
    cover
        Cells that are not published; none by default.
    """

    def __init__(
        self,
        problem: Problem,
        basis: csc_matrix,
        *,
        cover: Bool | None = None,
        seed: int = 0,
        params: SparseEliminationParams | None = None,
    ) -> None:
        self.problem, self.params = problem, params or SparseEliminationParams()
        self._basis, self._seed = basis, seed
        self._cover = np.zeros(problem.table.num_cells, dtype=bool) if cover is None else cover

    @classmethod
    def of(
        cls,
        problem: Problem,
        deadline: Deadline,
        *,
        cover: Bool | None = None,
        seed: int = 0,
        params: SparseEliminationParams | None = None,
    ) -> SparseElimination | None:
        """None where the null space has no sparse basis, or there is no time to find it."""
        params = params or SparseEliminationParams()
        cells = np.flatnonzero(problem.status != Status.FROZEN)
        if deadline.left is not None and deadline.left * params.cells_per_second < len(cells):
            return None
        basis = sparse_basis(problem.table.relations, cells, -problem.weight[cells], params.most_entries)
        return None if basis is None else cls(problem, basis, cover=cover, seed=seed, params=params)

    def pattern(self, deadline: Deadline) -> Ledger:
        """A pattern with witnesses; complete unless time is over before, or some demand cannot be met."""
        kernel = SparseKernel(self._basis, seed=self._seed)
        order, start = np.argsort(-self.problem.weight, kind="stable"), Ledger(self.problem)
        kernel.publish_in_turn(
            order[~(start.hidden | self._cover)[order]].tolist(),
            (start.need_up > 0) | (start.need_down > 0) | self._cover,
            largest=self.params.largest,
            tries=self.params.tries,
            deadline=deadline,
        )
        ledger = Ledger(self.problem, kernel.hidden | start.hidden)
        harvests = _Harvests(ledger, deadline, self._seed, self.params)
        self._check(ledger, kernel.witnesses(), harvests, deadline)
        self._repair(ledger, harvests, deadline)
        return ledger

    def _check(self, ledger: Ledger, columns: list[Witness], harvests: _Harvests, deadline: Deadline) -> None:
        """Witnesses inside the pattern, whose deviations the columns span."""
        for column in columns:
            ledger.add(column, stretch=True)
        harvests.gather()
        for cells, numbers in _components(columns, len(ledger.hidden)):
            if len(numbers) <= self.params.most_coordinates and not deadline.is_over:
                basis = np.zeros((len(cells), len(numbers)), dtype=np.int64)
                for place, number in enumerate(numbers):
                    column = columns[number]
                    basis[np.searchsorted(cells, column.cells), place] = column.numerators
                PatternKernel(ledger, cells, basis, len(numbers), self.params.pattern_kernel).meet(deadline)

    def _repair(self, ledger: Ledger, harvests: _Harvests, deadline: Deadline) -> None:
        """Hide what open demands need, the largest first."""
        # Without a limit the pattern is to be the same for any number of workers.
        workers = 1 if deadline.limit is None else num_workers()
        team = [WindowedDemand(ledger, self.params.windows) for _ in range(workers)]
        cells, ups, _ = ledger.open_demands()
        todo = list(zip(cells.tolist(), ups.tolist(), strict=True))
        at_once = workers * self.params.at_once if workers > 1 else 1
        while todo and not deadline.is_over:
            todo = [demand for demand in todo if ledger.is_open(*demand)]
            part, todo = todo[:at_once], todo[at_once:]
            _protect_side_by_side(team, part, deadline)
            harvests.follow_up(len(part))
        if not ledger.num_open:
            drop_unused(ledger)


def _protect_side_by_side(
    team: Sequence[WindowedDemand], demands: Sequence[tuple[int, bool]], deadline: Deadline
) -> None:
    """Protect demands, dealt out among workers; the ledger of the first holds what all have found."""
    ledger, others = team[0].ledger, team[1:]
    for worker in others:
        worker.ledger = ledger.copied()
    works = [partial(_protect_all, worker, demands[k :: len(team)]) for k, worker in enumerate(team)]
    side_by_side(works, deadline)
    for worker in others:
        ledger.add_all(worker.ledger.witnesses(), hide=True)


def _protect_all(program: WindowedDemand, demands: Sequence[tuple[int, bool]], deadline: Deadline) -> None:
    for cell, up in demands:
        if deadline.is_over:
            return
        if program.ledger.is_open(cell, up):
            program.protect(cell, up, deadline)


class _Harvests:
    """Joint witnesses inside what is hidden, now and after 8, 16, 32, … programs."""

    def __init__(
        self, ledger: Ledger, deadline: Deadline, seed: int, params: SparseEliminationParams
    ) -> None:
        self._ledger, self._params, self._rng = ledger, params, np.random.default_rng(seed)
        self._joint = JointWitness(ledger.problem, deadline, params.joint_witness)
        self._asked, self._next = 0, params.first_harvest

    def gather(self) -> None:
        """Meet open demands together, where there are enough of them."""
        if self._ledger.num_open >= self._params.worth_harvesting:
            self._joint.harvest(self._ledger, self._rng)

    def follow_up(self, programs: int) -> None:
        """After so many programs."""
        self._asked += programs
        if self._asked >= self._next:
            self._next *= 2
            self.gather()


def _components(columns: list[Witness], num_cells: int) -> Iterator[tuple[Int, list[int]]]:
    """Columns that hang together by cells that both move: the cells, and the numbers of the columns."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if not columns:
        return
    lengths = [len(column.cells) for column in columns]
    cells = np.concatenate([column.cells for column in columns])
    owner = np.repeat(np.arange(len(columns)), lengths)
    size = num_cells + len(columns)
    graph = csr_array((np.ones(len(cells)), (cells, num_cells + owner)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    by_label = np.argsort(labels[num_cells:], kind="stable")
    for numbers in np.split(by_label, np.flatnonzero(np.diff(labels[num_cells:][by_label])) + 1):
        yield np.unique(np.concatenate([columns[number].cells for number in numbers])), numbers.tolist()
