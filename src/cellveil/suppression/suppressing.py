"""`suppress`: run a method, have its pattern judged, mend what the judge rejects, verify the certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.attacker import Attacker, as_attackers
from cellveil.attackers.default_attackers import AttackersTested, attackers_tested
from cellveil.clock import Deadline, Stopwatch
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.movement import Movement
from cellveil.errors import InputError, check_kind, counted
from cellveil.judge import Audit, Verdict
from cellveil.judge.cell_judge import OutsiderParams
from cellveil.judge.outsider import OutsiderReport, audit_outsider
from cellveil.judge.verdict import Outcome
from cellveil.live_progress import shown_progress
from cellveil.params import Params, param, part
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.progress import Phase, Progress, StageClock
from cellveil.solvers import tolerances
from cellveil.solvers.parallel import using
from cellveil.suppression.bounds.cover import CoverParams, cover_bound
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.infeasible.relaxing import (
    DiagnosisParams,
    Relaxation,
    diagnose,
    freeing_all,
    infeasibility,
    relaxed_like,
)
from cellveil.suppression.methods import METHODS, unknown_method
from cellveil.suppression.other_attackers.defence import Defence, DefenceParams
from cellveil.suppression.other_attackers.outsider_shield import mended
from cellveil.suppression.result import Suppression
from cellveil.suppression.shared_search import SharedSearchParams, shared_search
from cellveil.tables.table import Table
from cellveil.tasks import default_workers

REMEDY = "Give a longer time limit"
FASTER = ", or take the method hypercube, which is faster"


RUN = "run."
"""How the names of options of the run begin; others are those of the method."""


@dataclass(frozen=True, kw_only=True)
class RunParams(Params):
    """Parameters of a run, whatever the method."""

    mending_rounds: int = param(3, "Repairs of a pattern that the audit rejects.", least=0)
    method_share: float = param(
        0.4, "Share of the time for the method where there are further attackers.", least=0, most=1
    )
    irregular_share: float = param(
        0.8, "The same in large tables without cubes: their first pattern takes long.", least=0, most=1
    )
    irregular_cells: int = param(10_000, "Cells from which on such tables count as large.", least=0)
    diagnosis_share: float = param(
        0.5, "Share of the time left for the diagnosis of an infeasible problem.", least=0, most=1
    )
    kept_for_bound: float = param(
        0.1, "Share of the time that a method without a bound leaves for one.", least=0, most=1
    )
    bound_share: float = param(0.5, "Share of the time left that this bound may take.", least=0, most=1)
    bound_seconds: float = param(30.0, "Seconds for that bound at most.", least=0)
    most_bounded_late: int = param(
        200_000, "Cells up to which one short solve gives a bound even if time is up.", least=0
    )
    shared: SharedSearchParams = part(SharedSearchParams)
    cover: CoverParams = part(CoverParams)
    diagnosis: DiagnosisParams = part(DiagnosisParams)
    defence: DefenceParams = part(DefenceParams)

    def share_of(self, table: Table) -> float:
        """The share of the method on a table, where there are further attackers."""
        is_slow = table.num_cells >= self.irregular_cells and not has_cubes(table)
        return self.irregular_share if is_slow else self.method_share


def suppress(
    problem: Problem,
    method: str = "auto",
    *,
    attackers: Any = None,
    default_attackers: bool = True,
    time_limit: float | None = None,
    seed: int = 0,
    seeds: int = 1,
    workers: int | None = None,
    relax: bool = False,
    may_free: Bool | None = None,
    options: Mapping[str, object] | None = None,
    params: Params | None = None,
    progress: Progress | bool | None = None,
) -> Suppression:
    """Find a pattern that protects every primary cell, and have it judged.

    Parameters
    ----------
    method
        A name in `METHODS`.
    attackers
        Attackers to test besides outsiders and those by default, as `Attacker` objects or by name: see
        `cellveil.suppression.other_attackers.defence`. An empty list: outsiders only.
    default_attackers
        Whether every single contributor is tested, where the table knows something of its contributors: see
        `cellveil.attackers.default_attackers`.
    time_limit
        Seconds for everything but audit and verification; when they are over, the best that is safe is
        returned, and the reason says so. With other attackers two fifths are for the method (more in large
        linked tables), the rest for what they make necessary; insiders that could not be judged by then count
        as not kept off. Against insiders of tables with families of witnesses (500 cells or more that make
        up a full product), what only makes the pattern cheaper ends early enough for audit and verification
        to be over by the limit, as far as can be told.
    seed
        For methods that draw random numbers.
    seeds
        Search with so many seeds, from `seed` on, and keep the cheapest certified pattern against outsiders:
        see `cellveil.suppression.shared_search`. The searches run side by side on processes or a cluster, or
        one after the other, each with its share of the time.
    workers
        Threads of the search and processes of searches and audit, at most: two by default where there are two
        cores. Without a time limit the result does not depend on it.
    relax
        Where some primary cells cannot be protected whatever is hidden: take the cheapest way out (see
        `cellveil.suppression.infeasible.relaxing`), go on with the relaxed problem, and say so in the result.
    may_free
        Cells that are freed, in the same way, where they stand in the way of protection: such as cells that
        are frozen only because they were published before. Nothing else is relaxed for that.
    options
        Parameters of the method by name: those that its line in `METHODS` declares; engine.name for those of
        its engines, run.name for those of the run (`RunParams`).
    params
        Those of the method as an object of its class of parameters.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Raises
    ------
    InfeasibleError
        When some primary cells cannot be protected whatever is hidden, and nothing is to be relaxed or
        nothing helps. It names what stands in the way, and the cheapest way out.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    >>> suppress(problem)
    Suppression('auto', optimal, Pattern('auto', 4 of 16 cells hidden))
    """
    if isinstance(progress, bool):
        given = {"attackers": attackers, "time_limit": time_limit, "seed": seed, "seeds": seeds}
        given |= {
            "default_attackers": default_attackers,
            "workers": workers,
            "relax": relax,
            "may_free": may_free,
            "options": options,
            "params": params,
        }
        with shown_progress(progress) as observer:
            return suppress(problem, method, **given, progress=observer)
    check_problem(problem)
    if not isinstance(method, str) or method not in METHODS:
        raise unknown_method(str(method))
    check_kind(time_limit, (int, float, type(None)), "the time limit", "Give seconds, for example 60.")
    check_kind(seed, int, "the seed", "Give a whole number, for example 1.")
    check_kind(seeds, int, "the number of seeds", "Give a whole number, for example 4.")
    if not isinstance(attackers, AttackersTested):
        named = None if attackers is None else as_attackers(attackers)
        attackers = attackers_tested(problem, named, defaults=default_attackers)
    tested, attackers = attackers, attackers.attackers
    if time_limit is not None and not time_limit > 0:
        raise InputError("the time limit is not above 0", remedy="Give seconds, for example 60.")
    chosen, frame = read_options(method, options or {}, params)
    most = frame.shared.most_seeds
    if not 1 <= seeds <= most:
        raise InputError(f"the number of seeds is not from 1 to {most}", remedy="Give for example 4.")
    workers = default_workers() if workers is None else workers
    several = OutsiderParams(workers=workers)
    watch, deadline, progress = Stopwatch(), Deadline(time_limit), progress or Progress()
    defence = Defence(
        problem, attackers, seed=seed, progress=progress, params=frame.defence, if_time=tested.if_time
    )
    share = deadline if METHODS[method].finds_bound else deadline.share(1 - frame.kept_for_bound)
    share = deadline.share(frame.share_of(problem.table)) if attackers else share
    progress.phase(Phase.SEARCH, share)
    with watch.time("suppress"), StageClock(progress, watch, "suppress") as observed, using(workers):
        draft = shared_search(
            defence.basis,
            method,
            deadline=share,
            seed=seed,
            seeds=seeds,
            progress=observed,
            params=chosen,
            settings=frame.shared,
        )
    settings: dict[str, Any] = {"seed": seed, "seeds": seeds, "workers": workers, "progress": progress}
    settings |= {"options": options, "params": params}

    def way_out(cells: Int) -> Suppression:
        """The relaxed problem where that is asked for; else the error that names what would help."""
        ways = [may_free] if may_free is not None else []
        for freeable in [*ways, None]:
            share = deadline.overtime().share(frame.diagnosis_share)
            diagnosis = diagnose(
                defence.basis, may_free=freeable, deadline=share, seed=seed, params=frame.diagnosis
            )
            found = diagnosis.relaxation
            if found is not None and (relax or (freeable is not None and not found.lowered)):
                settings["time_limit"] = deadline.overtime().left
                return _relaxed(problem, found, method, tested, settings)
        raise infeasibility(problem, cells, defence.basis_name, diagnosis)

    if draft.infeasible:
        return way_out(np.unique([demand.cell for demand in draft.infeasible]))
    if draft.lower_bound is None:
        with watch.time("bound"):
            draft.lower_bound = _late_bound(problem, deadline, frame)
    pattern = Pattern.hiding(problem, draft.hidden, method)
    if not attackers:
        progress.phase(Phase.AUDIT)
    with watch.time("audit"):
        report = audit_outsider(
            problem, pattern, exact=False, params=several, claims=draft.witnesses, progress=progress
        )
    for _ in range(frame.mending_rounds):
        if report.is_safe or not len(report.unsafe_cells):
            break
        with watch.time("suppress"):
            more = mended(
                problem,
                pattern.hidden,
                report.unsafe_cells,
                deadline.overtime().share(1 / frame.mending_rounds),
                seed=seed,
                progress=progress,
            )
        draft.add_hurried(more.hurried)
        pattern = Pattern.hiding(problem, more.hidden, method)
        with watch.time("audit"):
            report = audit_outsider(problem, pattern, exact=False, params=several, progress=progress)
    if len(cells := _unprotectable(problem, pattern, report)):
        return way_out(cells)
    verdicts, outsiders = [], None
    if attackers:
        outsiders = pattern
        progress.phase(Phase.OTHERS, deadline)
        with watch.time("attackers"):
            hidden = defence.strengthened(pattern.hidden, deadline, draft.witnesses)
            draft.add_hurried(defence.hurried(hidden))
            if impossible := defence.infeasible(hidden):
                if may_free is None or not (may_free & (problem.status == Status.FROZEN)).any():
                    raise infeasibility(problem, *impossible)
                settings["time_limit"] = deadline.overtime().left
                return _thawed(problem, may_free, method, tested, settings)
            pattern = Pattern.hiding(problem, hidden, method)
        progress.phase(Phase.AUDIT)
        with watch.time("audit"):
            verdicts = defence.verdicts(pattern)
            report = defence.outsiders(pattern) or audit_outsider(
                problem, pattern, exact=False, params=several, claims=defence.witnesses, progress=progress
            )
        draft.num_lps += defence.num_lps
        draft.reason = defence.reason if draft.reason is MethodEnding.COMPLETE else draft.reason
    with watch.time("verify"):
        standard = Verdict.of(Attacker(), problem, pattern, report)
        judged = Audit.of(problem, pattern, [standard, *verdicts]).without_unused(deadline.overtime())
    found = _conclude(problem, judged, draft, watch, seed, defence.hopeless)
    if hopeless := defence.told_hopeless():
        found = replace(found, reason=f"{found.reason}; {hopeless}")
        if may_free is not None and (may_free & (problem.status == Status.FROZEN)).any():
            settings["time_limit"] = deadline.overtime().left
            thawed = _thawed(problem, may_free, method, tested, settings)
            if len(thawed.unprotectable) < len(found.unprotectable):
                return thawed
    return replace(found, outsiders_pattern=outsiders)


def _late_bound(problem: Problem, deadline: Deadline, frame: RunParams) -> float | None:
    """A bound where the method has none, within the time there is; None where there is no time, or none."""
    if deadline.is_over and problem.table.num_cells > frame.most_bounded_late:
        return None
    left = deadline.share(frame.bound_share).for_a_solve().left
    seconds = frame.bound_seconds if left is None else min(left, frame.bound_seconds)
    bound = cover_bound(problem, deadline=Deadline(seconds), params=frame.cover).bound
    return bound if np.isfinite(bound) else None


def read_options(
    method: str, options: Mapping[str, object], params: Params | None = None
) -> tuple[Params, RunParams]:
    """The parameters of the method, given one way or the other, and those of the run."""
    entry = METHODS[method]
    own = {name: value for name, value in options.items() if not name.startswith(RUN)}
    run = {name.removeprefix(RUN): value for name, value in options.items() if name.startswith(RUN)}
    frame = RunParams().changed(run)
    if params is None:
        return entry.read(own), frame
    if own:
        raise InputError("both options and params are given", remedy="Give one of them.")
    if not isinstance(params, entry.params):
        raise InputError(
            f"method {method!r} takes no {type(params).__name__}", remedy=f"Give {entry.params.__name__}."
        )
    return params, frame


def _relaxed(
    problem: Problem,
    relaxation: Relaxation,
    method: str,
    attackers: AttackersTested,
    settings: dict[str, Any],
) -> Suppression:
    """The relaxed problem instead; the result says so."""
    relaxed = relaxed_like(problem, relaxation)
    found = suppress(relaxed, method, attackers=attackers, **settings)
    return replace(
        found,
        reason=f"{found.reason}; requirements relaxed: {relaxation}",
        relaxation=replace(relaxation, problem=relaxed),
    )


def _thawed(
    problem: Problem, cells: Bool, method: str, attackers: AttackersTested, settings: dict[str, Any]
) -> Suppression:
    """All these cells may be hidden; the result names those that are."""
    found = _relaxed(problem, freeing_all(problem, cells), method, attackers, settings)
    assert found.relaxation is not None
    used = freeing_all(problem, cells & found.pattern.hidden)
    relaxation = replace(used, problem=found.relaxation.problem)
    return replace(
        found, reason=found.reason.replace(str(found.relaxation), str(relaxation)), relaxation=relaxation
    )


def _conclude(
    problem: Problem,
    judged: Audit,
    draft: Draft,
    watch: Stopwatch,
    seed: int,
    unprotectable: Mapping[int, float],
) -> Suppression:
    pattern = judged.pattern
    assert pattern is not None
    secondary = pattern.hidden & (problem.status != Status.PRIMARY)
    cost = float(problem.weight[secondary].sum())
    bound = draft.lower_bound
    if bound is not None:  # it speaks of what a method adds; what is hidden at the start has its cost anyway
        bound += float(problem.weight[problem.status == Status.SECONDARY].sum())
    hurried = 0  # whoever interrupts a search did not run out of time
    if draft.hurried is not None and not draft.reason.is_interrupt:
        hurried = int((draft.hurried & secondary).sum())
    outcome = Outcome.SAFE if judged.is_safe else Outcome.NOT_SAFE
    # what is proven of the outsider's problem holds for the harder one against more attackers
    if judged.is_safe and bound is not None and cost <= bound * (1 + tolerances.EQUAL):
        outcome = Outcome.OPTIMAL
    return Suppression(
        pattern=pattern,
        audit=judged,
        outcome=outcome,
        reason=_reason(judged, draft, hurried, unprotectable),
        cost=cost,
        lower_bound=bound,
        seconds=watch.seconds,
        seed=seed,
        num_lps=draft.num_lps + judged.num_lps,
        ending=draft.reason,
        hidden_for_lack_of_time=hurried,
        unprotectable=unprotectable,
    )


def _reason(judged: Audit, draft: Draft, hurried: int, unprotectable: Mapping[int, float]) -> str:
    """How the run ended, in words: first of all that time ran out, where it did and more time may help."""
    fault, ending = "" if judged.is_safe else _why_not_safe(judged, draft), draft.reason
    if hurried:
        cells = counted(hurried, "cell is", "cells are")
        what = f"time ran out: {cells} hidden only because there was no time for a cheaper pattern"
        return f"{what}; {fault}. {_remedy(judged)}" if fault else f"{what}. {_remedy(judged)}"
    if fault and ending.is_lack_of_time and not set(judged.unsafe_cells.tolist()) <= set(unprotectable):
        return f"time ran out: {fault}. {_remedy(judged)}"
    return fault or str(ending)


def _remedy(judged: Audit) -> str:
    """What helps where time ran out: another method only where that is what took the time."""
    assert judged.pattern is not None
    is_slow = judged.pattern.method not in ("auto", "hypercube") and has_cubes(judged.problem.table)
    outsider = judged.outsider
    is_about_method = judged.is_safe or outsider is None or not outsider.is_safe
    return REMEDY + FASTER if is_slow and is_about_method else REMEDY


def _why_not_safe(judged: Audit, draft: Draft) -> str:
    """Who is not kept off, and what cut the audit short."""
    stopped = "interrupted: " if draft.reason.is_interrupt else ""
    others = [verdict for verdict in judged.verdicts if not verdict.is_safe]
    names = ", ".join(
        verdict.attacker.words + ("" if verdict.report.is_complete else f" ({verdict.report.reason})")
        for verdict in others
    )
    return f"{stopped}the audit found attackers that are not kept off: {names}"


def _unprotectable(problem: Problem, pattern: Pattern, report: OutsiderReport) -> Int:
    """Cells that outsiders get at although all movable cells that are connected with them are suppressed.

    That is a proof that no pattern protects them, which a method had no time to find.
    """
    unsafe = report.unsafe_cells
    if not len(unsafe) or not report.is_complete:
        return np.zeros(0, dtype=np.int64)
    components = Movement.of(problem).component_of
    others = components[~pattern.hidden & (components >= 0)]
    return np.asarray(unsafe[~np.isin(components[unsafe], others)])
