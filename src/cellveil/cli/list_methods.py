"""The command `methods`: suppression methods and their parameters, and those of adjustment."""

from __future__ import annotations

from typing import Annotated

import typer

from cellveil.errors import InputError, nearest_name
from cellveil.params import Params


def methods(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A method: list its options.")] = None,
) -> None:
    """List the suppression methods, or the options of one; of adjustment: `adjust`; of any run: `run`."""
    from cellveil.adjustment.adjust_params import AdjustParams
    from cellveil.suppression import METHODS
    from cellveil.suppression.suppressing import RunParams

    if name is None:
        for each, entry in METHODS.items():
            typer.echo(f"{each:12} {entry.summary}{' (for comparison)' if entry.is_for_comparison else ''}")
        return
    further: dict[str, type[Params]] = {"adjust": AdjustParams, "run": RunParams}
    if name not in (described := [*METHODS, *further]):
        raise InputError(f"unknown method {name!r}", remedy=nearest_name(name, described))
    params = further[name] if name in further else METHODS[name].params
    prefix = "run." if name == "run" else ""
    for key, option in params.described().items():
        shown = str(option.default).lower() if isinstance(option.default, bool) else option.default
        domain = f"{option.domain[:1].upper()}{option.domain[1:]}"
        typer.echo(f"{prefix + key:12} {option.what} {domain}; default {shown!r}.")
