"""The last run of a job as its internal folder keeps it: instance, pattern and certificate, read again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cellveil.arrays import Int
from cellveil.attackers.attacker import Attacker
from cellveil.certificate import Certificate, read_certificate
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError
from cellveil.explaining import CellExplanation, explain_cell
from cellveil.explaining.typed_cell import typed_cell
from cellveil.formats.adjusted_file import read_adjusted
from cellveil.formats.instance import read_instance
from cellveil.formats.pattern_file import read_pattern
from cellveil.job.build_tables import Labels, read_labels
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.job_files import internal_files
from cellveil.job.job_model import Job
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.rules import Rule, rule_from_dict


@dataclass(frozen=True, repr=False, eq=False)
class LastRun:
    """What a run left behind, as far as explanations need it.

    Parameters
    ----------
    attackers
        Whom the job keeps off besides outsiders.
    certificate
        None where the run was not safe.
    adjusted
        The values of the adjusted table, where that is what is published.
    """

    problem: Problem
    pattern: Pattern
    attackers: tuple[Attacker, ...]
    certificate: Certificate | None
    rule: Rule | None
    labels: Labels
    adjusted: Int | None

    @classmethod
    def of(cls, job: Job, job_file: Path) -> LastRun:
        """Read the internal folder of the job.

        Raises
        ------
        InputError
            Where there was no run yet, or the last one found no pattern.
        """
        files = internal_files(job)
        if not files["instance"].exists():
            raise InputError(
                "there is no run of this job yet",
                file=files["instance"].parent,
                remedy=f"Run it first: cellveil run {job_file}",
            )
        if not files["pattern"].exists():
            raise InputError(
                "the last run found no pattern: some cells cannot be protected",
                file=files["figures"],
                remedy=f"Open {files['report'].name} for what stands in the way, change the job, and run it.",
            )
        problem = _named(job, read_instance(files["instance"]))
        certificate = read_certificate(files["certificate"]) if files["certificate"].exists() else None
        is_adjusted = job.adjust is not None and job.adjust.publish and files["adjusted"].exists()
        return cls(
            problem,
            read_pattern(files["pattern"], problem),
            attackers_of_job(job, problem).attackers,
            certificate,
            rule_from_dict(job.rules) if job.rules else None,
            read_labels(job.labels, problem.table, {}),
            read_adjusted(files["adjusted"], problem) if is_adjusted else None,
        )

    def explain(self, cell: str, deadline: Deadline = NO_LIMIT) -> CellExplanation:
        """The explanation of a cell as a person types it."""
        return explain_cell(
            self.problem,
            self.pattern,
            typed_cell(self.problem.table, cell, self.labels),
            attackers=self.attackers,
            certificate=self.certificate,
            rule=self.rule,
            labels=self.labels,
            adjusted=self.adjusted,
            time_limit=deadline.left,
        )


def _named(job: Job, problem: Problem) -> Problem:
    """The problem with the name of its variable, which an instance does not keep, where there is one."""
    names = {table.response for table in job.tables if table.response}
    return problem if len(names) != 1 else problem.replace(table=problem.table.replace(variable=names.pop()))
