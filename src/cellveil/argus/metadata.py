"""What is known of the variables of microdata or of a table: roles, codes, hierarchies, decimals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path, PureWindowsPath

from cellveil.errors import InputError, nearest_name
from cellveil.tables.hierarchy import TOTAL
from cellveil.tables.scaled import MAX_DECIMALS

MOST_MISSING = 2
MOST_LEVELS = 10
MOST_DISTANCES = 5
MOST_DECIMALS = 15
"""Of results; values have fewer (`MAX_DECIMALS`), and are filled up with zeros."""


class DataKind(Enum):
    """What the data file holds."""

    MICRODATA = "microdata"
    TABLE = "table"


class VariableRole(Enum):
    """What a variable is for; the value is its keyword in a metadata file."""

    SPANNING = "<RECODEABLE>"
    RESPONSE = "<NUMERIC>"
    SHADOW = "<SHADOW>"
    COST = "<COSTVAR>"
    LOWER_LEVEL = "<LOWERPL>"
    UPPER_LEVEL = "<UPPERPL>"
    FREQUENCY = "<FREQUENCY>"
    TOP = "<MAXSCORE>"
    STATUS = "<STATUS>"
    WEIGHT = "<WEIGHT>"
    HOLDING = "<HOLDING>"
    REQUEST = "<REQUEST>"
    RECORD_KEY = "<RECORDKEY>"


ONCE = (
    VariableRole.SHADOW,
    VariableRole.COST,
    VariableRole.LOWER_LEVEL,
    VariableRole.UPPER_LEVEL,
    VariableRole.FREQUENCY,
    VariableRole.STATUS,
)
"""Roles that a table has one variable of at most."""

ONCE_IN_RECORDS = (VariableRole.WEIGHT, VariableRole.HOLDING, VariableRole.REQUEST, VariableRole.RECORD_KEY)
"""Roles that microdata have one variable of at most."""


@dataclass(frozen=True)
class ArgusVariable:
    """One variable of a data file.

    Parameters
    ----------
    name
        Its name; capitals do not count where it is looked up.
    roles
        What it is for; a variable can be spanning and response at once.
    start, length
        First column, counted from 1, and width; a table and a file with separators have no start, a table no
        length.
    missing
        Up to two codes that stand for “missing”; they are categories of their own, below the total.
    total_code
        The code of the total.
    code_list
        File with the labels of the codes.
    levels
        Widths of the digits of each level, where codes are hierarchical by their digits.
    hierarchy_file, lead
        File of an indented hierarchy, and what stands before a code once per level.
    distance
        Distance costs.
    decimals
        Of the values in results.
    request_codes
        Codes of those who asked for protection.
    truncable
        A mark that other programs use.
    further
        Options of other methods (cell keys), kept as they are: keyword and arguments.
    """

    name: str
    roles: frozenset[VariableRole] = frozenset()
    start: int | None = None
    length: int | None = None
    missing: tuple[str, ...] = ()
    total_code: str = TOTAL
    code_list: str | None = None
    levels: tuple[int, ...] = ()
    hierarchy_file: str | None = None
    lead: str = "."
    distance: tuple[int, ...] = ()
    decimals: int = 0
    request_codes: tuple[str, ...] = ()
    truncable: bool = False
    further: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        for what, remedy in self._faults():
            raise InputError(f"variable {self.name!r}: {what}", remedy=remedy)

    def is_(self, role: VariableRole) -> bool:
        """Whether it has the role."""
        return role in self.roles

    @property
    def is_hierarchical(self) -> bool:
        """Whether its codes form a tree of more than one level."""
        return bool(self.levels) or self.hierarchy_file is not None

    @property
    def value_decimals(self) -> int:
        """Decimals that values are stored with: those of results, unless these are too many."""
        return self.decimals if self.decimals <= MAX_DECIMALS else 0

    def padded(self, code: str) -> str:
        """The code, blanks before it up to the width of the variable."""
        return code.strip().rjust(self.length or 0)

    def _faults(self) -> Iterator[tuple[str, str]]:
        if not self.name or any(letter in self.name for letter in ' \t"<>,|()'):
            yield 'a name is empty or holds blanks or one of " < > , | ( )', "Rename it."
        for what, number in (("start", self.start), ("length", self.length)):
            if number is not None and number < 1:
                yield f"its {what} is below 1", "Columns are counted from 1."
        if len(self.missing) > MOST_MISSING:
            yield f"it has {len(self.missing)} missing codes", f"At most {MOST_MISSING} are possible."
        if any(not code.strip() for code in self.missing):
            yield "a missing code is empty", "Leave it out."
        if self.length and any(len(code.strip()) > self.length for code in self.missing):
            yield "a missing code is longer than the variable", "Correct the code or the length."
        stripped = [code.strip() for code in self.missing]
        if len(set(stripped)) < len(stripped) or self.total_code.strip() in stripped:
            yield "a missing code is given twice, or is the code of the total", "Use another code."
        if not self.total_code.strip():
            yield "the code of the total is empty", "Write <TOTCODE> and a code, or leave it out."
        if self.levels and self.hierarchy_file is not None:
            yield "it has both <HIERLEVELS> and <HIERCODELIST>", "Keep one of the two."
        if any(width < 0 for width in self.levels) or (self.levels and not sum(self.levels)):
            yield "a width in <HIERLEVELS> is negative, or all are 0", "Give the digits of each level."
        if len(self.levels) > MOST_LEVELS:
            yield f"it has {len(self.levels)} levels", f"At most {MOST_LEVELS} are possible."
        if self.levels and self.length and sum(self.levels) != self.length:
            yield "the widths in <HIERLEVELS> do not sum to its length", "Correct the widths or the length."
        if not self.lead:
            yield "<HIERLEADSTRING> is empty", "Use '@' or '.'."
        if len(self.distance) > MOST_DISTANCES:
            yield f"<DISTANCE> has {len(self.distance)} numbers", f"At most {MOST_DISTANCES} are possible."
        if not 0 <= self.decimals <= MOST_DECIMALS:
            yield f"<DECIMALS> is not in 0 to {MOST_DECIMALS}", "Give those that values have."
        if self.is_(VariableRole.REQUEST) and not 1 <= len(self.request_codes) <= 2:
            yield "<REQUEST> needs one or two codes", "Write the codes of those who asked for protection."


@dataclass(frozen=True)
class Metadata:
    """The variables of a data file, in its order.

    Parameters
    ----------
    kind
        Whether the data are records or cells.
    variables
        All of them.
    separator
        The character between fields; None where they stand in fixed columns.
    safe, unsafe, protected
        How statuses are written in a table.
    file
        Where it was read from.
    notes
        What was found odd, but not wrong.
    """

    kind: DataKind
    variables: tuple[ArgusVariable, ...]
    separator: str | None = None
    safe: str = "S"
    unsafe: str = "U"
    protected: str = "P"
    file: str | None = field(default=None, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        for what, remedy in self._faults():
            raise InputError(what, file=self.file, remedy=remedy)

    def variable(self, name: str) -> ArgusVariable:
        """A variable by its name, whose capitals do not count."""
        for variable in self.variables:
            if variable.name.casefold() == name.casefold():
                return variable
        names = [variable.name for variable in self.variables]
        raise InputError(f"there is no variable {name!r}", file=self.file, remedy=nearest_name(name, names))

    def having(self, role: VariableRole) -> tuple[ArgusVariable, ...]:
        """All variables with a role, in order."""
        return tuple(variable for variable in self.variables if variable.is_(role))

    def only(self, role: VariableRole) -> ArgusVariable | None:
        """The variable with a role, or None."""
        return next(iter(self.having(role)), None)

    def replace(self, **changes: object) -> Metadata:
        """Return a copy with other fields."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def _faults(self) -> Iterator[tuple[str, str]]:
        names = [variable.name.casefold() for variable in self.variables]
        twice = [name for name in names if names.count(name) > 1]
        if not names:
            yield "there are no variables", "Describe each variable of the data file."
        if twice:
            yield f"the variable {twice[0]!r} occurs twice", "Give each variable its own name."
        if not self.having(VariableRole.SPANNING):
            yield "no variable is spanning", "Write <RECODEABLE> below the variables that span the table."
        yield from self._faults_of_table() if self.kind is DataKind.TABLE else self._faults_of_records()

    def _faults_of_table(self) -> Iterator[tuple[str, str]]:
        for role in ONCE:
            if len(self.having(role)) > 1:
                yield f"two variables are {role.value}", "A table has one of them at most."
        if not self.having(VariableRole.RESPONSE) and not self.having(VariableRole.FREQUENCY):
            yield "there is no response and no frequency", "Write <NUMERIC> below the values."
        if len({self.safe.upper(), self.unsafe.upper(), self.protected.upper()}) < 3:
            yield "two of <SAFE>, <UNSAFE> and <PROTECT> are the same", "Use three different codes."
        if self.separator is None or len(self.separator) != 1 or self.separator in ' "':
            yield "the separator is not one character", 'Write for example <SEPARATOR> ";".'

    def _faults_of_records(self) -> Iterator[tuple[str, str]]:
        for role in ONCE_IN_RECORDS:
            if len(self.having(role)) > 1:
                yield f"two variables are {role.value}", "Microdata have one of them at most."
        if self.separator is not None and (len(self.separator) != 1 or self.separator in ' "'):
            yield "the separator is not one character", 'Write for example <SEPARATOR> ";".'
        for variable in self.variables:
            if variable.length is None:
                yield f"variable {variable.name!r} has no length", "Write its length behind its name."
            if (variable.start is None) == (self.separator is None):
                yield (
                    f"variable {variable.name!r} has {'no' if variable.start is None else 'a'} first column",
                    "Fixed columns need one, fields between separators have none.",
                )


def find_file(name: str, folder: Path) -> Path:
    """A file that metadata name: as given if it is there, else by its last part in the folder of the data.

    Names may have been written under another operating system, and capitals need not be right.
    """
    given = Path(name)
    for path in (given if given.is_absolute() else folder / given, folder / PureWindowsPath(name).name):
        if path.is_file():
            return path
    last = PureWindowsPath(name).name.casefold()
    alike = [path for path in sorted(folder.glob("*")) if path.name.casefold() == last]
    return alike[0] if alike else folder / PureWindowsPath(name).name
