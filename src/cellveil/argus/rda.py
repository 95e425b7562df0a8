"""Metadata files (.rda) of microdata and tables, read and written.

::

    <SEPARATOR> ";"                      or nothing: fields in fixed columns
    <SAFE> "S"  <UNSAFE> "U"  <PROTECT> "P"          of tables
    name [start] length [missing [missing]]          of microdata; start in fixed columns only
    name [missing [missing]]                         of tables
        <KEYWORD> arguments                          what the variable is, one or more in a line
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from cellveil.argus.lexer import Token, quoted, tokens_of
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.source_text import SourceText, read_source
from cellveil.errors import InputError, nearest_name
from cellveil.files import write_text
from cellveil.tables.hierarchy import TOTAL

HEAD = {"<SAFE>": "safe", "<UNSAFE>": "unsafe", "<PROTECT>": "protected"}
SPELLINGS = {
    "<RECODABLE>": "<RECODEABLE>",
    "<COST>": "<COSTVAR>",
    "<TRUNCATABLE>": "<TRUNCABLE>",
    "<LOWERLEVEL>": "<LOWERPL>",
    "<UPPERLEVEL>": "<UPPERPL>",
}
"""Other ways to write a keyword."""

FILES = ("<CODELIST>", "<HIERCODELIST>")
ROLES = {role.value: role for role in VariableRole}
INSTEAD = frozenset(
    {VariableRole.SHADOW, VariableRole.COST, VariableRole.LOWER_LEVEL, VariableRole.UPPER_LEVEL}
)
"""Roles of numbers that are not the response."""

KEPT = (
    *("<PFILE>", "<PFILE_FREQ>", "<PFILE_CONT>", "<PFILE_SEP>", "<CKM>", "<INCLUDEZEROS>"),
    *("<PARITY>", "<SEPARATION>", "<SCALING>"),
)
"""Options of the cell-key method, which are carried along."""


def read_rda(path: Path | str, kind: DataKind, *, encoding: str | None = None) -> Metadata:
    """Read a metadata file.

    Raises
    ------
    InputError
        Names the line and what to do.
    """
    return _Reader(read_source(path, encoding), kind).read()


def write_rda(metadata: Metadata, path: Path | str) -> None:
    """Write a metadata file; reading it gives the same metadata."""
    write_text(Path(path), rda_text(metadata))


def rda_text(metadata: Metadata) -> str:
    """The text of a metadata file."""
    lines = []
    if metadata.separator is not None:
        lines.append(f'    <SEPARATOR> "{metadata.separator}"')
    if metadata.kind is DataKind.TABLE:
        lines += [f"    {keyword} {quoted(getattr(metadata, name))}" for keyword, name in HEAD.items()]
    for variable in metadata.variables:
        lines += _lines_of(variable)
    return "\n".join(lines) + "\n"


def _lines_of(variable: ArgusVariable) -> list[str]:
    place = [str(number) for number in (variable.start, variable.length) if number is not None]
    lines = [" ".join([variable.name, *place, *map(quoted, variable.missing)])]

    def add(keyword: str, *arguments: str) -> None:
        lines.append("    " + " ".join([keyword, *arguments]))

    roles = [role for role in VariableRole if variable.is_(role)]
    for role in roles:
        if role is VariableRole.REQUEST:
            add(role.value, *map(quoted, variable.request_codes))
        else:
            add(*(("<NUMERIC>", role.value) if role in INSTEAD else (role.value,)))
    if variable.is_(VariableRole.SPANNING) or variable.total_code != TOTAL:
        add("<TOTCODE>", quoted(variable.total_code))
    if variable.distance:
        add("<DISTANCE>", *map(str, variable.distance))
    if variable.code_list is not None:
        add("<CODELIST>", quoted(variable.code_list))
    if variable.is_hierarchical:
        add("<HIERARCHICAL>")
    if variable.levels:
        add("<HIERLEVELS>", *map(str, variable.levels))
    if variable.hierarchy_file is not None:
        add("<HIERCODELIST>", quoted(variable.hierarchy_file))
    if variable.hierarchy_file is not None or variable.lead != ArgusVariable.lead:
        add("<HIERLEADSTRING>", quoted(variable.lead))
    if variable.decimals:
        add("<DECIMALS>", str(variable.decimals))
    if variable.truncable:
        add("<TRUNCABLE>")
    for keyword, arguments in variable.further:
        add(keyword, *map(quoted, arguments))
    return lines


class _Reader:
    """Reads line by line; a fault of a variable is known when the next one begins."""

    def __init__(self, source: SourceText, kind: DataKind) -> None:
        self.source, self.kind = source, kind
        self.head: dict[str, Any] = {"separator": ";"} if kind is DataKind.TABLE else {}
        self.variables: list[ArgusVariable] = []
        self.names: dict[str, int] = {}
        self.fields: dict[str, Any] | None = None
        self.begun = 0
        self.notes: list[str] = []
        self.flags: set[str] = set()

    def read(self) -> Metadata:
        for number, line in self.source.numbered():
            try:
                found = tokens_of(line)
                if found and found[0].is_keyword:
                    self._keywords(_with_whole_name(found, line))
                elif found:
                    self._close()
                    self._open(found, number)
            except InputError as error:
                raise error.located(file=self.source.file, line=number) from None
        self._close()
        self._note_overlaps()
        return Metadata(
            self.kind, tuple(self.variables), file=self.source.file, notes=tuple(self.notes), **self.head
        )

    def _open(self, found: list[Token], number: int) -> None:
        name, *rest = [token.text for token in found]
        if name.casefold() in self.names:
            raise InputError(
                f"the variable {name!r} is already in line {self.names[name.casefold()]}",
                remedy="Give each variable its own name.",
            )
        self.names[name.casefold()] = self.begun = number
        self.flags, fields = set(), dict[str, Any](name=name, roles=frozenset())
        if self.kind is DataKind.MICRODATA:
            for what in ("length",) if "separator" in self.head else ("start", "length"):
                if not rest:
                    raise InputError(f"variable {name!r} has no {what}", remedy=_LAYOUT)
                fields[what], rest = _whole(rest[0], f"the {what} of variable {name!r}", _LAYOUT), rest[1:]
        self.fields = fields | {"missing": tuple(code for code in rest if code.strip())}

    def _close(self) -> None:
        if self.fields is None:
            return
        fields, self.fields = self.fields, None
        if "<HIERARCHICAL>" in self.flags and not fields.get("levels") and not fields.get("hierarchy_file"):
            raise self.source.fault(
                self.begun,
                f"variable {fields['name']!r} is <HIERARCHICAL>, but has no hierarchy",
                "Add <HIERCODELIST> with a file, or <HIERLEVELS>.",
            )
        if fields.get("hierarchy_file") and "<HIERARCHICAL>" not in self.flags:
            self.notes.append(f"variable {fields['name']!r} has a hierarchy and is taken as <HIERARCHICAL>")
        try:
            self.variables.append(ArgusVariable(**fields))
        except InputError as error:
            raise error.located(file=self.source.file, line=self.begun) from None

    def _keywords(self, found: list[Token]) -> None:
        """All keywords of a line, each with the tokens up to the next."""
        starts = [place for place, token in enumerate(found) if token.is_keyword]
        for place, end in zip(starts, [*starts[1:], len(found)], strict=True):
            keyword = SPELLINGS.get(found[place].text, found[place].text)
            taken = found[place + 1 : end]
            if keyword != "<SEPARATOR>":  # elsewhere a comma without quotes stands between arguments
                taken = [token for token in taken if token.quoted or token.text != ","]
            self._keyword(keyword, [token.text for token in taken])

    def _keyword(self, keyword: str, arguments: list[str]) -> None:
        if keyword == "<SEPARATOR>":
            self._separator(arguments)
        elif keyword == "<SPSS>":
            raise InputError(
                "the records are in an SPSS file, which is not read here",
                remedy="Export them as text, and describe that file.",
            )
        elif keyword in HEAD and self.kind is DataKind.TABLE:
            self.head[HEAD[keyword]] = _one(keyword, arguments)
        elif self.fields is None:
            raise InputError(
                f"{keyword} stands before any variable", remedy="Write the name of the variable above it."
            )
        else:
            self._option(self.fields, keyword, arguments)

    def _separator(self, arguments: list[str]) -> None:
        if self.variables or self.fields is not None:
            raise InputError("<SEPARATOR> stands below a variable", remedy="Put it into the first line.")
        self.head["separator"] = _one("<SEPARATOR>", arguments)
        if len(self.head["separator"]) != 1 or self.head["separator"] in ' "':
            raise InputError("the separator is not one character", remedy='Write <SEPARATOR> ";".')

    def _option(self, fields: dict[str, Any], keyword: str, arguments: list[str]) -> None:
        roles: frozenset[VariableRole] = fields["roles"]
        if keyword in ROLES:
            role = ROLES[keyword]
            if role is VariableRole.REQUEST:
                fields["request_codes"] = tuple(arguments)
            elif arguments:
                raise InputError(f"{keyword} has arguments", remedy="Write it alone.")
            fields["roles"] = self._with_role(roles, role)
        elif keyword in OPTIONS:
            name, parse = OPTIONS[keyword]
            fields[name] = parse(keyword, arguments)
        elif keyword == "<HIERARCHICAL>":
            self.flags.add(keyword)
        elif keyword in KEPT:
            fields["further"] = (*fields.get("further", ()), (keyword, tuple(arguments)))
        else:
            known = [*ROLES, *OPTIONS, *KEPT, *HEAD, "<SEPARATOR>", "<HIERARCHICAL>"]
            raise InputError(f"unknown keyword {keyword}", remedy=nearest_name(keyword, known))

    def _with_role(self, roles: frozenset[VariableRole], role: VariableRole) -> frozenset[VariableRole]:
        """Numbers of a table that have another role are not its response, in whatever order that is said."""
        both = roles | {role}
        others = both - {VariableRole.RESPONSE}
        if both & INSTEAD or (others and self.kind is DataKind.TABLE):
            return others
        return both

    def _note_overlaps(self) -> None:
        placed = [
            (variable.start, variable.start + variable.length, variable.name)
            for variable in self.variables
            if variable.start and variable.length
        ]
        placed.sort()
        for (_, end, one), (start, _, other) in pairwise(placed):
            if start < end:
                self.notes.append(f"the columns of {one!r} and {other!r} overlap")


def _with_whole_name(found: list[Token], line: str) -> list[Token]:
    """The tokens of a line, the name of a file as one, also where it has blanks and no quotes."""
    if found[0].text not in FILES or any(token.quoted or token.is_keyword for token in found[1:]):
        return found
    return [found[0], Token(line.partition(">")[2].replace("\t", " ").strip(), quoted=True)]


_LAYOUT = (
    "In fixed columns write: name, first column, length, missing codes; "
    "with <SEPARATOR> in line 1: name, length, missing codes."
)


def _one(keyword: str, arguments: list[str]) -> str:
    if len(arguments) != 1:
        raise InputError(f"{keyword} needs one argument, not {len(arguments)}", remedy="Write it in quotes.")
    return arguments[0]


def _whole(text: str, what: str, remedy: str = "Write a whole number.") -> int:
    if not text.lstrip("-").isdecimal():
        raise InputError(f"{what} is not a whole number", remedy=remedy)
    return int(text)


def _number(keyword: str, arguments: list[str]) -> int:
    return _whole(_one(keyword, arguments), keyword)


def _numbers(keyword: str, arguments: list[str]) -> tuple[int, ...]:
    if not arguments:
        raise InputError(f"{keyword} needs numbers", remedy="Write them behind it, blanks between.")
    return tuple(_whole(text, keyword) for text in arguments)


def _none(keyword: str, arguments: list[str]) -> bool:
    if arguments:
        raise InputError(f"{keyword} has arguments", remedy="Write it alone.")
    return True


OPTIONS: dict[str, tuple[str, Callable[[str, list[str]], Any]]] = {
    "<TOTCODE>": ("total_code", _one),
    "<CODELIST>": ("code_list", _one),
    "<HIERLEVELS>": ("levels", _numbers),
    "<HIERCODELIST>": ("hierarchy_file", _one),
    "<HIERLEADSTRING>": ("lead", _one),
    "<DISTANCE>": ("distance", _numbers),
    "<DECIMALS>": ("decimals", _number),
    "<TRUNCABLE>": ("truncable", _none),
}
"""Keywords of a variable with the field each fills."""
