"""Faults of reading microdata: what DuckDB, encodings and the file system raise, as input errors.

They name the file, the line and the byte, and leave out the text of records.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellveil.errors import InputError


@contextmanager
def mapped_errors(file: object) -> Iterator[None]:
    """Turn what DuckDB and the file system raise into input errors; the text of records is left out."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:  # its message may quote records
        raise mapped(error, file) from None
    except UnicodeError as error:
        raise wrong_encoding(file, None, getattr(error, "encoding", "utf-8")) from None
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=file, remedy="Check the file.") from None


def mapped(error: Exception, file: object) -> InputError:
    """What a DuckDB error says, without the record it quotes."""
    import duckdb

    message = str(error)
    at = re.search(r"CSV Error on Line: (\d+)", message)
    line = int(at[1]) if at else None
    named = re.search(r"^\s*file = (.+)$", message, re.MULTILINE)
    file = file or (named[1] if named else None)
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return wrong_encoding(file, line)
    columns = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if columns:
        return InputError(
            f"the line has {columns[2]} fields, the header {columns[1]}",
            file=file,
            line=line,
            remedy="Quote fields that hold the delimiter, or name the delimiter.",
        )
    if at:
        what = "a quote is not closed" if "quote" in message.lower() else "the line cannot be read as CSV"
        return InputError(what, file=file, line=line, remedy="Correct the line, or name the delimiter.")
    if isinstance(error, (duckdb.ConversionException, duckdb.OutOfRangeException)):
        return InputError("a sum is too large", file=file, remedy="Use a larger unit (thousands, millions).")
    if isinstance(error, duckdb.OutOfMemoryException):
        return InputError(
            "the memory or the disk for temporary files is not enough to tabulate",
            file=file,
            remedy="Raise the memory limit, or name a folder for temporary files on a larger disk.",
        )
    return InputError(
        f"the microdata cannot be read ({type(error).__name__})",
        file=file,
        remedy="Check that the file is whole, and of the kind that its name says.",
    )


def wrong_encoding(file: object, line: int | None, encoding: str = "utf-8") -> InputError:
    """Name the file, the line and the byte that cannot be read."""
    place = _undecodable(Path(str(file)), encoding) if file else None
    told = "" if place is None else f": byte {place[1]} of the line is 0x{place[2]:02X}"
    return InputError(
        f"the text is not in the encoding that was said (UTF-8 if nothing was){told}",
        file=file,
        line=line if place is None else place[0],
        remedy="Save the file as UTF-8, or say the encoding (for example cp1252).",
    )


def _undecodable(path: Path, encoding: str) -> tuple[int, int, int] | None:
    """Line, place in it and value of the first byte that is none of the encoding; None where none is found.

    Lines of encodings in which a line feed is no single byte are not told apart.
    """
    if "\n".encode(encoding) != b"\n" or not path.is_file():
        return None
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as data:
        for number, line in enumerate(data, 1):
            try:
                line.decode(encoding)
            except UnicodeDecodeError as error:
                return number, error.start + 1, line[error.start]
    return None
