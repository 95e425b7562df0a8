"""The audit of a release together with former ones: what they disclose jointly.

Somebody who keeps old releases lays them beside the new one: what one of them hides another may show, and
differences between them tell the rest. Requires a problem, a pattern and the former releases; see
`cellveil.judge.joint_problem` for which cells are the same and what is assumed of revisions. Ensures:
`findings` is empty only if every primary cell of the problem was shown protected against the attackers asked,
who see all releases, and no cell that only a former release has and hides is known exactly, unless that
release gives it away by itself. Fails closed: what could not be joined or settled speaks against the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.attackers.attacker import Attacker
from cellveil.clock import Deadline
from cellveil.errors import counted, name_some
from cellveil.judge.auditing import OUTSIDER, Audit, audit
from cellveil.judge.former_release import FormerRelease
from cellveil.judge.joint_problem import JointProblem, join_releases
from cellveil.judge.published import Found, audit_published
from cellveil.judge.verdict import NAMED
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress


@dataclass(frozen=True, repr=False, eq=False)
class ReleasesTogether:
    """The verdict on a release beside former ones. Made by `audit_together`.

    Parameters
    ----------
    releases
        Names of the former releases.
    fault
        Why they could not be attacked together; "" where they were.
    joint
        The releases as one problem.
    audit
        Its audit.
    opened_now, opened_before
        Names of cells of the new table, and of former releases, that were not shown protected.
    open_already
        Names of cells that a former release gives away by itself.
    """

    releases: tuple[str, ...]
    fault: str = ""
    joint: JointProblem | None = None
    audit: Audit | None = None
    opened_now: tuple[str, ...] = ()
    opened_before: tuple[str, ...] = ()
    open_already: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against the new release beside the former ones, in words."""
        if self.audit is None:
            return (self.fault,)
        found = [
            f"together with {self.words}, {_cells(len(names))} {whose} not shown protected: "
            f"{name_some(names, NAMED)}"
            for names, whose in ((self.opened_now, "of this release"), (self.opened_before, "of former ones"))
            if names
        ]
        if not found and not self.audit.is_safe:
            return tuple(f"together with {self.words}: {finding}" for finding in self.audit.findings)
        return tuple(found)

    @property
    def is_safe(self) -> bool:
        """Whether nothing speaks against the new release."""
        return not self.findings

    @property
    def words(self) -> str:
        """The former releases in words."""
        return name_some(self.releases)

    @property
    def against(self) -> str:
        """Against whom the verdict holds, in words; "" where they could not be attacked together."""
        return "" if self.audit is None else self.audit.against

    @property
    def not_asked(self) -> str:
        """Whom it says nothing about, in words."""
        return "everybody" if self.audit is None else self.audit.not_asked

    def lines(self) -> list[str]:
        """What was assumed and found, for people."""
        lines = [f"Attacked together with {self.words}."]
        if self.joint is not None:
            lines.append(f"Cells in common: {self.joint.common:,}; hidden values are taken as unchanged.")
            for names, what in (
                (self.joint.revised, "published with other values before"),
                (self.joint.set_apart, "hidden before, taken as revised since: the figures show a revision"),
                (self.open_already, "given away by a former release alone"),
            ):
                if names:
                    lines.append(f"{_cells(len(names))} {what}: {name_some(names, NAMED)}.")
        if self.audit is not None:
            lines.append(
                f"Safe together against {self.audit.against}." if self.is_safe else "NOT SAFE together."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON: names only."""
        joint = self.joint
        return {
            "releases": list(self.releases),
            "safe": self.is_safe,
            "findings": list(self.findings),
            "against": self.against,
            "not_asked": self.not_asked,
            "common_cells": 0 if joint is None else joint.common,
            "revised_cells": [] if joint is None else list(joint.revised),
            "taken_as_revised": [] if joint is None else list(joint.set_apart),
            "opened_now": list(self.opened_now),
            "opened_before": list(self.opened_before),
            "open_already": list(self.open_already),
        }


def audit_together(
    problem: Problem,
    pattern: Pattern | None,
    formers: Sequence[FormerRelease],
    *,
    attackers: Sequence[Attacker] = (OUTSIDER,),
    revised: bool = False,
    deadline: Deadline | None = None,
    progress: Progress | None = None,
) -> ReleasesTogether:
    """Attack a pattern together with former releases of the same or overlapping data.

    Parameters
    ----------
    pattern
        What is to be released; None for an adjusted table.
    attackers
        Insiders among them are asked where former releases add no cells; else outsiders alone.
    revised
        Hidden values of former releases may have changed since. By default they are taken as the same.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> from cellveil.judge.published_table import PublishedTable
    >>> from cellveil.tables.named_keys import cell_keys
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> table, hidden = problem.table, problem.table.values < 51
    >>> pattern = Pattern.hiding(problem, hidden, "all but the larger totals")
    >>> before = hidden & (np.arange(table.num_cells) != table.cell("r0", "c1"))
    >>> former = PublishedTable.of(table, before, problem.lb, problem.ub)
    >>> told = audit_together(problem, pattern, [FormerRelease("May", former, tuple(cell_keys(table)))])
    >>> told.is_safe, audit(problem, pattern).is_safe
    (True, True)
    """
    deadline, names = deadline or Deadline(None), tuple(former.name for former in formers)
    fault = _told_adjusted(pattern is None, formers)
    if fault or pattern is None:
        return ReleasesTogether(names, fault)
    joint = join_releases(problem, pattern, formers, revised=revised, deadline=deadline)
    if isinstance(joint, str):
        return ReleasesTogether(names, joint)
    asked = [attacker for attacker in attackers if attacker.is_outsider or not joint.added]
    options: dict[str, Any] = {"attackers": asked or [OUTSIDER], "exact": False, "progress": progress}
    found = audit(joint.problem, joint.pattern, time_limit=deadline.left, **options)
    already = _open_already(joint, found, formers, deadline)
    if already:
        joint = joint.without_demands(already)
        found = audit(joint.problem, joint.pattern, time_limit=deadline.left, **options)
    own = found.unsafe_cells < joint.num_own
    cell_names = joint.problem.table.cell_names
    return ReleasesTogether(
        names,
        "",
        joint,
        found,
        tuple(cell_names(found.unsafe_cells[own])),
        tuple(cell_names(found.unsafe_cells[~own])),
        tuple(cell_names(already)),
    )


def _told_adjusted(is_adjusted: bool, formers: Sequence[FormerRelease]) -> str:
    """Why an adjusted table among the releases speaks against the new one; "" where there is none."""
    adjusted = [former.name for former in formers if former.published is None]
    if not is_adjusted and not adjusted:
        return ""
    what = "this release" if is_adjusted else name_some(adjusted)
    return (
        f"{what} is an adjusted table: true values beside it tell how its cells were moved, and so does "
        f"another adjustment. Withdraw {name_some([former.name for former in formers])} first"
    )


def _open_already(
    joint: JointProblem, found: Audit, formers: Sequence[FormerRelease], deadline: Deadline
) -> list[int]:
    """Cells of former releases, among those not shown protected, that their own release gives away."""
    open_now = [
        (int(cell), *joint.added[cell - joint.num_own])
        for cell in found.unsafe_cells
        if cell >= joint.num_own
    ]
    already = []
    for place, former in enumerate(formers):
        mine = {there: cell for cell, of, there in open_now if of == place}
        if not mine or former.published is None:
            continue
        wanted = np.zeros(former.published.table.num_cells, dtype=bool)
        wanted[list(mine)] = True
        alone = audit_published(replace(former.published, suppressed=wanted), time_limit=deadline.left)
        told = alone.cells[alone.is_exact & (alone.found < Found.OPEN)]
        already += [mine[cell] for cell in told.tolist()]
    return sorted(already)


def _cells(number: int) -> str:
    return counted(number, "cell")
