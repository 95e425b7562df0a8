"""Everything cellveil raises on purpose.

::

    CellveilError                exit code 2
    ├── InputError               a file, frame or argument is wrong: says where, what, and the remedy
    ├── MissingExtraError        an optional package is not installed
    ├── NotSafeError             1: the audit did not pass, so nothing is released
    ├── SolverError              1: a solver gave no usable answer; whatever it was asked is not shown safe
    ├── WorkerError                1: a task on another process or machine came to no result
    └── InfeasibleError          3: no pattern can protect some cells; names them
        └── AdjustmentError      3: no adjustment keeps everything that was asked; names the conflict

Messages name files, lines and cells. They never carry a confidential value. Errors go from one process to
another with all they say and hold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

MAX_NAMED = 5
"""How many cells a message names before it goes on with “and 12 more”."""


class CellveilError(Exception):
    """Base of all errors raised on purpose; ``exit_code`` is that of the command line."""

    exit_code: ClassVar[int] = 2

    def __reduce__(self) -> tuple[Any, ...]:
        """How it crosses to another process: as it is, not made anew from its message."""
        return _as_it_was, (type(self), self.args, self.__dict__)


def _as_it_was(kind: type[CellveilError], args: tuple[Any, ...], held: dict[str, Any]) -> CellveilError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(held)
    return error


class InputError(CellveilError):
    """Something the user gave is wrong.

    Parameters
    ----------
    what
        What is wrong, without a confidential value.
    file, line, cell
        Where, as far as known.
    remedy
        What to do about it.

    Examples
    --------
    >>> print(InputError("the value is not a number", file="t.csv", line=7, cell="(A, N)", remedy="Write 0."))
    t.csv, line 7, cell (A, N): the value is not a number. Write 0.
    """

    def __init__(
        self,
        what: str,
        *,
        file: object = None,
        line: int | None = None,
        cell: str | None = None,
        remedy: str = "",
    ) -> None:
        self.what, self.remedy, self.line, self.cell = what, remedy, line, cell
        self.file = None if file is None else str(file)
        super().__init__(what)

    def __str__(self) -> str:
        place = [
            *([self.file] if self.file else []),
            *([f"line {self.line}"] if self.line is not None else []),
            *([f"cell {self.cell}"] if self.cell else []),
        ]
        head = f"{', '.join(place)}: {self.what}" if place else self.what
        return f"{head.rstrip('.')}. {self.remedy}".rstrip()

    def located(self, *, file: object = None, line: int | None = None, cell: str | None = None) -> InputError:
        """Return a copy with the places filled in that are not known yet."""
        return InputError(
            self.what,
            file=self.file or file,
            line=self.line if self.line is not None else line,
            cell=self.cell or cell,
            remedy=self.remedy,
        )


class MissingExtraError(CellveilError):
    """An optional package is needed for what was asked."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"{purpose} needs the package {package}. Install it with: pip install 'cellveil[{extra}]'"
        )


class NotSafeError(CellveilError):
    """The audit did not show the table safe."""

    exit_code = 1


class SolverError(CellveilError):
    """A solver gave no usable answer; fail closed."""

    exit_code = 1


class WorkerError(CellveilError):
    """A task that ran elsewhere came to no result: a fault there, or workers that were lost."""

    exit_code = 1


class InfeasibleError(CellveilError):
    """Some cells cannot be protected whatever is hidden.

    Parameters
    ----------
    cells
        Names of the cells that cannot be protected.
    conflicts
        Names of the frozen or zero cells that stand in the way.
    attacker
        Who knows too much, where it is not the outsider.
    way_out
        What would help, as a sentence.
    details
        Conflicts and the cheapest relaxation as data, where they were looked for; names and shares only.
    """

    exit_code = 3
    report: Any = None
    """The report on it, where a job has made one."""

    def __init__(
        self,
        cells: Sequence[str],
        conflicts: Sequence[str] = (),
        attacker: str = "",
        *,
        way_out: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.cells, self.conflicts, self.attacker = tuple(cells), tuple(conflicts), attacker
        self.details: Mapping[str, Any] = dict(details or {})
        against = f" against this attacker: {attacker}" if attacker else ""
        message = (
            f"no pattern can protect {name_some(self.cells)} to the required levels{against}, "
            "even with every other cell hidden."
        )
        if self.conflicts:
            message += (
                f" Cells that must be published or are zero stand in the way: {name_some(self.conflicts)}."
            )
        remedy = way_out or "Free some of the frozen cells, lower the levels, or recode."
        super().__init__(f"{message} {remedy}")


class AdjustmentError(InfeasibleError):
    """No adjustment keeps bounds, limits and levels.

    Parameters
    ----------
    what
        What was found, without a confidential value.
    cells
        Names of the sensitive cells, or of those whose limits are in the way.
    relations
        The relations that conflict, in words.
    way_out
        What would help, as a sentence.
    details
        The same as data; names and shares only.
    """

    def __init__(
        self,
        what: str,
        *,
        cells: Sequence[str] = (),
        relations: Sequence[str] = (),
        way_out: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        self.cells, self.conflicts, self.attacker = tuple(cells), tuple(relations), ""
        self.details = dict(details or {})
        message = f"no adjustment keeps everything: {what}"
        message += f" ({name_some(self.cells)})." if self.cells else "."
        if self.conflicts:
            message += f" These relations conflict: {name_some(self.conflicts, 3)}."
        CellveilError.__init__(self, f"{message} {way_out}".rstrip())


def check_kind(given: object, kind: type | tuple[type, ...], what: str, remedy: str) -> None:
    """Refuse an argument of another kind; the message names its type and never what it holds.

    Examples
    --------
    >>> check_kind(3, str, "the method", 'Give its name: "auto".')
    Traceback (most recent call last):
    ...
    cellveil.errors.InputError: the method is of type int. Give its name: "auto".
    """
    if not isinstance(given, kind):
        raise InputError(f"{what} is of type {type(given).__name__}", remedy=remedy)


def name_some(names: Sequence[str], limit: int = MAX_NAMED) -> str:
    """Join names for a message, cut after `limit`; it counts the others, so give it all names there are.

    Examples
    --------
    >>> name_some(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit:,} more"


def counted(number: int, one: str, many: str = "") -> str:
    """A number of things in words: one of them, or many.

    Parameters
    ----------
    many
        By default `one` with an s.

    Examples
    --------
    >>> counted(1, "cell"), counted(1200, "cell"), counted(1, "cell is", "cells are")
    ('1 cell', '1,200 cells', '1 cell is')
    """
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def nearest_column(name: str, found: Sequence[str]) -> str:
    """Return “did you mean …?” for a misspelt column, and never another name that was found.

    A file without a header line has its first record in the header's place: what was found may be data. So a
    name is shown only where all of them look like names and this one nearly is what was asked for.

    Examples
    --------
    >>> nearest_column("turnovr", ["region", "turnover"])
    "Did you mean 'turnover'?"
    >>> nearest_column("turnover", ["F000", "N", "777001"])
    'It has 3 columns; check that its first line is a header.'
    """
    from difflib import get_close_matches

    names = [str(each) for each in found]
    if not any(may_be_amount(each) for each in names):
        for close in get_close_matches(name, names, n=1):
            if {letter for letter in close if letter.isdigit()} <= set(name):
                return f"Did you mean {close!r}?"
    return f"It has {len(names)} columns; check that its first line is a header."


def may_be_amount(text: str) -> bool:
    """Whether a text is empty or could be a number, in whatever way it is written.

    Examples
    --------
    >>> may_be_amount("777001"), may_be_amount("1.234,50 €"), may_be_amount("size 1")
    (True, True, False)
    """
    return not any(letter.isalpha() for letter in text.lower().replace("e", "", 1))


def nearest_name(name: str, known: Sequence[str]) -> str:
    """Return “did you mean …?” for a misspelt name, or the known names.

    Examples
    --------
    >>> nearest_name("treshold", ["threshold", "dominance"])
    "Did you mean 'threshold'?"
    >>> nearest_name("p", ["pq", "p%"])
    "Did you mean 'p%'?"
    """
    from difflib import get_close_matches

    same = [each for each in known if _letters(each) == _letters(name)]
    close = same or get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {name_some(sorted(known), 12)}."


def _letters(name: str) -> str:
    """A name without signs and capitals: p and p%, time-limit and time_limit are one."""
    return "".join(filter(str.isalnum, name)).casefold()
