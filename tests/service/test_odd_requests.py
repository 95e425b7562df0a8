"""Requests that nobody sends by accident: half characters, numbers that are none, odd ids; odd starts."""

import socket
from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.publishing.lock import locked
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.serving import Address, serve
from cellveil.service.users import Users, digest_of, new_token, user_line
from helpers.service import ServiceClient

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        r'{"verb": "audit", "draft": {"a": "\ud800"}}',
        r'{"verb": "run", "toml": "\ud800"}',
        r'{"verb": "run", "name": "\udfff"}',
        '{"verb": "run", "draft": {"a": NaN}}',
        '{"verb": "run", "draft": {"a": -Infinity}}',
        '{"verb": "run", "draft": {"a": 1e999}}',
        '{"verb": "run", "options": {"options": {"a": NaN}}}',
        '{"verb": "run", "toml": 5}',
        '{"verb": "run", "files": {"../x": "abcdefghijklmnop"}}',
        '{"verb": "run", "files": {"job.toml": "dataset:business/firms.csv"}}',
        '{"verb": "run", "files": {"a": "dataset:business/../../service.db"}}',
        '{"verb": "audit", "options": {"instance": "/etc", "pattern": "/etc/passwd"}}',
        '{"verb": "audit", "options": {"instance": "..", "pattern": "."}}',
        '{"verb": "explain"}',
        '{"verb": "dataset"}',
        "[" * 900 + "]" * 900,
        "null",
    ],
)
def test_what_is_no_job_is_refused(ann: ServiceClient, body: str) -> None:
    before = ann.get("/jobs").json()
    answer = ann.post("/jobs", content=body, headers=JSON)
    assert answer.status_code in (400, 404, 422), answer.text
    assert answer.json()["error"]["message"]
    assert ann.get("/jobs").json() == before


@pytest.mark.parametrize("id", ["..", "%2e%2e", "a" * 16, "a" * 200, "%00" * 16, "-" * 16])
def test_odd_ids_are_not_found(ann: ServiceClient, id: str) -> None:
    assert ann.get(f"/jobs/{id}/request").status_code in (404, 422)
    assert ann.delete(f"/files/{id}").status_code in (404, 405, 422)


@pytest.mark.parametrize("seen", ["9" * 20, "-1", "x", "1e5", "²"])
def test_odd_numbers_of_events_count_as_none(
    ann: ServiceClient, firms: str, no_workers: None, seen: str
) -> None:
    files = {"a": firms, "b": firms}
    asked = {"verb": "audit", "files": files, "options": {"instance": "a", "pattern": "b"}}
    id = ann.post("/jobs", json=asked).json()["id"]
    ann.post(f"/jobs/{id}/cancel")
    headers = {"Last-Event-ID": seen.encode("utf-8")}
    answer = ann.get(f"/jobs/{id}/events", headers=headers)
    assert answer.status_code == 200 and "event: end" in answer.text
    ann.delete(f"/jobs/{id}")


# -- starting ------------------------------------------------------------------------------------------------


def started(address: Address, state: Path, users: Path | None = None) -> None:
    def tell(text: str) -> None:
        raise AssertionError(text)

    serve(address, state, users, ServiceLimits(), tell)


def test_two_services_do_not_share_a_state(tmp_path: Path) -> None:
    with locked(tmp_path / "state"), pytest.raises(InputError):
        started(Address(port=0), tmp_path / "state")


def test_an_address_that_is_taken_is_told(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match="cannot listen"):
            started(Address(port=other.getsockname()[1]), tmp_path / "state")


def test_nothing_is_open_to_other_machines_by_accident(tmp_path: Path) -> None:
    users, pem = tmp_path / "users.txt", tmp_path / "x.pem"
    users.write_text(user_line("ann", new_token()) + "\n")
    pem.write_text("no certificate")
    for address, given in (
        (Address("0.0.0.0"), users),
        (Address("0.0.0.0", is_public=True), users),
        (Address("0.0.0.0", is_public=True, certificate=pem, key=pem), None),
        (Address("::", is_public=True), None),
        (Address(certificate=pem), users),
        (Address(certificate=tmp_path / "none", key=pem), users),
    ):
        with pytest.raises(InputError):
            started(address, tmp_path / "state", given)
    assert Address("0.0.0.0", is_public=True, names=("Tables.Example.",)).hosts() >= {"tables.example"}
    assert "0.0.0.0" not in Address("0.0.0.0").hosts()


def test_the_list_of_users(tmp_path: Path) -> None:
    file, token = tmp_path / "users.txt", new_token()
    file.write_text(f"# those who may\n\n{user_line('ann', token)}\n")
    users = Users.read(file)
    assert (users.of(token), users.of(""), users.of(token[:-1])) == (("ann", digest_of(token)), None, None)
    assert token not in file.read_text() and "ann" not in repr(users)
    for text in ("ann:abc", "a/b:" + "0" * 64, "", f"{user_line('a', token)}\n{user_line('b', token)}"):
        file.write_text(f"{text}\n#\n")
        with pytest.raises(InputError):
            Users.read(file)
