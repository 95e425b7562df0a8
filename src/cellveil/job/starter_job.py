"""A first job over a data file: microdata or a ready-made table, roles of columns guessed, as commented TOML.

The job runs as it is. What was guessed is written as such, for somebody to confirm: above all the rules,
which no file can tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cellveil.files import path_from
from cellveil.job.recognised_file import RecognisedFile, recognised_file
from cellveil.job.table_files import TOTALS
from cellveil.microdata.column_roles import ColumnRole, GuessedColumn
from cellveil.microdata.source_options import SourceOptions

RELAXED_COUNTS = [
    "# Zeros are published, so a total of 2 = 1 + 1 cannot be protected downwards. Where there are such,",
    "# lower that level, and list them in verdict and report; without this line the job ends there:",
    "relax = true",
]
"""Of jobs that count records."""


@dataclass(frozen=True)
class StarterJob:
    """A job file as text, and what was guessed, in words."""

    text: str
    guesses: tuple[str, ...]


def starter_job(data: Path, folder: Path, options: SourceOptions | None = None) -> StarterJob:
    """Guess a job over a data file.

    Parameters
    ----------
    folder
        Where the job file will stand; its paths are relative to that folder.
    options
        How the file is written, where that must be said.

    Raises
    ------
    InputError
        When the file cannot be read, or no column looks like a dimension.
    """
    options = options or SourceOptions()
    guess = recognised_file(data, options)
    written = _how_written(options)
    name = path_from(folder, data)
    lines = _ready_made(guess, name, written) if guess.is_ready_made else _records(guess, name, written)
    head = [
        f"# A first job over {data.name}. Read it, correct what was guessed, then:",
        "#   cellveil check JOB.toml      what will be protected, in seconds",
        "#   cellveil run JOB.toml        the release and its report",
        "# All keys: docs/jobs.md. Lines that begin with # are not read.",
        f"title = {_text(data.stem)}",
        'output = "results"             # gets the folders public and internal',
        "",
    ]
    ending = ["[suppress]", "time_limit = 60                # seconds for the search"]
    ending += [] if guess.is_ready_made or guess.amounts else RELAXED_COUNTS
    return StarterJob("\n".join([*head, *lines, *ending, ""]), tuple(_told(guess)))


def _records(guess: RecognisedFile, name: str, written: list[str]) -> list[str]:
    roles = (ColumnRole.CONTRIBUTOR, ColumnRole.HOLDING, ColumnRole.WEIGHT, ColumnRole.REQUEST)
    lines = ["[microdata]", f"file = {_text(name)}", *written]
    for role in (*roles, ColumnRole.WAIVER):
        column = guess.first(role)
        if column is not None:
            lines.append(f"{role.value} = {_text(column)}")
    if guess.first(ColumnRole.CONTRIBUTOR) is None:
        lines.append(
            '# contributor = "…"            the column with the ids of contributors, if there is one'
        )
    amounts = guess.amounts
    if amounts and amounts[0].has_negative:
        lines.append("allow_negative = true")
    lines += ["", *_dimension_sections(guess), *_table(guess, amounts)]
    lines += ["# Which cells are unsafe is for you to decide; a cell is unsafe if any of the rules fires."]
    if amounts:
        level = ['level = "holding"'] if guess.first(ColumnRole.HOLDING) else []
        lines += ["[[rules]]", 'rule = "p%"', "p = 10", *level, ""]
    return [*lines, "[[rules]]", 'rule = "threshold"', "minimum = 3", ""]


def _table(guess: RecognisedFile, amounts: Sequence[GuessedColumn]) -> list[str]:
    chosen = [column.name for column in guess.chosen]
    others = [column.name for column in guess.dimensions if column.name not in chosen]
    lines = ["[[tables]]", f"dimensions = {_text(chosen)}"]
    lines += [f"# also possible: {', '.join(others)}"] if others else []
    if not amounts:
        return [*lines, "# without a response the records are counted", ""]
    lines.append(f"response = {_text(amounts[0].name)}")
    rest = [column.name for column in amounts[1:]]
    return [*lines, *([f"# other amounts: {', '.join(rest)}"] if rest else []), ""]


def _dimension_sections(guess: RecognisedFile) -> list[str]:
    lines: list[str] = []
    for column in guess.chosen:
        levels = guess.levels.get(column.name, [])
        if levels:
            lines += [f"[dimensions.{_key(column.name)}]", f"levels = {_text(levels)}", ""]
        elif column.digits:
            lines += [
                f"# [dimensions.{_key(column.name)}]     # prefixes of the codes look like a hierarchy:",
                f"# digits = {_text(list(column.digits))}",
                "",
            ]
    return lines


def _ready_made(guess: RecognisedFile, name: str, written: list[str]) -> list[str]:
    names = [column.name for column in guess.dimensions]
    lines = ["[[tables]]", f"dimensions = {_text(names)}", f"file = {_text(name)}", *written]
    amounts = guess.amounts
    if amounts and amounts[0].name != "value":
        lines.append(f"value = {_text(amounts[0].name)}")
    status, count = guess.first(ColumnRole.STATUS), guess.first(ColumnRole.COUNT)
    if status is not None:
        lines += [
            f"status = {_text(status)}",
            '# statuses = {C = "u", D = "m", F = "s"}    if they are not u, m, s, z',
        ]
    if count is not None:
        lines.append(f"contributors = {_text(count)}")
    lines.append("")
    for column in guess.dimensions:
        total = next((code for code in column.codes if code.casefold() in TOTALS), None)
        if total is not None and total != "Total":
            lines += [f"[dimensions.{_key(column.name)}]", f"total = {_text(total)}", ""]
    if count is not None:
        return [*lines, "[[rules]]", 'rule = "threshold"', "minimum = 3", ""]
    rule = ['# top = ["x1", "x2"]           columns of the largest contributions, for the rules']
    return (
        lines
        if status is not None
        else [*lines, *rule, "# [[rules]] or [[cells]] must say what is unsafe", ""]
    )


def _how_written(options: SourceOptions) -> list[str]:
    """The keys that say how the file is written, where that was said."""
    said = {"delimiter": options.delimiter, "sheet": options.sheet, "query": options.query}
    said |= {"encoding": options.encoding if options.encoding != "utf-8" else None}
    lines = [f"{key} = {_text(value)}" for key, value in said.items() if value is not None]
    return [*lines, *([f"skip = {options.skip}"] if options.skip else [])]


def _told(guess: RecognisedFile) -> list[str]:
    what = "a ready-made table" if guess.is_ready_made else "records"
    lines = [f"the rows look like {what}"]
    for role in ColumnRole:
        names = [column.name for column in guess.of(role)]
        if names and role is not ColumnRole.OTHER:
            lines.append(f"{role.value}: {', '.join(names)}")
    lines += [f"levels above {name}: {', '.join(above)}" for name, above in guess.levels.items()]
    unused = [column.name for column in guess.of(ColumnRole.OTHER)]
    return [*lines, *([f"not used: {', '.join(unused)}"] if unused else [])]


def _key(name: str) -> str:
    """A name as a TOML key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: Any) -> str:
    """A value as TOML."""
    return json.dumps(value, ensure_ascii=False)
