"""The outsider's view of a table that somebody else protected: what everybody can see of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int, freeze
from cellveil.attack.bound_propagation import largest_of, room_for
from cellveil.public_view import PublicView
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table


@dataclass(frozen=True, repr=False, eq=False)
class PublishedTable:
    """A table as everybody can see it.

    Parameters
    ----------
    table
        Its cells and relations; the values are 0 where not published.
    suppressed
        Which cells are marked as hidden.
    unknown
        Which cells are not in the publication at all, such as totals that were left out.
    view
        What an attacker knows. Besides suppressed and unknown cells it hides, where values are rounded, all
        others too: these are known up to their rounding.
    rounding
        Values are rounded to multiples of this, in units of the last digit; 0 where they are exact.
    set_aside
        Relations that what is published contradicts, in words; they are not used.
    marks
        How often each mark and flag was found, and what it was taken for.
    """

    table: Table
    suppressed: Bool
    unknown: Bool
    view: PublicView
    rounding: int = 0
    set_aside: tuple[str, ...] = ()
    marks: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        freeze(self, ("suppressed", "unknown"))

    @classmethod
    def of(
        cls,
        table: Table,
        suppressed: Bool,
        lb: Int,
        ub: Int,
        *,
        unknown: Bool | None = None,
        rounding: int = 0,
        marks: Mapping[str, int] | None = None,
    ) -> PublishedTable:
        """Set aside the relations that cannot hold, and make the attacker's view.

        Parameters
        ----------
        lb, ub
            What everybody knows of each cell that is suppressed, unknown or rounded.
        unknown
            Further cells that are not published, such as totals that were left out.
        """
        unknown = np.zeros(table.num_cells, dtype=bool) if unknown is None else unknown
        hidden = suppressed | unknown | (rounding > 0)
        values = np.where(hidden, 0, table.values)
        view = PublicView(table.relations, hidden, values, lb, ub)
        impossible = _impossible(view)
        kept = table.relations.take_rows(np.flatnonzero(~impossible))
        return cls(
            table.replace(relations=kept),
            suppressed,
            unknown,
            replace(view, relations=kept),
            rounding,
            tuple(table.relation_name(int(row)) for row in np.flatnonzero(impossible)),
            marks,
        )

    @property
    def num_cells(self) -> int:
        """How many cells the publication has, hidden ones included."""
        return int((~self.unknown).sum())

    def __repr__(self) -> str:
        return (
            f"PublishedTable({self.table.variable!r}, {self.num_cells} cells, "
            f"{int(self.suppressed.sum())} hidden, {len(self.set_aside)} relations set aside)"
        )


def _impossible(view: PublicView) -> Bool:
    """Relations that cannot hold, whatever the hidden cells are within their bounds. Exact."""
    relations = view.relations
    if not len(relations):
        return np.zeros(0, dtype=bool)
    cells, coefs = relations.cells, relations.coefs
    lower = np.where(view.hidden, view.lb, view.published)[cells]
    upper = np.where(view.hidden, view.ub, view.published)[cells]
    least, most = np.where(coefs > 0, lower, upper), np.where(coefs > 0, upper, lower)
    too_high = _sums(relations, least) > relations.rhs
    too_low = _sums(relations, most) < relations.rhs
    return np.asarray((too_high & _all_finite(relations, least)) | (too_low & _all_finite(relations, most)))


def _sums(relations: Relations, amounts: Int) -> NDArray[Any]:
    """Σ coefficient · amount by row; unbounded amounts count 0."""
    finite = np.where(np.abs(amounts) == UNBOUNDED, 0, amounts)
    longest = int(np.diff(relations.indptr).max())
    room = room_for(largest_of(finite) * largest_of(relations.coefs) * longest)
    return np.asarray(np.add.reduceat(relations.coefs.astype(room) * finite, relations.indptr[:-1]))


def _all_finite(relations: Relations, amounts: Int) -> Bool:
    return np.logical_and.reduceat(np.abs(amounts) != UNBOUNDED, relations.indptr[:-1])
