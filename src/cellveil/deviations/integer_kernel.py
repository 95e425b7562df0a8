"""Whole-number deviations next to floating-point ones, for any set of hidden cells.

Sparse elimination of the relations among the hidden cells, with pivots ±1 as far as they go (in tables nearly
everywhere), splits the cells into *basic* ones, each given by a whole-number combination of others, and
*free* ones. Any whole numbers on the free cells extend to a deviation with M y = 0, exactly. So a solver's y
is made exact by rounding it on a fine grid at the free cells and computing the basic ones; the error at these
is a few grid units. Where a capacity is passed by a hair, the whole deviation is scaled down by that hair.

Where a pivot is not ±1, free cells are rounded to multiples of the pivots' common multiple, so that the
divisions come out even.

Requires nothing of the relations. Ensures M y = 0 exactly, and capacities; how far it moves a cell is for the
caller to look at. Cost: the elimination is made once for a set of cells; a lift is linear in its entries.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import inf, lcm
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.witness import Witness
from cellveil.loops.integer_kernel import back_substitute
from cellveil.params import Params, param
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


GRID_BITS = (50, 44, 38, 32)
"""The largest movement takes so many bits on the grid: fewer where the computation would pass 64 bits."""

LARGEST_ENTRY = 2**20
"""Entries of dense rows stay below this, so that products of two keep to 64 bits."""

Pivot = tuple[int, int, dict[int, int]]
"""A column, its coefficient, and the other entries of the row that gives it."""


@dataclass(frozen=True, kw_only=True)
class LatticeParams(Params):
    """Parameters of the elimination behind a lattice."""

    dense_row: int = param(300, "Longest row of sparse elimination; the rest is dense.", least=1)
    sample: int = param(6, "Columns per dense row in which pivots are looked for at first.", least=1)
    modulus: int = param(5040, "Largest common multiple of the pivots.", least=1)


@dataclass(frozen=True, eq=False)
class BackSubstitution:
    """values[pivot[k]] = −(Σ coefs · values[columns]) / pivot_coef[k], sums over starts[k]:starts[k + 1]."""

    pivot: Int
    pivot_coef: Int
    starts: Int
    columns: Int
    coefs: Int


class Lattice:
    """The whole-number deviations that move only `cells`.

    Parameters
    ----------
    cells
        Hidden cells, ascending.
    preference
        Where there is a choice, cells with a high figure become basic: those with room for an error.
    """

    def __init__(
        self,
        relations: Relations,
        cells: Int,
        preference: Float,
        params: LatticeParams | None = None,
    ) -> None:
        self.cells = cells
        elimination = Elimination(relations, cells, preference, params or LatticeParams())
        elimination.run()
        elimination.finish_densely()
        self.modulus = elimination.modulus
        self._sums = elimination.num_sums
        # Last pivot first: each is given by free cells and by pivots after it.
        pivots = elimination.pivots[::-1]
        self._pivot = np.array([column for column, _, _ in pivots], dtype=np.int64)
        self._pivot_coef = np.array([coef for _, coef, _ in pivots], dtype=np.int64)
        self._starts = np.cumsum([0, *(len(rest) for _, _, rest in pivots)]).astype(np.int64)
        self._columns = np.array([q for _, _, rest in pivots for q in rest], dtype=np.int64)
        self._coefs = np.array([b for _, _, rest in pivots for b in rest.values()], dtype=np.int64)

    PRIME = 2**61 - 1

    @property
    def is_complete(self) -> bool:
        """Whether the elimination came to its end: not where entries or pivots grew too large."""
        return self.modulus > 0

    @property
    def steps(self) -> BackSubstitution:
        """How the cells that are given follow from the free ones."""
        return BackSubstitution(self._pivot, self._pivot_coef, self._starts, self._columns, self._coefs)

    @property
    def num_sums(self) -> int:
        """Figures beside those of the cells, which follow after them."""
        return self._sums

    @property
    def num_free(self) -> int:
        """Degrees of freedom: the cells that are not given by others."""
        return len(self.cells) - int((self._pivot < len(self.cells)).sum())

    def basis(self, most_entries: float = inf) -> tuple[Int, csr_matrix] | None:
        """Free cells, as places in `cells`, and the matrix K with y = K · (y at the free cells).

        None where some pivot is not ±1, so that K is not whole, or where it has more entries than that.
        """
        from scipy.sparse import csr_matrix

        if self.modulus != 1:
            return None
        free, filled = np.setdiff1d(np.arange(len(self.cells)), self._pivot), 0
        lines: list[dict[int, int]] = [{} for _ in range(len(self.cells) + self._sums)]
        for number, place in enumerate(free.tolist()):
            lines[place] = {number: 1}
        for i, pivot in enumerate(self._pivot.tolist()):
            line: dict[int, int] = {}
            part = slice(self._starts[i], self._starts[i + 1])
            for q, b in zip(self._columns[part].tolist(), self._coefs[part].tolist(), strict=True):
                for number, amount in lines[q].items():
                    line[number] = line.get(number, 0) - b * int(self._pivot_coef[i]) * amount
            lines[pivot] = {number: amount for number, amount in line.items() if amount}
            filled += len(lines[pivot])
            if filled > most_entries:
                return None
        del lines[len(self.cells) :]
        starts = np.cumsum([0, *(len(line) for line in lines)])
        columns = np.array([number for line in lines for number in line], dtype=np.int64)
        amounts = np.array([amount for line in lines for amount in line.values()], dtype=np.float64)
        return free, csr_matrix((amounts, columns, starts), shape=(len(lines), len(free)))

    def random_element(self) -> Int:
        """The movements of one deviation, with no regard to capacities, drawn at random modulo `PRIME`.

        Whatever linear equation holds in it holds in all deviations, but for a chance of 2^−60.
        """
        moved: list[int] = np.random.default_rng(0).integers(1, self.PRIME, len(self.cells)).tolist()
        moved += [0] * self._sums
        starts, columns, coefs = self._starts.tolist(), self._columns.tolist(), self._coefs.tolist()
        for k, (pivot, coef) in enumerate(zip(self._pivot.tolist(), self._pivot_coef.tolist(), strict=True)):
            part = range(starts[k], starts[k + 1])
            total = sum(coefs[entry] * moved[columns[entry]] for entry in part)
            moved[pivot] = -total * pow(coef, -1, self.PRIME) % self.PRIME
        return np.array(moved[: len(self.cells)], dtype=np.int64)

    def lift(self, moved: Float, room_down: Int, room_up: Int) -> Witness | None:
        """The exact deviation next to `moved` (over `cells`), scaled into the rooms; None if none."""
        largest = float(np.abs(moved).max(initial=0.0))
        if not self.is_complete or not 0.0 < largest < 2.0 ** GRID_BITS[0]:
            return None
        for bits in GRID_BITS:
            scale = 2 ** max(0, bits - int(np.ceil(np.log2(largest + 1))))
            numerators = np.zeros(len(moved) + self._sums, dtype=np.int64)
            numerators[: len(moved)] = np.rint(moved * (scale / self.modulus)).astype(np.int64)
            numerators *= self.modulus
            if back_substitute(
                numerators, self._pivot, self._pivot_coef, self._starts, self._columns, self._coefs
            ):
                break
        else:
            return None
        numerators = numerators[: len(moved)]
        denominator = fitting_denominator(numerators, scale, room_down, room_up)
        kept = numerators != 0
        if denominator is None or not kept.any():
            return None
        return Witness(self.cells[kept], numerators[kept], denominator)


def fitting_denominator(numerators: Int, denominator: int, room_down: Int, room_up: Int) -> int | None:
    """The least denominator from the given one on with which all movements fit; None where none does."""
    for moves, room in ((numerators, room_up), (-numerators, room_down)):
        limited = (moves > 0) & (room < UNBOUNDED)
        if (room[limited] == 0).any():
            return None
        denominator = max(denominator, int((-(-moves[limited] // room[limited])).max(initial=1)))
    return denominator if denominator < 2**60 else None


class Elimination:
    """Markowitz-like elimination: the shortest row, in it the column with the fewest entries.

    Attributes
    ----------
    rows
        What is left of rows that are no pivots.
    pivots, pivot_rows
        What gives a column by others, in the order of elimination, and of which relations it was made.
    """

    def __init__(self, relations: Relations, cells: Int, preference: Float, params: LatticeParams) -> None:
        self.params, self.preference = params, preference.tolist()
        self.pivots: list[Pivot] = []
        self.pivot_rows: list[int] = []
        self.modulus = 1
        self.num_sums = 0
        columns = relations.columns
        self.rows: dict[int, dict[int, int]] = {}
        self.columns: list[set[int]] = []
        for place, cell in enumerate(cells.tolist()):
            part = slice(columns.indptr[cell], columns.indptr[cell + 1])
            mine = columns.rows[part].tolist()
            self.columns.append(set(mine))
            for row, coef in zip(mine, columns.coefs[part].tolist(), strict=True):
                self.rows.setdefault(row, {})[place] = coef

    def run(self) -> None:
        """Find the pivots ±1 of rows that are not too long; what is left stays in `rows`."""
        queue = [(len(entries), row) for row, entries in self.rows.items()]
        heapq.heapify(queue)
        while queue:
            length, row = heapq.heappop(queue)
            entries = self.rows.get(row)
            if entries is None or len(entries) != length or length > self.params.dense_row:
                continue
            if not entries:
                del self.rows[row]
                continue
            pivot = self._pivot_in(entries)
            if pivot is not None:
                for changed in self._eliminate(row, pivot):
                    heapq.heappush(queue, (len(self.rows[changed]), changed))

    def _pivot_in(self, entries: dict[int, int]) -> int | None:
        units = [column for column, coef in entries.items() if coef in (1, -1)]
        if not units:
            return None
        return min(units, key=lambda column: (len(self.columns[column]), -self.preference[column], column))

    def _eliminate(self, row: int, pivot: int) -> list[int]:
        """Use the row to take the pivot's column out of all other rows; return which rows changed."""
        entries = self.rows.pop(row)
        for column in entries:
            self.columns[column].discard(row)
        coef = entries.pop(pivot)
        changed = sorted(self.columns[pivot])
        for other in changed:
            target = self.rows[other]
            factor = target.pop(pivot) * coef
            for column, mine in entries.items():
                value = target.get(column, 0) - factor * mine
                if value:
                    target[column] = value
                    self.columns[column].add(other)
                else:
                    target.pop(column, None)
                    self.columns[column].discard(other)
        self.columns[pivot] = set()
        self.pivots.append((pivot, coef, entries))
        self.pivot_rows.append(row)
        return changed

    def rest(self) -> tuple[Int, Int]:
        """The columns of the rows that are left, and these rows."""
        rows = [entries for entries in self.rows.values() if entries]
        columns = np.array(sorted({column for entries in rows for column in entries}), dtype=np.int64)
        block = np.zeros((len(rows), len(columns)), dtype=np.int64)
        for number, entries in enumerate(rows):
            block[number, np.searchsorted(columns, list(entries))] = list(entries.values())
        return columns, block

    def finish_densely(self) -> None:
        """What is left, as one block: small entries in thin rows and columns are the pivots.

        Pivots are looked for in the thinnest columns only. What the others bring into a row is one figure,
        a *sum*, with a place of its own after those of the cells.
        """
        columns, block = self.rest()
        room = np.array([self.preference[column] for column in columns.tolist()])
        thinnest = np.lexsort((columns, -room, np.count_nonzero(block, axis=0)))
        sums = len(self.preference) + np.arange(len(block))
        tried = self.params.sample * len(block)
        while (pivots := self._dense_pivots(block, columns, sums, np.sort(thinnest[:tried]))) is None:
            tried *= 4
        self.pivots += pivots

    def _dense_pivots(self, block: Int, columns: Int, sums: Int, sample: Int) -> list[Pivot] | None:
        """Pivots in the sampled columns, and then what the sums are; None where the sample has too few."""
        others = np.setdiff1d(np.arange(len(columns)), sample)
        identity = np.identity(len(block) if len(others) else 0, dtype=np.int64)
        names = np.concatenate([columns[sample], sums[: len(identity)]])
        part = np.hstack([block[:, sample], identity]) if len(others) else block
        # Modulo 2^64 each sum stands for itself: combinations that are nothing, and hardly others, give 0.
        prints = block[:, others] @ np.random.default_rng(0).integers(-(2**63), 2**63, len(others))
        pivots: list[Pivot] = []
        modulus = self.modulus
        while modulus and (part := part[part.any(axis=1)]).size:
            spent = ~part[:, : len(sample)].any(axis=1)
            if spent.any():  # such a row says that sums add up to nothing: by themselves, or not
                if (part[spent, len(sample) :] @ prints).any():
                    return None
                part = part[~spent]
                continue
            row, column = _thin_pivot(part[:, : len(sample)])
            line, coef = part[row], int(part[row, column])
            modulus = lcm(modulus, abs(coef))
            if modulus > self.params.modulus or int(np.abs(part).max()) > LARGEST_ENTRY:
                modulus = 0
            pivots.append((int(names[column]), coef, _entries(names, line, column)))
            part = _without(part, row, column)
        self.modulus, self.num_sums = modulus, len(identity)
        for number in range(len(identity)):
            pivots.append((int(sums[number]), -1, _entries(columns[others], block[number, others], -1)))
        return pivots


def _entries(names: Int, line: Int, pivot: int) -> dict[int, int]:
    """The entries of a row besides the pivot."""
    filled = np.flatnonzero(line)
    filled = filled[filled != pivot]
    return dict(zip(names[filled].tolist(), line[filled].tolist(), strict=True))


def _thin_pivot(block: Int) -> tuple[int, int]:
    """Among the smallest entries one whose row and column have few others."""
    sizes = np.abs(block)
    filled = sizes > 0
    smallest = sizes == sizes[filled].min()
    fill = filled.sum(axis=1)[:, None] * filled.sum(axis=0)[None, :]
    row, column = divmod(int(np.where(smallest, fill, fill.max() + 1).argmin()), block.shape[1])
    return row, column


def _without(block: Int, row: int, column: int) -> Int:
    """The other rows, with the column eliminated by the row."""
    line, coef = block[row], int(block[row, column])
    factors = np.delete(block[:, column], row)
    block = np.delete(block, row, axis=0)
    if abs(coef) == 1:
        return np.asarray(block - (factors * coef)[:, None] * line[None, :])
    block = block * coef - factors[:, None] * line[None, :]
    return np.asarray(block // np.maximum(np.gcd.reduce(block, axis=1, keepdims=True), 1))
