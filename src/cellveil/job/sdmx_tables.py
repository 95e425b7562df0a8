"""SDMX structures of a job's ready-made tables: hierarchies of dimensions, and which dimensions are fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from cellveil.errors import InputError
from cellveil.formats.columns import Columns
from cellveil.formats.sdmx_csv import structure_of
from cellveil.formats.sdmx_structure import SdmxStructure, read_structure
from cellveil.job.data_sections import DimensionJob, TableJob
from cellveil.job.job_model import Job
from cellveil.job.table_files import TOTALS, TableFile
from cellveil.progress import Progress
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy


def open_structures(job: Job, files: Mapping[int, TableFile]) -> dict[int, SdmxStructure]:
    """The structure of every table that names one, by its place in the job."""
    found = {}
    for position, file in files.items():
        table = job.tables[position]
        if table.structure is not None:
            with job.placing_errors("tables", position, "structure"):
                found[position] = read_structure(table.structure, structure_of(file.columns))
                _check_columns(job, table, file, found[position])
    return found


def structure_trees(
    job: Job,
    name: str,
    structures: Mapping[int, SdmxStructure],
    files: Mapping[int, TableFile],
    codes: Collection[str],
    progress: Progress,
) -> list[Hierarchy]:
    """The hierarchies of a dimension by the first structure that has its codes; none where none has.

    Parameters
    ----------
    codes
        Those that occur in the data.
    """
    settings = job.dimensions.get(name, DimensionJob())
    column = settings.column or name
    total = settings.total if settings.first_given("total") else None
    for position, structure in structures.items():
        if name in job.tables[position].dimensions and structure.codes.get(column):
            _check_codes(name, {*structure.codes[column], total}, files[position].columns, structure)
            progress.note(f"dimension {name!r}: its codes are arranged as in {structure.file.name}")
            return structure.trees(column, codes, total, TOTALS)
    return []


def structure_labels(
    job: Job, structures: Mapping[int, SdmxStructure], dimensions: Iterable[Dimension]
) -> dict[str, dict[str, str]]:
    """The names of codes by the first structure that has the dimension."""
    labels: dict[str, dict[str, str]] = {}
    for dimension in dimensions:
        column = job.dimensions.get(dimension.name, DimensionJob()).column or dimension.name
        for position, structure in structures.items():
            if dimension.name in job.tables[position].dimensions and structure.labels.get(column):
                found = structure.labels[column]
                labels[dimension.name] = {code: found[code] for code in dimension.index if code in found}
                break
    return {name: own for name, own in labels.items() if own}


def _check_columns(job: Job, table: TableJob, file: TableFile, structure: SdmxStructure) -> None:
    """Raise where the structure has not the columns that the job names, or leaves a dimension open."""
    settings = {name: job.dimensions.get(name, DimensionJob()) for name in table.dimensions}
    used = [given.column or name for name, given in settings.items()]
    for column in used:
        _check_known(structure, column, "dimension", structure.dimensions)
    _check_known(structure, file.named.value, "measure", structure.measures)
    if file.named.status is not None:
        _check_known(structure, file.named.status, "attribute", structure.attributes)
    columns = file.columns
    for name in structure.dimensions:
        if name in used or name not in columns:
            continue
        number = len(set(columns.column(name).to_pylist()))
        if number > 1:
            raise InputError(
                f"the rows have {number} codes of the dimension {name!r}, which is none of the table",
                file=columns.file,
                remedy=f"Add it to dimensions, or choose one: rows = {{{name} = …}}.",
            )


def _check_codes(
    name: str, known: Collection[str | None], columns: Columns, structure: SdmxStructure
) -> None:
    """Raise where a code of the data is not in the code list, without showing it: it may be a value."""
    for row, code in enumerate(columns.codes(name).tolist()):
        if code not in known:
            raise columns.fault(
                row,
                f"the code list of {name!r} does not have this code",
                f"Correct it, or add it to {structure.file.name}.",
            )


def _check_known(structure: SdmxStructure, column: str, kind: str, known: Collection[str]) -> None:
    if column not in known:
        raise InputError(
            f"{column!r} is no {kind} of the structure",
            file=structure.file,
            remedy=f"It has: {', '.join(known) or 'none'}.",
        )
