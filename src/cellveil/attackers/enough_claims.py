"""A choice among claims against single contributors: few of them that keep off whom all of them do.

Of each demand the shortest deviation is taken that holds against somebody without a part; then, for each
insider in whose way that one stands, the first that keeps it off. Short ones come first: they are in the way
of the fewest.

Requires deviations, as `cellveil.attackers.families` does. Ensures that nobody is open who was not before.
Cost: as that of telling who is open.
"""

from __future__ import annotations

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.families import Claims, Families
from cellveil.deviations.witness import CHUNK


def enough_claims(families: Families, claims: Claims) -> Claims:
    """Claims that keep off whom all of them do."""
    cells, up = families.open_demands()
    amounts, demand = families.amounts(cells, up), families.demands_of(claims, cells, up)
    lengths = np.diff(claims.witnesses.starts)[claims.numbers]
    order = np.lexsort((claims.numbers, lengths, demand))
    order = order[demand[order] >= 0]
    choice = _Choice(families, cells, amounts)
    for part in _in_parts(order, lengths[order], demand[order]):
        choice.add(claims, part, demand[part])
    return claims.take(np.unique(np.concatenate([order[:0], *choice.chosen])))


class _Choice:
    """Chooses among the claims of each demand, given in the order in which they are preferred."""

    def __init__(self, families: Families, cells: Int, amounts: Int) -> None:
        self._families, self._cells, self._amounts = families, cells, amounts
        self.chosen: list[Int] = []

    def add(self, claims: Claims, part: Int, demand: Int) -> None:
        """Choose among all claims of some demands; `demand` ascends."""
        families, amounts = self._families, self._amounts[demand]
        reach, (claim, who, less) = families.reaches(claims, part, amounts.max(axis=1))
        rank = families.own.rank(self._cells[demand[claim]], who)
        fails = less < amounts[claim, rank]
        claim, who, rank = claim[fails], who[fails], rank[fails]
        fine, depth = reach[:, None] >= amounts, amounts.shape[1] - 1
        is_listed = rank < depth
        fine[claim[is_listed], rank[is_listed]] = False
        holds = fine[:, -1]
        for column in range(depth + 1):  # what is best against anybody will do where it can
            best = np.flatnonzero(fine[:, column] & (amounts[:, column] > 0))
            best = best[np.argsort(~holds[best], kind="stable")]
            self.chosen.append(part[best[np.unique(demand[best], return_index=True)[1]]])
        other = ~is_listed & holds[claim] & (amounts[claim, -1] > 0)
        self._add_for_others(part, demand, holds, claim[other], who[other])

    def _add_for_others(self, part: Int, demand: Int, holds: Bool, claim: Int, who: Int) -> None:
        """The first claim that keeps off each of those whom others that hold against anybody do not."""
        generic = np.flatnonzero(holds)
        first = np.searchsorted(demand[generic], demand)
        turn = np.cumsum(holds) - 1 - first  # among the claims of the demand that hold
        order = np.lexsort((turn[claim], who, demand[claim]))
        claim, who = claim[order], who[order]
        begins = np.ones(len(claim), dtype=bool)
        begins[1:] = (demand[claim[1:]] != demand[claim[:-1]]) | (who[1:] != who[:-1])
        group = np.cumsum(begins) - 1
        start = np.flatnonzero(begins)
        in_row = turn[claim] == np.arange(len(claim)) - start[group]
        failing = np.bincount(group[in_row], minlength=len(start))
        next_one = first[claim[start]] + failing
        is_there = next_one < np.searchsorted(demand[generic], demand[claim[start]], side="right")
        self.chosen.append(part[generic[next_one[is_there]]])


def _in_parts(order: Int, lengths: Int, demand: Int) -> list[Int]:
    """Claims in parts of limited size, those of one demand together; none is empty."""
    number = np.cumsum(lengths) // (10 * CHUNK)
    borders = np.searchsorted(demand, demand[1:][np.diff(number) > 0])
    return [part for part in np.split(order, np.unique(borders)) if len(part)]
