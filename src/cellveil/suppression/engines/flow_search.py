"""The networks of a problem, ready for compiled searches: arcs are cells, nodes are relations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from cellveil.arrays import Bool, Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.components import split
from cellveil.deviations.demand import Demand, Demands
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.network_form import recognise
from cellveil.loops import flow_search as search_loops
from cellveil.loops import flow_witness as witness_loops
from cellveil.loops.flow_witness import SPARE, TUNING, Plan
from cellveil.loops.ledger import has_room
from cellveil.loops.min_cost_flow import Graph
from cellveil.params import Params, param
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.solvers.min_cost_flow import LARGEST_ROOM, graph_of, largest_cost, work_for
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.meet_demands import protect_in_turn

BATCH = 1000
"""So many demands or cells are tried between two looks at the clock."""

ROOM_AHEAD = 100_000
"""Entries of witnesses for which room is made at a time, beside one witness of all cells."""


@dataclass(frozen=True, kw_only=True)
class FlowSearchParams(Params):
    """Parameters of searches by flows."""

    slope_rounds: int = param(3, "Slope-scaling rounds of a paid flow, as long as they help.", least=0)
    first_slope: float = param(0.1, "Share of the demand added to a cell's flow in slope scaling.", least=0)
    slope_decline: float = param(0.2, "Factor on that share from round to round.", least=0, most=1)
    thresholds: int = param(6, "Capacities, each a quarter of the last, tried for a cheapest cycle.", least=1)
    most_cycles: int = param(500, "A demand that needs more cycles is left to cheapest flows.", least=0)
    whole_demands: int = param(30, "Demands, the largest, searched for among all cells.", least=0)
    most_arcs: int = param(4000, "Published cells beyond which paid searches take a choice of them.", least=0)
    arcs_per_node: int = param(4, "Cells in that choice per node and power of two of room.", least=1)
    turn_work: int = param(40_000_000, "Turns of ruin and recreate, times the number of cells.", least=0)
    fewest_turns: int = param(200, "Turns of ruin and recreate at least.", least=0)
    most_turns: int = param(4_000, "Turns of ruin and recreate at most.", least=1)
    ruined: int = param(10, "Most secondaries taken out in one turn.", least=1)
    near_share: float = param(0.7, "Share of turns that take out neighbours.", least=0, most=1)
    noise: float = param(0.6, "Most noise on the weights of a turn, as a share.", least=0)
    slack: float = param(0.02, "How much dearer than the best a pattern may get, at first.", least=0)
    ahead: float = param(0.5, "Overspending before clean-up, as a share of what was set free.", least=0)


@dataclass(frozen=True, eq=False)
class Networks:
    """All components of movable cells that have demands and are networks, as one graph.

    Parameters
    ----------
    problem
        The problem the demands come from.
    tail, head
        Nodes of each cell's arc; −1 where the cell is in no network, or cannot move in it.
    num_nodes
        Nodes of all networks together.
    covered
        Cells whose demands are settled here: those of the networks' components.
    """

    problem: Problem
    tail: Int
    head: Int
    num_nodes: int
    covered: Bool

    @classmethod
    def of(cls, problem: Problem) -> Networks:
        """Recognise them from the relations."""
        n = problem.table.num_cells
        tail, head = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        covered, num_nodes = np.zeros(n, dtype=bool), 0
        asked = np.maximum(np.maximum(problem.lpl, problem.upl), problem.spl)
        for component in split(problem.table.relations, problem.status != Status.FROZEN)[1]:
            levels = asked[component.cells]
            if not levels.any() or int(levels.max()) > LARGEST_ROOM:
                continue
            network = recognise(component)
            if network is None:
                continue
            covered[component.cells] = True
            cells = network.component.cells
            tail[cells], head[cells] = network.tail + num_nodes, network.head + num_nodes
            num_nodes += network.num_nodes
        return cls(problem, tail, head, num_nodes, covered)

    @cached_property
    def cells(self) -> Int:
        """Cells that are arcs."""
        return np.flatnonzero(self.tail >= 0)

    def restricted(self, demands: Demands) -> Problem:
        """The problem with the demands of the networks only, and no sliding levels."""
        none = np.zeros_like(demands.up)
        return self.problem.only(self.covered, upl=demands.up, lpl=demands.down, spl=none)

    def rest(self) -> Problem | None:
        """The problem with the demands of all other components; None where there are none."""
        if self.covered[self.problem.primaries].all():
            return None
        return self.problem.only(~self.covered)


@dataclass
class FlowSearch:
    """A pattern in the making for the demands of the networks.

    Parameters
    ----------
    networks
        Where to search.
    ledger
        Pattern and witnesses.
    deadline
        When to stop.
    """

    networks: Networks
    ledger: Ledger
    deadline: Deadline = NO_LIMIT
    params: FlowSearchParams = field(default_factory=FlowSearchParams)

    @cached_property
    def graph(self) -> Graph:
        """The arcs with the rooms of the cells."""
        nets = self.networks
        return graph_of(nets.num_nodes, nets.tail, nets.head, self.ledger.room_down, self.ledger.room_up)

    @cached_property
    def narrow(self) -> Plan:
        """The same for paid searches in a large table: all hidden cells, but of the others only a choice.

        At each node the cheapest few cells of each order of magnitude of room; good until a search in the
        whole graph hides another cell.
        """
        nets = self.networks
        chosen = self.ledger.hidden & (nets.tail >= 0)
        others = np.flatnonzero(~chosen & (nets.tail >= 0))
        if len(others) <= self.params.most_arcs:
            return self.plan
        weight = nets.problem.weight[others]
        room = np.minimum(self.ledger.room_down[others], self.ledger.room_up[others])
        magnitude = np.log2(np.maximum(room, 1)).astype(np.int64)
        for node in (nets.tail[others], nets.head[others]):
            order = np.lexsort((weight, magnitude, node))
            group = node[order] * 64 + magnitude[order]
            first = np.flatnonzero(np.r_[True, np.diff(group) != 0])
            rank = np.arange(len(order)) - np.repeat(first, np.diff(np.r_[first, len(order)]))
            chosen[others[order[rank < self.params.arcs_per_node]]] = True
        tail, head = np.where(chosen, nets.tail, 0), np.where(chosen, nets.head, 0)
        graph = graph_of(nets.num_nodes, tail, head, self.ledger.room_down, self.ledger.room_up)
        return replace(self.plan, graph=graph, cells=np.flatnonzero(chosen))

    @cached_property
    def plan(self) -> Plan:
        """Scratch space of the search."""
        nets, n = self.networks, len(self.networks.tail)
        return Plan(
            graph=self.graph,
            work=work_for(self.graph),
            tail=nets.tail,
            head=nets.head,
            cells=nets.cells,
            weight=nets.problem.weight.copy(),
            largest=np.array([largest_cost(nets.num_nodes)], dtype=np.int64),
            cost_up=np.zeros(n, dtype=np.int64),
            cost_down=np.zeros(n, dtype=np.int64),
            kept=np.zeros(n, dtype=np.int64),
            kept_moves=np.zeros(n, dtype=np.int64),
            path=np.zeros(nets.num_nodes, dtype=np.int64),
            tuning=np.array([getattr(self.params, name) for name in TUNING], dtype=np.float64),
        )

    def make_room(self) -> None:
        """Drop unused witnesses, and make room for more."""
        self.ledger.compact()
        self.ledger.reserve(ROOM_AHEAD, ROOM_AHEAD + 6 * len(self.networks.cells))

    def take_free(self) -> None:
        """Meet demands by flows over hidden cells, the largest first, as far as that is possible."""
        cells, ups, _ = self.ledger.open_demands()
        done = 0
        while done < len(cells) and not self.deadline.is_over:
            self.make_room()
            end = min(done + BATCH, len(cells))
            done = int(
                witness_loops.take_free_all(self.ledger.arrays, self.plan, cells[:end], ups[:end], done)
            )

    def take_paid(self, way: int) -> list[tuple[Demand, int]]:
        """Meet the open demands, hiding further cells, the largest first.

        Returns
        -------
        Demands beyond every pattern, with how far their cells get.
        """
        short, paid = [], 0
        cells, ups, amounts = self.ledger.open_demands()
        for cell, up, amount in zip(cells.tolist(), ups.tolist(), amounts.tolist(), strict=True):
            if self.deadline.is_over:
                break
            if not self.ledger.is_open(cell, up):
                continue
            if not has_room(self.ledger.arrays, SPARE, 2 * len(self.networks.cells)):
                self.make_room()
            reached = self._take_paid(cell, up, way, whole=paid < self.params.whole_demands)
            paid += 1
            if reached < amount:
                short.append((Demand(cell, up, amount), int(reached)))
        return short

    def _take_paid(self, cell: int, up: bool, way: int, whole: bool) -> int:
        """Meet a demand among all cells, or first among the choice of them; return how far the cell gets."""
        ledger, reached, rounds = self.ledger.arrays, 0, self.params.slope_rounds
        if not whole:
            reached = int(witness_loops.take_paid(ledger, self.narrow, cell, up, way, rounds))
        if self.ledger.is_open(cell, up):
            reached = int(witness_loops.take_paid(ledger, self.plan, cell, up, way, rounds))
            self.__dict__.pop("narrow", None)
        return reached

    def clean_up(self) -> None:
        """Publish secondaries again where all demands keep a witness, the dearest first."""
        cells = self.ledger.secondaries(dearest_first=True)
        done = 0
        while done < len(cells) and not self.deadline.is_over:
            self.make_room()
            end = min(done + BATCH, len(cells))
            done = int(search_loops.publish_each(self.ledger.arrays, self.plan, cells[:end], done))

    def improve(self, rng: np.random.Generator, progress: Progress) -> None:
        """Take a few secondaries out and meet their demands anew, again and again, down to the cheapest.

        Slightly dearer patterns are passed through, the less so the longer it takes.
        """
        self.__dict__.pop("narrow", None)  # chosen anew, for what is hidden by now
        plan, params = self.narrow, self.params
        turns = params.turn_work // max(len(plan.cells), 1)
        turns = min(max(turns, params.fewest_turns), params.most_turns)
        best, pattern = self.ledger.cost, self.ledger.hidden.copy()
        done = 0
        while done < turns and best > 0 and not self.deadline.is_over:
            self.make_room()
            batch = min(turns - done, max(params.most_turns // 100, 1), max(turns // 20, 1))
            slack = params.slack * (1 - done / turns)
            target = best * (1 + slack)
            made = search_loops.improve(self.ledger.arrays, plan, rng, batch, params.ruined, slack, target)
            done += max(int(made), 1)
            if self.ledger.cost < best:
                best, pattern = self.ledger.cost, self.ledger.hidden.copy()
            progress.advance(done, turns, cost=best)
        if self.ledger.cost > best:
            self.deadline = NO_LIMIT  # a pattern that was met before is met again soon, flow after flow
            self.ledger = Ledger(self.ledger.problem, pattern)
            self.take_free()


def build(
    networks: Networks,
    way: int,
    deadline: Deadline,
    hidden: Bool | None = None,
    params: FlowSearchParams | None = None,
) -> tuple[FlowSearch, list[Demand]]:
    """Meet every demand of the networks, the largest first.

    Parameters
    ----------
    way
        How to find a paid witness: a constant of `cellveil.loops.flow_witness`.
    hidden
        Cells hidden from the beginning, in the hope that flows share them.

    Returns
    -------
    The search, and the demands that no pattern can meet. Where the time was over before, demands are open.
    """
    demands, params = Demands(networks.problem), params or FlowSearchParams()
    while True:
        search = FlowSearch(networks, Ledger(networks.restricted(demands), hidden), deadline, params)
        search.take_free()
        short = search.take_paid(way)
        kept = [demand for demand, reached in short if not demands.retreat(demand, reached)]
        if len(kept) == len(short):
            return search, kept


def conclude(search: FlowSearch, infeasible: list[Demand], seed: int, progress: Progress) -> Draft:
    """The draft of a search, with what programs in turn propose for components that are no networks."""
    networks, ledger = search.networks, search.ledger
    draft = Draft(ledger.hidden.copy(), infeasible=infeasible, witnesses=ledger.witnesses())
    if ledger.num_open > len(infeasible):
        draft.hide_for_lack_of_time(networks.tail >= 0)
        draft.reason = MethodEnding.NETWORKS_HIDDEN
    elif search.deadline.is_over:
        draft.reason = MethodEnding.TIME_LIMIT
    rest = networks.rest()
    if rest is not None:
        other = protect_in_turn(rest, search.deadline, seed=seed, progress=progress)
        draft.hidden |= other.hidden
        draft.add_hurried(other.hurried)
        draft.infeasible += other.infeasible
        draft.num_lps = other.num_lps
        draft.reason = draft.reason if other.reason is MethodEnding.COMPLETE else other.reason
    return draft
