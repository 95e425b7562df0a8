"""Insiders in the internal report: the price of protection against them, exemptions, cells left open."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.attackers.attacker import Attacker
from cellveil.attackers.default_attackers import attackers_in_words, remedy_for_contributors
from cellveil.problem import Problem, Status
from cellveil.report.figures import tells_a_cell
from cellveil.tables.cells import cell_numbers

if TYPE_CHECKING:
    from cellveil.judge import Audit
    from cellveil.suppression.result import Suppression

REASON_OPEN = (
    "bounds and cells that must be published leave some contributor closer to the others than allowed"
)
REMEDY_OPEN = "free cells that must be published, widen the bounds, or exempt the cell"


@dataclass(frozen=True)
class Price:
    """What the pattern hides beyond the one against outsiders that the search began with.

    Parameters
    ----------
    against
        The further attackers, in words.
    cost_against_outsiders, secondaries_against_outsiders
        Of the pattern that the search began with.
    more_cost_percent
        None where that pattern costs nothing.
    is_withheld
        Whether the difference in cost would tell too much about a single hidden cell.
    """

    against: str
    cost_against_outsiders: float
    secondaries_against_outsiders: int
    more_cost: float
    more_cost_percent: float | None
    more_cells: int
    is_withheld: bool

    @classmethod
    def of(cls, problem: Problem, run: Suppression) -> Price | None:
        """Compare the two patterns; None where nobody but outsiders was named."""
        before = run.outsiders_pattern
        further = [attacker for attacker in run.audit.attackers if not attacker.is_plain_outsider]
        if before is None or not further:
            return None
        old, new = (p.hidden & (problem.status != Status.PRIMARY) for p in (before, run.pattern))
        cost, more = float(problem.weight[old].sum()), float(problem.weight[new].sum())
        weights = np.abs(problem.weight)
        secret = any(_tells(weights[cells]) for cells in (old, new, old & ~new, new & ~old))
        return cls(
            against=attackers_in_words(problem, further),
            cost_against_outsiders=cost,
            secondaries_against_outsiders=int(old.sum()),
            more_cost=more - cost,
            more_cost_percent=100 * (more - cost) / cost if cost else None,
            more_cells=int(new.sum()) - int(old.sum()),
            is_withheld=bool(secret and (weights != 1).any()),
        )

    @property
    def text(self) -> str:
        """The price in one line, for people."""
        if self.is_withheld:
            cost = "– cost"
        elif self.more_cost_percent is None:
            cost = "+∞ % cost" if self.more_cost else "+0.0 % cost"
        else:
            cost = f"{self.more_cost_percent:+.1f} % cost"
        cells = f"{self.more_cells:+,} {'cell' if abs(self.more_cells) == 1 else 'cells'}"
        return f"Protection against {self.against}: {cost}, {cells}"

    def to_dict(self) -> dict[str, Any]:
        """The price as data for JSON."""
        return {name: entry for name, entry in asdict(self).items() if name != "is_withheld"}


def _tells(weights: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    return tells_a_cell(np.rint(weights).astype(np.int64))


def exempt_cells(audit: Audit) -> list[dict[str, Any]]:
    """Cells that need not be protected from some attacker: by name, with the reason given."""
    return [
        {"cell": name, "against": _plain_words(attacker), "reason": attacker.exempt_reason or None}
        for attacker in audit.attackers
        for name in audit.problem.table.cell_names(cell_numbers(audit.problem.table, attacker.exempt))
    ]


def _plain_words(attacker: Attacker) -> str:
    """The attacker without a word on exemptions."""
    options = {name: getattr(attacker, name) for name in ("kind", "p", "q", "level", "coalition", "prior")}
    return Attacker(**options).words


def open_cells(problem: Problem, run: Suppression) -> list[dict[str, Any]]:
    """Cells that no pattern protects from some insider: by name, with the reason and what can be done."""
    cells = sorted(run.unprotectable)
    missing = remedy_for_contributors(problem) if cells else ""
    remedy = f"{missing}; or {REMEDY_OPEN}" if missing else REMEDY_OPEN
    return [
        {
            "cell": name,
            "reach": round(run.unprotectable[cell], 6),
            "reason": REASON_OPEN,
            "remedy": f"{remedy}: {_setting(problem, cell)}",
        }
        for cell, name in zip(cells, problem.table.cell_names(cells), strict=True)
    ]


def _setting(problem: Problem, cell: int) -> str:
    """The line of a job that exempts the cell."""
    table = problem.table
    named = zip(table.dimensions, table.key(cell), strict=True)
    codes = [f"{_key(dimension.name)} = {json.dumps(code, ensure_ascii=False)}" for dimension, code in named]
    return f"exempt = [{{{', '.join(codes)}}}]"


def _key(name: str) -> str:
    """A name as a key of a job file."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def told_exempt(entry: dict[str, Any]) -> str:
    """An exemption as a line of text."""
    reason = entry["reason"] or "no reason was given"
    return f"Exempt: {entry['cell']} is not protected against {entry['against']} ({reason})."


def told_open(entry: dict[str, Any]) -> str:
    """A cell left open as a line of text."""
    reach = f"{100 * entry['reach']:.0f} % of the movement needed can be reached"
    return f"No pattern protects {entry['cell']}: {entry['reason']} ({reach}); {entry['remedy']}."
