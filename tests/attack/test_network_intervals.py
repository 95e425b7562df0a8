"""Networks are recognised from the relations alone, and their flows are the LP's extremes, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.attack.intervals import OutsiderAttack
from cellveil.attack.network_intervals import LARGEST_FLOW, NetworkFlows
from cellveil.certificate import Certificate, verify
from cellveil.certificate.certificate import pattern_hash
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.datasets import random_table, two_way
from cellveil.deviations import network_form as networks
from cellveil.deviations.components import Component, split
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.network_form import Network, recognise
from cellveil.deviations.witness import Witness
from cellveil.formats.jj import read_jj
from cellveil.judge.outsider import audit_outsider
from cellveil.pattern import Pattern
from cellveil.problem import Problem, Status
from cellveil.public_view import PublicView
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.relations import Relations
from cellveil.tables.scaled import UNBOUNDED
from helpers.instances import INSTANCES, needs_instances
from helpers.small_problems import SHAPES, _filled, half_hidden_problem

NETWORKS = {
    "flat": {},
    "tree of 2 levels": {0: 2},
    "tree of 3 levels": {0: 3},
    "tree of 4 levels": {0: 4},
    "tree in columns": {1: 3},
}
EVERY_NETWORK = pytest.mark.parametrize("kind", list(NETWORKS))


def table_of(kind: str, seed: int, *, zeros: float = 0.1) -> Problem:
    sizes = (5, 31) if kind == "tree in columns" else (31, 5)
    return random_table(sizes, hierarchical=NETWORKS[kind], zeros=zeros, primaries=0.15, unit=7, seed=seed)


def some_hidden(problem: Problem, seed: int, share: float) -> np.ndarray:
    drawn = np.random.default_rng(seed).random(problem.table.num_cells) < share
    return problem.hidden_at_start | (drawn & (problem.status != Status.FROZEN))


def whole(relations: Relations) -> list[Component]:
    return split(relations, np.ones(relations.num_cells, dtype=bool))[1]


def is_network(problem: Problem) -> bool:
    return all(recognise(component) is not None for component in whole(problem.table.relations))


def has_the_same_deviations(component: Component, network: Network) -> bool:
    """Compare row spaces by ranks: of the relations, and of the nodes and the fixed cells."""
    place = np.searchsorted(component.cells, network.component.cells)
    nodes = np.zeros((network.num_nodes, len(component.cells)))
    np.add.at(nodes, (network.head, place), 1)
    np.add.at(nodes, (network.tail, place), -1)
    fixed = np.delete(np.eye(len(component.cells)), place, axis=0)
    ours, theirs = np.vstack([nodes[:-1], fixed]), component.matrix.toarray()
    ranks = {np.linalg.matrix_rank(part) for part in (ours, theirs, np.vstack([ours, theirs]))}
    return len(ranks) == 1


# -- recognition -------------------------------------------------------------------------------------------


@EVERY_NETWORK
@pytest.mark.parametrize("zeros", [0, 0.4])
def test_two_way_tables_are_networks_also_with_a_tree(kind: str, zeros: float) -> None:
    problem = table_of(kind, 1, zeros=zeros)
    (component,) = whole(problem.table.relations)
    network = recognise(component)
    assert network is not None
    assert has_the_same_deviations(component, network)


@EVERY_NETWORK
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_whatever_is_hidden_in_them(kind: str, share: float) -> None:
    for seed in range(3):
        problem = table_of(kind, seed)
        for component in split(problem.table.relations, some_hidden(problem, seed, share))[1]:
            network = recognise(component)
            assert network is not None
            assert has_the_same_deviations(component, network)


def test_two_trees_over_one_dimension_are_a_network() -> None:
    region = Dimension.of(
        "region",
        Hierarchy.from_dict({"Total": {"N": ["a", "b"], "S": ["c", "d"]}}),
        Hierarchy.from_dict({"Total": {"coast": ["a", "c"], "inland": ["b", "d"]}}),
    )
    table = _filled([region], np.random.default_rng(0))
    (component,) = whole(table.relations)
    network = recognise(component)
    assert network is not None and has_the_same_deviations(component, network)


@pytest.mark.parametrize(
    "problem",
    [
        random_table((5, 5, 5), zeros=0, seed=1),
        random_table((4, 4, 3, 3), zeros=0, seed=1),
        random_table((15, 15), hierarchical=[0, 1], zeros=0, seed=1),
    ],
    ids=["3-D", "4-D", "two trees"],
)
def test_others_are_not(problem: Problem) -> None:
    assert not is_network(problem)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_recognised_has_the_same_deviations(shape: str) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    components = []
    for _ in range(10):
        problem = half_hidden_problem(shape, rng, most=16)
        components += split(problem.table.relations, problem.hidden_at_start)[1]
    networks = [(component, network) for component in components if (network := recognise(component))]
    assert len(networks) == len(components) if shape in ("flat 2-D", "hierarchical") else networks
    for component, network in networks:
        assert has_the_same_deviations(component, network)


def test_other_coefficients_are_not_networks() -> None:
    (component,) = whole(Relations.from_rows(3, [[(0, -1), (1, 2), (2, 1)]]))
    assert recognise(component) is None


def test_signs_that_contradict_are_not_networks() -> None:
    """Three cells, each shared by two of three relations with the same sign: an odd cycle."""
    rows = [[(0, 1), (1, 1)], [(1, 1), (2, 1)], [(2, 1), (0, 1)]]
    (component,) = whole(Relations.from_rows(3, rows))
    assert recognise(component) is None


@needs_instances
@pytest.mark.parametrize(
    "name, expected",
    [(name, True) for name in ("osorio", "cbs", "table8", "targus")]
    + [(name, False) for name in ("hier13", "hie1372d", "table7", "two5in6")],
)
def test_the_structure_of_instances_is_seen_from_their_relations(name: str, expected: bool) -> None:
    assert is_network(read_jj(INSTANCES / "csp" / f"{name}.jj")) == expected


@pytest.mark.parametrize("sizes", [(4, 4, 4), (3, 3, 3, 3)])
def test_a_relation_dropped_by_mistake_is_noticed(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the search takes every relation for implied, the exact check must say no."""
    monkeypatch.setattr(networks, "_random_circulation", lambda network: np.zeros(len(network.tail), int))
    problem = random_table(sizes, zeros=0, seed=1)
    assert not is_network(problem)


# -- flows -------------------------------------------------------------------------------------------------


def flows_of(problem: Problem, hidden: np.ndarray, deadline: Deadline = NO_LIMIT) -> NetworkFlows:
    ledger = Ledger(problem, hidden, is_final=True)
    return NetworkFlows(problem.table.relations, hidden, (ledger.room_down, ledger.room_up), deadline)


def faults(problem: Problem, hidden: np.ndarray, witnesses: list[Witness]) -> tuple[str, ...]:
    parts = ((w.cells, w.numerators, w.denominator) for w in witnesses)
    certificate = Certificate.of(problem.content_hash, pattern_hash(hidden), parts)
    return verify(problem, Pattern.hiding(problem, hidden, "x"), certificate).faults


def movement(witness: Witness | None, cell: int) -> int:
    assert witness is not None and witness.denominator == 1
    return int(witness.numerators[witness.cells == cell][0])


def with_bounds(problem: Problem, seed: int) -> Problem:
    """Some cells bounded from above, all from below."""
    rng, values = np.random.default_rng(seed), problem.table.values
    ub = values + rng.integers(0, 2 * int(np.median(values)) + 2, len(values))
    return problem.replace(ub=np.where(rng.random(len(values)) < 0.7, ub, UNBOUNDED))


def check_extremes(problem: Problem, hidden: np.ndarray) -> set[str]:
    """Every hidden cell, both directions: the flow gets as far as the LP, and not a unit farther."""
    attack = OutsiderAttack(
        PublicView.of(problem, Pattern.hiding(problem, hidden, "x")), problem.table.values
    )
    flows, witnesses, seen = flows_of(problem, hidden), [], set()
    for cell in np.flatnonzero(hidden).tolist():
        for up in (True, False):
            extreme = attack.push(cell, up=up)
            assert extreme is not None
            if np.isinf(extreme):
                seen.add("unbounded")
                farthest = 10**7
            else:
                farthest = abs(round(extreme) - int(problem.table.values[cell]))
                seen.add("bounded" if farthest else "fixed")
                assert extreme == pytest.approx(round(extreme), abs=1e-6)
                assert flows.find(cell, farthest + 1, up=up) is None
            if farthest:
                witness = flows.find(cell, farthest, up=up)
                assert movement(witness, cell) == (farthest if up else -farthest)
                witnesses.append(witness)
    assert faults(problem, hidden, witnesses) == ()
    return seen


@EVERY_NETWORK
def test_flows_reach_the_extremes_of_the_lp(kind: str) -> None:
    seen = set()
    for seed, share in enumerate((0.2, 0.35, 0.6)):
        problem = with_bounds(table_of(kind, seed), seed)
        seen |= check_extremes(problem, some_hidden(problem, seed, share))
    seen |= check_extremes(table_of(kind, 1), some_hidden(table_of(kind, 1), 1, 1.0))
    assert seen == {"bounded", "fixed", "unbounded"}


@needs_instances
@pytest.mark.parametrize("name", ["targus", "table8"])
def test_flows_reach_the_extremes_of_the_lp_on_instances(name: str) -> None:
    problem = read_jj(INSTANCES / "csp" / f"{name}.jj")
    check_extremes(problem, some_hidden(problem, 1, 0.05))


def test_cells_between_the_same_relations_share_a_flow() -> None:
    rows = [[(0, 1), (1, 1), (2, 1), (3, -1)], [(0, 1), (1, 1), (2, 1), (4, -1)]]
    relations = Relations.from_rows(5, rows)
    rooms = np.array([2, 3, 4, 100, 100])
    flows = NetworkFlows(relations, np.ones(5, dtype=bool), (rooms, rooms))
    for up, sign in ((True, 1), (False, -1)):
        witness = flows.find(3, 9, up=up)
        assert witness is not None
        assert (witness.numerators * sign).tolist() == [2, 3, 4, 9, 9]
        assert flows.find(3, 10, up=up) is None


def test_a_cell_in_no_relation_moves_within_its_room() -> None:
    relations, room = Relations.empty(2), np.array([5, 7])
    flows = NetworkFlows(relations, np.ones(2, dtype=bool), (room, room))
    assert movement(flows.find(1, 7, up=False), 1) == -7
    assert flows.find(1, 8, up=False) is None


@pytest.mark.parametrize("amount", [LARGEST_FLOW, LARGEST_FLOW + 1, 2**31, 2**32 + 1, 10**15 + 1])
def test_amounts_beyond_32_bits(amount: int) -> None:
    large = 2 * amount
    problem = two_way([[large, large, 1], [large, large, 1], [1, 1, 1]], primaries={(0, 0): amount})
    hidden = np.isin(problem.table.values, [large])
    flows, cell = flows_of(problem, hidden), int(problem.primaries[0])
    for up in (True, False):
        witness = flows.find(cell, amount, up=up)
        assert abs(movement(witness, cell)) >= amount
        assert witness is not None and faults(problem, hidden, [witness]) == ()


def test_nothing_is_said_of_published_cells_nor_without_time() -> None:
    problem = two_way([[20, 50, 9], [8, 19, 7], [5, 6, 9]], primaries={(0, 0): 3})
    everything, cell = np.ones(problem.table.num_cells, dtype=bool), int(problem.primaries[0])
    assert flows_of(problem, everything).find(cell, 3, up=True) is not None
    assert flows_of(problem, everything, deadline=Deadline(0.0)).find(cell, 3, up=True) is None
    assert flows_of(problem, ~everything).find(cell, 3, up=True) is None


# -- the audit ---------------------------------------------------------------------------------------------


def verdicts_with_and_without(
    problem: Problem, hidden: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[bool], int, int]:
    """The verdicts, which must agree, and how many LPs they took with flows and without."""
    pattern = Pattern.hiding(problem, hidden, "x")
    with_flows = audit_outsider(problem, pattern, exact=False)
    with monkeypatch.context() as patch:
        patch.setattr(NetworkFlows, "find", lambda self, *args, **options: None)
        without = audit_outsider(problem, pattern, exact=False)
    assert with_flows.safe.tolist() == without.safe.tolist()
    assert with_flows.reason == without.reason == "complete"
    return with_flows.safe.tolist(), with_flows.num_lps, without.num_lps


@pytest.mark.parametrize("shape", SHAPES)
def test_the_audit_says_the_same_with_and_without_flows(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(SHAPES.index(shape))
    seen: set[bool] = set()
    for _ in range(15):
        problem = half_hidden_problem(shape, rng)
        seen.update(verdicts_with_and_without(problem, problem.hidden_at_start, monkeypatch)[0])
    assert seen == {True, False}


@EVERY_NETWORK
def test_the_audit_of_networks_needs_lps_only_for_what_is_not_safe(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellveil.judge.outsider.prove_by_cubes_and_sums", lambda *args, **options: 0)
    problem = table_of(kind, 1)
    safe, few, many = verdicts_with_and_without(problem, some_hidden(problem, 1, 0.35), monkeypatch)
    assert set(safe) == {True, False}
    assert few <= 4 * safe.count(False)
    assert few < many
    safe, none, _ = verdicts_with_and_without(problem, some_hidden(problem, 1, 1.0), monkeypatch)
    assert all(safe) and none == 0
