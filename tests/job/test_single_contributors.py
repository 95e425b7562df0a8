"""Random jobs against linear programs: no contributor works out another one's value beyond what rules allow.

The judge knows the records, and of the package the relations of the table alone. Every contributor knows the
cells that it alone makes up, and that other cells hold at least its own part.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import cellveil as cv
from cellveil.errors import InfeasibleError
from helpers.examples import few_of

P = 10
KINDS = ("records", "linked records", "counts of records", "counts", "largest", "linked largest")
RULES = {
    "p%": f'[[rules]]\nrule = "p%"\np = {P}\n',
    "few": '[[rules]]\nrule = "threshold"\nminimum = 3\nsafety_range = 20\n',
}
TREE = "parent,child\nTotal,M0\nTotal,M1\n"
SETTINGS = 'output = "out"\n[suppress]\nmethod = "hypercube"\n[report]\nvalues = false\n'


@dataclass
class World:
    """Records, and the parts of each record in all cells of all tables."""

    rows: list[tuple[str, str, str]]
    amounts: list[int]
    tables: list[tuple[str, ...]]

    @property
    def parts(self) -> dict[tuple[str, str, str], dict[int, int]]:
        found: dict[tuple[str, str, str], dict[int, int]] = defaultdict(dict)
        for who, (row, amount) in enumerate(zip(self.rows, self.amounts, strict=True)):
            for table in self.tables:
                for codes in product(
                    *(self._above(name, code) for name, code in zip(NAMES, row, strict=True))
                ):
                    if all(
                        code == "Total" for name, code in zip(NAMES, codes, strict=True) if name not in table
                    ):
                        found[codes][who] = amount
        return found

    @staticmethod
    def _above(name: str, code: str) -> list[str]:
        return [code, *([f"M{int(code[1:]) % 2}"] if name == "region" else []), "Total"]


NAMES = ("region", "branch", "size")


def drawn(kind: str, seed: int) -> World:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    number = int(rng.integers(30, 70))
    limits = (int(rng.integers(4, 7)), int(rng.integers(3, 5)), 2)
    columns = [rng.integers(0, limit, number) for limit in limits]
    rows = [(f"R{r}", f"B{b}", f"S{s}") for r, b, s in zip(*columns, strict=True)]
    amounts = np.maximum(1, rng.pareto(1.2, number) * 20).astype(int)
    if kind == "counts of records":
        amounts[:] = 1
    linked = [("region", "branch"), ("region", "size")]
    return World(rows, amounts.tolist(), linked if kind.startswith("linked") else linked[:1])


def write(world: World, kind: str, folder: Path) -> tuple[Path, str]:
    """The files of the job; also the rule."""
    regions = sorted({region for region, _, _ in world.rows})
    (folder / "regions.csv").write_text(TREE + "".join(f"M{int(r[1:]) % 2},{r}\n" for r in regions))
    rule = "p%" if kind in ("records", "linked records", "largest", "linked largest") else "few"
    parts = [
        SETTINGS.partition("[report]")[0],
        RULES[rule],
        '[dimensions.region]\nhierarchy = "regions.csv"\n',
    ]
    if "records" in kind:
        lines = [",".join([*row, str(amount)]) for row, amount in zip(world.rows, world.amounts, strict=True)]
        (folder / "records.csv").write_text("\n".join(["region,branch,size,sales", *lines]) + "\n")
        parts.append('[microdata]\nfile = "records.csv"\n')
    for place, table in enumerate(world.tables):
        section = f"[[tables]]\ndimensions = {list(table)!r}\n".replace("'", '"')
        if kind == "records" or kind == "linked records":
            section += 'response = "sales"\n'
        if "records" not in kind:
            section += f'file = "table{place}.csv"\ncontributors = "n"\n'
            section += 'top = ["x1", "x2"]\n' if "largest" in kind else ""
            write_table(world, table, folder / f"table{place}.csv")
        parts.append(section)
    (folder / "job.toml").write_text("\n".join(parts))
    return folder / "job.toml", rule


def write_table(world: World, table: tuple[str, ...], path: Path) -> None:
    places = [NAMES.index(name) for name in table]
    lines = [",".join([*table, "value", "n", "x1", "x2"])]
    for codes, parts in World(world.rows, world.amounts, [table]).parts.items():
        largest = [*sorted(map(str, sorted(parts.values())[-2:]), key=int, reverse=True), ""][:2]
        figures = [sum(parts.values()), len(parts), *largest]
        lines.append(",".join([*(codes[place] for place in places), *map(str, figures)]))
    path.write_text("\n".join(lines) + "\n")


class Judge:
    """What each contributor can work out from what is published."""

    def __init__(self, world: World, result: cv.JobResult, rule: str) -> None:
        table = result.problem.table
        names = [dimension.name for dimension in table.dimensions]
        keys = [dict(zip(names, table.key(cell), strict=True)) for cell in range(table.num_cells)]
        parts = world.parts
        self.parts = [parts[tuple(key.get(name, "Total") for name in NAMES)] for key in keys]  # type: ignore[index]
        self.values = np.array([sum(one.values()) for one in self.parts])
        assert (self.values == table.values).all()
        relations = table.relations
        rows = np.zeros((len(relations), table.num_cells))
        for row in range(len(relations)):
            cells, coefs = relations.row(row)
            rows[row, cells] = coefs
        self.rows, self.rule = rows, rule
        self.hidden = result.suppression.pattern.hidden
        self.unsafe = result.problem.primaries

    def range(self, who: int, target: int) -> tuple[float, float]:
        bounds: list[tuple[float, float | None]] = []
        for cell, parts in enumerate(self.parts):
            value = float(self.values[cell])
            known = not self.hidden[cell] or (set(parts) == {who} and cell != target)
            bounds.append((value, value) if known else (float(parts.get(who, 0)), None))
        ends = []
        for sign in (1, -1):
            cost = np.zeros(len(bounds))
            cost[target] = sign
            found = linprog(
                cost, A_eq=self.rows, b_eq=np.zeros(len(self.rows)), bounds=bounds, method="highs"
            )
            ends.append(sign * found.fun if found.status == 0 else -sign * np.inf)
        return ends[0], ends[1]

    def asked(self, who: int, target: int) -> tuple[float, float]:
        """How far the target must be able to fall and rise."""
        parts, value = self.parts[target], float(self.values[target])
        own = parts.get(who, 0)
        if self.rule == "few":
            return (value / 5, value / 5) if who not in parts else (1e-3, 1e-3)
        largest = max(part for other, part in parts.items() if other != who)
        return 0.0, P / 100 * largest - (value - largest - own)

    def faults(self, attackers: set[int]) -> list[str]:
        found = []
        for who, target in product(sorted(attackers), self.unsafe.tolist()):
            if set(self.parts[target]) == {who}:
                continue
            low, high = self.range(who, target)
            fall, rise = self.asked(who, target)
            value = self.values[target]
            if self.rule == "few" and who in self.parts[target]:
                is_open = high - low > 1e-6
            else:
                is_open = high >= value + rise - 1e-6 and low <= value - fall + 1e-6
            if not is_open:
                found.append(f"record {who} knows cell {target} of {value} to be in {low:g} … {high:g}")
        return found


def single(parts: list[dict[int, int]], hidden: Any) -> set[int]:
    """Who alone makes up a hidden cell."""
    return {
        who
        for one, is_hidden in zip(parts, hidden, strict=True)
        if is_hidden and len(one) == 1
        for who in one
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", few_of(range(12), 2))
def test_no_contributor_works_out_more_than_the_rule_allows(kind: str, seed: int, tmp_path: Path) -> None:
    world = drawn(kind, seed)
    path, rule = write(world, kind, tmp_path)
    try:
        result = cv.run_job(path)
    except InfeasibleError as error:
        assert not error.attacker, "outsiders alone cannot be kept off"
        return
    assert result.is_safe or result.report.decisions, "only what no pattern protects may stop a release"
    if not result.is_safe:
        return
    assert "contributor" in result.report.verdict or not len(result.problem.primaries)
    judge = Judge(world, result, rule)
    attackers = single(judge.parts, judge.hidden)
    assert not judge.faults(attackers)


def test_the_judge_finds_what_outsiders_only_leave_open(tmp_path: Path) -> None:
    """The judge can fail: without attackers by default the same jobs are open to contributors."""
    found = 0
    for seed in range(6):
        world = drawn("records", seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        path, rule = write(world, "records", folder)
        path.write_text(f"attackers = []\n{path.read_text()}")
        judge = Judge(world, cv.run_job(path), rule)
        found += bool(judge.faults(single(judge.parts, judge.hidden)))
    assert found >= 2
