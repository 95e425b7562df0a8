"""Tables that somebody else published: read, attacked, and never more told than counts of real ones."""

import csv
import json
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from cellveil.errors import InputError
from cellveil.formats.published_file import SUPPRESSED_STATUS, read_publication, read_publication_folder
from cellveil.formats.tidy_folder import write_folder
from cellveil.judge import audit
from cellveil.judge.outsider import audit_outsider
from cellveil.judge.published import Found, audit_published
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.publishing import release
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.scaled import unscale
from helpers.command import Command
from helpers.instances import INSTANCES, needs_instances
from helpers.small_problems import small_table

SHAPES = ("flat 2-D", "flat 3-D", "hierarchical", "overlapping", "linked")
ROWS, COLUMNS = "ABCD", "pqrs"


def some_hidden(shape, seed, share=0.35):
    """A random table and a pattern that hides a part of it, every hidden cell primary."""
    rng = np.random.default_rng(seed)
    table = small_table(shape, rng)
    hidden = (rng.random(table.num_cells) < share) & (table.values > 0)
    hidden[np.flatnonzero(table.values > 0)[-1]] = True
    problem = Problem.of(table, {int(cell): (1, 1) for cell in np.flatnonzero(hidden)})
    return problem, Pattern.hiding(problem, hidden, "at random")


def read_back(problem, pattern, folder, **options):
    done = release(audit(problem, pattern), folder, formats=["csv"], override="a test")
    hierarchies = {dimension.name: dimension for dimension in problem.table.dimensions}
    return read_publication(done.folder / "table.csv", hierarchies, **options)


def square(hidden, values=None):
    """A 4 × 4 table with totals, as text, with some cells hidden."""
    values = np.arange(100, 116).reshape(4, 4) if values is None else values
    cells = {(r, c): str(values[i, j]) for i, r in enumerate(ROWS) for j, c in enumerate(COLUMNS)}
    cells |= {(r, "Total"): str(values[i].sum()) for i, r in enumerate(ROWS)}
    cells |= {("Total", c): str(values[:, j].sum()) for j, c in enumerate(COLUMNS)}
    cells["Total", "Total"] = str(values.sum())
    return cells | dict.fromkeys(hidden, "x")


def as_frame(cells):
    keys = list(cells)
    return pa.table(
        {"row": [r for r, _ in keys], "column": [c for _, c in keys], "value": list(cells.values())}
    )


def read_square(cells, **options):
    return read_publication(as_frame(cells), {"row": None, "column": None}, **options)


def interval(verdict, *codes):
    """Lower and upper end of one cell."""
    place = verdict.cells.tolist().index(verdict.published.table.cell(*codes))
    return verdict.lower[place], verdict.upper[place]


# -- intervals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_intervals_are_those_of_the_audit_that_knows_the_truth(shape, seed, tmp_path):
    problem, pattern = some_hidden(shape, seed)
    expected = audit_outsider(problem, pattern)
    published = read_back(problem, pattern, tmp_path)
    found = audit_published(published)
    unit = 10.0**problem.table.decimals
    assert found.is_complete and not published.set_aside
    by_name = dict(
        zip(
            problem.table.cell_names(expected.cells),
            zip(expected.lower, expected.upper, strict=True),
            strict=True,
        )
    )
    names = published.table.cell_names(found.cells)
    assert set(names) == set(by_name)
    for name, low, high in zip(names, found.lower * unit, found.upper * unit, strict=True):
        assert (low, high) == pytest.approx(by_name[name], abs=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_are_those_of_another_solver(shape, tmp_path):
    from scipy.optimize import linprog

    problem, pattern = some_hidden(shape, 11)
    published = read_back(problem, pattern, tmp_path)
    found = audit_published(published)
    view = published.view
    lower = np.where(view.hidden, unscale(view.lb, 0), view.published)
    upper = np.where(view.hidden, unscale(view.ub, 0), view.published)
    bounds = np.column_stack([lower, upper])
    for cell, low, high in zip(found.cells, found.lower, found.upper, strict=True):
        goal = np.zeros(len(lower))
        goal[cell] = 1
        ends = []
        for sign in (1, -1):
            answer = linprog(sign * goal, A_eq=view.relations.matrix, b_eq=view.relations.rhs, bounds=bounds)
            ends.append(sign * answer.fun if answer.status == 0 else sign * -np.inf)
        assert (low, high) == pytest.approx(ends, abs=1e-4)


def test_most_exposed_cells_come_first(tmp_path):
    found = audit_published(read_back(*some_hidden("hierarchical", 5), tmp_path))
    assert (np.diff(found.relative_width) >= 0).all()


def test_a_cycle_holds_and_one_cell_too_many_breaks_it():
    cycle = [("A", "p"), ("A", "q"), ("B", "p"), ("B", "q")]
    safe = audit_published(read_square(square(cycle)))
    assert safe.is_safe and safe.counts()["exact"] == 0
    planted = audit_published(read_square(square(cycle[:3])))
    assert not planted.is_safe
    assert planted.counts()["exact_by_unpicking"] == 3
    assert interval(planted, "A", "p") == (100, 100)


def test_what_only_all_relations_together_disclose():
    """Rows A and B without columns p and q leave (A, r): no single relation tells it."""
    hidden = [(r, c) for r in "AB" for c in "pq"] + [("A", "r")]
    hidden += [(r, c) for r in "CD" for c in "rs"]
    found = audit_published(read_square(square(hidden)))
    exact = found.cells[found.is_exact]
    assert found.published.table.cell_names(exact) == ["(A, r)"]
    assert found.found[found.is_exact].tolist() == [Found.SOLVED]
    assert interval(found, "A", "r") == pytest.approx((102, 102), abs=1e-6)


def test_within_counts_narrow_intervals_as_disclosed():
    values = np.full((4, 4), 1000)
    values[0, 0] = 3  # its neighbours can move by 3 at most, it itself by all of its value
    published = read_square(square([("A", "p"), ("A", "q"), ("B", "p"), ("B", "q")], values))
    assert audit_published(published).is_safe
    assert audit_published(published, within=0.1).counts()["disclosed"] == 0
    narrow = audit_published(published, within=100)
    assert narrow.counts()["disclosed"] == 4
    with pytest.raises(InputError, match="0 or more"):
        audit_published(published, within=-1)


def test_only_one_whole_number_left_is_exact():
    """Between 0 and 0.4 there is one number without decimals."""
    frame = pa.table({"row": ["Total", "A", "B"], "value": ["7", "", ""], "most": ["", "0.4", ""]})
    whole = audit_published(read_publication(frame, {"row": None}, upper="most"))
    assert whole.published.table.decimals == 1 and not whole.is_exact.any()
    frame = pa.table({"row": ["Total", "A", "B"], "value": ["7", "", ""], "most": ["", "0", ""]})
    assert audit_published(read_publication(frame, {"row": None}, upper="most")).is_exact.all()


def test_no_time_shows_nothing():
    hidden = [(r, c) for r in "ABC" for c in "pqr"]
    verdict = audit_published(read_square(square(hidden)), time_limit=0)
    assert not verdict.is_complete and not verdict.is_safe
    assert verdict.counts()["not_settled"] == 9 and verdict.counts()["disclosed"] == 0
    assert "Not settled" in verdict.summary()


def test_results_tell_counts_and_no_value():
    verdict = audit_published(read_square(square([("A", "p")])))
    for text in (repr(verdict), repr(verdict.published), verdict.summary()):
        assert "100" not in text and "(A, p)" not in text


# -- marks, ranges, absent cells -----------------------------------------------------------------------------


def test_marks_mean_what_is_said():
    frame = pa.table(
        {
            "row": ["Total", "A", "B", "C", "D"],
            "value": ["10", "(c)", "-", "4", "0"],
            "note": ["", "", "", "", "N"],
        }
    )
    published = read_publication(
        frame, {"row": None}, hidden=["(c)"], zero=["-"], flag="note", hidden_flags=["N"]
    )
    assert published.table.cell_names(np.flatnonzero(published.suppressed)) == ["(A)", "(D)"]
    assert published.marks == {
        "note 'N': hidden": 1,
        "value '(c)': hidden": 1,
        "value '-': zero": 1,
    }
    assert interval(audit_published(published), "A") == (0, 6)
    with pytest.raises(InputError, match="'-' is neither a number nor a mark"):
        read_publication(frame, {"row": None}, hidden=["(c)"])
    with pytest.raises(InputError, match="both hidden and zero"):
        read_publication(frame, {"row": None}, hidden=["-"], zero=["-"])
    with pytest.raises(InputError, match="no column of flags"):
        read_publication(frame, {"row": None}, hidden_flags=["N"])


def test_empty_numbers_of_frames_are_empty_fields():
    frame = pa.table({"row": ["Total", "A", "B"], "value": [10.0, None, float("nan")]})
    assert read_publication(frame, {"row": None}).suppressed.sum() == 2


def test_known_ranges_narrow():
    frame = pa.table(
        {"row": ["Total", "A", "B"], "value": ["100", "x", "x"], "lo": ["", "20", ""], "hi": ["", "", "55"]}
    )
    verdict = audit_published(read_publication(frame, {"row": None}, lower="lo", upper="hi"))
    assert interval(verdict, "A") == (45, 100) and interval(verdict, "B") == (0, 55)


def test_one_name_published_discloses_the_other():
    tree = Hierarchy.from_dict({"Total": {"N": ["N1"], "S": ["S1", "S2"]}})
    frame = pa.table({"region": ["Total", "N", "N1", "S", "S1", "S2"], "value": list("x4xxxx")})
    verdict = audit_published(read_publication(frame, {"region": tree}))
    assert verdict.published.table.cell_names(verdict.cells[verdict.is_exact]) == ["(N)"]


def test_absent_cells_are_zero_or_hidden():
    cells = square([("A", "p")])
    del cells["A", "q"]
    zero = audit_published(read_square(cells))
    assert len(zero.published.set_aside) == 1  # the column of q cannot hold; row and column of p disagree
    assert zero.counts()["contradicted"] == 1 and not zero.is_safe
    hidden = audit_published(read_square(cells, absent="hidden"))
    assert not hidden.published.set_aside
    assert hidden.counts()["hidden"] == 1
    assert interval(hidden, "A", "p") == (100, 100)


def test_totals_left_out_still_tie_their_parts_to_the_grand_total():
    """Column totals are not published; without them (A, p) and (B, p) would be known to their row total."""
    cells = square([("A", "p"), ("A", "q")])
    for column in COLUMNS:
        del cells["Total", column]
    verdict = audit_published(read_square(cells))
    assert not verdict.published.set_aside
    assert verdict.published.view.hidden.sum() == 2 + 4 and verdict.counts()["hidden"] == 2
    assert verdict.counts()["cells"] == len(cells)
    low, high = interval(verdict, "A", "p")
    assert (low, high) == (0, 201)


def test_details_left_out_are_allowed_or_not():
    cells = square([("A", "p"), ("A", "q"), ("C", "p"), ("C", "q")])
    rows = Hierarchy.from_dict({"Total": {"A": [], "B": ["B1", "B2"], "C": [], "D": []}})
    verdict = audit_published(read_publication(as_frame(cells), {"row": rows, "column": None}))
    assert verdict.is_safe and verdict.counts()["hidden"] == 4
    with pytest.raises(InputError, match="none of the total's parts"):
        read_publication(as_frame(cells), {"row": rows, "column": None}, incomplete="error")


# -- rounding, contradictions --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("unit", [1, 5, Decimal("0.1")])
def test_rounded_tables_keep_the_truth_in_the_interval(seed, unit):
    rng = np.random.default_rng(seed)
    true = rng.integers(0, 20_000, (4, 4)) / 1000 * (10 if unit == 5 else 1)
    exact = {key: float(text) for key, text in square([], true).items()}
    hidden = [key for key in exact if rng.random() < 0.3] or [("A", "p")]
    step = float(unit)
    shown = {key: f"{round(value / step) * step:.1f}" for key, value in exact.items()}
    published = read_square(shown | dict.fromkeys(hidden, "x"), rounding=str(unit))
    assert not published.set_aside
    verdict = audit_published(published)
    assert verdict.is_complete and len(verdict.cells) == len(hidden)
    for key in hidden:
        low, high = interval(verdict, *key)
        assert low - 1e-6 <= exact[key] <= high + 1e-6
    exact_ones = verdict.width[verdict.is_exact]
    assert (exact_ones <= step + 1e-3).all()


def test_relations_that_do_not_add_up_are_listed_and_not_used():
    cells = square([("A", "p"), ("A", "q")])
    cells["Total", "Total"] = "1"
    published = read_square(cells)
    assert len(published.set_aside) == 2  # along rows and along columns
    assert published.set_aside[0].startswith("(Total, Total) = ")
    verdict = audit_published(published)
    assert verdict.counts()["exact"] == 2  # by their columns
    assert "not used: 2" in verdict.summary()


def test_contradictions_stay_where_they_are():
    """Hidden cells of rows A and B cannot be; those of C and D still have intervals."""
    blocks = [(r, c) for r in "AB" for c in "pq"] + [(r, c) for r in "CD" for c in "rs"]
    cells = square(blocks)
    cells["A", "Total"] = "9999"
    verdict = audit_published(read_square(cells))
    counts = verdict.counts()
    assert counts["contradicted"] == 4 and not verdict.is_safe
    assert np.isnan(verdict.lower[verdict.found == Found.CONTRADICTED]).all()
    assert (verdict.found == Found.SOLVED).sum() == 4
    assert json.dumps(verdict.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"hidden": ["?"]}, r"no cell is hidden \(marks looked for: '\?'\)"),
        ({("A", "p"): "n/a"}, {}, "'n/a' is neither a number"),
        ({("A", "p"): "1 234"}, {}, "as it is written is neither a number"),
        ({("A", "p"): "-5"}, {}, "is negative"),
        ({}, {"rounding": "often"}, "unit of rounding"),
        ({}, {"rounding": -1}, "unit of rounding"),
        ({}, {"rounding": "0.000000001"}, "more than 9 decimals"),
        ({}, {"absent": "lost"}, "absent cannot be 'lost'"),
        ({}, {"hidden": "x"}, "given as one text"),
        ({}, {"value": "turnover"}, "no column 'turnover'"),
    ],
)
def test_bad_input_is_named(change, options, message):
    hidden = [] if options.get("hidden") == ["?"] else [("B", "q")]
    with pytest.raises(InputError, match=message):
        read_square(square(hidden) | change, **options)


def test_unknown_codes_double_rows_and_empty_ranges_are_named():
    tree = Hierarchy.from_dict({"Total": ["A", "B"]})
    frame = pa.table({"row": ["Total", "A", "C"], "value": ["9", "x", "x"]})
    with pytest.raises(InputError, match="unknown code in"):
        read_publication(frame, {"row": tree})
    frame = pa.table({"row": ["Total", "A", "A"], "value": ["9", "x", "x"]})
    with pytest.raises(InputError, match="occurs twice"):
        read_publication(frame, {"row": tree})
    frame = pa.table(
        {"row": ["Total", "A", "B"], "value": ["9", "x", "x"], "lo": ["", "5", ""], "hi": ["", "4", ""]}
    )
    with pytest.raises(InputError, match="contradicts itself"):
        read_publication(frame, {"row": tree}, lower="lo", upper="hi")


# -- folders and the command ---------------------------------------------------------------------------------


def blank(folder, problem, hidden):
    """Empty the values of a tidy folder's hidden cells, and drop all but codes and values."""
    with (folder / "cells.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [dimension.name for dimension in problem.table.dimensions]
    with (folder / "cells.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, [*names, "value"], extrasaction="ignore")
        writer.writeheader()
        for cell, row in enumerate(rows):
            writer.writerow(row | {"value": ""} if hidden[cell] else row)


@pytest.mark.parametrize("shape", ["overlapping", "variables"])
def test_folders_with_empty_values(shape, tmp_path):
    problem, pattern = some_hidden(shape, 2)
    write_folder(problem, tmp_path)
    with_status = audit_published(read_publication_folder(tmp_path))
    blank(tmp_path, problem, pattern.hidden)
    blanked = audit_published(read_publication_folder(tmp_path))
    expected = audit_outsider(problem, pattern)
    for found in (with_status, blanked):
        assert len(found.cells) == pattern.hidden.sum()
        order = np.argsort(found.published.table.cell_names(found.cells))
        by_name = np.argsort(problem.table.cell_names(expected.cells))
        assert found.lower[order] == pytest.approx(expected.lower[by_name], abs=1e-3)
        assert found.upper[order] == pytest.approx(expected.upper[by_name], abs=1e-3)


@pytest.fixture
def files(tmp_path):
    """A published table with two hierarchies, one of which is an .hrc file."""
    (tmp_path / "region.csv").write_text("parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\n")
    (tmp_path / "kind.hrc").write_text("a\nb\n")
    lines = ["region,kind,turnover"]
    values = {"N1": (10, 20), "N2": (30, 40), "S": (50, 60)}
    values["N"] = (40, 60)
    values["Total"] = (90, 120)
    for region, (a, b) in values.items():
        shown = ("x", "x") if region in ("N1", "N2") else (a, b)
        lines += [f"{region},a,{shown[0]}", f"{region},b,{shown[1]}", f"{region},Total,{a + b}"]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    options = [
        "--hierarchy",
        f"region={tmp_path / 'region.csv'}",
        "--hierarchy",
        f"kind={tmp_path / 'kind.hrc'}",
    ]
    return tmp_path, [tmp_path / "table.csv", *options, "--value", "turnover", "--hidden", "x"]


def test_command_on_a_file_with_decimal_commas(command: Command, files):
    folder, arguments = files
    text = (folder / "table.csv").read_text()
    shown = "\n".join(
        f"{line},5" if line[-1:].isdigit() else line for line in text.replace(",", ";").split("\n")
    )
    (folder / "table.csv").write_text(shown)
    done = command("audit", *arguments, "--rounding", "1")
    assert (
        "Note: table.csv: numbers are read with the decimal mark ','" in done.out and "hidden: 4" in done.out
    )
    said = command("audit", *arguments, "--rounding", "1", "--decimal", ",")
    assert "Note" not in said.out and said.code == done.code
    wrong = command("audit", *arguments, "--decimal", ".")
    assert wrong.code == 2 and "neither a number nor a mark" in wrong.err


def test_command_on_a_file(command: Command, files):
    folder, arguments = files
    done = command("audit", *arguments, "--report", folder / "r.json")
    assert (done.code, done.err) == (0, "")
    assert "hidden: 4" in done.out and "No hidden cell is disclosed." in done.out
    report = json.loads((folder / "r.json").read_text())
    assert report["safe"] is True and report["counts"]["hidden"] == 4
    assert {entry["cell"] for entry in report["cells"]} == {
        f"({region}, {kind})" for region in ("N1", "N2") for kind in "ab"
    }
    assert command("audit", *arguments, "--within", "100").code == 1
    text = (folder / "table.csv").read_text().replace("N1,a,x", "N1,a,10")
    (folder / "table.csv").write_text(text)
    done = command("audit", *arguments)
    assert done.code == 1 and "NOT SAFE: 3 cells disclosed." in done.out
    assert json.loads(command("audit", *arguments, "--json").out)["counts"]["exact"] == 3


def test_command_on_a_folder(command: Command, tmp_path):
    problem, pattern = some_hidden("overlapping", 2)
    write_folder(problem, tmp_path)
    blank(tmp_path, problem, pattern.hidden)
    expected = audit_published(read_publication_folder(tmp_path))
    done = command("audit", tmp_path)
    assert done.code == (0 if expected.is_safe else 1)
    assert expected.summary() in done.out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["--hidden", "?", "--hidden", "*"], "neither a number nor a mark"),
        (["--attacker", "insider"], "needs a pattern"),
        (["--value", "sales"], "no column 'sales'"),
        (["--flag", "turnover", "--hidden-flag", "y", "--hidden", "q"], "neither a number nor a mark"),
    ],
)
def test_command_refuses(command: Command, files, changes, message):
    _, arguments = files
    kept = arguments[:-2] if "--hidden" in changes else arguments
    done = command("audit", *kept, *changes)
    assert done.code == 2 and message in done.err


def test_command_needs_a_pattern_or_hierarchies(command: Command, files):
    folder, arguments = files
    done = command("audit", arguments[0])
    assert done.code == 2 and "neither a pattern nor a hierarchy" in done.err
    done = command("audit", arguments[0], arguments[0], *arguments[1:])
    assert done.code == 2 and "a pattern and hierarchies" in done.err
    done = command("audit", folder, *arguments[1:])
    assert done.code == 2
    done = command("audit", *arguments, "--report", folder / "region.csv")
    assert done.code == 2 and "overwrite" in done.err


# -- genuine publications: counts only -----------------------------------------------------------------------


@needs_instances
def test_a_table_protected_by_tau_argus():
    with (INSTANCES / "tauargus/testW/expected/Simple2D.txt").open(newline="") as file:
        rows = [[field.strip() for field in row] for row in csv.reader(file)]
    names = ("size", "region", "value", "status")
    frame = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    region = Hierarchy.from_dict(
        {
            "Total": {
                "Nr": list("123"),
                "Os": list("4567"),
                "Ws": ["8", "9", "10"],
                "Zd": ["11", "12"],
                "99": [],
            }
        }
    )
    published = read_publication(
        frame, {"size": None, "region": region}, flag="status", hidden_flags=["3", "11"], zero_flags=["14"]
    )
    assert published.suppressed.sum() == 21 and not published.set_aside
    verdict = audit_published(published)
    assert verdict.is_complete
    true = {(row[0], row[1]): float(row[2]) for row in rows if row[3] in ("3", "11")}
    for (size, area), value in true.items():  # the file has the values of the cells it marks
        low, high = interval(verdict, size, area)
        assert low - 1e-6 <= value <= high + 1e-6


def published_rows(name):
    with (INSTANCES / "published" / name).open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def frame_of(rows, *names):
    return pa.table({name: [row[name] for row in rows] for name in names})


def check_plausible(verdict):
    """Nothing impossible: intervals in order, not below 0, each as good as what is publicly known."""
    assert verdict.is_complete
    assert (verdict.lower <= verdict.upper + 1e-6).all() and (verdict.lower >= -1e-6).all()
    unit = 10.0**verdict.published.table.decimals
    view = verdict.published.view
    assert (verdict.lower * unit >= unscale(view.lb, 0)[verdict.cells] - 1e-3).all()
    assert (verdict.upper * unit <= unscale(view.ub, 0)[verdict.cells] + 1e-3).all()


SECTORS = {
    **{"1011": ["11", "21"], "1012": ["23"], "1013": ["31-33"], "1021": ["22", "42", "44-45", "48-49"]},
    **{"1022": ["51"], "1023": ["52", "53"], "1024": ["54", "55", "56"], "1025": ["61", "62"]},
    **{"1026": ["71", "72"], "1027": ["81"], "1028": ["92"], "1029": ["99"]},
}


def sector_of(code, ranges=("31-33", "44-45", "48-49")):
    return next((r for r in ranges if r[:2] <= code[:2] <= r[3:]), code[:2])


def parent_in_qcew(code):
    if code in ("101", "102"):
        return "10"
    if code.startswith("10"):
        return code[:3]
    if len(code) == 2 or "-" in code:
        return next(name for name, sectors in SECTORS.items() if code in sectors)
    return sector_of(code) if len(code) == 3 else code[:-1]


@needs_instances
@pytest.mark.parametrize(("area", "hidden"), [("34009", 399), ("34033", 376), ("34041", 481)])
@pytest.mark.parametrize("value", ["total_qtrly_wages", "month1_emplvl"])
def test_employment_and_wages_of_three_counties(area, hidden, value):
    rows = [r for r in published_rows("qcew_nj_3counties_2016q1.csv") if r["area_fips"] == area]
    codes = dict.fromkeys(row["industry_code"] for row in rows)
    industry = Hierarchy.from_pairs((parent_in_qcew(code), code) for code in codes if code != "10")
    published = read_publication(
        frame_of(rows, "own_code", "industry_code", "disclosure_code", value),
        {"own_code": Hierarchy.flat("1235", "0"), "industry_code": industry},
        value=value,
        hidden=[],
        flag="disclosure_code",
        hidden_flags=["N"],
    )
    assert published.suppressed.sum() == hidden and not published.set_aside
    verdict = audit_published(published)
    check_plausible(verdict)
    assert verdict.counts()["exact"] == 0


@needs_instances
@pytest.mark.parametrize(
    ("period", "hidden", "exact"),
    [("2020Q1", 714, 14), ("2020Q2", 751, 7), ("2020Q3", 743, 11), ("2020Q4", 739, 7)],
)
def test_wages_of_municipalities(period, hidden, exact):
    rows = published_rows("pr_qcew_tidy_2020.csv")
    industry = Hierarchy.from_pairs(
        dict.fromkeys((r["parent_code"], r["code"]) for r in rows if r["parent_code"])
    )
    rows = [row for row in rows if row["period"] == period]
    areas = dict.fromkeys(row["muni_code"] for row in rows)
    published = read_publication(
        frame_of(rows, "muni_code", "code", "wages"),
        {"muni_code": Hierarchy.flat(areas, "all"), "code": industry},
        value="wages",
        hidden=[""],
    )
    assert published.suppressed.sum() == hidden and not published.set_aside
    verdict = audit_published(published)
    check_plausible(verdict)
    assert verdict.counts()["exact"] == verdict.counts()["exact_by_unpicking"] == exact


@needs_instances
def test_employment_with_published_ranges():
    ranges = {"A": (0, 19), "B": (20, 99), "C": (100, 249), "E": (250, 499), "F": (500, 999)}
    ranges |= {"G": (1000, 2499), "H": (2500, 4999), "I": (5000, 9999)}
    rows = published_rows("cbp03pr_mun.csv")
    for row in rows:
        row["least"], row["most"] = map(str, ranges[row["empflag"]]) if row["empflag"] else ("", "")
    firsts = ("31-33", "44-45", "48-49")
    pairs = [
        ("------", code) if code.endswith("----") else (f"{sector_of(code, firsts)[:2]}----", code)
        for code in dict.fromkeys(row["naics"] for row in rows)
        if code != "------"
    ]
    areas = dict.fromkeys(row["fipscty"] for row in rows)
    published = read_publication(
        frame_of(rows, "fipscty", "naics", "empflag", "emp", "least", "most"),
        {"fipscty": Hierarchy.flat(areas, "all"), "naics": Hierarchy.from_pairs(pairs)},
        value="emp",
        hidden=[],
        flag="empflag",
        hidden_flags=list(ranges),
        lower="least",
        upper="most",
    )
    assert published.suppressed.sum() == 2540 and not published.set_aside
    verdict = audit_published(published)
    check_plausible(verdict)
    counts = verdict.counts()
    assert (counts["exact"], counts["unbounded"]) == (0, 0)
    assert counts["within_5_percent"] == 19


def test_status_letters_are_those_of_problems():
    assert {Status.PRIMARY.letter, Status.SECONDARY.letter} == set(SUPPRESSED_STATUS)
