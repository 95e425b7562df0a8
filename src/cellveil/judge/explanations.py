"""How cells that were not shown safe can be worked out, in words: part of the audit, not of any report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cellveil.arrays import Int
from cellveil.attack.derivation import Explanation
from cellveil.attack.explain import DerivationParams, Explainer
from cellveil.clock import Deadline
from cellveil.errors import SolverError
from cellveil.params import Params, param, part
from cellveil.problem import Problem
from cellveil.public_view import PublicView


@dataclass(frozen=True, kw_only=True)
class ExplanationParams(Params):
    """Parameters of explanations."""

    cells: int = param(200, "Most unsafe cells that are explained.", least=0)
    seconds: float = param(20.0, "Seconds for all; what takes longer is left unexplained.", least=0)
    derivation: DerivationParams = part(DerivationParams)


def explanations(
    problem: Problem, view: PublicView, unsafe: Int, params: ExplanationParams | None = None
) -> Mapping[int, tuple[str, ...]]:
    """How the first of these cells could be worked out, in words without values.

    Those of a cell together prove that it is not safe. There are none for a cell that merely was not shown
    safe.
    """
    if not len(unsafe):
        return {}
    params = params or ExplanationParams()
    explainer = Explainer(view, problem.table.values, Deadline(params.seconds), params.derivation)
    names = problem.table.cell_name
    told: dict[int, tuple[str, ...]] = {}
    for cell in unsafe[: params.cells].tolist():
        if not view.hidden[cell]:
            told[cell] = (f"{names(cell)} is published",)
        elif proofs := _proofs(problem, explainer, cell):
            told[cell] = tuple(proof.text(names) for proof in proofs)
    return told


def _proofs(problem: Problem, explainer: Explainer, cell: int) -> list[Explanation]:
    """Why a hidden cell is not safe: its value follows, or bounds that are too tight; empty if not found."""
    try:
        value = explainer.explain(cell)
        if value is not None:
            return [value]
        found = {up: explainer.explain(cell, up=up) for up in (True, False)}
    except SolverError:
        return []
    highest, lowest = found[True], found[False]
    truth = int(problem.table.values[cell])
    tight = []
    if highest is not None and highest.bound < truth + int(problem.upl[cell]):
        tight.append(highest)
    if lowest is not None and lowest.bound > truth - int(problem.lpl[cell]):
        tight.append(lowest)
    if not tight and highest is not None and lowest is not None:
        is_narrow = highest.bound - lowest.bound < int(problem.spl[cell])
        return [highest, lowest] if is_narrow else []
    return tight
