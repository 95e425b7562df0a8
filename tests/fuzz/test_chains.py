"""Random chains of releases, and of linked tables, against the judge of what readers can work out.

`-m slow` runs 2,000 chains and 500 jobs with
three linked tables, or as many as CELLVEIL_FUZZ_CHAINS and CELLVEIL_FUZZ_MARGINS say, from
CELLVEIL_FUZZ_SEED on.
"""

import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from fuzz.chains import draw_chain, draw_margins
from fuzz.hunt_chains import run_one
from fuzz.planted_chains import PLANTED, planted
from fuzz.running import BAD_INPUT, RELEASED
from fuzz.running_chains import run_chain, summary
from helpers.examples import few_of

LEAST_RELEASED = 0.6
MAY_BE_REFUSED = ("batch", "batch the other way round", "renamed codes, folded, nothing said")


@pytest.mark.parametrize("seed", few_of(range(8), 4))
def test_a_sample_of_chains(seed: int, tmp_path: Path) -> None:
    ran = run_chain(f"chain {seed}", draw_chain(seed), tmp_path / "chain")
    assert not ran.findings, str(ran)


@pytest.mark.parametrize("seed", few_of(range(4), 2))
def test_a_sample_of_linked_tables(seed: int, tmp_path: Path) -> None:
    ran = run_chain(f"margins {seed}", draw_margins(seed), tmp_path / "chain")
    assert not ran.findings, str(ran)


@pytest.mark.parametrize("kind", PLANTED)
def test_one_chain_of_each_kind(kind: str, tmp_path: Path) -> None:
    ran = run_chain(kind, planted(kind), tmp_path / "chain")
    assert not ran.findings, str(ran)
    assert kind in MAY_BE_REFUSED or BAD_INPUT not in [step.outcome for step in ran.steps], ran.messages


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "usual"), [("chains", 2000), ("margins", 500)])
def test_random_releases(kind: str, usual: int, tmp_path: Path) -> None:
    number = int(os.environ.get(f"CELLVEIL_FUZZ_{kind.upper()}", str(usual)))
    first = int(os.environ.get("CELLVEIL_FUZZ_SEED", "1000"))
    with ProcessPoolExecutor(max(1, (os.cpu_count() or 2) // 2)) as pool:
        run = partial(run_one, kind, tmp_path, False, 0)
        chains = list(pool.map(run, range(first, first + number), chunksize=5))
    print(summary(chains))
    wrong = [ran for ran in chains if ran.findings]
    assert not wrong, "\n".join([f"{len(wrong)} of {number} are wrong", *map(str, wrong[:40])])
    outcomes = [step.outcome for ran in chains for step in ran.steps]
    assert outcomes.count(RELEASED) >= LEAST_RELEASED * len(outcomes)
