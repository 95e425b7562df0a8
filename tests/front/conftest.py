"""A protected table that several tests look at."""

import pytest

import cellveil as cv

FIRMS = {
    "region": ["N1"] * 5 + ["N2"] * 6 + ["S1"] * 6,
    "branch": ["food"] * 2 + ["wood"] * 3 + (["food"] * 3 + ["wood"] * 3) * 2,
    "firm": [f"f{number}" for number in range(17)],
    "sales": [9001, 303, 20, 25, 3012, 4003, 3502, 3001, 50, 4504, 2005, 20, 1506, 2507, 3008, 3509, 2010],
}
REGIONS = {"North": ["N1", "N2"], "South": ["S1"]}


@pytest.fixture(scope="session")
def protection():
    """Two regions with districts, two branches; one cell is dominated by one firm."""
    return cv.protect(
        FIRMS,
        ["region", "branch"],
        "sales",
        contributor="firm",
        rules="p%:10",
        hierarchies={"region": REGIONS},
        method="hypercube",
        labels={"region": {"N1": "<script>alert(1)</script>"}},
    )


@pytest.fixture(scope="session")
def open_audit(protection):
    """The audit of a pattern that hides too little."""
    problem = protection.problem
    return cv.audit(
        problem, cv.Pattern.hiding(problem, problem.hidden_at_start, "primaries only"), attackers="outsider"
    )


@pytest.fixture(scope="session")
def secrets(protection):
    """The true values of hidden cells, as text."""
    return {str(value) for value in protection.table.values[protection.pattern.hidden].tolist()}
