"""Costs of `auto` on ten small tables: a dearer one is noticed, a cheaper one is written down.

After a change on purpose: `python tests/suppression/test_golden.py` writes the file anew.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellveil as cv
from cellveil.problem import Problem

GOLDEN = Path(__file__).with_name("golden_costs.json")
MARGIN = 0.005


def linked() -> Problem:
    """Two tables that share a dimension: an irregular one."""
    data = cv.business(300, 3)
    industry, region, size = data.dimensions
    tables = [
        cv.tabulate(data.frame, dims, "turnover", contributor="firm")
        for dims in ((region, size), (industry, size))
    ]
    return cv.make_problem(cv.link(tables), cv.PPercent(10))


def table(*shape: int, **settings: Any) -> Callable[[], Problem]:
    return lambda: cv.random_table(list(shape), seed=1, **settings)


TABLES: dict[str, Callable[[], Problem]] = {
    "6x6": table(6, 6),
    "15x12": table(15, 12),
    "20x10 of counts": table(20, 10, contributors=2, zeros=0.3),
    "12x8, a tree": table(12, 8, hierarchical=[0], contributors=2),
    "12x9, two trees": table(12, 9, hierarchical=[0, 1], contributors=3, zeros=0.3),
    "4x4x4": table(4, 4, 4),
    "6x5x4": table(6, 5, 4, contributors=3),
    "3x3x3x3": table(3, 3, 3, 3),
    "8x4x3, a tree": table(8, 4, 3, hierarchical=[0], contributors=2),
    "linked": linked,
}


def cost_of(name: str) -> float:
    return cv.suppress(TABLES[name](), attackers=[], seed=1).cost


@pytest.mark.parametrize("name", TABLES)
def test_auto_costs_no_more_than_it_did(name: str) -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert cost_of(name) == pytest.approx(golden[name], rel=MARGIN)


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps({name: cost_of(name) for name in TABLES}, indent=1) + "\n", "utf-8")
