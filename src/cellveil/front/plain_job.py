"""A job made from plain arguments: a frame, names of columns, rules in short, hierarchies in memory.

What job files say in sections is said here by arguments, with the same defaults; whatever has no argument of
its own is given by section. The result is a `Job`, so that both ways go on alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from cellveil.attackers.attacker import Attacker, as_attackers
from cellveil.errors import InputError, check_kind, nearest_name
from cellveil.job.job_model import Job
from cellveil.job.reading import job_of
from cellveil.rules.base import Rule
from cellveil.tables.code_text import Code, as_code
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

BY = 'Name the columns whose codes make the table: by=["nace", "region"].'
RULES = 'Say which cells are unsafe: rules=["p%:10", "threshold:3"], or cells={("A", "N"): "u"}.'
FURTHER = (
    *("microdata", "dimensions", "tables", "weights", "levels", "bounds", "suppress", "previous", "against"),
    *("bounds_reason", "release", "default_attackers"),
)
"""Sections of a job that `settings` may hold; `tables` is that of the one table."""


def as_names(by: Any) -> tuple[list[str], dict[str, tuple[Hierarchy, ...]]]:
    """The names of the dimensions, and the hierarchies of those that are given as such."""
    listed = [by] if isinstance(by, str | Dimension) else by
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping):
        raise InputError(f"the dimensions are of type {type(by).__name__}", remedy=BY)
    names: list[str] = []
    trees: dict[str, tuple[Hierarchy, ...]] = {}
    for one in listed:
        check_kind(one, (str, Dimension), "a dimension", BY)
        names.append(one.name if isinstance(one, Dimension) else one)
        if isinstance(one, Dimension):
            if not one.hierarchies:
                raise InputError(
                    f"dimension {one.name!r} has no hierarchy", remedy="Give its name alone, or Dimension.of."
                )
            trees[one.name] = one.hierarchies
    if not names:
        raise InputError("the table has no dimension", remedy=BY)
    return names, trees


def as_trees(
    names: Sequence[str], given: Any
) -> tuple[dict[str, tuple[Hierarchy, ...]], dict[str, dict[str, Any]]]:
    """Hierarchies in memory, and what the job is told of the others: files and lengths of prefixes."""
    trees: dict[str, tuple[Hierarchy, ...]] = {}
    sections: dict[str, dict[str, Any]] = {}
    example = 'Give them by dimension: hierarchies={"region": {"N": ["N1", "N2"], "S": ["S1", "S2"]}}.'
    check_kind(given, Mapping, "the hierarchies", example)
    for name, tree in given.items():
        if name not in names:
            raise InputError(f"there is no dimension {name!r}", remedy=nearest_name(str(name), names))
        several = list(tree) if _are_several(tree) else [tree]
        if all(isinstance(one, str | Path) for one in several):
            sections[name] = {"hierarchy": [Path(one) for one in several]}
        elif isinstance(tree, int) or _are_whole(tree):
            sections[name] = {"digits": [tree] if isinstance(tree, int) else list(tree)}
        elif isinstance(tree, Dimension):
            trees[name] = tree.hierarchies
        elif tree is not None:
            trees[name] = tuple(Hierarchy.of(one) for one in several)
    return trees, sections


def _are_several(given: Any) -> bool:
    """Whether it is a list of trees, not one of codes."""
    return isinstance(given, list | tuple) and any(
        isinstance(one, Hierarchy | Mapping | Path) or (isinstance(one, str) and _is_file(one))
        for one in given
    )


def _is_file(text: str) -> bool:
    return text.lower().endswith((".csv", ".hrc"))


def _are_whole(given: Any) -> bool:
    return isinstance(given, list | tuple) and bool(given) and all(type(one) is int for one in given)


def as_rules(given: Any) -> list[Any]:
    """Rules as a job lists them."""
    if given is None:
        return []
    if isinstance(given, str | Rule | Mapping):
        return [given]
    if isinstance(given, Sequence):
        return list(given)
    raise InputError(f"the rules are of type {type(given).__name__}", remedy=RULES)


def as_cells(names: Sequence[str], given: Any) -> list[dict[str, Any]]:
    """Cells set by hand, as a job lists them; statuses by tuples of codes become such a list."""
    if isinstance(given, Mapping):
        given = [{"key": key, "status": status} for key, status in given.items()]
    check_kind(given, Sequence, "the cells set by hand", 'Give statuses by codes: cells={("A", "N"): "z"}.')
    return [{**cell, "key": _key(names, cell.get("key", {}))} for cell in given]


def _key(names: Sequence[str], given: Any) -> dict[str, str]:
    """Codes by dimension; totals are left out."""
    if isinstance(given, Mapping):
        return {name: as_code(code) for name, code in given.items()}
    codes: Sequence[Code] = given if isinstance(given, tuple | list) else [given]
    if len(codes) > len(names):
        raise InputError(f"{len(codes)} codes for {len(names)} dimensions", remedy="Give fewer codes.")
    return {name: as_code(code) for name, code in zip(names, codes, strict=False)}


def as_attacker_sections(names: Sequence[str], given: Any) -> list[dict[str, Any]] | None:
    """Attackers as a job lists them; outsiders, who are always kept off, need no entry."""
    if given is None:
        return None
    return [
        _attacker_section(names, attacker)
        for attacker in as_attackers(given)
        if not attacker.is_plain_outsider
    ]


def _attacker_section(names: Sequence[str], attacker: Attacker) -> dict[str, Any]:
    defaults = {field.name: field.default for field in fields(Attacker)}
    section = {name: value for name, value in asdict(attacker).items() if value != defaults[name]}
    if any(isinstance(cell, int) for cell in attacker.exempt):
        raise InputError(
            "an exempt cell is named by its number", remedy='Name it by its codes: exempt=[("A", "N")].'
        )
    if attacker.exempt:
        section["exempt"] = [_key(names, cell) for cell in attacker.exempt]
    return {"kind": attacker.kind, **section}


def plain_job(
    source: Any,
    by: Any,
    hierarchies: Any,
    sections: Mapping[str, Any],
    settings: Mapping[str, Any],
    roles: Mapping[str, Any],
) -> tuple[Job, Any]:
    """The job, and the records where they are not read from its files.

    Parameters
    ----------
    sections
        What the arguments say, by section of a job.
    settings
        Whatever else a job can say, by section.
    roles
        Columns of the microdata by role.
    """
    unknown = [name for name in settings if name not in FURTHER]
    if unknown:
        raise InputError(
            f"settings have no section {unknown[0]!r}", remedy=nearest_name(str(unknown[0]), FURTHER)
        )
    names, trees = as_names(by)
    more, described = as_trees(names, hierarchies or {})
    is_file = isinstance(source, str | Path)
    files = [str(source)] if is_file else [f"a {type(source).__name__} in memory"]
    if isinstance(source, list | tuple) and source and all(isinstance(one, str | Path) for one in source):
        files, is_file = [str(one) for one in source], True
    data = _merged(
        {
            "microdata": {"file": files, **{role: name for role, name in roles.items() if name is not None}},
            "dimensions": described,
            "tables": {"dimensions": names},
        },
        {**settings, "rules": as_rules(sections["rules"]), "cells": as_cells(names, sections["cells"])},
    )
    data = _merged(data, {name: section for name, section in sections.items() if name in FURTHER})
    data |= {"title": sections["title"], "tables": [data["tables"]]}
    attackers = as_attacker_sections(names, sections["attackers"])
    if attackers is not None:
        data["attackers"] = attackers
    if not data["rules"] and not any(cell.get("status") == "u" for cell in data["cells"]):
        raise InputError("there are no rules, so nothing would be protected", remedy=RULES)
    return job_of(data).with_trees(trees | more), None if is_file else source


def _merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of keys; those of the second come before those of the first."""
    joint = dict(one)
    for name, value in other.items():
        inner = joint.get(name)
        joint[name] = (
            _merged(inner, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
        )
    return joint
