"""Run chains of releases from the shell: `python -m fuzz.hunt_chains chains|margins FIRST NUMBER FOLDER`.

Run it in the folder `tests`. A wrong chain stays in the folder; with `--cuts N`, N trials of a smaller one
that has the same kind of finding follow, and the smallest stays too. With `--blind`, jobs name no former
releases: what leaks then, the judge has to find.
`--workers W` runs W chains at a time. A summary comes last; the exit code is 1 where a chain is wrong.
"""

import argparse
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from fuzz.chains import draw_chain, draw_margins
from fuzz.running_chains import ChainRan, run_chain, summary
from fuzz.smaller_chains import smaller

DRAW = {"chains": draw_chain, "margins": draw_margins}


def run_one(kind: str, keep: Path, is_blind: bool, cuts: int, seed: int) -> ChainRan:
    """Run the chain of a seed; keep its folder, and that of a smaller one, where it is wrong."""
    folder = keep / f"{kind}-{seed}"
    ran = run_chain(f"{kind} {seed}", DRAW[kind](seed), folder, is_blind=is_blind)
    if not ran.findings:
        shutil.rmtree(folder)
    elif cuts:
        smaller(ran.chain, keep / f"{kind}-{seed}-smaller", min(ran.kinds), most=cuts)
    return ran


def main() -> int:
    """Print every chain that is wrong, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=DRAW)
    parser.add_argument("first", type=int)
    parser.add_argument("number", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--cuts", type=int, default=0, help="trials of smaller chains for each wrong one")
    given = parser.parse_args()
    run = partial(run_one, given.kind, given.folder, given.blind, given.cuts)
    seeds, begun, chains = range(given.first, given.first + given.number), time.monotonic(), []
    with ProcessPoolExecutor(given.workers) if given.workers > 1 else nullcontext() as pool:
        for ran in pool.map(run, seeds, chunksize=5) if pool else map(run, seeds):
            chains.append(ran)
            if ran.findings:
                print(ran, flush=True)
            elif not len(chains) % 50:
                print(f"{len(chains)} chains", flush=True)
    print(summary(chains))
    print(f"{(time.monotonic() - begun) / given.number:.2f} s a chain")
    return int(any(ran.findings for ran in chains))


if __name__ == "__main__":
    sys.exit(main())
