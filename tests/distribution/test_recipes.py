"""Container file, conda recipe, citation and lock file name what there is, and nothing that is gone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from helpers.command import Command
from helpers.distribution import PROJECT
from helpers.pages import ROOT

CONDA_NAMES = {"duckdb": "python-duckdb"}
"""Packages that conda-forge calls otherwise."""

CONTAINER = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")


def instructions(kind: str) -> list[str]:
    return [line.split(maxsplit=1)[1] for line in CONTAINER.splitlines() if line.split(" ")[0] == kind]


def in_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def plain(requirement: str) -> tuple[str, str]:
    parsed = Requirement(requirement)
    name = canonicalize_name(parsed.name)
    return CONDA_NAMES.get(name, name), str(parsed.specifier)


def test_the_conda_recipe_needs_what_the_package_needs() -> None:
    recipe = in_yaml(ROOT / "recipe" / "recipe.yaml")
    assert recipe["context"]["version"] == PROJECT["version"]
    wanted = {plain(text) for text in PROJECT["dependencies"]} | {("python", PROJECT["requires-python"])}
    assert {plain(text) for text in recipe["requirements"]["run"]} == wanted
    assert ("python", PROJECT["requires-python"]) in map(plain, recipe["requirements"]["host"])
    entries = {f"{name} = {place}" for name, place in PROJECT["scripts"].items()}
    assert set(recipe["build"]["python"]["entry_points"]) == entries
    assert (ROOT / recipe["about"]["license_file"]).is_file()


def test_the_citation_is_of_this_version() -> None:
    citation = in_yaml(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert citation["title"] == PROJECT["name"] and citation["license"] == PROJECT["license"]
    assert str(citation["version"]) == PROJECT["version"]
    assert [author["name"] for author in citation["authors"]] == [who["name"] for who in PROJECT["authors"]]
    assert citation["message"]


def test_the_container_copies_files_that_are_there() -> None:
    ignored = set((ROOT / ".dockerignore").read_text("utf-8").split("\n"))
    copied = [name for line in instructions("COPY") if "--from" not in line for name in line.split()[:-1]]
    assert {"pyproject.toml", "src"} <= set(copied)
    assert all((ROOT / name).exists() and name not in ignored for name in copied)
    needed = {"pyproject.toml", "hatch_build.py", PROJECT["readme"], *PROJECT["license-files"]}
    assert needed <= set(copied)


def test_the_container_installs_extras_that_exist() -> None:
    (extras,) = re.findall(r"\.\[([\w,]+)\]", CONTAINER)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]) - {"test", "dist", "docs"}
    assert "service" in extras.split(",")
    assert all("python:3.11-slim" in image for image in instructions("FROM"))


def test_nobody_with_rights_runs_in_the_container() -> None:
    lines = [line for line in CONTAINER.splitlines() if line.split(" ")[0] in ("USER", "ENTRYPOINT", "RUN")]
    assert lines[-2:] == ["USER 10001", 'ENTRYPOINT ["cellveil"]']


def test_the_container_starts_a_command_that_is_understood(command: Command) -> None:
    (line,) = instructions("CMD")
    words = yaml.safe_load(line)
    options = [word for word in words[1:] if word.startswith("--")]
    ended = command(words[0], "--help")
    assert ended.code == 0 and all(option in ended.out for option in options)
    port = words[words.index("--port") + 1]
    assert instructions("EXPOSE") == [port]
    (health,) = instructions("HEALTHCHECK")
    assert f"https://127.0.0.1:{port}/" in health
    code = yaml.safe_load(health[health.index("[") :])[-1]
    compile(code, "healthcheck", "exec")


def test_every_dependency_is_pinned() -> None:
    pinned = {canonicalize_name(line.split("==")[0]) for line in (ROOT / "requirements.lock").open()}
    asked = [
        *PROJECT["dependencies"],
        *(each for some in PROJECT["optional-dependencies"].values() for each in some),
    ]
    names = {canonicalize_name(Requirement(text).name) for text in asked} - {PROJECT["name"]}
    assert names <= pinned
