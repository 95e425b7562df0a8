"""Uploads of tables and microdata, written to disk as they come: whole, or not there at all."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from pathlib import Path

from cellveil.clock import Deadline
from cellveil.errors import InputError
from cellveil.files import flush_file
from cellveil.service.data_limits import check_zip
from cellveil.service.job_folders import StateFolder, new_id, remove_folder, safe_name
from cellveil.service.service_errors import ServiceError, disk_full
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.store import Store, StoredFile

LONGEST_NAME = 200


class Uploads:
    """Takes uploads of all users."""

    def __init__(self, store: Store, state: StateFolder, limits: ServiceLimits) -> None:
        self._store, self._state, self._limits = store, state, limits

    async def take(self, owner: str, name: str, blocks: AsyncIterator[bytes]) -> StoredFile:
        """Write a file block by block; whatever goes wrong, nothing of it is left.

        Raises
        ------
        ServiceError
            Where it is too large, or the disk is full.
        InputError
            Where it is packed and would unpack to too much.
        """
        if not self._state.has_space(self._limits.free):
            raise disk_full()
        if not self._store.has_room(owner, most=self._limits.files, storage=self._limits.storage):
            raise no_room()
        id, stored = new_id(), safe_name(name)
        folder = self._state.files / f".{id}"
        is_kept = False
        try:
            folder.mkdir(mode=0o700)
            size, digest = await self._write(folder / stored, blocks)
            await asyncio.to_thread(self._check, folder / stored, name)
            file = StoredFile(id, owner, name[:LONGEST_NAME], stored, size, digest, time.time())
            await asyncio.to_thread(folder.rename, self._state.file(id))
            is_kept = self._store.add_file(file, most=self._limits.files, storage=self._limits.storage)
            if not is_kept:
                raise no_room()
            return file
        except OSError as error:
            raise disk_full(f"the file could not be kept ({error.strerror}).") from None
        finally:
            remove_folder(folder)
            if not is_kept:
                remove_folder(self._state.file(id))

    async def _write(self, path: Path, blocks: AsyncIterator[bytes]) -> tuple[int, str]:
        size, digest = 0, hashlib.sha256()
        with path.open("xb") as file:
            async for block in blocks:
                size += len(block)
                if size > self._limits.upload:
                    raise too_large(self._limits.upload)
                digest.update(block)
                await asyncio.to_thread(file.write, block)
        await asyncio.to_thread(flush_file, path)
        return size, digest.hexdigest()

    def _check(self, path: Path, name: str) -> None:
        with path.open("rb") as file:
            first = file.read(4)
        if not first:
            raise InputError("the file is empty", remedy="Choose another file.")
        if first == b"PK\x03\x04":
            check_zip(path, name[:LONGEST_NAME], self._limits.unpacked)

    def remove(self, file: StoredFile) -> None:
        """Delete an upload."""
        self._store.remove_file(file.id)
        remove_folder(self._state.file(file.id))

    def path(self, file: StoredFile) -> Path:
        """Where it lies."""
        return self._state.file(file.id) / file.stored


def no_room() -> ServiceError:
    """The answer to who keeps too much."""
    return ServiceError(429, "you have too many files, or too large ones.", "Delete some.")


def too_large(most: int) -> ServiceError:
    """The answer to an upload that does not end."""
    return ServiceError(
        413,
        f"the file is larger than {most / 1e6:g} MB.",
        "Leave out columns, pack it (.csv.gz), or use Parquet.",
    )


class Pace:
    """How fast a body must come: no long pauses, and a least rate on average."""

    def __init__(self, limits: ServiceLimits) -> None:
        self._limits, self._bytes = limits, 0
        self._started = Deadline(limits.idle_seconds)
        self._since = time.perf_counter()

    def took(self, block: bytes) -> None:
        """Count a block.

        Raises
        ------
        ServiceError
            Where it comes too slowly.
        """
        self._bytes += len(block)
        passed = time.perf_counter() - self._since
        if self._started.is_over and self._bytes < self._limits.slowest * (
            passed - self._limits.idle_seconds
        ):
            raise too_slow()


def too_slow() -> ServiceError:
    """The answer to a body that does not come."""
    return ServiceError(408, "the request came too slowly.", "Try again on a better line.")
