"""The drawings of the docs are those that the scripts would make now."""

import pytest

from benchmarks.concept_pictures import IMAGES, pictures
from benchmarks.drawing import TARGET, WHAT, arrows, drawing, imports, levels, reached
from experiments.comparison.page import ALT
from helpers.source_tree import MODULES, ORDER, part_of

Graph = dict[str, set[str]]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return imports()


def test_the_committed_drawing_is_current() -> None:
    assert TARGET.read_text("utf-8") == drawing(), "run: python benchmarks/drawing.py"


def test_every_room_is_drawn_below_what_it_imports(graph: Graph) -> None:
    assert set(graph) == set(WHAT) and [room for room in ORDER if room in WHAT] == list(WHAT)[1:]
    rows = {room: row for row, rooms in enumerate(levels(graph)) for room in rooms}
    assert all(rows[room] > rows[target] for room, targets in graph.items() for target in targets)
    assert {part_of(module) for module in MODULES if module != "cellveil"} == set(ORDER)


def test_arrows_left_out_follow_from_others(graph: Graph) -> None:
    drawn = arrows(graph)
    less = {room: {target for one, target in drawn if one == room} for room in graph}
    assert all(reached(less, room) == reached(graph, room) for room in graph)
    assert sum(map(len, less.values())) < sum(map(len, graph.values()))


def test_the_drawings_of_tables_are_current() -> None:
    made = pictures()
    assert {name: (IMAGES / name).read_text("utf-8") for name in made} == made, "run: make pictures"
    others = {TARGET.stem, *ALT}  # of the rooms, and of the comparison
    assert {path.stem for path in IMAGES.glob("*.svg") if path.name not in made} <= others
