"""Parameters of adjustment: reached from Python, job files and the command line, and checked everywhere."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from cellveil.adjustment import adjust
from cellveil.adjustment.adjust_params import AdjustParams
from cellveil.cli.app import run_command
from cellveil.datasets import two_way
from cellveil.errors import InputError
from cellveil.formats.jj import write_jj
from cellveil.job.sections import AdjustJob

PROBLEM = two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3, (1, 1): 2})


def test_options_and_params_are_the_same_thing() -> None:
    by_options = adjust(PROBLEM, "tabu", options={"tabu.steps": 3, "splitting.tries": 2})
    changed = AdjustParams().changed({"tabu.steps": "3", "splitting.tries": "2"})
    by_params = adjust(PROBLEM, "tabu", params=changed)
    assert (by_options.values == by_params.values).all()


@pytest.mark.parametrize("wrong", [{"tabu.step": 3}, {"tabu.steps": -1}, {"shares.tabu": 2}])
def test_wrong_ones_are_errors_in_python_and_jobs(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        adjust(PROBLEM, "tabu", options=wrong)
    with pytest.raises(ValidationError):
        AdjustJob(options=wrong)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    instance, out = tmp_path / "t.jj", tmp_path / "a.csv"
    write_jj(PROBLEM, instance)
    command = ["adjust", str(instance), "--out", str(out), "--method", "tabu", "--quiet", "--option"]
    assert run_command([*command, "tabu.steps=3", "--option", "splitting.tries=2"]) == 0 and out.exists()
    assert run_command([*command, "tabu.step=3"]) == 2
    assert "Did you mean 'tabu.steps'" in capsys.readouterr().err
    assert run_command(["methods", "adjust"]) == 0
    assert "tabu.tenure" in capsys.readouterr().out
