"""The union of the cells and relations of several releases, as an attacker lays them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline
from cellveil.judge.former_release import FormerRelease
from cellveil.judge.published_table import PublishedTable
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.solvers.mip import Budget, Program, solve
from cellveil.tables.named_keys import CellKey, cell_keys, key_name, own_names, same_variable
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED, rescale


@dataclass(frozen=True)
class _Piece:
    """The relations of one former release over its own cells, and what these are in the union.

    `hides` marks the cells it does not show and shares with another release; `slack` has for each relation
    the cell of its rounding, −1 where it is exact.
    """

    place: int
    relations: Relations
    number: Int
    hides: Bool
    slack: Int


@dataclass(frozen=True)
class _Seen:
    """What a release shows of one cell, in joint units.

    A rounded value is hidden, with bounds; of an exact one both bounds are the value. `unit` is that of the
    last digit of the release.
    """

    is_hidden: bool
    is_suppressed: bool
    is_rounded: bool
    lb: int
    ub: int
    unit: int = 1

    @classmethod
    def of(cls, release: PublishedTable, cell: int, factor: int) -> _Seen:
        """Look at a cell of a release."""
        view, suppressed = release.view, bool(release.suppressed[cell])
        if not view.hidden[cell]:
            value = int(view.published[cell]) * factor
            return cls(False, suppressed, False, value, value, factor)
        rounded = not suppressed and not release.unknown[cell]
        low, high = (_bound(int(ends[cell]), factor) for ends in (view.lb, view.ub))
        return cls(True, suppressed, rounded, low, high, factor)


class JointCells:
    """The cells of the new table, and what former releases add to them one by one."""

    def __init__(self, problem: Problem, pattern: Pattern, formers: Sequence[FormerRelease]) -> None:
        tables = [former.published.table for former in formers if former.published is not None]
        self.table = problem.table
        self.decimals = max(table.decimals for table in (problem.table, *tables))
        self.num_own = problem.table.num_cells
        more = self.decimals - problem.table.decimals
        self.values: list[int] = rescale(problem.table.values, more).tolist()
        self.known = [True] * self.num_own
        """Cells whose value the audit knows; of others some value is found by `base_point`."""
        self.hidden: list[bool] = pattern.hidden.tolist()
        self.lb = [_bound(end, 10**more) for end in problem.lb.tolist()]
        self.ub = [_bound(end, 10**more) for end in problem.ub.tolist()]
        self.names = problem.table.cell_names(np.arange(self.num_own))
        self.added: list[tuple[int, int]] = []
        """For each cell beyond those of the new table its release and its number there, −1 for rounding."""
        self.suppressed: dict[int, int] = {}
        """Cells that only former releases have, and hide, with the unit of their release."""
        self.common: set[int] = set()
        self.revised: list[str] = []
        self._keys = cell_keys(problem.table)
        self._number: dict[CellKey, int] = {key: cell for cell, key in enumerate(self._keys)}
        self._pieces: list[_Piece] = []

    def add(self, place: int, former: FormerRelease, apart: set[int]) -> None:
        """Add a release; its cells `apart` are not those of the same name elsewhere."""
        release = former.published
        assert release is not None
        digits, own_digits = release.table.decimals, self.table.decimals
        factor = 10 ** (self.decimals - digits)
        half = 10 ** (self.decimals - min(digits, own_digits)) // 2 if digits != own_digits else 0
        number, hides = np.empty(len(former.keys), dtype=np.int64), np.zeros(len(former.keys), dtype=bool)
        for cell, key in enumerate(self._called_here(former)):
            seen = _Seen.of(release, cell, factor)
            there = None if cell in apart else self._number.get(key)
            if there is not None and self._contradicts(there, seen, half):
                self.revised.append(f"{former.name}: {key_name(key)}")
                there = None
            if there is None:
                there = self._append(seen, place, cell)
                self.names.append(f"{former.name}: {key_name(former.keys[cell])}")
                self._number.setdefault(key, there)
            else:
                self._share(there, seen)
                hides[cell] = seen.is_hidden
            if there < self.num_own:
                self.common.add(there)
            number[cell] = there
        rows = _scaled(release.table.relations, factor)
        slack = np.full(len(rows), -1, dtype=np.int64)
        for row in range(len(rows)) if half else ():  # values of the new table are in another rounding
            terms = int((number[rows.row(row)[0]] < self.num_own).sum())
            slack[row] = self._append_slack(place, terms * half) if terms else -1
        self._pieces.append(_Piece(place, rows, number, hides, slack))

    def contradicted(self) -> set[tuple[int, int]]:
        """Hidden cells, by release, of former relations that do not hold with the values of today."""
        values, known = np.array(self.values, dtype=np.int64), np.array(self.known)
        found = set()
        for piece in self._pieces:
            for row in self._joint(piece, keep_empty=True).residuals(values):
                own = piece.relations.row(row)[0]
                if known[piece.number[own]].all() and piece.slack[row] < 0:  # else left to `base_point`
                    found |= {(piece.place, cell) for cell in own[piece.hides[own]].tolist()}
        return found

    def relations(self) -> Relations:
        """All relations, each once."""
        own = self.table.relations.renumber(len(self.values), np.arange(self.num_own))
        own = _scaled(own, 10 ** (self.decimals - self.table.decimals))
        return Relations.stack([own, *map(self._joint, self._pieces)]).distinct()

    def base_point(self, relations: Relations, deadline: Deadline) -> Int | None:
        """Values of all cells that agree with everything; None where none were found. Checked exactly."""
        unknown = np.flatnonzero(~np.array(self.known))
        values = np.array(self.values, dtype=np.int64)
        lb, ub = np.array(self.lb, dtype=np.int64), np.array(self.ub, dtype=np.int64)
        for whole in (False, True):
            if len(unknown):
                point = _completed(relations, values, unknown, (lb, ub), whole, deadline)
                if point is None:
                    continue
                values[unknown] = point
            if not relations.residuals(values) and ((lb <= values) & (values <= ub)).all():
                return values
        return None

    def _called_here(self, former: FormerRelease) -> list[CellKey]:
        """The cells of a release under the names that the new table has for them."""
        variables = same_variable(former.keys, self._keys)
        called = [(variables.get(variable, variable), codes) for variable, codes in former.keys]
        return own_names(called, self.table)

    def _contradicts(self, cell: int, seen: _Seen, half: int) -> bool:
        """Whether the value of a joint cell cannot be what a release shows, beyond rounding."""
        if not self.known[cell] or (seen.is_hidden and not seen.is_rounded):
            return False
        return not seen.lb - half <= self.values[cell] <= seen.ub + half

    def _share(self, cell: int, seen: _Seen) -> None:
        """What a release shows of a joint cell is known of it."""
        if seen.is_rounded:
            self.lb[cell], self.ub[cell] = max(self.lb[cell], seen.lb), min(self.ub[cell], seen.ub)
        elif not seen.is_hidden:
            self.values[cell] = self.values[cell] if self.known[cell] else seen.lb
            self.known[cell], self.hidden[cell] = True, False

    def _append(self, seen: _Seen, place: int, cell: int) -> int:
        self.values.append(0 if seen.is_hidden else seen.lb)
        self.known.append(not seen.is_hidden)
        self.hidden.append(seen.is_hidden)
        self.lb.append(seen.lb)
        self.ub.append(seen.ub)
        self.added.append((place, cell))
        if seen.is_suppressed:
            self.suppressed[len(self.values) - 1] = seen.unit
        return len(self.values) - 1

    def _append_slack(self, place: int, room: int) -> int:
        """A cell for what the terms of a relation were rounded by."""
        self.names.append("rounding")
        return self._append(_Seen(True, False, False, -room, room), place, -1)

    def _joint(self, piece: _Piece, keep_empty: bool = False) -> Relations:
        """The relations of a release over joint cells; two of its cells may have become one."""
        from scipy.sparse import csr_array

        rows, number = piece.relations, len(self.values)
        cells, coefs, row = piece.number[rows.cells], rows.coefs, rows.row_of_entry
        rounded = np.flatnonzero(piece.slack >= 0)
        cells = np.concatenate([cells, piece.slack[rounded]])
        coefs = np.concatenate([coefs, np.ones(len(rounded), dtype=np.int64)])
        row = np.concatenate([row, rounded])
        matrix = csr_array((coefs, (row, cells)), shape=(len(rows), number))
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        joint = Relations(
            number,
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.int64),
            rows.rhs,
        )
        return joint if keep_empty else joint.take_rows(np.flatnonzero(np.diff(joint.indptr) > 0))


def _completed(
    relations: Relations, values: Int, unknown: Int, bounds: tuple[Int, Int], whole: bool, deadline: Deadline
) -> Int | None:
    """Whole numbers for the unknown cells, as far as a solver finds them."""
    matrix = relations.matrix.tocsc()
    part = matrix[:, unknown]
    rest = values.astype(np.float64)
    rest[unknown] = 0.0
    right = relations.rhs - matrix @ rest
    rows = np.flatnonzero(np.diff(part.tocsr().indptr))
    low, high = (ends[unknown].astype(np.float64) for ends in bounds)
    low[bounds[0][unknown] == -UNBOUNDED], high[bounds[1][unknown] == UNBOUNDED] = -np.inf, np.inf
    program = Program(
        part.tocsr()[rows].tocsc(),
        (right[rows], right[rows]),
        (low, high),
        np.zeros(len(unknown)),
        np.full(len(unknown), whole),
    )
    point = solve(program, budget=Budget(deadline)).point
    return None if point is None else np.rint(point).astype(np.int64)


def _scaled(relations: Relations, factor: int) -> Relations:
    return Relations(
        relations.num_cells, relations.indptr, relations.cells, relations.coefs, relations.rhs * factor
    )


def _bound(end: int, factor: int) -> int:
    return end if abs(end) == UNBOUNDED else end * factor
