"""Public files, made only from a view that an audit has shown safe.

Requires an audit of the very view that is written (same content hash) that judged every primary cell and
found it protected, with a certificate that the exact verifier accepts; or an override with a reason. Ensures
that no public file holds a hidden value or anything that tells primary from secondary cells: the writers get
a `Publication`, which has neither.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.errors import InputError, NotSafeError, name_some, nearest_name
from cellveil.files import write_text
from cellveil.problem import Problem, Status
from cellveil.proof import verify
from cellveil.publishing.excel import MAX_ROWS, fits_excel, require_excel, write_excel
from cellveil.publishing.folder import ABOUT, SOFTWARE, replaced_folder
from cellveil.publishing.page import page_of, public_page
from cellveil.publishing.plain import header, write_csv, write_parquet
from cellveil.publishing.publication import Labels, Publication
from cellveil.view import Pattern, PublicView

if TYPE_CHECKING:
    from cellveil.auditing import AuditReport

__all__ = ["FORMATS", "Labels", "Publication", "Release", "objections", "public_page", "release"]


def _write_page(publication: Publication, path: Path) -> None:
    beside = [FORMATS[name][0] for name in FORMATS if (path.parent / FORMATS[name][0]).exists()]
    write_text(path, page_of(publication, beside))


FORMATS: Mapping[str, tuple[str, Callable[[Publication, Path], None]]] = {
    "csv": ("table.csv", write_csv),
    "parquet": ("table.parquet", write_parquet),
    "xlsx": ("table.xlsx", write_excel),
    "html": ("index.html", _write_page),
}
"""For each format the name of its file and its writer; the page comes last, as it links to the others."""


@dataclass(frozen=True)
class Release:
    """What was released, for the office itself: this object is not public.

    Parameters
    ----------
    folder
        Where the public files are.
    files
        Their names, each with the SHA-256 of its content.
    view_hash
        Digest of the view they show.
    num_cells, num_hidden
        Cells of the table, and how many of them are hidden.
    skipped
        Formats that could not be written, with the reason.
    objections
        What spoke against the release; empty unless there was an override.
    override
        The reason given for releasing nevertheless; None when nothing spoke against it.
    """

    folder: Path
    files: Mapping[str, str]
    view_hash: str
    num_cells: int
    num_hidden: int
    skipped: Mapping[str, str] = field(default_factory=dict)
    objections: tuple[str, ...] = ()
    override: str | None = None


def release(
    problem: Problem,
    pattern: Pattern,
    audit: AuditReport | None,
    folder: Path | str,
    *,
    formats: Sequence[str] = ("csv", "parquet", "xlsx"),
    symbol: str = "x",
    title: str = "",
    labels: Labels | None = None,
    decimals: int | None = None,
    note: str = "",
    date: str = "",
    override: str | None = None,
) -> Release:
    """Write the public files of a pattern, if its audit allows it.

    The files appear together: a failure leaves the folder as it was. Files of an older release in it are
    replaced.

    Parameters
    ----------
    audit
        The verdict on this pattern's public view.
    formats
        Any of csv, parquet, xlsx and html.
    symbol
        Written in place of hidden values; "" leaves them empty.
    title, note, date
        Public texts.
    labels
        Labels of codes: dimension → code → label.
    decimals
        Decimals shown in the Excel file and the page; by default all. CSV and Parquet hold the exact values.
    override
        A reason to release although the audit does not allow it. Internal: it stands in no public file.

    Raises
    ------
    NotSafeError
        When the audit is missing, is of another view, or did not pass, and there is no override.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cellveil.auditing import audit
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Dimension, Hierarchy
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    >>> table = table_from_interior([region], {"region": ["N", "S", "W"]}, [4, 6, 9])
    >>> problem = Problem.of(table, {1: (1, 1)})
    >>> pattern = Pattern.hiding(problem, np.array([False, True, True, False]), "by hand")
    >>> with TemporaryDirectory() as folder:
    ...     done = release(problem, pattern, audit(problem, pattern), folder, formats=["csv"])
    ...     print((done.folder / "table.csv").read_text())
    region,value,flag
    Total,19,
    N,x,x
    S,x,x
    W,9,
    <BLANKLINE>
    """
    check_formats(formats)
    view = PublicView.of(problem, pattern)
    against = tuple(objections(problem, view, audit))
    if against and not (override or "").strip():
        raise NotSafeError(f"nothing was released: {'; '.join(against)}. {_advice(override)}")
    publication = Publication.of(
        problem.table,
        view,
        title=title,
        note=note,
        date=date,
        symbol=symbol,
        labels=labels,
        decimals=decimals,
    )
    header(publication)
    folder = Path(folder).resolve()
    files, skipped = write_release(publication, folder, formats)
    return Release(
        folder,
        files,
        view.content_hash,
        publication.num_cells,
        publication.num_hidden,
        skipped,
        against,
        override.strip() if against and override else None,
    )


def objections(problem: Problem, view: PublicView, audit: AuditReport | None) -> list[str]:
    """What speaks against releasing the view, in words; an empty list means nothing does."""
    found = []
    bare = problem.primaries[~view.hidden[problem.primaries]]
    if len(bare):
        names = name_some(problem.table.cell_names(bare[:6]))
        found.append(f"{len(bare)} primary cells are not hidden: {names}")
    if audit is None:
        return [*found, "there is no audit"]
    if audit.view_hash != view.content_hash:
        return [*found, "the audit is of another view"]
    missing = np.setdiff1d(problem.primaries, audit.cells)
    if len(missing):
        found.append(f"the audit did not judge {len(missing)} of the primary cells")
    if len(audit.unsafe_cells):
        names = name_some(problem.table.cell_names(audit.unsafe_cells[:6]))
        found.append(f"the audit did not show {len(audit.unsafe_cells)} primary cells protected: {names}")
    elif not audit.is_safe:
        found.append(f"the audit was not completed ({audit.reason})")
    if not found and not _is_proven(problem, view, audit):
        found.append("the audit's certificate does not prove the cells protected")
    return found


def _is_proven(problem: Problem, view: PublicView, audit: AuditReport) -> bool:
    """Whether the exact verifier accepts the audit's certificate for this view."""
    status = np.where(view.hidden, Status.SECONDARY, Status.SAFE).astype(np.int8)
    return verify(problem, Pattern(status, "view"), audit.certificate).is_valid


def software_version() -> str:
    """The version of this package."""
    try:
        return version(SOFTWARE)
    except PackageNotFoundError:
        return "unknown"


def check_formats(formats: Sequence[str]) -> None:
    """Raise where a format is unknown or its package is missing."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"unknown format {name!r}", remedy=nearest_name(name, list(FORMATS)))
    if "xlsx" in formats:
        require_excel()


def _advice(override: str | None) -> str:
    if override is not None:
        return "An override needs a reason: it may not be empty."
    return "Protect the table and audit it again, or give a reason for an override."


def write_release(
    publication: Publication, folder: Path, formats: Sequence[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Write all files; returns those written with their digests, and the formats left out with the reason."""
    skipped = {}
    if "xlsx" in formats and not fits_excel(publication):
        skipped["xlsx"] = f"{publication.num_rows} rows do not fit on a sheet of {MAX_ROWS}"
    wanted = [FORMATS[name] for name in FORMATS if name in formats and name not in skipped]
    files: dict[str, str] = {}
    with replaced_folder(folder, [*(name for name, _ in wanted), ABOUT]) as staging:
        for name, write in wanted:
            write(publication, staging / name)
            files[name] = _digest(staging / name)
        write_text(
            staging / ABOUT, json.dumps(_about(publication, files), indent=2, ensure_ascii=False) + "\n"
        )
        files[ABOUT] = _digest(staging / ABOUT)
    return files, skipped


def _about(publication: Publication, files: Mapping[str, str]) -> dict[str, Any]:
    """What the public may know about the release.

    The digest of the view is not in it: the view has the bounds an attacker is assumed to know, and where
    these were derived from the values, guesses of hidden values could be tested against the digest.
    """
    about = {
        "title": publication.title,
        "variable": publication.variable,
        "decimals": publication.decimals,
        "dimensions": [
            {"name": dimension.name, "codes": len(lines)}
            for dimension, lines in zip(publication.dimensions, publication.lines, strict=True)
        ],
        "cells": publication.num_cells,
        "hidden_cells": publication.num_hidden,
        "rows": publication.num_rows,
        "symbol": publication.symbol,
        "adjusted": "yes" if publication.is_adjusted else "",
        "note": publication.note,
        "date": publication.date,
        "files": dict(files),
        "software": {"name": SOFTWARE, "version": software_version()},
    }
    return {name: entry for name, entry in about.items() if entry != "" or name == "symbol"}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
