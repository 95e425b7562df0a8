"""Rules and attackers in one line of text: a name, a colon, and what it is given: ``"p%:10"``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cellveil.errors import InputError


def read_short_form(text: str, order: Sequence[str]) -> dict[str, Any]:
    """The options that stand behind the colon; those without a name are taken in this order.

    Examples
    --------
    >>> read_short_form("dominance:1,75", ["n", "k"])
    {'n': 1, 'k': 75}
    >>> read_short_form("threshold:3, zeros=true", ["minimum"])
    {'minimum': 3, 'zeros': True}
    """
    given: dict[str, Any] = {}
    for place, entry in enumerate(filter(None, map(str.strip, text.partition(":")[2].split(",")))):
        name, sign, value = map(str.strip, entry.partition("="))
        if not sign:
            if place >= len(order):
                raise InputError(
                    f"{text!r} has more numbers than {text.partition(':')[0]!r} takes",
                    remedy=f"It takes {', '.join(order)}; name others: option=value."
                    if order
                    else "Name them: option=value.",
                )
            name, value = order[place], name
        if name in given:
            raise InputError(f"{text!r} gives {name} twice", remedy="Give it once.")
        given[name] = _value(value)
    return given


def _value(text: str) -> Any:
    """A number, true or false, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
