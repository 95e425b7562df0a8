"""Publications: linked tables of one set of firms."""

from __future__ import annotations

import numpy as np
import pytest

from cellveil.datasets.linked_tables import PublicationParams, publication, publication_tables
from cellveil.errors import InputError
from cellveil.tables.structure import is_product


def test_tables_are_linked_and_have_primaries():
    problem = publication(1_500, tables=8, seed=3)
    assert 750 <= problem.table.num_cells <= 3_000
    assert 0.02 <= len(problem.primaries) / problem.table.num_cells <= 0.4
    assert not is_product(problem.table)
    assert not problem.table.relations.residuals(problem.table.values)


def test_the_same_seed_gives_the_same_tables():
    first, second, other = (publication(800, tables=5, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.table.values, second.table.values)
    assert np.array_equal(first.status, second.status)
    assert not np.array_equal(first.table.values, other.table.values)


def test_fewer_firms_give_more_primaries():
    few, many = (
        publication(800, tables=5, seed=1, params=PublicationParams(firms=firms)) for firms in (5.0, 100.0)
    )
    assert len(few.primaries) > len(many.primaries)


def test_all_tables_have_the_same_total():
    tables = publication_tables(800, tables=5, seed=1)
    assert len(tables) == 5
    assert len({int(table.values.max()) for table in tables}) == 1


@pytest.mark.parametrize(("cells", "tables"), [(0, 5), (500, 0), (500, 100_000)])
def test_bad_numbers_are_refused(cells, tables):
    with pytest.raises(InputError):
        publication(cells, tables=tables)
