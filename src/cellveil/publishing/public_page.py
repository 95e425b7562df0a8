"""The public tables as one self-contained HTML page: a section each, with slices, folding and download."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from cellveil.arrays import Int
from cellveil.publishing.layout import NO_CELL, Block, CrossTable
from cellveil.publishing.page_templates import environment
from cellveil.publishing.public_notes import quality, reading
from cellveil.publishing.publication import Lines, Publication

MAX_PLACES = 250_000
"""Pages show at most about this many cells; the lowest levels of larger tables are left to the data files."""

OPEN_ROWS = 60
"""Tables with more rows start with their lower levels folded."""

OPEN_COLUMNS = 12
"""Tables with more columns start with the lower levels of these folded."""

HIDDEN = 0
"""Stands for a hidden cell among the texts of a slice; None for a place without a cell."""


def page_of(publication: Publication, files: Sequence[str] = ()) -> str:
    """The page for outsiders: the tables, how to read them, and their quality.

    It holds what the publication holds: no hidden value, nothing of rules, levels or methods, and no
    difference between primary and secondary cells.
    """
    from markupsafe import Markup

    words, tables, templates = publication.words, publication.tables, environment()
    script = templates.get_template("public.js").render()
    return templates.get_template("public.html").render(
        t=words,
        many=len(tables),
        publication=publication,
        imprint=publication.imprint,
        sections=[_section(table, number, len(tables)) for number, table in enumerate(tables, 1)],
        reading=list(reading(publication)),
        quality=list(quality(publication)),
        files=files,
        script=Markup(script),
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
    )


def _section(table: Publication, number: int, among: int) -> dict[str, Any]:
    """What the template needs of a table: its heading, what it is about, and its cross-table."""
    cross = CrossTable.of(table, MAX_PLACES // among)
    blocks = list(cross.blocks())
    first = blocks[0] if blocks else Block((), cross.shown[cross.down][:0, None])
    slices = {_slice_id(block): _texts(table, block) for block in blocks}
    columns, rows = _columns(cross), _rows(cross, first)
    return {
        "id": f"table-{number}",
        "heading": table.name,
        "about": table.subject,
        "unit": table.unit,
        "down": table.dimensions[cross.down].name,
        "across": table.dimensions[cross.across].name if cross.across >= 0 else "",
        "labelled": table.has_labels[cross.down],
        "columns_labelled": cross.across >= 0 and table.has_labels[cross.across],
        "columns": columns,
        "rows": rows,
        "widths": _widths(columns, slices.values()),
        "lead_width": max((len(row["name"]) + 2 * row["depth"] for row in rows), default=0),
        "label_width": max((len(row["label"]) for row in rows), default=0),
        "selectors": [_selector(cross, *pair) for pair in zip(cross.others, first.chosen, strict=True)],
        "slices": slices if cross.others else {},
        "cuts": cross.cuts,
        "num_shown": cross.num_shown if cross.cuts else table.num_cells,
        "num_cells": table.num_cells,
        "symbol": table.symbol,
        "absent": table.absent_text,
        "has_hidden": table.num_hidden > 0,
    }


def _columns(cross: CrossTable) -> list[dict[str, Any]]:
    """The lines across; the variable alone where there are none."""
    if cross.across < 0:
        name = cross.publication.variable
        return [{"name": name, "label": "", "depth": 0, "top": False, "folds": False, "open": True}]
    lines = cross.publication.lines[cross.across]
    return list(_lines(lines, cross.shown[cross.across], OPEN_COLUMNS))


def _rows(cross: CrossTable, block: Block) -> list[dict[str, Any]]:
    """The lines down, each with its cells in the first slice."""
    lines = _lines(cross.publication.lines[cross.down], cross.shown[cross.down], OPEN_ROWS)
    texts = _texts(cross.publication, block)
    return [line | {"cells": cells} for line, cells in zip(lines, texts, strict=True)]


def _lines(lines: Lines, shown: Int, most: int) -> Iterator[dict[str, Any]]:
    """Lines with their place in the hierarchy; of more than `most` the lower levels start folded."""
    depth = lines.depth[shown].tolist()
    opened = 1 if len(shown) > most and max(depth) > 1 else max(depth, default=0)
    for place, (line, own) in enumerate(zip(shown.tolist(), depth, strict=True)):
        yield {
            "name": lines.names[line],
            "label": lines.labels[line],
            "depth": own,
            "total": bool(lines.is_total[line]),
            "top": bool(lines.is_total[line]) and not own,
            "folds": max(depth) > 1 and place + 1 < len(depth) and depth[place + 1] > own,
            "open": own < opened,
            "folded": own > opened,
        }


def _selector(cross: CrossTable, axis: int, chosen: int) -> dict[str, Any]:
    """A dimension of which the page shows one line at a time."""
    lines = cross.publication.lines[axis]
    options = [
        (line, "\u2003" * int(lines.depth[line]) + lines.names[line], lines.labels[line], line == chosen)
        for line in cross.shown[axis].tolist()
    ]
    return {"name": cross.publication.dimensions[axis].name, "options": options}


def _slice_id(block: Block) -> str:
    return "-".join(map(str, block.chosen))


def _widths(columns: Sequence[Mapping[str, Any]], slices: Iterable[Sequence[Sequence[object]]]) -> list[int]:
    """Characters of the longest text in each column, of all slices."""
    widths = [len(column["name"]) + 2 * column["folds"] for column in columns]
    for texts in slices:
        for row in texts:
            widths = [max(width, len(str(text))) for width, text in zip(widths, row, strict=True)]
    return widths


def _texts(table: Publication, block: Block) -> list[list[str | int | None]]:
    """What the cells of a slice show, by row."""
    return [
        [
            None if cell == NO_CELL else HIDDEN if table.hidden[cell] else table.shown_text(cell)
            for cell in row
        ]
        for row in block.cells.tolist()
    ]
