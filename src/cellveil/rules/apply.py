"""From a table and its rules to the problem a suppression method has to solve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, check_kind, counted, name_some, nearest_name
from cellveil.problem import STATUS_OF_LETTER, Problem, Status, defaults
from cellveil.rules.base import DEFAULT_RANGE, Judgement, Rule
from cellveil.rules.combinations import AnyOf
from cellveil.rules.distance_costs import distance_costs
from cellveil.rules.frequency import Manual
from cellveil.rules.given_marks import GivenMarks
from cellveil.rules.least_counts import with_least_counts
from cellveil.rules.percentages import Number, as_levels, fraction, round_up
from cellveil.rules.syntax import rule_from_dict
from cellveil.rules.weights import DISTANCE, weights
from cellveil.tables.cells import CellRef, cell_number, cell_numbers
from cellveil.tables.scaled import UNBOUNDED, scale
from cellveil.tables.table import Table

Bounds = Literal["natural", "free", "tau-argus"] | tuple[Any, Any]
Override = tuple[CellRef, Status | str]


@dataclass(frozen=True)
class Primary:
    """What the rules made of a table.

    Parameters
    ----------
    problem
        The problem.
    num_clipped
        How many levels were cut because nobody believes the value to lie beyond its known bounds.
    num_waived
        How many cells are published although a rule fires, because they were waived.
    """

    problem: Problem
    num_clipped: int
    num_waived: int


def make_problem(table: Table, rule: Any, **options: Any) -> Problem:
    """Apply a rule, or several, and return the problem; the options are those of `find_primaries`.

    Examples
    --------
    >>> from cellveil.rules.frequency import Threshold
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [2, 6])
    >>> make_problem(table, Threshold(3, of="value"))
    Problem(3 cells, 1 primary, 0 frozen)
    >>> make_problem(table, ["threshold:3,of=value", "threshold:2,of=value"])
    Problem(3 cells, 1 primary, 0 frozen)
    """
    return find_primaries(table, rule, **options).problem


def find_primaries(
    table: Table,
    rule: Any,
    *,
    weight: str = "value",
    power: float = 1.0,
    column: str | None = None,
    box_cox: float | None = None,
    distance: Mapping[str, Sequence[float]] | None = None,
    frozen: Iterable[CellRef] = (),
    waived: Iterable[CellRef] = (),
    statuses: Iterable[Override] | Mapping[Any, Status | str] = (),
    given: GivenMarks | None = None,
    bounds: Bounds = "natural",
    bounds_reason: str = "",
    lower_factor: Number = 1,
    upper_factor: Number = 1,
    spl: Number | None = None,
    safety_range: Number = DEFAULT_RANGE,
) -> Primary:
    """Apply a rule: statuses, levels, bounds and weights of all cells.

    Zeros are frozen unless the rule marks them. Levels are cut where they reach beyond the known bounds.

    Parameters
    ----------
    rule
        A rule; a list of them, of which any may fire; as in job files, also in short (``"p%:10"``). None if
        all primaries are set by hand.
    weight, power, column, box_cox
        Information loss, see `cellveil.rules.weights.weights`.
    distance
        Of the weights “distance”: costs by dimension, see `cellveil.rules.distance_costs`.
    frozen
        Cells that must be published. An unsafe one among them is an error, unless it is waived too.
    waived
        Cells that may be published although the rule fires.
    statuses
        Settings by hand, cell by cell: u (unsafe, level `safety_range` %), m (hidden already), s (may be
        published), z (must be published). An unsafe cell set to s or z is an error, unless it is waived too.
    given
        What the table itself says of its cells: unsafe ones (u) with their own levels, or `safety_range` %;
        bounds, which come before `bounds`; cells to be hidden (m) or published (z), where nothing is set by
        hand. A cell that it calls safe (s) may still be unsafe by the rule.
    bounds
        What everybody knows beforehand. ``natural``: at least 0, but nothing of a variable with a negative
        value or contribution; ``free``: nothing; ``tau-argus``: 0 to 1.5 times the largest value of the
        variable (from 1.5 times the smallest if that is negative); or a pair (lower, upper), each a number or
        a column in units of the response, None where nothing is known. A count that is known to be at least 0
        is known to be at least 1 where no zero may be hidden.
    bounds_reason
        Why readers are taken not to know that the values of a variable without a negative one are not
        negative. Without a reason such bounds are refused: verdict, report and release repeat it.
    lower_factor, upper_factor
        The levels of the rules are multiplied by these; 0 switches one side off.
    spl
        Sliding protection level of every primary, in units of the response.
    """
    check_kind(table, Table, "the table", "Give a Table: tabulate(…) or read_table(…) make one.")
    rule = None if rule is None else rule_from_dict(rule)
    if rule is not None and rule.is_about_counts:
        table = _counting_contributors(table)
    marks = GivenMarks.nothing(table.num_cells) if given is None else given
    excused = cell_numbers(table, waived)
    by_hand = _with_given(_by_hand(table, frozen, statuses), marks)
    judgement = _judge(table, rule, by_hand, safety_range, marks.judgement(table, safety_range))
    fields = defaults(table)

    unsafe, num_waived = _without_waived(table, judgement.unsafe, excused, by_hand)
    if len(excused):
        fields["waived"] = np.isin(np.arange(table.num_cells), excused)
    status = fields["status"]
    for cell, wanted in by_hand.items():
        status[cell] = wanted
    status[unsafe] = Status.PRIMARY
    lb, fields["ub"] = marks.bounds(*_known_bounds(table, bounds))
    if not (rule is not None and rule.needs_all_cells):
        lb = with_least_counts(table, lb, status, counted=rule is not None and rule.is_about_counts)
    fields["lb"], fields["bounds_reason"] = lb, bounds_reason.strip()
    fields["weight"] = (
        distance_costs(table, unsafe, distance)
        if weight == DISTANCE
        else weights(table, weight, power, column, box_cox=box_cox)
    )

    factors = fraction(lower_factor, "lower_factor"), fraction(upper_factor, "upper_factor")
    lower, upper = _times(judgement.lpl, unsafe, factors[0]), _times(judgement.upl, unsafe, factors[1])
    fields["lpl"] = np.minimum(lower, _room(table.values, fields["lb"], -1))
    fields["upl"] = np.minimum(upper, _room(table.values, fields["ub"], +1))
    if spl is not None:
        fields["spl"] = np.where(unsafe, _one_scaled(table, spl, "spl"), 0)
    fields["spl"] = marks.sliding(unsafe, fields["spl"])
    kept = judgement.within(unsafe)
    fields["reasons"] = kept.reasons
    fields["origins"] = {origin.times(*factors): cells for origin, cells in kept.origins.items()}
    num_clipped = int((fields["lpl"] < lower).sum() + (fields["upl"] < upper).sum())
    problem = Problem(table, **fields)
    check_bounds_reason(problem)
    return Primary(problem, num_clipped, num_waived)


def check_bounds_reason(problem: Problem) -> None:
    """Raise where readers are taken to know less than everybody knows, and no reason is given."""
    if problem.assumption and not problem.bounds_reason:
        cells = np.flatnonzero(problem.wide_bounds)
        raise InputError(
            f"the bounds of {counted(len(cells), 'cell')} assume that {problem.assumption}; but no value of "
            "that variable is negative",
            cell=problem.table.cell_name(int(cells[0])),
            remedy='Leave such bounds out; or say why readers do not know it: bounds_reason = "…", which '
            "verdict, report and release repeat.",
        )


def _counting_contributors(table: Table) -> Table:
    """The table with its values as numbers of contributors, where it is one of counts and says no more."""
    unit = 10**table.decimals
    are_counts = bool((table.values >= 0).all()) and not (table.values % unit).any()
    if table.contributors is not None or table.units is not None or not are_counts:
        return table
    return table.replace(contributors=table.values // unit)


def num_excused(table: Table, rule: Rule) -> int | None:
    """How many cells are safe only because contributors waived protection; None where nobody has."""
    found = {"units": table.units, "holdings": table.holdings}
    if all(one is None or one.largest_unwaived is None for one in found.values()):
        return None
    nobody = {name: one and replace(one, waived=None, largest_unwaived=None) for name, one in found.items()}
    return int((rule.judge(table.replace(**nobody)).unsafe & ~rule.judge(table).unsafe).sum())


def _by_hand(
    table: Table, frozen: Iterable[CellRef], statuses: Iterable[Override] | Mapping[Any, Status | str]
) -> dict[int, Status]:
    """Statuses set by hand; one cell set in two ways is an error."""
    given = statuses.items() if isinstance(statuses, Mapping) else statuses
    settings: list[Override] = [*((cell, Status.FROZEN) for cell in frozen), *given]
    by_hand: dict[int, Status] = {}
    for cell, wanted in settings:
        number, status = cell_number(table, cell), _status(wanted)
        if by_hand.setdefault(number, status) != status:
            raise InputError(
                f"it is set to {by_hand[number].letter} and to {status.letter}",
                cell=table.cell_name(number),
                remedy="Keep one of the two settings.",
            )
    return by_hand


def _status(wanted: Status | str) -> Status:
    if isinstance(wanted, Status):
        return wanted
    if wanted not in STATUS_OF_LETTER:
        raise InputError(f"unknown status {wanted!r}", remedy=nearest_name(wanted, list(STATUS_OF_LETTER)))
    return STATUS_OF_LETTER[wanted]


def _with_given(by_hand: Mapping[int, Status], given: GivenMarks) -> dict[int, Status]:
    """Statuses set by hand, and those the table gives to other cells; its unsafe ones have their levels."""
    kinds = (Status.SECONDARY, Status.FROZEN)
    return {cell: status for status in kinds for cell in given.cells_of(status)} | dict(by_hand)


def _judge(
    table: Table, rule: Rule | None, by_hand: Mapping[int, Status], safety_range: Number, given: Judgement
) -> Judgement:
    marked = Manual([cell for cell, status in by_hand.items() if status == Status.PRIMARY], safety_range)
    found = (marked if rule is None else AnyOf(rule, marked)).judge(table)
    return Judgement.combine([found, given], found.unsafe | given.unsafe) if given.unsafe.any() else found


def _without_waived(
    table: Table, unsafe: Bool, waived: Int, by_hand: Mapping[int, Status]
) -> tuple[Bool, int]:
    """Unsafe cells that stay so; a cell both unsafe and to be published must be waived."""
    must_hide = np.zeros(len(unsafe), dtype=bool)
    must_hide[[cell for cell, status in by_hand.items() if status == Status.PRIMARY]] = True
    excused = np.zeros(len(unsafe), dtype=bool)
    excused[waived] = True
    both = np.flatnonzero(must_hide & excused)
    if len(both):
        raise InputError(
            "it is set to unsafe and waived",
            cell=table.cell_name(int(both[0])),
            remedy="Keep one of the two.",
        )
    published = [cell for cell, status in by_hand.items() if status in (Status.FROZEN, Status.SAFE)]
    torn = [cell for cell in published if unsafe[cell] and not excused[cell]]
    if torn:
        raise InputError(
            f"set to be published, but unsafe by the rules: {name_some(table.cell_names(torn))}",
            cell=table.cell_name(torn[0]),
            remedy="Do not freeze unsafe cells, or waive their protection explicitly.",
        )
    return unsafe & ~excused, int((unsafe & excused).sum())


def _times(levels: Int, unsafe: Bool, factor: Fraction) -> Int:
    """Levels times a factor, rounded up."""
    if factor < 0:
        raise InputError("a factor of the levels is negative", remedy="Give 0 or more.")
    if factor == 1:
        return np.where(unsafe, levels, 0)
    scaled = np.zeros_like(levels)
    cells = unsafe & (levels > 0)
    if factor > 0:
        scaled[cells] = as_levels(
            round_up(levels[cells].astype(object) * factor.numerator, factor.denominator)
        )
    return scaled


def _room(values: Int, bound: Int, sign: int) -> Int:
    """Distance from the values to their bound on one side; the largest integer where there is none."""
    open_ended = np.abs(bound) == UNBOUNDED
    distance = sign * (np.where(open_ended, values, bound) - values)
    return np.where(open_ended, UNBOUNDED, np.maximum(distance, 0))


def _known_bounds(table: Table, bounds: Bounds) -> tuple[Int, Int]:
    n, values = table.num_cells, table.values
    nothing = np.full(n, UNBOUNDED, dtype=np.int64)
    if isinstance(bounds, tuple) and len(bounds) == 2:
        return _given(table, bounds[0], -nothing, "lower bound"), _given(
            table, bounds[1], nothing, "upper bound"
        )
    if bounds == "natural":
        fields = defaults(table)
        return fields["lb"], fields["ub"]
    if bounds == "free":
        return -nothing, nothing
    if bounds == "tau-argus":
        number = int(table.variables.max(initial=0)) + 1
        smallest, largest = np.zeros(number, dtype=np.int64), np.zeros(number, dtype=np.int64)
        np.minimum.at(smallest, table.variables, values)
        np.maximum.at(largest, table.variables, values)
        lowest, highest = -(-3 * smallest // 2), 3 * largest // 2  # inwards: the attacker knows rather more
        return lowest[table.variables], highest[table.variables]
    raise InputError(
        f"unknown bounds {bounds!r}",
        remedy="Give natural, free, tau-argus, or a pair (lower, upper).",
    )


def _given(table: Table, bound: Any, nothing: Int, what: str) -> Int:
    """A bound given as a number or a column in units of the response; None: nothing is known."""
    if bound is None:
        return nothing
    column = np.asarray(bound)
    if column.ndim == 0:
        return np.full(table.num_cells, _one_scaled(table, column.item(), what), dtype=np.int64)
    if len(column) != table.num_cells:
        raise InputError(
            f"{len(column)} {what}s for {table.num_cells} cells", remedy="Give one number, or one per cell."
        )
    infinite = np.isinf(column) if column.dtype.kind == "f" else np.zeros(len(column), dtype=bool)
    scaled, faults = scale(np.where(infinite, 0, column), table.decimals)
    if faults:
        row = min(faults)
        raise InputError(
            f"the {what} {faults[row]}", cell=table.cell_name(row), remedy="Use the decimals of the values."
        )
    return np.where(infinite, nothing, scaled)


def _one_scaled(table: Table, number: Number, what: str) -> int:
    scaled = fraction(number, what) * 10**table.decimals
    if scaled.denominator != 1 or abs(scaled) >= UNBOUNDED:
        raise InputError(
            f"the {what} does not fit the decimals of the table", remedy="Use the decimals of the values."
        )
    return int(scaled)
