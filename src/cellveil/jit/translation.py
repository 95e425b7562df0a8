"""Functions of the loops, translated into the language of the LLVM compiler.

A function is plain Python over numbers, NumPy arrays and records of arrays, and can be run as such; this is
what the translation means. Every variable has one kind, told by annotations of parameters and by its first
value. There are no objects, no exceptions, and no negative indices; arrays have no gaps, and those made
within a function end with it.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import FunctionType
from typing import Any

from cellveil.jit.emission import Emission, MisfitError, Value, constant
from cellveil.jit.expressions import SIGNS, Expressions
from cellveil.jit.kinds import INT, Array, Kind, Scalar, Several, kind_of

HEAD = """\
declare double @llvm.pow.f64(double, double)
declare double @llvm.exp.f64(double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.fabs.f64(double)
declare i64 @llvm.abs.i64(i64, i1)
declare noalias ptr @calloc(i64, i64)
declare noalias ptr @malloc(i64)
declare void @free(ptr)
@fault = global i64 0
!0 = !{}
"""


@cache
def _functions_in(module: str) -> dict[str, ast.FunctionDef]:
    """The functions at the top of a module's source, by name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


@dataclass(frozen=True, eq=False)
class Loop:
    """A function of the loops, as its source tells it."""

    function: FunctionType

    @property
    def symbol(self) -> str:
        """Its name for the compiler."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    @cached_property
    def node(self) -> ast.FunctionDef:
        """Its source."""
        return _functions_in(self.function.__module__)[self.function.__name__]

    @cached_property
    def parameters(self) -> dict[str, Kind]:
        """The kinds of its parameters."""
        return {
            parameter.arg: self._kind(parameter.annotation, parameter.arg)
            for parameter in self.node.args.args
        }

    @cached_property
    def result(self) -> Kind:
        """The kind of what it returns."""
        return self._kind(self.node.returns, "what it returns")

    def _kind(self, annotation: ast.expr | None, name: str) -> Kind:
        if annotation is None:
            raise MisfitError(f"{self.symbol}: {name} has no annotation")
        return kind_of(ast.unparse(annotation), self.function.__globals__)


@dataclass
class Unit:
    """Functions compiled together: those asked for, and all that they call.

    Parameters
    ----------
    find
        Gives the function of the loops behind an object, if it is one.
    """

    find: Callable[[object], Loop | None]
    checked: bool = False
    loops: list[Loop] = field(default_factory=list)

    def source(self, asked: list[Loop]) -> str:
        """The text for the compiler; functions asked for can be called from outside."""
        texts = [HEAD, *(_door(loop) for loop in asked)]
        self.loops = list(asked)
        for loop in self.loops:  # grows on the way
            texts.append(self._translated(loop))
        return "\n".join(texts)

    def _find(self, known: object) -> Loop | None:
        loop = self.find(known)
        if loop is not None and loop not in self.loops:
            self.loops.append(loop)
        return loop

    def _translated(self, loop: Loop) -> str:
        body = _Body(loop, Emission(self.checked), self._find)
        try:
            return body.text()
        except MisfitError as misfit:
            raise MisfitError(f"{loop.symbol}, line {body.to.line}: {misfit}") from None


def _result_ir(kind: Kind) -> str:
    parts = kind.parts
    if len(parts) == 1:
        return parts[0]
    return f"{{ {', '.join(parts)} }}" if parts else "void"


def _door(loop: Loop) -> str:
    """A function to be called from outside: truth is a whole number there."""
    parts = [part for kind in loop.parameters.values() for part in kind.parts]
    outside = ", ".join(f"{'i64' if ir == 'i1' else ir} %a{number}" for number, ir in enumerate(parts))
    lines = [f"  %b{n} = trunc i64 %a{n} to i1" for n, ir in enumerate(parts) if ir == "i1"]
    inside = ", ".join(f"{ir} %{'b' if ir == 'i1' else 'a'}{number}" for number, ir in enumerate(parts))
    result = _result_ir(loop.result)
    if result == "void":
        lines += [f"  call void @{loop.symbol}({inside})", "  ret void"]
    elif result == "i1":
        lines += [f"  %r = call i1 @{loop.symbol}({inside})", "  %s = zext i1 %r to i64", "  ret i64 %s"]
    else:
        lines += [f"  %r = call {result} @{loop.symbol}({inside})", f"  ret {result} %r"]
    shown = "i64" if result == "i1" else result
    return "\n".join([f"define {shown} @door.{loop.symbol}({outside}) {{", *lines, "}"])


class _Body:
    """Statements of one function."""

    def __init__(self, loop: Loop, emission: Emission, find: Callable[[object], Loop | None]) -> None:
        self.loop, self.to = loop, emission
        self.of = Expressions(emission, loop.function.__globals__, find)
        self.ends: list[tuple[str, str]] = []
        self.by_node: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Expr: self._expression,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign_annotated,
            ast.AugAssign: self._augment,
            ast.If: self._if,
            ast.While: self._while,
            ast.For: self._for,
            ast.Return: self._return,
            ast.Break: lambda _: self.to.jump(self.ends[-1][1]),
            ast.Continue: lambda _: self.to.jump(self.ends[-1][0]),
            ast.Pass: lambda _: None,
        }

    def text(self) -> str:
        """The whole function."""
        parameters = []
        for name, kind in self.loop.parameters.items():
            parts = [f"%{self.to.name('p')}" for _ in kind.parts]
            parameters += [f"{ir} {part}" for ir, part in zip(kind.parts, parts, strict=True)]
            self.of.put(name, Value(kind, tuple(parts)))
        self.results = [self.to.room(ir) for ir in self.loop.result.parts]
        self._run(self.loop.node.body)
        self.to.begin("end")
        for room in self.of.memory:
            self.to.do(f"call void @free(ptr {self.to.get(f'load ptr, ptr {room}')})")
        result = _result_ir(self.loop.result)
        pairs = zip(self.loop.result.parts, self.results, strict=True)
        parts = [self.to.get(f"load {ir}, ptr {room}") for ir, room in pairs]
        name = parts[0] if len(parts) == 1 else "undef"
        if len(parts) > 1:
            for number, (ir, part) in enumerate(zip(self.loop.result.parts, parts, strict=True)):
                name = self.to.get(f"insertvalue {result} {name}, {ir} {part}, {number}")
        self.to.do("ret void" if not parts else f"ret {result} {name}")
        header = f"define internal {result} @{self.loop.symbol}({', '.join(parameters)}) nounwind {{"
        return "\n".join([header, "entry:", *self.to.head, *self.to.lines, "}"])

    def _run(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            self.to.line = node.lineno
            if type(node) not in self.by_node:
                raise MisfitError(f"loops cannot have {type(node).__name__}")
            self.by_node[type(node)](node)

    def _expression(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # else it is the docstring
            self.of.value(node.value)

    def _return(self, node: ast.Return) -> None:
        kind = self.loop.result
        if node.value is not None:
            value = self.of.value(node.value)
            wanted = kind.kinds if isinstance(kind, Several) else (kind,)
            given = self.of.parted(value) if isinstance(value.kind, Several) else [value]
            parts = [p for v, k in zip(given, wanted, strict=True) for p in self.to.as_kind(v, k).parts]
            for ir, part, room in zip(kind.parts, parts, self.results, strict=True):
                self.to.do(f"store {ir} {part}, ptr {room}")
        self.to.jump("end")

    # -- assignments ---------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign) -> None:
        value = self.of.value(node.value)
        for target in node.targets:
            self._give(target, value)

    def _assign_annotated(self, node: ast.AnnAssign) -> None:
        assert node.value is not None
        self._give(node.target, self.of.value(node.value))

    def _give(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.of.put(target.id, value)
        elif isinstance(target, ast.Tuple):
            for part, one in zip(target.elts, self.of.parted(value), strict=True):
                self._give(part, one)
        elif isinstance(target, ast.Subscript):
            array = self.of.value(target.value)
            if not isinstance(array.kind, Array):
                raise MisfitError(f"{ast.unparse(target)} is not in an array")
            if isinstance(target.slice, ast.Slice):
                self._fill(self.of.sliced(array, target.slice), value)
            else:
                place = self.to.element(array, self.of.indices(target))
                self.to.store(array.kind.item, place, value)
        else:
            raise MisfitError(f"loops cannot assign to {ast.unparse(target)}")

    def _fill(self, array: Value, value: Value) -> None:
        """Every element the same."""
        assert isinstance(array.kind, Array)
        if not isinstance(value.kind, Scalar) or array.kind.axes != 1:
            raise MisfitError("only numbers are assigned to slices, and only along one axis")

        def step(index: Value) -> None:
            place = self.to.element(array, [index])
            self.to.store(kind.item, place, value)

        kind = array.kind
        self._count(constant(0), Value(INT, (array.parts[1],)), 1, step)

    def _augment(self, node: ast.AugAssign) -> None:
        sign = SIGNS[type(node.op)]
        if isinstance(node.target, ast.Name):
            old = self.of.value(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
            self.of.put(node.target.id, self.to.binary(sign, old, self.of.value(node.value)))
            return
        if not isinstance(node.target, ast.Subscript):
            raise MisfitError(f"loops cannot assign to {ast.unparse(node.target)}")
        array = self.of.value(node.target.value)
        assert isinstance(array.kind, Array)
        place = self.to.element(array, self.of.indices(node.target))
        more = self.of.value(node.value)
        old = self.to.load(array.kind.item, place)
        self.to.store(array.kind.item, place, self.to.binary(sign, old, more))

    # -- branches and loops --------------------------------------------------------------------------------

    def _if(self, node: ast.If) -> None:
        then, other, end = (self.to.name(hint) for hint in ("then", "else", "on"))
        self.to.branch(self.of.value(node.test), then, other if node.orelse else end)
        self.to.begin(then)
        self._run(node.body)
        self.to.jump(end)
        if node.orelse:
            self.to.begin(other)
            self._run(node.orelse)
        self.to.begin(end)

    def _while(self, node: ast.While) -> None:
        test, body, end = (self.to.name(hint) for hint in ("test", "body", "done"))
        self.to.begin(test)
        self.to.branch(self.of.value(node.test), body, end)
        self.to.begin(body)
        self.ends.append((test, end))
        self._run(node.body)
        self.ends.pop()
        self.to.jump(test)
        self.to.begin(end)

    def _for(self, node: ast.For) -> None:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise MisfitError("loops run over one variable, and have no else")
        name, source = node.target.id, node.iter
        if isinstance(source, ast.Call) and ast.unparse(source.func) == "range":
            values = [self.to.as_kind(self.of.value(argument), INT) for argument in source.args]
            first = values[0] if len(values) > 1 else constant(0)
            step = values[2].literal if len(values) > 2 else 1
            if not step:
                raise MisfitError("the step of a range is a number")

            def by_number(index: Value) -> None:
                self.of.put(name, index)
                self._run(node.body)

            self._count(first, values[min(1, len(values) - 1)], int(step), by_number)
            return
        array = self.of.value(source)
        if not isinstance(array.kind, Array) or array.kind.axes != 1:
            raise MisfitError(f"loops cannot run over {ast.unparse(source)}")
        item = array.kind.item

        def by_element(index: Value) -> None:
            self.of.put(name, self.to.load(item, self.to.element(array, [index])))
            self._run(node.body)

        self._count(constant(0), Value(INT, (array.parts[1],)), 1, by_element)

    def _count(self, first: Value, end: Value, step: int, body: Callable[[Value], None]) -> None:
        """Run the body for first, first + step, … below the end (above it with negative steps)."""
        place = self.to.room("i64")
        self.to.do(f"store i64 {first.parts[0]}, ptr {place}")
        test, inside, further, done = (self.to.name(hint) for hint in ("count", "body", "next", "done"))
        self.to.begin(test)
        index = Value(INT, (self.to.get(f"load i64, ptr {place}"),))
        self.to.branch(self.to.compare("<" if step > 0 else ">", index, end), inside, done)
        self.to.begin(inside)
        self.ends.append((further, done))
        body(index)
        self.ends.pop()
        self.to.begin(further)
        more = self.to.binary("+", Value(INT, (self.to.get(f"load i64, ptr {place}"),)), constant(step))
        self.to.do(f"store i64 {more.parts[0]}, ptr {place}")
        self.to.jump(test)
        self.to.begin(done)
