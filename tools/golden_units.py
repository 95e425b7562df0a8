"""What goldens are made of: units of work, their cases, and the digests of what a case shows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import cellveil as cv

Aspects = dict[str, Any]
"""What a case shows, by name: figures and short texts as they are, all else as digests."""

Case = tuple[str, Aspects]


@dataclass(frozen=True)
class Unit:
    """Cases that are run together.

    Parameters
    ----------
    group
        The file of goldens that they are in.
    run
        Gives the cases; names are unique in the group.
    is_quick
        Whether they are part of `--quick`.
    """

    group: str
    name: str
    run: Callable[[], Iterable[Case]]
    is_quick: bool = False


def digest(value: Any) -> str:
    """Ten letters that stand for a value: bytes, an array, a text, or what JSON can write."""
    if isinstance(value, np.ndarray):
        value = f"{value.dtype.kind} {value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    elif not isinstance(value, bytes):
        value = json.dumps(value, ensure_ascii=False, default=str).encode()
    return hashlib.sha256(value).hexdigest()[:10]


def figure(value: float | None) -> float | None:
    """A figure with the twelve digits that do not depend on the order of a sum."""
    return None if value is None else float(f"{value:.12g}")


CHANGING = [
    (re.compile(re.escape(cv.__version__)), "‹version›"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?"), "‹time›"),
    (re.compile(r"\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d"), "‹time›"),
    (re.compile(r'("[^"]+\.\w+": ")[0-9a-f]{64}"'), r'\1‹sum›"'),
    (re.compile(r"\d+(\.\d+)? (s|ms|min|seconds?)\b"), "‹seconds›"),
]
TIMES = (
    *("seconds", "versions", "version", "created", "made", "began", "ended", "elapsed"),
    *("progress", "id", "session", "bytes"),
)
"""Keys of JSON data that differ from run to run: times, what was reached by then, ids, sizes of pages."""


def lasting(text: str, paths: Mapping[str, str]) -> str:
    """A text without times, versions, sums of files in which these stand, and paths of this machine."""
    for path, name in paths.items():
        text = text.replace(path, name)
    for pattern, name in CHANGING:
        text = pattern.sub(name, text)
    return text


def lasting_json(value: Any) -> Any:
    """The same of JSON data."""
    if isinstance(value, dict):
        return {key: lasting_json(one) for key, one in value.items() if key not in TIMES}
    return [lasting_json(one) for one in value] if isinstance(value, list) else value
