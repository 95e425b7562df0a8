"""Cell values as scaled integers, and the numbers people write.

A value with *d* declared decimals is stored as the int64 ``value · 10^d``: sums are exact, and so are proofs.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.errors import InputError

UNBOUNDED = np.iinfo(np.int64).max
"""An upper bound of plus infinity; minus this is a lower bound of minus infinity."""

LARGEST = 2**62
"""Scaled values must stay below this, so that the sum of two never wraps."""

MAX_DECIMALS = 9

REMEDIES = {
    "is missing": "Give the value, or leave the cell out if it is empty.",
    "is not a number": "Use digits with a decimal point, no thousands separator.",
    "is not finite": "Give a finite number.",
    "is too large": "Use a larger unit (thousands, millions) or fewer decimals.",
    "has more decimals than declared": "Declare more decimals, or round the table so that it still adds up.",
}
"""What can be wrong with a number, and what to do about it."""

MISSING = frozenset({"", "nan", "snan", "nat", "<na>", "none"})
"""How the various ways to leave a value out look as text."""

EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Shifts the point without rounding."""


def scale(column: Any, decimals: int) -> tuple[Int, dict[int, str]]:
    """Turn a column into scaled integers.

    Returns
    -------
    scaled, faults
        The integers (0 where at fault), and for each faulty position what is wrong, a key of `REMEDIES`.

    Examples
    --------
    >>> scale([1.25, "3", None, "x"], 2)
    (array([125, 300,   0,   0]), {2: 'is missing', 3: 'is not a number'})
    """
    values = _as_array(column)
    if values.dtype.kind == "b":
        return np.zeros(len(values), dtype=np.int64), dict.fromkeys(range(len(values)), "is not a number")
    if values.dtype.kind in "iu":
        return _scale_integers(values, decimals)
    if values.dtype.kind == "f":
        return _scale_floats(values.astype(np.float64), decimals)
    return _scale_one_by_one(values, decimals)


def infer_decimals(column: Any) -> int:
    """Smallest number of decimals that shows the column exactly, at most `MAX_DECIMALS`.

    Examples
    --------
    >>> infer_decimals([1.0, 2.5, 0.125])
    3
    """
    values = _as_array(column)
    if values.dtype.kind in "iub":
        return 0
    if values.dtype.kind != "f":
        return max((_decimals_of(value) for value in values.tolist()), default=0)
    finite = values[np.isfinite(values)].astype(np.float64)
    for decimals in range(MAX_DECIMALS):
        if not _off_grid(finite, decimals).any():
            return decimals
    return MAX_DECIMALS


def rescale(scaled: Int, more: int) -> Int:
    """The same values with `more` further decimals.

    Raises
    ------
    InputError
        When a value no longer fits.
    """
    factor = 10**more
    if int(np.abs(scaled).max(initial=0)) * factor >= LARGEST:
        raise InputError(f"with {more} more decimals a value is too large", remedy=REMEDIES["is too large"])
    return np.asarray(scaled * factor, dtype=np.int64)


def unscale(scaled: Int, decimals: int) -> Float:
    """Return the values as floats, ±UNBOUNDED as ±infinity."""
    floats: Float = scaled / 10.0**decimals
    floats[scaled == UNBOUNDED] = np.inf
    floats[scaled == -UNBOUNDED] = -np.inf
    return floats


def text_of(scaled: int, decimals: int, *, trim: bool = False) -> str:
    """Write one scaled integer exactly; `trim` drops trailing zeros after the point.

    Examples
    --------
    >>> text_of(-1250, 3), text_of(-1250, 3, trim=True), text_of(5, 2)
    ('-1.250', '-1.25', '0.05')
    """
    if abs(scaled) == UNBOUNDED:
        return "inf" if scaled > 0 else "-inf"
    if decimals == 0:
        return str(scaled)
    whole, part = divmod(abs(int(scaled)), 10**decimals)
    fraction = f"{part:0{decimals}d}"
    if trim:
        fraction = fraction.rstrip("0")
    return f"{'-' if scaled < 0 else ''}{whole}{'.' if fraction else ''}{fraction}"


_COMPARED = re.compile(
    r"[<>≤≥≦≧⩽⩾⪅⪆≲≳]|\d|\b(?:"
    "under|below|less|fewer|fewest|few|most|least|over|above|more|max|min|maximum|minimum|up to|or less|"
    "small|low|large|positive|negative|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|"
    "unter|weniger|wenige|höchstens|mindestens|über|mehr|ab|bis|klein|gering|positiv|negativ|"
    "null|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf"
    r")\b"
)


def tells_of_value(mark: str) -> bool:
    """Whether what stands in place of a value says something of it: a number, or more or less than something.

    Examples
    --------
    >>> marks = ["<5", "c < 5", "1-4", "≤4", "under five", "＜５", "5+", "unter 5", "c(3)"]
    >>> [mark for mark in marks if not tells_of_value(mark)]
    []
    >>> [mark for mark in ["x", "", ":", "…", "-", "n/a", "(D)", "conf."] if tells_of_value(mark)]
    []
    """
    plain = unicodedata.normalize("NFKC", mark).casefold()
    spread = unicodedata.normalize("NFKD", mark)
    return bool(_COMPARED.search(plain)) or any(
        letter in "<>" or unicodedata.category(letter)[0] == "N" for letter in spread
    )


def _as_array(column: Any) -> NDArray[Any]:
    """The column as an array in which truth values have not become numbers."""
    mixed = isinstance(column, list | tuple) and any(isinstance(value, bool | np.bool_) for value in column)
    return np.asarray(column, dtype=object) if mixed else np.asarray(column)


def _scale_integers(values: NDArray[Any], decimals: int) -> tuple[Int, dict[int, str]]:
    limit = (LARGEST - 1) // 10**decimals
    large = (values > limit) | (values < -limit) if values.dtype.kind == "i" else values > limit
    scaled = np.where(large, 0, values).astype(np.int64) * 10**decimals
    return scaled, dict.fromkeys(np.flatnonzero(large).tolist(), "is too large")


def _scale_floats(values: Float, decimals: int) -> tuple[Int, dict[int, str]]:
    faults: dict[int, str] = {}
    finite = np.isfinite(values)
    faults.update(dict.fromkeys(np.flatnonzero(np.isinf(values)).tolist(), "is not finite"))
    faults.update(dict.fromkeys(np.flatnonzero(np.isnan(values)).tolist(), "is missing"))
    usable = np.where(finite, values, 0.0)
    with np.errstate(over="ignore"):
        large = np.abs(usable * 10.0**decimals) >= LARGEST
    faults.update(dict.fromkeys(np.flatnonzero(large).tolist(), "is too large"))
    usable = np.where(large, 0.0, usable)
    off = _off_grid(usable, decimals)
    faults.update(dict.fromkeys(np.flatnonzero(off).tolist(), "has more decimals than declared"))
    return np.rint(np.where(off, 0.0, usable) * 10**decimals).astype(np.int64), faults


def _off_grid(values: Float, decimals: int) -> Bool:
    """Where more decimals are needed; a float that came out of a few sums may be off in its last digit."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * 10.0**decimals
        tolerance = np.minimum(4 * np.finfo(np.float64).eps * np.abs(scaled), 0.25)
        return np.asarray(np.abs(scaled - np.rint(scaled)) > tolerance)


def _scale_one_by_one(values: NDArray[Any], decimals: int) -> tuple[Int, dict[int, str]]:
    scaled = np.zeros(len(values), dtype=np.int64)
    faults: dict[int, str] = {}
    for position, value in enumerate(values.tolist()):
        number = _as_decimal(value)
        if isinstance(number, str):
            faults[position] = number
        elif number.adjusted() > 18 or abs(shifted := number.scaleb(decimals, EXACT)) >= LARGEST:
            faults[position] = "is too large"
        elif shifted != shifted.to_integral_value(context=EXACT):
            faults[position] = "has more decimals than declared"
        else:
            scaled[position] = int(shifted)
    return scaled, faults


def _as_decimal(value: Any) -> Decimal | str:
    """The number, or what is wrong with it."""
    text = str(value).strip()
    if text.lower() in MISSING:
        return "is missing"
    if not text.isascii() or "_" in text:  # which Decimal would take
        return "is not a number"
    try:
        number = Decimal(text)
    except InvalidOperation:
        return "is not a number"
    if number.is_nan():
        return "is missing"
    return number if number.is_finite() else "is not finite"


def _decimals_of(value: Any) -> int:
    number = _as_decimal(value)
    if isinstance(number, str):
        return 0
    exponent = number.normalize(EXACT).as_tuple().exponent
    return min(MAX_DECIMALS, max(0, -exponent)) if isinstance(exponent, int) else 0
