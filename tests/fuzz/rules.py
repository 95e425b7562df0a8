"""The sensitivity rules by their definitions (docs/rules.md), in fractions.

A rule gives None where a cell is safe, and else the lower and the upper level in true units, not yet rounded.
Every rule is applied to one cell at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fuzz.world import Cell, Key, World

Levels = tuple[Fraction, Fraction]
TINY = Fraction(1, 10**5)
ON_AMOUNTS = ("p%", "pq", "dominance")


@dataclass
class Unit:
    """One contributor: absolute amount, how many places it fills, whether it needs protection."""

    amount: Fraction
    places: Fraction
    is_target: bool


@dataclass
class Evaluation:
    """Rules of a job on the cells of its world."""

    world: World

    def levels(self, key: Key) -> Levels | None:
        """What the job's rules say of a cell, before bounds and factors."""
        found = self.any_of(self.world.job.get("rules", []), key)
        if self.world.statuses.get(key) == "u":
            percent = self.world.job.get("levels", {}).get("safety_range", 20)
            by_hand = self._margin(key, percent)
            found = by_hand if found is None else (max(found[0], by_hand[0]), max(found[1], by_hand[1]))
        return found

    def any_of(self, rules: list[Any], key: Key) -> Levels | None:
        """Unsafe if any fires; the largest levels."""
        fired = [levels for levels in (self.judge(rule, key) for rule in rules) if levels is not None]
        return (max(low for low, _ in fired), max(high for _, high in fired)) if fired else None

    def judge(self, rule: dict[str, Any], key: Key) -> Levels | None:
        """One rule, or several combined."""
        if "any" in rule:
            return self.any_of(rule["any"], key)
        if "all" in rule:
            found = [self.judge(part, key) for part in rule["all"]]
            if any(levels is None for levels in found):
                return None
            return self.any_of(rule["all"], key)
        if "first" in rule:
            return next((found for part in rule["first"] if (found := self.judge(part, key))), None)
        if "exempt" in rule:
            for name, codes in rule["exempt"].items():
                alias = self.world.aliases[name]
                code = key[self.world.dimensions.index(name)]
                if code in {alias.get(code, code) for code in codes}:
                    return None
            return self.judge(rule["of"], key)
        if "preset" in rule:
            return self._preset(rule, key)
        if rule["rule"] in ON_AMOUNTS:
            d = self.sensitivity(rule, key)
            return None if d is None else self._amount_levels(rule, key, d)
        return getattr(self, "_" + rule["rule"])(rule, key)

    def marking(self, rule: dict[str, Any], key: Key) -> Iterator[dict[str, Any]]:
        """The single rules by which the cell is unsafe."""
        if self.judge(rule, key) is None:
            return
        if "first" in rule:
            first = next(part for part in rule["first"] if self.judge(part, key) is not None)
            yield from self.marking(first, key)
        elif "any" in rule or "all" in rule:
            for part in rule.get("any") or rule["all"]:
                yield from self.marking(part, key)
        elif "exempt" in rule:
            yield from self.marking(rule["of"], key)
        elif "preset" in rule:
            yield from self.marking(PRESETS[rule["preset"]](rule), key)
        else:
            yield rule

    # -- rules on amounts ---------------------------------------------------------------------------------

    def sensitivity(self, rule: dict[str, Any], key: Key) -> Fraction | None:
        """What a rule on amounts asks for, below 0 where the cell is safe; None where nobody needs it."""
        if rule["rule"] == "dominance":
            return self._dominance(rule, key)
        ratio = fraction(rule["p"]) / fraction(rule["q"]) if rule["rule"] == "pq" else None
        ratio = fraction(rule.get("p", 10)) / 100 if ratio is None else ratio
        return self._narrowing(rule, key, ratio, rule.get("coalition", 1))

    def is_close(self, rule: dict[str, Any], key: Key) -> bool:
        """Whether weights that are taken to six decimals leave open if a rule on amounts fires."""
        members = self.world.cells[key].rule_parts[rule.get("level", "unit")].values()
        d = self.sensitivity(rule, key)
        is_rounded = any(m.weight * 10**6 % 1 for m in members)
        return is_rounded and d is not None and abs(d) < TINY * sum(abs(m.weighted) for m in members)

    def _dominance(self, rule: dict[str, Any], key: Key) -> Fraction | None:
        n, k = rule.get("n", 2), fraction(rule.get("k", 85))
        units, total = self._units(rule, key)
        largest = _sum_of(units, n)
        inside = _within(units, n)
        if not any(unit.is_target and unit.amount >= min(u.amount for u in inside) for unit in units):
            return None
        if not any(unit.amount and unit.is_target for unit in units):
            return None
        return 100 / k * largest - total

    def _narrowing(self, rule: dict[str, Any], key: Key, ratio: Fraction, members: int) -> Fraction | None:
        units, total = self._units(rule, key)
        target = max((unit.amount for unit in units if unit.is_target), default=Fraction(0))
        if not target:
            return None
        known = min(_sum_of(units, members + 1), _sum_of(units, members) + target)
        return ratio * target + known - total

    def _amount_levels(self, rule: dict[str, Any], key: Key, d: Fraction) -> Levels | None:
        cell, level = self.world.cells[key], rule.get("level", "unit")
        if d < 0 or (d == 0 and not rule.get("inclusive", False)):
            return None
        members = cell.rule_parts[level].values()
        rounded_weights = any(m.weight * 10**6 % 1 for m in members)
        if rounded_weights and d < TINY * sum(abs(m.weighted) for m in members):
            return None  # weights are taken to six decimals: too close to tell
        if d == 0:
            return self._margin(key, rule.get("safety_range", 20))
        if sum(m.weighted for m in members) != cell.value:
            d = abs(cell.value) * d / sum(abs(m.weighted) for m in members)
        if rounded_weights:
            d -= TINY * abs(cell.value)
        return d, d

    def _units(self, rule: dict[str, Any], key: Key) -> tuple[list[Unit], Fraction]:
        """Contributors, the largest first, and the sum of the absolute contributions."""
        level = rule.get("level", "unit")
        weighted = self.world.has_weights and rule.get("weighted", True)
        members = self.world.cells[key].rule_parts[level]
        units = [
            Unit(
                abs(member.amount),
                max(member.weight, Fraction(1)) if weighted else Fraction(1),
                who not in self.world.waivers[level],
            )
            for who, member in members.items()
        ]
        units.sort(key=lambda unit: -unit.amount)
        return units, sum((abs(member.weighted) for member in members.values()), Fraction(0))

    # -- rules on counts, requests, zeros -----------------------------------------------------------------

    def _threshold(self, rule: dict[str, Any], key: Key) -> Levels | None:
        cell, level = self.world.cells[key], rule.get("level", "unit")
        count = self._count(rule, cell, level)
        minimum = fraction(rule.get("minimum", 3))
        if count is None:
            return None
        few = count <= minimum if rule.get("inclusive") else count < minimum
        if not few or (count == 0 and not rule.get("zeros")):
            return None
        members = cell.rule_parts[level]
        if members and all(who in self.world.waivers[level] for who in members):
            return None
        return self._margin(key, rule.get("safety_range", 20))

    def _count(self, rule: dict[str, Any], cell: Cell, level: str) -> Fraction | int | None:
        if rule.get("of") == "value":
            return cell.value
        members = cell.rule_parts[level].values()
        if rule.get("weighted") and self.world.has_weights:
            return sum((m.weight_sum / m.records for m in members), Fraction(0))
        if level == "unit":
            return cell.count
        return len(members)

    def _request(self, rule: dict[str, Any], key: Key) -> Levels | None:
        cell, level = self.world.cells[key], rule.get("level", "unit")
        members, asked = cell.rule_parts[level], self.world.requests[level]
        shares = {"1": rule["share1"], "2": rule.get("share2")}
        total = sum((abs(member.weighted) for member in members.values()), Fraction(0))
        someone = fires = False
        for code, share in shares.items():
            if share is None:
                continue
            sizes = [abs(members[who].amount) for who in members if code in asked.get(who, ())]
            someone = someone or bool(sizes)
            largest, allowed = max(sizes, default=Fraction(0)), fraction(share) / 100 * total
            over = largest >= allowed if rule.get("inclusive") else largest > allowed
            fires = fires or (largest > 0 and over)
        least = rule.get("minimum", 0)
        few = len(members) <= least if rule.get("inclusive") else len(members) < least
        if fires or (someone and few):
            return self._margin(key, rule.get("safety_range", 20))
        return None

    def _zero(self, rule: dict[str, Any], key: Key) -> Levels | None:
        cell = self.world.cells[key]
        if cell.value != 0 or not cell.count:
            return None
        return Fraction(0), fraction(rule.get("range", 1))

    def _margin(self, key: Key, percent: Any) -> Levels:
        level = max(abs(self.world.cells[key].value) * fraction(percent) / 100, self.last_digit)
        return level, level

    @property
    def last_digit(self) -> Fraction:
        """One unit of the last digit."""
        return Fraction(1, 10**self.world.decimals)

    # -- presets ------------------------------------------------------------------------------------------

    def _preset(self, rule: dict[str, Any], key: Key) -> Levels | None:
        return self.judge(PRESETS[rule["preset"]](rule), key)


def _tau_argus(given: dict[str, Any]) -> dict[str, Any]:
    amounts: list[Any] = []
    for prefix, level in (("", "unit"), ("holding_", "holding")):
        further = {
            "level": level,
            "weighted": given.get("weighted", False),
            "safety_range": given.get("manual", 20),
        }
        for n, k in given.get(f"{prefix}nk", []):
            amounts.append({"rule": "dominance", "n": n, "k": k} | further)
        p = given.get(f"{prefix}p", [])
        several = p if isinstance(p, list) and any(isinstance(part, list) for part in p) else [p] if p else []
        amounts += [_p_rule(one) | further for one in several]
    stages: list[Any] = [{"any": amounts}] if amounts else []
    for name, level in (("req", "unit"), ("holding_req", "holding")):
        if name in given:
            share1, share2, minimum, margin = given[name]
            rule = {"rule": "request", "share1": share1, "share2": share2, "minimum": minimum}
            stages.append(rule | {"safety_range": margin, "level": level})
    if "freq" in given:
        minimum, reach = given["freq"]
        stages.append({"rule": "threshold", "minimum": minimum, "safety_range": reach})
    if "zero" in given:
        stages.append({"rule": "zero", "range": given["zero"]})
    return {"first": stages}


def _p_rule(one: Any) -> dict[str, Any]:
    """P(p), P(p, n) or P(p, q, n)."""
    if not isinstance(one, list):
        return {"rule": "p%", "p": one}
    if len(one) == 3:
        return {"rule": "pq", "p": one[0], "q": one[1], "coalition": one[2]}
    return {"rule": "p%", "p": one[0]} | ({"coalition": one[1]} if len(one) == 2 else {})


def _sdctable(given: dict[str, Any]) -> dict[str, Any]:
    rules: list[Any] = []
    if "max_n" in given:
        zeros = given.get("allow_zeros", False)
        rules.append({"rule": "threshold", "minimum": given["max_n"], "inclusive": True, "zeros": zeros})
    if "nk" in given:
        rules.append({"rule": "dominance", "n": given["nk"][0], "k": given["nk"][1]})
    if "p" in given:
        rules.append({"rule": "p%", "p": given["p"]})
    if "pq" in given:
        rules.append({"rule": "pq", "p": given["pq"][0], "q": given["pq"][1]})
    return {"any": rules}


def _gauss(given: dict[str, Any]) -> dict[str, Any]:
    rules: list[Any] = []
    if "max_n" in given:
        zeros = given.get("protect_zeros", True)
        rules.append({"rule": "threshold", "minimum": given["max_n"], "inclusive": True, "zeros": zeros})
    rules += [{"rule": "dominance", "n": n, "k": k, "inclusive": True} for n, k in given.get("nk", [])]
    if "p" in given:
        rules.append({"rule": "p%", "p": given["p"]})
    return {"any": rules}


def _acro(given: dict[str, Any]) -> dict[str, Any]:
    n, k = given.get("nk", [2, 90])
    zeros = given.get("zeros", True)
    return {
        "any": [
            {"rule": "threshold", "minimum": given.get("threshold", 10), "zeros": zeros},
            {"rule": "dominance", "n": n, "k": k, "inclusive": True},
            {"rule": "p%", "p": given.get("p", 10)},
        ]
    }


PRESETS = {"tau-argus": _tau_argus, "sdctable": _sdctable, "gauss-suppression": _gauss, "acro": _acro}


def single_rules(rules: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """All rules that are not made of others, presets and combinations taken apart."""
    for rule in rules:
        if "preset" in rule:
            yield from single_rules([PRESETS[rule["preset"]](rule)])
        elif "exempt" in rule:
            yield from single_rules([rule["of"]])
        elif parts := next((rule[name] for name in ("any", "all", "first") if name in rule), None):
            yield from single_rules(parts)
        elif "rule" in rule:
            yield rule


def fraction(number: Any) -> Fraction:
    """A number as it is written."""
    return Fraction(str(number))


def _sum_of(units: list[Unit], places: int) -> Fraction:
    """The amounts in the first places."""
    total, left = Fraction(0), Fraction(places)
    for unit in units:
        taken = min(unit.places, left)
        total, left = total + unit.amount * taken, left - taken
    return total


def _within(units: list[Unit], places: int) -> list[Unit]:
    """The contributors that have some of the first places."""
    found, left = [], Fraction(places)
    for unit in units:
        if left > 0:
            found.append(unit)
        left -= unit.places
    return found


def ceiling(amount: Fraction) -> int:
    """Rounded up."""
    return -(-amount.numerator // amount.denominator)


def primaries(world: World) -> dict[Key, tuple[int, int, int]]:
    """The unsafe cells with their levels (lower, upper, sliding) as whole numbers, cut at known bounds."""
    if world.given_levels:
        return dict(world.given_levels)
    found, unit = {}, 10**world.decimals
    settings = world.job.get("levels", {})
    factors = [fraction(settings.get(name, 1)) for name in ("lower_factor", "upper_factor")]
    evaluation = Evaluation(world)
    for key in world.cells:
        levels = evaluation.levels(key)
        if levels is None or key in world.excused:
            continue
        whole = [0 if level == 0 else max(1, ceiling(level * unit)) for level in levels]
        low, high = (ceiling(level * factor) for level, factor in zip(whole, factors, strict=True))
        value, lb, ub = world.value(key), world.lb_for_levels[key], world.ub[key]
        low = low if lb is None else min(low, max(value - lb, 0))
        high = high if ub is None else min(high, max(ub - value, 0))
        found[key] = (low, high, int(fraction(settings.get("sliding", 0)) * unit))
    return found
