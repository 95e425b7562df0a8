"""Built-in data of the service: invented firms as files, with hierarchies, and the tables they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from cellveil.service.job_folders import StateFolder
from cellveil.service.service_errors import not_found
from cellveil.service.short_tasks import Asker, ShortTasks

FILES = (
    "firms.csv",
    "hier_industry.csv",
    "hier_region.csv",
    "hier_region_coast.csv",
    "hier_size.csv",
    "labels.csv",
)
HIERARCHIES: Mapping[str, tuple[str, ...]] = {
    "industry": ("hier_industry.csv",),
    "region": ("hier_region.csv", "hier_region_coast.csv"),
    "size": ("hier_size.csv",),
}
CHOICES: Mapping[str, Any] = {
    "title": "Turnover by industry, region and size class",
    "dimensions": [
        {"name": "industry", "column": "division", "hierarchy": {"kind": "levels", "columns": ["section"]}},
        {"name": "region", "hierarchy": {"kind": "built-in", "name": "region"}},
        {"name": "size", "hierarchy": {"kind": "built-in", "name": "size"}},
    ],
    "tables": [
        {"dimensions": ["industry", "region"]},
        {"dimensions": ["industry", "size"]},
        {"dimensions": ["region", "size"]},
    ],
    "response": "turnover",
    "contributor": "firm",
    "holding": "holding",
    "weight": "weight",
    "request": "request",
    "waiver": "waiver",
    "rules": ["p%:p=10,level=holding", "threshold:minimum=3"],
    "attackers": None,
    "time_limit": 30.0,
    "seed": 1,
}

FEW: Mapping[str, Any] = {
    **CHOICES,
    "dimensions": [
        {"name": "industry", "column": "section", "hierarchy": {"kind": "flat"}},
        {"name": "region", "hierarchy": {"kind": "built-in", "name": "region"}, "to_level": 2},
        {"name": "size", "hierarchy": {"kind": "built-in", "name": "size"}},
    ],
    "tables": [{"dimensions": ["industry", "region"]}, {"dimensions": ["industry", "size"]}],
}
"""For few firms: coarse dimensions, so that most cells can be published."""


@dataclass(frozen=True)
class BuiltIn:
    """One set of built-in data.

    Parameters
    ----------
    hierarchies
        By dimension, the files of its levels.
    choices
        What the page proposes.
    """

    name: str
    title: str
    about: str
    firms: int
    seed: int = 1
    data: str = "firms.csv"
    files: tuple[str, ...] = FILES
    hierarchies: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: HIERARCHIES)
    choices: Mapping[str, Any] = field(default_factory=lambda: CHOICES)


DATASETS: Mapping[str, BuiltIn] = {
    one.name: one
    for one in (
        BuiltIn(
            "business",
            "Invented firms",
            "50,000 firms by industry, region and size: the data of the demo.",
            50_000,
        ),
        BuiltIn(
            "business-small",
            "Invented firms, few",
            "2,000 firms by industry, region and size, in coarse tables.",
            2_000,
            hierarchies={**HIERARCHIES, "region": ("hier_region.csv",)},
            choices=FEW,
        ),
    )
}
"""By name."""


class BuiltInFiles:
    """Makes the files when they are first asked for, and keeps them."""

    def __init__(self, state: StateFolder, shorts: ShortTasks) -> None:
        self._state, self._shorts, self._lock = state, shorts, Lock()

    def path(self, name: str, file: str) -> Path:
        """A file of built-in data."""
        found = DATASETS.get(name)
        if found is None or file not in found.files:
            raise not_found("there are no such built-in data.")
        return self._folder(found) / file

    def _folder(self, found: BuiltIn) -> Path:
        folder = self._state.datasets / found.name
        with self._lock:
            if not folder.exists():
                with self._state.scratch_job() as scratch:
                    scratch.input.mkdir(parents=True)
                    asked = {"firms": found.firms, "seed": found.seed}
                    self._shorts.ask("dataset", scratch, asked, Asker())
                    scratch.input.rename(folder)
        return folder
