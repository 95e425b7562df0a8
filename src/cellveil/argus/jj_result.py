"""Tables as JJ files with every combination of codes: empty cells as fixed zeros, the last dimension fastest.

Costs are whole numbers of at least 1, as other readers of the format expect; where they have decimals, all
are multiplied by one power of ten, so that small costs do not all become 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path

from cellveil.argus.argus_table import ArgusTable, DisplayCode
from cellveil.arrays import Float, Int
from cellveil.files import write_text
from cellveil.formats.exact_numbers import texts_of
from cellveil.pattern import Pattern
from cellveil.problem import Status
from cellveil.tables.scaled import infer_decimals

NO_BOUND = "1e20"
LARGEST_COST = 2**31


def write_jj_result(
    table: ArgusTable, path: Path | str, *, pattern: Pattern | None = None, drop_trivial: bool = False
) -> None:
    """Write a table as a JJ file; see `cellveil.formats.jj` for the format.

    Parameters
    ----------
    pattern
        Its secondary suppressions get the status m.
    drop_trivial
        Write a code and its only child as one cell; otherwise as two, with a relation between them.
    """
    rows = list(table.rows(trivial=not drop_trivial))
    relations = list(_relations(table, trivial=not drop_trivial))
    lines = ["0", str(len(rows)), *_cell_lines(table, [cell for _, cell in rows], pattern)]
    lines += [str(len(relations)), *relations]
    write_text(Path(path), "".join(f"{line}\n" for line in lines))


def _cell_lines(table: ArgusTable, cells: list[int], pattern: Pattern | None) -> Iterator[str]:
    problem, decimals = table.problem, table.problem.table.decimals
    status = problem.status if pattern is None else pattern.status

    def texts(column: Int) -> list[str]:
        return texts_of(column, decimals, infinite=NO_BOUND).to_pylist()  # type: ignore[no-any-return]

    columns = {name: texts(getattr(problem, name)) for name in ("lb", "ub", "lpl", "upl", "spl")}
    values, costs = texts(problem.table.values), whole_costs(problem.weight)
    letters = [Status(int(number)).letter for number in status]
    for place, cell in enumerate(cells):
        if cell < 0:
            yield f"{place} 0 1 z 0 0 0 0 0"
            continue
        known = " ".join(columns[name][cell] for name in columns)
        yield f"{place} {values[cell]} {costs[cell]} {letters[cell]} {known}"


def whole_costs(weight: Float) -> list[int]:
    """Whole costs of at least 1, in the proportions of the weights as far as they fit.

    Examples
    --------
    >>> import numpy as np
    >>> whole_costs(np.array([0.5, 2.0, 0.25])), whole_costs(np.array([3.0, 0.0]))
    ([50, 200, 25], [3, 1])
    """
    largest = max(float(weight.max(initial=0)), 1.0)
    digits = infer_decimals(weight)
    while digits and largest * 10.0**digits >= LARGEST_COST:
        digits -= 1
    return [max(1, round(cost * 10**digits)) for cost in weight.tolist()]


def _relations(table: ArgusTable, *, trivial: bool) -> Iterator[str]:
    """One relation for each code with children and each combination of the other codes."""
    axes = [table.codes(axis, trivial=trivial) for axis in range(len(table.variables))]
    steps = [prod(len(axis) for axis in axes[place + 1 :]) for place in range(len(axes))]
    for axis, codes in enumerate(axes):
        others = [
            [place * steps[other] for place in range(len(axes[other]))]
            for other in range(len(axes))
            if other != axis
        ]
        for total, parts in _sums(table, axis, codes):
            for rest in product(*others):
                start = sum(rest)
                terms = [f"{start + part * steps[axis]} (1)" for part in parts]
                yield f"0 {len(parts) + 1} : {start + total * steps[axis]} (-1) {' '.join(terms)}"


def _sums(table: ArgusTable, axis: int, codes: list[DisplayCode]) -> Iterator[tuple[int, list[int]]]:
    """Places of a code and of its children among the codes that are written."""
    place = {code.name: number for number, code in enumerate(codes)}
    children = table.trees[axis].hierarchy.children
    for code in codes:
        below = children.get(code.name, ())
        while len(below) == 1 and below[0] not in place:  # the same cell under another name
            below = children.get(below[0], ())
        if below:
            yield place[code.name], [place[child] for child in below]
