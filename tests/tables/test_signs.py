"""What is known about signs belongs to the response variable, not to the table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cellveil as cv
from cellveil.formats.tidy_folder import read_folder, write_folder
from cellveil.microdata.tabulate import tabulate
from cellveil.problem import Problem
from cellveil.rules.apply import make_problem
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table
from helpers.public_files import public_rows

REGION = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))


def interior(values: list[int], variable: str) -> Table:
    return table_from_interior([REGION], {"region": ["N", "S", "W"]}, values, variable=variable)


def joint(profit: list[int]) -> Table:
    turnover, costs = [20, 30, 40], [20 - profit[0], 30 - profit[1], 40 - profit[2]]
    tables = [interior(turnover, "turnover"), interior(costs, "costs"), interior(profit, "profit")]
    return link(tables, {"profit": {"turnover": 1, "costs": -1}})


def lower(table: Table, problem: Problem, variable: str) -> set[int]:
    return {int(problem.lb[cell]) for cell in range(table.num_cells) if variable in table.key(cell)}


def test_a_loss_says_nothing_about_turnover() -> None:
    table = joint([5, -3, 9])
    problem = make_problem(table, None, statuses={("N", "turnover"): "u"})
    assert lower(table, problem, "turnover") == lower(table, problem, "costs") == {0}
    assert lower(table, problem, "profit") == {-UNBOUNDED}
    assert lower(table, Problem.of(table, {}), "turnover") == {0}
    table = joint([5, 3, 9])
    assert set(Problem.of(table, {}).lb.tolist()) == {0}


def test_bounds_of_tau_argus_by_variable() -> None:
    table = joint([5, -3, 9])
    problem = make_problem(table, None, statuses={("N", "turnover"): "u"}, bounds="tau-argus")
    assert lower(table, problem, "turnover") == {0} and lower(table, problem, "profit") == {-4}
    cell = table.cell("N", "profit")
    assert (problem.ub[cell], problem.ub[table.cell("N", "turnover")]) == (16, 135)
    free = make_problem(
        table, None, statuses={("N", "profit"): "u"}, bounds="free", bounds_reason="a test of bounds"
    )
    assert (free.lb == -UNBOUNDED).all()


def test_prior_knowledge_keeps_the_bound_of_the_variable() -> None:
    table = joint([5, -3, 9])
    known = Problem.of(table, {}).known_within(200)
    assert known.lb[table.cell("N", "turnover")] == 0
    assert known.lb[table.cell("N", "profit")] == -5


def test_a_folder_keeps_the_variables_apart(tmp_path: Path) -> None:
    table = joint([5, -3, 9])
    write_folder(Problem.of(table, {table.cell("N", "turnover"): (4, 4)}), tmp_path)
    cells = pd.read_csv(tmp_path / "cells.csv", dtype=str)
    cells.drop(columns=[name for name in ("lb", "ub") if name in cells]).to_csv(
        tmp_path / "cells.csv", index=False
    )
    problem = read_folder(tmp_path)
    assert lower(problem.table, problem, "turnover") == {0}
    assert lower(problem.table, problem, "profit") == {-UNBOUNDED}


def firms(**columns: list[int]) -> pd.DataFrame:
    return pd.DataFrame({"region": ["N", "N", "S", "S", "W"], "firm": list("abcda")} | columns)


def test_negative_contributions_to_cells_that_are_not_negative() -> None:
    """Where profits can be losses nobody takes a cell for at least 0; a shadow variable does not tell."""
    data = firms(profit=[9, -4, 5, 5, 1], turnover=[20, 30, 40, 50, 60])
    options: dict[str, Any] = {"contributor": "firm", "allow_negative": True}
    for shadow in (None, "turnover"):
        table = tabulate(data, [REGION], "profit", shadow=shadow, **options)
        assert (table.values >= 0).all()
        assert (Problem.of(table, {}).lb == -UNBOUNDED).all()
    for shadow in (None, "profit"):
        table = tabulate(data, [REGION], "turnover", shadow=shadow, **options)
        assert (Problem.of(table, {}).lb == 0).all()
    both = link([tabulate(data, [REGION], name, **options) for name in ("profit", "turnover")])
    problem = Problem.of(both, {})
    assert lower(both, problem, "turnover") == {0} and lower(both, problem, "profit") == {-UNBOUNDED}


def test_corrections_within_a_contribution_leave_the_sign() -> None:
    """A record of −4 beside one of 9 of the same firm in the same cell is a contribution of 5."""
    data = pd.DataFrame({"region": ["N", "N", "S"], "firm": ["a", "a", "b"], "sales": [9, -4, 3]})
    assert (
        Problem.of(tabulate(data, [REGION], "sales", contributor="firm", allow_negative=True), {}).lb == 0
    ).all()
    without_ids = tabulate(data, [REGION], "sales", allow_negative=True)
    assert (Problem.of(without_ids, {}).lb == -UNBOUNDED).all()


JOB = """
[microdata]
file = "firms.csv"
contributor = "firm"
allow_negative = true

[[tables]]
dimensions = ["region"]
response = "turnover"

[[tables]]
dimensions = ["region"]
response = "profit"

[[rules]]
rule = "threshold"
minimum = 3
safety_range = 100
"""


def test_turnover_beside_losses_is_not_protected_by_negative_turnover(tmp_path: Path) -> None:
    """N (turnover 1,000 of two firms) is hidden; a neighbour of 30 would do only if it could be negative."""
    regions = ["N"] * 2 + ["S"] * 5 + ["W"] * 5 + ["E"] * 5
    turnover = [500, 500, *[6] * 5, *[900] * 5, *[800] * 5]
    profit = [40, -90, *[10] * 5, *[-20] * 5, *[30] * 5]
    pd.DataFrame({"region": regions, "firm": range(17), "turnover": turnover, "profit": profit}).to_csv(
        tmp_path / "firms.csv", index=False
    )
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    result = cv.run_job(cv.read_job(tmp_path / "job.toml"))
    assert result.is_safe and result.release is not None
    table = pd.DataFrame(public_rows(result.release.folder))
    hidden = table[(table["value"] == "x") & (table["variable"] == "turnover") & (table["region"] != "Total")]
    sums = {"N": 1000, "S": 30, "W": 4500, "E": 4000}
    others = sum(sums[region] for region in hidden["region"] if region != "N")
    assert "N" in set(hidden["region"]) and others >= 1000


def test_a_variable_column_of_a_ready_made_table() -> None:
    variable = Dimension.unstructured("variable", ["profit", "turnover"])
    codes = {"region": ["N", "S"] * 2, "variable": ["profit"] * 2 + ["turnover"] * 2}
    table = table_from_interior([REGION, variable], codes, [-2, 3, 4, 5])
    problem = Problem.of(table, {})
    assert lower(table, problem, "turnover") == {0} and lower(table, problem, "profit") == {-UNBOUNDED}
    assert np.array_equal(np.unique(table.variables), [0, 1])
