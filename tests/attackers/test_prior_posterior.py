"""The (p, q) insider against linear programs over contributions, where contributors have many cells."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from cellveil.attackers.insiders import PriorPosteriorInsiders
from cellveil.attackers.own_parts import NOBODY, OwnParts
from cellveil.attackers.prior_posterior import Totals
from cellveil.attackers.unlisted_parts import AllParts
from cellveil.datasets import two_way
from cellveil.errors import InputError
from cellveil.judge.insider import Kind, audit_insiders
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.report.audit_figures import _insider_figures
from cellveil.tables.contributions import Contributions
from helpers.contributions import of_lists
from helpers.examples import few_of

Cells = dict[tuple[int, int], dict[int, int]]


def with_firms(problem: Problem, cells: Cells, depth: int | None = None) -> Problem:
    """Contributions by firm number to interior cells; those to totals follow."""
    table = problem.table
    rows: list[dict[int, int]] = []
    for cell in range(table.num_cells):
        row, column = table.key(cell)
        sums: dict[int, int] = {}
        for (r, c), amounts in cells.items():
            if row in ("Total", f"r{r}") and column in ("Total", f"c{c}"):
                for firm, amount in amounts.items():
                    sums[firm] = sums.get(firm, 0) + amount
        rows.append(sums)
    known = of_lists([list(row.values()) for row in rows], depth=depth)
    who = np.full(known.top.shape, -1, dtype=np.int32)
    for cell, sums in enumerate(rows):
        ranked = sorted(sums, key=lambda firm: (-abs(sums[firm]), firm))[: known.depth]
        who[cell, : len(ranked)] = ranked
    names = tuple(f"firm {i}" for i in range(1 + max(firm for row in rows for firm in row)))
    units = Contributions(0, known.count, known.total, known.absolute, known.top, who, names)
    return problem.replace(table=table.replace(units=units))


@dataclass
class Game:
    """A table of contributions, what is hidden, and the attacker's linear programs over contributions."""

    problem: Problem
    pattern: Pattern
    cells: Cells
    p: float
    q: float

    @property
    def firms(self) -> list[int]:
        return sorted({firm for amounts in self.cells.values() for firm in amounts})

    def number(self, key: tuple[int, int]) -> int:
        return self.problem.table.cell(f"r{key[0]}", f"c{key[1]}")

    def program(self, attacker: int) -> dict[str, Any]:
        """Unknown: by how much each contribution is off. Published cells, bounds and own parts are known."""
        self.columns = [(key, firm) for key, amounts in self.cells.items() for firm in amounts]
        table, spread = self.problem.table, []
        for key, firm in self.columns:
            spread.append(0.0 if firm == attacker else self.q * abs(self.cells[key][firm]))
        equal, below, limits = [], [], []
        for cell in range(table.num_cells):
            row, column = table.key(cell)
            line = [
                1.0 if row in ("Total", f"r{k[0]}") and column in ("Total", f"c{k[1]}") else 0.0
                for k, _ in self.columns
            ]
            value = int(table.values[cell])
            if not self.pattern.hidden[cell]:
                equal.append(line)
                continue
            below += [line, [-entry for entry in line]]
            limits += [
                min(float(self.problem.ub[cell]) - value, 1e9),
                min(value - float(self.problem.lb[cell]), 1e9),
            ]
        return {
            "A_eq": np.array(equal),
            "b_eq": np.zeros(len(equal)),
            "A_ub": np.array(below),
            "b_ub": np.array(limits),
            "bounds": [(-s, s) for s in spread],
        }

    def farthest(self, target: int, where: list[tuple[int, int]], attacker: int) -> float:
        """How far the target's total over these cells can be off at least, upwards and downwards."""
        program = self.program(attacker)
        chosen = np.array([1.0 if f == target and key in where else 0.0 for key, f in self.columns])
        both = [linprog(sign * chosen, **program) for sign in (-1, 1)]
        assert all(found.status == 0 for found in both)
        return min(-float(found.fun) for found in both)

    def all_at_once(self, target: int, where: list[tuple[int, int]], attacker: int) -> bool:
        """Whether all these parts of the target can be higher by p at once, and lower."""
        for sign in (1, -1):
            program = self.program(attacker)
            for column, (key, firm) in enumerate(self.columns):
                if firm == target and key in where:
                    off = sign * self.p * self.cells[key][firm]
                    program["bounds"][column] = (off - 1e-9, off + 1e-9)
            found = linprog(np.zeros(len(self.columns)), **program)
            assert found.status in (0, 2)
            if found.status == 2:
                return False
        return True

    def discloses(self, target: int, where: list[tuple[int, int]], attacker: int) -> bool:
        """Whether some combination of published sums gives the target's part in it to within p."""
        table, keys = self.problem.table, list(self.cells)
        rows = [
            [1.0 if r in ("Total", f"r{k[0]}") and c in ("Total", f"c{k[1]}") else 0.0 for k in keys]
            for r, c in (table.key(cell) for cell in np.flatnonzero(~self.pattern.hidden).tolist())
        ]
        M, n, m = np.array(rows), len(keys), len(rows)
        part = np.array([self.cells[k].get(target, 0) if k in where else 0 for k in keys], dtype=float)
        own = np.array([abs(self.cells[k].get(attacker, 0)) for k in keys], dtype=float)
        total = np.array([sum(map(abs, self.cells[k].values())) for k in keys], dtype=float)
        others = self.q * (total - np.abs(part) - own)
        # unknowns: factors of the published sums, |combination|; minimise uncertainty − p · part
        cost = np.concatenate([-self.p * (M @ part), others])
        above = np.block([[M.T, -np.eye(n)], [-M.T, -np.eye(n)]])
        bounds = [(-1, 1)] * m + [(0, None)] * n
        found = linprog(cost, above, np.zeros(2 * n), bounds=bounds)
        assert found.status == 0
        return bool(found.fun < -1e-7)


def random_game(rng: np.random.Generator, *, bounded: bool = False, signed: bool = False) -> Game:
    """A small two-way table of few firms with parts in many cells, interior cells and margins hidden."""
    shape = (3, int(rng.integers(2, 4)))
    cells: Cells = {}
    for r in range(shape[0]):
        for c in range(shape[1]):
            firms = rng.permutation(7)[: int(rng.integers(1, 4))]
            amounts = (-1 / np.log(rng.random(len(firms))) * 10).astype(int) + 1
            signs = rng.choice([1, 1, -1], len(firms)) if signed else 1
            signed_amounts = amounts * signs
            signed_amounts[0] += signed_amounts.sum() == 0
            cells[r, c] = dict(zip(firms.tolist(), signed_amounts.tolist(), strict=True))
    interior = [[sum(cells[r, c].values()) for c in range(shape[1])] for r in range(shape[0])]
    keys = list(cells)
    chosen = [keys[i] for i in rng.permutation(len(keys))[: int(rng.integers(4, 8))]]
    problem = with_firms(two_way(interior, dict.fromkeys(chosen, (0, 1))), cells)
    hidden = problem.hidden_at_start.copy()
    if rng.random() < 0.5:
        hidden[problem.table.cell(f"r{rng.integers(3)}", "Total")] = True
        hidden[problem.table.cell("Total", f"c{rng.integers(shape[1])}")] = True
    if bounded:
        values = problem.table.values
        spread = (np.abs(values) * rng.choice([0.3, 1.0, 3.0], len(values))).astype(np.int64)
        least = values - spread if signed else np.maximum(values - spread, 0)
        problem = problem.replace(lb=least, ub=values + rng.permutation(spread))
    p, q = float(rng.choice([0.1, 0.2, 0.5])), float(rng.choice([0.5, 0.8, 1.0]))
    return Game(problem, Pattern.hiding(problem, hidden, "random"), cells, p, q)


def rule_of(game: Game) -> PriorPosteriorInsiders:
    return PriorPosteriorInsiders(game.problem, OwnParts.of(game.problem), 100 * game.p, 100 * game.q)


def check_cells(count: int, seed: int, *, bounded: bool, signed: bool = False) -> list[int]:
    """Each cell's verdict is that of all pairs of a contributor to it and another one, or an outsider.

    Of all interior cells, hidden and published: who is not judged tells nobody's part to within p.
    """
    rng = np.random.default_rng(seed)
    verdicts = [0, 0]
    for _ in range(count):
        game = random_game(rng, bounded=bounded, signed=signed)
        report = audit_insiders(game.problem, game.pattern, "pq", p=100 * game.p, q=100 * game.q)
        safe = dict(zip(report.cells.tolist(), report.safe.tolist(), strict=True))
        for key, amounts in game.cells.items():
            expected = all(
                game.farthest(target, [key], attacker) >= game.p * abs(amount) * (1 - 1e-7)
                for target, amount in amounts.items()
                for attacker in [*game.firms, NOBODY]
                if attacker != target
            )
            assert safe.get(game.number(key), True) == expected
            verdicts[expected] += 1
    return verdicts


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_cells_against_every_pair_of_contributors(bounded: bool, signed: bool) -> None:
    assert min(check_cells(6, seed=1, bounded=bounded, signed=signed)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
def test_cells_against_every_pair_of_contributors_of_100_tables(bounded: bool) -> None:
    assert min(check_cells(100, seed=2, bounded=bounded)) > 80


def check_totals(count: int, seed: int, *, bounded: bool, signed: bool = False) -> list[int]:
    """Each verdict on a contributor's totals is that of the programs over contributions.

    Where signs of parts do not follow from the table, what is safe may be called unsafe.
    """
    rng = np.random.default_rng(seed)
    verdicts = [0, 0]
    for _ in range(count):
        game = random_game(rng, bounded=bounded, signed=signed)
        totals = Totals(rule_of(game), game.pattern.hidden)
        key_of = {game.number(key): key for key in game.cells}
        for target, number, cells in totals.targets():
            where = [key_of[cell] for cell in cells.tolist()]
            attackers = [firm for firm in [*game.firms, NOBODY] if firm != target]
            safe = totals.judge(target, number, cells).safe
            is_kept = all(game.all_at_once(target, where, attacker) for attacker in attackers)
            is_doubtful = bool(totals.shifts(target, cells)[1].any())
            assert safe <= is_kept if is_doubtful else safe == is_kept
            if not bounded and not is_doubtful:
                assert safe == (not any(game.discloses(target, where, a) for a in attackers))
            if safe:
                for size in range(1, len(where) + 1):
                    for some in combinations(where, size):
                        needed = game.p * abs(sum(game.cells[key][target] for key in some))
                        far = min(game.farthest(target, list(some), a) for a in attackers)
                        assert far >= needed * (1 - 1e-7)
            verdicts[safe] += 1
    return verdicts


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("bounded", [False, True])
def test_totals_against_programs_over_contributions(bounded: bool, signed: bool) -> None:
    assert min(check_totals(10, seed=3, bounded=bounded, signed=signed)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("bounded", [False, True])
def test_totals_against_programs_over_contributions_of_100_tables(bounded: bool) -> None:
    assert min(check_totals(100, seed=4, bounded=bounded)) > 30


def test_who_is_not_asked_has_nothing_at_risk() -> None:
    """Contributors left out of the totals can have all their parts higher by p, cell by cell."""
    rng = np.random.default_rng(5)
    judged = 0
    for _ in range(10):
        game = random_game(rng)
        totals = Totals(rule_of(game), game.pattern.hidden)
        asked = {(target, number) for target, number, _ in totals.targets()}
        for target in game.firms:
            by_component: dict[int, list[tuple[int, int]]] = {}
            for key, amounts in game.cells.items():
                if target in amounts and game.pattern.hidden[game.number(key)]:
                    by_component.setdefault(int(totals.component_of[game.number(key)]), []).append(key)
            for number, where in by_component.items():
                if (target, number) not in asked and len(where) > 1:
                    judged += 1
                    assert all(game.all_at_once(target, where, a) for a in game.firms if a != target)
    assert judged > 5


def two_cells_of_one_firm() -> Game:
    """Firm 0 leads two cells of a row whose sum follows from the table; each by itself is protected."""
    cells: Cells = {
        (0, 0): {0: 100, 1: 5, 2: 4},
        (0, 1): {0: 80, 1: 5, 3: 4},
        (0, 2): {4: 50, 5: 50, 6: 50},
        (1, 0): {4: 60, 5: 50, 6: 40},
        (1, 1): {4: 60, 5: 50, 6: 40},
        (1, 2): {4: 50, 5: 50, 6: 50},
    }
    interior = [[sum(cells[r, c].values()) for c in range(3)] for r in range(2)]
    problem = with_firms(two_way(interior, {(0, 0): 6, (0, 1): 6}), cells)
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell("r1", "c0"), problem.table.cell("r1", "c1")]] = True
    return Game(problem, Pattern.hiding(problem, hidden, "rectangle"), cells, 0.1, 1.0)


def test_a_total_is_known_where_no_cell_is() -> None:
    game = two_cells_of_one_firm()
    report = audit_insiders(game.problem, game.pattern, "pq", p=10, q=100)
    assert report.safe.all() and not report.is_safe
    assert "nor the totals of 1 contributor" in repr(report)
    assert report.reason == "complete; totals of 1 contributor over several cells not shown protected"
    (total,) = report.totals
    both = [(0, 0), (0, 1)]
    assert total.contributor == "firm 0" and total.cells == tuple(game.number(key) for key in both)
    # the others have 18 in all; without 10 of firm 1 the total of 180 is known to within 8, not 18
    assert game.farthest(0, both, 1) == pytest.approx(8)
    assert not total.safe and 0 < total.reach < 1
    figures = _insider_figures(game.problem, report)
    assert figures["totals"] == [
        {
            "contributor": "firm 0",
            "cells": ["(r0, c0)", "(r0, c1)"],
            "safe": False,
            "closest": total.closest,
            "reach": pytest.approx(total.reach, abs=1e-6),
        }
    ]
    assert not audit_insiders(game.problem, game.pattern, "pq", p=10, q=100, time_limit=0).totals[0].safe


def test_a_third_hidden_cell_protects_the_total() -> None:
    game = two_cells_of_one_firm()
    hidden = game.pattern.hidden.copy()
    hidden[[game.number((0, 2)), game.number((1, 2))]] = True
    report = audit_insiders(game.problem, Pattern.hiding(game.problem, hidden, "all"), "pq", p=10, q=100)
    assert report.is_safe and [total.safe for total in report.totals] == [True]


def test_the_largest_contributor_attacks_the_second() -> None:
    """Firm 0 leads the target, and makes up nearly all of the opposite corner: it learns firm 1's part."""
    cells: Cells = {
        (0, 0): {0: 50, 1: 45},
        (0, 1): {2: 50, 3: 50, 4: 50},
        (1, 0): {2: 50, 3: 50, 4: 50},
        (1, 1): {0: 100, 5: 1},
    }
    game_of = two_way([[95, 150], [150, 101]], {(0, 0): 5})
    problem = with_firms(game_of, cells)
    hidden = np.array(["Total" not in problem.table.key(cell) for cell in range(problem.table.num_cells)])
    game = Game(problem, Pattern.hiding(problem, hidden, "interior"), cells, 0.1, 1.0)
    report = audit_insiders(problem, game.pattern, "pq", p=10, q=100)
    assert game.farthest(0, [(0, 0)], 1) >= 5, "firm 1 is kept off firm 0"
    assert game.farthest(1, [(0, 0)], 0) == pytest.approx(1), "firm 0 is not kept off firm 1"
    assert report.attackers == ("firm 0", "") and report.closest[0] == "firm 0"
    assert problem.table.cell_names(report.cells) == ["(r0, c0)", "(r1, c1)"], (
        "101, of which 100 are one firm's"
    )
    assert report.reach[0] == pytest.approx(1 / 4.5)


def test_who_comes_closest() -> None:
    """Below 1 the share is what is possible against that attacker; from 1 on no more than is possible."""
    rng = np.random.default_rng(6)
    kinds = set()
    for _ in range(12):
        game = random_game(rng)
        rule = rule_of(game)
        report = audit_insiders(game.problem, game.pattern, "pq", p=100 * game.p, q=100 * game.q)
        for cell, safe, who, reach in zip(
            report.cells.tolist(), report.safe.tolist(), report.closest, report.reach.tolist(), strict=True
        ):
            shares = {
                f"firm {firm}": movable(game, rule, cell, firm) / rule.demand(cell, True, firm)
                for firm in game.firms
                if rule.demand(cell, True, firm) > 0
            }
            if safe:
                assert reach >= 1 and reach <= min(min(shares.values(), default=10.0), 10.0) * (1 + 1e-7)
            elif who in shares:
                assert reach == pytest.approx(shares[who], abs=1e-6) and reach < 1
            kinds.add((safe, who in shares))
    assert {(True, True), (False, True)} <= kinds


def movable(game: Game, rule: PriorPosteriorInsiders, cell: int, attacker: int) -> float:
    """The largest movement of a cell under an attacker's capacities."""
    hidden = np.flatnonzero(game.pattern.hidden)
    matrix = game.problem.table.relations.matrix[:, hidden].toarray()
    rooms = [np.minimum(room[hidden].astype(float), 1e7) for room in rule.rooms(attacker, cell)]
    found = linprog(
        -(hidden == cell).astype(float),
        A_eq=matrix,
        b_eq=np.zeros(len(matrix)),
        bounds=list(zip(-rooms[0], rooms[1], strict=True)),
    )
    assert found.status == 0
    return -float(found.fun)


def test_lists_that_are_cut_off_are_never_kinder() -> None:
    rng = np.random.default_rng(8)
    stricter = 0
    for _ in range(15):
        game = random_game(rng)
        full = audit_insiders(game.problem, game.pattern, "pq", p=100 * game.p, q=100 * game.q)
        for depth in (1, 2):
            bare = with_firms(game.problem.replace(), game.cells, depth)
            cut = audit_insiders(bare, game.pattern, "pq", p=100 * game.p, q=100 * game.q)
            found, known = set(cut.unsafe_cells.tolist()), set(full.unsafe_cells.tolist())
            assert known <= found
            stricter += len(found - known)
    assert stricter > 0


def all_parts(game: Game) -> AllParts:
    rows = [(key, firm, part) for key, amounts in game.cells.items() for firm, part in amounts.items()]
    codes = [(f"r{key[0]}", f"c{key[1]}") for key, _, _ in rows]
    who = [f"firm {firm}" for _, firm, _ in rows]
    return AllParts.of(game.problem.table, codes, who, [part for _, _, part in rows])


@pytest.mark.parametrize("number", few_of([15, 80], 1))
@pytest.mark.parametrize("kind", ["insider", "pq"])
def test_a_list_of_all_parts_makes_up_for_short_lists(kind: Kind, number: int) -> None:
    """With all parts given, the two largest of each cell lead to the verdicts of complete lists."""
    rng = np.random.default_rng(9)
    verdicts, gained = set(), 0
    for _ in range(number):
        game = random_game(rng)
        options: dict[str, Any] = {"p": 100 * game.p, "q": 100 * game.q} if kind == "pq" else {}
        full = audit_insiders(game.problem, game.pattern, kind, **options)
        short = with_firms(game.problem, game.cells, depth=2)
        filled = audit_insiders(short, game.pattern, kind, everything=all_parts(game), **options)
        assert np.array_equal(filled.unsafe_cells, full.unsafe_cells)
        assert {(t.contributor, t.safe) for t in filled.totals} == {
            (t.contributor, t.safe) for t in full.totals
        }
        verdicts.update(full.safe.tolist())
        blind = audit_insiders(short, game.pattern, kind, **options)
        gained += len(np.setdiff1d(blind.unsafe_cells, full.unsafe_cells))
    assert verdicts == {True, False}
    assert (gained > 0) == (kind == "pq"), "two parts are enough to know one's own"


def test_another_list_is_refused() -> None:
    game = two_cells_of_one_firm()
    listed = all_parts(game)
    for wrong in (
        AllParts(listed.cells[1:], listed.who[1:], listed.amounts[1:]),
        AllParts(listed.cells, listed.who, listed.amounts + 1),
        AllParts(np.zeros_like(listed.cells), listed.who, listed.amounts),
    ):
        with pytest.raises(InputError, match="not that of all contributions"):
            audit_insiders(game.problem, game.pattern, everything=wrong)


def test_amounts_that_leave_64_bits_are_refused() -> None:
    game = two_cells_of_one_firm()
    with pytest.raises(InputError, match="64 bits"):
        audit_insiders(game.problem, game.pattern, "pq", p=1.0000000000000002, q=99.99999999999999)
