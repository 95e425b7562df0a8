"""`adjust`: find an adjustment by the stages of a method's plan, have it judged, and bound its distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from cellveil.adjustment.adjust_params import AdjustParams
from cellveil.adjustment.fixed_senses import Fit
from cellveil.adjustment.merge_tied import merged_model
from cellveil.adjustment.model import Limits, build_model
from cellveil.adjustment.outcome import Adjustment, Reason
from cellveil.adjustment.stage_work import SenseSearch, cost_step
from cellveil.adjustment.start_rules import STARTS
from cellveil.arrays import Bool, Float
from cellveil.clock import Deadline, Stopwatch
from cellveil.errors import InputError, NotSafeError, check_kind, nearest_name
from cellveil.judge import audit
from cellveil.judge.verdict import Outcome
from cellveil.live_progress import shown_progress
from cellveil.problem import Problem, check_problem
from cellveil.progress import Progress

Method = Literal["auto", "exact", "tabu", "descent", "start"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True)
class AdjustStage:
    """One line of a plan: a name for progress and seconds, what it runs, and when.

    Parameters
    ----------
    share
        The field of `ShareParams` with its share of the time limit; none: all that is left.
    """

    name: str
    runs: Callable[[SenseSearch, Deadline], None]
    when: Callable[[SenseSearch], bool] = SenseSearch.always
    share: str | None = None

    def deadline(self, params: AdjustParams, clock: Deadline) -> Deadline:
        """Its share of the whole time, of what is left at most."""
        if self.share is None or clock.left is None or clock.limit is None:
            return clock
        return Deadline(min(clock.left, getattr(params.shares, self.share) * clock.limit))


START = AdjustStage("start", SenseSearch.first_senses, share="start")
TREE = AdjustStage("tree", SenseSearch.grow_tree, SenseSearch.is_small_null_space)
PROOF = AdjustStage("prove", SenseSearch.prove)
ANNEAL = AdjustStage("anneal", SenseSearch.anneal, SenseSearch.can_anneal, "anneal")
BOUND = AdjustStage("bound", SenseSearch.cover_and_relax)

LARGE = "large tables"
PLANS: Mapping[str, tuple[AdjustStage, ...]] = {
    "auto": (
        START,
        TREE,
        AdjustStage("first proof", SenseSearch.prove_soon, SenseSearch.is_not_straight, "first_proof"),
        AdjustStage("anneal", SenseSearch.anneal, SenseSearch.can_anneal_and_improve, "anneal"),
        AdjustStage("descent", SenseSearch.descend, SenseSearch.can_improve_over_cells, "auto_descent"),
        AdjustStage("descent", SenseSearch.descend, SenseSearch.can_improve_in_null_space, "auto_null_space"),
        PROOF,
    ),
    "exact": (START, TREE, PROOF),
    "tabu": (
        START,
        ANNEAL,
        AdjustStage("tabu", SenseSearch.tabu, SenseSearch.has_incumbent, "tabu"),
        BOUND,
    ),
    "descent": (
        START,
        ANNEAL,
        AdjustStage("descent", SenseSearch.descend, SenseSearch.has_incumbent, "descent"),
        BOUND,
    ),
    "start": (
        AdjustStage("start", SenseSearch.rule_senses, share="start"),
        AdjustStage("bound", SenseSearch.relax),
    ),
    LARGE: (
        AdjustStage("anneal", SenseSearch.anneal_large),
        AdjustStage("bound", SenseSearch.cover),
        AdjustStage("anneal", SenseSearch.anneal_on, SenseSearch.has_time),
    ),
}
"""The stages of each method, in order; the last one stands for all methods but exact in large tables."""


def optional_stages(plan: str) -> list[str]:
    """The stages of a plan that `without` can leave out: all but the first and the last."""
    return list(dict.fromkeys(stage.name for stage in PLANS[plan][1:-1]))


def _stages(plan: str, without: str) -> tuple[AdjustStage, ...]:
    left_out = {name.strip() for name in without.split(",") if name.strip()}
    known = {name for each in PLANS for name in optional_stages(each)}
    for name in sorted(left_out - known):
        raise InputError(
            f"without: no stage {name!r} can be left out", remedy=nearest_name(name, sorted(known))
        )
    first, *stages, last = PLANS[plan]
    return first, *(stage for stage in stages if stage.name not in left_out), last


def plans_table() -> str:
    """The plans as a table for the docs."""
    lines = ["| method | stage | share of the time | when | what it runs |", "|---|---|--:|---|---|"]
    shares = AdjustParams().shares
    for method, plan in PLANS.items():
        for stage in plan:
            share = "what is left" if stage.share is None else f"{getattr(shares, stage.share):g}"
            when, runs = (str(work.__doc__).strip().rstrip(".") for work in (stage.when, stage.runs))
            lines.append(f"| {method} | {stage.name} | {share} | {when[0].lower()}{when[1:]} | {runs} |")
    return "\n".join(lines)


def adjust(
    problem: Problem,
    method: str = "auto",
    *,
    objective: str = "l1",
    limits: Limits | None = None,
    weight: Float | None = None,
    start: str | Bool | None = None,
    judge: Callable[[Float, Float], float] | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    options: Mapping[str, object] | None = None,
    params: AdjustParams | None = None,
    progress: Progress | bool | None = None,
) -> Adjustment:
    """Move sensitive cells to or beyond their levels, the others as little as possible; have it judged.

    Parameters
    ----------
    method
        auto, exact (branch and bound), tabu, descent (block by block), or start (only the senses of `start`).
    objective
        l1, value (weighted by values), given (by the problem's weights), or l2 (squares).
    limits
        How far cells that are not sensitive may move; by default as far as their bounds allow.
    weight
        Weights of the cells in place of those of the objective.
    start
        A rule for the first senses (see `adjustment.start_rules`), or the senses themselves, True for up.
    judge
        For tabu and descent: a function of true and adjusted values to minimise, in place of the objective,
        which then only leads the programs.
    options
        Tuning numbers by name, those of an engine as engine.name: see `AdjustParams`.
    params
        The same as an object.
    time_limit
        Seconds for the search; the best that was found is returned.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Raises
    ------
    AdjustmentError
        When no adjustment keeps everything; it names the relations that conflict and the way out.
    NotSafeError
        When the time was over before one was found.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> adjust(problem)
    Adjustment('auto', optimal, l1 12, gap 0.00 %)
    """
    if isinstance(progress, bool):
        given: dict[str, Any] = {"objective": objective, "limits": limits, "weight": weight, "start": start}
        given |= {
            "judge": judge,
            "time_limit": time_limit,
            "seed": seed,
            "options": options,
            "params": params,
        }
        with shown_progress(progress) as observer:
            return adjust(problem, method, **given, progress=observer)
    check_problem(problem)
    check_kind(method, str, "the method", 'Give its name: "auto".')
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}", remedy=nearest_name(str(method), METHODS))
    check_kind(time_limit, (int, float, type(None)), "the time limit", "Give seconds, for example 60.")
    if time_limit is not None and not time_limit > 0:
        raise InputError("the time limit is not above 0", remedy="Give seconds, for example 60.")
    if isinstance(start, str) and start not in STARTS:
        raise InputError(f"unknown start {start!r}", remedy=nearest_name(start, STARTS))
    params = (params or AdjustParams()).changed(options or {})
    clock, watch, progress = Deadline(time_limit), Stopwatch(), progress or Progress()
    with watch.time("model"):
        model = build_model(problem, objective, limits, weight, params)
        ties = None if method == "start" else merged_model(model)
    if ties and isinstance(start, np.ndarray):
        start = ties.fold_senses(start)

    def score(fit: Fit) -> float:
        assert judge is not None
        y, unit = (ties.unfold(fit) if ties else fit).y, 10.0**problem.table.decimals
        return judge(problem.table.floats(), (problem.table.values + y) / unit)

    search = SenseSearch(
        ties.model if ties else model,
        clock,
        seed,
        progress,
        whole=model,
        start=start,
        judge=None if judge is None else score,
        is_exact=method == "exact",
    )
    _run_stages(search, method, watch)
    if search.best is None:
        raise NotSafeError(
            "no adjustment was found in time. Give it more time, wider limits or lower levels."
        )
    best = ties.unfold(search.best) if ties else search.best
    return _conclude(search, best, watch, method=method, objective=objective, limits=limits or Limits())


def _run_stages(search: SenseSearch, method: str, watch: Stopwatch) -> None:
    """The stages of the plan that apply, until one says that all is done; an interrupt keeps the best."""
    if not len(search.model.cells):
        nothing = np.zeros(search.model.relations.num_cells, dtype=np.int64)
        search.best, search.bound = Fit(nothing, np.zeros(0, dtype=bool), 0.0), 0.0
        return
    plan = LARGE if method != "exact" and search.is_large() else method
    try:
        for stage in _stages(plan, search.params.without):
            if not search.is_done and stage.when(search):
                search.progress.stage(stage.name)
                with watch.time(stage.name):
                    stage.runs(search, stage.deadline(search.params, search.clock))
    except KeyboardInterrupt:
        if search.best is None:
            raise
        search.reason = Reason.INTERRUPTED


def _conclude(
    search: SenseSearch, best: Fit, watch: Stopwatch, *, method: str, objective: str, limits: Limits
) -> Adjustment:
    problem, model = search.whole.problem, search.whole
    values = problem.table.values + best.y
    with watch.time("audit"):
        verdict = audit(problem, values, limits=asdict(limits))
    assert verdict.adjusted is not None
    is_kept, faults = verdict.adjusted.is_safe, verdict.adjusted.faults
    bound = search.bound if np.isfinite(search.bound) else None
    outcome = Outcome.SAFE if is_kept else Outcome.NOT_SAFE
    # Costs are multiples of a step: a bound within one step of the cost proves the optimum.
    if (
        is_kept
        and bound is not None
        and best.cost - bound < max(cost_step(model) * (1 - 1e-4), 1e-7 * best.cost)
    ):
        outcome, bound = Outcome.OPTIMAL, best.cost
    return Adjustment(
        values,
        best.senses,
        method,
        objective,
        outcome,
        search.reason if is_kept else f"the audit found: {'; '.join(faults)}",
        best.cost,
        bound,
        verdict,
        watch.seconds,
        search.seed,
        asdict(limits),
    )
