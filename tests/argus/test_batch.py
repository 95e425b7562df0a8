"""Batch files: the order of commands, paths, methods, linked tables, what is written and what is not."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.argus.batch import protecting
from cellveil.argus.batch.batch_file import BatchCommand, Keyword, read_batch
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.linked_problem import linked_problem, refined
from cellveil.argus.batch.rule_line import rule_line
from cellveil.argus.batch.running_batch import run_batch
from cellveil.argus.batch.suppress_line import ArgusMethod, suppress_line
from cellveil.argus.batch.table_line import table_line
from cellveil.argus.lexer import tokens_of
from cellveil.argus.table_spec import CostKind
from cellveil.cli.app import run_command
from cellveil.errors import InfeasibleError, InputError, NotSafeError
from cellveil.level_origin import LevelOrigin
from cellveil.pattern import Pattern

SECRET = "987654"

METADATA = """<SEPARATOR> ";"
Region 2
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERCODELIST> "D:\\\\office\\\\region.hrc"
  <HIERLEADSTRING> "@"
Size 1
  <RECODEABLE>
Sales 6
  <NUMERIC>
"""
REGIONS = "N\n@n1\n@n2\nS\n@s1\n@s2\n"
START = """<OPENMICRODATA> "firms.csv"
<OPENMETADATA> "firms.rda"
<SPECIFYTABLE> "Region""Size"|"Sales"||
<SAFETYRULE> P(10,1)|
"""
READ = f"{START}<READMICRODATA>\n"
TWO_WAY = [
    *(("T", "T", 100), ("T", "p", 40), ("T", "q", 60), ("a", "T", 30), ("b", "T", 70)),
    *(("a", "p", 10), ("a", "q", 20), ("b", "p", 30), ("b", "q", 40)),
]


def records() -> str:
    """Every cell has three contributors of the same size, but for one of (n1, a) that is far the largest."""
    cells = [f"{region};{size}" for region in ("n1", "n2", "s1", "s2") for size in "abc"]
    lines = [f"{cell};{900001 + place}" for cell in cells for place in range(3)]
    lines[:3] = [f"n1;a;{SECRET}", "n1;a;10", "n1;a;12"]
    return "\n".join(lines) + "\n"


@pytest.fixture
def office(tmp_path: Path) -> Path:
    (tmp_path / "firms.csv").write_text(records())
    (tmp_path / "firms.rda").write_text(METADATA)
    (tmp_path / "region.hrc").write_text(REGIONS)
    return tmp_path


def run(office: Path, text: str, **further: object) -> str:
    """Run a batch and return its log."""
    (office / "job.arb").write_text(text)
    run_batch(office / "job.arb", log=office / "log.txt", **further)  # type: ignore[arg-type]
    return (office / "log.txt").read_text()


def command(keyword: Keyword, text: str) -> BatchCommand:
    return BatchCommand(keyword, text, tuple(tokens_of(text)), "job.arb", 1)


# -- lines ---------------------------------------------------------------------------------------------------


def test_keywords_blanks_quotes_and_comments(tmp_path: Path) -> None:
    path = tmp_path / "a.arb"
    path.write_bytes(
        b'\xef\xbb\xbf// one\r\n\\\\ two\r\n\r\n\t<OpenMicrodata>\t"my data.asc" // which\r\n<silent>\r\n'
        b'<APRIORY> f.hst,1,","\r\n<OPENMETADATA> C:\\my data\\m.rda\r\n'
    )
    commands = read_batch(path)
    assert [one.keyword for one in commands] == ["OPENMICRODATA", "SILENT", "APRIORI", "OPENMETADATA"]
    assert commands[0].file_name() == "my data.asc" and commands[3].file_name() == "C:\\my data\\m.rda"
    assert [one.line for one in commands] == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("text", "spec", "power"),
    [
        ('"a""b"|"v"||', (("a", "b"), "v", None, None), 1),
        ('"a" "b"|<freq>', (("a", "b"), None, None, None), 1),
        ('"a"|"<freq>"|"s"|-1', (("a",), None, "s", CostKind.FREQUENCY), 1),
        ('"a"|"v"|""|-2', (("a",), "v", None, CostKind.UNITY), 1),
        ("a|v|s|1|0", (("a",), "v", "s", CostKind.UNITY), 0),
        ('"a"|"v"|"s"|"c",0.5', (("a",), "v", "s", "c"), 0.5),
        ('"a"|"v"||-3', (("a",), "v", None, CostKind.DISTANCE), 1),
    ],
)
def test_tables(text: str, spec: tuple[object, ...], power: float) -> None:
    found = table_line(command(Keyword.SPECIFYTABLE, text))
    asked = found.spec
    assert ((asked.spanning, asked.response, asked.shadow, asked.cost), found.power) == (spec, power)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("P(15)", "p% rule (p = 15)"),
        ("p(15, 2)|", "p% rule (p = 15, coalition of 2)"),
        ("P(0,0)|P(0,0)|P(10,1)", "p% rule (p = 10, holdings)"),
        (
            "NK(3,75)|NK(0,0)|NK(1,50)",
            "dominance rule (n = 3, k = 75) or dominance rule (n = 1, k = 50, holdings)",
        ),
        ("FREQ(0,0)|FREQ(3,20)", "threshold rule (minimum 3, holdings)"),
        (
            "P(10,1)|FREQ(3,20)|ZERO(5)",
            "p% rule (p = 10) else threshold rule (minimum 3) else zero rule (range 5)",
        ),
        ("REQ(70,60,2,20)", "request rule (70 % and 60 %, minimum 2)"),
        ("REQ(70,60,20)", "request rule (70 % and 60 %, minimum 0)"),
    ],
)
def test_rules(text: str, words: str) -> None:
    rule = rule_line(command(Keyword.SAFETYRULE, text)).rule({})
    assert rule is not None and rule.text == words


def test_rules_that_are_none() -> None:
    line = rule_line(command(Keyword.SAFETYRULE, "MAN(30)|WGT(1)|MIS(1)|P(0,0)"))
    assert line.rule({}) is None and (line.manual, line.weighted, line.missing_safe) == (30, True, True)


@pytest.mark.parametrize(
    ("text", "method", "table", "minutes", "insiders"),
    [
        ("MOD(1)", ArgusMethod.MODULAR, 1, 1.0, True),
        ("mod(0, 5, 1, 0, 3, 20000, 0.99, 1.01)", ArgusMethod.MODULAR, 0, 5.0, True),
        ("MOD(2,5,0,0,0)", ArgusMethod.MODULAR, 2, 5.0, False),
        ("OPT(1)", ArgusMethod.OPTIMAL, 1, 10.0, False),
        ("GH(1,75,1,0)", ArgusMethod.HYPERCUBE, 1, None, False),
        ("GH(1)", ArgusMethod.HYPERCUBE, 1, None, True),
        ("NET(3)", ArgusMethod.NETWORK, 3, None, False),
        ("CTA(1)", ArgusMethod.ADJUSTMENT, 1, 1.0, False),
    ],
)
def test_methods(text: str, method: ArgusMethod, table: int, minutes: float | None, insiders: bool) -> None:
    line = suppress_line(command(Keyword.SUPPRESS, text), BatchParams())
    assert (line.method, line.table, line.minutes, line.insiders) == (method, table, minutes, insiders)


# -- runs ----------------------------------------------------------------------------------------------------


def test_public_and_internal_files(office: Path) -> None:
    log = run(
        office,
        f"""{READ}<SOLVER> CPLEX, "C:\\lic\\access.ilm"
<SUPPRESS> OPT(1)
<WRITETABLE> (1, 1, SE-, "matrix.csv")
<WRITETABLE> (1, 2, , "pivot.csv")
<WRITETABLE> (1, 3, AS+FL+QU-, "values.csv")
<WRITETABLE> (1, 4, HL+, "sbs.csv")
<WRITETABLE> (1, 5, AR+, "between.tab")
<WRITETABLE> (1, 6, TR+, "table.jj")
<VERSIONINFO> version.txt
""",
    )
    for name in ("matrix.csv", "pivot.csv"):
        text = (office / name).read_text()
        assert SECRET not in text and "x" in text
    assert re.match(r"\S+ version: [0-9.]+; build: [0-9.]+", (office / "version.txt").read_text())
    assert (office / "values.csv").read_text().startswith("Region,Size,Sales,Status\n")
    for name in ("sbs.csv", "between.tab", "between.rda", "table.jj"):
        assert (office / name).stat().st_size
    assert not list(office.glob("*.html"))  # a report beside results would be published with them
    assert (office / "job-internal" / "matrix.csv.html").stat().st_size
    assert (office / "job-internal").stat().st_mode & 0o077 == 0
    assert log.count("The file is internal") == 4
    assert SECRET not in log and "Safe against outsiders" in log


def test_results_of_one_name_in_several_folders_have_reports_of_their_own(office: Path) -> None:
    for name in ("a", "b"):
        (office / name).mkdir()
    log = run(
        office,
        f"""{READ}<SUPPRESS> GH(1, 0)
<WRITETABLE> (1, 1, , "a/t.csv")
<WRITETABLE> (1, 2, , "b/t.csv")
<WRITETABLE> (1, 1, , "a/t.csv")
""",
    )
    reports = sorted(path.name for path in (office / "job-internal").iterdir())
    assert reports == ["t.csv.2.html", "t.csv.html"]
    assert log.count("t.csv.html") == 2 and log.count("t.csv.2.html") == 1


def test_every_line_of_the_log_is_dated_or_indented(office: Path) -> None:
    log = run(office, f"{READ}<SUPPRESS> OPT(1)\n")
    assert all(
        re.match(r"\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d : | {23}\S", line) for line in log.splitlines()
    )
    again = run(office, f"{READ}")
    assert again.startswith(log) and again.count("-" * 20) >= 1


def test_paths_of_another_system(office: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    batches = tmp_path_factory.mktemp("batches")
    (office / "sub").mkdir()
    (office / "out").mkdir()
    (office / "firms.csv").rename(office / "sub" / "Firms.CSV")
    (office / "region.hrc").rename(office / "sub" / "region.hrc")
    (batches / "job.arb").write_text(
        READ.replace('"firms.csv"', '"C:\\stat\\sub\\firms.csv"').replace('"firms.rda"', "X:\\firms.rda")
        + '<SUPPRESS> OPT(1)\n<WRITETABLE> (1, 1, , "D:\\stat\\out\\Result.csv")\n'
    )
    run_batch(batches / "job.arb", log=batches / "log.txt", data=office)
    assert (office / "out" / "Result.csv").exists()


def test_tables_that_share_cells_are_protected_together(office: Path) -> None:
    both = START + '<SPECIFYTABLE> "Region"|"Sales"||\n<SAFETYRULE> P(10,1)|\n<READMICRODATA>\n'
    log = run(
        office,
        f"""{both}<SUPPRESS> OPT(1)
<WRITETABLE> (1, 2, AS-, "one.csv")
<WRITETABLE> (2, 2, AS-, "two.csv")
""",
    )
    assert "Tables 1, 2 share cells and were protected together" in log
    first = dict(line.rpartition(",")[::2] for line in (office / "one.csv").read_text().splitlines())
    for line in (office / "two.csv").read_text().splitlines()[1:]:
        code, _, value = line.rpartition(",")
        assert first[f'{code},"Total"'] == value


def test_what_was_written_stays_as_it_is(office: Path) -> None:
    first = START.replace("<SAFETYRULE> P(10,1)|\n", "")  # the same table without a rule: nothing is hidden
    both = f'{first}<SPECIFYTABLE> "Region""Size"|"Sales"||\n<SAFETYRULE> P(10,1)|\n<READMICRODATA>\n'
    text = f"""{both}<WRITETABLE> (1, 1, , "bare.csv")
<SUPPRESS> MOD(2,1,0,0,0)
<WRITETABLE> (2, 1, , "one.csv")
"""
    with pytest.raises((InfeasibleError, NotSafeError)):
        run(office, text)
    assert not (office / "one.csv").exists()


def test_an_unprotected_table_is_no_public_file(office: Path) -> None:
    (office / "open.csv").write_text("a result of an older run")
    with pytest.raises(NotSafeError, match="only the unsafe cells are hidden"):
        run(office, f'{READ}<WRITETABLE> (1, 1, , "open.csv")\n')
    assert not (office / "open.csv").exists()
    log = (office / "log.txt").read_text()
    assert "Error in batch file\n" in log and "job.arb, line 6" in log
    assert log.endswith("End of TauArgus run\n")
    log = run(office, f'{READ}<WRITETABLE> (1, 2, AS+, "open.csv")\n')
    assert "NOT SAFE: only the unsafe cells are hidden" in log and (office / "open.csv").exists()


def test_what_cannot_be_protected(office: Path) -> None:
    lines = [f"{region};{size};p\n" for region in ("n1", "n2", "s1", "s2") for size in "bc"]
    (office / "fix.hst").write_text("".join([*lines, "n1;Total;p\n"]))
    text = f'{READ}<APRIORI> "fix.hst", 1, ";", 0\n<SUPPRESS> OPT(1)\n<WRITETABLE> (1, 1, , "out.csv")\n'
    with pytest.raises(InfeasibleError):
        run(office, text)
    assert not (office / "out.csv").exists()
    assert "no pattern can protect" in (office / "log.txt").read_text()
    assert run_command(["argus", str(office / "job.arb"), str(office / "log.txt")]) == 3


def test_contributors_that_cannot_be_kept_off(
    office: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f'{READ}<SUPPRESS> GH(1)\n<WRITETABLE> (1, 1, , "a.csv")\n'
    log = run(office, text)
    assert "Safe against outsiders and every single contributor" in log and "WARNING" not in log

    def hopeless(problem: cv.Problem, *given: str, attackers: list[cv.Attacker], **further: object) -> object:
        if attackers:
            raise InfeasibleError(["(n1, a)"], attacker=attackers[0].words)
        return cv.suppress(problem, *given, **further)  # type: ignore[arg-type]

    monkeypatch.setattr(protecting, "suppress", hopeless)
    log = run(office, text).rpartition("Start of batch")[2]
    assert log.count("WARNING: in table 1 single contributors") == 2 and "Safe against outsiders: " in log
    assert "WARNING: in table 1" in log.splitlines()[-2] and (office / "a.csv").exists()
    capsys.readouterr()
    (office / "job.arb").write_text(f"<SILENT>\n{text}")
    assert run_command(["argus", str(office / "job.arb"), str(office / "log.txt")]) == 4
    assert "WARNING: in table 1 single contributors" in capsys.readouterr().err
    (office / "job.arb").write_text(text.replace("GH(1)", "GH(1,100,0,0)"))  # nobody asks for it
    assert run_command(["argus", str(office / "job.arb"), str(office / "log.txt")]) == 0


def test_nothing_is_written_where_outsiders_are_not_kept_off(
    office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless(problem: cv.Problem, *given: str, **further: object) -> object:
        raise InfeasibleError(["(n1, a)"])

    monkeypatch.setattr(protecting, "suppress", hopeless)
    with pytest.raises(InfeasibleError):
        run(office, f'{READ}<SUPPRESS> GH(1)\n<WRITETABLE> (1, 1, , "a.csv")\n')
    assert not (office / "a.csv").exists() and not (office / "job-internal").exists()


SIZES = """<SEPARATOR> ";"
Size 1
  <RECODEABLE>
  <DISTANCE> 1 3 9
Sales 6
  <NUMERIC>
"""


@pytest.mark.parametrize("power", [1, 0, 0.5])
def test_costs_by_distance(office: Path, power: float) -> None:
    """The neighbours in the order of the codes are cheapest to hide, also those of cells set by hand."""
    (office / "sizes.rda").write_text(SIZES)
    sizes = {"a": [50, 60, 70], "b": [90, 1, 1], "c": [500, 501, 502], "d": [2, 2, 2], "e": [3, 3, 3]}
    lines = [f"{size};{part}" for size, parts in sizes.items() for part in parts]
    (office / "sizes.csv").write_text("\n".join(lines) + "\n")
    (office / "set.hst").write_text("a,s\nd,u\ne,c,7\n")
    text = f"""<OPENMICRODATA> "sizes.csv"
<OPENMETADATA> "sizes.rda"
<SPECIFYTABLE> "Size"|"Sales"||-3|{power}
<SAFETYRULE> P(10,1)|
<READMICRODATA>
"""
    costs = {}
    for name, further in (("rule", ""), ("hand", '<APRIORI> set.hst, 1, ","\n')):
        log = run(office, f'{text}{further}<WRITETABLE> (1, 5, , "{name}.tab")\n')
        rows = [line.split(";") for line in (office / f"{name}.tab").read_text().splitlines()]
        costs[name] = {row[0].strip('" '): float(row[4]) for row in rows}
    told = {1: [1, 0, 1, 3, 9, 9], 0.5: [1, 0, 1, 3**0.5, 3, 3], 0: np.log1p([1, 0, 1, 3, 9, 9]).tolist()}
    assert "not known" not in log
    assert [costs["rule"][code] for code in [*"abcde", "Total"]] == pytest.approx(told[power])
    assert costs["hand"]["c"] == costs["rule"]["a"] and costs["hand"]["e"] == 7


def test_exit_codes(office: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = str(office / "log.txt")
    (office / "job.arb").write_text(f'{READ}<SUPPRESS> OPT(1)\n<WRITETABLE> (1, 1, , "a.csv")\n')
    assert run_command(["argus", str(office / "job.arb"), log, "-", str(office)]) == 0
    assert "a.csv" in capsys.readouterr().out
    (office / "job.arb").write_text(f'<SILENT>\n{READ}<WRITETABLE> (1, 1, , "b.csv")\n')
    assert run_command(["argus", str(office / "job.arb"), log]) == 1
    (office / "job.arb").write_text("<SUPPRESS> OPT(1)\n")
    assert run_command(["argus", str(office / "job.arb"), log]) == 2
    assert run_command(["argus", str(office / "none.arb"), log]) == 2
    assert run_command(["argus", str(office / "job.arb"), log, "-", str(office / "nowhere")]) == 2


def test_clear_begins_anew(office: Path) -> None:
    log = run(office, f"{READ}<CLEAR>\n{READ}<GOINTERACTIVE>\n")
    assert log.count("Tables from microdata have been read") == 2


def test_statuses_by_hand_survive_a_recoding(office: Path) -> None:
    (office / "set.hst").write_text("n1,a,s\nn2,b,u\nzz,a,u\n")
    (office / "size.grc").write_text("x : b, c\n")
    log = run(
        office,
        f"""{READ}<APRIORI> set.hst, 1, ","
<RECODE> 1, Size, "size.grc"
<RECODE> 1, Region, 1
""",
    )
    assert "S 1, U 1" in log and "1 cell set to safe that a rule calls unsafe" in log
    assert "Passed over: " in log and "a-priori lines no longer apply" in log
    assert "was recoded: 9 cells" in log


def test_ready_made_tables_with_statuses_and_rules(office: Path) -> None:
    (office / "t.rda").write_text(
        '<SEPARATOR> ";"\nR\n <RECODEABLE>\n <TOTCODE> "T"\nV\n <NUMERIC>\nN\n <FREQUENCY>\nS\n <STATUS>\n'
    )
    (office / "t.tab").write_text("T;40;11;S\na;10;2;S\nb;10;3;U\nc;10;3;S\nd;10;3;P\n")
    start = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "R"|"V"\n'
    tail = '<SUPPRESS> OPT(1)\n<WRITETABLE> (1, 3, AS+QU-, "t.csv")\n'
    run(office, f"{start}<READTABLE>\n{tail}")
    alone = dict(line.split(",")[::2] for line in (office / "t.csv").read_text().splitlines())
    assert (alone["b"], alone["d"], sorted([alone["a"], alone["c"]])) == ("9", "10", ["12", "2"])
    log = run(office, f"{start}<SAFETYRULE> FREQ(3,20)|\n<READTABLE> 1\n{tail}")
    ruled = dict(line.split(",")[::2] for line in (office / "t.csv").read_text().splitlines())
    assert (ruled["a"], ruled["b"], ruled["d"]) == ("5", "9", "10")
    assert "what is unsafe stays so" in log


@pytest.mark.parametrize("method", ["OPT(1)", "MOD(1)", "GH(1)"])
def test_a_table_that_does_not_add_up(office: Path, method: str) -> None:
    """READTABLE 2: rounded figures stay as they are, and hidden ones are protected all the same."""
    (office / "t.rda").write_text(
        '<SEPARATOR> ";"\nR\n <RECODEABLE>\n <TOTCODE> "T"\nQ\n <RECODEABLE>\n <TOTCODE> "T"\nV\n <NUMERIC>\n'
        "S\n <STATUS>\n"
    )
    values = {**{key[:2]: key[2] for key in TWO_WAY}, ("T", "T"): 101, ("a", "T"): 31, ("T", "q"): 58}
    lines = [f"{r};{q};{v};{'U' if (r, q) == ('a', 'p') else 'S'}" for (r, q), v in values.items()]
    (office / "t.tab").write_text("\n".join(lines) + "\n")
    start = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "R""Q"|"V"\n'
    tail = f'<SUPPRESS> {method}\n<WRITETABLE> (1, 3, QU-, "t.csv")\n'
    with pytest.raises(InputError, match="does not add up"):
        run(office, f"{start}<READTABLE>\n{tail}")
    log = run(office, f"{start}<READTABLE> 2\n{tail}")
    assert "does not add up: 3 sums differ" in log and "Safe against outsiders" in log
    rows = [line.split(",") for line in (office / "t.csv").read_text().splitlines()]
    shown = {(row[0], row[1]): row[2] for row in rows if row[0] in ("T", "a", "b")}
    assert shown["a", "p"] == "x" and sum(value == "x" for value in shown.values()) == 4
    assert all(value in ("x", str(values[key])) for key, value in shown.items())


def test_a_level_of_unknown_origin_holds_whole_in_linked_tables() -> None:
    size = cv.Dimension.of("size", cv.Hierarchy.flat("bcd"))
    table = cv.table_from_interior([size], {"size": list("bcd")}, [10, 20, 30])
    cell, origin = table.cell("b"), LevelOrigin(Fraction(11, 10))
    marked = np.arange(table.num_cells) == cell
    by_rule = cv.Problem.of(table, {cell: (1, 1)}).replace(origins={origin: marked})
    by_hand = cv.Problem.of(table, {cell: (5, 5)})
    joint, (places, _) = linked_problem([by_rule, by_hand])
    assert joint.upl[places[cell]] == 5 and not any(marks.any() for marks in joint.origins.values())
    joint, (places, _) = linked_problem([by_rule, by_rule])
    assert joint.origins[origin][places[cell]]


def test_recoded_tables_follow_from_others(office: Path) -> None:
    sizes = [cv.Dimension.of("size", cv.Hierarchy.flat(codes)) for codes in ("bcde", "xy")]
    fine = cv.table_from_interior(sizes[:1], {"size": list("bcde")}, [10, 20, 30, 40])
    coarse = cv.table_from_interior(sizes[1:], {"size": ["x", "y"]}, [30, 70])
    problems = [cv.Problem.of(fine, {1: (5, 5)}), cv.Problem.of(coarse, {})]
    tables = [fine, refined(coarse, "size", {"b": "x", "c": "x", "d": "y", "e": "y"})]
    joint, (first, second) = linked_problem(problems, tables)
    assert len(joint.table.relations) == 4
    hidden = np.isin(np.arange(joint.table.num_cells), [first[1], first[3]])  # b and d
    assert not cv.audit(joint, Pattern.hiding(joint, hidden, "by hand")).is_safe
    assert joint.table.cell_names(second) == ["(Total)", "(x)", "(y)"]
    same = refined(coarse, "size", {"b": "x", "x": "x", "d": "y", "e": "y"})  # x is one of its own parts
    assert same.cell_names(np.arange(3)) == ["(Total)", "(x+)", "(y)"]

    (office / "size.grc").write_text("x : b, c\n")
    both = START + '<SPECIFYTABLE> "Size"|"Sales"||\n<SAFETYRULE> P(10,1)|\n<READMICRODATA>\n'
    text = f"""{both}<RECODE> 2, Size, "size.grc"
<APRIORI> "set.hst", 1, ";"
<SUPPRESS> OPT(1)
<WRITETABLE> (1, 2, , "fine.csv")
<WRITETABLE> (2, 2, , "coarse.csv")
"""
    (office / "set.hst").write_text("Total;b;u\nTotal;c;c;1\n")
    log = run(office, text)
    assert "Tables 1, 2 share cells and were protected together" in log
    fine_cells = dict(line.rpartition(",")[::2] for line in (office / "fine.csv").read_text().splitlines())
    coarse_cells = dict(
        line.rpartition(",")[::2] for line in (office / "coarse.csv").read_text().splitlines()
    )
    assert fine_cells['"Total","b"'] == fine_cells['"Total","c"'] == "x" != coarse_cells['"x"']


def test_ready_made_tables_are_linked(office: Path) -> None:
    for name, code in (("r", "R"), ("q", "Q")):
        (office / f"{name}.rda").write_text(
            f'<SEPARATOR> ";"\n{code}\n <RECODEABLE>\n <TOTCODE> "T"\nS\n <RECODEABLE>\n <TOTCODE> "T"\n'
            "V\n <NUMERIC>\nX\n <STATUS>\n"
        )
        rows = [f"{one};{two};{value};S" for one, two, value in TWO_WAY]
        (office / f"{name}.tab").write_text("\n".join(rows) + "\n")
    text = (office / "r.tab").read_text()
    (office / "r.tab").write_text(text.replace("a;p;10;S", "a;p;10;U"))
    opens = "".join(
        f'<OPENTABLEDATA> "{name}.tab"\n<OPENMETADATA> "{name}.rda"\n<SPECIFYTABLE> "{code}""S"|"V"\n'
        for name, code in (("r", "R"), ("q", "Q"))
    )
    writes = "".join(f'<WRITETABLE> ({number}, 2, QU-, "{number}.csv")\n' for number in (1, 2))
    log = run(office, f"{opens}<READTABLE>\n<SUPPRESS> GH(0,75)\n{writes}")
    assert "Tables 1, 2 share cells and were protected together" in log
    first, second = ((office / f"{number}.csv").read_text().splitlines() for number in (1, 2))
    assert "a,p,x" in first
    margins = [[line for line in lines if line.startswith("T,")] for lines in (first, second)]
    assert margins[0] == margins[1]
    (office / "q.tab").write_text((office / "q.tab").read_text().replace("T;T;100", "T;T;101"))
    with pytest.raises(InputError):
        run(office, f"{opens}<READTABLE>\n<SUPPRESS> GH(0,75)\n{writes}")


def test_tables_without_suppress_are_judged_beside_each_other(office: Path) -> None:
    (office / "t.rda").write_text(
        '<SEPARATOR> ";"\nR\n <RECODEABLE>\n <TOTCODE> "T"\nS\n <RECODEABLE>\n <TOTCODE> "T"\n'
        "V\n <NUMERIC>\nX\n <STATUS>\n"
    )
    for name, inner in (("strict", "U"), ("lax", "S")):
        rows = [f"{one};{two};{value};{'S' if 'T' in (one, two) else inner}" for one, two, value in TWO_WAY]
        (office / f"{name}.tab").write_text("\n".join(rows) + "\n")
    opens = [
        f'<OPENTABLEDATA> "{name}.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "R""S"|"V"\n'
        for name in ("strict", "lax")
    ]
    writes = [f'<WRITETABLE> ({number}, 2, QU-, "{number}.csv")\n' for number in (1, 2)]
    run(office, f"{opens[0]}<READTABLE>\n{writes[0]}")
    assert "a,p,x" in (office / "1.csv").read_text()  # alone it is safe as it is
    with pytest.raises(NotSafeError):
        run(office, f"{''.join(opens)}<READTABLE>\n{''.join(writes)}")


def test_adjusted_tables_stand_alone(office: Path) -> None:
    run(office, f'{READ}<SUPPRESS> CTA(1)\n<WRITETABLE> (1, 3, , "cta.csv")\n')
    assert "x" not in (office / "cta.csv").read_text().replace("nx", "")
    both = START + '<SPECIFYTABLE> "Region"|"Sales"||\n<SAFETYRULE> P(10,1)|\n<READMICRODATA>\n'
    with pytest.raises(InputError, match="share cells, and one is to be adjusted"):
        run(
            office,
            f'{both}<SUPPRESS> CTA(1)\n<WRITETABLE> (1, 3, , "a.csv")\n<WRITETABLE> (2, 3, , "b.csv")\n',
        )


def test_no_result_overwrites_data(office: Path) -> None:
    before = (office / "firms.rda").read_text()
    with pytest.raises(InputError, match="would overwrite data"):
        run(office, f'{READ}<SUPPRESS> OPT(1)\n<WRITETABLE> (1, 5, , "firms.tab")\n')
    assert (office / "firms.rda").read_text() == before


# -- malformed -----------------------------------------------------------------------------------------------

MALFORMED = [
    ("OPENMICRODATA firms.csv\n", 1, "the line does not begin with a keyword"),
    ("<OPENMICRODATE> firms.csv\n", 1, "unknown keyword OPENMICRODATE"),
    ("<OPENMICRODATA>\n", 1, "the name of the file is missing"),
    ('<OPENMICRODATA> "firms.csv\n', 1, "a double quote is not closed"),
    ('<OPENMICRODATA> "none.csv"\n', 1, "the file none.csv is not found"),
    ('<OPENMETADATA> "firms.rda"\n', 1, "it is not possible at this place"),
    ("<READMICRODATA>\n", 1, "it is not possible at this place"),
    (f"{START}<READTABLE>\n", 5, "the data were opened as microdata"),
    (f"{START}<SAFETYRULE> P(10,1)\n", 5, "it is not possible at this place"),
    ("<JJ> a.jj\n", 1, "JJ is not done yet"),
    (START.replace('"Sales"', '"Sale"'), 3, "there is no variable 'Sale'"),
    (START.replace('"Sales"', ""), 3, "the response is missing"),
    (START.replace('"Region""Size"', '"Region""Region"'), 3, "spanning variables, each once"),
    (START.replace('"Region""Size"', '"Sales"'), 3, "does not span tables"),
    (START.replace('"Sales"||', '"Sales"||||||'), 3, "more than five parts"),
    (START.replace('"Sales"||', '"Sales"||-1|x'), 3, "lambda is not a number"),
    (START.replace("P(10,1)", "Q(10,1)"), 4, "unknown rule Q"),
    (START.replace("P(10,1)", "P(10,1"), 4, "a , is missing"),
    (START.replace("P(10,1)", "P(1,2,3,4)"), 4, "P has 4 parameters"),
    (START.replace("P(10,1)", "P(10,-1)"), 4, "a parameter of P is negative"),
    (START.replace("P(10,1)", "|".join(["P(1,1)"] * 5)), 4, "P is there 5 times"),
    (START.replace("P(10,1)", "MAN(0)"), 4, "MAN(0) would protect nothing"),
    (START.replace("P(10,1)", "WGT(2)"), 4, "WGT is not 0 or 1"),
    (START.replace("P(10,1)", "P(10,90)"), 4, "coalition of n = 90"),
    (f"{START}<SUPPRESS> OPT(1)\n", 5, "it is not possible at this place"),
    (f"{READ}<SUPPRESS> OPT(2)\n", 6, "there is no table 2"),
    (f"{READ}<SUPPRESS> ABC(1)\n", 6, "unknown method ABC"),
    (f"{READ}<SUPPRESS> OPT\n", 6, "a ( is missing"),
    (f"{READ}<SUPPRESS> OPT()\n", 6, "OPT has 0 parameters"),
    (f"{READ}<SUPPRESS> NET(0)\n", 6, "NET cannot take all tables together"),
    (f"{READ}<SUPPRESS> RND(1,5)\n", 6, "controlled rounding (RND) is not done yet"),
    (f"{READ}<SUPPRESS> CKM(1)\n", 6, "the cell key method (CKM) is not done yet"),
    (f"{READ}<SUPPRESS> MOD(1,5,2)\n", 6, "an option for singletons is not 0 or 1"),
    (f'{READ}<WRITETABLE> (1, 7, , "a.csv")\n', 6, "cell key method are not done yet"),
    (f'{READ}<WRITETABLE> (1, 9, , "a.csv")\n', 6, "there is no kind 9"),
    (f'{READ}<WRITETABLE> (1, 1, AB+, "a.csv")\n', 6, "unknown option 'AB'"),
    (f"{READ}<WRITETABLE> (1, 1, AS+)\n", 6, "the options, or a comma, is missing"),
    (f'{READ}<WRITETABLE> (3, 1, , "a.csv")\n', 6, "there is no table 3"),
    (f'{READ}<WRITETABLE> (1, 1, , "none/a.csv") x\n', 6, "the line goes on"),
    (f'{READ}<APRIORI> "none.hst", 1, ","\n', 6, "the file none.hst is not found"),
    (f'{READ}<APRIORI> "firms.csv", 4, ","\n', 6, "there is no table 4"),
    (f'{READ}<APRIORI> "firms.csv", 1, ",", 5\n', 6, "an option is not 0 or 1"),
    (f'{READ}<RECODE> 1, Sales, "a.grc"\n', 6, "does not span the table"),
    (f"{READ}<RECODE> 1, Region, 9\n", 6, "the hierarchy has no level 9"),
    (f"{READ}<SOLVER> GUROBI\n", 6, "unknown solver GUROBI"),
    (f"{READ}<CLEAR> all\n", 6, "the line goes on"),
    ("<LOGBOOK>\n", 1, "the name of the file is missing"),
    ("// nothing\n", None, "the file has no commands"),
]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_malformed(office: Path, text: str, line: int | None, message: str) -> None:
    with pytest.raises(InputError) as caught:
        run(office, text)
    told = str(caught.value)
    assert message in told and SECRET not in told
    assert caught.value.remedy and (line is None or f"job.arb, line {line}: " in told)
    log = (office / "log.txt").read_text()
    assert "Error in batch file\n" in log and message in log and SECRET not in log
