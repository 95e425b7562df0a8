"""The library of compiled loops: what it is made of, how it is loaded, what it is handed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cellveil.loops import build, library
from cellveil.loops.integer_kernel import back_substitute
from cellveil.loops.library import LibraryError
from cellveil.loops.pivot_annealing import Chain, Goal, Space, anneal
from cellveil.loops.windowed_demand import Incidence, ball

METHODS = """
import sys
from pathlib import Path
from cellveil.loops import library
library.LIBRARY = Path(sys.argv[1])
from cellveil.datasets import random_table
from cellveil.adjustment import adjust
from cellveil.suppression import suppress
for sizes in ((10, 9), (5, 5, 4)):
    problem = random_table(sizes, seed=1)
    for method in ("auto", "network", "hypercube", "sequential"):
        suppress(problem, method, seed=1, attackers=[], time_limit=2)
    adjust(problem, seed=1, time_limit=2)
assert Path(sys.argv[1]) in library._loaded
print("done")
"""


def numbers(count: int) -> np.ndarray:
    return np.zeros(count, dtype=np.int64)


def incidence(cells: int) -> Incidence:
    """One relation of some cells, and scratch space for a search."""
    return Incidence(
        row_starts=np.array([0, cells]),
        cells=np.arange(cells, dtype=np.int32),
        cell_starts=np.arange(cells + 1),
        rows=numbers(cells),
        movable=np.ones(cells, dtype=bool),
        distance=np.zeros(cells),
        reached=numbers(cells),
        settled=numbers(cells),
        entered=numbers(1),
        heap_distance=np.zeros(cells + 1),
        heap_cell=numbers(cells + 1),
        near=numbers(cells),
        stamp=numbers(1),
    )


def test_the_library_fits_its_sources() -> None:
    assert build.is_current()
    assert library.library() is library.library()


def test_a_library_of_other_sources_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "digest", lambda: "0" * 64)
    assert not build.is_current()
    with pytest.raises(LibraryError, match=r"compiled from other sources.*make loops"):
        library._opened(library.LIBRARY)


def test_a_missing_library_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "_loops.so")
    with pytest.raises(LibraryError, match="make loops"):
        library.library()


def test_a_changed_source_has_another_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in build.sources():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = build.digest()
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    assert build.digest() == before
    changed = tmp_path / "ledger.c"
    changed.write_bytes(changed.read_bytes().replace(b"\n", b"\r\n"))
    assert build.digest() == before, "ends of lines do not matter"
    changed.write_bytes(changed.read_bytes() + b"// more\n")
    assert build.digest() != before


def test_without_any_compiler_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build, "find_spec", lambda name: None)
    assert build.system_compiler.__wrapped__() is None
    with pytest.raises(SystemExit, match="pip install ziglang"):
        build.zig()


@pytest.mark.parametrize(
    ("array", "fault"),
    [
        (np.zeros(3), "values is not an array of int64"),
        (np.zeros((2, 7), dtype=np.int64), "with 1 axes"),
        (np.zeros(6, dtype=np.int64)[::2], "values has gaps"),
        ([0, 0, 0], "not an array"),
    ],
)
def test_arrays_must_be_as_the_loops_read_them(array: object, fault: str) -> None:
    empty, starts = numbers(0), numbers(1)
    with pytest.raises(TypeError, match=fault):
        back_substitute(array, empty, empty, starts, empty, empty)  # type: ignore[arg-type]


def test_records_are_checked_as_well() -> None:
    space = incidence(4)
    object.__setattr__(space, "near", np.zeros(4))
    with pytest.raises(TypeError, match="near is not an array of int64"):
        ball(space, np.ones(4), 0.0, 0, 4, 10.0)


def test_random_numbers_are_those_of_the_generator() -> None:
    """Each of seven trials draws a column and whether to turn; a column without entries ends the trial."""
    chain = Chain(np.zeros((2, 3), dtype=np.int32), numbers(1), np.zeros(3, dtype=np.int32), np.zeros(5))
    goal = Goal(np.ones(3), np.zeros(3, dtype=bool), numbers(0), *np.zeros((4, 3)))
    space = Space(numbers(8), numbers(8), np.zeros(8), numbers(8), numbers(9), numbers(8), numbers(8))
    rng = np.random.default_rng(4)
    assert anneal(chain, goal, space, np.ones(7), 0.0, 0.0, rng) == 0
    assert rng.random() == np.random.default_rng(4).random(15)[-1]


def run_python(code: str, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert not done.returncode, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build.build(tmp_path_factory.mktemp("checked") / "_loops.so", flags=build.CHECKED)


@pytest.mark.slow
def test_no_index_is_out_of_range(checked: Path) -> None:
    assert run_python(METHODS, str(checked)) == "done\n"


WRONG = """
import sys
from pathlib import Path
import numpy as np
from cellveil.loops import library
library.LIBRARY = Path(sys.argv[1])
from cellveil.loops.integer_kernel import back_substitute
values = np.zeros(2, dtype=np.int64)
try:
    back_substitute(values, np.array([7]), np.array([1]), np.array([0, 0]), values[:0], values[:0])
except IndexError as error:
    print(error)
"""


@pytest.mark.slow
def test_wrong_indices_are_found_where_they_are_checked(checked: Path) -> None:
    said = run_python(WRONG, str(checked))
    assert "integer_kernel_back_substitute: an index is out of range, line" in said
    assert "index 7 of 2" in said and "integer_kernel.c" in said


@pytest.mark.slow
def test_memory_and_arithmetic_are_sound(tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers; memory that Python never frees is not looked for."""
    compiler = build.system_compiler()
    if compiler is None or sys.platform != "linux":
        pytest.skip("sanitizers need a compiler of this machine, on Linux")
    asked = [*compiler, "-print-file-name=libasan.so"]
    runtime = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(runtime).is_absolute():
        pytest.skip("the compiler has no libasan.so")
    made = build.build(tmp_path / "_loops.so", flags=build.SANITIZED)
    options = {"LD_PRELOAD": runtime, "ASAN_OPTIONS": "detect_leaks=0"}
    assert run_python(METHODS, str(made), **options) == "done\n"
