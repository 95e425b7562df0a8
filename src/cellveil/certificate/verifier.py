"""The exact check of a certificate: whole numbers only, no solver, time linear in the certificate's size.

What is checked, for an instance with values a, bounds lb ≤ a ≤ ub, relations M a = rhs and levels, for a set
of hidden cells, and for each witness y (whole numerators over one denominator):

1. instance and pattern are the ones certified (digests);
2. the table adds up, every primary cell is hidden, no frozen cell is;
3. y moves hidden cells only, and M y = 0;
4. lb ≤ a + y ≤ ub, or lb ≤ a − y ≤ ub: then that is a table which agrees with everything published;
5. for each primary cell p, over the tables found: some has a_p + upl_p or more, some has a_p − lpl_p or less,
   and the largest and the smallest differ by spl_p or more.

Against the attacker ``integer``, who knows that all values are whole numbers, denominators must be 1; against
one who knows values to within some per cent beforehand, lb and ub are tightened accordingly.

If all of this holds, nobody who knows the published cells, the relations and the bounds can rule out those
values: the cell is protected. That is the whole argument; it does not matter where the witnesses came from.

Certificates of version 2 name insiders as well. Of them is checked, besides points 1 to 3:

6. contributions, origins of levels, attackers and exempt cells are the ones certified (a digest);
7. every claim names a witness that moves its cell the way that is claimed;
8. no coalition is left against whom no claimed witness holds: `cellveil.certificate.coalitions` has the
   check and its proof, `cellveil.certificate.asked_movements` what is asked, and
   `cellveil.certificate.known_parts` what contributors know. None of it is shared with search and judge.

What insiders have in several cells together, which the (p, q) attacker must not learn either, no certificate
shows: where somebody is at risk of that, the proof against that attacker is not complete, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from cellveil.arrays import Bool, Int, freeze
from cellveil.certificate.certificate import Certificate, pattern_hash
from cellveil.certificate.coalitions import check_claims, wrong_claims
from cellveil.certificate.known_parts import contributions_digest
from cellveil.certificate.named_attacker import NamedAttacker, listed_in_words
from cellveil.errors import InputError, check_kind
from cellveil.pattern import Pattern, check_pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.tables.scaled import LARGEST, UNBOUNDED

ATTACKERS = ("outsider", "integer")
"""Whom a certificate may be about: anybody who knows the bounds, or who also knows the values to be whole."""


@dataclass(frozen=True, repr=False, eq=False)
class AttackerProof:
    """What a certificate shows against one attacker.

    Parameters
    ----------
    attacker
        Against whom.
    cells, protected
        The cells that must be protected from it, and for each of them whether that was shown.
    demands, met
        How many movements are asked for, and how many are shown to be possible.
    reason
        Why the proof is not complete, where that is not a matter of single cells.
    """

    attacker: NamedAttacker
    cells: Int
    protected: Bool
    demands: int
    met: int
    reason: str = ""

    def __post_init__(self) -> None:
        freeze(self, ("cells", "protected"))

    @property
    def is_complete(self) -> bool:
        """Whether the attacker is shown to be kept off."""
        return bool(self.protected.all()) and not self.reason

    def __repr__(self) -> str:
        return f"AttackerProof({self.attacker.words}, {'shown' if self.is_complete else 'NOT SHOWN'})"


@dataclass(frozen=True, repr=False, eq=False)
class Verification:
    """What the check came to.

    Parameters
    ----------
    faults
        What is wrong with the certificate as a whole; empty if nothing is.
    cells
        Numbers of the primary cells.
    protected
        For each of them whether it was shown protected against everybody named, exemptions aside.
    demands, met
        How many movements are asked for, and how many are shown to be possible.
    proofs
        What was shown against each attacker that the certificate names; none where there are faults.
    """

    faults: tuple[str, ...]
    cells: Int
    protected: Bool
    demands: int
    met: int
    proofs: tuple[AttackerProof, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, ("cells", "protected"))

    @property
    def is_valid(self) -> bool:
        """Whether the certificate proves what it says: everybody it names is kept off."""
        shown = all(proof.is_complete for proof in self.proofs)
        return not self.faults and bool(self.protected.all()) and shown

    @property
    def against(self) -> str:
        """Against whom the pattern is shown to be protected, in words."""
        return listed_in_words([proof.attacker.words for proof in self.proofs if proof.is_complete])

    @property
    def not_shown(self) -> tuple[str, ...]:
        """The attackers that are named, but not shown to be kept off, in words."""
        return tuple(proof.attacker.words for proof in self.proofs if not proof.is_complete)

    def __repr__(self) -> str:
        verdict = "valid" if self.is_valid else "NOT VALID"
        return (
            f"Verification({verdict}, {int(self.protected.sum())} of {len(self.cells)} cells shown protected)"
        )


def verify(
    problem: Problem, pattern: Pattern, certificate: Certificate, *, needs_outsiders: bool = True
) -> Verification:
    """Check a certificate against problem and pattern, in whole numbers and without a solver.

    The result says against whom the pattern is shown to be protected, and names what is at fault.

    Parameters
    ----------
    needs_outsiders
        Whether a certificate that does not name outsiders is at fault: nobody may publish on one.
    """
    check_problem(problem)
    check_pattern(pattern)
    remedy = "Give what suppress(problem).certificate holds, or read_certificate(path) reads."
    check_kind(certificate, Certificate, "the certificate", remedy)
    faults = _wrong_certificate(problem, pattern, certificate) or _wrong_pattern(problem, pattern)
    if needs_outsiders and not any(attacker.is_outsider for attacker in certificate.against):
        faults.append("the certificate does not name outsiders")
    faults = faults or _wrong_witnesses(problem, pattern.hidden, certificate) or wrong_claims(certificate)
    if faults:
        return check_witnesses(problem, pattern.hidden, certificate, faults)
    proofs = tuple(
        _against_outsider(problem, certificate, attacker)
        if attacker.is_outsider
        else _against_insiders(problem, pattern.hidden, certificate, attacker)
        for attacker in certificate.against
    )
    open_cells = [proof.cells[~proof.protected] for proof in proofs]
    return Verification(
        (),
        problem.primaries,
        ~np.isin(problem.primaries, np.concatenate(open_cells)),
        sum(proof.demands for proof in proofs),
        sum(proof.met for proof in proofs),
        proofs,
    )


def _against_outsider(problem: Problem, certificate: Certificate, attacker: NamedAttacker) -> AttackerProof:
    """Points 4 and 5 for one outsider."""
    known = problem.known_within(attacker.prior)
    if attacker.kind == "integer":
        certificate = _whole(certificate)
    found = _reached(known, certificate)
    return AttackerProof(attacker, found.cells, found.protected, found.demands, found.met)


def _whole(certificate: Certificate) -> Certificate:
    """The certificate without witnesses that are not whole."""
    keep = certificate.denominators == 1
    lengths = np.diff(certificate.starts)
    entries = np.repeat(keep, lengths)
    return replace(
        certificate,
        starts=np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64),
        cells=certificate.cells[entries],
        numerators=certificate.numerators[entries],
        denominators=certificate.denominators[keep],
    )


def _against_insiders(
    problem: Problem, hidden: Bool, certificate: Certificate, attacker: NamedAttacker
) -> AttackerProof:
    """Point 8."""
    try:
        proof = check_claims(problem, hidden, attacker, certificate)
    except InputError as error:
        cells = np.setdiff1d(problem.primaries, attacker.exempt)
        return AttackerProof(attacker, cells, np.zeros(len(cells), dtype=bool), len(cells), 0, error.what)
    cells = np.array(proof.cells, dtype=np.int64)
    protected = np.array([cell in proof.shown for cell in proof.cells], dtype=bool)
    risk = f"{proof.at_risk} contributors have parts in several cells, whose sums need another proof"
    reason = risk if proof.at_risk else ""
    return AttackerProof(attacker, cells, protected, proof.demands, proof.met, reason)


def check_witnesses(
    problem: Problem, hidden: Bool, certificate: Certificate, faults: Sequence[str] = ()
) -> Verification:
    """Check what the witnesses show to outsiders, points 3 to 5; `faults` found before settle it at once."""
    faults = faults or _wrong_witnesses(problem, hidden, certificate)
    if faults:
        cells = problem.primaries
        nothing = np.zeros(len(cells), dtype=bool)
        return Verification(tuple(faults), cells, nothing, sum(int(a.sum()) for a in _asked(problem)), 0)
    return _reached(problem, certificate)


def _asked(problem: Problem) -> list[Bool]:
    """The primary cells with a level upwards, downwards, and of width."""
    return [level[problem.primaries] > 0 for level in (problem.upl, problem.lpl, problem.spl)]


def _reached(problem: Problem, certificate: Certificate) -> Verification:
    """Points 4 and 5, once the witnesses were checked."""
    cells, asked = problem.primaries, _asked(problem)
    rise, fall, width = _movements(problem, certificate)
    shown = [
        rise[cells] >= problem.upl[cells],
        fall[cells] >= problem.lpl[cells],
        np.array([width.get(cell, 0) >= int(problem.spl[cell]) for cell in cells.tolist()], dtype=bool),
    ]
    demands = sum(int(need.sum()) for need in asked)
    met = sum(int((need & got).sum()) for need, got in zip(asked, shown, strict=True))
    return Verification((), cells, shown[0] & shown[1] & shown[2], demands, met)


def _wrong_certificate(problem: Problem, pattern: Pattern, certificate: Certificate) -> list[str]:
    """Point 1."""
    faults = []
    if not problem.has_digest(certificate.instance):
        faults.append("the certificate is for another instance")
    if certificate.pattern != pattern_hash(pattern.hidden):
        faults.append("the certificate is for another pattern")
    if certificate.attacker not in ATTACKERS:
        faults.append(f"unknown attacker {certificate.attacker!r}")
    return faults or _wrong_attackers(problem, certificate)


def _wrong_attackers(problem: Problem, certificate: Certificate) -> list[str]:
    """Point 6."""
    if certificate.version == 1:
        return []
    for attacker in certificate.attackers:
        exempt = list(attacker.exempt)
        if exempt != sorted(set(exempt)) or not all(0 <= cell < problem.table.num_cells for cell in exempt):
            return ["the exempt cells are not cells in ascending order"]
    try:
        if certificate.contributions == contributions_digest(problem, certificate.attackers):
            return []
    except InputError as error:
        return [error.what]
    return ["the certificate is for other contributions or other attackers"]


def _wrong_pattern(problem: Problem, pattern: Pattern) -> list[str]:
    """Point 2."""
    faults = []
    if problem.table.relations.residuals(problem.table.values):
        faults.append("the table does not add up")
    if not pattern.hidden[problem.primaries].all():
        faults.append("a primary cell is published")
    if pattern.hidden[problem.status == Status.FROZEN].any():
        faults.append("a frozen cell is hidden")
    return faults


def _wrong_witnesses(problem: Problem, hidden: Bool, certificate: Certificate) -> list[str]:
    """Point 3, and that the numbers are what they should be."""
    cells, numerators = certificate.cells.astype(np.int64), certificate.numerators
    owner = np.repeat(np.arange(len(certificate)), np.diff(certificate.starts))
    if (certificate.denominators < 1).any() or (certificate.denominators > LARGEST).any():
        return ["a denominator is out of range"]
    if certificate.attacker == "integer" and (certificate.denominators != 1).any():
        return ["a witness against the integer-aware attacker is not whole"]
    if (numerators > LARGEST).any() or (numerators < -LARGEST).any():
        return ["a numerator is out of range"]
    if len(cells) and (cells.min() < 0 or cells.max() >= problem.table.num_cells):
        return ["a witness names a cell that is not there"]
    if ((owner[1:] == owner[:-1]) & (cells[1:] <= cells[:-1])).any():
        return ["the cells of a witness are not in ascending order"]
    if not hidden[cells].all():
        return ["a witness moves a published cell"]
    if _breaks_a_relation(problem, cells, numerators, owner):
        return ["a witness breaks a relation"]
    return []


def _breaks_a_relation(problem: Problem, cells: Int, numerators: Int, owner: Int) -> bool:
    """Whether M y ≠ 0 for some witness: its entries are spread over their cells' relations and summed up."""
    relations = problem.table.relations
    by_cell = np.argsort(relations.cells, kind="stable")
    first = np.searchsorted(relations.cells[by_cell], np.arange(problem.table.num_cells + 1))
    repeats = first[cells + 1] - first[cells]
    entry = np.repeat(np.arange(len(cells)), repeats)
    offset = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    place = by_cell[first[cells[entry]] + offset]
    group = owner[entry] * np.int64(max(len(relations), 1)) + relations.row_of_entry[place]
    order = np.argsort(group, kind="stable")
    if not len(order):
        return False
    borders = np.flatnonzero(np.concatenate([[True], np.diff(group[order]) != 0]))
    coefs, moved = relations.coefs[place][order], numerators[entry][order]
    longest = int(np.diff(np.append(borders, len(order))).max())
    if int(np.abs(coefs).max()) * longest >= 2**31:
        return bool(np.any(np.add.reduceat(coefs.astype(object) * moved.astype(object), borders)))
    # Sums of products may pass 64 bits: add the upper and the lower 31 bits apart, then carry.
    low = np.add.reduceat(coefs * (moved & 0x7FFFFFFF), borders)
    high = np.add.reduceat(coefs * (moved >> 31), borders)
    return bool(((high + (low >> 31) != 0) | (low & 0x7FFFFFFF != 0)).any())


def _movements(problem: Problem, certificate: Certificate) -> tuple[Int, Int, dict[int, Fraction]]:
    """Points 4 and 5: how far each cell rises and falls (whole part), and widths for sliding levels."""
    values = problem.table.values
    room_up = np.where(problem.ub == UNBOUNDED, UNBOUNDED, problem.ub - values)
    room_down = np.where(problem.lb == -UNBOUNDED, UNBOUNDED, values - problem.lb)
    rise, fall = np.zeros_like(values), np.zeros_like(values)
    moves: dict[int, list[Fraction]] = {}
    cells = certificate.cells.astype(np.int64)
    owner = np.repeat(np.arange(len(certificate)), np.diff(certificate.starts))
    denominator = certificate.denominators[owner]
    for numerators in (certificate.numerators, -certificate.numerators):
        up, down = numerators // denominator, (-numerators) // denominator
        outside = (-down > room_up[cells]) | (-up > room_down[cells])  # −(−x // d) is x / d rounded up
        usable = np.ones(len(certificate), dtype=bool)
        usable[owner[outside]] = False
        chosen = usable[owner]
        np.maximum.at(rise, cells[chosen], up[chosen])
        np.maximum.at(fall, cells[chosen], down[chosen])
        for entry in np.flatnonzero(chosen & (problem.spl[cells] > 0)).tolist():
            moved = Fraction(int(numerators[entry]), int(denominator[entry]))
            moves.setdefault(int(cells[entry]), [Fraction(0)]).append(moved)
    return rise, fall, {cell: max(found) - min(found) for cell, found in moves.items()}
