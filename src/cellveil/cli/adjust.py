"""The command `adjust`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cellveil.cli.options import AsJson, Instance, MethodOptions, Quiet, ReportFile
from cellveil.cli.progress_view import progress
from cellveil.cli.shell import check_targets, leave_interrupted, leave_with, remove, say, write_json
from cellveil.clock import Deadline
from cellveil.errors import AdjustmentError, CellveilError, InfeasibleError
from cellveil.progress import Phase


def adjust(
    instance: Instance,
    out: Annotated[
        Path, typer.Option(metavar="ADJUSTED.csv", help="Write the adjusted values to this file.")
    ],
    objective: Annotated[
        Literal["l1", "value", "given", "l2"],
        typer.Option(help="Absolute changes, weighted by values, by the instance's weights, or squares."),
    ] = "l1",
    method: Annotated[
        Literal["auto", "exact", "tabu", "descent", "start"],
        typer.Option(help="How to look for the senses."),
    ] = "auto",
    start: Annotated[
        str | None,
        typer.Option(help="First senses: up, down, random, alternating-down, alternating-up, least."),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="PERCENT", help="How far cells that are not sensitive may move."),
    ] = None,
    limit_marginals: Annotated[
        float | None, typer.Option(min=0.0, metavar="PERCENT", help="The same for totals, if another.")
    ] = None,
    limit_total: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="PERCENT", help="The same for the grand total; 0 keeps it."),
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0.0, metavar="SECONDS", help="Time for the search; none by default.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="For methods that draw random numbers.")] = 0,
    option: MethodOptions = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Suppress the same instance too, and compare in the report.")
    ] = False,
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Publish every cell: move sensitive ones to or beyond their levels, the others as little as possible.

    The adjusted table adds up exactly, keeps all bounds and fixed cells, and is audited before it is written.
    When there is none, no file is left: an older one is removed.
    """
    from cellveil.adjustment import Limits
    from cellveil.adjustment import adjust as find
    from cellveil.formats.adjusted_file import write_adjusted
    from cellveil.formats.instance import read_instance
    from cellveil.params import parse_options
    from cellveil.report.adjustment_figures import adjusted_figures, infeasible_adjustment, summary

    check_targets(instance, out, report)
    problem = read_instance(instance)
    limits = Limits(
        limit,
        limit if limit_marginals is None else limit_marginals,
        limit if limit_total is None else limit_total,
    )
    options: dict[str, Any] = {"start": start, "time_limit": time_limit, "seed": seed}
    options["options"] = parse_options(option or [])
    try:
        phases = [Phase.ADJUST, *([Phase.SEARCH, Phase.AUDIT] if compare else [])]
        with progress(quiet or as_json, phases) as shown:
            shown.phase(Phase.ADJUST, Deadline(time_limit))
            found = find(problem, method, objective=objective, limits=limits, **options, progress=shown)
            other = _suppression(problem, Deadline(time_limit), seed, shown) if compare else None
    except CellveilError as error:
        remove(out)
        if isinstance(error, AdjustmentError):
            write_json(report, as_json, infeasible_adjustment(problem, method, objective, error))
        raise
    figures = adjusted_figures(problem, found, other)
    if found.is_safe:
        write_adjusted(problem, found.values, out)
    else:
        remove(out)
    write_json(report, as_json, figures)
    say(quiet or as_json, summary(figures))
    say(quiet or as_json, f"Adjusted: {out}" if found.is_safe else "Not shown safe: nothing was written.")
    if found.was_interrupted:
        leave_interrupted("the best table so far was kept." if found.is_safe else "nothing was kept.")
    leave_with(0 if found.is_safe else 1)


def _suppression(problem: Any, deadline: Deadline, seed: int, shown: Any) -> Any:
    """The same instance by suppression; None where it has no safe pattern."""
    from cellveil.suppression import suppress

    try:
        return suppress(problem, attackers=[], time_limit=deadline.left, seed=seed, progress=shown)
    except InfeasibleError:
        return None
