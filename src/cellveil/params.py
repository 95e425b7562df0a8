"""Parameters of algorithms: frozen, validated on construction, each with its bounds and one sentence.

A component declares its numbers in one class, and takes an instance of it:

>>> @dataclass(frozen=True, kw_only=True)
... class SearchParams(Params):
...     trials: int = param(100, "Trials of ruin and recreate without a time limit.", least=0)
>>> @dataclass(frozen=True, kw_only=True)
... class MethodParams(Params):
...     share: float = param(0.5, "Share of the time for the search.", least=0, most=1)
...     search: SearchParams = part(SearchParams)
>>> MethodParams().changed({"search.trials": "20", "share": 0.25})
MethodParams(share=0.25, search=SearchParams(trials=20))
>>> MethodParams(share=2)
Traceback (most recent call last):
cellveil.errors.InputError: share is too large. Give a number from 0 to 1.

The help of the command line, job files and the docs list what `described` tells; values come as they are
from Python and job files, and as text from the command line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from cellveil.errors import InputError, nearest_name

Value = bool | int | float | str | tuple[float, ...]

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Parameter:
    """One parameter: its default, which also says what kind of value it takes, its bounds and its sentence.

    Examples
    --------
    >>> Parameter(2, "Wanted number of groups.", least=1).read("groups", "3")
    3
    """

    default: Value
    what: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def domain(self) -> str:
        """Which values there are, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return ", ".join(self.choices) if self.choices else "a text"
        kind = "a whole number" if isinstance(self.default, int) else "a number"
        if isinstance(self.default, tuple):
            kind = "numbers with commas between them, each"
        if self.least is None and self.most is None:
            return kind.removesuffix(", each")
        if self.most is None:
            return f"{kind}, {self.least} or more" if "each" not in kind else f"{kind} {self.least} or more"
        if self.least is None:
            return f"{kind} up to {self.most}"
        return f"{kind} from {self.least} to {self.most}"

    def read(self, name: str, given: object) -> Value:
        """The value that was given, in its type; an `InputError` where it is none."""
        value = self._typed(given)
        if value is None:
            raise InputError(f"{name} has no such value", remedy=f"Give {self.domain}.")
        if self.choices and value not in self.choices:
            raise InputError(f"{name} has no value {value!r}", remedy=nearest_name(str(value), self.choices))
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, bool | str):
                continue
            if self.least is not None and not number >= self.least:
                raise InputError(f"{name} is too small", remedy=f"Give {self.domain}.")
            if self.most is not None and not number <= self.most:
                raise InputError(f"{name} is too large", remedy=f"Give {self.domain}.")
        return value

    def _typed(self, given: object) -> Value | None:
        if isinstance(self.default, bool):
            return given if isinstance(given, bool) else WORDS.get(str(given).strip().lower())
        if isinstance(self.default, str):
            return given if isinstance(given, str) else None
        if isinstance(self.default, tuple):
            parts = given.split(",") if isinstance(given, str) else given
            if not isinstance(parts, Sequence):
                return None
            numbers = [_number(each, whole=False) for each in parts if str(each).strip()]
            return None if None in numbers else tuple(float(n) for n in numbers if n is not None)
        return _number(given, whole=isinstance(self.default, int))


def _number(given: object, *, whole: bool) -> int | float | None:
    """The number that is given or written; None where it is none, or no whole one where that is asked for."""
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        number = int(given) if whole and not isinstance(given, float) else float(given)
    except ValueError:
        return None
    if whole and isinstance(given, float):
        return int(given) if given.is_integer() else None
    return number


def param(
    default: Any,
    what: str,
    *,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
) -> Any:
    """A field of a `Params` class: its default, its sentence, and which values it may have."""
    parameter = Parameter(default, what, tuple(choices), least, most)
    return field(default=default, metadata={"parameter": parameter})


def part(kind: type[P], **changes: Any) -> Any:
    """A field that holds the parameters of a component; `changes` are defaults of its own."""
    return field(default_factory=lambda: kind(**changes))


@dataclass(frozen=True, kw_only=True)
class Params:
    """The parameters of one component; see the head of the module."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if "parameter" in each.metadata:
                value = each.metadata["parameter"].read(each.name, getattr(self, each.name))
                object.__setattr__(self, each.name, value)

    @classmethod
    def described(cls) -> dict[str, Parameter]:
        """Every parameter by its name; those of parts as part.name."""
        return dict(cls()._described())

    def _described(self) -> Iterator[tuple[str, Parameter]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, Params):
                yield from ((f"{each.name}.{name}", found) for name, found in value._described())
            else:
                yield each.name, replace(each.metadata["parameter"], default=value)

    def changed(self, given: Mapping[str, object]) -> Self:
        """Other values for some; an unknown name is an error that tells the nearest one."""
        known = dict(self._described())
        own: dict[str, Any] = {}
        below: dict[str, dict[str, object]] = {}
        for name, value in given.items():
            if name not in known:
                remedy = nearest_name(name, list(known)) if known else "There are no parameters."
                raise InputError(f"there is no parameter {name!r}", remedy=remedy)
            first, dot, rest = name.partition(".")
            if dot:
                below.setdefault(first, {})[rest] = value
            else:
                own[name] = known[name].read(name, value)
        own |= {first: getattr(self, first).changed(rest) for first, rest in below.items()}
        return replace(self, **own)


P = TypeVar("P", bound=Params)


def parse_options(texts: Sequence[str]) -> dict[str, object]:
    """Parameters as the command line has them: name=value.

    Examples
    --------
    >>> parse_options(["groups=3", "by=relation"])
    {'groups': '3', 'by': 'relation'}
    """
    options: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"option {text!r} is not NAME=VALUE", remedy="Write for example groups=2.")
        if name.strip() in options:
            raise InputError(f"option {name.strip()!r} is given twice", remedy="Give it once.")
        options[name.strip()] = value.strip()
    return options
