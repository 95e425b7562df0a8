"""Exact arithmetic of rules: percentages as fractions, integers that never wrap, levels rounded up."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.tables.scaled import LARGEST

Number = int | float | str | Decimal | Fraction
"""How a user may write a number; a float counts as the decimal that Python prints for it. A percentage may be
written as text with its sign, "0.5 %": only so may it be below 1, as 0.5 might be meant as a share."""


def fraction(value: Number, name: str) -> Fraction:
    """Return the number exactly as written.

    Examples
    --------
    >>> fraction(12.5, "p"), fraction("0.1", "p")
    (Fraction(25, 2), Fraction(1, 10))
    """
    try:
        if isinstance(value, bool):
            raise ValueError
        return value if isinstance(value, Fraction) else Fraction(str(value).removesuffix("%").rstrip())
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{name} is not a number", remedy=f"Give {name} as a plain number.") from None


def written(value: Number) -> str:
    """Write a number in the shortest exact way.

    Examples
    --------
    >>> written(10.0), written("12.50"), written("200/3")
    ('10', '12.5', '200/3')
    """
    exact = fraction(value, "the number")
    text = format((Decimal(exact.numerator) / exact.denominator).normalize(), "f")
    return text if Fraction(text) == exact else str(exact)


def percentage(value: Number, name: str, *, high: int = 100, zero: bool = False) -> Fraction:
    """Check a percentage: above 0 (or exactly 0, where that makes sense), and at most `high`.

    Below 1 it must be written with its sign, or it looks like a share.

    Examples
    --------
    >>> percentage(15, "p"), percentage("0.5 %", "p")
    (Fraction(15, 1), Fraction(1, 2))
    """
    number = fraction(value, name)
    is_explicit = isinstance(value, str) and value.endswith("%")
    if 0 < number < 1 and not is_explicit:
        raise InputError(
            f"{name} = {value} is below 1 per cent, which looks like a share",
            remedy=f"{name} is a percentage: write 15 for 15 %. "
            f'If so little is meant, say so: "{value} %", in quotes.',
        )
    if number < 0 or (number == 0 and not zero) or number > high:
        raise InputError(
            f"{name} = {value} is out of range",
            remedy=f"Give a percentage from {0 if zero else 1} to {high}.",
        )
    return number


def whole(value: object, name: str, *, low: int) -> int:
    """Check a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise InputError(
            f"{name} = {value} is not a whole number of at least {low}",
            remedy=f"Give {name} = {low} or more.",
        )
    return int(value)


def one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    """Check a choice."""
    if value not in known:
        raise InputError(f"{name} = {value!r} is not known", remedy=f"Choose from: {', '.join(known)}.")


def widen(array: NDArray[Any], bound: int) -> NDArray[Any]:
    """Return the integers as int64 where no result exceeds `bound` < 2^62, else as Python integers."""
    return array if bound < LARGEST else array.astype(object)


def round_up(numerators: NDArray[Any], denominators: NDArray[Any] | int) -> NDArray[Any]:
    """Quotients of Python integers, rounded up.

    Examples
    --------
    >>> round_up(np.array([6, 7], dtype=object), 3).tolist()
    [2, 3]
    """
    return np.asarray(-(-numerators // denominators), dtype=object)


def as_levels(amounts: NDArray[Any]) -> Int:
    """Protection levels: at least one unit of the last digit, and small enough to be stored."""
    levels = np.maximum(amounts, 1)
    if (levels >= LARGEST).any():
        raise InputError(
            "a protection level is too large to be stored",
            remedy="Use a larger unit (thousands, millions) or a smaller percentage.",
        )
    return np.asarray(levels, dtype=np.int64)


def margin(values: Int, percent: Fraction) -> Int:
    """Levels of so many per cent of the absolute values.

    Examples
    --------
    >>> margin(np.array([100, -11, 1]), Fraction(20)).tolist()
    [20, 3, 1]
    """
    sizes = np.abs(values).astype(object)
    return as_levels(round_up(sizes * percent.numerator, 100 * percent.denominator))
