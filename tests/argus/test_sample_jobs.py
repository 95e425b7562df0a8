"""The sample jobs: cells, primaries and files as tau-ARGUS itself made them."""

import csv
from pathlib import Path

import numpy as np
import pytest

import cellveil as cv
from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.cell_status import CellStatus
from cellveil.argus.code_labels import read_labels
from cellveil.argus.metadata import DataKind
from cellveil.argus.rda import read_rda
from cellveil.argus.recoding import Recoding, read_recoding
from cellveil.argus.records_file import RecordsFile, read_records
from cellveil.argus.result_files import ResultKind, ResultOptions, write_result
from cellveil.argus.tab import read_tab
from cellveil.argus.table_spec import TableSpec
from cellveil.errors import InputError
from cellveil.pattern import Pattern
from cellveil.problem import Status
from helpers.instances import INSTANCES, needs_instances

pytestmark = needs_instances
SAMPLES = INSTANCES / "tauargus"
SPEC = TableSpec(("Size", "Region"), "Var2")


@pytest.fixture(scope="module")
def records() -> RecordsFile:
    metadata = read_rda(SAMPLES / "testW" / "tau_testW.rda", DataKind.MICRODATA)
    return read_records(SAMPLES / "testW" / "tau_testW.asc.gz", metadata)


@pytest.fixture(scope="module")
def protected(records: RecordsFile) -> ArgusTable:
    problem = cv.make_problem(records.table(SPEC), cv.PPercent(15))
    return ArgusTable.of(problem, records.metadata, SPEC, records.trees)


def genuine() -> list[tuple[str, str, str, int]]:
    text = (SAMPLES / "testW" / "expected" / "Simple2D.txt").read_text()
    return [
        (size, region, value, int(status)) for size, region, value, status in csv.reader(text.splitlines())
    ]


def test_cells_are_those_of_the_genuine_result(protected: ArgusTable) -> None:
    table = protected.problem.table
    assert len(genuine()) == 9 * 18 == len(list(protected.rows()))
    for (codes, cell), (size, region, value, status) in zip(protected.rows(), genuine(), strict=True):
        assert [code.text for code in codes] == [size, region]
        assert (cell < 0) == (status == CellStatus.EMPTY)
        if cell >= 0:
            assert table.values[cell] == round(float(value) * 100)


def test_primaries_are_those_of_the_genuine_result(protected: ArgusTable) -> None:
    unsafe = [status == CellStatus.UNSAFE_RULE for *_, status in genuine()]
    ours = [cell >= 0 and protected.numbers[cell] == CellStatus.UNSAFE_RULE for _, cell in protected.rows()]
    assert sum(unsafe) == 9 and ours == unsafe


def genuine_pattern(protected: ArgusTable) -> Pattern:
    status = protected.problem.status.copy()
    for (_, cell), (*_, number) in zip(protected.rows(), genuine(), strict=True):
        if number == CellStatus.SECONDARY:
            status[cell] = Status.SECONDARY
    return Pattern(status, "genuine")


def test_the_result_file_is_written_as_it_was(protected: ArgusTable, tmp_path: Path) -> None:
    path = tmp_path / "result.txt"
    options = ResultOptions(status=True)
    write_result(protected, ResultKind.CODE_VALUE, path, pattern=genuine_pattern(protected), options=options)
    assert path.read_text() == (SAMPLES / "testW" / "expected" / "Simple2D.txt").read_text()


def test_no_more_secondaries_than_the_genuine_result(protected: ArgusTable) -> None:
    result = cv.suppress(protected.problem, attackers=[])
    assert cv.audit(protected.problem, result.pattern, attackers="outsider").is_safe
    assert (result.pattern.status == Status.SECONDARY).sum() <= 12


def test_records_that_the_genuine_result_leaves_open(protected: ArgusTable) -> None:
    """One firm works out the other's value; one more secondary prevents that."""
    genuine = genuine_pattern(protected)
    assert cv.audit(protected.problem, genuine, attackers="outsider").is_safe
    assert not cv.audit(protected.problem, genuine).is_safe
    result = cv.suppress(protected.problem)
    assert result.is_safe and (result.pattern.status == Status.SECONDARY).sum() == 13


def test_recodings_of_the_sample_work_out_primaries_anew(records: RecordsFile) -> None:
    flat = read_recoding(SAMPLES / "testW" / "GK.GRC")
    table = records.table(SPEC, recodings={"size": flat})
    assert table.dimensions[0].codes == ("Total", " 1", " 6", " 7", " 8", " 9", "99")
    region = Recoding.to_level(records.trees["Region"], 1)
    table = records.table(SPEC, recodings={"Size": flat, "Region": region})
    assert table.dimensions[1].codes == ("Total", "Nr", "Os", "Ws", "Zd", "99")
    whole = records.table(SPEC)
    assert table.values[table.cell(" 1", "Nr")] == sum(
        whole.values[whole.cell(size, "Nr")] for size in (" 2", " 4", " 5")
    )
    rule = cv.Dominance(2, 75)
    assert len(cv.make_problem(whole, rule).primaries) > 0 == len(cv.make_problem(table, rule).primaries)


def test_tree_recoding_of_the_sample(records: RecordsFile) -> None:
    tree = read_recoding(SAMPLES / "testW" / "IndCode2.grc")
    spec = TableSpec(("Region", "IndustryCode"), "Var2")
    table = records.table(spec, recodings={"IndustryCode": tree})
    codes = table.dimensions[1].codes
    assert "142" in codes and "14210" not in codes
    whole = records.table(spec)
    assert table.values[table.cell()] == whole.values[whole.cell()]
    assert table.values[table.cell("Nr", "142")] == whole.values[whole.cell("Nr", "142")]
    coarse, _ = tree.apply(records.trees["IndustryCode"], records.metadata.variable("IndustryCode"))
    assert set(records.trees["IndustryCode"].hierarchy.codes) - set(coarse.hierarchy.codes) == {
        *("1421", "14210", "15000", "15120")
    }


def test_weights_keep_the_table_additive(records: RecordsFile) -> None:
    table = records.table(SPEC, weighted=True)
    assert table.decimals == 3  # two of the values, one of the weights: nothing is rounded
    assert table.units is not None and table.units.weighted_count is not None


def test_requests_are_known(records: RecordsFile) -> None:
    table = records.table(SPEC)
    assert table.units is not None and table.units.requests is not None
    assert (table.units.requests.max(axis=0) >= 0).any()


def test_labels_of_the_sample() -> None:
    assert read_labels(SAMPLES / "testW" / "region.cdl")["10"] == "Zeeland"


def test_the_small_microdata_job() -> None:
    folder = SAMPLES / "checkArgus_small" / "ex2"
    metadata = read_rda(folder / "metadata_ex2.rda", DataKind.MICRODATA)
    records = read_records(folder / "microdata_ex2.asc", metadata)
    table = records.table(TableSpec(("region", "gender"), "num1"), depth=6)
    assert table.num_cells == 15 and table.decimals == 2
    rule = cv.Threshold(5) | cv.PPercent(20, coalition=5)
    problem = cv.make_problem(table, rule)
    argus = ArgusTable.of(problem, metadata, TableSpec(("region", "gender"), "num1"), records.trees)
    unsafe = {table.cell_name(int(cell)): int(argus.numbers[cell]) for cell in problem.primaries}
    assert unsafe["(A, female)"] == CellStatus.UNSAFE_RULE  # two records: too few, and one of them too large


def test_the_small_table_job() -> None:
    folder = SAMPLES / "checkArgus_small" / "ex1"
    metadata = read_rda(folder / "metadata_ex1.rda", DataKind.TABLE)
    table = read_tab(folder / "tabdata_ex1.tab", metadata).read()
    problem = table.problem
    assert problem.table.num_cells == 15
    assert [problem.table.cell_name(int(cell)) for cell in problem.primaries] == ["(A, female)"]
    assert problem.lpl.sum() == problem.upl.sum() == 1
    result = cv.suppress(problem)
    assert (result.pattern.status == Status.SECONDARY).sum() == 3


def test_the_table_with_contributions() -> None:
    folder = SAMPLES / "pp_table"
    metadata = read_rda(folder / "pp.rda", DataKind.TABLE)
    cells = read_tab(folder / "pp.tab", metadata)
    with pytest.raises(InputError, match=r"pp\.tab, line 6, cell \(Total, Os\): the table does not add up"):
        cells.read()
    table = cells.read(totals="compute")
    problem = table.problem
    assert len(problem.primaries) == 9 and problem.table.num_cells == 162 - 43
    assert problem.table.units is not None and problem.table.units.depth == 2
    cell = problem.table.cell(" 9", " 4")
    assert (problem.lpl[cell], problem.upl[cell]) == (128815, 128815)
    assert np.array_equal(problem.table.units.top[problem.table.cell()], [17567700, 14148200])
