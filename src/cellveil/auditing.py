"""The judge: compares what an attacker can work out with what must stay uncertain.

The attacker (`cellveil.attack`) gets the public view only. The judge knows the truth and the required levels,
and calls a cell safe only when the attacker's interval was shown to be wide enough: no answer, an unclear
answer, or no time left all mean *not shown safe*.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cellveil.attack.intervals import OutsiderAttack
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers import tolerances
from cellveil.tables.keys import Int
from cellveil.view import Pattern, PublicView

Float = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class AuditReport:
    """The verdict on one public view, cell by cell.

    Amounts are in units of the last digit.

    Parameters
    ----------
    view_hash
        Digest of the view that was judged; the verdict holds for no other.
    attacker
        Whose attack it was.
    cells
        Numbers of the primary cells.
    lower, upper
        The interval the attacker is left with; where `is_exact` is false, the part of it that was shown.
    required_lower, required_upper
        The interval must reach down and up to these.
    required_width
        And be at least this wide.
    safe
        Per cell: whether that was shown.
    reason
        Why the audit ended: "complete", or what cut it short.
    is_exact
        Whether every interval was computed to its ends.
    """

    view_hash: str
    attacker: str
    cells: Int
    lower: Float
    upper: Float
    required_lower: Int
    required_upper: Int
    required_width: Int
    safe: NDArray[np.bool_]
    reason: str
    is_exact: bool
    num_lps: int
    seconds: float
    tolerance: str

    @property
    def is_safe(self) -> bool:
        """Whether every primary cell was shown to be protected."""
        return bool(self.safe.all()) and self.reason == "complete"

    @property
    def unsafe_cells(self) -> Int:
        """Numbers of the cells not shown safe."""
        return self.cells[~self.safe]

    def __repr__(self) -> str:
        verdict = "safe" if self.is_safe else f"NOT SAFE: {len(self.unsafe_cells)} not shown protected"
        return f"AuditReport({verdict}, {len(self.cells)} primary cells, attacker {self.attacker!r})"

    def _repr_html_(self) -> str:
        return f"<code>{self!r}</code>"


def audit(
    problem: Problem,
    pattern: Pattern,
    *,
    exact: bool = True,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Attack the pattern's public view as an outsider and judge every primary cell.

    Parameters
    ----------
    exact
        Compute every interval to its ends. Otherwise stop at each cell as soon as enough is shown, which
        needs far fewer LPs and gives the same verdict.

    Examples
    --------
    >>> from cellveil.datasets import two_way
    >>> problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    >>> audit(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries only"))
    AuditReport(NOT SAFE: 1 not shown protected, 1 primary cells, attacker 'outsider')
    """
    started = time.perf_counter()
    progress = progress or Progress()
    view = PublicView.of(problem, pattern)
    attack = OutsiderAttack(view, problem.table.values, time_limit)  # the truth is a feasible start
    judge = _Judge(problem, attack, exact)
    order = problem.primaries[np.argsort(attack.component_of[problem.primaries], kind="stable")]
    progress.stage("audit")
    for done, cell in enumerate(order.tolist()):
        judge.examine(cell)
        progress.advance(done + 1, len(order), lps=attack.num_lps)
    return judge.report(view.content_hash, time.perf_counter() - started)


class _Judge:
    """Knows the truth; asks the attacker; keeps what was shown."""

    def __init__(self, problem: Problem, attack: OutsiderAttack, exact: bool) -> None:
        values = problem.table.values
        self.problem, self.attack, self.exact = problem, attack, exact
        self.need_low, self.need_high = values - problem.lpl, values + problem.upl
        self.slack = tolerances.judge_slack(values)
        self.unclear = False

    def examine(self, cell: int) -> None:
        if not self.attack.view.hidden[cell]:
            return
        for up in (True, False):
            if self.exact:
                self._push(cell, up, None)
            elif not self._enough(cell, up):
                self._push(cell, up, float((self.need_high if up else self.need_low)[cell]))
        if not self.exact and not self._wide_enough(cell):
            for up in (True, False):
                self._push(cell, up, None)

    def _push(self, cell: int, up: bool, enough: float | None) -> None:
        self.unclear |= self.attack.push(cell, up=up, enough=enough) is None

    def _enough(self, cell: int, up: bool) -> bool:
        if up:
            return bool(self.attack.highest[cell] >= self.need_high[cell] - self.slack[cell])
        return bool(self.attack.lowest[cell] <= self.need_low[cell] + self.slack[cell])

    def _wide_enough(self, cell: int) -> bool:
        return bool(
            self.attack.highest[cell] - self.attack.lowest[cell] >= self.problem.spl[cell] - self.slack[cell]
        )

    def _is_safe(self, cell: int) -> bool:
        hidden = bool(self.attack.view.hidden[cell])
        return hidden and self._enough(cell, True) and self._enough(cell, False) and self._wide_enough(cell)

    def report(self, view_hash: str, seconds: float) -> AuditReport:
        cells = self.problem.primaries
        safe = np.array([self._is_safe(cell) for cell in cells.tolist()], dtype=bool)
        # An unclear answer matters only where it left a cell unshown.
        reason = (
            "a solve gave no clear answer or time ran out" if self.unclear and not safe.all() else "complete"
        )
        return AuditReport(
            view_hash,
            "outsider",
            cells,
            self.attack.lowest[cells],
            self.attack.highest[cells],
            self.need_low[cells],
            self.need_high[cells],
            self.problem.spl[cells],
            safe,
            reason,
            self.exact and not self.unclear,
            self.attack.num_lps,
            seconds,
            tolerances.describe(),
        )
