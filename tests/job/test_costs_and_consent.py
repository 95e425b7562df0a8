"""Costs by distance, λ, and passive confidentiality, as jobs ask for them."""

from pathlib import Path

import numpy as np
import pytest

from cellveil.errors import InputError
from cellveil.job import read_job
from cellveil.job.preparing import Prepared, prepare
from cellveil.progress import Progress

JOB = """
output = "out"
[[tables]]
dimensions = ["size"]
response = "sales"
[[rules]]
rule = "p%"
p = 10
[microdata]
file = "firms.csv"
contributor = "firm"
request = "asks"
"""


def prepared(folder: Path, text: str = "") -> Prepared:
    rows = ["firm,size,sales,asks"]
    rows += [f"f{i},{1 + i % 4},{1000 if i < 2 else 10 + i},{int(i == 0)}" for i in range(24)]
    (folder / "firms.csv").write_text("\n".join(rows) + "\n")
    (folder / "job.toml").write_text(JOB + text)
    return prepare(read_job(folder / "job.toml"), Progress())


def test_costs_by_distance(tmp_path):
    found = prepared(tmp_path, '[weights]\nkind = "distance"\ndistance = {size = [2, 3, 9]}\n')
    table, cost = found.problem.table, found.problem.weight
    assert {table.key(cell)[0]: cost[cell] for cell in range(5)} == {
        **{"Total": 9.0, "1": 0.0, "2": 0.0, "3": 2.0, "4": 3.0},
    }


def test_box_cox(tmp_path):
    found = prepared(tmp_path, "[weights]\nbox_cox = 0\n").problem
    assert found.weight.tolist() == pytest.approx(np.log1p(found.table.floats()).tolist())


def test_passive_confidentiality(tmp_path):
    assert len(prepared(tmp_path).problem.primaries) == 2
    found = prepared(tmp_path, "passive = true\n")
    assert found.problem.table.cell_names(found.problem.primaries) == ["(1)"]
    assert found.facts["cells safe by waivers of contributors"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[weights]\nbox_cox = 0.5\npower = 2.0\n", "both power and box_cox"),
        ("[weights]\ndistance = {size = [1]}\n", "distance is given for other weights"),
        ('[weights]\nkind = "distance"\npower = 2.0\n', "no power"),
        ('[weights]\nkind = "distance"\ndistance = {size = [2, 1]}\n', "rising numbers"),
        ('[weights]\nkind = "distance"\ndistance = {sise = [2, 1]}\n', "Did you mean 'size'"),
    ],
)
def test_wrong_weights(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        prepared(tmp_path, text)


def test_nobody_can_ask(tmp_path):
    (tmp_path / "job.toml").write_text(JOB.replace('request = "asks"', "passive = true"))
    with pytest.raises(InputError, match="nobody would be protected"):
        read_job(tmp_path / "job.toml")
