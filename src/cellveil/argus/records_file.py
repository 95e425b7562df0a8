"""Microdata in text files (.asc, .csv) as metadata describe them, and the tables that they give.

Fields stand in fixed columns or between separators. Codes are padded with blanks before them to the width of
their variable, as results show them. A decimal comma is read as a point. Tables come from the engine of
`cellveil.microdata`: every record is a contributor, holdings are told by their variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from cellveil.argus.code_trees import CodeTree
from cellveil.argus.hrc import read_hrc
from cellveil.argus.lexer import QUOTE, fields_of
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole, find_file
from cellveil.argus.recoding import Recoding, recoded
from cellveil.argus.source_text import SourceText, read_source
from cellveil.argus.table_spec import TableSpec
from cellveil.errors import InputError, counted, name_some
from cellveil.files import write_text
from cellveil.formats.exact_numbers import amounts_of
from cellveil.microdata.sources import PlacedFrame
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.scaled import MAX_DECIMALS
from cellveil.tables.table import Table

NO_REQUEST = "\x00"
"""A second request code that no record has."""


NUMBER = "number of the record"
"""Column by which records are recognised in several tables: each is a contributor."""


@dataclass(frozen=True, repr=False, eq=False)
class RecordsFile:
    """Records of a text file.

    Parameters
    ----------
    metadata
        The variables.
    frame
        The fields as text: an Arrow table with a column for each variable.
    source
        The file; errors name its lines.
    line_numbers
        The line of each record.
    notes
        What was found odd, but not wrong.
    """

    metadata: Metadata
    frame: Any
    source: SourceText
    line_numbers: Sequence[int]
    notes: tuple[str, ...] = field(default=())

    def __repr__(self) -> str:
        return f"RecordsFile({len(self.line_numbers)} records of {len(self.metadata.variables)} variables)"

    def texts(self, variable: ArgusVariable) -> list[str]:
        """One column as text, blanks around the fields cut."""
        return self._column(variable).to_pylist()  # type: ignore[no-any-return]

    def _column(self, variable: ArgusVariable) -> Any:
        import pyarrow.compute as pc

        return pc.utf8_trim(self.frame.column(variable.name).combine_chunks(), " ")

    @cached_property
    def trees(self) -> dict[str, CodeTree]:
        """The codes of every spanning variable, from its hierarchy or from the data."""
        return {v.name: self._tree(v) for v in self.metadata.having(VariableRole.SPANNING)}

    def _tree(self, variable: ArgusVariable) -> CodeTree:
        try:
            return self._codes_of(variable)
        except InputError as error:
            raise error.located(file=self.source.file) from None

    def _codes_of(self, variable: ArgusVariable) -> CodeTree:
        total, missing = variable.total_code, tuple(map(variable.padded, variable.missing))
        if variable.hierarchy_file is not None:
            path = find_file(variable.hierarchy_file, Path(self.source.file).parent)
            return read_hrc(path, lead=variable.lead, total=total, missing=missing)
        codes = {code for code in self._column(variable).unique().to_pylist() if code}
        if variable.levels:
            return CodeTree.of_digits(codes, variable.levels, total, missing)
        return CodeTree.flat(sorted(map(variable.padded, codes)), total, missing)

    def table(
        self,
        spec: TableSpec,
        *,
        recodings: Mapping[str, Recoding] | None = None,
        weighted: bool = False,
        decimals: int | None = None,
        **options: Any,
    ) -> Table:
        """Tabulate the records.

        Parameters
        ----------
        spec
            The table.
        recodings
            For some spanning variables how their codes are made coarser; all figures are worked out anew
            from the records.
        weighted
            Whether the sampling weights are used; the table then has the decimals of value and weight.
        decimals
            Of the values; by default as many as they need, and at least those of the metadata.
        options
            Further ones of `cellveil.tabulate`: depth, all_cells, rounding (of amounts with more decimals).
        """
        dimensions, columns = [], {}
        for variable in spec.dimensions(self.metadata):
            tree, goal = recoded(self.trees, variable, recodings or {})
            dimensions.append(tree.dimension(variable.name))
            columns[variable.name] = self._coded(variable, self.trees[variable.name], goal)
        roles = self._roles(spec, weighted)
        for variable in {v.name: v for v in roles.values() if v is not None}.values():
            if variable.name not in columns:
                columns[variable.name] = self._named_column(variable, roles)
        import pyarrow as pa

        columns[NUMBER] = pa.array(range(len(self.line_numbers)))
        response, shadow = roles["response"], roles["shadow"]
        return tabulate(
            PlacedFrame(pa.table(columns), self.source.file, self.line_numbers.__getitem__),
            dimensions,
            response.name if response else None,
            decimals=self._decimals(response, roles["weight"]) if decimals is None else decimals,
            holding=_name(roles["holding"]),
            weight=_name(roles["weight"]),
            shadow=None if shadow is None or shadow == response else shadow.name,
            costs=[roles["cost"].name] if roles["cost"] and roles["cost"] != response else [],
            request=_name(roles["request"]),
            request_codes=request_codes_of(self.metadata),
            allow_negative=True,
            recognised_by=[NUMBER],
            **options,
        )

    def _roles(self, spec: TableSpec, weighted: bool) -> dict[str, ArgusVariable | None]:
        """The variable of every role in a table, where there is one."""
        metadata = self.metadata
        if weighted and metadata.only(VariableRole.WEIGHT) is None:
            raise InputError(
                "weights are asked for, and no variable holds them",
                file=metadata.file,
                remedy="Write <WEIGHT> below the variable of the weights.",
            )
        return {
            "response": spec.number(metadata, spec.response),
            "shadow": spec.number(metadata, spec.shadow),
            "cost": spec.number(metadata, spec.cost if isinstance(spec.cost, str) else None),
            "weight": metadata.only(VariableRole.WEIGHT) if weighted else None,
            "holding": metadata.only(VariableRole.HOLDING),
            "request": metadata.only(VariableRole.REQUEST),
        }

    def _named_column(self, variable: ArgusVariable, roles: Mapping[str, ArgusVariable | None]) -> Any:
        """A column that is no dimension: a number with a decimal point, or a text."""
        import pyarrow.compute as pc

        column = self._column(variable)
        if variable in (roles["holding"], roles["request"]):
            return column
        for code in variable.missing:
            wrong = pc.index(column, code.strip()).as_py()
            if wrong >= 0:
                count = pc.sum(pc.equal(column, code.strip())).as_py()
                raise self.source.fault(
                    self.line_numbers[wrong],
                    f"the number of {variable.name!r} is the code for “missing” ({count} such records)",
                    "Give the number, leave the records out, or take the code out of the metadata.",
                )
        return pc.replace_substring(column, ",", ".")

    def _decimals(self, response: ArgusVariable | None, weight: ArgusVariable | None) -> int | None:
        """Decimals that show every value exactly, at least those declared; with weights those of both."""
        if response is None:
            return None
        import pyarrow.compute as pc

        def needed(variable: ArgusVariable) -> int:
            column = pc.replace_substring(self._column(variable), ",", ".")
            return amounts_of(column).decimals

        decimals = max(response.value_decimals, needed(response)) + (needed(weight) if weight else 0)
        return min(decimals, MAX_DECIMALS)

    def _coded(self, variable: ArgusVariable, tree: CodeTree, goal: Mapping[str, str]) -> Any:
        """The leaf that each record belongs to; unknown codes stay as they are, for the engine to find."""
        import pyarrow as pa

        column = self._column(variable).dictionary_encode()
        names = []
        parents = {above for above, below in tree.hierarchy.children.items() if below}
        for place, text in enumerate(column.dictionary.to_pylist()):
            places = tree.places(text) if text else ()
            if len(places) > 1:
                places = tuple(name for name in places if name not in parents) or places
            if len(places) > 1:
                row = column.indices.to_pylist().index(place)
                raise self.source.fault(
                    self.line_numbers[row],
                    f"the code of {variable.name!r} stands in several branches: {name_some(places)}",
                    "Write the path of the one that is meant, as it is named here.",
                )
            names.append(goal.get(places[0], places[0]) if places else text)
        return pa.array(names, pa.string()).take(column.indices) if names else pa.array([], pa.string())


def request_codes_of(metadata: Metadata) -> tuple[str, str]:
    """The two codes of those who asked for protection."""
    variable = metadata.only(VariableRole.REQUEST)
    given = [code.strip() for code in variable.request_codes] if variable else []
    first, second, *_ = [*given, NO_REQUEST, NO_REQUEST]
    return first, second


def read_records(path: Path | str, metadata: Metadata, *, encoding: str | None = None) -> RecordsFile:
    """Read microdata.

    Raises
    ------
    InputError
        Where a line is shorter than its fields, or has too few of them.
    """
    if metadata.kind is not DataKind.MICRODATA:
        raise InputError(
            "the metadata describe a table, not records", file=path, remedy="Read it as a table."
        )
    source = read_source(path, encoding)
    lines = [number for number, _ in source.numbered(comments=False)]
    noted = () if source.encoding == "utf-8" else (f"the records were read as {source.encoding}",)
    if metadata.separator is None:
        return RecordsFile(metadata, _fixed_columns(source, metadata, lines), source, lines, noted)
    columns, notes = _separated(source, metadata, lines)
    return RecordsFile(metadata, columns, source, lines, (*noted, *notes))


def write_records(columns: Mapping[str, Sequence[str]], metadata: Metadata, path: Path | str) -> None:
    """Write microdata in the layout of the metadata, which are written by `write_rda`.

    Parameters
    ----------
    columns
        The texts of each variable; in fixed columns they are padded with blanks before them.

    Raises
    ------
    InputError
        When a text is longer than its variable, or cannot be told from what stands beside it.
    """
    texts = [columns[variable.name] for variable in metadata.variables]
    write = _fixed_line if metadata.separator is None else _separated_line
    lines = [write(metadata, record) for record in zip(*texts, strict=True)]
    write_text(Path(path), "".join(f"{line}\n" for line in lines))


def _fixed_line(metadata: Metadata, record: Sequence[str]) -> str:
    line = ""
    placed = sorted(zip(metadata.variables, record, strict=True), key=lambda pair: pair[0].start or 0)
    for variable, text in placed:
        width, gap = variable.length or 0, (variable.start or 1) - 1 - len(line)
        if len(text) > width or gap < 0 or any(end in text for end in "\r\n\t\x1a"):
            raise InputError(
                f"a text does not fit the columns of variable {variable.name!r}",
                remedy="Correct its first column or its length.",
            )
        line += " " * gap + text.rjust(width)
    return line


def _separated_line(metadata: Metadata, record: Sequence[str]) -> str:
    separator = metadata.separator or ""
    for variable, text in zip(metadata.variables, record, strict=True):
        if separator in text or any(mark in text for mark in '"\r\n\x1a'):
            raise InputError(
                f"a text of variable {variable.name!r} holds the separator, a quote or a line end",
                remedy="Take another separator.",
            )
    return separator.join(record)


def _fixed_columns(source: SourceText, metadata: Metadata, lines: list[int]) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pa.array([source.lines[number - 1].replace("\t", " ") for number in lines], pa.string())
    last = max(metadata.variables, key=lambda v: (v.start or 0) + (v.length or 0))
    short = pc.index(pc.less(pc.utf8_length(texts), last.start), True).as_py()
    if short >= 0:
        raise source.fault(
            lines[short],
            f"the line ends before variable {last.name!r} begins, in column {last.start}",
            "Complete the line, or correct the columns in the metadata.",
        )
    return pa.table(
        {
            v.name: pc.utf8_slice_codeunits(texts, v.start - 1, v.start - 1 + v.length)
            for v in metadata.variables
            if v.start and v.length
        }
    )


def _separated(source: SourceText, metadata: Metadata, lines: list[int]) -> tuple[Any, tuple[str, ...]]:
    import pyarrow as pa

    separator, width = metadata.separator or "", len(metadata.variables)
    rows, longer = [], 0
    for number in lines:
        line = source.lines[number - 1]
        try:
            fields = fields_of(line, separator) if QUOTE in line else line.split(separator)
        except InputError as error:
            raise error.located(file=source.file, line=number) from None
        if len(fields) < width:
            raise source.fault(
                number,
                f"the line has {len(fields)} fields, the metadata {width} variables",
                f"Complete the line; fields are separated by {separator!r}.",
            )
        longer += len(fields) > width
        rows.append(fields[:width])
    notes = (
        f"{counted(longer, 'line has', 'lines have')} more fields than there are variables; "
        f"the rest is not read",
    )
    columns = zip(*rows, strict=True)
    frame = {v.name: pa.array(list(c), pa.string()) for v, c in zip(metadata.variables, columns, strict=True)}
    return pa.table(frame), notes if longer else ()


def _name(variable: ArgusVariable | None) -> str | None:
    return variable.name if variable else None
