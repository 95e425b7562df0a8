"""Who attacks, knowing what; and the same in words, for everybody who reads “safe”."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellveil.attackers.prior_knowledge import OUTSIDERS, Kind, check_attacker
from cellveil.certificate.named_attacker import NUMBERS, attacker_words, listed_in_words
from cellveil.errors import InputError, nearest_name
from cellveil.rules.short_form import read_short_form
from cellveil.tables.cells import CellRef

__all__ = ["OUTSIDERS", "Attacker", "Kind", "as_attackers", "in_words", "not_tested"]


@dataclass(frozen=True)
class Attacker:
    """Whose attack to try.

    Parameters
    ----------
    kind
        An outsider; one who knows that values are whole numbers (integer); contributors who know their own
        part (insider); or contributors who also know the others' to within q % (pq).
    p, q
        Of the pq attacker, in per cent.
    level
        Whether units or holdings are the insiders.
    coalition
        How many insiders put their knowledge together.
    prior
        An outsider who knows every value to within so many per cent; None for one who does not.
    exempt
        Of insiders: cells that need not be protected from them, say because nothing could; each a number, a
        list of codes, or codes by dimension. Whoever reads the verdict is told how many.
    exempt_reason
        Why they are exempt; the report records it.

    Raises
    ------
    InputError
        When a name is not known, an option is none of this kind's, or what is in per cent looks like a share.

    Examples
    --------
    >>> Attacker("insider", coalition=2).words
    'any two contributors together'
    """

    kind: Kind = "outsider"
    p: float | None = None
    q: float = 100.0
    level: str = "unit"
    coalition: int = 1
    prior: float | None = None
    exempt: Sequence[CellRef] = ()
    exempt_reason: str = ""

    def __post_init__(self) -> None:
        known = (self.p, self.q, self.level, self.coalition, self.prior)
        check_attacker(self.kind, *known, self.exempt, self.exempt_reason)
        object.__setattr__(self, "exempt", tuple(self.exempt))

    @property
    def is_outsider(self) -> bool:
        """Whether it contributes nothing, as far as it is known."""
        return self.kind in OUTSIDERS

    @property
    def needs_all_parts(self) -> bool:
        """Whether the parts of those who alone make up a cell are not enough to test it."""
        return self.kind == "pq" or self.coalition > 1

    @property
    def is_plain_outsider(self) -> bool:
        """Whether it is the attacker of the standard criterion: nothing but what everybody knows."""
        return self.kind == "outsider" and self.prior is None

    @property
    def words(self) -> str:
        """Against whom a verdict on this attack holds."""
        known = (self.p, self.q, self.prior)
        return attacker_words(self.kind, self.level, self.coalition, *known, len(self.exempt))


def as_attackers(given: Any) -> tuple[Attacker, ...]:
    """Attackers as they are, by name, in short form, or as their options; one, or several.

    Examples
    --------
    >>> as_attackers(["integer", "insider:coalition=2"])[1].words
    'any two contributors together'
    """
    if isinstance(given, Attacker):
        return (given,)
    if isinstance(given, str):
        return (Attacker(given.partition(":")[0].strip(), **read_short_form(given, [])),)  # type: ignore[arg-type]
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in Attacker.__dataclass_fields__]
        if unknown:
            known = list(Attacker.__dataclass_fields__)
            raise InputError(
                f"an attacker has no option {unknown[0]!r}", remedy=nearest_name(str(unknown[0]), known)
            )
        return (Attacker(**given),)
    if isinstance(given, Sequence):
        return tuple(attacker for one in given for attacker in as_attackers(one))
    raise InputError(
        f"an attacker is of type {type(given).__name__}",
        remedy='Give, say, Attacker("insider"), or "insider" in short.',
    )


def in_words(attackers: Sequence[Attacker]) -> str:
    """All of them, in one phrase.

    Examples
    --------
    >>> in_words([Attacker(), Attacker("integer"), Attacker("insider")])
    'outsiders, outsiders who know that values are whole numbers and every single contributor'
    """
    return listed_in_words([attacker.words for attacker in attackers])


def not_tested(attackers: Sequence[Attacker]) -> str:
    """What a verdict on these attackers says nothing about, in words.

    Examples
    --------
    >>> not_tested([Attacker()])
    'contributors who know their own part, alone or together'
    """
    insiders = [attacker for attacker in attackers if not attacker.is_outsider]
    left = [] if any(attacker.is_plain_outsider for attacker in attackers) else ["outsiders"]
    if not insiders:
        left.append("contributors who know their own part, alone or together")
    else:
        most = max(attacker.coalition for attacker in insiders)
        left.append(f"more than {NUMBERS.get(most, most)} contributors together" if most > 1 else
                    "several contributors together")  # fmt: skip
    return " and ".join(left)
