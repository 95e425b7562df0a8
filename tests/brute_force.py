"""Independent answers by enumeration, in exact arithmetic: no solver, no code of the package's attack."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

from cellveil.problem import Problem
from cellveil.view import Pattern


def intervals(problem: Problem, pattern: Pattern) -> dict[int, tuple[Fraction, Fraction]]:
    """Smallest and largest value of each hidden cell; all bounds of hidden cells must be finite."""
    hidden = [int(cell) for cell in pattern.hidden.nonzero()[0]]
    values = problem.table.values.tolist()
    lower, upper = [int(problem.lb[c]) for c in hidden], [int(problem.ub[c]) for c in hidden]
    place = {cell: i for i, cell in enumerate(hidden)}
    rows: list[list[Fraction]] = []
    for row in range(len(problem.table.relations)):
        cells, coefs = problem.table.relations.row(row)
        line = [Fraction(0)] * (len(hidden) + 1)
        line[-1] = Fraction(int(problem.table.relations.rhs[row]))
        for cell, coef in zip(cells.tolist(), coefs.tolist(), strict=True):
            if cell in place:
                line[place[cell]] += coef
            else:
                line[-1] -= coef * values[cell]
        rows.append(line)
    lowest: list[Fraction | None] = [None] * len(hidden)
    highest: list[Fraction | None] = [None] * len(hidden)
    for vertex in _vertices(rows, lower, upper):
        for i, value in enumerate(vertex):
            lowest[i] = value if lowest[i] is None else min(lowest[i], value)
            highest[i] = value if highest[i] is None else max(highest[i], value)
    return {cell: (lowest[i], highest[i]) for i, cell in enumerate(hidden)}  # type: ignore[misc]


def is_protected(problem: Problem, pattern: Pattern) -> dict[int, bool]:
    """Verdict for each primary cell."""
    found = intervals(problem, pattern)
    verdict = {}
    for cell in problem.primaries.tolist():
        if cell not in found:
            verdict[cell] = False
            continue
        low, high = found[cell]
        value = int(problem.table.values[cell])
        verdict[cell] = (
            low <= value - int(problem.lpl[cell])
            and high >= value + int(problem.upl[cell])
            and high - low >= int(problem.spl[cell])
        )
    return verdict


def _vertices(rows: list[list[Fraction]], lower: list[int], upper: list[int]) -> Iterator[list[Fraction]]:
    """Vertices of {A x = b, lower ≤ x ≤ upper}: as many unknowns at a bound as the equations leave free."""
    n = len(lower)
    reduced, pivots = _echelon(rows, n)
    for fixed in combinations(range(n), n - len(pivots)):
        for bounds in product(*((lower[i], upper[i]) for i in fixed)):
            extra = [
                [Fraction(int(j == i)) for j in range(n)] + [Fraction(b)]
                for i, b in zip(fixed, bounds, strict=True)
            ]
            solved, columns = _echelon(reduced + extra, n)
            if len(columns) < n or any(line[-1] for line in solved[n:]):
                continue
            point = [solved[i][-1] for i in range(n)]
            if all(low <= x <= high for low, x, high in zip(lower, point, upper, strict=True)):
                yield point


def _echelon(rows: list[list[Fraction]], n: int) -> tuple[list[list[Fraction]], list[int]]:
    """Reduced row echelon form, and its pivot columns; contradictions stay as rows with a right side only."""
    work = [row[:] for row in rows]
    pivots: list[int] = []
    for column in range(n):
        top = len(pivots)
        found = next((i for i in range(top, len(work)) if work[i][column]), None)
        if found is None:
            continue
        work[top], work[found] = work[found], work[top]
        factor = work[top][column]
        work[top] = [x / factor for x in work[top]]
        for i in range(len(work)):
            if i != top and work[i][column]:
                times = work[i][column]
                work[i] = [x - times * y for x, y in zip(work[i], work[top], strict=True)]
        pivots.append(column)
    kept = work[: len(pivots)] + [row for row in work[len(pivots) :] if row[-1]]
    return kept, pivots
