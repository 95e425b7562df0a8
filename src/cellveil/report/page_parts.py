"""The parts of a report on a suppression: each a fragment of HTML, and the cells as data.

The report's page consists of them, and so does whatever else shows a run. A fragment holds no script, no
style of its own and no hidden value; values are in the data of the cells, where the office wants them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cellveil.errors import counted
from cellveil.pattern import Pattern
from cellveil.publishing.page_templates import environment
from cellveil.report.adjustment_figures import pinned_down
from cellveil.report.attack_chart import interval_rows
from cellveil.report.comparison_page import comparison_html
from cellveil.report.glossary import TERMS
from cellveil.report.loss_charts import heat_maps, level_bars
from cellveil.report.page_cells import PageSource, as_json, page_cells
from cellveil.report.page_figures import (
    comparison_of,
    flat,
    histogram_of,
    method_lines,
    officials_lines,
    share_bars,
    tiles_of,
)
from cellveil.report.run_facts import SearchPoint
from cellveil.report.search_chart import search_svg

if TYPE_CHECKING:
    from cellveil.report.infeasible_report import InfeasibleReport
    from cellveil.report.report import Report

MAX_UNSAFE = 200
"""How many cells that are not safe are listed with what tells them."""

CELLS = "cells.json"
"""The file of the cells."""

SEARCH = "search.svg"
"""The file of the drawing of cost and bound."""

COMPARISON = "comparison.html"
"""The file of the methods side by side."""

MANIFEST = "manifest.json"
"""The file that names the others."""

CONFIRM = "Taken for granted about the data; please confirm"

NOTHING: dict[str, Any] = {
    "is_adjusted": False, "adjusted_share": "", "objections": (), "remarks": (),
    "further": (), "override": None,
    "conflicts": None, "classes": [], "bars": [], "price": "", "audit": None, "attackers": [],
    "intervals": [], "histogram": [], "unsafe": [], "levels": [], "heat_maps": [], "search": "",
    "adjustment": None, "comparison": [], "release": None, "is_certified": False, "certified": "",
    "certified_against": "",
}  # fmt: skip
"""What the templates take where there is none."""


@dataclass(frozen=True, repr=False)
class PagePart:
    """A fragment of HTML or SVG, with the name of its file and its title."""

    name: str
    title: str
    html: str

    @property
    def stem(self) -> str:
        """The name without its end."""
        return PurePath(self.name).stem


@dataclass(frozen=True, repr=False, eq=False)
class ReportParts:
    """What a report consists of. Internal.

    Parameters
    ----------
    tone
        good, warn or bad: how the verdict is to look.
    headline
        The verdict in short.
    digests
        Lines that tie the parts to their problem and view.
    parts
        In the order of the page; the first one is its head.
    cells
        The data of all cells as JSON, which the components of tables and lists draw.
    """

    heading: str
    tone: str
    headline: str
    digests: tuple[str, ...]
    parts: tuple[PagePart, ...]
    cells: str

    def files(self) -> dict[str, str]:
        """Each part by the name of its file; `manifest.json` names them in their order, with their titles."""
        about = {
            "heading": self.heading,
            "tone": self.tone,
            "headline": self.headline,
            "digests": self.digests,
            "parts": [{"name": part.name, "title": part.title} for part in self.parts],
            "cells": CELLS,
        }
        manifest = json.dumps(about, ensure_ascii=False, indent=1)
        return {MANIFEST: manifest, CELLS: self.cells} | {part.name: part.html for part in self.parts}


def parts_of(report: Report) -> ReportParts:
    """The parts of a run that ended with a pattern."""
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
        "search": _search(report),
        "adjustment": report.adjustment,
        "comparison": comparison_of(report.adjustment),
        "release": figures["release"],
        "is_certified": proof is not None,
        "certified": f"{run.certified_demands:,} of {run.demands:,} demands against outsiders are met",
        "certified_against": "" if proof is None or report.audit is None else report.audit.against,
        "parameters": list(flat(report.parameters)),
        "method": method_lines(figures),
        "versions": figures["versions"],
        "digests": _digests(figures["hashes"], "" if outsider is None else outsider.view_hash),
    }
    return _composed(report, cells, context)


def parts_of_infeasible(report: InfeasibleReport) -> ReportParts:
    """The parts of a run that found some cells impossible to protect."""
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
        "digests": _digests({"problem": problem.content_hash}),
    }
    return _composed(report, cells, context)


def _composed(
    report: Report | InfeasibleReport, source: PageSource, context: Mapping[str, Any]
) -> ReportParts:
    whole = NOTHING | dict(context)
    whole |= {"heading": report.heading, "table": report.problem.table, "facts": report.facts}
    whole |= {"terms": TERMS, "pinned_down": pinned_down, "counted": counted}
    templates = environment("cellveil.report")
    made = {SEARCH: whole["search"]}
    if report.facts.comparison is not None:
        made[COMPARISON] = comparison_html(report.facts.comparison)
    parts = [
        PagePart(name, title, made[name] if name in made else templates.get_template(name).render(whole))
        for name, title in _titles(whole, made)
    ]
    return ReportParts(
        report.heading,
        whole["tone"],
        whole["headline"],
        whole["digests"],
        tuple(parts),
        as_json(page_cells(source) | {"job": report.facts.job}),
    )


def _titles(context: Mapping[str, Any], made: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The parts that there are, with their titles."""
    is_adjusted = context["is_adjusted"]
    yield "first_screen.html", "The result"
    if context["conflicts"]:
        yield "conflicts.html", "What stands in the way, and what would help"
    yield "table.html", "The table"
    aside = " from the pattern, which is not published" if is_adjusted else ""
    yield "attack.html", f"What attackers learn{aside}"
    yield "primaries.html", f"{'Sensitive' if is_adjusted else 'Primary'} cells and why"
    if context["unsafe"]:
        yield "derivations.html", "How cells could be worked out"
    if context["classes"]:
        yield "loss.html", f"What {'the pattern would lose' if is_adjusted else 'is lost'} where"
    if made[SEARCH]:
        yield SEARCH, "Cost and lower bound over the time of the search"
    if context["adjustment"]:
        yield "adjustment.html", "Suppression or adjustment"
    if COMPARISON in made:
        yield COMPARISON, "Methods side by side"
    yield "run.html", "The run"
    yield "terms.html", "Terms"


def _search(report: Report) -> str:
    """The drawing of the search up to the cost and bound of the report; empty where it found them at once."""
    run, told = report.suppression, report.facts.search
    lasted = sum(seconds for name, seconds in run.seconds.items() if ": " not in name)  # no stages
    end = SearchPoint(max([lasted, *(point.seconds for point in told)]), run.cost, run.lower_bound)
    is_flat = all((point.cost, point.bound) == (end.cost, end.bound) for point in told)
    return "" if is_flat else search_svg((*told, end), lasted)


def _digests(hashes: Mapping[str, str], audited: str = "") -> tuple[str, ...]:
    named = (("Problem", hashes["problem"]), ("View", hashes.get("view", "")), ("Audited view", audited))
    return tuple(f"{name} {digest}" for name, digest in named if digest)


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
        f"{utility['changed']:,} of {counted(utility['cells'], 'cell')} changed, "
        f"by {utility['mean_percent']:.3g} % on average"
    )


def _unsafe(report: Report) -> Iterator[tuple[str, list[str]]]:
    """The first unsafe cells, and how each could be worked out where that was found."""
    if report.audit is None or not len(report.audit.unsafe_cells):
        return
    told = report.audit.explanations
    for cell in report.audit.unsafe_cells[:MAX_UNSAFE].tolist():
        yield report.problem.table.cell_name(cell), list(told.get(cell, ()))
