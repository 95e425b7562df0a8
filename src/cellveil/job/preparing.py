"""What a job protects: its tables read or tabulated, with the cells that its rules call unsafe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cellveil.errors import InputError
from cellveil.formats.instance import read_instance
from cellveil.job.build_tables import BuiltTables, Labels, build_tables, read_labels
from cellveil.job.job_attackers import depth_of_attackers
from cellveil.job.job_model import Job
from cellveil.problem import Problem
from cellveil.progress import Phase, Progress
from cellveil.publishing import TablePart
from cellveil.publishing.imprint import subject_of
from cellveil.rules import Rule, rule_from_dict
from cellveil.rules.apply import Primary, check_bounds_reason, find_primaries, num_excused
from cellveil.tables.cells import cell_number

MIN_DEPTH = 3
"""Least number of largest contributions kept for each cell."""


MANY_CELLS, MOST_UNSAFE = 20, 0.9
"""From so many cells and such a share of unsafe ones on, a table is hardly what was meant."""

MANY_DATES = 8
DATE = re.compile(
    r"\d{4}[-./]\d\d?[-./]\d\d?(?:[T ][\d:.+Z-]+)?|\d\d?[./-]\d\d?[./-]\d{4}"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
)
"""Days, as databases, spreadsheets and people write them."""


@dataclass(frozen=True, repr=False, eq=False)
class Prepared:
    """What a job protects.

    Parameters
    ----------
    problem
        The table with its unsafe cells.
    facts
        What the rules made of levels and waivers.
    labels
        Labels of codes.
    tables
        The tables of the job, where there are several, or one has a name.
    """

    problem: Problem
    facts: Mapping[str, Any]
    labels: Labels
    tables: tuple[TablePart, ...] = ()

    def of(self, problem: Problem) -> Prepared:
        """The same with another problem of the same table."""
        return replace(self, problem=problem)


def prepare(job: Job, progress: Progress, records: Any = None) -> Prepared:
    """Read or tabulate the tables of a job and apply its rules; `progress` is told what was guessed."""
    if job.instance is not None:
        with job.placing_errors("instance"):
            problem = read_instance(job.instance).replace(bounds_reason=job.bounds_reason.strip())
            check_bounds_reason(problem)
        return Prepared(problem, {}, read_labels(job.labels, problem.table, {}))
    for note in job.inferred:
        progress.note(note)
    rule = rule_from_dict(job.rules) if job.rules else None
    depth = depth_kept(job)
    built = build_tables(job, depth, progress, records)
    labels = read_labels(job.labels, built.table, built.labels)
    progress.phase(Phase.RULES)
    primary = _primaries(job, built, rule)
    _note_odd_dimensions(built, primary.problem, progress)
    facts = {"levels cut at known bounds": primary.num_clipped, "cells waived": primary.num_waived}
    excused = num_excused(built.table, rule) if rule else None
    if excused is not None:
        facts["cells safe by waivers of contributors"] = excused
    return Prepared(primary.problem, facts, labels, _parts(job, built))


def depth_kept(job: Job) -> int:
    """How many of the largest contributions of each cell are kept, for rules and attackers."""
    rule = rule_from_dict(job.rules) if job.rules else None
    return max(rule.depth if rule else 1, MIN_DEPTH, depth_of_attackers(job))


def _note_odd_dimensions(built: BuiltTables, problem: Problem, progress: Progress) -> None:
    """Tell of tables that are nearly all unsafe, and of dimensions whose codes are dates."""
    for dimension in built.table.dimensions:
        leaves = [code for n, code in enumerate(dimension.codes) if not dimension.is_parent[n]]
        if len(leaves) >= MANY_DATES and all(map(DATE.fullmatch, leaves)):
            progress.note(
                f"dimension {dimension.name!r}: WARNING: its {len(leaves):,} codes are dates. If the table "
                "is not by day, give months or years in a column of their own"
            )
    filled, unsafe = int((built.table.values != 0).sum()), len(problem.primaries)
    if filled >= MANY_CELLS and unsafe >= MOST_UNSAFE * filled:
        progress.note(
            f"WARNING: {unsafe:,} of {filled:,} cells that are not 0 ({100 * unsafe / filled:.0f} %) are "
            "unsafe. Check that dimensions and rules are those of the table, or recode"
        )


def _parts(job: Job, built: BuiltTables) -> tuple[TablePart, ...]:
    """The tables under their names; none where there is one that has none."""
    if len(job.tables) == 1 and job.tables[0].name is None:
        return ()
    return tuple(
        TablePart(asked.name or subject_of(table.variable, table.dimensions, job.language), table, cells)
        for asked, (table, cells) in zip(job.tables, built.parts, strict=True)
    )


def _primaries(job: Job, built: BuiltTables, rule: Rule | None) -> Primary:
    table = built.table
    by_hand: dict[int, int] = {}  # cell → the first of the job's settings of it
    statuses: list[tuple[int, str]] = []
    waived: list[int] = []
    for position, cell in enumerate(job.cells):
        with job.placing_errors("cells", position):
            number = cell_number(table, cell.key)
        by_hand.setdefault(number, position)
        statuses.append((number, cell.status))
        waived += [number] if cell.waived else []
    try:
        return find_primaries(
            table,
            rule,
            weight=job.weights.kind,
            power=job.weights.power,
            box_cox=job.weights.box_cox,
            distance=job.weights.distance,
            statuses=statuses,
            waived=waived,
            given=built.given,
            bounds=job.bounds,
            bounds_reason=job.bounds_reason,
            lower_factor=job.levels.lower_factor,
            upper_factor=job.levels.upper_factor,
            spl=job.levels.sliding,
            safety_range=job.levels.safety_range,
        )
    except InputError as error:
        named = [place for cell, place in by_hand.items() if table.cell_name(cell) == error.cell]
        with job.placing_errors(*(("cells", named[0]) if named else ("rules",))):
            raise
