"""The source tree as data: modules, what they import, functions, classes and constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from helpers.pages import ROOT

PACKAGE = ROOT / "src" / "cellveil"

ORDER = (
    *("errors", "params", "arrays", "clock", "progress", "live_progress", "files", "plots", "shown"),
    *("loops", "tasks"),
    *("tables", "microdata", "level_origin", "problem", "rules"),
    *("pattern", "public_view"),
    "certificate",  # before solvers: whoever checks a proof shares nothing with those who found it
    *("solvers", "deviations", "attackers", "attack"),
    "judge",  # before suppression and adjustment: whoever judges shares nothing with those who made it
    *("suppression", "adjustment"),
    *("explaining", "publishing", "report"),
    *("formats", "argus", "datasets", "previous"),
    *("job", "front", "views", "service", "cli", "__main__"),
)
"""The parts of the package; each imports only from itself and from parts named before it."""


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def text_of(module: str) -> str:
    return MODULES[module].read_text("utf-8")


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(text_of(module))


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports_in(node: ast.AST, *, in_functions: bool) -> Iterator[str]:
    """The dotted names imported by a node and what is below it, those for type checkers left out."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are written in full"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif in_functions or not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for child in node.orelse if is_type_checking(node) else ast.iter_child_nodes(node):
            yield from imports_in(child, in_functions=in_functions)


@cache
def imported(module: str, *, in_functions: bool = True) -> frozenset[str]:
    return frozenset(imports_in(tree_of(module), in_functions=in_functions))


def own_module(name: str) -> str | None:
    """The module of this package that an imported name stands for or lives in."""
    if name.partition(".")[0] != "cellveil":
        return None
    return name if name in MODULES else name.rpartition(".")[0]


def own_imports(module: str) -> set[str]:
    """The modules of this package that a module imports."""
    return {target for name in imported(module) if (target := own_module(name))} - {module}


def part_of(module: str) -> str:
    return module.split(".")[1]


def functions_of(module: str) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree_of(module)) if isinstance(node, ast.FunctionDef))


def classes_of(module: str) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(tree_of(module)) if isinstance(node, ast.ClassDef))


def parameters_of(function: ast.FunctionDef) -> list[ast.arg]:
    """All of them but the object itself."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return [one for place, one in enumerate(every) if place or one.arg not in ("self", "cls")]


def constants_of(module: str) -> Iterator[tuple[str, ast.expr]]:
    """The constants at the top of a module, in capitals, and what they are set to."""
    for node in tree_of(module).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and target.id.isupper() and value is not None:
            yield target.id, value
