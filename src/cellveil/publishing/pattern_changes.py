"""What a suppression pattern, or a release, hides that the former one did not, cell by cell and by name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cellveil.errors import counted, name_some
from cellveil.tables.named_keys import CellKey, key_name

NAMED = 6
"""Cells and codes that a line names."""


@dataclass(frozen=True)
class PatternChanges:
    """The differences between two patterns.

    Parameters
    ----------
    same_hidden
        How many cells are hidden in both.
    newly_hidden
        Cells that were published before and are hidden now.
    no_longer_hidden
        Cells that were hidden before and are published now.
    new_cells, gone_cells
        How many cells only the later one, or only the former one has.
    came, went
        Codes that only the later one, or only the former one has, by dimension.
    """

    same_hidden: int
    newly_hidden: tuple[str, ...]
    no_longer_hidden: tuple[str, ...]
    new_cells: int
    gone_cells: int
    came: Mapping[str, tuple[str, ...]]
    went: Mapping[str, tuple[str, ...]]

    @classmethod
    def between(cls, former: Mapping[CellKey, bool], later: Mapping[CellKey, bool]) -> PatternChanges:
        """Compare; for each cell it is told whether it is hidden.

        Examples
        --------
        >>> north, south, west = (("", (("region", code),)) for code in ("N", "S", "W"))
        >>> changes = PatternChanges.between({north: True, south: False}, {north: False, west: True})
        >>> changes.no_longer_hidden, changes.came, changes.went
        (('(region N)',), {'region': ('W',)}, {'region': ('S',)})
        """
        both = [key for key in later if key in former]
        before, after = _codes(former), _codes(later)
        return cls(
            sum(former[key] and later[key] for key in both),
            tuple(key_name(key) for key in both if later[key] and not former[key]),
            tuple(key_name(key) for key in both if former[key] and not later[key]),
            len(later) - len(both),
            len(former) - len(both),
            _beyond(after, before),
            _beyond(before, after),
        )

    @property
    def are_none(self) -> bool:
        """Whether both have the same cells and hide the same ones."""
        return not (self.newly_hidden or self.no_longer_hidden or self.new_cells or self.gone_cells)

    def lines(self) -> list[str]:
        """The differences in words, a line for each kind."""
        if self.are_none:
            return [f"no difference: the same {_cells(self.same_hidden)} hidden"]
        lines = [f"hidden in both: {_cells(self.same_hidden)}"]
        for what, names in (
            ("newly hidden", self.newly_hidden),
            ("no longer hidden", self.no_longer_hidden),
        ):
            if names:
                lines.append(f"{what}: {_cells(len(names))}: {name_some(names, NAMED)}")
        for what, codes in (("codes that came", self.came), ("codes that went", self.went)):
            lines += [f"{what}: {name}: {name_some(found, NAMED)}" for name, found in codes.items()]
        if self.new_cells or self.gone_cells:
            lines.append(f"cells only now: {self.new_cells:,}; only before: {self.gone_cells:,}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON: names and counts only."""
        return {
            "same_hidden": self.same_hidden,
            "newly_hidden": list(self.newly_hidden),
            "no_longer_hidden": list(self.no_longer_hidden),
            "new_cells": self.new_cells,
            "gone_cells": self.gone_cells,
            "codes_that_came": {name: list(codes) for name, codes in self.came.items()},
            "codes_that_went": {name: list(codes) for name, codes in self.went.items()},
        }


def _codes(keys: Iterable[CellKey]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for _, codes in keys:
        for name, code in codes:
            found[name][code] = None
    return found


def _beyond(
    codes: Mapping[str, Mapping[str, None]], others: Mapping[str, Mapping[str, None]]
) -> dict[str, tuple[str, ...]]:
    """Codes that the others do not have, by dimension."""
    found = {
        name: tuple(code for code in own if code not in others.get(name, {})) for name, own in codes.items()
    }
    return {name: more for name, more in found.items() if more}


def _cells(number: int) -> str:
    return counted(number, "cell")
