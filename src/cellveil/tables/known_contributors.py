"""Which contributors of a table are known as attackers, with which parts, and as far as what is given goes.

Microdata list the largest contributions of every cell with the ids of those who made them, or with numbers of
the records. Ready-made tables have no ids. Then contributors are told apart by the numbers of contributors:

* a cell with one contributor is all that this contributor has there, and the value of the cell is its part;
* where a total has one contributor, the cells that it is the sum of have the same one;
* where a total has as many contributors as the cells that it is the sum of have together, nobody stands in
  two of these, so that the largest contributions of the total are the largest of theirs;
* else, where no contribution is negative, a contributor has at least as much in the total as in a part of it:
  where only one of the largest contributions of the total is that large, it is the same contributor's.

Whoever is not recognised by these is another contributor in each cell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cellveil.arrays import Int
from cellveil.tables.contributions import RECORD, Contributions
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table
from cellveil.tables.totals import plain_sums, stand_once


def known_contributors(table: Table, level: str = "unit") -> Contributions | None:
    """The contributions of units or holdings to the values of the table; None where nothing is known.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.dimension import Dimension
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> region = Dimension.of("region", Hierarchy.of({"N": ["N1", "N2"], "S": ["S1", "S2"]}))
    >>> table = table_from_interior([region], {"region": ["N1", "N2", "S1", "S2"]}, [4, 5, 6, 7])
    >>> known_contributors(table) is None
    True
    >>> counts = {"Total": 4, "N": 1, "N1": 1, "N2": 1, "S": 3, "S1": 1, "S2": 2}
    >>> counted = table.replace(contributors=np.array([counts[code] for code in table.codes(0)]))
    >>> known = known_contributors(counted)
    >>> known.only_single, [known.names[known.who[counted.cell(code), 0]] for code in ("N", "N2", "S1")]
    (True, ['the contributor of (N)', 'the contributor of (N)', 'the contributor of (S1)'])
    """
    found: dict[str, Contributions | None] = vars(table).setdefault("_known_contributors", {})
    if level not in found:  # kept with the table: audits come here again and again
        found[level] = _known_contributors(table, level)
    return found[level]


def _known_contributors(table: Table, level: str) -> Contributions | None:
    given = table.holdings if level == "holding" else table.units
    if given is not None and _adds_up(table, given):
        return given if _all_named(given) else _told_apart(table, given)
    counts = table.contributors if given is None and level == "unit" else getattr(given, "count", None)
    if counts is None or not (counts == 1).any():
        return None
    return _single(table, counts, given)


def recognises_everybody(table: Table, known: Contributions) -> bool:
    """Whether a contributor that stands in several cells is known to be the same one."""
    if known.only_single:
        return False
    given = next((one for one in (table.units, table.holdings) if one is known), None)
    return given is not None or stand_once(table.relations, known.count)


def of_records(known: Contributions) -> bool:
    """Whether the contributors are records, as `cellveil.microdata` names these where there are no ids."""
    return bool(known.names) and all(name.startswith(RECORD) for name in known.names)


def numbered_apart(known: Contributions) -> bool:
    """Whether the contributors are records of several tables that number them each in their own way."""
    return of_records(known) and len({name.partition(" (")[2] for name in known.names}) > 1


def _adds_up(table: Table, known: Contributions) -> bool:
    """Whether the contributions are those of the published variable."""
    digits = table.decimals - known.decimals
    total = known.total.astype(object) * 10**digits if digits > 0 else known.total
    return digits >= 0 and bool(np.all(total == table.values))


def _all_named(known: Contributions) -> bool:
    parts, who = known.largest_parts
    present = np.arange(parts.shape[1])[None, :] < np.minimum(known.count, parts.shape[1])[:, None]
    return not bool((present & (who < 0)).any())


def _single(table: Table, counts: Int, given: Contributions | None) -> Contributions:
    """Contributors that alone make up cells; of the other contributors nothing is known."""
    alone = counts == 1
    if given is not None and bool((given.who[alone, 0] >= 0).all()):  # of another variable, with ids
        first, place = np.unique(given.who[alone, 0], return_inverse=True)
        names = [given.names[one] for one in first.tolist()]
    else:
        _, first, place = np.unique(
            _linked(table.relations, alone)[alone], return_index=True, return_inverse=True
        )
        cells = np.flatnonzero(alone)[first]
        names = [f"the contributor of {name}" for name in table.cell_names(cells)]
    who = np.full(table.num_cells, len(names), dtype=np.int32)
    who[alone] = place.ravel()
    several = np.flatnonzero(~alone & (counts != 0))
    who[several] = len(names) + np.arange(len(several))
    who[counts == 0] = -1
    names += [f"a contributor of {name}" for name in table.cell_names(several)]
    return Contributions(
        table.decimals,
        np.where(counts < 0, 2, counts),  # not known: not alone, as far as anybody can tell
        table.values,
        np.abs(table.values),
        np.where(alone, np.abs(table.values), 0)[:, None],
        who[:, None],
        tuple(names),
        only_single=True,
    )


def _linked(relations: Relations, alone: np.ndarray) -> Int:
    """For each cell the number of a group: in one group, cells with one contributor have the same one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = [
        (total, part)
        for total, sums in plain_sums(relations).items()
        if alone[total]
        for parts in sums
        for part in parts
        if alone[part]
    ]
    size = relations.num_cells
    one, other = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    _, groups = connected_components(coo_array((np.ones(len(one)), (one, other)), (size, size)), False)
    return np.asarray(groups, dtype=np.int64)


def _told_apart(table: Table, known: Contributions) -> Contributions:
    """Numbers for contributors without ids: the same number is the same contributor, as far as that shows."""
    parts, who = known.largest_parts
    sums = plain_sums(table.relations)
    alike = _AlikeParts(parts, known.count, adds=bool((known.total == known.absolute).all()))
    for cell in _parts_first(sums, table.num_cells):
        for below in sums.get(cell, ()):
            alike.recognise(cell, below)
    found, names = who.astype(np.int64), list(known.names)
    of_group: dict[int, int] = {}
    for cell, rank in np.argwhere((found < 0) & alike.present).tolist():
        group = alike.group(cell, rank)
        if group not in of_group:
            of_group[group] = len(names)
            names.append(f"contributor {rank + 1} of {table.cell_name(cell)}")
        found[cell, rank] = of_group[group]
    ids = found.astype(np.int32)
    if known.part_who is None:
        return replace(known, who=ids, names=tuple(names))
    return replace(known, part_who=ids, names=tuple(names))


class _AlikeParts:
    """Which of the largest contributions of cells are those of one contributor.

    Parameters
    ----------
    parts, count
        The largest contributions of each cell, and how many there are in all.
    adds
        Whether no contribution is negative, so that a contributor has no less in a sum than in its parts.
    """

    def __init__(self, parts: Int, count: Int, *, adds: bool) -> None:
        self.parts, self.count, self.adds = parts, count, adds
        self.depth = parts.shape[1]
        self.present = np.arange(self.depth)[None, :] < np.minimum(count, self.depth)[:, None]
        self.above: dict[int, int] = {}

    def group(self, cell: int, rank: int) -> int:
        """A number that contributions of one contributor have in common."""
        node: int = cell * self.depth + rank
        while node in self.above:
            node = self.above[node]
        return node

    def recognise(self, total: int, below: list[int]) -> None:
        """Find the contributors of the parts of a sum among the largest of the sum."""
        ranks = np.flatnonzero(self.present[total]).tolist()
        stands_once = int(self.count[below].sum()) == int(self.count[total])
        taken: set[int] = set()
        for cell in below:
            own: set[int] = set()
            for rank in np.flatnonzero(self.present[cell]).tolist():
                amount = self.parts[cell, rank]
                same = [r for r in ranks if self.group(total, r) == self.group(cell, rank)]
                if not same and stands_once:
                    same = [r for r in ranks if self.parts[total, r] == amount and r not in taken][:1]
                elif not same and self.adds:
                    same = [r for r in ranks if self.parts[total, r] >= amount and r not in own]
                    if len(same) > 1 or (self.count[total] > self.depth and amount <= self.parts[total, -1]):
                        same = []
                for place in same:
                    own.add(place)
                    taken.add(place)
                    one, other = self.group(total, place), self.group(cell, rank)
                    if one != other:
                        self.above[max(one, other)] = min(one, other)


def _parts_first(sums: dict[int, list[list[int]]], size: int) -> list[int]:
    """All cells, each behind the cells that it is the sum of."""
    order: list[int] = []
    seen = np.zeros(size, dtype=bool)
    stack = [(cell, False) for cell in reversed(range(size))]
    while stack:
        cell, is_done = stack.pop()
        if is_done:
            order.append(cell)
        elif not seen[cell]:
            seen[cell] = True
            stack.append((cell, True))
            stack += [(part, False) for below in sums.get(cell, ()) for part in below if not seen[part]]
    return order
