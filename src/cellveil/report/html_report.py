"""The internal report as one self-contained page: verdict first, then tables, attacks, loss and the run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cellveil.pattern import Pattern
from cellveil.publishing.page_templates import environment
from cellveil.report.adjustment_figures import pinned_down
from cellveil.report.attack_chart import interval_rows
from cellveil.report.glossary import TERMS
from cellveil.report.loss_charts import heat_maps, level_bars
from cellveil.report.page_cells import PageSource, as_json, page_cells
from cellveil.report.page_parts import (
    comparison_of,
    flat,
    histogram_of,
    method_lines,
    officials_lines,
    share_bars,
    tiles_of,
)
from cellveil.report.search_chart import search_curve

if TYPE_CHECKING:
    from cellveil.report.infeasible_report import InfeasibleReport
    from cellveil.report.report import Report

MAX_UNSAFE = 200
"""How many cells that are not safe are listed with what tells them."""

SCRIPTS = ("cells.js", "panel.js", "table.js", "primaries.js", "values.js")
"""The scripts of the page, in their order."""

CONFIRM = "Taken for granted about the data; please confirm"

NOTHING: dict[str, Any] = {
    "is_adjusted": False, "adjusted_share": "", "objections": (), "remarks": (),
    "further": (), "override": None,
    "conflicts": None, "classes": [], "bars": [], "price": "", "audit": None, "attackers": [],
    "intervals": [], "histogram": [], "unsafe": [], "levels": [], "heat_maps": [], "curve": None,
    "adjustment": None, "comparison": [], "release": None, "is_certified": False, "certified": "",
    "certified_against": "",
}  # fmt: skip
"""What the templates take where there is none."""


def render(report: Report) -> str:
    """The page of a run that ended with a pattern."""
    problem, run, figures = report.problem, report.suppression, report.to_dict()
    outsider = None if report.audit is None else report.audit.outsider
    is_adjusted = report.instead is not None and report.decisive is not None and report.decisive.is_safe
    proof = None if report.audit is None or not report.audit.is_safe else report.audit.certificate
    published = report.decisive.view.published if is_adjusted and report.decisive else problem.table.values
    cells = PageSource(
        problem, run.pattern, published, is_adjusted, report.labels, report.tables, outsider, proof,
        report.facts.rule, report.facts.values,
    )  # fmt: skip
    context = {
        "tone": _tone(report),
        "headline": report.verdict if report.is_safe else "NOT SAFE",
        "objections": () if report.is_safe else report.objections,
        "beneath": [line for line in (report.told_not_asked, report.out_of_time) if line],
        "remarks": list(_remarks(report)),
        "further": list(_further(report)),
        "override": report.override,
        "tiles": tiles_of(report),
        "is_adjusted": is_adjusted,
        "adjusted_share": _adjusted_share(report.adjustment),
        "classes": officials_lines(report),
        "bars": share_bars(report),
        "price": "" if report.price is None else report.price.text,
        "audit": outsider,
        "attackers": figures["attackers"],
        "intervals": interval_rows(problem.table, report.margins),
        "histogram": histogram_of(report),
        "rules": report.rules,
        "unsafe": list(_unsafe(report)),
        "levels": level_bars(problem, run.pattern, values=report.facts.values),
        "heat_maps": heat_maps(problem, run.pattern, report.tables, report.labels),
        "curve": search_curve(report.facts.search, sum(run.seconds.values())),
        "adjustment": report.adjustment,
        "comparison": comparison_of(report.adjustment),
        "pinned_down": pinned_down,
        "release": figures["release"],
        "is_certified": proof is not None,
        "certified": f"{run.certified_demands:,} of {run.demands:,} demands against outsiders are met",
        "certified_against": "" if proof is None or report.audit is None else report.audit.against,
        "parameters": list(flat(report.parameters)),
        "method": method_lines(figures),
        "versions": figures["versions"],
        "hashes": figures["hashes"],
    }
    return _page(report, cells, context)


def render_infeasible(report: InfeasibleReport) -> str:
    """The page of a run that found some cells impossible to protect."""
    problem, figures = report.problem, report.to_dict()
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "primaries only")
    cells = PageSource(
        problem, pattern, problem.table.values, labels=report.labels, tables=report.tables,
        rule=report.facts.rule, values=report.facts.values,
    )  # fmt: skip
    context = {
        "tone": "bad",
        "headline": "INFEASIBLE: some cells cannot be protected",
        "objections": [figures["reason"]],
        "beneath": ["No pattern was made, and nothing was released."],
        "further": [(CONFIRM, report.notes)] * bool(report.notes),
        "tiles": report.tiles,
        "conflicts": report.conflicts,
        "rules": report.rules,
        "parameters": list(flat(report.parameters)),
        "method": method_lines(figures),
        "versions": figures["versions"],
        "hashes": {"problem": problem.content_hash, "view": ""},
    }
    return _page(report, cells, context)


def _page(report: Report | InfeasibleReport, source: PageSource, context: Mapping[str, Any]) -> str:
    from markupsafe import Markup  # of what is escaped already

    script = "".join((files("cellveil.report") / "templates" / name).read_text("utf-8") for name in SCRIPTS)
    script = f"(() => {{\n{script}}})();"
    digest = b64encode(sha256(script.encode()).digest()).decode()
    return (
        environment("cellveil.report")
        .get_template("internal.html")
        .render(
            NOTHING | {"pinned_down": pinned_down} | dict(context),
            heading=report.heading,
            table=report.problem.table,
            facts=report.facts,
            terms=TERMS,
            cells=Markup(as_json(page_cells(source) | {"job": report.facts.job})),
            script=Markup(script),
            script_hash=f"sha256-{digest}",
        )
    )


def render_summary(report: Report) -> str:
    """Verdict and officials' table, for notebooks."""
    return (
        environment("cellveil.report")
        .get_template("summary.html")
        .render(report=report, classes=officials_lines(report), bars=share_bars(report))
    )


def _tone(report: Report) -> str:
    if not report.is_safe:
        return "bad"
    is_less = report.suppression.relaxation is not None and report.instead is None
    return "warn" if is_less or report.override or report.out_of_time else "good"


def _remarks(report: Report) -> Iterator[tuple[str, Sequence[str]]]:
    """Lists inside the verdict, each with its title: what it rests on."""
    relaxation = report.suppression.relaxation if report.instead is None else None
    relaxed = [] if relaxation is None else [line.strip() for line in relaxation.lines()]
    found = (("", report.decisions), ("What was relaxed:", relaxed))
    return ((title, lines) for title, lines in found if lines)


def _further(report: Report) -> Iterator[tuple[str, Sequence[str]]]:
    """Lists below the figures, each with its title: what to keep in mind."""
    found: tuple[tuple[str, Sequence[str]], ...] = (
        ("Not covered by this verdict", getattr(report.problem.table, "notes", ())),
        ("Compared with former months and releases", report.over_time),
        (CONFIRM, report.notes),
    )
    return ((title, lines) for title, lines in found if lines)


def _adjusted_share(adjustment: Mapping[str, Any] | None) -> str:
    utility = (adjustment or {}).get("utility")
    if not utility:
        return ""
    return (
        f"{utility['changed']:,} of {utility['cells']:,} cells were changed, "
        f"by {utility['mean_percent']:.3g} % on average"
    )


def _unsafe(report: Report) -> Iterator[tuple[str, list[str]]]:
    """The first unsafe cells, and how each could be worked out where that was found."""
    if report.audit is None or not len(report.audit.unsafe_cells):
        return
    told = report.audit.explanations
    for cell in report.audit.unsafe_cells[:MAX_UNSAFE].tolist():
        yield report.problem.table.cell_name(cell), list(told.get(cell, ()))
