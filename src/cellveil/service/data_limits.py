"""Data files within the limits of the service: records counted, packed files not unpacked beyond all measure.

The files are looked at by the worker, within its limits of memory and time, before anything else reads them.
"""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from cellveil.errors import InputError
from cellveil.microdata.file_kinds import SUFFIXES, FileKind

BLOCK = 2**20
ZIP = b"PK\x03\x04"
GZIP = b"\x1f\x8b"


def check_data(files: Mapping[str, Path], limits: Mapping[str, int]) -> None:
    """Raise for the first file that has too many records, or unpacks to too much."""
    for name, path in files.items():
        check_file(path, name, limits)


def check_file(path: Path, name: str, limits: Mapping[str, int]) -> None:
    """Raise where a file has too many records, or unpacks to too much."""
    with path.open("rb") as file:
        first = file.read(4)
    if first.startswith(ZIP):
        check_zip(path, name, limits["unpacked"])
    elif first.startswith(GZIP):
        _check_text(path, name, limits, packed=True)
    elif SUFFIXES.get(path.suffix.lower()) is FileKind.PARQUET or first == b"PAR1":
        _check_parquet(path, name, limits)
    elif SUFFIXES.get(path.suffix.lower(), FileKind.CSV) is FileKind.CSV:
        _check_text(path, name, limits, packed=False)


def check_zip(path: Path, name: str, most: int) -> None:
    """Raise where a zip archive (Excel) says that it unpacks to more; readers stop at what it says."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise InputError(
            "not a readable file", file=name, remedy="Write it again, or export it as CSV."
        ) from None
    if size > most:
        raise _too_large(name)


def _check_text(path: Path, name: str, limits: Mapping[str, int], *, packed: bool) -> None:
    size = lines = 0
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            while block := file.read(BLOCK):
                size += len(block)
                lines += block.count(b"\n")
                if size > limits["unpacked"]:
                    raise _too_large(name)
                if lines > limits["rows"] + 1:
                    raise _too_many(name, limits["rows"])
    except (OSError, EOFError, zlib.error):
        raise InputError("not a readable file", file=name, remedy="Write it again.") from None


def _check_parquet(path: Path, name: str, limits: Mapping[str, int]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        found = pq.read_metadata(path)
        groups = [found.row_group(number) for number in range(found.num_row_groups)]
        size, rows = sum(group.total_byte_size for group in groups), found.num_rows
    except (pa.ArrowException, OSError, ValueError):
        raise InputError("not a readable Parquet file", file=name, remedy="Write it again.") from None
    if size > limits["unpacked"]:
        raise _too_large(name)
    if rows > limits["rows"] or sum(group.num_rows for group in groups) > limits["rows"]:
        raise _too_many(name, limits["rows"])


def _too_large(name: str) -> InputError:
    return InputError(
        "the file unpacks to more bytes than the service allows",
        file=name,
        remedy="Leave out columns that are not needed, or ask for a higher limit.",
    )


def _too_many(name: str, most: int) -> InputError:
    return InputError(
        f"the file has more than {most:,} records, which is what the service allows",
        file=name,
        remedy="Run the job from the command line, or ask for a higher limit (--max-rows).",
    )
