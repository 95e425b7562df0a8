"""Clients that send half of a head, or open many connections, keep no other client away."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from helpers.service import RunningService, running_service
from helpers.waiting import PATIENCE, wait_until

HALF = b"GET /api/v1/about HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
WHOLE = b"GET /api/v1/texts/en HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
MOST = 4


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[RunningService]:
    """A service with few connections for an address, and ample time for heads."""
    with running_service(tmp_path / "state", connections=MOST) as service:
        yield service


@contextmanager
def line_to(service: RunningService, *sent: bytes) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as line:
        for part in sent:
            line.sendall(part)
        yield line


def is_ended(line: socket.socket) -> bool:
    """Wait until the service says something, or ends the connection: whether it has ended it."""
    try:
        return line.recv(1) == b""
    except ConnectionError:
        return True


def answered(line: socket.socket) -> bytes:
    """The answer to a whole request, which tells its length."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += line.recv(65_536)
    head, _, body = got.partition(b"\r\n\r\n")
    [length] = [part for part in head.lower().split(b"\r\n") if part.startswith(b"content-length:")]
    while len(body) < int(length.split(b":")[1]):
        body += line.recv(65_536)
    return head


def test_half_sent_heads_keep_no_client_of_the_same_address_away(narrow: RunningService) -> None:
    with ExitStack() as lines, narrow.stranger() as stranger:
        halves = [lines.enter_context(line_to(narrow, HALF)) for _ in range(10 * MOST)]
        assert stranger.get("/api/v1/texts/en").status_code == 200
        assert all(is_ended(line) for line in halves[: -MOST + 1])
        wait_until(lambda: len(narrow.server.server_state.connections) <= MOST)


def test_a_connection_that_was_used_lately_stays(narrow: RunningService) -> None:
    with ExitStack() as lines:
        first = lines.enter_context(line_to(narrow, HALF))
        used = lines.enter_context(line_to(narrow, WHOLE))
        assert answered(used).startswith(b"HTTP/1.1 200")
        for _ in range(MOST - 1):
            lines.enter_context(line_to(narrow, HALF))
        assert is_ended(first)
        used.sendall(WHOLE)
        assert answered(used).startswith(b"HTTP/1.1 200")


def test_requests_that_have_begun_are_left_alone(narrow: RunningService) -> None:
    post = b"POST /api/v1/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n"
    with ExitStack() as lines:
        begun = [lines.enter_context(line_to(narrow, post)) for _ in range(MOST)]
        wait_until(lambda: len(narrow.server.server_state.tasks) == MOST)
        with line_to(narrow, WHOLE) as further:
            assert answered(further).startswith(b"HTTP/1.1 503")
        for line in begun:
            line.sendall(b"{}")
            assert answered(line).startswith(b"HTTP/1.1 422")


def test_a_head_must_be_whole_in_time_also_the_second_one(
    narrow: RunningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    with line_to(narrow, WHOLE) as kept:
        assert answered(kept).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(narrow.server.config.http_protocol_class, "head_seconds", 0.01)
        kept.sendall(HALF)
        assert is_ended(kept)
    for sent in (b"", HALF):
        with line_to(narrow, sent) as line:
            assert is_ended(line)
    wait_until(lambda: not narrow.server.server_state.connections)


def test_answers_are_sent_at_once(narrow: RunningService) -> None:
    with line_to(narrow, WHOLE) as line:
        answered(line)
        [connection] = narrow.server.server_state.connections
        accepted = connection.transport.get_extra_info("socket")  # type: ignore[union-attr]
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_who_has_no_session_sends_little(narrow: RunningService) -> None:
    with narrow.stranger() as stranger:
        assert stranger.post("/api/v1/session", content=b"x" * 20_000).status_code == 413
