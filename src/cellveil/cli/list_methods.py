"""The command `methods`: suppression methods and their parameters, and those of adjustment."""

from __future__ import annotations

from importlib import import_module
from inspect import cleandoc
from typing import TYPE_CHECKING, Annotated

import typer

from cellveil.cli.streams import fitted, width_of_output, write_out

if TYPE_CHECKING:
    from cellveil.params import Params


def methods(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A method, also by its name in another program: what it does."),
    ] = None,
) -> None:
    """List the suppression methods, or say what one does and which options it has.

    Options of adjustment: `cellveil methods adjust`; of any run: `cellveil methods run`. Names of other
    programs (hitas, ghmiter, gauss …) lead to ours.
    """
    from cellveil.suppression.methods import METHODS, PEER_NAMES, told_peer, unknown_method

    if name is None:
        for each, entry in METHODS.items():
            write_out(f"{each:12} {entry.summary}{' (for comparison)' if entry.is_for_comparison else ''}")
        return
    peer = PEER_NAMES.get(name.casefold())
    own = next((each for each in (*METHODS, "adjust", "run") if each == name.casefold()), None)
    if own is None and peer is None:
        raise unknown_method(name, [*METHODS, "adjust", "run"])
    if own is None and peer is not None:
        _say(told_peer(name, peer))
        own = peer.method
    if own is not None:
        _describe(own)


def _describe(name: str) -> None:
    """What a method does, as its module says it, and its options."""
    from cellveil.adjustment.adjust_params import AdjustParams
    from cellveil.suppression import METHODS
    from cellveil.suppression.suppressing import RunParams

    params: type[Params]
    prefix = ""
    if name in METHODS:
        module = import_module(f"cellveil.suppression.methods.{name}")
        for line in cleandoc(module.__doc__ or METHODS[name].summary).splitlines():
            _say(line)
        params = METHODS[name].params
    elif name == "adjust":
        _say("Options of `cellveil adjust`, and of [adjust] in a job:")
        params = AdjustParams
    else:
        _say("Options of any run, whatever the method:")
        params, prefix = RunParams, "run."
    described = params.described()
    if not described:
        _say("It has no options.")
    elif name in METHODS:
        _say("")
        _say("Options, given as --option NAME=VALUE, or below [suppress.options] in a job:")
    for key, option in described.items():
        shown = str(option.default).lower() if isinstance(option.default, bool) else option.default
        domain = f"{option.domain[:1].upper()}{option.domain[1:]}"
        _say(f"{prefix + key:12} {option.what} {domain}; default {shown!r}.")


def _say(line: str) -> None:
    for part in fitted(line, width_of_output()):
        write_out(part)
