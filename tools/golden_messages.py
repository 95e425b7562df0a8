"""Goldens of what is said: messages about bad input, help, the description and answers of the service.

Bad input comes from the collections of the tests, each of which is a table of cases. A message is kept as it
is, but for paths; everything else as digests.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer.main

import cellveil as cv
from argus.test_batch import MALFORMED as BATCHES
from argus.test_batch import METADATA, REGIONS, records
from argus.test_malformed import CORPUS
from argus.test_malformed import lay as lay_argus
from cellveil.cli.app import app
from cellveil.service.application import described_app
from certificate.test_odd_certificates import ODD
from cli.test_no_values_in_messages import CELLS as FOLDER
from cli.test_no_values_in_messages import FOLDERS, HEADER, HIERARCHIES, MICRODATA, RECORDS, TREE
from cli.test_no_values_in_messages import JOB as PLAIN_JOB
from formats.test_bad_input import CASES
from golden_jobs import command
from golden_units import Aspects, Case, Unit, digest, lasting, lasting_json
from helpers.service import FIRMS, JOB, TOKENS, ServiceClient, running_service
from job.test_bad_jobs import BAD_CALLS, BAD_JOBS, PATTERN
from job.test_bad_jobs import CELLS as INSTANCE
from job.test_bad_jobs import TREE as INSTANCE_TREE
from job.test_bad_jobs import lay as lay_job
from job.test_malformed_tables import MALFORMED as TABLES
from job.test_malformed_tables import lay as lay_table
from job.test_sdmx_tables import JOB as SDMX_JOB
from job.test_sdmx_tables import MALFORMED as OBSERVATIONS
from job.test_sdmx_tables import save
from microdata.test_sources import FAULTS, faulty_csv

# -- bad input -----------------------------------------------------------------------------------------------

Bad = Callable[[Path], Aspects]
"""Lays bad input in a folder, reads it, and tells how that ends."""


def refused(read: Callable[[Path], Any], folder: Path) -> Aspects:
    """How a function refuses what is in a folder."""
    try:
        read(folder)
    except cv.CellveilError as error:
        return {
            "exit": error.exit_code,
            "message": lasting(str(error), {f"{folder}/": "", str(folder): "‹folder›"}),
        }
    return {"exit": 0}


def ended(lay: Callable[[Path], tuple[object, ...]], folder: Path) -> Aspects:
    """How a command refuses it."""
    code, out, err = command(folder, *lay(folder))
    return {"exit": code, "message": err.replace("‹folder›/", "").strip()} | (
        {"output": digest(out)} if out else {}
    )


def written(files: Mapping[str, str | bytes], *arguments: object) -> Bad:
    """Files, and the command that reads them."""

    def lay(folder: Path) -> tuple[object, ...]:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            content = text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
            (folder / name).write_bytes(content)
        return arguments

    return partial(ended, lay)


def laid(lay: Callable[[Path], object]) -> Bad:
    """A job that is laid by a function of the tests."""

    def run(folder: Path) -> tuple[object, ...]:
        return ("run", Path(str(lay(folder))).name)

    return partial(ended, run)


def observations(lines: list[list[str]]) -> Bad:
    """A job on observations of SDMX."""

    def lay(folder: Path) -> Path:
        save(folder, lines)
        (folder / "job.toml").write_text(SDMX_JOB, encoding="utf-8")
        return folder / "job.toml"

    return laid(lay)


def faulty(changes: Mapping[str, str]) -> Bad:
    """Records of which one is at fault, tabulated."""
    trees = {"region": {"Total": {"N": ["N1", "N2"]}}, "sector": {"Total": {"A": ["A1", "A2"]}}}
    dimensions = [cv.Dimension.of(name, cv.Hierarchy.from_dict(tree)) for name, tree in trees.items()]
    roles: dict[str, Any] = {"contributor": "firm", "weight": "weight", "request": "asks", "waiver": "waives"}

    def read(folder: Path) -> None:
        cv.tabulate(faulty_csv(folder, **changes), dimensions, "sales", decimals=2, **roles)

    return partial(refused, read)


def certificate(content: bytes) -> Bad:
    """A file that is no certificate."""

    def read(folder: Path) -> None:
        (folder / "certificate").write_bytes(content)
        cv.read_certificate(folder / "certificate")

    return partial(refused, read)


def corpus(name: str, folder: Path) -> None:
    """A file of tau-ARGUS that is damaged."""
    read, files, _ = CORPUS[name]
    lay_argus(folder, **files)
    read(folder)


USAGE = (
    *("unknown", "suppress", "suppress instance", "suppress instance --out p.csv --weights two", "run"),
    *(
        "suppress instance --out p.csv --seed -1",
        "suppress instance --out p.csv --seed one",
        "demo --firms 3",
    ),
    *(
        "suppress instance --out p.csv --workers 0",
        "suppress instance --out p.csv --metod auto",
        "argus none.arb",
    ),
    *(
        "audit instance p.csv --attacker nobody",
        "check none.toml",
        "explain none.toml N",
        "compare none.toml",
    ),
    *(
        "history none",
        "init none.csv",
        "verify none none none",
        "adjust none --out a.csv",
        "serve --port 99999",
    ),
)


def bad_inputs() -> Iterator[tuple[str, Bad]]:
    """All of them, by name."""
    given = {
        "instance/cells.csv": INSTANCE,
        "instance/hier_region.csv": INSTANCE_TREE,
        "instance/pattern.csv": PATTERN,
    }
    for name, (read, _) in CASES.items():
        yield f"file · {name}", partial(refused, read)
    for name, (changes, _) in BAD_JOBS.items():
        yield f"job · {name}", laid(partial(lay_job, **changes))
    for name, (arguments, changed, _) in BAD_CALLS.items():
        files = given | {f"instance/{file}": text for file, text in changed.items()}
        yield f"command · {name}", written(files, *arguments)
    for line in USAGE:
        yield f"usage · {line}", written(given, *line.split())
    for name, (files, _) in TABLES.items():
        yield f"ready-made table · {name}", laid(lambda folder, files=files: lay_table(folder, files))
    for number, (lines, what) in enumerate(OBSERVATIONS):
        yield f"observations · {number} {what}", observations(lines)
    for number, (changes, what) in enumerate(FAULTS):
        yield f"records · {number} {what[:40]}", faulty(changes)
    for name, text in MICRODATA.items():
        region = 'hierarchy = "region.csv"'
        job = {"job.toml": PLAIN_JOB.format(more="", region=region), "region.csv": TREE}
        yield f"microdata · {name}", written(job | {"firms.csv": text}, "run", "job.toml")
    for name, text in HIERARCHIES.items():
        job = {
            "job.toml": PLAIN_JOB.format(more="", region='hierarchy = "tree.csv"'),
            "firms.csv": HEADER + RECORDS,
        }
        yield f"hierarchy · {name}", written(job | {"tree.csv": text}, "run", "job.toml")
    for name, changed in FOLDERS.items():
        files = {"i/cells.csv": FOLDER, "i/hier_region.csv": "parent,child\nTotal,N\nTotal,S\n"}
        files |= {f"i/{file}": text for file, text in changed.items()}
        yield f"instance · {name}", written(files, "suppress", "i", "--out", "p.csv")
    for name in CORPUS:
        yield f"tau-ARGUS file · {name}", partial(refused, partial(corpus, name))
    for number, (text, _, what) in enumerate(BATCHES):
        files = {"firms.csv": records(), "firms.rda": METADATA, "region.hrc": REGIONS, "job.arb": text}
        yield f"tau-ARGUS batch · {number} {what[:40]}", written(files, "argus", "job.arb", "log.txt")
    for name, content in ODD.items():
        yield f"certificate · {name}", certificate(content)


def messages(kind: str) -> Iterator[Case]:
    """The bad input of one kind."""
    for name, attempt in bad_inputs():
        if name.startswith(f"{kind} · "):
            with TemporaryDirectory() as folder:
                yield name, attempt(Path(folder).resolve())


# -- help and description ------------------------------------------------------------------------------------


def help_texts() -> Iterator[Case]:
    """`--help` of every command."""
    group: Any = typer.main.get_command(app)
    for name in [None, *sorted(group.commands)]:
        code, out, err = command(Path.cwd(), *([name] if name else []), "--help")
        options = sorted(set(re.findall(r"(?<![\w-])--[a-z][\w-]*", out)))
        yield (
            f"help · {name or 'cellveil'}",
            {"exit": code, "options": " ".join(options), "text": digest(out + err)},
        )


def description() -> Iterator[Case]:
    """The description of the service, path by path."""
    description = described_app().openapi()
    for path, operations in description["paths"].items():
        yield f"openapi · {path}", {method: digest(operation) for method, operation in operations.items()}
    for name, schema in description["components"]["schemas"].items():
        yield f"openapi · schema {name}", {"schema": digest(schema)}


# -- requests of the service ---------------------------------------------------------------------------------

REQUESTS: tuple[tuple[str, str, Any], ...] = (
    *(
        ("GET", path, None)
        for path in ("about", "session", "methods", "methods/auto", "methods/none", "rules")
    ),
    *(("GET", path, None) for path in ("attackers", "datasets", "texts/en", "texts/xx", "files", "jobs")),
    ("POST", "files/{file}/columns", None),
    ("POST", "files/none/columns", None),
    ("POST", "datasets/business-small/columns", None),
    ("POST", "drafts", {"source": {"file": "{file}"}, "choices": "{proposed}"}),
    ("POST", "drafts", {"source": {}}),
    ("POST", "checks", {"toml": JOB, "files": {"data/firms.csv": "{file}"}}),
    (
        "POST",
        "checks",
        {"toml": JOB.replace('"turnover"', '"turnovr"'), "files": {"data/firms.csv": "{file}"}},
    ),
    ("POST", "jobs", {"toml": JOB, "files": {"../x": "{file}"}}),
    ("POST", "jobs", {"verb": "explain"}),
    ("POST", "jobs", {"verb": "run", "toml": 5}),
    *(
        ("GET", f"jobs/{{job}}{rest}", None)
        for rest in ("", "/request", "/result", "/view", "/downloads", "/events")
    ),
    *(("GET", f"jobs/{{job}}/view/{name}", None) for name in ("none", "{part}", "{cells}")),
    *(
        ("GET", f"jobs/{{job}}/cells/{cell}/explanation", None)
        for cell in ("N1,small", "Total,Total", "X,small")
    ),
    *(
        ("GET", f"jobs/{{job}}/downloads/{name}", None)
        for name in ("release.zip", "job.zip", "job.toml", "none")
    ),
    *(
        ("GET", f"jobs/{{job}}/downloads/{name}", None)
        for name in ("pattern.csv", "report.json", "certificate")
    ),
    *(("POST", f"jobs/{{job}}/{verb}", None) for verb in ("stop", "cancel")),
    ("POST", "jobs/{job}/again", {"toml": "labels = '/etc/passwd'"}),
    ("POST", "files?name=a.csv", None),
    *(("POST", "session", {"token": token}) for token in (TOKENS["bob"], "x")),
    *(("GET", f"jobs/none{rest}", None) for rest in ("", "/result", "/events", "/downloads/job.toml")),
    *(
        ("DELETE", path, None)
        for path in ("jobs/{job}", "jobs/{job}", "files/{file}", "files/{file}", "session")
    ),
    *(("GET", path, None) for path in ("none", "files?limit=x", "jobs?limit=-1")),
)
"""Method, path and body; {file}, {job} and parts of its view stand for those of an uploaded table."""


def requests() -> Iterator[Case]:
    """All requests, to a service of its own, after a job on an upload is done."""
    with TemporaryDirectory() as state, running_service(Path(state)) as service, service.client() as ann:
        file = str(ann.send_file("firms.csv", FIRMS)["id"])
        job = ann.submit(JOB, {"data/firms.csv": file}, name="Turnover")
        ids = {file: "‹file›", job: "‹job›", state: "‹folder›"}
        yield "requests · job", {"state": digest(without_times(ann.waited(job), ids))}
        view, found = ann.get(f"/jobs/{job}/view").json(), ann.post(f"/files/{file}/columns").json()
        names = {"file": file, "job": job, "part": view["parts"][0]["name"], "cells": view["cells"]}
        for number, (method, path, body) in enumerate(REQUESTS):
            text = re.sub(r"\{(\w+)\}", lambda found: names[found[1]], path)
            said = (
                json.dumps(body)
                .replace("{file}", file)
                .replace('"{proposed}"', json.dumps(found["proposed"]))
            )
            given = None if body is None else json.loads(said)
            answer = ann.request(method, f"/{text}", json=given)
            yield f"requests · {number:02} · {method} {path}", answered(answer, ids)
        stranger = service.stranger().get("/api/v1/jobs")
        yield "requests · stranger", answered(stranger, ids)
        yield "requests · failed job", failing(ann)


def failing(ann: ServiceClient) -> Aspects:
    """A job with an error in it."""
    file = str(ann.send_file("firms.csv", FIRMS)["id"])
    job = ann.submit(JOB.replace('"turnover"', '"turnovr"'), {"data/firms.csv": file})
    return {"state": digest(without_times(ann.waited(job), {file: "‹file›", job: "‹job›"}))}


def without_times(data: Any, ids: Mapping[str, str]) -> str:
    """JSON data without times and ids."""
    return lasting(json.dumps(lasting_json(data), ensure_ascii=False), ids)


def answered(answer: Any, ids: Mapping[str, str]) -> Aspects:
    """Status, kind and content of an answer; of an archive that of each file."""
    found: Aspects = {"status": answer.status_code, "kind": answer.headers.get("content-type")}
    if answer.content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
            return found | {name: digest(packed.read(name)) for name in packed.namelist()}
    if answer.content and "json" in (found["kind"] or ""):
        data = answer.json()
        if isinstance(data, dict) and "error" in data:
            return found | {"message": without_times(data["error"], ids)}
        if isinstance(data, dict):
            return found | {f"· {key}": digest(without_times(data[key], ids)) for key in lasting_json(data)}
        return found | {"content": digest(without_times(data, ids))}
    if "event-stream" in (found["kind"] or ""):
        events = [
            block.partition("\n")[2] for block in answer.text.split("\n\n") if "event: progress" not in block
        ]
        return found | {"events": digest(events)}
    try:
        return found | {"content": digest(lasting(answer.content.decode(), ids))}
    except UnicodeDecodeError:
        return found | {"content": digest(answer.content)}


def units() -> Iterator[Unit]:
    """All of them."""
    for kind in dict.fromkeys(name.partition(" · ")[0] for name, _ in bad_inputs()):
        yield Unit("messages", kind, partial(messages, kind), is_quick=True)
    yield Unit("help", "help", help_texts, is_quick=True)
    yield Unit("help", "openapi", description, is_quick=True)
    yield Unit("service", "requests", requests, is_quick=True)
