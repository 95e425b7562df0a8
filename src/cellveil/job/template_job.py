"""Jobs from templates: linked tables, dimensions and equations in place of lines of a job file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cellveil.errors import InputError, counted
from cellveil.files import path_from
from cellveil.job.data_sections import MicrodataJob
from cellveil.job.template_plan import TemplatePlan, TemplateRecords, plan_template
from cellveil.microdata.data_files import under
from cellveil.microdata.source_options import SourceOptions


def with_template(data: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The data of a job file with what its template lists, and what was inferred, in words.

    What the file itself says of dimensions and equations comes first.
    """
    job = dict(data)
    if not isinstance(job.get("template"), str):
        return job, ()
    equations = job.get("equations", {})
    known = {left: list(right) for left, right in equations.items()} if isinstance(equations, dict) else {}
    plan = plan_template(folder / job["template"], _records(job, folder), known)
    planned: dict[str, dict[str, Any]] = {
        "dimensions": {name: dict(one) for name, one in plan.dimensions.items() if one},
        "equations": {left: list(right) for left, right in plan.equations.items()},
    }
    for key, found in planned.items():
        own = job.get(key, {})
        if found and isinstance(own, dict):
            job[key] = found | own
    own_tables = job.get("tables", [])
    if isinstance(own_tables, list):
        job["tables"] = [*own_tables, *map(dict, plan.tables)]
    title = Path(job["template"]).name
    clusters = f"{counted(len(plan.tables), 'table')} in {counted(len(plan.clusters), 'independent cluster')}"
    return job, tuple(f"{title}: {note}" for note in (clusters, *plan.notes))


def _records(job: Mapping[str, Any], folder: Path) -> TemplateRecords | None:
    try:
        micro = MicrodataJob.model_validate(job.get("microdata"))
    except ValidationError:  # the job says what is wrong with it
        return None
    if micro.engine != "duckdb":
        raise InputError(
            f"a template looks into the records, and {micro.engine} has them",
            remedy="List the tables in the job, or use files and DuckDB.",
        )
    return TemplateRecords([under(folder, name) for name in micro.file], micro.source_options())


def plan_of_files(template: Path, data: Path | None) -> TemplatePlan:
    """What a template comes to, with the records of a file."""
    records = None if data is None else TemplateRecords([str(data)], SourceOptions())
    return plan_template(template, records)


def job_text(plan: TemplatePlan, template: Path, data: Path | None, folder: Path) -> str:
    """A job file over the tables of a template, with what was inferred as comments.

    Parameters
    ----------
    folder
        Where the file will stand; its paths are relative to that folder.
    """
    lines = [
        f"# Tables of {template.name}: {len(plan.tables)}, in {len(plan.clusters)} independent clusters, all",
        "# protected and audited together. Approve what was inferred:",
        *(f"#   {note}" for note in plan.notes),
        *(f"#   cluster {n}: {', '.join(cluster)}" for n, cluster in enumerate(plan.clusters, 1)),
        'output = "results"',
        "",
        "[microdata]",
        f"file = {json.dumps(path_from(folder, data) if data else 'records.csv', ensure_ascii=False)}",
        '# contributor = "…"            the column with the ids of contributors',
        "",
    ]
    for name, settings in plan.dimensions.items():
        if settings:
            shown = dict(settings)
            if "hierarchy" in shown:
                shown["hierarchy"] = path_from(folder, Path(shown["hierarchy"]))
            lines += [f"[dimensions.{_text(name)}]", *_keys(shown), ""]
    for table in plan.tables:
        lines += ["[[tables]]", *_keys(table), ""]
    if plan.equations:
        lines += [
            "[equations]",
            *_keys({_text(left): list(right) for left, right in plan.equations.items()}),
            "",
        ]
    lines += [
        "# Which cells are unsafe is for you to say, for example:",
        "# [[rules]]",
        '# rule = "p%"',
        "# p = 10",
    ]
    return "\n".join(lines) + "\n"


def _keys(settings: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {_text(value)}" for key, value in settings.items()]


def _text(value: Any) -> str:
    """A value as TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(key)} = {_text(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
