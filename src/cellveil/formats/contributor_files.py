"""Files of a tidy folder about contributors: the largest contributions of each cell, and origins of levels.

========================================  ====================================================================
``largest_units.csv``,                    a line per cell: dimension columns, and a column ``known_<name>``
``largest_holdings.csv``                  for each column of `cellveil.tables.contributions`, those
                                          with an entry per contributor numbered ``_1``, ``_2`` and so on
``contributor_ids.csv``                   ``level`` (units or holdings), the ``number`` of a contributor in
                                          these files, and its ``id``
``level_origins.csv``                     dimension columns and ``level_origin``: how the level of a primary
                                          cell came about, see `cellveil.level_origin`; or ``waived``
========================================  ====================================================================

What a problem knows of contributors is all that audits and certificates against insiders need, so whoever has
the folder can check them. Contributors are numbered by the first place in which they stand; their ids serve
explanations only, and certificates hold without that file. All of it is confidential.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.errors import InputError
from cellveil.formats.columns import read_columns
from cellveil.formats.exact_numbers import float_texts, texts_of, written_decimals
from cellveil.formats.rows import Rows, rows_of_table
from cellveil.level_origin import LevelOrigin
from cellveil.problem import Problem
from cellveil.tables.contributions import AMOUNTS, IDS, Contributions
from cellveil.tables.table import Table

FILES = {"units": "largest_units.csv", "holdings": "largest_holdings.csv"}
CONTRIBUTOR_IDS = "contributor_ids.csv"
ORIGINS = "level_origins.csv"
ORIGIN = "level_origin"
WAIVED = "waived"
PREFIX = "known_"
FLOATS = ("weighted_count", "top_weight")
NEEDED = ("count", "total", "absolute", "top", "who")

_COLUMNS = [
    field.name for field in fields(Contributions) if field.name not in ("decimals", "names", "only_single")
]
_OWN_NAME = re.compile(rf"{PREFIX}({'|'.join(_COLUMNS)})(_\d+)?|{ORIGIN}")

_Csv = tuple[Sequence[str], Iterable[Sequence[Any]]]


def is_own_column(name: str) -> bool:
    """Whether a column of these files has this name, so that no dimension can have it."""
    return _OWN_NAME.fullmatch(name) is not None


# -- writing -------------------------------------------------------------------------------------------------


def contributor_files(problem: Problem) -> dict[str, _Csv]:
    """The files for a problem, by name; none where nothing is known of contributors."""
    table = problem.table
    found: dict[str, _Csv] = {}
    codes = [table.codes(axis) for axis in range(len(table.dimensions))]
    names = [dimension.name for dimension in table.dimensions]
    ids: list[tuple[str, int, str]] = []
    for level, file in FILES.items():
        known = getattr(table, level)
        if known is not None:
            columns = _texts(known)
            found[file] = [*names, *columns], zip(*codes, *columns.values(), strict=True)
            ids += [(level, number, known.names[person]) for person, number in _by_place(known).items()]
    if ids:
        found[CONTRIBUTOR_IDS] = ("level", "number", "id"), ids
    origins = _origins(problem)
    if origins:
        rows = [[*(column[cell] for column in codes), " + ".join(told)] for cell, told in origins.items()]
        found[ORIGINS] = [*names, ORIGIN], rows
    return found


def _texts(known: Contributions) -> dict[str, list[str]]:
    """The columns as text, by their name in the file."""
    number, found = _by_place(known), {}
    for name in _COLUMNS:
        column = getattr(known, name)
        if column is None:
            continue
        parts = {"": column} if column.ndim == 1 else {f"_{i + 1}": part for i, part in enumerate(column.T)}
        for suffix, part in parts.items():
            found[f"{PREFIX}{name}{suffix}"] = _text(name, part, known.decimals, number)
    return found


def _text(name: str, column: NDArray[Any], decimals: int, number: dict[int, int]) -> list[str]:
    if name in IDS:
        return ["" if one < 0 else str(number[one]) for one in column.tolist()]
    if name in FLOATS:
        return list(float_texts(column).to_pylist())
    if name not in AMOUNTS:
        return [str(int(one)) for one in column.tolist()]
    texts: list[str] = texts_of(column, decimals, trim=False).to_pylist()
    if name != "requests":
        return texts
    return ["" if one < 0 else text for one, text in zip(column.tolist(), texts, strict=True)]


def _by_place(known: Contributions) -> dict[int, int]:
    """Numbers of contributors, from 1 on, by the first place in which they stand."""
    listed = [getattr(known, name) for name in IDS if getattr(known, name) is not None]
    everybody = np.concatenate([column.ravel() for column in listed])
    people, first = np.unique(everybody, return_index=True)
    order = people[np.argsort(first)]
    return {person: place + 1 for place, person in enumerate(order[order >= 0].tolist())}


def _origins(problem: Problem) -> dict[int, list[str]]:
    """For cells of which something is known: how their levels came about, and whether they are waived."""
    found: dict[int, list[str]] = {}
    for origin, marked in problem.origins.items():
        told = " ".join(f"{name}={_share(value)}" for name, value in vars(origin).items())
        for cell in np.flatnonzero(marked).tolist():
            found.setdefault(cell, []).append(told)
    if problem.waived is not None:
        for cell in np.flatnonzero(problem.waived).tolist():
            found.setdefault(cell, []).append(WAIVED)
    return dict(sorted(found.items()))


def _share(value: Any) -> str:
    return "none" if value is None else str(value)


# -- reading -------------------------------------------------------------------------------------------------


def read_largest(table: Table, folder: Path) -> Table:
    """The table with the largest contributions that files of the folder give; as it is without them."""
    ids = _read_ids(folder / CONTRIBUTOR_IDS)
    found = {
        level: _contributions(table, folder / file, ids.get(level, {}))
        for level, file in FILES.items()
        if (folder / file).exists()
    }
    if "units" in found and table.contributors is None:
        table = table.replace(contributors=found["units"].count)
    return table.replace(**found) if found else table


def _read_ids(path: Path) -> dict[str, dict[str, str]]:
    """The ids of contributors, by level and number."""
    found: dict[str, dict[str, str]] = {}
    if path.exists():
        columns = read_columns(path)
        rows = zip(*(columns.codes(name) for name in ("level", "number", "id")), strict=True)
        for level, number, name in rows:
            found.setdefault(level, {})[number] = name
    return found


def _contributions(table: Table, path: Path, ids: Mapping[str, str]) -> Contributions:
    rows, cells = rows_of_table(path, table)
    if len(np.unique(cells)) != table.num_cells:
        raise InputError("not every cell has a line", file=path, remedy="Write the folder anew.")
    place = np.empty(table.num_cells, dtype=np.int64)
    place[cells] = np.arange(len(cells))
    decimals = written_decimals(rows.columns.column(f"{PREFIX}total"))
    columns: dict[str, Any] = {}
    for name in _COLUMNS:
        column = _column(rows, name, decimals)
        if column is not None:
            columns[name] = column[place]
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise InputError(
            f"there is no column for {PREFIX}{missing[0]}", file=path, remedy="Write the folder anew."
        )
    most = max(int(columns[name].max(initial=-1)) for name in IDS if name in columns)
    names = tuple(ids.get(str(number), str(number)) for number in range(1, most + 2))
    widths = {column.shape[1] for name, column in columns.items() if column.ndim == 2 and name != "requests"}
    if len(widths) > 1 or ("parts" in columns) != ("part_who" in columns):
        raise InputError("columns of contributors are missing", file=path, remedy="Write the folder anew.")
    return Contributions(decimals=decimals, names=names, **columns)


def _column(rows: Rows, name: str, decimals: int) -> NDArray[Any] | None:
    """One column of contributions, of all lines; None where the file has none."""
    plain = f"{PREFIX}{name}"
    if plain in rows.columns:
        return _numbers(rows, name, plain, decimals)
    numbered: list[NDArray[Any]] = []
    while (part := f"{plain}_{len(numbered) + 1}") in rows.columns:
        numbered.append(_numbers(rows, name, part, decimals))
    return np.stack(numbered, axis=1) if numbered else None


def _numbers(rows: Rows, name: str, column: str, decimals: int) -> NDArray[Any]:
    if name in FLOATS:
        return rows.columns.floats(column)
    amounts, none = rows.columns.amounts(column), np.full(len(rows.columns), -1, dtype=np.int64)
    if name in IDS:
        numbers = rows.numbers(column, amounts, 0, default=none)
        rows.check(
            (numbers < 1) & ~amounts.missing, f"the number in {column} is below 1", "Number from 1 on."
        )
        return (numbers - np.where(amounts.missing, 0, 1)).astype(np.int32)
    default = {"default": none} if name == "requests" else {}
    numbers = rows.numbers(column, amounts, decimals if name in AMOUNTS else 0, **default)
    return numbers.astype(bool) if name == "waived" else numbers


def read_origins(problem: Problem, folder: Path) -> Problem:
    """The problem with the origins of levels, and waived cells, that a file of the folder gives."""
    path = folder / ORIGINS
    if not path.exists():
        return problem
    rows, cells = rows_of_table(path, problem.table)
    origins: dict[LevelOrigin, NDArray[np.bool_]] = {}
    waived = np.zeros(problem.table.num_cells, dtype=bool)
    wrong = np.zeros(len(cells), dtype=bool)
    for row, told in enumerate(rows.columns.codes(ORIGIN).tolist()):
        for one in told.split(" + "):
            origin = _origin(one)
            if one == WAIVED:
                waived[cells[row]] = True
            elif origin is None:
                wrong[row] = True
            else:
                origins.setdefault(origin, np.zeros(len(waived), dtype=bool))[cells[row]] = True
    rows.check(wrong, "this is no origin of a level", "Write the folder anew.")
    return problem.replace(origins=origins, waived=waived if waived.any() else None)


@cache
def _origin(text: str) -> LevelOrigin | None:
    """None where the text is no origin."""
    try:
        told = dict(part.split("=") for part in text.split(" "))
        if told.keys() != {field.name for field in fields(LevelOrigin)} or told["level"] not in (
            "unit",
            "holding",
        ):
            return None
        return LevelOrigin(
            target=None if told["target"] == "none" else Fraction(told["target"]),
            known=Fraction(told["known"]),
            others=int(told["others"]),
            level=told["level"],
            lower=Fraction(told["lower"]),
            upper=Fraction(told["upper"]),
        )
    except (ValueError, ZeroDivisionError):
        return None
