"""What contributors are known to have in each cell, as the verifier reads it from the instance; all exact.

A table lists the largest contributors of each cell, and says how many there are. Of somebody who is not
listed in a cell with more contributors than are listed, all that is known is that its part is at most the
smallest one listed. It counts as having that much:

* in the cell that is attacked, always;
* in other cells, unless one of two facts says more. **Sums**: if a cell is the plain sum of others, then
  parts in the others are floors there, and so make up the floor of the sum. **Everybody stands once**: if
  some cell is the sum of all finest cells, each taken once, and has as many contributors as they have
  together, then nobody stands in two finest cells. Then whoever is not listed is represented by a stand-in:
  in each finest cell as many as can attack together, each with the smallest part listed there, and without a
  part anywhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.named_attacker import NamedAttacker, attackers_as_bytes
from cellveil.errors import InputError
from cellveil.files import sha256
from cellveil.problem import Problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.known_contributors import known_contributors
from cellveil.tables.relations import Relations

Coalition = frozenset[int]

NOBODY: Coalition = frozenset()


class KnownParts:
    """Parts in the hidden cells, in units of the table's last digit; whole numbers without limit.

    Parameters
    ----------
    level
        Whether units or holdings are the contributors.
    members
        How many of them attack together.

    Attributes
    ----------
    listed
        For each hidden cell: who is listed there, with which (absolute) part.
    count, total
        For each hidden cell: number of contributors, and sum of the absolute contributions.
    further
        For each hidden cell: how many contributors are not listed, and the most that one of them can have.

    Raises
    ------
    InputError
        When the table has no such contributions, they are not those of its values, or some have no id.
    """

    def __init__(self, problem: Problem, level: str, members: int, hidden: Bool) -> None:
        known = contributions_at(problem, level)
        amounts, who = known.largest_parts
        factor: int = 10 ** (problem.table.decimals - known.decimals)
        self.problem, self.members = problem, members
        self._known, self._who, self._factor = known, who, factor
        if members > 1:
            self.check_all_known()
        self.listed: dict[int, dict[int, int]] = {}
        self.count: dict[int, int] = {}
        self.total: dict[int, int] = {}
        self.further: dict[int, tuple[int, int]] = {}
        self._people: dict[int, Coalition] = {}
        cells = np.flatnonzero(hidden)
        columns = (who, amounts, known.count, known.absolute)
        for cell, *row in zip(cells.tolist(), *(column[cells].tolist() for column in columns), strict=True):
            self._read(cell, *row)

    def check_all_known(self) -> None:
        """Raise where the instance knows only the parts of those who alone make up a cell."""
        if self._known.only_single:
            raise InputError(
                "the instance knows only the contributors that alone make up a cell",
                remedy="Verify against the instance that was certified, with its contributions.",
            )

    def _read(self, cell: int, who: list[int], amounts: list[int], count: int, total: int) -> None:
        """One cell; who is listed twice in it is one contributor with both parts."""
        parts: dict[int, int] = {}
        for person, amount in zip(who, amounts, strict=True):
            if person >= 0:
                parts[person] = parts.get(person, 0) + amount * self._factor
        entries, more = sum(person >= 0 for person in who), count - len(who)
        if entries < min(count, len(who)):
            raise InputError("some contributors have no id", remedy="Give every contributor an id.")
        if more > 0 and count <= self.members:
            raise InputError(
                f"fewer contributors are listed than coalitions of {self.members} have members",
                remedy="Tabulate with more of the largest contributions.",
            )
        self.listed[cell], self.total[cell] = parts, total * self._factor
        self.count[cell] = count - (entries - len(parts))
        self.further[cell] = (more, amounts[-1] * self._factor) if more > 0 else (0, 0)

    @cached_property
    def places(self) -> dict[int, list[int]]:
        """The hidden cells in which each contributor is listed."""
        found: dict[int, list[int]] = {}
        for cell, parts in self.listed.items():
            for person in parts:
                found.setdefault(person, []).append(cell)
        return found

    def surely(self, cell: int, who: Coalition) -> int:
        """What these contributors have in the cell at least: the parts with which they are listed."""
        parts = self.listed[cell]
        return sum(parts[person] for person in who if person in parts)

    def at_most(self, cell: int, who: Coalition) -> int:
        """What a coalition in which these are listed can have in the cell at most."""
        parts = self.listed[cell]
        members = [parts[person] for person in who if person in parts]
        more, least = self.further[cell]
        return sum(members) + min(more, self.members - len(members)) * least

    def most_of_any(self, cell: int) -> int:
        """What any coalition can have in the cell at most: the parts of its largest contributors."""
        parts = self.listed[cell]
        return self.at_most(cell, frozenset(sorted(parts, key=parts.__getitem__)[-self.members :]))

    def elsewhere(self, cell: int, who: Coalition) -> int:
        """The same in a cell that is not attacked; see the head of the module."""
        if self.everybody_stands_once:
            return self.surely(cell, who) + len(who & self.stand_ins(cell)) * self.further[cell][1]
        return self.surely(cell, who) if cell in self.sums else self.at_most(cell, who)

    def people(self, cell: int) -> Coalition:
        """Everybody with a part of their own in the cell, stand-ins included."""
        if cell not in self._people:
            self._people[cell] = frozenset(self.listed[cell]) | self.stand_ins(cell)
        return self._people[cell]

    def stand_ins(self, cell: int) -> Set[int]:
        """Those who represent the contributors of a finest cell who are not listed: numbers below −1."""
        more, _ = self.further[cell]
        if not more or cell in self.sums or not self.everybody_stands_once:
            return NOBODY
        first = -2 - cell * self.members
        return {first - member for member in range(min(more, self.members))}

    def is_made_up_by(self, cell: int, who: Coalition) -> bool:
        """Whether these contributors are all that the cell has."""
        return 0 < self.count[cell] == sum(person in self.listed[cell] for person in who)

    def largest_others(self, cell: int, who: Coalition, number: int) -> list[int]:
        """The largest parts of the cell that are not of these contributors, or the most they can be."""
        parts = sorted(
            (part for person, part in self.listed[cell].items() if person not in who), reverse=True
        )
        return (parts + [self.further[cell][1]] * number)[:number]

    def places_of(self, person: int) -> list[int]:
        """The hidden cells in which somebody is known to have a part."""
        return self.places[person] if person >= 0 else [(-2 - person) // self.members]

    def unwaived(self, cell: int) -> int | None:
        """The largest part of somebody who did not waive protection; None where nobody did."""
        known = self._known
        if known.largest_unwaived is None or known.top_weight is not None:
            return None
        return int(known.largest_unwaived[cell]) * self._factor

    # -- who is not listed ---------------------------------------------------------------------------------

    @cached_property
    def _summands(self) -> dict[int, list[int]]:
        return plain_sums(self.problem.table.relations)

    @cached_property
    def sums(self) -> Collection[int]:
        """The cells that are plain sums of others."""
        return self._summands.keys()

    @cached_property
    def everybody_stands_once(self) -> bool:
        """Whether the numbers of contributors show that nobody stands in two finest cells."""
        counts, summands = self._known.count, self._summands
        finest = np.ones(len(counts), dtype=bool)
        finest[list(summands)] = False
        everybody = [cell for cell in summands if counts[cell] == counts.max()]
        listed = self._who[finest]
        return bool((np.bincount(listed[listed >= 0]) < 2).all()) and any(
            self._consists_of_all(cell, finest) and counts[finest].sum() == counts[cell] for cell in everybody
        )

    def _consists_of_all(self, cell: int, finest: Bool) -> bool:
        """Whether the cell is the sum of all finest cells, each once."""
        left, stack = set(np.flatnonzero(finest).tolist()), [cell]
        while stack:
            at = stack.pop()
            if at in self._summands:
                stack += self._summands[at]
            elif at in left:
                left.remove(at)
            else:
                return False
        return not left


def plain_sums(relations: Relations) -> dict[int, list[int]]:
    """The cells that a relation gives as the sum of others, down to cells that none gives; with the others.

    Examples
    --------
    >>> plain_sums(Relations.from_rows(4, [[(0, -1), (1, 1), (2, 1)]]))
    {0: [1, 2]}
    """
    candidates: dict[int, list[list[int]]] = {}
    for row in np.flatnonzero(relations.rhs == 0).tolist():
        cells, coefs = (column.tolist() for column in relations.row(row))
        total = [cell for cell, coef in zip(cells, coefs, strict=True) if coef == -1]
        others = [cell for cell, coef in zip(cells, coefs, strict=True) if coef == 1]
        if others and len(total) == 1 and len(others) == len(cells) - 1:
            candidates.setdefault(total[0], []).append(others)
    grounded = set(range(relations.num_cells)) - candidates.keys()
    found: dict[int, list[int]] = {}
    while True:  # a cell is a sum once all that it is made of stands on the ground
        new = {
            cell: below
            for cell, given in candidates.items()
            if cell not in found
            for below in given
            if grounded.issuperset(below)
        }
        if not new:
            return found
        found |= new
        grounded |= new.keys()


# -- what the certificate is about ---------------------------------------------------------------------------


def contributions_at(problem: Problem, level: str) -> Contributions:
    """The contributions of units or holdings, if they are those of the table's values.

    Raises
    ------
    InputError
        When they are not.
    """
    known = known_contributors(problem.table, level)
    if known is None:
        raise InputError(
            f"the instance has no contributions to the published values at {level} level",
            remedy="Verify against the instance that was certified, with its contributions.",
        )
    return known


def contributions_digest(problem: Problem, attackers: Sequence[NamedAttacker]) -> str:
    """Digest of who contributes what, where levels come from, and the attackers.

    Contributors count by the places in which they stand, not by their names.
    """
    parts = [attackers_as_bytes(attackers)]
    for level in sorted({attacker.level for attacker in attackers if not attacker.is_outsider}):
        known = contributions_at(problem, level)
        amounts, who = known.largest_parts
        unwaived = None if known.top_weight is not None else known.largest_unwaived
        arrays = (known.count, known.total, known.absolute, amounts, _by_place(who))
        parts += [f"{level} {known.decimals} {amounts.shape} {unwaived is None}".encode()]
        parts += [_bytes(array) for array in (*arrays, *(() if unwaived is None else (unwaived,)))]
    waived = problem.waived
    if waived is not None and waived.any():
        parts.append(_bytes(waived.astype(np.int64)))
    for origin, marked in sorted(problem.origins.items(), key=lambda item: str(vars(item[0]))):
        if marked.any():
            parts += [str(vars(origin)).encode(), _bytes(marked.astype(np.int64))]
    return sha256(*parts)


def _bytes(array: Any) -> bytes:
    return np.ascontiguousarray(array, dtype="<i8").tobytes()


def _by_place(who: Any) -> Int:
    """Numbers by the first place in which each contributor stands; −1 stays."""
    people, first, place = np.unique(
        np.ascontiguousarray(who).ravel(), return_index=True, return_inverse=True
    )
    number = np.empty(len(people), dtype=np.int64)
    number[np.argsort(np.where(people < 0, -1, first), kind="stable")] = np.arange(len(people))
    number -= int((people < 0).any())
    return number[place].reshape(who.shape)
