"""Ten small loops and what they mean in Python: equal on every example, to the last bit."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.loops.annealed_imbalance import anneal
from cellveil.loops.douglas_rachford import centre, lean, shrink
from cellveil.loops.integer_kernel import back_substitute
from cellveil.loops.residue_tableau import combine, follow
from cellveil.loops.structure import components, copies
from cellveil.loops.windowed_demand import ball
from loops.test_library import incidence

PRIME = 2**31 - 1

SEEDS = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def leaders(count: int, pairs: list[tuple[int, int]]) -> list[int]:
    """The smallest member of each one's group, by search."""
    groups = [{i} for i in range(count)]
    for i, j in pairs:
        if groups[i] is not groups[j]:
            groups[i] |= groups[j]
            for member in groups[j]:
                groups[member] = groups[i]
    return [min(group) for group in groups]


@settings(deadline=None)
@given(SEEDS, st.integers(1, 12), st.integers(0, 8))
def test_components(rng: np.random.Generator, cells: int, relations: int) -> None:
    total, axis = rng.integers(0, cells, relations), rng.integers(0, 3, relations)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 4, relations))])
    parts = rng.integers(0, cells, starts[-1])
    found = np.zeros(cells, dtype=np.int64)
    components(total, starts, parts, axis, 1, found)
    pairs = [
        (int(total[r]), int(z))
        for r in range(relations)
        if axis[r] != 1
        for z in parts[starts[r] : starts[r + 1]]
    ]
    assert found.tolist() == leaders(cells, pairs)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 12), st.integers(1, 3))
def test_copies(rng: np.random.Generator, relations: int, most: int) -> None:
    up = rng.integers(-1, relations, (relations, most))
    found = np.zeros(relations, dtype=np.int64)
    copies(up, found)
    pairs = [(r, int(other)) for r in range(relations) for other in up[r] if other >= 0]
    assert found.tolist() == leaders(relations, pairs)


def steps(rng: np.random.Generator, unknowns: int) -> tuple[Any, ...]:
    """Pivots unknown after unknown, each given by those before it."""
    size = rng.integers(0, 4, unknowns)
    starts = np.concatenate([[0], np.cumsum(size)])
    columns = np.concatenate([rng.integers(0, 3 + k, n) for k, n in enumerate(size)] or [[]]).astype(np.int64)
    pivot = np.arange(3, 3 + unknowns)
    return pivot, rng.choice([-2, -1, 1, 3], unknowns), starts, columns, rng.integers(-3, 4, len(columns))


@settings(deadline=None)
@given(SEEDS, st.integers(0, 6), st.sampled_from([5, 2**40, 2**61]))
def test_back_substitute(rng: np.random.Generator, unknowns: int, largest: int) -> None:
    pivot, scale, starts, columns, coefs = steps(rng, unknowns)
    values = np.concatenate([rng.integers(-largest, largest, 3), np.zeros(unknowns, dtype=np.int64)])
    mine, is_even = [int(v) for v in values], True
    for k in range(unknowns):
        terms = [int(coefs[e]) * mine[columns[e]] for e in range(starts[k], starts[k + 1])]
        if sum(map(abs, terms)) > 2**61 or sum(terms) % int(scale[k]):
            is_even = False
            break
        mine[pivot[k]] = -(sum(terms) // int(scale[k]))
    assert back_substitute(values, pivot, scale, starts, columns, coefs) == is_even
    assert values.tolist() == mine


@settings(deadline=None)
@given(SEEDS, st.integers(0, 6))
def test_follow(rng: np.random.Generator, unknowns: int) -> None:
    pivot, scale, starts, columns, coefs = steps(rng, unknowns)
    rows = np.zeros((3 + unknowns, 4), dtype=np.int32)
    rows[:3] = rng.integers(0, PRIME, (3, 4))
    mine = [[int(entry) for entry in row] for row in rows]
    for k in range(unknowns):
        inverse = pow(int(scale[k]) % PRIME, -1, PRIME)
        for j in range(4):
            total = sum(int(coefs[e]) * mine[columns[e]][j] for e in range(starts[k], starts[k + 1]))
            mine[pivot[k]][j] = -inverse * total % PRIME
    follow(rows, pivot, scale, starts, columns, coefs)
    assert rows.tolist() == mine


@settings(deadline=None)
@given(SEEDS, st.integers(1, 5), st.integers(1, 6))
def test_combine(rng: np.random.Generator, count: int, cells: int) -> None:
    columns = rng.integers(0, PRIME, (count + 1, cells)).astype(np.int32)
    factors = rng.integers(0, PRIME, count)
    mine = [
        sum(int(f) * int(x) for f, x in zip(factors, columns[:-1, i], strict=True)) % PRIME
        for i in range(cells)
    ]
    combine(columns, factors)
    assert columns[-1].tolist() == mine


def halves(rng: np.random.Generator, places: int, deviations: int) -> tuple[Any, ...]:
    """z, u, and bounds around 0 of a splitting."""
    shape = places, deviations
    return rng.normal(0, 3, shape), rng.normal(0, 1, shape), -rng.random(shape) * 3, rng.random(shape) * 3


@settings(deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.floats(0.01, 4), st.floats(1, 1.9))
def test_shrink(rng: np.random.Generator, places: int, deviations: int, step: float, relax: float) -> None:
    z, u, low, high = halves(rng, places, deviations)
    cost, (x, v) = rng.integers(0, 3, places).astype(float), np.zeros((2, places, deviations))
    shrink(z, u, cost, low, high, step, relax, x, v, 0, places)
    for j in range(places):
        square = 0.0
        for k in range(deviations):
            square += float(z[j, k] - u[j, k]) * float(z[j, k] - u[j, k])
        length, threshold = math.sqrt(square), step * float(cost[j])
        share = 1.0 if cost[j] == 0 else 0.0 if length <= threshold else 1.0 - threshold / length
        for k in range(deviations):
            w = min(max((z[j, k] - u[j, k]) * share, low[j, k]), high[j, k])
            assert x[j, k] == w and v[j, k] == relax * w + (1.0 - relax) * z[j, k] + u[j, k]


@settings(deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.floats(0.01, 4), st.floats(1, 1.9))
def test_lean(rng: np.random.Generator, places: int, deviations: int, step: float, relax: float) -> None:
    z, u, low, high = halves(rng, places, deviations)
    x, v = np.zeros((2, places, deviations))
    place, column = np.arange(places), rng.integers(0, deviations, places)
    goal, reward = rng.choice([-2.0, -0.5, 0.5, 2.0], places), rng.random(places) * 4
    lean(z, u, low, high, step, relax, x, v, place, column, goal, reward)
    for j, k, aim, prize in zip(place, column, goal, reward, strict=True):
        w, pull = z[j, k] - u[j, k], step * prize / abs(aim)
        if aim > 0:
            w = w + pull if w + pull < aim else max(w, aim)
        else:
            w = w - pull if w - pull > aim else min(w, aim)
        w = min(max(w, low[j, k]), high[j, k])
        assert x[j, k] == w and v[j, k] == relax * w + (1.0 - relax) * z[j, k] + u[j, k]


@settings(deadline=None)
@given(SEEDS, st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))
def test_centre(rng: np.random.Generator, planes: int, length: int, columns: int) -> None:
    y, normal = rng.normal(0, 2, (planes, length, columns)), rng.normal(0, 1, length)
    mine, begin = y.copy(), columns // 2
    for i in range(planes):
        for a in range(begin, columns):
            part = 0.0
            for s in range(length):
                part += float(normal[s]) * float(mine[i, s, a])
            for s in range(length):
                mine[i, s, a] -= float(normal[s]) * part
    centre(y, normal, 0, planes, begin, columns)
    assert y.tolist() == mine.tolist()


def stirred(word: int) -> int:
    """Marsaglia's xorshift in 64 bits."""
    word ^= word << 13 & 2**64 - 1
    word ^= word >> 7
    return word ^ (word << 17 & 2**64 - 1)


@settings(deadline=None)
@given(SEEDS, st.integers(1, 6), st.integers(1, 4), st.integers(1, 2**64 - 1))
def test_anneal(rng: np.random.Generator, cells: int, sums: int, word: int) -> None:
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 3, cells))])
    rows, jumps = rng.integers(0, sums, starts[-1]), rng.integers(1, 9, starts[-1])
    extra, price = rng.normal(0, 2, cells), rng.random(sums)
    senses, totals = rng.random(cells) < 0.5, rng.integers(-9, 9, sums)
    heats, state = np.array([5.0, 1.0, 0.1]), np.array([word], dtype=np.uint64)
    mine, own = [bool(s) for s in senses], [int(t) for t in totals]
    for heat in heats.tolist():
        for i in range(cells):
            sign, entries = (-1 if mine[i] else 1), range(starts[i], starts[i + 1])
            worse = sign * float(extra[i])
            for e in entries:
                before = own[rows[e]]
                worse += float(price[rows[e]]) * (abs(before + sign * int(jumps[e])) - abs(before))
            if worse > 0:
                if worse > 20 * heat:
                    continue
                word = stirred(word)
                if (word >> 11) * 2.0**-53 >= math.exp(-worse / heat):
                    continue
            for e in entries:
                own[rows[e]] += sign * int(jumps[e])
            mine[i] = not mine[i]
    anneal(starts, rows, jumps, extra, price, senses, totals, heats, state)
    assert (senses.tolist(), totals.tolist(), int(state[0])) == (mine, own, word)


@settings(deadline=None)
@given(SEEDS, st.integers(2, 9), st.integers(1, 9), st.floats(0.5, 6))
def test_ball(rng: np.random.Generator, cells: int, most: int, radius: float) -> None:
    """All cells stand in one relation: the nearest to the first one are the cheapest."""
    space, price = incidence(cells), rng.integers(0, 5, cells).astype(float)
    space.movable[:] = rng.random(cells) < 0.8
    reached, heap = {0: 0.0}, [(0.0, 0)]
    near: list[int] = []
    while heap and len(near) < most:
        distance, cell = heappop(heap)
        if cell in near:
            continue
        near.append(cell)
        for other in range(cells) if len(near) == 1 else ():
            far = distance + float(price[other]) + 0.5
            if space.movable[other] and far <= radius and far < reached.get(other, math.inf):
                reached[other] = far
                heappush(heap, (far, other))
    count = ball(space, price, 0.5, 0, most, radius)
    assert space.near[:count].tolist() == near
