"""The rules of the house: order inside suppression, sizes, names, terms, parameters for constants, time.

`KNOWN` lists what does not keep a rule yet. A new entry is a fault; so is an entry that is no longer needed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

import cellveil
from helpers.known_exceptions import KNOWN, STRUCTURAL
from helpers.source_tree import (
    MODULES,
    classes_of,
    constants_of,
    functions_of,
    own_imports,
    parameters_of,
    part_of,
    text_of,
    tree_of,
)

MAX_LINES = 500
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8

SUPPRESSION = "cellveil.suppression."
FLOORS = (
    *("draft", "bounds", "presolve", "engines", "exact", "methods", "part_progress", "shared_search"),
    *("infeasible", "other_attackers", "result", "suppressing"),
)
"""The parts of suppression; each imports only from itself and from parts named before it.

The cover bound looks at single relations alone and needs no engine; engines begin with what it suggests. The
relaxation of branch and cut needs separation, and stands beside it in `exact`.
"""

IN_A_PLAN = {"cellveil.suppression.methods.auto": {"optimal", "network"}}
"""The methods that stages of another method run."""

TUNED = ("suppression", "adjustment", "deviations", "solvers", "attack", "judge")
"""Rooms of algorithms: their tuning numbers are fields of `Params`."""

BARE_TIME = {"time_left", "moment", "seconds", "until", "stop", "time_limit"}
"""Names of parameters that tell time in another way than a `Deadline`."""

TERMS = re.compile(
    r"\b(additiv|cell|contribut|dimension|disclos|dominance|hierarch|information[- ]loss|instance|margin"
    r"|microdata|pattern|primar|protect|publication|public|record|release|relation|rule|SQL|suppress"
    r"|table|tabul|verdict)",
    re.IGNORECASE,
)
"""Terms of official statistics, by their stems."""

ALGORITHMS = re.compile(
    r"\b(adjustment|anneal|attack|audit|back substitution|basis|beam search|Benders|bound|branch|capacit"
    r"|certificate|circulation|coalition|connected|constraint|contributor|controlled|cover|cube|cutting"
    r"|cycle|degrees? of freedom|depth-first|descent|deviation|differencing|Douglas|dual|elimination"
    r"|exchange|exposed|feasib|flow|genetic|HiGHS|hypercube|infeasible|information loss|insider|integer"
    r"|interior[- ]point|interval|iteratively reweighted|kernel|lattice|linear program|local branching"
    r"|local search|LP|max-flow|min-cost|mixed[- ]integer|modular|network|null[- ]space|objective"
    r"|optimis|optimiz|outsider|permutation|piecewise|pre-?selection|presolve|primary|prior|projection"
    r"|protection level|pseudo-cost|relaxation|restoration|ruin and recreate|secondary|sensitive"
    r"|separation|simplex|simulated|sliding|slope scaling|splitting|suppression|suppressed|tabu|thread"
    r"|tied|ties|tolerance|unpick|utility|verdict|verif|witness)",
    re.IGNORECASE,
)
"""Terms of disclosure control as optimisation, by their stems: the rooms of algorithms use one of these."""

PLUMBING = (
    "errors",
    "params",
    "arrays",
    "clock",
    "progress",
    "files",
    "plots",
    "loops",
    "tasks",
    "cli",
    "__main__",
)
"""Rooms that are not about tables: their modules need no term of the field."""


# -- what the rules look at ----------------------------------------------------------------------------------


def public_verbs() -> set[str]:
    """Functions that users call, and commands: their parameters are what there is to choose."""
    things = [getattr(cellveil, name) for name in cellveil.__all__ if name.islower()]
    verbs = {f"{thing.__module__}.{thing.__qualname__}" for thing in things if callable(thing)}
    commands = (module for module in MODULES if module.startswith("cellveil.cli."))
    return verbs | {
        f"{module}.{f.name}" for module in commands for f in functions_of(module) if f.name[0] != "_"
    }


def functions() -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """All but public verbs: module, name with that of the class, function."""
    verbs = public_verbs()
    for module in MODULES:
        owners = {id(f): c.name for c in classes_of(module) for f in c.body if isinstance(f, ast.FunctionDef)}
        for function in functions_of(module):
            owner = owners.get(id(function))
            name = f"{owner}.{function.name}" if owner else function.name
            if f"{module}.{name}" not in verbs:
                yield module.removeprefix("cellveil."), name, function


def several(owners: dict[str, list[str]]) -> set[str]:
    return {name for name, modules in owners.items() if len(modules) > 1}


def floor(module: str) -> int:
    return FLOORS.index(module.removeprefix(SUPPRESSION).partition(".")[0])


def head(module: str) -> str:
    """The first paragraph of a module's head."""
    return (ast.get_docstring(tree_of(module)) or "").partition("\n\n")[0]


def terms_of(module: str) -> re.Pattern[str]:
    """The terms of which the head of a module uses one."""
    if part_of(module) in PLUMBING:
        return re.compile("")
    return ALGORITHMS if part_of(module) in (*TUNED, "attackers", "certificate") else TERMS


def is_number(value: ast.expr) -> bool:
    """Whether it is made of numbers; powers of two and negative marks are facts, no tuning."""
    nodes = list(ast.walk(value))
    if any(isinstance(node, ast.Call | ast.Name | ast.JoinedStr) for node in nodes):
        return False
    if any(isinstance(node, ast.Pow | ast.LShift) for node in nodes) or isinstance(value, ast.UnaryOp):
        return False
    constants = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return (
        bool(constants)
        and all(isinstance(n, int | float | str) and not isinstance(n, bool) for n in constants)
        and any(isinstance(n, int | float) for n in constants)
    )


def tells_time(parameter: ast.arg) -> bool:
    kind = ast.unparse(parameter.annotation) if parameter.annotation else ""
    return parameter.arg in BARE_TIME and "Deadline" not in kind


# -- the rules: each tells what does not keep it -------------------------------------------------------------


def against_the_order() -> set[str]:
    modules = [m for m in MODULES if m.startswith(SUPPRESSION)]
    return {
        f"{module.removeprefix(SUPPRESSION)} -> {target.removeprefix(SUPPRESSION)}"
        for module in modules
        for target in own_imports(module)
        if target.startswith(SUPPRESSION) and floor(target) > floor(module)
    }


def methods_of_methods() -> set[str]:
    rooms = f"{SUPPRESSION}methods."
    return {
        f"{module.removeprefix(rooms)} -> {target.removeprefix(rooms)}"
        for module in MODULES
        if module.startswith(rooms)
        for target in own_imports(module)
        if target.startswith(rooms) and target.removeprefix(rooms) not in IN_A_PLAN.get(module, ())
    }


def class_names() -> set[str]:
    owners = defaultdict(list)
    for module in MODULES:
        for one in classes_of(module):
            owners[one.name].append(module)
    return several(owners)


def module_names() -> set[str]:
    owners = defaultdict(list)
    for module, path in MODULES.items():
        if path.stem != "__init__" and part_of(f"{module}.") != "loops":
            owners[path.stem].append(module)
    return several(owners)


def long_modules() -> set[str]:
    return {m.removeprefix("cellveil.") for m in MODULES if len(text_of(m).splitlines()) > MAX_LINES}


def long_functions() -> set[str]:
    return {
        f"{module}.{name}"
        for module, name, f in functions()
        if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION_LINES
    }


def many_parameters() -> set[str]:
    return {f"{module}.{name}" for module, name, f in functions() if len(parameters_of(f)) > MAX_PARAMETERS}


def heads_without_a_term() -> set[str]:
    return {
        module.removeprefix("cellveil.")
        for module in MODULES
        if module != "cellveil" and not terms_of(module).search(head(module))
    }


def tuning_constants() -> set[str]:
    return {
        f"{module.removeprefix('cellveil.')}.{name}"
        for module in MODULES
        if module != "cellveil" and part_of(module) in TUNED and module != "cellveil.solvers.tolerances"
        for name, value in constants_of(module)
        if is_number(value)
    } - set(STRUCTURAL)


def bare_time() -> set[str]:
    return {
        f"{module}.{name}({parameter.arg})"
        for module, name, function in functions()
        if module != "clock"
        for parameter in parameters_of(function)
        if tells_time(parameter)
    }


RULES: dict[str, Callable[[], set[str]]] = {
    "suppression is in order": against_the_order,
    "no method imports a method": methods_of_methods,
    "a class name exists once": class_names,
    "a module name exists once": module_names,
    f"modules have up to {MAX_LINES} lines": long_modules,
    f"functions have up to {MAX_FUNCTION_LINES} lines": long_functions,
    f"functions have up to {MAX_PARAMETERS} parameters": many_parameters,
    "the first sentence uses a term of the field": heads_without_a_term,
    "tuning numbers are parameters": tuning_constants,
    "only a Deadline tells time": bare_time,
}


@pytest.mark.parametrize("rule", RULES)
def test_rule_is_kept(rule: str) -> None:
    assert not RULES[rule]() - KNOWN.get(rule, set())


@pytest.mark.parametrize("rule", RULES)
def test_exceptions_are_still_needed(rule: str) -> None:
    assert not KNOWN.get(rule, set()) - RULES[rule](), "keeps the rule by now: take it off the list"


def test_lists_are_of_this_tree() -> None:
    assert set(KNOWN) <= set(RULES)
    constants = {f"{m.removeprefix('cellveil.')}.{name}" for m in MODULES for name, _ in constants_of(m)}
    assert set(STRUCTURAL) <= constants


# -- the rules can fail --------------------------------------------------------------------------------------


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def test_the_rule_of_constants_can_fail() -> None:
    for text in ("20", "0.3", "(1, 2.5)", "1e-9", "1 - 1e-6", "{'auto': (0.05, 0.2)}"):
        assert is_number(expression(text))
    for text in ("2**62", "-1", "'x'", "True", "2.0**53", "Move(0)"):
        assert not is_number(expression(text))


def test_the_rule_of_time_can_fail() -> None:
    code = "def f(a, *, stop: Callable[[], bool], seconds: float, until: Deadline, limit: float): ..."
    (function,) = ast.parse(code).body
    assert isinstance(function, ast.FunctionDef)
    assert [p.arg for p in parameters_of(function) if tells_time(p)] == ["stop", "seconds"]


def test_the_rule_of_terms_can_fail() -> None:
    for terms in (TERMS, ALGORITHMS):
        assert not terms.search("What is known so far, each once.")
    assert ALGORITHMS.search("Capacity (Benders) cuts found so far.")
    assert TERMS.search("Trees of codes: the hierarchies of a dimension.")


def test_the_order_has_every_part() -> None:
    parts = {m.removeprefix(SUPPRESSION).partition(".")[0] for m in MODULES if m.startswith(SUPPRESSION)}
    assert parts == set(FLOORS)
    assert all(floor(SUPPRESSION + a) < floor(SUPPRESSION + b) for a, b in pairwise(FLOORS))
