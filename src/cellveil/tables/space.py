"""One space of cells for several tables: a cell is what is counted in it, whatever it is called.

A cell is identified by its variable and, for each column of the data, the *set* of finest codes that it
covers; a column that a table does not have counts in full. Names, totals, single children, folded and joined
codes only lead to such sets. So the tables of a job and those of earlier releases speak about one space,
whatever their codes are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from cellveil.arrays import Int
from cellveil.tables.build import roll_up
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.link import LinkedTable, cells_in
from cellveil.tables.relations import Relations
from cellveil.tables.table import VARIABLE, Table
from cellveil.tables.totals import sums_of_others

CodeSet = int
"""A set of finest codes of one column: a bit for each."""

Cell = tuple[str, tuple[CodeSet, ...]]
"""The variable, and a set of finest codes for each column of the space."""


class Column:
    """The finest codes of a column of the data, numbered.

    Examples
    --------
    >>> region = Column("region", ["N1", "N2", "S"])
    >>> region.set_of(["N1", "S"]), region.everything
    (5, 7)
    >>> region.codes_in(5)
    ('N1', 'S')
    """

    def __init__(self, name: str, finest: Iterable[str] = ()) -> None:
        self.name = name
        self.number: dict[str, int] = {}
        self.add(finest)

    def add(self, finest: Iterable[str]) -> None:
        """Take in further finest codes."""
        for code in finest:
            self.number.setdefault(code, len(self.number))

    def set_of(self, finest: Iterable[str]) -> CodeSet:
        """The set of these finest codes."""
        found = 0
        for code in finest:
            found |= 1 << self.number[code]
        return found

    @property
    def everything(self) -> CodeSet:
        """The set of all finest codes."""
        return (1 << len(self.number)) - 1

    def codes_in(self, codes: CodeSet) -> tuple[str, ...]:
        """The finest codes of a set."""
        return tuple(code for code, bit in self.number.items() if codes >> bit & 1)


@dataclass(eq=False)
class SpaceTable:
    """A table as the space sees it.

    Parameters
    ----------
    variable
        Its variable.
    columns
        The columns it classifies by.
    sets
        For each of these the set that each of its codes covers, by code.
    keys
        For each cell a code of each column, as positions in `sets`.
    is_complete
        Whether a combination of codes without a row is empty.
    parts
        For each column which codes are sums of others: pairs of a set and the sets that make it up.
    filled
        The cells, as sets by column, in which there may be records: those that are not 0, and all with a row
        where values may be negative.
    """

    variable: str
    columns: tuple[str, ...]
    sets: tuple[tuple[CodeSet, ...], ...]
    keys: tuple[Int, ...]
    is_complete: bool
    parts: tuple[tuple[tuple[CodeSet, tuple[CodeSet, ...]], ...], ...] = ()
    filled: set[tuple[CodeSet, ...]] = field(default_factory=set)
    _around: dict[tuple[int, CodeSet], tuple[CodeSet, ...]] = field(default_factory=dict)

    def cells(self) -> Iterator[tuple[CodeSet, ...]]:
        """The sets of each cell, by column."""
        return zip(
            *(
                [sets[code] for code in codes.tolist()]
                for sets, codes in zip(self.sets, self.keys, strict=True)
            ),
            strict=True,
        )

    def around(self, axis: int, codes: CodeSet) -> tuple[CodeSet, ...]:
        """The smallest codes of a column that contain a set."""
        found = self._around.get((axis, codes))
        if found is None:
            containing = {own for own in self.sets[axis] if own & codes == codes}
            found = tuple(
                own
                for own in containing
                if not any(other & own == other and other != own for other in containing)
            )
            self._around[axis, codes] = found
        return found


class Space:
    """Cells of several tables, numbered by what they contain.

    Parameters
    ----------
    columns
        The columns of the data that some table classifies by; their finest codes must all be known.
    equations
        What ties variables together: for each equation the coefficient of each variable.
    signed
        Variables that may be negative: of these an empty total says nothing about its parts.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        equations: Sequence[Mapping[str, int]] = (),
        signed: Iterable[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.equations = tuple(equations)
        self.signed = frozenset(signed)
        self.tables: list[SpaceTable] = []
        self.cells: list[Cell] = []
        self.number_of: dict[Cell, int] = {}
        self.everything = tuple(column.everything for column in self.columns)
        self.axis = {column.name: axis for axis, column in enumerate(self.columns)}

    def add(self, table: SpaceTable) -> Int:
        """Take in a table: the numbers of its cells; equal content, equal number."""
        self.tables.append(table)
        axes = [self.axis[name] for name in table.columns]
        numbers = np.empty(len(table.keys[0]), dtype=np.int64)
        for place, sets in enumerate(table.cells()):
            whole = list(self.everything)
            for axis, codes in zip(axes, sets, strict=True):
                whole[axis] &= codes  # two dimensions of a table may classify by the same column
            numbers[place] = self.cell(table.variable, tuple(whole))
        return numbers

    def cell(self, variable: str, sets: tuple[CodeSet, ...]) -> int:
        """The number of a cell."""
        key = (variable, sets)
        number = self.number_of.get(key)
        if number is None:
            number = self.number_of[key] = len(self.cells)
            self.cells.append(key)
        return number

    def name(self, number: int) -> str:
        """A cell in words: the codes of its sets, few of them."""
        variable, sets = self.cells[number]
        named = []
        for column, codes, everything in zip(self.columns, sets, self.everything, strict=True):
            if codes != everything:
                finest = column.codes_in(codes)
                more = f" and {len(finest) - 3} more" if len(finest) > 3 else ""
                named.append(f"{column.name} {'+'.join(finest[:3])}{more}")
        return f"({variable}: {', '.join(named) or 'all'})"

    def shape(self, number: int) -> frozenset[int]:
        """The columns in which a cell is not the total."""
        sets = self.cells[number][1]
        return frozenset(axis for axis, codes in enumerate(sets) if codes != self.everything[axis])

    def is_empty(self, variable: str, sets: tuple[CodeSet, ...]) -> bool:
        """Whether everybody knows that a cell is 0, as it lies in an empty one of some table."""
        for table in self.tables:
            if table.variable != variable or not table.is_complete:
                continue
            around = [table.around(place, sets[self.axis[name]]) for place, name in enumerate(table.columns)]
            if any(own not in table.filled for own in product(*around)):
                return True
        return False


def refined(everything: CodeSet, sets: Iterable[CodeSet]) -> list[CodeSet]:
    """The classes of finest codes that none of some sets tells apart.

    Examples
    --------
    >>> refined(0b111, [0b011])
    [3, 4]
    """
    classes = [everything] if everything else []
    for codes in dict.fromkeys(sets):
        classes = [part for own in classes for part in (own & codes, own & ~codes) if part]
    return classes


# -- tables --------------------------------------------------------------------------------------------------


def tables_in(table: Table) -> list[tuple[Table, Int]]:
    """The tables that a joint table consists of, each with the numbers of its cells in it.

    A table of which nobody says what it was linked from is taken apart by which dimensions are totals.
    """
    if isinstance(table, LinkedTable) and table.tables:
        return [(part, cells_in(table, part)) for part in table.tables]
    if all(dimension.total >= 0 for dimension in table.dimensions):
        return [(table, np.arange(table.num_cells))]
    names = [dimension.name for dimension in table.dimensions]
    axes = [axis for axis, name in enumerate(names) if name != VARIABLE]
    totals = [_is_total(table.dimensions[axis]) for axis in axes]
    shape = np.zeros((table.num_cells, len(axes)), dtype=bool)
    for place, axis in enumerate(axes):
        shape[:, place] = ~totals[place][table.keys[axis]]
    found = []
    for variable in np.unique(table.variables):
        own = np.flatnonzero(table.variables == variable)
        patterns = [tuple(row) for row in np.unique(shape[own], axis=0).tolist()]
        shapes = [frozenset(np.flatnonzero(pattern).tolist()) for pattern in patterns]
        largest = [
            pattern
            for pattern, shape in zip(patterns, shapes, strict=True)
            if not any(shape < other for other in shapes)
        ]
        for pattern in largest:
            within = own[~(shape[own] & ~np.array(pattern)).any(axis=1)]
            chosen = [axis for axis, has in zip(axes, pattern, strict=True) if has] or axes[:1]
            name = (
                table.dimensions[names.index(VARIABLE)].codes[variable]
                if VARIABLE in names
                else table.variable
            )
            part = Table(
                tuple(table.dimensions[axis] for axis in chosen),
                tuple(table.keys[axis][within] for axis in chosen),
                table.values[within],
                table.decimals,
                Relations.empty(len(within)),
                variable=name,
            )
            found.append((part, within))
    return found


def _is_total(dimension: Dimension) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which codes cover all finest codes."""
    everything = len({name for finest in dimension.finest for name in finest})
    return np.array([len(set(finest)) == everything for finest in dimension.finest], dtype=bool)


def space_table(table: Table, columns: Mapping[str, Column]) -> SpaceTable:
    """A table in the space of these columns; `filled` holds its cells that are not 0."""
    sets = []
    parts = []
    for dimension in table.dimensions:
        column = columns[dimension.data_column]
        is_total = _is_total(dimension)
        own = tuple(
            column.everything if total else column.set_of(finest)
            for finest, total in zip(dimension.finest, is_total.tolist(), strict=True)
        )
        sets.append(own)
        parts.append(
            tuple(
                (own[equation.parent], tuple(own[code] for code in equation.codes if code != equation.parent))
                for equation in dimension.equations
                if equation.parent >= 0
            )
        )
    keys = tuple(column.astype(np.int64) for column in table.keys)
    found = SpaceTable(
        table.variable,
        tuple(dimension.data_column for dimension in table.dimensions),
        tuple(sets),
        keys,
        is_complete(table),
        tuple(parts),
    )
    found.filled = {cell for cell, value in zip(found.cells(), table.values.tolist(), strict=True) if value}
    return found


def is_complete(table: Table) -> bool:
    """Whether the finest cells add up to all others, so that a combination without a row is empty."""
    for dimension in table.dimensions:
        leaves = np.flatnonzero(~dimension.is_parent).tolist()
        finest = [name for leaf in leaves for name in dimension.finest[leaf]]
        if len(set(finest)) < len(finest):  # codes that overlap, and no equation between them
            return False
    inner = np.logical_or.reduce(
        [dimension.is_parent[keys] for dimension, keys in zip(table.dimensions, table.keys, strict=True)]
    )
    keys, (sums,) = roll_up(
        table.dimensions, [column[~inner] for column in table.keys], [table.values[~inner]]
    )
    found = table.find(keys)
    if (sums[found < 0] != 0).any():
        return False
    whole = np.zeros(table.num_cells, dtype=np.int64)
    whole[found[found >= 0]] = sums[found >= 0]
    return bool((whole == table.values).all())


def decomposed_cells(table: Table) -> Int:
    """The cells that a relation of the table gives as the sum of others."""
    return np.flatnonzero(sums_of_others(table.relations))


CLASS = "\x1f"
"""Begins the name of a class or a set in `class_dimension`; no code of data begins with it."""


def class_dimension(column: Column, classes: Sequence[CodeSet], sets: Iterable[CodeSet]) -> Dimension:
    """A dimension to tabulate by: classes of finest codes, and sets of them as sums.

    Examples
    --------
    >>> region = Column("region", ["N1", "N2", "S"])
    >>> found = class_dimension(region, [3, 4], [7])
    >>> found.index["N2"] == found.index["N1"], len(found)
    (True, 3)
    """
    number = {codes: place for place, codes in enumerate(classes)}
    for codes in sets:
        number.setdefault(codes, len(number))
    names = tuple(f"{CLASS}{codes:x}" for codes in number)
    equations = []
    for codes, place in number.items():
        below = [at for at, part in enumerate(classes) if part & codes == part]
        if place >= len(classes):
            equations.append(Equation.total(place, below))
    aliases = {code: names[at] for at, part in enumerate(classes) for code in column.codes_in(part)}
    return Dimension(column.name, names, tuple(equations), number.get(column.everything, -1), aliases)


def set_number(dimension: Dimension, codes: CodeSet) -> int:
    """The code of a set in such a dimension; −1 where it has none."""
    return dimension.index.get(f"{CLASS}{codes:x}", -1)
