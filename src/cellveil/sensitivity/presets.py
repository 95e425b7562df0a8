"""Rules that decide cell by cell as other tools do: strictness, order and levels.

Decisions agree for non-negative contributions; with negative ones all presets count absolute amounts, where
the tools differ from each other and from what the rules mean. Levels are those of tau-ARGUS and
GaussSuppression. sdcTable and acro have none by default (exact disclosure only): there the levels are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cellveil.errors import InputError
from cellveil.sensitivity.base import Level, Rule
from cellveil.sensitivity.combine import AnyOf, Exempt, FirstOf
from cellveil.sensitivity.exact import Number, fraction
from cellveil.sensitivity.rules import (
    DEFAULT_RANGE,
    Dominance,
    PPercent,
    PriorPosterior,
    Request,
    Threshold,
    ZeroRule,
)

Parameters = Sequence[Number]


def tau_argus(
    *,
    p: Number | Sequence[Number | Parameters] = (),
    nk: Sequence[Parameters] = (),
    freq: Parameters | None = None,
    req: Parameters | None = None,
    zero: Number | None = None,
    holding_p: Number | Sequence[Number | Parameters] = (),
    holding_nk: Sequence[Parameters] = (),
    holding_freq: Parameters | None = None,
    holding_req: Parameters | None = None,
    manual: Number = DEFAULT_RANGE,
    weighted: bool = False,
    missing: Mapping[str, Sequence[str]] | None = None,
) -> Rule:
    """Return the rules of a tau-ARGUS batch file.

    The first of dominance and p%, request, frequency, zero that fires gives reason and level; among dominance
    and p% rules, unit and holding, the level is the largest. A holding frequency rule takes the range of the
    unit rule, as there; its own range where there is no unit rule.

    Parameters
    ----------
    p, holding_p
        P(p), P(p, n) or P(p, q, n); one or several.
    nk, holding_nk
        Several NK(n, k).
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
    """
    amounts = [
        *_amount_rules(p, nk, "unit", weighted, manual),
        *_amount_rules(holding_p, holding_nk, "holding", weighted, manual),
    ]
    requests = [_request(given, level) for given, level in ((req, "unit"), (holding_req, "holding")) if given]
    counts = []
    if freq:
        counts.append(Threshold(freq[0], freq[1], weighted=weighted))
    if holding_freq:
        reach = freq[1] if freq else holding_freq[1]
        counts.append(Threshold(holding_freq[0], reach, weighted=weighted, level="holding"))
    zeros = [] if zero is None else [ZeroRule(zero)]
    stages = [_any(stage) for stage in (amounts, requests, counts, zeros) if stage]
    if not stages:
        raise InputError("no rule is given", remedy="Give at least one of p, nk, freq, req, zero.")
    rule = stages[0] if len(stages) == 1 else FirstOf(*stages)
    return Exempt(rule, missing) if missing else rule


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
    rules: list[Rule] = []
    if max_n is not None:
        rules.append(_at_most(max_n, zeros=allow_zeros))
    if nk is not None:
        rules.append(Dominance(*_two(nk, "nk")))
    if p is not None:
        rules.append(PPercent(p))
    if pq is not None:
        rules.append(PriorPosterior(*_two(pq, "pq")))
    return _some(rules, "max_n, nk, p, pq")


def gauss_suppression(
    *,
    max_n: int | None = None,
    protect_zeros: bool = True,
    nk: Sequence[Parameters] = (),
    p: Number | None = None,
) -> Rule:
    """Return the rules of GaussSuppression: small counts (maxN), dominance (any of several (n, k)) and p%.

    Examples
    --------
    >>> gauss_suppression(nk=[(1, 80)], p=10).text
    'dominance rule (n = 1, k = 80, inclusive) or p% rule (p = 10)'
    """
    rules: list[Rule] = []
    if max_n is not None:
        rules.append(_at_most(max_n, zeros=protect_zeros))
    rules += [Dominance(*_two(pair, "nk"), inclusive=True) for pair in nk]
    if p is not None:
        rules.append(PPercent(p))
    return _some(rules, "max_n, nk, p")


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
    rules: list[Rule] = []
    if threshold is not None:
        rules.append(Threshold(threshold, zeros=zeros))
    if nk is not None:
        rules.append(Dominance(*_two(nk, "nk"), inclusive=True))
    if p is not None:
        rules.append(PPercent(p))
    return _some(rules, "threshold, nk, p")


PRESETS: Mapping[str, Callable[..., Rule]] = {
    "tau-argus": tau_argus,
    "sdctable": sdctable,
    "gauss-suppression": gauss_suppression,
    "acro": acro,
}
"""Presets by the name job files use."""


def _amount_rules(
    p: Number | Sequence[Number | Parameters],
    nk: Sequence[Parameters],
    level: Level,
    weighted: bool,
    manual: Number,
) -> list[Rule]:
    further: dict[str, Any] = {"level": level, "weighted": weighted, "safety_range": manual}
    several = p if isinstance(p, Sequence) and not isinstance(p, str) else (p,)
    return [
        *(Dominance(*_two(pair, "nk"), **further) for pair in nk),
        *(_p_rule(given, further) for given in several),
    ]


def _p_rule(given: Number | Parameters, further: dict[str, Any]) -> Rule:
    """P(p), P(p, n) or P(p, q, n)."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return PPercent(given, **further)
    if len(given) == 3:
        return PriorPosterior(given[0], given[1], _count(given[2]), **further)
    if len(given) in (1, 2):
        return PPercent(given[0], *map(_count, given[1:]), **further)
    raise InputError("a p% rule has one to three parameters", remedy="Give p, or (p, n), or (p, q, n).")


def _request(given: Parameters, level: Any) -> Rule:
    if len(given) != 4:
        raise InputError(
            "a request rule has four parameters", remedy="Give (share1, share2, minimum, margin)."
        )
    return Request(given[0], given[1], _count(given[2]), given[3], level=level)


def _at_most(max_n: int, *, zeros: bool) -> Rule:
    return Threshold(max_n, inclusive=True, zeros=zeros)


def _two(given: Parameters, name: str) -> tuple[Any, Any]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{name} has two parameters", remedy=f"Give {name} as a pair.")
    return given[0], given[1]


def _count(number: Number) -> int:
    exact = fraction(number, "a count")
    if exact.denominator != 1:
        raise InputError(f"{number} is not a whole number", remedy="Give a whole number.")
    return int(exact)


def _any(rules: Sequence[Rule]) -> Rule:
    return rules[0] if len(rules) == 1 else AnyOf(*rules)


def _some(rules: Sequence[Rule], names: str) -> Rule:
    if not rules:
        raise InputError("no rule is given", remedy=f"Give at least one of {names}.")
    return _any(rules)
