"""Moved cells of deviations that are claimed, row by row, and how far these let a primary cell move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.deviations.witness import LARGEST_NUMERATOR
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, eq=False)
class MovedRows:
    """Moved cells of claimed deviations: which claim, which cell, which way, how far beside the target."""

    owner: Int
    cells: Int
    rises: Bool
    is_target: Bool
    moved: Int
    step: Int
    enough: Int

    @classmethod
    def nothing(cls) -> MovedRows:
        """No cell at all."""
        none = np.zeros(0, dtype=np.int64)
        return cls(none, none, none > 0, none > 0, none, none, none)

    @classmethod
    def joined(cls, parts: Sequence[MovedRows]) -> MovedRows:
        """Several collections, one after the other."""
        names = cls.__dataclass_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def take(self, rows: Int) -> MovedRows:
        """Some of them."""
        return MovedRows(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def reach_of(shown: Int, rows: MovedRows, starts: Int) -> Int:
    """The least that a moved cell of each claim allows; nothing where the target does not move."""
    return np.where(rows.step[starts] == 0, 0, np.minimum.reduceat(shown, starts))


def floored(room: Int, step: Int, moved: Int) -> Int:
    """⌊room · step / moved⌋ exactly, at most UNBOUNDED."""
    endless = room == UNBOUNDED
    finite = np.where(endless, 0, room)
    if int(finite.max(initial=0)) * int(step.max(initial=0)) < LARGEST_NUMERATOR:
        found: NDArray[np.int64] = finite * step // moved
    else:
        exact = finite.astype(object) * step.astype(object) // moved.astype(object)
        found = np.asarray(np.minimum(exact, UNBOUNDED), dtype=np.int64)
    return np.where(endless, UNBOUNDED, found)
