"""Passive confidentiality: only who asks for protection gets it; others hide them all the same."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.microdata.tabulate import tabulate
from cellveil.rules import PPercent
from cellveil.rules.apply import num_excused
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.examples import examples
from helpers.records import assert_equal_tables

REGION = Dimension.of("region", Hierarchy.flat(["N", "S"]))

RECORDS = st.lists(
    st.tuples(
        st.sampled_from("NS"),
        st.sampled_from("abcd"),
        st.integers(0, 50),
        st.sampled_from(["1", "2", "", "9"]),
    ),
    min_size=2,
    max_size=12,
)


def frame(records: list[tuple[str, str, int, str]]) -> pa.Table:
    names = ["region", "firm", "sales", "asks"]
    data = dict(zip(names, map(list, zip(*records, strict=True)), strict=True))
    data["waives"] = ["no" if asks in ("1", "2") else "yes" for asks in data["asks"]]
    return pa.table(data)


@examples(8, of=40)
@given(records=RECORDS)
def test_who_does_not_ask_has_waived(records):
    common = {"contributor": "firm", "request": "asks", "depth": 4}
    passive = tabulate(frame(records), [REGION], "sales", passive=True, **common)
    waived = tabulate(frame(records), [REGION], "sales", waiver="waives", **common)
    assert_equal_tables(passive, waived)


FIRMS = [
    ("N", "a", 90, ""),
    ("N", "b", 9, ""),
    ("N", "c", 1, ""),
    ("S", "d", 90, "1"),
    ("S", "e", 9, ""),
    ("S", "f", 1, ""),
]


def test_others_are_noise_and_no_target():
    options = {"contributor": "firm", "request": "asks"}
    table = tabulate(frame(FIRMS), [REGION], "sales", passive=True, **options)
    assert PPercent(10).judge(table).unsafe.tolist() == [False, False, True]
    assert num_excused(table, PPercent(10)) == 1
    active = tabulate(frame(FIRMS), [REGION], "sales", **options)
    assert PPercent(10).judge(active).unsafe.tolist() == [False, True, True]
    assert num_excused(active, PPercent(10)) is None


def test_who_asks_may_still_waive():
    data = frame(FIRMS).set_column(4, "waives", pa.array(["no", "no", "no", "yes", "no", "no"]))
    options = {"contributor": "firm", "request": "asks", "waiver": "waives"}
    table = tabulate(data, [REGION], "sales", passive=True, **options)
    assert not PPercent(10).judge(table).unsafe.any()


def test_an_answer_that_cannot_be_read_is_a_fault():
    data = frame(FIRMS).set_column(4, "waives", pa.array(["perhaps", *["no"] * 5]))
    with pytest.raises(InputError, match="neither yes nor no"):
        tabulate(data, [REGION], "sales", request="asks", waiver="waives", passive=True)


def test_nobody_could_ask():
    with pytest.raises(InputError, match="no column says who requests"):
        tabulate(frame(FIRMS), [REGION], "sales", passive=True)
