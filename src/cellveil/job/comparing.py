"""Several methods and weights on the tables of one job: patterns side by side, each measure for each run.

Costs can be compared only where they are measured by the same weights. So every pattern is measured by all
weights that were named, whichever of them its search minimised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

from cellveil.arrays import Float
from cellveil.errors import CellveilError, InfeasibleError, InputError
from cellveil.job.attackers_asked import attackers_asked
from cellveil.job.job_model import Job
from cellveil.job.past import Past
from cellveil.job.preparing import prepare
from cellveil.problem import Problem, Status
from cellveil.progress import Phase, Progress, Relay
from cellveil.report.figures import officials_table
from cellveil.rules.weights import weights as weights_of
from cellveil.suppression import METHODS, Suppression, suppress
from cellveil.suppression.methods import unknown_method

GIVEN = "given"
"""Weights as the job has them."""


@dataclass(frozen=True)
class ComparedRun:
    """One method under one kind of weights.

    Parameters
    ----------
    safe
        Whether the audit shows everybody kept off; None where there is no pattern.
    hidden, percent_hidden, percent_value
        Hidden cells, and their shares of cells and values; None where it would tell too much of one cell.
    costs
        By weights, what the secondary cells cost; None where it would tell too much of one cell.
    gap
        In per cent, for the weights that the search minimised; None without a bound.
    why_not
        Why there is no pattern, in words.
    """

    method: str
    weights: str
    safe: bool | None = None
    outcome: str = ""
    hidden: int = 0
    percent_hidden: float = 0.0
    percent_value: float | None = None
    costs: Mapping[str, float | None] = field(default_factory=dict)
    gap: float | None = None
    seconds: float = 0.0
    why_not: str = ""


@dataclass(frozen=True)
class Comparison:
    """Runs side by side."""

    title: str
    weights: tuple[str, ...]
    runs: tuple[ComparedRun, ...]
    was_interrupted: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether there is a pattern, and every one is shown safe."""
        safe = [run.safe for run in self.runs if run.safe is not None]
        return bool(safe) and all(safe)

    def to_dict(self) -> dict[str, Any]:
        """The same as data for JSON."""
        return asdict(self)

    def head(self) -> list[str]:
        """The names of the columns of `rows`."""
        costs = [f"cost ({kind})" for kind in self.weights]
        return ["method", "weights", "hidden", "% cells", "% value", *costs, "gap %", "seconds", "audit"]

    def rows(self) -> list[list[str]]:
        """A line of text for each run; the cheapest by each weights is marked by a star."""
        return [self._row(run) for run in self.runs]

    def _row(self, run: ComparedRun) -> list[str]:
        if run.safe is None:
            return [run.method, run.weights, *[""] * (5 + len(self.weights)), run.why_not]
        costs = [self._cost(run, kind) for kind in self.weights]
        shares = [f"{run.percent_hidden:.1f}", _number(run.percent_value, ".1f"), *costs]
        gap = "?" if run.gap is None else f"{run.gap:.1f}"
        verdict = "safe" if run.safe else "NOT SAFE"
        return [run.method, run.weights, f"{run.hidden:,}", *shares, gap, f"{run.seconds:.1f}", verdict]

    def _cost(self, run: ComparedRun, kind: str) -> str:
        known = [each.costs[kind] for each in self.runs if each.safe and each.costs[kind] is not None]
        cost = run.costs[kind]
        is_best = bool(run.safe and len(known) > 1 and cost == min(known, key=lambda one: one or 0.0))
        return _number(cost, ",.0f" if (cost or 0) >= 100 else ".4g") + ("*" if is_best else "")


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


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
    problem = Past.of(job, prepare(job, progress).problem).problem
    weighings = {kind: _weights(problem, kind) for kind in dict.fromkeys(weights)}
    runs: list[ComparedRun] = []
    for kind in weighings:
        for method in dict.fromkeys(methods):
            telling = _Named(progress, f"{method}, weights {kind}")
            try:
                runs.append(_run(job, problem, method, kind, weighings, telling))
            except KeyboardInterrupt:
                return Comparison(job.title, tuple(weighings), tuple(runs), was_interrupted=True)
    return Comparison(job.title, tuple(weighings), tuple(runs))


def _run(
    job: Job,
    problem: Problem,
    method: str,
    kind: str,
    weighings: Mapping[str, Float],
    progress: Progress,
) -> ComparedRun:
    """One run; an interrupt during its search is raised."""
    began = perf_counter()
    try:
        found = suppress(
            problem.replace(weight=weighings[kind]),
            method,
            attackers=attackers_asked(job, problem).attackers,
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
