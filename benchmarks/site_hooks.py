"""What the documentation site needs beyond MkDocs; `mkdocs.yml` names this module.

- The palette of the report becomes a style sheet, so that a cell has one colour everywhere.
- A comment ``<!-- include: FILE -->`` brings in a file of the repository, such as CHANGELOG.md.
- The start page has no navigation beside it, and the laboratory comes last in the search.
- Drawings (SVG) become part of the page, so that they follow its light or dark colours.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PALETTES = ("publishing/templates/base.css", "report/components/palette.css")
LABORATORY = 0.2
"""Weight of the laboratory in the search, where others have 1."""

INCLUDE = re.compile(r"<!-- include: ([\w.-]+) -->")
DRAWING = re.compile(r'<img alt="([^"]*)" src="([^"]+\.svg)"\s*/?>')


def on_files(files: Any, *, config: Any) -> Any:
    """Add the palette as a file of the site."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "assets/palette.css", content=palette()))
    return files


def palette() -> str:
    """The colours of the report and of public pages: the first rule of each style sheet."""
    sheets = ((ROOT / "src" / "cellveil" / name).read_text("utf-8") for name in PALETTES)
    rules = (re.search(r"^:root \{.*?^\}$", sheet, re.DOTALL | re.MULTILINE) for sheet in sheets)
    return "\n".join(rule[0] for rule in rules if rule is not None).replace("color-scheme: light dark;", "")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Put included files in their places, and say how the page is shown and found."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri.startswith("lab/"):
        page.meta["search"] = {"boost": LABORATORY}
    above = "../" * page.file.src_uri.count("/")
    return INCLUDE.sub(lambda found: included(ROOT / found[1], above), markdown)


def included(path: Path, above: str = "") -> str:
    """A file without its title, its headings and links as a page of the site has them."""
    if not path.is_file():
        return ""
    text = re.sub(r"\A# .*\n", "", path.read_text("utf-8"))
    return re.sub(r"\]\((docs/[^)]+)\)", lambda link: f"]({above}{link[1].removeprefix('docs/')})", text)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    """Put drawings into the page; a bar in the code of a table needs no escape any longer."""
    html = re.sub(r"<code>[^<]*</code>", lambda found: found[0].replace(r"\|", "|"), html)
    return DRAWING.sub(lambda found: inlined(found[1], found[2], page.file.dest_uri) or found[0], html)


def inlined(alt: str, source: str, page: str) -> str:
    """The drawing itself, with the words of the picture; empty where it is none of the docs."""
    path = ROOT / "docs" / posixpath.normpath(posixpath.join(posixpath.dirname(page), source))
    if not path.is_file():
        return ""
    drawing = re.sub(r"<title>.*?</title>\n?", "", path.read_text("utf-8").strip())
    words = f'<svg role="img" aria-label="{escape(alt, quote=True)}" class="drawing"'
    return re.sub(r"\A<svg(?: role=\"img\")?(?: aria-label=\"[^\"]*\")?", lambda _: words, drawing)
