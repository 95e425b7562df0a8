"""Explanations against enumeration, the papers' derivations, and a check that shares no code with them."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from cellveil.attack import explain as module
from cellveil.attack.bound_propagation import unpick
from cellveil.attack.derivation import MAX_TERMS, Explanation, derive
from cellveil.attack.explain import Explainer, chain, explain
from cellveil.attack.intervals import OutsiderAttack
from cellveil.clock import Deadline
from cellveil.errors import InputError
from cellveil.judge import audit
from cellveil.judge.auditing import AuditParams
from cellveil.judge.explanations import ExplanationParams
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.public_view import PublicView
from cellveil.publishing import release
from cellveil.report.audit_figures import audit_figures
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from helpers import brute_force
from helpers.reports import HIDDEN, forms_of, parse, planted, public_page, report_on
from helpers.small_problems import SHAPES, half_hidden_problem, small_problem
from helpers.worked_examples import EXAMPLES, hiding, needs_examples, number, problem_of


def view_of(problem: Problem) -> PublicView:
    return PublicView.of(problem, Pattern.hiding(problem, problem.hidden_at_start, "given"))


def check(view: PublicView, found: Explanation, up: bool | None) -> None:
    """Add the relations up anew, and put in values and bounds: the text must say just that."""
    matrix = view.relations.matrix.toarray().astype(int).tolist()
    n = len(view.hidden)
    sums = [sum(times * matrix[row][k] for row, times in found.relations) for k in range(n)]
    right = sum(times * int(view.relations.rhs[row]) for row, times in found.relations)
    own = sums[found.cell] if found.relations else found.factor
    assert found.factor == own > 0
    assert right == found.constant
    expected_terms = {k: -sums[k] for k in range(n) if sums[k] and not view.hidden[k]}
    assert dict(found.terms) == expected_terms
    expected_left = {k: -sums[k] for k in range(n) if sums[k] and view.hidden[k] and k != found.cell}
    if not found.relations:
        expected_left = {found.cell: 1}
    assert {entry.cell: entry.coefficient for entry in found.left} == expected_left
    total = right + sum(coef * int(view.published[k]) for k, coef in expected_terms.items())
    for k, coef in expected_left.items():
        assert up is not None, "a value must not rest on bounds"
        bound = int(view.ub[k] if (coef > 0) == up else view.lb[k])
        assert abs(bound) < UNBOUNDED
        total += coef * bound
    assert found.bound == Fraction(total, found.factor)
    assert found.kind == ("exact" if not expected_left else "upper" if up else "lower")


@cache
def problems(shape: str) -> list[Problem]:
    rng = np.random.default_rng(SHAPES.index(shape))
    return [half_hidden_problem(shape, rng) for _ in range(5)]


def enlarged(problem: Problem, times: int) -> Problem:
    """The same with larger values, and bounds that are no multiples."""
    larger = {name: getattr(problem, name) * times for name in ("lpl", "upl", "spl")}
    table = problem.table.replace(values=problem.table.values * times)
    return problem.replace(table=table, ub=problem.ub * times + times // 3, **larger)


@pytest.mark.parametrize("times", [1, 10**6 + 3, 10**13 + 37])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_bound_is_explained_and_is_that_of_enumeration(shape: str, times: int) -> None:
    several = 0
    for problem in (enlarged(problem, times) for problem in problems(shape)):
        view = view_of(problem)
        explainer = Explainer(view)
        pattern = Pattern.hiding(problem, problem.hidden_at_start, "given")
        for cell, (low, high) in brute_force.intervals(problem, pattern).items():
            for up, bound in ((True, high), (False, low)):
                found = explainer.explain(cell, up=up)
                assert found is not None
                check(view, found, up)
                assert found.bound == bound
                several += len(found.relations) > 1
            value = explainer.explain(cell)
            if value is not None:
                check(view, value, None)
                assert low == high == value.bound
    assert several


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(SHAPES), st.integers(0, 2**32 - 1), st.integers(2, 14), st.sampled_from([0.0, 0.5, 1.0])
)
def test_bounds_are_those_of_the_attack_also_where_some_are_not_known(
    shape: str, seed: int, primaries: int, unknown: float
) -> None:
    rng = np.random.default_rng(seed)
    problem = small_problem(shape, rng, primaries=primaries)
    n = problem.table.num_cells
    problem = problem.replace(
        lb=np.where(rng.random(n) < unknown / 4, -UNBOUNDED, problem.lb),
        ub=np.where(rng.random(n) < unknown, UNBOUNDED, problem.ub),
    )
    view = view_of(problem)
    attack = OutsiderAttack(view, problem.table.values)
    explainer = Explainer(view, problem.table.values if seed % 2 else None)
    for cell in np.flatnonzero(view.hidden)[:6].tolist():
        for up in (True, False):
            extreme = attack.push(cell, up=up)
            assert extreme is not None
            found = explainer.explain(cell, up=up)
            if not np.isfinite(extreme):
                assert found is None
                continue
            assert found is not None
            check(view, found, up)
            assert float(found.bound) == pytest.approx(extreme, abs=1e-6)


def spans(rows: list[list[int]], cell: int) -> bool:
    """Whether some combination of the rows is 1 at the cell and 0 elsewhere."""
    unit = [int(k == cell) for k in range(len(rows[0]))]
    return bool(np.linalg.matrix_rank(np.array(rows)) == np.linalg.matrix_rank(np.array([*rows, unit])))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_value_is_explained_exactly_where_the_relations_determine_it(shape: str) -> None:
    for problem in problems(shape):
        view = view_of(problem)
        hidden = np.flatnonzero(view.hidden)
        rows = view.relations.matrix[:, hidden].toarray().astype(int).tolist()
        for place, cell in enumerate(hidden.tolist()):
            assert (explain(view, cell) is not None) == spans(rows, place)


def tightest(problem: Problem, view: PublicView, cell: int, up: bool, rows: tuple[int, ...]) -> float:
    """The bound that follows from these relations only, as a movement from the true table."""
    hidden = np.flatnonzero(view.hidden)
    values = problem.table.values
    cost = np.where(hidden == cell, -1.0 if up else 1.0, 0.0)
    capacities = np.column_stack([(view.lb - values)[hidden], (view.ub - values)[hidden]])
    matrix = view.relations.matrix[list(rows)][:, hidden].toarray()
    return -float(linprog(cost, A_eq=matrix, b_eq=np.zeros(len(rows)), bounds=capacities).fun)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_fewer_relations_do_it(shape: str) -> None:
    for problem in problems(shape)[:2]:
        view = view_of(problem)
        explainer = Explainer(view)
        touched = np.unique(view.relations.row_of_entry[view.hidden[view.relations.cells]]).tolist()
        for cell in np.flatnonzero(view.hidden).tolist():
            for up in (True, False):
                found = explainer.explain(cell, up=up)
                assert found is not None
                moved = abs(float(found.bound - int(problem.table.values[cell])))
                fewer = len(found.relations) - 1
                for rows in combinations(touched, fewer) if fewer > 0 else ():
                    assert tightest(problem, view, cell, up, rows) > moved + 1e-6


# -- the papers' tables -----------------------------------------------------------------------------------


def paper(name: str, suppressed: int | None = None) -> tuple[Problem, PublicView, Explainer]:
    problem = problem_of(EXAMPLES[name])
    cells = [] if suppressed is None else EXAMPLES[name]["patterns"][suppressed]["suppressed"]
    view = PublicView.of(problem, hiding(problem, cells))
    return problem, view, Explainer(view)


@needs_examples
@pytest.mark.parametrize(
    ("cell", "relations", "value"), [("1,1", 1, 1), ("2,2", 1, 6), ("2,5", 2, 21), ("1,5", 3, 12)]
)
def test_values_of_figure_1_by_column_and_by_chain(cell: str, relations: int, value: int) -> None:
    problem, view, explainer = paper("serpell2013-fig1")
    for up in (None, True, False):
        found = explainer.explain(number(problem, cell), up=up)
        assert found is not None
        check(view, found, up)
        assert (found.kind, len(found.relations), found.bound) == ("exact", relations, value)


@needs_examples
def test_figure_1_in_words() -> None:
    problem, view, explainer = paper("serpell2013-fig1")
    names = problem.table.cell_name
    first = explainer.explain(number(problem, "1,1"))
    assert first is not None
    assert first.text(names) == (
        "(r1, c1) = (Total, c1) − (r0, c1) − (r2, c1) − (r3, c1) − (r4, c1) − (r5, c1)"
    )
    assert first.text_with_values(names, view).endswith("− (r5, c1) [59]; that is = 1")
    second = explainer.explain(number(problem, "2,5"))
    assert second is not None
    assert second.text(names) == (
        "(r2, c5) = (r2, Total) − (Total, c2) + (r0, c2) + (r1, c2) + (r3, c2) + (r4, c2) ± … (5 more); "
        "by 2 relations together: the sums to (Total, c2) and (r2, Total)"
    )


@needs_examples
@pytest.mark.parametrize(("up", "relations", "bound", "other"), [(True, 1, 48, "0,4"), (False, 2, 36, "0,0")])
def test_partial_exposure_of_figure_1(up: bool, relations: int, bound: int, other: str) -> None:
    problem, view, explainer = paper("serpell2013-fig1")
    cell = number(problem, "1,4")
    assert explainer.explain(cell) is None
    found = explainer.explain(cell, up=up)
    assert found is not None
    check(view, found, up)
    assert (len(found.relations), found.bound) == (relations, bound)
    assert [entry.cell for entry in found.left] == [number(problem, other)]
    name = problem.table.cell_name(number(problem, other))
    assert f", as {name} cannot be negative" in found.text(problem.table.cell_name)


@needs_examples
def test_cox_table_takes_several_relations_together() -> None:
    """Two columns less two rows (or the other way round): no fewer do it, and no chain does."""
    problem, view, explainer = paper("serpell2013-fig3-cox")
    cell = number(problem, "0,0")
    found = explainer.explain(cell)
    assert found is not None
    check(view, found, None)
    assert (found.kind, found.bound, len(found.relations)) == ("exact", 100, 4)
    unpicked = unpick(view)
    for up in (True, False):
        told = chain(view, unpicked, cell, up=up)
        derived = told and derive(view, cell, told, up=up)
        assert not derived or derived.bound != 100
    for other in problem.primaries.tolist():
        if other != cell:
            assert explainer.explain(other) is None


@needs_examples
@pytest.mark.parametrize(
    ("name", "cell", "bounds", "relations"),
    [
        ("dewaal2020-table2", "0,0", (99, 103), (2, 1)),
        ("dewaal2020-table2", "1,0", (97, 101), (2, 1)),
        ("zhang-table1", "0,0", (800, 1025), (2, 1)),
        ("dewaal2020-example3", "0,0", (0, 19), (0, 1)),
        ("dewaal2020-example3", "4,2", (66, 85), (2, 1)),
    ],
)
def test_intervals_of_published_patterns(
    name: str, cell: str, bounds: tuple[int, int], relations: tuple[int, int]
) -> None:
    problem, view, explainer = paper(name, 0)
    for up in (False, True):
        found = explainer.explain(number(problem, cell), up=up)
        assert found is not None
        check(view, found, up)
        assert found.bound == bounds[up]
        assert len(found.relations) == relations[up]


# -- odd relations and what is said of them ---------------------------------------------------------------


def made(rows: list[list[tuple[int, int]]], published: dict[int, int], **options: list[int]) -> PublicView:
    n = 1 + max(cell for row in rows for cell, _ in row)
    hidden = np.array([cell not in published for cell in range(n)])
    values = np.array([published.get(cell, 0) for cell in range(n)], dtype=np.int64)
    lb = np.array(options.get("lb", [0] * n), dtype=np.int64)
    ub = np.array(options.get("ub", [UNBOUNDED] * n), dtype=np.int64)
    return PublicView(Relations.from_rows(n, rows, options.get("rhs")), hidden, values, lb, ub)


def name(cell: int) -> str:
    return "abcdefghij"[cell]


def test_fractions_are_scaled_to_whole_numbers() -> None:
    """b + c = a, b − c = d, both b and c hidden: 2 b = a + d."""
    view = made([[(1, 1), (2, 1), (0, -1)], [(1, 1), (2, -1), (3, -1)]], {0: 9, 3: 2})
    found = explain(view, 1)
    assert found is not None
    check(view, found, None)
    assert (found.factor, found.bound) == (2, Fraction(11, 2))
    assert found.text(name).startswith("2 · b = a + d; by 2 relations together")
    assert found.text_with_values(name, view).endswith("that is = 5.5")


def test_constants_and_bounds_other_than_zero_stand_in_the_sum() -> None:
    view = made([[(0, 3), (1, -2), (2, 1)]], {2: 4}, rhs=[10], lb=[1, 1, 0], ub=[50, 6, 9])
    found = explain(view, 0, up=True)
    assert found is not None
    check(view, found, True)
    assert found.bound == 6
    assert found.text(name) == "3 · a ≤ − c + 2 · the known upper bound of b + a known constant"
    assert found.text_with_values(name, view) == (
        "3 · a ≤ − c [4] + 2 · the known upper bound of b [6] + 10; that is ≤ 6"
    )


def test_what_is_known_beforehand_needs_no_relation() -> None:
    view = made([[(0, 1), (1, 1), (2, -1)]], {2: 100}, ub=[7, 95, 0], lb=[0, 93, 0])
    found = explain(view, 0, up=True)
    assert found is not None
    check(view, found, True)
    assert (found.bound, found.text(name)) == (7, "a ≤ its known upper bound")


def test_long_sums_are_cut() -> None:
    row = [(0, -1), *((cell, 1) for cell in range(1, 30))]
    view = made([row], {0: 400, **dict.fromkeys(range(2, 30), 3)})
    found = explain(view, 1)
    assert found is not None
    text = found.text(lambda cell: f"<{cell}>")
    assert text.count("<") == 1 + MAX_TERMS
    assert text.endswith(f"− … ({29 - MAX_TERMS} more)")


def test_zeros_come_last() -> None:
    view = made([[(0, -1), (1, 1), (2, 1), (3, 1), (4, 1)]], {0: 9, 2: 0, 3: 5, 4: 0})
    found = explain(view, 1)
    assert found is not None
    assert found.text(name) == "b = a − d − c − e"


def test_no_value_in_repr_or_text() -> None:
    view = made([[(0, -1), (1, 1), (2, 1), (3, 1)]], {0: 9731, 3: 111}, lb=[0, 0, 777, 0])
    found = explain(view, 1, up=True)
    assert found is not None
    shown = f"{found!r} {found.text(name)} {[repr(entry) for entry in found.left]}"
    for value in (9731, 111, 777, 8843):
        assert str(value) not in shown
    assert "8843" in found.text_with_values(name, view)


def test_numbers_beyond_64_bits_are_exact() -> None:
    large = 2**61
    view = made(
        [[(0, -1), (1, 1), (2, 1)], [(2, 3), (3, 1), (4, -2)]], {0: large - 1, 3: large, 4: large + 1}
    )
    found = explain(view, 1)
    assert found is not None
    check(view, found, None)
    assert found.bound == large - 1 - Fraction(2 * (large + 1) - large, 3)


def test_only_hidden_cells_are_explained() -> None:
    view = made([[(0, -1), (1, 1)]], {0: 9})
    with pytest.raises(InputError, match="only a hidden cell"):
        explain(view, 0, names=name)
    with pytest.raises(InputError, match="only a hidden cell"):
        explain(view, 2, names=name)


def test_no_bound_no_explanation() -> None:
    view = made([[(0, -1), (1, 1), (2, 1)]], {0: 9}, lb=[0, -UNBOUNDED, -UNBOUNDED])
    for up in (None, True, False):
        assert explain(view, 1, up=up) is None


def test_without_time_only_what_needs_no_lp_is_explained() -> None:
    problem = problem_of(EXAMPLES["serpell2013-fig1"]) if EXAMPLES else pytest.skip("no examples")
    view = view_of(problem)
    explainer = Explainer(view, problem.table.values, deadline=Deadline(0.0))
    found = explainer.explain(number(problem, "1,5"))
    assert found is not None
    assert found.bound == 12
    assert explainer.explain(number(problem, "0,0"), up=True) is None


def test_what_cannot_be_made_exact_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Multipliers that are a little off leave hidden cells behind, and are thrown away."""
    if not EXAMPLES:
        pytest.skip("no examples")
    problem, _, explainer = paper("serpell2013-fig3-cox")
    solve = module._Dual.solve

    def off(self: module._Dual, *arguments: object) -> object:
        point = solve(self, *arguments)  # type: ignore[arg-type]
        return None if point is None else point * np.linspace(1.0, 1.01, len(point))

    monkeypatch.setattr(module._Dual, "solve", off)
    assert explainer.explain(number(problem, "0,0")) is None


# -- the judge's side -------------------------------------------------------------------------------------

HEADING = "How cells could be worked out"


def explained(problem: Problem, pattern: Pattern, **options: float) -> dict[str, str | None]:
    """The explanation of each cell that the audit did not show safe."""
    figures = audit_figures(audit(problem, pattern, **options))  # type: ignore[arg-type]
    json.dumps(figures, allow_nan=False)
    assert all(("explanation" in cell) != cell["safe"] for cell in figures["cells"])
    return {cell["cell"]: cell["explanation"] for cell in figures["cells"] if not cell["safe"]}


def primaries_only(problem: Problem) -> Pattern:
    return Pattern.hiding(problem, problem.hidden_at_start, "primaries only")


def test_figures_of_an_audit_explain_unsafe_cells_without_values() -> None:
    problem, _ = planted()
    told = explained(problem, primaries_only(problem))
    assert told == {"(A, N)": "(A, N) = (Total, N) − (B, N) − (C, N)"}


@pytest.mark.parametrize(("up", "down", "signs"), [(0, 0, ""), (1, 0, "≤"), (0, 1, "≥"), (1, 1, "≤≥")])
def test_only_the_bounds_that_are_too_tight_are_told(up: int, down: int, signs: str) -> None:
    """In a square of hidden cells (A, N) rises until (B, N) is 0, and falls until (B, S) is."""
    problem, pattern = planted()
    at = np.arange(16) == problem.primaries[0]
    upl, lpl = np.where(at, HIDDEN["B", "N"] + up, 0), np.where(at, HIDDEN["B", "S"] + down, 0)
    told = explained(problem.replace(upl=upl, lpl=lpl), pattern).get("(A, N)") or ""
    assert [sign for sign in told if sign in "=≤≥"] == list(signs)


def test_an_interval_too_narrow_is_told_by_both_ends() -> None:
    problem, pattern = planted()
    cell = int(problem.primaries[0])
    nothing = np.zeros(16, dtype=np.int64)
    wide = np.where(np.arange(16) == cell, 10**9, 0)
    told = explained(problem.replace(lpl=nothing, upl=nothing, spl=wide), pattern)["(A, N)"]
    assert told is not None
    assert told.startswith("(A, N) ≤ ") and "; and (A, N) ≥ " in told


def test_a_published_primary_is_said_to_be_published() -> None:
    problem, _ = planted()
    told = explained(problem, Pattern(np.zeros(16, dtype=np.int8), "nothing"))
    assert told == {"(A, N)": "(A, N) is published"}


def test_nothing_is_claimed_of_cells_that_were_merely_not_shown_safe() -> None:
    problem, pattern = planted()
    assert explained(problem, pattern) == {}
    assert explained(problem, pattern, time_limit=0.0) == {"(A, N)": None}


def test_explanations_are_limited() -> None:
    params = AuditParams(explanations=ExplanationParams(cells=2))
    problem, _ = planted([("A", "N"), ("B", "S"), ("C", "W")])
    told = explained(problem, primaries_only(problem), params=params)
    assert [text is None for text in told.values()] == [False, False, True]


def test_the_internal_page_explains_and_shows_no_hidden_value() -> None:
    problem, pattern = planted()
    assert HEADING not in report_on(problem, pattern).to_html()
    page = report_on(problem, primaries_only(problem)).to_html()
    assert HEADING in parse(page).texts
    assert "(A, N) = (Total, N) − (B, N) − (C, N)" in parse(page).texts
    assert not [form for form in forms_of(HIDDEN["A", "N"]) if form in page]


def test_no_public_file_explains(tmp_path: Path) -> None:
    problem, _ = planted()
    pattern = primaries_only(problem)
    verdict = audit(problem, pattern)
    release(verdict, tmp_path / "out", formats=["csv", "html"], override="a reason")
    texts = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(texts) > 1
    for text in [*texts, public_page(problem, PublicView.of(problem, pattern))]:
        assert "(A, N) =" not in text and HEADING not in text
