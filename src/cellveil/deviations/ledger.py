"""The ledger of witnesses: a pattern, and which witness shows that which demand is met.

A demand (cell p, direction, amount d) is met by a witness: a deviation y of the cells hidden at present with
y_p ≥ d, or −y_p ≥ d. The ledger keeps for every demand the witness that meets it, and for every cell the
witnesses that move it. So publishing a cell again only reopens the demands whose witness moves it, and a
trial (publish a cell, protect anew what this reopens, keep the result if it is cheaper) costs what it
touches: `mark` before, `rollback` if it was in vain.

A *final* ledger is the judge's: the pattern stays as it is, and whatever it hides may move. Of sliding levels
it keeps how wide the interval was shown to be, exactly, however the width is shared out between both sides.

Requires any relations whatever: M y = 0 is the caller's promise, which the audit checks in the end. Ensures
that a witness moves hidden and movable cells only, and counts a demand as met only where the witness, as it
stands or reversed, stays within the capacities and goes far enough; all of it in whole numbers.
Cost: linear in the entries of the witnesses taken in or dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.deviations.demand import Demands
from cellveil.deviations.witness import (
    LARGEST_NUMERATOR,
    Witness,
    Witnesses,
    farthest,
    movable_multiple,
    proper,
)
from cellveil.loops import ledger as loops
from cellveil.loops.ledger import LedgerArrays
from cellveil.problem import Problem, Status
from cellveil.tables.scaled import UNBOUNDED

Rational = int | Fraction

CHANGES_PER_ENTRY = 3
"""A witness can hide a cell and meet its demands in both directions."""

GARBAGE = 1_000_000
"""Entries from which on `tidy` looks whether they are worth their memory."""


@dataclass(frozen=True)
class Mark:
    """A state of the ledger to come back to."""

    generation: int
    trail: int
    witnesses: int
    cost: float


class Ledger:
    """A pattern and its witnesses; see the head of the module.

    Parameters
    ----------
    problem
        What has to be protected. Sliding levels are shared out between both sides as `Demands` does.
    hidden
        The pattern to start from; unless it is final, what is hidden at the start anyway is added.
    is_final
        Whether the pattern is to be judged as it is.
    whole
        Whether only movements by whole units count, as for an attacker who knows that the cells are counts.

    Attributes
    ----------
    hidden
        Which cells are hidden at present; change it by `hide` and `publish` only.
    need_up, need_down
        How far each cell must be able to rise and to fall; 0 where nothing is asked.
    witness_up, witness_down
        Number of the witness that shows it; −1 where open or nothing is asked.
    room_up, room_down
        How far each cell may rise and fall; UNBOUNDED where nothing is known.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> ledger = Ledger(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}))
    >>> ledger.num_open
    2
    >>> ledger.add(Witness(np.array([4, 5, 7, 8]), np.array([4, -4, -4, 4]), 1), hide=True)
    2
    >>> ledger.cost, ledger.num_open
    (77.0, 0)
    """

    def __init__(
        self, problem: Problem, hidden: Bool | None = None, *, is_final: bool = False, whole: bool = False
    ) -> None:
        values, n = problem.table.values, problem.table.num_cells
        start = problem.hidden_at_start if hidden is None else hidden
        self.hidden: Bool = start.copy() if is_final else start | problem.hidden_at_start
        movable = self.hidden.copy() if is_final else problem.status != Status.FROZEN
        if (self.hidden & ~movable).any():
            raise ValueError("the pattern hides a cell that must be published")
        demands = Demands(problem)
        self.problem, self._is_final, self._whole, self._generation = problem, is_final, whole, 0
        self._fall, self._rise = np.zeros((2, n if is_final else 0), dtype=np.int64)
        self.need_up, self.need_down = demands.up, demands.down
        self.room_up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values)
        self.room_down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, values - problem.lb)
        self.witness_up, self.witness_down = np.full((2, n), -1, dtype=np.int32)
        sliding = np.flatnonzero(self.hidden & (problem.spl > 0)) if is_final else ()
        self._widths: dict[int, tuple[Rational, Rational]] = {int(cell): (0, 0) for cell in sliding}
        self._widening: list[Witness] = []
        cost = float(problem.weight[self.hidden & ~problem.hidden_at_start].sum())
        self._arrays: dict[str, Any] = {
            "hidden": self.hidden,
            "movable": movable,
            "is_free": problem.hidden_at_start,
            "weight": problem.weight,
            "need_up": self.need_up,
            "need_down": self.need_down,
            "room_up": self.room_up,
            "room_down": self.room_down,
            "witness_up": self.witness_up,
            "witness_down": self.witness_down,
            "head": np.full(n, -1, dtype=np.int32),
            "starts": np.zeros(1, dtype=np.int64),
            "denominators": np.zeros(0, dtype=np.int64),
            "meets": np.zeros(0, dtype=np.int32),
            "cells": np.zeros(0, dtype=np.int32),
            "numerators": np.zeros(0, dtype=np.int64),
            "following": np.zeros(0, dtype=np.int32),
            "owner": np.zeros(0, dtype=np.int32),
            "trail": np.zeros((0, 3), dtype=np.int64),
            "counts": np.array([0, 0, 0, demands.left], dtype=np.int64),
            "cost": np.array([cost]),
        }
        self._tuple: LedgerArrays | None = None

    def __repr__(self) -> str:
        return f"Ledger({int(self.hidden.sum())} cells hidden, {self.num_open} demands open)"

    # -- what stands in it ---------------------------------------------------------------------------------

    @property
    def num_open(self) -> int:
        """How many demands have no witness."""
        return int(self._arrays["counts"][3])

    @property
    def cost(self) -> float:
        """Sum of the weights of the hidden cells that were not hidden at the start."""
        return float(self._arrays["cost"][0])

    def secondaries(self, *, dearest_first: bool = False) -> Int:
        """Numbers of the hidden cells that were not hidden at the start."""
        cells = np.flatnonzero(self.hidden & ~self.problem.hidden_at_start)
        return cells[np.argsort(-self.problem.weight[cells], kind="stable")] if dearest_first else cells

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

    def users(self, cell: int) -> list[int]:
        """Numbers of the witnesses that move the cell and meet a demand at present, the latest first."""
        arrays, found = self.arrays, []
        entry = arrays.head[cell]
        while entry >= 0:
            if arrays.meets[arrays.owner[entry]] > 0:
                found.append(int(arrays.owner[entry]))
            entry = arrays.following[entry]
        return found

    def copied(self, problem: Problem | None = None) -> Ledger:
        """Another one with the same pattern and witnesses; of another problem with the same table."""
        copy = Ledger(problem or self.problem, self.hidden)
        copy.add_all(self.witnesses())
        return copy

    def witness(self, number: int) -> Witness:
        """One of the witnesses."""
        arrays = self.arrays
        part = slice(*arrays.starts[[number, number + 1]].tolist())
        order = np.argsort(arrays.cells[part])
        cells, numerators = arrays.cells[part][order].astype(np.int64), arrays.numerators[part][order]
        return Witness(cells, numerators, int(arrays.denominators[number]))

    def witnesses(self) -> Witnesses:
        """The witnesses that meet a demand at present, cells ascending."""
        num, entries = self._arrays["counts"][:2].tolist()
        used = np.flatnonzero(self._arrays["meets"][:num] > 0)
        arrays = self.arrays
        cells, numerators = arrays.cells[:entries].astype(np.int64), arrays.numerators[:entries]
        stored = Witnesses(arrays.starts[: num + 1], cells, numerators, arrays.denominators[:num]).take(used)
        owner = np.repeat(np.arange(len(used)), np.diff(stored.starts))
        order = np.argsort(owner * np.int64(self.problem.table.num_cells) + stored.cells, kind="stable")
        found = replace(stored, cells=stored.cells[order], numerators=stored.numerators[order])
        return Witnesses.joined([found, Witnesses.of(self._widening)]) if self._widening else found

    def farthest(self) -> tuple[Int, Int]:
        """How far each cell was shown to fall and rise, in whole units; of a final ledger."""
        fall, rise = farthest(self.witnesses(), self.room_down, self.room_up)
        return np.maximum(fall, self._fall), np.maximum(rise, self._rise)

    def shown(self, cell: int, *, up: bool) -> Rational:
        """How far a demand, or a deviation that widens the interval of a sliding level, shows it to move."""
        need, witness = (self.need_up, self.witness_up) if up else (self.need_down, self.witness_down)
        met = int(need[cell]) if witness[cell] >= 0 else 0
        return max(met, self._widths[cell][not up]) if cell in self._widths else met

    def shows(self, cell: int, *, up: bool) -> bool:
        """Whether the cell was shown to move as far as its level asks."""
        return bool(self.shown(cell, up=up) >= (self.problem.upl if up else self.problem.lpl)[cell])

    def shows_width(self, cell: int) -> bool:
        """Whether the interval of the cell was shown to be as wide as its sliding level asks."""
        return bool(self.shown(cell, up=True) + self.shown(cell, up=False) >= int(self.problem.spl[cell]))

    # -- changes -------------------------------------------------------------------------------------------

    def hide(self, cells: Int) -> None:
        """Hide cells without a witness that needs them (yet)."""
        if not self._arrays["movable"][cells].all():
            raise ValueError("a cell that must be published cannot be hidden")
        self.reserve(trail=len(cells))
        for cell in cells.tolist():
            loops.hide(self.arrays, cell)

    def add(self, witness: Witness, *, hide: bool = False, stretch: bool = False) -> int:
        """Take in a deviation if it meets an open demand, as it stands or reversed; return how many it meets.

        Parameters
        ----------
        hide
            Whether published cells it moves become hidden; otherwise it counts for nothing if it moves one.
        stretch
            Whether to try it at the largest multiple the capacities allow, each way.
        """
        parts = self._stretched(witness) if stretch or self._is_final else [witness]
        if not self._is_final:
            return self.add_all(Witnesses.of(parts), hide=hide)
        met = 0
        for part in parts:
            own = self.add_all(Witnesses.of([part]), hide=hide)
            if self._widens(part) and not own:
                self._widening.append(part)
            met += own
        return met

    def add_claims(self, claims: Witnesses) -> None:
        """Take in, of what somebody claims to be deviations, those that are."""
        for part in proper(self.problem, self.hidden, claims):
            if not self._widths:
                self.add_all(part)
                continue
            for witness in part:
                self.add(witness, stretch=True)

    def add_all(self, witnesses: Witnesses, *, hide: bool = False) -> int:
        """Take in many as `add` does, in order; return how many demands they meet."""
        self.reserve(len(witnesses), len(witnesses.cells))
        cells = np.ascontiguousarray(witnesses.cells, dtype=np.int32)
        numerators = np.ascontiguousarray(witnesses.numerators, dtype=np.int64)
        return int(
            loops.add_all(self.arrays, witnesses.starts, cells, numerators, witnesses.denominators, hide)
        )

    def _stretched(self, witness: Witness) -> list[Witness]:
        """The largest multiples within the capacities that may count, as it stands and reversed."""
        found = []
        for turned in (witness, witness.reversed()):
            steps = movable_multiple(turned, self.room_down[turned.cells], self.room_up[turned.cells])
            steps = min(steps, LARGEST_NUMERATOR // int(np.abs(turned.numerators).max()))
            divisor = 1
            if self._whole:
                divisor = turned.denominator
                steps -= steps % (divisor // gcd(divisor, *turned.numerators.tolist()))
            if steps:
                moved = turned.numerators * steps // divisor
                found.append(Witness(turned.cells, moved, turned.denominator // divisor))
        return found

    def _widens(self, witness: Witness) -> bool:
        """Note how far a deviation within the capacities moves cells; tells whether a sliding level gains."""
        cells, widens = witness.cells, False
        if not self.hidden[cells].all():
            return False
        rise, fall = witness.numerators // witness.denominator, -witness.numerators // witness.denominator
        self._rise[cells], self._fall[cells] = (
            np.maximum(self._rise[cells], rise),
            np.maximum(self._fall[cells], fall),
        )
        for cell, moved in zip(cells.tolist(), witness.numerators.tolist(), strict=True):
            if cell in self._widths:
                before, far = self._widths[cell], Fraction(moved, witness.denominator)
                self._widths[cell] = max(before[0], far), max(before[1], -far)
                widens |= self._widths[cell] != before
        return widens

    def note_widths(self) -> None:
        """After compiled loops: note how far the witnesses they added move cells with sliding levels."""
        for witness in self.witnesses() if self._widths else ():
            for turned in (witness, witness.reversed()):
                if movable_multiple(turned, self.room_down[turned.cells], self.room_up[turned.cells]):
                    self._widens(turned)

    def publish(self, cell: int) -> tuple[Int, Bool]:
        """Publish a secondary again, drop the witnesses that move it, and return the demands this reopens."""
        if not self.hidden[cell] or self.problem.hidden_at_start[cell]:
            raise ValueError("only a hidden cell that was not hidden at the start can be published")
        self.reserve(trail=1 + int(self._arrays["meets"][self.users(cell)].sum()))
        opened = int(loops.publish(self.arrays, cell))
        end = int(self._arrays["counts"][2])
        changes = self._arrays["trail"][end - opened : end]
        return changes[:, 1].copy(), changes[:, 0] == loops.UP

    def mark(self) -> Mark:
        """Note the present state, for `rollback`; good until `tidy` or `compact`."""
        count = self._arrays["counts"]
        return Mark(self._generation, int(count[2]), int(count[0]), self.cost)

    def rollback(self, mark: Mark) -> None:
        """Undo everything since the mark."""
        count = self._arrays["counts"]
        if mark.generation != self._generation or mark.trail > count[2] or mark.witnesses > count[0]:
            raise ValueError("the ledger has been tidied or rolled back since this mark")
        loops.roll_back(self.arrays, mark.trail, mark.witnesses, mark.cost)

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
        loops.compact(self.arrays)
        self._generation += 1
        secondary = self.hidden & ~self.problem.hidden_at_start
        self._arrays["cost"][0] = self.problem.weight[secondary].sum()

    # -- for compiled loops --------------------------------------------------------------------------------

    @property
    def arrays(self) -> LedgerArrays:
        """Everything as compiled loops take it; no longer good after the next `reserve`."""
        if self._tuple is None:
            self._tuple = LedgerArrays(**self._arrays)
        return self._tuple

    def reserve(self, witnesses: int = 0, entries: int = 0, trail: int | None = None) -> None:
        """Make room for so many more; by default in the trail for what the entries can change."""
        trail = CHANGES_PER_ENTRY * entries if trail is None else trail
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
