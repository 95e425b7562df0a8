"""Cheapest flows: against linear programming on random graphs, and what they promise at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

from cellveil.arrays import Int
from cellveil.solvers.min_cost_flow import LARGEST_ROOM, graph_of, largest_cost, min_cost_flow, work_for


def random_network(rng: np.random.Generator) -> dict:
    nodes, arcs = int(rng.integers(2, 12)), int(rng.integers(1, 40))
    return {
        "num_nodes": nodes,
        "tail": rng.integers(0, nodes, arcs),
        "head": rng.integers(0, nodes, arcs),
        "rooms": tuple(rng.integers(0, 9, arcs) * (rng.random(arcs) < 0.7) for _ in range(2)),
        "costs": tuple(rng.integers(0, 6, arcs).astype(float) for _ in range(2)),
    }


def balance(network: dict, flow: Int) -> Int:
    surplus = np.zeros(network["num_nodes"], dtype=np.int64)
    np.add.at(surplus, network["head"], flow)
    np.subtract.at(surplus, network["tail"], flow)
    return surplus


def cost_of(network: dict, flow: Int) -> float:
    down, up = network["costs"]
    return float(up @ np.maximum(flow, 0) + down @ np.maximum(-flow, 0))


def by_linear_programming(network: dict, source: int, sink: int, amount: int | None) -> float | None:
    """The least cost of an amount, or the largest amount."""
    arcs, nodes = len(network["tail"]), network["num_nodes"]
    matrix = np.zeros((nodes, arcs))
    np.add.at(matrix, (network["head"], np.arange(arcs)), 1)
    np.subtract.at(matrix, (network["tail"], np.arange(arcs)), 1)
    both = np.hstack([matrix, -matrix])
    down, up = network["rooms"]
    bounds = list(zip(np.zeros(2 * arcs), np.concatenate([up, down]), strict=True))
    inner = [node for node in range(nodes) if node not in (source, sink)]
    if amount is None:
        answer = linprog(-both[sink], A_eq=both[inner], b_eq=np.zeros(len(inner)), bounds=bounds)
        return -answer.fun
    wanted = np.zeros(nodes)
    wanted[sink], wanted[source] = amount, -amount
    costs = np.concatenate([network["costs"][1], network["costs"][0]])
    answer = linprog(costs, A_eq=both, b_eq=wanted, bounds=bounds)
    return answer.fun if answer.status == 0 else None


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), amount=st.integers(1, 12))
def test_as_cheap_as_the_linear_program(seed, amount):
    network = random_network(np.random.default_rng(seed))
    source, sink = 0, network["num_nodes"] - 1
    flow = min_cost_flow(**network, source=source, sink=sink, amount=amount)
    down, up = network["rooms"]
    assert ((-down <= flow.arcs) & (flow.arcs <= up)).all()
    surplus = balance(network, flow.arcs)
    assert surplus[sink] == flow.amount == -surplus[source]
    assert not surplus[1:-1].any()
    if flow.amount < amount:
        assert by_linear_programming(network, source, sink, None) == pytest.approx(flow.amount)
    assert by_linear_programming(network, source, sink, flow.amount) == pytest.approx(
        cost_of(network, flow.arcs)
    )


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), amount=st.integers(1, 30))
def test_flows_within_chosen_arcs_are_as_large_as_maximum_flows(seed, amount):
    from cellveil.loops.min_cost_flow import clear, send_within

    rng = np.random.default_rng(seed)
    network = random_network(rng)
    nodes, arcs = network["num_nodes"], len(network["tail"])
    down, up = network["rooms"]
    allowed = rng.random(arcs) < 0.8
    own = int(rng.integers(-1, arcs))
    graph = graph_of(nodes, network["tail"], network["head"], down, up)
    work = work_for(graph)
    for _ in range(2):  # the second time with what the first has left behind
        sent = send_within(graph, allowed, work, own, 0, nodes - 1, amount)
        flow = work.flow.copy()
        clear(work)
        assert not work.flow.any() and not work.is_touched.any()
    usable = allowed & (np.arange(arcs) != own) & (network["tail"] != network["head"])
    capacity = np.zeros((nodes + 1, nodes + 1), dtype=np.int32)
    np.add.at(capacity, (network["tail"][usable], network["head"][usable]), up[usable])
    np.add.at(capacity, (network["head"][usable], network["tail"][usable]), down[usable])
    capacity[nodes, 0] = amount
    possible = maximum_flow(csr_matrix(capacity), nodes, nodes - 1).flow_value
    assert sent == possible or (possible < amount and sent == 0)
    assert not flow[~usable].any()
    assert ((-down <= flow) & (flow <= up)).all()
    surplus = balance(network, flow)
    assert surplus[-1] == sent == -surplus[0]
    assert not surplus[1:-1].any()


def test_fractional_and_huge_costs_are_rounded_but_order_is_kept():
    nodes = np.array([0, 0, 0]), np.array([1, 1, 1])
    rooms = np.zeros(3, dtype=np.int64), np.full(3, 5)
    costs = np.zeros(3), np.array([0.3e30, 0.1e30, 0.2e30])
    assert min_cost_flow(2, *nodes, rooms, costs, 0, 1, 7).arcs.tolist() == [0, 5, 2]


def test_amounts_near_the_limit_stay_exact():
    nodes = np.array([0, 0, 1]), np.array([1, 2, 2])
    top = np.iinfo(np.int64).max
    rooms = np.full(3, top), np.full(3, top)
    amount = 2**60 + 1
    flow = min_cost_flow(3, *nodes, rooms, (np.ones(3), np.array([1.0, 3.0, 1.0])), 0, 2, amount)
    assert flow.arcs.tolist() == [amount, 0, amount]
    assert flow.amount == amount <= LARGEST_ROOM


def test_costs_add_up_within_64_bits():
    for nodes in (1, 2, 1000, 10**6):
        assert largest_cost(nodes) * nodes < 2**61


def test_nothing_flows_where_source_and_sink_are_one():
    flow = min_cost_flow(
        1, np.array([0]), np.array([0]), (np.array([1]), np.array([1])), (np.ones(1), np.ones(1)), 0, 0, 3
    )
    assert flow.amount == 0 and not flow.arcs.any()
