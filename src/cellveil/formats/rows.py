"""Rows of cells: columns of which some are dimensions, the cell of each, and errors with its line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.exact_numbers import Amounts
from cellveil.tables.build import encode
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import TOTAL, Hierarchy
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.table import CELL, Table


@dataclass(frozen=True, repr=False, eq=False)
class Rows:
    """Columns of which some are dimensions."""

    columns: Columns
    dimensions: tuple[Dimension, ...]
    codes: Mapping[str, Any]

    def cell_name(self, row: int) -> str:
        """The codes of one row, as `Table.cell_name` writes them; what is no known code is left out."""
        key = [self._known_code(dimension, row) for dimension in self.dimensions]
        return (
            key[0] if [dimension.name for dimension in self.dimensions] == [CELL] else f"({', '.join(key)})"
        )

    def _known_code(self, dimension: Dimension, row: int) -> str:
        code = str(self.codes[dimension.name][row])
        return code if code in dimension.index else "…"

    def check(self, wrong: Bool, what: str, remedy: str) -> None:
        """Raise at the first row that is wrong, naming its line and its cell."""
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.columns.fault(row, what, remedy, self.cell_name(row))

    def numbers(self, name: str, amounts: Amounts, decimals: int, **options: Any) -> Int:
        """A column of numbers as scaled integers; see `Amounts.at`."""
        scaled, faults = amounts.at(decimals, **options)
        self.columns.check_numbers(name, faults, self.cell_name)
        return scaled

    @contextmanager
    def placing_errors(self) -> Iterator[None]:
        """Name the file, and the line where the row or the cell is known."""
        try:
            yield
        except InputError as error:
            located = self.columns.located(error)
            if located.line is None and located.cell is not None:
                row = next((i for i in range(len(self.columns)) if self.cell_name(i) == located.cell), None)
                located = located.located(line=None if row is None else self.columns.line_of(row))
            raise located from None


def open_rows(source: Any, hierarchies: Any, total_code: str = TOTAL) -> Rows:
    """Read the columns, find the dimensions, and check that no row occurs twice."""
    columns = read_columns(source)
    hierarchies = by_column(hierarchies)
    if not hierarchies:
        raise InputError(
            "no dimension is named",
            file=columns.file,
            remedy="Say which columns hold the codes of the cells.",
        )
    codes = {name: columns.codes(name) for name in hierarchies}
    dimensions = tuple(
        dimension_of(name, given, codes[name], total_code) for name, given in hierarchies.items()
    )
    rows = Rows(columns, dimensions, codes)
    if any(dimension.aliases for dimension in dimensions):  # else building the table finds it
        check_rows_distinct(rows)
    return rows


def by_column(given: Any) -> Mapping[str, Any]:
    """The hierarchies by column, where only columns are named, or dimensions are given."""
    if isinstance(given, Mapping):
        return given
    listed = [given] if isinstance(given, str | Dimension) else given
    if isinstance(listed, Iterable) and all(isinstance(one, str | Dimension) for one in listed):
        return {
            one.name if isinstance(one, Dimension) else one: one if isinstance(one, Dimension) else None
            for one in listed
        }
    raise InputError(
        f"the dimensions are of type {type(given).__name__}",
        remedy='Name the columns: ["region"]; or give hierarchies for them: {"region": hierarchy}.',
    )


def dimension_of(
    name: str, given: Any, codes: Sequence[str] | NDArray[np.object_], total_code: str = TOTAL
) -> Dimension:
    """A dimension from whatever describes it; see `read_table`."""
    if isinstance(given, Dimension):
        return replace(given, name=name)
    if given is None:
        seen = [code for code in dict.fromkeys(codes) if code != total_code]
        return Dimension.of(name, Hierarchy.flat(seen, total_code))
    trees = list(given) if isinstance(given, list | tuple) else [given]
    return Dimension.of(name, *(_hierarchy_of(name, tree, total_code) for tree in trees))


def _hierarchy_of(name: str, given: Any, total_code: str) -> Hierarchy:
    if isinstance(given, str | Path) and Path(given).suffix.lower() != ".hrc":
        return read_pairs(Path(given))
    if given is None or isinstance(given, int | float):
        raise InputError(
            f"cannot make a hierarchy of dimension {name!r} from a {type(given).__name__}",
            remedy="Give a Hierarchy, a nested dict, the path of an .hrc or parent/child file, or None.",
        )
    return Hierarchy.of(given, total_code)


def read_pairs(path: Path) -> Hierarchy:
    """Read a file with the columns parent and child; a total without parts has an empty child."""
    columns = read_columns(path)
    if len(columns) == 1 and columns.column("child")[0].as_py() == "":
        return Hierarchy(columns.codes("parent")[0], {})
    pairs = zip(columns.codes("parent").tolist(), columns.codes("child").tolist(), strict=True)
    return Hierarchy.from_pairs(pairs, file=columns.file)


def cells_of_rows(rows: Rows, table: Table) -> Int:
    """The cell of each row."""
    with rows.placing_errors():
        cells = table.find(encode(rows.dimensions, rows.codes))
    rows.check(
        cells < 0,
        "the total has no parts from which it could be computed",
        "Add its parts, or do not ask for totals to be computed anew.",
    )
    return cells


def rows_of_table(path: Path | str, table: Table) -> tuple[Rows, Int]:
    """The rows of a file about cells of a table, each cell once, and the cell of each row."""
    columns = read_columns(Path(path))
    rows = Rows(columns, table.dimensions, {d.name: columns.codes(d.name) for d in table.dimensions})
    check_rows_distinct(rows)
    with rows.placing_errors():
        cells = table.find(encode(table.dimensions, rows.codes))
    rows.check(cells < 0, "the table has no such cell", "Remove the line, or correct its codes.")
    return rows, cells


def put_on_cells(rows: Rows, target: NDArray[Any], cells: Int, given: NDArray[Any], what: str) -> None:
    """Write a column to its cells; rows that are names of one cell must agree."""
    target[cells] = given
    rows.check(
        target[cells] != given,
        f"contradictory {what}: a code with a single child is one cell with it, and the two lines differ",
        f"Give both names of the cell the same {what}, or remove one of the lines.",
    )


def check_rows_distinct(rows: Rows) -> None:
    """Raise where two rows have the same codes (two names of one cell are not the same codes)."""
    numbers, sizes = [], []
    for dimension in rows.dimensions:
        distinct, number = np.unique(rows.codes[dimension.name].astype(str), return_inverse=True)
        numbers.append(number.reshape(-1))
        sizes.append(len(distinct))
    order, starts, _ = group(row_numbers(numbers, sizes, len(rows.columns)))
    twice = np.flatnonzero(np.diff(starts) > 1)
    if len(twice):
        row = int(order[starts[twice] + 1].min())
        raise rows.columns.fault(
            row,
            "the cell occurs twice",
            "Remove one of the lines, or tabulate the data first.",
            rows.cell_name(row),
        )
