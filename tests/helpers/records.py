"""Random records, and tables of records compared."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow as pa

from cellveil.tables.contributions import Contributions
from cellveil.tables.table import Table


def assert_equal_tables(first: Table, second: Table) -> None:
    assert first.decimals == second.decimals
    for mine, theirs in zip((first.values, *first.keys), (second.values, *second.keys), strict=True):
        assert np.array_equal(mine, theirs)
    for name, column in first.columns.items():
        assert np.array_equal(column, second.columns[name])
    for level in ("units", "holdings"):
        assert_equal_contributions(getattr(first, level), getattr(second, level))


def assert_equal_contributions(first: Contributions | None, second: Contributions | None) -> None:
    assert (first is None) == (second is None)
    if first is None or second is None:
        return
    for field in fields(Contributions):
        mine, theirs = getattr(first, field.name), getattr(second, field.name)
        assert type(mine) is type(theirs), field.name
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs, field.name


def random_records(number: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "region": random.choice(["N1", "N2", "S1", "S2", "W11"], number),
            "sector": random.choice(["A1", "A2", "B1", "B2"], number),
            "size": random.choice(["x", "y"], number),
            "firm": random.integers(0, number // 3, number),
            "group": random.integers(0, 50, number),
            "sales": random.integers(0, 1000, number) / 100,
            "weight": random.integers(0, 300, number) / 7,
        }
    )
