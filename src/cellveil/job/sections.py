"""Sections of a job file (data, tables, rules, suppression, release): each key with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    model_validator,
)
from pydantic_core import PydanticCustomError

from cellveil.attackers.prior_knowledge import attacker_faults
from cellveil.errors import InputError
from cellveil.publishing.excel import has_excel

FAULT = "job"
"""Type of the validation errors whose words and place are our own."""


def fault(what: str, remedy: str, *at: str | int) -> PydanticCustomError:
    """A validation error in our words; `at` leads from the object at hand to the key."""
    return PydanticCustomError(FAULT, "{what}. {remedy}", {"what": what, "remedy": remedy, "at": at})


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str | Path) else given


def _as_terms(given: Any) -> Any:
    """The parts of a sum with their coefficients."""
    if not isinstance(given, list):
        return given
    if len({str(part) for part in given}) < len(given):
        raise fault("a part stands twice in the sum", "Name it once, or write {part = 2}.")
    return {part if isinstance(part, str) else str(part): 1 for part in given}


def _as_percent(given: Any, info: ValidationInfo) -> Any:
    """A percentage as a number; below 1 it must be written with its sign."""
    from cellveil.rules.percentages import percentage

    is_signed = isinstance(given, str) and given.endswith("%")
    is_share = isinstance(given, float) and 0 < given < 1
    if not is_signed and not is_share:
        return given
    try:
        return float(percentage(given, info.field_name or "it", high=10**9, zero=True))
    except InputError as error:
        raise fault(error.what, error.remedy) from None


def _as_unit(given: Any) -> Any:
    """One text for all variables, or one for each."""
    texts = list(given.values()) if isinstance(given, dict) else [given]
    if not all(isinstance(text, str) for text in texts):
        raise fault(
            "the unit is neither a text nor a set of texts",
            'Write unit = "EUR 1,000", or unit = {turnover = "EUR 1,000", staff = "persons"}.',
        )
    return given


def _check_rule(data: Any) -> Any:
    from cellveil.rules import rule_from_dict

    try:
        rule_from_dict(data)
    except InputError as error:
        raise fault(error.what, error.remedy) from None
    except (TypeError, ValueError):
        raise fault("an option of the rule has the wrong type", "Write numbers without quotes.") from None
    return data


def _check_method(name: str) -> str:
    from cellveil.suppression.methods import METHODS, unknown_method

    if name not in METHODS:
        raise fault((error := unknown_method(name)).what, error.remedy)
    return name


File = Annotated[Path, Field(strict=False)]

Files = Annotated[list[File], BeforeValidator(_as_list)]

NAMES_FILES = "names files"
"""Marks texts that are paths or patterns of paths."""

FilePatterns = Annotated[list[str], BeforeValidator(_as_list), NAMES_FILES]

Terms = Annotated[dict[str, int], BeforeValidator(_as_terms)]

RuleTable = Annotated[
    Any, AfterValidator(_check_rule), PlainSerializer(lambda rule: getattr(rule, "text", rule))
]
"""A set of keys, the same in short, or a rule as it is."""

Method = Annotated[str, AfterValidator(_check_method)]

Unit = Annotated[str | dict[str, str], BeforeValidator(_as_unit)]

Percent = Annotated[float, BeforeValidator(_as_percent)]

Format = Literal["csv", "parquet", "sdmx", "xlsx", "html"]


class Section(BaseModel):
    """No unknown keys, no guessing of types, no changes after reading."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    def first_given(self, *names: str) -> str | None:
        """The first of these keys that the job sets."""
        return next((name for name in names if name in self.model_fields_set), None)


class WeightsJob(Section):
    """What hiding a cell costs."""

    kind: str = Field(
        "value",
        description="value, one, count (contributors), log (of the value), distance (from unsafe cells), or "
        "a cost column.",
    )
    power: float = Field(1.0, gt=0, description="Exponent of the weights.")
    box_cox: float | None = Field(
        None,
        ge=0,
        description="λ, in place of the exponent: weights w become w^λ, and log(1 + w) for λ = 0.",
    )
    distance: dict[str, list[float]] = Field(
        default_factory=dict,
        description="Of distance, by dimension: costs of 1, 2, 3, 4, and of 5 or more places in the order of "
        "the codes; by default 1 for all.",
    )

    @model_validator(mode="after")
    def _fitting(self) -> WeightsJob:
        is_distance = self.kind == "distance"
        if self.box_cox is not None and self.first_given("power"):
            raise fault("both power and box_cox are given", "Leave one of them out.", "box_cox")
        if self.distance and not is_distance:
            raise fault("distance is given for other weights", 'Write kind = "distance".', "distance")
        odd = self.first_given("power", "box_cox")
        if is_distance and odd:
            raise fault(f"weights by distance have no {odd}", "Leave it out.", odd)
        return self


class LevelsJob(Section):
    """Changes to the protection levels that the rules give."""

    lower_factor: float = Field(1.0, ge=0, description="Factor on lower levels.")
    upper_factor: float = Field(1.0, ge=0, description="Factor on upper levels.")
    sliding: float | None = Field(
        None, gt=0, description="Least width of every interval, in the unit of the response."
    )
    safety_range: Percent = Field(20.0, gt=0, description="Level of cells set unsafe by hand, in per cent.")

    @model_validator(mode="after")
    def _some(self) -> LevelsJob:
        if not (self.lower_factor or self.upper_factor or self.sliding):
            raise fault(
                "both factors are 0 and there is no sliding level, so nothing would be protected",
                "Give a factor above 0.",
            )
        return self


class CellJob(Section):
    """One cell set by hand."""

    key: dict[str, str] = Field(description="Code by dimension; a dimension left out means the total.")
    status: Literal["u", "m", "s", "z"] = Field(
        description="u unsafe, m hidden, s may be published, z must be published."
    )
    waived: bool = Field(
        False, description="Publish it although the rules call it unsafe: its contributors agreed."
    )

    @model_validator(mode="after")
    def _published(self) -> CellJob:
        if self.waived and self.status not in ("s", "z"):
            raise fault("a waived cell is one to be published", "Give it the status s or z.", "waived")
        return self


Options = dict[str, bool | int | float | str | list[float]]


class SuppressJob(Section):
    """How secondary cells are found."""

    method: Method = Field("auto", description="Name of the method; `cellveil methods` lists them.")
    time_limit: float | None = Field(None, gt=0, description="Seconds for the search.")
    seed: int = Field(0, ge=0, description="For methods that draw random numbers.")
    seeds: int = Field(
        1,
        ge=1,
        le=100,
        description="Searches with so many seeds, from `seed` on, side by side where there are workers; the "
        "cheapest certified pattern is kept.",
    )
    relax: bool = Field(
        False,
        description="Where cells cannot be protected: free the cheapest cells that must be published, or "
        "lower levels, and list them in the report.",
    )
    options: Options = Field(
        default_factory=dict,
        description="Further settings of the method, by name; `cellveil methods NAME` lists them.",
    )

    @model_validator(mode="after")
    def _known_options(self) -> SuppressJob:
        from cellveil.suppression.suppressing import read_options

        try:
            read_options(self.method, self.options)
        except InputError as error:
            raise fault(error.what, error.remedy, "options") from None
        return self


class AdjustJob(Section):
    """An adjusted table beside the pattern, compared with it in the report; or published in its place."""

    publish: bool = Field(
        False,
        description="Publish the adjusted table in place of the suppressed one; never both, as together they "
        "would tell what was hidden.",
    )
    objective: Literal["l1", "value", "given", "l2"] = Field("l1", description="What is minimised.")
    limit: Percent | None = Field(
        None, ge=0, description="How far cells that are not sensitive may move, in per cent."
    )
    limit_marginals: Percent | None = Field(None, ge=0, description="The same for totals, if another.")
    limit_total: Percent | None = Field(None, ge=0, description="The same for the grand total; 0 keeps it.")
    time_limit: float | None = Field(None, gt=0, description="Seconds for the search.")
    seed: int = Field(0, ge=0, description="For methods that draw random numbers.")
    options: Options = Field(
        default_factory=dict,
        description="Further settings of the search, by name; `cellveil methods adjust` lists them.",
    )

    @model_validator(mode="after")
    def _known_options(self) -> AdjustJob:
        from cellveil.adjustment.adjust_params import AdjustParams

        try:
            AdjustParams().changed(self.options)
        except InputError as error:
            raise fault(error.what, error.remedy, "options") from None
        return self


class AttackerJob(Section):
    """An attacker to test besides those by default: outsiders, and contributors where these are known."""

    kind: Literal["outsider", "integer", "insider", "pq"] = Field(
        description="outsider (with prior knowledge), integer (knows that values are whole), insider (a "
        "contributor who knows its own part), pq (one who also knows the others' to within q %)."
    )
    p: float | None = Field(None, gt=0, le=100, description="Of pq, in per cent.")
    q: float = Field(100.0, gt=0, le=100, description="Of pq, in per cent.")
    level: Literal["unit", "holding"] = Field("unit", description="Who is an insider.")
    coalition: int = Field(1, ge=1, description="How many insiders put their knowledge together.")
    prior: float | None = Field(
        None, gt=0, description="Of outsider and integer: knows every value to within so many per cent."
    )
    exempt: list[dict[str, str]] = Field(
        default_factory=list,
        description="Of insider and pq: cells that need not be protected from them, by their codes (a "
        "dimension left out: its total). A decision that verdict and report record.",
    )
    exempt_reason: str = Field("", description="Why these cells are exempt: the report lists them with it.")

    @model_validator(mode="after")
    def _complete(self) -> AttackerJob:
        for found in attacker_faults(**self.model_dump()):
            raise fault(found.what, found.remedy, found.option)
        return self


class PreviousJob(Section):
    """The pattern of a former month, which the new one is to resemble."""

    file: File = Field(description="A pattern.csv, the folder of a former release, or an output folder.")
    weight: float = Field(
        0.5,
        gt=0,
        le=1,
        description="Factor on what it costs to hide a cell that was hidden before: the smaller, the more "
        "such cells are preferred; 1 for no preference.",
    )
    freeze: Literal["nothing", "published"] = Field(
        "nothing",
        description="published: cells that were published before may not be hidden now, unless they are "
        "unsafe. Where that leaves no safe pattern, the cheapest of them are freed and named.",
    )


class AgainstJob(Section):
    """Former releases that everybody can lay beside the new one."""

    releases: Files = Field(
        min_length=1,
        description="Folders of former releases of the same or overlapping data, or output folders: the new "
        "release is attacked together with them, and refused where that opens cells of one or the other.",
    )
    dimensions: dict[str, str] = Field(
        default_factory=dict,
        description="Where a release does not say it: the column of the data that each of its dimensions "
        'classifies by, such as {region = "reg"}.',
    )
    codes: dict[str, dict[str, list[str]]] = Field(
        default_factory=dict,
        description="Where a release does not say it: what its codes contain, by dimension, as codes of the "
        'data, such as {size = {small = ["1", "2"]}}; of one of several releases: {"out0.size" = …}.',
    )
    growth: float | None = Field(
        None,
        gt=0,
        description="For releases of another period: their figures are taken for those of today within so "
        "many per cent.",
    )
    accept_known: str = Field(
        "",
        description="Why the release is made although earlier releases give some of its unsafe cells away, "
        "whatever is suppressed now; verdict and report repeat it.",
    )


def _as_previous(given: Any) -> Any:
    return {"file": given} if isinstance(given, str | Path) else given


def _as_against(given: Any) -> Any:
    return {"releases": given} if isinstance(given, str | Path | list) else given


Previous = Annotated[PreviousJob, BeforeValidator(_as_previous)]

Against = Annotated[AgainstJob, BeforeValidator(_as_against)]


class ReleaseJob(Section):
    """The public files."""

    formats: list[Format] = Field(
        default=["csv", "parquet", "xlsx", "html"], min_length=1, description="Which files to write."
    )
    symbol: str = Field(
        "x",
        description="Stands for hidden values; empty leaves them empty. It may not tell of the value, as <5 "
        "does.",
    )
    decimals: int | None = Field(None, ge=0, le=9, description="Decimals shown to people.")
    note: str = Field("", description="A public note.")
    date: str = Field("", description="A public date.")
    source: str = Field("", description="Where the figures come from.")
    unit: Unit = Field(
        "", description="In what the figures are measured; of several variables {variable = unit, …}."
    )
    contact: str = Field("", description="Whom to ask: a name, an address.")

    @property
    def written(self) -> list[Format]:
        """The formats; a workbook that nobody has asked for only where its package is installed."""
        if "formats" in self.model_fields_set or has_excel():
            return self.formats
        return [name for name in self.formats if name != "xlsx"]


class ReportJob(Section):
    """The internal report."""

    values: bool = Field(
        True,
        description="Whether the page carries the values of hidden cells. They are seen only when a reader "
        "asks for them; false leaves them out.",
    )
    compare: Annotated[list[Method], BeforeValidator(_as_list)] = Field(
        [],
        description="Methods to compare the job's own one with: each runs with the same time limit, and the "
        "report sets them side by side. Nothing of them is released.",
    )
