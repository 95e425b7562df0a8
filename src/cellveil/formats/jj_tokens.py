"""Instances as JJ files, token by token: any layout the grammar allows, and the line that breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Float, Int
from cellveil.errors import InputError
from cellveil.formats.exact_numbers import (
    FAULTS,
    Amounts,
    amounts_of,
    decimal_of,
    floats_of,
    places_of,
)
from cellveil.problem import STATUS_OF_LETTER

AMOUNTS = ("value", "lb", "ub", "lpl", "upl", "spl")

FIELDS = ("id", "value", "weight", "status", "lb", "ub", "lpl", "upl", "spl")

LARGEST_ROW = 2**31
"""The absolute coefficients of a relation must not sum to more, so that checks in 64 bits are exact."""


@dataclass(frozen=True, repr=False, eq=False)
class JJContent:
    """What a file says, before it is judged."""

    ids: list[str]
    amounts: dict[str, Amounts]
    weight: Float
    weight_faults: dict[int, str]
    status: NDArray[np.int8]
    indptr: Int
    cells: NDArray[np.int32]
    coefs: Int
    rhs: Amounts
    cell_line: Callable[[int], int]
    relation_line: Callable[[int], int]


class TokenReader:
    """Reads one token at a time, and knows the line of each."""

    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.line = 1
        self.cell_lines: list[int] = []
        self.tokens = self._scan(text)

    def read(self) -> JJContent:
        if self._next("0 in the first line") != "0":
            raise self._fault("the first token of a JJ file is 0", "Is this a JJ file?")
        n = self._count("the number of cells")
        if n == 0:
            raise self._fault("the file has no cells", "Give the number of cells, then one line per cell.")
        columns: dict[str, list[str]] = {name: [] for name in FIELDS}
        index: dict[str, int] = {}
        for cell in range(n):
            self._read_cell(columns, index, f"cell {cell + 1}")
        rows = self._relations(index)
        return _content(columns, rows, self.cell_lines)

    def _read_cell(self, columns: dict[str, list[str]], index: dict[str, int], which: str) -> None:
        last_line = self.line
        for name in FIELDS:
            token = self._next(f"the {name} of {which}")
            columns[name].append(token)
            if name == "id":
                self.cell_lines.append(self.line)
                if token in index:
                    raise self._cell_fault("the cell occurs twice", "Give each cell its own id.", last_line)
                index[token] = len(index)
            elif name == "status" and token not in STATUS_OF_LETTER:
                raise self._cell_fault("the status is none of s, u, m and z", "Correct it.", last_line)

    def _relations(self, index: dict[str, int]) -> list[tuple[Decimal, dict[int, Decimal], int]]:
        m = self._count("the number of relations")
        rows = []
        for row in range(m):
            rhs = self._number(f"the right-hand side of relation {row + 1}")
            line = self.line
            terms = self._count(f"the number of terms of relation {row + 1}")
            if terms == 0:
                raise self._fault(f"relation {row + 1} has no terms", "Remove it.")
            entries: dict[int, Decimal] = {}
            for _ in range(terms):
                cell = self._known_cell(self._next(f"a cell of relation {row + 1}"), index, row)
                if cell in entries:
                    raise self._fault(f"a cell stands twice in relation {row + 1}", "Join its terms.")
                entries[cell] = self._number(f"a coefficient of relation {row + 1}")
            rows.append(self._whole_row(rhs, entries, line, row))
        extra = next(self.tokens, None)
        if extra is not None:
            raise self._fault("text after the last relation", "Correct the number of relations.")
        return rows

    def _whole_row(
        self, rhs: Decimal, entries: dict[int, Decimal], line: int, row: int
    ) -> tuple[Decimal, dict[int, Decimal], int]:
        """Multiply the relation by the power of ten that makes its coefficients whole."""
        entries = {cell: coef for cell, coef in entries.items() if coef}
        if not entries:
            raise self._fault(f"all coefficients of relation {row + 1} are 0", "Remove it.")
        places = max(map(places_of, entries.values()))
        if sum(map(abs, entries.values()), Decimal(0)).scaleb(places) > LARGEST_ROW:
            raise self._fault(
                f"the coefficients of relation {row + 1} are too large or too fine",
                "Use whole coefficients; in all they must stay below two thousand million.",
            )
        return rhs.scaleb(places), {cell: coef.scaleb(places) for cell, coef in entries.items()}, line

    def _known_cell(self, token: str, index: dict[str, int], row: int) -> int:
        if token not in index:
            raise self._fault(f"relation {row + 1} has an unknown cell", "Use the ids of the cell lines.")
        return index[token]

    def _count(self, what: str) -> int:
        token = self._next(what)
        if not (token.isascii() and token.isdecimal() and len(token) < 19):
            raise self._fault(
                f"{what} is not a whole number", "Check the lines before it for missing fields."
            )
        return int(token)

    def _number(self, what: str) -> Decimal:
        number = decimal_of(self._next(what))
        if isinstance(number, str):
            raise self._fault(f"{what} {number}", FAULTS[number])
        return number

    def _cell_fault(self, what: str, remedy: str, last_line: int) -> InputError:
        """Tell a wrong field from what follows a line with too few or too many of them."""
        begins_within_line = self.cell_lines[-1] == last_line
        if not begins_within_line and self.cell_lines[-1] == self.line:
            return self._fault(what, remedy)
        self.line = self.cell_lines[-2 if begins_within_line and len(self.cell_lines) > 1 else -1]
        return self._fault(
            f"the line does not have {len(FIELDS)} fields", f"Give {', '.join(FIELDS)} for each cell."
        )

    def _next(self, what: str) -> str:
        token = next(self.tokens, None)
        if token is None:
            raise self._fault(f"the file ends where {what} is expected", "The file is cut off: get it whole.")
        return token

    def _scan(self, text: str) -> Iterator[str]:
        blanks = str.maketrans("():", "   ")
        for number, line in enumerate(text.split("\n"), 1):
            for token in line.translate(blanks).split():
                self.line = number
                yield token

    def _fault(self, what: str, remedy: str) -> InputError:
        """An error at the line read last; what stands there may be a value in the wrong place."""
        return InputError(what, file=self.path, line=self.line, remedy=remedy)


def _content(
    columns: dict[str, list[str]],
    rows: list[tuple[Decimal, dict[int, Decimal], int]],
    cell_lines: list[int],
) -> JJContent:
    import pyarrow as pa

    weight, weight_faults = floats_of(pa.array(columns["weight"]))
    entries = [entry for _, row, _ in rows for entry in row.items()]
    return JJContent(
        columns["id"],
        {name: amounts_of(pa.array(columns[name])) for name in AMOUNTS},
        weight,
        weight_faults,
        np.array([STATUS_OF_LETTER[letter] for letter in columns["status"]], dtype=np.int8),
        np.concatenate([[0], np.cumsum([len(row) for _, row, _ in rows])]).astype(np.int64),
        np.array([cell for cell, _ in entries], dtype=np.int32),
        np.array([int(coef) for _, coef in entries], dtype=np.int64),
        amounts_of(pa.array([format(rhs, "f") for rhs, _, _ in rows], pa.string())),
        lambda row: cell_lines[row],
        lambda row: rows[row][2],
    )
