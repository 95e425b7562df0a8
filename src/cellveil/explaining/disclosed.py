"""Cells that publishing another one would disclose, and to which attacker, as an explanation names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellveil.explaining.amounts import amount_text, end_text
from cellveil.explaining.openings import InsiderOpening, Opening, Openings
from cellveil.tables.table import Table


@dataclass(frozen=True, repr=False)
class Disclosed:
    """A cell that publishing another one would open.

    Parameters
    ----------
    against
        To whom: outsiders, every single contributor, …
    who, share
        Of contributors: one, or a coalition, that would not be kept off; and how far the cell could still
        move against them, of what is needed. Empty for outsiders.
    lower, upper, required
        Of outsiders: the interval that would be left, and what is required. Empty for contributors.
    is_certain
        Otherwise the judge had no time for a verdict: it is not shown that the cell stays protected.
    """

    cell: str
    against: str
    who: str = ""
    share: str = ""
    lower: str = ""
    upper: str = ""
    required: str = ""
    tells_value: bool = False
    is_certain: bool = True

    def __str__(self) -> str:
        if not self.is_certain:
            told = "not shown to be protected in the time given"
        elif self.who:
            told = f"not kept off: {self.who}; it can move by {self.share} of what is needed"
        elif self.tells_value:
            told = f"its value, {self.lower}"
        else:
            told = f"between {self.lower} and {self.upper}"
        return f"{self.cell}: {told}" + (f"; required: {self.required}" if self.required else "")


def disclosed(table: Table, found: Sequence[Openings]) -> tuple[Disclosed, ...]:
    """All that was examined, attacker by attacker."""
    return tuple(_named(table, one.attacker.words, each) for one in found for each in one.examined)


def _named(table: Table, against: str, found: Opening | InsiderOpening) -> Disclosed:
    cell, decimals = table.cell_name(found.cell), table.decimals
    if isinstance(found, InsiderOpening):
        share = f"{100 * found.reach:.0f} %"
        return Disclosed(cell, against, who=found.who, share=share, is_certain=found.is_certain)
    low, high = (amount_text(end, decimals) for end in (found.required_lower, found.required_upper))
    return Disclosed(
        cell,
        against,
        lower=end_text(found.lower, decimals),
        upper=end_text(found.upper, decimals),
        required=f"{low} to {high}",
        tells_value=found.tells_value,
        is_certain=found.is_certain,
    )
