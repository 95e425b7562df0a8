"""`auto`: a portfolio of heuristics with a covering bound; what a user gets who does not choose.

Tied cells are merged where that pays, the cover bound tells what any safe pattern costs, and then one of four
plans runs, by structure and size of the largest component that has a demand:

- *network* (two-way tables): cheapest flows, which are near the least cost; branch and cut.
- *small*: incremental linear programs from two beginnings, ruin and recreate, branch and cut; beside them,
  where there is a worker for that, other beginnings (`cellveil.suppression.engines.other_starts`).
- *irregular* (linked tables, relations of any kind): greedy elimination and pivot annealing in the null space
  (`cellveil.suppression.engines.kernel_search`), ruin and recreate in the pattern's own null space
  (`cellveil.suppression.engines.kernel_exchange`); where that comes to nothing, joint witnesses and
  incremental programs with harvests (`cellveil.suppression.engines.irregular`).
- *large*: sums of cubes as a safe start within seconds, then splitting: demands that carry the cost one by
  one, the others in groups, and cubes for what is left. Linked tables begin with greedy elimination in a
  sparse basis of the null space (`cellveil.suppression.engines.sparse_elimination`), and go on with
  incremental programs through windows.

After the first seconds there is a complete pattern with exact witnesses at every moment; a time limit, or an
interrupt, returns the cheapest so far. Without a limit the work is bounded, and the result depends on problem
and seed alone.

Requires any relations whatever. Ensures an exact witness for every demand, or names those that no pattern
meets. Does not ensure the least cost; the bound says how far off it can be at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError, nearest_name
from cellveil.params import param, part
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.background import BackgroundTask
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.auto_state import AutoStepsParams
from cellveil.suppression.engines.auto_steps import AutoRun, largest_component
from cellveil.suppression.engines.flow_search import Networks
from cellveil.suppression.engines.stages import ALL, Stage, run_stages
from cellveil.suppression.exact.relaxation import lower_bound
from cellveil.suppression.methods.network import NetworkParams, network
from cellveil.suppression.methods.optimal import OptimalParams, optimal
from cellveil.suppression.presolve.merge_ties import Merged, merged
from cellveil.tables.structure import is_product, structured

BETTER_BOUND = "better bound"


@dataclass(frozen=True, kw_only=True)
class AutoParams(AutoStepsParams):
    """Parameters of `auto`; shares of the time stand in its plans."""

    without: str = param(
        "", "Stages to leave out, with commas between them; those that finish a pattern stay."
    )
    network: NetworkParams = part(NetworkParams)
    optimal: OptimalParams = part(OptimalParams)


class _Run(AutoRun):
    """The steps, and those that are methods or bounds."""

    params: AutoParams

    def flow(self, deadline: Deadline) -> None:
        """The method `network`."""
        draft = network(
            self.problem,
            deadline=deadline,
            seed=self.seed,
            progress=self.progress,
            params=self.params.network,
        )
        self.prove(draft.lower_bound or 0.0)
        if draft.infeasible:
            self.ended = draft
        else:
            self.keep(draft, self.cost_of(draft))

    def branch_and_cut(self, deadline: Deadline) -> None:
        """The method `optimal`."""
        other = optimal(
            self.problem,
            deadline=deadline,
            seed=self.seed,
            progress=self.progress,
            params=self.params.optimal,
            start=None if self.kept is None else self.kept.hidden,
        )
        self.prove(other.lower_bound or 0.0)
        if not other.infeasible and self.cost_of(other) < self.least:
            self.keep(other, self.cost_of(other))
        if other.reason.is_interrupt:
            raise KeyboardInterrupt

    def bound_beside(self, deadline: Deadline) -> None:
        """A better bound, in a thread beside the stages."""
        self.bounding = BackgroundTask(self.bound_better, self.deadline.share(self.params.bound_beside))

    def bound_better(self, deadline: Deadline) -> None:
        """Whole covers; with a time limit, in tables not too large, the relaxation of branch and cut."""
        is_small = self.size <= self.params.most_to_relax
        tied = merged(self.problem) if is_small else None
        problem, forced = (self.problem, 0.0) if tied is None else (tied.problem, tied.forced)
        bound = cover_bound(
            problem,
            deadline=deadline.share(0.5),
            integral=True,
            nodes=self.params.bound_nodes,
            params=self.params.cover,
        ).bound
        if is_small and deadline.limit is not None and not deadline.is_over:
            bound = max(bound, lower_bound(problem, deadline=deadline))
        self.prove(bound + forced)


Plan = tuple[Stage[_Run], ...]

NETWORK: Plan = (
    Stage("flows", 0.36, _Run.always, _Run.flow, is_needed=True),
    Stage("branch and cut", 0.64, _Run.is_network_for_exact, _Run.branch_and_cut),
)
SMALL: Plan = (
    Stage("other beginnings", 0.01, _Run.can_begin_others, _Run.begin_others),
    Stage("cubes", ALL, _Run.has_cubes, _Run.pack),
    Stage("elimination", 0.05, _Run.is_without_cubes, _Run.eliminate),
    Stage("annealing", 2.40, _Run.can_anneal, _Run.anneal),
    Stage("programs", 0.50, _Run.always, _Run.protect_afresh),
    Stage("programs from the cover", 0.25, _Run.is_above_bound, _Run.protect_cover),
    Stage("harvest", 0.05, _Run.is_left_open, _Run.harvest),
    Stage("splitting", 0.50, _Run.is_left_open, _Run.split),
    Stage("cubes for the rest", ALL, _Run.needs_cubes, _Run.pack_rest),
    Stage("programs for the rest", ALL, _Run.is_unfinished, _Run.finish_by_steps),
    Stage("cubes after all", ALL, _Run.needs_cubes, _Run.pack_rest),
    Stage("exchanges", 1.20, _Run.can_exchange, _Run.exchange),
    Stage("annealing on", 1.20, _Run.can_anneal_on, _Run.anneal),
    Stage("search", 0.09, _Run.is_complete, _Run.search),
    Stage(BETTER_BOUND, 0.02, _Run.may_get_close, _Run.bound_better),
    Stage("branch and cut", 0.16, _Run.is_for_exact, _Run.branch_and_cut),
    Stage("search on", 0.16, _Run.is_far, _Run.search),
    Stage("what others began", 0.01, _Run.has_begun_others, _Run.take_others, is_needed=True),
    Stage("other beginnings", 0.16, _Run.has_wide_gap, _Run.try_others),
    Stage("search after these", 0.03, _Run.has_other_pattern, _Run.search),
    Stage(BETTER_BOUND, 0.02, _Run.needs_bound, _Run.bound_better),
)
IRREGULAR: Plan = (
    Stage("bound beside", 0.01, _Run.can_bound_beside, _Run.bound_beside),
    Stage("cubes", 0.10, _Run.has_cubes, _Run.pack),
    Stage("elimination", 0.20, _Run.has_neither_cubes_nor_pattern, _Run.eliminate),
    Stage("annealing", 0.45, _Run.can_anneal, _Run.anneal),
    Stage("further eliminations", 0.20, _Run.can_eliminate_again, _Run.eliminate_again),
    Stage("sparse elimination", 0.20, _Run.is_linked_without_pattern, _Run.eliminate_sparsely),
    Stage("start", 0.60, _Run.has_no_pattern, _Run.start_jointly),
    Stage("start by programs", 0.60, _Run.has_few_open, _Run.start_singly),
    Stage("elimination after all", 0.20, _Run.has_cubes_but_no_pattern, _Run.eliminate),
    Stage("start with everything", 0.04, _Run.has_no_pattern, _Run.start_whole),
    Stage("programs", 0.22, _Run.is_medium_start, _Run.protect),
    Stage("programs", 0.08, _Run.is_big_start, _Run.protect),
    Stage("joint solves for the rest", ALL, _Run.is_open, _Run.group_rest),
    Stage("programs for the rest", ALL, _Run.is_unfinished, _Run.finish_by_harvests),
    Stage("exchanges", 0.55, _Run.can_exchange, _Run.exchange),
    Stage("annealing on", 0.30, _Run.can_anneal_on, _Run.anneal),
    Stage("bound beside the search", 0.01, _Run.can_bound_beside_search, _Run.bound_beside),
    Stage("search", 0.12, _Run.is_without_exchanges, _Run.search),
    Stage(BETTER_BOUND, 0.10, _Run.has_time_to_bound, _Run.bound_better),
)
LARGE: Plan = (
    Stage("cubes", ALL, _Run.has_cubes, _Run.pack),
    Stage("sparse elimination", 0.20, _Run.is_linked_without_pattern, _Run.eliminate_sparsely),
    Stage("polish", 0.06, _Run.can_polish_start, _Run.polish_start),
    Stage("harvest", 0.14, _Run.has_time_to_split, _Run.harvest),
    Stage("splitting", 0.60, _Run.has_time_to_split, _Run.split),
    Stage("cubes for the rest", ALL, _Run.needs_cubes, _Run.pack_rest),
    Stage("programs for the rest", ALL, _Run.is_unfinished, _Run.finish_by_steps),
    Stage("cubes after all", ALL, _Run.needs_cubes, _Run.pack_rest),
    Stage("polish", 0.20, _Run.can_polish, _Run.polish_cheapest),
    Stage("search", 0.02, _Run.can_regrow, _Run.regrow),
    Stage(BETTER_BOUND, 0.10, _Run.has_time_to_bound, _Run.bound_better),
)
PLANS: Mapping[str, Plan] = {
    "network": NETWORK,
    "small": SMALL,
    "irregular": IRREGULAR,
    "large": LARGE,
}
"""The plans of `auto`. What each stage is worth: docs/lab/measurements.md."""


def auto(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: AutoParams | None = None,
) -> Draft:
    """Protect all demands by the best means for the table at hand; see the head of the module."""
    params, progress = params or AutoParams(), progress or Progress()
    progress.stage("bound")
    problem = problem.replace(table=structured(problem.table))
    tied = _tied(problem, params)
    if tied is None:
        return _planned(problem, deadline, seed, progress, params)
    return tied.unfold(_planned(tied.problem, deadline, seed, progress, params, tied))


def plan_of(problem: Problem, is_feasible: bool, params: AutoParams) -> str:
    """The name of the plan, by structure and size."""
    if is_feasible and Networks.of(problem).rest() is None:
        return "network"
    size = largest_component(problem)
    if not is_feasible or size <= params.small:
        return "small"
    return "irregular" if size <= params.irregular.most_cells and not is_product(problem.table) else "large"


def likely_plan(problem: Problem, is_feasible: bool, params: AutoParams | None = None) -> str:
    """The name of the plan that `auto` will take, without a search."""
    params = params or AutoParams()
    problem = problem.replace(table=structured(problem.table))
    tied = _tied(problem, params)
    return plan_of(problem if tied is None else tied.problem, is_feasible, params)


def optional_stages(plan: str) -> list[str]:
    """The stages of a plan that `without` can leave out: all but those that finish a pattern."""
    names = (stage.name for stage in PLANS[plan] if stage.share != ALL and not stage.is_needed)
    return [name for name in dict.fromkeys(names) if name != "start with everything"]


def _stages(plan: str, without: str) -> Plan:
    names = [name.strip() for name in without.split(",") if name.strip()]
    known = {name for each in PLANS for name in optional_stages(each)}
    for name in names:
        if name not in known:
            raise InputError(
                f"without: no stage {name!r} can be left out", remedy=nearest_name(name, sorted(known))
            )
    left_out = set(names) & set(optional_stages(plan))
    return tuple(stage for stage in PLANS[plan] if stage.share == ALL or stage.name not in left_out)


def _tied(problem: Problem, params: AutoParams) -> Merged | None:
    """The problem with tied cells merged, where that pays and nothing needs the dimensions."""
    movable = int((problem.status != Status.FROZEN).sum())
    if movable > (params.most_regular if is_product(problem.table) else params.most_to_merge):
        return None
    if Networks.of(problem).rest() is None:
        return None
    tied = merged(problem)
    pays = tied is not None and tied.problem.table.num_cells <= (1 - params.worth_merging) * movable
    return tied if pays else None


def _share_of_bound(plan: str, problem: Problem, params: AutoParams) -> float:
    """For the first bound: little where the cells that it suggests are not what the search begins with."""
    is_quick = plan == "irregular" and problem.table.num_cells < params.many
    return params.quick_bound if is_quick else params.first_bound


def _planned(
    problem: Problem,
    deadline: Deadline,
    seed: int,
    progress: Progress,
    params: AutoParams,
    tied: Merged | None = None,
) -> Draft:
    plan = plan_of(problem, True, params)
    share = deadline.share(_share_of_bound(plan, problem, params), params.first_bound_seconds)
    cover = cover_bound(problem, deadline=share, params=params.cover)
    run, is_feasible = _Run(problem, cover, deadline, seed, progress, params), bool(np.isfinite(cover.bound))
    plan = plan if is_feasible else plan_of(problem, False, params)
    if tied is not None:
        run.apart, run.cells_of = tied.forced, tied.cells_of
    try:
        try:
            run_stages(_stages(plan, params.without), run, deadline, progress)
        finally:
            run.join()
        draft = run.draft()
    except KeyboardInterrupt:
        if run.kept is None:
            raise
        draft = replace(run.kept, reason=MethodEnding.INTERRUPTED_SEARCH)
    bound = run.bound if is_feasible else None
    is_dearer = bound is None or not run.is_cheapest(run.cost_of(draft))
    if draft.reason is MethodEnding.COMPLETE and is_dearer and run.cut_short - {BETTER_BOUND}:
        draft = replace(draft, reason=MethodEnding.TIME_LIMIT)
    return replace(draft, lower_bound=bound)
