"""The command line: thin, calls the same verbs as the library. Exit codes are those of the contract.

0 done and safe; 1 done, not safe (nothing released); 2 bad input or usage; 3 infeasible; 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command

from cellveil.cli.adjust import adjust
from cellveil.cli.argus import argus
from cellveil.cli.audit import audit
from cellveil.cli.check import check
from cellveil.cli.compare import compare
from cellveil.cli.demo import demo
from cellveil.cli.examples import told_examples
from cellveil.cli.explain_cell import explain
from cellveil.cli.history import history
from cellveil.cli.init import init
from cellveil.cli.list_methods import methods
from cellveil.cli.run import run
from cellveil.cli.serve import serve
from cellveil.cli.shell import INTERRUPTED, Kept, tell_interrupted
from cellveil.cli.streams import flush_streams, prepare_streams, write_error
from cellveil.cli.suppress import suppress
from cellveil.cli.template import template
from cellveil.cli.verify import verify
from cellveil.errors import CellveilError, InputError

app = typer.Typer(
    name="cellveil",
    help="Protect published statistical tables: find what discloses, hide as little as possible, prove it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 safe, 1 not safe (nothing is released), 2 bad input or usage, 3 infeasible, "
    f"130 interrupted.\n\n{told_examples('')}",
)
for _command in (
    *(demo, init, check, run, explain, compare, history, template),
    *(suppress, adjust, audit, verify, methods, argus, serve),
):
    app.command(epilog=told_examples(_command.__name__))(_command)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from cellveil import __version__

        typer.echo(f"cellveil {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_tell_version, is_eager=True, help="Print the version and leave."),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and end the process."""
    prepare_streams()
    _leave(run_command(sys.argv[1:]))


def run_command(arguments: Sequence[str], commands: typer.Typer = app) -> int:
    """Run one command; every error ends with a sentence on standard error and the documented exit code."""
    try:
        _parser(commands)(list(arguments), prog_name=commands.info.name)
    except SystemExit as done:
        if done.code == INTERRUPTED and not isinstance(done, Kept):
            tell_interrupted("everything is as it was.")
        return done.code if isinstance(done.code, int) else 0 if done.code is None else 1
    except CellveilError as error:
        write_error(f"cellveil: {error}")
        return error.exit_code
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        write_error(f"cellveil: {place}{error.strerror or type(error).__name__}. Nothing was released.")
        return InputError.exit_code
    except Exception as error:  # a bug: say so, without what the exception carries
        _tell_unexpected(error)
        return 1
    return 0


@cache
def _parser(commands: typer.Typer) -> Callable[..., Any]:
    """What reads the arguments of all commands: built once, from their signatures."""
    return get_command(commands)


def _leave(code: int) -> NoReturn:
    """End the process at once: thread pools of libraries, torn down in the wrong order, have been seen to
    abort it after all work was done, which would hide the exit code.
    """
    flush_streams()
    if "cellveil.tasks.local_processes" in sys.modules:
        from cellveil.tasks.local_processes import end_processes

        end_processes()
    os._exit(code)


def _tell_unexpected(error: Exception) -> None:
    """Where it happened and nothing else: what an exception carries may be confidential."""
    if os.environ.get("CELLVEIL_DEBUG"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    write_error(
        f"cellveil: internal error ({type(error).__name__} in {Path(frame.filename).name}, "
        f"line {frame.lineno}); nothing was released. Please report this line. "
        "With CELLVEIL_DEBUG=1 the full trace is printed, which may hold data."
    )
