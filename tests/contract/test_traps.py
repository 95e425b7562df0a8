"""Traps of protection that other tools document, each a test with its number; those of files: `argus`.

Every test has the trap itself as a control: the pattern that falls into it is found open by the test's own
programs. Intervals are computed here, from the relations of the table alone.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import cellveil as cv
from cellveil.argus.batch.running_batch import run_batch
from cellveil.arrays import Bool
from cellveil.cli.app import run_command
from cellveil.problem import Problem, Status
from helpers.insider_judge import Contributed, broken


def movement(problem: Problem, hidden: Bool, cell: int, *, least: int = 0) -> tuple[float, float]:
    """How far a cell can fall and rise for somebody who sees the rest, and knows what is hidden ≥ least."""
    if not hidden[cell]:
        return 0.0, 0.0
    cells = np.flatnonzero(hidden)
    matrix = problem.table.relations.matrix.tocsc()[:, cells].toarray()
    room = [(least - int(problem.table.values[one]), None) for one in cells]
    ends = []
    for sign in (1.0, -1.0):
        found = linprog(
            np.where(cells == cell, sign, 0.0), A_eq=matrix, b_eq=np.zeros(len(matrix)), bounds=room
        )
        ends.append(np.inf if found.status == 3 else abs(found.fun))
    return ends[0], ends[1]


def whole_values(problem: Problem, hidden: Bool, cell: int, *, least: int) -> tuple[int, int]:
    """The least and the largest whole value that a cell can have, where all that is hidden is ≥ least."""
    cells = np.flatnonzero(hidden)
    matrix = problem.table.relations.matrix.tocsc()[:, cells].toarray()
    room = Bounds(least - problem.table.values[cells], np.full(len(cells), 1000))
    ends = []
    for sign in (1.0, -1.0):
        cost = np.where(cells == cell, sign, 0.0)
        found = milp(cost, constraints=LinearConstraint(matrix, 0, 0), bounds=room, integrality=1)
        ends.append(int(problem.table.values[cell]) + round(sign * found.fun))
    return ends[0], ends[1]


def hiding(problem: Problem, *cells: tuple[str, ...]) -> Bool:
    """The primary cells and further ones."""
    hidden = problem.hidden_at_start.copy()
    hidden[[problem.table.cell(*codes) for codes in cells]] = True
    return hidden


def is_protected(problem: Problem, hidden: Bool) -> bool:
    """Whether every primary cell can move by its levels."""
    ends = [movement(problem, hidden, int(cell)) for cell in problem.primaries]
    asked = [(problem.lpl[cell], problem.upl[cell]) for cell in problem.primaries]
    return all(
        end[0] >= low - 1e-6 and end[1] >= up - 1e-6 for end, (low, up) in zip(ends, asked, strict=True)
    )


def flat(values: dict[str, int]) -> cv.Table:
    size = cv.Dimension.of("size", cv.Hierarchy.flat(list(values)))
    return cv.table_from_interior([size], {"size": list(values)}, list(values.values()))


def run_job(folder: Path, text: str, **files: str) -> cv.JobResult:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)
    (folder / "job.toml").write_text(text)
    return cv.run_job(cv.read_job(folder / "job.toml"))


def shown(result: cv.JobResult) -> dict[tuple[str, ...], str]:
    """The public table: what stands in each cell."""
    assert result.release is not None
    header, *lines = (result.release.folder / "table.csv").read_text(encoding="utf-8-sig").splitlines()
    place = header.split(",").index("value")
    return {tuple(line.split(",")[:place]): line.split(",")[place] for line in lines}


# -- 1 and 2: methods of other tools -------------------------------------------------------------------------

TREE_RDA = """<SEPARATOR> ";"
R
  <RECODEABLE>
  <TOTCODE> "T"
  <HIERARCHICAL>
  <HIERCODELIST> "r.hrc"
  <HIERLEADSTRING> "@"
V
  <NUMERIC>
C
  <NUMERIC> <COST>
S
  <STATUS>
L
  <NUMERIC> <LOWERPL>
U
  <NUMERIC> <UPPERPL>
"""
START = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "R"|"V"\n<READTABLE>\n'


def carried() -> Problem:
    """A secondary total carried into another subtable with 1 % of its value as its demand would do there."""
    tree = cv.Hierarchy.from_dict({"T": {"N": ["n1", "n2"], "S": []}})
    table = cv.read_table(
        pa.table({"r": ["n1", "n2", "S"], "value": [100, 500, 10]}),
        {"r": cv.Dimension.of("r", tree)},
        totals="none",
    )
    weight = {"T": 900, "N": 1, "n1": 100, "n2": 500, "S": 1}
    problem = cv.Problem.of(table, {table.cell("n1"): (20, 20)})
    return problem.replace(weight=np.array([weight[table.key(c)[0]] for c in range(table.num_cells)], float))


@pytest.mark.parametrize("method", ["modular", "auto"])
def test_trap_1_what_subtables_protect_is_judged_over_the_whole_table(method: str) -> None:
    problem = carried()
    trap = hiding(problem, ("N",), ("S",))
    assert movement(problem, trap, problem.table.cell("N"))[1] >= 6  # more than 1 % of N, in its subtable
    assert movement(problem, trap, problem.table.cell("n1"))[1] == 10  # of the 20 that it needs
    assert not cv.audit(problem, cv.Pattern.hiding(problem, trap, "subtables")).is_safe
    found = cv.suppress(problem, method)
    assert found.is_safe and is_protected(problem, found.pattern.hidden)


def test_trap_1_in_a_batch(tmp_path: Path) -> None:
    problem = carried()
    (tmp_path / "r.hrc").write_text("N\n@n1\n@n2\nS\n")
    (tmp_path / "t.rda").write_text(TREE_RDA)
    (tmp_path / "t.tab").write_text(
        "T;610;900;S;;\nN;600;1;S;;\nn1;100;100;U;20;20\nn2;500;500;S;;\nS;10;1;S;;\n"
    )
    (tmp_path / "job.arb").write_text(f'{START}<SUPPRESS> MOD(1)\n<WRITETABLE> (1, 3, QU-, "out.csv")\n')
    run_batch(tmp_path / "job.arb", log=tmp_path / "log.txt")
    lines = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    codes = {line[0].strip() for line in lines if line[-1] == "x"}
    hidden = np.array([problem.table.key(cell)[0] in codes for cell in range(problem.table.num_cells)])
    assert is_protected(problem, hidden)


def test_trap_2_hypercubes_keep_the_levels() -> None:
    interior = [[100, 5, 50, 90], [5, 5, 400, 8], [60, 300, 40, 300], [80, 9, 300, 70]]
    problem = cv.two_way(interior, {(0, 0): 60})
    cheapest = hiding(problem, ("r0", "c1"), ("r1", "c0"), ("r1", "c1"))
    assert not is_protected(problem, cheapest)  # the cheapest cube has too little room
    found = cv.suppress(problem, "hypercube")
    assert found.is_safe and is_protected(problem, found.pattern.hidden)
    assert (found.pattern.status[problem.primaries] == Status.PRIMARY).all()


def test_trap_2_hypercubes_open_no_frozen_cell(tmp_path: Path) -> None:
    (tmp_path / "r.hrc").write_text("a\nb\nc\n")
    (tmp_path / "t.rda").write_text(TREE_RDA)
    (tmp_path / "t.tab").write_text("T;60;60;P;;\na;10;10;U;2;2\nb;20;20;P;;\nc;30;30;P;;\n")
    text = f'{START}<SUPPRESS> GH(1)\n<WRITETABLE> (1, 3, QU-, "out.csv")\n'
    (tmp_path / "job.arb").write_text(text)
    batch = ["argus", str(tmp_path / "job.arb"), str(tmp_path / "log.txt")]
    assert run_command(batch) == 3
    assert not (tmp_path / "out.csv").exists()
    assert "no pattern can protect" in (tmp_path / "log.txt").read_text()
    (tmp_path / "t.tab").write_text((tmp_path / "t.tab").read_text().replace("c;30;30;P", "c;30;30;S"))
    assert run_command(batch) == 0
    rows = dict(line.rsplit(",", 1) for line in (tmp_path / "out.csv").read_text().splitlines())
    assert {code.strip() for code, value in rows.items() if value == "x"} == {"a", "c"}


# -- 3: linked tables ----------------------------------------------------------------------------------------

DISTRICTS = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
COUNTIES = {"county-1": list("ABIJ"), "county-2": list("KLMN")}
GROUPS = {"BIG": list("LM"), "small": list("ABIJKN")}


def by(groups: dict[str, list[str]]) -> cv.Table:
    frame = pa.table({"region": list(DISTRICTS), "value": list(DISTRICTS.values())})
    tree = cv.Hierarchy.from_dict({"Total": groups})
    return cv.read_table(frame, {"region": cv.Dimension.of("region", tree)}, totals="none")


def test_trap_3_linked_tables_are_protected_as_one() -> None:
    """Each table hides all counts up to 3 and is safe; the difference of county-2 and BIG is K."""
    rule = cv.Threshold(3, inclusive=True, of="value")
    apart = [cv.make_problem(table, rule) for table in (by(COUNTIES), by(GROUPS))]
    for problem in apart:
        assert cv.audit(problem, cv.Pattern.hiding(problem, problem.hidden_at_start, "apart")).is_safe
    joint = cv.make_problem(cv.link([problem.table for problem in apart]), rule)
    k = joint.table.cell("K")
    assert movement(joint, joint.hidden_at_start, k) == (0, 0)
    assert not cv.audit(joint, cv.Pattern.hiding(joint, joint.hidden_at_start, "iterated")).is_safe
    found = cv.suppress(joint)
    assert found.is_safe and is_protected(joint, found.pattern.hidden)


@pytest.mark.parametrize("lines", ["<SUPPRESS> OPT(0)", "<SUPPRESS> OPT(1)\n<SUPPRESS> OPT(2)"])
def test_trap_3_in_a_batch(tmp_path: Path, lines: str) -> None:
    text = ""
    for number, groups in enumerate((COUNTIES, GROUPS), 1):
        sums = {"Total": 36} | {name: sum(map(DISTRICTS.__getitem__, own)) for name, own in groups.items()}
        tree = [line for name, own in groups.items() for line in (name, *(f"@{code}" for code in own))]
        (tmp_path / f"r{number}.hrc").write_text("\n".join(tree) + "\n")
        rda = TREE_RDA.replace("r.hrc", f"r{number}.hrc").replace('"T"', '"Total"')
        (tmp_path / f"t{number}.rda").write_text(rda)
        cells = [
            f"{code};{value};{value};{'U' if value <= 3 else 'S'};;"
            for code, value in (sums | DISTRICTS).items()
        ]
        (tmp_path / f"t{number}.tab").write_text("\n".join(cells) + "\n")
        text += f'<OPENTABLEDATA> "t{number}.tab"\n<OPENMETADATA> "t{number}.rda"\n<SPECIFYTABLE> "R"|"V"\n'
    text += f"<READTABLE>\n{lines}\n"
    text += "".join(f'<WRITETABLE> ({number}, 3, QU-, "out{number}.csv")\n' for number in (1, 2))
    (tmp_path / "job.arb").write_text(text)
    run_batch(tmp_path / "job.arb", log=tmp_path / "log.txt")
    codes: set[str] = set()
    for number in (1, 2):
        rows = dict(line.rsplit(",", 1) for line in (tmp_path / f"out{number}.csv").read_text().splitlines())
        codes |= {code.strip() for code, value in rows.items() if value == "x"}
    joint = cv.make_problem(cv.link([by(COUNTIES), by(GROUPS)]), cv.Threshold(3, inclusive=True, of="value"))
    hidden = np.array([joint.table.key(cell)[0] in codes for cell in range(joint.table.num_cells)])
    assert all(movement(joint, hidden, int(cell))[1] >= 1 for cell in joint.primaries)
    assert "share cells and were protected together" in (tmp_path / "log.txt").read_text()


# -- 4 to 6: intervals, singletons, zeros and ones -----------------------------------------------------------

READY_MADE = '[[tables]]\ndimensions = ["size"]\nfile = "table.csv"\n[suppress]\nmethod = "optimal"\n'


def test_trap_4_intervals_are_protected_not_only_values(tmp_path: Path) -> None:
    """Hiding the 1 beside the 100 leaves no linear dependence: but it tells that 100 is 101 at most."""
    result = run_job(tmp_path, READY_MADE, table="size,value,status\na,100,u\nb,1,s\nc,500,s\nd,40,s\n")
    problem = result.problem
    trap = hiding(problem, ("b",))
    low, up = movement(problem, trap, problem.table.cell("a"))
    assert low > 0 and up == 1  # not known to the last digit, and known to within 1 %
    assert not cv.audit(problem, cv.Pattern.hiding(problem, trap, "independent")).is_safe
    assert problem.upl[problem.table.cell("a")] == 20
    assert result.is_safe and is_protected(problem, result.suppression.pattern.hidden)
    assert shown(result)["a",] == "x"


FIRMS = [
    *(("Ann", "North", "food", 200), ("Bob", "North", "wood", 300), ("Cat", "North", "toys", 150)),
    *(("Dan", "South", "food", 400), ("s1", "South", "food", 9), ("s2", "South", "food", 8)),
    *(("Dan", "South", "wood", 300), ("s1", "South", "wood", 7), ("s3", "South", "wood", 6)),
    *(("s4", "South", "toys", 90), ("s5", "South", "toys", 80), ("s6", "South", "toys", 70)),
    *(("w1", "West", "food", 120), ("w2", "West", "food", 110), ("w3", "West", "food", 100)),
    *(("w4", "West", "wood", 130), ("w5", "West", "wood", 125), ("w6", "West", "wood", 115)),
    *(("w7", "West", "toys", 140), ("w8", "West", "toys", 135), ("w9", "West", "toys", 105)),
]
"""A row of three single contributors, and one firm that leads two cells of another row."""

OF_FIRMS = """{top}
[microdata]
file = "firms.csv"
contributor = "firm"
[[tables]]
dimensions = ["region", "branch"]
response = "sales"
[[rules]]
{rule}
{tail}
"""
P_PERCENT = 'rule = "p%"\np = 15'


def firms() -> str:
    return "\n".join(["firm,region,branch,sales", *(",".join(map(str, firm)) for firm in FIRMS)]) + "\n"


def test_trap_5_single_contributors_in_rows_of_any_length_and_in_several_cells(tmp_path: Path) -> None:
    trees = [{"Total": ["North", "South", "West"]}, {"Total": ["food", "wood", "toys"]}]
    records = [(firm, (region, branch), sales) for firm, region, branch, sales in FIRMS]
    known = Contributed(trees, records, 15)
    attacks = list(known.attacks(known.groups(1), known.primaries))

    def open_cells(top: str) -> list[object]:
        text = OF_FIRMS.format(top=top, rule=P_PERCENT, tail="")
        table = shown(run_job(tmp_path, text, firms=firms()))
        return list(broken(known, [key for key, value in table.items() if value == "x"], attacks))

    assert open_cells("attackers = []")  # outsiders alone are kept off: some firm works out another one
    assert not open_cells("")


COUNTS = (
    '[[tables]]\ndimensions = ["size"]\nfile = "table.csv"\n[[rules]]\nrule = "threshold"\nof = "value"\n'
)


def test_trap_6_a_hidden_zero_can_be_more(tmp_path: Path) -> None:
    """15 = 10 + 5 + x + x: nothing is left for the two cells that hide their zeros."""
    result = run_job(tmp_path, f"{COUNTS}zeros = true\n", table="size,value\na,10\nb,5\nc,0\nd,0\n")
    problem = result.problem
    for code in ("c", "d"):
        cell = problem.table.cell(code)
        assert movement(problem, hiding(problem), cell) == (0, 0)
        assert whole_values(problem, result.suppression.pattern.hidden, cell, least=0)[1] >= 1


def test_trap_6_a_published_zero_tells_its_parts(tmp_path: Path) -> None:
    """0 = x + x + 0."""
    table = "region,size,value\n" + "".join(
        f"{region},{size},{0 if region == 'N' else 9}\n" for region, size in product("NSW", "abc")
    )
    text = COUNTS.replace('["size"]', '["region", "size"]') + "zeros = true\n"
    result = run_job(tmp_path, text, table=table)
    problem, hidden = result.problem, result.suppression.pattern.hidden
    for code in "abc":
        assert whole_values(problem, hidden, problem.table.cell("N", code), least=0)[1] >= 1


@pytest.mark.parametrize("attackers", ["", '[[attackers]]\nkind = "integer"\n'])
def test_trap_6_a_hidden_one_can_be_more_where_zeros_are_published(tmp_path: Path, attackers: str) -> None:
    """15 = 10 + 3 + x + x: as zeros are published, both are 1."""
    result = run_job(tmp_path, COUNTS + attackers, table="size,value\na,10\nb,3\nc,1\nd,1\n")
    problem = result.problem
    for code in ("c", "d"):
        cell = problem.table.cell(code)
        assert whole_values(problem, hiding(problem), cell, least=1) == (1, 1)
        assert whole_values(problem, result.suppression.pattern.hidden, cell, least=1)[1] >= 2


# -- 15: clocks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "modular", "hypercube"])
def test_trap_15_patterns_depend_on_the_seed_alone(method: str) -> None:
    problem = cv.random_table((6, 5), hierarchical=[0], contributors=3, seed=3)
    found = [cv.suppress(problem, method, seed=4, workers=workers).pattern.hidden for workers in (1, 1, 2)]
    assert (found[0] == found[1]).all() and (found[0] == found[2]).all()


def test_trap_15_a_pattern_cut_short_by_the_clock_says_so(tmp_path: Path) -> None:
    problem = cv.random_table((8, 7), hierarchical=[0], contributors=3, seed=3)
    found = cv.suppress(problem, time_limit=1e-9)
    assert found.outcome != "optimal" and "time" in found.reason
    assert "time" not in cv.suppress(carried()).reason
    job = OF_FIRMS.format(
        top="attackers = []", rule=P_PERCENT, tail='[suppress]\nmethod = "optimal"\ntime_limit = 1e-9'
    )
    result = run_job(tmp_path, job, firms=firms())
    assert "time" in result.suppression.reason and result.suppression.reason in result.report.to_html()


# -- 18: sums of what is hidden ------------------------------------------------------------------------------

SUMS = {
    ("North", "food"): {"A": 100, "B": 5, "C": 4},
    ("North", "wood"): {"A": 80, "B": 5, "D": 4},
    ("North", "toys"): {"E": 50, "F": 50, "G": 50},
    ("South", "food"): {"E": 60, "F": 50, "G": 40},
    ("South", "wood"): {"E": 60, "F": 50, "G": 40},
    ("South", "toys"): {"E": 50, "F": 50, "G": 50},
}


def total_is_open(problem: Problem, hidden: Bool, firm: str, p: float) -> bool:
    """Whether all parts of a firm may be larger by p at once, whoever else takes its own parts off."""
    finest = [(key, problem.table.cell(*key)) for key in SUMS]
    cells = np.flatnonzero(hidden)
    matrix = problem.table.relations.matrix.tocsc()[:, cells].toarray()
    for attacker in {who for parts in SUMS.values() for who in parts} - {firm}:
        room: list[tuple[float | None, float | None]] = [(None, None)] * len(cells)
        for key, cell in finest:
            if hidden[cell]:
                parts = SUMS[key]
                mine = parts.get(firm, 0)
                rest = sum(parts.values()) - mine - parts.get(attacker, 0)
                room[int(np.searchsorted(cells, cell))] = (p * mine - rest, p * mine + rest)
        zeros = np.zeros(len(matrix))
        if linprog(np.zeros(len(cells)), A_eq=matrix, b_eq=zeros, bounds=room).status != 0:
            return False
    return True


def test_trap_18_the_union_of_hidden_cells_is_not_dominated_by_one_contributor(tmp_path: Path) -> None:
    """A leads two hidden cells of the North, whose sum follows from the row."""
    lines = [f"{who},{r},{b},{part}" for (r, b), parts in SUMS.items() for who, part in parts.items()]
    text = "\n".join(["firm,region,branch,sales", *lines]) + "\n"
    rule = 'rule = "pq"\np = 10\nq = 100'
    tail = '[[attackers]]\nkind = "pq"\np = 10\nq = 100'
    result = run_job(tmp_path, OF_FIRMS.format(top="", rule=rule, tail=tail), firms=text)
    problem = result.problem
    trap = hiding(problem, ("South", "food"), ("South", "wood"))
    assert is_protected(problem, trap) and not total_is_open(problem, trap, "A", 0.1)
    assert not cv.audit_insiders(problem, cv.Pattern.hiding(problem, trap, "trap"), "pq", p=10, q=100).is_safe
    assert result.is_safe and total_is_open(problem, result.suppression.pattern.hidden, "A", 0.1)


# -- 19 to 21: dropped records, adjustment, rounding ---------------------------------------------------------


def test_trap_19_records_of_hidden_cells_stay_in_all_totals(tmp_path: Path) -> None:
    text = OF_FIRMS.format(top="attackers = []", rule=P_PERCENT, tail="")
    table = shown(run_job(tmp_path, text, firms=firms()))
    assert sum(value == "x" for value in table.values()) > 4
    for (region, branch), value in table.items():
        records = [sales for _, r, b, sales in FIRMS if region in (r, "Total") and branch in (b, "Total")]
        assert value in ("x", str(sum(records)))
    (tmp_path / "other").mkdir()
    other = text.replace('["region", "branch"]', '["branch"]')
    again = shown(run_job(tmp_path / "other", other, firms=firms()))
    for branch in ("Total", "food", "wood", "toys"):
        assert again[branch,] in (table["Total", branch], "x") or table["Total", branch] == "x"
    assert again["Total",] == table["Total", "Total"] == str(sum(firm[-1] for firm in FIRMS))


def test_trap_20_adjusted_tables_are_audited() -> None:
    problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3, (1, 2): 4})
    found = cv.adjust(problem)
    moved = found.values - problem.table.values
    cells = problem.primaries
    assert ((moved[cells] >= problem.upl[cells]) | (moved[cells] <= -problem.lpl[cells])).all()
    assert not (problem.table.relations.matrix @ moved).any()  # it adds up
    assert found.audit.is_safe and found.audit.adjusted is not None
    near = problem.table.values + np.sign(moved)  # inside the levels
    assert not cv.audit_adjusted(problem, near).is_safe
    told = cv.two_way([[3, 50, 10], [40, 19, 22], [17, 32, 12]], primaries={(0, 0): (3, 30)})
    empty = cv.adjust(told)
    assert empty.values[told.primaries].tolist() == [0]
    assert cv.audit_adjusted(told, empty.values).num_known == 1  # everybody knows that a 0 has fallen


@pytest.mark.parametrize("line", ["RND(1, 3)", "RND(1,5,0,10,1,1)", 'CKM(1) "p.txt"'])
def test_trap_21_rounding_is_not_offered(tmp_path: Path, line: str) -> None:
    (tmp_path / "r.hrc").write_text("a\nb\n")
    (tmp_path / "t.rda").write_text(TREE_RDA)
    (tmp_path / "t.tab").write_text("T;30;30;S;;\na;10;10;U;2;2\nb;20;20;S;;\n")
    (tmp_path / "job.arb").write_text(f'{START}<SUPPRESS> {line}\n<WRITETABLE> (1, 3, , "out.csv")\n')
    assert run_command(["argus", str(tmp_path / "job.arb"), str(tmp_path / "log.txt")]) == 2
    log = (tmp_path / "log.txt").read_text()
    assert "job.arb, line 5" in log and "is not done yet" in log
    assert not (tmp_path / "out.csv").exists()
    with pytest.raises(cv.InputError, match="unknown method 'rounding'"):
        cv.suppress(carried(), "rounding")
