"""Settings of a running service: who may use it, under which names, with which limits for tables and jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cellveil.service.service_limits import ServiceLimits
from cellveil.service.users import Users

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names of this machine for itself."""


@dataclass(frozen=True)
class ServiceSettings:
    """What a service is started with.

    Parameters
    ----------
    hosts
        Names that requests may be addressed to.
    is_secure
        Whether browsers reach it by https.
    """

    state: Path
    users: Users = field(repr=False)
    hosts: frozenset[str] = LOOPBACK
    is_secure: bool = False
    limits: ServiceLimits = field(default_factory=ServiceLimits)
