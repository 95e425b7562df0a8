"""What is true of a job, worked out from its files alone: cells by name, relations, contributions, knowledge.

Shares nothing with the package: CSV and TOML in, whole numbers out. A cell is named by one code per dimension
(and the variable, where there are several). Codes that are a parent's only child are the parent itself.
"""

from __future__ import annotations

import csv
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

Key = tuple[str, ...]
VARIABLE = "variable"
LEVELS = ("unit", "holding")


@dataclass
class Member:
    """What one contributor has in one cell, in true units."""

    amount: Fraction = Fraction(0)
    weighted: Fraction = Fraction(0)
    product: Fraction = Fraction(0)
    weight_sum: Fraction = Fraction(0)
    records: int = 0

    def add(self, amount: Fraction, weight: Fraction, weighted: Fraction) -> None:
        """Add a record."""
        self.amount += amount
        self.weighted += weighted
        self.product += weight * amount
        self.weight_sum += weight
        self.records += 1

    @property
    def weight(self) -> Fraction:
        """Of all its records together."""
        return self.product / self.amount if self.amount else self.weight_sum / self.records


@dataclass
class Cell:
    """One cell: the value, who contributes what to response and shadow, by level."""

    value: Fraction = Fraction(0)
    rule_parts: dict[str, dict[str, Member]] = field(default_factory=lambda: {level: {} for level in LEVELS})
    own_parts: dict[str, dict[str, Fraction]] = field(default_factory=lambda: {level: {} for level in LEVELS})
    count: int | None = 0


@dataclass
class World:
    """All cells of a job, as the judge sees them; amounts are whole numbers of the last digit."""

    job: dict[str, Any]
    dimensions: list[str]
    aliases: dict[str, dict[str, str]]
    totals: dict[str, str]
    decimals: int = 0
    cells: dict[Key, Cell] = field(default_factory=dict)
    relations: list[dict[Key, int]] = field(default_factory=list)
    has_weights: bool = False
    waivers: dict[str, set[str]] = field(default_factory=lambda: {level: set() for level in LEVELS})
    requests: dict[str, dict[str, set[str]]] = field(default_factory=lambda: {level: {} for level in LEVELS})
    signed: set[str] = field(default_factory=set)
    freed: set[str] = field(default_factory=set)
    has_parts: bool = False
    ids: set[str] = field(default_factory=set)
    statuses: dict[Key, str] = field(default_factory=dict)
    excused: set[Key] = field(default_factory=set)
    given_levels: dict[Key, tuple[int, int, int]] = field(default_factory=dict)
    lb: dict[Key, int | None] = field(default_factory=dict)
    ub: dict[Key, int | None] = field(default_factory=dict)
    lb_for_levels: dict[Key, int | None] = field(default_factory=dict)

    def value(self, key: Key) -> int:
        """The value as a whole number of the last digit."""
        return self.scaled(self.cells[key].value)

    def scaled(self, amount: Fraction) -> int:
        """An amount as a whole number of the last digit; rounding is a fault of the judge."""
        scaled = amount * 10**self.decimals
        assert scaled.denominator == 1, "an amount with more decimals than the table has"
        return int(scaled)

    def variable(self, key: Key) -> str:
        """The response variable of a cell."""
        return key[-1] if self.dimensions[-1:] == [VARIABLE] else ""

    def cell_of(self, codes: dict[str, str]) -> Key:
        """The cell of some codes; a dimension left out means its total."""
        return self.canonical(tuple(codes.get(name, self.totals.get(name, "")) for name in self.dimensions))

    def canonical(self, names: Key) -> Key:
        """The cell of these names."""
        return tuple(self.aliases[d].get(code, code) for d, code in zip(self.dimensions, names, strict=True))


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_world(folder: Path) -> World:
    """Work out everything the judge needs from the job's files."""
    job = tomllib.loads((folder / "job.toml").read_text(encoding="utf-8"))
    if "instance" in job:
        from fuzz.given import read_instance

        return read_instance(job, folder / job["instance"])
    data = _Data(job, folder)
    world = data.world
    _by_hand(world)
    _known_bounds(world)
    return world


# -- dimensions -------------------------------------------------------------------------------------------


@dataclass
class Axis:
    """A dimension: its codes with only children merged into their parents, and how they add up."""

    total: str
    trees: list[list[tuple[str, str]]]

    def __post_init__(self) -> None:
        self.alias: dict[str, str] = {}
        for tree in self.trees:
            below = defaultdict(list)
            for parent, child in tree:
                below[parent].append(child)
            for parent, children in below.items():
                if len(children) == 1:
                    self._merge(parent, children[0])
        self.total = self.name(self.total)
        self.codes = list(
            dict.fromkeys(
                [self.total] + [self.name(code) for tree in self.trees for pair in tree for code in pair]
            )
        )
        self.sums: list[tuple[str, list[str]]] = []
        for tree in self.trees:
            below = defaultdict(list)
            for parent, child in tree:
                if self.name(parent) != self.name(child):
                    below[self.name(parent)].append(self.name(child))
            self.sums += [(parent, children) for parent, children in below.items() if len(children) > 1]

    def name(self, code: str) -> str:
        """The one name of a code."""
        while code in self.alias:
            code = self.alias[code]
        return code

    def _merge(self, parent: str, child: str) -> None:
        parent, child = self.name(parent), self.name(child)
        if parent != child:
            self.alias[child] = parent

    def covers(self, leaf: str) -> set[str]:
        """All codes that contain the leaf."""
        found, stack = {self.name(leaf)}, [self.name(leaf)]
        while stack:
            code = stack.pop()
            above = {parent for parent, children in self.sums if code in children} - found
            found |= above
            stack += above
        return found

    @property
    def aliases(self) -> dict[str, str]:
        """All names of codes that have another one."""
        return {code: self.name(code) for code in self.alias}


def read_tree(path: Path, lead: str, total: str) -> list[tuple[str, str]]:
    """Parent and child from a CSV or an indented file."""
    if path.suffix == ".csv":
        return [(row["parent"], row["child"]) for row in read_rows(path)]
    pairs, above = [], [total]
    for line in path.read_text(encoding="utf-8").splitlines():
        depth = 0
        while line.startswith(lead):
            line, depth = line[len(lead) :], depth + 1
        pairs.append((above[depth], line))
        above = [*above[: depth + 1], line]
    return pairs


def root_of(tree: list[tuple[str, str]]) -> str:
    """The code above all others."""
    children = {child for _, child in tree}
    return next(parent for parent, _ in tree if parent not in children)


# -- microdata and ready-made tables ----------------------------------------------------------------------


class _Data:
    """The tables of a job, tabulated or read, and linked."""

    def __init__(self, job: dict[str, Any], folder: Path) -> None:
        self.job, self.folder = job, folder
        self.micro = job.get("microdata")
        self.records = read_rows(folder / self.micro["file"]) if self.micro else []
        self.files = {t["file"]: read_rows(folder / t["file"]) for t in job["tables"] if "file" in t}
        names = list(dict.fromkeys(name for table in job["tables"] for name in table["dimensions"]))
        self.axes = {name: self._axis(name) for name in names}
        variables = list(dict.fromkeys(_variable(table) for table in job["tables"]))
        several = len(variables) > 1 or bool(job.get("equations"))
        dimensions = [*names, VARIABLE] if several else names
        aliases = {name: axis.aliases for name, axis in self.axes.items()} | {VARIABLE: {}}
        self.world = World(job, dimensions, aliases, {name: axis.total for name, axis in self.axes.items()})
        self.several = several
        self._read_roles()
        digits = [self._add(table) for table in job["tables"]]
        self.world.decimals = max(digits)
        for left, right in job.get("equations", {}).items():
            self._equation(left, right if isinstance(right, dict) else dict.fromkeys(right, 1))

    def column(self, name: str) -> str:
        return str(self.job.get("dimensions", {}).get(name, {}).get("column", name))

    def _axis(self, name: str) -> Axis:
        settings = self.job.get("dimensions", {}).get(name, {})
        total = settings.get("total", "Total")
        if "hierarchy" in settings:
            files = settings["hierarchy"]
            files = [files] if isinstance(files, str) else files
            trees = [read_tree(self.folder / file, settings.get("lead", "@"), total) for file in files]
            return Axis(root_of(trees[0]), trees)
        rows = [row for t in self.job["tables"] if name in t["dimensions"] for row in self._rows(t)]
        codes = sorted({row[self.column(name)] for row in rows} - {total})
        if "digits" in settings:
            first = settings["digits"][0]
            leaves = [code for code in codes if len(code) > first]
            tree = [(total, g) for g in sorted({leaf[:first] for leaf in leaves})]
            return Axis(total, [tree + [(leaf[:first], leaf) for leaf in leaves]])
        if "levels" in settings:
            (level,) = settings["levels"]
            pairs = sorted({(row[level], row[self.column(name)]) for row in rows})
            return Axis(total, [[(total, group) for group in sorted({g for g, _ in pairs})] + pairs])
        return Axis(total, [[(total, code) for code in codes]])

    def _rows(self, table: dict[str, Any]) -> list[dict[str, str]]:
        return self.files[table["file"]] if "file" in table else self.records

    def _read_roles(self) -> None:
        world, micro = self.world, self.micro or {}
        world.has_weights, world.has_parts = "weight" in micro, bool(micro)
        said: dict[str, dict[str, list[bool]]] = {level: defaultdict(list) for level in LEVELS}
        for number, row in enumerate(self.records):
            for level, who in self._members(row, number).items():
                if "firm" in row:
                    world.ids |= {row["firm"], row["grp"]}
                if "waiver" in micro:
                    said[level][who].append(row[micro["waiver"]] == "yes")
                if "request" in micro:
                    world.requests[level].setdefault(who, set()).add(row[micro["request"]])
        for level in LEVELS:
            world.waivers[level] = {who for who, all_said in said[level].items() if all(all_said)}

    def _members(self, row: dict[str, str], number: int) -> dict[str, str]:
        micro = self.micro or {}
        unit = row[micro["contributor"]] if "contributor" in micro else f"record {number}"
        return {"unit": unit} | ({"holding": row[micro["holding"]]} if "holding" in micro else {})

    def _add(self, table: dict[str, Any]) -> int:
        """Add a table's cells and relations; return its decimals."""
        axes = [(name, self.axes[name]) for name in table["dimensions"]]
        variable = _variable(table)
        for codes in product(*(axis.codes for _, axis in axes)):
            self.world.cells.setdefault(self._key(axes, codes, variable), Cell())
        done = {key for key, cell in self.world.cells.items() if cell.rule_parts["unit"] or cell.value}
        digits = self._fill_from_file(table, axes) if "file" in table else self._fill(table, axes, done)
        for place, (_, axis) in enumerate(axes):
            others = [[a.total] if n == place else a.codes for n, (_, a) in enumerate(axes)]
            for codes in product(*others):
                for parent, children in axis.sums:
                    relation = {}
                    for code, coefficient in [(parent, -1), *((child, 1) for child in children)]:
                        here = (*codes[:place], code, *codes[place + 1 :])
                        relation[self._key(axes, here, variable)] = coefficient
                    if relation not in self.world.relations:
                        self.world.relations.append(relation)
        return digits

    def _key(self, axes: list[tuple[str, Axis]], codes: Key, variable: str) -> Key:
        own = {name: code for (name, _), code in zip(axes, codes, strict=True)}
        key = tuple(own.get(name, axis.total) for name, axis in self.axes.items())
        return (*key, variable) if self.several else key

    def _fill(self, table: dict[str, Any], axes: list[tuple[str, Axis]], done: set[Key]) -> int:
        world, variable = self.world, _variable(table)
        response, shadow = table.get("response"), table.get("shadow")
        weight_column = (self.micro or {}).get("weight")
        columns = [response] if response else ([weight_column] if weight_column else [])
        digits = _decimals(self.records, columns)
        shadow_digits = _decimals(self.records, [shadow]) if shadow else digits
        for number, row in enumerate(self.records):
            weight = Fraction(row[weight_column]) if weight_column else Fraction(1)
            amount = Fraction(row[response]) if response else Fraction(1)
            value = rounded(weight * amount, digits)
            looked_at = Fraction(row[shadow]) if shadow else amount
            weighted = rounded(weight * looked_at, shadow_digits)
            if looked_at < 0 or amount < 0:
                world.signed.add(world.variable(self._key(axes, tuple(a.total for _, a in axes), variable)))
            members = self._members(row, number)
            leaves = (axis.covers(row[self.column(name)]) for name, axis in axes)
            for codes in product(*leaves):
                key = self._key(axes, codes, variable)
                if key in done:
                    continue
                cell = world.cells[key]
                cell.value += value
                for level, who in members.items():
                    cell.rule_parts[level].setdefault(who, Member()).add(looked_at, weight, weighted)
                    cell.own_parts[level][who] = cell.own_parts[level].get(who, Fraction(0)) + value
                cell.count = len(cell.rule_parts["unit"])
        return digits

    def _fill_from_file(self, table: dict[str, Any], axes: list[tuple[str, Axis]]) -> int:
        world, rows = self.world, self._rows(table)
        column = table.get("value", "value")
        given = table.get("totals", "given") == "given"
        for row in rows:
            names = [(row[self.column(name)], axis) for name, axis in axes]
            where = [[axis.name(code)] if given else sorted(axis.covers(code)) for code, axis in names]
            for codes in product(*where):
                key = self._key(axes, codes, _variable(table))
                cell = world.cells[key]
                cell.value = Fraction(row[column]) if given else cell.value + Fraction(row[column])
                count = int(row[table["contributors"]]) if "contributors" in table else None
                is_leaf = all(axis.name(code) == at for (code, axis), at in zip(names, codes, strict=True))
                cell.count = count if given or is_leaf else None
                if row.get("status", "").lower() == "u" and (given or is_leaf):
                    world.statuses[key] = "u"
                for part in _listed(row, table.get("top", []), Fraction(row[column])):
                    member = Member()
                    member.add(part, Fraction(1), part)
                    cell.rule_parts["unit"][f"{row} {len(cell.rule_parts['unit'])}"] = member
                if Fraction(row[column]) < 0:
                    world.signed.add("")
        return _decimals(rows, [column])

    def _equation(self, left: str, terms: dict[str, int]) -> None:
        stems = {key[:-1] for key in self.world.cells}
        for stem in stems:
            relation = {(*stem, left): -1} | {(*stem, name): factor for name, factor in terms.items()}
            if all(key in self.world.cells for key in relation):
                self.world.relations.append(relation)


def _listed(row: dict[str, str], top: list[str], value: Fraction) -> list[Fraction]:
    """The largest contributions that a row lists, and the rest in pieces that are no larger than these."""
    listed = [Fraction(row[name] or 0) for name in top]
    rest = value - sum(listed)
    if not listed or rest <= 0:
        return [part for part in listed if part]
    number = -(-rest // listed[-1])
    return [*listed, *([rest / number] * int(number))]


def _variable(table: dict[str, Any]) -> str:
    if "file" in table:
        return str(table.get("value", "value"))
    return str(table.get("response", "count"))


def _decimals(rows: list[dict[str, str]], columns: list[str]) -> int:
    exponents = [-int(Decimal(row[c]).normalize().as_tuple().exponent) for row in rows for c in columns]
    return max([0, *exponents])


def rounded(amount: Fraction, digits: int) -> Fraction:
    """Rounded half away from 0 to so many decimals."""
    scaled = abs(amount) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if amount >= 0 else -whole, 10**digits)


# -- what is set and known --------------------------------------------------------------------------------


def _by_hand(world: World) -> None:
    for setting in world.job.get("cells", []):
        key = world.cell_of(setting["key"])
        world.statuses[key] = setting["status"]
        if setting.get("waived"):
            world.excused.add(key)


def _known_bounds(world: World) -> None:
    """Bounds belong to the variable; with a negative value or contribution it has no natural ones."""
    kind = world.job.get("bounds", "natural")
    least: dict[str, int] = defaultdict(int)
    most: dict[str, int] = defaultdict(int)
    for key, cell in world.cells.items():
        variable, value = world.variable(key), world.value(key)
        least[variable], most[variable] = min(least[variable], value), max(most[variable], value)
        if value < 0 or any(part < 0 for parts in cell.own_parts.values() for part in parts.values()):
            world.freed.add(variable)
    counted = _counted(world)
    for key in world.cells:
        variable = world.variable(key)
        natural = None if variable in world.freed else int(variable in counted and world.value(key) > 0)
        world.lb_for_levels[key] = world.lb[key] = None if kind == "free" else natural
        world.ub[key] = None
        if kind == "tau-argus":
            world.lb_for_levels[key] = world.lb[key] = natural or -(-3 * least[variable] // 2)
            world.ub[key] = 3 * most[variable] // 2


def _counted(world: World) -> set[str]:
    """Variables of counts of which everybody knows that a hidden one is not 0, as no zero may be hidden."""
    from fuzz.rules import single_rules

    rules = list(single_rules(world.job.get("rules", [])))
    if world.job.get("bounds") == "free" or any(rule.get("zeros") for rule in rules):
        return set()
    hidden = [key for key, status in world.statuses.items() if status in ("u", "m")]
    if any(world.value(key) == 0 for key in hidden):
        return set()
    variables = {world.variable(key) for key in world.cells}
    if any(rule.get("of") == "value" for rule in rules):
        return variables
    if {_variable(table) for table in world.job["tables"]} == {"count"}:
        return variables
    other = {world.variable(key) for key, cell in world.cells.items() if cell.count != cell.value}
    return (variables - other) | (variables & {"count"})
