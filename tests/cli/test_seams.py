"""Where a program meets its surroundings: misspelt words, pipes, encodings, another run, examples."""

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cellveil.cli import streams
from cellveil.cli.app import app
from cellveil.cli.examples import EXAMPLES
from cellveil.cli.shell import say, write_json
from cellveil.job.output_folder import open_output
from helpers.command import Command

COMMANDS: Any = get_command(app)


def program(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
    call = [sys.executable, "-m", "cellveil", *arguments]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(call, env={**os.environ, **environment}, **both)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["supress"], "suppress"),
        (["chek", "job.toml"], "check"),
        (["run", "job.toml", "--advice"], "--advise"),
        (["suppress", "t.jj", "--metod", "auto"], "--method"),
        (["compare", "job.toml", "--wieghts", "one"], "--weights"),
    ],
)
def test_misspelt_words_are_answered_with_the_near_one(words: list[str], near: str, command: Command) -> None:
    ended = command(*words)
    assert ended.code == 2 and near in ended.err and "Traceback" not in ended.err


def test_a_pipe_that_closes_early_is_no_error() -> None:
    running = program("methods", "auto")
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.wait() == 0 and running.stderr.read() == b""
    running.stderr.close()


def test_an_encoding_without_such_letters_is_no_error() -> None:
    running = program("methods", "modular", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    out, err = running.communicate()
    assert running.returncode == 0 and err == b""
    assert "<=" in out.decode("ascii") and "HiTaS" in out.decode("ascii")


class Closed(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_what_follows_a_closed_pipe_goes_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Closed())
    say(False, "one")
    assert sys.stdout.name == os.devnull
    say(False, "two")
    streams.flush_streams()
    sys.stdout.close()


def test_json_is_whole_in_any_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    write_json(None, True, {"title": "Größe – 5 €"})
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode("ascii")) == {"title": "Größe – 5 €"}


def test_a_second_run_of_a_job_ends_at_once(tmp_path: Path, command: Command) -> None:
    (tmp_path / "firms.csv").write_text("region,turnover\nN,4\nS,5\n")
    job = tmp_path / "job.toml"
    job.write_text(
        'output = "out"\n[microdata]\nfile = "firms.csv"\n[[tables]]\ndimensions = ["region"]\n'
        'response = "turnover"\n[[rules]]\nrule = "threshold"\n'
    )
    with open_output(tmp_path / "out", []):
        ended = command("run", job)
        assert ended.code == 2 and ended.out == "" and ended.err.count("\n") == 1
        assert command("check", job).code == 0  # looks, but writes nothing


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name in ("", *COMMANDS.commands)])
def test_examples_are_commands(name: str) -> None:
    for line in EXAMPLES[name]:
        first, *words = shlex.split(line)
        assert first == "cellveil" and name in ("", words[0])
        command = COMMANDS.get_command(COMMANDS.make_context("cellveil", [words[0]]), words[0])
        command.make_context(words[0], words[1:])


def test_every_command_has_examples_and_shows_them(command: Command) -> None:
    assert set(COMMANDS.commands) <= set(EXAMPLES)
    for name in ("check", "compare"):
        shown = command(name, "--help").out
        assert "Examples:" in shown and f"$ {EXAMPLES[name][0]}" in shown
