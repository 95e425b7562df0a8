"""Global recoding in jobs: flat and by hierarchy, in all tables or in one, and by files of tau-ARGUS."""

from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.job import read_job, run_job
from cellveil.job.preparing import prepare
from cellveil.progress import Progress

HEAD = """
output = "out"
[microdata]
file = "firms.csv"
contributor = "firm"
[[rules]]
rule = "p%"
p = 10
"""

TABLE = """
[[tables]]
dimensions = ["region", "size"]
response = "sales"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "regions.csv").write_text("parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\nS,S1\nS,S2\n")
    rows = ["firm,region,size,sales"]
    for firm in range(60):
        region, size = ("N1", "N2", "S1", "S2")[firm % 4], f"{1 + firm * 7 % 12}"
        rows.append(f"f{firm},{region},{size},{5000 if firm == 7 else 10 + firm}")
    (tmp_path / "firms.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def prepared(folder: Path, text: str):
    (folder / "job.toml").write_text(HEAD + text)
    return prepare(read_job(folder / "job.toml"), Progress())


def codes(found, axis: int) -> tuple[str, ...]:
    return found.problem.table.dimensions[axis].codes


REGIONS = '[dimensions.region]\nhierarchy = "regions.csv"\n'


@pytest.mark.parametrize("key", ["to_level = 1", 'fold = ["N", "S"]', 'recode = "r.grc"'])
def test_hierarchies(folder, key):
    (folder / "r.grc").write_text("<TREERECODE>\nN\nS\n")
    fine, coarse = prepared(folder, TABLE + REGIONS), prepared(folder, TABLE + REGIONS + key)
    assert codes(coarse, 0) == ("Total", "N", "S")
    assert 0 < len(coarse.problem.primaries) < len(fine.problem.primaries)  # judged anew


@pytest.mark.parametrize("key", ['join = {low = "-4, 12", mid = "5 - 8"}', 'recode = "s.grc"'])
def test_flat_codes(folder, key):
    (folder / "s.grc").write_text("low : -4, 12\nmid : 5-8\n")
    found = prepared(folder, TABLE + f"[dimensions.size]\n{key}\n")
    assert codes(found, 1) == ("Total", "low", "mid", "9", "10", "11")


def test_one_table_is_coarser_than_another(folder):
    two = TABLE + 'to_level = {region = 1}\n[[tables]]\ndimensions = ["region"]\nresponse = "sales"\n'
    found = prepared(folder, two + REGIONS)
    table = found.problem.table
    sizes = [part.table.num_cells for part in found.tables]
    assert set(codes(found, 0)) == {"Total", "N", "N1", "N2", "S", "S1", "S2"}
    assert sizes[1] == 7 and table.num_cells == sizes[0] + 4  # Total, N and S are common cells
    assert not table.relations.residuals(table.values)


def test_from_recoding_to_release(folder):
    (folder / "job.toml").write_text(HEAD + TABLE + REGIONS + "to_level = 1\n[release]\nformats = ['csv']\n")
    result = run_job(read_job(folder / "job.toml"))
    assert result.is_safe
    public = "".join(path.read_text() for path in (folder / "out" / "public").glob("*.csv"))
    assert "N1" not in public


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + REGIONS + "to_level = 5", "has no level 5"),
        (TABLE + REGIONS + 'fold = ["X"]', "'X', which is to be folded"),
        (TABLE + REGIONS + 'join = {low = "N1"}', "Fold branches"),
        (TABLE + REGIONS + 'fold = ["N"]\nto_level = 1', "to_level and fold are given"),
        (TABLE + '[dimensions.size]\njoin = {low = "-4", mid = "3-8"}', "would become 'low' and 'mid'"),
        (TABLE + '[dimensions.size]\njoin = {low = "77"}', "becomes 'low'"),
        (TABLE + '[dimensions.size]\njoin = {low = "1;2"}', "becomes 'low'"),
        (TABLE + '[dimensions.size]\njoin = {low = ""}', "no old codes follow"),
        (TABLE + '[dimensions.size]\nrecode = "none.grc"', "none.grc"),
        (TABLE + '[dimensions.size]\nrecode = "m.grc"', "<MISSING>"),
        (TABLE + "to_level = {regoin = 1}", "Did you mean 'region'"),
        (TABLE + 'fold = {region = ["N"]}\nto_level = {region = 1}\n' + REGIONS, "folded already"),
        (TABLE + "to_level = {size = 2}", "has no level 2"),
    ],
)
def test_wrong_recodings(folder, text, message):
    (folder / "m.grc").write_text("low : 1-3\n<MISSING> 9\n")
    with pytest.raises(InputError, match=message) as found:
        prepared(folder, text)
    assert found.value.remedy


def test_ready_made_tables_are_not_recoded(folder):
    (folder / "table.csv").write_text("region,value,status\nTotal,5,s\nN,2,u\nS,3,s\n")
    table = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n[dimensions.region]\nfold = ["N"]\n'
    (folder / "job.toml").write_text(f'output = "out"\n{table}')
    with pytest.raises(InputError, match="contributors of joined cells are not known"):
        read_job(folder / "job.toml")
