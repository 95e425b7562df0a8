"""The public page as text: nothing hidden in any slice, nothing of the data is taken for markup."""

import csv
import json
import re

import numpy as np

import cellveil as cv
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.publishing import Publication
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.public_page import page_of
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

ODD = "</script><b>'\"&"


def three_way(hidden_codes=("a1", "b1"), **options) -> tuple[Publication, list[int]]:
    """Eight inner cells, those of two of the four columns hidden; and the hidden values."""
    names = ("a", "b", "c")
    dimensions = [Dimension.of(name, Hierarchy.flat([f"{name}1", f"{name}2"])) for name in names]
    keys = [(f"a{i}", f"b{j}", f"c{k}") for i in (1, 2) for j in (1, 2) for k in (1, 2)]
    values = [10**6 + 98_765 * (place + 1) for place in range(8)]
    columns = {name: [key[place] for key in keys] for place, name in enumerate(names)}
    problem = Problem.of(table_from_interior(dimensions, columns, values), {})
    hidden = np.zeros(problem.table.num_cells, dtype=bool)
    for key in keys:
        hidden[problem.table.cell(*key)] = bool(set(key) & set(hidden_codes))
    view = PublicView.of(problem, Pattern.hiding(problem, hidden, "by hand"))
    return Publication.of(problem.table, view, **options), problem.table.values[hidden].tolist()


def test_no_slice_holds_a_hidden_value():
    publication, hidden = three_way()
    page = page_of(publication)
    slices = json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page)[0])
    assert list(slices) == ["0", "1", "2"] and all(len(rows) == 3 for rows in slices.values())
    texts = [text for rows in slices.values() for row in rows for text in row]
    assert texts.count(0) == len(hidden) == 6
    for value in hidden:
        assert str(value) not in page and f"{value:,}" not in page
    assert f"{int(publication.published.max()):,}" in page


def test_all_hidden_cells_are_the_same_markup():
    page = page_of(three_way()[0])
    marks = re.findall(r"<td[^>]*>x</td>", page)
    assert set(marks) <= {'<td class="h">x</td>'}


def test_figures_are_counted_as_the_data_files_have_rows(tmp_path):
    pairs = [("Total", "N"), ("Total", "S"), ("N", "N1"), ("S", "S1"), ("S", "S2")]
    region = Dimension.of("region", Hierarchy.from_pairs(pairs))
    table = table_from_interior([region], {"region": ["N1", "S1", "S2"]}, [40, 5, 6])
    problem = cv.Problem.of(table, {table.cell("N1"): (1, 1)})
    pattern = Pattern.hiding(problem, table.values != 51, "all but the total")
    done = cv.release(cv.audit(problem, pattern), tmp_path / "out", formats=["csv", "html"])
    with (done.folder / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    hidden = sum(row["flag"] == "x" for row in rows)
    assert len(rows) > table.num_cells and hidden > pattern.hidden.sum()
    assert (
        f"The table has {len(rows)} figures. Not published: {hidden} ("
        in (done.folder / "index.html").read_text()
    )


def test_nothing_is_taken_for_markup():
    imprint = Imprint(ODD, ODD, ODD, ODD, "javascript:alert(1)@x", ODD)
    labels = {"a": {"a1": ODD}, "c": {"c1": ODD}}
    page = page_of(three_way(imprint=imprint, labels=labels, symbol="&b;")[0], [ODD])
    assert "&b;" not in page and "<b>" not in page and "</script><" not in page.replace("</script>\n<", "")
    assert page.count("<script") == page.count("</script>") == 3
    assert 'href="javascript:' not in page


def test_the_page_needs_nothing_from_elsewhere():
    page = page_of(three_way()[0], ["table.csv"])
    assert not re.search(r"https?://|src=|@import|url\(", page)
    assert "default-src 'none'" in page


def test_the_mark_is_said_to_be_no_zero_where_everybody_knows_so():
    """Counts whose zeros are all published: of a hidden one everybody knows that it is at least 1."""
    size = Dimension.of("size", Hierarchy.flat("abc"))
    table = table_from_interior([size], {"size": list("abc")}, [4, 1, 0])
    told = {"magnitudes": False, "counts": True}
    for kind, is_said in told.items():
        problem = Problem.of(table, {1: (1, 1)})
        problem = problem.replace(lb=np.where(table.values > 0, 1, 0)) if kind == "counts" else problem
        view = PublicView.of(problem, Pattern.hiding(problem, problem.status == 1, "by hand"))
        for language, words in (("en", "but not for zero"), ("de", "aber nicht für null")):
            page = page_of(Publication.of(table, view, imprint=Imprint(language=language)))
            assert (words in page) == is_said
