"""Tasks on a Dask cluster: the scheduler hands them to its workers, and again where a worker is lost.

Nothing that Dask shows or logs tells of the data: keys of tasks are drawn at random, arguments and results
are sealed, and no task raises. Tables cross in memory only. Dask itself may write what its workers hold to
their disks when memory runs short; docs/cluster.md says how that is turned off.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from concurrent.futures import CancelledError
from threading import Thread
from typing import Any
from uuid import uuid4

from cellveil.errors import InputError, MissingExtraError, WorkerError
from cellveil.tasks.remote import LostTaskError, RemotePool
from cellveil.tasks.sealed import Sealed, perform
from cellveil.tasks.stopping import ask_to_stop

ADDRESS = re.compile(r"([a-z]+://)?[^/\s]+:\d+")
"""What an address looks like."""

ANSWER = 20
"""Seconds in which a scheduler answers, and has its first worker."""

PATIENCE_OF_CALL = 5
"""Seconds beyond that for a connection that was taken."""

PULSE = 1.0
"""Seconds between looks at whether there are workers."""

PATIENCE = 60.0
"""Seconds for which a cluster may be without any."""


class DaskCluster(RemotePool):
    """The workers of a Dask scheduler.

    Parameters
    ----------
    address
        Of the scheduler.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise MissingExtraError("distributed", "cluster", "a cluster") from None
        self.address, self._last_seen = address, time.perf_counter()
        self._client: Any = _connected(Client, address)
        try:
            self._client.wait_for_workers(1, timeout=ANSWER)
        except TimeoutError:
            self.close()
            raise InputError(
                f"the cluster at {address} has no worker",
                remedy=f"Start some with: dask worker {address} --nthreads 1",
            ) from None

    @property
    def num_workers(self) -> int:
        """See `TaskPool`: threads of all workers that are there now."""
        return max(sum(int(number) for number in self._ask(self._client.ncores).values()), 1)

    def share(self, shared: Any) -> Any:
        """See `RemotePool`; again where a worker is lost meanwhile."""
        sealed, began = Sealed.of(shared), time.perf_counter()
        while True:
            key = _drawn_key()
            try:
                return self._client.scatter({key: sealed}, broadcast=True)[key]
            except (OSError, TimeoutError):
                if time.perf_counter() - began > PATIENCE:
                    raise WorkerError(f"the cluster at {self.address} takes no data.") from None
                time.sleep(PULSE)

    def submit(self, shared: Any, call: Sealed) -> Any:
        """See `RemotePool`."""
        from cellveil import __version__

        return self._ask(
            self._client.submit, perform, __version__, shared, call, key=_drawn_key(), pure=False, retries=0
        )

    def wait(self, futures: Collection[Any]) -> Collection[Any]:
        """See `RemotePool`; gives up on a cluster that has lost all its workers."""
        import distributed

        wait: Any = distributed.wait
        self._last_seen = time.perf_counter()
        while True:
            try:
                with self._client.as_current():
                    return set(wait(futures, timeout=PULSE, return_when="FIRST_COMPLETED").done)
            except TimeoutError:
                self._look()
            except CancelledError:
                return {future for future in futures if future.done()}

    def _look(self) -> None:
        """Raise where no worker has been there for too long."""
        now = time.perf_counter()
        if self._ask(self._client.ncores):
            self._last_seen = now
        elif now - self._last_seen > PATIENCE:
            raise WorkerError(f"the cluster at {self.address} has lost all its workers.")

    def result(self, future: Any) -> Sealed:
        """See `RemotePool`."""
        from distributed import KilledWorker

        try:
            found = future.result()
        except CancelledError as error:
            raise LostTaskError from error
        except KilledWorker:
            raise WorkerError(
                f"a task ended several workers of the cluster at {self.address}, one after the other. "
                "Give the workers more memory."
            ) from None
        except Exception as error:
            raise WorkerError(
                f"a worker of the cluster at {self.address} could not take a task ({type(error).__name__}). "
                "Install cellveil in the same version everywhere."
            ) from None
        if not isinstance(found, Sealed):
            raise WorkerError(f"the cluster at {self.address} gave another answer than that of a task.")
        return found

    def new_mark(self) -> str:
        """See `RemotePool`."""
        return _drawn_key()

    def stop(self, mark: str) -> None:
        """See `RemotePool`: workers hear it while they are at work."""
        self._ask(self._client.run, ask_to_stop, mark, on_error="ignore")

    def cancel(self, futures: Collection[Any]) -> None:
        """See `RemotePool`."""
        self._client.cancel(list(futures), force=True)

    def close(self) -> None:
        """Leave the cluster, which forgets what it was given."""
        self._client.close()

    def _ask(self, question: Any, *arguments: Any, **options: Any) -> Any:
        """Of the scheduler; raises where it is gone."""
        try:
            return question(*arguments, **options)
        except (OSError, TimeoutError) as error:
            raise WorkerError(f"the scheduler at {self.address} is gone ({type(error).__name__}).") from None


def _connected(connect: Any, address: str) -> Any:
    """A client of the scheduler at an address.

    In a thread, as a client waits without end for whatever takes its call and does not answer as Dask does.
    """
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(connect(address, timeout=ANSWER, set_as_default=False, name="cellveil"))
        except Exception as error:  # whatever the other side made of it
            found.append(error)

    thread = Thread(target=call, daemon=True)
    if ADDRESS.fullmatch(address):
        thread.start()
        thread.join(ANSWER + PATIENCE_OF_CALL)
    client = found[0] if found else TimeoutError() if thread.ident else ValueError()
    if isinstance(client, Exception):
        raise InputError(
            f"no Dask scheduler answers at {address!r} ({type(client).__name__})",
            remedy="Start one with: dask scheduler. Its address is tcp://HOST:PORT or tls://HOST:PORT.",
        )
    return client


def _drawn_key() -> str:
    """A name of a task that tells nothing."""
    return f"cellveil-{uuid4().hex}"
