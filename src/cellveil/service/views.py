"""What the page shows of a job over tables: parts of its report, and the search while it lasts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from cellveil.progress import Phase
from cellveil.service.job_folders import JobFolder
from cellveil.service.service_errors import not_found
from cellveil.service.store import EventKind, JobEvent

MANIFEST = "manifest.json"
SEARCH = "search.svg"
DRAWN = tuple(phase.words for phase in (Phase.SEARCH, Phase.OTHERS, Phase.AUDIT))
"""Phases whose costs are those of one search; the audit tells the last ones."""

NAME = re.compile(r"[a-z][a-z_]{0,40}\.(html|svg|json)")
TYPES = {".html": "text/html; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json"}


def media_type_of(name: str) -> str:
    """How a part is sent."""
    return TYPES.get(Path(name).suffix, "application/octet-stream")


def view_file(folder: JobFolder, name: str) -> Path:
    """A part by its plain name."""
    path = folder.view / name
    if not NAME.fullmatch(name) or not path.is_file():
        raise not_found("the job has no such view.")
    return path


def live_search(events: Sequence[JobEvent]) -> str:
    """Cost and bound over the time of the search, from the progress told so far."""
    from cellveil.report.run_facts import SearchPoint
    from cellveil.report.search_chart import search_svg

    told = [event.data for event in events if event.kind is EventKind.PROGRESS]
    told = [one for one in told if one["phase"] in DRAWN]
    begin = told[0]["elapsed"] if told else 0.0
    points = [
        SearchPoint(one["elapsed"] - begin, one["cost"], one.get("bound")) for one in told if "cost" in one
    ]
    return search_svg(points, told[-1]["elapsed"] - begin if told else 0.0)
