"""The public view: the relations, the values that are not hidden, and common knowledge. No hidden value.

An attacker gets a `PublicView` and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Int, freeze
from cellveil.files import sha256
from cellveil.pattern import Pattern, check_pattern
from cellveil.problem import Problem, check_problem
from cellveil.shown import Shown
from cellveil.tables.relations import Relations


@dataclass(frozen=True, repr=False, eq=False)
class PublicView(Shown):
    """Everything an outsider sees or knows.

    Parameters
    ----------
    relations
        How the cells add up.
    hidden
        Which cells are not published; primary and secondary look alike.
    published
        The values, 0 where hidden.
    lb, ub
        What everybody knows of the hidden values.
    """

    relations: Relations
    hidden: Bool
    published: Int
    lb: Int
    ub: Int

    def __post_init__(self) -> None:
        freeze(self, ("hidden", "published", "lb", "ub"))

    @classmethod
    def of(cls, problem: Problem, pattern: Pattern) -> PublicView:
        """What remains when the pattern's cells are hidden."""
        check_problem(problem)
        check_pattern(pattern)
        values = np.where(pattern.hidden, 0, problem.table.values)
        return cls(problem.table.relations, pattern.hidden, values, problem.lb, problem.ub)

    @classmethod
    def of_adjusted(cls, problem: Problem, values: Int) -> PublicView:
        """What an adjusted table shows: a value for every cell, and no bounds of hidden ones."""
        hidden, nothing = np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=np.int64)
        return cls(problem.table.relations, hidden, np.array(values, dtype=np.int64), nothing, nothing)

    def with_bounds(self, known: Problem) -> PublicView:
        """The same view for somebody who knows the bounds of another problem."""
        return replace(self, lb=known.lb, ub=known.ub)

    def __repr__(self) -> str:
        return f"PublicView({len(self.hidden)} cells, {int(self.hidden.sum())} hidden)"

    @cached_property
    def content_hash(self) -> str:
        """Digest of the view; an audit holds for one such digest only."""
        relations = self.relations
        arrays = (
            *(relations.indptr, relations.cells, relations.coefs, relations.rhs),
            *(self.hidden, self.published, self.lb, self.ub),
        )
        return sha256(*(np.ascontiguousarray(array).tobytes() for array in arrays))
