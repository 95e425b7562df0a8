"""What a job comes to before anything is written: a judged pattern, and an adjusted table if asked for.

This is the part of a run that takes time, and the part that other machines can do: it reads and writes no
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from cellveil.clock import Deadline
from cellveil.errors import AdjustmentError
from cellveil.job.job_model import Job
from cellveil.job.ready_job import ReadyJob
from cellveil.job.searched import JudgedPattern, search
from cellveil.job.sections import AdjustJob
from cellveil.judge import Audit
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.report.adjustment_figures import adjusted_figures, infeasible_adjustment
from cellveil.suppression import Suppression

if TYPE_CHECKING:
    from cellveil.adjustment import Adjustment, Limits


@dataclass(frozen=True, repr=False, eq=False)
class Finding:
    """What was found for a job.

    Parameters
    ----------
    judged
        The pattern and its verdict.
    adjusted, adjustment
        The adjusted table, and its figures beside those of the pattern; None where the job asks for none.
    instead
        The audit of what is to be released in place of the pattern, or why there is none.
    took
        Seconds of all of it.
    """

    judged: JudgedPattern
    adjusted: Adjustment | None
    adjustment: Mapping[str, Any] | None
    instead: Audit | str | None
    took: float


def find(
    ready: ReadyJob, progress: Progress, *, keep_best: bool = False, workers: int | None = None
) -> Finding:
    """Search a pattern for a job, have it judged, and adjust the table where the job asks for it.

    Raises
    ------
    InfeasibleError
        When some cells cannot be protected.
    KeyboardInterrupt
        When the search was interrupted, unless the best pattern so far is to be kept.
    """
    began, job = perf_counter(), ready.job
    judged = search(job, ready.prepared, ready.past, progress, keep_best=keep_best, workers=workers)
    # an adjusted table has no part in what a pattern makes it necessary to relax
    adjusted, adjustment = _adjusted(job, ready.prepared.problem, judged.suppression, progress)
    instead = instead_of_pattern(ready, adjusted)
    return Finding(judged, adjusted, adjustment, instead, perf_counter() - began)


def instead_of_pattern(ready: ReadyJob, adjusted: Adjustment | None) -> Audit | str | None:
    """The audit of an adjusted table that is to be released, or why there is none; None where none is."""
    if ready.job.adjust is None or not ready.job.adjust.publish:
        return None
    return "no adjusted table was found" if adjusted is None else adjusted.audit


def _adjusted(
    job: Job, problem: Problem, suppression: Suppression, progress: Progress
) -> tuple[Adjustment | None, dict[str, Any] | None]:
    """Where the job asks for it: the adjusted table, and its figures beside those of the pattern."""
    asked = job.adjust
    if asked is None:
        return None, None
    from cellveil.adjustment import adjust

    options: dict[str, Any] = {"time_limit": asked.time_limit, "seed": asked.seed, "progress": progress}
    options["options"] = asked.options
    progress.phase(Phase.ADJUST, Deadline(asked.time_limit))
    try:
        found = adjust(problem, objective=asked.objective, limits=limits_asked(asked), **options)
    except AdjustmentError as error:
        return None, infeasible_adjustment(problem, "auto", asked.objective, error)
    if found.was_interrupted:
        raise KeyboardInterrupt
    return found, adjusted_figures(problem, found, suppression)


def limits_asked(asked: AdjustJob) -> Limits:
    """How far the values of an adjusted table may move."""
    from cellveil.adjustment import Limits

    return Limits(
        asked.limit,
        asked.limit if asked.limit_marginals is None else asked.limit_marginals,
        asked.limit if asked.limit_total is None else asked.limit_total,
    )
