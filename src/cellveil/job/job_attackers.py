"""Attackers of a job: single contributors by default, and those that it names."""

from __future__ import annotations

from cellveil.attackers.attacker import OUTSIDERS, Attacker
from cellveil.attackers.default_attackers import ADJUSTED, AttackersTested, attackers_tested
from cellveil.job.job_model import Job
from cellveil.problem import Problem
from cellveil.rules import rule_from_dict

LISTED = 10
"""Largest contributions kept for each cell: who is not among them is taken for as much as the smallest."""


def depth_of_attackers(job: Job) -> int:
    """How many of the largest contributions of each cell the attackers of a job make worth keeping."""
    named = [attacker.coalition for attacker in job.attackers or () if attacker.kind not in OUTSIDERS]
    by_default = [1] if job.microdata is not None and job.tests_defaults else []
    insiders = [*named, *by_default]
    return max(LISTED, max(insiders) + 2) if insiders else 1


def attackers_of_job(job: Job, problem: Problem) -> AttackersTested:
    """Whom the audit tests besides plain outsiders."""
    if job.adjust is not None and job.adjust.publish:
        return AttackersTested(why_no_insiders=ADJUSTED)
    named = None if job.attackers is None else [Attacker(**one.model_dump()) for one in job.attackers]
    level = "holding" if job.rules and rule_from_dict(job.rules).looks_at_holdings else None
    return attackers_tested(problem, named, defaults=job.default_attackers, level=level)
