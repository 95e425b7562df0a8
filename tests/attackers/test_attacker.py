"""Attackers that mean nothing, or another audit than the one asked for, are refused with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellveil as cv
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.own_parts import OwnParts
from cellveil.cli.options import AttackerName, attackers_of
from cellveil.datasets import two_way
from cellveil.errors import InputError
from cellveil.job import read_job
from cellveil.judge.insider import audit_insiders
from cellveil.pattern import Pattern
from cellveil.problem import Problem

ODD = [
    ({"kind": "insiders"}, "Did you mean 'insider'?"),
    ({"kind": "insider", "level": "holdings"}, "Did you mean 'holding'?"),
    ({"kind": "insider", "coalition": 0}, "1 or more"),
    ({"kind": "insider", "coalition": 1.5}, "whole number"),
    ({"kind": "insider", "coalition": True}, "whole number"),
    ({"kind": "insider", "p": 10}, "has no p"),
    ({"kind": "outsider", "p": 10}, "has no p"),
    ({"kind": "insider", "q": 50}, "has no q"),
    ({"kind": "outsider", "level": "holding"}, "Leave level out"),
    ({"kind": "integer", "coalition": 2}, "Leave coalition out"),
    ({"kind": "insider", "prior": 50}, "for outsiders"),
    ({"kind": "outsider", "prior": 0.5}, "write 50 for a share of 0.5"),
    ({"kind": "outsider", "prior": -5}, "above 0"),
    ({"kind": "pq"}, "needs p"),
    ({"kind": "pq", "p": 0.2}, "write 20 for a share of 0.2"),
    ({"kind": "pq", "p": 20, "q": 0.8}, "write 80 for a share of 0.8"),
    ({"kind": "pq", "p": 20, "q": 10}, "p is above q"),
    ({"kind": "pq", "p": 20, "q": 200}, "q is above 100"),
    ({"kind": "pq", "p": float("nan")}, "above 0"),
    ({"kind": "pq", "p": 0}, "above 0"),
]


@pytest.mark.parametrize(("options", "told"), ODD)
def test_odd_attackers_are_refused_with_a_remedy(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        Attacker(**options)
    assert told in str(error.value)


@pytest.mark.parametrize(("options", "told"), ODD)
def test_so_are_they_in_audits_of_insiders(options: dict[str, Any], told: str) -> None:
    if options["kind"] in ("outsider", "integer") or "prior" in options:
        return
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    with pytest.raises(InputError) as error:
        audit_insiders(problem, Pattern(problem.status, ""), **options)
    assert told in str(error.value)


def test_an_outsider_is_no_insider() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    with pytest.raises(InputError, match="no insider"):
        audit_insiders(problem, Pattern(problem.status, ""), "outsider")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="Did you mean 'holding'"):
        OwnParts.of(problem, "holdings")


@pytest.mark.parametrize(
    "options",
    [{}, {"prior": 50}, {"kind": "insider", "coalition": np.int64(2)}, {"kind": "pq", "p": np.float64(15)}],
)
def test_good_ones_are_not(options: dict[str, Any]) -> None:
    Attacker(**options)


JOB = """
instance = "table"
[[attackers]]
{lines}
"""


@pytest.mark.parametrize(("options", "told"), ODD)
def test_so_are_they_in_job_files(options: dict[str, Any], told: str, tmp_path: Path) -> None:
    def written(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool | float) else repr(value)

    lines = "\n".join(f"{name} = {written(value)}" for name, value in options.items())
    (tmp_path / "job.toml").write_text(JOB.format(lines=lines))
    with pytest.raises(InputError) as error:
        read_job(tmp_path / "job.toml")
    assert error.value.line is not None and error.value.remedy


def test_job_files_tell_shares_from_per_cent(tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(JOB.format(lines='kind = "pq"\np = 0.2'))
    with pytest.raises(InputError, match="write 20 for a share") as error:
        read_job(tmp_path / "job.toml")
    assert error.value.line == 5
    (tmp_path / "job.toml").write_text(JOB.format(lines='kind = "insiders"'))
    with pytest.raises(InputError, match="'insider'"):
        read_job(tmp_path / "job.toml")


def test_the_command_line_gives_each_attacker_its_options() -> None:
    named = [AttackerName.outsider, AttackerName.insider, AttackerName.pq]
    found = attackers_of(named, 10.0, 80.0, "holding", 2, 50.0)
    assert found == [
        Attacker(prior=50.0),
        Attacker("insider", level="holding", coalition=2),
        Attacker("pq", p=10.0, q=80.0, level="holding", coalition=2),
    ]


@pytest.mark.parametrize(
    ("names", "options"),
    [
        ([AttackerName.insider], (10.0, 100.0, "unit", 1, None)),
        ([AttackerName.outsider], (None, 80.0, "unit", 1, None)),
        ([AttackerName.outsider], (None, 100.0, "holding", 1, None)),
        ([AttackerName.integer], (None, 100.0, "unit", 2, None)),
        ([AttackerName.insider], (None, 100.0, "unit", 1, 50.0)),
        ([AttackerName.pq], (0.2, 100.0, "unit", 1, None)),
    ],
)
def test_the_command_line_refuses_what_concerns_nobody(names: list[AttackerName], options: Any) -> None:
    with pytest.raises(InputError):
        attackers_of(names, *options)


@pytest.fixture
def table() -> Problem:
    return two_way([[20, 50, 30], [8, 19, 22]], primaries={(0, 0): 3})


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"marginal": 10.0}, "Did you mean 'marginals'"),
        ({"interior": -1.0}, "0 or more"),
        ({"total": "x"}, "0 or"),
    ],
)
def test_odd_limits_are_refused(table: Problem, limits: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        cv.audit_adjusted(table, cv.adjust(table).values, limits=limits)
    assert told in str(error.value)
