"""One tau-ARGUS batch on one table, through its executable: `python -m experiments.comparison.argus_run`.

The table goes in as cells with statuses, levels and costs (``.tab``, ``.rda``, ``.hrc``), the pattern comes
out as code-value with status. The options for singletons are off: the comparison is about outsiders.
"""

from __future__ import annotations

import csv
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.comparison.assignment import PATTERN, Assignment, RunFigures

if TYPE_CHECKING:
    from cellveil.argus.argus_table import ArgusTable
    from cellveil.problem import Problem

SUPPRESS = {
    "MOD": "MOD(1,{minutes},0,0,0)",
    "OPT": "OPT(1,{minutes})",
    "GH": "GH(1,100,0,0)",
    "NET": "NET(1)",
}
"""Lines of batch files by method; minutes are whole."""

TABLE, RESULT, BATCH, LOG = "table.tab", "result.txt", "job.arb", "log.txt"


def batch(table: ArgusTable, method: str, limit: float) -> str:
    """The batch file."""
    spanning = "".join(f'"{variable.name}"' for variable in table.variables)
    suppress = SUPPRESS[method].format(minutes=max(math.ceil(limit / 60), 1))
    lines = [
        f'<OPENTABLEDATA> "{TABLE}"',
        f'<OPENMETADATA> "{Path(TABLE).with_suffix(".rda")}"',
        f'<SPECIFYTABLE> {spanning}|"{table.response}"||"{table.response}_Cost"',
        "<READTABLE>",
        f"<SUPPRESS> {suppress}",
        f'<WRITETABLE> (1,3,AS+QU+,"{RESULT}")',
    ]
    return "".join(f"{line}\n" for line in lines)


def run(assignment: Assignment, method: str, program: str) -> RunFigures:
    """Write the table, run the batch, read the statuses."""
    from cellveil.argus.argus_table import ArgusTable
    from cellveil.argus.result_files import ResultKind, write_result
    from cellveil.errors import CellveilError
    from cellveil.formats.instance import read_instance

    folder = assignment.folder
    problem = read_instance(assignment.instance)
    try:
        table = ArgusTable.of_problem(problem)
    except CellveilError as error:
        return RunFigures(refused=str(error))
    notes = write_result(table, ResultKind.INTERMEDIATE, folder / TABLE)
    if problem.spl.any():
        return RunFigures(refused="; ".join(notes))
    (folder / BATCH).write_text(batch(table, method, assignment.limit), "utf-8")
    began, cpu = time.monotonic(), _cpu_of_children()
    done = subprocess.run([program, BATCH, LOG, str(folder)], cwd=folder, check=False)
    seconds = _cpu_of_children() - cpu if assignment.counts_cpu else time.monotonic() - began
    if done.returncode or not (folder / RESULT).is_file():
        log = folder / LOG
        tail = log.read_text("utf-8", "replace")[-500:] if log.is_file() else "no log"
        raise SystemExit(f"exit code {done.returncode}; {' '.join(tail.split())}")
    _write_pattern(problem, folder)
    return RunFigures(seconds=seconds)


def _write_pattern(problem: Problem, folder: Path) -> None:
    """From status numbers to letters; cells that the table does not store are left out."""
    from cellveil.argus.cell_status import CellStatus

    table = problem.table
    stored = {table.key(cell): cell for cell in range(table.num_cells)}
    with (folder / RESULT).open(encoding="utf-8", newline="") as file:
        found = {tuple(row[:-2]): CellStatus(int(row[-1])) for row in csv.reader(file)}
    missing = stored.keys() - found.keys()
    if missing:
        raise SystemExit(f"the result lacks {len(missing)} cells of the table")
    with (folder / PATTERN).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*(dimension.name for dimension in table.dimensions), "status"])
        for key in stored:
            status = found[key]
            letter = "u" if status.is_unsafe else "m" if status.is_hidden else "s"
            writer.writerow([*key, letter])


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(program: str, method: str, text: str) -> None:
    """Run, and hand in."""
    assignment = Assignment.from_json(text)
    run(assignment, method, program).write(assignment.folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
