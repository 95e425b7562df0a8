"""Cell values, exactly: from the numbers that files and frames hold to scaled integers, and back to text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int
from cellveil.microdata.number_marks import POINTS, NumberMarks, plain_text
from cellveil.tables.scaled import LARGEST, MAX_DECIMALS, REMEDIES, UNBOUNDED, infer_decimals, scale

NO_BOUND = 10**20
"""A bound of this size or more means that nothing is known."""

TOO_FINE = f"has more than {MAX_DECIMALS} decimals"

BEYOND = "is infinite or too large"

FAULTS = REMEDIES | {
    BEYOND: "Give a finite number; use a larger unit (thousands, millions) if need be.",
    TOO_FINE: "Round it, a protection level upwards, so that the table still adds up.",
}
"""What can be wrong with a number, and what to do about it."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_BEYOND = r"(inf|infinity|1e\+?20)"
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)


@dataclass(frozen=True, repr=False, eq=False)
class Amounts:
    """The numbers of one column, in units of 10^−decimals.

    Parameters
    ----------
    scaled
        Integers; 0 where missing, unbounded or at fault.
    decimals
        The fewest that show the column exactly.
    missing
        Where nothing is given.
    unbounded
        1 or −1 where the number is plus or minus infinity, or at least `NO_BOUND` in size; else 0.
    faults
        For each faulty position what is wrong with it, a key of `FAULTS`.
    """

    scaled: Int
    decimals: int
    missing: Bool
    unbounded: NDArray[np.int8]
    faults: dict[int, str]

    def at(
        self, decimals: int, *, bound: bool = False, default: Int | None = None
    ) -> tuple[Int, dict[int, str]]:
        """The integers with other decimals and what is wrong with them.

        Parameters
        ----------
        bound
            Whether infinity is allowed; it becomes ±UNBOUNDED.
        default
            What stands where nothing is given; without it, a missing number is a fault.
        """
        factor = 10 ** max(decimals - self.decimals, 0)
        faults = dict(self.faults)
        if default is None:
            faults |= _all(self.missing, "is missing")
        if self.decimals > decimals:
            coarse = 10 ** (self.decimals - decimals)
            faults |= _all(self.scaled % coarse != 0, "has more decimals than declared")
            scaled = self.scaled // coarse
        else:
            large = np.abs(self.scaled) >= LARGEST // factor
            faults |= _all(large, "is too large")
            scaled = np.where(large, 0, self.scaled) * factor
        if default is not None:
            scaled = np.where(self.missing, default, scaled)
        if bound:
            scaled = np.where(self.unbounded != 0, self.unbounded.astype(np.int64) * UNBOUNDED, scaled)
        else:
            faults |= _all(self.unbounded != 0, BEYOND)
        return np.asarray(scaled, dtype=np.int64), faults


def amounts_of(column: Any, *, marks: NumberMarks = POINTS) -> Amounts:
    """Read an Arrow column of text or numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> amounts = amounts_of(pa.array(["12", "1.50", "inf", ""]))
    >>> amounts.decimals, amounts.scaled.tolist(), amounts.missing.tolist()
    (1, [120, 15, 0, 0], [False, False, False, True])
    """
    import pyarrow as pa

    column = plain_array(column)
    kind = column.type
    if pa.types.is_string(kind):
        return _of_text(column, marks)
    if pa.types.is_decimal(kind):
        return _of_text(column.cast(pa.string()), POINTS)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _of_numbers(column)
    if pa.types.is_null(kind):
        return _of_text(column.cast(pa.string()), POINTS)
    size = len(column)
    faults = dict.fromkeys(range(size), "is not a number")
    return Amounts(_zeros(size), 0, np.zeros(size, dtype=bool), np.zeros(size, dtype=np.int8), faults)


def plain_array(column: Any) -> Any:
    """One Arrow array without chunks, dictionary or long offsets."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        column = column.cast(pa.string())
    return column


def written_decimals(column: Any) -> int:
    """How many digits stand after the decimal point, at most, trailing zeros included.

    Examples
    --------
    >>> import pyarrow as pa
    >>> written_decimals(pa.array(["4.00", "3"]))
    2
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain_array(column)
    if not pa.types.is_string(column.type):
        return 0
    text = pc.utf8_trim_whitespace(column)
    text = text.filter(pc.match_substring(text, "."))
    if not len(text):
        return 0
    digits = pc.subtract(pc.utf8_length(text), pc.find_substring(text, "."))
    return min(int(pc.max(digits).as_py()) - 1, MAX_DECIMALS)


def floats_of(column: Any, *, marks: NumberMarks = POINTS) -> tuple[Float, dict[int, str]]:
    """Read a column of floats: NaN where missing, and the faulty positions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = plain_array(column)
    faults: dict[int, str] = {}
    if pa.types.is_string(column.type):
        column = _trimmed(column, marks)
        try:
            column = pc.cast(column, pa.float64())
        except pa.ArrowInvalid:
            values = column.to_pylist()
            faults = {i: "is not a number" for i, text in enumerate(values) if text and not _is_number(text)}
            values = [None if not text or i in faults else float(text) for i, text in enumerate(values)]
            column = pa.array(values, pa.float64())
    elif pa.types.is_boolean(column.type):
        faults = dict.fromkeys(range(len(column)), "is not a number")
    return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64), faults


def decimal_of(text: str) -> Decimal | str:
    """One number exactly, or what is wrong with it, a key of `FAULTS`.

    Examples
    --------
    >>> decimal_of("1.50"), decimal_of("1,5")
    (Decimal('1.50'), 'is not a number')
    """
    if text.lower() == "nan":
        return "is not finite"
    if not _NUMBER.fullmatch(text):
        return "is not a number"
    number = Decimal(text)
    if abs(number) >= NO_BOUND:
        return BEYOND
    return number if places_of(number) <= MAX_DECIMALS else TOO_FINE


def places_of(number: Decimal) -> int:
    """Digits after the point, trailing zeros aside."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or not any(digits):
        return 0
    zeros = next(count for count, digit in enumerate(reversed(digits)) if digit)
    return max(0, -exponent - zeros)


def texts_of(scaled: Int, decimals: int, *, trim: bool = True, infinite: str = "inf") -> Any:
    """Write scaled integers exactly, as an Arrow column of text.

    Examples
    --------
    >>> texts_of(np.array([-1250, 300, 7]), 2).to_pylist()
    ['-12.5', '3', '0.07']
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if decimals == 0:
        text = pa.array(scaled).cast(pa.string())
    else:
        whole, part = np.divmod(np.abs(scaled), 10**decimals)
        fraction = pc.utf8_lpad(pa.array(part).cast(pa.string()), decimals, "0")
        if trim:
            fraction = pc.utf8_rtrim(fraction, "0")
        point = pc.if_else(pc.equal(fraction, ""), "", ".")
        sign = pc.if_else(pa.array(scaled < 0), "-", "")
        text = pc.binary_join_element_wise(sign, pa.array(whole).cast(pa.string()), point, fraction, "")
    unbounded = np.abs(scaled) == UNBOUNDED
    if unbounded.any():
        words = pa.array(np.where(scaled > 0, infinite, f"-{infinite}").tolist())
        text = pc.if_else(pa.array(unbounded), words, text)
    return text


def float_texts(values: Float) -> Any:
    """Write floats so that they read back equal, whole ones without a point, as an Arrow column."""
    import pyarrow as pa

    whole = (np.abs(values) < 2**53) & (values == np.rint(values))
    if whole.all():
        return pa.array(values.astype(np.int64)).cast(pa.string())
    return pa.array(
        [
            str(int(value)) if is_whole else repr(value)
            for value, is_whole in zip(values.tolist(), whole, strict=True)
        ]
    )


def _of_text(column: Any, marks: NumberMarks) -> Amounts:
    """Arrow parses plain decimals exactly and fast; everything else is looked at one by one.

    Plain means no exponent and at most 18 + 9 digits: beyond, Arrow's decimals may wrap without notice.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = _trimmed(column, marks)
    missing = text.is_null().to_numpy(zero_copy_only=False)
    plus = pc.match_substring_regex(text, rf"(?i)^\+?{_BEYOND}$").fill_null(False)
    minus = pc.match_substring_regex(text, rf"(?i)^-{_BEYOND}$").fill_null(False)
    finite = pc.if_else(pc.or_(plus, minus), None, text)
    plain = pc.match_substring_regex(finite, r"^[+-]?[0-9]{0,18}(\.[0-9]{0,9})?$").fill_null(True)
    for decimals in range(MAX_DECIMALS + 1 if pc.all(plain).as_py() else 0):
        try:
            low, high = _words(pc.cast(finite, pa.decimal128(38, decimals)))
        except pa.ArrowInvalid:
            continue
        wide = high != low >> 63
        return Amounts(
            np.where(wide, 0, low), decimals, missing, _signs(plus, minus), _all(wide, "is too large")
        )
    return _one_by_one(text.to_pylist(), missing)


def _trimmed(column: Any, marks: NumberMarks) -> Any:
    """Text without outer blanks, with a decimal point; null where nothing is left."""
    import pyarrow.compute as pc

    text = plain_text(pc.utf8_trim_whitespace(column), marks)
    return pc.if_else(pc.equal(text, ""), None, text)


def _words(parsed: Any) -> tuple[Int, Int]:
    """Low and high 64 bits of the integers behind an Arrow decimal column; 0 where null."""
    buffer = parsed.buffers()[1]
    words = np.frombuffer(buffer, dtype="<i8")[2 * parsed.offset : 2 * (parsed.offset + len(parsed))]
    filled = ~parsed.is_null().to_numpy(zero_copy_only=False)
    return np.where(filled, words[0::2], 0), np.where(filled, words[1::2], 0)


def _signs(plus: Any, minus: Any) -> NDArray[np.int8]:
    up = plus.to_numpy(zero_copy_only=False).astype(np.int8)
    return np.asarray(up - minus.to_numpy(zero_copy_only=False).astype(np.int8), dtype=np.int8)


def _one_by_one(texts: list[str | None], missing: Bool) -> Amounts:
    numbers: dict[int, Decimal] = {}
    faults: dict[int, str] = {}
    unbounded = np.zeros(len(texts), dtype=np.int8)
    for row, text in enumerate(texts):
        if text is None:
            continue
        if _INFINITE.fullmatch(text):
            unbounded[row] = -1 if text.startswith("-") else 1
            continue
        number = decimal_of(text)
        if not isinstance(number, str):
            numbers[row] = number
        elif number == BEYOND:
            unbounded[row] = -1 if text.startswith("-") else 1
        else:
            faults[row] = number
    decimals = max(map(places_of, numbers.values()), default=0)
    scaled = _zeros(len(texts))
    for row, number in numbers.items():
        exact = int(number.scaleb(decimals))
        if abs(exact) < LARGEST:
            scaled[row] = exact
        else:
            faults[row] = "is too large"
    return Amounts(scaled, decimals, missing, unbounded, faults)


def _of_numbers(column: Any) -> Amounts:
    import pyarrow as pa

    missing = column.is_null().to_numpy(zero_copy_only=False)
    unbounded = np.zeros(len(column), dtype=np.int8)
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    if pa.types.is_floating(column.type):
        missing = missing | np.isnan(values)
        unbounded = np.where(np.abs(values) >= float(NO_BOUND), np.sign(values), 0).astype(np.int8)
        values = np.where(missing | (unbounded != 0), 0.0, values)
    decimals = infer_decimals(values)
    scaled, faults = scale(values, decimals)
    return Amounts(scaled, decimals, np.asarray(missing, dtype=bool), unbounded, faults)


def _is_number(text: str) -> bool:
    return bool(_NUMBER.fullmatch(text) or _INFINITE.fullmatch(text))


def _all(wrong: Bool, what: str) -> dict[int, str]:
    return dict.fromkeys(np.flatnonzero(wrong).tolist(), what)


def _zeros(size: int) -> Int:
    return np.zeros(size, dtype=np.int64)
