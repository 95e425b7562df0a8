"""Jobs keep single contributors off where these are known; other decisions and the price are told."""

import json
from pathlib import Path
from typing import Any

import pytest

import cellveil as cv
from cellveil.attackers.default_attackers import NOT_KNOWN
from cellveil.formats.tidy_folder import write_folder
from cellveil.problem import Status
from helpers.command import Command

FIRMS = """\
firm,group,region,branch,sales,staff
Ann,G1,North,food,20000,3
Bob,G2,North,wood,30000,4
c1,G3,North,toys,5100,2
c2,G4,North,toys,4300,2
d1,G5,South,food,7200,2
d2,G6,South,food,7300,2
d3,G7,South,food,8400,2
e1,G8,South,wood,9500,2
e2,G9,South,wood,9600,2
e3,G10,South,wood,9700,2
f1,G11,South,toys,6100,2
f2,G12,South,toys,6400,2
"""

TABLE = """
[[tables]]
dimensions = ["region", "branch"]
response = "sales"
"""

RULE = """
[[rules]]
rule = "threshold"
minimum = 2
safety_range = 15
"""

MICRODATA = '[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n'
OTHERS = 'default_attackers = false\nattackers = [{kind = "outsider", prior = 90}]\n'
WHOLE = "contributors who know their own part, alone or together"

RECORDS = '[microdata]\nfile = "firms.csv"\n'

OWNER = """\
firm,region,branch,sales
a,North,food,20
b,North,food,9
owner,North,wood,30
owner,South,food,22
owner,South,wood,27
"""
"""All other cells belong to one firm: whatever is hidden, it works out the rest."""

FROZEN = """
[[cells]]
key = {region = "North"}
status = "z"

[[cells]]
key = {branch = "food"}
status = "z"

[[cells]]
key = {}
status = "z"

[[cells]]
key = {region = "North", branch = "food"}
status = "u"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "firms.csv").write_text(FIRMS)
    (tmp_path / "owner.csv").write_text(OWNER)
    return tmp_path


def run(folder: Path, *parts: str) -> cv.JobResult:
    (folder / "job.toml").write_text('output = "out"\n' + "\n".join(parts), encoding="utf-8")
    return cv.run_job(cv.read_job(folder / "job.toml"))


def figures(result: cv.JobResult) -> dict[str, Any]:
    found = json.loads(result.files["figures"].read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def told(result: cv.JobResult) -> list[str]:
    """Everything that people read of the run."""
    return [result.summary(), result.report.to_html(), result._repr_html_()]


# -- who is asked -------------------------------------------------------------------------------------------


def test_known_contributors_are_kept_off(folder: Path) -> None:
    result = run(folder, MICRODATA, TABLE, RULE)
    assert result.report.verdict.startswith("Safe against outsiders and every single contributor:")
    assert result.suppression.pattern.hidden.sum() == 6, "a third cell in both rows, as Ann and Bob know one"
    assert [one["attacker"] for one in figures(result)["attackers"]] == ["outsider", "insider"]
    assert figures(result)["why_no_insiders"] == ""
    assert "\nNot tested: several contributors together.\n" in result.summary()


@pytest.mark.parametrize("named", ["attackers = []\n", OTHERS, "default_attackers = false\n"])
def test_outsiders_only_is_a_decision_that_everybody_is_told(folder: Path, named: str) -> None:
    result = run(folder, named, MICRODATA, TABLE, RULE)
    assert result.is_safe and "contributor" not in result.report.verdict
    assert result.suppression.pattern.hidden.sum() == 4
    for text in told(result):
        assert f"Not tested, by decision of the office: {WHOLE}." in text
    assert figures(result)["why_no_insiders"] == "by decision of the office"
    assert figures(result)["not_asked"] == WHOLE


def test_the_decision_is_told_in_the_terminal(folder: Path, command: Command) -> None:
    (folder / "job.toml").write_text('output = "out"\nattackers = []\n' + MICRODATA + TABLE + RULE)
    ended = command("run", folder / "job.toml")
    assert ended.code == 0 and "Not tested, by decision of the office: " in ended.out
    as_json = json.loads(command("run", folder / "job.toml", "--json").out)
    assert as_json["why_no_insiders"] == "by decision of the office"


def test_without_ids_each_record_is_a_contributor(folder: Path) -> None:
    with_ids = run(folder, MICRODATA, TABLE, RULE)
    result = run(folder, RECORDS, TABLE, RULE)
    told = "Safe against outsiders and every single contributor (each record counts as one contributor):"
    assert result.report.verdict.startswith(told)
    assert (result.suppression.pattern.hidden == with_ids.suppression.pattern.hidden).all()
    named = run(folder, RECORDS, TABLE, RULE, '[[attackers]]\nkind = "insider"\n')
    assert named.is_safe and named.report.verdict.startswith(told)


def test_attackers_that_are_named_come_in_addition(folder: Path) -> None:
    result = run(folder, '[[attackers]]\nkind = "outsider"\nprior = 90\n', MICRODATA, TABLE, RULE)
    assert [one["attacker"] for one in figures(result)["attackers"]] == [
        "outsider",
        "outsider (prior 90 %)",
        "insider",
    ]
    twice = run(folder, '[[attackers]]\nkind = "insider"\n', MICRODATA, TABLE, RULE)
    assert [one["attacker"] for one in figures(twice)["attackers"]] == ["outsider", "insider"]


def test_records_are_recognised_in_linked_tables(folder: Path) -> None:
    """Who alone makes up a cell of one table knows it in the other table as well."""
    sizes = [line.split(",") for line in FIRMS.splitlines()]
    rows = [",".join([*line, "size" if place == 0 else "small"]) for place, line in enumerate(sizes)]
    (folder / "sizes.csv").write_text("\n".join(rows) + "\n")
    other = '[[tables]]\ndimensions = ["region", "size"]\nresponse = "sales"\n'
    known = run(folder, RECORDS.replace("firms", "sizes"), TABLE, other, RULE).problem.table.units
    with_ids = run(folder, MICRODATA.replace("firms", "sizes"), TABLE, other, RULE).problem.table.units
    assert known is not None and with_ids is not None
    pairs = {(int(one), int(two)) for one, two in zip(known.who.flat, with_ids.who.flat, strict=True)}
    assert len(pairs) == len({one for one, _ in pairs}) == len({two for _, two in pairs}) == 13


def test_a_ready_made_table_knows_no_contributors(folder: Path) -> None:
    (folder / "table.csv").write_text("region,n\nNorth,3\nSouth,8\nEast,9\nTotal,20\n")
    table = '[[tables]]\nfile = "table.csv"\ndimensions = ["region"]\nvalue = "n"\n'
    result = run(folder, table, '[[cells]]\nkey = {region = "North"}\nstatus = "u"\n')
    assert f"Not tested, {NOT_KNOWN}: {WHOLE}." in result.summary()


def test_the_numbers_of_contributors_tell_who_alone_makes_up_a_cell(folder: Path) -> None:
    """North is Ann's, East is Bob's: whoever of them reads the sum of both knows the other's value."""
    rows = "region,sales,n\nNorth,30,1\nSouth,80,4\nWest,90,5\nEast,20,1\nTotal,220,11\n"
    (folder / "table.csv").write_text(rows)
    table = '[[tables]]\nfile = "table.csv"\ndimensions = ["region"]\nvalue = "sales"\ncontributors = "n"\n'
    only = run(folder, "attackers = []\n", table, '[[rules]]\nrule = "threshold"\nminimum = 3\n')
    assert only.suppression.pattern.hidden.sum() == 2
    result = run(folder, table, '[[rules]]\nrule = "threshold"\nminimum = 3\n')
    assert result.is_safe and result.suppression.pattern.hidden.sum() == 3
    assert "and every single contributor who alone makes up a cell:" in result.report.verdict
    told = "Not tested: contributors who share a cell with others, as their parts are not known"
    assert told in result.summary()


def test_the_largest_contributions_of_a_ready_made_table(folder: Path) -> None:
    rows = "region,sales,n,x1,x2\nNorth,30,2,20,10\nSouth,80,4,30,20\nWest,90,5,30,20\nEast,20,1,20,\n"
    rows += "Total,220,12,30,30\n"
    (folder / "table.csv").write_text(rows)
    table = (
        '[[tables]]\nfile = "table.csv"\ndimensions = ["region"]\nvalue = "sales"\ncontributors = "n"\n'
        'top = ["x1", "x2"]\n'
    )
    result = run(folder, table, '[[rules]]\nrule = "p%"\np = 10\n')
    assert result.is_safe and "and every single contributor:" in result.report.verdict
    shared = rows.replace("Total,220,12", "Total,220,11")
    (folder / "table.csv").write_text(shared)
    result = run(folder, table, '[[rules]]\nrule = "p%"\np = 10\n')
    assert "every single contributor (as far as they can be told apart without ids)" in result.report.verdict
    assert "Not tested: contributors who stand in several cells and are not recognised" in result.summary()


def test_contributions_to_another_variable_tell_who_alone_makes_up_a_cell(folder: Path) -> None:
    result = run(folder, MICRODATA, TABLE + 'shadow = "staff"\n', RULE)
    told = "Safe against outsiders and every single contributor who alone makes up a cell:"
    assert result.is_safe and result.report.verdict.startswith(told)


def test_where_a_rule_looks_at_holdings_these_are_asked(folder: Path) -> None:
    micro, rule = MICRODATA + 'holding = "group"\n', RULE + 'level = "holding"\n'
    assert "every single holding:" in run(folder, micro, TABLE, rule).report.verdict
    assert "every single contributor:" in run(folder, micro, TABLE, RULE).report.verdict
    inner = (
        '[[rules]]\nany = [{rule = "p%", p = 5}, {exempt = {region = ["East"]}, of = {rule = "threshold", '
    )
    nested = inner + 'minimum = 2, level = "holding"}}]\n'
    assert "every single holding:" in run(folder, micro, TABLE, nested).report.verdict


def test_instances_with_contributions(folder: Path) -> None:
    kept = run(folder, "attackers = []\n", MICRODATA, TABLE, RULE)
    instance, table = folder / "given", kept.problem.table.replace(units=None, holdings=None)
    write_folder(kept.problem.replace(table=table), instance)
    without = run(folder, 'instance = "given"\n')
    told = "and every single contributor who alone makes up a cell"
    assert told in without.report.verdict
    instance = folder / "nobody"
    write_folder(kept.problem.replace(table=table.replace(contributors=None)), instance)
    nobody = run(folder, 'instance = "nobody"\n')
    assert f"Not tested, {NOT_KNOWN}: " in nobody.summary()
    rows = ["region,branch,contributor,amount", *(f"{r},{b},{f},{s}" for f, _, r, b, s, _ in records())]
    (instance / "contributions.csv").write_text("\n".join(rows) + "\n")
    asked = run(folder, 'instance = "nobody"\n')
    assert "every single contributor:" in asked.report.verdict
    assert asked.suppression.pattern.hidden.sum() == 6


def records() -> list[list[str]]:
    return [line.split(",") for line in FIRMS.splitlines()[1:]]


def test_a_published_adjustment_is_judged_against_outsiders(folder: Path) -> None:
    result = run(folder, MICRODATA, TABLE, RULE, "[adjust]\npublish = true\n")
    assert result.is_safe and result.suppression.audit.against == "outsiders"
    told_why = f"Not tested, as adjusted tables are audited against outsiders only: {WHOLE}."
    assert told_why in result.summary()


def test_more_contributions_are_kept_where_contributors_attack(folder: Path) -> None:
    def depth(named: str, micro: str = MICRODATA) -> int:
        units = run(folder, named, micro, TABLE, RULE).problem.table.units
        assert units is not None
        return units.depth

    assert depth("") == depth('attackers = [{kind = "insider"}]\n') == 10
    assert depth("", RECORDS) == 10
    assert depth("attackers = []\n") == depth("default_attackers = false\n", RECORDS) == 3


# -- the price ----------------------------------------------------------------------------------------------


def test_the_price_is_told_inside_and_not_outside(folder: Path) -> None:
    result = run(folder, MICRODATA, TABLE, RULE, '[weights]\nkind = "one"\n')
    line = "Protection against every single contributor: +100.0 % cost, +2 cells"
    assert line in result.summary() and line in result.report.to_html()
    assert figures(result)["price"] == {
        "against": "every single contributor",
        "cost_against_outsiders": 2,
        "secondaries_against_outsiders": 2,
        "more_cost": 2,
        "more_cost_percent": 100.0,
        "more_cells": 2,
    }
    assert result.release is not None
    for path in result.release.folder.iterdir():
        assert b"Protection against" not in path.read_bytes()


def test_a_price_that_would_tell_a_value_is_not_shown(folder: Path) -> None:
    """Two cells more: their sum is nearly told by the price in per cent of a cost that is known."""
    result = run(folder, MICRODATA, TABLE, RULE)
    assert "Protection against every single contributor: – cost, +2 cells" in result.summary()


def test_without_further_attackers_there_is_no_price(folder: Path) -> None:
    result = run(folder, "attackers = []\n", MICRODATA, TABLE, RULE)
    assert figures(result)["price"] is None and "Protection against" not in result.summary()


# -- exemptions ---------------------------------------------------------------------------------------------


def test_what_nothing_protects_is_named_with_the_way_out(folder: Path) -> None:
    owned = MICRODATA.replace("firms.csv", "owner.csv")
    stuck = run(folder, owned, TABLE, FROZEN)
    assert not stuck.is_safe and stuck.release is None
    (cell,) = figures(stuck)["unprotectable_cells"]
    assert cell["cell"] == "(North, food)" and cell["reach"] == 0.0
    assert "cells that must be published" in cell["reason"]
    setting = 'exempt = [{region = "North", branch = "food"}]'
    assert setting in cell["remedy"] and "No pattern protects (North, food): " in stuck.summary()
    assert "No pattern protects (North, food): " in stuck.report.to_html()
    attacker = f'[[attackers]]\nkind = "insider"\n{setting}\nexempt_reason = "a and b agreed"\n'
    excused = run(folder, owned, TABLE, FROZEN, attacker)
    assert excused.is_safe and figures(excused)["unprotectable_cells"] == []
    line = "Exempt: (North, food) is not protected against every single contributor (a and b agreed)."
    for text in told(excused)[:2]:
        assert line in text
    assert figures(excused)["exempt_cells"] == [
        {"cell": "(North, food)", "against": "every single contributor", "reason": "a and b agreed"}
    ]


def test_cells_that_may_be_freed_make_room_against_contributors(folder: Path) -> None:
    stuck = run(folder, MICRODATA.replace("firms.csv", "owner.csv"), TABLE, FROZEN)
    assert stuck.suppression.unprotectable
    frozen = (stuck.problem.status == Status.FROZEN) & (stuck.problem.table.values != 0)
    attackers = stuck.audit.attackers[1:]
    found = cv.suppress(stuck.problem, attackers=attackers, may_free=frozen)
    assert found.is_safe and not found.unprotectable and found.relaxation is not None
    assert all(found.pattern.hidden[list(found.relaxation.freed)])


def test_a_reason_needs_cells(folder: Path) -> None:
    attacker = '[[attackers]]\nkind = "insider"\nexempt_reason = "why not"\n'
    with pytest.raises(cv.InputError, match="no cells are exempt for this reason"):
        run(folder, MICRODATA, TABLE, RULE, attacker)


def test_many_exemptions_are_cut_in_the_terminal_only(folder: Path) -> None:
    cells = ", ".join(f'{{region = "{r}", branch = "{b}"}}' for _, _, r, b, _, _ in records())
    attacker = f'[[attackers]]\nkind = "insider"\nexempt = [{cells}]\n'
    result = run(folder, MICRODATA, TABLE, RULE, attacker)
    assert "and 6 more such cells" in result.summary() and result.summary().count("Exempt: ") == 6
    assert result.report.to_html().count("Exempt: ") == 12
    assert "(no reason was given)" in result.summary()


def test_the_first_remedy_is_what_the_data_do_not_tell(folder: Path) -> None:
    """Two regions beside published ones: who is North knows East, and more columns might tell more."""
    rows = "region,sales,n,x1,x2\nNorth,30,1,30,\nEast,20,2,12,8\nSouth,90,9,11,10\nTotal,140,11,30,12\n"
    (folder / "table.csv").write_text(rows)
    table = '[[tables]]\nfile = "table.csv"\ndimensions = ["region"]\nvalue = "sales"\ncontributors = "n"\n'
    rule = '[[rules]]\nrule = "threshold"\nminimum = 3\n'
    frozen = "".join(f'[[cells]]\nkey = {key}\nstatus = "z"\n' for key in ('{region = "South"}', "{}"))
    stuck = run(folder, table, rule, frozen)
    assert not stuck.is_safe
    (cell,) = figures(stuck)["unprotectable_cells"]
    assert cell["cell"] == "(East)"
    assert cell["remedy"].startswith("name the columns with the largest contributions of each cell: top; or ")
    stuck = run(folder, table + 'top = ["x1", "x2"]\n', rule, frozen)
    assert not stuck.is_safe
    (cell,) = figures(stuck)["unprotectable_cells"]
    assert cell["remedy"].startswith("tabulate microdata with a column of contributor ids: contributor; or ")
    assert (
        ". Tabulate microdata with a column of contributor ids: contributor. Free" in stuck.suppression.reason
    )


def test_explanations_name_the_ids_of_the_office(folder: Path, command: Command) -> None:
    (folder / "job.toml").write_text('output = "out"\n' + MICRODATA + TABLE + RULE)
    assert command("run", folder / "job.toml").code == 0
    told = command("explain", folder / "job.toml", "North, food").out
    assert "contributor Ann)" in told
    (folder / "job.toml").write_text('output = "out"\n' + RECORDS + TABLE + RULE)
    assert command("run", folder / "job.toml").code == 0
    assert (
        "record 1 (sales by region × branch))" in command("explain", folder / "job.toml", "North, food").out
    )
    for path in (folder / "out" / "public").iterdir():
        assert b"record 1" not in path.read_bytes()
