"""Mixed-integer programs in SCIP: the one place where a model is made, and branch and cut on a `Program`.

The same contract as `solvers.mip.solve`: a start, limits, and a bound that holds whatever ended the search.
SCIP's cuts lift the bound of adjustments far more than branching alone (see docs/adjustment.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellveil.arrays import Float
from cellveil.clock import Deadline
from cellveil.solvers.highs import LPStatus
from cellveil.solvers.mip import Budget, MIPAnswer, Program


def scip_model(
    deadline: Deadline, params: Mapping[str, Any], *, seed: int | None = None, heuristics: str = ""
) -> Any:
    """An empty model that says nothing."""
    import pyscipopt

    api: Any = pyscipopt
    model = api.Model()
    model.hideOutput()
    if heuristics:
        model.setHeuristics(getattr(api.SCIP_PARAMSETTING, heuristics))
    if (seconds := deadline.for_a_solve().left) is not None:
        model.setParam("limits/time", seconds)
    if seed is not None:  # then interrupts are for the caller, too
        model.setParams({"misc/catchctrlc": False, "randomization/randomseedshift": seed})
    model.setParams(dict(params))
    return model


def linear(coefs: Sequence[float], variables: Sequence[Any]) -> Any:
    """Σ coefs · variables."""
    from pyscipopt import quicksum

    return quicksum(coef * variable for coef, variable in zip(coefs, variables, strict=True))


def solve_by_cuts(program: Program, *, start: Float | None = None, budget: Budget | None = None) -> MIPAnswer:
    """Search within the budget, from a start where there is one."""
    budget = budget or Budget()
    limits = {} if budget.nodes is None else {"limits/nodes": budget.nodes}
    model = scip_model(budget.deadline, {"limits/gap": budget.gap, **limits})
    variables = _variables(model, program)
    _rows(model, program, variables)
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


def _rows(model: Any, program: Program, variables: list[Any]) -> None:
    matrix = program.matrix.tocsr()
    lows, highs = (side.tolist() for side in program.rows)
    for row in range(matrix.shape[0]):
        part = slice(matrix.indptr[row], matrix.indptr[row + 1])
        if part.start == part.stop:
            continue
        own = [variables[column] for column in matrix.indices[part].tolist()]
        line = linear(matrix.data[part].tolist(), own)
        if lows[row] == highs[row]:
            model.addCons(line == lows[row])
        elif np.isinf(highs[row]):
            model.addCons(line >= lows[row])
        else:
            model.addCons(line <= highs[row])


def _answer(model: Any, variables: list[Any]) -> MIPAnswer:
    status, nodes = model.getStatus(), int(model.getNTotalNodes())
    if status == "userinterrupt":
        raise KeyboardInterrupt
    if status in ("infeasible", "inforunbd"):
        return MIPAnswer(None, np.inf, LPStatus.INFEASIBLE, nodes)
    point = None
    if model.getNSols():
        best = model.getBestSol()
        point = np.array([model.getSolVal(best, variable) for variable in variables])
    bound = float(model.getDualbound())
    reasons = {"optimal": LPStatus.OPTIMAL, "gaplimit": LPStatus.OPTIMAL, "timelimit": LPStatus.TIME_LIMIT}
    reasons |= {"nodelimit": LPStatus.NODE_LIMIT, "totalnodelimit": LPStatus.NODE_LIMIT}
    bound = bound if abs(bound) < 0.99 * float(model.infinity()) else -np.inf
    return MIPAnswer(point, bound, reasons.get(status, LPStatus.UNKNOWN), nodes)
