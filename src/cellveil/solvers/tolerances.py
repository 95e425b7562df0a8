"""Every tolerance, in one place; the report prints them.

Amounts are in units of the last declared digit (values are scaled integers).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FEASIBILITY = 1e-9
"""Primal and dual feasibility asked of the LP solver, on problems scaled to `LP_RANGE`."""

LP_RANGE = 2.0**20
"""Right-hand sides and finite bounds are scaled by a power of two to at most this before solving."""

REACH = 1e4
"""Capacities beyond this multiple of the amount wanted are cut first, for the sake of numerics; all of them
are tried before a movement is called impossible."""

SUPPORT = 1e-9
"""A cell takes part in a deviation of size 1 when it moves by more than this."""

JUDGE_ABSOLUTE = 1e-4
"""The judge forgives a shortfall of a ten-thousandth of the last digit …"""

JUDGE_RELATIVE = 1e-10
"""… plus this share of the cell's value, for what floating-point LPs cannot resolve."""


def judge_slack(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Shortfall of an interval that the judge puts down to rounding."""
    slack: NDArray[np.float64] = JUDGE_ABSOLUTE + JUDGE_RELATIVE * np.abs(values).astype(np.float64)
    return slack


def describe() -> str:
    """One line for reports."""
    return (
        f"LP feasibility {FEASIBILITY:g} on data scaled to {LP_RANGE:g}; an interval may fall short by "
        f"{JUDGE_ABSOLUTE:g} of the last digit plus {JUDGE_RELATIVE:g} of the value"
    )
