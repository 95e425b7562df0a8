"""Connections of clients to the service that protects tables: heads come in time, an address has so many.

Nothing is known of a client before the head of its request is complete. A connection without such a request
therefore gives way to newer ones of its address, and ends when its time is up, so that half-sent heads keep
neither other addresses nor other clients of the same address away. A request that has begun is left alone.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 0\r\nretry-after: 5\r\n\r\n"
)
"""The answer to an address all of whose connections are in use."""


class ClientConnection(H11Protocol):
    """One connection."""

    most: ClassVar[int]
    head_seconds: ClassVar[float]
    by_address: ClassVar[dict[str, dict[ClientConnection, None]]]
    """The connections of each address, in the order in which they were made or last answered."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a new connection; where its address has too many, the longest idle one of them ends."""
        super().connection_made(transport)
        own = self._of_address()
        if len(own) >= self.most:
            idle = next((one for one in own if not one._has_request()), None)
            if idle is None:
                transport.write(TOO_MANY)
                return transport.close()
            idle._abort()
        own[self] = None
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; until its head is complete, time runs."""
        super().data_received(data)
        if self._has_request():
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._await_head()

    def on_response_complete(self) -> None:
        """A request has been answered: the connection is the newest idle one of its address."""
        own = self._of_address()
        if self in own:
            own[self] = own.pop(self)
        super().on_response_complete()

    def _of_address(self) -> dict[ClientConnection, None]:
        return self.by_address[self.client[0] if self.client else ""]

    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds, self._abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort(self) -> None:
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        self._stop_timer()
        own = self._of_address()
        own.pop(self, None)
        if not own:
            del self.by_address[self.client[0] if self.client else ""]


def connections_within(most: int, head_seconds: float) -> type[ClientConnection]:
    """The connections of one service: so many of each address, with so many seconds for each head."""
    own: dict[str, Any] = {"most": most, "head_seconds": head_seconds, "by_address": defaultdict(dict)}
    return type("ConnectionOfService", (ClientConnection,), own)
