"""Suppression against insiders, coalitions, prior knowledge and whole numbers."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from itertools import combinations, count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cellveil import clock
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.insiders import SelfKnowing
from cellveil.attackers.own_parts import OwnParts
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.movement import Movement
from cellveil.deviations.movement_program import Feasibility
from cellveil.errors import InfeasibleError, InputError
from cellveil.formats.tidy_folder import write_folder
from cellveil.judge import audit
from cellveil.judge.insider import audit_insiders
from cellveil.judge.outsider import OutsiderReport, audit_outsider
from cellveil.microdata.tabulate import tabulate
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.report import build_report
from cellveil.rules import PPercent
from cellveil.rules.apply import make_problem
from cellveil.suppression import suppress, suppressing
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.other_attackers import outsider_shield
from cellveil.suppression.other_attackers.defence import Defence
from cellveil.suppression.other_attackers.family_search import FamilySearch
from cellveil.suppression.shared_search import shared_search
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import CELL, Table
from helpers.command import Command
from helpers.contributions import with_contributions

INSIDER, PQ = Attacker("insider"), Attacker("pq", p=10)
SHAPES = {
    "flat": ((5, 6), ()),
    "hierarchical": ((7, 5), (0,)),
    "three-way": ((3, 3, 3), ()),
}


def everything(problem: Problem) -> np.ndarray:
    """The pattern that hides whatever may be hidden."""
    return np.asarray(problem.status != Status.FROZEN)


def cost_of(problem: Problem, hidden: np.ndarray) -> float:
    return float(problem.weight[hidden & (problem.status != Status.PRIMARY)].sum())


def check(problem: Problem, *attackers: Attacker) -> float | None:
    """Suppress, judge the result anew, and return its cost over the outsider's; None where infeasible."""
    outsider = suppress(problem, "sequential", attackers=[])
    hidden = Pattern.hiding(problem, everything(problem), "all")
    hopeless = not audit(problem, hidden, attackers=attackers, exact=False).is_safe
    try:
        found = suppress(problem, "sequential", attackers=attackers, default_attackers=False, workers=1)
    except InfeasibleError as error:
        assert hopeless and error.cells and error.attacker
        return None
    assert found.is_safe != hopeless
    if hopeless:
        return None
    assert found.outcome in ("safe", "optimal") and len(found.audit.verdicts) == 1 + len(attackers)
    assert audit(problem, found.pattern, attackers=[Attacker(), *attackers], exact=False).is_safe
    assert found.cost == cost_of(problem, found.pattern.hidden) <= cost_of(problem, everything(problem))
    return found.cost - outsider.cost


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "attackers",
    [
        (INSIDER,),
        (PQ,),
        (Attacker(prior=50),),
        (Attacker("insider", coalition=2),),
        (INSIDER, PQ, Attacker(prior=60)),
    ],
    ids=["insider", "pq", "prior", "coalition", "several"],
)
def test_random_tables(shape: str, attackers: tuple[Attacker, ...]) -> None:
    sizes, trees = SHAPES[shape]
    extra = []
    for seed in (1, 2):
        problem = random_table(
            sizes, hierarchical=trees, contributors=3, zeros=0.2, contributions=True, depth=5, seed=seed
        )
        extra.append(check(problem, *attackers))
    assert any(cost is None or cost > 0 for cost in extra), "the outsider's pattern was not enough"


def firms_in_several_cells(seed: int, *, linked: bool) -> Problem:
    """Tables over firms that stand in several cells: one, or two that share a dimension."""
    rng = np.random.default_rng(seed)
    count = 60
    data = pd.DataFrame(
        {
            "region": rng.choice(["a", "b", "c", "d"], count),
            "size": rng.choice(["s", "m", "l"], count),
            "kind": rng.choice(["x", "y", "z"], count),
            "firm": [f"f{number}" for number in rng.integers(0, 25, count)],
            "value": np.ceil(np.exp(rng.normal(3, 2, count))).astype(int),
        }
    )
    region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["a", "b"], "S": ["c", "d"]}}))
    others = [Dimension.of("size", Hierarchy.flat(["s", "m", "l"]))]
    others += [Dimension.of("kind", Hierarchy.flat(["x", "y", "z"]))] if linked else []
    tables = [tabulate(data, [region, other], "value", contributor="firm", depth=5) for other in others]
    return make_problem(link(tables) if linked else tables[0], PPercent(10))


@pytest.mark.parametrize("linked", [False, True], ids=["one table", "linked tables"])
def test_firms_in_several_cells(linked: bool) -> None:
    costs, totals = [], 0
    for seed in (1, 5):
        problem = firms_in_several_cells(seed, linked=linked)
        costs += [check(problem, INSIDER), check(problem, PQ)]
        pattern = suppress(problem, "sequential", attackers=[]).pattern
        totals += sum(not total.safe for total in audit_insiders(problem, pattern, "pq", p=10).totals)
    assert totals > 1 and None not in costs and any(costs)


# -- hand-made traps -----------------------------------------------------------------------------------------


def test_singletons_that_undo_each_other() -> None:
    """Two primary cells of one firm each in a row: each firm undoes the other's protection."""
    cells = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}
    problem = with_contributions(two_way([[20, 30, 9], [22, 27, 12]], {(0, 0): 3, (0, 1): 3}), cells)
    outsider = suppress(problem, attackers=[])
    assert len(outsider.audit.verdicts) == 1 and not audit_insiders(problem, outsider.pattern).is_safe
    found = suppress(problem, attackers=[INSIDER], default_attackers=False)
    third = [problem.table.cell("r0", "c2"), problem.table.cell("r1", "c2")]
    assert found.is_safe and found.pattern.hidden[third].all()
    assert "attackers" in found.seconds and found.certificate.attacker == "outsider"


def test_a_coalition_needs_more_than_its_members() -> None:
    """Three firms, each alone in a cell of the row: two of them know the third unless a fourth is hidden."""
    cells = {(0, c): [value] for c, value in enumerate((20, 30, 25))}
    cells |= {(0, 3): [40, 40, 40], **{(1, c): [20] * 4 for c in range(4)}}
    interior = [[20, 30, 25, 120], [80] * 4]
    problem = with_contributions(two_way(interior, {(0, c): 3 for c in range(3)}), cells)
    alone = suppress(problem, attackers=[INSIDER], default_attackers=False)
    both = suppress(problem, attackers=[Attacker("insider", coalition=2)], default_attackers=False)
    assert alone.is_safe and both.is_safe and alone.cost < both.cost
    assert both.pattern.hidden[problem.table.cell("r0", "c3")]


def test_totals_of_a_contributor() -> None:
    """One firm dominates two cells of a row whose sum is published: every cell is safe, the total is not."""
    cells = {(0, 0): [50, 5, 5], (0, 1): [60, 6, 6], (0, 2): [30] * 3}
    cells |= {(1, c): [30] * 4 for c in range(3)}
    problem = with_contributions(two_way([[60, 72, 90], [120] * 3], {(0, 0): 1, (0, 1): 1}), cells)
    units = problem.table.units
    assert units is not None
    who = units.who.copy()
    who[who == who[problem.table.cell("r0", "c1"), 0]] = who[problem.table.cell("r0", "c0"), 0]
    merged = Contributions(0, units.count, units.total, units.absolute, units.top, who, units.names)
    problem = problem.replace(table=problem.table.replace(units=merged))
    attacker = Attacker("pq", p=20)
    before = audit_insiders(problem, suppress(problem, attackers=[]).pattern, "pq", p=20)
    assert before.safe.all() and not before.is_safe
    found = suppress(problem, attackers=[attacker], default_attackers=False)
    assert found.is_safe and audit(problem, found.pattern, attackers=[attacker]).is_safe
    row = [problem.table.cell("r0", "c2"), problem.table.cell("r0", "Total")]
    assert found.pattern.hidden[row].any(), "the sum of both cells is no longer known"


def test_the_least_cost_on_a_small_table() -> None:
    """All patterns of a 2 × 3 table, by enumeration: the cheapest that keeps the insiders off."""
    cells = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}
    problem = with_contributions(two_way([[20, 30, 9], [22, 27, 12]], {(0, 0): 3, (0, 1): 3}), cells)
    free = np.flatnonzero(~problem.hidden_at_start).tolist()
    patterns = []
    for chosen in (cells for size in range(len(free) + 1) for cells in combinations(free, size)):
        hidden = problem.hidden_at_start.copy()
        hidden[list(chosen)] = True
        patterns.append(Pattern.hiding(problem, hidden, "trial"))
    patterns.sort(key=lambda pattern: cost_of(problem, pattern.hidden))
    cheapest = next(
        pattern
        for pattern in patterns
        if audit(problem, pattern, attackers=[Attacker(), INSIDER], exact=False).is_safe
    )
    assert suppress(problem, attackers=[INSIDER], default_attackers=False).cost == cost_of(
        problem, cheapest.hidden
    )


# -- outsiders -----------------------------------------------------------------------------------------------


def test_prior_knowledge_of_several_outsiders() -> None:
    """What keeps off the one who knows most keeps off the others."""
    problem = random_table((8, 8), contributors=3, zeros=0.2, seed=3)
    found = suppress(
        problem, attackers=[Attacker(prior=80), Attacker(prior=50), Attacker()], default_attackers=False
    )
    assert found.is_safe
    names = [verdict.report.attacker for verdict in found.audit.verdicts[1:]]
    assert names == ["outsider (prior 80 %)", "outsider (prior 50 %)"]
    assert found.cost >= suppress(problem, attackers=[]).cost


def test_who_knows_a_cell_better_than_its_level_cannot_be_kept_off() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    with pytest.raises(
        InfeasibleError, match=r"r0, c0.*against this attacker: outsider \(prior 10 %\)"
    ) as caught:
        suppress(problem, attackers=[Attacker(prior=10)], default_attackers=False)
    assert caught.value.exit_code == 3 and caught.value.attacker == "outsider (prior 10 %)"


def test_an_insider_who_knows_too_much() -> None:
    """All other cells belong to one firm: whatever is hidden, it works out the rest."""
    cells = {(0, 0): [20, 9], (0, 1): [30], (1, 0): [22], (1, 1): [27]}
    problem = with_contributions(two_way([[29, 30], [22, 27]], {(0, 0): 3}), cells)
    units = problem.table.units
    assert units is not None
    owner = units.who[problem.table.cell("r0", "c1"), 0]
    others = [units.who[problem.table.cell(*key), 0] for key in (("r1", "c0"), ("r1", "c1"))]
    who = np.where(np.isin(units.who, others), owner, units.who)
    merged = Contributions(0, units.count, units.total, units.absolute, units.top, who, units.names)
    problem = problem.replace(table=problem.table.replace(units=merged))
    frozen = [problem.table.cell(*key) for key in (("r0", "Total"), ("Total", "c0"), ("Total", "Total"))]
    status = problem.status.copy()
    status[frozen] = Status.FROZEN
    problem = problem.replace(status=status)
    found = suppress(problem, attackers=[INSIDER], default_attackers=False)
    assert found.outcome == "not_safe" and found.audit.verdicts[0].is_safe, "it does not stop the run"
    assert "whatever is hidden" in found.reason and "(r0, c0) (0% of it)" in found.reason
    exempt = Attacker("insider", exempt=[("r0", "c0")])
    excused = suppress(problem, attackers=[exempt], default_attackers=False)
    assert excused.is_safe and "but for 1 cell that is exempt" in excused.audit.verdict
    with pytest.raises(InputError, match="exempt from insiders only"):
        Attacker(exempt=[("r0", "c0")])


@pytest.mark.parametrize("seed", range(4))
def test_whole_counts(seed: int) -> None:
    problem = random_table((4, 4, 5), contributors=2, zeros=0.3, unit=1, seed=seed)
    check(problem, Attacker("integer"))


def halves() -> Problem:
    """p = 2 a + b, and p is known to be 4 at most: it rises by one with half of a, or with the dear b."""
    relations = Relations.from_rows(3, [[(0, 1), (1, -2), (2, -1)]])
    codes = (np.arange(3, dtype=np.int32),)
    table = Table((Dimension.unstructured(CELL, "pab"),), codes, np.array([3, 1, 1]), 0, relations)
    table.check_additive()
    weight = np.array([1.0, 1.0, 10.0])
    return Problem.of(table, {0: (0, 1)}, weight=weight, ub=np.array([4, UNBOUNDED, UNBOUNDED]))


def test_a_whole_movement_where_the_program_gives_halves() -> None:
    problem = halves()
    rooms = problem.table.values, np.array([1, UNBOUNDED, UNBOUNDED])
    moves, hidden = Movement.of(problem, Deadline(None)), problem.hidden_at_start
    assert moves.push(0, 1, rooms, hidden, up=True).moved.tolist() == [1, 0.5, 0]
    assert moves.push(0, 1, rooms, hidden, up=True, whole=True).moved.tolist() == [1, 0, 1]
    assert moves.push(0, 2, rooms, hidden, up=True, whole=True).verdict is Feasibility.IMPOSSIBLE
    assert suppress(problem, "sequential", attackers=[]).cost == 1
    assert (
        suppress(problem, "sequential", attackers=[Attacker("integer")], default_attackers=False).cost == 10
    )


def test_no_whole_movement_at_all() -> None:
    problem = halves()
    status = problem.status.copy()
    status[2] = Status.FROZEN
    assert suppress(problem.replace(status=status), attackers=[]).is_safe
    with pytest.raises(InfeasibleError, match="against this attacker: integer"):
        suppress(problem.replace(status=status), attackers=[Attacker("integer")], default_attackers=False)


# -- the loop ------------------------------------------------------------------------------------------------


def test_no_time_hides_more_but_keeps_everybody_off(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table((7, 8), contributors=3, zeros=0.2, contributions=True, depth=5, seed=2)
    looks = count()  # a clock that goes on by a microsecond when somebody looks at it
    monkeypatch.setattr("cellveil.clock.counted_time", lambda: 1e-6 * next(looks))
    found = suppress(problem, "sequential", attackers=[INSIDER], default_attackers=False, time_limit=1e-9)
    assert found.is_safe and "time limit" in found.reason
    assert found.cost >= suppress(problem, "sequential", attackers=[INSIDER], default_attackers=False).cost


def test_what_makes_patterns_cheaper_leaves_time_for_judge_and_verifier(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: 0.0, perf_counter=lambda: 0.0))
    problem = make_problem(random_table((6, 5), contributions=True, seed=1).table, PPercent(15))
    left = {}
    for members in (1, 2):
        insiders = SelfKnowing(problem, OwnParts.of(problem), members)
        search = FamilySearch(insiders, problem.hidden_at_start, Deadline(100.0))
        for look in (None, 0.5, 60.0):
            search._first_look = look
            left[members, look] = search._leaving_time().left
    assert left[1, None] == left[1, 60.0] == left[2, None] == pytest.approx(70.0)
    assert left[1, 0.5] == pytest.approx(92.0) and left[2, 0.5] == pytest.approx(84.0)


def test_outsiders_are_judged_once_by_the_last_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table((6, 5), contributors=3, contributions=True, seed=1).table
    problem, judged = make_problem(table, PPercent(15)), list[bytes]()

    def attack(known: Problem, pattern: Pattern, **options: Any) -> OutsiderReport:
        if len(known.primaries) == len(problem.primaries):  # trials look at some of them
            judged.append(pattern.hidden.tobytes())
        return audit_outsider(known, pattern, **options)

    for module in (suppressing, outsider_shield):
        monkeypatch.setattr(module, "audit_outsider", attack)
    found = suppress(problem, attackers=[Attacker("insider")], default_attackers=False)
    assert found.is_safe and found.audit.outsider is not None
    assert found.outsiders_pattern is not None and found.cost > 0
    assert (found.outsiders_pattern.hidden != found.pattern.hidden).any()
    assert judged.count(found.pattern.hidden.tobytes()) == 1


def test_the_same_every_time() -> None:
    problem = random_table((3, 3, 3), contributors=3, zeros=0.2, contributions=True, depth=5, seed=1)
    patterns = [
        suppress(problem, attackers=[INSIDER, PQ], default_attackers=False).pattern.hidden for _ in range(2)
    ]
    assert (patterns[0] == patterns[1]).all()


def test_nothing_is_hidden_that_can_be_spared() -> None:
    problem = random_table((6, 6), contributors=3, zeros=0.2, contributions=True, depth=5, seed=4)
    hidden = suppress(problem, "sequential", attackers=[INSIDER], default_attackers=False).pattern.hidden
    for cell in np.flatnonzero(hidden & ~problem.hidden_at_start).tolist():
        trial = hidden.copy()
        trial[cell] = False
        pattern = Pattern.hiding(problem, trial, "trial")
        assert not audit(problem, pattern, attackers=[Attacker(), INSIDER]).is_safe


def test_a_pattern_that_is_not_safe_says_against_whom(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table((7, 8), contributors=3, zeros=0.2, contributions=True, depth=5, seed=2)
    monkeypatch.setattr(Defence, "strengthened", lambda self, hidden, *_: hidden)
    found = suppress(problem, "sequential", attackers=[INSIDER], default_attackers=False)
    assert not found.is_safe and found.outcome == "not_safe"
    assert found.audit.verdicts[0].is_safe and not found.audit.is_safe
    report = build_report(problem, found, found.audit)
    assert not report.is_safe and "against every single contributor" in report.verdict and report.unsafe_cells
    figures = report.to_dict()
    assert [one["safe"] for one in figures["attackers"]] == [True, False]
    assert figures["unsafe_cells"] == figures["attackers"][1]["unsafe_cells"]
    assert "NOT KEPT OFF" in report.to_html()


def test_what_is_missing_is_said_before_the_search() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    with pytest.raises(InputError, match="no contributions at unit level"):
        suppress(problem, attackers=[INSIDER], default_attackers=False)
    known = with_contributions(problem, {(r, c): [3, 2] for r in range(2) for c in range(3)})
    with pytest.raises(InputError, match="do not add up"):
        suppress(known, attackers=[INSIDER], default_attackers=False)


# -- the command ---------------------------------------------------------------------------------------------

CELLS = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An instance with contributions: two primary cells with one firm each."""
    problem = with_contributions(two_way([[20, 30, 9], [22, 27, 12]], {(0, 0): 3, (0, 1): 3}), CELLS)
    target = tmp_path / "instance"
    write_folder(problem, target)
    firms = [(f"r{r}", f"c{c}", f"f{r}{c}{i}", x) for (r, c), v in CELLS.items() for i, x in enumerate(v)]
    names = [dimension.name for dimension in problem.table.dimensions]
    with (target / "contributions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([(*names, "contributor", "amount"), *firms])
    return target


def test_the_command_keeps_insiders_off(folder: Path, command: Command) -> None:
    out, report, proof = (folder.parent / name for name in ("p.csv", "r.json", "cert"))
    assert command("suppress", folder, "--out", out, "--no-default-attackers").code == 0
    assert command("audit", folder, out, "--attacker", "insider").code == 1
    attackers = ("--attacker", "insider", "--attacker", "pq", "--p", "10")
    done = command("suppress", folder, "--out", out, *attackers, "--report", report, "--certificate", proof)
    assert done.code == 0, done.err
    assert command("audit", folder, out, *attackers).code == 0
    assert command("verify", folder, out, proof).code == 0
    figures = json.loads(report.read_text())
    assert [one["attacker"] for one in figures["attackers"]] == [
        "outsider",
        "insider",
        "pq (p = 10, q = 100)",
    ]
    assert all(one["safe"] for one in figures["attackers"]) and figures["safe"]
    assert [one["kind"] for one in figures["parameters"]["attackers"]] == ["insider", "pq"]


def test_the_command_on_what_nobody_can_protect(folder: Path, command: Command) -> None:
    out, report = folder.parent / "p.csv", folder.parent / "r.json"
    out.write_text("of an older run")
    done = command("suppress", folder, "--out", out, "--prior", "5", "--report", report)
    assert done.code == 3 and "outsider (prior 5 %)" in done.err and not out.exists()
    assert json.loads(report.read_text())["outcome"] == "infeasible"
    done = command("suppress", folder, "--out", out, "--attacker", "insider", "--prior", "5")
    assert done.code == 2 and "prior knowledge is for outsiders" in done.err
    done = command("suppress", folder, "--out", out, "--attacker", "pq")
    assert done.code == 2 and "needs p" in done.err
    mixed = ("--attacker", "insider", "--attacker", "outsider", "--prior", "90")
    assert command("suppress", folder, "--out", out, *mixed).code == 0
    assert command("audit", folder, out, *mixed).code == 0


# -- the job -------------------------------------------------------------------------------------------------


def test_a_job_that_keeps_insiders_off(folder: Path, command: Command) -> None:
    job, public = folder.parent / "job.toml", folder.parent / "out" / "public"
    text = f'instance = "{folder.name}"\noutput = "out"\n[release]\nformats = ["csv"]\n'
    job.write_text("attackers = []\n" + text)
    assert command("run", job).code == 0
    assert (
        command("audit", folder, folder.parent / "out/internal/pattern.csv", "--attacker", "insider").code
        == 1
    )
    job.write_text(text + '[[attackers]]\nkind = "insider"\n[[attackers]]\nkind = "pq"\np = 10\n')
    assert command("run", job).code == 0 and any(public.iterdir())
    assert (
        command("audit", folder, folder.parent / "out/internal/pattern.csv", "--attacker", "insider").code
        == 0
    )
    job.write_text(text + '[[attackers]]\nkind = "outsider"\nprior = 5\n')
    done = command("run", job)
    assert done.code == 3 and "prior 5 %" in done.err and not any(public.glob("*.csv"))


def test_a_job_releases_nothing_that_an_attacker_objects_to(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Defence, "strengthened", lambda self, hidden, *_: hidden)
    job = folder.parent / "job.toml"
    job.write_text(f'instance = "{folder.name}"\noutput = "out"\n[[attackers]]\nkind = "insider"\n')
    assert command("run", job).code == 1
    assert not any((folder.parent / "out" / "public").glob("*.csv"))
    assert not (folder.parent / "out" / "internal" / "certificate").exists()


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ('kind = "pq"', "needs p"),
        ('kind = "pq"\np = 50\nq = 20', "p is above q"),
        ('kind = "insider"\nprior = 50', "prior knowledge is for outsiders"),
    ],
)
def test_attackers_of_a_job_are_checked(folder: Path, command: Command, keys: str, fault: str) -> None:
    job = folder.parent / "job.toml"
    job.write_text(f'instance = "{folder.name}"\n[[attackers]]\n{keys}\n')
    done = command("run", job)
    assert done.code == 2 and fault in done.err


def test_time_is_not_blamed_where_no_pattern_protects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four cells of one firm each, all totals published: who knows one of them knows the others."""
    firms = {(0, 0): [20], (0, 1): [30], (1, 0): [10], (1, 1): [40]}
    problem = with_contributions(two_way([[20, 30], [10, 40]], {(0, 0): 3}), firms)
    status = problem.status.copy()
    status[["Total" in name for name in problem.table.cell_names(range(9))]] = Status.FROZEN
    problem = problem.replace(status=status)

    def cut_short(*given: Any, **settings: Any) -> Draft:
        return replace(shared_search(*given, **settings), reason=MethodEnding.TIME_LIMIT)

    monkeypatch.setattr("cellveil.suppression.suppressing.shared_search", cut_short)
    found = suppress(problem, attackers=["insider"], time_limit=1000)
    assert not found.is_safe and set(found.unprotectable) == {int(problem.table.cell("r0", "c0"))}
    assert "time" not in found.reason and "complete" not in found.reason
    assert "whatever is hidden" in found.reason
