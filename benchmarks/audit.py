"""The audit against the plain way: two linear programs for each primary cell, warm-started, on its component.

Prints, for each table, the seconds of our audit by stage, of the plain way (timed on a sample of the primary
cells where all of them would take too long), their ratio, and whether both give the same verdicts.

    python benchmarks/audit.py --shape 100x27x18 --sample 20
    python benchmarks/audit.py --shape 100x100x100 --sample 0
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from cellveil.arrays import Bool
from cellveil.certificate import Certificate, verify
from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.deviations.components import split
from cellveil.deviations.cubes import prove_by_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.solvers.lp import LiveLP, LPStatus


def protected(
    shape: tuple[int, ...], contributors: float, zeros: float, seed: int
) -> tuple[Problem, Pattern]:
    """A table and a safe pattern: the corners of one cube per primary cell.

    Primary cells that no cube can protect, however much is hidden, become ordinary cells: the benchmark is
    about auditing, not about finding patterns.
    """
    problem = random_table(shape, contributors=contributors, zeros=zeros, seed=seed)
    everything = problem.table.values > 0
    hopeless = _unproven(problem, everything)
    problem = problem.replace(
        status=np.where(hopeless, Status.SAFE, problem.status).astype(np.int8),
        upl=np.where(hopeless, 0, problem.upl),
        lpl=np.where(hopeless, 0, problem.lpl),
    )
    short = _unproven(problem, problem.hidden_at_start)
    rest = problem.replace(
        status=np.where(short, Status.PRIMARY, Status.SAFE).astype(np.int8),
        upl=np.where(short, problem.upl, 0),
        lpl=np.where(short, problem.lpl, 0),
    )
    helper = Ledger(rest, everything, is_final=True)
    prove_by_cubes(helper)
    hidden = problem.hidden_at_start.copy()
    hidden[helper.witnesses().cells] = True
    return problem, Pattern.hiding(problem, hidden, "cubes")


def _unproven(problem: Problem, hidden: Bool) -> Bool:
    """The cells with a demand that no cube of the hidden cells meets."""
    ledger = Ledger(problem, hidden, is_final=True)
    prove_by_cubes(ledger)
    return np.isin(np.arange(problem.table.num_cells), ledger.open_demands()[0])


def plain_way(problem: Problem, pattern: Pattern, cells: list[int], limit: float) -> tuple[float, int, bool]:
    """Two LPs for each cell over one variable per hidden cell, from the last basis, no harvest.

    Returns the seconds, how many cells were done within the limit, and whether all of them were found safe.
    """
    number, components = split(problem.table.relations, pattern.hidden)
    started = time.perf_counter()
    done, safe, live = 0, True, (-1, None)
    for cell in sorted(cells, key=lambda c: int(number[c])):
        component = components[number[cell]]
        if live[0] != number[cell]:
            down, up = -problem.down[component.cells], problem.up[component.cells]
            live = (number[cell], LiveLP(component.matrix, np.zeros(len(component.rows)), down, up))
        column = np.searchsorted(component.cells, cell)
        for sign, level in ((-1.0, problem.upl[cell]), (1.0, problem.lpl[cell])):
            costs = np.zeros(len(component.cells))
            costs[column] = sign
            live[1].set_costs(costs)
            answer = live[1].solve(Deadline(max(limit - (time.perf_counter() - started), 0.1)))
            if answer.status is LPStatus.UNBOUNDED:
                continue
            if answer.point is None:
                return time.perf_counter() - started, done, safe
            safe &= -sign * answer.point[column] >= level - 1e-3
        done += 1
    return time.perf_counter() - started, done, safe


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--shape", default="100x27x18")
    options.add_argument("--contributors", type=float, default=3.0)
    options.add_argument("--zeros", type=float, default=0.3)
    options.add_argument(
        "--sample", type=int, default=20, help="primary cells for the plain way; 0 leaves it out"
    )
    options.add_argument("--limit", type=float, default=300.0, help="seconds for the plain way")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    shape = tuple(int(size) for size in chosen.shape.split("x"))
    problem, pattern = protected(shape, chosen.contributors, chosen.zeros, chosen.seed)
    print(f"{problem}, {int(pattern.hidden.sum())} cells hidden")

    started = time.perf_counter()
    report = audit_outsider(problem, pattern, exact=False)
    ours = time.perf_counter() - started
    started = time.perf_counter()
    data = report.certificate.to_bytes()
    proof = verify(problem, pattern, Certificate.from_bytes(data))
    checking = time.perf_counter() - started
    print(f"audit     {ours:9.2f} s  {report!r}, {report.num_lps} LPs")
    print(
        f"verify    {checking:9.2f} s  {proof!r}, {proof.met} of {proof.demands} demands, "
        f"{len(data) / 1e6:.1f} MB"
    )
    print(f"memory    {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:9.2f} GB at most")
    if not chosen.sample:
        return
    sample = np.random.default_rng(chosen.seed).choice(
        problem.primaries, min(chosen.sample, len(problem.primaries)), replace=False
    )
    seconds, done, safe = plain_way(problem, pattern, sample.tolist(), chosen.limit)
    whole = seconds * len(problem.primaries) / max(done, 1)
    shown = "at least " if done < len(sample) else ""
    print(f"plain way {whole:9.2f} s  ({shown}{seconds:.1f} s for {done} of {len(problem.primaries)} cells)")
    print(f"ratio     {whole / (ours + checking):9.1f}    same verdict on these: {safe == report.is_safe}")


if __name__ == "__main__":
    main()
