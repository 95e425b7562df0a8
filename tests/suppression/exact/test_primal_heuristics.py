"""Primal heuristics: patterns of a part are safe, and near the fractional point they were asked for."""

import numpy as np
import pytest

from cellveil.clock import NO_LIMIT
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.suppression.exact.parts import parts_of
from cellveil.suppression.exact.primal_heuristics import FlowStarter, NoStarter, ProgramStarter, starter_of
from cellveil.suppression.exact.separation import Separation
from helpers.problem_kinds import problem_of


@pytest.mark.parametrize(("kind", "starter"), [("flat 2-D", FlowStarter), ("flat 3-D", ProgramStarter)])
def test_patterns_are_safe(kind: str, starter: type) -> None:
    problem = problem_of(kind)
    hidden = [problem.hidden_at_start.copy() for _ in range(2)]
    parts, stuck = parts_of(problem)
    assert parts and not stuck
    for part in parts:
        found = starter_of(problem, Separation(problem, part), seed=1)
        assert isinstance(found, starter)
        cells = part.component.cells
        for whole, own in zip(
            hidden,
            (found.from_scratch(NO_LIMIT), found.around(np.full(len(cells), 0.5), NO_LIMIT)),
            strict=True,
        ):
            assert own is not None and len(own) == len(cells)
            whole[cells] |= own
    for whole in hidden:
        assert audit_outsider(problem, Pattern.hiding(problem, whole, "")).is_safe
        assert not whole.all()


def test_nothing_is_found_where_sliding_levels_cannot_be_shared() -> None:
    assert NoStarter().from_scratch(NO_LIMIT) is None


def test_around_a_point_its_cells_are_preferred() -> None:
    """The rectangle that the point hides is taken, though another one is cheaper by itself."""
    from cellveil.datasets import two_way

    problem: Problem = two_way([[20, 20, 21], [20, 20, 21], [20, 20, 21]], {(0, 0): 5})
    (part,), _ = parts_of(problem)
    starter = starter_of(problem, Separation(problem, part), seed=1)
    cells = part.component.cells
    names = {f"r{r},c{c}" for r in (0, 2) for c in (0, 2)}
    point = np.array([float(",".join(problem.table.key(int(cell))) in names) for cell in cells])
    assert point.sum() == 4
    near = starter.around(point, NO_LIMIT)
    assert near is not None and near.tolist() == (point > 0).tolist()
