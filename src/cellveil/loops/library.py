"""The shared library of compiled loops, and how Python calls it.

`loop` makes a function that calls the one of C with the name of its module and its own: ``ledger.hide`` is
``ledger_hide`` in `ledger.c`. Annotations say how each argument is handed over, without a copy: ``Int`` is an
array of one axis, ``IntTable`` of two, ``IntCube`` of three. Other threads run while a loop runs.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from cellveil.errors import CellveilError
from cellveil.loops import build

Int: TypeAlias = NDArray[np.int64]
IntTable: TypeAlias = NDArray[np.int64]
IntCube: TypeAlias = NDArray[np.int64]
Int32: TypeAlias = NDArray[np.int32]
Int32Table: TypeAlias = NDArray[np.int32]
Word: TypeAlias = NDArray[np.uint64]
WordTable: TypeAlias = NDArray[np.uint64]
Float: TypeAlias = NDArray[np.float64]
FloatTable: TypeAlias = NDArray[np.float64]
FloatCube: TypeAlias = NDArray[np.float64]
Bool: TypeAlias = NDArray[np.bool_]
BoolTable: TypeAlias = NDArray[np.bool_]

DTYPES = {"Int": "int64", "Int32": "int32", "Word": "uint64", "Float": "float64", "Bool": "bool"}

AXES = {"": 1, "Table": 2, "Cube": 3}

Function = TypeVar("Function", bound=Callable[..., Any])

LIBRARY = build.library_path()
"""Tests put another one in its place."""

_loaded: dict[Path, ctypes.CDLL] = {}
_lock = threading.Lock()


class LibraryError(CellveilError):
    """The compiled loops are missing, or were made of other sources."""


def library() -> ctypes.CDLL:
    """The library, loaded when it is first needed."""
    with _lock:
        if LIBRARY not in _loaded:
            _loaded[LIBRARY] = _opened(LIBRARY)
        return _loaded[LIBRARY]


def _opened(path: Path) -> ctypes.CDLL:
    remedy = "Run `make loops`, or install cellveil again."
    try:
        found = ctypes.CDLL(str(path))
    except OSError as error:
        raise LibraryError(f"the compiled loops cannot be loaded: {error}. {remedy}") from None
    made_of = ctypes.c_char.in_dll(found, "source_digest")
    if build.sources() and ctypes.string_at(ctypes.addressof(made_of)).decode() != build.digest():
        raise LibraryError(f"{path} was compiled from other sources than those beside it. {remedy}")
    return found


# -- arrays and records --------------------------------------------------------------------------------------


class Array(ctypes.Structure):
    """An array as C has it: where it begins, and its lengths."""

    dtype: np.dtype[Any]
    axes: int


def _array_type(name: str, dtype: str, axes: int) -> type[Array]:
    lengths = [(f"length_{axis}", ctypes.c_int64) for axis in range(axes)]
    members = {"_fields_": [("at", ctypes.c_void_p), *lengths], "dtype": np.dtype(dtype), "axes": axes}
    return cast(type[Array], type(name, (Array,), members))


ARRAYS: dict[str, type[Array]] = {
    stem + suffix: _array_type(stem + suffix, dtype, axes)
    for stem, dtype in DTYPES.items()
    for suffix, axes in AXES.items()
}
"""By the names that annotations give them."""

NUMBERS: dict[str, tuple[Any, type]] = {
    "int": (ctypes.c_int64, int),
    "float": (ctypes.c_double, float),
    "bool": (ctypes.c_bool, bool),
}


class Arrays:
    """Base of frozen dataclasses whose fields are arrays, or other such records: structs in C."""

    @cached_property
    def slots(self) -> NDArray[np.uint64]:
        """The struct: where the arrays begin and how long they are, one after the other."""
        found: list[int] = []
        for field in fields(cast(Any, self)):
            array = getattr(self, field.name)
            if isinstance(array, Arrays):
                found += array.slots.tolist()
            else:
                found += [_address(array, ARRAYS[str(field.type)], field.name), *array.shape]
        return np.array(found, dtype=np.uint64)

    @cached_property
    def address(self) -> int:
        """Where the struct is."""
        return int(self.slots.ctypes.data)


def _address(array: Any, kind: type[Array], name: str) -> int:
    """Where the elements of an array are; it must be as C expects it."""
    if not isinstance(array, np.ndarray) or array.dtype != kind.dtype or array.ndim != kind.axes:
        raise TypeError(f"{name} is not an array of {kind.dtype.name} with {kind.axes} axes")
    if not array.flags.c_contiguous:
        raise TypeError(f"{name} has gaps")
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(cast(Any, array)))  # the fastest way that there is
    except (TypeError, ValueError):  # not writable, or empty
        return int(array.ctypes.data)


# -- calls ---------------------------------------------------------------------------------------------------


def loop(function: Function) -> Function:
    """A function of the library; the body of the Python function is its description alone."""
    return cast(Function, Loop(function))


class Loop:
    """A function of the library."""

    def __init__(self, function: Any) -> None:
        update_wrapper(self, function)
        self.symbol = f"{function.__module__.rpartition('.')[2]}_{function.__name__}"
        self.parameters = {n: str(kind) for n, kind in function.__annotations__.items() if n != "return"}
        self.result = str(function.__annotations__["return"])
        self._library: ctypes.CDLL | None = None
        self._wrong_line: ctypes.c_int64 | None = None

    def __call__(self, *arguments: Any) -> Any:
        """Run the loop."""
        if self._library is None:
            self._bind()
        takers = zip(self._takers, arguments, strict=True)
        result = self._compiled(*[take(argument) for take, argument in takers])
        if self._wrong_line is not None and self._wrong_line.value:
            line, self._wrong_line.value = self._wrong_line.value, 0
            raise IndexError(f"{self.symbol}: an index is out of range, line {line} of the loop or below it")
        return result

    def _bind(self) -> None:
        found = library()
        self._compiled = getattr(found, self.symbol)
        self._compiled.argtypes = [self._type(kind) for kind in self.parameters.values()]
        self._compiled.restype = NUMBERS[self.result][0] if self.result in NUMBERS else None
        self._takers = [self._taker(name, kind) for name, kind in self.parameters.items()]
        with suppress(ValueError):  # where indices are not checked
            self._wrong_line = ctypes.c_int64.in_dll(found, "wrong_index_line")
        self._library = found

    @staticmethod
    def _type(kind: str) -> Any:
        if kind in NUMBERS:
            return NUMBERS[kind][0]
        return ARRAYS.get(kind, ctypes.c_void_p)

    @staticmethod
    def _taker(name: str, kind: str) -> Callable[[Any], Any]:
        """How an argument is handed over."""
        if kind in NUMBERS:
            return NUMBERS[kind][1]
        if kind in ARRAYS:
            array_type = ARRAYS[kind]
            return lambda array: array_type(_address(array, array_type, name), *array.shape)
        if kind == "np.random.Generator":
            return lambda rng: rng.bit_generator.ctypes.bit_generator
        return lambda record: record.address
