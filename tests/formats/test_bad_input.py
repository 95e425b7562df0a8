"""Every kind of bad input ends in a message that names the place and the remedy, and shows no value.

The tables hold the recognisable value 987654; no message may show it.
"""

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cellveil.errors import CellveilError, InputError
from cellveil.formats.columns import read_columns
from cellveil.formats.instance import read_instance
from cellveil.formats.jj import read_jj, write_jj
from cellveil.formats.pattern_file import read_pattern, write_pattern
from cellveil.formats.ready_made import read_problem, read_table
from cellveil.formats.tidy_folder import read_folder, write_folder
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.hierarchy import Hierarchy

SECRET = "987654"

JJ = """0
4
0 1000000 9 s 0 2000000 0 0 0
1 987654 9 u 0 2000000 10 10 0
2 12346 9 s 0 2000000 0 0 0
3 0 1 z 0 0 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""

FOLDER = {
    "cells.csv": """region,value,status,weight,lb,ub,lpl,upl,contributors
Total,1000000,s,1,0,,0,0,9
N,987654,u,1,0,,10,10,2
S,12346,s,1,0,,0,0,7
""",
    "hier_region.csv": "parent,child\nTotal,N\nTotal,S\n",
}
CELLS = FOLDER["cells.csv"]
TREE = FOLDER["hier_region.csv"]


def lay(tmp_path: Path, **changes: str | bytes) -> Path:
    """Write the good folder with some files changed (`cells_csv` stands for cells.csv)."""
    folder = tmp_path / "instance"
    folder.mkdir(exist_ok=True)
    for name, text in (FOLDER | {n.replace("_csv", ".csv"): t for n, t in changes.items()}).items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def folder(**changes: str | bytes) -> Callable[[Path], Any]:
    return lambda tmp_path: read_folder(lay(tmp_path, **changes))


def cells(old: str, new: str) -> Callable[[Path], Any]:
    assert old in CELLS
    return folder(cells_csv=CELLS.replace(old, new))


def tree(text: str) -> Callable[[Path], Any]:
    return folder(hier_region_csv="parent,child\n" + text)


def jj(old: str, new: str) -> Callable[[Path], Any]:
    assert old in JJ
    return raw(JJ.replace(old, new))


def raw(
    content: str | bytes, read: Callable[[Path], Any] = read_jj, name: str = "x.jj"
) -> Callable[[Path], Any]:
    def attempt(tmp_path: Path) -> Any:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(tmp_path / name)

    return attempt


def pattern(*lines: str) -> Callable[[Path], Any]:
    def attempt(tmp_path: Path) -> Any:
        (tmp_path / "p.csv").write_text("\n".join(lines) + "\n")
        return read_pattern(tmp_path / "p.csv", read_folder(lay(tmp_path)))

    return attempt


def table(text: str, **options: Any) -> Callable[[Path], Any]:
    return raw(text, lambda path: read_table(path, {"r": None}, **options), "t.csv")


def frame(data: dict[str, list[Any]], **options: Any) -> Callable[[Path], Any]:
    return lambda _: read_problem(pd.DataFrame(data), {"r": None}, **options)


def hrc(text: str) -> Callable[[Path], Any]:
    return raw(text, Hierarchy.from_hrc, "r.hrc")


CASES: dict[str, tuple[Callable[[Path], Any], str]] = {
    # JJ files
    "jj: not additive": (
        jj("12346 9", "12347 9"),
        r"x\.jj, line 8, cell 0: the table does not add up: 0 = 1",
    ),
    "jj: cell twice": (jj("\n2 12346", "\n1 12346"), r"line 5: the cell occurs twice"),
    "jj: bad status": (jj("9 u 0", "9 q 0"), r"line 4: the status is none of s, u, m and z"),
    "jj: two letters as status": (jj("9 u 0", "9 us 0"), r"line 4: the status"),
    "jj: letter as value": (jj("2 12346 9 s", "2 s 9 s"), r"line 5, cell 2: the value is not a number"),
    "jj: nan": (jj("12346 9", "nan 9"), r"line 5, cell 2: the value is not finite"),
    "jj: infinite": (jj("12346 9", "inf 9"), r"line 5, cell 2: the value is infinite or too large"),
    "jj: text in number": (jj("12346 9", "12,x 9"), r"line 5, cell 2: the value is not a number"),
    "jj: overflow": (jj("12346 9", "9" * 23 + " 9"), r"line 5, cell 2: .*too large"),
    "jj: overflow of 64 bits": (jj("12346 9", "9" * 19 + " 9"), r"line 5, cell 2: the value is too large"),
    "jj: too many decimals": (
        jj("u 0 2000000 10", "u 0 2000000 .00000000001"),
        r"line 4, cell 1: the lpl has more",
    ),
    "jj: wrong weight": (jj("12346 9", "12346 x"), r"line 5, cell 2: the weight is not a number"),
    "jj: negative weight": (jj("12346 9", "12346 -9"), r"line 5, cell 2: its weight is negative"),
    "jj: negative level": (jj("10 10 0", "-10 10 0"), r"line 4, cell 1: a protection level is negative"),
    "jj: levels without primary": (jj("9 u 0", "9 s 0"), r"line 4, cell 1: it has protection levels"),
    "jj: primary without levels": (jj("10 10 0", "0 0 0"), r"line 4, cell 1: it is primary but"),
    "jj: bounds crossed": (jj("12346 9 s 0 2000000", "12346 9 s 5 4"), r"line 5, cell 2: its lower bound"),
    "jj: outside bounds": (
        jj("12346 9 s 0 2000000", "12346 9 s 0 4"),
        r"line 5, cell 2: its value lies outside",
    ),
    "jj: truncated in cells": (
        raw(JJ[:60]),
        r"line 4: the file ends where the .* of cell 2 is expected",
    ),
    "jj: truncated in relations": (raw(JJ[:-9]), r"line 8: the file ends where"),
    "jj: missing field": (jj("2000000 10 10 0", "2000000 10 10"), r"line 4: the line does not have 9 fields"),
    "jj: text at the end": (raw(JJ + "0 1 : 0 (1)\n"), r"line 9: text after the last relation"),
    "jj: unknown cell in relation": (jj(": 0 (", ": 99 ("), r"line 8: relation 1 has an unknown cell"),
    "jj: cell twice in relation": (jj("2 (1)", "1 (1)"), r"line 8: a cell stands twice in relation 1"),
    "jj: coefficient not a number": (
        jj("2 (1)", "2 (one)"),
        r"line 8: a coefficient of relation 1 is not a n",
    ),
    "jj: coefficient too fine": (jj("2 (1)", "2 (0.33333333333)"), r"line 8: .* more than 9 decimals"),
    "jj: coefficient too large": (jj("2 (1)", "2 (9999999999)"), r"line 8: .*too large"),
    "jj: relation without terms": (jj("0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)", "0 0 :"), r"line 8: .*no terms"),
    "jj: count of cells": (jj("0\n4\n", "0\nfour\n"), r"line 2: the number of cells is not a whole number"),
    "jj: no cells": (jj("0\n4\n", "0\n0\n"), r"line 2: the file has no cells"),
    "jj: another format": (raw("region,value\nN,1\n"), r"line 1: the first token of a JJ file is 0"),
    "jj: empty": (raw(""), r"x\.jj: the file is empty"),
    "jj: binary": (raw(b"\xff\xfe\x00\x01"), r"x\.jj, line 1: the text is not encoded in UTF-8"),
    "jj: binary zeros": (raw(b"0\x001"), r"x\.jj: the file is binary"),
    "jj: missing file": (
        lambda tmp_path: read_instance(tmp_path / "no.jj"),
        r"no\.jj: the file does not exist",
    ),
    "jj: folder for a file": (lambda tmp_path: read_jj(lay(tmp_path)), r"instance: a folder where a file"),
    "csv for an instance": (raw(CELLS, read_instance, "cells.csv"), r"cells\.csv: an instance is"),
    # folders
    "not additive": (
        cells("12346", "12345"),
        r"cells\.csv, line 2, cell \(Total\): the table does not add up",
    ),
    "cell twice": (cells("S,12346", "N,12346"), r"cells\.csv, line 4, cell \(N\): the cell occurs twice"),
    "unknown code": (
        cells("S,12346", "X,12346"),
        r"cells\.csv, line 4: unknown code in dimension 'region'",
    ),
    "empty code": (cells("S,12346", ",12346"), r"cells\.csv, line 4: the column 'region' is empty"),
    "missing total": (
        cells("Total,1000000,s,1,0,,0,0,9\n", ""),
        r"cells\.csv, line 2, cell \(N\): the total ab",
    ),
    "missing parts": (
        folder(cells_csv=re.sub(r"\n[NS],.*", "", CELLS)),
        r"cells\.csv, line 2, cell \(Total\): the total has a value, but none of its parts",
    ),
    "missing value": (cells("S,12346", "S,"), r"cells\.csv, line 4, cell \(S\): the value is missing"),
    "nan": (cells("12346", "NaN"), r"line 4, cell \(S\): the value is not finite"),
    "infinite": (cells("12346", "-inf"), r"line 4, cell \(S\): the value is infinite"),
    "overflow": (cells("12346", "9" * 30), r"line 4, cell \(S\): the value is infinite or too large"),
    "text in numbers": (cells("12346", "12 346"), r"line 4, cell \(S\): the value is not a number"),
    "decimal comma": (cells("12346", '"12346,0"'), r"line 4, cell \(S\): the value is not a number"),
    "bad status": (cells("12346,s", "12346,S"), r"line 4, cell \(S\): the status is none of s, u, m and z"),
    "text in bounds": (cells("12346,s,1,0", "12346,s,1,low"), r"line 4, cell \(S\): the lb is not a number"),
    "text in weights": (cells("12346,s,1", "12346,s,much"), r"line 4: the weight is not a number"),
    "bounds crossed": (cells("12346,s,1,0,,", "12346,s,1,9,8,"), r"line 4, cell \(S\): its lower bound"),
    "outside bounds": (
        cells("12346,s,1,0,,", "12346,s,1,0,8,"),
        r"line 4, cell \(S\): its value lies outside",
    ),
    "levels without primary": (
        cells("987654,u", "987654,s"),
        r"line 3, cell \(N\): it has protection levels",
    ),
    "primary without levels": (cells(",10,10,2", ",,,2"), r"line 3, cell \(N\): it is primary but its"),
    "negative levels": (
        cells(",10,10,2", ",10,-10,2"),
        r"line 3, cell \(N\): a protection level is negative",
    ),
    "negative contributors": (cells("0,0,7", "0,0,-7"), r"line 4, cell \(S\): the number in contributors"),
    "half a contributor": (
        cells("0,0,7", "0,0,6.5"),
        r"line 4, cell \(S\): the contributors has more decimals",
    ),
    "missing column": (cells("value", "valeu"), r"cells\.csv, line 1: there is no column 'value'.*'valeu'"),
    "column twice": (cells("ub", "lb"), r"cells\.csv, line 1: columns . and . have the same name"),
    "column without name": (cells("ub", ""), r"cells\.csv, line 1: column 6 has no name"),
    "no dimension": (
        folder(cells_csv="value,status\n1,s\n"),
        r"cells\.csv, line 1: there is no column for a dim",
    ),
    "short row": (cells("S,12346,s,1", "S,12346,s"), r"cells\.csv, line 4: 8 fields where the header has 9"),
    "long row": (cells("S,12346,s,1", "S,12346,s,1,1"), r"cells\.csv, line 4: 10 fields where the header"),
    "quote not closed": (cells("S,12346", 'S,"' + "x" * 140_000), r"cells\.csv, line 4: not readable as CSV"),
    "header only": (folder(cells_csv=CELLS.split("\n")[0]), r"cells\.csv: there is a header but no rows"),
    "empty file": (folder(cells_csv="\n"), r"cells\.csv: the file is empty"),
    "wrong encoding": (
        folder(cells_csv=CELLS.encode() + b"\xe9"),
        r"cells\.csv, line 5: the text is not enc",
    ),
    "binary file": (folder(cells_csv=b"PK\x00\x01"), r"cells\.csv: the file is binary"),
    "no cells.csv": (lambda tmp_path: read_folder(tmp_path), r"the folder has no cells\.csv"),
    "no folder": (lambda tmp_path: read_folder(tmp_path / "none"), r"none: the folder does not exist"),
    # hierarchies
    "cycle": (tree("Total,N\nN,Total\n"), r"hier_region\.csv: the hierarchy is a cycle"),
    "cycle beside the tree": (
        tree("Total,N\nTotal,S\nA,B\nB,A\n"),
        r"hier_region\.csv: A, B: not below the to",
    ),
    "own parent": (tree("Total,N\nN,N\n"), r"hier_region\.csv, line 3: code 'N' is its own parent"),
    "two parents": (tree("Total,N\nTotal,S\nS,N\n"), r"hier_region\.csv, line 4: code 'N' has two parents"),
    "two roots": (tree("Total,N\nAll,S\n"), r"hier_region\.csv: the hierarchy has 2 codes without a parent"),
    "pair twice": (
        tree("Total,N\nTotal,N\n"),
        r"hier_region\.csv, line 3: the pair 'Total', 'N' occurs twice",
    ),
    "no child column": (
        folder(hier_region_csv="a,b\nT,N\n"),
        r"hier_region\.csv, line 1: there is no column 'child'",
    ),
    "empty child": (tree("Total,N\nTotal,\n"), r"hier_region\.csv, line 3: the column 'child' is empty"),
    "no hierarchy": (
        cells("contributors", "size"),
        r"hier_size\.csv: there is no hierarchy for the column 'size'",
    ),
    "jump in an indented file": (hrc("N\n@@N1\n"), r"r\.hrc, line 2: the code is indented 2 times"),
    "code twice in an indented file": (
        hrc("N\n@N1\nN1\n"),
        r"r\.hrc, line 3: the code is already in line 2",
    ),
    "leaf and total by digits": (
        lambda _: Hierarchy.from_digits(["1", "11", "12"], [1, 1]),
        r"1 code is both a leaf and the total of longer codes",
    ),
    # equations, contributions, patterns
    "equation: unknown code": (
        folder(equations_csv="equation,region,coefficient\ne,N,1\ne,X,-1\n"),
        r"equations\.csv, line 3: unknown code in dimension 'region'",
    ),
    "equation: unknown column": (
        folder(equations_csv="equation,regoin,coefficient\ne,N,1\n"),
        r"equations\.csv, line 1: column 2 has an unknown name.*region",
    ),
    "equation: half a coefficient": (
        folder(equations_csv="equation,region,coefficient\ne,N,0.5\n"),
        r"equations\.csv, line 2: the coefficient has more decimals",
    ),
    "equation: does not hold": (
        folder(equations_csv="equation,region,coefficient,rhs\ne,N,1,5\n"),
        r"equations\.csv, line 2, cell \(N\): the table does not add up",
    ),
    "equation: term twice": (
        folder(equations_csv="equation,region,coefficient\ne,N,1\ne,N,-1\n"),
        r"equations\.csv, line 3: the term occurs twice",
    ),
    "equation: two right-hand sides": (
        folder(equations_csv="equation,region,coefficient,rhs\ne,N,1,1\ne,S,-1,2\n"),
        r"equations\.csv, line 2: the equation has two right-hand sides",
    ),
    "equation: uneven terms": (
        folder(equations_csv="equation,region,coefficient\ne,N,1\ne,,-1\n"),
        r"equations\.csv, line 3: the terms of the equation leave different dimensions free",
    ),
    "contributions: unknown code": (
        folder(contributions_csv="region,contributor,amount\nX,a,1\n"),
        r"contributions\.csv.*unknown code in dimension 'region'",
    ),
    "contributions: missing column": (
        folder(contributions_csv="region,who,amount\nN,a,1\n"),
        r"contributions\.csv: there is no column 'contributor'",
    ),
    "contributions: not the value": (
        folder(contributions_csv="region,contributor,amount\nN,a,1\n"),
        r"contributions\.csv, cell \(N\): the contributions do not add up",
    ),
    "contributions: text": (
        folder(contributions_csv="region,contributor,amount\nN,a,much\n"),
        r"contributions\.csv.*line 2",
    ),
    "pattern: unknown cell": (pattern("region,status", "X,m"), r"p\.csv, line 2: unknown code in"),
    "pattern: cell twice": (
        pattern("region,status", "S,m", "S,m"),
        r"p\.csv, line 3, cell \(S\): the cell occurs",
    ),
    "pattern: bad status": (
        pattern("region,status", "S,x"),
        r"p\.csv, line 2, cell \(S\): the status is none",
    ),
    "pattern: of another kind": (
        pattern("cell,status", "0,m"),
        r"p\.csv, line 1: there is no column 'region'",
    ),
    # ready-made tables
    "negative": (
        table("r,value\nTotal,987654\na,-1\nb,987655\n"),
        r"t\.csv, line 3, cell \(a\): the value is neg",
    ),
    "wrong decimals": (
        table("r,value\nTotal,1.25\na,1.25\n", decimals=1),
        r"line 2, cell \(Total\): .*decimals",
    ),
    "total where none is said to be": (
        table("r,value\nTotal,1\na,1\nb,0\n", totals="none"),
        r"t\.csv, line 2: code 'Total' of dimension 'r' is a total",
    ),
    "delimiter is the decimal mark": (
        raw("a,b\n1,2\n", lambda path: read_columns(path, decimal=","), "t.csv"),
        r"t\.csv: the delimiter ',' cannot be used with the decimal mark ','",
    ),
    "not Parquet": (raw("a,b\n1,2\n", read_columns, "t.parquet"), r"t\.parquet: not a readable Parquet file"),
    "not Excel": (raw("a,b\n1,2\n", read_columns, "t.xlsx"), r"t\.xlsx: not a readable Excel file"),
    "missing Parquet": (
        lambda tmp_path: read_columns(tmp_path / "t.parquet"),
        r"t\.parquet: the file does not",
    ),
    "frame: code twice": (
        frame({"r": ["a", "a"], "value": [1, 2]}),
        r"the frame, line 2, cell \(a\): the cell oc",
    ),
    "frame: missing code": (
        frame({"r": ["a", None], "value": [1, 2]}),
        r"the frame, line 2: the column 'r' is e",
    ),
    "frame: missing value": (
        frame({"r": ["a", "b"], "value": [987654, None]}, totals="none"),
        r"the frame, line 2, cell \(b\): the value is missing",
    ),
    "frame: true for a number": (
        frame({"r": ["a"], "value": [True]}, totals="none"),
        r"the frame, line 1, cell \(a\): the value is not a number",
    ),
    "frame: unknown field": (
        frame({"r": ["a"], "value": [1]}, fields={"lbp": "x"}),
        r"no field 'lbp'.*'lpl'|'lb'",
    ),
    "frame: missing field": (
        frame({"r": ["a"], "value": [1]}, fields={"lb": "x"}),
        r"there is no column 'x'",
    ),
    "frame: no frame": (lambda _: read_table([1, 2], {"r": None}), r"cannot read a table from a list"),
    "frame: no dimension": (lambda _: read_table(pd.DataFrame({"value": [1]}), {}), r"no dimension is named"),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_explained(name: str, tmp_path: Path) -> None:
    attempt, message = CASES[name]
    with pytest.raises(InputError) as caught:
        attempt(tmp_path)
    error, text = caught.value, str(caught.value)
    assert isinstance(error, CellveilError) and error.exit_code == 2
    assert re.search(message, text, re.DOTALL), text
    assert SECRET not in text.replace(str(tmp_path), "")
    assert error.remedy.strip().endswith((".", "?")), f"no remedy: {text}"
    assert error.__cause__ is None, "the foreign exception may show a line of the file"


def test_the_unbroken_files_are_good(tmp_path: Path) -> None:
    raw(JJ)(tmp_path)
    read_folder(lay(tmp_path))
    pattern("region,status", "S,m")(tmp_path)


# -- a full disk ---------------------------------------------------------------------------------------------


WRITERS: dict[str, tuple[str, Callable[[Problem, Path], None]]] = {
    "jj": ("x.jj", write_jj),
    "folder": ("cells.csv", lambda problem, target: write_folder(problem, target.parent)),
    "pattern": (
        "p.csv",
        lambda problem, target: write_pattern(problem, Pattern(problem.status, "x"), target),
    ),
}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("step", ["write", "flush", "rename"])
def test_a_full_disk_leaves_the_old_files(
    kind: str, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, write = WRITERS[kind]
    problem = read_folder(lay(tmp_path))
    target = tmp_path / "out" / name
    target.parent.mkdir()
    old = {target.name: "old", "equations.csv": "older"}
    for file, text in old.items():
        (target.parent / file).write_text(text)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    really_open = Path.open

    def open_to_read(path: Path, mode: str = "r", *further: Any, **options: Any) -> Any:
        return full() if "w" in mode else really_open(path, mode, *further, **options)

    if step == "write":
        monkeypatch.setattr(Path, "open", open_to_read)
    elif step == "flush":
        monkeypatch.setattr(os, "fsync", full)
    else:
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"cannot write \(No space left on device\).*nothing was changed"):
        write(problem, target)
    assert {file.name: file.read_text() for file in target.parent.iterdir()} == old
