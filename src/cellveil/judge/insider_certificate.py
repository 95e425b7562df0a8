"""The certificate against insiders, made of the judge's claims."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.families import Claims
from cellveil.certificate.asked_movements import asked_movements
from cellveil.certificate.certificate import Certificate, ClaimList, pattern_hash
from cellveil.certificate.known_parts import contributions_digest
from cellveil.certificate.named_attacker import NamedAttacker
from cellveil.deviations.witness import Witnesses
from cellveil.errors import InputError
from cellveil.problem import Problem
from cellveil.tables.cells import cell_numbers


def named(problem: Problem, attacker: Attacker) -> NamedAttacker:
    """The attacker as certificates name it: exempt cells by number."""
    return NamedAttacker(
        attacker.kind,
        attacker.level,
        attacker.coalition,
        None if attacker.p is None else float(attacker.p),
        float(attacker.q),
        None if attacker.prior is None else float(attacker.prior),
        tuple(np.unique(cell_numbers(problem.table, attacker.exempt)).tolist()),
    )


def insider_certificate(
    problem: Problem, hidden: Bool, attacker: Attacker, claims: Claims
) -> Certificate | None:
    """What the claims prove against insiders; None where the table does not say what these contribute."""
    who = named(problem, attacker)
    try:
        asked_movements(problem, who, hidden)
        return _certificate(problem, hidden, (who,), claims.witnesses, _listed(claims))
    except InputError:
        return None


def joint_certificate(
    problem: Problem, hidden: Bool, parts: Sequence[tuple[Attacker, Certificate]]
) -> Certificate:
    """One certificate of all that several ones show, each against its attacker."""
    witnesses = [Witnesses.proven_by(part) for _, part in parts]
    offsets = np.cumsum([0, *map(len, witnesses)]).tolist()
    claims = [part.claims for _, part in parts]
    joined = ClaimList(
        np.concatenate([claim.cells for claim in claims]),
        np.concatenate([claim.witnesses + at for claim, at in zip(claims, offsets, strict=False)]),
        np.concatenate([claim.up for claim in claims]),
        np.concatenate([claim.signs for claim in claims]),
    )
    attackers = tuple(named(problem, attacker) for attacker, _ in parts)
    return _certificate(problem, hidden, attackers, Witnesses.joined(witnesses), joined)


def _certificate(
    problem: Problem,
    hidden: Bool,
    attackers: tuple[NamedAttacker, ...],
    witnesses: Witnesses,
    claims: ClaimList,
) -> Certificate:
    return Certificate(
        problem.content_hash,
        pattern_hash(hidden),
        "outsider",
        witnesses.starts,
        witnesses.cells.astype(np.int32),
        witnesses.numerators,
        witnesses.denominators,
        attackers,
        contributions_digest(problem, attackers),
        claims,
    )


def _order(claims: Claims) -> Int:
    """The claims by demand, short witnesses first: they are in the way of the fewest."""
    lengths = np.diff(claims.witnesses.starts)[claims.numbers]
    return np.lexsort((claims.numbers, lengths, claims.up, claims.cells))


def _listed(claims: Claims) -> ClaimList:
    """The claims in that order, with the sign by which each witness moves its cell the way that is asked."""
    order = _order(claims)
    cells, numbers, up = claims.cells[order], claims.numbers[order], np.where(claims.up[order], 1, -1)
    starts, lengths = claims.witnesses.starts[:-1][numbers], np.diff(claims.witnesses.starts)[numbers]
    entry = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    owner = np.repeat(np.arange(len(numbers)), lengths)
    mine = claims.witnesses.cells[entry] == cells[owner]
    moved = np.zeros(len(numbers), dtype=np.int64)
    moved[owner[mine]] = np.sign(claims.witnesses.numerators[entry[mine]])
    return ClaimList(cells, numbers, up, np.where(moved < 0, -1, 1) * up)
