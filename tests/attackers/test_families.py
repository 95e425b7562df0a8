"""Demands of insiders and families of witnesses, against the definition and against linear programs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

import numpy as np
import pytest

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.enough_claims import enough_claims
from cellveil.attackers.families import Claims, Families
from cellveil.attackers.insiders import SelfKnowing
from cellveil.attackers.own_parts import NOBODY, OwnParts
from cellveil.certificate.coalitions import check_claims
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witnesses
from cellveil.judge.insider import audit_insiders
from cellveil.judge.insider_certificate import insider_certificate, named
from cellveil.level_origin import SHARE, LevelOrigin
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.rules import AnyOf, Dominance, PPercent, Rule, Threshold
from cellveil.rules.apply import make_problem
from cellveil.suppression.other_attackers.family_search import FamilySearch
from helpers.contributions import with_contributions


def insiders_of(problem: Problem) -> SelfKnowing:
    return SelfKnowing(problem, OwnParts.of(problem))


def small_table(seed: int, rule: Rule | None = None) -> Problem:
    """A random table whose contributors are all listed."""
    problem = random_table((4, 5), contributors=3, zeros=0.1, contributions=True, depth=60, seed=seed)
    return make_problem(problem.table, rule or PPercent(15))


def by_definition(problem: Problem, cell: int, who: int, p: Fraction) -> int:
    """p · x_g − (X − x_g − own), cut at the level."""
    units = problem.table.units
    assert units is not None
    parts = {int(w): int(x) for w, x in zip(units.who[cell], units.top[cell], strict=True) if w >= 0}
    others = [x for w, x in parts.items() if w != who]
    if not others:
        return 0
    wanted = p * max(others) - (sum(parts.values()) - max(others) - parts.get(who, 0))
    return max(0, min(ceil(wanted), int(problem.upl[cell])))


@pytest.mark.parametrize("seed", range(3))
def test_the_demand_is_the_rule_with_the_insider_in_the_second_place(seed: int) -> None:
    problem = small_table(seed)
    insiders, seen = insiders_of(problem), set()
    for cell in problem.primaries.tolist():
        for who in [*insiders.parts.places, NOBODY]:
            expected = by_definition(problem, cell, who, Fraction(15, 100))
            assert insiders.demand(cell, True, who) == expected
            seen.add(np.sign(int(problem.upl[cell]) - expected).item() if expected else "none")
    assert seen == {0, 1, "none"}


def test_the_second_largest_is_asked_for_the_level_and_the_largest_for_less() -> None:
    cells = {(0, 0): [90, 3, 2], (0, 1): [30] * 4, (1, 0): [30] * 4, (1, 1): [30] * 4}
    table = with_contributions(two_way([[95, 120], [120, 120]]), cells).table
    for rule, level, largest in ((PPercent(10), 7, 0), (Dominance(2, 90), 9, 9), (Dominance(1, 80), 18, 0)):
        problem = make_problem(table, rule)
        cell = problem.table.cell("r0", "c0")
        own = insiders_of(problem).own
        assert problem.upl[cell] == level
        assert own.up[own.row[cell], 1] == level and own.up[own.row[cell], 0] == largest


def test_a_share_of_the_value_is_a_share_of_what_is_not_ones_own() -> None:
    cells = {(0, 0): [60, 40], (0, 1): [30] * 4, (1, 0): [30] * 4, (1, 1): [30] * 4}
    table = with_contributions(two_way([[100, 120], [120, 120]]), cells).table
    own = insiders_of(make_problem(table, Threshold(3, safety_range=20))).own
    assert own.up[:, [0, 1, -1]].tolist() == [[8, 12, 20]] == own.down[:, [0, 1, -1]].tolist()
    both = insiders_of(make_problem(table, AnyOf(Threshold(3, safety_range=20), PPercent(10)))).own
    assert both.up[:, [0, 1, -1]].tolist() == [[4, 6, 0]], "a rule with a formula decides"
    unknown = make_problem(table, PPercent(10)).replace(origins={})
    assert insiders_of(unknown).own.up[:, [0, 1, -1]].tolist() == [[6, 6, 6]], "fails closed"


def test_a_formula_that_does_not_speak_for_the_attackers_leaves_the_whole_level() -> None:
    cells = {(0, 0): [60, 40], (0, 1): [30] * 4, (1, 0): [30] * 4, (1, 1): [30] * 4}
    table = with_contributions(two_way([[100, 120], [120, 120]]), cells).table
    problem = make_problem(table, Threshold(3, safety_range=20))
    marked = problem.status == Status.PRIMARY
    by_holdings = LevelOrigin(Fraction(11, 10), level="holding")
    both = problem.replace(origins={by_holdings: marked, SHARE: marked})
    own = insiders_of(both).own
    assert own.up[:, [0, 1, -1]].tolist() == [[20, 20, 20]], "a share of the value would be less"


def test_levels_that_are_multiplied() -> None:
    cells = {(0, 0): [90, 3, 2], (0, 1): [30] * 4, (1, 0): [30] * 4, (1, 1): [30] * 4}
    table = with_contributions(two_way([[95, 120], [120, 120]]), cells).table
    own = insiders_of(make_problem(table, PPercent(10), upper_factor=2, lower_factor=0)).own
    assert own.up[0, 1] == 14 and not own.down.any()


def families_are_right(problem: Problem, claims: Claims) -> tuple[int, int]:
    """Compare who is left with every single pair, claim by claim; how many are kept off and left."""
    insiders = insiders_of(problem)
    families = Families(insiders.own)
    cells, up = families.open_demands()
    left = families.left(claims, cells, up)
    demands, who = left.pairs(insiders.parts.who)
    stuck = set(zip(demands.tolist(), who.tolist(), strict=True))
    kept = 0
    for demand, (cell, rises) in enumerate(zip(cells.tolist(), up.tolist(), strict=True)):
        mine = claims.numbers[(claims.cells == cell) & (claims.up == rises)].tolist()
        for attacker in [*insiders.parts.places, NOBODY]:
            needed = insiders.demand(cell, rises, attacker)
            is_kept = needed == 0
            for number in mine:
                witness = claims.witnesses[number]
                way = witness.numerators[witness.cells == cell][0] > 0
                shown = insiders.shown(witness if way == rises else witness.reversed(), cell, rises)
                is_kept |= shown.get(attacker, shown.get(NOBODY, 1)) >= 1
            open_now = left.is_open[demand] if attacker == NOBODY else (demand, attacker) in stuck
            if not left.is_open[demand] or attacker == NOBODY:
                assert open_now == (not is_kept)
            kept += is_kept
    return kept, len(stuck)


def test_families_leave_exactly_those_whom_no_witness_keeps_off() -> None:
    found = [kept_and_left(seed) for seed in range(5)]
    assert sum(kept for kept, _ in found) > 500 and sum(left for _, left in found) > 5


def kept_and_left(seed: int) -> tuple[int, int]:
    return families_are_right(small_table(seed), some_claims(seed))


def some_claims(seed: int) -> Claims:
    """Deviations against a few insiders, or nobody, claimed for all primaries that they move."""
    problem = small_table(seed)
    hidden = problem.table.values > 0
    movement, insiders = Movement(problem.table.relations, hidden), insiders_of(problem)
    found, rng = [], np.random.default_rng(seed)
    for cell in problem.primaries.tolist():
        for up, amount in insiders.demands(cell):
            if rng.random() < 0.7:
                continue
            attacker = NOBODY if rng.random() < 0.7 else int(rng.choice([*insiders.parts.places]))
            witness = movement.find(cell, amount, insiders.rooms(attacker, cell), up=up)
            found += [] if witness is None else [witness]
    witnesses = Witnesses.of(found)
    return Claims.of_all(witnesses, insiders.own.row >= 0, 1000, 1000)


@pytest.mark.parametrize("depth", [3, 60])
def test_few_claims_keep_off_whom_all_of_them_do(depth: int) -> None:
    fewer = 0
    for seed in range(8):
        problem = random_table((5, 6), contributors=3, zeros=0.1, contributions=True, depth=depth, seed=seed)
        problem = make_problem(problem.table, PPercent(15))
        hidden, insiders = problem.table.values > 0, insiders_of(problem)
        movement, rng = Movement(problem.table.relations, hidden), np.random.default_rng(seed)
        found = [
            movement.find(cell, amount, insiders.rooms(who, cell), up=up)
            for cell in problem.primaries.tolist()
            for up, amount in insiders.demands(cell)
            for who in (NOBODY, int(rng.choice([*insiders.parts.places])))
            if rng.random() < 0.5
        ]
        witnesses = Witnesses.of([witness for witness in found if witness is not None])
        claims = Claims.of_all(witnesses, insiders.own.row >= 0, 1000, 1000)
        families = Families(insiders.own)
        few = enough_claims(families, claims)
        assert open_pairs(families, few) == open_pairs(families, claims)
        proofs = [insider_certificate(problem, hidden, Attacker("insider"), each) for each in (few, claims)]
        who = named(problem, Attacker("insider"))
        shown = [check_claims(problem, hidden, who, proof).shown for proof in proofs if proof is not None]
        assert len(shown) == 2 and shown[0] == shown[1]
        fewer += len(claims) - len(few)
    assert fewer > 100


def open_pairs(families: Families, claims: Claims) -> tuple[list[bool], set[tuple[int, int]]]:
    """The demands open to somebody without a part, and all others that are open, with their insiders.

    Where somebody without a part is not kept off, it does not matter who else is not.
    """
    left = families.left(claims, *families.open_demands())
    pairs = zip(*(column.tolist() for column in left.pairs(families.parts.who)), strict=True)
    return left.is_open.tolist(), {(demand, who) for demand, who in pairs if not left.is_open[demand]}


def test_what_families_settle_the_judge_finds_safe_by_programs() -> None:
    for seed in range(4):
        problem = random_table((9, 8), contributors=3, zeros=0.1, contributions=True, depth=4, seed=seed)
        problem = make_problem(problem.table, PPercent(15))
        search = FamilySearch(insiders_of(problem), problem.hidden_at_start, Deadline(None))
        search.run()
        assert search.pool.settled.all()
        pattern = Pattern.hiding(problem, search.hidden, "families")
        assert audit_insiders(problem, pattern).is_safe, "without any claims"
        assert audit_insiders(problem, pattern, claims=search.claims, time_limit=1e-9).is_safe


def test_false_claims_show_nothing() -> None:
    problem = small_table(1)
    search = FamilySearch(insiders_of(problem), problem.hidden_at_start, Deadline(None))
    search.run()
    claims = search.claims
    false = Claims(
        Witnesses(
            claims.witnesses.starts,
            claims.witnesses.cells,
            np.abs(claims.witnesses.numerators),
            claims.witnesses.denominators,
        ),
        claims.cells,
        claims.up,
        claims.numbers,
    )
    pattern = Pattern.hiding(problem, search.hidden, "families")
    report = audit_insiders(problem, pattern, claims=false, time_limit=1e-9)
    asked = np.unique(Families(insiders_of(problem).own).open_demands()[0])
    assert not report.safe[np.isin(report.cells, asked)].any() and not report.judged.all()
    bare = Pattern.hiding(problem, problem.hidden_at_start, "primaries only")
    assert not audit_insiders(problem, bare, claims=claims, time_limit=1e-9).is_safe
    assert Attacker("insider").words == "every single contributor"


def test_levels_set_by_hand_are_asked_whole() -> None:
    problem = small_table(1)
    cell = int(problem.primaries[0])
    insiders = insiders_of(problem)
    second = int(insiders.parts.who[cell, 1])
    assert insiders.demand(cell, True, NOBODY) < problem.upl[cell] or second < 0
    raised = problem.replace(upl=problem.upl * 3)
    assert not raised.origins, "the formula of the rule no longer tells the level"
    assert insiders_of(raised).demand(cell, True, NOBODY) == raised.upl[cell]
    assert problem.replace(weight=problem.weight * 2).origins
