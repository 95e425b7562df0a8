"""Who is let in: token, session, host, origin, CSRF; what every answer carries; whose things are whose."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from helpers.service import TOKENS, RunningService, ServiceClient

SECRET_ROUTES = ("/api/v1/about", "/api/v1/jobs", "/api/v1/files", "/api/v1/openapi.json", "/api/v1/nothing")


@pytest.mark.parametrize("path", SECRET_ROUTES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {TOKENS['ann']}"},
        {"Cookie": f"cellveil_session={TOKENS['ann']}"},
    ],
)
def test_nothing_without_a_token(service: RunningService, path: str, headers: dict[str, str]) -> None:
    with service.stranger() as stranger:
        answer = stranger.get(path, headers=headers)
    assert answer.status_code == 401
    assert answer.json() == {"error": {"kind": "unauthorised", "message": "a valid token is needed."}}


def test_a_token_in_the_address_is_no_token(service: RunningService) -> None:
    with service.stranger() as stranger:
        assert stranger.get("/api/v1/about", params={"token": TOKENS["ann"]}).status_code == 401


def test_every_route_is_behind_the_guard(service: RunningService) -> None:
    """But the session itself and the texts of its page."""
    paths = service.app.openapi()["paths"]
    with service.stranger() as stranger:
        for path, operations in paths.items():
            for method in operations:
                answer = stranger.request(method.upper(), path.replace("{", "").replace("}", ""))
                is_open = (method, path) == ("post", "/api/v1/session") or path == "/api/v1/texts/{language}"
                assert (answer.status_code == 401) != is_open, (method, path)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil", "", "127.0.0.1:x"]
)
def test_other_names_are_refused(ann: ServiceClient, host: str) -> None:
    assert ann.get("/about", headers={"Host": host}).status_code in (400, 421)
    assert ann.get("/about", headers={"Host": "localhost:1"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_other_pages_are_refused(ann: ServiceClient, origin: str) -> None:
    assert ann.get("/about", headers={"Origin": origin}).status_code == 403


def test_the_page_of_the_service_is_let_in(service: RunningService, ann: ServiceClient) -> None:
    assert ann.get("/about", headers={"Origin": service.url}).status_code == 200


def test_two_headers_where_one_belongs(service: RunningService) -> None:
    with service.stranger() as stranger:
        headers = [("Authorization", "Bearer x"), ("Authorization", f"Bearer {TOKENS['ann']}")]
        assert stranger.get("/api/v1/about", headers=headers).status_code == 400


@contextmanager
def page_of(service: RunningService, token: str = TOKENS["ann"]) -> Iterator[httpx.Client]:
    """What the page does: begin a session, and send its secret."""
    with service.stranger() as client:
        answer = client.post("/api/v1/session", json={"token": token})
        assert answer.status_code == 200 and answer.json()["user"] == "ann"
        client.headers["Authorization"] = f"Bearer {answer.json()['session']}"
        yield client


def test_a_session_is_as_good_as_the_token_until_it_ends(service: RunningService) -> None:
    with page_of(service) as page, page_of(service) as other:
        assert page.get("/api/v1/session").json() == {"user": "ann", "session": None}
        answer = page.post("/api/v1/files?name=x.csv", content=b"a\n1\n")
        assert answer.status_code == 201
        assert page.delete(f"/api/v1/files/{answer.json()['id']}").status_code == 204
        secret = page.headers["Authorization"].removeprefix("Bearer ")
        assert page.get("/api/v1/session", headers={"Authorization": f"Basic {secret}"}).status_code == 401
        assert page.delete("/api/v1/session").status_code == 204
        assert page.get("/api/v1/session").status_code == 401
        assert other.get("/api/v1/session").status_code == 200


def test_no_cookie_is_set_and_none_lets_in(service: RunningService) -> None:
    """Browsers send cookies to every port of a host: to other programs too."""
    with page_of(service) as page, service.stranger() as stranger:
        secret = page.headers["Authorization"].removeprefix("Bearer ")
        for path in ("/", "/api/v1/session", "/api/v1/about"):
            assert "set-cookie" not in page.get(path).headers
        for name in ("cellveil_session", f"cellveil_session_{service.port}", "session"):
            answer = stranger.get("/api/v1/session", headers={"Cookie": f"{name}={secret}"})
            assert answer.status_code == 401


def test_a_wrong_token_begins_no_session(service: RunningService) -> None:
    with service.stranger() as stranger:
        answer = stranger.post("/api/v1/session", json={"token": "wrong"})
    assert answer.status_code == 401 and "session" not in answer.json()


@pytest.mark.parametrize("path", ["/", "/api/v1/about", "/api/v1/jobs", "/nothing", "/components/cells.js"])
def test_answers_keep_browsers_from_harm(service: RunningService, ann: ServiceClient, path: str) -> None:
    answer = ann.get(f"{service.url}{path}")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")


@pytest.mark.parametrize(
    "path", ["/page/../service_errors.py", "/page/%2e%2e/store.py", "/components/..%2fx"]
)
def test_the_page_has_no_other_files(service: RunningService, path: str) -> None:
    with service.stranger() as stranger:
        assert stranger.get(path).status_code in (404, 405)


def test_what_is_of_others_is_not_there(
    ann: ServiceClient, bob: ServiceClient, firms: str, no_workers: None
) -> None:
    assert firms not in bob.get("/files").text
    assert bob.delete(f"/files/{firms}").status_code == 404
    assert bob.post(f"/files/{firms}/columns").status_code == 404
    choices = {"dimensions": [{"name": "region"}]}
    assert bob.post("/drafts", json={"source": {"file": firms}, "choices": choices}).status_code == 404
    taken = {"toml": "", "files": {"data/firms.csv": firms}}
    assert bob.post("/jobs", json=taken).status_code == 404
    assert bob.post("/checks", json=taken).status_code == 404
    asked = {"verb": "audit", "files": {"a": firms, "b": firms}, "options": {"instance": "a", "pattern": "b"}}
    id = ann.post("/jobs", json=asked).json()["id"]
    below = (
        "",
        "/request",
        "/events",
        "/result",
        "/view",
        "/view/cells.json",
        "/downloads",
        "/downloads/job.zip",
    )
    for rest in (*below, "/cells/N/explanation"):
        assert bob.get(f"/jobs/{id}{rest}").status_code == 404, rest
    for verb in ("stop", "cancel", "again"):
        assert bob.post(f"/jobs/{id}/{verb}").status_code == 404
    assert bob.delete(f"/jobs/{id}").status_code == 404
    assert id not in bob.get("/jobs").text and id in ann.get("/jobs").text
    assert ann.delete(f"/jobs/{id}").status_code == 204
