"""How the loops are compiled: those that Python calls, and those that only other loops call.

Compiling takes time once, at the first run. It grows with the arrays that are handed from function to
function, with what is built around a function so that Python can call it, and with every kind of argument: a
literal is a kind of its own, so arguments are np.int64 rather than plain numbers. Inside, whole slices are
not assigned, because the message for wrong lengths alone takes longer to compile than a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def outer(function: Function) -> Function:
    """For loops that Python calls."""
    compiled: Function = njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function)  # type: ignore[call-overload]
    return compiled


def inner(function: Function) -> Function:
    """For loops that only other loops call: no wrapper for Python is compiled."""
    compiled: Function = njit(  # type: ignore[call-overload]
        cache=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    return compiled


def part(function: Function) -> Function:
    """For pieces of one loop: put into it before it is compiled, so that what they call is not once more."""
    compiled: Function = njit(inline="always")(function)  # type: ignore[assignment]
    return compiled
