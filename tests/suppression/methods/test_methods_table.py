"""The table of methods: each is found by its name, and loaded only when it is asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from cellveil.errors import InputError
from cellveil.params import Params
from cellveil.suppression import METHODS
from cellveil.suppression.draft import MethodEnding
from cellveil.suppression.suppressing import RunParams, read_options

FOR_COMPARISON = {name for name, entry in METHODS.items() if entry.is_for_comparison}

RUN_AUTO = """
import json, sys
import cellveil as cv

assert len(cv.METHODS) > 5
for shape in [(4, 4), (3, 3, 3)]:
    assert cv.suppress(cv.random_table(shape, seed=1)).is_safe
print(json.dumps([name for name in sys.modules if name.startswith("cellveil.suppression.methods.")]))
"""


def test_auto_loads_no_method_for_comparison() -> None:
    done = subprocess.run([sys.executable, "-c", RUN_AUTO], capture_output=True, text=True, check=True)
    loaded = {name.rpartition(".")[2] for name in json.loads(done.stdout)}
    assert loaded == {"auto", "network", "optimal"}
    assert {"genetic", "grouped", "cycles", "elimination", "modular"} <= FOR_COMPARISON


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_found_by_its_name(name: str) -> None:
    entry = METHODS[name]
    assert entry.name == name and issubclass(entry.params, Params)
    assert entry.read({}) == entry.params()


def test_options_of_the_run_stand_beside_those_of_the_method() -> None:
    own, run = read_options("hypercube", {"trials": "7", "run.mending_rounds": "2", "run.cover.rounds": 3})
    assert own == METHODS["hypercube"].read({"trials": 7})
    assert (run.mending_rounds, run.cover.rounds) == (2, 3)
    assert read_options("auto", {}, METHODS["auto"].params())[1] == RunParams()
    with pytest.raises(InputError, match="no option 'mending_rounds'"):
        read_options("hypercube", {"mending_rounds": 2})
    with pytest.raises(InputError, match="mending_rounds"):
        read_options("hypercube", {"run.mending": 2})


def test_endings_say_whether_time_or_somebody_stopped_the_method() -> None:
    late = {one for one in MethodEnding if one.is_lack_of_time}
    stopped = {one for one in MethodEnding if one.is_interrupt}
    assert MethodEnding.TIME_LIMIT in late and MethodEnding.INTERRUPTED in stopped
    assert not late & stopped and MethodEnding.COMPLETE not in late | stopped
