"""Templates: from a list of tables to linked tables, clusters and one joint audit."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cellveil.cli.app import run_command
from cellveil.errors import InputError
from cellveil.job import read_job, run_job
from cellveil.job.preparing import prepare
from cellveil.job.template_lines import SpanningVariable, TemplateLine, read_template
from cellveil.job.template_plan import TemplateRecords, plan_template
from cellveil.microdata.source_options import SourceOptions
from cellveil.progress import NoteTaker, Progress
from helpers.instances import INSTANCES, needs_instances

HEADER = (
    "table_name,field,hrc_field,indicator,hrc_indicator,spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2"
)
PIZZA = [f"fr,NA,to_pizza,NA,{spanning}" for spanning in (
    "nuts2,hrc_nuts,size,NA", "nuts3,hrc_nuts,size,NA", "a10,hrc_naf,nuts2,hrc_nuts",
    "a10,hrc_naf,nuts3,hrc_nuts", "a21,hrc_naf,nuts2,hrc_nuts", "a21,hrc_naf,nuts3,hrc_nuts",
)]  # fmt: skip
LETTUCE = [
    f"fr,NA,{response},hrc_lettuce,a10,hrc_naf,{other},NA"
    for response in ("to_batavia", "to_arugula", "to_lettuce")
    for other in ("size", "cj")
]
LINES = [HEADER, *(f"T{number},{line}" for number, line in enumerate([*PIZZA, *LETTUCE], 1))]
"""The template that rtauargus comes with."""

RULES = """
output = "out"
template = "template.csv"
[microdata]
file = "firms.csv"
contributor = "firm"
[[rules]]
rule = "threshold"
minimum = 3
[suppress]
time_limit = 20
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records that have all columns of the template of rtauargus."""
    rng = np.random.default_rng(3)
    rows = ["firm,nuts2,nuts3,a10,a21,size,cj,to_pizza,to_batavia,to_arugula,to_lettuce"]
    for firm in range(500):
        region, industry = rng.integers(0, 6), rng.integers(0, 6)
        batavia, arugula = rng.integers(0, 90, 2)
        rows.append(
            f"f{firm},R{region // 2},R{region // 2}{region},A{industry // 2},A{industry // 2}{industry},"
            f"{rng.choice(['s', 'm', 'l'])},{rng.choice(['LL', 'IN'])},{rng.integers(1, 900)},"
            f"{batavia},{arugula},{batavia + arugula}"
        )
    (tmp_path / "firms.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "template.csv").write_text("\n".join(LINES) + "\n")
    return tmp_path


def records(folder: Path) -> TemplateRecords:
    return TemplateRecords([str(folder / "firms.csv")], SourceOptions())


@needs_instances
def test_the_layout_of_rtauargus(folder):
    lines = read_template(INSTANCES / "microdata" / "rtau_metadata_pizza_lettuce.csv")
    assert [line.name for line in lines] == [f"T{n}" for n in range(1, 13)]
    assert [replace(line, field="fr") for line in lines] == read_template(folder / "template.csv")
    nuts, size = SpanningVariable("nuts2", "hrc_nuts"), SpanningVariable("size")
    assert lines[0] == TemplateLine("T1", (nuts, size), "to_pizza", field="france_entreprises_2023")
    assert lines[6].hrc_response == "hrc_lettuce"


def test_what_the_records_show(folder):
    plan = plan_template(folder / "template.csv", records(folder))
    assert plan.dimensions["nuts"] == {"column": "nuts3", "levels": ["nuts2"]}
    assert plan.dimensions["naf"] == {"column": "a21", "levels": ["a10"]}
    assert plan.dimensions["size"] == plan.dimensions["cj"] == {}
    assert plan.equations == {"to_lettuce": ["to_batavia", "to_arugula"]}
    assert [len(cluster) for cluster in plan.clusters] == [6, 6]
    assert plan.tables[2]["to_level"] == {"naf": 1, "nuts": 1}
    assert "to_level" not in plan.tables[5]


def test_what_files_of_hierarchies_show(folder):
    (folder / "hrc_nuts.hrc").write_text("R0\n@R00\n@R01\nR1\n@R12\n@R13\nR2\n@R24\n@R25\n")
    (folder / "hrc_lettuce.hrc").write_text("to_lettuce\n@to_batavia\n@to_arugula\n")
    plan = plan_template(folder / "template.csv", records(folder))
    assert plan.dimensions["nuts"] == {"column": "nuts3", "hierarchy": str(folder / "hrc_nuts.hrc")}
    assert plan.tables[0]["to_level"] == {"nuts": 1}
    assert any("hrc_lettuce.hrc" in note for note in plan.notes)


def test_a_job_runs_all_tables_as_one(folder):
    (folder / "job.toml").write_text(RULES)
    taker = NoteTaker(Progress())
    found = prepare(read_job(folder / "job.toml"), taker)
    table = found.problem.table
    assert [part.name for part in found.tables] == [f"T{n}" for n in range(1, 13)]
    assert "template.csv: 12 tables in 2 independent clusters" in taker.notes
    fine, coarse = found.tables[1], found.tables[0]
    assert set(coarse.cells) < set(fine.cells)  # nuts2 × size is part of nuts3 × size
    sums = {
        name: table.values[table.variables == n].max() for n, name in enumerate(table.dimensions[-1].codes)
    }
    assert sums["to_lettuce"] == sums["to_batavia"] + sums["to_arugula"]


def test_one_joint_audit(folder):
    (folder / "template.csv").write_text("\n".join([*LINES[:3], LINES[7]]) + "\n")
    (folder / "job.toml").write_text(RULES + "[release]\nformats = ['csv']\n")
    result = run_job(read_job(folder / "job.toml"))
    assert result.is_safe
    assert len(list((folder / "out" / "public").glob("*.csv"))) >= 3


def test_the_command_writes_a_job_that_reads(folder, capsys):
    command = ["template", str(folder / "template.csv"), "--data", str(folder / "firms.csv")]
    assert run_command([*command, "--out", str(folder / "job.toml")]) == 0
    shown = capsys.readouterr().out
    assert "12 tables in 2 independent clusters" in shown
    assert "to_lettuce = to_batavia + to_arugula" in shown
    data = tomllib.loads((folder / "job.toml").read_text())
    plan = plan_template(folder / "template.csv", records(folder))
    assert data["tables"] == list(plan.tables)
    assert data["equations"] == plan.equations
    with pytest.raises(InputError, match=r"no rules.*Add \[\[rules"):
        read_job(folder / "job.toml")
    assert run_command([*command, "--out", str(folder / "job.toml")]) == 2  # nothing is overwritten


def test_the_job_itself_comes_first(folder):
    own = (
        '[dimensions.size]\ncodes = ["s", "m", "l"]\n[equations]\nto_lettuce = ["to_batavia", "to_arugula"]\n'
    )
    (folder / "job.toml").write_text(RULES + own)
    job = read_job(folder / "job.toml")
    assert job.dimensions["size"].codes == ["s", "m", "l"]
    assert job.dimensions["nuts"].levels == ["nuts2"]


PLAIN = "table,response,dimension_1,hierarchy_1,level_1,dimension_2\n"


def test_the_plain_layout(folder):
    (folder / "regions.csv").write_text("parent,child\nTotal,R0\nTotal,R1\nR0,R00\nR0,R01\nR1,R12\n")
    (folder / "template.csv").write_text(PLAIN + "A,to_pizza,nuts3,regions,1,size\nB,,nuts3,regions,,\n")
    plan = plan_template(folder / "template.csv")
    assert plan.tables == [
        {"name": "A", "dimensions": ["nuts3", "size"], "response": "to_pizza", "to_level": {"nuts3": 1}},
        {"name": "B", "dimensions": ["nuts3"]},
    ]
    assert plan.clusters == [["A"], ["B"]]
    assert plan.dimensions["nuts3"] == {"hierarchy": str(folder / "regions.csv")}


def test_amounts_are_read_as_the_line_says(folder):
    header = "table,response,dimension_1,shadow,decimals,rounding\n"
    (folder / "template.csv").write_text(header + "A,to_pizza,size,to_lettuce,0,yes\nB,,size,,,no\n")
    first, second = plan_template(folder / "template.csv").tables
    assert (first["shadow"], first["decimals"], first["rounding"]) == ("to_lettuce", 0, True)
    assert second == {"name": "B", "dimensions": ["size"]}


def test_levels_of_one_hierarchy_without_its_name_are_warned_about(folder):
    (folder / "template.csv").write_text("table,response,dimension_1\nA,to_pizza,nuts2\nB,to_pizza,nuts3\n")
    notes = plan_template(folder / "template.csv", records(folder)).notes
    assert notes == ["WARNING: every nuts3 has one nuts2: if they are levels of a tree, name it"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tabel,dimension_1\nA,size\n", "Did you mean 'table'"),
        (PLAIN + "A,to_pizza,,,,\n", "no dimension"),
        (PLAIN + "A,to_pizza,size,,,size\n", "no dimension, or one twice"),
        (PLAIN + "A,to_pizza,,nuts,,\n", "dimension 1 has no name"),
        (PLAIN + "A,to_pizza,size,,two,\n", "level_1 is not a level"),
        (PLAIN + "A,to_pizza,size,,,\nA,,size,,,\n", "listed twice"),
        (PLAIN + "NA,,,,,\n", "lists no table"),
        ("table,dimension_1,decimals\nA,size,many\n", "decimals is not a digit"),
        ("table,dimension_1,rounding\nA,size,perhaps\n", "neither yes nor no"),
        (PLAIN + "A,,a10,naf,,\nB,,a10,,,\n", "different hierarchies"),
        ("table,field,dimension_1\nA,firms,size\nB,farms,size\n", "several fields"),
        (
            "table,dimension_1,hierarchy_1,dimension_2,hierarchy_2\nA,a10,naf,a21,naf\n",
            "two variables of one hierarchy",
        ),
        (PLAIN + "A,,size,h,,\nB,,cj,h,,\n", "not nested in the records"),
        (
            "table,response,hrc_response,dimension_1\nA,to_pizza,h,size\nB,to_batavia,h,size\n",
            "how the responses of 'h' add up is not known",
        ),
    ],
)
def test_wrong_templates(folder, text, message):
    (folder / "template.csv").write_text(text)
    with pytest.raises(InputError, match=message) as found:
        plan_template(folder / "template.csv", records(folder))
    assert found.value.remedy


def test_nothing_is_guessed_without_records(folder):
    with pytest.raises(InputError, match="add up is not known"):
        plan_template(folder / "template.csv")
    (folder / "template.csv").write_text("\n".join(LINES[:3]) + "\n")
    with pytest.raises(InputError, match="nested is not known"):
        plan_template(folder / "template.csv")


def test_responses_that_add_up_without_an_equation_are_warned_about(folder):
    lines = [line.replace("hrc_lettuce", "NA") for line in LINES]
    (folder / "template.csv").write_text("\n".join(lines) + "\n")
    found = plan_template(folder / "template.csv", records(folder))
    warned = [note for note in found.notes if note.startswith("WARNING: to_lettuce = ")]
    assert len(warned) == 1 and "to_batavia + to_arugula in every record" in warned[0]
    known = {"to_lettuce": ["to_arugula", "to_batavia"]}
    notes = plan_template(folder / "template.csv", records(folder), known).notes
    assert not any("WARNING: to_lettuce" in note for note in notes)
