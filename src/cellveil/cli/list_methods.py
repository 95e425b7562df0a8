"""The command `methods`."""

from __future__ import annotations

from typing import Annotated

import typer

from cellveil.errors import InputError, nearest_name


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A method: list its options.")] = None,
) -> None:
    """List the suppression methods, or the options of one."""
    from cellveil.suppression import METHODS

    if name is None:
        for each, entry in METHODS.items():
            typer.echo(f"{each:12} {entry.summary}{' (for comparison)' if entry.is_for_comparison else ''}")
        return
    if name not in METHODS:
        raise InputError(f"unknown method {name!r}", remedy=nearest_name(name, list(METHODS)))
    for key, option in METHODS[name].options.items():
        shown = str(option.default).lower() if isinstance(option.default, bool) else option.default
        typer.echo(
            f"{key:12} {option.what} {option.domain[:1].upper()}{option.domain[1:]}; default {shown!r}."
        )
