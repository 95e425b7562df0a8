"""Unpick a million cells: seconds, and the ratio to one NumPy pass over the relations.

    python benchmarks/unpick.py [--sizes 100 100 100] [--primaries SHARE] [--hierarchical 0 1] [--repeat 5]

Primaries are hidden and nothing else: by default the cells with fewer than three contributors, with a share
that many at random. The pass adds up every relation once; both times are the best of the repetitions, taken
in turns; the first of unpicking is shown too, before caches and memory are warm.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from cellveil.attack.bound_propagation import unpick
from cellveil.datasets import random_table
from cellveil.pattern import Pattern
from cellveil.public_view import PublicView


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 100, 100])
    parser.add_argument("--primaries", type=float)
    parser.add_argument("--hierarchical", type=int, nargs="*", default=[])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    problem = random_table(options.sizes, hierarchical=options.hierarchical, primaries=options.primaries)
    relations, values = problem.table.relations, problem.table.values
    view = PublicView.of(problem, Pattern.hiding(problem, problem.hidden_at_start, "primaries"))

    def one_pass() -> object:
        return np.add.reduceat(values[relations.cells] * relations.coefs, relations.indptr[:-1])

    times = [(seconds(one_pass), seconds(lambda: unpick(view))) for _ in range(options.repeat)]
    passing, unpicking = (min(column) for column in zip(*times, strict=True))
    found = unpick(view)
    print(
        json.dumps(
            {
                "cells": problem.table.num_cells,
                "relations": len(relations),
                "hidden": int(view.hidden.sum()),
                "known exactly": int((found.is_point & view.hidden).sum()),
                "rounds": found.rounds,
                "complete": found.is_complete,
                "first seconds": round(times[0][1], 3),
                "seconds": round(unpicking, 3),
                "pass seconds": round(passing, 4),
                "ratio": round(unpicking / passing, 1),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
