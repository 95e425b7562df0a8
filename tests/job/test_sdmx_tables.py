"""Jobs on observations of SDMX: what the files say is taken, and what is wrong with them is said."""

import builtins
import csv
from pathlib import Path
from typing import Any

import pytest

import cellveil as cv
from cellveil.errors import InputError, MissingExtraError
from cellveil.job.preparing import prepare
from cellveil.problem import Problem, Status
from cellveil.progress import NoteTaker
from cellveil.tables.hierarchy import Hierarchy

SECRETS = ("987654", "876543")

CODES = [
    ("_T", "_T"),
    ("_T", "a"),
    ("_T", "b"),
    ("N", "_T"),
    ("N", "a"),
    ("N", "b"),
    ("S", "_T"),
    ("S", "a"),
    ("S", "b"),
]
VALUES = dict(zip(CODES, (1864242, 987663, 876579, 987673, 987654, 19, 876569, 9, 876560), strict=True))

JOB = """\
output = "out"

[[tables]]
dimensions = ["REGION", "SIZE"]
file = "obs.csv"
format = "sdmx-csv"

[release]
formats = ["csv", "sdmx"]
"""


def lines_20(conf: dict[tuple[str, str], str] | None = None) -> list[list[str]]:
    """Observations in version 2.0; confidential is one cell unless something else is said."""
    conf = {("N", "a"): "C"} if conf is None else conf
    head = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "REGION", "SIZE", "TIME_PERIOD"]
    head += ["OBS_VALUE", "OBS_STATUS", "CONF_STATUS"]
    rows = [
        ["dataflow", "O:T(1.0)", "I", *key, "2025", str(value), "A", conf.get(key, "F")]
        for key, value in VALUES.items()
    ]
    return [head, *rows]


def save(folder: Path, lines: list[list[str]], delimiter: str = ",") -> None:
    with (folder / "obs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(lines)


def problem_of(folder: Path, text: str = JOB) -> tuple[Problem, tuple[str, ...]]:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    taker = NoteTaker(None)
    return prepare(cv.read_job(folder / "job.toml"), taker).problem, taker.notes


def statuses(problem: Problem) -> dict[tuple[str, str], str]:
    return {key: Status(problem.status[problem.table.cell(*key)]).letter for key in CODES}


# -- what is read ------------------------------------------------------------------------------------------


def test_version_2(tmp_path: Path) -> None:
    save(tmp_path, lines_20())
    problem, notes = problem_of(tmp_path)
    assert {key: problem.table.values[problem.table.cell(*key)] for key in CODES} == VALUES
    assert [key for key, letter in statuses(problem).items() if letter == "u"] == [("N", "a")]
    assert any("CONF_STATUS" in note for note in notes)


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_version_1_with_labels(tmp_path: Path, delimiter: str) -> None:
    head, *rows = lines_20()
    lines = [["DATAFLOW", "REGION: Reference area", *head[4:]]]
    lines += [["O:T(1.0): Turnover", f"{row[3]}: region {row[3]}", *row[4:]] for row in rows]
    save(tmp_path, lines, delimiter)
    problem, _ = problem_of(tmp_path)
    assert {key: problem.table.values[problem.table.cell(*key)] for key in CODES} == VALUES


def test_a_separator_of_fields_in_the_header(tmp_path: Path) -> None:
    head, *rows = lines_20()
    save(tmp_path, [["STRUCTURE[;]", *head[1:]], *rows])
    assert problem_of(tmp_path)[0].table.num_cells == 9


@pytest.mark.parametrize(
    ("code", "letter"),
    [*((code, "u") for code in "ACGMNOTX"), *((code, "m") for code in "DS"), ("F", "s"), ("", "s")],
)
def test_every_code_of_the_standard_list(tmp_path: Path, code: str, letter: str) -> None:
    save(tmp_path, lines_20({("S", "a"): "C", ("N", "b"): code}))
    assert statuses(problem_of(tmp_path)[0])["N", "b"] == letter


def test_meanings_can_be_said(tmp_path: Path) -> None:
    save(tmp_path, lines_20({("N", "a"): "E"}))
    said = JOB.replace('"sdmx-csv"\n', '"sdmx-csv"\nstatuses = {E = "u", F = "s"}\n')
    assert statuses(problem_of(tmp_path, said)[0])["N", "a"] == "u"


def test_lines_without_a_value(tmp_path: Path) -> None:
    lines = lines_20()
    lines.append(["dataflow", "O:T(1.0)", "I", "W", "a", "2025", "", "M", "F"])
    lines.append(["dataflow", "O:T(1.0)", "I", "N", "~", "", "", "", ""])
    save(tmp_path, lines)
    problem, notes = problem_of(tmp_path)
    assert problem.table.num_cells == 9
    assert any("1 observations that cannot exist" in note for note in notes)
    assert any("1 lines that only tell attributes" in note for note in notes)


def test_one_period_of_several(tmp_path: Path) -> None:
    head, *rows = lines_20()
    save(tmp_path, [head, *rows, *([*row[:5], "2026", *row[6:]] for row in rows)])
    with pytest.raises(InputError, match="twice"):
        problem_of(tmp_path)
    chosen = JOB.replace('"sdmx-csv"\n', '"sdmx-csv"\nrows = {TIME_PERIOD = "2026"}\n')
    assert problem_of(tmp_path, chosen)[0].table.num_cells == 9


def test_what_was_released_is_read_with_its_structure(tmp_path: Path) -> None:
    job = released_structure(tmp_path)
    with (tmp_path / "out" / "public" / "table.sdmx.csv").open(encoding="utf-8") as file:
        released = list(csv.DictReader(file))
    hidden = [row for row in released if not row["OBS_VALUE"]]
    assert len(hidden) == 4
    assert {(row["OBS_STATUS"], row["CONF_STATUS"]) for row in hidden} == {("Q", "N")}
    problem, notes = problem_of(tmp_path, job)
    region, size = (dimension.hierarchies[0] for dimension in problem.table.dimensions)
    assert (region, size) == (Hierarchy.flat(["N", "S"], "_T"), Hierarchy.flat(["a", "b"], "_T"))
    assert any("arranged as in s.xml" in note for note in notes)


def test_names_of_codes_come_from_the_structure(tmp_path: Path) -> None:
    """Those of a file of labels come first."""
    (tmp_path / "labels.csv").write_text(
        "dimension,code,label\nREGION,N,North\nREGION,S,South\nSIZE,a,small\n"
    )
    named = JOB.replace('"out"\n', '"out"\nlabels = "labels.csv"\n', 1)
    save(tmp_path, lines_20())
    (tmp_path / "job.toml").write_text(named, encoding="utf-8")
    cv.run_job(cv.read_job(tmp_path / "job.toml"))
    (tmp_path / "out" / "public" / "table.sdmx.xml").rename(tmp_path / "s.xml")
    flow = "CELLVEIL:OBS_VALUE(1.0.0)"
    save(tmp_path, [[row[0], row[1].replace("O:T(1.0)", flow), *row[2:]] for row in lines_20()])
    (tmp_path / "labels.csv").write_text("dimension,code,label\nREGION,N,northern part\n")
    for text, label in ((JOB, "North"), (named, "northern part")):
        job = text.replace('"sdmx-csv"\n', '"sdmx-csv"\nstructure = "s.xml"\n')
        (tmp_path / "job.toml").write_text(job, encoding="utf-8")
        labels = prepare(cv.read_job(tmp_path / "job.toml"), NoteTaker(None)).labels
        assert labels == {"REGION": {"N": label, "S": "South"}, "SIZE": {"a": "small"}}


def test_the_office_gets_both_statuses_with_all_values(tmp_path: Path) -> None:
    save(tmp_path, lines_20())
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    result = cv.run_job(cv.read_job(tmp_path / "job.toml"))
    file = result.files["observations"] / "table.sdmx.csv"
    assert file.stat().st_mode & 0o077 == 0
    with file.open(encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    assert {(row["REGION"], row["SIZE"]): int(row["OBS_VALUE"]) for row in rows} == VALUES
    assert {row["OBS_STATUS"] for row in rows} == {"A"}
    found = {(row["REGION"], row["SIZE"]): row["CONF_STATUS"] for row in rows}
    assert found["N", "a"] == "C" and sorted(found.values()) == [*"CDDD", *"FFFFF"]
    (tmp_path / "obs.csv").write_bytes(file.read_bytes())  # a job reads it again, as it was hidden
    again = statuses(problem_of(tmp_path)[0])
    assert again == {key: {"C": "u", "D": "m", "F": "s"}[code] for key, code in found.items()}


def test_linked_tables_have_files_of_their_own(tmp_path: Path) -> None:
    save(tmp_path, lines_20())
    second = JOB.partition("[[tables]]")[2].partition("[release]")[0]
    totals = second.replace('["REGION", "SIZE"]', '["REGION"]\nname = "region.sdmx"\nrows = {SIZE = "_T"}')
    text = JOB.replace("[release]", f"[[tables]]{totals}\n[release]").replace(
        "[[tables]]\ndimensions", '[[tables]]\nname = "region"\ndimensions', 1
    )
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    cv.run_job(cv.read_job(tmp_path / "job.toml"))
    names = {path.name for path in (tmp_path / "out" / "public").iterdir()}
    assert {"region.csv", "region.sdmx.csv", "region.sdmx.xml"} <= names
    assert len([name for name in names if name.endswith(".csv")]) == 4
    internal = {path.name for path in (tmp_path / "out" / "internal" / "sdmx").iterdir()}
    assert len(internal) == 2 and internal < names


# -- what is refused ---------------------------------------------------------------------------------------


def changed(row: int, column: int, text: str) -> list[list[str]]:
    lines = lines_20()
    lines[row][column] = text
    return lines


MALFORMED = [
    ([row[3:] for row in lines_20()], "not SDMX-CSV: the first column"),
    ([[row[0], *row[2:]] for row in lines_20()], "there is no column STRUCTURE_ID"),
    (changed(2, 0, "flow"), "the kind of structure is unknown"),
    (changed(2, 1, ""), "the column 'STRUCTURE_ID' is empty"),
    (changed(2, 1, "O:U(1.0)"), "follows several structures"),
    (changed(2, 2, "D"), "deletes an observation"),
    (changed(2, 2, "Z"), "the action is unknown"),
    (changed(0, 3, "AREA"), "there is no column 'REGION'"),
    (changed(0, 6, "VALUE"), "there is no column 'OBS_VALUE'"),
    (changed(5, 6, ""), "has no OBS_VALUE"),
    (changed(5, 6, "NaN"), "has no OBS_VALUE"),
    (changed(5, 6, "many"), "OBS_VALUE"),
    (changed(5, 6, "987 654,00"), "OBS_VALUE"),
    (changed(5, 8, "Z"), "has no known meaning: 'Z'"),
    (changed(5, 8, "E"), "has no known meaning"),
    (changed(0, 4, "REGION: again"), "columns 4 and 5 have the same name"),
    (changed(5, 3, ""), "the column 'REGION' is empty"),
    (lines_20()[:1], "a header but no rows"),
    ([*lines_20(), lines_20()[1]], "twice"),
]


@pytest.mark.parametrize(("lines", "what"), MALFORMED)
def test_malformed_observations_are_refused(tmp_path: Path, lines: list[list[str]], what: str) -> None:
    save(tmp_path, lines)
    with pytest.raises(InputError, match=what) as caught:
        problem_of(tmp_path)
    assert caught.value.file is not None and caught.value.remedy
    assert not any(secret in str(caught.value) for secret in SECRETS)


def released_structure(folder: Path) -> str:
    """Observations and a structure of their own; returns the job that has both."""
    save(folder, lines_20())
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    cv.run_job(cv.read_job(folder / "job.toml"))
    (folder / "out" / "public" / "table.sdmx.xml").rename(folder / "s.xml")
    lines = [
        [row[0], row[1].replace("O:T(1.0)", "CELLVEIL:OBS_VALUE(1.0.0)"), *row[2:]] for row in lines_20()
    ]
    save(folder, lines)
    return JOB.replace('"sdmx-csv"\n', '"sdmx-csv"\nstructure = "s.xml"\n')


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("CELLVEIL:OBS_VALUE", "O:OTHER", "does not have the structure"),
        (",S,", ",SX,", "the code list of 'REGION' does not have this code"),
        ("SIZE,TIME_PERIOD", "TIME_PERIOD,SIZE", "the code list of 'SIZE' does not have this code"),
    ],
)
def test_data_and_structure_must_fit(tmp_path: Path, old: str, new: str, what: str) -> None:
    job = released_structure(tmp_path)
    file = tmp_path / "obs.csv"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=what):
        problem_of(tmp_path, job)


def test_a_dimension_left_out_must_be_fixed(tmp_path: Path) -> None:
    job = released_structure(tmp_path).replace('["REGION", "SIZE"]', '["REGION"]')
    with pytest.raises(InputError, match="3 codes of the dimension 'SIZE'"):
        problem_of(tmp_path, job)
    with pytest.raises(InputError, match="'TIME_PERIOD' is no dimension of the structure"):
        problem_of(tmp_path, job.replace('["REGION"]', '["TIME_PERIOD"]'))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (JOB.replace('format = "sdmx-csv"', 'structure = "s.xml"'), "structure is for files of SDMX"),
        (JOB.replace('"sdmx-csv"', '"sdmx-ml"'), "format"),
        (JOB.replace('"sdmx-csv"\n', '"sdmx-csv"\nstructure = "none.xml"\n'), "none.xml"),
    ],
)
def test_wrong_jobs(tmp_path: Path, text: str, what: str) -> None:
    save(tmp_path, lines_20())
    with pytest.raises(InputError, match=what):
        problem_of(tmp_path, text)


def test_names_are_checked_before_a_long_run(tmp_path: Path) -> None:
    save(tmp_path, [[field.replace("SIZE", "size class") for field in row] for row in lines_20()])
    (tmp_path / "job.toml").write_text(JOB.replace('"SIZE"', '"size class"'), encoding="utf-8")
    with pytest.raises(InputError, match="cannot be called so in SDMX"):
        cv.run_job(cv.read_job(tmp_path / "job.toml"))


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "pysdmx":
            raise ImportError(name)
        return load(name, *rest, **more)

    save(tmp_path, lines_20())
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"cellveil\[sdmx\]"):
        cv.run_job(cv.read_job(tmp_path / "job.toml"))
