"""Ready-made tables in text files (.tab) as metadata describe them: a line per cell, totals included.

A line has the codes of the cell, its value and, as far as there are such variables, the number of
contributors, the largest contributions, shadow, cost, status and protection levels. An empty code is the
total. An empty number, or ``-``, is absent. Both decimal marks are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cellveil.argus.argus_table import FREQUENCY, ArgusTable
from cellveil.argus.cell_costs import cell_costs
from cellveil.argus.cell_status import CellStatus, StatusNumbers
from cellveil.argus.code_trees import CodeTree
from cellveil.argus.metadata import ArgusVariable, Metadata, VariableRole
from cellveil.argus.source_text import SourceText
from cellveil.argus.table_spec import TableSpec
from cellveil.argus.top_contributions import check_top, contributions_of_rows
from cellveil.arrays import Bool, Int
from cellveil.errors import InputError, nearest_name
from cellveil.formats.columns import Columns
from cellveil.formats.ready_made import Mismatch, build_table
from cellveil.formats.rows import Rows, cells_of_rows, check_rows_distinct, put_on_cells
from cellveil.problem import Problem, Status, defaults
from cellveil.rules.base import DEFAULT_RANGE
from cellveil.rules.least_counts import with_least_counts
from cellveil.rules.percentages import Number, fraction, margin
from cellveil.tables.build import encode
from cellveil.tables.scaled import UNBOUNDED
from cellveil.tables.table import Table

NUMERIC = (
    *(VariableRole.RESPONSE, VariableRole.SHADOW, VariableRole.COST, VariableRole.FREQUENCY),
    *(VariableRole.TOP, VariableRole.LOWER_LEVEL, VariableRole.UPPER_LEVEL),
)
PROBLEM_STATUS = {
    CellStatus.SAFE_MANUAL: Status.SAFE,
    CellStatus.UNSAFE_MANUAL: Status.PRIMARY,
    CellStatus.PROTECTED: Status.FROZEN,
    CellStatus.SECONDARY: Status.SECONDARY,
    CellStatus.EMPTY: Status.FROZEN,
}
MISMATCH: dict[str, Mismatch] = {"given": "error", "compute": "compute", "keep": "keep"}
"""What is done where totals are not the sums of their parts."""
EMPTY_MARKS = ("", "E")


@dataclass(frozen=True, repr=False, eq=False)
class TabularFile:
    """Cells of a text file.

    Parameters
    ----------
    metadata
        The variables.
    columns
        The fields as text: codes under the names they have in the trees, numbers with a decimal point.
    trees
        The codes of each spanning variable.
    empty
        Which rows say that their cell is empty.
    source
        The file; errors name its lines.
    """

    metadata: Metadata
    columns: Columns
    trees: Mapping[str, CodeTree]
    empty: Bool
    source: SourceText

    def __repr__(self) -> str:
        return f"TabularFile({len(self.columns)} cells of {len(self.metadata.variables)} variables)"

    @property
    def has_status(self) -> bool:
        """Whether cells have a status."""
        return self.metadata.only(VariableRole.STATUS) is not None

    def spec(self) -> TableSpec:
        """The table that is in the file: all spanning variables, and the first response."""
        response = self.metadata.only(VariableRole.RESPONSE)
        return TableSpec(
            tuple(v.name for v in self.metadata.having(VariableRole.SPANNING)),
            response.name if response else None,
        )

    def table(self, spec: TableSpec | None = None, *, totals: str = "given") -> Table:
        """The table, with numbers of contributors and largest contributions where they are given.

        Parameters
        ----------
        spec
            Which response; by default the first. All spanning variables of the file must be in it.
        totals
            ``given``: the table must add up. ``compute``: totals are worked out from the finest cells;
            where these have contributions, those of totals are too, contributors of different cells being
            taken to be different. ``keep``: the table need not add up; what each of its sums is off by is
            taken to be known to everybody, which protects from whoever knows less, too.
        """
        return self._built(spec or self.spec(), totals)[0]

    def read(
        self,
        spec: TableSpec | None = None,
        *,
        totals: str = "given",
        safety_range: Number = DEFAULT_RANGE,
    ) -> ArgusTable:
        """The table with the statuses, levels and costs of the file.

        Statuses are kept where totals are computed anew: a cell that was unsafe stays so.

        Parameters
        ----------
        safety_range
            Level in % of the value of unsafe cells for which the file gives none.
        """
        spec = spec or self.spec()
        if not self.has_status:
            raise InputError(
                "the table has no status",
                file=self.metadata.file,
                remedy="Add a variable with <STATUS>, or apply a rule to the table.",
            )
        table, rows, cells = self._built(spec, totals)
        given = self._numbers(rows)
        kept = cells >= 0
        numbers = np.full(table.num_cells, CellStatus.SAFE, dtype=np.int8)
        put_on_cells(_some(rows, kept), numbers, cells[kept], given[kept], "status")
        fields = self._fields(table, rows, cells, numbers, fraction(safety_range, "safety_range"))
        fields["weight"] = cell_costs(table, fields["status"] == Status.PRIMARY, spec, self.metadata)
        room = np.where(fields["lb"] == -UNBOUNDED, UNBOUNDED, table.values - fields["lb"])
        cut = int((fields["lpl"] > room).sum())
        fields["lpl"] = np.minimum(fields["lpl"], room)
        rest = table.num_cells - len(np.unique(cells[kept]))
        least = int(fields["lb"].max(initial=0))
        notes = [f"{cut} lower levels were cut: nobody takes the value for less than {least}"] if cut else []
        notes += [f"{rest} computed totals have no status and are taken for safe"] if rest else []
        with rows.placing_errors():
            problem = Problem(table, **fields)
        made = ArgusTable.of(problem, self.metadata, spec, self.trees, notes=notes)
        return made.replace(numbers=numbers)

    def _built(self, spec: TableSpec, totals: str) -> tuple[Table, Rows, Int]:
        """The table, the rows that are no empty cells, and the cell of each."""
        if totals not in MISMATCH:
            raise InputError(f"totals cannot be {totals!r}", remedy=nearest_name(totals, list(MISMATCH)))
        variables = spec.dimensions(self.metadata)
        spanning = self.metadata.having(VariableRole.SPANNING)
        if {v.name for v in variables} != {v.name for v in spanning}:
            raise InputError(
                f"the file has cells of {len(spanning)} spanning variables, the table {len(variables)}",
                file=self.source.file,
                remedy=f"Name all of them: {', '.join(v.name for v in spanning)}.",
            )
        dimensions = tuple(self.trees[v.name].dimension(v.name) for v in variables)
        every = Rows(self.columns, dimensions, {v.name: self.columns.codes(v.name) for v in variables})
        check_rows_distinct(every)
        name = self._value_name(spec)
        self._check_cells(every, name)
        rows = _some(every, ~self.empty)
        decimals = self._decimals(rows, name)
        table = build_table(
            rows,
            rows.columns.amounts(name),
            decimals,
            value=name,
            mismatch=MISMATCH[totals],
            allow_negative=True,
        )
        if totals == "compute":
            cells = table.find(encode(rows.dimensions, rows.codes))
        else:
            cells = cells_of_rows(rows, table)
        table = contributions_of_rows(table, rows, cells, self._column_names(), name)
        return table.replace(variable=name if spec.response else FREQUENCY), rows, cells

    def _value_name(self, spec: TableSpec) -> str:
        response = spec.number(self.metadata, spec.response) or self.metadata.only(VariableRole.FREQUENCY)
        if response is None:
            raise InputError(
                "the table has no frequencies", file=self.metadata.file, remedy="Name a response variable."
            )
        return response.name

    def _column_names(self) -> dict[VariableRole, list[str]]:
        return {role: [v.name for v in self.metadata.having(role)] for role in NUMERIC}

    def _decimals(self, rows: Rows, value: str) -> int:
        """Decimals that show values and levels exactly, at least those declared."""
        names = [value]
        for role in (VariableRole.LOWER_LEVEL, VariableRole.UPPER_LEVEL):
            names += [v.name for v in self.metadata.having(role)] if self.has_status else []
        found = [rows.columns.amounts(name).decimals for name in names]
        return max(*found, self.metadata.variable(value).value_decimals)

    def _check_cells(self, rows: Rows, value: str) -> None:
        """What is said of a cell must fit together."""
        amounts = rows.columns.amounts(value)
        absent = amounts.missing
        rows.numbers(value, amounts, amounts.decimals, default=np.zeros(len(absent), dtype=np.int64))
        frequency = self.metadata.only(VariableRole.FREQUENCY)
        if frequency is not None and frequency.name != value:
            counts = rows.columns.amounts(frequency.name)
            rows.check(
                absent & ~counts.missing & (counts.scaled != 0),
                "the cell has contributors, but no value",
                "Give the value.",
            )
            rows.check(
                (amounts.scaled != 0) & (counts.scaled == 0) & ~counts.missing,
                "the cell has a value, but no contributors",
                "Correct the number of contributors.",
            )
        rows.check(
            self.empty & (amounts.scaled != 0), "the cell has a value, but its status is empty",
            "Give it a status.",
        )  # fmt: skip
        rows.check(~self.empty & absent, "the cell has no value", "Give the value, or leave the line out.")
        check_top(rows, self._column_names(), value)

    def _numbers(self, rows: Rows) -> StatusNumbers:
        """The status of each row."""
        metadata = self.metadata
        marks = {"M": CellStatus.SECONDARY, **dict.fromkeys(EMPTY_MARKS, CellStatus.EMPTY)} | {
            metadata.safe.upper(): CellStatus.SAFE_MANUAL,
            metadata.unsafe.upper(): CellStatus.UNSAFE_MANUAL,
            metadata.protected.upper(): CellStatus.PROTECTED,
        }
        variable = metadata.only(VariableRole.STATUS)
        assert variable is not None  # asked before
        texts = [str(text).strip().upper() for text in rows.columns.column(variable.name).to_pylist()]
        numbers = np.array([marks.get(text, 0) for text in texts], dtype=np.int8)
        rows.check(
            numbers == 0,
            "the status is unknown",
            f"Known: {', '.join(sorted(mark for mark in marks if mark))}; others are set by <SAFE>, "
            "<UNSAFE> and <PROTECT> in the metadata.",
        )
        return numbers

    def _fields(
        self, table: Table, rows: Rows, cells: Int, numbers: StatusNumbers, percent: Fraction
    ) -> dict[str, Any]:
        """Status and levels of the cells."""
        fields = defaults(table)
        status = np.select(
            [numbers == number for number in PROBLEM_STATUS],
            [int(status) for status in PROBLEM_STATUS.values()],
            Status.SAFE,
        )
        zero = (table.values == 0) & (status == Status.SAFE)
        fields["status"] = np.where(zero, Status.FROZEN, status).astype(np.int8)
        fields["lb"] = with_least_counts(table, fields["lb"], fields["status"])
        unsafe = status == Status.PRIMARY
        for name, role in (("lpl", VariableRole.LOWER_LEVEL), ("upl", VariableRole.UPPER_LEVEL)):
            level = np.where(unsafe, margin(table.values, percent), 0)
            known = self._levels(table, rows, cells, self.metadata.only(role))
            fields[name] = np.where(unsafe & (known >= 0), known, level)
        return fields

    def _levels(self, table: Table, rows: Rows, cells: Int, variable: ArgusVariable | None) -> Int:
        """Protection levels as given, −1 where there is none."""
        known = np.full(table.num_cells, -1, dtype=np.int64)
        if variable is None:
            return known
        amounts = rows.columns.amounts(variable.name)
        absent = np.full(len(cells), -1, dtype=np.int64)
        given = rows.numbers(variable.name, amounts, table.decimals, default=absent)
        rows.check(
            (given < 0) & ~amounts.missing, "a protection level is negative",
            "Levels are distances from the value: give them without a sign.",
        )  # fmt: skip
        kept = cells >= 0
        put_on_cells(_some(rows, kept), known, cells[kept], given[kept], variable.name)
        return known


def _some(rows: Rows, chosen: Bool) -> Rows:
    """Some of the rows."""
    if chosen.all():
        return rows
    import pyarrow as pa

    places = np.flatnonzero(chosen)
    columns = rows.columns
    return Rows(
        Columns(
            columns.data.filter(pa.array(chosen)),
            columns.file,
            lambda row: columns.line_of(int(places[row])),
            columns.marks,
        ),
        rows.dimensions,
        {name: codes[chosen] for name, codes in rows.codes.items()},
    )
