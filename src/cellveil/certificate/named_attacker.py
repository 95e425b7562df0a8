"""The attackers that a certificate names: what the header says of each, and the same in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

KINDS = ("outsider", "integer", "insider", "pq")
LEVELS = ("unit", "holding")
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}

MOST_MEMBERS = 1000
"""No coalition is larger: a header that says so is damaged."""


@dataclass(frozen=True)
class NamedAttacker:
    """One attacker of a certificate.

    Parameters
    ----------
    kind
        outsider; integer (an outsider who knows the values to be whole); insider (contributors who know their
        own parts); pq (contributors who also know the others' to within q %, and must not learn one to within
        p %).
    level
        Whether units or holdings are the insiders.
    coalition
        How many of them put their knowledge together.
    p, q
        Of the pq attacker, in per cent.
    prior
        Of an outsider: knows every value to within so many per cent; None for one who does not.
    exempt
        Numbers of the cells that need not be protected from these insiders.

    Examples
    --------
    >>> NamedAttacker("insider", coalition=2).words
    'any two contributors together'
    """

    kind: str = "outsider"
    level: str = "unit"
    coalition: int = 1
    p: float | None = None
    q: float = 100.0
    prior: float | None = None
    exempt: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        shares = [share for share in (self.p, self.q, self.prior) if share is not None]
        if (
            self.kind not in KINDS
            or self.level not in LEVELS
            or type(self.coalition) is not int
            or not 1 <= self.coalition <= MOST_MEMBERS
            or not all(type(share) in (int, float) and 0 < share < 1e6 for share in shares)
            or (self.kind == "pq") != (self.p is not None)
            or (self.p is not None and not self.p <= self.q <= 100)
            or (self.is_outsider and (self.exempt or self.coalition > 1))
        ):
            raise ValueError("not an attacker")

    @property
    def is_outsider(self) -> bool:
        """Whether it contributes nothing, as far as it is known."""
        return self.kind in ("outsider", "integer")

    @property
    def is_plain_outsider(self) -> bool:
        """Whether it is the attacker of the standard criterion."""
        return self.kind == "outsider" and self.prior is None

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """P and q as exact shares, by their decimals."""
        return Fraction(str(self.p or 0)) / 100, Fraction(str(self.q)) / 100

    def header(self) -> dict[str, Any]:
        """What the header says; of exempt cells how many there are, as they stand behind it."""
        return {**vars(self), "exempt": len(self.exempt)}

    @property
    def words(self) -> str:
        """Whom a proof about this attacker is about."""
        known = (self.p, self.q, self.prior)
        return attacker_words(self.kind, self.level, self.coalition, *known, len(self.exempt))


PLAIN_OUTSIDER = NamedAttacker()


def attacker_words(
    kind: str, level: str, coalition: int, p: float | None, q: float, prior: float | None, exempt: int
) -> str:
    """Whom a verdict or a proof about an attacker is about; `exempt` is the number of cells not asked for."""
    if kind in ("outsider", "integer"):
        known = ["that values are whole numbers"] if kind == "integer" else []
        known += [f"every value to within {prior:g} %"] if prior is not None else []
        return "outsiders" + (f" who know {' and '.join(known)}" if known else "")
    who = "contributor" if level == "unit" else "holding"
    if coalition == 1:
        who = f"every single {who}"
    else:
        who = f"any {NUMBERS.get(coalition, coalition)} {who}s together"
    if exempt:
        who += f" (but for {'1 cell that is' if exempt == 1 else f'{exempt} cells that are'} exempt)"
    if kind == "insider":
        return who
    return f"{who} knowing the others to within {q:g} % (p = {p:g} %)"


def listed_in_words(words: Sequence[str]) -> str:
    """Several attackers, in one phrase.

    Examples
    --------
    >>> listed_in_words([NamedAttacker().words, NamedAttacker("insider").words])
    'outsiders and every single contributor'
    """
    *first, last = dict.fromkeys(words) or ["nobody"]
    return f"{', '.join(first)} and {last}" if first else last


def attackers_as_bytes(attackers: Sequence[NamedAttacker]) -> bytes:
    """Everything that is said of them, exempt cells included, for a digest."""
    return json.dumps([vars(attacker) for attacker in attackers], sort_keys=True).encode()
