"""WRITETABLE: which table goes to which file, in which kind of result."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.argus.batch.arguments import Arguments, located
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.result_files import ResultKind, ResultOptions
from cellveil.errors import InputError

CELL_KEYS = 7
CELL_KEY_OPTIONS = ("AO", "AD", "AC")


@dataclass(frozen=True)
class WriteLine:
    """What a line asks for; the name of the file is as given."""

    table: int
    kind: ResultKind
    options: ResultOptions
    name: str


def write_line(command: BatchCommand) -> WriteLine:
    """Read “(1, 2, AS+, "out.csv")”; the options may be empty."""
    given = Arguments(command)
    given.expect("(")
    table = given.whole("the number of the table")
    given.expect(",")
    number = given.whole("the kind of file")
    if number == CELL_KEYS:
        raise command.fault("results of the cell key method are not done yet", "Use the kinds 1 to 6.")
    if number not in list(ResultKind):
        raise command.fault(f"there is no kind {number} of files", "Use 1 to 6.")
    given.expect(",")
    options = ""
    while not given.sees(","):
        options += given.word("the options, or a comma,")
    name = given.word("the name of the file")
    given.expect(")")
    given.end()
    return WriteLine(table, ResultKind(number), _options(command, options), name)


def _options(command: BatchCommand, text: str) -> ResultOptions:
    if text[:2].upper() in CELL_KEY_OPTIONS:
        raise command.fault("options of the cell key method are not done yet", "Leave them out.")
    try:
        return ResultOptions.parse(text)
    except InputError as error:
        raise located(error, command) from None
