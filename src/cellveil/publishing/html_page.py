"""Cross-tables of a publication for the templates of internal pages: marks on hidden cells, folded rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cellveil.publishing.layout import NO_CELL, Block, CrossTable
from cellveil.publishing.publication import Publication

if TYPE_CHECKING:
    from jinja2 import Environment

Mark = Callable[[int], tuple[str, str]]
"""Class and tooltip of a hidden cell."""

MAX_PLACES = 20_000
"""Pages show at most about this many cells; the lowest levels of larger tables are left to the data files."""

OPEN_ROWS = 60
"""Tables with more rows start with their lower levels folded."""


def sections_of(publication: Publication, marks: Sequence[Mark] = ()) -> list[dict[str, Any]]:
    """What the templates need of each table: its heading, what it is about, and its cross-table.

    Parameters
    ----------
    marks
        Class and tooltip of hidden cells, for each table; by default all alike.
    """
    tables = publication.tables
    return [
        {
            "heading": table.name,
            "about": table.subject,
            "grid": grid_of(CrossTable.of(table, MAX_PLACES // len(tables)), mark),
            "has_gaps": not table.absent_text,
        }
        for table, mark in zip(tables, marks or [no_mark] * len(tables), strict=True)
    ]


def environment(*further: str) -> Environment:
    """The templates of this package and of `further` ones; everything put into them is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(package) for package in ("cellveil.publishing", *further)]
    return Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def no_mark(cell: int) -> tuple[str, str]:
    """Class and tooltip of hidden cells on public pages: all alike."""
    return "h", ""


def grid_of(cross: CrossTable, mark: Mark = no_mark) -> dict[str, Any]:
    """What the template of a cross-table needs; `mark` gives class and tooltip of hidden cells."""
    publication = cross.publication
    down = publication.lines[cross.down]
    rows = cross.shown[cross.down].tolist()
    fold = 1 if len(rows) > OPEN_ROWS and int(down.depth[rows].max()) > 1 else int(down.depth.max())
    return {
        "corner": publication.dimensions[cross.down].name,
        "across": publication.dimensions[cross.across].name if cross.across >= 0 else "",
        "columns": _columns(cross),
        "selectors": [_selector(cross, place, axis) for place, axis in enumerate(cross.others)],
        "blocks": [_block(cross, block, mark, fold) for block in cross.blocks()],
        "cuts": cross.cuts,
        "num_shown": cross.num_shown,
        "num_cells": publication.num_cells,
        "foldable": int(down.depth.max()) > 1,
    }


def _columns(cross: CrossTable) -> list[dict[str, Any]]:
    if cross.across < 0:
        return [{"name": cross.publication.variable, "label": "", "total": False}]
    lines = cross.publication.lines[cross.across]
    return [
        {"name": lines.names[line], "label": lines.labels[line], "total": bool(lines.is_total[line])}
        for line in cross.shown[cross.across].tolist()
    ]


def _selector(cross: CrossTable, place: int, axis: int) -> dict[str, Any]:
    lines = cross.publication.lines[axis]
    options = [
        (line, "\u2003" * int(lines.depth[line]) + f"{lines.names[line]} {lines.labels[line]}".rstrip())
        for line in cross.shown[axis].tolist()
    ]
    return {"name": cross.publication.dimensions[axis].name, "place": place, "options": options}


def _block(cross: CrossTable, block: Block, mark: Mark, fold: int) -> dict[str, Any]:
    publication = cross.publication
    chosen = [
        (
            publication.dimensions[axis].name,
            publication.lines[axis].names[line],
            publication.lines[axis].labels[line],
        )
        for axis, line in zip(cross.others, block.chosen, strict=True)
    ]
    return {
        "id": "-".join(map(str, block.chosen)),
        "chosen": chosen,
        "rows": list(_rows(cross, block, mark, fold)),
    }


def _rows(cross: CrossTable, block: Block, mark: Mark, fold: int) -> Iterator[dict[str, Any]]:
    publication = cross.publication
    lines = publication.lines[cross.down]
    for line, cells in zip(cross.shown[cross.down].tolist(), block.cells.tolist(), strict=True):
        depth = int(lines.depth[line])
        yield {
            "name": lines.names[line],
            "label": lines.labels[line],
            "depth": depth,
            "total": bool(lines.is_total[line]),
            "folded": depth > fold,
            "open": depth < fold,
            "cells": [_cell(publication, cell, mark) for cell in cells],
        }


def _cell(publication: Publication, cell: int, mark: Mark) -> tuple[str, str, str]:
    """Text, class and tooltip."""
    if cell == NO_CELL:
        return publication.absent_text, "e", ""
    kind, tip = mark(cell) if publication.hidden[cell] else ("", "")
    return publication.shown_text(cell), kind, tip
