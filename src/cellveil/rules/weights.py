"""Information-loss weights: what hiding a cell costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from cellveil.arrays import Float
from cellveil.errors import InputError, nearest_name
from cellveil.tables.table import Table

DISTANCE = "distance"
"""Weights that are no column but depend on which cells are unsafe, see `cellveil.rules.distance_costs`."""


def weights(
    table: Table,
    kind: str = "value",
    power: float = 1.0,
    column: str | None = None,
    *,
    box_cox: float | None = None,
) -> Float:
    """Weights of all cells; those that grow with the distance from unsafe cells: `distance_costs`.

    Parameters
    ----------
    kind
        ``value`` (the absolute value), ``one``, ``count`` (contributors), ``log`` (log(1 + |value|)), or the
        name of one of the table's own columns.
    power
        Each weight is raised to this power: below 1 small cells gain weight against large ones.
    column
        Take this own column, whatever `kind` says.
    box_cox
        λ, in place of the power: each weight w becomes w^λ, and log(1 + w) for λ = 0.

    Examples
    --------
    >>> from cellveil.tables.build import table_from_interior
    >>> from cellveil.tables.hierarchy import Hierarchy
    >>> from cellveil.tables.dimension import Dimension
    >>> region = Dimension.of("region", Hierarchy.flat(["N", "S"]))
    >>> table = table_from_interior([region], {"region": ["N", "S"]}, [9, 16])
    >>> weights(table, power=0.5).tolist()
    [5.0, 3.0, 4.0]
    """
    if box_cox is not None and power != 1.0:
        raise InputError("weights have both a power and a box_cox", remedy="Give one of the two.")
    power = power if box_cox is None else box_cox
    if not np.isfinite(power):
        raise InputError("the power of the weights is not finite", remedy="Give a number such as 1 or 0.5.")
    is_own = column is not None or kind not in KINDS
    base = _column(table, column or kind) if is_own else KINDS[kind](table)
    _check(table, base, "its weight is negative or not finite", "Correct the column of weights.")
    if power == 1.0:
        return base
    if box_cox == 0:
        return np.log1p(base)
    with np.errstate(divide="ignore", over="ignore"):
        powered: Float = base**power
    _check(table, powered, "its weight is not finite after taking the power", "Use a power above 0.")
    return powered


def _counts(table: Table) -> Float:
    counts = table.units.count if table.units is not None else table.contributors
    if counts is None:
        raise InputError(
            "weights by count need the number of contributors, and the table has none",
            remedy="Choose another kind of weights, or give the contributors.",
        )
    counted = counts.astype(np.float64)
    _check(table, counted, "the number of its contributors is not known", "Choose another kind of weights.")
    return counted


def _column(table: Table, name: str) -> Float:
    if name not in table.columns:
        raise InputError(
            f"there are no weights {name!r}", remedy=nearest_name(name, [*KINDS, *table.columns])
        )
    return np.array(table.columns[name], dtype=np.float64)


def _check(table: Table, column: Float, what: str, remedy: str) -> None:
    wrong = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
    if len(wrong):
        raise InputError(what, cell=table.cell_name(int(wrong[0])), remedy=remedy)


KINDS: Mapping[str, Callable[[Table], Float]] = {
    "value": lambda table: np.abs(table.floats()),
    "one": lambda table: np.ones(table.num_cells),
    "count": _counts,
    "log": lambda table: np.log1p(np.abs(table.floats())),
}
"""Weights by name."""
