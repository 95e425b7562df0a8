"""Reports of attacks: what all judges of a suppressed table say alike, cell by cell."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum

import numpy as np

from cellveil.arrays import Bool, Int, freeze
from cellveil.attackers.prior_posterior import TotalVerdict
from cellveil.certificate import Certificate


class Ending(StrEnum):
    """Why an audit ended."""

    COMPLETE = "complete"
    SOLVE_UNCLEAR = "a solve gave no clear answer or time ran out"
    SOLVES_UNCLEAR = "some solves gave no clear answer or time ran out"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AttackReport:
    """The verdict of one attack on one public view.

    Parameters
    ----------
    view_hash
        Digest of the view that was judged; the verdict holds for no other.
    attacker
        Whose attack it was.
    cells
        Numbers of the cells judged.
    safe
        Per cell: whether it was shown protected.
    reason
        "complete", or what cut the audit short.
    certificate
        The exact deviations that show what is safe; None where the attack leaves none.
    totals
        Verdicts on sums of one contributor over several cells, where the attacker's criterion asks for them.
    """

    view_hash: str
    attacker: str
    cells: Int
    safe: Bool
    reason: str
    num_lps: int
    seconds: float
    certificate: Certificate | None = None
    totals: tuple[TotalVerdict, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, [f.name for f in fields(self) if isinstance(getattr(self, f.name), np.ndarray)])

    @property
    def is_complete(self) -> bool:
        """Whether nothing cut the audit short."""
        return self.reason == Ending.COMPLETE

    @property
    def is_safe(self) -> bool:
        """Whether every cell judged and every total was shown protected."""
        return bool(self.safe.all()) and self.open_totals == 0

    @property
    def unsafe_cells(self) -> Int:
        """Numbers of the cells not shown safe."""
        return self.cells[~self.safe]

    @property
    def exposed_cells(self) -> Int:
        """Those of them that were judged: somebody gets at them, as far as the programs tell."""
        return self.unsafe_cells

    @property
    def open_totals(self) -> int:
        """How many contributors have sums over several cells that were not shown protected."""
        return sum(not total.safe for total in self.totals)
