"""Simulated annealing of a kernel vector's support by pivots of a null-space tableau."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.loops.library import Arrays, Bool, Float, Int, Int32, Int32Table, loop


@dataclass(frozen=True, eq=False)
class Space(Arrays):
    """Space of the loops: of the length of the cells, or a power of two at least twice as long."""

    filled: Int
    keys: Int
    sums: Float
    first: Int
    stamps: Int
    trial: Int
    entries: Int


@dataclass(frozen=True, eq=False)
class Chain(Arrays):
    """The state of an annealing: columns, the cells they stand for, the best vector so far.

    `costs` are weight and shortfall of the present vector, then of the best one, and what a group of cells
    may weigh at most, as far as has been seen.
    """

    columns: Int32Table
    basic: Int
    best: Int32
    costs: Float


@dataclass(frozen=True, eq=False)
class Goal(Arrays):
    """Weights, demands and capacities by the places of the cells; `places` are those with a demand."""

    weight: Float
    is_primary: Bool
    places: Int
    need_up: Float
    need_down: Float
    up: Float
    down: Float


@loop
def settle(columns: Int32Table, order: Int, primaries: Int, basic: Int, filled: Int) -> None:
    """Publish cells in turn, each unless the last column would miss a primary; all columns are kept up."""


@loop
def anneal(
    chain: Chain, goal: Goal, space: Space, heats: Float, turns: float, price: float, rng: np.random.Generator
) -> int:
    """One trial at each temperature; falling short of a demand has a price."""


@loop
def shortfall(columns: Int32Table, goal: Goal, space: Space, rng: np.random.Generator) -> float:
    """Of the last column as it is."""


@loop
def install(columns: Int32Table, best: Int32, basic: Int, filled: Int) -> None:
    """Put another deviation last, and let columns stand for cells that it does not move where they can."""
