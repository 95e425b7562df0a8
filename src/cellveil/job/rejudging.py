"""What came back from elsewhere, judged here: whoever did a search has no say in what is released.

Requires a job that was read here, and what a worker says that it found for it: claims, all of them. Ensures
that whatever is called safe afterwards is about the problem as it was read here, and that everybody whom the
job names is kept off, by a certificate that the verifier here accepts, or else by an audit done here. Beside
former releases, and for adjusted tables, there are no certificates: these are audited here, always.

What a worker says of intervals, costs, bounds and times stands in the report as it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from cellveil.attackers.attacker import Attacker
from cellveil.certificate import verify
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.clock import Deadline
from cellveil.errors import InputError, WorkerError
from cellveil.job.finding import Finding, instead_of_pattern, limits_asked
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.past import Past
from cellveil.job.ready_job import ReadyJob
from cellveil.job.searched import JudgedPattern
from cellveil.judge import Audit, Verdict, audit
from cellveil.judge.insider_certificate import named
from cellveil.pattern import Pattern
from cellveil.previous.together import MORE_TIME, with_requirements_of
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.report.adjustment_figures import adjusted_figures
from cellveil.suppression.infeasible.relaxing import relaxed_like

if TYPE_CHECKING:
    from cellveil.adjustment import Adjustment

OUTSIDER = Attacker()

NOTHING = "; nothing was written."


def rejudged(ready: ReadyJob, found: Finding, progress: Progress) -> Finding:
    """What a worker found for a job, as far as it is shown here.

    Raises
    ------
    WorkerError
        Where it is called safe and is not: by a proof that does not hold, or a table that keeps too little.
    """
    judged = _rejudged_pattern(ready, found.judged, progress)
    adjusted, adjustment = found.adjusted, found.adjustment
    if adjusted is not None:
        adjusted = _rejudged_table(ready, adjusted)
        adjustment = adjusted_figures(ready.prepared.problem, adjusted, judged.suppression)
    instead = instead_of_pattern(ready, adjusted)
    return replace(found, judged=judged, adjusted=adjusted, adjustment=adjustment, instead=instead)


def _rejudged_pattern(ready: ReadyJob, claimed: JudgedPattern, progress: Progress) -> JudgedPattern:
    """The pattern, and the verdict on it as it is shown here."""
    past = ready.past.without_known(claimed.audit, progress)
    problem = _problem(ready, past, claimed)
    pattern, tested = _pattern(problem, claimed.suppression.pattern), attackers_of_job(ready.job, problem)
    came = claimed.audit.attackers
    attackers = [one for one in tested.attackers if one not in tested.if_time or one in came]
    verdicts = _verdicts(problem, pattern, (OUTSIDER, *attackers), claimed.audit, progress)
    found = Audit.of(problem, pattern, verdicts)
    limit = ready.job.suppress.time_limit
    beside = past.beside(
        found,
        claimed.audit,
        claimed.suppression.relaxation,
        tested,
        deadline=Deadline(None if limit is None else MORE_TIME * limit),  # as a job by itself has it
        progress=progress,
    )
    return replace(
        claimed,
        job=ready.job,
        prepared=ready.prepared,
        past=ready.past,
        problem=problem if past.accepted else _problem(ready, ready.past, claimed),
        suppression=replace(claimed.suppression, pattern=pattern, audit=found),
        audit=beside,
        tested=tested,
    )


def _problem(ready: ReadyJob, past: Past, claimed: JudgedPattern) -> Problem:
    """The problem of the job, relaxed like that of the worker where the job allows it."""
    known, relaxation = past.problem, claimed.suppression.relaxation
    if relaxation is None:
        return known
    if relaxation.lowered and not ready.job.suppress.relax:
        raise WorkerError(f"levels that the job does not relax came back lowered{NOTHING}")
    asked = known.status == Status.PRIMARY
    return with_requirements_of(relaxed_like(known, relaxation), asked)  # not of cells that are known already


def _pattern(problem: Problem, claimed: Pattern) -> Pattern:
    """The same cells hidden, in this problem."""
    try:
        return Pattern.hiding(problem, claimed.hidden, claimed.method)
    except InputError:
        raise WorkerError(f"what came back is no pattern of the table{NOTHING}") from None


def _verdicts(
    problem: Problem, pattern: Pattern, asked: Sequence[Attacker], claimed: Audit, progress: Progress
) -> list[Verdict]:
    """One verdict on each attacker: as it came where it says “not safe” or is proven here; else made here."""
    came = [
        replace(verdict, known=problem.known_within(attacker.prior))
        for attacker in asked
        for verdict in claimed.verdicts
        if verdict.attacker == attacker
    ]
    if not all(verdict.is_safe for verdict in came):
        return came
    shown = _shown(problem, pattern, came)
    found: list[Verdict] = []
    for attacker in asked:
        if any(verdict.attacker == attacker for verdict in found):
            continue
        proven = [each for each in came if each.attacker == attacker and named(problem, attacker) in shown]
        if not proven:
            proven += audit(problem, pattern, attackers=attacker, exact=False, progress=progress).verdicts
        found.append(proven[0])
    return found


def _shown(problem: Problem, pattern: Pattern, came: Sequence[Verdict]) -> list[NamedAttacker]:
    """Whom the certificate that these verdicts make up, as it would be written, shows to be kept off."""
    try:
        found = verify(problem, pattern, Audit.of(problem, pattern, came).certificate)
    except InputError:
        raise WorkerError(f"what came back has no proof{NOTHING}") from None
    if not found.is_valid:
        raise WorkerError(f"what came back does not prove the pattern{NOTHING}")
    return [proof.attacker for proof in found.proofs]


def _rejudged_table(ready: ReadyJob, claimed: Adjustment) -> Adjustment:
    """The adjusted table, and the verdict on it as it is found here."""
    if ready.job.adjust is None:
        raise WorkerError(f"an adjusted table came back that the job does not ask for{NOTHING}")
    limits = asdict(limits_asked(ready.job.adjust))
    found = replace(
        claimed, audit=audit(ready.prepared.problem, claimed.values, limits=limits), limits=limits
    )
    if claimed.is_safe and not found.is_safe:
        raise WorkerError(f"the adjusted table that came back does not keep what is asked{NOTHING}")
    return found
