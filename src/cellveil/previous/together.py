"""A pattern beside everything else that readers know: searched for, and audited, on the joint problem.

Ensures that `JointAudit.findings` is empty only where every protection level of the new table, and of cells
that earlier releases suppress, was shown to hold against the attackers tested, who see everything at once.
There are two exceptions, and the verdict states both. What earlier releases give away by themselves no
pattern can take back: the office may accept such cells with a reason. Of linked tables without earlier
releases, each of them safe by itself, cells that nothing refuted before time ran out are "not tested".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attack.bound_propagation import unpick
from cellveil.attackers.attacker import Attacker, in_words
from cellveil.attackers.default_attackers import AttackersTested
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InfeasibleError, counted, name_some
from cellveil.judge.auditing import OUTSIDER, Audit, audit
from cellveil.judge.outsider import audit_outsider
from cellveil.judge.verdict import NAMED
from cellveil.pattern import Pattern
from cellveil.previous.joint import JointProblem
from cellveil.problem import LEVELS, Problem, Status
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.suppression import Suppression, suppress
from cellveil.suppression.infeasible.relaxing import FIELDS, Lowered, Relaxation
from cellveil.tables.cells import cell_numbers
from cellveil.tables.scaled import UNBOUNDED

MORE_TIME = 0.5
"""Share of the time limit for the joint audit of linked tables, and for a second search where it fails."""

LEFT_OPEN = 0.5
"""Share of what earlier releases leave open of a cell that the new table must leave open too.

All of it would mean to publish nothing that is connected with the cell."""

MOST_WITH_CONTRIBUTORS = 3_000
"""Cells of linked tables, unpublished ones included, up to which contributors are tested on all of them."""


@dataclass(frozen=True, repr=False, eq=False)
class JointAudit:
    """The verdict on a view beside earlier releases, and together with all tables of the same records.

    Parameters
    ----------
    audit
        The audit of the joint problem.
    known
        Cells that earlier releases give away whatever is suppressed, of the new table or of themselves:
        readers know them to within less than their protection level.
    accepted
        Why the office releases all the same; "" where it does not.
    untested
        Attackers who are tested on the table alone.
    unsettled
        Cells of tables without earlier releases that there was no time to test together with the
        cross-classification: not shown protected there, and not refuted. The verdict names their number.
    """

    joint: JointProblem
    audit: Audit
    known: tuple[int, ...] = ()
    accepted: str = ""
    untested: tuple[Attacker, ...] = ()
    unsettled: int = 0

    def __repr__(self) -> str:
        return f"JointAudit({'safe' if self.is_safe else 'NOT SAFE'}, {self.joint!r})"

    @property
    def known_already(self) -> list[str]:
        """Names of cells of the new table that earlier releases give away."""
        own = [cell for cell in self.known if cell < self.joint.num_own]
        return self.joint.problem.table.cell_names(own)

    @property
    def known_former(self) -> list[str]:
        """Names of cells that earlier releases suppress, and give away among themselves."""
        former = [cell for cell in self.known if cell >= self.joint.num_own]
        return self.joint.problem.table.cell_names(former)

    @property
    def _where(self) -> str:
        """What the pattern was audited together with, in words."""
        names = self.joint.releases
        return f"together with {name_some(names)}" if names else "as all tables add up the same records"

    @property
    def findings(self) -> tuple[str, ...]:
        """What speaks against the view, in words."""
        unsafe, names = self.audit.unsafe_cells, self.joint.problem.table.cell_names
        found: list[str] = []
        if self.unsettled:
            return ()
        for cells, whose in (
            (unsafe[unsafe < self.joint.num_own], "of this release"),
            (unsafe[unsafe >= self.joint.num_own], "of earlier ones"),
        ):
            if len(cells):
                number = counted(len(cells), "cell", "cells")
                found.append(
                    f"{self._where}, {number} {whose} not shown protected: {name_some(names(cells), NAMED)}"
                )
        if self.known and not self.accepted:
            number = counted(len(self.known), "cell follows", "cells follow")
            found.append(
                f"{number} from {name_some(self.joint.releases)} alone, whatever is suppressed: "
                f"{name_some([*self.known_already, *self.known_former], NAMED)}. To release all the same, "
                'say why: against.accept_known = "…"'
            )
        if not found and not self.audit.is_safe:
            return tuple(f"{self._where}: {finding}" for finding in self.audit.findings)
        return tuple(found)

    @property
    def is_safe(self) -> bool:
        """Whether nothing speaks against the view."""
        return not self.findings

    @property
    def beside(self) -> str:
        """The earlier releases, as they follow the attackers of a verdict; "" where there are none."""
        if not self.joint.releases:
            return ""
        growth = self.joint.facts[0].growth
        estimates = "" if growth is None else f" as estimates within {growth:g} %"
        return f", also beside {name_some(self.joint.releases)}{estimates}"

    @property
    def against(self) -> str:
        """Against whom the verdict holds, in words."""
        return self.audit.against

    @property
    def not_tested(self) -> str:
        """What the joint audit could not test, in words; "" where there is nothing."""
        missing = [f"the cross-classification {words}" for words in self.joint.not_tested]
        if self.unsettled:
            cells = counted(len(self.audit.cells), "primary cell")
            missing.append(
                f"{self.unsettled:,} of {cells} {self._where}, for lack of time: outsiders were tested on "
                "the tables alone"
            )
        if self.untested:
            missing.append(f"{in_words(self.untested)} {self._where}")
        if self.joint.why_no_contributors:
            missing.append(f"contributors {self._where}, as {self.joint.why_no_contributors}")
        return "; ".join(missing)

    def lines(self) -> list[str]:
        """What was compared, assumed and found, for people."""
        lines = [f"Audited together with {name_some(self.joint.releases)}."] if self.joint.releases else []
        lines += [f"{fact.line()}." for fact in self.joint.facts]
        others = self.joint.problem.table.num_cells - self.joint.num_own - self.joint.num_former
        if others:
            lines.append(
                f"All tables add up the same records: {counted(others, 'unpublished cell')} of their "
                "cross-classification audited with them."
            )
        for names, what in (
            (self.known_already, "known from earlier releases alone"),
            (self.known_former, "of earlier releases known from these alone"),
        ):
            if names:
                lines.append(f"{counted(len(names), 'cell')} {what}: {name_some(names, NAMED)}.")
        if self.accepted and self.known:
            lines.append(f"Accepted by the office: {self.accepted}")
        if self.not_tested:
            lines.append(f"Not tested: {self.not_tested}.")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON: names and counts only."""
        return {
            "releases": [fact.to_dict() for fact in self.joint.facts],
            "safe": self.is_safe,
            "findings": list(self.findings),
            "against": self.against,
            "not_tested": self.not_tested,
            "further_cells": self.joint.problem.table.num_cells - self.joint.num_own,
            "known_already": list(self.known_already),
            "accepted": self.accepted,
            "known_from_earlier_releases": list(self.known_former),
        }


def audit_jointly(
    joint: JointProblem,
    hidden: Bool,
    attackers: AttackersTested,
    *,
    accepted: str = "",
    known: tuple[int, ...] = (),
    deadline: Deadline = NO_LIMIT,
    progress: Progress | None = None,
) -> JointAudit:
    """Audit what a new table hides on the joint problem.

    Parameters
    ----------
    accepted
        Why the office releases although earlier releases give cells away.
    known
        Such cells, of which the joint problem asks nothing any more.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> from cellveil.previous.joint import JointProblem
    >>> JointProblem.of(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})) is None  # one table, no release
    True
    """
    if not joint.releases and joint.problem.table.num_cells > MOST_WITH_CONTRIBUTORS:
        attackers = replace(attackers, if_time=attackers.attackers)
    tested = _attackers(joint, attackers)
    options: dict[str, Any] = {"attackers": tested, "exact": False, "progress": progress}
    found = audit(joint.problem, joint.pattern(hidden), time_limit=deadline.left, **options)
    if found.is_safe or not joint.releases:
        unsettled = _num_undecided(found) if deadline.is_over else 0
        return JointAudit(joint, found, known, accepted, attackers.if_time, unsettled)
    joint, more = without_known(joint, found.unsafe_cells, progress)
    if more:
        found = audit(joint.problem, joint.pattern(hidden), time_limit=deadline.left, **options)
    return JointAudit(joint, found, (*known, *more), accepted, attackers.if_time)


def _num_undecided(found: Audit) -> int:
    """How many cells the outsider's attack left undecided; 0 where anything else speaks against the view."""
    report = found.outsider
    others_safe = all(v.is_safe for v in found.verdicts if not v.attacker.is_plain_outsider)
    if report is None or not others_safe or len(np.setdiff1d(found.unsafe_cells, report.undecided)):
        return 0
    return len(report.undecided)


def suppress_jointly(
    joint: JointProblem,
    problem: Problem,
    method: str,
    *,
    attackers: AttackersTested,
    may_free: Bool | None = None,
    accepted: str = "",
    progress: Progress | None = None,
    **options: Any,
) -> tuple[Suppression, JointAudit]:
    """Search a pattern of a problem that is safe on the joint one, and audit it there.

    Without earlier releases the table is protected by itself first: that nearly always holds together with
    the cross-classification as well, and otherwise a second search takes both in.

    Parameters
    ----------
    options
        Further ones of `suppress`.
    """
    asked: dict[str, Any] = {"attackers": attackers, "progress": progress, **options}
    time_limit = asked.pop("time_limit", None)
    if not joint.releases:
        found = suppress(problem, method, time_limit=time_limit, may_free=may_free, **asked)
        share = Deadline(None if time_limit is None else MORE_TIME * time_limit)
        judged = audit_jointly(
            relaxed_jointly(joint, found.relaxation),
            found.pattern.hidden,
            attackers,
            deadline=share,
            progress=progress,
        )
        if judged.is_safe or found.was_interrupted or not len(judged.audit.unsafe_cells):
            return found, judged
        time_limit = None if time_limit is None else MORE_TIME * time_limit
    known: tuple[int, ...] = ()
    if joint.releases:
        joint, known = without_known(joint, None, progress)
    free = None
    if may_free is not None:
        free = np.zeros(joint.problem.table.num_cells, dtype=bool)
        free[: joint.num_own] = may_free
    tested = [attacker for attacker in _attackers(joint, attackers) if not attacker.is_plain_outsider]
    asked["attackers"] = AttackersTested(tuple(tested), attackers.why_no_insiders)
    while True:
        broken: Int
        failure: InfeasibleError | None = None
        try:
            found = suppress(joint.problem, method, time_limit=time_limit, may_free=free, **asked)
            lowered = () if found.relaxation is None else found.relaxation.lowered
            broken = np.unique(np.array([one.cell for one in lowered], dtype=np.int64))
        except InfeasibleError as error:
            failure, names = error, joint.problem.table.cell_names(joint.problem.primaries)
            broken = joint.problem.primaries[np.isin(names, error.cells)]
        joint, more = without_known(joint, broken, progress)
        known = (*known, *more)
        if failure is not None and not more:
            raise failure
        if not more:
            break
    former = broken[broken >= joint.num_own]
    if len(former):  # levels of cells that earlier releases suppress are not the office's to lower now
        relaxed = _own_relaxation(found.relaxation, joint.num_own, joint.own)
        judged = audit_jointly(
            relaxed_jointly(joint, relaxed),
            found.pattern.hidden[: joint.num_own],
            attackers,
            accepted=accepted,
            known=known,
            progress=progress,
        )
    else:
        if found.relaxation is not None:
            joint = replace(joint, problem=found.relaxation.problem)
        judged = JointAudit(joint, found.audit, known, accepted, attackers.if_time)
    return _own(found, joint, attackers, progress), judged


def _own(
    found: Suppression,
    joint: JointProblem,
    attackers: AttackersTested,
    progress: Progress | None,
) -> Suppression:
    """What was found for the joint problem, of the table alone; audited without what is known already."""
    num_own = joint.num_own
    relaxation = _own_relaxation(found.relaxation, num_own, joint.own)
    problem = joint.own if relaxation is None else relaxation.problem
    pattern = Pattern.hiding(problem, found.pattern.hidden[:num_own], found.method)
    named = [one for one in attackers.attackers if one not in attackers.if_time]
    everybody = [OUTSIDER, *(one for one in named if not one.is_plain_outsider)]
    outsiders = found.outsiders_pattern
    return replace(
        found,
        pattern=pattern,
        audit=audit(problem, pattern, attackers=everybody, exact=False, progress=progress),
        relaxation=relaxation,
        outsiders_pattern=outsiders and Pattern.hiding(problem, outsiders.hidden[:num_own], outsiders.method),
        unprotectable={cell: share for cell, share in found.unprotectable.items() if cell < num_own},
    )


def _own_relaxation(relaxation: Relaxation | None, num_own: int, problem: Problem) -> Relaxation | None:
    """What of a relaxation is about the new table."""
    if relaxation is None:
        return None
    freed = tuple(cell for cell in relaxation.freed if cell < num_own)
    lowered = tuple(one for one in relaxation.lowered if one.cell < num_own)
    problem = _relaxed(problem, freed, lowered, relaxation.problem)
    names = tuple(problem.table.cell_names(freed))
    return replace(relaxation, problem=problem, freed=freed, freed_names=names, lowered=lowered)


def relaxed_jointly(joint: JointProblem, relaxation: Relaxation | None) -> JointProblem:
    """The joint problem with requirements relaxed as those of the new table are."""
    if relaxation is None:
        return joint
    changed = _relaxed(joint.problem, relaxation.freed, relaxation.lowered, relaxation.problem)
    return replace(joint, problem=changed, own=relaxation.problem)


def _relaxed(problem: Problem, freed: Sequence[int], lowered: Sequence[Lowered], like: Problem) -> Problem:
    """A problem with these cells freed, and levels lowered as in another one with the same first cells."""
    status = problem.status.copy()
    status[list(freed)] = Status.SAFE
    levels = {name: getattr(problem, name).copy() for name in FIELDS.values()}
    more = problem.table.decimals - like.table.decimals
    for one in lowered:
        amount = int(getattr(like, FIELDS[one.side])[one.cell])
        levels[FIELDS[one.side]][one.cell] = amount * 10**more if more >= 0 else amount // 10**-more
    unchanged = np.ones(problem.table.num_cells, dtype=bool)
    unchanged[[one.cell for one in lowered]] = False
    origins = {origin: cells & unchanged for origin, cells in problem.origins.items()}
    return problem.replace(status=status, origins=origins, **levels)


def _attackers(joint: JointProblem, attackers: AttackersTested) -> list[Attacker]:
    """The attackers who can be tested on the joint problem, outsiders first; exempt cells by number."""
    own = joint.problem.table
    found = [OUTSIDER]
    for attacker in attackers.attackers:
        untold = bool(joint.why_no_contributors) and not attacker.is_outsider
        if attacker.is_plain_outsider or untold or attacker in attackers.if_time:
            continue
        if attacker.exempt:
            attacker = replace(attacker, exempt=tuple(map(int, cell_numbers(own, attacker.exempt))))
        found.append(attacker)
    return found


def _plainly_open(problem: Problem, pattern: Pattern) -> Int:
    """Primary cells whose levels bound propagation along single relations refutes."""
    found, primary = unpick(PublicView.of(problem, pattern)), problem.primaries
    values = problem.table.values[primary]
    low, high = found.lower[primary], found.upper[primary]
    is_narrow = (low > values - problem.lpl[primary]) | (high < values + problem.upl[primary])
    wide = (high == UNBOUNDED) | (low == -UNBOUNDED) | (problem.spl[primary] == 0)
    is_narrow |= ~wide & (high - np.where(wide, high, low) < problem.spl[primary])
    return np.asarray(primary[is_narrow])


def with_requirements_of(problem: Problem, cells: Bool, **levels: Int) -> Problem:
    """The problem with the requirements of these cells only, and how their levels were worked out.

    Parameters
    ----------
    levels
        Other levels, by name.
    """
    changed = np.zeros(len(cells), dtype=bool)
    for name, amounts in levels.items():
        changed |= amounts != getattr(problem, name)
    if cells[problem.primaries].all() and not changed.any():
        return problem
    origins = {origin: marked & cells & ~changed for origin, marked in problem.origins.items()}
    return problem.only(cells, **levels).replace(origins=origins)


def _may_be_hidden(problem: Problem) -> Bool:
    """All cells but empty ones: also those that must be published, which a relaxed problem may free."""
    return np.asarray((problem.status != Status.FROZEN) | (problem.table.values != 0))


def without_known(
    joint: JointProblem, cells: Int | None, progress: Progress | None
) -> tuple[JointProblem, tuple[int, ...]]:
    """The problem without levels that earlier releases alone break, and the cells that have such levels.

    What is refuted where nothing of the new table is known, not even which cells are empty, follows from the
    earlier releases. Of what these leave open, the new table must leave a share open too. What the solver
    cannot decide is not called known.

    Parameters
    ----------
    cells
        The cells to look at, by linear programs; None for all, where bound propagation refutes them while
        everything is suppressed.
    """
    problem, own = joint.problem, joint.num_own
    if cells is None:
        cells = _plainly_open(problem, joint.pattern(_may_be_hidden(joint.own)))
    before = joint.before() if len(cells) else None
    if before is None:
        return joint, ()
    levels = {name: getattr(problem, name).copy() for name in LEVELS}
    levels_before = {name: np.zeros(before.table.num_cells, dtype=np.int64) for name in LEVELS}
    for name, amounts in levels_before.items():
        amounts[cells] = levels[name][cells]
    narrowed = before.only(np.isin(np.arange(before.table.num_cells), cells), **levels_before)
    everything = Pattern.hiding(narrowed, _may_be_hidden(narrowed), "everything")
    report = audit_outsider(narrowed, everything, exact=True, progress=progress)
    known = np.setdiff1d(report.unsafe_cells, report.undecided)
    if not len(known):
        return joint, ()
    place = np.searchsorted(report.cells, known)
    values = before.table.values[known]
    left = {"upl": report.upper[place] - values, "lpl": values - report.lower[place]}
    left["spl"] = left["upl"] + left["lpl"]
    for name, reach in left.items():
        level = levels[name]
        short = reach < level[known]
        level[known[short]] = np.maximum(np.floor(LEFT_OPEN * reach[short]), 0).astype(np.int64)
    more = 10 ** (problem.table.decimals - joint.own.table.decimals)
    own_levels = {name: level[:own] // more for name, level in levels.items()}
    everywhere = np.ones(problem.table.num_cells, dtype=bool)
    lowered = with_requirements_of(problem, everywhere, **levels)
    joint = replace(
        joint, problem=lowered, own=with_requirements_of(joint.own, everywhere[:own], **own_levels)
    )
    return joint, tuple(known.tolist())
