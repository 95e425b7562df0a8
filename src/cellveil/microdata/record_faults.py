"""What may be wrong with a record of microdata, in words that show no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellveil.microdata import sql
from cellveil.microdata.code_order import same_but_for_writing
from cellveil.microdata.number_marks import POINTS, NumberMarks, plain_text
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import REMEDIES, scale

REMEDY_DECIMALS = "Declare more decimals, round the amounts, or let them be rounded (rounding=True)."


@dataclass(frozen=True)
class Variable:
    """A number of the records: its column, how it is read, and its decimals."""

    column: str
    reader: str
    kind: sql.Kind
    decimals: int = 0
    rounding: bool = False
    marks: NumberMarks = POINTS

    def scaled(self, x: str) -> str:
        """SQL of the scaled integer, from SQL of the number."""
        return sql.scaled(x, self.kind, self.decimals, rounding=self.rounding)


@dataclass(frozen=True)
class RecordFault:
    """Something that may be wrong with a record.

    Parameters
    ----------
    column
        The column of the source to blame.
    staged, original
        The condition in terms of the staged records, and in terms of the source.
    describe
        What is wrong and the remedy, from the content of the column.
    """

    column: str
    staged: str
    original: str
    describe: Callable[[Any], tuple[str, str]]


def wrong_code(dimension: Dimension, content: Any) -> tuple[str, str]:
    """A missing code, the code of a total, or an unknown one."""
    if isinstance(content, float) and content.is_integer():
        content = int(content)
    code = "" if content is None or content != content else str(content).strip(" ")
    if not code:
        return f"the code of dimension {dimension.name!r} is missing", "Give every record a code."
    if code in (known.strip(" ") for known in dimension.index):
        return (
            f"code {code!r} of dimension {dimension.name!r} is both a total and the code of a record",
            "Give the record a code of the lowest level, for example one for “not further specified”.",
        )
    near = [known for known in dimension.index if same_but_for_writing(known, code)]
    return (
        f"unknown code in dimension {dimension.name!r}",
        f"Apart from capitals, blanks and leading zeros it is {near[0]!r}: write it so."
        if near
        else "Add it to the hierarchy, correct it, or name the right column.",
    )


def missing_id(column: str, content: Any) -> tuple[str, str]:
    """No contributor or holding."""
    return f"the id in column {column!r} is missing", "Give every record one, its own if it stands alone."


def no_answer(column: str, content: Any) -> tuple[str, str]:
    """A waiver that is neither yes nor no."""
    return f"column {column!r} holds neither yes nor no", f"Use one of: {', '.join((*sql.TRUE, *sql.FALSE))}."


def wrong_number(variable: Variable, content: Any) -> tuple[str, str]:
    """An amount that cannot be scaled."""
    import pyarrow as pa

    if isinstance(content, str):
        content = plain_text(pa.array([content.strip()]), variable.marks)[0].as_py()
    _, faults = scale(np.array([content], dtype=object), variable.decimals)
    what = faults.get(0, "is too large")
    remedy = REMEDY_DECIMALS if what == "has more decimals than declared" else REMEDIES[what]
    return f"the amount in column {variable.column!r} {what}", remedy


def wrong_weight(column: str, content: Any) -> tuple[str, str]:
    """A weight that cannot be used."""
    return f"the weight in column {column!r} is missing or not a number of at least 0", "Give a weight."


def negative(column: str, content: Any) -> tuple[str, str]:
    """A negative amount."""
    return f"the amount in column {column!r} is negative", "Correct it, or allow negative contributions."
