"""Intermediate tables: a protected or unprotected table as cells (.tab) and metadata (.rda). Internal.

The pair can be read again: values, numbers of contributors, shadow, cost, largest contributions, status and
levels are those of the table. A file of metadata names the hierarchies, which are written beside it. The file
has no place for sampling weights: contributions are then the weighted parts of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.hrc import write_hrc
from cellveil.argus.lexer import quoted
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.rda import write_rda
from cellveil.arrays import Float, Int
from cellveil.errors import InputError
from cellveil.files import write_text
from cellveil.formats.exact_numbers import float_texts, texts_of
from cellveil.pattern import Pattern
from cellveil.problem import Problem, defaults
from cellveil.rules.least_counts import with_least_counts
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table

LEAD = "@"


def write_intermediate(
    table: ArgusTable,
    path: Path | str,
    *,
    pattern: Pattern | None = None,
    drop_empty: bool = False,
    quotes: bool = True,
    simple: bool = False,
    holding: bool = False,
    audit: bool | Mapping[int, tuple[float, float]] = False,
) -> tuple[str, ...]:
    """Write the cells, the metadata beside them, and a hierarchy for each hierarchical variable.

    Parameters
    ----------
    simple
        Without shadow and largest contributions.
    holding
        Counts and contributions of holdings in place of those of units.
    audit
        Feasibility intervals of hidden cells by cell number, to be written too.

    Returns
    -------
    notes
        What the files have no place for.
    """
    path = Path(path)
    if audit is True:
        raise InputError(
            "there are no feasibility intervals to write", file=path, remedy="Audit the table, and give them."
        )
    separator = ";"
    columns = _columns(table, pattern, simple=simple, holding=holding)
    if audit:
        columns |= _interval_columns(table, audit)
    empty = ["0"] * len(columns)
    empty[list(columns).index("status")] = CellStatus.EMPTY.letter
    statuses = table.statuses(pattern)
    lines = []
    for codes, cell in table.rows():
        if drop_empty and (cell < 0 or statuses[cell] == CellStatus.EMPTY):
            continue
        texts = [tree.exact(code.name) for tree, code in zip(table.trees, codes, strict=True)]
        fields = [_code(text, separator, quotes) for text in texts]
        fields += empty if cell < 0 else [column[cell] for _, column in columns.values()]
        lines.append(separator.join(fields))
    write_text(path, "".join(f"{line}\n" for line in lines))
    metadata = Metadata(
        DataKind.TABLE,
        (*_spanning(table, path, drop_empty), *(variable for variable, _ in columns.values())),
        separator=separator,
    )
    write_rda(metadata, path.with_suffix(".rda"))
    return tuple(_not_carried(table.problem))


def _not_carried(problem: Problem) -> Iterator[str]:
    """What is lost when a problem is written as cells."""
    usual, known = defaults(problem.table), problem.table.units
    usual["lb"] = with_least_counts(problem.table, usual["lb"], problem.status)
    if problem.spl.any():
        yield "sliding protection levels are not in the file"
    if any((getattr(problem, name) != usual[name]).any() for name in ("lb", "ub")):
        yield "bounds that everybody knows are not in the file: who reads it takes values for at least 0"
    if problem.waived is not None:
        yield "that cells are waived is not in the file"
    if known is not None and known.top_weight is not None:
        yield "sampling weights are not in the file: contributions are weighted parts of the value"
    if known is not None and known.requests is not None:
        yield "who asked for protection is not in the file"


def _code(text: str, separator: str, quotes: bool) -> str:
    if quotes:
        return quoted(text)
    if separator in text or '"' in text or text != text.strip():
        raise InputError(
            "a code holds a separator or quote, or blanks around it",
            remedy="Write the file with quotes (QU+).",
        )
    return text


def _spanning(table: ArgusTable, path: Path, drop_empty: bool) -> list[ArgusVariable]:
    """The spanning variables as those of a table; each hierarchy is a file beside it.

    Where empty cells are left out, flat variables have one too: their codes need not all occur.
    """
    variables = []
    for axis, (variable, tree) in enumerate(zip(table.variables, table.trees, strict=True)):
        file = None
        if variable.is_hierarchical or drop_empty:
            file = f"{path.stem}_{axis + 1}.hrc"
            write_hrc(tree, path.with_name(file), lead=LEAD)
        variables.append(
            ArgusVariable(
                variable.name,
                frozenset({VariableRole.SPANNING}),
                missing=tree.missing,
                total_code=tree.hierarchy.root,
                code_list=variable.code_list,
                hierarchy_file=file,
                lead=LEAD if file else ArgusVariable.lead,
                distance=variable.distance,
            )
        )
    return variables


Column = tuple[ArgusVariable, list[str]]


def _columns(table: ArgusTable, pattern: Pattern | None, *, simple: bool, holding: bool) -> dict[str, Column]:
    """Variable and texts of each column after the codes."""
    problem, data = table.problem, table.problem.table
    known = data.holdings if holding else data.units
    if holding and known is None:
        raise InputError("the table knows no holdings", remedy="Tabulate with a variable of holdings.")
    columns: dict[str, Column] = {}

    def add(key: str, name: str, role: VariableRole, texts: list[str], decimals: int = 0) -> None:
        taken = {variable.name.casefold() for variable, _ in columns.values()}
        taken |= {variable.name.casefold() for variable in table.variables}
        while name.casefold() in taken:
            name += "_"
        columns[key] = ArgusVariable(name, frozenset({role}), decimals=decimals), texts

    def amounts(scaled: Int, decimals: int) -> list[str]:
        return texts_of(scaled, decimals, trim=False).to_pylist()  # type: ignore[no-any-return]

    add("value", table.response, VariableRole.RESPONSE, amounts(data.values, data.decimals), table.decimals)
    count = _counts(data, known)
    if count is not None and not table.is_frequency:
        add("count", "Freq", VariableRole.FREQUENCY, ["" if n < 0 else str(n) for n in count.tolist()])
    if known is not None and not simple and not table.is_frequency:
        add("shadow", f"{table.response}_Shadow", VariableRole.SHADOW, amounts(known.total, known.decimals))
    add("cost", f"{table.response}_Cost", VariableRole.COST, float_texts(problem.weight).to_pylist())
    if known is not None and not simple and not table.is_frequency:
        parts, _ = known.largest_parts
        for place in range(known.depth):
            top = np.ascontiguousarray(parts[:, place])
            add(f"top{place}", f"Top{place + 1}", VariableRole.TOP, amounts(top, known.decimals))
    letters = [CellStatus(int(number)).letter for number in table.statuses(pattern)]
    add("status", "Status", VariableRole.STATUS, letters)
    add("lpl", "LowerPL", VariableRole.LOWER_LEVEL, amounts(problem.lpl, data.decimals))
    add("upl", "UpperPL", VariableRole.UPPER_LEVEL, amounts(problem.upl, data.decimals))
    return columns


def _counts(data: Table, known: Contributions | None) -> Int | None:
    return data.contributors if known is None else known.count


def _interval_columns(table: ArgusTable, intervals: Mapping[int, tuple[float, float]]) -> dict[str, Column]:
    """Lower and upper end, width, and the three in per cent of the value; 0 for published cells."""
    values = table.problem.table.floats()
    found: Float = np.array([intervals.get(cell, (0.0, 0.0)) for cell in range(len(values))])
    lower, upper = found[:, 0], found[:, 1]
    hidden = np.isin(np.arange(len(values)), list(intervals)) & (values != 0)
    safe = np.where(hidden, values, 1.0)
    figures = {
        "RealizedLower": lower,
        "RealizedUpper": upper,
        "RealizedRange": upper - lower,
        "LowerPerc": np.where(hidden, 100 * (values - lower) / safe, 0.0),
        "UpperPerc": np.where(hidden, 100 * (upper - values) / safe, 0.0),
        "RangePerc": np.where(hidden, 100 * (upper - lower) / safe, 0.0),
    }
    return {
        name: (ArgusVariable(name), [f"{number:.{table.decimals + 2}f}" for number in column.tolist()])
        for name, column in figures.items()
    }
