"""Two workers against one: certifying a table of 250,000 cells whose pattern came without witnesses.

    python benchmarks/cluster.py                          the whole table, processes of this machine
    python benchmarks/cluster.py --dask                   the same on a Dask cluster of one and of two workers
    python benchmarks/cluster.py --most 8                 only the first 8 batches, for a quick look
    python benchmarks/cluster.py --contributors 8         a table with few primary cells

A three-way table is protected by `auto`, whose time limit counts seconds of the processor. Then the pattern
alone, without what the search knows, is audited against outsiders until every primary cell has an exact
witness: cubes and sums of cubes first, in this program, then batches of cells by linear programs in windows.
One worker and two workers take turns in the same run; certificates are compared byte by byte. `own` and
`others` are seconds of the processor of this program and of its workers; `ideal` is what they would come to
on cores that nobody else uses: the seconds of one worker, over those of this program and of the busier one of
two workers.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ablation import count_processor_time

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))


def protected(shape: tuple[int, ...], contributors: float, limit: float) -> tuple[Any, Any]:
    """The table and its pattern, made in a process of its own, whose clock counts processor time."""
    import pickle

    code = (
        "import sys, pickle; sys.path.insert(0, sys.argv[1]); import cluster;"
        "sys.stdout.buffer.write(pickle.dumps(cluster.searched(eval(sys.argv[2]), *eval(sys.argv[3]))))"
    )
    arguments = [str(Path(__file__).parent), repr(shape), repr((contributors, limit))]
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, check=True)
    return pickle.loads(done.stdout)


def searched(shape: tuple[int, ...], contributors: float, limit: float) -> tuple[Any, Any]:
    """See `protected`."""
    count_processor_time()
    import cellveil as cv
    from cellveil.clock import Deadline
    from cellveil.datasets import random_table
    from cellveil.suppression.methods import METHODS

    problem, method = random_table(shape, contributors=contributors, seed=1), METHODS["auto"]
    draft = method.run(problem, deadline=Deadline(limit), seed=0, progress=None, params=method.read({}))
    return problem, cv.Pattern.hiding(problem, draft.hidden, "auto")


@contextmanager
def pool_of(workers: int, on_dask: bool) -> Iterator[Any]:
    """One or two workers."""
    from cellveil.tasks import InProcess, cluster, using_pool
    from cellveil.tasks.local_processes import LocalProcesses, end_processes
    from helpers.task_work import loaded

    if on_dask:
        from helpers.dask_workers import DaskWorkers

        with (
            TemporaryDirectory() as folder,
            DaskWorkers(workers, Path(folder)) as started,
            cluster(started.address) as pool,
        ):
            pool.run(loaded, None, [0] * workers)
            yield pool
        return
    with using_pool(InProcess() if workers == 1 else LocalProcesses(workers)) as pool:
        pool.run(loaded, None, [0] * workers)  # loaded before the clock starts, as they are for one worker
        yield pool
    end_processes()


def processor_seconds() -> dict[int, float]:
    """Of this process and of those below it, by their numbers."""
    import psutil

    own = psutil.Process()
    found = {}
    for process in (own, *own.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        found[process.pid] = times.user + times.system
    return found


def certify(problem: Any, pattern: Any, workers: int, given: argparse.Namespace) -> dict[str, Any]:
    """Audit and certificate, with its exact check."""
    from cellveil.judge import audit, cell_batches
    from cellveil.progress import Progress

    whole = cell_batches.batches_of
    if given.most:
        cell_batches.batches_of = lambda cells, params: whole(cells, params)[: given.most]
    try:
        with pool_of(workers, given.dask):
            before, began = processor_seconds(), time.perf_counter()
            found = audit(problem, pattern, exact=False, progress=Progress())
            seconds, after = time.perf_counter() - began, processor_seconds()
    finally:
        cell_batches.batches_of = whole
    used = {pid: after[pid] - before.get(pid, 0.0) for pid in after}
    own = used.pop(os.getpid())
    report = found.outsider
    assert report is not None
    data = replace(report.certificate).to_bytes()
    return {
        "workers": workers,
        "seconds": seconds,
        "own": own,
        "others": sorted(used.values(), reverse=True)[:workers],
        "safe": found.is_safe,
        "unshown": len(report.unsafe_cells),
        "programs": report.num_lps,
        "digest": sha256(data).hexdigest()[:16],
    }


def main() -> None:
    """Measure, turn by turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shape", default="71x71x71")
    parser.add_argument("--contributors", type=float, default=3.0)
    parser.add_argument("--limit", type=float, default=8.0, help="processor seconds of the search")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--most", type=int, default=0, help="batches at most; 0 for all")
    parser.add_argument("--dask", action="store_true")
    given = parser.parse_args()
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)  # where the workers find what loads them
    shape = tuple(int(size) for size in given.shape.split("x"))
    problem, pattern = protected(shape, given.contributors, given.limit)
    print(f"{problem}, {int(pattern.hidden.sum())} cells hidden", flush=True)
    best: dict[int, float] = {}
    digests, one_worker = set(), 0.0
    for _ in range(given.turns):
        for workers in (1, 2):
            found = certify(problem, pattern, workers, given)
            print({k: round(v, 2) if isinstance(v, float) else v for k, v in found.items()}, flush=True)
            best[workers] = min(best.get(workers, found["seconds"]), found["seconds"])
            digests.add(found["digest"])
            busy = found["own"] + max(found["others"], default=0.0)
            one_worker = busy if workers == 1 else one_worker
            if workers == 2:
                print(f"ideal {one_worker / busy:.2f}")
    print(f"ratio {best[1] / best[2]:.2f}, certificates {'the same' if len(digests) == 1 else 'DIFFER'}")


if __name__ == "__main__":
    main()
