"""Minimum frequency (threshold), request and zero rules, and cells that are unsafe because someone says so.

The symbols are those of `cellveil.rules.concentration`: f contributors, X their total, Y the published value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.rules.base import DEFAULT_RANGE, LEVELS, Judgement, Level, Rule, check_all_cells, contributions
from cellveil.rules.percentages import (
    Number,
    as_levels,
    fraction,
    margin,
    one_of,
    percentage,
    round_up,
    whole,
    written,
)
from cellveil.rules.slots import WEIGHT_DECIMALS
from cellveil.tables.cells import CellRef, cell_numbers
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table


@dataclass(frozen=True)
class Threshold(Rule):
    """Unsafe if there are contributors, but fewer than the minimum.

    Fires if 0 < f < minimum (`inclusive`: f ≤ minimum; `zeros`: also f = 0).
    Level: `safety_range` % of |Y|, at least one unit: of an empty cell nobody may learn that it is 0.

    Examples
    --------
    >>> Threshold(3).text
    'threshold rule (minimum 3)'
    """

    minimum: Number = field(default=3, metadata={"help": "fewest contributors a published cell may have"})
    safety_range: Number = field(
        default=DEFAULT_RANGE, metadata={"help": "protection level in % of the value"}
    )
    inclusive: bool = field(default=False, metadata={"help": "also fire at equality"})
    zeros: bool = field(default=False, metadata={"help": "also fire for cells without contributors"})
    weighted: bool = field(
        default=False,
        metadata={"help": "compare the sum of the sampling weights, not the units in the sample"},
    )
    level: Level = field(default="unit", metadata={"help": "count units or holdings"})
    of: Literal["contributors", "value"] = field(
        default="contributors", metadata={"help": "what is counted; value: the table itself is one of counts"}
    )
    name: ClassVar[str] = "threshold"

    def __post_init__(self) -> None:
        one_of(self.level, "level", LEVELS)
        one_of(self.of, "of", ("contributors", "value"))
        percentage(self.safety_range, "safety_range", high=1000, zero=True)
        minimum = fraction(self.minimum, "minimum")
        if minimum < 1:
            raise InputError(f"minimum = {self.minimum} is below 1", remedy="Give a minimum of 1 or more.")
        if minimum.denominator != 1 and self.of == "contributors" and not self.weighted:
            raise InputError(
                f"minimum = {self.minimum}, but contributors are counted in whole numbers",
                remedy=f"Write {minimum.__ceil__()}: a published cell has so many contributors or more.",
            )

    @property
    def depth(self) -> int:
        """The waivers of all contributors of a small cell must be known."""
        return max(1, -(-fraction(self.minimum, "minimum") // 1) - (not self.inclusive))

    @property
    def needs_all_cells(self) -> bool:
        return self.zeros

    @property
    def is_about_counts(self) -> bool:
        return self.of == "value"

    @property
    def text(self) -> str:
        extra = (", inclusive" if self.inclusive else "") + (", holdings" if self.level == "holding" else "")
        return f"threshold rule (minimum {written(self.minimum)}{extra})"

    def judge(self, table: Table) -> Judgement:
        if self.zeros:
            check_all_cells(table, self.text)
        counts, scale = self._counts(table)
        minimum = fraction(self.minimum, "minimum") * scale
        floor = minimum.numerator // minimum.denominator
        few = counts <= floor if self.inclusive or floor != minimum else counts < floor
        unsafe = few & (self.zeros | (counts > 0)) & self._someone_unwaived(table, counts)
        levels = margin(table.values[unsafe], fraction(self.safety_range, "safety_range"))
        return Judgement.of(self.text, unsafe, levels, levels)

    def _counts(self, table: Table) -> tuple[Int, int]:
        """What is compared with the minimum, as integers, and what one contributor counts."""
        if self.of == "value":
            _check_known(table, table.values >= 0, "it is counted by its value, which is negative")
            return table.values, 10**table.decimals
        found = table.holdings if self.level == "holding" else table.units
        if self.weighted and found is not None and found.weighted_count is not None:
            scale = 10**WEIGHT_DECIMALS
            _check_known(table, found.weighted_count >= 0, "its weights do not add up to a number above 0")
            counts = np.rint(np.minimum(found.weighted_count, 1e12) * scale).astype(np.int64)
            return np.maximum(counts, found.count > 0), scale  # present, however small the weights
        if found is None and self.level == "unit" and table.contributors is not None:
            counts = table.contributors
        else:
            counts = self._known_contributions(table).count
        _check_known(table, counts >= 0, "the number of its contributors is not known")
        return counts, 1

    def _known_contributions(self, table: Table) -> Contributions:
        if self.level == "unit" and table.units is None:
            raise InputError(
                f"the {self.text} needs the number of contributors, and the table has none",
                remedy='Give the contributors; for a table of counts say of = "value".',
            )
        return contributions(table, self.level, self.text)

    def _someone_unwaived(self, table: Table, counts: Int) -> Bool:
        found = table.holdings if self.level == "holding" else table.units
        if found is None or found.largest_unwaived is None:
            return np.ones(table.num_cells, dtype=bool)
        present = np.arange(found.depth) < found.count[:, None]
        waived = np.zeros(present.shape, dtype=bool) if found.waived is None else found.waived
        seen = (present & ~waived).any(axis=1)
        unseen = found.count > found.depth  # of somebody not seen the waiver is not known
        return np.asarray(seen | unseen | (found.largest_unwaived > 0) | (counts == 0))


@dataclass(frozen=True)
class Request(Rule):
    """Protects only those who asked for it (as in foreign trade).

    Fires if the largest contributor who requested protection by the first code exceeds `share1` % of X, or by
    the second code `share2` %; or if anyone requested it and f < minimum.
    Level: `safety_range` % of |Y|.
    """

    share1: Number = field(
        metadata={"help": "percentage of the total a contributor with the first request code may not exceed"}
    )
    share2: Number | None = field(
        default=None, metadata={"help": "the same for the second request code; none: that code is not used"}
    )
    minimum: int = field(
        default=0,
        metadata={"help": "fewest contributors of a published cell to which someone with a request adds"},
    )
    safety_range: Number = field(
        default=DEFAULT_RANGE, metadata={"help": "protection level in % of the value"}
    )
    inclusive: bool = field(default=False, metadata={"help": "also fire at equality"})
    level: Level = field(default="unit", metadata={"help": "look at units or at holdings"})
    name: ClassVar[str] = "request"

    def __post_init__(self) -> None:
        one_of(self.level, "level", LEVELS)
        whole(self.minimum, "minimum", low=0)
        percentage(self.safety_range, "safety_range", high=1000, zero=True)
        for number, share in enumerate((self.share1, self.share2), start=1):
            if share is not None:
                percentage(share, f"share{number}", zero=True)

    @property
    def text(self) -> str:
        second = "" if self.share2 is None else f" and {written(self.share2)} %"
        holding = ", holdings" if self.level == "holding" else ""
        return f"request rule ({written(self.share1)} %{second}, minimum {self.minimum}{holding})"

    def judge(self, table: Table) -> Judgement:
        found = contributions(table, self.level, self.text)
        if found.requests is None:
            raise InputError(
                f"the {self.text} needs a request variable, and the contributions have none",
                remedy="Tabulate with the variable that says who requests protection.",
            )
        used = found.requests if self.share2 is not None else found.requests[:, :1]
        unsafe = (used >= 0).any(axis=1) & (
            found.count <= self.minimum if self.inclusive else found.count < self.minimum
        )
        for largest, share in zip(used.T, (self.share1, self.share2), strict=False):
            unsafe |= self._exceeds(largest, found.absolute, share if share is not None else 100)
        levels = margin(table.values[unsafe], fraction(self.safety_range, "safety_range"))
        return Judgement.of(self.text, unsafe, levels, levels)

    def _exceeds(self, largest: Int, total: Int, share: Number) -> Bool:
        share = fraction(share, "share")
        mine = largest.astype(object) * (100 * share.denominator)
        allowed = total.astype(object) * share.numerator
        over = mine >= allowed if self.inclusive else mine > allowed
        return np.asarray(over, dtype=bool) & (largest > 0)


@dataclass(frozen=True)
class ZeroRule(Rule):
    """Unsafe if the value is 0 although there are contributors: it would show what each of them reported.

    Fires if Y = 0 and f > 0. Upper level: `range`, in units of the response; lower level 0.
    """

    range: Number = field(default=1, metadata={"help": "upper protection level, in units of the response"})
    level: Level = field(default="unit", metadata={"help": "count units or holdings"})
    name: ClassVar[str] = "zero"

    def __post_init__(self) -> None:
        one_of(self.level, "level", LEVELS)
        if fraction(self.range, "range") <= 0:
            raise InputError("the range of the zero rule is not above 0", remedy="Give a range above 0.")

    @property
    def text(self) -> str:
        return f"zero rule (range {written(self.range)}{', holdings' if self.level == 'holding' else ''})"

    def judge(self, table: Table) -> Judgement:
        counts, _ = Threshold(level=self.level)._counts(table)
        unsafe = (table.values == 0) & (counts > 0)
        reach = fraction(self.range, "range") * 10**table.decimals
        upper = as_levels(round_up(np.array([reach.numerator], dtype=object), reach.denominator))
        none = np.zeros(1, dtype=np.int64)
        return Judgement.of(self.text, unsafe, none, upper, {})


@dataclass(frozen=True)
class Manual(Rule):
    """Unsafe because someone says so.

    Level: `safety_range` % of |Y|.

    Examples
    --------
    >>> Manual([("N", "A"), {"region": "S"}, 17]).text
    'manual'
    """

    cells: Sequence[CellRef] = field(
        metadata={"help": "the cells: numbers, lists of codes, or codes by dimension"}
    )
    safety_range: Number = field(
        default=DEFAULT_RANGE, metadata={"help": "protection level in % of the value"}
    )
    name: ClassVar[str] = "manual"

    def __post_init__(self) -> None:
        percentage(self.safety_range, "safety_range", high=1000, zero=True)
        if isinstance(self.cells, np.ndarray) and self.cells.dtype == bool:
            object.__setattr__(self, "cells", tuple(np.flatnonzero(self.cells).tolist()))
        if isinstance(self.cells, str | int | Mapping):  # one cell
            object.__setattr__(self, "cells", (self.cells,))
        object.__setattr__(self, "cells", tuple(self.cells))

    @property
    def text(self) -> str:
        return "manual"

    def judge(self, table: Table) -> Judgement:
        unsafe = np.zeros(table.num_cells, dtype=bool)
        unsafe[cell_numbers(table, self.cells)] = True
        levels = margin(table.values[unsafe], fraction(self.safety_range, "safety_range"))
        return Judgement.of(self.text, unsafe, levels, levels)


def _check_known(table: Table, known: Bool, what: str) -> None:
    unknown = np.flatnonzero(~known)
    if len(unknown):
        raise InputError(
            f"{what} ({len(unknown)} such cells)",
            cell=table.cell_name(int(unknown[0])),
            remedy="Give the number of contributors of every cell.",
        )
