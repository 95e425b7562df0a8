"""The shape of the code: who may import whom, what an import costs, and what no file may contain."""

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import cellveil
from helpers.pages import ROOT
from helpers.source_tree import (
    MODULES,
    ORDER,
    PACKAGE,
    imported,
    imports_in,
    own_module,
    part_of,
    text_of,
    tree_of,
)

HEAVY = (
    "duckdb",
    "highspy",
    "jinja2",
    "lxml",
    "openpyxl",
    "pandas",
    "polars",
    "pyarrow",
    "pyreadstat",
    "pysdmx",
    "rich",
    "scipy",
)
"""Loaded where they are used, never when a module is imported."""

SLOW = (*HEAVY, "pydantic", "typer", "narwhals", "numpy")
"""Not even loaded by ``import cellveil``."""

MOST_LOADED = 365
"""Modules of its own that the README's first job loads at most. The goal is 170: it is lowered as they go."""

NOT_NEEDED = ("adjustment", "argus", "service")
"""Packages that job has no use for."""


def every_module(check: Callable[[str], None]) -> Callable[[], None]:
    """One test of all modules, which names those that do not pass; one for each would cost seconds."""

    def test() -> None:
        wrong = {}
        for module in MODULES:
            try:
                check(module)
            except AssertionError as error:
                wrong[module] = str(error)
        assert not wrong, "\n".join(f"{module}: {why}" for module, why in wrong.items())

    test.__name__, test.__doc__ = check.__name__, check.__doc__
    return test


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


# -- imports ----------------------------------------------------------------------------------------------


def test_every_part_has_its_place():
    assert {part_of(module) for module in MODULES if module != "cellveil"} == set(ORDER)


@every_module
def test_imports_go_one_way(module):
    if module == "cellveil":
        return
    allowed = ORDER[: ORDER.index(part_of(module)) + 1]
    for name in imported(module):
        target = own_module(name)
        if target == "cellveil":
            assert name == "cellveil.__version__", f"{module} imports {name} from the public namespace"
        elif target is not None:
            assert target in MODULES, f"{module} imports {name}, which is not there"
            assert part_of(target) in allowed, f"{module} imports {name}, which comes after it"


def test_no_module_needs_itself_to_be_imported():
    graph = {
        module: {own_module(name) for name in imported(module, in_functions=False)}
        - {None, "cellveil", module}
        for module in MODULES
    }
    TopologicalSorter(graph).prepare()  # raises on a cycle and names it


@every_module
def test_no_heavy_package_at_the_top(module):
    top = {name.partition(".")[0] for name in imported(module, in_functions=False)}
    assert not top & set(HEAVY)


OPTIMISERS = ("highspy", "pyscipopt", "flint")
FLOWS = ("scipy.optimize", "scipy.sparse.csgraph.maximum_flow", "scipy.sparse.csgraph.min_weight")


@every_module
def test_solvers_are_the_only_door_to_optimisers(module):
    if part_of(f"{module}.") != "solvers":
        names = imported(module)
        assert not {name for name in names if name.partition(".")[0] in OPTIMISERS}
        assert not {name for name in names if name.startswith(FLOWS)}


TOLERANCE = 1e-4
"""Smaller numbers are tolerances."""

STILL_OWN = (
    *("cellveil.adjustment.", "cellveil.suppression.exact.", "cellveil.suppression.bounds."),
    *("cellveil.suppression.methods.optimal", "cellveil.suppression.methods.textbook"),
    "cellveil.suppression.presolve.preparation",
)
"""Modules that keep some of their own."""


def small_numbers(node: ast.AST) -> Iterator[float]:
    """Floating-point literals of the size of tolerances; those of parameters left out."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "param":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < TOLERANCE:
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from small_numbers(child)


@every_module
def test_tolerances_live_in_one_place(module):
    if module != "cellveil.solvers.tolerances" and not module.startswith(STILL_OWN):
        assert not list(small_numbers(tree_of(module)))


def test_the_scan_for_tolerances_can_fail():
    assert list(small_numbers(ast.parse("x = y > 1e-9; z: float = param(1e-6, '')"))) == [1e-9]


def test_time_limits_have_one_clock():
    """`counted_time`."""
    assert [m for m in MODULES if "monotonic" in text_of(m)] == ["cellveil.clock"]


def test_a_check_of_every_module_names_those_that_do_not_pass():
    @every_module
    def test(module):
        assert module != "cellveil.clock", "no clock"

    with pytest.raises(AssertionError, match=r"^cellveil\.clock: no clock"):
        test()


def test_the_checks_of_imports_can_fail():
    code = """
import a
if TYPE_CHECKING:
    import b
else:
    import c
def f():
    import d
try:
    from e import x
finally:
    pass
"""
    assert set(imports_in(ast.parse(code), in_functions=True)) == {"a", "c", "d", "e.x"}
    assert set(imports_in(ast.parse(code), in_functions=False)) == {"a", "c", "e.x"}


def test_importing_the_package_loads_nothing_heavy_and_says_nothing():
    done = run_python("import sys, json, cellveil; sys.stderr.write(json.dumps(list(sys.modules)))")
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr)}
    assert done.stdout == ""
    assert not loaded & set(SLOW)


def test_importing_every_module_says_nothing_and_loads_no_solver():
    names = [module for module in MODULES if module != "cellveil"]
    code = f"import sys, importlib\nfor name in {names!r}: importlib.import_module(name)\n"
    done = run_python(
        f"{code}assert not set(sys.modules) & set({HEAVY!r}), set(sys.modules) & set({HEAVY!r})"
    )
    assert (done.stdout, done.stderr) == ("", "")


# -- the public namespace ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cellveil.__all__)
def test_public_names_resolve(name):
    thing = getattr(cellveil, name)
    assert not isinstance(thing, ModuleType)
    assert name in dir(cellveil)


def test_public_names_are_not_hidden_by_modules():
    """A submodule of the same name would replace the lazy name once it is imported."""
    run_python(
        "import importlib, types, cellveil\n"
        f"for name in {[m for m in MODULES if m != 'cellveil']!r}: importlib.import_module(name)\n"
        "for name in cellveil.__all__: assert not isinstance(getattr(cellveil, name), types.ModuleType), name"
    )


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'supress'"):
        cellveil.supress  # noqa: B018


def test_type_checkers_see_the_same_names():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    seen = {}
    for node in tree.body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            assert alias.asname == alias.name, "only `import x as x` is an export to type checkers"
            seen[alias.name] = node.module
    assert seen == cellveil._MODULE_OF and len(seen) > 80


@pytest.mark.parametrize("name", sorted(cellveil._MODULE_OF))
def test_public_names_come_from_where_they_are_said_to(name):
    module = importlib.import_module(cellveil._MODULE_OF[name])
    assert getattr(module, name) is getattr(cellveil, name)


# -- a first job -------------------------------------------------------------------------------------------

FIRST_JOB = """
import sys
from pathlib import Path
import cellveil as cv
Path("firms.csv").write_text("firm,region,branch,turnover\\n" + "\\n".join(
    f"F{number},{region},{branch},{10 + number}"
    for number, (region, branch) in enumerate([(r, b) for r in "NSW" for b in "fw" for _ in range(3)])
) + "\\nF99,N,f,900")
Path("job.toml").write_text(
    'output = "out"\\nmicrodata = {file = "firms.csv", contributor = "firm"}\\n'
    'tables = [{dimensions = ["region", "branch"], response = "turnover"}]\\n'
    'rules = [{rule = "p%", p = 10}]\\n'
)
assert cv.run_job(cv.read_job("job.toml")).audit.is_safe
print(*(name for name in sys.modules if name.partition(".")[0] == "cellveil"))
"""


def test_a_first_job_loads_what_it_needs(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_JOB], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    loaded = [name for name in ran.stdout.split() if name in MODULES]
    assert 50 < len(loaded) <= MOST_LOADED
    assert not {part_of(name) for name in loaded if name != "cellveil"} & set(NOT_NEEDED)


# -- files ------------------------------------------------------------------------------------------------


@every_module
def test_modules_say_what_they_are(module):
    assert (ast.get_docstring(tree_of(module)) or "").strip()


HOSTS = ("pypi" + r"\.", "python" + "hosted", "arti" + "factory", "conda" + r"\.")
PATHS = ("/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "/wo" + "rk/", r"[A-Z]:\\" + "Users")
NOT_HERE = re.compile("|".join((*HOSTS, *(rf"(?<![\w.]){path}" for path in PATHS))))


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def test_no_file_names_a_machine_or_a_package_index():
    found = []
    for path in tracked_files():
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            if match := NOT_HERE.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match.group()}")
    assert found == []


def test_the_check_of_machine_paths_can_fail():
    for text in ("see /ho" + "me/ann/x", "https://pyp" + "i.org/simple", '"/wo' + 'rk/main"'):
        assert NOT_HERE.search(text)
    for text in ("docs/work/x", "Framework/", "a home/ b", "../wo" + "rk/x"):
        assert not NOT_HERE.search(text)
