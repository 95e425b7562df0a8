"""What goes to the public: the table without its hidden values, and the order in which it is written.

Every writer of public files gets a `Publication` and nothing else. It holds no hidden value, and primary and
secondary cells are the same in it: what is not there cannot leak.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int, freeze
from cellveil.errors import InputError, nearest_name
from cellveil.files import guarded
from cellveil.public_view import PublicView
from cellveil.publishing.catalogue import Catalogue, written
from cellveil.publishing.imprint import Imprint, subject_of
from cellveil.tables.build import relations_along, sides
from cellveil.tables.dimension import Dimension
from cellveil.tables.keys import row_numbers
from cellveil.tables.scaled import tells_of_value, text_of
from cellveil.tables.table import VARIABLE, Table

Labels = Mapping[str, Mapping[str, str]]
"""Dimension → code → label."""

MAX_SYMBOL = 12
"""The symbol of hidden cells has at most this many characters."""


@dataclass(frozen=True, repr=False, eq=False)
class Lines:
    """The codes of one dimension as they are printed: each after its total, aliases under their own name.

    Parameters
    ----------
    names, labels
        The code of each line, and its label ("" where it has none).
    code
        Number of the code in the dimension; a code with aliases has several lines.
    depth
        How far the line is indented.
    is_total
        Whether the line is the sum of others.
    """

    names: tuple[str, ...]
    labels: tuple[str, ...]
    code: Int
    depth: Int
    is_total: Bool

    def __len__(self) -> int:
        return len(self.names)

    @classmethod
    def of(cls, dimension: Dimension, labels: Mapping[str, str]) -> Lines:
        """Walk the dimension's trees top down; each name stands once.

        Examples
        --------
        >>> from cellveil.tables.hierarchy import Hierarchy
        >>> tree = Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1"]}})
        >>> lines = Lines.of(Dimension.of("region", tree), {})
        >>> list(zip(lines.names, lines.depth.tolist(), lines.code.tolist()))
        [('Total', 0, 0), ('N', 1, 1), ('N1', 2, 2), ('N2', 2, 3), ('S', 1, 4), ('S1', 2, 4)]
        """
        found: dict[str, tuple[int, bool]] = {}
        for tree in dimension.hierarchies:
            depth = {tree.root: 0}
            for name in tree.codes:
                below = tree.children.get(name, ())
                depth.update(dict.fromkeys(below, depth[name] + 1))
                if name in dimension.index:
                    found.setdefault(name, (depth[name], bool(below)))
        for code, name in enumerate(dimension.codes):
            if name not in found:
                found[name] = int(dimension.level[code]), bool(dimension.is_parent[code])
        return cls(
            tuple(found),
            tuple(str(labels.get(name, "")) for name in found),
            np.array([dimension.index[name] for name in found], dtype=np.int64),
            np.array([depth for depth, _ in found.values()], dtype=np.int64),
            np.array([is_total for _, is_total in found.values()], dtype=bool),
        )


@dataclass(frozen=True, repr=False, eq=False)
class TablePart:
    """One of the tables that a joint table was linked from, which the public gets as a table of its own.

    Parameters
    ----------
    name
        What it is called.
    table
        Its own dimensions and keys; of its values nothing is published.
    cells
        The numbers of its cells in the joint table.
    """

    name: str
    table: Table
    cells: Int


@dataclass(frozen=True, repr=False, eq=False)
class Publication:
    """A table as outsiders get it. Frozen.

    Parameters
    ----------
    dimensions, variable, decimals
        As in the table.
    keys
        Code numbers of each cell.
    published
        Scaled values, 0 where hidden.
    hidden
        Which cells are not published.
    lines
        The printed lines of each dimension.
    has_labels
        Per dimension: whether labels were given.
    imprint
        Title, source, unit, contact, date and note, and the language of all words.
    symbol
        Stands in place of a hidden value.
    shown_decimals
        Decimals shown in spreadsheets and pages; data files hold the values exactly.
    is_adjusted
        Whether values were changed to protect respondents, and none is hidden.
    name
        What the table is called beside others.
    parts
        The tables that a joint table is written as; none where it is one table.
    hides_no_zero
        Whether everybody knows that no hidden value is 0, as of counts whose zeros are all published.
    assumes
        What readers are taken not to know, and why.
    """

    dimensions: tuple[Dimension, ...]
    variable: str
    decimals: int
    keys: tuple[NDArray[np.int32], ...]
    published: Int
    hidden: Bool
    lines: tuple[Lines, ...]
    has_labels: tuple[bool, ...]
    imprint: Imprint
    symbol: str
    shown_decimals: int
    is_adjusted: bool = False
    name: str = ""
    parts: tuple[Publication, ...] = ()
    hides_no_zero: bool = False
    assumes: str = ""

    def __post_init__(self) -> None:
        freeze(self, ("published", "hidden"))

    @classmethod
    def of(
        cls,
        table: Table,
        view: PublicView,
        *,
        imprint: Imprint | None = None,
        symbol: str = "x",
        labels: Labels | None = None,
        decimals: int | None = None,
    ) -> Publication:
        """Take of the table only its structure; the values are those of the view.

        Raises
        ------
        InputError
            When the view is not of this table, the symbol looks like a number, labels or units name an
            unknown dimension or variable, there are no texts in the language, or the decimals are more than
            the table has.
        """
        labels, imprint = labels or {}, imprint or Imprint()
        _check(table, view, symbol, labels, decimals)
        _check_imprint(table, imprint)
        return cls(
            published=np.where(view.hidden, 0, view.published),
            hidden=view.hidden,
            decimals=table.decimals,
            imprint=imprint,
            symbol=symbol,
            shown_decimals=table.decimals if decimals is None else decimals,
            hides_no_zero=bool((view.lb[view.hidden] > 0).all()),
            **_structure(table, labels),
        )

    def in_tables(self, tables: Sequence[TablePart], labels: Labels | None = None) -> Publication:
        """The same, written as the tables that it was linked from, each on its own."""
        return replace(self, parts=tuple(self._part(part, labels or {}) for part in tables))

    def _part(self, part: TablePart, labels: Labels) -> Publication:
        """What is published of one of the tables, with the decimals it needs."""
        published = self.published[part.cells]
        fewer = self.decimals - part.table.decimals
        if fewer and (published % 10**fewer).any():  # adjusted values may have more
            fewer = 0
        return replace(
            self,
            name=part.name,
            published=published // 10**fewer,
            hidden=self.hidden[part.cells],
            decimals=self.decimals - fewer,
            shown_decimals=min(self.shown_decimals, self.decimals - fewer),
            **_structure(part.table, labels),
        )

    @property
    def tables(self) -> tuple[Publication, ...]:
        """The tables that are written: its parts, or itself."""
        return self.parts or (self,)

    @property
    def heading(self) -> str:
        """What the table is called: its name, the title, or the variable."""
        return self.name or self.imprint.title or self.variable

    @property
    def subject(self) -> str:
        """What it is about: the variable by its dimensions."""
        return subject_of(self.variable, self.dimensions, self.imprint.language)

    @property
    def unit(self) -> str:
        """In what its figures are measured; empty where that is not said."""
        return self.imprint.unit_of(self.variable)

    @property
    def words(self) -> Catalogue:
        """The texts of its language."""
        return self.imprint.words

    def __repr__(self) -> str:
        return f"Publication({self.num_cells} cells, {self.num_hidden} hidden)"

    @property
    def num_cells(self) -> int:
        """How many cells there are."""
        return len(self.hidden)

    @property
    def num_hidden(self) -> int:
        """How many of them are hidden."""
        return int(self.hidden.sum())

    @cached_property
    def rows(self) -> tuple[tuple[Int, ...], Int]:
        """Line numbers per dimension, and the cell, of every row: one row per name of a cell, by keys."""
        cell = np.arange(self.num_cells, dtype=np.int64)
        places: list[Int] = []
        for keys, lines, dimension in zip(self.keys, self.lines, self.dimensions, strict=True):
            by_code = np.argsort(lines.code, kind="stable")
            starts = np.searchsorted(lines.code[by_code], np.arange(len(dimension) + 1))
            names = np.diff(starts)[keys[cell]]
            old = np.repeat(np.arange(len(cell)), names)
            offset = np.arange(len(old)) - np.repeat(np.cumsum(names) - names, names)
            cell = cell[old]
            places = [*(place[old] for place in places), by_code[starts[keys[cell]] + offset]]
        order = np.argsort(
            row_numbers(places, [len(lines) for lines in self.lines], len(cell)), kind="stable"
        )
        return tuple(place[order] for place in places), cell[order]

    @property
    def num_rows(self) -> int:
        """How many rows are written; more than cells where these have several names or tables."""
        return sum(map(_num_rows, self.tables))

    @property
    def num_hidden_rows(self) -> int:
        """How many of them show no value."""
        return sum(int(table.hidden[table.rows[1]].sum()) for table in self.tables)

    @cached_property
    def absent_text(self) -> str:
        """What people read where there is no cell: 0, or nothing where some detail was not tabulated.

        Sums are complete without the missing cells, which are 0; unless a total has no parts at all.
        """
        known = self.hidden | (self.published != 0)
        for axis in range(len(self.dimensions)):
            relations, _ = relations_along(axis, self.dimensions, self.keys, self.num_cells)
            if len(relations):
                has_total, has_parts = sides(relations)
                filled = np.logical_or.reduceat(known[relations.cells], relations.indptr[:-1])
                if (has_total & ~has_parts & filled).any():
                    return ""
        return self.words.number(0, self.shown_decimals)

    def value_texts(self) -> list[str]:
        """The exact value of each cell as text, the symbol where hidden."""
        decimals, symbol = self.decimals, self.symbol
        return [
            symbol if hidden else text_of(value, decimals)
            for value, hidden in zip(self.published.tolist(), self.hidden.tolist(), strict=True)
        ]

    def shown_text(self, cell: int) -> str:
        """One value for people: rounded to the decimals shown, as its language writes numbers."""
        if self.hidden[cell]:
            return self.symbol
        value = rounded(int(self.published[cell]), self.decimals - self.shown_decimals)
        return self.words.number(value, self.shown_decimals)


def _structure(table: Table, labels: Labels) -> dict[str, Any]:
    """What a publication takes of a table: everything but values."""
    return {
        "dimensions": table.dimensions,
        "variable": table.variable,
        "keys": table.keys,
        "lines": tuple(Lines.of(dimension, labels.get(dimension.name, {})) for dimension in table.dimensions),
        "has_labels": tuple(bool(labels.get(dimension.name)) for dimension in table.dimensions),
    }


def _num_rows(publication: Publication) -> int:
    return len(publication.rows[1])


def rounded(scaled: int, digits: int) -> int:
    """Drop the last digits, rounding half away from zero.

    Examples
    --------
    >>> rounded(1250, 2), rounded(-1250, 2), rounded(1249, 2)
    (13, -13, 12)
    """
    unit: int = 10**digits
    whole = (2 * abs(scaled) + unit) // (2 * unit)
    return whole if scaled >= 0 else -whole


def grouped(scaled: int, decimals: int) -> str:
    """Write a scaled integer as internal pages do, with commas between groups of three digits.

    Examples
    --------
    >>> grouped(-123456789, 2)
    '-1,234,567.89'
    """
    return written(scaled, decimals, ",", ".")


def _check(table: Table, view: PublicView, symbol: str, labels: Labels, decimals: int | None) -> None:
    if len(view.hidden) != table.num_cells:
        raise InputError(
            f"the view has {len(view.hidden)} cells and the table {table.num_cells}",
            remedy="Make the view from this very problem.",
        )
    if (
        len(symbol) > MAX_SYMBOL
        or not symbol.isprintable()
        or _is_number(symbol)
        or guarded(symbol) != symbol
    ):
        raise InputError(
            f"the symbol of hidden cells {symbol!r} is a number, a formula, too long or not printable",
            remedy='Use a short text such as "x", ":" or "" for empty.',
        )
    if tells_of_value(symbol):
        raise InputError(
            f"the symbol of hidden cells {symbol!r} says something of the values in its place, which is not "
            "true of all, or more than the audit takes readers to know",
            remedy='Use one that says nothing, such as "x", ":" or "" for empty.',
        )
    unknown = [name for name in labels if name not in {dimension.name for dimension in table.dimensions}]
    if unknown:
        raise InputError(
            f"labels are given for {unknown[0]!r}, which is no dimension of the table",
            remedy=f"Dimensions: {', '.join(dimension.name for dimension in table.dimensions)}.",
        )
    if decimals is not None and not 0 <= decimals <= table.decimals:
        raise InputError(
            f"{decimals} decimals cannot be shown: the values have {table.decimals}",
            remedy=f"Give a number from 0 to {table.decimals}.",
        )


def _check_imprint(table: Table, imprint: Imprint) -> None:
    _ = imprint.words  # raises where there are none
    if isinstance(imprint.unit, str):
        return
    codes = {code for dimension in table.dimensions if dimension.name == VARIABLE for code in dimension.codes}
    known = codes or {table.variable}
    for name in imprint.unit:
        if name not in known:
            raise InputError(
                f"a unit is given for {name!r}, which is no variable of the table",
                remedy=nearest_name(name, sorted(known)),
            )


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
