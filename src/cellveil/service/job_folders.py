"""Folders of the service: uploaded files and jobs over tables, under random ids; names of users are no paths.

::

    STATE/service.db                    who owns what, states, progress (`store`)
    STATE/service.reserve               space for the database on a full disk
    STATE/files/ID/NAME                 one uploaded file, under a safe name
    STATE/jobs/ID/request.json          what was asked
    STATE/jobs/ID/input/job.toml, …     the job file and the files it names: what job.zip holds
    STATE/jobs/ID/out/public, internal  what the run wrote
    STATE/jobs/ID/view/                 what the page shows
    STATE/jobs/ID/tmp-ID/               temporary files of a worker; removed after
    STATE/datasets/NAME/                built-in data, made when first asked for
    STATE/scratch/ID/                   of checks; removed after
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from secrets import token_urlsafe
from stat import S_ISDIR
from typing import Any

from cellveil.errors import InputError
from cellveil.files import is_reserved_name, write_text

ID = re.compile(r"[A-Za-z0-9_-]{16}")
PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._ +=()-]{0,99}")
"""A part of a name within a job folder: no path can be made of it."""

DEEPEST = 4
"""Folders of a name within a job, at most."""

JOB_FILE = "job.toml"
TEMPORARY = "tmp-"


def new_id() -> str:
    """A random id."""
    return token_urlsafe(12)


def is_id(text: str) -> bool:
    """Whether a text can be an id.

    Examples
    --------
    >>> is_id("abcdefghij_-0123"), is_id("../../etc/passwd")
    (True, False)
    """
    return ID.fullmatch(text) is not None


def safe_name(name: str) -> str:
    """A name for a file, made of a name that somebody gave: its letters, its ending, and no path.

    Examples
    --------
    >>> [safe_name(name) for name in ("firms 2024.CSV", "../../etc/passwd", "Umsätze.csv.gz", "..")]
    ['firms_2024.csv', 'passwd', 'Ums_tze.csv.gz', 'file']
    """
    last = re.split(r"[/\\]", name)[-1]
    stem, *ends = re.sub(r"[^A-Za-z0-9._-]", "_", last).lstrip("._-").split(".")
    kept = [end.lower() for end in ends if 0 < len(end) <= 10][-2:]
    stem = stem[:60] or "file"
    return ".".join([f"{stem}_" if is_reserved_name(stem) else stem, *kept])


def checked_name(name: str) -> str:
    """A name of a file within a job folder, as a job file may have it.

    Raises
    ------
    InputError
        Where it is absolute, leads elsewhere, or has characters that a plain name does not need.

    Examples
    --------
    >>> checked_name("data/firms.csv")
    'data/firms.csv'
    """
    parts = name.split("/")
    is_plain = all(PART.fullmatch(part) and not part.endswith((".", " ")) for part in parts)
    if not is_plain or len(parts) > DEEPEST or any(map(is_reserved_name, parts)):
        raise InputError(
            f"{name[:100]!r} is not a plain name of a file within the job",
            remedy="Use letters, digits, point, dash and underscore, such as data/firms.csv.",
        )
    if parts[0].lower() == JOB_FILE:
        raise InputError(f"{JOB_FILE} is the job itself", remedy="Name the file otherwise.")
    return name


@dataclass(frozen=True)
class JobFolder:
    """The folder of one job."""

    path: Path

    @property
    def input(self) -> Path:
        """The job file and its data."""
        return self.path / "input"

    @property
    def job_file(self) -> Path:
        """The job file."""
        return self.input / JOB_FILE

    @property
    def out(self) -> Path:
        """The output folder of the run."""
        return self.path / "out"

    @property
    def view(self) -> Path:
        """What the page shows."""
        return self.path / "view"

    def new_temporary(self) -> Path:
        """A folder for the temporary files of one worker: several may explain cells of the same job."""
        made = self.path / f"{TEMPORARY}{new_id()}"
        made.mkdir(mode=0o700, parents=True)
        return made

    def temporaries(self) -> list[Path]:
        """Folders of temporary files."""
        return list(self.path.glob(f"{TEMPORARY}*"))

    def clear(self) -> None:
        """Remove everything that a run which came to no result has written."""
        for folder in (self.out, self.view, *self.temporaries()):
            remove_folder(folder)

    def written(self) -> int:
        """Bytes on disk that workers have written, the input left out."""
        return sum(bytes_in(path) for path in _entries(self.path) if path != self.input)

    @property
    def request_file(self) -> Path:
        """What was asked."""
        return self.path / "request.json"

    def request(self) -> dict[str, Any]:
        """What was asked."""
        found: dict[str, Any] = json.loads(self.request_file.read_text("utf-8"))
        return found

    def fill(self, request: Mapping[str, Any], toml: str, files: Mapping[str, Path]) -> None:
        """Write the request and the job file, and link the files under their names in the job."""
        self.input.mkdir(parents=True)
        if toml:
            write_text(self.job_file, toml)
        for name, source in files.items():
            target = self.input.joinpath(*PurePosixPath(checked_name(name)).parts)
            target.parent.mkdir(parents=True, exist_ok=True)
            link(source, target)
        write_text(self.request_file, json.dumps(dict(request), ensure_ascii=False) + "\n")

    def input_files(self) -> dict[str, Path]:
        """The files of the job by their names, the job file left out."""
        found = sorted(path for path in self.input.rglob("*") if path.is_file() and path != self.job_file)
        return {path.relative_to(self.input).as_posix(): path for path in found}


def link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the system cannot link."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


class StateFolder:
    """The folder in which a service keeps everything, for its own user only."""

    def __init__(self, path: Path) -> None:
        self.path = Path(path).absolute()
        for part in (self.path, self.files, self.jobs, self.datasets, self.scratch):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix":
            self.path.chmod(0o700)

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / "service.db"

    @property
    def files(self) -> Path:
        """Uploads."""
        return self.path / "files"

    @property
    def jobs(self) -> Path:
        """Jobs."""
        return self.path / "jobs"

    @property
    def datasets(self) -> Path:
        """Built-in data."""
        return self.path / "datasets"

    @property
    def scratch(self) -> Path:
        """Of checks."""
        return self.path / "scratch"

    def has_space(self, least: int) -> bool:
        """Whether the disk has so many bytes free."""
        return shutil.disk_usage(self.path).free >= least

    def job(self, id: str) -> JobFolder:
        """The folder of a job."""
        return JobFolder(self.jobs / _checked(id))

    def file(self, id: str) -> Path:
        """The folder of an uploaded file."""
        return self.files / _checked(id)

    @contextmanager
    def scratch_job(self) -> Iterator[JobFolder]:
        """A job folder that is removed after use."""
        folder = JobFolder(self.scratch / new_id())
        try:
            yield folder
        finally:
            remove_folder(folder.path)

    def clear_scratch(self) -> None:
        """Remove what a service that was killed has left."""
        hidden = (*self.files.glob(".*"), *self.jobs.glob(".*"))
        for folder in (*self.scratch.iterdir(), *hidden, *self.jobs.glob(f"*/{TEMPORARY}*")):
            remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it; first out of sight, so that nothing half-removed is found."""
    if not folder.exists():
        return
    aside = folder.parent / f".removed-{new_id()}"
    try:
        folder.rename(aside)
    except OSError:
        aside = folder
    shutil.rmtree(aside, ignore_errors=True)


def bytes_in(path: Path) -> int:
    """Bytes on disk below a path; what vanishes meanwhile has none."""
    try:
        facts = path.lstat()
    except OSError:
        return 0
    if S_ISDIR(facts.st_mode):
        return sum(map(bytes_in, _entries(path)))
    return 512 * facts.st_blocks if hasattr(facts, "st_blocks") else facts.st_size


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _checked(id: str) -> str:
    if not is_id(id):
        raise ValueError("not an id")
    return id
