"""Run chains of releases from the shell: `python -m fuzz.hunt_chains chains|margins FIRST NUMBER FOLDER`.

Run it in the folder `tests`. Wrong chains stay in the folder; a summary comes last.
"""

import shutil
import sys
import time
from pathlib import Path

from fuzz.chains import draw_chain, draw_margins
from fuzz.running_chains import run_chain, summary


def main() -> None:
    """Print every chain that is wrong, then the summary."""
    kind, first, number, keep = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    draw = {"chains": draw_chain, "margins": draw_margins}[kind]
    chains, begun = [], time.monotonic()
    for seed in range(first, first + number):
        folder = keep / f"{kind}-{seed}"
        chains.append(run_chain(f"{kind} {seed}", draw(seed), folder))
        if chains[-1].findings:
            print(chains[-1], flush=True)
        else:
            shutil.rmtree(folder)
    print(summary(chains))
    print(f"{(time.monotonic() - begun) / number:.2f} s a chain")


if __name__ == "__main__":
    main()
