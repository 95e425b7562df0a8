"""The tidy folder: an instance that keeps its structure, in CSV files a person can read.

========================================  ====================================================================
``cells.csv``                             a column per dimension, ``value``, ``status``, and optionally
                                          ``weight, lb, ub, lpl, upl, spl, contributors``; an empty field
                                          has the default
``hier_<dimension>.csv``                  ``parent,child``: the tree that covers everything
``hier_<dimension>_<name>.csv``           further trees over the same dimension
``equations.csv``                         optional: further relations, see `cellveil.formats.equations`
``contributions.csv``                     optional: dimension columns of interior cells, ``contributor``,
                                          ``amount``, optionally ``holding``
``contents.csv``                          optional: what codes consist of: ``dimension``, the
                                          ``column`` of the records, ``code`` and a ``finest`` code of it
``largest_units.csv`` and others          what a problem knows of contributors, where it was written from
                                          one: see `cellveil.formats.contributor_files`; beside
                                          ``contributions.csv`` the largest ones do not count
========================================  ====================================================================

Names of dimensions that cannot stand in the name of a file are encoded, see `cellveil.formats.tree_files`. In
all files, texts that a spreadsheet would take for a formula begin with an apostrophe, see
`cellveil.files.guarded`.

A dimension without a tree must be tied by equations: its column stands in ``equations.csv``. The number of
decimals is that of the values as they are written (``4.00`` has two), more where another amount needs more.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError, nearest_name
from cellveil.files import atomic_path, guarded_fields
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.contributor_files import (
    CONTRIBUTOR_IDS,
    FILES,
    ORIGINS,
    contributor_files,
    is_own_column,
    read_largest,
    read_origins,
)
from cellveil.formats.csv_columns import DELIMITERS, csv_header
from cellveil.formats.equations import COLUMNS as EQUATION_COLUMNS
from cellveil.formats.equations import equation_rows, read_equations
from cellveil.formats.exact_numbers import written_decimals
from cellveil.formats.ready_made import (
    BOUNDS,
    FIELDS,
    LEVELS,
    build_problem,
    build_table,
    problem_to_arrow,
    with_contributors,
)
from cellveil.formats.rows import Rows, open_rows, read_pairs
from cellveil.formats.tree_files import owner_of, stem_of, tree_files
from cellveil.problem import Problem
from cellveil.tables.build import assemble
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table
from cellveil.tables.totals import contents_of_codes, is_interior

CELLS = "cells.csv"
EQUATIONS = "equations.csv"
CONTRIBUTIONS = "contributions.csv"
CONTENTS = "contents.csv"
RESERVED = ("value", *FIELDS, "contributors")
"""Columns of cells.csv that are not dimensions."""

_Csv = tuple[Sequence[str], Iterable[Sequence[Any]]]

DEPTH = 10
"""How many of the largest contributions to each cell are kept."""


def read_folder(path: Path | str) -> Problem:
    """Read a tidy folder."""
    path = Path(path)
    rows, equations = open_folder(path, "value", "status")
    columns = rows.columns
    named = {name: name for name in FIELDS if name in columns}
    amounts = {name: columns.amounts(name) for name in (*BOUNDS, *LEVELS) if name in columns}
    values = columns.amounts("value")
    rhs = [equations.amounts("rhs")] if equations is not None and "rhs" in equations else []
    decimals = max(column.decimals for column in (values, *amounts.values(), *rhs))
    table = build_table(
        rows,
        values,
        max(decimals, written_decimals(columns.column("value"))),
        allow_negative=True,
    )
    table = with_contributors(table, rows, "contributors" if "contributors" in columns else None)
    if equations is not None:
        table = _with_equations(table, equations)
    if (path / CONTRIBUTIONS).exists():
        table = _with_contributions(table, path / CONTRIBUTIONS)
    else:
        table = read_largest(table, path)
    table = table.replace(dimensions=_with_contents(table, path / CONTENTS))
    return read_origins(build_problem(rows, table, named, amounts), path)


def open_folder(path: Path, *needed: str) -> tuple[Rows, Columns | None]:
    """The rows of ``cells.csv``, which must have the needed columns, and the columns of ``equations.csv``."""
    if not (path / CELLS).is_file():
        raise InputError(
            f"the folder has no {CELLS}" if path.is_dir() else "the folder does not exist",
            file=path,
            remedy=f"Name a folder with {CELLS} and one hier_<dimension>.csv per dimension.",
        )
    columns = read_columns(path / CELLS)
    for name in needed:
        columns.column(name)
    equations = read_columns(path / EQUATIONS, allow_empty=True) if (path / EQUATIONS).exists() else None
    return open_rows(columns, _dimensions(path, columns, equations)), equations


def write_folder(problem: Problem, path: Path | str) -> None:
    """Write a tidy folder.

    Of contributions the largest of each cell are written, as a problem keeps no others. Where the hierarchies
    imply more than the table's relations (linked tables that are not crossed in full), the hierarchies are
    left out and every relation is written as an equation.
    """
    path = Path(path)
    check_dimension_names(problem.table.dimensions)
    dimensions = [_written_dimension(dimension) for dimension in problem.table.dimensions]
    extra = _relations_beyond(problem.table, dimensions)
    if extra is None:
        dimensions = [Dimension.unstructured(dimension.name, dimension.codes) for dimension in dimensions]
        extra = np.arange(len(problem.table.relations))
    frame = problem_to_arrow(problem)
    if path.is_file():
        raise InputError("a file where a folder is to be written", file=path, remedy="Choose another name.")
    parts: dict[str, _Csv] = {
        CELLS: (frame.column_names, zip(*(column.to_pylist() for column in frame.columns), strict=True))
    }
    files = tree_files(dimensions)
    for dimension in dimensions:
        for name, tree in zip(files[dimension.name], dimension.hierarchies, strict=True):
            parts[name] = ("parent", "child"), _edges(tree)
    if len(extra) or not all(dimension.hierarchies for dimension in dimensions):
        parts[EQUATIONS] = equation_rows(problem.table, extra)
    if any(dimension.column for dimension in problem.table.dimensions):
        parts[CONTENTS] = ("dimension", "column", "code", "finest"), _contents(problem.table, dimensions)
    parts |= contributor_files(problem)
    with ExitStack() as stack:  # all or nothing: the files are renamed when all are written
        for name, (header, rows) in parts.items():
            write_rows(stack.enter_context(atomic_path(path / name)), header, rows)
    others = (EQUATIONS, CONTRIBUTIONS, CONTENTS, *FILES.values(), CONTRIBUTOR_IDS, ORIGINS)
    for file in (*path.glob("hier_*.csv"), *(path / name for name in others)):
        if file.name not in parts:  # left over from an older instance
            file.unlink(missing_ok=True)


def check_dimension_names(dimensions: Sequence[Dimension]) -> None:
    """Raise where a dimension has a name with which it could not be read back from a folder."""
    names = [dimension.name for dimension in dimensions]
    for name in names:
        is_odd = name != name.strip() or any(category(character) in ("Cc", "Cs") for character in name)
        if not name or is_odd or name in (*RESERVED, *EQUATION_COLUMNS) or is_own_column(name):
            raise InputError(
                f"a dimension cannot be called {name!r} in a folder", remedy="Rename the dimension."
            )
    header = ",".join(names)
    if any(header.count(delimiter) > len(names) for delimiter in DELIMITERS[1:]):
        raise InputError(
            "the names of the dimensions have too many characters that part columns",
            remedy=f"Leave out {' '.join(DELIMITERS[1:].split())} in the names of dimensions.",
        )
    tree_files(dimensions)


def write_rows(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file; no text in it is taken for a formula by a spreadsheet."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(guarded_fields(header))
        writer.writerows(map(guarded_fields, rows))


def write_cells(table: Table, name: str, texts: Sequence[str], path: Path | str) -> None:
    """Write a file with a line per cell: its codes, and one further column."""
    columns = [*(table.codes(axis) for axis in range(len(table.dimensions))), texts]
    with atomic_path(Path(path)) as temporary:
        write_rows(temporary, [*(d.name for d in table.dimensions), name], zip(*columns, strict=True))


# -- reading -------------------------------------------------------------------------------------------------


def _dimensions(path: Path, columns: Columns, equations: Columns | None) -> dict[str, Dimension]:
    """The dimensions of the columns that are none of the reserved ones."""
    names = [name for name in columns.names if name not in RESERVED]
    if not names:
        raise InputError(
            "there is no column for a dimension",
            file=columns.file,
            line=1,
            remedy="Give the codes of each cell.",
        )
    trees = _trees(path, names)
    return {
        name: Dimension.of(name, *trees[name])
        if trees[name]
        else _tied_dimension(path, name, columns, equations)
        for name in names
    }


def _trees(path: Path, names: Sequence[str]) -> dict[str, list[Hierarchy]]:
    """The hierarchies of each dimension, that of the plain file name first."""
    files: dict[str, list[Path]] = {name: [] for name in names}
    for file in sorted(path.glob("hier_*.csv"), key=lambda file: (len(file.name), file.name)):
        owner = owner_of(file.name, names)
        if owner is None:
            raise InputError(
                f"the hierarchy belongs to none of the dimensions {', '.join(names)}",
                file=file,
                remedy=f"Rename or remove the file. {nearest_name(stem_of(file.name), names)}",
            )
        files[owner].append(file)
    return {name: [read_pairs(file) for file in found] for name, found in files.items()}


def _tied_dimension(path: Path, name: str, columns: Columns, equations: Columns | None) -> Dimension:
    if equations is None or name not in equations:
        raise InputError(
            f"there is no hierarchy for the column {name!r}",
            file=path / f"hier_{name}.csv",
            remedy="Write the file with the columns parent,child, or tie the codes in equations.csv.",
        )
    return Dimension.unstructured(name, dict.fromkeys(columns.codes(name).tolist()))


def _with_equations(table: Table, equations: Columns) -> Table:
    """Add the relations of equations.csv that are not there yet, and check that they hold."""
    further, line_of = read_equations(table, equations)
    fresh = further.rows_beyond(table.relations.keys())
    added = further.take_rows(fresh)
    try:
        table.replace(relations=added).check_additive(file=equations.file)
    except InputError as error:
        first = next(iter(added.residuals(table.values)))
        raise error.located(line=line_of(int(fresh[first]))) from None
    return table.replace(relations=Relations.stack([table.relations, added]))


def _with_contents(table: Table, path: Path) -> tuple[Dimension, ...]:
    """The dimensions with what their codes consist of, as the file or else the equations say."""
    columns: dict[str, str] = {}
    contents: dict[str, dict[str, list[str]]] = {}
    if path.exists():
        given = read_columns(path)
        names = [given.codes(name).tolist() for name in ("dimension", "column", "code", "finest")]
        for name, column, code, finest in zip(*names, strict=True):
            columns[name] = column
            contents.setdefault(name, {}).setdefault(code, []).append(finest)
    found = []
    for axis, dimension in enumerate(table.dimensions):
        said = {code: tuple(finest) for code, finest in contents.get(dimension.name, {}).items()}
        if not dimension.hierarchies and not said:
            sums = contents_of_codes(table.keys, axis, table.relations)
            said = {
                dimension.codes[code]: tuple(dimension.codes[part] for part in sorted(parts))
                for code, parts in sums.items()
            }
        found.append(replace(dimension, column=columns.get(dimension.name, ""), contents=said))
    return tuple(found)


def _with_contributions(table: Table, path: Path) -> Table:
    from cellveil.microdata.tabulate import contributions_of

    try:
        units, holdings = contributions_of(
            table,
            path,
            contributor="contributor",
            amount="amount",
            holding="holding" if "holding" in csv_header(path) else None,
            depth=DEPTH,
            allow_negative=True,
        )
    except InputError as error:
        raise error.located(file=path) from None
    table = table.replace(units=units, holdings=holdings)
    _check_contributions(table, path)
    return table if table.contributors is not None else table.replace(contributors=units.count)


def _check_contributions(table: Table, path: Path) -> None:
    """Contributions must sum to the value of their interior cell, up to a unit of its last digit."""
    units = table.units
    assert units is not None
    unit = 10 ** (units.decimals - table.decimals)
    interior = is_interior(table.dimensions, table.keys)
    off = (
        interior & (units.count > 0) & (np.abs(units.total - table.values * unit) > (unit if unit > 1 else 0))
    )
    if off.any():
        cell = int(np.flatnonzero(off)[0])
        raise InputError(
            f"the contributions do not add up to the value ({int(off.sum())} such cells)",
            file=path,
            cell=table.cell_name(cell),
            remedy="Give all contributions to the cell, or none.",
        )


# -- writing -------------------------------------------------------------------------------------------------


def _written_dimension(dimension: Dimension) -> Dimension:
    """The dimension as it will be read back."""
    if dimension.hierarchies:
        return Dimension.of(dimension.name, *dimension.hierarchies)
    return Dimension.unstructured(dimension.name, dimension.codes)


def _contents(table: Table, written: Sequence[Dimension]) -> Iterator[tuple[str, str, str, str]]:
    """The finest codes of the records in each code that no hierarchy of the folder gives as a sum."""
    for dimension, as_written in zip(table.dimensions, written, strict=True):
        for number, (code, finest) in enumerate(zip(dimension.codes, dimension.finest, strict=True)):
            if dimension.column and not as_written.is_parent[number]:
                yield from ((dimension.name, dimension.column, code, name) for name in finest)


def _relations_beyond(table: Table, dimensions: Sequence[Dimension]) -> Int | None:
    """Numbers of the relations that the hierarchies do not give; None when they give more than there are."""
    try:
        implied = assemble(dimensions, table.keys, table.values, table.decimals, incomplete="error").relations
    except InputError:  # not what a reader of the folder would accept
        return None
    known, own = set(implied.keys()), table.relations.keys()
    if known - set(own):
        return None
    return np.array([row for row, key in enumerate(own) if key not in known], dtype=np.int64)


def _edges(tree: Hierarchy) -> Iterator[tuple[str, str]]:
    """Parent and child of each edge, in the order in which the tree was built."""
    edges = [(parent, child) for parent, below in tree.children.items() for child in below]
    return iter(edges or [(tree.root, "")])
