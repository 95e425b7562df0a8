"""Which primary cells are exposed when only primaries are hidden, and which of them to protect first.

Protecting the cells that are exposed at the outset protects those whose exposure follows from theirs. Nobody
can tell the two apart cheaply, so a method is given *candidates*: a set that holds all of the former.

    E      an outsider comes closer than the levels allow        E_f  … to the very value; E_p = E without E_f
    E_u    … by unpicking alone                                  K_n = E without E_u
    K_1    the only primary cell of some relation
    K_pl   in some relation, its levels exceed what those of the other primary cells can absorb
    K_nv   in some relation, value + upl exceeds the sum of the other primary cells' values
    K_s    in some relation, value + upl exceeds three times that sum

    E: E      K1: K_1 ∪ (K_s ∩ E)      K3: K_1 ∪ E_p ∪ K_n      K5: K_1 ∪ ((K_pl ∪ K_nv) ∩ E) ∪ K_n

Requires a problem; only its primaries count as hidden, cells of status SECONDARY as published. Ensures: E
holds every primary cell that was not shown safe, E_u only cells that are exposed beyond doubt. Does not
ensure that protecting the candidates protects all: audit the result. In the authors' experiments E and K5
always did, K1 in 96.5 % and K3 in 68.2 % of the tables; but there are tables in which K5 does not (see
docs/exposure.md).

Of equations (6), (7) and (9) the signs are taken relative to the cell in question, which may be the total; in
(6) and (7) another cell stands at whichever end of its protected range leaves the most room. With sliding
levels, K_pl also holds cells whose spl exceeds the joint width of the others' protected ranges.

Reference: sections 2 and 3 of Serpell, Smith, Clark & Staggemeier (2013).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attack.bound_propagation import RelationPart, Unpicked, largest_of, room_for, unpick
from cellveil.errors import InputError, counted, nearest_name
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.solvers.tolerances import ROUNDING

SIZE_FACTOR = 3
"""How many times the others' sum makes a cell a large one (K_s)."""


@dataclass(frozen=True, repr=False, eq=False)
class Exposure:
    """The sets, each a mask over all cells, under the names of the literature.

    Parameters
    ----------
    problem
        What was examined.
    unpicked
        The intervals that unpicking leaves.
    found_in
        For K_1, K_pl, K_nv and K_s the number of the first relation that puts a cell there; −1 elsewhere.
    """

    problem: Problem
    E: Bool
    E_f: Bool
    E_p: Bool
    E_u: Bool
    K_1: Bool
    K_pl: Bool
    K_nv: Bool
    K_s: Bool
    K_n: Bool
    unpicked: Unpicked
    found_in: Mapping[str, Int]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {int(getattr(self, name).sum())}" for name in SETS)
        return f"Exposure({counted(len(self.problem.primaries), 'primary cell')}: {sizes})"

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"

    def candidates(self, algorithm: str = "K5") -> Bool:
        """The cells to protect, by algorithm E, K1, K3 or K5."""
        if algorithm not in ALGORITHMS:
            raise InputError(
                f"there is no algorithm {algorithm!r} for candidates",
                remedy=nearest_name(algorithm, list(ALGORITHMS)),
            )
        return ALGORITHMS[algorithm](self)

    def reasons(self, cell: int) -> list[str]:
        """Say in words why a cell stands in the sets; nothing for a cell in none of them."""
        name = self.problem.table.relation_name
        rows = {of: int(found[cell]) for of, found in self.found_in.items()}
        said = [
            f"{words} {name(rows[of])}"
            for of, words in _WORDS.items()
            if rows[of] >= 0 and (of == "K_1" or rows[of] != rows["K_1"])
        ]
        return [*said, self._how_exposed(cell)] if self.E[cell] else said

    def _how_exposed(self, cell: int) -> str:
        what = "its very value follows" if self.E_f[cell] else "an interval narrower than its levels follows"
        if not self.E_u[cell]:
            unsure = "with all relations taken together, its interval was not shown as wide as its levels ask"
            return f"{what} from several relations taken together" if self.E_f[cell] else unsure
        told = {int(self.unpicked.lower_from[cell]), int(self.unpicked.upper_from[cell])} - {-1}
        along = " and ".join(self.problem.table.relation_name(row) for row in sorted(told))
        return f"{what} by unpicking, in the end along {along}" if told else f"{what} from its bounds alone"


SETS = ("E", "E_f", "E_p", "E_u", "K_1", "K_pl", "K_nv", "K_s", "K_n")
"""The sets, in the order of the literature."""

ALGORITHMS: Mapping[str, Callable[[Exposure], Bool]] = {
    "E": lambda sets: sets.E.copy(),
    "K1": lambda sets: sets.K_1 | (sets.K_s & sets.E),
    "K3": lambda sets: sets.K_1 | sets.E_p | sets.K_n,
    "K5": lambda sets: sets.K_1 | ((sets.K_pl | sets.K_nv) & sets.E) | sets.K_n,
}
"""How candidates are put together."""

_WORDS = {
    "K_1": "alone among the primary cells in the relation",
    "K_pl": "the other primary cells' levels cannot absorb its own in the relation",
    "K_nv": "with its level larger than the other primary cells together in the relation",
    "K_s": "with its level larger than three times the other primary cells together in the relation",
}


def exposure(problem: Problem, *, progress: Progress | None = None) -> Exposure:
    """Find the sets of a problem in which nothing but the primaries is hidden.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> sets = exposure(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}))
    >>> sets
    Exposure(1 primary cell: E 1, E_f 1, E_p 0, E_u 1, K_1 1, K_pl 1, K_nv 1, K_s 1, K_n 0)
    >>> sets.reasons(int(sets.problem.primaries[0]))[0]
    'alone among the primary cells in the relation (Total, c0) = (r0, c0) + (r1, c0)'
    """
    check_problem(problem)
    pattern = _hiding_primaries(problem)
    unpicked = unpick(PublicView.of(problem, pattern))
    primary = problem.status == Status.PRIMARY
    by_unpicking = primary & _falls_short(problem, unpicked)
    exposed = by_unpicking.copy()
    exposed[audit_outsider(problem, pattern, exact=False, progress=progress).unsafe_cells] = True
    fully = exposed & unpicked.is_point
    fully[_pinned_down(problem, pattern, exposed & ~fully, progress)] = True
    found_in = _beside_others(problem, primary)
    return Exposure(
        problem,
        E=exposed,
        E_f=fully,
        E_p=exposed & ~fully,
        E_u=by_unpicking,
        **{name: rows >= 0 for name, rows in found_in.items()},
        K_n=exposed & ~by_unpicking,
        unpicked=unpicked,
        found_in=found_in,
    )


def candidates(problem: Problem, algorithm: str = "K5", *, progress: Progress | None = None) -> Bool:
    """The primary cells to protect first, by algorithm E, K1, K3 or K5."""
    check_problem(problem)
    return exposure(problem, progress=progress).candidates(algorithm)


def _hiding_primaries(problem: Problem) -> Pattern:
    status = np.where(problem.status == Status.SECONDARY, Status.SAFE, problem.status)
    return Pattern(status.astype(np.int8), "primaries")


def _falls_short(problem: Problem, unpicked: Unpicked) -> Bool:
    """Cells whose unpicked interval does not reach as far as their levels, exactly."""
    values, lower, upper = problem.table.values, unpicked.lower, unpicked.upper
    one_sided = (lower > values - problem.lpl) | (upper < values + problem.upl)
    return np.asarray(one_sided | (upper < lower + problem.spl))


def _pinned_down(problem: Problem, pattern: Pattern, asked: Bool, progress: Progress | None) -> Int:
    """Those of the exposed cells asked for that an outsider can work out to the very value."""
    if not asked.any():
        return np.flatnonzero(asked)
    report = audit_outsider(problem.only(asked), pattern, progress=progress)
    if not report.is_exact:  # an interval that was not computed to its ends is no point
        return report.cells[:0]
    return report.cells[report.upper - report.lower <= ROUNDING]


def _beside_others(problem: Problem, primary: Bool) -> dict[str, Int]:
    """The first relation that puts a cell into K_1, K_pl, K_nv and K_s; −1 where none does.

    In a relation Σ c a = b the other primaries' terms have to fall as far as the cell's own rises. Within the
    levels all primaries' terms together can rise by R and fall by F, the cell's own by r and f: the others
    cannot make up for its rise iff r > F − f, nor for its fall iff f > R − r.
    """
    part = RelationPart.of(problem.table.relations, primary)
    amounts = (problem.table.values, problem.lpl, problem.upl, problem.spl)
    room = room_for(8 * part.heaviest * max(largest_of(amount[primary]) for amount in amounts))
    value, lpl, upl, spl = (amount[part.cells].astype(room, copy=False) for amount in amounts)
    weight, is_positive = np.abs(part.coefs), part.coefs > 0
    rise = weight * np.where(is_positive, upl, lpl)
    fall = weight * np.where(is_positive, lpl, upl)
    total_rise, total_fall = part.spread(part.sums(rise)), part.spread(part.sums(fall))
    own = rise + fall
    too_wide = (own > np.minimum(total_rise, total_fall)) | (weight * spl + own > total_rise + total_fall)
    term = part.coefs * value
    others = np.where(is_positive, 1, -1) * (part.spread(part.sums(term)) - term)
    size = weight * (value + upl)
    sets = {
        "K_1": part.spread(part.lengths) == 1,
        "K_pl": too_wide,
        "K_nv": size > others,
        "K_s": size > SIZE_FACTOR * others,
    }
    return {
        name: _first_relation(part, np.asarray(which, dtype=bool), len(primary))
        for name, which in sets.items()
    }


def _first_relation(part: RelationPart, which: Bool, num_cells: int) -> Int:
    """For each cell the first relation among the entries marked; −1 where there is none."""
    first = np.full(num_cells, -1, dtype=np.int64)
    backwards = np.flatnonzero(which)[::-1]
    first[part.cells[backwards]] = part.spread(part.rows)[backwards]
    return first


@dataclass(frozen=True, repr=False, eq=False)
class Unpickable:
    """What unpicking alone, without a solver, tells of the exposed primaries.

    Parameters
    ----------
    upper, lower
        Cells whose upper or lower level is not kept. Together they are E_u, but for sliding levels.
    candidates
        K_u = K_1 ∪ ((K_pl ∪ K_nv) ∩ E_u). It is what K5 finds where all that is exposed can be unpicked.
    """

    E_u: Bool
    upper: Bool
    lower: Bool
    candidates: Bool


def unpickable(problem: Problem) -> Unpickable:
    """Find the exposed primaries that need no solver: for tables too large for `exposure`.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> found = unpickable(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}))
    >>> int(found.candidates.sum()), int((found.upper & found.lower).sum())
    (1, 1)
    """
    unpicked = unpick(PublicView.of(problem, _hiding_primaries(problem)))
    primary, values = problem.status == Status.PRIMARY, problem.table.values
    exposed = primary & _falls_short(problem, unpicked)
    found_in = _beside_others(problem, primary)
    large = (found_in["K_pl"] >= 0) | (found_in["K_nv"] >= 0)
    return Unpickable(
        E_u=exposed,
        upper=primary & (unpicked.upper < values + problem.upl),
        lower=primary & (unpicked.lower > values - problem.lpl),
        candidates=(found_in["K_1"] >= 0) | (large & exposed),
    )
