"""Write the arguments and options of every command into docs/commands.md, from the program itself.

python benchmarks/command_reference.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
BEGIN, END = "<!-- commands: made by benchmarks/command_reference.py -->", "<!-- end of commands -->"

WORDS = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}


def reference() -> str:
    """A section for each command: what it does, how it is called, its options, examples."""
    from typer.main import get_command

    from cellveil.cli.app import app

    group: Any = get_command(app)
    return "\n".join(line for name in group.commands for line in section(name, group.commands[name]))


def section(name: str, command: Any) -> Iterator[str]:
    """The lines of one command."""
    from cellveil.cli.examples import EXAMPLES

    yield from (f"### `{name}`", "", plain(command.help), "", "```text", usage(name, command), "```", "")
    yield from ("| argument or option | default | meaning |", "|---|---|---|")
    yield from (
        f"| {named(one)} | {default(one)} | {plain(one.help or '')} |"
        for one in command.params
        if not one.hidden
    )
    examples = "; ".join(f"`{line}`" for line in EXAMPLES.get(name, ()))
    yield from (["", f"Examples: {examples}.", ""] if examples else [""])


def usage(name: str, command: Any) -> str:
    """How it is called: arguments, and options that must be given."""
    arguments = [metavar(one) for one in command.params if is_argument(one)]
    needed = [
        f"{one.opts[0]} {metavar(one)}" for one in command.params if not is_argument(one) and one.required
    ]
    return " ".join(["cellveil", name, *arguments, *needed, "[OPTIONS]"])


def is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


def metavar(parameter: Any) -> str:
    """What stands for the value."""
    name = parameter.metavar or (parameter.name.upper() if is_argument(parameter) else kind(parameter))
    return f"[{name}]" if is_argument(parameter) and not parameter.required else str(name)


def kind(parameter: Any) -> str:
    """The choices of an option, or what its value is."""
    annotation = parameter.type_descriptor.annotation
    if get_origin(annotation) is list:
        (annotation,) = get_args(annotation)
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    if issubclass(annotation, Enum):
        return "|".join(str(one.value) for one in annotation)
    return WORDS[annotation]


def named(parameter: Any) -> str:
    """The names of an option with what stands for its value; of an argument that alone."""
    if is_argument(parameter):
        return f"`{metavar(parameter)}`"
    value = "" if getattr(parameter, "is_flag", False) else f" {metavar(parameter)}"
    return ", ".join(f"`{name}{value}`" for name in parameter.opts).replace("|", r"\|")


def default(parameter: Any) -> str:
    """What it is if nothing is said."""
    if parameter.required:
        return "must be given"
    if getattr(parameter, "is_flag", False):
        return "on" if parameter.default else "off"
    given = parameter.default
    return "" if given is None or given == () or callable(given) else f"`{getattr(given, 'value', given)}`"


def plain(text: str) -> str:
    """One paragraph, without what would end a column."""
    return re.sub(r"\s+", " ", text).strip().replace("|", r"\|")


def page() -> str:
    """The page with its sections as they are now."""
    text = PAGE.read_text("utf-8")
    return f"{text.split(BEGIN)[0]}{BEGIN}\n\n{reference()}\n{END}{text.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
