"""The command `compare`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cellveil.cli.options import AsJson, Quiet
from cellveil.cli.progress_view import progress
from cellveil.cli.shell import leave_interrupted, leave_with, say, write_json
from cellveil.cli.streams import fitted, width_of_output
from cellveil.errors import InfeasibleError, InputError
from cellveil.progress import Phase

if TYPE_CHECKING:
    from cellveil.report.method_comparison import Comparison

ENDS = (".html", ".svg", ".csv", ".json")


def compare(
    job_file: Annotated[Path, typer.Argument(metavar="JOB.toml", help="The job file.")],
    methods: Annotated[
        str, typer.Option(metavar="A,B,…", help="Methods, with commas between them; `cellveil methods`.")
    ] = "auto,hypercube",
    weights: Annotated[
        str,
        typer.Option(
            metavar="A,B,…", help="Weights: given (as in the job), value, one, count, log, or a cost column."
        ),
    ] = "given",
    time_limit: Annotated[
        float | None,
        typer.Option(min=0.1, metavar="SECONDS", help="Time for each search; by default that of the job."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write table and plot: .html, .svg, .csv or .json by its name."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Run several methods and weights on one job, and show them side by side; nothing is released.

    Every pattern is audited, and measured by all weights that are named: costs compare within a column. Exit
    code 0 if every pattern is safe.
    """
    from cellveil.files import write_text
    from cellveil.job import read_job
    from cellveil.job.comparing import compare_methods
    from cellveil.job.output_folder import check_writable

    if out is not None:
        if out.suffix.lower() not in ENDS:
            raise InputError(
                f"a name that ends in {out.suffix!r}", file=out, remedy=f"Use {', '.join(ENDS)}."
            )
        check_writable(out)
    job = read_job(job_file)
    if time_limit is not None:
        search = job.suppress.model_copy(update={"time_limit": time_limit})
        job = job.model_copy(update={"suppress": search})
    with progress(quiet or as_json, [Phase.READ, Phase.RULES, Phase.SEARCH, Phase.AUDIT]) as shown:
        found = compare_methods(job, _listed(methods), _listed(weights), progress=shown)
    if out is not None and found.runs:
        write_text(out, _written(found, out.suffix.lower()))
    write_json(None, as_json, found.to_dict())
    lines = [part for line in _lines(found) for part in fitted(line, width_of_output())]
    say(quiet or as_json, "\n".join([*lines, *([f"Written     {out}"] if out and found.runs else [])]))
    if found.was_interrupted:
        leave_interrupted(f"{len(found.runs)} complete runs are shown.")
    infeasible = bool(found.runs) and all(run.why_not == "infeasible" for run in found.runs)
    leave_with(InfeasibleError.exit_code if infeasible else 0 if found.is_safe else 1)


def _listed(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError("an empty list of names", remedy="Write names with commas between them.")
    return names


def _lines(found: Comparison) -> list[str]:
    """A table; on terminals too narrow for it, a few lines for each run."""
    rows = [found.head(), *found.rows()]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)]
    width = width_of_output()
    title = [found.title] if found.title else []
    if width is None or sum(widths) + 2 * len(widths) + 8 <= width:
        table = [
            "  ".join(
                text.ljust(size) if place < 2 else text.rjust(size)
                for place, (text, size) in enumerate(zip(row, widths, strict=False))
            )
            + f"  {row[-1]}"
            for row in rows
        ]
        return [*title, *table, "Costs compare within a column; * is the least."]
    lines = title
    for row in rows[1:]:
        figures = [f"{name} {text}" for name, text in zip(rows[0][2:-1], row[2:-1], strict=True) if text]
        lines = [
            *lines,
            f"{row[0]}, weights {row[1]}: {row[-1]}",
            *([f"  {', '.join(figures)}"] if figures else []),
        ]
    return lines


def _written(found: Comparison, end: str) -> str:
    from cellveil.report.comparison_page import comparison_chart, comparison_page

    if end == ".json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n"
    if end == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([found.head(), *found.rows()])
        return text.getvalue()
    return comparison_chart(found) if end == ".svg" else comparison_page(found)
