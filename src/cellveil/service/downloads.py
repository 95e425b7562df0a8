"""What a user takes along from a job: release, report, certificate, and the job with its data."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

from cellveil.service.job_folders import JobFolder

MOMENT = (1980, 1, 1, 0, 0, 0)
"""Of all entries of an archive: the same files give the same archive."""


@dataclass(frozen=True)
class Download:
    """One of them: a file as it is, or a folder as an archive."""

    name: str
    about: str
    place: tuple[str, ...]
    media_type: str
    is_public: bool = False

    def path(self, folder: JobFolder) -> Path:
        """What it is made of."""
        return folder.path.joinpath(*self.place)

    @property
    def is_archive(self) -> bool:
        """Whether it is made when it is asked for."""
        return self.name.endswith(".zip")

    def is_there(self, folder: JobFolder) -> bool:
        """Whether the job has it."""
        path = self.path(folder)
        return any(path.rglob("*")) if path.is_dir() else path.is_file()


ZIP, CSV, HTML, JSON = (
    "application/zip",
    "text/csv; charset=utf-8",
    "text/html; charset=utf-8",
    "application/json",
)

DOWNLOADS: Mapping[str, Download] = {
    one.name: one
    for one in (
        Download("release.zip", "The public files.", ("out", "public"), ZIP, True),
        Download("report.html", "The internal report.", ("out", "internal", "report.html"), HTML),
        Download("report.json", "Its figures.", ("out", "internal", "report.json"), JSON),
        Download("certificate.zip", "The proof of safety.", ("out", "internal", "certificate"), ZIP),
        Download("instance.zip", "The tables with levels, for verify.", ("out", "internal", "instance"), ZIP),
        Download("pattern.csv", "Which cells are hidden, and why.", ("out", "internal", "pattern.csv"), CSV),
        Download("adjusted.csv", "The adjusted values.", ("out", "internal", "adjusted.csv"), CSV),
        Download("comparison.html", "Methods side by side.", ("out", "internal", "comparison.html"), HTML),
        Download("job.toml", "The job file.", ("input", "job.toml"), "application/toml"),
        Download("job.zip", "The job file with its data: cellveil run job.toml", ("input",), ZIP),
    )
}
"""By name; nothing else can be asked for."""


def archive(folder: Path, scratch: Path) -> Path:
    """Pack a file or folder into a new archive in `scratch`; whoever asked removes it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else [folder]
    base = folder if folder.is_dir() else folder.parent
    with (
        NamedTemporaryFile(dir=scratch, suffix=".zip", delete=False) as target,
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed,
    ):
        for path in files:
            entry = zipfile.ZipInfo(path.relative_to(base).as_posix(), MOMENT)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as source, packed.open(entry, "w", force_zip64=True) as sink:
                while block := source.read(2**20):
                    sink.write(block)
    return Path(target.name)
