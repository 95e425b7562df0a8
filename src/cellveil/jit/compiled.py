"""Loops that Python calls, and those that only other loops call; compiled when one is first called.

All functions of a module that Python calls are compiled together with what they call, in a fraction of a
second, in the memory of the process: nothing is stored, so that the first run on a machine is like every
other one. `cellveil.progress` is told how long it took, because no time limit counts it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

import numpy as np

from cellveil.clock import not_counting
from cellveil.jit.kinds import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    Array,
    Kind,
    Record,
    Scalar,
    Source,
    address_of,
    place_of,
)
from cellveil.jit.translation import Loop, Unit

Function = TypeVar("Function", bound=Callable[..., Any])

CHECKED = False
"""Whether indices are checked, which is slower: to find faults in the loops."""

ARGUMENTS: dict[str, Any] = {
    "ptr": ctypes.c_void_p,
    "i64": ctypes.c_int64,
    "i1": ctypes.c_int64,
    "double": ctypes.c_double,
}
RESULTS: dict[Kind, Any] = {
    NOTHING: None,
    INT: ctypes.c_int64,
    BOOL: ctypes.c_int64,
    FLOAT: ctypes.c_double,
}

_by_module: dict[str, list[Kernel]] = {}
_engines: list[Any] = []
_lock = threading.Lock()


def outer(function: Function) -> Function:
    """For loops that Python calls."""
    kernel = Kernel(function)
    _by_module.setdefault(function.__module__, []).append(kernel)
    return cast(Function, kernel)


def inner(function: Function) -> Function:
    """For loops that only other loops call."""
    return cast(Function, Kernel(function))


class Kernel:
    """A function of the loops."""

    def __init__(self, function: Any) -> None:
        update_wrapper(self, function)
        self.loop = Loop(function)
        self._compiled: Callable[..., Any] | None = None
        self._is_truth = False

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled loop."""
        compiled = self._compiled or self._prepared()
        given: list[Any] = []
        kept: list[Any] = []  # until the loop ends
        for take, argument in zip(self._takers, arguments, strict=True):
            take(argument, given, kept)
        result = compiled(*given)
        if CHECKED:
            _check(self)
        return bool(result) if self._is_truth else result

    @cached_property
    def _takers(self) -> list[Callable[[Any, list[Any], list[Any]], None]]:
        return [_taker(kind, name) for name, kind in self.loop.parameters.items()]

    def _prepared(self) -> Callable[..., Any]:
        """The compiled function; its module is compiled if that has not been done."""
        with _lock:
            if self._compiled is None:
                with not_counting():
                    _compile(_by_module.get(self.loop.function.__module__, []))
        if self._compiled is None:
            raise TypeError(f"only other loops call {self.loop.symbol}")
        return self._compiled

    def bind(self, engine: Any) -> None:
        """Take the compiled function from an engine."""
        address = engine.get_function_address(f"door.{self.loop.symbol}")
        kinds = [part for kind in self.loop.parameters.values() for part in kind.parts]
        self._fault = ctypes.c_int64.from_address(engine.get_global_value_address("fault"))
        outside = ctypes.CFUNCTYPE(RESULTS[self.loop.result], *(ARGUMENTS[kind] for kind in kinds))
        self._is_truth = self.loop.result == BOOL
        self._compiled = outside(address)


def _taker(kind: Kind, name: str) -> Callable[[Any, list[Any], list[Any]], None]:
    """How an argument of a kind is handed over."""
    if isinstance(kind, Array):
        return _array_taker(kind, name)
    if isinstance(kind, Record):
        return lambda record, given, _: given.append(record.address)
    if isinstance(kind, Source):
        return _take_source
    assert isinstance(kind, Scalar)
    number = {INT: int, FLOAT: float, BOOL: bool}[kind]
    return lambda value, given, _: given.append(number(value))


def _array_taker(kind: Array, name: str) -> Callable[[Any, list[Any], list[Any]], None]:
    dtype, axes = np.dtype(kind.item.name), kind.axes

    def take(array: Any, given: list[Any], kept: list[Any]) -> None:
        is_fit = isinstance(array, np.ndarray) and array.dtype is dtype and array.ndim == axes
        if not is_fit or not array.flags.c_contiguous:
            given += place_of(array, kind, name)  # says what is wrong with it
            return
        given.append(address_of(array))
        given += array.shape

    return take


def _take_source(rng: np.random.Generator, given: list[Any], kept: list[Any]) -> None:
    interface = rng.bit_generator.ctypes
    function = ctypes.cast(interface.next_double, ctypes.c_void_p).value
    slots = np.array([function, interface.state_address], dtype=np.uint64)
    kept.append(slots)
    given.append(slots.ctypes.data)


def _check(kernel: Kernel) -> None:
    line, kernel._fault.value = kernel._fault.value, 0
    if line:
        raise IndexError(f"{kernel.loop.symbol}: an index out of range, line {line} of the loop or below it")


def _loop_of(known: object) -> Loop | None:
    return known.loop if isinstance(known, Kernel) else None


def _compile(kernels: list[Kernel]) -> None:
    """Compile functions together."""
    import llvmlite.binding as llvm

    source = Unit(_loop_of, CHECKED).source([kernel.loop for kernel in kernels])
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=2, jit=True
    )
    module = llvm.parse_assembly(source)
    tuning = llvm.create_pipeline_tuning_options(speed_level=1)  # more costs seconds, and gains nothing here
    tuning.slp_vectorization = tuning.loop_unrolling = False
    tuning.loop_vectorization = True  # pivots of a dense tableau become three times as fast
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    for kernel in kernels:
        kernel.bind(engine)
