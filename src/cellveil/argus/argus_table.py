"""A table with its codes as files show them: every combination in order, empty and repeated ones too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from cellveil.argus.cell_status import StatusNumbers, after_suppression, numbers_of
from cellveil.argus.code_trees import CodeTree
from cellveil.argus.metadata import ArgusVariable, Metadata, VariableRole
from cellveil.argus.recoding import Recoding, recoded
from cellveil.argus.table_spec import TableSpec
from cellveil.arrays import Bool
from cellveil.errors import InputError
from cellveil.pattern import Pattern
from cellveil.problem import Problem
from cellveil.tables.build import build_relations
from cellveil.tables.table import Table

FREQUENCY = "Freq"
"""Name of the values in a table of frequencies."""


@dataclass(frozen=True)
class DisplayCode:
    """A code in results: name, how it is written, level (0 for the total), number in the table."""

    name: str
    text: str
    level: int
    number: int


@dataclass(frozen=True, repr=False, eq=False)
class ArgusTable:
    """A problem with what files about it need.

    Parameters
    ----------
    problem
        Cells, statuses, levels and weights.
    variables
        The spanning variables, in the order of the dimensions.
    trees
        Their codes.
    numbers
        A `CellStatus` per cell, before secondary suppression.
    response
        Name of the response.
    decimals
        Decimals of values in results.
    notes
        What was found odd, but not wrong.
    """

    problem: Problem
    variables: tuple[ArgusVariable, ...]
    trees: tuple[CodeTree, ...]
    numbers: StatusNumbers
    response: str = FREQUENCY
    decimals: int = 0
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ArgusTable({self.problem!r})"

    @classmethod
    def of(
        cls,
        problem: Problem,
        metadata: Metadata,
        spec: TableSpec,
        trees: Mapping[str, CodeTree],
        recodings: Mapping[str, Recoding] | None = None,
        notes: Sequence[str] = (),
    ) -> ArgusTable:
        """A problem made from a table of these data; statuses follow from its rules."""
        variables = spec.dimensions(metadata)
        used = tuple(recoded(trees, variable, recodings or {})[0] for variable in variables)
        response = spec.number(metadata, spec.response)
        return cls(
            problem,
            variables,
            used,
            numbers_of(problem),
            response.name if response else FREQUENCY,
            max(problem.table.decimals, response.decimals if response else 0),
            (*metadata.notes, *(note for tree in used for note in tree.notes), *notes),
        )

    @classmethod
    def of_problem(cls, problem: Problem) -> ArgusTable:
        """Any problem, with names and hierarchies of its own dimensions.

        Raises
        ------
        InputError
            When the table has several hierarchies of one dimension, or further equations: files about it
            could not carry them.
        """
        table = problem.table
        wide = [dimension.name for dimension in table.dimensions if len(dimension.hierarchies) != 1]
        if wide or len(table.relations) > len(build_relations(table.dimensions, table.keys, table.num_cells)):
            what = (
                f"dimension {wide[0]!r} has not exactly one hierarchy" if wide else "it has further equations"
            )
            raise InputError(
                f"files of tau-ARGUS cannot carry the table: {what}", remedy="Write a tidy folder instead."
            )
        trees = tuple(CodeTree(dimension.hierarchies[0]) for dimension in table.dimensions)
        variables = tuple(
            ArgusVariable(
                dimension.name,
                frozenset({VariableRole.SPANNING}),
                total_code=tree.hierarchy.root,
                hierarchy_file=f"{dimension.name}.hrc" if tree.hierarchy.depth > 1 else None,
            )
            for dimension, tree in zip(table.dimensions, trees, strict=True)
        )
        return cls(problem, variables, trees, numbers_of(problem), table.variable, table.decimals)

    def replace(self, **changes: object) -> ArgusTable:
        """Return a copy with other fields."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def is_frequency(self) -> bool:
        """Whether the values count records."""
        return self.response == FREQUENCY

    def codes(self, axis: int, *, trivial: bool = True) -> list[DisplayCode]:
        """The codes of a dimension in the order of results; without `trivial`, one for each cell."""
        tree, dimension = self.trees[axis], self.problem.table.dimensions[axis]
        level = {tree.hierarchy.root: 0}
        shown = []
        for name in tree.hierarchy.codes:
            for child in tree.hierarchy.children.get(name, ()):
                level[child] = level[name] + 1
            if trivial or name not in dimension.aliases:
                depth = level[name] if self.variables[axis].is_hierarchical else 0
                shown.append(DisplayCode(name, tree.shown(name), depth, dimension.index[name]))
        return shown

    @cached_property
    def _cell_of(self) -> dict[tuple[int, ...], int]:
        keys = np.column_stack(self.problem.table.keys).tolist()
        return {tuple(key): cell for cell, key in enumerate(keys)}

    def rows(self, *, trivial: bool = True) -> Iterator[tuple[tuple[DisplayCode, ...], int]]:
        """Every combination of codes, the last dimension fastest, with its cell or −1 where it is empty."""
        axes = [self.codes(axis, trivial=trivial) for axis in range(len(self.variables))]
        for codes in product(*axes):
            yield codes, self._cell_of.get(tuple(code.number for code in codes), -1)

    def statuses(self, pattern: Pattern | None = None) -> StatusNumbers:
        """The `CellStatus` of each cell, after the secondary suppressions of a pattern."""
        return after_suppression(self.numbers, pattern)

    def find(self, texts: Sequence[str]) -> int:
        """The cell that some codes mean, or −1 if it is empty; an empty code is the total.

        All names of a chain of single children are the same cell.

        Raises
        ------
        InputError
            When a code is unknown, or stands in several branches.
        """
        number = []
        for axis, text in enumerate(texts):
            dimension, tree = self.problem.table.dimensions[axis], self.trees[axis]
            places = tree.places(text) if text.strip() else (tree.hierarchy.root,)
            if len(places) != 1:
                what = "stands in several branches" if places else "is unknown"
                raise InputError(
                    f"the code of {dimension.name!r} {what}",
                    remedy="Correct it; the path of a code says which one is meant.",
                )
            number.append(dimension.index[places[0]])
        return self._cell_of.get(tuple(number), -1)


def missing_cells(table: Table, trees: Sequence[CodeTree]) -> Bool:
    """Cells with a code for “missing” in some dimension, which some rules take for safe."""
    found = np.zeros(table.num_cells, dtype=bool)
    for dimension, column, tree in zip(table.dimensions, table.keys, trees, strict=True):
        found |= np.isin(column, [dimension.index[code] for code in tree.missing])
    return found
