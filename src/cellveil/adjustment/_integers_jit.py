"""Moves that empty the totals of a whole three-way adjustment: unit steps, pairs of steps, rectangles."""

from __future__ import annotations

import numpy as np

from cellveil.jit.compiled import inner, outer
from cellveil.jit.kinds import Bits, FloatCube, IntCube
from cellveil.jit.random_words import stirred


@inner
def _cell_change(
    y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube, a: int, b: int, c: int, step: int
) -> float:
    """What a step of one cell costs; ∞ where it does not fit."""
    old = y[a, b, c]
    new = old + step
    if new < low[a, b, c] or new > high[a, b, c]:
        return np.inf
    if power == 1:
        return float(weight[a, b, c] * (abs(new) - abs(old)))
    return float(weight[a, b, c] * float(new - old) * float(new + old))


@inner
def _change(
    y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube, i: int, j: int, k: int, step: int
) -> float:
    """What a step of one inner cell costs, with the seven totals over it; ∞ where it does not fit."""
    worse = 0.0
    for corner in range(8):
        a, b, c = i if corner & 1 else 0, j if corner & 2 else 0, k if corner & 4 else 0
        worse += _cell_change(y, weight, power, low, high, a, b, c, step)
        if worse == np.inf:
            break
    return worse


@inner
def _step(y: IntCube, i: int, j: int, k: int, step: int) -> None:
    for corner in range(8):
        y[i if corner & 1 else 0, j if corner & 2 else 0, k if corner & 4 else 0] += step


@outer
def units_and_pairs(y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube) -> int:
    """Bring the grand total, then the totals y[i, 0, 0] back while it pays; returns how many moves were made.

    A step of one inner cell moves the grand total; two steps of opposite sign, at (i, j, k) and (i′, j, k),
    move two of the other totals. The best place for them is taken.
    """
    rows, columns, depth = y.shape
    made = 0
    while y[0, 0, 0] != 0:
        step = -1 if y[0, 0, 0] > 0 else 1
        best, ri, rj, rk = -1e-9, 0, 0, 0
        for i in range(1, rows):
            for j in range(1, columns):
                for k in range(1, depth):
                    worse = _change(y, weight, power, low, high, i, j, k, step)
                    if worse < best:
                        best, ri, rj, rk = worse, i, j, k
        if ri == 0:
            break
        _step(y, ri, rj, rk, step)
        made += 1
    for i in range(1, rows):
        while y[i, 0, 0] != 0:
            step = -1 if y[i, 0, 0] > 0 else 1
            best, ri, rj, rk = -1e-9, 0, 0, 0
            for p in range(1, rows):
                if y[p, 0, 0] * step <= 0:
                    continue
                for j in range(1, columns):
                    for k in range(1, depth):
                        _step(y, p, j, k, -step)
                        worse = _change(y, weight, power, low, high, i, j, k, step)
                        _step(y, p, j, k, step)
                        worse += _change(y, weight, power, low, high, p, j, k, -step)
                        if worse < best:
                            best, ri, rj, rk = worse, p, j, k
            if ri == 0:
                break
            _step(y, ri, rj, rk, -step)
            _step(y, i, rj, rk, step)
            made += 1
    return made


@outer
def rectangles(
    y: IntCube, weight: FloatCube, power: int, low: IntCube, high: IntCube, planes: int, state: Bits
) -> int:  # fmt: skip
    """Move what stands in the totals y[i, j, 0] into planes y[:, :, k]; returns how many moves were made.

    A move adds ±1 at (i, j) and (i′, j′) and takes it away at (i, j′) and (i′, j), both in the totals and in
    one plane: no other total changes. From each total that moved, the best move over all i′, over the j′
    whose total moved the other way, and over `planes` planes drawn at random is made, while it pays.
    """
    rows, columns, depth = y.shape
    x, made = state[0], 0
    for i in range(1, rows):
        for j in range(1, columns):
            while y[i, j, 0] != 0:
                step = -1 if y[i, j, 0] > 0 else 1
                best, ri, rj, rk = -1e-9, 0, 0, 0
                for _ in range(planes):
                    x = stirred(x)
                    k = 1 + int((x >> np.uint64(20)) % np.uint64(depth - 1))
                    for q in range(1, columns):
                        if q == j or y[i, q, 0] * step <= 0:
                            continue
                        for p in range(1, rows):
                            if p == i:
                                continue
                            worse = 0.0
                            for corner in range(8):
                                a = i if corner & 1 == 0 else p
                                b = j if corner & 2 == 0 else q
                                c = 0 if corner & 4 == 0 else k
                                by = step if (corner & 1 == 0) == (corner & 2 == 0) else -step
                                worse += _cell_change(y, weight, power, low, high, a, b, c, by)
                                if worse == np.inf:
                                    break
                            if worse < best:
                                best, ri, rj, rk = worse, p, q, k
                if rk == 0:
                    break
                for turn in range(2):
                    c = rk * turn
                    y[i, j, c] += step
                    y[ri, rj, c] += step
                    y[i, rj, c] -= step
                    y[ri, j, c] -= step
                made += 1
    state[0] = x
    return made
