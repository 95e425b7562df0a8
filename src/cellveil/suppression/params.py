"""Options of methods: what a method declares, and what a user gives, checked.

A method that has options declares each with its default, which also says what kind of value it takes. Values
come as they are from Python and job files, and as text from the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cellveil.errors import InputError, nearest_name

Value = bool | int | str

WORDS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@dataclass(frozen=True)
class Option:
    """One option of a method.

    Parameters
    ----------
    default
        What it is where nothing is said; a value has the same type.
    what
        What it means, for the list of options.
    choices
        The texts it may be; empty for any.
    least
        The smallest number it may be.

    Examples
    --------
    >>> Option(2, "wanted number of groups", least=1).read("groups", "3")
    3
    """

    default: Value
    what: str
    choices: tuple[str, ...] = ()
    least: int | None = None

    @property
    def domain(self) -> str:
        """Which values there are, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, int):
            return "a whole number" if self.least is None else f"a whole number, {self.least} or more"
        return ", ".join(self.choices) if self.choices else "a text"

    def read(self, name: str, given: object) -> Value:
        """The value that was given, in its type; an `InputError` where it is none."""
        value = self._typed(given)
        if value is None:
            raise InputError(f"option {name} has no such value", remedy=f"Give {self.domain}.")
        if self.choices and value not in self.choices:
            raise InputError(
                f"option {name} has no value {value!r}", remedy=nearest_name(str(value), self.choices)
            )
        if self.least is not None and isinstance(value, int) and value < self.least:
            raise InputError(f"option {name} is too small", remedy=f"Give {self.domain}.")
        return value

    def _typed(self, given: object) -> Value | None:
        if isinstance(self.default, bool):
            return given if isinstance(given, bool) else WORDS.get(str(given).strip().lower())
        if isinstance(self.default, int):
            if isinstance(given, int) and not isinstance(given, bool):
                return given
            text = given.strip() if isinstance(given, str) else ""
            return int(text) if text.removeprefix("-").isdecimal() else None
        return given if isinstance(given, str) else None


def read_options(
    method: str, declared: Mapping[str, Option], given: Mapping[str, object]
) -> dict[str, Value]:
    """Check options against what a method declares.

    Examples
    --------
    >>> read_options("grouped", {"groups": Option(2, "how many", least=1)}, {"group": 3})
    Traceback (most recent call last):
    cellveil.errors.InputError: method 'grouped' has no option 'group'. Did you mean 'groups'?
    """
    for name in given:
        if name not in declared:
            remedy = nearest_name(name, list(declared)) if declared else "It takes no options."
            raise InputError(f"method {method!r} has no option {name!r}", remedy=remedy)
    return {name: declared[name].read(name, value) for name, value in given.items()}


def parse_options(texts: Sequence[str]) -> dict[str, object]:
    """Options as the command line has them: name=value.

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
