"""A former release as an attacker finds it beside the new one."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.judge.published_table import PublishedTable
from cellveil.tables.named_keys import CellKey


@dataclass(frozen=True, repr=False, eq=False)
class FormerRelease:
    """What everybody can see of a former release.

    Parameters
    ----------
    name
        What it is called in verdicts.
    published
        Its cells and relations; None for an adjusted table, whose values are not the true ones.
    keys
        Its cells by name, those of `published.table`.
    """

    name: str
    published: PublishedTable | None
    keys: tuple[CellKey, ...] = ()

    def __repr__(self) -> str:
        return f"FormerRelease({self.name!r}, {len(self.keys)} cells)"
