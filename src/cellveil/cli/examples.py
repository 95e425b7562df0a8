"""Two or three examples for the help of each command."""

from __future__ import annotations

EXAMPLES = {
    "": ("cellveil demo", "cellveil init firms.csv --out job.toml", "cellveil run job.toml"),
    "demo": ("cellveil demo", "cellveil demo --firms 5000 --out try"),
    "init": ("cellveil init firms.csv", "cellveil init survey.xlsx --sheet 2025 --out job.toml"),
    "check": ("cellveil check job.toml", "cellveil check job.toml --json"),
    "run": (
        "cellveil run job.toml",
        "cellveil run job.toml --advise",
        "cellveil run january.toml february.toml march.toml --workers 2",
        "cellveil run monthly/*.toml --cluster tls://scheduler:8786",
    ),
    "compare": (
        "cellveil compare job.toml --methods auto,hypercube",
        "cellveil compare job.toml --methods auto --weights value,one --time-limit 30 --out compare.html",
    ),
    "explain": ("cellveil explain job.toml region=N,size=small", "cellveil explain job.toml N,small"),
    "history": ("cellveil history results", "cellveil history results --json"),
    "template": ("cellveil template tables.csv --data firms.csv --out job.toml",),
    "suppress": (
        "cellveil suppress table.jj --out pattern.csv --time-limit 60",
        "cellveil suppress folder --weights one --method optimal --out pattern.csv --certificate cert",
    ),
    "adjust": (
        "cellveil adjust folder --out adjusted.csv --time-limit 60",
        "cellveil adjust folder --out adjusted.csv --objective value --limit-total 0 --compare",
    ),
    "audit": (
        "cellveil audit folder pattern.csv --attacker insider",
        "cellveil audit folder pattern.csv --with last-month/public",
        "cellveil audit published.csv --hierarchy region=regions.csv --hierarchy size",
    ),
    "verify": ("cellveil verify folder pattern.csv cert", "cellveil verify folder pattern.csv cert --json"),
    "methods": ("cellveil methods", "cellveil methods auto", "cellveil methods hitas"),
    "serve": ("cellveil serve", "cellveil serve --port 0 --open", "cellveil serve --new-user ann"),
    "argus": ("cellveil argus job.arb", "cellveil argus job.arb - - data"),
}
"""Command → examples; those of the program itself under the empty name."""


def told_examples(name: str) -> str | None:
    """The examples of a command as a paragraph of its help, a line each."""
    given = EXAMPLES.get(name)
    return None if given is None else "Examples:\n\n" + "\n\n".join(f"$ {line}" for line in given)
