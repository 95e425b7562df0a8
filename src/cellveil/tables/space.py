"""One space of cells for several tables: a cell is what is counted in it, whatever it is called.

A cell is identified by its variable and, for each column of the data, the *set* of finest codes that it
covers; a column that a table does not have counts in full. Names, totals, single children, folded and joined
codes only lead to such sets. So the tables of a job and those of earlier releases speak about one space,
whatever their codes are called.

Everybody knows that all these tables add up the same records, and so more than each table states by itself.
`Space.relations` adds the unpublished cells that express it. Non-negative tables over the cliques of a
chordal graph that agree on the separators are margins of one non-negative table (Vorob'ev 1962). So it is
enough to cross-classify within the cliques of the graph whose edges join the columns of one table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod

import numpy as np

from cellveil.arrays import Int
from cellveil.tables.build import roll_up
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.link import LinkedTable, cells_in
from cellveil.tables.relations import Relations
from cellveil.tables.table import VARIABLE, Table
from cellveil.tables.totals import sums_of_others

CodeSet = int
"""A set of finest codes of one column: a bit for each."""

Cell = tuple[str, tuple[CodeSet, ...]]
"""The variable, and a set of finest codes for each column of the space."""

MOST_AUXILIARY = 20_000
"""Unpublished cells at most; with more of them, programs over all cells take too long."""

LEAST_LIMIT = 5_000
"""Small tables may have so many unpublished cells, whatever their size; others eight for each cell."""


class Column:
    """The finest codes of a column of the data, numbered.

    Examples
    --------
    >>> region = Column("region", ["N1", "N2", "S"])
    >>> region.set_of(["N1", "S"]), region.everything
    (5, 7)
    >>> region.codes_in(5)
    ('N1', 'S')
    """

    def __init__(self, name: str, finest: Iterable[str] = ()) -> None:
        self.name = name
        self.number: dict[str, int] = {}
        self.add(finest)

    def add(self, finest: Iterable[str]) -> None:
        """Take in further finest codes."""
        for code in finest:
            self.number.setdefault(code, len(self.number))

    def set_of(self, finest: Iterable[str]) -> CodeSet:
        """The set of these finest codes."""
        found = 0
        for code in finest:
            found |= 1 << self.number[code]
        return found

    @property
    def everything(self) -> CodeSet:
        """The set of all finest codes."""
        return (1 << len(self.number)) - 1

    def codes_in(self, codes: CodeSet) -> tuple[str, ...]:
        """The finest codes of a set."""
        return tuple(code for code, bit in self.number.items() if codes >> bit & 1)


@dataclass(eq=False)
class SpaceTable:
    """A table as the space sees it.

    Parameters
    ----------
    variable
        Its variable.
    columns
        The columns it classifies by.
    sets
        For each of these the set that each of its codes covers, by code.
    keys
        For each cell a code of each column, as positions in `sets`.
    is_complete
        Whether a combination of codes without a row is empty.
    parts
        For each column which codes are sums of others: pairs of a set and the sets that make it up.
    filled
        The cells, as sets by column, in which there may be records: those that are not 0, and all with a row
        where values may be negative.
    """

    variable: str
    columns: tuple[str, ...]
    sets: tuple[tuple[CodeSet, ...], ...]
    keys: tuple[Int, ...]
    is_complete: bool
    parts: tuple[tuple[tuple[CodeSet, tuple[CodeSet, ...]], ...], ...] = ()
    filled: set[tuple[CodeSet, ...]] = field(default_factory=set)
    _around: dict[tuple[int, CodeSet], tuple[CodeSet, ...]] = field(default_factory=dict)

    def cells(self) -> Iterator[tuple[CodeSet, ...]]:
        """The sets of each cell, by column."""
        return zip(
            *(
                [sets[code] for code in codes.tolist()]
                for sets, codes in zip(self.sets, self.keys, strict=True)
            ),
            strict=True,
        )

    def around(self, axis: int, codes: CodeSet) -> tuple[CodeSet, ...]:
        """The smallest codes of a column that contain a set."""
        found = self._around.get((axis, codes))
        if found is None:
            containing = {own for own in self.sets[axis] if own & codes == codes}
            found = tuple(
                own
                for own in containing
                if not any(other & own == other and other != own for other in containing)
            )
            self._around[axis, codes] = found
        return found


@dataclass(frozen=True, eq=False)
class Linked:
    """What the tables of a space imply together.

    Parameters
    ----------
    rows
        Relations over the cells of the space, beyond those that the tables state: for each its terms.
    num_tested
        Unpublished cells that were added.
    not_tested
        Combinations of columns that were too many to be added, in words.
    """

    rows: tuple[tuple[tuple[int, int], ...], ...]
    num_tested: int
    not_tested: tuple[str, ...]


class Space:
    """Cells of several tables, numbered by what they contain.

    Parameters
    ----------
    columns
        The columns of the data that some table classifies by; their finest codes must all be known.
    equations
        What ties variables together: for each equation the coefficient of each variable.
    signed
        Variables that may be negative: of these an empty total says nothing about its parts.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        equations: Sequence[Mapping[str, int]] = (),
        signed: Iterable[str] = (),
    ) -> None:
        self.columns = tuple(columns)
        self.equations = tuple(equations)
        self.signed = frozenset(signed)
        self.tables: list[SpaceTable] = []
        self.cells: list[Cell] = []
        self._number: dict[Cell, int] = {}
        self._everything = tuple(column.everything for column in self.columns)
        self._axis = {column.name: axis for axis, column in enumerate(self.columns)}

    def add(self, table: SpaceTable) -> Int:
        """Take in a table: the numbers of its cells; equal content, equal number."""
        self.tables.append(table)
        axes = [self._axis[name] for name in table.columns]
        whole = list(self._everything)
        numbers = np.empty(len(table.keys[0]), dtype=np.int64)
        for place, sets in enumerate(table.cells()):
            for axis, codes in zip(axes, sets, strict=True):
                whole[axis] = codes
            numbers[place] = self.cell(table.variable, tuple(whole))
        return numbers

    def cell(self, variable: str, sets: tuple[CodeSet, ...]) -> int:
        """The number of a cell."""
        key = (variable, sets)
        number = self._number.get(key)
        if number is None:
            number = self._number[key] = len(self.cells)
            self.cells.append(key)
        return number

    def name(self, number: int) -> str:
        """A cell in words: the codes of its sets, few of them."""
        variable, sets = self.cells[number]
        named = []
        for column, codes, everything in zip(self.columns, sets, self._everything, strict=True):
            if codes != everything:
                finest = column.codes_in(codes)
                more = f" and {len(finest) - 3} more" if len(finest) > 3 else ""
                named.append(f"{column.name} {'+'.join(finest[:3])}{more}")
        return f"({variable}: {', '.join(named) or 'all'})"

    def shape(self, number: int) -> frozenset[int]:
        """The columns in which a cell is not the total."""
        sets = self.cells[number][1]
        return frozenset(axis for axis, codes in enumerate(sets) if codes != self._everything[axis])

    def is_empty(self, variable: str, sets: tuple[CodeSet, ...]) -> bool:
        """Whether everybody knows that a cell is 0, as it lies in an empty one of some table."""
        for table in self.tables:
            if table.variable != variable or not table.is_complete:
                continue
            around = [table.around(place, sets[self._axis[name]]) for place, name in enumerate(table.columns)]
            if any(own not in table.filled for own in product(*around)):
                return True
        return False

    def relations(self, decomposed: Iterable[int] = ()) -> Linked:
        """What all tables imply together, with the unpublished cells that it takes.

        Parameters
        ----------
        decomposed
            Cells that a relation of their own table gives as the sum of others.
        """
        return _Crossing(self, set(decomposed)).linked()


class _Crossing:
    """Splits cells into parts until all are combinations of classes, clique by clique."""

    def __init__(self, space: Space, decomposed: set[int]) -> None:
        self.space = space
        self.decomposed = decomposed
        self.num_stated = len(space.cells)
        self.most = min(MOST_AUXILIARY, max(LEAST_LIMIT, 8 * self.num_stated))
        self.rows: list[tuple[tuple[int, int], ...]] = []
        self.classes = [
            refined(everything, (cell[1][axis] for cell in space.cells))
            for axis, everything in enumerate(space._everything)
        ]
        self.class_sets = [set(classes) for classes in self.classes]
        self.partitions: dict[tuple[int, CodeSet], list[tuple[CodeSet, ...]]] = {}
        self.trees = self._trees()
        self.used = [sorted({cell[1][axis] for cell in space.cells}, key=int.bit_count, reverse=True)
                     for axis in range(len(space.columns))]  # fmt: skip
        self.tied: set[tuple[int, tuple[CodeSet, ...]]] = set()

    def linked(self) -> Linked:
        """The relations of all groups of variables."""
        not_tested: list[str] = []
        for variables in self._groups():
            shapes = {
                frozenset(self.space._axis[name] for name in table.columns)
                for table in self.space.tables
                if table.variable in variables
            }
            cliques = _cliques(shapes)
            separators = _separators(cliques)
            stated = [n for n in range(self.num_stated) if self.space.cells[n][0] in variables]
            assigned: set[int] = set()
            for place, clique in enumerate(cliques):
                own = [n for n in stated if n not in assigned and self.space.shape(n) <= clique]
                assigned |= set(own)
                begin = [n for n in own if n not in self.decomposed]
                borders = [separator for pair, separator in separators.items() if place in pair]
                if not self._split_all(begin, clique, borders, variables):
                    not_tested.append(self._fall_back(begin, clique, variables))
        return Linked(
            tuple(self.rows), len(self.space.cells) - self.num_stated, tuple(filter(None, not_tested))
        )

    # -- what there is -------------------------------------------------------------------------------------

    def _groups(self) -> list[set[str]]:
        """Variables that equations tie together."""
        groups = [{variable} for variable in dict.fromkeys(table.variable for table in self.space.tables)]
        for equation in self.space.equations:
            touched = [group for group in groups if group & set(equation)]
            groups = [group for group in groups if not group & set(equation)]
            groups.append(set(equation).union(*touched))
        return groups

    def _trees(self) -> dict[tuple[int, CodeSet], list[tuple[CodeSet, ...]]]:
        found: dict[tuple[int, CodeSet], list[tuple[CodeSet, ...]]] = {}
        for table in self.space.tables:
            for name, parts in zip(table.columns, table.parts, strict=False):
                for whole, below in parts:
                    known = found.setdefault((self.space._axis[name], whole), [])
                    if below not in known:
                        known.append(below)
        return found

    def _ways(self, axis: int, codes: CodeSet) -> list[tuple[CodeSet, ...]]:
        """Ways to split a set into disjoint parts, those of trees first, the classes last."""
        found = self.partitions.get((axis, codes))
        if found is None:
            found = list(self.trees.get((axis, codes), ()))
            left, large = codes, []
            for part in self.used[axis]:
                if part and part != codes and part & left == part:
                    large.append(part)
                    left &= ~part
            rest = [part & left for part in self.classes[axis] if part & left]
            for way in (tuple(large + rest), tuple(p for p in self.classes[axis] if p & codes)):
                if way not in found and way != (codes,):
                    found.append(way)
            self.partitions[axis, codes] = found
        return found

    # -- splitting -----------------------------------------------------------------------------------------

    def _split_all(
        self,
        begin: Sequence[int],
        clique: frozenset[int],
        borders: Sequence[frozenset[int]],
        variables: set[str],
    ) -> bool:
        """Split the cells of a clique and its borders; False, and nothing done, where they are too many."""
        rows, cells, tied = len(self.rows), len(self.space.cells), set(self.tied)
        queue = deque(begin)
        done: set[int] = set()
        for number in self._border_cells(borders, variables):
            if number is None:
                self._undo(rows, cells, tied)
                return False
            queue.append(number)
        while queue:
            number = queue.popleft()
            if number in done:
                continue
            done.add(number)
            queue.extend(self._tie(number))
            best = self._best(number, clique)
            if best is not None:
                terms = [(number, -1)]
                for sets in best:
                    part = self.space.cell(self.space.cells[number][0], sets)
                    terms.append((part, 1))
                    if part >= self.num_stated or part not in self.decomposed:
                        queue.append(part)
                self.rows.append(tuple(terms))
            if len(self.space.cells) - self.num_stated > self.most:
                self._undo(rows, cells, tied)
                return False
        return True

    def _border_cells(self, borders: Sequence[frozenset[int]], variables: set[str]) -> Iterator[int | None]:
        """Every combination of classes of each border: both cliques must agree there; None: too many."""
        for border in borders:
            if prod(len(self.classes[axis]) for axis in border) > self.most:
                yield None
                return
            choices = [
                self.classes[axis] if axis in border else (self.space._everything[axis],)
                for axis in range(len(self.classes))
            ]
            for sets in product(*choices):
                for variable in variables:
                    if not self.space.is_empty(variable, sets):
                        yield self.space.cell(variable, sets)

    def _tie(self, number: int) -> Iterator[int]:
        """The equations between variables, for the sets of a cell; further cells that these take."""
        variable, sets = self.space.cells[number]
        for place, equation in enumerate(self.space.equations):
            if variable not in equation or (place, sets) in self.tied:
                continue
            self.tied.add((place, sets))
            named = [name for name in equation if not self.space.is_empty(name, sets)]
            terms = [(self.space.cell(name, sets), equation[name]) for name in named]
            self.rows.append(tuple(terms))
            yield from (cell for cell, _ in terms if cell != number)

    def _best(
        self, number: int, clique: frozenset[int], grow: bool = True
    ) -> list[tuple[CodeSet, ...]] | None:
        """The parts of a cell, along the column that takes the fewest new cells; None where it is finest."""
        variable, sets = self.space.cells[number]
        best: list[tuple[CodeSet, ...]] | None = None
        least: tuple[int, int] | None = None
        for axis in sorted(clique):
            if sets[axis] in self.class_sets[axis] or not sets[axis]:
                continue
            for way in self._ways(axis, sets[axis]):
                parts = [(*sets[:axis], part, *sets[axis + 1 :]) for part in way]
                known = [(variable, part) in self.space._number for part in parts]
                parts = [
                    part
                    for part, is_known in zip(parts, known, strict=True)
                    if is_known or not self.space.is_empty(variable, part)
                ]
                price = (len(parts) - sum(known), len(parts))
                if (least is None or price < least) and (grow or not price[0]):
                    best, least = parts, price
        return best

    def _undo(self, rows: int, cells: int, tied: set[tuple[int, tuple[CodeSet, ...]]]) -> None:
        del self.rows[rows:]
        for key in self.space.cells[cells:]:
            del self.space._number[key]
        del self.space.cells[cells:]
        self.tied = tied

    def _fall_back(self, begin: Sequence[int], clique: frozenset[int], variables: set[str]) -> str:
        """Too many combinations: sums of cells that there are, and triples of columns as far as they fit."""
        for number in begin:
            best = self._best(number, clique, grow=False)
            if best is not None:
                variable = self.space.cells[number][0]
                parts = [(self.space.cell(variable, sets), 1) for sets in best]
                self.rows.append(((number, -1), *parts))
        triples = sorted(
            map(frozenset, combinations(sorted(clique), 3)) if len(clique) > 3 else [],
            key=lambda triple: (prod(len(self.classes[axis]) for axis in triple), sorted(triple)),
        )
        tested = 0
        for triple in triples:
            within = [number for number in begin if self.space.shape(number) <= triple]
            if not self._split_all(within, triple, (), variables):
                break
            tested += 1
        names = " × ".join(self.space.columns[axis].name for axis in sorted(clique))
        number = prod(len(self.classes[axis]) for axis in clique)
        done = f"; tested: {tested} of {len(triples)} triples" if triples else ""
        return f"{names} of the same records ({number:,} combinations{done})"


def refined(everything: CodeSet, sets: Iterable[CodeSet]) -> list[CodeSet]:
    """The classes of finest codes that none of some sets tells apart.

    Examples
    --------
    >>> refined(0b111, [0b011])
    [3, 4]
    """
    classes = [everything] if everything else []
    for codes in dict.fromkeys(sets):
        classes = [part for own in classes for part in (own & codes, own & ~codes) if part]
    return classes


def _cliques(shapes: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """The maximal cliques of the graph of these sets, made chordal: the vertex of least fill goes first.

    Examples
    --------
    >>> [sorted(clique) for clique in _cliques([frozenset({0, 1}), frozenset({1, 2}), frozenset({2, 3})])]
    [[0, 1], [1, 2], [2, 3]]
    """
    shapes = list(shapes)
    near: dict[int, set[int]] = {axis: set() for shape in shapes for axis in shape}
    for shape in shapes:
        for axis in shape:
            near[axis] |= shape - {axis}
    found: list[frozenset[int]] = [] if near else [frozenset()]
    while near:

        def fill(axis: int) -> int:
            return sum(other not in near[one] for one, other in combinations(near[axis], 2))

        axis = min(sorted(near), key=fill)
        clique = frozenset(near[axis] | {axis})
        if not any(clique <= other for other in found):
            found.append(clique)
        for one in near[axis]:
            near[one] |= near[axis] - {one}
            near[one].discard(axis)
        del near[axis]
    return found


def _separators(cliques: Sequence[frozenset[int]]) -> dict[tuple[int, int], frozenset[int]]:
    """The edges of a junction tree, a spanning tree of largest intersections, with what each side shares."""
    pairs = sorted(
        combinations(range(len(cliques)), 2), key=lambda pair: -len(cliques[pair[0]] & cliques[pair[1]])
    )
    leader = list(range(len(cliques)))
    found = {}
    for one, other in pairs:
        if leader[one] != leader[other]:
            found[one, other] = cliques[one] & cliques[other]
            old = leader[other]
            leader = [leader[one] if mine == old else mine for mine in leader]
    return found


# -- tables --------------------------------------------------------------------------------------------------


def tables_in(table: Table) -> list[tuple[Table, Int]]:
    """The tables that a joint table consists of, each with the numbers of its cells in it.

    A table of which nobody says what it was linked from is taken apart by which dimensions are totals.
    """
    if isinstance(table, LinkedTable) and table.tables:
        return [(part, cells_in(table, part)) for part in table.tables]
    if all(dimension.total >= 0 for dimension in table.dimensions):
        return [(table, np.arange(table.num_cells))]
    names = [dimension.name for dimension in table.dimensions]
    axes = [axis for axis, name in enumerate(names) if name != VARIABLE]
    totals = [_is_total(table.dimensions[axis]) for axis in axes]
    shape = np.zeros((table.num_cells, len(axes)), dtype=bool)
    for place, axis in enumerate(axes):
        shape[:, place] = ~totals[place][table.keys[axis]]
    found = []
    for variable in np.unique(table.variables):
        own = np.flatnonzero(table.variables == variable)
        patterns = [tuple(row) for row in np.unique(shape[own], axis=0).tolist()]
        shapes = [frozenset(np.flatnonzero(pattern).tolist()) for pattern in patterns]
        largest = [
            pattern
            for pattern, shape in zip(patterns, shapes, strict=True)
            if not any(shape < other for other in shapes)
        ]
        for pattern in largest:
            within = own[~(shape[own] & ~np.array(pattern)).any(axis=1)]
            chosen = [axis for axis, has in zip(axes, pattern, strict=True) if has] or axes[:1]
            name = (
                table.dimensions[names.index(VARIABLE)].codes[variable]
                if VARIABLE in names
                else table.variable
            )
            part = Table(
                tuple(table.dimensions[axis] for axis in chosen),
                tuple(table.keys[axis][within] for axis in chosen),
                table.values[within],
                table.decimals,
                Relations.empty(len(within)),
                variable=name,
            )
            found.append((part, within))
    return found


def _is_total(dimension: Dimension) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which codes cover all finest codes."""
    everything = len({name for finest in dimension.finest for name in finest})
    return np.array([len(set(finest)) == everything for finest in dimension.finest], dtype=bool)


def space_table(table: Table, columns: Mapping[str, Column]) -> SpaceTable:
    """A table in the space of these columns; `filled` holds its cells that are not 0."""
    sets = []
    parts = []
    for dimension in table.dimensions:
        column = columns[dimension.data_column]
        is_total = _is_total(dimension)
        own = tuple(
            column.everything if total else column.set_of(finest)
            for finest, total in zip(dimension.finest, is_total.tolist(), strict=True)
        )
        sets.append(own)
        parts.append(
            tuple(
                (own[equation.parent], tuple(own[code] for code in equation.codes if code != equation.parent))
                for equation in dimension.equations
                if equation.parent >= 0
            )
        )
    keys = tuple(column.astype(np.int64) for column in table.keys)
    found = SpaceTable(
        table.variable,
        tuple(dimension.data_column for dimension in table.dimensions),
        tuple(sets),
        keys,
        is_complete(table),
        tuple(parts),
    )
    found.filled = {cell for cell, value in zip(found.cells(), table.values.tolist(), strict=True) if value}
    return found


def is_complete(table: Table) -> bool:
    """Whether the finest cells add up to all others, so that a combination without a row is empty."""
    for dimension in table.dimensions:
        leaves = np.flatnonzero(~dimension.is_parent).tolist()
        finest = [name for leaf in leaves for name in dimension.finest[leaf]]
        if len(set(finest)) < len(finest):  # codes that overlap, and no equation between them
            return False
    inner = np.logical_or.reduce(
        [dimension.is_parent[keys] for dimension, keys in zip(table.dimensions, table.keys, strict=True)]
    )
    keys, (sums,) = roll_up(
        table.dimensions, [column[~inner] for column in table.keys], [table.values[~inner]]
    )
    found = table.find(keys)
    if (sums[found < 0] != 0).any():
        return False
    whole = np.zeros(table.num_cells, dtype=np.int64)
    whole[found[found >= 0]] = sums[found >= 0]
    return bool((whole == table.values).all())


def decomposed_cells(table: Table) -> Int:
    """The cells that a relation of the table gives as the sum of others."""
    return np.flatnonzero(sums_of_others(table.relations))


CLASS = "\x1f"
"""Begins the name of a class or a set in `class_dimension`; no code of data begins with it."""


def class_dimension(column: Column, classes: Sequence[CodeSet], sets: Iterable[CodeSet]) -> Dimension:
    """A dimension to tabulate by: classes of finest codes, and sets of them as sums.

    Examples
    --------
    >>> region = Column("region", ["N1", "N2", "S"])
    >>> found = class_dimension(region, [3, 4], [7])
    >>> found.index["N2"] == found.index["N1"], len(found)
    (True, 3)
    """
    number = {codes: place for place, codes in enumerate(classes)}
    for codes in sets:
        number.setdefault(codes, len(number))
    names = tuple(f"{CLASS}{codes:x}" for codes in number)
    equations = []
    for codes, place in number.items():
        below = [at for at, part in enumerate(classes) if part & codes == part]
        if place >= len(classes):
            equations.append(Equation.total(place, below))
    aliases = {code: names[at] for at, part in enumerate(classes) for code in column.codes_in(part)}
    return Dimension(column.name, names, tuple(equations), number.get(column.everything, -1), aliases)


def set_number(dimension: Dimension, codes: CodeSet) -> int:
    """The code of a set in such a dimension; −1 where it has none."""
    return dimension.index.get(f"{CLASS}{codes:x}", -1)
