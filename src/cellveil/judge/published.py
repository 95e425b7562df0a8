"""The audit of a table that somebody else published: what its hidden cells can still be.

Requires a `PublishedTable`: cells, relations, published values, and nothing else; the true values are not
known. Ensures: the interval of every hidden cell, as an outsider finds it who takes all relations together.
Unpicking comes first, which is exact and settles most of what is disclosed; LPs settle the rest. Without true
values and required levels only exact and nearly exact disclosure can be judged: a wide interval may still be
too narrow for the rule of the office that hid the cell.

Fails closed: where the interval of a cell was not settled in time, or what is published around it contradicts
itself, nothing is claimed of the cell, and the audit does not pass.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int, freeze
from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.intervals import OutsiderAttack
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import split
from cellveil.errors import InputError, check_kind, counted, name_some
from cellveil.judge.published_table import PublishedTable
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.solvers.tolerances import ROUNDING
from cellveil.tables.scaled import unscale

BANDS = (5, 10, 25, 50)
"""Relative widths, in percent, up to which the summary counts cells."""

MAX_MARKS = 12
"""Marks that the summary names."""


NOT_KNOWN = (
    "This audit knows the published table only: not which suppressed cells are sensitive, not the protection "
    "levels, and no contributors."
)
"""What the audit of a published table cannot judge."""

COMPUTED = (
    "A computed cell discloses its contributors if it is sensitive. If it was suppressed to protect others, "
    "it protects nothing, and may as well be published: the office that knows which it is should check."
)
"""What a disclosed cell means."""


class Found(IntEnum):
    """How the interval of a hidden cell was found."""

    UNPICKED = 0
    """By single relations, one after the other, in exact arithmetic."""
    SOLVED = 1
    """By linear programming over all relations together."""
    OPEN = 2
    """Not in time: the interval is the part of it that was shown."""
    CONTRADICTED = 3
    """Not at all: what is published around the cell contradicts itself."""


@dataclass(frozen=True, repr=False, eq=False)
class PublishedAudit:
    """What an outsider works out, cell by cell, most exposed first.

    Parameters
    ----------
    published
        The table that was attacked.
    cells
        Numbers of its suppressed cells, ordered by relative width.
    lower, upper
        What each can be, in units of the table; infinite where there is no bound, NaN where contradicted.
    is_exact
        Whether only one value is left that has the decimals of the table; where values are rounded, whether
        the cell is known as closely as if it had been published.
    found
        How each interval was found, a `Found`.
    within
        Cells of at most this relative width, in percent, count as disclosed too.
    num_lps, seconds
        What it took.
    """

    published: PublishedTable
    cells: Int
    lower: Float
    upper: Float
    is_exact: Bool
    found: NDArray[np.int8]
    within: float
    num_lps: int
    seconds: float

    def __post_init__(self) -> None:
        freeze(self, ("cells", "lower", "upper", "is_exact", "found"))

    @property
    def width(self) -> Float:
        """How wide each interval is."""
        return self.upper - self.lower

    @cached_property
    def relative_width(self) -> Float:
        """Width as a share of the end that is farther from 0: 0 for a point, 1 where 0 is the lower end."""
        return _relative(self.lower, self.upper)

    @property
    def is_disclosed(self) -> Bool:
        """Which cells are known exactly, or to within the width asked for."""
        return self._up_to(self.within)

    @property
    def is_complete(self) -> bool:
        """Whether every interval was settled."""
        return bool(self._is_settled.all())

    @property
    def is_safe(self) -> bool:
        """Whether it was shown that no cell is disclosed."""
        return self.is_complete and not self.is_disclosed.any()

    def __repr__(self) -> str:
        end = "" if self.is_complete else ", not complete"
        return (
            f"PublishedAudit({len(self.cells)} hidden cells, {int(self.is_disclosed.sum())} disclosed{end})"
        )

    def counts(self) -> dict[str, int]:
        """How many cells are hidden, disclosed, and how; no cell is named."""
        exact = self.is_exact
        return {
            "cells": self.published.num_cells,
            "hidden": len(self.cells),
            "exact": int(exact.sum()),
            "exact_by_unpicking": int((exact & (self.found == Found.UNPICKED)).sum()),
            "exact_by_linear_programming": int((exact & (self.found == Found.SOLVED)).sum()),
            **{f"within_{band}_percent": int(self._up_to(band).sum()) for band in BANDS},
            "unbounded": int(np.isinf(self.relative_width).sum()),
            "not_settled": int((self.found == Found.OPEN).sum()),
            "contradicted": int((self.found == Found.CONTRADICTED).sum()),
            "disclosed": int(self.is_disclosed.sum()),
            "relations": len(self.published.table.relations),
            "relations_set_aside": len(self.published.set_aside),
        }

    def summary(self) -> str:
        """The counts in a few lines."""
        counts = self.counts()
        lines = [
            f"Cells: {counts['cells']}, hidden: {counts['hidden']}. Relations: {counts['relations']}.",
            f"Exactly disclosed: {counts['exact']} ({counts['exact_by_unpicking']} by single relations, "
            f"{counts['exact_by_linear_programming']} by all together).",
            "Interval at most "
            + ", ".join(f"{band} % wide: {counts[f'within_{band}_percent']}" for band in BANDS)
            + f"; without bound: {counts['unbounded']}.",
        ]
        if self.published.marks:
            marks = [f"{mark} ({count})" for mark, count in self.published.marks.items()]
            lines.insert(1, f"Marks: {name_some(marks, MAX_MARKS)}.")
        if counts["relations_set_aside"]:
            lines.append(
                f"Relations that the published values contradict, not used: {counts['relations_set_aside']}."
            )
        for key, what in (("not_settled", "Not settled in time"), ("contradicted", "Contradicted")):
            if counts[key]:
                lines.append(f"{what}: {counted(counts[key], 'cell')}.")
        lines += [NOT_KNOWN, *([COMPUTED] if counts["disclosed"] else [])]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Verdict, counts and intervals; an end that is not bounded or not known is null."""
        names = self.published.table.cell_names(self.cells)
        return {
            "safe": self.is_safe,
            "attacker": "outsider",
            "within_percent": self.within,
            "counts": self.counts(),
            "marks": dict(self.published.marks or {}),
            "set_aside": list(self.published.set_aside),
            "not_known": NOT_KNOWN,
            "cells": [
                {
                    "cell": names[i],
                    "lower": _shown(self.lower[i]),
                    "upper": _shown(self.upper[i]),
                    "relative_width": _shown(self.relative_width[i]),
                    "exact": bool(self.is_exact[i]),
                    "disclosed": bool(self.is_disclosed[i]),
                    "found": Found(int(self.found[i])).name.lower(),
                }
                for i in range(len(names))
            ],
            "linear_programs": self.num_lps,
            "seconds": round(self.seconds, 3),
            "view": self.published.view.content_hash,
        }

    @property
    def _is_settled(self) -> Bool:
        return np.asarray(self.found < Found.OPEN)

    def _up_to(self, percent: float) -> Bool:
        """Cells known exactly, or whose settled interval is at most so wide."""
        return np.asarray(self.is_exact | (self._is_settled & (100 * self.relative_width <= percent)))


def audit_published(
    published: PublishedTable,
    *,
    within: float = 0.0,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> PublishedAudit:
    """Attack a published table as an outsider.

    Parameters
    ----------
    within
        Cells whose interval has at most this relative width, in percent, count as disclosed.
    time_limit
        Seconds for the linear programs; what is not settled by then is not shown safe.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    >>> table = table_from_interior([region], {"region": ["N", "S", "W"]}, [4, 6, 9])
    >>> from cellveil.tables.scaled import UNBOUNDED
    >>> nothing, everything = np.zeros(4, dtype=np.int64), np.full(4, UNBOUNDED)
    >>> published = PublishedTable.of(table, np.array([False, True, False, False]), nothing, everything)
    >>> audit_published(published)
    PublishedAudit(1 hidden cells, 1 disclosed)
    """
    remedy = "Give what read_publication or read_publication_folder returns."
    check_kind(published, PublishedTable, "the published table", remedy)
    if not 0 <= within < np.inf:
        raise InputError(
            "the width below which a cell is disclosed must be 0 or more", remedy="Give percent."
        )
    started, deadline = time.perf_counter(), Deadline(time_limit)
    progress = progress or Progress()
    progress.stage("unpick")
    contradicted = np.zeros(len(published.suppressed), dtype=bool)
    try:
        unpicked, attack = _open(published.view, deadline)
    except InputError:  # all that is wrong with a view is that no table agrees with it
        view, contradicted = _consistent(published.view)
        unpicked, attack = _open(view, deadline)
    progress.stage("attack")
    lower, upper, found = _intervals(unpicked, attack, published.suppressed, progress)
    lower[contradicted], upper[contradicted] = np.nan, np.nan
    found[contradicted] = Found.CONTRADICTED
    cells = np.flatnonzero(published.suppressed)
    cells = cells[np.argsort(_relative(lower[cells], upper[cells]), kind="stable")]
    lower, upper = lower[cells], upper[cells]
    unit = 10.0**published.table.decimals
    return PublishedAudit(
        published,
        cells,
        lower / unit,
        upper / unit,
        _exact(lower, upper, published.rounding) & (found[cells] < Found.OPEN),
        found[cells],
        float(within),
        attack.num_lps,
        time.perf_counter() - started,
    )


# -- the attack ----------------------------------------------------------------------------------------------


def _open(view: PublicView, deadline: Deadline) -> tuple[Unpicked, OutsiderAttack]:
    """Unpick the view, and open the attack on what that leaves.

    Raises
    ------
    InputError
        When no table agrees with the view.
    """
    unpicked = unpick(view)
    tied = np.zeros(len(view.hidden), dtype=bool)  # what stands in no relation is known from its bounds alone
    tied[view.relations.cells] = True
    rest = view.hidden & tied & ~unpicked.is_point
    published = np.where(tied & ~rest, unpicked.lower, 0)
    narrowed = PublicView(view.relations, rest, published, unpicked.lower, unpicked.upper)
    return unpicked, OutsiderAttack(narrowed, deadline=deadline)


def _intervals(
    unpicked: Unpicked, attack: OutsiderAttack, wanted: Bool, progress: Progress
) -> tuple[Float, Float, NDArray[np.int8]]:
    """Ends of the intervals in units of the last digit, and how they were found."""
    lower, upper = unscale(unpicked.lower, 0), unscale(unpicked.upper, 0)
    found = np.full(len(lower), Found.UNPICKED, dtype=np.int8)
    cells = np.flatnonzero(attack.view.hidden & wanted)
    cells = cells[np.argsort(attack.component_of[cells], kind="stable")]
    for done, cell in enumerate(cells.tolist()):
        low = _end(attack, cell, False, float(lower[cell]))
        high = _end(attack, cell, True, float(upper[cell]))
        if low is None or high is None:
            found[cell], low, high = Found.OPEN, attack.lowest[cell], attack.highest[cell]
        else:
            found[cell] = Found.SOLVED
        lower[cell], upper[cell] = low, high
        progress.advance(done + 1, len(cells), lps=attack.num_lps)
    return lower, upper, found


def _end(attack: OutsiderAttack, cell: int, up: bool, outer: float) -> float | None:
    """One end of a cell's interval; `outer` bounds it, and once a table reaches that no LP is needed."""
    seen = float((attack.highest if up else attack.lowest)[cell])
    if not abs(outer - seen) <= ROUNDING:
        pushed = attack.push(cell, up=up)
        if pushed is None:
            return None
        seen = pushed
    if np.isinf(seen):
        return outer
    return min(seen, outer) if up else max(seen, outer)


def _exact(lower: Float, upper: Float, rounding: int) -> Bool:
    """Whether the interval holds one whole number at most, or is no wider than a rounded value's."""
    with np.errstate(invalid="ignore"):
        if rounding:
            return np.asarray(upper - lower <= rounding + ROUNDING)
        return np.asarray(np.floor(upper + ROUNDING) - np.ceil(lower - ROUNDING) < 1)


def _relative(lower: Float, upper: Float) -> Float:
    largest = np.maximum(np.abs(lower), np.abs(upper))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(largest == 0, 0.0, (upper - lower) / largest)
    return np.where(np.isinf(largest), np.inf, share)


def _shown(amount: float) -> float | None:
    return float(f"{amount:.12g}") if np.isfinite(amount) else None


# -- contradictions ------------------------------------------------------------------------------------------


def _consistent(view: PublicView) -> tuple[PublicView, Bool]:
    """The view without the components that no table agrees with, and the hidden cells of these."""
    contradicted = np.zeros(len(view.hidden), dtype=bool)
    lost: list[int] = []
    for component in split(view.relations, view.hidden)[1]:
        mine = np.zeros(len(view.hidden), dtype=bool)
        mine[component.cells] = True
        try:
            _open(replace(view, relations=view.relations.take_rows(component.rows), hidden=mine), NO_LIMIT)
        except InputError:
            contradicted |= mine
            lost.extend(component.rows.tolist())
    kept = np.setdiff1d(np.arange(len(view.relations)), lost)
    return replace(view, relations=view.relations.take_rows(kept)), contradicted
