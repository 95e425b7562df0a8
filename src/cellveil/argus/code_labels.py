"""Labels of the codes of a dimension (.cdl): ``code,label`` in each line; for display only."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellveil.argus.source_text import read_source
from cellveil.errors import InputError
from cellveil.files import write_text


def read_labels(path: Path | str, *, encoding: str | None = None) -> dict[str, str]:
    """Read the labels by code, blanks around both cut; what stands after the first comma is the label."""
    source = read_source(path, encoding)
    labels: dict[str, str] = {}
    for number, line in source.numbered(comments=False):
        code, comma, label = line.partition(",")
        if not comma or not code.strip():
            raise source.fault(number, "the line is not a code, a comma and a label", "Write code,label.")
        if labels.setdefault(code.strip(), label.strip()) != label.strip():
            raise source.fault(number, "the code has two labels", "Keep one of them.")
    return labels


def write_labels(labels: Mapping[str, str], path: Path | str) -> None:
    """Write the labels; a code with a comma or a line end cannot be carried."""
    for code, label in labels.items():
        if not code.strip() or any(mark in code for mark in ",\r\n") or any(mark in label for mark in "\r\n"):
            raise InputError(
                "a code is empty or holds a comma, or a code or label holds a line end", file=path,
                remedy="Rename it.",
            )  # fmt: skip
    write_text(Path(path), "".join(f"{code},{label}\n" for code, label in labels.items()))
