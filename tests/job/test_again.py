"""Again next month: previous patterns, frozen cells, releases beside each other, and their history."""

import json
from pathlib import Path

import pytest

import cellveil as cv
from cellveil.formats.release_folder import read_release
from cellveil.judge.published import audit_published
from helpers.command import Command, listing

TABLE = """region,size,value
N,small,20
N,medium,50
N,large,10
S,small,8
S,medium,19
S,large,22
W,small,17
W,medium,32
W,large,12
"""

JOB = """
title = "Turnover"
output = "out"
[[tables]]
dimensions = ["region", "size"]
file = "table.csv"
totals = "none"
[[cells]]
key = {region = "N", size = "small"}
status = "u"
[weights]
kind = "one"
"""
"""Weights are alike, so that many patterns are as cheap."""

FIRST, SECOND = {"medium", "S"}, {"large", "W"}
"""Codes that hidden cells of two patterns have beside N and small."""


def square(codes: set[str] = FIRST) -> str:
    """Statuses that freeze everything but a square around (N, small): the only pattern is that square."""
    regions, sizes = {"N"} | codes & {"S", "W"}, {"small"} | codes & {"medium", "large"}
    lines = []
    for region in ("N", "S", "W"):
        for size in ("small", "medium", "large"):
            if region not in regions or size not in sizes:
                lines.append(f'[[cells]]\nkey = {{region = "{region}", size = "{size}"}}\nstatus = "z"\n')
    lines += [f'[[cells]]\nkey = {{region = "{region}"}}\nstatus = "z"\n' for region in ("N", "S", "W")]
    lines += [
        f'[[cells]]\nkey = {{size = "{size}"}}\nstatus = "z"\n' for size in ("small", "medium", "large")
    ]
    return "".join(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "table.csv").write_text(TABLE)
    return tmp_path


def run(folder: Path, text: str) -> cv.JobResult:
    (folder / "job.toml").write_text(text)
    return cv.run_job(cv.read_job(folder / "job.toml"))


def named(text: str, output: str, *keys: str) -> str:
    """The job with another output folder and further keys at the top."""
    return text.replace('output = "out"', "\n".join([f'output = "{output}"', *keys]))


def hidden(result: cv.JobResult) -> set[str]:
    return set(result.problem.table.cell_names(result.suppression.pattern.hidden.nonzero()[0]))


# -- the pattern of a former month ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "source"), [(FIRST, "internal/pattern.csv"), (SECOND, "public"), (FIRST, ""), (SECOND, "")]
)
def test_the_same_cells_are_preferred(folder: Path, codes: set[str], source: str) -> None:
    first = run(folder, named(JOB, "first") + square(codes=codes))
    again = run(folder, named(JOB, "again", f'previous = "first/{source}"'))
    assert hidden(again) == hidden(first)
    assert again.report.changes is not None and again.report.changes.are_none
    assert "no difference" in again.summary() and again.is_safe
    figures = json.loads((folder / "again" / "internal" / "report.json").read_text())
    assert figures["changes"]["newly_hidden"] == [] and figures["changes"]["same_hidden"] == 4


def test_codes_may_change_between_months(folder: Path) -> None:
    first = run(folder, named(JOB, "first") + square())
    (folder / "table.csv").write_text(TABLE.replace("W,", "East,") + "X,small,5\nX,medium,6\nX,large,7\n")
    again = run(folder, named(JOB, "again", 'previous = "first"'))
    assert hidden(again) == hidden(first)
    changes = again.report.changes
    assert (
        changes is not None
        and changes.came == {"region": ("East", "X")}
        and changes.went == {"region": ("W",)}
    )
    assert changes.new_cells == 8 and changes.gone_cells == 4
    page = (folder / "again" / "internal" / "report.html").read_text()
    assert "codes that came: region: East, X" in page


def test_the_weight_is_the_users(folder: Path) -> None:
    """At weight 1 nothing is preferred: the weights are those of the table."""
    run(folder, named(JOB, "first") + square(codes=SECOND))
    one = run(folder, named(JOB, "again", 'previous = {file = "first", weight = 1.0}'))
    none = run(folder, named(JOB, "none"))
    assert hidden(one) == hidden(none)
    assert (one.problem.weight == none.problem.weight).all()


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ('previous = "nowhere.csv"', "nowhere.csv"),
        ('previous = {file = "first", weight = 0.0}', "is not above 0"),
        ('previous = {file = "first", freeze = "all"}', "none of"),
        ('previous = "table.csv"', "no column 'status'"),
        ('previous = "other.csv"', "no cell of the previous pattern is in the table"),
        ('against = ["."]', "there is no release in it"),
        ("against = []", "too few"),
    ],
)
def test_what_cannot_be_read_is_told(folder: Path, keys: str, told: str) -> None:
    run(folder, named(JOB, "first"))
    (folder / "other.csv").write_text("country,status\nNL,u\n")
    with pytest.raises(cv.InputError, match=told):
        run(folder, named(JOB, "again", keys))


# -- frozen cells --------------------------------------------------------------------------------------------

FROZEN = 'previous = {file = "first", freeze = "published"}'


def test_what_was_published_stays_published(folder: Path) -> None:
    first = run(folder, named(JOB, "first") + square(codes=SECOND))
    again = run(folder, named(JOB, "again", FROZEN))
    assert hidden(again) == hidden(first) and again.suppression.relaxation is None


def test_frozen_cells_in_the_way_are_freed_and_named(folder: Path) -> None:
    """Last month nothing was unsafe but (S, medium); now (N, small) is, and its row and column are frozen."""
    other = JOB.replace('region = "N", size = "small"', 'region = "S", size = "medium"')
    first = run(folder, named(other, "first"))
    again = run(folder, named(JOB, "again", FROZEN))
    assert again.is_safe and again.release is not None
    relaxation = again.suppression.relaxation
    assert relaxation is not None and relaxation.freed and not relaxation.lowered
    newly = hidden(again) - hidden(first) - {"(N, small)"}
    assert newly and newly <= set(relaxation.freed_names)
    figures = json.loads((folder / "again" / "internal" / "report.json").read_text())
    facts = [fact for conflict in figures["relaxation"]["conflicts"] for fact in conflict["facts"]]
    assert {fact["why"] for fact in facts} == {"must be published"}
    assert "RELAXED" in figures["verdict"]


def test_cells_frozen_by_hand_are_not_freed(folder: Path) -> None:
    other = JOB.replace('region = "N", size = "small"', 'region = "S", size = "medium"')
    run(folder, named(other, "first"))
    by_hand = "".join(
        f"[[cells]]\nkey = {{{key}}}\nstatus = 'z'\n"
        for key in ("region = 'N'", "region = 'N', size = 'medium'", "region = 'N', size = 'large'")
    )
    with pytest.raises(cv.InfeasibleError, match=r"\(N, small\)"):
        run(folder, named(JOB, "again", FROZEN) + by_hand)


# -- releases beside each other ------------------------------------------------------------------------------


def test_a_release_that_opens_a_cell_beside_a_former_one_is_refused(folder: Path, command: Command) -> None:
    run(folder, named(JOB, "first") + square(codes=FIRST))
    second = run(folder, named(JOB, "second") + square(codes=SECOND))
    assert second.is_safe and second.release is not None
    instance, pattern = (folder / "second" / "internal" / name for name in ("instance", "pattern.csv"))
    assert command("audit", instance, pattern).code == 0
    ended = command("audit", instance, pattern, "--with", folder / "first" / "public")
    assert ended.code == 1 and "(N, small)" in ended.out and "together with first" in ended.out
    report = folder / "report.json"
    again = command("audit", instance, pattern, "--with", folder / "second", "--report", report)
    assert again.code == 0 and "also beside second" in again.out
    told = json.loads(report.read_text())
    assert told["safe"] and [one["release"] for one in told["former_releases"]["releases"]] == ["second"]
    assert command("audit", instance, "--with", folder / "first").code == 2


def test_a_job_that_must_publish_too_much_is_refused_and_names_the_cells(
    folder: Path, command: Command
) -> None:
    """What the former release hides must be published here, and the other way round."""
    run(folder, named(JOB, "first") + square(codes=FIRST))
    (folder / "job.toml").write_text(named(JOB, "second", 'against = ["first"]') + square(codes=SECOND))
    ended = command("run", folder / "job.toml")
    assert ended.code == 3 and "no pattern can protect (N, small)" in ended.err
    relaxed = named(JOB, "second", 'against = ["first"]') + square(codes=SECOND)
    (folder / "job.toml").write_text(relaxed + "[suppress]\nrelax = true\n")
    ended = command("run", folder / "job.toml")
    assert ended.code == 0 and "RELAXED" in ended.out and "also beside first" in ended.out
    csv = (folder / "second" / "public" / "table.csv").read_text().splitlines()
    assert {"N,small,x,x", "N,medium,x,x", "S,small,x,x", "S,medium,x,x"} <= set(csv)


def test_what_an_earlier_release_gives_away_is_a_finding_unless_it_is_accepted(
    folder: Path, command: Command
) -> None:
    other = JOB.replace('region = "N", size = "small"', 'region = "S", size = "medium"')
    run(folder, named(other, "first"))
    (folder / "job.toml").write_text(named(JOB, "second", 'against = ["first"]'))
    ended = command("run", folder / "job.toml")
    assert ended.code == 1 and "1 cell follows from first alone" in ended.out and "(N, small)" in ended.out
    assert not (folder / "second" / "public").exists()
    assert "N,small,20,u" in (folder / "second" / "internal" / "instance" / "cells.csv").read_text()
    reason = 'against = {releases = ["first"], accept_known = "published in May"}'
    (folder / "job.toml").write_text(named(JOB, "second", reason))
    ended = command("run", folder / "job.toml")
    assert ended.code == 0 and "Accepted by the office: published in May" in ended.out
    internal = folder / "second" / "internal"
    names = [internal / name for name in ("instance", "pattern.csv", "certificate")]
    assert all(name.exists() for name in names[:2])
    assert command("verify", *names).code == 0


@pytest.mark.parametrize("accepted", [False, True])
def test_a_batch_judges_what_is_known_already_itself(
    folder: Path, command: Command, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)  # the overview goes into the working folder
    other = JOB.replace('region = "N", size = "small"', 'region = "S", size = "medium"')
    run(folder, named(other, "first"))
    reason = ', accept_known = "published in May"' if accepted else ""
    (folder / "again.toml").write_text(named(JOB, "second", f'against = {{releases = ["first"]{reason}}}'))
    (folder / "more.toml").write_text(named(JOB, "third"))
    ended = command("run", folder / "again.toml", folder / "more.toml")
    assert ended.code == (0 if accepted else 1), ended.out + ended.err
    assert (folder / "second" / "public").exists() is accepted and (folder / "third" / "public").exists()
    status = "m" if accepted else "u"
    assert f"N,small,20,{status}" in (folder / "second" / "internal" / "instance" / "cells.csv").read_text()


def test_the_certificate_of_everything_together_can_be_verified(folder: Path, command: Command) -> None:
    run(folder, named(JOB, "first") + square(codes=SECOND))
    (folder / "regions.csv").write_text("region,value\nN,80\nS,49\nW,61\n")
    text = named(JOB, "again", 'against = "first"').replace(
        'dimensions = ["region", "size"]', 'dimensions = ["region"]'
    )
    text = text.replace("table.csv", "regions.csv").replace('region = "N", size = "small"', 'region = "N"')
    text += '[against]\nreleases = "first"\naccept_known = "N was published"\n'
    (folder / "job.toml").write_text(text.replace('against = "first"\n', "", 1))
    assert command("run", folder / "job.toml").code == 0
    joint = folder / "again" / "internal" / "joint"
    names = [joint / name for name in ("instance", "pattern.csv", "certificate")]
    assert command("verify", *names).code == 0


def test_a_job_hides_what_former_releases_do_not_show(folder: Path) -> None:
    first = run(folder, named(JOB, "first") + square(codes=SECOND))
    second = run(folder, named(JOB, "second", 'against = ["first/public"]'))
    assert second.is_safe and second.release is not None and hidden(second) == hidden(first)
    assert "also beside first" in second.report.verdict
    figures = json.loads((folder / "second" / "internal" / "report.json").read_text())
    assert (
        figures["former_releases"]["safe"] and figures["former_releases"]["releases"][0]["common_cells"] == 16
    )


def test_other_breakdowns_are_attacked_together(folder: Path) -> None:
    """The totals of sizes by another table: what it hides of them the new release must hide too."""
    text = named(JOB, "first").replace('region = "N", size = "small"', 'region = "N"')
    text = text.replace('dimensions = ["region", "size"]', 'dimensions = ["region"]')
    (folder / "regions.csv").write_text("region,value\nN,80\nS,49\nW,61\n")
    first = run(folder, text.replace("table.csv", "regions.csv"))
    assert first.is_safe and first.release is not None and "(N)" in hidden(first)
    second = run(folder, named(JOB, "second", 'against = "first"'))
    beside = second.audit.together
    assert beside is not None and beside.to_dict()["releases"][0]["common_cells"] == 4


RECORDS = """
[microdata]
file = "firms.csv"
contributor = "firm"
[[tables]]
dimensions = ["region", "branch"]
response = "turnover"
[[rules]]
rule = "threshold"
minimum = 3
"""


def test_contributors_are_tested_beside_former_releases(folder: Path) -> None:
    """The records say who contributes to cells that only a former release has."""
    codes = [(region, size, branch) for region in "NSW" for size in "sml" for branch in "abc"]
    rows = [f"f{n},{','.join(codes[n % 25])},{100 + 7 * (n % 31)}" for n in range(160)]
    (folder / "firms.csv").write_text("firm,region,size,branch,turnover\n" + "\n".join(rows) + "\n")
    first = run(folder, 'output = "first"' + RECORDS)
    assert first.is_safe
    text = RECORDS.replace("branch", "size")
    same = run(folder, 'output = "same"\nagainst = "first"' + RECORDS)
    assert "every single contributor, also beside first:" in same.report.verdict
    second = run(folder, 'output = "second"\nagainst = "first"' + text)
    assert "every single contributor, also beside first:" in second.report.verdict
    third = run(folder, 'output = "third"\nagainst = ["first", "second"]' + RECORDS)
    assert third.is_safe and third.audit.together is not None
    assert third.audit.against.endswith("also beside first, second")


def test_adjusted_releases_stand_alone(folder: Path) -> None:
    run(folder, named(JOB, "first") + "[adjust]\npublish = true\n")
    with pytest.raises(cv.InputError, match="first is an adjusted table"):
        run(folder, named(JOB, "second", 'against = ["first"]'))
    run(folder, named(JOB, "third"))
    with pytest.raises(cv.InputError, match="an adjusted table is to be published beside earlier releases"):
        run(folder, named(JOB, "fourth", 'against = ["third"]') + "[adjust]\npublish = true\n")


def test_a_former_release_that_was_changed_is_refused(folder: Path) -> None:
    run(folder, named(JOB, "first"))
    file = folder / "first" / "public" / "table.csv"
    file.write_text(file.read_text().replace("22", "23"))
    with pytest.raises(cv.InputError, match=r"changed after it was made: table\.csv"):
        run(folder, named(JOB, "second", 'against = ["first"]'))


def test_releases_bring_their_hierarchies(folder: Path) -> None:
    (folder / "tree.csv").write_text("parent,child\nTotal,A\nTotal,W\nA,N\nA,S\n")
    text = JOB.replace("[[cells]]", '[dimensions.region]\nhierarchy = "tree.csv"\n[[cells]]')
    result = run(folder, text)
    published = read_release(folder / "out" / "public", {})
    assert len(published.table.relations) == len(result.problem.table.relations)
    assert audit_published(published).is_safe and not published.set_aside
    again = run(folder, named(text, "again", 'against = "out"'))
    assert again.is_safe and again.audit.together is not None
    assert again.audit.together.to_dict()["further_cells"] == 0


# -- the history ---------------------------------------------------------------------------------------------


def test_every_release_is_kept_and_compared(folder: Path, command: Command) -> None:
    first = run(folder, JOB + square(codes=FIRST))
    second = run(folder, JOB.replace("Turnover", "Turnover, revised") + square(codes=SECOND))
    kept = sorted((folder / "out" / "releases").iterdir())
    assert len(kept) == 2 and listing(kept[1]) == listing(folder / "out" / "public")
    told = command("history", folder / "out", "--json")
    assert told.code == 0
    one, two = json.loads(told.out)["releases"]
    assert (one["title"], two["title"]) == ("Turnover", "Turnover, revised")
    assert (one["cells"], one["hidden"], one["share_published"]) == (16, 4, 0.75)
    assert one["changes"] is None and not one["current"] and two["current"]
    assert len(two["changes"]["newly_hidden"]) == len(hidden(second) - hidden(first)) == 3
    assert two["revised_values"] == 0 and two["folder"].endswith(two["digest"][:16])
    shown = command("history", folder / "out" / "releases")
    assert "Turnover, revised (current)" in shown.out and "no longer hidden: 3 cells" in shown.out


def test_the_same_release_is_kept_once_and_revisions_are_counted(folder: Path, command: Command) -> None:
    run(folder, JOB)
    run(folder, JOB)
    assert len(list((folder / "out" / "releases").iterdir())) == 1
    (folder / "table.csv").write_text(TABLE.replace("W,large,12", "W,large,13"))
    run(folder, JOB + square())
    (folder / "table.csv").write_text(TABLE.replace("W,large,12", "W,large,14"))
    run(folder, JOB + square())
    releases = json.loads(command("history", folder / "out", "--json").out)["releases"]
    assert len(releases) == 3 and releases[2]["revised_values"] == 4


@pytest.mark.parametrize("name", ["table.csv", "about.json"])
def test_a_changed_release_is_seen_by_its_digest(folder: Path, command: Command, name: str) -> None:
    run(folder, JOB)
    (kept,) = (folder / "out" / "releases").iterdir()
    file = kept / name
    file.write_text(file.read_text().replace("22", "23").replace("Turnover", "Turnovers"))
    ended = command("history", folder / "out")
    assert ended.code == 1 and f"CHANGED SINCE IT WAS MADE: {name}" in ended.out


def test_a_release_that_was_withdrawn_stays_in_the_history(folder: Path, command: Command) -> None:
    run(folder, JOB)
    with pytest.raises(cv.InfeasibleError):
        run(folder, JOB + square(codes=set()))
    assert not (folder / "out" / "public").exists()
    ended = command("history", folder / "out")
    assert ended.code == 0 and "Turnover" in ended.out and "current" not in ended.out


def test_no_history_is_told(folder: Path, command: Command) -> None:
    ended = command("history", folder)
    assert ended.code == 2 and "no release is kept there" in ended.err
