"""Events of a job over tables as a stream (server-sent events): state, progress of the search, end.

Every event has a number: a client that was cut off names the last one it saw (``Last-Event-ID``), and gets
what came after. Without one it begins with the last progress.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence

from cellveil.clock import Deadline
from cellveil.service.store import EventKind, JobEvent, Store

POLL = 0.25
"""Seconds between two looks for new events."""

HEARTBEAT = 15.0
"""Seconds after which a line without meaning keeps the connection open."""


async def stream(store: Store, job: str, after: int | None, closing: asyncio.Event) -> AsyncIterator[bytes]:
    """The events of a job from a number on, until its end."""
    quiet = Deadline(HEARTBEAT)
    yield b"retry: 2000\n\n"
    first = after is None
    seen = after or 0
    while not closing.is_set():
        events = await asyncio.to_thread(store.events, job, seen)
        for event in _shortened(events) if first else events:
            yield written(event)
            if event.kind is EventKind.END:
                return
        if events:
            seen, quiet, first = events[-1].number, Deadline(HEARTBEAT), False
            continue
        if quiet.is_over:
            yield b": \n\n"
            quiet = Deadline(HEARTBEAT)
        await asyncio.sleep(POLL)


def written(event: JobEvent) -> bytes:
    r"""An event as it goes over the line.

    Examples
    --------
    >>> written(JobEvent(3, EventKind.STATE, {"state": "running"}))
    b'id: 3\nevent: state\ndata: {"state": "running"}\n\n'
    """
    return f"id: {event.number}\nevent: {event.kind}\ndata: {json.dumps(dict(event.data))}\n\n".encode()


def _shortened(events: Sequence[JobEvent]) -> list[JobEvent]:
    """For somebody who comes late: of the progress so far the last one only."""
    last = max((event.number for event in events if event.kind is EventKind.PROGRESS), default=0)
    return [event for event in events if event.kind is not EventKind.PROGRESS or event.number == last]
