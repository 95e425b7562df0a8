"""Covering rows of single relations: what each asks of the cells beyond those hidden at the start.

Cover inequalities, two for each relation that holds a primary cell and a third for sliding levels; and
bridge-less inequalities, for cells that a point hides alone in a relation. Both as in Fischetti & Salazar
(2001), there for all combinations of the relations, here for the relations themselves: (17) of Zhang, Chen,
Cheng & Jacobsen, *Overview of Cell Suppression Methods*, where the cut is around a single node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.problem import Problem, Status
from cellveil.solvers.tolerances import EQUAL, INTEGRALITY
from cellveil.tables.relations import Relations

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

EXACT = 2.0**53
"""Sums of whole numbers up to this are exact in floats."""


@dataclass(frozen=True, repr=False, eq=False)
class Needs:
    """Rows Σ share x ≥ 1, one per relation: the share of each entry, and which relations have such a row."""

    share: Float
    is_open: Bool


class RelationCovers:
    """The entries of the relations that hold a primary cell, and how far each can make up for others.

    Parameters
    ----------
    usable
        Cells that can move at all.
    sources
        Primary cells whose relations are looked at; all where nothing is given.

    Attributes
    ----------
    rises, falls
        How far coefficient × deviation of an entry can go up and down.
    """

    def __init__(self, problem: Problem, usable: Bool, sources: Bool | None = None) -> None:
        whole = problem.table.relations
        primary = problem.status == Status.PRIMARY
        sources = primary if sources is None else sources
        holds = np.bincount(whole.row_of_entry[sources[whole.cells]], minlength=len(whole)) > 0
        relations = whole.take_rows(np.flatnonzero(holds))
        self.problem, self.cells, self.coefs = problem, relations.cells, relations.coefs
        self.row, self.indptr, self.num_rows = relations.row_of_entry, relations.indptr, len(relations)
        self.primary = primary[self.cells]
        self.hidden = problem.hidden_at_start[self.cells]
        self.size = np.abs(self.coefs).astype(np.float64)
        up, down = (np.where(usable, room, 0.0)[self.cells] for room in (problem.up, problem.down))
        self.rises, self.falls = (
            np.where(self.coefs > 0, own, other) * self.size for own, other in ((up, down), (down, up))
        )

    def level(self, along: Float, against: Float) -> Float:
        """What coefficient × deviation of a primary must reach, given the levels for both of its signs."""
        level = np.where(self.coefs > 0, along[self.cells], against[self.cells])
        return np.where(self.primary, level * self.size, 0.0)

    def sliding(self, upl: Float, lpl: Float) -> tuple[Float, Float]:
        """Need and capacity of both directions together, where a sliding level asks for more than each."""
        spl = self.problem.spl.astype(np.float64)
        need = np.where(spl > upl + lpl, spl, 0.0)[self.cells] * self.size
        cap = np.zeros(len(self.cells))
        for own, other in ((self.rises, self.falls), (self.falls, self.rises)):
            cap += np.minimum(other, self.largest(np.minimum(own, need))[self.row])
        return need, cap

    def needs(self, need: Float, cap: Float) -> Needs:
        """The rows that are left when the cells hidden at the start have given what they can."""
        cap = np.minimum(cap, self.largest(need)[self.row])  # beyond it nothing changes; and it is finite
        held = np.where(self.hidden, cap, 0.0)
        sums = np.bincount(self.row, weights=held, minlength=self.num_rows)[self.row]
        doubt = np.where(sums + need < EXACT, 0.0, (sums + need) * self.longest * 2.0**-52)
        missing = np.where(need > 0, need - (sums - held) - doubt, 0.0)
        residual = self.largest(missing)  # the right side of (17)
        is_open = residual > 0
        share = np.where(self.hidden, 0.0, cap) / np.where(is_open, residual, np.inf)[self.row]
        return Needs(np.minimum(share * (1 + 2.0**-50), 1.0), is_open)

    def is_beyond_reach(self, needs: Needs) -> bool:
        """Whether some row is not met even if all its cells are hidden."""
        sums = np.bincount(self.row, weights=needs.share, minlength=self.num_rows)
        return bool((needs.is_open & (sums < 1 - EQUAL)).any())

    def is_implied(self, needs: Needs, other: Needs, *, ties: bool) -> Bool:
        """In which relations the other row says as much or more; equal ones count if `ties`."""
        implied = other.is_open & needs.is_open & ~self._any(other.share > needs.share)
        return implied if ties else implied & self._any(other.share < needs.share)

    def rows(self, needs: Needs, wanted: Bool) -> csr_matrix:
        """The wanted rows, one column per cell of the table."""
        from scipy.sparse import csr_matrix

        taken = wanted[self.row] & (needs.share > 0)
        counts = np.bincount(self.row[taken], minlength=self.num_rows)[wanted]
        indptr = np.concatenate([[0], np.cumsum(counts)])
        shape = (len(counts), self.problem.table.num_cells)
        return csr_matrix((needs.share[taken], self.cells[taken], indptr), shape=shape)

    def largest(self, amounts: Float) -> Float:
        """In each relation."""
        return np.asarray(np.maximum.reduceat(amounts, self.indptr[:-1]))

    def _any(self, entries: Bool) -> Bool:
        return np.asarray(np.logical_or.reduceat(entries, self.indptr[:-1]))

    @property
    def longest(self) -> int:
        """Entries of the longest relation, and two."""
        return int(np.diff(self.indptr).max(initial=0)) + 2


class RelationBridges:
    """Bridge-less inequalities of the relations in which nothing is hidden at the start."""

    def __init__(self, relations: Relations, hidden: Bool, usable: Bool) -> None:
        taken = usable[relations.cells]
        held = np.bincount(relations.row_of_entry[taken & hidden[relations.cells]], minlength=len(relations))
        part = relations.take_rows(np.flatnonzero(held == 0))
        taken = usable[part.cells]
        counts = np.bincount(part.row_of_entry[taken], minlength=len(part))
        self.cells = part.cells[taken]
        self.indptr = np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64)
        self.num_cells = relations.num_cells

    def violated_rows(self, x: Float) -> csr_matrix | None:
        """Σ_{i ≠ j} x_i ≥ x_j for each relation and cell j that break it; at most one cell does."""
        from scipy.sparse import csr_matrix

        if not len(self.cells):
            return None
        share = x[self.cells]
        largest = np.maximum.reduceat(share, self.indptr[:-1])
        broken = np.flatnonzero(2 * largest > np.add.reduceat(share, self.indptr[:-1]) + INTEGRALITY)
        if not len(broken):
            return None
        part = Relations(
            self.num_cells, self.indptr, self.cells, np.ones(len(self.cells), dtype=np.int64), self.indptr[1:]
        ).take_rows(broken)
        is_lonely = x[part.cells] == largest[broken][part.row_of_entry]
        sign = np.where(is_lonely, -1.0, 1.0)
        return csr_matrix((sign, part.cells, part.indptr), shape=(len(part), self.num_cells))
