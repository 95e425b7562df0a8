"""The documentation is run: its code, its command lines, its links, and the messages it quotes.

A fenced block ``python`` is executed, with the earlier ones of its page; a block ``text`` right after it is
what it prints. A block is left out only by a comment ``<!-- not run: reason -->`` before it.
"""

import ast
import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from cellveil.cli.app import app
from experiments import EXPERIMENTS
from experiments.__main__ import app as experiments_app
from helpers.pages import ROOT, Block, blocks

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


NOT_RUN = re.compile(r"<!--\s*not run:\s*(\S.*?)\s*-->")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
SHELL = ("console", "bash")
OTHER_PROGRAMS = {"make", "cd", "cat", "git", "curl", "dask"}


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def reason_not_to_run(block: Block) -> str | None:
    marks = NOT_RUN.findall(block.before.splitlines()[-1] if block.before else "")
    return marks[-1] if marks else None


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- what two pages take as given ----------------------------------------------------------------------------


def a_table(page: Path) -> dict[str, Any]:
    import cellveil as cv

    data = cv.business(500)
    return {"table": cv.tabulate(data.frame, data.dimensions[1:], "turnover", contributor="firm")}


def files_of_the_example_job(page: Path) -> dict[str, Any]:
    """The job of the page itself, and the files it names."""
    job = next(block for block in blocks(page) if block.language == "toml")
    Path("job.toml").write_text(job.content)
    Path("regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\nS,S1\nS,S2\n")
    Path("labels.csv").write_text("dimension,code,label\nregion,N,North\nsize,1,small\n")
    rows = ["firm,holding,region,size_class,turnover,domestic,export"]
    for firm in range(120):
        export = (firm * 37) % 50
        turnover = export + 100 + (firm * 91) % 400
        region, size = ("N1", "N2", "S1", "S2")[firm % 4], firm % 3
        rows.append(f"f{firm},h{firm},{region},{size},{turnover},{turnover - export},{export}")
    Path("firms.csv").write_text("\n".join(rows) + "\n")
    return {}


def firms_and_a_job(page: Path) -> dict[str, Any]:
    """The firms of README.md, and the job of the page."""
    readme = blocks(ROOT / "README.md")
    Path("firms.csv").write_text(next(block.content for block in readme if block.language == "csv") + "\n")
    for block in blocks(page):
        if block.language == "toml":
            Path("job.toml").write_text(block.content)
    return {}


GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "docs/rules.md": a_table,
    "docs/jobs.md": files_of_the_example_job,
    "docs/index.md": firms_and_a_job,
    "docs/from-tau-argus.md": firms_and_a_job,
}


# -- code ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs_and_prints_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {"__name__": "__docs__"}
    all_blocks = blocks(page)
    if any(block.language == "python" for block in all_blocks) and name_of(page) in GIVEN:
        namespace |= GIVEN[name_of(page)](page)
    for block, following in zip_longest(all_blocks, all_blocks[1:]):
        if block.language != "python" or reason_not_to_run(block):
            continue
        printed = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.content, str(page), "exec")
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if following is not None and following.language == "text" and not following.before:
            assert _lines(printed.getvalue()) == _lines(following.content), f"{page.name}, line {block.line}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


# -- command lines -------------------------------------------------------------------------------------------


def command_lines(page: Path) -> Iterator[tuple[int, list[str]]]:
    for block in blocks(page):
        if block.language not in SHELL:
            continue
        joined = re.sub(r"\\\n\s*", " ", block.content)
        for line in joined.splitlines():
            if block.language == "console" and not line.startswith("$ "):
                continue  # output
            for words in _simple_commands(line.removeprefix("$ ")):
                yield block.line, words


def _simple_commands(line: str) -> Iterator[list[str]]:
    """The commands of one line, between ``&&``, ``||``, ``|`` and ``;``."""
    words: list[str] = []
    for word in [*shlex.split(line, comments=True), ";"]:
        if word in ("&&", "||", "|", ";"):
            if words:
                yield words
            words = []
        else:
            words.append(word)


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def check_experiment(words: list[str]) -> None:
    """Parse the arguments of `python -m experiments` as it would, without running it."""
    command: Any = get_command(experiments_app)
    assert command.make_context("experiments", list(words)).params["name"] in {None, *EXPERIMENTS}


def check_command(words: list[str]) -> None:
    """Parse a command line as the program itself would, without running it."""
    group: Any = get_command(app)
    try:
        context = group.make_context("cellveil", list(words))
        name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None
        command.make_context(name, rest, parent=context)
    except (typer.Exit, SystemExit):
        pass  # --help and --version
    except Exception as error:
        pytest.fail(f"cellveil {shlex.join(words)}: {getattr(error, 'message', error)}")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_command_lines_exist(page: Path) -> None:
    for line, words in command_lines(page):
        if words[0] == "cellveil":
            check_command(words[1:])
        elif words[:3] == ["python", "-m", "experiments"]:
            check_experiment(words[3:])
        elif words[0] == "make":
            assert set(words[1:]) <= make_targets(), f"{page.name}, line {line}: {words}"
        else:
            assert words[0] in OTHER_PROGRAMS, f"{page.name}, line {line}: {words[0]}"


@pytest.mark.parametrize("words", ["supress x", "suppress x", "audit x y --weight one", "run"])
def test_wrong_command_lines_are_found(words: str) -> None:
    with pytest.raises(pytest.fail.Exception):
        check_command(words.split())


def test_readme_shows_the_two_commands() -> None:
    shown = [words for _, words in command_lines(ROOT / "README.md")]
    assert ["make", "demo"] in shown and ["make", "test"] in shown


# -- links ---------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+\s+(.+?)\s*$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.is_file(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("folder", ["docs", "docs/lab"])
def test_the_start_page_links_to_every_page(folder: str) -> None:
    linked = set(LINK.findall(prose(ROOT / folder / "index.md")))
    assert {page.name for page in (ROOT / folder).glob("*.md")} - {"index.md"} <= linked


def test_users_find_the_laboratory_and_come_back() -> None:
    assert "lab/index.md" in LINK.findall(prose(ROOT / "docs" / "index.md"))
    assert "../index.md" in LINK.findall(prose(ROOT / "docs" / "lab" / "index.md"))


def test_the_docs_start_with_ten_lines() -> None:
    first = next(block for block in blocks(ROOT / "docs" / "index.md") if block.language == "python")
    assert len([line for line in first.content.splitlines() if line.strip()]) <= 10


def test_every_picture_is_made_by_a_command() -> None:
    made = "".join(
        (ROOT / "benchmarks" / name).read_text("utf-8") for name in ("screenshots.py", "drawing.py")
    )
    for page in PAGES:
        for picture in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", prose(page)):
            assert Path(picture).name in made or "lab" in page.parts, f"{page.name}: {picture}"


def test_code_is_left_out_for_a_reason_only() -> None:
    for page in PAGES:
        for block in blocks(page):
            assert "not run" not in block.before or reason_not_to_run(block), f"{page.name}, {block.line}"


# -- messages ------------------------------------------------------------------------------------------------


def texts_of_the_package() -> str:
    """Every text in the source, “…” where something is put in."""
    found: list[str] = []
    for file in sorted((ROOT / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
                found.append("".join(map(str, parts)))
    return "\n".join(found)


def test_the_error_guide_quotes_real_messages() -> None:
    texts = texts_of_the_package()
    quoted = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "errors.md").read_text(), re.MULTILINE)
    assert len(quoted) > 20
    for message in quoted:
        for part in message.split("…"):
            assert part.strip() in texts, f"{message!r}: no message says {part.strip()!r}"
