"""What all routes of the service share: who asks, where tables and jobs are kept, which errors there are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Request

from cellveil.service.answers import ErrorAnswer
from cellveil.service.desk import Desk
from cellveil.service.short_tasks import Asker, nobody_waits

Answer = TypeVar("Answer")


def _user(request: Request) -> str:
    """The user whom the guard has found."""
    user: str = request.state.user
    return user


def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


User = Annotated[str, Depends(_user)]
TheDesk = Annotated[Desk, Depends(_desk)]
JobId = Annotated[str, Path(alias="id", description="The id of a job.", max_length=100)]
FileIdInPath = Annotated[str, Path(alias="id", description="The id of an upload.", max_length=100)]

ABOUT_ERRORS = {
    400: "The request cannot be read.",
    401: "A valid token is needed.",
    403: "Refused: a page of another origin.",
    404: "There is no such thing, or it belongs to somebody else.",
    408: "The request came too slowly.",
    409: "Not in this state of the job.",
    413: "The request is too large.",
    421: "The service does not go by that name.",
    422: "The request, the job or the data are not valid; `error` says where, and what to do.",
    429: "Too many files or jobs.",
    500: "A fault of the service.",
    503: "Busy; try again.",
    507: "The disk is full.",
}


def errors(*further: int) -> dict[int | str, dict[str, Any]]:
    """Descriptions of the errors of an operation: those that all have, and further ones."""
    codes = sorted({400, 401, 403, 408, 413, 421, 422, 500, 503, 507, *further})
    return {code: {"model": ErrorAnswer, "description": ABOUT_ERRORS[code]} for code in codes}


async def while_waited_for(request: Request, work: Callable[[Asker], Answer]) -> Answer:
    """What a question comes to, worked on in a thread; it is dropped as soon as the client is gone."""
    desk, asker = _desk(request), Asker(_user(request))
    working = asyncio.get_running_loop().run_in_executor(desk.threads, work, asker)
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        leaving.result()  # raises where the body came too slowly
        raise nobody_waits()
    finally:
        leaving.cancel()
        if not working.done():
            desk.shorts.drop(asker)
            working.cancel()  # it may still wait for a thread


async def _left(request: Request) -> None:
    """Wait until the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
