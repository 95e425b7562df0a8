"""From microdata to a table with all margins and the contributions behind every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from cellveil.arrays import Codes, Int
from cellveil.errors import InputError, check_kind, nearest_name
from cellveil.microdata.engine import EngineOptions
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.named_dimensions import named_dimensions
from cellveil.microdata.number_marks import POINTS, NumberMarks
from cellveil.microdata.records import Roles
from cellveil.microdata.roll_up import RollUp
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.sql import RECORD
from cellveil.progress import Progress
from cellveil.tables.build import assemble, key_name
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.scaled import unscale
from cellveil.tables.table import COUNT, Table
from cellveil.tables.totals import is_interior

LARGEST_PRODUCT = 1_000_000
"""Most combinations of codes that are tabulated with the empty ones: the cells a method can protect."""


def tabulate(
    source: Any,
    dimensions: Sequence[Dimension | str] | Dimension | str,
    response: str | None = None,
    *,
    decimals: int | None = None,
    rounding: bool = False,
    contributor: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    shadow: str | None = None,
    costs: Sequence[str] = (),
    request: str | None = None,
    request_codes: tuple[str, str] = ("1", "2"),
    waiver: str | None = None,
    passive: bool = False,
    depth: int = 3,
    recognised_by: Sequence[str] = (),
    allow_negative: bool = False,
    all_cells: bool = False,
    columns: Mapping[str, str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    decimal: str | None = ".",
    thousands: str | None = None,
    skip: int = 0,
    sheet: str | None = None,
    query: str | None = None,
    memory_limit: str | None = None,
    threads: int | None = None,
    temp_directory: Path | str | None = None,
    engine: str | EngineChoice | None = None,
    connection: Any = None,
    dialect: str | None = None,
    progress: Progress | None = None,
) -> Table:
    """Tabulate microdata: every cell with records, all totals, and the contributions behind them.

    Parameters
    ----------
    source
        Path of a file, a glob pattern or a list of them; a pandas, polars or Arrow frame; a DuckDB relation;
        a mapping of columns.
        Files are told apart by their name (`cellveil.microdata.file_kinds`): CSV with a header, Parquet,
        Arrow, Excel, SAS, Stata, SPSS, a DuckDB or SQLite database.
    dimensions
        The dimensions of the table; every record must have one of their leaf codes. A name alone is that of
        a column, whose codes then make a flat dimension.
    response
        The variable to add up; None counts the records (with weights: adds up the weights).
    decimals
        Declared decimals of the response; by default as many as needed, at most 9.
    rounding
        Round every amount to the decimals instead of raising an error.
    contributor
        Column with the id of the contributor; by default every record is one, “record 1” and so on. The
        contribution of a contributor to a cell is the sum of all its records there, at every level.
    holding
        Column with the id of the holding; gives the contributions at holding level too.
    weight
        Sampling weights, not negative. Every amount is multiplied by its weight and rounded once, so that the
        table adds up exactly. Where records of different weight make one contribution, its weight is
        Σwx / Σx, or the mean weight if Σx = 0; weighted counts add up each contributor's mean weight.
    shadow
        The variable of the contributions; by default the response.
    costs
        Further variables to add up (weighted likewise), found in ``Table.columns`` beside the shadow.
    request, request_codes
        Column that says who requested protection, and the two codes that say so. A contributor or holding
        requests if one of its records does.
    waiver
        Column of yes/no that says who waived protection: a contributor or holding, if all its records do.
    passive
        Passive confidentiality: who has not requested protection counts as having waived it.
    depth
        How many of the largest contributions are kept for each cell.
    recognised_by
        Without a contributor, of several tables of the same records that are to be linked: the columns that
        any of them uses. Then a record has the same number in all of them.
    allow_negative
        Whether contributions may be negative.
    all_cells
        Keep empty cells as well, with value 0 and no contributors: every combination of codes, a million at
        most. Rules that look at empty cells need them (`Rule.needs_all_cells`).
    columns
        Column of a dimension, where it is not named as the dimension.
    delimiter, encoding, decimal, thousands, skip, sheet, query
        How files are written, see `SourceOptions`. With ``decimal=None`` the marks are found from the
        numbers, which `progress` is told as a note.
    memory_limit, threads, temp_directory
        What DuckDB may use; by default 2 GB, all processors, and a folder of its own for temporary files.
    engine, connection, dialect
        Where the records are tabulated: ``engine="spark"`` or ``engine="postgres"`` with the address in the
        environment, or an open DB-API or ADBC connection and its dialect as sqlglot calls it. The source is
        then a table there, or None with a query; for Spark files, a Spark frame or a query. The table is
        the same; only its cells reach this process. By default DuckDB tabulates here.
    progress
        Told of the stages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> firms = pa.table({"region": ["N", "N", "S"], "firm": ["a", "b", "a"], "sales": [5, 2, 4]})
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = tabulate(firms, [region], "sales", contributor="firm", depth=2)
    >>> table.floats().tolist()
    [11.0, 7.0, 4.0]
    >>> table.units.top.tolist()
    [[9, 2], [5, 2], [4, 0]]
    >>> tabulate(firms, "region", "sales")
    Table('sales', region 3, 3 cells, 1 relation)
    """
    check_kind(depth, int, "the depth", "Give a whole number, for example 3.")
    check_kind(response, (str, type(None)), "the response", 'Give one column: "sales".')
    marks = NumberMarks(decimal, "" if decimal and thousands is None else thousands)
    written = SourceOptions(delimiter, encoding, marks, skip, sheet, query)
    choice = EngineChoice.of(engine, connection, dialect)
    named = named_dimensions(source, dimensions, columns or {}, written, choice)
    by = [replace(one, column=(columns or {}).get(one.name, one.name)) for one in named]
    roles = Roles(
        response=response,
        shadow=shadow,
        costs=tuple(dict.fromkeys(costs)),
        weight=weight,
        members=_members(contributor, holding),
        request=request,
        request_codes=request_codes,
        waiver=waiver,
        passive=passive,
        dimensions=_dimension_columns(named, columns or {}),
    )
    if contributor is None and (recognised_by or weight):  # weights rank the records in two ways
        columns_read = tuple(dict.fromkeys(recognised_by or roles.needed()))
        roles = replace(roles, recognised_by=columns_read, numbered_apart=not recognised_by)
    if all_cells:
        _check_product(by)
    options = EngineOptions(memory_limit, threads, temp_directory, written, depth, choice=choice)
    with RollUp.opened(source, by, roles, options, progress) as roll_up:
        roll_up.records.read(decimals, rounding=rounding, allow_negative=allow_negative)
        keys, figures = roll_up.cells()
        units = roll_up.contributions("unit" if contributor else RECORD if roles.recognised_by else None)
        holdings = roll_up.contributions("holding") if holding else None
        if all_cells:
            keys, figures, rows = _every_cell(by, keys, figures)
            units, holdings = units.spread(rows), holdings and holdings.spread(rows)
        roll_up.progress.stage("relations")
        return assemble(
            by,
            keys,
            figures["value"],
            roll_up.records.value_decimals,
            variable=response or COUNT,
            contributors=units.count,
            units=units,
            holdings=holdings,
            columns={
                name: unscale(figures[alias], roll_up.records.variables[alias].decimals)
                for alias, name in roles.columns().items()
            },
            signed=np.full(len(figures["value"]), roll_up.has_negative()) if allow_negative else None,
        )


def contributions_of(
    table: Table,
    source: Any,
    *,
    contributor: str,
    amount: str,
    holding: str | None = None,
    depth: int = 3,
    allow_negative: bool = False,
) -> tuple[Contributions, Contributions | None]:
    """Contributions to the cells of a table, from a list of contributions to its interior cells.

    The source has a column for each dimension, the contributor's id and the amount (and, if wanted, the
    holding). Cells nobody contributes to get a count of 0.

    Returns
    -------
    units, holdings
        With the rows of the table; no holdings if no column is named for them.

    Raises
    ------
    InputError
        When a contribution goes to an interior cell that the table does not have.
    """
    dimensions = table.dimensions
    roles = Roles(
        response=amount,
        members=_members(contributor, holding),
        dimensions=_dimension_columns(dimensions, {}),
    )
    options = EngineOptions(None, None, None, SourceOptions(marks=POINTS), depth)
    with RollUp.opened(source, dimensions, roles, options, None) as roll_up:
        roll_up.records.read(None, allow_negative=allow_negative, at_least=table.decimals)
        keys, _ = roll_up.cells()
        units = _aligned(table, keys, roll_up.contributions("unit"))
        holdings = _aligned(table, keys, roll_up.contributions("holding")) if holding else None
    return units, holdings


def _members(contributor: str | None, holding: str | None) -> dict[str, str]:
    both = {"unit": contributor, "holding": holding}
    return {level: column for level, column in both.items() if column}


def _dimension_columns(dimensions: Sequence[Dimension], columns: Mapping[str, str]) -> tuple[str, ...]:
    names = [dimension.name for dimension in dimensions]
    if not names:
        raise InputError("the table has no dimension", remedy="Give at least one.")
    if len(set(names)) < len(names):
        raise InputError("two dimensions have the same name", remedy="Rename one of them.")
    unknown = [name for name in columns if name not in names]
    if unknown:
        raise InputError(f"there is no dimension {unknown[0]!r}", remedy=nearest_name(unknown[0], names))
    return tuple(columns.get(name, name) for name in names)


def _aligned(table: Table, keys: Sequence[Codes], contributions: Contributions) -> Contributions:
    """The contributions in the order of the table's cells."""
    cells = table.find(keys)
    lost = np.flatnonzero(is_interior(table.dimensions, keys) & (cells < 0) & (contributions.absolute > 0))
    if len(lost):
        raise InputError(
            f"there are contributions to a cell that the table does not have ({len(lost)} such cells)",
            cell=key_name(table.dimensions, keys, int(lost[0])),
            remedy="Add the cell to the table, or correct the codes of the contributions.",
        )
    rows = np.full(table.num_cells, -1, dtype=np.int64)
    rows[cells[cells >= 0]] = np.flatnonzero(cells >= 0)
    return contributions.spread(rows)


def _check_product(dimensions: Sequence[Dimension]) -> None:
    number = prod(len(dimension) for dimension in dimensions)
    if number > LARGEST_PRODUCT:
        raise InputError(
            f"there are {number:,} combinations of codes, empty ones included, which is more than "
            f"{LARGEST_PRODUCT:,}",
            remedy="Leave empty cells out of the rules (zeros, protect_zeros or allow_zeros = false), or use "
            "coarser codes or fewer dimensions.",
        )


def _every_cell(
    dimensions: Sequence[Dimension], keys: Sequence[Codes], figures: Mapping[str, Int]
) -> tuple[list[Codes], dict[str, Int], Int]:
    """Keys of all combinations of codes, figures with 0 for empty cells, and the row of each cell or −1."""
    sizes = [len(dimension) for dimension in dimensions]
    rows = np.full(prod(sizes), -1, dtype=np.int64)
    rows[np.ravel_multi_index(tuple(keys), sizes)] = np.arange(len(keys[0]))
    columns = [column.astype(np.int32) for column in np.unravel_index(np.arange(len(rows)), sizes)]
    return columns, {name: np.where(rows < 0, 0, column[rows]) for name, column in figures.items()}, rows
