"""Suppression patterns of several methods and weights side by side: their measures, and a table of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class ComparedRun:
    """One method under one kind of weights.

    Parameters
    ----------
    safe
        Whether the audit shows everybody kept off; None where there is no pattern.
    hidden, percent_hidden, percent_value
        Hidden cells, and their shares of cells and values; None where it would tell too much of one cell.
    costs
        By weights, what the secondary cells cost; None where it would tell too much of one cell.
    gap
        In per cent, for the weights that the search minimised; None without a bound.
    why_not
        Why there is no pattern, in words.
    """

    method: str
    weights: str
    safe: bool | None = None
    outcome: str = ""
    hidden: int = 0
    percent_hidden: float = 0.0
    percent_value: float | None = None
    costs: Mapping[str, float | None] = field(default_factory=dict)
    gap: float | None = None
    seconds: float = 0.0
    why_not: str = ""


@dataclass(frozen=True)
class Comparison:
    """Runs side by side."""

    title: str
    weights: tuple[str, ...]
    runs: tuple[ComparedRun, ...]
    was_interrupted: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether there is a pattern, and every one is shown safe."""
        safe = [run.safe for run in self.runs if run.safe is not None]
        return bool(safe) and all(safe)

    def to_dict(self) -> dict[str, Any]:
        """The same as data for JSON."""
        return asdict(self)

    def head(self) -> list[str]:
        """The names of the columns of `rows`."""
        costs = [f"cost ({kind})" for kind in self.weights]
        return ["method", "weights", "hidden", "% cells", "% value", *costs, "gap %", "seconds", "audit"]

    def rows(self) -> list[list[str]]:
        """A line of text for each run; the cheapest by each weights is marked by a star."""
        return [self._row(run) for run in self.runs]

    def _row(self, run: ComparedRun) -> list[str]:
        if run.safe is None:
            return [run.method, run.weights, *[""] * (5 + len(self.weights)), run.why_not]
        costs = [self._cost(run, kind) for kind in self.weights]
        shares = [f"{run.percent_hidden:.1f}", _number(run.percent_value, ".1f"), *costs]
        gap = "?" if run.gap is None else f"{run.gap:.1f}"
        verdict = "safe" if run.safe else "NOT SAFE"
        return [run.method, run.weights, f"{run.hidden:,}", *shares, gap, f"{run.seconds:.1f}", verdict]

    def _cost(self, run: ComparedRun, kind: str) -> str:
        known = [each.costs[kind] for each in self.runs if each.safe and each.costs[kind] is not None]
        cost = run.costs[kind]
        is_best = bool(run.safe and len(known) > 1 and cost == min(known, key=lambda one: one or 0.0))
        return _number(cost, ",.0f" if (cost or 0) >= 100 else ".4g") + ("*" if is_best else "")


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)
