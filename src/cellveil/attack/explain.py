"""Why a hidden cell can be worked out: a derivation that a person can follow, and that is checked exactly.

A combination of relations with multipliers μ, in which cell p stands once, reads

    x_p = Σ_j μ_j rhs_j − Σ_{k ≠ p} (Mᵀμ)_k x_k

On the right, published cells have their values. If no hidden cell is left there, x_p is known exactly. Where
some are left, putting in what everybody knows of each (its lower or upper bound, by the sign) bounds x_p from
above or below. By LP duality some μ gives the very bound of `cellveil.attack.intervals`.

Requires a `PublicView`, and nothing else. Ensures: what is returned was recomputed in exact arithmetic from
the view, so it holds; and its bound is that of the attack (to the LP's tolerance, unless unpicking tells the
value). What cannot be made exact is not returned. Does not ensure: the shortest derivation of all. Three ways
are tried: single relations; the chain of relations by which unpicking came to its bound; and an LP for the
least Σ|μ_j|. The derivation with the fewest relations is taken, of these that with the fewest cells.

The LP: by complementary slackness the derivations of the attack's bound are those in which a hidden cell k is
left only if it sits at the bound that is put in, in one table x* where x_p is extreme. So only signs of
(Mᵀμ)_k are restricted, all numbers are small, and no cell value takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import isfinite, lcm
from typing import TYPE_CHECKING, Literal

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.intervals import OutsiderAttack
from cellveil.clock import counted_time
from cellveil.deviations.components import Component, split
from cellveil.errors import InputError
from cellveil.public_view import PublicView
from cellveil.solvers.lp import LiveLP
from cellveil.solvers.tolerances import FEASIBILITY, ROUNDING
from cellveil.tables.scaled import UNBOUNDED, text_of

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix

Names = Callable[[int], str]
Kind = Literal["exact", "upper", "lower"]
Multipliers = Mapping[int, Fraction]

SIGNS: Mapping[Kind, str] = {"exact": "=", "upper": "≤", "lower": "≥"}

MAX_TERMS = 6
"""A text names so many published cells, and so many hidden ones."""

MAX_DENOMINATOR = 10_000
"""Multipliers of an LP are read as fractions up to this denominator."""

MAX_CHAIN = 10_000
"""Chains of more steps are not followed."""

LARGE = 20_000
"""In components of more cells than this no LP looks for a derivation shorter than a chain."""

LENGTH_COST = 1e-3
"""What a cell adds to the cost of a relation, which is 1 beside it: of equals, the shorter relation."""


@dataclass(frozen=True)
class Left:
    """A hidden cell left in a derivation, its coefficient, and the known bound that is put in."""

    cell: int
    coefficient: int
    is_upper: bool
    bound: int = field(repr=False)

    @property
    def is_sign(self) -> bool:
        """Whether it is only used that the cell is not negative."""
        return self.bound == 0 and not self.is_upper


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """How a hidden cell can be worked out: factor · cell = (or ≤, ≥) terms + left + constant.

    Names may be shown to whoever may know that the cell is at risk; the bound is as confidential as the cell.

    Parameters
    ----------
    cell
        Number of the cell.
    kind
        Whether the value follows, or an upper or lower bound.
    factor
        Positive; 1 but for odd combinations.
    terms
        Published cells and their coefficients.
    left
        Hidden cells, of which a known bound is put in.
    relations
        Relations and the whole numbers by which they are multiplied before they are added up.
    sums
        The cells that are the sum of the others in a relation used, as far as it is of that kind.
    constant
        From the right-hand sides of the relations.
    bound
        The value or bound, in units of the last digit.
    """

    cell: int
    kind: Kind
    factor: int
    terms: tuple[tuple[int, int], ...]
    left: tuple[Left, ...]
    relations: tuple[tuple[int, int], ...]
    sums: tuple[int, ...]
    constant: int
    bound: Fraction

    def __repr__(self) -> str:
        used = f"{len(self.relations)} relations, {len(self.terms)} published, {len(self.left)} hidden cells"
        return f"Explanation({self.kind}, {used})"

    @property
    def length(self) -> tuple[int, int, int]:
        """Numbers of relations, of hidden and of published cells used."""
        return len(self.relations), len(self.left), len(self.terms)

    def text(self, names: Names) -> str:
        """The derivation in words: names of cells, no values."""
        return self._words(names, lambda cell: "", "a known constant")

    def text_with_values(self, names: Names, view: PublicView, decimals: int = 0) -> str:
        """The same with the published values and the result. Confidential: it tells the hidden cell."""
        known = {entry.cell: entry.bound for entry in self.left}

        def value(cell: int) -> str:
            return f" [{text_of(known.get(cell, int(view.published[cell])), decimals)}]"

        constant = text_of(abs(self.constant), decimals)
        return f"{self._words(names, value, constant)}; that is {SIGNS[self.kind]} {self._result(decimals)}"

    def _result(self, decimals: int) -> str:
        if self.bound.denominator == 1:
            return text_of(int(self.bound), decimals)
        return f"{float(self.bound / 10**decimals):.9g}"

    def _words(self, names: Names, value: Names, constant: str) -> str:
        """The derivation, with a value behind each name."""
        if not self.relations:
            side = "upper" if self.kind == "upper" else "lower"
            return f"{names(self.cell)} {SIGNS[self.kind]} its known {side} bound{value(self.cell)}"
        bounds = {True: "the known upper bound of ", False: "the known lower bound of "}
        published = [(coef, names(cell) + value(cell)) for cell, coef in self.terms]
        put_in = [
            (entry.coefficient, bounds[entry.is_upper] + names(entry.cell) + value(entry.cell))
            for entry in self.left
            if not entry.is_sign
        ]
        parts = [*_cut(published), *_cut(put_in)]
        parts += [("−+"[self.constant > 0], constant)] if self.constant else []
        right = _sum(parts) if parts else "0"
        cell = names(self.cell) if self.factor == 1 else f"{self.factor} · {names(self.cell)}"
        never_negative = [names(entry.cell) for entry in self.left if entry.is_sign]
        because = f", as {_listed(never_negative)} cannot be negative" if never_negative else ""
        return f"{cell} {SIGNS[self.kind]} {right}{because}{self._source(names)}"

    def _source(self, names: Names) -> str:
        """Which relations were combined, where there are several."""
        if len(self.relations) == 1:
            return ""
        sums = f": the sums to {_listed([names(cell) for cell in self.sums])}" if self.sums else ""
        return f"; by {len(self.relations)} relations together{sums}"


def derive(view: PublicView, cell: int, multipliers: Multipliers, *, up: bool | None) -> Explanation | None:
    """What a combination of relations tells about a cell, in exact arithmetic.

    Parameters
    ----------
    multipliers
        For each relation used its multiplier; none to state what everybody knows of the cell.
    up
        Whether an upper or a lower bound is wanted; None for the value itself.

    Returns
    -------
    None where the cell is not in the combination, or where a hidden cell is left whose bound is not known.
    """
    if not multipliers:
        return None if up is None else _finished(view, cell, up, {}, {cell: Fraction(1)}, Fraction(0))
    combined: dict[int, Fraction] = {}
    for row, multiplier in multipliers.items():
        cells, coefs = view.relations.row(row)
        for entry, coef in zip(cells.tolist(), coefs.tolist(), strict=True):
            combined[entry] = combined.get(entry, Fraction(0)) + multiplier * coef
    own = combined.pop(cell, Fraction(0))
    if own == 0:
        return None
    others = {other: -coef / own for other, coef in combined.items() if coef}
    constant = sum((m * int(view.relations.rhs[row]) for row, m in multipliers.items()), Fraction(0))
    scaled = {row: multiplier / own for row, multiplier in multipliers.items() if multiplier}
    return _finished(view, cell, up, scaled, others, constant / own)


def _finished(
    view: PublicView,
    cell: int,
    up: bool | None,
    multipliers: Multipliers,
    others: Mapping[int, Fraction],
    constant: Fraction,
) -> Explanation | None:
    """The explanation cell = Σ others + constant, in whole numbers; None if a bound it needs is not known."""
    numbers = [*multipliers.values(), *others.values(), constant]
    factor = lcm(*(number.denominator for number in numbers))
    left, terms = [], []
    for other, coef in others.items():
        if not view.hidden[other]:
            terms.append((other, int(coef * factor)))
            continue
        is_upper = (coef > 0) == up
        bound = int((view.ub if is_upper else view.lb)[other])
        if up is None or abs(bound) == UNBOUNDED:
            return None
        left.append(Left(other, int(coef * factor), is_upper, bound))
    sums = tuple(dict.fromkeys(total for row in sorted(multipliers) for total in _sums(view, row)))
    # Totals come first, and cells that are 0 last: the most and the least telling.
    terms.sort(key=lambda t: (t[0] not in sums, view.published[t[0]] == 0, t[1] < 0, t[0]))
    total = int(constant * factor) + sum(coef * int(view.published[other]) for other, coef in terms)
    total += sum(entry.coefficient * entry.bound for entry in left)
    kind: Kind = "exact" if not left else "upper" if up else "lower"
    relations = tuple((row, int(multiplier * factor)) for row, multiplier in sorted(multipliers.items()))
    return Explanation(
        cell,
        kind,
        factor,
        tuple(terms),
        tuple(sorted(left, key=lambda entry: entry.cell)),
        relations,
        sums,
        int(constant * factor),
        Fraction(total, factor),
    )


def _sums(view: PublicView, row: int) -> list[int]:
    """The cell that is the sum of all others of a relation: the only one with its sign."""
    cells, coefs = view.relations.row(row)
    for signed in (cells[coefs < 0], cells[coefs > 0]):
        if len(signed) == 1:
            return [int(signed[0])]
    return []


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
    time_limit
        Seconds for all explanations; after that only those are found that need no LP.
    """

    def __init__(self, view: PublicView, origin: Int | None = None, time_limit: float | None = None) -> None:
        self.view = view
        self._given_origin = origin
        self._deadline = None if time_limit is None else counted_time() + time_limit
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
        chains = [chain(self.view, self._unpicked, cell, up=way) for way in _ways(up)]
        yield from (found for found in chains if found)
        if any(chains) and len(self._component(cell).cells) > LARGE:
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
        point = self._dual_of(cell).solve(lower, upper, self._time_left())
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
            self._dual = number, _Dual(component, np.diff(self.view.relations.indptr)[component.rows])
        return self._dual[1]

    def _component(self, cell: int) -> Component:
        number, components = self._parts
        return components[int(number[cell])]

    def _time_left(self) -> float | None:
        return None if self._deadline is None else max(0.0, self._deadline - counted_time())

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
        attack = OutsiderAttack(self.view, self._given_origin, self._time_left(), observe=self._observe)
        return attack, attack.lowest.copy()

    def _observe(self, component: Component, moved: Float) -> None:
        self._moved = moved


class _Dual:
    """The LP for multipliers μ of one component: min Σ cost |μ|  subject to  Mᵀμ = s,  s within bounds."""

    def __init__(self, component: Component, lengths: Int) -> None:
        from scipy.sparse import hstack, identity

        transposed = component.matrix.T
        n, self._m = transposed.shape
        matrix = hstack([transposed, -transposed, -identity(n)]).tocsc()
        self._free = np.zeros(2 * self._m), np.full(2 * self._m, np.inf)
        self._lp = LiveLP(matrix, np.zeros(n), np.zeros(2 * self._m + n), np.zeros(2 * self._m + n))
        cost = 1.0 + LENGTH_COST * lengths
        self._lp.set_costs(np.concatenate([cost, cost, np.zeros(n)]))

    def solve(self, lower: Float, upper: Float, time_limit: float | None) -> Float | None:
        """The cheapest μ for these bounds of s, if there is one."""
        least, most = self._free
        self._lp.set_bounds(np.concatenate([least, lower]), np.concatenate([most, upper]))
        # From the slack basis, which is optimal but for the cell itself.
        point = self._lp.solve(time_limit, fresh=True).point
        return None if point is None else point[: self._m] - point[self._m : 2 * self._m]


def chain(view: PublicView, unpicked: Unpicked, cell: int, *, up: bool) -> Multipliers | None:
    """The combination of relations by which unpicking came to a bound; None where there is none.

    A relation that tells a bound needs bounds of its other hidden cells, which other relations told.
    """
    told: dict[tuple[int, bool], int] = {}
    needs: dict[tuple[int, bool], list[tuple[tuple[int, bool], Fraction]]] = {}
    waiting = [(cell, up)]
    while waiting and len(needs) <= MAX_CHAIN:
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
    read = (Fraction(number).limit_denominator(MAX_DENOMINATOR) for number in point.tolist())
    return {row: number for row, number in zip(rows.tolist(), read, strict=True) if number}


def _cut(terms: Sequence[tuple[int, str]]) -> list[tuple[str, str]]:
    """Sign and text of each term; what is too much becomes one term."""
    shown = [("−+"[coef > 0], name if abs(coef) == 1 else f"{abs(coef)} · {name}") for coef, name in terms]
    if len(shown) <= MAX_TERMS + 1:
        return shown
    signs = {sign for sign, _ in shown[MAX_TERMS:]}
    more = f"… ({len(shown) - MAX_TERMS} more)"
    return [*shown[:MAX_TERMS], (signs.pop() if len(signs) == 1 else "±", more)]


def _sum(parts: Sequence[tuple[str, str]]) -> str:
    """Terms with their signs."""
    text = " ".join(f"{sign} {name}" for sign, name in parts)
    return text.removeprefix("+ ")


def _listed(names: Sequence[str]) -> str:
    """Names as in a sentence."""
    shown = (
        list(names) if len(names) <= MAX_TERMS + 1 else [*names[:MAX_TERMS], f"{len(names) - MAX_TERMS} more"]
    )
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
