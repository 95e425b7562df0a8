"""Ready-made tables as offices have them: a new user's first tries, each with the job anybody would write."""

import csv
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cellveil as cv
from cellveil.errors import InputError, MissingExtraError
from cellveil.job.preparing import prepare
from cellveil.problem import Problem, Status
from cellveil.progress import NoteTaker

PLAIN = """
[[tables]]
dimensions = ["region", "size"]
file = "table.csv"
"""

ROWS = [
    ("Total", "Total", 226, "s"),
    ("Total", "small", 66, "s"),
    ("Total", "large", 160, "s"),
    ("N", "Total", 80, "s"),
    ("N", "small", 20, "u"),
    ("N", "large", 60, "s"),
    ("S", "Total", 76, "s"),
    ("S", "small", 16, "s"),
    ("S", "large", 60, "s"),
    ("W", "Total", 70, "s"),
    ("W", "small", 30, "s"),
    ("W", "large", 40, "s"),
]


def write(path: Path, header: list[str], rows: list[tuple[Any, ...]], delimiter: str = ",") -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(header)
        writer.writerows(rows)


def run(folder: Path, text: str) -> cv.JobResult:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return cv.run_job(cv.read_job(folder / "job.toml"))


def problem_of(folder: Path, text: str) -> tuple[Problem, tuple[str, ...]]:
    """The problem of a job, and the notes."""
    from cellveil.job.preparing import prepare

    (folder / "job.toml").write_text(text, encoding="utf-8")
    taker = NoteTaker(None)
    return prepare(cv.read_job(folder / "job.toml"), taker).problem, taker.notes


def cell(problem: Problem, *codes: str) -> int:
    return problem.table.cell(*codes)


# -- statuses and levels -------------------------------------------------------------------------------------


def test_a_table_with_statuses_works_at_the_first_try(tmp_path: Path) -> None:
    write(tmp_path / "table.csv", ["region", "size", "value", "status"], ROWS)
    result = run(tmp_path, PLAIN)
    assert result.is_safe and result.release is not None
    assert result.problem.table.cell_names(result.problem.primaries) == ["(N, small)"]
    assert any("status = 'status'" in note for note in result.report.notes)
    assert "Note: table.csv: statuses from the column 'status': 1 u, 11 s" in result.summary()


def test_statuses_in_any_case_and_words(tmp_path: Path) -> None:
    words = {"u": "Unsafe", "s": "SAFE"}
    write(
        tmp_path / "table.csv",
        ["region", "size", "value", "Status"],
        [(*row[:3], words[row[3]]) for row in ROWS],
    )
    problem, _ = problem_of(tmp_path, PLAIN)
    assert problem.table.cell_names(problem.primaries) == ["(N, small)"]


def test_statuses_by_a_mapping(tmp_path: Path) -> None:
    rows = [(*row[:3], {"u": "C", "s": ""}[row[3]]) for row in ROWS]
    rows[7] = ("S", "small", 16, "d")
    rows[0] = ("Total", "Total", 226, "F")
    write(tmp_path / "table.csv", ["region", "size", "value", "conf"], rows)
    mapped = PLAIN + 'status = "conf"\nstatuses = {C = "u", D = "m", F = "z"}\n'
    problem, _ = problem_of(tmp_path, mapped)
    assert problem.status[cell(problem, "N", "small")] == Status.PRIMARY
    assert problem.status[cell(problem, "S", "small")] == Status.SECONDARY
    assert problem.status[cell(problem, "Total", "Total")] == Status.FROZEN
    with pytest.raises(InputError, match=r"line 9.*no known meaning: 'd'.*statuses = \{.*\"C\" = \"u\""):
        problem_of(tmp_path, PLAIN + 'status = "conf"\nstatuses = {X = "m", C = "u", F = "s"}\n')


def test_own_levels_and_the_safety_range_of_given_cells(tmp_path: Path) -> None:
    rows = [(*row, "", "") for row in ROWS]
    rows[4] = ("N", "small", 20, "u", "3.5", "4")
    rows[10] = ("W", "small", 30, "u", "", "")
    write(tmp_path / "table.csv", ["region", "size", "value", "status", "lpl", "upl"], rows)
    problem, _ = problem_of(tmp_path, PLAIN + "[levels]\nsafety_range = 10\n")
    assert problem.table.decimals == 1
    own, share = cell(problem, "N", "small"), cell(problem, "W", "small")
    assert (problem.lpl[own], problem.upl[own]) == (35, 40)
    assert (problem.lpl[share], problem.upl[share]) == (30, 30)


def test_levels_without_statuses_make_cells_unsafe(tmp_path: Path) -> None:
    rows = [(*row[:3], 3 if row[3] == "u" else 0) for row in ROWS]
    write(tmp_path / "table.csv", ["region", "size", "value", "upl"], rows)
    problem, notes = problem_of(tmp_path, PLAIN)
    assert problem.table.cell_names(problem.primaries) == ["(N, small)"]
    assert any("1 cell counts as unsafe (u) by a level above 0" in note for note in notes)


def test_bounds_that_everybody_knows(tmp_path: Path) -> None:
    rows = [(*row, row[2] // 2, 2 * row[2] if row[3] == "u" else "") for row in ROWS]
    write(tmp_path / "table.csv", ["region", "size", "value", "status", "least", "ub"], rows)
    problem, _ = problem_of(tmp_path, PLAIN + 'lb = "least"\n')
    one = cell(problem, "N", "small")
    assert (problem.lb[one], problem.ub[one]) == (10, 40)
    assert problem.ub[cell(problem, "S", "small")] > 10**15


def test_a_cost_column_gives_the_weights(tmp_path: Path) -> None:
    rows = [(*row, number) for number, row in enumerate(ROWS)]
    write(tmp_path / "table.csv", ["region", "size", "value", "status", "loss"], rows)
    problem, _ = problem_of(tmp_path, PLAIN + '[weights]\nkind = "loss"\n')
    assert problem.weight[cell(problem, "W", "large")] == 11
    with pytest.raises(
        InputError, match=r"table\.csv, line 1: there is no column 'los'\. Did you mean 'loss'"
    ):
        problem_of(tmp_path, PLAIN + '[weights]\nkind = "los"\n')


def test_a_given_unsafe_cell_is_published_only_when_waived(tmp_path: Path) -> None:
    write(tmp_path / "table.csv", ["region", "size", "value", "status"], ROWS)
    by_hand = '[[cells]]\nkey = {region = "N", size = "small"}\nstatus = "s"\n'
    rules = '[[rules]]\nrule = "manual"\ncells = [["S", "small"]]\n'
    with pytest.raises(InputError, match="unsafe"):
        problem_of(tmp_path, PLAIN + rules + by_hand)
    problem, _ = problem_of(tmp_path, PLAIN + rules + by_hand + "waived = true\n")
    assert problem.table.cell_names(problem.primaries) == ["(S, small)"]


def test_safe_in_the_file_does_not_outdo_a_rule(tmp_path: Path) -> None:
    write(
        tmp_path / "table.csv",
        ["region", "size", "value", "status", "contributors"],
        [(*row, 2 if row[:2] == ("S", "small") else 9) for row in ROWS],
    )
    problem, _ = problem_of(tmp_path, PLAIN + '[[rules]]\nrule = "threshold"\nminimum = 3\n')
    assert problem.table.cell_names(problem.primaries) == ["(N, small)", "(S, small)"]


def test_nothing_to_protect_is_said(tmp_path: Path) -> None:
    write(tmp_path / "table.csv", ["region", "size", "value"], [row[:3] for row in ROWS])
    with pytest.raises(InputError, match=r"no rules and no unsafe cells.*name the column of statuses"):
        problem_of(tmp_path, PLAIN)


# -- contributors --------------------------------------------------------------------------------------------

TOP = [
    ("N", "small", 20, 5, 6, 5, 4),
    ("N", "large", 60, 2, 45, 15, ""),
    ("S", "small", 16, 8, 4, 3, 2),
    ("S", "large", 60, 4, 20, 20, 10),
    ("W", "small", 30, 6, 9, 8, 7),
    ("W", "large", 40, 3, 35, 3, 2),
]
HEADER = ["region", "size", "value", "firms", "x1", "x2", "x3"]
CONTRIBUTORS = PLAIN + 'contributors = "firms"\ntop = ["x1", "x2", "x3"]\n'


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ('rule = "p%"\np = 20', ["(N, large)", "(W, large)"]),
        ('rule = "dominance"\nn = 1\nk = 80', ["(W, large)"]),
        ('rule = "pq"\np = 20\nq = 40', ["(N, Total)", "(N, large)", "(W, large)"]),
        ('rule = "threshold"\nminimum = 4', ["(N, large)", "(W, large)"]),
    ],
)
def test_rules_on_largest_contributions(rule: str, expected: list[str], tmp_path: Path) -> None:
    write(tmp_path / "table.csv", HEADER, TOP)
    problem, notes = problem_of(tmp_path, f"{CONTRIBUTORS}\n[[rules]]\n{rule}\n")
    assert problem.table.cell_names(problem.primaries) == expected
    assert any("there are no totals; they are computed" in note for note in notes)
    assert any("as if each stood in one cell only" in note for note in notes)


def test_computed_totals_have_their_contributors(tmp_path: Path) -> None:
    write(tmp_path / "table.csv", HEADER, TOP)
    problem, _ = problem_of(tmp_path, f'{CONTRIBUTORS}\n[[rules]]\nrule = "p%"\np = 20\n')
    units = problem.table.units
    assert units is not None
    total, north = cell(problem, "Total", "Total"), cell(problem, "N", "Total")
    assert (units.count[total], units.count[north]) == (28, 7)
    assert units.top[total].tolist() == [45, 35, 20] and units.top[north].tolist() == [45, 15, 6]


def test_totals_that_are_computed_anew_have_contributors_too(tmp_path: Path) -> None:
    """With some of the totals in the file, those of the others follow from the finest cells."""
    rows = [*TOP, ("N", "Total", 80, 6, 50, 15, 9)]
    write(tmp_path / "table.csv", HEADER, rows)
    job = f'{CONTRIBUTORS}repair = true\n[[rules]]\nrule = "dominance"\nn = 1\nk = 60\n'
    problem, notes = problem_of(tmp_path, job)
    units = problem.table.units
    assert units is not None
    assert units.top[cell(problem, "N", "Total")].tolist() == [50, 15, 9]
    assert units.top[cell(problem, "Total", "large")].tolist() == [45, 35, 20]
    assert units.count[cell(problem, "W", "Total")] == 9
    assert "(N, Total)" in problem.table.cell_names(problem.primaries)
    assert any("as if each stood in one cell only" in note for note in notes)


def test_given_totals_keep_their_contributors(tmp_path: Path) -> None:
    rows = [("Total", 80, 6, 50, 20), ("N", 20, 5, 6, 5), ("S", 60, 2, 45, 15)]
    write(tmp_path / "table.csv", ["region", "value", "firms", "x1", "x2"], rows)
    job = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\ntop = ["x1", "x2"]\n'
    problem, _ = problem_of(tmp_path, job + 'contributors = "firms"\n[[rules]]\nrule = "p%"\np = 20\n')
    units = problem.table.units
    assert units is not None and units.top.tolist() == [[50, 20], [6, 5], [45, 15]]
    assert units.count.tolist() == [6, 5, 2]


def test_contributions_of_a_shadow_variable(tmp_path: Path) -> None:
    rows = [("Total", 9, 100, 80, 5), ("N", 4, 60, 20, 5), ("S", 5, 40, 38, 1)]
    write(tmp_path / "table.csv", ["region", "value", "turnover", "x1", "x2"], rows)
    job = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\nshadow = "turnover"\ntop = ["x1", "x2"]\n'
    problem, _ = problem_of(tmp_path, job + '[[rules]]\nrule = "dominance"\nn = 1\nk = 90\n')
    assert problem.table.cell_names(problem.primaries) == ["(S)"]


def test_unknown_numbers_of_contributors_are_the_fewest_there_can_be(tmp_path: Path) -> None:
    rows = [(row[0], row[1], row[2], row[4], row[5], row[6]) for row in TOP]
    write(tmp_path / "table.csv", ["region", "size", "value", "x1", "x2", "x3"], rows)
    job = f'{PLAIN}top = ["x1", "x2", "x3"]\n[[rules]]\nrule = "threshold"\nminimum = 3\n'
    problem, _ = problem_of(tmp_path, job)
    assert problem.table.cell_names(problem.primaries) == ["(N, large)"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_totals", [True, False])
def test_an_aggregated_table_gives_the_problem_of_its_microdata(
    seed: int, with_totals: bool, tmp_path: Path
) -> None:
    """Same unsafe cells and levels by all rules, from records and from the three largest of each cell."""
    rng = np.random.default_rng(seed)
    keys = [(region, size) for region in "NSW" for size in ("small", "large")]
    chosen = [keys[k] for k in rng.integers(0, 6, 30)]
    sales = (rng.lognormal(5, 1.5, 30)).round(1)
    firms = [
        (f"f{k}", *key, amount) for k, (key, amount) in enumerate(zip(chosen, sales.tolist(), strict=True))
    ]
    write(tmp_path / "firms.csv", ["firm", "region", "size", "value"], firms)
    rules = "".join(
        f"[[rules]]\n{rule}\n"
        for rule in (
            'rule = "p%"\np = 15',
            'rule = "dominance"\nn = 2\nk = 85',
            'rule = "threshold"\nminimum = 3',
        )
    )
    dimensions = '[[tables]]\ndimensions = ["region", "size"]\n'
    source = '[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n'
    expected, _ = problem_of(tmp_path, f'{source}{dimensions}response = "value"\n{rules}')
    table, units = expected.table, expected.table.units
    assert units is not None
    lines = [
        (*table.key(k), table.values[k] / 10, units.count[k], *(units.top[k, :3] / 10))
        for k in range(table.num_cells)
        if with_totals or "Total" not in table.key(k)
    ]
    write(tmp_path / "table.csv", HEADER, lines, ";")
    found, _ = problem_of(
        tmp_path, f'{dimensions}file = "table.csv"\ncontributors = "firms"\ntop = ["x1", "x2", "x3"]\n{rules}'
    )
    for field in ("status", "lpl", "upl", "lb", "weight"):
        one, two = (
            dict(
                zip(
                    map(problem.table.key, range(problem.table.num_cells)),
                    getattr(problem, field).tolist(),
                    strict=True,
                )
            )
            for problem in (expected, found)
        )
        assert one == two, field


# -- how files are written -----------------------------------------------------------------------------------


def test_a_continental_file_is_read_as_it_is(tmp_path: Path) -> None:
    rows = [
        (*row[:2], f"{row[2] * 100},5" if row[0] != "Total" and row[1] != "Total" else "", row[3])
        for row in ROWS
    ]
    inner = [row for row in rows if row[2]]
    write(tmp_path / "table.csv", ["region", "size", "value", "status"], inner, ";")
    problem, notes = problem_of(tmp_path, PLAIN)
    assert problem.table.values[cell(problem, "N", "small")] == 20005
    assert "table.csv: numbers are read with the decimal mark ','" in notes


@pytest.mark.parametrize(
    ("north", "south", "total", "keys", "expected"),
    [
        ("1.234,50", "2,25", "1.236,75", "", 123450),
        ("1.234.567", "2", "1.234.569", "", 1234567),
        ("1 234,5", "2", "1 236,5", "", 12345),
        ("1'234", "2", "1'236", "", 1234),
        ("1,234", "2", "1,236", 'thousands = ","\n', 1234),
        ("1,234", "2,000", "3,234", 'decimal = ","\n', 1234),
        ("1.234", "2", "1.236", 'thousands = "."\n', 1234),
        ("1_234", "2", "1236", "", "is not a number"),
        ("1,234", "2", "1,236", "", "may be a decimal or a thousands mark"),
        ("1,5", "2.5", "4", "", "some numbers have a decimal comma and others a decimal point"),
    ],
)
def test_marks_of_numbers(
    north: str, south: str, total: str, keys: str, expected: int | str, tmp_path: Path
) -> None:
    rows = [("Total", total, "s"), ("N", north, "u"), ("S", south, "s")]
    write(tmp_path / "table.csv", ["region", "value", "status"], rows, ";")
    job = f'[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n{keys}'
    if isinstance(expected, str):
        with pytest.raises(InputError, match=rf"table\.csv.*{expected}"):
            problem_of(tmp_path, job)
    else:
        problem, _ = problem_of(tmp_path, job)
        assert problem.table.values[cell(problem, "N")] == expected


def test_points_that_may_stand_between_thousands_get_a_warning(tmp_path: Path) -> None:
    job = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n'
    for value, warned in (("777.001", True), ("777.01", False)):
        rows = [("N", value, "u"), ("S", "12.345", "s")]
        write(tmp_path / "table.csv", ["region", "value", "status"], rows)
        _, notes = problem_of(tmp_path, job)
        assert any("WARNING" in note and 'thousands = "."' in note for note in notes) is warned


def test_lines_above_the_header_and_another_encoding(tmp_path: Path) -> None:
    text = "Umsätze 2024\n\nregion;value;status\nTotal;12;s\nSüd;5;u\nNord;7;s\n"
    (tmp_path / "table.csv").write_text(text, encoding="cp1252")
    job = '[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\nskip = 2\nencoding = "cp1252"\n'
    problem, _ = problem_of(tmp_path, job)
    assert problem.table.cell_names(problem.primaries) == ["(Süd)"]
    (tmp_path / "table.csv").write_text(text.replace("7;s", "7;?"), encoding="cp1252")
    with pytest.raises(InputError, match=r"table\.csv, line 6, cell \(Nord\)"):
        problem_of(tmp_path, job)


def test_a_sheet_of_an_excel_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["region", "size", "value", "status"])
    with pd.ExcelWriter(tmp_path / "tables.xlsx") as book:
        pd.DataFrame({"about": ["nothing"]}).to_excel(book, sheet_name="About", index=False)
        frame.to_excel(book, sheet_name="T1", index=False, startrow=3)
    job = PLAIN.replace("table.csv", "tables.xlsx") + 'sheet = "T1"\n'
    problem, _ = problem_of(tmp_path, job)
    assert problem.table.cell_names(problem.primaries) == ["(N, small)"]


@pytest.mark.parametrize("end", ["sav", "dta", "xpt", "parquet", "feather", "duckdb", "sqlite"])
def test_tables_of_other_programs(end: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["region", "size", "value", "status"])
    save(frame, tmp_path / f"table.{end}")
    problem, _ = problem_of(tmp_path, PLAIN.replace("table.csv", f"table.{end}"))
    assert problem.table.cell_names(problem.primaries) == ["(N, small)"]


def save(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame as the end of the name says."""
    import duckdb
    import pyreadstat

    writers = {
        ".sav": pyreadstat.write_sav,
        ".dta": pyreadstat.write_dta,
        ".xpt": pyreadstat.write_xport,
        ".parquet": lambda data, place: data.to_parquet(place),
        ".feather": lambda data, place: data.to_feather(place),
    }
    if path.suffix in writers:
        writers[path.suffix](frame, str(path))
    elif path.suffix == ".duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.register("given", frame)
            connection.execute("CREATE TABLE records AS SELECT * FROM given")
    else:
        with sqlite3.connect(path) as file:
            frame.to_sql("records", file, index=False)
        file.close()


def test_several_tables_in_one_file(tmp_path: Path) -> None:
    rows = [("T1", region, "", value, status) for region, size, value, status in ROWS if size == "Total"]
    rows += [("T2", "", size, value, "u" if size == "small" else "s") for region, size, value, _ in ROWS[:3]]
    write(tmp_path / "table.csv", ["table", "region", "size", "value", "status"], rows)
    job = "".join(
        f'[[tables]]\ndimensions = ["{name}"]\nfile = "table.csv"\nrows = {{table = "{table}"}}\n'
        for table, name in (("T1", "region"), ("T2", "size"))
    )
    problem, _ = problem_of(tmp_path, job)
    assert problem.table.num_cells == 6 and problem.table.cell_names(problem.primaries) == ["(Total, small)"]
    with pytest.raises(InputError, match=r"table\.csv: no row has table = 'T9'"):
        problem_of(tmp_path, job.replace("T2", "T9"))


def test_two_tables_that_say_different_things_of_a_cell(tmp_path: Path) -> None:
    write(
        tmp_path / "a.csv", ["region", "value", "status"], [("Total", 9, "z"), ("N", 4, "u"), ("S", 5, "s")]
    )
    write(
        tmp_path / "b.csv",
        ["size", "value", "status"],
        [("Total", 9, "s"), ("small", 2, "s"), ("big", 7, "s")],
    )
    job = "".join(
        f'[[tables]]\ndimensions = ["{name}"]\nfile = "{file}.csv"\n'
        for file, name in (("a", "region"), ("b", "size"))
    )
    with pytest.raises(InputError, match=r"cell \(Total, Total\): two tables give it a different status"):
        problem_of(tmp_path, job)


# -- codes ---------------------------------------------------------------------------------------------------


def test_the_word_for_the_total_is_found(tmp_path: Path) -> None:
    rows = [(row[0].replace("Total", "TOTAL"), row[1].replace("Total", "all"), *row[2:]) for row in ROWS]
    write(tmp_path / "table.csv", ["region", "size", "value", "status"], rows)
    problem, notes = problem_of(tmp_path, PLAIN)
    assert [d.codes[d.total] for d in problem.table.dimensions] == ["TOTAL", "all"]
    assert "dimension 'size': the code 'all' is taken for the total" in notes


def test_blanks_are_cut_off_and_near_equal_codes_told(tmp_path: Path) -> None:
    rows = [("food ", 4, "u"), ("steel", 5, "s"), (" Food", 6, "s")]
    write(tmp_path / "table.csv", ["branch", "value", "status"], rows)
    problem, notes = problem_of(tmp_path, '[[tables]]\ndimensions = ["branch"]\nfile = "table.csv"\n')
    assert problem.table.dimensions[0].codes == ("Total", "food", "steel", "Food")
    assert "table.csv: blanks around codes were cut off (2 fields)" in notes
    assert any("WARNING: the codes 'food' and 'Food'" in note for note in notes)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("", ["0-9", "10-49", "50-249", "250+"]),
        ('order = "data"', ["250+", "0-9", "50-249", "10-49"]),
        ('codes = ["250+", "50-249", "10-49", "0-9"]', ["250+", "50-249", "10-49", "0-9"]),
    ],
)
def test_the_order_of_codes_of_microdata(keys: str, expected: list[str], tmp_path: Path) -> None:
    codes = ["250+", "0-9", "50-249", "10-49"]
    write(tmp_path / "firms.csv", ["size", "sales"], [(code, 10 + k) for k, code in enumerate(codes * 5)])
    job = (
        f'[microdata]\nfile = "firms.csv"\n[dimensions.size]\n{keys}\n[[tables]]\ndimensions = ["size"]\n'
        'response = "sales"\n[[rules]]\nrule = "threshold"\nminimum = 3\n[release]\nformats = ["csv"]\n'
    )
    result = run(tmp_path, job)
    assert result.release is not None
    table = pd.read_csv(result.release.folder / "table.csv", dtype=str)
    assert table["size"].tolist() == ["Total", *expected]


# -- microdata -----------------------------------------------------------------------------------------------

MICRODATA = """
[microdata]
file = "firms.csv"
contributor = "firm"

[[tables]]
dimensions = ["region"]
response = "sales"

[[rules]]
rule = "threshold"
minimum = 3
"""

FIRMS = [(f"f{k}", "NSW"[k % 3], 10.5 + k) for k in range(12)] + [("g", "E", 7.25)]


@pytest.mark.parametrize("end", ["sav", "dta", "xpt", "xlsx", "parquet", "feather", "duckdb", "sqlite"])
def test_microdata_of_other_programs(end: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(FIRMS, columns=["firm", "region", "sales"])
    if end == "xlsx":
        frame.to_excel(tmp_path / "firms.xlsx", index=False)
    else:
        save(frame, tmp_path / f"firms.{end}")
    problem, _ = problem_of(tmp_path, MICRODATA.replace("firms.csv", f"firms.{end}"))
    assert problem.table.cell_names(problem.primaries) == ["(E)"]
    assert problem.table.floats()[0] == sum(row[2] for row in FIRMS)


@pytest.mark.parametrize("end", ["duckdb", "sqlite"])
def test_a_query_of_a_database(end: str, tmp_path: Path) -> None:
    save(pd.DataFrame(FIRMS, columns=["id", "region", "sales"]), tmp_path / f"firms.{end}")
    query = "SELECT id AS firm, region, 2 * sales AS sales FROM records WHERE region <> 'W'"
    job = MICRODATA.replace('"firms.csv"', f'"firms.{end}"\nquery = "{query}"')
    problem, _ = problem_of(tmp_path, job)
    assert problem.table.floats()[0] == 2 * sum(row[2] for row in FIRMS if row[1] != "W")
    for wrong in ("DROP TABLE records", "SELECT nothing FROM records", "SELEC"):
        with pytest.raises(InputError, match=rf"firms\.{end}: the query cannot be run on this database"):
            problem_of(tmp_path, job.replace(query, wrong))


def test_a_database_with_several_tables_asks_for_a_query(tmp_path: Path) -> None:
    path = tmp_path / "firms.sqlite"
    frame = pd.DataFrame(FIRMS, columns=["firm", "region", "sales"])
    with sqlite3.connect(path) as file:
        frame.to_sql("one", file, index=False)
        frame.to_sql("two", file, index=False)
    file.close()
    with pytest.raises(InputError, match=r"the database has 2 tables: one, two\. Say which.*query = "):
        problem_of(tmp_path, MICRODATA.replace("firms.csv", "firms.sqlite"))


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "duckdb"])
def test_a_job_on_a_frame(kind: str, tmp_path: Path) -> None:
    import duckdb
    import polars as pl
    import pyarrow as pa

    frame = pd.DataFrame(FIRMS, columns=["firm", "region", "sales"])
    makers = {
        "pandas": lambda: frame,
        "polars": lambda: pl.DataFrame(FIRMS, schema=list(frame), orient="row"),
    }
    makers |= {
        "arrow": lambda: pa.Table.from_pandas(frame),
        "duckdb": lambda: duckdb.from_arrow(makers["arrow"]()),
    }
    (tmp_path / "job.toml").write_text(MICRODATA, encoding="utf-8")  # and there is no firms.csv
    result = cv.run_job(cv.read_job(tmp_path / "job.toml"), records=makers[kind]())
    assert result.is_safe and result.problem.table.cell_names(result.problem.primaries) == ["(E)"]


def test_a_decimal_comma_in_microdata(tmp_path: Path) -> None:
    rows = [(firm, region, str(sales).replace(".", ",")) for firm, region, sales in FIRMS]
    write(tmp_path / "firms.csv", ["firm", "region", "sales"], rows, ";")
    problem, notes = problem_of(tmp_path, MICRODATA)
    assert problem.table.floats()[0] == sum(row[2] for row in FIRMS)
    assert "firms.csv: numbers are read with the decimal mark ','" in notes
    rows[3] = ("f3", "N", "12,5x")
    write(tmp_path / "firms.csv", ["firm", "region", "sales"], rows, ";")
    with pytest.raises(InputError, match=r"firms\.csv, line 5: the amount in column 'sales' is not a number"):
        problem_of(tmp_path, MICRODATA)


def test_blanks_around_codes_and_ids_of_microdata(tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [*FIRMS, ("g ", " E", 5), (" g", "E ", 5)]
    write(tmp_path / "firms.csv", ["firm", "region", "sales"], rows)
    problem, notes = problem_of(tmp_path, MICRODATA)
    assert problem.table.cell_names(problem.primaries) == ["(E)"]
    assert problem.table.contributors is not None
    assert problem.table.contributors[cell(problem, "E")] == 1
    assert "firms.csv: blanks around codes and ids were cut off (2 records)" in notes


def test_statistical_files_without_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(pd.DataFrame(FIRMS, columns=["firm", "region", "sales"]), tmp_path / "firms.sav")
    monkeypatch.setitem(__import__("sys").modules, "pyreadstat", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cellveil\[statistical\]'"):
        problem_of(tmp_path, MICRODATA.replace("firms.csv", "firms.sav"))


def test_files_of_offices_need_few_words(tmp_path: Path) -> None:
    """Another encoding, a column of values under its own name: guessed, and told as notes."""
    text = "Region;Umsatz;Status\nTotal;1.234,5;s\nNord;1.000,0;u\nSüd;200,5;s\nOst;34,0;s\n"
    (tmp_path / "table.csv").write_bytes(text.encode("cp1252"))
    (tmp_path / "job.toml").write_text('[[tables]]\ndimensions = ["Region"]\nfile = "table.csv"\n')
    taker = NoteTaker(None)
    table = prepare(cv.read_job(tmp_path / "job.toml"), taker).problem.table
    assert table.variable == "Umsatz" and table.values[table.cell("Süd")] == 2005
    told = " ".join(taker.notes)
    assert "not in UTF-8, and was read as cp1252" in told and "the only other column of numbers" in told
    said = '[[tables]]\ndimensions = ["Region"]\nfile = "table.csv"\nencoding = "utf-8"\n'
    (tmp_path / "job.toml").write_text(said)
    with pytest.raises(cv.InputError, match="line 4: the text is not encoded in UTF-8"):
        prepare(cv.read_job(tmp_path / "job.toml"), taker)


def test_statuses_of_the_standard_list_are_proposed_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("region,value,status\nTotal,30,F\nN,10,C\nS,20,U\n")
    (tmp_path / "job.toml").write_text('[[tables]]\ndimensions = ["region"]\nfile = "table.csv"\n')
    with pytest.raises(cv.InputError) as found:
        prepare(cv.read_job(tmp_path / "job.toml"), NoteTaker(None))
    assert 'statuses = {"F" = "s", "C" = "u", "U" = "u"} if these are the codes of SDMX' in found.value.remedy
