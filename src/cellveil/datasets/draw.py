"""Random draws of invented microdata: the same on every machine and in every version of NumPy.

Everything is computed from `Generator.random`, the plainest of all methods: the shapes of the others are
free to change between versions, and a data set that a test or a paper refers to must not.
"""

from __future__ import annotations

from math import exp, lgamma, log, sqrt

import numpy as np

from cellveil.arrays import Float, Int

FINEST = 2.0**-32
"""Uniform draws keep this distance from 0 and 1, so that logarithms and inverses stay finite."""


def uniform(rng: np.random.Generator, size: int) -> Float:
    """Uniform draws, strictly between 0 and 1."""
    return np.clip(rng.random(size), FINEST, 1.0 - FINEST)


def normal(rng: np.random.Generator, size: int) -> Float:
    """Standard normal draws (Box and Muller)."""
    radius = np.sqrt(-2.0 * np.log(uniform(rng, size)))
    return np.asarray(radius * np.cos(2.0 * np.pi * rng.random(size)))


def poisson(rng: np.random.Generator, mean: float, size: int) -> Int:
    """Poisson draws, by the inverse of the distribution function.

    Examples
    --------
    >>> poisson(np.random.default_rng(0), 3.0, 8)
    array([3, 2, 0, 0, 4, 5, 3, 4])
    """
    longest = int(mean + 12 * sqrt(mean) + 30)
    shares = [exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(longest)]
    return choose(rng, np.array(shares), size)


def choose(rng: np.random.Generator, shares: Float, size: int) -> Int:
    """Draw positions with the given shares (any positive total)."""
    running = np.cumsum(shares)
    return np.asarray(np.searchsorted(running[:-1], rng.random(size) * running[-1], side="right"))


def choose_by_row(rng: np.random.Generator, shares: Float, rows: Int) -> Int:
    """Draw a column for each entry of `rows`, with the shares of that row of the matrix.

    Examples
    --------
    >>> choose_by_row(np.random.default_rng(0), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1, 1]))
    array([0, 1, 1])
    """
    running = np.cumsum(shares, axis=1)
    running = running / running[:, -1:]
    running[:, -1] = 1.0
    borders = (running + np.arange(len(shares))[:, None]).ravel()
    found = np.searchsorted(borders, rows + rng.random(len(rows)), side="right")
    return np.asarray(np.clip(found - rows * shares.shape[1], 0, shares.shape[1] - 1))


def pick(rng: np.random.Generator, count: int, among: int) -> Int:
    """Draw `count` different numbers below `among`, ascending."""
    return np.sort(np.argsort(rng.random(among), kind="stable")[:count])
