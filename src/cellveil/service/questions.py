"""What the service is asked about tables, as typed models for the OpenAPI description."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Verb = Literal["run", "compare", "suppress", "adjust", "audit", "verify"]
Id = Annotated[str, Field(min_length=16, max_length=16, pattern=r"^[A-Za-z0-9_-]{16}$")]
FileName = Annotated[str, Field(min_length=1, max_length=400)]
FileId = Annotated[
    str,
    Field(
        pattern=r"^([A-Za-z0-9_-]{16}|dataset:[a-z-]{1,40}/[A-Za-z0-9_.-]{1,80})$",
        description="The id of an upload, or dataset:NAME/FILE for a file of built-in data.",
    ),
]
Text = Annotated[str, Field(max_length=200)]
Toml = Annotated[str, Field(max_length=1_000_000, description="A job file; see the docs of jobs.")]
FilesOfJob = Annotated[
    dict[FileName, FileId],
    Field(max_length=200, description="The files of the job: their names in the job file → ids."),
]


class Asked(BaseModel):
    """The body of a request: no unknown keys."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _plain(cls, given: Any) -> Any:
        """Nothing that cannot be written as JSON again: no half characters, no numbers that are none."""
        if isinstance(given, BaseModel):
            return given
        try:
            json.dumps(given, ensure_ascii=False, allow_nan=False, default=lambda model: None).encode()
        except (ValueError, RecursionError):
            raise ValueError("not plain JSON") from None
        return given


class TokenAsked(Asked):
    """The token of a user."""

    token: Annotated[str, Field(min_length=1, max_length=500)]


class SourceWriting(Asked):
    """How a file is written, where that must be said."""

    encoding: Annotated[str, Field(max_length=40)] | None = None
    skip: Annotated[int, Field(ge=0, le=10_000)] | None = None
    sheet: Text | None = None
    query: Annotated[str, Field(max_length=10_000)] | None = None


class HierarchyChoice(BaseModel):
    """Where the levels of a dimension come from."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["flat", "levels", "digits", "built-in", "files"] = "flat"
    columns: list[Text] = Field(default_factory=list, max_length=20, description="Of levels, coarsest first.")
    digits: list[Annotated[int, Field(ge=1, le=50)]] = Field(default_factory=list, max_length=20)
    name: str | None = Field(None, max_length=60, description="Of built-in data: the dimension.")
    files: list[FileId] = Field(default_factory=list, max_length=10, description="Parent/child CSV or .hrc.")


class DimensionChoice(Asked):
    """A dimension of the tables."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    column: Text | None = None
    hierarchy: HierarchyChoice = HierarchyChoice()
    total: Text | None = Field(None, description="Code of the total, of a ready-made table.")
    to_level: Annotated[int, Field(ge=1, le=50)] | None = Field(
        None, description="Fold the hierarchy below it."
    )


class TableChoice(Asked):
    """One of the tables: they are linked."""

    dimensions: list[Text] = Field(min_length=1, max_length=10)


class Choices(Asked):
    """What a person chooses on the page: a job file is made of it."""

    title: Text = ""
    language: Literal["en", "de"] = "en"
    kind: Literal["records", "table"] = "records"
    dimensions: list[DimensionChoice] = Field(min_length=1, max_length=20)
    tables: list[TableChoice] = Field(
        default_factory=list, max_length=50, description="By default one of all."
    )
    response: Text | None = Field(None, description="The column to add up; without one, records are counted.")
    value: Text | None = Field(None, description="Of a ready-made table: its column of values.")
    status: Text | None = None
    contributors: Text | None = None
    contributor: Text | None = None
    holding: Text | None = None
    weight: Text | None = None
    request: Text | None = None
    waiver: Text | None = None
    allow_negative: bool = False
    rules: list[Text] = Field(
        default_factory=list, max_length=50, examples=[["p%:p=10", "threshold:minimum=3"]]
    )
    attackers: list[Text] | None = Field(
        None, max_length=20, description="None: contributors as well, where known; []: outsiders only."
    )
    method: Text = "auto"
    time_limit: Annotated[float, Field(gt=0, le=1e6)] | None = 60.0
    seed: Annotated[int, Field(ge=0, le=2**31)] = 0
    weights: Text = "value"
    publish: Literal["suppressed", "adjusted", "both"] = Field(
        "suppressed",
        description="both: the suppressed table is published, and an adjusted one compared with it.",
    )
    writing: SourceWriting = SourceWriting()


class DraftSource(Asked):
    """An upload, or built-in data."""

    file: Id | None = None
    dataset: Annotated[str, Field(max_length=40)] | None = None


class DraftAsked(Asked):
    """What a job file is to be made of."""

    source: DraftSource
    choices: Choices


class CheckAsked(Asked):
    """A job to be looked at before it is run."""

    toml: Toml
    files: FilesOfJob = Field(default_factory=dict)


class VerbOptions(Asked):
    """Options of a verb; those of others are refused."""

    methods: list[Text] | None = Field(None, min_length=1, max_length=20, description="Of compare.")
    weights: list[Text] | None = Field(None, min_length=1, max_length=20, description="Of compare.")
    instance: FileName | None = Field(None, description="Of verbs on instances: its name in files.")
    pattern: FileName | None = Field(None, description="Of audit and verify.")
    certificate: FileName | None = Field(None, description="Of verify.")
    attackers: list[Text] | None = Field(
        None, max_length=20, description="Of audit, and of suppress in addition."
    )
    method: Text | None = Field(None, description="Of suppress.")
    objective: Literal["l1", "value", "given", "l2"] | None = Field(None, description="Of adjust.")
    time_limit: Annotated[float, Field(gt=0, le=1e6)] | None = None
    seed: Annotated[int, Field(ge=0, le=2**31)] | None = None
    options: dict[Text, bool | int | float | str] | None = Field(None, max_length=50)


class JobAsked(Asked):
    """A job to be run."""

    verb: Verb = "run"
    name: Text = ""
    toml: Toml = ""
    files: FilesOfJob = Field(default_factory=dict)
    options: VerbOptions = VerbOptions()
    draft: dict[str, Any] | None = Field(None, description="Kept with the job as it is: the page's form.")


class AgainAsked(Asked):
    """A job to be run again, perhaps with another job file over the same files."""

    toml: Toml | None = None
    name: Text | None = None
