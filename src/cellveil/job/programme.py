"""A programme of publications: many job files checked together, run side by side, with one overview.

All data are read and checked here before anything is searched, and all results are written here: whoever does
the searches, processes or a cluster, sees problems and no files, and needs no disk of ours; what comes back
is judged here. A job that fails does not stop the others. Output folders are locked from the check to the
end. A job that reads what another one writes, such as its release, is read and run after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from pathlib import Path
from time import perf_counter
from urllib.parse import quote

from cellveil.errors import CellveilError, InfeasibleError, InputError, WorkerError, check_kind, name_some
from cellveil.files import checked_path, write_text
from cellveil.job.finding import Finding, find
from cellveil.job.job_files import internal_files
from cellveil.job.job_model import Job
from cellveil.job.output_folder import Output, check_apart, check_folder, check_outside
from cellveil.job.reading import read_job
from cellveil.job.ready_job import ReadyJob, locked_output
from cellveil.job.rejudging import rejudged
from cellveil.job.running import write_found, write_infeasible
from cellveil.live_progress import shown_progress
from cellveil.progress import Phase, Progress
from cellveil.publishing.public_folder import PUBLIC
from cellveil.report.programme_overview import JobEnding, Overview, OverviewLine
from cellveil.report.run_facts import now_text
from cellveil.tasks import Reply, default_workers, task_pool

PAGE, FIGURES = "overview.html", "overview.json"

EACH = "Each job needs an output folder of its own."


@dataclass(frozen=True, eq=False)
class _Entry:
    """A job that is ready, the folder that is locked for it, and what it is called."""

    ready: ReadyJob
    output: Output
    name: str

    @property
    def size(self) -> int:
        return self.ready.prepared.problem.table.num_cells

    @property
    def title(self) -> str:
        return self.ready.job.title or self.name


def run_jobs(
    jobs: Sequence[Job | Path | str],
    overview: Path | str | None = None,
    *,
    workers: int | None = None,
    progress: Progress | bool | None = None,
) -> Overview:
    """Run many jobs, and write an overview of them.

    Each job's results go into its output folder as `run_job` writes them. Inside ``with cluster(address):``
    the searches are done by the cluster.

    Parameters
    ----------
    jobs
        What `read_job` returns, or paths of job files.
    overview
        The folder for overview.html and overview.json, which are internal; by default none are written.
    workers
        Jobs that run at a time, each in a process of its own: two by default where there are two cores. With
        one, they run one after the other in this process.
    progress
        True shows a line in terminals and notebooks; or an observer of your own.

    Returns
    -------
    A line for each job, in the order given. One that was interrupted says so, as do those that failed.

    Raises
    ------
    InputError
        Where some job cannot be run as it stands, before anything is searched: names file and line.
    """
    began, folder = perf_counter(), None if overview is None else checked_path(overview, "the overview")
    given = _read(jobs)
    _check_outputs(given, folder)
    with ExitStack() as stack:
        observer = stack.enter_context(shown_progress(progress))
        observer.plan([Phase.READ, Phase.JOBS])
        observer.phase(Phase.READ)
        links = Path.cwd() if folder is None else folder
        lines: dict[int, OverviewLine] = {}
        for wave in _waves(given):
            try:
                entries = _made_ready({k: given[k] for k in wave}, stack, observer, lines)
            except KeyboardInterrupt:
                if not lines:
                    raise
                break
            lines |= _run(entries, links, default_workers() if workers is None else workers, observer)
            if any(line.state is JobEnding.INTERRUPTED for line in lines.values()):
                break
        for k, job in enumerate(given):
            if k not in lines:
                lines[k] = OverviewLine.interrupted(_name(job), job.title or _name(job))
        found = Overview(tuple(lines[k] for k in range(len(given))), now_text(), perf_counter() - began)
        if folder is not None:
            _write(found, folder)
        return found


def _read(jobs: Sequence[Job | Path | str]) -> list[Job]:
    """All job files; their faults together."""
    check_kind(jobs, (list, tuple), "the jobs", 'Give a list: run_jobs(["a.toml", "b.toml"]).')
    if not jobs:
        raise InputError("there is no job", remedy="Name at least one job file.")
    found, faults = [], []
    for job in jobs:
        try:
            found.append(read_job(job) if isinstance(job, str | Path) else job)
            check_kind(found[-1], Job, "a job", 'Give what read_job("job.toml") returns, or its path.')
        except InputError as error:
            faults.append(error)
    _raise_all(faults)
    return found


def _raise_all(faults: Sequence[CellveilError]) -> None:
    """Raise what is wrong with some jobs; where it is several things, all of them in one error."""
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise InputError(
            "\n".join([f"{len(faults)} of the jobs cannot be run:", *(f"- {fault}" for fault in faults)])
        )


def _check_outputs(jobs: Sequence[Job], overview: Path | None) -> None:
    """Raise where two jobs, or a job and the overview, would write into one place."""
    for one, other in combinations(jobs, 2):
        first, second = one.output.resolve(), other.output.resolve()
        if first == second:
            raise InputError(f"{_name(one)} has the same output folder", file=other.file, remedy=EACH)
        for inner, outer in ((first, second), (second, first)):
            check_outside(inner, outer)
    if overview is not None:
        check_folder(overview)
        for job in jobs:
            check_apart([overview], job.output / PUBLIC)


def _name(job: Job) -> str:
    return "a job" if job.file is None else job.file.name


def _waves(jobs: Sequence[Job]) -> list[list[int]]:
    """The numbers of jobs that can run side by side, and after each other: nobody reads what is not written.

    Raises
    ------
    InputError
        Where jobs read from each other in a circle.
    """
    outputs = [job.output.resolve() for job in jobs]
    needs = {
        k: {
            other
            for other, output in enumerate(outputs)
            if other != k and any(path.resolve().is_relative_to(output) for path in job.inputs())
        }
        for k, job in enumerate(jobs)
    }
    order = TopologicalSorter(needs)
    try:
        order.prepare()
    except CycleError as error:
        names = [_name(jobs[k]) for k in error.args[1][:-1]]
        raise InputError(
            f"jobs read what the others write, in a circle: {name_some(names)}",
            remedy="Run them one by one, and name releases that are there.",
        ) from None
    waves = []
    while order.is_active():
        waves.append(sorted(order.get_ready()))
        order.done(*waves[-1])
    return waves


def _made_ready(
    jobs: Mapping[int, Job], stack: ExitStack, progress: Progress, lines: dict[int, OverviewLine]
) -> dict[int, _Entry]:
    """Lock outputs and read data. The faults of the first jobs together; a later one fails by itself."""
    entries: dict[int, _Entry] = {}
    faults: dict[int, CellveilError] = {}
    for done, (k, job) in enumerate(jobs.items()):
        progress.advance(done, len(jobs))
        try:
            output = stack.enter_context(locked_output(job))
            entries[k] = _Entry(ReadyJob.of(job, Progress()), output, _name(job))
        except CellveilError as error:
            faults[k] = _of_job(job, error)
    if not lines:
        _raise_all(list(faults.values()))
    for k, fault in faults.items():
        lines[k] = OverviewLine.failed(_name(jobs[k]), jobs[k].title or _name(jobs[k]), fault)
    return entries


def _of_job(job: Job, error: CellveilError) -> CellveilError:
    """The error with the name of the job where it names other files only."""
    if job.file is None or not isinstance(error, InputError) or str(job.file) in str(error):
        return error
    return InputError(str(error), file=job.file)


def _found(shared: None, ready: ReadyJob) -> Finding:
    """The task that each job is."""
    return find(ready, Progress())


def _run(
    entries: Mapping[int, _Entry], links: Path, workers: int, progress: Progress
) -> dict[int, OverviewLine]:
    """Run the jobs, the largest first, and write each one's results as they come."""
    progress.phase(Phase.JOBS)
    progress.advance(0, len(entries))
    order = sorted(entries, key=lambda k: -entries[k].size)
    lines: dict[int, OverviewLine] = {}
    left = "not done"
    try:
        tasks = [entries[k].ready for k in order]
        pool = task_pool(min(workers, len(tasks))) if tasks else None
        for number, reply in pool.replies(_found, None, tasks) if pool else ():
            place = order[number]
            lines[place] = _written(entries[place], reply, links)
            progress.stage(f"{len(lines)} of {len(entries)}")
            progress.advance(len(lines), len(entries))
    except KeyboardInterrupt:
        left = ""
    except WorkerError as error:
        left = str(error)
    for k, entry in entries.items():
        if k not in lines:
            lines[k] = (
                OverviewLine.failed(entry.name, entry.title, WorkerError(left))
                if left
                else OverviewLine.interrupted(entry.name, entry.title)
            )
    return lines


def _written(entry: _Entry, reply: Reply[Finding], links: Path) -> OverviewLine:
    """Write what a job came to; one that cannot be written has failed."""
    ready, job = entry.ready, entry.ready.job
    report, public = _link(internal_files(job)["report"], links), _link(job.output / PUBLIC, links)
    if reply.error is None:
        try:
            found = rejudged(ready, reply.get(), Progress())
            result = write_found(ready, entry.output, found)
        except CellveilError as error:
            return OverviewLine.failed(entry.name, entry.title, error)
        return OverviewLine.of(entry.name, result.report, found.took, (report, public))
    if not isinstance(reply.error, InfeasibleError):
        return OverviewLine.failed(entry.name, entry.title, reply.error)
    try:
        write_infeasible(ready, entry.output, reply.error)
    except CellveilError as error:
        return OverviewLine.failed(entry.name, entry.title, error)
    return replace(
        OverviewLine.failed(entry.name, entry.title, reply.error, report),
        cells=entry.size,
        published=0.0,
    )


def _link(target: Path, start: Path) -> str:
    """A link from a folder to a file or folder, as pages write it."""
    try:
        return quote(Path(os.path.relpath(target.absolute(), start.absolute())).as_posix())
    except ValueError:  # on another drive
        return target.absolute().as_uri()


def _write(overview: Overview, folder: Path) -> None:
    """The page and the figures."""
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        write_text(folder / PAGE, overview.to_html())
        write_text(folder / FIGURES, json.dumps(overview.to_dict(), indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise InputError(
            f"cannot write the overview ({error.strerror or error}); the jobs are done",
            file=folder,
            remedy="Free space, or choose another folder.",
        ) from error
