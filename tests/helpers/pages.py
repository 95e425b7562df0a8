"""Pages of the documentation and their fenced blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r'^```(\w*)(?: title="([^"]+)")?\s*$')


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, content and first line, and what stands between it and the last one.

    A block with a title is the file of that name.
    """

    language: str
    content: str
    line: int
    before: str
    title: str = ""


def blocks(page: Path) -> list[Block]:
    found, inside, start, before = [], None, 0, []
    lines = page.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if inside is None and fence:
            inside, start = fence, number
        elif inside is not None and line == "```":
            content = "\n".join(lines[start : number - 1])
            about = "\n".join(before).strip()
            found.append(Block(inside[1], content, start + 1, about, inside[2] or ""))
            inside, before = None, []
        elif inside is None:
            before.append(line)
    assert inside is None, f"{page.name}: the block of line {start} is not closed"
    return found
