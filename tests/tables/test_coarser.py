"""Global recoding of dimensions, held against recoded records."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellveil.errors import InputError
from cellveil.microdata.tabulate import tabulate
from cellveil.tables.coarser import fold, fold_to_level, join
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy
from helpers.examples import examples
from helpers.records import assert_equal_tables

TREE = {"Total": {"N": {"N1": ["N11", "N12"], "N2": []}, "S": ["S1", "S2"], "W": ["W1"]}}
REGION = Dimension.of("region", Hierarchy.from_dict(TREE))
COAST = Hierarchy.from_dict({"C": ["S1", "N2"]})
LEAVES = ["N11", "N12", "N2", "S1", "S2", "W1"]
SIZE = Dimension.of("size", Hierarchy.flat(["1", "2", "3", "4"]))
BELOW = {"N": ["N11", "N12", "N2"], "N1": ["N11", "N12"], "S": ["S1", "S2"], "W": ["W1"]}

RECORDS = st.lists(
    st.tuples(st.sampled_from(LEAVES), st.sampled_from("1234"), st.sampled_from("abc"), st.integers(0, 9)),
    min_size=1,
    max_size=15,
)


def frame(rows):
    return pa.table(
        dict(zip(["region", "size", "firm", "sales"], map(list, zip(*rows, strict=True)), strict=True))
    )


@examples(12, of=40)
@given(
    rows=RECORDS,
    codes=st.sets(st.sampled_from(list(BELOW))),
    new=st.dictionaries(st.sampled_from("1234"), st.sampled_from("xy")),
)
def test_a_recoded_table_is_that_of_recoded_records(rows, codes, new):
    """Values, contributors and largest contributions, at every level."""
    region, size = fold(REGION, codes), join(SIZE, new)
    bare = [Dimension.of(d.name, *d.hierarchies) for d in (region, size)]
    goal = {leaf: code for code in ("N1", "N", "S", "W") if code in codes for leaf in BELOW[code]}
    recoded = [(goal.get(r, r), new.get(s, s), *rest) for r, s, *rest in rows]
    options = {"contributor": "firm", "depth": 3}
    found = tabulate(frame(rows), [region, size], "sales", **options)
    assert_equal_tables(found, tabulate(frame(recoded), bare, "sales", **options))


def test_levels():
    assert fold_to_level(REGION, 1).codes == ("Total", "N", "S", "W")
    assert fold_to_level(REGION, 2).codes == ("Total", "N", "N1", "N2", "S", "S1", "S2", "W")
    assert fold_to_level(REGION, 3).codes == REGION.codes


def test_old_codes_are_names_of_the_new():
    coarse = fold_to_level(REGION, 1)
    assert {coarse.codes[coarse.index[leaf]] for leaf in ("N11", "N2", "N1")} == {"N"}
    twice = fold(fold(REGION, ["N1"]), ["N"])
    assert twice.codes[twice.index["N11"]] == "N"


@pytest.mark.parametrize(
    ("recode", "message"),
    [
        (lambda: fold(REGION, ["N3"]), "'N3', which is to be folded"),
        (lambda: fold(REGION, ["Total"]), "nothing would be left"),
        (lambda: fold_to_level(REGION, 0), "Use 1 to 3"),
        (lambda: fold_to_level(REGION, 4), "Use 1 to 3"),
        (lambda: join(REGION, {"N11": "x"}), "Fold branches"),
        (lambda: join(SIZE, {"5": "x"}), "'5', which is to be joined"),
        (lambda: join(SIZE, {"1": "Total"}), "code of the total"),
        (lambda: join(SIZE, {"1": "3"}), "an old code that stays: '?3'?"),
        (lambda: fold(Dimension.of("r", *REGION.hierarchies, COAST), ["N"]), "2 hierarchies"),
    ],
)  # fmt: skip
def test_what_cannot_be_recoded(recode, message):
    with pytest.raises(InputError, match=message):
        recode()


def test_a_new_code_may_be_one_of_its_parts():
    assert join(SIZE, {"1": "3", "3": "3"}).codes == ("Total", "3", "2", "4")
