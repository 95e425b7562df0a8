"""The judge of releases over time: what readers of all public files can work out, held against the records.

The unknowns are the finest cells: one for each variable and each combination of the finest codes of all data
columns, empty ones included. Nobody knows which of them are empty, but none is negative where no record is.
Every public figure of every release is a row: the sum of the finest cells that it counts, in an interval.

- a published value: a point; of records rounded to a step u: n·(u + u')/2 on either side, for n records (or
  the sum of their weights) and the step u' of the newest release;
- a former figure that does not fit today's records was revised: readers know by how much, and not which way,
  so it lies in t ± |v - t| around today's value t;
- a combination that a table leaves out is empty: 0, where the office leaves out empty cells only;
- a suppressed value: no more than the common bounds, at least 1 for a suppressed count;
- equations between variables hold in every finest cell.

The judge knows from whoever made the files what each code means, so it matches no names. It shares nothing
with the package. Linear programs over deviations from today's records tell how far a cell can lie from
its value.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix, vstack

from fuzz.sensitive import Levels, Record, Variable, levels_of

Sets = frozenset[str]
Cell = tuple[Variable, bytes]
"""A variable and the finest combinations that are counted."""

SCALE = 10_000
"""Figures are whole numbers of this part of a unit."""
SHORT = 1e-5
VARIABLE = "variable"


@dataclass(frozen=True)
class PublishedTable:
    """One public CSV file, as its office knows it."""

    stem: str
    columns: Mapping[str, str]
    """The data column of each dimension."""
    codes: Mapping[str, Mapping[str, Sets]]
    """For each dimension, the finest codes that each code contains."""
    variables: Mapping[str, Variable]
    """By the codes of the column `variable`; by an empty text where there is no such column."""
    leaves_out_empty: bool = True
    """Whether a combination of its codes without a row is an empty cell."""


@dataclass(frozen=True)
class Release:
    """One release: its public folder, what its files mean, and the records of that time."""

    name: str
    public: Path
    tables: Sequence[PublishedTable]
    records: Sequence[Record]
    population: Mapping[str, Sets] = field(default_factory=dict)
    """The finest codes to which the records are limited, by data column."""
    step: Fraction = Fraction(0)
    """Each record is rounded to multiples of it; 0 where records are not rounded."""
    rules: Sequence[Mapping[str, Any]] = ()
    forced: Sequence[tuple[Variable, Mapping[str, Sets]]] = ()
    """Cells that the job sets to be published, by their finest codes."""
    equations: Mapping[str, Sequence[str]] = field(default_factory=dict)
    internal: Path | None = None
    source: Path | None = None
    """Internal files of the run whose instance it releases: what was accepted there has no level in it."""
    knows_records: bool = True
    """Whether its job reads records, so that the rules can be asked about any set of them."""

    def counts(self, record: Record) -> bool:
        """Whether the record belongs to the population."""
        return all(record.codes[column] in codes for column, codes in self.population.items())


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a release."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


@dataclass
class Verdict:
    """What the judge found, and how much work it was."""

    findings: list[Finding] = field(default_factory=list)
    requirements: int = 0
    known_already: list[str] = field(default_factory=list)
    revised: int = 0
    """Former figures that do not fit the records of the newest release."""
    programs: int = 0
    unproved: int = 0

    @property
    def kinds(self) -> set[str]:
        """The kinds of findings."""
        return {finding.kind for finding in self.findings}


PUBLISHED, OPEN, ALONE, FORMER, WRONG, SILENT = (
    "a sensitive cell is published",
    "a sensitive cell follows from several releases",
    "a sensitive cell follows from the release alone",
    "a sensitive cell of a former release follows",
    "a published value is wrong",
    "what former releases give away is not stated",
)


# -- the space of finest cells ----------------------------------------------------------------------------


class Space:
    """All combinations of the finest codes of the data columns."""

    def __init__(self, releases: Sequence[Release]) -> None:
        finest: dict[str, set[str]] = {}
        for release in releases:
            used = {column for table in release.tables for column in table.columns.values()}
            for column in used | set(release.population):
                finest.setdefault(column, set())
        for release in releases:
            for column in finest:
                finest[column] |= {record.codes[column] for record in release.records}
            for table in release.tables:
                for dimension, codes in table.codes.items():
                    finest[table.columns[dimension]] |= set().union(*codes.values())
        self.finest = {column: sorted(codes) for column, codes in sorted(finest.items())}
        self.shape = tuple(len(codes) for codes in self.finest.values())
        self.size = int(np.prod(self.shape))

    def mask(self, sets: Mapping[str, Sets]) -> np.ndarray:
        """Which combinations have a code of the set in every column; a column left out has no limit."""
        found = np.ones(self.shape, bool)
        for place, (column, codes) in enumerate(self.finest.items()):
            if column in sets:
                inside = np.array([code in sets[column] for code in codes])
                found &= inside.reshape([-1 if p == place else 1 for p in range(len(self.shape))])
        return found.ravel()

    def place(self, record: Record) -> int:
        """The combination of a record."""
        where = [codes.index(record.codes[column]) for column, codes in self.finest.items()]
        return int(np.ravel_multi_index(where, self.shape))


def whole(amount: Fraction) -> int:
    """The amount as a whole number of the judge's unit."""
    scaled = amount * SCALE
    assert scaled.denominator == 1, "an amount with more decimals than the judge counts"
    return int(scaled)


# -- figures ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """One public figure: what it counts, and what stands there."""

    release: int
    label: str
    cell: Cell
    value: int | None
    """None where it is suppressed."""
    is_absent: bool = False


def read_figures(releases: Sequence[Release], space: Space, number: int) -> list[Figure]:
    """All figures of one release, those of combinations that it leaves out included."""
    release = releases[number]
    symbol = json.loads((release.public / "about.json").read_text(encoding="utf-8")).get("symbol", "x")
    found = []
    for table in release.tables:
        with (release.public / f"{table.stem}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name not in ("value", "flag", VARIABLE)]
        assert set(names) == set(table.columns), f"{table.stem}.csv has the dimensions {names}"
        seen = set()
        for row in rows:
            codes = tuple(row[name] for name in names)
            seen.add((*codes, row.get(VARIABLE, "")))
            cell = _cell(release, table, space, names, codes, row.get(VARIABLE, ""))
            if cell is not None:
                value = None if row["value"] in (symbol, "") else whole(Fraction(row["value"]))
                found.append(Figure(number, _label(release, table, names, codes, cell[0]), cell, value))
        if not table.leaves_out_empty:
            continue
        listed = [sorted({row[name] for row in rows}) for name in names]
        for codes in product(*listed):
            if (*codes, "") not in seen:
                cell = _cell(release, table, space, names, codes, "")
                if cell is not None:
                    label = _label(release, table, names, codes, cell[0])
                    found.append(Figure(number, label, cell, 0, is_absent=True))
    return found


def _cell(
    release: Release,
    table: PublishedTable,
    space: Space,
    names: Sequence[str],
    codes: Sequence[str],
    variable: str,
) -> Cell | None:
    sets = dict(release.population)
    for name, code in zip(names, codes, strict=True):
        column, inside = table.columns[name], table.codes[name][code]
        sets[column] = sets[column] & inside if column in sets else inside
    mask = space.mask(sets)
    return (table.variables[variable], mask.tobytes()) if mask.any() else None


def _label(
    release: Release, table: PublishedTable, names: Sequence[str], codes: Sequence[str], variable: Variable
) -> str:
    what = ", ".join(f"{name} {code}" for name, code in zip(names, codes, strict=True))
    return f"{release.name}: {variable.column or 'count'} of {what}"


# -- knowledge --------------------------------------------------------------------------------------------


Interval = tuple[int | None, int | None]


@dataclass
class Base:
    """Today's records: the value of every cell, and the records it counts."""

    space: Space
    newest: Release
    releases: Sequence[Release]

    def __post_init__(self) -> None:
        self.places = np.array([self.space.place(record) for record in self.newest.records], int)

    @cached_property
    def signed(self) -> set[str]:
        """Columns with a negative amount in some release: of these nothing is known beforehand."""
        return {
            column
            for release in self.releases
            for record in release.records
            for column, amount in record.amounts.items()
            if amount < 0
        }

    def finest(self, variable: Variable) -> np.ndarray:
        """The value of each finest cell."""
        found = np.zeros(self.space.size, np.int64)
        for place, record in zip(self.places, self.newest.records, strict=True):
            found[place] += whole(variable.value(record, self.newest.step))
        return found

    def value(self, cell: Cell) -> int:
        """Today's value of a cell."""
        return int(self.finest_of[cell[0]][_bits(cell)].sum())

    @cached_property
    def finest_of(self) -> _Finest:
        """Finest values by variable."""
        return _Finest(self)

    def records(self, cell: Cell) -> list[Record]:
        """The records that a cell counts."""
        inside = _bits(cell)[self.places]
        return [record for record, is_in in zip(self.newest.records, inside, strict=True) if is_in]

    def interval(self, figure: Figure) -> Interval:
        """What everybody knows of a cell from one figure; today's value lies in it."""
        cell, value = figure.cell, self.value(figure.cell)
        if figure.value is None:
            is_count = not cell[0].column and not cell[0].weighted
            return (SCALE if is_count and value >= SCALE else None), None
        wide = self._width(figure)
        apart = abs(figure.value - value)
        if self.releases[figure.release].step < self.newest.step:  # today's figures are the rounded ones: who
            return value - apart, value + apart  # knows the finer ones reckons with these
        if apart <= wide:
            return figure.value - wide, figure.value + wide
        return value - apart - wide, value + apart + wide

    def is_revised(self, figure: Figure) -> bool:
        """Whether the figure does not fit today's records."""
        if figure.value is None:
            return False
        return abs(figure.value - self.value(figure.cell)) > self._width(figure)

    def _width(self, figure: Figure) -> int:
        """How far rounding may have moved a figure."""
        release, cell = self.releases[figure.release], figure.cell
        if release.step != self.newest.step and cell[0].column:
            inside = _bits(cell)
            former = [r for r in release.records if release.counts(r) and inside[self.space.place(r)]]
            number = partial(_number, cell[0])
            most = max(number(self.records(cell)), number(former))
            return ceil(most * (release.step + self.newest.step) / 2 * SCALE)
        return 0


def _number(variable: Variable, records: Iterable[Record]) -> Fraction:
    """How many records there are, by their weights: as often each is rounded."""
    return sum((record.weight if variable.weighted else Fraction(1) for record in records), Fraction(0))


class _Finest(dict[Variable, np.ndarray]):
    def __init__(self, base: Base) -> None:
        super().__init__()
        self._base = base

    def __missing__(self, variable: Variable) -> np.ndarray:
        self[variable] = self._base.finest(variable)
        return self[variable]


def _bits(cell: Cell) -> np.ndarray:
    return np.frombuffer(cell[1], bool)


@dataclass(frozen=True)
class Requirement:
    """How far a cell must be able to lie from its value."""

    cell: Cell
    label: str
    levels: Levels
    is_own: bool


class Knowledge:
    """The deviations from today's records that agree with some figures."""

    def __init__(
        self,
        base: Base,
        figures: Iterable[Figure],
        equations: Mapping[Variable, Sequence[Variable]],
        extra: Iterable[Cell],
    ) -> None:
        self.base = base
        self.known: dict[Cell, Interval] = dict.fromkeys(extra, (None, None))
        for figure in figures:
            low, high = base.interval(figure)
            below, above = self.known.get(figure.cell, (None, None))
            low = below if low is None else low if below is None else max(low, below)
            high = above if high is None else high if above is None else min(high, above)
            self.known[figure.cell] = (low, high)
        self.cells = list(self.known)
        self.number = {cell: number for number, cell in enumerate(self.cells)}
        self.variables = list(dict.fromkeys([cell[0] for cell in self.cells]))
        for left, right in equations.items():
            self.variables += [name for name in (left, *right) if name not in self.variables]
        self.equations = equations
        self.programs = self.unproved = 0
        self._build()

    def _build(self) -> None:
        """Combinations that no cell distinguishes are one class; known zeros are fixed."""
        base = self.base
        inside = np.array([_bits(cell) for cell in self.cells])
        patterns, first, classes = np.unique(
            np.packbits(inside, axis=0), axis=1, return_index=True, return_inverse=True
        )
        classes, width = classes.ravel(), patterns.shape[1]
        start = {variable: place * width for place, variable in enumerate(self.variables)}
        size = width * len(self.variables)
        self.lower, self.upper = np.full(size, -np.inf), np.full(size, np.inf)
        for variable, begin in start.items():
            if variable.column not in base.signed:
                sums = np.bincount(classes, base.finest_of[variable], width)
                self.lower[begin : begin + width] = -sums / SCALE
        rows, columns, lows, highs = [], [], [], []
        for number, cell in enumerate(self.cells):
            members = np.flatnonzero(inside[number, first]) + start[cell[0]]
            low, high = self.known[cell]
            value = base.value(cell)
            if high == 0 and value == 0 and cell[0].column not in base.signed:
                self.upper[members] = 0.0
            rows.append(np.full(len(members), number))
            columns.append(members)
            lows.append(-np.inf if low is None else (low - value) / SCALE)
            highs.append(np.inf if high is None else (high - value) / SCALE)
        where = (np.concatenate(rows), np.concatenate(columns))
        self.matrix = csr_matrix((np.ones(len(where[0])), where), shape=(len(self.cells), size))
        self.low, self.high = np.array(lows), np.array(highs)
        assert (self.low <= 0).all() and (self.high >= 0).all(), "today's records contradict a figure"
        self.ties = self._ties(start, width, size)
        self.pool = np.zeros((0, size))

    def _ties(self, start: Mapping[Variable, int], width: int, size: int) -> csr_matrix:
        entries = []
        for count, (left, right) in enumerate(self.equations.items()):
            for place in range(width):
                entries.append((count * width + place, start[left] + place, -1.0))
                entries += [(count * width + place, start[part] + place, 1.0) for part in right]
        if not entries:
            return csr_matrix((0, size))
        row, column, factor = zip(*entries, strict=True)
        return csr_matrix((factor, (row, column)), shape=(len(self.equations) * width, size))

    @cached_property
    def _program(self) -> dict[str, Any]:
        is_point = self.low == self.high
        between = [
            self.matrix[~is_point & np.isfinite(self.high)],
            -self.matrix[~is_point & np.isfinite(self.low)],
        ]
        ends = [self.high[~is_point & np.isfinite(self.high)], -self.low[~is_point & np.isfinite(self.low)]]
        equal = vstack([self.matrix[is_point], self.ties]).tocsr()
        below = vstack(between).tocsr()
        return {
            "A_eq": equal if equal.shape[0] else None,
            "b_eq": np.zeros(equal.shape[0]) if equal.shape[0] else None,
            "A_ub": below if below.shape[0] else None,
            "b_ub": np.concatenate(ends) if below.shape[0] else None,
            "bounds": np.column_stack([self.lower, self.upper]),
        }

    def shortfall(self, cell: Cell, up: bool, amount: float) -> float | None:
        """How far the cell can move at most, where that is less than the amount; else None."""
        if amount <= 0:
            return None
        sign = 1.0 if up else -1.0
        row = sign * self.matrix[self.number[cell]].toarray().ravel()
        if len(self.pool) and (self.pool @ row).max() >= amount:
            return None  # a deviation found before, made smaller
        self.programs += 1
        reached = self._farthest(row, "highs-ds")
        if reached is None or reached < amount - SHORT * max(1.0, amount):
            again = self._farthest(row, "highs-ipm")
            if again is None or again >= amount - SHORT * max(1.0, amount):
                self.unproved += reached is None or again is None
                return None
            if reached is None:
                self.unproved += 1
                return None
            return max(0.0, again)
        return None

    def _farthest(self, row: np.ndarray, method: str) -> float | None:
        found = linprog(-row, method=method, **self._program)
        if found.status == 3:
            return np.inf
        if found.status != 0:
            return None
        self.pool = np.vstack([self.pool, found.x])
        return float(-found.fun)


# -- the verdict ------------------------------------------------------------------------------------------


def judge(releases: Sequence[Release]) -> Verdict:
    """What is wrong with the last of these releases, for readers of all of them."""
    return _Judgement(releases).verdict


class _Judgement:
    def __init__(self, releases: Sequence[Release]) -> None:
        self.releases, self.newest, self.verdict = releases, releases[-1], Verdict()
        self.space = Space(releases)
        self.base = Base(self.space, self.newest, releases)
        self.figures = [
            figure for number in range(len(releases)) for figure in read_figures(releases, self.space, number)
        ]
        self.own = [figure for figure in self.figures if figure.release == len(releases) - 1]
        self.silent: list[str] = []
        self._check_values()
        self.verdict.revised = sum(self.base.is_revised(figure) for figure in self.figures)
        required = self._requirements()
        self.verdict.requirements = len(required)
        for group in self._groups():
            self._attack(group, [one for one in required if one.cell[0] in group])
        stated = any(map(states_known_already, (self.newest.internal, self.newest.source)))
        if self.silent and not stated:
            self._note(SILENT, "; ".join(self.silent))

    def _note(self, kind: str, text: str) -> None:
        self.verdict.findings.append(Finding(kind, text))

    def _check_values(self) -> None:
        for figure in self.own:
            if figure.value is not None and figure.value != self.base.value(figure.cell):
                self._note(WRONG, figure.label)

    # -- which cells need protection ----------------------------------------------------------------------

    def _requirements(self) -> list[Requirement]:
        """Suppressed cells, of the newest release and of former ones, that today's rules call sensitive."""
        found: dict[Cell, Requirement] = {}
        own = {figure.cell for figure in self.own}
        shown = {figure.cell for figure in self.own if figure.value is not None}
        seen: set[Cell] = set()
        variables = {figure.cell[0] for figure in self.own} | set(self._equations_of(self.newest))
        for figure in [*self.own, *self.figures]:
            cell = figure.cell
            is_own = cell in own
            if cell in seen or figure.is_absent or (figure.value is not None and not is_own):
                continue
            seen.add(cell)
            if not is_own and (cell[0] not in variables or not self.newest.knows_records):
                continue
            levels = self._levels(cell)
            if levels is None:
                continue
            if cell in shown:
                self._note(PUBLISHED, figure.label)
            else:
                found[cell] = Requirement(cell, figure.label, levels, is_own)
        return list(found.values())

    def _levels(self, cell: Cell) -> Levels | None:
        variable = cell[0]
        records = self.base.records(cell)
        value = Fraction(self.base.value(cell), SCALE)
        if not records or not value:
            return None
        levels = levels_of(records, variable, self.newest.rules, self._digit(variable), self.newest.step)
        if levels is None or variable.column in self.base.signed:
            return levels
        least = Fraction(0 if variable.column else 1)
        return replace(levels, lower=min(levels.lower, max(value - least, Fraction(0))))

    def _digit(self, variable: Variable) -> Fraction:
        if self.newest.step:
            return self.newest.step
        digit = Fraction(1)
        for record in self.newest.records:
            while (variable.value(record, Fraction(0)) / digit).denominator != 1:
                digit /= 10
        return digit

    # -- what readers know --------------------------------------------------------------------------------

    def _equations_of(self, release: Release) -> dict[Variable, list[Variable]]:
        weighted = any(v.weighted for table in release.tables for v in table.variables.values())
        return {
            Variable(left, weighted): [Variable(part, weighted) for part in right]
            for left, right in release.equations.items()
        }

    def _equations(self) -> dict[Variable, list[Variable]]:
        found: dict[Variable, list[Variable]] = {}
        for release in self.releases:
            found |= self._equations_of(release)
        return found

    def _groups(self) -> list[set[Variable]]:
        """Variables that equations tie together."""
        groups = [{variable} for variable in dict.fromkeys(figure.cell[0] for figure in self.figures)]
        for left, right in self._equations().items():
            tied = {left, *right}
            groups = [group for group in groups if not group & tied] + [
                tied.union(*(group for group in groups if group & tied))
            ]
        return groups

    def _knowledge(self, group: set[Variable], figures: Iterable[Figure], cells: Iterable[Cell]) -> Knowledge:
        equations = {left: right for left, right in self._equations().items() if left in group}
        return Knowledge(self.base, [f for f in figures if f.cell[0] in group], equations, cells)

    def _attack(self, group: set[Variable], required: list[Requirement]) -> None:
        if not required:
            return
        cells = [one.cell for one in required]
        joint = self._knowledge(group, self.figures, cells)
        short = [(one, reach) for one in required if (reach := _reach(joint, one))]
        self.verdict.programs += joint.programs
        self.verdict.unproved += joint.unproved
        if not short:
            return
        former = [figure for figure in self.figures if figure not in set(self.own)]
        before = self._knowledge(group, [*former, *self._unsuppressible()], cells)
        alone = self._knowledge(group, self.own, cells)
        for one, reach in short:
            text = f"{one.label} {reach}"
            if former and _reach(before, one):
                self.verdict.known_already.append(text)
                self.silent += [text] if one.is_own else []
            elif one.is_own:
                self._note(ALONE if _reach(alone, one) else OPEN, text)
            else:
                self._note(FORMER, text)

    def _unsuppressible(self) -> list[Figure]:
        """Own figures that are published whatever the pattern is: empty cells, and those that are set so."""
        limits = self.newest.population
        forced = set()
        for variable, sets in self.newest.forced:
            both = {column: codes & limits.get(column, codes) for column, codes in sets.items()}
            forced.add((variable, self.space.mask({**limits, **both}).tobytes()))
        return [figure for figure in self.own if figure.value == 0 or figure.cell in forced]


def _reach(knowledge: Knowledge, one: Requirement) -> str:
    """In words, what is too narrow about the interval of a cell; empty where it is wide enough."""
    found = []
    for up, level in ((True, one.levels.upper), (False, one.levels.lower)):
        moved = knowledge.shortfall(one.cell, up, float(level))
        if moved is not None:
            found.append(f"can lie at most {moved:.6g} {'above' if up else 'below'}, needs {float(level):g}")
    value = knowledge.base.value(one.cell) / SCALE
    return f"({value:g}) " + ", ".join(found) if found else ""


def states_known_already(internal: Path | None) -> bool:
    """Whether the office's report says that former releases alone give some cells away."""
    if internal is None or not (internal / "report.json").exists():
        return False
    return _states(json.loads((internal / "report.json").read_text(encoding="utf-8")))


def _states(found: Any) -> bool:
    if isinstance(found, dict):
        named = any(re.search("known|already|exempt", key) and bool(part) for key, part in found.items())
        return named or any(_states(part) for part in found.values())
    if isinstance(found, list):
        return any(_states(part) for part in found)
    return isinstance(found, str) and "already" in found
