"""From a job's data to one table: dimensions, tabulation or reading, linking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

from cellveil.errors import InputError
from cellveil.formats.columns import Columns, read_columns
from cellveil.formats.ready_made import read_table
from cellveil.formats.rows import read_pairs
from cellveil.job.job_model import Job
from cellveil.job.sections import DimensionJob, TableJob
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.tabulate import tabulate
from cellveil.progress import Progress
from cellveil.rules import rule_from_dict
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table

Labels = dict[str, dict[str, str]]


def build_table(job: Job, depth: int, progress: Progress) -> Table:
    """Tabulate or read every table of the job, with empty cells where rules look at these, and link them."""
    files = {table.file: _read_file(job, table.file) for table in job.tables if table.file is not None}
    dimensions = {name: _dimension(job, name, files) for name in job.used_dimensions}
    tables = []
    for position, table in enumerate(job.tables):
        with job.placing_errors("tables", position):
            own = [dimensions[name] for name in table.dimensions]
            if table.file is None:
                tables.append(_tabulated(job, table, own, depth, progress))
            else:
                tables.append(_read(table, files[table.file], own, progress))
    if len(tables) == 1 and not job.equations:
        return tables[0]
    progress.stage("link")
    with job.placing_errors("equations" if job.equations else "tables"):
        return link(tables, job.equations or None)


def read_labels(path: Path | None, table: Table) -> Labels:
    """Labels of codes from a CSV with the columns dimension, code, label; other dimensions may be in it."""
    labels: Labels = {}
    if path is None:
        return labels
    columns = read_columns(path)
    known = {dimension.name for dimension in table.dimensions}
    rows = zip(columns.codes("dimension"), columns.codes("code"), columns.codes("label"), strict=True)
    for row, (dimension, code, label) in enumerate(rows):
        if dimension in known and labels.setdefault(dimension, {}).setdefault(code, label) != label:
            raise columns.fault(
                row, f"the code {code!r} of {dimension!r} has two labels", "Remove one of the lines."
            )
    if not labels:
        raise InputError(
            "there is no label of any dimension of the table",
            file=path,
            remedy=f"Write the names of dimensions as in the job: {', '.join(sorted(known))}.",
        )
    return labels


def _read_file(job: Job, file: Path) -> Columns:
    """A ready-made table with its columns named as the dimensions they hold."""
    columns = read_columns(file)
    used = {name for table in job.tables if table.file == file for name in table.dimensions}
    renamed = {job.dimensions[name].column: name for name in used if name in job.dimensions}
    for column, name in renamed.items():
        if column is not None:
            columns.column(column)
            if column != name and name in columns:
                raise InputError(
                    f"there are columns {column!r} and {name!r}, both for the dimension {name!r}",
                    file=file,
                    line=1,
                    remedy="Rename one of the columns.",
                )
    names = [renamed.get(name) or name for name in columns.names]
    return replace(columns, data=columns.data.rename_columns(names))


def _dimension(job: Job, name: str, files: Mapping[Path, Columns]) -> Dimension:
    settings = job.dimensions.get(name, DimensionJob())
    with job.placing_errors(*_place(job, name)):
        if settings.hierarchy:
            return Dimension.of(name, *(_tree(file, settings) for file in settings.hierarchy))
        if settings.levels:
            paths = _codes_of_records(job, name, [*settings.levels, settings.column or name])
            return Dimension.of(name, _tree_of_levels(paths, settings.total))
        codes = [code for code in _codes(job, name, files) if code != settings.total]
        if settings.digits:
            leaves = _longest(codes, settings.digits) if _has_totals(job, name) else codes
            return Dimension.of(name, Hierarchy.from_digits(leaves, settings.digits, settings.total))
        return Dimension.of(name, Hierarchy.flat(codes, settings.total))


def _place(job: Job, name: str) -> tuple[str | int, ...]:
    """Where the job speaks of a dimension."""
    if name in job.dimensions:
        return "dimensions", name
    return "tables", next(i for i, table in enumerate(job.tables) if name in table.dimensions)


def _tree(file: Path, settings: DimensionJob) -> Hierarchy:
    if file.suffix.lower() == ".hrc":
        return Hierarchy.from_hrc(file, lead=settings.lead, total=settings.total)
    return read_pairs(file)


def _tree_of_levels(paths: list[tuple[str, ...]], total: str) -> Hierarchy:
    import pyarrow as pa

    names = [str(level) for level in range(len(paths[0]))]
    columns = [list(column) for column in zip(*paths, strict=True)]
    return Hierarchy.from_columns(pa.table(columns, names=names), names, total)


def _codes(job: Job, name: str, files: Mapping[Path, Columns]) -> list[str]:
    """Codes of a dimension, from the data of the tables that have it."""
    found: dict[str, None] = {}
    tables = [table for table in job.tables if name in table.dimensions]
    for table in tables:
        if table.file is not None:
            found.update(dict.fromkeys(files[table.file].codes(name).tolist()))
    if any(table.file is None for table in tables):
        settings = job.dimensions.get(name, DimensionJob())
        found.update((path[-1], None) for path in _codes_of_records(job, name, [settings.column or name]))
    return list(found)


def _codes_of_records(job: Job, name: str, columns: list[str]) -> list[tuple[str, ...]]:
    """Distinct codes, with those of the levels above them."""
    micro = job.microdata
    assert micro is not None  # checked when the job was read
    found = distinct_codes(micro.file, columns, delimiter=micro.delimiter, encoding=micro.encoding)
    if not found:
        raise InputError(f"dimension {name!r} has no codes", remedy="Check its column, or give a hierarchy.")
    return found


def _has_totals(job: Job, name: str) -> bool:
    return any(
        name in table.dimensions and table.file is not None and table.totals == "given"
        for table in job.tables
    )


def _longest(codes: list[str], widths: list[int]) -> list[str]:
    """The codes that are not the total of longer ones."""
    totals = {code[:end] for code in codes for end in accumulate(widths) if end < len(code)}
    return [code for code in codes if code not in totals]


def _read(table: TableJob, columns: Columns, dimensions: list[Dimension], progress: Progress) -> Table:
    progress.stage("read")
    return read_table(
        columns,
        {dimension.name: dimension for dimension in dimensions},
        value=table.value,
        contributors=table.contributors,
        totals=table.totals,
        decimals=table.decimals,
        incomplete=table.incomplete,
        repair=table.repair,
        allow_negative=table.allow_negative,
    )


def _tabulated(
    job: Job, table: TableJob, dimensions: list[Dimension], depth: int, progress: Progress
) -> Table:
    micro = job.microdata
    assert micro is not None  # checked when the job was read
    named = {d.name: job.dimensions[d.name].column for d in dimensions if d.name in job.dimensions}
    first, second = micro.request_codes
    return tabulate(
        micro.file,
        dimensions,
        table.response,
        decimals=table.decimals,
        rounding=table.rounding,
        contributor=micro.contributor,
        holding=micro.holding,
        weight=micro.weight,
        shadow=table.shadow,
        costs=table.costs,
        request=micro.request,
        request_codes=(first, second),
        waiver=micro.waiver,
        depth=depth,
        all_cells=bool(job.rules) and rule_from_dict(job.rules).needs_all_cells,
        allow_negative=micro.allow_negative,
        columns={name: column for name, column in named.items() if column},
        delimiter=micro.delimiter,
        encoding=micro.encoding,
        memory_limit=micro.memory_limit,
        progress=progress,
    )
