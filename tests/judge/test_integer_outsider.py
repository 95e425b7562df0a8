"""The integer-aware attacker: only tables of whole numbers keep it off."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from cellveil.certificate import Certificate, verify
from cellveil.certificate.certificate import pattern_hash
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.dimension import Dimension
from cellveil.tables.relations import Relations
from cellveil.tables.table import CELL, Table
from helpers.examples import few_of
from helpers.small_problems import SHAPES, half_hidden_problem


def by_integer_program(problem: Problem, hidden: np.ndarray) -> dict[int, bool]:
    """The verdict on each primary cell from whole extremes, by another program."""
    cells = np.flatnonzero(hidden)
    matrix = problem.table.relations.matrix.tocsc()[:, cells].toarray()
    values = problem.table.values[cells]
    bounds = Bounds(problem.lb[cells] - values, problem.ub[cells] - values)
    verdict = {}
    for cell in problem.primaries.tolist():
        extremes = []
        for sign in (-1.0, 1.0):
            cost = np.where(cells == cell, sign, 0.0)
            found = milp(cost, constraints=LinearConstraint(matrix, 0, 0), bounds=bounds, integrality=1)
            assert found.status == 0
            extremes.append(round(-found.fun))
        up, down = extremes
        levels = (int(problem.upl[cell]), int(problem.lpl[cell]), int(problem.spl[cell]))
        verdict[cell] = up >= levels[0] and down >= levels[1] and up + down >= levels[2]
    return verdict


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("number", few_of([6, 24], 1))
def test_verdicts_equal_integer_programs(shape: str, exact: bool, number: int) -> None:
    rng = np.random.default_rng(70 + SHAPES.index(shape))
    for _ in range(number):
        problem = half_hidden_problem(shape, rng)
        pattern = Pattern.hiding(problem, problem.hidden_at_start, "given")
        report = audit_outsider(problem, pattern, exact=exact, whole=True)
        assert dict(zip(report.cells.tolist(), report.safe.tolist(), strict=True)) == by_integer_program(
            problem, pattern.hidden
        )
        assert (report.certificate.denominators == 1).all()
        proof = verify(problem, pattern, report.certificate)
        assert not proof.faults and (proof.protected == report.safe).all()


def odd_cycle() -> tuple[Problem, Pattern]:
    """a + b = b + c = c + a = 1, known to two more sums: halves are possible, other whole numbers are not."""
    relations = Relations.from_rows(
        4, [[(0, 2), (1, 1), (3, 1)], [(1, 1), (2, 1), (3, 2)], [(2, 1), (0, 2)]], rhs=[4, 4, 3]
    )
    table = Table(
        (Dimension.unstructured(CELL, "abcd"),),
        (np.arange(4, dtype=np.int32),),
        np.array([1, 1, 1, 1]),
        0,
        relations,
    )
    table.check_additive()
    problem = Problem.of(table, {0: (0, 1)})
    return problem, Pattern.hiding(problem, np.ones(4, dtype=bool), "all")


@pytest.mark.parametrize("number", few_of([140, 600], 1))
def test_whole_numbers_can_rule_out_what_fractions_allow(number: int) -> None:
    rng = np.random.default_rng(5)
    weaker = 0
    for _ in range(number):
        shape = (2, 4)
        coefs = rng.integers(-2, 3, shape)
        values = rng.integers(1, 4, shape[1])
        rows = [[(c, int(k)) for c, k in enumerate(row) if k] for row in coefs]
        rhs = (coefs @ values).tolist()
        table = Table(
            (Dimension.unstructured(CELL, "abcd"),), (np.arange(4, dtype=np.int32),), values, 0,
            Relations.from_rows(4, rows, rhs),
        )  # fmt: skip
        problem = Problem.of(table, {0: (0, 1)}).replace(ub=np.full(4, 6))
        pattern = Pattern.hiding(problem, np.ones(4, dtype=bool), "all")
        plain, whole = audit_outsider(problem, pattern), audit_outsider(problem, pattern, whole=True)
        assert whole.is_safe == by_integer_program(problem, pattern.hidden)[0]
        assert plain.is_safe or not whole.is_safe
        weaker += plain.is_safe and not whole.is_safe
    assert weaker > 0, "the examples must have cells that only fractions protect"


def test_fractions_are_no_proof_against_whole_numbers() -> None:
    problem, pattern = odd_cycle()
    halves = [(np.arange(4), np.array([1, -1, -2, -1]), 2)]
    assert not problem.table.relations.residuals(problem.table.values)
    certificate = Certificate.of(problem.content_hash, pattern_hash(pattern.hidden), halves, "integer")
    assert "not whole" in verify(problem, pattern, certificate).faults[0]
