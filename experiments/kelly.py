"""`kelly`: the cheapest safe pattern by one mixed-integer program with all deviations in it.

    min Σ w_i x_i   over x in {0, 1},  x_i = 1 where hidden at the start,  x_i = 0 where frozen,
    with for every primary p deviations u, v:  M u = M v = 0,  −down_i x_i ≤ u_i, v_i ≤ up_i x_i,
    u_p ≥ upl_p,   −v_p ≥ lpl_p,   u_p − v_p ≥ spl_p.

It is the reference that `optimal` is measured by: no reductions, no rows of our own, nothing but the model,
so it is slow, and shares nothing with `optimal` but the solver. Deviations are counted in units of the
largest level of their cell; capacities beyond `WIDE` of these, and infinite ones, are tied to x by
indicators, so that no large coefficient lets a cell move that is hidden only within the solver's tolerance.

Requires any relations; in practice some dozen cells and a handful of primaries. Ensures, within SCIP's
tolerance, the least cost where the draft is complete, else a bound and a pattern that hides too much. Hands
over no witnesses: the audit finds them.
Cost: 2 n variables and 6 n rows for each primary.

Reference: Kelly, Golden & Assad (1992); equations (4) to (6) and (10) to (13) of Zhang, Chen, Cheng &
Jacobsen, *Overview of Cell Suppression Methods*.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.demand import Demand
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers import tolerances
from cellveil.solvers.scip_model import linear, scip_model
from cellveil.suppression.draft import Draft, MethodEnding

ENDINGS = {"timelimit": MethodEnding.TIME_LIMIT, "userinterrupt": MethodEnding.INTERRUPTED}

WIDE = 100.0
"""Capacities beyond so many times the level are written as indicators."""


def kelly(
    problem: Problem, *, deadline: Deadline = NO_LIMIT, seed: int = 0, progress: Progress | None = None
) -> Draft:
    """Find the cheapest safe pattern of a small table; see the head of the module.

    Where no pattern is safe all demands are named, since the program does not tell which of them cannot be
    met.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> draft = kelly(problem)
    >>> float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum()), draft.reason
    (39.0, <MethodEnding.COMPLETE: 'complete'>)
    """
    if progress is not None:
        progress.stage("Kelly's program")
    model = _KellyProgram(problem, deadline, seed)
    for cell in problem.primaries.tolist():
        model.protect(cell)
    return model.solve()


class _KellyProgram:
    """The program as it grows by primaries."""

    def __init__(self, problem: Problem, deadline: Deadline, seed: int) -> None:
        self.problem = problem
        self.model = scip_model(deadline, {"numerics/feastol": tolerances.FEASIBILITY}, seed=seed)
        self.movable = np.flatnonzero(problem.status != Status.FROZEN)
        started = problem.hidden_at_start
        self.chosen: dict[int, Any] = {
            cell: self.model.addVar(
                vtype="B", obj=0.0 if started[cell] else problem.weight[cell], lb=float(started[cell])
            )
            for cell in self.movable.tolist()
        }

    def protect(self, cell: int) -> None:
        """Two deviations that move a primary cell as far as it must be able to move."""
        problem = self.problem
        levels = [int(level[cell]) for level in (problem.upl, problem.lpl, problem.spl)]
        unit = float(max(levels))
        above, below = (self._deviation(unit) for _ in range(2))
        self.model.addCons(above[cell] >= levels[0] / unit)  # (12)
        self.model.addCons(-below[cell] >= levels[1] / unit)  # (13)
        self.model.addCons(above[cell] - below[cell] >= levels[2] / unit)

    def solve(self) -> Draft:
        """The draft the program comes to."""
        problem, model = self.problem, self.model
        model.optimize()
        status = str(model.getStatus())
        if status == "infeasible":
            return Draft(problem.hidden_at_start.copy(), infeasible=_all_demands(problem))
        hidden = problem.hidden_at_start.copy()
        hidden[self.movable] = True
        if model.getNSols():
            hidden[self.movable] = [model.getVal(self.chosen[cell]) > 0.5 for cell in self.movable.tolist()]
        bound = max(float(model.getDualbound()) * (1 - tolerances.INTEGRALITY), 0.0)
        reason = MethodEnding.COMPLETE if status == "optimal" else ENDINGS.get(status, MethodEnding.UNDECIDED)
        return Draft(hidden, reason=reason, lower_bound=bound)

    def _deviation(self, unit: float) -> dict[int, Any]:
        # (10) and (11)
        moves: dict[int, Any] = {cell: self.model.addVar(lb=None) for cell in self.movable.tolist()}
        for cell, move in moves.items():
            self._tie(move, cell, self.problem.up[cell] / unit)
            self._tie(-move, cell, self.problem.down[cell] / unit)
        relations = self.problem.table.relations
        for row in range(len(relations)):
            cells, coefs = relations.row(row)
            inside = np.isin(cells, self.movable)
            if inside.any():
                own = [moves[cell] for cell in cells[inside].tolist()]
                self.model.addCons(linear(coefs[inside].tolist(), own) == 0)
        return moves

    def _tie(self, move: Any, cell: int, most: float) -> None:
        """A cell moves by so much at most, and only where it is hidden."""
        chosen = self.chosen[cell]
        if most <= WIDE:
            self.model.addCons(move <= float(most) * chosen)
            return
        if np.isfinite(most):
            self.model.addCons(move <= float(most))
        self.model.addConsIndicator(move <= 0, chosen, activeone=False)


def _all_demands(problem: Problem) -> list[Demand]:
    demands = []
    for cell in problem.primaries.tolist():
        upl, lpl, spl = (int(level[cell]) for level in (problem.upl, problem.lpl, problem.spl))
        demands += [Demand(cell, True, upl or spl)] if upl or not lpl else []
        demands += [Demand(cell, False, lpl)] if lpl else []
    return demands
