"""Tables protected by one call from Python: the same search, audit and release as by a job file."""

from cellveil.front.one_call import protect
from cellveil.front.protection import Protection

__all__ = ["Protection", "protect"]
