"""The digest of an instance: the same after writing and reading, whatever the order of its relations."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.certificate import Certificate, verify
from cellveil.certificate.certificate import pattern_hash
from cellveil.formats.instance import read_instance, write_instance
from cellveil.pattern import Pattern
from cellveil.problem import Problem, defaults
from cellveil.suppression import suppress
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.link import link
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table
from helpers.command import Command
from helpers.examples import examples

TREES = [
    [Hierarchy.flat("abc")],
    [Hierarchy.from_dict({"Total": {"x": ["a", "b"], "c": []}})],
    [
        Hierarchy.from_dict({"Total": {"x": ["a", "b"], "y": ["c", "d"]}}),
        Hierarchy.from_dict({"Total": {"coast": ["a", "c"], "land": ["b", "d"]}}),
    ],
    [Hierarchy.from_dict({"Total": {"x": ["a"], "y": ["b", "c"]}}), Hierarchy.flat("bc", "y")],
]


def random_table(
    rng: np.random.Generator, variable: str, dimensions: list[Dimension], decimals: int
) -> Table:
    leaves = [[d.codes[leaf] for leaf in np.flatnonzero(~d.is_parent)] for d in dimensions]
    grid = np.array(np.meshgrid(*leaves, indexing="ij")).reshape(len(leaves), -1)
    values = rng.integers(0, 50, grid.shape[1]) / 10**decimals
    codes = {d.name: column.tolist() for d, column in zip(dimensions, grid, strict=True)}
    return table_from_interior(dimensions, codes, values, decimals=decimals, variable=variable)


def random_problem(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    dimensions = [
        Dimension.of(name, *TREES[rng.integers(len(TREES))]) for name in ("r", "s")[: rng.integers(1, 3)]
    ]
    decimals = int(rng.integers(0, 3))
    parts = [random_table(rng, name, dimensions, decimals) for name in ("home", "abroad")]
    kind = rng.integers(4)
    if kind == 0:
        table = parts[0]
    elif kind == 1:
        table = link(parts)
    else:
        whole = parts[0].replace(values=parts[0].values + parts[1].values, variable="sales")
        tables = [whole, *parts][:: 1 if kind == 2 else -1]
        table = link(tables, {"sales": ["home", "abroad"]})
        if len(dimensions) > 1 and rng.integers(2):  # a margin of its own
            table = link([table, parts[0]])
    fields = defaults(table)
    filled = np.flatnonzero(table.values > 0)
    for cell in rng.choice(filled, min(2, len(filled)), replace=False).tolist():
        fields["status"][cell] = 1
        fields["lpl"][cell] = fields["upl"][cell] = 1
    fields["weight"] = rng.random(table.num_cells).round(int(rng.integers(0, 17)))
    return Problem(table, **fields)


@examples(20, of=60)
@given(st.integers(0, 10**6), st.sampled_from(["folder", "file.jj"]))
def test_written_and_read_an_instance_is_the_same(seed: int, name: str) -> None:
    problem = random_problem(seed)
    with TemporaryDirectory() as folder:
        write_instance(problem, Path(folder) / name)
        read = read_instance(Path(folder) / name)
        if name.endswith(".jj") and read.table.decimals != problem.table.decimals:
            return  # a JJ file does not say how many decimals were declared
        assert read.content_hash == problem.content_hash
        write_instance(read, Path(folder) / "again")
        assert read_instance(Path(folder) / "again").content_hash == problem.content_hash


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6))
def test_the_order_of_relations_and_entries_does_not_count(seed: int) -> None:
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    relations = problem.table.relations
    rows = []
    for row in rng.permutation(np.repeat(np.arange(len(relations)), rng.integers(1, 3))).tolist():
        cells, coefs = relations.row(row)
        order, sign = rng.permutation(len(cells)), rng.choice([-1, 1])
        rows.append(list(zip(cells[order].tolist(), (sign * coefs[order]).tolist(), strict=True)))
    shuffled = Relations.from_rows(relations.num_cells, rows)
    assert (
        problem.replace(table=problem.table.replace(relations=shuffled)).content_hash == problem.content_hash
    )


def test_what_is_different_has_another_digest() -> None:
    problem = random_problem(2)
    seen = {problem.content_hash}
    relations = problem.table.relations
    keep = np.arange(1, len(relations))
    coefs, rhs, cells = relations.coefs.copy(), relations.rhs.copy(), relations.cells.copy()
    coefs[-1] *= 2
    rhs[0] += 1
    cells[0] = next(c for c in range(relations.num_cells) if c not in relations.row(0)[0])
    for other in (
        relations.take_rows(keep),
        Relations(relations.num_cells, relations.indptr, relations.cells, coefs, relations.rhs),
        Relations(relations.num_cells, relations.indptr, relations.cells, relations.coefs, rhs),
        Relations(relations.num_cells, relations.indptr, cells, relations.coefs, relations.rhs),
        Relations.empty(relations.num_cells),
    ):
        seen.add(problem.replace(table=problem.table.replace(relations=other)).content_hash)
    seen.add(problem.replace(ub=problem.ub - 1).content_hash)
    assert len(seen) == 7


def test_certificates_of_older_digests_still_hold(tmp_path: Path) -> None:
    found = suppress(problem := random_problem(5), "hypercube")
    assert found.certificate.instance == problem.content_hash
    older = Certificate(
        problem._digest(problem.table.relations),
        *(getattr(found.certificate, name) for name in ("pattern", "attacker", "starts", "cells")),
        found.certificate.numerators,
        found.certificate.denominators,
    )
    assert verify(problem, found.pattern, older).is_valid
    nothing = Pattern(problem.status, "given")
    assert not verify(problem, nothing, older).is_valid
    assert "another instance" in " ".join(
        verify(problem.replace(ub=problem.ub - 1), found.pattern, older).faults
    )
    assert older.pattern == pattern_hash(found.pattern.hidden)


JOB = """\
output = "out"
[microdata]
file = "firms.csv"
contributor = "firm"
{tables}
[equations]
turnover = ["home", "abroad"]
[[rules]]
rule = "p%"
p = 10
"""


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_job_with_equations_can_be_verified_from_its_own_files(
    order: tuple[int, ...], tmp_path: Path, command: Command
) -> None:
    rng = np.random.default_rng(1)
    lines = ["firm,region,size,turnover,home,abroad"]
    for firm in range(60):
        home, abroad = (rng.integers(1, 4000, 2) ** 2 / 100).round(2).tolist()
        region, size = "NSW"[rng.integers(3)], "sl"[rng.integers(2)]
        lines.append(f"f{firm},{region},{size},{home + abroad:.2f},{home},{abroad}")
    (tmp_path / "firms.csv").write_text("\n".join(lines) + "\n")
    names = [("turnover", "home", "abroad")[position] for position in order]
    tables = "".join(f'[[tables]]\ndimensions = ["region", "size"]\nresponse = "{name}"\n' for name in names)
    tables += '[[tables]]\ndimensions = ["size"]\nresponse = "turnover"\n'
    (tmp_path / "job.toml").write_text(JOB.format(tables=tables))
    assert command("run", tmp_path / "job.toml").code == 0
    internal = tmp_path / "out" / "internal"
    done = command("verify", internal / "instance", internal / "pattern.csv", internal / "certificate")
    assert done.code == 0, done.out + done.err
