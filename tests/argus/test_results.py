"""Result files: every kind, its options, and what may leave the office."""

import csv
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cellveil as cv
from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.intermediate import write_intermediate
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.result_files import OPTIONS, ResultKind, ResultOptions, is_public, write_result
from cellveil.argus.table_spec import TableSpec
from cellveil.errors import InputError
from cellveil.pattern import Pattern
from cellveil.problem import Status

REGION = CodeTree.of_nodes(
    [IndentedCode(*line) for line in [(0, "N"), (1, "n1"), (1, "n2"), (0, "S"), (1, "s1")]]
)
SIZE = CodeTree.flat([" 1", "10"], "all", ("??",))
SPANNING = frozenset({VariableRole.SPANNING})


def metadata(decimals: int = 1) -> Metadata:
    return Metadata(
        DataKind.MICRODATA,
        (
            ArgusVariable("region", SPANNING, length=2, hierarchy_file="r.hrc"),
            ArgusVariable("size", SPANNING, length=2, missing=("??",), total_code="all"),
            ArgusVariable("v", frozenset({VariableRole.RESPONSE}), length=5, decimals=decimals),
        ),
        ";",
    )


@pytest.fixture
def table() -> ArgusTable:
    rows = {
        "region": ["n1", "n1", "n1", "n2", "n2", "n2", "n2", "s1", "s1"],
        "size": [" 1", " 1", "10", " 1", " 1", "10", "10", " 1", "10"],
        "v": ["90.5", "3", "20", "40", "30", "25", "5", "50", "0"],
    }
    made = cv.tabulate(pa.table(rows), [REGION.dimension("region"), SIZE.dimension("size")], "v", decimals=1)
    problem = cv.make_problem(made, cv.PPercent(10))
    return ArgusTable.of(
        problem, metadata(), TableSpec(("region", "size"), "v"), {"region": REGION, "size": SIZE}
    )


def pattern_of(table: ArgusTable, *extra: tuple[str, str]) -> Pattern:
    hidden = table.problem.status == Status.PRIMARY
    for codes in extra:
        hidden[table.find(codes)] = True
    return Pattern.hiding(table.problem, hidden, "by hand")


def written(table: ArgusTable, kind: ResultKind, tmp_path: Path, pattern=None, options: str = "QU+") -> str:
    path = tmp_path / "result.txt"
    write_result(table, kind, path, pattern=pattern, options=ResultOptions.parse(options))
    return path.read_text()


def test_csv_matrix(table, tmp_path):
    text = written(table, ResultKind.CSV, tmp_path, pattern_of(table, ("N", "10")))
    assert text == (
        ',"all"," 1","10","??"\n'
        '"Total",263.5,213.5,50.0,-\n'
        '"N",213.5,163.5,x,-\n'
        '"n1",x,x,x,-\n'
        '"n2",100.0,x,x,-\n'
        '"S",x,x,0.0,-\n'
        '"s1",x,x,0.0,-\n'
        "\n"
    )


def test_csv_has_a_matrix_for_each_layer(tmp_path):
    tree = CodeTree.flat(["a"], "T")
    names = ("x", "y", "z")
    rows = pa.table({name: ["a"] for name in names} | {"v": [3]})
    made = cv.tabulate(rows, [tree.dimension(name) for name in names], "v")
    spanning = [ArgusVariable(name, SPANNING, length=1, total_code="T") for name in names]
    response = ArgusVariable("v", frozenset({VariableRole.RESPONSE}), length=5)
    described = Metadata(DataKind.MICRODATA, (*spanning, response), ";")
    cube = ArgusTable.of(
        cv.make_problem(made, None), described, TableSpec(names, "v"), dict.fromkeys(names, tree)
    )
    text = written(cube, ResultKind.CSV, tmp_path)
    assert text == 'Var 1,"T"\n,"T","a"\n"T",3,3\n"a",3,3\n\nVar 1,"a"\n,"T","a"\n"T",3,3\n"a",3,3\n\n'
    problem = cv.make_problem(cv.tabulate(rows, [tree.dimension("x")], "v"), None)
    line = ArgusTable.of(problem, described, TableSpec(("x",), "v"), {"x": tree})
    assert written(line, ResultKind.CSV, tmp_path) == ',"T","a"\n,3,3\n\n'


def test_code_value_and_pivot(table, tmp_path):
    pattern = pattern_of(table, ("N", "10"))
    text = written(table, ResultKind.CODE_VALUE, tmp_path, pattern)
    assert text.splitlines()[:5] == [
        '"Total","all",263.5',
        '"Total"," 1",213.5',
        '"Total","10",50.0',
        '"Total","??",-',
        '"N","all",213.5',
    ]
    pivot = written(table, ResultKind.PIVOT, tmp_path, pattern, "AS+SE+QU-").splitlines()
    assert pivot[0] == "region,size,v,Status" and pivot[5] == "N, 1,163.5,1" and pivot[6] == "N,10,50.0,11"
    assert not any(line.endswith(",14") for line in pivot)
    header = written(table, ResultKind.CODE_VALUE, tmp_path, pattern, "FL+QU+AS+").splitlines()[0]
    assert header == '"region","size","v","Status"'


def test_sbs(table, tmp_path):
    lines = written(table, ResultKind.SBS, tmp_path, pattern_of(table, ("N", "10")), "HL+QU+").splitlines()
    assert lines[0] == '"Total",0,"all",0,263.5,9,V'
    assert '"N",1,"10",0,50.0,3,D' in lines
    assert '"n1",2," 1",0,93.5,2,F,96.8,3.2' in lines


def test_sbs_tells_one_from_two_dominating():
    """The flag is that of the rule that marks the cell, also where several rules are applied."""
    rows = pa.table(
        {"region": ["n1"] * 3 + ["n2"] * 3, "size": [" 1"] * 6, "v": ["90", "3", "3", "40", "40", "10"]}
    )
    made = cv.tabulate(rows, [REGION.dimension("region"), SIZE.dimension("size")], "v")
    problem = cv.make_problem(made, cv.Dominance(1, 80) | cv.Dominance(2, 85))
    table = ArgusTable.of(
        problem, metadata(0), TableSpec(("region", "size"), "v"), {"region": REGION, "size": SIZE}
    )
    with TemporaryDirectory() as folder:
        lines = written(table, ResultKind.SBS, Path(folder), None, "QU-").splitlines()
    assert "n2, 1,90,3,C,88.9" in lines


def test_jj_has_every_combination(table, tmp_path):
    pattern = pattern_of(table)
    path = tmp_path / "out.jj"
    for options, codes in (("TR-", 6), ("TR+", 5)):
        write_result(table, ResultKind.JJ, path, pattern=pattern, options=ResultOptions.parse(options))
        read = cv.read_instance(path)
        assert read.table.num_cells == codes * 4
        assert (read.status == Status.FROZEN).sum() >= codes  # the cells of the missing code
        primaries = read.table.floats()[read.primaries].tolist()
        once = table.problem.table.floats()[table.problem.primaries].tolist()
        assert sorted(set(primaries)) == sorted(set(once))


def test_adjusted_values_are_shown_everywhere(table, tmp_path):
    adjusted = table.problem.table.values + 10
    path = tmp_path / "r.txt"
    write_result(
        table, ResultKind.PIVOT, path, adjusted=adjusted, options=ResultOptions(status=True, quotes=False)
    )
    assert path.read_text().splitlines()[:2] == ["region,size,v_CTA,v_Orig,Status", "Total,all,264.5,263.5,1"]
    write_result(table, ResultKind.CODE_VALUE, path, adjusted=adjusted)
    assert "x" not in {line.rsplit(",", 1)[1] for line in path.read_text().splitlines()}
    with pytest.raises(InputError, match="adjusted values cannot be written"):
        write_result(table, ResultKind.JJ, path, adjusted=adjusted)


def test_a_pattern_without_its_cells_hides_only_the_unsafe_ones(table, tmp_path):
    text = written(table, ResultKind.CODE_VALUE, tmp_path)
    unsafe = table.problem.status == Status.PRIMARY
    shown = sum(unsafe[cell] for _, cell in table.rows() if cell >= 0)
    assert sum(line.endswith(",x") for line in text.splitlines()) == shown > 0


def test_frequency_tables_have_their_own_name(tmp_path):
    rows = pa.table({"region": ["n1", "n2", "s1"], "size": [" 1"] * 3})
    made = cv.tabulate(rows, [REGION.dimension("region"), SIZE.dimension("size")])
    trees = {"region": REGION, "size": SIZE}
    table = ArgusTable.of(cv.make_problem(made, None), metadata(), TableSpec(("region", "size")), trees)
    assert written(table, ResultKind.PIVOT, tmp_path).startswith('"region","size","Freq"\n"Total","all",3\n')
    write_intermediate(table, tmp_path / "f.tab")
    assert (tmp_path / "f.tab").read_text().splitlines()[0] == '"Total";"all";3;3;S;0;0'


def test_feasibility_intervals_are_written_where_they_are_known(table, tmp_path):
    cell = table.find(["n1", " 1"])
    write_intermediate(table, tmp_path / "a.tab", audit={cell: (80.5, 110.0)})
    line = next(
        line for line in (tmp_path / "a.tab").read_text().splitlines() if line.startswith('"n1";" 1"')
    )
    assert line.endswith(";80.500;110.000;29.500;13.904;17.647;31.551")
    with pytest.raises(InputError, match="no feasibility intervals"):
        write_result(table, ResultKind.INTERMEDIATE, tmp_path / "b.tab", options=ResultOptions.parse("AR+"))


def test_what_cannot_be_carried_is_refused(tmp_path):
    tree = CodeTree.flat(["a,b"])
    made = cv.tabulate(pa.table({"region": ["a,b"], "v": [1]}), [tree.dimension("region")], "v")
    table = ArgusTable.of(
        cv.make_problem(made, None), metadata(), TableSpec(("region",), "v"), {"region": tree}
    )
    with pytest.raises(InputError, match="holds a comma, quote or line end"):
        written(table, ResultKind.CODE_VALUE, tmp_path, None, "QU-")
    with pytest.raises(InputError, match="knows no holdings"):
        write_intermediate(table, tmp_path / "x.tab", holding=True)
    assert not list(tmp_path.iterdir())


options = st.builds(ResultOptions, **dict.fromkeys(OPTIONS.values(), st.booleans()))


@given(options)
def test_options_are_read_as_they_are_written(given_options):
    assert ResultOptions.parse(given_options.text()) == given_options


@pytest.mark.parametrize(
    ("text", "message"),
    [("XX+", "unknown option 'XX'"), ("AS", "the option AS has no sign"), ("A", "unknown option 'A'")],
)
def test_wrong_options(text, message):
    with pytest.raises(InputError, match=message):
        ResultOptions.parse(text)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(0, 99), min_size=6, max_size=6), st.sampled_from(ResultKind), options, st.data())
def test_public_files_show_no_hidden_value_and_one_mark(values, kind, given_options, data):
    """A public file is the same whatever the hidden values are, and whichever of them are primary."""
    frame = pa.table({"region": ["n1", "n1", "n2", "n2", "s1", "s1"], "size": [" 1", "10"] * 3, "v": values})
    made = cv.tabulate(frame, [REGION.dimension("region"), SIZE.dimension("size")], "v")
    problem = cv.make_problem(made, cv.Threshold(2))
    trees = {"region": REGION, "size": SIZE}
    table = ArgusTable.of(problem, metadata(0), TableSpec(("region", "size"), "v"), trees)
    pattern = Pattern.hiding(problem, np.ones(made.num_cells, dtype=bool), "all")
    if not is_public(kind, given_options):
        return
    with TemporaryDirectory() as folder:
        write_result(
            table, kind, Path(folder) / "x", pattern=pattern, options=given_options.__class__(quotes=True)
        )
        rows = list(csv.reader(io.StringIO((Path(folder) / "x").read_text())))
    fields = {field for row in rows for field in row}
    known = {code.text for axis in (0, 1) for code in table.codes(axis)} | {
        "region",
        "size",
        "v",
        "",
        "x",
        "-",
    }
    assert fields <= known


def test_only_files_without_status_are_public():
    plain, status = ResultOptions(), ResultOptions(status=True)
    assert is_public(ResultKind.CSV, status) and is_public(ResultKind.PIVOT, plain)
    assert not is_public(ResultKind.PIVOT, status) and not is_public(ResultKind.CODE_VALUE, status)
    for kind in (ResultKind.SBS, ResultKind.INTERMEDIATE, ResultKind.JJ):
        assert not is_public(kind, plain)


def test_letters_of_statuses():
    assert [status.letter for status in CellStatus] == list("SSUUUUUUUPMMEE")
