"""SAFETYRULE: the sensitivity rules of a table, for units and for holdings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from cellveil.argus.batch.arguments import Arguments, flag, located
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.errors import InputError, nearest_name
from cellveil.rules.base import DEFAULT_RANGE, Rule
from cellveil.rules.percentages import Number
from cellveil.rules.presets import SafetyRules

PARAMETERS = {
    "P": (1, 2, 3),
    "NK": (2,),
    "FREQ": (2,),
    "REQ": (3, 4),
    "ZERO": (1,),
    "MAN": (1,),
    "WGT": (1,),
    "MIS": (1,),
}
"""The rules, and how many parameters each has."""

UNIT_PLACES = {"P": 2, "NK": 2, "FREQ": 1, "REQ": 1}
"""How many rules of a kind are for units, where those after them are for holdings."""

ONCE = ("ZERO", "MAN", "WGT", "MIS")

Given = Mapping[str, Sequence[Sequence[Number]]]
"""The parameters of each rule, by kind, in order; empty for a place that is not used."""


@dataclass(frozen=True)
class RuleLine:
    """The rules of a line.

    Parameters
    ----------
    given
        The parameters of each rule.
    manual
        Level of cells set by hand, in % of their value.
    weighted
        Whether sampling weights are used.
    missing_safe
        Whether cells with a code for “missing” are safe.
    """

    given: Given = field(default_factory=dict)
    manual: Number = DEFAULT_RANGE
    weighted: bool = False
    missing_safe: bool = False

    def rule(self, missing: Mapping[str, Sequence[str]]) -> Rule | None:
        """The rule, None where there is none; `missing` has the codes for “missing” by dimension."""
        rules: dict[str, object] = {}
        for kind, places in UNIT_PLACES.items():
            for prefix, own in (("", slice(places)), ("holding_", slice(places, None))):
                used = [numbers for numbers in self.given.get(kind, ())[own] if numbers]
                if used:
                    rules[f"{prefix}{kind.lower()}"] = used if places > 1 else used[0]
        if "ZERO" in self.given:
            rules["zero"] = self.given["ZERO"][0][0]
        if not rules:
            return None
        exempt = {name: list(codes) for name, codes in missing.items() if codes}
        further = {"missing": exempt} if self.missing_safe and exempt else {}
        options: dict[str, object] = {"manual": self.manual, "weighted": self.weighted}
        return SafetyRules(**rules, **options, **further).rule()  # type: ignore[arg-type]


def rule_line(command: BatchCommand) -> RuleLine:
    """Read rules such as “P(15,1)|FREQ(3,20)|”; places that are not used have zeros, as in P(0,0)."""
    given: dict[str, list[list[Number]]] = {}
    for part in Arguments(command).parts("|"):
        if part.is_over:
            continue
        kind = part.word("a rule").upper()
        if kind not in PARAMETERS:
            raise command.fault(f"unknown rule {kind}", nearest_name(kind, list(PARAMETERS)))
        numbers = part.numbers()
        part.end()
        if len(numbers) not in PARAMETERS[kind]:
            wanted = " or ".join(map(str, PARAMETERS[kind]))
            raise command.fault(f"{kind} has {len(numbers)} parameters", f"It takes {wanted}.")
        if any(number < 0 for number in numbers):
            raise command.fault(f"a parameter of {kind} is negative", "Give 0 or more.")
        given.setdefault(kind, []).append(_parameters(kind, numbers))
    for kind, rules in given.items():
        most = 1 if kind in ONCE else 2 * UNIT_PLACES[kind]
        if len(rules) > most:
            raise command.fault(f"{kind} is there {len(rules)} times", f"It can be there {most} times.")
    return _checked(command, given)


def _parameters(kind: str, numbers: Sequence[Fraction]) -> list[Number]:
    """The parameters as numbers; none for a place that is not used; a request needs no least number."""
    if kind in UNIT_PLACES and not any(numbers):
        return []
    plain: list[Number] = [int(n) if n.denominator == 1 else n for n in numbers]
    if kind == "P" and len(plain) > 1 and not plain[-1]:
        plain[-1] = 1
    if kind == "REQ" and len(plain) == 3:
        plain.insert(2, 0)
    return plain


def _checked(command: BatchCommand, given: dict[str, list[list[Number]]]) -> RuleLine:
    def one(kind: str, default: Number) -> Number:
        return given.pop(kind)[0][0] if kind in given else default

    weighted, missing = (flag(command, Fraction(one(kind, 0)), kind) for kind in ("WGT", "MIS"))
    manual = one("MAN", DEFAULT_RANGE)
    if not manual:
        raise command.fault("MAN(0) would protect nothing", "Give a margin above 0, for example MAN(20).")
    if "ZERO" in given and not given["ZERO"][0][0]:
        raise command.fault("ZERO(0) would protect nothing", "Give a range above 0.")
    line = RuleLine(given, manual, weighted, missing)
    try:
        line.rule({})
    except InputError as error:
        raise located(error, command) from None
    return line
