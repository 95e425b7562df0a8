"""Information loss by code: in which dimension, and at which of its codes, hidden cells weigh most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.pattern import Pattern
from cellveil.problem import Problem

MUCH = 25.0
"""From this share of hidden cells or values on, in per cent, much is hidden."""

MOST_CODES = 3
"""Codes of a dimension that are named."""


@dataclass(frozen=True)
class CostlyCode:
    """A code at which much is hidden.

    Parameters
    ----------
    hidden, cells
        How many cells with this code are hidden, and how many there are.
    share
        Their share of the weights of all hidden cells, primary and secondary.
    """

    code: str
    hidden: int
    cells: int
    share: float


@dataclass(frozen=True)
class CostlyDimension:
    """A dimension and those of its codes that cost most, dearest first.

    Codes that are sums of others are left out: it is the detail that costs.
    """

    name: str
    codes: tuple[CostlyCode, ...]

    @property
    def share(self) -> float:
        """What its named codes make up of the loss."""
        return sum(code.share for code in self.codes)


def costly_dimensions(problem: Problem, pattern: Pattern) -> list[CostlyDimension]:
    """Dimensions by what their dearest codes make up of the weights of hidden cells, dearest first.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> hidden = problem.hidden_at_start.copy()
    >>> hidden[[problem.table.cell(*key) for key in (("r0", "c2"), ("r1", "c0"), ("r1", "c2"))]] = True
    >>> [dimension.name for dimension in costly_dimensions(problem, Pattern.hiding(problem, hidden, "x"))]
    ['row', 'column']
    >>> costly_dimensions(problem, Pattern.hiding(problem, hidden, "x"))[0].codes[0]
    CostlyCode(code='r0', hidden=2, cells=4, share=0.5)
    """
    table = problem.table
    loss = np.where(pattern.hidden, problem.weight, 0.0)
    whole = float(loss.sum())
    if not table.is_structured or whole <= 0:
        return []
    found = []
    for dimension, keys in zip(table.dimensions, table.keys, strict=True):
        size = len(dimension)
        cost = np.bincount(keys, weights=loss, minlength=size)
        hidden = np.bincount(keys, weights=pattern.hidden, minlength=size)
        cells = np.bincount(keys, minlength=size)
        leaves = np.flatnonzero(~dimension.is_parent & (cost > 0))
        if (~dimension.is_parent).sum() < 2 or not len(leaves):
            continue
        dearest = leaves[np.argsort(-cost[leaves], kind="stable")][:MOST_CODES].tolist()
        codes = [
            CostlyCode(dimension.codes[code], int(hidden[code]), int(cells[code]), float(cost[code]) / whole)
            for code in dearest
        ]
        found.append(CostlyDimension(dimension.name, tuple(codes)))
    return sorted(found, key=lambda dimension: -dimension.share)
