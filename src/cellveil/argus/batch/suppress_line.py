"""SUPPRESS: which method is to protect which table, and how long it may take."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from cellveil.argus.batch.arguments import Arguments, flag
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.errors import nearest_name

ALL_TABLES = 0


class ArgusMethod(StrEnum):
    """The methods of batch files."""

    MODULAR = "MOD"
    OPTIMAL = "OPT"
    HYPERCUBE = "GH"
    NETWORK = "NET"
    ADJUSTMENT = "CTA"

    @property
    def ours(self) -> str:
        """The method that is run in its place."""
        return OURS[self]


OURS = {
    ArgusMethod.MODULAR: "auto",
    ArgusMethod.OPTIMAL: "optimal",
    ArgusMethod.HYPERCUBE: "hypercube",
    ArgusMethod.NETWORK: "network",
    ArgusMethod.ADJUSTMENT: "adjust",
}
NOT_YET = {"RND": "controlled rounding", "CKM": "the cell key method"}
MOST = {
    ArgusMethod.MODULAR: 8,
    ArgusMethod.OPTIMAL: 2,
    ArgusMethod.HYPERCUBE: 4,
    ArgusMethod.NETWORK: 1,
    ArgusMethod.ADJUSTMENT: 1,
}
LINKED = (ArgusMethod.MODULAR, ArgusMethod.HYPERCUBE, ArgusMethod.OPTIMAL)


@dataclass(frozen=True)
class SuppressLine:
    """What a line asks for.

    Parameters
    ----------
    table
        The number of the table; 0 for all of them, linked.
    minutes
        Time for the search; none where the method ends by itself.
    insiders
        Whether single contributors, who know their own part, are to be kept off too.
    command
        The line.
    """

    method: ArgusMethod
    table: int
    minutes: float | None
    insiders: bool
    command: BatchCommand


def suppress_line(command: BatchCommand, params: BatchParams) -> SuppressLine:
    """Read a line such as “MOD(1, 5, 1, 1, 1)” or “OPT(2)”."""
    given = Arguments(command)
    name = given.word("the method").upper()
    if name in NOT_YET:
        raise command.fault(
            f"{NOT_YET[name]} ({name}) is not done yet", "Use MOD, OPT, GH or NET to suppress, CTA to adjust."
        )
    known = [method.value for method in ArgusMethod]
    if name not in known:
        raise command.fault(f"unknown method {name}", nearest_name(name, [*known, *NOT_YET]))
    method = ArgusMethod(name)
    numbers = given.numbers()
    given.end()
    if not 1 <= len(numbers) <= MOST[method]:
        raise command.fault(
            f"{name} has {len(numbers)} parameters", f"Give the table, and up to {MOST[method] - 1} more."
        )
    if numbers[0].denominator != 1 or numbers[0] < 0:
        raise command.fault("the number of the table is not whole", "Count the tables from 1.")
    table = int(numbers[0])
    if table == ALL_TABLES and method not in LINKED:
        raise command.fault(f"{name} cannot take all tables together", "Use MOD(0), OPT(0) or GH(0).")
    return SuppressLine(
        method,
        table,
        _minutes(command, method, numbers, params),
        _insiders(command, method, numbers),
        command,
    )


def _minutes(
    command: BatchCommand, method: ArgusMethod, numbers: list[Fraction], params: BatchParams
) -> float | None:
    default = {
        ArgusMethod.MODULAR: params.modular_minutes,
        ArgusMethod.OPTIMAL: params.optimal_minutes,
        ArgusMethod.ADJUSTMENT: params.adjustment_minutes,
    }.get(method)
    if default is None or len(numbers) < 2:
        return default
    if numbers[1] < 0:
        raise command.fault("the minutes are negative", "Give minutes above 0.")
    return float(numbers[1]) or default


def _insiders(command: BatchCommand, method: ArgusMethod, numbers: list[Fraction]) -> bool:
    """Whether one of the options for singletons is on; MOD and GH have them on by default."""
    if method is ArgusMethod.MODULAR:
        options = [flag(command, number, "an option for singletons") for number in numbers[2:4]]
        return any(options) or any(numbers[4:5]) if options else True
    if method is ArgusMethod.HYPERCUBE:
        return flag(command, numbers[3], "the option for singletons") if len(numbers) > 3 else True
    return False
