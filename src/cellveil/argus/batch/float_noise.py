"""Values of tables as other programs print floating-point numbers: 0.30000000000000004 is 0.3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

MOST_DIGITS = 15
"""Significant digits that a double always keeps; a text with more shows how it is stored."""

KEPT_DIGITS = 13
"""Digits that such a number is rounded to: sums of doubles are off in the last ones."""

_FIGURE = re.compile(r"\s*[+-]?0*(\d*)[.,](\d+)\s*")


def is_noisy(text: str) -> bool:
    """Whether a number with decimals has more digits than a double keeps.

    Examples
    --------
    >>> is_noisy("0.30000000000000004"), is_noisy("12345678901234567"), is_noisy("0.25")
    (True, False, False)
    """
    found = _FIGURE.fullmatch(text) if len(text) > MOST_DIGITS else None
    return found is not None and len((found[1] + found[2]).lstrip("0")) > MOST_DIGITS


def without_noise(texts: Sequence[str]) -> tuple[list[str], int]:
    """The texts, such numbers rounded, and how many there were.

    Examples
    --------
    >>> without_noise(["0.30000000000000004", "1,5", "264.42999999999995", "x"])
    (['0.3', '1,5', '264.43', 'x'], 2)
    """
    context, count, clean = Context(prec=KEPT_DIGITS), 0, []
    for text in texts:
        if is_noisy(text):
            count += 1
            clean.append(f"{context.plus(Decimal(text.strip().replace(',', '.'))).normalize():f}")
        else:
            clean.append(text)
    return clean, count


def cleaned(frame: Any, names: Sequence[str]) -> tuple[Any, int]:
    """An Arrow table of texts with some of its columns rounded so, and how many numbers that changed."""
    import pyarrow as pa

    total = 0
    for name in names:
        texts, count = without_noise(frame.column(name).to_pylist())
        if count:
            total += count
            place = frame.column_names.index(name)
            frame = frame.set_column(place, name, pa.array(texts, pa.string()))
    return frame, total
