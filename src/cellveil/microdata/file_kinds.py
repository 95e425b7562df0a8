"""The kinds of files that tables and microdata are read from, told by their names and checked by content."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path

from cellveil.errors import InputError


class FileKind(Enum):
    """How a file is read."""

    CSV = "CSV (.csv, .tsv, .txt, also .gz)"
    PARQUET = "Parquet (.parquet)"
    ARROW = "Arrow (.arrow, .feather)"
    EXCEL = "Excel (.xlsx, .xlsm)"
    SAS = "SAS (.sas7bdat, .xpt)"
    STATA = "Stata (.dta)"
    SPSS = "SPSS (.sav, .zsav, .por)"
    DATABASE = "DuckDB and SQLite (.duckdb, .db, .sqlite)"


SUFFIXES: Mapping[str, FileKind] = {
    ".parquet": FileKind.PARQUET,
    ".pq": FileKind.PARQUET,
    ".arrow": FileKind.ARROW,
    ".feather": FileKind.ARROW,
    ".xlsx": FileKind.EXCEL,
    ".xlsm": FileKind.EXCEL,
    ".sas7bdat": FileKind.SAS,
    ".xpt": FileKind.SAS,
    ".dta": FileKind.STATA,
    ".sav": FileKind.SPSS,
    ".zsav": FileKind.SPSS,
    ".por": FileKind.SPSS,
    ".duckdb": FileKind.DATABASE,
    ".db": FileKind.DATABASE,
    ".sqlite": FileKind.DATABASE,
    ".sqlite3": FileKind.DATABASE,
}
"""Names with another end are those of CSV files."""

OTHERS = (
    *(".xls", ".xlsb", ".ods", ".mdb", ".accdb", ".dbf", ".rds", ".rdata", ".json", ".xml", ".html"),
    *(".pdf", ".doc", ".docx", ".zip", ".7z", ".tar", ".rar", ".bz2", ".xz", ".zst"),
)
"""Kinds that are not read, whatever they hold."""

CONTENTS: Mapping[bytes, str] = {
    b"PK\x03\x04": "an Excel file or another zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word file",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"%PDF": "a PDF",
    b"SQLite format 3": "an SQLite database",
    b"$FL": "an SPSS file",
    b"<stata_dta>": "a Stata file",
    b"\x1f\x8b": "a gzipped file",
}
"""First bytes of files that are not text, and what they are."""


def kind_of(path: Path) -> FileKind:
    """How a file is read, by its name.

    Raises
    ------
    InputError
        When it is of a kind that is not read; the message names those that are.

    Examples
    --------
    >>> kind_of(Path("firms.SAV")).name, kind_of(Path("firms.csv.gz")).name, kind_of(Path("firms.2024")).name
    ('SPSS', 'CSV', 'CSV')
    """
    ends = [suffix.lower() for suffix in path.suffixes]
    if ends and ends[-1] in OTHERS:
        raise InputError(f"files that end in {ends[-1]} are not read", file=path, remedy=kinds_read())
    if FileKind.PARQUET in (SUFFIXES.get(end) for end in ends):
        return FileKind.PARQUET
    return SUFFIXES.get(ends[-1], FileKind.CSV) if ends else FileKind.CSV


def kinds_read() -> str:
    """The kinds of files that are read, as a sentence."""
    return f"Save it as one of: {', '.join(kind.value for kind in FileKind)}."


def check_is_text(path: Path) -> None:
    """Raise where a file that is to be read as text begins like one of another kind; its name ends wrongly.

    A gzipped text is one where the name says so.
    """
    try:
        with path.open("rb") as file:
            first = file.read(16)
    except OSError:
        return  # reading it will tell
    for begin, what in CONTENTS.items():
        if first.startswith(begin) and not (begin == b"\x1f\x8b" and path.suffix.lower() == ".gz"):
            raise InputError(
                f"the name is that of a text file, but this is {what}",
                file=path,
                remedy=f"Give it its proper name. {kinds_read()}",
            )
