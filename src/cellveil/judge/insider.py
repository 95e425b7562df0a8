"""The audit against insiders: every contributor attacks every primary cell that is not its own.

Cell by cell, see `cellveil.judge.insider_verdict`. Under the (p, q) rule, what a contributor has in several
hidden cells together is a target as well (`cellveil.attackers.prior_posterior`). Every deviation is exact,
and is kept as a claim for the certificate, which other code checks (`cellveil.certificate`). What is not
shown counts as not safe.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attackers.enough_claims import enough_claims
from cellveil.attackers.families import Claims
from cellveil.attackers.insiders import Insiders, PriorPosteriorInsiders, SelfKnowing
from cellveil.attackers.own_parts import OwnParts
from cellveil.attackers.prior_knowledge import OUTSIDERS, check_attacker
from cellveil.attackers.prior_posterior import Totals, TotalVerdict
from cellveil.attackers.unlisted_parts import AllParts
from cellveil.clock import Deadline
from cellveil.deviations.movement import Movement
from cellveil.deviations.witness import Witness, Witnesses, are_deviations
from cellveil.errors import InputError, counted, name_some
from cellveil.judge.attack_report import AttackReport, Ending
from cellveil.judge.insider_verdict import SHOWN, CellVerdict, judged_cell, told_cell
from cellveil.pattern import Pattern, check_pattern
from cellveil.problem import Problem, Status, check_problem
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.tables.cells import CellRef, cell_numbers
from cellveil.tables.relations import Relations

Kind = Literal["insider", "pq"]

NOT_JUDGED = "not judged: time ran out"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class InsiderReport(AttackReport):
    """The verdict of an audit against insiders, cell by cell.

    Parameters
    ----------
    cells
        Numbers of the cells judged: the primary ones, and others that fail the criterion of the attacker.
    is_primary, is_published
        Per cell: whether it is primary; whether it is published, and so not safe.
    judged
        Per cell: whether there was time to judge it. One that was not judged is not safe, but nobody was
        found who gets at it either.
    attackers
        Per cell: who is not kept off, or "" where everybody is; internal, like all ids.
    closest
        Per cell: who comes closest, whether kept off or not: against whom the least movement was shown, in
        shares of what is needed. "" where nothing is needed, or a whole coalition is kept off.
    reach
        Per cell: that share. From 1 on it is what was shown, 10 standing for 10 or more; below 1 the most
        that is possible, by a floating-point solver.
    claims
        The deviations that show cells protected, and for which demand each was found.
    uncertified
        Why the verdict rests on the audit alone, where no certificate can prove it; else "".
    totals
        Of the (p, q) insider: the contributors that are listed in several hidden cells, at least one of which
        is not safe by itself, and whether all sums of their parts were shown protected.
    """

    is_primary: Bool
    is_published: Bool
    attackers: tuple[str, ...]
    closest: tuple[str, ...]
    reach: Float
    judged: Bool
    claims: Claims = field(default_factory=Claims.nothing)
    uncertified: str = ""

    @property
    def exposed_cells(self) -> Int:
        """Those of them that were judged: somebody gets at them, as far as the programs tell."""
        return self.cells[~self.safe & self.judged]

    def with_anew(self, others: InsiderReport) -> InsiderReport:
        """The report with the verdicts on some cells replaced: of a pattern that hides no less."""
        places = np.searchsorted(self.cells, others.cells)
        safe, reach, judged = self.safe.copy(), self.reach.copy(), self.judged.copy()
        safe[places], reach[places], judged[places] = others.safe, others.reach, others.judged
        published = self.is_published.copy()
        published[places] = others.is_published
        names = np.array([self.attackers, self.closest], dtype=object).reshape(2, -1)
        names[:, places] = np.array([others.attackers, others.closest], dtype=object).reshape(2, -1)
        return replace(
            others,
            cells=self.cells,
            is_primary=self.is_primary,
            is_published=published,
            safe=safe,
            attackers=tuple(names[0]),
            closest=tuple(names[1]),
            reach=reach,
            num_lps=self.num_lps + others.num_lps,
            seconds=self.seconds + others.seconds,
            judged=judged,
            claims=Claims.joined(
                [self.claims.take(~np.isin(self.claims.cells, others.cells)), others.claims]
            ),
        )

    def __repr__(self) -> str:
        verdict = "safe" if self.is_safe else f"NOT SAFE: {len(self.unsafe_cells)} not shown protected"
        verdict += (
            f", nor the totals of {counted(self.open_totals, 'contributor')}" if self.open_totals else ""
        )
        further = int((~self.is_primary).sum())
        cells = counted(len(self.cells) - further, "primary cell") + (
            f" and {counted(further, 'other that fails', 'others that fail')} the criterion"
            if further
            else ""
        )
        return f"InsiderReport({verdict}, {cells}, attacker {self.attacker!r})"


def audit_insiders(
    problem: Problem,
    pattern: Pattern,
    kind: Kind = "insider",
    *,
    p: float | None = None,
    q: float = 100.0,
    level: str = "unit",
    coalition: int = 1,
    everything: AllParts | None = None,
    exempt: Sequence[CellRef] = (),
    only: Int | None = None,
    claims: Claims | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> InsiderReport:
    """Attack the pattern as every contributor in turn, and judge every primary cell.

    Under the (p, q) rule every cell that fails it is judged, hidden or published.

    Parameters
    ----------
    kind
        ``insider``: knows its own contributions. ``pq``: also knows all others' to within q %, and must not
        learn the largest contribution of a primary cell to within p %.
    level
        ``unit`` or ``holding``: who attacks.
    coalition
        How many contributors put their knowledge together.
    everything
        A list of all contributions. Without it, contributors beyond the largest of a cell are taken to know
        more than they can.
    exempt
        Cells that are not judged.
    only
        Judge these cells only, as far as they are to be judged.
    claims
        Deviations somebody names for single contributors' demands, such as the method that made the pattern.
        Each is checked exactly before it counts, so they save work and cannot mislead.
    """
    check_problem(problem)
    check_pattern(pattern)
    started = time.perf_counter()
    check_attacker(kind, p, q, level, coalition)
    if kind in OUTSIDERS:
        raise InputError(f"{kind} is no insider", remedy="Use audit.")
    parts = OwnParts.of(problem, level, everything, needs_all=kind == "pq" or coalition > 1)
    insiders = insiders_of(problem, kind, p, q, coalition, parts, cell_numbers(problem.table, exempt))
    view = PublicView.of(problem, pattern)
    movement = _Recorder(problem.table.relations, view.hidden, deadline=Deadline(time_limit), live=1)
    progress = progress or Progress()
    progress.stage("audit against insiders")
    cells = insiders.asked if only is None else np.intersect1d(insiders.asked, only)
    deadline = movement.deadline
    found = {cell: told_cell(insiders, cell) for cell in cells[~view.hidden[cells]].tolist()}
    shown, true = _shown_by(claims, insiders, view, cells[view.hidden[cells]])
    found |= dict.fromkeys(shown.tolist(), SHOWN)
    left = np.setdiff1d(cells, np.fromiter(found, np.int64, len(found)))
    for done, cell in enumerate(left[np.argsort(movement.component_of[left], kind="stable")].tolist()):
        found[cell] = _judged_in_time(insiders, movement, cell, deadline)
        progress.advance(done + 1, len(left), lps=movement.num_lps)
    totals, asked = _totals(insiders, view, deadline, progress)
    verdicts = [found[cell] for cell in cells.tolist()]
    safe = np.array([verdict.safe for verdict in verdicts], dtype=bool)
    unclear = movement.unclear + (asked.unclear if asked else 0)
    return InsiderReport(
        view_hash=view.content_hash,
        attacker=_described(kind, p, q, coalition),
        cells=cells,
        is_primary=problem.status[cells] == Status.PRIMARY,
        is_published=~view.hidden[cells],
        safe=safe,
        attackers=tuple("" if verdict.safe else verdict.closest for verdict in verdicts),
        closest=tuple(verdict.closest for verdict in verdicts),
        reach=np.array([verdict.reach for verdict in verdicts], dtype=np.float64),
        totals=totals,
        reason=_reason(
            unclear > 0 and not safe.all(), totals, problem.table.cell_names(cells[~view.hidden[cells]])
        ),
        num_lps=movement.num_lps + (asked.num_lps if asked else 0),
        seconds=time.perf_counter() - started,
        judged=np.array([verdict.closest != NOT_JUDGED for verdict in verdicts], dtype=bool),
        claims=Claims.joined([true, _needed(insiders, movement.claims)]),
        uncertified=_why_uncertified(parts),
    )


def _needed(insiders: Insiders, claims: Claims) -> Claims:
    """Those of the deviations found that keep somebody off whom no other one does."""
    if not isinstance(insiders, SelfKnowing) or insiders.families is None or not len(claims):
        return claims
    if insiders.together is not None:
        return insiders.together.enough(claims)
    return enough_claims(insiders.families, claims)


def _why_uncertified(parts: OwnParts) -> str:
    """Why no certificate can prove the verdict: what it rests on beyond the table's contributions."""
    if parts.further is not None:
        return "it rests on a list of all contributions, which the instance does not hold"
    return "" if parts.is_named else "some contributors have no id, so nobody is known again in another cell"


class _Recorder(Movement):
    """Movements of which the exact ones are kept, with the demand for which each was found."""

    def __init__(self, relations: Relations, movable: Bool, *, deadline: Deadline, live: int) -> None:
        super().__init__(relations, movable, deadline=deadline, live=live)
        self._found: list[tuple[int, bool, Witness]] = []

    def find(self, cell: int, amount: int, rooms: tuple[Int, Int], *, up: bool) -> Witness | None:
        """See `Movement.find`."""
        witness = super().find(cell, amount, rooms, up=up)
        if witness is not None:
            self._found.append((cell, up, witness))
        return witness

    @property
    def claims(self) -> Claims:
        """What was found."""
        cells, up, witnesses = [], [], []
        for cell, rises, witness in self._found:
            cells.append(cell)
            up.append(rises)
            witnesses.append(witness)
        numbers = np.arange(len(cells), dtype=np.int64)
        return Claims(
            Witnesses.of(witnesses), np.array(cells, dtype=np.int64), np.array(up, dtype=bool), numbers
        )


def _reason(cut_short: bool, totals: tuple[TotalVerdict, ...], published: Sequence[str]) -> str:
    open_totals = sum(not total.safe for total in totals)
    parts: list[str] = [Ending.SOLVES_UNCLEAR if cut_short else Ending.COMPLETE]
    if published:
        parts.append(f"published although unsafe by the criterion: {name_some(published)}")
    if open_totals:
        parts.append(
            f"totals of {counted(open_totals, 'contributor')} over several cells not shown protected"
        )
    return "; ".join(parts)


def _shown_by(claims: Claims | None, insiders: Insiders, view: PublicView, cells: Int) -> tuple[Int, Claims]:
    """Those of the hidden cells for which deviations that somebody claims keep every single insider off.

    And the claims for them that are true.
    """
    if claims is None or not isinstance(insiders, SelfKnowing) or insiders.families is None:
        return cells[:0], Claims.nothing()
    true = are_deviations(insiders.problem, view.hidden, claims.witnesses)
    families = insiders.families
    asked, up = families.open_demands()
    mine = np.isin(asked, cells)
    claims = claims.take(true[claims.numbers])
    left = families.left(claims, asked[mine], up[mine])
    shown = np.setdiff1d(cells, left.cells[~left.settled])
    return shown, claims.take(np.isin(claims.cells, shown))


def _totals(
    insiders: Insiders, view: PublicView, deadline: Deadline, progress: Progress
) -> tuple[tuple[TotalVerdict, ...], Totals | None]:
    """The verdicts on contributors that stand in several hidden cells, under the (p, q) rule."""
    if not isinstance(insiders, PriorPosteriorInsiders):
        return (), None
    totals = Totals(insiders, view.hidden, deadline)
    progress.stage("totals of contributors over several cells")
    return tuple(totals.judge(*target) for target in totals.targets()), totals


def _described(kind: Kind, p: float | None, q: float, coalition: int) -> str:
    name = "insider" if kind == "insider" else f"pq (p = {p:g}, q = {q:g})"
    return name if coalition == 1 else f"{name}, coalitions of {coalition}"


def insiders_of(
    problem: Problem,
    kind: Kind,
    p: float | None,
    q: float,
    coalition: int,
    parts: OwnParts,
    exempt: Int | None = None,
) -> Insiders:
    """The insiders of an audit: capacities and demands of each of them."""
    if kind == "insider":
        return SelfKnowing(problem, parts, coalition, exempt)
    check_attacker(kind, p, q, "unit", coalition)
    assert p is not None
    return PriorPosteriorInsiders(problem, parts, p, q, coalition, exempt)


def _judged_in_time(insiders: Insiders, movement: Movement, cell: int, deadline: Deadline) -> CellVerdict:
    """The same within the time there is: what it cuts short was not judged, unless it is safe."""
    if deadline.is_over:
        movement.unclear += 1
        return CellVerdict(False, NOT_JUDGED, 0.0)
    verdict = judged_cell(insiders, movement, cell)
    return CellVerdict(False, NOT_JUDGED, 0.0) if deadline.is_over and not verdict.safe else verdict
