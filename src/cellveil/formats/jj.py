"""JJ files: the instance format of cell suppression and table adjustment.

Blanks separate the tokens; colons and parentheses may stand anywhere between them::

    0
    n
    id value weight status lb ub lpl upl spl        (n lines; status s, u, m or z)
    m
    rhs k : id (coefficient) id (coefficient) …     (m lines of k terms; Σ coefficient · value = rhs)

A bound of 1e20 or more in size means that nothing is known. The file carries no structure: its cells
become the codes of one dimension, `cell`.

A file with one cell per line, ids 0, 1, 2, … and whole coefficients is read column by column; anything else
goes through a parser that looks at one token at a time, reads the whole grammar, and finds what is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.files import atomic_path, read_text
from cellveil.formats.exact_numbers import (
    FAULTS,
    Amounts,
    amounts_of,
    float_texts,
    floats_of,
    texts_of,
)
from cellveil.formats.jj_tokens import AMOUNTS, FIELDS, LARGEST_ROW, JJContent, TokenReader
from cellveil.problem import Problem, Status
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table

_NO_BOUND_TEXT = "1e20"
_LINES_AT_ONCE = 100_000


def read_jj(path: Path | str) -> Problem:
    """Read a JJ file.

    Raises
    ------
    InputError
        Names the line and the cell where the file breaks the grammar, does not add up, or contradicts itself.
    """
    path = Path(path)
    text = read_text(path)
    content = _read_columns(text) or TokenReader(text, path).read()
    return _judge(content, path)


def write_jj(problem: Problem, path: Path | str) -> None:
    """Write a JJ file. Cells of a table with dimensions are numbered 0, 1, 2, …"""
    with atomic_path(Path(path)) as temporary, temporary.open("wb") as file:
        for line in ("0", str(problem.table.num_cells)):
            file.write(f"{line}\n".encode())
        _write_lines(file, _cell_lines(problem))
        file.write(f"{len(problem.table.relations)}\n".encode())
        _write_lines(file, _relation_lines(problem))


# -- from content to problem ---------------------------------------------------------------------------------


def _judge(content: JJContent, path: Path) -> Problem:
    """Scale everything alike, check it, and make the problem."""
    decimals = max([content.rhs.decimals, *(column.decimals for column in content.amounts.values())])
    scaled: dict[str, Any] = {name: _scaled(content, name, decimals, path) for name in AMOUNTS}
    if content.weight_faults:
        row = min(content.weight_faults)
        raise _cell_fault(content, path, row, "weight", content.weight_faults[row])
    rhs, faults = content.rhs.at(decimals)
    if faults:
        row = min(faults)
        raise InputError(
            f"the right-hand side {faults[row]}",
            file=path,
            line=content.relation_line(row),
            remedy=FAULTS[faults[row]],
        )
    n = len(content.ids)
    relations = Relations(n, content.indptr, content.cells, content.coefs, rhs)
    table = Table(
        (Dimension.unstructured(CELL, content.ids),),
        (np.arange(n, dtype=np.int32),),
        scaled.pop("value"),
        decimals,
        relations,
    )
    _check_additive(table, content, path)
    try:
        return Problem(table, status=content.status, weight=content.weight, **scaled)
    except InputError as error:
        line = content.cell_line(content.ids.index(error.cell)) if error.cell in content.ids else None
        raise error.located(file=path, line=line) from None


def _scaled(content: JJContent, name: str, decimals: int, path: Path) -> Int:
    scaled, faults = content.amounts[name].at(decimals, bound=name in ("lb", "ub"))
    if faults:
        row = min(faults)
        raise _cell_fault(content, path, row, name, faults[row])
    return scaled


def _cell_fault(content: JJContent, path: Path, row: int, name: str, fault: str) -> InputError:
    return InputError(
        f"the {name} {fault}",
        file=path,
        line=content.cell_line(row),
        cell=content.ids[row],
        remedy=FAULTS[fault],
    )


def _check_additive(table: Table, content: JJContent, path: Path) -> None:
    try:
        table.check_additive(file=path)
    except InputError as error:
        row = next(iter(table.relations.residuals(table.values)))
        raise error.located(line=content.relation_line(row)) from None


# -- the usual layout, column by column ----------------------------------------------------------------------


def _read_columns(text: str) -> JJContent | None:
    """Read a regular file fast; None when anything about it is unusual."""
    head = text[:64].split("\n", 2)
    if len(head) < 3 or head[0].strip() != "0" or not head[1].strip().isdecimal() or not int(head[1]):
        return None
    n = int(head[1])
    data = text.encode()
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    if len(ends) < n + 3:
        return None
    fields = _cell_fields(data[ends[1] + 1 : ends[n + 1] + 1], n)
    numbers = _relation_numbers(data[ends[n + 1] + 1 :])
    if fields is None or numbers is None:
        return None
    status = _status_of(fields["status"])
    rows = _split_rows(numbers, n)
    if status is None or rows is None:
        return None
    weight, weight_faults = floats_of(fields["weight"])
    indptr, cells, coefs, rhs = rows
    return JJContent(
        fields["id"].to_pylist(),
        {name: amounts_of(fields[name]) for name in AMOUNTS},
        weight,
        weight_faults,
        status,
        indptr,
        cells,
        coefs,
        _whole_amounts(rhs),
        lambda row: row + 3,
        lambda row: n + row + 4,
    )


def _cell_fields(lines: bytes, n: int) -> dict[str, Any] | None:
    """The nine columns of the cell lines as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        table = _parse_columns(lines, FIELDS, pa.string())
    except pa.ArrowInvalid:
        try:
            tidy = b"\n".join(b" ".join(line.split()) for line in lines.splitlines())
            table = _parse_columns(tidy, FIELDS, pa.string())
        except pa.ArrowInvalid:
            return None
    if table.num_rows != n:
        return None
    fields = {name: table.column(name).combine_chunks() for name in FIELDS}
    regular = pc.equal(fields["id"], pa.array(np.arange(n)).cast(pa.string()))
    return fields if pc.all(regular).as_py() else None


def _relation_numbers(lines: bytes) -> Int | None:
    """All numbers behind the cells in one run."""
    import pyarrow as pa

    if b"x" in lines or b"X" in lines:  # Arrow would take 0x10 for a number
        return None
    try:
        spread = lines.translate(bytes.maketrans(b" \t():\r", b"\n" * 6))
        column = _parse_columns(spread, ("number",), pa.int64()).column("number")
    except pa.ArrowInvalid:
        return None
    return None if column.null_count else np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))


def _parse_columns(data: bytes, names: tuple[str, ...], kind: Any) -> Any:
    import pyarrow as pa
    import pyarrow.csv as arrow_csv

    return arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(column_names=list(names), block_size=1 << 23),
        parse_options=arrow_csv.ParseOptions(delimiter=" ", quote_char=False),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, kind), strings_can_be_null=False, null_values=[]
        ),
    )


def _status_of(column: Any) -> NDArray[np.int8] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    number = pc.index_in(column, pa.array([status.letter for status in Status]))
    return None if number.null_count else np.asarray(number.to_numpy(), dtype=np.int8)


def _split_rows(numbers: Int, n: int) -> tuple[Int, NDArray[np.int32], Int, Int] | None:
    """Cut the run of numbers into relations; None unless it is regular to the last number."""
    if not len(numbers) or numbers[0] < 0:
        return None
    starts = np.zeros(int(min(numbers[0], len(numbers))) + 1, dtype=np.int64)
    place = 1
    for row in range(len(starts) - 1):
        starts[row] = place
        if place + 1 >= len(numbers) or numbers[place + 1] < 1:
            return None
        place += 2 + 2 * int(numbers[place + 1])
    if place != len(numbers) or len(starts) != numbers[0] + 1:
        return None
    rhs, lengths = numbers[starts[:-1]], numbers[starts[:-1] + 1]
    is_head = np.zeros(len(numbers), dtype=bool)
    is_head[0] = is_head[starts[:-1]] = is_head[starts[:-1] + 1] = True
    cells, coefs = numbers[~is_head].reshape(-1, 2).T
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    if not _rows_are_regular(indptr, cells, coefs, n):
        return None
    return indptr, cells.astype(np.int32), np.ascontiguousarray(coefs), rhs


def _rows_are_regular(indptr: Int, cells: Int, coefs: Int, n: int) -> bool:
    """Known cells, none twice in a relation, coefficients of a usual size."""
    if not len(cells):
        return True
    if cells.min() < 0 or cells.max() >= n or (coefs == 0).any() or np.abs(coefs).max() > LARGEST_ROW:
        return False
    if np.add.reduceat(np.abs(coefs), indptr[:-1]).max() > LARGEST_ROW:
        return False
    entry = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)) * np.int64(n) + cells
    steps = np.diff(entry)
    return bool((steps > 0).all() or (np.diff(np.sort(entry)) > 0).all())


def _whole_amounts(numbers: Int) -> Amounts:
    import pyarrow as pa

    return amounts_of(pa.array(numbers))


# -- writing -------------------------------------------------------------------------------------------------


def _cell_lines(problem: Problem) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    table = problem.table
    ids = _ids(table)
    numbers = {
        name: texts_of(column, table.decimals, infinite=_NO_BOUND_TEXT)
        for name, column in (
            ("value", table.values),
            *((name, getattr(problem, name)) for name in AMOUNTS if name != "value"),
        )
    }
    letters = pa.array([status.letter for status in Status]).take(pa.array(problem.status))
    columns = numbers | {"id": ids, "weight": float_texts(problem.weight), "status": letters}
    return pc.binary_join_element_wise(*(columns[name] for name in FIELDS), " ")


def _relation_lines(problem: Problem) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    relations = problem.table.relations
    ids = _ids(problem.table).take(pa.array(relations.cells))
    terms = pc.binary_join_element_wise(ids, " (", pa.array(relations.coefs).cast(pa.string()), ")", "")
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(relations.indptr.astype(np.int32)), terms), " ")
    counts = pa.array(np.diff(relations.indptr)).cast(pa.string())
    return pc.binary_join_element_wise(
        texts_of(relations.rhs, problem.table.decimals), counts, ":", joined, " "
    )


def _ids(table: Table) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.is_structured:
        return pa.array(np.arange(table.num_cells)).cast(pa.string())
    ids = pa.array(table.codes(0), pa.string())
    unfit = pc.match_substring_regex(ids, r"[\s():]")
    if pc.any(unfit).as_py():
        raise InputError(
            "a JJ file cannot hold an id with blanks, colons or parentheses",
            cell=ids[pc.index(unfit, True).as_py()].as_py(),
            remedy="Write a folder instead.",
        )
    return ids


def _write_lines(file: Any, lines: Any) -> None:
    for start in range(0, len(lines), _LINES_AT_ONCE):
        file.write(("\n".join(lines.slice(start, _LINES_AT_ONCE).to_pylist()) + "\n").encode())
