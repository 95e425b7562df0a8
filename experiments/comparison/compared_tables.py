"""The tables of the comparison: public instances and generated ones, by family, small to large."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cellveil.errors import InputError, nearest_name

if TYPE_CHECKING:
    from cellveil.problem import Problem

INSTANCES = Path(os.environ.get("CELLVEIL_INSTANCES") or Path(__file__).parents[3] / "shared" / "instances")
"""Where the public instances are."""

SETS = ("tiny", "small", "medium", "large")
"""Up to about 100, 1,500, 12,000 and 200,000 cells."""


@dataclass(frozen=True)
class ComparedTable:
    """One table: what it is called, its family and set, how it is made.

    Parameters
    ----------
    what
        How it is made, for a reader: shape and seed, or the file.
    make
        Makes it; None for a public instance, which is read from `file`.
    """

    name: str
    family: str
    set: str
    what: str
    make: Callable[[], Problem] | None = None
    file: str = ""

    @property
    def path(self) -> Path:
        """The file of a public instance."""
        return INSTANCES / self.file

    @property
    def missing(self) -> str:
        """Why it cannot be had here, in words; empty where it can."""
        if self.make is not None or self.path.is_file():
            return ""
        return f"no file {self.file} in the folder of public instances (CELLVEIL_INSTANCES)"

    def problem(self) -> Problem:
        """The table with its primary cells, levels and weights."""
        if self.make is not None:
            return self.make()
        from cellveil.formats.instance import read_instance

        return read_instance(self.path)


def _public(name: str, set_: str, what: str, family: str = "public") -> ComparedTable:
    return ComparedTable(name, family, set_, what, file=f"csp/{name}.jj")


def _random(
    sizes: Sequence[int],
    family: str,
    set_: str,
    seed: int,
    *,
    trees: Sequence[int] = (),
    contributors: float = 3.0,
) -> ComparedTable:
    def make() -> Problem:
        from cellveil.datasets import random_table

        return random_table(sizes, hierarchical=trees, contributors=contributors, seed=seed)

    shape = "x".join(f"{size}{'H' if axis in trees else ''}" for axis, size in enumerate(sizes))
    what = f"random_table, {contributors:g} contributors, seed {seed}"
    return ComparedTable(f"{shape} s{seed}", family, set_, what, make)


def _counts(sizes: Sequence[int], set_: str, seed: int) -> ComparedTable:
    """A frequency table: values are numbers of contributors, cells of one or two are primary."""

    def make() -> Problem:
        from cellveil.datasets import random_table
        from cellveil.datasets.random_tables import with_primaries

        problem = random_table(sizes, contributors=6.0, seed=seed)
        assert problem.table.contributors is not None
        counts = problem.table.replace(values=problem.table.contributors)
        return with_primaries(counts, problem.primaries, 0.1, "value")

    shape = "x".join(map(str, sizes))
    return ComparedTable(f"{shape} counts s{seed}", "counts", set_, f"6 contributors, seed {seed}", make)


def _linked(cells: int, tables: int, set_: str, seed: int) -> ComparedTable:
    def make() -> Problem:
        from cellveil.datasets.linked_tables import publication

        return publication(cells, tables=tables, seed=seed)

    what = f"publication, {tables} linked tables, seed {seed}"
    return ComparedTable(f"{tables} linked, {cells} s{seed}", "linked", set_, what, make)


TABLES: tuple[ComparedTable, ...] = (
    _random((6, 5), "two-way", "tiny", 1),
    _random((4, 4, 3), "three-way", "tiny", 1),
    _random((12, 10), "two-way", "small", 1),
    _random((20, 25), "two-way", "small", 2),
    _random((40, 30), "two-way", "small", 3),
    _random((24, 21), "hierarchical", "small", 1, trees=(0,)),
    _random((30, 20), "hierarchical", "small", 2, trees=(0, 1)),
    _random((8, 8, 8), "three-way", "small", 1),
    _random((13, 11, 9), "three-way", "small", 2),
    _random((13, 9, 5), "hierarchical", "small", 3, trees=(0, 1)),
    _counts((20, 25), "small", 1),
    _counts((12, 10, 8), "small", 2),
    _linked(500, 4, "small", 1),
    _public("targus", "small", "9×18, hierarchical"),
    _public("table7", "small", "shape not known"),
    _public("hie1372d", "small", "13×7×7, hierarchical"),
    _public("hie1327d", "small", "13×13×7, hierarchical"),
    _public("table8", "small", "31×41"),
    _random((70, 70), "two-way", "medium", 1),
    _random((60, 40), "hierarchical", "medium", 4, trees=(0, 1)),
    _random((17, 17, 17), "three-way", "medium", 1),
    _random((40, 20, 6), "hierarchical", "medium", 5, trees=(0, 1)),
    _counts((20, 15, 10), "medium", 3),
    _linked(3_000, 10, "medium", 1),
    _public("table1", "medium", "shape not known"),
    _public("hier13", "medium", "13×13×13, hierarchical"),
    _public("hier133a", "medium", "13×13×13, hierarchical, with zeros"),
    _public("hier16", "medium", "16×16×16, hierarchical"),
    _public("two5in6", "medium", "linked, hierarchical"),
    _public("ninenew", "medium", "linked, hierarchical"),
    _public("nine12", "medium", "linked, hierarchical"),
    _public("osorio", "medium", "101×101, margins fixed"),
    _public("cbs", "medium", "61×183"),
    _random((300, 300), "two-way", "large", 1),
    _random((100, 27, 18), "three-way", "large", 1),
    _random((100, 81, 22), "hierarchical", "large", 1, trees=(1, 2)),
    _linked(20_000, 30, "large", 1),
)


def chosen_tables(sets: Sequence[str], names: Sequence[str] = ()) -> list[ComparedTable]:
    """The tables of some sets, or those with these names.

    Examples
    --------
    >>> [table.name for table in chosen_tables(["tiny"])]
    ['6x5 s1', '4x4x3 s1']
    """
    for given, known in ((sets, SETS), (names, [table.name for table in TABLES])):
        for name in given:
            if name not in known:
                raise InputError(f"unknown name {name!r}", remedy=nearest_name(name, list(known)))
    return [table for table in TABLES if (table.name in names if names else table.set in sets)]
