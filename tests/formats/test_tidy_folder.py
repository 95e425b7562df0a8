"""Folders and patterns: what is written is read back equal, and every file means what it says."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.formats.adjusted_file import read_adjusted, write_adjusted
from cellveil.formats.instance import read_instance
from cellveil.formats.jj import read_jj, write_jj
from cellveil.formats.pattern_file import read_pattern, write_pattern
from cellveil.formats.tidy_folder import read_folder, write_folder
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status, defaults
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED

REGION = {"Total": {"N": ["N1", "N2"], "S": []}}


def put(folder: Path, name: str, *lines: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")


def small_folder(folder: Path) -> Path:
    put(folder, "hier_region.csv", "parent,child", "Total,N", "Total,S", "N,N1", "N,N2")
    put(
        folder, "cells.csv",
        "region,value,status,lpl,upl", "Total,10,s,,", "N,7,s,,", "N1,4,u,1,2", "N2,3,s,0,0", "S,3,s,,",
    )  # fmt: skip
    return folder


# -- what a folder says --------------------------------------------------------------------------------------


def test_reads_a_small_folder(tmp_path: Path) -> None:
    problem = read_folder(small_folder(tmp_path / "f"))
    table = problem.table
    assert table.values[table.cell("N1")] == 4
    assert (problem.lpl[table.cell("N1")], problem.upl[table.cell("N1")]) == (1, 2)
    assert [table.relation_name(row) for row in range(2)] == ["(Total) = (N) + (S)", "(N) = (N1) + (N2)"]
    assert problem.weight.tolist() == [10, 7, 4, 3, 3]
    assert set(problem.ub.tolist()) == {UNBOUNDED}


def test_decimals_are_those_written(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    text = (folder / "cells.csv").read_text()
    (folder / "cells.csv").write_text(text.replace("Total,10,", "Total,10.00,"))
    assert read_folder(folder).table.decimals == 2
    (folder / "cells.csv").write_text(text.replace("u,1,2", "u,1,2.125"))
    problem = read_folder(folder)
    assert (problem.table.decimals, problem.upl.max()) == (3, 2125)


def test_the_longest_dimension_name_owns_a_hierarchy(tmp_path: Path) -> None:
    put(tmp_path / "f", "hier_a.csv", "parent,child", "T,x", "T,y")
    put(tmp_path / "f", "hier_a_b.csv", "parent,child", "T,p", "T,q", "T,r")
    put(tmp_path / "f", "hier_a_b_pq.csv", "parent,child", "PQ,p", "PQ,q")
    interior = {("x", "p"): 1, ("x", "q"): 2, ("x", "r"): 3, ("y", "p"): 4, ("y", "q"): 5, ("y", "r"): 6}
    covers = {"x": "Tx", "y": "Ty", "p": ("T", "PQ", "p"), "q": ("T", "PQ", "q"), "r": ("T", "r")}
    sums: dict[tuple[str, str], int] = {}
    for (a, b), value in interior.items():
        for key in product(covers[a], covers[b]):
            sums[key] = sums.get(key, 0) + value
    put(tmp_path / "f", "cells.csv", "a,a_b,value,status", *(f"{a},{b},{v},s" for (a, b), v in sums.items()))
    table = read_folder(tmp_path / "f").table
    assert [len(dimension.hierarchies) for dimension in table.dimensions] == [1, 2]
    assert table.values[table.cell("T", "PQ")] == 12
    # per value of a: total and PQ; per value of a_b (5 codes with T and PQ): one
    assert len(table.relations) == 3 * 2 + 5


def test_a_hierarchy_of_no_dimension_is_an_error(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    put(folder, "hier_regoin.csv", "parent,child", "Total,N")
    with pytest.raises(InputError, match=r"hier_regoin\.csv.*belongs to none.*region"):
        read_folder(folder)


def test_a_forgotten_hierarchy_is_an_error(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    (folder / "hier_region.csv").unlink()
    with pytest.raises(InputError, match=r"hier_region\.csv.*no hierarchy"):
        read_folder(folder)


# -- two names of one cell -----------------------------------------------------------------------------------


def alias_folder(folder: Path, *rows: str) -> Path:
    put(folder, "hier_r.csv", "parent,child", "T,A", "T,B", "A,A1")
    put(folder, "cells.csv", "r,value,status,lpl,upl", *rows)
    return folder


def test_two_names_are_one_cell(tmp_path: Path) -> None:
    folder = alias_folder(tmp_path / "f", "T,7,s,,", "A,4,u,1,1", "A1,4,u,1,1", "B,3,s,,")
    problem = read_folder(folder)
    assert problem.table.num_cells == 3
    assert problem.table.cell("A1") == problem.table.cell("A")
    write_folder(problem, tmp_path / "g")
    assert read_folder(tmp_path / "g").content_hash == problem.content_hash


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("A1,5,u,1,1", "different values"),
        ("A1,4,s,0,0", "contradictory status"),
        ("A1,4,u,1,2", "contradictory upl"),
        ("A,4,u,1,1", "occurs twice"),
    ],
)
def test_names_of_one_cell_must_agree(row: str, what: str, tmp_path: Path) -> None:
    folder = alias_folder(tmp_path / "f", "T,7,s,,", "A,4,u,1,1", row, "B,3,s,,")
    with pytest.raises(InputError, match=rf"cells\.csv, line [34], .*{what}"):
        read_folder(folder)


# -- equations -----------------------------------------------------------------------------------------------


def test_equations_hold_for_every_free_code(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    put(folder, "hier_region.csv", "parent,child", "T,N", "T,S")
    cells = {
        ("T", "in"): 9,
        ("N", "in"): 5,
        ("S", "in"): 4,
        ("T", "out"): 6,
        ("N", "out"): 4,
        ("S", "out"): 2,
    }
    cells |= {("T", "net"): 3, ("N", "net"): 1, ("S", "net"): 2}
    put(folder, "cells.csv", "region,item,value,status", *(f"{r},{i},{v},s" for (r, i), v in cells.items()))
    put(
        folder, "equations.csv", "equation,item,region,coefficient,rhs",
        "balance,net,,-1,", "balance,in,,1,", "balance,out,,-1,",
        "again,out,N,1,", "again,net,N,1,0", "again,in,N,-1,", "fixed,net,S,2,4",
    )  # fmt: skip
    table = read_folder(folder).table
    # one along the regions for each item; one balance per region, of which "again" repeats one; fixed
    assert len(table.relations) == 3 + 3 + 1
    assert table.relations.rhs.tolist() == [0] * 6 + [4]
    assert table.relation_name(3) == "(T, net) + (T, out) = (T, in)"


def test_an_equation_that_fails_is_named(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    put(folder, "equations.csv", "equation,region,coefficient", "ok,N1,-1", "ok,S,1", "ok,S,0")
    with pytest.raises(InputError, match="line 4: the coefficient is 0"):
        read_folder(folder)
    put(
        folder,
        "equations.csv",
        "equation,region,coefficient,rhs",
        "ok,N,-1,",
        "ok,S,1,-4",
        "odd,N1,1,",
        "odd,S,-1,",
    )
    with pytest.raises(InputError, match=r"equations\.csv, line 4, cell \(N1\): the table does not add up"):
        read_folder(folder)


# -- contributions -------------------------------------------------------------------------------------------


def test_contributions_of_parts_count_as_one(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    put(
        folder, "contributions.csv", "region,contributor,amount,holding",
        "N1,a,3,H", "N1,b,1,H", "N2,a,2,H", "N2,c,1,c", "S,d,3,d",
    )  # fmt: skip
    table = read_folder(folder).table
    units, holdings = table.units, table.holdings
    assert units is not None and holdings is not None
    north, total = table.cell("N"), table.cell("Total")
    assert units.top[north, :4].tolist() == [5, 1, 1, 0]
    assert units.names[units.who[north, 0]] == "a"
    assert units.count[[north, total]].tolist() == [3, 4]
    assert holdings.top[total, :4].tolist() == [6, 3, 1, 0]
    assert table.contributors is not None and table.contributors.tolist() == units.count.tolist()


def test_contributions_must_match_the_value(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    put(folder, "contributions.csv", "region,contributor,amount", "N1,a,3")
    with pytest.raises(InputError, match=r"contributions\.csv, cell \(N1\): the contributions do not add up"):
        read_folder(folder)


# -- round trips ---------------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """A small table of one to three dimensions, one with two trees or a level of one child; odd codes."""
    shapes = [
        [Hierarchy.flat(["a,1", 'b"2', " c"], "all, in all")],
        [Hierarchy.from_dict({"T": {"A": ["A1", "A2"], "B": []}})],
        [Hierarchy.from_dict({"T": {"A": ["A1"], "B": ["B1", "B2"]}})],
        [Hierarchy.flat(["p", "q", "r"], "T"), Hierarchy.flat(["q", "p"], "PQ")],
        [Hierarchy("only", {})],
    ]
    chosen = draw(st.lists(st.sampled_from(shapes), min_size=1, max_size=3))
    dimensions = [Dimension.of(f"dim_{k}", *trees) for k, trees in enumerate(chosen)]
    leaves = [[c for i, c in enumerate(d.codes) if not d.is_parent[i]] for d in dimensions]
    keys = draw(st.lists(st.sampled_from(list(product(*leaves))), min_size=1, max_size=8, unique=True))
    decimals = draw(st.integers(0, 3))
    low = draw(st.sampled_from([0, 0, -(10**6)]))
    scaled = draw(st.lists(st.integers(low, 10**6), min_size=len(keys), max_size=len(keys)))
    codes = {d.name: [key[k] for key in keys] for k, d in enumerate(dimensions)}
    table = table_from_interior(dimensions, codes, np.array(scaled) / 10.0**decimals, decimals=decimals)

    fields = defaults(table)
    for cell in range(table.num_cells):
        fields["status"][cell] = status = draw(st.sampled_from(list(Status)))
        fields["weight"][cell] = draw(st.floats(0, 1e12))
        if status == Status.PRIMARY:
            for name in ("lpl", "upl", "spl"):
                fields[name][cell] = draw(st.integers(1, 10**6))
        if draw(st.booleans()):
            fields["lb"][cell] = table.values[cell] - draw(st.integers(0, 100))
            fields["ub"][cell] = table.values[cell] + draw(st.integers(0, 100))
    if draw(st.booleans()):
        counts = draw(st.lists(st.integers(-1, 9), min_size=table.num_cells, max_size=table.num_cells))
        table = table.replace(contributors=np.array(counts, dtype=np.int64))
    if draw(st.booleans()):  # a relation no hierarchy gives
        extra = Relations.from_rows(table.num_cells, [[(0, 7)]], [7 * int(table.values[0])])
        table = table.replace(relations=Relations.stack([table.relations, extra]))
    return Problem(table, **fields)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_nothing_is_lost_in_a_folder(tmp_path_factory: pytest.TempPathFactory, problem: Problem) -> None:
    folder = tmp_path_factory.mktemp("f") / "instance"
    write_folder(problem, folder)
    again = read_folder(folder)
    assert again.content_hash == problem.content_hash
    assert [d.codes for d in again.table.dimensions] == [d.codes for d in problem.table.dimensions]
    assert all((a == b).all() for a, b in zip(again.table.keys, problem.table.keys, strict=True))
    assert np.array_equal(again.table.contributors, problem.table.contributors)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(problems())
def test_nothing_but_structure_is_lost_in_a_jj_file(
    tmp_path_factory: pytest.TempPathFactory, problem: Problem
) -> None:
    path = tmp_path_factory.mktemp("j") / "x.jj"
    write_jj(problem, path)
    again = read_jj(path)
    factor = 10 ** (problem.table.decimals - again.table.decimals)  # a JJ file does not keep trailing zeros
    assert (again.table.values * factor == problem.table.values).all()
    assert (again.lpl * factor == problem.lpl).all() and (again.spl * factor == problem.spl).all()
    finite = problem.ub != UNBOUNDED
    assert (again.ub[finite] * factor == problem.ub[finite]).all() and (again.ub[~finite] == UNBOUNDED).all()
    assert (again.status == problem.status).all() and (again.weight == problem.weight).all()
    assert (again.table.relations.cells == problem.table.relations.cells).all()
    assert (again.table.relations.coefs == problem.table.relations.coefs).all()
    write_folder(again, path.with_suffix(""))
    assert read_instance(path.with_suffix("")).content_hash == again.content_hash


def test_a_new_instance_replaces_all_parts_of_the_old(tmp_path: Path) -> None:
    folder = small_folder(tmp_path / "f")
    problem = read_folder(folder)
    put(folder, "contributions.csv", "region,contributor,amount", "S,a,3")
    put(folder, "notes.txt", "kept")
    write_folder(problem, folder)
    assert sorted(file.name for file in folder.iterdir()) == ["cells.csv", "hier_region.csv", "notes.txt"]


def test_a_table_with_fewer_relations_than_its_hierarchies_imply_keeps_just_these(tmp_path: Path) -> None:
    problem = read_folder(small_folder(tmp_path / "f"))
    table = problem.table.replace(relations=problem.table.relations.take_rows(np.array([0])))
    problem = problem.replace(table=table)
    write_folder(problem, tmp_path / "g")
    assert len(read_folder(tmp_path / "g").table.relations) == 1
    assert read_folder(tmp_path / "g").content_hash == problem.content_hash


# -- patterns ------------------------------------------------------------------------------------------------


def test_pattern_round_trip(tmp_path: Path) -> None:
    problem = read_folder(small_folder(tmp_path / "f"))
    hidden = np.array([False, False, True, True, False])
    write_pattern(problem, Pattern.hiding(problem, hidden, "x"), tmp_path / "p.csv")
    rows = list(csv.reader((tmp_path / "p.csv").open()))
    assert rows[0] == ["region", "status"] and rows[3] == ["N1", "u"] and rows[4] == ["N2", "m"]
    assert (read_pattern(tmp_path / "p.csv", problem).hidden == hidden).all()


def test_patterns_of_others_are_taken_as_they_are(tmp_path: Path) -> None:
    problem = read_folder(small_folder(tmp_path / "f"))
    problem = problem.replace(status=np.array([0, 3, 1, 0, 0], dtype=np.int8))
    put(tmp_path, "p.csv", "region,status", "N1,s", "N, m")
    status = read_pattern(tmp_path / "p.csv", problem).status
    assert status.tolist() == [Status.SAFE, Status.SECONDARY, Status.SAFE, Status.SAFE, Status.SAFE]


def test_pattern_of_a_jj_file_has_a_column_cell(tmp_path: Path) -> None:
    put(tmp_path, "x.jj", "0", "2", "0 4 4 s 0 9 0 0 0", "1 4 4 u 0 9 1 1 0", "1", "0 2 : 0 (-1) 1 (1)")
    put(tmp_path, "p.csv", "cell,status", "0,m")
    assert read_pattern(tmp_path / "p.csv", read_jj(tmp_path / "x.jj")).hidden.tolist() == [True, True]


# -- names and texts that mean something to file systems and spreadsheets ------------------------------------

ODD = [
    ["../up", "/abs", "a/b", "a\\b", "C:x"],
    ["region", "region_2", "region_x2"],
    ["Region", "region", "REGION", "Region_2"],
    ["CON", "nul", "com1.csv", ".", "..", "-"],
    ["50%", "50%25", "a*?<>|b", 'say "x"', "a, b"],
    ["Größe", "=1+1", "+x", "@y", "'=z", "-5"],
    ["a", "a_x/y", "a_x"],
]


@pytest.mark.parametrize("names", ODD)
def test_dimensions_may_be_called_anything(tmp_path: Path, names: list[str]) -> None:
    trees = [Hierarchy.from_dict({"Total": {"N": ["N1", "N2"], "S": ["S1", "S2"]}})]
    trees += [
        Hierarchy.from_dict({"Total": {top: [f"N{k}", f"S{k}"] for k, top in ((1, a), (2, b))}})
        for a, b in ("xy", "vw")
    ]
    odd = [Dimension.of(name, *trees[: 1 + number % 3]) for number, name in enumerate(names[::-1])]
    codes = {
        name: [("N1", "S2", "N2")[(row + place) % 3] for row in range(3)] for place, name in enumerate(names)
    }
    problem = Problem.of(table_from_interior(odd, codes, [4, 6, 9]), {})
    write_folder(problem, tmp_path / "in" / "f")
    files = [file.name for file in tmp_path.rglob("*") if file.is_file()]
    assert len({name.casefold() for name in files}) == len(files) == 1 + sum(len(d.hierarchies) for d in odd)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert not any(set(name) & set('<>:"/\\|?*') for name in files)
    again = read_folder(tmp_path / "in" / "f")
    assert again.content_hash == problem.content_hash
    assert [d.name for d in again.table.dimensions] == [d.name for d in problem.table.dimensions]
    for one, two in zip(again.table.dimensions, problem.table.dimensions, strict=True):
        assert [tree.children for tree in one.hierarchies] == [tree.children for tree in two.hierarchies]
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "none")
    write_pattern(problem, pattern, tmp_path / "p.csv")
    assert (read_pattern(tmp_path / "p.csv", again).status == pattern.status).all()


@pytest.mark.parametrize("name", ["", " a", "a\x00", "a\nb", "value", "rhs", "x" * 250, "é" * 130, "a;b;c;d"])
def test_names_that_cannot_be_kept_are_refused(tmp_path: Path, name: str) -> None:
    table = table_from_interior([Dimension.of(name, Hierarchy.flat(["N", "S"]))], {name: ["N", "S"]}, [1, 2])
    with pytest.raises(InputError) as caught:
        write_folder(Problem.of(table, {}), tmp_path / "f")
    assert caught.value.remedy
    assert not (tmp_path / "f").exists()


def test_codes_that_look_like_formulas_stand_guarded_and_are_read_back(tmp_path: Path) -> None:
    codes = ["=1+1", "+a", "-b", "@c", "\td", "'=e", "''=f", "-5", "-", "'g'"]
    dimension = Dimension.of("=d", Hierarchy.flat(codes))
    table = table_from_interior([dimension], {"=d": codes}, list(range(1, 11)))
    problem = Problem.of(table, {})
    write_folder(problem, tmp_path / "f")
    write_pattern(problem, Pattern.hiding(problem, problem.hidden_at_start, "none"), tmp_path / "p.csv")
    write_adjusted(problem, table.values, tmp_path / "a.csv")
    for file in (*(tmp_path / "f").iterdir(), tmp_path / "p.csv", tmp_path / "a.csv"):
        with file.open(newline="") as opened:
            fields = [field for row in csv.reader(opened) for field in row]
        assert not [text for text in fields if text[:1] in tuple("=+@\t\r") or text == "-b"]
        assert "-5" in fields and "-" in fields
    again = read_folder(tmp_path / "f")
    assert again.content_hash == problem.content_hash
    assert again.table.dimensions[0].codes == dimension.codes
    assert (read_pattern(tmp_path / "p.csv", again).status == problem.status).all()
    assert (read_adjusted(tmp_path / "a.csv", again) == table.values).all()
