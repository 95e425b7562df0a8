"""Kills runs at every step of their writing. Run as a program: ``kill_points.py FOLDER SCENARIO WAY``.

Each run is a process of its own, which ends by SIGKILL just before its k-th change of the file system, for
k = 1, 2, … until it gets through. After every kill the folders are examined as a reader would find them, then
as a run finds them that ends before its verdict, then after a run that gets through. What is found wrong, and
the number of kills, is printed as JSON.
"""

import hashlib
import itertools
import json
import os
import shutil
import signal
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.files import write_text
from cellveil.job.output_folder import RUN_FILE, open_output
from cellveil.public_view import PublicView
from cellveil.publishing import swap, write_release
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.kept_releases import RELEASES, changed_files, kept_releases
from cellveil.publishing.publication import Publication
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

NAMES = ("report.json", "instance")
CALLS = ("rename", "replace", "link", "unlink", "rmdir", "mkdir", "chmod", "fsync")
FOREIGN = {"public": "README.md", "internal": "notes.txt"}


def publication(title: str, value: int) -> Publication:
    region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    table = table_from_interior([region], {"region": ["N", "S", "W"]}, [4, 6, value])
    hidden, nothing = np.array([False, True, True, False]), np.zeros(4, dtype=np.int64)
    values = np.where(hidden, 0, table.values)
    return Publication.of(
        table, PublicView(table.relations, hidden, values, nothing, nothing), imprint=Imprint(title)
    )


OLD, NEW = publication("old", 9), publication("new", 12)


def run(home: Path, what: Publication | None) -> None:
    """What a job writes: internal files, and a release unless the verdict is negative."""
    with open_output(home, NAMES) as output, output.replaced() as new:
        for name in ("cells", "hier_region"):
            write_text(new.internal / "instance" / f"{name}.csv", f"{what.heading if what else 'none'}\n")
        if what is not None:
            write_release(what, new.public, ["csv"])
        write_text(new.internal / "report.json", json.dumps(what.heading if what else None))


def end_early(home: Path) -> None:
    """A run that finds its input bad."""
    with open_output(home, NAMES):
        pass


def direct(home: Path, what: Publication) -> None:
    write_release(what, home / "public", ["csv"])


def beginning(home: Path, what: Publication | None, foreign: bool) -> None:
    run(home, what)
    for folder, name in FOREIGN.items() if foreign else ():
        (home / folder).mkdir(exist_ok=True)
        (home / folder / name).write_text("mine")
        (home / folder / "more").mkdir()
        (home / folder / "more" / "deep.txt").write_text("mine too")


SCENARIOS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "first": (lambda home: home.mkdir(), lambda home: run(home, NEW)),
    "replace": (lambda home: beginning(home, OLD, True), lambda home: run(home, NEW)),
    "withdraw": (lambda home: beginning(home, OLD, True), lambda home: run(home, None)),
    "withdraw all": (lambda home: beginning(home, OLD, False), lambda home: run(home, None)),
    "again": (lambda home: beginning(home, None, True), lambda home: run(home, NEW)),
    "direct": (lambda home: beginning(home, OLD, True), lambda home: direct(home, NEW)),
}
"""What was there, and what the run does that is killed."""


def kill_before(count: int, inside: Path) -> None:
    """From now on, die before the change of this number that concerns the folder."""
    numbers = itertools.count(1)

    def guard(module: Any, name: str) -> None:
        real = getattr(module, name)

        def guarded(*given: Any, **more: Any) -> Any:
            first = given[0]
            concerned = more.get("dir_fd") is not None or isinstance(first, int)
            if (concerned or str(inside) in os.fsdecode(first)) and next(numbers) == count:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **more)

        setattr(module, name, guarded)

    for name in CALLS:
        guard(os, name)
    guard(swap, "swap_at_once")


def in_a_process(work: Callable[[], None]) -> int:
    """Run in a process of its own; the answer is its exit code, negative when it was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def public_files(home: Path) -> dict[str, bytes]:
    """The files of a release, without those of the user."""
    public = home / "public"
    if not public.is_dir():
        return {}
    ours = [path for path in public.iterdir() if path.is_file() and path.name != FOREIGN["public"]]
    return {path.name: path.read_bytes() for path in ours}


def faults(home: Path, allowed: list[dict[str, bytes]], foreign: bool) -> list[str]:
    """What a reader would complain about."""
    found = []
    here = public_files(home)
    if here not in allowed:
        found.append(f"public is neither the old release nor the new one: {sorted(here)}")
    if here:
        for name, digest in json.loads(here["about.json"])["files"].items():
            if hashlib.sha256(here.get(name, b"")).hexdigest() != digest:
                found.append(f"{name} is not the file of the release")
    for path in home.iterdir():
        readable = stat.S_IMODE(path.stat().st_mode) & 0o077
        if readable and (path.name == "internal" or (".cellveil-" in path.name and path.is_dir())):
            found.append(f"{path.name} can be read by others")
    if foreign:
        for folder, name in FOREIGN.items():
            for path in (home / folder / name, home / folder / "more" / "deep.txt"):
                if not path.is_file():
                    found.append(f"{folder}/{path.name} is gone")
    return found


def disagreements(home: Path) -> list[str]:
    """What is wrong after a run has tidied up."""
    found = [f"{path.name} was left" for path in home.iterdir() if path.name.startswith(".")]
    about, note = home / "public" / "about.json", home / "internal" / RUN_FILE
    released = hashlib.sha256(about.read_bytes()).hexdigest() if about.is_file() else None
    announced = json.loads(note.read_text())["release"] if note.is_file() else None
    return [*found, *(["public and internal are of different runs"] if released != announced else [])]


def lost_releases(home: Path, made: list[dict[str, bytes]]) -> list[str]:
    """Releases that a run made, and of which no whole copy is kept; and what else is in their folder."""
    kept = kept_releases(home)
    found = [f"{path.name} is not what it was" for path in kept if changed_files(path)]
    found += [f"{path.name} was left" for path in (home / RELEASES).glob(".*")]
    copies = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in kept]
    return [*found, *("a release was lost" for files in made if files and files not in copies)]


def main(base: Path, scenario: str, way: str) -> None:
    begin, go_on = SCENARIOS[scenario]
    os.fsync = lambda handle: None  # a kill loses nothing that was written, and waiting takes long
    start, home = base / "start", base / "home"
    begin(start)
    foreign = (start / "public" / FOREIGN["public"]).exists()
    if way == "renames":
        swap.swap_at_once = lambda one, other: False
    shutil.copytree(start, home, copy_function=shutil.copy2)
    assert in_a_process(lambda: go_on(home)) == 0
    allowed = [public_files(start), public_files(home)]
    wrong: list[str] = []
    for kills in itertools.count():
        shutil.rmtree(home)
        shutil.copytree(start, home, copy_function=shutil.copy2)

        def killed(number: int = kills + 1) -> None:
            kill_before(number, base)
            go_on(home)

        code = in_a_process(killed)
        if code == 0:
            break
        aside = way == "renames" and not (home / "public").exists()  # for a moment, until the next run
        found = [f"ended with {code}"] if code != -signal.SIGKILL else []
        found += [] if aside else faults(home, allowed, foreign and (home / "internal").exists())
        found += ["a run after it failed"] if in_a_process(lambda: end_early(home)) else []
        found += faults(home, allowed, foreign)
        if scenario != "direct":
            found += disagreements(home)
        found += ["a whole run after it failed"] if in_a_process(lambda: go_on(home)) else []
        found += faults(home, [allowed[1]], foreign)
        if scenario != "direct":
            found += [*disagreements(home), *lost_releases(home, allowed)]
        wrong += [f"kill {kills + 1}: {one}" for one in found]
    print(json.dumps({"kills": kills, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
