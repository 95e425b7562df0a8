"""The public table as CSV and Parquet: one row per cell, dimensions first, then `value` and `flag`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.files import guarded
from cellveil.publishing.publication import Publication

if TYPE_CHECKING:
    import pyarrow

VALUE, FLAG = "value", "flag"


def write_csv(publication: Publication, path: Path) -> None:
    """Write exact values; hidden ones are the symbol (or empty), and no text is taken for a formula."""
    _, cells = publication.rows
    numbers = cells.tolist()
    values = publication.value_texts()
    flags = [publication.symbol if hidden else "" for hidden in publication.hidden.tolist()]
    keys = [([*map(guarded, names)], places.tolist()) for _, names, places in key_columns(publication)]
    columns = [
        *([texts[place] for place in places] for texts, places in keys),
        [values[cell] for cell in numbers],
        [flags[cell] for cell in numbers],
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(guarded, header(publication)))
        writer.writerows(zip(*columns, strict=True))


def write_parquet(publication: Publication, path: Path) -> None:
    """Write exact values (integers or decimals); hidden ones are null."""
    import pyarrow as pa
    import pyarrow.parquet

    _, cells = publication.rows
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(names, pa.string())).cast(
            pa.string()
        )
        for _, names, places in key_columns(publication)
    ]
    flags = pa.array(["", publication.symbol], pa.string()).take(
        pa.array(publication.hidden[cells].astype(np.int8))
    )
    arrays += [_value_array(publication, cells), flags]
    pyarrow.parquet.write_table(pa.table(dict(zip(header(publication), arrays, strict=True))), path)


def header(publication: Publication) -> list[str]:
    """Names of the columns.

    Raises
    ------
    InputError
        When two columns would have the same name.
    """
    names = [*(name for name, _, _ in key_columns(publication)), VALUE, FLAG]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise InputError(
            f"two columns of the public table would be called {twice[0]!r}",
            remedy="Rename the dimension; value, flag and names that end in _label are taken.",
        )
    return names


def key_columns(publication: Publication) -> list[tuple[str, tuple[str, ...], Int]]:
    """Name, distinct texts and the text number of every row, of each code and label column."""
    places, _ = publication.rows
    columns = []
    for dimension, lines, labelled, place in zip(
        publication.dimensions, publication.lines, publication.has_labels, places, strict=True
    ):
        columns.append((dimension.name, lines.names, place))
        if labelled:
            columns.append((f"{dimension.name}_label", lines.labels, place))
    return columns


def _value_array(publication: Publication, cells: Int) -> pyarrow.Array:
    """The values as Arrow integers, or as decimals made from the scaled integers without rounding."""
    import pyarrow as pa

    values, hidden = publication.published[cells], publication.hidden[cells]
    if publication.decimals == 0:
        return pa.array(values, pa.int64(), mask=hidden)
    words = np.stack([values, values >> 63], axis=1)  # 128-bit two's complement, low word first
    valid = pa.array(~hidden).buffers()[1]
    kind = pa.decimal128(19, publication.decimals)
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(words.astype("<i8").tobytes())])
