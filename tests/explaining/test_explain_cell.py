"""Explanations of cells: rule arithmetic, witnesses, and what publishing would open, against definitions."""

import numpy as np
import pytest

from cellveil.attackers.attacker import Attacker
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import two_way
from cellveil.errors import InputError
from cellveil.explaining import explain_cell
from cellveil.explaining.openings import OpeningParams, openings
from cellveil.explaining.rule_arithmetic import arithmetic, single_rules
from cellveil.explaining.typed_cell import typed_cell
from cellveil.explaining.witness_support import WitnessSupport
from cellveil.judge import audit
from cellveil.microdata.tabulate import tabulate
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.rules import AnyOf, Dominance, Exempt, Manual, PPercent, PriorPosterior, Threshold, ZeroRule
from cellveil.rules.apply import make_problem
from cellveil.suppression import suppress
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.insider_tables import small_table

RECORDS = {
    "region": ["N", "N", "N", "S", "S", "S", "W", "W"],
    "firm": ["a", "b", "c", "d", "e", "f", "g", "h"],
    "sales": [80, 15, 5, 40, 30, 30, 7, 5],
}


def firms(**columns):
    import pandas

    frame = pandas.DataFrame(RECORDS | columns)
    region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    weight = {"weight": "weight"} if "weight" in columns else {}
    return tabulate(frame, [region], "sales", contributor="firm", depth=3, **weight)


@pytest.mark.parametrize(
    ("rule", "code", "told"),
    [
        (PPercent(10), "N", "x1 = 80, x2 = 15; X - x1 - x2 = 5 < 10 % of x1 = 8"),
        (PPercent(10, coalition=2), "N", "x1 = 80, x2 = 15, x3 = 5; X - x1 - x2 - x3 = 0 < 10 % of x1 = 8"),
        (PriorPosterior(20, 100), "N", "x1 = 80, x2 = 15; X - x1 - x2 = 5 < 20 % of x1 = 16"),
        (Dominance(1, 75), "N", "x1 = 80 of X = 100, which is 80.0 %: more than k = 75 %"),
        (Dominance(2, 85), "N", "x1 + x2 = 95 of X = 100, which is 95.0 %: more than k = 85 %"),
        (Threshold(3), "W", "f = 2 contributors, fewer than the minimum of 3"),
        (Threshold(2, inclusive=True), "W", "f = 2 contributors, not more than the minimum of 2"),
        (Manual([1]), "N", ""),
    ],
)
def test_the_arithmetic_of_rules(rule, code, told):
    table = firms()
    cell = table.cell(code)
    assert rule.judge(table).unsafe[table.cell("N") if isinstance(rule, Manual) else cell]
    assert arithmetic(rule, table, cell) == told


def test_the_arithmetic_counts_weights():
    table = firms(weight=[2, 1, 1, 1, 1, 1, 1, 1])
    told = arithmetic(PPercent(10), table, table.cell("N"))
    assert told.startswith("x1 = 80 (contributions counted with their weights); X - x1 - x2 = ")


def test_single_rules_of_combinations():
    rule = Exempt(AnyOf(Threshold(3), PPercent(10) & Dominance(1, 75)), {"region": ["W"]})
    assert [one.name for one in single_rules(rule)] == ["threshold", "p%", "dominance"]
    assert "although there are contributors" in arithmetic(ZeroRule(), firms(), 1)


def small():
    problem = two_way(
        [[20, 50, 10, 7], [8, 19, 22, 9], [17, 32, 12, 30]], primaries={(0, 0): 3, (1, 2): 4, (2, 3): 5}
    )
    return problem, suppress(problem, "sequential")


def test_what_publishing_opens_is_what_the_judge_says():
    problem, run = small()
    for certificate in (None, run.certificate):
        for cell in np.flatnonzero(run.pattern.hidden).tolist():
            status = run.pattern.status.copy()
            status[cell] = Status.SAFE
            unsafe = audit(problem, Pattern(status, "one more")).unsafe_cells
            [found] = openings(
                problem, run.pattern, cell, certificate, NO_LIMIT, params=OpeningParams(most_named=99)
            )
            assert sorted(one.cell for one in found.examined) == sorted(set(unsafe.tolist()) - {cell})
            assert all(one.is_certain for one in found.examined) and not found.num_further


ATTACKERS = {
    "contributors": [Attacker("insider")],
    "pairs": [Attacker("insider", coalition=2)],
    "pq": [Attacker("pq", p=10)],
    "prior": [Attacker(prior=60)],
    "whole numbers": [Attacker("integer")],
    "several": [Attacker(), Attacker("insider"), Attacker("insider", coalition=2)],
}


@pytest.mark.parametrize("named", ATTACKERS)
def test_every_attacker_named_is_asked_what_publishing_opens(named):
    problem, _ = small_table(7)
    attackers, nothing_new = ATTACKERS[named], 0
    run = suppress(problem, "sequential", attackers=attackers)
    assert run.is_safe
    for cell in np.flatnonzero(run.pattern.status == Status.SECONDARY).tolist()[:2]:
        status = run.pattern.status.copy()
        status[cell] = Status.SAFE
        judged = audit(problem, Pattern(status, "one more"), attackers=[Attacker(), *attackers])
        for certificate in (None, run.certificate):
            found = openings(
                problem,
                run.pattern,
                cell,
                certificate,
                NO_LIMIT,
                attackers=attackers,
                params=OpeningParams(most_named=99),
            )
            assert found[0].attacker == Attacker() and all(one.num_further == 0 for one in found)
            opened = [one.cell for part in found for one in part.examined]
            assert sorted(opened) == sorted(judged.unsafe_cells.tolist())
            assert all(one.is_certain for part in found for one in part.examined)
            nothing_new += not any(part.examined for part in found[1:])
    assert nothing_new < 4 or named in ("prior", "whole numbers")


def test_an_explanation_says_to_whom_a_cell_would_be_opened():
    problem, _ = small_table(7)
    run = suppress(problem, "sequential", attackers="insider")
    for cell in np.flatnonzero(run.pattern.status == Status.SECONDARY).tolist():
        told = explain_cell(problem, run.pattern, cell, certificate=run.certificate, attackers=["insider"])
        assert told.asked == "outsiders and every single contributor"
        ours = [one for one in told.opens if one.against == "every single contributor"]
        if ours:
            break
    assert ours[0].who and ours[0].share.endswith(" %") and not ours[0].lower
    assert "Publishing it would open to every single contributor:" in str(told)
    assert f"not kept off: {ours[0].who}" in str(told)
    alone = explain_cell(problem, run.pattern, cell, certificate=run.certificate)
    assert alone.asked == "outsiders" and len(alone.opens) < len(told.opens)
    late = explain_cell(problem, run.pattern, cell, attackers="insider", time_limit=0.0)
    assert len(late.opens) >= len(told.opens) and not any(one.is_certain for one in late.opens)


def test_a_judge_without_time_claims_nothing():
    problem, run = small()
    cell = int(np.flatnonzero(run.pattern.status == Status.SECONDARY)[0])
    told = explain_cell(problem, run.pattern, cell, time_limit=0.0)
    assert not told.interval_is_exact and "time ran out" in str(told)
    assert not any(one.tells_value or one.is_certain for one in told.opens)
    [found] = openings(problem, run.pattern, cell, None, Deadline(0.0), params=OpeningParams(most_named=1))
    assert len(found.examined) + found.num_further == 3


def test_primaries_are_named_whose_shortest_witness_moves_the_cell():
    problem, run = small()
    certificate, support = run.certificate, WitnessSupport.of(problem, run.certificate)
    values, size = problem.table.values, np.diff(certificate.starts)
    expected = set()
    for primary in problem.primaries.tolist():
        for way, need in ((1, problem.upl[primary]), (-1, problem.lpl[primary])):
            shows = []
            for number in range(len(certificate)):
                part = slice(certificate.starts[number], certificate.starts[number + 1])
                moves = dict(zip(certificate.cells[part].tolist(), certificate.numerators[part], strict=True))
                moves = {cell: int(n) / certificate.denominators[number] for cell, n in moves.items()}
                for sign in (1, -1):
                    reach = way * sign * moves.get(primary, 0)
                    if reach >= need and all(values[c] + sign * m >= 0 for c, m in moves.items()):
                        shows.append(((size[number], number), moves))
            expected |= {(cell, primary) for cell in min(shows, key=lambda one: one[0])[1] if cell != primary}
    found = {(cell, p) for cell in range(problem.table.num_cells) for p in support.of_cell(cell).tolist()}
    assert found == expected and support.is_whole
    assert not len(WitnessSupport.nothing(5).of_cell(3))


def test_an_explanation_is_complete_and_its_repr_holds_no_value():
    table = firms()
    problem = make_problem(table, PPercent(10) | Threshold(3))
    run = suppress(problem, "sequential")
    rule = PPercent(10) | Threshold(3)
    told = explain_cell(problem, run.pattern, ["N"], certificate=run.certificate, rule=rule)
    assert told.status.startswith("primary") and told.value == "100" and told.num_contributors == 3
    assert [(one.amount, one.share) for one in told.contributors] == [
        ("80", "80.0 %"), ("15", "15.0 %"), ("5", "5.0 %"),
    ]  # fmt: skip
    assert [one.rule for one in told.rules] == ["p% rule (p = 10)"] and "X - x1 - x2" in str(told)
    assert told.is_protected and told.required == ("97", "103") and "enough" in str(told)
    assert told.equations[0].hidden and "Publishing it would tell its value." in str(told)
    assert repr(told) == "CellExplanation((N), primary)"
    unread = explain_cell(problem.replace(reasons={}), run.pattern, ["N"], rule=rule)
    assert unread.rules == told.rules
    given = explain_cell(problem.replace(reasons={}), run.pattern, ["N"])
    assert given.rules[0].rule.startswith("marked by hand")


def test_published_and_adjusted_cells():
    problem, run = small()
    whole = explain_cell(problem, run.pattern, [])
    assert whole.status == "published" and whole.interval is None and whole.opens is None
    changed = problem.table.values.copy()
    changed[problem.primaries[0]] += 4
    told = explain_cell(problem, run.pattern, int(problem.primaries[0]), adjusted=changed)
    assert told.value == "20" and told.published_as == "24" and "moved beyond its levels" in told.status
    with pytest.raises(InputError, match="another table"):
        explain_cell(firms_problem(), run.pattern, 0)


def firms_problem():
    return make_problem(firms(), Threshold(3))


@pytest.mark.parametrize(
    "text", ["r0,c1", " r0 , c1 ", "column=c1, row=r0", "r0,column=c1", "(r0, c1)", "R0,C1"]
)
def test_cells_as_people_type_them(text):
    table = two_way([[20, 50], [8, 19]]).table
    assert typed_cell(table, text) == table.cell("r0", "c1")


def test_labels_totals_and_faults():
    table = two_way([[20, 50], [8, 19]]).table
    labels = {"row": {"r0": "North, cold", "r1": "South"}}
    assert typed_cell(table, '"North, cold",c1', labels) == table.cell("r0", "c1")
    assert typed_cell(table, "column=c1") == table.cell("Total", "c1")
    for text, message in [
        ("Sout,c1", r"no code 'Sout'\. Near ones: r1 \(South\)\."),
        ("rows=r0", "no dimension 'rows'. Did you mean 'row'"),
        ("r0,c1,x", "more codes than the table has dimensions"),
        ("zzz", r"no code 'zzz'\. It has: "),
    ]:
        with pytest.raises(InputError, match=message):
            typed_cell(table, text, labels)


def test_names_with_equals_signs_and_codes_with_commas_and_quotes():
    odd = Dimension.of("a=b", Hierarchy.flat(['x, "y" z', "z=1"]))
    plain = Dimension.of("a", Hierarchy.flat(["u"]))
    codes = {"a=b": ['x, "y" z', "z=1"], "a": ["u", "u"]}
    table = table_from_interior([odd, plain], codes, [1, 2])
    assert typed_cell(table, '"a=b=x, ""y"" z",a=u') == table.cell('x, "y" z', "u")
    assert typed_cell(table, "a=u,a=b=z=1") == table.cell("z=1", "u")
