"""Good patterns for one part: incremental programs and trials, from scratch or around a fractional point.

Sliding levels are shared out between both sides first, as far as the cell can move if everything is hidden,
so that a book of witnesses can be kept; the pattern is then good for the sliding levels as well.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cellveil.problem import Problem, Status
from cellveil.suppression.book import Book
from cellveil.suppression.exact_separation import Separation
from cellveil.suppression.incremental import Incremental
from cellveil.suppression.search import Search, drop_unused

Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Stop = Callable[[], bool]

GUIDED = 0.05
"""What is left of a cell's weight where the fractional point hides it whole."""


class Starter:
    """Finds patterns of one part."""

    def __init__(self, problem: Problem, separation: Separation, *, seed: int) -> None:
        self.part, self.seed = separation.part, seed
        self.problem = _apart(problem, separation)

    def from_scratch(self, stop: Stop, trials: int) -> Bool | None:
        """A pattern by incremental programs, cleaned up and shaken; None where none was finished."""
        if self.problem is None:
            return None
        book = Book(self.problem)
        return self._improved(book, stop, trials) if _protect_all(book, stop) else None

    def around(self, point: Float, stop: Stop) -> Bool | None:
        """A pattern near a fractional point: what it hides is cheap."""
        if self.problem is None:
            return None
        cells = self.part.component.cells
        weight = self.problem.weight.copy()
        weight[cells] *= np.maximum(1.0 - point, GUIDED)
        hidden = np.zeros(len(weight), dtype=bool)
        hidden[cells[point > 1.0 - GUIDED]] = True
        guided = Book(self.problem.replace(weight=weight), hidden)
        if not _protect_all(guided, stop):
            return None
        drop_unused(guided)
        book = Book(self.problem, guided.hidden)
        book.add_all(guided.witnesses())
        return self._improved(book, stop, 0) if _protect_all(book, stop) else None

    def _improved(self, book: Book, stop: Stop, trials: int) -> Bool:
        drop_unused(book)
        book.tidy()
        search = Search(book, Incremental(book), seed=self.seed)
        search.clean_up(stop)
        search.shake(stop, trials)
        return np.asarray(book.hidden[self.part.component.cells])


def _protect_all(book: Book, stop: Stop) -> bool:
    """Meet every open demand of the book; False where one cannot be met, or the time is over."""
    protector = Incremental(book)
    while book.num_open:
        cells, up, _ = book.open_demands()
        if stop() or protector.protect(int(cells[0]), bool(up[0])) != "met":
            return False
    return True


def _apart(problem: Problem, separation: Separation) -> Problem | None:
    """The problem with all cells but the part's published, and sliding levels shared out."""
    part = separation.part
    cells, n = part.component.cells, problem.table.num_cells
    status = np.full(n, Status.FROZEN, dtype=np.int8)
    status[cells] = problem.status[cells]
    upl, lpl = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    for need in part.needs:
        (upl if need.up else lpl)[cells[need.own]] = need.amount
    for width in part.widths:
        cell = cells[width.own]
        above, below = (separation.farthest(width.own, up, width.amount) for up in (True, False))
        missing = max(width.amount - int(upl[cell] + lpl[cell]), 0)
        extra = min(missing, max(above - int(upl[cell]), 0))
        if lpl[cell] + missing - extra > below:
            return None
        upl[cell] += extra
        lpl[cell] += missing - extra
    levels = {"upl": upl, "lpl": lpl, "spl": np.zeros(n, dtype=np.int64)}
    return problem.replace(status=_with_levels(status, upl, lpl), reasons={}, **levels)


def _with_levels(
    status: NDArray[np.int8], upl: NDArray[np.int64], lpl: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Primary cells of the part without a level left are hidden without a demand."""
    idle = (status == Status.PRIMARY) & (upl == 0) & (lpl == 0)
    return np.where(idle, Status.SECONDARY, status).astype(np.int8)
