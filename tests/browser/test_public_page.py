"""The public page as people use it: on a screen of any width, by keyboard, on paper, as a file."""

import csv
import io
import re

import numpy as np
import pytest

from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.publishing import Publication, TablePart
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.public_page import page_of
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import Table

REGION = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "=S2"]}})
SIZE = Hierarchy.from_dict({"Total": {"small": ["1-9", "10-49"], "large": ["50+"]}})
YEARS = ("year", Hierarchy.flat(["2024", "2025"]))
LABELS = {"region": {"N": "The North", "N1": "North, coast", "=S2": "=South"}, "size": {"50+": "large firms"}}
GIVEN = Imprint("Turnover", "Provisional.", "2026", "Survey", "office@example.org", "EUR 1,000")
GERMAN = Imprint("Umsatz", "Vorläufig.", "2026", "Erhebung", "amt@example.org", "1 000 EUR", "de")


def table_of(*trees: tuple[str, Hierarchy], decimals: int = 0) -> Table:
    dimensions = [Dimension.of(name, tree) for name, tree in trees]
    leaves = [[c for c in tree.codes if c not in tree.children] for _, tree in trees]
    keys = [grid.ravel().tolist() for grid in np.meshgrid(*leaves, indexing="ij")]
    values = [1_000 + 7_919 * place % 100_000 for place in range(len(keys[0]))]
    columns = {name: key for (name, _), key in zip(trees, keys, strict=True)}
    return table_from_interior(dimensions, columns, values, decimals=decimals)


def published(table: Table, imprint: Imprint = GIVEN, every: int = 4, **options) -> Publication:
    """Every so many cells are hidden."""
    problem = Problem.of(table, {})
    hidden = np.arange(table.num_cells) % every == 1
    view = PublicView.of(problem, Pattern.hiding(problem, hidden, "by hand"))
    labels = {d.name: LABELS[d.name] for d in table.dimensions if d.name in LABELS}
    return Publication.of(table, view, labels=labels, imprint=imprint, **options)


def small(imprint: Imprint = GIVEN) -> Publication:
    return published(table_of(("region", REGION), ("size", SIZE)), imprint)


def sliced(imprint: Imprint = GIVEN) -> Publication:
    return published(table_of(("region", REGION), ("size", SIZE), YEARS, decimals=1), imprint)


def shown(page) -> list[list[str]]:
    """The texts of the rows and columns in sight."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".cross tbody tr")].filter((row) => row.offsetParent)
        .map((row) => [...row.cells].filter((cell) => cell.offsetParent).map((cell) => cell.textContent))"""
    )


def saved(page) -> list[list[str]]:
    with page.expect_download() as download:
        page.click("[data-download]")
    text = download.value.path().read_text("utf-8-sig")
    return list(csv.reader(io.StringIO(text), delimiter=";" if ";" in text else ","))


@pytest.mark.parametrize("make", [small, sliced])
def test_it_fits_a_narrow_screen_and_all_can_use_it(opened, make):
    seen = opened(page_of(make(GERMAN), ["table.csv", "table.xlsx"]), width=400)
    assert seen.sticking_out() == seen.findings_in_both() == seen.errors == []


def test_several_tables_have_a_section_each(opened):
    table = table_of(("region", REGION), ("size", SIZE))
    every = np.arange(table.num_cells)
    parts = [TablePart(name, table, every) for name in ("First table", "Second table")]
    seen = opened(page_of(published(table).in_tables(parts, LABELS)), width=400)
    assert seen.page.locator("section h2").all_text_contents() == ["First table", "Second table"]
    assert seen.sticking_out() == seen.findings() == seen.errors == []


def test_headers_stay_in_sight(opened):
    seen = opened(page_of(small()), width=400, height=500)
    seen.page.evaluate("() => document.querySelector('.box').scrollTo(200, 100)")
    box = seen.page.locator(".box").bounding_box()
    head = seen.page.locator(".cross thead").bounding_box()
    code = seen.page.locator("tbody th.lead").nth(5).bounding_box()
    assert abs(head["y"] - box["y"]) <= 2 and abs(code["x"] - box["x"]) <= 2


def test_rows_and_columns_fold_by_keyboard(opened):
    page = opened(page_of(small())).page
    assert [row[0] for row in shown(page)] == ["Total", "N", "N1", "N2", "S", "S1", "=S2"]
    assert len(shown(page)[0]) == 2 + 6
    page.get_by_role("button", name="Open or close N", exact=True).focus()
    page.keyboard.press("Enter")
    assert [row[0] for row in shown(page)] == ["Total", "N", "S", "S1", "=S2"]
    page.get_by_role("button", name="Open or close small").focus()
    page.keyboard.press("Space")
    heads = page.locator("thead tr.codes th:visible").all_text_contents()
    assert heads[2:] == ["Total", "small", "large", "50+"] and len(shown(page)[0]) == 2 + 4
    page.click("[data-all=close]")
    assert [row[0] for row in shown(page)] == ["Total", "N", "S"]
    page.click("[data-all=open]")
    assert len(shown(page)) == 7 and len(shown(page)[0]) == 2 + 6


def test_a_slice_shows_its_own_cells(opened):
    table = table_of(("region", REGION), ("size", SIZE), YEARS, decimals=1)
    publication = published(table)
    seen = opened(page_of(publication))
    for place, year in enumerate(("Total", "2024", "2025")):
        seen.page.locator("select").select_option(index=place)
        for row in shown(seen.page):
            assert row[2 + 4] == publication.shown_text(table.cell(row[0], "large", year))
    hidden = seen.page.locator("tbody td.h").all_text_contents()
    assert set(hidden) == {"x"} and not seen.errors


@pytest.mark.parametrize("imprint", [GIVEN, GERMAN])
def test_what_is_shown_can_be_saved(opened, imprint):
    page = opened(page_of(sliced(imprint))).page
    page.locator("select").select_option(index=1)
    page.locator("tbody .fold").nth(1).click()
    head, *rows = saved(page)
    label, mark = ("Label", ",") if imprint is GIVEN else ("Bezeichnung", "\u202f")
    assert head == ["year", "region", label, "Total", "small", "1-9", "10-49", "large", "50+ large firms"]
    assert [row[1] for row in rows] == ["Total", "N", "S", "S1", "'=S2"] and rows[-1][2] == "'=South"
    for row, on_screen in zip(rows, shown(page), strict=True):
        assert row[0] == "2024" and row[3:] == [text.replace(mark, "") for text in on_screen[2:]]
    values = {text for row in rows for text in row[3:]}
    assert all(re.fullmatch(r"\d+[.,]\d|x", text) for text in values) and "x" in values


def test_printed_pages_are_whole(opened):
    flat = ("code", Hierarchy.flat([f"C{number:02}" for number in range(45)]))
    wide = ("kind", Hierarchy.flat([f"K{number:02}" for number in range(24)]))
    printed = opened(page_of(published(table_of(flat, wide)))).printed()
    assert printed.faults() == []
    texts = [page.get_textpage().get_text_range() for page in printed.document]
    with_rows = [text for text in texts if re.search(r"^C\d\d ", text, re.MULTILINE)]
    assert len(with_rows) >= 4 and all("code" in text for text in with_rows)  # the header, on every page
    assert all(f"K{number:02}" in printed.text for number in range(24))


@pytest.mark.parametrize("kinds", [19, pytest.param(89, marks=pytest.mark.slow)])
def test_a_hundred_thousand_cells_and_fewer(opened, kinds):
    codes = {f"{a}{b}": [f"{a}{b}-{c}" for c in range(10)] for a in "ABCDE" for b in range(20)}
    tree = ("code", Hierarchy.from_dict({"Total": codes}))
    wide = ("kind", Hierarchy.flat([f"K{number:02}" for number in range(kinds)]))
    publication = published(table_of(tree, wide))
    assert publication.num_cells == 1101 * (kinds + 1)
    page = opened(page_of(publication)).page
    assert len(page.query_selector_all("tbody tr")) == 1101 and len(shown(page)) == 101
    page.get_by_role("button", name="Open or close A0", exact=True).press("Enter")
    assert len(shown(page)) == 111
    assert page.evaluate("() => getComputedStyle(document.querySelector('.cross')).tableLayout") == "fixed"


def test_without_scripts_the_first_slice_is_whole(browser, tmp_path):
    (tmp_path / "page.html").write_text(page_of(sliced()), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    assert page.locator("tbody tr:visible").count() == 7 and not page.locator("select").is_visible()
    assert page.get_by_text("year: Total").is_visible() and page.locator("noscript p").is_visible()
    context.close()
