"""What would help where many cells are hidden: recodings and other weights, measured by short searches.

Nothing is guessed. Every proposal is a job of its own: its tables are tabulated anew from the same records,
its rules find the primary cells anew, and a pattern is searched and audited against the same attackers. The
job as it is goes through the same short search, so that like is compared with like. Former patterns and
releases are left aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cellveil.argus.lexer import quoted
from cellveil.errors import CellveilError, InfeasibleError
from cellveil.job.data_sections import DimensionJob
from cellveil.job.job_attackers import attackers_of_job
from cellveil.job.job_model import Job
from cellveil.job.preparing import prepare
from cellveil.job.sections import WeightsJob
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.report.costly_codes import CostlyDimension, costly_dimensions
from cellveil.report.figures import officials_table
from cellveil.suppression import suppress
from cellveil.tables.dimension import Dimension

OTHER_WEIGHTS = ("value", "one", "log")


@dataclass(frozen=True, kw_only=True)
class AdviceParams(Params):
    """How proposals are made and measured."""

    method: str = param("hypercube", "Method of the short searches: one that needs little time.")
    seconds: float = param(60.0, "Seconds for each search at most.", least=1)
    recodings: int = param(4, "Recodings that are measured at most.", least=0)


@dataclass(frozen=True)
class Proposal:
    """A change of the job: in words, as it is written in a job file, and the changed job."""

    what: str
    setting: str
    job: Job


@dataclass(frozen=True)
class Measured:
    """What a proposal came to.

    Parameters
    ----------
    cells, published
        How many cells the table has, and how many of them are published.
    percent_value
        Share of the published values; None where it would tell too much about a single cell.
    safe
        The audit's verdict.
    why_not
        Why there are no figures, in words; empty where there are.
    """

    what: str
    setting: str
    cells: int = 0
    published: int = 0
    percent_value: float | None = None
    safe: bool = False
    why_not: str = ""

    @property
    def percent_cells(self) -> float:
        """Share of the published cells."""
        return 100 * self.published / self.cells if self.cells else 0.0

    def row(self, number: int) -> tuple[str, str, str, str, str]:
        """The line of a table: number, published cells, their share, that of their values, and what it is."""
        shown = str(number or "")
        if self.why_not:
            return shown, "–", "–", "–", f"{self.what} ({self.why_not})"
        value = "–" if self.percent_value is None else f"{self.percent_value:.1f}"
        what = self.what if self.safe else f"{self.what} (NOT SAFE)"
        return shown, f"{self.published:,} of {self.cells:,}", f"{self.percent_cells:.1f}", value, what


@dataclass(frozen=True)
class Advice:
    """The job as it is, and the proposals, by the same short search."""

    method: str
    as_it_is: Measured
    proposals: tuple[Measured, ...]

    def lines(self) -> list[str]:
        """A table as text, how it was measured, and how each proposal is written in the job."""
        rows = [("", "published cells", "%", "value %", "")]
        rows += [one.row(number) for number, one in enumerate((self.as_it_is, *self.proposals))]
        widths = [max(len(row[place]) for row in rows) for place in range(4)]
        head = f"Measured by method {self.method}, the fastest, and audited; the same for all lines:"
        table = ["  ".join(row[place].rjust(widths[place]) for place in range(4)) for row in rows]
        settings = [f"{number}  {one.setting}" for number, one in enumerate(self.proposals, 1)]
        return [
            head,
            *(f"{line}  {row[4]}".rstrip() for line, row in zip(table, rows, strict=True)),
            *(["In the job file:", *settings] if settings else []),
        ]


def measured_proposals(
    job: Job,
    problem: Problem,
    pattern: Pattern,
    *,
    params: AdviceParams | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Measure what recodings and other weights would give.

    Parameters
    ----------
    problem, pattern
        What the job came to; the pattern shows which codes cost most.
    """
    params, progress = params or AdviceParams(), progress or Progress()
    asked = list(proposals(job, problem, pattern, params))
    progress.phase(Phase.ADVISE)
    measured = []
    for number, one in enumerate((Proposal("as it is", "", job), *asked)):
        progress.stage(one.what)
        progress.advance(number, len(asked) + 1)
        measured.append(_measure(one, problem if number == 0 else None, params))
    return Advice(params.method, measured[0], tuple(measured[1:]))


def proposals(job: Job, problem: Problem, pattern: Pattern, params: AdviceParams) -> Iterator[Proposal]:
    """Recodings of the dimensions that cost most, and other weights.

    Ready-made tables and instances are not recoded: who contributes to several cells is not known there.
    """
    if job.instance is not None:
        return
    made = 0
    dimensions = {dimension.name: dimension for dimension in problem.table.dimensions}
    for costly in costly_dimensions(problem, pattern):
        if not _may_recode(job, costly.name):
            continue
        for what, changes in _recodings(dimensions[costly.name], costly):
            if made < params.recodings:
                made += 1
                yield _recoded(job, costly.name, what, changes)
    for kind in OTHER_WEIGHTS:
        if kind != job.weights.kind:
            changed = job.model_copy(update={"weights": WeightsJob(kind=kind)})
            yield Proposal(f"weights {kind}", f'[weights] kind = "{kind}"', changed)


def _may_recode(job: Job, name: str) -> bool:
    settings = job.dimensions.get(name)
    folded = any(name in table.to_level or name in table.fold for table in job.tables)
    ready_made = any(table.file is not None and name in table.dimensions for table in job.tables)
    return (
        name in job.used_dimensions
        and not (settings and settings.recodings)
        and not folded
        and not ready_made
    )


def _recodings(dimension: Dimension, costly: CostlyDimension) -> Iterator[tuple[str, dict[str, object]]]:
    """The lowest level left out and the dearest branch folded; in a flat dimension two codes joined."""
    if len(dimension.hierarchies) != 1:
        return
    tree, dearest = dimension.hierarchies[0], costly.codes[0].code
    if tree.depth > 1:
        yield f"{dimension.name} without its lowest level", {"to_level": tree.depth - 1}
        above = next((parent for parent, child in tree.pairs() if child == dearest), tree.root)
        if above != tree.root:
            yield f"{dimension.name} folded at {above}", {"fold": [above]}
        return
    codes = [code for code in tree.codes if code != tree.root]
    if len(codes) > 2 and not any(mark in code for code in codes for mark in '"\t\r\n'):
        cost = {code.code: code.share for code in costly.codes}
        place = codes.index(dearest)
        beside = [codes[other] for other in (place - 1, place + 1) if 0 <= other < len(codes)]
        other = max(beside, key=lambda code: cost.get(code, 0.0))
        pair = [code for code in codes if code in (dearest, other)]
        yield (
            f"{dimension.name}: {pair[0]} and {pair[1]} joined",
            {"join": {"+".join(pair): ", ".join(map(quoted, pair))}},
        )


def _recoded(job: Job, name: str, what: str, changes: dict[str, object]) -> Proposal:
    settings = job.dimensions.get(name, DimensionJob())
    dimensions = dict(job.dimensions) | {name: settings.model_copy(update=changes)}
    (key, value), *_ = changes.items()
    written = (
        "{" + ", ".join(f"\"{new}\" = '{old}'" for new, old in value.items()) + "}"
        if isinstance(value, dict)
        else str(value).replace("'", '"')
    )
    setting = f"[dimensions.{name}] {key} = {written}"
    return Proposal(what, setting, job.model_copy(update={"dimensions": dimensions}))


def _measure(proposal: Proposal, problem: Problem | None, params: AdviceParams) -> Measured:
    job = proposal.job
    try:
        if problem is None:
            problem = prepare(job, Progress()).problem
        found = suppress(
            problem,
            params.method,
            attackers=attackers_of_job(job, problem),
            time_limit=params.seconds,
            seed=job.suppress.seed,
            options={"run.bound_seconds": 0},
        )
    except InfeasibleError:
        return Measured(proposal.what, proposal.setting, why_not="cannot be protected")
    except CellveilError as error:
        return Measured(proposal.what, proposal.setting, why_not=f"not possible: {error}")
    if found.was_interrupted:
        raise KeyboardInterrupt
    if found.hidden_for_lack_of_time:
        return Measured(proposal.what, proposal.setting, why_not="time ran out")
    line = next(line for line in officials_table(problem, found.pattern) if line.name == "published")
    return Measured(
        proposal.what,
        proposal.setting,
        problem.table.num_cells,
        line.cells,
        line.percent_value,
        found.is_safe,
    )
