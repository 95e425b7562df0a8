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


# -- ready-made tables ---------------------------------------------------------------------------------------

FIRMS = {  # amounts of the firms in each cell
    ("N1", "1"): [90, 4],
    ("N1", "2"): [30, 20, 10],
    ("N2", "1"): [8, 7, 6],
    ("N2", "2"): [40, 1],
    ("S1", "1"): [20, 19, 18],
    ("S1", "2"): [7, 7, 7],
    ("S1", "3"): [25, 24, 23],
    ("S2", "3"): [33, 32, 31],
}
PARENTS = {"N1": "N", "N2": "N", "S1": "S", "S2": "S"}


def aggregated(*, totals: bool) -> str:
    """The table of `FIRMS`, with numbers of contributors and the two largest."""
    cells: dict[tuple[str, str], list[int]] = {}
    for (region, size), parts in FIRMS.items():
        above = [region, PARENTS[region], "Total"] if totals else [region]
        for key in ((r, s) for r in above for s in ([size, "Total"] if totals else [size])):
            cells.setdefault(key, []).extend(parts)
    lines = ["region;size;value;firms;x1;x2"]
    for (region, size), parts in cells.items():
        first, second = sorted(parts, reverse=True)[:2]
        lines.append(f"{region};{size};{sum(parts)};{len(parts)};{first};{second}")
    return "\n".join(lines) + "\n"


READY = """output = "out"
[[tables]]
dimensions = ["region", "size"]
file = "table.csv"
contributors = "firms"
top = ["x1", "x2"]
{table}
[[rules]]
rule = "p%"
p = 10
[dimensions.region]
hierarchy = "regions.csv"
{region}
[dimensions.size]
{size}
"""


def ready_made(folder: Path, *, totals: bool = True, text: str = "", **keys: str):
    (folder / "table.csv").write_text(text or aggregated(totals=totals))
    (folder / "job.toml").write_text(READY.format(**{"table": "", "region": "", "size": ""} | keys))
    return prepare(read_job(folder / "job.toml"), Progress())


def as_tabulated(folder: Path, **keys: str):
    """The same from the records."""
    records = [
        f"f{place}-{number},{region},{size},{part}"
        for place, ((region, size), parts) in enumerate(FIRMS.items())
        for number, part in enumerate(parts)
    ]
    (folder / "firms.csv").write_text("\n".join(["firm,region,size,sales", *records]) + "\n")
    given = {"table": "", "region": "", "size": ""} | keys
    dimensions = f'[dimensions.region]\nhierarchy = "regions.csv"\n{given["region"]}\n'
    return prepared(folder, f"{TABLE}{given['table']}\n{dimensions}[dimensions.size]\n{given['size']}\n")


@pytest.mark.parametrize("totals", [True, False])
@pytest.mark.parametrize(
    "keys",
    [
        {"region": "to_level = 1"},
        {"region": 'fold = ["N"]'},
        {"table": "to_level = {region = 1}"},
        {"size": 'join = {low = "1, 2"}'},
        {"size": 'join = {"1" = "1, 3"}'},
        {"region": "to_level = 1", "size": 'recode = "s.grc"'},
    ],
)
def test_recoded_ready_made_tables_are_those_of_the_records(folder, totals, keys):
    """Every firm stands in one cell, so that primaries and levels are those of the recoded records."""
    (folder / "s.grc").write_text("low : 1, 2\n")
    ours, theirs = ready_made(folder, totals=totals, **keys).problem, as_tabulated(folder, **keys).problem
    assert len(ours.primaries) < 8
    facts = [
        {
            problem.table.key(cell): (int(problem.table.values[cell]), int(problem.upl[cell]))
            for cell in range(problem.table.num_cells)
            if problem.table.values[cell]
        }
        for problem in (ours, theirs)
    ]
    assert facts[0] == facts[1]


def test_a_joined_cell_has_no_status(folder):
    text = aggregated(totals=True).replace("x2\n", "x2;status\n", 1)
    lines = [line if line.endswith("status") else f"{line};s" for line in text.splitlines()]
    marked = [line[:-1] + "u" if line.startswith("N1;1") else line for line in lines]
    join = 'join = {low = "1, 2"}'
    assert ready_made(folder, text="\n".join(lines), size=join).problem.table.num_cells
    with pytest.raises(InputError, match="that of the joined cell is not known") as found:
        ready_made(folder, text="\n".join(marked), size=join)
    assert found.value.cell == "(N1, 1)" and 'status = ""' in found.value.remedy
    ready_made(folder, text="\n".join(marked), size=join, table='status = ""')
    folded = ready_made(folder, text="\n".join(marked), region='fold = ["N"]')  # totals keep their own
    assert "(N1, 1)" not in folded.problem.table.cell_names(range(folded.problem.table.num_cells))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ((";firms;", ";lpl;"), "cells are joined that have lpl of their own"),
        ((";x2", ";ub"), "cells are joined that have ub of their own"),
    ],
)
def test_joined_cells_have_no_levels_or_bounds(folder, change, message):
    table = aggregated(totals=True).replace(*change, 1)
    text = READY.replace('contributors = "firms"\ntop = ["x1", "x2"]\n', "")
    (folder / "table.csv").write_text(table)
    job = text.format(table="", region="", size='join = {low = "1, 2"}').replace(
        'rule = "p%"\np = 10', 'rule = "threshold"\nof = "value"'
    )
    (folder / "job.toml").write_text(job)
    with pytest.raises(InputError, match=message):
        prepare(read_job(folder / "job.toml"), Progress())


def test_a_rule_without_contributions_says_so(folder):
    text = READY.replace('top = ["x1", "x2"]\n', "").format(table="", region="", size='join = {low = "1, 2"}')
    (folder / "table.csv").write_text(aggregated(totals=True))
    (folder / "job.toml").write_text(text)
    with pytest.raises(InputError, match="needs the contributions at unit level") as found:
        prepare(read_job(folder / "job.toml"), Progress())
    assert "top = " in found.value.remedy


def test_unknown_codes_and_open_bounds_of_recoded_tables(folder):
    lines = aggregated(totals=True).splitlines()
    bounded = "\n".join([f"{lines[0]};ub", *(f"{line};inf" for line in lines[1:])])
    problem = ready_made(folder, text=bounded, region='fold = ["N"]').problem
    assert (problem.ub > 10**12).all()  # still nothing known
    unknown = aggregated(totals=True) + "N1;low;5;1;5;0\n"
    listed = 'codes = ["1", "2", "3"]\njoin = {low = "1, 2"}'
    with pytest.raises(InputError, match=f"line {unknown.count(chr(10))}: unknown code in dimension 'size'"):
        ready_made(folder, text=unknown, size=listed)
