"""Percentages below 1 look like shares: they must be written with their sign."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cellveil.errors import InputError
from cellveil.job import read_job
from cellveil.rules import (
    Dominance,
    Manual,
    PPercent,
    PriorPosterior,
    Request,
    Threshold,
    rule_from_dict,
    rule_to_dict,
)
from cellveil.rules.percentages import percentage

SHARES: list[Any] = [0.2, "0.2", "1/5", Fraction(1, 5), 0.999]


@pytest.mark.parametrize("share", SHARES)
def test_rules_refuse_shares(share: Any) -> None:
    for make in (
        lambda: PPercent(share),
        lambda: PriorPosterior(share, 50),
        lambda: PriorPosterior(20, share),
        lambda: Dominance(1, share),
        lambda: Threshold(3, share),
        lambda: PPercent(10, safety_range=share),
        lambda: Manual([], share),
        lambda: Request(share),
        lambda: Request(50, share),
        lambda: rule_from_dict({"preset": "tau-argus", "p": share}),
        lambda: rule_from_dict({"preset": "tau-argus", "nk": [[1, share]]}),
        lambda: rule_from_dict({"preset": "tau-argus", "freq": [3, share]}),
        lambda: rule_from_dict({"preset": "sdctable", "p": share}),
    ):
        with pytest.raises(InputError, match="looks like a share") as caught:
            make()
        assert "write 15 for 15 %" in caught.value.remedy and ' %", in quotes' in caught.value.remedy


def test_with_its_sign_a_small_percentage_is_meant() -> None:
    rule = PPercent("0.5 %")
    assert rule.text == "p% rule (p = 0.5)"
    assert rule_from_dict(rule_to_dict(rule)) == rule
    assert percentage("12%", "p") == 12 and percentage(0, "p", zero=True) == 0
    for wrong in (0, -5, 101, "-1 %", "101 %", "0 %", "%", True):
        with pytest.raises(InputError):
            percentage(wrong, "p")


JOB = '[[tables]]\nfile = "t.csv"\ndimensions = ["a"]\n[[rules]]\nrule = "threshold"\n{}\n'


@pytest.mark.parametrize(
    "section",
    [
        "[levels]\nsafety_range = {}",
        "[adjust]\nlimit = {}",
        "[adjust]\nlimit_marginals = {}",
        "[adjust]\nlimit_total = {}",
    ],
)
def test_job_files_refuse_shares(tmp_path: Path, section: str) -> None:
    file = tmp_path / "job.toml"
    file.write_text(JOB.format(section.format("0.2")))
    with pytest.raises(InputError, match=r"= 0\.2 is below 1 per cent, which looks like a share") as caught:
        read_job(file)
    assert caught.value.line is not None and caught.value.line > 5
    for fine in ("20", "20.5", '"20 %"'):
        file.write_text(JOB.format(section.format(fine)))
        read_job(file)
    file.write_text(JOB.format(section.format('"0.2"')))
    with pytest.raises(InputError, match="is not a number"):
        read_job(file)


def test_job_files_take_small_percentages_with_their_sign(tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text(JOB.format('[adjust]\nlimit = "0.5 %"\nlimit_total = 0'))
    job = read_job(file)
    assert job.adjust is not None and job.adjust.limit == 0.5 and job.adjust.limit_total == 0
