"""Protecting candidates first: the audit has the last word."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.datasets import random_table, two_way
from cellveil.errors import InfeasibleError
from cellveil.judge.exposure import ALGORITHMS, candidates
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.suppression import METHODS, suppress
from cellveil.suppression.draft import Draft
from cellveil.suppression.methods.optimal import optimal
from cellveil.suppression.methods.sequential import SequentialParams
from cellveil.suppression.methods.textbook import TextbookParams, textbook
from cellveil.suppression.presolve.preparation import ProtectParams, prepared

METHODS_WITH_IT = [name for name, entry in METHODS.items() if "protect" in entry.options]


def figure_1() -> Problem:
    """The table of figures 1 and 2 of Serpell et al. (2013)."""
    interior = [
        [9, 51, 41, 47, 3, 48], [8, 1, 54, 44, 45, 12], [8, 70, 6, 76, 64, 21],
        [33, 46, 45, 27, 37, 60], [87, 51, 18, 35, 49, 72], [48, 59, 39, 65, 35, 58],
    ]  # fmt: skip
    primaries = [(0, 0), (0, 4), (1, 0), (1, 1), (1, 4), (1, 5), (2, 2), (2, 5)]
    return two_way(interior, primaries, level=0.10)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", METHODS_WITH_IT)
def test_the_worked_example_is_protected(method: str, algorithm: str) -> None:
    problem = figure_1()
    result = suppress(problem, method, attackers=[], options={"protect": algorithm})
    assert result.is_safe
    if method == "optimal":
        assert result.outcome == "optimal"
        assert result.cost + problem.weight[problem.primaries].sum() == 223


def test_the_methods_of_the_paper_have_it() -> None:
    assert {"optimal", "sequential", "elimination", "textbook"} == set(METHODS_WITH_IT)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("method", ["sequential", "elimination"])
def test_safe_whatever_is_protected_first(method: str, algorithm: str) -> None:
    for seed in range(3):
        problem = random_table((9, 6), hierarchical=[0], contributors=2, zeros=0.2, seed=seed)
        result = suppress(problem, method, attackers=[], options={"protect": algorithm})
        assert audit_outsider(problem, result.pattern, exact=False).is_safe


def test_only_the_chosen_have_demands_and_all_stay_hidden() -> None:
    problem = figure_1()
    chosen = candidates(problem, "K5")
    fewer = problem.only(chosen)
    assert fewer.primaries.tolist() == np.flatnonzero(chosen).tolist()
    assert (fewer.hidden_at_start == problem.hidden_at_start).all()
    assert (
        fewer.status[problem.status != Status.PRIMARY] == problem.status[problem.status != Status.PRIMARY]
    ).all()


def lazy(problem: Problem, **_: object) -> Draft:
    """Protects as soon as all primaries are asked for; hides nothing for fewer."""
    if len(problem.primaries) < 8:
        return Draft(problem.hidden_at_start.copy())
    return Draft(np.ones(problem.table.num_cells, dtype=bool))


def test_where_the_audit_finds_one_unprotected_all_are_protected() -> None:
    problem = figure_1()
    draft = prepared(lazy)(problem, params=ProtectParams(protect="K5"))
    assert draft.figures == {"primaries protected": 4, "runs": 2}
    assert audit_outsider(problem, Pattern.hiding(problem, draft.hidden, "lazy")).is_safe
    once = METHODS["sequential"].run(problem, params=SequentialParams(protect="K5"))
    assert once.figures["runs"] == 1
    pattern = Pattern.hiding(problem, once.hidden, "once")
    assert audit_outsider(problem, pattern, exact=False, claims=once.witnesses).num_lps == 0


def test_k5_is_no_guarantee_and_the_audit_notices() -> None:
    """The first two cells of the first row move against each other through the last row: the third stays.

    It is exposed only after the other two, shares both its relations with primaries that could absorb it, and
    so K5 leaves it out; but the cheapest pattern for K5 does not move it.
    """
    problem = two_way(
        [[50, 50, 50, 900], [900, 900, 60, 20], [900, 900, 20, 20], [20, 20, 900, 900]],
        primaries={(0, 0): 5, (0, 1): 5, (0, 2): 5, (1, 2): 6},
    )
    left_out = problem.table.cell("r0", "c2")
    chosen = candidates(problem, "K5")
    assert chosen.sum() == 3 and not chosen[left_out] and candidates(problem, "E")[left_out]
    cheapest = optimal(problem.only(chosen))
    assert cheapest.lower_bound == 100
    report = audit_outsider(problem, Pattern.hiding(problem, cheapest.hidden, "K5"))
    assert report.unsafe_cells.tolist() == [left_out]
    mended = suppress(problem, "optimal", attackers=[], options={"protect": "K5"})
    assert mended.is_safe and mended.cost == suppress(problem, "optimal", attackers=[]).cost == 940


def test_infeasible_problems_name_all_cells() -> None:
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): (25, 2), (1, 1): (1, 1)})
    with pytest.raises(InfeasibleError) as caught:
        suppress(problem, "sequential", attackers=[], options={"protect": "K5"})
    assert set(caught.value.cells) == {"(r0, c0)"}


def test_the_plain_program_solves_one_for_every_demand() -> None:
    problem = figure_1()
    for order in ("descending", "ascending", "given"):
        plain = textbook(problem, params=TextbookParams(harvest=False, order=order))
        assert plain.num_lps == 2 * len(problem.primaries)
        assert audit_outsider(problem, Pattern.hiding(problem, plain.hidden, "plain"), exact=False).is_safe
    assert textbook(problem).num_lps < 2 * len(problem.primaries)
