"""Where a protection level comes from: the formula of the sensitivity rule, or a share of the value.

A level says how far a cell must be able to move for somebody without a part in it who wants to know the
largest contribution. A contributor knows its own part as well; what must be kept from it follows from the
same rule with the contributor in the place of the second largest (see `cellveil.attackers.own_demands`). So
problems keep for every primary cell the formula of the rule that marked it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

ONE = Fraction(1)


@dataclass(frozen=True)
class LevelOrigin:
    """How a level was worked out.

    With x the largest contribution, z the sum of the next ones that count as known, and X the sum of all,
    the level is *target* · x + *known* · z − X. Without a target it is a share of the value.

    Parameters
    ----------
    target
        Factor of the largest contribution; None for a share of the value.
    known
        Factor of the contributions that the attacker is taken to know: its own part, and `others` more.
    others
        How many contributions besides its own the attacker is taken to know.
    level
        Whether the contributions are those of units or of holdings.
    lower, upper
        Factors by which the lower and the upper level were multiplied.

    Examples
    --------
    >>> LevelOrigin(Fraction(11, 10)).times(Fraction(2), ONE).lower
    Fraction(2, 1)
    """

    target: Fraction | None = None
    known: Fraction = ONE
    others: int = 0
    level: str = "unit"
    lower: Fraction = ONE
    upper: Fraction = ONE

    def times(self, lower: Fraction, upper: Fraction) -> LevelOrigin:
        """The origin of levels multiplied by these factors."""
        return replace(self, lower=self.lower * lower, upper=self.upper * upper)


SHARE = LevelOrigin()
"""Of levels that are a share of the value."""
