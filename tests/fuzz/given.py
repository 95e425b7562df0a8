"""Instances: tidy folders that bring their own statuses, levels, bounds and contributions."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from fuzz.world import Axis, Cell, Member, World, read_rows, root_of


def read_instance(job: dict[str, Any], folder: Path) -> World:
    """The world of a tidy folder."""
    rows = read_rows(folder / "cells.csv")
    names = list(rows[0])[: list(rows[0]).index("value")]
    axes = {name: _axis(folder, name) for name in names}
    aliases = {name: axis.aliases for name, axis in axes.items()}
    world = World(job, names, aliases, {name: axis.total for name, axis in axes.items()})
    negative = any(Fraction(row["value"]) < 0 for row in rows)
    for row in rows:
        key = world.canonical(tuple(row[name] for name in names))
        world.cells[key] = Cell(Fraction(row["value"]), count=int(row["contributors"]))
        world.statuses[key] = row["status"]
        lowest = None if negative else 0
        world.lb[key] = int(row["lb"]) if row["lb"] else lowest
        world.ub[key] = int(row["ub"]) if row["ub"] else None
        if row["status"] == "u":
            world.given_levels[key] = (int(row["lpl"] or 0), int(row["upl"] or 0), int(row["spl"] or 0))
    world.lb_for_levels = dict(world.lb)
    _relations(world, axes)
    _contributions(world, axes, folder / "contributions.csv")
    return world


def _axis(folder: Path, name: str) -> Axis:
    first = [(row["parent"], row["child"]) for row in read_rows(folder / f"hier_{name}.csv")]
    trees = [first]
    for path in sorted(folder.glob(f"hier_{name}_*.csv")):
        trees.append([(row["parent"], row["child"]) for row in read_rows(path)])
    return Axis(root_of(first), trees)


def _relations(world: World, axes: dict[str, Axis]) -> None:
    names = list(axes)
    for place, axis in enumerate(axes.values()):
        others = [[axis.total] if name == names[place] else axes[name].codes for name in names]
        for codes in product(*others):
            for parent, children in axis.sums:
                relation = {(*codes[:place], parent, *codes[place + 1 :]): -1}
                relation |= {(*codes[:place], child, *codes[place + 1 :]): 1 for child in children}
                world.relations.append({key: c for key, c in relation.items() if key in world.cells})


def _contributions(world: World, axes: dict[str, Axis], path: Path) -> None:
    if not path.exists():
        return
    world.has_parts = True
    counted: dict[Any, set[str]] = defaultdict(set)
    for row in read_rows(path):
        amount, who = Fraction(row["amount"]), {"unit": row["contributor"], "holding": row["holding"]}
        world.ids |= set(who.values())
        if amount < 0:
            world.signed.add("")
        for key in product(*(axis.covers(row[name]) for name, axis in axes.items())):
            cell = world.cells.get(key)
            if cell is None:
                continue
            for level, member in who.items():
                cell.rule_parts[level].setdefault(member, Member()).add(amount, Fraction(1), amount)
                cell.own_parts[level][member] = cell.own_parts[level].get(member, Fraction(0)) + amount
            counted[key].add(who["unit"])
    for key, cell in world.cells.items():
        cell.count = len(counted[key])
