"""Who takes part: the suppression methods of cellveil, and peers behind the same protocol where they are.

R packages run through ``Rscript`` (or the program that ``CELLVEIL_RSCRIPT`` names) and their public
functions, tau-ARGUS through the executable that ``CELLVEIL_TAUARGUS`` names, by a batch file.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cellveil.errors import InputError, nearest_name
from cellveil.suppression.methods import METHODS
from experiments.comparison.argus_run import SUPPRESS
from experiments.comparison.assignment import Assignment, Contestant

SCRIPTS = Path(__file__).parent / "r"
ASKING = 120.0
"""Seconds for the question which version of a package is there."""


@dataclass(frozen=True)
class CellveilMethod:
    """A method of this package."""

    method: str
    program: str = "cellveil"

    @property
    def name(self) -> str:
        """See `Contestant`."""
        return self.method

    def absent(self) -> str:
        """See `Contestant`."""
        return ""

    def version(self) -> str:
        """See `Contestant`."""
        import cellveil

        return str(cellveil.__version__)

    def command(self, assignment: Assignment) -> list[str]:
        """See `Contestant`."""
        module = "experiments.comparison.own_run"
        return [sys.executable, "-m", module, self.method, assignment.to_json()]


@dataclass(frozen=True)
class RPackage:
    """A method of an R package, called by a script of ours."""

    program: str
    method: str
    script: str
    needs: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """See `Contestant`."""
        return f"{self.program} {self.method}"

    def absent(self) -> str:
        """See `Contestant`."""
        rscript = r_program()
        if rscript is None:
            return "no Rscript on this machine"
        missing = [name for name in (self.program, *self.needs) if not package_version(rscript, name)]
        return f"R has no package {' and no '.join(missing)}" if missing else ""

    def version(self) -> str:
        """See `Contestant`."""
        rscript = r_program()
        assert rscript is not None
        names = (self.program, *self.needs)
        return ", ".join(f"{name} {package_version(rscript, name)}" for name in names)

    def command(self, assignment: Assignment) -> list[str]:
        """See `Contestant`."""
        rscript = r_program()
        assert rscript is not None
        given = (assignment.instance, assignment.folder, self.method, assignment.limit, assignment.seed)
        clock = "cpu" if assignment.counts_cpu else "wall"
        return [rscript, "--vanilla", str(SCRIPTS / self.script), *map(str, given), clock]


@dataclass(frozen=True)
class TauArgus:
    """A method of tau-ARGUS, or of a program that runs its batch files."""

    method: str
    program: str = "tau-ARGUS"

    @property
    def name(self) -> str:
        """See `Contestant`."""
        return f"{self.program} {self.method}"

    def absent(self) -> str:
        """See `Contestant`."""
        return "" if argus_program() else "no tau-ARGUS on this machine (CELLVEIL_TAUARGUS)"

    def version(self) -> str:
        """See `Contestant`."""
        return str(argus_program())

    def command(self, assignment: Assignment) -> list[str]:
        """See `Contestant`."""
        program = argus_program()
        assert program is not None
        module = "experiments.comparison.argus_run"
        return [sys.executable, "-m", module, program, self.method, assignment.to_json()]


def r_program() -> str | None:
    """The program that runs R scripts."""
    return os.environ.get("CELLVEIL_RSCRIPT") or shutil.which("Rscript")


def argus_program() -> str | None:
    """The executable of tau-ARGUS."""
    return os.environ.get("CELLVEIL_TAUARGUS") or shutil.which("TauArgus") or shutil.which("TauArgus.exe")


@cache
def package_version(rscript: str, package: str) -> str:
    """The version of an R package; empty where there is none."""
    question = f'cat(as.character(utils::packageVersion("{package}")))'
    try:
        done = subprocess.run(
            [rscript, "--vanilla", "-e", question],
            capture_output=True,
            text=True,
            timeout=ASKING,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout.strip()


CONTESTANTS: tuple[Contestant, ...] = (
    *(CellveilMethod(name) for name in METHODS),
    *(
        RPackage("sdcTable", method, "sdctable.R")
        for method in ("OPT", "HITAS", "HYPERCUBE", "SIMPLEHEURISTIC", "GAUSS")
    ),
    RPackage("GaussSuppression", "exact", "gausssuppression.R"),
    RPackage("GaussSuppression", "intervals", "gausssuppression.R", needs=("highs",)),
    *(TauArgus(method) for method in SUPPRESS),
)
"""Everybody who may take part."""


def chosen_contestants(names: Sequence[str] = ()) -> list[Contestant]:
    """All of them, or those with these names or programs.

    Examples
    --------
    >>> [one.name for one in chosen_contestants(["auto", "tau-ARGUS"])]
    ['auto', 'tau-ARGUS MOD', 'tau-ARGUS OPT', 'tau-ARGUS GH', 'tau-ARGUS NET']
    """
    known = [word for one in CONTESTANTS for word in (one.name, one.program)]
    for name in names:
        if name not in known:
            raise InputError(f"unknown contestant {name!r}", remedy=nearest_name(name, known))
    return [one for one in CONTESTANTS if not names or {one.name, one.program} & set(names)]
