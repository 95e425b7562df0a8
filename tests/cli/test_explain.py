"""The command `explain`: cells of the last run of a job."""

import json

import pytest

JOB = """
title = "Sales"
attackers = []
[microdata]
file = "firms.csv"
contributor = "firm"
[dimensions.region]
hierarchy = "regions.csv"
[[tables]]
dimensions = ["region", "size"]
response = "sales"
[[rules]]
rule = "p%"
p = 10
[suppress]
method = "sequential"
[release]
formats = ["csv"]
"""

FIRMS = """region,size,firm,sales
N,small,a,80
N,small,b,15
N,small,c,5
N,large,d,40
N,large,e,30
N,large,f,30
S,small,g,25
S,small,h,20
S,small,i,22
S,large,j,35
S,large,k,36
S,large,l,30
"""


@pytest.fixture
def job(tmp_path):
    (tmp_path / "firms.csv").write_text(FIRMS)
    (tmp_path / "regions.csv").write_text("parent,child\nTotal,N\nTotal,S\n")
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path / "job.toml"


def test_explain_tells_of_a_primary_and_of_a_secondary(job, command):
    assert command("run", job).code == 0
    primary = command("explain", job, "region=N,size=small")
    assert primary.code == 0, primary.err
    for line in (
        "(N, small): region N, size small",
        "  sales 100",
        "    x1 = 80  (80.0 %; contributor a)",
        "  p% rule (p = 10): x1 = 80, x2 = 15; X - x1 - x2 = 5 < 10 % of x1 = 8",
        "Required: 97 and 103 must both stay possible. The interval is enough.",
        "Publishing it would tell its value.",
    ):
        assert line in primary.out.splitlines()
    secondary = json.loads(command("explain", job, "S,large", "--json").out)
    assert secondary["status"].startswith("secondary") and secondary["protects"] == ["(N, small)"]
    assert [one["cell"] for one in secondary["opens"]] == ["(N, small)"] and secondary["opens"][0][
        "tells_value"
    ]


def test_explain_asks_everybody_whom_the_job_keeps_off(job, command):
    job.write_text(JOB.replace("attackers = []\n", ""))
    assert command("run", job).code == 0
    told = json.loads(command("explain", job, "S,large", "--json").out)
    assert told["asked"] == "outsiders and every single contributor"
    assert {one["against"] for one in told["opens"]} <= {"outsiders", "every single contributor"}


def test_explain_says_what_to_do(job, command):
    ended = command("explain", job, "N,small")
    assert ended.code == 2 and "there is no run of this job yet" in ended.err and "cellveil run" in ended.err
    assert command("run", job).code == 0
    ended = command("explain", job, "N,smal")
    assert ended.code == 2 and "has no code 'smal'. Near ones: small" in ended.err


def test_explain_after_an_infeasible_run(job, command):
    frozen = [
        f'[[cells]]\nkey = {{region = "N", size = "{size}"}}\nstatus = "z"\n' for size in ("large", "Total")
    ]
    job.write_text(JOB + "".join(frozen))
    assert command("run", job).code == 3
    ended = command("explain", job, "N,small")
    assert ended.code == 2 and "the last run found no pattern" in ended.err and "report.html" in ended.err
