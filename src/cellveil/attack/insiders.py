"""Insiders: contributors who know their own part of the cells, and attack the others.

Two kinds, both in the language of deviations (see `cellveil.attack.witness`): an attacker is what it cannot
rule out, a capacity downwards and upwards for each cell, and a cell is protected against it when a deviation
within these capacities moves the cell as far as the attacker must be kept off.

`SelfKnowing` knows its own contributions. A cell that it alone makes up is known to it; of any other cell it
knows that the value is at least its own part. The cells must move as far as their levels ask.

`PriorPosterior` (the aggregation criterion of de Waal & Coutinho, 2020) also knows every other contribution
to within q %, so that a cell can move by q % of what others contribute: ± q/100 · (X_k − own_k), with X_k the
sum of the absolute contributions. The largest contribution x₁ of a primary cell must stay unknown to within
p %: the cell must move by p/100 · x₁ − q/100 · (X − x₁ − own), where x₁ is not the attacker's. That this is
the paper's criterion on all aggregations is linear-programming duality: see docs/guarantees.md.

A *coalition* of several contributors puts its parts together. It is met by one attacker that knows, in every
cell at once, the largest parts that so many contributors can have: more than any one coalition can know, so
that what is shown safe is safe, and what is not may be.

Contributions are known for the largest of each cell only. In a cell that has more contributors than are
listed, everybody who is not listed is taken to know as much as the smallest one that is: more than they can.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import lcm

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.witness import Witness
from cellveil.errors import InputError
from cellveil.problem import Problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.keys import Int
from cellveil.tables.numbers import UNBOUNDED

Rooms = tuple[Int, Int]

EVERYBODY = -1
"""All insiders at once: nobody knows more than this about any cell."""

NOBODY = -2
"""Somebody who is listed nowhere."""


@dataclass(frozen=True, repr=False, eq=False)
class OwnParts:
    """Who contributes how much to each cell, as far as known; amounts in units of the table's last digit.

    Parameters
    ----------
    who, amount
        n × k: the largest contributors of each cell and their absolute parts; −1 and 0 where there are none.
        Contributors without an id have a number of their own in each cell.
    total
        Sum of the absolute contributions.
    count
        Number of contributors.
    names
        Ids, where known.
    """

    who: Int
    amount: Int
    total: Int
    count: Int
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: Problem, level: str = "unit") -> OwnParts:
        """Take the parts from the table's contributions.

        Raises
        ------
        InputError
            When the table has none, or they are not contributions to the published variable.
        """
        table = problem.table
        known = table.holdings if level == "holding" else table.units
        if known is None:
            raise InputError(
                f"the table has no contributions at {level} level, which insiders need",
                remedy="Tabulate microdata with contributor ids, or add contributions.csv to the folder.",
            )
        factor = 10 ** (table.decimals - known.decimals) if table.decimals >= known.decimals else 0
        if not factor or not (known.total * factor == table.values).all():
            raise InputError(
                "the contributions are not those of the published variable (they do not add up to its cells)",
                remedy="Tabulate without a shadow variable to audit against insiders.",
            )
        return cls(
            _numbered(known), _weighted(known) * factor, known.absolute * factor, known.count, known.names
        )

    @cached_property
    def places(self) -> dict[int, tuple[Int, Int]]:
        """For each contributor the cells it is listed in, and its parts."""
        rows, columns = np.nonzero(self.who >= 0)
        order = np.argsort(self.who[rows, columns], kind="stable")
        rows, columns = rows[order], columns[order]
        owners = self.who[rows, columns]
        borders = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1], [True]]))
        return {
            int(owners[start]): (rows[start:end], self.amount[rows[start:end], columns[start:end]])
            for start, end in pairwise(borders)
        }

    @cached_property
    def unlisted(self) -> Int:
        """The most that somebody who is not listed can contribute to each cell."""
        depth = self.amount.shape[1]
        return np.where(self.count > depth, self.amount[:, -1], 0)

    def largest(self, members: int, *, beside_first: bool = False) -> Int:
        """The most that so many contributors can have made of each cell, with or without the largest one."""
        first = 1 if beside_first else 0
        listed = self.amount[:, first : first + members]
        return np.asarray(listed.sum(axis=1) + (members - listed.shape[1]) * self.unlisted)

    def known_to(self, attacker: int, members: int = 1) -> Int:
        """The most that the attacker can have contributed to each cell."""
        if attacker == EVERYBODY:
            return self.largest(members)
        own = self.unlisted.copy()
        if attacker != NOBODY:
            cells, listed = self.places[attacker]
            own[cells] = listed
        return own

    def name(self, attacker: int) -> str:
        """The attacker in words."""
        return self.names[attacker] if attacker < len(self.names) else "a contributor without an id"


class Insiders(ABC):
    """A kind of insider: capacities and demands for each of them. Amounts are multiplied by `scale`."""

    scale: int = 1

    def __init__(self, problem: Problem, parts: OwnParts, coalition: int = 1) -> None:
        if coalition < 1:
            raise InputError("a coalition has at least one member", remedy="Give 1 or more.")
        self.problem, self.parts, self.coalition = problem, parts, coalition

    @abstractmethod
    def rooms(self, attacker: int, target: int) -> Rooms:
        """How far each cell can move down and up as far as the attacker of `target` can tell."""

    @abstractmethod
    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """The movements of a primary cell that must be possible against everybody: (upwards?, amount)."""

    @abstractmethod
    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """The amount needed against one attacker; 0 where nothing is."""

    def stopped_by(self, witness: Witness, cell: int, up: bool) -> set[int]:
        """The attackers against whom the witness does not show the demand met."""
        stopped: set[int] = set()
        place = int(np.searchsorted(witness.cells, cell))
        moved = Fraction(int(witness.numerators[place]), witness.denominator) * (1 if up else -1)
        for position, other in enumerate(witness.cells.tolist()):
            step = Fraction(int(witness.numerators[position]), witness.denominator)
            for attacker in self._insiders_of(other):
                if not self._allows(attacker, other, step, cell):
                    stopped.add(attacker)
        stopped.update(a for a in self._insiders_of(cell) if moved < self.demand(cell, up, a))
        return {attacker for attacker in stopped if self.demand(cell, up, attacker) > 0}

    @abstractmethod
    def _allows(self, attacker: int, cell: int, step: Fraction, target: int) -> bool:
        """Whether the attacker of `target` cannot rule out that the cell moves by `step`."""

    def _insiders_of(self, cell: int) -> list[int]:
        return [int(who) for who in self.parts.who[cell] if who >= 0]

    def _own(self, attacker: int, cell: int) -> int:
        """The most that the attacker of a cell can have contributed to it: all but one contributor's part."""
        if attacker == EVERYBODY:
            members = min(self.coalition, max(int(self.parts.count[cell]) - 1, 0))
            return int(self.parts.largest(members)[cell]) if members else 0
        listed = self.parts.who[cell] == attacker
        return int(self.parts.amount[cell][listed].sum() if listed.any() else self.parts.unlisted[cell])


class SelfKnowing(Insiders):
    """Contributors who know their own contributions and nothing else of the others'."""

    def rooms(self, attacker: int, target: int) -> Rooms:
        """A cell is at least the attacker's part, and known if the attacker alone makes it up."""
        problem, values = self.problem, self.problem.table.values
        free = problem.lb == -UNBOUNDED
        known = self.parts.known_to(attacker, self.coalition)
        if attacker == EVERYBODY:
            known[target] = self._own(EVERYBODY, target)
        least = np.maximum(problem.lb, known)
        down = np.where(free, UNBOUNDED, np.maximum(values - least, 0))
        up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values)
        if attacker != NOBODY:
            alone = self.parts.count <= self.coalition
            if attacker != EVERYBODY:
                alone &= self.parts.who[:, 0] == attacker
            alone[target] = False
            down[alone] = up[alone] = 0
        return down, up

    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """The levels of the cell, cut at what everybody knows."""
        for up in (True, False):
            amount = self.demand(cell, up, NOBODY if self.coalition == 1 else EVERYBODY)
            if amount > 0:
                yield up, amount

    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """The level, cut where the attacker knows better; none for the cell it alone makes up."""
        problem = self.problem
        if self.parts.count[cell] == 1 and attacker in self._insiders_of(cell):
            return (
                0  # not asked of its own cell; never reached by a coalition, which lacks one member at least
            )
        if up:  # what a sliding level asks beyond the movement downwards
            return int(max(problem.upl[cell], problem.spl[cell] - self.demand(cell, False, attacker)))
        least = max(int(problem.lb[cell]), self._own(attacker, cell))
        room = int(problem.table.values[cell]) - least
        return int(problem.lpl[cell]) if problem.lb[cell] == -UNBOUNDED else min(int(problem.lpl[cell]), room)

    def _allows(self, attacker: int, cell: int, step: Fraction, target: int) -> bool:
        if self.parts.count[cell] == 1:
            return step == 0
        if self.problem.lb[cell] == -UNBOUNDED:
            return True
        least = max(int(self.problem.lb[cell]), self._own(attacker, cell))
        return int(self.problem.table.values[cell]) + step >= least


class PriorPosterior(Insiders):
    """Contributors who know all others' parts to within q %, and must not learn the largest to within p %."""

    def __init__(self, problem: Problem, parts: OwnParts, p: float, q: float, coalition: int = 1) -> None:
        super().__init__(problem, parts, coalition)
        self.p, self.q = Fraction(str(p)) / 100, Fraction(str(q)) / 100
        if not 0 < self.p <= self.q <= 1:
            raise InputError("p and q are not 0 < p ≤ q ≤ 100", remedy="For the p% rule use q = 100.")
        self.scale = lcm(self.p.denominator, self.q.denominator)

    def rooms(self, attacker: int, target: int) -> Rooms:
        """± q/100 of what others contribute; the target itself is free."""
        unknown = np.maximum(self.parts.total - self.parts.known_to(attacker, self.coalition), 0)
        room = unknown * int(self.q * self.scale)
        room[target] = UNBOUNDED
        return room, room.copy()

    def demands(self, cell: int) -> Iterator[tuple[bool, int]]:
        """Upwards only: the capacities are symmetric."""
        amount = self.demand(cell, True, EVERYBODY)
        if amount > 0:
            yield True, amount

    def demand(self, cell: int, up: bool, attacker: int) -> int:
        """What the cell must move so that the largest contribution stays unknown to within p %."""
        if not up or attacker == self.parts.who[cell, 0]:
            return 0
        largest = int(self.parts.amount[cell, 0])
        if attacker == EVERYBODY:
            own = int(self.parts.largest(self.coalition, beside_first=True)[cell])
        else:
            own = self._own(attacker, cell)
        others = max(int(self.parts.total[cell]) - largest - own, 0)
        return max(0, int((self.p * largest - self.q * others) * self.scale))

    def _allows(self, attacker: int, cell: int, step: Fraction, target: int) -> bool:
        unknown = int(self.parts.total[cell]) - self._own(attacker, cell)
        return cell == target or abs(step) <= self.q * unknown * self.scale


def _numbered(known: Contributions) -> Int:
    """Contributor numbers; those without an id get one of their own."""
    who = known.who.astype(np.int64)
    present = np.arange(known.depth)[None, :] < np.minimum(known.count, known.depth)[:, None]
    nameless = (who < 0) & present
    who[nameless] = len(known.names) + np.arange(int(nameless.sum()))
    return who


def _weighted(known: Contributions) -> NDArray[np.int64]:
    """Parts of the published, weighted total; rounded up, which lets the attacker know more."""
    if known.top_weight is None:
        return known.top
    return np.ceil(known.top * known.top_weight).astype(np.int64)
