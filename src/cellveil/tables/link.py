"""Linked tables: the union of their cells and of their relations is one table.

Cells are the same when they have the same variable and the same codes, where a dimension that a table does
not have counts as its total: the row totals of *industry × region* are the row totals of *industry × size*.
Response variables that are tied by equations (turnover = domestic + export) become codes of a further
dimension, ``variable``.

Protecting linked tables one by one is not safe, even when common cells are hidden alike: differences across
tables can give hidden values away. Joined into one table they are protected, and audited, together.

Tables that cut the same contributors up in different ways, without the cross-classification, have finest
cells of their own. These are treated as independent of each other, which the `notes` of the joint table say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cellveil.arrays import Bool, Codes, Float, Int
from cellveil.errors import InputError, check_kind, name_some, nearest_name
from cellveil.tables.build import relations_along
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension, Equation
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.keys import group, row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import rescale
from cellveil.tables.table import VARIABLE, Table
from cellveil.tables.totals import overlapping_tables

Equations = Mapping[str, Sequence[str] | Mapping[str, int]]


@dataclass(frozen=True, repr=False, eq=False)
class LinkedTable(Table):
    """A table made of several.

    Parameters
    ----------
    notes
        What the audits of the joint table cannot see, in words; names no values.
    each_complete
        Whether each of the tables has every combination of its codes.
    tables
        The tables, without their contributions.
    """

    notes: tuple[str, ...] = ()
    each_complete: bool = False
    tables: tuple[Table, ...] = ()

    @property
    def has_all_cells(self) -> bool:
        """Whether every combination of the codes of each table is stored, empty ones included."""
        return self.each_complete


def link(tables: Sequence[Table], equations: Equations | None = None) -> LinkedTable:
    """Join tables into one; its `notes` tell of tables that share contributors but not their finest cells.

    Parameters
    ----------
    tables
        Tables of any dimensions. Dimensions of one name are one dimension: their hierarchies are joined.
    equations
        Between response variables: ``{"turnover": ["domestic", "export"]}``, or with coefficients
        ``{"profit": {"turnover": 1, "costs": -1}}``.

    Raises
    ------
    InputError
        When a common cell has different values, or the whole does not add up.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> size = Dimension.of("size", Hierarchy.flat(["small", "large"]))
    >>> by_region = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> by_size = table_from_interior([size], {"size": ["small", "large"]}, [1, 9])
    >>> link([by_region, by_size])
    Table('value', region 3 × size 3, 5 cells, 2 relations)
    >>> len(link([by_region, by_size]).notes), len(link([by_region, by_region]).notes)
    (1, 0)
    """
    tables = [tables] if isinstance(tables, Table) else tables
    check_kind(tables, Sequence, "what is to be linked", "Give tables: link([by_region, by_size]).")
    if not tables:
        raise InputError("there is no table to link", remedy="Give at least one.")
    for table in tables:
        check_kind(table, Table, "a table to link", "Give tables: link([by_region, by_size]).")
    dimensions = _join_dimensions(tables, equations)
    decimals = max(table.decimals for table in tables)
    parts = [_keys_in(table, dimensions) for table in tables]
    keys = [np.concatenate([part[axis] for part in parts]) for axis in range(len(dimensions))]
    values = np.concatenate([rescale(table.values, decimals - table.decimals) for table in tables])
    order, starts, first = group(row_numbers(keys, [len(d) for d in dimensions], len(values)))
    number = np.empty(len(values), dtype=np.int64)
    number[order] = np.repeat(np.arange(len(first)), np.diff(starts))
    _check_common(dimensions, keys, values, values[first][number], tables)
    joint_keys = tuple(column[first] for column in keys)
    own = _own_relations(tables, number, len(first), decimals)
    across = _across(dimensions, joint_keys, values[first])
    units, holdings = (
        _join_contributions([getattr(t, name) for t in tables], first) for name in ("units", "holdings")
    )
    relations = Relations.stack([*own, *across]).distinct()
    table = LinkedTable(
        tuple(dimensions),
        joint_keys,
        values[first],
        decimals,
        relations,
        variable=_variable_name(tables),
        contributors=_join_counts(tables, order, starts),
        units=units,
        holdings=holdings,
        columns=_join_columns(tables, first),
        signed=_join_signs(tables, order, starts),
        notes=_notes(dimensions, joint_keys, relations, tables, number),
        each_complete=all(table.has_all_cells for table in tables),
        tables=tuple(table.replace(units=None, holdings=None) for table in tables),
    )
    table.check_additive()
    return table


def cells_in(joint: Table, table: Table) -> Int:
    """The numbers that the cells of a table have in the one it was linked into.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> size = Dimension.of("size", Hierarchy.flat(["small", "large"]))
    >>> by_region = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> by_size = table_from_interior([size], {"size": ["small", "large"]}, [1, 9])
    >>> joint = link([by_region, by_size])
    >>> joint.cell_names(cells_in(joint, by_size))
    ['(Total, Total)', '(Total, small)', '(Total, large)']
    """
    return joint.find(_keys_in(table, joint.dimensions))


def _notes(
    dimensions: Sequence[Dimension],
    keys: Sequence[Codes],
    relations: Relations,
    tables: Sequence[Table],
    number: Int,
) -> tuple[str, ...]:
    borders = np.cumsum([0, *(table.num_cells for table in tables)])
    cells = [number[start:end] for start, end in pairwise(borders)]
    pairs = [
        f"{one + 1} ({_shape(tables[one])}) and {other + 1} ({_shape(tables[other])})"
        for one, other in overlapping_tables(dimensions, keys, relations, cells)
    ]
    if not pairs:
        return ()
    return (
        f"tables {name_some(pairs, 3)} have finest cells of their own: what the same contributors have in "
        "both is treated as independent. To have it audited, link a table with the cross-classification too, "
        "hidden from the start (status m).",
    )


def _shape(table: Table) -> str:
    return f"{table.variable}: {' × '.join(dimension.name for dimension in table.dimensions)}"


def _variable_name(tables: Sequence[Table]) -> str:
    names = list(dict.fromkeys(table.variable for table in tables))
    return names[0] if len(names) == 1 else "value"


def _join_dimensions(tables: Sequence[Table], equations: Equations | None) -> list[Dimension]:
    joint: dict[str, list[Dimension]] = {}
    for table in tables:
        for dimension in table.dimensions:
            joint.setdefault(dimension.name, []).append(dimension)
    dimensions = [_join_dimension(name, given) for name, given in joint.items()]
    if VARIABLE in joint:
        if equations:
            raise InputError(
                "the tables have a dimension 'variable' already",
                remedy="Link first, with all equations at once.",
            )
        return dimensions
    variables = list(dict.fromkeys(table.variable for table in tables))
    if len(variables) > 1 or equations:
        dimensions.append(_variable_dimension(variables, equations or {}))
    return dimensions


def _join_dimension(name: str, given: Sequence[Dimension]) -> Dimension:
    if all(dimension is given[0] or dimension == given[0] for dimension in given):
        return given[0]
    trees: dict[tuple[str, tuple[tuple[str, str], ...]], Hierarchy] = {}
    for dimension in given:
        for tree in dimension.hierarchies:
            trees.setdefault((tree.root, tuple(sorted(tree.pairs()))), tree)
    covering_first = sorted(trees.values(), key=lambda tree: -_num_leaves(tree.root, trees.values()))
    joint = Dimension.of(name, *covering_first)
    contents = {code: finest for dimension in given for code, finest in dimension.contents.items()}
    column = next((dimension.column for dimension in given if dimension.column), "")
    return replace(joint, column=column, contents=contents)


def _num_leaves(root: str, trees: Collection[Hierarchy]) -> int:
    """How many codes without parts in any tree stand below a code, going from tree to tree."""
    seen, stack, leaves = {root}, [root], 0
    while stack:
        code = stack.pop()
        below = {child for tree in trees for child in tree.children.get(code, ())}
        leaves += not below
        stack.extend(below - seen)
        seen |= below
    return leaves


def _variable_dimension(variables: list[str], equations: Equations) -> Dimension:
    number = {variable: position for position, variable in enumerate(variables)}
    made = []
    for left, right in equations.items():
        terms = dict(right) if isinstance(right, Mapping) else dict.fromkeys(right, 1)
        if left in terms or not terms or len(terms) < len(right):
            raise InputError(
                f"the equation of {left!r} is empty or names a variable twice",
                remedy="Name each variable once, those that make it up on the right.",
            )
        odd = [name for name, coef in terms.items() if not isinstance(coef, int) or not coef]
        if odd:
            raise InputError(
                f"in the equation of {left!r} the coefficient of {odd[0]!r} is 0 or not a whole number",
                remedy="Multiply the equation out, or leave the variable out.",
            )
        unknown = [name for name in (left, *terms) if name not in number]
        if unknown:
            raise InputError(
                f"an equation names {unknown[0]!r}, which no table has as its variable",
                remedy=nearest_name(unknown[0], variables),
            )
        is_sum = all(coef == 1 for coef in terms.values())
        codes = (number[left], *(number[name] for name in terms))
        made.append(Equation(codes, (-1, *terms.values()), number[left] if is_sum else -1))
    return Dimension(VARIABLE, tuple(variables), tuple(made))


def _keys_in(table: Table, dimensions: Sequence[Dimension]) -> list[Codes]:
    """The table's keys in the joint dimensions; a dimension it does not have counts as its total."""
    own = {dimension.name: axis for axis, dimension in enumerate(table.dimensions)}
    columns = []
    for dimension in dimensions:
        if dimension.name in own:
            axis = own[dimension.name]
            translate = np.array(
                [dimension.index[code] for code in table.dimensions[axis].codes], dtype=np.int32
            )
            columns.append(translate[table.keys[axis]])
            continue
        is_variable = dimension.name == VARIABLE and table.variable in dimension.index
        code = dimension.index[table.variable] if is_variable else dimension.total
        if code < 0:
            raise InputError(
                f"a table has no dimension {dimension.name!r}, and that dimension has no total",
                remedy="Give the dimension a total, or add it to the table.",
            )
        columns.append(np.full(table.num_cells, code, dtype=np.int32))
    return columns


def _check_common(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], values: Int, joint: Int, tables: Sequence[Table]
) -> None:
    wrong = np.flatnonzero(values != joint)
    if not len(wrong):
        return
    row = int(wrong[0])
    borders = np.cumsum([table.num_cells for table in tables])
    which = int(np.searchsorted(borders, row, side="right")) + 1
    names = [d.codes[column[row]] for d, column in zip(dimensions, keys, strict=True)]
    raise InputError(
        f"table {which} has another value for it than a table before ({len(wrong)} such cells)",
        cell=f"({', '.join(names)})",
        remedy="Common cells of linked tables must agree: build them from the same data.",
    )


def _own_relations(tables: Sequence[Table], number: Int, num_cells: int, decimals: int) -> list[Relations]:
    parts, start = [], 0
    for table in tables:
        relations = table.relations.renumber(num_cells, number[start : start + table.num_cells])
        factor = 10 ** (decimals - table.decimals)
        parts.append(
            Relations(num_cells, relations.indptr, relations.cells, relations.coefs, relations.rhs * factor)
        )
        start += table.num_cells
    return parts


def _across(dimensions: Sequence[Dimension], keys: Sequence[Codes], values: Int) -> list[Relations]:
    """What the joint dimensions say of the joint cells: all relations whose terms are all there.

    Where terms are missing, the detail may just not be published: then only what adds up all the same is a
    relation. Whoever sees the tables can see that, and taking it in can only make the attacker stronger.
    """
    parts = []
    for axis, dimension in enumerate(dimensions):
        relations, equation = relations_along(axis, dimensions, keys, len(values))
        num_terms = np.array([len(e.codes) for e in dimension.equations], dtype=np.int64)[equation]
        keep = np.ones(len(relations), dtype=bool)
        keep[list(relations.residuals(values))] = False
        keep |= np.diff(relations.indptr) == num_terms
        parts.append(relations.take_rows(np.flatnonzero(keep)))
    return parts


def _join_counts(tables: Sequence[Table], order: Int, starts: Int) -> Int | None:
    """The smallest known number of contributors of each joint cell, −1 where no table knows it."""
    given = [np.full(t.num_cells, -1) if t.contributors is None else t.contributors for t in tables]
    if all(table.contributors is None for table in tables) or not len(order):
        return None
    unknown = np.iinfo(np.int64).max
    counts = np.concatenate(given)[order].astype(np.int64)
    least = np.minimum.reduceat(np.where(counts < 0, unknown, counts), starts[:-1])
    return np.where(least == unknown, -1, least)


def _join_signs(tables: Sequence[Table], order: Int, starts: Int) -> Bool | None:
    """Whether one of the tables knows of negative contributions to the variable of each joint cell."""
    if all(table.signed is None for table in tables) or not len(order):
        return None
    given = [np.zeros(t.num_cells, dtype=bool) if t.signed is None else t.signed for t in tables]
    return np.asarray(np.logical_or.reduceat(np.concatenate(given)[order], starts[:-1]))


def _join_columns(tables: Sequence[Table], first: Int) -> dict[str, Float]:
    names = [name for name in tables[0].columns if all(name in table.columns for table in tables)]
    return {name: np.concatenate([table.columns[name] for table in tables])[first] for name in names}


def _join_contributions(parts: Sequence[Contributions | None], first: Int) -> Contributions | None:
    """Contributions of the joint cells; only when every table has them, alike."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    optional = ("weighted_count", "top_weight", "waived", "largest_unwaived", "requests", "parts")
    odd = [name for name in optional if len({getattr(part, name) is None for part in known}) > 1]
    if odd:
        raise InputError(
            f"only some of the linked tables carry {name_some(odd)} of their contributors",
            remedy="Tabulate all of them with the same options.",
        )
    return Contributions.stack(known).take(first)
