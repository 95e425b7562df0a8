r"""The sensitivity rules, and the protection levels they ask for.

Throughout, x₁ ≥ x₂ ≥ … are the absolute contributions to a cell (of the shadow variable, by default the
response), X their sum, Y the published value and f the number of contributors. Negative contributions count
by their absolute amount (De Waal et al. 2020, section 2.1).

Every decision is exact: percentages are fractions, amounts integers. Levels are exact too, rounded up to the
last digit of the response, and never below one unit of it. A level d worked out on the contributions becomes
|Y|·d/X where the response is not the sum of the contributions (a shadow variable); otherwise it is d itself.

Waivers: a contributor who has waived protection still hides others, but is no target. The p% and (p, q) rules
protect the largest contributor who has not waived; the dominance and threshold rules fire only if one of the
dominating or present contributors has not.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.rules.base import Judgement, Level, Rule, check_all_cells, check_depth, contributions
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
from cellveil.rules.slots import WEIGHT_DECIMALS, Amounts
from cellveil.tables.cells import CellRef, cell_numbers
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table

LEVELS = ("unit", "holding")
DEFAULT_RANGE = 20
"""Protection level, in per cent of the value, where a rule itself implies none."""


@dataclass(frozen=True, kw_only=True)
class AmountRule(Rule):
    """A rule that weighs the largest contributions against the total: its sensitivity d is above 0."""

    inclusive: bool = field(default=False, metadata={"help": "also fire at equality"})
    weighted: bool = field(
        default=True,
        metadata={"help": "a unit of weight w counts as w contributors, where there are weights"},
    )
    level: Level = field(default="unit", metadata={"help": "look at units or at holdings"})
    safety_range: Number = field(
        default=DEFAULT_RANGE,
        metadata={"help": "level in % of the value where the sensitivity gives none (at equality)"},
    )

    def __post_init__(self) -> None:
        one_of(self.level, "level", LEVELS)
        percentage(self.safety_range, "safety_range", high=1000, zero=True)

    @abstractmethod
    def sensitivity(self, amounts: Amounts) -> tuple[NDArray[Any], int, Bool]:
        """Numerators and denominator of d, and where someone needs protection."""

    def judge(self, table: Table) -> Judgement:
        found = contributions(table, self.level, self.text)
        check_depth(table, found, self.depth, self.text)
        amounts = Amounts.of(found, self.depth, weighted=self.weighted)
        numerators, denominator, exposed = self.sensitivity(amounts)
        unsafe = exposed & np.asarray(numerators >= 0 if self.inclusive else numerators > 0, dtype=bool)
        cells = np.flatnonzero(unsafe)
        levels = _levels_from_amounts(
            table, found, cells, numerators[cells], denominator, fraction(self.safety_range, "safety_range")
        )
        return Judgement.of(self.text, unsafe, levels, levels)

    def _describe(self, name: str, parameters: str) -> str:
        extra = (", inclusive" if self.inclusive else "") + (", holdings" if self.level == "holding" else "")
        return f"{name} ({parameters}{extra})"


@dataclass(frozen=True)
class Dominance(AmountRule):
    """Unsafe if the n largest contributions make up more than k % of the total.

    Fires if x₁ + … + xₙ > (k/100)·X (`inclusive`: ≥); never where all contributions are 0.
    Level (100/k)·(x₁ + … + xₙ) − X: with so much added to the total, the n largest would no longer dominate.

    Examples
    --------
    >>> Dominance(1, 75).text
    'dominance rule (n = 1, k = 75)'
    """

    n: int = field(default=2, metadata={"help": "how many of the largest contributions are added up"})
    k: Number = field(default=85, metadata={"help": "percentage of the total they may not exceed"})
    name: ClassVar[str] = "dominance"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.n, "n", low=1)
        percentage(self.k, "k")

    @property
    def depth(self) -> int:
        return self.n

    @property
    def text(self) -> str:
        return self._describe("dominance rule", f"n = {self.n}, k = {written(self.k)}")

    def sensitivity(self, amounts: Amounts) -> tuple[NDArray[Any], int, Bool]:
        k = fraction(self.k, "k")
        amounts = amounts.for_coefficients(100 * k.denominator * self.n + k.numerator)
        dominating = 100 * k.denominator * amounts.sum_of(self.n)
        return (
            dominating - k.numerator * amounts.unit * amounts.total,
            k.numerator * amounts.unit,
            amounts.exposed_within(self.n),
        )


@dataclass(frozen=True)
class PriorPosterior(AmountRule):
    """Unsafe if someone who knows all others within q % can narrow down the largest one to p %.

    With a coalition of c attackers, fires if (p/100)·x₁ > (q/100)·(X − x₁ − … − x_{c+1}) (`inclusive`: ≥);
    never where all contributions are 0.
    Level (p/q)·x₁ + x₁ + … + x_{c+1} − X.

    Examples
    --------
    >>> PriorPosterior(20, 100).text
    '(p, q) rule (p = 20, q = 100)'
    """

    p: Number = field(
        metadata={"help": "percentage to which the largest contribution may not be narrowed down"}
    )
    q: Number = field(metadata={"help": "percentage to which everybody knows each contribution beforehand"})
    coalition: int = field(
        default=1, metadata={"help": "how many contributors may work together as one attacker"}
    )
    name: ClassVar[str] = "pq"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole(self.coalition, "coalition", low=1)
        if percentage(self.p, "p") > percentage(self.q, "q"):
            raise InputError(
                f"p = {self.p} is above q = {self.q}",
                remedy="p is what an attacker may not reach, q what everybody knows already: give p ≤ q.",
            )

    @property
    def depth(self) -> int:
        return self.coalition + 1

    @property
    def text(self) -> str:
        return self._describe(
            "(p, q) rule", f"p = {written(self.p)}, q = {written(self.q)}{_together(self.coalition)}"
        )

    def sensitivity(self, amounts: Amounts) -> tuple[NDArray[Any], int, Bool]:
        return _narrowing(amounts, fraction(self.p, "p") / fraction(self.q, "q"), self.coalition)


@dataclass(frozen=True)
class PPercent(AmountRule):
    """Unsafe if the second largest contributor can narrow down the largest one to p %.

    With a coalition of c attackers, fires if (p/100)·x₁ > X − x₁ − … − x_{c+1} (`inclusive`: ≥); never where
    all contributions are 0. It is the (p, q) rule with q = 100.
    Level (p/100)·x₁ + x₁ + … + x_{c+1} − X: an interval that wide leaves the attacker p % short.

    Examples
    --------
    >>> PPercent(15, coalition=2).text
    'p% rule (p = 15, coalition of 2)'
    """

    p: Number = field(
        default=10, metadata={"help": "percentage to which the largest contribution may not be narrowed down"}
    )
    coalition: int = field(
        default=1, metadata={"help": "how many contributors may work together as one attacker"}
    )
    name: ClassVar[str] = "p%"

    def __post_init__(self) -> None:
        super().__post_init__()
        percentage(self.p, "p")
        whole(self.coalition, "coalition", low=1)

    @property
    def depth(self) -> int:
        return self.coalition + 1

    @property
    def text(self) -> str:
        return self._describe("p% rule", f"p = {written(self.p)}{_together(self.coalition)}")

    def sensitivity(self, amounts: Amounts) -> tuple[NDArray[Any], int, Bool]:
        return _narrowing(amounts, fraction(self.p, "p") / 100, self.coalition)


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
        if fraction(self.minimum, "minimum") < 1:
            raise InputError(f"minimum = {self.minimum} is below 1", remedy="Give a minimum of 1 or more.")

    @property
    def depth(self) -> int:
        """The waivers of all contributors of a small cell must be known."""
        return max(1, -(-fraction(self.minimum, "minimum") // 1) - (not self.inclusive))

    @property
    def needs_all_cells(self) -> bool:
        return self.zeros

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
    def depth(self) -> int:
        return 1

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
    def depth(self) -> int:
        return 1

    @property
    def text(self) -> str:
        return f"zero rule (range {written(self.range)}{', holdings' if self.level == 'holding' else ''})"

    def judge(self, table: Table) -> Judgement:
        counts, _ = Threshold(level=self.level)._counts(table)
        unsafe = (table.values == 0) & (counts > 0)
        reach = fraction(self.range, "range") * 10**table.decimals
        upper = as_levels(round_up(np.array([reach.numerator], dtype=object), reach.denominator))
        none = np.zeros(1, dtype=np.int64)
        return Judgement.of(self.text, unsafe, none, upper)


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
        object.__setattr__(self, "cells", tuple(self.cells))

    @property
    def depth(self) -> int:
        return 1

    @property
    def text(self) -> str:
        return "manual"

    def judge(self, table: Table) -> Judgement:
        unsafe = np.zeros(table.num_cells, dtype=bool)
        unsafe[cell_numbers(table, self.cells)] = True
        levels = margin(table.values[unsafe], fraction(self.safety_range, "safety_range"))
        return Judgement.of(self.text, unsafe, levels, levels)


def _together(coalition: int) -> str:
    return f", coalition of {coalition}" if coalition > 1 else ""


def _narrowing(amounts: Amounts, ratio: Fraction, coalition: int) -> tuple[NDArray[Any], int, Bool]:
    """Sensitivity ratio·x₁ + x₁ + (coalition: the largest others) − X, x₁ the largest to be protected."""
    a, b = ratio.numerator, ratio.denominator
    amounts = amounts.for_coefficients(a + b * (coalition + 3))
    # Where the target is not one of the largest, the coalition is the largest ones without it.
    known = np.minimum(
        amounts.sum_of(coalition + 1), amounts.sum_of(coalition) + amounts.unit * amounts.target
    )
    hidden = amounts.unit * amounts.total - known
    return (
        a * amounts.unit * amounts.target - b * hidden,
        b * amounts.unit,
        np.asarray(amounts.target > 0, dtype=bool),
    )


def _levels_from_amounts(
    table: Table,
    found: Contributions,
    cells: Int,
    numerators: NDArray[Any],
    denominator: int,
    safety_range: Fraction,
) -> Int:
    """Levels of the response from those of the contributions."""
    values = table.values[cells].astype(object)
    totals, absolute = found.total[cells].astype(object), found.absolute[cells].astype(object)
    numerators = numerators.astype(object)
    to_response, to_amounts = 10**table.decimals, 10**found.decimals
    is_response = np.asarray(totals * to_response == values * to_amounts, dtype=bool)
    own = round_up(numerators * to_response, denominator * to_amounts)
    shadow = round_up(np.abs(values) * numerators, denominator * np.maximum(absolute, 1))
    fallback = np.asarray((numerators <= 0) | (absolute == 0), dtype=bool)
    levels = as_levels(np.where(is_response, own, shadow))
    return np.where(fallback, margin(table.values[cells], safety_range), levels)


def _check_known(table: Table, known: Bool, what: str) -> None:
    unknown = np.flatnonzero(~known)
    if len(unknown):
        raise InputError(
            f"{what} ({len(unknown)} such cells)",
            cell=table.cell_name(int(unknown[0])),
            remedy="Give the number of contributors of every cell.",
        )
