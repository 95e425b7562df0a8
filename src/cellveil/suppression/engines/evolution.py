"""A genetic algorithm over orders: a pool of permutations that carry their own way of mutating.

A child takes a stretch of one parent and the rest in the order of the other (order crossover), then mutates
by its operator, some number of times drawn from its rate:

    swap       two places change their contents        insert     one element moves to another place
    scramble   a stretch is shuffled                   inversion  a stretch is turned around

*Self-adaptive*: operator and rate are inherited from the better parent, and changed a little before they are
used; whoever carries a good way of mutating has better children, and the way spreads. A fixed operator with
one mutation on average is there for comparison. Parents are chosen by tournaments of two; of parents and
children the best make up the next pool.

Requires a cost for an order, the same at every call. Ensures: same generator, same run, whoever computes the
costs; a state that was saved goes on as if it had not been interrupted. Each order is evaluated once.

References: Serpell & Smith (2010) for the self-adaption, Eiben & Smith (2003) for the operators; pool size
and comparison as in Serpell, Smith, Clark & Staggemeier (2011, section 1.2). These do not say how parents and
survivors are chosen, nor how rates are changed: that is our choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from cellveil.params import Params, param

Order = tuple[int, ...]

OPERATORS = ("swap", "insert", "scramble", "inversion")
ADAPTIVE = "adaptive"
CROSSOVERS = ("order", "none")


@dataclass(frozen=True, kw_only=True)
class EvolutionParams(Params):
    """Parameters of the genetic algorithm."""

    pool: int = param(10, "How many orders are kept.", least=2)
    mutation: str = param(ADAPTIVE, "How orders are changed.", choices=(ADAPTIVE, *OPERATORS))
    crossover: str = param("order", "How two orders are combined.", choices=CROSSOVERS)
    from_given: bool = param(True, "The order of the groups as they are found is in the first pool.")
    change: float = param(0.2, "How often a child draws its operator anew.", least=0, most=1)
    spread: float = param(0.4, "Standard deviation of the change in the logarithm of the rate.", least=0)
    largest_rate: float = param(0.5, "Most mutations per element.", least=0)
    barren_generations: int = param(50, "Generations without a new order that end the search.", least=1)


@dataclass(frozen=True)
class Individual:
    """An order with its cost, and how its children mutate: operator, and mutations per element."""

    order: Order
    operator: str
    rate: float
    cost: float = np.inf


@dataclass
class Evolution:
    """A pool on its way.

    Parameters
    ----------
    size
        How many elements an order has.
    costs
        Computes the costs of several orders.
    params
        "adaptive" is a mutation of its own; others are one operator for all. Given is the order 0, 1, 2, …
    best_so_far
        The least cost after each evaluation.
    """

    size: int
    costs: Callable[[Sequence[Order]], list[float]]
    rng: np.random.Generator
    params: EvolutionParams = field(default_factory=EvolutionParams)

    def __post_init__(self) -> None:
        self.pool: list[Individual] = []
        self.known: dict[Order, float] = {}
        self.best_so_far: list[float] = []
        self._barren = 0

    @property
    def best(self) -> Individual:
        """The cheapest so far."""
        return self.pool[0]

    @property
    def evaluations(self) -> int:
        """How many costs were computed."""
        return len(self.best_so_far)

    @property
    def is_exhausted(self) -> bool:
        """Whether no new orders are found any more."""
        return self._barren >= self.params.barren_generations

    def run(self, evaluations: int, told: Callable[[], bool]) -> None:
        """Go on until so many costs were computed, or until `told`, which is asked after each generation.

        A generation is brought to its end, so there may be a few more.
        """
        if not self.pool:
            self._take(self._first())
            if told():
                return
        while self.evaluations < evaluations and not self.is_exhausted:
            self._take([self._child() for _ in range(self.params.pool)])
            if told():
                return

    def try_all(self, orders: Sequence[Order]) -> None:
        """Evaluate these orders and keep the best."""
        self._take([Individual(order, self._some_operator(), self._some_rate()) for order in orders])

    # -- generations ---------------------------------------------------------------------------------------

    def _first(self) -> list[Individual]:
        orders = [self.rng.permutation(self.size) for _ in range(self.params.pool)]
        if self.params.from_given:
            orders[0] = np.arange(self.size)
        return [
            Individual(tuple(order.tolist()), self._some_operator(), self._some_rate()) for order in orders
        ]

    def _child(self) -> Individual:
        first, second = sorted((self._tournament(), self._tournament()), key=lambda one: one.cost)
        operator, rate = first.operator, first.rate
        if self.params.mutation == ADAPTIVE:
            if self.rng.random() < self.params.change:
                operator = self._some_operator()
            rate = self._clipped(rate * float(np.exp(self.params.spread * self.rng.standard_normal())))
        order = list(first.order)
        if self.params.crossover == "order":
            order = crossed(first.order, second.order, self.rng)
        for _ in range(max(int(self.rng.poisson(rate * self.size)), int(tuple(order) in self.known))):
            order = mutated(order, operator, self.rng)
        return Individual(tuple(order), operator, rate)

    def _take(self, newcomers: Sequence[Individual]) -> None:
        unknown = list(dict.fromkeys(one.order for one in newcomers if one.order not in self.known))
        for order, cost in zip(unknown, self.costs(unknown), strict=True):
            self.known[order] = cost
            self.best_so_far.append(min(cost, self.best_so_far[-1] if self.best_so_far else np.inf))
        self._barren = 0 if unknown else self._barren + 1
        judged = [Individual(one.order, one.operator, one.rate, self.known[one.order]) for one in newcomers]
        different: dict[Order, Individual] = {}
        for one in sorted([*judged, *self.pool], key=lambda one: one.cost):  # the young first, where equal
            different.setdefault(one.order, one)
        self.pool = list(different.values())[: self.params.pool]

    def _tournament(self) -> Individual:
        first, second = (int(self.rng.integers(len(self.pool))) for _ in range(2))
        return self.pool[min(first, second)]  # the pool is sorted

    def _some_operator(self) -> str:
        return (
            OPERATORS[int(self.rng.integers(len(OPERATORS)))]
            if self.params.mutation == ADAPTIVE
            else self.params.mutation
        )

    def _some_rate(self) -> float:
        if self.params.mutation != ADAPTIVE:
            return 1 / max(self.size, 1)
        return self._clipped(float(np.exp(self.rng.uniform(np.log(0.5), np.log(4.0)))) / max(self.size, 1))

    def _clipped(self, rate: float) -> float:
        return float(np.clip(rate, 0.2 / max(self.size, 1), self.params.largest_rate))

    # -- saving --------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything needed to go on, in numbers and texts."""
        return {
            "pool": [asdict(one) for one in self.pool],
            "known": [[list(order), cost] for order, cost in self.known.items()],
            "best_so_far": self.best_so_far,
            "barren": self._barren,
            "generator": self.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave."""
        self.pool = [Individual(**{**one, "order": tuple(one["order"])}) for one in state["pool"]]
        self.known = {tuple(order): float(cost) for order, cost in state["known"]}
        self.best_so_far = [float(cost) for cost in state["best_so_far"]]
        self._barren = int(state["barren"])
        self.rng.bit_generator.state = state["generator"]


def crossed(first: Sequence[int], second: Sequence[int], rng: np.random.Generator) -> list[int]:
    """A stretch of the first order where it stands, the rest in the order of the second.

    Examples
    --------
    >>> sorted(crossed([0, 1, 2, 3], [3, 2, 1, 0], np.random.default_rng(1)))
    [0, 1, 2, 3]
    """
    start, end = _stretch(len(first), rng)
    kept = set(first[start:end])
    others = [element for element in second if element not in kept]
    return [*others[:start], *first[start:end], *others[start:]]


def mutated(order: Sequence[int], operator: str, rng: np.random.Generator) -> list[int]:
    """The order after one mutation."""
    new = list(order)
    if len(new) < 2:
        return new
    if operator == "swap":
        i, j = rng.choice(len(new), 2, replace=False).tolist()
        new[i], new[j] = new[j], new[i]
    elif operator == "insert":
        i, j = rng.choice(len(new), 2, replace=False).tolist()
        new.insert(j, new.pop(i))
    else:
        start, end = _stretch(len(new), rng)
        part = new[start:end]
        new[start:end] = part[::-1] if operator == "inversion" else rng.permutation(part).tolist()
    return new


def _stretch(size: int, rng: np.random.Generator) -> tuple[int, int]:
    """Where a stretch of two or more elements begins and ends."""
    if size < 2:
        return 0, size
    start, end = sorted(rng.choice(size + 1, 2, replace=False).tolist())
    return (start, end) if end - start > 1 else (min(start, size - 2), min(start, size - 2) + 2)
