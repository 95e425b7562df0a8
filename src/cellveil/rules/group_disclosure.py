"""Group (100 %) disclosure and k-disclosure: attribute disclosure in tables of counts.

A count x and its total N along a dimension (the attribute: cause of death, kind of income) disclose the
attribute of a whole group if x = N: everybody of the group has it. If N − x ≤ k, the N − x others can take
themselves out and learn it of all the rest: a coalition of k. What has to stay open is the complement N − x,
the sum of the other cells of the row: nobody may conclude that it is at most k.

It suffices that one of these cells may hold more than k, since counts are not negative. So the rule marks
the largest of them, often a zero, with the upper level k + 1 − its count; whoever then cannot tell that cell
from one of k + 1 cannot rule out a complement of k + 1 either, whatever is known of x and N. The cells x and
N are hidden, or not, as secondaries. This is about what follows from the published counts: what members of
the group know of their own cells besides enters by k alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError, nearest_name
from cellveil.rules.base import Judgement, Rule, check_all_cells
from cellveil.rules.percentages import whole
from cellveil.tables.build import relations_along
from cellveil.tables.table import VARIABLE, Table


@dataclass(frozen=True)
class GroupDisclosure(Rule):
    """Nobody may learn that all of a group, but for k at most, have the same attribute.

    Fires if x > 0 and N − x ≤ k for a count x and its total N along one of the dimensions; it marks the
    largest of the cells that make up N − x. Upper level: what that cell lacks of k + 1; lower level 0.

    Examples
    --------
    >>> GroupDisclosure(k=1, dimensions=["cause"]).text
    'k-disclosure rule (k = 1, cause)'
    """

    k: int = field(default=0, metadata={"help": "how many of the group may work together; 0: outsiders"})
    dimensions: Sequence[str] = field(
        default=(), metadata={"help": "dimensions whose codes are attributes; by default all"}
    )
    name: ClassVar[str] = "group"

    def __post_init__(self) -> None:
        whole(self.k, "k", low=0)
        if isinstance(self.dimensions, str) or not all(isinstance(name, str) for name in self.dimensions):
            raise InputError(
                "dimensions of the group rule are not a list of names", remedy='Write, say, ["cause"].'
            )
        object.__setattr__(self, "dimensions", tuple(self.dimensions))

    @property
    def needs_all_cells(self) -> bool:
        return True

    @property
    def text(self) -> str:
        of = f", {', '.join(self.dimensions)}" if self.dimensions else ""
        return (f"k-disclosure rule (k = {self.k}" if self.k else "group disclosure rule (100 %") + f"{of})"

    def judge(self, table: Table) -> Judgement:
        check_all_cells(table, self.text)
        negative = np.flatnonzero(table.values < 0)
        if len(negative):
            raise InputError(
                f"the {self.text} is for counts, and it is negative ({len(negative)} such cells)",
                cell=table.cell_name(int(negative[0])),
                remedy="Use a rule for amounts.",
            )
        levels = np.zeros(table.num_cells, dtype=np.int64)
        for axis in self._axes(table):
            self._mark(table, axis, levels)
        unsafe = levels > 0
        return Judgement.of(self.text, unsafe, np.zeros(int(unsafe.sum()), np.int64), levels[unsafe], {})

    def _axes(self, table: Table) -> list[int]:
        names = [dimension.name for dimension in table.dimensions]
        for name in self.dimensions:
            if name not in names:
                raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(name, names))
        wanted = self.dimensions or [name for name in names if name != VARIABLE]
        return [names.index(name) for name in wanted]

    def _mark(self, table: Table, axis: int, levels: Int) -> None:
        """Raise the levels of the cells that have to stay open along one dimension."""
        most, values = self.k * 10**table.decimals, table.values.tolist()
        for total, parts in _rows(table, axis):
            for cell in parts:
                if not values[cell] or values[total] - values[cell] > most:
                    continue
                others = [other for other in parts if other != cell]
                still_open = max(others, key=values.__getitem__)
                needed = most + 10**table.decimals - values[still_open]
                levels[still_open] = max(levels[still_open], needed)


def _rows(table: Table, axis: int) -> Iterator[tuple[int, list[int]]]:
    """Total and parts of every sum along a dimension; in linked tables, of those that are tabulated."""
    relations, equation = relations_along(axis, table.dimensions, table.keys, table.num_cells)
    equations = table.dimensions[axis].equations
    for number, start, end in zip(equation, relations.indptr[:-1], relations.indptr[1:], strict=True):
        if equations[number].parent >= 0 and end - start == len(equations[number].codes):
            total, *parts = relations.cells[start:end].tolist()
            yield total, parts
