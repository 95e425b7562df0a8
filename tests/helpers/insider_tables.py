"""Random small tables of contributors, protected against insiders, beside the least cost there is."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

import cellveil as cv
from cellveil.arrays import Bool
from cellveil.attackers.attacker import Attacker
from cellveil.problem import Problem
from helpers.insider_judge import Contributed, Key, broken
from helpers.insider_optimum import optimum

SHAPES = ((4, 4), (5, 3), (6, 3), (3, 2, 2))
PERCENT = 10


@dataclass(frozen=True)
class Beside:
    """What a table costs, the least there is (None where nothing protects it), and whether it is unsafe."""

    cost: float
    least: float | None
    unsafe: bool
    seconds: float


def small_table(seed: int, depth: int = 40) -> tuple[Problem, Contributed]:
    """A random table: as a problem, and as its contributions; two of three have firms in several cells.

    `depth` contributions of each cell are listed in the problem.
    """
    rng = np.random.default_rng(seed)
    codes = [[f"{'abc'[d]}{i}" for i in range(size)] for d, size in enumerate(SHAPES[seed % 4])]
    firms = int(rng.integers(6, 14))
    records = []
    for number in range(int(rng.integers(1, 4) * np.prod(SHAPES[seed % 4]) / 1.5) + 4):
        key: Key = tuple(str(rng.choice(some)) for some in codes)
        who = f"f{rng.integers(firms) if seed % 3 else number}"
        records.append((who, key, int(np.ceil(np.exp(rng.normal(3, 1.4))))))
    names = [f"d{d}" for d in range(len(codes))]
    frame = pd.DataFrame([[who, *key, amount] for who, key, amount in records], columns=["firm", *names, "x"])
    dims = [cv.Dimension.of(name, cv.Hierarchy.flat(some)) for name, some in zip(names, codes, strict=True)]
    table = cv.tabulate(frame, dims, "x", contributor="firm", depth=depth)
    problem = cv.make_problem(table, cv.PPercent(PERCENT))
    return problem, Contributed([{"Total": some} for some in codes], records, PERCENT)


def beside_the_optimum(seed: int) -> Beside:
    """Protect a random table against outsiders and single contributors, and find the least cost."""
    problem, known = small_table(seed)
    table = problem.table
    weight = {table.key(cell): float(problem.weight[cell]) for cell in range(table.num_cells)}
    attacks = list(known.attacks(known.groups(), known.primaries))
    best = optimum(known, weight, attacks)
    began = time.process_time()
    found = cv.suppress(problem, attackers=[Attacker("insider")])
    seconds = time.process_time() - began
    through = broken(known, hidden_keys(problem, found.pattern.hidden, known), attacks)
    is_unsafe = best is not None and (bool(through) or not found.audit.is_safe)
    return Beside(found.cost, None if best is None else _cost(known, weight, best), is_unsafe, seconds)


def hidden_keys(problem: Problem, hidden: Bool, known: Contributed) -> set[Key]:
    """The codes of hidden cells to which somebody contributes."""
    return {problem.table.key(int(cell)) for cell in np.flatnonzero(hidden)} & set(known.parts)


def _cost(known: Contributed, weight: dict[Key, float], hidden: set[Key]) -> float:
    return sum(weight[cell] for cell in hidden if cell not in known.primaries)
