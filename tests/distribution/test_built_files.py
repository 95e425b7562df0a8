"""What is handed out: a wheel is the package and nothing else, the source archive all that tests need."""

from __future__ import annotations

import re
import runpy
import subprocess
import sysconfig
import tarfile
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from cellveil.loops import build
from helpers.distribution import PROJECT, built_archive, built_wheel
from helpers.pages import ROOT

HOOK = runpy.run_path(str(ROOT / "hatch_build.py"))

WHEELS: dict[str, tuple[str, str, str]] = HOOK["WHEELS"]

HEADS = {"linux": b"\x7fELF", "darwin": b"\xcf\xfa\xed\xfe", "win32": b"MZ"}
"""How a library begins."""

PLACES = {"linux": 18, "darwin": 4, "win32": 0}
"""Where the number of the processor stands; in Windows behind another mark."""

PROCESSORS = {
    ("linux", False): 62,
    ("linux", True): 183,
    ("darwin", False): 7,
    ("darwin", True): 12,
    ("win32", False): 0x8664,
}

INFO = f"cellveil-{PROJECT['version']}.dist-info"
EPOCH = "1700000000"
SOURCE = ROOT / "src" / "cellveil"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", EPOCH)
        return built_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as packed:
        return Parser().parsestr(packed.read(f"{INFO}/METADATA").decode())


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    there = {path.relative_to(SOURCE.parent).as_posix() for path in SOURCE.rglob("*") if path.is_file()}
    wanted = {name for name in there if "__pycache__" not in name}
    described = {f"{INFO}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    with ZipFile(wheel) as packed:
        assert set(packed.namelist()) == wanted | described | {f"{INFO}/licenses/LICENSE"}
        for name in wanted:
            assert packed.read(name) == (SOURCE.parent / name).read_bytes(), name
    kinds = {Path(name).suffix for name in wanted}
    assert f"cellveil/loops/{build.library_path().name}" in wanted
    assert {".c", ".h", ".py", ".pyi", ".typed", ".html", ".css", ".js", ".toml", ".svg"} <= kinds


def test_the_wheel_is_for_this_system_and_says_what_it_needs(wheel: Path, metadata: Message) -> None:
    system = re.sub(r"[-.]", "_", sysconfig.get_platform())
    assert wheel.name == f"cellveil-{PROJECT['version']}-py3-none-{system}.whl"
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == "MIT" and metadata["License-File"] == "LICENSE"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])
    needed = {
        str(Requirement(text)) for text in metadata.get_all("Requires-Dist", []) if "extra ==" not in text
    }
    assert needed == {str(Requirement(text)) for text in PROJECT["dependencies"]}


def test_the_programs_exist(wheel: Path) -> None:
    with ZipFile(wheel) as packed:
        written = packed.read(f"{INFO}/entry_points.txt").decode()
    lines = [f"{name} = {place}" for name, place in PROJECT["scripts"].items()]
    assert written.split("\n")[0] == "[console_scripts]" and set(lines) <= set(written.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("machine", sorted(WHEELS))
def test_wheels_of_other_machines_have_their_own_library(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are compiled, not run; a head tells for which system a file is."""
    pytest.importorskip("ziglang")
    monkeypatch.setenv("CELLVEIL_WHEEL", machine)
    _, tag, platform = WHEELS[machine]
    wheel = built_wheel(tmp_path)
    assert wheel.name == f"cellveil-{PROJECT['version']}-py3-none-{tag}.whl"
    with ZipFile(wheel) as packed:
        libraries = [name for name in packed.namelist() if Path(name).stem == "_loops"]
        assert libraries == [f"cellveil/loops/{build.library_path(platform).name}"]
        content = packed.read(libraries[0])
        assert f"Tag: py3-none-{tag.split('.')[0]}" in packed.read(f"{INFO}/WHEEL").decode()
    assert content.startswith(HEADS[platform]) and build.digest().encode() in content
    processor = int.from_bytes(content[PLACES[platform] : PLACES[platform] + 2], "little")
    if platform == "win32":
        processor = int.from_bytes(content[(start := content.index(b"PE\0\0") + 4) : start + 2], "little")
    assert processor == PROCESSORS[platform, "aarch64" in machine or "arm64" in machine]


def test_make_knows_all_machines() -> None:
    (machines,) = re.findall(
        r"^MACHINES := (.*)$", ROOT.joinpath("Makefile").read_text("utf-8"), re.MULTILINE
    )
    assert machines.split() == list(WHEELS)


def test_equal_sources_give_equal_files(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)
    assert built_wheel(tmp_path).read_bytes() == wheel.read_bytes()
    with ZipFile(wheel) as packed:
        assert {entry.date_time[:3] for entry in packed.infolist()} == {(2023, 11, 14)}


def test_the_source_archive_has_all_that_is_versioned(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout: what is versioned is not known")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    versioned = {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    base = f"cellveil-{PROJECT['version']}/"
    with tarfile.open(built_archive(tmp_path)) as packed:
        names = {entry.name.removeprefix(base) for entry in packed if entry.isfile()}
    assert versioned <= names
    assert not {
        name for name in names if name.startswith((".git/", ".venv/", "dist/")) or "__pycache__" in name
    }
