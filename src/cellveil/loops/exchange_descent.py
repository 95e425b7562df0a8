"""Exchanges in a covering program: one or two chosen columns for one or two others that are no dearer."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.loops.library import Arrays, Bool, Float, FloatTable, Int, Word, loop


@dataclass(frozen=True, eq=False)
class CoveringArrays(Arrays):
    """A covering program.

    Parameters
    ----------
    cost
        Of the columns, the cheapest first.
    coefs
        The rows Σ a x ≥ b, one line for each column; those that are soon broken are best put first.
    row_starts, rows, column_starts, columns
        Where they are not 0: starts and rows, by column; starts and columns, by row.
    """

    cost: Float
    coefs: FloatTable
    row_starts: Int
    rows: Int
    column_starts: Int
    columns: Int


@loop
def exchange(
    program: CoveringArrays, room: Float, chosen: Bool, span: float, steps: int, state: Word
) -> None:
    """Try random exchanges, and make those that are no dearer and keep every row; `chosen` is changed."""
