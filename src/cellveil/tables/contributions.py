"""What is known of the contributors behind each cell, as far as rules and attackers need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Bool, Float, Int, freeze
from cellveil.errors import InputError
from cellveil.tables.scaled import rescale

AMOUNTS = ("total", "absolute", "top", "largest_unwaived", "requests", "parts")
"""The columns in scaled units."""

RANKED = ("top", "who", "top_weight", "waived", "parts", "part_who")
"""The columns with one entry for each of the largest contributions."""

IDS = ("who", "part_who")
"""The columns with positions in `names`."""

RECORD = "record "
"""How the names of contributors begin where each record counts as one."""


@dataclass(frozen=True, repr=False, eq=False)
class Contributions:
    """Per cell: how many contribute, how much in all, and the largest ones.

    Amounts are those of the variable the rules look at (the shadow variable, by default the response), in
    scaled integers with `decimals`. The largest are by absolute amount, so that negative contributions count.
    With sampling weights, `total` and `absolute` are weighted sums, `top` holds the largest unweighted
    amounts of the units in the sample and `top_weight` their weights: what the rules look at. `parts` holds
    the largest parts of the weighted sum, often of others: what a contributor has of the published value.

    Parameters
    ----------
    decimals
        Declared decimals of the amounts.
    count
        Number of contributors (units in the sample; at holding level, holdings).
    total
        Sum of the contributions, sign included.
    absolute
        Sum of the absolute contributions.
    top
        n × k: the largest absolute contributions, descending, 0 where there are fewer.
    who
        n × k: who made them, as a position in `names`; −1 where there is none or it is not known.
    names
        Contributor ids.
    weighted_count
        Sum of the sampling weights; None without weights.
    top_weight
        n × k: sampling weights of the `top` ones; None without weights.
    waived
        n × k: whether the contributor has waived protection; None when nobody has.
    largest_unwaived
        n: largest absolute contribution of those who have not waived (0 if all have); None when nobody has.
    requests
        n × 2: largest absolute contribution among those who requested protection by the first and by the
        second code, −1 where nobody did; None when there is no such variable.
    parts, part_who
        n × k: the largest absolute parts of `total`, descending (of a contributor the sum of weight × amount
        over its records), and who made them; None without weights. See `largest_parts`.
    only_single
        Whether parts are known only of those who alone make up a cell: other contributors stand in the list
        with a part of 0.
    """

    decimals: int
    count: Int
    total: Int
    absolute: Int
    top: Int
    who: NDArray[np.int32]
    names: tuple[str, ...] = ()
    weighted_count: Float | None = None
    top_weight: Float | None = None
    waived: Bool | None = None
    largest_unwaived: Int | None = None
    requests: Int | None = None
    parts: Int | None = None
    part_who: NDArray[np.int32] | None = None
    only_single: bool = False

    def __post_init__(self) -> None:
        freeze(self, [name for name, column in vars(self).items() if isinstance(column, np.ndarray)])

    def __repr__(self) -> str:
        return f"Contributions({len(self.count)} cells, the {self.depth} largest of each)"

    def __len__(self) -> int:
        return len(self.count)

    @property
    def depth(self) -> int:
        """How many of the largest contributions are kept."""
        return int(self.top.shape[1])

    @property
    def largest_parts(self) -> tuple[Int, NDArray[np.int32]]:
        """The largest parts of each cell's total, descending, and who made them; with weights, weighted.

        Raises
        ------
        InputError
            When there are weights, but the largest weighted parts were not kept.
        """
        if self.parts is not None and self.part_who is not None:
            return self.parts, self.part_who
        if self.top_weight is not None:
            raise InputError(
                "the contributions have weights, but their largest weighted parts were not kept",
                remedy="Tabulate them again: the largest amounts need not have the largest weighted parts.",
            )
        return self.top, self.who

    def take(self, cells: Int) -> Contributions:
        """Return the rows of these cells."""
        return replace(self, **{name: column[cells] for name, column in self._columns().items()})

    def spread(self, rows: Int) -> Contributions:
        """Return these rows for the cells of a larger table; −1 stands for a cell without contributors."""
        columns = {name: column.copy() for name, column in self.take(rows)._columns().items()}
        for name, column in columns.items():
            column[rows < 0] = -1 if name in (*IDS, "requests") else 0
        return replace(self, **columns)

    @classmethod
    def stack(cls, parts: Sequence[Contributions]) -> Contributions:
        """Put the cells of several tables below each other; all must carry the same columns."""
        decimals = max(part.decimals for part in parts)
        depth = min(part.depth for part in parts)
        names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        alike = [part._as_in(decimals, depth, names) for part in parts]
        columns = [part._columns() for part in alike]
        joint: dict[str, Any] = {name: np.concatenate([c[name] for c in columns]) for name in columns[0]}
        return replace(alike[0], **joint)

    def _columns(self) -> dict[str, Any]:
        """What is known of each cell, by name."""
        return {name: column for name, column in vars(self).items() if isinstance(column, np.ndarray)}

    def _as_in(self, decimals: int, depth: int, names: tuple[str, ...]) -> Contributions:
        """The same with more decimals, fewer of the largest ones, and positions in a longer list of names."""
        columns = self._columns()
        for name in columns.keys() & set(RANKED):
            columns[name] = columns[name][:, :depth]
        for name in columns.keys() & set(AMOUNTS):
            columns[name] = rescale(columns[name], decimals - self.decimals)
        if self.requests is not None:
            columns["requests"] = np.where(self.requests < 0, -1, columns["requests"])  # nobody stays nobody
        place = {name: position for position, name in enumerate(names)}
        joint = np.array([*(place[name] for name in self.names), -1], dtype=np.int32)
        for name in columns.keys() & set(IDS):
            columns[name] = joint[columns[name]]
        return replace(self, **columns | {"decimals": decimals, "names": names})
