"""The overview of a programme of publications as one self-contained page in the look of the report."""

from __future__ import annotations

from cellveil.progress.line import clock
from cellveil.publishing.page_templates import environment, template_text
from cellveil.report.components import component_files
from cellveil.report.html_report import STYLES
from cellveil.report.programme_overview import HEAD, Overview


def overview_page(overview: Overview) -> str:
    """The page: how many are safe, a line for each job with a link to its report, and what went wrong."""
    from markupsafe import Markup

    files = component_files()
    style = [*(files[name] for name in STYLES), template_text("cellveil.report", "overview.css")]
    return (
        environment("cellveil.report")
        .get_template("overview.html")
        .render(overview=overview, head=HEAD, took=clock(overview.seconds), style=Markup("".join(style)))
    )
