"""The one model of every table: cells with scaled integer values, and sparse relations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Codes, Float, Int, freeze, frozen_array
from cellveil.errors import InputError, counted, nearest_name
from cellveil.shown import Shown
from cellveil.tables.code_text import Code, as_code
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.keys import row_numbers
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import unscale

LARGEST_SHOWN = 100
"""Larger coefficients are not shown: they may be values in the wrong place."""

CELL = "cell"
"""Name of the only dimension of a table without structure."""

COUNT = "count"
"""Name of the variable of a frequency table."""

VARIABLE = "variable"
"""Name of the dimension that tells response variables apart."""


@dataclass(frozen=True, repr=False, eq=False)
class Table(Shown):
    """Cells, their values, and the relations that tie them together. Frozen.

    A combination of codes that is not stored is empty, or not part of the table.

    Parameters
    ----------
    dimensions
        The dimensions, in the order of the keys.
    keys
        One int32 column per dimension: the code number of each cell.
    values
        Scaled integers.
    decimals
        Declared decimals of the values.
    relations
        What everybody knows: totals are sums of their parts.
    variable
        Name of the response variable.
    contributors
        Number of contributors of each cell, −1 where not known; None when not known at all.
    units, holdings
        Contributions at unit and at holding level, where known.
    columns
        Further figures of each cell by name, as floats (cost variables and the like).
    signed
        Whether somebody contributes a negative amount to the variable of the cell, where that is known.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    >>> table
    Table('value', region 3, 3 cells, 1 relation)
    >>> table.cell_name(0), table.cell_name(2)
    ('(Total)', '(S)')
    """

    dimensions: tuple[Dimension, ...]
    keys: tuple[Codes, ...]
    values: Int
    decimals: int
    relations: Relations
    variable: str = "value"
    contributors: Int | None = None
    units: Contributions | None = None
    holdings: Contributions | None = None
    columns: Mapping[str, Float] = field(default_factory=dict)
    signed: Bool | None = None

    def __post_init__(self) -> None:
        freeze(self, ("values", "contributors"))
        object.__setattr__(self, "keys", tuple(map(frozen_array, self.keys)))
        columns = {name: frozen_array(column) for name, column in self.columns.items()}
        object.__setattr__(self, "columns", columns)
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names):
            raise InputError("two dimensions have the same name", remedy="Give each a name of its own.")

    def __repr__(self) -> str:
        shape = " × ".join(f"{dimension.name} {len(dimension)}" for dimension in self.dimensions)
        cells, relations = counted(self.num_cells, "cell"), counted(len(self.relations), "relation")
        return f"Table({self.variable!r}, {shape}, {cells}, {relations})"

    @property
    def num_cells(self) -> int:
        """How many cells are stored."""
        return len(self.values)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes per dimension."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @cached_property
    def variables(self) -> Codes:
        """The number of the response variable of each cell: its code of `VARIABLE`, 0 where there is one."""
        names = [dimension.name for dimension in self.dimensions]
        if VARIABLE in names:
            return self.keys[names.index(VARIABLE)]
        return np.zeros(self.num_cells, dtype=np.int32)

    @property
    def is_of_counts(self) -> bool:
        """Whether the values are counts, so that everybody knows them to be whole numbers."""
        if self.decimals or (self.signed is not None and bool(self.signed.any())):
            return False
        counted = self.contributors is not None and bool((self.contributors == self.values).all())
        return counted or self.variable == COUNT

    @property
    def has_all_cells(self) -> bool:
        """Whether every combination of codes is stored, empty ones included."""
        return self.num_cells == prod(self.sizes)

    def key(self, cell: int) -> tuple[str, ...]:
        """The codes of one cell."""
        return tuple(d.codes[column[cell]] for d, column in zip(self.dimensions, self.keys, strict=True))

    def cell_name(self, cell: int) -> str:
        """The codes of one cell as text."""
        return f"({', '.join(self.key(cell))})" if self.is_structured else self.key(cell)[0]

    def cell_names(self, cells: Sequence[int] | NDArray[np.integer]) -> list[str]:
        """Names of several cells."""
        return [self.cell_name(int(cell)) for cell in cells]

    @property
    def is_structured(self) -> bool:
        """Whether the cells have codes of real dimensions (an instance file has cell numbers only)."""
        return not (len(self.dimensions) == 1 and self.dimensions[0].name == CELL)

    def codes(self, dimension: int) -> list[str]:
        """The code of every cell in one dimension."""
        names = self.dimensions[dimension].codes
        return [names[code] for code in self.keys[dimension].tolist()]

    def find(self, keys: Sequence[NDArray[np.integer]]) -> Int:
        """Cell numbers of keys, given as one column of code numbers per dimension; −1 where there is none."""
        asked = len(keys[0]) if keys else 0
        both = [np.concatenate([mine, theirs]) for mine, theirs in zip(self.keys, keys, strict=True)]
        numbers = row_numbers(both, self.sizes, self.num_cells + asked)
        mine, theirs = numbers[: self.num_cells], numbers[self.num_cells :]
        order = np.argsort(mine, kind="stable")
        place = np.searchsorted(mine[order], theirs)
        place[place == self.num_cells] = 0
        found = order[place] if self.num_cells else np.zeros(asked, dtype=np.int64)
        return np.where(mine[found] == theirs, found, -1) if self.num_cells else found - 1

    def cell(self, *codes: Code | Sequence[Code], **by_name: Code) -> int:
        """Cell number by its codes, in order or by the dimension's name; left out means the total."""
        if len(codes) == 1 and isinstance(codes[0], list | tuple):
            codes = tuple(codes[0])
        if len(codes) > len(self.dimensions):
            raise InputError(
                f"{len(codes)} codes for {len(self.dimensions)} dimensions", remedy="Give fewer codes."
            )
        wanted = dict(zip((d.name for d in self.dimensions), codes, strict=False)) | by_name
        unknown = [name for name in wanted if name not in {d.name for d in self.dimensions}]
        if unknown:
            raise InputError(
                f"there is no dimension {unknown[0]!r}",
                remedy=nearest_name(unknown[0], [d.name for d in self.dimensions]),
            )
        numbers = [self._code_number(d, wanted.get(d.name)) for d in self.dimensions]
        found = int(self.find([np.array([number]) for number in numbers])[0])
        if found < 0:
            name = ", ".join(d.codes[n] for d, n in zip(self.dimensions, numbers, strict=True))
            raise InputError(
                f"the table has no cell ({name})", remedy="It is empty, or not part of the table."
            )
        return found

    @staticmethod
    def _code_number(dimension: Dimension, given: Any) -> int:
        if given is None and dimension.total >= 0:
            return dimension.total
        code = "" if given is None else as_code(given)
        if code not in dimension.index:
            raise InputError(
                f"dimension {dimension.name!r} has no code {code!r}",
                remedy=nearest_name(code, list(dimension.index)),
            )
        return dimension.index[code]

    def relation_name(self, row: int) -> str:
        """One relation in words: “(Total, N) = (A, N) + (B, N)”, cut after a few terms."""
        cells, coefs = self.relations.row(row)
        left = [i for i, coef in enumerate(coefs) if coef < 0]
        right = [i for i, coef in enumerate(coefs) if coef > 0]

        def term(entry: int) -> str:
            size, name = abs(int(coefs[entry])), self.cell_name(int(cells[entry]))
            return name if size == 1 else f"{size}·{name}" if size <= LARGEST_SHOWN else f"…·{name}"

        def side(entries: list[int]) -> str:
            shown = " + ".join(map(term, entries[:4]))
            return shown + (f" + … ({len(entries)} terms)" if len(entries) > 4 else "") or "0"

        constant = " − a constant" if self.relations.rhs[row] else ""
        return f"{side(left)} = {side(right)}{constant}"

    def check_additive(self, file: object = None) -> None:
        """Raise an `InputError` naming the first relation that does not hold."""
        wrong = self.relations.residuals(self.values)
        if not wrong:
            return
        row = next(iter(wrong))
        cells, _ = self.relations.row(row)
        others = (
            f"; {counted(len(wrong) - 1, 'further relation does', 'further relations do')} not hold either"
            if len(wrong) > 1
            else ""
        )
        amount = self._amount_off(row)
        raise InputError(
            f"the table does not add up: {self.relation_name(row)} {amount}{others}",
            file=file,
            cell=self.cell_name(int(cells[0])),
            remedy="Correct the values, or let the totals be computed anew from the parts.",
        )

    def _amount_off(self, row: int) -> str:
        """That a relation is off. Not by how much: where a value is missing, that would be the value."""
        cells, _ = self.relations.row(row)
        filled = cells[self.values[cells] != 0]
        if len(filled) != 1:
            return "is off"
        name = self.cell_name(int(filled[0]))
        if self.relations.rhs[row]:
            return f"does not hold: {name}, its only cell that is not 0, differs from the constant"
        return f"is off by the whole value of {name}, its only cell that is not 0"

    def floats(self) -> Float:
        """The values as floats."""
        return unscale(self.values, self.decimals)

    def replace(self, **changes: Any) -> Table:
        """Return a copy with other fields."""
        from dataclasses import replace

        return replace(self, **changes)
