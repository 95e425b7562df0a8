"""What insiders must not find out: the judge's amounts and the package's, pair by pair on random jobs."""

from operator import ge
from pathlib import Path

import pytest

from cellveil.attackers.own_demands import OwnDemands
from cellveil.attackers.own_parts import NOBODY, OwnParts
from cellveil.job import read_job
from cellveil.job.preparing import prepare
from cellveil.progress import Progress
from fuzz.jobs import write_job
from fuzz.own_levels import Levels, OwnLevels
from fuzz.rules import primaries
from fuzz.world import Key, read_world
from helpers.examples import few_of

SEEDS = (7, 14, 20, 22, 28, 33, 35, 43, 50, 57)
"""Jobs with contributions to the published variable, some of them with holdings."""


@pytest.mark.parametrize("seed", few_of(SEEDS, 5))
def test_the_package_asks_for_what_the_definition_says(seed: int, tmp_path: Path) -> None:
    """Where all contributors of a cell are listed; where there are more, it asks for no less."""
    write_job(seed, tmp_path)
    problem = prepare(read_job(tmp_path / "job.toml"), Progress()).problem
    world, compared = read_world(tmp_path), 0
    without_ids = "microdata" in world.job and "contributor" not in world.job["microdata"]
    for level in ("unit", "holding") if problem.table.holdings is not None else ("unit",):
        parts = OwnParts.of(problem, level)
        theirs, ours = OwnDemands(problem, parts), OwnLevels.of(world, level)
        for key, levels in primaries(world).items():
            cell = problem.table.cell(*key)
            if without_ids and level == "unit":
                compared += compared_as_a_whole(key, theirs, ours, cell, levels)
                continue
            for place, who in enumerate(parts.names):
                if ours.parts[key].keys() <= {who}:
                    continue
                for up, amount in ours.demands(key, frozenset([who]), levels):
                    asked = theirs.amount(cell, up, place)
                    is_listed = parts.count[cell] <= parts.amount.shape[1]
                    assert asked == amount if is_listed else asked >= amount, (key, who, up)
                    compared += amount > 0
    assert compared


def compared_as_a_whole(key: Key, theirs: OwnDemands, ours: OwnLevels, cell: int, levels: Levels) -> int:
    """Records without ids have other names in the package: all of a cell are compared, in order of size."""
    everybody = ours.parts[key] if len(ours.parts[key]) > 1 else {}  # nothing is asked against an owner
    listed = [int(who) for who in theirs.parts.who[cell] if who >= 0] if everybody else []
    compared, is_listed = 0, theirs.parts.count[cell] <= theirs.parts.amount.shape[1]
    for up in (True, False):
        wanted = sorted(amount_of(ours, key, who, up, levels) for who in everybody)
        asked = sorted(theirs.amount(cell, up, who) for who in listed)
        assert asked == wanted if is_listed else all(map(ge, asked, wanted)), (key, up)
        amount, other = amount_of(ours, key, None, up, levels), theirs.amount(cell, up, NOBODY)
        assert other == amount if is_listed else other >= amount, (key, up)
        compared += sum(one > 0 for one in (*wanted, amount))
    return compared


def amount_of(ours: OwnLevels, key: Key, who: str | None, up: bool, levels: Levels) -> int:
    """The amount against a contributor of the cell, or against one who has no part of it."""
    group = frozenset([who] if who else [])
    return dict(ours.demands(key, group, levels)).get(up, 0)
