"""What crosses to another process: bytes that say nothing of themselves, and the call that opens them there.

Schedulers write arguments, results and exceptions of tasks into logs and show them on pages. So arguments and
results cross as pickled bytes in an object whose text is one word, and no task raises.
"""

from __future__ import annotations

import pickle
from typing import Any

from cellveil.errors import InputError
from cellveil.tasks.pool import Reply, replied
from cellveil.tasks.stopping import marked

_ABSENT: Any = object()


class Sealed:
    """An object as bytes; opened once in a process, and kept opened as long as the seal is.

    Examples
    --------
    >>> Sealed.of({"value": 777}), Sealed.of({"value": 777}).open()
    (Sealed, {'value': 777})
    """

    __slots__ = ("_content", "_opened")

    def __init__(self, content: bytes) -> None:
        self._content, self._opened = content, _ABSENT

    @classmethod
    def of(cls, thing: Any) -> Sealed:
        """Seal an object."""
        return cls(pickle.dumps(thing, protocol=pickle.HIGHEST_PROTOCOL))

    def open(self) -> Any:
        """What is in it; the same object each time."""
        if self._opened is _ABSENT:
            self._opened = pickle.loads(self._content)
        return self._opened

    def has_content_of(self, other: Sealed) -> bool:
        """Whether the same bytes are in another one."""
        return self._content == other._content

    def __reduce__(self) -> tuple[Any, ...]:
        return Sealed, (self._content,)

    def __sizeof__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return "Sealed"


def perform(version: str, shared: Sealed, call: Sealed) -> Sealed:
    """Do a sealed task for a client of some version of this package; seal the reply.

    Not the whole machine is at the task's disposal: what it starts itself stays in this process.
    """
    from cellveil import __version__
    from cellveil.tasks.choice import inside_a_task

    if version != __version__:
        error = InputError(
            f"a worker has cellveil {__version__}, and you have {version}",
            remedy="Install the same version everywhere.",
        )
        return Sealed.of(Reply(error=error))
    with inside_a_task():
        return Sealed.of(replied(_opened, shared, call))


def _opened(shared: Sealed, call: Sealed) -> Any:
    """Do what was sealed; what cannot be opened here is an error of the task."""
    work, task, mark = call.open()
    with marked(mark):
        return work(shared.open(), task)
