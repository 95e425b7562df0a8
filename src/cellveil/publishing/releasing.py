"""Public files, made only from a view that an audit has shown safe.

Requires an `Audit` to which nothing speaks against publishing its view, or an override with a reason. What is
written is the view of that audit and nothing else, a pattern's or an adjusted table's. Ensures that no public
file holds a hidden value or anything that tells primary from secondary cells: the writers get a
`Publication`, which has neither.

It is for the office to name the other releases that stand beside this one (`cellveil.judge.over_time`): two
patterns of one table can tell together what each hides, and true values next to adjusted ones tell the
senses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

from cellveil.errors import InputError, NotSafeError, nearest_name
from cellveil.files import checked_path, folded_name, is_reserved_name, write_text
from cellveil.judge import Audit
from cellveil.publishing.catalogue import LANGUAGES
from cellveil.publishing.csv_parquet import header, write_csv, write_parquet
from cellveil.publishing.excel import MAX_ROWS, fits_excel, has_excel, require_excel, write_excel
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.public_folder import ABOUT, SOFTWARE, digest_of, files_of_release, replaced_folder
from cellveil.publishing.public_page import page_of
from cellveil.publishing.publication import Labels, Publication, TablePart
from cellveil.publishing.sdmx_files import (
    SDMX,
    check_sdmx_names,
    require_sdmx,
    write_observations,
    write_structure,
)
from cellveil.publishing.staging import check_foreign
from cellveil.tables.space import is_complete as is_complete_table
from cellveil.tables.table import VARIABLE


def _write_page(publication: Publication, path: Path) -> None:
    files = file_names(publication, list(FORMATS))
    write_text(path, page_of(publication, [name for name in files if (path.parent / name).exists()]))


Writer = Callable[[Publication, Path], None]

FORMATS: Mapping[str, Mapping[str, Writer]] = {
    "csv": {"table.csv": write_csv},
    "parquet": {"table.parquet": write_parquet},
    "sdmx": {f"table{SDMX}.csv": write_observations, f"table{SDMX}.xml": write_structure},
    "xlsx": {"table.xlsx": write_excel},
    "html": {"index.html": _write_page},
}
"""For each format its files and their writers; the page comes last, as it links to the others."""

EACH_ITS_FILE = ("csv", "parquet", "sdmx")
"""Formats in which each of several tables has a file of its own, named as the table."""

USUAL = ("csv", "parquet", "xlsx")
"""Formats that are written where nobody names any."""

LONGEST_NAME = 60


def file_names(publication: Publication, formats: Sequence[str]) -> dict[str, tuple[Writer, Publication]]:
    """The files of a release: for each its writer and what is written into it."""
    files: dict[str, tuple[Writer, Publication]] = {}
    stems = _stems([table.name for table in publication.parts])
    for form in FORMATS:
        if form not in formats:
            continue
        for name, writer in FORMATS[form].items():
            if form in EACH_ITS_FILE and publication.parts:
                end = name.removeprefix("table")
                parts = zip(stems, publication.parts, strict=True)
                files |= {f"{stem}{end}": (writer, part) for stem, part in parts}
            else:
                files[name] = writer, publication
    return files


def _stems(names: Sequence[str]) -> list[str]:
    """The names of tables as names of files, all different where capitals do not count, and no devices.

    Examples
    --------
    >>> _stems(["turnover by region, size", "Turnover by region/size", "…", "AUX"])
    ['turnover-by-region-size', 'Turnover-by-region-size-2', 'table', 'table-AUX']
    """
    taken = {"index", "about"}
    stems: list[str] = []
    for name in names:
        stem = re.sub(r"[^\w.-]+", "-", normalize("NFC", name)).strip("-._")[:LONGEST_NAME] or "table"
        stem = f"table-{stem}" if is_reserved_name(stem) else stem
        tries = (stem, *(f"{stem}-{number}" for number in range(2, len(names) + 5)))
        stems.append(next(each for each in tries if not taken & _claims(each)))
        taken |= _claims(stems[-1])
    return stems


def _claims(stem: str) -> set[str]:
    """What files of a table are called, without the end of their names."""
    return {folded_name(stem), f"{folded_name(stem)}{SDMX}"}


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
    safe_against
        Against whom the audit shows it safe, in words; with an override, who was asked.
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
    safe_against: str
    skipped: Mapping[str, str] = field(default_factory=dict)
    objections: tuple[str, ...] = ()
    override: str | None = None


def release(
    audit: Any,
    folder: Path | str,
    *,
    formats: Sequence[str] | str | None = None,
    symbol: str = "x",
    title: str = "",
    labels: Labels | None = None,
    decimals: int | None = None,
    note: str = "",
    date: str = "",
    source: str = "",
    unit: str | Mapping[str, str] = "",
    contact: str = "",
    language: str = LANGUAGES[0],
    override: str | None = None,
    tables: Sequence[TablePart] = (),
    basis: Mapping[str, Any] | None = None,
) -> Release:
    """Write the public files of what was audited, if nothing speaks against it.

    The files appear together: a failure leaves the folder as it was. Files of an older release in it are
    replaced.

    Parameters
    ----------
    audit
        The verdict, or what has one (a suppression, an adjustment); what is written is the view it is about.
    formats
        Any of csv, parquet, sdmx, xlsx and html; by default csv, parquet and xlsx, the last one only where
        its package is installed: else `Release.skipped` says so.
    symbol
        Written in place of hidden values; "" leaves them empty.
    title, note, date, source, contact
        Public texts.
    unit
        In what the figures are measured; for several variables by variable.
    language
        Of the words in the page and the Excel file, and of how numbers are written there: en or de.
    labels
        Labels of codes: dimension → code → label.
    decimals
        Decimals shown in the Excel file and the page; by default all. CSV and Parquet hold the exact values.
    override
        A reason to release although the audit does not allow it. Internal: it stands in no public file.
    tables
        The tables that a joint table was linked from: each gets a file or sheet of its own.
    basis
        What later releases must know of the records, for about.json: ``rounding`` (by variable the unit to
        which records were rounded), ``weight`` (the column of weights), ``population`` (which were counted).

    Raises
    ------
    NotSafeError
        When something speaks against it, and there is no override.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from cellveil.judge import audit
    >>> from cellveil.problem import Problem
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> from cellveil.pattern import Pattern
    >>> import numpy as np
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S", "W"]))
    >>> table = table_from_interior([region], {"region": ["N", "S", "W"]}, [4, 6, 9])
    >>> problem = Problem.of(table, {1: (1, 1)})
    >>> pattern = Pattern.hiding(problem, np.array([False, True, True, False]), "by hand")
    >>> with TemporaryDirectory() as folder:
    ...     done = release(audit(problem, pattern), folder, formats=["csv"])
    ...     print((done.folder / "table.csv").read_text())
    region,value,flag
    Total,19,
    N,x,x
    S,x,x
    W,9,
    <BLANKLINE>
    """
    folder = checked_path(folder, "the folder")
    if hasattr(audit, "outcome"):  # one pattern or adjustment; what else has an audit may publish another
        audit = getattr(audit, "audit", audit)
    if not isinstance(audit, Audit):
        raise InputError("a release needs an audit", remedy="Give what cellveil.audit(problem, …) returns.")
    formats, missing = _chosen(formats)
    check_formats(formats)
    against = (*audit.objections, *_unfounded(audit))
    if against and not (override or "").strip():
        raise NotSafeError(f"nothing was released: {'; '.join(against)}. {_advice(audit, override)}")
    publication = Publication.of(
        audit.problem.table,
        audit.view,
        imprint=Imprint(title, note, date, source, contact, unit, language),
        symbol=symbol,
        labels=labels,
        decimals=decimals,
    )
    assumed, reason = audit.problem.assumption, audit.problem.bounds_reason
    publication = replace(
        publication,
        is_adjusted=audit.adjusted is not None,
        assumes=f"{assumed} (reason: {reason})" if assumed and reason else assumed,
    )
    publication = publication.in_tables(tables, labels)
    check_names(publication, formats)
    folder = folder.resolve()
    is_complete = all(map(is_complete_table, [part.table for part in tables] or [audit.problem.table]))
    facts = {"absent": "empty" if is_complete else "not published", **(basis or {})}
    files, skipped = write_release(publication, folder, formats, facts)
    return Release(
        folder,
        files,
        audit.view.content_hash,
        publication.num_cells,
        publication.num_hidden,
        audit.against,
        missing | skipped,
        against,
        override.strip() if against and override else None,
    )


def _unfounded(audit: Audit) -> list[str]:
    """What speaks against a release whose readers are taken to know less than everybody knows."""
    assumed = audit.problem.assumption
    if not assumed or audit.problem.bounds_reason:
        return []
    return [f"the bounds assume that {assumed}, and no reason is given (bounds_reason)"]


def _chosen(formats: Sequence[str] | str | None) -> tuple[Sequence[str], dict[str, str]]:
    """The formats to write; where nobody named any, the usual ones that can be, and why others cannot."""
    if formats is not None:
        return [formats] if isinstance(formats, str) else formats, {}
    if has_excel():
        return USUAL, {}
    missing = {"xlsx": "it needs the extra excel (pip install 'cellveil[excel]')"}
    return [name for name in USUAL if name not in missing], missing


def check_formats(formats: Sequence[str]) -> None:
    """Raise where a format is unknown or its package is missing."""
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"unknown format {name!r}", remedy=nearest_name(name, list(FORMATS)))
    if "xlsx" in formats:
        require_excel()
    if "sdmx" in formats:
        require_sdmx()


def check_names(publication: Publication, formats: Sequence[str]) -> None:
    """Raise where a name cannot stand in a file of these formats."""
    for table in publication.tables:
        header(table)
    if "sdmx" in formats:
        check_sdmx_names(publication.tables)


def check_room(folder: Path, formats: Sequence[str], publication: Publication) -> None:
    """Raise where a file that is not of a release stands in the way of one."""
    names = {*file_names(publication, formats), ABOUT}
    check_foreign(folder, names, files_of_release(folder))


def _advice(audit: Audit, override: str | None) -> str:
    if override is not None:
        return "An override needs a reason: it may not be empty."
    if audit.adjusted is not None:
        return "Adjust again with wider limits."
    return "Protect the table and audit it again, or give a reason for an override."


def write_release(
    publication: Publication, folder: Path, formats: Sequence[str], basis: Mapping[str, Any] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """Write all files; returns those written with their digests, and the formats left out with the reason."""
    skipped = {}
    if "xlsx" in formats and not fits_excel(publication):
        skipped["xlsx"] = f"{publication.num_rows} rows do not fit on a sheet of {MAX_ROWS}"
    wanted = file_names(publication, [name for name in formats if name not in skipped])
    files: dict[str, str] = {}
    with replaced_folder(folder, [*wanted, ABOUT]) as staging:
        for name, (writer, part) in wanted.items():
            writer(part, staging / name)
            files[name] = str(digest_of(staging / name))
        about = _about(publication, files, basis or {})
        write_text(staging / ABOUT, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
        files[ABOUT] = str(digest_of(staging / ABOUT))
    return files, skipped


def _about(publication: Publication, files: Mapping[str, str], basis: Mapping[str, Any]) -> dict[str, Any]:
    """What the public may know about the release.

    The digest of the view is not in it: the view has the bounds an attacker is assumed to know, and where
    these were derived from the values, guesses of hidden values could be tested against the digest.
    """
    from cellveil import __version__

    imprint = publication.imprint
    about = {
        "title": imprint.title,
        **(_about_table(publication) if not publication.parts else {}),
        "cells": publication.num_cells,
        "hidden_cells": publication.num_hidden,
        "rows": publication.num_rows,
        "tables": _about_parts(publication, files),
        "hierarchies": _hierarchies(publication),
        "equations": _equations(publication),
        "columns": {d.name: d.column for d in publication.dimensions if d.column},
        "contains": _contains(publication),
        **basis,
        "symbol": publication.symbol,
        "adjusted": "yes" if publication.is_adjusted else "",
        "assumes": publication.assumes,
        "note": imprint.note,
        "date": imprint.date,
        "source": imprint.source,
        "unit": imprint.unit if isinstance(imprint.unit, str) else dict(imprint.unit),
        "contact": imprint.contact,
        "language": imprint.language if imprint.language != LANGUAGES[0] else "",
        "files": dict(files),
        "software": {"name": SOFTWARE, "version": __version__},
    }
    return {name: entry for name, entry in about.items() if entry not in ("", [], {}) or name == "symbol"}


def _contains(publication: Publication) -> dict[str, dict[str, list[str]]]:
    """What codes consist of, so that later releases need not guess: finest codes of the data.

    Left out are finest codes themselves, and what the hierarchies and totals say.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for dimension in (dimension for table in publication.tables for dimension in table.dimensions):
        has_parts = {
            above for tree in dimension.hierarchies for above, below in tree.children.items() if below
        }
        named = {*dimension.codes, *(code for tree in dimension.hierarchies for code in tree.codes)}
        for code in sorted(named - has_parts):
            finest = dimension.finest[dimension.index[code]]
            if finest != (code,) and dimension.column:
                found.setdefault(dimension.name, {})[code] = list(finest)
    return found


def _hierarchies(publication: Publication) -> dict[str, list[list[list[str]]]]:
    """The trees of each dimension that is not flat, as pairs of parent and child."""
    return {
        dimension.name: [[list(pair) for pair in tree.pairs()] for tree in dimension.hierarchies]
        for dimension in publication.dimensions
        if len(dimension.hierarchies) > 1 or any(tree.depth > 1 for tree in dimension.hierarchies)
    }


def _equations(publication: Publication) -> list[dict[str, int]]:
    """What ties response variables together: coefficients that add them up to 0."""
    return [
        {dimension.codes[code]: coef for code, coef in zip(equation.codes, equation.coefs, strict=True)}
        for dimension in publication.dimensions
        if dimension.name == VARIABLE
        for equation in dimension.equations
    ]


def _about_table(table: Publication) -> dict[str, Any]:
    return {
        "variable": table.variable,
        "decimals": table.decimals,
        "dimensions": [
            {"name": d.name, "codes": len(lines)} | ({"total": d.codes[d.total]} if d.total >= 0 else {})
            for d, lines in zip(table.dimensions, table.lines, strict=True)
        ],
    }


def _about_parts(publication: Publication, files: Mapping[str, str]) -> list[dict[str, Any]]:
    """The tables of a release that has several, with their own files."""
    written = file_names(publication, EACH_ITS_FILE)
    return [
        {
            "name": table.name,
            **_about_table(table),
            "cells": table.num_cells,
            "hidden_cells": table.num_hidden,
            "rows": table.num_rows,
            "files": [name for name, (_, part) in written.items() if part is table and name in files],
        }
        for table in publication.parts
    ]
