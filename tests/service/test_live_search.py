"""The drawing of a search that goes on: its time begins with the search, not with the reading of the data."""

from cellveil.progress import Phase
from cellveil.service.store import EventKind, JobEvent
from cellveil.service.views import live_search


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
