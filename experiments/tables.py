"""Tables as the papers describe theirs, and the measuring of one method on one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, prod
from typing import Any, TypeVar

import numpy as np

from cellveil.arrays import Int
from cellveil.datasets import random_table
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression import suppress
from cellveil.tables.build import assemble, roll_up
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

Item = TypeVar("Item")
Found = TypeVar("Found")

EMPTY = 0.3
"""Share of empty interior cells, where a paper does not tell."""


@dataclass(frozen=True)
class Setting:
    """How large and how often (the budget), which random numbers, and seconds for one run if given."""

    budget: str = "quick"
    seed: int = 1
    time_limit: float | None = None
    progress: Progress = field(default_factory=Progress)
    remarks: list[str] = field(default_factory=list)

    def each(self, items: Collection[Item], measure: Callable[[Item], Found]) -> list[Found]:
        """Measure one after the other; after an interrupt there is only what was found before it.

        Examples
        --------
        >>> Setting().each([1, 2, 3], lambda number: number * number)
        [1, 4, 9]
        """
        found: list[Found] = []
        try:
            for item in () if self.was_interrupted else items:
                found.append(measure(item))
                self.progress.advance(len(found), len(items))
        except KeyboardInterrupt:
            if not found:
                raise
            self.remarks.append(f"Interrupted when {len(found)} of {len(items)} were done.")
        return found

    @property
    def was_interrupted(self) -> bool:
        """Whether figures are missing."""
        return bool(self.remarks)

    def seconds(self, usual: Mapping[str, float]) -> float:
        """What one run may take: as given, or as usual with this budget."""
        return usual[self.budget] if self.time_limit is None else self.time_limit


@dataclass(frozen=True)
class Shape:
    """Sizes with totals, which axes are trees, and the share of primary cells (None: drawn)."""

    sizes: tuple[int, ...]
    trees: tuple[int, ...] = ()
    share: float | None = None

    def __str__(self) -> str:
        return "×".join(f"{size}{'H' if k in self.trees else ''}" for k, size in enumerate(self.sizes))

    @property
    def places(self) -> int:
        """Cells with the empty ones."""
        return prod(self.sizes)

    def shrunk(self, most: int) -> Shape:
        """The same form with at most so many places; all sides shrink alike, as far as they can."""
        factor, sizes = 1.0, self.sizes
        while prod(sizes) > most and factor > 0.01:
            factor *= 0.97
            sizes = tuple(
                max(7 if k in self.trees else 4, round(size * factor)) for k, size in enumerate(self.sizes)
            )
        return Shape(sizes, self.trees, self.share)

    def problem(self, seed: int) -> Problem:
        """A table of this shape; where the share of primaries is given, contributors are chosen for it."""
        if self.share is None:
            rng = np.random.default_rng(seed)
            contributors, zeros = float(rng.uniform(1.5, 5.0)), float(rng.uniform(0.0, 0.5))
        else:
            contributors, zeros = contributors_for(self.share), EMPTY
        return random_table(
            self.sizes, hierarchical=self.trees, contributors=contributors, zeros=zeros, seed=seed
        )


def contributors_for(share: float) -> float:
    """The mean number of contributors at which a share of all places has one or two.

    Examples
    --------
    >>> round(contributors_for(0.2), 1)
    3.5
    """
    low, high = 2**0.5, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        found = (1 - EMPTY) * exp(-middle) * (middle + middle**2 / 2)
        low, high = (middle, high) if found > share else (low, middle)
    return low


@dataclass(frozen=True, eq=False)
class Contributors:
    """Records of a three-way table: the interior cell of each contributor, and its amount."""

    sizes: tuple[int, ...]
    cells: Int
    amounts: Int

    @classmethod
    def invented(cls, sizes: tuple[int, ...], seed: int) -> Contributors:
        """Poisson numbers of contributors of 1/−log r each, 30 % of the interior empty."""
        rng = np.random.default_rng(seed)
        inside = prod(size - 1 for size in sizes)
        counts = np.where(rng.random(inside) < EMPTY, 0, rng.poisson(4.0, inside))
        amounts = np.ceil(-100 / np.log(rng.random(int(counts.sum())))).astype(np.int64)
        return cls(sizes, np.repeat(np.arange(inside), counts), amounts)

    def resampled(self, seed: int) -> Problem:
        """The table of as many contributors drawn with replacement: fewer than three make a cell primary."""
        drawn = np.random.default_rng(seed).integers(0, len(self.cells), len(self.cells))
        cells, where = np.unique(self.cells[drawn], return_inverse=True)
        counts = np.bincount(where)
        values = np.zeros(len(cells), dtype=np.int64)
        np.add.at(values, where, self.amounts[drawn])
        dimensions = [
            Dimension.of(f"d{axis + 1}", Hierarchy.flat(f"{code:03d}" for code in range(1, size)))
            for axis, size in enumerate(self.sizes)
        ]
        places = np.unravel_index(cells, [size - 1 for size in self.sizes])
        leaves = [np.flatnonzero(~dimension.is_parent).astype(np.int32) for dimension in dimensions]
        keys = [codes[place] for codes, place in zip(leaves, places, strict=True)]
        all_keys, (sums, numbers) = roll_up(dimensions, keys, [values, counts])
        table = assemble(dimensions, all_keys, sums, 0, contributors=numbers)
        levels = -(-table.values // 10)
        chosen = np.flatnonzero(numbers < 3).tolist()
        return Problem.of(table, {cell: (int(levels[cell]), int(levels[cell])) for cell in chosen})


def measured(
    problem: Problem,
    method: str,
    *,
    options: Mapping[str, object] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """One run: cost of primaries and secondaries, seconds, processor time, and whether it is safe."""
    start, cpu = time.perf_counter(), time.process_time()
    found = suppress(
        problem, method, attackers=[], options=options, time_limit=time_limit, seed=seed, workers=1
    )
    if found.was_interrupted:
        raise KeyboardInterrupt
    return {
        "cost": found.cost + float(problem.weight[problem.primaries].sum()),
        "secondaries": int(found.pattern.hidden.sum()) - len(problem.primaries),
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "safe": found.is_safe,
        "reason": found.reason,
        "outcome": found.outcome,
    }


def wilcoxon(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Two-sided significance of the signed ranks of paired figures; None where they do not differ."""
    from scipy.stats import wilcoxon as test

    if not np.any(np.asarray(first) != np.asarray(second)):
        return None
    return float(test(first, second).pvalue)
