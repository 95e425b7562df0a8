"""Rules made of rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from cellveil.errors import InputError, check_kind, nearest_name
from cellveil.rules.base import Judgement, Rule
from cellveil.tables.table import Table


@dataclass(frozen=True, init=False)
class Combination(Rule):
    """Several rules taken together."""

    rules: tuple[Rule, ...]
    joint: ClassVar[str]
    fires: ClassVar[np.ufunc]

    def __init__(self, *rules: Rule) -> None:
        if not rules:
            raise InputError("a combination of no rules", remedy="Name at least one rule.")
        for rule in rules:
            if not isinstance(rule, Rule):
                raise InputError(
                    f"a combination holds a {type(rule).__name__}, which is not a rule",
                    remedy="Write AnyOf(PPercent(10), Threshold(3)); lists and texts such as "
                    '["p%:10", "threshold:3"] are for make_problem and protect.',
                )
        object.__setattr__(self, "rules", tuple(rules))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.rules))})"

    @property
    def depth(self) -> int:
        return max(rule.depth for rule in self.rules)

    @property
    def needs_all_cells(self) -> bool:
        return any(rule.needs_all_cells for rule in self.rules)

    @property
    def is_about_counts(self) -> bool:
        return any(rule.is_about_counts for rule in self.rules)

    @property
    def looks_at_holdings(self) -> bool:
        return any(rule.looks_at_holdings for rule in self.rules)

    @property
    def text(self) -> str:
        parts = [f"({r.text})" if isinstance(r, Combination) else r.text for r in self.rules]
        return f" {self.joint} ".join(parts)

    def judge(self, table: Table) -> Judgement:
        parts = [rule.judge(table) for rule in self.rules]
        return Judgement.combine(parts, type(self).fires.reduce([part.unsafe for part in parts]))


class AnyOf(Combination):
    """Unsafe if any of the rules fires; the levels are the largest of those that do.

    Examples
    --------
    >>> from cellveil.rules.frequency import Threshold
    >>> from cellveil.rules.concentration import Dominance
    >>> AnyOf(Threshold(3), Dominance(1, 75)).text
    'threshold rule (minimum 3) or dominance rule (n = 1, k = 75)'
    """

    name: ClassVar[str] = "any"
    joint: ClassVar[str] = "or"
    fires: ClassVar[np.ufunc] = np.logical_or


class AllOf(Combination):
    """Unsafe only if every rule fires; the levels are the largest of them."""

    name: ClassVar[str] = "all"
    joint: ClassVar[str] = "and"
    fires: ClassVar[np.ufunc] = np.logical_and


class FirstOf(Combination):
    """Unsafe if any of the rules fires; reason and levels are those of the first that does."""

    name: ClassVar[str] = "first"
    joint: ClassVar[str] = "else"

    def judge(self, table: Table) -> Judgement:
        undecided = np.ones(table.num_cells, dtype=bool)
        parts = []
        for rule in self.rules:
            parts.append(rule.judge(table).within(undecided))
            undecided = undecided & ~parts[-1].unsafe
        return Judgement.combine(parts, ~undecided)


@dataclass(frozen=True)
class Exempt(Rule):
    """The rule, except for cells with certain codes: these are safe (say, “unknown region”).

    Parameters
    ----------
    rule
        The rule for all other cells.
    codes
        For each dimension named, the codes whose cells are safe.
    """

    rule: Rule
    codes: Mapping[str, Sequence[str]]
    name: ClassVar[str] = "exempt"

    def __post_init__(self) -> None:
        check_kind(self.rule, Rule, "what codes are exempt from", "Give a rule: Exempt(PPercent(10), …).")
        lists = list(self.codes.values()) if isinstance(self.codes, Mapping) else [None]
        for codes in lists:  # a text would be taken for its letters
            if isinstance(codes, str) or not isinstance(codes, Sequence):
                raise InputError(
                    "exempt codes are not lists by dimension", remedy='Write, say, {region = ["99"]}.'
                )
            if not all(isinstance(code, str) for code in codes):
                raise InputError("an exempt code is not a text", remedy='Write codes in quotes: ["99"].')

    @property
    def depth(self) -> int:
        return self.rule.depth

    @property
    def needs_all_cells(self) -> bool:
        return self.rule.needs_all_cells

    @property
    def is_about_counts(self) -> bool:
        return self.rule.is_about_counts

    @property
    def looks_at_holdings(self) -> bool:
        return self.rule.looks_at_holdings

    @property
    def text(self) -> str:
        return f"{self.rule.text}, with exempt codes"

    def judge(self, table: Table) -> Judgement:
        judged = np.ones(table.num_cells, dtype=bool)
        names = [dimension.name for dimension in table.dimensions]
        for name, codes in self.codes.items():
            if name not in names:
                raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(name, names))
            dimension, column = table.dimensions[names.index(name)], table.keys[names.index(name)]
            numbers = [dimension.index[code] for code in codes if code in dimension.index]
            judged &= ~np.isin(column, numbers)
        return self.rule.judge(table).within(judged)
