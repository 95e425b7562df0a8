"""A table with planted values, its report, and a parser that checks pages."""

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np

from cellveil.judge import audit
from cellveil.judge.verdict import Outcome
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.public_page import page_of
from cellveil.publishing.publication import Publication
from cellveil.report import build_report
from cellveil.suppression.result import Suppression
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

HIDDEN = {("A", "N"): 98765432, ("A", "S"): 87654321, ("B", "N"): 76543219, ("B", "S"): 65432198}
PUBLISHED = {("A", "W"): 1031, ("B", "W"): 55, ("C", "N"): 310, ("C", "S"): 25, ("C", "W"): 7}


def planted(primaries=(("A", "N"),), level=1000):
    industry = Dimension.of("industry", Hierarchy.flat(["A", "B", "C"]))
    region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": [], "S": [], "West": ["W"]}}))
    cells = HIDDEN | PUBLISHED
    codes = {"industry": [a for a, _ in cells], "region": [b for _, b in cells]}
    table = table_from_interior([industry, region], codes, list(cells.values()))
    table = table.replace(contributors=np.full(table.num_cells, 2))
    problem = Problem.of(table, {table.cell(*key): (level, level) for key in primaries})
    hidden = np.zeros(table.num_cells, dtype=bool)
    hidden[[table.cell(*key) for key in HIDDEN]] = True
    return problem, Pattern.hiding(problem, hidden, "by hand")


def large_table():
    """107,500 cells in three dimensions of two levels each, a third of the finest ones hidden."""
    trees = [
        Hierarchy.from_dict({"T": {f"{n}{i}": [f"{n}{i}.{j}" for j in range(6)] for i in range(size)}})
        for n, size in zip("abc", (6, 7, 7), strict=True)
    ]
    dimensions = [Dimension.of(name, tree) for name, tree in zip("abc", trees, strict=True)]
    leaves = np.meshgrid(*(tree.leaves for tree in trees), indexing="ij")
    codes = {name: column.ravel().tolist() for name, column in zip("abc", leaves, strict=True)}
    table = table_from_interior(dimensions, codes, np.arange(1, leaves[0].size + 1))
    problem = Problem.of(table, {})
    return problem, Pattern.hiding(problem, table.values % 3 == 0, "by hand")


def run_of(problem, pattern, verdict):
    cost = float(problem.weight[pattern.status == 2].sum())
    seconds = {"search": 0.5, "audit": 0.1}
    outcome = Outcome.SAFE if verdict.is_safe else Outcome.NOT_SAFE
    return Suppression(pattern, verdict, outcome, "complete", cost, cost / 2, seconds, 7, 12)


def report_on(problem, pattern, **options):
    verdict = audit(problem, pattern)
    return build_report(problem, run_of(problem, pattern, verdict), verdict, **options)


class Checker(HTMLParser):
    """Checks that every tag is closed in order, and collects texts, tags and attributes."""

    VOID = frozenset({"meta", "input", "br", "col"})

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.seen = [], [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, attributes))
        names = [name for name, _ in attributes]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append((tag, attributes))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.texts.append(data)


def parse(page: str) -> Checker:
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert not checker.open
    return checker


def data_of(page: str) -> dict[str, Any]:
    """What the scripts of the internal page read."""
    return json.loads(
        page.partition('<script type="application/json" id="data">')[2].partition("</script>")[0]
    )


def forms_of(value: int) -> list[str]:
    return [str(value), *(f"{value:,}".replace(",", mark) for mark in (",", " ", "\u202f", ".", "'"))]


def public_page(
    problem: Problem, view: PublicView, *, labels: Any = None, symbol: str = "x", **texts: Any
) -> str:
    """The page for outsiders; `texts` as in `Imprint`."""
    return page_of(
        Publication.of(problem.table, view, labels=labels, symbol=symbol, imprint=Imprint(**texts))
    )
