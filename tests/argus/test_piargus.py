"""The package piargus, unmodified, drives the stand-in program: it writes the jobs and reads the results.

Processes are started for a run that ends well, one that fails and one without a log; what the other jobs say
is asked in this process, by the same call.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import piargus as pa
import pytest
from piargus.result.argusreport import TauArgusException

from cellveil.cli.app import run_command

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

HIDDEN = ["U", "M"]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> pa.TauArgus:
    """Where piargus starts a process, the command runs here."""

    def run(call: list[str]) -> subprocess.CompletedProcess[str]:
        name, *arguments = call
        assert name == "cellveil-argus"
        return subprocess.CompletedProcess(call, run_command(["argus", *arguments]))

    monkeypatch.setattr("piargus.tauargus.subprocess.run", run)
    return pa.TauArgus("cellveil-argus")


@pytest.fixture(scope="module")
def console_script(tmp_path_factory: pytest.TempPathFactory) -> pa.TauArgus:
    """The console script, as an installer writes it."""
    script = tmp_path_factory.mktemp("bin") / "cellveil-argus"
    lines = [f"#!{sys.executable}", "from cellveil.__main__ import argus", "argus()"]
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return pa.TauArgus(script)


def firms(seed: int = 1, number: int = 80) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sector": draw.choice(["A1", "A2", "B1", "B2", "B3"], number),
            "region": draw.choice(["North", "South", "East"], number),
            "size": draw.choice(["s", "m", "l"], number),
            "sales": np.round(draw.lognormal(3, 2.2, number), 2),
            "staff": np.ceil(draw.lognormal(2, 2.2, number)).astype(int),
        }
    )


def plain(column: pd.Series) -> pd.Series:
    """The column without the blanks that pad codes to the width of their variable."""
    index = column.index
    return column.set_axis(
        pd.MultiIndex.from_tuples([tuple(map(str.strip, key)) for key in index], names=index.names)
    )


def tree() -> pa.TreeHierarchy:
    return pa.TreeHierarchy({"A": ["A1", "A2"], "B": ["B1", "B2", "B3"]})


def is_consistent(result: pa.TableResult, data: pd.DataFrame, names: list[str], response: str) -> bool:
    """Whether the totals of the finest cells are those of the data."""
    values = plain(result.unsafe())
    for key, group in data.groupby(names):
        if float(values[key]) != pytest.approx(group[response].sum()):
            return False
    return True


def test_microdata_with_a_hierarchy_and_several_rules(console_script: pa.TauArgus, tmp_path: Path) -> None:
    data = firms()
    table = pa.Table(
        ["sector", "region"],
        "sales",
        safety_rule={pa.percent_rule(10, 1), pa.frequency_rule(3, 20), pa.dominance_rule(2, 90)},
        suppress_method="MOD",
    )
    job = pa.Job(
        pa.MicroData(data, hierarchies={"sector": tree()}), [table], directory=tmp_path, name="firms"
    )
    report = console_script.run(job)
    assert report.is_succesful
    result = table.load_result()
    status = plain(result.status())
    assert is_consistent(result, data, ["sector", "region"], "sales")
    assert "U" in set(status) and "M" in set(status) and "?" not in set(status)
    shown = plain(result.safe(unsafe_marker=np.nan))  # a text would not go into a column of floats
    assert (shown.isna() == status.isin(HIDDEN)).all()
    log = "".join(report.read_log() or [])
    assert "Safe against outsiders" in log and "Start of batch procedure" in log


@pytest.mark.parametrize(
    ("method", "arguments"), [("MOD", (5,)), ("OPT", (1,)), ("GH", (75, 0, 1)), ("NET", ())]
)
def test_methods(program: pa.TauArgus, tmp_path: Path, method: str, arguments: tuple[int, ...]) -> None:
    data = firms(2)
    table = pa.Table(
        ["sector", "region"],
        "staff",
        safety_rule=pa.percent_rule(15),
        suppress_method=method,
        suppress_method_args=arguments,
    )
    job = pa.Job(pa.MicroData(data), [table], directory=tmp_path, name=method)
    program.run(job)
    status = plain(table.load_result().status())
    assert "U" in set(status)
    hidden = status.isin(HIDDEN).groupby("sector").sum()
    assert not (hidden == 1).any()  # one hidden cell beside its total would be plain


def test_adjustment_is_read_too(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(2)
    table = pa.Table(["sector", "region"], "staff", safety_rule="P(15,1)", suppress_method="CTA")
    program.run(pa.Job(pa.MicroData(data), [table], directory=tmp_path, name="adjusted"))
    written = pd.read_csv(table.filepath_out)
    assert list(written.columns) == ["sector", "region", "staff_CTA", "staff_Orig", "Status"]
    assert (written["staff_CTA"] != written["staff_Orig"]).any()


def test_frequencies_costs_and_no_method(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(3, 60)
    bare = pa.Table(["sector", "region"], safety_rule="FREQ(3,20)", suppress_method=None)
    costed = pa.Table(["region", "size"], "sales", cost=-2, safety_rule="P(20,1)", suppress_method="OPT")
    powered = pa.Table(["sector", "size"], "staff", cost="sales", labda=2, safety_rule="P(5,1)")
    job = pa.Job(pa.MicroData(data), [bare, costed, powered], directory=tmp_path, name="three")
    report = program.run(job)
    counts = bare.load_result()
    assert plain(counts.unsafe())["Total", "Total"] == 60
    assert (counts.status() == "U").any() and not (counts.status() == "M").any()
    assert "NOT SAFE: only the unsafe cells are hidden" in "".join(report.read_log() or [])


def test_linked_tables_agree(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(4, 90)
    rule = "P(15,1)"
    one = pa.Table(["sector", "region"], "sales", safety_rule=rule, suppress_method=None)
    two = pa.Table(["sector", "size"], "sales", safety_rule=rule, suppress_method=None)
    job = pa.Job(
        pa.MicroData(data, hierarchies={"sector": tree()}),
        [one, two],
        linked_suppress_method="MOD",
        linked_suppress_method_args=(1,),
        directory=tmp_path,
        name="linked",
    )
    report = program.run(job)
    first, second = (plain(table.load_result().status()) for table in (one, two))
    for code in ("Total", "A", "B", "A1", "A2", "B1", "B2", "B3"):
        assert (first[code, "Total"] in HIDDEN) == (second[code, "Total"] in HIDDEN)
    assert "Tables 1, 2 share cells and were protected together" in "".join(report.read_log() or [])


def cells_of(data: pd.DataFrame) -> pd.DataFrame:
    """A ready-made table with totals, counts and the two largest contributions."""
    spread = pd.concat(
        [
            data.assign(sector=sector, region=region)
            for sector, region in (
                (data["sector"], data["region"]),
                ("Total", data["region"]),
                (data["sector"], "Total"),
                ("Total", "Total"),
            )
        ]
    )
    groups = spread.groupby(["sector", "region"])["sales"]
    return pd.DataFrame(
        {
            "sales": groups.sum(),
            "number": groups.size(),
            "top1": groups.apply(lambda one: one.nlargest(1).sum()),
            "top2": groups.apply(lambda one: one.nlargest(2).sum() - one.max()),
        }
    ).reset_index()


def test_a_ready_made_table_with_contributions(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(5)
    table = pa.TableData(
        cells_of(data),
        explanatory=["sector", "region"],
        response="sales",
        frequency="number",
        top_contributors=["top1", "top2"],
        total_codes={"sector": "Total", "region": "Total"},
        safety_rule="P(10,1)|FREQ(3,10)",
        suppress_method="MOD",
    )
    program.run(pa.Job(table, directory=tmp_path, name="cells"))
    micro = pa.Table(["sector", "region"], "sales", safety_rule="P(10,1)|FREQ(3,10)", suppress_method="MOD")
    program.run(pa.Job(pa.MicroData(data), [micro], directory=tmp_path, name="records"))
    ours, theirs = plain(table.load_result().status()), plain(micro.load_result().status())
    assert "U" in set(ours)
    assert set(ours.index[ours == "U"]) == set(theirs.index[theirs == "U"])


def test_a_ready_made_table_with_statuses(program: pa.TauArgus, tmp_path: Path) -> None:
    cells = cells_of(firms(6))[["sector", "region", "sales"]].round(2)
    cells["status"] = "S"
    cells.loc[(cells["sector"] == "A1") & (cells["region"] == "North"), "status"] = "U"
    cells.loc[(cells["sector"] == "A2") & (cells["region"] == "Total"), "status"] = "P"
    table = pa.TableData(
        cells, ["sector", "region"], "sales", status_indicator="status", safety_rule="MAN(20)"
    )
    program.run(pa.Job(table, directory=tmp_path, name="statuses"))
    status = plain(table.load_result().status())
    assert status["A1", "North"] == "U" and status["A2", "Total"] == "P"
    assert (status == "U").sum() == 1 and (status == "M").sum() == 3


def test_statuses_set_beforehand_and_recoding(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(7)
    changes = [(["A1", "North"], "U"), (["B1", "South"], "P"), (["A2", "East"], "C", 5)]
    table = pa.Table(
        ["sector", "region"], "sales", safety_rule="P(1,1)", apriori=changes, suppress_method="OPT"
    )
    coarse = pa.Table(
        ["sector", "size"], "staff", safety_rule="P(1,1)", recodes={"sector": ["A"]}, suppress_method="GH"
    )
    job = pa.Job(
        pa.MicroData(data, hierarchies={"sector": tree()}), [table, coarse], directory=tmp_path, name="set"
    )
    program.run(job)
    status = plain(table.load_result().status())
    assert status["A1", "North"] == "U" and status["B1", "South"] == "P"
    codes = set(plain(coarse.load_result().status()).index.get_level_values("sector"))
    assert codes == {"Total", "A", "B", "B1", "B2", "B3"}


def test_holdings_requests_weights_and_missing_codes(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(8, 150)
    draw = np.random.default_rng(0)
    data["holding"] = [f"h{number:02d}" for number in sorted(draw.integers(0, 60, len(data)))]
    data["asked"] = draw.choice(["0", "1"], len(data))
    data["weight"] = draw.choice([1, 2], len(data))
    rules = {
        "individual": [pa.percent_rule(5), pa.zero_rule(10), pa.weight_rule(False), pa.missing_rule(True)],
        "holding": [pa.percent_rule(10), pa.frequency_rule(2, 10)],
    }
    table = pa.Table(["sector", "region"], "sales", safety_rule=rules, suppress_method="MOD")
    asked = pa.Table(["sector", "size"], "staff", safety_rule="REQ(30, 60, 10)", suppress_method="OPT")
    weighted = pa.Table(["region", "size"], safety_rule="FREQ(8,20)|WGT(1)", suppress_method="OPT")
    micro = pa.MicroData(data, holding="holding", request="asked", weight="weight")
    report = program.run(pa.Job(micro, [table, asked, weighted], directory=tmp_path, name="roles"))
    assert report.is_succesful
    assert (asked.load_result().status(recode=False) == 4).any()
    total = float(plain(weighted.load_result().unsafe())["Total", "Total"])
    assert total == data["weight"].sum()


@pytest.mark.slow
def test_float_noise_of_frames(program: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(9)
    data["sales"] = data["sales"] / 3 * 3 + 0.1 - 0.1
    table = pa.Table(["sector", "region"], "sales", safety_rule="P(10,1)")
    program.run(pa.Job(pa.MicroData(data), [table], directory=tmp_path, name="noise"))
    total = float(plain(table.load_result().unsafe())["Total", "Total"])
    assert total == pytest.approx(data["sales"].sum())


def test_versions(console_script: pa.TauArgus) -> None:
    assert console_script.version_info()["name"] == "cellveil"


def test_a_failed_run_raises_and_is_logged(console_script: pa.TauArgus, tmp_path: Path) -> None:
    data = firms(10)
    table = pa.Table(
        ["sector", "region"], "sales", safety_rule="P(10,1)", suppress_method="RND", suppress_method_args=(5,)
    )
    job = pa.Job(pa.MicroData(data), [table], directory=tmp_path, name="rounding")
    with pytest.raises(TauArgusException, match="not done yet"):
        console_script.run(job)
    assert not Path(table.filepath_out).exists()


@pytest.mark.slow
def test_jobs_in_parallel(console_script: pa.TauArgus, tmp_path: Path) -> None:
    tables = [pa.Table(["sector", "region"], "sales", safety_rule="P(10,1)") for _ in range(2)]
    jobs = [
        pa.Job(pa.MicroData(firms(11)), [table], directory=tmp_path, name=f"job{number}")
        for number, table in enumerate(tables)
    ]
    assert all(report.is_succesful for report in console_script.run(jobs))
    first, second = (table.load_result().status() for table in tables)
    assert first.equals(second)
