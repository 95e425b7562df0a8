"""Job files: a whole publication in one TOML file, run by one call."""

from cellveil.job.job_model import Job
from cellveil.job.programme import run_jobs
from cellveil.job.reading import read_job
from cellveil.job.running import JobResult, run_job

__all__ = ["Job", "JobResult", "read_job", "run_job", "run_jobs"]
