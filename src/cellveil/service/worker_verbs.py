"""The verbs of a worker, each as the command of its name does it: run, check, suppress, adjust, audit …"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cellveil.clock import Deadline
from cellveil.errors import InfeasibleError
from cellveil.files import write_text
from cellveil.progress import Phase
from cellveil.service.service_errors import told_error
from cellveil.service.worker_task import WorkerTask

INTERRUPTED = 130


def run(task: WorkerTask) -> int:
    """Microdata or table in; release, report, certificate and views out."""
    from cellveil.job import run_job

    try:
        result = run_job(task.job(), keep_best=True, progress=task.progress)
    except InfeasibleError as error:
        told = told_error(error, task.folder.input.absolute())
        _write_views(task, error.report)
        task.tell_result(
            {"safe": False, "verdict": "INFEASIBLE: some cells cannot be protected", "error": told}
        )
        return error.exit_code
    _write_views(task, result.report)
    is_done = result.is_safe and result.release is not None
    task.tell_result({"safe": is_done, "verdict": result.report.verdict})
    return INTERRUPTED if result.suppression.was_interrupted else 0 if is_done else 1


def _write_views(task: WorkerTask, report: Any) -> None:
    """What the page shows: the parts of the report."""
    task.folder.view.mkdir(mode=0o700, exist_ok=True)
    files = {} if report is None else report.parts().files()
    for name, text in files.items():
        write_text(task.folder.view / name, text)


def compare(task: WorkerTask) -> int:
    """Several methods and weights on one job."""
    from cellveil.job.comparing import compare_methods
    from cellveil.report.comparison_page import comparison_page

    progress = task.progress
    progress.plan([Phase.READ, Phase.RULES, Phase.SEARCH, Phase.AUDIT])
    methods, weights = (task.options[name] for name in ("methods", "weights"))
    found = compare_methods(task.job(), methods, weights, progress=progress)
    task.write_internal("report.json", found.to_dict())
    write_text(task.folder.out / "internal" / "comparison.html", comparison_page(found))
    task.tell_result({"safe": found.is_safe, "verdict": f"{len(found.runs)} patterns compared"})
    infeasible = bool(found.runs) and all(run.why_not == "infeasible" for run in found.runs)
    if found.was_interrupted:
        return INTERRUPTED
    return InfeasibleError.exit_code if infeasible else 0 if found.is_safe else 1


def check(task: WorkerTask) -> int:
    """Everything of a job but the search."""
    from cellveil.job.checking import check_job

    found = check_job(task.job())
    task.tell_result(found.to_dict())
    return 0 if found.feasible else InfeasibleError.exit_code


def columns(task: WorkerTask) -> int:
    """What the columns of a data file seem to be."""
    from cellveil.microdata.source_options import SourceOptions
    from cellveil.service.data_limits import check_data
    from cellveil.service.recognised_columns import recognised_columns

    check_data(task.folder.input_files(), task.limits)
    given = {
        name: task.options[name] for name in ("encoding", "skip", "sheet", "query") if name in task.options
    }
    task.tell_result(recognised_columns(task.file("file"), SourceOptions(**given)))
    return 0


def dataset(task: WorkerTask) -> int:
    """Built-in data as files."""
    from cellveil.datasets import business

    business(task.options["firms"], task.options["seed"]).write(task.folder.input)
    task.tell_result({})
    return 0


def explain(task: WorkerTask) -> int:
    """One cell of the last run."""
    from cellveil.job.last_run import LastRun

    told = LastRun.of(task.job(), task.folder.job_file).explain(
        task.options["cell"], Deadline(task.options["time"])
    )
    task.tell_result(told.to_dict())
    return 0


def audit(task: WorkerTask) -> int:
    """Attack a pattern of an instance."""
    from cellveil.attackers.attacker import as_attackers
    from cellveil.judge import audit as judge
    from cellveil.report.audit_figures import audit_figures

    problem, pattern = _instance_and_pattern(task)
    progress, options = task.progress, task.options
    progress.phase(Phase.AUDIT, Deadline(options.get("time_limit")))
    named = options.get("attackers")
    attackers = as_attackers(named) if named else None
    found = judge(
        problem, pattern, attackers=attackers, time_limit=options.get("time_limit"), progress=progress
    )
    task.write_internal("report.json", audit_figures(found))
    task.tell_result({"safe": found.is_safe, "verdict": found.verdict})
    return 0 if found.is_safe else 1


def verify(task: WorkerTask) -> int:
    """Check a certificate in exact arithmetic."""
    from cellveil.certificate import read_certificate
    from cellveil.certificate import verify as proven

    problem, pattern = _instance_and_pattern(task)
    proof = proven(problem, pattern, read_certificate(task.file("certificate")))
    figures = {
        "valid": proof.is_valid,
        "faults": list(proof.faults),
        "demands": proof.demands,
        "certified_demands": proof.met,
        "against": proof.against,
        "assumes": problem.assumption,
    }
    task.write_internal("report.json", figures)
    told = (
        f"{'Valid' if proof.is_valid else 'NOT VALID'}: {proof.met} of {proof.demands} demands are proven met"
        f"{', assuming that ' if problem.assumption else ''}{problem.assumption}"
    )
    task.tell_result({"safe": proof.is_valid, "verdict": told})
    return 0 if proof.is_valid else 1


def suppress(task: WorkerTask) -> int:
    """Find a pattern for an instance."""
    from cellveil.certificate import write_certificate
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import write_pattern
    from cellveil.report import build_report
    from cellveil.suppression import suppress as find_pattern

    problem, options = read_instance(task.checked_instance()), task.options
    found = find_pattern(
        problem,
        options.get("method", "auto"),
        attackers=options.get("attackers"),
        time_limit=options.get("time_limit"),
        seed=options.get("seed", 0),
        options=options.get("options") or {},
        progress=task.progress,
    )
    report = build_report(problem, found, found.audit, title=task.options["instance"])
    internal = task.folder.out / "internal"
    task.write_internal("report.json", report.to_dict())
    if found.is_safe:
        write_pattern(problem, found.pattern, internal / "pattern.csv")
        write_certificate(found.certificate, internal / "certificate")
    task.tell_result({"safe": found.is_safe, "verdict": report.verdict})
    return INTERRUPTED if found.was_interrupted else 0 if found.is_safe else 1


def adjust(task: WorkerTask) -> int:
    """Find an adjusted table of an instance."""
    from cellveil.adjustment import adjust as find_adjustment
    from cellveil.formats.adjusted_file import write_adjusted
    from cellveil.formats.instance import read_instance
    from cellveil.report.adjustment_figures import adjusted_figures

    problem, options = read_instance(task.checked_instance()), task.options
    found = find_adjustment(
        problem,
        objective=options.get("objective", "l1"),
        time_limit=options.get("time_limit"),
        seed=options.get("seed", 0),
        options=options.get("options") or {},
        progress=task.progress,
    )
    task.write_internal("report.json", adjusted_figures(problem, found, None))
    if found.is_safe:
        write_adjusted(problem, found.values, task.folder.out / "internal" / "adjusted.csv")
    task.tell_result({"safe": found.is_safe, "verdict": "adjusted" if found.is_safe else "not shown safe"})
    return INTERRUPTED if found.was_interrupted else 0 if found.is_safe else 1


def _instance_and_pattern(task: WorkerTask) -> tuple[Any, Any]:
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import read_pattern

    problem = read_instance(task.checked_instance())
    return problem, read_pattern(task.file("pattern"), problem)


VERBS: Mapping[str, Callable[[WorkerTask], int]] = {
    verb.__name__: verb
    for verb in (run, compare, check, columns, dataset, explain, audit, verify, suppress, adjust)
}
"""What a worker can be asked."""
