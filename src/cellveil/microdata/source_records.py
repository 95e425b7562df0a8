"""Records of microdata as their engine sees them: a relation, the types of its columns, who is at fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cellveil.errors import InputError
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.sql import ident

SOURCE = "microdata"
"""Name of the relation with the needed columns."""


def of_record(column: str) -> str:
    """SQL of a column of the source, where its records are called m."""
    return f"m.{ident(column)}"


@dataclass(frozen=True)
class SourceFile:
    """One file, or the whole frame.

    Parameters
    ----------
    name
        The file; None for a frame.
    relation
        SQL that yields its rows, with the needed columns under their own names.
    line_of
        Line of a record, numbered from 0; None where records have no lines.
    """

    name: str | None
    relation: str
    line_of: Callable[[int], int] | None = None

    def error(self, what: str, row: int, remedy: str) -> InputError:
        """An error at a record, numbered from 0."""
        if self.line_of is None:
            return InputError(f"row {row + 1}: {what}", file=self.name, remedy=remedy)
        return InputError(what, file=self.name, line=self.line_of(row), remedy=remedy)


class RecordSource(Protocol):
    """What is known of the records before they are read."""

    @property
    def types(self) -> Mapping[str, str]:
        """The type of each needed column, as DuckDB calls it."""

    @property
    def options(self) -> SourceOptions:
        """How they are written."""

    @property
    def name(self) -> str | None:
        """The file, where there is one only."""

    @property
    def title(self) -> str:
        """What notes call the source."""

    def first(self, condition: str, column: str) -> tuple[SourceFile, int, Any] | None:
        """Part, row and content of a column at a record (called m) that meets a condition, the first one."""
