"""Problems of every kind that all methods are held to."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from cellveil.datasets import random_table, two_way
from cellveil.formats.jj import read_jj, write_jj
from cellveil.problem import Problem, Status
from cellveil.suppression import Suppression, suppress
from cellveil.tables.dimension import Dimension
from helpers.small_problems import small_table


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


SHORT: dict[str, dict[str, object]] = {"genetic": {"evaluations": 20}}
"""A search that has been through a few generations is as safe as a long one."""


@cache
def protected(method: str, kind: str) -> Suppression:
    """What the method finds without a time limit."""
    return suppress(problem_of(kind), method, attackers=[], seed=3, options=SHORT.get(method))
