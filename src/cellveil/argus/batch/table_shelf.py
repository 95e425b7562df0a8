"""The tables of a batch, what is asked for each, and how those that share cells are protected together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellveil.argus.batch.arguments import located
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.batch_table import BatchTable
from cellveil.argus.batch.linked_problem import linked_problem
from cellveil.argus.batch.logbook import Logbook
from cellveil.argus.batch.protecting import ProtectedTable, TableGroup, adjusted, protect
from cellveil.argus.batch.suppress_line import ALL_TABLES, ArgusMethod, SuppressLine
from cellveil.arrays import Bool
from cellveil.clock import Stopwatch
from cellveil.errors import CellveilError, InputError
from cellveil.judge import audit
from cellveil.pattern import Pattern
from cellveil.tables.link import link


class TableShelf:
    """The tables, numbered from 1.

    Parameters
    ----------
    protected
        What each table is published as, by its number.
    asked
        What SUPPRESS asks for each table, done or not.
    pending
        The tables for which it is still to be done.
    wanted
        The tables that are to be written: those that share cells with a protected one are protected with it.
    written
        Patterns of the tables that were written, by their number: what they show stays as it is.
    warnings
        Of the whole run: what was asked for and not reached.
    """

    def __init__(self, params: BatchParams, log: Logbook, warnings: list[str]) -> None:
        self.params, self.log, self.warnings = params, log, warnings
        self.tables: list[BatchTable] = []
        self.protected: dict[int, ProtectedTable] = {}
        self.asked: dict[int, SuppressLine] = {}
        self.pending: set[int] = set()
        self.wanted: set[int] = set()
        self.written: dict[int, Pattern] = {}

    def table(self, number: int, command: BatchCommand) -> BatchTable:
        """A table by its number."""
        if not 1 <= number <= len(self.tables):
            raise command.fault(f"there is no table {number}", f"Use 1 to {len(self.tables)}.")
        return self.tables[number - 1]

    def ask(self, line: SuppressLine) -> None:
        """Note down what a line asks for."""
        numbers = [line.table] if line.table != ALL_TABLES else range(1, len(self.tables) + 1)
        for number in numbers:
            self.table(number, line.command)
            if number in self.written:
                raise line.command.fault(
                    f"table {number} was written already", "Write tables after they are protected."
                )
            self.asked[number] = line
            self.pending.add(number)

    def was_written(self, table: BatchTable) -> None:
        """Note down what a file shows of a table."""
        found = self.protected.get(table.number)
        pattern = None if found is None else found.pattern
        problem = table.table.problem
        self.written[table.number] = pattern or Pattern.hiding(problem, problem.hidden_at_start, "as written")

    def is_safe_as_it_is(self, table: BatchTable) -> bool:
        """Whether hiding unsafe cells alone protects them, beside the other tables that are written."""
        group = [table.number]
        for number in sorted(self.wanted & set(range(1, len(self.tables) + 1)) - {table.number}):
            if self._is_same_variable(table.number, number) and not self._why_not_linked([*group, number]):
                group.append(number)
        problem, places = linked_problem(
            [self.tables[number - 1].table.problem for number in group],
            [self.tables[number - 1].linkable() for number in group],
        )
        hidden = np.ones(problem.table.num_cells, dtype=bool)
        for number, cells in zip(group, places, strict=True):
            hidden[cells[~self._hidden_in(number)]] = False
        if (problem.hidden_at_start & ~hidden).any():  # one table shows what another one hides
            return False
        return audit(problem, Pattern.hiding(problem, hidden, "as written"), attackers="outsider").is_safe

    def _hidden_in(self, number: int) -> Bool:
        """What the file of a table hides, written or not yet."""
        found = self.protected.get(number)
        pattern = self.written.get(number) or (None if found is None else found.pattern)
        return self.tables[number - 1].table.problem.hidden_at_start if pattern is None else pattern.hidden

    def changed(self, table: BatchTable) -> None:
        """A table is another one now: it has to be protected anew."""
        if table.number in self.written:
            raise InputError(f"table {table.number} was written already", remedy="Change it before.")
        self.protected.pop(table.number, None)
        if table.number in self.asked:
            self.pending.add(table.number)

    def protect_pending(self) -> None:
        """Protect what is asked for, tables that share cells together.

        Raises
        ------
        CellveilError
            Where a table cannot be shown safe; it names the line that asks for its protection.
        """
        while self.pending:
            first = min(self.pending)
            group = self._linked_with(first)
            line = self.asked[first]
            try:
                self._protect(first, group)
            except InputError as error:
                raise located(error, line.command) from None
            except CellveilError as error:
                error.add_note(f"{line.command.file}, line {line.command.line}")
                raise
            self.pending -= set(group)

    def _linked_with(self, first: int) -> list[int]:
        """The table, and those to be protected or written that share cells with it."""
        line = self.asked[first]
        others = (self.wanted | set(self.asked)) & set(range(1, len(self.tables) + 1)) - {first}
        together = {number for number in others if self.asked.get(number) is line}
        linked = sorted(together | {n for n in others if self._is_same_variable(first, n)})
        if self._why_not_linked([first, *linked]) is None:
            return [first, *linked]
        group = [first]
        for number in linked:
            why = self._why_not_linked([*group, number])
            if why is not None and number in together:
                raise located(why, line.command)
            if why is None:
                group.append(number)
            else:
                self.log.write(
                    f"Note: tables {first} and {number} were protected apart, as they cannot be linked: "
                    f"{why.what}"
                )
        return group

    def _why_not_linked(self, numbers: Sequence[int]) -> InputError | None:
        try:
            link([self.tables[number - 1].linkable() for number in numbers])
        except InputError as error:
            return error
        return None

    def _is_same_variable(self, first: int, second: int) -> bool:
        one, other = (self.tables[number - 1].table.problem.table for number in (first, second))
        return one.variable == other.variable

    def _protect(self, first: int, group: list[int]) -> None:
        lines = [self.asked[number] for number in group if number in self.asked]
        watch = Stopwatch()
        with watch.time("protection"):
            if any(line.method is ArgusMethod.ADJUSTMENT for line in lines):
                found, notes = self._adjusted(first, group)
            else:
                found, notes = self._suppressed(group)
        for number, table in zip(group, found, strict=True):
            self.protected[number] = table
        if found[0].warning:
            warning = f"WARNING: in table {', '.join(map(str, group))} {found[0].warning}"
            self.warnings.append(warning)
            notes = [*notes, warning]
        told = [f"Number of suppressions: {sum(table.num_secondaries for table in found)}"]
        if len(group) > 1:
            told.append(f"Tables {', '.join(map(str, group))} share cells and were protected together")
        used = round(watch.seconds["protection"])
        self.log.write(f"End of protection ({lines[0].method}). Time used {used} seconds", *told, *notes)

    def _adjusted(self, first: int, group: list[int]) -> tuple[list[ProtectedTable], list[str]]:
        line = self.asked[first]
        if len(group) > 1:
            asked = [self.asked[number] for number in group if number in self.asked]
            line = next(one for one in asked if one.method is ArgusMethod.ADJUSTMENT)
            raise line.command.fault(
                f"tables {' and '.join(map(str, group))} share cells, and one is to be adjusted",
                "True values beside adjusted ones would tell how these were moved: suppress both.",
            )
        table, notes = adjusted(self.tables[first - 1].table.problem, line, self.params)
        return [table], notes

    def _suppressed(self, group: list[int]) -> tuple[list[ProtectedTable], list[str]]:
        problems = [self.tables[number - 1].table.problem for number in group]
        published = {}
        for place, number in enumerate(group):
            if number in self.written:
                published[place] = self.written[number]
        asked = [self.asked[number] for number in group if number in self.asked]
        lines = list({id(line): line for line in asked}.values())
        tables = [self.tables[number - 1].linkable() for number in group]
        return protect(TableGroup(problems, tables, lines, published), self.params)
