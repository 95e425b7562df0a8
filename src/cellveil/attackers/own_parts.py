"""Own parts: what each contributor put into each cell, and so knows of it.

Contributions are known for the largest of each cell only. In a cell that has more contributors than are
listed, everybody who is not listed is taken to know as much as the smallest one that is: more than they can.
That counts in the finest cells only: what holds there holds for their sums. Where the numbers of contributors
show that everybody stands in one finest cell, it counts for nobody: the smallest one listed in that cell
knows as much, and is asked. With a list of all contributions (`cellveil.attackers.unlisted_parts`) it counts
for nobody who stands in several cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.attackers.prior_knowledge import LEVELS
from cellveil.attackers.unlisted_parts import AllParts, Further, further_parts
from cellveil.errors import InputError, nearest_name
from cellveil.problem import Problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.known_contributors import known_contributors, recognises_everybody
from cellveil.tables.table import Table
from cellveil.tables.totals import stand_once, sums_of_others

EVERYBODY = -1
"""All insiders at once: nobody knows more than this about any cell."""

NOBODY = -2
"""Somebody who is listed nowhere."""

UNLISTED = -3
"""UNLISTED − k is somebody who has a part in cell k only, and is not listed there."""


@dataclass(frozen=True, repr=False, eq=False)
class OwnParts:
    """Who contributes how much to each cell, as far as known; amounts in units of the table's last digit.

    Parameters
    ----------
    who, amount
        n × k: the largest contributors of each cell and their absolute parts; −1 and 0 where there are none.
        Contributors without an id have a number of their own in each cell.
    total
        Sum of the absolute contributions.
    count
        Number of contributors.
    is_sum
        Whether the cell is the sum of other cells of the table, by one of its relations.
    names
        Ids, where known.
    further
        Parts that are not among the largest, of everybody with several finest cells; None where not known.
    unwaived
        The largest part of each cell that needs protection, where some contributors waived it; else None.
    level
        Whether they are units or holdings.
    is_single
        Whether every contributor is known to stand in one of the finest cells only.
    """

    who: Int
    amount: Int
    total: Int
    count: Int
    is_sum: Bool
    names: tuple[str, ...]
    further: Further | None = None
    unwaived: Int | None = None
    level: str = "unit"
    is_single: bool = False

    @classmethod
    def of(
        cls,
        problem: Problem,
        level: str = "unit",
        everything: AllParts | None = None,
        *,
        needs_all: bool = False,
    ) -> OwnParts:
        """Take the parts from the table's contributions, and from a list of all of them if there is one.

        Parameters
        ----------
        needs_all
            Whether the parts of those who alone make up a cell are not enough.

        Raises
        ------
        InputError
            When the table knows none of the contributions to the published variable, or too few.
        """
        if level not in LEVELS:
            raise InputError(f"unknown level {level!r}", remedy=nearest_name(level, LEVELS))
        table = problem.table
        known = known_contributors(table, level)
        if known is None or (known.only_single and needs_all):
            raise nothing_known(table, level, known)
        if needs_all and not recognises_everybody(table, known):  # then all of them are met by the strongest
            known = table.holdings if level == "holding" else table.units
            assert known is not None
        if everything is not None and known not in (table.units, table.holdings):
            raise InputError("some contributors have no id", remedy="Leave the list out, or give all ids.")
        factor = 10 ** (table.decimals - known.decimals)
        is_sum, further, names = sums_of_others(table.relations), None, known.names
        if everything is not None:
            found, names = further_parts(known, np.flatnonzero(~is_sum), everything)
            further = {cell: tuple((w, part * factor) for w, part in added) for cell, added in found.items()}
        parts, listed = known.largest_parts
        unwaived = None
        if known.largest_unwaived is not None and known.top_weight is None:
            unwaived = known.largest_unwaived * factor
        who, total = _numbered(known, listed), known.absolute * factor
        return cls(
            who,
            parts * factor,
            total,
            known.count,
            is_sum,
            names,
            further,
            unwaived,
            level,
            known.depth > 1
            and not known.only_single
            and _is_listed_once(who[~is_sum])
            and stand_once(table.relations, known.count),
        )

    @cached_property
    def places(self) -> dict[int, tuple[Int, Int]]:
        """For each contributor the cells it is listed in, and its parts."""
        rows, columns = np.nonzero(self.who >= 0)
        order = np.argsort(self.who[rows, columns], kind="stable")
        rows, columns = rows[order], columns[order]
        owners = self.who[rows, columns]
        borders = np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1], [True]]))
        listed = {
            int(owners[start]): (rows[start:end], self.amount[rows[start:end], columns[start:end]])
            for start, end in pairwise(borders)
        }
        nothing = np.zeros(0, dtype=np.int64)
        for cell, added in (self.further or {}).items():
            for who, part in added:
                cells, parts = listed.get(who, (nothing, nothing))
                listed[who] = np.append(cells, cell), np.append(parts, part)
        return listed

    def in_cell(self, cell: int) -> dict[int, int]:
        """The attackers with a part in the cell, and the part.

        With a list of all parts, somebody who is not listed here and stands in no other cell is among them.
        """
        listed = zip(self.who[cell].tolist(), self.amount[cell].tolist(), strict=True)
        found = {who: part for who, part in listed if who >= 0}
        if self.further is not None and not self.is_sum[cell]:
            found.update(self.further.get(cell, ()))
            if self.unlisted[cell]:
                found[UNLISTED - cell] = int(self.unlisted[cell])
        return found

    @cached_property
    def is_named(self) -> bool:
        """Whether all listed contributors have an id, so that each is known again in its other cells."""
        return bool((self.who < len(self.names)).all())

    @property
    def is_vague(self) -> bool:
        """Whether somebody who is listed in one finest cell may stand in another one without being listed.

        If not, contributors who are not listed need no word: whoever is listed in their cell knows more.
        """
        return self.further is None and not self.is_single

    @cached_property
    def unlisted(self) -> Int:
        """The most that somebody who is not listed can contribute to each cell."""
        depth = self.amount.shape[1]
        return np.where(self.count > depth, self.amount[:, -1], 0)

    @cached_property
    def second(self) -> Int:
        """The second largest contribution of each cell, or the most it can be; 0 where there is only one."""
        return np.asarray(self.amount[:, 1] if self.amount.shape[1] > 1 else self.unlisted)

    def largest(self, members: int, *, beside_first: bool = False) -> Int:
        """The most that so many contributors can have made of each cell, with or without the largest one."""
        first = 1 if beside_first else 0
        listed = self.amount[:, first : first + members]
        return np.asarray(listed.sum(axis=1) + (members - listed.shape[1]) * self.unlisted)

    def known_to(self, attacker: int, members: int = 1) -> Int:
        """The most that the attacker can have contributed to each cell.

        Where it is not listed in a sum, its parts of the finest cells speak for it.
        """
        if attacker == EVERYBODY:
            return self.largest(members)
        own = np.where(self.is_sum, 0, self.unlisted) if self.is_vague else np.zeros_like(self.total)
        if attacker <= UNLISTED:
            own[UNLISTED - attacker] = self.unlisted[UNLISTED - attacker]
        elif attacker != NOBODY:
            cells, listed = self.places[attacker]
            own[cells] = listed
        return own

    def name(self, attacker: int) -> str:
        """The attacker in words."""
        if attacker <= UNLISTED:
            return "a contributor who is not listed"
        return self.names[attacker] if attacker < len(self.names) else "a contributor without an id"


def nothing_known(table: Table, level: str, known: Contributions | None) -> InputError:
    """Which contributions of a table are missing, and where they come from."""
    given = table.holdings if level == "holding" else table.units
    if known is not None:
        what = "the table knows only the contributors that alone make up a cell, not the parts of others"
    elif given is not None:
        what = "the contributions are not those of the published variable (they do not add up to its cells)"
    else:
        what = f"the table has no contributions at {level} level"
    remedy = {
        "unit": "Name the column with the id of the contributor (contributor), of a ready-made table those "
        "of the number of contributors and of the largest contributions (contributors, top), or add "
        "contributions.csv to the folder.",
        "holding": "Name the column with the id of the holding (holding).",
    }
    if given is not None and known is None:
        return InputError(what, remedy="Tabulate without a shadow variable to test contributors.")
    return InputError(what, remedy=remedy[level])


def _is_listed_once(who: Int) -> bool:
    """Whether nobody is listed in two of these cells."""
    return bool((np.bincount(who[who >= 0]) < 2).all())


def _numbered(known: Contributions, listed: NDArray[np.int32]) -> Int:
    """Contributor numbers; those without an id get one of their own."""
    who = listed.astype(np.int64)
    present = np.arange(known.depth)[None, :] < np.minimum(known.count, known.depth)[:, None]
    nameless = (who < 0) & present
    who[nameless] = len(known.names) + np.arange(int(nameless.sum()))
    return who
