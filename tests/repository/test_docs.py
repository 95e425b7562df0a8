"""The documentation is run: its code, its command lines, its links, and the messages it quotes.

How a page is run is told in `helpers.page_runner`.
"""

import ast
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from cellveil.cli.app import app, run_command
from experiments import EXPERIMENTS
from experiments.__main__ import app as experiments_app
from experiments.comparison.__main__ import app as comparison_app
from helpers.command import Command
from helpers.page_runner import (
    SHELL,
    SLOW,
    commands_of,
    is_slow,
    last_line_before,
    matches,
    reason_not_to_run,
    run_page,
)
from helpers.pages import ROOT, blocks

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
OTHER_PROGRAMS = {"cd", "cat", "git", "curl", "dask"}


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


# -- what some pages take as given ---------------------------------------------------------------------------


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


def the_firms(page: Path, *others: str) -> dict[str, Any]:
    """The firms of README.md, and other files of it."""
    for block in blocks(ROOT / "README.md"):
        if block.title in ("firms.csv", *others):
            Path(block.title).write_text(block.content + "\n")
    return {}


def firms_and_a_job(page: Path) -> dict[str, Any]:
    return the_firms(page, "job.toml")


def three_months(page: Path) -> dict[str, Any]:
    """Three jobs over the firms of README.md, each with an output folder of its own."""
    firms_and_a_job(page)
    job = Path("job.toml").read_text()
    for month in MONTHS:
        Path(f"{month}.toml").write_text(job.replace('output = "out"', f'output = "{month}"'))
    return {}


def two_releases(page: Path) -> dict[str, Any]:
    """The output of a job, and two former releases: the same one under other names."""
    firms_and_a_job(page)
    run_command(["run", "job.toml", "--quiet"])
    shutil.copytree("out/public", "may-preliminary")
    shutil.copytree("out/public", "by-sector/public")
    return {}


def an_instance(page: Path) -> dict[str, Any]:
    import cellveil as cv

    cv.write_instance(cv.two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3}), "instance.jj")
    return {}


def a_published_table(page: Path) -> dict[str, Any]:
    """Two publications in one file, each with four hidden cells, and the second one as a folder."""
    Path("regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nTotal,W\n")
    Path("nace.hrc").write_text("A\nB\nC\n")
    inner = {"N": (60, 60, 60), "S": (70, 70, 80), "W": (80, 60, 60)}
    values = {
        (row, column): amount
        for row, line in inner.items()
        for column, amount in zip("ABC", line, strict=True)
    }
    for row in inner:
        values[row, "Total"] = sum(inner[row])
    for column in (*"ABC", "Total"):
        values["Total", column] = sum(values[row, column] for row in inner)
    lines, cells = ["region,industry,turnover,wages,disclosure"], ["region,industry,value"]
    for (row, column), amount in values.items():
        hidden = row in "NS" and column in "AB"
        lines.append(f"{row},{column},{'x' if hidden else amount},{amount},{'N' if hidden else ''}")
        cells.append(f"{row},{column},{'' if hidden else amount}")
    Path("published.csv").write_text("\n".join(lines) + "\n")
    Path("folder").mkdir()
    Path("folder/cells.csv").write_text("\n".join(cells) + "\n")
    shutil.copy("regions.csv", "folder/hier_region.csv")
    Path("folder/hier_industry.csv").write_text("parent,child\nTotal,A\nTotal,B\nTotal,C\n")
    return {}


MONTHS = ("january", "february", "march")
GIVEN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "docs/adjustment.md": an_instance,
    "docs/cluster.md": three_months,
    "docs/commands.md": the_firms,
    "docs/from-tau-argus.md": the_firms,
    "docs/jobs.md": files_of_the_example_job,
    "docs/over-time.md": two_releases,
    "docs/published.md": a_published_table,
    "docs/report.md": firms_and_a_job,
    "docs/rules.md": a_table,
}


# -- code ----------------------------------------------------------------------------------------------------


def run(page: Path, command: Command, *, slow: bool) -> None:
    given = GIVEN[name_of(page)](page) if name_of(page) in GIVEN else {}
    run_page(page, command, given, slow=slow)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs_and_prints_what_is_shown(
    page: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, command, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if any(map(is_slow, blocks(p)))], ids=name_of)
def test_slow_code_runs_too(
    page: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page, command, slow=True)


# -- command lines -------------------------------------------------------------------------------------------


def command_lines(page: Path) -> Iterator[tuple[int, list[str]]]:
    for block in blocks(page):
        if block.language in SHELL:
            yield from ((block.line, words) for words in commands_of(block))


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def check_experiment(words: list[str]) -> None:
    """Parse the arguments of `python -m experiments` as it would, without running it."""
    command: Any = get_command(experiments_app)
    assert command.make_context("experiments", list(words)).params["name"] in {None, *EXPERIMENTS}


def check_command(words: list[str], app: typer.Typer = app) -> None:
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
        elif words[:3] == ["python", "-m", "experiments.comparison"]:
            check_command(words[3:], comparison_app)
        elif words[0] == "make":
            assert set(words[1:]) <= make_targets(), f"{page.name}, line {line}: {words}"
        else:
            assert words[0] in OTHER_PROGRAMS, f"{page.name}, line {line}: {words[0]}"


BENCHMARK = re.compile(r"python (benchmarks/\w+\.py)([^`\n]*)")


def benchmark_faults(text: str) -> Iterator[str]:
    """Command lines of benchmarks that name a script or an option that is not there."""
    for script, rest in BENCHMARK.findall(text):
        path = ROOT / script
        code = path.read_text("utf-8") if path.is_file() else ""
        options = re.findall(r"(?<![\w-])--[a-z][\w-]*", rest)
        if not code or any(f'"{option}"' not in code for option in options):
            yield f"{script}{rest}"


def test_benchmarks_that_are_named_are_there_with_their_options() -> None:
    scripts = [*(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")]
    for file in [*PAGES, *scripts]:
        if file != Path(__file__):
            assert not list(benchmark_faults(file.read_text("utf-8"))), file.name


def test_wrong_command_lines_of_benchmarks_are_found() -> None:
    right, wrong = "python benchmarks/limits.py --cpu", "python benchmarks/limits.py --cpus"
    assert not list(benchmark_faults(f"`{right}`"))
    assert list(benchmark_faults(f"`{wrong}`, `python benchmarks/limit.py`")) == [
        wrong.removeprefix("python "),
        "benchmarks/limit.py",
    ]


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


def test_the_docs_start_with_ten_lines() -> None:
    first = next(block for block in blocks(ROOT / "docs" / "index.md") if block.language == "python")
    assert len([line for line in first.content.splitlines() if line.strip()]) <= 10


def test_every_picture_is_made_by_a_command() -> None:
    """Drawings of docs/img are held by `test_drawing`, those of the laboratory come from experiments."""
    scripts = ("benchmarks/screenshots.py", "experiments/comparison/results.py")
    made = "".join((ROOT / script).read_text("utf-8") for script in scripts)
    for page in PAGES:
        for picture in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", prose(page)):
            path = (page.parent / picture).resolve()
            is_drawn = path.suffix == ".svg" and path.parent == ROOT / "docs" / "img"
            is_made = path.name in made or path.stem in made
            assert is_drawn or is_made or "lab" in page.parts, f"{page.name}: {picture}"


def test_code_is_left_out_for_a_reason_only() -> None:
    for page in PAGES:
        for block in blocks(page):
            mark = last_line_before(block)
            assert "not run" not in mark or reason_not_to_run(block), f"{page.name}, {block.line}"
            assert not block.before.count(SLOW) or is_slow(block), f"{page.name}, {block.line}"
            if block.language in SHELL and not reason_not_to_run(block):
                assert {words[0] for words in commands_of(block)} <= {"cellveil", "make"}, (
                    f"{page.name}, line {block.line}: other programs are not run; say why"
                )


def test_what_is_printed_is_held_against_what_is_shown() -> None:
    assert matches("a 1\nb  \n", "a …\nb") and matches("a\nb\nc\n", "a\n…\nc") and matches("a\n", "a\n…")
    assert not matches("a\nb\n", "a") and not matches("a+\n", "aa") and not matches("b\n", "a\n…")


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
