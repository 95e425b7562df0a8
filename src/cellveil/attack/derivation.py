"""Derivations of a suppressed cell: linear combinations of relations (dual variables), exact, and in words.

A combination of relations with multipliers μ, in which cell p stands once, reads

    x_p = Σ_j μ_j rhs_j − Σ_{k ≠ p} (Mᵀμ)_k x_k

On the right, published cells have their values. If no hidden cell is left there, x_p is known exactly. Where
some are left, putting in what everybody knows of each (its lower or upper bound, by the sign) bounds x_p from
above or below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Literal

from cellveil.public_view import PublicView
from cellveil.tables.scaled import UNBOUNDED, text_of

if TYPE_CHECKING:
    pass

Names = Callable[[int], str]

Kind = Literal["exact", "upper", "lower"]

Multipliers = Mapping[int, Fraction]

SIGNS: Mapping[Kind, str] = {"exact": "=", "upper": "≤", "lower": "≥"}

MAX_TERMS = 6
"""Published cells, and hidden cells, that a text names."""


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
