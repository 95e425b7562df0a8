"""Insiders by the definition, from the records themselves: every coalition, every cell, by linear programs.

Nothing here looks at what a table lists of its contributors, at families of witnesses or at certificates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
import pyarrow as pa
from scipy.optimize import linprog

from cellveil.arrays import Bool
from cellveil.microdata.tabulate import tabulate
from cellveil.problem import Problem
from cellveil.rules import Dominance, PPercent, Rule, Threshold
from cellveil.rules.apply import make_problem
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.scaled import UNBOUNDED

RULES: dict[str, Rule] = {
    "p%": PPercent(15),
    "dominance": Dominance(1, 60),
    "two dominate": Dominance(2, 85),
    "threshold": Threshold(3, safety_range=25),
}
TREES = {
    "region": Hierarchy.from_dict({"Total": {"N": ["a", "b"], "c": [], "d": []}}),
    "size": Hierarchy.flat("xyz"),
}


@dataclass(frozen=True)
class Records:
    """Amounts of firms in the finest cells of a small table, firm by firm.

    >>> records = draw_records(np.random.default_rng(1))
    >>> records.problem("p%", depth=3).table.units.depth
    3
    """

    rows: tuple[tuple[str, str, str, int], ...]

    def problem(self, rule: str, depth: int, level: str = "unit") -> Problem:
        """The table as an office tabulates it, of units or of holdings (two firms each)."""
        firm, region, size, amount = zip(*self.rows, strict=True)
        frame = pa.table({"firm": firm, "region": region, "size": size, "amount": amount})
        frame = frame.append_column("group", pa.array([name[:1] for name in firm]))
        dimensions = [Dimension.of(name, tree) for name, tree in TREES.items()]
        holding = "group" if level == "holding" else None
        table = tabulate(
            frame, dimensions, "amount", contributor="firm", holding=holding, depth=depth, allow_negative=True
        )
        return make_problem(table, RULES[rule])

    def parts(self, problem: Problem, level: str = "unit") -> dict[str, dict[int, int]]:
        """What everybody contributes to each cell, totals included."""
        found: dict[str, dict[int, int]] = {}
        above = {"a": ["a", "N", "Total"], "b": ["b", "N", "Total"]}
        for firm, region, size, amount in self.rows:
            mine = found.setdefault(firm[:1] if level == "holding" else firm, {})
            for code in above.get(region, [region, "Total"]):
                for column in (size, "Total"):
                    cell = problem.table.cell(code, column)
                    mine[cell] = mine.get(cell, 0) + amount
        return found


def draw_records(rng: np.random.Generator, *, negative: bool = False) -> Records:
    """Some firms with a few large and many small amounts, in one to three cells each."""
    rows = []
    for firm in range(int(rng.integers(6, 10))):
        name = "pqrst"[firm // 2] + str(firm)
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            amount = 1 + int(40 / (0.05 + rng.random()) ** 1.5)
            sign = -1 if negative and rng.random() < 0.2 else 1
            rows.append((name, str(rng.choice(list("abcd"))), str(rng.choice(list("xyz"))), sign * amount))
    return Records(tuple(rows))


@dataclass(frozen=True)
class Definition:
    """The question put to all coalitions of contributors, cell by cell."""

    problem: Problem
    hidden: Bool
    parts: dict[str, dict[int, int]]
    rule: str
    coalition: int

    @cached_property
    def absolute(self) -> dict[int, int]:
        """The sum of the absolute contributions to each cell."""
        cells = range(self.problem.table.num_cells)
        return {cell: sum(abs(mine.get(cell, 0)) for mine in self.parts.values()) for cell in cells}

    @cached_property
    def has_negatives(self) -> bool:
        """Whether some contribution is negative: then nobody's own part is a floor."""
        return any(part < 0 for mine in self.parts.values() for part in mine.values())

    def coalitions(self) -> Iterator[tuple[str, ...]]:
        """All of them, from nobody on."""
        for size in range(self.coalition + 1):
            yield from combinations(self.parts, size)

    def own(self, who: tuple[str, ...], cell: int) -> int:
        """What members have in the cell."""
        return sum(abs(self.parts[name].get(cell, 0)) for name in who)

    def makes_up(self, who: tuple[str, ...], cell: int) -> bool:
        """Whether there is nobody else in the cell."""
        inside = {name for name, mine in self.parts.items() if cell in mine}
        return bool(inside) and inside <= set(who)

    def demand(self, who: tuple[str, ...], cell: int, up: bool) -> Fraction:
        """The rule with the coalition in the place of the second largest; at most the level."""
        if self.makes_up(who, cell):
            return Fraction(0)
        level = int((self.problem.upl if up else self.problem.lpl)[cell])
        total, own = self.absolute[cell], self.own(who, cell)
        others = sorted(
            (abs(mine.get(cell, 0)) for name, mine in self.parts.items() if name not in who), reverse=True
        )
        others += [0, 0]
        asked = {
            "p%": Fraction(115, 100) * others[0] + own - total,
            "dominance": Fraction(100, 60) * others[0] + own - total,
            "two dominate": Fraction(100, 85) * (others[0] + own) - total,
            "threshold": Fraction(level * (total - own), max(total, 1)),
        }[self.rule]
        asked = min(Fraction(level), asked)
        lb, value = int(self.problem.lb[cell]), int(self.problem.table.values[cell])
        if not up and lb != -UNBOUNDED:
            asked = min(asked, value - (lb if self.has_negatives else max(lb, own)))
        return asked

    def room(self, who: tuple[str, ...], cell: int, up: bool) -> float:
        """How far the cell can move as far as the coalition can tell."""
        if self.makes_up(who, cell):
            return 0.0
        bound, value = (
            (self.problem.ub if up else self.problem.lb)[cell],
            int(self.problem.table.values[cell]),
        )
        if abs(int(bound)) == UNBOUNDED:
            return np.inf
        if not up and not self.has_negatives:
            bound = max(int(bound), self.own(who, cell))
        return float(abs(int(bound) - value))

    def open_cells(self) -> set[int]:
        """Primary cells that some coalition gets at."""
        return {
            cell
            for cell in self.problem.primaries.tolist()
            if any(self.is_open(cell, up, who) for up in (True, False) for who in self.coalitions())
        }

    def is_open(self, cell: int, up: bool, who: tuple[str, ...]) -> bool:
        """Whether the cell cannot move as far as it must against the coalition."""
        needed = self.demand(who, cell, up)
        if needed <= 0:
            return False
        if not self.hidden[cell]:
            return True
        cells = np.flatnonzero(self.hidden).tolist()
        rows = self.problem.table.relations.matrix.toarray()[:, cells]
        bounds = [(-self.room(who, c, up=False), self.room(who, c, up=True)) for c in cells]
        cost = np.zeros(len(cells))
        cost[cells.index(cell)] = -1.0 if up else 1.0
        found = linprog(cost, A_eq=rows, b_eq=np.zeros(len(rows)), bounds=bounds, method="highs")
        return bool(found.status == 0 and -found.fun < float(needed) - 1e-6)
