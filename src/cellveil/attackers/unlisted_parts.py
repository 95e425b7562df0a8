"""Contributors beyond those listed: who else stands in several of the finest cells, and with how much.

Tables keep the largest contributions of each cell. An attacker that is among them in one cell, and further
down in another, is then known in part only, and has to be taken for more than it is. From a list of all
contributions what is missing can be filled in: only contributors with parts in several finest cells matter,
in cells where they are not listed, so that little is kept. Somebody with a single cell who is not listed
there knows no more than the smallest one listed, and nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table


@dataclass(frozen=True, repr=False, eq=False)
class AllParts:
    """A list of all contributions to the finest cells.

    Parameters
    ----------
    cells
        Number of the cell of each contribution.
    who
        Id of the contributor.
    amounts
        The contribution, in the scaled units of the table's contributions; with weights, its weighted part.
    """

    cells: Int
    who: Sequence[str]
    amounts: Int

    def __repr__(self) -> str:
        return f"AllParts({len(self.cells)} contributions)"

    @classmethod
    def of(
        cls, table: Table, codes: Sequence[Sequence[str]], who: Sequence[str], amounts: Sequence[int]
    ) -> AllParts:
        """From the codes of the cell of each contribution, in the order of the table's dimensions."""
        number = {key: table.cell(*key) for key in set(map(tuple, codes))}
        cells = np.array([number[tuple(key)] for key in codes], dtype=np.int64)
        return cls(cells, tuple(who), np.array(amounts, dtype=np.int64))


Further = Mapping[int, tuple[tuple[int, int], ...]]
"""For each cell the number and the part of contributors who are not listed there."""


def further_parts(known: Contributions, finest: Int, everything: AllParts) -> tuple[Further, tuple[str, ...]]:
    """What the list adds to the contributions of a table, and the ids with those it adds.

    Parameters
    ----------
    known
        The largest contributions of each cell.
    finest
        Numbers of the cells that are not sums.
    everything
        All contributions to them.

    Raises
    ------
    InputError
        When the list is not the one the table's contributions were taken from, or ids are missing.
    """
    _, listed = known.largest_parts
    number = {name: position for position, name in enumerate(known.names)}
    for name in everything.who:
        number.setdefault(name, len(number))
    who = np.array([number[name] for name in everything.who], dtype=np.int64)
    pairs, place = np.unique(np.stack([everything.cells, who]), axis=1, return_inverse=True)
    parts = np.zeros(pairs.shape[1], dtype=np.int64)
    np.add.at(parts, place.ravel(), everything.amounts)
    cells, who, parts = pairs[0], pairs[1], np.abs(parts)
    _check(known, finest, cells, parts)
    has_several = np.bincount(who, minlength=len(number)) > 1
    is_listed = (listed[cells] == who[:, None]).any(axis=1)
    further: dict[int, list[tuple[int, int]]] = {}
    for entry in np.flatnonzero(has_several[who] & ~is_listed).tolist():
        further.setdefault(int(cells[entry]), []).append((int(who[entry]), int(parts[entry])))
    return {cell: tuple(added) for cell, added in further.items()}, tuple(number)


def _check(known: Contributions, finest: Int, cells: Int, parts: Int) -> None:
    count = np.bincount(cells, minlength=len(known))
    total = np.zeros(len(known), dtype=np.int64)
    np.add.at(total, cells, parts)
    present = np.arange(known.depth)[None, :] < np.minimum(known.count, known.depth)[:, None]
    if ((known.largest_parts[1] < 0) & present)[finest].any():
        raise InputError("some contributors have no id", remedy="Leave the list out, or give all ids.")
    if (
        not np.isin(cells, finest).all()
        or (count != known.count)[finest].any()
        or (total != known.absolute)[finest].any()
    ):
        raise InputError(
            "the list is not that of all contributions to the finest cells of the table",
            remedy="Give the contributions from which the table's largest ones were taken, with weights "
            "their weighted parts.",
        )
