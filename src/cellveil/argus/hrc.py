"""Indented hierarchies (.hrc): a code in each line, the lead string before it once per level below the first.

The total is not written. Blanks after a code are cut, blanks before it belong to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.source_text import read_source
from cellveil.errors import InputError
from cellveil.files import write_text
from cellveil.tables.hierarchy import TOTAL


def read_hrc(
    path: Path | str,
    *,
    lead: str = "@",
    total: str = TOTAL,
    missing: Sequence[str] = (),
    encoding: str | None = None,
) -> CodeTree:
    """Read an indented hierarchy.

    Parameters
    ----------
    lead
        What stands before a code once per level.
    total
        The code of the total, which the file does not have.
    missing
        Codes for “missing”, added below the total.
    """
    if not lead:
        raise InputError("the lead string of the hierarchy is empty", file=path, remedy="Use '@' or '.'.")
    source = read_source(path, encoding)
    nodes = []
    for number, raw in source.numbered(comments=False):
        line, depth = raw.rstrip(), 0
        while line.startswith(lead, depth * len(lead)):
            depth += 1
        nodes.append(IndentedCode(depth, line[depth * len(lead) :], number))
    return CodeTree.of_nodes(nodes, total, missing, source.file)


def write_hrc(tree: CodeTree, path: Path | str, *, lead: str = "@") -> None:
    """Write an indented hierarchy; reading it with the same lead, total and missing codes gives the same.

    Raises
    ------
    InputError
        When a code begins with the lead string, ends in blanks or holds a line end.
    """
    write_text(Path(path), hrc_text(tree, lead))


def hrc_text(tree: CodeTree, lead: str = "@") -> str:
    """The text of an indented hierarchy."""
    hierarchy = tree.hierarchy
    depth = {hierarchy.root: -1}
    lines = []
    for name in hierarchy.codes:
        for child in hierarchy.children.get(name, ()):
            depth[child] = depth[name] + 1
        if name == hierarchy.root or name in tree.missing:
            continue
        code = tree.code_of(name)
        if code.startswith(lead) or code != code.rstrip() or any(end in code for end in "\r\n\x1a"):
            raise InputError(
                f"the code {code!r} begins with the lead string, ends in a blank or holds a line end",
                remedy="Take another lead string, or rename the code.",
            )
        lines.append(lead * depth[name] + code)
    if not lines:
        raise InputError("the hierarchy has no codes below the total", remedy="There is nothing to write.")
    return "\n".join(lines) + "\n"
