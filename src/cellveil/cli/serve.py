"""The command `serve`."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Annotated

import typer

from cellveil.cli.streams import write_out
from cellveil.errors import MissingExtraError
from cellveil.params import parse_options


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8765,
    state: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where files, jobs and results are kept.")
    ] = Path("cellveil-service"),
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Users, a line name:sha256 each; by default one, with a new token."
        ),
    ] = None,
    new_user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Print a token and its line for the list of users, and leave."),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate of TLS, in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    public: Annotated[
        bool,
        typer.Option("--public", help="Allow to listen elsewhere than on loopback; needs users and TLS."),
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A name that requests may be addressed to, also several."),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy on this machine speaks TLS for the service.")
    ] = False,
    max_upload: Annotated[int | None, typer.Option(min=1, metavar="BYTES", help="Of one upload.")] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Records of one data file.")] = None,
    max_jobs: Annotated[int | None, typer.Option(min=1, help="Jobs that run at the same time.")] = None,
    max_memory: Annotated[int | None, typer.Option(min=1, metavar="BYTES", help="Of one job.")] = None,
    max_time: Annotated[float | None, typer.Option(min=1, metavar="SECONDS", help="Of one job.")] = None,
    keep_days: Annotated[
        float | None, typer.Option(min=0.0, help="Days after which files and jobs are deleted.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="Any other limit by its name in /api/v1/about, also several."
        ),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    describe: Annotated[
        bool, typer.Option("--describe", help="Print the OpenAPI description, and leave.")
    ] = False,
    log: Annotated[bool, typer.Option("--log", help="Log requests on standard error.")] = False,
) -> None:
    """Start the service and its page, for one person on this machine, or for users who are listed.

    Prints the address; the token of a service without a list of users stands behind it.
    """
    from cellveil.service.service_limits import ServiceLimits
    from cellveil.service.serving import Address
    from cellveil.service.serving import serve as run_service
    from cellveil.service.users import new_token, user_line

    if new_user is not None:
        token = new_token()
        line = user_line(new_user, token)
        write_out(f"Token       {token}\nLine        {line}")
        return
    if describe:
        write_out(json.dumps(_description(), indent=1, ensure_ascii=False))
        return
    if log:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
    given = {
        "upload": max_upload,
        "rows": max_rows,
        "jobs": max_jobs,
        "memory": max_memory,
        "job_seconds": max_time,
        "keep_days": keep_days,
    }
    named = {key: value for key, value in given.items() if value is not None}
    limits = ServiceLimits().changed(parse_options(limit or ()) | named)

    def tell(address: str) -> None:
        write_out(address)
        if open_page:
            typer.launch(address)

    address = Address(host, port, tuple(name or ()), public, tls_cert, tls_key, behind_proxy)
    run_service(address, state, users, limits, tell)


def _description() -> dict[str, object]:
    try:
        from cellveil.service.application import described_app
    except ImportError:
        raise MissingExtraError("fastapi and uvicorn", "service", "The service") from None
    return described_app().openapi()
