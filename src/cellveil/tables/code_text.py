"""Codes of a dimension as text, however people write them."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from cellveil.errors import InputError

Code = str | float
"""A code as people write it."""


def as_code(code: Any) -> str:
    """A code as text: numbers are written without a point where they are whole.

    Examples
    --------
    >>> as_code(1), as_code(2.0), as_code("01")
    ('1', '2', '01')
    """
    if isinstance(code, str):
        return str(code)
    if isinstance(code, Real) and not isinstance(code, bool | np.bool_) and code == code:
        whole = isinstance(code, Integral) or float(code).is_integer()
        return str(int(float(code)) if whole and not isinstance(code, Integral) else code)
    if code is None or code != code:
        raise InputError("an empty code", remedy="Give every code a name.")
    raise InputError(f"a code is of type {type(code).__name__}", remedy="Give codes as texts or numbers.")
