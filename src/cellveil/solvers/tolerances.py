"""Every tolerance, in one place; the report prints them.

Amounts are in units of the last declared digit (values are scaled integers).
"""

from __future__ import annotations

FEASIBILITY = 1e-9
"""Primal and dual feasibility asked of the LP solver, on problems scaled to `LP_RANGE`."""

LP_RANGE = 2.0**20
"""Right-hand sides and finite bounds are scaled by a power of two to at most this before solving."""

REACH = 1e4
"""Capacities beyond this multiple of the amount wanted are cut first, for the sake of numerics; all of them
are tried before a movement is called impossible."""

SUPPORT = 1e-9
"""A cell takes part in a deviation of size 1 when it moves by more than this."""

SOLVED_SUPPORT, PROGRAM_SUPPORT = 1e-7, 1e-6
"""The same in a joint witness, and in an interior point on a whole table."""

EQUAL = 1e-9
"""Two numbers that differ by less, as a share or in units of 1, count as equal."""

GUARD, DENOMINATOR, SMALLEST = 1e-12, 1e-30, 1e-300
"""Added to weights so that none is 0; least denominators of ratios."""

NOISE, EXCEEDED = 1e-7, 1e-7
"""Movements below this share of the largest one are noise of the solver; and how far a movement may pass a
capacity, as a share."""

GUESS = 1e-6
"""A floating-point movement this near to a capacity or a whole number, as a share, is taken for it."""

REGULARISATION = 1e-9
"""Added to the diagonal of M Mᵀ before it is factorised."""

INTEGRALITY = 1e-6
"""How far from a whole number a variable may be and still count as one; also taken off bounds of covering
programs with whole cells, as a share."""

MIP_GAP, MIP_FEASIBILITY, COVER_GAP = 1e-7, 1e-7, 1e-5
"""A mixed-integer program is solved when point and bound are this close, as a share; how far its rows may be
off; and the gap of covering programs."""

LARGEST_DENOMINATOR = 10_000
"""Floating-point movements and dual variables are read as fractions up to this denominator."""

WHOLE, SPLIT_WHOLE = 1e-5, 1e-3
"""What a linear program, and what Douglas–Rachford splitting, leaves off whole movements in an adjustment."""

BETWEEN_LEVELS = 1e-6
"""A sensitive cell is between its two levels when it is farther from both than this."""

SQUARES_GAP = 1e-6
"""Relative gap at which the outer approximation of squares ends."""

ROUNDING = 1e-4
"""How much of the last digit a floating-point amount may be off when it is rounded down to whole units."""


def describe() -> str:
    """One line for reports."""
    return (
        "Verdicts rest on exact deviations, without a tolerance. The ends of intervals are floating-point "
        f"figures (LP feasibility {FEASIBILITY:g})"
    )
