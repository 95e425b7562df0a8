"""From a job's data to one table: dimensions, tabulation or reading, linking."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellveil.errors import InputError, nearest_name
from cellveil.formats.frames import read_pairs, read_table
from cellveil.formats.source import read_columns
from cellveil.job.model import DimensionJob, Job, MicrodataJob, TableJob
from cellveil.progress import Progress
from cellveil.tables.distinct import distinct_codes
from cellveil.tables.hierarchy import Dimension, Hierarchy
from cellveil.tables.link import link
from cellveil.tables.table import Table
from cellveil.tables.tabulate import tabulate

Labels = dict[str, dict[str, str]]


def build_table(job: Job, depth: int, progress: Progress) -> Table:
    """Tabulate or read every table of the job, and link them."""
    dimensions = {name: _dimension(job, name) for name in _dimension_names(job)}
    tables = [_one_table(job, table, dimensions, depth, progress) for table in job.tables]
    if len(tables) == 1 and not job.equations:
        return tables[0]
    progress.stage("link")
    return link(tables, job.equations or None)


def read_labels(path: Path | None, table: Table) -> Labels:
    """Labels of codes from a CSV with the columns dimension, code, label."""
    labels: Labels = {}
    if path is None:
        return labels
    columns = read_columns(path)
    known = {dimension.name for dimension in table.dimensions}
    rows = zip(columns.codes("dimension"), columns.codes("code"), columns.codes("label"), strict=True)
    for dimension, code, label in rows:
        if dimension in known:
            labels.setdefault(str(dimension), {})[str(code)] = str(label)
    return labels


def _dimension_names(job: Job) -> list[str]:
    return list(dict.fromkeys(name for table in job.tables for name in table.dimensions))


def _settings(job: Job, name: str) -> DimensionJob:
    unknown = [given for given in job.dimensions if given not in _dimension_names(job)]
    if unknown:
        raise InputError(
            f"no table has the dimension {unknown[0]!r}",
            remedy=nearest_name(unknown[0], _dimension_names(job)),
        )
    return job.dimensions.get(name, DimensionJob())


def _dimension(job: Job, name: str) -> Dimension:
    settings = _settings(job, name)
    files = settings.hierarchy_files()
    if files:
        return Dimension.of(name, *(_tree(file, settings) for file in files))
    column = settings.column or name
    codes = _codes(job, name, [*(settings.levels or []), column])
    if settings.levels:
        return Dimension.of(name, _tree_of_levels(codes, settings.total))
    leaves = [path[-1] for path in codes if path[-1] != settings.total]
    if settings.digits:
        return Dimension.of(name, Hierarchy.from_digits(leaves, settings.digits, settings.total))
    return Dimension.of(name, Hierarchy.flat(leaves, settings.total))


def _tree(file: Path, settings: DimensionJob) -> Hierarchy:
    if file.suffix.lower() == ".hrc":
        return Hierarchy.from_hrc(file, lead=settings.lead, total=settings.total)
    return read_pairs(file)


def _tree_of_levels(paths: list[tuple[str, ...]], total: str) -> Hierarchy:
    import pyarrow as pa

    names = [str(level) for level in range(len(paths[0]))]
    return Hierarchy.from_columns(
        pa.table(dict(zip(names, map(list, zip(*paths, strict=True)), strict=True))), names, total
    )


def _codes(job: Job, name: str, columns: list[str]) -> list[tuple[str, ...]]:
    """Codes of a dimension without a hierarchy, from the data of the tables that have it."""
    found: dict[tuple[str, ...], None] = {}
    for table in job.tables:
        if name not in table.dimensions:
            continue
        if table.file is not None:
            data = read_columns(table.file)
            found.update(
                dict.fromkeys(zip(*(map(str, data.codes(column)) for column in columns), strict=True))
            )
        elif job.microdata is not None:
            micro = job.microdata
            found.update(
                dict.fromkeys(
                    distinct_codes(
                        list(micro.file), columns, delimiter=micro.delimiter, encoding=micro.encoding
                    )
                )
            )
    if not found:
        raise InputError(f"dimension {name!r} has no codes", remedy="Check its column, or give a hierarchy.")
    return list(found)


def _one_table(
    job: Job, table: TableJob, dimensions: Mapping[str, Dimension], depth: int, progress: Progress
) -> Table:
    if table.file is not None:
        progress.stage("read")
        return read_table(
            table.file,
            {name: dimensions[name] for name in table.dimensions},
            value=table.value,
            contributors=table.contributors,
            totals=table.totals,
            decimals=table.decimals,
            incomplete=table.incomplete,
            repair=table.repair,
            allow_negative=table.allow_negative,
        )
    assert job.microdata is not None  # checked when the job was read
    return _tabulated(
        job, job.microdata, table, [dimensions[name] for name in table.dimensions], depth, progress
    )


def _tabulated(
    job: Job,
    micro: MicrodataJob,
    table: TableJob,
    dimensions: list[Dimension],
    depth: int,
    progress: Progress,
) -> Table:
    named = {d.name: job.dimensions[d.name].column for d in dimensions if d.name in job.dimensions}
    return tabulate(
        list(micro.file),
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
        request_codes=micro.request_codes,
        waiver=micro.waiver,
        depth=depth,
        allow_negative=micro.allow_negative,
        columns={name: column for name, column in named.items() if column},
        delimiter=micro.delimiter,
        encoding=micro.encoding,
        memory_limit=micro.memory_limit,
        progress=progress,
    )
