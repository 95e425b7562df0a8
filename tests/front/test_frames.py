"""Everything goes out as a frame."""

import builtins

import numpy as np
import pytest

import cellveil as cv

COLUMNS = {
    *("region", "branch", "value", "status", "hidden", "contributors", "lower", "upper", "required_lower"),
    *("required_upper", "required_width", "safe", "reason", "weight", "known_lower", "known_upper"),
}


def test_a_row_for_each_cell(protection):
    frame = protection.to_pandas()
    assert set(frame.columns) == COLUMNS | {"region_label"} and len(frame) == protection.table.num_cells
    assert frame["value"].tolist() == protection.table.values.tolist()
    assert frame["hidden"].tolist() == protection.pattern.hidden.tolist()
    assert frame["contributors"].tolist() == protection.table.contributors.tolist()
    row = frame.set_index(["region", "branch"]).loc[("N1", "food")]
    assert (row["status"], row["value"], row["reason"]) == ("primary", 9304, "p% rule (p = 10)")
    assert row["lower"] <= row["required_lower"] < 9304 < row["required_upper"] <= row["upper"]
    assert row["safe"] and set(frame["status"]) == {"primary", "secondary", "safe"}
    assert (frame.loc[frame["status"] == "secondary", "reason"] == "protects primary cells").all()
    assert frame.loc[frame["status"] != "primary", "lower"].isna().all()


def test_all_kinds_of_frames_hold_the_same(protection):
    arrow = protection.to_arrow()
    assert protection.to_polars().to_arrow().to_pydict() == arrow.to_pydict()
    assert protection.to_pandas()["value"].tolist() == arrow.column("value").to_pylist()


def unlabelled(frame):
    return frame.drop_columns(["region_label"])


def test_labels_stand_beside_the_codes_that_have_some(protection):
    for public in (False, True):
        frame = protection.to_arrow(public=public).to_pydict()
        told = dict(zip(frame["region"], frame["region_label"], strict=True))
        assert told["N1"] == "<script>alert(1)</script>" and told["N2"] is None
        assert list(frame)[:3] == ["region", "region_label", "branch"]


def test_a_dimension_may_be_called_as_the_labels_of_another():
    records = {"a": ["x", "y"] * 3, "a_label": ["k"] * 3 + ["m"] * 3, "n": [1, 2, 3, 4, 5, 6]}
    found = cv.protect(records, ["a", "a_label"], "n", rules="threshold:1", labels={"a": {"x": "X"}})
    frame = found.to_arrow().to_pydict()
    assert set(frame["a_label"]) == {"Total", "k", "m"} and set(frame["a_label_"]) == {None, "X"}


def test_results_of_single_steps_have_frames_too(protection):
    problem, found = protection.problem, protection.suppression
    assert problem.table.to_arrow().column_names == ["region", "branch", "value", "contributors"]
    assert problem.to_pandas()["status"].value_counts()["primary"] == len(problem.primaries)
    assert found.to_pandas()["hidden"].sum() == found.pattern.hidden.sum()
    assert protection.audit.to_arrow().to_pydict() == unlabelled(protection.to_arrow()).to_pydict()
    assert protection.pattern.to_arrow().column_names == ["cell", "status", "hidden"]


def test_decimals_and_unknown_counts():
    region = cv.Dimension.of("region", ["N", "S"])
    table = cv.table_from_interior([region], {"region": ["N", "S"]}, [1.25, 2])
    table = table.replace(contributors=np.array([5, -1, 3]))
    found = table.to_arrow().to_pydict()
    assert found["value"] == [3.25, 1.25, 2.0] and found["contributors"] == [5, None, 3]


def test_a_dimension_may_be_called_as_a_column():
    status = cv.Dimension.of("status", ["a", "b"])
    problem = cv.Problem.of(cv.table_from_interior([status], {"status": ["a", "b"]}, [3, 4]), {1: 1})
    assert problem.to_arrow().column("status").to_pylist() == ["Total", "a", "b"]
    assert problem.to_arrow().column("status_of_cell").to_pylist() == ["safe", "primary", "safe"]


def test_adjusted_tables():
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
    found = cv.adjust(problem, "start")
    frame = found.to_pandas()
    assert frame["published"].tolist() == found.values.tolist()
    assert (frame["published"] - frame["value"] == frame["change"]).all()
    assert found.to_arrow(public=True).column("value").to_pylist() == found.values.tolist()


# -- what is public ------------------------------------------------------------------------------------------


def test_a_public_frame_holds_no_hidden_value_and_tells_no_primary(protection, secrets):
    frame = protection.to_arrow(public=True)
    assert frame.column_names == ["region", "region_label", "branch", "value", "hidden"]
    hidden = protection.pattern.hidden
    assert [value is None for value in frame.column("value").to_pylist()] == hidden.tolist()
    assert not secrets & set(map(str, frame.column("value").to_pylist()))
    frame = unlabelled(frame)
    assert protection.suppression.to_arrow(public=True) == frame == protection.audit.to_arrow(public=True)


def test_the_view_is_public_by_itself(protection):
    frame = protection.audit.view.to_arrow()
    assert frame == protection.audit.view.to_arrow(public=True)
    assert [
        value is None for value in frame.column("value").to_pylist()
    ] == protection.pattern.hidden.tolist()


def test_what_was_not_shown_safe_has_no_public_frame(protection, open_audit):
    with pytest.raises(cv.NotSafeError, match="not shown protected"):
        open_audit.to_pandas(public=True)
    for thing in (protection.table, protection.problem, protection.pattern):
        with pytest.raises(cv.InputError, match="was not audited"):
            thing.to_polars(public=True)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_named(protection, package, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.partition(".")[0] == package:
            raise ImportError
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(cv.MissingExtraError, match=rf"pip install 'cellveil\[{package}\]'"):
        getattr(protection, f"to_{package}")()
