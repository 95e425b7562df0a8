"""Branch and cut with SCIP: min cost·x over x in {0, 1}, under rows that an oracle tells when asked.

Rows a·x ≥ b come from the oracle: some at the start, more for fractional points, and for every whole point
that is about to be accepted. SCIP knows nothing else of what is allowed, so all its reductions that would
need to are off. Exceptions cannot pass through SCIP: they are kept, the solve is stopped, and they are raised
afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.params import Params, param
from cellveil.solvers.cutting_planes import Row
from cellveil.solvers.scip_model import linear, scip_model


@dataclass(frozen=True, kw_only=True)
class BranchAndCutParams(Params):
    """Parameters of branch and cut with an oracle."""

    rounds_below_root: int = param(2, "Separation rounds at a node below the root.", least=0)
    most_rows: int = param(100, "Cutting planes added in one round, at most.", least=1)


class Oracle(Protocol):
    """Knows which points are allowed."""

    def rows_against(self, x: Float, *, is_root: bool) -> Sequence[Row]:
        """Rows that a fractional point breaks; none where it knows none."""

    def known_against(self, x: Float) -> Sequence[Row]:
        """Rows told before that a fractional point breaks."""

    def judge(self, chosen: Bool) -> Sequence[Row]:
        """Rows that a whole point breaks; none only where the point is allowed."""

    def suggest(self, x: Float) -> Sequence[Bool]:
        """Points to try, given a fractional one."""


@dataclass(frozen=True, eq=False)
class BinaryProgram:
    """min cost·x over x in {0, 1} under rows.

    Parameters
    ----------
    fixed, barred
        Columns that are 1, and columns that are 0 in all points of interest.
    rows
        All of them, or those to begin with where an oracle tells more.
    """

    cost: Float
    fixed: Bool
    barred: Bool
    rows: Sequence[Row] = ()


@dataclass(frozen=True)
class Searched:
    """What the search came to.

    Parameters
    ----------
    is_complete
        Whether the tree was searched to the end.
    was_interrupted
        Whether an interrupt ended it.
    bound
        No allowed point costs less, within the solver's tolerance; ∞ where there is none.
    """

    is_complete: bool
    was_interrupted: bool
    bound: float
    nodes: int


def search(
    program: BinaryProgram,
    oracle: Oracle,
    starts: Sequence[Bool] = (),
    *,
    eager: bool = False,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    on_node: Callable[[float, int], None] | None = None,
    params: BranchAndCutParams | None = None,
) -> Searched:
    """Search the whole tree, or as much as the limit allows.

    Parameters
    ----------
    starts
        Allowed points that are known.
    eager
        Whether good points matter more than the bound.
    on_node
        Told bound and number of nodes now and then.
    """
    from cellveil.solvers.scip import Talk, include

    model = _model(seed, deadline, eager)
    variables = _loaded(model, program)
    talk = Talk(model, variables, len(program.cost), oracle)
    include(talk, params or BranchAndCutParams(), on_node)
    for chosen in starts:
        talk.keep(chosen)
    model.optimize()
    was_interrupted = isinstance(talk.error, KeyboardInterrupt)
    if talk.error is not None and not was_interrupted:
        raise talk.error
    is_complete = not was_interrupted and model.getStatus() in ("optimal", "infeasible")
    bound = float(model.getDualbound())
    bound = np.inf if bound >= model.infinity() else max(bound, 0.0)
    return Searched(is_complete, was_interrupted, bound, int(model.getNTotalNodes()))


@dataclass(frozen=True)
class Solved:
    """What a program of rows came to: the best point, and a bound within the solver's tolerance."""

    is_optimal: bool
    point: Bool | None
    bound: float


def solve_rows(
    program: BinaryProgram,
    start: Bool,
    *,
    gap: float = 0.0,
    deadline: Deadline = NO_LIMIT,
    nodes: int | None = None,
    seed: int = 0,
    on_node: Callable[[float, int], None] | None = None,
) -> Solved:
    """The same program without an oracle: the rows are all there is, so that the solver may use all it has.

    Parameters
    ----------
    start
        A point that meets the rows.
    gap
        Points this near to the bound are taken for optimal, as a share.
    nodes
        So many nodes of the search at most.
    """
    from cellveil.solvers.scip import Listener

    limits: dict[str, float] = {"limits/gap": gap, "limits/absgap": 0.0}
    if nodes is not None:
        limits["limits/totalnodes"] = nodes
    model = scip_model(deadline, limits, seed=seed)
    variables = _loaded(model, program)
    solution = model.createSol()
    for column, variable in variables.items():
        model.setSolVal(solution, variable, float(start[column]))
    model.addSol(solution, free=True)
    listener = Listener(on_node or (lambda bound, nodes: None))
    model.includeEventhdlr(listener, "listener", "tells bound and nodes")
    model.optimize()
    if listener.error is not None:
        raise listener.error
    point = None
    if model.getNSols():
        point = np.zeros(len(program.cost), dtype=bool)
        point[list(variables)] = [model.getVal(variable) > 0.5 for variable in variables.values()]
    is_optimal = model.getStatus() in ("optimal", "gaplimit")
    return Solved(is_optimal, point, max(float(model.getDualbound()), 0.0))


def _loaded(model: Any, program: BinaryProgram) -> dict[int, Any]:
    """Load the program; its variables by column."""
    cost, fixed = program.cost.tolist(), program.fixed.astype(float).tolist()
    variables = {
        column: model.addVar(vtype="B", obj=cost[column], lb=fixed[column])
        for column in np.flatnonzero(~program.barred).tolist()
    }
    for row in program.rows:
        _add_constraint(model, variables, row)
    return variables


def _model(seed: int, deadline: Deadline, eager: bool) -> Any:
    options = {
        "misc/usesymmetry": 0,
        "misc/allowstrongdualreds": False,
        "misc/allowweakdualreds": False,
        "constraints/components/maxprerounds": 0,
        "constraints/components/propfreq": -1,
        "limits/gap": 0.0,
        "limits/absgap": 0.0,
        # what trial branchings promise is little worth before the rows of the oracle have come
        "branching/relpscost/maxreliable": 1.0,
        "branching/relpscost/initcand": 20,
    }
    # SCIP's own heuristics know only the rows that were there from the beginning.
    return scip_model(deadline, options, seed=seed, heuristics="AGGRESSIVE" if eager else "FAST")


def _add_constraint(model: Any, variables: dict[int, Any], row: Row) -> None:
    shares = dict(zip(row.columns.tolist(), row.shares.tolist(), strict=True))
    known = [column for column in shares if column in variables] or list(variables)[:1]
    line = linear([shares.get(column, 0.0) for column in known], [variables[column] for column in known])
    model.addCons(line >= row.rhs)
