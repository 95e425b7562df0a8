"""What publishing a hidden cell would open: the judge's audit of the pattern with that cell published.

Witnesses that do not move the cell stay witnesses when it is published, so only primaries that they leave
unshown are attacked again. No answer in time counts as not shown, as everywhere; it is told apart from cells
that were found open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.certificate.certificate import Certificate
from cellveil.certificate.verifier import check_witnesses
from cellveil.clock import Deadline
from cellveil.deviations.witness import Witnesses
from cellveil.judge.outsider import audit_outsider
from cellveil.params import Params, param
from cellveil.pattern import Pattern
from cellveil.problem import LEVELS, Problem, Status


@dataclass(frozen=True, kw_only=True)
class OpeningParams(Params):
    """Limits of the audit with one cell more published."""

    most_named: int = param(8, "Opened cells whose interval is computed.", least=0)
    audit_share: float = param(0.5, "Share of the time for finding the opened cells.", least=0, most=1)


@dataclass(frozen=True)
class Opening:
    """A primary cell that would no longer be shown protected.

    Parameters
    ----------
    cell
        Its number.
    lower, upper
        The feasibility interval an outsider would then be left with, in units of the last digit.
    required_lower, required_upper
        What the interval must reach.
    is_certain
        Whether the interval was computed to its ends; otherwise it is only not shown to be wide enough.
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
class Openings:
    """The opened cells that were examined, those next to the cell first, and how many more there are."""

    examined: tuple[Opening, ...]
    num_further: int


def openings(
    problem: Problem,
    pattern: Pattern,
    cell: int,
    certificate: Certificate | None,
    deadline: Deadline,
    params: OpeningParams | None = None,
) -> Openings:
    """The primaries, but for the cell itself, that publishing it would open to outsiders.

    Examples
    --------
    >>> from cellveil.clock import NO_LIMIT
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50, 10], [8, 19, 22]], primaries={(0, 0): 3})
    >>> pattern = Pattern.hiding(problem, np.isin(problem.table.values, [20, 50, 8, 19]), "by hand")
    >>> [found] = openings(problem, pattern, problem.table.cell("r1", "c1"), None, NO_LIMIT).examined
    >>> problem.table.cell_name(found.cell), found.lower, found.upper
    ('(r0, c0)', 20.0, 20.0)
    """
    params = params or OpeningParams()
    hidden = pattern.hidden.copy()
    hidden[cell] = False
    problem = _without_demand(problem, cell)
    left, claims = problem.primaries, None
    if certificate is not None:
        kept = _without(certificate, cell)
        left = left[~check_witnesses(problem, hidden, kept).protected]
        claims = Witnesses.proven_by(kept)
    if not len(left):
        return Openings((), 0)
    published = Pattern.hiding(problem, hidden, "one cell more published")
    quick = audit_outsider(
        problem.only(_mask(problem, left)),
        published,
        exact=False,
        deadline=deadline.share(params.audit_share),
        claims=claims,
    )
    unsafe = _near_first(problem, cell, quick.unsafe_cells)
    found = [_examined(problem, published, one, deadline) for one in unsafe[: params.most_named].tolist()]
    return Openings(tuple(one for one in found if one), max(len(unsafe) - params.most_named, 0))


def _examined(problem: Problem, pattern: Pattern, cell: int, deadline: Deadline) -> Opening | None:
    """The interval of one cell; None where it turns out to be wide enough."""
    chosen = _mask(problem, np.array([cell], dtype=np.int64))
    report = audit_outsider(problem.only(chosen), pattern, exact=True, deadline=deadline)
    if report.safe[0]:
        return None
    return Opening(
        cell,
        float(report.lower[0]),
        float(report.upper[0]),
        int(report.required_lower[0]),
        int(report.required_upper[0]),
        report.is_exact,
    )


def _mask(problem: Problem, cells: Int) -> Bool:
    mask = np.zeros(problem.table.num_cells, dtype=bool)
    mask[cells] = True
    return mask


def _near_first(problem: Problem, cell: int, cells: Int) -> Int:
    """Cells that share a relation with the cell come first."""
    relations = problem.table.relations
    columns = relations.columns
    rows = columns.rows[columns.indptr[cell] : columns.indptr[cell + 1]].tolist()
    near = np.concatenate([np.zeros(0, dtype=np.int64), *(relations.row(row)[0] for row in rows)])
    return cells[np.argsort(~np.isin(cells, near), kind="stable")]


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
    """The witnesses that do not move the cell; claims about insiders play no part here."""
    lengths = np.diff(certificate.starts)
    owner = np.repeat(np.arange(len(certificate)), lengths)
    keep = np.ones(len(certificate), dtype=bool)
    keep[owner[certificate.cells == cell]] = False
    entries = keep[owner]
    return replace(
        certificate,
        starts=np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64),
        cells=certificate.cells[entries],
        numerators=certificate.numerators[entries],
        denominators=certificate.denominators[keep],
    )
