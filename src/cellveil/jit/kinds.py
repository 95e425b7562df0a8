"""What the loops are made of: numbers, arrays with a fixed number of axes, and records of arrays.

The names of arrays are for the translator, which reads annotations: ``Int`` has one axis, ``IntTable`` two,
``IntCube`` three. A type checker sees the NumPy arrays that they are.
"""

from __future__ import annotations

import ast
import ctypes
import sys
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Int: TypeAlias = NDArray[np.int64]
IntTable: TypeAlias = NDArray[np.int64]
IntCube: TypeAlias = NDArray[np.int64]
Int32: TypeAlias = NDArray[np.int32]
Int32Table: TypeAlias = NDArray[np.int32]
Bits: TypeAlias = NDArray[np.uint64]
BitsTable: TypeAlias = NDArray[np.uint64]
Float: TypeAlias = NDArray[np.float64]
FloatTable: TypeAlias = NDArray[np.float64]
FloatCube: TypeAlias = NDArray[np.float64]
Bool: TypeAlias = NDArray[np.bool_]
BoolTable: TypeAlias = NDArray[np.bool_]
Number: TypeAlias = int | np.signedinteger[Any]


@dataclass(frozen=True)
class Scalar:
    """A number: its name in NumPy, and how it is written in the compiler's language, as a value and stored.

    Whole numbers of 32 bits are so only where they are stored.
    """

    name: str
    ir: str
    stored: str

    @property
    def parts(self) -> tuple[str, ...]:
        """Types of the values that stand for it."""
        return (self.ir,)


@dataclass(frozen=True)
class Array:
    """An array without gaps: where it begins, and its lengths."""

    item: Scalar
    axes: int

    @property
    def parts(self) -> tuple[str, ...]:
        """Types of the values that stand for it."""
        return ("ptr", *("i64",) * self.axes)


@dataclass(frozen=True)
class Record:
    """An instance of a class of arrays: where the list of their places and lengths begins."""

    of: type[Any]
    parts = ("ptr",)


@dataclass(frozen=True)
class Source:
    """A generator of random numbers: where its function and its state are told."""

    parts = ("ptr",)


@dataclass(frozen=True)
class Several:
    """Some values together."""

    kinds: tuple[Kind, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """Types of the values that stand for it."""
        return tuple(part for kind in self.kinds for part in kind.parts)


Kind = Scalar | Array | Record | Source | Several

INT = Scalar("int64", "i64", "i64")
SHORT = Scalar("int32", "i64", "i32")
WORD = Scalar("uint64", "i64", "i64")
FLOAT = Scalar("float64", "double", "double")
BOOL = Scalar("bool", "i1", "i8")
NOTHING = Several(())

NAMES: dict[str, Kind] = {
    **dict.fromkeys(("int", "Number", "np.int64"), INT),
    **dict.fromkeys(("bool", "np.bool_", "bool | np.bool_"), BOOL),
    "float": FLOAT,
    "np.uint64": WORD,
    "np.random.Generator": Source(),
    "None": NOTHING,
    **{
        name + axes: Array(item, number)
        for name, item in {"Int": INT, "Int32": SHORT, "Bits": WORD, "Float": FLOAT, "Bool": BOOL}.items()
        for number, axes in enumerate(("", "Table", "Cube"), start=1)
    },
}


class Arrays:
    """Base of frozen dataclasses whose fields are arrays, or other such records."""

    @cached_property
    def slots(self) -> NDArray[np.uint64]:
        """Where the arrays begin and how long they are, one after the other, as the loops read it."""
        found: list[int] = []
        for name, kind in fields_of(type(self)).items():
            array = getattr(self, name)
            if isinstance(kind, Array):
                found += place_of(array, kind, name)
            else:
                found += array.slots.tolist()
        return np.array(found, dtype=np.uint64)

    @cached_property
    def address(self) -> int:
        """Where `slots` is."""
        return int(self.slots.ctypes.data)


def place_of(array: Any, kind: Array, name: str) -> list[int]:
    """Where an array begins, and its lengths; it must be as the loops expect it."""
    if not isinstance(array, np.ndarray) or array.dtype.name != kind.item.name or array.ndim != kind.axes:
        raise TypeError(f"{name} is not an array of {kind.item.name} with {kind.axes} axes")
    if not array.flags.c_contiguous:
        raise TypeError(f"{name} has gaps")
    return [address_of(array), *array.shape]


def address_of(array: Any) -> int:
    """Where the elements of an array are, by the fastest way that there is."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError):  # not writable, or empty
        return int(array.ctypes.data)


_fields: dict[type[Any], dict[str, Kind]] = {}


def fields_of(record: type[Any]) -> dict[str, Kind]:
    """The kinds of a record's fields, by name."""
    if record not in _fields:
        names = vars(sys.modules[record.__module__])
        _fields[record] = {field.name: kind_of(str(field.type), names) for field in fields(record)}
    return _fields[record]


def slots_of(kind: Kind) -> int:
    """How many slots a field takes."""
    if isinstance(kind, Record):
        return sum(map(slots_of, fields_of(kind.of).values()))
    return len(kind.parts)


def kind_of(annotation: str, names: dict[str, Any]) -> Kind:
    """The kind that an annotation tells; `names` are those of its module."""
    if annotation in NAMES:
        return NAMES[annotation]
    node = ast.parse(annotation, mode="eval").body
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        return Several(tuple(kind_of(ast.unparse(part), names) for part in node.slice.elts))
    named = names.get(annotation)
    if isinstance(named, type) and issubclass(named, Arrays):
        return Record(named)
    raise TypeError(f"loops know nothing of {annotation}")
