"""The arithmetic of a sensitivity rule in one cell, in numbers: what is compared with what.

The symbols are those of `cellveil.rules.concentration`: x1 ≥ x2 ≥ … are the absolute contributions, X their
sum and f the number of contributors. Whether a rule fires is for the rule to say; here it is written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from cellveil.explaining.amounts import amount_text, share_text
from cellveil.rules.base import Rule
from cellveil.rules.combinations import Combination, Exempt
from cellveil.rules.concentration import AmountRule, Dominance, PPercent, PriorPosterior
from cellveil.rules.frequency import Threshold, ZeroRule
from cellveil.rules.percentages import fraction, written
from cellveil.rules.slots import LargestAmounts
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table


def single_rules(rule: Rule) -> Iterator[Rule]:
    """The rules that a combination is made of."""
    if isinstance(rule, Combination):
        for part in rule.rules:
            yield from single_rules(part)
    elif isinstance(rule, Exempt):
        yield from single_rules(rule.rule)
    else:
        yield rule


def arithmetic(rule: Rule, table: Table, cell: int) -> str:
    """What the rule compares in this cell, in numbers; empty where there is nothing to write out.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> table = two_way([[20, 50], [8, 19]]).table.replace(contributors=np.array([9, 5, 4, 5, 2, 3, 4, 2, 2]))
    >>> arithmetic(Threshold(3), table, 4)
    'f = 2 contributors, fewer than the minimum of 3'
    """
    if isinstance(rule, Threshold):
        return _threshold(rule, table, cell)
    if isinstance(rule, ZeroRule):
        return "the value is 0 although there are contributors: it tells what each of them reported"
    known = _known(rule, table)
    if not isinstance(rule, AmountRule) or known is None:
        return ""
    one = known.take(np.array([cell], dtype=np.int64))
    amounts = LargestAmounts.of(one, rule.depth, weighted=rule.weighted)
    if isinstance(rule, Dominance):
        return _dominance(rule, amounts, one.decimals)
    if isinstance(rule, PPercent):
        return _narrowing(fraction(rule.p, "p") / 100, rule.coalition, amounts, one.decimals)
    if isinstance(rule, PriorPosterior):
        ratio = fraction(rule.p, "p") / fraction(rule.q, "q")
        return _narrowing(ratio, rule.coalition, amounts, one.decimals)
    return ""


def _known(rule: Rule, table: Table) -> Contributions | None:
    return table.holdings if rule.looks_at_holdings else table.units


def _threshold(rule: Threshold, table: Table, cell: int) -> str:
    known = table.holdings if rule.level == "holding" else table.units
    if rule.of == "value":
        what = f"the count is {amount_text(int(table.values[cell]), table.decimals)}"
    elif rule.weighted and known is not None and known.weighted_count is not None:
        what = f"the weights of the contributors add up to {float(known.weighted_count[cell]):,.6g}"
    else:
        counts = known.count if known is not None else table.contributors
        if counts is None:
            return ""
        who = "holding" if rule.level == "holding" else "contributor"
        what = f"f = {int(counts[cell])} {who}{'s' if counts[cell] != 1 else ''}"
    at_most = "not more than" if rule.inclusive else "fewer than"
    return f"{what}, {at_most} the minimum of {written(rule.minimum)}"


def _dominance(rule: Dominance, amounts: LargestAmounts, decimals: int) -> str:
    largest = Fraction(int(amounts.sum_of(rule.n)[0]), amounts.unit)
    total = int(amounts.total[0])
    names = _names(rule.n)
    return (
        f"{names} = {_text(largest, decimals)} of X = {amount_text(total, decimals)}, which is "
        f"{share_text(float(largest), total)}: {'at least' if rule.inclusive else 'more than'} "
        f"k = {written(rule.k)} %"
    )


def _narrowing(ratio: Fraction, coalition: int, amounts: LargestAmounts, decimals: int) -> str:
    """The p % rule and its relatives: what is left beside the target and the attackers."""
    target, total = int(amounts.target[0]), int(amounts.total[0])
    within = Fraction(int(amounts.sum_of(coalition + 1)[0]), amounts.unit)
    beside = Fraction(int(amounts.sum_of(coalition)[0]), amounts.unit) + target
    rest = total - min(within, beside)
    others = _listed(amounts, coalition, decimals)
    return (
        f"x1 = {amount_text(target, decimals)}{others}; X - {_names(coalition + 1, ' - ')} = "
        f"{_text(rest, decimals)} < {float(100 * ratio):.6g} % of x1 = {_text(ratio * target, decimals)}"
    )


def _listed(amounts: LargestAmounts, coalition: int, decimals: int) -> str:
    """The next largest contributions, where each counts once."""
    if amounts.unit != 1 or (amounts.slots != 1).any():
        return " (contributions counted with their weights)"
    nexts = amounts.top[0, 1 : coalition + 1].tolist()
    return "".join(f", x{place} = {amount_text(int(x), decimals)}" for place, x in enumerate(nexts, 2))


def _names(number: int, sign: str = " + ") -> str:
    return sign.join(f"x{place}" for place in range(1, number + 1))


def _text(amount: Fraction, decimals: int) -> str:
    """An amount in scaled units: exact where it is whole, else to a tenth of the last digit."""
    if amount.denominator == 1:
        return amount_text(int(amount), decimals)
    return amount_text(round(10 * amount), decimals + 1)
