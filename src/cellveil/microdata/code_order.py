"""The order of the codes of a dimension that come from data, and codes that look like one written twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

FIXED_WIDTH = re.compile(r"(?<![0-9.])0[0-9]")
"""Codes with leading zeros are of fixed width: as text they are in order."""

WHOLE_NUMBER = re.compile(r"0*([0-9]+?)(?:[.,]0*)?")

NUMBER = re.compile(r"([0-9]+)")
BELOW = ("<", "≤")


def in_order(paths: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Codes, each perhaps with those above it, sorted so that numbers in them count by their size.

    Examples
    --------
    >>> [code for code, in in_order([("0-9",), ("10-49",), ("250+",), ("50-249",), ("<0",)])]
    ['<0', '0-9', '10-49', '50-249', '250+']
    >>> [code for code, in in_order([("01.2",), ("01.11",), ("01.1",)])]
    ['01.1', '01.11', '01.2']
    """
    found = list(paths)
    if any(FIXED_WIDTH.search(code) for path in found for code in path):
        return sorted(found)
    return sorted(found, key=lambda path: ([_key(code) for code in path], path))


def _key(code: str) -> tuple[bool, list[tuple[int, int, str]]]:
    """What a code is sorted by: open ends below first, then texts and numbers in turn.

    Digits after a point are text: 1.11 comes before 1.2.
    """
    key, after_point = [], False
    for place, part in enumerate(NUMBER.split(code.lstrip("<≤= "))):
        if place % 2 and not after_point:
            key.append((0, int(part), ""))
        elif part:
            key.append((1, 0, part))
        after_point = part.endswith(".")
    return not code.startswith(BELOW), key


def nearly_equal(codes: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of codes that differ only in how they are written: capitals, blanks, accents, leading zeros.

    Examples
    --------
    >>> nearly_equal(["food", "steel", "Food", "7", "007", "10", "1.0"])
    [('food', 'Food'), ('7', '007')]
    """
    first: dict[str, str] = {}
    return [(first[_folded(code)], code) for code in codes if first.setdefault(_folded(code), code) != code]


def same_but_for_writing(one: str, other: str) -> bool:
    """Whether two codes differ at most in how they are written."""
    return _folded(one) == _folded(other)


def _folded(code: str) -> str:
    plain = "".join(unicodedata.normalize("NFKC", code).split()).casefold()
    number = WHOLE_NUMBER.fullmatch(plain)
    return number[1] if number else plain
