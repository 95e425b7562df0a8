"""What SCIP calls back: a constraint handler and a heuristic that ask an oracle, and a listener.

This module is imported inside functions only, since its classes need PySCIPOpt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyscipopt as api
from pyscipopt import Conshdlr, Eventhdlr, Heur

from cellveil.arrays import Bool, Float
from cellveil.solvers.cutting_planes import Row

if TYPE_CHECKING:
    from cellveil.solvers.branch_and_cut import BranchAndCutParams, Oracle

Answer = dict[str, Any]

scip: Any = api
RESULT = scip.SCIP_RESULT


class Talk:
    """Between SCIP and the oracle.

    Attributes
    ----------
    error
        What the oracle raised; the solve is then stopped.
    """

    def __init__(self, model: Any, variables: dict[int, Any], size: int, oracle: Oracle) -> None:
        self.model, self.oracle = model, oracle
        self.variables = list(variables.values())
        self.columns, self.size = np.array(list(variables), dtype=np.int64), size
        self.error: BaseException | None = None
        self._transformed: dict[int, Any] | None = None

    def ask(self, work: Callable[[], Any], otherwise: Any) -> Answer:
        """Do the work and keep what it raises: nothing passes through SCIP."""
        if self.error is not None:
            return {"result": otherwise}
        try:
            return {"result": work()}
        except BaseException as error:
            self.error = error
            self.model.interruptSolve()
            return {"result": otherwise}

    def point(self, solution: Any = None) -> Float:
        """A solution; by default that of the current LP."""
        point = np.zeros(self.size)
        point[self.columns] = [self.model.getSolVal(solution, variable) for variable in self.variables]
        return np.asarray(np.clip(point, 0.0, 1.0))

    def keep(self, chosen: Bool) -> None:
        """Hand over a point that is known to be allowed, before the search."""
        self.model.addSol(self._solution(chosen, None), free=True)

    def try_out(self, chosen: Bool, heuristic: Any) -> bool:
        """Hand over a point during the search; tell whether it was taken."""
        return bool(self.model.trySol(self._solution(chosen, heuristic), printreason=False))

    def _solution(self, chosen: Bool, heuristic: Any) -> Any:
        solution = self.model.createSol(heuristic)
        for variable, value in zip(self.variables, chosen[self.columns].tolist(), strict=True):
            self.model.setSolVal(solution, variable, float(value))
        return solution

    def add(self, rows: Sequence[Row], *, force: bool) -> Any:
        """Add rows to the LP, valid everywhere."""
        if self._transformed is None:
            own = [self.model.getTransformedVar(variable) for variable in self.variables]
            self._transformed = dict(zip(self.columns.tolist(), own, strict=True))
        for row in rows:
            line = self.model.createEmptyRowUnspec("row", lhs=row.rhs, rhs=None, local=False, removable=True)
            self.model.cacheRowExtensions(line)
            for column, share in zip(row.columns.tolist(), row.shares.tolist(), strict=True):
                if column in self._transformed:
                    self.model.addVarToRow(line, self._transformed[column], share)
            self.model.flushRowExtensions(line)
            is_infeasible = self.model.addCut(line, forcecut=force)
            self.model.releaseRow(line)
            if is_infeasible:
                return RESULT.CUTOFF
        return RESULT.SEPARATED


class RowHandler(Conshdlr):
    """Cuts off fractional points, and admits whole ones that the oracle allows."""

    def __init__(
        self, talk: Talk, params: BranchAndCutParams, on_node: Callable[[float, int], None] | None
    ) -> None:
        self.talk, self.params, self.on_node = talk, params, on_node
        self.node, self.rounds = -1, 0

    def conssepalp(self, constraints: Any, nusefulconss: int) -> Answer:
        """Cut off a fractional point."""
        return self.talk.ask(self._separate, RESULT.DIDNOTRUN)

    def consenfolp(self, constraints: Any, nusefulconss: int, solinfeasible: bool) -> Answer:
        """Admit or cut off a whole LP solution."""
        return self.talk.ask(self._enforce, RESULT.INFEASIBLE)

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> Answer:
        """Admit or reject a whole point where there was no LP."""
        return self.talk.ask(lambda: self._verdict(None), RESULT.INFEASIBLE)

    def conscheck(
        self,
        constraints: Any,
        solution: Any,
        checkintegrality: bool,
        checklprows: bool,
        printreason: bool,
        completely: bool,
    ) -> Answer:
        """Admit or reject a point that some heuristic found."""
        return self.talk.ask(lambda: self._verdict(solution), RESULT.INFEASIBLE)

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        """No variable may be moved without asking."""
        both = nlockspos + nlocksneg
        for variable in self.talk.variables:
            self.talk.model.addVarLocksType(variable, locktype, both, both)

    def _separate(self) -> Any:
        model = self.talk.model
        node, is_root = model.getCurrentNode().getNumber(), model.getDepth() == 0
        if node != self.node:
            self.node, self.rounds = node, 0
            if self.on_node is not None:
                self.on_node(float(model.getDualbound()), int(model.getNTotalNodes()))
        self.rounds += 1
        is_late = not is_root and self.rounds > self.params.rounds_below_root
        oracle, point = self.talk.oracle, self.talk.point()
        rows = oracle.known_against(point) if is_late else oracle.rows_against(point, is_root=is_root)
        return self.talk.add(rows[: self.params.most_rows], force=False) if rows else RESULT.DIDNOTFIND

    def _enforce(self) -> Any:
        rows = self.talk.oracle.judge(self.talk.point() > 0.5)
        return self.talk.add(rows, force=True) if rows else RESULT.FEASIBLE

    def _verdict(self, solution: Any) -> Any:
        rows = self.talk.oracle.judge(self.talk.point(solution) > 0.5)
        return RESULT.INFEASIBLE if rows else RESULT.FEASIBLE


class Suggestions(Heur):
    """Tries the points that the oracle suggests."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk

    def heurexec(self, heurtiming: Any, nodeinfeasible: bool) -> Answer:
        """Try them."""
        return self.talk.ask(self._try, RESULT.DIDNOTRUN)

    def _try(self) -> Any:
        stored = False
        for chosen in self.talk.oracle.suggest(self.talk.point()):
            stored |= self.talk.try_out(chosen, self)
        return RESULT.FOUNDSOL if stored else RESULT.DIDNOTFIND


def include(talk: Talk, params: BranchAndCutParams, on_node: Callable[[float, int], None] | None) -> None:
    """Hand both to SCIP."""
    last = -1_000_000
    talk.model.includeConshdlr(
        RowHandler(talk, params, on_node), "oracle", "rows of the oracle", sepapriority=1000,
        enfopriority=last, chckpriority=last, sepafreq=1, propfreq=-1, needscons=False,
    )  # fmt: skip
    timing = scip.SCIP_HEURTIMING.AFTERLPNODE
    talk.model.includeHeur(Suggestions(talk), "suggestions", "of the oracle", "s", freq=1, timingmask=timing)


class Listener(Eventhdlr):
    """Tells bound and number of nodes after each LP; an interrupt that arrives meanwhile ends the solve.

    Attributes
    ----------
    error
        What was raised; to be raised again after the solve.
    """

    def __init__(self, on_node: Callable[[float, int], None]) -> None:
        self.on_node = on_node
        self.error: BaseException | None = None

    def eventinit(self) -> None:
        """Begin to listen."""
        self.model.catchEvent(scip.SCIP_EVENTTYPE.LPSOLVED, self)

    def eventexit(self) -> None:
        """Listen no more."""
        self.model.dropEvent(scip.SCIP_EVENTTYPE.LPSOLVED, self)

    def eventexec(self, event: Any) -> None:
        """Tell."""
        if self.error is not None:
            return
        try:
            self.on_node(float(self.model.getDualbound()), int(self.model.getNTotalNodes()))
        except BaseException as error:
            self.error = error
            self.model.interruptSolve()
