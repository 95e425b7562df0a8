"""The incremental linear program: protect one demand of a ledger after the other by its cheapest deviation.

For a demand (cell p, direction, amount d) of the outsider

    min Σ c_j |y_j|   subject to   M y = 0,   −down ≤ y ≤ up,   y_p = ± d

with the costs of `cellveil.deviations.movement`. The vertex is made exact and written into the ledger, with
what it moves hidden. Where a vertex does not come out exact, a joint witness of the same cells is looked for.

What else may help is a *strategy*: `splitting_search.SplittingFirst` tries the splitting engine in large
components, `irregular.Harvests` meets other demands on the way.

Requires components small enough for simplex (some thousand cells). Ensures exactness of what it writes.

References: Kelly, Golden & Assad (1992); equations (1)–(8) of Serpell, Smith, Clark & Staggemeier (2011).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.joint_witness import JointWitness, JointWitnessParams, Task
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import Feasibility, MovementParams, MovementProgram
from cellveil.params import param, part
from cellveil.problem import Status
from cellveil.solvers.lp import LPStatus
from cellveil.solvers.tolerances import ROUNDING, SUPPORT


@dataclass(frozen=True, kw_only=True)
class OneDemandParams(MovementParams):
    """Parameters of the incremental linear program."""

    most_cells: int = param(2_500, "Cells of a component up to which linear programs come first.", least=0)
    joint_witness: JointWitnessParams = part(JointWitnessParams)


class Strategy:
    """What to do before and after the program of a demand; by itself nothing."""

    def try_first(self, engine: OneDemand, cell: int, up: bool, deadline: Deadline, budget: float) -> bool:
        """Meet the demand by other means; tells whether that succeeded."""
        return False

    def follow_up(self, engine: OneDemand) -> None:
        """After a program."""


class OneDemand:
    """Protects single demands of a ledger by linear programs over their component.

    Parameters
    ----------
    allowed
        The cells that may move; all but frozen ones by default.
    strategy
        What to do besides.

    Attributes
    ----------
    down, up
        How far each cell may move.
    slopes
        Of the programs from now on.
    """

    def __init__(
        self,
        ledger: Ledger,
        params: OneDemandParams | None = None,
        *,
        allowed: Bool | None = None,
        strategy: Strategy | None = None,
    ) -> None:
        self.ledger, self.params = ledger, params or OneDemandParams()
        self.slopes = self.params.slopes
        self.down, self.up = ledger.problem.down.copy(), ledger.problem.up.copy()
        self._strategy, self._earlier_lps = strategy or Strategy(), 0
        self.movement = self._moving(ledger.problem.status != Status.FROZEN if allowed is None else allowed)

    def _moving(self, allowed: Bool) -> Movement:
        problem = self.ledger.problem
        return Movement(problem.table.relations, allowed, problem.weight, params=self.params)

    def restrict(self, allowed: Bool) -> None:
        """Set up the programs anew, over these cells."""
        self._earlier_lps = self.num_lps
        self.movement = self._moving(allowed)

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._earlier_lps + self.movement.num_lps

    @property
    def num_steps(self) -> int:
        """How many simplex steps the programs took."""
        return self.movement.num_steps

    @property
    def steps_per_lp(self) -> float:
        """How many simplex steps a program took on average."""
        return self.num_steps / max(self.num_lps, 1)

    def size_of(self, cell: int) -> int:
        """How many cells the component of the cell has."""
        component = self.movement.component(cell)
        return 0 if component is None else len(component.cells)

    def protect(
        self, cell: int, up: bool, deadline: Deadline = NO_LIMIT, budget: float = math.inf
    ) -> Feasibility:
        """Hide what the open demand needs, as cheaply as the program knows, and write down the witness.

        Cells that cost more than the budget stay published; "impossible" then means for that price.
        """
        if self._strategy.try_first(self, cell, up, deadline, budget):
            return Feasibility.MET
        program = self.movement.program(cell)
        verdict = Feasibility.IMPOSSIBLE
        if program is not None:
            verdict = self._protect(program, cell, up, deadline, budget)
        self._strategy.follow_up(self)
        return verdict

    def farthest(self, cell: int, up: bool, deadline: Deadline = NO_LIMIT) -> int:
        """How far the cell can move if everything movable is hidden, up to what is asked."""
        program, amount = self.movement.program(cell), self.amount(cell, up)
        if program is None:
            return 0
        limits = -self.down[program.cells], self.up[program.cells]
        answer = program.farthest(program.column(cell), up, *limits, amount, deadline=deadline)
        return 0 if answer.point is None else math.floor(answer.objective * amount + ROUNDING)

    def amount(self, cell: int, up: bool) -> int:
        """How far the cell must be able to move."""
        return int((self.ledger.need_up if up else self.ledger.need_down)[cell])

    def _protect(
        self, program: MovementProgram, cell: int, up: bool, deadline: Deadline, budget: float
    ) -> Feasibility:
        cells, target, amount = program.cells, program.column(cell), self.amount(cell, up)
        if (self.up if up else self.down)[cell] < amount:
            return Feasibility.IMPOSSIBLE
        is_hidden = self.ledger.hidden[cells]
        too_dear = ~is_hidden & (self.ledger.problem.weight[cells] > budget)
        lower, upper = np.where(too_dear, 0.0, -self.down[cells]), np.where(too_dear, 0.0, self.up[cells])
        lower[target] = upper[target] = amount if up else -amount
        answer = program.cheapest(lower, upper, amount, is_hidden, slopes=self.slopes, deadline=deadline)
        if answer.status is LPStatus.INFEASIBLE:
            return Feasibility.IMPOSSIBLE
        if answer.point is None:
            return Feasibility.UNCLEAR
        witness = lift(program.component, answer.point, *self.rooms(program))
        if witness is not None:
            self.ledger.add(witness, hide=True, stretch=True)
        is_met = not self.ledger.is_open(cell, up) or self._by_joint_witness(
            cell, up, cells[is_hidden | (answer.point != 0)], cells[~too_dear], deadline
        )
        return Feasibility.MET if is_met else Feasibility.UNCLEAR

    def rooms(self, program: MovementProgram) -> tuple[Int, Int]:
        """Exact rooms of the program's cells, downwards and upwards."""
        return self.ledger.room_down[program.cells], self.ledger.room_up[program.cells]

    def _by_joint_witness(self, cell: int, up: bool, few: Int, more: Int, deadline: Deadline) -> bool:
        """Another deviation of the same cells, or of some more, where a vertex does not come out exact."""
        allowed, offered = np.zeros((2, len(self.ledger.hidden)), dtype=bool)
        allowed[few], offered[more] = True, True
        task = Task.single(cell, up, self.amount(cell, up))
        joint = JointWitness(self.ledger.problem, deadline, self.params.joint_witness)
        witness = joint.exact(self.ledger, task, allowed)
        if witness is None:
            missing = joint.missing(task, allowed, offered)
            if missing is None:
                return False
            witness = joint.exact(self.ledger, task, allowed | (np.abs(missing) > SUPPORT))
        return witness is not None and self.ledger.add(witness, hide=True, stretch=True) > 0
