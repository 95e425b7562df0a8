"""The explanation of one cell: what it holds, why it is hidden, what an attacker learns, what it protects.

Everything is read off the problem, the pattern and the certificate, or asked of the judge: nothing is
searched anew. It holds confidential values and is internal; its `repr` holds none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from cellveil.arrays import Int
from cellveil.attackers.attacker import as_attackers, in_words
from cellveil.certificate.certificate import Certificate
from cellveil.clock import Deadline
from cellveil.errors import InputError, name_some
from cellveil.explaining.amounts import amount_text, end_text
from cellveil.explaining.cell_facts import (
    Contributor,
    FiredRule,
    SharedEquation,
    fired_rules,
    judged_reasons,
    largest_contributors,
    num_contributors,
    shared_equations,
    status_text,
)
from cellveil.explaining.disclosed import Disclosed, disclosed
from cellveil.explaining.openings import openings
from cellveil.explaining.witness_support import WitnessSupport
from cellveil.judge.auditing import OUTSIDER
from cellveil.judge.outsider import OutsiderReport, audit_outsider
from cellveil.pattern import Pattern, check_pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.rules.base import Rule
from cellveil.tables.cells import CellRef, cell_number
from cellveil.tables.table import Table

Labels = Mapping[str, Mapping[str, str]]

MOST_NAMED = 8
"""Cells that a line of text names."""


@dataclass(frozen=True, repr=False)
class CellExplanation:
    """Why a cell is published or hidden. Made by `explain_cell`; internal.

    Parameters
    ----------
    cell
        Its name.
    codes
        Dimension, code and label.
    status
        primary, secondary, published, or must be published.
    value
        The true value; `published_as` where an adjusted table shows another one.
    num_contributors
        None where it is not known.
    contributors
        The largest contributions.
    rules
        The rules that mark it.
    required, interval
        What must stay possible, and what an outsider can tell: lower and upper end; None for cells without.
    required_width
        Least width of the interval; empty where none is asked for.
    interval_is_exact
        Whether the interval was computed to its ends; otherwise it reaches at least so far.
    is_protected
        Whether the judge calls it protected; None for cells that need no protection.
    equations
        The relations it stands in that hold further hidden cells.
    protects
        The primaries whose witness moves it.
    asked
        Which attackers were asked what publishing it would open, in words; empty where nobody was.
    opens, more_open, open_totals
        What publishing it would open, None where that was not asked; how many cells more; and how many
        contributors' sums over several cells.
    """

    cell: str
    codes: tuple[tuple[str, str, str], ...]
    variable: str
    status: str
    value: str
    published_as: str
    num_contributors: int | None
    contributors: tuple[Contributor, ...]
    rules: tuple[FiredRule, ...]
    required: tuple[str, str] | None
    required_width: str
    interval: tuple[str, str] | None
    interval_is_exact: bool
    is_protected: bool | None
    equations: tuple[SharedEquation, ...]
    protects: tuple[str, ...]
    asked: str
    opens: tuple[Disclosed, ...] | None
    more_open: int
    open_totals: int

    def __repr__(self) -> str:
        return f"CellExplanation({self.cell}, {self.status.partition(chr(58))[0]})"

    @property
    def asked_outsiders_only(self) -> bool:
        """Whether nobody but outsiders was asked what publishing it would open."""
        return self.asked == OUTSIDER.words

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON; amounts as text."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The explanation as text, for the terminal."""
        return [*self._head(), *self._why(), *self._attack(), *self._surroundings()]

    def _head(self) -> Iterator[str]:
        named = ", ".join(f"{name} {code}{f' ({text})' if text else ''}" for name, code, text in self.codes)
        yield f"{self.cell}: {named}"
        yield f"  {self.variable} {self.value}" + (
            f", published as {self.published_as}" if self.published_as else ""
        )
        if self.num_contributors is not None:
            number = self.num_contributors
            yield f"  {number:,} contributor{'' if number == 1 else 's'}" + (":" if self.contributors else "")
        for place, one in enumerate(self.contributors, 1):
            yield f"    x{place} = {one.amount}  ({one.share}; {one.who})"

    def _why(self) -> Iterator[str]:
        yield ""
        yield f"Status: {self.status}."
        for rule in self.rules:
            yield f"  {rule.rule}" + (f": {rule.arithmetic}" if rule.arithmetic else "")

    def _attack(self) -> Iterator[str]:
        if self.interval is None:
            return
        yield ""
        low, high = self.interval
        if not self.interval_is_exact:
            yield f"For an outsider at least {low} to {high} stays possible; time ran out before the ends."
        elif low == high:
            yield f"An outsider can tell its value: {low}."
        else:
            yield f"An outsider can tell that it lies between {low} and {high}."
        if self.required is not None:
            width = f", {self.required_width} apart at least" if self.required_width else ""
            enough = "enough" if self.is_protected else "NOT ENOUGH"
            low, high = self.required
            yield f"Required: {low} and {high} must both stay possible{width}. The interval is {enough}."

    def _surroundings(self) -> Iterator[str]:
        if self.equations:
            yield ""
            yield "Hidden cells in the same equations:"
            for equation in self.equations:
                yield f"  {equation.relation}"
                yield f"    hidden with it: {name_some(equation.hidden, MOST_NAMED)}"
        if self.protects:
            yield ""
            yield f"It helps to protect {name_some(self.protects, MOST_NAMED)}."
        if self.opens is not None:
            yield ""
            yield from self._opening()

    def _opening(self) -> Iterator[str]:
        itself = self.status.startswith("primary")
        if itself:
            yield "Publishing it would tell its value."
        if not (self.opens or self.more_open or self.open_totals):
            also = "Nothing else" if itself else "Publishing it alone: no primary cell"
            yield f"{also} would be opened to {self.asked}."
            return
        for against, cells in groupby(self.opens or (), lambda one: one.against):
            yield f"Publishing it would {'also ' if itself else ''}open to {against}:"
            yield from (f"  {one}" for one in cells)
        if self.more_open:
            yield f"  and {self.more_open:,} more that would not be shown protected"
        if self.open_totals:
            yield f"  and the sums of {self.open_totals:,} contributors over several cells"
        if not self.asked_outsiders_only:
            yield f"Asked: {self.asked}; what is open to one is not asked of the next."


def explain_cell(
    problem: Problem,
    pattern: Pattern,
    cell: CellRef,
    *,
    attackers: Any = (),
    certificate: Certificate | None = None,
    rule: Rule | None = None,
    labels: Labels | None = None,
    adjusted: Int | None = None,
    time_limit: float | None = 30.0,
) -> CellExplanation:
    """Why a cell is hidden or published, what an outsider learns of it, and what publishing it would open.

    Parameters
    ----------
    cell
        Its number, its codes in order, or its codes by dimension.
    attackers
        Who besides outsiders is asked what publishing it would open: `Attacker` objects, or their names.
    certificate
        The proof of the pattern: tells which primaries a cell helps to protect, and saves work.
    rule
        The rules of the table, to write out their arithmetic.
    labels
        Labels of codes: dimension → code → label.
    adjusted
        The values of the adjusted table that is published in place of the pattern.
    time_limit
        Seconds for the judge; what is not shown by then counts as open.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> pattern = Pattern.hiding(problem, np.isin(problem.table.values, [20, 50, 8, 19]), "by hand")
    >>> told = explain_cell(problem, pattern, ["r1", "c1"])
    >>> told
    CellExplanation((r1, c1), secondary)
    >>> told.interval, [one.cell for one in told.opens]
    (('0', '27'), ['(r0, c0)'])
    """
    check_problem(problem)
    check_pattern(pattern)
    table, number = problem.table, cell_number(problem.table, cell)
    if len(pattern.status) != table.num_cells:
        raise InputError("the pattern is of another table", remedy="Give the pattern of this problem.")
    deadline, decimals = Deadline(time_limit), table.decimals
    is_hidden = bool(pattern.hidden[number]) and adjusted is None
    support = (
        WitnessSupport.nothing(table.num_cells)
        if certificate is None
        else WitnessSupport.of(problem, certificate)
    )
    interval = _interval(problem, pattern, number, deadline) if is_hidden else None
    found = None
    if is_hidden:
        found = openings(problem, pattern, number, certificate, deadline, attackers=as_attackers(attackers))
    is_primary = problem.status[number] == Status.PRIMARY
    return CellExplanation(
        cell=table.cell_name(number),
        codes=_codes(table, number, labels or {}),
        variable=table.variable,
        status=status_text(problem, pattern, number, is_adjusted=adjusted is not None),
        value=amount_text(int(table.values[number]), decimals),
        published_as="" if adjusted is None else amount_text(int(adjusted[number]), decimals),
        num_contributors=num_contributors(table, number),
        contributors=largest_contributors(table, number),
        rules=tuple(fired_rules(problem, rule, number, problem.reasons or judged_reasons(table, rule))),
        required=_required(problem, number) if is_primary else None,
        required_width=amount_text(int(problem.spl[number]), decimals) if problem.spl[number] else "",
        interval=None if interval is None else _ends(interval, decimals),
        interval_is_exact=interval is not None and interval.is_exact,
        is_protected=bool(interval.safe[0]) if interval is not None and is_primary else None,
        equations=tuple(shared_equations(table, pattern, number)) if is_hidden else (),
        protects=tuple(table.cell_names(support.of_cell(number))),
        asked=in_words([one.attacker for one in found or ()]),
        opens=None if found is None else disclosed(table, found),
        more_open=sum(one.num_further for one in found or ()),
        open_totals=sum(one.num_totals for one in found or ()),
    )


def _codes(table: Table, cell: int, labels: Labels) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (dimension.name, code, labels.get(dimension.name, {}).get(code, ""))
        for dimension, code in zip(table.dimensions, table.key(cell), strict=True)
    )


def _required(problem: Problem, cell: int) -> tuple[str, str]:
    value, decimals = int(problem.table.values[cell]), problem.table.decimals
    return (
        amount_text(value - int(problem.lpl[cell]), decimals),
        amount_text(value + int(problem.upl[cell]), decimals),
    )


def _interval(problem: Problem, pattern: Pattern, cell: int, deadline: Deadline) -> OutsiderReport:
    """The judge's report on a hidden cell alone: its feasibility interval."""
    chosen = np.arange(problem.table.num_cells) == cell
    if problem.status[cell] == Status.PRIMARY:
        asked = problem.only(chosen)
    else:  # any level will do: what is asked is how far the attack gets
        one, none = chosen.astype(np.int64), np.zeros(problem.table.num_cells, dtype=np.int64)
        status = np.where(pattern.hidden, Status.SECONDARY, problem.status)
        status = np.where(chosen, Status.PRIMARY, status).astype(np.int8)
        asked = problem.replace(status=status, lpl=none, upl=one, spl=none)
    return audit_outsider(asked, pattern, exact=True, deadline=deadline)


def _ends(report: OutsiderReport, decimals: int) -> tuple[str, str]:
    return end_text(float(report.lower[0]), decimals), end_text(float(report.upper[0]), decimals)
