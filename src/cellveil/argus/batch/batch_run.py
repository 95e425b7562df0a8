"""A batch run: commands about tables in their order, each at its line, with a logbook.

The order is that of tau-ARGUS: open data, open metadata, specify tables and their rules, read them; then
recode, set statuses, suppress and write. What SUPPRESS asks for is done when the first table is written:
tables that share cells are protected together, so that no table undoes another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from pathlib import Path

import numpy as np

from cellveil.argus.apriori import Action, read_hst
from cellveil.argus.batch.arguments import Arguments, checked_file, flag, located
from cellveil.argus.batch.batch_file import BatchCommand, Keyword
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.batch_places import BatchPlaces
from cellveil.argus.batch.batch_table import BatchData, BatchTable
from cellveil.argus.batch.logbook import Logbook
from cellveil.argus.batch.result_writer import ResultWriter, report_path
from cellveil.argus.batch.rule_line import rule_line
from cellveil.argus.batch.suppress_line import suppress_line
from cellveil.argus.batch.table_line import table_line
from cellveil.argus.batch.table_shelf import TableShelf
from cellveil.argus.batch.write_line import write_line
from cellveil.argus.metadata import DataKind
from cellveil.argus.recoding import Recoding, read_recoding
from cellveil.errors import CellveilError, InfeasibleError, InputError, NotSafeError, counted

SOLVERS = ("CPLEX", "XPRESS", "FREE")
BUILD = 1
"""Clients expect a number of the build."""


class BatchStage(IntEnum):
    """How far a batch is."""

    NOTHING = 0
    DATA = 1
    METADATA = 2
    SPECIFIED = 3
    RULED = 4
    READ = 5


ALLOWED = {
    Keyword.OPENMICRODATA: (BatchStage.NOTHING,),
    Keyword.OPENTABLEDATA: (BatchStage.NOTHING, BatchStage.SPECIFIED, BatchStage.RULED),
    Keyword.OPENMETADATA: (BatchStage.DATA,),
    Keyword.SPECIFYTABLE: (BatchStage.METADATA, BatchStage.SPECIFIED, BatchStage.RULED),
    Keyword.SAFETYRULE: (BatchStage.SPECIFIED,),
    Keyword.READMICRODATA: (BatchStage.SPECIFIED, BatchStage.RULED),
    Keyword.READTABLE: (BatchStage.SPECIFIED, BatchStage.RULED),
    Keyword.APRIORI: (BatchStage.READ,),
    Keyword.RECODE: (BatchStage.READ,),
    Keyword.SUPPRESS: (BatchStage.READ,),
    Keyword.WRITETABLE: (BatchStage.READ,),
}
"""Where in the order a command may stand; those not listed may stand anywhere."""

ORDER = (
    "The order is OPENMICRODATA or OPENTABLEDATA, OPENMETADATA, SPECIFYTABLE, SAFETYRULE, READMICRODATA or "
    "READTABLE, then the others."
)


@dataclass(frozen=True)
class BatchResult:
    """What a run came to: how many tables were read, which files were written; whether to speak of it.

    Parameters
    ----------
    warnings
        What was asked for and not reached, in words: somebody has to decide whether the files may be used.
    """

    num_tables: int
    files: tuple[Path, ...]
    is_silent: bool = False
    warnings: tuple[str, ...] = ()


class BatchRun:
    """Runs the commands of a batch file."""

    def __init__(self, places: BatchPlaces, log: Logbook, params: BatchParams | None = None) -> None:
        self.places, self.log, self.params = places, log, params or BatchParams()
        self.files: list[Path] = []
        self.results: list[Path] = []
        self.warnings: list[str] = []
        self.num_tables = 0
        self.is_silent = False
        self.do: dict[Keyword, Callable[[BatchCommand], None]] = {
            Keyword.OPENMICRODATA: self._open_data,
            Keyword.OPENTABLEDATA: self._open_data,
            Keyword.OPENMETADATA: self._open_metadata,
            Keyword.SPECIFYTABLE: self._specify,
            Keyword.SAFETYRULE: self._rule,
            Keyword.READMICRODATA: self._read_microdata,
            Keyword.READTABLE: self._read_table,
            Keyword.APRIORI: self._apriori,
            Keyword.RECODE: self._recode,
            Keyword.SUPPRESS: self._suppress,
            Keyword.WRITETABLE: self._write,
            Keyword.SOLVER: self._solver,
            Keyword.LOGBOOK: self._logbook,
            Keyword.VERSIONINFO: self._version,
            Keyword.CLEAR: self._clear,
            Keyword.SILENT: self._silent,
            Keyword.GOINTERACTIVE: self._go_interactive,
        }
        self._forget()

    def run(self, commands: Sequence[BatchCommand]) -> BatchResult:
        """Run all commands.

        Raises
        ------
        CellveilError
            At the first command that cannot be done, or where a table is not safe; nothing after it is done.
        """
        self.shelf.wanted = _written_in(commands)
        for place, command in enumerate(commands, 1):
            self.log.write(command.text)
            try:
                with _at(command):
                    self._check_order(command)
                    self.do[command.keyword](command)
            except (NotSafeError, InfeasibleError):
                self._withdraw(commands[place - 1 :])
                raise
            if command.keyword is Keyword.CLEAR:
                self.shelf.wanted = _written_in(commands[place:])
        self.shelf.protect_pending()
        if self.warnings:
            self.log.write(*self.warnings)
        return BatchResult(self.num_tables, tuple(self.files), self.is_silent, tuple(self.warnings))

    def _withdraw(self, commands: Sequence[BatchCommand]) -> None:
        """Remove what an older run wrote to the files that are not written now."""
        for command in commands:
            if command.keyword is Keyword.WRITETABLE:
                path = self.places.target(write_line(command).name, command)
                if path.is_file() and path not in self.files and path.resolve() not in self.inputs:
                    path.unlink()
                    self.log.write(f"An older file was removed: {path}")

    def _forget(self) -> None:
        self.stage = BatchStage.NOTHING
        self.kind = DataKind.MICRODATA
        self.data_path: Path | None = None
        self.data: BatchData | None = None
        self.inputs: set[Path] = set()
        self.shelf = TableShelf(self.params, self.log, self.warnings)

    def _check_order(self, command: BatchCommand) -> None:
        allowed = ALLOWED.get(command.keyword)
        if allowed is not None and self.stage not in allowed:
            raise command.fault("it is not possible at this place", ORDER)
        is_micro = {Keyword.READMICRODATA: True, Keyword.READTABLE: False}.get(command.keyword)
        if is_micro is not None and is_micro != (self.kind is DataKind.MICRODATA):
            raise command.fault(
                f"the data were opened as {self.kind.value}",
                f"Use {Keyword.READTABLE if is_micro else Keyword.READMICRODATA}.",
            )
        if command.keyword is Keyword.OPENTABLEDATA and self.shelf.tables and self.kind is DataKind.MICRODATA:
            raise command.fault("the tables before are of microdata", "Write CLEAR before other data.")

    def _input(self, name: str, command: BatchCommand) -> Path:
        path = self.places.find(name, command)
        self.inputs.add(path.resolve())
        return path

    # -- data and tables -------------------------------------------------------------------------------------

    def _open_data(self, command: BatchCommand) -> None:
        is_micro = command.keyword is Keyword.OPENMICRODATA
        self.kind = DataKind.MICRODATA if is_micro else DataKind.TABLE
        self.data_path = self._input(checked_file(command), command)
        self.stage = BatchStage.DATA

    def _open_metadata(self, command: BatchCommand) -> None:
        assert self.data_path is not None, "the stage says so"
        path = self._input(checked_file(command), command)
        self.data = BatchData(self.data_path, self.kind, path)
        for note in self.data.metadata.notes:
            self.log.write(f"Note: {note}")
        self.stage = BatchStage.METADATA

    def _specify(self, command: BatchCommand) -> None:
        assert self.data is not None, "the stage says so"
        line = table_line(command)
        metadata = self.data.metadata
        try:
            line.spec.dimensions(metadata)
            for name in (line.spec.response, line.spec.shadow, line.spec.cost):
                line.spec.number(metadata, name if isinstance(name, str) else None)
        except InputError as error:
            raise command.fault(f"{error.what} ({self.data.metadata_path.name})", error.remedy) from None
        table = BatchTable(len(self.shelf.tables) + 1, self.data, line)
        self.shelf.tables.append(table)
        self.log.write(f"Table: {table.name} has been specified")
        self.stage = BatchStage.SPECIFIED

    def _rule(self, command: BatchCommand) -> None:
        self.shelf.tables[-1].rules = rule_line(command)
        self.stage = BatchStage.RULED

    def _read_microdata(self, command: BatchCommand) -> None:
        Arguments(command).end()
        self._build("Tables from microdata have been read")

    def _read_table(self, command: BatchCommand) -> None:
        given = Arguments(command)
        variant = "0" if given.is_over else given.word("the variant").upper()
        given.end()
        if variant not in ("0", "1", "1T", "1F", "2"):
            raise command.fault("unknown variant", "Use 0, 1, 1T, 1F or 2.")
        for table in self.shelf.tables:
            table.totals = {"0": "given", "2": "keep"}.get(variant, "compute")
        if variant in ("1", "1F"):
            self.log.write("Note: statuses are kept where totals are computed: what is unsafe stays so")
        self._build("Tables have been read")
        for table in self.shelf.tables:
            constants = np.count_nonzero(table.table.problem.table.relations.rhs)
            if constants:
                self.log.write(f"Note: table {table.number} does not add up: {constants} sums differ")

    def _build(self, done: str) -> None:
        for table in self.shelf.tables:
            for note in table.build(self.params):
                self.log.write(f"Note: table {table.number}: {note}")
            problem = table.table.problem
            self.log.write(
                f"Table: {table.name} has {problem.table.num_cells} cells, "
                f"{len(problem.primaries)} of them unsafe"
            )
        self.num_tables += len(self.shelf.tables)
        self.log.write(done)
        self.stage = BatchStage.READ

    # -- changes ---------------------------------------------------------------------------------------------

    def _apriori(self, command: BatchCommand) -> None:
        given = Arguments(command)
        name = given.word("the name of the file")
        given.expect(",")
        table = self.shelf.table(given.whole("the number of the table"), command)
        given.expect(",")
        separator = given.tokens.pop(0).text if given.tokens else ""
        options = []
        while given.sees(","):
            options.append(flag(command, given.number("an option"), "an option"))
        given.end()
        ignore_errors = options[0] if options else True
        path = self._input(name, command)
        read = read_hst(path, len(table.line.spec.spanning), separator=separator, ignore_errors=ignore_errors)
        self.shelf.changed(table)
        result = table.set_apriori(read, ignore_errors=ignore_errors)
        counts = ", ".join(f"{action.value} {result.counts[action]}" for action in Action)
        told = [f"Apriori file {path.name} has been read: {counts}"]
        if result.num_made_safe:
            told.append(f"{counted(result.num_made_safe, 'cell')} set to safe that a rule calls unsafe")
        told += [f"Passed over: {fault}" for fault in result.faults]
        self.log.write(*told)

    def _recode(self, command: BatchCommand) -> None:
        given = Arguments(command)
        table = self.shelf.table(given.whole("the number of the table"), command)
        given.expect(",")
        variable = table.data.metadata.variable(given.word("the variable"))
        if variable.name not in [v.name for v in table.line.spec.dimensions(table.data.metadata)]:
            raise command.fault(f"{variable.name!r} does not span the table", "Name a spanning variable.")
        given.expect(",")
        is_level = bool(given.tokens) and not given.tokens[0].quoted and given.tokens[0].text.isdigit()
        how = given.word("a file, or the number of a level,")
        given.end()
        if is_level:
            recoding = Recoding.to_level(table.trees()[variable.name], int(how))
        else:
            recoding = read_recoding(self._input(how, command))
        before = dict(table.recodings)
        table.recodings = before | {variable.name: recoding}
        self.shelf.changed(table)
        notes = table.build(self.params)
        problem = table.table.problem
        self.log.write(
            f"Table: {table.name} was recoded: {problem.table.num_cells} cells, "
            f"{len(problem.primaries)} of them unsafe",
            *(f"Note: {note}" for note in notes),
        )

    # -- protection and results ------------------------------------------------------------------------------

    def _suppress(self, command: BatchCommand) -> None:
        self.shelf.ask(suppress_line(command, self.params))

    def _write(self, command: BatchCommand) -> None:
        line = write_line(command)
        table = self.shelf.table(line.table, command)
        target = self.places.target(line.name, command)
        self.shelf.protect_pending()
        found, shelf = self.shelf.protected.get(table.number), self.shelf
        writer = ResultWriter(table.table, found, self.inputs, lambda: shelf.is_safe_as_it_is(table))
        report = report_path(self.places.internal, target, self.results)
        self.results.append(target)
        reported = writer.report(report)  # first: a result is not left without it
        told = writer.write(line, target, command) + reported
        self.shelf.was_written(table)
        self.files.append(target)
        self.log.write(f"Table: {table.name} has been written", f"Output file name: {target}", *told)

    # -- the rest --------------------------------------------------------------------------------------------

    def _solver(self, command: BatchCommand) -> None:
        name = Arguments(command).word("the solver").upper()
        if name not in SOLVERS:
            raise command.fault(f"unknown solver {name}", f"Use {', '.join(SOLVERS)}.")
        self.log.write("Note: cellveil uses its own solvers")

    def _logbook(self, command: BatchCommand) -> None:
        path = self.places.target(checked_file(command), command)
        if path.resolve() in self.inputs:
            raise command.fault("the logbook would be written into the data", "Name another file.")
        self.log.open(path)
        self.log.write(command.text)

    def _version(self, command: BatchCommand) -> None:
        from cellveil import __version__
        from cellveil.files import write_text

        number = __version__ if __version__[:1].isdigit() else "0"
        path = self.places.target(checked_file(command), command)
        write_text(path, f"cellveil version: {number}; build: {BUILD}\n")
        self.files.append(path)

    def _clear(self, command: BatchCommand) -> None:
        Arguments(command).end()
        self.shelf.protect_pending()
        self._forget()

    def _silent(self, command: BatchCommand) -> None:
        Arguments(command).end()
        self.is_silent = True

    def _go_interactive(self, command: BatchCommand) -> None:
        self.shelf.protect_pending()
        self.log.write(
            "Note: GOINTERACTIVE opens no window: tables cannot be looked at or changed by hand here. "
            "The batch is run to its end"
        )


def _written_in(commands: Sequence[BatchCommand]) -> set[int]:
    """The tables that are written before all is cleared."""
    ours = takewhile(lambda command: command.keyword is not Keyword.CLEAR, commands)
    return {write_line(command).table for command in ours if command.keyword is Keyword.WRITETABLE}


@contextmanager
def _at(command: BatchCommand) -> Iterator[None]:
    """Errors that know no place get that of the command."""
    try:
        yield
    except InputError as error:
        raise located(error, command) from None
    except CellveilError as error:
        if not hasattr(error, "__notes__"):
            error.add_note(f"{command.file}, line {command.line}")
        raise
