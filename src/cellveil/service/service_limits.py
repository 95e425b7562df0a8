"""Limits of the service: how much data, time, memory and disk the tables of one user may take."""

from __future__ import annotations

from dataclasses import dataclass

from cellveil.params import Params, param


@dataclass(frozen=True, kw_only=True)
class ServiceLimits(Params):
    """What the service allows; every number can be set when it is started."""

    upload: int = param(500_000_000, "Bytes of one uploaded file.", least=1)
    unpacked: int = param(
        4_000_000_000, "Bytes that a packed file (gzip, Excel, Parquet) unpacks to.", least=1
    )
    rows: int = param(50_000_000, "Records of one data file.", least=1)
    files: int = param(500, "Uploaded files that one user may keep.", least=1)
    storage: int = param(20_000_000_000, "Bytes of uploaded files that one user may keep.", least=1)
    jobs: int = param(2, "Jobs that run at the same time.", least=1)
    waiting: int = param(50, "Jobs of one user that wait or run.", least=1)
    kept: int = param(1_000, "Jobs of one user that are kept.", least=1)
    shorts: int = param(2, "Checks and explanations that run at the same time.", least=1)
    shorts_of_user: int = param(4, "Those of one user that run or wait for their turn.", least=1)
    memory: int = param(
        8_000_000_000, "Bytes of address space of one job, where the system can limit it.", least=1
    )
    disk: int = param(20_000_000_000, "Bytes that one job may write to disk.", least=1)
    free: int = param(
        16_000_000, "Bytes free on the disk, below which no file or job is taken and none begins.", least=0
    )
    job_seconds: float = param(
        3600.0, "Seconds after which a job is stopped, keeping its best pattern.", least=0
    )
    grace_seconds: float = param(60.0, "Seconds that a stopped job has to come to its end.", least=0)
    short_seconds: float = param(60.0, "Seconds for a check, a look at columns or an explanation.", least=0)
    patience_seconds: float = param(30.0, "Seconds that such a request waits for its turn.", least=0)
    connections: int = param(200, "Connections from one address at the same time.", least=1)
    head_seconds: float = param(20.0, "Seconds in which the head of a request must be whole.", least=0)
    idle_seconds: float = param(20.0, "Seconds without a byte after which a request is ended.", least=0)
    slowest: int = param(2_000, "Bytes per second that an upload must bring on average.", least=0)
    body: int = param(2_000_000, "Bytes of a request that is no upload.", least=1)
    keep_days: float = param(30.0, "Days after which files and jobs are deleted.", least=0)
    session_hours: float = param(12.0, "Hours after which the page asks for the token again.", least=0)
