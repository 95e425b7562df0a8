"""Expressions of the loops, translated into instructions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cellveil.jit.emission import Emission, MisfitError, Value, constant
from cellveil.jit.kinds import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    SHORT,
    WORD,
    Array,
    Kind,
    Record,
    Scalar,
    Several,
    Source,
    fields_of,
    slots_of,
)

if TYPE_CHECKING:
    from cellveil.jit.translation import Loop

SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip

FUNCTIONS = {"np.sqrt": "llvm.sqrt.f64", "np.exp": "llvm.exp.f64"}

ITEMS: dict[str, tuple[Scalar, int]] = {
    "np.int64": (INT, 8),
    "np.int32": (SHORT, 4),
    "np.uint64": (WORD, 8),
    "np.float64": (FLOAT, 8),
    "np.bool_": (BOOL, 1),
}
"""Kinds of elements, and their bytes."""


class Expressions:
    """Translates expressions within one function.

    Parameters
    ----------
    names
        The names of the function's module: numbers, records, and other functions.
    find
        Gives the function of the loops behind an object, if it is one.
    """

    def __init__(
        self, emission: Emission, names: dict[str, Any], find: Callable[[object], Loop | None]
    ) -> None:
        self.to, self.names, self.find = emission, names, find
        self.rooms: dict[str, tuple[Kind, list[str]]] = {}
        self.memory: list[str] = []
        self._by_node: dict[type[ast.AST], Callable[[Any], Value]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Subscript: self._subscript,
            ast.UnaryOp: self._unary,
            ast.BinOp: self._binary,
            ast.BoolOp: self._bool,
            ast.Compare: self._compare,
            ast.IfExp: self._choice,
            ast.Call: self._call,
            ast.Tuple: self._tuple,
        }

    def value(self, node: ast.expr) -> Value:
        """The value of an expression."""
        self.to.line = getattr(node, "lineno", self.to.line)
        if type(node) not in self._by_node:
            raise MisfitError(f"loops cannot have {ast.unparse(node)}")
        return self._by_node[type(node)](node)

    def put(self, name: str, value: Value) -> None:
        """Give a variable a value; the first one says what kind it has."""
        if name not in self.rooms:
            self.rooms[name] = value.kind, [self.to.room(ir) for ir in value.kind.parts]
        kind, rooms = self.rooms[name]
        for ir, part, room in zip(kind.parts, self.to.as_kind(value, kind).parts, rooms, strict=True):
            self.to.do(f"store {ir} {part}, ptr {room}")

    # -- names and parts -----------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        if not isinstance(node.value, bool | int | float):
            raise MisfitError(f"loops cannot have {node.value!r}")
        return constant(node.value)

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.rooms:
            kind, rooms = self.rooms[node.id]
            parts = tuple(
                self.to.get(f"load {ir}, ptr {room}") for ir, room in zip(kind.parts, rooms, strict=True)
            )
            return Value(kind, parts)
        known = self.names.get(node.id)
        if isinstance(known, np.uint64):
            return constant(int(known))._replace(kind=WORD)
        if isinstance(known, np.generic):
            known = known.item()
        if isinstance(known, bool | int | float):
            return constant(known)
        raise MisfitError(f"{node.id} is not known here")

    def _attribute(self, node: ast.Attribute) -> Value:
        if ast.unparse(node) == "np.inf":
            return constant(np.inf)
        whole = self.value(node.value)
        if isinstance(whole.kind, Array) and node.attr == "shape":
            return Value(Several((INT,) * whole.kind.axes), whole.parts[1:])
        if not isinstance(whole.kind, Record):
            raise MisfitError(f"loops cannot have {ast.unparse(node)}")
        offset = 0
        for name, kind in fields_of(whole.kind.of).items():
            if name == node.attr:
                return self._field(whole.parts[0], offset, kind)
            offset += slots_of(kind)
        raise MisfitError(f"{whole.kind.of.__name__} has no {node.attr}")

    def _field(self, start: str, offset: int, kind: Kind) -> Value:
        place = self.to.get(f"getelementptr inbounds i64, ptr {start}, i64 {offset}")
        if isinstance(kind, Record):
            return Value(kind, (place,))
        parts = []
        for number, ir in enumerate(kind.parts):
            slot = self.to.get(f"getelementptr inbounds i64, ptr {place}, i64 {number}")
            parts.append(self.to.get(f"load {ir}, ptr {slot}, !invariant.load !0"))
        return Value(kind, tuple(parts))

    def _subscript(self, node: ast.Subscript) -> Value:
        whole = self.value(node.value)
        if isinstance(whole.kind, Several):
            number = self.value(node.slice).literal
            return self.parted(whole)[int(number)] if number is not None else self._misfit(node)
        if not isinstance(whole.kind, Array):
            return self._misfit(node)
        if isinstance(node.slice, ast.Slice):
            return self.sliced(whole, node.slice)
        indices = self.indices(node)
        place = self.to.element(whole, indices)
        if len(indices) == whole.kind.axes:
            return self.to.load(whole.kind.item, place)
        row = Array(whole.kind.item, whole.kind.axes - len(indices))
        return Value(row, (place, *whole.parts[1 + len(indices) :]))

    def indices(self, node: ast.Subscript) -> list[Value]:
        """The indices of an element."""
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return [self.value(index) for index in nodes]

    def sliced(self, whole: Value, node: ast.Slice) -> Value:
        """Part of an array, along its first axis."""
        assert isinstance(whole.kind, Array)
        if node.step is not None:
            raise MisfitError("loops have no slices with steps")
        start, length, *others = whole.parts
        first = constant(0) if node.lower is None else self.value(node.lower)
        end = Value(INT, (length,)) if node.upper is None else self.value(node.upper)
        size = self.to.binary("-", end, first)
        place = self.to.as_kind(first, INT).parts[0]
        for other in others:
            place = self.to.get(f"mul nsw i64 {place}, {other}")
        begin = self.to.get(f"getelementptr inbounds {whole.kind.item.stored}, ptr {start}, i64 {place}")
        return Value(whole.kind, (begin, size.parts[0], *others))

    def parted(self, value: Value) -> list[Value]:
        """The values that stand together in one."""
        assert isinstance(value.kind, Several)
        found, used = [], 0
        for kind in value.kind.kinds:
            found.append(Value(kind, value.parts[used : used + len(kind.parts)]))
            used += len(kind.parts)
        return found

    def _tuple(self, node: ast.Tuple) -> Value:
        values = [self.value(part) for part in node.elts]
        return Value(Several(tuple(v.kind for v in values)), tuple(p for v in values for p in v.parts))

    def _misfit(self, node: ast.expr) -> Value:
        raise MisfitError(f"loops cannot have {ast.unparse(node)}")

    # -- operations ----------------------------------------------------------------------------------------

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            return Value(BOOL, (self.to.get(f"xor i1 {self.to.truth(value)}, true"),))
        if isinstance(node.op, ast.Invert):
            if value.literal is not None:
                ones = constant(~int(value.literal))
                return ones._replace(kind=value.kind)
            return Value(value.kind, (self.to.get(f"xor i64 {value.parts[0]}, -1"),))
        if not isinstance(node.op, ast.USub):
            return self._misfit(node)
        if value.literal is not None and value.kind != WORD:
            return constant(-value.literal)
        if value.kind == FLOAT:
            return Value(FLOAT, (self.to.get(f"fneg double {value.parts[0]}"),))
        return self.to.binary("-", constant(0), value)

    def _binary(self, node: ast.BinOp) -> Value:
        one, other, sign = self.value(node.left), self.value(node.right), SIGNS[type(node.op)]
        if one.literal is not None and other.literal is not None and WORD not in (one.kind, other.kind):
            return constant(eval(f"{one.literal!r} {sign} {other.literal!r}"))
        return self.to.binary(sign, one, other)

    def _bool(self, node: ast.BoolOp) -> Value:
        """`and`, `or`: the later ones only where the earlier do not decide."""
        room, end = self.to.room("i1"), self.to.name("decided")
        is_and = isinstance(node.op, ast.And)
        for number, part in enumerate(node.values):
            truth = self.to.truth(self.value(part))
            self.to.do(f"store i1 {truth}, ptr {room}")
            if number + 1 < len(node.values):
                further = self.to.name("further")
                yes, no = (further, end) if is_and else (end, further)
                self.to.branch(Value(BOOL, (truth,)), yes, no)
                self.to.begin(further)
        self.to.begin(end)
        return Value(BOOL, (self.to.get(f"load i1, ptr {room}"),))

    def _compare(self, node: ast.Compare) -> Value:
        one, results = self.value(node.left), []
        for op, other in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In) and isinstance(other, ast.Tuple):
                found = [self.to.compare("==", one, self.value(part)) for part in other.elts]
                results.append(self._joined("or", found))
                continue
            value = self.value(other)
            results.append(self.to.compare(SIGNS[type(op)], one, value))
            one = value
        return self._joined("and", results)

    def _joined(self, word: str, truths: list[Value]) -> Value:
        joined = truths[0].parts[0]
        for truth in truths[1:]:
            joined = self.to.get(f"{word} i1 {joined}, {truth.parts[0]}")
        return Value(BOOL, (joined,))

    def _choice(self, node: ast.IfExp) -> Value:
        """One of two, and only that one is worked out."""
        yes, no, end = (self.to.name(hint) for hint in ("yes", "no", "chosen"))
        self.to.branch(self.value(node.test), yes, no)
        self.to.begin(yes)
        one = self.value(node.body)
        one_lines, one_closed, self.to.lines = self.to.lines, self.to.is_closed, []
        self.to.is_closed = True
        self.to.begin(no)
        other = self.value(node.orelse)
        other_lines, self.to.lines, self.to.is_closed = self.to.lines, one_lines, one_closed
        kind = self._common(one.kind, other.kind)
        rooms = [self.to.room(ir) for ir in kind.parts]
        self._keep(one, kind, rooms)
        self.to.jump(end)
        self.to.lines += other_lines
        self.to.is_closed = False
        self._keep(other, kind, rooms)
        self.to.begin(end)
        pairs = zip(kind.parts, rooms, strict=True)
        return Value(kind, tuple(self.to.get(f"load {ir}, ptr {room}") for ir, room in pairs))

    def _keep(self, value: Value, kind: Kind, rooms: list[str]) -> None:
        for ir, part, room in zip(kind.parts, self.to.as_kind(value, kind).parts, rooms, strict=True):
            self.to.do(f"store {ir} {part}, ptr {room}")

    def _common(self, one: Kind, other: Kind) -> Kind:
        if one == other:
            return one
        return FLOAT if FLOAT in (one, other) else WORD if WORD in (one, other) else INT

    # -- calls ---------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        name = ast.unparse(node.func)
        called = self.find(self.names.get(name))
        if called is not None:
            return self._called(called, node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "random":
            return self._random(self.value(node.func.value))
        if name in ("np.empty", "np.zeros"):
            return self._allocated(node, name)
        values = [self.value(argument) for argument in node.args]
        if name in FUNCTIONS:
            argument = self.to.as_kind(values[0], FLOAT).parts[0]
            return Value(FLOAT, (self.to.get(f"call double @{FUNCTIONS[name]}(double {argument})"),))
        if name == "len":
            return Value(INT, (values[0].parts[1],))
        if name in ("min", "max"):
            return self.to.extreme("<" if name == "min" else ">", values)
        if name == "abs":
            return self.to.absolute(values[0])
        if name in ("int", "np.int64", "np.uint64"):
            return self.to.cut(values[0], WORD if name == "np.uint64" else INT)
        if name == "float":
            return self.to.as_kind(values[0], FLOAT)
        if name == "bool":
            return Value(BOOL, (self.to.truth(values[0]),))
        return self._misfit(node)

    def _called(self, called: Loop, node: ast.Call) -> Value:
        kinds = list(called.parameters.values())
        values = [self.value(argument) for argument in node.args]
        given = [self.to.as_kind(value, kind) for value, kind in zip(values, kinds, strict=True)]
        arguments = ", ".join(
            f"{ir} {part}" for value in given for ir, part in zip(value.kind.parts, value.parts, strict=True)
        )
        parts = called.result.parts
        if called.result == NOTHING:
            self.to.do(f"call void @{called.symbol}({arguments})")
            return Value(NOTHING, ())
        if len(parts) == 1:
            return Value(called.result, (self.to.get(f"call {parts[0]} @{called.symbol}({arguments})"),))
        together = f"{{ {', '.join(parts)} }}"
        result = self.to.get(f"call {together} @{called.symbol}({arguments})")
        names = (self.to.get(f"extractvalue {together} {result}, {number}") for number in range(len(parts)))
        return Value(called.result, tuple(names))

    def _random(self, source: Value) -> Value:
        """The next random number from 0 to 1, as the generator itself would give it."""
        if source.kind != Source():
            raise MisfitError("random numbers come from a generator")
        function = self.to.get(f"load ptr, ptr {source.parts[0]}")
        place = self.to.get(f"getelementptr inbounds i64, ptr {source.parts[0]}, i64 1")
        state = self.to.get(f"load ptr, ptr {place}")
        return Value(FLOAT, (self.to.get(f"call double {function}(ptr {state})"),))

    def _allocated(self, node: ast.Call, name: str) -> Value:
        """A new array, until the function ends or comes by here again."""
        given = {word.arg: ast.unparse(word.value) for word in node.keywords}
        item, size = ITEMS[given.get("dtype", "np.float64")]
        shape = node.args[0]
        nodes = shape.elts if isinstance(shape, ast.Tuple) else [shape]
        lengths = [self.to.as_kind(self.value(part), INT).parts[0] for part in nodes]
        count = lengths[0]
        for length in lengths[1:]:
            count = self.to.get(f"mul i64 {count}, {length}")
        room = self.to.room("ptr", "null")
        self.memory.append(room)
        self.to.do(f"call void @free(ptr {self.to.get(f'load ptr, ptr {room}')})")
        count = self.to.get(f"add i64 {count}, 1")
        if name == "np.zeros":
            start = self.to.get(f"call ptr @calloc(i64 {count}, i64 {size})")
        else:
            start = self.to.get(f"call ptr @malloc(i64 {self.to.get(f'mul i64 {count}, {size}')})")
        self.to.do(f"store ptr {start}, ptr {room}")
        return Value(Array(item, len(lengths)), (start, *lengths))
