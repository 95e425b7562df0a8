"""Independent answers by enumeration: no code of the package's attack.

Intervals are enumerated in exact arithmetic, without a solver; patterns are enumerated too, each judged by
SciPy's linear programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status


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


def reaches(problem: Problem, hidden: NDArray[np.bool_], cell: int) -> tuple[float, float]:
    """How far a hidden cell can fall and rise; ∞ where nothing holds it."""
    bounds = [
        (-down if np.isfinite(down) else None, up if np.isfinite(up) else None) if is_hidden else (0.0, 0.0)
        for down, up, is_hidden in zip(problem.down, problem.up, hidden, strict=True)
    ]
    matrix = problem.table.relations.matrix
    found = []
    for sign in (1.0, -1.0):
        cost = np.zeros(len(hidden))
        cost[cell] = sign
        answer = linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds)
        assert answer.status in (0, 3), answer.message
        found.append(np.inf if answer.status == 3 else -float(answer.fun))
    return found[0], found[1]


def is_safe(problem: Problem, hidden: NDArray[np.bool_]) -> bool:
    """Whether a pattern meets all levels."""
    for cell in problem.primaries.tolist():
        fall, rise = reaches(problem, hidden, cell)
        lacks = (problem.lpl[cell] - fall, problem.upl[cell] - rise, problem.spl[cell] - fall - rise)
        if max(lacks) > 1e-6:
            return False
    return True


def cheapest_pattern(problem: Problem) -> float | None:
    """Least cost beyond what is hidden at the start, of all patterns; None where none is safe."""
    free = np.flatnonzero(problem.status == Status.SAFE)
    assert len(free) <= 14, "too many patterns"
    everything = problem.hidden_at_start.copy()
    everything[free] = True
    if not is_safe(problem, everything):
        return None
    taken = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1
    costs = taken @ problem.weight[free]
    for number in np.argsort(costs, kind="stable").tolist():
        hidden = problem.hidden_at_start.copy()
        hidden[free[taken[number] == 1]] = True
        if not _leaves_one_alone(problem, hidden) and is_safe(problem, hidden):
            return float(costs[number])
    raise AssertionError("hiding everything was safe")


def _leaves_one_alone(problem: Problem, hidden: NDArray[np.bool_]) -> bool:
    """Whether some relation has a single hidden cell, and that is primary."""
    matrix = (problem.table.relations.matrix != 0).astype(int)
    alone = np.flatnonzero(matrix @ hidden == 1)
    return bool((matrix[alone] @ (problem.status == Status.PRIMARY)).any())
