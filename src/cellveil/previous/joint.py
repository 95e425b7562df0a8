"""All that readers know as one problem: a new table, earlier releases, and that all add up the same records.

The cells of the new table come first, then those that only earlier releases have, then unpublished ones that
the cross-classification takes (`cellveil.tables.space`). Every published figure is a fact: the interval in
which everybody knows a cell to lie. The records of today are the base point. They say what a former figure
counts now, and so find rounding and revisions, and give the protection levels of cells that former releases
suppress.

=====================================  =========================================================
a figure that is the value of today    a point
rounded before it was added up         value ± (records · unit / 2)
another value than that of today       revised: today ± |former − today|; the size of a revision
                                       is taken as known, its direction as unknown
of another period                      former ± growth
suppressed                             the common bounds
a combination without a row            0
=====================================  =========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import product
from typing import Any

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError, counted, name_some
from cellveil.pattern import Pattern
from cellveil.previous.releases import NAMELESS, Mapped, PreviousRelease, ReleasedTable
from cellveil.problem import LEVELS, Problem, Status, may_be_negative
from cellveil.solvers.mip import Budget, Program, solve
from cellveil.tables.build import assemble, roll_up
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.space import (
    CodeSet,
    Column,
    Linked,
    Space,
    SpaceTable,
    class_dimension,
    decomposed_cells,
    refined,
    set_number,
    space_table,
    tables_in,
)
from cellveil.tables.table import CELL, VARIABLE, Table

LEAST_AGREEING = 0.25
"""Share of the figures of a release that agree with the records of today, below which it is another period's."""


@dataclass(frozen=True, eq=False)
class Basis:
    """What is known of today beyond the cells of the job.

    Parameters
    ----------
    tabulate
        The table of a variable by dimensions named like columns of the data, with all that is known of
        contributors; None where that cannot be said.
    finest
        The finest codes of a column that no table of the job classifies by; None where there is no such column.
    levels
        Today's rules on such a table; None where they are not known.
    population
        Says which records were counted, where not all of them were: "" for all.
    weight
        The column of weights; "" where there are none.
    has_records
        Whether records say all this, which can be tabulated by any of their columns.
    """

    tabulate: Callable[[str, Sequence[Dimension]], Table | None]
    finest: Callable[[str], Sequence[str] | None] = lambda column: None
    levels: Callable[[Table], Problem] | None = None
    population: str = ""
    weight: str = ""
    has_records: bool = False

    @classmethod
    def of_tables(cls, parts: Sequence[Table]) -> Basis:
        """What finished tables say: the sums of their own finest cells."""
        return cls(lambda variable, dimensions: _summed(parts, variable, dimensions))


def _summed(parts: Sequence[Table], variable: str, dimensions: Sequence[Dimension]) -> Table | None:
    """A table by coarser or fewer codes, from the first of some tables that has them all."""
    wanted = {dimension.name: dimension for dimension in dimensions}
    for part in parts:
        own = {dimension.data_column: axis for axis, dimension in enumerate(part.dimensions)}
        columns = {name: Column(name, wanted[name].index) for name in wanted}
        if part.variable != variable or not set(wanted) <= set(own):
            continue
        if not space_table(part, columns | _columns_of(part, own.keys() - wanted.keys())).is_complete:
            continue
        leaf = np.logical_and.reduce(
            [~d.is_parent[keys] for d, keys in zip(part.dimensions, part.keys, strict=True)]
        )
        keys = []
        for name, dimension in wanted.items():
            own_dimension = part.dimensions[own[name]]
            number = np.full(len(own_dimension), -1, dtype=np.int32)
            for code in range(len(own_dimension)):
                classes = {dimension.index.get(finest, -1) for finest in own_dimension.finest[code]}
                number[code] = classes.pop() if len(classes) == 1 else -1
            keys.append(number[part.keys[own[name]][leaf]])
        if any((column < 0).any() for column in keys):
            continue
        all_keys, (sums,) = roll_up(dimensions, keys, [part.values[leaf]])
        return assemble(dimensions, all_keys, sums, part.decimals, variable=variable)
    return None


def _with_contents(table: Table, releases: Sequence[PreviousRelease]) -> Table:
    """A finished table whose finest codes contain what earlier releases of records say of codes so called."""
    dimensions = []
    for dimension in table.dimensions:
        contents = dict(dimension.contents)
        finest = {names[0] for names in dimension.finest if len(names) == 1}
        for release in () if dimension.column else releases:
            said = release.about.get("contains", {}).get(dimension.name, {})
            trees = release.about.get("hierarchies", {}).get(dimension.name, [])
            below = {str(parent) for tree in trees for parent, _ in tree}
            if release.says_contents(dimension.name) and finest & (said.keys() | below):
                total = {table.totals.get(dimension.name) for table in release.tables}
                found, _ = release.contents(dimension.name, sorted(finest - total), None, None)
                contents |= {code: names for code, names in found.items() if names and names != (code,)}
        dimensions.append(replace(dimension, contents=contents))
    return table.replace(dimensions=tuple(dimensions))


def _columns_of(table: Table, names: Iterable[str]) -> dict[str, Column]:
    """Columns with the finest codes of some dimensions of a table."""
    columns = {name: Column(name) for name in names}
    for dimension in table.dimensions:
        if dimension.data_column in columns:
            for finest in dimension.finest:
                columns[dimension.data_column].add(finest)
    return columns


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
        The largest share by which such a figure differs, in per cent of today's value.
    rounded
        Figures that differ by rounding.
    common
        Cells of the new table that it has as well.
    unrelated
        Its tables of other variables.
    """

    name: str
    digest: str
    figures: int = 0
    agreeing: int = 0
    revised: int = 0
    largest_revision: float = 0.0
    rounded: int = 0
    common: int = 0
    unrelated: int = 0

    def line(self) -> str:
        """In words."""
        said = [f"{self.name}: {counted(self.common, 'cell')} in common"]
        if self.revised:
            share = f" by {max(self.largest_revision, 0.1):.1f} % at most"
            said.append(f"{self.revised:,} of {counted(self.figures, 'figure')} revised since,{share}")
        if self.rounded:
            said.append(f"{counted(self.rounded, 'figure')} rounded")
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
            "largest_revision_percent": round(self.largest_revision, 3),
            "rounded": self.rounded,
        }


@dataclass(frozen=True, repr=False, eq=False)
class JointProblem:
    """The new table, earlier releases and the cross-classification as one problem.

    Parameters
    ----------
    problem
        The cells of the new table first.
    own
        The new table by itself.
    num_former
        How many cells follow that earlier releases publish or suppress; the others are published by nobody.
    facts
        What each earlier release came to.
    not_tested
        What was too large to be cross-classified, in words.
    why_no_contributors
        Why contributors cannot be tested on the joint problem; "" where they can.
    """

    problem: Problem
    own: Problem
    num_former: int
    facts: tuple[ReleaseFacts, ...]
    not_tested: tuple[str, ...]
    why_no_contributors: str = ""

    def __repr__(self) -> str:
        added = self.problem.table.num_cells - self.num_own
        return f"JointProblem({self.num_own} cells, {added} further)"

    @property
    def num_own(self) -> int:
        """How many cells the new table has."""
        return self.own.table.num_cells

    @property
    def releases(self) -> tuple[str, ...]:
        """The names of the earlier releases."""
        return tuple(fact.name for fact in self.facts)

    def pattern(self, hidden: Bool, method: str = "joint") -> Pattern:
        """The pattern of everything, from what the new table hides."""
        everything = self.problem.hidden_at_start.copy()
        everything[: self.num_own] = hidden
        return Pattern.hiding(self.problem, everything, method)

    @classmethod
    def of(
        cls,
        problem: Problem,
        releases: Sequence[PreviousRelease] = (),
        basis: Basis | None = None,
        mapped: Mapped | None = None,
        deadline: Deadline = NO_LIMIT,
    ) -> JointProblem | None:
        """Bring everything together; None where nothing is known beyond the table itself.

        Raises
        ------
        InputError
            Where it is not known what a code or dimension of a release is, a release is of other records, or
            the releases contradict each other.
        """
        adjusted = [release.name for release in releases if release.is_adjusted]
        if adjusted:
            raise InputError(
                f"{name_some(adjusted)} is an adjusted table: true values beside it tell how its cells were moved",
                remedy="Withdraw it first, or leave it out.",
            )
        if not problem.table.is_structured:
            if not releases:
                return None
            raise InputError(
                "the instance has cell numbers only, so that its cells cannot be found in other releases",
                remedy="Use a folder with dimensions and codes.",
            )
        parts = tables_in(problem.table)
        if not releases and len(parts) < 2:
            return None
        parts = [(_with_contents(part, releases), cells) for part, cells in parts]
        basis = basis or Basis.of_tables([part for part, _ in parts])
        return _Builder(problem, parts, releases, basis, mapped or Mapped()).build(deadline)


class _Builder:
    """Builds a joint problem; values in the most decimals of all tables."""

    def __init__(
        self,
        problem: Problem,
        parts: Sequence[tuple[Table, Int]],
        releases: Sequence[PreviousRelease],
        basis: Basis,
        mapped: Mapped,
    ) -> None:
        self.problem, self.parts, self.releases, self.basis, self.mapped = (
            problem,
            parts,
            releases,
            basis,
            mapped,
        )
        self.own_variables = list(dict.fromkeys(part.variable for part, _ in parts))
        self.equations = _equations(problem.table)
        for release in releases:
            stated = [{str(name): int(coef) for name, coef in terms.items()} for terms in release.equations]
            self.equations += [terms for terms in stated if terms not in self.equations]
        self.variables = set(self.own_variables)
        for _ in self.equations:  # what equations tie to today's variables, also by several of them
            for terms in self.equations:
                if self.variables & terms.keys():
                    self.variables |= terms.keys()
        self.decimals = max(
            [problem.table.decimals, *(table.decimals for release in releases for table in release.tables)]
        )
        self.columns: dict[str, Column] = {}
        self.today: dict[str, dict[str, tuple[str, ...]]] = {}
        for part, _ in parts:
            for dimension in part.dimensions:
                column = self.columns.setdefault(dimension.data_column, Column(dimension.data_column))
                named = self.today.setdefault(dimension.data_column, {})
                for number, code in enumerate(dimension.codes):
                    column.add(dimension.finest[number])
                    named[code] = dimension.finest[number]
                for code in dimension.finest[max(dimension.total, 0)]:
                    named.setdefault(code, (code,))

        self.finest_today = {name: set(column.number) for name, column in self.columns.items()}

    def build(self, deadline: Deadline) -> JointProblem | None:
        """Everything, in order."""
        read = [[self._understood(release, table) for table in release.tables] for release in self.releases]
        self._check_common(read)
        space = Space(tuple(self.columns.values()), self.equations, self._signed())
        number = self._add_own(space)
        former = [[self._add_former(space, table) for table in tables if table] for tables in read]
        self.num_stated = len(space.cells)
        decomposed = set(decomposed_cells(self.problem.table).tolist())
        own_of = dict(zip(number.tolist(), range(len(number)), strict=True))
        linked = space.relations(cell for cell, own in own_of.items() if own in decomposed)
        if len(space.cells) == len(own_of) and not self.releases and not linked.not_tested:
            return None
        truth = _Truth(space, self.basis, own_of)
        self.decimals = max(self.decimals, truth.decimals)
        return self._joined(space, number, own_of, former, linked, truth, deadline)

    # -- reading -------------------------------------------------------------------------------------------

    def _signed(self) -> set[str]:
        negative = may_be_negative(self.problem.table)
        names = {part.variable for part, cells in self.parts if negative[cells].any()}
        return names | {
            part.variable for part, cells in self.parts if (self.problem.lb[cells] == -UNBOUNDED).any()
        }

    def _understood(self, release: PreviousRelease, table: ReleasedTable) -> _FormerTable | None:
        """A table of a release with the sets of its codes; None where its variable is not one of today's."""
        variable = self._variable(table)
        if variable is None or (
            release.is_described and str(release.about.get("weight", "")) != self.basis.weight
        ):
            return None
        names, contents = [], []
        named_only: set[tuple[int, str]] = set()
        for place, dimension in enumerate(table.dimensions):
            column = self._column(release, dimension, table.codes[place])
            stated = self.mapped.codes.get(dimension) or self.mapped.codes.get(column) or {}
            found, unknown = release.contents(
                dimension, table.codes[place], table.totals.get(dimension), self.today.get(column)
            )
            for code in set(table.codes[place]) & stated.keys():
                found[code] = (code,)  # what it contains is stated, as of any finest code
            for code, finest in found.items():
                if finest is not None:
                    found[code] = tuple(name for own in finest for name in stated.get(own, (own,)))
            unknown = tuple(code for code in unknown if code not in stated)
            self._check_renamed(release, dimension, column, found)
            if unknown:
                shown = ", ".join(f'"{code}" = ["…"]' for code in unknown[:3])
                raise InputError(
                    f"{release.name}: what {dimension} {name_some(unknown, 5)} contains is not known",
                    remedy=f"Write which codes of {column} it contains: against.codes.{column} = {{{shown}}}.",
                )
            if not release.says_contents(dimension):
                named_only |= {
                    (place, code) for code in found if code not in stated and found[code] is not None
                }
            names.append(column)
            contents.append(found)
            for finest in found.values():
                self.columns[column].add(finest or ())
        kept = [
            row for row, codes in enumerate(zip(*table.codes, strict=True))
            if all(contents[place][code] != () for place, code in enumerate(codes))
        ]  # fmt: skip
        table = replace(
            table,
            codes=tuple(tuple(codes[row] for row in kept) for codes in table.codes),
            values=tuple(table.values[row] for row in kept),
        )
        return _FormerTable(release, table, variable, tuple(names), tuple(contents), named_only)

    def _check_renamed(
        self,
        release: PreviousRelease,
        dimension: str,
        column: str,
        found: Mapping[str, tuple[str, ...] | None],
    ) -> None:
        """Refuse codes that came while others went: they may be the same under new names."""
        then = {name for finest in found.values() for name in finest or ()}
        now = self.finest_today[column]
        gone, came = sorted(then - now), sorted(now - then)
        if gone and came:
            raise InputError(
                f"{release.name}: the codes {name_some(gone, 5)} of {dimension} are not among those of today, which "
                f"has {name_some(came, 5)} instead",
                remedy="Write what each of them is today, nothing for one that is gone: "
                f'against.codes.{column} = {{"{gone[0]}" = ["{came[0]}"]}}.',
            )

    def _variable(self, table: ReleasedTable) -> str | None:
        if table.variable in self.variables:
            return table.variable
        if len(self.own_variables) == 1 and NAMELESS in (table.variable, self.own_variables[0]):
            return self.own_variables[0]
        return None

    def _column(self, release: PreviousRelease, dimension: str, codes: Sequence[str]) -> str:
        """The column of the data that a dimension of a release classifies by."""
        stated = self.mapped.dimensions.get(dimension)
        choices = [stated] if stated is not None else [release.column_of(dimension), dimension]
        by_name = {d.name: d.data_column for part, _ in self.parts for d in part.dimensions}
        by_name_of = {column: name for name, column in by_name.items()}
        for choice in choices:
            for column in (choice, by_name.get(choice, choice)):
                if column in self.columns:
                    return column
        for choice in choices:
            finest = self.basis.finest(choice)
            if finest is not None:
                self.columns[choice] = Column(choice, finest)
                self.today[choice] = {code: (code,) for code in finest}
                self.finest_today[choice] = set(finest)
                return choice
        others = set(release.tables[0].dimensions).union(*(table.dimensions for table in release.tables))
        free = [
            name for name in self.columns
            if name not in others and by_name_of.get(name, name) not in others
        ]  # fmt: skip
        alike = max(free, key=lambda name: len(set(codes) & set(self.today.get(name, {}))), default="")
        is_like = bool(alike) and len(set(codes) & set(self.today.get(alike, {}))) > 1  # not only the total
        if stated != dimension and (stated is not None or is_like or self.basis.has_records):
            raise InputError(
                f"{release.name}: the dimension {dimension!r} is not known, so that nothing can be compared",
                remedy=f'Write which column it is: against.dimensions = {{{dimension} = "{alike or dimension}"}}; '
                "its own name, if there is none of it today.",
            )
        self.columns[dimension], self.finest_today[dimension] = Column(dimension), set()
        return dimension

    def _check_common(self, read: Sequence[Sequence[_FormerTable | None]]) -> None:
        for release, tables in zip(self.releases, read, strict=True):
            if not any(tables):
                raise InputError(
                    f"{release.name} has nothing in common with this release: no table of "
                    f"{name_some(self.own_variables)}" + (" with these weights" if self.basis.weight else ""),
                    remedy="Leave it out, or name the release of the same figures.",
                )
            population = str(release.about.get("population", ""))
            if release.is_described and population != self.basis.population:
                raise InputError(
                    f"{release.name} counts other records: those of another query",
                    remedy="Leave it out, or tabulate both from the same records, with what parts them as a "
                    "dimension.",
                )

    # -- cells ---------------------------------------------------------------------------------------------

    def _add_own(self, space: Space) -> Int:
        """Take in the tables of the job: for each of its cells the number in the space."""
        number = np.full(self.problem.table.num_cells, -1, dtype=np.int64)
        zero = (self.problem.table.values == 0) & (self.problem.status == Status.FROZEN)
        zero &= ~may_be_negative(self.problem.table)
        for part, cells in self.parts:
            table = space_table(part, self.columns)
            table.filled = {
                key for key, empty in zip(table.cells(), zero[cells].tolist(), strict=True) if not empty
            }
            found = space.add(table)
            number[cells] = found
        return number

    def _add_former(self, space: Space, former: _FormerTable) -> tuple[_FormerTable, Int]:
        if former.is_signed(self.columns, self.basis):
            space.signed |= {former.variable}
        former = former.with_gaps(self.columns, self.basis) if self.mapped.growth is None else former
        is_known = self.mapped.growth is None and former.variable not in space.signed
        table = former.in_space(self.columns, self.mapped.growth is not None, is_known)
        return former, space.add(table)

    # -- joining -------------------------------------------------------------------------------------------

    def _joined(
        self,
        space: Space,
        number: Int,
        own_of: Mapping[int, int],
        former: Sequence[Sequence[tuple[_FormerTable, Int]]],
        linked: Linked,
        truth: _Truth,
        deadline: Deadline,
    ) -> JointProblem:
        problem, own = self.problem, self.problem.table.num_cells
        place = np.empty(len(space.cells), dtype=np.int64)
        following = own
        for cell in range(len(space.cells)):
            if cell in own_of:
                place[cell] = own_of[cell]
            else:
                place[cell] = following
                following += 1
        total = following
        more = 10 ** (self.decimals - problem.table.decimals)
        values = np.zeros(total, dtype=np.int64)
        values[:own] = problem.table.values * more
        known = np.ones(total, dtype=bool)
        added = np.array([cell for cell in range(len(space.cells)) if cell not in own_of], dtype=np.int64)
        truth.read(added, self.decimals)
        values[place[added]], known[place[added]] = truth.values, truth.known
        state = _State(self, space, place, values, known, own, total, truth, added)
        facts = [state.take(release, tables) for release, tables in zip(self.releases, former, strict=True)]
        relations = self._relations(space, number, place, linked, total)
        state.complete(relations, self.releases, deadline)
        if not len(added) and more == 1:  # with all that the table knows
            table = problem.table.replace(relations=relations)
            return JointProblem(state.problem(table), problem, 0, tuple(facts), linked.not_tested)
        names = problem.table.cell_names(np.arange(own)) + [space.name(int(cell)) for cell in added]
        table = Table(
            (Dimension.unstructured(CELL, _distinct(names)),),
            (np.arange(total, dtype=np.int32),),
            state.values,
            self.decimals,
            relations,
            variable=problem.table.variable,
            **truth.contributions(problem.table, place[added] - own),
        )
        lacks = ""
        if len(added) and table.units is None and problem.table.units is not None:
            lacks = "what contributors have in the further cells is not known"
        num_former = sum(1 for cell in added.tolist() if cell < self.num_stated)
        return JointProblem(state.problem(table), problem, num_former, tuple(facts), linked.not_tested, lacks)

    def _relations(self, space: Space, number: Int, place: Int, linked: Linked, total: int) -> Relations:
        own = self.problem.table.num_cells
        stated = self.problem.table.relations.renumber(total, np.arange(own))
        factor = 10 ** (self.decimals - self.problem.table.decimals)
        stated = Relations(total, stated.indptr, stated.cells, stated.coefs, stated.rhs * factor)
        rows: list[list[tuple[int, int]]] = []
        for terms in linked.rows:
            joined: dict[int, int] = {}
            for cell, coef in terms:
                joined[int(place[cell])] = joined.get(int(place[cell]), 0) + coef
            row = [(cell, coef) for cell, coef in joined.items() if coef]
            if row:
                rows.append(row)
        for cell, joint in enumerate(place[number].tolist()):
            if joint != cell:  # two cells of the table count the same things
                rows.append([(cell, -1), (joint, 1)])
        parts = [stated, Relations.from_rows(total, rows)] if rows else [stated]
        return Relations.stack(parts).distinct()


@dataclass(frozen=True, repr=False, eq=False)
class _FormerTable:
    """A table of an earlier release with what its codes contain.

    `named_only` has the codes, by dimension, of which only the name says what they contain.
    """

    release: PreviousRelease
    table: ReleasedTable
    variable: str
    columns: tuple[str, ...]
    contents: tuple[Mapping[str, tuple[str, ...] | None], ...]
    named_only: set[tuple[int, str]]

    def is_signed(self, columns: Mapping[str, Column], basis: Basis) -> bool:
        """Whether its variable may be negative, then or today."""
        if any(value is not None and value < 0 for value in self.table.values):
            return True
        finest = [refined(columns[name].everything, ()) for name in self.columns]
        dimensions = [
            class_dimension(columns[n], own, ()) for n, own in zip(self.columns, finest, strict=True)
        ]
        today = basis.tabulate(self.variable, dimensions)
        return today is not None and bool(may_be_negative(today).any())

    def with_gaps(self, columns: Mapping[str, Column], basis: Basis) -> _FormerTable:
        """The same with a 0 for each combination that has no row, was known to be empty, and is not today."""
        if not self.release.absent_is_empty:
            return self
        sets = [self._sets(place, columns[name]) for place, name in enumerate(self.columns)]
        dimensions = []
        for name, own in zip(self.columns, sets, strict=True):
            everything = columns[name].everything
            classes = refined(everything, own.values())
            dimensions.append(class_dimension(columns[name], classes, [*own.values(), everything]))
        today = basis.tabulate(self.variable, dimensions)
        if today is None:
            return self
        rows = set(zip(*self.table.codes, strict=True))
        called: list[dict[int, list[str]]] = [{} for _ in sets]
        for names, dimension, own in zip(called, dimensions, sets, strict=True):
            for code, codes in own.items():
                names.setdefault(set_number(dimension, codes), []).append(code)
        more: list[tuple[str, ...]] = []
        for *key, value in zip(
            *(column.tolist() for column in today.keys), today.values.tolist(), strict=True
        ):
            names_of = [names.get(number, []) for number, names in zip(key, called, strict=True)]
            named = list(product(*names_of))  # none where the release has no such code
            if value and named and not rows.intersection(named):
                more.append(named[0])
        if not more:
            return self
        more_codes = tuple(
            own + new for own, new in zip(self.table.codes, zip(*more, strict=True), strict=True)
        )
        values = (*self.table.values, *[Decimal(0)] * len(more))
        return replace(self, table=replace(self.table, codes=more_codes, values=values))

    def _sets(self, place: int, column: Column) -> dict[str, CodeSet]:
        return {
            code: column.everything if finest is None else column.set_of(finest)
            for code, finest in self.contents[place].items()
        }

    def in_space(self, columns: Mapping[str, Column], is_estimate: bool, zero_is_empty: bool) -> SpaceTable:
        """The table in the space of these columns."""
        sets, keys = [], []
        for place, (name, codes) in enumerate(zip(self.columns, self.table.codes, strict=True)):
            own = self._sets(place, columns[name])
            number = {code: at for at, code in enumerate(own)}
            sets.append(tuple(own.values()))
            keys.append(np.array([number[code] for code in codes], dtype=np.int64))
        is_complete = self.release.absent_is_empty and not is_estimate
        found = SpaceTable(self.variable, self.columns, tuple(sets), tuple(keys), is_complete)
        rounded = self.release.rounding_of(self.table.variable) > 0
        found.filled = {
            key
            for key, value in zip(found.cells(), self.table.values, strict=True)
            if value is None or value != 0 or rounded or not zero_is_empty
        }
        return found


class _Truth:
    """What the records of today say of cells that the job does not have."""

    def __init__(self, space: Space, basis: Basis, own_of: Mapping[int, int]) -> None:
        self.space, self.basis = space, basis
        added = [cell for cell in range(len(space.cells)) if cell not in own_of]
        self.classes = [
            refined(column.everything, (cell[1][axis] for cell in space.cells))
            for axis, column in enumerate(space.columns)
        ]
        self.tables: list[tuple[Table, Problem | None]] = []
        self.where: dict[int, tuple[int, int]] = {}
        """For each such cell the table that has it and its number there; −1: empty."""
        shapes: dict[str, list[frozenset[int]]] = {}
        for cell in added:
            known = shapes.setdefault(space.cells[cell][0], [])
            shape = space.shape(cell)
            if shape not in known:
                known.append(shape)
        for variable, own in shapes.items():
            largest = [shape for shape in own if not any(shape < other for other in own)]
            left = [cell for cell in added if space.cells[cell][0] == variable]
            for shape in largest:
                inside = [cell for cell in left if space.shape(cell) <= shape]
                left = [cell for cell in left if not space.shape(cell) <= shape]
                self._tabulate(variable, sorted(shape) or [0], inside)
        self.decimals = max((table.decimals for table, _ in self.tables), default=0)

    def _tabulate(self, variable: str, axes: Sequence[int], cells: Sequence[int]) -> None:
        space = self.space
        dimensions = []
        for axis in axes:
            used = {space.cells[cell][1][axis] for cell in cells} | {space.columns[axis].everything}
            dimensions.append(class_dimension(space.columns[axis], self.classes[axis], sorted(used)))
        table = self.basis.tabulate(variable, dimensions)
        if table is None:
            return
        keys = [
            np.array([set_number(d, space.cells[cell][1][axis]) for cell in cells], dtype=np.int64)
            for axis, d in zip(axes, dimensions, strict=True)
        ]
        found = table.find(keys).tolist()
        rules = None if self.basis.levels is None else self.basis.levels(table)
        self.tables.append((table, rules))
        for cell, row in zip(cells, found, strict=True):
            self.where[cell] = len(self.tables) - 1, row

    def read(self, added: Int, decimals: int) -> None:
        """The values of further cells, in their order, and which of them are known."""
        self.values = np.zeros(len(added), dtype=np.int64)
        self.known = np.zeros(len(added), dtype=bool)
        self.order = added
        for place, cell in enumerate(added.tolist()):
            if cell in self.where:
                number, row = self.where[cell]
                table = self.tables[number][0]
                self.known[place] = True
                if row >= 0:
                    self.values[place] = int(table.values[row]) * 10 ** (decimals - table.decimals)

    def rule(self, cell: int) -> tuple[Problem, int] | None:
        """Today's rules on a cell: the problem they make of its table, and its number there."""
        number, row = self.where.get(cell, (-1, -1))
        if number < 0 or row < 0:
            return None
        rules = self.tables[number][1]
        return None if rules is None else (rules, row)

    def count(self, cell: int) -> int:
        """How many contribute to a cell, 0 where it is not known."""
        number, row = self.where.get(cell, (-1, -1))
        if number < 0 or row < 0 or self.tables[number][0].contributors is None:
            return 0
        counts = self.tables[number][0].contributors
        assert counts is not None
        return max(int(counts[row]), 0)

    def contributions(self, own: Table, order: Int) -> dict[str, Any]:
        """Contributions of all cells, as far as they are known of all; `order` sorts the further ones."""
        found: dict[str, Any] = {}
        for name in ("units", "holdings"):
            mine = getattr(own, name)
            parts = [getattr(table, name) for table, _ in self.tables]
            if mine is None or any(part is None for part in parts) or not self.known.all():
                continue
            try:
                stacked = Contributions.stack([mine, *parts])
            except KeyError:  # not the same figures of each
                continue
            starts = np.cumsum([own.num_cells, *(table.num_cells for table, _ in self.tables)])
            rows = np.full(len(self.order), -1, dtype=np.int64)
            for place, cell in enumerate(self.order.tolist()):
                number, row = self.where[cell]
                rows[place] = starts[number] + row if row >= 0 else -1
            sorted_rows = np.empty_like(rows)
            sorted_rows[order] = rows
            found[name] = stacked.spread(np.concatenate([np.arange(own.num_cells), sorted_rows]))
        if "units" in found and own.contributors is not None:
            found["contributors"] = np.concatenate([own.contributors, found["units"].count[own.num_cells :]])
        return found


class _State:
    """Values, intervals and statuses of all cells while facts come in."""

    def __init__(
        self,
        builder: _Builder,
        space: Space,
        place: Int,
        values: Int,
        known: Bool,
        own: int,
        total: int,
        truth: _Truth,
        added: Int,
    ) -> None:
        self.builder, self.space, self.place = builder, space, place
        self.values, self.known, self.own, self.truth = values, known, own, truth
        problem, more = builder.problem, 10 ** (builder.decimals - builder.problem.table.decimals)
        self.lb = np.zeros(total, dtype=np.int64)
        self.ub = np.full(total, UNBOUNDED, dtype=np.int64)
        self.lb[:own] = _scaled(problem.lb, more)
        self.ub[:own] = _scaled(problem.ub, more)
        self.level_lb, self.level_ub = self.lb.copy(), self.ub.copy()
        signed = space.signed
        for cell in added.tolist():
            if space.cells[cell][0] in signed:
                self.lb[place[cell]] = -UNBOUNDED
        self.primary: dict[int, tuple[int, int, int]] = {}
        self.fixed = np.zeros(total, dtype=bool)
        """Cells whose value some earlier release shows."""

    def take(self, release: PreviousRelease, tables: Sequence[tuple[_FormerTable, Int]]) -> ReleaseFacts:
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
                shown = int(value.scaleb(self.builder.decimals))
                if not self.known[at]:
                    later.append((at, shown, shown))
                    continue
                today = int(self.values[at])
                low, high, kind = self._interval(shown, today, unit, cell, former.table.decimals)
                later.append((at, low, high))
                if shown or today:
                    figures += 1
                    agreeing += kind in ("same", "rounded")
                    rounded += kind == "rounded"
                    for place, codes in enumerate(former.table.codes):
                        key = (former.table.dimensions[place], codes[row])
                        if shown:
                            lasting[key] = lasting.get(key, False) or today != 0
                        if (place, codes[row]) in former.named_only:
                            by_code.setdefault(key, []).append(kind != "revised")
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
        return ReleaseFacts(
            release.name, release.digest, figures, agreeing, revised, largest, rounded, len(common), unrelated
        )

    def _interval(
        self, shown: int, today: int, unit: Decimal, cell: int, decimals: int
    ) -> tuple[int, int, str]:
        """Where a former figure says that the value of today lies, and what kind of fact it is."""
        growth = self.builder.mapped.growth
        if growth is not None:
            share = Decimal(str(growth)) / 100
            ends = (Decimal(shown) * (1 - share), Decimal(shown) * (1 + share))
            low = int(min(ends).to_integral_value(ROUND_FLOOR))
            high = int(max(ends).to_integral_value(ROUND_CEILING))
            return min(low, today), max(high, today), "same"
        is_coarser = decimals < self.builder.problem.table.decimals
        if unit or (is_coarser and shown != today):
            step = unit or Decimal(1).scaleb(-decimals)
            own_step = Decimal(1).scaleb(-self.builder.problem.table.decimals)
            if step > own_step:
                at = int(self.place[cell])
                counts = self.builder.problem.table.contributors
                number = int(counts[at]) if at < self.own and counts is not None else self.truth.count(cell)
                half = int(
                    (max(number, 1) * step / 2).scaleb(self.builder.decimals).to_integral_value(ROUND_CEILING)
                )
                if abs(shown - today) <= half:
                    return shown - half, shown + half, "rounded"
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
                f"{release.name}: {agreeing} of its {figures} figures agree with the records of today, so that "
                "it is of another period or of other records",
                remedy="Leave it out, or say by how much figures differ between the periods, in per cent: "
                "against.growth = 20.",
            )
        for (dimension, code), agree in by_code.items():
            if not any(agree):
                raise InputError(
                    f"{release.name}: none of the figures of {dimension} {code} agrees with the records of "
                    "today: the code may have contained something else",
                    remedy=f'Write what it contained: against.codes.{dimension} = {{"{code}" = ["…"]}}.',
                )

    def _check_lasting(self, release: PreviousRelease, gone: Sequence[tuple[str, str]]) -> None:
        """Refuse where no records are left of a code: it may be called otherwise, or not be counted any more."""
        if gone and self.builder.mapped.growth is None:
            dimension, code = gone[0]
            raise InputError(
                f"{release.name}: there are no records of {dimension} {code} today, so that it counts other records "
                f"or calls them otherwise ({counted(len(gone), 'such code')})",
                remedy="Leave it out, tabulate both from the same records, or write what the code is today, nothing "
                f'if its records are gone for good: against.codes.{dimension} = {{"{code}" = []}}.',
            )

    def _narrow(self, at: int, low: int, high: int) -> None:
        if low == high:
            self.fixed[at] = True
            if not self.known[at]:
                self.values[at], self.known[at] = low, True
            elif self.values[at] != low:
                raise InputError(
                    f"the earlier releases show different values of {self._name(at)}, of which the records of "
                    "today say nothing",
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
            factor = 10 ** (self.builder.decimals - rules.table.decimals)
            if rules.status[row] == Status.PRIMARY:
                self.primary[at] = tuple(int(getattr(rules, name)[row]) * factor for name in LEVELS)
            if rules.lb[row] > 0:
                self.lb[at] = max(self.lb[at], int(rules.lb[row]) * factor)
        elif self.builder.basis.levels is None and (not self.known[at] or self.values[at]):
            self.primary[at] = (0, 0, 1)  # its level is not known: it must not follow exactly

    def _name(self, at: int) -> str:
        cell = int(np.flatnonzero(self.place == at)[0])
        return self.space.name(cell)

    def complete(self, relations: Relations, releases: Sequence[PreviousRelease], deadline: Deadline) -> None:
        """Find values of cells of which nothing is known, so that everything agrees; checked exactly."""
        unknown = np.flatnonzero(~self.known)
        for whole in (False, True) if len(unknown) else ():
            point = _completed(relations, self.values, unknown, (self.lb, self.ub), whole, deadline)
            if point is not None:
                self.values[unknown] = point
                if not relations.residuals(self.values):
                    break
        wrong = relations.residuals(self.values)
        outside = (self.values < self.lb) | (self.values > self.ub)
        if wrong or outside.any():
            names = name_some([release.name for release in releases])
            raise InputError(
                f"the figures of today and of {names or 'the tables'} contradict each other "
                f"({len(wrong)} sums, {int(outside.sum())} bounds)",
                remedy="Leave out the release that was revised, or give the records, from which revisions are found.",
            )

    def problem(self, table: Table) -> Problem:
        """The joint problem."""
        own, given = self.own, self.builder.problem
        more = 10 ** (self.builder.decimals - given.table.decimals)
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
        return Problem(table, status, weight, lb, ub, levels["lpl"], levels["upl"], levels["spl"])


def _scaled(ends: Int, factor: int) -> Int:
    return np.where(np.abs(ends) == UNBOUNDED, ends, ends * factor) if factor > 1 else ends.copy()


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, those that occur again with a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return found


def _equations(table: Table) -> list[dict[str, int]]:
    """What ties the variables of a table together."""
    return [
        {dimension.codes[code]: coef for code, coef in zip(equation.codes, equation.coefs, strict=True)}
        for dimension in table.dimensions
        if dimension.name == VARIABLE
        for equation in dimension.equations
    ]


def _completed(
    relations: Relations, values: Int, unknown: Int, bounds: tuple[Int, Int], whole: bool, deadline: Deadline
) -> Int | None:
    """Values of the unknown cells, as far as a solver finds them."""
    matrix = relations.matrix.tocsc()
    part = matrix[:, unknown]
    rest = values.astype(np.float64)
    rest[unknown] = 0.0
    right = relations.rhs - matrix @ rest
    rows = np.flatnonzero(np.diff(part.tocsr().indptr))
    low, high = (ends[unknown].astype(np.float64) for ends in bounds)
    low[bounds[0][unknown] == -UNBOUNDED], high[bounds[1][unknown] == UNBOUNDED] = -np.inf, np.inf
    program = Program(
        part.tocsr()[rows].tocsc(),
        (right[rows], right[rows]),
        (low, high),
        np.zeros(len(unknown)),
        np.full(len(unknown), whole),
    )
    point = solve(program, budget=Budget(deadline)).point
    return None if point is None else np.rint(point).astype(np.int64)
