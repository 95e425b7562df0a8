"""Branch and cut against outsiders and insiders: the plans of `optimal`, with the cuts of both.

Begins with a safe pattern and ends with one that costs no more. Requires tables of a few thousand cells at
most; what it takes is bounded by the deadline. Ensures nothing: the judge decides on the pattern.
"""

from __future__ import annotations

from cellveil.arrays import Bool
from cellveil.attackers.insiders import SelfKnowing
from cellveil.clock import Deadline
from cellveil.deviations.witness import Witnesses
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.suppression.engines.stages import run_stages
from cellveil.suppression.exact.insider_cuts import InsiderSeparation
from cellveil.suppression.exact.part_search import PartSearch, PartSearchParams
from cellveil.suppression.exact.parts import Part, parts_of
from cellveil.suppression.exact.separation import Separation
from cellveil.suppression.methods.optimal import PREPARING, SEARCHING, OptimalParams


class InsiderPartSearch(PartSearch):
    """One part on its way through the stages, insiders among the attackers."""

    def __init__(
        self,
        problem: Problem,
        own: Part,
        insiders: SelfKnowing,
        deadline: Deadline,
        seed: int,
        params: PartSearchParams,
    ) -> None:
        self._insiders = insiders
        super().__init__(problem, own, deadline, seed, Progress(), params)

    def _separation_of(self, problem: Problem) -> Separation:
        return InsiderSeparation(problem, self.part, self._insiders, self.deadline, self.params.separation)


def cheaper_pattern(
    insiders: SelfKnowing,
    hidden: Bool,
    deadline: Deadline,
    *,
    seed: int = 0,
    params: OptimalParams | None = None,
) -> tuple[Bool, Witnesses]:
    """A pattern that costs no more than a safe one, and the deviations found on the way."""
    params, problem = params or OptimalParams(), insiders.problem
    parts, _ = parts_of(problem)
    found, witnesses = hidden.copy(), []
    searches = [InsiderPartSearch(problem, part, insiders, deadline, seed, params) for part in parts]
    for each in searches:
        each.try_pattern(hidden[each.part.component.cells])
    for plan, share in ((PREPARING, params.preparing), (SEARCHING, 1.0)):
        for left, each in zip(range(len(parts), 0, -1), sorted(searches, key=len), strict=True):
            each.begin(deadline.share(share / left))
            run_stages(plan, each, each.deadline, Progress())
    for each in searches:
        cells = each.part.component.cells
        if each.best.cost < float(each.part.price[hidden[cells]].sum()):
            found[cells] = each.best.hidden
            witnesses += each.best.witnesses
    return found, Witnesses.of(witnesses)
