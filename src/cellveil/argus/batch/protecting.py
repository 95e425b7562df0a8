"""Protection of the tables of a batch: those that share cells together, by one of our methods, audited.

Requires tables with their unsafe cells. Ensures: what is returned was audited as a whole against outsiders;
where the batch asks for singletons to be protected, against single contributors too, but for cells of which
it is proved that no pattern protects them; the warnings say which these are, or that contributors were not
shown to be kept off. The certificate was verified. What was not shown safe against outsiders is not returned,
but raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from cellveil.adjustment import adjust
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.linked_problem import linked_problem, with_published
from cellveil.argus.batch.suppress_line import ArgusMethod, SuppressLine
from cellveil.arrays import Int
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.default_attackers import attackers_tested
from cellveil.errors import InfeasibleError, NotSafeError, name_some
from cellveil.judge import Audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.report import Report, build_report
from cellveil.suppression import Suppression, suppress
from cellveil.tables.table import Table

WITHIN_RULE = "no pattern can protect them from a single contributor"
EXEMPT = (
    "of these cells it is proved that no pattern protects them from a single contributor, and they are exempt"
)
NOT_SHOWN = (
    "single contributors who know their own part are NOT shown to be kept off, outsiders are. Whoever "
    "publishes it decides that: give more minutes, or switch the options for singletons off"
)


@dataclass(frozen=True, repr=False, eq=False)
class ProtectedTable:
    """What a table is published as.

    Parameters
    ----------
    audit
        The audit of the whole: of all tables that were protected together.
    pattern
        Which cells are hidden; none of an adjusted table.
    adjusted
        The values to publish; None where cells are hidden.
    report
        The report on the whole; None of an adjusted table.
    warning
        Where single contributors were to be kept off, and are not from every cell: what is left open.
    """

    audit: Audit
    pattern: Pattern | None = None
    adjusted: Int | None = None
    report: Report | None = None
    warning: str = ""

    @property
    def num_secondaries(self) -> int:
        """How many cells are hidden besides the unsafe ones."""
        return 0 if self.pattern is None else int((self.pattern.status == Status.SECONDARY).sum())


@dataclass(frozen=True, repr=False, eq=False)
class TableGroup:
    """Tables that are protected together.

    Parameters
    ----------
    problems
        One for each table.
    tables
        The tables as they are linked.
    lines
        What was asked for.
    published
        Patterns of tables that were written before and cannot change any more, by place.
    """

    problems: Sequence[Problem]
    tables: Sequence[Table]
    lines: Sequence[SuppressLine]
    published: dict[int, Pattern] = field(default_factory=dict)

    @property
    def method(self) -> str:
        """The one method that was asked for, or `auto` where there are several."""
        asked = {line.method.ours for line in self.lines}
        if len(asked) > 1 or (asked == {ArgusMethod.NETWORK.ours} and not self._is_two_way()):
            return ArgusMethod.MODULAR.ours
        return asked.pop()

    def _is_two_way(self) -> bool:
        return len(self.problems) == 1 and len(self.problems[0].table.dimensions) == 2

    @property
    def time_limit(self) -> float | None:
        """Seconds: those of all lines together."""
        known = [line.minutes for line in self.lines if line.minutes is not None]
        return 60.0 * sum(known) if len(known) == len(self.lines) else None

    @property
    def keeps_insiders_off(self) -> bool:
        """Whether single contributors are to be kept off."""
        return any(line.insiders for line in self.lines)


def protect(group: TableGroup, params: BatchParams) -> tuple[list[ProtectedTable], list[str]]:
    """Protect the tables of a group; also returns notes for the log.

    Raises
    ------
    NotSafeError
        When no pattern was shown safe.
    InfeasibleError
        When none can be.
    """
    problem, places = linked_problem(group.problems, group.tables)
    for place, pattern in group.published.items():
        problem = with_published(problem, places[place], pattern)
    found, warning, notes = _suppressed(problem, group, params)
    if found.was_interrupted:
        raise KeyboardInterrupt
    if not found.is_safe:
        raise NotSafeError(f"{found.audit.verdict}. {found.reason}")
    notes += list(getattr(problem.table, "notes", ()))
    report = build_report(problem, found, found.audit, notes=notes)
    tables = [
        ProtectedTable(
            found.audit,
            Pattern.hiding(part, found.pattern.hidden[cells], found.method),
            report=report,
            warning=warning,
        )
        for part, cells in zip(group.problems, places, strict=True)
    ]
    return tables, [*_told(found), *notes]


def _told(found: Suppression) -> list[str]:
    proven = "the least cost is proven" if found.outcome == "optimal" else found.reason
    return [
        f"Method of cellveil: {found.method} ({proven})",
        found.audit.verdict,
        f"Not tested: {found.audit.not_asked}",
    ]


def _suppressed(
    problem: Problem, group: TableGroup, params: BatchParams
) -> tuple[Suppression, str, list[str]]:
    """Run the method, against single contributors too if they are to be kept off, as far as that is possible.

    Cells that nothing protects from them, which is proved, are exempt. Where contributors were not shown to
    be kept off, the pattern is one against outsiders. Either is a warning. Also returns notes.
    """
    insider, notes = _insider(problem) if group.keeps_insiders_off else (None, [])
    warning = ""
    if insider is not None:
        found = _against(problem, group, insider, params)
        if found is not None and found.unprotectable and not found.is_safe and not found.was_interrupted:
            cells = sorted(found.unprotectable)
            names = name_some(problem.table.cell_names(np.array(cells)))
            warning = f"{EXEMPT}: {names}"
            exempt = replace(insider, exempt=tuple(cells), exempt_reason=WITHIN_RULE)
            found = _against(problem, group, exempt, params)
        if found is not None and (found.is_safe or found.was_interrupted):
            return found, warning, notes
        warning = NOT_SHOWN
    return _run(problem, group, None, params), warning, notes


def _against(
    problem: Problem, group: TableGroup, insider: Attacker, params: BatchParams
) -> Suppression | None:
    """A pattern against outsiders and single contributors, or None where no pattern keeps these off."""
    try:
        return _run(problem, group, insider, params)
    except InfeasibleError as error:
        if not error.attacker:  # outsiders cannot be kept off either
            raise
        return None


def _run(problem: Problem, group: TableGroup, insider: Attacker | None, params: BatchParams) -> Suppression:
    return suppress(
        problem,
        group.method,
        attackers=[insider] if insider is not None else [],
        default_attackers=False,
        time_limit=group.time_limit,
        seed=params.seed,
    )


def _insider(problem: Problem) -> tuple[Attacker | None, list[str]]:
    """Single contributors, holdings where they are known; or why they are not tested."""
    level = "holding" if problem.table.holdings is not None else "unit"
    tested = attackers_tested(problem, level=level)
    insider = next((one for one in tested.attackers if not one.is_outsider), None)
    return insider, [] if insider else [f"single contributors were not tested, {tested.why_no_insiders}"]


def adjusted(problem: Problem, line: SuppressLine, params: BatchParams) -> tuple[ProtectedTable, list[str]]:
    """Adjust a table.

    Raises
    ------
    NotSafeError
        When something speaks against publishing the adjusted values.
    AdjustmentError
        When no adjustment is possible.
    """
    limit = None if line.minutes is None else 60.0 * line.minutes
    found = adjust(problem, time_limit=limit, seed=params.seed)
    if found.was_interrupted:
        raise KeyboardInterrupt
    if found.audit.objections:
        raise NotSafeError(found.audit.verdict)
    told = [
        f"Method of cellveil: adjust ({found.outcome}, {found.reason})",
        found.audit.verdict,
        f"Not tested: {found.audit.not_asked}",
    ]
    return ProtectedTable(found.audit, adjusted=found.values), told
