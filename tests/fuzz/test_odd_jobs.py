"""Random job files, sensible and not: no crash, messages that help, and no release that programs refute.

The slow test runs 2,000 of them, or as many as CELLVEIL_FUZZ_JOBS says, from CELLVEIL_FUZZ_SEED on.
"""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest

from fuzz.odd_jobs import run_odd
from helpers.examples import few_of

SAMPLE = range(40)


@pytest.mark.parametrize("seed", few_of(SAMPLE, 8))
def test_a_sample_of_odd_jobs(seed: int, tmp_path: Path) -> None:
    ended = run_odd(seed, tmp_path)
    assert not ended.faults, str(ended)


@pytest.mark.slow
def test_odd_jobs(tmp_path: Path) -> None:
    number = int(os.environ.get("CELLVEIL_FUZZ_JOBS", "2000"))
    start = int(os.environ.get("CELLVEIL_FUZZ_SEED", "1000"))
    found = []
    for seed in range(start, start + number):
        found.append(run_odd(seed, tmp_path / str(seed)))
        shutil.rmtree(tmp_path / str(seed))
    print(Counter(ended.outcome for ended in found))
    wrong = [ended for ended in found if ended.faults]
    assert not wrong, "\n".join([f"{len(wrong)} of {number} are wrong:", *map(str, wrong[:40])])
