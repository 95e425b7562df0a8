"""Users of the service and their sessions: whose files, jobs and tables are whose.

Of a token only the SHA-256 is kept: tokens are random (256 bits), so that no slow hash is needed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock

from cellveil.clock import Deadline
from cellveil.errors import InputError
from cellveil.files import read_text

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


@dataclass(frozen=True, repr=False)
class Users:
    """Names by the digests of their tokens."""

    names: Mapping[str, str]

    @classmethod
    def only(cls, token: str) -> Users:
        """One user with this token."""
        return cls({digest_of(token): LOCAL_USER})

    @classmethod
    def read(cls, path: Path) -> Users:
        """A file with a line ``name:sha256`` for each user; lines that begin with # are comments."""
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
        return cls(found)

    def of(self, token: str) -> str | None:
        """Whose token it is; None for nobody's."""
        given, name = digest_of(token), None
        for digest, owner in self.names.items():  # all of them, each in constant time
            if hmac.compare_digest(digest, given):
                name = owner
        return name


@dataclass(frozen=True)
class Session:
    """A user's stay on the page; the cookie holds the id, the page sends `csrf` with each change."""

    id: str
    user: str
    csrf: str
    until: Deadline


class Sessions:
    """The sessions of a running service; they end with it."""

    def __init__(self, hours: float) -> None:
        self._hours, self._lock = hours, Lock()
        self._open: dict[str, Session] = {}

    def begin(self, user: str) -> Session:
        """A new session."""
        session = Session(token_urlsafe(32), user, token_urlsafe(32), Deadline(3600 * self._hours))
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
