"""The report on a run that found some cells impossible to protect: the conflicts and the cheapest way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cellveil.errors import InfeasibleError, counted
from cellveil.problem import Problem, Status
from cellveil.publishing import Labels, TablePart
from cellveil.report.figures import rules_fired
from cellveil.report.report import versions
from cellveil.report.run_facts import RunFacts

if TYPE_CHECKING:
    from cellveil.report.page_parts import ReportParts

MOST_NAMED = 30
"""Cells that the page names in one sentence."""


@dataclass(frozen=True, repr=False, eq=False)
class InfeasibleReport:
    """What stands in the way of a pattern, as data and as a page. Internal.

    Parameters
    ----------
    error
        What the search ended with.
    notes
        What was taken for granted about the data.
    """

    problem: Problem
    error: InfeasibleError
    method: str
    seed: int
    title: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    labels: Labels = field(default_factory=dict)
    tables: tuple[TablePart, ...] = ()
    notes: tuple[str, ...] = ()
    facts: RunFacts = field(default_factory=RunFacts)

    def __repr__(self) -> str:
        return f"InfeasibleReport({self.heading!r}, {counted(len(self.error.cells), 'cell')})"

    @property
    def heading(self) -> str:
        """The title, or what the table is about."""
        return self.title or self.problem.table.variable

    @property
    def rules(self) -> dict[str, int]:
        """How many primary cells each rule marks."""
        return rules_fired(self.problem)

    @property
    def tiles(self) -> list[tuple[str, str, str]]:
        """The figures at the top: name, figure, remark."""
        frozen = int((self.problem.status == Status.FROZEN).sum())
        return [
            (
                "Cells",
                f"{self.problem.table.num_cells:,}",
                counted(len(self.problem.table.relations), "relation"),
            ),
            ("Primary", f"{len(self.problem.primaries):,}", "have to be protected"),
            ("Cannot be protected", f"{len(self.error.cells):,}", "to the required levels"),
            ("Must be published", f"{frozen:,}", "zeros included"),
            ("Released", "nothing", "the public folder holds no release"),
        ]

    @property
    def conflicts(self) -> dict[str, Any]:
        """What the page says of the way out."""
        details = self.error.details
        relaxation = details.get("relaxation") or {}
        lowered = [
            f"It lowers the {one['level']} level of {one['cell']} to {one['kept']:.1%}."
            for one in relaxation.get("lowered_levels", [])
        ]
        hopeless = details.get("hopeless_cells", [])
        return {
            "way_out": f"No pattern helps {_some(hopeless)}: recode them." if hopeless else "",
            "levels": [_conflict(one) for one in details.get("conflicts", [])],
            "cells": _named(self.error.cells),
            "freed": _named(relaxation.get("freed_cells", [])),
            "lowered": lowered,
            "relax": "Write relax = true below [suppress] to have this done, and told." if relaxation else "",
        }

    def to_dict(self) -> dict[str, Any]:
        """The keys of any report on a suppression, null where there is no pattern to report on."""
        error = self.error
        return {
            "method": self.method,
            "outcome": "infeasible",
            "reason": str(error),
            "safe": False,
            "cells": self.problem.table.num_cells,
            "primaries": len(self.problem.primaries),
            "secondaries": None,
            "cost": None,
            "lower_bound": None,
            "gap": None,
            "certified_demands": 0,
            "demands": None,
            "unsafe_cells": list(error.cells),
            "conflicting_cells": list(error.conflicts),
            "conflicts": error.details.get("conflicts", []),
            "relaxation": error.details.get("relaxation"),
            "hopeless_cells": error.details.get("hopeless_cells", []),
            "seconds": {},
            "seed": self.seed,
            "versions": versions(),
        }

    def to_html(self) -> str:
        """The report as one self-contained page."""
        from cellveil.report.html_report import render

        return render(self.parts())

    def parts(self) -> ReportParts:
        """What the page consists of: fragments of HTML, and the cells as data for its components."""
        from cellveil.report.page_parts import parts_of_infeasible

        return parts_of_infeasible(self)


def _named(names: Any) -> list[str]:
    more = [f"and {len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
    return [*map(str, list(names)[:MOST_NAMED]), *more]


def _some(names: Any) -> str:
    return ", ".join(_named(names))


def _conflict(one: Mapping[str, Any]) -> dict[str, Any]:
    facts = [f"{fact['cell']} ({fact['why']})" for fact in one["facts"]]
    return {"cell": one["cell"], "level": one["level"], "facts": facts}
