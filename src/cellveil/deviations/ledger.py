"""The book of witnesses: a pattern in the making, and which witness meets which demand.

A demand (cell p, direction, amount d) is met by a witness: a deviation y of the cells hidden at present with
y_p ≥ d, or −y_p ≥ d. The book keeps for every demand the witness that meets it, and for every cell the
witnesses that move it. So publishing a cell again only reopens the demands whose witness moves it, and a
trial (publish a cell, protect anew what this reopens, keep the result if it is cheaper) costs what it
touches: `mark` before, `rollback` if it was in vain.

Requires any relations whatever: M y = 0 is the caller's promise, which the audit checks in the end. Ensures
that a witness moves hidden and movable cells only, and counts a demand as met only where the witness, as it
stands or reversed, stays within the capacities and goes far enough; all of it in whole numbers.
Cost: linear in the entries of the witnesses taken in or dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.deviations.demand import Demands
from cellveil.deviations.witness import LARGEST_NUMERATOR, Witness, Witnesses, movable_multiple
from cellveil.problem import Problem, Status
from cellveil.tables.scaled import UNBOUNDED

if TYPE_CHECKING:
    from cellveil.deviations._ledger_jit import BookArrays


CHANGES_PER_ENTRY = 3
"""A witness can hide a cell and meet its demands in both directions."""

GARBAGE = 1_000_000
"""So many entries are stored before `tidy` looks whether they are worth keeping."""


@dataclass(frozen=True)
class Mark:
    """A state of the book to come back to."""

    generation: int
    trail: int
    witnesses: int
    cost: float


class Book:
    """A pattern in the making; see the head of the module.

    Parameters
    ----------
    problem
        What has to be protected. Sliding levels are shared out between both sides as `Demands` does.
    hidden
        The pattern to start from; what is hidden at the start anyway is added.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> book = Book(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}))
    >>> book.num_open
    2
    >>> book.add(Witness(np.array([4, 5, 7, 8]), np.array([4, -4, -4, 4]), 1), hide=True)
    2
    >>> book.cost, book.num_open
    (77.0, 0)
    """

    def __init__(self, problem: Problem, hidden: Bool | None = None) -> None:
        values, n = problem.table.values, problem.table.num_cells
        movable = problem.status != Status.FROZEN
        start = problem.hidden_at_start.copy() if hidden is None else problem.hidden_at_start | hidden
        if (start & ~movable).any():
            raise ValueError("the pattern hides a cell that must be published")
        demands = Demands(problem)
        num_open = demands.left
        self.problem = problem
        self._generation = 0
        cost = float(problem.weight[start & ~problem.hidden_at_start].sum())
        self._arrays = {
            "hidden": start,
            "movable": movable,
            "is_free": problem.hidden_at_start,
            "weight": problem.weight,
            "need_up": demands.up,
            "need_down": demands.down,
            "room_up": np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values),
            "room_down": np.where(problem.lb == -UNBOUNDED, UNBOUNDED, values - problem.lb),
            "witness_up": np.full(n, -1, dtype=np.int32),
            "witness_down": np.full(n, -1, dtype=np.int32),
            "head": np.full(n, -1, dtype=np.int32),
            "starts": np.zeros(1, dtype=np.int64),
            "denominators": np.zeros(0, dtype=np.int64),
            "meets": np.zeros(0, dtype=np.int32),
            "cells": np.zeros(0, dtype=np.int32),
            "numerators": np.zeros(0, dtype=np.int64),
            "following": np.zeros(0, dtype=np.int32),
            "owner": np.zeros(0, dtype=np.int32),
            "trail": np.zeros((0, 3), dtype=np.int64),
            "counts": np.array([0, 0, 0, num_open], dtype=np.int64),
            "cost": np.array([cost]),
        }
        self._tuple: BookArrays | None = None

    def __repr__(self) -> str:
        return f"Book({int(self.hidden.sum())} cells hidden, {self.num_open} demands open)"

    # -- what stands in it ---------------------------------------------------------------------------------

    @property
    def hidden(self) -> Bool:
        """Which cells are hidden at present; change it by `hide` and `publish` only."""
        return self.arrays.hidden

    @property
    def need_up(self) -> Int:
        """How far each cell must be able to rise; 0 where nothing is asked."""
        return self.arrays.need_up

    @property
    def need_down(self) -> Int:
        """How far each cell must be able to fall; 0 where nothing is asked."""
        return self.arrays.need_down

    @property
    def witness_up(self) -> NDArray[np.int32]:
        """Number of the witness that shows how far each cell rises; −1 where open or nothing is asked."""
        return self.arrays.witness_up

    @property
    def witness_down(self) -> NDArray[np.int32]:
        """Number of the witness that shows how far each cell falls; −1 where open or nothing is asked."""
        return self.arrays.witness_down

    @property
    def room_up(self) -> Int:
        """How far each cell may rise; UNBOUNDED where nothing is known."""
        return self.arrays.room_up

    @property
    def room_down(self) -> Int:
        """How far each cell may fall; UNBOUNDED where nothing is known."""
        return self.arrays.room_down

    @property
    def num_open(self) -> int:
        """How many demands have no witness."""
        return int(self._arrays["counts"][3])

    @property
    def cost(self) -> float:
        """Sum of the weights of the hidden cells that were not hidden at the start."""
        return float(self._arrays["cost"][0])

    @property
    def _stored(self) -> int:
        return int(self._arrays["counts"][0])

    def secondaries(self) -> Int:
        """Numbers of the hidden cells that were not hidden at the start."""
        return np.flatnonzero(self.hidden & ~self.problem.hidden_at_start)

    def open_demands(self) -> tuple[Int, Bool, Int]:
        """Cells, directions (upwards or not) and amounts without a witness: the largest amount first."""
        rising = np.flatnonzero((self.need_up > 0) & (self.witness_up < 0))
        falling = np.flatnonzero((self.need_down > 0) & (self.witness_down < 0))
        cells = np.concatenate([rising, falling])
        up = np.arange(len(cells)) < len(rising)
        amounts = np.concatenate([self.need_up[rising], self.need_down[falling]])
        order = np.lexsort((~up, cells, -amounts))
        return cells[order], up[order], amounts[order]

    def is_open(self, cell: int, up: bool) -> bool:
        """Whether a demand has no witness."""
        need, witness = (self.need_up, self.witness_up) if up else (self.need_down, self.witness_down)
        return bool(need[cell] > 0 and witness[cell] < 0)

    def users(self, cell: int) -> Int:
        """Numbers of the witnesses that move the cell and meet a demand at present."""
        from cellveil.deviations import _ledger_jit as kernels

        numbers = np.empty(kernels.num_users(self.arrays, cell), dtype=np.int64)
        kernels.users(self.arrays, cell, numbers)
        return numbers

    def witness(self, number: int) -> Witness:
        """One of the witnesses."""
        part = slice(*self._arrays["starts"][[number, number + 1]].tolist())
        cells = self._arrays["cells"][part].astype(np.int64)
        order = np.argsort(cells)
        return Witness(
            cells[order], self._arrays["numerators"][part][order], int(self._arrays["denominators"][number])
        )

    def witnesses(self) -> Witnesses:
        """The witnesses that meet a demand at present, cells ascending."""
        num, entries = self._stored, int(self._arrays["counts"][1])
        used = np.flatnonzero(self._arrays["meets"][:num] > 0)
        stored = Witnesses(
            self._arrays["starts"][: num + 1],
            self._arrays["cells"][:entries],
            self._arrays["numerators"][:entries],
            self._arrays["denominators"][:num],
        ).take(used)
        owner = np.repeat(np.arange(len(used)), np.diff(stored.starts))
        order = np.argsort(owner * np.int64(self.problem.table.num_cells) + stored.cells, kind="stable")
        return Witnesses(
            stored.starts,
            stored.cells[order].astype(np.int64),
            stored.numerators[order],
            stored.denominators,
        )

    # -- changes -------------------------------------------------------------------------------------------

    def hide(self, cells: Int) -> None:
        """Hide cells without a witness that needs them (yet)."""
        from cellveil.deviations import _ledger_jit as kernels

        if not self._arrays["movable"][cells].all():
            raise ValueError("a cell that must be published cannot be hidden")
        self.reserve(trail=len(cells))
        for cell in cells.tolist():
            kernels.hide(self.arrays, cell)

    def add(self, witness: Witness, *, hide: bool = False, stretch: bool = False) -> int:
        """Take in a deviation if it meets an open demand, as it stands or reversed; return how many it meets.

        Parameters
        ----------
        hide
            Whether published cells it moves become hidden; otherwise it counts for nothing if it moves one.
        stretch
            Whether to try it at the largest multiple the capacities allow, each way.
        """
        parts = self._stretched(witness) if stretch else [witness]
        return self.add_all(Witnesses.of(parts), hide=hide)

    def add_all(self, witnesses: Witnesses, *, hide: bool = False) -> int:
        """Take in many as `add` does, in order; return how many demands they meet."""
        from cellveil.deviations import _ledger_jit as kernels

        self.reserve(len(witnesses), len(witnesses.cells), CHANGES_PER_ENTRY * len(witnesses.cells))
        cells = np.ascontiguousarray(witnesses.cells, dtype=np.int32)
        numerators = np.ascontiguousarray(witnesses.numerators, dtype=np.int64)
        return int(
            kernels.add_all(self.arrays, witnesses.starts, cells, numerators, witnesses.denominators, hide)
        )

    def _stretched(self, witness: Witness) -> list[Witness]:
        stretched = []
        for turned in (witness, witness.reversed()):
            steps = movable_multiple(turned, self.room_down[turned.cells], self.room_up[turned.cells])
            steps = min(steps, LARGEST_NUMERATOR // int(np.abs(turned.numerators).max()))
            if steps:
                stretched.append(Witness(turned.cells, turned.numerators * steps, turned.denominator))
        return stretched

    def publish(self, cell: int) -> tuple[Int, Bool]:
        """Publish a secondary again, drop the witnesses that move it, and return the demands this reopens."""
        from cellveil.deviations import _ledger_jit as kernels

        if not self.hidden[cell] or self.problem.hidden_at_start[cell]:
            raise ValueError("only a hidden cell that was not hidden at the start can be published")
        using = self.users(cell)
        met = int(self._arrays["meets"][using].sum())
        self.reserve(trail=1 + met)
        cells, up = np.empty(met, dtype=np.int64), np.empty(met, dtype=bool)
        kernels.publish(self.arrays, cell, using, cells, up)
        return cells, up

    def mark(self) -> Mark:
        """Note the present state, for `rollback`; good until `tidy` or `compact`."""
        count = self._arrays["counts"]
        return Mark(self._generation, int(count[2]), int(count[0]), self.cost)

    def rollback(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        from cellveil.deviations import _ledger_jit as kernels

        count = self._arrays["counts"]
        if mark.generation != self._generation or mark.trail > count[2] or mark.witnesses > count[0]:
            raise ValueError("the book has been tidied or rolled back since this mark")
        kernels.roll_back(self.arrays, mark.trail, mark.witnesses)
        self._arrays["cost"][0] = mark.cost

    def tidy(self) -> None:
        """Forget how to go back, and drop unused witnesses where they have become the greater part."""
        num, entries = self._arrays["counts"][:2].tolist()
        if entries > GARBAGE:
            used = self._arrays["meets"][:num] > 0
            if 2 * int(np.diff(self._arrays["starts"][: num + 1])[used].sum()) < entries:
                self.compact()
                return
        self._generation += 1
        self._arrays["counts"][2] = 0

    def compact(self) -> None:
        """Drop unused witnesses; the others get new numbers, and marks lose their meaning."""
        from cellveil.deviations import _ledger_jit as kernels

        kernels.compact(self.arrays)
        self._generation += 1
        secondary = self.hidden & ~self.problem.hidden_at_start
        self._arrays["cost"][0] = self.problem.weight[secondary].sum()

    # -- for compiled loops --------------------------------------------------------------------------------

    @property
    def arrays(self) -> BookArrays:
        """Everything as compiled loops take it; no longer good after the next `reserve`."""
        from cellveil.deviations._ledger_jit import BookArrays

        if self._tuple is None:
            self._tuple = BookArrays(**self._arrays)
        return self._tuple

    def has_room(self, witnesses: int, entries: int) -> bool:
        """Whether so many more fit in without `reserve`."""
        num, used, changes, _ = self._arrays["counts"].tolist()
        return bool(
            num + witnesses <= len(self._arrays["denominators"])
            and used + entries <= len(self._arrays["cells"])
            and changes + CHANGES_PER_ENTRY * entries <= len(self._arrays["trail"])
        )

    def reserve(self, witnesses: int = 0, entries: int = 0, trail: int = 0) -> None:
        """Make room for so many more."""
        num, used, changes, _ = self._arrays["counts"].tolist()
        for needed, names in (
            (num + witnesses, ("denominators", "meets", "starts")),
            (used + entries, ("cells", "numerators", "following", "owner")),
            (changes + trail, ("trail",)),
        ):
            if len(self._arrays[names[0]]) >= needed:
                continue
            size = max(needed, len(self._arrays[names[0]]) * 3 // 2)
            for name in names:
                array = self._arrays[name]
                grown = np.zeros((size + (name == "starts"), *array.shape[1:]), dtype=array.dtype)
                grown[: len(array)] = array
                self._arrays[name] = grown
            self._tuple = None
