"""A judge of insiders that works on contributions alone: no object of the package is used.

From records (contributor, codes, amount) and the trees of codes it rebuilds cells, relations and own parts.
A group of contributors S (one of them, a holding, a coalition) knows its own parts. Under the p% rule, with g
the largest contributor of cell t outside S, cell t must be able to rise for S by

    D_S(t) = p · x_g − (X − x_g − own_S(t)), at most the level of the cell, at least 0,

and to fall by as much, or to own_S(t). Linear programs over the hidden cells decide, one for each group, cell
and direction. Contributions are not negative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import ceil

import highspy
import numpy as np

Key = tuple[str, ...]
Group = frozenset[str]
Tree = Mapping[str, Sequence[str]]
OUTSIDER: Group = frozenset()


@dataclass(frozen=True)
class Attack:
    """A group, the cell that it attacks, which way, and how far the cell must be able to move."""

    group: Group
    cell: Key
    up: bool
    amount: int


@dataclass(eq=False)
class Contributed:
    """A table as its contributions make it.

    Parameters
    ----------
    trees
        For each dimension the children of each code that has some.
    records
        Contributor, codes of the finest cell, amount.
    percent
        Of the p% rule.
    others
        Further trees over the same finest codes, with the dimension of each.
    """

    trees: Sequence[Tree]
    records: Iterable[tuple[str, Key, int]]
    percent: int
    parts: dict[Key, dict[str, int]] = field(default_factory=dict)
    others: Sequence[tuple[int, Tree]] = ()

    def __post_init__(self) -> None:
        parents: list[dict[str, list[str]]] = [{} for _ in self.trees]
        for dim, tree in self.every_tree:
            for code, children in tree.items():
                for child in children:
                    parents[dim].setdefault(child, []).append(code)
        lines: dict[tuple[int, str], list[str]] = {}
        for who, key, amount in self.records:
            for cell in product(*(self._line(lines, parents, d, code) for d, code in enumerate(key))):
                mine = self.parts.setdefault(cell, {})
                mine[who] = mine.get(who, 0) + amount

    @staticmethod
    def _line(
        lines: dict[tuple[int, str], list[str]], parents: list[dict[str, list[str]]], dim: int, code: str
    ) -> list[str]:
        """A code and all codes above it."""
        if (dim, code) not in lines:
            found = [code]
            for one in found:
                found += [above for above in parents[dim].get(one, ()) if above not in found]
            lines[dim, code] = found
        return lines[dim, code]

    @property
    def every_tree(self) -> list[tuple[int, Tree]]:
        """All trees, with their dimensions."""
        return [*enumerate(self.trees), *self.others]

    @cached_property
    def values(self) -> dict[Key, int]:
        """The sum of each cell to which somebody contributes."""
        return {cell: sum(parts.values()) for cell, parts in self.parts.items()}

    @cached_property
    def ranked(self) -> dict[Key, list[tuple[int, str]]]:
        """The contributors of each cell, the largest first."""
        return {
            cell: sorted(((part, who) for who, part in parts.items()), reverse=True)
            for cell, parts in self.parts.items()
        }

    def level(self, cell: Key) -> int:
        """What the p% rule asks of the cell; 0 where it is safe."""
        return self._asked(cell, frozenset(who for _, who in self.ranked[cell][1:2]))

    @cached_property
    def primaries(self) -> dict[Key, int]:
        """The unsafe cells, with their levels."""
        found = {cell: self.level(cell) for cell in self.parts}
        return {cell: level for cell, level in found.items() if level > 0}

    def demand(self, cell: Key, group: Group, *, up: bool) -> int:
        """How far a primary cell must be able to move for the group; outsiders are asked the level."""
        asked = self.primaries[cell]
        if group:
            asked = min(asked, self._asked(cell, group))
        return asked if up else min(asked, self.values[cell] - self.own(cell, group))

    def own(self, cell: Key, group: Group) -> int:
        """What the group has in the cell."""
        parts = self.parts[cell]
        return sum(parts.get(who, 0) for who in group)

    def _asked(self, cell: Key, group: Group) -> int:
        others = [part for part, who in self.ranked[cell] if who not in group]
        if not others:
            return 0
        rest = self.values[cell] - others[0] - self.own(cell, group)
        return max(ceil(Fraction(self.percent, 100) * others[0] - rest), 0)

    def attacks(self, groups: Iterable[Group], cells: Iterable[Key]) -> Iterator[Attack]:
        """All that these groups must be kept from."""
        chosen = list(groups)
        for cell in cells:
            for group in chosen:
                for up in (True, False):
                    amount = self.demand(cell, group, up=up)
                    if amount > 0:
                        yield Attack(group, cell, up, amount)

    @cached_property
    def everybody(self) -> list[str]:
        """All contributors."""
        return sorted({who for parts in self.parts.values() for who in parts})

    def groups(self, members: int = 1) -> list[Group]:
        """Outsiders, single contributors, and all coalitions of up to so many."""
        sizes = range(members + 1)
        return [frozenset(some) for size in sizes for some in combinations(self.everybody, size)]

    def relations(self) -> Iterator[tuple[Key, list[Key]]]:
        """Each sum, and the cells it is made of: along one dimension, those to which somebody contributes."""
        for dim, tree in self.every_tree:
            for cell in self.parts:
                children = tree.get(cell[dim])
                if children:
                    terms = [(*cell[:dim], child, *cell[dim + 1 :]) for child in children]
                    yield cell, [term for term in terms if term in self.parts]


class HiddenCells:
    """The programs of groups that see a table with some cells hidden."""

    def __init__(self, table: Contributed, hidden: Iterable[Key]) -> None:
        self.table = table
        self.column = {cell: number for number, cell in enumerate(sorted(hidden))}
        self._known: Group = OUTSIDER
        highs = self._highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        inf = highspy.kHighsInf
        for cell in self.column:
            highs.addVar(-float(table.values[cell]), inf)
        rows = set()
        for total, terms in table.relations():
            row = [(self.column[cell], sign) for cell, sign in ((total, -1.0), *((t, 1.0) for t in terms))
                   if cell in self.column]  # fmt: skip
            rows.add(tuple(sorted(row)))
        for entries in sorted(rows - {()}):
            columns, signs = zip(*entries, strict=True)
            highs.addRow(0.0, 0.0, len(columns), np.array(columns), np.array(signs))

    def holds(self, attack: Attack) -> bool:
        """Whether the cell can move as far as the attack asks, for all its group can tell."""
        column = self.column.get(attack.cell)
        if column is None:
            return False
        self._know(attack.group)
        values, own = self.table.values, self.table.own(attack.cell, attack.group)
        far = 2.0 * attack.amount
        low, high = -float(values[attack.cell] - own), highspy.kHighsInf
        low, high = (low, far) if attack.up else (max(low, -far), high)
        highs = self._highs
        highs.changeColBounds(column, low, high)
        highs.changeColCost(column, -1.0 if attack.up else 1.0)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise RuntimeError(f"the program ended with {highs.getModelStatus()}")
        moved = highs.getSolution().col_value[column]
        highs.changeColCost(column, 0.0)
        self._set_room(attack.cell, attack.group)
        reached = moved if attack.up else -moved
        return reached >= attack.amount * (1 - 1e-7) - 1e-6

    def _know(self, group: Group) -> None:
        """Set the rooms of what the group, or the last one, has a part in."""
        touched = [
            cell
            for cell in self.column
            if any(who in self.table.parts[cell] for who in (group | self._known))
        ]
        for cell in touched:
            self._set_room(cell, group)
        self._known = group

    def _set_room(self, cell: Key, group: Group) -> None:
        parts = self.table.parts[cell]
        is_known = bool(group) and group.issuperset(parts)
        room = 0.0 if is_known else float(self.table.values[cell] - self.table.own(cell, group))
        self._highs.changeColBounds(self.column[cell], -room, 0.0 if is_known else highspy.kHighsInf)


def broken(table: Contributed, hidden: Iterable[Key], attacks: Iterable[Attack]) -> list[Attack]:
    """The attacks that succeed on a pattern; attacks of one group are best given one after the other."""
    cells = HiddenCells(table, hidden)
    return [attack for attack in attacks if not cells.holds(attack)]
