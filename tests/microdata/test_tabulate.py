"""Tabulation against brute force in pure Python on small random microdata."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.microdata.engine import EngineOptions
from cellveil.microdata.records import Roles
from cellveil.microdata.roll_up import RollUp
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.sql import RECORD
from cellveil.microdata.tabulate import contributions_of, tabulate
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import Table
from helpers.examples import examples
from helpers.records import assert_equal_contributions, assert_equal_tables, random_records

Record = dict[str, Any]

REGION = Dimension.of(
    "region",
    Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"], "W": {"W1": ["W11"]}}}),
    Hierarchy.from_dict({"Total": {"coast": ["N1", "S1"], "inland": ["N2", "S2", "W11"]}}),
)
SECTOR = Dimension.of("sector", Hierarchy.from_dict({"All": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}))
FLAT = [Dimension.of(name, Hierarchy.flat(["x", "y"])) for name in ("size", "legal", "year")]
DIMENSIONS = [REGION, SECTOR, *FLAT]
LEAVES = {
    "region": ["N1", "N2", "S1", "S2", "W11", "W1", "W"],
    "sector": ["A1", "A2", "B1", "B2"],
    **{dimension.name: ["x", "y"] for dimension in FLAT},
}


@st.composite
def microdata(draw: st.DrawFn) -> list[Record]:
    """Records with few distinct amounts and ids, so that ties and spanning contributors are frequent."""
    record = st.fixed_dictionaries(
        {
            **{name: st.sampled_from(leaves) for name, leaves in LEAVES.items()},
            "firm": st.sampled_from(["a", "b", "c", "d", "e", "10", "9"]),
            "group": st.sampled_from(["g", "h", "i"]),
            "sales": st.integers(-40, 60).map(lambda n: n / 4),
            "staff": st.integers(0, 9),
            "weight": st.sampled_from([0.0, 1.0, 1.5, 2.25, 3.7]),
            "asks": st.sampled_from(["0", "0", "1", "2", ""]),
            "waives": st.booleans(),
        }
    )
    return draw(st.lists(record, min_size=1, max_size=25))


def frame(records: list[Record]) -> pa.Table:
    return pa.Table.from_pylist(records)


def counted(records: list[Record], weight: str | None) -> list[Record]:
    """The records that stand for something: those of weight 0 are left out."""
    return [record for record in records if not weight or record[weight] > 0]


def half_away(number: Fraction) -> int:
    return int(math.copysign(math.floor(abs(number) + Fraction(1, 2)), number))


def times(weight: float | None, scaled: int) -> int:
    """The product as a float, rounded half away from zero."""
    return scaled if weight is None else half_away(Fraction(weight * scaled))


def members_of(records: list[Record], member: str | None) -> list[list[Record]]:
    if member is None:
        return [[record] for record in records]
    return [[r for r in records if r[member] == who] for who in sorted({r[member] for r in records})]


def cells_by_hand(dimensions: list[Dimension], records: list[Record]) -> dict[tuple[int, ...], list[Record]]:
    """Records of every non-empty cell, found by walking up all trees."""
    covers = [leaf_covers(dimension) for dimension in dimensions]
    cells: dict[tuple[int, ...], list[Record]] = {}
    for record in records:
        codes = [cover[record[d.name]] for d, cover in zip(dimensions, covers, strict=True)]
        for key in itertools.product(*codes):
            cells.setdefault(key, []).append(record)
    return cells


def leaf_covers(dimension: Dimension) -> dict[str, list[int]]:
    """For each name of a code the numbers of the code and of all codes above it."""
    parents: dict[int, set[int]] = {}
    for tree in dimension.hierarchies:
        for parent, child in tree.pairs():
            parents.setdefault(dimension.index[child], set()).add(dimension.index[parent])
    above: dict[str, list[int]] = {}
    for name, number in dimension.index.items():
        found, queue = {number}, [number]
        while queue:
            further = parents.get(queue.pop(), set()) - found
            found |= further
            queue.extend(further)
        above[name] = sorted(found)
    return above


def by_hand(
    records: list[Record], everything: list[Record], member: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """What `Contributions` says of one cell, from its records."""
    shadow, weight, depth = options.get("shadow") or "sales", options.get("weight"), options["depth"]
    scale = 1 if shadow == "staff" else 100
    rows = []
    for group in members_of(records, member):
        amounts = [round(record[shadow] * scale) for record in group]
        weights = [record[weight] for record in group] if weight else []
        amount = sum(amounts)
        mean = sum(weights) / len(weights) if weights else 0.0
        share = (
            sum(w * x for w, x in zip(weights, amounts, strict=True)) / amount if weights and amount else mean
        )
        estimate = sum(times(r[weight] if weight else None, x) for r, x in zip(group, amounts, strict=True))
        mine = group if member is None else [r for r in everything if r[member] == group[0][member]]
        rows.append(
            {
                "who": group[0][member] if member else "",
                "size": abs(amount),
                "estimate": estimate,
                "mean": mean,
                "share": share,
                "waived": all(r["waives"] for r in mine),
                "asks": [any(r["asks"] == code for r in mine) for code in ("1", "2")],
            }
        )
    rows.sort(key=lambda row: (-row["size"], row["who"], row["share"], row["waived"]))
    top = rows[:depth]
    parts = sorted((-abs(row["estimate"]), row["who"]) for row in rows)[:depth]
    return {
        "parts": [-part for part, _ in parts],
        "part_who": [who for _, who in parts],
        "count": len(rows),
        "total": sum(row["estimate"] for row in rows),
        "absolute": sum(abs(row["estimate"]) for row in rows),
        "top": [row["size"] for row in top],
        "who": [row["who"] for row in top],
        "weighted_count": sum(row["mean"] for row in rows),
        "top_weight": [row["share"] for row in top],
        "waived": [row["waived"] for row in top],
        "largest_unwaived": max((row["size"] for row in rows if not row["waived"]), default=0),
        "requests": [max((row["size"] for row in rows if row["asks"][k]), default=-1) for k in (0, 1)],
    }


def check_cell(found: Contributions, cell: int, wanted: dict[str, Any], options: dict[str, Any]) -> None:
    listed = len(wanted["top"])
    assert found.count[cell] == wanted["count"]
    assert found.total[cell] == wanted["total"]
    assert found.absolute[cell] == wanted["absolute"]
    assert found.top[cell].tolist() == wanted["top"] + [0] * (options["depth"] - listed)
    names = [found.names[who] if who >= 0 else "" for who in found.who[cell][:listed]]
    if all(name.startswith("record ") for name in names):  # without ids
        assert len(set(names)) == len(names) and not any(wanted["who"])
        wanted = wanted | {"who": names, "part_who": None}
    assert names == wanted["who"]
    assert (found.who[cell][listed:] == -1).all()
    if options.get("weight"):
        assert found.weighted_count is not None and found.top_weight is not None
        assert found.weighted_count[cell] == pytest.approx(wanted["weighted_count"])
        assert found.top_weight[cell][:listed].tolist() == pytest.approx(wanted["top_weight"])
        assert found.parts is not None and found.part_who is not None
        assert found.parts[cell].tolist() == wanted["parts"] + [0] * (options["depth"] - listed)
        who = found.part_who[cell]
        if wanted["part_who"] is not None:
            assert [found.names[w] if w >= 0 else "" for w in who[:listed]] == wanted["part_who"]
        assert (who[listed:] == -1).all()
    else:
        assert found.weighted_count is None and found.top_weight is None
        assert found.parts is None and found.part_who is None
    if found.waived is None:
        assert not any(wanted["waived"])
    else:
        assert found.waived[cell][:listed].tolist() == wanted["waived"]
        assert found.largest_unwaived is not None
        assert found.largest_unwaived[cell] == wanted["largest_unwaived"]
    if options.get("request"):
        assert found.requests is not None and found.requests[cell].tolist() == wanted["requests"]


def check_table(
    table: Table, dimensions: list[Dimension], records: list[Record], options: dict[str, Any]
) -> None:
    cells = cells_by_hand(dimensions, records)
    keys = list(zip(*(column.tolist() for column in table.keys), strict=True))
    assert keys == sorted(cells)
    weight = options.get("weight")
    for cell, key in enumerate(keys):
        inside = cells[key]
        assert table.values[cell] == sum(
            times(r[weight] if weight else None, round(r["sales"] * 100)) for r in inside
        )
        if options.get("costs"):
            staff = sum(times(r[weight] if weight else None, r["staff"]) for r in inside)
            assert table.columns["staff"][cell] == staff
        assert table.units is not None and table.contributors is not None
        wanted = by_hand(inside, records, options.get("contributor"), options)
        assert table.contributors[cell] == wanted["count"]
        check_cell(table.units, cell, wanted, options)
        if options.get("holding"):
            assert table.holdings is not None
            check_cell(table.holdings, cell, by_hand(inside, records, "group", options), options)


@examples(15, of=45, suppress_health_check=[HealthCheck.too_slow])
@given(
    records=microdata(),
    axes=st.lists(st.sampled_from(range(5)), min_size=1, max_size=5, unique=True),
    contributor=st.sampled_from([None, "firm"]),
    holding=st.sampled_from([None, "group"]),
    weight=st.sampled_from([None, "weight"]),
    shadow=st.sampled_from([None, "staff"]),
    flags=st.booleans(),
    depth=st.integers(1, 4),
)
def test_every_cell_agrees_with_brute_force(
    records: list[Record],
    axes: list[int],
    contributor: str | None,
    holding: str | None,
    weight: str | None,
    shadow: str | None,
    flags: bool,
    depth: int,
) -> None:
    dimensions = [DIMENSIONS[axis] for axis in axes]
    options: dict[str, Any] = {
        "contributor": contributor,
        "holding": holding,
        "weight": weight,
        "shadow": shadow,
        "costs": ["staff"],
        "request": "asks" if flags else None,
        "waiver": "waives" if flags else None,
        "depth": depth,
    }
    given = frame(records)
    records = counted(records, weight)
    if not records:
        with pytest.raises(InputError, match="all records have weight 0"):
            tabulate(given, dimensions, "sales", decimals=2, allow_negative=True, threads=1, **options)
        return
    table = tabulate(given, dimensions, "sales", decimals=2, allow_negative=True, threads=1, **options)
    if not flags:
        records = [record | {"waives": False} for record in records]
    check_table(table, dimensions, records, options)


@settings(max_examples=8, deadline=None)
@given(records=microdata(), member=st.sampled_from([None, "unit"]), weight=st.sampled_from([None, "weight"]))
def test_native_and_standard_sql_give_equal_lists(
    records: list[Record], member: str | None, weight: str | None
) -> None:
    assume(counted(records, weight))
    roles = Roles(("region", "sector"), "sales", weight=weight, members={"unit": "firm"})
    if member is None and weight:
        member, roles = RECORD, replace(roles, recognised_by=tuple(records[0]))
    found = []
    for native in (True, False):
        options = EngineOptions(None, 1, None, SourceOptions(), depth=2, native=native)
        with RollUp.opened(frame(records), [REGION, SECTOR], roles, options, None) as roll_up:
            roll_up.records.read(None, allow_negative=True)
            found.append(roll_up.contributions(member))
    assert_equal_contributions(*found)


@pytest.mark.parametrize("recognised_by", [[], ["region", "sector", "sales", "firm"]])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_records_are_known_again_as_by_ids(recognised_by: list[str], weight: str | None) -> None:
    """Without ids every record has one name in all cells, as if it had an id of its own."""
    data = random_records(400, 3)
    data = data.set_column(data.column_names.index("sales"), "sales", pa.array(range(1, 401)))
    data = data.append_column("number", pa.array([f"{n:03}" for n in range(400)]))
    options: dict[str, Any] = {"weight": weight, "depth": 4}
    with_ids = tabulate(data, [REGION, SECTOR], "sales", contributor="number", **options)
    without = tabulate(data, [REGION, SECTOR], "sales", recognised_by=recognised_by, **options)
    assert with_ids.units is not None and without.units is not None
    both = [units.largest_parts[1].ravel().tolist() for units in (with_ids.units, without.units)]
    pairs = set(zip(*both, strict=True))
    assert len(pairs) == len({one for one, _ in pairs}) == len({two for _, two in pairs})


def test_number_of_threads_does_not_matter() -> None:
    data = random_records(20_000, 1)
    tables = [
        tabulate(
            data,
            [REGION, SECTOR, FLAT[0]],
            "sales",
            contributor="firm",
            holding="group",
            weight="weight",
            costs=["weight"],
            threads=threads,
        )
        for threads in (1, 4)
    ]
    assert_equal_tables(*tables)


def test_small_memory_goes_to_temporary_files(tmp_path: Any) -> None:
    data = random_records(200_000, 2)
    options: dict[str, Any] = {"contributor": "firm", "threads": 1}
    small = tabulate(data, [REGION, SECTOR], "sales", memory_limit="40MB", temp_directory=tmp_path, **options)
    assert_equal_tables(small, tabulate(data, [REGION, SECTOR], "sales", **options))
    assert not list(tmp_path.iterdir())


@settings(max_examples=6, deadline=None)
@given(records=microdata())
def test_frequency_tables_count_records(records: list[Record]) -> None:
    plain = tabulate(frame(records), [REGION, SECTOR])
    cells = cells_by_hand([REGION, SECTOR], records)
    assert (plain.variable, plain.decimals) == ("count", 0)
    assert plain.values.tolist() == [len(cells[key]) for key in sorted(cells)]
    assume(counted(records, "weight"))
    weighted = tabulate(frame(records), [REGION, SECTOR], weight="weight", contributor="firm")
    cells = cells_by_hand([REGION, SECTOR], counted(records, "weight"))
    assert weighted.floats().tolist() == pytest.approx(
        [sum(r["weight"] for r in cells[key]) for key in sorted(cells)]
    )
    assert weighted.contributors is not None
    assert weighted.contributors.tolist() == [len({r["firm"] for r in cells[key]}) for key in sorted(cells)]


@settings(max_examples=8, deadline=None)
@given(records=microdata(), holding=st.booleans())
def test_contributions_of_an_existing_table(records: list[Record], holding: bool) -> None:
    dimensions = [REGION, SECTOR]
    table = tabulate(
        frame(records), dimensions, "sales", contributor="firm", holding="group", allow_negative=True
    )
    shuffled = np.random.default_rng(0).permutation(table.num_cells)
    arranged = table.replace(
        keys=tuple(column[shuffled] for column in table.keys), values=table.values[shuffled]
    )
    units, holdings = contributions_of(
        arranged,
        frame(records),
        contributor="firm",
        amount="sales",
        holding="group" if holding else None,
        allow_negative=True,
    )
    assert table.units is not None and table.holdings is not None
    assert_equal_contributions(units, table.units.take(shuffled))
    assert_equal_contributions(holdings, table.holdings.take(shuffled) if holding else None)


def test_contributions_of_a_table_with_further_and_missing_cells() -> None:
    from cellveil.tables.build import table_from_interior

    sector = SECTOR
    table = table_from_interior([sector], {"sector": ["A1", "B1"]}, [7, 3])
    data = pa.table({"sector": ["A1", "A1"], "contributor": ["u", "v"], "amount": [4, 3]})
    units, _ = contributions_of(table, data, contributor="contributor", amount="amount")
    assert units.count[table.cell("B1")] == 0
    assert units.top[table.cell("B1")].tolist() == [0, 0, 0]
    assert units.who[table.cell("B1")].tolist() == [-1, -1, -1]
    assert units.top[table.cell("All")].tolist() == [4, 3, 0]
    stray = pa.table({"sector": ["A2"], "contributor": ["u"], "amount": [4]})
    with pytest.raises(InputError, match=r"cell \(A2\): there are contributions"):
        contributions_of(table, stray, contributor="contributor", amount="amount")


def test_progress_is_told_of_the_stages() -> None:
    from cellveil.progress import Progress

    class Listener(Progress):
        def __init__(self) -> None:
            self.stages: list[str] = []

        def stage(self, name: str) -> None:
            self.stages.append(name)

    listener = Listener()
    tabulate(random_records(30, 3), [REGION], "sales", holding="group", progress=listener)
    assert listener.stages == [
        "read",
        "cells",
        "contributions of each record",
        "contributions of each holding",
        "relations",
    ]
