"""The papers' tables with their recomputed figures, as problems and patterns."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from cellveil.datasets import two_way
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from helpers.instances import INSTANCES

FILE = INSTANCES.parent / "reference" / "worked_examples.json"


EXAMPLES: dict[str, dict[str, Any]] = (
    {example["name"]: example for example in json.loads(FILE.read_text())["examples"]}
    if FILE.is_file()
    else {}
)


needs_examples = pytest.mark.skipif(not EXAMPLES, reason=f"no {FILE.name} beside the instances")


def levels(example: dict[str, Any], value: int) -> tuple[int, int]:
    if "lpl" in example:
        return example["lpl"], example["upl"]
    if "levels_from_rule" in example:
        rule = example["levels_from_rule"]
        return value - rule["lower_bound_at_most"], rule["upper_bound_at_least"] - value
    text = example.get("protection", "1 on each side")
    if found := re.search(r"(\d+) percent", text):
        level = max(1, -(-value * int(found[1]) // 100))
        return min(level, value), level
    level = int(re.match(r"\d+", text)[0])  # type: ignore[index]
    return level, level


def problem_of(example: dict[str, Any]) -> Problem:
    interior = np.array(example["interior"])
    cells = [tuple(cell) for cell in example["primaries"]]
    return two_way(example["interior"], {cell: levels(example, int(interior[cell])) for cell in cells})


def number(problem: Problem, cell: str | list[int]) -> int:
    row, column = map(int, cell.split(",")) if isinstance(cell, str) else cell
    names = [
        "Total" if place == len(dimension.hierarchies[0].leaves) else f"{letter}{place}"
        for letter, place, dimension in zip("rc", (row, column), problem.table.dimensions, strict=True)
    ]
    return problem.table.cell(*names)


def hiding(problem: Problem, cells: list[list[int]]) -> Pattern:
    hidden = problem.hidden_at_start.copy()
    hidden[[number(problem, cell) for cell in cells]] = True
    return Pattern.hiding(problem, hidden, "paper")
