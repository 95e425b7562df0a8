"""A programme of jobs: checked together, run side by side, written one by one, with one overview."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellveil as cv
from cellveil.certificate.certificate import Certificate, pattern_hash
from cellveil.clock import Deadline
from cellveil.errors import InputError, WorkerError
from cellveil.job import finding, past, programme, rejudging
from cellveil.job.finding import Finding
from cellveil.job.ready_job import ReadyJob
from cellveil.judge import Audit, Verdict
from cellveil.pattern import Pattern
from cellveil.previous.together import JointAudit
from cellveil.public_view import PublicView
from cellveil.report.programme_overview import Overview, OverviewLine
from cellveil.tasks import InProcess, cluster, using_pool
from cellveil.tasks.local_processes import LocalProcesses
from helpers.command import Command
from helpers.dask_workers import DaskWorkers

FIRMS = [
    ("N", "food", [90, 3]), ("N", "wood", [20, 25, 30]), ("S", "food", [40, 35, 30]),
    ("S", "wood", [50, 45, 20]), ("W", "food", [20, 15, 25]), ("W", "wood", [30, 35, 20]),
]  # fmt: skip


LARGE = [
    ("N", "food", [900, 3]), ("N", "wood", [58, 43, 31]), ("S", "food", [38, 60, 46]),
    ("S", "wood", [45, 42, 59]), ("W", "food", [55, 56, 39]), ("W", "wood", [60, 45, 41]),
]  # fmt: skip
"""Whoever has much of what is hidden beside the largest firm leaves it too little room."""


def job_file(
    folder: Path, name: str, more: str = "", response: str = "sales", output: str = "", firms: Any = FIRMS
) -> Path:
    lines = [f"{region},{branch},{amount}" for region, branch, amounts in firms for amount in amounts]
    text = "\n".join(["firm,region,branch,sales", *(f"f{k},{line}" for k, line in enumerate(lines))])
    (folder / "firms.csv").write_text(text + "\n")
    path = folder / f"{name}.toml"
    path.write_text(
        f'title = "Sales {name}"\noutput = "{output or name}"\nattackers = []\n'
        '[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n'
        f'[[tables]]\ndimensions = ["region", "branch"]\nresponse = "{response}"\n'
        f'[[rules]]\nrule = "p%"\np = 10\n{more}'
    )
    return path


INFEASIBLE = "".join(
    f'[[cells]]\nkey = {{{key}}}\nstatus = "z"\n' for key in ('region = "N"', 'region = "N", branch = "wood"')
)
"""Nothing that could be hidden beside the unsafe cell is left in its row."""


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    return [job_file(tmp_path, "a"), job_file(tmp_path, "b", INFEASIBLE), job_file(tmp_path, "c")]


def public_files(folder: Path) -> dict[str, bytes]:
    found = {file.name: file.read_bytes() for file in (folder / "public").iterdir() if file.suffix == ".csv"}
    assert found
    return found


def test_each_job_comes_to_what_it_comes_to_alone(three: list[Path], tmp_path: Path) -> None:
    alone = job_file(tmp_path, "alone")
    cv.run_job(alone)
    found = cv.run_jobs(three, tmp_path / "overview", workers=1)
    assert [line.state for line in found.lines] == ["safe", "infeasible", "safe"]
    assert found.exit_code == 3 and "2 of 3 jobs" in found.verdict and "1 INFEASIBLE" in found.verdict
    expected = public_files(tmp_path / "alone")
    certificate = (tmp_path / "alone" / "internal" / "certificate").read_bytes()
    for name in ("a", "c"):
        assert public_files(tmp_path / name) == expected
        assert (tmp_path / name / "internal" / "certificate").read_bytes() == certificate
    assert not (tmp_path / "b" / "public").exists()
    assert (tmp_path / "b" / "internal" / "report.html").exists()


def test_the_overview_has_verdicts_links_and_reasons_and_no_value(three: list[Path], tmp_path: Path) -> None:
    cv.run_jobs(three, tmp_path / "over view", workers=1)
    page = (tmp_path / "over view" / "overview.html").read_text("utf-8")
    figures = json.loads((tmp_path / "over view" / "overview.json").read_text("utf-8"))
    assert [job["exit_code"] for job in figures["jobs"]] == [0, 3, 0] and not figures["safe"]
    for job in figures["jobs"]:
        assert (tmp_path / "over view" / job["report"]).exists() and job["report"] in page
        assert job["title"] in page
    assert "no pattern can protect" in page and "Internal" in page and "://" not in page
    assert not {"93", "90"} & set(page.replace(">", " ").replace("<", " ").split())


def test_bad_input_of_any_job_stops_all_before_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [job_file(tmp_path, "good"), job_file(tmp_path, "bad", response="salse")]
    wrong = job_file(tmp_path, "wrong", "minimum = 3\n")
    monkeypatch.setattr(programme, "find", lambda *_: pytest.fail("a search began"))
    with pytest.raises(InputError, match=r"bad\.toml: .*salse"):
        cv.run_jobs(jobs, workers=1)
    with pytest.raises(InputError, match=r"wrong\.toml, line \d+"):
        cv.run_jobs([jobs[0], wrong], workers=1)
    with pytest.raises(InputError, match=r"(?s)2 of the jobs.*wrong\.toml.*absent\.toml"):
        cv.run_jobs([wrong, tmp_path / "absent.toml"], workers=1)
    assert not (tmp_path / "good").exists() and not (tmp_path / "bad").exists()


@pytest.mark.parametrize("other", ["same", "./x/../same", "same/public/inner"])
def test_two_jobs_with_one_output_are_refused(tmp_path: Path, other: str) -> None:
    jobs = [job_file(tmp_path, "a", output="same"), job_file(tmp_path, "b", output=other)]
    with pytest.raises(InputError, match="Each job needs an output folder of its own"):
        cv.run_jobs(jobs, workers=1)


def test_an_overview_in_a_public_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="made to be published"):
        cv.run_jobs([job_file(tmp_path, "a")], tmp_path / "a" / "public" / "overview", workers=1)


def test_no_jobs_and_wrong_kinds_are_refused() -> None:
    for wrong in ([], "job.toml", [3]):
        with pytest.raises(InputError):
            cv.run_jobs(wrong)  # type: ignore[arg-type]


def test_a_fault_in_one_job_does_not_stop_the_others(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = finding.find

    def faulty(ready: object, *given: object) -> object:
        if ready.job.title == "Sales a":  # type: ignore[attr-defined]
            raise ValueError("secret 93")
        return whole(ready, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(programme, "find", faulty)
    found = cv.run_jobs(three, workers=1)
    assert [line.state for line in found.lines] == ["failed", "infeasible", "safe"]
    assert "ValueError" in found.lines[0].verdict and "93" not in found.lines[0].verdict


def test_what_comes_back_without_a_proof_is_not_released(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that calls a pattern safe is not believed: the verifier of this program decides."""

    def nothing_shown(audit: Audit) -> Certificate:
        return Certificate.of(audit.problem.content_hash, pattern_hash(audit.view.hidden), [], "outsider")

    monkeypatch.setattr(Audit, "certificate", property(nothing_shown))
    overview = cv.run_jobs(three[:1], workers=1)
    assert overview.lines[0].state == "failed" and "does not prove" in json.dumps(overview.to_dict())
    assert not (cv.read_job(three[0]).output / "public").exists()


def test_what_comes_back_about_another_problem_is_not_released(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that proves a pattern for levels that are not the job's has proven nothing."""
    whole = finding.find

    def of_another(ready: ReadyJob, *given: Any) -> Finding:
        problem = ready.past.problem
        easier = problem.replace(upl=np.minimum(problem.upl, 1), lpl=np.minimum(problem.lpl, 1))
        return whole(replace(ready, past=replace(ready.past, problem=easier)), *given)

    monkeypatch.setattr(programme, "find", of_another)
    overview = cv.run_jobs(three[:1], workers=1)
    assert overview.lines[0].state == "failed" and "does not prove" in overview.lines[0].verdict
    assert not (cv.read_job(three[0]).output / "public").exists()


def lying(monkeypatch: pytest.MonkeyPatch, lie: Callable[[Finding], Finding]) -> None:
    """Have what workers find changed before it comes back."""
    whole = finding.find
    monkeypatch.setattr(programme, "find", lambda *given: lie(whole(*given)))


def insiders_asked(folder: Path) -> Path:
    path = job_file(folder, "kept", firms=LARGE)
    path.write_text(path.read_text().replace("attackers = []", 'attackers = [{kind = "insider"}]'))
    return path


@pytest.mark.parametrize("lie", ["forgotten", "word alone", "of others"])
def test_whoever_the_job_names_is_asked_here_where_nothing_proves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lie: str
) -> None:
    """A worker that protects from outsiders only, and says that insiders were asked, is found out."""
    whole = finding.find
    outsiders = cv.read_job(job_file(tmp_path, "outsiders", firms=LARGE))

    def of_outsiders(ready: ReadyJob, *given: Any) -> Finding:
        found = whole(replace(ready, job=outsiders), *given)
        audit = found.judged.audit
        insider = cv.Attacker("insider")
        report = cv.audit(audit.problem, found.judged.suppression, attackers="insider").verdicts[0].report
        assert not report.is_safe, "the test needs a pattern that insiders see through"
        report = replace(report, safe=np.ones_like(report.safe), uncertified="believe me")
        verdicts = {
            "forgotten": audit.verdicts,
            "word alone": (*audit.verdicts, Verdict(insider, audit.problem, report)),
            "of others": (*audit.verdicts, replace(audit.verdicts[0], attacker=insider, report=report)),
        }[lie]
        return replace(found, judged=replace(found.judged, audit=replace(audit, verdicts=verdicts)))

    monkeypatch.setattr(programme, "find", of_outsiders)
    overview = cv.run_jobs([insiders_asked(tmp_path)], workers=1)
    assert overview.lines[0].state == ("failed" if lie == "of others" else "not_safe")
    assert not (tmp_path / "kept" / "public").exists()


@pytest.mark.parametrize(
    "attacker",
    [
        'kind = "insider", coalition = 2',
        'kind = "pq", p = 10, q = 60',
        'kind = "integer"',
        'kind = "outsider", prior = 60',
    ],
)
def test_the_verdict_is_that_of_the_job_alone(tmp_path: Path, attacker: str) -> None:
    path = job_file(tmp_path, "kept")
    path.write_text(path.read_text().replace("attackers = []", f"attackers = [{{{attacker}}}]"))
    alone = cv.run_job(path)
    line = cv.run_jobs([path], workers=1).lines[0]
    assert line.verdict == alone.report.verdict and line.state == ("safe" if alone.is_safe else "not_safe")


def test_insiders_without_a_certificate_are_asked_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A verdict that rests on an audit alone is made here, and may be a good one."""

    def unproven(found: Finding) -> Finding:
        first, other = found.judged.audit.verdicts
        report = replace(other.report, uncertified="no list")  # type: ignore[call-arg]
        verdicts = (first, Verdict(other.attacker, other.known, report))
        return replace(
            found, judged=replace(found.judged, audit=replace(found.judged.audit, verdicts=verdicts))
        )

    lying(monkeypatch, unproven)
    asked: list[Any] = []
    whole = rejudging.audit
    monkeypatch.setattr(
        rejudging, "audit", lambda *given, **o: asked.append(o["attackers"]) or whole(*given, **o)
    )
    overview = cv.run_jobs([insiders_asked(tmp_path)], workers=1)
    assert overview.lines[0].state == "safe" and "every single contributor" in overview.lines[0].verdict
    assert asked == [cv.Attacker("insider")]


ADJUSTED = "[adjust]\npublish = true\n"


def test_an_adjusted_table_that_comes_back_is_judged_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that hands over the true values, with the verdict on adjusted ones, is found out."""

    def true_values(found: Finding) -> Finding:
        assert found.adjusted is not None and found.adjusted.is_safe
        return replace(
            found, adjusted=replace(found.adjusted, values=found.judged.problem.table.values.copy())
        )

    path = job_file(tmp_path, "moved", ADJUSTED)
    good = cv.run_jobs([path], workers=1)
    assert good.lines[0].state == "safe" and public_files(tmp_path / "moved")
    lying(monkeypatch, true_values)
    overview = cv.run_jobs([path], workers=1)
    assert overview.lines[0].state == "failed" and "does not keep what is asked" in overview.lines[0].verdict


@pytest.mark.parametrize("where", ["judged", "instead"])
def test_a_verdict_on_something_else_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The audit of a harmless table, handed over with a pattern or in its place, releases nothing."""

    def bare(found: Finding) -> Finding:
        problem = found.judged.problem
        nothing = Pattern.hiding(problem, problem.status < 0, "nothing")
        harmless = Audit(problem, PublicView.of(problem, nothing), adjusted=moved.adjusted.audit.adjusted)  # type: ignore[union-attr]
        if where == "instead":
            return replace(found, instead=harmless)
        run = replace(found.judged.suppression, pattern=nothing)
        return replace(found, judged=replace(found.judged, suppression=run, audit=harmless))

    kept: list[Finding] = []
    lying(monkeypatch, lambda found: kept.append(found) or found)  # type: ignore[func-returns-value]
    cv.run_jobs([job_file(tmp_path, "moved", ADJUSTED)], workers=1)
    moved = kept[0]
    monkeypatch.undo()
    lying(monkeypatch, bare)
    overview = cv.run_jobs([job_file(tmp_path, "a")], workers=1)
    expected = public_files(tmp_path / "a") if where == "instead" else None
    if where == "judged":
        assert overview.lines[0].state == "failed" and not (tmp_path / "a" / "public").exists()
    else:
        monkeypatch.undo()
        cv.run_jobs([job_file(tmp_path, "b")], workers=1)
        assert public_files(tmp_path / "b") == expected


def test_what_is_no_pattern_of_the_table_is_refused(
    three: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shorter(found: Finding) -> Finding:
        run = found.judged.suppression
        cut = Pattern(run.pattern.status[:-1], run.pattern.method)
        return replace(found, judged=replace(found.judged, suppression=replace(run, pattern=cut)))

    lying(monkeypatch, shorter)
    overview = cv.run_jobs([three[0], three[2]], workers=1)
    assert {line.state for line in overview.lines} == {"failed"}
    assert "no pattern of the table" in overview.lines[0].verdict


def test_statuses_of_another_pattern_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hidden was proven; statuses that say otherwise count for nothing."""

    def bare(found: Finding) -> Finding:
        run, problem = found.judged.suppression, found.judged.problem
        pattern = Pattern(problem.status, run.pattern.method)
        pattern.__dict__["hidden"] = run.pattern.hidden
        return replace(found, judged=replace(found.judged, suppression=replace(run, pattern=pattern)))

    cv.run_jobs([job_file(tmp_path, "a")], workers=1)
    lying(monkeypatch, bare)
    overview = cv.run_jobs([job_file(tmp_path, "b")], workers=1)
    assert overview.lines[0].state == "safe"
    first, second = (tmp_path / job / "internal" / "pattern.csv" for job in "ab")
    assert first.read_bytes() == second.read_bytes()
    assert public_files(tmp_path / "a") == public_files(tmp_path / "b")


def test_a_verdict_beside_former_releases_is_made_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = job_file(tmp_path, "former")
    cv.run_job(former)
    other = job_file(tmp_path, "later", '[against]\nreleases = ["former/public"]\n')

    def unasked(found: Finding) -> Finding:
        audit = replace(found.judged.audit, together=None)
        return replace(found, judged=replace(found.judged, audit=audit))

    lying(monkeypatch, unasked)
    overview = cv.run_jobs([other], workers=1)
    assert "also beside" in overview.lines[0].verdict


def three_margins(folder: Path) -> Path:
    """Tables of all pairs of three columns: their combinations are audited with them."""
    path = job_file(folder, "margins", "[suppress]\ntime_limit = 600\n")
    firms = (folder / "firms.csv").read_text().splitlines()
    lines = [f"{line},{'size' if k == 0 else 'sl'[k % 2]}" for k, line in enumerate(firms)]
    (folder / "firms.csv").write_text("\n".join(lines) + "\n")
    one = '[[tables]]\ndimensions = ["region", "branch"]\nresponse = "sales"\n'
    pairs = [one, one.replace("branch", "size"), one.replace("region", "size")]
    path.write_text(path.read_text().replace(one, "".join(pairs)))
    return path


@pytest.mark.parametrize("is_refuted", [False, True])
def test_linked_tables_have_the_time_that_a_job_by_itself_gives_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_refuted: bool
) -> None:
    """What is not settled in time is no finding, unless the worker refuted it."""
    limits, whole = [], past.audit_jointly

    def out_of_time(*given: Any, deadline: Deadline, **more: Any) -> JointAudit:
        limits.append(deadline.limit)
        return replace(whole(*given, deadline=deadline, **more), unsettled=3)

    def refuted(found: Finding) -> Finding:
        together = found.judged.audit.together
        assert isinstance(together, JointAudit)
        audit = replace(found.judged.audit, together=replace(together, known=(0,) if is_refuted else ()))
        return replace(found, judged=replace(found.judged, audit=audit))

    monkeypatch.setattr(past, "audit_jointly", out_of_time)
    lying(monkeypatch, refuted)
    line = cv.run_jobs([three_margins(tmp_path)], workers=1).lines[0]
    assert limits == [300] and line.state == ("not_safe" if is_refuted else "safe")


def test_an_interrupt_keeps_what_is_complete(three: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    whole, calls = finding.find, []

    def interrupted(*given: object) -> object:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(programme, "find", interrupted)
    found = cv.run_jobs(three, workers=1)
    assert [line.state for line in found.lines] == ["safe", "interrupted", "interrupted"]
    assert found.exit_code == 130
    assert (three[0].parent / "a" / "public").exists() and not (three[0].parent / "c" / "public").exists()


@pytest.mark.parametrize("when", ["search", "reading"])
def test_an_interruption_leaves_later_waves_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Jobs that read the release of an earlier one are not read and run after the interruption."""
    one, other = job_file(tmp_path, "one"), job_file(tmp_path, "other")
    last = job_file(tmp_path, "last", '[against]\nreleases = ["one/public"]\n')
    whole, ready = finding.find, programme._made_ready

    def interrupted(found: ReadyJob, *given: Any) -> Finding:
        if when == "search" and found.job.title == "Sales other":
            raise KeyboardInterrupt
        return whole(found, *given)

    def read(jobs: Any, *given: Any) -> Any:
        if when == "reading" and 2 in jobs:
            raise KeyboardInterrupt
        return ready(jobs, *given)

    monkeypatch.setattr(programme, "find", interrupted)
    monkeypatch.setattr(programme, "_made_ready", read)
    found = cv.run_jobs([one, other, last], tmp_path / "overview", workers=1)
    second = "interrupted" if when == "search" else "safe"
    assert [line.state for line in found.lines] == ["safe", second, "interrupted"]
    assert [line.title for line in found.lines] == ["Sales one", "Sales other", "Sales last"]
    assert found.exit_code == 130 and not (tmp_path / "last" / "public").exists()
    assert json.loads((tmp_path / "overview" / "overview.json").read_text())["jobs"][2]["exit_code"] == 130


def test_a_pool_that_is_lost_fails_what_is_left(three: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class Lost(InProcess):
        def replies(self, work, shared, tasks, *, may_stop=False):  # type: ignore[no-untyped-def]
            yield next(iter(super().replies(work, shared, tasks)))
            raise WorkerError("the scheduler is gone")

    with using_pool(Lost()):
        found = cv.run_jobs(three)
    assert sorted(line.state for line in found.lines) == ["failed", "failed", "safe"]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("codes", "worst"), [([0, 0], 0), ([0, 1], 1), ([3, 1], 3), ([3, 2, 1], 2), ([2, 130], 130), ([], 0)]
)
def test_the_exit_code_is_the_worst(codes: list[int], worst: int) -> None:
    line = OverviewLine.interrupted("a", "")
    lines = [OverviewLine(line.job, "", line.state, code, "") for code in codes]
    assert Overview(tuple(lines)).exit_code == worst


# -- by others -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskWorkers]:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    with DaskWorkers(2, tmp_path_factory.mktemp("dask")) as started:
        yield started


@pytest.mark.slow
def test_a_programme_on_a_cluster_that_loses_a_worker(
    workers: DaskWorkers, three: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cv.run_job(job_file(tmp_path, "alone"))
    whole, killed = programme._written, []

    def killing(*given: object) -> object:
        if not killed:
            workers.kill_one()
            killed.append(True)
        return whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(programme, "_written", killing)
    with cluster(workers.address):
        found = cv.run_jobs(three, tmp_path / "overview")
    assert [line.state for line in found.lines] == ["safe", "infeasible", "safe"]
    for name in ("a", "c"):
        assert public_files(tmp_path / name) == public_files(tmp_path / "alone")
        certificate = (tmp_path / name / "internal" / "certificate").read_bytes()
        assert certificate == (tmp_path / "alone" / "internal" / "certificate").read_bytes()
    for secret in ("food", "wood", "(N,", "Sales", "firms.csv"):
        assert secret not in workers.log


@pytest.mark.slow
def test_a_programme_in_processes(three: list[Path], tmp_path: Path) -> None:
    with using_pool(LocalProcesses(2)):
        found = cv.run_jobs(three, tmp_path / "overview")
    assert [line.state for line in found.lines] == ["safe", "infeasible", "safe"]


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command_runs_several_jobs(command: Command, three: list[Path], tmp_path: Path) -> None:
    done = command("run", *three, "--workers", "1", "--overview", tmp_path / "o")
    assert done.code == 3
    assert "2 of 3 jobs shown safe and released; 1 INFEASIBLE" in done.out
    assert "overview.html" in done.out and (tmp_path / "o" / "overview.json").exists()


def test_options_of_one_job_are_refused_for_several(command: Command, three: list[Path]) -> None:
    for option in (["--out", "x"], ["--keep-best"], ["--advise"]):
        done = command("run", *three[:2], *option)
        assert done.code == 2 and "is for one job" in done.err
