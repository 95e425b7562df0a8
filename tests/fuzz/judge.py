"""The judge: what is wrong with the public files of a job.

It reads the job, its data and the public files, and nothing of the package. It may miss faults, since where
the documentation leaves something open it takes the attacker who knows less; what it reports is wrong.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from fuzz.adjusted import adjusted_faults
from fuzz.attacks import Box, Moves
from fuzz.insiders import InsiderAttack
from fuzz.rules import fraction, primaries, single_rules
from fuzz.world import Key, World, read_world
from helpers.public_files import public_rows

HIDDEN = None


@dataclass
class Verdict:
    """Faults as (kind, what), and how much work it was."""

    faults: list[tuple[str, str]] = field(default_factory=list)
    primaries: int = 0
    programs: int = 0
    unproved: int = 0

    def add(self, kind: str, what: str) -> None:
        """Note a fault."""
        self.faults.append((kind, what))

    @property
    def kinds(self) -> set[str]:
        """The kinds of faults."""
        return {kind for kind, _ in self.faults}


def judge(folder: Path) -> Verdict:
    """Hold the public files of the job in the folder against the judge's own findings."""
    world, verdict = read_world(folder), Verdict()
    public = folder / world.job["output"] / "public"
    unsafe = primaries(world)
    verdict.primaries = len(unsafe)
    shown = _read_public(world, public, verdict)
    if shown is None:
        return verdict
    if world.job.get("adjust", {}).get("publish"):
        for kind, what in adjusted_faults(world, shown, unsafe):
            verdict.add(kind, what)
        return verdict
    _Release(world, shown, unsafe, verdict).check()
    _scan(world, shown, public, verdict)
    return verdict


def attackers_asked(world: World) -> list[dict[str, Any]]:
    """Whom the job tests besides outsiders: by default single contributors, where their parts are known."""
    job = world.job
    named = list(job.get("attackers", []))
    if job.get("attackers") == [] or not job.get("default_attackers", True):
        return named
    is_known = "microdata" in job or world.has_parts
    if not is_known or any("shadow" in table for table in job.get("tables", [])):
        return named
    of_holdings = any(rule.get("level") == "holding" for rule in single_rules(job.get("rules", [])))
    level = "holding" if of_holdings else "unit"
    if any(one["kind"] == "insider" and one.get("level", "unit") == level for one in named):
        return named
    return [*named, {"kind": "insider", "level": level}]


# -- the public files -------------------------------------------------------------------------------------


def _read_public(world: World, public: Path, verdict: Verdict) -> dict[Key, int | None] | None:
    """The published value of each cell, None where it is hidden; cells that are not there are 0 to all."""
    symbol = world.job.get("release", {}).get("symbol", "x")
    rows = public_rows(public)
    if not rows or list(rows[0]) != [*world.dimensions, "value", "flag"]:
        verdict.add("form", f"columns {list(rows[0]) if rows else []}")
        return None
    shown: dict[Key, int | None] = {}
    for row in rows:
        key = world.canonical(tuple(row[name] for name in world.dimensions))
        if key not in world.cells:
            verdict.add("form", f"unknown cell {key}")
            continue
        hidden = row["value"] == symbol
        if hidden != (row["flag"] == symbol) or (not hidden and row["flag"]):
            verdict.add("form", f"flag {row['flag']!r} beside the value of {key}")
        value = HIDDEN if hidden else int(fraction(row["value"]) * 10**world.decimals)
        if shown.setdefault(key, value) != value:
            verdict.add("form", f"two names of {key} differ")
    for key, cell in world.cells.items():
        if key not in shown:
            if cell.value or cell.count:
                verdict.add("form", f"{key} is missing")
            shown[key] = 0
    return shown


def _scan(world: World, shown: dict[Key, int | None], public: Path, verdict: Verdict) -> None:
    """Look for ids, hidden values and marks of primary cells in all text files."""
    published = {abs(value) for value in shown.values() if value is not HIDDEN}
    long = {abs(world.value(key)) for key, value in shown.items() if value is HIDDEN}
    secrets = {str(value) for value in long - published if value >= 10**5} if not world.decimals else set()
    about = json.loads((public / "about.json").read_text())
    hidden = sum(value is HIDDEN for value in shown.values())
    if about["hidden_cells"] != hidden:
        verdict.add("form", f"about.json counts {about['hidden_cells']} hidden cells, there are {hidden}")
    for path in sorted(public.rglob("*")):
        if path.suffix not in (".csv", ".json", ".html"):
            continue
        text = re.sub("[0-9a-f]{40,}", "", path.read_text(encoding="utf-8"))
        if world.ids & set(re.findall(r"\w+", text)):
            verdict.add("leak", f"an id stands in {path.name}")
        if secrets & numbers_in(text):
            verdict.add("leak", f"a hidden value stands in {path.name}")
        if path.suffix == ".html":
            symbol = re.escape(world.job.get("release", {}).get("symbol", "x"))
            marks = {
                re.sub(r' class="(.*?)\bsum\b ?', r' class="\1', m)
                for m in re.findall(rf"<td[^>]*>{symbol}</td>", text)
            }
            if len({m.replace(' class=""', "") for m in marks}) > 2:
                verdict.add("leak", f"hidden cells look different in {path.name}: {sorted(marks)}")


def numbers_in(text: str) -> set[str]:
    """All whole numbers of a text, as they stand and without marks between groups of three digits."""
    groups = re.findall(r"\d{1,3}(?:[\u202f\u00a0\u2009 ,.']\d{3})+", text)
    return set(re.findall(r"\d+", text)) | {re.sub(r"\D", "", one) for one in groups}


# -- suppressed tables ------------------------------------------------------------------------------------


@dataclass
class _Release:
    """A table with hidden cells, under attack."""

    world: World
    shown: dict[Key, int | None]
    unsafe: dict[Key, tuple[int, int, int]]
    verdict: Verdict

    def check(self) -> None:
        """Everything."""
        world, verdict = self.world, self.verdict
        for key, value in self.shown.items():
            if value is not HIDDEN and value != world.value(key):
                verdict.add("value", f"{key} is published as {value}, and is {world.value(key)}")
            if value is not HIDDEN and world.statuses.get(key) == "m":
                verdict.add("set m published", f"{key}")
            if value is HIDDEN and world.statuses.get(key) == "z":
                verdict.add("set z hidden", f"{key}")
        for key in self.unsafe:
            if self.shown[key] is not HIDDEN:
                kind = "empty primary published" if world.cells[key].count == 0 else "primary published"
                verdict.add(kind, f"{key}, levels {self.unsafe[key]}")
        self.hidden = [key for key, value in self.shown.items() if value is HIDDEN]
        self._outsiders({}, whole=False, name="outsider")
        for attacker in attackers_asked(world):
            self._attack(attacker)

    def moves(self) -> Moves:
        """A fresh set of movements."""
        return Moves(self.hidden, self.world.relations)

    def box(self) -> Box:
        """What everybody knows of the hidden cells, as movements."""
        world = self.world
        found = Box()
        for key in self.hidden:
            value, lb, ub = world.value(key), world.lb[key], world.ub[key]
            found[key] = (
                None if lb is None else min(lb - value, 0),
                None if ub is None else max(ub - value, 0),
            )
        return found

    def _attack(self, attacker: dict) -> None:  # type: ignore[type-arg]
        kind = attacker["kind"]
        if kind in ("outsider", "integer"):
            name = f"{kind} with prior" if "prior" in attacker else kind
            self._outsiders(attacker, whole=kind == "integer", name=name)
            return
        attack = InsiderAttack(self.world, self.shown, self.unsafe, attacker, self.moves(), self.box())
        for what, text in attack.faults():
            self.verdict.add(what, text)
        self._note(attack.moves)

    def _outsiders(self, attacker: dict, *, whole: bool, name: str) -> None:  # type: ignore[type-arg]
        moves, box = self.moves(), self.box()
        if "prior" in attacker:
            share = fraction(attacker["prior"]) / 100
            for key in self.hidden:
                reach = int(share * abs(self.world.value(key)))
                low, high = box[key]
                box[key] = (
                    -reach if low is None else max(low, -reach),
                    reach if high is None else min(high, reach),
                )
        for key, (lpl, upl, spl) in self.unsafe.items():
            if self.shown[key] is not HIDDEN:
                continue
            for up, amount in ((True, upl), (False, lpl)):
                short = (
                    moves.whole_shortfall(key, up, amount, box)
                    if whole
                    else moves.shortfall(key, up, amount, box)
                )
                if short is not None:
                    what = f"{key} can move {'up' if up else 'down'} by {float(short):g}, needs {amount}"
                    self.verdict.add(f"open to {name}", what)
            if spl > lpl + upl and not whole:
                self._sliding(moves, key, spl, box, name)
        self._note(moves)

    def _sliding(self, moves: Moves, key: Key, spl: int, box: Box, name: str) -> None:
        reach = [moves.shortfall(key, up, spl, box) for up in (True, False)]
        if None not in reach and sum(r for r in reach if r is not None) < Fraction(spl):
            self.verdict.add(f"open to {name}", f"{key} has a width of {float(sum(reach)):g}, needs {spl}")  # type: ignore[arg-type]

    def _note(self, moves: Moves) -> None:
        self.verdict.programs += moves.programs
        self.verdict.unproved += moves.unproved
