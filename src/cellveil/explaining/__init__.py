"""Why a cell is hidden: contributors, arithmetic of the rule, feasibility interval, and what it protects."""

from cellveil.explaining.cell_explanation import CellExplanation, explain_cell

__all__ = ["CellExplanation", "explain_cell"]
