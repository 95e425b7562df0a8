"""What all kinds of random jobs draw alike: dimensions, cells by hand, levels, method, release."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOTAL = "Total"
METHODS = ["sequential", "grouped", "elimination", "hypercube", "modular", "optimal", "network", "genetic"]


class Draws:
    """One random job in the making: its job file, its features, the codes of its dimensions."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self.rng, self.folder = rng, folder
        self.job: dict[str, Any] = {"output": "out", "dimensions": {}}
        self.features: set[str] = set()
        self.leaves: dict[str, list[str]] = {}
        self.pairs: dict[str, list[list[tuple[str, str]]]] = {}

    # -- dimensions ---------------------------------------------------------------------------------------

    def dimensions(self, number: int, *, from_records: bool = True) -> list[str]:
        """Draw so many dimensions, small ones where there are many."""
        names = ["region", "branch", "size"][:number]
        for place, name in enumerate(names):
            small = number == 3 or (number == 2 and place == 1)
            kinds = {"flat": 45, "tree": 28, "overlapping": 9, "digits": 7, "levels": 6, "single child": 5}
            if not from_records:
                kinds.pop("levels")
            kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
            if number == 3 and place > 0:
                kind = "flat"
            self._dimension(name, kind, small)
        return names

    def column(self, name: str) -> str:
        """The column of the data for a dimension."""
        return str(self.job["dimensions"].get(name, {}).get("column", name))

    def _dimension(self, name: str, kind: str, small: bool) -> None:
        rng, letter = self.rng, name[0]
        settings: dict[str, Any] = {}
        if kind == "flat":
            leaves = [f"{letter}{i}" for i in range(1, rng.randint(2, 3 if small else 4) + 1)]
            self.pairs[name] = [[(TOTAL, leaf) for leaf in leaves]]
        else:
            self.features.add(f"dimension {kind}")
            groups = {
                g: [f"{g}{i}" for i in range(1, rng.randint(2, 3) + 1)]
                for g in "AB" + "C" * (not small and rng.random() < 0.4)
            }
            if kind == "single child":
                groups["A"] = ["A1"]
            leaves = [leaf for below in groups.values() for leaf in below]
            tree = [(TOTAL, g) for g in groups] + [(g, leaf) for g, below in groups.items() for leaf in below]
            self.pairs[name] = [tree]
            if kind in ("tree", "single child", "overlapping"):
                settings["hierarchy"] = self._trees(name, kind, leaves, groups)
            elif kind == "digits":
                settings["digits"] = [1, 1]
            else:
                settings["levels"] = [f"{name}_group"]
        if rng.random() < 0.15:
            settings["column"] = f"{name}_code"
        self.leaves[name] = leaves
        if settings:
            self.job["dimensions"][name] = settings

    def _trees(
        self, name: str, kind: str, leaves: list[str], groups: dict[str, list[str]]
    ) -> list[str] | str:
        rng = self.rng
        if kind == "tree" and rng.random() < 0.3:
            lines = [line for g, below in groups.items() for line in (g, *(f"@{leaf}" for leaf in below))]
            (self.folder / f"{name}.hrc").write_text("\n".join(lines) + "\n")
            return f"{name}.hrc"
        self.write_rows(f"{name}.csv", ["parent", "child"], self.pairs[name][0])
        if kind != "overlapping":
            return f"{name}.csv"
        mixed = leaves[:]
        rng.shuffle(mixed)
        half = len(mixed) // 2
        second = [(TOTAL, "coast"), (TOTAL, "hills")]
        second += [("coast" if place < half else "hills", leaf) for place, leaf in enumerate(mixed)]
        if rng.random() < 0.4:  # a tree over a part only
            second = [("coast", leaf) for leaf in mixed[:half]]
        if len([pair for pair in second if pair[0] == "coast"]) < 2:
            second = [("coast", leaf) for leaf in mixed[:2]]
        self.pairs[name].append(second)
        self.write_rows(f"{name}_2.csv", ["parent", "child"], second)
        return [f"{name}.csv", f"{name}_2.csv"]

    # -- everything after the rules -----------------------------------------------------------------------

    def cells_by_hand(self, tables: list[dict[str, Any]], variables: list[str]) -> None:
        """Set some cells by hand."""
        rng = self.rng
        if rng.random() > 0.22:
            return
        cells: list[dict[str, Any]] = []
        for _ in range(rng.randint(1, 2)):
            dims = rng.choice(tables)["dimensions"]
            key = {name: rng.choice(self.leaves[name]) for name in dims if rng.random() < 0.75}
            if variables:
                key["variable"] = rng.choice(variables)
            status = rng.choices(["u", "m", "z", "s"], [35, 30, 25, 10])[0]
            cell: dict[str, Any] = {"key": key, "status": status}
            if status in "zs" and rng.random() < 0.7:
                cell["waived"] = True
                self.features.add("waived cell")
            if all(other["key"] != key for other in cells):
                cells.append(cell)
                self.features.add(f"cell set {status}")
        if rng.random() < 0.25:
            cells.append({"key": {"variable": variables[0]} if variables else {}, "status": "z"})
            self.features.add("frozen total")
        self.job["cells"] = cells

    def levels(self) -> None:
        """Change the levels now and then."""
        rng = self.rng
        if rng.random() < 0.12:
            self.job["levels"] = rng.choice(
                [
                    {"lower_factor": 0.5},
                    {"upper_factor": 2.0},
                    {"lower_factor": 0.0, "upper_factor": 1.5},
                    {"sliding": 6.0},
                    {"safety_range": 35.0},
                ]
            )
            self.features.add("levels changed")

    def method(self) -> None:
        """Mostly the default method."""
        rng = self.rng
        suppress: dict[str, Any] = {"time_limit": 1.0, "seed": rng.randint(0, 9)}
        if rng.random() < 0.2:
            suppress["method"] = rng.choice(METHODS)
            self.features.add("another method")
        self.job["suppress"] = suppress

    def adjustment(self) -> None:
        """Publish an adjusted table in place of the suppressed one."""
        rng = self.rng
        adjust: dict[str, Any] = {"publish": True, "time_limit": 1.0}
        adjust["objective"] = rng.choice(["l1", "l1", "value", "l2"])
        if rng.random() < 0.7:
            adjust["limit"] = rng.choice([20, 40, 60, 100])
            self.features.add("adjusted with limits")
            if rng.random() < 0.3:
                adjust["limit_marginals"] = adjust["limit"] / 2
            if rng.random() < 0.3:
                adjust["limit_total"] = rng.choice([0, 5])
        self.job["adjust"] = adjust
        self.features.add("adjusted")

    def default_attackers(self) -> None:
        """Mostly leave it to the default whom to keep off; now and then decide for outsiders only."""
        if self.rng.random() < 0.2:
            self.job["attackers"] = []
            self.features.add("outsiders only")
        else:
            self.features.add("attackers by default")

    def families(self) -> None:
        """Let families of witnesses be looked for in small tables too; exempt a cell now and then."""
        if self.rng.random() < 0.5:
            self.job["suppress"]["options"] = {"run.defence.families.fewest_cells": 0}
            self.features.add("families")
        for attacker in self.job.get("attackers", []):
            if attacker["kind"] in ("insider", "pq") and self.rng.random() < 0.1:
                attacker["exempt"] = [self._some_cell()]
                self.features.add("exempt cell")

    def _some_cell(self) -> dict[str, str]:
        """A cell of the first table, by its codes."""
        dims = self.job["tables"][0]["dimensions"] if "tables" in self.job else list(self.leaves)
        key = {name: self.rng.choice(self.leaves[name]) for name in dims}
        variables = list(dict.fromkeys(table.get("response") for table in self.job.get("tables", [])))
        return key | ({"variable": str(variables[0])} if len(variables) > 1 else {})

    def release(self) -> None:
        """Which public files; CSV always, since the judge reads it."""
        formats, release = ["csv"], {}
        if self.rng.random() < 0.12:
            formats.append("html")
        release["formats"] = formats
        if self.rng.random() < 0.15:
            release["symbol"] = self.rng.choice([":", "..", "c"])
        self.job["release"] = release

    def write_rows(self, name: str, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
        """Write a CSV file into the job's folder."""
        with (self.folder / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(list(header))
            writer.writerows([list(row) for row in rows])
