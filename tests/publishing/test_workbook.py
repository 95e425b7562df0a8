"""The Excel file: a sheet for each table, headers in sight, folding, slices, notes; and no other sheet."""

import csv
from pathlib import Path

import numpy as np
import openpyxl
import pytest

from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.publishing import release
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.planted_table import HIDDEN, planted

LABELS = {"region": {"Total": "All regions", "N": "The North", "W": "The West"}}


def book_of(folder: Path, **options):
    problem, pattern = planted()
    done = release(audit(problem, pattern), folder / "out", formats=["xlsx"], **options)
    return openpyxl.load_workbook(done.folder / "table.xlsx")


def cells_of(sheet) -> dict[str, object]:
    """The first cell with each value."""
    found: dict[str, object] = {}
    for row in sheet.iter_rows():
        for cell in row:
            found.setdefault(str(cell.value), cell)
    return found


def test_a_sheet_has_the_table_as_printed(tmp_path):
    book = book_of(tmp_path, title="Turnover", decimals=1)
    assert book.sheetnames == ["Table", "Notes"]
    sheet = book["Table"]
    printed = {tuple(row) for row in sheet.iter_rows(values_only=True)}
    assert ("region", "Total", "A", "B", "C") in printed
    assert ("N", 17530868.29, "x", "x", 3.1) in printed
    assert ("W", 4384.27, 4321.77, 55.5, 7) in printed
    formats = {c.number_format for row in sheet.iter_rows(min_row=5) for c in row if c.data_type == "n"}
    assert "#,##0.0" in formats
    by_name = {row[0].value: row[0] for row in sheet.iter_rows()}
    assert by_name["Total"].font.bold and not by_name["N"].font.bold
    assert by_name["N"].alignment.indent < by_name["W"].alignment.indent


def test_hidden_cells_are_shaded_and_all_alike(tmp_path):
    sheet = book_of(tmp_path)["Table"]
    hidden = [cell for row in sheet.iter_rows() for cell in row if cell.value == "x"]
    assert len(hidden) == len(HIDDEN)
    assert {cell.fill.fgColor.rgb for cell in hidden} == {"00EBE3CF"}
    assert len({cell.style_id for cell in hidden}) == 1 and not any(cell.comment for cell in hidden)


def test_headers_stay_in_sight_and_rows_fold(tmp_path):
    sheet = book_of(tmp_path, labels=LABELS)["Table"]
    found = cells_of(sheet)
    head, first = found["region"].row, found["N"].row
    assert sheet.freeze_panes == f"C{head + 1}"
    assert sheet.print_title_rows == f"${head}:${head}" and sheet.print_title_cols == "$A:$B"
    outline = {str(row[0].value): sheet.row_dimensions[row[0].row].outlineLevel for row in sheet.iter_rows()}
    assert (outline["Total"], outline["N"], outline["West"], outline["W"]) == (0, 1, 1, 2)
    assert not sheet.sheet_properties.outlinePr.summaryBelow
    assert (sheet.sheet_format.outlineLevelRow, sheet.sheet_format.outlineLevelCol) == (2, 1)
    assert [cell.value for cell in sheet[first]][:2] == ["N", "The North"]


def test_labels_of_columns_have_a_row_of_their_own(tmp_path):
    sheet = book_of(tmp_path, labels={"industry": {"A": "Farming"}})["Table"]
    codes = cells_of(sheet)["A"]
    assert sheet.cell(codes.row + 1, codes.column).value == "Farming"
    assert sheet.freeze_panes == f"B{codes.row + 2}"


def test_further_dimensions_are_columns_with_a_filter(tmp_path):
    names, codes = ("d", "e", "f"), ("1", "2")
    dimensions = [Dimension.of(name, Hierarchy.flat([f"{name}{c}" for c in codes])) for name in names]
    keys = [(f"d{a}", f"e{b}", f"f{c}") for a in codes for b in codes for c in codes]
    columns = {name: [key[place] for key in keys] for place, name in enumerate(names)}
    table = table_from_interior(dimensions, columns, list(range(1, 9)))
    problem = Problem.of(table, {})
    verdict = audit(problem, Pattern.hiding(problem, np.zeros(table.num_cells, dtype=bool), "nothing"))
    done = release(verdict, tmp_path / "out", formats=["xlsx"])
    sheet = openpyxl.load_workbook(done.folder / "table.xlsx")["Table"]
    rows = [row for row in sheet.iter_rows(values_only=True) if row[1] is not None]
    assert rows[0][:2] == ("f", "d") and len(rows) == 1 + 9
    for f, d, *values in rows[1:]:
        expected = [table.values[table.cell(d, e, f)] for e in ("Total", "e1", "e2")]
        assert values == expected
    head = cells_of(sheet)["f"].row
    assert sheet.auto_filter.ref == f"A{head}:B{head + 9}"


def test_a_table_too_large_to_lay_out_is_written_as_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("cellveil.publishing.excel.MAX_PLACES", 10)
    book = book_of(tmp_path)
    assert book.sheetnames == ["Table", "Notes"] and book["Table"].freeze_panes == "A2"
    rows = [
        ["" if cell is None else cell for cell in row] for row in book["Table"].iter_rows(values_only=True)
    ]
    problem, pattern = planted()
    plain = release(audit(problem, pattern), tmp_path / "plain", formats=["csv"]).folder / "table.csv"
    with plain.open(newline="") as file:
        expected_rows = list(csv.DictReader(file))
    assert rows[0] == ["industry", "region", "value", "flag"] and len(rows) == 21
    for row, expected in zip(rows[1:], expected_rows, strict=True):
        assert [*row[:2], row[3]] == [expected["industry"], expected["region"], expected["flag"]]
        assert row[2] == (expected["value"] if row[3] else float(expected["value"]))


def test_notes_say_what_is_given_and_leave_out_what_is_not(tmp_path):
    given = {"title": "Turnover", "source": "Survey", "contact": "a@b.example", "unit": "EUR 1,000"}
    book = book_of(tmp_path, **given)
    notes = {str(row[0]): row[1] for row in book["Notes"].iter_rows(values_only=True, max_col=2)}
    assert notes["Source"] == "Survey" and notes["Contact"] == "a@b.example" and "Turnover" in notes
    assert notes["Sheets"] == "Table: value by industry, region; Unit: EUR 1,000"
    assert notes["Signs"] == "x   not published, to protect respondents"
    assert "Not published: 4 (20.0\u00a0%)" in notes["Quality"]
    assert "Date" not in notes and "Note" not in notes
    printed = [str(row[0]) for row in book["Table"].iter_rows(values_only=True)]
    assert "Unit: EUR 1,000" in printed and "Source: Survey" in printed


@pytest.mark.parametrize("name", ["creator", "lastModifiedBy", "description", "keywords", "subject"])
def test_the_file_tells_nothing_about_its_making(tmp_path, name):
    properties = book_of(tmp_path, title="Turnover").properties
    assert getattr(properties, name) in (None, "cellveil", "")
    assert properties.created.year == properties.modified.year == 1980
