"""README.md is true: its commands exist, every page of the docs is listed; `test_docs` runs its examples."""

import re

from helpers.pages import ROOT

README = ROOT / "README.md"
TEXT = README.read_text("utf-8")


def test_every_page_is_listed() -> None:
    pages = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} | {"docs/lab/index.md"}
    assert pages <= set(re.findall(r"\]\((docs/[\w./-]+)\)", TEXT))


def test_make_commands_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = set(re.findall(r"`make ([\w-]+)`|^\$ make ([\w-]+)$", TEXT, re.MULTILINE))
    named_targets = {first or second for first, second in named}
    assert {"demo", "test", "readme"} <= named_targets <= targets


def test_the_table_of_figures_has_its_shape() -> None:
    marks = r"<!-- figures: made by benchmarks/readme.py -->\n(.*?)<!-- end of figures -->"
    found = re.search(marks, TEXT, re.DOTALL)
    assert found is not None
    head, _, *rows = found[1].strip().splitlines()
    assert head == "| table | cells | primary | cost | cost / lower bound | seconds |"
    assert len(rows) >= 3 and any(row.startswith("| demo") for row in rows)
    for row in rows:
        assert re.fullmatch(r"\| [^|]+ (\| [\d,]+ ){3}\| ([\d.]+|1\.00, proven|no bound) \| \d+ \|", row), row


def test_nothing_that_is_there_is_said_to_be_missing() -> None:
    assert not re.search(r"not yet, and|being built|coming soon", TEXT, re.IGNORECASE)


def test_the_picture_is_there() -> None:
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", TEXT)
    assert (ROOT / picture).read_bytes().startswith(b"\x89PNG")
