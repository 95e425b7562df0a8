"""Cells as a person types them: ``nace=A,region=North``, or the codes alone in order, ``A,North``.

A code may be quoted where it holds a comma or an equals sign. A dimension that is left out stands for its
total. In place of a code its label will do. A wrong code is answered with near ones.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np

from cellveil.errors import InputError, nearest_name
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import Table

NEAR = 4
"""How many near codes are named."""


def typed_cell(table: Table, text: str, labels: Mapping[str, Mapping[str, str]] | None = None) -> int:
    """The number of the cell that was typed.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> table = two_way([[20, 50], [8, 19]]).table
    >>> typed_cell(table, "r0,c1") == typed_cell(table, "column=c1, row=r0") == table.cell("r0", "c1")
    True
    >>> typed_cell(table, "r0,c7")
    Traceback (most recent call last):
    cellveil.errors.InputError: dimension 'column' has no code 'c7'. Near ones: c1, c0.
    """
    labels, names = labels or {}, [dimension.name for dimension in table.dimensions]
    wanted: dict[str, str] = {}
    for place, part in enumerate(_parts(text)):
        name, code = _split(part, names)
        if name is None:
            if place >= len(names):
                raise InputError(
                    f"{text!r} has more codes than the table has dimensions",
                    remedy=f"The dimensions are: {', '.join(names)}.",
                )
            name = names[place]
        if name not in names:
            raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(name, names))
        dimension = table.dimensions[names.index(name)]
        wanted[name] = _code(dimension, code, labels.get(name, {}))
    return table.cell(**(_totals(table) | wanted))


def _totals(table: Table) -> dict[str, str]:
    """The code that covers everything, of dimensions without trees: that of the only cell in no sum."""
    is_part = np.zeros(table.num_cells, dtype=bool)
    is_part[table.relations.cells[table.relations.coefs > 0]] = True
    top = np.flatnonzero(~is_part)
    if len(top) != 1:
        return {}
    named = zip(table.dimensions, table.key(int(top[0])), strict=True)
    return {dimension.name: code for dimension, code in named if dimension.total < 0}


def _parts(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("(") and text.endswith(")"):  # as messages name cells
        text = text[1:-1]
    parts = next(csv.reader([text], skipinitialspace=True), [])
    return [part.strip() for part in parts if part.strip()]


def _split(part: str, names: list[str]) -> tuple[str | None, str]:
    """Name and code; no name where the text is not of that form. Names may hold equals signs themselves."""
    for name in sorted(names, key=len, reverse=True):
        rest = part.removeprefix(name).lstrip()
        if part.startswith(name) and rest.startswith("="):
            return name, rest[1:].strip().strip('"')
    typed, equals, code = part.partition("=")
    return (typed.strip(), code.strip().strip('"')) if equals else (None, part)


def _code(dimension: Dimension, text: str, labels: Mapping[str, str]) -> str:
    """The code that is meant: itself, by letters of another case, or by its label."""
    if text in dimension.index:
        return text
    same = [code for code in dimension.index if code.casefold() == text.casefold()]
    same += [code for code, label in labels.items() if label.casefold() == text.casefold()]
    if len(set(same)) == 1 and same[0] in dimension.index:
        return same[0]
    known = list(dimension.index)
    near = get_close_matches(text, known, n=NEAR, cutoff=0.5)
    near += [code for code in known if text and code.startswith(text[0]) and code not in near]
    near += [
        code for code, label in labels.items() if text.casefold() in label.casefold() and code not in near
    ]
    told = [f"{code} ({labels[code]})" if labels.get(code) else code for code in (near or known)[:NEAR]]
    raise InputError(
        f"dimension {dimension.name!r} has no code {text!r}",
        remedy=f"{'Near ones' if near else 'It has'}: {', '.join(told)}.",
    )
