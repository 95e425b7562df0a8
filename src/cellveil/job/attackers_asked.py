"""Attackers of a job: single contributors are kept off where they are known, unless the job says otherwise.

Requires the job and the problem made from it. Where the job names no attackers, and the table knows its
contributors by their ids, insiders are asked: holdings where a rule of the job looks at these, units
otherwise. Ensures that a job against outsiders only says why: by its own decision, or for lack of ids.
"""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.attackers.attacker import OUTSIDERS, Attacker
from cellveil.attackers.own_parts import OwnParts
from cellveil.errors import InputError
from cellveil.job.job_model import Job
from cellveil.problem import Problem
from cellveil.rules import rule_from_dict

BY_DECISION = "by decision of the job"
ADJUSTED = "as adjusted tables are audited against outsiders only"
NOT_KNOWN = "as the table does not know its contributors"
WITHOUT_IDS = "as the contributors have no ids"


LISTED = 10
"""Largest contributions kept for each cell: who is not among them is taken for as much as the smallest."""


@dataclass(frozen=True)
class AttackersAsked:
    """Whom a job keeps off besides outsiders.

    Parameters
    ----------
    why_no_insiders
        Why no contributors are among them, in words; empty where some are.
    """

    attackers: tuple[Attacker, ...] = ()
    why_no_insiders: str = ""


def depth_asked(job: Job) -> int:
    """How many of the largest contributions of each cell the attackers of a job make worth keeping."""
    if job.attackers is None:
        return LISTED if job.microdata is not None and job.microdata.contributor is not None else 1
    insiders = [attacker.coalition for attacker in job.attackers if attacker.kind not in OUTSIDERS]
    return max(LISTED, max(insiders) + 2) if insiders else 1


def attackers_asked(job: Job, problem: Problem) -> AttackersAsked:
    """The attackers that the job names, or the insiders that are asked by default."""
    if job.attackers is not None:
        named = tuple(Attacker(**attacker.model_dump()) for attacker in job.attackers)
        decided = all(attacker.is_outsider for attacker in named)
        return AttackersAsked(named, BY_DECISION if decided else "")
    if job.adjust is not None and job.adjust.publish:
        return AttackersAsked(why_no_insiders=ADJUSTED)
    level = "holding" if job.rules and rule_from_dict(job.rules).looks_at_holdings else "unit"
    known = problem.table.holdings if level == "holding" else problem.table.units
    if known is None:
        return AttackersAsked(why_no_insiders=NOT_KNOWN)
    if not known.names:
        return AttackersAsked(why_no_insiders=WITHOUT_IDS)
    try:
        OwnParts.of(problem, level)
    except InputError as error:
        return AttackersAsked(why_no_insiders=f"as {error.what}")
    return AttackersAsked((Attacker("insider", level=level),))
