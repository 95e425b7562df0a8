"""A statistical publication of an invented country: dozens of linked tables, tabulated from the same firms.

Six classifications, three of them hierarchical and one with two trees, are crossed in pairs and triples, each
at some level of detail. The tables share their margins, but nothing publishes the cross-classification of
all, so that they have no common product structure. Amounts have a heavy tail, and codes are skewed: many
cells have one or two contributors, or one that dominates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from cellveil.datasets.draw import choose, normal
from cellveil.datasets.random_tables import random_tree
from cellveil.errors import InputError
from cellveil.microdata.tabulate import tabulate
from cellveil.params import Params, param
from cellveil.problem import Problem
from cellveil.rules.apply import make_problem
from cellveil.rules.concentration import PPercent
from cellveil.rules.frequency import Threshold
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

CLASSIFICATIONS: Mapping[str, tuple[int, int]] = {
    "industry": (130, 3),
    "region": (70, 3),
    "product": (40, 2),
    "size": (8, 1),
    "form": (6, 1),
    "age": (7, 1),
}
"""Codes of each, total included, and levels below the total."""

IN_TWO_TREES = "region"
"""The classification whose finest codes also fall into kinds."""


@dataclass(frozen=True, kw_only=True)
class PublicationParams(Params):
    """What the firms of a publication are like."""

    firms: float = param(33.333, "Firms for each cell of one table, on average.", least=0)
    shared: float = param(
        1.6, "Cells of all tables one by one, with empty ones, for each cell of them together.", least=1
    )
    spread: float = param(1.0, "How much the logarithms of the sizes of tables differ.", least=0)
    skew: float = param(0.8, "The k-th code of a classification has a share of 1 / k to this power.", least=0)
    tail: float = param(1.9, "Standard deviation of the logarithms of amounts.", least=0)
    kinds: int = param(5, "Codes of the second tree of the classification that has one.", least=2)


@dataclass(frozen=True, eq=False)
class _Cut:
    """A classification down to some level, and the column with its codes there."""

    dimension: Dimension
    column: str


def publication(
    cells: int = 50_000, *, tables: int = 50, seed: int = 0, params: PublicationParams | None = None
) -> Problem:
    """Make linked tables of about so many cells together, with primaries by p% and a threshold.

    Parameters
    ----------
    cells
        Distinct cells of all tables, about.
    seed
        Same seed, same tables.

    Examples
    --------
    >>> publication(1_000, tables=6, seed=1)
    Problem(1384 cells, 66 primary, 0 frozen)
    """
    parts = publication_tables(cells, tables=tables, seed=seed, params=params)
    return make_problem(link(parts), PPercent(10) | Threshold(3))


def publication_tables(
    cells: int = 50_000, *, tables: int = 50, seed: int = 0, params: PublicationParams | None = None
) -> list[Table]:
    """The tables of `publication`, one by one."""
    if cells < 1 or tables < 1:
        raise InputError("a publication needs cells and tables", remedy="Give positive numbers.")
    params, rng = params or PublicationParams(), np.random.default_rng(seed)
    cuts = _cuts(rng, params)
    frame = _firms(cuts, max(round(params.firms * cells / tables), 1), rng, params)
    return [
        tabulate(
            frame,
            [cut.dimension for cut in chosen],
            "amount",
            contributor="firm",
            columns={cut.dimension.name: cut.column for cut in chosen},
        )
        for chosen in _chosen(cuts, params.shared * cells / tables, tables, rng, params)
    ]


def _cuts(rng: np.random.Generator, params: PublicationParams) -> dict[str, list[_Cut]]:
    """Every classification at every level, the coarsest first; one has two trees at the finest."""
    cuts: dict[str, list[_Cut]] = {}
    for name, (size, levels) in CLASSIFICATIONS.items():
        tree = random_tree(size, levels, rng)
        cuts[name] = [
            _Cut(Dimension.of(name, _down_to(tree, level)), f"{name}{level}")
            for level in range(1, levels + 1)
        ]
        if name == IN_TWO_TREES:
            second = _by_kind(tree, choose(rng, np.ones(params.kinds), len(tree.leaves)).tolist())
            cuts[name].append(_Cut(Dimension.of(name, tree, second), f"{name}{levels}"))
    return cuts


def _down_to(tree: Hierarchy, level: int) -> Hierarchy:
    """The codes of the tree down to a level: codes have a part for each level below the total."""
    return Hierarchy.from_pairs(pair for pair in tree.pairs() if pair[1].count(".") < level)


def _by_kind(tree: Hierarchy, kinds: Sequence[int]) -> Hierarchy:
    """The leaves of the tree by the kind of each."""
    above = [(tree.root, f"kind {kind}") for kind in sorted(set(kinds))]
    below = [(f"kind {kind}", leaf) for kind, leaf in zip(kinds, tree.leaves, strict=True)]
    return Hierarchy.from_pairs([*above, *below])


def _firms(
    cuts: Mapping[str, Sequence[_Cut]], firms: int, rng: np.random.Generator, params: PublicationParams
) -> pa.Table:
    """One row for each firm: its number, its code on each level of each classification, its amount."""
    import pyarrow as pa

    columns: dict[str, pa.Array] = {"firm": pa.array(np.arange(firms))}
    for name, (_, levels) in CLASSIFICATIONS.items():
        leaves = np.array(cuts[name][levels - 1].dimension.hierarchies[0].leaves)
        shares = rng.permutation(np.arange(1.0, len(leaves) + 1) ** -params.skew)
        codes = leaves[choose(rng, shares, firms)].tolist()
        for level in range(1, levels + 1):
            columns[f"{name}{level}"] = pa.array([".".join(code.split(".")[:level]) for code in codes])
    amounts = np.ceil(100.0 * np.exp(params.tail * normal(rng, firms))).astype(np.int64)
    return pa.table(columns | {"amount": pa.array(amounts)})


def _chosen(
    cuts: Mapping[str, Sequence[_Cut]],
    cells: float,
    tables: int,
    rng: np.random.Generator,
    params: PublicationParams,
) -> list[tuple[_Cut, ...]]:
    """Different pairs and triples of classifications that have about so many cells."""
    offered = [
        chosen
        for count in (2, 3)
        for names in combinations(cuts, count)
        for chosen in product(*(cuts[name] for name in names))
    ]
    if len(offered) < tables:
        raise InputError(f"there are only {len(offered)} different tables", remedy="Ask for fewer.")
    sizes = np.array([prod(len(cut.dimension) for cut in chosen) for chosen in offered])
    off = np.abs(np.log(sizes / cells)) + params.spread * rng.random(len(offered))
    return [offered[number] for number in np.sort(np.argsort(off, kind="stable")[:tables]).tolist()]
