"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from cellveil.attackers.attacker import Attacker


InsiderLevel = Literal["unit", "holding"]


class AttackerName(StrEnum):
    """Whose attack is audited; an enumeration, as lists of literals are no options."""

    outsider = "outsider"
    integer = "integer"
    insider = "insider"
    pq = "pq"


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the report as JSON, and nothing else, on standard output.")
]
Workers = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Threads of the search and processes of the audit, at most: 2 by default. Of several jobs: how "
        "many run at a time.",
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Use the Dask cluster with this scheduler, such as tls://host:8786. Tables go there, in clear "
        "unless the address begins with tls://.",
    ),
]
Instance = Annotated[
    Path, typer.Argument(metavar="INSTANCE", help="A JJ file, or a folder with cells.csv and hierarchies.")
]
PatternFile = Annotated[
    Path, typer.Argument(metavar="PATTERN.csv", help="The status of each cell; u and m are hidden.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", metavar="REPORT.json", help="Write the figures to this file.")
]
Relax = Annotated[
    bool,
    typer.Option(
        "--relax",
        help="Where cells cannot be protected: free the cheapest cells that must be published, or lower "
        "levels, and say so.",
    ),
]
RelaxedInstance = Annotated[
    Path | None,
    typer.Option(metavar="INSTANCE", help="With --relax: write the relaxed instance, for audit and verify."),
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="A setting of the method, also several; `cellveil methods NAME` lists them.",
    ),
]
AttackerNames = Annotated[
    list[AttackerName] | None,
    typer.Option(
        "--attacker",
        help="Whose attack to try, also several: an outsider (default); one who knows that values are "
        "whole (integer); contributors who know their own part (insider); or "
        "contributors who also know the others' to within q % (pq).",
    ),
]
P = Annotated[float | None, typer.Option("--p", help="Of the pq attacker, in per cent.")]
Q = Annotated[float, typer.Option("--q", help="Of the pq attacker, in per cent.")]
WhoAttacks = Annotated[InsiderLevel, typer.Option("--level", help="Whether units or holdings attack.")]
Coalition = Annotated[int, typer.Option(min=1, help="How many insiders put their knowledge together.")]
Prior = Annotated[
    float | None, typer.Option(metavar="PERCENT", help="The outsider knows every value to within this.")
]


def attackers_of(
    names: Sequence[AttackerName],
    p: float | None,
    q: float,
    level: InsiderLevel,
    coalition: int,
    prior: float | None,
) -> list[Attacker]:
    """The attackers named, each with the options that concern it.

    An option that concerns none of them goes to all, so that it is refused.
    """
    from cellveil.attackers.attacker import OUTSIDERS, Attacker

    insiders = tuple(name.value for name in AttackerName if name not in OUTSIDERS)
    defaults: dict[str, Any] = {"p": None, "q": 100.0, "level": "unit", "coalition": 1, "prior": None}
    options: dict[str, Any] = {"p": p, "q": q, "level": level, "coalition": coalition, "prior": prior}
    takers = {"p": ("pq",), "q": ("pq",), "level": insiders, "coalition": insiders, "prior": OUTSIDERS}

    def takes(name: str, option: str) -> bool:
        return name in takers[option] or not any(other in takers[option] for other in names)

    return [
        Attacker(
            name.value,
            **{option: options[option] if takes(name, option) else defaults[option] for option in options},
        )
        for name in names
    ]
