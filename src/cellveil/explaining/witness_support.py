"""Which primary cells a hidden cell helps to protect: those whose witness in the certificate moves it.

A certificate may show a level by several witnesses. The one that moves the fewest cells is taken for each
level, as it says most clearly which cells are needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.certificate import Certificate
from cellveil.params import Params, param
from cellveil.problem import Problem
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, kw_only=True)
class SupportParams(Params):
    """Limits of what is told about witnesses."""

    most_pairs: int = param(3_000_000, "Pairs of a moved cell and a primary that are kept.", least=0)


@dataclass(frozen=True, repr=False, eq=False)
class WitnessSupport:
    """Pairs of a hidden cell and a primary cell whose witness moves it, by cell.

    Parameters
    ----------
    starts, primaries
        Cell c helps to protect ``primaries[starts[c]:starts[c + 1]]``.
    is_whole
        Whether all pairs are there; witnesses of very many cells may be left out.
    """

    starts: Int
    primaries: Int
    is_whole: bool

    @classmethod
    def of(
        cls, problem: Problem, certificate: Certificate, params: SupportParams | None = None
    ) -> WitnessSupport:
        """Read it off a certificate that was verified."""
        chosen, owners = _chosen(problem, certificate)
        lengths = np.diff(certificate.starts)[owners]
        order = np.argsort(lengths, kind="stable")
        within = np.cumsum(lengths[order]) <= (params or SupportParams()).most_pairs
        chosen, owners, lengths = chosen[order][within], owners[order][within], lengths[order][within]
        first = np.cumsum(lengths) - lengths
        places = np.repeat(certificate.starts[owners] - first, lengths) + np.arange(int(lengths.sum()))
        moved, helped = certificate.cells[places].astype(np.int64), np.repeat(chosen, lengths)
        size = problem.table.num_cells
        pairs = np.unique((moved * size + helped)[moved != helped])
        starts = np.searchsorted(pairs // size, np.arange(size + 1))
        return cls(starts, pairs % size, bool(within.all()))

    @classmethod
    def nothing(cls, num_cells: int) -> WitnessSupport:
        """Where there is no certificate."""
        return cls(np.zeros(num_cells + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), True)

    def of_cell(self, cell: int) -> Int:
        """The primaries that the cell helps to protect."""
        return self.primaries[self.starts[cell] : self.starts[cell + 1]]


def _chosen(problem: Problem, certificate: Certificate) -> tuple[Int, Int]:
    """Pairs of a primary cell and the shortest witness that shows one of its levels."""
    lengths = np.diff(certificate.starts)
    owner = np.repeat(np.arange(len(certificate)), lengths)
    cells = certificate.cells.astype(np.int64)
    is_primary = np.isin(cells, problem.primaries)
    found: list[tuple[Int, Int]] = []
    for level, direction in ((problem.upl, 1), (problem.lpl, -1)):
        need = np.maximum(level, problem.sliding // 2)[cells]
        shows = np.zeros(len(cells), dtype=bool)
        for sign in (1, -1):  # a witness as it stands, or reversed
            fits = _within_bounds(problem, certificate, sign * certificate.numerators)[owner]
            reach = direction * sign * certificate.numerators // certificate.denominators[owner]
            shows |= fits & is_primary & (need > 0) & (reach >= need)
        entries = np.flatnonzero(shows)
        entries = entries[np.lexsort((lengths[owner[entries]], cells[entries]))]
        _, first = np.unique(cells[entries], return_index=True)
        found.append((cells[entries[first]], owner[entries[first]]))
    pairs = np.unique(np.concatenate([np.stack(pair) for pair in found], axis=1), axis=1)
    return pairs[0], pairs[1]


def _within_bounds(problem: Problem, certificate: Certificate, numerators: Int) -> Bool:
    """For each witness whether the table it leads to lies within what everybody knows."""
    values, cells = problem.table.values, certificate.cells.astype(np.int64)
    owner = np.repeat(np.arange(len(certificate)), np.diff(certificate.starts))
    up = -(-numerators // certificate.denominators[owner])
    down = -(numerators // certificate.denominators[owner])
    room_up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values)
    room_down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, values - problem.lb)
    fits = np.ones(len(certificate), dtype=bool)
    fits[owner[(up > room_up[cells]) | (down > room_down[cells])]] = False
    return fits
