"""The application: routes about tables, jobs and results behind the guard, and the page."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from cellveil.errors import CellveilError, InputError
from cellveil.service import routes_files, routes_jobs, routes_results, routes_session
from cellveil.service.desk import Desk
from cellveil.service.guard import API, Guard
from cellveil.service.job_folders import StateFolder
from cellveil.service.service_errors import (
    KINDS,
    ServiceError,
    TaskError,
    not_found,
    plain_error,
    refused_by_disk,
    told_error,
)
from cellveil.service.settings import ServiceSettings
from cellveil.service.store import Store
from cellveil.service.users import Sessions

PAGE = Path(__file__).parent / "page"
NO_TELEMETRY: Any = {
    "tracing": False, "metrics": False, "logs": False, "operation_spans": False, "auto_configure": False,
}  # fmt: skip
"""The framework would hand exceptions and addresses to whatever collector the environment names."""

TIDY_SECONDS = 3600.0
"""Seconds between two looks for what is too old."""


def create_app(settings: ServiceSettings) -> FastAPI:
    """The application; files and jobs are taken up when it starts."""
    state = StateFolder(settings.state)
    desk = Desk(state, Store(state.database), settings.limits)
    app = described_app(lifespan=_lifespan)
    app.state.desk, app.state.settings = desk, settings
    app.state.sessions = Sessions(settings.limits.session_hours)
    app.add_middleware(Guard, settings=settings, sessions=app.state.sessions)
    return app


def described_app(lifespan: Any = None) -> FastAPI:
    """The routes and their description, without anything behind them."""
    app = FastAPI(
        title="cellveil",
        version="1",
        summary="Protects published statistical tables, and proves it.",
        description=DESCRIPTION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        telemetry=NO_TELEMETRY,
        servers=[{"url": "/"}],
    )
    for routes in (routes_session, routes_files, routes_jobs, routes_results):
        app.include_router(routes.router, prefix=API)
    app.add_api_route("/", _index, include_in_schema=False)
    app.add_api_route("/components/{name}", _component, include_in_schema=False)
    app.mount("/page", StaticFiles(directory=PAGE, check_dir=False), name="page")
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


DESCRIPTION = """Jobs over tables, as `cellveil run` and its other commands do them, with the same results.

Every request carries `Authorization: Bearer TOKEN`: the token of a user, or the secret of a session. Errors
are `{"error": {"kind", "message", "hint", …}}`, with the exit code that the
command line would end with."""


def _described(app: FastAPI) -> dict[str, Any]:
    """The description, with the ways to identify oneself."""
    from fastapi.openapi.utils import get_openapi

    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title,
            version=app.version,
            summary=app.summary,
            description=app.description,
            routes=app.routes,
            servers=app.servers,
        )
        schemes = found.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        found["security"] = [{"token": []}]
        for path in ("/session", "/texts/{language}"):
            for method in ("post", "get"):
                if path != "/session" or method == "post":
                    found["paths"][f"{API}{path}"].get(method, {})["security"] = []
        app.openapi_schema = found
    return app.openapi_schema


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Take up the queue, tidy up now and then, and end all workers."""
    desk: Desk = app.state.desk
    app.state.closing = asyncio.Event()
    await asyncio.to_thread(desk.open)
    tidy = asyncio.create_task(_tidy(desk))
    try:
        yield
    finally:
        app.state.closing.set()
        tidy.cancel()
        await asyncio.to_thread(desk.close)


async def _tidy(desk: Desk) -> None:
    while True:
        await asyncio.sleep(TIDY_SECONDS)
        await asyncio.to_thread(desk.tidy)


async def _index() -> FileResponse:
    if not (PAGE / "index.html").is_file():
        raise not_found("there is no page.")
    return FileResponse(PAGE / "index.html")


async def _component(name: str) -> Response:
    """A script or style that report and page share."""
    from cellveil.report.components import component_files

    text = component_files().get(name)
    if text is None:
        raise not_found("there is no such component.")
    return Response(text, media_type="text/css" if name.endswith(".css") else "text/javascript")


# -- errors --------------------------------------------------------------------------------------------------


def _answer(status: int, told: Mapping[str, Any]) -> JSONResponse:
    headers = {"retry-after": "5"} if told.get("kind") == KINDS[503] else None
    return JSONResponse({"error": dict(told)}, status, headers=headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ServiceError)
    return _answer(error.status, error.to_dict())


async def _wrong_input(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, CellveilError)
    if full := refused_by_disk(error):
        return _answer(full.status, full.to_dict())
    return _answer(422, told_error(error, request.app.state.settings.state))


async def _task_failed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TaskError)
    return _answer(503 if error.told.get("kind") in ("died", "memory", "time", "disk") else 422, error.told)


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """Which key is wrong, and why; never what it holds."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = ".".join(str(part) for part in first.get("loc", ()) if part != "body")
    told = plain_error(
        "invalid", f"{place or 'the body'}: {first.get('type', 'not valid').replace('_', ' ')}"
    )
    return _answer(422, told)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    words = {404: "there is no such address.", 405: "there is no such method here."}
    message = words.get(error.status_code, "the request cannot be read.")
    told: Any = error.detail  # of the guard, as data
    if not isinstance(told, dict):
        told = plain_error(KINDS.get(error.status_code, "error"), message)
    answer = _answer(error.status_code, told)
    if error.status_code in (408, 413):
        answer.headers["connection"] = "close"
    for name, value in (error.headers or {}).items():
        answer.headers[name] = value
    return answer


HANDLERS: Mapping[type[Exception], Any] = {
    ServiceError: _refused,
    InputError: _wrong_input,
    CellveilError: _wrong_input,
    TaskError: _task_failed,
    RequestValidationError: _invalid,
    HTTPException: _http,
}
"""Answers to what routes raise."""
