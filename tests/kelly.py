"""The cheapest safe pattern by one mixed-integer program with all deviations in it; for small tables.

min Σ w_i x_i  such that for each primary p there are deviations u and v (M u = M v = 0) with
−down_i x_i ≤ u_i, v_i ≤ up_i x_i,  u_p ≥ upl_p,  −v_p ≥ lpl_p,  u_p − v_p ≥ spl_p
(Kelly, Golden & Assad 1992).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix, csr_matrix, eye, hstack, vstack

from cellveil.problem import Problem, Status


def cheapest(problem: Problem) -> float | None:
    """Cost of the cheapest safe pattern beyond what is hidden at the start; None where none is safe.

    Requires finite bounds.
    """
    n = problem.table.num_cells
    assert np.isfinite(problem.up).all() and np.isfinite(problem.down).all()
    relations = problem.table.relations.matrix.tocsr().astype(np.float64)
    up, down = (np.where(problem.status == Status.FROZEN, 0.0, room) for room in (problem.up, problem.down))
    blocks = 2 * len(problem.primaries)
    above, below = csr_matrix(-np.diag(up)), csr_matrix(-np.diag(down))
    rows, lower, upper = [], [], []

    def add(over_x: csr_matrix | None, parts: dict[int, csr_matrix], least: float, most: float) -> None:
        height = next(iter(parts.values())).shape[0]
        empty = csr_matrix((height, n))
        rows.append(
            hstack([empty if over_x is None else over_x, *(parts.get(b, empty) for b in range(blocks))])
        )
        lower.append(np.full(height, least))
        upper.append(np.full(height, most))

    one = eye(n, format="csr")
    for k, cell in enumerate(problem.primaries.tolist()):
        pick = coo_matrix(([1.0], ([0], [cell])), shape=(1, n)).tocsr()
        for block in (2 * k, 2 * k + 1):
            add(None, {block: relations}, 0.0, 0.0)
            add(above, {block: one}, -np.inf, 0.0)
            add(below, {block: -one}, -np.inf, 0.0)
        add(None, {2 * k: pick}, float(problem.upl[cell]), np.inf)
        add(None, {2 * k + 1: -pick}, float(problem.lpl[cell]), np.inf)
        add(None, {2 * k: pick, 2 * k + 1: -pick}, float(problem.spl[cell]), np.inf)
    moves = blocks * n
    answer = milp(
        np.concatenate([np.where(problem.hidden_at_start, 0.0, problem.weight), np.zeros(moves)]),
        integrality=np.concatenate([np.ones(n), np.zeros(moves)]),
        bounds=Bounds(
            np.concatenate([problem.hidden_at_start.astype(float), np.full(moves, -np.inf)]),
            np.concatenate([np.ones(n), np.full(moves, np.inf)]),
        ),
        constraints=LinearConstraint(vstack(rows).tocsr(), np.concatenate(lower), np.concatenate(upper)),
        options={"mip_rel_gap": 0.0, "presolve": False},  # with it, HiGHS missed a known optimum
    )
    assert answer.status in (0, 2), answer.message
    return None if answer.status == 2 else float(answer.fun)
