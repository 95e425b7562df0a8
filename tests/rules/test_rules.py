"""The rules against their definitions, written naively, and against published figures."""

import gzip
import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.rules import (
    AllOf,
    AnyOf,
    Dominance,
    Exempt,
    FirstOf,
    Manual,
    PPercent,
    PriorPosterior,
    Request,
    Threshold,
    ZeroRule,
)
from cellveil.tables.contributions import Contributions
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.contributions import of_lists, table_of
from helpers.instances import INSTANCES, needs_instances


def contributors(cells, depth=4):
    """Contributions from lists of (amount, weight, waived)."""
    n = len(cells)
    top, weight = np.zeros((n, depth), dtype=np.int64), np.zeros((n, depth))
    waived = np.zeros((n, depth), dtype=bool)
    for i, cell in enumerate(cells):
        for j, (amount, w, waiver) in enumerate(sorted(cell, key=lambda c: -abs(c[0]))[:depth]):
            top[i, j], weight[i, j], waived[i, j] = abs(amount), w, waiver
    return Contributions(
        0,
        np.array([len(cell) for cell in cells]),
        np.array([sum(w * x for x, w, _ in cell) for cell in cells]),
        np.array([sum(w * abs(x) for x, w, _ in cell) for cell in cells]),
        top,
        np.full((n, depth), -1, dtype=np.int32),
        weighted_count=np.array([float(sum(w for _, w, _ in cell)) for cell in cells]),
        top_weight=weight,
        waived=waived,
        largest_unwaived=np.array([max((abs(x) for x, _, v in cell if not v), default=0) for cell in cells]),
    )


def small_cells(largest=5, most=4):
    """All cells of few contributors with small whole amounts."""
    for size in range(most + 1):
        yield from (list(c) for c in itertools.combinations_with_replacement(range(largest + 1), size))


def narrowed(people, p, q, coalition, inclusive):
    """Whether some coalition can estimate somebody else's non-zero amount to p %, trying all of them.

    People are (amount, waived). Where fewer others are there than the coalition could have, all join.
    """
    for t, (target, waived) in enumerate(people):
        if waived or target == 0:
            continue
        others = people[:t] + people[t + 1 :]
        for team in itertools.combinations(range(len(others)), min(coalition, len(others))):
            unknown = sum(x for i, (x, _) in enumerate(others) if i not in team)
            left, right = Fraction(q) * unknown, Fraction(p) * target
            if left < right or (inclusive and left == right):
                return True
    return False


def expand(cell):
    """A unit of weight w as w people."""
    return [(abs(x), waiver) for x, w, waiver in cell for _ in range(w)]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(("p", "q", "coalition"), [(20, 100, 1), (50, 100, 2), (25, 75, 1), (100, 100, 3)])
def test_narrowing_rules_by_trying_all_attackers(p, q, coalition, inclusive):
    cells = list(small_cells())
    expected = [narrowed([(x, False) for x in cell], p, q, coalition, inclusive) for cell in cells]
    table = table_of(of_lists(cells, depth=4))
    judged = PriorPosterior(p, q, coalition, inclusive=inclusive).judge(table)
    assert judged.unsafe.tolist() == expected
    assert 0 < sum(expected) < len(cells)
    if q == 100:
        assert PPercent(p, coalition, inclusive=inclusive).judge(table).unsafe.tolist() == expected


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(("n", "k"), [(1, 50), (2, 75), (3, "87.5"), (2, 100)])
def test_dominance_by_definition(n, k, inclusive):
    cells = list(small_cells())
    table = table_of(of_lists(cells, depth=4))

    def unsafe(cell):
        largest, limit = sum(sorted(cell)[-n:]), Fraction(k) / 100 * sum(cell)
        return any(cell) and (largest > limit or (inclusive and largest == limit))

    assert Dominance(n, k, inclusive=inclusive).judge(table).unsafe.tolist() == [unsafe(c) for c in cells]


def random_people(seed, number=1500):
    rng = np.random.default_rng(seed)
    return [
        [
            (int(rng.integers(-4, 7)), int(rng.integers(1, 4)), bool(rng.random() < 0.4))
            for _ in range(rng.integers(0, 5))
        ]
        for _ in range(number)
    ]


@pytest.mark.parametrize(("p", "coalition"), [(40, 1), (40, 2), (40, 3), (80, 1)])
@pytest.mark.parametrize("inclusive", [False, True])
def test_weights_waivers_and_signs_of_the_narrowing_rules(p, coalition, inclusive):
    cells = random_people(coalition)
    expected = [narrowed(expand(cell), p, 80, coalition, inclusive) for cell in cells]
    rule = PriorPosterior(p, 80, coalition, inclusive=inclusive)
    assert rule.judge(table_of(contributors(cells))).unsafe.tolist() == expected
    assert 50 < sum(expected) < len(cells)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("inclusive", [False, True])
def test_weights_waivers_and_signs_of_dominance(n, inclusive):
    def unsafe(cell):
        people = sorted(expand(cell), reverse=True)
        largest, limit = sum(x for x, _ in people[:n]), Fraction(70, 100) * sum(x for x, _ in people)
        last = people[n - 1][0] if len(people) >= n else 0
        exposed = any(x > 0 and x >= last and not waived for x, waived in people)
        return exposed and (largest > limit or (inclusive and largest == limit))

    cells = random_people(n + 10)
    judged = Dominance(n, 70, inclusive=inclusive).judge(table_of(contributors(cells)))
    assert judged.unsafe.tolist() == [unsafe(cell) for cell in cells]


def test_weights_that_are_not_whole_fill_parts_of_slots():
    units = contributors([[(10, 1, False), (6, 1, False), (4, 1, False)]])
    units = replace(units, top_weight=np.array([[1.5, 0.25, 7.0, np.nan]]))
    table = table_of(units)  # total 20; two slots hold 1.5 · 10 + 0.5 · 6 = 18
    assert Dominance(2, 90, inclusive=True).judge(table).unsafe.all()
    assert not Dominance(2, 90).judge(table).unsafe.any()
    assert not Dominance(2, 81, weighted=False).judge(table).unsafe.any()  # 10 + 6 of 20
    assert Dominance(2, 79, weighted=False).judge(table).unsafe.all()


def test_levels_are_the_least_that_would_make_the_cell_safe():
    cells = [cell for cell in small_cells(largest=9) if cell]
    table = table_of(of_lists(cells, depth=4))
    dominance, p_percent = Dominance(2, 70).judge(table), PPercent(30).judge(table)
    for i, cell in enumerate(cells):
        total, two = sum(cell), sum(sorted(cell)[-2:])
        if dominance.unsafe[i]:
            assert dominance.upl[i] == next(up for up in itertools.count(1) if two * 100 <= 70 * (total + up))
        if p_percent.unsafe[i]:
            largest = max(cell)
            enough = (up for up in itertools.count(1) if largest * 30 <= 100 * (total + up - two))
            assert p_percent.upl[i] == next(enough)
    for judged in (dominance, p_percent):
        assert (judged.lpl == judged.upl).all()
        assert ((judged.upl > 0) == judged.unsafe).all()


def test_published_levels():
    # De Waal et al. (2020), examples 1 and 4: p = 20, q = 100.
    cells = [[155, 4, 1], [90, 5, 2, 3]]
    table = table_of(cells)
    for rule in (PPercent(20), PriorPosterior(20, 100)):
        judged = rule.judge(table)
        assert (table.values - judged.lpl).tolist() == [130, 87]
        assert (table.values + judged.upl).tolist() == [190, 113]


@needs_instances
def test_published_levels_as_recorded():
    recorded = json.loads((INSTANCES.parent / "reference" / "worked_examples.json").read_text())
    for example in recorded["examples"]:
        if "levels_from_rule" not in example:
            continue
        value = example["interior"][0][0]
        if "largest_two" in example:
            largest = example["largest_two"][0][0]
        else:
            largest = example["contributions_known"]["0,0"]
        rest = value - sum(largest)
        judged = PPercent(20).judge(table_of([[*largest, *([rest] if rest else [])]]))
        assert value - judged.lpl[0] == example["levels_from_rule"]["lower_bound_at_most"]
        assert value + judged.upl[0] == example["levels_from_rule"]["upper_bound_at_least"]


def test_negative_contributions_count_by_their_amount():
    table = table_of([[-155, 4, 1], [50, -50], [10, -10, 10, -10, 10, -10, 10, -10]])
    judged = PPercent(20).judge(table)
    assert judged.unsafe.tolist() == [True, True, False]
    assert judged.upl.tolist() == [
        30,
        10,
        0,
    ]  # the same as with positive amounts, though the second sums to 0


def test_levels_of_a_shadow_variable_are_scaled_to_the_response():
    units = of_lists([[155, 4, 1], [155, 4, 1], [155, 4, 1]], decimals=1)
    table = table_of(units, values=[1000, -33, 0], decimals=2)
    judged = PPercent(20).judge(table)
    # d = 30 of 160: 1000 · 30 / 160 = 187.5, 33 · 30 / 160 = 6.19, and at least one unit
    assert judged.upl.tolist() == judged.lpl.tolist() == [188, 7, 1]


def test_other_decimals_are_no_shadow():
    units = of_lists([[155, 4, 1], [-155, 4, 1]], decimals=0)
    table = table_of(units, values=[16000, -15000], decimals=2)
    assert PPercent(20).judge(table).upl.tolist() == [3000, 3000]


def test_a_tie_has_no_level_of_its_own():
    table = table_of([[100, 30, 20], [10, 4, 2]])
    assert not PPercent(20).judge(table).unsafe.any()
    tied = PPercent(20, inclusive=True, safety_range=10).judge(table)
    assert tied.unsafe.tolist() == [True, True]
    assert tied.upl.tolist() == [15, 2]
    assert PPercent(20, inclusive=True, safety_range=0).judge(table).upl.tolist() == [1, 1]


def test_a_cell_whose_weights_are_all_zero_takes_the_safety_range():
    units = contributors([[(10, 0, False), (5, 0, False)]])
    judged = PPercent(20, safety_range=30).judge(table_of(units, values=[100]))
    assert judged.unsafe.all()
    assert judged.upl.tolist() == [30]


huge = st.lists(st.integers(0, 2**59), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.lists(huge, min_size=1, max_size=5), st.integers(50, 100), st.integers(0, 1))
def test_decisions_stay_exact_for_huge_amounts(cells, p, tie):
    cells = [sorted(cell, reverse=True) for cell in cells]
    for cell in cells:  # make the third exactly p % of the largest, or one less
        cell[0] -= cell[0] % 100
        cell[1:] = [min(cell[1], cell[0]) if len(cell) > 1 else 0, max(0, p * cell[0] // 100 - tie)]
    table = table_of(of_lists([sorted(cell) for cell in cells], depth=3))
    judged = PPercent(p).judge(table)
    dominated = Dominance(2, p).judge(table)
    for i, cell in enumerate(cells):
        first, second, *_ = sorted(cell, reverse=True)
        sensitivity = Fraction(p * first, 100) - (sum(cell) - first - second)
        assert judged.unsafe[i] == (sensitivity > 0)
        assert judged.upl[i] == (max(1, -(-sensitivity // 1)) if sensitivity > 0 else 0)
        assert dominated.unsafe[i] == (100 * (first + second) > p * sum(cell))


def test_threshold_by_definition():
    counts = [0, 1, 2, 3, 4]
    table = table_of([[7] * count for count in counts])

    def unsafe(**options):
        return Threshold(3, **options).judge(table).unsafe.tolist()

    assert unsafe() == [False, True, True, False, False]
    assert unsafe(inclusive=True) == [False, True, True, True, False]
    assert unsafe(zeros=True) == [True, True, True, False, False]
    assert Threshold(3).judge(table).upl.tolist() == [0, 2, 3, 0, 0]  # 20 % of 7 and 14, rounded up
    with pytest.raises(InputError, match="whole numbers"):
        Threshold("2.5")
    with pytest.raises(InputError, match="whole numbers"):
        Threshold(2.5, inclusive=True)


def test_threshold_takes_counts_from_where_they_are():
    table = table_of([[7], [7] * 5], values=[700, 3500], decimals=2)
    bare = table.replace(units=None)
    assert Threshold(3).judge(bare.replace(contributors=np.array([5, 1]))).unsafe.tolist() == [False, True]
    assert Threshold(8, of="value").judge(bare).unsafe.tolist() == [True, False]
    assert Threshold(7, of="value").judge(bare).unsafe.tolist() == [False, False]
    holdings = of_lists([[7, 1, 1], [7]])
    judged = Threshold(3, level="holding").judge(table.replace(holdings=holdings))
    assert judged.unsafe.tolist() == [False, True]
    with pytest.raises(InputError, match="number of contributors"):
        Threshold(3).judge(bare)
    with pytest.raises(InputError, match="not known"):
        Threshold(3).judge(bare.replace(contributors=np.array([5, -1])))
    with pytest.raises(InputError, match="holding level"):
        Threshold(3, level="holding").judge(table)


def test_threshold_weighted_and_waived():
    units = contributors(
        [[(5, 4, False)], [(5, 1, False), (5, 1, False)], [(5, 1, True)], [(5, 1, True), (0, 1, False)], []]
    )
    table = table_of(units)
    assert Threshold(3).judge(table).unsafe.tolist() == [True, True, False, True, False]
    assert Threshold(3, weighted=True).judge(table).unsafe.tolist() == [False, True, False, True, False]
    assert Threshold(3, zeros=True).judge(table).unsafe.tolist() == [True, True, False, True, True]
    weightless = table_of(contributors([[(5, 0, False)]]))
    assert Threshold(3, weighted=True).judge(weightless).unsafe.all()  # there, whatever the weight says
    shallow = contributors([[(5, 1, True), (0, 1, False)]], depth=1)
    assert Threshold(3).judge(table_of(shallow)).unsafe.all()  # a waiver that is not seen is none


def test_request_by_definition():
    units = of_lists([[50, 30, 20]] * 5 + [[50, 50]])
    requests = np.array([[51, -1], [50, -1], [-1, 30], [-1, 31], [-1, -1], [0, -1]])
    table = table_of(Contributions(**{**units.__dict__, "requests": requests}))
    judged = Request(50, 30, 3, 25).judge(table)
    assert judged.unsafe.tolist() == [True, False, False, True, False, True]
    assert judged.upl.tolist() == [25, 0, 0, 25, 0, 25]
    inclusive = Request(50, 30, 3, inclusive=True).judge(table)
    assert inclusive.unsafe.tolist() == [True, True, True, True, False, True]
    first_code = Request(50).judge(table)
    assert first_code.unsafe.tolist() == [True, False, False, False, False, False]
    with pytest.raises(InputError, match="request variable"):
        Request(50).judge(table_of([[1]]))


def test_zero_rule():
    table = table_of([[0, 0], [], [3, -3], [1]], decimals=1)
    judged = ZeroRule("0.25").judge(table)
    assert judged.unsafe.tolist() == [True, False, True, False]
    assert judged.upl.tolist() == [3, 0, 3, 0]
    assert not judged.lpl.any()


def test_manual_names_cells_in_every_way():
    table = table_of([[10], [20], [30], [40]])
    rule = Manual([0, ("c2",), {"item": "c3"}], safety_range=10)
    assert rule.judge(table).unsafe.tolist() == [True, False, True, True]
    assert rule.judge(table).upl.tolist() == [1, 0, 3, 4]
    mask = np.array([True, False, False, False])
    assert Manual(mask).judge(table).unsafe.tolist() == mask.tolist()
    with pytest.raises(InputError, match="no code 'nowhere'"):
        Manual([("nowhere",)]).judge(table)
    with pytest.raises(InputError, match="no cell number 9"):
        Manual([9]).judge(table)


def test_holding_level_looks_at_holdings():
    table = table_of([[5, 5, 5, 5]], holdings=of_lists([[15, 5]]))
    assert not PPercent(10).judge(table).unsafe.any()
    judged = PPercent(10, level="holding").judge(table)
    assert list(judged.reasons) == ["p% rule (p = 10, holdings)"]


def test_missing_depth_is_an_error_only_where_it_matters():
    units = of_lists([[5, 4], [9]], depth=1)
    with pytest.raises(InputError, match=r"cell \(c0\).*depth of at least 2"):
        PPercent(10).judge(table_of(units))
    enough = of_lists([[5], [9]], depth=1)
    assert PPercent(10, coalition=3).judge(table_of(enough)).unsafe.all()
    assert PPercent(10, 3).depth == 4
    assert (Dominance(3, 80) | PPercent(10)).depth == 3


def test_rules_without_contributions_say_what_is_needed():
    bare = table_of([[1]]).replace(units=None)
    for rule in (Dominance(), PPercent(), Request(10)):
        with pytest.raises(InputError, match="needs the contributions"):
            rule.judge(bare)
    with pytest.raises(InputError, match="contributions for 2 cells"):
        Dominance().judge(table_of([[1]]).replace(units=of_lists([[1], [2]])))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PPercent(0.15), "write 15 for 15 %"),
        (lambda: PPercent(0), "out of range"),
        (lambda: PPercent("ten"), "not a number"),
        (lambda: PPercent(True), "not a number"),
        (lambda: PPercent(10, coalition=0), "coalition"),
        (lambda: PPercent(10, level="firm"), "unit, holding"),
        (lambda: PriorPosterior(50, 20), "p ≤ q"),
        (lambda: Dominance(0, 80), "n = 0"),
        (lambda: Dominance(1, 101), "out of range"),
        (lambda: Dominance(1, 80, safety_range=-5), "out of range"),
        (lambda: Threshold(0), "below 1"),
        (lambda: Threshold(of="rows"), "contributors, value"),
        (lambda: Request(50, minimum=-1), "minimum"),
        (lambda: ZeroRule(0), "above 0"),
        (lambda: AnyOf(), "no rules"),
        (lambda: AllOf("p%"), "not a rule"),
    ],
)
def test_wrong_parameters_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


RULES = st.sampled_from(
    [
        Threshold(2),
        Threshold(3, 50),
        Dominance(1, 60),
        Dominance(2, 80, inclusive=True),
        PPercent(20),
        ZeroRule(),
    ]
)
CELLS = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(CELLS, st.lists(RULES, min_size=1, max_size=3))
def test_combinations(cells, rules):
    table = table_of(of_lists(cells, depth=4))
    parts = [rule.judge(table) for rule in rules]
    fired = np.array([part.unsafe for part in parts])
    either, both, first = (kind(*rules).judge(table) for kind in (AnyOf, AllOf, FirstOf))
    assert either.unsafe.tolist() == first.unsafe.tolist() == fired.any(axis=0).tolist()
    assert both.unsafe.tolist() == fired.all(axis=0).tolist()
    for name in ("lpl", "upl"):
        levels = np.array([getattr(part, name) for part in parts])
        assert getattr(either, name).tolist() == levels.max(axis=0).tolist()
        assert getattr(both, name).tolist() == np.where(both.unsafe, levels.max(axis=0), 0).tolist()
        firsts = levels[fired.argmax(axis=0), np.arange(len(cells))]
        assert getattr(first, name).tolist() == np.where(first.unsafe, firsts, 0).tolist()
    for judged in (either, both, first):
        marked = np.zeros(len(cells), dtype=bool)
        for mask in judged.reasons.values():
            marked |= mask
        assert marked.tolist() == judged.unsafe.tolist()
    assert sum(mask.sum() for mask in first.reasons.values()) == first.unsafe.sum()


def test_combinations_nest():
    rule = (Threshold(3) & PPercent(10)) | Dominance(1, 90)
    assert rule.text == (
        "(threshold rule (minimum 3) and p% rule (p = 10)) or dominance rule (n = 1, k = 90)"
    )
    judged = rule.judge(table_of([[5, 4], [95, 1, 1, 1, 1, 1], [4, 4, 4, 4]]))
    assert judged.unsafe.tolist() == [True, True, False]
    assert [name for name, mask in judged.reasons.items() if mask[1]] == ["dominance rule (n = 1, k = 90)"]


def test_exempt_codes_are_safe():
    table = table_of([[5], [5]])
    judged = Exempt(Threshold(3), {"item": ["c0", "unheard of"]}).judge(table)
    assert judged.unsafe.tolist() == [False, True]
    assert judged.lpl.tolist() == [0, 1]
    with pytest.raises(InputError, match="Did you mean 'item'"):
        Exempt(Threshold(3), {"itm": ["c0"]}).judge(table)


def test_no_value_shows():
    judged = PPercent(20).judge(table_of([[155, 4, 1]]))
    assert repr(judged) == "Judgement(1 of 1 cells unsafe)"
    with pytest.raises(InputError) as raised:
        Dominance(3, 80).judge(table_of(of_lists([[987654, 5]], depth=1)))
    assert "987654" not in str(raised.value)


@needs_instances
def test_published_result_of_tau_argus():
    """Size × Region of the sample data, p% with p = 15: the nine cells tau-ARGUS finds unsafe (status 3)."""
    import pandas as pd

    from cellveil.microdata.tabulate import tabulate

    folder = INSTANCES / "tauargus" / "testW"
    positions = {"Size": (8, 10), "Region": (11, 13), "Var2": (27, 37)}
    with gzip.open(folder / "tau_testW.asc.gz", "rt", encoding="latin-1") as lines:
        records = [{name: line[a:b] for name, (a, b) in positions.items()} for line in lines if line.strip()]
    frame = pd.DataFrame(records).assign(Var2=lambda data: pd.to_numeric(data["Var2"]))
    parent, pairs, regions = "", [], []
    for line in (folder / "region2.hrc").read_text().splitlines():
        code = line.lstrip("@")
        if line.startswith("@"):
            pairs.append((parent, code))
        else:
            parent = code.strip()
            regions.append(("Total", parent))
    region = Dimension.of("Region", Hierarchy.from_pairs([*regions, *pairs]))
    size = Dimension.of("Size", Hierarchy.flat(sorted(set(frame["Size"]))))
    frame = frame[frame["Region"].isin([child for _, child in pairs])]
    table = tabulate(frame, [size, region], "Var2", depth=2)
    judged = PPercent(15).judge(table)

    expected, seen = set(), 0
    for line in (folder / "expected" / "Simple2D.txt").read_text().splitlines():
        *codes, value, status = line.split(",")
        if value == "-":
            continue
        key = tuple(code.strip('"') for code in codes)
        seen += 1
        assert table.floats()[table.cell(*key)] == pytest.approx(float(value))
        if status == "3":
            expected.add(key)
    assert seen == table.num_cells
    assert len(expected) == 9
    assert {table.key(int(cell)) for cell in np.flatnonzero(judged.unsafe)} == expected
