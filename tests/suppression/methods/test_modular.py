"""The modular method: its modules, what they leave open, and the whole table in the end."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from cellveil.clock import Deadline
from cellveil.datasets import random_table
from cellveil.deviations.witness import are_deviations
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.methods.modular import Descent, modular, modules_of
from cellveil.tables.dimension import Dimension
from cellveil.tables.table import Table
from helpers.small_problems import SHAPES, small_problem, small_table

STRUCTURED = [shape for shape in SHAPES if shape in ("hierarchical", "overlapping", "linked")]


def plain_modules(table: Table) -> dict[tuple[int, ...], set[int]]:
    """The relations of each module, by its cells: one equation per dimension, in every combination."""
    groups = []
    for dimension in table.dimensions:
        mine = [set(equation.codes) for equation in dimension.equations]
        covered = set().union(*mine) if mine else set()
        groups.append(mine + [{code} for code in range(len(dimension)) if code not in covered])
    keys = list(zip(*(column.tolist() for column in table.keys), strict=True))
    found: dict[tuple[int, ...], set[int]] = {}
    for chosen in product(*groups):
        cells = {c for c, key in enumerate(keys) if all(k in g for k, g in zip(key, chosen, strict=True))}
        relations = table.relations
        rows = {row for row in range(len(relations)) if set(relations.row(row)[0].tolist()) <= cells}
        if rows:
            found[tuple(sorted(cells))] = rows
    return found


@pytest.mark.parametrize("shape", STRUCTURED)
def test_modules_are_the_combinations_of_equations(shape: str) -> None:
    table = small_table(shape, np.random.default_rng(3))
    modules = modules_of(table)
    assert {tuple(m.cells.tolist()): set(m.rows.tolist()) for m in modules} == plain_modules(table)
    assert [module.level for module in modules] == sorted(module.level for module in modules)
    covered = set(np.concatenate([module.rows for module in modules]).tolist())
    assert covered == set(range(len(table.relations))), "every relation stands in a module"


def test_flat_tables_have_no_modules() -> None:
    assert modules_of(random_table((4, 5, 3), seed=1).table) == []


def test_dimensions_are_recovered_where_a_table_has_none() -> None:
    table = random_table((9, 6), hierarchical=[0], contributors=5, zeros=0, seed=1).table
    cells = Dimension.unstructured("cell", map(str, range(table.num_cells)))
    bare = table.replace(dimensions=(cells,), keys=(np.arange(table.num_cells, dtype=np.int32),))
    mine, theirs = ({tuple(m.cells.tolist()) for m in modules_of(t)} for t in (table, bare))
    assert mine == theirs and len(mine) > 1


def descended(problem: Problem) -> Descent:
    descent = Descent(problem, modules_of(problem.table))
    descent.run(Deadline(None), Progress())
    return descent


def test_modules_alone_are_not_enough_and_the_whole_table_is() -> None:
    """The trap of the method: protected subtables, disclosed cells."""
    unsafe = 0
    for seed in (0, 1, 3, 4):
        problem = random_table((12, 9), hierarchical=[0, 1], contributors=3, zeros=0.3, seed=seed)
        alone = Pattern.hiding(problem, descended(problem).hidden, "modules")
        unsafe += not audit_outsider(problem, alone, exact=False).is_safe
        draft = modular(problem)
        pattern = Pattern.hiding(problem, draft.hidden, "modular")
        report = audit_outsider(problem, pattern, exact=False, claims=draft.witnesses)
        assert report.is_safe and report.num_lps == 0 and draft.reason == "complete"
    assert unsafe >= 2


def test_each_module_protects_what_others_hid() -> None:
    """Backtracking: in the end every secondary cell can move in all of its modules."""
    problem = random_table((12, 9), hierarchical=[0, 1], contributors=3, zeros=0.3, seed=1)
    descent = descended(problem)
    carried = 0
    for number, module in enumerate(descent.modules):
        part = descent._part(number)
        carried += int((part.status == Status.PRIMARY).sum() - problem.upl[module.cells].astype(bool).sum())
        assert audit_outsider(part, Pattern.hiding(part, part.hidden_at_start, "module"), exact=False).is_safe
    assert carried > 0


def test_deviations_of_modules_count_where_they_hold_everywhere() -> None:
    problem = random_table((12, 9), hierarchical=[0], contributors=2, seed=1)
    descent = descended(problem)
    witnesses = descent.whole_witnesses()
    assert len(witnesses) and are_deviations(problem, descent.hidden, witnesses).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_small_tables_of_every_structure(shape: str) -> None:
    rng = np.random.default_rng(70 + SHAPES.index(shape))
    for _ in range(4):
        problem = small_problem(shape, rng, primaries=3)
        draft = modular(problem)
        if draft.infeasible:
            everything = Pattern.hiding(problem, problem.status != Status.FROZEN, "everything")
            assert not audit_outsider(problem, everything).is_safe
            continue
        assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "modular")).is_safe
        again = modular(problem)
        assert (draft.hidden == again.hidden).all()


def test_out_of_time_is_safe() -> None:
    problem = random_table((12, 9), hierarchical=[0, 1], contributors=3, seed=2)
    draft = modular(problem, deadline=Deadline(1e-9))
    assert "time limit" in draft.reason
    assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "x"), exact=False).is_safe
