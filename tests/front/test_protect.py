"""`protect`: the same as a job, in one call."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cellveil as cv
from cellveil.errors import InputError
from cellveil.progress import Phase
from cellveil.suppression import METHODS

JOB = """
title = "Turnover"
output = "out"
[microdata]
file = "firms.csv"
contributor = "firm"
holding = "holding"
[dimensions.region]
hierarchy = "regions.csv"
[[tables]]
dimensions = ["region", "size"]
response = "turnover"
[[rules]]
rule = "p%"
p = 10
level = "holding"
[[rules]]
rule = "threshold"
minimum = 3
[[cells]]
key = {}
status = "z"
[suppress]
method = "hypercube"
[release]
formats = ["csv"]
"""

REGIONS = {"N": ["N1", "N2"], "S": ["S1", "S2"]}
SETTINGS = {
    "contributor": "firm",
    "holding": "holding",
    "rules": ["p%:10,level=holding", "threshold:3"],
    "hierarchies": {"region": REGIONS},
    "cells": [{"key": {}, "status": "z"}],
    "method": "hypercube",
    "title": "Turnover",
}


def firms(number=90):
    """Skewed turnover of firms, some of which belong to one holding."""
    row = np.arange(number)
    return pd.DataFrame(
        {
            "firm": [f"f{i}" for i in row],
            "holding": [f"h{i // 2}" for i in row],
            "region": np.array(["N1", "N2", "S1", "S2"])[(row * 7) % 4],
            "size": (row * row) % 5,
            "turnover": 10 + (row * 91) % 400 + 3000 * (row % 7 == 0),
        }
    )


@pytest.fixture(scope="module")
def by_call():
    return cv.protect(firms(), ["region", "size"], "turnover", **SETTINGS)


@pytest.fixture(scope="module")
def by_job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    firms().to_csv(folder / "firms.csv", index=False)
    pairs = [("Total", "N"), ("Total", "S"), *((up, low) for up, below in REGIONS.items() for low in below)]
    lines = ["parent,child", *(f"{parent},{child}" for parent, child in pairs)]
    (folder / "regions.csv").write_text("\n".join(lines))
    (folder / "job.toml").write_text(JOB)
    return cv.run_job(folder / "job.toml")


def test_call_and_job_find_the_same(by_call, by_job, tmp_path):
    assert by_call.problem.content_hash == by_job.problem.content_hash
    assert by_call.pattern.status.tolist() == by_job.suppression.pattern.status.tolist()
    assert by_call.pattern.hidden.sum() > len(by_call.problem.primaries) > 0
    assert (by_call.verdict, by_call.is_safe) == (by_job.report.verdict, by_job.is_safe) and by_call.is_safe
    assert by_call.suppression.cost == by_job.suppression.cost
    release = by_call.release(tmp_path / "public", formats=["csv"])
    names = ("table.csv", "about.json")
    assert {release.files[name] for name in names} == {by_job.release.files[name] for name in names}


def test_reports_say_the_same(by_call, by_job):
    mine, theirs = by_call.report.to_dict(), by_job.report.to_dict()
    for name in ("title", "verdict", "safe_against", "not_asked", "table", "rules", "price"):
        assert mine[name] == theirs[name], name
    assert mine["audit"]["margins"] == theirs["audit"]["margins"]
    assert mine["parameters"]["suppress"] == theirs["parameters"]["suppress"]


def test_single_contributors_are_kept_off_by_default(by_call):
    assert by_call.audit.against == "outsiders and every single holding"
    only = cv.protect(firms(), ["region", "size"], "turnover", **{**SETTINGS, "attackers": []})
    assert only.audit.against == "outsiders"
    assert "by decision" in only.report.told_not_asked


def test_without_ids_each_record_is_a_contributor():
    found = cv.protect(firms(), ["region"], "turnover", rules="threshold:99", method="hypercube")
    assert (
        found.audit.against
        == "outsiders and every single contributor (each record counts as one contributor)"
    )


@pytest.mark.parametrize(
    "tree",
    [
        {"Total": REGIONS},
        {"N1": "N", "N2": "N", "S1": "S", "S2": "S"},
        cv.Hierarchy.from_dict({"Total": REGIONS}),
        cv.Dimension.of("region", REGIONS),
        [1, 1],
    ],
)
def test_hierarchies_of_all_kinds(by_call, tree):
    found = cv.protect(
        firms(), ["region", "size"], "turnover", **{**SETTINGS, "hierarchies": {"region": tree}}
    )
    assert found.problem.content_hash == by_call.problem.content_hash


def test_hierarchies_in_files_and_dimensions_in_by(by_call, tmp_path):
    path = tmp_path / "regions.csv"
    path.write_text("parent,child\nTotal,N\nTotal,S\nN,N1\nN,N2\nS,S1\nS,S2\n")
    dimension = cv.Dimension.of("region", REGIONS)
    for by, trees in ((["region", "size"], {"region": path}), ([dimension, "size"], None)):
        found = cv.protect(firms(), by, "turnover", **{**SETTINGS, "hierarchies": trees})
        assert found.pattern.status.tolist() == by_call.pattern.status.tolist()


def test_several_overlapping_hierarchies(by_call):
    trees = [REGIONS, {"Coast": ["N1", "S1"]}]
    found = cv.protect(
        firms(), ["region", "size"], "turnover", **{**SETTINGS, "hierarchies": {"region": trees}}
    )
    assert "Coast" in found.table.dimensions[0].codes and found.is_safe


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas, lambda frame: frame.to_dict("list")])
def test_data_of_all_kinds(by_call, kind):
    found = cv.protect(kind(firms()), ["region", "size"], "turnover", **SETTINGS)
    assert found.pattern.status.tolist() == by_call.pattern.status.tolist()


def test_settings_reach_every_section():
    settings = {"levels": {"sliding": 50}, "suppress": {"relax": False}, "bounds": "free"}
    with pytest.raises(InputError, match="bounds_reason"):
        cv.protect(firms(), ["region", "size"], "turnover", **SETTINGS, settings=settings)
    settings["bounds_reason"] = "values may be negative elsewhere"
    found = cv.protect(firms(), ["region", "size"], "turnover", **SETTINGS, settings=settings)
    assert found.problem.spl.max() == 50 and (found.problem.lb < 0).all()


def test_weights_attackers_and_labels_are_taken(tmp_path):
    found = cv.protect(
        firms(),
        ["region", "size"],
        "turnover",
        **{**SETTINGS, "weights": "one", "attackers": "insider:coalition=2", "cells": {("N", 1): "z"}},
        labels={"size": {0: "none"}},
    )
    assert set(found.problem.weight) <= {0.0, 1.0} and "two contributors" in found.audit.against
    assert found.problem.status[found.table.cell("N", "1")] == cv.Status.FROZEN
    release = found.release(tmp_path / "public", formats=["html"])
    assert "none" in (release.folder / "index.html").read_text()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rules": None, "cells": ()}, "no rules, so nothing would be protected"),
        ({"rules": 3}, "type int. Say which cells are unsafe"),
        ({"rules": "treshold:3"}, "Did you mean 'threshold'"),
        ({"method": "hyper"}, "Did you mean 'hypercube'"),
        ({"time_limit": "5"}, "is not a number"),
        ({"settings": {"level": {}}}, "Did you mean 'levels'"),
        ({"settings": {"output": "x"}}, "no section 'output'"),
        ({"settings": {"levels": {"slidin": 3}}}, "Did you mean 'sliding'"),
        ({"contributor": "frm"}, "Did you mean 'firm'"),
        ({"hierarchies": {"regio": REGIONS}}, "Did you mean 'region'"),
        ({"hierarchies": [REGIONS]}, "type list. Give them by dimension"),
        ({"labels": {"regio": {}}}, "Did you mean 'region'"),
        ({"labels": ["a"]}, "type list. Give them by dimension and code"),
        ({"attackers": cv.Attacker("insider", exempt=[3], exempt_reason="x")}, "named by its number"),
        ({"cells": {("N", 1, 2): "z"}}, "3 codes for 2 dimensions"),
        ({"weights": "valu"}, "Did you mean 'value'"),
    ],
)
def test_wrong_arguments_are_refused(changed, message):
    with pytest.raises(cv.InputError, match=message):
        cv.protect(firms(), ["region", "size"], "turnover", **{**SETTINGS, **changed})


@pytest.mark.parametrize(
    ("data", "by", "message"),
    [
        (None, ["region"], "there are no data"),
        ("nowhere.csv", ["region"], "does not exist"),
        (firms(), {"region": 1}, "type dict. Name the columns"),
        (firms(), [], "no dimension"),
        (firms(), [cv.Dimension.unstructured("region", ["a"])], "has no hierarchy"),
    ],
)
def test_wrong_data_are_refused(data, by, message):
    with pytest.raises(cv.InputError, match=message):
        cv.protect(data, by, "turnover", rules="p%:10")


# -- fails closed --------------------------------------------------------------------------------------------


def hide_only_primaries(monkeypatch):
    """A method that proposes too little, and nobody mends it."""
    from cellveil.suppression.draft import Draft

    entry = METHODS["hypercube"]

    def lazy(self, problem, **_):
        return Draft(problem.hidden_at_start.copy())

    monkeypatch.setattr(type(entry), "run", lazy)


def test_what_is_not_shown_safe_is_not_released(monkeypatch, tmp_path):
    hide_only_primaries(monkeypatch)
    found = cv.protect(
        firms(), ["region", "size"], "turnover", **{**SETTINGS, "attackers": []},
        settings={"suppress": {"options": {"run.mending_rounds": 0}}},
    )  # fmt: skip
    assert not found.is_safe and found.verdict.startswith("NOT SAFE") and "NOT SAFE" in repr(found)
    with pytest.raises(cv.NotSafeError):
        found.release(tmp_path / "public", formats=["csv"])
    assert not (tmp_path / "public").exists()


def test_microdata_may_not_lie_in_the_public_folder(tmp_path):
    firms().to_csv(tmp_path / "firms.csv", index=False)
    found = cv.protect(tmp_path / "firms.csv", ["region", "size"], "turnover", **SETTINGS)
    with pytest.raises(cv.InputError, match="confidential input"):
        found.release(tmp_path)


class Interrupting(cv.Progress):
    """Presses Ctrl-C when a stage or a phase begins."""

    def __init__(self, wanted):
        self.wanted = wanted

    def stage(self, name):
        if name == self.wanted:
            raise KeyboardInterrupt

    def phase(self, phase, until=None):
        self.stage(phase)


def test_an_interrupt_before_the_search_ends_the_call():
    with pytest.raises(KeyboardInterrupt):
        cv.protect(firms(), ["region"], "turnover", rules="threshold:99", progress=Interrupting(Phase.RULES))


def scattered(number=200):
    """Three flat dimensions with so few firms in a cell that the search has something to do."""
    random = np.random.default_rng(1)
    axes = {f"d{axis}": random.integers(0, 4, number) for axis in range(3)}
    return pd.DataFrame(axes | {"amount": random.integers(5, 95, number)})


def test_an_interrupt_of_the_search_keeps_the_best_certified_pattern(tmp_path):
    by, rules = ["d0", "d1", "d2"], "threshold:3"
    found = cv.protect(scattered(), by, "amount", rules=rules, progress=Interrupting("search"))
    assert found.was_interrupted and found.is_safe and "interrupted" in repr(found)
    assert "interrupted" in found.suppression.reason
    assert found.release(tmp_path / "public", formats=["csv"]).num_hidden == found.pattern.hidden.sum()
    with pytest.raises(KeyboardInterrupt):
        cv.protect(scattered(), by, "amount", rules=rules, progress=Interrupting("search"), keep_best=False)
