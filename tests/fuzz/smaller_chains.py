"""Cut a wrong chain down to what it takes: fewer releases, tables, records, and fewer odd settings."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzz.chains import Chain
from fuzz.running_chains import ChainRan, run_chain

SETTINGS = ("revise", "population", "decimals", "cells", "stale_rules", "batch")
ODD = ("name", "total", "rename", "file_column")


def smaller(chain: Chain, folder: Path, kind: str, *, most: int = 150) -> ChainRan:
    """Run at most so many smaller chains that have a finding of the kind; the folder keeps the last."""
    left = most

    def run(one: Chain) -> ChainRan | None:
        nonlocal left
        left -= 1
        try:
            ran = run_chain("smaller", copy.deepcopy(one), folder)
        except Exception:  # a chain that makes no sense
            return None
        return ran if kind in ran.kinds else None

    is_smaller = True
    while is_smaller and left > 0:
        is_smaller = False
        for cut in (_steps, _tables, _records, _settings):
            found = _first(cut, chain, run, lambda: left > 0)
            while found is not None:
                chain, is_smaller = found, True
                found = _first(cut, chain, run, lambda: left > 0)
    shutil.rmtree(folder, ignore_errors=True)
    return run_chain("smaller", chain, folder)


def _first(
    cut: Callable[[Chain], Iterator[Chain]],
    chain: Chain,
    run: Callable[[Chain], ChainRan | None],
    goes_on: Callable[[], bool],
) -> Chain | None:
    """The first of some smaller chains that is still wrong."""
    for one in cut(chain):
        if not goes_on():
            return None
        if run(one) is not None:
            return one
    return None


def _steps(chain: Chain) -> Iterator[Chain]:
    for place in range(len(chain["steps"]) - 1, -1, -1):
        steps = copy.deepcopy(chain["steps"])
        del steps[place]
        if not steps or any(step.get("of") == place for step in steps):
            continue
        for step in steps:
            step.pop("batch", None)
            if step.get("of", -1) > place:
                step["of"] -= 1
        yield chain | {"steps": steps}


def _tables(chain: Chain) -> Iterator[Chain]:
    for number, step in enumerate(chain["steps"]):
        for place in range(len(step.get("tables", []))):
            steps = copy.deepcopy(chain["steps"])
            tables = steps[number]["tables"]
            del tables[place]
            if not tables:
                continue
            steps[number]["cells"] = []
            used = {name for table in tables for name in table["dimensions"]}
            views = steps[number]["views"]
            steps[number]["views"] = {name: view for name, view in views.items() if name in used}
            yield chain | {"steps": steps}


def _records(chain: Chain) -> Iterator[Chain]:
    number = len(chain["records"])
    size = number // 2
    while size:
        for start in range(0, number, size):
            yield _without(chain, range(start, min(start + size, number)))
        size //= 2


def _without(chain: Chain, gone: range) -> Chain:
    kept = [place for place in range(len(chain["records"])) if place not in gone]
    steps = copy.deepcopy(chain["steps"])
    for step in steps:
        changes = [change for change in step.get("revise", []) if change["record"] in kept]
        if "revise" in step:
            step["revise"] = [change | {"record": kept.index(change["record"])} for change in changes]
    return chain | {"records": [chain["records"][place] for place in kept], "steps": steps}


def _settings(chain: Chain) -> Iterator[Chain]:
    for number, step in enumerate(chain["steps"]):
        for name in SETTINGS:
            if step.get(name):
                steps = copy.deepcopy(chain["steps"])
                steps[number].pop(name)
                if name == "cells":
                    steps[number]["cells"] = []
                yield chain | {"steps": steps}
        for name in ("weight", "holding"):
            if step.get(name):
                steps = copy.deepcopy(chain["steps"])
                steps[number][name] = False
                for rule in steps[number]["rules"]:
                    rule.pop("level", None)
                yield chain | {"steps": steps}
        for column, view in step.get("views", {}).items():
            for name in ODD:
                if name in view:
                    steps = copy.deepcopy(chain["steps"])
                    steps[number]["views"][column].pop(name)
                    yield chain | {"steps": steps}
