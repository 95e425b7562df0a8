"""Demands of coalitions, and whom families keep off: against the definition and against the verifier."""

from __future__ import annotations

from itertools import combinations
from math import ceil

import numpy as np
import pytest

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.coalition_families import CoalitionFamilies, CoalitionParams
from cellveil.attackers.families import Claims
from cellveil.attackers.insiders import SelfKnowing
from cellveil.attackers.own_parts import EVERYBODY, NOBODY, OwnParts
from cellveil.certificate import claimed_movements
from cellveil.certificate.asked_movements import asked_movements
from cellveil.certificate.coalitions import check_claims
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witness, Witnesses
from cellveil.judge.insider import audit_insiders
from cellveil.judge.insider_certificate import insider_certificate, named
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.rules import PPercent
from cellveil.rules.apply import make_problem
from cellveil.suppression.other_attackers.family_search import FamilySearch
from cellveil.tables.contributions import Contributions
from cellveil.tables.scaled import UNBOUNDED
from helpers.examples import few_of
from helpers.insider_definition import RULES, Definition, Records, draw_records

TWO = Attacker("insider", coalition=2)


def drawn(seed: int, depth: int, times: int = 1) -> tuple[Records, str, Problem]:
    """A small table by one of the rules, its amounts so many times as large."""
    records = draw_records(np.random.default_rng(seed), negative=seed % 4 == 1)
    records = Records(tuple((*row, times * amount) for *row, amount in records.rows))  # type: ignore[misc]
    rule = list(RULES)[seed % len(RULES)]
    return records, rule, records.problem(rule, depth)


def coalitions_of(problem: Problem, members: int = 2) -> CoalitionFamilies:
    found = SelfKnowing(problem, OwnParts.of(problem), members).together
    assert found is not None
    return found


@pytest.mark.parametrize("seed", range(8))
def test_the_demand_is_the_rule_with_the_coalition_in_the_second_place(seed: int) -> None:
    records, rule, problem = drawn(seed, depth=10)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    by_definition = Definition(problem, hidden, records.parts(problem), rule, 2)
    coalitions = coalitions_of(problem).coalitions
    units = problem.table.units
    assert units is not None
    for cell in problem.primaries.tolist():
        for who in by_definition.coalitions():
            numbers = frozenset(units.names.index(name) for name in who)
            for up in (True, False):
                expected = max(ceil(by_definition.demand(who, cell, up)), 0)
                assert coalitions.amount(cell, up, numbers) == expected


@pytest.mark.parametrize("depth", [2, 3, 10])
@pytest.mark.parametrize("seed", range(4))
def test_demands_and_rooms_are_those_of_the_verifier(seed: int, depth: int) -> None:
    _, _, problem = drawn(seed, depth)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    families, asked = coalitions_of(problem), asked_movements(problem, named(problem, TWO), hidden)
    people = sorted(families.parts.places)
    every = [frozenset(who) for size in range(3) for who in combinations(people, size)]
    for who in every[:: max(1, len(every) // 12)]:
        for cell in problem.primaries.tolist():
            for up in (True, False):
                expected = max(asked.amount(cell, up, who), 0)
                assert families.coalitions.amount(cell, up, who) == expected
                assert expected <= families.coalitions.most(cell, up)
        target = int(problem.primaries[0])
        rooms = families.rooms(np.array([families.coalitions.number(who)]), target)
        for cell in range(problem.table.num_cells):
            for up in (True, False):
                wanted = asked.room(cell, up, who, cell == target)
                assert int(rooms[up][cell]) == (UNBOUNDED if wanted is None else wanted)


def some_claims(problem: Problem, seed: int) -> Claims:
    """Deviations against nobody, everybody or two contributors, all of them for all cells that they move."""
    insiders = SelfKnowing(problem, OwnParts.of(problem), 2)
    movement, found = Movement.of(problem, Deadline(None)), []
    rng = np.random.default_rng(seed)
    people = sorted(insiders.parts.places)
    for cell in problem.primaries.tolist():
        two = insiders.families.coalitions.number(  # type: ignore[union-attr]
            frozenset(int(who) for who in rng.choice(people, 2, replace=False))
        )
        for who in (NOBODY, EVERYBODY, two):
            amount, up = insiders.demand(cell, True, who), bool(rng.random() < 0.7)
            if amount > 0:
                found.append(movement.find(cell, amount, insiders.rooms(who, cell), up=up))
    witnesses = Witnesses.of([witness for witness in found if witness is not None])
    is_primary = np.zeros(problem.table.num_cells, dtype=bool)
    is_primary[problem.primaries] = True
    return Claims.of_all(witnesses, is_primary, 100, 100)


@pytest.mark.parametrize("seed", range(6))
def test_who_is_left_by_claims_is_who_is_left_for_the_verifier(seed: int) -> None:
    """Also where products of amounts do not fit into 64 bits."""
    _, _, problem = drawn(seed, depth=2 + seed % 2, times=1 if seed < 4 else 10**12 + 39)
    hidden, families = np.ones(problem.table.num_cells, dtype=bool), coalitions_of(problem)
    whole = some_claims(problem, seed)
    cells, up = families.open_demands()
    for claims in (whole, whole.take(np.arange(0, len(whole), 3)), Claims.nothing()):
        left = families.left(claims, cells, up)
        proof = insider_certificate(problem, hidden, TWO, claims)
        assert proof is not None
        shown = check_claims(problem, hidden, named(problem, TWO), proof).shown
        assert shown == set(problem.primaries.tolist()) - set(cells[~left.settled].tolist())


def shown_by_trying_all(problem: Problem, claims: Claims, attacker: Attacker) -> set[int]:
    """The cells that claims show, every coalition of everybody tried, every moved cell looked at."""
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    asked = asked_movements(problem, named(problem, attacker), hidden)
    people = sorted({one for cell in range(len(hidden)) for one in asked.parts.people(cell)})
    sizes = range(attacker.coalition + 1)
    every = [frozenset(some) for size in sizes for some in combinations(people, size)]

    def holds(number: int, cell: int, up: bool, who: frozenset[int], amount: int) -> bool:
        witness = claims.witnesses[number]
        moved = dict(zip(witness.cells.tolist(), witness.numerators.tolist(), strict=True))
        sign = 1 if (moved[cell] > 0) == up else -1
        rooms = {k: asked.room(k, sign * step > 0, who, k == cell) for k, step in moved.items() if step}
        return all(
            room is None or abs(moved[k]) * amount <= abs(moved[cell]) * room for k, room in rooms.items()
        )

    named_for: dict[tuple[int, bool], list[int]] = {}
    for cell, up, number in zip(
        claims.cells.tolist(), claims.up.tolist(), claims.numbers.tolist(), strict=True
    ):
        named_for.setdefault((cell, up), []).append(number)
    return {
        cell
        for cell in problem.primaries.tolist()
        if all(
            amount <= 0
            or any(holds(number, cell, up, who, amount) for number in named_for.get((cell, up), ()))
            for up in (True, False)
            for who in every
            for amount in [asked.amount(cell, up, who)]
        )
    }


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("members", [1, 2, 3])
def test_the_verifier_spares_no_coalition_that_matters(
    seed: int, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where products of amounts do not fit into 64 bits, and where claims are read part by part."""
    monkeypatch.setattr(claimed_movements, "ROWS_AT_ONCE", 1_000_000 if seed % 2 else 7)
    _, _, problem = drawn(seed, max(2, members + seed % 2), times=1 if seed < 4 else 10**12 + 39)
    attacker, whole = Attacker("insider", coalition=members), some_claims(problem, seed)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    verdicts = set()
    for claims in (whole, whole.take(np.arange(0, len(whole), 4))):
        proof = insider_certificate(problem, hidden, attacker, claims)
        assert proof is not None
        shown = check_claims(problem, hidden, named(problem, attacker), proof).shown
        assert shown == shown_by_trying_all(problem, claims, attacker)
        verdicts |= {cell in shown for cell in problem.primaries.tolist()}
    assert verdicts == {True, False} or members != 2 or seed == 5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("members", [2, 3])
def test_what_was_visited_before_changes_nothing(seed: int, members: int) -> None:
    _, _, problem = drawn(seed, depth=members + seed % 2)
    whole = some_claims(problem, seed)
    families, rng = coalitions_of(problem, members), np.random.default_rng(seed)
    cells, up = families.open_demands()
    some = [np.arange(0, len(whole), 5), np.arange(0, len(whole), 2), np.arange(len(whole))]
    for chosen in (*some, *(rng.permutation(part) for part in some)):
        claims = whole.take(chosen)
        anew = coalitions_of(problem, members).left(claims, cells, up).settled
        assert (families.left(claims, cells, up).settled == anew).all()


@pytest.mark.parametrize("seed", range(6))
def test_claims_that_are_enough_keep_off_whom_all_do(seed: int) -> None:
    _, _, problem = drawn(seed, depth=2 + seed % 2)
    whole, families = some_claims(problem, seed), coalitions_of(problem)
    cells, up = families.open_demands()
    families.left(whole.take(np.arange(0, len(whole), 2)), cells, up)  # as a trial that came to nothing
    few = families.enough(whole)
    assert len(few) < len(whole)
    settled = [coalitions_of(problem).left(claims, cells, up).settled for claims in (whole, few)]
    assert (settled[0] == settled[1]).all() and settled[0].any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("members", [2, 3])
def test_several_coalitions_leave_the_least_room_of_each(seed: int, members: int) -> None:
    _, _, problem = drawn(seed, depth=members + seed % 2)
    families, rng = coalitions_of(problem, members), np.random.default_rng(seed)
    coalitions, cells = families.coalitions, np.flatnonzero(families.parts.count > 0)
    for target in rng.choice(cells, 5).tolist():
        people = sorted({one for cell in rng.choice(cells, 4).tolist() for one in coalitions.people(cell)})
        groups = [frozenset(rng.choice(people, members).tolist()) for _ in range(3)]
        who = np.array([coalitions.number(group) for group in groups])
        known, down, up = families.known_to(who, target)
        for cell, *rooms in zip(known.tolist(), down.tolist(), up.tolist(), strict=True):
            here = [group for group in groups if group & coalitions.people(cell)]
            for side in (False, True):
                alone = [families.rooms(np.array([coalitions.number(group)]), target) for group in here]
                assert rooms[side] == min(int(one[side][cell]) for one in alone)


def is_held(
    families: CoalitionFamilies, witness: Witness, cell: int, who: frozenset[int], amount: int
) -> bool:
    """Whether a coalition cannot rule out that the cell rises by the amount as the witness tells."""
    rooms = families.rooms(np.array([families.coalitions.number(who)]), cell)
    moved = dict(zip(witness.cells.tolist(), witness.numerators.tolist(), strict=True))
    return all(
        abs(step) * amount <= moved[cell] * int(rooms[step > 0][other]) for other, step in moved.items()
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("members", [2, 3])
def test_a_deviation_within_the_rooms_of_a_crowd_keeps_all_of_it_off(seed: int, members: int) -> None:
    _, _, problem = drawn(seed, depth=members + seed % 2)
    families, movement = coalitions_of(problem, members), Movement.of(problem, Deadline(None))
    people, found = sorted(families.parts.places), 0
    every = [frozenset(who) for size in range(members + 1) for who in combinations(people, size)]
    for cell in problem.primaries.tolist()[:4]:
        amounts, inside = families.asked_of(cell, True)
        most, split = families.coalitions.most(cell, True), int(amounts[0]) if len(amounts) > 1 else 0
        listed = set(families.coalitions.listed(cell))
        for number in inside.tolist():
            assert len(families.coalitions.of(number) & listed) == members
        for above, top, within in ((0, most, members), (split, most, members - 1), (0, split, members - 1)):
            rooms = tuple(room.copy() for room in families.crowd)
            cells, down, up = families.crowd_around(cell, True, (above, top), within)
            rooms[0][cells], rooms[1][cells] = down, up
            witness = movement.find(cell, top, rooms, up=True) if top else None  # type: ignore[arg-type]
            if witness is None:
                continue
            found += 1
            for who in every:
                amount = families.coalitions.amount(cell, True, who)
                if above < amount <= top and len(who & listed) <= within:
                    assert is_held(families, witness, cell, who, amount)
    assert found or seed == 1, "contributions of both signs leave no floor"


def test_the_search_against_coalitions_leaves_exempt_cells_to_outsiders() -> None:
    table = random_table((7, 6), contributors=4, contributions=True, depth=3, seed=1).table
    problem = make_problem(table, PPercent(15))
    exempt = problem.primaries[-2:]
    search = FamilySearch(
        SelfKnowing(problem, OwnParts.of(problem), 2, exempt), problem.hidden_at_start, Deadline(None)
    )
    assert not search.pool.is_asked[np.isin(search.pool.cells, exempt)].any()
    search.run()
    assert search.pool.settled.all()
    pattern = Pattern.hiding(problem, search.hidden, "families")
    assert audit_insiders(problem, pattern, coalition=2, exempt=exempt.tolist()).is_safe, "without any claims"


def test_where_too_many_would_have_to_be_visited_somebody_is_left() -> None:
    _, _, problem = drawn(0, depth=3)
    claims, own = some_claims(problem, 0), coalitions_of(problem).own
    cells, up = coalitions_of(problem).open_demands()
    full, hasty = (
        CoalitionFamilies(own, 2, CoalitionParams(most_visited=most)).left(claims, cells, up).settled
        for most in (10**6, 1)
    )
    assert full.any() and not (hasty & ~full).any() and hasty.sum() < full.sum()


def test_without_ids_all_coalitions_are_met_by_one_that_knows_most() -> None:
    records = draw_records(np.random.default_rng(2))
    problem = records.problem("p%", depth=3)
    units = problem.table.units
    assert units is not None
    nameless = Contributions(
        0, units.count, units.total, units.absolute, units.top, np.full_like(units.who, -1), ()
    )
    unknown = problem.replace(table=problem.table.replace(units=nameless))
    insiders = SelfKnowing(unknown, OwnParts.of(unknown, needs_all=True), 2)
    assert insiders.together is None and insiders.families is None
    pattern = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "all")
    with_ids = audit_insiders(problem, pattern, coalition=2)
    without = audit_insiders(unknown, Pattern.hiding(unknown, pattern.hidden, "all"), coalition=2)
    assert not (without.safe & ~with_ids.safe).any()


@pytest.mark.parametrize("seed", few_of(range(3), 1))
def test_the_audit_asks_what_the_definition_asks(seed: int) -> None:
    records, rule, problem = drawn(seed, depth=10)
    rng = np.random.default_rng(seed)
    hidden = problem.hidden_at_start | (rng.random(problem.table.num_cells) < 0.8)
    report = audit_insiders(problem, Pattern.hiding(problem, hidden, "some"), coalition=2)
    by_definition = Definition(problem, hidden, records.parts(problem), rule, 2)
    assert set(report.unsafe_cells.tolist()) == by_definition.open_cells()
    names = set(problem.table.units.names)  # type: ignore[union-attr]
    for attacker, is_safe in zip(report.attackers, report.safe.tolist(), strict=True):
        assert is_safe or attacker in ("everybody", "anybody") or set(_members(attacker)) <= names


def _members(attacker: str) -> list[str]:
    return attacker.split(": ")[-1].split(" with ")
