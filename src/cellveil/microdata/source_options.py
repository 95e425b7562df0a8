"""How the files of tables and microdata are written: delimiter, encoding, marks of numbers, sheet, query."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from cellveil.errors import InputError
from cellveil.microdata.number_marks import UNSAID, NumberMarks


@dataclass(frozen=True)
class SourceOptions:
    """What is said of a source; each option counts for the files it is meant for.

    Parameters
    ----------
    delimiter
        The character between the fields of CSV files; by default the one of ``, ; tab |`` that is most
        frequent in the header.
    encoding
        Name of the encoding of CSV files as Python knows it.
    marks
        Decimal and thousands marks of numbers written as text; found from the numbers where not said.
    skip
        Lines above the header of CSV files and sheets.
    sheet
        Name of the sheet of an Excel file; by default the first.
    query
        One SELECT that gives the records of a database.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    marks: NumberMarks = UNSAID
    skip: int = 0
    sheet: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError(
                f"the delimiter {self.delimiter!r} is not one character", remedy="Use ',' or ';'."
            )
        if self.skip < 0:
            raise InputError("the number of lines to skip is negative", remedy="Give 0 or more.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise InputError(f"unknown encoding {self.encoding!r}", remedy="Try utf-8 or cp1252.") from None

    @property
    def is_utf8(self) -> bool:
        """Whether DuckDB can read CSV files as they are."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")
