"""The release rule, and that no public file holds anything it should not."""

import csv
import json
import os
import stat
import struct
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellveil as cv
import cellveil.publishing.releasing as release_module
from cellveil.attackers.attacker import Attacker
from cellveil.errors import InputError, MissingExtraError, NotSafeError
from cellveil.judge import Audit, audit
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.publishing import FORMATS, Publication, release
from cellveil.publishing import swap as swap_module
from cellveil.publishing.layout import NO_CELL, CrossTable
from cellveil.publishing.lock import locked
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.planted_table import HIDDEN, PUBLISHED, planted

ALL = tuple(FORMATS)


@pytest.fixture
def safe():
    problem, pattern = planted()
    return problem, pattern, audit(problem, pattern)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def everything_in(folder: Path) -> dict[str, bytes]:
    """The bytes of all files, of all parts of archives, and what a reader of Parquet gets to see."""
    found = contents(folder)
    with zipfile.ZipFile(folder / "table.xlsx") as archive:
        found |= {f"table.xlsx/{name}": archive.read(name) for name in archive.namelist()}
    file = pq.ParquetFile(folder / "table.parquet")
    found["parquet rows"] = str(file.read().to_pylist()).encode()
    groups = range(file.metadata.num_row_groups)
    columns = range(file.metadata.num_columns)
    found["parquet metadata"] = (
        str([file.metadata.row_group(g).column(c).to_dict() for g in groups for c in columns]).encode()
        + repr(file.metadata.metadata).encode()
    )
    return found


def forms_of(value: str) -> list[bytes]:
    """Ways in which a value may be written."""
    number = Decimal(value)
    scaled = int(number * 100)
    texts = {
        f"{number:.2f}",
        f"{number:,.2f}",
        str(scaled),
        f"{scaled:,}",
        f"{int(number):,}",
        str(int(number)),
    }
    texts |= {f"{number:.1f}", f"{float(number):.6g}", f"{float(number):e}"}
    for separator in (" ", "\u202f", "\u00a0", ".", "'"):
        texts |= {text.replace(",", separator) for text in list(texts) if "," in text}
    binary = [struct.pack("<q", scaled), struct.pack(">q", scaled), struct.pack("<d", float(number))]
    return [text.encode() for text in texts] + binary + [struct.pack(">d", float(number))]


# -- the rule ------------------------------------------------------------------------------------------------


def test_a_safe_view_is_released(safe, tmp_path):
    done = release(safe[2], tmp_path / "out", formats=ALL)
    assert done.override is None and not done.objections
    sdmx = {"table.sdmx.csv", "table.sdmx.xml"}
    assert set(done.files) == {"table.csv", "table.parquet", "table.xlsx", "index.html", "about.json"} | sdmx
    assert done.view_hash == safe[2].view.content_hash and done.safe_against == "outsiders"


def with_report(verdict: Audit, **changes) -> Audit:
    """The audit with another report on the outsider."""
    (one,) = verdict.verdicts
    return replace(verdict, verdicts=(replace(one, report=replace(one.report, **changes)),))


def refusals():
    problem, pattern = planted()
    good = audit(problem, pattern)
    bare = Pattern.hiding(problem, problem.hidden_at_start, "primaries only")
    nothing = Pattern(np.zeros_like(pattern.status), "nothing hidden")
    shown = PublicView.of(problem, nothing)
    empty = {name: getattr(good.outsider, name)[:0] for name in ("cells", "lower", "upper", "safe")}
    forged = replace(good.verdicts[0], verification=replace(good.verification, faults=("forged",)))
    return {
        "no attacker": replace(good, verdicts=()),
        "another view": replace(good, view=PublicView.of(problem, bare)),
        "unsafe": audit(problem, bare),
        "another digest": with_report(good, view_hash="0" * 64),
        "primary not judged": with_report(good, **empty),
        "cut short": with_report(good, reason="out of time"),
        "primary published": replace(with_report(good, view_hash=shown.content_hash), view=shown),
        "not proven": replace(good, verdicts=(forged,)),
        "outsiders not asked": audit(problem.known_within(90), pattern, attackers=[Attacker(prior=90)]),
    }


@pytest.mark.parametrize("case", refusals())
@pytest.mark.parametrize("override", [None, "", "  "])
def test_without_a_verdict_or_a_reason_nothing_is_released(case, override, tmp_path):
    with pytest.raises(NotSafeError, match="nothing was released"):
        release(refusals()[case], tmp_path / "out", override=override)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("case", refusals())
def test_an_override_is_recorded_but_not_published(case, tmp_path):
    done = release(refusals()[case], tmp_path / "out", formats=ALL, override=" Zanzibar agreed ")
    assert done.override == "Zanzibar agreed" and done.objections
    for name, data in everything_in(done.folder).items():
        assert b"Zanzibar" not in data and b"xception" not in data, name


@pytest.mark.parametrize("instead", [None, True, "safe"])
def test_nothing_but_an_audit_opens_the_gate(instead, safe, tmp_path):
    with pytest.raises(InputError, match="needs an audit"):
        release(instead, tmp_path / "out", override="a reason")
    with pytest.raises(InputError, match="needs an audit"):
        release(safe[2].outsider, tmp_path / "out", override="a reason")


def test_an_override_that_is_not_needed_is_not_one(safe, tmp_path):
    assert release(safe[2], tmp_path / "out", formats=["csv"], override="in case").override is None


# -- leaks ---------------------------------------------------------------------------------------------------


def test_no_hidden_value_in_any_public_byte(safe, tmp_path):
    done = release(safe[2], tmp_path / "out", formats=ALL, title="Turnover", note="provisional")
    for name, data in everything_in(done.folder).items():
        for key, value in HIDDEN.items():
            for form in forms_of(value):
                assert form not in data, f"{key} in {name}"


def test_writers_are_not_given_hidden_values(safe):
    problem, pattern, _ = safe
    publication = Publication.of(problem.table, PublicView.of(problem, pattern))
    assert not publication.published[pattern.hidden].any()
    assert not any(attribute is problem.table for attribute in vars(publication).values())


def test_a_refusal_names_the_cells_but_no_value(safe, tmp_path):
    problem = safe[0]
    bare = Pattern.hiding(problem, problem.hidden_at_start, "primaries only")
    with pytest.raises(
        NotSafeError, match=r"1 cell was not shown protected against outsiders: \(A, N\)"
    ) as refusal:
        release(audit(problem, bare), tmp_path / "out")
    assert not [form for form in forms_of(HIDDEN["A", "N"]) if form in str(refusal.value).encode()]


def test_the_search_for_leaks_finds_published_values(safe, tmp_path):
    done = release(safe[2], tmp_path / "out", formats=ALL)
    found = everything_in(done.folder)
    for name in ("table.csv", "parquet rows", "table.xlsx/xl/worksheets/sheet1.xml", "index.html"):
        assert any(form in found[name] for form in forms_of(PUBLISHED["A", "W"])), name


@pytest.mark.parametrize("symbol", ["x", "", ":"])
def test_primary_and_secondary_cannot_be_told_apart(symbol, tmp_path):
    written = []
    for primary in HIDDEN:
        problem, pattern = planted(primary)
        folder = tmp_path / "-".join(primary)
        done = release(audit(problem, pattern), folder, formats=ALL, symbol=symbol)
        written.append(contents(done.folder))
    assert all(files == written[0] for files in written)


def test_the_public_description_has_nothing_else(safe, tmp_path):
    done = release(safe[2], tmp_path / "out", formats=["csv"], title="T")
    about = json.loads((done.folder / "about.json").read_text())
    assert set(about) == {
        *("title", "variable", "decimals", "dimensions", "cells", "hidden_cells", "rows", "symbol"),
        *("files", "software", "hierarchies", "absent"),
    }
    codes = {row.split(",")[1] for row in (done.folder / "table.csv").read_text().splitlines()[1:]}
    for name, trees in about["hierarchies"].items():
        assert {"name": name, "codes": 5, "total": "Total"} in about["dimensions"]
        assert {code for tree in trees for pair in tree for code in pair} == codes
    assert about["cells"] == 16 and about["hidden_cells"] == 4 and about["rows"] == 20


def test_bounds_do_not_reach_the_public(safe, tmp_path):
    """Bounds derived from the values would make any digest of them a means to test guesses."""
    problem, pattern, _ = safe
    written = []
    for factor in (2, 3):
        bounded = problem.replace(ub=problem.table.values * factor)
        done = release(audit(bounded, pattern), tmp_path / str(factor), formats=ALL)
        written.append(contents(done.folder))
    assert written[0] == written[1]


# -- contents ------------------------------------------------------------------------------------------------


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_csv_has_every_name_of_every_cell_in_order(safe, tmp_path):
    problem = safe[0]
    done = release(safe[2], tmp_path / "out", formats=["csv"])
    rows = read_csv(done.folder / "table.csv")
    regions = ["Total", "N", "S", "West", "W"]
    assert [(row["industry"], row["region"]) for row in rows] == [
        (a, b) for a in ("Total", "A", "B", "C") for b in regions
    ]
    for row in rows:
        cell = problem.table.cell(row["industry"], row["region"])
        if (row["industry"], row["region"]) in HIDDEN:
            assert row["value"] == row["flag"] == "x"
        else:
            assert Decimal(row["value"]) * 100 == int(problem.table.values[cell]) and row["flag"] == ""
    assert [row["value"] for row in rows if row["industry"] == "A"][3:] == ["4321.77"] * 2


def test_labels_are_columns_and_texts_are_quoted(safe, tmp_path):
    labels = {"industry": {"A": 'Food, "fresh"\nand dry', "B": "=1+1"}}
    done = release(safe[2], tmp_path / "out", formats=["csv", "xlsx"], labels=labels)
    rows = read_csv(done.folder / "table.csv")
    expected = {"Total": "", "C": ""} | labels["industry"] | {"B": "'=1+1"}
    assert {row["industry"]: row["industry_label"] for row in rows} == expected
    sheet = openpyxl.load_workbook(done.folder / "table.xlsx")["Table"]
    formula = [cell for row in sheet.iter_rows() for cell in row if cell.value == "=1+1"]
    assert formula and all(cell.data_type == "s" for cell in formula)


def test_parquet_is_exact_and_null_where_hidden(safe, tmp_path):
    problem, pattern, _ = safe
    done = release(safe[2], tmp_path / "out", formats=["parquet"])
    for row in pq.read_table(done.folder / "table.parquet").to_pylist():
        cell = problem.table.cell(row["industry"], row["region"])
        if pattern.hidden[cell]:
            assert row["value"] is None and row["flag"] == "x"
        else:
            assert row["value"] == Decimal(int(problem.table.values[cell])) / 100 and row["flag"] == ""


def test_the_page_says_so_when_it_rounds(safe, tmp_path):
    page = (release(safe[2], tmp_path / "a", formats=["html"], decimals=0).folder / "index.html").read_text()
    assert "rounded (digits after the point: 0)" in page and "4,322" in page


@st.composite
def random_problems(draw):
    decimals = draw(st.integers(0, 3))
    shape = draw(st.tuples(*[st.integers(1, 3)] * draw(st.integers(1, 4))))
    dimensions, leaves = [], []
    for axis, size in enumerate(shape):
        below = {f"{axis}{i}": [f"{axis}{i}{j}" for j in range(draw(st.integers(0, 2)))] for i in range(size)}
        dimensions.append(Dimension.of(f"d{axis}", Hierarchy.from_dict({f"T{axis}": below})))
        leaves.append(
            [c for c, inner in zip(dimensions[-1].codes, dimensions[-1].is_parent, strict=True) if not inner]
        )
    keys = [leaves_of.ravel() for leaves_of in np.meshgrid(*leaves, indexing="ij")]
    kept = np.array(draw(st.lists(st.booleans(), min_size=len(keys[0]), max_size=len(keys[0]))))
    kept[0] = True
    numbers = draw(st.lists(st.integers(-(10**12), 10**12), min_size=len(keys[0]), max_size=len(keys[0])))
    values = [Decimal(number).scaleb(-decimals) for number in numbers]
    codes = {d.name: key[kept].tolist() for d, key in zip(dimensions, keys, strict=True)}
    table = table_from_interior(
        dimensions, codes, [v for v, k in zip(values, kept, strict=True) if k], decimals=decimals
    )
    hidden = np.array(draw(st.lists(st.booleans(), min_size=table.num_cells, max_size=table.num_cells)))
    problem = Problem.of(table, {})
    hidden &= problem.status != Status.FROZEN  # zeros must be published
    return problem, Pattern.hiding(problem, hidden, "random")


@given(random_problems())
@settings(max_examples=40, deadline=None)
def test_public_files_give_the_published_values_back(tmp_path_factory, case):
    problem, pattern = case
    folder = tmp_path_factory.mktemp("release")
    done = release(audit(problem, pattern), folder, formats=["csv", "parquet"])
    names = [dimension.name for dimension in problem.table.dimensions]
    seen = {}
    for row in read_csv(done.folder / "table.csv"):
        cell = problem.table.cell(*(row[name] for name in names))
        value = (
            "x"
            if pattern.hidden[cell]
            else Decimal(int(problem.table.values[cell])).scaleb(-problem.table.decimals)
        )
        assert (row["value"] if row["value"] == "x" else Decimal(row["value"])) == value
        seen[tuple(row[name] for name in names)] = None if value == "x" else value
    expected = {
        key
        for cell in range(problem.table.num_cells)
        for key in _product(
            [
                [name for name, code in d.index.items() if code == k[cell]]
                for d, k in zip(problem.table.dimensions, problem.table.keys, strict=True)
            ]
        )
    }
    assert set(seen) == expected
    rows = pq.read_table(done.folder / "table.parquet").to_pylist()
    assert {tuple(row[name] for name in names): row["value"] for row in rows} == seen


def _product(parts):
    from itertools import product

    return set(product(*parts))


@given(random_problems(), st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_cross_tables_show_every_cell_in_its_place(case, limit):
    problem, pattern = case
    table = problem.table
    publication = Publication.of(table, PublicView.of(problem, pattern))
    cross = CrossTable.of(publication, limit)
    shown = set()
    for block in cross.blocks():
        assert block.cells.shape == (cross.num_rows, cross.num_columns)
        for place, cell in np.ndenumerate(block.cells):
            lines = dict(zip(cross.others, block.chosen, strict=True))
            lines[cross.down] = cross.shown[cross.down][place[0]]
            if cross.across >= 0:
                lines[cross.across] = cross.shown[cross.across][place[1]]
            codes = [np.array([publication.lines[axis].code[lines[axis]]]) for axis in range(len(lines))]
            assert cell == table.find(codes)[0]
            shown.add(int(cell))
    assert cross.num_shown == len(shown - {NO_CELL})
    assert bool(cross.cuts) == (np.prod([len(lines) for lines in publication.lines]) > limit)
    if not cross.cuts:
        assert shown - {NO_CELL} == set(range(table.num_cells))
    assert np.prod([len(lines) for lines in cross.shown]) <= limit


# -- the folder ----------------------------------------------------------------------------------------------


def test_an_older_release_is_replaced_and_other_files_stay(safe, tmp_path):
    first = release(safe[2], tmp_path / "out", formats=ALL)
    (first.folder / "README.md").write_text("mine")
    second = release(safe[2], tmp_path / "out", formats=["csv"], symbol=":")
    assert {path.name for path in second.folder.iterdir()} == {"table.csv", "about.json", "README.md"}
    assert ",:,:" in (second.folder / "table.csv").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_that_are_not_of_a_release_are_not_overwritten(safe, tmp_path):
    (tmp_path / "table.csv").write_text("microdata")
    with pytest.raises(InputError, match=r"table\.csv that is not part of an older release"):
        release(safe[2], tmp_path)
    assert contents(tmp_path) == {"table.csv": b"microdata"}


@pytest.mark.parametrize("error", [OSError("disk full"), RuntimeError("bug"), KeyboardInterrupt()])
def test_a_failing_writer_leaves_the_old_release(safe, tmp_path, monkeypatch, error):
    before = contents(release(safe[2], tmp_path / "out", formats=ALL).folder)

    def fail(publication, path):
        path.write_text("half")
        raise error

    monkeypatch.setattr(release_module, "FORMATS", {**FORMATS, "xlsx": {"table.xlsx": fail}})
    with pytest.raises(InputError if isinstance(error, OSError) else type(error)):
        release(safe[2], tmp_path / "out", formats=ALL, symbol=":")
    assert contents(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("step", range(3))
def test_a_failing_exchange_is_undone(safe, tmp_path, monkeypatch, step):
    before = contents(release(safe[2], tmp_path / "out", formats=["csv", "parquet", "html"]).folder)
    real, moves = Path.rename, []

    def move(source, target):
        moves.append(source)
        if len(moves) == step + 1:
            raise OSError("disk full")
        return real(source, target)

    def broken(one, other):
        raise OSError("broken")

    if step == 2:  # in one step, which fails
        monkeypatch.setattr(swap_module, "swap_at_once", broken)
    else:  # in three steps, of which one fails
        monkeypatch.setattr(swap_module, "swap_at_once", lambda one, other: False)
        monkeypatch.setattr(Path, "rename", move)
    with pytest.raises(InputError, match="older release there is unchanged"):
        release(safe[2], tmp_path / "out", formats=["csv", "parquet", "xlsx"], symbol=":")
    assert contents(tmp_path / "out") == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def no_links(*_, **__):
    raise OSError("not on this file system")


@pytest.mark.parametrize("at_once", [True, False])
def test_whatever_is_not_of_a_release_is_carried_over(safe, tmp_path, monkeypatch, at_once):
    if not at_once:
        monkeypatch.setattr(swap_module, "swap_at_once", lambda one, other: False)
        monkeypatch.setattr(os, "link", no_links)
    out = release(safe[2], tmp_path / "out", formats=["csv"]).folder
    (out / "more" / "deep").mkdir(parents=True)
    (out / "more" / "deep" / "a.txt").write_text("a")
    (out / "readme").symlink_to("more")
    out.chmod(0o750)
    release(safe[2], out, formats=["csv"], symbol=":")
    assert (out / "more" / "deep" / "a.txt").read_text() == "a"
    assert (out / "readme").is_symlink() and stat.S_IMODE(out.stat().st_mode) == 0o750
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_release_into_the_working_folder(safe, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    release(safe[2], ".", formats=["csv"])
    assert sorted(path.name for path in Path().iterdir()) == ["about.json", "table.csv"]


def test_two_releases_into_one_folder_at_once(safe, tmp_path):
    with locked((tmp_path / "out").resolve()):
        with pytest.raises(InputError, match="another run is writing into this folder") as caught:
            release(safe[2], tmp_path / "out")
        assert caught.value.exit_code == 2 and str(tmp_path / "out") in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    release(safe[2], tmp_path / "out")


def test_no_text_is_a_formula(tmp_path):
    codes = ["=1+1", "+a", "-b|c", "@d", "-7"]
    table = table_from_interior(
        [Dimension.of("=dim", Hierarchy.flat(codes))], {"=dim": codes}, [-5, 6, 7, 8, 9]
    )
    problem = Problem.of(table, {})
    pattern = Pattern.hiding(problem, np.zeros(6, dtype=bool), "nothing")
    labels = {"=dim": {code: f"={code}" for code in codes}}
    verdict = audit(problem, pattern)
    formats = [name for name in ALL if name != "sdmx"]  # which refuses such names
    out = release(verdict, tmp_path / "out", formats=formats, labels=labels, title="=t").folder
    with (out / "table.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:2] == ["'=dim", "'=dim_label"]
    assert {row[0]: row[2] for row in rows[1:]}["'=1+1"] == "-5"
    assert not [text for row in rows for text in row if text[:1] in tuple("=+@")]
    book = openpyxl.load_workbook(out / "table.xlsx")
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} == {"s", "n"}
    assert {"=1+1", "+a", "=t", "==1+1", -5} <= {cell.value for cell in cells}
    with pytest.raises(InputError, match="formula"):
        release(verdict, tmp_path / "out", symbol="=x")


TELLING = [
    "<5",
    "< 5",
    "≤4",
    "1-4",
    "1–4",
    "c<5",
    "under 5",
    "under five",
    "＜５",
    "1 bis 4",
    "x(<k)",
    "few",
    "5-",
]

SAYING_NOTHING = ["x", "", ":", "..", "…", "-", "(D)", "n/a", "conf.", "geheim", "suppressed"]


@pytest.mark.parametrize("symbol", SAYING_NOTHING)
def test_marks_that_say_nothing_of_the_value(safe, tmp_path, symbol):
    assert release(safe[2], tmp_path / "out", formats=ALL, symbol=symbol).files


# -- wrong arguments -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formats": ["cvs"]}, "Did you mean 'csv'"),
        ({"symbol": "0"}, "symbol"),
        *(({"symbol": mark}, "says something of the values") for mark in TELLING),
        ({"symbol": "nan"}, "symbol"),
        ({"symbol": "a\nb"}, "symbol"),
        ({"decimals": 3}, "3 decimals cannot be shown"),
        ({"decimals": -1}, "cannot be shown"),
        ({"labels": {"sector": {}}}, "no dimension"),
        ({"title": "a\x00b"}, "control character"),
    ],
)
def test_wrong_options_are_named(safe, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        release(safe[2], tmp_path / "out", **options)
    assert not list(tmp_path.iterdir())


def test_a_dimension_called_value_is_refused(tmp_path):
    table = table_from_interior(
        [Dimension.of("value", Hierarchy.flat(["a", "b"]))], {"value": ["a", "b"]}, [1, 2]
    )
    problem = Problem.of(table, {})
    pattern = Pattern(problem.status, "none")
    with pytest.raises(InputError, match="two columns"):
        release(audit(problem, pattern), tmp_path / "out")


def test_excel_is_an_extra(safe, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match="openpyxl"):
        release(safe[2], tmp_path / "out", formats=["csv", "xlsx"])
    assert not list(tmp_path.iterdir())


def test_a_workbook_that_nobody_asked_for_is_left_out_where_it_cannot_be_written(safe, tmp_path, monkeypatch):
    assert "table.xlsx" in release(safe[2], tmp_path / "with").files
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    done = release(safe[2], tmp_path / "without")
    assert {"table.csv", "table.parquet"} < set(done.files) and "table.xlsx" not in done.files
    assert done.skipped == {"xlsx": "it needs the extra excel (pip install 'cellveil[excel]')"}


def test_too_many_rows_for_excel_are_said(safe, tmp_path, monkeypatch):
    monkeypatch.setattr("cellveil.publishing.excel.MAX_ROWS", 20)
    done = release(safe[2], tmp_path / "out")
    assert "xlsx" in done.skipped and "table.xlsx" not in done.files


def test_what_was_audited_cannot_be_changed_afterwards(safe):
    verdict = safe[2]
    report = verdict.outsider
    arrays = [report.safe, report.lower, report.cells, verdict.view.hidden, verdict.view.published]
    arrays += [verdict.pattern.status, verdict.pattern.hidden, verdict.problem.upl]
    arrays += [verdict.certificate.cells, verdict.certificate.numerators, verdict.verification.protected]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    good = cv.adjust(safe[0]).audit
    for array in (good.adjusted.pinned, good.adjusted.sensitive, good.view.published):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
