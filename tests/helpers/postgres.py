"""A private PostgreSQL server in a temporary folder, reached by its socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

MISSING = (
    "there is no PostgreSQL server here: install the package postgresql (Debian: apt install postgresql)"
)


def program(name: str) -> str | None:
    """A program of the server, also where it is not on the path."""
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(installed[-1]) if installed else None)


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a server whose texts sort by the rules of English, not byte by byte."""
    initdb, postgres = program("initdb"), program("postgres")
    assert initdb and postgres, MISSING
    user = _user()
    with TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        home = Path(folder) / "home"
        home.mkdir()
        if user:
            shutil.chown(home, user)
        data = home / "data"
        made = [initdb, "-D", str(data), "-A", "trust", "-U", "tester", "-E", "UTF8", "--no-sync"]
        made += ["--locale=C", "--locale-provider=icu", "--icu-locale=en"]
        subprocess.run(made, check=True, capture_output=True, user=user, cwd=home, timeout=120)
        command = [postgres, "-D", str(data), "-k", str(home), "-c", "listen_addresses=", "-c", "fsync=off"]
        server = subprocess.Popen(
            command, user=user, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            yield _answering(home, server)
        finally:
            server.terminate()
            server.wait(30)


def _user() -> str | None:
    """Somebody else, where root runs the tests: the server refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _answering(home: Path, server: subprocess.Popen[bytes]) -> str:
    from adbc_driver_postgresql import dbapi

    address = f"postgresql://tester@/postgres?host={home}"
    for _ in range(300):
        assert server.poll() is None, "the server ended"
        try:
            dbapi.connect(address).close()
        except dbapi.Error:
            time.sleep(0.1)
        else:
            return address
    raise AssertionError("the server does not answer")
