"""A task of the worker: which verb on which job over tables, with which options and limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.files import write_text
from cellveil.service.job_folders import JobFolder
from cellveil.service.worker_channel import Channel, ToldProgress

if TYPE_CHECKING:
    from cellveil.job import Job


@dataclass(frozen=True)
class WorkerTask:
    """What the service asks of a worker.

    Parameters
    ----------
    options
        Of the verb, checked by the service.
    limits
        ``memory``, ``disk``, ``rows`` and ``unpacked`` of `ServiceLimits`.
    """

    verb: str
    folder: JobFolder
    options: Mapping[str, Any]
    limits: Mapping[str, int]
    channel: Channel
    progress: ToldProgress

    @classmethod
    def of(cls, data: Mapping[str, Any], channel: Channel) -> WorkerTask:
        """Read a task."""
        folder = JobFolder(Path(data["folder"]))
        given = data.get("options", {}), data.get("limits", {})
        return cls(data["verb"], folder, *given, channel, ToldProgress(channel))

    def job(self) -> Job:
        """The job, with all its paths within its folder, and its output where the service keeps it."""
        from cellveil.job import read_job
        from cellveil.service.data_limits import check_data
        from cellveil.service.paths_in_jobs import check_resolved

        check_data(self.folder.input_files(), self.limits)
        job = read_job(self.folder.job_file.absolute())
        check_resolved(job, self.folder.input)
        return job.model_copy(update={"output": self.folder.out.absolute()})

    def file(self, option: str) -> Path:
        """The file or folder of the job that an option names."""
        return self.folder.input.absolute() / str(self.options[option])

    def checked_instance(self) -> Path:
        """The instance that is named, within the limits."""
        from cellveil.service.data_limits import check_data

        check_data(self.folder.input_files(), self.limits)
        return self.file("instance")

    def tell_result(self, data: Mapping[str, Any]) -> None:
        """The last line: everything is written."""
        self.channel.tell("result", data)

    def write_internal(self, name: str, data: Mapping[str, Any]) -> None:
        """Write figures beside the other internal files."""
        self.folder.out.joinpath("internal").mkdir(mode=0o700, parents=True, exist_ok=True)
        write_text(
            self.folder.out / "internal" / name, json.dumps(dict(data), indent=2, ensure_ascii=False) + "\n"
        )


def perform(task: WorkerTask) -> int:
    """Do what is asked; returns the exit code of the command line."""
    from cellveil.service.worker_verbs import VERBS

    return VERBS[task.verb](task)
