"""From a job's data to one table: dimensions, tabulation or reading, linking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.formats.columns import read_columns
from cellveil.formats.rows import read_pairs
from cellveil.formats.sdmx_structure import SdmxStructure
from cellveil.job.data_sections import DimensionJob, TableJob
from cellveil.job.job_model import Job
from cellveil.job.recoded_dimensions import recoded, recoded_in
from cellveil.job.sdmx_tables import open_structures, structure_labels, structure_trees
from cellveil.job.table_files import TableFile, open_tables, read_one, total_in
from cellveil.microdata.code_order import in_order, nearly_equal
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.tabulate import tabulate
from cellveil.progress import Progress
from cellveil.rules import rule_from_dict
from cellveil.rules.given_marks import GivenMarks
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import cells_in, link
from cellveil.tables.table import Table

Labels = dict[str, dict[str, str]]


@dataclass(frozen=True, repr=False, eq=False)
class BuiltTables:
    """The tables of a job, joined.

    Parameters
    ----------
    table
        The joint table.
    parts
        For each table of the job its own cells, and their numbers in the joint table.
    given
        What ready-made tables say of their cells.
    """

    table: Table
    parts: tuple[tuple[Table, Int], ...]
    given: GivenMarks
    labels: Labels


def build_tables(job: Job, depth: int, progress: Progress, records: Any = None) -> BuiltTables:
    """Tabulate or read every table of the job, with empty cells where rules look at these, and link them.

    Parameters
    ----------
    records
        A frame in place of the files of microdata.
    """
    if records is None and job.microdata is not None:
        records = job.microdata.source
    trees = {name: _trees(job, name) for name in job.used_dimensions}
    exact = [name for name, given in trees.items() if any(_has_blanks(tree) for tree in given)]
    files = open_tables(job, exact, progress)
    data = _Data(files, open_structures(job, files), records)
    plain = {
        name: replace(_dimension(job, name, given, data, progress), column=_column(job, name))
        for name, given in trees.items()
    }
    dimensions = {name: recoded(job, dimension) for name, dimension in plain.items()}
    tables, marks = [], []
    for position, table in enumerate(job.tables):
        with job.placing_errors("tables", position):
            own = [recoded_in(table, dimensions[name]) for name in table.dimensions]
            if position in files:
                before = [plain[name] for name in table.dimensions]
                pairs = list(zip(before, own, strict=True))
                made, said = read_one(table, files[position], pairs, progress)
            else:
                made = tabulated(job, table, records, own, depth, progress)
                said = GivenMarks.nothing(made.num_cells)
        tables.append(made)
        marks.append(said)
    if len(tables) == 1 and not job.equations:
        joint = tables[0]
    else:
        progress.stage("link")
        with job.placing_errors("equations" if job.equations else "tables"):
            joint = link(tables, job.equations or None)
    cells = [cells_in(joint, table) for table in tables]
    with job.placing_errors("tables"):
        given = GivenMarks.joined(joint, list(zip(tables, cells, marks, strict=True)))
    _check_some_unsafe(job, given)
    labels = structure_labels(job, data.structures, dimensions.values())
    return BuiltTables(joint, tuple(zip(tables, cells, strict=True)), given, labels)


@dataclass(frozen=True)
class _Data:
    """Where codes come from: the rows of ready-made tables, their structures, and the microdata."""

    files: Mapping[int, TableFile]
    structures: Mapping[int, SdmxStructure]
    records: Any


def _check_some_unsafe(job: Job, given: GivenMarks) -> None:
    if not job.marks_unsafe_cells and not given.unsafe.any():
        raise InputError(
            "there are no rules and no unsafe cells, so nothing would be protected",
            remedy='Add [[rules]], [[cells]] with status u, or name the column of statuses: status = "…".',
        )


def read_labels(path: Path | None, table: Table, known_before: Labels) -> Labels:
    """Labels of codes from a CSV with the columns dimension, code, label; other dimensions may be in it.

    Parameters
    ----------
    known_before
        Labels from elsewhere, for codes that the file has none for.
    """
    labels: Labels = {}
    if path is None:
        return known_before
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
    names = {*labels, *known_before}
    return {name: {**known_before.get(name, {}), **labels.get(name, {})} for name in names}


def _trees(job: Job, name: str) -> list[Hierarchy]:
    if name in job.trees:
        return list(job.trees[name])
    settings = job.dimensions.get(name, DimensionJob())
    with job.placing_errors(*_place(job, name)):
        return [_tree(file, settings) for file in settings.hierarchy]


def _has_blanks(tree: Hierarchy) -> bool:
    return any(code != code.strip() for code in tree.codes)


def _dimension(job: Job, name: str, trees: list[Hierarchy], data: _Data, progress: Progress) -> Dimension:
    settings = job.dimensions.get(name, DimensionJob())
    with job.placing_errors(*_place(job, name)):
        if trees:
            return Dimension.of(name, *trees)
        if settings.levels:
            paths = _codes_of_records(job, name, data.records, [*settings.levels, settings.column or name])
            return Dimension.of(name, _tree_of_levels(paths, settings.total))
        found = settings.codes or _codes(job, name, data)
        if not settings.codes and not settings.digits:
            trees = structure_trees(job, name, data.structures, data.files, found, progress)
            if trees:
                return Dimension.of(name, *trees)
        said = settings.total if settings.first_given("total") or not _has_totals(job, name) else None
        total = total_in(name, said, found, progress)
        codes = [code for code in found if code != total]
        for one, other in nearly_equal(codes):
            progress.note(
                f"dimension {name!r}: WARNING: the codes {one!r} and {other!r} differ only in how they are "
                "written (capitals, blanks, leading zeros). If they are one, correct the data"
            )
        if settings.digits:
            leaves = _longest(codes, settings.digits) if _has_totals(job, name) else codes
            return Dimension.of(name, Hierarchy.from_digits(leaves, settings.digits, total))
        return Dimension.of(name, Hierarchy.flat(codes, total))


def _column(job: Job, name: str) -> str:
    """The column of the data with the codes of a dimension, where it is called otherwise; else ""."""
    settings = job.dimensions.get(name)
    return "" if settings is None or settings.column in (None, name) else str(settings.column)


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


def _codes(job: Job, name: str, data: _Data) -> list[str]:
    """Codes of a dimension, from the data of the tables that have it."""
    found: dict[str, None] = {}
    settings = job.dimensions.get(name, DimensionJob())
    for position, file in data.files.items():
        if name in job.tables[position].dimensions:
            found.update(dict.fromkeys(file.columns.codes(name).tolist()))
    if settings.order == "sorted":
        found = dict.fromkeys(code for (code,) in in_order((code,) for code in found))
    if any(table.file is None and name in table.dimensions for table in job.tables):
        paths = _codes_of_records(job, name, data.records, [settings.column or name])
        found.update((path[-1], None) for path in paths)
    return list(found)


def _codes_of_records(job: Job, name: str, records: Any, columns: list[str]) -> list[tuple[str, ...]]:
    """Distinct codes, with those of the levels above them."""
    micro = job.microdata
    assert micro is not None  # checked when the job was read
    order = job.dimensions.get(name, DimensionJob()).order or "sorted"
    found = distinct_codes(
        records, columns, options=micro.source_options(), order=order, choice=micro.engine_choice()
    )
    if not found:
        raise InputError(f"dimension {name!r} has no codes", remedy="Check its column, or give a hierarchy.")
    return found


def _has_totals(job: Job, name: str) -> bool:
    return any(
        name in table.dimensions and table.file is not None and table.totals != "none" for table in job.tables
    )


def _longest(codes: list[str], widths: list[int]) -> list[str]:
    """The codes that are not the total of longer ones."""
    totals = {code[:end] for code in codes for end in accumulate(widths) if end < len(code)}
    return [code for code in codes if code not in totals]


def _of_all_tables(job: Job) -> list[str]:
    """The columns of the microdata that tell records apart in several tables and releases, without ids."""
    tables, micro = [table for table in job.tables if table.file is None], job.microdata
    if micro is None or micro.contributor is not None or (len(tables) < 2 and job.against is None):
        return []
    settings = {name: job.dimensions.get(name) for table in tables for name in table.dimensions}
    named = [(given.column if given else None) or name for name, given in settings.items()]
    amounts = [name for table in tables for name in (table.response, table.shadow, *table.costs)]
    others = [micro.holding, micro.weight, micro.request, micro.waiver, *amounts]
    return list(dict.fromkeys([*named, *(name for name in others if name)]))


def tabulated(
    job: Job,
    table: TableJob,
    records: Any,
    dimensions: Sequence[Dimension],
    depth: int,
    progress: Progress,
    *,
    all_cells: bool = True,
) -> Table:
    """A table of the microdata as the job has them, by any dimensions."""
    micro = job.microdata
    assert micro is not None  # checked when the job was read
    first, second = micro.request_codes
    return tabulate(
        records,
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
        passive=micro.passive,
        depth=depth,
        recognised_by=_of_all_tables(job),
        all_cells=all_cells and bool(job.rules) and rule_from_dict(job.rules).needs_all_cells,
        allow_negative=micro.allow_negative,
        columns={dimension.name: dimension.column for dimension in dimensions if dimension.column},
        delimiter=micro.delimiter,
        encoding=micro.encoding,
        decimal=micro.decimal,
        thousands=micro.thousands,
        skip=micro.skip,
        sheet=micro.sheet,
        query=micro.query,
        memory_limit=micro.memory_limit,
        engine=micro.engine_choice(),
        progress=progress,
    )
