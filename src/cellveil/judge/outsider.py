"""The judge of outsiders: compares feasibility intervals with the protection levels of primary cells.

The attacker (`cellveil.attack`) gets the public view only. The judge knows the truth and the required levels,
and calls a cell safe only when exact deviations show that the attacker's interval is wide enough: no answer,
an unclear answer, one that cannot be made exact, or no time left all mean *not shown safe*. The deviations
are the certificate, which `cellveil.certificate` checks without any of this code.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.certificate.certificate import Certificate, pattern_hash
from cellveil.certificate.verifier import check_witnesses
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cube_sums import prove_by_cubes_and_sums
from cellveil.deviations.witness import Witnesses
from cellveil.errors import counted
from cellveil.judge.attack_report import AttackReport, Ending
from cellveil.judge.cell_batches import examine_all
from cellveil.judge.cell_judge import AuditedView, CellJudge, OutsiderParams
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.public_view import PublicView
from cellveil.solvers import tolerances


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
    undecided
        Numbers of cells of which the attack gave no clear answer in time: neither shown safe nor refuted.
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
    undecided: Int

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
    started = time.perf_counter()
    progress, params = progress or Progress(), params or OutsiderParams()
    audited = AuditedView(problem, PublicView.of(problem, pattern), exact, whole, params)
    judge = CellJudge(audited, deadline)
    if claims is not None:
        judge.ledger.add_claims(claims.take(np.flatnonzero(claims.denominators == 1)) if whole else claims)
    if not exact:
        progress.stage("cubes")
        prove_by_cubes_and_sums(judge.ledger, params.cubes, deadline)
    left = problem.primaries[np.argsort(judge.attack.component_of[problem.primaries], kind="stable")]
    left = left if exact else left[~judge.safe_among(left)]
    few_hidden = int(pattern.hidden.sum()) <= params.most_joint
    if not exact and not whole and len(left) >= params.min_joint and few_hidden:
        progress.stage("joint witnesses")
        judge.attack_together()
        left = left[~judge.safe_among(left)]
    progress.stage("audit")
    examine_all(judge, audited, left, progress)
    return _report(judge, started)


def _report(judge: CellJudge, started: float) -> OutsiderReport:
    """The verdict."""
    cells, values = judge.problem.primaries, judge.problem.table.values
    hidden = judge.attack.view.hidden
    witnesses = judge.ledger.witnesses()
    fall, rise = judge.ledger.farthest()
    attacker = "integer" if judge.whole else "outsider"
    certificate = Certificate(
        judge.problem.content_hash,
        pattern_hash(hidden),
        attacker,
        witnesses.starts,
        witnesses.cells.astype(np.int32),
        witnesses.numerators,
        witnesses.denominators,
    )
    safe = judge.safe_among(cells)
    safe &= check_witnesses(judge.problem, hidden, certificate).protected & hidden[cells]
    # An unclear answer matters only where it left a cell unshown.
    unclear = judge.unclear & set(cells[~safe].tolist())
    undecided = np.array(sorted(unclear - judge.refuted), dtype=np.int64)
    return OutsiderReport(
        view_hash=judge.attack.view.content_hash,
        attacker=attacker,
        cells=cells,
        lower=np.minimum(judge.attack.lowest, values - fall)[cells],
        upper=np.maximum(judge.attack.highest, values + rise)[cells],
        required_lower=judge.need_low[cells],
        required_upper=judge.need_high[cells],
        required_width=judge.problem.spl[cells],
        safe=safe,
        reason=Ending.SOLVE_UNCLEAR if unclear else Ending.COMPLETE,
        is_exact=judge.exact and not judge.unclear,
        num_lps=judge.attack.num_lps,
        seconds=time.perf_counter() - started,
        tolerance=tolerances.describe(),
        certificate=certificate,
        undecided=undecided,
    )
