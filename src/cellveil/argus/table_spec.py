"""Which table is meant: the variables that span it, the response, and what contributions and costs go by."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from cellveil.argus.metadata import ArgusVariable, Metadata, VariableRole
from cellveil.errors import InputError

NUMBERS = frozenset(VariableRole) - {
    VariableRole.SPANNING,
    VariableRole.STATUS,
    VariableRole.HOLDING,
    VariableRole.REQUEST,
    VariableRole.RECORD_KEY,
}
"""Roles of variables that hold numbers."""


class CostKind(IntEnum):
    """Costs that are no variable; the numbers are those of batch files."""

    FREQUENCY = -1
    UNITY = -2
    DISTANCE = -3


@dataclass(frozen=True)
class TableSpec:
    """A table as a batch file specifies it.

    Parameters
    ----------
    spanning
        Names of the variables that span the table.
    response
        Name of the variable to add up; None for a table of frequencies.
    shadow
        Variable of the contributions; the response if not given.
    cost
        Variable or kind of the costs; the response if not given.
    """

    spanning: tuple[str, ...]
    response: str | None = None
    shadow: str | None = None
    cost: str | CostKind | None = None

    def __post_init__(self) -> None:
        names = [name.casefold() for name in self.spanning]
        if not names or len(set(names)) < len(names):
            raise InputError(
                "a table needs spanning variables, each once", remedy="Name the variables that span it."
            )

    def dimensions(self, metadata: Metadata) -> tuple[ArgusVariable, ...]:
        """The spanning variables."""
        found = tuple(map(metadata.variable, self.spanning))
        for variable in found:
            if not variable.is_(VariableRole.SPANNING):
                raise InputError(
                    f"variable {variable.name!r} does not span tables",
                    file=metadata.file,
                    remedy="Write <RECODEABLE> below it, or name another variable.",
                )
        return found

    def number(self, metadata: Metadata, name: str | None) -> ArgusVariable | None:
        """A numeric variable by name, or None where no name is given."""
        if not name:
            return None
        variable = metadata.variable(name)
        if not variable.roles & NUMBERS:
            raise InputError(
                f"variable {variable.name!r} holds no numbers",
                file=metadata.file,
                remedy="Write <NUMERIC> below it, or name another variable.",
            )
        return variable
