"""Pages are run block by block, in a folder of their own, as a reader would who types everything.

A block with a title becomes a file. Python is executed, with what earlier blocks of the page have defined;
commands are run in this process. A block ``text`` right after is what they print; ``…`` stands for anything.
Comments before a block: ``<!-- not run: reason -->``, ``<!-- slow -->``, ``<!-- exit 1 -->``.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from helpers.command import Command
from helpers.pages import Block, blocks

SHELL = ("console", "bash")
NOT_RUN = re.compile(r"<!--\s*not run:\s*(\S.*?)\s*-->")
EXIT = re.compile(r"<!-- exit (\d+) -->")
SLOW = "<!-- slow -->"


def last_line_before(block: Block) -> str:
    return block.before.splitlines()[-1] if block.before else ""


def reason_not_to_run(block: Block) -> str | None:
    marks = NOT_RUN.findall(last_line_before(block))
    return marks[-1] if marks else None


def is_slow(block: Block) -> bool:
    return SLOW in last_line_before(block)


def commands_of(block: Block) -> Iterator[list[str]]:
    """The commands of a block, word by word; of a console only what follows the prompt."""
    for line in re.sub(r"\\\n\s*", " ", block.content).splitlines():
        if block.language == "bash" or line.startswith("$ "):
            yield from _simple_commands(line.removeprefix("$ "))


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


def run_page(page: Path, command: Command, given: dict[str, Any], *, slow: bool) -> None:
    """Run the page in the present folder, up to its first slow block unless these are wanted too."""
    namespace = {"__name__": "__docs__"} | given
    for block, following in zip_longest(found := blocks(page), found[1:]):
        if is_slow(block) and not slow:
            return
        if reason_not_to_run(block):
            continue
        place = f"{page.name}, line {block.line}"
        printed = _run(block, place, command, namespace)
        if printed is not None and following is not None and _is_output(following):
            assert matches(printed, following.content), f"{place} prints:\n{printed}"


def _is_output(block: Block) -> bool:
    return block.language == "text" and not block.before and not block.title


def _run(block: Block, place: str, command: Command, namespace: dict[str, Any]) -> str | None:
    """What the block prints; None where there is nothing to run."""
    if block.title:
        Path(block.title).parent.mkdir(parents=True, exist_ok=True)
        Path(block.title).write_text(block.content + "\n", encoding="utf-8")
        return None
    if block.language == "python":
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (block.line - 1) + block.content, place, "exec"), namespace)
        return printed.getvalue()
    if block.language not in SHELL:
        return None
    wanted = EXIT.search(last_line_before(block))
    *first, last = [words[1:] for words in commands_of(block) if words[0] == "cellveil"] or [[]]
    ended = [command(*words) for words in (*first, last) if words]
    codes = [one.code for one in ended]
    assert codes == [0] * len(first) + [int(wanted[1]) if wanted else 0] * bool(last), f"{place}: {ended}"
    return "".join(one.out for one in ended) or None


def matches(printed: str, shown: str) -> bool:
    """Whether the lines are those shown; ``…`` in a line is any text, as a line any lines."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") + "\n" for line in shown.strip().splitlines()]
    pattern = "".join("(?:.*\n)*?" if line == ".*\n" else line for line in lines)
    told = "".join(f"{line.rstrip()}\n" for line in printed.strip().splitlines())
    return re.fullmatch(pattern, told) is not None
