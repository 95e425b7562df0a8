"""The mixed-integer program of controlled tabular adjustment: one binary for each sensitive cell.

    min Σ w f(|y|)   subject to   M y = 0,
    y = p − q                                    for other cells, 0 ≤ p ≤ up, 0 ≤ q ≤ down,
    y = rise · b − fall · (1 − b) + p − q        for sensitive ones, 0 ≤ p ≤ (up − rise) · b,
                                                 0 ≤ q ≤ (down − fall) · (1 − b),  b in {0, 1}

Amounts are measured from the levels on, so that both parts of one cell are never positive, and the relaxation
of one cell is its convex hull. Valid inequalities from imbalances (`imbalance_rows`) lift the bound of the
relaxation from the sum of the levels to within a few per cent of the optimum. f is |y|, or y² by outer
approximation (`piecewise_cost`): solve, be exact at the answer, solve again.

Requires some thousand cells. Ensures that every point handed back keeps everything exactly and that no
adjustment costs less than the bound (up to the solver's tolerance). Cost: exponential in the worst case;
anytime, from any start.

References: Dandekar and Cox (2002); the program of Dula, Fagan and Massell (2004), section Controlled Tabular
Adjustment, whose flaw (both parts of a cell positive) the link rows below remove, as in Castro (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.imbalance_rows import imbalances
from cellveil.adjustment.model import Model
from cellveil.adjustment.null_space import DOWN, UP, Int8
from cellveil.adjustment.piecewise_cost import Breakpoints, Pieces, pieces_of
from cellveil.arrays import Bool, Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.solvers.highs import LPStatus
from cellveil.solvers.mip import Budget, MIPAnswer, Program, solve
from cellveil.solvers.scip_model import solve_by_cuts
from cellveil.solvers.tolerances import SQUARES_GAP

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, eq=False)
class Proof:
    """The best adjustment found, if any, and what was proven.

    Parameters
    ----------
    bound
        No adjustment costs less; ∞ where there is none.
    """

    fit: Fit | None
    bound: float
    ended: LPStatus
    nodes: int


class SenseProgram:
    """The program of one model, for given marks of its pieces."""

    def __init__(self, model: Model, marks: Breakpoints | None, *, pieces: Pieces | None = None) -> None:
        self.model = model
        self.pieces = pieces or pieces_of(model, marks, from_levels=True)
        self._num_pieces, self._num_cells = len(self.pieces.cell), len(model.cells)
        self._unit, self._money = self.pieces.unit(), self.pieces.money()
        self.program = self._build()

    def _build(self) -> Program:
        """Amounts in the unit of the pieces, costs in their money."""
        from scipy.sparse import vstack

        model, pieces = self.model, self.pieces
        weight, power = model.weight[model.cells] / self._money, model.power
        at_rise, at_fall = (weight * level.astype(float) ** power for level in (model.rise, model.fall))
        blocks = [self._additivity(), self._links(), self._imbalances()]
        rows = [np.concatenate([rows[k] for _, rows in blocks]) for k in (0, 1)]
        low = np.concatenate([np.zeros(self._num_pieces), (~model.can_fall).astype(float)])
        high = np.concatenate([pieces.length / self._unit, model.can_rise.astype(float)])
        is_binary = np.arange(len(low)) >= self._num_pieces
        return Program(
            vstack([matrix for matrix, _ in blocks]).tocsc(),
            (rows[0], rows[1]),
            (low, high),
            np.concatenate([pieces.price / self._money, (at_rise - at_fall) / self._unit]),
            is_binary,
            float(at_fall.sum()) / self._unit,
        )

    def _additivity(self) -> tuple[csc_matrix, tuple[Float, Float]]:
        """M y = 0."""
        from scipy.sparse import diags, hstack

        model, pieces = self.model, self.pieces
        matrix = model.relations.matrix.tocsc()
        moved = matrix[:, pieces.cell] @ diags(pieces.sign.astype(float))
        jump = (model.rise + model.fall) / self._unit
        right = matrix[:, model.cells] @ (model.fall / self._unit)
        return hstack([moved, matrix[:, model.cells] @ diags(jump)]).tocsc(), (right, right)

    def _links(self) -> tuple[csc_matrix, tuple[Float, Float]]:
        """A piece of a sensitive cell is open in its own sense only."""
        from scipy.sparse import csc_matrix

        pieces, number = self.pieces, self.model.place[self.pieces.cell]
        mine = np.flatnonzero(number >= 0)
        line, length = np.arange(len(mine)), pieces.length[mine] / self._unit
        up = pieces.sign[mine] > 0
        data = np.concatenate([np.ones(len(mine)), np.where(up, -length, length)])
        places = np.concatenate([line, line]), np.concatenate([mine, self._num_pieces + number[mine]])
        matrix = csc_matrix((data, places), shape=(len(mine), self._num_pieces + self._num_cells))
        return matrix, (np.full(len(mine), -np.inf), np.where(up, 0.0, length))

    def _imbalances(self) -> tuple[csc_matrix, tuple[Float, Float]]:
        from scipy.sparse import csc_matrix, hstack

        found = imbalances(self.model)
        sizes = abs(self.model.relations.matrix[found.rows]).tocsc()[:, self.pieces.cell]
        nothing = csc_matrix((len(found.rows), self._num_cells))
        amounts = found.amounts / self._unit
        return hstack([sizes, nothing]).tocsc(), (amounts, np.full(len(amounts), np.inf))

    def search(
        self, start: Fit | None, budget: Budget, free: Bool | None = None, *, cuts: bool = False
    ) -> MIPAnswer:
        """Branch and bound from a start; with `free` only these senses may differ from the start's.

        With cuts by SCIP, which pays for whole programs; blocks are done sooner by HiGHS.
        """
        program, point = self.program, None
        if start is not None:
            point = np.concatenate([self.pieces.filled(start.y) / self._unit, start.senses.astype(float)])
        if free is not None and start is not None:
            low, high = program.bounds[0].copy(), program.bounds[1].copy()
            fixed = self._num_pieces + np.flatnonzero(~free)
            low[fixed] = high[fixed] = start.senses[~free]
            program = replace(program, bounds=(low, high))
        found = (solve_by_cuts if cuts else solve)(program, start=point, budget=budget)
        return replace(found, bound=found.bound * self._unit * self._money)

    def search_whole(self, start: Fit, choice: Int8, budget: Budget) -> MIPAnswer | None:
        """The same in whole movements, within the senses of a node; None where amounts are not in units."""
        if self._unit != 1:
            return None
        low, high = self.program.bounds[0].copy(), self.program.bounds[1].copy()
        low[self._num_pieces :][choice == UP] = 1.0
        high[self._num_pieces :][choice == DOWN] = 0.0
        program = replace(self.program, bounds=(low, high), whole=np.ones(len(low), dtype=bool))
        point = np.concatenate([self.pieces.filled(start.y), start.senses.astype(float)])
        is_inside = bool(((point >= low) & (point <= high)).all())
        found = solve(program, start=point if is_inside else None, budget=budget)
        return replace(found, bound=found.bound * self._money)

    def senses_of(self, found: MIPAnswer) -> Bool | None:
        """The senses of the point found."""
        return None if found.point is None else np.asarray(found.point[self._num_pieces :] > 0.5)

    def movement_of(self, found: MIPAnswer) -> Float | None:
        """The movement of the point found, before it is made whole."""
        senses = self.senses_of(found)
        if senses is None or found.point is None:
            return None
        y = self.pieces.movement(found.point[: self._num_pieces] * self._unit, self.model.relations.num_cells)
        y[self.model.cells] += np.where(senses, self.model.rise, -self.model.fall)
        return y

    def relaxation(self, clock: Deadline = NO_LIMIT) -> float | None:
        """The bound of the linear relaxation; None where there is no clear answer."""
        answer = solve(replace(self.program, whole=self.program.whole & False), budget=Budget(clock))
        return None if answer.point is None else answer.bound * self._unit * self._money


def prove(
    model: Model, given: FixedSenses, start: Fit | None, clock: Deadline, nodes: int | None = None
) -> Proof:
    """Branch and cut from a start: the best adjustment, and how much better any other could be."""
    best, bound, marks = start, -np.inf, Breakpoints(model)
    total_nodes = 0
    for _ in range(model.params.proof.rounds if model.power > 1 else 1):
        if best is not None:
            marks.add(best.y)
        mixed = SenseProgram(model, marks)
        answer = mixed.search(best, Budget(clock, nodes=nodes), cuts=True)
        total_nodes += answer.nodes
        if answer.reason is LPStatus.INFEASIBLE:
            return Proof(None, np.inf, LPStatus.INFEASIBLE, total_nodes)
        bound, senses = max(bound, answer.bound), mixed.senses_of(answer)
        fitting = clock
        if best is None and clock.left is not None:
            fitting = Deadline(max(clock.left, model.params.proof.seconds_to_fit))
        found = None if senses is None else given.fit(senses, fitting)
        if found is not None and (best is None or found.cost < best.cost):
            best = found
        is_close = best is not None and best.cost <= bound * (1 + SQUARES_GAP)
        if answer.reason is not LPStatus.OPTIMAL or found is None or clock.is_over or is_close:
            break
        marks.add(found.y)
    return Proof(best, bound, answer.reason, total_nodes)
