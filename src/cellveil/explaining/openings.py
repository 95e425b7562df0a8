"""What publishing a hidden cell would open: the judge's audit of the pattern with that cell published.

Every attacker that is named is asked. Only cells that hang together with the cell by relations between hidden
cells can be opened: the deviations of all others do not move it. Witnesses that do not move it stay witnesses
when it is published, so only what they leave unshown is attacked again. No answer in time counts as not
shown, as everywhere; it is told apart from cells that were found open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.attackers.attacker import Attacker
from cellveil.attackers.families import Claims
from cellveil.certificate.certificate import Certificate, ClaimList
from cellveil.certificate.verifier import check_witnesses
from cellveil.clock import Deadline
from cellveil.deviations.components import split
from cellveil.deviations.witness import Witnesses
from cellveil.judge.auditing import OUTSIDER, attack_as_insiders, attack_as_outsider
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import LEVELS, Problem, Status


@dataclass(frozen=True, kw_only=True)
class OpeningParams(Params):
    """Limits of the audit with one cell more published."""

    most_named: int = param(8, "Opened cells of each attacker that are examined.", least=0)
    audit_share: float = param(0.5, "Share of the time for finding the opened cells.", least=0, most=1)


@dataclass(frozen=True)
class Opening:
    """A cell that would no longer be shown protected against an attacker.

    Parameters
    ----------
    cell
        Its number.
    lower, upper
        The feasibility interval an outsider would then be left with, in units of the last digit.
    required_lower, required_upper
        What the interval must reach.
    is_certain
        Whether the attack was brought to its end; otherwise it is only not shown that the cell is protected.
    """

    cell: int
    lower: float
    upper: float
    required_lower: int
    required_upper: int
    is_certain: bool

    @property
    def tells_value(self) -> bool:
        """Whether the value itself would follow."""
        return self.is_certain and self.lower == self.upper


@dataclass(frozen=True)
class InsiderOpening:
    """The same for contributors who attack.

    Parameters
    ----------
    who
        The contributor or coalition that is not kept off; internal, like all ids.
    reach
        How far the cell could still move against them, as a share of what is needed.
    """

    cell: int
    who: str
    reach: float
    is_certain: bool


@dataclass(frozen=True)
class Openings:
    """What would be opened to one attacker, and not to those before: the cells examined, and how many more.

    Parameters
    ----------
    num_totals
        Contributors whose sums over several cells would not be shown protected.
    """

    attacker: Attacker
    examined: tuple[Opening | InsiderOpening, ...] = ()
    num_further: int = 0
    num_totals: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be opened."""
        return not (self.examined or self.num_further or self.num_totals)


def openings(
    problem: Problem,
    pattern: Pattern,
    cell: int,
    certificate: Certificate | None,
    deadline: Deadline,
    *,
    attackers: Sequence[Attacker] = (),
    params: OpeningParams | None = None,
) -> tuple[Openings, ...]:
    """What publishing a cell would open besides the cell itself: to outsiders first, then to each attacker.

    Cells next to the cell come first. What is open to one attacker is not asked of those that follow.

    Examples
    --------
    >>> from cellveil.clock import NO_LIMIT
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> pattern = Pattern.hiding(problem, np.isin(problem.table.values, [20, 50, 8, 19]), "by hand")
    >>> [to_outsiders] = openings(problem, pattern, problem.table.cell("r1", "c1"), None, NO_LIMIT)
    >>> [found] = to_outsiders.examined
    >>> problem.table.cell_name(found.cell), found.lower, found.upper
    ('(r0, c0)', 20.0, 20.0)
    """
    published = _OneMorePublished(problem, pattern, cell, certificate, params or OpeningParams())
    asked = [OUTSIDER, *(attacker for attacker in attackers if not attacker.is_plain_outsider)]
    found = []
    for done, attacker in enumerate(asked):
        attack = published.to_outsider if attacker.is_outsider else published.to_insiders
        found.append(attack(attacker, deadline.share(1 / (len(asked) - done))))
    return tuple(found)


class _OneMorePublished:
    """The pattern with one cell more published, and the cells that this can open and nobody has opened yet.

    A primary cell that is published itself need not be protected any more.
    """

    def __init__(
        self,
        problem: Problem,
        pattern: Pattern,
        cell: int,
        certificate: Certificate | None,
        params: OpeningParams,
    ) -> None:
        hidden = pattern.hidden.copy()
        number, _ = split(problem.table.relations, hidden)
        self._left = number == number[cell]
        self._left[cell] = problem.status[cell] != Status.PRIMARY
        hidden[cell] = False
        self._problem = _without_demand(problem, cell)
        self._pattern = Pattern.hiding(self._problem, hidden, "one cell more published")
        self._cell, self._params = cell, params
        self._proof = None if certificate is None else _without(certificate, cell)

    def to_outsider(self, attacker: Attacker, deadline: Deadline) -> Openings:
        """What an outsider with this knowledge would work out."""
        problem, proof = self._problem, None if attacker.kind == "integer" else self._proof
        left = problem.primaries[self._left[problem.primaries]]
        if proof is not None and len(left):
            known = problem.known_within(attacker.prior)
            shown = check_witnesses(known, self._pattern.hidden, proof).protected
            left = np.setdiff1d(left, known.primaries[shown])
        if not len(left):
            return Openings(attacker)
        _, quick = attack_as_outsider(
            problem.only(_mask(problem, left)),
            self._pattern,
            attacker,
            exact=False,
            deadline=deadline.share(self._params.audit_share),
            claims=None if proof is None else Witnesses.proven_by(proof),
        )
        unsafe = self._near_first(quick.unsafe_cells)
        named = unsafe[: self._params.most_named].tolist()
        examined = [self._examined(attacker, one, deadline) for one in named]
        return Openings(attacker, tuple(one for one in examined if one), len(unsafe) - len(named))

    def _examined(self, attacker: Attacker, cell: int, deadline: Deadline) -> Opening | None:
        """The interval of one cell; None where it turns out to be wide enough."""
        chosen = _mask(self._problem, np.array([cell], dtype=np.int64))
        asked = self._problem.only(chosen)
        _, report = attack_as_outsider(asked, self._pattern, attacker, exact=True, deadline=deadline)
        if report.safe[0]:
            self._left[cell] = True
            return None
        return Opening(
            cell,
            float(report.lower[0]),
            float(report.upper[0]),
            int(report.required_lower[0]),
            int(report.required_upper[0]),
            report.is_exact,
        )

    def to_insiders(self, attacker: Attacker, deadline: Deadline) -> Openings:
        """What contributors of this kind would get at."""
        report = attack_as_insiders(
            self._problem,
            self._pattern,
            attacker,
            only=np.flatnonzero(self._left),
            claims=None if self._proof is None else _claims(self._proof),
            time_limit=deadline.left,
        )
        places = np.searchsorted(report.cells, self._near_first(report.unsafe_cells))
        named = places[: self._params.most_named].tolist()
        examined = [
            InsiderOpening(
                int(report.cells[place]),
                report.attackers[place],
                float(report.reach[place]),
                bool(report.judged[place]),
            )
            for place in named
        ]
        return Openings(attacker, tuple(examined), len(places) - len(named), report.open_totals)

    def _near_first(self, cells: Int) -> Int:
        """The opened cells, those in a relation with the cell first; nobody is asked for them again."""
        self._left[cells] = False
        relations = self._problem.table.relations
        columns = relations.columns
        rows = columns.rows[columns.indptr[self._cell] : columns.indptr[self._cell + 1]].tolist()
        near = np.concatenate([np.zeros(0, dtype=np.int64), *(relations.row(row)[0] for row in rows)])
        return cells[np.argsort(~np.isin(cells, near), kind="stable")]


def _mask(problem: Problem, cells: Int) -> Bool:
    mask = np.zeros(problem.table.num_cells, dtype=bool)
    mask[cells] = True
    return mask


def _without_demand(problem: Problem, cell: int) -> Problem:
    """The problem in which the cell itself need not be protected."""
    if problem.status[cell] != Status.PRIMARY:
        return problem
    status = problem.status.copy()
    status[cell] = Status.SAFE
    levels = {name: getattr(problem, name).copy() for name in LEVELS}
    for level in levels.values():
        level[cell] = 0
    return problem.replace(status=status, **levels)


def _without(certificate: Certificate, cell: int) -> Certificate:
    """The witnesses that do not move the cell, and what is claimed of them."""
    lengths = np.diff(certificate.starts)
    owner = np.repeat(np.arange(len(certificate)), lengths)
    keep = np.ones(len(certificate), dtype=bool)
    keep[owner[certificate.cells == cell]] = False
    entries, place, claims = keep[owner], np.cumsum(keep) - 1, certificate.claims
    kept = keep[claims.witnesses] & (claims.cells != cell)
    return replace(
        certificate,
        starts=np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64),
        cells=certificate.cells[entries],
        numerators=certificate.numerators[entries],
        denominators=certificate.denominators[keep],
        claims=ClaimList(
            claims.cells[kept], place[claims.witnesses[kept]], claims.up[kept], claims.signs[kept]
        ),
    )


def _claims(certificate: Certificate) -> Claims:
    """What a certificate claims against insiders, for the judge to check anew."""
    claims = certificate.claims
    return Claims(Witnesses.proven_by(certificate), claims.cells, claims.up > 0, claims.witnesses)
