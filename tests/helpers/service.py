"""A running service for tests: in a thread of this process, with users, and clients for them."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from cellveil.service.application import create_app
from cellveil.service.desk import Desk
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.serving import Address, listener_at, server_config
from cellveil.service.settings import ServiceSettings
from cellveil.service.users import Users, digest_of
from helpers.waiting import PATIENCE, wait_until

TOKENS = {"ann": "token-of-ann", "bob": "token-of-bob"}
UNHURRIED = {
    "patience_seconds": 3600, "short_seconds": 3600, "idle_seconds": 600, "slowest": 0, "shorts_of_user": 50,
    "head_seconds": 600,
}  # fmt: skip
"""Limits of a service whose machine is busy with other tests: none of them ends what a test waits for."""

NO_WORKER = (sys.executable, "-I", "-S", "-c", "")
"""A command in place of the worker's, for what needs a process and nothing that it does: it ends at once."""

SLEEPER = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)")
"""Another one, which never answers."""

OVER = ("done", "failed", "cancelled", "interrupted")

FIRMS = "firm,region,size,turnover\n" + "".join(
    f"f{n},{'NSEW'[n % 4]}{1 + n % 3},{'small' if n % 5 else 'large'},{10 + n * 37 % 500}\n"
    for n in range(120)
)

JOB = """output = "results"
rules = ["p%:10", "threshold:3"]
attackers = []

[microdata]
file = "data/firms.csv"
contributor = "firm"

[[tables]]
dimensions = ["region", "size"]
response = "turnover"

[suppress]
method = "hypercube"

[release]
formats = ["csv", "html"]
"""

MANY = "firm,region,size,kind,turnover\n" + "".join(
    f"f{n},R{n * 7919 % 113 % 9},S{n * n % 97 % 9},K{n * 104729 % 1009 % 9},{10 + n * n * 31 % 9973}\n"
    for n in range(2500)
)
"""Records of a table whose search takes long."""


class ServiceClient(httpx.Client):
    """Speaks for one user."""

    def send_file(self, name: str, content: bytes | str | Iterator[bytes]) -> dict[str, Any]:
        """Upload a file."""
        return self._json(self.post("/files", params={"name": name}, content=content), 201)

    def submit(self, toml: str, files: dict[str, str], **further: Any) -> str:
        """Queue a job; returns its id."""
        asked = {"toml": toml, "files": files, **further}
        return str(self._json(self.post("/jobs", json=asked), 202)["id"])

    def waited(self, id: str, *states: str) -> dict[str, Any]:
        """The job as soon as it is over, or in one of these states."""
        return self.until(lambda: self.job(id), lambda job: job["state"] in (states or OVER))

    def job(self, id: str) -> dict[str, Any]:
        """Where a job stands."""
        return self._json(self.get(f"/jobs/{id}"), 200)

    def progressed(self, id: str, is_met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What a running job tells as soon as it is as wished."""

        def look() -> dict[str, Any]:
            job = self.job(id)
            assert job["state"] not in OVER, job
            return dict(job["progress"] or {})

        found: dict[str, Any] = self.until(look, lambda told: bool(told) and is_met(told))
        return found

    def until(self, look: Callable[[], Any], is_met: Callable[[Any], bool]) -> Any:
        """What a look shows as soon as it is as wished."""
        end = time.perf_counter() + PATIENCE
        while not is_met(found := look()):
            assert time.perf_counter() < end, found
            time.sleep(0.05)
        return found

    def _json(self, answer: httpx.Response, status: int) -> Any:
        assert answer.status_code == status, answer.text
        return answer.json()


class RunningService:
    """A service, its application, and clients of its users."""

    def __init__(self, app: FastAPI, port: int, server: uvicorn.Server) -> None:
        self.app, self.port, self.server = app, port, server
        self.url = f"http://127.0.0.1:{port}"

    @property
    def desk(self) -> Desk:
        """What is behind the routes."""
        desk: Desk = self.app.state.desk
        return desk

    def client(self, user: str = "ann") -> ServiceClient:
        """A client with the token of a user."""
        headers = {"Authorization": f"Bearer {TOKENS[user]}"}
        return ServiceClient(base_url=f"{self.url}/api/v1", headers=headers, timeout=PATIENCE)

    def stranger(self) -> httpx.Client:
        """A client without a token."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE)


def settings_in(state: Path, users: Users | None = None, **limits: float) -> ServiceSettings:
    """Settings with two users, and other limits than usual."""
    users = users or Users({digest_of(token): name for name, token in TOKENS.items()})
    return ServiceSettings(state, users, limits=ServiceLimits().changed(UNHURRIED | limits))


@contextmanager
def running_service(state: Path, users: Users | None = None, **limits: float) -> Iterator[RunningService]:
    """A service in a thread, until the end of the block."""
    address, settings = Address(port=0), settings_in(state, users, **limits)
    listener, app = listener_at(address), create_app(settings)
    config = server_config(app, address, settings.limits)
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
    thread.start()
    wait_until(lambda: server.started or not thread.is_alive())
    assert server.started
    try:
        yield RunningService(app, listener.getsockname()[1], server)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
