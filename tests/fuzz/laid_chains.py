"""A chain of releases on disk: data, hierarchies and job files, and what each public file means."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from fuzz.chains import TOTAL, Chain, Step
from fuzz.jobs import write_rows, write_toml
from fuzz.readers import VARIABLE, PublishedTable, Release, Sets
from fuzz.sensitive import Record, Variable, levels_of

Row = dict[str, str]


class LaidChain:
    """The files of a chain in a folder; each job is `rN.toml`, with the output folder `outN`."""

    def __init__(self, chain: Chain, folder: Path, is_blind: bool = False) -> None:
        self.chain, self.folder, self.is_blind = chain, folder, is_blind
        self.steps: list[Step] = chain["steps"]
        folder.mkdir(parents=True, exist_ok=True)

    def job(self, number: int) -> Step:
        """The step whose records and rules a step publishes: its own, or those of the instance's job."""
        step = self.steps[number]
        return self.job(step["of"]) if step["kind"] == "instance" else step

    def output(self, number: int) -> Path:
        """The output folder of a step."""
        return self.folder / f"out{number}"

    # -- records ------------------------------------------------------------------------------------------

    def rows(self, number: int) -> list[Row]:
        """The records of the time of a job, in the codes of the chain."""
        last = self.steps[number]["of"] if self.steps[number]["kind"] == "instance" else number
        rows: list[Row | None] = [dict(row) for row in self.chain["records"]]
        for step in self.steps[: last + 1]:
            for change in step.get("revise", []):
                if change["record"] < len(rows):
                    rows[change["record"]] = self._revised(rows[change["record"]], change)
        return [row for row in rows if row is not None]

    def _revised(self, row: Row | None, change: Mapping[str, Any]) -> Row | None:
        if row is None or change["kind"] == "gone":
            return None
        if change["kind"] == "move":
            return row | {change["column"]: change["code"]}
        names = [change["variable"]] + (["tot"] if self.chain["equation"] else [])
        digit = Fraction(1, 10 ** self.chain["decimals"])
        found = dict(row)
        for name in names:
            before = Fraction(row[name])
            after = before + change["by"] * digit
            if before > 0 >= after:
                after = before + abs(change["by"]) * digit
            if before < 0 <= after:
                after = before - abs(change["by"]) * digit
            found[name] = f"{float(after):.{self.chain['decimals']}f}"
        return found

    def records(self, number: int) -> list[Record]:
        """The records of the time of a step as the judge wants them, also those outside its population."""
        has_ids = self.job(number)["contributor"]
        return [
            Record(
                {column: row[column] for column in self.chain["columns"]},
                {name: Fraction(row[name]) for name in self.chain["variables"]},
                row["firm"] if has_ids else f"record {place}",
                row["grp"],
                Fraction(row["wt"]),
            )
            for place, row in enumerate(self.rows(number))
        ]

    def _inside(self, step: Step, rows: Iterable[Row]) -> list[Row]:
        limits = step.get("population", {})
        return [row for row in rows if all(row[column] in codes for column, codes in limits.items())]

    # -- files --------------------------------------------------------------------------------------------

    def write(self, number: int, against: Sequence[str], mapping: Mapping[str, Any]) -> Path:
        """Write the job file of a step, and what it reads."""
        step = self.steps[number]
        job: dict[str, Any] = {"title": f"Release {number}", "output": f"out{number}"}
        if step["kind"] == "instance":
            job["instance"] = f"out{step['of']}/internal/instance"
        else:
            job |= self._job(number, step, step["rules"])
        job["release"] = {"formats": ["csv"]}
        job["suppress"] = {"time_limit": 1.0}
        if against:
            job["against"] = {"releases": list(against)} | dict(mapping)
        path = self.folder / f"r{number}.toml"
        write_toml(path, job)
        return path

    def write_stale(self, number: int) -> Path:
        """The same job with the rules it had before."""
        step = self.steps[number]
        job = {"title": "Before", "output": f"out{number}"} | self._job(number, step, step["stale_rules"])
        job |= {"release": {"formats": ["csv"]}, "suppress": {"time_limit": 1.0}}
        path = self.folder / f"r{number}.toml"
        write_toml(path, job)
        return path

    def _job(self, number: int, step: Step, rules: list[Any]) -> dict[str, Any]:
        views = step["views"]
        micro = self._data(number, step)
        if step["contributor"]:
            micro["contributor"] = "firm"
        if step["holding"]:
            micro["holding"] = "grp"
        if step["weight"]:
            micro["weight"] = "wt"
        if self.chain["signed"]:
            micro["allow_negative"] = True
        job: dict[str, Any] = {"microdata": micro, "rules": rules}
        if step["attackers"] == "outsiders":
            job["attackers"] = []
        job["dimensions"] = {
            name: settings
            for column in views
            if (settings := self._dimension(number, step, column)) and (name := self.name(step, column))
        }
        job["tables"] = []
        for place, table in enumerate(step["tables"]):
            made: dict[str, Any] = {
                "name": f"t{place}",
                "dimensions": [self.name(step, column) for column in table["dimensions"]],
            }
            if table["response"]:
                made["response"] = table["response"]
                if "decimals" in step:
                    made |= {"decimals": step["decimals"], "rounding": True}
            if table.get("to_level"):
                made["to_level"] = {self.name(step, c): level for c, level in table["to_level"].items()}
            job["tables"].append(made)
        if step["equation"]:
            job["equations"] = {"tot": ["dom", "exp"]}
        cells = [cell for cell in step["cells"] if self._may_be_set(number, step, cell)]
        if cells:
            job["cells"] = [self._cell(step, cell) for cell in cells]
        return job

    def name(self, step: Step, column: str) -> str:
        """What a release calls the dimension of a column."""
        return str(step["views"][column].get("name", column))

    def _may_be_set(self, number: int, step: Step, cell: Mapping[str, Any]) -> bool:
        """Whether the cell is there, and no rule forbids to publish it."""
        inside = [
            record
            for record in self.records(number)
            if all(record.codes[column] == code for column, code in cell["key"].items())
            and all(record.codes[column] in codes for column, codes in self._sets(step).items())
        ]
        response = step["tables"][cell["table"]]["response"] or ""
        variable, digit = Variable(response, step["weight"]), Fraction(1, 10 ** self.chain["decimals"])
        is_sensitive = levels_of(inside, variable, step["rules"], digit, Fraction(0)) is not None
        return bool(inside) and not (is_sensitive and cell["status"] == "z")

    def _forced(self, number: int, step: Step) -> list[tuple[Variable, dict[str, Sets]]]:
        """The cells that the job sets to be published."""
        found = []
        for cell in step["cells"]:
            if cell["status"] == "z" and self._may_be_set(number, step, cell):
                response = step["tables"][cell["table"]]["response"] or ""
                sets = {column: frozenset([code]) for column, code in cell["key"].items()}
                found.append((Variable(response, step["weight"]), sets))
        return found

    def _cell(self, step: Step, cell: Mapping[str, Any]) -> dict[str, Any]:
        key = {
            self.name(step, column): step["views"][column].get("rename", {}).get(code, code)
            for column, code in cell["key"].items()
        }
        responses = {table["response"] for table in step["tables"]}
        if len(responses) > 1:
            response = step["tables"][cell["table"]]["response"]
            key[VARIABLE] = response or "count"
        return {"key": key, "status": cell["status"]}

    def _data(self, number: int, step: Step) -> dict[str, Any]:
        views = step["views"]
        by_query = bool(step.get("population"))  # what a file leaves out, no program can know
        rows = self.rows(number) if by_query else self._inside(step, self.rows(number))
        for column in (column for column, view in views.items() if view["form"] == "levels"):
            above = {child: parent for parent, child in self.chain["trees"][column]}
            rows = [row | {f"{column}_large": above[row[column]]} for row in rows]
        named = {column: view.get("file_column", column) for column, view in views.items()}
        header = [named.get(name, name) for name in rows[0]] if rows else ["firm"]
        recode = {column: view.get("rename", {}) for column, view in views.items()}
        lines = [[recode.get(name, {}).get(text, text) for name, text in row.items()] for row in rows]
        if not by_query:
            write_rows(self.folder / f"firms{number}.csv", header, lines)
            return {"file": f"firms{number}.csv"}
        path = self.folder / f"firms{number}.sqlite"
        path.unlink(missing_ok=True)
        numbers = {*self.chain["variables"], "wt"}
        kinds = [f"{name} {'REAL' if name in numbers else 'TEXT'}" for name in header]
        with sqlite3.connect(path) as database:
            database.execute(f"CREATE TABLE firms ({', '.join(kinds)})")
            marks = ", ".join("?" for _ in header)
            database.executemany(f"INSERT INTO firms VALUES ({marks})", lines)
        database.close()
        limits = []
        for column, codes in step["population"].items():
            texts = ", ".join(repr(recode.get(column, {}).get(code, code)) for code in codes)
            limits.append(f"{named.get(column, column)} IN ({texts})")
        return {"file": path.name, "query": f"SELECT * FROM firms WHERE {' AND '.join(limits)}"}

    def _dimension(self, number: int, step: Step, column: str) -> dict[str, Any]:
        view = step["views"][column]
        found: dict[str, Any] = {}
        in_file, name = view.get("file_column", column), self.name(step, column)
        if in_file != name:
            found["column"] = in_file
        rename, form = view.get("rename", {}), view["form"]
        total = view.get("total", TOTAL)
        files = []
        for place, tree in enumerate(self._trees(form, column) if form != "levels" else []):
            pairs = [
                [total if parent == TOTAL else parent, rename.get(child, child)] for parent, child in tree
            ]
            files.append(f"{column}{number}{'ab'[place]}.csv")
            write_rows(self.folder / files[-1], ["parent", "child"], pairs)
        if files:
            found["hierarchy"] = files if len(files) > 1 else files[0]
        elif total != TOTAL:
            found["total"] = total
        if form == "levels":
            found["levels"] = [f"{column}_large"]
        if form == "to_level":
            found["to_level"] = view["level"]
        if form == "fold":
            found["fold"] = view["codes"]
        if form == "tree recode":
            (self.folder / f"{column}{number}.grc").write_text(
                "\n".join(["<TREERECODE>", *view["codes"], ""])
            )
            found["recode"] = f"{column}{number}.grc"
        if form in ("join", "recode"):
            joined = self._joined(number, step, column)
            if joined and form == "join":
                found["join"] = joined
            elif joined:
                lines = [f"{new} : {old}" for new, old in joined.items()]
                (self.folder / f"{column}{number}.grc").write_text("\n".join([*lines, ""]))
                found["recode"] = f"{column}{number}.grc"
        return found

    def _trees(self, form: str, column: str) -> list[list[list[str]]]:
        """The trees over a column that a form shows."""
        if form in ("flat", "join", "recode"):
            return []
        second = [self.chain["second"][column]] if form == "two trees" else []
        return [self.chain["trees"][column], *second]

    def _joined(self, number: int, step: Step, column: str) -> dict[str, str]:
        """New codes with those old ones that occur: others would be refused."""
        view = step["views"][column]
        there = {row[column] for row in self._inside(step, self.rows(number))}
        rename = view.get("rename", {})
        found = {}
        for new, old in view["join"].items():
            codes = [rename.get(code, code) for code in old if code in there]
            if codes:
                found[new] = ", ".join(codes)
        return found

    # -- meaning ------------------------------------------------------------------------------------------

    def codes(self, number: int, column: str) -> dict[str, Sets]:
        """What each code of a column contains in a release."""
        step = self.job(number)
        view = step["views"][column]
        rename, total = view.get("rename", {}), view.get("total", TOTAL)
        finest = {*self.chain["columns"][column]}
        found = {rename.get(code, code): frozenset([code]) for code in finest}
        found[total] = frozenset(finest)
        for tree in self._trees(view["form"], column):
            for parent, _ in tree:
                if parent != TOTAL:
                    found[parent] = frozenset(below(tree, parent))
        if view["form"] in ("join", "recode"):
            there = {row[column] for row in self._inside(step, self.rows(number))}
            for new, old in view["join"].items():
                if there & {*old}:
                    found[new] = frozenset(old)
        return found

    def release(self, number: int, public: Path) -> Release:
        """A release as the judge wants it."""
        step = self.job(number)
        used = list(step["views"])
        columns = {self.name(step, column): column for column in used}
        codes = {self.name(step, column): self.codes(number, column) for column in used}
        variables = {
            table["response"] or "count": Variable(table["response"] or "", step["weight"])
            for table in step["tables"]
        }
        tables = []
        for path in sorted(public.glob("*.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                header = next(csv.reader(file))
            mine = {name: column for name, column in columns.items() if name in header}
            if VARIABLE in header:
                named: dict[str, Variable] = variables
            elif path.stem[:1] == "t" and path.stem[1:].isdigit():
                response = step["tables"][int(path.stem[1:])]["response"]
                named = {"": Variable(response or "", step["weight"])}
            else:
                assert len(variables) == 1
                named = {"": next(iter(variables.values()))}
            tables.append(
                PublishedTable(
                    path.stem, mine, {name: codes[name] for name in mine}, named,
                    self.steps[number]["kind"] == "job",
                )
            )  # fmt: skip
        rounds, is_instance = "decimals" in step, self.steps[number]["kind"] == "instance"
        return Release(
            f"out{number}", public, tables, self.records(number), self._sets(step),
            Fraction(1, 10 ** step["decimals"]) if rounds else Fraction(0),
            step["rules"], self._forced(number, step), {"tot": ["dom", "exp"]} if step["equation"] else {},
            self.output(number) / "internal",
            self.output(self.steps[number]["of"]) / "internal" if is_instance else None, not is_instance,
        )  # fmt: skip

    def _sets(self, step: Step) -> dict[str, Sets]:
        return {column: frozenset(codes) for column, codes in step.get("population", {}).items()}


def below(tree: Iterable[Sequence[str]], code: str) -> set[str]:
    """The finest codes under a code of a tree."""
    pairs = list(tree)
    children = [child for parent, child in pairs if parent == code]
    return set().union(*(below(pairs, child) for child in children)) if children else {code}
