"""What may be said of an attacker: its kind, and the prior knowledge that this kind has.

An option that the kind does not have is refused, not ignored: whoever gives it wants another audit than the
one that would run. One list of faults serves the library, job files and the command line.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from numbers import Integral, Real
from typing import Literal, NamedTuple, get_args

from cellveil.errors import InputError, nearest_name

Kind = Literal["outsider", "integer", "insider", "pq"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTSIDERS = ("outsider", "integer")
LEVELS = ("unit", "holding")

ALL_OF_IT = 100.0
"""The q of the p% rule, where nothing is known beforehand but the sign."""


class AttackerFault(NamedTuple):
    """What is wrong with one option of an attacker."""

    option: str
    what: str
    remedy: str


def percent_fault(name: str, value: object) -> AttackerFault | None:
    """Why a value cannot be taken as per cent; values below 1 look like shares.

    Examples
    --------
    >>> percent_fault("p", 0.2).remedy
    'It is in per cent: write 20 for a share of 0.2.'
    >>> percent_fault("p", 20) is None
    True
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value) or value <= 0:
        return AttackerFault(name, f"{name} is not a number above 0", "Give per cent, for example 20.")
    if value < 1:
        remedy = f"It is in per cent: write {round(100 * float(value), 9):g} for a share of {value:g}."
        return AttackerFault(name, f"{name} = {value:g} looks like a share", remedy)
    return None


def attacker_faults(
    kind: str,
    *,
    p: object = None,
    q: object = ALL_OF_IT,
    level: str = "unit",
    coalition: object = 1,
    prior: object = None,
    exempt: object = (),
    exempt_reason: str = "",
) -> Iterator[AttackerFault]:
    """Everything that is wrong with an attacker, the worst first."""
    if not isinstance(kind, str) or kind not in KINDS:
        yield AttackerFault("kind", f"unknown attacker {kind!r}", nearest_name(str(kind), KINDS))
        return
    if level not in LEVELS:
        yield AttackerFault("level", f"unknown level {level!r}", nearest_name(str(level), LEVELS))
    if isinstance(coalition, bool) or not isinstance(coalition, Integral) or coalition < 1:
        yield AttackerFault(
            "coalition", "a coalition has at least one member", "Give a whole number, 1 or more."
        )
    if exempt_reason and not exempt:
        yield AttackerFault("exempt_reason", "no cells are exempt for this reason", "Name them: exempt.")
    if kind in OUTSIDERS:
        if exempt:
            yield AttackerFault("exempt", "cells are exempt from insiders only", "Leave exempt out.")
        if level != "unit":
            yield AttackerFault("level", f"the attacker {kind} contributes nothing", "Leave level out.")
        if coalition != 1:
            yield AttackerFault("coalition", f"the attacker {kind} is one alone", "Leave coalition out.")
        if prior is not None and (fault := percent_fault("prior", prior)):
            yield fault
    elif prior is not None:
        yield AttackerFault("prior", "prior knowledge is for outsiders", "Insiders have p and q.")
    yield from _pq_faults(kind, p, q)


def _pq_faults(kind: str, p: object, q: object) -> Iterator[AttackerFault]:
    if kind != "pq":
        if p is not None:
            yield AttackerFault("p", f"the attacker {kind} has no p", "Leave p out, or name the attacker pq.")
        if q != ALL_OF_IT:
            yield AttackerFault("q", f"the attacker {kind} has no q", "Leave q out, or name the attacker pq.")
        return
    if p is None:
        yield AttackerFault("kind", "the (p, q) insider needs p", "Give the p of the rule, for example 15.")
    found = [percent_fault(name, value) for name, value in (("p", p), ("q", q)) if value is not None]
    yield from (fault for fault in found if fault is not None)
    if p is not None and not any(found):
        if p > q:  # type: ignore[operator]
            yield AttackerFault("p", "p is above q", "Give 0 < p ≤ q ≤ 100; for the p% rule use q = 100.")
        if q > ALL_OF_IT:  # type: ignore[operator]
            yield AttackerFault("q", "q is above 100", "Give 0 < p ≤ q ≤ 100; for the p% rule use q = 100.")


def check_attacker(
    kind: str,
    p: object,
    q: object,
    level: str,
    coalition: object,
    prior: object = None,
    exempt: object = (),
    exempt_reason: str = "",
) -> None:
    """Refuse an attacker that means nothing, or another one than its options say.

    Raises
    ------
    InputError
        With the nearest known name or the remedy.
    """
    options = {"p": p, "q": q, "level": level, "coalition": coalition, "prior": prior, "exempt": exempt}
    options["exempt_reason"] = exempt_reason
    for fault in attacker_faults(kind, **options):  # type: ignore[arg-type]
        raise InputError(fault.what, remedy=fault.remedy)
