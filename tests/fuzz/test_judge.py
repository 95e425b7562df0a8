"""The judge itself: cases with known answers, and releases with planted faults. No job is run here."""

import json
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fuzz.jobs import write_rows, write_toml
from fuzz.judge import judge, numbers_in
from fuzz.own_levels import OwnLevels
from fuzz.rules import primaries
from fuzz.world import read_world

Codes = tuple[str, ...]
ANN = [
    ("Ann", "North", "food", 20), ("Bob", "North", "wood", 30), ("c1", "North", "toys", 5),
    ("c2", "North", "toys", 4), ("d1", "South", "food", 7), ("d2", "South", "food", 7),
    ("d3", "South", "food", 8), ("e1", "South", "wood", 9), ("e2", "South", "wood", 9),
    ("e3", "South", "wood", 9), ("f1", "South", "toys", 6), ("f2", "South", "toys", 6),
]  # fmt: skip
ANN_UNSAFE = {
    "cells": [{"key": {"region": "North", "branch": kind}, "status": "u"} for kind in ("food", "wood")],
    "levels": {"safety_range": 15.0},
    "attackers": [],
}
RECTANGLE = [("North", "food"), ("North", "wood"), ("South", "food"), ("South", "wood")]
SIX = [*RECTANGLE, ("North", "toys"), ("South", "toys")]


def lay(
    folder: Path, firms: list[tuple[Any, ...]], hidden: Iterable[Codes], settings: dict[str, Any],
    *, shown: dict[Codes, str] | None = None, columns: str = "firm region branch sales",
) -> Path:  # fmt: skip
    """A job on region × branch with a release made by hand."""
    names = columns.split()
    folder.mkdir(exist_ok=True)
    write_rows(
        folder / "firms.csv",
        [*names, *(["grp"] if "grp" not in names else [])],
        [(*f, "holdingQ") for f in firms],
    )
    job = {
        "output": "out",
        "microdata": {"file": "firms.csv", "contributor": "firm"} | settings.pop("microdata", {}),
        "tables": [{"dimensions": ["region", "branch"], "response": "sales"}],
    }
    write_toml(folder / "job.toml", job | settings)
    sums: dict[Codes, Fraction] = {}
    weights = [Fraction(str(f[names.index("w")])) if "w" in names else 1 for f in firms]
    for firm, weight in zip(firms, weights, strict=True):
        region, branch, amount = (firm[names.index(name)] for name in ("region", "branch", "sales"))
        for key in product((region, "Total"), (branch, "Total")):
            sums[key] = sums.get(key, Fraction(0)) + weight * amount
    texts = {key: "x" if key in hidden else str(value) for key, value in sums.items()} | (shown or {})
    public = folder / "out" / "public"
    public.mkdir(parents=True, exist_ok=True)
    rows = [(*key, text, "x" if text == "x" else "") for key, text in texts.items()]
    write_rows(public / "table.csv", ["region", "branch", "value", "flag"], rows)
    about = {"hidden_cells": sum(text == "x" for text in texts.values())}
    (public / "about.json").write_text(json.dumps(about))
    return folder


def kinds(folder: Path) -> set[str]:
    return judge(folder).kinds


# -- attackers ----------------------------------------------------------------------------------------------


def test_a_singleton_sees_through_a_rectangle_and_not_through_six_cells(tmp_path: Path) -> None:
    insider = {"attackers": [{"kind": "insider"}]}
    assert kinds(lay(tmp_path / "a", ANN, RECTANGLE, dict(ANN_UNSAFE))) == set()
    assert kinds(lay(tmp_path / "b", ANN, RECTANGLE, ANN_UNSAFE | insider)) == {"open to insider"}
    assert kinds(lay(tmp_path / "c", ANN, SIX, ANN_UNSAFE | insider)) == set()


def test_a_coalition_sees_more(tmp_path: Path) -> None:
    firms = [firm for firm in ANN if firm[0] != "c2"]  # c1 alone in toys of the North
    alone, both = ({"attackers": [{"kind": "insider", "coalition": n}]} for n in (1, 2))
    settings = {"cells": ANN_UNSAFE["cells"][:1], "levels": {"safety_range": 15.0}}
    assert kinds(lay(tmp_path / "a", firms, SIX, settings | alone)) == set()
    assert kinds(lay(tmp_path / "b", firms, SIX, settings | both)) == {"open to insider coalition"}


def test_prior_knowledge_narrows(tmp_path: Path) -> None:
    named = [{"attackers": [{"kind": "outsider", "prior": percent}]} for percent in (100, 5)]
    wide, narrow = (one | {"default_attackers": False} for one in named)
    assert kinds(lay(tmp_path / "a", ANN, RECTANGLE, ANN_UNSAFE | wide)) == set()
    assert kinds(lay(tmp_path / "b", ANN, RECTANGLE, ANN_UNSAFE | narrow)) == {"open to outsider with prior"}


LARGEST = {
    ("R1", "C1"): (160, 155, 4), ("R1", "C2"): (380, 80, 50), ("R1", "C3"): (340, 90, 50),
    ("R2", "C1"): (50, 28, 10), ("R2", "C2"): (80, 24, 16), ("R2", "C3"): (60, 18, 12),
    ("R3", "C1"): (610, 110, 100), ("R3", "C2"): (800, 250, 200), ("R3", "C3"): (270, 80, 60),
}  # fmt: skip
"""Example 2 of de Waal and Coutinho (2020): value and the two largest contributions."""


def paper() -> list[tuple[Any, ...]]:
    firms = []
    for (row, column), (value, first, second) in LARGEST.items():
        rest = value - first - second
        for place, amount in enumerate([first, second] + [10] * (rest // 10) + [rest % 10]):
            if amount:
                firms.append((f"{row}{column} {place}", row, column, amount))
    return firms


def test_the_paper_s_example_of_an_aggregation(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"rules": [{"rule": "p%", "p": 20}], "default_attackers": False}
    settings["attackers"] = [{"kind": "pq", "p": 20, "q": 100}]
    near = [("R1", "C1"), ("R1", "C3"), ("R2", "C1"), ("R2", "C3")]
    far = [("R1", "C1"), ("R1", "C3"), ("R3", "C1"), ("R3", "C3")]
    found = judge(lay(tmp_path / "a", paper(), near, dict(settings)))
    assert found.kinds == {"open to pq"}
    assert any("by 22, needs 26" in what for _, what in found.faults)
    assert kinds(lay(tmp_path / "b", paper(), far, dict(settings))) == set()


def test_a_published_cell_that_fails_the_criterion(tmp_path: Path) -> None:
    settings = {
        "rules": [{"rule": "threshold", "minimum": 2}],
        "attackers": [{"kind": "pq", "p": 20, "q": 100}],
    }
    assert kinds(lay(tmp_path, paper(), [], settings)) == {"published in spite of pq"}


def test_one_firm_in_two_cells(tmp_path: Path) -> None:
    parts = {
        ("North", "food"): {"A": 100, "B": 5, "C": 4}, ("North", "wood"): {"A": 80, "B": 5, "D": 4},
        ("North", "toys"): {"E": 50, "F": 50, "G": 50}, ("South", "food"): {"E": 60, "F": 50, "G": 40},
        ("South", "wood"): {"E": 60, "F": 50, "G": 40}, ("South", "toys"): {"E": 50, "F": 50, "G": 50},
    }  # fmt: skip
    firms = [(firm, *key, amount) for key, some in parts.items() for firm, amount in some.items()]
    settings = {
        "rules": [{"rule": "pq", "p": 10, "q": 100}],
        "attackers": [{"kind": "pq", "p": 10, "q": 100}],
    }
    assert kinds(lay(tmp_path / "a", firms, RECTANGLE, dict(settings))) == {"total open to pq"}
    assert kinds(lay(tmp_path / "b", firms, SIX, dict(settings))) == set()


def test_insiders_are_asked_unless_the_job_decides_otherwise(tmp_path: Path) -> None:
    asked = {name: part for name, part in ANN_UNSAFE.items() if name != "attackers"}
    assert kinds(lay(tmp_path / "a", ANN, RECTANGLE, dict(asked))) == {"open to insider"}
    assert kinds(lay(tmp_path / "b", ANN, SIX, dict(asked))) == set()
    assert kinds(lay(tmp_path / "c", ANN, RECTANGLE, asked | {"attackers": []})) == set()


def test_exempt_cells_are_not_asked(tmp_path: Path) -> None:
    cells = [cell["key"] for cell in ANN_UNSAFE["cells"]]
    attackers = [{"kind": "insider", "exempt": cells[:1]}]
    found = judge(lay(tmp_path / "a", ANN, RECTANGLE, ANN_UNSAFE | {"attackers": attackers}))
    assert all("'wood'" in what for _, what in found.faults) and found.kinds == {"open to insider"}
    attackers = [{"kind": "insider", "exempt": cells}]
    assert kinds(lay(tmp_path / "b", ANN, RECTANGLE, ANN_UNSAFE | {"attackers": attackers})) == set()


@pytest.mark.parametrize(
    ("settings", "down", "up"),
    [
        ({"rules": [{"rule": "p%", "p": 20}]}, 26, 26),  # 0.2·155 − (160 − 155 − 0)
        ({"rules": [{"preset": "tau-argus", "p": [20, 1]}]}, 26, 26),
        ({"rules": [{"rule": "p%", "p": 10}, {"rule": "p%", "p": 20}]}, 26, 26),  # the larger one
        ({"rules": [{"rule": "threshold", "minimum": 9}, {"rule": "p%", "p": 20}]}, 26, 26),
        ({"rules": [{"rule": "p%", "p": 20}], "levels": {"lower_factor": 0.5}}, 13, 26),
        ({"rules": [{"rule": "p%", "p": 20}], "levels": {"sliding": 70.0}}, 26, 44),  # 70 − 26
        ({"rules": [{"rule": "threshold", "minimum": 9, "safety_range": 10}]}, 16, 16),  # all of it
        ({"rules": [{"rule": "p%", "p": 20, "level": "holding"}], "microdata": {"holding": "grp"}}, 32, 32),
    ],
)
def test_what_an_insider_without_a_part_must_not_find_out(
    settings: dict[str, Any], down: int, up: int, tmp_path: Path
) -> None:
    world = read_world(lay(tmp_path, paper(), [], dict(settings)))
    cell = ("R1", "C1")
    found = OwnLevels.of(world, "unit").demands(cell, frozenset(["R2C2 0"]), primaries(world)[cell])
    assert dict(found) == {True: up, False: down}


# -- planted faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", RECTANGLE)
def test_any_cell_of_the_rectangle_opened(opened: Codes, tmp_path: Path) -> None:
    left = [cell for cell in RECTANGLE if cell != opened]
    expected = {"open to outsider"} | ({"primary published"} if opened in RECTANGLE[:2] else set())
    assert kinds(lay(tmp_path, ANN, left, dict(ANN_UNSAFE))) >= expected


def test_levels_above_what_the_pattern_gives(tmp_path: Path) -> None:
    settings = ANN_UNSAFE | {"levels": {"safety_range": 100.0, "upper_factor": 2.0}}
    assert kinds(lay(tmp_path, ANN, RECTANGLE, settings)) == {"open to outsider"}


def test_values_that_are_not_the_true_ones(tmp_path: Path) -> None:
    assert "value" in kinds(lay(tmp_path, ANN, RECTANGLE, dict(ANN_UNSAFE), shown={("North", "toys"): "10"}))


def test_an_id_and_a_hidden_value_in_a_public_file(tmp_path: Path) -> None:
    firms = [
        (name.replace("Ann", "firmQ1"), *rest[:2], rest[2] * 10**5 + n) for n, (name, *rest) in enumerate(ANN)
    ]
    folder = lay(tmp_path, firms, RECTANGLE, dict(ANN_UNSAFE))
    assert kinds(folder) == set()
    page = folder / "out" / "public" / "index.html"
    page.write_text("<p>2000000</p>")
    assert kinds(folder) == {"leak"}
    page.write_text("<p>firmQ1</p>")
    assert kinds(folder) == {"leak"}


@pytest.mark.parametrize("mark", ["", ",", "\u202f", ".", " ", "'"])
def test_grouped_digits_are_one_number(mark: str) -> None:
    assert "1234567" in numbers_in(f"<td>{'1,234,567'.replace(',', mark)}</td>")
    assert {"123", "456"} <= numbers_in("123,456")


def test_hidden_cells_that_look_different(tmp_path: Path) -> None:
    folder = lay(tmp_path, ANN, RECTANGLE, dict(ANN_UNSAFE))
    table = folder / "out" / "public" / "table.csv"
    table.write_text(table.read_text().replace("North,food,x,x", "North,food,x,"))
    assert kinds(folder) == {"form"}


def test_an_empty_cell_that_a_rule_about_zeros_marks(tmp_path: Path) -> None:
    firms = [firm for firm in ANN if firm[1:3] != ("South", "toys")]
    settings = {"rules": [{"rule": "threshold", "minimum": 1, "zeros": True}]}
    assert kinds(lay(tmp_path, firms, [], settings)) == {"empty primary published"}


# -- rules --------------------------------------------------------------------------------------------------


def levels(folder: Path, rule: dict[str, Any], firms: list[tuple[Any, ...]], **more: Any) -> dict[Codes, int]:
    lay(folder, firms, [], {"rules": [rule]} | more, columns=more.pop("columns", "firm region branch sales"))
    return {key: upl for key, (_, upl, _) in primaries(read_world(folder)).items()}


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        ({"rule": "p%", "p": 20}, 30),  # 0.2·155 + 155 + 4 − 160
        ({"rule": "pq", "p": 10, "q": 50}, 30),
        ({"rule": "dominance", "n": 1, "k": 80}, 34),  # 155 / 0.8 − 160 = 33.75
        ({"preset": "tau-argus", "p": [20, 1]}, 30),
        ({"preset": "tau-argus", "p": [10, 50, 1]}, 30),
        ({"preset": "tau-argus", "p": [1, 2]}, 2),  # a coalition of two: 1.55 + 160 − 160
        ({"rule": "threshold", "minimum": 4, "safety_range": 10}, 16),
    ],
)
def test_levels_of_the_rules(rule: dict[str, Any], level: int, tmp_path: Path) -> None:
    assert levels(tmp_path, rule, paper())["R1", "C1"] == level


def test_weights_fill_places(tmp_path: Path) -> None:
    firms = [("a", "N", "f", 100, 1), ("b", "N", "f", 10, 30), ("c", "S", "f", 50, 1), ("d", "S", "f", 50, 1)]
    settings = {"rules": [{"rule": "p%", "p": 20}], "microdata": {"weight": "w"}}
    lay(tmp_path, firms, [], settings, columns="firm region branch sales w")
    world = read_world(tmp_path)
    assert world.value(("N", "Total")) == 400  # one branch only: its total
    assert set(primaries(world)) == {("S", "Total")}


# -- adjusted tables ----------------------------------------------------------------------------------------


def test_adjusted_tables(tmp_path: Path) -> None:
    adjusted = {"adjust": {"publish": True}}
    moved = {("North", "food"): "16", ("South", "food"): "26", ("North", "wood"): "35"}
    moved |= {("South", "wood"): "22", ("North", "Total"): "60", ("South", "Total"): "60"}
    assert kinds(lay(tmp_path / "a", ANN, [], ANN_UNSAFE | adjusted, shown=moved)) == set()
    inside = moved | {
        ("North", "food"): "19",
        ("South", "food"): "23",
        ("North", "Total"): "63",
        ("South", "Total"): "57",
    }
    assert kinds(lay(tmp_path / "b", ANN, [], ANN_UNSAFE | adjusted, shown=inside)) >= {
        "adjusted: inside its levels"
    }
    assert "adjusted: not additive" in kinds(
        lay(tmp_path / "c", ANN, [], ANN_UNSAFE | adjusted, shown=moved | {("North", "toys"): "10"})
    )
    with_m = ANN_UNSAFE["cells"] + [{"key": {"region": "North", "branch": "toys"}, "status": "m"}]
    settings = ANN_UNSAFE | adjusted | {"cells": with_m}
    assert kinds(lay(tmp_path / "d", ANN, [], settings, shown=moved)) >= {"adjusted: set m shows its value"}
    tight = ANN_UNSAFE | {"adjust": {"publish": True, "limit": 1}}
    assert kinds(lay(tmp_path / "e", ANN, [], tight, shown=moved)) >= {"adjusted: beyond its limit"}


@pytest.mark.parametrize(("published", "others", "pinned"), [("55", "95", True), ("45", "105", False)])
def test_limits_in_per_cent_are_of_each_possible_table(
    published: str, others: str, pinned: bool, tmp_path: Path
) -> None:
    """The rest was 90.5 to 100 before it became 95: so the cell was 50 to 59.5, and is at least 5 off."""
    firms = [("a", "P", "all", 50), ("b", "O", "all", 60), ("c", "O", "all", 40)]
    settings = {
        "cells": [{"key": {"region": "P"}, "status": "u"}],
        "levels": {"safety_range": 10.0},
        "adjust": {"publish": True, "limit": 5, "limit_total": 0},
    }
    shown = {
        (code, kind): text for code, text in (("P", published), ("O", others)) for kind in ("all", "Total")
    }
    expected = {"adjusted: pinned down"} if pinned else set()
    assert kinds(lay(tmp_path, firms, [], settings, shown=shown)) == expected


def test_an_insider_with_a_loss_asks_for_the_whole_lower_level(tmp_path: Path) -> None:
    firms = [
        ("a", "North", "food", -50), ("b", "North", "food", 100), ("c", "North", "wood", 900),
        ("d", "South", "food", 900), ("e", "South", "food", 900), ("a", "South", "wood", 60),
    ]  # fmt: skip
    settings = {
        "cells": ANN_UNSAFE["cells"][:1],
        "levels": {"safety_range": 90.0, "upper_factor": 0.0},
        "microdata": {"allow_negative": True},
        "attackers": [{"kind": "insider"}],
    }
    assert kinds(lay(tmp_path, firms, RECTANGLE, settings)) == {"open to insider"}
