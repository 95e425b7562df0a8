"""Adjusting tables too large for programs over all cells: annealed senses, then whole numbers.

Senses come from annealed splitting (`annealing`), and from annealing on imbalances (`flips`) with a short,
cool splitting afterwards; which of them is better depends on the table, so both are tried, then the better
one, each time longer, and the senses whose settled movement costs least are kept. What is left of the time
goes to short annealings from these. There are up to three ways to whole numbers: rounding the cells that are
no totals at once and computing the totals; fixing them half by half while the others follow, again and again
while there is time; and, in tables for which a linear program is not too much, its vertex. What rounding
leaves in totals is moved into the interior (`steps`). The best one counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellveil.adjustment.annealed_imbalance import Flips
from cellveil.adjustment.annealed_splitting import Annealing, rounded, search_senses
from cellveil.adjustment.fixed_senses import Fit, Given
from cellveil.adjustment.integer_descent import without_totals
from cellveil.adjustment.model import Model
from cellveil.adjustment.start_rules import start_senses
from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline, counted_time

SETTLING = 400
DIVING = ((20_000, 300), (200_000, 100), (2**62, 15))
"""Iterations after each fixing, in tables of up to so many cells."""
SLOWER, MOST_DIVES, JITTER = 5, 40, 0.05
"""So many times as many where there is time left, up to so often, with prices off by up to this share."""

ENOUGH = 1.3
"""A dive is begun where there is so many times the time that it is expected to take."""

SPARE = (0, 1, 3, 10, 30)

SWEEPS, COOL = 1_000, 0.5
"""Sweeps of the first annealing on imbalances, and the first step of the splitting after it."""

GROWTH, LONGEST = 4, 6
"""How much longer the search gets from round to round, and how many rounds it gets longer."""

SEARCHING = 0.7
"""Share of the time for the senses; the rest is for whole numbers."""

FEW_ROUNDS = 2
"""So many rounds without a time limit."""


def best_senses(
    annealing: Annealing,
    first: Bool,
    iterations: int,
    clock: Deadline,
    *,
    seed: int = 0,
    rounds: int | None = FEW_ROUNDS,
) -> Bool:
    """The senses with the cheapest settled movement, of as many rounds as the clock allows."""
    model, flips = annealing.model, Flips(annealing.model)
    best, least = first, {False: np.inf, True: np.inf}  # for both ways: with flips, or by splitting alone
    seconds = {False: 0.0, True: 0.0}
    for number in range(10**6 if rounds is None else rounds):
        longer = GROWTH ** min(number, LONGEST)
        ways = (least[True] < least[False],) if number else (False, True)
        for way in ways:
            if number and clock.left is not None and clock.left < GROWTH * seconds[way]:
                return search_senses(Annealing(model, clock), best, clock, seed=seed, sampled=0.0)
            began, drawn = counted_time(), seed + number
            if way:
                senses = start_senses(model, "random", seed=drawn)
                senses = flips.anneal(senses, SWEEPS * longer, seed=drawn)
                senses = annealing.senses(iterations, senses, seed=drawn, hot=COOL)
            else:
                senses = annealing.senses(iterations * longer, first, seed=drawn)
            cost = model.cost(annealing.settle(senses, SETTLING))
            if annealing.is_over:
                return senses if np.isinf(min(least.values())) else best
            seconds[way] = counted_time() - began
            if cost < min(least.values()):
                best = senses
            least[way] = min(least[way], cost)
    return best


def annealed(
    model: Model, senses: Bool, iterations: int, clock: Deadline, *, seed: int = 0, given: Given | None = None
) -> Fit | None:
    """An adjustment by annealing; None where it does not come out whole.

    Parameters
    ----------
    given
        The program for given senses, where the table is not too large for it.
    """
    annealing = Annealing(model, clock)
    if given is None:
        searching = Deadline(None if clock.left is None else SEARCHING * clock.left)
        rounds = FEW_ROUNDS if clock.left is None else None
        senses = best_senses(annealing, senses, iterations, searching, seed=seed, rounds=rounds)
    else:
        senses = annealing.senses(iterations, senses, seed=seed)
    best = None if given is None else given.fit(senses, clock.left)
    for units in SPARE:
        if best is not None and (units or given is not None):
            break
        if given is not None and not model.problem.table.is_structured:
            break  # no totals to compute from the rest with certainty, and there are programs
        annealing.spare(units)
        for whole in _rounded_in_turn(annealing, senses, clock, seed, once=given is not None):
            if best is None or model.cost(whole) < best.cost:
                best = Fit(whole, senses, model.cost(whole))
    return best


def _rounded_in_turn(
    annealing: Annealing, senses: Bool, clock: Deadline, seed: int, *, once: bool
) -> Iterator[Int]:
    """Whole adjustments: rounded at once; half by half; and that again more slowly, with prices a bit off.

    Which cells end as fractions is a matter of chance where many movements cost about the same, so that other
    prices are worth a try as long as there is time.
    """
    model = annealing.model
    iterations = next(count for cells, count in DIVING if model.relations.num_cells <= cells)
    y, seconds = annealing.settle(senses, SETTLING), 0.0
    for number in range(MOST_DIVES):
        began = counted_time()
        if number > 1:
            expected = (SLOWER if number == 2 else 1) * seconds
            if once or clock.left is None or clock.left < ENOUGH * expected:
                break
            annealing.jitter(JITTER if number > 2 else 0.0, seed=seed + number)
            y = annealing.settle(senses, SETTLING)
        if number:
            y = annealing.dive(y, senses, iterations * (SLOWER if number > 1 else 1))
        whole = rounded(model, y, senses)
        if whole is not None:
            yield without_totals(model, whole, senses, clock, seed=seed)
        seconds = counted_time() - began
    annealing.jitter(0.0)
