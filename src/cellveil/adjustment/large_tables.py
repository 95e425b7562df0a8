"""Adjustment of large tables by annealing: senses first, then whole numbers, without a linear program.

Senses come from annealed splitting, and from simulated annealing on imbalances with a short, cool splitting
afterwards; which of them is better depends on the table, so both are tried, then the better
one, each time longer, and the senses whose settled movement costs least are kept. What is left of the time
goes to short annealings from these. There are up to three ways to whole numbers: rounding the cells that are
no totals at once and computing the totals; fixing them half by half while the others follow, again and again
while there is time; and, in tables for which a linear program is not too much, its vertex. What rounding
leaves in totals is moved into the interior (`integers`). The best one counts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellveil.adjustment.annealed_imbalance import ImbalanceAnnealing
from cellveil.adjustment.annealed_splitting import SplittingAnnealing, search_senses
from cellveil.adjustment.fixed_senses import Fit, FixedSenses
from cellveil.adjustment.integers import rounded, without_totals
from cellveil.adjustment.model import Model
from cellveil.adjustment.start_rules import start_senses
from cellveil.arrays import Bool, Int
from cellveil.clock import Deadline, counted_time


def best_senses(
    annealing: SplittingAnnealing,
    first: Bool,
    iterations: int,
    clock: Deadline,
    *,
    seed: int = 0,
    rounds: int | None = None,
) -> Bool:
    """The senses with the cheapest settled movement, of as many rounds as the clock allows."""
    model, flips = annealing.model, ImbalanceAnnealing(annealing.model)
    large, imbalance = model.params.large, model.params.imbalance
    best, least = first, {False: np.inf, True: np.inf}  # for both ways: with flips, or by splitting alone
    seconds = {False: 0.0, True: 0.0}
    for number in range(10**6 if rounds is None else rounds):
        longer = large.growth ** min(number, large.longest)
        ways = (least[True] < least[False],) if number else (False, True)
        for way in ways:
            if number and clock.left is not None and clock.left < large.growth * seconds[way]:
                return search_senses(SplittingAnnealing(model, clock), best, clock, seed=seed, sampled=0.0)
            began, drawn = counted_time(), seed + number
            if way:
                senses = start_senses(model, "random", seed=drawn)
                senses = flips.anneal(senses, imbalance.sweeps * longer, seed=drawn)
                senses = annealing.senses(iterations, senses, seed=drawn, hot=imbalance.cool)
            else:
                senses = annealing.senses(iterations * longer, first, seed=drawn)
            cost = model.cost(annealing.settle(senses, large.settling))
            if annealing.is_over:
                return senses if np.isinf(min(least.values())) else best
            seconds[way] = counted_time() - began
            if cost < min(least.values()):
                best = senses
            least[way] = min(least[way], cost)
    return best


def annealed(
    model: Model,
    senses: Bool,
    iterations: int,
    clock: Deadline,
    *,
    seed: int = 0,
    given: FixedSenses | None = None,
) -> Fit | None:
    """An adjustment by annealing; None where it does not come out whole.

    Parameters
    ----------
    given
        The program for given senses, where the table is not too large for it.
    """
    annealing, params = SplittingAnnealing(model, clock), model.params.large
    if given is None:
        searching = clock.share(params.searching)
        rounds = params.rounds if clock.left is None else None
        senses = best_senses(annealing, senses, iterations, searching, seed=seed, rounds=rounds)
    else:
        senses = annealing.senses(iterations, senses, seed=seed)
    best = None if given is None else given.fit(senses, clock)
    for units in params.spare:
        if best is not None and (units or given is not None):
            break
        if given is not None and not model.problem.table.is_structured:
            break  # no totals to compute from the rest with certainty, and there are programs
        annealing.spare(int(units))
        for whole in _rounded_in_turn(annealing, senses, clock, seed, once=given is not None):
            if best is None or model.cost(whole) < best.cost:
                best = Fit(whole, senses, model.cost(whole))
    return best


def _rounded_in_turn(
    annealing: SplittingAnnealing, senses: Bool, clock: Deadline, seed: int, *, once: bool
) -> Iterator[Int]:
    """Whole adjustments: rounded at once; half by half; and that again more slowly, with prices a bit off.

    Which cells end as fractions is a matter of chance where many movements cost about the same, so that other
    prices are worth a try as long as there is time.
    """
    model, params = annealing.model, annealing.model.params.large
    size = int(np.searchsorted(params.dive_sizes, model.relations.num_cells))
    iterations = int(params.dive_iterations[min(size, len(params.dive_iterations) - 1)])
    y, seconds = annealing.settle(senses, params.settling), 0.0
    for number in range(params.most_dives):
        began = counted_time()
        if number > 1:
            expected = (params.slower if number == 2 else 1) * seconds
            if once or clock.left is None or clock.left < params.enough * expected:
                break
            annealing.jitter(params.jitter if number > 2 else 0.0, seed=seed + number)
            y = annealing.settle(senses, params.settling)
        if number:
            y = annealing.dive(y, senses, iterations * (params.slower if number > 1 else 1))
        whole = rounded(model, y, senses)
        if whole is not None:
            yield without_totals(model, whole, senses, clock, seed=seed)
        seconds = counted_time() - began
    annealing.jitter(0.0)
