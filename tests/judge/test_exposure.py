"""Exposure sets and candidates against the papers' tables and the definitions in fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cellveil.datasets import random_table, two_way
from cellveil.errors import InputError
from cellveil.judge.exposure import ALGORITHMS, SETS, Exposure, candidates, exposure
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.solvers.lp import LiveLP, LPAnswer, LPStatus
from cellveil.tables.relations import Relations
from helpers.bound_propagation import reference
from helpers.brute_force import intervals, is_protected
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem
from helpers.worked_examples import EXAMPLES, needs_examples, number, problem_of

Range = tuple[Fraction, Fraction]


def primaries_only(problem: Problem) -> Pattern:
    hidden = problem.status == Status.PRIMARY
    return Pattern(np.where(hidden, Status.PRIMARY, Status.SAFE).astype(np.int8), "primaries")


def cells(mask: np.ndarray) -> set[int]:
    return set(np.flatnonzero(mask).tolist())


# -- the definitions, in fractions ---------------------------------------------------------------------------


def solved_for(problem: Problem, cell: int) -> list[tuple[Fraction, dict[int, Fraction]]]:
    """Each relation of the cell as  a_p = constant − Σ N_i a_i  over the other primary cells."""
    relations, values, found = problem.table.relations, problem.table.values, []
    primary = set(problem.primaries.tolist())
    for row in range(len(relations)):
        entries = {int(i): Fraction(int(c)) for i, c in zip(*relations.row(row), strict=True) if c}
        if cell in entries:
            own = entries.pop(cell)
            known = sum((c * int(values[i]) for i, c in entries.items() if i not in primary), Fraction(0))
            others = {i: c / own for i, c in entries.items() if i in primary}
            found.append(((int(relations.rhs[row]) - known) / own, others))
    return found


def protected(problem: Problem, cell: int) -> Range:
    """The absolute bounds of the protected range: lpl and upl in the paper's notation."""
    value = Fraction(int(problem.table.values[cell]))
    return value - int(problem.lpl[cell]), value + int(problem.upl[cell])


def from_levels(problem: Problem, cell: int) -> Range:
    """Equations (6) and (7): the others within their protected ranges bound the cell."""
    lows, highs = [], []
    for constant, others in solved_for(problem, cell):
        ranges = [sorted(n * end for end in protected(problem, i)) for i, n in others.items()]
        lows.append(constant - sum((high for _, high in ranges), Fraction(0)))
        highs.append(constant - sum((low for low, _ in ranges), Fraction(0)))
    return max(lows), min(highs)


def by_definition(problem: Problem, cell: int) -> set[str]:
    """Those of K_1, K_pl, K_nv and K_s that hold the cell."""
    values, (least, most), found = problem.table.values, protected(problem, cell), set()
    low, high = from_levels(problem, cell)
    if low > least or high < most:
        found.add("K_pl")
    for _, others in solved_for(problem, cell):
        joint = sum((abs(n) * int(problem.lpl[i] + problem.upl[i]) for i, n in others.items()), Fraction(0))
        total = sum((n * int(values[i]) for i, n in others.items()), Fraction(0))
        found |= {"K_pl"} if int(problem.spl[cell]) > joint else set()
        found |= {"K_1"} if not others else set()
        found |= {"K_nv"} if most > total else set()
        found |= {"K_s"} if most > 3 * total else set()
    return found


@cache
def examples(shape: str) -> list[Problem]:
    """Few primaries anywhere, and some that can move together."""
    rng = np.random.default_rng(200 + SHAPES.index(shape))
    together = [half_hidden_problem(shape, rng) for _ in range(10)]
    return [small_problem(shape, rng, primaries=k) for k in (1, 4, 8)] + [
        all_primary(problem, rng) for problem in together
    ]


def all_primary(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same with levels for every hidden cell."""
    values, extra = problem.table.values, problem.status == Status.SECONDARY
    level = rng.integers(1, np.maximum(2, values // 3))
    return problem.replace(
        status=np.where(extra, Status.PRIMARY, problem.status).astype(np.int8),
        lpl=np.where(extra, np.minimum(level, values), problem.lpl),
        upl=np.where(extra, level, problem.upl),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_exposed_cells_equal_enumeration(shape: str) -> None:
    kinds = set()
    for problem in examples(shape):
        sets, pattern = exposure(problem), primaries_only(problem)
        safe, ends = is_protected(problem, pattern), intervals(problem, pattern)
        exposed = {cell for cell in safe if not safe[cell]}
        points = {cell for cell in exposed if ends[cell][0] == ends[cell][1]}
        assert cells(sets.E) == exposed
        assert cells(sets.E_f) == points
        assert cells(sets.E_p) == exposed - points
        kinds |= {"safe" if safe[cell] else "point" if cell in points else "part" for cell in safe}
    assert kinds == {"safe", "point", "part"}, "the examples must show all kinds"


@pytest.mark.parametrize("shape", SHAPES)
def test_unpicked_cells_equal_the_definition(shape: str) -> None:
    for problem in examples(shape):
        low, high = reference(PublicView.of(problem, primaries_only(problem)), 1000)
        expected = set()
        for cell in problem.primaries.tolist():
            least, most = protected(problem, cell)
            if low[cell] > least or high[cell] < most or high[cell] - low[cell] < problem.spl[cell]:
                expected.add(cell)
        sets = exposure(problem)
        assert cells(sets.E_u) == expected
        assert cells(sets.K_n) == cells(sets.E) - expected


def test_sets_of_single_relations_equal_the_definitions() -> None:
    seen: dict[str, set[bool]] = {name: set() for name in ("K_1", "K_pl", "K_nv", "K_s")}
    for problem in (problem for shape in SHAPES for problem in examples(shape)):
        sets = exposure(problem)
        for cell in problem.primaries.tolist():
            expected = by_definition(problem, cell)
            for name, both in seen.items():
                assert getattr(sets, name)[cell] == (name in expected), (name, cell)
                both.add(name in expected)
    assert all(both == {True, False} for both in seen.values()), "every set must hold some cells, not all"


@pytest.mark.parametrize("factor", [1, 2**52])
def test_any_coefficients_and_large_values(factor: int) -> None:
    """Relations with other coefficients and right-hand sides; sums beyond 64 bits."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        start = small_problem("flat 2-D", rng, primaries=6)
        values, n = start.table.values * factor, start.table.num_cells
        rows = []
        for _ in range(6):
            coefs = rng.choice([-3, -2, -1, 1, 2, 4], 7).tolist()
            rows.append(list(zip(rng.permutation(n)[:7].tolist(), coefs, strict=True)))
        rhs = [sum(c * int(values[i]) for i, c in row) for row in rows]
        keep = [k for k, b in enumerate(rhs) if abs(b) < 2**62]
        relations = Relations.from_rows(n, [rows[k] for k in keep], [rhs[k] for k in keep])
        problem = start.replace(
            table=start.table.replace(values=values, relations=relations),
            **{name: getattr(start, name) * factor for name in ("lb", "ub", "lpl", "upl", "spl")},
        )
        sets = exposure(problem)
        for cell in problem.primaries.tolist():
            expected = by_definition(problem, cell) if solved_for(problem, cell) else set()
            assert {name for name in ("K_1", "K_pl", "K_nv", "K_s") if getattr(sets, name)[cell]} == expected
        assert not (sets.E_u & ~sets.E).any()


# -- inclusions, and what the sets are for -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_inclusions(seed: int) -> None:
    problem = random_table((7, 6, 5), primaries=0.5, seed=seed)
    sets, primary = exposure(problem), problem.status == Status.PRIMARY
    for name in SETS:
        assert not (getattr(sets, name) & ~primary).any(), name
    assert (sets.E_f | sets.E_p == sets.E).all()
    assert not (sets.E_f & sets.E_p).any()
    assert not (sets.E_u & ~sets.E).any()
    assert (sets.E_u | sets.K_n == sets.E).all()
    assert not (sets.E_u & sets.K_n).any()
    assert not (sets.K_1 & ~sets.E_f).any()  # a cell alone in a relation is known exactly
    assert not (sets.K_1 & ~(sets.K_pl & sets.K_nv & sets.K_s)).any()
    for algorithm in ALGORITHMS:
        assert not (sets.candidates(algorithm) & ~sets.E).any()
    assert sets.E.any() and (primary & ~sets.E).any()


def test_algorithms_are_put_together_as_in_the_paper() -> None:
    problem = random_table((7, 6, 5), primaries=0.5, seed=0)
    sets = exposure(problem)
    E, E_p, K_1, K_pl, K_nv, K_s, K_n = (
        cells(getattr(sets, name)) for name in ("E", "E_p", "K_1", "K_pl", "K_nv", "K_s", "K_n")
    )
    expected = {
        "E": E,
        "K1": K_1 | (K_s & E),
        "K3": K_1 | E_p | K_n,
        "K5": K_1 | (K_pl & E) | (K_nv & E) | K_n,
    }
    assert set(ALGORITHMS) == set(expected)
    for name, wanted in expected.items():
        assert cells(candidates(problem, name)) == wanted
    assert cells(candidates(problem)) == expected["K5"]


def test_an_unknown_algorithm_is_named() -> None:
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    with pytest.raises(InputError, match=r"no algorithm 'K4'"):
        candidates(problem, "K4")


def test_only_primaries_count_as_hidden() -> None:
    """Secondary suppressions that would protect the cell change nothing."""
    problem = two_way([[20, 50], [8, 19]], primaries={(0, 0): 3})
    status = problem.status.copy()
    status[[number(problem, cell) for cell in ([0, 1], [1, 0], [1, 1])]] = Status.SECONDARY
    hidden = problem.replace(status=status)
    for one in (problem, hidden):
        sets = exposure(one)
        assert cells(sets.E) == cells(sets.E_f) == cells(sets.E_u) == {number(problem, [0, 0])}


def test_without_primaries_all_sets_are_empty() -> None:
    sets = exposure(two_way([[20, 50], [8, 19]]))
    assert not any(getattr(sets, name).any() for name in SETS)
    assert not sets.candidates("K3").any()


def test_without_answers_every_cell_counts_as_exposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells that nobody could show safe are candidates; none of them is called fully exposed for that."""
    problem = random_table((4, 4, 4), primaries=0.85, zeros=0.0, seed=2)
    before = exposure(problem)
    assert cells(before.E) < set(problem.primaries.tolist())
    monkeypatch.setattr("cellveil.judge.outsider.prove_by_cubes_and_sums", lambda *args, **options: 0)
    monkeypatch.setattr("cellveil.judge.cell_judge.CellJudge.attack_together", lambda *_: None)
    monkeypatch.setattr(LiveLP, "solve", lambda *_, **__: LPAnswer(LPStatus.UNKNOWN, None))
    after = exposure(problem)
    assert cells(after.E) == set(problem.primaries.tolist())
    assert cells(after.E_f) <= cells(before.E_f)
    assert not (before.E & ~after.candidates("E")).any()


# -- the papers' tables --------------------------------------------------------------------------------------


def figure_one() -> Problem:
    """Figure 1 with a decimal, so that ten per cent (at least 1) of each value is exact."""
    example = EXAMPLES["serpell2013-fig1"]
    levels = {(i, j): max(10, example["interior"][i][j]) for i, j in example["primaries"]}
    return two_way(example["interior"], levels, decimals=1)


def numbers(problem: Problem, places: list[list[int]]) -> set[int]:
    return {number(problem, place) for place in places}


@needs_examples
def test_figure_one() -> None:
    problem = figure_one()
    expected = EXAMPLES["serpell2013-fig1"]["attack_with_only_primaries_suppressed"]
    sets = exposure(problem)
    assert cells(sets.E) == numbers(problem, expected["E"])
    assert cells(sets.E_f) == numbers(problem, expected["E_fully"])
    assert cells(sets.E_p) == numbers(problem, expected["E_partially"])
    assert cells(sets.E_u) == numbers(problem, expected["E_unpicking"])
    assert cells(sets.K_pl) == numbers(problem, expected["K_pl"])
    assert cells(sets.K_1) == numbers(problem, [[1, 1], [2, 2]])
    assert not sets.K_n.any()
    initially = numbers(problem, expected["initially_exposed_I"])
    for algorithm in ("E", "K1", "K3", "K5"):
        assert initially <= cells(sets.candidates(algorithm))
    assert cells(sets.candidates("K5")) == numbers(problem, expected["K_pl"])


@needs_examples
def test_table_one_of_the_paper() -> None:
    """Protected ranges and the bounds of equations (6) and (7).

    For C6 the printed bounds 19.8 and 22.2 are those of its column; its row, where C3 ranges from 5 to 7,
    gives 20 and 22. The verdict is the same.
    """
    problem = figure_one()
    printed = {
        (0, 0): ((8, 10), (8, 10)),
        (0, 4): ((2, 4), (2, 4)),
        (1, 0): ((7, 9), (7, 9)),
        (1, 1): ((0, 2), (1, 1)),
        (1, 4): ((40.5, 49.5), (44, 46)),
        (1, 5): ((10.8, 13.2), (9.9, 14.1)),
        (2, 2): ((5, 7), (6, 6)),
        (2, 5): ((18.9, 23.1), (20, 22)),
    }
    for place, (wanted, bounds) in printed.items():
        cell = number(problem, list(place))
        assert tuple(float(end / 10) for end in protected(problem, cell)) == wanted
        assert tuple(float(end / 10) for end in from_levels(problem, cell)) == bounds


@needs_examples
def test_cox_table() -> None:
    problem = problem_of(EXAMPLES["serpell2013-fig3-cox"])
    sets = exposure(problem)
    corner = {number(problem, [0, 0])}
    assert cells(sets.E) == cells(sets.E_f) == cells(sets.K_n) == corner
    assert not sets.E_u.any()
    assert not sets.K_1.any()
    assert cells(sets.candidates("K5")) == cells(sets.candidates("K3")) == corner
    assert sets.reasons(corner.pop())[-1] == "its very value follows from several relations taken together"


# -- words ---------------------------------------------------------------------------------------------------


def test_reasons_name_the_relation() -> None:
    problem = two_way([[9, 51, 7], [8, 44, 45], [30, 20, 10]], {(0, 2): 1, (1, 0): 1, (1, 2): 5})
    sets = exposure(problem)
    assert sets.reasons(number(problem, [1, 0])) == [
        "alone among the primary cells in the relation (Total, c0) = (r0, c0) + (r1, c0) + (r2, c0)",
        "its very value follows by unpicking, in the end along (Total, c0) = (r0, c0) + (r1, c0) + (r2, c0)",
    ]
    column = "(Total, c2) = (r0, c2) + (r1, c2) + (r2, c2)"
    assert sets.reasons(number(problem, [1, 2])) == [
        f"the other primary cells' levels cannot absorb its own in the relation {column}",
        f"with its level larger than the other primary cells together in the relation {column}",
        "with its level larger than three times the other primary cells together in the relation " + column,
        f"its very value follows by unpicking, in the end along {column}",
    ]
    assert sets.reasons(number(problem, [2, 2])) == []


@pytest.mark.parametrize("shape", SHAPES)
def test_reasons_and_repr_hold_no_value(shape: str) -> None:
    """Nothing is said of cells in no set; values would show as numbers far from any code or count."""
    for problem in examples(shape)[:3]:
        values = problem.table.values + 7_000_000_000
        sets = exposure(problem)
        told = Exposure(
            problem.replace(table=problem.table.replace(values=values), lb=values, ub=values),
            *(getattr(sets, name) for name in SETS), sets.unpicked, sets.found_in,
        )  # fmt: skip
        for cell in range(problem.table.num_cells):
            assert "70000" not in " ".join(told.reasons(cell))
            assert bool(told.reasons(cell)) == any(getattr(sets, name)[cell] for name in SETS)
        assert "70000" not in repr(told)
