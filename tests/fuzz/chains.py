"""Random chains of releases: one file of records, published two to four times in different ways.

A chain is plain data (dictionaries, lists, texts), so that it can be stored, cut down and run again. `lay` in
`laid_chains` writes its files. Everything is drawn from one seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Chain = dict[str, Any]
Step = dict[str, Any]

COLUMNS = ("reg", "size", "sec")
TOTAL = "Total"
RENAMED = {"reg": "region", "size": "class", "sec": "branch"}


def draw_chain(seed: int) -> Chain:
    """A chain of two to four releases."""
    return _Draws(random.Random(f"chain {seed}")).chain()


def draw_margins(seed: int) -> Chain:
    """One job with three or more linked tables of few records, without former releases."""
    return _Draws(random.Random(f"margins {seed}")).margins()


@dataclass
class _Draws:
    rng: random.Random
    made: Chain = field(default_factory=dict)

    def some(self, share: float) -> bool:
        return self.rng.random() < share

    # -- the file -----------------------------------------------------------------------------------------

    def chain(self) -> Chain:
        rng = self.rng
        columns = rng.choices([1, 2, 3], [10, 62, 28])[0]
        self._data(columns, rng.randint(8, 60) if columns < 3 else rng.randint(12, 60))
        number = rng.choices([2, 3, 4], [50, 32, 18])[0]
        strict = rng.choices(["later", "any"], [60, 40])[0]
        usual = {column: self._view(column, True) for column in self.made["columns"]}
        steps: list[Step] = []
        for place in range(number):
            if steps and self.some(0.12):
                steps.append(self._instance(steps))
                continue
            step = self._job(usual, place if strict == "later" else rng.randint(0, 2))
            if steps and self.some(0.2):
                step["revise"] = self._revisions()
            steps.append(step)
        self.made["steps"] = steps
        jobs = [n for n, step in enumerate(steps) if step["kind"] == "job"]
        if len(jobs) > 1 and jobs[-1] == number - 1 and jobs[-2] == number - 2 and self.some(0.1):
            steps[-1]["batch"] = rng.choice(["in order", "reversed"])
            if self.some(0.7):
                steps[-2]["stale_rules"] = self._rules(rng.randint(0, 2))
        return self.made

    def margins(self) -> Chain:
        rng = self.rng
        columns = 3
        self._data(columns, rng.randint(6, 40), equations=False)
        names = list(self.made["columns"])
        pairs = [[a, b] for place, a in enumerate(names) for b in names[place + 1 :]]
        tables = [{"dimensions": pair} for pair in pairs]
        if self.some(0.12):
            tables.append({"dimensions": names})
            for table in tables:
                for name in table["dimensions"]:
                    if len(table["dimensions"]) == 3 and name in self.made["trees"] and self.some(0.6):
                        table.setdefault("to_level", {})[name] = 1
        views = {name: self._view(name, True) for name in names}
        for table in tables:
            table["response"] = self.made["variables"][0] if not self.some(0.12) else None
            for name in table["dimensions"]:
                deep = self._depth(name) > 1 and views[name]["form"] == "tree"
                if deep and "to_level" not in table and self.some(0.15):
                    table["to_level"] = {name: 1}
        if self.some(0.8):
            response = tables[0]["response"]
            for table in tables:
                table["response"] = response
        for table in tables:
            table["to_level"] = {
                name: level
                for name, level in table.get("to_level", {}).items()
                if views[name]["form"] == "tree"
            }
        step = self._step(tables, views, rng.randint(0, 2))
        step["cells"] = self._cells(step, rng.choice([0, 0, 1, 2, 3]))
        self.made["steps"] = [step]
        return self.made

    def _data(self, number: int, firms: int, *, equations: bool = True) -> None:
        rng = self.rng
        columns, trees, second = {}, {}, {}
        for column in COLUMNS[:number]:
            codes, tree = self._codes(
                column[0].upper(), rng.randint(3, 6) if number < 3 else rng.randint(2, 4)
            )
            columns[column] = codes
            if tree:
                trees[column] = tree
                mixed, half = rng.sample(codes, len(codes)), len(codes) // 2
                sides = {"coast": mixed[:half], "hills": mixed[half:]}
                second[column] = [[TOTAL, side] for side in sides]
                second[column] += [[side, code] for side, inside in sides.items() for code in inside]
        kind = rng.choices(["one", "sum", "two", "signed"], [58, 24 if equations else 0, 10, 8])[0]
        variables = {"one": ["v"], "sum": ["tot", "dom", "exp"], "two": ["v", "w"], "signed": ["v"]}[kind]
        self.made |= {
            "columns": columns,
            "trees": trees,
            "second": second,
            "variables": variables,
            "signed": kind == "signed",
        }
        self.made["equation"] = kind == "sum"
        decimals = rng.choices([0, 1], [65, 35])[0]
        self.made["decimals"] = decimals
        skew = rng.choice([0.5, 1.0, 1.6])
        records = []
        for firm in range(firms):
            record: dict[str, Any] = {"firm": f"f{firm}", "grp": f"h{rng.randint(0, firms * 2 // 3)}"}
            record["wt"] = str(rng.choice([1, 1, 2, 3, 5]))
            for column, codes in columns.items():
                record[column] = rng.choice(codes[: rng.choice([len(codes), max(2, len(codes) // 2)])])
            record |= self._amounts(variables, decimals, skew, kind)
            records.append(record)
        if self.some(0.15):
            for record in records[:: rng.randint(3, 6)]:
                record["firm"] = rng.choice(records)["firm"]
        self.made["records"] = records

    def _codes(self, letter: str, number: int) -> tuple[list[str], list[list[str]]]:
        """Finest codes and, mostly, a tree over them: one or two levels, ragged, with single children."""
        rng = self.rng
        codes = [f"{letter}{place}" for place in range(1, number + 1)]
        if self.some(0.25):
            return codes, []
        cuts = sorted(rng.sample(range(1, number), min(rng.randint(1, 2), number - 1)))
        groups = [codes[a:b] for a, b in zip([0, *cuts], [*cuts, number], strict=True)]
        tree = []
        for place, group in enumerate(groups):
            name = f"{letter}{'abc'[place]}"
            if len(group) == 1 and self.some(0.6):
                tree.append([TOTAL, group[0]])
                continue
            tree.append([TOTAL, name])
            if len(group) > 2 and self.some(0.4):
                tree += [[name, f"{name}a"], [name, group[0]]]
                tree += [[f"{name}a", code] for code in group[1:]]
            else:
                tree += [[name, code] for code in group]
        if len([pair for pair in tree if pair[0] == TOTAL]) == 1:
            return codes, []
        return codes, tree

    def _amounts(self, variables: list[str], decimals: int, skew: float, kind: str) -> dict[str, str]:
        rng = self.rng

        def amount() -> int:
            return max(1, round(rng.lognormvariate(3, skew) * 10**decimals))

        found = {name: amount() for name in variables}
        if kind == "sum":
            found["tot"] = found["dom"] + found["exp"]
        if kind == "signed" and self.some(0.3):
            found["v"] = -found["v"]
        return {name: _text(value, decimals) for name, value in found.items()}

    # -- one release --------------------------------------------------------------------------------------

    def _view(self, column: str, usual: bool) -> dict[str, Any]:
        """How a release shows a column: its codes, the names of dimension and total."""
        rng, made = self.rng, self.made
        codes, tree = made["columns"][column], made["trees"].get(column)
        view: dict[str, Any] = {"form": "tree" if tree and self.some(0.75) else "flat"}
        if view["form"] == "tree" and self.some(0.12):
            view["form"] = rng.choice(["two trees", "levels"] if self._is_even(column) else ["two trees"])
        if usual:
            return view
        groups = sorted({parent for parent, _ in tree or []} - {TOTAL})
        forms = ["flat", "join", "join", "recode"] + (
            ["tree", "two trees", "to_level", "fold", "tree recode"] if groups else []
        )
        view = {"form": rng.choice(forms)}
        if view["form"] == "to_level":
            view["level"] = rng.randint(1, max(1, self._depth(column) - 1))
        if view["form"] in ("fold", "tree recode"):
            view["codes"] = rng.sample(groups, 1)
        if view["form"] in ("join", "recode"):
            names = ["J1", "J2"]
            if self.some(0.25) and groups:
                names[0] = rng.choice(groups)
            mixed = rng.sample(codes, len(codes))
            size = rng.randint(2, max(2, len(codes) - 1))
            view["join"] = {names[0]: sorted(mixed[:size])}
            if len(codes) - size >= 2 and self.some(0.4):
                view["join"]["J2"] = sorted(mixed[size : size + 2])
        return view

    def _is_even(self, column: str) -> bool:
        """Whether all finest codes stand on the second level of the tree."""
        large = {child for parent, child in self.made["trees"][column] if parent == TOTAL}
        below = [child for parent, child in self.made["trees"][column] if parent in large]
        return sorted(below) == sorted(self.made["columns"][column])

    def _depth(self, column: str) -> int:
        above = {child: parent for parent, child in self.made["trees"].get(column, [])}
        depth = 0
        for code in above:
            steps, at = 0, code
            while at in above:
                steps, at = steps + 1, above[at]
            depth = max(depth, steps)
        return depth

    def _job(self, usual: dict[str, dict[str, Any]], strict: int) -> Step:
        rng, made = self.rng, self.made
        views = {}
        for column in made["columns"]:
            views[column] = dict(usual[column]) if self.some(0.55) else self._view(column, False)
        columns = list(made["columns"])
        tables = []
        for variable in self._responses():
            number = rng.choices([1, 2, 3], [72, 20, 8])[0]
            for _ in range(number):
                dims = rng.sample(columns, rng.randint(1, len(columns)))
                table: dict[str, Any] = {"dimensions": sorted(dims, key=columns.index), "response": variable}
                deep = [d for d in dims if views[d]["form"] == "tree" and self._depth(d) > 1]
                if deep and self.some(0.15):
                    table["to_level"] = {rng.choice(deep): 1}
                if all(
                    one["dimensions"] != table["dimensions"] or one["response"] != variable for one in tables
                ):
                    tables.append(table)
        step = self._step(tables, views, strict)
        step["cells"] = self._cells(step, 1) if self.some(0.12) else []
        self._odd(step)
        return step

    def _responses(self) -> list[str | None]:
        rng, variables = self.rng, self.made["variables"]
        if self.some(0.12):
            return [None] if self.some(0.6) else [None, variables[0]]
        if len(variables) == 1:
            return list(variables)
        return rng.choice(
            [variables, variables, variables[:1], variables[1:2], variables[-1:], variables[-2:]]
        )

    def _step(self, tables: list[dict[str, Any]], views: dict[str, Any], strict: int) -> Step:
        rng = self.rng
        step: Step = {"kind": "job", "tables": tables, "rules": self._rules(strict)}
        used = {name for table in tables for name in table["dimensions"]}
        step["views"] = {column: view for column, view in views.items() if column in used}
        step["weight"] = self.some(0.1)
        step["holding"] = self.some(0.15)
        if step["holding"] and self.some(0.7):
            for rule in step["rules"]:
                rule["level"] = "holding"
        step["contributor"] = not self.some(0.1)
        step["attackers"] = "default" if self.some(0.12) else "outsiders"
        step["against"] = rng.choice(["public", "public", "output", "copy", "kept"])
        responses = {table["response"] for table in tables}
        step["equation"] = self.made["equation"] and {"tot", "dom", "exp"} <= responses
        return step

    def _odd(self, step: Step) -> None:
        """Renamed dimensions, totals and codes, rounding, populations."""
        rng, made = self.rng, self.made
        for column, view in step["views"].items():
            if self.some(0.07):
                view["name"] = RENAMED[column]
            if self.some(0.04):
                view["file_column"] = f"{column}_code"
            if self.some(0.08):
                view["total"] = "Alle"
            if self.some(0.05):
                view["rename"] = {code: f"x{code}" for code in made["columns"][column]}
            elif self.some(0.02):
                codes = made["columns"][column]
                view["rename"] = dict(zip(codes, rng.sample(codes, len(codes)), strict=True))
        if made["decimals"] and not made["equation"] and self.some(0.35):
            step["decimals"] = 0
        if len(made["columns"]) > 1 and self.some(0.07):
            column = rng.choice(list(made["columns"]))
            codes = made["columns"][column]
            step["population"] = {column: sorted(rng.sample(codes, rng.randint(1, len(codes) - 1)))}
        step["mapping"] = self.some(0.7)
        step["accept"] = self.some(0.6)

    def _rules(self, strict: int) -> list[dict[str, Any]]:
        rng = self.rng
        makers = [
            lambda: {"rule": "threshold", "minimum": rng.choice([[2], [2, 3], [3, 4]][min(strict, 2)])},
            lambda: {"rule": "p%", "p": rng.choice([[5, 10], [10, 20], [20, 30, 40]][min(strict, 2)])},
            lambda: {"rule": "dominance", "n": rng.choice([1, 2]), "k": [95, 85, 75][min(strict, 2)]},
        ]
        chosen = rng.choices(makers, [45, 40, 15], k=rng.choices([1, 2], [75, 25])[0])
        found: list[dict[str, Any]] = []
        for maker in chosen:
            rule = maker()
            if all(rule["rule"] != other["rule"] for other in found):
                found.append(rule)
        return found

    def _cells(self, step: Step, number: int) -> list[dict[str, Any]]:
        """Cells that must be published: pairs of the table's number and finest codes or totals."""
        rng, found = self.rng, []
        for _ in range(number):
            place = rng.randrange(len(step["tables"]))
            dims = step["tables"][place]["dimensions"]
            forms = {step["views"][name]["form"] for name in dims}
            if not forms <= {"flat", "tree"} or step["tables"][place].get("to_level"):
                continue
            key = {name: rng.choice(self.made["columns"][name]) for name in dims if self.some(0.85)}
            found.append({"table": place, "key": key, "status": rng.choice(["z", "z", "m"])})
        return found

    def _instance(self, steps: list[Step]) -> Step:
        jobs = [number for number, step in enumerate(steps) if step["kind"] == "job"]
        return {
            "kind": "instance",
            "of": self.rng.choice(jobs),
            "against": self.rng.choice(["public", "copy"]),
        }

    def _revisions(self) -> list[dict[str, Any]]:
        """Changes of a few records, from this release on: small, large, or to another code."""
        rng, made = self.rng, self.made
        found = []
        for _ in range(rng.randint(1, 3)):
            number = rng.randrange(len(made["records"]))
            kind = rng.choices(["small", "large", "move", "gone"], [50, 25, 15, 10])[0]
            change: dict[str, Any] = {"record": number, "kind": kind}
            if kind == "move":
                column = rng.choice(list(made["columns"]))
                change |= {"column": column, "code": rng.choice(made["columns"][column])}
            elif kind != "gone":
                change["variable"] = "dom" if made["equation"] else made["variables"][0]
                change["by"] = rng.choice([-1, 1, 2, 3]) if kind == "small" else rng.choice([40, 100, 300])
            found.append(change)
        return found


def _text(value: int, decimals: int) -> str:
    """A whole number of the last digit as a text."""
    if not decimals:
        return str(value)
    sign = "-" if value < 0 else ""
    return f"{sign}{abs(value) // 10**decimals}.{abs(value) % 10**decimals:0{decimals}}"
