"""Other beginnings for small tables: incremental programs and annealing beside the main plan of `auto`.

1. One demand after the other, without harvests, and clean-up: what the method `sequential` does.
2. Greedy elimination in the null space, and pivot annealing that knows of capacities
   (`cellveil.suppression.engines.kernel_search`), where the null space has few enough dimensions for that.

They share nothing with the main plan but the problem, so that they can run beside it, in a thread of their
own. Requires demands that some pattern meets. Ensures that what is kept is complete and exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from cellveil.clock import Deadline
from cellveil.deviations.ledger import Ledger
from cellveil.params import Params, param
from cellveil.problem import Problem
from cellveil.progress import Progress
from cellveil.solvers.background import BackgroundTask
from cellveil.suppression.engines.kernel_search import KernelSearch, KernelSearchParams
from cellveil.suppression.engines.local_search import Search, drop_unused
from cellveil.suppression.engines.meet_demands import Completion, MeetDemandsParams
from cellveil.suppression.engines.splitting_search import stepwise


@dataclass(frozen=True, kw_only=True)
class OtherStartsParams(Params):
    """Parameters of other beginnings."""

    one_by_one: float = param(0.1, "Share of the time for one demand after the other.", least=0, most=1)
    wide: float = param(
        0.3, "Gap from which on they take time of their own where there is one worker.", least=0, most=1
    )


class OtherStarts:
    """The cheapest pattern of these methods.

    Attributes
    ----------
    best
        A ledger of its own; None until there is one.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        demands: MeetDemandsParams,
        kernel: KernelSearchParams,
        params: OtherStartsParams | None = None,
    ) -> None:
        self._problem, self._seed, self._demands, self._kernel = problem, seed, demands, kernel
        self._params = params or OtherStartsParams()
        self._beside: BackgroundTask | None = None
        self.best: Ledger | None = None

    def begin(self, deadline: Deadline) -> None:
        """Run in a thread beside the caller's."""
        self._beside = BackgroundTask(self.run, deadline)

    def wait(self) -> None:
        """Let what runs beside come to its own end."""
        if self._beside is not None:
            self._beside.wait()
            self.end()

    def end(self) -> None:
        """Have what runs beside come to its end."""
        if self._beside is not None:
            beside, self._beside = self._beside, None
            beside.stop()

    def run(self, deadline: Deadline) -> None:
        """One after the other, until time is over or annealing finds nothing more."""
        self._protect_one_by_one(deadline.share(self._params.one_by_one))
        search = KernelSearch.of(self._problem, deadline, seed=self._seed, params=self._kernel)
        if search is None or not search.is_priced or deadline.is_over:
            return
        for ledger in search.patterns(deadline, deadline):
            self._keep(ledger)
        search.annealed(deadline, np.inf if self.best is None else self.best.cost, self._keep)

    def _protect_one_by_one(self, deadline: Deadline) -> None:
        make = partial(stepwise, seed=self._seed, params=self._demands.one_demand)
        completion = Completion(
            Ledger(self._problem), make, deadline, Progress(), seed=self._seed, is_spare=True
        )
        completion.prove_by_cubes()
        completion.run()
        ledger = completion.ledger
        if ledger.num_open:
            return
        drop_unused(ledger)
        params = self._demands.local_search
        search = Search(ledger, completion.protector, seed=self._seed, deadline=deadline, params=params)
        search.clean_up(deadline)
        self._keep(ledger)

    def _keep(self, ledger: Ledger) -> None:
        if not ledger.num_open and (self.best is None or ledger.cost < self.best.cost):
            self.best = ledger.copied()
