"""Presets against the tools' own definitions, each written for one cell and compared on random cells."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cellveil.errors import InputError
from cellveil.rules import (
    PRESETS,
    AnyOf,
    Dominance,
    PPercent,
    PriorPosterior,
    acro,
    gauss_suppression,
    rule_from_dict,
    sdctable,
    tau_argus,
)
from helpers.contributions import of_lists, table_of

NUMBER = 4000


@pytest.fixture(scope="module")
def cells():
    """Random cells of small whole amounts, so that ties abound; some empty, some all zero."""
    rng = np.random.default_rng(2024)
    scales = [1, 2, 5, 10, 50]
    amounts = [
        [int(rng.choice(scales)) * int(rng.integers(0, 21)) for _ in range(rng.integers(0, 13))]
        for _ in range(NUMBER)
    ]
    return [sorted(cell, reverse=True) for cell in amounts] + [[0] * size for size in range(1, 40)]


@pytest.fixture(scope="module")
def table(cells):
    return table_of(of_lists(cells, depth=4))


def at(cell, i):
    return cell[i - 1] if len(cell) >= i else 0


def agree(rule, table, cells, decide):
    """Compare, and make sure that the cells tell the rules apart."""
    expected = [bool(decide(cell)) for cell in cells]
    assert rule.judge(table).unsafe.tolist() == expected
    assert 20 < sum(expected) < len(cells) - 20


# tau-ARGUS


def tau_nk(cell, n, k):
    total = sum(cell)
    if total == 0 or cell[0] == 0:
        return False
    return Fraction(100 * sum(cell[:n]), total) > k


def tau_p(cell, p, q=100, n=1):
    return Fraction(p, 100) * at(cell, 1) + Fraction(q, 100) * (sum(cell[: n + 1]) - sum(cell)) > 0


def tau_freq(cell, minimum):
    return 0 < len(cell) < minimum


@pytest.mark.parametrize(("n", "k"), [(1, 50), (2, 75), (3, 90)])
def test_tau_argus_dominance(table, cells, n, k):
    agree(tau_argus(nk=[(n, k)]), table, cells, lambda cell: tau_nk(cell, n, k))


@pytest.mark.parametrize(
    ("given", "p", "q", "n"),
    [(20, 20, 100, 1), ([(25, 2)], 25, 100, 2), ([(20, 50, 1)], 20, 50, 1), ([(50, 100, 3)], 50, 100, 3)],
)
def test_tau_argus_p(table, cells, given, p, q, n):
    agree(tau_argus(p=given), table, cells, lambda cell: tau_p(cell, p, q, n))


def test_tau_argus_frequency(table, cells):
    agree(tau_argus(freq=(4, 30)), table, cells, lambda cell: tau_freq(cell, 4))


def test_tau_argus_zero(table, cells):
    agree(tau_argus(zero=5), table, cells, lambda cell: cell and sum(cell) == 0)


def tau_level(cell, violated):
    """|Y|·(d/X) with Y = X, d the largest over the violated rules, at least one unit."""
    return max(1, math.ceil(max(violated)))


def tau_status(cell, requests, shares, minimum):
    """Status and both levels of one cell under all rules at once, tested in tau-ARGUS' order."""
    total = sum(cell)
    if not cell:
        return "empty", 0, 0
    violated = []
    if tau_nk(cell, 2, 80):
        violated.append(Fraction(100, 80) * sum(cell[:2]) - total)
    if tau_nk(cell, 1, 60):
        violated.append(Fraction(100, 60) * sum(cell[:1]) - total)
    if tau_p(cell, 15):
        violated.append(Fraction(15, 100) * at(cell, 1) + sum(cell[:2]) - total)
    if violated:
        return "rule", *([tau_level(cell, violated)] * 2)
    asked = [r for r in requests if r >= 0]
    if any(r > Fraction(share, 100) * total for r, share in zip(requests, shares, strict=True) if r >= 0) or (
        asked and len(cell) < minimum
    ):
        return "request", *([max(1, math.ceil(total * Fraction(10, 100)))] * 2)
    if tau_freq(cell, 5):
        return "freq", *([max(1, math.ceil(total * Fraction(30, 100)))] * 2)
    if total == 0:
        return "zero", 0, 7
    return "safe", 0, 0


def test_tau_argus_order_and_levels(cells):
    rng = np.random.default_rng(5)
    requests = np.full((len(cells), 2), -1, dtype=np.int64)
    for i, cell in enumerate(cells):
        for code in range(2):
            if cell and rng.random() < 0.3:
                requests[i, code] = rng.choice(cell)
    table = table_of(replace(of_lists(cells, depth=4), requests=requests))
    judged = tau_argus(
        nk=[(2, 80), (1, 60)], p=15, req=(30, 20, 6, 10), freq=(5, 30), zero=7
    ).judge(table)  # fmt: skip
    expected = [
        tau_status(cell, asked, (30, 20), 6) for cell, asked in zip(cells, requests.tolist(), strict=True)
    ]
    found = np.full(len(cells), "safe ", dtype=object)
    for text, mask in judged.reasons.items():
        word = text.split()[0]
        found[mask] = {"dominance": "rule", "p%": "rule", "threshold": "freq"}.get(word, word)
    found[[not cell for cell in cells]] = "empty"
    assert [status.strip() for status in found] == [status for status, _, _ in expected]
    assert judged.lpl.tolist() == [lower for _, lower, _ in expected]
    assert judged.upl.tolist() == [upper for _, _, upper in expected]
    assert {status for status, _, _ in expected} == {"empty", "rule", "request", "freq", "zero", "safe"}


def test_tau_argus_levels_of_holdings_and_units_are_the_largest():
    units = of_lists([[60, 20, 20], [25, 25, 25, 25]])
    holdings = of_lists([[80, 20], [50, 25, 25]])
    table = table_of(units, holdings=holdings)
    judged = tau_argus(p=20, nk=[(1, 55)], holding_p=40, holding_nk=[(1, 75)]).judge(table)
    # d = 9.1 (nk), none (p); holdings: 6.7 (nk), 32 (p). Second cell: safe but for the holding, 0 < 0 is not.
    assert judged.upl.tolist() == [32, 0]


def test_tau_argus_holding_frequency_takes_the_range_of_the_unit_rule():
    table = table_of([[5] * 4], holdings=of_lists([[20]]))
    assert tau_argus(freq=(3, 10), holding_freq=(2, 50)).judge(table).upl.tolist() == [2]
    assert tau_argus(holding_freq=(2, 50)).judge(table).upl.tolist() == [10]


def test_tau_argus_missing_codes():
    table = table_of([[5], [5]])
    assert tau_argus(freq=(3, 20), missing={"item": ["c1"]}).judge(table).unsafe.tolist() == [True, False]


def test_tau_argus_weights():
    units = replace(
        of_lists([[10, 5]]),
        absolute=np.array([50]),
        total=np.array([50]),
        top_weight=np.array([[4.0, 2.0]]),
        weighted_count=np.array([6.0]),
    )
    table = table_of(units)
    rules = {"nk": [(2, 39)], "freq": (3, 20)}
    assert list(tau_argus(**rules, weighted=True).judge(table).reasons) == ["dominance rule (n = 2, k = 39)"]
    assert list(tau_argus(**rules).judge(table).reasons) == ["threshold rule (minimum 3)"]


# sdcTable


def test_sdctable(table, cells):
    agree(sdctable(max_n=3), table, cells, lambda cell: 0 < len(cell) <= 3)
    agree(sdctable(max_n=3, allow_zeros=True), table, cells, lambda cell: len(cell) <= 3)
    for n, k in ((2, 85), (1, 50)):
        agree(
            sdctable(nk=(n, k)),
            table,
            cells,
            lambda cell, n=n, k=k: sum(cell[:n]) > Fraction(k, 100) * sum(cell),
        )
    for p in (10, 50):
        agree(
            sdctable(p=p),
            table,
            cells,
            lambda cell, p=p: sum(cell) - at(cell, 1) - at(cell, 2) < Fraction(p, 100) * at(cell, 1),
        )
    agree(
        sdctable(pq=(20, 40)),
        table,
        cells,
        lambda cell: sum(cell) - at(cell, 1) - at(cell, 2) < Fraction(20, 40) * at(cell, 1),
    )


# GaussSuppression


def share(cell, n):
    return Fraction(sum(cell[:n]), sum(cell)) if sum(cell) else Fraction(0)


def test_gauss_suppression(table, cells):
    agree(gauss_suppression(max_n=3), table, cells, lambda cell: len(cell) <= 3)
    agree(gauss_suppression(max_n=3, protect_zeros=False), table, cells, lambda cell: 0 < len(cell) <= 3)
    agree(
        gauss_suppression(nk=[(1, 50), (2, 75)]),
        table,
        cells,
        lambda cell: share(cell, 1) >= Fraction(1, 2) or share(cell, 2) >= Fraction(3, 4),
    )
    agree(
        gauss_suppression(p=20),
        table,
        cells,
        lambda cell: sum(cell) and abs(1 - share(cell, 2)) < abs(Fraction(20, 100) * share(cell, 1)),
    )


def test_gauss_suppression_levels(table, cells):
    """Half-widths Y·max(0, share_n/(k/100) − 1) and Y·max(0, share_2 + p·share_1 − 1)."""
    dominance = gauss_suppression(nk=[(2, 75)]).judge(table)
    p_percent = gauss_suppression(p=20).judge(table)
    for i, cell in enumerate(cells):
        half = sum(cell) * max(0, share(cell, 2) / Fraction(75, 100) - 1)
        if dominance.unsafe[i] and half > 0:
            assert dominance.upl[i] == max(1, math.ceil(half))
        half = sum(cell) * max(0, share(cell, 2) + Fraction(20, 100) * share(cell, 1) - 1)
        if p_percent.unsafe[i]:
            assert p_percent.upl[i] == max(1, math.ceil(half))


# acro


def acro_p(cell):
    rest = sum(cell) - at(cell, 1) - at(cell, 2)
    return at(cell, 1) > 0 and Fraction(rest, at(cell, 1)) < Fraction(10, 100)


def test_acro(table, cells):
    def two(cell):
        return sum(cell) > 0 and Fraction(sum(cell[:2]), sum(cell)) >= Fraction(90, 100)

    agree(acro(nk=None, p=None), table, cells, lambda cell: len(cell) < 10)
    agree(acro(nk=None, p=None, zeros=False), table, cells, lambda cell: 0 < len(cell) < 10)
    agree(acro(threshold=None, p=None), table, cells, two)
    agree(acro(threshold=None, nk=None), table, cells, acro_p)
    agree(acro(), table, cells, lambda cell: len(cell) < 10 or two(cell) or acro_p(cell))


def test_strictness_differs_between_the_tools():
    tie = table_of([[75, 15, 10], [100, 10, 10]])
    assert not sdctable(nk=(2, 90)).judge(tie).unsafe[0]
    assert not tau_argus(nk=[(2, 90)]).judge(tie).unsafe[0]
    assert gauss_suppression(nk=[(2, 90)]).judge(tie).unsafe[0]
    assert acro(threshold=None, p=None).judge(tie).unsafe[0]
    three = table_of([[5, 5, 5]])
    assert sdctable(max_n=3).judge(three).unsafe[0]
    assert not tau_argus(freq=(3, 20)).judge(three).unsafe[0]


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "acro"])
def test_a_preset_without_rules_is_an_error(name):
    with pytest.raises(InputError, match="at least one of"):
        PRESETS[name]()


@pytest.mark.parametrize(
    "given", [{"p": [(1, 2, 3, 4)]}, {"nk": [(1,)]}, {"req": (1, 2)}, {"p": [(10, 1.5)]}, {"nk": [5]}]
)
def test_wrong_parameters(given):
    with pytest.raises(InputError):
        tau_argus(**given)


# One list is one rule


@pytest.mark.parametrize("name", ["p", "holding_p"])
def test_tau_argus_a_list_of_numbers_is_one_p_rule(name):
    level = {"level": "holding"} if name == "holding_p" else {}
    for given, rule in (
        (15, PPercent(15, **level)),
        ("12.5", PPercent("12.5", **level)),
        ([15], PPercent(15, **level)),
        ([15, 2], PPercent(15, 2, **level)),
        ((15, 80, 1), PriorPosterior(15, 80, 1, **level)),
        ([20, 50, 3], PriorPosterior(20, 50, 3, **level)),
        ([[15, 2]], PPercent(15, 2, **level)),
        ([[15], [10, 2]], AnyOf(PPercent(15, **level), PPercent(10, 2, **level))),
    ):
        assert tau_argus(**{name: given}) == replaced_weights(rule)


def replaced_weights(rule):
    """The rule as the preset has it, without weights."""
    if isinstance(rule, AnyOf):
        return AnyOf(*map(replaced_weights, rule.rules))
    return replace(rule, weighted=False)


def test_tau_argus_documented_example_in_a_job():
    rule = rule_from_dict({"preset": "tau-argus", "p": [15, 2]})
    units = [[100, 50, 12, 8], [100, 20, 20, 20]]  # with a coalition of 2: 8 < 15; 20 is not
    assert rule.judge(table_of(units)).unsafe.tolist() == [True, False]
    assert rule.judge(table_of(units)).upl.tolist() == [7, 0]


@pytest.mark.parametrize("name", ["nk", "holding_nk"])
def test_tau_argus_a_pair_is_one_dominance_rule(name):
    level = {"level": "holding"} if name == "holding_nk" else {}
    one = replaced_weights(Dominance(2, 85, **level))
    assert tau_argus(**{name: [2, 85]}) == tau_argus(**{name: [[2, 85]]}) == one
    assert gauss_suppression(nk=[2, 85]) == gauss_suppression(nk=[[2, 85]])


@pytest.mark.parametrize(
    ("preset", "given"),
    [
        ("tau-argus", {"p": [15, [10, 2]]}),
        ("tau-argus", {"p": [[15, 2], 10]}),
        ("tau-argus", {"p": [15, 100, 2, 1]}),
        ("tau-argus", {"p": [[15, 100, 2, 1]]}),
        ("tau-argus", {"p": [[]]}),
        ("tau-argus", {"p": [[[15, 2]]]}),
        ("tau-argus", {"p": {"p": 15}}),
        ("tau-argus", {"p": True}),
        ("tau-argus", {"p": [20, 50]}),  # q without n
        ("tau-argus", {"p": [15, 2.5]}),
        ("tau-argus", {"p": [15, 0]}),
        ("tau-argus", {"p": [50, 20, 1]}),
        ("tau-argus", {"holding_p": [15, [2]]}),
        ("tau-argus", {"nk": 85}),
        ("tau-argus", {"nk": [85]}),
        ("tau-argus", {"nk": [1, 75, 2, 85]}),
        ("tau-argus", {"nk": [[1, 75], 2, 85]}),
        ("tau-argus", {"nk": [1.5, 75]}),
        ("tau-argus", {"holding_nk": [[1, 75, 2]]}),
        ("tau-argus", {"freq": 3}),
        ("tau-argus", {"freq": [3]}),
        ("tau-argus", {"freq": []}),
        ("tau-argus", {"freq": [3, 20, 5, 30]}),
        ("tau-argus", {"freq": [[3, 20]]}),
        ("tau-argus", {"holding_freq": [3, 20, 1]}),
        ("tau-argus", {"freq": [3, 20], "holding_freq": [3]}),
        ("tau-argus", {"req": [10, 5, 3]}),
        ("tau-argus", {"req": []}),
        ("tau-argus", {"p": 15, "holding_req": [10]}),
        ("tau-argus", {"zero": [1]}),
        ("tau-argus", {"p": 15, "weighted": 1}),
        ("tau-argus", {"p": 15, "weighted": "false"}),
        ("tau-argus", {"p": 15, "missing": {"region": "99"}}),
        ("tau-argus", {"p": 15, "missing": {"region": [99]}}),
        ("tau-argus", {"p": 15, "missing": ["99"]}),
        ("sdctable", {"nk": [[2, 85]]}),
        ("sdctable", {"nk": [2]}),
        ("sdctable", {"pq": [20, 40, 1]}),
        ("sdctable", {"pq": 20}),
        ("sdctable", {"p": [10, 2]}),
        ("sdctable", {"max_n": [3]}),
        ("sdctable", {"max_n": 3, "allow_zeros": "no"}),
        ("gauss-suppression", {"nk": [1, 80, 2]}),
        ("gauss-suppression", {"nk": [[1, 80], 2]}),
        ("gauss-suppression", {"p": [10]}),
        ("gauss-suppression", {"max_n": 3, "protect_zeros": 0}),
        ("acro", {"nk": [2]}),
        ("acro", {"nk": [[2, 90]]}),
        ("acro", {"p": [10, 2]}),
        ("acro", {"zeros": "false"}),
    ],
)
def test_wrong_shapes_are_refused(preset, given):
    with pytest.raises(InputError) as error:
        rule_from_dict({"preset": preset} | given)
    assert error.value.remedy
