"""Branch and cut with SCIP on the mixed-integer program of an adjustment.

The same contract as `solvers.mixed.solve`: a start, limits, and a bound that holds whatever ended the search.
SCIP's cuts lift the bound of these programs far more than branching alone (see docs/adjustment.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cellveil.arrays import Float
from cellveil.solvers.mip import Budget, Program, Searched


def solve_by_cuts(program: Program, *, start: Float | None = None, budget: Budget | None = None) -> Searched:
    """Search within the budget, from a start where there is one."""
    import pyscipopt as api

    scip: Any = api
    budget = budget or Budget()
    model = scip.Model()
    model.hideOutput()
    model.setParam("limits/gap", budget.gap)
    if budget.seconds is not None:
        model.setParam("limits/time", max(budget.seconds, 0.1))
    if budget.nodes is not None:
        model.setParam("limits/nodes", budget.nodes)
    variables = _variables(model, program)
    _rows(scip, model, program, variables)
    if start is not None:
        point = model.createSol()
        for variable, value in zip(variables, start.tolist(), strict=True):
            model.setSolVal(point, variable, value)
        model.addSol(point, free=True)
    model.optimize()
    return _answer(model, variables)


def _variables(model: Any, program: Program) -> list[Any]:
    low, high = program.bounds
    model.addObjoffset(program.constant)
    columns = zip(low.tolist(), high.tolist(), program.cost.tolist(), program.whole.tolist(), strict=True)
    return [
        model.addVar(lb=lb, ub=None if np.isinf(ub) else ub, obj=cost, vtype="I" if whole else "C")
        for lb, ub, cost, whole in columns
    ]


def _rows(scip: Any, model: Any, program: Program, variables: list[Any]) -> None:
    matrix = program.matrix.tocsr()
    lows, highs = (side.tolist() for side in program.rows)
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        if part.start == part.stop:
            continue
        terms = zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True)
        line = scip.quicksum(share * variables[column] for column, share in terms)
        if lows[row] == highs[row]:
            model.addCons(line == lows[row])
        elif np.isinf(highs[row]):
            model.addCons(line >= lows[row])
        else:
            model.addCons(line <= highs[row])


def _answer(model: Any, variables: list[Any]) -> Searched:
    status, nodes = model.getStatus(), int(model.getNTotalNodes())
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status in ("infeasible", "inforunbd"):
        return Searched(None, np.inf, "infeasible", nodes)
    point = None
    if model.getNSols():
        best = model.getBestSol()
        point = np.array([model.getSolVal(best, variable) for variable in variables])
    bound = float(model.getDualbound())
    reasons = {"optimal": "optimal", "gaplimit": "optimal", "timelimit": "time limit"}
    reasons |= {"nodelimit": "node limit", "totalnodelimit": "node limit"}
    bound = bound if abs(bound) < 0.99 * float(model.infinity()) else -np.inf
    return Searched(point, bound, reasons.get(status, "no clear answer"), nodes)
