"""Compiles the loops: `all.c` becomes one shared library beside it.

Run by hand (``python -m cellveil.loops.build --help``) and by `hatch_build.py`, which loads this file by its
path: it imports nothing but the standard library.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).parent

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}

FLAGS = ("-std=c11", "-O3", "-fwrapv", "-ffp-contract=off", "-fno-semantic-interposition", "-fPIC", "-shared")
"""Whole numbers wrap around; a · b + c is rounded twice on every machine, so that results are the same.
Functions that Python calls may be inlined as well."""

CHECKED = ("-DCHECKED", "-g")
"""Indices are held against the lengths of arrays."""

SANITIZED = (*CHECKED, "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")

PROBE = (
    "#include <math.h>\n#include <stdlib.h>\nint main(int n, char **v) { return (int)sqrt(n + atof(*v)); }\n"
)


def library_path(platform: str = sys.platform) -> Path:
    """Where the library is."""
    return FOLDER / f"_loops{SUFFIX.get(platform, '.so')}"


def sources() -> list[Path]:
    """The files that the library is made of, in the order of their names."""
    return sorted(path for path in FOLDER.iterdir() if path.suffix in (".c", ".h"))


def digest() -> str:
    """SHA-256 of the sources; the library holds that of the sources it was made of."""
    found = hashlib.sha256()
    for path in sources():
        found.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()


def is_current() -> bool:
    """Whether the library is there, made of the sources as they are."""
    path = library_path()
    return path.is_file() and digest().encode() in path.read_bytes()


@cache
def system_compiler() -> tuple[str, ...] | None:
    """A compiler of this machine that works: `$CC`, else cc, gcc, clang; None where there is none."""
    if sys.platform == "darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True).returncode:
        return None  # where there are no tools, cc would open a dialog
    given = tuple(os.environ.get("CC", "").split())
    for command in (given, ("cc",), ("gcc",), ("clang",)):
        if command and shutil.which(command[0]) and _works(command):
            return command
    return None


def _works(command: tuple[str, ...]) -> bool:
    with TemporaryDirectory() as folder:
        source = Path(folder) / "probe.c"
        source.write_text(PROBE, encoding="ascii")
        words = [*command, "-std=c11", str(source), "-o", str(source.with_suffix(".out")), "-lm"]
        return subprocess.run(words, capture_output=True).returncode == 0


def zig() -> tuple[str, ...]:
    """The compiler of the package `ziglang`."""
    if find_spec("ziglang") is None:
        raise SystemExit(
            "No C compiler works here (tried $CC, cc, gcc, clang), and the package ziglang, which has one, "
            "is not installed: pip install ziglang"
        )
    return sys.executable, "-m", "ziglang", "cc"


def build(out: Path | None = None, *, target: str | None = None, flags: tuple[str, ...] = ()) -> Path:
    """Compile the library.

    Parameters
    ----------
    out
        Where to; by default where the loader finds it.
    target
        Another machine, as zig names it; by default this one.
    """
    out = out or library_path()
    compiler = system_compiler() if target is None else None
    words = [*(compiler or zig()), *FLAGS, *flags, f'-DSOURCE_DIGEST="{digest()}"']
    if compiler is None:
        words += [] if flags else ["-s"]
        words += ["-target", target] if target else []
    with TemporaryDirectory(dir=out.parent, prefix="._loops-") as folder:
        made = Path(folder) / out.name
        libraries = [] if "windows" in (target or sys.platform.replace("win32", "windows")) else ["-lm"]
        done = subprocess.run(
            [*words, str(FOLDER / "all.c"), "-o", str(made), *libraries], capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"The loops could not be compiled.\n{' '.join(words)}\n{done.stderr}")
        made.replace(out)  # never a half-written library, and never under a process that has the old one
    return out


def main() -> None:
    """Compile from the command line."""
    parser = argparse.ArgumentParser(description="Compile the loops.")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--checked", action="store_const", const=CHECKED, dest="flags", help="check indices")
    kind.add_argument("--sanitized", action="store_const", const=SANITIZED, dest="flags", help="and memory")
    parser.add_argument("--out", type=Path, help="another place for the library")
    given = parser.parse_args()
    print(build(given.out, flags=given.flags or ()))


if __name__ == "__main__":
    main()
