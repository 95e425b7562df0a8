"""One problem of several tables that share cells: statuses, levels and weights of their joint table.

Where tables differ about a common cell, the stricter holds: unsafe before hidden before published, and the
larger level, whole against insiders if one of the tables does not say where its level comes from. What
everybody knows beforehand is what the joint table tells: values of at least 0, unless some are negative, and
counts of at least 1 where no table may hide a zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status, defaults
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import cells_in, link
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table

STRICTNESS = (Status.SAFE, Status.FROZEN, Status.SECONDARY, Status.PRIMARY)
LEVELS = ("lpl", "upl", "spl")
JOINED = "+"
"""Set behind a joined code that has the name of a code from before."""


def linked_problem(
    problems: Sequence[Problem], tables: Sequence[Table] | None = None
) -> tuple[Problem, list[Int]]:
    """The joint problem, and for each table the numbers that its cells have there.

    Parameters
    ----------
    tables
        The tables as they are linked, see `refined`; by default those of the problems.

    Raises
    ------
    InputError
        When common cells have different values, or codes contradict each other.
    """
    if len(problems) == 1:
        return problems[0], [np.arange(problems[0].table.num_cells)]
    tables = [problem.table for problem in problems] if tables is None else tables
    table = link(tables)
    places = [cells_in(table, one) for one in tables]
    return _joined(table, problems, places), places


def refined(table: Table, name: str, goal: Mapping[str, str]) -> Table:
    """The same cells in a dimension that also has the codes from before a recoding, below the joined ones.

    Linked with a table of these codes, the joined ones are then seen to be their sums.

    Parameters
    ----------
    goal
        The joined code of each code.
    """
    axis = [dimension.name for dimension in table.dimensions].index(name)
    dimension = table.dimensions[axis]
    parts: dict[str, list[str]] = {}
    for old, new in goal.items():
        parts.setdefault(new, []).append(old)
    renamed = {code: code for code in dimension.codes}
    for new, olds in parts.items():
        while olds != [new] and renamed[new] in goal:
            renamed[new] += JOINED
    pairs = [
        (renamed[above], renamed[below]) for tree in dimension.hierarchies for above, below in tree.pairs()
    ]
    pairs += [(renamed[new], old) for new, olds in parts.items() for old in olds if olds != [new]]
    finer = Dimension.of(name, Hierarchy.from_pairs(pairs, root=renamed[dimension.hierarchies[0].root]))
    numbers = np.array([finer.index[renamed[code]] for code in dimension.codes], dtype=np.int32)
    keys = [*table.keys]
    keys[axis] = numbers[keys[axis]]
    dimensions = [*table.dimensions]
    dimensions[axis] = finer
    return table.replace(dimensions=tuple(dimensions), keys=tuple(keys))


def stricter(first: Problem, second: Problem) -> Problem:
    """Two problems of one table as one."""
    places = [np.arange(first.table.num_cells)] * 2
    return _joined(first.table, [first, second], places)


def _joined(table: Table, problems: Sequence[Problem], places: Sequence[Int]) -> Problem:
    fields = _fields(defaults(table), problems, places, table.decimals)
    fields["lb"] = _least(fields["lb"], problems, places)
    unsafe = fields["status"] == Status.PRIMARY
    fields["reasons"] = _marked([problem.reasons for problem in problems], places, unsafe)
    unknown = np.zeros(table.num_cells, dtype=bool)
    for problem, cells in zip(problems, places, strict=True):
        unknown[cells[_without_origin(problem)]] = True
    fields["origins"] = _marked([problem.origins for problem in problems], places, unsafe & ~unknown)
    waived = np.zeros(table.num_cells, dtype=bool)
    for problem, cells in zip(problems, places, strict=True):
        if problem.waived is not None:
            waived[cells[problem.waived]] = True
    fields["waived"] = waived & ~unsafe if (waived & ~unsafe).any() else None
    return Problem(table, **fields)


def _least(lb: Int, problems: Sequence[Problem], places: Sequence[Int]) -> Int:
    """Lower bounds; a count is at least 1 where all of its tables say so."""
    least = np.full(len(lb), UNBOUNDED, dtype=np.int64)
    for problem, cells in zip(problems, places, strict=True):
        np.minimum.at(least, cells, problem.lb)
    return np.where((lb == 0) & (least == 1), 1, lb)


def _without_origin(problem: Problem) -> Bool:
    """Unsafe cells whose level no rule of the table accounts for: against insiders it holds whole."""
    known = np.zeros(problem.table.num_cells, dtype=bool)
    for marked in problem.origins.values():
        known |= marked
    return np.asarray((problem.status == Status.PRIMARY) & ~known)


def _fields(
    fields: dict[str, Any], problems: Sequence[Problem], places: Sequence[Int], decimals: int
) -> dict[str, Any]:
    """Statuses, weights and levels, cell by cell the strictest of the tables'."""
    rank = np.zeros(len(fields["status"]), dtype=np.int64)
    weight = np.zeros(len(rank))
    order = {int(status): place for place, status in enumerate(STRICTNESS)}
    for problem, cells in zip(problems, places, strict=True):
        factor = 10 ** (decimals - problem.table.decimals)
        np.maximum.at(rank, cells, np.array([order[int(status)] for status in problem.status]))
        np.maximum.at(weight, cells, problem.weight)
        for name in LEVELS:
            np.maximum.at(fields[name], cells, getattr(problem, name) * factor)
    fields["status"] = np.array([int(status) for status in STRICTNESS], dtype=np.int8)[rank]
    fields["weight"] = weight
    return fields


def _marked(parts: Sequence[Any], places: Sequence[Int], unsafe: Any) -> dict[Any, Any]:
    """The cells of each name, in the joint table, as far as they are unsafe."""
    joint: dict[Any, Any] = {}
    for part, cells in zip(parts, places, strict=True):
        for name, marks in part.items():
            joint.setdefault(name, np.zeros(len(unsafe), dtype=bool))[cells[marks]] = True
    return {name: marks & unsafe for name, marks in joint.items()}


def with_published(problem: Problem, cells: Int, pattern: Pattern) -> Problem:
    """The problem in which some cells are as they were published: hidden ones stay so, others are frozen.

    An unsafe cell that was published stays unsafe: then no pattern is possible.
    """
    status = problem.status.copy()
    hidden = pattern.hidden
    free = np.isin(status[cells], (Status.SAFE, Status.FROZEN))
    status[cells[free & hidden]] = Status.SECONDARY
    status[cells[free & ~hidden]] = Status.FROZEN
    return problem.replace(status=status)
