"""A protected table: the problem, the pattern, the verdict and the report, and the way to a release."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cellveil.job.output_folder import check_apart
from cellveil.job.running import wishes_of
from cellveil.job.searched import JudgedPattern
from cellveil.judge import Audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.publishing import Release, release
from cellveil.report import Report
from cellveil.shown import Shown
from cellveil.suppression import Suppression
from cellveil.tables.table import Table


@dataclass(frozen=True, repr=False, eq=False)
class Protection(Shown):
    """What `protect` came to. Frozen; nothing of it is public before `release`.

    Parameters
    ----------
    found
        The judged pattern and what it was found for.
    notes
        What was taken for granted about the data, for somebody to confirm.
    """

    found: JudgedPattern
    notes: tuple[str, ...] = ()

    @property
    def table(self) -> Table:
        """The table, with all its values."""
        return self.problem.table

    @property
    def problem(self) -> Problem:
        """Statuses, levels, bounds and weights; as relaxed, where that was allowed and necessary."""
        return self.found.problem

    @property
    def suppression(self) -> Suppression:
        """The run of the search: outcome, cost, bound, seconds."""
        return self.found.suppression

    @property
    def pattern(self) -> Pattern:
        """Which cells are hidden."""
        return self.suppression.pattern

    @property
    def audit(self) -> Audit:
        """The judgement, attacker by attacker, with the certificate."""
        return self.found.audit

    @cached_property
    def report(self) -> Report:
        """The internal report: `summary()`, `to_html()`, `to_dict()`."""
        return self.found.report(self.notes)

    @property
    def verdict(self) -> str:
        """The result in one sentence, with against whom it holds."""
        return self.report.verdict

    @property
    def is_safe(self) -> bool:
        """Whether nothing speaks against a release."""
        return self.report.is_safe

    @property
    def was_interrupted(self) -> bool:
        """Whether somebody stopped the search, and this is the best it had."""
        return self.suppression.was_interrupted

    def __repr__(self) -> str:
        hidden, cells = int(self.pattern.hidden.sum()), self.table.num_cells
        verdict = f"safe against {self.audit.against}" if self.is_safe else "NOT SAFE"
        further = ", requirements relaxed" if self.suppression.relaxation is not None else ""
        further += ", interrupted" if self.was_interrupted else ""
        return f"Protection({verdict}, {hidden:,} of {cells:,} cells hidden{further})"

    def summary(self) -> str:
        """The report as a few lines of text."""
        return self.report.summary()

    def release(self, folder: Path | str, **wishes: Any) -> Release:
        """Write the public files, if nothing speaks against it.

        Parameters
        ----------
        folder
            Where they go; it may not hold the microdata.
        wishes
            Those of `cellveil.release`: formats, symbol, note, date and so on; by default as in a job.

        Raises
        ------
        NotSafeError
            When the table was not shown safe.
        """
        check_apart(self.found.job.confidential_inputs(), Path(folder))
        return release(
            self.audit, folder, **(wishes_of(self.found.job, self.found.prepared, self.found.past) | wishes)
        )
