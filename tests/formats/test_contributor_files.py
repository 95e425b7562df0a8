"""What a tidy folder keeps of contributors: written and read, everything is the same but their ids."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from cellveil.certificate import NamedAttacker
from cellveil.certificate.known_parts import contributions_digest
from cellveil.errors import InputError
from cellveil.formats.tidy_folder import check_dimension_names, read_folder, write_folder
from cellveil.microdata.tabulate import tabulate
from cellveil.problem import Problem
from cellveil.rules import AnyOf, Dominance, PPercent, Threshold
from cellveil.rules.apply import make_problem
from cellveil.tables.contributions import IDS, Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.records import random_records

RULE = AnyOf(PPercent(10), Dominance(2, 80), Threshold(3, safety_range=20))
INSIDERS = [NamedAttacker("insider"), NamedAttacker("insider", "holding")]


def drawn(seed: int, *, weighted: bool) -> Problem:
    dimensions = [
        Dimension.of("region", Hierarchy.flat(["N1", "N2", "S1", "S2", "W11"])),
        Dimension.of("sector", Hierarchy.from_dict({"Total": {"A": ["A1", "A2"], "B": ["B1", "B2"]}})),
    ]
    weight = "weight" if weighted else None
    table = tabulate(
        random_records(80, seed), dimensions, "sales", contributor="firm", holding="group", weight=weight,
        decimals=4, rounding=True, depth=4,
    )  # fmt: skip
    return make_problem(table, RULE, lower_factor=Fraction(1, 2))


def assert_same_but_for_ids(first: Contributions | None, second: Contributions | None) -> None:
    assert first is not None and second is not None
    for field in fields(Contributions):
        mine, theirs = getattr(first, field.name), getattr(second, field.name)
        if field.name in IDS and mine is not None:
            assert np.array_equal(mine < 0, theirs < 0)
            for one in np.unique(mine[mine >= 0]).tolist():
                assert len(np.unique(theirs[mine == one])) == 1
        elif isinstance(mine, np.ndarray):
            assert np.array_equal(mine, theirs) and mine.dtype == theirs.dtype, field.name
        elif field.name != "names":
            assert mine == theirs, field.name


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_written_and_read_contributions_are_the_same(seed: int, weighted: bool, tmp_path: Path) -> None:
    problem = drawn(seed, weighted=weighted)
    waived = np.zeros(problem.table.num_cells, dtype=bool)
    waived[[0, int(problem.primaries[0])]] = True
    problem = problem.replace(waived=waived if seed else None)
    write_folder(problem, tmp_path / "f")
    again = read_folder(tmp_path / "f")
    assert again.content_hash == problem.content_hash
    assert_same_but_for_ids(problem.table.units, again.table.units)
    assert_same_but_for_ids(problem.table.holdings, again.table.holdings)
    marked = {origin: cells.tolist() for origin, cells in problem.origins.items() if cells.any()}
    assert {origin: cells.tolist() for origin, cells in again.origins.items()} == marked
    assert (again.waived is None) == (seed == 0) and (seed == 0 or np.array_equal(again.waived, waived))
    assert contributions_digest(again, INSIDERS) == contributions_digest(problem, INSIDERS)


def test_waivers_and_requests_are_kept(tmp_path: Path) -> None:
    from cellveil.tables.table import Table

    problem = drawn(1, weighted=False)
    units = problem.table.units
    assert units is not None
    rng = np.random.default_rng(1)
    further = {
        name: getattr(units, name) for name in ("decimals", "count", "total", "absolute", "top", "who")
    }
    requests = np.where(rng.random((len(units), 2)) < 0.5, -1, units.top[:, :2])
    rich = Contributions(
        **further, names=units.names, waived=rng.random(units.top.shape) < 0.5,
        largest_unwaived=units.top[:, 1], requests=requests,
    )  # fmt: skip
    table: Table = problem.table.replace(units=rich, holdings=None)
    write_folder(problem.replace(table=table), tmp_path / "f")
    assert_same_but_for_ids(rich, read_folder(tmp_path / "f").table.units)
    assert not (tmp_path / "f" / "largest_holdings.csv").exists()


def test_ids_are_written_to_a_file_of_their_own(tmp_path: Path) -> None:
    """Explanations need them; without that file all else stays as it is."""
    problem = drawn(0, weighted=False)
    units = problem.table.units
    assert units is not None
    named = Contributions(**{**vars(units), "names": tuple(f"Firm {name} Ltd" for name in units.names)})
    write_folder(problem.replace(table=problem.table.replace(units=named)), tmp_path / "f")
    assert {file.name for file in (tmp_path / "f").iterdir() if "Ltd" in file.read_text()} == {
        "contributor_ids.csv"
    }
    again = read_folder(tmp_path / "f").table.units
    assert again is not None and {name for name in again.names if "Ltd" in name}
    (tmp_path / "f" / "contributor_ids.csv").unlink()
    bare = read_folder(tmp_path / "f")
    assert bare.table.units is not None and not any("Ltd" in name for name in bare.table.units.names)
    assert contributions_digest(bare, INSIDERS) == contributions_digest(problem, INSIDERS)


def test_an_older_list_does_not_stay(tmp_path: Path) -> None:
    problem = drawn(0, weighted=False)
    write_folder(problem, tmp_path / "f")
    bare = problem.replace(table=problem.table.replace(units=None, holdings=None), origins={})
    write_folder(bare, tmp_path / "f")
    assert {file.name for file in (tmp_path / "f").iterdir()} == {
        "cells.csv",
        "contents.csv",
        "hier_region.csv",
        "hier_sector.csv",
    }


def changed(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("file", "old", "new", "what"),
    [
        ("largest_units.csv", "known_total", "known_sum", "there is no column"),
        ("largest_units.csv", "known_top_1", "known_most_1", "known_top"),
        ("largest_units.csv", "known_who_4", "known_nobody", "are missing"),
        ("largest_units.csv", "Total,Total", "Total,Nowhere", "unknown code"),
        ("largest_units.csv", "\nTotal,A,", "\n", "fields where"),
        ("level_origins.csv", "target=11/10", "target=11/0", "no origin"),
        ("level_origins.csv", "level=unit", "level=firm", "no origin"),
        ("level_origins.csv", "known=1", "", "no origin"),
    ],
)
def test_odd_files_are_refused(file: str, old: str, new: str, what: str, tmp_path: Path) -> None:
    write_folder(drawn(0, weighted=False), tmp_path / "f")
    changed(tmp_path / "f", file, old, new)
    with pytest.raises(InputError, match=what):
        read_folder(tmp_path / "f")


def test_a_line_too_few_is_refused_and_a_list_of_all_contributions_counts(tmp_path: Path) -> None:
    write_folder(drawn(0, weighted=False), tmp_path / "f")
    file = tmp_path / "f" / "largest_units.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(InputError, match="not every cell has a line"):
        read_folder(tmp_path / "f")
    (tmp_path / "f" / "contributions.csv").write_text("region,sector,contributor,amount\nN1,A1,me,-1\n")
    with pytest.raises(InputError, match="do not add up"):
        read_folder(tmp_path / "f")


def test_names_that_a_dimension_cannot_have() -> None:
    for name in ("known_count", "known_top_2", "level_origin"):
        with pytest.raises(InputError, match="cannot be called"):
            check_dimension_names([Dimension.of(name, Hierarchy.flat("ab"))])
    check_dimension_names([Dimension.of("known_for", Hierarchy.flat("ab"))])
