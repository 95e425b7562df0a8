"""Certificates against insiders: what is accepted is safe by the definition, what is tampered with fails."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.families import Claims
from cellveil.certificate import Certificate, NamedAttacker, Verification, verify
from cellveil.certificate.certificate import ClaimList
from cellveil.certificate.claimed_movements import _quotients
from cellveil.certificate.known_parts import KnownParts, contributions_digest, plain_sums
from cellveil.certificate.named_attacker import listed_in_words
from cellveil.judge.auditing import attack_as_insiders, audit
from cellveil.judge.insider import InsiderReport
from cellveil.judge.insider_certificate import insider_certificate, named
from cellveil.judge.verdict import Verdict
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression import suppress
from cellveil.tables.relations import Relations
from helpers.examples import examples
from helpers.insider_definition import RULES, Definition, Records, draw_records


def judged(problem: Problem, hidden: Any, attacker: Attacker) -> tuple[InsiderReport, Verification]:
    """The judge's report, and what its claims prove, cell by cell."""
    pattern = Pattern.hiding(problem, hidden, "some cells")
    report = attack_as_insiders(problem, pattern, attacker)
    proof = insider_certificate(problem, pattern.hidden, attacker, report.claims)
    assert proof is not None
    return report, verify(problem, pattern, Certificate.from_bytes(proof.to_bytes()), needs_outsiders=False)


def some_hidden(problem: Problem, rng: np.random.Generator) -> Any:
    drawn = rng.random(problem.table.num_cells) < rng.choice([0.5, 0.8, 1.0])
    return problem.hidden_at_start | (drawn & (problem.status != Status.FROZEN))


def cells_of(proof: Verification) -> set[int]:
    (one,) = proof.proofs
    return set(one.cells[one.protected].tolist())


# -- what is accepted is safe --------------------------------------------------------------------------------


def compare(seed: int, coalition: int) -> tuple[int, int, int]:
    """Cells shown, cells that some coalition gets at by the definition, and cells asked."""
    rng = np.random.default_rng(seed)
    records = draw_records(rng, negative=seed % 5 == 4)
    rule, depth = str(rng.choice(list(RULES))), int(rng.choice([2, 3, 10]))
    level = "unit" if rule == "threshold" else str(rng.choice(["unit", "holding"]))
    problem = records.problem(rule, depth, level)
    hidden = some_hidden(problem, rng)
    report, proof = judged(problem, hidden, Attacker("insider", level=level, coalition=coalition))
    assert not proof.faults
    shown = cells_of(proof)
    assert shown == set(report.cells[report.safe].tolist()), "the judge's claims prove what it says"
    asked = Definition(problem, hidden, records.parts(problem, level), rule, coalition)
    open_cells = asked.open_cells()
    assert not shown & open_cells
    return len(shown), len(open_cells), len(problem.primaries)


@examples(4, of=8)
@given(st.integers(0, 10**6))
def test_what_is_shown_against_single_contributors_is_safe_by_the_definition(seed: int) -> None:
    compare(seed, 1)


@examples(2, of=4)
@given(st.integers(0, 10**6))
def test_what_is_shown_against_any_two_is_safe_by_the_definition(seed: int) -> None:
    compare(seed, 2)


def test_both_verdicts_come_up() -> None:
    found = np.array([compare(seed, 1) for seed in range(4)])
    assert (found.sum(axis=0) > 5).all()


@pytest.mark.slow
def test_three_hundred_more_tables() -> None:
    found = np.array([compare(seed, 1 + seed % 2) for seed in range(1000, 1300)])
    assert (found.sum(axis=0) > 300).all()


# -- what is tampered with is rejected -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def safe() -> tuple[Problem, Pattern, Certificate]:
    """A small table protected against single contributors, one cell exempt; with its certificate."""
    problem = draw_records(np.random.default_rng(3)).problem("p%", 3)
    exempt = [int(problem.primaries[0])]
    found = suppress(problem, attackers=[Attacker("insider", exempt=exempt)])
    assert found.is_safe and found.certificate.version == 2
    return problem, found.pattern, found.certificate


def renewed(problem: Problem, proof: Certificate, **changes: Any) -> Certificate:
    """The certificate with other attackers and a digest that goes with them."""
    changed = replace(proof, **changes)
    return replace(changed, contributions=contributions_digest(problem, changed.attackers))


def test_it_says_against_whom(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    found = verify(problem, pattern, Certificate.from_bytes(proof.to_bytes()))
    assert found.is_valid and found.not_shown == ()
    assert found.against == "outsiders and every single contributor (but for 1 cell that is exempt)"
    assert found.demands == found.met == sum(one.met for one in found.proofs)


def test_every_claim_with_another_sign_direction_cell_or_witness_is_rejected(
    safe: tuple[Problem, Pattern, Certificate],
) -> None:
    problem, pattern, proof = safe
    for number in range(len(proof.claims)):
        for name in ("signs", "up"):
            column = getattr(proof.claims, name).copy()
            column[number] *= -1
            found = verify(problem, pattern, replace(proof, claims=replace(proof.claims, **{name: column})))
            assert found.faults == ("the witness of a claim does not move the cell the way that is claimed",)
            assert not found.is_valid and found.against == "nobody"
        for name, wrong in (("witnesses", len(proof)), ("witnesses", -1), ("cells", -1), ("signs", 0)):
            column = getattr(proof.claims, name).copy()
            column[number] = wrong
            assert verify(
                problem, pattern, replace(proof, claims=replace(proof.claims, **{name: column}))
            ).faults


def kept(proof: Certificate, keep: Any) -> Certificate:
    """The certificate with some of its claims."""
    columns = (proof.claims.cells, proof.claims.witnesses, proof.claims.up, proof.claims.signs)
    return replace(proof, claims=ClaimList(*(column[keep] for column in columns)))


def test_a_demand_whose_claims_are_dropped_is_not_shown(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    claims = proof.claims
    for cell, up in set(zip(claims.cells.tolist(), claims.up.tolist(), strict=True)):
        left = kept(proof, (claims.cells != cell) | (claims.up != up))
        found = verify(problem, pattern, left)
        assert not found.is_valid and not found.faults and found.met == found.demands - 1
        assert found.against == "outsiders" and len(found.not_shown) == 1
        assert cell not in cells_of(replace(found, proofs=found.proofs[1:]))


def test_a_family_that_has_lost_a_member_is_not_shown(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    lost = 0
    for number in range(len(proof.claims)):
        found = verify(problem, pattern, kept(proof, np.arange(len(proof.claims)) != number))
        lost += not found.is_valid
    assert lost > len(proof.claims) // 2


def test_other_witnesses_are_rejected(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    for entry in range(0, len(proof.cells), 7):
        numerators = proof.numerators.copy()
        numerators[entry] += 1
        assert verify(problem, pattern, replace(proof, numerators=numerators)).faults


def test_other_attackers_in_the_header_are_rejected(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    outsider, insider = proof.attackers
    more = tuple(problem.primaries[:2].tolist())
    for other in (
        replace(insider, exempt=more),
        replace(insider, exempt=()),
        replace(insider, coalition=2),
        NamedAttacker("pq", p=15.0, exempt=insider.exempt),
        NamedAttacker("integer"),
    ):
        found = verify(problem, pattern, replace(proof, attackers=(outsider, other)))
        assert "other attackers" in found.faults[0] and not found.is_valid
    alone = renewed(problem, proof, attackers=(insider,))
    assert "does not name outsiders" in verify(problem, pattern, alone).faults[0]


def test_a_lowered_coalition_is_rejected_and_a_raised_one_not_shown() -> None:
    problem = draw_records(np.random.default_rng(8)).problem("p%", 10)
    everything = Pattern.hiding(problem, problem.status != Status.FROZEN, "everything")
    found = audit(problem, everything, attackers=[Attacker(), Attacker("insider")])
    proof = found.certificate
    assert verify(problem, everything, proof).is_valid
    outsider, insider = proof.attackers
    raised = renewed(problem, proof, attackers=(outsider, replace(insider, coalition=5)))
    result = verify(problem, everything, raised)
    assert not result.faults and not result.is_valid
    assert result.not_shown == ("any five contributors together",)
    lowered = replace(raised, attackers=(outsider, insider))
    assert "other attackers" in verify(problem, everything, lowered).faults[0]


def test_other_contributions_are_rejected(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, proof = safe
    units = problem.table.units
    assert units is not None
    renamed = replace(units, names=tuple(name[::-1] for name in units.names))
    order = np.random.default_rng(1).permutation(len(units.names)).astype(np.int32)
    renumbered = replace(units, who=np.where(units.who < 0, -1, order[units.who]))
    for same in (renamed, renumbered):
        assert verify(problem.replace(table=problem.table.replace(units=same)), pattern, proof).is_valid
    swapped, top = units.who.copy(), units.top.copy()
    cell = int(np.flatnonzero(units.count > 2)[0])
    swapped[cell, :2] = swapped[cell, 1::-1]
    top[cell, 0] += 1
    for other in (
        replace(units, who=swapped),
        replace(units, top=top),
        replace(units, count=units.count + 1),
    ):
        found = verify(problem.replace(table=problem.table.replace(units=other)), pattern, proof)
        assert "other contributions" in found.faults[0]
    for without in (None, replace(units, total=units.total + 1)):
        found = verify(problem.replace(table=problem.table.replace(units=without)), pattern, proof)
        assert found.faults
    assert "other contributions" in verify(problem.replace(origins={}), pattern, proof).faults[0]


def test_no_names_and_no_amounts_stand_in_the_header(safe: tuple[Problem, Pattern, Certificate]) -> None:
    import zlib

    problem, _, proof = safe
    header = zlib.decompress(proof.to_bytes()[40:]).split(b"\n")[0].decode()
    assert problem.table.units is not None
    assert not any(f'"{name}"' in header for name in problem.table.units.names)


# -- the judge and its verdict -------------------------------------------------------------------------------


def test_a_verdict_without_a_proof_is_not_safe(safe: tuple[Problem, Pattern, Certificate]) -> None:
    problem, pattern, _ = safe
    attacker = Attacker("insider", exempt=[int(problem.primaries[0])])
    report = attack_as_insiders(problem, pattern, attacker)
    verdict = Verdict.of(attacker, problem, pattern, report)
    assert report.is_safe and verdict.is_safe and verdict.is_proven
    bare = Verdict.of(attacker, problem, pattern, replace(report, claims=Claims.nothing()))
    assert not bare.is_safe and not bare.is_proven
    found = audit(problem, pattern)
    assert any("the certificate does not prove" in told for told in bare.objections(found.view))


def test_contributors_without_ids_are_recognised_where_each_stands_once() -> None:
    problem = stand_once(draw_records(np.random.default_rng(1))).problem("p%", 30)
    units = problem.table.units
    assert units is not None
    nameless = replace(units, who=np.full_like(units.who, -1), names=())
    problem = problem.replace(table=problem.table.replace(units=nameless))
    pattern = Pattern.hiding(problem, problem.status != Status.FROZEN, "everything")
    found = audit(problem, pattern, attackers=[Attacker(), Attacker("insider")])
    assert found.is_safe and "without certificate" not in found.verdict
    proof = verify(problem, pattern, found.certificate)
    assert proof.is_valid and proof.against == "outsiders and every single contributor"


def test_only_outsiders_still_make_a_certificate_of_version_1() -> None:
    problem = draw_records(np.random.default_rng(3)).problem("p%", 3)
    found = suppress(problem, attackers=[])
    assert found.certificate.version == 1 and b'"version": 1' not in found.certificate.to_bytes()
    assert verify(problem, found.pattern, found.certificate).against == "outsiders"


def test_all_kinds_of_outsiders_in_one_certificate() -> None:
    problem = draw_records(np.random.default_rng(3)).problem("p%", 3)
    pattern = Pattern.hiding(problem, problem.status != Status.FROZEN, "everything")
    attackers = [Attacker(), Attacker("integer"), Attacker(prior=80.0), Attacker("insider")]
    found = audit(problem, pattern, attackers=attackers)
    assert found.is_safe
    proof = verify(problem, pattern, found.certificate)
    assert proof.is_valid and proof.against == found.against


def test_a_proof_that_needs_no_witness_names_its_attackers_all_the_same() -> None:
    problem = draw_records(np.random.default_rng(1)).problem("p%", 3)
    nothing = np.zeros_like(problem.lpl)
    status = np.where(problem.status == Status.PRIMARY, Status.SAFE, problem.status).astype(np.int8)
    problem = problem.replace(status=status, lpl=nothing, upl=nothing, spl=nothing, reasons={})
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "nothing")
    found = audit(problem, pattern, attackers=[Attacker(), Attacker("insider")])
    proof = verify(problem, pattern, Certificate.from_bytes(found.certificate.to_bytes()))
    assert len(found.certificate) == 0 and proof.is_valid and proof.against == found.against


def test_the_words_are_those_of_the_audit() -> None:
    problem = draw_records(np.random.default_rng(3)).problem("p%", 3, "holding")
    for attacker in (
        Attacker(),
        Attacker("integer", prior=50.0),
        Attacker("insider", coalition=3),
        Attacker("insider", level="holding", exempt=[0, 1]),
        Attacker("pq", p=12.5, q=80.0, coalition=7),
    ):
        assert named(problem, attacker).words == attacker.words
    assert listed_in_words([]) == "nobody"


# -- the (p, q) attacker -------------------------------------------------------------------------------------


def stand_once(records: Records) -> Records:
    """The first record of every firm."""
    return Records(tuple({row[0]: row for row in reversed(records.rows)}.values()))


def test_the_pq_attacker_is_shown_to_be_kept_off_where_everybody_stands_once() -> None:
    shown = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = stand_once(draw_records(rng)).problem("p%", int(rng.choice([2, 10])))
        for coalition in (1, 2):
            attacker = Attacker("pq", p=15.0, coalition=coalition)
            report, proof = judged(problem, some_hidden(problem, rng), attacker)
            assert cells_of(proof) == set(report.cells[report.safe].tolist())
            assert proof.is_valid == report.is_safe
            shown += len(cells_of(proof))
    assert shown > 50


def test_sums_over_several_cells_are_not_shown() -> None:
    seen = set()
    for seed in range(12):
        problem = draw_records(np.random.default_rng(seed)).problem("p%", 10)
        hidden = problem.status != Status.FROZEN
        attacker = Attacker("pq", p=15.0)
        report, proof = judged(problem, hidden, attacker)
        (one,) = proof.proofs
        if one.protected.all() and one.reason:
            assert not proof.is_valid and "several cells" in one.reason
            verdict = Verdict.of(attacker, problem, Pattern.hiding(problem, hidden, "everything"), report)
            assert verdict.is_safe == report.is_safe
            assert not verdict.is_safe or verdict.uncertified == one.reason
            seen.add(verdict.is_safe)
    assert True in seen


# -- what contributors are known to have ---------------------------------------------------------------------


def test_sums_stand_on_the_ground() -> None:
    around = Relations.from_rows(3, [[(0, -1), (1, 1)], [(1, -1), (0, 1)]])
    assert plain_sums(around) == {}, "neither of two cells that are each other's sum"
    weighted = Relations.from_rows(3, [[(0, -1), (1, 2), (2, 1)]])
    assert plain_sums(weighted) == {}
    deep = Relations.from_rows(5, [[(0, -1), (1, 1), (2, 1)], [(1, -1), (3, 1), (4, 1)]])
    assert plain_sums(deep) == {0: [1, 2], 1: [3, 4]}


def test_who_is_not_listed_is_represented() -> None:
    everywhere = Records(
        (*((f"p{i}", "a", "x", 40 - i) for i in range(6)), ("q1", "b", "y", 30), ("r1", "c", "x", 20))
    )
    problem = everywhere.problem("p%", 2)
    hidden = np.ones(problem.table.num_cells, dtype=bool)
    parts = KnownParts(problem, "unit", 2, hidden)
    crowded, total = problem.table.cell("a", "x"), problem.table.cell("Total", "Total")
    assert parts.everybody_stands_once and parts.further[crowded] == (4, 39)
    assert len(parts.stand_ins(crowded)) == 2 and not parts.stand_ins(total)
    both = frozenset(parts.stand_ins(crowded))
    assert parts.elsewhere(crowded, both) == 78 and parts.surely(crowded, both) == 0
    assert all(parts.places_of(one) == [crowded] for one in both)
    again = Records((*everywhere.rows, ("p1", "c", "x", 5)))
    vague = KnownParts(again.problem("p%", 2), "unit", 2, hidden)
    assert not vague.everybody_stands_once and vague.elsewhere(crowded, frozenset()) == 78


@pytest.mark.parametrize("largest", [10, 2**20, 2**31, 2**40, 2**62])
def test_how_far_a_claim_gets_is_exact_whatever_the_size_of_numbers(largest: int) -> None:
    rng = np.random.default_rng(largest % 1000)
    room, step, moved = (rng.integers(1, largest, 200, dtype=np.int64) for _ in range(3))
    numbers = zip(room.tolist(), step.tolist(), moved.tolist(), strict=True)
    assert _quotients(room, step, moved).tolist() == [a * b // c for a, b, c in numbers]
    assert _quotients(-room, step, moved).tolist() == [
        -a * b // c for a, b, c in zip(room.tolist(), step.tolist(), moved.tolist(), strict=True)
    ]


def test_the_verifier_imports_neither_attackers_nor_deviations() -> None:
    code = (
        "import sys, cellveil.certificate;"
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('cellveil.')}"
        " & {'solvers', 'attack', 'attackers', 'deviations', 'judge', 'suppression', 'rules', 'scipy'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
