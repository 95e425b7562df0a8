"""Information-loss weights."""

import numpy as np
import pytest

from cellveil.errors import InputError
from cellveil.rules import weights
from helpers.contributions import table_of

TABLE = table_of(
    [[100, 300], [-50], []], values=[400, -50, 0], decimals=1, columns={"cost": np.array([1.0, 4.0, 9.0])}
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("value", [40.0, 5.0, 0.0]),
        ("one", [1.0, 1.0, 1.0]),
        ("count", [2.0, 1.0, 0.0]),
        ("log", [np.log(41), np.log(6), 0.0]),
        ("cost", [1.0, 4.0, 9.0]),
    ],
)
def test_kinds(kind, expected):
    found = weights(TABLE, kind)
    assert found.dtype == np.float64
    assert found.tolist() == pytest.approx(expected)
    assert weights(TABLE, kind, 2.0).tolist() == pytest.approx([w**2 for w in expected])


def test_power_and_own_column():
    assert weights(TABLE, "value", 0.5, column="cost").tolist() == [1.0, 2.0, 3.0]
    assert weights(TABLE, "value", 0).tolist() == [1.0, 1.0, 1.0]


def test_box_cox():
    assert weights(TABLE, box_cox=0.5, column="cost").tolist() == [1.0, 2.0, 3.0]
    assert weights(TABLE, box_cox=0).tolist() == pytest.approx([np.log(41), np.log(6), 0.0])
    with pytest.raises(InputError, match="both a power and a box_cox"):
        weights(TABLE, power=2.0, box_cox=0.5)


def test_counts_of_a_table_without_contributions():
    bare = TABLE.replace(units=None)
    assert weights(bare.replace(contributors=np.array([3, 2, 1])), "count").tolist() == [3.0, 2.0, 1.0]
    with pytest.raises(InputError, match="has none"):
        weights(bare, "count")
    with pytest.raises(InputError, match="not known"):
        weights(bare.replace(contributors=np.array([3, -1, 1])), "count")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "vlaue"}, "Did you mean 'value'"),
        ({"column": "costs"}, "Did you mean 'cost'"),
        ({"power": float("nan")}, "not finite"),
        ({"power": -1.0}, "above 0"),
        ({"kind": "bad"}, "negative"),
    ],
)
def test_errors(options, message):
    table = TABLE.replace(columns={"cost": np.ones(3), "bad": np.array([1.0, -1.0, np.nan])})
    with pytest.raises(InputError, match=message):
        weights(table, **options)
