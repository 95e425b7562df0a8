"""Cells of an Excel sheet by what they hold: figures, hidden cells, codes, labels and heads of a table."""

from __future__ import annotations

from typing import Any

from cellveil.publishing.layout import NO_CELL
from cellveil.publishing.publication import Publication

MAX_INDENT = 15
"""Steps that Excel indents a text by."""


class Pens:
    """Makes the cells of one sheet; those of a kind all look alike."""

    def __init__(self, sheet: Any, table: Publication) -> None:
        self._sheet, self._table = sheet, table
        self._unit = 10**table.decimals
        digits = table.shown_decimals
        self._number_format = "#,##0" + ("." + "0" * digits if digits else "")
        self._kinds: dict[str, Any] = {}
        self._define_kinds()

    def text(self, text: str, kind: str) -> Any:
        """A text, which never becomes a formula; empty text is no value."""
        cell = self._cell(text or None, kind)
        if text:
            cell.data_type = "s"
        return cell

    def value(self, cell: int, bold: bool = False) -> Any:
        """A figure, the symbol where it is hidden, and what stands where there is no cell."""
        table, weight = self._table, "_total" if bold else ""
        if cell == NO_CELL:  # zero, or nothing where some detail was not tabulated
            return self._cell(0 if table.absent_text else None, f"number{weight}")
        if table.hidden[cell]:
            return self.text(table.symbol, "hidden")
        scaled = int(table.published[cell])
        return self._cell(scaled if self._unit == 1 else scaled / self._unit, f"number{weight}")

    def code(self, depth: int, bold: bool) -> str:
        """The kind of a code that stands below `depth` others."""
        from openpyxl.styles import Alignment, Font

        kind = f"code {depth} {bold}"
        if kind not in self._kinds:
            indent = Alignment(horizontal="left", indent=min(2 * depth, MAX_INDENT))
            self._define(kind, alignment=indent, font=Font(bold=bold))
        return kind

    def _cell(self, value: object, kind: str) -> Any:
        from openpyxl.cell import WriteOnlyCell

        cell = WriteOnlyCell(self._sheet, value)
        cell._style = self._kinds[kind]
        return cell

    def _define(self, kind: str, **looks: Any) -> None:
        """Every kind has an alignment: openpyxl's streaming writer takes an unstyled cell as room."""
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.styles import Alignment

        cell = WriteOnlyCell(self._sheet)
        for name, look in ({"alignment": Alignment(horizontal="left")} | looks).items():
            setattr(cell, name, look)
        self._kinds[kind] = cell._style

    def _define_kinds(self) -> None:
        from openpyxl.styles import Alignment, Border, Font, PatternFill, Side

        bold, grey = Font(bold=True), Font(color="595959")
        right, wrapped = Alignment(horizontal="right"), Alignment(vertical="top", wrap_text=True)
        head = {"fill": PatternFill("solid", fgColor="E8EDF3")}
        line = {"border": Border(bottom=Side(style="thin", color="8899AA"))}
        above = Alignment(horizontal="right", vertical="bottom", wrap_text=True)
        self._define("number", number_format=self._number_format, alignment=right)
        self._define("number_total", number_format=self._number_format, alignment=right, font=bold)
        self._define("hidden", alignment=right, fill=PatternFill("solid", fgColor="EBE3CF"))
        self._define("code")
        self._define("label", font=grey)
        self._define("head", font=bold, **head, **line)
        self._define("head_of_values", font=bold, alignment=above, **head, **line)
        self._define("label_of_values", font=grey, alignment=above, **head, **line)
        self._define("title", font=Font(bold=True, size=14))
        self._define("note", font=grey)
        self._define("strong", font=bold, alignment=Alignment(horizontal="left", vertical="top"))
        self._define("wrapped", alignment=wrapped)
