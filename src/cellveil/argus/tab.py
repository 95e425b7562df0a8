"""Cells of ready-made tables (.tab), line by line: fields cut, codes found in their hierarchies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from cellveil.argus.code_trees import CodeTree
from cellveil.argus.hrc import read_hrc
from cellveil.argus.lexer import fields_of
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole, find_file
from cellveil.argus.source_text import SourceText, read_source
from cellveil.argus.tabular_file import EMPTY_MARKS, NUMERIC, TabularFile
from cellveil.arrays import Bool
from cellveil.errors import InputError, name_some
from cellveil.formats.columns import Columns


def read_tab(path: Path | str, metadata: Metadata, *, encoding: str | None = None) -> TabularFile:
    """Read the cells of a table.

    Raises
    ------
    InputError
        Names the line where fields are missing or a code is unknown.
    """
    if metadata.kind is not DataKind.TABLE:
        raise InputError(
            "the metadata describe records, not a table", file=path, remedy="Read it as microdata."
        )
    import pyarrow as pa

    source = read_source(path, encoding)
    lines, rows = _fields_of_lines(source, metadata)
    texts = dict(zip((v.name for v in metadata.variables), zip(*rows, strict=True), strict=True))
    trees, columns = {}, {}
    for variable in metadata.variables:
        column = list(texts[variable.name])
        if variable.is_(VariableRole.SPANNING):
            tree = trees[variable.name] = _tree_of(variable, column, source)
            column = _names_of(variable, tree, column, source, lines.__getitem__)
        elif variable.roles.intersection(NUMERIC):
            column = ["" if text == "-" else text.replace(",", ".") for text in column]
        columns[variable.name] = pa.array(column, pa.string())
    found = Columns(pa.table(columns), source.file, lines.__getitem__)
    return TabularFile(metadata, found, trees, _empty_rows(metadata, found), source)


def _fields_of_lines(source: SourceText, metadata: Metadata) -> tuple[list[int], list[list[str]]]:
    separator, width = metadata.separator or ";", len(metadata.variables)
    lines, rows = [], []
    for number, line in source.numbered():
        try:
            fields = fields_of(line, separator)
        except InputError as error:
            raise error.located(file=source.file, line=number) from None
        if len(fields) == width + 1 and fields[-1] == "":  # a separator at the end
            fields.pop()
        if len(fields) != width:
            raise source.fault(
                number,
                f"the line has {len(fields)} fields, the metadata {width} variables",
                f"Fields are separated by {separator!r}; check <SEPARATOR> and a decimal comma.",
            )
        lines.append(number)
        rows.append(fields)
    if not rows:
        raise source.fault(None, "the file has no cells", "Write a line for each cell.")
    return lines, rows


def _tree_of(variable: ArgusVariable, codes: list[str], source: SourceText) -> CodeTree:
    """The codes of a variable, from its hierarchy or from the table."""
    total, missing = variable.total_code, variable.missing
    if variable.hierarchy_file is not None:
        path = find_file(variable.hierarchy_file, Path(source.file).parent)
        tree = read_hrc(path, lead=variable.lead, total=total)
        further = tuple(code for code in missing if not tree.places(code))
        return tree if not further else read_hrc(path, lead=variable.lead, total=total, missing=further)
    seen = {code.strip(): code for code in reversed(codes) if code.strip() not in ("", total.strip())}
    if variable.levels:
        return CodeTree.of_digits(_longest(seen), variable.levels, total, missing)
    first = dict.fromkeys(code.strip() for code in codes)
    return CodeTree.flat((seen[code] for code in first if code in seen), total, missing)


def _longest(codes: Mapping[str, str]) -> list[str]:
    """Codes that are no beginning of another one: the leaves, where tables give their totals too."""
    ordered = sorted(codes)
    return [
        code
        for place, code in enumerate(ordered)
        if place + 1 == len(ordered) or not ordered[place + 1].startswith(code)
    ]


def _names_of(
    variable: ArgusVariable,
    tree: CodeTree,
    codes: list[str],
    source: SourceText,
    line_of: Callable[[int], int],
) -> list[str]:
    """The codes under the names they have in the tree."""
    names = {"": tree.hierarchy.root}
    for row, code in enumerate(codes):
        text = code.strip()
        if text in names:
            continue
        places = (tree.hierarchy.root,) if text == tree.hierarchy.root.strip() else tree.places(text)
        if len(places) != 1:
            what = f"stands in several branches: {name_some(places)}" if places else "is unknown"
            raise source.fault(
                line_of(row),
                f"the code of {variable.name!r} {what}",
                "Write its path." if places else "Add it to the hierarchy, or correct it.",
            )
        names[text] = places[0]
    return [names[code.strip()] for code in codes]


def _empty_rows(metadata: Metadata, columns: Columns) -> Bool:
    """Rows of empty cells: their status says so, or value and number of contributors are 0 or absent."""
    empty = np.ones(len(columns), dtype=bool)
    values = [v.name for v in metadata.having(VariableRole.RESPONSE)]
    for name in [*values, *(v.name for v in metadata.having(VariableRole.FREQUENCY))]:
        amounts = columns.amounts(name)
        empty &= amounts.missing | ((amounts.scaled == 0) & (amounts.unbounded == 0))
        if amounts.faults:
            empty[list(amounts.faults)] = False
    if metadata.only(VariableRole.FREQUENCY) is None:  # a value of 0 may have contributors
        empty &= np.logical_and.reduce([columns.amounts(name).missing for name in values])
    status = metadata.only(VariableRole.STATUS)
    if status is not None:
        texts = columns.column(status.name).to_pylist()
        empty |= np.array([str(text).strip().upper() in EMPTY_MARKS for text in texts], dtype=bool)
    return empty
