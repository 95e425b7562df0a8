"""The reference of commands in docs/commands.md is that of the program."""

import re

from typer.main import get_command

from benchmarks.command_reference import PAGE, page
from cellveil.cli.app import app


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python benchmarks/command_reference.py"


def test_every_command_and_option_is_there() -> None:
    sections = re.split(r"^### ", page(), flags=re.MULTILINE)
    for name, command in get_command(app).commands.items():
        (section,) = (text for text in sections if text.startswith(f"`{name}`"))
        for parameter in command.params:
            assert parameter.opts[0] in section or (parameter.metavar or parameter.name.upper()) in section
