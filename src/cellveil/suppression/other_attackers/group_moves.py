"""Deviations within the rooms of a group of insiders, by cubes or linear programs: free, cheap or cheapest.

A group moves what none of its members can rule out: each cell within the least of their rooms, and nothing
that one of them alone makes up. An empty group stands for somebody without a part, a crowd for all coalitions
from which about as much is to be kept: deviations within the rooms of crowds settle a demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import MovementParams
from cellveil.deviations.witness import Witness
from cellveil.problem import Status
from cellveil.suppression.engines.cube_packing import CubePackingParams, Packing
from cellveil.suppression.engines.equal_cost import preferred_weights


@dataclass(frozen=True)
class Crowd:
    """All coalitions against whom a demand asks for more than `above`, and at most for `most`.

    Those with at most so many members inside the cell in question.
    """

    above: int
    most: int
    inside: int


Group = Int | Crowd | None
"""Some insiders or coalitions by number, a crowd, or outsiders."""


class GroupMoves:
    """A pattern, and deviations for which it hides more, preferred ones among those of equal cost.

    Parameters
    ----------
    by_slopes
        Whether programs look for cheaper deviations by slope scaling.
    """

    def __init__(
        self,
        insiders: SelfKnowing,
        hidden: Bool,
        deadline: Deadline,
        *,
        by_slopes: bool,
        packing: CubePackingParams,
        seed: int = 0,
    ) -> None:
        problem, families = insiders.problem, insiders.families
        assert families is not None
        self.insiders, self.families = insiders, families
        self.problem = problem = problem.replace(weight=preferred_weights(problem))
        idle = np.where(problem.status == Status.FROZEN, Status.FROZEN, Status.SAFE).astype(np.int8)
        nothing = np.zeros_like(problem.lpl)
        plain = problem.replace(status=idle, lpl=nothing, upl=nothing, spl=nothing, reasons={}, origins={})
        self._ledger = Ledger(plain, hidden)
        self._moves = Movement(
            problem.table.relations,
            problem.status != Status.FROZEN,
            problem.weight,
            deadline=deadline,
            params=MovementParams(slopes=MovementParams().slopes if by_slopes else ()),
        )
        self._deadline = deadline
        self._packing = Packing(self._ledger, packing, seed=seed)
        self._rooms_now: tuple[Int, Int] | None = None

    @property
    def hidden(self) -> Bool:
        """The pattern; a view."""
        return self._ledger.hidden

    @property
    def cost(self) -> float:
        """The weight of all secondaries."""
        return float(self.problem.weight[self.hidden & ~self.problem.hidden_at_start].sum())

    @property
    def num_lps(self) -> int:
        """How many programs were solved."""
        return self._moves.num_lps

    def hide(self, cells: Int) -> None:
        """Hide cells."""
        self._packing.hide(cells)

    def publish(self, cells: Int) -> None:
        """Publish cells again."""
        self._packing.publish(cells)

    def by_cubes(
        self, cell: int, up: bool, amount: int, who: Group, *, beams: int, budget: float = np.inf
    ) -> tuple[Witness | None, float]:
        """A cube, or a sum of cubes from so many beams, against a group (None: outsiders), and its cost.

        What it moves gets hidden, unless it costs more than the budget.
        """
        self._begin_with(self._commonly_known(who))
        with self._rooms(*self._known_to(who, cell, up)):
            return self._packing.meet(cell, up, amount, beams=beams, budget=budget)

    def by_program(
        self,
        cell: int,
        up: bool,
        amount: int,
        who: Group,
        hidden: Bool,
        budget: float = np.inf,
        *,
        deadline: Deadline | None = None,
    ) -> Witness | None:
        """The cheapest deviation against a group by a linear program, cells beyond the budget aside.

        It may take until the deadline, or else that of all programs.
        """
        self._moves.deadline = self._deadline if deadline is None else deadline
        rooms = self._rooms_of(who, cell, up)
        if np.isfinite(budget):
            too_dear = ~hidden & (self.problem.weight > budget)
            rooms[0][too_dear] = rooms[1][too_dear] = 0
        return self._moves.push(cell, amount, rooms, hidden, up=up).witness

    def inside(self, deadline: Deadline) -> Movement:
        """The programs of the cells that are hidden now."""
        return Movement(self.problem.table.relations, self.hidden.copy(), deadline=deadline)

    def by_free_program(
        self, inside: Movement, cell: int, up: bool, amount: int, who: Group
    ) -> Witness | None:
        """A deviation of hidden cells against a group, by a linear program over them."""
        return inside.find(cell, amount, self._rooms_of(who, cell, up), up=up)

    def price(self, plan: Sequence[Witness]) -> float:
        """What is to be hidden for some deviations."""
        cells = moved_by(plan)
        return float(self.problem.weight[cells][~self.hidden[cells]].sum())

    def _rooms_of(self, who: Group, target: int, up: bool) -> tuple[Int, Int]:
        """How far all cells can move as far as a group can tell."""
        known = self._commonly_known(who)
        rooms = known[0].copy(), known[1].copy()
        cells, fall, rise = self._known_to(who, target, up)
        rooms[0][cells], rooms[1][cells] = fall, rise
        return rooms

    def _commonly_known(self, who: Group) -> tuple[Int, Int]:
        """How far all cells can move as far as outsiders can tell, the crowd, or somebody without a part."""
        if who is None:
            return self.families.everybody
        return self.families.crowd if isinstance(who, Crowd) else self.families.unlisted

    def _begin_with(self, rooms: tuple[Int, Int]) -> None:
        """Let these be the rooms of all cells, where others were before."""
        if self._rooms_now is not rooms:
            self._ledger.room_down[:], self._ledger.room_up[:] = self._rooms_now = rooms

    def _known_to(self, who: Group, target: int, up: bool) -> tuple[Int, Int, Int]:
        """The cells of some insiders, and how far these can move as far as all of them can tell."""
        if isinstance(who, Crowd):
            assert self.insiders.together is not None
            return self.insiders.together.crowd_around(target, up, (who.above, who.most), who.inside)
        return self.families.known_to(np.zeros(0, dtype=np.int64) if who is None else who, target)

    @contextmanager
    def _rooms(self, cells: Int, down: Int, up: Int) -> Iterator[None]:
        """Other rooms for some cells."""
        book = self._ledger
        before = book.room_down[cells].copy(), book.room_up[cells].copy()
        book.room_down[cells], book.room_up[cells] = down, up
        try:
            yield
        finally:
            book.room_down[cells], book.room_up[cells] = before


def moved_by(plan: Sequence[Witness]) -> Int:
    """The cells that some deviations move."""
    return np.unique(np.concatenate([witness.cells for witness in plan]))
