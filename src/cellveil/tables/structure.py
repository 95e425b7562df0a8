"""Recover the dimensions of a table that has only relations, such as an instance file.

In a table over dimensions each relation is a *copy* of an equation between codes of one dimension (total =
sum of parts), with the codes of the other dimensions fixed. What can be seen without the codes:

1. A relation r of one dimension can be *lifted* along another: each part of r is also a part in a relation of
   the other dimension, and the totals of those are distinct parts of r′, the copy of the same equation one
   step up. Relations connected by lifting are copies of one equation.
2. Two equations *cross* where a common part is lifted by both to one corner: then they belong to different
   dimensions. Equations that share a cell and do not cross belong to one dimension.
3. Cells connected by the relations of all dimensions but one have the same code in that one.

Requires relations that are totals of parts (coefficients 1, with one −1, or the reverse) without constants.
Empty cells may be left out, as long as totals of filled cells are there.
Ensures that what it returns fits completely: keys are distinct, every relation is a copy of one equation, and
every copy with a filled cell is among the relations, or follows from them. Where anything does not fit
(linked tables, relations left out, coefficients other than ±1), it returns None.
Does not ensure the dimensions somebody had in mind: overlapping trees may come back as two dimensions where
both fit, and one row or column may be missing as a code where it is empty throughout.
Cost: a few passes over the relations, compiled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Codes, Int
from cellveil.errors import InputError
from cellveil.loops import structure as loops
from cellveil.tables.build import build_relations, relations_along
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.keys import row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table

MOST_DIMENSIONS = 16
"""More than this many ways up from one relation are not looked at."""

MOST_EQUATIONS = 10_000
"""Tables with more equations than this are taken as having no structure."""

MOST_MISSING = 20_000
"""Tables that leave out more relations than this are taken as having no structure."""

MOST_PLACES = 20_000_000
"""Largest product of the dimensions' sizes for which an array over all combinations of codes is made."""

MOST_FILL = 12
"""Most places of such an array for each stored cell where all of it is worked on."""

_Copy = tuple[int, int, tuple[int, ...]]
"""Number of a dimension and of its equation, and the codes of the other dimensions (−1 at its own place)."""


def with_structure(table: Table) -> Table | None:
    """The same cells and relations, in the same order, with dimensions d1, d2, … and keys; None if none fit.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> table = two_way([[20, 50, 10], [8, 19, 22]]).table
    >>> cells = Dimension.unstructured("cell", map(str, range(table.num_cells)))
    >>> bare = table.replace(dimensions=(cells,), keys=(np.arange(table.num_cells, dtype=np.int32),))
    >>> with_structure(bare).sizes
    (3, 4)
    """
    found = recover(table.relations, table.values)
    return None if found is None else table.replace(dimensions=tuple(found[0]), keys=tuple(found[1]))


def structured(table: Table) -> Table:
    """The table with its dimensions, recovered where it has none and that is possible."""
    return table if table.is_structured else with_structure(table) or table


def fits_array(table: Table, most_dimensions: int) -> bool:
    """Whether the table has dimensions, and the array of all combinations of codes fits in memory."""
    return (
        table.is_structured and len(table.dimensions) <= most_dimensions and prod(table.sizes) <= MOST_PLACES
    )


def is_product(table: Table) -> bool:
    """Whether the relations are those of the dimensions at all combinations of codes, in an array that is
    filled well enough to work on it as a whole; linked tables and most tables with gaps are not.
    """
    if not table.is_structured or prod(table.sizes) > MOST_FILL * max(table.num_cells, 1000):
        return False
    expected, given = build_relations(table.dimensions, table.keys, table.num_cells), table.relations
    if len(expected) != len(given) or len(expected.cells) != len(given.cells):
        return False
    # Equal relations miss equally on random whole numbers, in whatever order they stand.
    probe = np.random.default_rng(0).integers(1, 2**20, table.num_cells)
    return sorted(expected.residuals(probe).values()) == sorted(given.residuals(probe).values())


def has_lines_only(table: Table) -> bool:
    """Whether every relation is an equation total = sum of parts of one dimension, over all cells of a line.

    Cells are given random numbers. Those of a relation add up, with its coefficients and modulo 2^64, to what
    the equation gives on the line; two different lines agree with a probability of 2^−64.
    """
    equations = [(axis, each) for axis, own in enumerate(table.dimensions) for each in own.equations]
    relations = table.relations
    if any(equation.parent < 0 for _, equation in equations):
        return False
    if not len(relations):
        return True
    number = np.random.default_rng(0).integers(-(2**63), 2**63, table.num_cells)
    dense = np.zeros(table.sizes, dtype=np.int64)
    dense[table.keys] = number
    sums = [
        np.tensordot(np.array(equation.coefs), np.take(dense, equation.codes, axis), (0, axis)).reshape(-1)
        for axis, equation in equations
    ]
    mine = np.add.reduceat(relations.coefs * number[relations.cells], relations.indptr[:-1])
    known = np.concatenate([np.zeros(0, dtype=np.int64), *sums])
    return bool(np.isin(mine, np.concatenate([known, -known])).all())


def recover(relations: Relations, values: Int) -> tuple[list[Dimension], list[Codes]] | None:
    """Dimensions and keys that explain the relations completely, or None; see the head of the module."""
    sums = _Sums.of(relations)
    if sums is None:
        return None
    kinds = sums.kinds()
    if kinds is None:
        return None
    kind, axis = kinds
    dimensions: list[Dimension] = []
    keys: list[Codes] = []
    equation = np.zeros(len(kind), dtype=np.int64)
    for k in range(int(axis.max()) + 1):
        rows = np.flatnonzero(axis == k)
        made = _dimension(f"d{k + 1}", sums, sums.codes(axis, k), rows, kind)
        if made is None:
            return None
        dimension, column, equation[rows] = made
        dimensions.append(dimension)
        keys.append(column)
    return (dimensions, keys) if _fits(sums, dimensions, keys, axis, equation, values) else None


@dataclass(frozen=True, repr=False, eq=False)
class _Sums:
    """Relations as totals of parts: relation r says that cell ``total[r]`` is the sum of its parts.

    Attributes
    ----------
    part_ptr, parts
        Relation r has the parts ``parts[part_ptr[r]:part_ptr[r + 1]]``.
    """

    relations: Relations
    total: Int
    part_ptr: Int
    parts: Int

    @classmethod
    def of(cls, relations: Relations) -> _Sums | None:
        """Read relations as sums; None where they are not, or where a cell stands in none."""
        rows, m = relations.row_of_entry, len(relations)
        covered = np.bincount(relations.cells, minlength=relations.num_cells)
        if not m or (np.abs(relations.coefs) != 1).any() or relations.rhs.any() or not covered.all():
            return None
        minus = np.bincount(rows[relations.coefs < 0], minlength=m)
        plus = np.diff(relations.indptr) - minus
        is_flipped = (plus == 1) & ((minus > 1) | ~((plus > 1) & (minus == 1)).any())
        if not (np.where(is_flipped, plus, minus) == 1).all() or (plus + minus < 2).any():
            return None
        is_total = np.where(is_flipped[rows], relations.coefs > 0, relations.coefs < 0)
        part_ptr = np.concatenate([[0], np.cumsum(plus + minus - 1)]).astype(np.int64)
        cells = relations.cells.astype(np.int64)
        return cls(relations, cells[is_total], part_ptr, cells[~is_total])

    @cached_property
    def relation_of_part(self) -> Int:
        """The relation of each part."""
        return np.repeat(np.arange(len(self.total)), np.diff(self.part_ptr))

    def kinds(self) -> tuple[Int, Int] | None:
        """For each relation the number of its equation and of its dimension."""
        above_ptr, above = _by_cell(self.parts, self.part_ptr, self.relations.num_cells)
        up = np.full((len(self.total), MOST_DIMENSIONS), -1, dtype=np.int64)
        enough = loops.lifted(self.total, self.part_ptr, self.parts, above_ptr, above, up)
        leader = np.empty(len(self.total), dtype=np.int64)
        loops.copies(up, leader)
        names, kind = np.unique(leader, return_inverse=True)
        if not enough or len(names) > MOST_EQUATIONS:
            return None
        cross = np.zeros((len(names), len(names)), dtype=bool)
        loops.crossings(self.total, above_ptr, above, up, kind, cross)
        cell_ptr, rows = _by_cell(self.relations.cells, self.relations.indptr, self.relations.num_cells)
        leader = np.empty(len(names), dtype=np.int64)
        fits = loops.same_dimension(cell_ptr, rows, kind, cross, leader)
        return (kind, _renumbered(leader)[kind]) if fits else None

    def codes(self, axis: Int, k: int) -> Int:
        """For each cell the number of its code in dimension k."""
        leader = np.empty(self.relations.num_cells, dtype=np.int64)
        loops.components(self.total, self.part_ptr, self.parts, axis, k, leader)
        return _renumbered(leader)


def _dimension(
    name: str, sums: _Sums, code: Int, rows: Int, kind: Int
) -> tuple[Dimension, Codes, Int] | None:
    """The dimension that the relations `rows` make of the cells' codes, parents first.

    Returns
    -------
    dimension, column, equation
        And the code of each cell in it, and the equation of each of the rows.
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    size = int(code.max()) + 1
    number = np.full(len(kind), -1, dtype=np.int64)
    number[rows] = _renumbered(kind[rows])
    taken = (number >= 0)[sums.relation_of_part]
    relation, part = sums.relation_of_part[taken], code[sums.parts[taken]]
    # kinds are the same equation where total and some part are the same: lifting may not have seen that
    own, pair = number[relation], _renumbered(code[sums.total[relation]] * size + part)
    shared = coo_matrix((np.ones(len(own)), (own, pair))).tocsr()
    merged = connected_components(shared @ shared.T, directed=False)[1].astype(np.int64)
    equation = merged[number[rows]]
    parents = _only_values(equation, code[sums.total[rows]])
    if parents is None or (parents[merged[own]] == part).any():
        return None
    terms = _distinct(merged[own] * size + part)
    borders = np.searchsorted(terms // size, np.arange(len(parents) + 1))
    children = [(terms[a:b] % size) for a, b in pairwise(borders)]
    if len(np.unique(np.concatenate([parents, terms % size]))) < size:
        return None
    return _parents_first(name, parents, children, code, equation)


def _only_values(group: Int, values: Int) -> Int | None:
    """The value of each group; None where a group has several."""
    pairs = np.unique(np.column_stack([group, values]), axis=0)
    return pairs[:, 1] if len(pairs) == int(group.max()) + 1 else None


def _parents_first(
    name: str, parents: Int, children: Sequence[Int], code: Int, equation: Int
) -> tuple[Dimension, Codes, Int] | None:
    """Number the codes by level; None where equations run in a circle or parts of a code overlap."""
    size = int(code.max()) + 1

    def dimension(number: Int) -> Dimension:
        equations = tuple(
            Equation.total(int(number[parent]), np.sort(number[below]).tolist())
            for parent, below in zip(parents, children, strict=True)
        )
        tops = np.setdiff1d(np.arange(size), np.concatenate([number[below] for below in children]))
        total = int(tops[0]) if len(tops) == 1 else -1
        return Dimension(name, tuple(map(str, range(size))), equations, total)

    try:
        order = np.argsort(dimension(np.arange(size)).level, kind="stable")
        number = np.argsort(order)
        made = dimension(number)
        made.closure  # noqa: B018  (raises where parts overlap)
    except InputError:
        return None
    return made, number[code].astype(np.int32), equation


def _fits(
    sums: _Sums,
    dimensions: Sequence[Dimension],
    keys: Sequence[Codes],
    axis: Int,
    equation: Int,
    values: Int,
) -> bool:
    """Whether keys are distinct, and the relations say all that the dimensions make of the cells."""
    sizes = [len(dimension) for dimension in dimensions]
    if len(_distinct(row_numbers(keys, sizes, len(values)))) < len(values):
        return False
    missing: dict[_Copy, bool] = {}
    for k in range(len(keys)):
        found = _missing_along(k, sums, dimensions, keys, axis, equation, values)
        if found is None or len(missing) + len(found) > MOST_MISSING:
            return False
        missing.update(found)
    return _are_implied(missing, dimensions)


def _missing_along(
    k: int,
    sums: _Sums,
    dimensions: Sequence[Dimension],
    keys: Sequence[Codes],
    axis: Int,
    equation: Int,
    values: Int,
) -> dict[_Copy, bool] | None:
    """Copies of a dimension's equations that are not among the relations, and whether they are filled.

    None where a relation is not a copy. Its cells have codes of its equation already, so it is the full copy
    when their other codes are the same, and it has as many cells.
    """
    n = len(values)
    others = [column for i, column in enumerate(keys) if i != k]
    rest = row_numbers(others, [len(d) for i, d in enumerate(dimensions) if i != k], n)
    rest = _renumbered(rest)
    taken = (axis == k)[sums.relation_of_part]
    if (rest[sums.parts[taken]] != rest[sums.total[sums.relation_of_part[taken]]]).any():
        return None
    rows = np.flatnonzero(axis == k)
    given = equation[rows] * n + rest[sums.total[rows]]
    expected, number = relations_along(k, dimensions, keys, n)
    first = expected.cells[expected.indptr[:-1]]
    made = number * n + rest[first]
    order = np.argsort(made)
    place = order[np.searchsorted(made[order], given)]
    same_length = np.diff(expected.indptr)[place] == np.diff(sums.part_ptr)[rows] + 1
    if (made[place] != given).any() or not same_length.all():
        return None
    filled = np.logical_or.reduceat(values[expected.cells] != 0, expected.indptr[:-1])
    missing = np.delete(np.arange(len(made)), place)
    columns = [np.full(n, -1) if i == k else column for i, column in enumerate(keys)]
    codes = zip(*(column[first[missing]].tolist() for column in columns), strict=True)
    copies = [(k, e, code) for e, code in zip(number[missing].tolist(), codes, strict=True)]
    return dict(zip(copies, filled[missing].tolist(), strict=True))


def _are_implied(missing: Mapping[_Copy, bool], dimensions: Sequence[Dimension]) -> bool:
    """Whether the missing copies that are filled follow from those that are there.

    Equations e and f of two dimensions, with all other codes fixed, make a block: the copies of e at the
    codes of f, summed up with f's coefficients, are the copies of f at the codes of e, summed up with e's. So
    a copy that alone is missing from a block follows from the others; then further ones may.
    """
    by_code = [
        {
            code: [e for e, equation in enumerate(d.equations) if code in equation.codes]
            for code in range(len(d))
        }
        for d in dimensions
    ]

    def follows(copy: _Copy) -> bool:
        k, e, codes = copy
        own = dimensions[k].equations[e].codes
        for other in range(len(dimensions)):
            for f in by_code[other][codes[other]] if other != k else ():
                across = dimensions[other].equations[f].codes
                along = ((k, e, _with(codes, {other: code})) for code in across)
                beside = ((other, f, _with(codes, {other: -1, k: code})) for code in own)
                if sum(member in left for member in (*along, *beside)) == 1:
                    return True
        return False

    left = set(missing)
    while found := [copy for copy in left if follows(copy)]:
        left.difference_update(found)
    return not any(missing[copy] for copy in left)


def _with(codes: tuple[int, ...], changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(i, code) for i, code in enumerate(codes))


def _by_cell(cells: NDArray[np.integer], indptr: Int, num_cells: int) -> tuple[Int, Int]:
    """Turn entries row by row into entries cell by cell: borders and rows."""
    from scipy.sparse import csr_matrix

    shape = (len(indptr) - 1, num_cells)
    columns = csr_matrix((np.ones(len(cells), dtype=np.int8), cells, indptr), shape=shape).tocsc()
    return columns.indptr.astype(np.int64), columns.indices.astype(np.int64)


def _distinct(numbers: Int) -> Int:
    """The distinct numbers (all ≥ 0) in order, without sorting where their range is small."""
    if int(numbers.max(initial=0)) > 8 * len(numbers) + 1000:
        return np.unique(numbers)
    return np.flatnonzero(np.bincount(numbers))


def _renumbered(numbers: Int) -> Int:
    """The place of each number among the distinct ones."""
    distinct = _distinct(numbers)
    if not len(distinct) or int(distinct[-1]) > 8 * len(numbers) + 1000:
        return np.searchsorted(distinct, numbers)
    place = np.zeros(int(distinct[-1]) + 1, dtype=np.int64)
    place[distinct] = np.arange(len(distinct))
    return np.asarray(place[numbers])
