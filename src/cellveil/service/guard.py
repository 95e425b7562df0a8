"""Who may ask the service about whose tables: host, origin, token or session; size and pace; the log.

Everything passes here before any route: a request without a valid token is answered without a look at its
body, and an answer ends where its user is removed meanwhile. Answers carry headers that keep browsers from
running or keeping what they should not. Of a request the log has method, route and status: no query, no
token, no name.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

from cellveil.service.service_errors import ServiceError, no_token, refused_by_disk, unexpected_error
from cellveil.service.settings import ServiceSettings
from cellveil.service.uploads import Pace, too_slow
from cellveil.service.users import Sessions

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger("cellveil.service")

API = "/api/v1"
SESSION = f"{API}/session"
TEXTS = f"{API}/texts/"
UPLOADS = f"{API}/files"
SESSION_BODY = 10_000
"""Bytes of a request for a session, at most."""


CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Wraps the application."""

    def __init__(self, app: App, settings: ServiceSettings, sessions: Sessions) -> None:
        self._app, self._settings, self._sessions = app, settings, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        began, answer = time.perf_counter(), _Response(scope, send, self._settings.is_secure)
        try:
            headers = _headers(scope)
            self._check_host(headers)
            self._check_origin(scope, headers)
            answer.is_allowed = self._authenticate(scope, headers)
            body = _RequestBody(
                receive, self._limit(scope), Pace(self._settings.limits), self._settings.limits.idle_seconds
            )
            body.check_length(headers)
            await self._app(scope, body.receive, answer.send)
        except ServiceError as error:
            await answer.refuse(error.status, error.to_dict())
        except asyncio.CancelledError:
            raise
        except _UserRemovedError:
            answer.is_allowed = lambda: True
            await answer.refuse(401, no_token().to_dict())
        except Exception as error:
            known = refused_by_disk(error)
            told = unexpected_error(error) if known is None else known.to_dict()  # a bug: its place alone
            LOG.error("%s", told["message"])
            await answer.refuse(500 if known is None else known.status, told)
        route = getattr(scope.get("route"), "path", "-")
        LOG.info(
            "%s %s %s %.0f ms", scope["method"], route, answer.status, 1000 * (time.perf_counter() - began)
        )

    def _check_host(self, headers: dict[str, str]) -> None:
        """Other names that lead here are those of attackers (DNS rebinding)."""
        if _host_name(headers.get("host", "")) not in self._settings.hosts:
            raise ServiceError(421, "this service does not go by that name.")

    def _check_origin(self, scope: Scope, headers: dict[str, str]) -> None:
        """A page of another origin may not ask."""
        origin = headers.get("origin")
        if origin is None:
            return
        own = headers.get("host", "")
        if origin not in (f"http://{own}", f"https://{own}"):
            raise ServiceError(403, "requests of other pages are refused.")
        if self._settings.is_secure and not origin.startswith("https://"):
            raise ServiceError(403, "requests of other pages are refused.")

    def _authenticate(self, scope: Scope, headers: dict[str, str]) -> Callable[[], bool]:
        """Find the user by a token or a session; returns what tells whether it is still valid."""
        path, method = scope["path"], scope["method"]
        is_open = not path.startswith(f"{API}/") or path.startswith(TEXTS)
        if is_open or (path == SESSION and method == "POST"):
            return lambda: True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer":
            raise no_token()
        users, token = self._settings.users, given.strip()
        known = users.of(token)
        session = self._sessions.of(token) if known is None else None
        if session is not None and users.has(session.user, session.digest):
            known = session.user, session.digest
        if known is None:
            raise no_token()
        scope.setdefault("state", {}).update(user=known[0], session=session)
        return lambda: users.has(*known)

    def _limit(self, scope: Scope) -> int:
        limits = self._settings.limits
        if scope["path"] == SESSION:
            return SESSION_BODY  # of who has not shown a token yet
        is_upload = scope["method"] == "POST" and scope["path"].rstrip("/") == UPLOADS
        return limits.upload if is_upload else limits.body


class _UserRemovedError(Exception):
    """The user was removed while the answer was sent."""


class _RequestBody:
    """The body of a request, within its size and pace."""

    def __init__(self, receive: Receive, most: int, pace: Pace, idle: float) -> None:
        self._receive, self._most, self._pace, self._idle = receive, most, pace, idle
        self._bytes, self._is_whole = 0, False

    def check_length(self, headers: dict[str, str]) -> None:
        """Refuse at once what says that it is too large; what lies is found while it is read."""
        said = headers.get("content-length", "")
        if said.isdigit() and (len(said) > 15 or int(said) > self._most):
            raise self._too_large()

    async def receive(self) -> Message:
        """The next part; what is wrong with it is raised as the framework lets it through to our answers."""
        if self._is_whole:
            return await self._receive()
        try:
            return await self._next()
        except ServiceError as error:
            raise HTTPException(error.status, error.to_dict()) from None  # type: ignore[arg-type]

    async def _next(self) -> Message:
        try:
            message = await asyncio.wait_for(self._receive(), self._idle)
        except TimeoutError:
            raise too_slow() from None
        if message["type"] == "http.request":
            block = message.get("body", b"")
            self._bytes += len(block)
            self._is_whole = not message.get("more_body", False)
            if self._bytes > self._most:
                raise self._too_large()
            self._pace.took(block)
        return message

    def _too_large(self) -> ServiceError:
        return ServiceError(413, f"the request is larger than {self._most / 1e6:g} MB.", "Send less.")


class _Response:
    """The answer to a request, with the headers that every answer has."""

    def __init__(self, scope: Scope, send: Send, is_secure: bool) -> None:
        self._scope, self._send, self._is_secure = scope, send, is_secure
        self.status = 0
        self.is_allowed: Callable[[], bool] = lambda: True

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on."""
        if not self.is_allowed():
            raise _UserRemovedError
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.lower() for name, _ in message.get("headers", ())}
            more = dict(HEADERS)
            if self._scope["path"].startswith(API):
                more["cache-control"] = "no-store"
            else:
                more["cache-control"] = "no-cache"
            if self._is_secure:
                more["strict-transport-security"] = "max-age=31536000"
            added = [(n.encode(), v.encode()) for n, v in more.items() if n.encode() not in given]
            message["headers"] = [*message.get("headers", ()), *added]
        await self._send(message)

    async def refuse(self, status: int, told: dict[str, Any]) -> None:
        """Answer with an error, where nothing was answered yet."""
        if self.status:
            return
        body = json.dumps({"error": told}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        if status in (408, 413):
            headers.append((b"connection", b"close"))
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


def _headers(scope: Scope) -> dict[str, str]:
    """The headers; of those that come twice, none counts."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "authorization", "origin", "content-length"):
            raise ServiceError(400, f"the header {key} comes twice.")
        found[key] = value.decode("latin-1")
    return found


def _host_name(host: str) -> str:
    """The name in a host header, without the port.

    Examples
    --------
    >>> _host_name("LocalHost:8765"), _host_name("[::1]:80"), _host_name("a.b:1:2")
    ('localhost', '[::1]', '')
    """
    text = host.strip().lower()
    if text.startswith("["):
        name, _, port = text.partition("]")
        return f"{name}]" if not port or (port[0] == ":" and port[1:].isdigit()) else ""
    name, _, port = text.partition(":")
    return name.rstrip(".") if not port or port.isdigit() else ""
