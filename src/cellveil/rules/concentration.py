r"""Concentration rules: (n, k) dominance, p% and prior-posterior (p, q), with their protection levels.

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
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.level_origin import SHARE, LevelOrigin
from cellveil.rules.base import DEFAULT_RANGE, LEVELS, Judgement, Level, Rule, check_depth, contributions
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
from cellveil.rules.slots import LargestAmounts
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table


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

    @property
    @abstractmethod
    def origin(self) -> LevelOrigin:
        """How levels follow from the contributions."""

    @abstractmethod
    def sensitivity(self, amounts: LargestAmounts) -> tuple[NDArray[Any], int, Bool]:
        """Numerators and denominator of d, and where someone needs protection."""

    def judge(self, table: Table) -> Judgement:
        found = contributions(table, self.level, self.text)
        check_depth(table, found, self.depth, self.text)
        amounts = LargestAmounts.of(found, self.depth, weighted=self.weighted)
        numerators, denominator, exposed = self.sensitivity(amounts)
        unsafe = exposed & np.asarray(numerators >= 0 if self.inclusive else numerators > 0, dtype=bool)
        cells = np.flatnonzero(unsafe)
        levels = _levels_from_amounts(
            table, found, cells, numerators[cells], denominator, fraction(self.safety_range, "safety_range")
        )
        above = unsafe & np.asarray(numerators > 0, dtype=bool)
        return Judgement.of(self.text, unsafe, levels, levels, {self.origin: above, SHARE: unsafe & ~above})

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

    @property
    def origin(self) -> LevelOrigin:
        share = 100 / fraction(self.k, "k")
        if self.n == 1:  # it asks for nobody's knowledge; the attacker's own part hides nothing from it
            return LevelOrigin(share, level=self.level)
        return LevelOrigin(share, share, self.n - 2, self.level)

    def sensitivity(self, amounts: LargestAmounts) -> tuple[NDArray[Any], int, Bool]:
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

    @property
    def origin(self) -> LevelOrigin:
        ratio = fraction(self.p, "p") / fraction(self.q, "q")
        return LevelOrigin(1 + ratio, others=self.coalition - 1, level=self.level)

    def sensitivity(self, amounts: LargestAmounts) -> tuple[NDArray[Any], int, Bool]:
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

    @property
    def origin(self) -> LevelOrigin:
        ratio = fraction(self.p, "p") / 100
        return LevelOrigin(1 + ratio, others=self.coalition - 1, level=self.level)

    def sensitivity(self, amounts: LargestAmounts) -> tuple[NDArray[Any], int, Bool]:
        return _narrowing(amounts, fraction(self.p, "p") / 100, self.coalition)


def _together(coalition: int) -> str:
    return f", coalition of {coalition}" if coalition > 1 else ""


def _narrowing(amounts: LargestAmounts, ratio: Fraction, coalition: int) -> tuple[NDArray[Any], int, Bool]:
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
