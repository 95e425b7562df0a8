"""What an audit can be about: the pattern of a suppressed table, or the values of an adjusted one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from cellveil.arrays import Int
from cellveil.errors import InputError
from cellveil.pattern import Pattern


class AdjustedTable(Protocol):
    """What an adjustment publishes: its values, and how far other cells were allowed to move."""

    @property
    def values(self) -> Int:
        """One scaled integer per cell."""

    @property
    def limits(self) -> Mapping[str, float | None]:
        """Per cent by kind of cell: interior, marginals, total."""


def audited_thing(given: Any) -> Pattern | AdjustedTable | Int:
    """The pattern, adjustment or values; of a suppression its pattern.

    Raises
    ------
    InputError
        Where it is something else.
    """
    pattern = getattr(given, "pattern", given)
    if isinstance(pattern, Pattern):
        return pattern
    if isinstance(given, np.ndarray) and given.dtype == bool:
        raise InputError(
            "what is audited is an array of truth values",
            remedy='Make a pattern of the hidden cells: Pattern.hiding(problem, hidden, "by hand").',
        )
    if isinstance(given, np.ndarray) or (hasattr(given, "values") and hasattr(given, "limits")):
        return given  # type: ignore[no-any-return]
    raise InputError(
        f"what is audited is of type {type(given).__name__}",
        remedy="Give what suppress or adjust returns, a pattern, or an array of adjusted values.",
    )
