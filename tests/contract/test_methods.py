"""One contract for every method: on tables of all kinds a safe, certified pattern, or the cells in conflict.

Parametrised over `METHODS`: a method that is registered is held to it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from cellveil.certificate import verify
from cellveil.datasets import random_table, two_way
from cellveil.errors import InfeasibleError
from cellveil.formats.jj import read_jj, write_jj
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression import METHODS, Suppression, suppress
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.tables.hierarchy import Dimension
from cellveil.tables.scaled import UNBOUNDED
from helpers.brute_force import is_protected
from helpers.small_problems import small_table

EVERY_METHOD = pytest.mark.parametrize("method", METHODS)


# -- problems of every kind ----------------------------------------------------------------------------------


def with_levels(
    problem: Problem, levels: dict[int, tuple[int, int, int]], *, frozen: tuple[int, ...] = ()
) -> Problem:
    """Other primaries: their lpl, upl and spl."""
    status = np.where(problem.table.values == 0, Status.FROZEN, Status.SAFE).astype(np.int8)
    status[list(frozen)] = Status.FROZEN
    figures = np.zeros((3, problem.table.num_cells), dtype=np.int64)
    for cell, given in levels.items():
        status[cell] = Status.PRIMARY
        figures[:, cell] = given
    return problem.replace(status=status, lpl=figures[0], upl=figures[1], spl=figures[2])


def even(rows: int, columns: int, seed: int = 0) -> Problem:
    """A two-way table of cells of about the same size, nothing primary."""
    return two_way(np.random.default_rng(seed).integers(30, 90, (rows, columns)).tolist())


def sampled(shape: str, count: int = 3, seed: int = 1) -> Problem:
    """A table of some structure with primaries drawn at random, at 20 % levels."""
    rng = np.random.default_rng(seed)
    table = small_table(shape, rng)
    cells = rng.permutation(np.flatnonzero(table.values > 4))[:count].tolist()
    fifths = {cell: (int(table.values[cell]) // 5, int(table.values[cell]) // 5) for cell in cells}
    return Problem.of(table, fifths)


def without_structure(problem: Problem) -> Problem:
    n = problem.table.num_cells
    names = Dimension.unstructured("cell", map(str, range(n)))
    bare = problem.table.replace(dimensions=(names,), keys=(np.arange(n, dtype=np.int32),))
    return problem.replace(table=bare)


def from_a_file(problem: Problem) -> Problem:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "instance.jj"
        write_jj(problem, path)
        return read_jj(path)


def asymmetric() -> Problem:
    problem = even(5, 6)
    names = [("r0", "c0"), ("r1", "c1"), ("r4", "c5")]
    cells = [problem.table.cell(*name) for name in names]
    return with_levels(problem, {cells[0]: (0, 25, 0), cells[1]: (20, 0, 0), cells[2]: (3, 40, 0)})


def sliding() -> Problem:
    problem = even(4, 5, seed=1)
    cells = [problem.table.cell(f"r{i}", f"c{i}") for i in range(3)]
    levels = {cells[0]: (0, 0, 30), cells[1]: (2, 3, 25), cells[2]: (10, 0, 15)}
    problem = with_levels(problem, levels)
    ub = problem.ub.copy()
    ub[cells[0]] = problem.table.values[cells[0]] + 4  # most of its width must be downwards
    return problem.replace(ub=ub)


def frozen() -> Problem:
    problem = even(5, 5, seed=2)
    table = problem.table
    keep = [table.cell("r0", f"c{j}") for j in (1, 2)] + [table.cell("r1", "c0"), table.cell()]
    cells = [table.cell("r0", "c0"), table.cell("r3", "c3")]
    return with_levels(problem, dict.fromkeys(cells, (6, 6, 0)), frozen=tuple(keep))


def given_secondaries() -> Problem:
    problem = even(5, 6, seed=3)
    table = problem.table
    chosen = with_levels(problem, {table.cell("r1", "c1"): (8, 8, 0)})
    status = chosen.status.copy()
    status[[table.cell("r4", "c4"), table.cell("r1", "c5"), table.cell("r2", "c1")]] = Status.SECONDARY
    return chosen.replace(status=status)


def totals() -> Problem:
    problem = random_table((9, 5), hierarchical={0: 2}, contributors=6, zeros=0, seed=8)
    table = problem.table
    inner = table.dimensions[0].codes[int(np.flatnonzero(table.dimensions[0].is_parent)[1])]
    cells = [table.cell(inner, table.dimensions[1].codes[2]), table.cell(inner), table.cell()]
    return with_levels(problem, {cell: (int(table.values[cell]) // 20 + 1,) * 2 + (0,) for cell in cells})


def tiny_cells() -> Problem:
    interior = [[1, 1, 0, 2], [1, 0, 1, 1], [2, 1, 1, 0], [0, 1, 3, 1]]
    return two_way(interior, primaries={(0, 0): 1, (1, 3): 1, (2, 2): 1})


def everything_primary() -> Problem:
    problem = even(3, 4, seed=4)
    return with_levels(problem, dict.fromkeys(range(problem.table.num_cells), (5, 5, 0)))


def negative() -> Problem:
    return two_way([[-20, 50, 9], [8, -19, 7], [5, 6, 9]], primaries={(0, 0): (5, 5), (1, 1): (4, 4)})


def wide_range() -> Problem:
    """Cells of 1 beside cells of 10¹⁰."""
    interior = (10.0 ** np.random.default_rng(3).uniform(0, 10, (5, 6))).astype(np.int64)
    primaries = {(0, 0): 1, (1, 2): int(interior[1, 2] // 10 + 1), (4, 5): int(interior[4, 5] // 5 + 1)}
    return two_way(interior.tolist(), primaries=primaries)


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "flat 2-D": lambda: random_table((7, 8), contributors=2, zeros=0.2, seed=1),
    "flat 3-D": lambda: random_table((4, 5, 4), contributors=3, zeros=0.1, seed=2),
    "flat 4-D": lambda: random_table((3, 3, 3, 4), contributors=3, zeros=0.1, seed=3),
    "one tree": lambda: random_table((14, 5), hierarchical=[0], contributors=2, seed=4),
    "two trees": lambda: random_table((10, 8), hierarchical=[0, 1], contributors=3, seed=5),
    "3-D, one tree": lambda: random_table((9, 4, 4), hierarchical=[0], contributors=3, seed=6),
    "unit weights": lambda: random_table((10, 8), hierarchical=[0, 1], contributors=3, seed=5, weight="one"),
    "overlapping trees": lambda: sampled("overlapping"),
    "linked tables": lambda: sampled("linked"),
    "equations between variables": lambda: sampled("variables"),
    "frozen cells": frozen,
    "prior knowledge": lambda: asymmetric().known_within(80),
    "asymmetric levels": asymmetric,
    "sliding levels": sliding,
    "given secondaries": given_secondaries,
    "primary totals": totals,
    "tiny cells": tiny_cells,
    "no primaries": lambda: even(4, 4),
    "everything primary": everything_primary,
    "negative values": negative,
    "wide range": wide_range,
    "instance file": lambda: from_a_file(random_table((8, 6), hierarchical=[0], contributors=2, seed=9)),
    "linked, no structure": lambda: without_structure(sampled("linked", seed=3)),
}


@cache
def problem_of(kind: str) -> Problem:
    return PROBLEMS[kind]()


def check(problem: Problem, result: Suppression) -> None:
    """What must hold of every result."""
    status, hidden = result.pattern.status, result.pattern.hidden
    assert result.is_safe and result.outcome in ("safe", "optimal")
    assert audit_outsider(problem, result.pattern, exact=False).is_safe, (
        "judged anew, without the method's witnesses"
    )
    assert verify(problem, result.pattern, result.certificate).is_valid
    assert result.certified_demands == result.demands
    assert (status[problem.primaries] == Status.PRIMARY).all(), "primaries stay hidden"
    assert hidden[problem.hidden_at_start].all(), "given secondaries stay hidden"
    assert not hidden[problem.status == Status.FROZEN].any(), "frozen cells are published"
    added = hidden & (problem.status != Status.PRIMARY)
    assert result.cost == pytest.approx(problem.weight[added].sum())
    given = float(problem.weight[problem.status == Status.SECONDARY].sum())
    assert result.cost - given >= cover_bound(problem).bound * (1 - 1e-9), "nothing beats a proven bound"
    assert result.lower_bound is None or result.lower_bound <= result.cost * (1 + 1e-9)


@pytest.mark.parametrize("kind", PROBLEMS)
@EVERY_METHOD
def test_safe_certified_and_the_same_again(method: str, kind: str) -> None:
    problem = problem_of(kind)
    before = problem.content_hash
    result = suppress(problem, method, seed=3)
    check(problem, result)
    assert result.reason == "complete"
    assert problem.content_hash == before, "the input is unchanged"
    draft = METHODS[method].run(problem, time_limit=None, seed=3, progress=None)
    assert (draft.hidden == result.pattern.hidden).all(), "same seed, same pattern, which needed no mending"


@EVERY_METHOD
def test_nothing_to_protect_hides_nothing(method: str) -> None:
    assert not suppress(problem_of("no primaries"), method).pattern.hidden.any()


@EVERY_METHOD
def test_where_primaries_protect_each_other_nothing_more_is_hidden(method: str) -> None:
    assert suppress(problem_of("everything primary"), method).cost == 0


@EVERY_METHOD
def test_every_method_is_documented(method: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "methods.md").read_text(encoding="utf-8")
    assert f"\n## {method}\n" in page and f"[`{method}`](#{method})" in page


# -- by enumeration ------------------------------------------------------------------------------------------


@cache
def tiny(number: int) -> tuple[Problem, float]:
    """A table of twelve cells with finite bounds, and the least cost of a safe pattern."""
    rng = np.random.default_rng(number)
    problem = two_way(rng.integers(3, 20, (2, 3)).tolist(), primaries={(0, 0): (2, 3)})
    values = problem.table.values
    problem = problem.replace(ub=2 * values, weight=rng.integers(1, 30, len(values)).astype(float))
    return problem, least_cost(problem)


def least_cost(problem: Problem) -> float:
    others = np.flatnonzero(~problem.hidden_at_start & (problem.status != Status.FROZEN)).tolist()
    chosen = [cells for size in range(6) for cells in combinations(others, size)]
    for cells in sorted(chosen, key=lambda cells: problem.weight[list(cells)].sum()):
        hidden = problem.hidden_at_start.copy()
        hidden[list(cells)] = True
        if all(is_protected(problem, Pattern.hiding(problem, hidden, "enumerated")).values()):
            return float(problem.weight[list(cells)].sum())
    raise AssertionError("no pattern of up to five more cells is safe")


@pytest.mark.parametrize("number", range(3))
@EVERY_METHOD
def test_enumeration_agrees(method: str, number: int) -> None:
    problem, least = tiny(number)
    result = suppress(problem, method)
    assert all(is_protected(problem, result.pattern).values())
    assert result.cost >= least
    assert result.lower_bound is None or result.lower_bound <= least * (1 + 1e-9)
    assert result.outcome != "optimal" or result.cost == least


# -- nothing can be done -------------------------------------------------------------------------------------


def all_but_one_frozen() -> Problem:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = np.where(problem.status == Status.PRIMARY, Status.PRIMARY, Status.FROZEN)
    return problem.replace(status=status.astype(np.int8))


def beyond_its_bounds() -> Problem:
    return two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 2), (1, 1): (1, 1)})


def neighbours_known_too_well() -> Problem:
    """The cell may move, but what stands around it cannot move as far."""
    problem = two_way([[40, 40, 40], [40, 40, 40]], primaries={(0, 0): (15, 15)})
    table = problem.table
    near = np.abs(table.values)
    ub = np.where(near == 40, 42, table.values + 1)
    lb = np.where(near == 40, 38, table.values - 1)
    cell = int(problem.primaries[0])
    ub[cell], lb[cell] = UNBOUNDED, 0
    return problem.replace(lb=lb, ub=ub)


def sliding_too_wide() -> Problem:
    problem = even(3, 3)
    cell = problem.table.cell("r1", "c1")
    value = int(problem.table.values[cell])
    problem = with_levels(problem, {cell: (1, 1, value + 20)})
    ub = problem.ub.copy()
    ub[cell] = value + 10
    return problem.replace(ub=ub)


HOPELESS = {
    "all but one frozen": (all_but_one_frozen, {"(r0, c0)"}),
    "beyond its bounds": (beyond_its_bounds, {"(r0, c0)"}),
    "neighbours known too well": (neighbours_known_too_well, {"(r0, c0)"}),
    "sliding too wide": (sliding_too_wide, {"(r1, c1)"}),
}


@pytest.mark.parametrize("kind", HOPELESS)
@EVERY_METHOD
def test_infeasible_problems_name_the_cells(method: str, kind: str) -> None:
    make, cells = HOPELESS[kind]
    with pytest.raises(InfeasibleError) as caught:
        suppress(make(), method)
    assert set(caught.value.cells) == cells


# -- limits and orders ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["flat 3-D", "two trees", "linked tables", "frozen cells", "instance file"])
@EVERY_METHOD
def test_out_of_time_is_safe_and_says_so(method: str, kind: str) -> None:
    problem = problem_of(kind)
    result = suppress(problem, method, time_limit=1e-9)
    check(problem, result)
    if (result.pattern.hidden != suppress(problem, method).pattern.hidden).any():
        assert "time limit" in result.reason


@EVERY_METHOD
def test_order_of_cells_does_not_matter_for_safety(method: str) -> None:
    problem = problem_of("two trees")
    table = problem.table
    order = np.random.default_rng(5).permutation(table.num_cells)
    shuffled = problem.replace(
        table=table.replace(
            keys=tuple(column[order] for column in table.keys),
            values=table.values[order],
            contributors=None,
            relations=table.relations.renumber(table.num_cells, np.argsort(order)),
        ),
        **{
            name: getattr(problem, name)[order]
            for name in ("status", "weight", "lb", "ub", "lpl", "upl", "spl")
        },
    )
    check(shuffled, suppress(shuffled, method))
