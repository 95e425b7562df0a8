"""Array types of the package, and read-only arrays: what an object was built from stays as it was checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int64]
Float = NDArray[np.float64]
Bool = NDArray[np.bool_]
Codes = NDArray[np.int32]
Statuses = NDArray[np.int8]


def frozen_array(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself where neither it nor what it is a view of can be written, else a read-only copy.

    Examples
    --------
    >>> mine = np.array([1, 2, 3])
    >>> kept = frozen_array(mine)
    >>> mine[0] = 9
    >>> kept.tolist(), frozen_array(kept) is kept
    ([1, 2, 3], True)
    """
    array = np.asarray(array)
    if _is_settled(array):
        return array
    copy = array.copy()
    copy.setflags(write=False)
    return copy


def freeze(owner: object, names: Iterable[str]) -> None:
    """Replace the arrays of a frozen dataclass by frozen ones; what is None stays so."""
    for name in names:
        array = getattr(owner, name)
        if array is not None:
            object.__setattr__(owner, name, frozen_array(array))


def _is_settled(array: NDArray[Any]) -> bool:
    """Whether the memory is read-only all the way down to its owner: an array of its own, or bytes."""
    base: Any = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        if base.base is None:
            return True
        base = base.base
    return isinstance(base, bytes)
