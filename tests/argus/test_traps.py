"""Traps of files that other tools document or show in their code: each a test with its number."""

from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.intermediate import write_intermediate
from cellveil.argus.jj_result import whole_costs, write_jj_result
from cellveil.argus.metadata import DataKind
from cellveil.argus.rda import read_rda
from cellveil.argus.recoding import read_recoding
from cellveil.argus.records_file import RecordsFile, read_records
from cellveil.argus.tab import read_tab
from cellveil.argus.table_spec import TableSpec
from cellveil.argus.tabular_file import TabularFile
from cellveil.errors import InfeasibleError, InputError
from cellveil.problem import Status
from cellveil.tables.scaled import UNBOUNDED

RDA = """<SEPARATOR> ";"
R
  <RECODEABLE>
  <TOTCODE> "T"
  <HIERARCHICAL>
  <HIERCODELIST> "r.hrc"
  <HIERLEADSTRING> "@"
V
  <NUMERIC>
N
  <FREQUENCY>
S
  <STATUS>
L
  <NUMERIC> <LOWERPL>
U
  <NUMERIC> <UPPERPL>
"""
HRC = "a\n@a1\n@a2\nb\n@b1\n"

MICRO = """<SEPARATOR> ";"
R 2
  <RECODEABLE>
S 1
  <RECODEABLE>
V 6
  <NUMERIC>
W 4
  <WEIGHT>
"""


def cells(tmp_path: Path, text: str, rda: str = RDA) -> TabularFile:
    (tmp_path / "r.hrc").write_text(HRC)
    (tmp_path / "t.rda").write_text(rda)
    (tmp_path / "t.tab").write_text(text)
    return read_tab(tmp_path / "t.tab", read_rda(tmp_path / "t.rda", DataKind.TABLE))


def records(tmp_path: Path, text: str) -> RecordsFile:
    (tmp_path / "m.rda").write_text(MICRO)
    (tmp_path / "m.asc").write_text(text)
    return read_records(tmp_path / "m.asc", read_rda(tmp_path / "m.rda", DataKind.MICRODATA))


GOOD = "T;60;9;S;;\na;30;4;S;;\na1;10;2;U;2;2\na2;20;2;S;;\nb;30;5;S;;\nb1;30;5;S;;\n"


def test_trap_7_a_zero_is_no_help_whether_it_has_contributors_or_not(tmp_path):
    text = GOOD.replace("a2;20;2", "a2;0;3").replace("a;30;4", "a;10;5").replace("T;60;9", "T;40;10")
    problem = cells(tmp_path, text).read().problem
    assert problem.status[problem.table.cell("a2")] == Status.FROZEN
    empty = cells(tmp_path, text.replace("a2;0;3;S", "a2;0;0;E")).read()
    assert empty.find(["a2"]) == -1


def test_trap_8_two_names_of_one_cell_cannot_differ(tmp_path):
    table = cells(tmp_path, GOOD).read()
    assert table.find(["b"]) == table.find(["b1"])
    with pytest.raises(InputError, match=r"t\.tab, line 5, cell \(b\): contradictory status"):
        cells(tmp_path, GOOD.replace("b1;30;5;S", "b1;30;5;U")).read()


def test_trap_9_an_unsafe_total_of_protected_parts_is_named(tmp_path):
    text = GOOD.replace("a1;10;2;U;2;2", "a1;10;2;P;;").replace("a2;20;2;S", "a2;20;2;P")
    problem = cells(tmp_path, text.replace("a;30;4;S;;", "a;30;4;U;3;3")).read().problem
    with pytest.raises(InfeasibleError, match=r"\(a\)"):
        cv.suppress(problem)


def test_trap_10_a_table_that_was_written_is_accepted(tmp_path):
    """Weights give more decimals than were declared: none is dropped, so that the table still adds up."""
    found = records(tmp_path, "a1;1;33;1.1\na1;1;33;1.1\na2;1;5;2.7\nb1;2;1;0.3\n")
    spec = TableSpec(("R", "S"), "V")
    table = found.table(spec, weighted=True)
    assert table.decimals == 1 and table.floats()[0] == 86.4
    made = ArgusTable.of(cv.make_problem(table, cv.Threshold(2)), found.metadata, spec, found.trees)
    write_intermediate(made, tmp_path / "out.tab")
    again = read_tab(tmp_path / "out.tab", read_rda(tmp_path / "out.rda", DataKind.TABLE)).read()
    assert again.problem.table.floats().tolist() == table.floats().tolist()


def test_trap_10_computed_totals_keep_their_statuses(tmp_path):
    text = GOOD.replace("a;30;4;S;;", "a;31;4;U;3;3")  # does not add up
    with pytest.raises(InputError, match="does not add up"):
        cells(tmp_path, text).read()
    problem = cells(tmp_path, text).read(totals="compute").problem
    cell = problem.table.cell("a")
    assert problem.table.values[cell] == 30 and problem.status[cell] == Status.PRIMARY


def test_trap_10_decimals_are_exact(tmp_path):
    text = "T;0.3;2;S;;\na;0.3;2;S;;\na1;0.1;1;S;;\na2;0,2;1;S;;\n"
    assert cells(tmp_path, text).read().problem.table.values.tolist() == [3, 3, 1, 2]


def test_trap_11_levels_of_0_do_not_switch_protection_off(tmp_path):
    with pytest.raises(InputError, match="it is primary but its protection levels are all 0"):
        cells(tmp_path, GOOD.replace("U;2;2", "U;0;0")).read()
    problem = cells(tmp_path, GOOD.replace("U;2;2", "U;;")).read(safety_range=0).problem
    cell = problem.table.cell("a1")
    assert problem.lpl[cell] == problem.upl[cell] == 1  # one unit of the last digit at least


def test_trap_11_a_level_that_is_cut_is_noted(tmp_path):
    table = cells(tmp_path, GOOD.replace("U;2;2", "U;99;2")).read()
    assert table.problem.lpl[table.find(["a1"])] == 10
    assert table.notes == ("1 lower levels were cut: nobody takes the value for less than 0",)


def test_trap_12_no_hidden_bound_of_one_and_a_half_times_the_maximum(tmp_path):
    table = cells(tmp_path, GOOD).read()
    assert (table.problem.ub == UNBOUNDED).all()
    write_jj_result(table, tmp_path / "out.jj")
    filled = cv.read_instance(tmp_path / "out.jj")
    assert set(filled.ub[filled.table.values > 0].tolist()) == {UNBOUNDED}


def test_trap_13_thresholds_count_contributors_not_weights(tmp_path):
    found = records(tmp_path, "a1;1;10;9.0\na1;1;10;9.0\na2;1;5;1.0\n")
    table = found.table(TableSpec(("R", "S"), "V"), weighted=True)
    unsafe = cv.make_problem(table, cv.Threshold(3)).primaries
    assert table.cell("a1", "1") in unsafe and table.units is not None
    assert table.units.weighted_count is not None
    assert table.units.weighted_count[table.cell("a1", "1")] == 18.0


def test_trap_14_primaries_follow_from_the_contributors_after_recoding(tmp_path):
    found = records(tmp_path, "a1;1;90;1\na1;1;3;1\na2;1;0;1\na2;1;0;1\nb1;1;20;1\nb1;1;21;1\nb1;1;22;1\n")
    (tmp_path / "r.grc").write_text("a : a1, a2\n")
    spec = TableSpec(("R",), "V")
    rule = cv.PPercent(10) | cv.ZeroRule(5)
    fine = cv.make_problem(found.table(spec), rule)
    assert {fine.table.cell_name(int(c)) for c in fine.primaries} == {"(a1)", "(a2)"}
    coarse = cv.make_problem(found.table(spec, recodings={"r": read_recoding(tmp_path / "r.grc")}), rule)
    assert coarse.table.dimensions[0].codes == ("Total", " a", "b1")
    assert {coarse.table.cell_name(int(c)) for c in coarse.primaries} == {"( a)"}
    assert coarse.table.units is not None
    assert coarse.table.units.count[coarse.table.cell(" a")] == 4


def test_trap_16_small_costs_are_told_apart_in_whole_numbers():
    assert whole_costs(np.array([0.01, 0.02, 5.0])) == [1, 2, 500]
    assert whole_costs(np.array([1.0, 1e12])) == [1, 10**12]


def test_trap_17_negative_values_are_read(tmp_path):
    text = "T;-40;9;S;;\na;-10;4;S;;\na1;10;2;U;2;2\na2;-20;2;S;;\nb;-30;5;S;;\n"
    problem = cells(tmp_path, text).read().problem
    assert problem.table.values[problem.table.cell()] == -40 and (problem.lb == -UNBOUNDED).all()
    assert cv.suppress(problem).outcome in ("optimal", "safe")
    found = records(tmp_path, "a1;1;-90;1\na1;1;-80;1\na1;1;-70;1\n").table(TableSpec(("R",), "V"))
    assert len(cv.make_problem(found, cv.PPercent(10)).primaries) == 0  # not everything is unsafe
