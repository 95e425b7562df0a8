"""Groups, pre-selection and the grouped program, against rules and programs written down anew."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.optimize import linprog

from cellveil.cli.app import run_command
from cellveil.clock import Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations.ledger import Ledger
from cellveil.errors import InputError
from cellveil.formats.jj import write_jj
from cellveil.job.sections import SuppressJob
from cellveil.judge.exposure import exposure, unpickable
from cellveil.params import Params, param, parse_options
from cellveil.problem import Problem, Status
from cellveil.suppression import METHODS, suppress
from cellveil.suppression.engines.group_programs import GroupPrograms
from cellveil.suppression.engines.grouping import ORDERS, groups_of
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.suppression.presolve.preselection import eased, preselected
from helpers.brute_force import is_safe
from helpers.small_problems import SHAPES, small_problem

TABLES = (
    random_table((14, 9), hierarchical=[0], contributors=2, seed=4),
    random_table((7, 6, 5), contributors=3, seed=2),
)


# -- groups --------------------------------------------------------------------------------------------------


def is_allowed(problem: Problem, group: np.ndarray) -> bool:
    """Whether a group leaves half of the levels of each relation to others, computed from scratch."""
    relations = problem.table.relations
    levels = 2 * problem.upl + problem.sliding, 2 * problem.lpl + problem.sliding
    for row in range(len(relations)):
        cells, _ = relations.row(row)
        mine = cells[np.isin(cells, group)]
        if len(mine) > 1 and any(2 * level[mine].sum() > level[cells].sum() for level in levels):
            return False
    return True


@pytest.mark.parametrize("problem", TABLES)
@pytest.mark.parametrize("by", ORDERS)
@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_groups_partition_the_cells_and_keep_the_rule(problem: Problem, by: str, wanted: int) -> None:
    groups = groups_of(problem, problem.primaries, wanted=wanted, by=by)
    assert sorted(np.concatenate(groups).tolist()) == problem.primaries.tolist()
    assert all(is_allowed(problem, group) for group in groups)


def test_the_rule_as_printed() -> None:
    """Σ over j∩g ≤ ½ Σ over j∩P, for a row with levels 1, 2, 3: {1, 2} is half of 6, {1, 3} is more."""
    problem = two_way(np.full((4, 4), 50).tolist(), primaries={(0, 0): 1, (0, 1): 2, (0, 2): 3})
    cells = {int(problem.upl[cell]): int(cell) for cell in problem.primaries}
    allowed = {
        levels: is_allowed(problem, np.array([cells[level] for level in levels]))
        for levels in combinations((1, 2, 3), 2)
    }
    assert allowed == {(1, 2): True, (1, 3): False, (2, 3): False}
    groups = groups_of(problem, problem.primaries, wanted=1)
    assert [sorted(problem.upl[group].tolist()) for group in groups] == [[1, 2], [3]]


def test_no_groups_means_every_cell_alone_by_increasing_level() -> None:
    problem = TABLES[0]
    groups = groups_of(problem, problem.primaries, wanted=0)
    levels = [int(problem.upl[group[0]]) for group in groups]
    assert all(len(group) == 1 for group in groups) and levels == sorted(levels)


def test_grouping_by_relation_brings_rows_together() -> None:
    problem = two_way(
        np.full((6, 6), 50).tolist(), primaries={(i, j): 1 + i for i in (0, 1) for j in range(6)}
    )
    (group, *_) = groups_of(problem, problem.primaries, wanted=4, by="relation")
    rows = problem.table.keys[0][group]
    assert len(np.unique(rows)) == 1 and len(group) == 3, "half of a row of equal levels"


# -- pre-selection -------------------------------------------------------------------------------------------


def test_marginals_as_printed() -> None:
    """x_m < x_p + upl_p; the total then has the level upl_p − Σ x_i, which goes on to the grand total."""
    problem = two_way([[90, 3, 2], [1, 1, 1]], primaries={(0, 0): 12})
    names = problem.table.cell_names(np.flatnonzero(preselected(problem)))
    # row: 95 < 102, the row total must rise by 12 − 5 = 7; column: 91 < 102, by 11.
    # In the column of totals the others (3) cannot take 7: the grand total follows.
    assert names == ["(Total, Total)", "(Total, c0)", "(r0, Total)"]


def test_large_cells_as_printed() -> None:
    """x_m − x_n < x_p + upl_p: without the largest other cell the row could not take the level."""
    problem = two_way([[20, 30, 1, 1], [40, 40, 40, 40]], primaries={(0, 0): 5})
    table = problem.table
    assert not preselected(problem).any()
    chosen = np.flatnonzero(preselected(problem, large=True))
    assert set(chosen.tolist()) == {table.cell("r0", "c1"), table.cell("r1", "c0")}
    assert (eased(problem, "both").weight[chosen] == 0).all()
    assert eased(problem, "none") is problem


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_preselected_marginals_are_hidden_in_every_safe_pattern(seed: int) -> None:
    rng = np.random.default_rng(seed)
    interior = np.ceil(10 ** rng.uniform(0, 2, (2, 3))).astype(int)
    where = tuple(int(k) for k in rng.integers(0, (2, 3)))
    level = int(interior[where] * rng.uniform(0.1, 2)) + 1
    problem = two_way(
        interior.tolist(),
        primaries={where: (int(min(level, interior[where])), level)},  # type: ignore[dict-item]
    )
    everything = problem.status != Status.FROZEN
    if not is_safe(problem, everything):
        return
    for cell in np.flatnonzero(preselected(problem)).tolist():
        hidden = everything.copy()
        hidden[cell] = False
        assert not is_safe(problem, hidden), "no pattern that publishes it protects the primary cell"


@pytest.mark.parametrize("shape", SHAPES)
def test_preselection_copes_with_every_structure(shape: str) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(5):
        problem = small_problem(shape, rng)
        chosen = preselected(problem, large=True)
        assert not (chosen & (problem.hidden_at_start | (problem.status == Status.FROZEN))).any()


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if "preselect" in entry.options])
@pytest.mark.parametrize("mode", ["marginals", "both"])
def test_every_sequential_method_takes_preselection(method: str, mode: str) -> None:
    problem = TABLES[0]
    short = {"evaluations": 20} if method == "genetic" else {}
    result = suppress(problem, method, attackers=[], options={"preselect": mode, **short})
    assert result.is_safe and result.reason == "complete"
    hidden = result.pattern.hidden & ~problem.hidden_at_start
    assert result.cost == pytest.approx(problem.weight[hidden].sum()), "at the weights as they were"


# -- the program ---------------------------------------------------------------------------------------------


def program_as_printed(problem: Problem, group: np.ndarray, up: bool) -> float | None:
    """Equations (9) to (16) by scipy, with everything but the primaries at its weight."""
    matrix = problem.table.relations.matrix.toarray()
    cost = np.where(problem.hidden_at_start, 0.0, problem.weight)
    rises = [(0.0, bound if np.isfinite(bound) else None) for bound in problem.up]
    falls = [(0.0, bound if np.isfinite(bound) else None) for bound in problem.down]
    frozen = np.flatnonzero(problem.status == Status.FROZEN)
    for cell in frozen:
        rises[cell] = falls[cell] = (0.0, 0.0)
    for cell in group:
        moving, resting = (rises, falls) if up else (falls, rises)
        moving[cell] = (float((problem.upl if up else problem.lpl)[cell]), moving[cell][1])
        resting[cell] = (0.0, 0.0)
    answer = linprog(
        np.concatenate([cost, cost]),
        A_eq=np.hstack([matrix, -matrix]),
        b_eq=np.zeros(len(matrix)),
        bounds=rises + falls,
    )
    return float(answer.fun) if answer.status == 0 else None


@pytest.mark.parametrize("problem", TABLES)
@pytest.mark.parametrize("up", [True, False])
def test_a_group_moves_as_cheaply_as_the_printed_program(problem: Problem, up: bool) -> None:
    group = groups_of(problem, problem.primaries, wanted=2)[-1]
    ledger = Ledger(problem)
    GroupPrograms(OneDemand(ledger)).protect_group(group, up, Deadline(None))
    witness_of = ledger.witness_up if up else ledger.witness_down
    assert (witness_of[group] >= 0).all(), "one deviation protects all of them"
    assert len(np.unique(witness_of[group])) == 1
    moves = ledger.witness(int(witness_of[group[0]]))
    amount = np.abs(moves.numerators) / moves.denominator
    priced = ~problem.hidden_at_start[moves.cells]
    stretched = float((problem.weight[moves.cells] * amount)[priced].sum())
    need = (problem.upl if up else problem.lpl)[group]
    place = np.searchsorted(moves.cells, group)
    times = float((amount[place] / need).min())  # the ledger keeps it stretched as far as it goes
    least = program_as_printed(problem, group, up)
    assert least is not None
    assert stretched / times == pytest.approx(least, rel=1e-3)


def test_unpickable_candidates_are_those_of_k5_where_nothing_else_is_exposed() -> None:
    for seed in range(8):
        problem = random_table((9, 7), contributors=3, seed=seed)
        sets, found = exposure(problem), unpickable(problem)
        assert (found.E_u == sets.E_u).all() and (found.E_u == found.upper | found.lower).all()
        if not sets.K_n.any():
            assert (found.candidates == sets.candidates("K5")).all()


# -- options -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_declared_options_are_the_keywords_of_the_method(method: str) -> None:
    entry = METHODS[method]
    problem = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    result = suppress(
        problem, method, attackers=[], options={name: each.default for name, each in entry.options.items()}
    )
    assert result.is_safe


@dataclass(frozen=True, kw_only=True)
class Declared(Params):
    groups: int = param(2, "How many.", least=0)
    by: str = param("level", "How.", choices=ORDERS)
    surrogate: bool = param(True, "Whether.")
    share: float = param(0.5, "Part.", least=0, most=1)
    slopes: tuple[float, ...] = param((0.1, 0.01), "Steps.", least=0)


def test_options_are_read_from_text_and_checked() -> None:
    given = parse_options(["groups = 3", "by=relation", "surrogate=no", "slopes=0.2, 1", "share=1"])
    assert Declared().changed(given) == Declared(
        groups=3, by="relation", surrogate=False, slopes=(0.2, 1.0), share=1.0
    )
    for wrong, message in (
        ({"groups": -1}, "too small"),
        ({"groups": "two"}, "Give a whole number, 0 or more"),
        ({"groups": True}, "no such value"),
        ({"groups": 1.5}, "no such value"),
        ({"by": "relations"}, "Did you mean 'relation'"),
        ({"surrogate": 2}, "true or false"),
        ({"group": 2}, "Did you mean 'groups'"),
        ({"share": 1.5}, "too large"),
        ({"share": float("nan")}, "too small"),
        ({"slopes": "a,b"}, "no such value"),
    ):
        with pytest.raises(InputError, match=message):
            Declared().changed(wrong)
    with pytest.raises(InputError, match="too small"):
        Declared(groups=-1)
    for text in ("groups", "=3"):
        with pytest.raises(InputError, match="is not NAME=VALUE"):
            parse_options([text])
    with pytest.raises(InputError, match="given twice"):
        parse_options(["by=level", "by=relation"])


def test_an_option_of_another_method_is_an_error_that_names_the_method() -> None:
    with pytest.raises(InputError, match="method 'hypercube' has no option 'groups'"):
        suppress(TABLES[0], "hypercube", attackers=[], options={"groups": 2})


def test_options_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance, pattern, report = tmp_path / "t.jj", tmp_path / "p.csv", tmp_path / "r.json"
    write_jj(TABLES[0], instance)
    command = ["suppress", str(instance), "--out", str(pattern), "--report", str(report), "--quiet"]
    chosen = ["--method", "grouped", "--option", "groups=3", "--option", "preselect=both"]
    assert run_command([*command, *chosen]) == 0
    assert json.loads(report.read_text())["parameters"]["options"] == {"groups": "3", "preselect": "both"}
    assert run_command([*command, "--method", "grouped", "--option", "group=3"]) == 2
    assert "Did you mean 'groups'" in capsys.readouterr().err
    assert run_command(["methods", "grouped"]) == 0
    assert "groups       Wanted number of groups" in capsys.readouterr().out
    assert run_command(["methods", "groupd"]) == 2


def test_options_in_a_job() -> None:
    job = SuppressJob(method="grouped", options={"groups": 3, "by": "relation"})
    assert job.options == {"groups": 3, "by": "relation"}
    for method, options in (("grouped", {"groups": "many"}), ("hypercube", {"groups": 3})):
        with pytest.raises(ValidationError):
            SuppressJob(method=method, options=options)
