"""What is known of one cell: status, contributors, rules that mark it, relations with other hidden cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cellveil.arrays import Bool
from cellveil.errors import InputError
from cellveil.explaining.amounts import amount_text, share_text
from cellveil.explaining.rule_arithmetic import arithmetic, single_rules
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.rules.base import Rule
from cellveil.tables.contributions import RECORD, Contributions
from cellveil.tables.table import Table


@dataclass(frozen=True, repr=False)
class Contributor:
    """One of the largest contributions: who, how much, and its share of the cell."""

    who: str
    amount: str
    share: str


@dataclass(frozen=True, repr=False)
class FiredRule:
    """A rule that marks the cell, and its arithmetic in this cell; empty where there is none to write out."""

    rule: str
    arithmetic: str


@dataclass(frozen=True, repr=False)
class SharedEquation:
    """A relation of the table in which the cell stands, and the hidden cells beside it."""

    relation: str
    hidden: tuple[str, ...]


def status_text(problem: Problem, pattern: Pattern, cell: int, *, is_adjusted: bool = False) -> str:
    """What happened to the cell, in words."""
    if problem.status[cell] == Status.PRIMARY:
        return "primary: sensitive, moved beyond its levels" if is_adjusted else "primary: hidden, by rule"
    if is_adjusted:
        return "published, perhaps changed"
    if pattern.hidden[cell]:
        return "secondary: hidden so that primary cells cannot be worked out"
    if problem.status[cell] == Status.FROZEN:
        zero = " (it is 0)" if problem.table.values[cell] == 0 else ""
        return f"published: it must be{zero}"
    return "published"


def num_contributors(table: Table, cell: int) -> int | None:
    """How many contribute; None where it is not known."""
    counts = table.contributors if table.contributors is not None else getattr(table.units, "count", None)
    return None if counts is None or counts[cell] < 0 else int(counts[cell])


def largest_contributors(table: Table, cell: int) -> tuple[Contributor, ...]:
    """The largest contributions that are kept; holdings where the units have none."""
    known: Contributions | None = table.units if table.units is not None else table.holdings
    if known is None:
        return ()
    amounts, who = known.largest_parts if known.parts is not None else (known.top, known.who)
    whole = float(known.absolute[cell])
    return tuple(
        Contributor(
            "not named" if person < 0 else _named(known.names[person]),
            amount_text(amount, known.decimals),
            share_text(amount, whole),
        )
        for amount, person in zip(amounts[cell].tolist(), who[cell].tolist(), strict=True)
        if amount
    )


def _named(name: str) -> str:
    return name if name.startswith(RECORD) else f"contributor {name}"


def fired_rules(
    problem: Problem, rule: Rule | None, cell: int, reasons: Mapping[str, Bool]
) -> Iterator[FiredRule]:
    """The rules that mark the cell by these reasons, each with its arithmetic."""
    if problem.status[cell] != Status.PRIMARY:
        return
    singles = {} if rule is None else {one.text: one for one in single_rules(rule)}
    told = [name for name, marked in reasons.items() if marked[cell]]
    for name in told:
        yield FiredRule(name, arithmetic(singles[name], problem.table, cell) if name in singles else "")
    if not told:
        yield FiredRule("marked by hand, or given with the table", "")


def judged_reasons(table: Table, rule: Rule | None) -> Mapping[str, Bool]:
    """Why cells are primary, judged again: an instance does not keep it. None where a rule cannot say."""
    try:
        return {} if rule is None else rule.judge(table).reasons
    except InputError:  # it lacks what the table was made from
        return {}


def shared_equations(table: Table, pattern: Pattern, cell: int) -> Iterator[SharedEquation]:
    """The relations of the cell that hold further hidden cells."""
    columns = table.relations.columns
    for row in columns.rows[columns.indptr[cell] : columns.indptr[cell + 1]].tolist():
        cells, _ = table.relations.row(row)
        others = [other for other in cells.tolist() if other != cell and pattern.hidden[other]]
        if others:
            yield SharedEquation(table.relation_name(row), tuple(table.cell_names(others)))
