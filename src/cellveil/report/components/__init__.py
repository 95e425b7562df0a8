"""Components that show tables, primary cells and explanations: scripts and styles for reports and pages.

Scripts are ES modules, as a page of a service loads them; the report has them in one script. They keep no
state outside of what they are mounted in, so that two tables can stand side by side.
"""

from __future__ import annotations

import re
from functools import cache

from cellveil.publishing.page_templates import template_text

SCRIPTS = ("dom.js", "cells.js", "panel.js", "switches.js", "table.js", "primaries.js")
"""The modules, each after those that it imports."""

IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def component_files() -> dict[str, str]:
    """Every file by its name: scripts that a page imports, and styles in the order in which it links them."""
    base = {"base.css": template_text("cellveil.publishing", "base.css")}
    own = ("palette.css", "components.css", *SCRIPTS)
    return base | {name: template_text("cellveil.report", name, folder="components") for name in own}


def inlined_scripts() -> str:
    """All modules as one text for one script, without imports and exports.

    Examples
    --------
    >>> "import" in inlined_scripts().split() or "export" in inlined_scripts().split()
    False
    """
    files = component_files()
    return "".join(EXPORT.sub("", IMPORT.sub("", files[name])) for name in SCRIPTS)
