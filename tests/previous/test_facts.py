"""Values of unpublished cells that linked tables say nothing of: found where they exist, in bounded work."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellveil as cv
from cellveil.arrays import Int
from cellveil.previous import facts
from cellveil.previous.joint import JointProblem
from cellveil.problem import Problem
from cellveil.solvers.mip import Budget
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table

PAIRS = ((0, 1), (0, 2), (1, 2))


def codes(axis: int, number: int) -> list[str]:
    return [f"{'abc'[axis]}{place}" for place in range(number)]


def pair(axes: tuple[int, int], amounts: Int) -> Table:
    dimensions = [
        Dimension.of("abc"[axis], Hierarchy.flat(codes(axis, number)))
        for axis, number in zip(axes, amounts.shape, strict=True)
    ]
    own = list(product(*(codes(axis, number) for axis, number in zip(axes, amounts.shape, strict=True))))
    columns = {"abc"[axis]: [row[place] for row in own] for place, axis in enumerate(axes)}
    return table_from_interior(dimensions, columns, amounts.ravel().tolist())


def margins(cube: Int) -> list[Table]:
    """The three tables of pairs, as ready-made ones: nothing else is known of the cube."""
    return [pair(axes, cube.sum(axis=3 - sum(axes))) for axes in PAIRS]


IMPOSSIBLE = [np.array([[5, 1], [1, 5]]), np.array([[5, 1], [1, 5]]), np.array([[1, 5], [5, 1]])]
"""At most 1 + 1 of the 5 in (a0, b0), which lies in c0 or c1, fits into (b0, c0) and (a0, c1)."""


@pytest.mark.parametrize(
    ("size", "most"), [(4, 1), (12, 1), (12, 10**12)], ids=["small", "many counts of 1", "large values"]
)
def test_whole_values_of_all_combinations_are_found(
    size: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three margins have fractional vertices; next to an interior point whole values are found at once."""
    budgets: list[Budget] = []
    whole = facts.solve

    def watched(*given: Any, budget: Budget) -> Any:
        budgets.append(budget)
        return whole(*given, budget=budget)

    monkeypatch.setattr(facts, "solve", watched)
    rng = np.random.default_rng(7)
    cube = rng.integers(0, most, (size, size, size), endpoint=True)
    problem = Problem.of(link(margins(cube)), {})
    joint = JointProblem.of(problem)
    assert joint is not None and not joint.not_tested
    found = joint.problem.table
    assert found.num_cells > joint.num_own and (found.values >= 0).all()
    assert not found.relations.residuals(found.values)
    assert [budget.nodes for budget in budgets] == [facts.NODES]


@pytest.mark.parametrize(("most", "ways"), [(10**6, [True, False]), (0, [True])])
def test_many_combinations_are_not_searched_without_a_bound(
    monkeypatch: pytest.MonkeyPatch, most: int, ways: list[bool]
) -> None:
    tried: list[bool] = []

    def nothing(
        relations: Any, values: Any, unknown: Any, bounds: Any, is_near: bool, budget: Budget
    ) -> None:
        assert budget.nodes == facts.NODES
        tried.append(is_near)

    monkeypatch.setattr(facts, "_completed", nothing)
    monkeypatch.setattr(facts, "MOST_ANYWHERE", most)
    problem = Problem.of(link(margins(np.arange(1, 28).reshape(3, 3, 3))), {})
    joint = JointProblem.of(problem)
    assert joint is not None and joint.problem is problem and tried == ways
    (words,) = joint.not_tested
    assert "a × b × c of the same records (27 combinations; no values were found" in words


def test_tables_of_no_common_records_are_protected_each_for_itself(tmp_path: Path) -> None:
    """As they were before cross-classifications were audited; the verdict says what was not tested."""
    tables = []
    for axes, amounts in zip(PAIRS, IMPOSSIBLE, strict=True):
        table, name = pair(axes, amounts), "".join("abc"[axis] for axis in axes)
        columns = [np.array(d.codes)[own] for d, own in zip(table.dimensions, table.keys, strict=True)]
        lines = [
            ",".join([*cell, str(value), "u" if cell == ["a0", "b0"] else "s"])
            for *cell, value in zip(*columns, table.values.tolist(), strict=True)
        ]
        header = ",".join([*(d.name for d in table.dimensions), "value", "status"])
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *lines]) + "\n")
        listed = ", ".join(f'"{dimension.name}"' for dimension in table.dimensions)
        tables.append(f'[[tables]]\ndimensions = [{listed}]\nfile = "{name}.csv"\n')
    (tmp_path / "job.toml").write_text('output = "out"\n' + "".join(tables))
    found = cv.run_job(tmp_path / "job.toml")
    assert found.is_safe and found.release is not None
    said = found.report.told_not_asked
    assert "the cross-classification a × b × c of the same records (8 combinations; no values were" in said
    about = (tmp_path / "out" / "public" / "about.json").read_text("utf-8")
    assert "no values were found" in about
