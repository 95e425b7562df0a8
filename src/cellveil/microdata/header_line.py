"""Lines above the header of a table or of microdata: how many to skip, as messages propose it."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Collection
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

LOOKED_AT = 60
"""Lines that are looked at."""

SHEETS = (".xlsx", ".xlsm")
DELIMITERS = ",;\t|"


def skip_proposed(file: object, wanted: Collection[str] = ()) -> str:
    r"""The key that skips the lines above the header; without a number where none is found.

    Parameters
    ----------
    wanted
        Names that the header has; without any, the header is the first of the longest lines.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "table.csv"
    ...     _ = file.write_text("Turnover 2025\n\nregion;value\nN;5\n")
    ...     skip_proposed(file), skip_proposed(file, ["region"]), skip_proposed(file, ["branch"])
    ('skip = 2', 'skip = 2', 'skip = …')
    """
    lines: list[list[str]] = []
    with suppress(Exception):  # this is a proposal only: whatever is wrong with the file is told elsewhere
        lines = _first_lines(Path(str(file)))
    longest = max((sum(map(bool, line)) for line in lines), default=0)
    fits = (set(wanted) <= set(line) if wanted else sum(map(bool, line)) == longest for line in lines)
    found = next((number for number, is_header in enumerate(fits) if is_header and number), None)
    return "skip = …" if found is None else f"skip = {found}"


def _first_lines(path: Path) -> list[list[str]]:
    """The fields of the first lines; a line of a text file is split by the delimiter that it has most of."""
    if path.suffix.lower() in SHEETS:
        import openpyxl

        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            rows = book.worksheets[0].iter_rows(max_row=LOOKED_AT, values_only=True)
            return [[_text(value) for value in row] for row in rows]
        finally:
            book.close()
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        texts = [line.decode("utf-8", errors="replace") for line in islice(file, LOOKED_AT)]
    return [_fields(text.removeprefix("\ufeff")) for text in texts]


def _fields(line: str) -> list[str]:
    delimiter = max(DELIMITERS, key=line.count)
    fields = next(csv.reader(io.StringIO(line), delimiter=delimiter), [])
    return [field.strip() for field in fields]


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
