"""The judge of outsiders: compares feasibility intervals with the protection levels of primary cells.

The attacker (`cellveil.attack`) gets the public view only. The judge knows the truth and the required levels,
and calls a cell safe only when exact deviations show that the attacker's interval is wide enough: no answer,
an unclear answer, one that cannot be made exact, or no time left all mean *not shown safe*. The deviations
are the certificate, which `cellveil.certificate` checks without any of this code.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.interval_programs import IntervalParams
from cellveil.attack.intervals import OutsiderAttack
from cellveil.attack.network_intervals import NetworkFlows
from cellveil.certificate.certificate import Certificate, pattern_hash
from cellveil.certificate.verifier import check_witnesses
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import Component
from cellveil.deviations.cubes import prove_by_cubes
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.joint_witness import JointWitness
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witnesses
from cellveil.errors import counted
from cellveil.judge.attack_report import AttackReport, Ending
from cellveil.params import Params, param, part
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.solvers import tolerances


@dataclass(frozen=True, kw_only=True)
class OutsiderParams(Params):
    """Parameters of the outsider's audit; verdicts and exact intervals do not depend on them."""

    workers: int = param(1, "Processes that examine cells.", least=1)
    min_parallel: int = param(16, "Fewest open cells for several processes.", least=1)
    min_joint: int = param(48, "Fewest open cells for joint witnesses.", least=0)
    joint_seconds: float = param(60.0, "Seconds for joint witnesses, at most.", least=0)
    most_eliminated: int = param(30_000, "Largest component for the integer kernel.", least=0)
    intervals: IntervalParams = part(IntervalParams)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class OutsiderReport(AttackReport):
    """The verdict on one public view, primary cell by primary cell: feasibility intervals and what they need.

    Amounts are in units of the last digit.

    Parameters
    ----------
    lower, upper
        The feasibility interval the attacker is left with, or the part of it that was shown
        where `is_exact` is false.
    required_lower, required_upper
        The interval must reach down and up to these.
    required_width
        And be at least this wide.
    is_exact
        Whether every interval was computed to its ends.
    certificate
        A proof of the whole where every cell is safe.
    """

    lower: Float
    upper: Float
    required_lower: Int
    required_upper: Int
    required_width: Int
    is_exact: bool
    tolerance: str
    certificate: Certificate

    @property
    def is_safe(self) -> bool:
        """Whether every primary cell was shown to be protected."""
        return super().is_safe and self.is_complete

    def named(self, attacker: str) -> OutsiderReport:
        """Return the report under another name of the attacker."""
        return replace(self, attacker=attacker)

    def __repr__(self) -> str:
        verdict = "safe" if self.is_safe else f"NOT SAFE: {len(self.unsafe_cells)} not shown protected"
        cells = counted(len(self.cells), "primary cell")
        return f"OutsiderReport({verdict}, {cells}, attacker {self.attacker!r})"

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"


def audit_outsider(
    problem: Problem,
    pattern: Pattern,
    *,
    exact: bool = True,
    whole: bool = False,
    deadline: Deadline = NO_LIMIT,
    claims: Witnesses | None = None,
    progress: Progress | None = None,
    params: OutsiderParams | None = None,
) -> OutsiderReport:
    """Attack the pattern's public view as an outsider and judge every primary cell.

    Parameters
    ----------
    whole
        The attacker knows that all values are whole numbers of the last digit, as counts are: only tables of
        whole numbers keep it off. Where linear programs give none, integer programs are solved.
    exact
        Compute every interval to its ends. Otherwise stop at each cell as soon as enough is shown, which
        needs far fewer LPs and gives the same verdict.
    claims
        Deviations somebody says there are, such as the method that made the pattern. Each is checked exactly
        before it counts, so they save work and cannot mislead.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    >>> audit_outsider(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only"))
    OutsiderReport(NOT SAFE: 1 not shown protected, 1 primary cell, attacker 'outsider')
    """
    progress, params = progress or Progress(), params or OutsiderParams()
    view = PublicView.of(problem, pattern)
    judge = _Judge(problem, view, exact, whole, deadline, params)
    if claims is not None and not whole:
        judge.ledger.add_claims(claims)
    if not exact:
        progress.stage("cubes")
        prove_by_cubes(judge.ledger)
    order = problem.primaries[np.argsort(judge.attack.component_of[problem.primaries], kind="stable")]
    left = [cell for cell in order.tolist() if exact or not judge.is_safe(cell)]
    if not exact and not whole and len(left) >= params.min_joint:
        progress.stage("joint witnesses")
        judge.attack_together()
        left = [cell for cell in left if not judge.is_safe(cell)]
    progress.stage("audit")
    if params.workers > 1 and len(left) >= params.min_parallel:
        for findings in _in_parallel(judge, left):
            judge.take(findings)
    else:
        for done, cell in enumerate(left):
            judge.examine(cell)
            progress.advance(done + 1, len(left), lps=judge.attack.num_lps)
    return judge.report()


@dataclass(frozen=True)
class _Findings:
    """What one process found out about some cells."""

    cells: list[int]
    lowest: Float
    highest: Float
    witnesses: Witnesses
    num_lps: int
    unclear: set[int]


def _in_parallel(judge: _Judge, cells: list[int]) -> list[_Findings]:
    """Examine batches of cells, neighbours together, in processes of their own."""
    from joblib import Parallel, delayed

    workers = judge.params.workers
    batches = np.array_split(np.array(cells), min(4 * workers, len(cells)))
    view, settings = judge.attack.view, (judge.exact, judge.whole, judge.deadline, judge.params)
    found = Parallel(n_jobs=workers)(
        delayed(_examine)(judge.problem, view, settings, batch.tolist(), os.getpid()) for batch in batches
    )
    return list(found)


def _examine(
    problem: Problem,
    view: PublicView,
    settings: tuple[bool, bool, Deadline, OutsiderParams],
    cells: list[int],
    asked_by: int,
) -> _Findings:
    """Examine cells for the process `asked_by`, as long as it is there to wait for the answer."""
    judge = _Judge(problem, view, *settings)
    for cell in cells:
        if asked_by not in (os.getpid(), os.getppid()):
            raise SystemExit(1)
        judge.examine(cell)
    attack = judge.attack
    return _Findings(
        cells,
        attack.lowest[cells],
        attack.highest[cells],
        judge.ledger.witnesses(),
        attack.num_lps,
        judge.unclear,
    )


class _Judge:
    """Knows the truth; asks the attacker; keeps what was shown."""

    def __init__(
        self,
        problem: Problem,
        view: PublicView,
        exact: bool,
        whole: bool,
        deadline: Deadline,
        params: OutsiderParams,
    ) -> None:
        self._started, values = time.perf_counter(), problem.table.values
        self.problem, self.exact, self.whole = problem, exact, whole
        self.deadline, self.params = deadline, params
        self.need_low, self.need_high = values - problem.lpl, values + problem.upl
        self.ledger = Ledger(problem, view.hidden, is_final=True, whole=whole)
        rooms = self.ledger.room_down, self.ledger.room_up
        self.flows = NetworkFlows(view.relations, view.hidden, rooms, deadline)
        self.unclear: set[int] = set()
        self._lattice: Lattice | None = None
        # The truth agrees with the view: a feasible start for the attack, which changes no answer.
        self.attack = OutsiderAttack(view, values, deadline, self._lift, params.intervals)

    def take(self, findings: _Findings) -> None:
        """Add what another process found."""
        for witness in findings.witnesses:
            self.ledger.add(witness, stretch=True)
        cells, attack = findings.cells, self.attack
        attack.lowest[cells] = np.minimum(attack.lowest[cells], findings.lowest)
        attack.highest[cells] = np.maximum(attack.highest[cells], findings.highest)
        attack.num_lps += findings.num_lps
        self.unclear |= findings.unclear

    def attack_together(self) -> None:
        """Look for deviations that move many cells at once, by interior points, made exact on the lattice."""
        seconds, left = self.params.joint_seconds, self.deadline.left
        joint = JointWitness(self.problem, Deadline(seconds if left is None else min(seconds, left)))
        joint.harvest(self.ledger, np.random.default_rng(0))

    def examine(self, cell: int) -> None:
        """Attack one cell in both directions."""
        if not self.attack.view.hidden[cell]:
            return
        if self.exact:
            for up in (True, False):
                self._push(cell, up, None)
        for up in (True, False):
            if not self.ledger.shows(cell, up=up) and not self._is_hopeless(cell, up):
                self._push(cell, up, float((self.need_high if up else self.need_low)[cell]))
        for up in (True, False):
            if not self.ledger.shows_width(cell):
                width, value = int(self.problem.spl[cell]), int(self.problem.table.values[cell])
                self._push(cell, up, float(value + width if up else value - width))
        for up in (True, False):
            if not self.exact and not self.ledger.shows_width(cell):
                self._push(cell, up, None)

    @cached_property
    def _unpicked(self) -> Unpicked:
        return unpick(self.attack.view)

    def _is_hopeless(self, cell: int, up: bool) -> bool:
        """Whether single relations already keep the cell from getting as far as it must: no LP is needed."""
        if up:
            return bool(self._unpicked.upper[cell] < self.need_high[cell])
        return bool(self._unpicked.lower[cell] > self.need_low[cell])

    def _push(self, cell: int, up: bool, enough: float | None) -> None:
        if enough is not None and not self.exact:
            amount = abs(int(enough) - int(self.problem.table.values[cell]))
            if (witness := self.flows.find(cell, amount, up=up)) is not None:
                self.ledger.add(witness, stretch=True)
                if self.ledger.shows(cell, up=up):
                    return
        reached = self.attack.push(cell, up=up, enough=enough)
        if reached == enough and enough is not None and not self.ledger.shows(cell, up=up):
            reached = self.attack.push(cell, up=up, enough=enough, sparing=True)
        if self.whole and enough is not None and not self._is_settled(cell, up, enough):
            reached = self.attack.push_whole(cell, up=up, enough=enough)
        if reached is None or (reached == enough and not self.ledger.shows(cell, up=up)):
            self.unclear.add(cell)

    def _is_settled(self, cell: int, up: bool, enough: float) -> bool:
        """Whether the cell was shown to get to `enough`."""
        return bool(self.ledger.shown(cell, up=up) >= abs(enough - self.problem.table.values[cell]))

    def _lift(self, component: Component, moved: Float) -> None:
        """Make a deviation exact and note what it shows; one that stays inexact shows nothing."""
        cells = component.cells
        rooms = self.ledger.room_down[cells], self.ledger.room_up[cells]
        witness = lift(component, moved, *rooms)
        if witness is None and not self.whole and len(cells) <= self.params.most_eliminated:
            witness = self._lattice_of(cells, np.minimum(*rooms)).lift(moved, *rooms)
        if witness is not None:
            self.ledger.add(witness, stretch=True)

    def _lattice_of(self, cells: Int, room: Int) -> Lattice:
        """Of a component; the last one is kept, as the cells of a component are examined together."""
        if self._lattice is None or not np.array_equal(self._lattice.cells, cells):
            self._lattice = Lattice(self.problem.table.relations, cells, room.astype(np.float64))
        return self._lattice

    def is_safe(self, cell: int) -> bool:
        """Whether the cell was shown protected."""
        shown = self.ledger.shows(cell, up=True) and self.ledger.shows(cell, up=False)
        return bool(self.attack.view.hidden[cell]) and shown and self.ledger.shows_width(cell)

    def report(self) -> OutsiderReport:
        """The verdict."""
        cells, values = self.problem.primaries, self.problem.table.values
        hidden = self.attack.view.hidden
        witnesses = ((w.cells, w.numerators, w.denominator) for w in self.ledger.witnesses())
        fall, rise = self.ledger.farthest()
        attacker = "integer" if self.whole else "outsider"
        certificate = Certificate.of(self.problem.content_hash, pattern_hash(hidden), witnesses, attacker)
        safe = np.array([self.is_safe(cell) for cell in cells.tolist()], dtype=bool)
        safe &= check_witnesses(self.problem, hidden, certificate).protected & hidden[cells]
        # An unclear answer matters only where it left a cell unshown.
        cut_short = bool(self.unclear & set(cells[~safe].tolist()))
        return OutsiderReport(
            view_hash=self.attack.view.content_hash,
            attacker=attacker,
            cells=cells,
            lower=np.minimum(self.attack.lowest, values - fall)[cells],
            upper=np.maximum(self.attack.highest, values + rise)[cells],
            required_lower=self.need_low[cells],
            required_upper=self.need_high[cells],
            required_width=self.problem.spl[cells],
            safe=safe,
            reason=Ending.SOLVE_UNCLEAR if cut_short else Ending.COMPLETE,
            is_exact=self.exact and not self.unclear,
            num_lps=self.attack.num_lps,
            seconds=time.perf_counter() - self._started,
            tolerance=tolerances.describe(),
            certificate=certificate,
        )
