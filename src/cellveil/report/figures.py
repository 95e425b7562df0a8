"""The figures of a report: the officials' table, the rules that fired, and how wide the intervals are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.tables.scaled import text_of

if TYPE_CHECKING:
    from cellveil.judge.outsider import OutsiderReport


GIVEN = "given with the table"
"""The reason of primary cells that no rule has marked."""

BINS = (
    (1.0, "below 100 %"),
    (1.1, "100 – 110 %"),
    (1.5, "110 – 150 %"),
    (2.0, "150 – 200 %"),
    (5.0, "200 – 500 %"),
    (np.inf, "above 500 %"),
)
"""Upper ends of the classes of margins; unbounded intervals are a class of their own."""


@dataclass(frozen=True)
class ClassOfCells:
    """One line of the officials' table; `value` is None where it would tell too much of a single cell."""

    name: str
    cells: int
    percent_cells: float
    value: str | None
    percent_value: float | None


def officials_table(problem: Problem, pattern: Pattern) -> list[ClassOfCells]:
    """Primary, secondary, published and all cells: number, share, sum of absolute values, share.

    Printed sums get into logs. A sum is left out where it tells too much about a single hidden cell
    (`tells_a_cell`), by itself or when published cells, which everybody can add up, are subtracted.
    """
    size = np.abs(problem.table.values)
    primary = pattern.hidden & (problem.status == Status.PRIMARY)
    secondary = pattern.hidden & ~primary
    groups = {"primary": primary, "secondary": secondary, "published": ~pattern.hidden}
    groups["total"] = np.ones(len(size), dtype=bool)
    whole = sum(size.tolist())
    secret = _sums_to_withhold(size, primary, secondary)
    return [
        _class_of_cells(name, size[members], len(size), whole, problem.table.decimals, name in secret)
        for name, members in groups.items()
    ]


def tells_a_cell(sizes: Int) -> bool:
    """Whether the sum of these absolute values tells one of them nearly, when another one is known.

    It does unless three of them are not 0, and those besides the two largest make up a tenth of the largest:
    the p % rule with p = 10, cells in the place of contributors. A sum of zeros tells them all.

    Examples
    --------
    >>> tells_a_cell(np.array([0, 0, 40])), tells_a_cell(np.array([40, 30, 20])), tells_a_cell(np.array([]))
    (True, False, False)
    """
    if not len(sizes):
        return False
    *others, _, largest = sorted([0, *sizes.tolist()])
    return not any(others) or 10 * sum(others) < largest


def _sums_to_withhold(size: Int, primary: Bool, secondary: Bool) -> set[str]:
    if tells_a_cell(size[primary | secondary]):
        return {"primary", "secondary", "published", "total"}
    return {"primary", "secondary"} if tells_a_cell(size[primary]) or tells_a_cell(size[secondary]) else set()


def _class_of_cells(
    name: str, size: Int, cells: int, whole: int, decimals: int, secret: bool
) -> ClassOfCells:
    value = sum(size.tolist())
    return ClassOfCells(
        name,
        len(size),
        100 * len(size) / cells if cells else 0.0,
        None if secret else text_of(value, decimals),
        None if secret else (100 * value / whole if whole else 0.0),
    )


def rules_fired(problem: Problem) -> dict[str, int]:
    """How many primary cells each rule marks; a cell may be marked by several."""
    primary = problem.status == Status.PRIMARY
    fired = {name: int((np.asarray(mask) & primary).sum()) for name, mask in problem.reasons.items()}
    marked = np.zeros(len(primary), dtype=bool)
    for mask in problem.reasons.values():
        marked |= np.asarray(mask)
    given = int((primary & ~marked).sum())
    return {name: count for name, count in {**fired, GIVEN: given}.items() if count}


def reasons_of(problem: Problem, cell: int) -> str:
    """The rules that mark one primary cell."""
    return "; ".join(name for name, mask in problem.reasons.items() if mask[cell]) or GIVEN


@dataclass(frozen=True, repr=False, eq=False)
class Margins:
    """How far the attacker's intervals reach, compared with what is required and with the value.

    Parameters
    ----------
    cells
        The primary cells, least margin first.
    margin
        The least of reach ÷ requirement over downwards, upwards and width; 1 is just enough.
    down, up
        Reach in percent of the value.
    required_down, required_up
        Requirement in percent of the value.
    times_down, times_up
        Reach in multiples of the requirement; where a side has none, of that of the other side or of half
        the required width.
    safe
        The audit's verdict.
    """

    cells: Int
    margin: Float
    down: Float
    up: Float
    required_down: Float
    required_up: Float
    times_down: Float
    times_up: Float
    safe: Bool

    @classmethod
    def of(cls, problem: Problem, audit: OutsiderReport) -> Margins:
        """Compare the intervals of an audit with the true values."""
        value = problem.table.values[audit.cells].astype(np.float64)
        down, up = value - audit.lower, audit.upper - value
        need_down, need_up = value - audit.required_lower, audit.required_upper - value
        margin = np.minimum(_ratio(down, need_down), _ratio(up, need_up))
        width = audit.required_width.astype(np.float64)
        margin = np.minimum(margin, _ratio(down + up, width))
        other = np.maximum(np.maximum(need_down, need_up), width / 2)
        units = [np.where(need > 0, need, other) for need in (need_down, need_up)]
        margin = np.where(audit.safe, np.maximum(margin, 1.0), margin)  # short by the tolerance at most
        order = np.lexsort((audit.cells, margin, audit.safe))
        return cls(
            audit.cells[order],
            margin[order],
            _percent(down, value)[order],
            _percent(up, value)[order],
            _percent(need_down, value)[order],
            _percent(need_up, value)[order],
            _ratio(down, units[0])[order],
            _ratio(up, units[1])[order],
            audit.safe[order],
        )

    def histogram(self) -> list[tuple[str, int]]:
        """Number of cells by class of margin."""
        counts, low = [], -np.inf
        for high, name in BINS:
            counts.append((name, int(((self.margin >= low) & (self.margin < high)).sum())))
            low = high
        return [*counts, ("unbounded", int(np.isinf(self.margin).sum()))]


def _ratio(reach: Float, need: Float) -> Float:
    """Reach ÷ need; infinite where nothing is needed."""
    return np.asarray(np.divide(reach, need, out=np.full(len(reach), np.inf), where=need > 0))


def _percent(amount: Float, value: Float) -> Float:
    """In percent of the value; not a number where the value is 0."""
    share = np.divide(100 * amount, np.abs(value), out=np.full(len(value), np.nan), where=value != 0)
    return np.asarray(share)


def plain(value: Any) -> Any:
    """Turn numbers of NumPy, paths and the like into what JSON knows; what is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(name): plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [plain(entry) for entry in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
