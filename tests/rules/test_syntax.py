"""Rules as plain data."""

import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.rules import (
    PRESETS,
    RULES,
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
    options,
    rule_from_dict,
    rule_to_dict,
    tau_argus,
)

DOCS = Path(__file__).parents[2] / "docs" / "rules.md"

LEVEL = st.sampled_from(["unit", "holding"])
PERCENT = st.one_of(st.integers(1, 100), st.floats(1, 100), st.decimals(1, 100, places=2))
SINGLE = st.one_of(
    st.builds(Threshold, st.integers(1, 20), PERCENT, st.booleans(), level=LEVEL),
    st.builds(Dominance, st.integers(1, 4), PERCENT, inclusive=st.booleans(), level=LEVEL),
    st.builds(PPercent, PERCENT, st.integers(1, 3), weighted=st.booleans()),
    st.builds(PriorPosterior, st.integers(1, 50), st.integers(50, 100)),
    st.builds(Request, PERCENT, st.none() | PERCENT, st.integers(0, 5)),
    st.builds(ZeroRule, st.integers(1, 9)),
    st.builds(Manual, st.lists(st.integers(0, 9) | st.tuples(st.text("ab"), st.text("ab")), max_size=3)),
)
NESTED = st.recursive(
    SINGLE,
    lambda inner: st.one_of(
        *(
            st.lists(inner, min_size=1, max_size=3).map(lambda rules, kind=kind: kind(*rules))
            for kind in (AnyOf, AllOf, FirstOf)
        ),
        st.builds(Exempt, inner, st.just({"region": ["99"]})),
    ),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(NESTED)
def test_round_trip(rule):
    data = rule_to_dict(rule)
    again = rule_from_dict(data)
    assert rule_to_dict(again) == data
    assert again.text == rule.text
    assert again.depth == rule.depth


def test_numbers_stay_exact():
    assert rule_to_dict(PPercent(Decimal("12.5"))) == {"rule": "p%", "p": "12.5"}
    assert rule_to_dict(Dominance(1, Fraction(200, 3))) == {"rule": "dominance", "n": 1, "k": "200/3"}
    assert rule_from_dict({"rule": "dominance", "k": "200/3"}) == Dominance(k="200/3")


def test_a_job_file():
    job = tomllib.loads(
        """
        rules = [
            {rule = "threshold", minimum = 3, safety_range = 20},
            {all = [{rule = "p%", p = 15}, {rule = "dominance", n = 1, k = 75, level = "holding"}]},
            {exempt = {region = ["99"]}, of = {preset = "tau-argus", p = [[15, 2]], freq = [3, 20]}},
        ]
        """
    )
    assert rule_from_dict(job["rules"]) == AnyOf(
        Threshold(3, 20),
        PPercent(15) & Dominance(1, 75, level="holding"),
        Exempt(tau_argus(p=[(15, 2)], freq=(3, 20)), {"region": ["99"]}),
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rule": "treshold"}, "Did you mean 'threshold'"),
        ({"rule": "p%", "pp": 15}, "Did you mean 'p'"),
        ({"rule": "threshold", "minimun": 3}, "Did you mean 'minimum'"),
        ({"rule": "pq", "p": 10}, "lacks q"),
        ({"rule": "p%", "inclusive": "yes"}, "true or false"),
        ({"rule": "p%", "preset": "acro"}, "rule and preset"),
        ({"p": 15}, "exactly one of"),
        ({"rul": "p%"}, "Did you mean 'rule'"),
        ({}, "no kind"),
        (15, "not a table"),
        ("treshold:3", "Did you mean 'threshold'"),
        ("p%:10,1,2", "more numbers than 'p%' takes"),
        ("p%:10,p=10", "gives p twice"),
        ("threshold:minimun=3", "Did you mean 'minimum'"),
        ("pq:10", "lacks q"),
        ("manual", "lacks cells"),
        ({"preset": "tauargus"}, "Did you mean 'tau-argus'"),
        ({"preset": "sdctable", "maxn": 3}, "Did you mean 'max_n'"),
        ({"any": "p%"}, "not a list"),
        ({"any": []}, "no rules"),
        ({"all": [{"rule": "p%"}], "p": 3}, "no option 'p'"),
        ({"exempt": {"region": ["99"]}}, "not a table"),
    ],
)
def test_errors_name_the_nearest(data, message):
    with pytest.raises(InputError, match=message):
        rule_from_dict(data)


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_every_option_has_help_and_stands_in_the_docs(rule):
    docs = DOCS.read_text(encoding="utf-8")
    assert f'`"{rule.name}"`' in docs
    declared = options(rule)
    assert [name for name, _, _ in declared]
    for name, default, text in declared:
        assert f"`{name}`" in docs
        assert text in docs, f"{rule.name}: {name} = {default}"


def test_every_preset_stands_in_the_docs():
    docs = DOCS.read_text(encoding="utf-8")
    assert all(f"`{name}`" in docs for name in PRESETS)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("p%", {"rule": "p%"}),
        ("p%:10", {"rule": "p%", "p": 10}),
        (" p% : 15 , level = holding ", {"rule": "p%", "p": 15, "level": "holding"}),
        ("threshold:3", {"rule": "threshold", "minimum": 3}),
        ("dominance:1,75", {"rule": "dominance", "n": 1, "k": 75}),
        ("dominance:k=75,n=1", {"rule": "dominance", "n": 1, "k": 75}),
        ("pq:10,40,inclusive=true", {"rule": "pq", "p": 10, "q": 40, "inclusive": True}),
        ("p%:0.5%", {"rule": "p%", "p": "0.5%"}),
        ("sdctable:p=10", {"preset": "sdctable", "p": 10}),
    ],
)
def test_rules_in_short_mean_the_same(text, data):
    assert rule_from_dict(text) == rule_from_dict(data)


def test_lists_mix_all_ways_to_name_a_rule():
    rule = rule_from_dict([PPercent(10), "threshold:4", {"rule": "dominance"}])
    assert rule == AnyOf(PPercent(10), Threshold(4), Dominance())
    assert rule_from_dict([PPercent(10)]) == PPercent(10)


@pytest.mark.parametrize("text", ["p=15", "p% 15", "pp"])
def test_an_unknown_rule_in_short_shows_how_one_is_written(text):
    with pytest.raises(InputError, match=r'unknown rule .*Numbers follow after a colon: "p%:15"'):
        rule_from_dict(text)
