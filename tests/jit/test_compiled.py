"""The compiled loops: they do what they say as Python, and compiling costs no time limit anything."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellveil
from cellveil import clock
from cellveil.adjustment import adjust
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.jit import compiled
from cellveil.jit.compiled import Kernel, inner, outer
from cellveil.jit.emission import MisfitError
from cellveil.jit.kinds import Arrays, Bool, Float, Int, Int32, IntTable, Number
from cellveil.jit.translation import Unit
from cellveil.suppression import suppress
from cellveil.tables.structure import with_structure
from helpers.structure import stripped

PACKAGE = Path(cellveil.__file__).parent
LOOPS = sorted(
    ".".join(("cellveil", *path.relative_to(PACKAGE).with_suffix("").parts))
    for path in PACKAGE.rglob("_*_jit.py")
    if "@outer\n" in path.read_text("utf-8")
)
EVERY_LOOP_MODULE = pytest.mark.parametrize("name", LOOPS)
NUMBERS = st.integers(-(2**40), 2**40)


def plain(kernel: object, *arguments: object) -> object:
    """The loop as Python runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", lambda self, *given: self.loop.function(*given))
        return kernel(*arguments)


# -- small loops of all kinds -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Pair(Arrays):
    numbers: Int
    table: IntTable


@dataclass(frozen=True, eq=False)
class Nest(Arrays):
    short: Int32
    pair: Pair
    truths: Bool


@outer
def arithmetic(a: int, b: int, out: Int) -> None:
    out[0], out[1], out[2] = a // b, a % b, a // 7
    out[3], out[4], out[5] = a % -7, a >> 3, (a & 255) << 2
    out[6], out[7], out[8] = abs(a), min(a, b, 5), max(a, b)
    out[9] = int(a / 3.0) if b != 0 else -1
    out[10] = (a < b) + (a == b or b > 3) + (not a) + (0 < a < 100)
    out[11] = a ^ b | 3
    out[12] = a in (1, 2, b)
    out[13] = -(2**40) + ~a


@outer
def reals(x: float, n: int, out: Float) -> bool:
    out[:] = 0.5
    out[0], out[1] = x * n + 1, x / 4
    out[2], out[3] = np.sqrt(abs(x)), x**2 - 4.0**n
    out[4], out[5] = min(x, n, 2.5), float(n)
    out[6] = np.inf if x > 3 else -x
    return x < n


@inner
def both(a: int, b: float) -> tuple[float, Number]:
    if a > 3:
        return b, a
    return b + a, a - 1


@outer
def flow(n: int, out: Int) -> int:
    """Breaks, continues, ranges in steps, values together, arrays made on the way."""
    total, last = 0, 0
    for i in range(n - 1, -1, -2):
        if i % 5 == 0:
            continue
        for j in range(i):
            if j * j > n:
                break
            total += j
            last = i
        made = np.zeros((2, i + 1), dtype=np.int64)
        made[1, i] += total
        row = made[1]
        for element in row[i:]:
            total += element % 3
    cost, left = both(n, 1.5)
    while True:
        left -= 1
        if left < 0:
            break
        out[left % len(out)] += int(2 * cost)
    return total * 1000 + last


@outer
def fields(nest: Nest, which: bool) -> int:
    pair, short = nest.pair, nest.short
    chosen = pair.numbers if which else pair.table[1]
    rows, columns = pair.table.shape
    for i in range(len(short)):
        short[i] += i
        nest.truths[i] = not nest.truths[i]
    pair.table[0, columns - 1] = rows
    chosen[1:] = 9
    return chosen[0] + (pair.numbers if which else chosen)[1]


@outer
def drawn(rng: np.random.Generator, out: Float) -> None:
    for i in range(len(out)):
        out[i] = rng.random()


@settings(deadline=None)
@given(NUMBERS, NUMBERS)
def test_whole_numbers_are_those_of_python(a, b):
    b = b or 1
    mine, theirs = np.zeros((2, 14), dtype=np.int64)
    arithmetic(a, b, mine)
    plain(arithmetic, a, b, theirs)
    assert mine.tolist() == theirs.tolist()


def test_division_by_zero_gives_zero():
    out = np.ones(14, dtype=np.int64)
    arithmetic(5, 0, out)
    assert out[0] == out[1] == 0


@settings(deadline=None)
@given(st.floats(-1e6, 1e6), st.integers(-20, 20))
def test_reals_are_those_of_python(x, n):
    mine, theirs = np.zeros((2, 8))
    assert reals(x, n, mine) is plain(reals, x, n, theirs)
    assert mine.tolist() == theirs.tolist()


@settings(deadline=None)
@given(st.integers(0, 60))
def test_branches_and_loops_are_those_of_python(n):
    mine, theirs = np.zeros((2, 3), dtype=np.int64)
    assert flow(n, mine) == plain(flow, n, theirs)
    assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("which", [True, False])
def test_records_of_arrays(which):
    def nest() -> Nest:
        pair = Pair(np.arange(3), np.arange(6).reshape(2, 3))
        return Nest(np.arange(4, dtype=np.int32), pair, np.array([True, False, True, True]))

    mine, theirs = nest(), nest()
    assert fields(mine, which) == plain(fields, theirs, which)
    assert mine.short.tolist() == theirs.short.tolist()
    assert mine.truths.tolist() == theirs.truths.tolist()
    assert mine.pair.numbers.tolist() == theirs.pair.numbers.tolist()
    assert mine.pair.table.tolist() == theirs.pair.table.tolist()


def test_random_numbers_are_those_of_the_generator():
    out = np.zeros(5)
    rng = np.random.default_rng(4)
    drawn(rng, out)
    assert [*out, rng.random()] == np.random.default_rng(4).random(6).tolist()


@pytest.mark.parametrize(
    ("array", "fault"),
    [
        (np.zeros(14), "not an array of int64"),
        (np.zeros((2, 7), dtype=np.int64), "with 1 axes"),
        (np.zeros(28, dtype=np.int64)[::2], "gaps"),
        (list(range(14)), "not an array"),
    ],
)
def test_arrays_must_be_as_the_loops_read_them(array, fault):
    with pytest.raises(TypeError, match=fault):
        arithmetic(1, 2, array)


def test_what_only_loops_call_says_so():
    with pytest.raises(TypeError, match=r"only other loops call .*both"):
        both(1, 2.0)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("x = 'text'", "line 2: loops cannot have 'text'"),
        ("x = y", "line 2: y is not known here"),
        ("x = 1\n    x = 1.5", "line 3: float64 in place of int64"),
        ("x = a + np.uint64(1)", "signed and unsigned"),
        ("x = [1]", r"cannot have \[1\]"),
        ("x = a[0]", r"cannot have a\[0\]"),
        ("with a:\n        pass", "cannot have With"),
    ],
)
def test_what_loops_cannot_have_is_named(body, fault):
    name = "loops_with_a_fault"
    source = f"def f(a: int) -> int:\n    {body}\n    return 1\n"
    module = type(sys)(name)
    module.np = np
    exec(source, module.__dict__)
    loop = Kernel(module.f).loop
    loop.__dict__["node"] = ast.parse(source).body[0]
    with pytest.raises(MisfitError, match=fault):
        Unit(lambda _: None).source([loop])


# -- the loops of the package -------------------------------------------------------------------------------


def kernels_of(name: str) -> list[Kernel]:
    module = importlib.import_module(name)
    return compiled._by_module[module.__name__]


@EVERY_LOOP_MODULE
def test_every_function_is_translated_once(name):
    unit = Unit(compiled._loop_of)
    source = unit.source([kernel.loop for kernel in kernels_of(name)])
    assert len(unit.loops) == len(set(unit.loops))
    for loop in unit.loops:
        assert source.count(f" @{loop.symbol}(") >= 1
        assert (
            sum(
                line.startswith("define internal") and f"@{loop.symbol}(" in line
                for line in source.splitlines()
            )
            == 1
        )


def result(method: str) -> object:
    """A pattern, or the costs of an adjustment."""
    flat, cube = random_table((6, 5), seed=2), random_table((4, 4, 3), seed=3)
    if method == "adjust":
        return adjust(cube, "descent", seed=1).cost
    problem = flat if method in ("network", "cycles") else cube
    if method == "recover":
        return with_structure(stripped(problem.table)).sizes
    return suppress(problem, method, seed=1).pattern.hidden.tolist()


@pytest.mark.parametrize(
    "method",
    [
        *("recover", "cycles", "hypercube", "sequential"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("network", "adjust")),
    ],
)
def test_results_are_those_of_plain_python(method, monkeypatch):
    mine = result(method)
    monkeypatch.setattr(Kernel, "__call__", lambda self, *given: self.loop.function(*given))
    assert mine == result(method)


CHECKING = """
from cellveil.jit import compiled
compiled.CHECKED = True
from cellveil.datasets import random_table
from cellveil.adjustment import adjust
from cellveil.suppression import suppress
for sizes in ((12, 9), (6, 5, 5)):
    for seed in range(3):
        problem = random_table(sizes, seed=seed)
        for method in ("auto", "network", "hypercube"):
            suppress(problem, method, seed=seed, time_limit=2)
        adjust(problem, seed=seed, time_limit=2)
"""


def run_python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_index_is_out_of_range():
    run_python(CHECKING)


def test_wrong_indices_are_found_where_they_are_checked(monkeypatch):
    monkeypatch.setattr(compiled, "CHECKED", True)
    kernel = Kernel(drawn.loop.function)
    monkeypatch.setitem(compiled._by_module, __name__, [kernel, Kernel(arithmetic.loop.function)])
    with pytest.raises(IndexError, match="line"):
        wrong = compiled._by_module[__name__][1]
        wrong(3, 4, np.zeros(2, dtype=np.int64))


# -- the first run ------------------------------------------------------------------------------------------


class FakeTime:
    """A clock that moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    perf_counter = monotonic


def test_no_time_limit_counts_compiling(monkeypatch):
    time = FakeTime()
    monkeypatch.setattr(clock, "time", time)
    monkeypatch.setattr(clock, "_uncounted", 0.0)
    deadline = Deadline(10)
    time.now += 4

    def slow(kernels: list[Kernel]) -> None:
        time.now += 60
        real(kernels)

    real = compiled._compile
    monkeypatch.setattr(compiled, "_compile", slow)
    kernel = Kernel(drawn.loop.function)
    monkeypatch.setitem(compiled._by_module, __name__, [kernel])
    kernel(np.random.default_rng(1), np.zeros(2))
    assert time.now == 164
    assert deadline.left == 6
    time.now += 6
    assert deadline.is_over


FIRST_RUN = """
from cellveil.jit import compiled
real, names = compiled._compile, []
def noting(kernels):
    names.extend({kernel.loop.function.__module__.rpartition(".")[2] for kernel in kernels})
    real(kernels)
compiled._compile = noting
from cellveil.datasets import random_table
from cellveil.suppression import suppress
found = suppress(random_table((8, 7), seed=5), seed=1)
print(found.cost, sorted(names))
"""


def test_a_small_table_compiles_what_it_needs_and_stores_nothing(tmp_path):
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "TMPDIR")}
    first, second = (run_python(FIRST_RUN, PYTHONDONTWRITEBYTECODE="1", **home) for _ in range(2))
    assert first == second
    assert "flow_search" in first
    assert not any(name in first for name in ("packing", "rachford", "annealed"))
    assert not list(tmp_path.rglob("*"))
