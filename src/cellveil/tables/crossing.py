"""What several tables of the same records imply together, with the unpublished cells that it takes.

Everybody knows that all these tables add up the same records, and so more than each table states by itself.
`cross_classified` adds the unpublished cells that express it. Non-negative tables over the cliques of a
chordal graph that agree on the separators are margins of one non-negative table (Vorob'ev 1962). So it is
enough to cross-classify within the cliques of the graph whose edges join the columns of one table.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from cellveil.tables.space import CodeSet, Space, refined

MOST_AUXILIARY = 20_000
"""Unpublished cells at most; with more of them, programs over all cells take too long."""

LEAST_LIMIT = 5_000
"""Small tables may have so many unpublished cells, whatever their size; others eight for each cell."""


@dataclass(frozen=True, eq=False)
class Linked:
    """What the tables of a space imply together.

    Parameters
    ----------
    rows
        Relations over the cells of the space, beyond those that the tables state: for each its terms.
    not_tested
        Combinations of columns that were too many to be added, in words.
    """

    rows: tuple[tuple[tuple[int, int], ...], ...]
    not_tested: tuple[str, ...]


def cross_classified(space: Space, decomposed: Iterable[int] = ()) -> Linked:
    """What all tables of a space imply together; adds the unpublished cells that it takes.

    Parameters
    ----------
    decomposed
        Cells that a relation of their own table gives as the sum of others.
    """
    return Crossing(space, set(decomposed)).linked()


class Crossing:
    """Splits cells into parts until all are combinations of classes, clique by clique."""

    def __init__(self, space: Space, decomposed: set[int]) -> None:
        self.space = space
        self.decomposed = decomposed
        self.num_stated = len(space.cells)
        self.most = min(MOST_AUXILIARY, max(LEAST_LIMIT, 8 * self.num_stated))
        self.rows: list[tuple[tuple[int, int], ...]] = []
        self.classes = [
            refined(everything, (cell[1][axis] for cell in space.cells))
            for axis, everything in enumerate(space.everything)
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
                frozenset(self.space.axis[name] for name in table.columns)
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
        return Linked(tuple(self.rows), tuple(filter(None, not_tested)))

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
                    known = found.setdefault((self.space.axis[name], whole), [])
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
                self.classes[axis] if axis in border else (self.space.everything[axis],)
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
                known = [(variable, part) in self.space.number_of for part in parts]
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
            del self.space.number_of[key]
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
