"""A suppression search shared out: independent parts of a problem, and several seeds, as tasks of their own.

A task is the method on one part with one seed; whoever does it, this process, processes or a cluster, finds
the same. For each part the cheapest pattern is kept whose witnesses the exact verifier accepts here; of equal
ones that of the smallest seed. Without a time limit the result depends on problem, seed and number of seeds
alone. With one, each search gets a share of the time by the size of its part, and what small parts leave goes
to the larger ones.

What comes back from elsewhere are claims: what is no pattern of the part is refused, a lower bound above what
a certified pattern costs is dropped, and the audit of the whole is done here, as for every draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cellveil.certificate import verify
from cellveil.certificate.certificate import Certificate, pattern_hash
from cellveil.clock import Deadline
from cellveil.errors import InputError, WorkerError, counted
from cellveil.params import Params, param, part
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers import tolerances
from cellveil.solvers.parallel import num_workers
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.methods import METHODS
from cellveil.suppression.part_progress import PartProgress, PartStandings
from cellveil.suppression.presolve.independent_parts import (
    IndependentPart,
    PartsParams,
    parts_of,
    put_together,
    whole_part,
)
from cellveil.tasks import InProcess, Reply, StoppableProgress, TaskPool, pool_in_use, task_pool, until_asked

ONE_FILE = ("checkpoint", "plot")
"""Parameters of methods that name a file of one search."""


@dataclass(frozen=True, kw_only=True)
class SharedSearchParams(Params):
    """Parameters of a search that is shared out."""

    parts: PartsParams = part(PartsParams)
    most_seeds: int = param(100, "Seeds at most: more searches of one problem are a mistake.", least=1)
    worth_processes: int = param(
        5_000, "Cells of all searches together from which on they run in processes of their own.", least=0
    )
    most_uneven: float = param(
        1.5, "Size of the largest search, in shares of a worker, up to which processes pay.", least=0
    )
    finish_seconds: float = param(
        3.0, "Seconds for parts without a pattern when a search is interrupted.", least=0
    )


@dataclass(frozen=True, eq=False)
class SearchRecipe:
    """What all searches share. Whoever watches them stays in this process."""

    method: str
    params: Params
    problems: tuple[Problem, ...]
    watchers: tuple[Progress, ...] = field(default=(), repr=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"watchers": ()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True)
class SearchTask:
    """One search: of a part, with a seed, in a share of the time that is left when it begins."""

    part: int
    seed: int
    share: float
    deadline: Deadline


def searched(recipe: SearchRecipe, task: SearchTask) -> Draft:
    """Do one of the searches: the task that is shared out.

    Raises
    ------
    WorkerError
        When it was asked to stop before it had a pattern.
    """
    try:
        return METHODS[recipe.method].run(
            recipe.problems[task.part],
            deadline=until_asked(task.deadline.share(task.share)),
            seed=task.seed,
            progress=recipe.watchers[task.part] if recipe.watchers else StoppableProgress(),
            params=recipe.params,
        )
    except KeyboardInterrupt:
        if recipe.watchers:
            raise
        raise WorkerError("a search was stopped before it had a pattern.") from None


def shared_search(
    problem: Problem,
    method: str,
    *,
    deadline: Deadline,
    seed: int,
    seeds: int,
    progress: Progress,
    params: Params,
    settings: SharedSearchParams,
) -> Draft:
    """The draft of a method on a problem: part by part, each with so many seeds; see the head of the module.

    Raises
    ------
    InputError
        When there are several seeds, and the method keeps a file of one search.
    KeyboardInterrupt
        When it was interrupted before any part had a pattern.
    WorkerError
        When all searches of a part were lost.
    """
    if seeds > 1 and any(getattr(params, name, "") for name in ONE_FILE):
        raise InputError(
            "several seeds would write one file", remedy="Leave out checkpoint and plot, or seeds."
        )
    parts = parts_of(problem, settings.parts) if METHODS[method].is_divisible else []
    if seeds == 1 and not parts:
        return METHODS[method].run(problem, deadline=deadline, seed=seed, progress=progress, params=params)
    parts = parts or [whole_part(problem)]
    search = _Searches(method, params, parts, problem.table.num_cells, progress, settings)
    search.run(range(seed, seed + seeds), deadline)
    return put_together(problem, parts, [search.chosen(number) for number in range(len(parts))])


def shares_of_time(sizes: Sequence[int], workers: int) -> list[float]:
    """Which share of the time that is left each search gets as it begins, so many at a time.

    Examples
    --------
    >>> shares_of_time([1, 1, 2], 1)
    [0.25, 0.3333333333333333, 1.0]
    >>> shares_of_time([10, 10], 2)
    [1.0, 1.0]
    """
    starts = [place - place % workers for place in range(len(sizes))]
    return [
        min(1.0, workers * max(size, 1) / max(sum(sizes[start:]), 1))
        for size, start in zip(sizes, starts, strict=True)
    ]


def cost_of(problem: Problem, draft: Draft) -> float:
    """What a draft hides beyond the start."""
    return float(problem.weight[draft.hidden & ~problem.hidden_at_start].sum())


def is_certified(problem: Problem, draft: Draft) -> bool:
    """Whether the exact verifier accepts the witnesses of a draft as proof that it keeps off outsiders."""
    claims = draft.witnesses
    certificate = Certificate(
        problem.content_hash,
        pattern_hash(draft.hidden),
        "outsider",
        claims.starts,
        claims.cells.astype("int32"),
        claims.numerators,
        claims.denominators,
    )
    return verify(problem, Pattern.hiding(problem, draft.hidden, "shared"), certificate).is_valid


class _Searches:
    """All searches of a run, and what has come of them so far, by part and seed."""

    def __init__(
        self,
        method: str,
        params: Params,
        parts: Sequence[IndependentPart],
        num_cells: int,
        progress: Progress,
        settings: SharedSearchParams,
    ) -> None:
        self._parts, self._progress, self._settings = parts, progress, settings
        self._standings = PartStandings([len(each.cells) for each in parts], num_cells)
        watchers = [PartProgress(self._standings, number, progress) for number in range(len(parts))]
        self._recipe = SearchRecipe(method, params, tuple(each.problem for each in parts), tuple(watchers))
        self.found: list[dict[int, Draft]] = [{} for _ in parts]
        self._errors: list[WorkerError] = []
        self._is_interrupted = False

    def run(self, seeds: Sequence[int], deadline: Deadline) -> None:
        """Search every part with every seed: all parts with the first one, then with the next."""
        sizes = [each.size for _ in seeds for each in self._parts]
        pool = self._pool(sizes)
        places = [(number, seed) for seed in seeds for number in range(len(self._parts))]
        tasks = [
            SearchTask(number, seed, share, deadline)
            for (number, seed), share in zip(places, shares_of_time(sizes, pool.num_workers), strict=True)
        ]
        try:
            replies = pool.replies(searched, self._recipe, tasks, may_stop=True)
            for done, (place, reply) in enumerate(replies):
                is_over = self._take(tasks[place], reply)
                if is_over and isinstance(pool, InProcess):
                    raise KeyboardInterrupt
                self._progress.stage(f"{done + 1} of {len(tasks)} searches")
                self._progress.advance(done + 1, len(tasks), **self._standings.figures())
        except KeyboardInterrupt:
            self._is_interrupted = True
        except WorkerError as error:
            self._errors.append(error)
        self._finish(seeds[0])
        if self._errors and not self._is_interrupted:
            lost = counted(len(tasks) - sum(map(len, self.found)), "search was", "searches were")
            self._progress.note(f"{lost} lost by the workers; what the others found was kept")

    def _pool(self, sizes: Sequence[int]) -> TaskPool:
        """Who does it: the pool in use, processes if they pay, else this process with all its threads."""
        workers = min(num_workers(), len(sizes))
        if pool_in_use():
            return task_pool(workers)
        is_even = max(sizes) * workers <= self._settings.most_uneven * sum(sizes)
        pays = is_even and sum(sizes) >= self._settings.worth_processes
        return task_pool(workers) if pays else InProcess()

    def _take(self, task: SearchTask, reply: Reply[Draft]) -> bool:
        """Keep what came back; returns whether it was interrupted, raises what is no matter of a worker."""
        if isinstance(reply.error, WorkerError) and reply.cause is None:
            self._errors.append(reply.error)
            return False
        draft, problem = reply.get(), self._recipe.problems[task.part]
        if not (isinstance(draft, Draft) and draft.is_about(problem)):
            self._errors.append(WorkerError("a search came back with something else than a pattern."))
            return False
        self.found[task.part][task.seed] = draft
        if not draft.infeasible:
            bound = draft.lower_bound or 0.0
            self._standings.note(task.part, cost_of(problem, draft), bound, int(draft.hidden.sum()))
        return draft.reason.is_interrupt

    def _finish(self, seed: int) -> None:
        """Where some parts have a pattern when it is interrupted: find one for the others, fast."""
        missing = [number for number, drafts in enumerate(self.found) if not drafts]
        if missing and not self._is_interrupted:
            raise self._errors[0]
        if len(missing) == len(self.found):
            raise KeyboardInterrupt
        for number in missing:
            until = Deadline(self._settings.finish_seconds / len(missing))
            recipe = replace(self._recipe, watchers=())
            try:
                self.found[number][seed] = searched(recipe, SearchTask(number, seed, 1.0, until))
            except WorkerError:  # interrupted once more
                raise KeyboardInterrupt from None

    def chosen(self, number: int) -> Draft:
        """The cheapest certified draft of a part, with the best bound; the cheapest where none is certified.

        Where every search says that nothing protects the part: what the first one says.
        """
        problem = self._recipe.problems[number]
        drafts = [draft for _, draft in sorted(self.found[number].items())]
        ranked = sorted(drafts, key=lambda draft: (bool(draft.infeasible), cost_of(problem, draft)))
        best, feasible = ranked[0], [draft for draft in ranked if not draft.infeasible]
        if len(drafts) > 1 and feasible:
            best = next((draft for draft in feasible if is_certified(problem, draft)), best)
            most = cost_of(problem, best) * (1 + tolerances.EQUAL)
            bounds = [draft.lower_bound for draft in feasible if draft.lower_bound is not None]
            best = replace(best, lower_bound=max((bound for bound in bounds if bound <= most), default=None))
        reason = MethodEnding.INTERRUPTED_SEARCH if self._is_interrupted else best.reason
        return replace(best, reason=reason, num_lps=sum(draft.num_lps for draft in drafts))
