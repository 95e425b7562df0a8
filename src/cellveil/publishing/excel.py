"""The public tables as an Excel file: one sheet for each, as people print it, and one with the notes.

The file is the same byte for byte for the same publication: no time stamps, no user name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cellveil.errors import InputError, MissingExtraError
from cellveil.publishing.catalogue import Catalogue
from cellveil.publishing.csv_parquet import header, key_columns
from cellveil.publishing.excel_styles import Pens
from cellveil.publishing.layout import Block, CrossTable
from cellveil.publishing.public_notes import quality, reading, signs
from cellveil.publishing.publication import Publication

if TYPE_CHECKING:
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

MAX_ROWS = 1_048_576
"""Rows of an Excel sheet."""

MAX_COLUMNS = 1_000
"""Wider cross-tables are written as rows, one for each cell."""

MAX_PLACES = 250_000
"""Cross-tables with more places are written as rows."""

MAX_FROZEN = 90
"""Codes and labels at the left stay in sight up to this width, in characters."""

PRINTED_COLUMNS = 12
"""Columns on one printed page, about."""

MAX_OUTLINE = 7
"""Levels that Excel can fold."""

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip archive can hold."""


def fits_excel(publication: Publication) -> bool:
    """Whether the rows and the header of each table fit on one sheet."""
    return all(table.num_rows < MAX_ROWS for table in publication.tables)


def has_excel() -> bool:
    """Whether the package for Excel files is installed."""
    return find_spec("openpyxl") is not None


def require_excel() -> None:
    """Raise a `MissingExtraError` when the package for Excel files is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "Writing Excel files") from None


def write_excel(publication: Publication, path: Path) -> None:
    """Write a sheet for each table, and the notes.

    Raises
    ------
    InputError
        When a code or label has a character that Excel files cannot hold.
    """
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook(write_only=True)
    book.properties.creator = "cellveil"
    book.properties.title = publication.imprint.title or None
    book.properties.language = publication.imprint.language
    names = _sheet_names(publication)
    try:
        for table, name in zip(publication.tables, names, strict=True):
            cross = CrossTable.of(table, MAX_PLACES)
            if cross.cuts or cross.num_columns > MAX_COLUMNS:
                _write_rows(book.create_sheet(name), table)
            else:
                _CrossSheet(book.create_sheet(name), table, cross).write()
        _write_notes(book.create_sheet(publication.words("workbook.notes")), publication, names)
    except IllegalCharacterError:
        raise InputError(
            "a code, label or title has a control character, which Excel files cannot hold",
            remedy="Remove it, or leave the Excel format out.",
        ) from None
    book.save(path)
    _without_times(path)


def _sheet_names(publication: Publication) -> list[str]:
    """Names of the sheets; Excel takes 31 characters, and not all."""
    if not publication.parts:
        return [publication.words("workbook.table")]
    found = []
    for number, table in enumerate(publication.parts, 1):
        name = re.sub(r"[\\/*?:\[\]']", " ", table.name)[: 30 - len(str(number))].strip()
        found.append(f"{number} {name}".strip())
    return found


class _CrossSheet:
    """A table as it is printed: at the left the codes and labels of a row, above those of a column.

    Of more than two dimensions the further ones stand at the left as well, with a filter to choose a slice.
    """

    def __init__(self, sheet: WriteOnlyWorksheet, table: Publication, cross: CrossTable) -> None:
        self.sheet, self.table, self.cross = sheet, table, cross
        self.pens = Pens(sheet, table)
        self.left = (*cross.others, cross.down)  # dimensions whose codes stand at the left
        self.lead = sum(1 + table.has_labels[axis] for axis in self.left)
        self.blocks = list(cross.blocks())

    def write(self) -> None:
        above = [self.table.subject if self.table.heading != self.table.subject else ""]
        above += [_named(self.table.words, "unit", self.table.unit)]
        above += [self.table.words("table.adjusted") if self.table.is_adjusted else ""]
        intro = [[self.pens.text(self.table.heading, "title")]]
        intro += [[self.pens.text(text, "note")] for text in above if text] + [[]]
        heads = list(self._heads())
        self._set_up(len(intro) + len(heads))
        for line in (*intro, *heads):
            self.sheet.append(line)
        row = len(intro) + len(heads)
        for block in self.blocks:
            for depth, line in self._lines(block):
                row += 1
                if depth:
                    self.sheet.row_dimensions[row].outlineLevel = min(depth, MAX_OUTLINE)
                self.sheet.append(line)
        for text in ("", *signs(self.table), *_facts(self.table)):
            self.sheet.append([self.pens.text(text, "note")] if text else [])

    def _set_up(self, last_head: int) -> None:
        """What must be known before the first row: widths, what stays in sight, folding, printing."""
        sheet, cross = self.sheet, self.cross
        widths = list(self._widths())
        for column, width in enumerate(widths):
            sheet.column_dimensions[_letter(column)].width = width
        frozen = self.lead if sum(widths[: self.lead]) <= MAX_FROZEN else 0
        sheet.freeze_panes = f"{_letter(frozen)}{last_head + 1}"
        if cross.others:
            last = last_head + len(self.blocks) * cross.num_rows
            sheet.auto_filter.ref = f"A{last_head}:{_letter(self.lead - 1)}{last}"
        sheet.sheet_properties.outlinePr.summaryBelow = False
        sheet.sheet_properties.outlinePr.summaryRight = False
        sheet.sheet_format.outlineLevelRow = self._deepest(cross.down)
        if cross.across >= 0:
            sheet.column_dimensions.max_outline = self._deepest(cross.across)
            depths = self.table.lines[cross.across].depth[cross.shown[cross.across]]
            for column, depth in enumerate(depths.tolist(), self.lead):
                sheet.column_dimensions[_letter(column)].outlineLevel = min(depth, MAX_OUTLINE)
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.paperSize = 9  # A4
        sheet.page_setup.fitToWidth = ceil(cross.num_columns / PRINTED_COLUMNS)
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.print_title_rows = f"{last_head - self._num_heads + 1}:{last_head}"
        sheet.print_title_cols = f"A:{_letter(self.lead - 1)}"
        sheet.oddFooter.right.text = "&P / &N"

    def _deepest(self, axis: int) -> int:
        """Levels of a dimension that fold."""
        return min(int(self.table.lines[axis].depth.max()), MAX_OUTLINE)

    def _widths(self) -> Iterator[int]:
        for axis in self.left:
            lines = self.table.lines[axis]
            indent = 2 * int(lines.depth.max()) if axis == self.cross.down else 2
            yield _width([self.table.dimensions[axis].name, *lines.names], indent)
            if self.table.has_labels[axis]:
                yield _width(lines.labels)
        for names in self._columns():
            yield max(12, min(20, len(names[0]) + 2))

    def _columns(self) -> Iterator[tuple[str, str]]:
        """Code and label of each column; the variable where no dimension stands across."""
        if self.cross.across < 0:
            yield self.table.variable, ""
            return
        lines = self.table.lines[self.cross.across]
        for line in self.cross.shown[self.cross.across].tolist():
            yield lines.names[line], lines.labels[line]

    @property
    def _num_heads(self) -> int:
        """Rows above the figures: codes, and labels where there are some."""
        return 2 if self.cross.across >= 0 and self.table.has_labels[self.cross.across] else 1

    def _heads(self) -> Iterator[list[Any]]:
        corner = []
        for axis in self.left:
            corner.append(self.table.dimensions[axis].name)
            corner += [self.table.words("table.label")] if self.table.has_labels[axis] else []
        columns = list(self._columns())
        empty = [self.pens.text("", "head")] * len(corner)
        names = [self.pens.text(text, "head") for text in corner]
        codes = [self.pens.text(code, "head_of_values") for code, _ in columns]
        if self._num_heads == 1:
            yield names + codes
            return
        yield empty + codes
        yield names + [self.pens.text(label, "label_of_values") for _, label in columns]

    def _lines(self, block: Block) -> Iterator[tuple[int, list[Any]]]:
        """The rows of a block, each with its depth in the hierarchy."""
        table, cross, pens = self.table, self.cross, self.pens
        down = table.lines[cross.down]
        chosen: list[Any] = []
        for axis, line in zip(cross.others, block.chosen, strict=True):
            chosen += self._key(axis, line, "code")
        totals = [False]
        if cross.across >= 0:
            totals = table.lines[cross.across].is_total[cross.shown[cross.across]].tolist()
        for line, cells in zip(cross.shown[cross.down].tolist(), block.cells.tolist(), strict=True):
            depth, bold = int(down.depth[line]), bool(down.is_total[line])
            key = self._key(cross.down, line, pens.code(depth, bold))
            values = [pens.value(cell, bold or total) for cell, total in zip(cells, totals, strict=True)]
            yield depth, chosen + key + values

    def _key(self, axis: int, line: int, kind: str) -> list[Any]:
        lines = self.table.lines[axis]
        labels = [self.pens.text(lines.labels[line], "label")] if self.table.has_labels[axis] else []
        return [self.pens.text(lines.names[line], kind), *labels]


def _write_rows(sheet: WriteOnlyWorksheet, table: Publication) -> None:
    """A row for each cell, of tables that are too large to be laid out."""
    pens = Pens(sheet, table)
    columns = key_columns(table)
    for number, (_, names, _) in enumerate(columns):
        sheet.column_dimensions[_letter(number)].width = _width(names)
    sheet.column_dimensions[_letter(len(columns))].width = 18
    sheet.freeze_panes = "A2"
    sheet.append([pens.text(name, "head") for name in header(table)])
    texts = [[pens.text(text, "code") for text in distinct] for _, distinct, _ in columns]
    places = [places.tolist() for _, _, places in columns]
    for row, cell in enumerate(table.rows[1].tolist()):
        line = [own[place[row]] for own, place in zip(texts, places, strict=True)]
        flag = [pens.text(table.symbol, "code")] if table.hidden[cell] else []
        sheet.append([*line, pens.value(cell), *flag])


def _write_notes(sheet: WriteOnlyWorksheet, publication: Publication, names: Sequence[str]) -> None:
    """What the release is, its sheets, and how to read them."""
    pens, words = Pens(sheet, publication), publication.words
    sheet.column_dimensions["A"].width = 32
    sheet.column_dimensions["B"].width = 90
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    sheet.append([pens.text(publication.heading, "title")])
    sheet.append([])
    imprint = publication.imprint
    for name, text in (*imprint.facts(), (words("imprint.note"), imprint.note)):
        if text:
            sheet.append([pens.text(name, "strong"), pens.text(text, "wrapped")])
    for number, (table, name) in enumerate(zip(publication.tables, names, strict=True)):
        about = "; ".join(filter(None, (table.subject, _named(words, "unit", table.unit))))
        title = "" if number else words("workbook.contents")
        sheet.append([pens.text(title, "strong"), pens.text(f"{name}: {about}", "wrapped")])
    several = len(publication.tables)
    texts = {
        words("page.signs"): dict.fromkeys(text for table in publication.tables for text in signs(table)),
        words.of_number(several, "reading.heading"): reading(publication),
        words("quality.heading"): quality(publication),
    }
    for title, lines in texts.items():
        for number, text in enumerate(lines):
            sheet.append([pens.text("" if number else title, "strong"), pens.text(text, "wrapped")])


def _facts(table: Publication) -> Iterator[str]:
    """Note, source, contact and date below a table."""
    if table.imprint.note:
        yield table.imprint.note
    for name, text in table.imprint.facts():
        yield f"{name}: {text}"


def _named(words: Catalogue, key: str, text: str) -> str:
    return f"{words(f'imprint.{key}')}: {text}" if text else ""


def _letter(column: int) -> str:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column + 1))


def _width(texts: Sequence[str], indent: int = 0) -> int:
    return min(60, max(10, max(map(len, texts), default=0) + indent + 2))


def _without_times(path: Path) -> None:
    """Write the archive again without the times of its making."""
    rewritten = path.with_suffix(".new")
    with ZipFile(path) as old, ZipFile(rewritten, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            entry = ZipInfo(name, EPOCH)
            entry.compress_type = ZIP_DEFLATED
            with old.open(name) as source, new.open(entry, "w") as target:
                if name == "docProps/core.xml":
                    stamp = rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*"
                    target.write(re.sub(stamp, rb"\g<1>1980-01-01T00:00:00Z", source.read()))
                else:
                    while chunk := source.read(1 << 20):
                        target.write(chunk)
    rewritten.replace(path)
