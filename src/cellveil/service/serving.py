"""Start the service that protects tables: socket, TLS, users, limits; and what it tells whoever starts it."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.errors import InputError, MissingExtraError
from cellveil.files import check_not_published
from cellveil.publishing.lock import locked
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.settings import LOOPBACK, ServiceSettings
from cellveil.service.users import Users, new_token

if TYPE_CHECKING:
    import uvicorn

MOST_CONNECTIONS = 800
"""Connections of all clients at the same time: many systems let a process open 1,024 files."""

LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Address:
    """Where a service listens, and under which names it is asked.

    Parameters
    ----------
    names
        Further names that requests may be addressed to.
    is_public
        Whether it may listen elsewhere than on loopback.
    certificate, key
        Of TLS.
    behind_proxy
        Whether a proxy on this machine speaks TLS for it.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    is_public: bool = False
    certificate: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False

    def check(self, *, has_users: bool) -> None:
        """Raise where it would be open to others without users or TLS."""
        if (self.certificate is None) != (self.key is None):
            raise InputError("certificate and key go together", remedy="Give --tls-cert and --tls-key.")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise InputError("the file does not exist", file=file, remedy="Check the path.")
        if self.host in LOCAL:
            return
        if not self.is_public:
            raise InputError(
                "the service would be open to other machines",
                remedy="Leave --host out, or say --public, with --users and TLS.",
            )
        if not has_users or self.certificate is None:
            raise InputError(
                "a service that is open to other machines needs users and TLS",
                remedy="Give --users, --tls-cert and --tls-key; or keep it on loopback behind a proxy.",
            )

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by https."""
        return self.certificate is not None or self.behind_proxy

    def hosts(self) -> frozenset[str]:
        """The names that it answers to."""
        own = f"[{self.host}]" if ":" in self.host else self.host
        given = {name.lower().rstrip(".") for name in self.names}
        wide = own in ("0.0.0.0", "[::]")
        return frozenset(LOOPBACK | given | (set() if wide else {own.lower()}))


def serve(
    address: Address, state: Path, users: Path | None, limits: ServiceLimits, tell: Callable[[str], None]
) -> None:
    """Run the service until it is told to end.

    Raises
    ------
    MissingExtraError
        Without the packages of the extra `service`.
    InputError
        When the address is taken, or open to others without users and TLS.
    """
    try:
        import uvicorn  # noqa: F401

        from cellveil.service.application import create_app
    except ImportError:
        raise MissingExtraError("fastapi and uvicorn", "service", "The service") from None
    address.check(has_users=users is not None)
    check_not_published(state)
    token = new_token()
    known = Users.only(token) if users is None else Users.read(users)
    listener = listener_at(address)
    address = replace(address, port=listener.getsockname()[1])
    settings = ServiceSettings(state, known, address.hosts(), address.is_secure, limits)
    with locked(state.absolute()):  # two services over one folder would take each other's jobs for dead
        config = server_config(create_app(settings), address, limits)
        _run(config, address, listener, tell, "" if users is not None else f"#token={token}")


def server_config(app: Any, address: Address, limits: ServiceLimits) -> uvicorn.Config:
    """How the server speaks to clients; behind a proxy all of them have one address."""
    import uvicorn

    from cellveil.service.connections import connections_within

    most = MOST_CONNECTIONS if address.behind_proxy else limits.connections
    return uvicorn.Config(
        app,
        http=connections_within(most, limits.head_seconds),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ssl_certfile=address.certificate,
        ssl_keyfile=address.key,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=15,
        limit_concurrency=MOST_CONNECTIONS + 1,
        h11_max_incomplete_event_size=65_536,
    )


def _run(
    config: uvicorn.Config,
    address: Address,
    listener: socket.socket,
    tell: Callable[[str], None],
    fragment: str,
) -> None:
    import uvicorn

    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    scheme = "https" if address.certificate is not None else "http"
    shown = f"[{address.host}]" if ":" in address.host else address.host
    tell(f"{scheme}://{shown}:{address.port}/{fragment}")
    with contextlib.suppress(KeyboardInterrupt):  # how it is told to end
        uvicorn.Server(config).run(sockets=[listener])


def listener_at(address: Address) -> socket.socket:
    """A socket that listens there.

    It names its protocol: asyncio sends small answers at once (TCP_NODELAY) only where it does.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    own = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)  # Windows gives a reused one to others
    listener.setsockopt(socket.SOL_SOCKET, own, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen on {address.host}, port {address.port} ({error.strerror})",
            remedy="Choose another port: --port 0 takes a free one.",
        ) from None
    return listener
