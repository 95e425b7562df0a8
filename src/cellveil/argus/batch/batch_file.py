"""The commands of a batch file (.arb) for tables: one line each, a keyword and what follows it.

::

    // a comment; so is a line that begins with two backslashes
    <OPENMICRODATA> "firms.asc"
    <SPECIFYTABLE>  "Region""Size"|"Sales"||
    <SUPPRESS>      MOD(1)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from cellveil.argus.lexer import QUOTE, Token, tokens_of
from cellveil.argus.source_text import COMMENT, read_source
from cellveil.errors import InputError, nearest_name

BACKSLASHES = "\\\\"


class Keyword(StrEnum):
    """The commands, without their brackets."""

    OPENMICRODATA = "OPENMICRODATA"
    OPENTABLEDATA = "OPENTABLEDATA"
    OPENMETADATA = "OPENMETADATA"
    SPECIFYTABLE = "SPECIFYTABLE"
    SAFETYRULE = "SAFETYRULE"
    READMICRODATA = "READMICRODATA"
    READTABLE = "READTABLE"
    APRIORI = "APRIORI"
    RECODE = "RECODE"
    SUPPRESS = "SUPPRESS"
    WRITETABLE = "WRITETABLE"
    SOLVER = "SOLVER"
    LOGBOOK = "LOGBOOK"
    VERSIONINFO = "VERSIONINFO"
    CLEAR = "CLEAR"
    SILENT = "SILENT"
    GOINTERACTIVE = "GOINTERACTIVE"


SPELLINGS = {"APRIORY": Keyword.APRIORI} | {keyword.value: keyword for keyword in Keyword}
NOT_YET = ("JJ", "COVER", "ANCO")
"""Commands that tau-ARGUS itself does not document."""


@dataclass(frozen=True)
class BatchCommand:
    """One line: keyword, what follows it as text and as tokens, and where it stands."""

    keyword: Keyword
    tail: str = ""
    tokens: tuple[Token, ...] = ()
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The line as the log shows it."""
        return f"<{self.keyword}> {self.tail}".rstrip()

    def fault(self, what: str, remedy: str) -> InputError:
        """An error at this line."""
        return InputError(f"{self.keyword}: {what}", file=self.file, line=self.line, remedy=remedy)

    def file_name(self) -> str:
        """The only argument, a name of a file: in quotes, or all that follows."""
        if self.tail.startswith(QUOTE):
            return self.tail[1:].partition(QUOTE)[0].strip()
        return self.tail.partition(f" {COMMENT}")[0].strip()


def read_batch(path: Path | str) -> tuple[BatchCommand, ...]:
    """Read the commands of a batch file.

    Raises
    ------
    InputError
        Names the line where the keyword is missing or unknown, or a quote is not closed.
    """
    source = read_source(path)
    commands = []
    for number, line in source.numbered():
        if line.strip().startswith(BACKSLASHES):
            continue
        try:
            commands.append(_command_of(line, source.file, number))
        except InputError as error:
            raise error.located(file=source.file, line=number) from None
    if not commands:
        raise source.fault(None, "the file has no commands", "Begin with OPENMICRODATA or OPENTABLEDATA.")
    return tuple(commands)


def _command_of(line: str, file: str, number: int) -> BatchCommand:
    text = line.replace("\t", " ").strip()
    tokens = tokens_of(text)
    if not tokens[0].is_keyword:
        raise InputError("the line does not begin with a keyword", remedy="Write a command in < and >.")
    name = tokens[0].text.strip("<>").strip()
    if name in NOT_YET:
        raise InputError(f"{name} is not done yet", remedy="Remove the line.")
    if name not in SPELLINGS:
        raise InputError(f"unknown keyword {name}", remedy=nearest_name(name, list(SPELLINGS)))
    tail = text.partition(">")[2].strip()
    return BatchCommand(SPELLINGS[name], tail, tuple(tokens[1:]), file, number)
