"""The public table as an Excel file: the cross-table as people print it, and the plain rows.

The file is the same byte for byte for the same publication: no time stamps, no user name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cellveil.errors import InputError, MissingExtraError
from cellveil.publishing.csv_parquet import header, key_columns
from cellveil.publishing.layout import NO_CELL, Block, CrossTable
from cellveil.publishing.publication import Publication

if TYPE_CHECKING:
    from openpyxl.worksheet._write_only import WriteOnlyWorksheet

MAX_ROWS = 1_048_576
"""Rows of an Excel sheet."""

MAX_COLUMNS = 1_000
"""Wider cross-tables are left out."""

MAX_PLACES = 200_000
"""Cross-tables with more places are left out."""

MAX_BLOCKS = 100

EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip archive can hold."""


def fits_excel(publication: Publication) -> bool:
    """Whether the rows and the header of each table fit on one sheet."""
    return all(table.num_rows < MAX_ROWS for table in publication.tables)


def require_excel() -> None:
    """Raise a `MissingExtraError` when the package for Excel files is not installed."""
    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise MissingExtraError("openpyxl", "excel", "Writing Excel files") from None


def write_excel(publication: Publication, path: Path) -> None:
    """Write the sheets “Table” (when it is not too large) and “Data”; of several tables two for each.

    Raises
    ------
    InputError
        When a code or label has a character that Excel files cannot hold.
    """
    from openpyxl import Workbook
    from openpyxl.utils.exceptions import IllegalCharacterError

    book = Workbook(write_only=True)
    book.properties.creator = "cellveil"
    book.properties.title = publication.title or None
    try:
        for table, (sheet, data) in zip(publication.tables, _sheet_names(publication), strict=True):
            style = _Style(table)
            cross = CrossTable.of(table, MAX_PLACES)
            fits = cross.num_columns <= MAX_COLUMNS and len(list(cross.blocks())) <= MAX_BLOCKS
            if not cross.cuts and fits:
                _write_cross_table(book.create_sheet(sheet), table, cross, style)
            _write_rows(book.create_sheet(data), table, style)
    except IllegalCharacterError:
        raise InputError(
            "a code, label or title has a control character, which Excel files cannot hold",
            remedy="Remove it, or leave the Excel format out.",
        ) from None
    book.save(path)
    _without_times(path)


def _sheet_names(publication: Publication) -> list[tuple[str, str]]:
    """Names of the two sheets of each table; Excel takes 31 characters, and not all."""
    if not publication.parts:
        return [("Table", "Data")]
    found = []
    for number, table in enumerate(publication.parts, 1):
        name = re.sub(r"[\\/*?:\[\]']", " ", table.name)[: 30 - len(str(number))].strip()
        found.append((f"{number} {name}".strip(), f"Data {number}"))
    return found


class _Style:
    """Cells of every kind, alike for all cells of that kind."""

    def __init__(self, publication: Publication) -> None:
        from openpyxl.styles import Alignment, Border, Font, PatternFill, Side

        digits = publication.shown_decimals
        self.number_format = "#,##0" + ("." + "0" * digits if digits else "")
        self.bold, self.big, self.grey = Font(bold=True), Font(bold=True, size=14), Font(color="666666")
        self.right = Alignment(horizontal="right")
        self.head = Alignment(horizontal="right", vertical="bottom", wrap_text=True)
        self.fill = PatternFill("solid", fgColor="E8EDF3")
        self.rule = Border(bottom=Side(style="thin", color="8899AA"))
        self.unit = 10**publication.decimals

    def value(self, scaled: int) -> int | float:
        """The number as Excel holds it."""
        return scaled if self.unit == 1 else scaled / self.unit


def _cell(sheet: Any, value: object = None, **style: Any) -> Any:
    """A styled cell; text never becomes a formula, and empty text nothing.

    Every cell gets a style: openpyxl's streaming writer takes an unstyled one as room for the next value.
    """
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Alignment

    cell = WriteOnlyCell(sheet, value or None if isinstance(value, str) else value)
    if isinstance(value, str) and value:
        cell.data_type = "s"
    for name, setting in ({"alignment": Alignment(horizontal="left")} | style).items():
        setattr(cell, name, setting)
    return cell


def _write_rows(sheet: WriteOnlyWorksheet, publication: Publication, style: _Style) -> None:
    names = header(publication)
    columns = key_columns(publication)
    for number, (_, texts, _) in enumerate(columns):
        sheet.column_dimensions[_letter(number)].width = _width(texts)
    sheet.column_dimensions[_letter(len(columns))].width = 18
    sheet.freeze_panes = "A2"
    sheet.append([_cell(sheet, name, font=style.bold, fill=style.fill, border=style.rule) for name in names])
    # One cell of each kind serves for all rows: the sheet is written row by row.
    number = _cell(sheet, 0, number_format=style.number_format, alignment=style.right)
    hidden_end = [_cell(sheet, publication.symbol, alignment=style.right), _cell(sheet, publication.symbol)]
    codes = [[_cell(sheet, text) for text in distinct] for _, distinct, _ in columns]
    keys = [places.tolist() for _, _, places in columns]
    cells = publication.rows[1]
    values, hidden = publication.published[cells].tolist(), publication.hidden[cells].tolist()
    for row, (value, is_hidden) in enumerate(zip(values, hidden, strict=True)):
        line = [texts[places[row]] for texts, places in zip(codes, keys, strict=True)]
        if is_hidden:
            sheet.append(line + hidden_end)
        else:
            number.value = style.value(value)
            sheet.append([*line, number])


def _write_cross_table(
    sheet: WriteOnlyWorksheet, publication: Publication, cross: CrossTable, style: _Style
) -> None:
    down = publication.lines[cross.down]
    labelled = publication.has_labels[cross.down]
    first_value = 2 if labelled else 1
    sheet.column_dimensions["A"].width = _width(down.names, indent=int(down.depth.max()) * 2)
    if labelled:
        sheet.column_dimensions["B"].width = _width(down.labels)
    for column in range(first_value, first_value + cross.num_columns):
        sheet.column_dimensions[_letter(column)].width = 15
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.fitToHeight = 0
    sheet.sheet_properties.pageSetUpPr.fitToPage = True
    heading = publication.name or publication.title or publication.variable
    sheet.append([_cell(sheet, heading, font=style.big)])
    if publication.title or publication.name:
        sheet.append([_cell(sheet, publication.variable, font=style.grey)])
    if publication.is_adjusted:
        sheet.append([_cell(sheet, "Adjusted", font=style.grey)])
    for block in cross.blocks():
        sheet.append([])
        _write_block(sheet, publication, cross, block, style, labelled)
    for text in ("", *legend(publication), publication.note):
        sheet.append([_cell(sheet, text, font=style.grey)] if text else [])


def _write_block(
    sheet: WriteOnlyWorksheet,
    publication: Publication,
    cross: CrossTable,
    block: Block,
    style: _Style,
    labelled: bool,
) -> None:
    from openpyxl.styles import Alignment

    if block.chosen:
        sheet.append([_cell(sheet, block_heading(publication, cross, block), font=style.bold)])
    head = {"font": style.bold, "fill": style.fill, "border": style.rule}
    corner = [publication.dimensions[cross.down].name, *([""] if labelled else [])]
    sheet.append(
        [_cell(sheet, text, **head) for text in corner]
        + [_cell(sheet, text, alignment=style.head, **head) for text in column_heads(publication, cross)]
    )
    down = publication.lines[cross.down]
    across = publication.lines[cross.across] if cross.across >= 0 else None
    indents = [Alignment(horizontal="left", indent=2 * depth) for depth in range(int(down.depth.max()) + 1)]
    for line, cells in zip(cross.shown[cross.down].tolist(), block.cells.tolist(), strict=True):
        weight = {"font": style.bold} if down.is_total[line] else {}
        row = [_cell(sheet, down.names[line], alignment=indents[down.depth[line]], **weight)]
        row += [_cell(sheet, down.labels[line], **weight)] if labelled else []
        for place, cell in enumerate(cells):
            total = down.is_total[line] or (
                across is not None and across.is_total[cross.shown[cross.across][place]]
            )
            row.append(_value_cell(sheet, publication, cell, style, {"font": style.bold} if total else {}))
        sheet.append(row)


def _value_cell(
    sheet: Any, publication: Publication, cell: int, style: _Style, weight: dict[str, Any]
) -> Any:
    if cell == NO_CELL:
        return _absent_cell(sheet, publication, style, weight)
    if publication.hidden[cell]:
        return _cell(sheet, publication.symbol, alignment=style.right, **weight)
    value = style.value(int(publication.published[cell]))
    return _cell(sheet, value, number_format=style.number_format, alignment=style.right, **weight)


def _absent_cell(sheet: Any, publication: Publication, style: _Style, weight: dict[str, Any]) -> Any:
    """Zero, or nothing where some detail was not tabulated."""
    value = 0 if publication.absent_text else None
    return _cell(sheet, value, number_format=style.number_format, alignment=style.right, **weight)


def column_heads(publication: Publication, cross: CrossTable) -> list[str]:
    """The texts above the columns."""
    if cross.across < 0:
        return [publication.variable]
    lines = publication.lines[cross.across]
    return [
        f"{lines.names[line]}\n{lines.labels[line]}" if lines.labels[line] else lines.names[line]
        for line in cross.shown[cross.across].tolist()
    ]


def block_heading(publication: Publication, cross: CrossTable, block: Block) -> str:
    """The codes a block is for: “sector: B Mining, size: Total”."""
    return ", ".join(
        f"{publication.dimensions[axis].name}: {publication.lines[axis].names[line]} "
        f"{publication.lines[axis].labels[line]}".rstrip()
        for axis, line in zip(cross.others, block.chosen, strict=True)
    )


def legend(publication: Publication) -> Iterator[str]:
    """What the signs in the table mean."""
    if publication.is_adjusted:
        yield "Some figures were changed to protect the information of individual respondents."
    else:
        hidden = publication.symbol or "(empty)"
        yield f"{hidden}   not published, to protect the information of individual respondents"
    if not publication.absent_text:
        yield "(empty)   not tabulated"


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
