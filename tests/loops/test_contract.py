"""What Python says of the compiled loops is what their sources say: records, signatures, numbers."""

from __future__ import annotations

import importlib
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellveil.loops import build
from cellveil.loops.library import ARRAYS, Arrays, Loop
from cellveil.solvers import tolerances
from cellveil.tables.scaled import UNBOUNDED

STUBS = sorted(path.stem for path in build.FOLDER.glob("*.py") if path.with_suffix(".c").exists())
EVERY_STUB = pytest.mark.parametrize("name", STUBS)

NUMBERS = {"int": "int64_t", "float": "double", "bool": "bool", "None": "void"}


def in_c(kind: str) -> str:
    """The type that C has for an annotation."""
    if kind in NUMBERS:
        return NUMBERS[kind]
    if kind in ARRAYS:
        return kind if kind.endswith(("Table", "Cube")) else f"{kind}s"
    return "const Generator *" if kind == "np.random.Generator" else f"const {kind} *restrict "


def source(name: str) -> str:
    return build.FOLDER.joinpath(f"{name}.c").read_text("utf-8")


def stub(name: str) -> ModuleType:
    return importlib.import_module(f"cellveil.loops.{name}")


def own(name: str, kind: type[Any]) -> dict[str, Any]:
    module = stub(name)
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, kind) and getattr(value, "__module__", "") == module.__name__
    }


def prototypes(text: str) -> dict[str, tuple[str, list[str]]]:
    """What is exported: the type of the result, and types and names of the parameters."""
    found = {}
    for result, name, given in re.findall(
        r"^EXPORT (?:MANY_AT_ONCE )?(\w+) (\w+)\(([^)]*)\) \{", text, re.MULTILINE
    ):
        found[name] = result, [" ".join(each.split()) for each in given.split(",")]
    return found


def structs(text: str) -> dict[str, list[tuple[str, str]]]:
    """The members of structs of arrays: types and names."""
    found = {}
    for members, name in re.findall(r"typedef struct \{\n([^}]*)\} (\w+);", text):
        found[name] = re.findall(r"^    (\w+) (\w+);$", members, re.MULTILINE)
    return found


def numbers(text: str) -> dict[str, int]:
    """The members of enumerations."""
    found: dict[str, int] = {}
    for members in re.findall(r"^enum \{([^}]*)\};", text, re.MULTILINE):
        value = -1
        for member in members.split(","):
            key, _, given = member.partition("=")
            value = int(given) if given else value + 1
            found[key.strip()] = value
    return found


def test_every_source_is_compiled_and_has_its_stub() -> None:
    joined = re.findall(r'^#include "(\w+)\.c"$', source("all"), re.MULTILINE)
    assert sorted(joined) == STUBS
    assert {path.stem for path in build.sources()} == {*joined, "all", "common"}


@EVERY_STUB
def test_signatures_are_those_of_the_sources(name: str) -> None:
    wanted = {}
    for loop in own(name, Loop).values():
        given = [
            f"{in_c(kind)} {key}".replace("*restrict  ", "*restrict ")
            for key, kind in loop.parameters.items()
        ]
        wanted[loop.symbol] = in_c(loop.result), [each.replace("* ", "*") for each in given]
    assert prototypes(source(name)) == wanted


@EVERY_STUB
def test_records_are_the_structs_of_the_sources(name: str) -> None:
    wanted = {}
    for record in own(name, type).values():
        if issubclass(record, Arrays) and is_dataclass(record):
            kinds = [(str(field.type), field.name) for field in fields(record)]
            wanted[record.__name__] = [(in_c(kind) if kind in ARRAYS else kind, key) for kind, key in kinds]
    there = structs(source(name))
    assert {key: members for key, members in there.items() if key in wanted} == wanted
    of_numbers = {key for key, members in there.items() if not members or members[0][0] in NUMBERS.values()}
    assert set(there) - set(wanted) <= of_numbers


@EVERY_STUB
def test_numbers_are_those_of_the_sources(name: str) -> None:
    there = numbers(source(name))
    known = {
        key: value for key, value in vars(stub(name)).items() if key.isupper() and isinstance(value, int)
    }
    assert {key: there[key] for key in known if key in there} == {
        key: value for key, value in known.items() if key in there
    }
    imported = set(known) - set(there)
    assert all(re.search(rf"^#define {key} ", source(name), re.MULTILINE) is None for key in imported)


def test_numbers_of_other_packages_are_theirs() -> None:
    text = build.FOLDER.joinpath("common.h").read_text("utf-8")
    defined = dict(re.findall(r"^#define (UNBOUNDED|EQUAL|GUARD) (\S+)$", text, re.MULTILINE))
    assert defined.pop("UNBOUNDED") == "INT64_MAX" and UNBOUNDED == 2**63 - 1
    assert {key: float(value) for key, value in defined.items()} == {
        "EQUAL": tolerances.EQUAL,
        "GUARD": tolerances.GUARD,
    }


def test_the_readers_of_the_sources_can_fail(tmp_path: Path) -> None:
    text = (
        "EXPORT bool a_b(const R *restrict r,\n    Ints x) {\ntypedef struct {\n    Ints a;\n    R b;\n} Q;\n"
    )
    assert prototypes(text) == {"a_b": ("bool", ["const R *restrict r", "Ints x"])}
    assert structs(text) == {"Q": [("Ints", "a"), ("R", "b")]}
    assert numbers("enum { A, B, C = 7, D };") == {"A": 0, "B": 1, "C": 7, "D": 8}
