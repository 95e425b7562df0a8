"""Loops of the methods for networks: witnesses by flows, free ones over hidden cells, or the cheapest.

Arcs are cells: a cell's movement flows from `tail` to `head` (−1: the cell is in no network). A witness for a
demand is a flow of the demanded amount through the cell's own arc that returns over other cells.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.ledger import LedgerArrays
from cellveil.loops.library import Arrays, Bool, Float, Int, loop
from cellveil.loops.min_cost_flow import Graph, Work

LINEAR, CYCLES, BOTH, FREE = range(4)
"""How to find a witness: by cheapest flows, by cheapest cycles, the better of both, or over hidden cells."""

TUNING = (*("first_slope", "slope_decline", "thresholds", "most_cycles", "near_share", "noise", "ahead"),)

FIRST_SLOPE, SLOPE_DECLINE, THRESHOLDS, MOST_CYCLES, NEAR_SHARE, NOISE, AHEAD = range(7)
"""Parameters that loops use, and their places in `Plan.tuning`."""

SPARE = 200
"""So many witnesses more must fit into the ledger before a search begins."""


@dataclass(frozen=True, eq=False)
class Plan(Arrays):
    """The graph, ends of the cells' arcs, the cells of the networks, weights to plan with, scratch space."""

    graph: Graph
    work: Work
    tail: Int
    head: Int
    cells: Int
    weight: Float
    largest: Int
    cost_up: Int
    cost_down: Int
    kept: Int
    kept_moves: Int
    path: Int
    tuning: Float


@loop
def take_free_all(ledger: LedgerArrays, plan: Plan, cells: Int, ups: Bool, begin: int) -> int:
    """Meet demands over hidden cells one after the other; return where to go on if the ledger is full."""


@loop
def take_paid(ledger: LedgerArrays, plan: Plan, cell: int, up: bool, way: int, rounds: int) -> int:
    """Meet a demand over hidden cells, or by a flow that hides as little weight as it can."""
