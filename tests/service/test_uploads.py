"""Uploads: within limits of size and pace, whole or not there; packed files that burst; odd names."""

import asyncio
import gzip
import io
import os
import socket
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.service.data_limits import check_data
from cellveil.service.job_folders import StateFolder, checked_name, safe_name
from cellveil.service.service_errors import ServiceError
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import Store
from cellveil.service.uploads import Uploads
from helpers.service import TOKENS, RunningService
from helpers.waiting import PATIENCE, wait_until

AUTHORIZATION = f"Authorization: Bearer {TOKENS['ann']}"
LIMITS = {"rows": 100, "unpacked": 100_000}


def left_behind(service: RunningService) -> list[str]:
    """Folders of uploads that the service does not know of."""
    known = set(service.desk.store.file_ids())
    return [path.name for path in service.desk.state.files.iterdir() if path.name not in known]


def blocks(number: int, size: int = 1000) -> Iterator[bytes]:
    for _ in range(number):
        yield b"x" * size


def test_an_upload_that_is_too_large_is_refused_while_it_is_read(small_service: RunningService) -> None:
    with small_service.client() as ann:
        assert ann.post("/files?name=a.csv", content=b"x" * 10_001).status_code == 413
        assert (
            ann.post("/files?name=a.csv", content=blocks(11)).status_code == 413
        )  # chunked: no length is said
        assert ann.post("/files?name=a.csv", content=blocks(10)).status_code == 201
    assert left_behind(small_service) == []


def raw(service: RunningService, head: str, body: bytes) -> bytes:
    """What comes back over a bare socket."""
    with socket.create_connection(("127.0.0.1", service.port)) as line:
        text = f"{head}\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKENS['ann']}\r\n"
        line.sendall(text.encode() + body)
        line.settimeout(PATIENCE)
        return line.recv(10_000)


def test_a_length_that_lies_does_not_help(small_service: RunningService) -> None:
    post = "POST /api/v1/files?name=a.csv HTTP/1.1"
    assert b" 413 " in raw(small_service, post, b"Content-Length: 99999999999999999999\r\n\r\nabc")
    assert b" 400 " in raw(small_service, post, b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef")
    assert left_behind(small_service) == []


def test_an_upload_that_stops_is_ended(hasty_service: RunningService) -> None:
    cut_off = raw(hasty_service, "POST /api/v1/files?name=a.csv HTTP/1.1", b"Content-Length: 100\r\n\r\nabc")
    assert b" 408 " in cut_off
    assert left_behind(hasty_service) == []


def test_an_upload_that_comes_drop_by_drop_is_ended(hasty_service: RunningService) -> None:
    with socket.create_connection(("127.0.0.1", hasty_service.port)) as line:
        head = f"POST /api/v1/files?name=a HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZATION}\r\n"
        line.sendall(f"{head}Content-Length: 5000\r\n\r\n".encode())
        answer = b""
        line.settimeout(0.1)
        for _ in range(1000):  # hardly ever idle for long, and far too slow
            with suppress(TimeoutError):
                line.sendall(b"x")
                answer = line.recv(10_000)
                break
    assert b" 408 " in answer
    assert left_behind(hasty_service) == []


def test_a_line_that_breaks_leaves_nothing(small_service: RunningService) -> None:
    with socket.create_connection(("127.0.0.1", small_service.port)) as line:
        head = f"POST /api/v1/files?name=a HTTP/1.1\r\nHost: localhost\r\n{AUTHORIZATION}\r\n"
        line.sendall(f"{head}Content-Length: 5000\r\n\r\nabc".encode())
        wait_until(lambda: left_behind(small_service) != [])
    wait_until(lambda: left_behind(small_service) == [])
    assert small_service.desk.store.file_ids() == []


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = StateFolder(tmp_path)
    uploads = Uploads(Store(state.database), state, ServiceLimits())

    def no_room(path: Path) -> None:
        raise OSError(28, os.strerror(28))

    async def some() -> object:
        yield b"a,b\n1,2\n"

    monkeypatch.setattr("cellveil.service.uploads.flush_file", no_room)
    with pytest.raises(ServiceError, match="could not be kept") as caught:
        asyncio.run(uploads.take("ann", "a.csv", some()))  # type: ignore[arg-type]
    assert caught.value.status == 507
    assert list(state.files.iterdir()) == []


def test_users_have_room_for_so_much(small_service: RunningService) -> None:
    with small_service.client() as ann, small_service.client("bob") as bob:
        assert ann.post("/files?name=a", content=b"x" * 9000).status_code == 201
        assert ann.post("/files?name=b", content=b"x" * 9000).status_code == 201
        assert ann.post("/files?name=c", content=b"x" * 9000).status_code == 429  # bytes
        assert ann.post("/files?name=c", content=b"x").status_code == 201
        assert ann.post("/files?name=d", content=b"x").status_code == 429  # files
        assert bob.post("/files?name=d", content=b"x").status_code == 201
        assert bob.post("/files?name=e", content=b"").status_code == 422
    assert left_behind(small_service) == []


def test_a_request_that_is_no_upload_is_small(small_service: RunningService) -> None:
    with small_service.client() as ann:
        assert ann.post("/drafts", content=b"[" * 60_000).status_code == 413
        assert ann.post("/drafts", content=blocks(60)).status_code == 413
        deep = b"[" * 40_000
        answer = ann.post("/drafts", content=deep, headers={"content-type": "application/json"})
        assert answer.status_code == 400


NAMES = [
    "../../etc/passwd",
    "..\\..\\boot.ini",
    "/etc/passwd",
    "a\x00b.csv",
    "con.csv",
    "x" * 190,
    ".hidden",
    "<b>.csv",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_shown_and_are_no_paths(service: RunningService, name: str) -> None:
    with service.client() as ann:
        file = ann.send_file(name, "a\n1\n")
        assert file["name"] == name
        stored = file["stored"]
        assert checked_name(stored) == stored == safe_name(name) and "/" not in stored
        folder = service.desk.state.file(file["id"])
        assert [path.name for path in folder.iterdir()] == [stored]
        assert ann.delete(f"/files/{file['id']}").status_code == 204
        assert not folder.exists()


# -- packed files --------------------------------------------------------------------------------------------


def burst_zip(size: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * size)
    return packed.getvalue()


def test_a_workbook_that_bursts_is_refused_at_once(small_service: RunningService) -> None:
    with small_service.client() as ann:
        answer = ann.post("/files?name=book.xlsx", content=burst_zip(1_000_000))
    assert answer.status_code == 422 and "unpacks" in answer.json()["error"]["message"]
    assert left_behind(small_service) == []


def test_packed_files_that_burst_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x" * 1_000_000))
    (tmp_path / "b.xlsx").write_bytes(burst_zip(1_000_000))
    (tmp_path / "c.csv").write_text("a\n" * 200)
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a\n" * 200))
    (tmp_path / "e.csv.gz").write_bytes(gzip.compress(b"a\n" * 20)[:-9])
    words = {"a.csv.gz": "unpacks", "b.xlsx": "unpacks", "c.csv": "100 records", "d.csv.gz": "100 records"}
    for name, word in (words | {"e.csv.gz": "not a readable"}).items():
        with pytest.raises(InputError, match=word):
            check_data({name: tmp_path / name}, LIMITS)


def test_a_zip_that_lies_about_its_size_is_cut_short_by_its_reader() -> None:
    """What is read of an entry is what its directory says, at most: so the directory may be trusted."""
    packed = bytearray(burst_zip(1_000_000))
    true = (1_000_000).to_bytes(4, "little")
    assert packed.count(true) == 2
    lying = bytes(packed).replace(true, (10).to_bytes(4, "little"))
    with zipfile.ZipFile(io.BytesIO(lying)) as archive, pytest.raises(zipfile.BadZipFile):
        assert len(archive.read(archive.namelist()[0])) <= 10


def test_parquet_with_too_many_records_is_not_read(tmp_path: Path) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": pa.nulls(100_000, pa.int64())}), tmp_path / "many.parquet")
    assert (tmp_path / "many.parquet").stat().st_size < 2_000
    with pytest.raises(InputError, match="100 records"):
        check_data({"many.parquet": tmp_path / "many.parquet"}, LIMITS)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(InputError, match="readable"):
        check_data({"bad.parquet": tmp_path / "bad.parquet"}, LIMITS)
