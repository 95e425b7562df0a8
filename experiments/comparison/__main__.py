"""`python -m experiments.comparison`: suppression methods side by side on public and generated tables."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from cellveil.cli.app import run_command
from cellveil.cli.options import Quiet
from cellveil.errors import InputError
from cellveil.files import write_text
from experiments.comparison.compared_tables import chosen_tables
from experiments.comparison.contestants import CONTESTANTS, chosen_contestants
from experiments.comparison.machine import machine
from experiments.comparison.page import DOCS, KEPT_FOLDER, write_page
from experiments.comparison.results import write_results
from experiments.comparison.runs import (
    SETTINGS_FILE,
    TABLES_FILE,
    ComparisonSetting,
    Run,
    compare,
    prepared,
)
from experiments.comparison.standings import Standings

app = typer.Typer(
    name="experiments.comparison",
    help=__doc__,
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
)

Folder = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="The folder of the comparison.")]
DEFAULT = Path("comparison")


@app.command()
def who() -> None:
    """List tables and contestants, and why some of them cannot be had here."""
    for table in chosen_tables(["tiny", "small", "medium", "large"]):
        typer.echo(f"{table.set:8} {table.name:22} {table.family:13} {table.missing or table.what}")
    for one in CONTESTANTS:
        why = one.absent()
        typer.echo(f"{one.name:28} {'not here: ' + why if why else one.program + ' ' + one.version()}")


@app.command()
def run(
    context: typer.Context,
    out: Folder = DEFAULT,
    sets: Annotated[str, typer.Option(metavar="A,B,…", help="Sets: tiny, small, medium, large.")] = "small",
    tables: Annotated[str, typer.Option(metavar="A;B;…", help="Tables by name, instead of sets.")] = "",
    methods: Annotated[
        str, typer.Option(metavar="A,B,…", help="Methods or programs; all that are found by default.")
    ] = "",
    time_limit: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="For each search; peers take whole minutes.")
    ] = 60.0,
    cpu: Annotated[
        bool, typer.Option("--cpu", help="Limits count processor time of one thread: on a busy machine.")
    ] = False,
    seeds: Annotated[str, typer.Option(metavar="A,B,…", help="Seeds of the searches.")] = "1",
    grace: Annotated[
        float, typer.Option(min=0.0, metavar="SECONDS", help="Beyond the limit before a run is killed.")
    ] = 60.0,
    quiet: Quiet = False,
) -> None:
    """Run every contestant that is here on every table; go on where an earlier run was left."""
    setting = ComparisonSetting(time_limit, cpu, grace, seeds=tuple(map(_whole, _words(seeds))))
    chosen = chosen_tables(_words(sets), _words(tables, ";"))
    missing = {table.name: table.missing for table in chosen if table.missing}
    absent = {one.name: why for one in chosen_contestants(_words(methods)) if (why := one.absent())}
    for name, why in {**missing, **absent}.items():
        _say(quiet, f"left out: {name}: {why}")
    present = [table for table in chosen if not table.missing]
    taking_part = [one for one in chosen_contestants(_words(methods)) if one.name not in absent]
    if not present or not taking_part:
        raise InputError("nothing to run", remedy="See `python -m experiments.comparison who`.")
    facts = [prepared(table, out.resolve(), setting) for table in present]
    write_text(out / TABLES_FILE, json.dumps(facts, indent=1) + "\n")
    about: dict[str, Any] = {
        "setting": asdict(setting),
        "machine": machine(),
        "absent": absent,
        "missing": missing,
    }
    about["command"] = _command_of(context)
    write_text(out / SETTINGS_FILE, json.dumps(about, indent=1) + "\n")
    for done, number, of in compare(present, taking_part, setting, out):
        _say(quiet, f"{number:4}/{of} {_line(done)}")
    report(out, quiet)


@app.command()
def report(out: Folder = DEFAULT, quiet: Quiet = False) -> None:
    """Write tables and plots of the runs so far into their folder."""
    for path in write_results(Standings.of_folder(out), out):
        _say(quiet, f"written: {path}")


@app.command()
def keep(
    out: Folder = DEFAULT,
    docs: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the docs.")] = DOCS,
    quiet: Quiet = False,
) -> None:
    """Keep the runs as the results of this version, and write the page of the docs anew."""
    standings = Standings.of_folder(out)
    version = standings.about["machine"]["packages"]["cellveil"]
    standings.keep(docs / KEPT_FOLDER / f"{version}.json")
    page(docs, quiet)


@app.command()
def page(
    docs: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder of the docs.")] = DOCS,
    quiet: Quiet = False,
) -> None:
    """Write the page of the docs from the results that are kept, by version."""
    for path in write_page(docs):
        _say(quiet, f"written: {path}")


def _line(done: Run) -> str:
    """One run for a person who waits."""
    name = f"{done['table']:22} {done['contestant']:22} {done['seed']}"
    if done["state"] != "pattern":
        return f"{name} {done['state']}: {done['why'][:90]}"
    verdict = "safe" if done["safe"] else "NOT SAFE"
    seconds = "?" if done["seconds"] is None else f"{done['seconds']:.1f}"
    return f"{name} {verdict:8} cost {done['cost']:,.10g}, {done['hidden']} hidden, {seconds} s"


def _command_of(context: typer.Context) -> str:
    """The command line for the page: where the runs were kept is nobody's business."""
    words = ["python", "-m", "experiments.comparison", "run"]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in ("out", "quiet") or value == option.default:
            continue
        words += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    return shlex.join(words)


def _words(text: str, separator: str = ",") -> list[str]:
    return [word.strip() for word in text.split(separator) if word.strip()]


def _whole(word: str) -> int:
    if not word.isdecimal():
        raise InputError(f"{word!r} is no seed", remedy="Write whole numbers with commas between them.")
    return int(word)


def _say(quiet: bool, line: str) -> None:
    if not quiet:
        typer.echo(line)


if __name__ == "__main__":
    raise SystemExit(run_command(sys.argv[1:], app))
