"""The verdict on one attacker: what its attack came to, and whether that was proven."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from cellveil.arrays import Int
from cellveil.attackers.attacker import Attacker
from cellveil.certificate import Certificate, Verification, verify
from cellveil.deviations.witness import Witnesses
from cellveil.errors import counted, name_some
from cellveil.judge.attack_report import AttackReport
from cellveil.judge.insider import InsiderReport
from cellveil.judge.insider_certificate import insider_certificate
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.tables.cells import cell_numbers

NAMED = 6
"""Cells that are named in an objection."""


class Outcome(StrEnum):
    """What a run reached: nothing is better, everything asked is kept, or not even that."""

    OPTIMAL = "optimal"
    SAFE = "safe"
    NOT_SAFE = "not_safe"


@dataclass(frozen=True, repr=False, eq=False)
class Verdict:
    """What one attack on one pattern came to.

    Parameters
    ----------
    known
        The problem as the attacker knows it.
    report
        The judgement of every cell.
    certificate
        The proof; None where the attack leaves none.
    verification
        Its exact check.
    """

    attacker: Attacker
    known: Problem
    report: AttackReport
    certificate: Certificate | None = None
    verification: Verification | None = None

    @classmethod
    def of(cls, attacker: Attacker, known: Problem, pattern: Pattern, report: AttackReport) -> Verdict:
        """Have the certificate of an attack on this pattern checked."""
        certificate = report.certificate
        if isinstance(report, InsiderReport) and report.is_safe:
            certificate = insider_certificate(known, pattern.hidden, attacker, report.claims)
        if certificate is None:
            return cls(attacker, known, report)
        proof = verify(known, pattern, certificate, needs_outsiders=attacker.is_outsider)
        return cls(attacker, known, report, certificate, proof)

    @property
    def is_safe(self) -> bool:
        """Whether the attacker is kept off, and that is proven or has a stated reason for not being so."""
        return self.report.is_safe and (self.is_proven or bool(self.uncertified))

    @property
    def is_proven(self) -> bool:
        """Whether the exact verifier accepts the certificate."""
        return self.verification is not None and self.verification.is_valid

    @property
    def uncertified(self) -> str:
        """Why the verdict rests on the audit alone; "" where it is proven, or ought to be.

        Certificates hold no proof of what contributors have in several cells together, nor one against
        insiders of whom the table does not say enough.
        """
        if self.is_proven or not isinstance(self.report, InsiderReport):
            return ""
        proofs = () if self.verification is None else self.verification.proofs
        if proofs and all(proof.protected.all() for proof in proofs):
            return "; ".join(proof.reason for proof in proofs if proof.reason)
        return self.report.uncertified

    @property
    def deviations(self) -> Witnesses:
        """The deviations that the verdict rests on."""
        if isinstance(self.report, InsiderReport):
            return self.report.claims.witnesses
        certificate = self.report.certificate
        return Witnesses.of([]) if certificate is None else Witnesses.proven_by(certificate)

    @property
    def unsafe_cells(self) -> Int:
        """Cells that the attacker was not shown to be kept off from."""
        return self.report.unsafe_cells

    @property
    def open_totals(self) -> int:
        """How many contributors have sums over several cells that were not shown protected."""
        return self.report.open_totals

    def __repr__(self) -> str:
        return f"Verdict({'safe against' if self.is_safe else 'NOT SAFE against'} {self.attacker.words})"

    def objections(self, view: PublicView) -> list[str]:
        """What this attack says against publishing the view, in words; empty where it says nothing."""
        report, names = self.report, self.known.table.cell_names
        if report.view_hash != view.with_bounds(self.known).content_hash:
            return [f"the audit against {self.attacker.words} is of another view"]
        found = []
        exempt = cell_numbers(self.known.table, self.attacker.exempt)
        missing = np.setdiff1d(self.known.primaries, np.union1d(report.cells, exempt))
        if len(missing):
            found.append(
                f"the audit against {self.attacker.words} did not judge {len(missing)} of the primary cells"
            )
        if len(unsafe := report.unsafe_cells):
            cells = counted(len(unsafe), "cell was", "cells were")
            first = name_some(names(unsafe), NAMED)
            why = "" if report.is_complete else f" ({report.reason})"
            found.append(f"{cells} not shown protected against {self.attacker.words}: {first}{why}")
        elif not report.is_safe:
            found.append(f"not shown safe against {self.attacker.words} ({report.reason})")
        if not found and not self.is_safe:
            found.append(f"the certificate does not prove the cells protected against {self.attacker.words}")
        return found
