"""Instructions for the compiler: arithmetic, comparisons and memory, one line each."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from cellveil.jit.kinds import BOOL, FLOAT, INT, SHORT, WORD, Array, Kind, Scalar

WHOLE = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl"}
REAL = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
SIGNED = {"<": "slt", "<=": "sle", ">": "sgt", ">=": "sge", "==": "eq", "!=": "ne"}
ORDERED = {"<": "olt", "<=": "ole", ">": "ogt", ">=": "oge", "==": "oeq", "!=": "une"}


class Value(NamedTuple):
    """Something computed: its kind, and the names that stand for it; a number if it is known by now."""

    kind: Kind
    parts: tuple[str, ...]
    literal: int | float | None = None


def constant(number: int | float) -> Value:
    """A number that is written in the source."""
    if isinstance(number, bool):
        return Value(BOOL, ("true" if number else "false",), number)
    if isinstance(number, int):
        return Value(INT, (str(number),), number)
    return Value(FLOAT, (f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}",), number)


class MisfitError(TypeError):
    """Something in the source that loops cannot have."""


@dataclass
class Emission:
    """The lines of one function.

    Parameters
    ----------
    checked
        Whether indices are held against the lengths: the line of a wrong one is noted in ``@fault``.
    """

    checked: bool = False
    head: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    line: int = 0
    is_closed: bool = False
    _count: int = 0

    def name(self, hint: str = "t") -> str:
        """A name not used before."""
        self._count += 1
        return f"{hint}.{self._count}"

    def do(self, text: str) -> None:
        """Add an instruction; after the end of a block it is in one that nothing reaches."""
        if self.is_closed:
            self.begin(self.name("dead"))
        self.lines.append(f"  {text}")

    def get(self, text: str) -> str:
        """Add an instruction; return the name of its result."""
        name = f"%{self.name()}"
        self.do(f"{name} = {text}")
        return name

    def begin(self, label: str) -> None:
        """Begin a block."""
        if not self.is_closed:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.is_closed = False

    def jump(self, label: str) -> None:
        """End the block, unless it has ended."""
        if not self.is_closed:
            self.do(f"br label %{label}")
        self.is_closed = True

    def branch(self, condition: Value, yes: str, no: str) -> None:
        """End the block by a choice."""
        self.do(f"br i1 {self.truth(condition)}, label %{yes}, label %{no}")
        self.is_closed = True

    def room(self, ir: str, start: str | None = None) -> str:
        """Room for a value on the stack, from the beginning of the function on."""
        name = f"%{self.name('room')}"
        self.head.append(f"  {name} = alloca {ir}")
        if start is not None:
            self.head.append(f"  store {ir} {start}, ptr {name}")
        return name

    # -- numbers -------------------------------------------------------------------------------------------

    def as_kind(self, value: Value, kind: Kind) -> Value:
        """The same as another kind, where nothing gets lost."""
        own = value.kind
        if own == kind:
            return value
        if not isinstance(own, Scalar) or not isinstance(kind, Scalar):
            raise MisfitError(f"{own} in place of {kind}")
        if value.literal is not None and kind in (FLOAT, WORD, INT) and own != FLOAT:
            number = float(value.literal) if kind == FLOAT else int(value.literal)
            return constant(number)._replace(kind=kind)
        (name,) = value.parts
        if own == BOOL and kind in (INT, WORD):
            return Value(kind, (self.get(f"zext i1 {name} to i64"),))
        if kind == FLOAT:
            text = {BOOL: f"uitofp i1 {name}", WORD: f"uitofp i64 {name}", INT: f"sitofp i64 {name}"}[own]
            return Value(FLOAT, (self.get(f"{text} to double"),))
        if kind == BOOL and own == INT:
            return Value(BOOL, (self.truth(value),))
        raise MisfitError(f"{own.name} in place of {kind.name}")

    def cut(self, value: Value, kind: Scalar) -> Value:
        """As `int`, `np.int64` and `np.uint64` do: what is behind the point is cut off."""
        if value.kind == FLOAT:
            return Value(kind, (self.get(f"fptosi double {value.parts[0]} to i64"),))
        if value.kind in (INT, WORD):
            return Value(kind, value.parts, value.literal)
        return self.as_kind(value, kind)

    def truth(self, value: Value) -> str:
        """Whether it is not 0."""
        if value.kind == BOOL:
            return value.parts[0]
        return self.compare("!=", value, constant(0)).parts[0]

    def alike(self, one: Value, other: Value) -> tuple[Value, Value, Scalar]:
        """Both as the kind in which they can be put together."""
        kinds = {one.kind, other.kind}
        if FLOAT in kinds:
            kind = FLOAT
        elif WORD in kinds:
            kind = WORD
            if any(v.kind != WORD and v.literal is None for v in (one, other)):
                raise MisfitError("signed and unsigned numbers mixed")
        else:
            kind = INT
        return self.as_kind(one, kind), self.as_kind(other, kind), kind

    def binary(self, sign: str, one: Value, other: Value) -> Value:
        """An operation on two numbers."""
        if sign == "**":
            return self._power(one, other)
        if sign in "&|^" and one.kind == other.kind == BOOL:
            return Value(BOOL, (self.get(f"{WHOLE[sign]} i1 {one.parts[0]}, {other.parts[0]}"),))
        left, right, kind = self.alike(one, other)
        if sign == "/":
            left, right, kind = self.as_kind(left, FLOAT), self.as_kind(right, FLOAT), FLOAT
        a, b = left.parts[0], right.parts[0]
        if kind == FLOAT:
            return Value(FLOAT, (self.get(f"{REAL[sign]} double {a}, {b}"),))
        if sign == ">>":
            return Value(kind, (self.get(f"{'lshr' if kind == WORD else 'ashr'} i64 {a}, {b}"),))
        if sign in WHOLE:
            return Value(kind, (self.get(f"{WHOLE[sign]} i64 {a}, {b}"),))
        return Value(kind, (self._divided(sign, a, right, kind),))

    def _divided(self, sign: str, a: str, divisor: Value, kind: Scalar) -> str:
        """Division rounded down, or its rest; 0 where the divisor is 0."""
        b, safe = divisor.parts[0], divisor.parts[0]
        if not divisor.literal:
            is_zero = self.get(f"icmp eq i64 {b}, 0")
            safe = self.get(f"select i1 {is_zero}, i64 1, i64 {b}")
        prefix = "u" if kind == WORD else "s"
        quotient = self.get(f"{prefix}div i64 {a}, {safe}")
        rest = self.get(f"{prefix}rem i64 {a}, {safe}")
        if kind != WORD:
            apart = self.get(f"xor i64 {rest}, {safe}")
            other_side = self.get(f"icmp slt i64 {apart}, 0")
            is_odd = self.get(f"icmp ne i64 {rest}, 0")
            down = self.get(f"and i1 {other_side}, {is_odd}")
            step = self.get(f"sext i1 {down} to i64")
            quotient = self.get(f"add i64 {quotient}, {step}")
            back = self.get(f"and i64 {step}, {safe}")
            rest = self.get(f"add i64 {rest}, {back}")
        result = quotient if sign == "//" else rest
        if not divisor.literal:
            result = self.get(f"select i1 {is_zero}, i64 0, i64 {result}")
        return result

    def _power(self, base: Value, exponent: Value) -> Value:
        if exponent.literal == 2:
            return self.binary("*", base, base)
        a, b = self.as_kind(base, FLOAT).parts[0], self.as_kind(exponent, FLOAT).parts[0]
        return Value(FLOAT, (self.get(f"call double @llvm.pow.f64(double {a}, double {b})"),))

    def compare(self, sign: str, one: Value, other: Value) -> Value:
        """A comparison of two numbers."""
        if one.kind == other.kind == BOOL:
            one, other = self.as_kind(one, INT), self.as_kind(other, INT)
        left, right, kind = self.alike(one, other)
        a, b = left.parts[0], right.parts[0]
        if kind == FLOAT:
            return Value(BOOL, (self.get(f"fcmp {ORDERED[sign]} double {a}, {b}"),))
        test = SIGNED[sign].replace("s", "u", 1) if kind == WORD and sign[0] in "<>" else SIGNED[sign]
        return Value(BOOL, (self.get(f"icmp {test} i64 {a}, {b}"),))

    def extreme(self, sign: str, values: list[Value]) -> Value:
        """The least (<) or the largest (>) of some numbers."""
        best = values[0]
        for value in values[1:]:
            left, right, kind = self.alike(best, value)
            if left.literal is not None and right.literal is not None:
                best = left if (left.literal < right.literal) == (sign == "<") else right
                continue
            test = self.compare(sign, right, left).parts[0]
            chosen = self.get(f"select i1 {test}, {kind.ir} {right.parts[0]}, {kind.ir} {left.parts[0]}")
            best = Value(kind, (chosen,))
        return best

    def absolute(self, value: Value) -> Value:
        """Without its sign."""
        name = value.parts[0]
        if value.kind == FLOAT:
            return Value(FLOAT, (self.get(f"call double @llvm.fabs.f64(double {name})"),))
        return Value(INT, (self.get(f"call i64 @llvm.abs.i64(i64 {name}, i1 false)"),))

    # -- memory --------------------------------------------------------------------------------------------

    def within(self, index: Value, length: str) -> str:
        """An index; where indices are checked, 0 in place of a wrong one, whose line is noted."""
        name = self.as_kind(index, INT).parts[0]
        if not self.checked:
            return name
        fits = self.get(f"icmp ult i64 {name}, {length}")
        before = self.get("load i64, ptr @fault")
        note = self.get(f"select i1 {fits}, i64 {before}, i64 {self.line}")
        self.do(f"store i64 {note}, ptr @fault")
        return self.get(f"select i1 {fits}, i64 {name}, i64 0")

    def element(self, array: Value, indices: list[Value]) -> str:
        """Where an element is, or a row where there are fewer indices than axes."""
        assert isinstance(array.kind, Array)
        start, *lengths = array.parts
        place = self.within(indices[0], lengths[0])
        for index, length in zip(indices[1:], lengths[1:], strict=False):
            place = self.get(f"mul nsw i64 {place}, {length}")
            place = self.get(f"add nsw i64 {place}, {self.within(index, length)}")
        for length in lengths[len(indices) :]:
            place = self.get(f"mul nsw i64 {place}, {length}")
        return self.get(f"getelementptr inbounds {array.kind.item.stored}, ptr {start}, i64 {place}")

    def load(self, item: Scalar, place: str) -> Value:
        """The number stored somewhere."""
        name = self.get(f"load {item.stored}, ptr {place}")
        if item == BOOL:
            return Value(BOOL, (self.get(f"trunc i8 {name} to i1"),))
        if item == SHORT:
            return Value(INT, (self.get(f"sext i32 {name} to i64"),))
        return Value(item, (name,))

    def store(self, item: Scalar, place: str, value: Value) -> None:
        """Store a number."""
        name = self.as_kind(value, INT if item == SHORT else item).parts[0]
        if item in (BOOL, SHORT):
            name = self.get(f"{'zext i1' if item == BOOL else 'trunc i64'} {name} to {item.stored}")
        self.do(f"store {item.stored} {name}, ptr {place}")
