"""Objects of every stage own their arrays, and nobody can write them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pytest

from cellveil.arrays import frozen_array
from cellveil.certificate import verify
from cellveil.datasets import two_way
from cellveil.pattern import Pattern
from cellveil.problem import Problem, defaults
from cellveil.public_view import PublicView
from cellveil.suppression import suppress
from cellveil.tables.build import table_from_interior
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.table import Table
from helpers.contributions import of_lists


def writable(value: Any, path: str = "") -> list[str]:
    """Where an array that can be written is reached from an object."""
    if isinstance(value, np.ndarray):
        owner = value
        found = []
        while isinstance(owner, np.ndarray):
            found += [path] if owner.flags.writeable else []
            owner = owner.base
        return found
    if isinstance(value, dict):
        return [p for key, part in value.items() for p in writable(part, f"{path}[{key}]")]
    if isinstance(value, tuple | list):
        return [p for i, part in enumerate(value) for p in writable(part, f"{path}[{i}]")]
    if is_dataclass(value) and not isinstance(value, Dimension | Hierarchy):
        return [p for f in fields(value) for p in writable(getattr(value, f.name), f"{path}.{f.name}")]
    return []


def test_no_stage_can_be_written() -> None:
    problem = two_way([[20, 50, 7], [8, 19, 9], [3, 4, 5]], primaries={(0, 0): 3})
    problem = problem.replace(reasons={"manual": np.zeros(problem.table.num_cells, dtype=bool)})
    found = suppress(problem, "hypercube")
    view = PublicView.of(problem, found.pattern)
    units = of_lists([[3, 2]] * problem.table.num_cells)
    table = problem.table.replace(units=units, columns={"c": np.ones(problem.table.num_cells)})
    for stage in (problem, table, found.pattern, view, found.certificate):
        assert writable(stage, type(stage).__name__) == []
    assert writable(verify(problem, found.pattern, found.certificate)) == []
    with pytest.raises(ValueError, match="read-only"):
        found.pattern.hidden[0] = True


def test_the_callers_arrays_stay_his_own() -> None:
    region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    table = table_from_interior([region], {"region": ["N", "S"]}, [4, 6])
    mine = defaults(table)
    mine["status"][1], mine["lpl"][1], mine["upl"][1] = 1, 1, 1
    block = np.zeros((2, 3), dtype=np.int64)
    mine["spl"] = block[1]
    problem = Problem(table, **mine)
    before = problem.content_hash, problem.replace().content_hash
    for array in mine.values():
        array[:] = 7
    block[:] = 7
    assert (problem.content_hash, problem.replace().content_hash) == before
    values, cells = table.values.copy(), table.relations.cells.copy()
    relations = Relations(3, table.relations.indptr, cells, table.relations.coefs, table.relations.rhs)
    other = Table(table.dimensions, table.keys, values, 0, relations)
    values[:], cells[:] = 0, 0
    other.check_additive()
    status = problem.status.copy()
    pattern = Pattern(status, "given")
    status[:] = 0
    assert pattern.hidden.tolist() == [False, True, False]


def test_what_is_settled_is_not_copied() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    again = problem.replace(weight=np.ones(problem.table.num_cells))
    assert again.lb is problem.lb and again.table.values is problem.table.values
    raw = np.frombuffer(b"12345678", dtype=np.int64)
    assert frozen_array(raw) is raw
    view = np.arange(6)[2:]
    view.setflags(write=False)
    assert frozen_array(view) is not view  # its owner can be written
