"""Tables from frames and files come out alike, whatever the source."""

import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError, MissingExtraError
from cellveil.formats.columns import read_columns
from cellveil.formats.exact_numbers import amounts_of, float_texts, floats_of, texts_of
from cellveil.formats.ready_made import read_problem, read_table
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.scaled import UNBOUNDED, text_of

DATA = {"region": ["Total", "N", "S"], "value": [10.5, 4.25, 6.25]}


def sources(tmp_path: Path) -> dict[str, Any]:
    frame = pd.DataFrame(DATA)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "semicolon.csv", index=False, sep=";")
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + frame.to_csv(index=False).encode())
    frame.to_excel(tmp_path / "t.xlsx", index=False, sheet_name="data")
    pq.write_table(pa.table(DATA), tmp_path / "t.parquet")
    (tmp_path / "comma.csv").write_text(frame.to_csv(index=False, sep=";").replace(".", ","))
    (tmp_path / "latin.csv").write_bytes(b"r\xe9gion,value\nTotal,10.5\nN,4.25\nS,6.25\n")
    return {
        "pandas": frame,
        "pandas categories": frame.astype({"region": "category"}),
        "polars": pl.DataFrame(DATA),
        "polars lazy": pl.DataFrame(DATA).lazy(),
        "arrow": pa.table(DATA),
        "decimals": pa.table(DATA).cast(pa.schema({"region": pa.string(), "value": pa.decimal64(9, 3)})),
        "csv": tmp_path / "t.csv",
        "csv with ;": str(tmp_path / "semicolon.csv"),
        "csv with BOM": tmp_path / "bom.csv",
        "csv with decimal comma": read_columns(tmp_path / "comma.csv", decimal=","),
        "excel": tmp_path / "t.xlsx",
        "excel sheet": read_columns(tmp_path / "t.xlsx", sheet="data"),
        "parquet": tmp_path / "t.parquet",
    }  # fmt: skip


def test_all_sources_give_the_same_table(tmp_path: Path) -> None:
    for name, source in sources(tmp_path).items():
        table = read_table(source, {"region": None})
        assert table.values.tolist() == [1050, 425, 625], name
        assert table.decimals == 2 and table.codes(0) == DATA["region"], name


def test_encodings(tmp_path: Path) -> None:
    sources(tmp_path)
    columns = read_columns(tmp_path / "latin.csv", encoding="cp1252")
    assert columns.names == ["région", "value"]
    with pytest.raises(InputError, match="line 1: the text is not encoded in UTF-8"):
        read_columns(tmp_path / "latin.csv")


def test_hierarchies_of_every_kind(tmp_path: Path) -> None:
    (tmp_path / "r.hrc").write_text("N\n@N1\n@N2\nS\n")
    (tmp_path / "r.csv").write_text("parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\n")
    nested = {"Total": {"N": ["N1", "N2"], "S": []}}
    coast = Hierarchy.from_dict({"Coast": ["N1", "S"]})
    frame = pa.table({"region": ["N1", "N2", "S"], "value": [1, 2, 3]})
    dimension = Dimension.of("other", Hierarchy.from_dict(nested))
    for tree in (
        nested,
        Hierarchy.from_dict(nested),
        dimension,
        tmp_path / "r.hrc",
        str(tmp_path / "r.csv"),
    ):
        table = read_table(frame, {"region": tree}, totals="none")
        assert table.values[table.cell("N")] == 3 and table.values[table.cell()] == 6
    table = read_table(frame, {"region": [nested, coast]}, totals="none")
    assert table.values[table.cell("Coast")] == 4 and len(table.relations) == 3


def test_totals_can_be_computed_anew() -> None:
    frame = pa.table({"r": ["Total", "a", "b"], "value": [99, 1, 2]})
    with pytest.raises(InputError, match="does not add up"):
        read_table(frame, {"r": None})
    assert read_table(frame, {"r": None}, repair=True).values.tolist() == [3, 1, 2]


def test_fields_of_a_problem_and_their_defaults() -> None:
    frame = pd.DataFrame(
        {
            "r": ["a", "b"],
            "turnover": [4.0, 0.0],
            "state": ["u", "s"],
            "lpl": [0.5, None],
            "upl": [1, 0],
            "ub": [None, 7],
            "weight": [None, 2.5],
        }
    )
    problem = read_problem(frame, {"r": None}, fields={"status": "state"}, value="turnover", totals="none")
    table = problem.table
    assert table.decimals == 1 and table.variable == "turnover"
    a, b, total = table.cell("a"), table.cell("b"), table.cell()
    assert problem.lpl[[a, b]].tolist() == [5, 0] and problem.upl[[a, b]].tolist() == [10, 0]
    assert problem.ub[[a, b, total]].tolist() == [UNBOUNDED, 70, UNBOUNDED]
    assert problem.weight[[a, b, total]].tolist() == [4, 2.5, 4]
    assert problem.status[[a, b, total]].tolist() == [1, 0, 0]


def test_codes_that_are_numbers() -> None:
    frame = pd.DataFrame({"year": [2023, 2024], "size": [1.0, 1.0], "value": [1, 2]})
    table = read_table(frame, {"year": None, "size": {"Total": ["1", "2"]}}, totals="none")
    assert table.values[table.cell("2024", "1")] == 2


def test_contributors_may_be_unknown() -> None:
    frame = pa.table({"r": ["Total", "a", "b"], "value": [3, 1, 2], "n": [5, None, 3]})
    table = read_table(frame, {"r": None}, contributors="n")
    assert table.contributors is not None and table.contributors.tolist() == [5, -1, 3]


def test_lines_are_counted_through_quotes_and_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('\n\nr,value\nTotal,3\n\n"a\nb",1\nc,x\n')
    with pytest.raises(InputError, match=r"t\.csv, line 8, cell \(c\): the value is not a number"):
        read_table(path, {"r": None})


def test_excel_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"cellveil\[excel\]"):
        read_columns(tmp_path / "t.xlsx")


# -- numbers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "decimals", "scaled"),
    [
        (["1", "-2"], 0, [1, -2]),
        (["1.50", " 2 "], 1, [15, 20]),
        (["1e3", "+.5", "7."], 1, [10000, 5, 70]),
        (["4611686018427387903"], 0, [2**62 - 1]),
        (["0.000000001", "x"], 9, [1, 0]),
    ],
)
def test_numbers_are_exact(texts: list[str], decimals: int, scaled: list[int]) -> None:
    amounts = amounts_of(pa.array(texts))
    assert (amounts.decimals, amounts.scaled.tolist()) == (decimals, scaled)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("1,5", "is not a number"),
        ("1_000", "is not a number"),
        ("0x10", "is not a number"),
        ("٣", "is not a number"),
        ("nan", "is not finite"),
        ("", "is missing"),
        ("-inf", "is infinite or too large"),
        ("1e20", "is infinite or too large"),
        ("1e999", "is infinite or too large"),
        ("4611686018427387904", "is too large"),
        ("9" * 19, "is too large"),
        ("0.12345678901", "has more than 9 decimals"),
        ("1.000000000000000000000000000000000000001", "has more than 9 decimals"),
    ],
)
@pytest.mark.parametrize("company", ["1", "2.5", "?"])
def test_numbers_at_fault(text: str, fault: str, company: str) -> None:
    amounts = amounts_of(pa.array([company, text]))
    _, faults = amounts.at(amounts.decimals)
    assert faults[1] == fault


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.from_regex(r"[+-]?[0-9]{0,30}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,3})?", fullmatch=True), max_size=3
    )
)
def test_numbers_are_those_of_exact_arithmetic(texts: list[str]) -> None:
    amounts = amounts_of(pa.array(texts, pa.string()))
    for row, text in enumerate(texts):
        if not any(digit in text.lower().split("e")[0] for digit in "0123456789"):
            assert row in amounts.faults or amounts.missing[row]
        elif abs(Decimal(text)) >= 10**20:
            assert amounts.unbounded[row] == (-1 if text.startswith("-") else 1)
        elif row not in amounts.faults:
            assert Fraction(int(amounts.scaled[row]), 10**amounts.decimals) == Fraction(Decimal(text))


def test_rescaling_never_wraps() -> None:
    scaled, faults = amounts_of(pa.array(["5000000000", "1"])).at(9)
    assert faults == {0: "is too large"} and scaled[1] == 10**9
    assert amounts_of(pa.array(["1.25", "3"])).at(1)[1] == {0: "has more decimals than declared"}


def test_texts_read_back() -> None:
    scaled = np.array([0, -5, 1250, 10**17 + 1, UNBOUNDED, -UNBOUNDED])
    for decimals in (0, 2):
        expected = [text_of(int(number), decimals, trim=True) for number in scaled]
        assert texts_of(scaled, decimals).to_pylist() == expected
    weights = np.array([0.0, 1.5, 1e300, 2.0**53, 1 / 3, 7.0])
    assert floats_of(float_texts(weights))[0].tolist() == weights.tolist()
    assert float_texts(weights).to_pylist()[-1] == "7"
