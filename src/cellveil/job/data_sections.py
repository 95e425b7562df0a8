"""Sections of a job file about the data: dimensions, microdata and tables, each key with its help."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from cellveil.errors import InputError, nearest_name
from cellveil.formats.aggregated import CellColumns
from cellveil.job.sections import File, FilePatterns, Files, Section, fault
from cellveil.microdata.engine_choice import EngineChoice, EngineName
from cellveil.microdata.number_marks import NumberMarks
from cellveil.microdata.source_options import SourceOptions
from cellveil.publishing.sdmx_codes import CONF_MEANINGS, OBS_VALUE

READY_MADE = (
    *("value", "contributors", "totals", "incomplete", "repair", "allow_negative", "rows", "top"),
    *("status", "statuses", "lpl", "upl", "spl", "lb", "ub"),
    *("delimiter", "encoding", "decimal", "thousands", "skip", "sheet", "query", "format", "structure"),
)
"""Keys of tables that have a file."""


class DimensionJob(Section):
    """Where the codes of a dimension come from; without hierarchy, digits or levels it is flat."""

    column: str | None = Field(None, description="Column of the data; by default the dimension's name.")
    hierarchy: Files = Field(
        default_factory=list,
        description="Parent/child CSV or indented .hrc: one file, or several for overlapping hierarchies.",
    )
    digits: list[Annotated[int, Field(ge=1)]] = Field(
        default_factory=list, description="Widths of the levels, for codes whose prefixes are their totals."
    )
    codes: list[str] = Field(
        default_factory=list, description="All codes of a flat dimension, in the order of the output."
    )
    order: Literal["sorted", "data"] | None = Field(
        None,
        description="Of codes that come from the data: sorted (numbers in them by size), or data (as they "
        "first occur). By default data in ready-made tables, sorted in microdata.",
    )
    levels: list[str] = Field(
        default_factory=list,
        description="Columns of the microdata with the levels above the codes, coarsest first.",
    )
    total: str = Field(
        "Total",
        description="Code of the total; a parent/child CSV brings its own. Where a ready-made table has "
        "no such code, another word for it (all, sum, …) is taken, with a note.",
    )
    lead: str = Field("@", min_length=1, description="Indent string of .hrc files.")
    to_level: int | None = Field(
        None, ge=1, description="Global recoding: fold the hierarchy below this level; 1 is below the total."
    )
    fold: list[str] = Field(
        default_factory=list, description="Global recoding: fold what stands below these codes into them."
    )
    join: dict[str, str] = Field(
        default_factory=dict,
        description='Global recoding of a flat dimension: new codes and the old ones, such as {low = "-04, '
        '07", mid = "05-06"}; ranges go by the order of the texts, right-aligned; other codes stay.',
    )
    recode: File | None = Field(
        None, description="Global recoding by a .grc file of tau-ARGUS, flat or <TREERECODE>."
    )

    @property
    def recodings(self) -> list[str]:
        """The keys that recode it."""
        return [name for name in ("to_level", "fold", "join", "recode") if getattr(self, name)]

    @model_validator(mode="after")
    def _one_source(self) -> DimensionJob:
        given = [name for name in ("hierarchy", "digits", "levels", "codes") if getattr(self, name)]
        if len(given) > 1:
            raise fault(f"{given[0]} and {given[1]} are given", "Give one of them.", given[1])
        indented = [file for file in self.hierarchy if file.suffix.lower() == ".hrc"]
        if self.first_given("lead") and not indented:
            raise fault("lead is given, but no .hrc file", "Leave lead out.", "lead")
        if self.first_given("total") and self.hierarchy and not indented:
            raise fault("total is given, but the hierarchy brings its own", "Leave total out.", "total")
        if self.order is not None and (self.hierarchy or self.codes):
            raise fault("the codes have their order already", "Leave order out.", "order")
        if len(self.recodings) > 1:
            first, second = self.recodings[:2]
            raise fault(f"{first} and {second} are given", "Give one of them.", second)
        return self


class SourceJob(Section):
    """How a file is written."""

    delimiter: str | None = Field(
        None, min_length=1, max_length=1, description="Of CSV files; by default found in the header."
    )
    encoding: str = Field("utf-8", description="Of CSV files.")
    decimal: Literal[".", ","] | None = Field(
        None, description="Decimal mark; by default found from the numbers, with a note."
    )
    thousands: str | None = Field(
        None,
        max_length=1,
        description="Mark between groups of three digits: point, comma, blank, apostrophe, or empty for "
        "none; by default found from the numbers, with a note.",
    )
    skip: int = Field(0, ge=0, description="Lines above the header, of CSV files and sheets.")
    sheet: str | None = Field(None, description="Of Excel files; by default the first.")
    query: str | None = Field(None, description="Of databases: one SELECT that gives the rows.")

    @model_validator(mode="after")
    def _written(self) -> SourceJob:
        try:
            self.source_options()
        except InputError as error:
            raise fault(error.what, error.remedy, "decimal" if self.decimal else "thousands") from None
        return self

    def source_options(self) -> SourceOptions:
        """The same for those who read."""
        marks = NumberMarks(self.decimal, self.thousands)
        return SourceOptions(self.delimiter, self.encoding, marks, self.skip, self.sheet, self.query)


class MicrodataJob(SourceJob):
    """The records and the roles of their columns."""

    file: FilePatterns = Field(
        default_factory=list,
        description="One file, several, or a pattern such as part-*.csv: CSV, Parquet, Arrow, Excel, SAS, "
        "Stata, SPSS, or a DuckDB or SQLite database. Spark reads Parquet and CSV.",
    )
    engine: EngineName = Field(
        "duckdb",
        description="What tabulates the records: DuckDB here, or Spark or PostgreSQL where they are; see "
        "[engines](engines.md).",
    )
    connection: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Name of the environment variable that holds the address of the engine, never the "
        "address itself; by default the engine's own settings count.",
    )
    table: str | None = Field(
        None, min_length=1, description="Table of PostgreSQL with the records, in place of a file or query."
    )
    contributor: str | None = Field(
        None, description="Column with the id of the contributor; by default every record is one."
    )
    holding: str | None = Field(None, description="Column with the id of the holding.")
    weight: str | None = Field(None, description="Column with sampling weights.")
    request: str | None = Field(None, description="Column that says who requests protection.")
    request_codes: list[str] = Field(
        default=["1", "2"], min_length=2, max_length=2, description="The two codes that request it."
    )
    passive: bool = Field(
        False,
        description="Passive confidentiality: who has not requested protection counts as having waived it, "
        "for all rules.",
    )
    waiver: str | None = Field(
        None,
        description="Column of yes and no that says who waived protection: such a contributor still hides "
        "others, but is no target.",
    )
    allow_negative: bool = Field(False, description="Whether contributions may be negative.")
    memory_limit: str | None = Field(None, description="For tabulation, for example 4GB; by default 2GB.")

    @model_validator(mode="after")
    def _used(self) -> MicrodataJob:
        self._check_engine()
        if self.first_given("request_codes") and self.request is None:
            raise fault("request_codes are given, but no request column", "Name it.", "request_codes")
        if self.passive and self.request is None:
            raise fault(
                "confidentiality is passive, but there is no request column, so nobody would be protected",
                "Name the column that says who requests protection.",
                "passive",
            )
        return self

    def _check_engine(self) -> None:
        """One place where the records are, which the engine can read."""
        if self.engine == "duckdb":
            odd = self.first_given("connection", "table")
            if odd:
                raise fault(
                    f"{odd} is for other engines",
                    'Write engine = "postgres" or "spark", or leave it out.',
                    odd,
                )
            if not self.file:
                raise fault("the key 'microdata.file' is missing", 'Add file = "firms.csv".')
            return
        odd = self.first_given("memory_limit", "sheet")
        if odd:
            raise fault(f"{odd} is for DuckDB, and {self.engine} tabulates", "Leave it out.", odd)
        allowed = ("file", "query") if self.engine == "spark" else ("table", "query")
        given = [name for name in ("file", "table", "query") if getattr(self, name)]
        if len(given) != 1 or given[0] not in allowed:
            raise fault(
                f"the records of {self.engine} are named by {' or '.join(allowed)}, one of them",
                f"Write {allowed[0]} = … or {allowed[1]} = …, and nothing else.",
                given[-1] if given else "engine",
            )

    @property
    def source(self) -> list[str] | str | None:
        """The files or the table; None where a query gives the records."""
        return self.file or self.table

    def engine_choice(self) -> EngineChoice:
        """The same for those who tabulate."""
        return EngineChoice(self.engine, self.connection)


class TableJob(SourceJob):
    """One table, tabulated from the microdata or read from a file; several are linked."""

    name: str | None = Field(
        None,
        min_length=1,
        max_length=60,
        description="Name of the table in public files; by default what it is about.",
    )
    dimensions: list[str] = Field(min_length=1, description="Names of its dimensions.")
    response: str | None = Field(
        None, description="Column of the microdata to add up; without one the records are counted."
    )
    shadow: str | None = Field(
        None,
        description="Column the rules look at; by default the response. Of a ready-made table: the column "
        "of what its largest contributions add up to; by default the value.",
    )
    costs: list[str] = Field(default_factory=list, description="Further columns to add up, for weights.")
    to_level: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="By dimension: in this table the hierarchy is folded below this level: {nace = 2}.",
    )
    fold: dict[str, list[str]] = Field(
        default_factory=dict,
        description="By dimension: in this table what stands below these codes is folded into them.",
    )
    rounding: bool = Field(False, description="Round microdata to the decimals instead of an error.")
    file: File | None = Field(
        None, description="A ready-made table: CSV, Parquet, Arrow, Excel, SAS, Stata, SPSS, or a database."
    )
    format: Literal["sdmx-csv"] | None = Field(
        None,
        description="Where the rows are observations of SDMX: value is then OBS_VALUE, status CONF_STATUS "
        "with the meanings of the standard code list.",
    )
    structure: File | None = Field(
        None,
        description="The SDMX structure message (XML or JSON) of such a file: code lists and hierarchies of "
        "its dimensions.",
    )
    rows: dict[str, str] = Field(
        default_factory=dict,
        description="Where a file has several tables: the column that names the table, and its name there, "
        'such as {table = "T1"}.',
    )
    value: str = Field("value", description="Its column of values.")
    contributors: str | None = Field(
        None,
        description="Its column with the number of contributors. This column, status, levels and bounds are "
        "taken without being named, with a note, where the file has columns of these names.",
    )
    top: list[str] = Field(
        default_factory=list,
        description="Its columns with the largest contributions, the largest first, for dominance, p% and "
        "(p, q) rules.",
    )
    status: str | None = Field(None, description="Its column of statuses; empty text: there is none.")
    statuses: dict[str, Literal["u", "m", "s", "z"]] = Field(
        default_factory=dict,
        description='What its statuses mean, such as {C = "u", D = "m", F = "s"}; by default u, m, s, z, '
        "unsafe, primary, secondary, safe, frozen, capitals aside, and safe where empty.",
    )
    lpl: str | None = Field(
        None, description="Its column of lower levels of unsafe cells; without levels: the safety range."
    )
    upl: str | None = Field(None, description="Its column of upper levels.")
    spl: str | None = Field(None, description="Its column of sliding levels.")
    lb: str | None = Field(None, description="Its column of what everybody knows to be the least value.")
    ub: str | None = Field(None, description="The same for the largest value.")
    totals: Literal["given", "none"] | None = Field(
        None,
        description="Whether it holds its totals; by default as it looks, with a note where it does not.",
    )
    incomplete: Literal["error", "allow"] = Field(
        "error", description="What to do about totals none of whose parts are given."
    )
    repair: bool = Field(False, description="Compute totals anew where they do not add up.")
    allow_negative: bool = Field(False, description="Whether its values may be negative.")
    decimals: int | None = Field(
        None, ge=0, le=9, description="Decimals of the values; by default as many as needed."
    )

    @model_validator(mode="after")
    def _one_source(self) -> TableJob:
        twice = [name for name in self.dimensions if self.dimensions.count(name) > 1]
        if twice:
            raise fault(f"the dimension {twice[0]!r} stands twice", "Name it once.", "dimensions")
        for key in ("to_level", "fold"):
            for name in getattr(self, key):
                if name not in self.dimensions or (key == "fold" and name in self.to_level):
                    raise fault(
                        f"{key} names {name!r}, which is no dimension of the table, or is folded already",
                        nearest_name(name, self.dimensions),
                        key,
                    )
        if self.file is not None:
            odd = self.first_given("response", "costs", "rounding")
            if odd:
                raise fault(
                    f"{odd} is for tables made from microdata, and this one has a file",
                    "Leave one of the two out; the column of values of a file is named by value.",
                    odd,
                )
            if self.structure is not None and self.format is None:
                raise fault(
                    "structure is for files of SDMX",
                    'Write format = "sdmx-csv", or leave it out.',
                    "structure",
                )
            return self
        odd = self.first_given(*READY_MADE)
        if odd:
            raise fault(
                f"{odd} is for ready-made tables, and this one has no file",
                "Name the file, or leave the key out"
                + (" and set it in [microdata]." if odd == "allow_negative" else "."),
                odd,
            )
        return self

    @property
    def is_sdmx(self) -> bool:
        """Whether its file has observations of SDMX."""
        return self.format == "sdmx-csv"

    def cell_columns(self) -> CellColumns:
        """What the columns of its file tell, as far as the job says so."""
        single = ("contributors", "shadow", "lpl", "upl", "spl", "lb", "ub")
        return CellColumns(
            **{name: getattr(self, name) for name in single},
            value=OBS_VALUE if self.is_sdmx and not self.first_given("value") else self.value,
            status=self.status or None,
            statuses=CONF_MEANINGS if self.is_sdmx and not self.statuses else self.statuses,
            top=tuple(self.top),
        )
