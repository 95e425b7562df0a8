"""Records on which engines may differ: texts, blanks, halves, floats, decimals and sums of 128 bits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

LANDS = ["é", "e\u0301", "E", "e", "ß", "Z", "a b", "-x"]
IDS = [
    "a",
    "A",
    "á",
    "B",
    "b",
    "10",
    "9",
    "Z",
    "ä",
    "ß",
    "ss",
    "-a",
    "_",
    "\uffee",
    "\U00010000",
    "a\u00a0b",
    "o'x\\",
]

MARKED_AMOUNTS = {
    "decimal commas": ["1,5", "2", "3,25"],
    "commas and points": ["1.234,5", "12", "-1.234.567,25"],
    "commas and narrow blanks": ["1\u202f234\u00a0567,5", "2", "+3"],
    "apostrophes": ["1'234", "1’234’567.5", "6"],
    "thousands commas": ["1,234,567", "5", "6.75"],
    "points": ["1.5", "1e3", " 7 "],
}
"""Amounts as text, by the marks that they show."""

ODD_DIMENSIONS = [Dimension.of("land", Hierarchy.flat(LANDS))]
ODD_OPTIONS: dict[str, Any] = {
    "holding": "group",
    "weight": "weight",
    "shadow": "shadow",
    "request": "asks",
    "waiver": "waives",
    "allow_negative": True,
    "depth": 4,
}


def odd_records(contributor: str) -> pa.Table:
    """Few records, with ties; the ids stand in the column of this name."""
    number = 200
    places = range(number)
    blanks = ["", " ", "\u00a0", "\u3000"]
    floats = [0.1 + 0.2, -0.0, 0.0, 2.5, -2.5, 0.125, 1e9 / 8, 7.0]
    return pa.table(
        {
            "land": [LANDS[i % len(LANDS)] + blanks[i % 3 // 2] for i in places],
            contributor: [blanks[i % 4] + IDS[i * 7 % len(IDS)] + blanks[i % 2] for i in places],
            "group": [IDS[i * 5 % 9] for i in places],
            "sales": [round(floats[i % len(floats)], 9) for i in places],
            "shadow": [str(Decimal((-1) ** (i % 3 == 0) * 10**12 + i * 37) / 100) for i in places],
            "weight": [[0.0, 0.5, 1.0, 1 / 3, 123.456789][i % 5] for i in places],
            "asks": [["0", "1", "2 ", None, ""][i % 5] for i in places],
            "waives": [["yes", "No", None, "TRUE", ""][i % 5] for i in places],
        }
    )


def marked_records(marks: str) -> pa.Table:
    """Three records with amounts of these marks."""
    return pa.table({"land": ["N", "X", "N"], "firm": ["a", "b", "c"], "sales": MARKED_AMOUNTS[marks]})
