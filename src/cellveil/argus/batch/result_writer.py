"""Result files of a batch: public ones only of tables that were shown safe; reports apart from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.batch.batch_file import BatchCommand
from cellveil.argus.batch.protecting import ProtectedTable
from cellveil.argus.batch.write_line import WriteLine
from cellveil.argus.intermediate import write_intermediate
from cellveil.argus.result_files import ResultKind, is_public, write_result
from cellveil.errors import InputError, NotSafeError
from cellveil.files import write_text
from cellveil.judge import audit
from cellveil.pattern import Pattern

REPORT = ".html"
INTERNAL = "The file is internal: it shows values of hidden cells, or which cells are unsafe"
UNPROTECTED = "NOT SAFE: only the unsafe cells are hidden, no SUPPRESS protects them"


def report_path(folder: Path, target: Path, results: Sequence[Path]) -> Path:
    """Where the report on a result stands: under its name, numbered where others have it in other folders.

    Parameters
    ----------
    results
        All results so far.

    Examples
    --------
    >>> from pathlib import PurePosixPath as File
    >>> results = [File("a/t.csv"), File("b/t.csv"), File("b/u.csv")]
    >>> [report_path(File("internal"), result, results).name for result in results]
    ['t.csv.html', 't.csv.2.html', 'u.csv.html']
    """
    names = [
        one for one in dict.fromkeys([*results, target]) if one.name.casefold() == target.name.casefold()
    ]
    place = names.index(target)
    return folder / f"{target.name}{f'.{place + 1}' if place else ''}{REPORT}"


class ResultWriter:
    """Writes one table, protected or not.

    Parameters
    ----------
    protected
        What the table is published as; None where nothing asked for its protection.
    inputs
        Files that no result may overwrite.
    is_safe_as_it_is
        Of a table without protection: whether hiding its unsafe cells is enough, mostly where it has none.
    """

    def __init__(
        self,
        table: ArgusTable,
        protected: ProtectedTable | None,
        inputs: set[Path],
        is_safe_as_it_is: Callable[[], bool],
    ) -> None:
        self.table, self.protected, self.inputs = table, protected, inputs
        self._is_safe_as_it_is = is_safe_as_it_is

    def write(self, line: WriteLine, target: Path, command: BatchCommand) -> list[str]:
        """Write the file, and return what the log tells of it.

        Raises
        ------
        NotSafeError
            When a public file would show a table that was not shown safe.
        """
        beside = [target.with_suffix(".rda")] if line.kind is ResultKind.INTERMEDIATE else []
        for path in (target, *beside):
            if path.resolve() in self.inputs:
                raise command.fault(f"{path.name} would overwrite data", "Name another file.")
        public = is_public(line.kind, line.options)
        told = [] if public else [INTERNAL]
        if self.protected is None and not self._is_safe_as_it_is():
            if public:
                raise NotSafeError(f"{UNPROTECTED}, so {target.name} was not written. Write SUPPRESS before.")
            told.append(UNPROTECTED)
        return [*told, *self._write(line, target)]

    def report(self, path: Path) -> list[str]:
        """Write the report on a table with hidden cells into a folder of its own, for its owner only."""
        if self.protected is None or self.protected.report is None:
            return []
        folder = path.parent
        try:
            folder.mkdir(0o700, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"the folder for internal files cannot be made ({error.strerror})",
                file=folder,
                remedy="Put the batch file into a folder that can be written to.",
            ) from None
        write_text(path, self.protected.report.to_html())
        return [f"Internal report: {path}"]

    def _write(self, line: WriteLine, target: Path) -> tuple[str, ...]:
        pattern = None if self.protected is None else self.protected.pattern
        values = None if self.protected is None else self.protected.adjusted
        options = line.options
        if line.kind is ResultKind.INTERMEDIATE and options.audit and pattern is not None:
            return write_intermediate(
                self.table, target, pattern=pattern, drop_empty=options.drop_empty, quotes=options.quotes,
                simple=options.status_only, holding=options.holding, audit=self._intervals(pattern),
            )  # fmt: skip
        return write_result(self.table, line.kind, target, pattern=pattern, adjusted=values, options=options)

    def _intervals(self, pattern: Pattern) -> dict[int, tuple[float, float]]:
        """Feasibility intervals of the unsafe cells, of this table alone."""
        judged = audit(self.table.problem, pattern, attackers="outsider").with_exact_intervals().outsider
        assert judged is not None, "outsiders were asked"
        unit = 10.0**self.table.problem.table.decimals
        ends = zip(judged.cells.tolist(), judged.lower / unit, judged.upper / unit, strict=True)
        return {cell: (float(lower), float(upper)) for cell, lower, upper in ends}
