"""The open comparison: processes and their limits, runs kept and resumed, judges, peers, standings, the page.

Runs go through the real command. Processes of cellveil are run in this one where the process is not the
point: loops are then compiled once. `test_the_whole_thing_in_processes` (slow) leaves nothing out.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellveil.argus.batch.running_batch import run_batch
from cellveil.cli.app import run_command
from cellveil.datasets import random_table, two_way
from cellveil.errors import InputError
from cellveil.formats.instance import write_instance
from cellveil.formats.pattern_file import write_pattern
from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.suppression import suppress
from cellveil.suppression.methods import METHODS
from experiments.comparison import argus_run, judging, page, runs
from experiments.comparison.__main__ import app
from experiments.comparison.assignment import PATTERN, Assignment, RunFigures
from experiments.comparison.compared_tables import SETS, TABLES, chosen_tables
from experiments.comparison.contestants import (
    CONTESTANTS,
    SCRIPTS,
    chosen_contestants,
    package_version,
)
from experiments.comparison.preparing import prepare
from experiments.comparison.processes import EndedProcess, Limits, run_process
from experiments.comparison.results import profile_of, write_results
from experiments.comparison.runs import RUNS, ComparisonSetting, Run, RunFile, plan
from experiments.comparison.second_opinion import SecondOpinion, judge_again
from experiments.comparison.standings import Standings, kind_of

needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="no Rscript on this machine")


def in_this_process(
    command: Sequence[str], folder: Path, limits: Limits, environment: object = None
) -> EndedProcess:
    """Modules of the comparison run here; anything else in a process."""
    if command[0] != sys.executable or command[1] != "-m":
        return run_process(command, folder, limits)
    module = importlib.import_module(command[2])
    try:
        if command[2].endswith("preparing"):
            module.prepare(command[3], Path(command[4]))
        else:
            module.main(*command[3:])
    except Exception as error:
        return EndedProcess(1, "", 1.0, 1.0, 1.0, str(error))
    return EndedProcess(0, "", 1.0, 1.0, 100.0, "")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Processes of cellveil are run here; tells the commands."""
    commands: list[list[str]] = []

    def noted(command: Sequence[str], *given: Any) -> EndedProcess:
        commands.append(list(command))
        return in_this_process(command, *given)

    monkeypatch.setattr(runs, "run_process", noted)
    return commands


def searches(commands: Sequence[Sequence[str]]) -> list[str]:
    """The methods of the commands that search."""
    return [command[3] for command in commands if command[2].endswith("own_run")]


# -- processes -----------------------------------------------------------------------------------------------


def plain_python(code: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", code]


def test_a_process_is_measured_and_its_last_words_are_kept(tmp_path: Path) -> None:
    code = "import sys; block = bytearray(60_000_000); print('done', len(block)); sys.exit(3)"
    ended = run_process(plain_python(code), tmp_path, Limits(None, 60))
    assert (ended.code, ended.over, ended.said) == (3, "", "done 60000000")
    assert ended.megabytes > 60 and ended.cpu > 0 and ended.wall > 0


def is_running(pid: int) -> bool:
    """Whether there is such a process, and it is not only waiting to be counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """A killed process may take a moment to end."""
    for _ in range(200):
        if not is_running(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc on this machine")
def test_what_is_over_its_limit_is_killed_with_its_children(tmp_path: Path) -> None:
    """Also a child in a process group of its own, and one that outlives its parent."""
    child = "subprocess.Popen(['sleep', '600'], process_group=0 if name == 'grouped' else None)"
    start = f"import os, subprocess, time; name = '{{}}'; child = {child}; print(child.pid, flush=True)"
    waiting = run_process(
        plain_python(start.format("grouped") + "; time.sleep(600)"), tmp_path, Limits(None, 2)
    )
    assert waiting.code == -signal.SIGKILL and waiting.over == "still running after 2 s"
    assert gone(int(waiting.said))
    leaving = run_process(plain_python(start.format("plain")), tmp_path, Limits(None, 60))
    assert leaving.code == 0 and not leaving.over and gone(int(leaving.said))


def test_processor_time_is_limited(tmp_path: Path) -> None:
    busy = run_process(plain_python("while True: pass"), tmp_path, Limits(0.0, 600))
    assert busy.over == "more than 0 s of the processor" and busy.code < 0


# -- tables and contestants ----------------------------------------------------------------------------------


def test_every_method_takes_part_and_names_are_unique() -> None:
    names = [one.name for one in CONTESTANTS]
    assert len(set(names)) == len(names) and set(METHODS) <= set(names)
    assert len({table.name for table in TABLES}) == len(TABLES)
    assert {table.set for table in TABLES} == set(SETS)
    with pytest.raises(InputError, match="unknown contestant"):
        chosen_contestants(["autoo"])
    with pytest.raises(InputError, match="Did you mean 'tiny'"):
        chosen_tables(["tinny"])


def test_tables_are_handed_over_whole(tmp_path: Path) -> None:
    for name in ("6x5 s1", "13Hx9Hx5 s3", "20x25 counts s1"):
        folder = tmp_path / runs.slug(name)
        folder.mkdir()
        prepare(name, folder)
        (table,) = chosen_tables((), [name])
        problem = table.problem()
        facts = json.loads((folder / "about.json").read_text())
        assert facts["cells"] == problem.table.num_cells and facts["primaries"] == len(problem.primaries)
        assert problem.has_digest(facts["digest"]) or problem.content_hash.startswith(facts["digest"])


def test_the_order_is_shuffled_and_always_the_same() -> None:
    tables, methods = chosen_tables(["small"]), chosen_contestants(["cellveil"])
    setting = ComparisonSetting(seeds=(1, 2))
    first, second = (plan(tables, methods, setting) for _ in range(2))
    assert first == second and len(first) == 2 * len(tables) * len(methods)
    assert [one.table.name for one in first] != sorted(one.table.name for one in first)
    assert len({one.table.name for one in first[: len(methods)]}) > 2


# -- the command ---------------------------------------------------------------------------------------------

COMMAND = ("run", "--sets", "tiny", "--methods", "hypercube,sequential", "--time-limit", "5", "--quiet")


def test_two_methods_on_two_tables(quick: list[list[str]], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run_command([*COMMAND, "--out", str(out)], app) == 0
    lines = RunFile(out / RUNS).runs
    assert len(lines) == 4 and {run["state"] for run in lines} == {"pattern"}
    assert all(run["safe"] and run["audited"] and run["second"] for run in lines)
    for table in chosen_tables(["tiny"]):
        problem = table.problem()
        for run in lines:
            if run["table"] == table.name:
                found = suppress(problem, run["contestant"], attackers=[], seed=1)
                assert run["cost"] == found.cost and run["hidden"] == found.pattern.hidden.sum()
    results = (out / "results.md").read_text("utf-8")
    assert "| hypercube | 2 | 2 | 0 | 0 |" in results
    assert len((out / "runs.csv").read_text("utf-8").splitlines()) == 5
    for name in ("profile", "effort", "safe"):
        assert (out / f"comparison-{name}.svg").read_text("utf-8").startswith("<svg")
    about = json.loads((out / "settings.json").read_text("utf-8"))
    assert about["command"] == (
        "python -m experiments.comparison run --sets tiny --methods hypercube,sequential --time-limit 5.0"
    )
    assert str(tmp_path) not in json.dumps(about)
    quick.clear()
    assert run_command([*COMMAND, "--out", str(out)], app) == 0
    assert not searches(quick), "everything was run already"
    file = RunFile(out / RUNS)
    file.add(file.runs[0] | {"version": "later", "cost": 1e9})
    file.add(file.runs[1] | {"limit": 6.0, "cost": 1e9})
    costs = [run["cost"] for run in Standings.of_folder(out).runs]
    assert len(costs) == 4 and costs.count(1e9) == 1, "the last version, and the limit that was asked for"


def test_a_comparison_goes_on_after_a_kill(
    quick: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, real = tmp_path / "out", runs.run_process
    finished: list[str] = []

    def killed_at_the_third(command: Sequence[str], *given: Any) -> EndedProcess:
        if command[2].endswith("own_run") and len(finished) == 2:
            raise KeyboardInterrupt
        ended = real(command, *given)
        finished.extend(["run"] if command[2].endswith("own_run") else [])
        return ended

    monkeypatch.setattr(runs, "run_process", killed_at_the_third)
    assert run_command([*COMMAND, "--out", str(out)], app) == 130
    before = (out / RUNS).read_bytes()
    (out / RUNS).write_bytes(before + b'{"table": "6x5 s1", "contest')  # a kill in the middle of a line
    monkeypatch.setattr(runs, "run_process", real)
    quick.clear()
    assert run_command([*COMMAND, "--out", str(out)], app) == 0
    assert len(searches(quick)) == 2
    assert (out / RUNS).read_bytes().startswith(before)
    keys = [runs.identity(run) for run in RunFile(out / RUNS).runs]
    assert len(keys) == len(set(keys)) == 4


def test_a_line_that_is_no_run_is_named(tmp_path: Path) -> None:
    (tmp_path / RUNS).write_text('{"table": "a"}\nnonsense\n{"table": "b"}\n')
    with pytest.raises(InputError, match="line 2"):
        RunFile(tmp_path / RUNS)


@pytest.mark.slow
def test_the_whole_thing_in_processes(tmp_path: Path) -> None:
    command = [*COMMAND, "--cpu", "--out", str(tmp_path / "out")]
    assert run_command(command, app) == 0
    lines = RunFile(tmp_path / "out" / RUNS).runs
    assert len(lines) == 4 and all(run["safe"] and run["clock"] == "processor" for run in lines)
    assert all(run["megabytes"] > 30 and run["cpu"] > 0 and run["seconds"] > 0 for run in lines)


# -- peers ---------------------------------------------------------------------------------------------------

FAKE_R = """#!{python} -SE
import csv, pathlib, sys
words = sys.argv[1:]
if "-e" in words:
    print("0.0.1", end="")
    raise SystemExit
assert words[0] == "--vanilla" and words[1].endswith("sdctable.R"), words
instance, folder, method, limit, seed, clock = words[2:]
assert (limit, seed, clock) == ("5.0", "1", "wall")
rows = list(csv.DictReader((pathlib.Path(instance) / "cells.csv").open()))
names = [name for name in rows[0] if (pathlib.Path(instance) / f"hier_{{name}}.csv").exists()]
if method == "HITAS":
    raise SystemExit("no licence for a solver")
if method != "GAUSS":
    with (pathlib.Path(folder) / "pattern.csv").open("w") as file:
        file.write(",".join([*names, "status"]) + "\\n")
        for row in rows:
            hides = method == "OPT" and row["status"] != "z"
            status = "u" if row["status"] == "u" else "m" if hides else "s"
            code = "nowhere" if method == "HYPERCUBE" else row[names[0]]
            file.write(",".join([code, *(row[name] for name in names[1:]), status]) + "\\n")
figures = '{{"seconds": 0.5, "bound": null, "refused": "", "reason": "" }}'
(pathlib.Path(folder) / "figures.json").write_text(figures)
"""


@pytest.fixture
def fake_r(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An Rscript that hides everything (OPT), nothing more (SIMPLEHEURISTIC), or goes wrong in some way."""
    program = tmp_path / "Rscript"
    program.write_text(FAKE_R.format(python=sys.executable))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CELLVEIL_RSCRIPT", str(program))
    package_version.cache_clear()
    return program


def test_peers_hand_in_patterns_and_failures_are_rows(
    quick: list[list[str]], fake_r: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ["run", "--tables", "6x5 s1", "--methods", "sdcTable,hypercube", "--time-limit", "5"]
    assert run_command([*command, "--quiet", "--out", str(out)], app) == 0
    found = {run["contestant"]: run for run in RunFile(out / RUNS).runs}
    assert found["sdcTable OPT"]["version"] == "sdcTable 0.0.1"
    assert kind_of(found["sdcTable OPT"]) == "safe" and found["sdcTable OPT"]["seconds"] == 0.5
    bare = found["sdcTable SIMPLEHEURISTIC"]
    assert kind_of(bare) == "not safe" and bare["second"] is False and bare["short"] > 0 and bare["cost"] == 0
    assert found["sdcTable HITAS"]["state"] == "failed"
    assert found["sdcTable HITAS"]["why"] == "exit code 1: no licence for a solver"
    assert found["sdcTable GAUSS"]["why"] == "no pattern was handed in"
    assert found["sdcTable HYPERCUBE"]["why"].startswith("not judged:")
    standings = Standings.of_folder(out)
    assert standings.cheapest["6x5 s1"] == found["hypercube"]["cost"] > 0, "what is unsafe never wins"
    assert math.isinf(standings.ratio(bare)) and standings.share_within("sdcTable SIMPLEHEURISTIC", 1e9) == 0
    assert "**unsafe**" in (out / "results.md").read_text("utf-8")


def test_peers_that_are_not_here_are_left_out_with_a_word(
    quick: list[list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CELLVEIL_RSCRIPT", str(tmp_path / "nothing"))
    monkeypatch.delenv("CELLVEIL_TAUARGUS", raising=False)
    monkeypatch.setenv("PATH", "")
    command = ["run", "--tables", "6x5 s1", "--methods", "hypercube,sdcTable,tau-ARGUS", "--time-limit", "5"]
    assert run_command([*command, "--out", str(tmp_path / "out")], app) == 0
    said = capsys.readouterr().out
    assert "left out: sdcTable OPT: R has no package sdcTable" in said
    assert "left out: tau-ARGUS MOD: no tau-ARGUS on this machine" in said
    assert {run["contestant"] for run in RunFile(tmp_path / "out" / RUNS).runs} == {"hypercube"}
    absent = Standings.of_folder(tmp_path / "out").about["absent"]
    assert set(absent) == {one.name for one in CONTESTANTS if one.program in ("sdcTable", "tau-ARGUS")}


@needs_r
def test_r_can_parse_the_scripts() -> None:
    for script in SCRIPTS.glob("*.R"):
        question = f"invisible(parse({json.dumps(str(script))}))"
        subprocess.run(["Rscript", "--vanilla", "-e", question], check=True, capture_output=True)


STUBS = {
    "sdcTable": """
makeProblem <- function(data, dimList, freqVarInd) {
  stopifnot(names(dimList) == c("d1", "d2"), freqVarInd == "cellvalue", is.numeric(data[["cellvalue"]]))
  for (tree in dimList) stopifnot(tree[["levels"]][1] == "@", all(nchar(tree[["levels"]][-1]) > 1))
  stopifnot(all(data[["d1"]] %in% dimList[["d1"]][["codes"]]), !"Total" %in% data[["d1"]])
  codes <- lapply(dimList, function(tree) tree[["codes"]])
  cells <- expand.grid(c(codes, stringsAsFactors = FALSE))
  cells[["strID"]] <- sprintf("%04d", seq_len(nrow(cells)))
  cells[["sdcStatus"]] <- "s"
  list(cells = cells, LPL = rep(1, nrow(cells)), UPL = rep(1, nrow(cells)), SPL = rep(0, nrow(cells)))
}
sdcProb2df <- function(obj, addDups, addNumVars, dimCodes) {
  stopifnot(dimCodes == "original")
  obj[["cells"]]
}
setInfo <- function(object, type, index, input) {
  stopifnot(length(index) == length(input), type %in% c("sdcStatus", "LPL", "UPL", "SPL"))
  if (type == "sdcStatus") object[["cells"]][[type]][index] <- input else object[[type]][index] <- input
  object
}
protectTable <- function(object, method, ...) {
  if (method == "GAUSS") stop("no way to protect this")
  primary <- object[["cells"]][["sdcStatus"]] == "u"
  stopifnot(any(primary), all(object[["UPL"]][primary] >= 1), max(object[["UPL"]]) > 1)
  if (method == "OPT") stopifnot(list(...)[["useC"]], list(...)[["timeLimit"]] == 1)
  object[["cells"]][["sdcStatus"]][!primary] <- "x"
  object
}
getInfo <- function(object, type) {
  if (type == "strID") object[["cells"]][["strID"]] else object[["cells"]][c("d1", "d2", "sdcStatus")]
}
""",
    "GaussSuppression": """
GaussSuppressionFromData <- function(data, hierarchies, freqVar, numVar, primary, candidates, singleton,
                                     singletonMethod, protectZeros, secondaryZeros, preAggregate, removeEmpty,
                                     printInc, forced = NULL, lpPackage = NULL) {
  stopifnot(is.null(singleton), singletonMethod == "none", removeEmpty, names(hierarchies) == c("d1", "d2"))
  paths <- function(codes, tree) {
    depth <- nchar(tree[["levels"]])
    lapply(codes, function(code) {
      place <- match(code, tree[["codes"]])
      found <- integer(0)
      while (!is.na(place)) {
        found <- c(found, place)
        above <- which(depth < depth[place] & seq_along(depth) < place)
        place <- if (length(above)) max(above) else NA
      }
      tree[["codes"]][found]
    })
  }
  up <- lapply(c(d1 = "d1", d2 = "d2"), function(name) paths(data[[name]], hierarchies[[name]]))
  crossed <- function(a, b) expand.grid(d1 = a, d2 = b, stringsAsFactors = FALSE)
  cells <- unique(do.call(rbind, Map(crossed, up[["d1"]], up[["d2"]])))
  found <- primary(crossTable = cells, freq = 1)
  if (is.null(lpPackage)) {
    stopifnot(is.logical(found))
  } else {
    limits <- found[[2]]
    found <- found[[1]]
    stopifnot(all(limits[["upmin_cellvalue"]][found] > limits[["lomax_cellvalue"]][found]))
  }
  order_of <- candidates(crossTable = cells, freq = 1)
  stopifnot(setequal(order_of, seq_len(nrow(cells))), cells[order_of[1], ] == c("Total", "Total"))
  cbind(cells, primary = found, suppressed = found | seq_along(found) > 1)
}
""",
    "highs": "nothing <- function() NULL\n",
}
"""Packages with the functions that the scripts call: they look at what they are given and hide everything."""


@needs_r
@pytest.mark.slow
@pytest.mark.parametrize(
    ("contestant", "ending"),
    [
        ("sdcTable OPT", "safe"),
        ("sdcTable HITAS", "safe"),
        ("sdcTable GAUSS", "no pattern"),
        ("GaussSuppression exact", "safe"),
        ("GaussSuppression intervals", "safe"),
    ],
)
def test_scripts_run_in_r_on_packages_that_check_what_they_get(
    contestant: str, ending: str, r_library: Path, quick: list[list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    command = ["run", "--tables", "24Hx21 s1", "--methods", contestant, "--time-limit", "60", "--quiet"]
    assert run_command([*command, "--out", str(out)], app) == 0
    (run,) = RunFile(out / RUNS).runs
    assert kind_of(run) == ending, run
    if ending == "safe":
        assert run["seconds"] >= 0 and run["hidden"] >= run["secondaries"] > 0
    else:
        assert "no way to protect this" in run["why"] or "exit code 1" in run["why"]


@needs_r
@pytest.mark.slow
def test_scripts_refuse_tables_without_trees(r_library: Path, quick: list[list[str]], tmp_path: Path) -> None:
    command = ["run", "--tables", "4 linked, 500 s1", "--methods", "sdcTable HITAS", "--quiet"]
    assert run_command([*command, "--out", str(tmp_path / "out")], app) == 0
    (run,) = RunFile(tmp_path / "out" / RUNS).runs
    assert (run["state"], run["why"]) == ("refused", "the table has equations beyond its hierarchies")


@pytest.fixture(scope="session")
def stub_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stubs, installed."""
    root = tmp_path_factory.mktemp("r")
    library = root / "library"
    library.mkdir()
    for name, code in STUBS.items():
        (root / name / "R").mkdir(parents=True)
        (root / name / "R" / "all.R").write_text(code)
        (root / name / "NAMESPACE").write_text('exportPattern("^[A-Za-z]")\n')
        fields = {"Package": name, "Version": "0.0.1", "Title": "Stub", "Description": "Stub."}
        fields |= {"Author": "nobody", "Maintainer": "nobody <n@example.org>", "License": "MIT"}
        text = "".join(f"{key}: {value}\n" for key, value in fields.items())
        (root / name / "DESCRIPTION").write_text(text)
    install = ["R", "CMD", "INSTALL", "--no-docs", "--no-test-load", "-l", str(library)]
    subprocess.run([*install, *(str(root / name) for name in STUBS)], check=True, capture_output=True)
    return library


@pytest.fixture
def r_library(stub_library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("R_LIBS", str(stub_library))
    monkeypatch.delenv("CELLVEIL_RSCRIPT", raising=False)
    package_version.cache_clear()
    return stub_library


@pytest.mark.parametrize(
    "method",
    [pytest.param(name, marks=[] if name == "OPT" else [pytest.mark.slow]) for name in argus_run.SUPPRESS],
)
def test_the_batch_for_tau_argus_runs_here_too(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is run by cellveil's own interpreter of such files, in this process."""

    def run_here(command: Sequence[str], cwd: Path, check: bool) -> subprocess.CompletedProcess[bytes]:
        assert command[0] == "TauArgus.exe"
        monkeypatch.chdir(cwd)
        run_batch(command[1], log=command[2])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(argus_run.subprocess, "run", run_here)
    problem = random_table((7, 5), hierarchical=[0], seed=3)
    write_instance(problem, tmp_path / "table")
    assignment = Assignment(tmp_path / "table", tmp_path, 10.0, 1, False)
    figures = argus_run.run(assignment, method, "TauArgus.exe")
    assert figures.seconds is not None and not figures.refused
    verdict = judging.judge(tmp_path / "table", tmp_path / PATTERN, tmp_path, 60.0)
    assert verdict["safe"] and verdict["cost"] > 0
    if method == "OPT":
        assert verdict["cost"] == suppress(problem, "optimal").cost


def test_a_batch_that_fails_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: Sequence[str], cwd: Path, check: bool) -> subprocess.CompletedProcess[bytes]:
        (cwd / "log.txt").write_text("Error in batch file\nno solver")
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(argus_run.subprocess, "run", fail)
    write_instance(random_table((6, 5), seed=1), tmp_path / "table")
    with pytest.raises(SystemExit, match="exit code 1; Error in batch file no solver"):
        argus_run.run(Assignment(tmp_path / "table", tmp_path, 10.0, 1, False), "MOD", "TauArgus.exe")


# -- judges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_second_opinion_agrees_with_the_audit(seed: int, tmp_path: Path) -> None:
    sizes: Sequence[int] = (6, 5) if seed % 2 else (4, 4, 3)
    problem = random_table(sizes, seed=seed)
    write_instance(problem, tmp_path / "t.jj")
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.3, 0.6, 1.0):
        hidden = problem.hidden_at_start | (rng.random(problem.table.num_cells) < share)
        pattern = Pattern.hiding(problem, hidden, "at random")
        judged = audit(problem, pattern, attackers="outsider")
        second = judge_again(tmp_path / "t.jj", np.flatnonzero(hidden).tolist())
        assert second.is_safe == judged.is_safe and second.short == len(judged.unsafe_cells)
        exact = np.isclose(judged.outsider.lower, judged.outsider.upper)
        assert second.disclosed == exact.sum()


def test_the_second_opinion_sees_published_primaries_and_sliding_levels(tmp_path: Path) -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    corners = [problem.table.cell(f"r{row}", f"c{column}") for row in (0, 1) for column in (0, 1)]
    write_instance(problem, tmp_path / "t.jj")
    assert judge_again(tmp_path / "t.jj", corners) == SecondOpinion(0, 0)
    assert judge_again(tmp_path / "t.jj", corners[1:]) == SecondOpinion(1, 1)
    reach = 8 + 19  # down by 8 with its neighbour in the column, up by 19 with the cell across
    spl = np.where(np.arange(9) == corners[0], reach, 0)
    for more, is_safe in ((0, True), (1, False)):
        sliding = problem.replace(spl=np.where(spl, spl + more, 0))
        write_instance(sliding, tmp_path / "s.jj")
        assert judge_again(tmp_path / "s.jj", corners).is_safe == is_safe


def test_judges_that_disagree_mean_not_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table((6, 5), seed=1)
    write_instance(problem, tmp_path / "table")
    write_pattern(problem, suppress(problem).pattern, tmp_path / PATTERN)
    given = (tmp_path / "table", tmp_path / PATTERN, tmp_path, 60.0)
    assert judging.judge(*given)["safe"]
    second = "experiments.comparison.second_opinion.judge_again"
    monkeypatch.setattr(second, lambda path, hidden: SecondOpinion(1, 0))
    verdict = judging.judge(*given)
    assert verdict["audited"] and verdict["second"] is False and not verdict["safe"]


def test_figures_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    assert RunFigures.read(tmp_path) is None
    for text in ("", "[]", '{"seconds": "soon"}', '{"seconds": 1'):
        (tmp_path / "figures.json").write_text(text)
        assert RunFigures.read(tmp_path) is None
    RunFigures(1.5, None, "", "complete").write(tmp_path)
    assert RunFigures.read(tmp_path) == RunFigures(1.5, None, "", "complete")


# -- standings and the page ----------------------------------------------------------------------------------


def a_run(table: str, contestant: str, cost: float | None, *, safe: bool = True, **more: Any) -> Run:
    run: Run = {"table": table, "contestant": contestant, "seed": 1, "state": "pattern", "why": ""}
    run |= {"cpu": 1.0, "wall": 2.0, "megabytes": 100, "load": 1.0}
    if cost is None:
        return run | {"state": "refused", "why": "two-way tables only"}
    return run | {"cost": cost, "safe": safe, "hidden": 5, "bound": None, "seconds": 0.5} | more


def standings_of(*given: Run) -> Standings:
    names = dict.fromkeys(run["table"] for run in given)
    tables = [
        {"table": name, "family": name[0], "set": "tiny", "what": "", "cells": 9, "relations": 6}
        | {"primaries": 1, "digest": "x"}
        for name in names
    ]
    about: dict[str, Any] = {"setting": {"counts_cpu": False, "limit": 5.0, "seeds": [1]}}
    return Standings(tables, given, about)


def test_standings_count_safe_patterns_only() -> None:
    found = standings_of(
        a_run("a1", "good", 10.0, bound=8.0),
        a_run("a1", "poor", 40.0),
        a_run("a1", "cheat", 1.0, safe=False),
        a_run("b1", "good", 0.0),
        a_run("b1", "poor", 0.0),
        a_run("b1", "cheat", None),
    )
    assert found.cheapest == {"a1": 10.0, "b1": 0.0} and found.bounds == {"a1": 8.0}
    assert [found.share_within(name, 1.0) for name in ("good", "poor", "cheat")] == [1.0, 0.5, 0.0]
    assert found.contestants == ["good", "poor", "cheat"]
    assert found.mean_ratio("poor") == pytest.approx(2.0) and found.mean_ratio("cheat") is None
    assert found.mean_ratio("poor", "a") == pytest.approx(4.0)
    assert found.gap(found.runs[0]) == pytest.approx(0.2) and found.gap(found.runs[2]) is None
    assert profile_of(found, "poor") == [(1, 0), (1, 0), (1, 50), (3, 50)], "a ratio of 4 is beyond"
    assert found.counts("cheat") == {"safe": 0, "not safe": 1, "no pattern": 1}


def test_a_bound_above_a_safe_cost_stops_everything(tmp_path: Path) -> None:
    wrong = standings_of(a_run("a1", "good", 10.0), a_run("a1", "other", 12.0, bound=10.5))
    with pytest.raises(InputError, match="A bound or a verdict is wrong"):
        write_results(wrong, tmp_path)
    assert not list(tmp_path.iterdir())
    fine = standings_of(a_run("a1", "good", 10.0, safe=False), a_run("a1", "other", 12.0, bound=10.5))
    assert fine.bounds == {"a1": 10.5}, "an unsafe pattern may cost less"


def test_what_is_kept_gives_the_same_page(tmp_path: Path) -> None:
    runs_of = (a_run("a1", "good", 10.0, bound=8.0), a_run("a1", "cheat", None))
    found = standings_of(*({**run, "version": "1"} for run in runs_of))
    found.keep(tmp_path / "1.0.json")
    again = Standings.of_file(tmp_path / "1.0.json")
    assert again.contestants == found.contestants and again.bounds == found.bounds
    for standings, folder in ((found, "a"), (again, "b")):
        write_results(standings, tmp_path / folder)
    for name in ("overall.csv", "families.csv", "comparison-safe.svg"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()


def test_versions_are_in_order(tmp_path: Path) -> None:
    (tmp_path / "comparison").mkdir()
    for version in ("0.2.0", "0.10.0", "0.9.1"):
        (tmp_path / "comparison" / f"{version}.json").write_text("{}")
    assert [path.stem for path in page.kept_files(tmp_path)] == ["0.10.0", "0.9.1", "0.2.0"]


def test_the_page_is_made_from_what_is_kept() -> None:
    for path, text in page.files().items():
        assert path.read_text("utf-8") == text, "run: python -m experiments.comparison page"
    assert all(
        (page.DOCS / page.KEPT_FOLDER / path.name).stat().st_size < 200_000 for path in page.kept_files()
    )


def test_what_is_kept_holds_no_folder() -> None:
    for path in page.kept_files():
        text = path.read_text("utf-8")
        assert "/home" not in text and "/root" not in text and os.sep + "tmp" not in text
