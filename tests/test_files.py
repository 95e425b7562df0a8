"""Files are whole or not there, keep their permissions, and errors name them."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.files import atomic_path, read_text, read_text_lines, sha256, write_bytes, write_text

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
not_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write everywhere"
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("old", [None, "old"])
@pytest.mark.parametrize("fault", [ValueError("x"), KeyboardInterrupt(), InputError("x")])
def test_a_failure_leaves_what_was_there(tmp_path, old, fault):
    target = tmp_path / "t.csv"
    if old:
        target.write_text(old)
    with pytest.raises(type(fault)), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise fault
    assert names(tmp_path) == (["t.csv"] if old else [])
    assert not old or target.read_text() == old


def test_a_full_disk_is_an_input_error_and_changes_nothing(tmp_path):
    target = tmp_path / "t.csv"
    target.write_text("old")
    full = pytest.raises(InputError, match=r"t\.csv: cannot write \(No space left")
    with full as caught, atomic_path(target) as temporary:
        temporary.write_text("half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert "nothing was changed" in str(caught.value)
    assert names(tmp_path) == ["t.csv"]
    assert target.read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_after_the_block_changes_nothing(tmp_path, monkeypatch, step):
    target = tmp_path / "t.csv"
    target.write_text("old")

    def fail(*_args, **_more):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(*((os, "fsync") if step == "fsync" else (Path, "replace")), fail)
    with pytest.raises(InputError, match="broken"):
        write_text(target, "new")
    assert names(tmp_path) == ["t.csv"]
    assert target.read_text() == "old"


def test_readers_see_the_old_file_until_the_end(tmp_path):
    target = tmp_path / "t.csv"
    target.write_text("old")
    with atomic_path(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == target.parent
        assert temporary.suffix == ".csv"
    assert target.read_text() == "new"
    assert names(tmp_path) == ["t.csv"]


def test_content_is_flushed_to_disk_before_the_rename(tmp_path, monkeypatch):
    target, flushed = tmp_path / "t.csv", []
    real = os.fsync

    def spy(handle):
        assert not target.exists()
        os.write(handle, b"")  # some systems flush only handles that are open for writing
        flushed.append(os.fstat(handle).st_size)
        real(handle)

    monkeypatch.setattr(os, "fsync", spy)
    write_bytes(target, b"12345")
    assert flushed == [5]


def test_folders_are_made(tmp_path):
    write_text(tmp_path / "a" / "b" / "t.csv", "x\n")
    assert (tmp_path / "a" / "b" / "t.csv").read_bytes() == b"x\n"


def test_text_has_unix_line_ends_and_is_utf8(tmp_path):
    write_text(tmp_path / "t.csv", "é\n")
    assert (tmp_path / "t.csv").read_bytes() == "é\n".encode()


def test_a_file_in_place_of_a_folder(tmp_path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(InputError, match="cannot write"):
        write_text(tmp_path / "a" / "t.csv", "x")


def test_a_folder_in_place_of_the_file(tmp_path):
    (tmp_path / "t.csv").mkdir()
    for folder in (tmp_path / "t.csv", tmp_path / "t.csv" / "."):
        with pytest.raises(InputError, match=r"t\.csv: cannot write"):
            write_text(folder, "x")
    with pytest.raises(InputError, match="cannot write"):
        write_text(Path(), "x")
    assert names(tmp_path) == ["t.csv"]


@posix
def test_what_is_not_a_regular_file_is_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        write_text(tmp_path / "pipe", "x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@posix
@pytest.mark.parametrize(("mask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
def test_new_files_follow_the_umask(tmp_path, mask, expected):
    before = os.umask(mask)
    try:
        write_text(tmp_path / "t.csv", "x")
        with atomic_path(tmp_path / "u.csv") as temporary:  # a library may remove the file and make it anew
            temporary.unlink()
            temporary.write_text("x")
    finally:
        os.umask(before)
    assert mode(tmp_path / "t.csv") == mode(tmp_path / "u.csv") == expected


@posix
def test_an_overwritten_file_keeps_its_permissions(tmp_path):
    target = tmp_path / "confidential.csv"
    target.write_text("old")
    target.chmod(0o600)
    before = os.umask(0o022)
    try:
        with atomic_path(target) as temporary:
            assert mode(temporary) == 0o600
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert (target.read_text(), mode(target)) == ("new", 0o600)


@posix
def test_the_umask_of_the_process_is_never_lifted(tmp_path, monkeypatch):
    def forbidden(_mask):
        raise AssertionError("another thread could create a file meanwhile")

    monkeypatch.setattr(os, "umask", forbidden)
    write_text(tmp_path / "t.csv", "x")


@not_root
def test_missing_rights(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot write") as caught:
            write_text(tmp_path / "t.csv", "x")
    finally:
        tmp_path.chmod(0o700)
    assert "folder you may write to" in str(caught.value)
    assert names(tmp_path) == []


def test_rights_missing_as_the_system_says(tmp_path, monkeypatch):
    def refuse(*_args, **_more):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(InputError, match=r"t\.csv: cannot write \(Permission denied\)"):
        write_text(tmp_path / "t.csv", "x")


def test_two_writers_leave_one_whole_file(tmp_path):
    target = tmp_path / "t.csv"
    texts = [str(number) * 20_000 for number in range(8)]
    threads = [threading.Thread(target=write_text, args=(target, text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in texts
    assert names(tmp_path) == ["t.csv"]


def test_long_names(tmp_path):
    for name in ("é" * 120 + ".csv", "x" * 250):
        write_text(tmp_path / name, "x")
    assert len(names(tmp_path)) == 2


# -- reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"", None, "is empty"),
        (b" \n\t\n", None, "is empty"),
        (b"\xef\xbb\xbf", None, "is empty"),
        (b"\xef\xbb\xbf \n", "utf-8", "is empty"),
        (b"a\nb\xe9\n", None, "line 2: the text is not encoded in UTF-8"),
        (b"a\n\xff\n", "ascii", "line 2: the text is not encoded in ascii"),
        (b"a\x00b", None, "is binary"),
        (b"a", "klingon", "unknown encoding 'klingon'"),
        (b"61", "hex", "unknown encoding 'hex'"),
    ],
)
def test_reading_says_what_is_wrong(tmp_path, data, encoding, message):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(InputError, match=message) as caught:
        read_text(tmp_path / "t.csv", encoding)
    assert str(tmp_path / "t.csv") in str(caught.value)
    assert caught.value.remedy


def test_reading_what_is_not_there(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_text(tmp_path / "t.csv")
    with pytest.raises(InputError, match="a folder where a file is expected"):
        read_text(tmp_path)
    (tmp_path / "f").write_text("x")
    with pytest.raises(InputError, match="cannot read"):
        read_text(tmp_path / "f" / "t.csv")


@not_root
def test_reading_without_rights(tmp_path):
    (tmp_path / "t.csv").write_text("x")
    (tmp_path / "t.csv").chmod(0)
    with pytest.raises(InputError, match="Check your rights"):
        read_text(tmp_path / "t.csv")


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig"])
def test_a_byte_order_mark_is_dropped(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfa\xc3\xa9\r\nb\n")
    assert read_text(tmp_path / "t.csv", encoding) == "aé\r\nb\n"


def test_other_encodings(tmp_path):
    (tmp_path / "t.csv").write_bytes("é€".encode("cp1252"))
    assert read_text(tmp_path / "t.csv", "cp1252") == "é€"
    (tmp_path / "t.csv").write_bytes("é€".encode("utf-16"))
    assert read_text(tmp_path / "t.csv", "utf-16") == "é€"


def test_lines_end_where_editors_end_them(tmp_path):
    (tmp_path / "t.csv").write_bytes("a\r\nb\rc\u2028d\x0ce\x85f\n\ng".encode())
    assert read_text_lines(tmp_path / "t.csv") == ["a", "b", "c\u2028d\x0ce\x85f", "", "g"]
    (tmp_path / "t.csv").write_bytes(b"a\n")
    assert read_text_lines(tmp_path / "t.csv") == ["a"]


def test_digest_counts_borders():
    assert sha256(b"ab", b"c") != sha256(b"a", b"bc") != sha256(b"abc")
    assert sha256(b"a") == sha256(b"a")
