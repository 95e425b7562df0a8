"""What has to be protected: a table, the status of its cells, levels, bounds and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int, freeze, frozen_array
from cellveil.errors import InputError, check_kind
from cellveil.files import sha256
from cellveil.level_origin import LevelOrigin
from cellveil.shown import Shown
from cellveil.tables.cells import cell_number
from cellveil.tables.contributions import Contributions
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table


class Status(IntEnum):
    """What may happen to a cell."""

    SAFE = 0
    PRIMARY = 1
    SECONDARY = 2
    FROZEN = 3

    @property
    def letter(self) -> str:
        """The letter used in files: s, u, m or z."""
        return "sumz"[self]


UNKNOWN_SIGNS = "readers do not know that values are not negative"

LEVELS = ("lpl", "upl", "spl")

STATUS_OF_LETTER = {status.letter: status for status in Status}


@dataclass(frozen=True, repr=False, eq=False)
class Problem(Shown):
    """A table with everything a suppression method has to respect. Frozen.

    All amounts are scaled integers like the table's values; levels are distances from the value.

    Parameters
    ----------
    table
        Cells and relations.
    status
        A `Status` per cell (int8). PRIMARY must be hidden and protected, FROZEN must be published,
        SECONDARY is hidden already without a demand of its own.
    weight
        Information lost when the cell is hidden (float, ≥ 0).
    lb, ub
        What everybody knows of the value beforehand; ±UNBOUNDED where nothing.
    lpl, upl, spl
        An attacker must not be able to tell that the value is above value − lpl, or below value + upl, or
        within an interval shorter than spl. Zero for all but primaries.
    reasons
        Why cells are primary: for each name of a rule the cells it marks.
    waived
        Cells that may be published whatever they tell, because their contributors agreed; None for none.
    origins
        How levels were worked out, with the cells of each origin; of other levels it is not known.
    bounds_reason
        Why readers are taken to know less of values than that they are not negative.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> problem = Problem.of(table_from_interior([region], {"region": ["N", "S"]}, [4, 6]), {1: (1, 1)})
    >>> problem
    Problem(3 cells, 1 primary, 0 frozen)
    """

    table: Table
    status: NDArray[np.int8]
    weight: Float
    lb: Int
    ub: Int
    lpl: Int
    upl: Int
    spl: Int
    reasons: Mapping[str, Bool] = field(default_factory=dict)
    waived: Bool | None = None
    origins: Mapping[LevelOrigin, Bool] = field(default_factory=dict)
    bounds_reason: str = ""

    def __post_init__(self) -> None:
        freeze(self, ("status", "weight", "lb", "ub", "lpl", "upl", "spl"))
        for name in ("reasons", "origins"):
            marked = {key: frozen_array(cells) for key, cells in getattr(self, name).items()}
            object.__setattr__(self, name, marked)
        _check(self)

    def __repr__(self) -> str:
        return (
            f"Problem({self.table.num_cells} cells, {len(self.primaries)} primary, "
            f"{int((self.status == Status.FROZEN).sum())} frozen)"
        )

    @classmethod
    def of(
        cls,
        table: Table,
        primaries: Mapping[Any, int | tuple[int, int]],
        *,
        weight: Float | None = None,
        frozen: Int | None = None,
        **further: Any,
    ) -> Problem:
        """Build from a table and its primary cells; zeros are frozen.

        Parameters
        ----------
        primaries
            By number, or by a tuple of codes: (lpl, upl), or one number for both.
        """
        check_kind(table, Table, "the table", "Give a Table: tabulate(…) or read_table(…) make one.")
        check_kind(primaries, Mapping, "the primary cells", "Give levels by cell: {3: (10, 10)}.")
        fields = defaults(table)
        status = fields["status"]
        if frozen is not None:
            status[frozen] = Status.FROZEN
        for named, levels in primaries.items():
            cell = cell_number(table, named)
            lpl, upl = levels if isinstance(levels, tuple | list) else (levels, levels)
            status[cell] = Status.PRIMARY
            fields["lpl"][cell], fields["upl"][cell] = lpl, upl
        if weight is not None:
            fields["weight"] = np.asarray(weight, dtype=np.float64)
        return cls(table, **(fields | further))

    @cached_property
    def primaries(self) -> Int:
        """Numbers of the primary cells."""
        return frozen_array(np.flatnonzero(self.status == Status.PRIMARY))

    @cached_property
    def hidden_at_start(self) -> Bool:
        """Cells that are hidden whatever the method does."""
        return frozen_array((self.status == Status.PRIMARY) | (self.status == Status.SECONDARY))

    @cached_property
    def down(self) -> Float:
        """How far the outsider cannot rule out that a cell is smaller: value − lb, ∞ where unbounded."""
        return np.where(self.lb == -UNBOUNDED, np.inf, (self.table.values - self.lb).astype(np.float64))

    @cached_property
    def up(self) -> Float:
        """How far the outsider cannot rule out that a cell is larger: ub − value, ∞ where unbounded."""
        return np.where(self.ub == UNBOUNDED, np.inf, (self.ub - self.table.values).astype(np.float64))

    @cached_property
    def sliding(self) -> Int:
        """What the sliding level asks for beyond the upper and the lower one together."""
        return frozen_array(np.maximum(self.spl - self.upl - self.lpl, 0))

    @cached_property
    def content_hash(self) -> str:
        """Digest of everything a pattern depends on; in which order the relations came does not count."""
        return self._digest(self.table.relations.canonical())

    def has_digest(self, digest: str) -> bool:
        """Whether a digest is this problem's, also one made before the order of relations ceased to count."""
        return digest == self.content_hash or digest == self._digest(self.table.relations)

    def _digest(self, relations: Relations) -> str:
        return sha256(
            *(np.ascontiguousarray(array).tobytes() for array in (
                self.table.values, relations.indptr, relations.cells, relations.coefs, relations.rhs,
                self.status, self.weight, self.lb, self.ub, self.lpl, self.upl, self.spl,
            )),
            str(self.table.decimals).encode(),
        )  # fmt: skip

    def known_within(self, percent: float | None) -> Problem:
        """The problem for an attacker who knows every value to within so many per cent beforehand, if any.

        Examples
        --------
        >>> from cellveil.datasets import two_way
        >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}).known_within(50)
        >>> int(problem.lb[4]), int(problem.ub[4])
        (10, 30)
        """
        if percent is None:
            return self
        if not percent > 0:
            raise InputError("the prior knowledge is not above 0 %", remedy="Give per cent, for example 50.")
        values, share = self.table.values, Fraction(str(percent)) / 100
        spread = np.array([int(share * abs(value)) for value in values.tolist()], dtype=np.int64)
        return self.replace(lb=np.maximum(self.lb, values - spread), ub=np.minimum(self.ub, values + spread))

    @property
    def halved_levels(self) -> tuple[Int, Int]:
        """Upper and lower levels, what the sliding level asks beyond them shared equally, the odd unit up."""
        return self.upl + (self.sliding + 1) // 2, self.lpl + self.sliding // 2

    @property
    def one_sided_levels(self) -> tuple[Int, Int]:
        """Upper and lower levels, with what of the sliding level the other side has no room for."""
        below, above = (
            np.where(np.isinf(room), 0.0, self.spl - np.minimum(room, 2.0**62)).astype(np.int64)
            for room in (self.down, self.up)
        )
        return np.maximum(self.upl, below), np.maximum(self.lpl, above)

    def only(self, chosen: Bool, **levels: Int) -> Problem:
        """The problem in which only the chosen primaries have levels; the others are hidden all the same.

        Parameters
        ----------
        levels
            Other levels (lpl, upl, spl) for the chosen ones; primaries that are left without any are hidden
            without a demand, too.
        """
        kept = {name: np.where(chosen, levels.get(name, getattr(self, name)), 0) for name in LEVELS}
        idle = (self.status == Status.PRIMARY) & (np.maximum.reduce(list(kept.values())) == 0)
        return self.replace(status=np.where(idle, Status.SECONDARY, self.status).astype(np.int8), **kept)

    @cached_property
    def wide_bounds(self) -> Bool:
        """Cells that may be hidden whose values are not negative, which readers are taken not to know."""
        below = self.lb < least_known(self.table)
        return np.asarray(below & (self.status != Status.FROZEN), dtype=bool)

    @property
    def assumption(self) -> str:
        """What readers are taken not to know; "" where it is nothing."""
        return UNKNOWN_SIGNS if self.wide_bounds.any() else ""

    def replace(self, **changes: Any) -> Problem:
        """Return a copy with other fields; where levels are among them, their origins are no longer known."""
        if changes.keys() & {"lpl", "upl", "spl"}:
            changes.setdefault("origins", {})
        return replace(self, **changes)


def check_problem(given: object) -> None:
    """Refuse what is no problem, and say how to make one."""
    check_kind(given, Problem, "the problem", 'Give a Problem: make_problem(table, ["p%:10"]) makes one.')


def defaults(table: Table) -> dict[str, Any]:
    """Status, weights, bounds and levels when nothing is said.

    Zeros are frozen; weights are the absolute values; cells are known to be ≥ 0, unless their response
    variable has a negative value or a negative contribution: then nothing is known of them.
    """
    n = table.num_cells
    return {
        "status": np.where(table.values == 0, Status.FROZEN, Status.SAFE).astype(np.int8),
        "weight": np.abs(table.floats()),
        "lb": least_known(table),
        "ub": np.full(n, UNBOUNDED, dtype=np.int64),
        "lpl": np.zeros(n, dtype=np.int64),
        "upl": np.zeros(n, dtype=np.int64),
        "spl": np.zeros(n, dtype=np.int64),
    }


def least_known(table: Table) -> Int:
    """The least value that everybody knows of: 0, and nothing of variables that may be negative."""
    return np.where(may_be_negative(table), -UNBOUNDED, 0)


def may_be_negative(table: Table) -> Bool:
    """Cells whose response variable has a negative value or a negative contribution somewhere.

    What is known about signs belongs to the variable: a loss says nothing about turnover, and where profits
    can be losses nobody takes a total of profits for at least 0.
    """
    negative = table.values < 0
    if table.signed is not None:
        negative = negative | table.signed
    for known in (table.units, table.holdings):
        if known is not None and len(known) == table.num_cells:
            negative = negative | (_is_of_response(table, known) & (known.total != known.absolute))
    return np.isin(table.variables, np.unique(table.variables[negative]))


def _is_of_response(table: Table, known: Contributions) -> Bool:
    """Cells of variables whose contributions are those of the response, not of a shadow variable."""
    digits = max(table.decimals, known.decimals)
    values, total = table.values.astype(object), known.total.astype(object)
    same = values * 10 ** (digits - table.decimals) == total * 10 ** (digits - known.decimals)
    other = np.unique(table.variables[~np.asarray(same, dtype=bool)])
    return ~np.isin(table.variables, other)


def _check(problem: Problem) -> None:
    """Raise an `InputError` naming the first cell whose data contradict each other."""
    table, values = problem.table, problem.table.values
    primary = problem.status == Status.PRIMARY
    levels = np.maximum(np.maximum(problem.lpl, problem.upl), problem.spl)
    outside = (problem.lb > values) | (problem.ub < values)
    faults = (
        (
            (problem.lpl < 0) | (problem.upl < 0) | (problem.spl < 0),
            "a protection level is negative",
            "Levels are distances from the value: give them without a sign.",
        ),
        (
            ~primary & (levels > 0),
            "it has protection levels but is not primary",
            "Set its status to u, or its levels to 0.",
        ),
        (
            primary & (levels == 0),
            "it is primary but its protection levels are all 0, so nothing would protect it",
            "Give it an lpl or upl above 0, or another status.",
        ),
        (problem.lb > problem.ub, "its lower bound is above its upper bound", "Correct lb and ub."),
        (outside, "its value lies outside lb and ub", "Correct the bounds: they are common knowledge."),
        (
            ~np.isfinite(problem.weight) | (problem.weight < 0),
            "its weight is negative or not finite",
            "Give a weight of 0 or more.",
        ),
    )
    for wrong, what, remedy in faults:
        if wrong.any():
            cells = np.flatnonzero(wrong)
            more = f" ({len(cells)} such cells)" if len(cells) > 1 else ""
            raise InputError(what + more, cell=table.cell_name(int(cells[0])), remedy=remedy)
