"""What a rule is, and what it says of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.errors import InputError
from cellveil.level_origin import SHARE, LevelOrigin
from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table

Level = Literal["unit", "holding"]
Name = TypeVar("Name")

LEVELS = ("unit", "holding")
DEFAULT_RANGE = 20
"""Protection level, in per cent of the value, where a rule itself implies none."""


@dataclass(frozen=True, repr=False, eq=False)
class Judgement:
    """What a rule says of every cell of a table.

    Parameters
    ----------
    unsafe
        Whether the cell may not be published.
    lpl, upl
        How far an attacker's bounds must stay from the value, below and above: scaled integers like the
        table's values; 0 where the cell is safe.
    reasons
        The rules that fired, in their own words, with the unsafe cells each of them marks.
    origins
        How the levels of these rules were worked out, with the unsafe cells of each.
    """

    unsafe: Bool
    lpl: Int
    upl: Int
    reasons: Mapping[str, Bool]
    origins: Mapping[LevelOrigin, Bool] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Judgement({int(self.unsafe.sum())} of {len(self.unsafe)} cells unsafe)"

    @classmethod
    def of(
        cls,
        text: str,
        unsafe: Bool,
        lpl: Int,
        upl: Int,
        origins: Mapping[LevelOrigin, Bool] | None = None,
    ) -> Judgement:
        """Build from the mask of the unsafe cells and the levels of these cells alone.

        Where no origin is given, the levels are shares of the values.
        """
        lower, upper = np.zeros(len(unsafe), dtype=np.int64), np.zeros(len(unsafe), dtype=np.int64)
        lower[unsafe], upper[unsafe] = lpl, upl
        origins = {SHARE: unsafe} if origins is None else origins
        return cls(unsafe, lower, upper, {text: unsafe} if unsafe.any() else {}, _joined([origins], unsafe))

    @classmethod
    def combine(cls, parts: Sequence[Judgement], unsafe: Bool) -> Judgement:
        """Take the largest levels and all the reasons of the parts, for the unsafe cells."""
        reasons = _joined([part.reasons for part in parts], unsafe)
        origins = _joined([part.origins for part in parts], unsafe)
        lpl = np.maximum.reduce([part.lpl for part in parts])
        upl = np.maximum.reduce([part.upl for part in parts])
        return cls(unsafe, np.where(unsafe, lpl, 0), np.where(unsafe, upl, 0), reasons, origins)

    def within(self, cells: Bool) -> Judgement:
        """Return the judgement with all other cells safe."""
        return Judgement.combine([self], self.unsafe & cells)


def _joined(parts: Sequence[Mapping[Name, Bool]], unsafe: Bool) -> dict[Name, Bool]:
    """The cells of each name over all parts, as far as they are unsafe; names without any are left out."""
    joined: dict[Name, Bool] = {}
    for part in parts:
        for name, cells in part.items():
            marked = (cells & unsafe) | joined.get(name, False)
            if marked.any():
                joined[name] = marked
    return joined


class Rule(ABC):
    """A sensitivity rule, or several combined. Rules are frozen; ``a | b`` and ``a & b`` combine them."""

    name: ClassVar[str]
    """How job files call the rule."""

    @property
    def depth(self) -> int:
        """How many of the largest contributions of each cell the rule has to see."""
        return 1

    @property
    def needs_all_cells(self) -> bool:
        """Whether the rule looks at empty cells, so that the table must have every combination of codes."""
        return False

    @property
    def is_about_counts(self) -> bool:
        """Whether the rule says that the values of the table are counts."""
        return False

    @property
    def looks_at_holdings(self) -> bool:
        """Whether holdings are the contributors that the rule protects."""
        return getattr(self, "level", "unit") == "holding"

    @property
    @abstractmethod
    def text(self) -> str:
        """The rule in words, as it stands in reports."""

    @abstractmethod
    def judge(self, table: Table) -> Judgement:
        """Say which cells are unsafe, how far they must be protected, and why."""

    def __or__(self, other: Rule) -> Rule:
        from cellveil.rules.combinations import AnyOf

        return AnyOf(self, other)

    def __and__(self, other: Rule) -> Rule:
        from cellveil.rules.combinations import AllOf

        return AllOf(self, other)


def options(rule: type[Any]) -> list[tuple[str, Any, str]]:
    """Name, default (`...` if it must be given) and help of every option of a class of rules."""

    def default(declared: Field[Any]) -> Any:
        return ... if declared.default is MISSING else declared.default

    return [(f.name, default(f), f.metadata["help"]) for f in fields(rule) if "help" in f.metadata]


def contributions(table: Table, level: Level, text: str) -> Contributions:
    """The contributions a rule looks at, or an error that says how to get them."""
    found = table.holdings if level == "holding" else table.units
    if found is None:
        raise InputError(
            f"the {text} needs the contributions at {level} level, and the table has none",
            remedy="Tabulate from microdata"
            + (
                " with a holding variable."
                if level == "holding"
                else ', name the columns of the largest ones (top = ["…"]), or give contributions.csv.'
            ),
        )
    if len(found) != table.num_cells:
        raise InputError(
            f"there are contributions for {len(found)} cells, but the table has {table.num_cells}",
            remedy="Take cells and contributions together.",
        )
    return found


def check_all_cells(table: Table, text: str) -> None:
    """Raise where empty cells are not stored, so that a rule about them could not fire."""
    if not table.has_all_cells:
        raise InputError(
            f"the {text} looks at empty cells, and the table does not have every combination of its codes",
            remedy="Tabulate with all_cells, list the empty cells of a ready-made table with value 0 and "
            "0 contributors, or leave empty cells out of the rule (zeros = false).",
        )


def check_depth(table: Table, found: Contributions, needed: int, text: str) -> None:
    """Raise where a cell has more contributors than are kept, and fewer are kept than the rule needs."""
    if found.depth >= needed:
        return
    cut = np.flatnonzero((found.count > found.depth) | (found.count < 0))
    if len(cut):
        raise InputError(
            f"the {text} needs the {needed} largest contributions, but only {found.depth} are kept "
            f"({len(cut)} cells have more)",
            cell=table.cell_name(int(cut[0])),
            remedy=f"Tabulate with a depth of at least {needed}.",
        )
