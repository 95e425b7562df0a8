"""What there is to choose, with a sentence and parameters each: rules, attackers, suppression methods."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast, get_args, get_origin, get_type_hints

from cellveil.service.answers import NamedFacts, ParameterFacts, RulesAnswer

ATTACKERS = {
    "outsider": (
        "Outsiders",
        "Everybody who knows what is published, and every value to within so many per cent.",
    ),
    "integer": ("Outsiders, whole values", "The same, knowing that values are whole numbers."),
    "insider": ("Contributors", "Contributors who know their own part, alone or together."),
    "pq": (
        "Contributors with prior knowledge",
        "Contributors who also know the others' parts to within q per cent.",
    ),
}
OPTIONS_OF = {
    "outsider": ("prior",),
    "integer": ("prior",),
    "insider": ("level", "coalition"),
    "pq": ("p", "q", "level", "coalition"),
}
TITLES = {
    "threshold": "Minimum frequency",
    "dominance": "Dominance (n, k)",
    "p%": "p% rule",
    "pq": "Prior–posterior (p, q)",
    "request": "Request rule",
    "zero": "Zero rule",
    "group-disclosure": "Group disclosure",
    "manual": "Manual",
}


def rules() -> RulesAnswer:
    """Rules and presets."""
    from cellveil.rules import PRESETS, RULES
    from cellveil.rules.base import options

    known = [
        NamedFacts(
            name=name,
            title=TITLES.get(name, name),
            about=first_sentence(kind.__doc__),
            parameters=[_option(kind, *option) for option in options(kind)],
        )
        for name, kind in RULES.items()
    ]
    presets = [
        NamedFacts(
            name=name, title=name, about=first_sentence(preset.__doc__), parameters=list(_arguments(preset))
        )
        for name, preset in PRESETS.items()
    ]
    return RulesAnswer(rules=known, presets=presets)


def attackers() -> list[NamedFacts]:
    """Whom tables can be protected against."""
    from cellveil.job.sections import AttackerJob

    found = []
    for name, (title, about) in ATTACKERS.items():
        parameters = []
        for option in OPTIONS_OF[name]:
            field = AttackerJob.model_fields[option]
            choices = [str(one) for one in get_args(field.annotation)] if option == "level" else None
            kind = "choice" if choices else "integer" if option == "coalition" else "number"
            parameters.append(
                ParameterFacts(
                    name=option,
                    kind=cast(Any, kind),
                    default=field.default,
                    is_required=name == "pq" and option == "p",
                    choices=choices,
                    about=field.description or "",
                )
            )
        found.append(NamedFacts(name=name, title=title, about=about, parameters=parameters))
    return found


def methods() -> list[NamedFacts]:
    """Suppression methods."""
    from cellveil.suppression.methods import METHODS

    return [
        NamedFacts(
            name=name,
            title=name,
            about=f"{entry.summary[:1].upper()}{entry.summary[1:]}.",
            group="comparison" if entry.is_for_comparison else None,
            parameters=[],
        )
        for name, entry in METHODS.items()
    ]


def method(name: str) -> NamedFacts | None:
    """One method with its parameters."""
    from cellveil.suppression.methods import METHODS

    listed = next((one for one in methods() if one.name == name), None)
    if listed is None:
        return None
    parameters = [
        ParameterFacts(
            name=option,
            kind=_kind(found.default, found.choices),
            default=found.default,
            choices=list(found.choices) or None,
            least=found.least,
            most=found.most,
            about=found.what,
        )
        for option, found in METHODS[name].options.items()
    ]
    return listed.model_copy(update={"parameters": parameters})


def first_sentence(text: str | None) -> str:
    """The first line of a docstring."""
    return inspect.cleandoc(text or "").partition("\n")[0]


def _option(rule: type[Any], name: str, default: Any, about: str) -> ParameterFacts:
    declared = next(field for field in fields(rule) if field.name == name)
    hint = get_type_hints(rule).get(declared.name)
    choices = [str(one) for one in get_args(hint)] if str(get_origin(hint)) == "typing.Literal" else []
    is_required = default is ...
    return ParameterFacts(
        name=name,
        kind=_kind(0.0 if is_required else default, tuple(choices)),
        default=None if is_required or not isinstance(default, bool | int | float | str) else default,
        is_required=is_required,
        choices=choices or None,
        about=about,
    )


def _arguments(preset: Any) -> Iterator[ParameterFacts]:
    for name, argument in inspect.signature(preset).parameters.items():
        default = None if argument.default is inspect.Parameter.empty else argument.default
        plain = default if isinstance(default, bool | int | float | str) else None
        kind = "boolean" if isinstance(default, bool) else "numbers"
        yield ParameterFacts(name=name, kind=cast(Any, kind), default=plain, about=name)


def _kind(default: Any, choices: tuple[str, ...]) -> Any:
    if choices:
        return "choice"
    if isinstance(default, bool):
        return "boolean"
    if isinstance(default, str):
        return "text"
    if isinstance(default, tuple):
        return "numbers"
    return "integer" if isinstance(default, int) else "number"
