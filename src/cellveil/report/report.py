"""The report on a suppression, for the office itself: as JSON, as a page, as text.

It is internal: it tells primary from secondary cells and names the rules. Even so its page shows no hidden
value, only names, reasons and percentages. The page for outsiders is that of a release.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from cellveil.errors import check_kind, counted
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.public_view import PublicView
from cellveil.publishing import Labels, Release, TablePart
from cellveil.publishing.pattern_changes import PatternChanges
from cellveil.report.adjusted_release import ADJUSTED, with_adjusted
from cellveil.report.attacker_figures import Price, exempt_cells, open_cells, told_exempt, told_open
from cellveil.report.audit_figures import attackers_summary
from cellveil.report.figures import ClassOfCells, Margins, officials_table, plain, rules_fired
from cellveil.report.run_facts import RunFacts

if TYPE_CHECKING:
    from cellveil.judge import Audit
    from cellveil.report.page_parts import ReportParts
    from cellveil.suppression.result import Suppression

PACKAGES = ("cellveil", "numpy", "scipy", "highspy")


def build_report(
    problem: Problem,
    suppression: Suppression,
    audit: Audit | None,
    *,
    title: str = "",
    parameters: Mapping[str, Any] | None = None,
    labels: Labels | None = None,
    release: Release | None = None,
    override: str | None = None,
    adjustment: Mapping[str, Any] | None = None,
    instead: Audit | str | None = None,
    why_no_insiders: str = "",
    notes: Sequence[str] = (),
    tables: Sequence[TablePart] = (),
    changes: PatternChanges | None = None,
    facts: RunFacts | None = None,
) -> Report:
    """Report on a suppression and its audit.

    An audit of another view counts as none: the report then says that the table was not shown safe.

    Parameters
    ----------
    parameters
        Whatever was set for the run: rules, levels, method, limits. Nested mappings are fine.
    labels
        Labels of codes: dimension → code → label.
    release
        What was released, if anything.
    override
        The reason for an exception; by default that of the release.
    adjustment
        The figures of an adjustment of the same table, to compare with.
    instead
        The audit of what is to be released instead of the pattern, an adjusted table; or why there is none.
    why_no_insiders
        Why contributors were not asked: by whose decision, or what is not known of them.
    notes
        What was taken for granted about the data, for somebody to confirm.
    tables
        The tables that a joint table was linked from.
    changes
        What is hidden otherwise than in the pattern of a former month.
    facts
        When and from which inputs the run was made, its rules, and whether the page carries hidden values.
    """
    check_problem(problem)
    pattern = getattr(suppression, "pattern", None)
    check_kind(pattern, Pattern, "the pattern of the suppression", "Give what suppress(problem) returns.")
    if audit is not None:
        remedy = "Give what audit(problem, pattern) returns."
        check_kind(getattr(audit, "view", None), PublicView, "the view of the audit", remedy)
    view = PublicView.of(problem, suppression.pattern)
    return Report(
        problem,
        suppression,
        view,
        audit if audit is not None and audit.view.content_hash == view.content_hash else None,
        title,
        dict(parameters or {}),
        labels or {},
        release,
        override or (release.override if release else None),
        adjustment,
        instead,
        why_no_insiders,
        tuple(notes),
        tuple(tables),
        changes,
        facts or RunFacts(),
    )


@dataclass(frozen=True, repr=False, eq=False)
class Report:
    """A suppression, its audit and its figures. Made by `build_report`.

    Parameters
    ----------
    audit
        The audit of this very view, or None.
    instead
        The audit of what is to be released instead of the pattern, or why there is none.
    why_no_insiders
        Why contributors were not asked, in words; empty where they were, or nothing is known of it.
    """

    problem: Problem
    suppression: Suppression
    view: PublicView
    audit: Audit | None
    title: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    release: Release | None = None
    override: str | None = None
    adjustment: Mapping[str, Any] | None = None
    instead: Audit | str | None = None
    why_no_insiders: str = ""
    notes: tuple[str, ...] = ()
    tables: tuple[TablePart, ...] = ()
    changes: PatternChanges | None = None
    facts: RunFacts = field(default_factory=RunFacts)

    def __repr__(self) -> str:
        return f"Report({self.heading!r}, {self.verdict!r})"

    @property
    def heading(self) -> str:
        """The title, or what the table is about."""
        return self.title or self.problem.table.variable

    @property
    def decisive(self) -> Audit | None:
        """The audit that decides: of what is released instead of the pattern, or of the pattern."""
        return self.audit if self.instead is None else None if isinstance(self.instead, str) else self.instead

    @property
    def objections(self) -> tuple[str, ...]:
        """What speaks against releasing, by the audit; empty exactly when the table is safe."""
        if isinstance(self.instead, str):
            return (self.instead,)
        return ("there is no audit of this view",) if self.decisive is None else self.decisive.objections

    @property
    def is_safe(self) -> bool:
        """Whether nothing speaks against the table."""
        return not self.objections

    @property
    def verdict(self) -> str:
        """The result in one sentence."""
        if self.decisive is None or not self.is_safe:
            return f"NOT SAFE: {'; '.join(self.objections)}"
        relaxation, verdict = self.suppression.relaxation, self.decisive.verdict
        if relaxation is None or self.instead is not None:
            return verdict
        return verdict.replace("Safe", f"Safe under RELAXED requirements ({relaxation})", 1)

    @property
    def published(self) -> str:
        """Which table was released; empty where none was."""
        if self.release is None:
            return ""
        return "suppressed table" if self.instead is None else ADJUSTED

    @property
    def not_asked(self) -> str:
        """Whom the verdict says nothing about, in words."""
        return "everybody" if self.decisive is None else self.decisive.not_asked

    @property
    def told_not_asked(self) -> str:
        """The same as a sentence, with the reason where there is one."""
        return f"Not tested{f', {self.why_no_insiders}' if self.why_no_insiders else ''}: {self.not_asked}."

    @cached_property
    def price(self) -> Price | None:
        """What protection against further attackers costs; None where there are none."""
        return Price.of(self.problem, self.suppression)

    @property
    def decisions(self) -> list[str]:
        """Cells that are exempt from attackers, and cells that nothing protects from them: a line each."""
        exempt = exempt_cells(self.suppression.audit)
        return [*map(told_exempt, exempt), *map(told_open, open_cells(self.problem, self.suppression))]

    @property
    def over_time(self) -> list[str]:
        """How the pattern differs from a former one, and what former releases tell beside it: a line each."""
        together = None if self.decisive is None else self.decisive.together
        changes = [] if self.changes is None else self.changes.lines()
        return [
            *(f"Previous pattern: {line}" for line in changes),
            *([] if together is None else together.lines()),
        ]

    @property
    def out_of_time(self) -> str:
        """How many cells are hidden only for lack of time, and what to do; empty where none is."""
        number = self.suppression.hidden_for_lack_of_time
        if not number:
            return ""
        cells = counted(number, "cell is", "cells are")
        return f"OUT OF TIME: {cells} hidden only because the time limit was too short. Give a longer one."

    @cached_property
    def classes(self) -> list[ClassOfCells]:
        """The officials' table."""
        return officials_table(self.problem, self.suppression.pattern)

    @cached_property
    def rules(self) -> dict[str, int]:
        """How many primary cells each rule marks."""
        return rules_fired(self.problem)

    @cached_property
    def margins(self) -> Margins | None:
        """How wide the attacker's intervals are; None without an audit of this view."""
        outsider = None if self.audit is None else self.audit.outsider
        return None if outsider is None else Margins.of(self.problem, outsider)

    @cached_property
    def unsafe_cells(self) -> list[str]:
        """Names of the cells not shown safe: all of them without an audit of this view."""
        cells = self.problem.primaries if self.audit is None else self.audit.unsafe_cells
        return self.problem.table.cell_names(cells)

    @property
    def cost_texts(self) -> tuple[str, str]:
        """The cost, and how near to the least one it is; not where it might tell the value of one cell."""
        run, secondary = self.suppression, self.classes[1]
        weights = self.problem.weight[run.pattern.hidden & (self.problem.status != Status.PRIMARY)]
        if secondary.value is None and (weights != 1).any():
            return "–", "not shown: it may tell the value of a single cell"
        if run.lower_bound is None or run.gap is None:
            return amount(run.cost), "no lower bound"
        return amount(run.cost), f"lower bound {amount(run.lower_bound)}, gap {100 * run.gap:.1f} %"

    def to_dict(self) -> dict[str, Any]:
        """The report as data for JSON."""
        run, cells = self.suppression, {line.name: line.cells for line in self.classes}
        data = {
            "title": self.title,
            "safe": self.is_safe,
            "verdict": self.verdict,
            "published": self.published,
            "safe_against": self.decisive.against if self.decisive is not None and self.is_safe else "",
            "not_asked": self.not_asked,
            "why_no_insiders": self.why_no_insiders,
            "method": run.method,
            "outcome": run.outcome,
            "reason": run.reason,
            "hidden_for_lack_of_time": run.hidden_for_lack_of_time,
            "cells": self.problem.table.num_cells,
            "primaries": len(self.problem.primaries),
            "secondaries": cells["secondary"],
            "cost": run.cost,
            "lower_bound": run.lower_bound,
            "gap": run.gap,
            "certified_demands": run.certified_demands if self.audit is not None else 0,
            "demands": run.demands,
            "unsafe_cells": self.unsafe_cells,
            "num_lps": run.num_lps,
            "seconds": dict(run.seconds),
            "seed": run.seed,
            "versions": versions(),
            "table": [asdict(line) for line in self.classes],
            "rules": self.rules,
            "relaxation": None if run.relaxation is None else run.relaxation.to_dict(),
            "audit": self._audit_summary(),
            "attackers": [] if self.audit is None else attackers_summary(self.audit),
            "price": None if self.price is None else self.price.to_dict(),
            "exempt_cells": exempt_cells(run.audit),
            "unprotectable_cells": open_cells(self.problem, run),
            "parameters": self.parameters,
            "notes": list(self.notes),
            "changes": None if self.changes is None else self.changes.to_dict(),
            "former_releases": None
            if self.decisive is None or self.decisive.together is None
            else self.decisive.together.to_dict(),
            "hashes": {"problem": self.problem.content_hash, "view": self.view.content_hash},
            "made": self.facts.made,
            "inputs": [asdict(one) for one in self.facts.inputs],
            "release": None if self.release is None else asdict(self.release),
            "override": self.override,
        }
        if self.adjustment is not None:
            data["adjustment"] = self.adjustment
        if self.facts.comparison is not None:
            data["methods_compared"] = self.facts.comparison.to_dict()
        return dict(plain(data if self.instead is None else with_adjusted(self, data)))

    def to_html(self) -> str:
        """The report as one self-contained page."""
        from cellveil.report.html_report import render

        return render(self.parts())

    def parts(self) -> ReportParts:
        """What the page consists of: fragments of HTML, and the cells as data for its components."""
        from cellveil.report.page_parts import parts_of

        return parts_of(self)

    def summary(self) -> str:
        """The report as a few lines of text."""
        from cellveil.report.summary_text import summary_text

        return summary_text(self)

    def _repr_html_(self) -> str:
        from cellveil.report.html_report import render_summary

        return render_summary(self)

    def _audit_summary(self) -> dict[str, Any] | None:
        audit, margins = None if self.audit is None else self.audit.outsider, self.margins
        if audit is None or margins is None:
            return None
        return {
            "attacker": audit.attacker,
            "safe": audit.is_safe,
            "reason": audit.reason,
            "cells": len(audit.cells),
            "unsafe": len(audit.unsafe_cells),
            "exact": audit.is_exact,
            "least_margin": float(margins.margin.min()) if len(margins.margin) else None,
            "margins": dict(margins.histogram()),
            "num_lps": audit.num_lps,
            "seconds": audit.seconds,
            "tolerance": audit.tolerance,
            "view_hash": audit.view_hash,
        }


def amount(number: float) -> str:
    """A cost for people: whole when large, with four digits when small."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def versions() -> dict[str, str]:
    """Versions of what the figures depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = _version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


_version = cache(version)
"""Read from the files of an installed package, which takes milliseconds."""
