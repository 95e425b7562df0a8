"""`cellveil serve` in a process of its own, until the end of the block."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cellveil.service.users import new_token, user_line
from helpers.service import UNHURRIED


@contextmanager
def started_service(*options: str) -> Iterator[str]:
    """The address of a service on a free port, as it tells it."""
    command = [sys.executable, "-m", "cellveil", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = re.search(r"https?://[^/\s]+/", process.stdout.readline())
        assert address is not None
        yield address[0]
    finally:
        process.terminate()
        process.wait(60)


def unhurried() -> list[str]:
    """Options of a service on a machine that is busy with other tests."""
    return [part for name, limit in UNHURRIED.items() for part in ("--limit", f"{name}={limit}")]


def list_of_users(file: Path, *names: str) -> dict[str, str]:
    """Write a list of users; returns the token of each."""
    tokens = {name: new_token() for name in names}
    file.write_text("".join(f"{user_line(name, token)}\n" for name, token in tokens.items()))
    file.chmod(0o600)
    return tokens
