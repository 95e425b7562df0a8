"""Sparse relations against dense matrices of Python integers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.tables.relations import Relations

HUGE = 2**62 - 1


@st.composite
def systems(draw, max_coef: int = 3, max_value: int = HUGE):
    """Relations with their rows as dicts, and values."""
    num_cells = draw(st.integers(1, 6))
    coefs = st.integers(-max_coef, max_coef).filter(bool)
    row = st.dictionaries(st.integers(0, num_cells - 1), coefs, max_size=num_cells)
    rows = draw(st.lists(row, max_size=6))
    rhs = draw(st.lists(st.integers(-HUGE, HUGE) | st.just(0), min_size=len(rows), max_size=len(rows)))
    amounts = st.integers(-max_value, max_value)
    values = draw(st.lists(amounts, min_size=num_cells, max_size=num_cells))
    return Relations.from_rows(num_cells, [list(r.items()) for r in rows], rhs), rows, rhs, values


def dense(relations: Relations) -> list[tuple[list[int], int]]:
    lines = []
    for row in range(len(relations)):
        line = [0] * relations.num_cells
        cells, coefs = relations.row(row)
        assert len(set(cells.tolist())) == len(cells)
        for cell, coef in zip(cells.tolist(), coefs.tolist(), strict=True):
            line[cell] += coef
        lines.append((line, int(relations.rhs[row])))
    return lines


@given(systems() | systems(max_coef=2**40) | systems(max_value=5))
def test_residuals_are_exact(system):
    relations, rows, rhs, values = system
    expected = {}
    for number, (row, right) in enumerate(zip(rows, rhs, strict=True)):
        left = sum(coef * values[cell] for cell, coef in row.items())
        if left != right:
            expected[number] = left - right
    assert relations.residuals(np.array(values, dtype=np.int64)) == expected


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8, 1000])
def test_sums_beyond_64_bits_do_not_wrap(parts):
    relations = Relations.from_rows(parts + 1, [[(0, -1), *((cell, 1) for cell in range(1, parts + 1))]])
    wrapped = (parts * 2**62 + 2**63) % 2**64 - 2**63  # what 64-bit arithmetic would make of it
    values = np.array([wrapped, *[2**62] * parts], dtype=np.int64)
    assert relations.residuals(values) == {0: parts * 2**62 - wrapped}
    values[0] = HUGE
    assert relations.residuals(values) == {0: parts * 2**62 - HUGE}


def test_large_coefficients_do_not_wrap():
    relations = Relations.from_rows(2, [[(0, 2**40), (1, -(2**40))], [(0, 2**33), (1, 1)]])
    assert relations.residuals(np.array([2**33, 2**33])) == {1: 2**66 + 2**33}
    assert relations.residuals(np.array([2**33, 2**33 - 2**24])) == {0: 2**64, 1: 2**66 + 2**33 - 2**24}


@given(systems(), st.data())
def test_rows_can_be_taken_stacked_and_made_distinct(system, data):
    relations, rows, _, _ = system
    lines = dense(relations)
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8)) if rows else []
    taken = relations.take_rows(np.array(chosen, dtype=np.int64))
    assert dense(taken) == [lines[row] for row in chosen]
    stacked = Relations.stack([relations, taken, Relations.empty(relations.num_cells)])
    assert dense(stacked) == lines + dense(taken)
    assert stacked.row_of_entry.tolist() == [
        row for row, (line, _) in enumerate(dense(stacked)) for c in line if c
    ]

    def up_to_sign(line: list[int], rhs: int) -> tuple:
        sign = next((-1 if coef < 0 else 1 for coef in line if coef), 1)
        return tuple(sign * coef for coef in line), sign * rhs

    first: dict[tuple, tuple] = {}
    for line, rhs in dense(stacked):
        first.setdefault(up_to_sign(line, rhs), (line, rhs))
    assert dense(stacked.distinct()) == list(first.values())


def test_distinct_sees_through_order_and_sign():
    rows = [
        [(0, -1), (1, 1), (2, 1)],
        [(2, 1), (0, -1), (1, 1)],
        [(1, -1), (0, 1), (2, -1)],
        [(0, 1), (1, -1)],
    ]
    assert dense(Relations.from_rows(3, rows).distinct()) == [([-1, 1, 1], 0), ([1, -1, 0], 0)]
    assert len(Relations.from_rows(3, [rows[0], rows[2], rows[0]], [5, -5, -5]).distinct()) == 2


@given(systems(), st.data())
def test_renumbering_moves_columns(system, data):
    relations, _, _, _ = system
    size = relations.num_cells + 2
    places = data.draw(st.permutations(range(size)))[: relations.num_cells]
    moved = relations.renumber(size, np.array(places))
    for (old, old_rhs), (new, new_rhs) in zip(dense(relations), dense(moved), strict=True):
        assert {places[cell]: coef for cell, coef in enumerate(old) if coef} == {
            cell: coef for cell, coef in enumerate(new) if coef
        }
        assert old_rhs == new_rhs


@given(systems())
def test_matrix_is_the_same(system):
    relations, _, _, _ = system
    assert relations.matrix.toarray().tolist() == [[float(c) for c in line] for line, _ in dense(relations)]


def test_empty():
    nothing = Relations.empty(3)
    assert (len(nothing), nothing.residuals(np.array([1, 2, 3]))) == (0, {})
    assert len(nothing.distinct()) == len(nothing.take_rows(np.zeros(0, dtype=np.int64))) == 0
    assert repr(nothing) == "Relations(0 relations over 3 cells)"
