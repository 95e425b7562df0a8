"""What a table itself says of its cells: status, protection levels and bounds that came with the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.level_origin import SHARE
from cellveil.problem import Status
from cellveil.rules.base import Judgement
from cellveil.rules.percentages import Number, fraction, margin
from cellveil.tables.scaled import UNBOUNDED, rescale
from cellveil.tables.table import Table

UNSAID = np.iinfo(np.int64).min
"""Stands where nothing is said."""

REASON = "status given with the table"


@dataclass(frozen=True, repr=False, eq=False)
class GivenMarks:
    """What is said of each cell, `UNSAID` where nothing is; amounts are scaled like the table's values.

    Parameters
    ----------
    status
        A `Status`.
    lpl, upl, spl
        Protection levels; they count for cells of status u.
    lb, ub
        What everybody knows of the value.
    """

    status: Int
    lpl: Int
    upl: Int
    spl: Int
    lb: Int
    ub: Int

    @classmethod
    def nothing(cls, num_cells: int) -> GivenMarks:
        """Nothing said of any cell."""
        return cls(*(np.full(num_cells, UNSAID, dtype=np.int64) for _ in fields(cls)))

    @classmethod
    def joined(cls, table: Table, parts: Sequence[tuple[Table, Int, GivenMarks]]) -> GivenMarks:
        """What is said of the cells of a table by those it was linked from.

        Parameters
        ----------
        parts
            A table, the number of each of its cells in the joint one, and what is said of them.

        Raises
        ------
        InputError
            When two tables say different things of a common cell.
        """
        joint = cls.nothing(table.num_cells)
        for part, cells, marks in parts:
            for field in fields(cls):
                said = getattr(marks, field.name)
                if field.name != "status":
                    said = _with_decimals(said, table.decimals - part.decimals)
                _put(table, getattr(joint, field.name), cells, said, field.name)
        return joint

    @property
    def unsafe(self) -> Bool:
        """The cells that are said to be unsafe."""
        return np.asarray(self.status == Status.PRIMARY, dtype=bool)

    def cells_of(self, status: Status) -> list[int]:
        """The cells that are said to have a status."""
        return [int(cell) for cell in np.flatnonzero(self.status == status)]

    def judgement(self, table: Table, safety_range: Number) -> Judgement:
        """The unsafe cells with their own levels; those without any have a share of the value."""
        unsafe = self.unsafe
        own = unsafe & (np.maximum(np.maximum(self.lpl, self.upl), self.spl) != UNSAID)
        share = np.zeros(table.num_cells, dtype=np.int64)
        share[unsafe] = margin(table.values[unsafe], fraction(safety_range, "safety_range"))
        lower, upper = (np.where(own, np.where(x == UNSAID, 0, x), share) for x in (self.lpl, self.upl))
        return Judgement.of(REASON, unsafe, lower[unsafe], upper[unsafe], {SHARE: unsafe & ~own})

    def sliding(self, unsafe: Bool, spl: Int) -> Int:
        """The sliding levels, where cells have none of their own those that are given."""
        return np.where(unsafe & self.unsafe & (self.spl != UNSAID), np.maximum(self.spl, spl), spl)

    def bounds(self, lb: Int, ub: Int) -> tuple[Int, Int]:
        """What everybody knows: as said of a cell, else as given."""
        return np.where(self.lb == UNSAID, lb, self.lb), np.where(self.ub == UNSAID, ub, self.ub)


def _with_decimals(said: Int, more: int) -> Int:
    fixed = (said == UNSAID) | (np.abs(np.where(said == UNSAID, 0, said)) == UNBOUNDED)
    return np.where(fixed, said, rescale(np.where(fixed, 0, said), more))


def _put(table: Table, target: NDArray[np.int64], cells: Int, said: Int, what: str) -> None:
    known = said != UNSAID
    before = target[cells]
    wrong = np.flatnonzero(known & (before != UNSAID) & (before != said))
    if len(wrong):
        raise InputError(
            f"two tables give it a different {what}",
            cell=table.cell_name(int(cells[wrong[0]])),
            remedy="Common cells of linked tables are one cell: say the same of it, or say it once.",
        )
    target[cells[known]] = said[known]
