"""The judge of releases over time: cases worked out by hand, planted leaks of each kind, random tables."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from fuzz.jobs import write_rows
from fuzz.planted_chains import PLANTED, planted
from fuzz.readers import (
    ALONE,
    FORMER,
    OPEN,
    PUBLISHED,
    SILENT,
    WRONG,
    Base,
    Knowledge,
    PublishedTable,
    Release,
    Sets,
    Space,
    judge,
    read_figures,
)
from fuzz.running import RELEASED
from fuzz.running_chains import run_chain
from fuzz.sensitive import Levels, Record, Variable, levels_of
from helpers.examples import few_of

V, COUNT = Variable("v"), Variable()
P30 = [{"rule": "p%", "p": 30}]
TWO = [{"rule": "threshold", "minimum": 2}]


def records(text: str, columns: str = "reg", variables: str = "v") -> list[Record]:
    """Records from lines of codes and amounts; one firm a line unless it ends with a name after @."""
    names, found = columns.split(), []
    for number, line in enumerate(text.replace(";", "\n").split("\n")):
        parts, _, who = line.partition("@")
        fields = parts.split()
        if fields:
            codes = dict(zip(names, fields[: len(names)], strict=True))
            amounts = dict(zip(variables.split(), map(Fraction, fields[len(names) :]), strict=True))
            found.append(Record(codes, amounts, who.strip() or f"f{number}", f"h{number}"))
    return found


def firms(code: str, *amounts: float) -> str:
    """Lines of firms with one code."""
    return ";".join(f"{code} {amount}" for amount in amounts) + ";"


def sets(**codes: str) -> dict[str, Sets]:
    """Codes and the finest codes they contain."""
    return {code: frozenset(inside.split()) for code, inside in codes.items()}


Meaning = Mapping[str, tuple[str, Mapping[str, Sets]]]
"""For each dimension its data column and its codes."""


def publish(
    folder: Path, name: str, found: Sequence[Record],
    tables: Sequence[tuple[Meaning, Variable, Iterable[str]]], *,
    shown: Mapping[str, str] | None = None, left_out: Iterable[str] = (), **more: Any,
) -> Release:  # fmt: skip
    """A release with the cells of some codes hidden; `shown` says what stands there in place of the sum."""
    public = folder / name / "public"
    public.mkdir(parents=True)
    (public / "about.json").write_text("{}")
    (public.parent / "internal").mkdir()
    step, population = more.get("step", Fraction(0)), more.get("population", {})
    made = []
    for number, (meaning, variable, hidden) in enumerate(tables):
        rows = []
        for codes in product(*(codes for _, codes in meaning.values())):
            inside = [
                record
                for record in found
                if all(record.codes[c] in allowed for c, allowed in population.items())
                and all(
                    record.codes[c] in means[k] for (c, means), k in zip(meaning.values(), codes, strict=True)
                )
            ]
            text = " ".join(codes)
            if not inside or text in left_out:
                continue
            value = sum((variable.value(record, step) for record in inside), Fraction(0))
            said = (shown or {}).get(text, f"{float(value):g}")
            rows.append([*codes, "x" if text in hidden else said, "x" if text in hidden else ""])
        write_rows(public / f"t{number}.csv", [*meaning, "value", "flag"], rows)
        columns = {dimension: column for dimension, (column, _) in meaning.items()}
        codes_of = {dimension: codes for dimension, (_, codes) in meaning.items()}
        made.append(PublishedTable(f"t{number}", columns, codes_of, {"": variable}, not left_out))
    return Release(name, public, made, found, internal=public.parent / "internal", **more)


def kinds(*releases: Release) -> set[str]:
    return judge(releases).kinds


# -- leaks between releases -------------------------------------------------------------------------------

RECODED = records(
    firms("N1", 50, 40, 30, 20) + firms("N2", 900) + firms("S1", 60, 350) + firms("S2", 300, 280)
)
FINE = {"reg": ("reg", sets(T="N1 N2 S1 S2", N="N1 N2", S="S1 S2", N1="N1", N2="N2", S1="S1", S2="S2"))}
LARGE = {"reg": ("reg", sets(T="N1 N2 S1 S2", N="N1 N2", S="S1 S2"))}


def test_a_region_is_published_of_which_one_part_is_out(tmp_path: Path) -> None:
    first = publish(tmp_path, "a", RECODED, [(FINE, V, ["N", "N2", "S", "S2"])], rules=TWO)
    coarse = publish(tmp_path, "b", RECODED, [(LARGE, V, [])], rules=TWO)
    assert kinds(first) == set()
    assert kinds(coarse) == set()
    found = judge([first, coarse])
    assert found.kinds == {FORMER}
    assert "(900) can lie at most 0 above, needs 180" in found.findings[0].text
    hidden = publish(tmp_path, "c", RECODED, [(LARGE, V, ["N", "S"])], rules=TWO)
    assert kinds(first, hidden) == set()


def test_a_joined_code_is_the_sum_of_its_parts(tmp_path: Path) -> None:
    joined = {"reg": ("reg", sets(T="N1 N2 S1 S2", J="N2 S1", N1="N1", S2="S2"))}
    first = publish(tmp_path, "a", RECODED, [(joined, V, [])], rules=TWO)
    flat = {"reg": ("reg", sets(T="N1 N2 S1 S2", N1="N1", N2="N2", S1="S1", S2="S2"))}
    second = publish(tmp_path, "b", RECODED, [(flat, V, ["N2", "S2"])], rules=TWO)
    assert kinds(second) == set()
    assert kinds(first, second) == {OPEN}
    third = publish(tmp_path, "c", RECODED, [(flat, V, ["N2", "S1"])], rules=TWO)
    assert kinds(first, third) == set()


def test_a_total_less_its_domestic_part(tmp_path: Path) -> None:
    text = firms("N", "519 119 400", "120 110 10", "90 80 10") + firms("S", "200 98 102", "250 152 98")
    text += firms("W", "300 190 110", "280 181 99")
    found = records(text, "reg", "tot dom exp")
    flat = {"reg": ("reg", sets(T="N S W", N="N", S="S", W="W"))}
    dom, tot, exp = Variable("dom"), Variable("tot"), Variable("exp")
    first = publish(tmp_path, "a", found, [(flat, dom, [])], rules=TWO)
    tied = {"equations": {"tot": ["dom", "exp"]}, "rules": [{"rule": "dominance", "n": 1, "k": 95}]}
    second = publish(tmp_path, "b", found, [(flat, tot, []), (flat, exp, ["N", "W"])], **tied)
    assert kinds(second) == set()
    found_now = judge([first, second])
    assert found_now.kinds == {OPEN}
    assert "exp of reg N (420)" in found_now.findings[0].text
    untied = replace(second, equations={})
    assert kinds(first, untied) == set()


REGIONS = records(
    firms("N", 400, 12, 14, 15, 20, 18, 10, 12) + firms("S", 30, 40, 50) + firms("W", 60, 55, 30)
)
FLAT = {"reg": ("reg", sets(T="N S W", N="N", S="S", W="W"))}


def test_one_cell_by_other_names(tmp_path: Path) -> None:
    """A renamed dimension, a renamed code, and a region with a single district."""
    strict = publish(tmp_path, "new", REGIONS, [(FLAT, V, ["N", "W"])], rules=P30)
    renamed = {"Region": ("reg", FLAT["reg"][1])}
    codes = {"reg": ("reg", sets(Alle="N S W", Nord="N", Sued="S", West="W"))}
    tree = {"reg": ("reg", sets(T="N S W", R="N", N="N", S="S", W="W"))}
    for number, meaning in enumerate([renamed, codes, tree]):
        former = publish(tmp_path, f"old{number}", REGIONS, [(meaning, V, [])], rules=TWO)
        found = judge([former, strict])
        assert found.kinds == {SILENT}, number  # follows from the former release alone
        assert len(found.known_already) == 1


def test_what_the_report_states_is_no_finding(tmp_path: Path) -> None:
    former = publish(tmp_path, "old", REGIONS, [(FLAT, V, [])], rules=TWO)
    strict = publish(tmp_path, "new", REGIONS, [(FLAT, V, ["N", "W"])], rules=P30)
    assert strict.internal is not None
    report = strict.internal / "report.json"
    report.write_text(json.dumps({"against": {"known_already": []}}))
    assert kinds(former, strict) == {SILENT}
    report.write_text(json.dumps({"against": {"known_already": ["N"]}}))
    found = judge([former, strict])
    assert found.kinds == set() and len(found.known_already) == 1


def test_a_table_of_all_dimensions_with_few_rows(tmp_path: Path) -> None:
    """The rows of linked tables in one file: a combination without a row is not empty."""
    found = records("N a 400;N a 20;N b 12;S a 70;S b 60;S a 65;S b 66;W b 50;W a 55", "reg size")
    both = {
        "reg": ("reg", sets(T="N S W", N="N", S="S", W="W")),
        "size": ("size", sets(T="a b", a="a", b="b")),
    }
    inner = [f"{a} {b}" for a, b in product("NSW", "ab")]
    former = publish(tmp_path, "old", found, [(both, V, [])], left_out=inner, rules=TWO)
    flat = {"reg": both["reg"]}
    strict = publish(tmp_path, "new", found, [(flat, V, ["N", "W"])], rules=P30)
    assert judge([former]).kinds == set()
    assert kinds(former, strict) == {SILENT}
    size = {"size": both["size"]}
    by_size = publish(
        tmp_path, "c", found, [(size, V, ["a", "b"])], rules=[{"rule": "dominance", "n": 1, "k": 60}]
    )
    assert kinds(former, by_size) == {SILENT}


def test_rounded_records_are_windows(tmp_path: Path) -> None:
    """8 records of N, 511.8 in all, give 515: [511, 519]; those of W, 400.8, 404. N + W is out now: 912.6."""
    tenths = [400.6, 14.6, 15.6, 20.6, 18.6, 10.6, 17.6, 13.6]
    west = [300.6, 11.6, 19.6, 13.6, 10.6, 13.6, 16.6, 14.6]
    found = records(firms("N", *tenths) + firms("W", *west) + firms("S", 20, 30, 40))
    rounded = {"step": Fraction(1), "rules": TWO}
    former = publish(tmp_path, "old", found, [(FLAT, V, [])], **rounded)
    strict = publish(tmp_path, "new", found, [(FLAT, V, ["N", "W"])], rules=P30)
    seen = judge([former, strict])
    assert seen.kinds == {SILENT}
    text = next(text for text in seen.known_already if "reg N" in text)
    assert "(511.8) can lie at most 0.8 above" in text and "at most 0.8 below" in text
    only_n = publish(tmp_path, "half", found, [(FLAT, V, ["W"])], **rounded)
    joint = _interval([only_n, strict], "N")
    assert joint == (pytest.approx(511), pytest.approx(519))
    joint = _interval([former, strict], "N")
    assert joint == (pytest.approx(511), pytest.approx(512.6))  # as W is at least 400


def _interval(releases: Sequence[Release], code: str) -> tuple[float, float]:
    """What readers of the releases know of a code of the last one."""
    space = Space(releases)
    base = Base(space, releases[-1], releases)
    figures = [figure for number in range(len(releases)) for figure in read_figures(releases, space, number)]
    (cell,) = {f.cell for f in figures if f.release == len(releases) - 1 and f.label.endswith(f" {code}")}
    known = Knowledge(base, figures, {}, [])
    value = base.value(cell) / 10_000
    below, above = (known.shortfall(cell, up, 1e5) for up in (False, True))
    return value - (np.inf if below is None else below), value + (np.inf if above is None else above)


@pytest.mark.parametrize(
    ("before", "after", "is_open"), [(501, 502, True), (463, 502, True), (461, 502, False), (300, 502, False)]
)
def test_a_revision_tells_what_it_is_near_to(tmp_path: Path, before: int, after: int, is_open: bool) -> None:
    """The level is 40: a former value nearer than that gives the new one away, one beyond it does not."""
    rest = (20, 15, 20, 18, 13, 8, 7)
    old, new = (
        records(firms("N", total - 101, *rest) + firms("S", 80, 90, 85) + firms("W", 95, 99, 93))
        for total in (before, after)
    )
    assert levels_of(new[:8], V, P30, Fraction(1), Fraction(0)) == Levels(Fraction(40), Fraction(40))
    former = publish(tmp_path, "old", old, [(FLAT, V, ["S", "W"])], rules=TWO)
    strict = publish(tmp_path, "new", new, [(FLAT, V, ["N", "W"])], rules=P30)
    assert kinds(former, strict) == ({SILENT} if is_open else set())
    apart = after - before
    assert _interval([former, strict], "N") == (pytest.approx(after - apart), pytest.approx(after + apart))


def test_what_was_revised_and_what_was_not(tmp_path: Path) -> None:
    """Both hidden cells were revised, by 202 and by 60: the smaller revision says how near."""
    old = records(firms("N", 199, 20, 15, 20, 18, 13, 8, 7) + firms("S", 80) + firms("W", 35, 99, 93))
    new = records(firms("N", 401, 20, 15, 20, 18, 13, 8, 7) + firms("S", 80) + firms("W", 95, 99, 93))
    former = publish(tmp_path, "old", old, [(FLAT, V, [])], rules=P30)
    strict = publish(tmp_path, "new", new, [(FLAT, V, ["N", "W"])], rules=P30)
    assert _interval([former, strict], "N") == (pytest.approx(442), pytest.approx(562))


def test_the_population_of_a_former_release(tmp_path: Path) -> None:
    """Published for industry alone; the new table crosses regions with sectors."""
    found = records("N x 500;N y 140;N y 150;S x 170;S x 180;S y 160;S y 190", "reg sec")
    flat = {"reg": ("reg", sets(T="N S", N="N", S="S"))}
    former = publish(tmp_path, "old", found, [(flat, V, [])], population=sets(sec="x"), rules=TWO)
    both = flat | {"sec": ("sec", sets(T="x y", x="x", y="y"))}
    rectangle = ["N x", "N y", "S x", "S y"]
    strict = publish(tmp_path, "new", found, [(both, V, rectangle)], rules=TWO)
    assert kinds(strict) == set()
    assert kinds(former, strict) == {SILENT}
    other = publish(tmp_path, "other", found, [(flat, V, [])], population=sets(sec="y"), rules=TWO)
    assert kinds(other, strict) == {OPEN}


def test_weighted_and_plain_totals_are_two_variables(tmp_path: Path) -> None:
    found = [replace(record, weight=Fraction(2)) for record in REGIONS]
    former = publish(tmp_path, "old", REGIONS, [(FLAT, V, [])], rules=TWO)
    weighted = Variable("v", weighted=True)
    rules = [{"rule": "dominance", "n": 1, "k": 35}]
    strict = publish(tmp_path, "new", found, [(FLAT, weighted, ["N", "W"])], rules=rules)
    assert judge([former, strict]).requirements > 0
    assert kinds(former, strict) == set()
    same = publish(tmp_path, "same", found, [(FLAT, weighted, [])], rules=TWO)
    assert kinds(same, strict) == {SILENT}


def test_three_releases_that_tell_only_together(tmp_path: Path) -> None:
    found = records(firms("N1", 900) + firms("N2", 250, 260) + firms("N3", 270, 280) + firms("S", 200, 300))
    everything = "N1 N2 N3 S"
    parts = [sets(T=everything, A="N1 N2", B="N3 S"), sets(T=everything, C="N1 N3", D="N2 S")]
    parts.append(sets(T=everything, E="N2 N3", F="N1 S"))
    made = [
        publish(tmp_path, f"r{n}", found, [({"reg": ("reg", codes)}, V, [])], rules=TWO)
        for n, codes in enumerate(parts)
    ]
    flat = {"reg": ("reg", sets(T=everything, N1="N1", N2="N2", N3="N3", S="S"))}
    last = publish(tmp_path, "last", found, [(flat, V, ["N1", "N2", "N3", "S"])], rules=TWO)
    assert kinds(last) == set()
    assert kinds(made[0], last) == set()
    assert kinds(made[1], made[2], last) == set()
    assert kinds(*made, last) == {SILENT}


# -- one release ------------------------------------------------------------------------------------------


def test_three_tables_of_one_file(tmp_path: Path) -> None:
    """Nothing is in (p, y) and (q, x), so (r, p) = (r, x) everywhere: (A, p) = (T, p) - (B, x) - (C, p)."""
    lines = [f"A p x {v}" for v in (2000, 66, 72, 83, 51, 79)] + [
        f"A q y {v}" for v in (65, 53, 60, 57, 73, 80)
    ]
    lines += [f"B p x {v}" for v in (65, 74, 84, 56, 86, 65)] + [
        f"B q y {v}" for v in (50, 63, 76, 67, 61, 74)
    ]
    lines += [f"C p x {v}" for v in (60, 54, 58, 89, 89, 78)] + [
        f"C q y {v}" for v in (58, 58, 50, 50, 63, 63)
    ]
    found = records("\n".join(lines), "reg size sec")
    reg, size, sec = (
        sets(T="A B C", A="A", B="B", C="C"),
        sets(T="p q", p="p", q="q"),
        sets(T="x y", x="x", y="y"),
    )
    first = {"reg": ("reg", reg), "size": ("size", size)}
    second = {"reg": ("reg", reg), "sec": ("sec", sec)}
    third = {"size": ("size", size), "sec": ("sec", sec)}
    tables = [(first, V, ["A p", "A q", "B p", "B q"]), (second, V, ["A x", "A y", "C x", "C y"])]
    linked = publish(tmp_path, "all", found, [*tables, (third, V, [])], rules=P30)
    seen = judge([linked])
    assert seen.kinds == {ALONE}
    assert any("reg A, size p (2351) can lie at most 0 above" in finding.text for finding in seen.findings)
    assert kinds(publish(tmp_path, "two", found, tables, rules=P30)) == set()


def test_suppressed_counts_are_at_least_one(tmp_path: Path) -> None:
    """15 = 10 + 3 + x + x: both are 1."""
    flat = {"reg": ("reg", sets(T="a b c d", a="a", b="b", c="c", d="d"))}
    found = records(firms("a", *[1] * 10) + firms("b", 1, 1, 1) + firms("c", 1) + firms("d", 1))
    counts = publish(tmp_path, "counts", found, [(flat, COUNT, ["c", "d"])], rules=TWO)
    assert kinds(counts) == {ALONE}
    amounts = publish(tmp_path, "amounts", found, [(flat, V, ["c", "d"])], rules=TWO)
    assert kinds(amounts) == set()


def test_losses_leave_everything_open(tmp_path: Path) -> None:
    found = records(firms("N", 9, 9, 9) + firms("S", 5) + firms("W", 4))
    tight = [{"rule": "threshold", "minimum": 2, "safety_range": 100}]
    hidden = publish(tmp_path, "gains", found, [(FLAT, V, ["S", "W"])], rules=tight)
    assert kinds(hidden) == {ALONE}  # S lies at most 4 above 5
    signed = [replace(r, amounts={"v": -r.amounts["v"]}) if r.codes["reg"] == "W" else r for r in found]
    assert kinds(publish(tmp_path, "losses", signed, [(FLAT, V, ["S", "W"])], rules=tight)) == set()


def test_plain_faults(tmp_path: Path) -> None:
    assert kinds(publish(tmp_path, "a", REGIONS, [(FLAT, V, [])], rules=P30)) == {PUBLISHED}
    assert kinds(publish(tmp_path, "b", REGIONS, [(FLAT, V, ["N"])], rules=P30)) == {ALONE}
    wrong = publish(tmp_path, "c", REGIONS, [(FLAT, V, ["N", "W"])], rules=P30, shown={"S": "121"})
    assert kinds(wrong) == {WRONG}
    assert kinds(publish(tmp_path, "d", REGIONS, [(FLAT, V, ["N", "W"])], rules=P30)) == set()


def test_a_row_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Row N has no firm in b, and readers see it: (N, a) is the total of N."""
    found = records("N a 500;S a 60;S b 70;W a 80;W b 90;S a 61;S b 71;W a 81;W b 91", "reg size")
    both = {
        "reg": ("reg", sets(T="N S W", N="N", S="S", W="W")),
        "size": ("size", sets(T="a b", a="a", b="b")),
    }
    hidden = ["N a", "S a", "S b", "N b", "T a", "T b"]
    assert kinds(publish(tmp_path, "a", found, [(both, V, hidden)], rules=TWO)) == {ALONE, PUBLISHED}
    hidden += ["N T", "S T"]
    assert kinds(publish(tmp_path, "b", found, [(both, V, hidden)], rules=TWO)) == set()


# -- rules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "level"),
    [
        ({"rule": "p%", "p": 10}, 6),  # 10 + 100 + 40 - 144
        ({"rule": "p%", "p": 4}, None),  # 4 + 140 - 144 = 0: strict
        ({"rule": "p%", "p": 5}, 1),
        ({"rule": "dominance", "n": 1, "k": 60}, 23),  # 166.7 - 144, rounded up
        ({"rule": "dominance", "n": 2, "k": 98}, None),
        ({"rule": "threshold", "minimum": 4}, 29),  # 28.8
        ({"rule": "threshold", "minimum": 3}, None),
    ],
)
def test_levels(rule: dict[str, Any], level: int | None) -> None:
    found = levels_of(records("N 100;N 40;N 4"), V, [rule], Fraction(1), Fraction(0))
    assert found == (None if level is None else Levels(Fraction(level), Fraction(level)))


def test_levels_of_holdings_and_weights() -> None:
    three = records("N 100;N 40;N 60")
    p10 = [{"rule": "p%", "p": 10}]
    assert levels_of(three, V, p10, Fraction(1), Fraction(0)) is None
    held = [replace(record, holding="h" if number else "g") for number, record in enumerate(three)]
    by_holding = [{"rule": "p%", "p": 10, "level": "holding"}]
    assert levels_of(held, V, by_holding, Fraction(1), Fraction(0)) == Levels(Fraction(10), Fraction(10))
    heavy = [replace(record, weight=Fraction(2 if number else 1)) for number, record in enumerate(three)]
    weighted = Variable("v", weighted=True)
    assert levels_of(heavy[:2], weighted, p10, Fraction(1), Fraction(0)) is None  # 10 + 140 - 180
    both = [replace(record, weight=Fraction(2)) for record in three[:1]]
    assert levels_of(both, weighted, p10, Fraction(1), Fraction(0)) == Levels(Fraction(10), Fraction(10))


# -- against all combinations, without any shortening -----------------------------------------------------


@pytest.mark.parametrize("seed", few_of(range(12), 4))
def test_intervals_are_those_of_plain_programs(seed: int, tmp_path: Path) -> None:
    """Merged classes, fixed zeros and reused deviations change nothing."""
    rng = random.Random(seed)
    codes = {"reg": ["A", "B", "C"], "size": ["p", "q", "r"]}
    lines = [
        f"{rng.choice('ABC')} {rng.choice('pqr')} {rng.randint(1, 60)}" for _ in range(rng.randint(5, 14))
    ]
    found = records("\n".join(lines), "reg size")
    releases = []
    for number in range(rng.randint(1, 3)):
        meaning = {}
        for name in rng.sample(list(codes), rng.randint(1, 2)):
            own = {code: frozenset([code]) for code in codes[name]} | {"T": frozenset(codes[name])}
            if rng.random() < 0.5:
                own |= {"J": frozenset(rng.sample(codes[name], 2))}
            meaning[name] = (name, own)
        texts = [" ".join(key) for key in product(*(own for _, own in meaning.values()))]
        hidden = rng.sample(texts, len(texts) * 2 // 3)
        releases.append(publish(tmp_path, f"r{number}", found, [(meaning, V, hidden)], rules=TWO))
    space = Space(releases)
    base = Base(space, releases[-1], releases)
    figures = [figure for number in range(len(releases)) for figure in read_figures(releases, space, number)]
    known = Knowledge(base, figures, {}, [])
    truth = base.finest(V) / 10_000
    matrix = np.array([np.frombuffer(f.cell[1], bool) for f in figures if f.value is not None], float)
    values = np.array([f.value for f in figures if f.value is not None]) / 10_000
    for cell in {f.cell for f in figures if f.value is None}:
        row = np.frombuffer(cell[1], bool).astype(float)
        for up in (True, False):
            plain = linprog(-row if up else row, A_eq=matrix, b_eq=values, bounds=(0, None))
            reach = np.inf if plain.status == 3 else (1 if up else -1) * (abs(plain.fun) - row @ truth)
            amount = float(rng.randint(1, 30))
            short = known.shortfall(cell, up, amount)
            assert (short is not None) == (reach < amount - 1e-6), (seed, up, reach, amount)
            assert short is None or short == pytest.approx(reach, abs=1e-6)


# -- through jobs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", PLANTED)
def test_what_a_job_leaks_that_names_no_former_release(kind: str, tmp_path: Path) -> None:
    ran = run_chain(kind, planted(kind), tmp_path / "chain", is_blind=True)
    assert {step.outcome for step in ran.steps} == {RELEASED}, [step.message for step in ran.steps]
    if kind != "counts beside decimals":
        assert ran.kinds & {OPEN, FORMER, SILENT}, str(ran)
