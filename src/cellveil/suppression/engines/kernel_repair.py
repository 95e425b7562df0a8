"""Check and repair of a pattern inside its own null space, with paid programs over all cells for the rest.

The hidden cells have few degrees of freedom, and small programs in these coordinates find witnesses for
nearly all demands (`cellveil.deviations.pattern_kernel`). For the largest demand that is left, the cheapest
deviation over all cells is asked for, and what it moves is hidden; then all open demands are looked for again
in the null space of what is hidden now. One paid program serves many demands so. Programs that take ample
room for endless (`cellveil.deviations.budgeted_movement`) are a tenth of the work; where one suggests nothing
new, the program with all capacities, whose deviation is a witness, follows.

Requires any relations. Ensures exact witnesses for all that the ledger counts as met.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.clock import Deadline
from cellveil.deviations.budgeted_movement import BudgetedMovement
from cellveil.deviations.independent_relations import spanning_relations
from cellveil.deviations.kernel_basis import kernel_basis
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import Feasibility, MovementParams
from cellveil.deviations.pattern_kernel import PatternKernel, PatternKernelParams
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.tables.relations import Relations


@dataclass(frozen=True, kw_only=True)
class KernelRepairParams(Params):
    """Parameters of repair."""

    most_coordinates: int = param(600, "Coordinates up to which programs over them pay.", least=1)
    most_programs: int = param(60, "Paid programs for one pattern.", least=0)
    slopes: tuple[float, ...] = param((), "Epsilons of reweighted l1 in paid programs.", least=0)
    roomy: float = param(30.0, "Room that paid programs take for endless, in units of the amount.", least=1)
    pattern_kernel: PatternKernelParams = part(PatternKernelParams)


class KernelRepair:
    """Repair of patterns of one problem; the program over all cells is set up once."""

    def __init__(self, params: KernelRepairParams | None = None) -> None:
        self.params = params or KernelRepairParams()
        self._movement: Movement | None = None
        self._relations: Relations | None = None

    def repair(self, ledger: Ledger, deadline: Deadline, most: float = np.inf) -> bool:
        """Meet all open demands of the ledger; tells whether that was done, and for less than `most`."""
        self.meet(ledger, deadline)
        suggested = BudgetedMovement(ledger, self._rows(ledger.problem), self.params.roomy)
        for _ in range(self.params.most_programs):
            if not ledger.num_open or deadline.is_over or ledger.cost >= most:
                break
            if not self._hide(suggested, most, deadline) and not self._pay(ledger, deadline):
                break
            self.meet(ledger, deadline)
        if ledger.num_open:
            return False
        drop_unused(ledger)
        return ledger.cost < most

    def meet(self, ledger: Ledger, deadline: Deadline) -> None:
        """Witnesses for what is open, inside what is hidden."""
        cells = np.flatnonzero(ledger.hidden)
        room = np.minimum(ledger.room_up, ledger.room_down)[cells].astype(np.float64)
        basis = kernel_basis(self._rows(ledger.problem), cells, room, self.params.most_coordinates)
        if basis is not None and basis.size:
            kernel = PatternKernel(ledger, cells, basis, basis.shape[1], self.params.pattern_kernel)
            kernel.meet(deadline)

    def _hide(self, suggested: BudgetedMovement, most: float, deadline: Deadline) -> bool:
        """Hide what a program suggests for the largest open demand; tells whether that is anything new."""
        ledger = suggested.ledger
        cell, up, amount = (each[0].item() for each in ledger.open_demands())
        moved = suggested.push(cell, up, amount, most - ledger.cost, deadline)
        added = np.zeros(0, dtype=np.int64) if moved is None else moved[~ledger.hidden[moved]]
        ledger.hide(added)
        return len(added) > 0

    def _pay(self, ledger: Ledger, deadline: Deadline) -> bool:
        """Hide what the cheapest deviation for the largest open demand moves."""
        problem = ledger.problem
        if self._movement is None:
            self._movement = Movement(
                self._rows(problem),
                problem.status != Status.FROZEN,
                problem.weight,
                params=MovementParams(slopes=self.params.slopes),
            )
        self._movement.deadline = deadline
        cell, up, amount = (each[0].item() for each in ledger.open_demands())
        move = self._movement.push(cell, amount, (ledger.room_down, ledger.room_up), ledger.hidden, up=up)
        if move.verdict is not Feasibility.MET:
            return False
        ledger.hide(move.support[~ledger.hidden[move.support]])
        if move.witness is not None:
            ledger.add(move.witness, stretch=True)
        return True

    def _rows(self, problem: Problem) -> Relations:
        """Relations that span all of them, found once."""
        if self._relations is None:
            self._relations = spanning_relations(problem)
        return self._relations
