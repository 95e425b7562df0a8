"""Records and cells of text files: every layout gives the same table, and tables come back as they were."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cellveil as cv
from cellveil.argus.argus_table import ArgusTable, missing_cells
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.hrc import write_hrc
from cellveil.argus.intermediate import write_intermediate
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.rda import read_rda, write_rda
from cellveil.argus.recoded_cells import recode_cells
from cellveil.argus.recoding import CodeRange, JoinedCodes, Recoding
from cellveil.argus.records_file import read_records, write_records
from cellveil.argus.result_files import ResultKind, write_result
from cellveil.argus.tab import read_tab
from cellveil.argus.table_spec import CostKind, TableSpec
from cellveil.errors import InputError
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.tables.table import Table
from helpers.examples import examples

quick = examples(9, of=25)
R = VariableRole

# -- records -------------------------------------------------------------------------------------------------

REGIONS = CodeTree.of_nodes(
    [IndentedCode(*line) for line in [(0, "N"), (1, "n1"), (1, "n2"), (0, "S"), (1, "s1")]]
)
SIZES = ("1", "9", "10", "X")

records = st.lists(
    st.tuples(
        st.sampled_from(["n1", "n2", "s1", "zz"]),
        st.sampled_from(SIZES),
        st.integers(-5, 999),
        st.integers(1, 30),
        st.sampled_from("ab"),
        st.sampled_from("012"),
    ),
    min_size=1,
    max_size=12,
)


def described(separator: str | None) -> Metadata:
    widths = {"region": 3, "size": 2, "value": 7, "weight": 4, "group": 2, "ask": 1}
    start, variables = 1, []
    further = {
        "region": {"roles": {R.SPANNING}, "hierarchy_file": "r.hrc", "lead": "@", "missing": ("zz",)},
        "size": {"roles": {R.SPANNING}, "missing": ("X",), "total_code": "all"},
        "value": {"roles": {R.RESPONSE}, "decimals": 1},
        "weight": {"roles": {R.WEIGHT}},
        "group": {"roles": {R.HOLDING}},
        "ask": {"roles": {R.REQUEST}, "request_codes": ("1",)},
    }
    for name, width in widths.items():
        fields = further[name]
        place = {"length": width, "start": start if separator is None else None}
        variables.append(ArgusVariable(name, **fields | {"roles": frozenset(fields["roles"])} | place))
        start += width + 1
    return Metadata(DataKind.MICRODATA, tuple(variables), separator)


def lines_of(rows, separator: str | None, align: str) -> str:
    lines = []
    for region, size, value, weight, group, ask in rows:
        fields = [region, size, f"{value / 10:.1f}".replace(".", ","), f"{weight / 10:.1f}", group, ask]
        if separator is not None:
            lines.append(separator.join(fields))
        else:
            padded = zip(fields, (3, 2, 7, 4, 2, 1), strict=True)
            lines.append(" ".join(f"{field:{align}{width}}" for field, width in padded))
    return "\r\n".join(lines)


def expected_table(rows, weighted: bool) -> Table:
    frame = pa.table(
        {
            "region": [row[0] for row in rows],
            "size": [row[1].rjust(2) for row in rows],
            "value": [f"{row[2] / 10:.1f}" for row in rows],
            "weight": [f"{row[3] / 10:.1f}" for row in rows],
            "group": [row[4] for row in rows],
            "ask": [row[5] for row in rows],
        }
    )
    region = cv.Dimension.of(
        "region", cv.Hierarchy.from_dict({"Total": {"N": ["n1", "n2"], "S": ["s1"], " zz": []}})
    )
    sizes = sorted({row[1].rjust(2) for row in rows} - {" X"})
    size = cv.Dimension.of("size", cv.Hierarchy.flat([*sizes, " X"], "all"))
    frame = frame.set_column(0, "region", pa.array([" zz" if row[0] == "zz" else row[0] for row in rows]))
    weight = {"weight": "weight"} if weighted else {}
    decimals = 1 + (1 if weighted and any(row[3] % 10 for row in rows) else 0)
    return cv.tabulate(
        frame, [region, size], "value", holding="group", request="ask", request_codes=("1", "\x00"),
        allow_negative=True, decimals=decimals, **weight,
    )  # fmt: skip


@quick
@given(records, st.sampled_from([None, ";", "|"]), st.sampled_from("<>"), st.booleans())
def test_every_layout_gives_the_table_of_the_records(rows, separator, align, weighted):
    with TemporaryDirectory() as folder:
        write_hrc(REGIONS, Path(folder) / "r.hrc")
        path = Path(folder) / "data.asc"
        path.write_text(lines_of(rows, separator, align), encoding="utf-8", newline="")
        table = read_records(path, described(separator)).table(
            TableSpec(("region", "size"), "value"), weighted=weighted
        )
    wanted = expected_table(rows, weighted)
    assert [d.codes for d in table.dimensions] == [d.codes for d in wanted.dimensions]
    assert table.values.tolist() == wanted.values.tolist() and table.decimals == wanted.decimals
    for ours, theirs in ((table.units, wanted.units), (table.holdings, wanted.holdings)):
        assert ours is not None and theirs is not None and ours.requests is not None
        assert np.array_equal(ours.top, theirs.top) and np.array_equal(ours.count, theirs.count)
        assert np.array_equal(ours.requests, theirs.requests)


def test_tables_of_frequencies(tmp_path):
    write_hrc(REGIONS, tmp_path / "r.hrc")
    rows = [("n1", "1", 5, 10, "a", "0"), ("n1", "1", 7, 25, "a", "0"), ("s1", "9", 1, 10, "b", "1")]
    (tmp_path / "data.asc").write_text(lines_of(rows, ";", ">"))
    found = read_records(tmp_path / "data.asc", described(";"))
    table = found.table(TableSpec(("region", "size")))
    assert table.values[table.cell()] == 3 and table.variable == "count"
    assert found.table(TableSpec(("region",)), weighted=True).floats()[0] == 4.5


def test_further_fields_are_named(tmp_path):
    write_hrc(REGIONS, tmp_path / "r.hrc")
    (tmp_path / "data.asc").write_text("n1;1;5;1;a;0;more;and more\n")
    found = read_records(tmp_path / "data.asc", described(";"))
    assert found.notes == ("1 line has more fields than there are variables; the rest is not read",)


def test_a_code_in_several_branches_is_written_by_its_path(tmp_path):
    (tmp_path / "r.hrc").write_text("N\n@1\n@2\nS\n@1\n@3\n")
    (tmp_path / "data.asc").write_text("N/1;1;5;1;a;0\nS/1;1;7;1;a;0\n2;1;1;1;a;0\n3;1;1;1;a;0\n")
    table = read_records(tmp_path / "data.asc", described(";")).table(TableSpec(("region",), "value"))
    assert table.floats()[[table.cell("N/1"), table.cell("S/1")]].tolist() == [5.0, 7.0]
    (tmp_path / "data.asc").write_text("2;1;5;1;a;0\n1;1;7;1;a;0\n")
    with pytest.raises(
        InputError, match=r"data\.asc, line 2: the code of 'region' stands in several branches: N/1, S/1"
    ):
        read_records(tmp_path / "data.asc", described(";")).table(TableSpec(("region",), "value"))


# -- cells ---------------------------------------------------------------------------------------------------


@st.composite
def argus_tables(draw) -> tuple[ArgusTable, Pattern]:
    """Small tables with contributions, some unsafe cells, and a pattern."""
    region = draw(
        st.sampled_from(
            [
                [(0, "N"), (1, "n1"), (1, "n2"), (0, "S"), (1, "s1")],
                [(0, "A"), (1, "A"), (2, "a1"), (2, "a2"), (0, " 7")],
                [(0, "A"), (1, "x"), (1, "y"), (0, "B"), (1, "x"), (1, "z")],
            ]
        )
    )
    trees = {
        "region": CodeTree.of_nodes([IndentedCode(*line) for line in region], "T", ("??",)),
        "size": CodeTree.flat([" 1", "10", "a;b"], "all"),
    }
    leaves = [
        (one, other)
        for one in trees["region"].hierarchy.leaves
        for other in trees["size"].hierarchy.leaves
        if draw(st.integers(0, 3))
    ] or [(trees["region"].hierarchy.leaves[0], " 1")]
    rows = [
        (one, other, draw(st.integers(0, 999)), number)
        for number, (one, other) in enumerate(leaves)
        for _ in range(draw(st.integers(1, 3)))
    ]
    dimensions = [trees[name].dimension(name) for name in ("region", "size")]
    columns = [*zip(*rows, strict=True)]
    frame = pa.table(dict(zip(("region", "size", "value", "x"), map(list, columns), strict=True)))
    table = cv.tabulate(frame, dimensions, "value", decimals=draw(st.integers(0, 2)), depth=2)
    problem = cv.make_problem(
        table, cv.PPercent(20) | cv.Threshold(2), weight=draw(st.sampled_from(["value", "log"]))
    )
    spanning = [
        ArgusVariable("region", frozenset({R.SPANNING}), hierarchy_file="x", missing=("??",), total_code="T"),
        ArgusVariable("size", frozenset({R.SPANNING}), total_code="all"),
        ArgusVariable("value", frozenset({R.RESPONSE}), decimals=table.decimals),
    ]
    metadata = Metadata(DataKind.TABLE, tuple(spanning), ";")
    made = ArgusTable.of(problem, metadata, TableSpec(("region", "size"), "value"), trees)
    hidden = (problem.status == Status.PRIMARY) | (
        np.array([draw(st.booleans()) for _ in range(table.num_cells)]) & (problem.status == Status.SAFE)
    )
    return made, Pattern.hiding(problem, hidden, "drawn")


@quick
@given(argus_tables(), st.booleans(), st.booleans())
def test_intermediate_tables_come_back(drawn, drop_empty, simple):
    table, pattern = drawn
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out.tab"
        write_intermediate(table, path, pattern=pattern, drop_empty=drop_empty, simple=simple)
        read = read_tab(path, read_rda(path.with_suffix(".rda"), DataKind.TABLE)).read()
    old, new = table.problem, read.problem
    cells = new.table.find(_keys_in(new.table, old.table))
    assert (cells >= 0).all() and new.table.num_cells == old.table.num_cells
    for name in ("status", "lpl", "upl"):
        column = pattern.status if name == "status" else getattr(old, name)
        expected = np.where((old.table.values == 0) & (column == Status.SAFE), Status.FROZEN, column)
        assert np.array_equal(getattr(new, name)[cells], expected if name == "status" else column)
    assert new.table.values[cells].tolist() == old.table.values.tolist()
    assert new.weight[cells].tolist() == old.weight.tolist()
    assert new.table.contributors is not None and old.table.units is not None
    assert new.table.contributors[cells].tolist() == old.table.units.count.tolist()
    letters = [CellStatus(int(number)).letter for number in table.statuses(pattern)]
    assert [CellStatus(int(number)).letter for number in read.numbers[cells]] == letters
    if not simple:
        assert new.table.units is not None
        scale = 10 ** (old.table.units.decimals - new.table.units.decimals)
        assert np.array_equal(new.table.units.top[cells] * scale, old.table.units.top)


def _keys_in(new: Table, old: Table) -> list[np.ndarray]:
    return [
        np.array([mine.index[code] for code in theirs.codes], dtype=np.int32)[column]
        for mine, theirs, column in zip(new.dimensions, old.dimensions, old.keys, strict=True)
    ]


@quick
@given(argus_tables())
def test_computed_totals_have_the_contributions_of_their_cells(drawn):
    table, _ = drawn
    with TemporaryDirectory() as folder:
        path = Path(folder) / "out.tab"
        write_intermediate(table, path)
        interior = [
            line for line in path.read_text().splitlines() if '"T"' not in line and '"all"' not in line
        ]
        path.write_text("\n".join(interior))
        cells = read_tab(path, read_rda(path.with_suffix(".rda"), DataKind.TABLE))
        if cells.empty.all():
            return
        read = cells.table(totals="compute")
    old = table.problem.table
    found = read.find(_keys_in(read, old))
    assert read.values[found].tolist() == old.values.tolist()
    assert read.units is not None and old.units is not None
    assert np.array_equal(read.units.top[found] * 10 ** (old.decimals - read.units.decimals), old.units.top)
    assert np.array_equal(read.units.count[found], old.units.count)


RDA = """<SEPARATOR> ";"
R
  <RECODEABLE>
  <TOTCODE> "T"
V
  <NUMERIC>
N
  <FREQUENCY>
S
  <STATUS>
L
  <NUMERIC> <LOWERPL>
U
  <NUMERIC> <UPPERPL>
"""


def lay(tmp_path: Path, cells: str, rda: str = RDA):
    (tmp_path / "t.rda").write_text(rda)
    (tmp_path / "t.tab").write_text(cells)
    return read_tab(tmp_path / "t.tab", read_rda(tmp_path / "t.rda", DataKind.TABLE))


def test_levels_of_unsafe_cells_default_to_the_safety_range(tmp_path):
    cells = lay(
        tmp_path, "T;30;9;S;1;1\na;10;2;U;;\nb;20;3;p;;\nc;-;;;;\n;30;9;s;;\n".replace("\n;30;9;s;;", "")
    )
    table = cells.read(safety_range=25)
    problem = table.problem
    assert problem.upl.tolist() == problem.lpl.tolist() == [0, 3, 0]
    assert problem.status.tolist() == [Status.SAFE, Status.PRIMARY, Status.FROZEN]
    assert table.problem.table.contributors is not None
    assert table.problem.table.contributors.tolist() == [9, 2, 3]


def test_an_empty_code_is_the_total(tmp_path):
    assert lay(tmp_path, ";30;9;S;;\na;10;2;S;;\nb;20;7;S;;\n").table().values.tolist() == [30, 10, 20]


def test_statuses_in_any_case_and_marked_otherwise(tmp_path):
    rda = RDA.replace('";"', '";"\n<SAFE> "ok"\n<UNSAFE> "x"\n<PROTECT> "z"', 1)
    table = lay(tmp_path, "T;30;9;OK;;\na;10;2;X;;\nb;15;3;m;;\nc;5;4;z;;\n", rda).read()
    assert table.numbers.tolist() == [
        CellStatus.SAFE_MANUAL, CellStatus.UNSAFE_MANUAL, CellStatus.SECONDARY, CellStatus.PROTECTED,
    ]  # fmt: skip


def test_recoding_to_a_level():
    tree = CodeTree.of_nodes([IndentedCode(*line) for line in [(0, "N"), (1, "n1"), (2, "n11"), (1, "n2")]])
    variable = ArgusVariable("r", frozenset({R.SPANNING}), hierarchy_file="x")
    coarse, goal = Recoding.to_level(tree, 2).apply(tree, variable)
    assert coarse.hierarchy.codes == ("Total", "N", "n1", "n2") and goal["n11"] == goal["n1"] == "n1"
    with pytest.raises(InputError, match="has no level 4"):
        Recoding.to_level(tree, 4)


PLAIN = """<SEPARATOR> ";"
R "99"
  <RECODEABLE>
  <TOTCODE> "T"
Q
  <RECODEABLE>
  <TOTCODE> "T"
  <HIERARCHICAL>
  <HIERCODELIST> "q.hrc"
  <HIERLEADSTRING> "@"
V
  <NUMERIC>
N
  <FREQUENCY>
M1
  <MAXSCORE>
M2
  <MAXSCORE>
"""


def plain_cells(tmp_path: Path, further: str = "", status: str = ""):
    (tmp_path / "q.hrc").write_text("x\n@x1\n@x2\ny\n")
    leaves = {
        ("a", "x1"): [9, 1],
        ("a", "x2"): [5],
        ("b", "x1"): [7, 2, 1],
        ("b", "y"): [4],
        ("99", "y"): [2],
    }
    lines = []
    for one in ("T", "a", "b", "99"):
        for other, below in (
            ("T", ("x1", "x2", "y")),
            ("x", ("x1", "x2")),
            ("x1",) * 2,
            ("x2",) * 2,
            ("y",) * 2,
        ):
            below = (below,) if isinstance(below, str) else below
            amounts = sorted(
                (n for (r, q), ns in leaves.items() if one in ("T", r) and q in below for n in ns),
                reverse=True,
            )
            top = [*amounts, 0, 0]
            lines.append(f"{one};{other};{sum(amounts)};{len(amounts)};{top[0]};{top[1]}{status}")
    return lay(tmp_path, "\n".join(lines), PLAIN + further)


def test_folding_a_table_drops_what_is_below(tmp_path):
    cells = recode_cells(plain_cells(tmp_path), {"q": Recoding(folded=("x",))})
    table, whole = cells.table(), plain_cells(tmp_path).table()
    assert table.dimensions[1].codes == ("T", "x", "y")
    assert table.values[table.cell("a", "x")] == whole.values[whole.cell("a", "x")] == 15


def test_joining_codes_of_a_table_adds_up_and_merges_contributions(tmp_path):
    joined = Recoding((JoinedCodes("ab", (CodeRange("a", "b"),)),))
    table = recode_cells(plain_cells(tmp_path), {"R": joined}).table()
    cell = table.cell("ab", "x1")
    assert table.dimensions[0].codes == ("T", "ab", "99") and table.values[cell] == 20
    assert (
        table.units is not None and table.units.top[cell].tolist() == [9, 7] and table.units.count[cell] == 5
    )
    with pytest.raises(InputError, match="the statuses of joined cells are not known"):
        recode_cells(plain_cells(tmp_path, "S\n <STATUS>\n", ";S"), {"R": joined})


@quick
@given(records)
def test_records_are_written_in_both_layouts(rows):
    texts = [[str(field) for field in row] for row in rows]
    columns = dict(
        zip(("region", "size", "value", "weight", "group", "ask"), zip(*texts, strict=True), strict=True)
    )
    with TemporaryDirectory() as folder:
        for separator in (None, ";"):
            path, metadata = Path(folder) / "data.asc", described(separator)
            write_records(columns, metadata, path)
            write_rda(metadata, path.with_suffix(".rda"))
            read = read_records(path, read_rda(path.with_suffix(".rda"), DataKind.MICRODATA))
            assert {v.name: tuple(read.texts(v)) for v in metadata.variables} == columns


def test_records_that_do_not_fit_are_refused(tmp_path):
    columns = {name: ["x"] for name in ("region", "size", "value", "weight", "group", "ask")}
    for separator, text in ((None, "too long"), (";", "a;b")):
        with pytest.raises(InputError, match="a text "):
            write_records(columns | {"region": [text]}, described(separator), tmp_path / "x.asc")


def test_any_problem_can_be_written(tmp_path):
    data = cv.business(200)
    table = cv.tabulate(data.frame, data.dimensions[::2], "turnover", contributor="firm")
    problem = cv.make_problem(table, cv.PPercent(10))
    assert write_intermediate(ArgusTable.of_problem(problem), tmp_path / "out.tab") == ()
    again = read_tab(tmp_path / "out.tab", read_rda(tmp_path / "out.rda", DataKind.TABLE)).read().problem
    assert again.table.values.tolist() == table.values.tolist() and again.lpl.tolist() == problem.lpl.tolist()
    two = cv.Dimension.of("r", cv.Hierarchy.flat("abc"), cv.Hierarchy("ab", {"ab": ("a", "b")}))
    made = cv.tabulate(pa.table({"r": ["a", "b", "c"], "v": [1, 2, 3]}), [two], "v")
    with pytest.raises(
        InputError, match="cannot carry the table: dimension 'r' has not exactly one hierarchy"
    ):
        ArgusTable.of_problem(cv.make_problem(made, None))


def test_digits_of_codes_are_levels_in_tables_too(tmp_path):
    rda = RDA.replace("<RECODEABLE>", "<RECODEABLE>\n<HIERLEVELS> 1 1")
    text = "T;60;9;S;;\n1;30;4;S;;\n11;10;2;U;2;2\n12;20;2;S;;\n2;30;5;S;;\n21;30;5;S;;\n"
    table = lay(tmp_path, text, rda).read()
    assert table.problem.table.dimensions[0].codes == ("T", "1", "11", "12", "2")
    assert [code.text for code in table.codes(0)] == ["T", "1", "11", "12", "2", "21"]


def test_digits_that_do_not_fit_are_refused(tmp_path):
    for codes in (["11", "111"], ["1", "11"]):
        with pytest.raises(InputError, match=r"a code has 3 characters|both a leaf and the total"):
            CodeTree.of_digits(codes, [1, 1])


def test_blanks_within_a_keyword_do_not_count(tmp_path):
    found = lay(tmp_path, ";30;9;S;;\na;10;2;S;;\nb;20;7;S;;\n", RDA.replace("<STATUS>", "<\tSTATUS>"))
    assert found.has_status


def test_what_cells_cannot_carry_is_named(tmp_path):
    write_hrc(REGIONS, tmp_path / "r.hrc")
    rows = [("n1", "1", 5, 10, "a", "0"), ("n1", "1", 7, 25, "a", "1"), ("s1", "9", 1, 10, "b", "1")]
    (tmp_path / "data.asc").write_text(lines_of(rows, ";", ">"))
    found = read_records(tmp_path / "data.asc", described(";"))
    spec = TableSpec(("region", "size"), "value")
    table = found.table(spec, weighted=True)
    problem = cv.make_problem(table, cv.Threshold(2), bounds="tau-argus", spl=1)
    made = ArgusTable.of(problem, found.metadata, spec, found.trees)
    assert write_intermediate(made, tmp_path / "out.tab") == (
        "sliding protection levels are not in the file",
        "bounds that everybody knows are not in the file: who reads it takes values for at least 0",
        "sampling weights are not in the file: contributions are weighted parts of the value",
        "who asked for protection is not in the file",
    )


CLIENT = """\t<SEPARATOR> ,
\t<SAFE> S
\t<UNSAFE> U
region 1
\t<RECODABLE>
\t<TOTCODE> Total
\t<HIERARCHICAL>
\t<HIERCODELIST> {folder}/my files (1)/reg.hrc
\t<HIERLEADSTRING> @
year 20
\t<NUMERIC>
\t<RECODABLE>
\t<TOTCODE> Total
value 20
\t<NUMERIC>
\t<DECIMALS> 15
n 20
\t<NUMERIC>
\t<FREQUENCY>
status 1
\t<STATUS>
lo 20
\t<NUMERIC>
\t<LOWERPL>
"""


def test_metadata_as_clients_write_them(tmp_path):
    """Lengths where tables have missing codes, roles in lines of their own, names of files without quotes."""
    (tmp_path / "my files (1)").mkdir()
    (tmp_path / "my files (1)" / "reg.hrc").write_text("1\n2\n")
    text = ["Total,Total,6.5,6,S,", "Total,2020,6.5,6,S,", "1,Total,2.5,2,U,1", "1,2020,2.5,2,U,1"]
    cells = lay(
        tmp_path, "\n".join([*text, "2,Total,4,4,S,", "2,2020,4,4,S,"]), CLIENT.format(folder=tmp_path)
    )
    table = cells.read()
    assert table.response == "value" and table.problem.table.floats().tolist() == [6.5, 6.5, 2.5, 2.5, 4, 4]
    assert table.problem.table.dimensions[0].codes == ("Total", "1", "2")
    write_result(table, ResultKind.CODE_VALUE, tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().splitlines()[0] == '"Total","Total",6.500000000000000'


def test_cells_of_missing_codes_are_known(tmp_path):
    cells = plain_cells(tmp_path)
    made = cells.table()
    found = missing_cells(made, [cells.trees["R"], cells.trees["Q"]])
    assert {made.cell_name(int(cell)) for cell in found.nonzero()[0]} == {"(99, T)", "(99, y)"}


def test_amounts_with_the_noise_of_floats_can_be_rounded(tmp_path):
    write_hrc(REGIONS, tmp_path / "r.hrc")
    (tmp_path / "data.asc").write_text("n1;1;0.30000000000000004;1;a;0\nn1;1;1.1;1;a;0\n")
    found = read_records(tmp_path / "data.asc", described(";"))
    with pytest.raises(
        InputError, match=r"data\.asc, line 1: the amount in column 'value' has more decimals"
    ):
        found.table(TableSpec(("region",), "value"))
    table = found.table(TableSpec(("region",), "value"), decimals=2, rounding=True)
    assert table.floats()[0] == 1.4


def test_costs_are_those_that_the_table_names(tmp_path):
    rda = RDA + "C\n <NUMERIC> <COST>\nD\n <NUMERIC>\n"
    text = "T;30;9;S;;;;1\na;10;2;U;1;1;7;2\nb;20;7;S;;;;3\n"
    cells = lay(tmp_path, text, rda)
    kinds = {None: [30, 7, 20], "C": [30, 7, 20], "V": [30, 10, 20], CostKind.UNITY: [1, 1, 1]}
    kinds[CostKind.FREQUENCY] = [9, 2, 7]
    for cost, weight in kinds.items():
        table = cells.read(TableSpec(("R",), "V", cost=cost))
        assert table.problem.weight.tolist() == weight, cost
    assert cv.make_problem(cells.table(), cv.Threshold(3), column="C").weight.tolist() == [30, 7, 20]
    with pytest.raises(InputError, match="variable 'D' holds no costs"):
        cells.read(TableSpec(("R",), "V", cost="D"))
    table = cells.read(TableSpec(("R",), "V", cost=CostKind.DISTANCE))
    assert table.problem.weight.tolist() == [1, 0, 1]  # steps from the unsafe cell


def test_totals_without_a_status_are_named(tmp_path):
    table = lay(tmp_path, "a;10;2;U;1;1\nb;20;7;S;;\n").read(totals="compute")
    assert table.notes == ("1 computed totals have no status and are taken for safe",)
