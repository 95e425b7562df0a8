"""The internal files of a job's run, beside its public release."""

from __future__ import annotations

from pathlib import Path

from cellveil.files import INTERNAL
from cellveil.job.job_model import Job

FILES = {
    "report": "report.html",
    "figures": "report.json",
    "pattern": "pattern.csv",
    "instance": "instance",
    "certificate": "certificate",
    "joint": "joint",
    "adjusted": "adjusted.csv",
    "observations": "sdmx",
}
"""The internal files of a run."""


def internal_files(job: Job) -> dict[str, Path]:
    """Where a run writes its internal files, by name."""
    return {name: job.output / INTERNAL / file for name, file in FILES.items()}
