"""What insiders must not find out: the judge's amounts and the package's, pair by pair on random jobs."""

from pathlib import Path

import pytest

from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import OwnParts
from cellveil.job import read_job
from cellveil.job.preparing import prepare
from cellveil.progress import Progress
from fuzz.jobs import write_job
from fuzz.own_levels import OwnLevels
from fuzz.rules import primaries
from fuzz.world import read_world
from helpers.examples import few_of

SEEDS = (7, 14, 20, 22, 28, 33, 35, 43, 50, 57)
"""Jobs with contributions to the published variable, some of them with holdings."""


@pytest.mark.parametrize("seed", few_of(SEEDS, 5))
def test_the_package_asks_for_what_the_definition_says(seed: int, tmp_path: Path) -> None:
    """Where all contributors of a cell are listed; where there are more, it asks for no less."""
    write_job(seed, tmp_path)
    problem = prepare(read_job(tmp_path / "job.toml"), Progress()).problem
    world, compared = read_world(tmp_path), 0
    for level in ("unit", "holding") if problem.table.holdings is not None else ("unit",):
        parts = OwnParts.of(problem, level)
        theirs, ours = OwnDemands(problem, parts), OwnLevels.of(world, level)
        for key, levels in primaries(world).items():
            cell = problem.table.cell(*key)
            for place, who in enumerate(parts.names):
                if ours.parts[key].keys() <= {who}:
                    continue
                for up, amount in ours.demands(key, frozenset([who]), levels):
                    asked = theirs.amount(cell, up, place)
                    is_listed = parts.count[cell] <= parts.amount.shape[1]
                    assert asked == amount if is_listed else asked >= amount, (key, who, up)
                    compared += amount > 0
    assert compared
