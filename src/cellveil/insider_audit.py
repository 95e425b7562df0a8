"""The audit against insiders: every contributor attacks every primary cell that is not its own.

One deviation settles a cell against everybody whose own part it leaves untouched, so very few linear programs
are needed: first one against all insiders at once; where that fails, one against nobody in particular, then
one for each insider in whose way it stands, until nobody is left, or one is found against whom no deviation
exists. Every deviation is exact. What is not shown counts as not safe.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.insiders import EVERYBODY, NOBODY, Insiders, OwnParts, PriorPosterior, SelfKnowing
from cellveil.attack.movement import Movement
from cellveil.errors import InputError
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.tables.keys import Int
from cellveil.view import Pattern, PublicView

Kind = Literal["insider", "pq"]


@dataclass(frozen=True, repr=False, eq=False)
class InsiderReport:
    """The verdict of an audit against insiders, cell by cell.

    Parameters
    ----------
    view_hash
        Digest of the view that was judged.
    attacker
        Which kind of insider, with its parameters.
    cells
        Numbers of the primary cells.
    safe
        Per cell: whether it was shown protected against every insider.
    attackers
        Per cell: who is not kept off, or "" where everybody is; internal, like all ids.
    reason
        "complete", or what cut the audit short.
    """

    view_hash: str
    attacker: str
    cells: Int
    safe: NDArray[np.bool_]
    attackers: tuple[str, ...]
    reason: str
    num_lps: int
    seconds: float

    @property
    def is_safe(self) -> bool:
        """Whether every primary cell was shown protected against every insider."""
        return bool(self.safe.all())

    @property
    def unsafe_cells(self) -> Int:
        """Numbers of the cells not shown safe."""
        return self.cells[~self.safe]

    def __repr__(self) -> str:
        verdict = "safe" if self.is_safe else f"NOT SAFE: {len(self.unsafe_cells)} not shown protected"
        return f"InsiderReport({verdict}, {len(self.cells)} primary cells, attacker {self.attacker!r})"


def audit_insiders(
    problem: Problem,
    pattern: Pattern,
    kind: Kind = "insider",
    *,
    p: float | None = None,
    q: float = 100.0,
    level: str = "unit",
    coalition: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> InsiderReport:
    """Attack the pattern as every contributor in turn, and judge every primary cell.

    Parameters
    ----------
    kind
        ``insider``: knows its own contributions. ``pq``: also knows all others' to within q %, and must not
        learn the largest contribution of a primary cell to within p %.
    level
        ``unit`` or ``holding``: who attacks.
    coalition
        How many contributors put their knowledge together.
    """
    started = time.perf_counter()
    insiders = _insiders(problem, kind, p, q, level, coalition)
    view = PublicView.of(problem, pattern)
    movement = Movement(problem.table.relations, view.hidden, time_limit)
    progress = progress or Progress()
    progress.stage("audit against insiders")
    order = problem.primaries[np.argsort(movement.component_of[problem.primaries], kind="stable")]
    found: dict[int, str | None] = {}
    for done, cell in enumerate(order.tolist()):
        found[cell] = _who_gets_through(insiders, movement, cell) if view.hidden[cell] else "everybody"
        progress.advance(done + 1, len(order), lps=movement.num_lps)
    through = [found[cell] for cell in problem.primaries.tolist()]
    safe = np.array([who is None for who in through], dtype=bool)
    cut_short = movement.unclear > 0 and not safe.all()
    return InsiderReport(
        view.content_hash,
        _described(kind, p, q, coalition),
        problem.primaries,
        safe,
        tuple(who or "" for who in through),
        "some solves gave no clear answer or time ran out" if cut_short else "complete",
        movement.num_lps,
        time.perf_counter() - started,
    )


def _described(kind: Kind, p: float | None, q: float, coalition: int) -> str:
    name = "insider" if kind == "insider" else f"pq (p = {p:g}, q = {q:g})"
    return name if coalition == 1 else f"{name}, coalitions of {coalition}"


def _insiders(
    problem: Problem, kind: Kind, p: float | None, q: float, level: str, coalition: int
) -> Insiders:
    parts = OwnParts.of(problem, level)
    if kind == "insider":
        return SelfKnowing(problem, parts, coalition)
    if p is None:
        raise InputError("the (p, q) insider needs p", remedy="Give the p of the rule, for example 15.")
    return PriorPosterior(problem, parts, p, q, coalition)


def _who_gets_through(insiders: Insiders, movement: Movement, cell: int) -> str | None:
    """The name of an insider against whom the cell was not shown protected; None if there is none."""
    for up, amount in insiders.demands(cell):
        everybody = movement.find(cell, amount, insiders.rooms(EVERYBODY, cell), up=up)
        if insiders.coalition > 1:
            if everybody is None:
                return f"a coalition of {insiders.coalition}"
            continue
        if everybody is not None and not insiders.stopped_by(everybody, cell, up):
            continue
        outsider = movement.find(cell, amount, insiders.rooms(NOBODY, cell), up=up)
        if outsider is None:
            return "everybody who knows as much as the second largest contributor of the cell"
        left = insiders.stopped_by(outsider, cell, up)
        while left:
            attacker = min(left)
            needed = insiders.demand(cell, up, attacker)
            witness = movement.find(cell, needed, insiders.rooms(attacker, cell), up=up)
            if witness is None:
                return insiders.parts.name(attacker)
            still = insiders.stopped_by(witness, cell, up)
            if attacker in still:
                return insiders.parts.name(attacker)
            left &= still
    return None
