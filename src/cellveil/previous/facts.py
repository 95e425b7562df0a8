"""Facts: what each figure of an earlier release says of a cell, taken in one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.clock import Deadline
from cellveil.errors import InputError, counted, name_some
from cellveil.level_origin import LevelOrigin
from cellveil.previous.basis import FormerTable, Truth
from cellveil.previous.releases import Mapped, PreviousRelease
from cellveil.problem import LEVELS, Problem, Status
from cellveil.solvers import tolerances
from cellveil.solvers.interior_point import interior_point
from cellveil.solvers.mip import Budget, Program, solve
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table

NEAR = 0.2
"""Share by which the figures of a code that the job explains may all be revised before that is doubted."""

BANDS = (1, 2, 5, 10, 20, 50, 100, 200)
"""Per cent up to which revisions are stated; figures of opposite sign differ by up to 200 % of the larger."""

NODES = 100
"""Nodes of the search for values of cells of which nothing is known, where tables may also go without it."""

MOST_ANYWHERE = 1_000
"""Cells of which nothing is known, up to which their values are then also searched far from one point."""

LEAST_AGREEING = 0.25
"""Least share of the figures of a release that agree with the records of today."""


@dataclass(frozen=True, repr=False, eq=False)
class ReleaseFacts:
    """What one earlier release came to.

    Parameters
    ----------
    figures, agreeing
        Published figures that today's records give too, and how many of them are the same.
    revised
        Figures with another value today, beyond rounding.
    largest_revision
        The largest share by which such a figure differs, in per cent of the larger one, rounded up to one of
        `BANDS`: an exact share would tell a suppressed figure of today.
    rounded
        Figures that differ by rounding.
    common
        Cells of the new table that it has as well.
    unrelated
        Its tables of other variables.
    growth
        Within how many per cent its figures are taken as estimates of today's; None where they are of the
        same period.
    """

    name: str
    digest: str
    figures: int = 0
    agreeing: int = 0
    revised: int = 0
    largest_revision: int = 0
    rounded: int = 0
    common: int = 0
    unrelated: int = 0
    growth: float | None = None

    def line(self) -> str:
        """In words."""
        said = [f"{self.name}: {counted(self.common, 'cell')} in common"]
        if self.revised:
            share = f", by {self.largest_revision} % at most"
            said.append(f"{self.revised:,} of {counted(self.figures, 'figure')} revised since{share}")
        if self.rounded:
            said.append(f"{counted(self.rounded, 'figure')} rounded")
        if self.growth is not None:
            said.append(f"its figures taken as estimates of today's within {self.growth:g} %")
        if self.unrelated:
            said.append(f"{counted(self.unrelated, 'table')} of other variables not compared")
        return "; ".join(said)

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
        return {
            "release": self.name,
            "sha256": self.digest,
            "common_cells": self.common,
            "figures": self.figures,
            "agreeing": self.agreeing,
            "revised": self.revised,
            "largest_revision_percent": self.largest_revision,
            "rounded": self.rounded,
            "growth_percent": self.growth,
        }


class JointState:
    """Values, intervals and statuses of all cells while facts come in."""

    def __init__(
        self,
        given: Problem,
        mapped: Mapped,
        decimals: int,
        place: Int,
        values: Int,
        known: Bool,
        truth: Truth,
    ) -> None:
        self.given, self.mapped, self.decimals, self.place = given, mapped, decimals, place
        self.values, self.known, self.truth = values, known, truth
        self.basis, self.space = truth.basis, truth.space
        self.own = own = given.table.num_cells
        total = len(values)
        more = 10 ** (decimals - given.table.decimals)
        self.lb = np.zeros(total, dtype=np.int64)
        self.ub = np.full(total, UNBOUNDED, dtype=np.int64)
        self.lb[:own] = _scaled(given.lb, more)
        self.ub[:own] = _scaled(given.ub, more)
        for cell in truth.order.tolist():
            if self.space.cells[cell][0] in self.space.signed:
                self.lb[place[cell]] = -UNBOUNDED
        self.primary: dict[int, tuple[int, int, int]] = {}
        self.origins: dict[int, LevelOrigin] = {}
        self.fixed = np.zeros(total, dtype=bool)
        """Cells whose value some earlier release shows."""

    def take(self, release: PreviousRelease, tables: Sequence[tuple[FormerTable, Int]]) -> ReleaseFacts:
        """Take in the figures of one release."""
        figures = agreeing = revised = rounded = 0
        largest = 0.0
        common: set[int] = set()
        by_code: dict[tuple[str, str], list[bool]] = {}
        lasting: dict[tuple[str, str], bool] = {}
        later: list[tuple[int, int, int]] = []
        suppressed: list[int] = []
        for former, numbers in tables:
            unit = release.rounding_of(former.table.variable)
            for row, (cell, value) in enumerate(zip(numbers.tolist(), former.table.values, strict=True)):
                at = int(self.place[cell])
                if at < self.own:
                    common.add(at)
                if value is None:
                    suppressed.append(cell)
                    continue
                shown = int(value.scaleb(self.decimals))
                if not self.known[at]:
                    later.append((at, shown, shown))
                    continue
                today = int(self.values[at])
                low, high, kind = self._interval(
                    shown, today, unit, cell, former.table.decimals, release.is_described
                )
                later.append((at, low, high))
                if shown or today:
                    figures += 1
                    agreeing += kind in ("same", "rounded")
                    rounded += kind == "rounded"
                    for place, codes in enumerate(former.table.codes):
                        key = (former.table.dimensions[place], codes[row])
                        if shown:
                            lasting[key] = lasting.get(key, False) or today != 0
                        if (place, codes[row]) in former.doubtful:
                            is_stated = former.doubtful[place, codes[row]]
                            is_near = abs(shown - today) <= NEAR * max(abs(shown), abs(today))
                            by_code.setdefault(key, []).append(kind != "revised" or (is_stated and is_near))
                if kind == "revised":
                    revised += 1
                    largest = max(largest, 100 * abs(shown - today) / max(abs(shown), abs(today)))
        self._check(release, figures, agreeing, by_code)
        self._check_lasting(release, [key for key, lasts in lasting.items() if not lasts])
        for at, low, high in later:
            self._narrow(at, low, high)
        for cell in suppressed:
            self._suppressed(cell)
        unrelated = len(release.tables) - len(tables)
        band = next(band for band in BANDS if largest <= band) if revised else 0
        return ReleaseFacts(
            *(
                release.name,
                release.digest,
                figures,
                agreeing,
                revised,
                band,
                rounded,
                len(common),
                unrelated,
            ),
            self.mapped.growth,
        )

    def _interval(
        self, shown: int, today: int, unit: Decimal, cell: int, decimals: int, is_described: bool
    ) -> tuple[int, int, str]:
        """Where a former figure says that the value of today lies, and what kind of fact it is."""
        growth = self.mapped.growth
        if growth is not None:
            share = Decimal(str(growth)) / 100
            ends = (Decimal(shown) * (1 - share), Decimal(shown) * (1 + share))
            low = int(min(ends).to_integral_value(ROUND_FLOOR))
            high = int(max(ends).to_integral_value(ROUND_CEILING))
            return min(low, today), max(high, today), "same"
        own_digits = self.given.table.decimals
        if unit or (shown != today and (decimals > own_digits or not is_described)):
            step = unit or Decimal(1).scaleb(-min(decimals, own_digits))  # the coarser of the two
            at = int(self.place[cell])
            counts = self.given.table.contributors
            number = int(counts[at]) if at < self.own and counts is not None else self.truth.count(cell)
            width = (max(number, 1) * step / 2).scaleb(self.decimals)
            half = int(width.to_integral_value(ROUND_CEILING))
            off = abs(shown - today)
            if unit > Decimal(1).scaleb(-own_digits) and off <= half:
                return shown - half, shown + half, "rounded"
            if decimals != own_digits and off <= half:  # a release that does not state its rounding; or
                return today - off, today + off, "rounded"  # the figures of today are rounded
        if shown == today:
            return today, today, "same"
        off = abs(shown - today)
        return today - off, today + off, "revised"

    def _check(
        self,
        release: PreviousRelease,
        figures: int,
        agreeing: int,
        by_code: Mapping[tuple[str, str], list[bool]],
    ) -> None:
        """Refuse a release of other records, and codes that mean something else today."""
        if figures and agreeing < LEAST_AGREEING * figures:
            raise InputError(
                f"{release.name}: {agreeing} of its {figures} figures agree with the records of today, so "
                "that it is of another period or of other records",
                remedy="Leave it out, or say by how much figures differ between the periods, in per cent: "
                "against.growth = 20.",
            )
        for (dimension, code), agree in by_code.items():
            if not any(agree):
                raise InputError(
                    f"{release.name}: none of the figures of {dimension} {code} agrees with the records of "
                    "today: the code may have contained something else",
                    remedy="Write what it contained, for this release: "
                    f'against.codes."{release.name}.{dimension}" = {{"{code}" = ["…"]}}.',
                )

    def _check_lasting(self, release: PreviousRelease, gone: Sequence[tuple[str, str]]) -> None:
        """Refuse where no records are left of a code: it may have another name, or not be counted."""
        if gone and self.mapped.growth is None:
            dimension, code = gone[0]
            raise InputError(
                f"{release.name}: there are no records of {dimension} {code} today, so that it counts other "
                f"records or calls them otherwise ({counted(len(gone), 'such code')})",
                remedy="Leave it out, tabulate both from the same records, or write what the code is today, "
                f'nothing if its records are gone for good: against.codes.{dimension} = {{"{code}" = []}}.',
            )

    def _narrow(self, at: int, low: int, high: int) -> None:
        if low == high:
            self.fixed[at] = True
            if not self.known[at]:
                self.values[at], self.known[at] = low, True
            elif self.values[at] != low:
                raise InputError(
                    f"the earlier releases show different values of {self._name(at)}, of which the records "
                    "of today say nothing",
                    remedy="Leave out the release whose figures were revised.",
                )
        self.lb[at], self.ub[at] = max(self.lb[at], low), min(self.ub[at], high)

    def _suppressed(self, cell: int) -> None:
        """A cell that a release suppresses: to be protected still, if today's rules say so."""
        at = int(self.place[cell])
        if at < self.own or self.fixed[at]:
            return
        rule = self.truth.rule(cell)
        if rule is not None:
            rules, row = rule
            factor = 10 ** (self.decimals - rules.table.decimals)
            if rules.status[row] == Status.PRIMARY:
                self.primary[at] = tuple(int(getattr(rules, name)[row]) * factor for name in LEVELS)
                for origin, cells in rules.origins.items():
                    if cells[row]:
                        self.origins[at] = origin
            if rules.lb[row] > 0:
                self.lb[at] = max(self.lb[at], int(rules.lb[row]) * factor)
        elif self.basis.levels is None and (not self.known[at] or self.values[at]):
            self.primary[at] = (0, 0, 1)  # its level is not known: it must not follow exactly

    def _name(self, at: int) -> str:
        cell = int(np.flatnonzero(self.place == at)[0])
        return self.space.name(cell)

    def complete(self, relations: Relations, releases: Sequence[PreviousRelease], deadline: Deadline) -> str:
        """Find values of cells of which nothing is known, so that everything agrees; checked exactly.

        Returns
        -------
        Why there are none, in words, where there are no releases; "" where everything agrees.

        Raises
        ------
        InputError
            Where the releases do not agree with the figures of today, or with each other.
        """
        unknown = np.flatnonzero(~self.known)
        budget = Budget(deadline, None if releases else NODES)
        ways = (True, False) if len(unknown) <= MOST_ANYWHERE or releases else (True,)
        for is_near in ways if len(unknown) else ():
            bounds = (self.lb[unknown], self.ub[unknown])
            point = _completed(relations, self.values, unknown, bounds, is_near, budget)
            if point is not None:
                self.values[unknown] = point
                if not relations.residuals(self.values):
                    break
        wrong = relations.residuals(self.values)
        outside = (self.values < self.lb) | (self.values > self.ub)
        if not wrong and not outside.any():
            return ""
        if releases:
            raise InputError(
                f"the figures of today and of {name_some([release.name for release in releases])} contradict "
                f"each other ({len(wrong)} sums, {int(outside.sum())} bounds)",
                remedy="Leave out the release that was revised, or give the records, which show revisions.",
            )
        axes = sorted(frozenset().union(*(self.space.shape(cell) for cell in self.truth.order.tolist())))
        names = " × ".join(self.space.columns[axis].name for axis in axes)
        return (
            f"{names} of the same records ({len(self.truth.order):,} combinations; no values were found that "
            "add up to all tables: the tables may count different records; with the records themselves, "
            "[microdata], it can be tested)"
        )

    def problem(self, table: Table) -> Problem:
        """The joint problem."""
        own, given = self.own, self.given
        more = 10 ** (self.decimals - given.table.decimals)
        number = table.num_cells
        is_point = self.fixed & (self.lb == self.ub)
        status = np.where(is_point, Status.FROZEN, Status.SECONDARY).astype(np.int8)
        status[:own] = np.where(
            (given.status == Status.SAFE) & self.fixed[:own], Status.FROZEN, given.status
        ).astype(np.int8)
        levels = {name: np.zeros(number, dtype=np.int64) for name in LEVELS}
        for name, amounts in levels.items():
            amounts[:own] = getattr(given, name) * more
        for at, amounts3 in self.primary.items():
            if not self.fixed[at] and any(amounts3):
                status[at] = Status.PRIMARY
                for name, amount in zip(LEVELS, amounts3, strict=True):
                    levels[name][at] = amount
        weight = np.concatenate([given.weight, np.zeros(number - own)])
        published = status == Status.FROZEN
        lb = np.where(published, np.minimum(self.lb, self.values), self.lb)
        ub = np.where(published, np.maximum(self.ub, self.values), self.ub)
        further = np.zeros(number - own, dtype=bool)
        origins = {origin: np.concatenate([cells, further]) for origin, cells in given.origins.items()}
        for at, origin in self.origins.items():
            if status[at] == Status.PRIMARY:
                origins.setdefault(origin, np.zeros(number, dtype=bool))[at] = True
        return Problem(
            *(table, status, weight, lb, ub, levels["lpl"], levels["upl"], levels["spl"]),
            origins=origins,
            bounds_reason=given.bounds_reason,
        )


def _scaled(ends: Int, factor: int) -> Int:
    return np.where(np.abs(ends) == UNBOUNDED, ends, ends * factor) if factor > 1 else ends.copy()


def _completed(
    relations: Relations, values: Int, unknown: Int, bounds: tuple[Int, Int], is_near: bool, budget: Budget
) -> Int | None:
    """Values of the unknown cells, as far as a solver finds them: anywhere, or next to an interior point.

    Rounding each value of an interior point down or up nearly always gives whole numbers that add up, and is
    found at the first node.
    """
    part = relations.matrix.tocsr()[:, unknown]
    rows = np.flatnonzero(np.diff(part.indptr))
    matrix = part[rows].astype(np.float64).tocsc()
    cost, whole = np.zeros(len(unknown)), np.ones(len(unknown), dtype=bool)
    low, high = (ends.astype(np.float64) for ends in bounds)
    low[bounds[0] == -UNBOUNDED], high[bounds[1] == UNBOUNDED] = -np.inf, np.inf
    base = np.zeros(len(unknown), dtype=np.int64)
    if is_near:
        right = _left_over(relations, values, unknown, base)[rows]
        point = interior_point(matrix, (right, right), cost, (low, high), deadline=budget.deadline)
        if point is None:
            return None
        base = np.clip(np.floor(point + tolerances.INTEGRALITY).astype(np.int64), *bounds)
        low, high = np.maximum(low - base, 0.0), np.minimum(high - base, 1.0)
    right = _left_over(relations, values, unknown, base)[rows]
    moves = solve(Program(matrix, (right, right), (low, high), cost, whole), budget=budget).point
    return None if moves is None else base + np.rint(moves).astype(np.int64)


def _left_over(relations: Relations, values: Int, unknown: Int, base: Int) -> Float:
    """What the unknown cells must add up to in each relation, beyond their base."""
    values = values.copy()
    values[unknown] = base
    found = np.zeros(len(relations))
    for row, off in relations.residuals(values).items():
        found[row] = -off
    return found
