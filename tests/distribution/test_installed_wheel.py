"""The wheel in a clean environment: no compiler, another folder, a user who may write nowhere but there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from helpers.distribution import PROJECT, built_archive, built_wheel
from helpers.pages import ROOT

pytestmark = pytest.mark.slow

NOBODY = 65534

MISSING = {
    "excel": "cv.tabulate('firms.xlsx', 'region', 'sales')",
    "statistical": "cv.tabulate('firms.sav', 'region', 'sales')",
    "pandas": "table.to_pandas()",
    "polars": "table.to_polars()",
    "sdmx": "cv.release(cv.suppress(problem).audit, 'public', formats=['sdmx'])",
    "service": "main('serve', '--port', '0')",
    "cluster": "main('run', 'job.toml', '--cluster', 'tcp://127.0.0.1:1')",
    "engines": "cv.tabulate('firms', 'region', 'sales', connection=object(), dialect='postgres')",
    "postgres": "cv.tabulate('firms', 'region', 'sales', engine='postgres')",
    "spark": "cv.tabulate('firms.csv', 'region', 'sales', engine='spark')",
}
"""By extra, something that needs it."""

JOB = """
output = "out"
rules = ["p%:10"]
microdata = { file = "firms.csv", contributor = "firm" }
tables = [{ dimensions = ["region"], response = "sales" }]
"""

ASKING = """
import cellveil as cv
from cellveil.cli.app import app

def main(*words):
    app(list(words), standalone_mode=False)

table = cv.tabulate("firms.csv", "region", "sales", contributor="firm")
problem = cv.make_problem(table, cv.PPercent(10))
try:
    {code}
except cv.MissingExtraError as error:
    print(error.extra, "|", error)
"""


def without_rights() -> dict[str, Any]:
    """How to start a process as somebody else, where root runs the tests."""
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def interpreter() -> str:
    """A Python that can make environments, and that whoever has no rights can run."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys._base_executable, shutil.which(own, path="/usr/local/bin:/usr/bin")):  # type: ignore[attr-defined]
        asked = [path, "-I", "-c", "import ensurepip, venv"]
        with suppress(OSError):
            if (
                path
                and subprocess.run(asked, cwd="/", capture_output=True, **without_rights()).returncode == 0
            ):
                return str(path)
    pytest.skip(f"no {own} with venv here that other users may run")


@dataclass(frozen=True)
class Installation:
    """An environment with the wheel, and a folder that is the only one to write to."""

    environment: Path
    work: Path

    def run(self, *words: str, timeout: int = 1200) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment as somebody without rights, and without a home."""
        variables = {"PATH": str(self.environment / "bin"), "HOME": "/nonexistent", "LANG": "C.UTF-8"}
        command = [str(self.environment / "bin" / words[0]), *words[1:]]
        return subprocess.run(
            command,
            cwd=self.work,
            env=variables,
            capture_output=True,
            text=True,
            timeout=timeout,
            **without_rights(),
        )

    def content(self) -> dict[str, tuple[int, int]]:
        """All files of the environment, with size and time."""
        return {
            str(path.relative_to(self.environment)): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in self.environment.rglob("*")
            if not path.is_dir()
        }


@pytest.fixture(scope="module")
def installed() -> Iterator[Installation]:
    if os.name != "posix":
        pytest.skip("users and rights are those of POSIX")
    with TemporaryDirectory(prefix="installed-") as folder:
        base = Path(folder)
        base.chmod(0o755)
        environment, work = base / "env", base / "work"
        subprocess.run([interpreter(), "-m", "venv", str(environment)], check=True)
        wheel = built_wheel(base)
        command = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        command += ["--disable-pip-version-check", "--only-binary", ":all:"]
        command += ["--constraint", str(ROOT / "requirements.lock"), str(wheel)]
        bare = {"PATH": str(environment / "bin")} | {
            name: value for name, value in os.environ.items() if name == "HOME" or name.startswith("PIP_")
        }
        subprocess.run(command, check=True, cwd=base, env=bare)
        for path in (environment, *environment.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode & 0o555 | 0o444)
        work.mkdir(mode=0o777)
        work.chmod(0o777)
        yield Installation(environment, work)
        for path in (environment, *environment.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)


def test_the_demo_runs_and_its_release_verifies(installed: Installation) -> None:
    before = installed.content()
    assert shutil.which("cc", path=str(installed.environment / "bin")) is None
    version = installed.run("cellveil", "--version")
    assert version.stdout == f"cellveil {PROJECT['version']}\n", version.stderr
    ended = installed.run("cellveil", "demo", "--out", "demo", "--firms", "3000", "--quiet")
    assert ended.returncode == 0, ended.stderr
    internal, public = installed.work / "demo" / "internal", installed.work / "demo" / "public"
    assert json.loads((public / "about.json").read_text("utf-8"))["software"]["version"] == PROJECT["version"]
    assert (public / "index.html").is_file()
    proof = [str(internal / name) for name in ("instance", "pattern.csv", "certificate")]
    verified = installed.run("cellveil", "verify", *proof)
    assert verified.returncode == 0, verified.stderr
    assert installed.content() == before


def test_importing_loads_no_solver_and_no_engine(installed: Installation) -> None:
    code = (
        "import sys, cellveil; loaded = {'highspy', 'pyscipopt', 'duckdb', 'pyarrow', 'scipy'}; "
        "print(sorted(loaded & set(sys.modules)), cellveil.__file__)"
    )
    ended = installed.run("python", "-I", "-c", code)
    assert ended.stdout.startswith(f"[] {installed.environment}"), ended.stdout + ended.stderr


@pytest.mark.parametrize("extra", MISSING)
def test_what_is_not_installed_is_named(installed: Installation, extra: str) -> None:
    records = "region,firm,sales\nN,a,90\nN,b,5\nS,c,40\nS,d,30\nS,e,30\n"
    (installed.work / "job.toml").write_text(JOB, encoding="utf-8")
    for name in ("firms.csv", "firms.xlsx", "firms.sav"):
        (installed.work / name).write_text(records, encoding="utf-8")
    ended = installed.run("python", "-I", "-c", ASKING.format(code=MISSING[extra]))
    assert ended.stdout.startswith(f"{extra} | "), ended.stdout + ended.stderr
    assert f"pip install 'cellveil[{extra}]'" in ended.stdout


def test_every_extra_of_users_is_asked_for() -> None:
    assert set(MISSING) == set(PROJECT["optional-dependencies"]) - {"test", "dist", "docs"}


def test_tests_run_from_the_source_archive(tmp_path: Path) -> None:
    with tarfile.open(built_archive(tmp_path)) as packed:
        packed.extractall(tmp_path, filter="data")
    tree = tmp_path / f"cellveil-{PROJECT['version']}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["tests/repository", "tests/tables", "tests/distribution", "-m", "not slow"]
    variables = os.environ | {"PYTHONPATH": str(tree / "src")}
    ended = subprocess.run(command, cwd=tree, env=variables, capture_output=True, text=True, timeout=3000)
    assert ended.returncode == 0, ended.stdout[-3000:]
