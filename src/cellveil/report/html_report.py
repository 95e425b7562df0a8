"""The internal report on a suppression as one self-contained page: parts, styles and scripts."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

from cellveil.publishing.page_templates import environment, template_text
from cellveil.report.components import component_files, inlined_scripts
from cellveil.report.page_figures import officials_lines, share_bars

if TYPE_CHECKING:
    from cellveil.report.page_parts import ReportParts
    from cellveil.report.report import Report

STYLES = ("base.css", "palette.css", "components.css")
"""The styles that the page shares with others, in their order."""


def render(parts: ReportParts) -> str:
    """The page that consists of these parts."""
    from markupsafe import Markup  # of what is escaped already

    files = component_files()
    script = (
        f'(() => {{\n"use strict";\n{inlined_scripts()}{template_text("cellveil.report", "report.js")}}})();'
    )
    style = "".join([*(files[name] for name in STYLES), template_text("cellveil.report", "internal.css")])
    digest = b64encode(sha256(script.encode()).digest()).decode()
    first, *further = [(part, Markup(part.html)) for part in parts.parts]
    return (
        environment("cellveil.report")
        .get_template("internal.html")
        .render(
            parts=parts,
            first=first,
            further=further,
            cells=Markup(parts.cells),
            style=Markup(style),
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
