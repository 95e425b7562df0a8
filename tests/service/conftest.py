"""One service for all tests that do not need limits of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cellveil.service import worker_process
from helpers.service import FIRMS, NO_WORKER, SLEEPER, RunningService, ServiceClient, running_service


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs and questions end at once, without an answer."""
    monkeypatch.setattr(worker_process, "COMMAND", NO_WORKER)


@pytest.fixture
def sleepers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs and questions never come to their end."""
    monkeypatch.setattr(worker_process, "COMMAND", SLEEPER)


@pytest.fixture
def small_service(tmp_path: Path) -> Iterator[RunningService]:
    """A service with tight limits on what comes in."""
    limits = {
        "upload": 10_000,
        "unpacked": 50_000,
        "rows": 200,
        "files": 3,
        "storage": 25_000,
        "body": 50_000,
    }
    with running_service(tmp_path / "state", **limits, waiting=2) as running:
        yield running


@pytest.fixture(scope="module")
def hasty_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that does not wait for what comes slowly."""
    with running_service(tmp_path_factory.mktemp("state"), idle_seconds=0.5, slowest=2000) as running:
        yield running


@pytest.fixture
def ann(service: RunningService) -> Iterator[ServiceClient]:
    with service.client("ann") as client:
        yield client


@pytest.fixture
def bob(service: RunningService) -> Iterator[ServiceClient]:
    with service.client("bob") as client:
        yield client


@pytest.fixture
def firms(ann: ServiceClient) -> str:
    """An upload of ann."""
    return str(ann.send_file("firms.csv", FIRMS)["id"])
