"""What the records of today say of any cell, and the tables of earlier releases in terms of their codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np

from cellveil.arrays import Int
from cellveil.previous.releases import PreviousRelease, ReleasedTable
from cellveil.problem import Problem, may_be_negative
from cellveil.tables.build import assemble, roll_up
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.space import (
    CodeSet,
    Column,
    Space,
    SpaceTable,
    class_dimension,
    refined,
    set_number,
    space_table,
)
from cellveil.tables.table import Table

ALL = "all"
"""The population of a release that counts all records of its file."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What is known of today beyond the cells of the job.

    Parameters
    ----------
    tabulate
        The table of a variable by dimensions named like columns of the data, with all that is known of
        contributors; None where that cannot be said.
    finest
        The finest codes of a column that no table of the job classifies by; None where there is none.
    levels
        Today's rules on such a table; None where they are not known.
    population
        Says which records were counted: all, or a digest of what chose them.
    weight
        The column of weights; "" where there are none.
    has_records
        Whether records say all this, which can be tabulated by any of their columns.
    """

    tabulate: Callable[[str, Sequence[Dimension]], Table | None]
    finest: Callable[[str], Sequence[str] | None] = lambda column: None
    levels: Callable[[Table], Problem] | None = None
    population: str = ALL
    weight: str = ""
    has_records: bool = False

    @classmethod
    def of_tables(cls, parts: Sequence[Table]) -> Basis:
        """What finished tables say: the sums of their own finest cells."""
        return cls(lambda variable, dimensions: _summed(parts, variable, dimensions))


def _summed(parts: Sequence[Table], variable: str, dimensions: Sequence[Dimension]) -> Table | None:
    """A table by coarser or fewer codes, from the first of some tables that has them all."""
    wanted = {dimension.name: dimension for dimension in dimensions}
    for part in parts:
        own = {dimension.data_column: axis for axis, dimension in enumerate(part.dimensions)}
        columns = {name: Column(name, wanted[name].index) for name in wanted}
        if part.variable != variable or not set(wanted) <= set(own):
            continue
        if not space_table(part, columns | _columns_of(part, own.keys() - wanted.keys())).is_complete:
            continue
        leaf = np.logical_and.reduce(
            [~d.is_parent[keys] for d, keys in zip(part.dimensions, part.keys, strict=True)]
        )
        keys = []
        for name, dimension in wanted.items():
            own_dimension = part.dimensions[own[name]]
            number = np.full(len(own_dimension), -1, dtype=np.int32)
            for code in range(len(own_dimension)):
                classes = {dimension.index.get(finest, -1) for finest in own_dimension.finest[code]}
                number[code] = classes.pop() if len(classes) == 1 else -1
            keys.append(number[part.keys[own[name]][leaf]])
        if any((column < 0).any() for column in keys):
            continue
        all_keys, (sums,) = roll_up(dimensions, keys, [part.values[leaf]])
        return assemble(dimensions, all_keys, sums, part.decimals, variable=variable)
    return None


def with_contents(table: Table, releases: Sequence[PreviousRelease]) -> Table:
    """A finished table whose finest codes contain what earlier releases of records say of codes so called."""
    dimensions = []
    for dimension in table.dimensions:
        contents = dict(dimension.contents)
        finest = {names[0] for names in dimension.finest if len(names) == 1}
        for release in () if dimension.column else releases:
            said = release.about.get("contains", {}).get(dimension.name, {})
            trees = release.about.get("hierarchies", {}).get(dimension.name, [])
            below = {str(parent) for tree in trees for parent, _ in tree}
            if release.says_contents(dimension.name) and finest & (said.keys() | below):
                total = {table.totals.get(dimension.name) for table in release.tables}
                found, _ = release.contents(dimension.name, sorted(finest - total), None, None)
                contents |= {code: names for code, names in found.items() if names and names != (code,)}
        dimensions.append(replace(dimension, contents=contents))
    return table.replace(dimensions=tuple(dimensions))


def _columns_of(table: Table, names: Iterable[str]) -> dict[str, Column]:
    """Columns with the finest codes of some dimensions of a table."""
    columns = {name: Column(name) for name in names}
    for dimension in table.dimensions:
        if dimension.data_column in columns:
            for finest in dimension.finest:
                columns[dimension.data_column].add(finest)
    return columns


@dataclass(frozen=True, repr=False, eq=False)
class FormerTable:
    """A table of an earlier release with what its codes contain.

    `doubtful` has the codes, by dimension, of which the release does not say what they contain, and whether
    the job states it; of others only the name tells.
    """

    release: PreviousRelease
    table: ReleasedTable
    variable: str
    columns: tuple[str, ...]
    contents: tuple[Mapping[str, tuple[str, ...] | None], ...]
    doubtful: Mapping[tuple[int, str], bool]

    def is_signed(self, columns: Mapping[str, Column], basis: Basis) -> bool:
        """Whether its variable may be negative, then or today."""
        if any(value is not None and value < 0 for value in self.table.values):
            return True
        finest = [refined(columns[name].everything, ()) for name in self.columns]
        dimensions = [
            class_dimension(columns[n], own, ()) for n, own in zip(self.columns, finest, strict=True)
        ]
        today = basis.tabulate(self.variable, dimensions)
        return today is not None and bool(may_be_negative(today).any())

    def with_gaps(self, columns: Mapping[str, Column], basis: Basis) -> FormerTable:
        """The same with a 0 for each combination that has no row, was known to be empty, and is not today."""
        if not self.release.absent_is_empty:
            return self
        sets = [self._sets(place, columns[name]) for place, name in enumerate(self.columns)]
        dimensions = []
        for name, own in zip(self.columns, sets, strict=True):
            everything = columns[name].everything
            classes = refined(everything, own.values())
            dimensions.append(class_dimension(columns[name], classes, [*own.values(), everything]))
        today = basis.tabulate(self.variable, dimensions)
        if today is None:
            return self
        rows = set(zip(*self.table.codes, strict=True))
        called: list[dict[int, list[str]]] = [{} for _ in sets]
        for names, dimension, own in zip(called, dimensions, sets, strict=True):
            for code, codes in own.items():
                names.setdefault(set_number(dimension, codes), []).append(code)
        more: list[tuple[str, ...]] = []
        for *key, value in zip(
            *(column.tolist() for column in today.keys), today.values.tolist(), strict=True
        ):
            names_of = [names.get(number, []) for number, names in zip(key, called, strict=True)]
            named = list(product(*names_of))  # none where the release has no such code
            if value and named and not rows.intersection(named):
                more.append(named[0])
        if not more:
            return self
        more_codes = tuple(
            own + new for own, new in zip(self.table.codes, zip(*more, strict=True), strict=True)
        )
        values = (*self.table.values, *[Decimal(0)] * len(more))
        return replace(self, table=replace(self.table, codes=more_codes, values=values))

    def _sets(self, place: int, column: Column) -> dict[str, CodeSet]:
        return {
            code: column.everything if finest is None else column.set_of(finest)
            for code, finest in self.contents[place].items()
        }

    def in_space(self, columns: Mapping[str, Column], is_estimate: bool, zero_is_empty: bool) -> SpaceTable:
        """The table in the space of these columns."""
        sets, keys = [], []
        for place, (name, codes) in enumerate(zip(self.columns, self.table.codes, strict=True)):
            own = self._sets(place, columns[name])
            number = {code: at for at, code in enumerate(own)}
            sets.append(tuple(own.values()))
            keys.append(np.array([number[code] for code in codes], dtype=np.int64))
        is_complete = self.release.absent_is_empty and not is_estimate
        found = SpaceTable(self.variable, self.columns, tuple(sets), tuple(keys), is_complete)
        rounded = self.release.rounding_of(self.table.variable) > 0
        found.filled = {
            key
            for key, value in zip(found.cells(), self.table.values, strict=True)
            if value is None or value != 0 or rounded or not zero_is_empty
        }
        return found


class Truth:
    """What the records of today say of cells that the job does not have."""

    def __init__(self, space: Space, basis: Basis, own_of: Mapping[int, int]) -> None:
        self.space, self.basis = space, basis
        added = [cell for cell in range(len(space.cells)) if cell not in own_of]
        self.classes = [
            refined(column.everything, (cell[1][axis] for cell in space.cells))
            for axis, column in enumerate(space.columns)
        ]
        self.tables: list[tuple[Table, Problem | None]] = []
        self.where: dict[int, tuple[int, int]] = {}
        """For each such cell the table that has it and its number there; −1: empty."""
        shapes: dict[str, list[frozenset[int]]] = {}
        for cell in added:
            known = shapes.setdefault(space.cells[cell][0], [])
            shape = space.shape(cell)
            if shape not in known:
                known.append(shape)
        for variable, own in shapes.items():
            largest = [shape for shape in own if not any(shape < other for other in own)]
            left = [cell for cell in added if space.cells[cell][0] == variable]
            for shape in largest:
                inside = [cell for cell in left if space.shape(cell) <= shape]
                left = [cell for cell in left if not space.shape(cell) <= shape]
                self._tabulate(variable, sorted(shape) or [0], inside)
        self.decimals = max((table.decimals for table, _ in self.tables), default=0)

    def _tabulate(self, variable: str, axes: Sequence[int], cells: Sequence[int]) -> None:
        space = self.space
        dimensions = []
        for axis in axes:
            used = {space.cells[cell][1][axis] for cell in cells} | {space.columns[axis].everything}
            dimensions.append(class_dimension(space.columns[axis], self.classes[axis], sorted(used)))
        table = self.basis.tabulate(variable, dimensions)
        if table is None:
            return
        keys = [
            np.array([set_number(d, space.cells[cell][1][axis]) for cell in cells], dtype=np.int64)
            for axis, d in zip(axes, dimensions, strict=True)
        ]
        found = table.find(keys).tolist()
        rules = None if self.basis.levels is None else self.basis.levels(table)
        self.tables.append((table, rules))
        for cell, row in zip(cells, found, strict=True):
            self.where[cell] = len(self.tables) - 1, row

    def read(self, added: Int, decimals: int) -> None:
        """The values of further cells, in their order, and which of them are known."""
        self.values = np.zeros(len(added), dtype=np.int64)
        self.known = np.zeros(len(added), dtype=bool)
        self.order = added
        for place, cell in enumerate(added.tolist()):
            if cell in self.where:
                number, row = self.where[cell]
                table = self.tables[number][0]
                self.known[place] = True
                if row >= 0:
                    self.values[place] = int(table.values[row]) * 10 ** (decimals - table.decimals)

    def rule(self, cell: int) -> tuple[Problem, int] | None:
        """Today's rules on a cell: the problem they make of its table, and its number there."""
        number, row = self.where.get(cell, (-1, -1))
        if number < 0 or row < 0:
            return None
        rules = self.tables[number][1]
        return None if rules is None else (rules, row)

    def count(self, cell: int) -> int:
        """How many contribute to a cell, 0 where it is not known."""
        number, row = self.where.get(cell, (-1, -1))
        if number < 0 or row < 0 or self.tables[number][0].contributors is None:
            return 0
        counts = self.tables[number][0].contributors
        assert counts is not None
        return max(int(counts[row]), 0)

    def contributions(self, own: Table, order: Int) -> dict[str, Any]:
        """Contributions of all cells, as far as they are known of all; `order` sorts the further ones."""
        found: dict[str, Any] = {}
        for name in ("units", "holdings"):
            mine = getattr(own, name)
            parts = [getattr(table, name) for table, _ in self.tables]
            if mine is None or any(part is None for part in parts) or not self.known.all():
                continue
            try:
                stacked = Contributions.stack([mine, *parts])
            except KeyError:  # not the same figures of each
                continue
            starts = np.cumsum([own.num_cells, *(table.num_cells for table, _ in self.tables)])
            rows = np.full(len(self.order), -1, dtype=np.int64)
            for place, cell in enumerate(self.order.tolist()):
                number, row = self.where[cell]
                rows[place] = starts[number] + row if row >= 0 else -1
            sorted_rows = np.empty_like(rows)
            sorted_rows[order] = rows
            found[name] = stacked.spread(np.concatenate([np.arange(own.num_cells), sorted_rows]))
        if "units" in found and own.contributors is not None:
            found["contributors"] = np.concatenate([own.contributors, found["units"].count[own.num_cells :]])
        return found
