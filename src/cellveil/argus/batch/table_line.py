"""SPECIFYTABLE: which variables span a table, its response, and what contributions and costs go by."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.argus.batch.arguments import Arguments, located
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.table_spec import CostKind, TableSpec
from cellveil.errors import InputError

FREQUENCIES = "<FREQ>"
UNITY = ("1", str(int(CostKind.UNITY)))


@dataclass(frozen=True)
class TableLine:
    """A table as a line asks for it: what it is, and the power that costs are raised to."""

    spec: TableSpec
    power: float = 1.0


def table_line(command: BatchCommand) -> TableLine:
    """Read “"v1""v2"|"response"|"shadow"|cost|lambda”; all after the response may be left out."""
    names, *rest = Arguments(command).parts("|")
    if len(rest) > 4:
        raise command.fault("more than five parts", "Write variables, response, shadow, cost and lambda.")
    spanning = []
    while not names.is_over:
        names.sees(",")
        spanning.append(names.word("a spanning variable"))
    texts = [_one(part) for part in rest[:2]]
    response, shadow = [*texts, None, None][:2]
    if response is None:
        raise command.fault("the response is missing", "Write it after a |, or <FREQ> for frequencies.")
    cost, power = _cost(rest[2] if len(rest) > 2 else None)
    if len(rest) > 3 and not rest[3].is_over:
        power = float(rest[3].number("lambda"))
        rest[3].end()
    if power < 0:
        raise command.fault("lambda is negative", "Give 0 or more.")
    is_frequency = response.upper() == FREQUENCIES
    try:
        spec = TableSpec(tuple(spanning), None if is_frequency else response, shadow or None, cost)
    except InputError as error:
        raise located(error, command) from None
    return TableLine(spec, power)


def _one(part: Arguments) -> str | None:
    """The only word of a part, None where it is empty."""
    if part.is_over:
        return None
    text = part.word("a variable")
    part.end()
    return text or None


def _cost(part: Arguments | None) -> tuple[str | CostKind | None, float]:
    """A variable or one of the kinds of costs; lambda may follow after a comma."""
    if part is None or part.is_over:
        return None, 1.0
    is_name = part.tokens[0].quoted
    text = part.word("the cost")
    power = float(part.number("lambda")) if part.sees(",") else 1.0
    part.end()
    if text in UNITY and not is_name:
        return CostKind.UNITY, power
    kinds = {str(int(kind)): kind for kind in CostKind}
    return kinds.get(text, text) or None, power
