"""The list of users while the service runs: who is removed from it loses access at once."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cellveil.service.service_errors import ServiceError
from cellveil.service.users import Users, user_line
from helpers.service import FIRMS, JOB, TOKENS, RunningService, running_service

ANN, BOB = (user_line(name, TOKENS[name]) for name in ("ann", "bob"))


def written(file: Path, *lines: str) -> Path:
    """Write a list of users; whatever the clock of the file system, it has changed."""
    file.write_text("".join(f"{line}\n" for line in lines))
    stamp = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))
    return file


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[tuple[RunningService, Path]]:
    """A service with a list of users, and the list."""
    file = written(tmp_path / "users.txt", ANN, BOB)
    with running_service(tmp_path / "state", users=Users.read(file)) as service:
        yield service, file


def test_a_removed_user_loses_token_and_session_at_once(listed: tuple[RunningService, Path]) -> None:
    service, file = listed
    with service.client() as ann, service.client("bob") as bob, service.stranger() as page:
        secret = page.post("/api/v1/session", json={"token": TOKENS["ann"]}).json()["session"]
        page.headers["Authorization"] = f"Bearer {secret}"
        assert [one.get("/about").status_code for one in (ann, bob)] == [200, 200]
        assert page.get("/api/v1/about").status_code == 200
        written(file, BOB)
        assert [one.get("/about").status_code for one in (ann, bob)] == [401, 200]
        assert page.get("/api/v1/about").status_code == 401
        written(file, BOB, user_line("ann", "another token"))
        assert page.get("/api/v1/about").status_code == ann.get("/about").status_code == 401
        written(file, ANN, BOB)
        assert page.get("/api/v1/about").status_code == ann.get("/about").status_code == 200


def test_the_events_of_a_removed_user_end(listed: tuple[RunningService, Path], sleepers: None) -> None:
    service, file = listed
    with service.client() as ann:
        id = ann.submit(JOB, {"data/firms.csv": ann.send_file("firms.csv", FIRMS)["id"]})
        with ann.stream("GET", f"/jobs/{id}/events") as events:
            lines = events.iter_lines()
            while next(lines) != 'data: {"state": "running"}':
                pass
            written(file, BOB)
            service.desk.supervisor.cancel(id)  # an event that would be told
            with pytest.raises(httpx.RemoteProtocolError):
                assert "cancelled" not in "".join(lines)


@pytest.mark.parametrize("lines", [["ann"], [], [BOB, "ann:"]])
def test_a_list_that_cannot_be_read_lets_no_user_in(
    listed: tuple[RunningService, Path], lines: list[str]
) -> None:
    service, file = listed
    with service.client("bob") as bob:
        written(file, *lines)
        assert bob.get("/about").status_code == 503
        file.unlink()
        assert bob.get("/about").status_code == 503
        written(file, BOB)
        assert bob.get("/about").status_code == 200


def test_a_list_is_read_again_only_when_it_has_changed(tmp_path: Path) -> None:
    users = Users.read(written(tmp_path / "users.txt", ANN))
    first = users._current()
    assert users._current() is first
    written(tmp_path / "users.txt", BOB)
    assert users.of(TOKENS["ann"]) is None and users.of(TOKENS["bob"])
    (tmp_path / "users.txt").unlink()
    with pytest.raises(ServiceError):
        users.of(TOKENS["bob"])
