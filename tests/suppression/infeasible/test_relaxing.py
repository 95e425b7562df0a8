"""Conflicts and ways out, against enumeration with SciPy's linear programs."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from cellveil.certificate import verify
from cellveil.datasets import two_way
from cellveil.errors import InfeasibleError
from cellveil.formats.tidy_folder import write_folder
from cellveil.problem import Problem, Status
from cellveil.suppression import suppress
from cellveil.suppression.infeasible.conflicts import Conflict, Fact
from cellveil.suppression.infeasible.relaxing import FIELDS, Diagnosis, diagnose
from helpers.brute_force import reaches
from helpers.command import Command
from helpers.examples import few_of
from helpers.small_problems import SHAPES, small_problem

Bool = NDArray[np.bool_]


def infeasible_problems(shape: str, count: int) -> list[Problem]:
    """Problems without a safe pattern, since a third of the cells must be published."""
    found: list[Problem] = []
    seed = 0
    while len(found) < count:
        seed += 1
        rng = np.random.default_rng(seed)
        problem = small_problem(shape, rng, primaries=2)
        status = problem.status.copy()
        safe = rng.permutation(np.flatnonzero(status == Status.SAFE))
        status[safe[: len(safe) // 3]] = Status.FROZEN
        problem = problem.replace(status=status)
        if missed(problem, status != Status.FROZEN):
            found.append(problem)
    return found


def missed(problem: Problem, free: Bool) -> dict[tuple[int, str], int]:
    """The levels out of reach where these cells can move, and what is in reach in whole units."""
    short = {}
    for cell in problem.primaries.tolist():
        fall, rise = reaches(problem, free, cell)
        got = {"upper": rise, "lower": fall, "sliding": rise + fall}
        for side, reach in got.items():
            level = int(getattr(problem, FIELDS[side])[cell])  # type: ignore[index]
            if reach < level - 1e-6:
                short[cell, side] = int(np.floor(reach + 1e-6))
    return short


def is_out_of_reach(problem: Problem, conflict: Conflict, facts: list[Fact]) -> bool:
    """Whether the level is missed where nothing is known but the facts."""
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * problem.table.num_cells
    for fact in facts:
        low, high = bounds[fact.cell]
        if fact.why == "upper bound is known":
            bounds[fact.cell] = low, float(problem.up[fact.cell])
        elif fact.why == "lower bound is known":
            bounds[fact.cell] = -float(problem.down[fact.cell]), high
        else:
            bounds[fact.cell] = 0.0, 0.0
    matrix = problem.table.relations.matrix
    total = 0.0
    for sign in {"upper": (-1.0,), "lower": (1.0,), "sliding": (-1.0, 1.0)}[conflict.side]:
        cost = np.zeros(len(bounds))
        cost[conflict.cell] = sign
        answer = linprog(cost, A_eq=matrix, b_eq=np.zeros(matrix.shape[0]), bounds=bounds)
        assert answer.status in (0, 3)
        total += np.inf if answer.status == 3 else -float(answer.fun)
    return total < int(getattr(problem, FIELDS[conflict.side])[conflict.cell]) - 1e-6


def least_weight_to_free(problem: Problem, relaxed: Problem, most: float) -> float:
    """The cheapest set of frozen cells that, with all else hidden, brings the relaxed levels into reach."""
    frozen = np.flatnonzero((problem.status == Status.FROZEN) & (problem.table.values != 0))
    candidates = [cell for cell in frozen.tolist() if problem.weight[cell] <= most]
    sets = [
        (float(problem.weight[list(chosen)].sum()), chosen)
        for size in range(4)
        for chosen in combinations(candidates, size)
    ]
    for weight, chosen in sorted(sets):
        free = problem.status != Status.FROZEN
        free[list(chosen)] = True
        if not missed(relaxed, free):
            return weight
    return np.inf


@pytest.mark.parametrize("number", few_of([2, 6], 1))
@pytest.mark.parametrize("shape", SHAPES)
def test_conflicts_are_irreducible_and_the_way_out_is_the_cheapest(shape: str, number: int) -> None:
    for problem in infeasible_problems(shape, number):
        diagnosis = diagnose(problem)
        short = missed(problem, problem.status != Status.FROZEN)
        assert {(one.cell, one.side) for one in diagnosis.conflicts} == set(short)
        for conflict in diagnosis.conflicts:
            facts = list(conflict.facts)
            assert is_out_of_reach(problem, conflict, facts)
            for fact in facts:
                fewer = [other for other in facts if other != fact]
                assert not is_out_of_reach(problem, conflict, fewer)
        check_way_out(problem, diagnosis)


def check_way_out(problem: Problem, diagnosis: Diagnosis) -> None:
    everything = (problem.status != Status.FROZEN) | (problem.table.values != 0)
    unavoidable = missed(problem, everything)
    relaxation = diagnosis.relaxation
    if relaxation is None:
        assert diagnosis.hopeless
        return
    assert {(one.cell, one.side) for one in relaxation.lowered} == set(unavoidable)
    for one in relaxation.lowered:
        level = getattr(problem, FIELDS[one.side])[one.cell]
        assert one.kept == pytest.approx(unavoidable[one.cell, one.side] / level)
    assert relaxation.is_cheapest
    if len(relaxation.freed) <= 3:
        least = least_weight_to_free(problem, relaxation.problem, relaxation.cost)
        assert relaxation.cost == pytest.approx(least)
    found = suppress(problem, "optimal", attackers=[], relax=True)
    assert found.is_safe and found.relaxation is not None
    assert verify(found.relaxation.problem, found.pattern, found.certificate).is_valid
    assert "requirements relaxed" in found.reason
    assert "relaxed" in repr(found)


def frozen_row() -> Problem:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    status = problem.status.copy()
    status[[problem.table.cell("r0", code) for code in ("c1", "c2", "Total")]] = Status.FROZEN
    return problem.replace(status=status)


def test_the_error_names_conflict_and_way_out() -> None:
    with pytest.raises(InfeasibleError) as caught:
        suppress(frozen_row(), attackers=[])
    error = caught.value
    assert error.conflicts == ("(r0, Total)", "(r0, c1)", "(r0, c2)")
    assert "The cheapest way out: no longer insist on publishing (r0, c2)" in str(error)
    assert error.details["relaxation"]["freed_cells"] == ["(r0, c2)"]
    assert len(error.details["conflicts"]) == 2


def test_levels_beyond_known_bounds_are_lowered() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 8})
    known = problem.replace(ub=problem.table.values + 2)
    with pytest.raises(InfeasibleError, match=r"known beforehand of \(r0, c0\).*lower the upper level"):
        suppress(known, attackers=[])
    found = suppress(known, attackers=[], relax=True)
    assert found.is_safe and found.relaxation is not None
    (lowered,) = found.relaxation.lowered
    assert (lowered.side, lowered.kept) == ("upper", 0.25)
    assert not found.relaxation.freed


def test_a_cell_that_cannot_move_has_no_way_out() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    problem = problem.replace(lb=problem.table.values, ub=problem.table.values)
    with pytest.raises(InfeasibleError, match=r"No relaxation helps: \(r0, c0\) cannot move at all"):
        suppress(problem, attackers=[], relax=True)


@pytest.mark.parametrize("shape", SHAPES)
def test_only_cells_that_may_be_freed_are(shape: str) -> None:
    """Half of the frozen cells may be freed; enumeration tells whether some of them are enough."""
    for number, problem in enumerate(infeasible_problems(shape, 3)):
        frozen = (problem.status == Status.FROZEN) & (problem.table.values != 0)
        may_free = frozen & (np.random.default_rng(number).random(len(frozen)) < 0.5)
        free = problem.status != Status.FROZEN
        if missed(problem, free | may_free):
            with pytest.raises(InfeasibleError):
                suppress(problem, attackers=[], may_free=may_free)
            continue
        found = suppress(problem, attackers=[], may_free=may_free)
        relaxation = found.relaxation
        assert found.is_safe and relaxation is not None and not relaxation.lowered
        assert set(relaxation.freed) <= set(np.flatnonzero(may_free).tolist()) and relaxation.conflicts
        ways = (
            chosen
            for size in range(1, min(int(may_free.sum()), len(relaxation.freed)) + 1)
            for chosen in combinations(np.flatnonzero(may_free).tolist(), size)
            if not missed(problem, free | np.isin(np.arange(len(free)), chosen))
        )
        least = min(float(problem.weight[list(chosen)].sum()) for chosen in ways)
        assert relaxation.cost <= least * (1 + 1e-9)


def test_cells_that_may_be_freed_stay_frozen_where_they_are_not_in_the_way() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    status = problem.status.copy()
    status[problem.table.cell("r2", "c2")] = Status.FROZEN
    frozen = problem.replace(status=status)
    found = suppress(frozen, attackers=[], may_free=frozen.status == Status.FROZEN)
    assert found.relaxation is None and not found.pattern.hidden[problem.table.cell("r2", "c2")]


def test_relaxing_changes_nothing_where_it_is_not_needed() -> None:
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    assert suppress(problem, attackers=[], relax=True).relaxation is None


def test_command(tmp_path: Path, command: Command) -> None:
    write_folder(frozen_row(), tmp_path / "t")
    out, report, proof = (tmp_path / name for name in ("p.csv", "r.json", "proof"))
    files = ("--out", out, "--report", report, "--certificate", proof)
    strict = command("suppress", tmp_path / "t", *files)
    assert strict.code == 3 and not out.exists()
    figures = json.loads(report.read_text())
    assert figures["relaxation"]["freed_cells"] == ["(r0, c2)"]
    assert {fact["why"] for one in figures["conflicts"] for fact in one["facts"]} == {"must be published"}

    relaxed = command("suppress", tmp_path / "t", *files, "--relax", "--relaxed", tmp_path / "t2", "--quiet")
    assert relaxed.code == 0
    assert "relaxed: 1 cell freed" in relaxed.err and "(r0, c2)" in relaxed.err
    figures = json.loads(report.read_text())
    assert figures["relaxation"]["freed_cells"] == ["(r0, c2)"] and figures["outcome"] == "optimal"
    assert "RELAXED" in figures["verdict"] and "requirements relaxed" in figures["reason"]
    assert command("verify", tmp_path / "t2", out, proof).code == 0
    assert command("verify", tmp_path / "t", out, proof).code == 1


def test_job(tmp_path: Path, command: Command) -> None:
    write_folder(frozen_row(), tmp_path / "t")
    job = tmp_path / "job.toml"
    job.write_text('instance = "t"\noutput = "out"\n[suppress]\nrelax = true\n[release]\nformats = ["csv"]\n')
    ended = command("run", job)
    assert ended.code == 0 and "RELAXED" in ended.out
    page = (tmp_path / "out" / "internal" / "report.html").read_text(encoding="utf-8")
    assert "RELAXED" in page and "freed, may be hidden: (r0, c2)" in page
    assert (tmp_path / "out" / "public").exists()


# -- totals of least counts ----------------------------------------------------------------------------------


PERSONS = {
    ("N", "a"): 1,
    ("N", "b"): 1,
    ("S", "a"): 6,
    ("S", "b"): 7,
    ("S", "c"): 5,
    ("W", "a"): 4,
    ("W", "c"): 9,
}
TWO = "A total such as 2 = 1 + 1 cannot be protected where zeros are published"


def write_persons(path: Path, counts: dict[tuple[str, str], int]) -> None:
    rows = [f"{region},{age}" for (region, age), count in counts.items() for _ in range(count)]
    path.write_text("\n".join(["region,age", *rows]) + "\n", encoding="utf-8")


def test_a_total_of_two_says_why_and_prints_the_line_that_helps(tmp_path: Path, command: Command) -> None:
    write_persons(tmp_path / "persons.csv", PERSONS)
    job = tmp_path / "job.toml"
    text = '[microdata]\nfile = "persons.csv"\n[[tables]]\ndimensions = ["region", "age"]\n'
    text += '[[rules]]\nrule = "threshold"\nminimum = 3\n[suppress]\n'
    job.write_text(f'output = "out"\n{text}', encoding="utf-8")
    ended = command("run", job)
    assert ended.code == 3 and TWO in ended.err
    assert "Such is the total region = N, age = Total." in ended.err
    line = "relax = true"
    assert f"write {line} below [suppress]" in ended.err
    job.write_text(f'output = "out"\n{text}{line}\n', encoding="utf-8")
    ended = command("run", job)
    assert ended.code == 0 and "RELAXED requirements (1 level lowered)" in ended.out


def test_other_conflicts_are_not_called_totals_of_two() -> None:
    for problem in infeasible_problems("flat 2-D", 3):
        with pytest.raises(InfeasibleError) as raised:
            suppress(problem)
        assert TWO not in str(raised.value) and "relax = true below [suppress]" in str(raised.value)


@pytest.mark.parametrize("seed", range(3))
def test_a_first_job_over_persons_works_at_once(seed: int, tmp_path: Path, command: Command) -> None:
    rng = np.random.default_rng(seed)
    places = [(f"M{m:02}", f"A{a}") for m in range(25) for a in range(5)]
    counts = rng.poisson(rng.uniform(0, 3, len(places))).tolist()
    write_persons(tmp_path / "persons.csv", dict(zip(places, counts, strict=True)) | {("M00", "A0"): 1})
    job = tmp_path / "job.toml"
    assert command("init", tmp_path / "persons.csv", "--out", job).code == 0
    ended = command("run", job, "--out", tmp_path / "out")
    assert ended.code == 0 and "Safe" in ended.out
