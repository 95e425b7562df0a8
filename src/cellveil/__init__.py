"""Protect published statistical tables: find what discloses, hide as little as possible, and show it is safe.

>>> import cellveil as cv
>>> problem = cv.two_way([[20, 50, 10], [8, 19, 22], [17, 32, 12]], primaries={(0, 0): 3})
>>> result = cv.suppress(problem)
>>> print(result.outcome, cv.audit(problem, result.pattern).is_safe)
optimal True

Importing the package loads no solver and no data library; each name is loaded when it is first used, from the
module that `__init__.pyi` names.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

_STUB = (get_data(__name__, "__init__.pyi") or b"").decode()
_MODULE_OF = {
    name: module for module, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.MULTILINE)
}
"""The public names and the modules they live in."""

__all__ = [*sorted(_MODULE_OF), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'cellveil' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cellveil")
    except PackageNotFoundError:
        return "unknown"
