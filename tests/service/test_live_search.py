"""The drawing of a search that goes on: its time begins with the search, not with the reading of the data."""

import io
import json
import re

import pytest

from cellveil.progress import Phase
from cellveil.service.store import EventKind, JobEvent
from cellveil.service.views import live_search
from cellveil.service.worker_channel import Channel, ToldProgress


def told(phase: Phase, elapsed: float, **figures: float) -> JobEvent:
    return JobEvent(0, EventKind.PROGRESS, {"phase": phase.words, "elapsed": elapsed, **figures})


def test_the_time_of_the_search_is_drawn():
    events = [
        told(Phase.READ, 50.0),
        told(Phase.SEARCH, 60.0),
        told(Phase.SEARCH, 61.0, cost=5.0, bound=1.0),
        told(Phase.SEARCH, 70.0, cost=4.0, bound=2.0),
    ]
    drawn = live_search(events)
    assert ">10 s<" in drawn and 'class="bound"' in drawn


def test_nothing_is_drawn_before_there_is_a_pattern():
    assert live_search([]) == live_search([told(Phase.SEARCH, 3.0)]) == ""


def test_the_time_of_the_other_attackers_is_drawn_and_that_of_another_search_is_not():
    events = [
        told(Phase.SEARCH, 60.0, cost=5.0, bound=1.0),
        told(Phase.OTHERS, 75.0, cost=8.0, bound=1.0),
        told(Phase.AUDIT, 80.0, cost=8.0, bound=1.0),
        told(Phase.COMPARE, 95.0, cost=90.0),
    ]
    drawn = live_search(events)
    assert ">20 s<" in drawn and drawn == live_search(events[:3])


def lines_of(tell):
    stream = io.StringIO()
    tell(ToldProgress(Channel(stream)))
    return [json.loads(line)["data"] for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("figures", "gap"),
    [
        ([{"cost": 400.0, "bound": 100.0}], 0.75),
        ([{"cost": 400.0, "bound": 100.0, "gap": 0.0}], 0.75),
        ([{"cost": 100.0, "bound": 100.0}, {"gap": 0.5}], 0.0),
        ([{"cost": 100.0, "bound": 100.0}, {"cost": 400.0}], 0.75),
        ([{"cost": 400.0, "bound": 100.0}, {"cost": 400.0, "bound": 50.0}], 0.75),
        ([{"cost": 400.0, "bound": 0}], None),
        ([{"cost": 400.0}], None),
        ([{"cost": 0.0, "bound": 0.0}], None),
    ],
)
def test_the_gap_that_is_told_is_that_of_cost_and_bound_and_of_the_drawing(figures, gap):
    def tell(progress):
        progress.phase(Phase.SEARCH)
        for one in figures:
            progress.advance(1, None, **one)
        progress.phase(Phase.AUDIT)

    last = lines_of(tell)[-1]
    assert last.get("gap") == gap
    drawn = live_search([told(Phase.SEARCH, 0.0), JobEvent(2, EventKind.PROGRESS, last)])
    ends = [float(points.rsplit(",", 1)[1]) for points in re.findall(r'points="([^"]*)"', drawn)]
    if gap is None:
        assert len(ends) <= 1
    else:
        base = 240.0 - 54.0
        assert (base - ends[1]) / (base - ends[0]) == pytest.approx(1 - gap, abs=0.002)


def test_another_search_has_figures_of_its_own():
    def tell(progress):
        progress.phase(Phase.SEARCH)
        progress.advance(1, None, cost=5.0, bound=4.0, published=0.5)
        progress.phase(Phase.OTHERS)
        progress.phase(Phase.ADJUST)

    *_, others, adjust = lines_of(tell)
    assert others["cost"] == 5.0 and "cost" not in adjust and "gap" not in adjust
