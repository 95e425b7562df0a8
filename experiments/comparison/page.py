"""The page of the docs with the results of the comparison, by version: made from the files that are kept."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from cellveil.errors import InputError
from cellveil.files import write_text
from experiments.comparison.results import by_family, by_table, overall, plots
from experiments.comparison.standings import Standings

DOCS = Path(__file__).parents[2] / "docs"
PAGE, KEPT_FOLDER, PICTURES = "comparison.md", "comparison", "img"
BEGIN, END = "<!-- results: made by python -m experiments.comparison page -->", "<!-- end of results -->"

ALT = {
    "comparison-profile": "Share of runs that are safe and within a factor of the cheapest safe pattern",
    "comparison-effort": "Cost over the cheapest and median seconds of every method",
    "comparison-safe": "How many patterns of every method are safe",
}


def kept_files(docs: Path = DOCS) -> list[Path]:
    """The files of all versions, the newest version first."""
    return sorted((docs / KEPT_FOLDER).glob("*.json"), key=lambda path: _order(path.stem), reverse=True)


def _order(version: str) -> list[tuple[bool, int, str]]:
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in version.split(".")]


def files(docs: Path = DOCS) -> dict[Path, str]:
    """The page and its pictures as they are now, by path."""
    kept = kept_files(docs)
    if not kept:
        raise InputError("no results are kept", remedy="Run a comparison, then `keep` it.")
    text = (docs / PAGE).read_text("utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise InputError("the page has no place for results", file=docs / PAGE, remedy=f"Write {BEGIN}.")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    newest = Standings.of_file(kept[0])
    parts = [_newest(newest, kept[0].stem)]
    parts += [_older(Standings.of_file(path), path.stem) for path in kept[1:]]
    texts = {docs / PAGE: f"{before}{BEGIN}\n\n" + "\n\n".join(parts) + f"\n\n{END}{after}"}
    return texts | {docs / PICTURES / f"{name}.svg": svg for name, svg in plots(newest).items()}


def write_page(docs: Path = DOCS) -> list[Path]:
    """Write page and pictures."""
    made = files(docs)
    for path, text in made.items():
        write_text(path, text)
    return list(made)


def _newest(standings: Standings, version: str) -> str:
    parts = [
        f"## Version {version}",
        _conditions(standings),
        overall(standings).markdown(),
        *(f"![{ALT[name]}](img/{name}.svg)" for name in plots(standings)),
        "By family, the geometric mean of cost over the cheapest safe pattern:",
        by_family(standings).markdown(),
        "Table by table, the same ratio (the worst of several seeds):",
        by_table(standings).markdown(),
        _second_opinion(standings),
    ]
    return "\n\n".join(parts)


def _older(standings: Standings, version: str) -> str:
    return "\n\n".join([f"## Version {version}", _conditions(standings), overall(standings).markdown()])


def _conditions(standings: Standings) -> str:
    """Machine, versions, limits, command; who did not run and why."""
    about, setting = standings.about, standings.about["setting"]
    machine: Mapping[str, Any] = about["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    load = median(run["load"] for run in standings.runs) if standings.runs else 0.0
    clock = "of the processor, one thread" if setting["counts_cpu"] else "on the wall"
    lines = [
        f"- Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory in GB']} GB, "
        f"{machine['system']}; {machine['date']}. Median load while it ran: {load:.1f}.",
        f"- Versions: Python {machine['python']}, {packages}.",
        f"- {len(standings.tables)} tables, {len(standings.runs)} runs; {setting['limit']:g} s {clock} "
        f"for each search; seeds: {', '.join(map(str, setting['seeds']))}.",
        f"- Command: `{about['command']}`.",
    ]
    if load > machine["cores"]:
        lines.append("- The machine was busy: times on the wall say nothing, and a quiet one may do better.")
    if about["absent"]:
        names = ", ".join(about["absent"])
        lines.append(f"- Not run, as they were not on the machine: {names}.")
    if about["missing"]:
        lines.append(f"- Tables that were not there: {', '.join(about['missing'])}.")
    return "\n".join(lines)


def _second_opinion(standings: Standings) -> str:
    asked = [run for run in standings.runs if run.get("second") is not None]
    differing = sum(run["second"] != run["audited"] for run in asked)
    verdicts = "agreed with the audit on every one" if not differing else f"differed on {differing}"
    return f"The second opinion was asked about {len(asked)} patterns and {verdicts}."
