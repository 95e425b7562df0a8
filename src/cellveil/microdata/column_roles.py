"""Roles that the columns of microdata or of a ready-made table seem to play, told by names and contents.

A guess for somebody to confirm: which columns look like dimensions, amounts, ids of contributors, weights.
Only a sample of the records is looked at, and nothing of it is kept but counts and the codes of dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

import numpy as np

from cellveil.arrays import Float


class ColumnRole(StrEnum):
    """What a column seems to be."""

    DIMENSION = "dimension"
    AMOUNT = "amount"
    CONTRIBUTOR = "contributor"
    HOLDING = "holding"
    WEIGHT = "weight"
    REQUEST = "request"
    WAIVER = "waiver"
    STATUS = "status"
    COUNT = "contributors"
    OTHER = "other"


WORDS: Mapping[ColumnRole, tuple[str, ...]] = {
    ColumnRole.HOLDING: ("holding", "group", "parent", "concern", "gruppe", "groupe"),
    ColumnRole.CONTRIBUTOR: (
        *("id", "ident", "identifier", "firm", "company", "enterprise", "business", "establishment", "unit"),
        *("contributor", "respondent", "siren", "siret", "kvk", "ent", "firma", "betrieb", "unternehmen"),
    ),
    ColumnRole.WEIGHT: ("weight", "weights", "wgt", "poids", "gewicht", "grossing", "w"),
    ColumnRole.REQUEST: ("request",),
    ColumnRole.WAIVER: ("waiver",),
    ColumnRole.STATUS: ("status", "conf", "confidential", "confidentiality"),
    ColumnRole.AMOUNT: (
        *("turnover", "value", "amount", "revenue", "sales", "output", "production", "income", "wages"),
        *("employees", "employment", "persons", "export", "exports", "import", "imports", "investment"),
        *("umsatz", "chiffre", "omzet", "expenditure", "cost", "costs", "price", "quantity", "volume"),
    ),
    ColumnRole.COUNT: ("contributors", "freq", "frequency", "n", "num", "count", "counts", "firms", "units"),
}
"""Words in the names of columns, by what they say."""

STATUSES = {"u", "m", "s", "z", "safe", "unsafe", "primary", "secondary", "frozen", "c", "d", "f", "n", "a"}
"""Contents of a column of statuses, in small letters."""

SPLIT = re.compile(r"[^a-z0-9]+|(?<=[a-z])(?=[0-9])")
MOST_CODES = 2_000
"""Codes that a dimension has at most."""

MOST_SHARE = 0.3
"""Distinct codes of a dimension, as a share of the records; in small files texts may have more."""

LEAST_SHARE = 0.05
"""Distinct ids, as a share of the records, at least."""

SMALL = 50
"""Records of a small file."""

FEW_NUMBERS = 30
"""Distinct whole numbers up to which a column of numbers may be one of codes."""


@dataclass(frozen=True)
class GuessedColumn:
    """A column, what it seems to be, and what is worth knowing of it.

    Parameters
    ----------
    distinct
        Distinct contents in the sample.
    codes
        Of a dimension: its codes in the sample.
    has_negative
        Of amounts.
    """

    name: str
    role: ColumnRole
    distinct: int
    codes: tuple[str, ...] = field(default=(), repr=False)
    has_negative: bool = False

    @property
    def digits(self) -> tuple[int, ...]:
        """Widths of levels, where prefixes of the codes look like a hierarchy; else empty."""
        return prefix_levels(self.codes)


def guessed_columns(sample: Mapping[str, Any], numbers: Mapping[str, Float | None]) -> list[GuessedColumn]:
    """What the columns seem to be.

    Parameters
    ----------
    sample
        Column → its contents as text, None where empty.
    numbers
        Column → the same as numbers, None where something else stands there.
    """
    return [_guessed(name, list(texts), numbers.get(name)) for name, texts in sample.items()]


def _guessed(name: str, texts: Sequence[str | None], numbers: Float | None) -> GuessedColumn:
    filled = [text.strip() for text in texts if text is not None and text.strip()]
    codes = tuple(dict.fromkeys(filled))
    values = None if numbers is None else numbers[~np.isnan(numbers)]
    role = _role(set(SPLIT.split(name.casefold())), codes, len(texts), values)
    if role is ColumnRole.DIMENSION:
        return GuessedColumn(name, role, len(codes), codes)
    return GuessedColumn(name, role, len(codes), has_negative=values is not None and bool((values < 0).any()))


def _role(words: set[str], codes: Sequence[str], rows: int, values: Float | None) -> ColumnRole:
    """What a column is, by the words of its name where its contents do not contradict, else by these."""
    share = len(codes) / rows if rows else 0.0
    named = next((role for role, known in WORDS.items() if words & set(known)), None)
    fits = {
        ColumnRole.HOLDING: share >= LEAST_SHARE,
        ColumnRole.CONTRIBUTOR: share >= LEAST_SHARE,
        ColumnRole.STATUS: {code.casefold() for code in codes} <= STATUSES,
        ColumnRole.REQUEST: len(codes) <= FEW_NUMBERS,
        ColumnRole.WAIVER: len(codes) <= FEW_NUMBERS,
    }
    if len(codes) and named is not None and fits.get(named, values is not None):
        return named
    if values is not None and not _may_be_codes(codes, share, values):
        return ColumnRole.AMOUNT
    is_unique = share > MOST_SHARE and rows >= SMALL
    return ColumnRole.OTHER if is_unique or not 2 <= len(codes) <= MOST_CODES else ColumnRole.DIMENSION


def _may_be_codes(codes: Sequence[str], share: float, values: Float) -> bool:
    """Whether numbers are codes: whole, and few that occur again and again, or with zeros in front."""
    is_whole = bool((values == np.round(values)).all())
    return is_whole and ((len(codes) <= FEW_NUMBERS and share <= MOST_SHARE) or _has_leading_zeros(codes))


def _has_leading_zeros(codes: Iterable[str]) -> bool:
    return any(len(code) > 1 and code[0] == "0" and code.isdigit() for code in codes)


def prefix_levels(codes: Sequence[str]) -> tuple[int, ...]:
    """Widths of the levels of codes whose prefixes group them: all equally long, several in each group.

    Examples
    --------
    >>> prefix_levels(["A01", "A02", "B05", "B06", "B07"])
    (1, 2)
    >>> prefix_levels(["N", "S"]), prefix_levels(["small", "large"])
    ((), ())
    """
    lengths = {len(code) for code in codes}
    if len(lengths) != 1 or not all(re.fullmatch(r"[A-Za-z]*[0-9]+", code) for code in codes):
        return ()
    length = lengths.pop()
    ends, groups = [], 1
    for end in range(1, length):
        found = len({code[:end] for code in codes})
        if groups < found <= len(codes) / 2:
            ends.append(end)
            groups = found
    return tuple(high - low for low, high in pairwise((0, *ends, length))) if ends else ()
