"""What went before a job: the pattern of a former month, and former releases of the same data.

Both are optional. The former pattern makes its cells cheaper to hide and can freeze what it published. What
former releases show is known: hiding it would not help, so such cells are published, unless they are primary.
Whether the new release is safe beside them is for the judge to say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool
from cellveil.formats.former_releases import read_former_releases
from cellveil.job.job_model import Job
from cellveil.job.previous_pattern import PreviousPattern, previous_pattern
from cellveil.judge import Audit
from cellveil.judge.former_release import FormerRelease
from cellveil.judge.joint_cells import JointCells
from cellveil.judge.over_time import audit_together
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.publishing.pattern_changes import PatternChanges


@dataclass(frozen=True, repr=False, eq=False)
class Past:
    """A job's problem in the light of what went before.

    Parameters
    ----------
    problem
        With other weights and statuses.
    previous
        The former pattern; None where the job names none.
    formers
        Former releases.
    revised
        Whether their hidden values may have changed since.
    """

    problem: Problem
    previous: PreviousPattern | None
    formers: tuple[FormerRelease, ...]
    revised: bool

    @classmethod
    def of(cls, job: Job, problem: Problem) -> Past:
        """Read what the job names."""
        formers: tuple[FormerRelease, ...] = ()
        if job.against is not None:
            with job.placing_errors("against"):
                formers = tuple(read_former_releases(job.against.releases, problem.table))
            shown = _shown_by(formers, problem) & (problem.status == Status.SAFE)
            status = np.where(shown, Status.FROZEN, problem.status).astype(np.int8)
            problem = problem.replace(status=status)
        previous = previous_pattern(job, problem)
        problem = problem if previous is None else previous.problem
        return cls(problem, previous, formers, job.against is not None and job.against.revised)

    @property
    def may_free(self) -> Bool | None:
        """Cells that are frozen only because they were published in the former month; None without any."""
        if self.previous is None or not self.previous.frozen.any():
            return None
        return self.previous.frozen

    def beside(self, audit: Audit, progress: Progress) -> Audit:
        """The audit with the verdict on its view beside the former releases."""
        if not self.formers:
            return audit
        found = audit_together(
            audit.problem,
            audit.pattern,
            self.formers,
            attackers=audit.attackers,
            revised=self.revised,
            progress=progress,
        )
        return replace(audit, together=found)

    def changes_to(self, pattern: Pattern) -> PatternChanges | None:
        """What a pattern hides otherwise than the former one."""
        return None if self.previous is None else self.previous.changes_to(pattern)


def _shown_by(formers: tuple[FormerRelease, ...], problem: Problem) -> Bool:
    """Cells whose values of today stand in a former release."""
    everything = np.ones(problem.table.num_cells, dtype=bool)
    union = JointCells(problem, Pattern.hiding(problem, everything, "everything"), formers)
    for place, former in enumerate(formers):
        if former.published is not None:
            union.add(place, former, set())
    return ~np.array(union.hidden[: problem.table.num_cells])
