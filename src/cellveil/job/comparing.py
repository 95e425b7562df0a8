"""Several methods and weights on the tables of one job: patterns side by side, each measure for each run.

Costs can be compared only where they are measured by the same weights. So every pattern is measured by all
weights that were named, whichever of them its search minimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from cellveil.arrays import Float
from cellveil.clock import Deadline
from cellveil.errors import CellveilError, InfeasibleError, InputError
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.job_model import Job
from cellveil.job.past import Past
from cellveil.job.preparing import prepare
from cellveil.problem import Problem, Status
from cellveil.progress import Phase, Progress, Relay
from cellveil.report.figures import officials_table
from cellveil.report.method_comparison import ComparedRun, Comparison
from cellveil.rules.weights import weights as weights_of
from cellveil.suppression import METHODS, Suppression
from cellveil.suppression.methods import unknown_method

GIVEN = "given"
"""Weights as the job has them."""


def compare_methods(
    job: Job, methods: Sequence[str], weights: Sequence[str] = (GIVEN,), *, progress: Progress | None = None
) -> Comparison:
    """Run every method under every kind of weights, each with the time limit of the job; write nothing.

    Parameters
    ----------
    weights
        ``given`` as the job has them; ``value``, ``one``, ``count``, ``log``; or a cost column of the tables.

    Raises
    ------
    InputError
        For an unknown method or kind of weights.
    """
    progress = progress or Progress()
    for method in methods:
        if method not in METHODS:
            raise unknown_method(method)
    progress.phase(Phase.READ)
    past = Past.of(job, prepare(job, progress).problem)
    problem = past.problem
    weighings = {kind: _weights(problem, kind) for kind in dict.fromkeys(weights)}
    runs: list[ComparedRun] = []
    for kind in weighings:
        for method in dict.fromkeys(methods):
            telling = _Named(progress, f"{method}, weights {kind}")
            try:
                runs.append(_run(job, past, method, kind, weighings, telling))
            except KeyboardInterrupt:
                return Comparison(job.title, tuple(weighings), tuple(runs), was_interrupted=True)
    return Comparison(job.title, tuple(weighings), tuple(runs))


def compare_with(job: Job, past: Past, found: Suppression, progress: Progress) -> Comparison:
    """The run of a job beside the methods that its report is to compare it with, all with the job's weights.

    Raises
    ------
    KeyboardInterrupt
        When a search was interrupted.
    """
    problem = past.problem if found.relaxation is None else found.relaxation.problem
    weighings = {GIVEN: problem.weight}
    runs = [_compared(problem, found, GIVEN, weighings, sum(found.seconds.values()))]
    for method in dict.fromkeys(job.report.compare):
        if method != found.method:
            progress.phase(Phase.COMPARE, Deadline(job.suppress.time_limit))
            runs.append(_run(job, past, method, GIVEN, weighings, _Named(progress, method)))
    return Comparison(job.title, (GIVEN,), tuple(runs))


def _run(
    job: Job,
    past: Past,
    method: str,
    kind: str,
    weighings: Mapping[str, Float],
    progress: Progress,
) -> ComparedRun:
    """One run; an interrupt during its search is raised."""
    began, problem = perf_counter(), past.problem
    try:
        found = past.suppress(
            method,
            weight=weighings[kind],
            attackers=attackers_of_job(job, problem),
            time_limit=job.suppress.time_limit,
            seed=job.suppress.seed,
            options=job.suppress.options if method == job.suppress.method else None,
            progress=progress,
        )
    except InfeasibleError:
        return ComparedRun(method, kind, why_not="infeasible")
    except CellveilError as error:
        return ComparedRun(method, kind, why_not=f"not possible: {error}")
    if found.was_interrupted:
        raise KeyboardInterrupt
    return _compared(problem, found, kind, weighings, perf_counter() - began)


class _Named(Relay):
    """Says which run it is in place of the stage."""

    def __init__(self, progress: Progress, name: str) -> None:
        super().__init__(progress)
        self._name = name

    def stage(self, name: str) -> None:
        """See `Progress`."""
        super().stage(f"{self._name}: {name}")


def _weights(problem: Problem, kind: str) -> Float:
    if kind == GIVEN:
        return problem.weight
    try:
        return weights_of(problem.table, kind)
    except InputError as error:
        raise InputError(error.what, remedy=f"{error.remedy} Or {GIVEN}: as in the job.") from None


def _compared(
    problem: Problem, found: Suppression, kind: str, weighings: Mapping[str, Float], took: float
) -> ComparedRun:
    hidden = found.pattern.hidden
    secondary = hidden & (problem.status != Status.PRIMARY)
    classes = {line.name: line for line in officials_table(problem, found.pattern)}
    shown, published = classes["secondary"].value is not None, classes["published"].percent_value
    return ComparedRun(
        found.method,
        kind,
        found.is_safe,
        str(found.outcome),
        int(hidden.sum()),
        100 * float(hidden.mean()) if len(hidden) else 0.0,
        None if published is None else 100 - published,
        {
            name: float(weight[secondary].sum()) if shown or (weight == 1).all() else None
            for name, weight in weighings.items()
        },
        None if found.gap is None else 100 * found.gap,
        took,
    )
