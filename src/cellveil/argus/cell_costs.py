"""What it costs to hide a cell: a variable, the frequency, unity, or the distance to unsafe cells."""

from __future__ import annotations

from cellveil.argus.metadata import Metadata, VariableRole
from cellveil.argus.table_spec import CostKind, TableSpec
from cellveil.arrays import Bool, Float
from cellveil.errors import InputError
from cellveil.rules.distance_costs import distance_costs
from cellveil.rules.weights import weights
from cellveil.tables.table import Table


def cell_costs(table: Table, unsafe: Bool, spec: TableSpec, metadata: Metadata) -> Float:
    """Costs of all cells: those that the table asks for, else of the file's cost variable, else the values.

    Parameters
    ----------
    unsafe
        The cells that distances are measured from; <DISTANCE> of the spanning variables says what they cost.
    """
    if spec.cost is CostKind.UNITY:
        return weights(table, "one")
    if spec.cost is CostKind.FREQUENCY:
        return weights(table, "count")
    if spec.cost is CostKind.DISTANCE:
        given = {one.name: one.distance for one in spec.dimensions(metadata) if one.distance}
        return distance_costs(table, unsafe, given)
    asked = spec.number(metadata, spec.cost) or metadata.only(VariableRole.COST)
    if asked is not None and asked.name not in (*table.columns, table.variable):
        raise InputError(
            f"variable {asked.name!r} holds no costs",
            file=metadata.file,
            remedy="Name the response or another numeric variable, in tables one with <COSTVAR>.",
        )
    return weights(table, column=asked.name if asked is not None and asked.name in table.columns else None)
