"""The desk of the service: takes files and jobs over tables, and gives each owner what they came to.

Routes call it, and so do tests; it knows nothing of HTTP.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cellveil.errors import InputError
from cellveil.service.built_in import DATASETS, BuiltInFiles
from cellveil.service.drafts import DraftFiles, draft_job
from cellveil.service.job_folders import JobFolder, StateFolder, checked_name, is_id, new_id, remove_folder
from cellveil.service.paths_in_jobs import check_options, check_paths
from cellveil.service.questions import Choices, DraftAsked, HierarchyChoice, JobAsked
from cellveil.service.service_errors import ServiceError, disk_full, not_found
from cellveil.service.service_limits import ServiceLimits
from cellveil.service.short_tasks import Asker, ShortTasks
from cellveil.service.store import JobRecord, JobState, Store, StoredFile
from cellveil.service.supervisor import Supervisor
from cellveil.service.uploads import Uploads

OF_JOB_FILES = ("run", "compare")
"""Verbs that take a job file; the others take an instance."""

NEEDED = {
    "run": (),
    "compare": (),
    "suppress": ("instance",),
    "adjust": ("instance",),
    "audit": ("instance", "pattern"),
    "verify": ("instance", "pattern", "certificate"),
}
TAKEN = {
    "run": (),
    "compare": ("methods", "weights"),
    "suppress": ("instance", "method", "attackers", "time_limit", "seed", "options"),
    "adjust": ("instance", "objective", "time_limit", "seed", "options"),
    "audit": ("instance", "pattern", "attackers", "time_limit"),
    "verify": ("instance", "pattern", "certificate"),
}
"""Options of each verb."""

ASKING = 64
"""Questions of all users that wait or are worked on: threads of their own, so that other requests go on."""

LOG = logging.getLogger("cellveil.service")

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "compare": {"methods": ["auto", "hypercube"], "weights": ["given"]}
}


class Desk:
    """All that a service has."""

    def __init__(self, state: StateFolder, store: Store, limits: ServiceLimits) -> None:
        self.state, self.store, self.limits = state, store, limits
        self.supervisor = Supervisor(store, state, limits)
        self.shorts = ShortTasks(limits)
        self.threads = ThreadPoolExecutor(ASKING, thread_name_prefix="asker")
        self.uploads = Uploads(store, state, limits)
        self.built_in = BuiltInFiles(state, self.shorts)

    def open(self) -> None:
        """Begin; what a service that was killed has left is put in order."""
        self.state.clear_scratch()
        for folder, known in (
            (self.state.files, self.store.file_ids()),
            (self.state.jobs, self.store.job_ids()),
        ):
            for stray in {path.name for path in folder.iterdir()} - set(known):
                remove_folder(folder / stray)
        self.tidy()
        self.supervisor.start()

    def close(self) -> None:
        """End all workers."""
        self.shorts.close()
        self.threads.shutdown(wait=False, cancel_futures=True)
        self.supervisor.close()
        self.store.close()

    def tidy(self) -> None:
        """Delete what is too old; what fails is left for the next time."""
        try:
            self.forget_old()
        except Exception as error:
            LOG.error("tidying up failed (%s)", type(error).__name__)

    def forget_old(self) -> None:
        """Delete what is older than it is kept; jobs that wait or run stay."""
        before = time.time() - 86_400 * self.limits.keep_days
        over = [state for state in JobState if state.is_over]
        for id in self.store.job_ids(*over, before=before):
            self._remove_job(id)
        for id in self.store.file_ids(before=before):
            self.store.remove_file(id)
            remove_folder(self.state.file(id))

    # -- files -------------------------------------------------------------------------------------------

    def file(self, owner: str, id: str) -> StoredFile:
        """An upload of this user."""
        found = self.store.file(owner, id) if is_id(id) else None
        if found is None:
            raise not_found("there is no such file.")
        return found

    def source(self, owner: str, id: str) -> Path:
        """Where an upload or a file of built-in data lies."""
        if id.startswith("dataset:"):
            name, _, file = id.removeprefix("dataset:").partition("/")
            return self.built_in.path(name, file)
        return self.uploads.path(self.file(owner, id))

    def columns(self, asker: Asker, id: str, writing: Mapping[str, Any]) -> dict[str, Any]:
        """What the columns of a file seem to be."""
        source = self.source(asker.user, id)
        with self.state.scratch_job() as scratch:
            scratch.fill({}, "", {source.name: source})
            given = {name: value for name, value in writing.items() if value is not None}
            return self.shorts.ask("columns", scratch, given | {"file": source.name}, asker)

    # -- job files ---------------------------------------------------------------------------------------

    def draft(self, owner: str, asked: DraftAsked) -> tuple[str, dict[str, str]]:
        """A job file, and the files that it names."""
        source, choices = asked.source, asked.choices
        if (source.file is None) == (source.dataset is None):
            raise InputError(
                "the source is neither one file nor one set of built-in data", remedy="Name one."
            )
        files: dict[str, str] = {}
        labels = None
        if source.dataset is not None:
            built_in = DATASETS.get(source.dataset)
            if built_in is None:
                raise not_found("there are no such built-in data.")
            data = self._named(files, f"dataset:{built_in.name}/{built_in.data}", built_in.data)
            labels = self._named(files, f"dataset:{built_in.name}/labels.csv", "labels.csv")
        else:
            file = self.file(owner, source.file or "")
            data = self._named(files, file.id, file.stored)
        used = {name for table in choices.tables for name in table.dimensions}
        trees = {
            dimension.name: self._trees(owner, source.dataset, dimension.name, dimension.hierarchy, files)
            for dimension in choices.dimensions
            if not choices.tables or dimension.name in used
        }
        if labels is not None and not self._uses_built_in(choices):
            del files[labels]
            labels = None
        return draft_job(choices, DraftFiles(data, trees, labels)), files

    def _uses_built_in(self, choices: Choices) -> bool:
        """Whether the labels of built-in data are those of the dimensions."""
        return {dimension.name for dimension in choices.dimensions} <= {"industry", "region", "size"}

    def _trees(
        self, owner: str, dataset: str | None, dimension: str, given: HierarchyChoice, files: dict[str, str]
    ) -> list[str]:
        if given.kind == "built-in":
            known = {} if dataset is None else DATASETS[dataset].hierarchies
            named = known.get(given.name or dimension)
            if named is None:
                raise InputError(
                    f"there is no built-in hierarchy for {dimension!r}", remedy="Choose another."
                )
            return [self._named(files, f"dataset:{dataset}/{name}", name) for name in named]
        if given.kind == "files":
            found = [(id, self.source(owner, id)) for id in given.files]
            return [self._named(files, id, path.name) for id, path in found]
        return []

    @staticmethod
    def _named(files: dict[str, str], id: str, stored: str) -> str:
        """A name for a file within the job, other than those of the files that it has."""
        stem, dot, ends = stored.partition(".")
        for number in range(1, 1000):
            name = f"data/{stem}{'' if number == 1 else f'_{number}'}{dot}{ends}"
            if files.setdefault(name, id) == id:
                return name
        raise InputError("too many files", remedy="Take fewer.")

    def check(self, asker: Asker, toml: str, files: Mapping[str, str]) -> dict[str, Any]:
        """Everything of a job but the search."""
        sources = self._sources(asker.user, files)
        check_paths(toml, sources)
        with self.state.scratch_job() as scratch:
            scratch.fill({}, toml, sources)
            return self.shorts.ask("check", scratch, {}, asker)

    def _sources(self, owner: str, files: Mapping[str, str]) -> dict[str, Path]:
        """The files of a job by their names in it."""
        names = [checked_name(name) for name in files]
        for name in names:
            if any(other.startswith(f"{name}/") for other in names):
                raise InputError(
                    f"{name!r} is both a file and a folder", remedy="Name one of them otherwise."
                )
        if len({name.casefold() for name in names}) < len(names):
            raise InputError("two files differ by capitals only", remedy="Name one of them otherwise.")
        return {name: self.source(owner, id) for name, id in files.items()}

    # -- jobs --------------------------------------------------------------------------------------------

    def job(self, owner: str, id: str) -> JobRecord:
        """A job of this user."""
        found = self.store.job(owner, id) if is_id(id) else None
        if found is None:
            raise not_found("there is no such job.")
        return found

    def folder(self, owner: str, id: str) -> JobFolder:
        """The folder of a job of this user."""
        return self.state.job(self.job(owner, id).id)

    def finished(self, owner: str, id: str) -> JobFolder:
        """The folder of a job that has come to its end."""
        job = self.job(owner, id)
        if job.state is not JobState.DONE:
            raise ServiceError(
                409, f"the job has no results: it is {job.state}.", "Wait for it, or run it again."
            )
        return self.state.job(job.id)

    def submit(self, owner: str, asked: JobAsked) -> JobRecord:
        """Queue a job."""
        options = checked_options(asked)
        sources = self._sources(owner, asked.files)
        if asked.verb in OF_JOB_FILES:
            check_paths(asked.toml, sources)
        for name in ("instance", "pattern", "certificate"):
            if name in options and not any(
                path == options[name] or path.startswith(f"{options[name]}/") for path in sources
            ):
                raise InputError(
                    f"{name} names a file that is not among the files of the job", remedy="Name one."
                )
        request = {**asked.model_dump(include={"verb", "name", "files", "draft"}), "options": options}
        return self._queue(owner, request, asked.toml, sources)

    def again(self, owner: str, id: str, toml: str | None, name: str | None) -> JobRecord:
        """Queue a job once more over the same files, perhaps with another job file."""
        old = self.job(owner, id)
        folder = self.state.job(old.id)
        request, sources = folder.request(), folder.input_files()
        if toml is None:
            toml = folder.job_file.read_text("utf-8") if folder.job_file.exists() else ""
        elif old.verb in OF_JOB_FILES:
            check_paths(toml, sources)
        return self._queue(owner, request | ({} if name is None else {"name": name}), toml, sources)

    def _queue(
        self, owner: str, request: Mapping[str, Any], toml: str, sources: Mapping[str, Path]
    ) -> JobRecord:
        if not self.state.has_space(self.limits.free):
            raise disk_full()
        id = new_id()
        job = JobRecord(id, owner, request["name"], request["verb"], JobState.QUEUED, time.time())
        folder = self.state.job(id)
        hidden = JobFolder(self.state.jobs / f".{id}")
        try:
            hidden.fill(request, toml, sources)
            hidden.path.rename(folder.path)
            if not self.store.add_job(job, waiting=self.limits.waiting, kept=self.limits.kept):
                raise ServiceError(429, "you have too many jobs.", "Wait for some to end, or delete some.")
        except BaseException as error:
            remove_folder(hidden.path)
            remove_folder(folder.path)
            if isinstance(error, OSError):
                raise disk_full(f"the job could not be kept ({error.strerror}).") from None
            raise
        self.supervisor.wake()
        return job

    def remove(self, owner: str, id: str) -> None:
        """Delete a job with all that belongs to it; one that runs is cancelled first."""
        self._remove_job(self.job(owner, id).id)

    def _remove_job(self, id: str) -> None:
        self.supervisor.cancel(id)
        self.supervisor.wait_for_end(id)
        self.store.remove_job(id)
        remove_folder(self.state.job(id).path)

    def explain(self, asker: Asker, id: str, cell: str) -> dict[str, Any]:
        """One cell of a job that has been run."""
        folder = self.finished(asker.user, id)
        asked = {"cell": cell, "time": self.limits.short_seconds / 2}
        return self.shorts.ask("explain", folder, asked, asker)


def checked_options(asked: JobAsked) -> dict[str, Any]:
    """The options of a verb; one that it does not take, or lacks, is an error."""
    given = asked.options.model_dump(exclude_none=True)
    odd = next((name for name in given if name not in TAKEN[asked.verb]), None)
    if odd is not None:
        raise InputError(f"{asked.verb} has no option {odd!r}", remedy="Leave it out.")
    check_options(given.get("options"))
    lacking = next((name for name in NEEDED[asked.verb] if name not in given), None)
    if lacking is not None:
        raise InputError(f"{asked.verb} lacks the option {lacking!r}", remedy="Name the file.")
    return dict(DEFAULTS.get(asked.verb, {})) | given
