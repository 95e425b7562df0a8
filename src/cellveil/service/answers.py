"""What the service answers about tables, as typed models for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from cellveil.service.questions import Choices, HierarchyChoice, Id


class ErrorFacts(BaseModel):
    """What is wrong, where, and what to do about it; never a value of the data."""

    kind: str = Field(description="One word.", examples=["input"])
    message: str = Field(examples=["job.toml, line 4: unknown key 'tittle'. Did you mean 'title'?"])
    hint: str | None = None
    file: str | None = None
    line: int | None = None
    cell: str | None = None
    exit_code: int | None = Field(None, description="Of the command line, where it has one.")


class ErrorAnswer(BaseModel):
    """The answer to whatever cannot be done."""

    error: ErrorFacts


class About(BaseModel):
    """The service, and who is asking."""

    name: str = "cellveil"
    version: str
    user: str
    languages: list[str]
    methods: list[str]
    limits: dict[str, float]


class SessionFacts(BaseModel):
    """A session of the page: it sends `session` in place of the token."""

    user: str
    session: str | None = Field(None, description="Told once, to who begins the session.")


class FileFacts(BaseModel):
    """An uploaded file: `stored` is the safe name under which drafts refer to it."""

    id: Id
    name: str
    stored: str
    bytes: int
    sha256: str
    created: float = Field(description="Seconds since 1970.")


class ColumnFacts(BaseModel):
    """A column of a data file, and what it seems to be."""

    name: str
    kind: Literal["text", "number"]
    distinct: int
    codes: list[str] = Field(description="The first codes, of dimensions.")
    missing: int
    role: Literal[
        "dimension",
        "response",
        "contributor",
        "weight",
        "holding",
        "request",
        "waiver",
        "status",
        "count",
        "ignore",
    ]
    has_negative: bool = False
    hierarchy: HierarchyChoice | None = None


class Recognised(BaseModel):
    """The columns of a file, and the choices that they propose."""

    kind: Literal["records", "table"]
    rows: int = Field(description="Records that were looked at.")
    columns: list[ColumnFacts]
    proposed: Choices | None = None


class DraftAnswer(BaseModel):
    """A job file, and the files that it names."""

    toml: str
    files: dict[str, str]


class TableSize(BaseModel):
    """One table of a job."""

    name: str
    dimensions: dict[str, int]
    cells: int


class CheckAnswer(BaseModel):
    """What the search will be asked, as `cellveil check --json` tells it."""

    model_config = ConfigDict(extra="allow")

    title: str
    tables: list[TableSize]
    cells: int
    relations: int
    primaries: int
    rules: dict[str, int] = Field(description="Unsafe cells by rule.")
    frozen: int
    hidden: int
    zeros: int
    demands: int
    against: str
    not_asked: str
    method: str
    plan: str
    time_limit: float | None
    feasible: bool
    warnings: list[str]
    notes: list[str]


class JobRequest(BaseModel):
    """What was asked of a job."""

    verb: str
    name: str
    toml: str
    files: dict[str, str]
    options: dict[str, Any]
    draft: dict[str, Any] | None = None


class ProgressFacts(BaseModel):
    """How far a job is; costs with four significant digits."""

    model_config = ConfigDict(extra="allow")

    phase: str
    place: int | None = Field(None, description="Which of the phases it is, from 1.")
    phases: int | None = None
    stage: str = ""
    share: float | None = Field(None, description="Of the stage.")
    elapsed: float = Field(description="Seconds since the job began.")
    limit: float | None = Field(None, description="Seconds of the phase.")
    left: float | None = None
    cost: float | None = None
    bound: float | None = None
    gap: float | None = Field(None, description="A share.")
    published: float | None = Field(None, description="Share of the cells.")


class JobFacts(BaseModel):
    """A job, and where it stands; times in seconds since 1970."""

    id: Id
    name: str
    verb: str
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    created: float
    began: float | None = None
    ended: float | None = None
    exit_code: int | None = Field(None, description="Of the command line: 0 safe, 1 not safe, 3 infeasible …")
    safe: bool | None = None
    verdict: str | None = None
    progress: ProgressFacts | None = None
    error: ErrorFacts | None = None


class ResultAnswer(BaseModel):
    """What a job came to: its verdict, against whom, and all figures of its report."""

    safe: bool | None
    verdict: str | None
    against: str = Field(description="Who is kept off, in words; empty where nobody is shown to be.")
    not_asked: str
    report: dict[str, Any] = Field(description="The content of report.json.")


class ViewPart(BaseModel):
    """A part of the report, to be shown on the page."""

    name: str
    title: str


class ViewManifest(BaseModel):
    """The parts of the report in their order, and the file with the data of all cells."""

    model_config = ConfigDict(extra="allow")

    parts: list[ViewPart]
    cells: str | None = None


class ExplanationAnswer(BaseModel):
    """One cell, as `cellveil explain --json` tells it. Confidential."""

    model_config = ConfigDict(extra="allow")


class DownloadFacts(BaseModel):
    """A file to be taken along."""

    name: str
    bytes: int | None = Field(None, description="None where it is made when asked for.")
    about: str
    is_public: bool


class ParameterFacts(BaseModel):
    """A parameter of a rule, an attacker or a method."""

    name: str
    kind: Literal["number", "integer", "choice", "boolean", "text", "numbers"]
    default: Any = None
    is_required: bool = False
    choices: list[str] | None = None
    least: float | None = None
    most: float | None = None
    about: str


class NamedFacts(BaseModel):
    """A rule, preset, attacker or method with a sentence and its parameters."""

    name: str
    title: str
    about: str
    group: str | None = None
    parameters: list[ParameterFacts]


class RulesAnswer(BaseModel):
    """All rules, and presets that decide as other tools do."""

    rules: list[NamedFacts]
    presets: list[NamedFacts]


class DatasetFacts(BaseModel):
    """Built-in data."""

    name: str
    title: str
    about: str
    rows: int
    files: list[str]
