"""The command `methods`: suppression methods and their parameters, and those of adjustment."""

from __future__ import annotations

from typing import Annotated

import typer

from cellveil.errors import InputError, nearest_name


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A method: list its options.")] = None,
) -> None:
    """List the suppression methods, or the options of one; `adjust` names those of adjustment."""
    from cellveil.adjustment.params import AdjustParams
    from cellveil.suppression import METHODS

    if name is None:
        for each, entry in METHODS.items():
            typer.echo(f"{each:12} {entry.summary}{' (for comparison)' if entry.is_for_comparison else ''}")
        return
    described = {each: entry.params for each, entry in METHODS.items()} | {"adjust": AdjustParams}
    if name not in described:
        raise InputError(f"unknown method {name!r}", remedy=nearest_name(name, list(described)))
    for key, option in described[name].described().items():
        shown = str(option.default).lower() if isinstance(option.default, bool) else option.default
        typer.echo(
            f"{key:12} {option.what} {option.domain[:1].upper()}{option.domain[1:]}; default {shown!r}."
        )
