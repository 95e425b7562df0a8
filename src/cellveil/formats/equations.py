"""The file equations.csv of a folder: relations that no hierarchy gives.

Columns: ``equation`` (a name), any of the dimensions, ``coefficient`` (a whole number), optionally ``rhs``.
The lines of one name form a relation, Σ coefficient · value = rhs. A dimension whose column is missing or
whose field is empty is free: the relation holds for every code of it, for all terms jointly. Cells that are
not in the table are empty and count as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.formats.columns import Columns
from cellveil.formats.exact_numbers import texts_of
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table

COLUMNS = ("equation", "coefficient", "rhs")
"""Columns that are not dimensions."""

FREE = -1
"""Stands for every code."""

LARGEST_ROW = 2**31
"""The absolute coefficients of a relation must not sum to more, so that checks in 64 bits are exact."""


def read_equations(table: Table, columns: Columns) -> tuple[Relations, Callable[[int], int]]:
    """The relations of the file over the cells of the table, and the line of each.

    Raises
    ------
    InputError
        For an unknown code, a term that occurs twice, terms that leave different dimensions free, a
        coefficient that is not whole, or two right-hand sides in one equation.
    """
    _check_columns(table, columns)
    if not len(columns):
        return Relations.empty(table.num_cells), columns.line_of
    equation, first_row = _numbered(columns.codes("equation"))
    keys = [_code_numbers(table, axis, columns) for axis in range(len(table.dimensions))]
    coefs = _coefficients(columns)
    rhs = _right_sides(columns, equation, len(first_row), table.decimals)
    free = np.array([column == FREE for column in keys]).T
    _check_terms(columns, equation, first_row, keys, free, table.sizes)

    parts = [
        _instances(table, terms, pattern, equation, keys) for pattern, terms in _by_free_dimensions(free)
    ]
    number, relation, term, cell = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort((term, relation, number))
    number, relation, term, cell = number[order], relation[order], term[order], cell[order]
    begins = np.concatenate([[True], (np.diff(number) != 0) | (np.diff(relation) != 0)])[: len(cell)]
    starts = np.flatnonzero(begins)
    relations = Relations(
        table.num_cells,
        np.append(starts, len(cell)).astype(np.int64),
        cell.astype(np.int32),
        coefs[term],
        rhs[number[starts]],
    )

    def line_of(row: int) -> int:
        return columns.line_of(int(first_row[number[starts[row]]]))

    _check_size(relations, columns.file, line_of)
    return relations, line_of


def equation_rows(table: Table, relations: Int) -> tuple[list[str], Iterator[tuple[str, ...]]]:
    """Header and rows of the file for some relations of the table, with every code given."""
    taken = table.relations.take_rows(relations)
    header = ["equation", *(dimension.name for dimension in table.dimensions), "coefficient"]
    columns: list[Any] = [
        (taken.row_of_entry + 1).astype(str).tolist(),
        *(
            [dimension.codes[code] for code in column[taken.cells].tolist()]
            for dimension, column in zip(table.dimensions, table.keys, strict=True)
        ),
        taken.coefs.astype(str).tolist(),
    ]
    if taken.rhs.any():
        header.append("rhs")
        columns.append(texts_of(taken.rhs[taken.row_of_entry], table.decimals).to_pylist())
    return header, zip(*columns, strict=True)


def _check_columns(table: Table, columns: Columns) -> None:
    known = [*COLUMNS, *(dimension.name for dimension in table.dimensions)]
    for position, name in enumerate(columns.names, 1):
        if name not in known:
            raise InputError(
                f"column {position} has an unknown name",
                file=columns.file,
                line=1,
                remedy=f"Known: {', '.join(known)}.",
            )


def _numbered(names: NDArray[np.object_]) -> tuple[Int, Int]:
    """Number of each row's equation in order of appearance, and the first row of each."""
    _, first, inverse = np.unique(names.astype(str), return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse.reshape(-1)], np.sort(first)


def _code_numbers(table: Table, axis: int, columns: Columns) -> Int:
    """Code numbers in one dimension, `FREE` where none is given."""
    import pyarrow as pa

    dimension = table.dimensions[axis]
    if dimension.name not in columns:
        return np.full(len(columns), FREE, dtype=np.int64)
    text = columns.column(dimension.name).cast(pa.string()).fill_null("").dictionary_encode()
    unknown = len(dimension)
    distinct = [
        FREE if code == "" else dimension.index.get(code, unknown) for code in text.dictionary.to_pylist()
    ]
    numbers: Int = np.array(distinct, dtype=np.int64)[text.indices.to_numpy()]
    wrong = np.flatnonzero(numbers == unknown)
    if len(wrong):
        raise columns.fault(
            int(wrong[0]),
            f"unknown code in dimension {dimension.name!r}",
            f"Use a code of {dimension.name}.",
        )
    return numbers


def _coefficients(columns: Columns) -> Int:
    coefs, faults = columns.amounts("coefficient").at(0)
    columns.check_numbers("coefficient", faults)
    wrong = np.flatnonzero((coefs == 0) | (np.abs(coefs) > LARGEST_ROW))
    if len(wrong):
        raise columns.fault(
            int(wrong[0]), "the coefficient is 0 or too large", "Use a whole number such as 1 or -1."
        )
    return coefs


def _check_size(relations: Relations, file: str, line_of: Callable[[int], int]) -> None:
    if not len(relations):
        return
    large = np.flatnonzero(np.add.reduceat(np.abs(relations.coefs), relations.indptr[:-1]) > LARGEST_ROW)
    if len(large):
        raise InputError(
            "the coefficients of the equation are too large",
            file=file,
            line=line_of(int(large[0])),
            remedy="Divide the equation by a common factor.",
        )


def _right_sides(columns: Columns, equation: Int, count: int, decimals: int) -> Int:
    """The right-hand side of each equation, 0 where none is given."""
    rhs = np.zeros(count, dtype=np.int64)
    if "rhs" not in columns:
        return rhs
    amounts = columns.amounts("rhs")
    given, faults = amounts.at(decimals, default=np.zeros(len(columns), dtype=np.int64))
    columns.check_numbers("rhs", faults)
    filled = np.flatnonzero(~amounts.missing)
    rhs[equation[filled]] = given[filled]
    differs = filled[rhs[equation[filled]] != given[filled]]
    if len(differs):
        raise columns.fault(
            int(differs[0]), "the equation has two right-hand sides", "Give it once, or alike in each line."
        )
    return rhs


def _check_terms(
    columns: Columns,
    equation: Int,
    first_row: Int,
    keys: Sequence[Int],
    free: Bool,
    sizes: Sequence[int],
) -> None:
    uneven = np.flatnonzero((free != free[first_row[equation]]).any(axis=1))
    if len(uneven):
        raise columns.fault(
            int(uneven[0]),
            "the terms of the equation leave different dimensions free",
            "Give a code in the same columns for all terms.",
        )
    idle = np.flatnonzero(free.all(axis=1))
    if len(idle):
        raise columns.fault(int(idle[0]), "the term gives no code", "Give a code in at least one dimension.")
    shifted = [equation, *(column + 1 for column in keys)]
    order, starts, _ = group(
        row_numbers(shifted, [len(first_row), *(size + 1 for size in sizes)], len(equation))
    )
    twice = np.flatnonzero(np.diff(starts) > 1)
    if len(twice):
        row = int(order[starts[twice] + 1].min())
        raise columns.fault(row, "the term occurs twice in its equation", "Join the two into one.")


def _by_free_dimensions(free: Bool) -> Iterator[tuple[Bool, Int]]:
    """Rows by which dimensions they leave free."""
    patterns, which = np.unique(free, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield pattern, np.flatnonzero(which.reshape(-1) == number)


def _instances(
    table: Table, terms: Int, pattern: Bool, equation: Int, keys: Sequence[Int]
) -> tuple[Int, Int, Int, Int]:
    """Entries (equation, combination of the free codes, term, cell) of terms that leave the same free."""
    fixed, free = np.flatnonzero(~pattern).tolist(), np.flatnonzero(pattern).tolist()
    sizes = [table.sizes[axis] for axis in fixed]
    both = [np.concatenate([table.keys[axis], keys[axis][terms]]) for axis in fixed]
    numbers = row_numbers(both, sizes, table.num_cells + len(terms))
    of_cell, of_term = numbers[: table.num_cells], numbers[table.num_cells :]
    order = np.argsort(of_term, kind="stable")
    first = np.searchsorted(of_term[order], of_cell, side="left")
    repeats = np.searchsorted(of_term[order], of_cell, side="right") - first
    cell = np.repeat(np.arange(table.num_cells), repeats)
    offset = np.arange(len(cell)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    term = terms[order[first[cell] + offset]]
    combination = row_numbers(
        [table.keys[axis] for axis in free], [table.sizes[axis] for axis in free], table.num_cells
    )
    return equation[term], combination[cell], term, cell
