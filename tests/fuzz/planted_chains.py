"""Chains that leak wherever former releases are not looked at: one of each kind, made by hand.

A lenient release comes first, a strict one after it. Firm f0 has most of region N, so that N is sensitive by
the strict rules, and the lenient release shows it, or enough to compute it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz.chains import TOTAL, Chain, Step

LENIENT, STRICT = [{"rule": "threshold", "minimum": 2}], [{"rule": "p%", "p": 30}]

FIRMS = {
    ("N1", "a"): [400, 12, 14], ("N2", "a"): [13, 9, 11], ("N2", "b"): [15, 20, 18],
    ("S1", "a"): [40, 45, 60], ("S2", "b"): [41, 39, 47], ("W1", "a"): [55, 58, 61],
    ("W2", "b"): [62, 49, 51],
}  # fmt: skip
REGIONS = [[TOTAL, large] for large in "NSW"] + [[large, f"{large}{n}"] for large in "NSW" for n in (1, 2)]

SIDES = [[TOTAL, "coast"], [TOTAL, "hills"]]
SIDES += [["coast" if code in ("N1", "S1", "W2") else "hills", code] for _, code in REGIONS[3:]]


def planted(kind: str) -> Chain:
    """The chain of a kind."""
    records: list[dict[str, str]] = []
    for (reg, size), amounts in FIRMS.items():
        for amount in amounts:
            part = 3 if reg == "N1" and amount == 400 else amount // 2
            record = {
                "firm": f"f{len(records)}",
                "grp": f"h{len(records)}",
                "wt": "2",
                "reg": reg,
                "size": size,
            }
            record |= {"tot": f"{amount}.4", "dom": f"{part}.1", "exp": f"{amount - part}.3"}
            records.append(record)
    chain: Chain = {
        "columns": {"reg": ["N1", "N2", "S1", "S2", "W1", "W2"], "size": ["a", "b"]},
        "trees": {"reg": REGIONS},
        "second": {"reg": SIDES},
        "variables": ["tot", "dom", "exp"],
        "signed": False,
        "equation": True,
        "decimals": 1,
        "records": records,
    }
    former, new = _step(LENIENT), _step(STRICT, form="to_level", level=1)
    chain["steps"] = PLANTED[kind](former, new)
    if kind == "counts beside decimals":
        north = [next(record for record in records if record["reg"] == code) for code in ("N1", "N2")]
        chain["records"] = north + [record for record in records if record["reg"][0] != "N"]
    if kind == "single child":
        chain["trees"] = {"reg": [*REGIONS, ["N1", "N1x"]]}
        chain["columns"]["reg"][0] = "N1x"
        for record in records:
            record["reg"] = {"N1": "N1x"}.get(record["reg"], record["reg"])
    return chain


def _step(rules: list[dict[str, Any]], **view: Any) -> Step:
    table = {"dimensions": ["reg"], "response": "exp"}
    return {
        "kind": "job", "tables": [table], "rules": rules, "views": {"reg": {"form": "tree"} | view},
        "weight": False, "holding": False, "contributor": True, "attackers": "outsiders", "against": "public",
        "equation": False, "cells": [], "mapping": True, "accept": True,
    }  # fmt: skip


Steps = list[Step]


def _view(former: Step, new: Step, **view: Any) -> Steps:
    former["views"]["reg"] |= view
    return [former, new]


def _with(former: Step, new: Step, **both: Any) -> Steps:
    return [former | both, new | both]


def _recoded(former: Step, new: Step) -> Steps:
    """N1 and N are hidden at first, and N2 is out; then N is published."""
    rules = [{"rule": "dominance", "n": 1, "k": 90}]
    cells = [{"table": 0, "key": {"reg": "N2"}, "status": "z"}]
    return [former | {"rules": rules, "cells": cells}, new | {"rules": rules}]


def _equation(former: Step, new: Step) -> Steps:
    former["tables"] = [{"dimensions": ["reg"], "response": name} for name in ("tot", "dom")]
    tables = [{"dimensions": ["reg"], "response": name} for name in ("tot", "exp")]
    tables.append({"dimensions": ["size"], "response": "dom"})
    views = {"reg": {"form": "to_level", "level": 1}, "size": {"form": "flat"}}
    rules = [{"rule": "dominance", "n": 1, "k": 60}]
    return [former, new | {"tables": tables, "views": views, "equation": True, "rules": rules}]


def _former_equation(former: Step, new: Step) -> Steps:
    tables = [{"dimensions": ["reg"], "response": name} for name in ("tot", "dom")]
    tables.append({"dimensions": ["size"], "response": "exp"})
    views = {"reg": {"form": "tree"}, "size": {"form": "flat"}}
    return [former | {"tables": tables, "views": views, "equation": True}, new]


def _counts(former: Step, new: Step) -> Steps:
    """Two firms in N, one in each part: whoever sees 2, and that no hidden count is 0, knows both."""
    tables = [{"dimensions": ["reg"], "response": name} for name in (None, "exp")]
    return [new | {"tables": tables, "rules": LENIENT, "views": former["views"]}]


def _instance(former: Step, new: Step) -> Steps:
    again = {"kind": "instance", "of": 0, "against": "public"}
    tables = [{"dimensions": [name], "response": "exp"} for name in ("reg", "size")]
    views = {"reg": {"form": "tree", "total": "Alle"}, "size": {"form": "flat", "total": "Alle"}}
    return [former | {"tables": tables, "views": views}, again, new]


def _batch(former: Step, new: Step, order: str) -> Steps:
    return [former | {"stale_rules": STRICT}, new | {"batch": order}]


def _linked(former: Step, new: Step) -> Steps:
    tables = [{"dimensions": dims, "response": "exp"} for dims in (["reg", "size"], ["size"], ["reg"])]
    views = {"reg": {"form": "to_level", "level": 1}, "size": {"form": "flat"}}
    return [former, new | {"tables": tables, "views": views}]


def _population(former: Step, new: Step) -> Steps:
    tables, views = (
        [{"dimensions": ["reg", "size"], "response": "exp"}],
        new["views"] | {"size": {"form": "flat"}},
    )
    return [former | {"population": {"size": ["a"]}}, new | {"tables": tables, "views": views}]


def _revised(former: Step, new: Step) -> Steps:
    return [former, new | {"revise": [{"record": 0, "kind": "small", "variable": "exp", "by": 3}]}]


PLANTED: dict[str, Callable[[Step, Step], Steps]] = {
    "same names": _view,
    "recoded": _recoded,
    "joined": lambda a, b: _view(a, b, form="join", join={"J": ["N1", "N2"], "K": ["S1", "W1"]}),
    "by a file": lambda a, b: _view(a, b, form="recode", join={"J": ["N1", "N2"], "K": ["S1", "W1"]}),
    "name of another code": lambda a, b: _view(
        a, b, form="join", join={"S": ["N1", "N2"], "N": ["S1", "S2"]}
    ),
    "folded": lambda a, b: _view(a, b, form="fold", codes=["N"]),
    "flat": lambda a, b: _view(a, b, form="flat"),
    "single child": _view,
    "renamed dimension": lambda a, b: _view(a, b, name="region"),
    "renamed column": lambda a, b: _view(a, b, file_column="reg_code"),
    "renamed codes": lambda a, b: _view(
        a, b, rename={c: f"x{c}" for c in ("N1", "N2", "S1", "S2", "W1", "W2")}
    ),
    "renamed total": lambda a, b: _view(a, b, total="Alle"),
    "equation": _equation,
    "equation of the former release alone": _former_equation,
    "renamed codes, folded, nothing said": lambda a, b: _view(
        a | {"mapping": False},
        b | {"mapping": False},
        form="fold",
        codes=["N", "S", "W"],
        rename={c: f"x{c}" for c in ("N1", "N2", "S1", "S2", "W1", "W2")},
    ),
    "renamed column, nothing said": lambda a, b: _view(
        a,
        b | {"mapping": False},
        file_column="reg_code",
    ),
    "two trees": lambda a, b: _view(a, b, form="two trees"),
    "levels in the data": lambda a, b: _view(a, b, form="levels"),
    "counts beside decimals": _counts,
    "rounding": lambda a, b: [a | {"decimals": 0}, b],
    "rounded today": lambda a, b: [a, b | {"decimals": 0}],
    "revision": _revised,
    "weights": lambda a, b: _with(a, b | {"rules": [{"rule": "dominance", "n": 1, "k": 35}]}, weight=True),
    "holdings": lambda a, b: _with(a, b, holding=True),
    "population": _population,
    "instance": _instance,
    "batch": lambda a, b: _batch(a, b, "in order"),
    "batch the other way round": lambda a, b: _batch(a, b, "reversed"),
    "linked tables": _linked,
    "output folder": lambda a, b: _with(a, b, against="output"),
    "kept release": lambda a, b: _with(a, b, against="kept"),
    "release of an older program": lambda a, b: _with(a, b, against="copy"),
}
"""By kind: the steps, of a lenient and a strict release."""
