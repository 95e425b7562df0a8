"""Run a range of seeds from the shell: `python -m fuzz.hunt FIRST NUMBER FOLDER`; keeps the wrong jobs."""

import shutil
import sys
import time
from pathlib import Path

from fuzz.running import coverage, run_one


def main() -> None:
    """Print every job that is wrong, then the coverage."""
    first, number, keep = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    jobs, begun = [], time.monotonic()
    for seed in range(first, first + number):
        folder = keep / str(seed)
        shutil.rmtree(folder, ignore_errors=True)
        jobs.append(run_one(seed, folder, ask_more=True))
        if jobs[-1].faults:
            print(jobs[-1], flush=True)
        else:
            shutil.rmtree(folder)
    print(coverage(jobs))
    print(f"{(time.monotonic() - begun) / number:.2f} s a job")


if __name__ == "__main__":
    main()
