"""What went before a job, and all else that readers know: a former pattern, earlier releases, other tables.

The former pattern makes its cells cheaper to suppress and can freeze what it published. Earlier releases, and
the tables of a job that count the same records, are searched and audited as one joint problem
(`cellveil.previous`), for which the records say what each figure counts today.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Float
from cellveil.attackers.default_attackers import AttackersTested
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError
from cellveil.files import sha256
from cellveil.job.build_tables import tabulated
from cellveil.job.data_sections import TableJob
from cellveil.job.job_model import Job
from cellveil.job.preparing import depth_kept
from cellveil.job.previous_pattern import PreviousPattern, previous_pattern
from cellveil.judge import Audit
from cellveil.judge.verdict import Outcome
from cellveil.microdata.codes import distinct_codes
from cellveil.pattern import Pattern
from cellveil.previous.basis import ALL, Basis
from cellveil.previous.joint import JointProblem
from cellveil.previous.releases import Mapped, check_unchanged, read_releases
from cellveil.previous.together import (
    JointAudit,
    audit_jointly,
    relaxed_jointly,
    suppress_jointly,
    without_known,
)
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.publishing.pattern_changes import PatternChanges
from cellveil.rules import rule_from_dict
from cellveil.rules.apply import find_primaries
from cellveil.suppression import Suppression, suppress
from cellveil.suppression.infeasible.relaxing import Relaxation
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import COUNT, Table


@dataclass(frozen=True, repr=False, eq=False)
class Past:
    """A job's problem in the light of what went before, and of what all its tables have in common.

    Parameters
    ----------
    problem
        With other weights and statuses.
    previous
        The former pattern; None where the job names none.
    joint
        The problem together with earlier releases and the cross-classification of the tables; None where
        nothing is known beyond the table.
    accepted
        Why the office releases although earlier releases give cells away; "" where it does not.
    known
        Such cells, where nothing is asked of them any more.
    """

    problem: Problem
    previous: PreviousPattern | None
    joint: JointProblem | None
    accepted: str = ""
    known: tuple[int, ...] = ()

    @classmethod
    def of(cls, job: Job, problem: Problem, records: Any = None) -> Past:
        """Read what the job names.

        Parameters
        ----------
        records
            In place of the files of [microdata].
        """
        previous = previous_pattern(job, problem)
        problem = problem if previous is None else previous.problem
        asked, basis = job.against, _basis(job, records)
        if asked is None:
            return cls(problem, previous, JointProblem.of(problem, (), basis))
        if job.adjust is not None and job.adjust.publish:
            with job.placing_errors("against"):
                raise InputError(
                    "an adjusted table is to be published beside earlier releases: their values tell how its "
                    "cells were moved",
                    remedy="Withdraw the earlier releases and leave out against, or publish the pattern.",
                )
        mapped = Mapped(asked.dimensions, asked.codes, asked.growth)
        with job.placing_errors("against"):
            joint = JointProblem.of(problem, read_releases(asked.releases), basis, mapped)
        return cls(problem, previous, joint, asked.accept_known)

    @property
    def may_free(self) -> Bool | None:
        """Cells that are frozen only because they were published in the former month; None without any."""
        if self.previous is None or not self.previous.frozen.any():
            return None
        return self.previous.frozen

    def suppress(
        self, method: str, *, attackers: AttackersTested, weight: Float | None = None, **options: Any
    ) -> Suppression:
        """Search a pattern that is safe together with all else that readers know.

        Parameters
        ----------
        weight
            Other weights than those of the problem.
        options
            Further ones of `suppress`.
        """
        problem = self.problem if weight is None else self.problem.replace(weight=weight)
        if self.joint is None:
            return suppress(problem, method, attackers=attackers, **options)
        joint = self.joint
        if weight is not None:
            everything = joint.problem.weight.copy()
            everything[: joint.num_own] = weight
            joint = replace(joint, own=problem, problem=joint.problem.replace(weight=everything))
        found, judged = suppress_jointly(
            joint, problem, method, attackers=attackers, accepted=self.accepted, **options
        )
        outcome = found.outcome if judged.is_safe else Outcome.NOT_SAFE
        return replace(found, outcome=outcome, audit=replace(found.audit, together=judged))

    def without_known(self, claimed: Audit, progress: Progress) -> Past:
        """The same without requirements of cells that are claimed to be known already, as far as they are."""
        together = claimed.together
        if self.joint is None or not isinstance(together, JointAudit):
            return self
        joint, known = without_known(self.joint, np.array(together.known, dtype=np.int64), progress)
        return replace(self, problem=joint.own, joint=joint, known=known)

    def beside(
        self,
        audit: Audit,
        claimed: Audit,
        relaxation: Relaxation | None,
        tested: AttackersTested,
        *,
        deadline: Deadline,
        progress: Progress,
    ) -> Audit:
        """The audit with the verdict on its view together with all else that readers know.

        Parameters
        ----------
        claimed
            The audit by whoever searched: what it refutes stays so where there is no time to settle it here.
        deadline
            For linked tables; beside earlier releases every level is settled.
        """
        if self.joint is None or audit.pattern is None:  # an adjusted table is audited by itself
            return audit
        found = audit_jointly(
            relaxed_jointly(self.joint, relaxation),
            audit.pattern.hidden,
            tested,
            accepted=self.accepted,
            known=self.known,
            deadline=NO_LIMIT if self.joint.releases else deadline,
            progress=progress,
        )
        if found.unsettled and claimed.together is not None and claimed.together.findings:
            return replace(audit, together=claimed.together)
        return replace(audit, together=found)

    def check_unchanged(self, job: Job) -> None:
        """Raise where an earlier release was replaced since it was read."""
        if job.against is not None and self.joint is not None:
            check_unchanged(job.against.releases, [fact.digest for fact in self.joint.facts])

    def changes_to(self, pattern: Pattern) -> PatternChanges | None:
        """What a pattern hides otherwise than the former one."""
        return None if self.previous is None else self.previous.changes_to(pattern)


def basis_facts(job: Job, joint: JointProblem | None) -> dict[str, Any]:
    """What later releases must know of the records of a job, and what was not tested."""
    micro = job.microdata
    rounding = {
        table.response or COUNT: f"1e-{table.decimals}"
        for table in job.tables
        if table.file is None and table.rounding and table.decimals is not None
    }
    found = {"not_tested": [] if joint is None else list(joint.not_tested), "rounding": rounding}
    if micro is None or any(table.file is not None for table in job.tables):
        return found
    return found | {"weight": micro.weight or "", "population": _population(job)}


def _population(job: Job) -> str:
    """Which records were counted: a digest of the query that chose them, or all."""
    query = None if job.microdata is None else job.microdata.query
    return sha256(query.encode())[:16] if query else ALL


def _basis(job: Job, records: Any) -> Basis | None:
    """What the records of a job say of any cell; None where it has finished tables."""
    micro = job.microdata
    if micro is None or any(table.file is not None for table in job.tables):
        return None
    source = micro.source if records is None else records
    rule = rule_from_dict(job.rules) if job.rules else None

    def tabulate(variable: str, dimensions: Sequence[Dimension]) -> Table | None:
        asked = next((table for table in job.tables if (table.response or COUNT) == variable), None)
        if asked is None:  # a variable of earlier releases, which equations tie to those of the job
            if finest(variable) is None:
                return None
            asked = TableJob(dimensions=list(job.tables[0].dimensions), response=variable)
        return tabulated(job, asked, source, dimensions, depth_kept(job), Progress(), all_cells=False)

    def finest(column: str) -> Sequence[str] | None:
        try:
            found = distinct_codes(
                source, [column], options=micro.source_options(), choice=micro.engine_choice()
            )
        except InputError:
            return None
        return [code for (code,) in found]

    def levels(table: Table) -> Problem:
        return find_primaries(
            table,
            rule,
            weight="one",
            lower_factor=job.levels.lower_factor,
            upper_factor=job.levels.upper_factor,
            spl=job.levels.sliding,
            safety_range=job.levels.safety_range,
        ).problem

    weight = micro.weight or ""
    return Basis(tabulate, finest, levels if rule else None, _population(job), weight, has_records=True)
