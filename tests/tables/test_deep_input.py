"""Deep, long or nested input ends in a clear error, or in time linear in its size: no quadratic walks."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.formats.instance import read_instance
from cellveil.job import read_job
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

MANY = 30_000


@pytest.mark.parametrize("order", [1, -1])
def test_a_long_chain_is_one_code(order: int) -> None:
    pairs = [(f"c{i}", f"c{i + 1}") for i in range(MANY)][::order]
    tree = Hierarchy.from_pairs(pairs)
    assert tree.depth == MANY
    dimension = Dimension.of("d", tree)
    assert dimension.codes == ("c0",) and len(dimension.aliases) == MANY


@pytest.mark.parametrize("order", [1, -1])
def test_a_comb_is_too_deep(order: int) -> None:
    pairs = [(f"c{i}", child) for i in range(MANY) for child in (f"c{i + 1}", f"leaf{i}")][::order]
    with pytest.raises(InputError, match="too deep"):
        Dimension.of("d", Hierarchy.from_pairs(pairs))


def test_an_indented_file_as_deep_as_it_is_long(tmp_path: Path) -> None:
    (tmp_path / "deep.hrc").write_text("".join(f"{'@' * i}c{i}\n" for i in range(3000)))
    assert Hierarchy.from_hrc(tmp_path / "deep.hrc").depth == 3000


def test_a_circle_of_many_codes() -> None:
    pairs = [(f"c{i}", f"c{(i + 1) % MANY}") for i in range(MANY)]
    with pytest.raises(InputError, match="cycle"):
        Hierarchy.from_pairs(pairs)
    with pytest.raises(InputError, match="cycle"):
        Hierarchy.from_pairs([*pairs, ("Total", "x")])


@pytest.mark.parametrize(
    "text",
    [
        ".".join(["a"] * 3000) + " = 1",
        "[" + ".".join(["a"] * 3000) + "]\nb = 1",
        "a = " + "[" * MANY + "]" * MANY,
        "a = " + "{b=" * MANY + "1" + "}" * MANY,
        "a = " + "9" * 5000,
    ],
    ids=["dotted", "heading", "lists", "braces", "digits"],
)
def test_nested_job_files(text: str, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(text)
    with pytest.raises(InputError):
        read_job(tmp_path / "job.toml")


@pytest.mark.parametrize("count", ["9" * 5000, "99999999999999999999", "1000000000"])
def test_huge_counts_in_jj_files(count: str, tmp_path: Path) -> None:
    for text in (f"0\n{count}\n0 1 1 s 0 1 0 0 0\n0\n", f"0\n1\n0 1 1 s 0 1 0 0 0\n{count}\n0 1 : 0 (1)\n"):
        (tmp_path / "x.jj").write_text(text)
        with pytest.raises(InputError):
            read_instance(tmp_path / "x.jj")


def test_one_relation_of_very_many_entries(tmp_path: Path) -> None:
    cells = "".join(f"{i} {MANY if i == 0 else 1} 1 s 0 1e20 0 0 0\n" for i in range(MANY + 1))
    terms = " ".join(f"{i} ({-1 if i == 0 else 1})" for i in range(MANY + 1))
    (tmp_path / "x.jj").write_text(f"0\n{MANY + 1}\n{cells}1\n0 {MANY + 1} : {terms}\n")
    assert len(read_instance(tmp_path / "x.jj").content_hash) == 64
