"""Random jobs against the judge: nothing that is released may be wrong.

`make test-slow` runs 2,000 of them, or as many as CELLVEIL_FUZZ_JOBS says, from CELLVEIL_FUZZ_SEED on.
"""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from fuzz.running import CRASH, RELEASED, Ran, coverage, run_one
from helpers.examples import few_of

SAMPLE = range(25)
ASK_MORE_EVERY = 5
COMMAND_EVERY = 100
LEAST_RELEASED = 0.6
LEAST_PER_FEATURE = 0.001


@pytest.mark.parametrize("seed", few_of(SAMPLE, 10))
def test_a_sample_of_jobs(seed: int, tmp_path: Path) -> None:
    ran = run_one(seed, tmp_path / "job", ask_more=seed % ASK_MORE_EVERY == 0)
    assert not ran.faults, str(ran)


@pytest.mark.slow
def test_random_jobs(tmp_path: Path) -> None:
    number = int(os.environ.get("CELLVEIL_FUZZ_JOBS", "2000"))
    start = int(os.environ.get("CELLVEIL_FUZZ_SEED", "1000"))
    jobs: list[Ran] = []
    for seed in range(start, start + number):
        folder = tmp_path / str(seed)
        jobs.append(run_one(seed, folder, by_command=seed % COMMAND_EVERY == 0, ask_more=True))
        shutil.rmtree(folder)
    print(coverage(jobs))
    wrong = [ran for ran in jobs if ran.faults]
    kinds = Counter(kind for ran in wrong for kind in {kind for kind, _ in ran.faults})
    assert not wrong, "\n".join([f"{len(wrong)} of {number} are wrong: {dict(kinds)}", *map(str, wrong[:40])])
    released = [ran for ran in jobs if ran.outcome == RELEASED]
    assert len(released) >= LEAST_RELEASED * number
    assert not [ran for ran in jobs if ran.outcome == CRASH]
    if number >= 1000:
        drawn = Counter(feature for ran in jobs for feature in ran.features)
        seen = Counter(feature for ran in released for feature in ran.features)
        assert not [feature for feature in drawn if seen[feature] < LEAST_PER_FEATURE * number]
