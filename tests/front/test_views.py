"""Views of notebooks: what they show, and above all what they do not."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import cellveil as cv
from cellveil.publishing.publication import grouped

VOID = {"br", "hr", "img", "input", "line", "polyline", "rect", "meta"}


class Tags(HTMLParser):
    """Checks that tags are closed in order; collects the text of cells and the tags."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open and data.strip():
            self.words.append(data.strip())


def shown(value, decimals=0):
    return grouped(value, decimals)


def test_hidden_values_are_in_no_view_and_no_repr(protection, open_audit, secrets):
    things = [protection, protection.suppression, protection.audit, protection.problem, protection.pattern]
    for thing in (*things, protection.table, protection.audit.view, protection.report, open_audit):
        for text in (thing._repr_html_(), repr(thing)):
            words = set(
                re.findall(r"\d[\d\u202f,.]*", re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
            )
            plain = {word.replace("\u202f", "").replace(",", "").rstrip(".") for word in words}
            assert not plain & secrets, repr(thing)


def test_a_safe_table_shows_what_is_published(protection):
    words = Tags(protection._repr_html_()).words
    table, hidden = protection.table, protection.pattern.hidden
    published = [shown(value) for value in table.values[~hidden].tolist()]
    assert set(published) <= set(words)
    assert words.count("x") >= hidden.sum()  # one cell may stand in two lines
    assert f"{protection.verdict}." in words


def test_verdicts_say_who_was_not_asked(protection, open_audit):
    assert "Not tested: several contributors together." in Tags(protection._repr_html_()).words
    alone = "Not tested: contributors who know their own part, alone or together."
    assert alone in Tags(open_audit._repr_html_()).words


def test_all_values_on_demand(protection):
    view = protection.show(values=True)
    assert {shown(value) for value in protection.table.values.tolist()} <= set(Tags(view.html).words)
    assert "Confidential" in view.html and "Confidential" not in protection._repr_html_()


def test_nothing_that_was_not_shown_safe_is_shown(protection, open_audit):
    for thing in (protection.table, protection.problem, open_audit):
        words = Tags(thing._repr_html_()).words
        assert not {shown(value) for value in protection.table.values.tolist()} & set(words)
        assert "•" in words
    assert "NOT SAFE" in open_audit._repr_html_() and "cv-bad" in open_audit._repr_html_()


def test_cells_are_coloured_and_say_why(protection):
    tags = Tags(protection._repr_html_()).seen
    tips = [attrs.get("title", "") for tag, attrs in tags if attrs.get("class") == "cv-p"]
    assert "Primary: p% rule (p = 10)" in tips
    secondary = [attrs for tag, attrs in tags if attrs.get("class") == "cv-s"]
    assert len(secondary) > int((protection.pattern.status == cv.Status.SECONDARY).sum()) - 1


def test_rows_fold_by_hierarchy_without_scripts(protection):
    html = protection._repr_html_()
    folded = [
        attrs for tag, attrs in Tags(html).seen if tag == "summary" and "cv-row" in attrs.get("class", "")
    ]
    assert len(folded) == 3  # the total and two regions
    assert "<script" not in html and "&lt;script&gt;alert(1)&lt;/script&gt;" in html


def boxes(html):
    return [attrs for tag, attrs in Tags(html).seen if tag == "input"]


def test_columns_fold_by_hierarchy_without_scripts():
    names = [f"c{number}" for number in range(4)]
    across = {"A": names[:2], "B": names[2:]}
    dims = [cv.Dimension.of("row", [f"r{n}" for n in range(9)]), cv.Dimension.of("column", across)]
    keys = {"row": [f"r{n}" for n in range(9) for _ in names], "column": names * 9}
    html = cv.table_from_interior(dims, keys, range(36))._repr_html_()
    assert [box["class"].split()[1] for box in boxes(html)] == ["cv-fold-3-8", "cv-fold-4-5", "cv-fold-7-8"]
    assert all("checked" in box and box["type"] == "checkbox" for box in boxes(html))
    assert [box["aria-label"] for box in boxes(html)][1] == "Columns below A"
    for first, last in ((3, 8), (4, 5), (7, 8)):
        places = f"span:nth-child(n+{first}):nth-child(-n+{last})"
        assert html.count(f":has(.cv-fold-{first}-{last}:not(:checked)) .cv-row>{places}") == 1
    headings = re.search(r'<div class="cv-row cv-headings.*?</div>', html, re.DOTALL).group(0)
    assert re.findall(r'<span title="(.*?)">', headings) == ["Total", "A", "c0", "c1", "B", "c2", "c3"]


def test_many_columns_begin_folded():
    across = {f"A{number}": [f"a{number}{each}" for each in range(4)] for number in range(4)}
    dims = [cv.Dimension.of("row", [f"r{n}" for n in range(30)]), cv.Dimension.of("column", across)]
    leaves = [leaf for leaves in across.values() for leaf in leaves]
    keys = {"row": [f"r{n}" for n in range(30) for _ in leaves], "column": leaves * 30}
    html = cv.table_from_interior(dims, keys, range(480))._repr_html_()
    assert ["checked" in box for box in boxes(html)] == [True, False, False, False, False]


def test_linked_tables_stand_one_after_the_other():
    region, size = cv.Dimension.of("region", ["N", "S"]), cv.Dimension.of("size", ["small", "large"])
    legal = cv.Dimension.of("form", ["ltd", "plc"])
    one = cv.table_from_interior(
        [region, size], {"region": ["N", "N", "S", "S"], "size": ["small", "large"] * 2}, [4, 6, 5, 1]
    )
    other = cv.table_from_interior(
        [region, legal], {"region": ["N", "N", "S", "S"], "form": ["ltd", "plc"] * 2}, [3, 7, 2, 4]
    )
    joint = cv.link([one, other])
    words = Tags(joint.show(values=True).html).words
    names = [words.index(name) for name in ("value by region, size", "value by region, form")]
    assert names == sorted(names) and "size: Total" not in " ".join(words)
    first, second = words[names[0] + 1 : names[1]], words[names[1] + 1 :]
    assert first == [
        "region",
        "Total",
        "small",
        "large",
        "Total",
        "16",
        "9",
        "7",
        "N",
        "10",
        "4",
        "6",
        "S",
        "6",
        "5",
        "1",
    ]
    assert second == [
        "region",
        "Total",
        "ltd",
        "plc",
        "Total",
        "16",
        "5",
        "11",
        "N",
        "10",
        "3",
        "7",
        "S",
        "6",
        "2",
        "4",
    ]


def test_views_do_not_disturb_each_other(protection):
    html = protection._repr_html_()
    assert " id=" not in html and "javascript" not in html.lower()
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL).group(1)
    assert all(rule.startswith(".cellveil-view") for rule in style.strip().splitlines())


@pytest.fixture(scope="module")
def large():
    return cv.random_table([60, 50, 8], primaries=0.02)


def test_a_large_table_shows_a_window(large):
    view = large.show(cells=300)
    tags = Tags(view.html)
    assert "A window of the table" in view.html and len(view.html) < 80_000
    assert sum("cv-" in attrs.get("class", "") for _, attrs in tags.seen) > 0
    assert tags.words.count("•") <= 320
    more = large.show(cells=1_000)
    assert Tags(more.html).words.count("•") > tags.words.count("•")


def test_dimensions_beyond_two_fold_one_by_one(large):
    tags = Tags(large.show(cells=300).html)
    opened = ["open" in attrs for tag, attrs in tags.seen if tag == "details" and attrs.keys() <= {"open"}]
    assert [word for word in tags.words if word.startswith("d3:")][:2] == ["d3: Total", "d3: 1"]
    assert True in opened and False in opened


def test_adjusted_tables_show_what_is_published():
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    found = cv.adjust(problem, "start")
    words = Tags(found._repr_html_()).words
    assert not found.audit.objections
    assert {shown(value) for value in found.values.tolist()} <= set(words)


def test_a_plot_of_the_intervals_needs_several_primaries():
    primaries = {(0, 0): 3, (1, 1): 2, (2, 2): 1}
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries=primaries)
    everything = cv.Pattern.hiding(problem, np.ones(16, dtype=bool), "everything")
    assert "<svg" in cv.audit(problem, everything)._repr_html_()
    assert "<svg" not in problem._repr_html_()
