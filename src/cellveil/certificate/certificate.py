"""The certificate: a list of exact deviations that together show every primary cell protected.

File format, version 1
----------------------
======  =====================================================================================================
bytes   content
======  =====================================================================================================
0–7     the letters ``CELLVEIL``
8–39    SHA-256 of everything that follows
40–     zlib stream of: a JSON object on one line, ended by a line feed; then four arrays, little-endian,
        one after the other: ``lengths`` (int32, one per witness), ``denominators`` (int64, one per witness),
        ``cells`` (int32) and ``numerators`` (int64), the entries of all witnesses one after the other
======  =====================================================================================================

The JSON object has ``version`` (1), ``instance`` and ``pattern`` (digests of what was certified: see
`Problem.content_hash` and `pattern_hash`), ``attacker``, and the numbers of ``witnesses`` and ``entries``.

A witness moves each of its cells (numbered as in the instance, ascending) by numerator / denominator units of
the last digit. The file holds movements of hidden cells, from which bounds on their values follow: it is
internal, like the instance.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Int, freeze
from cellveil.errors import InputError
from cellveil.files import sha256, write_bytes

MAGIC = b"CELLVEIL"
VERSION = 1
HEAD = len(MAGIC) + 32
LONGEST_HEADER = 4096
"""So many bytes hold the JSON object."""

MOST_ZIPPED = 1100
"""A zlib stream unpacks to at most so many times its length."""


@dataclass(frozen=True, repr=False, eq=False)
class Certificate:
    """Witnesses in compressed rows: witness w has the entries ``starts[w]:starts[w + 1]``.

    Parameters
    ----------
    instance, pattern
        Digests of what is certified.
    attacker
        Against whom.
    starts, cells, numerators, denominators
        The witnesses.
    """

    instance: str
    pattern: str
    attacker: str
    starts: Int
    cells: NDArray[np.int32]
    numerators: Int
    denominators: Int

    def __post_init__(self) -> None:
        freeze(self, ("starts", "cells", "numerators", "denominators"))

    def __repr__(self) -> str:
        return f"Certificate({len(self)} witnesses, {len(self.cells)} entries)"

    def __len__(self) -> int:
        return len(self.denominators)

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
        header = {
            "version": VERSION,
            "instance": self.instance,
            "pattern": self.pattern,
            "attacker": self.attacker,
            "witnesses": len(self),
            "entries": len(self.cells),
        }
        lengths = np.diff(self.starts)
        payload = zlib.compress(
            json.dumps(header).encode()
            + b"\n"
            + lengths.astype("<i4").tobytes()
            + self.denominators.astype("<i8").tobytes()
            + self.cells.astype("<i4").tobytes()
            + self.numerators.astype("<i8").tobytes(),
            level=6,
        )
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
        header, num, entries, rest = _unpacked(data[HEAD:])
        lengths = np.frombuffer(rest, "<i4", num).astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        if (lengths < 1).any() or starts[-1] != entries:
            raise InputError("the certificate contradicts itself", remedy="Make it anew.")
        return cls(
            header["instance"],
            header["pattern"],
            header["attacker"],
            starts,
            np.frombuffer(rest, "<i4", entries, 12 * num),
            np.frombuffer(rest, "<i8", entries, 12 * num + 4 * entries),
            np.frombuffer(rest, "<i8", num, 4 * num),
        )


def _unpacked(stream: bytes) -> tuple[dict[str, Any], int, int, bytes]:
    """Header, numbers of witnesses and entries, and the arrays; reads no more than the header announces."""
    unzip = zlib.decompressobj()
    try:
        start = unzip.decompress(stream, LONGEST_HEADER)
        first, newline, rest = start.partition(b"\n")
        header = json.loads(first)
        if not newline or not isinstance(header, dict):
            raise ValueError
        version, num, entries = (_count(header[name]) for name in ("version", "witnesses", "entries"))
        if not all(isinstance(header[name], str) for name in ("instance", "pattern", "attacker")):
            raise ValueError
    except (zlib.error, ValueError, KeyError, RecursionError):
        raise InputError("the certificate is damaged", remedy="Make it anew.") from None
    if version != VERSION:
        raise InputError("the certificate has another version", remedy=f"This program reads {VERSION}.")
    missing = 12 * num + 12 * entries - len(rest)
    if missing > MOST_ZIPPED * len(stream):  # no stream of that length unpacks to so much
        raise InputError("the certificate is not as long as it says", remedy="Make it anew.")
    try:
        rest += unzip.decompress(unzip.unconsumed_tail, max(missing, 0) + 1)
    except zlib.error:
        raise InputError("the certificate is damaged", remedy="Make it anew.") from None
    if len(rest) != 12 * num + 12 * entries or not unzip.eof or unzip.unused_data:
        raise InputError("the certificate is not as long as it says", remedy="Make it anew.")
    return header, num, entries, rest


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError
    return number


def pattern_hash(hidden: Bool) -> str:
    """Digest of which cells are hidden."""
    return sha256(np.ascontiguousarray(hidden, dtype=np.uint8).tobytes())


def write_certificate(certificate: Certificate, path: Path | str) -> None:
    """Write the file, whole or not at all."""
    write_bytes(Path(path), certificate.to_bytes())


def read_certificate(path: Path | str) -> Certificate:
    """Read the file."""
    try:
        return Certificate.from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read ({error.strerror})", file=path, remedy="Check the path.") from None
    except InputError as error:
        raise error.located(file=path) from None
