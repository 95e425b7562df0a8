"""Rules that decide cell by cell as other tools do: strictness, order and levels.

Decisions agree for non-negative contributions; with negative ones all presets count absolute amounts, where
the tools differ from each other and from what the rules mean. Levels are those of tau-ARGUS and
GaussSuppression. sdcTable and acro have none by default (exact disclosure only): there the levels are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from cellveil.errors import InputError
from cellveil.rules.base import DEFAULT_RANGE, Level, Rule
from cellveil.rules.combinations import AnyOf, Exempt, FirstOf
from cellveil.rules.concentration import Dominance, PPercent, PriorPosterior
from cellveil.rules.frequency import Request, Threshold, ZeroRule
from cellveil.rules.percentages import Number, fraction

Parameters = Sequence[Number]
Several = Number | Parameters | Sequence[Parameters]
"""One rule by its only parameter or by the list of its parameters, or a list of such lists: several rules."""

LARGEST_COALITION = 10
"""A larger number stands in the place of a coalition by mistake, mostly for q."""


@dataclass(frozen=True, kw_only=True)
class SafetyRules:
    """The safety rules of a tau-ARGUS batch file.

    Parameters
    ----------
    p, holding_p
        P(p) as p or (p,), P(p, n) as (p, n), P(p, q, n) as (p, q, n), where n is the size of the coalition.
        Several rules are a list of such lists: [(15, 2)] and (15, 2) are one rule, [(15,), (2,)] are two.
    nk, holding_nk
        NK(n, k) as (n, k); several as a list of such pairs.
    freq, holding_freq
        FREQ(minimum, range %).
    req, holding_req
        REQ(share1 %, share2 %, minimum, margin %).
    zero
        ZERO(range).
    manual
        MAN(margin %).
    weighted
        WGT(1): apply the sampling weights in the rules.
    missing
        MIS(1): codes by dimension whose cells are safe.

    Examples
    --------
    >>> tau_argus(p=15, freq=(3, 20)).text
    'p% rule (p = 15) else threshold rule (minimum 3)'
    >>> tau_argus(p=(15, 2)).text, tau_argus(p=[(15,), (10, 2)]).text
    ('p% rule (p = 15, coalition of 2)', 'p% rule (p = 15) or p% rule (p = 10, coalition of 2)')
    """

    p: Several = ()
    nk: Parameters | Sequence[Parameters] = ()
    freq: Parameters | None = None
    req: Parameters | None = None
    zero: Number | None = None
    holding_p: Several = ()
    holding_nk: Parameters | Sequence[Parameters] = ()
    holding_freq: Parameters | None = None
    holding_req: Parameters | None = None
    manual: Number = DEFAULT_RANGE
    weighted: bool = False
    missing: Mapping[str, Sequence[str]] | None = None

    def rule(self) -> Rule:
        """The first of dominance and p%, request, frequency, zero that fires gives reason and level."""
        _check_flag(self.weighted, "weighted")
        amounts = [*self._amounts("unit", ""), *self._amounts("holding", "holding_")]
        zeros = [] if self.zero is None else [ZeroRule(self.zero)]
        stages = [_any(stage) for stage in (amounts, self._requests(), self._counts(), zeros) if stage]
        if not stages:
            raise InputError("no rule is given", remedy="Give at least one of p, nk, freq, req, zero.")
        rule = stages[0] if len(stages) == 1 else FirstOf(*stages)
        return Exempt(rule, self.missing) if self.missing is not None else rule

    def _amounts(self, level: Level, prefix: str) -> list[Rule]:
        """Dominance and p% rules of one level."""
        further: dict[str, Any] = {"level": level, "weighted": self.weighted, "safety_range": self.manual}
        p, nk = f"{prefix}p", f"{prefix}nk"
        return [
            *(_dominance(pair, **further) for pair in _lists(getattr(self, nk), nk, "n, k")),
            *(_p_rule(one, p, further) for one in _lists(getattr(self, p), p, "p", "p, n", "p, q, n")),
        ]

    def _requests(self) -> list[Rule]:
        levels: tuple[tuple[str, Level], ...] = (("req", "unit"), ("holding_req", "holding"))
        rules: list[Rule] = []
        for name, level in levels:
            if getattr(self, name) is not None:
                form = "share1, share2, minimum, margin"
                share1, share2, minimum, reach = _list(getattr(self, name), name, form)
                rules.append(Request(share1, share2, _count(minimum), reach, level=level))
        return rules

    def _counts(self) -> list[Rule]:
        """Frequency rules; that of holdings takes the range of the unit rule where there is one, as there."""
        rules: list[Rule] = []
        reach = None
        if self.freq is not None:
            minimum, reach = _list(self.freq, "freq", "minimum, range")
            rules.append(Threshold(minimum, reach, weighted=self.weighted))
        if self.holding_freq is not None:
            minimum, own = _list(self.holding_freq, "holding_freq", "minimum, range")
            reach = own if reach is None else reach
            rules.append(Threshold(minimum, reach, weighted=self.weighted, level="holding"))
        return rules


@wraps(SafetyRules, assigned=(), updated=())
def tau_argus(**parameters: Any) -> Rule:
    """Return the rules of a tau-ARGUS batch file; the parameters are those of `SafetyRules`.

    Among dominance and p% rules, unit and holding, the level is the largest.
    """
    return SafetyRules(**parameters).rule()


def sdctable(
    *,
    max_n: int | None = None,
    allow_zeros: bool = False,
    nk: Parameters | None = None,
    p: Number | None = None,
    pq: Parameters | None = None,
) -> Rule:
    """Return the rules of sdcTable's `primarySuppression`: freq (maxN), nk (n, k), p, and pq (p, q).

    Examples
    --------
    >>> sdctable(max_n=3, nk=(2, 85)).text
    'threshold rule (minimum 3, inclusive) or dominance rule (n = 2, k = 85)'
    """
    _check_flag(allow_zeros, "allow_zeros")
    return _some(
        "max_n, nk, p, pq",
        None if max_n is None else _at_most(max_n, zeros=allow_zeros),
        None if nk is None else _dominance(_list(nk, "nk", "n, k")),
        None if p is None else PPercent(p),
        None if pq is None else PriorPosterior(*_list(pq, "pq", "p, q")),
    )


def gauss_suppression(
    *,
    max_n: int | None = None,
    protect_zeros: bool = True,
    nk: Parameters | Sequence[Parameters] = (),
    p: Number | None = None,
) -> Rule:
    """Return the rules of GaussSuppression: small counts (maxN), dominance (one or several (n, k)) and p%.

    Examples
    --------
    >>> gauss_suppression(nk=[(1, 80)], p=10).text
    'dominance rule (n = 1, k = 80, inclusive) or p% rule (p = 10)'
    """
    _check_flag(protect_zeros, "protect_zeros")
    return _some(
        "max_n, nk, p",
        None if max_n is None else _at_most(max_n, zeros=protect_zeros),
        *(_dominance(pair, inclusive=True) for pair in _lists(nk, "nk", "n, k")),
        None if p is None else PPercent(p),
    )


def acro(
    *,
    threshold: int | None = 10,
    nk: Parameters | None = (2, 90),
    p: Number | None = 10,
    zeros: bool = True,
) -> Rule:
    """Return the rules of acro with its usual parameters; None leaves one out.

    Examples
    --------
    >>> acro(p=None).text
    'threshold rule (minimum 10) or dominance rule (n = 2, k = 90, inclusive)'
    """
    _check_flag(zeros, "zeros")
    return _some(
        "threshold, nk, p",
        None if threshold is None else Threshold(threshold, zeros=zeros),
        None if nk is None else _dominance(_list(nk, "nk", "n, k"), inclusive=True),
        None if p is None else PPercent(p),
    )


PRESETS: Mapping[str, Callable[..., Rule]] = {
    "tau-argus": tau_argus,
    "sdctable": sdctable,
    "gauss-suppression": gauss_suppression,
    "acro": acro,
}
"""Presets by the name job files use."""


def _p_rule(given: Parameters, name: str, further: dict[str, Any]) -> Rule:
    """P(p), P(p, n) or P(p, q, n)."""
    together = _count(given[-1]) if len(given) > 1 else 1
    if together > LARGEST_COALITION:
        raise InputError(
            f"{name} has a coalition of n = {together}, which is more than {LARGEST_COALITION}",
            remedy="The last parameter is the size of the coalition: write [p, n], or [p, q, n] for q.",
        )
    if len(given) == 3:
        return PriorPosterior(given[0], given[1], together, **further)
    return PPercent(given[0], together, **further)


def _dominance(pair: Parameters, **further: Any) -> Rule:
    return Dominance(_count(pair[0]), pair[1], **further)


def _at_most(max_n: int, *, zeros: bool) -> Rule:
    return Threshold(max_n, inclusive=True, zeros=zeros)


def _lists(given: Any, name: str, *forms: str) -> list[Parameters]:
    """The parameters of each rule, from those of one rule or from a list with those of several.

    Examples
    --------
    >>> [_lists(given, "p", "p", "p, n") for given in (15, [15, 2], [[15], [10, 2]])]
    [[[15]], [[15, 2]], [[15], [10, 2]]]
    """
    if not _is_list(given):
        return [_list([given], name, *forms)]
    if not given:
        return []
    nested = [_is_list(part) for part in given]
    if not any(nested):
        return [_list(given, name, *forms)]
    if not all(nested):
        raise InputError(
            f"{name} mixes numbers and lists",
            remedy=f"Give one rule as {_written(forms)}, or several as a list of such lists.",
        )
    return [_list(part, name, *forms) for part in given]


def _list(given: Any, name: str, *forms: str) -> list[Any]:
    """The parameters of one rule, as many as one of the forms has."""
    lengths = [len(form.split(", ")) for form in forms]
    if not _is_list(given) or len(given) not in lengths or any(_is_list(part) for part in given):
        raise InputError(
            f"{name} does not have the parameters of one rule", remedy=f"Give {name} as {_written(forms)}."
        )
    return list(given)


def _is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, str)


def _written(forms: Sequence[str]) -> str:
    return " or ".join(f"[{form}]" for form in forms)


def _count(number: Number) -> int:
    exact = fraction(number, "a count")
    if exact.denominator != 1:
        raise InputError(f"{number} is not a whole number", remedy="Give a whole number.")
    return int(exact)


def _check_flag(given: object, name: str) -> None:
    if not isinstance(given, bool):
        raise InputError(f"{name} is not true or false", remedy="Write true or false.")


def _any(rules: Sequence[Rule]) -> Rule:
    return rules[0] if len(rules) == 1 else AnyOf(*rules)


def _some(names: str, *rules: Rule | None) -> Rule:
    given = [rule for rule in rules if rule is not None]
    if not given:
        raise InputError("no rule is given", remedy=f"Give at least one of {names}.")
    return _any(given)
