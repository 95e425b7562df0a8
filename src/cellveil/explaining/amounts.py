"""Cell values and their distances as people read them: thousands apart, and ∞ where nothing bounds them."""

from __future__ import annotations

import math

from cellveil.tables.scaled import text_of


def amount_text(scaled: int, decimals: int) -> str:
    """A scaled integer with commas between thousands.

    Examples
    --------
    >>> amount_text(-123456789, 2), amount_text(0, 0)
    ('-1,234,567.89', '0')
    """
    whole, point, fraction = text_of(scaled, decimals).partition(".")
    sign = "-" if whole.startswith("-") else ""
    return f"{sign}{int(whole.lstrip('-')):,}{point}{fraction}"


def end_text(scaled: float, decimals: int) -> str:
    """One end of an interval, in units of the last digit; ∞ where it is not bounded.

    Examples
    --------
    >>> end_text(12345.0, 1), end_text(float("inf"), 1)
    ('1,234.5', '∞')
    """
    if not math.isfinite(scaled):
        return "∞" if scaled > 0 else "-∞"
    return amount_text(round(scaled), decimals)


def share_text(part: float, whole: float) -> str:
    """A part in per cent of the whole; a dash where there is no whole.

    Examples
    --------
    >>> share_text(1, 3), share_text(1, 0)
    ('33.3 %', '–')
    """
    return "–" if not whole else f"{100 * part / whole:,.1f} %"
