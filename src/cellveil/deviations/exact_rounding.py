"""From a solver's floating-point deviation to an exact one.

Three ways, cheapest first; each result is checked exactly (M y = 0, capacities) before it is believed.

1. Round to whole units: right whenever the vertex is integral, which is the rule.
2. Round to a small common denominator.
3. Fix the cells that sit at a capacity or at the wanted movement, and solve for the others exactly, by
   fraction-free elimination (python-flint).

What cannot be lifted does not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.deviations.components import Component
from cellveil.deviations.witness import LARGEST_NUMERATOR, Witness, movable_multiple
from cellveil.params import Params, param
from cellveil.solvers.exact_elimination import reduced_rows
from cellveil.solvers.tolerances import GUESS, LARGEST_DENOMINATOR, NOISE, ROUNDING
from cellveil.tables.scaled import UNBOUNDED


@dataclass(frozen=True, kw_only=True)
class ExactRoundingParams(Params):
    """Parameters of making a deviation exact."""

    most_solved: int = param(400, "Most cells of a deviation for exact elimination.", least=0)
    denominator: int = param(120, "Largest denominator that a single movement is taken to have.", least=1)


def lift(
    component: Component,
    moved: Float,
    room_down: Int,
    room_up: Int,
    *,
    params: ExactRoundingParams | None = None,
) -> Witness | None:
    """An exact deviation next to a floating-point one, or None.

    Parameters
    ----------
    component
        The cells that may move and their relations.
    moved
        Movement of each cell of the component, in units of the last digit.
    room_down, room_up
        Capacities of each cell of the component; UNBOUNDED where there is none.
    """
    params, largest = params or ExactRoundingParams(), float(np.abs(moved).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return None
    support = np.flatnonzero(np.abs(moved) > NOISE * min(largest, 1.0))
    for denominator in _denominators(moved[support], params.denominator):
        witness = _rounded(component, moved, support, denominator)
        if witness is not None and _fits(component, witness, room_down, room_up):
            return witness
    if len(support) > params.most_solved:
        return None
    witness = _solved(component, moved, support, room_down, room_up)
    return witness if witness is not None and _fits(component, witness, room_down, room_up) else None


def _denominators(moved: Float, most: int) -> list[int]:
    """1, and the common denominator that the movements seem to have."""
    common = 1
    for value in moved.tolist():
        common = lcm(common, Fraction(value).limit_denominator(most).denominator)
        if common > LARGEST_DENOMINATOR:
            return [1]
    return [1] if common == 1 else [1, common]


def _rounded(component: Component, moved: Float, support: Int, denominator: int) -> Witness | None:
    scaled = moved[support] * denominator
    if np.abs(scaled).max() >= 2.0**53:
        return None
    numerators = np.rint(scaled).astype(np.int64)
    if np.abs(scaled - numerators).max() > ROUNDING * denominator + NOISE * np.abs(scaled).max():
        return None
    kept = numerators != 0
    if not kept.any():
        return None
    return Witness(component.cells[support[kept]], numerators[kept], denominator)


def _fits(component: Component, witness: Witness, room_down: Int, room_up: Int) -> bool:
    """M y = 0 and the capacities, exactly."""
    places = np.searchsorted(component.cells, witness.cells)
    if movable_multiple(witness, room_down[places], room_up[places]) < 1:
        return False
    columns = component.matrix[:, places]
    coefs = columns.data.astype(np.int64)
    per_entry = np.repeat(witness.numerators, np.diff(columns.indptr))
    if len(coefs) and int(np.abs(coefs).max()) * int(np.abs(per_entry).max()) > LARGEST_NUMERATOR // 2**20:
        sums = np.zeros(columns.shape[0], dtype=object)
        np.add.at(sums, columns.indices, coefs.astype(object) * per_entry.astype(object))
    else:
        sums = np.zeros(columns.shape[0], dtype=np.int64)
        np.add.at(sums, columns.indices, coefs * per_entry)
    return not np.any(sums)


def _solved(component: Component, moved: Float, support: Int, room_down: Int, room_up: Int) -> Witness | None:
    """Cells at a capacity or at a whole movement keep it; the others follow exactly from the relations."""
    block = component.matrix[:, support].tocsr()
    block = block[np.flatnonzero(np.diff(block.indptr))].toarray().astype(np.int64)
    values = _guesses(moved[support], room_down[support], room_up[support])
    # Cells whose value is certain come last, so that elimination solves for the uncertain ones first.
    certain = np.array([value.denominator == 1 for value in values])
    order = np.argsort(certain, kind="stable")
    rows, scale = reduced_rows(block[:, order])
    solution = [values[column] for column in order]
    n = len(order)
    for (pivot, _), *entries in rows:
        total = sum((coef * solution[column] for column, coef in entries), Fraction(0))
        solution[pivot] = -total / scale
    common = lcm(*(value.denominator for value in solution))
    exact = [int(value * common) for value in solution]
    if max(map(abs, exact), default=0) >= LARGEST_NUMERATOR or common >= 2**31:
        return None
    numerators = np.zeros(n, dtype=np.int64)
    numerators[order] = exact
    kept = numerators != 0
    return Witness(component.cells[support[kept]], numerators[kept], common) if kept.any() else None


def _guesses(moved: Float, room_down: Int, room_up: Int) -> list[Fraction]:
    guesses = []
    for value, down, up in zip(moved.tolist(), room_down.tolist(), room_up.tolist(), strict=True):
        slack = GUESS * max(1.0, abs(value))
        if up != UNBOUNDED and abs(value - up) <= slack:
            guesses.append(Fraction(up))
        elif down != UNBOUNDED and abs(value + down) <= slack:
            guesses.append(Fraction(-down))
        elif abs(value - round(value)) <= slack:
            guesses.append(Fraction(round(value)))
        else:
            guesses.append(Fraction(value).limit_denominator(LARGEST_DENOMINATOR))
    return guesses
