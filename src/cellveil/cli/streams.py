"""Standard output and error of the commands: any encoding, pipes that close early, colours."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from contextlib import suppress
from textwrap import wrap

import typer

PLAIN = "cellveil.plain"
"""Name of the error handler that writes other characters where an encoding lacks one."""

IN_ASCII = {
    **{"–": "-", "—": "-", "−": "-", "…": "...", "“": '"', "”": '"', "‘": "'", "’": "'"},
    **{"×": "x", "·": ".", "≤": "<=", "≥": ">=", "→": "->", "⇒": "=>", "\N{NO-BREAK SPACE}": " "},
}


def prepare_streams() -> None:
    """Let no character end the program that the encoding of a terminal does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)


def _plainer(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(map(_in_ascii, text)), error.end


def _in_ascii(letter: str) -> str:
    """The letter without its marks, or what stands for it.

    Examples
    --------
    >>> "".join(map(_in_ascii, "naïve – é…→☃"))
    'naive - e...->?'
    """
    decomposed = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return IN_ASCII.get(letter) or decomposed or "?"


codecs.register_error(PLAIN, _plainer)


def can_write(text: str) -> bool:
    """Whether standard output has all characters of a text."""
    return _written_in(text, sys.stdout) == text


def _written_in(text: str, stream: object) -> str:
    """The text in characters that the encoding of a stream has."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, PLAIN).decode(encoding)


def write_out(text: str) -> None:
    """Print a line; where nobody reads on (`| head`), it and what follows goes nowhere.

    The exit code stays that of the verdict, also if its words were not read.
    """
    try:
        typer.echo(_written_in(text, sys.stdout))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 (as long as the process)


def write_error(text: str) -> None:
    """Print a line on standard error."""
    with suppress(BrokenPipeError):
        typer.echo(_written_in(text, sys.stderr), err=True)


def flush_streams() -> None:
    """Write what is left to be written, if somebody still reads it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def painted(text: str, colour: str) -> str:
    """The text in bold and in a colour, on terminals that have some, unless NO_COLOR is set."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not sys.stdout.isatty()
    return text if is_plain else typer.style(text, fg=colour, bold=True)


def width_of_output() -> int | None:
    """Columns of the terminal that standard output goes to; None where it goes elsewhere."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None if sys.stdout.isatty() else None
    except (OSError, ValueError):
        return None


def fitted(line: str, width: int | None) -> list[str]:
    """A line broken at blanks where it is longer than the terminal is wide; the rest is indented.

    Examples
    --------
    >>> fitted("Safe against outsiders and insiders", 20)
    ['Safe against', '  outsiders and', '  insiders']
    """
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    room = max(width, len(indent) + 1)
    found = wrap(line, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return found or [line]
