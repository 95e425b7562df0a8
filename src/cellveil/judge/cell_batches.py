"""Batches of primary cells, audited apart: by other processes or machines, or here, with the same findings.

How cells are put together depends on the table alone. A batch is examined with a ledger and programs of its
own, so that what it finds does not depend on who examines it, or on what was examined before: the certificate
of an audit is the same, byte by byte, whatever the number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.clock import Deadline
from cellveil.deviations.witness import Witnesses
from cellveil.judge.cell_judge import AuditedView, CellJudge, OutsiderParams
from cellveil.progress import Progress
from cellveil.tasks import task_pool


@dataclass(frozen=True, eq=False)
class CellBatch:
    """Cells to examine, neighbours together.

    Parameters
    ----------
    cells
        Their numbers.
    known
        Deviations that meet some of their demands already.
    """

    cells: Int
    known: Witnesses
    deadline: Deadline


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found out about the cells of a batch."""

    cells: Int
    lowest: Float
    highest: Float
    witnesses: Witnesses
    num_lps: int
    unclear: set[int]
    refuted: set[int]


def examine_all(judge: CellJudge, audited: AuditedView, cells: Int, progress: Progress) -> None:
    """Examine cells, ordered by component, batch by batch, and let the judge know what was found."""
    batches = _hardest_first(judge, batches_of(cells, audited.params))
    if len(batches) == 1:
        for done, cell in enumerate(cells.tolist()):
            judge.examine(cell)
            progress.advance(done + 1, len(cells), lps=judge.attack.num_lps)
        return
    tasks = [CellBatch(batch, _known(judge, batch), judge.deadline) for batch in batches]
    pool = task_pool(audited.params.workers)
    ends = np.cumsum([len(batch) for batch in batches]).tolist()
    found = pool.run(_examine, audited, tasks, lambda done: progress.advance(ends[done - 1], len(cells)))
    for findings in found:
        _take(judge, findings)


def batches_of(cells: Int, params: OutsiderParams) -> list[Int]:
    """Cells in as many parts of about the same size as pay; one where there are few."""
    number = min(len(cells) // params.batch, params.most_batches)
    return np.array_split(cells, max(number, 1))


def _hardest_first(judge: CellJudge, batches: list[Int]) -> list[Int]:
    """The batches with the largest demands first, which take longest: so workers end at about the same time.

    The order is the same whatever the number of workers.
    """
    asked = np.maximum(judge.ledger.need_up, judge.ledger.need_down)
    return sorted(batches, key=lambda batch: -int(asked[batch].max(initial=0)))


def _known(judge: CellJudge, cells: Int) -> Witnesses:
    """The deviations that meet demands of some cells already."""
    ledger = judge.ledger
    numbers = np.unique(np.concatenate([ledger.witness_up[cells], ledger.witness_down[cells]]))
    return Witnesses.of([ledger.witness(number) for number in numbers[numbers >= 0].tolist()])


def _examine(audited: AuditedView, batch: CellBatch) -> Findings:
    """Examine the cells of a batch."""
    judge, cells = CellJudge(audited, batch.deadline), batch.cells
    judge.ledger.add_all(batch.known)
    for cell in cells.tolist():
        judge.examine(cell)
    attack = judge.attack
    lowest, highest = attack.lowest[cells], attack.highest[cells]
    witnesses = judge.ledger.witnesses()
    return Findings(cells, lowest, highest, witnesses, attack.num_lps, judge.unclear, judge.refuted)


def _take(judge: CellJudge, findings: Findings) -> None:
    """Add what a batch found to what the judge knows."""
    for witness in findings.witnesses:
        judge.ledger.add(witness, stretch=True)
    cells, attack = findings.cells, judge.attack
    attack.lowest[cells] = np.minimum(attack.lowest[cells], findings.lowest)
    attack.highest[cells] = np.maximum(attack.highest[cells], findings.highest)
    attack.num_lps += findings.num_lps
    judge.unclear |= findings.unclear
    judge.refuted |= findings.refuted
