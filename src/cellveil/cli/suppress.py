"""The command `suppress`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cellveil.cli.ending import duration, listed, told, told_costly
from cellveil.cli.options import (
    AsJson,
    AttackerName,
    AttackerNames,
    ClusterAddress,
    Coalition,
    Instance,
    MethodOptions,
    P,
    Prior,
    Q,
    Quiet,
    Relax,
    RelaxedInstance,
    ReportFile,
    WhoAttacks,
    attackers_of,
)
from cellveil.cli.progress_view import progress
from cellveil.cli.several_jobs import on_cluster
from cellveil.cli.shell import check_targets, leave_interrupted, leave_with, remove, say, write_json
from cellveil.cli.streams import write_error
from cellveil.errors import InfeasibleError
from cellveil.progress import Phase

if TYPE_CHECKING:
    from cellveil.problem import Problem
    from cellveil.suppression.infeasible.relaxing import Relaxation

Weights = Literal["given", "value", "one"]
"""Where the information loss of a cell comes from."""


def suppress(
    instance: Instance,
    out: Annotated[Path, typer.Option(metavar="PATTERN.csv", help="Write the pattern to this file.")],
    method: Annotated[str, typer.Option(help="Which method; `cellveil methods` lists them.")] = "auto",
    option: MethodOptions = None,
    weights: Annotated[
        Weights,
        typer.Option(
            help="Cost of hiding a cell: as given in the instance, its value, or one for each cell."
        ),
    ] = "given",
    attacker: AttackerNames = None,
    default_attackers: Annotated[
        bool,
        typer.Option(
            "--default-attackers/--no-default-attackers",
            help="Whether every single contributor attacks, where the instance knows its contributors.",
        ),
    ] = True,
    p: P = None,
    q: Q = 100.0,
    level: WhoAttacks = "unit",
    coalition: Coalition = 1,
    prior: Prior = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Time for the search; none by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For methods that draw random numbers.")] = 0,
    seeds: Annotated[
        int,
        typer.Option(
            min=1,
            max=100,
            help="Search with so many seeds, from --seed on, and keep the cheapest certified pattern.",
        ),
    ] = 1,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Cores to use, two by default. Without a time limit the result does not depend on it."
        ),
    ] = None,
    cluster: ClusterAddress = None,
    relax: Relax = False,
    relaxed: RelaxedInstance = None,
    report: ReportFile = None,
    certificate: Annotated[
        Path | None,
        typer.Option(metavar="CERT", help="Write the proof of safety to this file."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find a pattern that protects an instance, audit it, and write it if it is safe.

    Outsiders always attack, single contributors where the instance knows something of them, and with them
    all attackers that are named.

    When no safe pattern is found, no pattern and no certificate is left: older ones are removed. Where no
    pattern can be safe, the message says what stands in the way and what would help; --relax does it.
    """
    from cellveil.attackers.default_attackers import attackers_tested
    from cellveil.certificate import write_certificate
    from cellveil.formats.instance import read_instance, write_instance
    from cellveil.formats.pattern_file import write_pattern
    from cellveil.job.output_folder import check_writable
    from cellveil.params import parse_options
    from cellveil.report import build_report
    from cellveil.report.infeasible_report import InfeasibleReport
    from cellveil.suppression import suppress as find_pattern

    began, options = perf_counter(), parse_options(option or [])
    check_targets(instance, out, report, certificate)
    if relaxed is not None:
        check_writable(relaxed)
    named = attacker or ([] if prior is None else [AttackerName.outsider])
    problem = _weighted(read_instance(instance), weights)
    asked = attackers_of(named, p, q, level, coalition, prior) if named else None
    tested = attackers_tested(problem, asked, defaults=default_attackers)
    others = tested.attackers
    try:
        phases = [Phase.SEARCH, *([Phase.OTHERS] if others else []), Phase.AUDIT]
        with on_cluster(cluster), progress(quiet or as_json, phases) as shown:
            found = find_pattern(
                problem,
                method,
                attackers=tested,
                time_limit=time_limit,
                seed=seed,
                seeds=seeds,
                workers=workers,
                relax=relax,
                options=options,
                progress=shown,
            )
    except InfeasibleError as error:
        remove(out, certificate)
        write_json(report, as_json, InfeasibleReport(problem, error, method, seed).to_dict())
        raise
    if found.relaxation is not None:
        problem = found.relaxation.problem
        _tell_relaxed(found.relaxation)
    settings: dict[str, Any] = {"instance": instance.name, "weights": weights, "time_limit": time_limit}
    settings |= {"attackers": [asdict(other) for other in others]} if others else {}
    settings |= {"seeds": seeds} if seeds > 1 else {}
    settings |= {"options": options} if options else {}
    figures = build_report(
        problem,
        found,
        found.audit,
        title=instance.name,
        parameters=settings,
        why_no_insiders=tested.why_no_insiders,
    )
    if found.is_safe:
        write_pattern(problem, found.pattern, out)
        if relaxed is not None:
            write_instance(problem, relaxed)
        if certificate is not None:
            write_certificate(found.certificate, certificate)
    else:
        remove(out, certificate)
    write_json(report, as_json, figures.to_dict())
    ending = [
        *told(figures),
        *told_costly(figures, ""),
        "",
        *listed([("Time", duration(perf_counter() - began))]),
    ]
    ending += listed([("Pattern", out)]) if found.is_safe else ["Not shown safe: no pattern was written."]
    say(quiet or as_json, "\n".join(ending))
    if found.was_interrupted:
        leave_interrupted("the best certified pattern was kept." if found.is_safe else "no pattern was kept.")
    leave_with(0 if found.is_safe else 1)


def _weighted(problem: Problem, weights: Weights) -> Problem:
    from cellveil.rules.weights import weights as weights_of

    if weights == "given":
        return problem
    return problem.replace(weight=weights_of(problem.table, weights))


def _tell_relaxed(relaxation: Relaxation) -> None:
    """On standard error, also where nothing else is printed: the pattern is not for what was asked."""
    lines = [f"cellveil: the requirements could not be met and were relaxed: {relaxation}."]
    write_error("\n".join([*lines, *relaxation.lines()]))
