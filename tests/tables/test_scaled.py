"""Scaled integers against `Decimal`, at the borders and on what people type."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.tables.scaled import (
    LARGEST,
    MAX_DECIMALS,
    REMEDIES,
    UNBOUNDED,
    infer_decimals,
    rescale,
    scale,
    text_of,
    unscale,
)

amounts = st.integers(-(LARGEST - 1), LARGEST - 1)
places = st.integers(0, MAX_DECIMALS)
in_fifteen_digits = st.integers(-(10**15) + 1, 10**15 - 1)


def exact(number: int, decimals: int) -> Decimal:
    sign, digits, _ = Decimal(number).as_tuple()
    return Decimal((sign, digits, -decimals))


@given(st.lists(st.tuples(amounts, places), min_size=1, max_size=5))
def test_text_keeps_every_digit(given_numbers):
    texts = [text_of(number, decimals) for number, decimals in given_numbers]
    decimals = max(decimals for _, decimals in given_numbers)
    scaled, faults = scale(texts, decimals)
    for place, (number, own) in enumerate(given_numbers):
        expected = number * 10 ** (decimals - own)
        if abs(expected) < LARGEST:
            assert (int(scaled[place]), place in faults) == (expected, False)
        else:
            assert faults[place] == "is too large"


@given(amounts, places)
def test_text_reads_back_as_the_same_number(number, decimals):
    plain, trimmed = text_of(number, decimals), text_of(number, decimals, trim=True)
    assert Decimal(plain) == Decimal(trimmed) == exact(number, decimals)
    assert len(plain.partition(".")[2]) == decimals
    assert not ("." in trimmed and trimmed[-1] in "0.")


@given(st.lists(st.tuples(in_fifteen_digits, places), min_size=1, max_size=5))
def test_floats_of_fifteen_digits_are_exact(given_numbers):
    decimals = max(decimals for _, decimals in given_numbers)
    floats = [float(exact(number, own)) for number, own in given_numbers]
    scaled, faults = scale(floats, decimals)
    for place, (number, own) in enumerate(given_numbers):
        expected = number * 10 ** (decimals - own)
        if abs(expected) >= LARGEST:
            assert faults[place] == "is too large"
        elif abs(expected) < 10**15:
            assert (int(scaled[place]), place in faults) == (expected, False)


@given(in_fifteen_digits, places)
def test_decimals_are_inferred_alike_from_text_and_float(number, decimals):
    value = exact(number, decimals)
    shown = len(text_of(number, decimals, trim=True).partition(".")[2])
    assert infer_decimals([str(value)]) == infer_decimals([value]) == shown
    assert infer_decimals([float(value)]) == shown


@given(st.lists(in_fifteen_digits, min_size=1, max_size=4), places)
def test_unscale_is_the_nearest_float(numbers, decimals):
    assert unscale(np.array(numbers), decimals).tolist() == [float(exact(n, decimals)) for n in numbers]


def test_unbounded_is_infinite():
    assert unscale(np.array([UNBOUNDED, -UNBOUNDED, 5]), 1).tolist() == [np.inf, -np.inf, 0.5]
    assert (text_of(UNBOUNDED, 2), text_of(-UNBOUNDED, 0)) == ("inf", "-inf")


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "is missing"),
        ("", "is missing"),
        ("  ", "is missing"),
        (float("nan"), "is missing"),
        (Decimal("NaN"), "is missing"),
        (Decimal("sNaN"), "is missing"),
        (pd.NA, "is missing"),
        (pd.NaT, "is missing"),
        ("nan", "is missing"),
        ("inf", "is not finite"),
        (float("-inf"), "is not finite"),
        (Decimal("Infinity"), "is not finite"),
        (True, "is not a number"),
        (np.True_, "is not a number"),
        ("True", "is not a number"),
        ("x", "is not a number"),
        ("1,5", "is not a number"),
        ("1 000", "is not a number"),
        ("1_000", "is not a number"),
        ("١٢", "is not a number"),
        ("１２", "is not a number"),
        ("1\u00a0000", "is not a number"),
        ("--1", "is not a number"),
        ("0x10", "is not a number"),
        ("1/2", "is not a number"),
        ([1], "is not a number"),
        (b"1", "is not a number"),
        (1j, "is not a number"),
        ("0.001", "has more decimals than declared"),
        ("1." + "0" * 40 + "1", "has more decimals than declared"),
        ("1e-999999", "has more decimals than declared"),
        (Decimal("1E-40"), "has more decimals than declared"),
        (2**70, "is too large"),
        ("1e17", "is too large"),
        ("-1e17", "is too large"),
        ("1e999999", "is too large"),
        ("1e999999999", "is too large"),
    ],
)
def test_faults_are_named(value, fault):
    column = np.empty(3, dtype=object)
    column[:] = ["7", value, 8]
    scaled, faults = scale(column, 2)
    assert faults == {1: fault}
    assert scaled.tolist() == [700, 0, 800]
    assert fault in REMEDIES
    assert 0 <= infer_decimals(column) <= MAX_DECIMALS


@pytest.mark.parametrize("text", ["5", "+5", " 5 ", "5.", "5.00", "0.5e1", "50E-1", "005"])
def test_ways_to_write_five(text):
    assert scale([text], 2)[0].tolist() == [500]


def test_truth_values_are_no_numbers():
    assert scale([True, 2], 0)[1] == {0: "is not a number"}
    assert scale([True, 2.5], 1)[1] == {0: "is not a number"}
    assert scale(np.array([True, False]), 0)[1] == dict.fromkeys((0, 1), "is not a number")


@pytest.mark.parametrize("decimals", [0, 1, 2, 9])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_border_is_the_same_for_integers_and_text(decimals, sign):
    fits = (LARGEST - 1) // 10**decimals
    for value, fine in ((fits, True), (fits + 1, False)):
        for column in (
            [sign * value],
            np.array([sign * value]),
            [str(sign * value)],
            [Decimal(sign * value)],
        ):
            scaled, faults = scale(column, decimals)
            assert (not faults) == fine
            assert scaled.tolist() == [sign * value * 10**decimals if fine else 0]


@pytest.mark.parametrize("decimals", range(MAX_DECIMALS + 1))
def test_floats_at_the_border_stay_below_it(decimals):
    edge = LARGEST / 10**decimals
    near = [np.nextafter(edge, 0), edge, np.nextafter(edge, np.inf), 1e308]
    scaled, faults = scale(near, decimals)
    assert (np.abs(scaled) < LARGEST).all()
    assert {2, 3} <= set(faults)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_integers_of_any_width(kind):
    column = np.array([0, 5, np.iinfo(kind).max], dtype=kind)
    scaled, faults = scale(column, 3)
    assert scaled[:2].tolist() == [0, 5000]
    top = int(np.iinfo(kind).max) * 1000
    assert (2 in faults) if top >= LARGEST else int(scaled[2]) == top


def test_small_floats_that_are_sums_are_tolerated():
    assert scale([0.1 + 0.2], 1)[0].tolist() == [3]


def test_a_half_is_not_lost_in_a_large_float():
    assert infer_decimals([600000000000000.5]) == 1
    assert scale([600000000000000.5], 0)[1] == {0: "has more decimals than declared"}
    assert scale([600000000000000.5], 1)[0].tolist() == [6000000000000005]


def test_decimals_are_not_inferred_beyond_the_largest_declared():
    assert infer_decimals(["1e-12"]) == infer_decimals([1e-12]) == MAX_DECIMALS
    assert infer_decimals([]) == infer_decimals([None, "x"]) == infer_decimals([7, 8]) == 0
    assert infer_decimals(["1.500", "2"]) == 1


@given(st.lists(amounts, min_size=1, max_size=4), st.integers(0, 4))
def test_more_decimals_or_an_error(values, more):
    column = np.array(values, dtype=np.int64)
    expected = [value * 10**more for value in values]
    if max(map(abs, expected)) < LARGEST:
        assert rescale(column, more).tolist() == expected
    else:
        with pytest.raises(InputError, match="too large"):
            rescale(column, more)
