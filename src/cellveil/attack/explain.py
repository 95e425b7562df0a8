"""Explanations of a disclosed cell: the shortest derivation found of its value or feasibility interval.

By LP duality, multipliers μ of the relations give each end of the feasibility interval that
`cellveil.attack.intervals` finds; see `cellveil.attack.derivation` for how they are read and checked.

Requires a `PublicView`, and nothing else. Ensures: what is returned was recomputed in exact arithmetic from
the view, so it holds; and its bound is that of the attack (to the LP's tolerance, unless bound propagation
tells the value). What cannot be made exact is not returned. Does not ensure: the shortest derivation of all.
Three ways are tried: single relations; the chain of relations by which bound propagation came to its bound;
and an LP for the least Σ|μ_j|. The derivation with the fewest relations is taken, of these that with the
fewest cells.

The LP: by complementary slackness the derivations of the attack's bound are those in which a hidden cell k is
left only if it sits at the bound that is put in, in one table x* where x_p is extreme. So only signs of
(Mᵀμ)_k are restricted, all numbers are small, and no cell value takes part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.derivation import Explanation, Multipliers, Names, derive
from cellveil.attack.intervals import OutsiderAttack
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component, split
from cellveil.errors import InputError, check_kind
from cellveil.params import Params, param
from cellveil.public_view import PublicView
from cellveil.solvers.lp import LiveLP
from cellveil.solvers.tolerances import FEASIBILITY, LARGEST_DENOMINATOR, ROUNDING
from cellveil.tables.scaled import UNBOUNDED

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, kw_only=True)
class DerivationParams(Params):
    """Parameters of the search for short derivations."""

    longest: int = param(10_000, "Most steps of a chain of relations.", least=1)
    most_cells: int = param(20_000, "Largest component in which an LP looks beyond a chain.", least=0)
    length_cost: float = param(1e-3, "What a cell adds to the cost of a relation, which is 1.", least=0)


def explain(view: PublicView, cell: int, *, names: Names = str, up: bool | None = None) -> Explanation | None:
    """The shortest derivation found of a hidden cell's value, or of one of its bounds.

    Parameters
    ----------
    names
        Names of cells, for messages.
    up
        Whether to explain the largest or the smallest value that the cell can have; None (the default) for
        a value that follows exactly.

    Returns
    -------
    None where there is none: the cell has no such bound, or its value does not follow; or where none was
    found that is exact.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> from cellveil.pattern import Pattern
    >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    >>> view = PublicView.of(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only"))
    >>> names = problem.table.cell_name
    >>> explain(view, int(problem.primaries[0]), names=names).text(names)
    '(r0, c0) = (Total, c0) − (r1, c0)'
    """
    check_kind(view, PublicView, "the view", "Give PublicView.of(problem, pattern).")
    check_kind(cell, (int, np.integer), "the cell", "Give its number: problem.table.cell(…).")
    if not 0 <= cell < len(view.hidden) or not view.hidden[cell]:
        raise InputError(
            "only a hidden cell can be explained",
            cell=names(cell) if 0 <= cell < len(view.hidden) else str(cell),
            remedy="Name a cell that the view hides.",
        )
    return Explainer(view).explain(cell, up=up)


class Explainer:
    """Explains cells of one view; what they share is worked out once.

    Parameters
    ----------
    view
        What is published.
    origin
        A table that agrees with the view, where one is known: it saves the attack a search, and changes no
        answer.
    deadline
        Of all explanations; after it only those are found that need no LP.
    """

    def __init__(
        self,
        view: PublicView,
        origin: Int | None = None,
        deadline: Deadline = NO_LIMIT,
        params: DerivationParams | None = None,
    ) -> None:
        self.view = view
        self._given_origin = origin
        self._deadline, self._params = deadline, params or DerivationParams()
        self._asked: tuple[int, bool] | None = None
        self._moved: Float | None = None
        self._dual: tuple[int, _Dual] | None = None

    def explain(self, cell: int, *, up: bool | None = None) -> Explanation | None:
        """The shortest derivation found of a hidden cell's value, or of one of its bounds; see `explain`."""
        wanted = None if up is None else self._extreme(cell, up)
        if up is not None and (wanted is None or not isfinite(wanted)):
            return None
        for candidates in (self._short(cell, up), self._long(cell, up)):
            found = [derive(self.view, cell, multipliers, up=up) for multipliers in candidates]
            fitting = [one for one in found if one is not None and _reaches(one, wanted)]
            if fitting:
                return min(fitting, key=lambda one: one.length)
        return None

    def _short(self, cell: int, up: bool | None) -> Iterator[Multipliers]:
        """What everybody knows, and every single relation of the cell."""
        yield {}
        columns = self._columns
        for row in columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]].tolist():
            yield {row: Fraction(1)}

    def _long(self, cell: int, up: bool | None) -> Iterator[Multipliers]:
        """Chains of relations, and what an LP finds."""
        chains = [
            chain(self.view, self._unpicked, cell, up=way, longest=self._params.longest) for way in _ways(up)
        ]
        yield from (found for found in chains if found)
        if any(chains) and len(self._component(cell).cells) > self._params.most_cells:
            return
        found = self._least(cell, up)
        if found:
            yield found

    def _extreme(self, cell: int, up: bool) -> float | None:
        """The attack's bound."""
        if self._unpicked.is_point[cell]:
            return float(self._unpicked.upper[cell])
        return self._attacked(cell, up)

    def _attacked(self, cell: int, up: bool) -> float | None:
        """The attack's bound by LP; how far the cells moved is kept."""
        self._asked, self._moved = (cell, up), None
        return self._attack[0].push(cell, up=up)

    def _least(self, cell: int, up: bool | None) -> Multipliers | None:
        """Multipliers with the least sum, signs aside."""
        component = self._component(cell)
        n, place = len(component.cells), int(np.searchsorted(component.cells, cell))
        lower, upper = np.zeros(n), np.zeros(n)
        if up is not None:
            if self._asked != (cell, up):
                self._attacked(cell, up)
            if self._moved is None:
                return None
            at_lower, at_upper = self._sitting(component.cells, self._moved)
            lower[at_upper if up else at_lower] = -np.inf
            upper[at_lower if up else at_upper] = np.inf
        lower[place] = upper[place] = 1.0
        point = self._dual_of(cell).solve(lower, upper, self._deadline)
        return None if point is None else _as_fractions(component.rows, point)

    def _sitting(self, cells: Int, moved: Float) -> tuple[Bool, Bool]:
        """Which cells are at their lower and at their upper bound in the table the attack ended with."""
        values = self._attack[1][cells] + moved
        slack = ROUNDING + FEASIBILITY * np.abs(values)
        lb, ub = self.view.lb[cells], self.view.ub[cells]
        return (
            (lb > -UNBOUNDED) & (np.abs(values - lb) <= slack),
            (ub < UNBOUNDED) & (np.abs(values - ub) <= slack),
        )

    def _dual_of(self, cell: int) -> _Dual:
        number = int(self._parts[0][cell])
        if self._dual is None or self._dual[0] != number:
            component = self._component(cell)
            self._dual = (
                number,
                _Dual(
                    component,
                    1.0 + self._params.length_cost * np.diff(self.view.relations.indptr)[component.rows],
                ),
            )
        return self._dual[1]

    def _component(self, cell: int) -> Component:
        number, components = self._parts
        return components[int(number[cell])]

    @cached_property
    def _unpicked(self) -> Unpicked:
        return unpick(self.view)

    @cached_property
    def _parts(self) -> tuple[Int, list[Component]]:
        return split(self.view.relations, self.view.hidden)

    @cached_property
    def _columns(self) -> csc_matrix:
        return self.view.relations.matrix.tocsc()

    @cached_property
    def _attack(self) -> tuple[OutsiderAttack, Float]:
        """The attack, and the table it starts from."""
        attack = OutsiderAttack(self.view, self._given_origin, self._deadline, observe=self._observe)
        return attack, attack.lowest.copy()

    def _observe(self, component: Component, moved: Float) -> None:
        self._moved = moved


class _Dual:
    """The LP for multipliers μ of one component: min Σ cost |μ|  subject to  Mᵀμ = s,  s within bounds."""

    def __init__(self, component: Component, cost: Float) -> None:
        from scipy.sparse import hstack, identity

        transposed = component.matrix.T
        n, self._m = transposed.shape
        matrix = hstack([transposed, -transposed, -identity(n)]).tocsc()
        self._free = np.zeros(2 * self._m), np.full(2 * self._m, np.inf)
        self._lp = LiveLP(matrix, np.zeros(n), np.zeros(2 * self._m + n), np.zeros(2 * self._m + n))
        self._lp.set_costs(np.concatenate([cost, cost, np.zeros(n)]))

    def solve(self, lower: Float, upper: Float, deadline: Deadline) -> Float | None:
        """The cheapest μ for these bounds of s, if there is one."""
        least, most = self._free
        self._lp.set_bounds(np.concatenate([least, lower]), np.concatenate([most, upper]))
        # From the slack basis, which is optimal but for the cell itself.
        point = self._lp.solve(deadline, fresh=True).point
        return None if point is None else point[: self._m] - point[self._m : 2 * self._m]


def chain(
    view: PublicView, unpicked: Unpicked, cell: int, *, up: bool, longest: int = DerivationParams.longest
) -> Multipliers | None:
    """The combination of relations by which unpicking came to a bound; None where there is none.

    A relation that tells a bound needs bounds of its other hidden cells, which other relations told.
    """
    told: dict[tuple[int, bool], int] = {}
    needs: dict[tuple[int, bool], list[tuple[tuple[int, bool], Fraction]]] = {}
    waiting = [(cell, up)]
    while waiting and len(needs) <= longest:
        node = waiting.pop()
        row = int((unpicked.upper_from if node[1] else unpicked.lower_from)[node[0]])
        if node in needs or row < 0:
            continue
        told[node], needs[node] = row, list(_needs(view, row, *node))
        waiting += [need for need, _ in needs[node]]
    try:
        order = [*TopologicalSorter({node: [n for n, _ in needs[node]] for node in needs}).static_order()]
    except CycleError:
        return None
    if waiting or (cell, up) not in needs:
        return None
    weight = dict.fromkeys(order, Fraction(0)) | {(cell, up): Fraction(1)}
    multipliers: dict[int, Fraction] = {}
    for node in reversed(order):
        if node not in needs or not weight[node]:
            continue
        own = _coefficient(view, told[node], node[0])
        multipliers[told[node]] = multipliers.get(told[node], Fraction(0)) + weight[node] / own
        for need, share in needs[node]:
            weight[need] += weight[node] * share
    return multipliers


def _needs(view: PublicView, row: int, cell: int, up: bool) -> Iterator[tuple[tuple[int, bool], Fraction]]:
    """The bounds by which a relation bounds a cell, and how much each counts."""
    own = _coefficient(view, row, cell)
    for other, coef in zip(*(column.tolist() for column in view.relations.row(row)), strict=True):
        if other != cell and coef and view.hidden[other]:
            share = Fraction(-coef, own)
            yield (other, (share > 0) == up), share


def _coefficient(view: PublicView, row: int, cell: int) -> int:
    cells, coefs = view.relations.row(row)
    return int(coefs[np.flatnonzero(cells == cell)[0]])


def _ways(up: bool | None) -> tuple[bool, ...]:
    return (True, False) if up is None else (up,)


def _reaches(found: Explanation, wanted: float | None) -> bool:
    """Whether the derivation gives the attack's bound."""
    if wanted is None:
        return True
    return abs(float(found.bound) - wanted) <= ROUNDING + FEASIBILITY * abs(wanted)


def _as_fractions(rows: Int, point: Float) -> Multipliers:
    """Multipliers of an LP as the fractions they seem to be."""
    read = (Fraction(number).limit_denominator(LARGEST_DENOMINATOR) for number in point.tolist())
    return {row: number for row, number in zip(rows.tolist(), read, strict=True) if number}
