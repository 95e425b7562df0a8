"""JJ files: lossless both ways, and the fast reader agrees with the one that looks at every token."""

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.files import read_text
from cellveil.formats import jj
from cellveil.formats.instance import read_instance, write_instance
from cellveil.formats.jj import read_jj, write_jj
from cellveil.problem import Problem, Status
from cellveil.tables.scaled import UNBOUNDED
from helpers.instances import INSTANCES, needs_instances

SMALL = """0
3
0 10 5 s 0 15 0 0 0
1 4 2 u 0 15 1 1 0
2 6 3 s 0 15 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""


def read(tmp_path: Path, text: str) -> Problem:
    path = tmp_path / "x.jj"
    path.write_text(text)
    return read_jj(path)


def by_token(path: Path) -> Problem:
    return jj._judge(jj.TokenReader(read_text(path), path).read(), path)


def is_regular(path: Path) -> bool:
    return jj._read_columns(read_text(path)) is not None


@needs_instances
@pytest.mark.parametrize("name", ["cbs", "hier13", "osorio", "table1", "table6", "targus", "two5in6"])
def test_public_instances_are_written_as_they_were_read(name: str, tmp_path: Path) -> None:
    source = INSTANCES / "csp" / f"{name}.jj"
    problem = read_jj(source)
    write_jj(problem, tmp_path / "copy.jj")
    assert (tmp_path / "copy.jj").read_text().split() == source.read_text().split()
    assert read_jj(tmp_path / "copy.jj").content_hash == problem.content_hash
    assert is_regular(source)
    assert by_token(source).content_hash == problem.content_hash


@needs_instances
def test_levels_with_decimals_set_the_scale() -> None:
    problem = read_jj(INSTANCES / "csp" / "table1.jj")
    assert problem.table.decimals == 2
    assert problem.lpl[1] == 179215


def test_fields_are_where_they_belong(tmp_path: Path) -> None:
    problem = read(tmp_path, SMALL)
    assert problem.table.values.tolist() == [10, 4, 6]
    assert problem.weight.tolist() == [5, 2, 3]
    assert problem.status.tolist() == [Status.SAFE, Status.PRIMARY, Status.SAFE]
    assert problem.table.relations.coefs.tolist() == [-1, 1, 1]
    assert problem.table.cell_name(2) == "2"


IRREGULAR = {
    "blanks and tabs": SMALL.replace(" ", " \t "),
    "blanks at line ends": SMALL.replace("\n", "  \n"),
    "Windows line ends": SMALL.replace("\n", "\r\n"),
    "no last line end": SMALL.rstrip(),
    "blank lines": SMALL.replace("\n", "\n\n"),
    "one token per line": "\n".join(SMALL.replace("(", " ").replace(")", " ").split()),
    "no punctuation": SMALL.replace("(", " ").replace(")", " ").replace(":", " "),
    "real numbers": SMALL.replace("(1)", "(1.0)").replace("\n0 3", "\n0.00 3").replace("10 5 s", "1e1 5. s"),
    "multiplied relation": SMALL.replace("(-1)", "(-0.5)").replace("(1)", "(0.5)"),
}  # fmt: skip


@pytest.mark.parametrize("layout", IRREGULAR)
def test_layout_does_not_matter(layout: str, tmp_path: Path) -> None:
    problem = read(tmp_path, IRREGULAR[layout])
    usual = read(tmp_path, SMALL)
    assert problem.table.values.tolist() == usual.table.values.tolist()
    factor = abs(int(problem.table.relations.coefs[0]))
    assert (problem.table.relations.coefs == factor * usual.table.relations.coefs).all()
    assert (problem.ub == usual.ub).all()


def test_ids_are_any_tokens_and_virtual_cells_are_cells(tmp_path: Path) -> None:
    text = SMALL.replace("\n3\n", "\n4\n").replace(
        "\n1\n0 3", "\nv 4 1 u 0 15 0 0.5 0\n2\n0 2 : v (-1) 1 (1)\n0 3"
    )
    problem = read(tmp_path, text)
    assert problem.table.codes(0) == ["0", "1", "2", "v"]
    assert problem.upl[3] == 5 and problem.table.decimals == 1
    assert problem.table.relations.row(0)[0].tolist() == [3, 1]
    write_jj(problem, tmp_path / "copy.jj")
    assert read_jj(tmp_path / "copy.jj").content_hash == problem.content_hash


def test_cells_with_any_ids_keep_their_order(tmp_path: Path) -> None:
    problem = read(tmp_path, SMALL.replace("\n0 10", "\n7 10").replace(": 0 (", ": 7 ("))
    assert problem.table.codes(0) == ["7", "1", "2"]
    assert problem.table.relations.cells.tolist() == [0, 1, 2]


@pytest.mark.parametrize("bound", ["inf", "1e20", "1E+25", "100000000000000000000", "Infinity", "1e30"])
def test_huge_bounds_are_none(bound: str, tmp_path: Path) -> None:
    problem = read(tmp_path, SMALL.replace("s 0 15", f"s -{bound} {bound}"))
    assert problem.ub.tolist() == [UNBOUNDED, 15, UNBOUNDED]
    assert problem.lb.tolist() == [-UNBOUNDED, 0, -UNBOUNDED]


def test_right_hand_sides_count(tmp_path: Path) -> None:
    problem = read(tmp_path, SMALL.replace("\n0 3 :", "\n-0.5 3 :").replace("0 10 5", "0 10.5 5"))
    assert problem.table.decimals == 1
    assert problem.table.relations.rhs.tolist() == [-5]


def test_numbers_beyond_double_precision_stay_exact(tmp_path: Path) -> None:
    big = 2**53 + 1
    problem = read(
        tmp_path,
        SMALL.replace("0 10 5", f"0 {big} 5").replace("2 6 3", f"2 {big - 4} 3").replace(" 15 ", " inf "),
    )
    assert problem.table.values.tolist() == [big, 4, big - 4]


def test_hexadecimal_is_not_a_number(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 7.*unknown cell"):
        read(tmp_path, SMALL.replace(": 0 (", ": 0x0 ("))


def test_fails_at_the_line_with_a_missing_field(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 4: the line does not have 9 fields"):
        read(tmp_path, SMALL.replace("1 4 2 u 0 15 1 1 0", "1 4 2 u 0 15 1 1"))
    with pytest.raises(InputError, match=r"line 4.*the line does not have 9 fields"):
        read(tmp_path, SMALL.replace("1 4 2 u 0 15 1 1 0", "1 4 2 u 0 15 1 1 0 0"))


def test_instance_goes_by_name(tmp_path: Path) -> None:
    problem = read(tmp_path, SMALL)
    for name in ("a.jj", "folder"):
        write_instance(problem, tmp_path / name)
        assert read_instance(tmp_path / name).content_hash == problem.content_hash
    assert (tmp_path / "folder" / "cells.csv").is_file()


@st.composite
def files(draw: st.DrawFn) -> str:
    """A flat table with random amounts of a few decimals, as text."""
    places = draw(st.integers(0, 4))
    amount = st.integers(0, 10**8).map(lambda n: Decimal(n).scaleb(-places))
    parts = draw(st.lists(amount, min_size=1, max_size=6))
    lines = []
    for number, value in enumerate([sum(parts, Decimal(0)), *parts]):
        status = draw(st.sampled_from("sumz"))
        lpl, upl, spl = (draw(amount) + 1 if status == "u" else 0 for _ in range(3))
        ub = draw(st.sampled_from(["inf", "1e20", str(value + draw(amount))]))
        lines.append(f"{number} {value} {draw(st.floats(0, 1e9))} {status} 0 {ub} {lpl} {upl} {spl}")
    terms = " ".join(f"{number} ({1 if number else -1})" for number in range(len(lines)))
    return "\n".join(["0", str(len(lines)), *lines, "1", f"0 {len(lines)} : {terms}", ""])


@settings(max_examples=60, deadline=None)
@given(files())
def test_both_readers_agree_and_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("jj")
    path = folder / "x.jj"
    path.write_text(text)
    problem = read_jj(path)
    assert is_regular(path)
    assert by_token(path).content_hash == problem.content_hash
    write_jj(problem, folder / "copy.jj")
    assert read_jj(folder / "copy.jj").content_hash == problem.content_hash
    values = [Decimal(line.split()[1]) for line in text.split("\n")[2:-3]]
    assert [Decimal(int(v)).scaleb(-problem.table.decimals) for v in problem.table.values] == values
    assert np.isfinite(problem.weight).all()
