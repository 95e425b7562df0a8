"""Rules as plain data, as they stand in job files.

One rule: ``{rule = "p%", p = 15}``, or in short ``"p%:15"``. Several: ``{any = [...]}``, ``{all = [...]}``,
``{first = [...]}``; a bare list means any. A preset: ``{preset = "tau-argus", p = 15, freq = [3, 20]}``.
Exempt codes: ``{exempt = {region = ["99"]}, of = {...}}``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from cellveil.errors import InputError, nearest_name
from cellveil.rules.base import Rule, options
from cellveil.rules.combinations import AllOf, AnyOf, Combination, Exempt, FirstOf
from cellveil.rules.concentration import Dominance, PPercent, PriorPosterior
from cellveil.rules.frequency import Manual, Request, Threshold, ZeroRule
from cellveil.rules.group_disclosure import GroupDisclosure
from cellveil.rules.presets import PRESETS
from cellveil.rules.short_form import read_short_form

RULES: Mapping[str, type[Rule]] = {
    rule.name: rule
    for rule in (
        *(Threshold, Dominance, PPercent, PriorPosterior, Request, ZeroRule),
        *(GroupDisclosure, Manual),
    )
}
"""Rules by the name job files use."""

SHORT = '"p%:15", "dominance:1,75", "threshold:3"'
"""Rules in short form, as messages show them."""

COMBINATIONS: Mapping[str, type[Combination]] = {kind.name: kind for kind in (AnyOf, AllOf, FirstOf)}


def rule_from_dict(data: Any) -> Rule:
    """Read a rule, or several: plain data, text in short form, or rules as they are.

    Examples
    --------
    >>> rule_from_dict({"rule": "p%", "p": 15}).text
    'p% rule (p = 15)'
    >>> rule_from_dict(["p%:15", "dominance:1,75", Threshold(4)]).text
    'p% rule (p = 15) or dominance rule (n = 1, k = 75) or threshold rule (minimum 4)'
    >>> rule_from_dict([{"rule": "threshold"}, {"preset": "sdctable", "p": 10}]).text
    'threshold rule (minimum 3) or p% rule (p = 10)'
    """
    if isinstance(data, Rule):
        return data
    if isinstance(data, str):
        return _in_short(data)
    if isinstance(data, Sequence):
        rules = [rule_from_dict(rule) for rule in data]
        return rules[0] if len(rules) == 1 else AnyOf(*rules)
    if not isinstance(data, Mapping):
        made = " (make one of it: PPercent(10))" if isinstance(data, type) and issubclass(data, Rule) else ""
        raise InputError(
            f"a rule is not a table of options but of type {type(data).__name__}{made}",
            remedy='Write, say, {rule = "p%", p = 15} or "p%:15"; in Python PPercent(15) too.',
        )
    kinds = ["rule", "preset", "exempt", *COMBINATIONS]
    given = [key for key in data if key in kinds]
    if len(given) != 1:
        raise InputError(
            f"a rule has {' and '.join(given) if given else 'no kind'}",
            remedy=f"Give exactly one of: {', '.join(kinds)}. {_hint(data, kinds) if not given else ''}",
        )
    kind, rest = given[0], {key: value for key, value in data.items() if key != given[0]}
    if kind == "rule":
        return _named_rule(data["rule"], rest)
    if kind == "preset":
        return _preset(data["preset"], rest)
    if kind == "exempt":
        _check_keys(rest, ["of"], "exempt")
        return Exempt(rule_from_dict(rest.get("of")), data["exempt"])
    _check_keys(rest, [], kind)
    if isinstance(data[kind], str) or not isinstance(data[kind], Sequence):
        raise InputError(f"{kind} is not a list of rules", remedy=f"Write {kind} = [{{rule = …}}, …].")
    return COMBINATIONS[kind](*map(rule_from_dict, data[kind]))


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """Write a rule as plain data; `rule_from_dict` reads it back. Presets come out as the rules they are.

    Examples
    --------
    >>> from cellveil.rules.frequency import Threshold
    >>> from cellveil.rules.concentration import PPercent
    >>> rule_to_dict(PPercent(15) | Threshold(3))
    {'any': [{'rule': 'p%', 'p': 15}, {'rule': 'threshold'}]}
    """
    if isinstance(rule, Combination):
        return {rule.name: [rule_to_dict(part) for part in rule.rules]}
    if isinstance(rule, Exempt):
        return {"exempt": _plain(rule.codes), "of": rule_to_dict(rule.rule)}
    changed = {
        name: _plain(getattr(rule, name))
        for name, default, _ in _positional_first(type(rule))
        if default is ... or getattr(rule, name) != default
    }
    return {"rule": rule.name, **changed}


def _in_short(text: str) -> Rule:
    """A rule or preset such as “p%:10” or “threshold:3”."""
    name = text.partition(":")[0].strip()
    if name in PRESETS:
        return _preset(name, read_short_form(text, []))
    if name not in RULES:
        raise InputError(
            f"unknown rule {name!r}",
            remedy=f"{nearest_name(name, [*RULES, *PRESETS])} Numbers follow after a colon: {SHORT}.",
        )
    shared = {field.name for field in fields(cast(Any, RULES[name])) if field.kw_only}
    order = [option for option, _, _ in options(RULES[name]) if option not in shared]
    return _named_rule(name, read_short_form(text, order))


def _named_rule(name: Any, given: Mapping[str, Any]) -> Rule:
    if name not in RULES:
        raise InputError(f"unknown rule {name!r}", remedy=nearest_name(str(name), list(RULES)))
    known = options(RULES[name])
    _check_keys(given, [option for option, _, _ in known], f"rule {name!r}")
    for option, default, _ in known:
        if default is ... and option not in given:
            raise InputError(f"the rule {name!r} lacks {option}", remedy=f"Give {option}.")
        if isinstance(default, bool) and not isinstance(given.get(option, default), bool):
            raise InputError(
                f"{option} of the rule {name!r} is not true or false", remedy="Write true or false."
            )
    return RULES[name](**given)


def _preset(name: Any, given: Mapping[str, Any]) -> Rule:
    if name not in PRESETS:
        raise InputError(f"unknown preset {name!r}", remedy=nearest_name(str(name), list(PRESETS)))
    _check_keys(given, list(inspect.signature(PRESETS[name]).parameters), f"preset {name!r}")
    return PRESETS[name](**given)


def _check_keys(given: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in given:
        if key not in known:
            raise InputError(
                f"{what} has no option {key!r}",
                remedy=nearest_name(key, known) if known else f"Leave {key!r} out.",
            )


def _hint(data: Mapping[str, Any], kinds: Sequence[str]) -> str:
    return nearest_name(next(iter(data)), kinds) if data else ""


def _positional_first(rule: type[Rule]) -> list[tuple[str, Any, str]]:
    """Options in the order of the constructor: those every rule of a kind shares come last."""
    shared = {field.name for field in fields(cast(Any, rule)) if field.kw_only}
    return sorted(options(rule), key=lambda declared: declared[0] in shared)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Decimal | Fraction) else value
