"""The certificate: exact deviations that together show every primary cell protected, as a file.

File format
-----------
======  =====================================================================================================
bytes   content
======  =====================================================================================================
0–7     the letters ``CELLVEIL``
8–39    SHA-256 of everything that follows
40–     zlib stream of: a JSON object on one line, ended by a line feed; then arrays, little-endian, one after
        the other: ``lengths`` (int32, one per witness), ``denominators`` (int64, one per witness), ``cells``
        (int32) and ``numerators`` (int64), the entries of all witnesses one after the other; and in version 2
        one per claim of ``claim_cells`` (int32), ``claim_witnesses`` (int32), ``claim_up`` and
        ``claim_signs`` (int8, 1 or −1), and ``exempt`` (int32), the exempt cells of all attackers
======  =====================================================================================================

The JSON object has ``version``, ``instance`` and ``pattern`` (digests of what was certified: see
`Problem.content_hash` and `pattern_hash`), ``attacker``, and the numbers of ``witnesses`` and ``entries``.

Version 1 is about outsiders. Version 2 is about several attackers: ``attackers`` says who (kind, level,
coalition, p, q, prior, number of exempt cells; see `cellveil.certificate.named_attacker`), ``contributions``
is a digest of what insiders are known to contribute, of where levels come from and of the attackers
(`cellveil.certificate.known_parts`), and ``claims`` the number of claims.

A witness moves each of its cells (numbered as in the instance, ascending) by numerator / denominator units of
the last digit. A claim says that a witness, as it stands (sign 1) or reversed (−1), moves a cell up (1) or
down (−1) far enough for some insiders. The file holds movements of hidden cells, from which bounds on their
values follow: it is internal, like the instance. It holds no values, no contributions and no names.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int, freeze
from cellveil.certificate.named_attacker import PLAIN_OUTSIDER, NamedAttacker
from cellveil.errors import InputError, check_kind
from cellveil.files import checked_path, sha256, write_bytes

MAGIC = b"CELLVEIL"
VERSIONS = (1, 2)
HEAD = len(MAGIC) + 32
LONGEST_HEADER = 4096
"""So many bytes hold the JSON object."""

MOST_ZIPPED = 1100
"""A zlib stream unpacks to at most so many times its length."""

WITNESS_BYTES, ENTRY_BYTES, CLAIM_BYTES, EXEMPT_BYTES = 12, 12, 10, 4

OPTIONS = ("kind", "level", "coalition", "p", "q", "prior")
"""What the header says of an attacker besides the number of its exempt cells."""


@dataclass(frozen=True, eq=False)
class ClaimList:
    """Which witness is named for which demand of insiders, one claim after the other.

    Parameters
    ----------
    cells
        The cell that must move.
    witnesses
        Number of the witness.
    up, signs
        1 or −1: whether the cell must rise or fall; whether the witness is taken as it stands or reversed.
    """

    cells: Int
    witnesses: Int
    up: Int
    signs: Int

    def __post_init__(self) -> None:
        freeze(self, ("cells", "witnesses", "up", "signs"))

    def __len__(self) -> int:
        return len(self.cells)

    @classmethod
    def nothing(cls) -> ClaimList:
        """No claim."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


@dataclass(frozen=True, repr=False, eq=False)
class Certificate:
    """Witnesses in compressed rows: witness w has the entries ``starts[w]:starts[w + 1]``.

    Parameters
    ----------
    instance, pattern
        Digests of what is certified.
    attacker
        Which outsider, where no others are named.
    starts, cells, numerators, denominators
        The witnesses.
    attackers
        Everybody it is about, where that is more than the one outsider: then it is of version 2.
    contributions
        Digest of contributions, origins of levels and attackers.
    claims
        What is claimed against insiders.
    """

    instance: str
    pattern: str
    attacker: str
    starts: Int
    cells: NDArray[np.int32]
    numerators: Int
    denominators: Int
    attackers: tuple[NamedAttacker, ...] = ()
    contributions: str = ""
    claims: ClaimList = field(default_factory=ClaimList.nothing)

    def __post_init__(self) -> None:
        freeze(self, ("starts", "cells", "numerators", "denominators"))

    def __repr__(self) -> str:
        claims = f", {len(self.claims)} claims" if self.attackers else ""
        return f"Certificate({len(self)} witnesses, {len(self.cells)} entries{claims})"

    def __len__(self) -> int:
        return len(self.denominators)

    @property
    def version(self) -> int:
        """The version of the file format that it is written in."""
        return 2 if self.attackers else 1

    @property
    def against(self) -> tuple[NamedAttacker, ...]:
        """Everybody it is about."""
        return self.attackers or (NamedAttacker("integer") if self.attacker == "integer" else PLAIN_OUTSIDER,)

    @classmethod
    def of(
        cls,
        instance: str,
        pattern: str,
        witnesses: Iterable[tuple[Int, Int, int]],
        attacker: str = "outsider",
    ) -> Certificate:
        """Collect witnesses given as cells, numerators and denominator."""
        listed = list(witnesses)
        lengths = [len(cells) for cells, _, _ in listed]
        return cls(
            instance,
            pattern,
            attacker,
            np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            np.concatenate([np.zeros(0), *(cells for cells, _, _ in listed)]).astype(np.int32),
            np.concatenate([np.zeros(0, dtype=np.int64), *(numerators for _, numerators, _ in listed)]),
            np.array([denominator for _, _, denominator in listed], dtype=np.int64),
        )

    def to_bytes(self) -> bytes:
        """The file's content."""
        header: dict[str, Any] = {
            "version": self.version,
            "instance": self.instance,
            "pattern": self.pattern,
            "attacker": self.attacker,
            "witnesses": len(self),
            "entries": len(self.cells),
        }
        arrays = [
            np.diff(self.starts).astype("<i4"),
            self.denominators.astype("<i8"),
            self.cells.astype("<i4"),
            self.numerators.astype("<i8"),
        ]
        if self.version == 2:
            header["attackers"] = [attacker.header() for attacker in self.attackers]
            header |= {"contributions": self.contributions, "claims": len(self.claims)}
            exempt = [cell for attacker in self.attackers for cell in attacker.exempt]
            claims = self.claims
            arrays += [claims.cells.astype("<i4"), claims.witnesses.astype("<i4")]
            arrays += [claims.up.astype("<i1"), claims.signs.astype("<i1"), np.array(exempt, dtype="<i4")]
        first = json.dumps(header).encode() + b"\n"
        if len(first) > LONGEST_HEADER:
            raise InputError("too many attackers for one certificate", remedy="Name fewer attackers.")
        payload = zlib.compress(first + b"".join(array.tobytes() for array in arrays), level=6)
        return MAGIC + hashlib.sha256(payload).digest() + payload

    @classmethod
    def from_bytes(cls, data: bytes) -> Certificate:
        """Read a file's content; anything out of order is an `InputError`."""
        if data[: len(MAGIC)] != MAGIC:
            raise InputError(
                "not a certificate of cellveil", remedy="Name the file that --certificate wrote."
            )
        if hashlib.sha256(data[HEAD:]).digest() != data[len(MAGIC) : HEAD]:
            raise InputError("the certificate is damaged", remedy="Make it anew, or copy it again.")
        header, rest = _unpacked(data[HEAD:])
        num, entries, claims = header.witnesses, header.entries, header.claims
        arrays = _Arrays(rest)
        lengths = arrays.take("<i4", num)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if (lengths < 1).any() or starts[-1] != entries:
            raise InputError("the certificate contradicts itself", remedy="Make it anew.")
        denominators, cells = arrays.take("<i8", num), np.frombuffer(arrays.slice(4 * entries), "<i4")
        numerators = arrays.take("<i8", entries)
        claimed = ClaimList(*(arrays.take(kind, claims) for kind in ("<i4", "<i4", "<i1", "<i1")))
        attackers = _attackers(header, arrays.take("<i4", header.exempt).tolist())
        instance, pattern, attacker = (header.data[name] for name in ("instance", "pattern", "attacker"))
        contributions = header.data["contributions"] if attackers else ""
        witnesses = (starts, cells, numerators, denominators)
        return cls(instance, pattern, attacker, *witnesses, attackers, contributions, claimed)


class _Arrays:
    """The arrays of a file, taken one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def slice(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def take(self, kind: str, number: int) -> Int:
        return np.frombuffer(self.slice(np.dtype(kind).itemsize * number), kind).astype(np.int64)


@dataclass(frozen=True)
class _Header:
    """The JSON object, and the sizes of the arrays that follow it."""

    data: dict[str, Any]
    witnesses: int
    entries: int
    claims: int = 0
    exempt: int = 0

    @property
    def size(self) -> int:
        return (
            WITNESS_BYTES * self.witnesses
            + ENTRY_BYTES * self.entries
            + CLAIM_BYTES * self.claims
            + EXEMPT_BYTES * self.exempt
        )


def _read_header(first: bytes) -> _Header:
    """Raises ValueError, KeyError or TypeError where it is not a header."""
    data = json.loads(first)
    if not isinstance(data, dict):
        raise ValueError
    version, num, entries = (_count(data[name]) for name in ("version", "witnesses", "entries"))
    if not all(isinstance(data[name], str) for name in ("instance", "pattern", "attacker")):
        raise ValueError
    if version not in VERSIONS:
        read = " and ".join(map(str, VERSIONS))
        raise InputError("the certificate has another version", remedy=f"This program reads {read}.")
    if version == 1:
        return _Header(data, num, entries)
    named = data["attackers"]
    if not isinstance(named, list) or not named or not isinstance(data["contributions"], str):
        raise ValueError
    exempt = sum(_count(attacker["exempt"]) for attacker in named)
    header = _Header(data, num, entries, _count(data["claims"]), exempt)
    _attackers(header, [0] * min(exempt, 1))
    return header


def _attackers(header: _Header, exempt: Sequence[int]) -> tuple[NamedAttacker, ...]:
    """The attackers of a header, with their exempt cells."""
    found, at = [], 0
    for named in header.data.get("attackers", ()) if header.data["version"] > 1 else ():
        cells = tuple(exempt[at : at + named["exempt"]])
        found.append(NamedAttacker(**{name: named[name] for name in OPTIONS}, exempt=cells))
        at += named["exempt"]
    return tuple(found)


def _unpacked(stream: bytes) -> tuple[_Header, bytes]:
    """Header and arrays; reads no more than the header announces."""
    unzip = zlib.decompressobj()
    try:
        start = unzip.decompress(stream, LONGEST_HEADER)
        first, newline, rest = start.partition(b"\n")
        if not newline:
            raise ValueError
        header = _read_header(first)
    except (zlib.error, ValueError, KeyError, TypeError, RecursionError):
        raise InputError("the certificate is damaged", remedy="Make it anew.") from None
    missing = header.size - len(rest)
    if missing > MOST_ZIPPED * len(stream):  # no stream of that length unpacks to so much
        raise InputError("the certificate is not as long as it says", remedy="Make it anew.")
    try:
        rest += unzip.decompress(unzip.unconsumed_tail, max(missing, 0) + 1)
    except zlib.error:
        raise InputError("the certificate is damaged", remedy="Make it anew.") from None
    if len(rest) != header.size or not unzip.eof or unzip.unused_data:
        raise InputError("the certificate is not as long as it says", remedy="Make it anew.")
    return header, rest


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError
    return number


def pattern_hash(hidden: Bool) -> str:
    """Digest of which cells are hidden."""
    return sha256(np.ascontiguousarray(hidden, dtype=np.uint8).tobytes())


def write_certificate(certificate: Certificate, path: Path | str) -> None:
    """Write a certificate to a file, whole or not at all. It is internal: it tells how far cells can move."""
    check_kind(certificate, Certificate, "the certificate", "Give suppress(problem).certificate.")
    path = checked_path(path, "the file")
    write_bytes(path, certificate.to_bytes())


def read_certificate(path: Path | str) -> Certificate:
    """Read a certificate from its file; a damaged one is an `InputError`."""
    path = checked_path(path, "the file")
    try:
        return Certificate.from_bytes(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=path, remedy="Check the path.") from None
    except InputError as error:
        raise error.located(file=path) from None
