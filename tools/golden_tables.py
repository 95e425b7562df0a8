"""Goldens of search and audit: patterns, certificates, audits, exposure, explanations, optima, adjustments.

A unit is one table with one seed. Its cases are named after table, seed and method, and have an aspect for
each thing that a later version may change: suppressed cells, cost, bound, ending, certificate. Nothing here
has a time limit, and one worker does the work: what the clock or threads decide is no golden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

import cellveil as cv
from cellveil.adjustment import OBJECTIVES
from cellveil.datasets.linked_tables import publication
from cellveil.datasets.random_tables import with_primaries
from cellveil.problem import Problem
from golden_units import Aspects, Case, Unit, digest, figure
from helpers.insider_tables import small_table as contributors_table
from helpers.instances import INSTANCES
from helpers.linked_tables import linked
from helpers.problem_kinds import PROBLEMS

SEEDS = (1, 2, 3)
Make = Callable[[int], Problem]


def random(*sizes: int, trees: tuple[int, ...] = (), **settings: Any) -> Make:
    """A random table of these sizes."""
    return lambda seed: cv.random_table(sizes, hierarchical=trees, seed=seed, **settings)


def counts(*sizes: int, trees: tuple[int, ...] = ()) -> Make:
    """A table of numbers of contributors."""

    def make(seed: int) -> Problem:
        problem = cv.random_table(sizes, hierarchical=trees, contributors=2, zeros=0.2, seed=seed)
        table = problem.table.replace(values=problem.table.contributors)
        return with_primaries(table, problem.primaries, 0.1, "value")

    return make


def survey(pairs: tuple[tuple[int, int], ...], firms: int = 300, **columns: str) -> Make:
    """Tables of invented firms by pairs of industry (0), region (1) and size (2); several are linked."""

    def make(seed: int) -> Problem:
        data = cv.business(firms, seed)
        tables = [
            cv.tabulate(
                data.frame, [data.dimensions[k] for k in pair], "turnover", contributor="firm", **columns
            )
            for pair in pairs
        ]
        level = "holding" if "holding" in columns else "unit"
        return cv.make_problem(
            tables[0] if len(tables) == 1 else cv.link(tables), cv.PPercent(10, level=level)
        )

    return make


@cache
def public(name: str) -> Problem:
    """A public instance."""
    return cv.read_instance(INSTANCES / "csp" / f"{name}.jj")


PUBLIC = ("targus", "table7", "table8", "hie1372d", "osorio", "cbs")

TABLES: dict[str, Make] = {
    "6x6": random(6, 6),
    "10x8": random(10, 8),
    "9x8 few": random(9, 8, contributors=2, zeros=0.2),
    "15x12": random(15, 12),
    "12x12 unit weights": random(12, 12, weight="one"),
    "30x20": random(30, 20),
    "40x30": random(40, 30),
    "14x5 tree": random(14, 5, trees=(0,)),
    "12x8 tree": random(12, 8, trees=(0,), contributors=2),
    "10x8 trees": random(10, 8, trees=(0, 1)),
    "12x9 trees": random(12, 9, trees=(0, 1), contributors=3, zeros=0.3),
    "20x15 trees": random(20, 15, trees=(0, 1)),
    "24x10 tree, unit weights": random(24, 10, trees=(0,), weight="one"),
    "40x25 trees": random(40, 25, trees=(0, 1)),
    "4x4x4": random(4, 4, 4),
    "6x5x4": random(6, 5, 4),
    "8x7x6": random(8, 7, 6),
    "9x9x3": random(9, 9, 3),
    "7x6x5 unit weights": random(7, 6, 5, weight="one"),
    "7x6x5 many contributors": random(7, 6, 5, contributors=8, zeros=0.2, primaries=0.065),
    "9x4x4 tree": random(9, 4, 4, trees=(0,)),
    "13x9x5 trees": random(13, 9, 5, trees=(0, 1)),
    "12x10x8": random(12, 10, 8),
    "3x3x3x3": random(3, 3, 3, 3),
    "3x3x3x4 few": random(3, 3, 3, 4, contributors=2),
    "5x4x3x3": random(5, 4, 3, 3),
    "6x4x3x3 tree": random(6, 4, 3, 3, trees=(0,)),
    "20x10 counts": counts(20, 10),
    "12x8 counts, tree": counts(12, 8, trees=(0,)),
    "8x7x6 counts": counts(8, 7, 6),
    "5x4x3x3 counts": counts(5, 4, 3, 3),
    "three margins": partial(linked, sizes=(5, 4, 3)),
    "three large margins": linked,
    "two linked surveys": survey(((1, 2), (0, 2))),
    "publication": lambda seed: publication(400, tables=4, seed=seed),
    **{f"kind: {kind}": (lambda _, kind=kind: PROBLEMS[kind]()) for kind in PROBLEMS if "D" not in kind[-3:]},
    **{f"public: {name}": (lambda _, name=name: public(name)) for name in PUBLIC},
}
"""By name: a function of the seed."""

SLOW = {"genetic": 60, "textbook": 200, "grouped": 120, "modular": 120, "optimal": 120, "elimination": 2000}
"""Methods that are run on tables of up to so many cells only, for the sake of time."""

QUICK = ("6x6", "10x8 trees", "4x4x4", "three margins", "20x10 counts", "kind: sliding levels")
OPTIONS = {"genetic": {"evaluations": 20}}


def outcome_of(result: Any) -> Aspects:
    """What a suppression came to."""
    return {
        "hidden": digest(np.packbits(result.pattern.hidden)),
        "cost": figure(result.cost),
        "bound": figure(result.lower_bound),
        "outcome": str(result.outcome),
        "reason": digest(result.reason),
        "certificate": digest(result.certificate.to_bytes()),
    }


def attempted(run: Callable[[], Any], read: Callable[[Any], Aspects]) -> Aspects:
    """The aspects of a result, or how it failed."""
    try:
        return read(run())
    except cv.CellveilError as error:
        return {"error": type(error).__name__, "message": digest(str(error))}


def patterns(name: str, seed: int) -> Iterator[Case]:
    """Every method on a table; exposure, and explanations of cells of its pattern."""
    problem = TABLES[name](seed)
    for method in cv.METHODS:
        if problem.table.num_cells <= SLOW.get(method, 20_000):
            run = partial(
                cv.suppress, problem, method, attackers=[], seed=seed, workers=1, options=OPTIONS.get(method)
            )
            yield f"{name} · {seed} · {method}", attempted(run, outcome_of)
    if problem.table.num_cells <= 2000:
        yield f"{name} · {seed} · exposure", attempted(lambda: cv.exposure(problem), exposed)
        run = partial(cv.suppress, problem, "network" if seed == 3 else "sequential", attackers=[], workers=1)
        yield f"{name} · {seed} · explanations", attempted(run, lambda result: explained(problem, result))


def exposed(found: Any) -> Aspects:
    """The sets of exposed cells, by name."""
    names = ("E", "E_f", "E_p", "E_u", "K_1", "K_pl", "K_nv", "K_s", "K_n")
    sets = {key: digest(np.packbits(getattr(found, key))) for key in names}
    told = [found.reasons(int(cell)) for cell in found.problem.primaries[:3]]
    return sets | {"candidates": digest(np.packbits(found.candidates("K5"))), "reasons": digest(told)}


def explained(problem: Problem, result: Any) -> Aspects:
    """What is said of a primary, a secondary and a published cell."""
    hidden = result.pattern.hidden
    kinds = {
        "primary": problem.primaries,
        "secondary": np.flatnonzero(hidden & ~problem.hidden_at_start),
        "published": np.flatnonzero(~hidden & (problem.table.values > 0)),
    }
    return {
        kind: digest(
            cv.explain_cell(
                problem, result.pattern, int(cells[-1]), certificate=result.certificate, time_limit=None
            ).to_dict()
        )
        for kind, cells in kinds.items()
        if len(cells)
    }


# -- audits --------------------------------------------------------------------------------------------------

AUDITED = 700
"""Cells of the largest tables that are audited, for the sake of time."""

SHARES = (0.0, 0.3, 0.5, 0.7)
"""Of the cells that are hidden at random beside the primaries."""

AUDITORS: tuple[Any, ...] = ([], ["integer"], [cv.Attacker(prior=50)], [])
"""Who attacks in the first, second, … of these patterns, besides outsiders."""


def audits(name: str) -> Iterator[Case]:
    """Patterns drawn at random: some safe, some not."""
    problem = TABLES[name](1)
    if problem.table.num_cells > AUDITED:
        return
    rng = np.random.default_rng(1)
    for share, attackers in zip(SHARES, AUDITORS, strict=True):
        drawn = (rng.random(problem.table.num_cells) < share) & (problem.status == cv.Status.SAFE)
        pattern = cv.Pattern.hiding(problem, problem.hidden_at_start | drawn, "drawn")
        run = partial(cv.audit, problem, pattern, attackers=["outsider", *attackers], workers=1)
        yield f"{name} · {share:g} hidden", attempted(run, judged)


def judged(audit: Any) -> Aspects:
    """What an audit says."""
    found: Aspects = {
        "safe": audit.is_safe,
        "unsafe": digest(audit.unsafe_cells),
        "verdict": digest(audit.verdict),
        "explanations": digest({str(cell): told for cell, told in audit.explanations.items()}),
        "certificate": digest(audit.certificate.to_bytes()),
    }
    for number, verdict in enumerate(audit.verdicts):
        for end in ("lower", "upper"):
            if (ends := getattr(verdict.report, end, None)) is not None:
                found[f"{end} {number}"] = digest([figure(one) for one in np.asarray(ends).tolist()])
    return found


# -- optima, adjustments, contributors -----------------------------------------------------------------------

EXACT: dict[str, Make] = {
    "5% 20x20": random(20, 20, primaries=0.05, zeros=0.0, contributors=6),
    "5% 40x40": random(40, 40, primaries=0.05, zeros=0.0, contributors=6),
    "three-way 6x6x4": random(6, 6, 4),
    "three-way 6x6x6": random(6, 6, 6),
    "tree 13x6x4": random(13, 6, 4, trees=(0,)),
    **{f"public: {name}": (lambda _, name=name: public(name)) for name in ("targus", "table8", "table7")},
}
"""The tables of `benchmarks/exact.py` that are proven optimal in seconds, and others of their size."""


def optima(name: str, seed: int) -> Iterator[Case]:
    """The exact search."""
    problem = EXACT[name](seed)
    run = partial(cv.suppress, problem, "optimal", attackers=[], seed=seed, workers=1)
    yield f"{name} · {seed}", attempted(run, outcome_of)


ADJUSTED = (
    *("6x6", "10x8", "12x9 trees", "15x12", "4x4x4", "6x5x4", "3x3x3x3", "20x10 counts", "three margins"),
    "kind: tiny cells",
)
SEARCHED = 40
"""Cells up to which the slow methods of adjustment are run, and `auto` with squares, for the sake of time."""


def adjustments(name: str, seed: int) -> Iterator[Case]:
    """Every method of adjustment under every objective."""
    problem = TABLES[name](seed)
    is_small = problem.table.num_cells <= SEARCHED
    methods = ("auto", "start", *(("tabu", "descent") if is_small else ()))
    for method, objective in product(methods, OBJECTIVES):
        if objective == "l2" and method == "auto" and not is_small:
            continue
        run = partial(cv.adjust, problem, method, objective=objective, seed=seed)
        yield f"{name} · {seed} · {method} · {objective}", attempted(run, adjusted)


def adjusted(result: Any) -> Aspects:
    """What an adjustment came to."""
    return {
        "values": digest(result.values),
        "cost": figure(result.cost),
        "bound": figure(result.lower_bound),
        "outcome": str(result.outcome),
        "audit": digest([*result.judged.faults, int(result.judged.pinned.sum()), result.judged.num_known]),
    }


ATTACKERS: dict[str, Any] = {
    "contributors": [cv.Attacker("insider")],
    "two together": [cv.Attacker("insider", coalition=2)],
    "(p, q)": [cv.Attacker("pq", p=10, q=50)],
}
FIRMS: dict[str, Make] = {
    **{
        f"small {place}": (lambda seed, place=place: contributors_table(4 * seed + place)[0])
        for place in range(4)
    },
    "region x size": survey(((1, 2),)),
    "two linked surveys": survey(((1, 2), (0, 2)), 150),
    "holdings": survey(((1, 2),), holding="holding"),
}


def contributors(name: str, seed: int) -> Iterator[Case]:
    """Protection against contributors, holdings, coalitions and under the (p, q) rule."""
    problem = FIRMS[name](seed)
    attackers = {"holdings": [cv.Attacker("insider", level="holding")]} if name == "holdings" else ATTACKERS
    for (words, given), method in product(attackers.items(), ("auto", "sequential")):
        run = partial(cv.suppress, problem, method, attackers=given, seed=seed, workers=1)
        yield f"{name} · {seed} · {words} · {method}", attempted(run, defended)


def defended(result: Any) -> Aspects:
    """What a suppression against contributors came to."""
    return outcome_of(result) | {"unprotectable": digest(sorted(result.unprotectable))}


def units() -> Iterator[Unit]:
    """All of them."""
    for name, seed in product(TABLES, SEEDS):
        yield Unit("patterns", f"{name} · {seed}", partial(patterns, name, seed), name in QUICK and seed == 1)
    for name in TABLES:
        yield Unit("audits", name, partial(audits, name), name in QUICK)
    for name, seed in product(EXACT, SEEDS[:2]):
        yield Unit("optima", f"{name} · {seed}", partial(optima, name, seed), name == "public: targus")
    for name, seed in product(ADJUSTED, SEEDS):
        quick = (name, seed) == ("4x4x4", 1)
        yield Unit("adjustments", f"{name} · {seed}", partial(adjustments, name, seed), quick)
    for name, seed in product(FIRMS, SEEDS):
        quick = seed == 1 and name in ("small 0", "region x size")
        yield Unit("contributors", f"{name} · {seed}", partial(contributors, name, seed), quick)
