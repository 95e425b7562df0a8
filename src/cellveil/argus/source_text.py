"""Text of files about tables, whatever their encoding and line ends.

Offices keep files for decades: UTF-8 with and without a byte-order mark, UTF-16, the code page of Windows;
lines that end in CR, LF, CR LF, CR CR LF (a text written twice as such) or not at all; a Ctrl-Z at the end.
"""

from __future__ import annotations

import codecs
import gzip
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cellveil.errors import InputError
from cellveil.files import read_data

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 before UTF-16, whose mark it begins with."""

CTRL_Z = "\x1a"
COMMENT = "//"
_LINE_END = re.compile(r"\r*\n|\r")


@dataclass(frozen=True, repr=False)
class SourceText:
    """The lines of a file, without their ends.

    Parameters
    ----------
    file
        What errors name.
    lines
        All lines, blank ones too, so that their numbers are those of an editor.
    encoding
        The encoding that was found or said.
    """

    file: str
    lines: tuple[str, ...]
    encoding: str

    def __repr__(self) -> str:
        return f"SourceText({len(self.lines)} lines, {self.encoding})"

    def numbered(self, *, comments: bool = True) -> Iterator[tuple[int, str]]:
        """Number and text of each line that is not blank, and, with `comments`, does not begin with //."""
        for number, line in enumerate(self.lines, 1):
            text = line.strip()
            if text and not (comments and text.startswith(COMMENT)):
                yield number, line

    def fault(self, line: int | None, what: str, remedy: str) -> InputError:
        """An error at a line."""
        return InputError(what, file=self.file, line=line, remedy=remedy)


def read_source(path: Path | str, encoding: str | None = None) -> SourceText:
    """Read a text file, also a gzipped one; the encoding is found where it is not said.

    Raises
    ------
    InputError
        When the file is missing, empty, binary, or not in the encoding that was said.
    """
    path = Path(path)
    data = read_data(path)
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError):
            raise InputError("not a whole gzip file", file=path, remedy="Pack it again.") from None
    text, found = decode(data, path, encoding)
    if not text.strip():
        raise InputError(
            "the file is empty", file=path, remedy="Write the data into it, or name another file."
        )
    return SourceText(str(path), tuple(split_lines(text)), found)


def decode(data: bytes, file: object = None, encoding: str | None = None) -> tuple[str, str]:
    r"""The text without byte-order mark and closing Ctrl-Z, and the encoding.

    Examples
    --------
    >>> decode(b"caf\xe9\r\n\x1a"), decode("A".encode("utf-16"))[0]
    (('café\r\n', 'cp1252'), 'A')
    """
    found = encoding or _encoding_of(data)
    try:
        text = data.decode(found)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"the text is not encoded in {found}",
            file=file,
            line=line,
            remedy="Save the file as UTF-8, or say its encoding.",
        ) from None
    except LookupError:
        raise InputError(f"unknown encoding {found!r}", file=file, remedy="Try utf-8 or cp1252.") from None
    text = text.removeprefix("\ufeff").rstrip("\x00")
    text = re.sub(r"\x1a[\x1a\s]*\Z", "", text)
    for mark, what in ((CTRL_Z, "an end-of-file mark (Ctrl-Z)"), ("\x00", "a zero byte")):
        if mark in text:
            line = len(split_lines(text[: text.index(mark)] + "x"))
            raise InputError(
                f"{what} stands within the text",
                file=file,
                line=line,
                remedy="Is this a text file? If so, remove the character.",
            )
    return text, found


def split_lines(text: str) -> list[str]:
    r"""Cut at every kind of line end; no end after the last line is needed.

    Examples
    --------
    >>> split_lines("a\rb\r\nc\r\r\nd")
    ['a', 'b', 'c', 'd']
    """
    lines = _LINE_END.split(text)
    return lines[:-1] if lines[-1] == "" else lines


def _encoding_of(data: bytes) -> str:
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    if b"\x00" in data and len(data) % 2 == 0:  # text of Western languages has a zero in every second byte
        for name, zeros in (("utf-16-le", data[1::2]), ("utf-16-be", data[0::2])):
            if zeros.count(0) > len(zeros) // 2:
                return name
    for name in ("utf-8", "cp1252"):
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"
