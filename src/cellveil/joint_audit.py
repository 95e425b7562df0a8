"""One audit against several attackers: a cell is safe only if it is against each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.further import AllParts
from cellveil.attack.knowledge import Kind, check_attacker
from cellveil.auditing import AuditReport, audit
from cellveil.errors import InputError
from cellveil.insider_audit import InsiderReport, audit_insiders
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.tables.keys import Int
from cellveil.view import Pattern


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

    Raises
    ------
    InputError
        When a name is not known, an option is none of this kind's, or what is in per cent looks like a share.
    """

    kind: Kind = "outsider"
    p: float | None = None
    q: float = 100.0
    level: str = "unit"
    coalition: int = 1
    prior: float | None = None

    def __post_init__(self) -> None:
        check_attacker(self.kind, self.p, self.q, self.level, self.coalition, self.prior)


@dataclass(frozen=True, repr=False, eq=False)
class JointAudit:
    """The verdicts of several attacks on one pattern.

    Parameters
    ----------
    problems
        For each attack the problem as the attacker knows it.
    reports
        The verdict of each attack.
    """

    problems: tuple[Problem, ...]
    reports: tuple[AuditReport | InsiderReport, ...]

    @property
    def cells(self) -> Int:
        """Numbers of the cells that some attacker was asked about: the primary ones, under (p, q) more."""
        return np.unique(np.concatenate([report.cells for report in self.reports]))

    @property
    def safe(self) -> NDArray[np.bool_]:
        """Per cell: whether it was shown protected against every attacker."""
        unsafe = np.concatenate([report.unsafe_cells for report in self.reports])
        return ~np.isin(self.cells, unsafe)

    @property
    def is_safe(self) -> bool:
        """Whether every cell was shown protected against every attacker."""
        return all(report.is_safe for report in self.reports)

    @property
    def unsafe_cells(self) -> Int:
        """Numbers of the cells not shown safe."""
        return self.cells[~self.safe]

    def __repr__(self) -> str:
        names = ", ".join(report.attacker for report in self.reports)
        verdict = "safe" if self.is_safe else f"NOT SAFE: {len(self.unsafe_cells)} not shown protected"
        return f"JointAudit({verdict}, attackers: {names})"


def audit_against(
    problem: Problem,
    pattern: Pattern,
    attackers: Sequence[Attacker],
    *,
    everything: AllParts | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> JointAudit:
    """Attack the pattern as each attacker; `time_limit` is for each of them.

    A list of all contributions (`everything`) shows what insiders beyond the largest of a cell know.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> hidden = problem.table.values < 51
    >>> pattern = Pattern.hiding(problem, hidden, "all but the larger totals")
    >>> audit_against(problem, pattern, [Attacker(), Attacker(prior=50), Attacker("integer")])
    JointAudit(safe, attackers: outsider, outsider (prior 50 %), integer)
    """
    if not attackers:
        raise InputError("no attacker is named", remedy="Name at least the outsider.")
    done = [_attack(problem, pattern, attacker, everything, time_limit, progress) for attacker in attackers]
    return JointAudit(tuple(known for known, _ in done), tuple(report for _, report in done))


def _attack(
    problem: Problem,
    pattern: Pattern,
    attacker: Attacker,
    everything: AllParts | None,
    time_limit: float | None,
    progress: Progress | None,
) -> tuple[Problem, AuditReport | InsiderReport]:
    if attacker.kind == "insider" or attacker.kind == "pq":
        return problem, audit_insiders(
            problem,
            pattern,
            attacker.kind,
            p=attacker.p,
            q=attacker.q,
            level=attacker.level,
            coalition=attacker.coalition,
            everything=everything,
            time_limit=time_limit,
            progress=progress,
        )
    known = problem if attacker.prior is None else problem.known_within(attacker.prior)
    report = audit(known, pattern, whole=attacker.kind == "integer", time_limit=time_limit, progress=progress)
    return known, report if attacker.prior is None else report.named(
        f"{report.attacker} (prior {attacker.prior:g} %)"
    )
