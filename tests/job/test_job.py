"""Whole jobs, checked from outside: the public files are read by pandas and compared with the microdata."""

import io
import itertools
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import cellveil as cv
from benchmarks.job_reference import reference
from cellveil.pattern import Pattern
from cellveil.suppression.draft import MethodEnding
from helpers.command import Command, listing
from helpers.public_files import public_rows

Members = Mapping[str, Mapping[str, set[str]]]
"""Dimension → code → the codes of the microdata it stands for."""

INTERRUPTED = MethodEnding.INTERRUPTED_SEARCH

REGIONS = {"N1": "N", "N2": "N", "S1": "S", "S2": "S", "S3": "S"}
SIZES = ["small", "medium", "large"]
LEAVES = {"region": set(REGIONS), "size": set(SIZES)}
REGION = {"Total": set(REGIONS)} | {code: {code} for code in REGIONS}
REGION |= {part: {code for code, above in REGIONS.items() if above == part} for part in "NS"}
SIZE = {"Total": set(SIZES)} | {code: {code} for code in SIZES}
FLAT_REGION = {code: leaves for code, leaves in REGION.items() if code not in "NS"}

RULES = """
[[rules]]
rule = "p%"
p = 15

[[rules]]
rule = "threshold"
minimum = 3
"""

ONE_TABLE = """
[[tables]]
dimensions = ["region", "size"]
response = "turnover"
"""

MICRODATA = """
[microdata]
file = "firms.csv"
contributor = "firm"
"""


def firms(seed: int = 1, records: int = 75) -> pd.DataFrame:
    """Skewed firms; some have several records; amounts are so large that no two cells are alike."""
    rng = np.random.default_rng(seed)
    domestic = (rng.lognormal(10, 1.5, records) * 10).astype(int) + 100_000
    export = (rng.lognormal(9, 2, records) * 10).astype(int) + 100_000
    return pd.DataFrame(
        {
            "firm": [f"f{number}" for number in rng.integers(0, records * 3 // 4, records)],
            "holding": [f"h{number}" for number in rng.integers(0, records // 2, records)],
            "region": rng.choice(list(REGIONS), records),
            "size": rng.choice(SIZES, records, p=[0.5, 0.3, 0.2]),
            "domestic": domestic,
            "export": export,
            "turnover": domestic + export,
            "weight": rng.integers(1, 4, records),
            "request": rng.choice(["", "yes"], records, p=[0.9, 0.1]),
            "waiver": rng.choice(["0", "1"], records, p=[0.8, 0.2]),
        }
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = firms()
    data["above"] = data["region"].map(REGIONS)
    data.to_csv(tmp_path / "firms.csv", index=False)
    return tmp_path


def run(folder: Path, text: str, name: str = "job.toml") -> cv.JobResult:
    (folder / name).write_text(text, encoding="utf-8")
    return cv.run_job(cv.read_job(folder / name))


def public_table(folder: Path) -> pd.DataFrame:
    return pd.DataFrame(public_rows(folder / "public"))


def amount(data: pd.DataFrame, key: Mapping[str, str], members: Members, response: str | None) -> int:
    chosen = select(data, key, members)
    return len(chosen) if response is None else int(chosen[response].sum())


def select(data: pd.DataFrame, key: Mapping[str, str], members: Members) -> pd.DataFrame:
    for dimension, code in key.items():
        data = data[data[dimension].isin(members[dimension][code])]
    return data


def check_release(
    result: cv.JobResult,
    data: pd.DataFrame,
    members: Members,
    response: str | None = "turnover",
    minimum: int = 3,
    least: int = 1,
) -> pd.DataFrame:
    """Published values are right and add up, cells of few firms are hidden, hidden values are nowhere."""
    assert result.is_safe and result.release is not None
    folder = result.release.folder
    table = public_table(folder.parent)
    hidden = []
    for row in table.to_dict("records"):
        key = {name: row[name] for name in members}
        variable = row.get("variable", response)
        true = amount(data, key, members, variable)
        if row["value"] == "x":
            hidden.append(true)
            continue
        assert int(row["value"]) == true, key
        assert true == 0 or select(data, key, members)["firm"].nunique() >= minimum, key
    assert 0 < len(hidden) < len(table)
    assert check_additive(table, members) >= least
    assert_absent(folder, [value for value in hidden if value > 10_000])
    return table


def check_additive(table: pd.DataFrame, members: Members) -> int:
    """Whenever a cell and a disjoint cover of it in one dimension are published, they add up.

    Returns how often that was so.
    """
    values = {
        (*(row[name] for name in members), row.get("variable", "")): row["value"]
        for row in table.to_dict("records")
    }
    checked = 0
    for axis, codes in enumerate(members.values()):
        covers = [
            (code, parts)
            for code, leaves in codes.items()
            for size in (2, 3, 5)
            for parts in itertools.combinations([c for c in codes if c != code], size)
            if sum(len(codes[part]) for part in parts) == len(leaves)
            and set().union(*(codes[part] for part in parts)) == leaves
        ]
        for key in values:
            for code, parts in covers:
                if key[axis] == code:
                    cells = [values.get((*key[:axis], part, *key[axis + 1 :])) for part in parts]
                    below = [cell for cell in cells if cell is not None]  # empty ones are left out
                    if below and "x" not in [values[key], *below]:
                        assert int(values[key]) == sum(map(int, below)), key
                        checked += 1
    return checked


def assert_absent(folder: Path, secrets: list[int]) -> None:
    """No public file holds one of the numbers, however it is packed or written."""
    for path in folder.iterdir():
        texts = [path.read_bytes().decode("utf-8", errors="replace")]
        if path.suffix == ".xlsx":
            with zipfile.ZipFile(path) as book:
                texts = [book.read(name).decode("utf-8", errors="replace") for name in book.namelist()]
        if path.suffix == ".parquet":
            texts = [pd.read_parquet(path).to_csv()]
        text = re.sub(r"(?<=\d)[\u202f,](?=\d{3})", "", "\n".join(texts))
        numbers = set(re.findall(r"\d+", text))
        assert not numbers & {str(secret) for secret in secrets}, path.name
        assert not re.search(r"\b(primary|secondary)\b", text), path.name


# -- hierarchies ---------------------------------------------------------------------------------------------


def test_parent_child_hierarchy(folder: Path) -> None:
    pairs = [("Total", "N"), ("Total", "S"), *((above, code) for code, above in REGIONS.items())]
    pd.DataFrame(pairs, columns=["parent", "child"]).to_csv(folder / "region.csv", index=False)
    text = (
        'output = "."\n' + MICRODATA + '[dimensions.region]\nhierarchy = "region.csv"\n' + ONE_TABLE + RULES
    )
    check_release(run(folder, text), firms(), {"region": REGION, "size": SIZE})


def test_indented_hierarchy(folder: Path) -> None:
    (folder / "region.hrc").write_text("N\n.N1\n.N2\nS\n.S1\n.S2\n.S3\n")
    section = '[dimensions.region]\nhierarchy = "region.hrc"\nlead = "."\ntotal = "All"\n'
    result = run(folder, 'output = "."\n' + MICRODATA + section + ONE_TABLE + RULES)
    named = {("All" if code == "Total" else code): leaves for code, leaves in REGION.items()}
    check_release(result, firms(), {"region": named, "size": SIZE})


def test_digits(folder: Path) -> None:
    text = 'output = "."\n' + MICRODATA + "[dimensions.region]\ndigits = [1, 1]\n" + ONE_TABLE + RULES
    check_release(run(folder, text), firms(), {"region": REGION, "size": SIZE})


def test_levels_in_columns(folder: Path) -> None:
    section = '[dimensions.area]\nlevels = ["above"]\ncolumn = "region"\n'
    tables = ONE_TABLE.replace('"region"', '"area"')
    result = run(folder, 'output = "."\n' + MICRODATA + section + tables + RULES)
    data = firms().rename(columns={"region": "area"})
    check_release(result, data, {"area": REGION, "size": SIZE})


def test_flat_dimensions(folder: Path) -> None:
    result = run(folder, 'output = "."\n' + MICRODATA + ONE_TABLE + RULES)
    check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE})


def test_overlapping_hierarchies(folder: Path) -> None:
    coast = {"N1": "coast", "S1": "coast", "N2": "inland", "S2": "inland", "S3": "inland"}
    for name, above in (("region", REGIONS), ("coast", coast)):
        pairs = [
            *(("Total", part) for part in dict.fromkeys(above.values())),
            *((a, c) for c, a in above.items()),
        ]
        pd.DataFrame(pairs, columns=["parent", "child"]).to_csv(folder / f"{name}.csv", index=False)
    section = '[dimensions.region]\nhierarchy = ["region.csv", "coast.csv"]\n'
    result = run(folder, 'output = "."\n' + MICRODATA + section + ONE_TABLE + RULES)
    both = REGION | {part: {c for c, above in coast.items() if above == part} for part in ("coast", "inland")}
    check_release(result, firms(), {"region": both, "size": SIZE})


# -- microdata -----------------------------------------------------------------------------------------------


def test_holdings_are_protected_as_one(folder: Path) -> None:
    rules = '\n[[rules]]\nrule = "threshold"\nminimum = 3\nlevel = "holding"\n'
    text = 'output = "."\n' + MICRODATA + 'holding = "holding"\n' + ONE_TABLE + rules
    result = run(folder, text)
    table = check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE})
    for row in table[table["value"] != "x"].to_dict("records"):
        cell = select(
            firms(), {"region": row["region"], "size": row["size"]}, {"region": FLAT_REGION, "size": SIZE}
        )
        assert cell["holding"].nunique() >= 3


def test_weights_blow_the_table_up(folder: Path) -> None:
    result = run(folder, 'output = "."\n' + MICRODATA + 'weight = "weight"\n' + ONE_TABLE + RULES)
    data = firms()
    data["turnover"] *= data["weight"]
    check_release(result, data, {"region": FLAT_REGION, "size": SIZE})


def test_requests_hide_who_asked(folder: Path) -> None:
    rules = '\n[[rules]]\nrule = "request"\nshare1 = 30\n'
    text = (
        'output = "."\n'
        + MICRODATA
        + 'request = "request"\nrequest_codes = ["yes", "9"]\n'
        + ONE_TABLE
        + rules
    )
    result = run(folder, text)
    members = {"region": FLAT_REGION, "size": SIZE}
    table = check_release(result, firms(), members, minimum=1)
    data = firms()
    asked = set(data.loc[data["request"] == "yes", "firm"])
    assert asked
    for row in table[table["value"] != "x"].to_dict("records"):
        cell = select(data, {name: row[name] for name in members}, members)
        parts = cell.groupby("firm")["turnover"].sum()
        assert not (parts[parts.index.isin(asked)] > 0.3 * parts.sum()).any()


def test_waivers_lift_protection(folder: Path) -> None:
    rules = '\n[[rules]]\nrule = "p%"\np = 15\n'
    strict = run(folder, 'output = "strict"\n' + MICRODATA + ONE_TABLE + rules)
    data = firms()
    data.assign(waiver="1").to_csv(folder / "firms.csv", index=False)
    waived = run(folder, 'output = "waived"\n' + MICRODATA + 'waiver = "waiver"\n' + ONE_TABLE + rules)
    assert len(strict.problem.primaries) > 0
    assert len(waived.problem.primaries) == 0 and waived.is_safe
    assert (public_table(folder / "waived")["value"] != "x").all()


def test_counts(folder: Path) -> None:
    rules = '\n[[rules]]\nrule = "threshold"\nminimum = 4\n'
    text = 'output = "."\n' + MICRODATA + ONE_TABLE.replace('response = "turnover"\n', "") + rules
    check_release(run(folder, text), firms(), {"region": FLAT_REGION, "size": SIZE}, None, minimum=4)


def test_several_files_and_a_pattern(folder: Path) -> None:
    data = firms()
    data[:30].to_csv(folder / "part-1.csv", index=False)
    data[30:].to_csv(folder / "part-2.csv", index=False)
    text = 'output = "."\n' + MICRODATA.replace("firms.csv", "part-*.csv") + ONE_TABLE + RULES
    check_release(run(folder, text), data, {"region": FLAT_REGION, "size": SIZE})


# -- linked tables -------------------------------------------------------------------------------------------


def test_linked_tables_with_an_equation(folder: Path) -> None:
    tables = "".join(ONE_TABLE.replace("turnover", name) for name in ("turnover", "domestic", "export"))
    text = (
        'output = "."\n' + MICRODATA + tables + '\n[equations]\nturnover = ["domestic", "export"]\n' + RULES
    )
    result = run(folder, text)
    table = check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE})
    wide = table.pivot(index=["region", "size"], columns="variable", values="value")
    shown = wide[~(wide == "x").any(axis=1)].astype(int)
    assert (shown["turnover"] == shown["domestic"] + shown["export"]).all() and len(shown)
    assert not ((wide == "x").sum(axis=1) == 1).any()  # else a subtraction tells it


def test_tables_linked_by_common_cells(folder: Path) -> None:
    tables = "\n".join(
        f'[[tables]]\ndimensions = ["{name}"]\nresponse = "turnover"\n' for name in ("region", "size")
    )
    by_hand = '\n[[cells]]\nkey = {region = "N1"}\nstatus = "u"\n'
    by_hand += '\n[[cells]]\nkey = {size = "large"}\nstatus = "u"\n'
    result = run(folder, 'output = "."\n' + MICRODATA + tables + by_hand)
    assert result.problem.table.num_cells == 1 + len(REGIONS) + len(SIZES)
    table = check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE}, minimum=1, least=0)
    assert table.set_index(["region", "size"]).loc[("Total", "Total"), "value"] != "x"


# -- ready-made tables ---------------------------------------------------------------------------------------


def ready_made(data: pd.DataFrame, totals: bool) -> pd.DataFrame:
    codes = [FLAT_REGION, SIZE] if totals else [dict.fromkeys(REGIONS), dict.fromkeys(SIZES)]
    members = {"region": FLAT_REGION, "size": SIZE}
    rows = []
    for region, size in itertools.product(*codes):
        cell = select(data, {"region": region, "size": size}, members)
        rows.append((region, size, int(cell["turnover"].sum()), cell["firm"].nunique()))
    return pd.DataFrame(rows, columns=["region", "size", "turnover", "firms"])


@pytest.mark.parametrize("totals", ["given", "none"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_ready_made_table(suffix: str, totals: str, tmp_path: Path) -> None:
    made = ready_made(firms(), totals == "given")
    file = tmp_path / f"table.{suffix}"
    writers: dict[str, Any] = {
        "csv": lambda: made.to_csv(file, index=False),
        "parquet": lambda: made.to_parquet(file),
        "xlsx": lambda: made.to_excel(file, index=False),
    }
    writers[suffix]()
    table = f'[[tables]]\ndimensions = ["region", "size"]\nfile = "{file.name}"\nvalue = "turnover"\n'
    table += f'totals = "{totals}"\n'
    rules = '\n[[cells]]\nkey = {region = "S2", size = "large"}\nstatus = "u"\n'
    if totals == "given":  # the number of firms in a total is not the sum of those in its parts
        table += 'contributors = "firms"\n'
        rules = '\n[[rules]]\nrule = "threshold"\nminimum = 3\n'
    result = run(tmp_path, 'output = "out"\n' + table + rules)
    check_release(
        result, firms(), {"region": FLAT_REGION, "size": SIZE}, minimum=3 if totals == "given" else 1
    )


def test_ready_made_table_with_digits_and_another_column(tmp_path: Path) -> None:
    members = {"region": REGION, "size": SIZE}
    rows = [
        (r, s, amount(firms(), {"region": r, "size": s}, members, "turnover")) for r in REGION for s in SIZE
    ]
    pd.DataFrame(rows, columns=["nuts", "size", "value"]).to_csv(tmp_path / "t.csv", index=False)
    text = """
output = "out"
[dimensions.region]
column = "nuts"
digits = [1, 1]
[[tables]]
dimensions = ["region", "size"]
file = "t.csv"
[[cells]]
key = {region = "N1", size = "small"}
status = "u"
"""
    check_release(run(tmp_path, text), firms(), members, minimum=1)


# -- rules and levels ----------------------------------------------------------------------------------------


def test_cells_by_hand(folder: Path) -> None:
    def cell(region: str, size: str, status: str, more: str = "") -> str:
        return f'\n[[cells]]\nkey = {{region = "{region}", size = "{size}"}}\nstatus = "{status}"\n{more}'

    by_hand = cell("N1", "small", "u") + cell("S1", "medium", "m") + cell("N1", "Total", "z")
    plain = run(folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + by_hand)
    table = public_table(folder / "out").set_index(["region", "size"])["value"]
    assert table[("N1", "small")] == table[("S1", "medium")] == "x"
    assert table[("N1", "Total")] != "x"
    assert [plain.problem.table.cell_name(c) for c in plain.problem.primaries] == ["(N1, small)"]
    check_release(plain, firms(), {"region": FLAT_REGION, "size": SIZE}, minimum=1)

    strict = run(folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + RULES)
    unsafe = strict.problem.table.key(int(strict.problem.primaries[0]))
    waived = run(
        folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + RULES + cell(*unsafe, "z", "waived = true\n")
    )
    assert len(waived.problem.primaries) == len(strict.problem.primaries) - 1
    assert public_table(folder / "out").set_index(["region", "size"])["value"][tuple(unsafe)] != "x"
    assert waived.report.to_dict()["parameters"]["cells waived"] == 1


def test_presets(folder: Path) -> None:
    rules = '\n[[rules]]\npreset = "tau-argus"\np = 15\nfreq = [3, 20]\n'
    by_preset = run(folder, 'output = "a"\n' + MICRODATA + ONE_TABLE + rules)
    check_release(by_preset, firms(), {"region": FLAT_REGION, "size": SIZE})
    by_rules = run(folder, 'output = "b"\n' + MICRODATA + ONE_TABLE + RULES)
    assert by_preset.problem.primaries.tolist() == by_rules.problem.primaries.tolist()


def test_asymmetric_and_sliding_levels(folder: Path) -> None:
    plain = run(folder, 'output = "a"\n' + MICRODATA + ONE_TABLE + RULES)
    levels = "\n[levels]\nlower_factor = 0.5\nupper_factor = 2\nsliding = 4000000\n"
    result = run(folder, 'output = "b"\n' + MICRODATA + ONE_TABLE + RULES + levels)
    check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE})
    cells = plain.problem.primaries
    assert (result.problem.upl[cells] == 2 * plain.problem.upl[cells]).all()
    assert (result.problem.lpl[cells] == (plain.problem.lpl[cells] + 1) // 2).all()
    assert (result.audit.outsider.upper - result.audit.outsider.lower >= 4_000_000 - 1).all()
    values = result.problem.table.values[cells]
    assert (result.audit.outsider.upper >= values + result.problem.upl[cells] - 1).all()


def test_costs_as_weights(folder: Path) -> None:
    text = (
        'output = "."\n'
        + MICRODATA
        + ONE_TABLE
        + 'costs = ["export"]\n'
        + RULES
        + '\n[weights]\nkind = "export"\n'
    )
    result = run(folder, text)
    check_release(result, firms(), {"region": FLAT_REGION, "size": SIZE})
    data, members = firms(), {"region": FLAT_REGION, "size": SIZE}
    secondary = np.flatnonzero(result.suppression.pattern.status == 2)
    keys = [dict(zip(members, result.problem.table.key(int(cell)), strict=True)) for cell in secondary]
    assert result.suppression.cost == pytest.approx(sum(amount(data, key, members, "export") for key in keys))


# -- instances, paths, files ---------------------------------------------------------------------------------


def test_instance_job_gives_the_same_release(folder: Path) -> None:
    first = run(folder, 'output = "first"\n' + MICRODATA + ONE_TABLE + RULES)
    second = run(folder, 'output = "second"\ninstance = "first/internal/instance"\n')
    assert second.is_safe
    assert (second.suppression.pattern.hidden == first.suppression.pattern.hidden).all()
    assert public_table(folder / "first").equals(public_table(folder / "second"))


def test_same_job_twice_gives_the_same_public_files(folder: Path) -> None:
    text = 'title = "Turnover"\noutput = "out"\n' + MICRODATA + ONE_TABLE + RULES
    run(folder, text)
    before = listing(folder / "out" / "public")
    assert set(before) == {"about.json", "index.html", "table.csv", "table.parquet", "table.xlsx"}
    run(folder, text)
    assert listing(folder / "out" / "public") == before


def test_command_and_library_agree(
    folder: Path, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(folder, 'output = "library"\n' + MICRODATA + ONE_TABLE + RULES)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ended = command("run", folder / "job.toml", "--out", "command", "--json")
    assert ended.code == 0 and ended.err == ""
    here = tmp_path / "elsewhere" / "command"
    assert listing(here / "public") == listing(folder / "library" / "public")
    printed, written = json.loads(ended.out), json.loads((here / "internal" / "report.json").read_text())
    assert printed == written
    for key in ("outcome", "cost", "unsafe_cells", "hashes"):
        assert printed[key] == json.loads(json.dumps(result.report.to_dict()))[key]


def test_report_shows_no_hidden_value_and_no_path(folder: Path) -> None:
    result = run(folder, 'output = "."\n' + MICRODATA + ONE_TABLE + RULES + "\n[report]\nvalues = false\n")
    values = result.problem.table.values[result.suppression.pattern.hidden]
    page = re.sub(r"(?<=\d)[\u202f,](?=\d{3})", "", result.files["report"].read_text())
    assert not set(re.findall(r"\d+", page)) & {str(value) for value in values.tolist()}
    assert str(folder) not in json.dumps(result.report.to_dict()["parameters"])
    assert not [str(value) for value in values.tolist() if str(value) in repr(result)]


def test_labels_and_public_texts(folder: Path) -> None:
    (folder / "labels.csv").write_text(
        "dimension,code,label\nregion,N1,North one\nsize,small,0–9 persons\nother,x,y\n", encoding="utf-8"
    )
    text = (
        'title = "Turnover of firms"\noutput = "."\nlabels = "labels.csv"\n' + MICRODATA + ONE_TABLE + RULES
    )
    text += '\n[release]\nformats = ["csv", "html"]\nsymbol = ":"\nnote = "Invented."\ndate = "2030-01-31"\n'
    run(folder, text)
    assert sorted(listing(folder / "public")) == ["about.json", "index.html", "table.csv"]
    table = public_table(folder)
    assert set(table.loc[table["region"] == "N1", "region_label"]) == {"North one"}
    assert (table["value"] == ":").any() and not (table["value"] == "x").any()
    page = (folder / "public" / "index.html").read_text(encoding="utf-8")
    assert all(part in page for part in ("Turnover of firms", "Invented.", "2030-01-31", "0–9 persons"))


# -- when nothing may be released ----------------------------------------------------------------------------


def primaries_only(problem: cv.Problem, *arguments: Any, **options: Any) -> cv.Suppression:
    """A method that hides too little."""
    found = cv.suppress(problem, *arguments, **options)
    pattern = Pattern.hiding(problem, problem.hidden_at_start, "too little")
    verdict = cv.audit(problem, pattern)
    return replace(found, pattern=pattern, audit=verdict, outcome="not_safe", reason="hides too little")


def test_unsafe_table_is_reported_and_an_older_release_removed(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + RULES)
    (folder / "out" / "public" / "readme.txt").write_text("of the user")
    monkeypatch.setattr("cellveil.job.past.suppress", primaries_only)
    ended = command("run", folder / "job.toml")
    assert ended.code == 1
    assert "NOT SAFE" in ended.out and "Nothing was released" in ended.out
    assert sorted(listing(folder / "out" / "public")) == ["readme.txt"]
    figures = json.loads((folder / "out" / "internal" / "report.json").read_text())
    assert figures["safe"] is False and figures["release"] is None and figures["unsafe_cells"]
    assert "NOT SAFE" in (folder / "out" / "internal" / "report.html").read_text()

    assert command("run", folder / "job.toml", "--quiet").out == ""
    printed = command("run", folder / "job.toml", "--json")
    assert printed.code == 1 and json.loads(printed.out)["outcome"] == "not_safe"


INFEASIBLE = """
output = "out"
[[tables]]
dimensions = ["region"]
file = "table.csv"
totals = "none"
[[cells]]
key = {region = "N"}
status = "u"
[[cells]]
key = {region = "S"}
status = "z"
[[cells]]
key = {}
status = "z"
"""


def test_infeasible_job_names_the_cells_and_releases_nothing(tmp_path: Path, command: Command) -> None:
    (tmp_path / "table.csv").write_text("region,value\nN,765432\nS,654321\n")
    job = tmp_path / "job.toml"
    job.write_text(INFEASIBLE.replace('"z"', '"s"'))
    assert command("run", job).code == 0
    job.write_text(INFEASIBLE)
    ended = command("run", job)
    assert ended.code == 3
    assert re.search(r"no pattern can protect \(N\).*stand in the way: \(Total\), \(S\)", ended.err)
    assert "765432" not in ended.err + ended.out and "654321" not in ended.err + ended.out
    assert not (tmp_path / "out" / "public").exists()
    assert sorted(path.name for path in (tmp_path / "out" / "internal").iterdir()) == [
        "instance",
        "report.html",
        "report.json",
        "run.json",
    ]
    figures = json.loads((tmp_path / "out" / "internal" / "report.json").read_text())
    assert figures["outcome"] == "infeasible" and figures["unsafe_cells"] == ["(N)"]
    printed = command("run", job, "--json")
    assert printed.code == 3 and json.loads(printed.out) == figures
    with pytest.raises(cv.InfeasibleError):
        cv.run_job(cv.read_job(job))


def test_interrupted_job_changes_nothing(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + RULES)
    before = listing(folder)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cellveil.job.past.suppress", interrupted)
    ended = command("run", folder / "job.toml")
    assert ended.code == 130 and "interrupted" in ended.err
    assert listing(folder) == before


def test_a_search_that_was_interrupted_releases_nothing(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(folder, 'output = "out"\n' + MICRODATA + ONE_TABLE + RULES)
    before = listing(folder)

    def interrupted(*given: Any, **settings: Any) -> cv.Suppression:
        return replace(cv.suppress(*given, **settings), ending=INTERRUPTED, reason=str(INTERRUPTED))

    monkeypatch.setattr("cellveil.job.past.suppress", interrupted)
    ended = command("run", folder / "job.toml")
    assert ended.code == 130 and "everything is as it was" in ended.err
    assert listing(folder) == before
    kept = command("run", folder / "job.toml", "--keep-best")
    assert kept.code == 130 and "the best pattern so far was kept: it was released" in kept.err
    figures = json.loads((folder / "out" / "internal" / "report.json").read_text())
    assert figures["release"] is not None and figures["reason"].startswith("interrupted")


# -- the docs ------------------------------------------------------------------------------------------------

DOCS = Path(__file__).parents[2] / "docs" / "jobs.md"


def test_the_reference_in_the_docs_is_that_of_the_code() -> None:
    start, end = "<!-- keys: made by benchmarks/job_reference.py -->\n", "<!-- end of keys -->"
    text = DOCS.read_text(encoding="utf-8")
    assert text[text.index(start) + len(start) : text.index(end)].strip() == reference().strip()


def test_the_example_in_the_docs_runs(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    data = firms(records=400).rename(columns={"size": "size_class"})
    data.to_csv(tmp_path / "firms.csv", index=False)
    pairs = [("Total", "N"), ("Total", "S"), *((above, code) for code, above in REGIONS.items())]
    pd.DataFrame(pairs, columns=["parent", "child"]).to_csv(tmp_path / "regions.csv", index=False)
    frame = io.StringIO("dimension,code,label\nregion,N,North\nregion,S,South\n")
    pd.read_csv(frame).to_csv(tmp_path / "labels.csv", index=False)
    assert run(tmp_path, example[1]).is_safe
