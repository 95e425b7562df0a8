"""The pattern of a former month in a job: its cells are cheaper to hide, and what it published can be frozen.

Requires the problem of the job and the former pattern. Ensures: only cells that are neither primary nor set
by hand are changed, so that nothing is less protected; codes that came or went since do no harm, as cells are
found by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool
from cellveil.errors import InputError
from cellveil.formats.former_pattern import read_former_pattern
from cellveil.job.job_model import Job
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.publishing.pattern_changes import PatternChanges
from cellveil.tables.named_keys import CellKey, cell_keys


@dataclass(frozen=True, repr=False, eq=False)
class PreviousPattern:
    """A job's problem in the light of a former pattern.

    Parameters
    ----------
    problem
        With other weights, and with frozen cells.
    frozen
        Cells that are frozen only because they were published before.
    keys
        The cells by name.
    was_hidden
        For each cell of the former pattern: whether it was hidden.
    """

    problem: Problem
    frozen: Bool
    keys: list[CellKey]
    was_hidden: Mapping[CellKey, bool]

    def changes_to(self, pattern: Pattern) -> PatternChanges:
        """What a new pattern hides that the former one did not, and the other way round."""
        return PatternChanges.between(
            self.was_hidden, dict(zip(self.keys, pattern.hidden.tolist(), strict=True))
        )


def previous_pattern(job: Job, problem: Problem) -> PreviousPattern | None:
    """Read the former pattern that the job names, and let it have its say; None where there is none.

    Raises
    ------
    InputError
        When it has no cell of the table.
    """
    asked = job.previous
    if asked is None:
        return None
    with job.placing_errors("previous"):
        was_hidden = read_former_pattern(asked.file, problem.table)
        keys = cell_keys(problem.table)
        known = np.array([key in was_hidden for key in keys], dtype=bool)
        if not known.any():
            raise InputError(
                "no cell of the previous pattern is in the table",
                remedy="Check the names of dimensions and codes, or name another pattern.",
            )
    hidden = np.array([was_hidden.get(key, False) for key in keys], dtype=bool)
    is_free = problem.status == Status.SAFE
    frozen = known & ~hidden & is_free & (asked.freeze == "published")
    changed = problem.replace(
        weight=np.where(hidden & is_free, problem.weight * asked.weight, problem.weight),
        status=np.where(frozen, Status.FROZEN, problem.status).astype(np.int8),
    )
    return PreviousPattern(changed, frozen, keys, was_hidden)
