"""The papers' tables with their recomputed figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.rules import PPercent, PriorPosterior
from cellveil.rules.apply import make_problem
from cellveil.suppression import METHODS, suppress
from helpers.contributions import of_lists
from helpers.worked_examples import EXAMPLES, hiding, needs_examples, number, problem_of


def interval(problem: Problem, pattern: Pattern, cell: int) -> list[float]:
    """The attacker's interval, for any hidden cell."""
    one = problem.replace(
        status=np.where(np.arange(problem.table.num_cells) == cell, 1, problem.status * 0).astype(np.int8),
        lpl=np.zeros_like(problem.lpl),
        spl=np.zeros_like(problem.spl),
        upl=(np.arange(problem.table.num_cells) == cell).astype(np.int64),
    )
    report = audit_outsider(one, pattern)
    return [float(report.lower[0]), float(report.upper[0])]


def cases(kind: str) -> list[Any]:
    found = []
    for name, example in EXAMPLES.items():
        if kind == "attack" and "attack_with_only_primaries_suppressed" in example:
            found.append(pytest.param(name, id=name))
        if kind == "pattern":
            found += [
                pytest.param(name, k, id=f"{name}-{k}") for k in range(len(example.get("patterns", ())))
            ]
        if kind == "primaries" and "primaries" in example:
            found.append(pytest.param(name, id=name))
    return found


@needs_examples
@pytest.mark.parametrize("name", cases("attack"))
def test_attack_with_only_primaries_hidden(name: str) -> None:
    problem = problem_of(EXAMPLES[name])
    pattern = hiding(problem, [])
    expected = EXAMPLES[name]["attack_with_only_primaries_suppressed"]
    for cell, bounds in expected["intervals"].items():
        assert interval(problem, pattern, number(problem, cell)) == pytest.approx(bounds)
    exposed = {number(problem, cell) for cell in expected["E"]}
    assert set(audit_outsider(problem, pattern).unsafe_cells.tolist()) == exposed
    assert set(audit_outsider(problem, pattern, exact=False).unsafe_cells.tolist()) == exposed


@needs_examples
@pytest.mark.parametrize(("name", "k"), cases("pattern"))
def test_published_patterns(name: str, k: int) -> None:
    problem = problem_of(EXAMPLES[name])
    paper = EXAMPLES[name]["patterns"][k]
    pattern = hiding(problem, paper["suppressed"])
    expected = dict(paper.get("intervals", {}))
    if "interval_0_0" in paper:
        expected["0,0"] = paper["interval_0_0"]
    for cell, bounds in expected.items():
        assert interval(problem, pattern, number(problem, cell)) == pytest.approx(bounds)
    secondary = pattern.status == 2
    if "secondary_value" in paper:
        assert int(problem.table.values[secondary].sum()) == paper["secondary_value"]
        assert int(secondary.sum()) == paper["secondaries"]
        assert audit_outsider(problem, pattern).is_safe
    if "total_value" in paper:
        assert int(problem.table.values[pattern.hidden].sum()) == paper["total_value"]


@needs_examples
@pytest.mark.parametrize("name", ["dewaal2020-example1", "dewaal2020-example4"])
def test_levels_and_traditional_criterion(name: str) -> None:
    """The rule's levels, and a pattern that is safe by intervals with these levels."""
    example = EXAMPLES[name]
    problem = problem_of(example)
    pattern = hiding(problem, example["patterns"][0]["suppressed"])
    assert audit_outsider(problem, pattern).is_safe == example["patterns"][0]["safe_by_intervals"]


@needs_examples
def test_levels_of_example_two_come_from_its_contributions() -> None:
    """Example 2: only [0,0] is unsafe under p = 20, q = 100, with the levels of example 1."""
    example = EXAMPLES["dewaal2020-example2"]
    table = problem_of(example).table
    rows = []
    for cell in range(table.num_cells):
        key = table.key(cell)
        value = int(table.values[cell])
        if "Total" in key:
            rows.append([value // 4] * 4 + [value % 4])
            continue
        x1, x2 = example["largest_two"][int(key[0][1:])][int(key[1][1:])]
        rest = value - x1 - x2
        rows.append([x1, x2, *([x2] * (rest // x2) if x2 else []), *([rest % x2] if x2 else [])])
    table = table.replace(units=of_lists(rows, depth=3))
    for rule in (PPercent(20), PriorPosterior(20, 100)):
        problem = make_problem(table, rule)
        assert table.cell_names(problem.primaries) == ["(r0, c0)"]
        cell = problem.primaries[0]
        assert (int(problem.lpl[cell]), int(problem.upl[cell])) == (30, 30)
        for paper in example["patterns"]:
            if "safe_by_intervals" in paper:
                assert (
                    audit_outsider(problem, hiding(problem, paper["suppressed"])).is_safe
                    == paper["safe_by_intervals"]
                )


@needs_examples
@pytest.mark.parametrize("name", cases("primaries"))
@pytest.mark.parametrize("method", METHODS)
def test_methods_protect_the_papers_tables(name: str, method: str) -> None:
    example = EXAMPLES[name]
    problem = problem_of(example)
    result = suppress(problem, method)
    assert result.outcome in ("safe", "optimal")
    assert audit_outsider(problem, result.pattern).is_safe
    best = example.get("optimum", {}).get("weights_value_secondary_total")
    if best is not None:
        assert result.cost >= best
