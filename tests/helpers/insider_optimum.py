"""The least cost of keeping all groups off, proven: a mixed-integer program over pairs of demand and group.

    min Σ w_j x_j   subject to, for each attack k of group S:   M yᵏ = 0,   yᵏ_t = ± D_S(t),
                                                               −(X_j − own_S(j)) x_j ≤ yᵏ_j ≤ U x_j,

with yᵏ_j = 0 where S alone makes up j, and x_j = 1 for primaries. Attacks enter when the pattern found so far
does not withstand them, so that the last program has the optimum of all of them.
"""

from __future__ import annotations

import highspy
import numpy as np

from helpers.insider_judge import Attack, Contributed, Key, broken

FARTHEST = 8
"""Cells move by up to this multiple of what is asked: enough for tables of few cells."""


def optimum(table: Contributed, weight: dict[Key, float], attacks: list[Attack]) -> set[Key] | None:
    """The cells of the cheapest pattern that withstands all attacks; None where nothing does."""
    everything = set(table.parts)
    if broken(table, everything, attacks):
        return None
    taken: list[Attack] = []
    hidden = set(table.primaries)
    while open_attacks := broken(table, hidden, attacks):
        worst: dict[tuple[Key, bool], Attack] = {}
        for attack in open_attacks:
            worst.setdefault((attack.cell, attack.up), attack)
        taken += worst.values()
        hidden = _solve(table, weight, taken)
    return hidden


def _solve(table: Contributed, weight: dict[Key, float], attacks: list[Attack]) -> set[Key]:
    cells = sorted(table.parts)
    column = {cell: number for number, cell in enumerate(cells)}
    rows = [
        (np.array([column[c] for c in (total, *terms)]), np.array([-1.0, *[1.0] * len(terms)]))
        for total, terms in table.relations()
    ]
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("mip_rel_gap", 1e-6)
    for number, cell in enumerate(cells):
        is_primary = cell in table.primaries
        highs.addVar(1.0 if is_primary else 0.0, 1.0)
        highs.changeColCost(number, 0.0 if is_primary else weight[cell])
        highs.changeColIntegrality(number, highspy.HighsVarType.kInteger)
    for attack in attacks:
        start = highs.getNumCol()
        for number, cell in enumerate(cells):
            _add_move(highs, table, attack, cell, number)
        for columns, signs in rows:
            highs.addRow(0.0, 0.0, len(columns), columns + start, signs)
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise RuntimeError(f"the program ended with {highs.getModelStatus()}")
    point = highs.getSolution().col_value
    return {cell for cell, number in column.items() if point[number] > 0.5}


def _add_move(highs: highspy.Highs, table: Contributed, attack: Attack, cell: Key, number: int) -> None:
    """How far the attack's deviation moves one cell, in units of what is asked."""
    own, far = highs.getNumCol(), float(FARTHEST)
    if cell == attack.cell:
        moved = 1.0 if attack.up else -1.0
        highs.addVar(moved, moved)
        return
    if attack.group and attack.group.issuperset(table.parts[cell]):
        highs.addVar(0.0, 0.0)
        return
    room = min((table.values[cell] - table.own(cell, attack.group)) / attack.amount, far)
    highs.addVar(-room, far)
    inf = highspy.kHighsInf
    highs.addRow(0.0, inf, 2, np.array([own, number]), np.array([1.0, room]))
    highs.addRow(-inf, 0.0, 2, np.array([own, number]), np.array([1.0, -far]))
