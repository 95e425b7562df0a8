"""Which cells are sensitive by the rules of a job, worked out from the records (docs/rules.md).

A cell is any set of records here, so that former cells with codes of their own fall under the same rules.
Shares nothing with the package. Covers threshold, dominance and p %, for units and holdings, with weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Record:
    """One record of the office: its finest codes by data column, its amounts, who it belongs to."""

    codes: Mapping[str, str]
    amounts: Mapping[str, Fraction]
    unit: str
    holding: str = ""
    weight: Fraction = Fraction(1)


@dataclass(frozen=True)
class Variable:
    """What a table adds up: a column of the records, or the records themselves."""

    column: str = ""
    weighted: bool = False

    def amount(self, record: Record) -> Fraction:
        """The amount of a record before any weight."""
        return record.amounts[self.column] if self.column else Fraction(1)

    def value(self, record: Record, step: Fraction) -> Fraction:
        """What a record adds to a cell; its amount is rounded to a multiple of the step (0: not rounded)."""
        amount = self.amount(record)
        amount = rounded(amount, step) if step and self.column else amount
        return amount * record.weight if self.weighted else amount


def rounded(amount: Fraction, step: Fraction) -> Fraction:
    """The nearest multiple of the step; half away from 0."""
    steps = abs(amount) / step
    number = (2 * steps.numerator + steps.denominator) // (2 * steps.denominator)
    return step * (number if amount >= 0 else -number)


@dataclass
class _Member:
    """What one contributor has in a cell."""

    amount: Fraction = Fraction(0)
    product: Fraction = Fraction(0)
    weighted: Fraction = Fraction(0)
    weights: list[Fraction] = field(default_factory=list)

    @property
    def places(self) -> Fraction:
        """How many contributors it stands for."""
        weight = self.product / self.amount if self.amount else sum(self.weights) / len(self.weights)
        return max(weight, Fraction(1))


@dataclass(frozen=True)
class Levels:
    """How far a cell must be able to lie below and above its value."""

    lower: Fraction
    upper: Fraction


def levels_of(
    records: Sequence[Record],
    variable: Variable,
    rules: Iterable[Mapping[str, Any]],
    digit: Fraction,
    step: Fraction,
) -> Levels | None:
    """The protection levels of the cell of these records, or None where no rule fires.

    Levels are rounded up to the last digit of the variable, and are at least one. Where records are rounded,
    the rules may look at amounts before or after that: a cell counts as sensitive if both say so.
    """
    found = None
    for rule in rules:
        sides = [_level(records, variable, rule, used) for used in {step, Fraction(0)}]
        if any(side is None for side in sides):
            continue
        level = max(_up(min(side for side in sides if side is not None), digit), digit)
        found = level if found is None else max(found, level)
    return None if found is None else Levels(found, found)


def _up(amount: Fraction, digit: Fraction) -> Fraction:
    return -((-amount / digit).__floor__()) * digit


def _level(
    records: Sequence[Record], variable: Variable, rule: Mapping[str, Any], step: Fraction
) -> Fraction | None:
    members: dict[str, _Member] = {}
    for record in records:
        who = record.holding if rule.get("level") == "holding" else record.unit
        member = members.setdefault(who, _Member())
        amount, weight = variable.amount(record), record.weight if variable.weighted else Fraction(1)
        member.amount += amount
        member.product += amount * weight
        member.weighted += variable.value(record, step)
        member.weights.append(weight)
    value = sum((variable.value(record, step) for record in records), Fraction(0))
    if rule["rule"] == "threshold":
        few = 0 < len(members) < rule.get("minimum", 3)
        return abs(value) * Fraction(str(rule.get("safety_range", 20))) / 100 if few else None
    size = sum((abs(member.weighted) for member in members.values()), Fraction(0))
    parts = sorted(((abs(m.amount), m.places) for m in members.values()), key=lambda part: -part[0])
    if not parts or not parts[0][0]:
        return None
    if rule["rule"] == "dominance":
        n, k = rule.get("n", 2), Fraction(str(rule.get("k", 85)))
        d = 100 / k * _largest(parts, n) - size
    else:
        p, together = Fraction(str(rule.get("p", 10))) / 100, 1 + rule.get("coalition", 1)
        known = min(_largest(parts, together), _largest(parts, together - 1) + parts[0][0])
        d = p * parts[0][0] + known - size
    if d <= 0:
        return None
    return d if size == value else abs(value) * d / size


def _largest(parts: list[tuple[Fraction, Fraction]], places: int) -> Fraction:
    """The amounts in the first places; a contributor of weight w fills w of them."""
    total, left = Fraction(0), Fraction(places)
    for amount, wide in parts:
        taken = min(wide, left)
        total, left = total + amount * taken, left - taken
    return total
