"""The command `audit`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cellveil.cli.options import (
    AsJson,
    AttackerName,
    AttackerNames,
    Coalition,
    P,
    Prior,
    Q,
    Quiet,
    ReportFile,
    WhoAttacks,
    attackers_of,
)
from cellveil.cli.progress_view import progress
from cellveil.cli.shell import check_targets, leave_with, say, write_json
from cellveil.clock import Deadline
from cellveil.errors import InputError, counted
from cellveil.progress import Phase

if TYPE_CHECKING:
    from cellveil.attackers.attacker import Attacker
    from cellveil.judge.published_table import PublishedTable
    from cellveil.pattern import Pattern
    from cellveil.previous.joint import JointProblem
    from cellveil.problem import Problem

PUBLISHED = "Without PATTERN.csv: a table that somebody published"
MAX_LISTED = 20
"""Unprotected cells that are printed."""


def _published(text: str, metavar: str | None = None) -> Any:
    """An option of the audit of a table that somebody published."""
    return typer.Option(help=text, metavar=metavar, rich_help_panel=PUBLISHED)


def audit(
    instance: Annotated[
        Path,
        typer.Argument(
            metavar="INSTANCE",
            help="A JJ file or a folder; without PATTERN.csv, a table that somebody published: a file, a "
            "folder whose cells.csv leaves hidden values empty, or the public folder of a release.",
        ),
    ],
    pattern: Annotated[
        Path | None,
        typer.Argument(metavar="PATTERN.csv", help="The status of each cell; u and m are hidden."),
    ] = None,
    attacker: AttackerNames = None,
    p: P = None,
    q: Q = 100.0,
    level: WhoAttacks = "unit",
    coalition: Coalition = 1,
    prior: Prior = None,
    former: Annotated[
        list[Path] | None,
        typer.Option(
            "--with",
            metavar="RELEASE",
            help="Folder of an earlier release of the same or overlapping data, also several: audit the "
            "pattern together with them. What jobs say in [against] needs a job.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0.0, metavar="SECONDS", help="Time for all attacks; what is not shown by then is not safe."
        ),
    ] = None,
    hierarchy: Annotated[
        list[str] | None,
        _published("A dimension and its .hrc or parent,child file; COLUMN alone: flat.", "COLUMN=FILE"),
    ] = None,
    value: Annotated[str, _published("Column of the values.", "COLUMN")] = "value",
    hidden: Annotated[list[str] | None, _published("A value that means hidden: empty, x, *, c, D…")] = None,
    zero: Annotated[list[str] | None, _published("A value that means nothing there, 0.")] = None,
    flag: Annotated[str | None, _published("Column of flags.", "COLUMN")] = None,
    hidden_flag: Annotated[list[str] | None, _published("A flag that means hidden.")] = None,
    zero_flag: Annotated[list[str] | None, _published("A flag that means 0.")] = None,
    lower: Annotated[str | None, _published("Known least values of hidden cells.", "COLUMN")] = None,
    upper: Annotated[str | None, _published("Known largest values of hidden cells.", "COLUMN")] = None,
    rounding: Annotated[str, _published("Values are rounded to multiples of this.", "UNIT")] = "0",
    decimal: Annotated[
        str | None, _published("Decimal mark; by default as the numbers show it.", "MARK")
    ] = None,
    thousands: Annotated[
        str | None, _published("Mark between thousands; by default as the numbers show it.", "MARK")
    ] = None,
    total: Annotated[str, _published("Code of the total of flat dimensions and .hrc files.")] = "Total",
    absent_hidden: Annotated[bool, _published("Cells without a row are hidden, not 0.")] = False,
    signed: Annotated[bool, _published("Values may be negative.")] = False,
    within: Annotated[
        float, _published("A cell with an interval at most so wide is disclosed.", "PERCENT")
    ] = 0.0,
    report: ReportFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a pattern, and judge every primary cell of the instance.

    Without a pattern: attack a table that somebody published, of which the true values are not known, and
    count the hidden cells that can be worked out (exit code 1 if there is one).
    """
    if pattern is None:
        from cellveil.formats.published_source import open_publication
        from cellveil.microdata.number_marks import NumberMarks
        from cellveil.progress import NoteTaker

        if any(name is not AttackerName.outsider for name in attacker or []):
            raise InputError("such an attack needs a pattern", remedy="Name INSTANCE and PATTERN.csv.")
        if former:
            raise InputError("--with needs a pattern", remedy="Name INSTANCE and PATTERN.csv.")
        marks = {"hidden": hidden, "zero": zero, "hidden_flags": hidden_flag, "zero_flags": zero_flag}
        options: dict[str, Any] = {key: texts for key, texts in marks.items() if texts is not None}
        options |= {"rounding": rounding, "nonnegative": not signed}
        options |= {"absent": "hidden" if absent_hidden else "zero"}
        names = {"value": value, "flag": flag, "lower": lower, "upper": upper, "total_code": total}
        check_targets(instance, report)
        if report is not None and str(report) in [given.partition("=")[2] for given in hierarchy or []]:
            raise InputError(
                "the report would overwrite a hierarchy", file=report, remedy="Name another file."
            )
        taker, written = NoteTaker(None), NumberMarks(decimal, thousands)
        published = open_publication(instance, hierarchy or [], names, options, written, taker)
        say(quiet or as_json or not taker.notes, "\n".join(f"Note: {note}" for note in taker.notes))
        _audit_publication(published, within, Deadline(time_limit), report, quiet, as_json)
        return
    from cellveil.attackers.default_attackers import attackers_tested

    if hierarchy:
        raise InputError("a pattern and hierarchies are given", remedy="Give one or the other.")
    problem, given = _read(instance, pattern, report)
    attackers = (
        attackers_of(attacker, p, q, level, coalition, prior)
        if attacker
        else [
            *attackers_of([AttackerName.outsider], p, q, level, coalition, prior),
            *attackers_tested(problem).attackers,
        ]
    )
    joint = _joint(former or [], problem)
    _audit_pattern(problem, given, attackers, joint, Deadline(time_limit), report, quiet, as_json)


def _audit_publication(
    published: PublishedTable,
    within: float,
    deadline: Deadline,
    report: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from cellveil.judge.published import audit_published

    with progress(quiet or as_json, [Phase.AUDIT]) as shown:
        shown.phase(Phase.AUDIT, deadline)
        verdict = audit_published(published, within=within, time_limit=deadline.left, progress=shown)
    write_json(report, as_json, verdict.to_dict())
    say(quiet or as_json, verdict.summary())
    disclosed = int(verdict.is_disclosed.sum())
    ending = (
        "No hidden cell is disclosed."
        if verdict.is_safe
        else f"NOT SAFE: {counted(disclosed, 'cell')} disclosed."
    )
    say(quiet or as_json, ending)
    leave_with(0 if verdict.is_safe else 1)


def _read(instance: Path, pattern: Path, report: Path | None) -> tuple[Problem, Pattern]:
    from cellveil.formats.instance import read_instance
    from cellveil.formats.pattern_file import read_pattern

    check_targets(instance, report)
    if report is not None and report.resolve() == pattern.resolve():
        raise InputError("the report would overwrite the pattern", file=report, remedy="Name another file.")
    problem = read_instance(instance)
    return problem, read_pattern(pattern, problem)


def _joint(folders: list[Path], problem: Problem) -> JointProblem | None:
    """The problem together with the releases in these folders, which are read at once."""
    if not folders:
        return None
    from cellveil.previous.joint import JointProblem
    from cellveil.previous.releases import read_releases

    return JointProblem.of(problem, read_releases(folders))


def _audit_pattern(
    problem: Problem,
    pattern: Pattern,
    attackers: list[Attacker],
    joint: JointProblem | None,
    deadline: Deadline,
    report: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    from cellveil.judge import audit as judge
    from cellveil.report.audit_figures import audit_figures

    with progress(quiet or as_json, [Phase.AUDIT]) as shown:
        shown.phase(Phase.AUDIT, deadline)
        verdict = judge(problem, pattern, attackers=attackers, time_limit=deadline.left, progress=shown)
        if joint is not None:
            from cellveil.attackers.default_attackers import AttackersTested
            from cellveil.previous.together import audit_jointly

            tested = AttackersTested(tuple(attackers))
            beside = audit_jointly(joint, pattern.hidden, tested, deadline=deadline, progress=shown)
            verdict = replace(verdict, together=beside)
    figures = audit_figures(verdict)
    write_json(report, as_json, figures)
    unsafe = problem.table.cell_names(verdict.unsafe_cells)
    lines = [f"  not protected: {name}" for name in unsafe[:MAX_LISTED]]
    if len(unsafe) > MAX_LISTED:
        lines.append(f"  … and {len(unsafe) - MAX_LISTED} more; see --report")
    lines += [] if verdict.together is None else verdict.together.lines()
    lines += [f"{verdict.verdict}.", f"Not tested: {verdict.not_asked}."]
    say(quiet or as_json, "\n".join(lines))
    leave_with(0 if verdict.is_safe else 1)
