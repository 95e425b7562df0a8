"""Commands run in this very process, as `main` runs them but for the end of the process."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from cellveil.cli.app import run_command


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Command:
    """``command("audit", instance, pattern)`` runs and captures."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: object) -> Ended:
        self.capsys.readouterr()
        code = run_command([str(argument) for argument in arguments])
        captured = self.capsys.readouterr()
        return Ended(code, captured.out, captured.err)


def listing(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }
