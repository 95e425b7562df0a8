"""Insiders against the paper's own linear programs, its examples, and hand-made singletons."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.insiders import PriorPosteriorInsiders
from cellveil.attackers.own_parts import OwnParts
from cellveil.datasets import two_way
from cellveil.deviations.movement import Movement
from cellveil.errors import InputError
from cellveil.judge import audit
from cellveil.judge.insider import audit_insiders
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.report.audit_figures import audit_figures
from cellveil.rules import PriorPosterior
from cellveil.rules.apply import make_problem
from cellveil.tables.contributions import Contributions
from cellveil.tables.scaled import UNBOUNDED
from helpers.contributions import with_contributions
from helpers.worked_examples import EXAMPLES, hiding, needs_examples


def interior_of(problem: Problem) -> np.ndarray:
    """The cells that are no totals."""
    table = problem.table
    return np.array(["Total" not in table.key(cell) for cell in range(table.num_cells)])


def paper_example(name: str) -> Problem:
    """An example of the paper: the two largest are given, the rest is spread over small contributions."""
    example = EXAMPLES[name]
    cells = {}
    for r, row in enumerate(example["interior"]):
        for c, value in enumerate(row):
            x1, x2 = example["largest_two"][r][c]
            rest = value - x1 - x2
            part = max(1, min(x2, rest) // 2) if rest else 0
            cells[r, c] = [x1, x2, *([part] * (rest // part) if part else [])]
            if part and rest % part:
                cells[r, c].append(rest % part)
    problem = two_way(example["interior"], {tuple(cell): 1 for cell in example["primaries"]})
    return with_contributions(problem, cells)


@needs_examples
@pytest.mark.parametrize("name", ["dewaal2020-example2", "dewaal2020-example4"])
def test_the_papers_verdicts(name: str) -> None:
    problem = paper_example(name)
    rule = make_problem(problem.table, PriorPosterior(20, 100))
    for paper in EXAMPLES[name]["patterns"]:
        pattern = hiding(problem, paper["suppressed"])
        report = audit_insiders(problem, pattern, "pq", p=20, q=100)
        is_safe = dict(zip(report.cells.tolist(), report.safe.tolist(), strict=True))
        assert is_safe[int(problem.primaries[0])] == paper["safe_by_aggregations"]
        further = problem.table.cell_names(report.cells[~report.is_primary])  # 75 of 80, taken for safe there
        assert further == (["(r1, c1)"] if name == "dewaal2020-example4" else [])
        if "safe_by_intervals" in paper:
            assert (
                audit_outsider(rule, hiding(rule, paper["suppressed"])).is_safe == paper["safe_by_intervals"]
            )


@needs_examples
def test_the_margins_of_the_examples() -> None:
    """22 < 26 and 5 < 8: the movement that is possible, and the one that is needed."""
    for name, attacker_cell, most, needed in (
        ("dewaal2020-example2", ("r1", "c0"), 22, 26),
        ("dewaal2020-example4", ("r1", "c1"), 5, 8),
    ):
        problem = paper_example(name)
        pattern = hiding(problem, EXAMPLES[name]["patterns"][0]["suppressed"])
        insiders = PriorPosteriorInsiders(problem, OwnParts.of(problem), 20, 100)
        target = int(problem.primaries[0])
        attacker = int(insiders.parts.who[problem.table.cell(*attacker_cell), 0])
        assert insiders.demand(target, True, attacker) == needed * insiders.scale
        movement = Movement(problem.table.relations, pattern.hidden)
        rooms = insiders.rooms(attacker, target)
        assert movement.find(target, most * insiders.scale, rooms, up=True) is not None
        assert movement.find(target, most * insiders.scale + 1, rooms, up=True) is None


def paper_program(
    problem: Problem, hidden: list[int], target: int, attacker: int, own: float, p: int, q: int
) -> bool:
    """Equations (12) to (31): is some aggregation unsafe? `attacker` is a cell, `own` its part there."""
    units = problem.table.units
    assert units is not None
    place = {cell: i for i, cell in enumerate(hidden)}
    rows = []
    for row in range(len(problem.table.relations)):
        cells, coefs = problem.table.relations.row(row)
        line = np.zeros(len(hidden))
        for cell, coef in zip(cells.tolist(), coefs.tolist(), strict=True):
            if cell in place:
                line[place[cell]] = coef
        if line.any():
            rows.append(line)
    M = np.array(rows)
    m, n = M.shape
    total, largest = units.absolute[hidden], units.top[target, 0]
    for sign in (1.0, -1.0):
        # unknowns: mu (m), y+ (n), y- (n), S, A; maximise (p+q) S + q A − q Σ (y+ + y−)
        cost = np.concatenate([np.zeros(m), np.full(2 * n, q), [-(p + q)], [-q]])
        above = [
            np.concatenate([s * (M.T * total[:, None])[i], *_units(n, i, s), [0, 0]])
            for i in range(n)
            for s in (1, -1)
        ]
        s_row = np.concatenate([-(M.T)[place[target]] * largest, np.zeros(2 * n), [1, 0]])
        a_row = np.concatenate([-sign * (M.T)[place[attacker]] * own, np.zeros(2 * n), [0, 1]])
        bounds = [(-1, 1)] * m + [(0, None)] * (2 * n) + [(None, None)] * 2
        found = linprog(cost, np.array([*above, s_row, a_row]), np.zeros(2 * n + 2), bounds=bounds)
        assert found.status == 0
        if -found.fun > 1e-6 * (p + q) * largest:
            return True
        if attacker == target:
            break
    return False


def _units(n: int, i: int, sign: int) -> list[Any]:
    plus, minus = np.zeros(n), np.zeros(n)
    (plus if sign == 1 else minus)[i] = -1.0
    return [plus, minus]


def random_case(rng: np.random.Generator) -> tuple[Problem, Pattern]:
    """A small two-way table with contributions, some negative, of which interior cells are hidden.

    Where contributions may be negative nobody knows a bound, as in the paper.
    """
    shape = (3, int(rng.integers(3, 5)))
    negative = rng.random() < 0.3
    cells = {}
    for r in range(shape[0]):
        for c in range(shape[1]):
            amounts = (-1 / np.log(rng.random(int(rng.integers(1, 5)))) * 10).astype(int) + 1
            signs = rng.choice([1, -1], len(amounts), p=[0.8, 0.2]) if negative else 1
            cells[r, c] = (amounts * signs).tolist()
            if sum(cells[r, c]) == 0:
                cells[r, c].append(7)
    interior = [[sum(cells[r, c]) for c in range(shape[1])] for r in range(shape[0])]
    keys = list(cells)
    chosen = [keys[i] for i in rng.permutation(len(keys))[: int(rng.integers(4, 8))]]
    problem = with_contributions(two_way(interior, dict.fromkeys(chosen, (0, 1))), cells)
    if negative:
        problem = problem.replace(lb=np.full(problem.table.num_cells, -UNBOUNDED))
    return problem, Pattern.hiding(problem, problem.hidden_at_start, "random")


def check_pairs(count: int, seed: int) -> tuple[int, int]:
    """Compare every (target, attacker) pair with the paper's programs; how many were unsafe and safe."""
    rng = np.random.default_rng(seed)
    unsafe = safe = 0
    for _ in range(count):
        problem, pattern = random_case(rng)
        p, q = int(rng.choice([10, 20, 50])), int(rng.choice([50, 80, 100]))
        insiders = PriorPosteriorInsiders(problem, OwnParts.of(problem), p, q)
        hidden = np.flatnonzero(pattern.hidden).tolist()
        movement = Movement(problem.table.relations, pattern.hidden)
        parts = insiders.parts
        for target in hidden:
            for attacker_cell in hidden:
                rank = 1 if attacker_cell == target else 0
                attacker = int(parts.who[attacker_cell, rank])
                if attacker < 0:
                    continue
                own = float(parts.amount[attacker_cell, rank])
                paper = paper_program(problem, hidden, target, attacker_cell, own, p, q)
                needed = insiders.demand(target, True, attacker)
                ours = needed == 0 or movement.find(target, needed, insiders.rooms(attacker, target), up=True)
                assert paper == (not ours)
                unsafe, safe = unsafe + paper, safe + (not paper)
    return unsafe, safe


def test_every_pair_agrees_with_the_papers_programs() -> None:
    unsafe, safe = check_pairs(15, seed=1)
    assert unsafe > 50 and safe > 50


@pytest.mark.slow
def test_every_pair_agrees_with_the_papers_programs_on_500_tables() -> None:
    unsafe, safe = check_pairs(500, seed=2)
    assert unsafe > 1000 and safe > 1000


def test_the_audit_is_the_conjunction_of_all_pairs() -> None:
    rng = np.random.default_rng(3)
    verdicts = set()
    for _ in range(25):
        problem, pattern = random_case(rng)
        insiders = PriorPosteriorInsiders(problem, OwnParts.of(problem), 20, 100)
        movement = Movement(problem.table.relations, pattern.hidden)
        report = audit_insiders(problem, pattern, "pq", p=20, q=100)
        for cell, safe in zip(report.cells.tolist(), report.safe.tolist(), strict=True):
            expected = all(
                insiders.demand(cell, True, attacker) == 0
                or movement.find(
                    cell, insiders.demand(cell, True, attacker), insiders.rooms(attacker, cell), up=True
                )
                for attacker in insiders.parts.places
            )
            assert safe == expected
            verdicts.add(safe)
    assert verdicts == {True, False}


# -- insiders who know their own contributions ---------------------------------------------------------------


def singleton_table() -> tuple[Problem, Pattern]:
    """Two hidden cells in the row, one of them a single firm's: that firm knows the other by subtraction."""
    cells = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}
    interior = [[20, 30, 9], [22, 27, 12]]
    problem = with_contributions(two_way(interior, {(0, 0): 3, (0, 1): 3}), cells)
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell("r1", "c0"), problem.table.cell("r1", "c1")]] = True
    return problem, Pattern.hiding(problem, hidden, "rectangle")


def test_a_singleton_undoes_its_neighbour() -> None:
    problem, pattern = singleton_table()
    assert audit_outsider(problem, pattern).is_safe, "an outsider is kept off"
    report = audit_insiders(problem, pattern)
    assert not report.is_safe and len(report.unsafe_cells) == 2
    assert all(name.startswith("firm") for name in report.attackers)


def test_a_third_hidden_cell_keeps_singletons_off() -> None:
    problem, pattern = singleton_table()
    hidden = pattern.hidden.copy()
    hidden[[problem.table.cell("r0", "c2"), problem.table.cell("r1", "c2")]] = True
    assert audit_insiders(problem, Pattern.hiding(problem, hidden, "more")).is_safe


def test_a_holding_with_cells_in_both_places() -> None:
    """The same firm alone in two cells knows both: what is safe against two firms is not against one."""
    cells = {(0, 0): [20], (0, 1): [30], (0, 2): [9], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}
    interior = [[20, 30, 9], [22, 27, 12]]
    problem = with_contributions(two_way(interior, {(0, 0): 3}), cells)
    everything = np.zeros(problem.table.num_cells, dtype=bool)
    everything[[problem.table.cell(f"r{r}", f"c{c}") for r in range(2) for c in range(3)]] = True
    pattern = Pattern.hiding(problem, everything, "all")
    assert audit_insiders(problem, pattern).is_safe
    units = problem.table.units
    assert units is not None
    who = units.who.copy()
    who[who == who[problem.table.cell("r0", "c2"), 0]] = who[problem.table.cell("r0", "c1"), 0]
    merged = Contributions(0, units.count, units.total, units.absolute, units.top, who, units.names)
    joined = problem.replace(table=problem.table.replace(units=merged))
    assert not audit_insiders(joined, pattern).is_safe


def test_a_firm_that_is_listed_in_some_of_its_cells_only() -> None:
    """The firm alone in one cell is the third of another: a list of two must not hide that from the audit."""
    cells = {
        (0, 0): [50],
        (0, 1): [10, 10, 9],
        (0, 2): [30],
        (1, 0): [40, 40],
        (1, 1): [40, 40],
        (1, 2): [40, 40],
    }
    problem = with_contributions(two_way([[50, 29, 30], [80, 80, 80]], {(0, 2): (24, 24)}), cells)
    units = problem.table.units
    assert units is not None
    who = units.who.copy()
    who[who == who[problem.table.cell("r0", "c1"), 2]] = who[problem.table.cell("r0", "c0"), 0]
    count = units.count.copy()  # who stands in two cells of a total is one of its contributors
    count[[problem.table.cell("r0", "Total"), problem.table.cell("Total", "Total")]] -= 1
    interior = interior_of(problem)
    pattern = Pattern.hiding(problem, interior, "interior")
    for depth in (2, 3):
        known = Contributions(
            0, count, units.total, units.absolute, units.top[:, :depth], who[:, :depth], units.names
        )
        listed = problem.replace(table=problem.table.replace(units=known))
        assert not audit_insiders(listed, pattern).is_safe


def test_what_an_insider_knows_anyway_is_not_asked_for() -> None:
    """The larger of two firms knows its cell to be at least its own part, whatever is hidden."""
    cells = {
        (0, 0): [90, 3],
        (0, 1): [30, 30, 30],
        (0, 2): [30, 30, 30],
        (1, 0): [30] * 4,
        (1, 1): [30] * 4,
        (1, 2): [30] * 4,
    }
    problem = with_contributions(two_way([[93, 90, 90], [120, 120, 120]], {(0, 0): (9, 9)}), cells)
    interior = interior_of(problem)
    assert audit_insiders(problem, Pattern.hiding(problem, interior, "interior")).is_safe


def test_sliding_levels_alone() -> None:
    problem, pattern = singleton_table()
    sliding = problem.replace(upl=problem.upl * 0, lpl=problem.lpl, spl=problem.lpl)
    assert not audit_insiders(sliding, pattern).is_safe


def test_what_is_missing_is_named() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "x")
    with pytest.raises(InputError, match="no contributions at unit level"):
        audit_insiders(problem, pattern)
    known, pattern = singleton_table()
    with pytest.raises(InputError, match="needs p"):
        audit_insiders(known, pattern, "pq")
    with pytest.raises(InputError, match="0 < p"):
        audit_insiders(known, pattern, "pq", p=50, q=20)


def test_no_time_means_not_safe() -> None:
    problem, pattern = singleton_table()
    assert not audit_insiders(problem, pattern, time_limit=0).safe.any()


# -- coalitions and prior knowledge --------------------------------------------------------------------------


def test_two_singletons_together_undo_a_third() -> None:
    """Three hidden cells in the row, two of them a single firm's: no firm alone knows the third, both do."""
    cells = {
        (0, 0): [20],
        (0, 1): [30],
        (0, 2): [25],
        (1, 0): [7, 7, 8],
        (1, 1): [9, 9, 9],
        (1, 2): [6, 6, 6],
    }
    problem = with_contributions(two_way([[20, 30, 25], [22, 27, 18]], {(0, 0): 3}), cells)
    interior = interior_of(problem)
    pattern = Pattern.hiding(problem, interior, "interior")
    assert audit_insiders(problem, pattern).is_safe
    report = audit_insiders(problem, pattern, coalition=2)
    assert not report.is_safe and "coalition of 2" in report.attackers[0]


def test_a_coalition_is_at_least_as_strong_as_its_members() -> None:
    rng = np.random.default_rng(7)
    weaker = 0
    for _ in range(20):
        problem, pattern = random_case(rng)
        reports = [audit_insiders(problem, pattern, "pq", p=10, q=100, coalition=k) for k in (1, 2, 3)]
        one, two, three = (set(report.unsafe_cells.tolist()) for report in reports)
        assert one <= two <= three
        weaker += len(two - one)
    assert weaker > 0


def test_a_coalition_against_all_pairs_by_enumeration() -> None:
    """What is shown safe against coalitions of two is safe against every pair of firms, one by one."""
    rng = np.random.default_rng(9)
    judged = 0
    for _ in range(12):
        problem, pattern = random_case(rng)
        report = audit_insiders(problem, pattern, "pq", p=10, q=100, coalition=2)
        single = PriorPosteriorInsiders(problem, OwnParts.of(problem), 10, 100)
        movement = Movement(problem.table.relations, pattern.hidden)
        parts = single.parts
        for cell in report.cells[report.safe].tolist():
            target = int(parts.who[cell, 0])
            firms = [firm for firm in parts.places if firm != target]
            for a, b in combinations(firms, 2):
                known = parts.known_to(a) + parts.known_to(b)
                room = (parts.total - known) * int(single.q * single.scale)
                room[cell] = UNBOUNDED
                own = int(known[cell])
                others = int(parts.total[cell]) - int(parts.amount[cell, 0]) - own
                needed = int((single.p * int(parts.amount[cell, 0]) - single.q * others) * single.scale)
                assert needed <= 0 or movement.find(cell, needed, (room, room), up=True)
                judged += 1
    assert judged > 100


def test_prior_knowledge_narrows_what_is_left() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    rectangle = [problem.table.cell(r, c) for r in ("r0", "r1") for c in ("c0", "c1")]
    hidden = np.isin(np.arange(problem.table.num_cells), rectangle)
    pattern = Pattern.hiding(problem, hidden, "rectangle")
    assert audit_outsider(problem, pattern).is_safe
    assert audit_outsider(problem.known_within(50), pattern).is_safe, "the cell of 8 can still move by 4"
    assert not audit_outsider(problem.known_within(30), pattern).is_safe, "it can move by 2 only"


def test_a_sliding_level_counts_what_is_left_of_the_lower_one() -> None:
    """The lower level is cut at what the largest firm knows; the width must then come from above."""
    below = {(1, c): [30] * 4 for c in range(3)}
    cells = {(0, 0): [90, 3], (0, 1): [4, 3, 3], (0, 2): [30, 30, 30], **below}
    problem = with_contributions(two_way([[93, 10, 90], [120] * 3], {(0, 0): (9, 1)}), cells)
    rectangle = [problem.table.cell(r, c) for r in ("r0", "r1") for c in ("c0", "c1")]
    pattern = Pattern.hiding(problem, np.isin(np.arange(problem.table.num_cells), rectangle), "rectangle")
    asked = {spl: problem.replace(spl=np.where(problem.upl > 0, spl, 0)) for spl in (13, 14)}
    # the firm of 90 is left with 3 below the value, and with the 10 of the cell beside it above
    assert audit_insiders(asked[13], pattern).is_safe
    assert not audit_insiders(asked[14], pattern).is_safe


def test_the_lower_level_is_asked_in_full_of_coalitions_from_elsewhere() -> None:
    """Two firms know 7 of the 10 opposite, 3 are left; what the largest of the target know is no excuse."""
    cells = {(0, 0): [90, 3, 2], (0, 1): [30, 30, 30], (1, 0): [30, 30, 30], (1, 1): [4, 3, 3]}
    problem = with_contributions(two_way([[95, 90], [90, 10]], {(0, 0): (9, 0)}), cells)
    pattern = Pattern.hiding(problem, interior_of(problem), "interior")
    assert not audit_insiders(problem, pattern, coalition=2).is_safe
    modest = problem.replace(lpl=np.where(problem.lpl > 0, 3, 0))
    assert audit_insiders(modest, pattern, coalition=2).is_safe


def test_several_attackers_in_one_report() -> None:
    problem, pattern = singleton_table()
    several = [Attacker(), Attacker("insider"), Attacker("pq", p=20)]
    figures = audit_figures(audit(problem, pattern, attackers=several))
    single = [audit_figures(audit(problem, pattern, attackers=[attacker])) for attacker in several[1:]]
    primary = problem.table.cell_names(problem.primaries)
    for row in figures["cells"]:
        insiders = [other for one in single for other in one["cells"] if other["cell"] == row["cell"]]
        assert row["reach"] == min(one["reach"] for one in insiders) < 1 and row["closest"].startswith("firm")
        assert (row["upper"] is not None) == (row["cell"] in primary)
    assert [row["cell"] for row in figures["cells"] if row.get("published")] == ["(r0, c2)", "(r1, c2)"]
    assert figures["totals"] == []
