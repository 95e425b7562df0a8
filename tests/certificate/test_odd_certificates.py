"""Certificates that are no certificates: a clear error, in little memory and time."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cellveil.certificate import Certificate, read_certificate
from cellveil.certificate.certificate import MAGIC
from cellveil.errors import InputError
from helpers.command import Command

HEADER: dict[str, Any] = {
    "version": 1,
    "instance": "a",
    "pattern": "b",
    "attacker": "outsider",
    "witnesses": 1,
    "entries": 1,
}
BODY = (
    (1).to_bytes(4, "little")
    + (1).to_bytes(8, "little")
    + (0).to_bytes(4, "little")
    + (5).to_bytes(8, "little")
)


def packed(header: Any, body: bytes = BODY, after: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode() + b"\n"
    stream = zlib.compress(text + body) + after
    return MAGIC + hashlib.sha256(stream).digest() + stream


ODD: dict[str, bytes] = {
    "empty": b"",
    "letters only": MAGIC,
    "not zlib": MAGIC + hashlib.sha256(b"x").digest() + b"x",
    "wrong digest": packed(HEADER)[:-1],
    "no line": packed(b"{}"),
    "header without end": packed(b"[" * 100_000),
    "deep header": packed(b"[" * 4000 + b"\n"),
    "list": packed([1]),
    "number": packed(7),
    "nan": packed({**HEADER, "entries": float("nan")}),
    "infinite": packed({**HEADER, "witnesses": float("inf")}),
    "float": packed({**HEADER, "entries": 1.0}),
    "text": packed({**HEADER, "entries": "1"}),
    "true": packed({**HEADER, "entries": True}),
    "null": packed({**HEADER, "instance": None}),
    "negative": packed({**HEADER, "entries": -1}),
    "negative and large": packed({**HEADER, "witnesses": -(2**62), "entries": 2**62}),
    "huge": packed({**HEADER, "entries": 2**62}),
    "huge digits": packed(
        json.dumps(HEADER).replace('"entries": 1', '"entries": ' + "9" * 3000).encode() + b"\n"
    ),
    "missing": packed({k: v for k, v in HEADER.items() if k != "pattern"}),
    "another version": packed({**HEADER, "version": 3}),
    "version 2 without attackers": packed({**HEADER, "version": 2}),
    "short": packed(HEADER, BODY[:-1]),
    "long": packed(HEADER, BODY + b"x"),
    "something after the stream": packed(HEADER, BODY, b"more"),
    "length of 0": packed(HEADER, bytes(4) + BODY[4:]),
    "length that wraps": packed({**HEADER, "witnesses": 2}, b"\xff\xff\xff\x7f" * 2 + bytes(16) + bytes(12)),
    "no text": packed(b"\xff\xfe\n"),
}

INSIDER: dict[str, Any] = {
    "kind": "insider",
    "level": "unit",
    "coalition": 1,
    "p": None,
    "q": 100.0,
    "prior": None,
    "exempt": 1,
}
HEADER_2 = {**HEADER, "version": 2, "attackers": [INSIDER], "contributions": "c", "claims": 1}
BODY_2 = BODY + bytes(8) + b"\x01\xff" + (3).to_bytes(4, "little")


def with_attacker(**changes: Any) -> bytes:
    return packed({**HEADER_2, "attackers": [{**INSIDER, **changes}]}, BODY_2)


ODD |= {
    "no attackers": packed({**HEADER_2, "attackers": []}, BODY_2),
    "attackers by name": packed({**HEADER_2, "attackers": {"insider": 1}}, BODY_2),
    "attacker as text": packed({**HEADER_2, "attackers": ["insider"]}, BODY_2),
    "attacker without level": packed({**HEADER_2, "attackers": [{"kind": "insider", "exempt": 1}]}, BODY_2),
    "kind": with_attacker(kind="everybody"),
    "kind as list": with_attacker(kind=[]),
    "level": with_attacker(level="firm"),
    "coalition of 0": with_attacker(coalition=0),
    "coalition of half": with_attacker(coalition=0.5),
    "coalition of true": with_attacker(coalition=True),
    "huge coalition": with_attacker(coalition=10**9),
    "insider with p": with_attacker(p=10.0),
    "pq without p": with_attacker(kind="pq"),
    "p above q": with_attacker(kind="pq", p=50.0, q=20.0),
    "q above 100": with_attacker(kind="pq", p=50.0, q=200.0),
    "p as text": with_attacker(kind="pq", p="10"),
    "p is nan": with_attacker(kind="pq", p=float("nan")),
    "outsider with a coalition": with_attacker(kind="outsider", coalition=2),
    "exempt outsider": with_attacker(kind="outsider"),
    "negative exempt": with_attacker(exempt=-1),
    "exempt as list": with_attacker(exempt=[3]),
    "many exempt": with_attacker(exempt=2**60),
    "more exempt than there are": with_attacker(exempt=2),
    "contributions as number": packed({**HEADER_2, "contributions": 7}, BODY_2),
    "no contributions": packed({k: v for k, v in HEADER_2.items() if k != "contributions"}, BODY_2),
    "claims as text": packed({**HEADER_2, "claims": "1"}, BODY_2),
    "negative claims": packed({**HEADER_2, "claims": -1}, BODY_2),
    "huge claims": packed({**HEADER_2, "claims": 2**61}, BODY_2),
    "claims left out": packed(HEADER_2, BODY),
    "claims too long": packed(HEADER_2, BODY_2 + b"x"),
}


def test_a_regular_one_of_version_2_is_read() -> None:
    read = Certificate.from_bytes(packed(HEADER_2, BODY_2))
    assert read.version == 2 and read.attackers[0].exempt == (3,)
    assert (read.claims.up.tolist(), read.claims.signs.tolist()) == ([1], [-1])
    assert Certificate.from_bytes(read.to_bytes()).to_bytes() == read.to_bytes()


def test_too_many_attackers_are_not_written() -> None:
    read = Certificate.from_bytes(packed(HEADER_2, BODY_2))
    with pytest.raises(InputError, match="too many attackers"):
        replace(read, attackers=read.attackers * 100).to_bytes()


@pytest.mark.parametrize("name", ODD)
def test_odd_certificates_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "cert").write_bytes(ODD[name])
    with pytest.raises(InputError):
        read_certificate(tmp_path / "cert")


def test_a_regular_one_is_read() -> None:
    read = Certificate.from_bytes(packed(HEADER))
    assert (
        read.numerators.tolist() == [5]
        and read.to_bytes() == Certificate.from_bytes(read.to_bytes()).to_bytes()
    )


@pytest.mark.parametrize("entries", [1, 2**28])
def test_bombs_do_not_unpack(entries: int) -> None:
    packer = zlib.compressobj(9)
    stream = packer.compress(json.dumps({**HEADER, "entries": entries}).encode() + b"\n")
    for _ in range(256):
        stream += packer.compress(bytes(2**20))
    stream += packer.flush()
    bomb = MAGIC + hashlib.sha256(stream).digest() + stream
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="not as long as it says"):
            Certificate.from_bytes(bomb)
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_the_command_ends_with_2(tmp_path: Path, command: Command) -> None:
    from cellveil.datasets import two_way
    from cellveil.formats.instance import write_instance

    write_instance(two_way([[20, 50], [8, 19]], primaries={(0, 0): 3}), tmp_path / "i")
    (tmp_path / "p.csv").write_text((tmp_path / "i" / "cells.csv").read_text())
    for name in ("huge", "not zlib", "nan", "deep header"):
        (tmp_path / "cert").write_bytes(ODD[name])
        ended = command("verify", tmp_path / "i", tmp_path / "p.csv", tmp_path / "cert")
        assert ended.code == 2 and "certificate" in ended.err
