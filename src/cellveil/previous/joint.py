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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.errors import InputError, name_some
from cellveil.pattern import Pattern
from cellveil.previous.basis import ALL, Basis, FormerTable, Truth, with_contents
from cellveil.previous.facts import JointState, ReleaseFacts
from cellveil.previous.releases import NAMELESS, Mapped, PreviousRelease, ReleasedTable
from cellveil.problem import Problem, Status, may_be_negative
from cellveil.tables.crossing import Linked, cross_classified
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.space import (
    Column,
    Space,
    decomposed_cells,
    space_table,
    tables_in,
)
from cellveil.tables.table import CELL, VARIABLE, Table

UNSEEN = "\x1e"
"""A finest code that no release has; no code of data begins with it."""


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
    builder
        What it was built from; None without earlier releases, and in another process, which has `former`.
    former
        See `before`.
    """

    problem: Problem
    own: Problem
    num_former: int
    facts: tuple[ReleaseFacts, ...]
    not_tested: tuple[str, ...]
    why_no_contributors: str = ""
    builder: _Builder | None = None
    former: Problem | None = None

    def __getstate__(self) -> dict[str, object]:
        """What crosses to workers, which cannot tabulate records."""
        return {**self.__dict__, "builder": None, "former": self.before()}

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

    def before(self) -> Problem | None:
        """What readers know without the new table: not even which of its cells are empty.

        Its cells and those of earlier releases have the same numbers, further cells may differ. None where
        that cannot be said.
        """
        if self.former is not None or self.builder is None:
            return self.former
        try:
            joint = self.builder.without_own_figures().build(NO_LIMIT)
        except InputError:  # no values of cells that nothing is known of were found
            return None
        stated = np.arange(self.num_own + self.num_former)
        if joint is None or joint.num_former != self.num_former:
            return None
        same = joint.problem.table.cell_names(stated) == self.problem.table.cell_names(stated)
        return joint.problem if same else None

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
                f"{name_some(adjusted)} is an adjusted table: true values tell how its cells were moved",
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
        parts = [(with_contents(part, releases), cells) for part, cells in parts]
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
        *,
        shows_own: bool = True,
    ) -> None:
        self.problem, self.parts, self.releases = problem, parts, releases
        self.basis, self.mapped, self.shows_own = basis, mapped, shows_own
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

    def without_own_figures(self) -> _Builder:
        """The same where nothing of the new table is published, and nothing known of its empty cells."""
        given = self.problem
        status = np.where(given.status == Status.PRIMARY, Status.PRIMARY, Status.SAFE).astype(np.int8)
        hidden = given.replace(status=status, lb=np.minimum(given.lb, 0))
        return _Builder(hidden, self.parts, self.releases, self.basis, self.mapped, shows_own=False)

    def build(self, deadline: Deadline) -> JointProblem | None:
        """Everything, in order; None where nothing is known beyond the table itself."""
        read = [[self._understood(release, table) for table in release.tables] for release in self.releases]
        self._check_common(read)
        if not self.shows_own:  # a column of the new table alone may have further codes
            former = {name for tables in read for table in tables if table for name in table.columns}
            for name in self.columns.keys() - former:
                self.columns[name].add([UNSEEN])
        space = Space(tuple(self.columns.values()), self.equations, self._signed())
        number = self._add_own(space)
        added = [[self._add_former(space, table) for table in tables if table] for tables in read]
        self.num_stated = len(space.cells)
        decomposed = set(decomposed_cells(self.problem.table).tolist() if self.shows_own else ())
        own_of = dict(zip(number.tolist(), range(len(number)), strict=True))
        stated = (cell for cell, own in own_of.items() if own in decomposed)
        linked = cross_classified(space, stated)
        truth = Truth(space, self.basis, own_of)
        self.decimals = max(self.decimals, truth.decimals)
        return self._joined(space, number, own_of, added, linked, truth, deadline)

    # -- reading -------------------------------------------------------------------------------------------

    def _signed(self) -> set[str]:
        negative = may_be_negative(self.problem.table)
        names = {part.variable for part, cells in self.parts if negative[cells].any()}
        return names | {
            part.variable for part, cells in self.parts if (self.problem.lb[cells] == -UNBOUNDED).any()
        }

    def _understood(self, release: PreviousRelease, table: ReleasedTable) -> FormerTable | None:
        """A table of a release with the sets of its codes; None where its variable is not one of today's."""
        variable = self._variable(table)
        weight = str(release.about.get("weight", ""))
        if variable is None or (self._knows_records(release) and weight != self.basis.weight):
            return None
        names, contents = [], []
        doubtful: dict[tuple[int, str], bool] = {}
        for place, dimension in enumerate(table.dimensions):
            column = self._column(release, dimension, table.codes[place])
            keys = (f"{release.name}.{dimension}", dimension, column)
            stated = next((self.mapped.codes[key] for key in keys if key in self.mapped.codes), {})
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
                    remedy=f"Write which codes of {column} it contains: against.codes.{column} = "
                    f"{{{shown}}}.",
                )
            by_name = not release.says_contents(dimension)
            doubtful |= {
                (place, code): code in stated
                for code, finest in found.items()
                if finest is not None and (by_name or code in stated)
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
        return FormerTable(release, table, variable, tuple(names), tuple(contents), doubtful)

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
                f"{release.name}: the codes {name_some(gone, 5)} of {dimension} are not among those of "
                f"today, which has {name_some(came, 5)} instead",
                remedy="Write what each of them is today, nothing for one that is gone: "
                f'against.codes.{column} = {{"{gone[0]}" = ["{came[0]}"]}}.',
            )

    def _knows_records(self, release: PreviousRelease) -> bool:
        """Whether both the release and the job say what records they count, and with what weights."""
        return self.basis.has_records and "population" in release.about

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
                remedy="Write which column it is, its own name if there is none today: "
                f'against.dimensions = {{{dimension} = "{alike or dimension}"}}.',
            )
        self.columns[dimension], self.finest_today[dimension] = Column(dimension), set()
        return dimension

    def _check_common(self, read: Sequence[Sequence[FormerTable | None]]) -> None:
        for release, tables in zip(self.releases, read, strict=True):
            if not any(tables):
                raise InputError(
                    f"{release.name} has nothing in common with this release: no table of "
                    f"{name_some(self.own_variables)}" + (" with these weights" if self.basis.weight else ""),
                    remedy="Leave it out, or name the release of the same figures.",
                )
            population = str(release.about.get("population", ALL))
            if self._knows_records(release) and population != self.basis.population:
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
            table.is_complete &= self.shows_own
            table.filled = {
                key for key, empty in zip(table.cells(), zero[cells].tolist(), strict=True) if not empty
            }
            found = space.add(table)
            number[cells] = found
        return number

    def _add_former(self, space: Space, former: FormerTable) -> tuple[FormerTable, Int]:
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
        former: Sequence[Sequence[tuple[FormerTable, Int]]],
        linked: Linked,
        truth: Truth,
        deadline: Deadline,
    ) -> JointProblem | None:
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
        state = JointState(problem, self.mapped, self.decimals, place, values, known, truth)
        facts = [state.take(release, tables) for release, tables in zip(self.releases, former, strict=True)]
        relations = self._relations(space, number, place, linked, total)
        says_more = len(added) or len(relations) > len(problem.table.relations.distinct())
        if not (says_more or self.releases or linked.not_tested):
            return None
        why_not = state.complete(relations, self.releases, deadline)
        if why_not:
            return JointProblem(problem, problem, 0, (), (*linked.not_tested, why_not))
        builder = self if self.releases else None
        if not len(added) and more == 1:  # with all that the table knows
            table = problem.table.replace(relations=relations)
            joint = state.problem(table)
            return JointProblem(joint, problem, 0, tuple(facts), linked.not_tested, builder=builder)
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
        return JointProblem(
            state.problem(table), problem, num_former, tuple(facts), linked.not_tested, lacks, builder
        )

    def _relations(self, space: Space, number: Int, place: Int, linked: Linked, total: int) -> Relations:
        own = self.problem.table.num_cells
        relations = self.problem.table.relations  # without empty cells, which only the new table tells
        relations = relations if self.shows_own else Relations.empty(own)
        stated = relations.renumber(total, np.arange(own))
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
