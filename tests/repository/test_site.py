"""The documentation site builds without a warning, from files of its own, and holds what it should."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import cellveil
from benchmarks.site_hooks import PALETTES, included, inlined, palette
from helpers.pages import ROOT

pytest.importorskip("mkdocs", reason="the extra docs is not installed")

CONFIGURATION = (ROOT / "mkdocs.yml").read_text("utf-8")
NAVIGATION = re.findall(r"^ +- (?:.*: )?([\w./-]+\.md)$", CONFIGURATION.split("\nnav:\n")[1], re.MULTILINE)


class References(HTMLParser):
    """Addresses that a page loads, those that it links to, and the places that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.linked: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.places |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.loaded.append(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.linked.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr.strip(), done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, References]:
    return {path: References(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_has_one_place_in_the_reading_order() -> None:
    written = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")}
    assert len(NAVIGATION) == len(set(NAVIGATION))
    assert written == set(NAVIGATION), "a page needs a line under nav in mkdocs.yml"
    assert NAVIGATION[0] == "index.md"


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, References]) -> None:
    for path, found in pages.items():
        for address in found.loaded:
            assert not re.match(r"\w+:|//", address), f"{path.name} loads {address}"
            folder = site if path.name == "404.html" else path.parent
            assert (folder / address.lstrip("/")).is_file(), f"{path.name}: {address} is missing"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text("utf-8")), sheet.name


def test_links_lead_somewhere(site: Path, pages: dict[Path, References]) -> None:
    for path, found in pages.items():
        if path.name == "404.html":
            continue
        for link in found.linked:
            if re.match(r"\w+:", link):
                continue
            address, _, place = link.partition("#")
            target = (path.parent / address).resolve() if address else path
            assert target.is_file(), f"{path.name}: {link}"
            if place and target.suffix == ".html":
                assert place in pages[target].places, f"{path.name}: {link}"


def test_every_public_name_is_in_the_reference(site: Path, pages: dict[Path, References]) -> None:
    places = {place for path, found in pages.items() if "reference" in path.parts for place in found.places}
    public = {f"cellveil.{name}" for name in cellveil.__all__ if name != "__version__"}
    assert public <= places
    asked = re.findall(
        r"^::: (\S+)$",
        "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md")),
        re.MULTILINE,
    )
    assert sorted(asked) == sorted(public)


def test_the_search_knows_all_pages_without_a_server(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    told = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert told == {page.replace(".md", ".html") for page in NAVIGATION}
    assert (site / "search" / "search_index.js").read_text("utf-8").startswith("var __index")


def test_no_path_of_the_machine_is_told(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert str(ROOT) not in path.read_text("utf-8"), path.name


def test_the_palette_is_that_of_the_report() -> None:
    text = palette()
    for name in PALETTES:
        sheet = (ROOT / "src" / "cellveil" / name).read_text("utf-8")
        for variable in re.findall(r"^  (--[\w-]+: light-dark\(.*\);)$", sheet, re.MULTILINE):
            assert variable in text
    for variable, colour in re.findall(r"^  --([\w-]+): light-dark\((#\w+)", text, re.MULTILINE):
        from benchmarks.table_drawing import COLOURS

        assert COLOURS.get(variable, colour) == colour, f"{variable} of drawings"


def test_files_are_included_with_their_links_and_may_be_missing(tmp_path: Path) -> None:
    file = tmp_path / "NOTES.md"
    file.write_text("# Notes\n\nSee [jobs](docs/jobs.md#all-keys) and [here](https://example.org).\n")
    assert included(file).strip() == "See [jobs](jobs.md#all-keys) and [here](https://example.org)."
    assert "](../jobs.md#all-keys)" in included(file, "../")
    assert included(tmp_path / "none.md") == ""


def test_drawings_become_part_of_the_page() -> None:
    drawing = inlined('says "so"', "../img/concept-attack.svg", "stories/x.html")
    assert drawing.startswith('<svg role="img" aria-label="says &quot;so&quot;" class="drawing"')
    assert "<title>" not in drawing and drawing.endswith("</svg>")
    assert inlined("", "../img/none.svg", "stories/x.html") == ""
