"""Problems without a common cell as one problem, and pools whose workers lie, break or are lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cellveil.problem import Problem
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table
from cellveil.tasks import InProcess, Reply

FIELDS = ("status", "weight", "lb", "ub", "lpl", "upl", "spl")


def side_by_side(*problems: Problem) -> Problem:
    """The cells of all, one after the other, in a table without dimensions."""
    count = sum(problem.table.num_cells for problem in problems)
    offset, relations = 0, []
    for problem in problems:
        own = problem.table
        relations.append(own.relations.renumber(count, offset + np.arange(own.num_cells)))
        offset += own.num_cells
    table = Table(
        (Dimension.unstructured(CELL, map(str, range(count))),),
        (np.arange(count, dtype=np.int32),),
        np.concatenate([problem.table.values for problem in problems]),
        problems[0].table.decimals,
        Relations.stack(relations),
    )
    fields = {name: np.concatenate([getattr(problem, name) for problem in problems]) for name in FIELDS}
    return Problem(table, **fields)


class TamperedPool(InProcess):
    """Does tasks here; what comes back goes through `changed(number, reply)` first."""

    def __init__(self, changed: Callable[[int, Reply[Any]], Reply[Any]]) -> None:
        self._changed = changed

    def replies(
        self, work: Any, shared: Any, tasks: Sequence[Any], *, may_stop: bool = False
    ) -> Iterator[tuple[int, Reply[Any]]]:
        for number, reply in super().replies(work, shared, tasks):
            yield number, self._changed(number, Reply(reply.value, reply.error))
