"""The experiments of the literature, repeated: each makes its tables, runs, and writes tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from cellveil.errors import InputError, nearest_name
from cellveil.progress import Progress
from experiments.preprocessing import candidates, processor_time
from experiments.record import Figures, Record
from experiments.scaling import sides, sizes, variants
from experiments.searching import mutation, peers
from experiments.tables import Setting

__all__ = ["BUDGETS", "EXPERIMENTS", "Figures", "Record", "reproduce"]

BUDGETS = ("quick", "medium", "full")


@dataclass(frozen=True)
class Experiment:
    """A line of the table of experiments."""

    run: Callable[[Setting], Record]
    summary: str


EXPERIMENTS: Mapping[str, Experiment] = {
    "2013-candidates": Experiment(candidates, "2013, tables 3 and 5: which primaries need protection"),
    "2013-time": Experiment(processor_time, "2013, table 6: processor time with and without candidates"),
    "2011-sides": Experiment(sides, "2011, tables 1 and 2: which level of exposed cells is not kept"),
    "2011-mutation": Experiment(mutation, "2011, figure 2: self-adaptive mutation and fixed operators"),
    "2011-sizes": Experiment(sizes, "2011, table 3: ten sizes up to a million cells"),
    "2011-variants": Experiment(variants, "2011, table 4: orders of groups and pre-selection"),
    "2011-peers": Experiment(peers, "2011, section 3.7: against other methods"),
}


def reproduce(
    name: str,
    budget: str = "quick",
    *,
    seed: int = 1,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Record:
    """Run an experiment.

    Parameters
    ----------
    budget
        quick takes a minute or two, medium up to an hour, full as long as in the paper.
    time_limit
        Seconds for one run of a method, in place of those of the budget; experiments that compare single
        runs have one.

    An interrupt ends it with the figures so far.
    """
    if name not in EXPERIMENTS:
        raise InputError(f"unknown experiment {name!r}", remedy=nearest_name(name, list(EXPERIMENTS)))
    if budget not in BUDGETS:
        raise InputError(f"unknown budget {budget!r}", remedy=nearest_name(budget, list(BUDGETS)))
    setting = Setting(budget, seed, time_limit, progress or Progress())
    setting.progress.stage(name)
    record = EXPERIMENTS[name].run(setting)
    return replace(record, remarks=[*record.remarks, *setting.remarks])
