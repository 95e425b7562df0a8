"""A job file from the choices of a person: data, tables, rules, attackers, method."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellveil.attackers.attacker import Attacker, as_attackers
from cellveil.errors import InputError
from cellveil.rules import rule_from_dict
from cellveil.service.questions import Choices, DimensionChoice

MICRODATA = ("contributor", "holding", "weight", "request", "waiver")
READY_MADE = ("value", "status", "contributors")


@dataclass(frozen=True)
class DraftFiles:
    """The files that a draft may name, by their names in the job file.

    Parameters
    ----------
    data
        The records or the table.
    hierarchies
        By dimension.
    labels
        Of codes, where there are some.
    """

    data: str
    hierarchies: Mapping[str, Sequence[str]]
    labels: str | None = None


def draft_job(choices: Choices, files: DraftFiles) -> str:
    """The text of the job file.

    Raises
    ------
    InputError
        For a rule or an attacker that there is not.
    """
    tables = [table.dimensions for table in choices.tables] or [[one.name for one in choices.dimensions]]
    used = {name for dimensions in tables for name in dimensions}
    lines = [
        f"title = {_toml(choices.title)}",
        *([f"language = {_toml(choices.language)}"] if choices.language != "en" else []),
        'output = "results"',
        *([f"labels = {_toml(files.labels)}"] if files.labels else []),
        *_above(choices),
        "",
        *(_microdata(choices, files.data) if choices.kind == "records" else ()),
    ]
    for dimension in choices.dimensions:
        settings = dict(_dimension(choices, dimension, files)) if dimension.name in used else {}
        if settings:
            lines += [f"[dimensions.{_key(dimension.name)}]", *_keys(settings), ""]
    for dimensions in tables:
        lines += ["[[tables]]", *_keys(_table(choices, dimensions, files.data)), ""]
    lines += [*_attackers(choices), *_search(choices)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _microdata(choices: Choices, data: str) -> list[str]:
    given: dict[str, Any] = {"file": data, **_writing(choices)}
    given |= {name: getattr(choices, name) for name in MICRODATA if getattr(choices, name)}
    given |= {"allow_negative": True} if choices.allow_negative else {}
    return ["[microdata]", *_keys(given), ""]


def _writing(choices: Choices) -> dict[str, Any]:
    return {name: value for name, value in choices.writing.model_dump().items() if value not in (None, "")}


def _dimension(choices: Choices, dimension: DimensionChoice, files: DraftFiles) -> Iterator[tuple[str, Any]]:
    hierarchy = dimension.hierarchy
    if dimension.column and dimension.column != dimension.name:
        yield "column", dimension.column
    if hierarchy.kind == "levels" and hierarchy.columns:
        yield "levels", hierarchy.columns
    elif hierarchy.kind == "digits" and hierarchy.digits:
        yield "digits", hierarchy.digits
    elif files.hierarchies.get(dimension.name):
        named = list(files.hierarchies[dimension.name])
        yield "hierarchy", named[0] if len(named) == 1 else named
    if choices.kind == "table" and dimension.total:
        yield "total", dimension.total
    if dimension.to_level is not None:
        yield "to_level", dimension.to_level


def _table(choices: Choices, dimensions: Sequence[str], data: str) -> dict[str, Any]:
    table: dict[str, Any] = {"dimensions": list(dimensions)}
    if choices.kind == "records":
        return table | ({"response": choices.response} if choices.response else {})
    given = {name: getattr(choices, name) for name in READY_MADE if getattr(choices, name)}
    negative = {"allow_negative": True} if choices.allow_negative else {}
    return table | {"file": data, **_writing(choices), **given, **negative}


def _above(choices: Choices) -> list[str]:
    """Keys above all sections: rules in short form, and the decision to keep off outsiders only."""
    for rule in choices.rules:
        rule_from_dict(rule)
    lines = [f"rules = {_toml(choices.rules)}"] if choices.rules else []
    if choices.attackers is not None and not _others(choices):
        lines.append("attackers = []                 # outsiders only")
    return lines


def _others(choices: Choices) -> list[Attacker]:
    return [one for one in as_attackers(choices.attackers or []) if not one.is_plain_outsider]


def _attackers(choices: Choices) -> Iterator[str]:
    defaults = {name: field.default for name, field in Attacker.__dataclass_fields__.items()}
    for attacker in _others(choices):
        if attacker.exempt:
            raise InputError(
                "exempt cells are not part of the short form", remedy="Write them into the job file."
            )
        given = {name: getattr(attacker, name) for name in ("p", "q", "level", "coalition", "prior")}
        changed = {name: value for name, value in given.items() if value != defaults[name]}
        yield from ("[[attackers]]", *_keys({"kind": attacker.kind, **changed}), "")


def _search(choices: Choices) -> list[str]:
    search: dict[str, Any] = {"method": choices.method}
    search |= {"time_limit": choices.time_limit} if choices.time_limit is not None else {}
    search |= {"seed": choices.seed} if choices.seed else {}
    lines = ["[suppress]", *_keys(search), ""]
    if choices.weights != "value":
        lines = ["[weights]", *_keys({"kind": choices.weights}), "", *lines]
    if choices.publish != "suppressed":
        limit = {"time_limit": choices.time_limit} if choices.time_limit is not None else {}
        publish = {"publish": True} if choices.publish == "adjusted" else {}
        lines += ["[adjust]", *_keys(publish | limit), ""]
    return lines


def _keys(given: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_toml(value)}" for key, value in given.items()]


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """A value as TOML: as in JSON, but for the one character that TOML wants escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
