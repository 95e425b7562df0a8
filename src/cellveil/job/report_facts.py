"""What a job tells its report beside the verdict: inputs with digests, the moment, rules, values or none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cellveil.job.job_model import Job
from cellveil.report.method_comparison import Comparison
from cellveil.report.run_facts import RunFacts, SearchPoint, inputs_of, now_text
from cellveil.rules import rule_from_dict


def report_facts(
    job: Job, search: tuple[SearchPoint, ...] = (), comparison: Comparison | None = None
) -> RunFacts:
    """The facts of a run of the job that ends now."""
    return RunFacts(
        made=now_text(),
        inputs=inputs_of(input_files(job)),
        job="" if job.file is None else job.file.name,
        rule=rule_from_dict(job.rules) if job.rules else None,
        values=job.report.values,
        search=search,
        comparison=comparison,
    )


def input_files(job: Job) -> list[Path]:
    """The files that a run reads, and folders of such files, the job itself first; patterns left out."""
    named = [job.file, *job.confidential_inputs(), job.labels, job.template]
    named += [table.structure for table in job.tables]
    for dimension in job.dimensions.values():
        named += [*dimension.hierarchy, dimension.recode]
    named += [None if job.previous is None else job.previous.file]
    return [path for path in named if path is not None and path.exists()]


def parameters(job: Job) -> dict[str, Any]:
    """What was set, without machine paths."""
    data = job.model_dump(mode="json", exclude_defaults=True, exclude={"output", "labels"})
    return {key: _short(value) for key, value in data.items()}


def _short(value: Any) -> Any:
    """Replace paths by file names."""
    if isinstance(value, dict):
        return {key: _short(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value]
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
