"""Templates: a CSV that lists the tables to be published, one in a line, by spanning variables and response.

The columns are those of rtauargus metadata (``table_name, field, hrc_field, indicator, hrc_indicator,
spanning_1, hrc_spanning_1, …``) or plainer ones (``table, response, dimension_1, hierarchy_1, level_1, …``).
Fields that are empty or NA say nothing; a line without a response counts records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, nearest_name
from cellveil.formats.columns import Columns, read_columns

NAMES = {
    "table": "name", "table_name": "name", "name": "name",
    "response": "response", "indicator": "response",
    "hrc_response": "hrc_response", "hrc_indicator": "hrc_response",
    "field": "field", "hrc_field": "hrc_field",
    "shadow": "shadow", "decimals": "decimals", "rounding": "rounding",
}  # fmt: skip
"""What the columns of a template are called."""

SPAN = re.compile(r"(?P<what>hrc_spanning|spanning|dimension|hierarchy|level)_(?P<number>\d+)")
PARTS = {"spanning": "variable", "dimension": "variable", "hrc_spanning": "hierarchy"}
NOTHING = ("", "na", "n/a")


@dataclass(frozen=True)
class SpanningVariable:
    """A variable that spans a table, the hierarchy it is a level of, and the level of that to show."""

    variable: str
    hierarchy: str | None = None
    level: int | None = None


@dataclass(frozen=True)
class TemplateLine:
    """One table of a template."""

    name: str
    spanning: tuple[SpanningVariable, ...]
    response: str | None = None
    hrc_response: str | None = None
    field: str | None = None
    hrc_field: str | None = None
    shadow: str | None = None
    decimals: int | None = None
    rounding: bool = False


def read_template(path: Path | str) -> list[TemplateLine]:
    """Read a template.

    Raises
    ------
    InputError
        With the line, where a column is unknown, or a table has no dimension, one twice, or no own name.
    """
    columns = read_columns(Path(path))
    keys = [_key(columns, name) for name in columns.names]
    texts = [columns.column(name).to_pylist() for name in columns.names]
    lines: list[TemplateLine] = []
    for row in range(len(columns)):
        given = {
            key: str(text[row]).strip()
            for key, text in zip(keys, texts, strict=True)
            if text[row] is not None and str(text[row]).strip().casefold() not in NOTHING
        }
        if given:
            lines.append(_line(columns, row, given))
    if not lines:
        raise InputError("the template lists no table", file=path, remedy="Write one table in a line.")
    for row, line in enumerate(lines):
        if line.name in [other.name for other in lines[:row]]:
            raise columns.fault(row, f"the table {line.name!r} is listed twice", "Rename one of them.")
    return lines


def _key(columns: Columns, name: str) -> str:
    folded = name.strip().casefold()
    if folded in NAMES:
        return NAMES[folded]
    found = SPAN.fullmatch(folded)
    if found is None:
        known = [*NAMES, "spanning_1", "hrc_spanning_1", "dimension_1", "hierarchy_1", "level_1"]
        raise InputError(
            f"a template has no column {name!r}", file=columns.file, line=1, remedy=nearest_name(name, known)
        )
    return f"{PARTS.get(found['what'], found['what'])}_{int(found['number'])}"


def _line(columns: Columns, row: int, given: dict[str, str]) -> TemplateLine:
    numbers = sorted({int(key.rpartition("_")[2]) for key in given if SPAN_KEY.fullmatch(key)})
    spanning = []
    for number in numbers:
        if f"variable_{number}" not in given:
            raise columns.fault(row, f"dimension {number} has no name", f"Write it into dimension_{number}.")
        level = given.get(f"level_{number}")
        if level is not None and not re.fullmatch(r"[1-9][0-9]?", level):
            raise columns.fault(
                row, f"level_{number} is not a level", "Write 1 for the first below the total."
            )
        spanning.append(
            SpanningVariable(
                given[f"variable_{number}"], given.get(f"hierarchy_{number}"), int(level) if level else None
            )
        )
    names = [one.variable for one in spanning]
    if not names or len(set(names)) < len(names):
        raise columns.fault(row, "a table has no dimension, or one twice", "Name its dimensions, each once.")
    rest: dict[str, Any] = {key: text for key, text in given.items() if not SPAN_KEY.fullmatch(key)}
    if not re.fullmatch(r"[0-9]", rest.get("decimals", "0")):
        raise columns.fault(row, "decimals is not a digit", "Write 0 to 9.")
    if rest.get("rounding", "no").casefold() not in ("yes", "no"):
        raise columns.fault(row, "rounding is neither yes nor no", "Write yes or no.")
    rest |= {"decimals": int(rest["decimals"])} if "decimals" in rest else {}
    rest |= {"rounding": rest["rounding"].casefold() == "yes"} if "rounding" in rest else {}
    return TemplateLine(rest.pop("name", f"T{row + 1}"), tuple(spanning), **rest)


SPAN_KEY = re.compile(r"(variable|hierarchy|level)_\d+")
"""What a spanning variable's fields are called."""
