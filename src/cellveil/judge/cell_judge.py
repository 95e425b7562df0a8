"""The judge of single cells: asks an outsider's attack, makes each answer exact, and keeps what was shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Float, Int
from cellveil.attack.bound_propagation import Unpicked, unpick
from cellveil.attack.interval_programs import IntervalParams
from cellveil.attack.intervals import HiddenComponents, OutsiderAttack
from cellveil.attack.network_intervals import NetworkFlows
from cellveil.clock import Deadline
from cellveil.deviations.components import Component
from cellveil.deviations.cube_sums import CubeProofParams
from cellveil.deviations.exact_rounding import lift
from cellveil.deviations.integer_kernel import Lattice
from cellveil.deviations.joint_witness import JointWitness, Task
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.public_view import PublicView


@dataclass(frozen=True, kw_only=True)
class OutsiderParams(Params):
    """Parameters of the outsider's audit; verdicts and exact intervals do not depend on them.

    Certificates depend on the batches, and never on who examines them.
    """

    workers: int = param(1, "Processes that examine cells.", least=1)
    batch: int = param(24, "Fewest cells examined together, each batch on its own.", least=1)
    most_batches: int = param(64, "Batches at most.", least=1)
    min_joint: int = param(48, "Fewest open cells for joint witnesses.", least=0)
    most_joint: int = param(30_000, "Most hidden cells for joint witnesses.", least=0)
    joint_seconds: float = param(60.0, "Seconds for joint witnesses, at most.", least=0)
    most_eliminated: int = param(30_000, "Largest component for the integer kernel.", least=0)
    cubes: CubeProofParams = part(CubeProofParams)
    intervals: IntervalParams = part(IntervalParams)


@dataclass(frozen=True, repr=False, eq=False)
class AuditedView:
    """What is judged: a view of a problem, and how.

    Parameters
    ----------
    exact
        Whether every interval is computed to its ends.
    whole
        Whether the attacker knows that all values are whole numbers of the last digit.
    """

    problem: Problem
    view: PublicView
    exact: bool
    whole: bool
    params: OutsiderParams

    @cached_property
    def hidden(self) -> HiddenComponents:
        """The components of what is hidden."""
        return HiddenComponents(self.view, self.params.intervals)

    def __getstate__(self) -> dict[str, object]:
        """What crosses to workers: no contributions, which outsiders do not know."""
        table = self.problem.table.replace(units=None, holdings=None)
        kept = {name: thing for name, thing in self.__dict__.items() if name != "hidden"}
        return kept | {"problem": self.problem.replace(table=table)}


class CellJudge:
    """Knows the truth; asks the attacker; keeps what was shown."""

    def __init__(self, audited: AuditedView, deadline: Deadline) -> None:
        problem, view, params = audited.problem, audited.view, audited.params
        values = problem.table.values
        self.problem, self.exact, self.whole = problem, audited.exact, audited.whole
        self.deadline, self.params = deadline, params
        self.need_low, self.need_high = values - problem.lpl, values + problem.upl
        self.ledger = Ledger(problem, view.hidden, is_final=True, whole=self.whole)
        rooms = self.ledger.room_down, self.ledger.room_up
        parts = audited.hidden.component_of, audited.hidden.components
        self.flows = NetworkFlows(view.relations, view.hidden, rooms, deadline, parts)
        self.unclear: set[int] = set()
        self.refuted: set[int] = set()
        """Cells of which an attack came to its end and did not get as far as they must."""
        self._lattice: Lattice | None = None
        # The truth agrees with the view: a feasible start for the attack, which changes no answer.
        self.attack = OutsiderAttack(view, values, deadline, self._lift, hidden=audited.hidden)

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
            if self.ledger.shows(cell, up=up):
                continue
            need = float((self.need_high if up else self.need_low)[cell])
            if self._is_hopeless(cell, up) or self._falls_short(self._push(cell, up, need), need, up):
                self.refuted.add(cell)
        width = int(self.problem.spl[cell])
        if width and int(self._unpicked.upper[cell]) - int(self._unpicked.lower[cell]) < width:
            self.refuted.add(cell)
        for up in (True, False):
            if not self.ledger.shows_width(cell):
                value = int(self.problem.table.values[cell])
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

    @staticmethod
    def _falls_short(reached: float | None, need: float, up: bool) -> bool:
        """Whether the solver proved that the cell does not get as far as it must."""
        return reached is not None and (reached < need if up else reached > need)

    def _push(self, cell: int, up: bool, enough: float | None) -> float | None:
        """How far the attack got: `enough` or less; None where there was no clear answer in time."""
        if enough is not None and not self.exact:
            amount = abs(int(enough) - int(self.problem.table.values[cell]))
            if (witness := self.flows.find(cell, amount, up=up)) is not None:
                self.ledger.add(witness, stretch=True)
                if self.ledger.shows(cell, up=up):
                    return enough
        if enough is not None and self._shows_in_windows(cell, up, enough):
            return enough
        reached = self.attack.push(cell, up=up, enough=enough)
        if reached == enough and enough is not None and not self.ledger.shows(cell, up=up):
            reached = self.attack.push(cell, up=up, enough=enough, sparing=True)
        if self.whole and enough is not None and not self._is_settled(cell, up, enough):
            reached = self.attack.push_whole(cell, up=up, enough=enough)
        if reached is None or (reached == enough and not self.ledger.shows(cell, up=up)):
            self.unclear.add(cell)
        return reached

    def _shows_in_windows(self, cell: int, up: bool, enough: float) -> bool:
        """Whether the cell was shown to get to `enough` inside windows, the smallest first.

        In small ones the others move as little as needed, so that vertices are mostly whole numbers. Where
        nearly everything has to move, simplex takes long: in larger ones interior points are made exact.
        """
        for number in range(self.attack.num_windows(cell)):
            window = self.attack.window(cell, number)
            if self.deadline.is_over:
                return False
            if len(window.cells) and number < self.params.intervals.narrow:
                self.attack.push_inside(window, cell, up=up, enough=enough)
            elif len(window.cells) and not self.whole:
                self._move_inside(window, cell, up, enough)
            if self._is_settled(cell, up, enough):
                return True
        return False

    def _move_inside(self, window: Component, cell: int, up: bool, enough: float) -> None:
        """Look for a deviation of a window by an interior point, made exact on the lattice."""
        amount = abs(int(enough) - int(self.problem.table.values[cell]))
        allowed = np.zeros(self.problem.table.num_cells, dtype=bool)
        allowed[window.cells] = True
        joint = JointWitness(self.problem, self.deadline)
        self.attack.num_lps += 1
        if (witness := joint.exact(self.ledger, Task.single(cell, up, amount), allowed)) is not None:
            self.ledger.add(witness, stretch=True)

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

    def safe_among(self, cells: Int) -> Bool:
        """Which of the cells were shown protected; those with sliding levels are looked at one by one."""
        problem, ledger = self.problem, self.ledger
        rise = np.where(ledger.witness_up[cells] >= 0, ledger.need_up[cells], 0)
        fall = np.where(ledger.witness_down[cells] >= 0, ledger.need_down[cells], 0)
        safe = self.attack.view.hidden[cells] & (rise >= problem.upl[cells]) & (fall >= problem.lpl[cells])
        for place in np.flatnonzero(problem.spl[cells] > 0).tolist():
            safe[place] = self.is_safe(int(cells[place]))
        return np.asarray(safe, dtype=bool)
