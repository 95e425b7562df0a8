"""Everything of a job but the search: its tables, primary cells by rule, demands, attackers, likely plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.default_attackers import attackers_in_words, untested_in_words
from cellveil.clock import Deadline
from cellveil.deviations.demand import Demands
from cellveil.errors import counted, name_some
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.job_model import Job
from cellveil.job.output_folder import check_output
from cellveil.job.past import Past
from cellveil.job.preparing import Prepared, prepare
from cellveil.job.ready_job import check_release
from cellveil.params import Params, param
from cellveil.previous.joint import JointProblem
from cellveil.problem import Problem, Status
from cellveil.progress import NoteTaker, Phase, Progress
from cellveil.report.costly_codes import MUCH
from cellveil.report.figures import rules_fired
from cellveil.rules import rule_from_dict
from cellveil.suppression.bounds.cover import cover_bound
from cellveil.tables.table import Table


@dataclass(frozen=True, kw_only=True)
class CheckParams(Params):
    """How a job is checked."""

    seconds: float = param(5.0, "Seconds for the bound that tells whether protection is possible.", least=0)
    large: int = param(20_000, "Cells from which on a job should have a time limit.", least=0)


@dataclass(frozen=True)
class TableCheck:
    """One table of a job: dimensions with the number of their codes, and how many cells it has."""

    name: str
    dimensions: dict[str, int]
    cells: int


@dataclass(frozen=True)
class JobCheck:
    """What a job will ask, before anything is searched.

    Parameters
    ----------
    engine
        What tabulates the microdata; empty where there are none.
    primaries, frozen, hidden, zeros
        Unsafe cells; cells that must be published; cells that are hidden from the start beside the unsafe
        ones; cells whose value is 0.
    demands
        Levels that a pattern must meet.
    against, not_asked
        Which attackers are tested, and which are not, in words.
    method, plan
        The method, and the plan that it will likely take; empty for other methods than `auto`.
    feasible
        False where some relation shows that cells cannot be protected whatever is hidden; True means that
        no single relation speaks against it.
    warnings
        What somebody should look at.
    notes
        What was taken for granted about the data.
    """

    title: str
    engine: str
    tables: tuple[TableCheck, ...]
    cells: int
    relations: int
    primaries: int
    rules: dict[str, int]
    frozen: int
    hidden: int
    zeros: int
    demands: int
    against: str
    not_asked: str
    method: str
    plan: str
    time_limit: float | None
    feasible: bool
    warnings: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as data for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The same as text."""
        share = f"{100 * self.primaries / self.cells:.1f} %" if self.cells else "none"
        limit = "no time limit" if self.time_limit is None else f"time limit {self.time_limit:g} s"
        plan = f", likely by the plan {self.plan}" if self.plan else ""
        frozen = f"; {self.frozen:,} must be published" if self.frozen else ""
        hidden = f"; {self.hidden:,} hidden from the start" if self.hidden else ""
        return [
            self.title or "Job",
            *([f"Engine      {self.engine} tabulates the microdata"] if self.engine else []),
            *(
                f"Table       {table.name}: {_sizes(table)}, {counted(table.cells, 'cell')}"
                for table in self.tables
            ),
            f"Together    {counted(self.cells, 'cell')}, {self.zeros:,} of them 0, "
            f"{counted(self.relations, 'relation')}",
            f"Unsafe      {counted(self.primaries, 'cell')} ({share}){frozen}{hidden}",
            *(f"  by        {name}: {count:,}" for name, count in self.rules.items()),
            f"Demands     {counted(self.demands, 'level')} to be met",
            f"Against     {self.against}; not tested: {self.not_asked}",
            f"Method      {self.method}{plan}, {limit}",
            *(f"Note        {note}" for note in self.notes),
            *(f"WARNING     {warning}" for warning in self.warnings),
            "Everything is in place."
            if self.feasible
            else "INFEASIBLE: some unsafe cells cannot be protected whatever is hidden; `cellveil run` names "
            "them, and what would help.",
        ]


def _sizes(table: TableCheck) -> str:
    return " × ".join(f"{name} {codes:,}" for name, codes in table.dimensions.items())


def check_job(job: Job, *, params: CheckParams | None = None, progress: Progress | None = None) -> JobCheck:
    """Do everything that a run does before its search, and say what the search will be asked.

    Nothing is written.

    Raises
    ------
    InputError
        As a run would.
    """
    params, progress = params or CheckParams(), progress or Progress()
    check_output(job.output, job.confidential_inputs())
    progress.plan([Phase.READ, Phase.RULES, Phase.FEASIBLE])
    progress.phase(Phase.READ)
    taker = NoteTaker(progress)
    with job.placing_errors():
        prepared = prepare(job, taker)
        past = Past.of(job, prepared.problem)
        problem = past.problem
        check_release(job, prepared)
    tested = attackers_of_job(job, problem)
    everybody = [Attacker(), *(one for one in tested.attackers if not one.is_plain_outsider)]
    deadline = Deadline(params.seconds)
    progress.phase(Phase.FEASIBLE, deadline)
    bound = cover_bound(problem, deadline=deadline).bound
    feasible = bool(np.isfinite(bound))
    price = [] if past.joint is None else _price(past.joint, bound, deadline)
    table, status = problem.table, problem.status
    assumed = f", assuming that {problem.assumption}" if problem.assumption else ""
    why = f", {tested.why_no_insiders}" if tested.why_no_insiders else ""
    return JobCheck(
        title=job.title,
        engine=str(job.microdata.engine_choice()) if job.microdata else "",
        tables=tuple(_tables(job, prepared)),
        cells=table.num_cells,
        relations=len(table.relations),
        primaries=len(problem.primaries),
        rules=rules_fired(problem),
        frozen=int(((status == Status.FROZEN) & (table.values != 0)).sum()),
        hidden=int((status == Status.SECONDARY).sum()),
        zeros=int((table.values == 0).sum()),
        demands=Demands(problem).left,
        against=f"{attackers_in_words(problem, everybody)}{assumed}",
        not_asked=f"{untested_in_words(problem, everybody)}{why}",
        method=job.suppress.method,
        plan=_plan(job, problem, feasible),
        time_limit=job.suppress.time_limit,
        feasible=feasible,
        warnings=(*_warnings(job, problem, params), *price),
        notes=(*taker.notes, *(() if past.joint is None else (fact.line() for fact in past.joint.facts))),
    )


def _tables(job: Job, prepared: Prepared) -> list[TableCheck]:
    if prepared.tables:
        return [_table_check(part.name, part.table) for part in prepared.tables]
    table = prepared.problem.table
    return [_table_check(job.tables[0].name if job.tables and job.tables[0].name else table.variable, table)]


def _table_check(name: str, table: Table) -> TableCheck:
    return TableCheck(name, {d.name: len(d) for d in table.dimensions}, table.num_cells)


def _plan(job: Job, problem: Problem, feasible: bool) -> str:
    if job.suppress.method != "auto" or not len(problem.primaries):
        return ""
    from cellveil.suppression.methods.auto import likely_plan

    return likely_plan(problem, feasible)


RATIO = 1.1
"""Ratio of lower bounds from which on earlier releases are said to cost something."""


def _price(joint: JointProblem, alone: float, deadline: Deadline) -> list[str]:
    """What earlier releases make protection cost, as far as lower bounds tell."""
    if not joint.releases:
        return []
    together = cover_bound(joint.problem, deadline=deadline).bound
    found = []
    if np.isfinite(together) and together > RATIO * alone:
        times = f"at least {together / alone:.1f} times as much" if alone > 0 else "more"
        found.append(
            f"beside {name_some(joint.releases)} protection costs {times} as by itself, by lower bounds"
        )
    crossing = joint.problem.table.num_cells - joint.num_own - joint.num_former
    if crossing:
        found.append(
            f"codes cross those of {name_some(joint.releases)} ({crossing:,} unpublished cells tie them): "
            "this can cost several times as much as codes of one hierarchy"
        )
    return found


def _warnings(job: Job, problem: Problem, params: CheckParams) -> list[str]:
    cells, primaries = problem.table.num_cells, len(problem.primaries)
    found = []
    if not primaries:
        found.append("no cell is unsafe, so that nothing will be hidden")
    if cells and 100 * primaries > MUCH * cells:
        found.append(
            f"{100 * primaries / cells:.0f} % of the cells are unsafe: coarser dimensions may publish more"
        )
    if cells >= params.large and job.suppress.time_limit is None:
        found.append("a large table without a time limit: the search may take long ([suppress] time_limit)")
    fired = rules_fired(problem)
    simple = [rule_from_dict(rule).text for rule in job.rules if "rule" in rule]
    return [*found, *(f"a rule never fires: {text}" for text in simple if primaries and text not in fired)]
