"""Users of the service and their sessions: whose files, jobs and tables are whose.

Of a token only the SHA-256 is kept: tokens are random (256 bits), so that no slow hash is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock

from cellveil.clock import Deadline
from cellveil.errors import InputError
from cellveil.files import read_text
from cellveil.service.service_errors import ServiceError

LOG = logging.getLogger("cellveil.service")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
DIGEST = re.compile(r"[0-9a-f]{64}")

LOCAL_USER = "local"
"""The only user of a service without a list of users."""

MOST_SESSIONS = 1_000
"""Sessions that are kept; the oldest go first."""


def new_token() -> str:
    """A random token."""
    return token_urlsafe(32)


def digest_of(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def user_line(name: str, token: str) -> str:
    """The line of a user in the list of users.

    Examples
    --------
    >>> user_line("ann", "secret")[:12]
    'ann:2bb80d53'
    """
    if not NAME.fullmatch(name):
        raise InputError(
            "the name of the user has other characters than letters, digits, point, dash and underscore",
            remedy="Choose a plain name of at most 60 characters.",
        )
    return f"{name}:{digest_of(token)}"


class Users:
    """Names by the digests of their tokens; a list in a file is read again as soon as it has changed."""

    def __init__(self, names: Mapping[str, str], file: Path | None = None) -> None:
        self._names, self._file, self._lock = names, file, Lock()
        self._stamp = None if file is None else _stamp(file)

    @classmethod
    def only(cls, token: str) -> Users:
        """One user with this token."""
        return cls({digest_of(token): LOCAL_USER})

    @classmethod
    def read(cls, path: Path) -> Users:
        """A file with a line ``name:sha256`` for each user; lines that begin with # are comments."""
        users = cls({}, path)
        users._names = _names_in(path)
        return users

    def of(self, token: str) -> tuple[str, str] | None:
        """Whose token it is, and its digest; None where it belongs to no user."""
        given, owner = digest_of(token), None
        for digest, name in self._current().items():  # all of them, each in constant time
            if hmac.compare_digest(digest, given):
                owner = name
        return None if owner is None else (owner, given)

    def has(self, name: str, digest: str) -> bool:
        """Whether a user still has the token of this digest."""
        return self._current().get(digest) == name

    def _current(self) -> Mapping[str, str]:
        """The names as they are now; a list that cannot be read lets no user in."""
        if self._file is None:
            return self._names
        with self._lock:
            stamp = _stamp(self._file)
            if stamp is None or stamp != self._stamp:
                try:
                    self._names = _names_in(self._file)
                except InputError as error:
                    LOG.error("the list of users cannot be read: %s", error)
                    raise ServiceError(
                        503, "the list of users cannot be read.", "Try again in a moment."
                    ) from None
                self._stamp = stamp
            return self._names


def _stamp(file: Path) -> tuple[int, ...] | None:
    """What changes with a file; None where there is none."""
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino


def _names_in(path: Path) -> Mapping[str, str]:
    """The list of users in a file."""
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, digest = line.strip().partition(":")
        if not NAME.fullmatch(name) or not DIGEST.fullmatch(digest):
            raise InputError(
                "not a user: name, colon, and the SHA-256 of the token",
                file=path,
                line=number,
                remedy="Make the line with: cellveil serve --new-user NAME",
            )
        if digest in found:
            raise InputError(
                "two users have the same token", file=path, line=number, remedy="Make a new one."
            )
        found[digest] = name
    if not found:
        raise InputError(
            "there is no user", file=path, remedy="Make one with: cellveil serve --new-user NAME"
        )
    return found


@dataclass(frozen=True)
class Session:
    """A user's stay on the page, begun with the token of a digest.

    The page keeps the id for its own origin and sends it in place of the token. No cookie holds it: browsers
    send cookies to every port of a host.
    """

    id: str
    user: str
    digest: str
    until: Deadline


class Sessions:
    """The sessions of a running service; they end with it."""

    def __init__(self, hours: float) -> None:
        self._hours, self._lock = hours, Lock()
        self._open: dict[str, Session] = {}

    def begin(self, user: str, digest: str) -> Session:
        """A new session."""
        session = Session(token_urlsafe(32), user, digest, Deadline(3600 * self._hours))
        with self._lock:
            while len(self._open) >= MOST_SESSIONS:
                del self._open[next(iter(self._open))]
            self._open[digest_of(session.id)] = session
        return session

    def of(self, id: str) -> Session | None:
        """The session, unless it is over."""
        with self._lock:
            found = self._open.get(digest_of(id))
            if found is not None and found.until.is_over:
                del self._open[digest_of(id)]
                return None
            return found

    def end(self, id: str) -> None:
        """Forget a session."""
        with self._lock:
            self._open.pop(digest_of(id), None)
