"""A column whose contents are published as codes is no amount, weight or id, in any way to read data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cellveil.errors import InputError
from cellveil.formats.published_file import read_publication
from cellveil.formats.ready_made import read_problem, read_table
from cellveil.job import read_job
from cellveil.microdata.tabulate import contributions_of, tabulate
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

FIRMS = pa.table(
    {
        "region": ["N", "N", "S"],
        "firm": ["f1", "f2", "f3"],
        "group": ["g", "g", "h"],
        "sales": ["777001", "2", "4"],
        "staff": ["1", "2", "3"],
        "w": ["1", "1", "1"],
    }
)
REGION = Dimension.of("region", Hierarchy.flat(["N", "S"]))
PARTS = {
    "response": "sales",
    "shadow": "staff",
    "weight": "w",
    "contributor": "firm",
    "holding": "group",
}


def flat(column: str, name: str | None = None) -> Dimension:
    return Dimension.of(name or column, Hierarchy.flat(dict.fromkeys(FIRMS[column].to_pylist())))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("spelling", [str, str.upper, str.title])
def test_a_dimension_is_nothing_else(part: str, spelling: Any) -> None:
    options = {**PARTS, part: spelling(PARTS[part])}
    dimensions = [REGION, flat(PARTS[part])]
    with pytest.raises(InputError, match=f"is a dimension and the {part}") as caught:
        tabulate(FIRMS, dimensions, **options)
    assert "Name another column" in caught.value.remedy and "777001" not in str(caught.value)
    renamed = [REGION, flat(PARTS[part], "size")]
    with pytest.raises(InputError, match=f"is a dimension and the {part}"):
        tabulate(FIRMS, renamed, columns={"size": PARTS[part]}, **options)


def test_a_cost_column_is_no_dimension() -> None:
    with pytest.raises(InputError, match="is a dimension and the cost"):
        tabulate(FIRMS, [REGION, flat("staff")], "sales", costs=["staff"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"weight": "sales"}, "both the response and the weight"),
        ({"contributor": "Sales"}, "both the response and the contributor"),
        ({"contributor": "firm", "holding": "firm"}, "both the contributor and the holding"),
        ({"shadow": "staff", "weight": "STAFF"}, "both the shadow and the weight"),
        ({"contributor": "firm", "waiver": "firm"}, "both the waiver and the contributor"),
        ({"contributor": "firm", "costs": ["firm"]}, "both the contributor and the cost"),
    ],
)
def test_two_parts_that_exclude_each_other(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tabulate(FIRMS, [REGION], "sales", **parts)


def test_parts_that_go_together() -> None:
    table = tabulate(FIRMS, [REGION], "sales", shadow="sales", weight="w", costs=["sales", "w"])
    assert table.num_cells == 3


def test_two_dimensions_from_one_column() -> None:
    with pytest.raises(InputError, match="two dimensions take their codes from the column 'Region'"):
        tabulate(FIRMS, [REGION, flat("region", "again")], "sales", columns={"again": "Region"})


def test_contributions_to_a_dimension_of_that_name() -> None:
    firm = Dimension.of("firm", Hierarchy.flat(["f1", "f2", "f3"]))
    table = tabulate(FIRMS, [firm], "sales")
    with pytest.raises(InputError, match="is a dimension and the contributor"):
        contributions_of(table, FIRMS, contributor="firm", amount="sales")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"value": "region"}, "is a dimension and the value"),
        ({"contributors": "region"}, "is a dimension and the number of contributors"),
        ({"contributors": "value"}, "is the value and the number of contributors"),
    ],
)
def test_columns_of_ready_made_tables(options: dict[str, str], message: str) -> None:
    cells = pa.table({"region": ["N", "S"], "value": [4, 6], "status": ["s", "s"]})
    with pytest.raises(InputError, match=message):
        read_table(cells, {"region": None}, **options)
    with pytest.raises(InputError, match=message):
        read_problem(cells, {"region": None}, **options)
    with pytest.raises(InputError, match="is a dimension and the weight"):
        read_problem(cells, {"region": None}, fields={"weight": "region"})
    with pytest.raises(InputError, match="is a dimension and the flag"):
        read_publication(cells, {"region": None}, flag="region")


JOB = """\
[microdata]
file = "firms.csv"
contributor = "firm"
holding = "group"
weight = "w"
[dimensions.size]
{size}
[[tables]]
dimensions = ["region", "size"]
response = "sales"
shadow = "staff"
[[rules]]
rule = "threshold"
"""


@pytest.mark.parametrize("part", PARTS)
def test_jobs_are_refused_before_the_data_are_read(tmp_path: Path, part: str) -> None:
    column = PARTS[part]
    for size in (f'column = "{column}"', f'column = "class"\nlevels = ["{column.upper()}"]'):
        (tmp_path / "job.toml").write_text(JOB.format(size=size))
        with pytest.raises(InputError, match=rf"is a dimension and the {part}") as caught:
            read_job(tmp_path / "job.toml")
        assert caught.value.line is not None


def test_jobs_with_ready_made_tables(tmp_path: Path) -> None:
    job = '[[tables]]\nfile = "t.csv"\ndimensions = ["region"]\nvalue = "{}"\n[[rules]]\nrule = "threshold"\n'
    (tmp_path / "job.toml").write_text(job.format("region"))
    with pytest.raises(InputError, match="is a dimension and the value"):
        read_job(tmp_path / "job.toml")
