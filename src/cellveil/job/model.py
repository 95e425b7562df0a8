"""The job file, key by key, validated on reading. An unknown key is an error that names the nearest one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cellveil.errors import InputError, nearest_name
from cellveil.files import read_text


class _Strict(BaseModel):
    """No unknown keys, no changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DimensionJob(_Strict):
    """``[dimensions.NAME]``: where the codes of a dimension come from."""

    column: str | None = Field(None, description="Column of the data; by default the dimension's name.")
    hierarchy: Path | list[Path] | None = Field(
        None, description="Parent/child CSV or indented .hrc; several for overlapping hierarchies."
    )
    digits: list[int] | None = Field(None, description="Widths of the levels of codes that are prefixes.")
    levels: list[str] | None = Field(
        None, description="Columns of the microdata that hold the levels, coarsest first, above the codes."
    )
    total: str = Field("Total", description="Code of the total.")
    lead: str = Field("@", description="Indent string of .hrc files.")

    @model_validator(mode="after")
    def _one_source(self) -> DimensionJob:
        given = [name for name in ("hierarchy", "digits", "levels") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)} are given; give one of them")
        return self

    def hierarchy_files(self) -> list[Path]:
        """The files, as a list."""
        return (
            self.hierarchy if isinstance(self.hierarchy, list) else [self.hierarchy] if self.hierarchy else []
        )


class MicrodataJob(_Strict):
    """``[microdata]``: the records and the roles of their columns."""

    file: str | list[str] = Field(description="CSV or Parquet, also several or a pattern such as part-*.csv.")
    contributor: str | None = Field(None, description="Column with the id of the contributor.")
    holding: str | None = Field(None, description="Column with the id of the holding.")
    weight: str | None = Field(None, description="Column with sampling weights.")
    request: str | None = Field(None, description="Column that says who requests protection.")
    request_codes: tuple[str, str] = Field(("1", "2"), description="The two codes that request it.")
    waiver: str | None = Field(None, description="Column that says who waived protection.")
    allow_negative: bool = Field(False, description="Whether contributions may be negative.")
    delimiter: str | None = Field(None, description="Of CSV files; by default found in the header.")
    encoding: str = Field("utf-8", description="Of CSV files.")
    memory_limit: str | None = Field(None, description="For tabulation, for example 4GB.")


class TableJob(_Strict):
    """``[[tables]]``: one table; several are linked and protected together."""

    dimensions: list[str] = Field(min_length=1, description="Names of its dimensions.")
    response: str | None = Field(
        None, description="Variable of the microdata to add up; none counts records."
    )
    shadow: str | None = Field(None, description="Variable the rules look at; by default the response.")
    costs: list[str] = Field(default_factory=list, description="Further variables to add up, for weights.")
    decimals: int | None = Field(None, ge=0, le=9, description="Declared decimals; by default as needed.")
    rounding: bool = Field(False, description="Round microdata to the decimals instead of an error.")
    file: Path | None = Field(None, description="A ready-made table: CSV, Parquet or Excel.")
    value: str = Field("value", description="Its column of values.")
    contributors: str | None = Field(None, description="Its column with the number of contributors.")
    totals: Literal["given", "none"] = Field("given", description="Whether it holds its totals.")
    incomplete: Literal["error", "allow"] = Field("error", description="Totals without parts.")
    repair: bool = Field(False, description="Compute totals anew where they do not add up.")
    allow_negative: bool = Field(False, description="Whether values may be negative.")


class WeightsJob(_Strict):
    """``[weights]``: what hiding a cell costs."""

    kind: str = Field("value", description="value, one, count, log, or the name of a cost variable.")
    power: float = Field(1.0, gt=0, description="Exponent of the weight.")


class LevelsJob(_Strict):
    """``[levels]``: changes to the levels the rules give."""

    lower_factor: float = Field(1.0, ge=0, description="Factor on lower levels.")
    upper_factor: float = Field(1.0, ge=0, description="Factor on upper levels.")
    sliding: float | None = Field(
        None, gt=0, description="Least width of every interval, in the response's unit."
    )
    safety_range: float = Field(20.0, gt=0, description="Per cent, for cells set unsafe by hand.")


class CellJob(_Strict):
    """``[[cells]]``: one cell set by hand."""

    key: dict[str, str] = Field(description="Code by dimension; a dimension left out means the total.")
    status: Literal["u", "m", "s", "z"] = Field(
        description="u unsafe, m hidden, s publishable, z must be published."
    )


class SuppressJob(_Strict):
    """``[suppress]``: the method."""

    method: str = Field("auto", description="Name of the method.")
    time_limit: float | None = Field(None, gt=0, description="Seconds.")
    seed: int = Field(0, ge=0, description="For methods that draw random numbers.")


class ReleaseJob(_Strict):
    """``[release]``: the public files."""

    formats: tuple[Literal["csv", "parquet", "xlsx", "html"], ...] = Field(
        ("csv", "parquet", "xlsx", "html"), description="Which files to write."
    )
    symbol: str = Field("x", description="Stands for hidden values; empty leaves them empty.")
    decimals: int | None = Field(None, ge=0, le=9, description="Decimals shown.")
    note: str = Field("", description="A public note.")
    date: str = Field("", description="A public date.")


class Job(_Strict):
    """A whole publication: data, rules, method, release."""

    title: str = Field("", description="Shown in report and release.")
    output: Path = Field(Path("cellveil-output"), description="Folder for the results.")
    instance: Path | None = Field(None, description="A JJ file or tidy folder, instead of tables.")
    microdata: MicrodataJob | None = None
    dimensions: dict[str, DimensionJob] = Field(default_factory=dict)
    tables: list[TableJob] = Field(default_factory=list)
    equations: dict[str, list[str] | dict[str, int]] = Field(
        default_factory=dict, description="Between response variables."
    )
    rules: list[dict[str, Any]] = Field(
        default_factory=list, description="A cell is unsafe if any of them fires."
    )
    bounds: Literal["natural", "free", "tau-argus"] = Field("natural", description="What everybody knows.")
    weights: WeightsJob = WeightsJob()
    levels: LevelsJob = LevelsJob()
    cells: list[CellJob] = Field(default_factory=list)
    labels: Path | None = Field(None, description="CSV with dimension, code, label.")
    suppress: SuppressJob = SuppressJob()
    release: ReleaseJob = ReleaseJob()

    @model_validator(mode="after")
    def _consistent(self) -> Job:
        if (self.instance is None) == (not self.tables):
            raise ValueError("give either instance or at least one [[tables]]")
        if self.instance is not None and (self.rules or self.cells or self.microdata):
            raise ValueError("an instance has its statuses and levels: leave out microdata, rules and cells")
        for table in self.tables:
            if table.file is None and self.microdata is None:
                raise ValueError("a table has no file and there is no [microdata]")
            if table.file is not None and table.response is not None:
                raise ValueError("a table has both a file and a response; name its column of values as value")
        if self.tables and not self.rules and not any(cell.status == "u" for cell in self.cells):
            raise ValueError("there are no rules and no unsafe cells, so nothing would be protected")
        return self


def read_job(path: Path | str) -> Job:
    """Read and validate a job file; its paths are taken relative to its folder.

    Raises
    ------
    InputError
        With file, line and key, and the nearest known name of an unknown key.
    """
    path = Path(path)
    text = read_text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"not valid TOML ({re.sub(r' *[(]at .*', '', str(error)).lower()})",
            file=path,
            line=int(at[1]) if at else None,
            remedy="Check quotes, brackets and equals signs there.",
        ) from None
    try:
        job = Job.model_validate(data)
    except ValidationError as error:
        raise _explained(error, path, text) from None
    return _with_paths(job, path.parent)


def _explained(error: ValidationError, path: Path, text: str) -> InputError:
    """The first fault, in our words."""
    fault = error.errors(include_url=False, include_input=False)[0]
    location = [part for part in fault["loc"] if isinstance(part, str)]
    key = ".".join(location)
    line = _line_of(location, text)
    if fault["type"] == "extra_forbidden":
        known = _known_keys(fault["loc"][:-1])
        return InputError(
            f"unknown key {key!r}", file=path, line=line, remedy=nearest_name(location[-1], known)
        )
    if fault["type"] == "missing":
        return InputError(f"the key {key!r} is missing", file=path, line=line, remedy="Add it.")
    what = fault["msg"].removeprefix("Value error, ")
    return InputError(
        f"{key}: {what}" if key else what, file=path, line=line, remedy="See the docs of job files."
    )


def _known_keys(location: Sequence[int | str]) -> list[str]:
    """The keys of the part of the job at this location."""
    model: type[BaseModel] = Job
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            model = _MODEL_OF.get((model, part), model)
    return list(model.model_fields)


_MODEL_OF: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (Job, "microdata"): MicrodataJob,
    (Job, "dimensions"): DimensionJob,
    (Job, "tables"): TableJob,
    (Job, "weights"): WeightsJob,
    (Job, "levels"): LevelsJob,
    (Job, "cells"): CellJob,
    (Job, "suppress"): SuppressJob,
    (Job, "release"): ReleaseJob,
}


def _line_of(location: Sequence[str], text: str) -> int | None:
    """Line on which the last key of the location is set, as far as a plain search finds it."""
    for key in reversed(location):
        pattern = re.compile(rf'(^|[\[.{{,]\s*|^\s*)"?{re.escape(key)}"?\s*(=|\]|\.)')
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                return number
    return None


def _with_paths(job: Job, base: Path) -> Job:
    """The job with its paths made absolute to the folder of the job file."""

    def absolute(path: Path | None) -> Path | None:
        return None if path is None else base / path

    def each(given: str | list[str]) -> list[str]:
        return [str(base / name) for name in ([given] if isinstance(given, str) else given)]

    dimensions = {
        name: dimension.model_copy(
            update={"hierarchy": [base / file for file in dimension.hierarchy_files()] or None}
        )
        for name, dimension in job.dimensions.items()
    }
    return job.model_copy(
        update={
            "output": base / job.output,
            "instance": absolute(job.instance),
            "labels": absolute(job.labels),
            "microdata": job.microdata
            and job.microdata.model_copy(update={"file": each(job.microdata.file)}),
            "dimensions": dimensions,
            "tables": [table.model_copy(update={"file": absolute(table.file)}) for table in job.tables],
        }
    )
