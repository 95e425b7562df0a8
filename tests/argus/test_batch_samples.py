"""Sample jobs of tau-ARGUS end to end: primaries of the genuine results, and no more secondaries."""

import csv
import gzip
import shutil
from pathlib import Path

import pytest

from cellveil.argus.batch.running_batch import run_batch
from cellveil.argus.cell_status import CellStatus
from helpers.instances import INSTANCES, needs_instances

pytestmark = needs_instances
SAMPLES = INSTANCES / "tauargus"


def folder_of(name: str, tmp_path: Path) -> Path:
    """A copy of a sample, unpacked."""
    folder = tmp_path / "job"
    shutil.copytree(SAMPLES / name, folder)
    folder.chmod(0o755)
    for packed in folder.glob("*.gz"):
        (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder


def rows_of(path: Path) -> list[tuple[str, str, str, int]]:
    lines = path.read_text().splitlines()
    return [(*codes, value, int(status)) for *codes, value, status in csv.reader(lines)]


def test_the_genuine_result(tmp_path: Path) -> None:
    folder = folder_of("testW", tmp_path)
    batch = folder / "Simple2D.arb"
    batch.write_text(
        """// the job of the genuine result: modular, with its options for singletons
<OPENMICRODATA> "E:\\W7\\data\\tau_testW.asc"
<OPENMETADATA> "E:\\W7\\data\\tau_testW.rda"
<SPECIFYTABLE> "Size""Region"|"Var2"||
<SAFETYRULE> P(15,1)|MAN(20)|
<READMICRODATA>
<SUPPRESS> MOD(1, 1, 1, 1, 1)
<WRITETABLE> (1, 3, AS+, "Simple2D.txt")
""",
        newline="\r\n",
    )
    log = tmp_path / "log.txt"
    run_batch(batch, log=log)
    ours, theirs = rows_of(folder / "Simple2D.txt"), rows_of(SAMPLES / "testW" / "expected" / "Simple2D.txt")
    assert [row[:3] for row in ours] == [row[:3] for row in theirs]
    unsafe = [row[3] == CellStatus.UNSAFE_RULE for row in ours]
    assert sum(unsafe) == 9 and unsafe == [row[3] == CellStatus.UNSAFE_RULE for row in theirs]
    secondaries = [sum(row[3] == CellStatus.SECONDARY for row in rows) for rows in (ours, theirs)]
    # the genuine result leaves records open that alone make up a cell: see test_sample_jobs.py
    assert secondaries == [13, 12]
    verdict = "Safe against outsiders and every single contributor (each record counts as one contributor)"
    assert verdict in log.read_text() and "exempt" not in log.read_text()
    assert (batch.parent / f"{batch.stem}-internal" / "Simple2D.txt.html").exists()


@pytest.mark.parametrize("number", [1, 2])
def test_the_small_jobs(tmp_path: Path, number: int) -> None:
    folder = folder_of(f"checkArgus_small/ex{number}", tmp_path)
    run_batch(folder / f"batch_ex{number}.arb", log=tmp_path / "log.txt")
    header, *lines = (folder / f"tabout_ex{number}.txt").read_text().splitlines()
    assert header.startswith('"region","gender",')
    statuses = [int(line.rpartition(",")[2]) for line in lines]
    assert sum(CellStatus(number).is_unsafe for number in statuses) == 1
    assert sum(CellStatus(number).letter == "M" for number in statuses) == 3
    log = (folder / f"arguslog_ex{number}.log").read_text()  # named in the batch file
    assert "Start of batch procedure" in log and "Number of suppressions: 3" in log
    assert log.endswith("End of TauArgus run\n")


def test_the_ready_made_table(tmp_path: Path) -> None:
    folder = folder_of("pp_table", tmp_path)
    run_batch(folder / "TestTable.arb", log=tmp_path / "log.txt")
    log = (tmp_path / "log.txt").read_text()
    assert "Size x Region | Var2 has 119 cells, 9 of them unsafe" in log
    assert "cannot be looked at or changed by hand" in log


def test_recodings(tmp_path: Path) -> None:
    folder = folder_of("testW", tmp_path)
    run_batch(folder / "TestRecode.arb", log=tmp_path / "log.txt")
    log = (tmp_path / "log.txt").read_text()
    assert "Size x Region | Var2 was recoded: 105 cells, 1 of them unsafe" in log
    assert "Tables from microdata have been read" in log
