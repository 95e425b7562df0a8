"""A-priori files change statuses, costs and levels as they say, line by line."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import cellveil as cv
from cellveil.argus.apriori import Action, AprioriFile, AprioriLine, apply_apriori, read_hst
from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.code_trees import CodeTree, IndentedCode
from cellveil.argus.metadata import ArgusVariable, DataKind, Metadata, VariableRole
from cellveil.argus.table_spec import TableSpec
from cellveil.errors import InputError
from cellveil.problem import Status

TREE = CodeTree.of_nodes(
    [IndentedCode(*line) for line in [(0, "N"), (1, "n1"), (1, "n2"), (0, "S"), (1, "s1")]]
)
SPANNING = frozenset({VariableRole.SPANNING})
METADATA = Metadata(
    DataKind.MICRODATA,
    (
        ArgusVariable("r", SPANNING, length=2, hierarchy_file="r.hrc"),
        ArgusVariable("v", frozenset({VariableRole.RESPONSE}), length=5),
    ),
    ";",
)
SPEC = TableSpec(("r",), "v")


@pytest.fixture
def table() -> ArgusTable:
    rows = {"r": ["n1", "n1", "n2", "n2", "n2", "s1"], "v": [90, 3, 40, 30, 30, 50]}
    made = cv.tabulate(pa.table(rows), [TREE.dimension("r")], "v")
    return ArgusTable.of(cv.make_problem(made, cv.PPercent(10)), METADATA, SPEC, {"r": TREE})


def act(table: ArgusTable, *lines: tuple[str, Action, tuple[str, ...]], **options):
    given = tuple(
        AprioriLine((code,), action, tuple(map(Decimal, ns)), i)
        for i, (code, action, ns) in enumerate(lines, 1)
    )
    return apply_apriori(table, AprioriFile(given, "a.hst"), **options)


def status(result, code: str) -> CellStatus:
    return CellStatus(int(result.table.numbers[result.table.find([code])]))


def test_the_rule_marks_what_is_changed(table):
    unsafe = {table.problem.table.cell_name(int(cell)) for cell in table.problem.primaries}
    assert unsafe == {"(n1)", "(S)"}  # one firm dominates, one stands alone


def test_unsafe_gets_the_level_of_cells_set_by_hand(table):
    result = act(table, ("n2", Action.UNSAFE, ()), safety_range=15)
    cell = table.find(["n2"])
    problem = result.table.problem
    assert status(result, "n2") is CellStatus.UNSAFE_MANUAL
    assert problem.status[cell] == Status.PRIMARY and problem.lpl[cell] == problem.upl[cell] == 15
    assert "manual" in problem.reasons and problem.reasons["manual"][cell]


def test_levels_after_unsafe(table):
    result = act(table, ("n2", Action.UNSAFE, ()), ("n2", Action.LEVELS, ("10.2", "200")))
    cell = table.find(["n2"])
    assert result.table.problem.lpl[cell] == 11 and result.table.problem.upl[cell] == 200
    assert result.counts[Action.UNSAFE] == result.counts[Action.LEVELS] == 1


def test_a_level_beyond_the_value_is_cut_at_0(table):
    result = act(table, ("n1", Action.LEVELS, ("500", "1")))
    cell = table.find(["n1"])
    assert result.table.problem.lpl[cell] == 93 and result.table.problem.upl[cell] == 1


def test_safe_by_hand_is_a_waiver_and_counted(table):
    result = act(table, ("n1", Action.SAFE, ()))
    cell = table.find(["n1"])
    problem = result.table.problem
    assert status(result, "n1") is CellStatus.SAFE_MANUAL and result.num_made_safe == 1
    assert problem.status[cell] == Status.SAFE and problem.waived is not None and problem.waived[cell]
    assert not any(cells[cell] for cells in problem.reasons.values())


def test_a_code_and_its_only_child_are_one_cell(table):
    """Trap 8: two names of one cell cannot get different statuses."""
    result = act(table, ("s1", Action.SAFE, ()))
    assert status(result, "S") is status(result, "s1") is CellStatus.SAFE_MANUAL


def test_protected_secondary_and_cost(table):
    result = act(
        table, ("n2", Action.COST, ("0",)), ("N", Action.PROTECT, ()), ("Total", Action.SECONDARY, ())
    )
    problem = result.table.problem
    assert problem.weight[table.find(["n2"])] == 1.0  # a cost of 0 means 1
    assert problem.status[table.find(["N"])] == Status.FROZEN
    assert problem.status[table.find([""])] == Status.SECONDARY
    assert status(result, "Total") is CellStatus.SECONDARY_MANUAL


def test_small_costs_stay_small(table):
    """Trap 16: costs are no whole numbers that collapse to 1."""
    result = act(table, ("n2", Action.COST, ("0.001",)))
    assert result.table.problem.weight[table.find(["n2"])] == 0.001


def test_wrong_lines_can_be_passed_over_and_are_listed(table):
    lines = [("n9", Action.UNSAFE, ()), ("n2", Action.LEVELS, ("1", "1")), ("n2", Action.UNSAFE, ())]
    result = act(table, *lines, ignore_errors=True)
    assert [error.line for error in result.faults] == [1, 2] and result.counts[Action.UNSAFE] == 1
    with pytest.raises(InputError, match=r"a\.hst, line 1: the code of 'r' is unknown"):
        act(table, *lines)


def test_lines_that_cannot_be_read_are_passed_over_too(table, tmp_path: Path):
    path = tmp_path / "a.hst"
    path.write_text("// by hand\n\nn2;u\nn2;what\n n1 ; PL ; 5,5 ; 6.5 \nN;W;3;\n")
    found = read_hst(path, 1, separator=";", ignore_errors=True)
    assert [line.action for line in found.lines] == [Action.UNSAFE, Action.LEVELS, Action.COST]
    assert found.lines[1].numbers == (Decimal("5.5"), Decimal("6.5")) and [e.line for e in found.faults] == [
        4
    ]
    result = apply_apriori(table, found, ignore_errors=True)
    assert len(result.faults) == 1 and sum(result.counts.values()) == 3


def test_empty_cells_do_nothing(table):
    tree = CodeTree.flat(["a", "b", "c"])
    made = cv.tabulate(pa.table({"r": ["a", "b"], "v": [1, 2]}), [tree.dimension("r")], "v")
    flat = ArgusTable.of(cv.make_problem(made, None), METADATA, SPEC, {"r": tree})
    result = act(flat, ("c", Action.UNSAFE, ()))
    assert result.num_empty == 1 and not len(result.table.problem.primaries)


def test_the_input_is_unchanged(table):
    before = table.problem.content_hash
    act(table, ("n2", Action.UNSAFE, ()))
    assert table.problem.content_hash == before


def test_levels_of_other_cells_keep_their_origin(table):
    result = act(table, ("n2", Action.UNSAFE, ()))
    cell = table.find(["n1"])
    assert any(cells[cell] for cells in result.table.problem.origins.values())
