"""Where microdata come from, what can be wrong with them, and published results."""

from __future__ import annotations

import csv
import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.scaled import infer_decimals
from cellveil.tables.table import Table
from helpers.instances import INSTANCES, needs_instances
from helpers.records import assert_equal_tables, random_records

REGION = Dimension.of(
    "region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"], "W": ["W11"]}})
)
SECTOR = Dimension.of("sector", Hierarchy.from_dict({"All": {"A": ["A1", "A2"], "B": ["B1", "B2"]}}))
OPTIONS: dict[str, Any] = {"contributor": "firm", "holding": "group", "weight": "weight", "costs": ["weight"]}


def table_of(source: Any, **options: Any) -> Table:
    return tabulate(source, [REGION, SECTOR], "sales", **{**OPTIONS, "threads": 1, **options})


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return random_records(400, 5)


@pytest.fixture(scope="module")
def expected(data: pa.Table) -> Table:
    return table_of(data)


def write_csv(path: Path, data: pa.Table, delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", newline="", encoding=encoding) as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(data.column_names)
        writer.writerows(zip(*data.to_pydict().values(), strict=True))
    return path


# -- sources ---------------------------------------------------------------------------------------------


def test_frames_give_the_same_table(data: pa.Table, expected: Table) -> None:
    pandas = data.to_pandas()
    categories = pandas.astype({"region": "category", "sector": "category", "firm": "float"})
    polars = pl.from_arrow(data)
    assert isinstance(polars, pl.DataFrame)
    for frame in (pandas, categories, polars, polars.lazy()):
        assert_equal_tables(table_of(frame), expected)


def test_relations_give_the_same_table(data: pa.Table, expected: Table) -> None:
    connection = duckdb.connect()
    connection.register("data", data)
    assert_equal_tables(table_of(connection.sql("SELECT * FROM data")), expected)


def test_files_give_the_same_table(data: pa.Table, expected: Table, tmp_path: Path) -> None:
    pq.write_table(data, tmp_path / "data.parquet")
    write_csv(tmp_path / "comma.csv", data)
    write_csv(tmp_path / "semicolon.txt", data, ";")
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress((tmp_path / "comma.csv").read_bytes()))
    (tmp_path / "windows.csv").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "comma.csv").read_bytes())
    for name in ("data.parquet", "comma.csv", "semicolon.txt", "packed.csv.gz", "windows.csv"):
        assert_equal_tables(table_of(tmp_path / name), expected)


def test_several_files_give_the_same_table(data: pa.Table, expected: Table, tmp_path: Path) -> None:
    write_csv(tmp_path / "part1.csv", data.slice(0, 150))
    write_csv(tmp_path / "part2.csv", data.slice(150).select(data.column_names[::-1]), "|")
    assert_equal_tables(table_of(str(tmp_path / "part*.csv")), expected)
    assert_equal_tables(table_of([tmp_path / "part2.csv", tmp_path / "part1.csv"]), expected)


def test_other_encodings_and_column_names(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("Größe,Wert\nklein,1\ngroß,2\n".encode("cp1252"))
    size = Dimension.of("size", Hierarchy.flat(["klein", "groß"]))
    options: dict[str, Any] = {"columns": {"size": "Größe"}}
    table = tabulate(path, [size], "Wert", encoding="cp1252", **options)
    assert table.values.tolist() == [3, 1, 2]
    with pytest.raises(InputError, match=r"latin\.csv.*encoding.*cp1252"):
        tabulate(path, [size], "Wert", **options)
    with pytest.raises(InputError, match="unknown encoding 'klingon'"):
        tabulate(path, [size], "Wert", encoding="klingon", **options)
    with pytest.raises(InputError, match=r"latin\.csv, line 1: .*byte 3 of the line is 0xF6"):
        tabulate(path, [size], "Wert", encoding="ascii", **options)


def test_types_of_amounts() -> None:
    region = Dimension.of("region", Hierarchy.flat(["1", "2"]))
    columns: dict[str, Any] = {
        "float": [0.5, 1.25],
        "single": np.array([0.1, 1.25], dtype=np.float32),
        "text": ["0.5", " 1.25e0 "],
        "decimal": [Decimal("0.500"), Decimal("1.250")],
        "integer": [5, 7],
        "large": ["4503599627370497.25", "1"],
    }
    data = pa.table({"region": [1, 2], **columns})
    totals = {name: tabulate(data, [region], name) for name in columns}
    assert {name: (int(t.values[0]), t.decimals) for name, t in totals.items()} == {
        "float": (175, 2),
        "single": (135, 2),
        "text": (175, 2),
        "decimal": (175, 2),
        "integer": (12, 0),
        "large": (450359962737049825, 2),
    }
    assert tabulate(data, [region], "integer", decimals=3).values.tolist() == [12000, 5000, 7000]


@settings(max_examples=12, deadline=None)
@given(
    numbers=st.lists(st.decimals(-(2**60) // 10**9, 2**60 // 10**9, places=9), min_size=1, max_size=8),
    places=st.integers(0, 9),
    shape=st.sampled_from(["{}", "{:e}", " {}"]),
)
def test_text_is_scaled_exactly(numbers: list[Decimal], places: int, shape: str) -> None:
    rounded = [number.quantize(Decimal(1).scaleb(-places)) for number in numbers]
    region = Dimension.of("region", Hierarchy.flat([str(k) for k in range(len(rounded))]))
    columns = {"region": list(range(len(rounded))), "x": [shape.format(number) for number in rounded]}
    table = tabulate(pa.table(columns), [region], "x", allow_negative=True, threads=1)
    assert table.decimals == infer_decimals(np.array(rounded, dtype=object))
    leaves = [table.cell(str(k)) for k in range(len(rounded))]
    assert table.values[leaves].tolist() == [int(n.scaleb(table.decimals)) for n in rounded]


def test_aliases_of_merged_levels_are_leaves() -> None:
    region = Dimension.of("region", Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "W": {"W1": ["W11"]}}}))
    table = tabulate(pa.table({"region": ["N1", "W", "W1", "W11"], "x": [1, 2, 4, 8]}), [region], "x")
    assert table.values[table.cell("W")] == 14


def test_column_names_do_not_meet_those_of_the_engine() -> None:
    code = Dimension.of("code", Hierarchy.flat(["a", "b"]))
    c0 = Dimension.of("c0", Hierarchy.flat(["x", "y"]))
    data = pa.table(
        {
            "code": ["a", "b", "a"],
            "c0": ["x", "y", "x"],
            "leaf": [1, 2, 4],
            "cover": [1.5, 2.5, 2.0],
            "member": ["u", "u", "v"],
            "number": ["g", "g", "g"],
            'quo"ted': [1, 1, 1],
        }
    )
    table = tabulate(
        data,
        [code, c0],
        "leaf",
        shadow="cover",
        contributor="member",
        holding="number",
        costs=['quo"ted', "leaf"],
    )
    assert table.values[table.cell()] == 7
    assert table.units is not None and table.units.top[table.cell()].tolist() == [40, 20, 0]
    assert table.columns['quo"ted'][table.cell()] == 3 and table.columns["leaf"][table.cell()] == 7
    with pytest.raises(InputError, match="row 3: unknown code in"):
        tabulate(data.set_column(0, "code", [["a", "b", "z"]]), [code, c0], "leaf")


# -- faults ----------------------------------------------------------------------------------------------

GOOD = {
    "region": "N1",
    "sector": "A1",
    "firm": "f",
    "sales": "3.5",
    "weight": "1",
    "asks": "1",
    "waives": "no",
}


def faulty_csv(folder: Path, **changes: str | None) -> Path:
    """Three records, of which the second is at fault: line 3 of the file."""
    path = folder / "firms.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(GOOD))
        writer.writeheader()
        writer.writerows([GOOD, GOOD | changes, GOOD])
    return path


FAULTS = [
    ({"region": "N"}, "code 'N' of dimension 'region' is both a total and the code of a record"),
    ({"region": "N3"}, "unknown code in dimension 'region'"),
    ({"sector": ""}, "the code of dimension 'sector' is missing"),
    ({"firm": " "}, "the id in column 'firm' is missing"),
    ({"sales": "x"}, "the amount in column 'sales' is not a number"),
    ({"sales": ""}, "the amount in column 'sales' is missing"),
    ({"sales": "nan"}, "the amount in column 'sales' is missing"),
    ({"sales": "inf"}, "the amount in column 'sales' is not finite"),
    ({"sales": "1,234.5"}, "the amount in column 'sales' is not a number"),
    ({"sales": "0.125"}, "the amount in column 'sales' has more decimals than declared"),
    ({"sales": "99999999999999999999"}, "the amount in column 'sales' is too large"),
    ({"sales": "-1"}, "the amount in column 'sales' is negative"),
    ({"weight": "-0.5"}, "the weight in column 'weight' is missing or not a number of at least 0"),
    ({"weight": ""}, "the weight in column 'weight' is missing"),
    ({"waives": "perhaps"}, "column 'waives' holds neither yes nor no"),
]


@pytest.mark.parametrize(("changes", "message"), FAULTS)
def test_faults_of_records_name_file_and_line(changes: dict[str, str], message: str, tmp_path: Path) -> None:
    path = faulty_csv(tmp_path, **changes)
    options: dict[str, Any] = {
        "contributor": "firm",
        "weight": "weight",
        "request": "asks",
        "waiver": "waives",
        "decimals": 2,
    }
    with pytest.raises(InputError, match=rf"firms\.csv, line 3: {message}") as caught:
        tabulate(path, [REGION, SECTOR], "sales", **options)
    amount = changes.get("sales", "")
    assert (
        not amount.strip()
        or not any(c.isdigit() for c in amount)
        or amount not in f"{caught.value.what} {caught.value.remedy}"
    )
    frame = pd.read_csv(path, dtype=str)
    with pytest.raises(InputError, match=rf"^row 2: {message}"):
        tabulate(frame, [REGION, SECTOR], "sales", **options)


def test_the_second_of_several_files_is_named(tmp_path: Path) -> None:
    good = faulty_csv(tmp_path).rename(tmp_path / "first.csv")
    bad = faulty_csv(tmp_path, region="Q")
    with pytest.raises(InputError, match=r"firms\.csv, line 3: unknown code in"):
        tabulate([good, bad], [REGION, SECTOR], "sales")


def test_a_stream_is_read_again_to_find_the_fault() -> None:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 'N1' AS region, 1.5 AS sales UNION ALL SELECT 'N9', 2")
    with pytest.raises(InputError, match=r"row 2: unknown code in"):
        tabulate(relation, [REGION], "sales")


def test_fault_far_down_and_count_of_further_ones(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    lines = ["region,x"] + ["N1,1"] * 300_000
    lines[250_000] = "N1,oops"
    lines[270_000] = "N1,oops"
    path.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"line 250001: .* \(1 further record with such a fault\)"):
        tabulate(path, [REGION], "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "the file is empty"),
        (b"region,x\n", "there are no records"),
        (b"region,x\nN1,1\nN1\n", "line 3: the line has 1 fields, the header 2"),
        (b"region,x\nN1,1\nN1,2,3\n", "line 3: the line has 3 fields, the header 2"),
        (b'region,x\nN1,1\nN1,"2\n', "line 3: a quote is not closed"),
        (b"region,x\nN1,1\nN\xe9,2\n", "line 3: the text is not in the encoding.*byte 2 of the line is 0xE9"),
        (b"regio,x\nN1,1\n", "there is no column 'region'. Did you mean 'regio'"),
        (b"region,x,x\nN1,1,2\n", "two columns are named 'x'"),
        (b"region,x,X\nN1,1,2\n", "two columns are named 'x', apart from capitals"),
    ],
)
def test_faults_of_csv_files(text: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=rf"data\.csv.*{message}") as caught:
        tabulate(path, [REGION], "x")
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_faults_of_sources(tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 not really")
    for source, message in [
        (tmp_path / "none.csv", "does not exist"),
        (tmp_path / "none*.parquet", "does not exist"),
        (tmp_path, "a folder where a file is expected"),
        (broken, "cannot be read"),
        ([], "no microdata file is named"),
        (42, "type int cannot be read"),
        (pa.table({"region": ["N1"], "x": [True]}), "column 'x' holds no numbers"),
        (pd.DataFrame({"region": ["N1", 2], "x": [1, 2]}), "mixes types"),
    ]:
        with pytest.raises(InputError, match=message):
            tabulate(source, [REGION], "x")


def test_faults_of_arguments(data: pa.Table, tmp_path: Path) -> None:
    for options, message in [
        ({"depth": 0}, "below 1"),
        ({"decimals": 10}, "10 decimals are declared"),
        ({"memory_limit": "lots"}, "memory limit"),
        ({"columns": {"regio": "x"}}, "no dimension 'regio'. Did you mean 'region'"),
        ({"delimiter": "::"}, "not one character"),
        ({"temp_directory": tmp_path / "none"}, "temporary files does not exist"),
        ({"shadow": "sale"}, "no column 'sale'. Did you mean 'sales'"),
    ]:
        with pytest.raises(InputError, match=message):
            table_of(data, **options)
    with pytest.raises(InputError, match="no dimension"):
        tabulate(data, [], "sales")
    with pytest.raises(InputError, match="same name"):
        tabulate(data, [REGION, REGION], "sales")


def test_sums_beyond_62_bits() -> None:
    large = pa.table({"region": ["N1"] * 3, "x": [2**61] * 3, "w": [1.0, 1.0, 1e6]})
    for options in ({}, {"weight": "w"}):
        with pytest.raises(InputError, match="the sum of column 'x' is too large"):
            tabulate(large, [REGION], "x", **options)
    just = tabulate(large.slice(0, 1), [REGION], "x")
    assert int(just.values[0]) == 2**61


def test_large_costs_with_many_decimals_keep_those_that_fit() -> None:
    data = pa.table({"region": ["N1", "N2"], "x": [1, 2], "cost": [3e12 / 7, 1e13 / 3]})
    table = tabulate(data, [REGION], "x", costs=["cost"])
    assert table.columns["cost"][table.cell()] == pytest.approx(3e12 / 7 + 1e13 / 3, rel=1e-12)


def test_rounding_each_amount() -> None:
    data = pa.table({"region": ["N1", "N2", "S1"], "x": [0.125, 1 / 3, 2.5]})
    assert tabulate(data, [REGION], "x", decimals=2, rounding=True).floats().tolist()[0] == 2.96
    with pytest.raises(InputError, match=r"row 2: .* more decimals than declared.*rounding=True"):
        tabulate(data, [REGION], "x")


# -- published results -----------------------------------------------------------------------------------


@needs_instances
def test_totals_of_tau_argus() -> None:
    """Var2 by Size × Region of testW as a genuine run of tau-ARGUS wrote it."""
    folder = INSTANCES / "tauargus" / "testW"
    positions = {"Size": (9, 2), "Region": (12, 2), "Var2": (28, 10)}
    with gzip.open(folder / "tau_testW.asc.gz", "rt", encoding="latin-1") as text:
        records = pd.read_fwf(
            text,
            colspecs=[(start - 1, start - 1 + length) for start, length in positions.values()],
            names=list(positions),
            dtype=str,
        )
    records["Size"] = records["Size"].str.rjust(2)
    records["Region"] = records["Region"].str.rjust(2)
    dimensions = [
        Dimension.of("Size", Hierarchy.flat(sorted(set(records["Size"])))),
        Dimension.of("Region", Hierarchy.from_hrc(folder / "region2.hrc")),
    ]
    table = tabulate(records, dimensions, "Var2", decimals=2)
    published = pd.read_csv(
        folder / "expected" / "Simple2D.txt", names=["Size", "Region", "value", "status"], dtype=str
    )
    compared = 0
    for size, region, value in published[["Size", "Region", "value"]].itertuples(index=False):
        if value != "-":
            assert table.values[table.cell(size, region)] == round(Decimal(value) * 100), (size, region)
            compared += 1
    assert compared == table.num_cells > 80


@needs_instances
def test_companies_that_span_cells() -> None:
    """The 20 records of magnitude1, whose companies A and B have records in several cells."""
    path = INSTANCES / "microdata" / "ssb_magnitude1.csv"
    with path.open() as file:
        records = list(csv.DictReader(file))
    sector = Hierarchy.from_pairs(
        sorted({("Total", r["sector2"]) for r in records} | {(r["sector2"], r["sector4"]) for r in records})
    )
    place = Hierarchy.from_pairs(
        sorted({("All", r["eu"]) for r in records} | {(r["eu"], r["geo"]) for r in records})
    )
    dimensions = [Dimension.of("sector4", sector), Dimension.of("geo", place)]
    table = tabulate(path, dimensions, "value", contributor="company")
    assert table.units is not None and table.decimals == 1
    by_company: dict[str, Decimal] = {}
    for record in records:
        by_company[record["company"]] = by_company.get(record["company"], Decimal(0)) + Decimal(
            record["value"]
        )
    largest = sorted(by_company.items(), key=lambda item: -item[1])[:3]
    total = table.cell()
    assert table.values[total] == 10 * sum(by_company.values())
    assert table.units.count[total] == len(by_company)
    assert table.units.top[total].tolist() == [10 * amount for _, amount in largest]
    assert [table.units.names[who] for who in table.units.who[total]] == [name for name, _ in largest]


@needs_instances
def test_ready_made_table_of_real_microdata() -> None:
    """Turnover by activity and size, against pandas."""
    path = INSTANCES / "microdata" / "rtau_indiv_dt.csv"
    frame = pd.read_csv(path, dtype={"A88": str})
    pairs = {("Total", a) for a in frame["A10"]} | {
        (a, b) for a, b in zip(frame["A10"], frame["A21"], strict=True) if a != b
    }
    pairs |= {(a, b) for a, b in zip(frame["A21"], frame["A88"], strict=True) if a != b}
    activity = Dimension.of("A88", Hierarchy.from_pairs(sorted(pairs)))
    size = Dimension.of("SIZE", Hierarchy.flat(sorted(set(frame["SIZE"]))))
    table = tabulate(path, [activity, size], "TURNOVER", decimals=3, rounding=True, weight="WEIGHT")
    frame["scaled"] = np.floor(np.rint(frame["TURNOVER"] * 1000) * frame["WEIGHT"] + 0.5).astype(int)
    sums = frame.groupby(["A21", "SIZE"])["scaled"].sum()
    assert len(sums) == 22
    for (code, klass), wanted in sums.items():
        assert table.values[table.cell(code, klass)] == wanted


def test_codes_that_differ_in_blanks_only_are_not_mixed_up() -> None:
    codes = ["a", " a", "b "]
    dimension = Dimension.of("code", Hierarchy.flat(codes))
    data = pa.table({"code": [*codes, "a"], "sales": [1, 10, 100, 1000]})
    table = tabulate(data, [dimension], "sales")
    assert dict(zip(table.codes(0), table.values.tolist(), strict=True)) == {
        "Total": 1111,
        "a": 1001,
        " a": 10,
        "b ": 100,
    }
    lone = Dimension.of("code", Hierarchy.flat([" a", "b"]))
    table = tabulate(pa.table({"code": ["a", " a", "b "], "sales": [1, 10, 100]}), [lone], "sales")
    assert table.values.tolist() == [111, 11, 100]


def test_messages_about_frames_name_the_column() -> None:
    mixed = pd.DataFrame({"region": ["N", "S"], "size": ["1", 2], "x": [1, 2]})
    with pytest.raises(InputError, match="column 'size' of the frame mixes types"):
        tabulate(mixed, ["region", "size"], "x")
    in_index = pd.DataFrame({"region": ["N", "S"], "x": [1, 2]}).set_index("region")
    with pytest.raises(InputError, match=r"'region' stands in the index of the frame.*reset_index"):
        tabulate(in_index, ["region"], "x")


def test_the_only_code_is_that_of_the_total() -> None:
    with pytest.raises(InputError, match="the only code, 'Total', is that of the total too"):
        tabulate(pd.DataFrame({"region": ["Total"], "x": [1]}), ["region"], "x")
