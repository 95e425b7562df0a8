"""The job model: a whole publication, and the checks between its sections."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Literal

from pydantic import (
    Field,
    PrivateAttr,
    model_validator,
)

from cellveil.errors import InputError, nearest_name
from cellveil.job.data_sections import DimensionJob, MicrodataJob, TableJob
from cellveil.job.places import JobSource
from cellveil.job.sections import (
    AdjustJob,
    Against,
    AttackerJob,
    CellJob,
    File,
    LevelsJob,
    Previous,
    ReleaseJob,
    ReportJob,
    RuleTable,
    Section,
    SuppressJob,
    Terms,
    WeightsJob,
    fault,
)
from cellveil.microdata.data_files import expand_files, under
from cellveil.microdata.roles import check_one_column_each, check_ready_made, check_roles
from cellveil.tables.hierarchy import Hierarchy

MICRODATA_PARTS = ("contributor", "holding", "weight", "request", "waiver")
"""Parts that columns of microdata play in all tables."""


class Job(Section):
    """A whole publication: data, rules, method, release."""

    title: str = Field("", description="Shown in report and release.")
    language: Literal["en", "de"] = Field("en", description="Of the public page and the Excel file.")
    output: File = Field(Path("cellveil-output"), description="Folder for the results.")
    instance: File | None = Field(None, description="A JJ file or tidy folder, in place of tables.")
    labels: File | None = Field(None, description="CSV with the columns dimension, code, label.")
    bounds: Literal["natural", "free", "tau-argus"] = Field(
        "natural",
        description="What everybody knows of values: natural (at least 0, or nothing of a variable with "
        "negative amounts; at least 1 of counts where zeros are published), free (nothing), "
        "tau-argus (0 to 1.5 times the largest of the variable).",
    )
    bounds_reason: str = Field(
        "",
        description="Why readers do not know that values are not negative, where bounds say so of a variable "
        "without a negative value; verdict, report and public about.json repeat it.",
    )
    microdata: MicrodataJob | None = Field(None, description="The records.")
    dimensions: dict[str, DimensionJob] = Field(default_factory=dict, description="By name.")
    template: File | None = Field(
        None,
        description="CSV that lists tables, one in a line: they, their dimensions and equations are taken as "
        "if they stood here.",
    )
    tables: list[TableJob] = Field(default_factory=list, description="Tables, protected together.")
    equations: dict[str, Terms] = Field(
        default_factory=dict,
        description="Section: for a response variable the list of its parts, or {part = coefficient, …}.",
    )
    rules: list[RuleTable] = Field(
        default_factory=list,
        description="Sections: a cell is unsafe if any of the rules fires; see [rules](rules.md). In short: "
        '`["p%:10", "threshold:3"]`.',
    )
    cells: list[CellJob] = Field(default_factory=list, description="Cells set by hand.")
    weights: WeightsJob = Field(WeightsJob(), description="What hiding a cell costs.")
    levels: LevelsJob = Field(LevelsJob(), description="Changes to the levels.")
    suppress: SuppressJob = Field(SuppressJob(), description="The method.")
    adjust: AdjustJob | None = Field(None, description="An adjusted table as well, for comparison.")
    attackers: list[AttackerJob] | None = Field(
        None,
        description="Attackers to test besides those by default, which are outsiders, and every single "
        "contributor where something is known of the contributors. An empty list: outsiders only.",
    )
    default_attackers: bool = Field(
        True,
        description="false: only the attackers that are named, and outsiders, are tested.",
    )
    previous: Previous | None = Field(
        None, description="The pattern of a former month, or its path alone: the same cells are preferred."
    )
    against: Against | None = Field(
        None,
        description="Former releases that everybody can lay beside the new one, or the list of them alone.",
    )
    release: ReleaseJob = Field(ReleaseJob(), description="The public files.")
    report: ReportJob = Field(ReportJob(), description="The internal report.")

    _source: JobSource | None = PrivateAttr(None)
    _inferred: tuple[str, ...] = PrivateAttr(())
    _trees: Mapping[str, tuple[Hierarchy, ...]] = PrivateAttr(default_factory=dict)

    @property
    def tests_defaults(self) -> bool:
        """Whether the attackers by default are tested."""
        return self.default_attackers and self.attackers != []

    @model_validator(mode="after")
    def _consistent(self) -> Job:
        if self.adjust is not None and self.adjust.publish and self.attackers:
            raise fault(
                "adjusted tables are not audited against other attackers than outsiders",
                "Remove [[attackers]], or publish the suppressed table.",
                "adjust",
                "publish",
            )
        hidden = [place for place, cell in enumerate(self.cells) if cell.status == "m"]
        if self.adjust is not None and self.adjust.publish and hidden:
            raise fault(
                "a cell is to be hidden (status m), but an adjusted table hides nothing",
                "Give it the status u, so that it is moved, or publish the suppressed table.",
                *("cells", hidden[0], "status"),
            )
        if self.instance is not None:
            _check_instance_alone(self)
            return self
        if self.bounds_reason and self.bounds == "natural" and all(t.file is None for t in self.tables):
            raise fault(
                "bounds_reason would have no effect: no bounds are given",
                'Leave it out, or give bounds = "free" or a column lb.',
                "bounds_reason",
            )
        if not self.tables:
            raise fault("there is neither an instance nor a table", "Add [[tables]], or name an instance.")
        _check_tables(self)
        _check_dimensions(self)
        _check_columns(self)
        _check_weights(self)
        if not self.marks_unsafe_cells and all(table.file is None for table in self.tables):
            raise fault(
                "there are no rules and no unsafe cells, so nothing would be protected",
                "Add [[rules]], or [[cells]] with status u.",
            )
        return self

    @property
    def marks_unsafe_cells(self) -> bool:
        """Whether the job itself has a rule or an unsafe cell; a ready-made table may bring some."""
        return bool(self.rules) or any(cell.status == "u" for cell in self.cells)

    @property
    def used_dimensions(self) -> list[str]:
        """Names of the dimensions of all tables."""
        return list(dict.fromkeys(name for table in self.tables for name in table.dimensions))

    def confidential_inputs(self) -> list[Path]:
        """Files with values that are not public; patterns as they are written, and what they stand for."""
        files = [Path(name) for name in self.microdata.file] if self.microdata else []
        with suppress(InputError):  # reading them will say what is wrong
            files += expand_files(files)
        files += [table.file for table in self.tables if table.file is not None]
        return files if self.instance is None else [self.instance]

    def inputs(self) -> list[Path]:
        """All that it reads and another job may write: data, earlier releases and patterns."""
        earlier = [] if self.against is None else list(self.against.releases)
        pattern = [] if self.previous is None else [self.previous.file]
        return [*self.confidential_inputs(), *earlier, *pattern]

    def placing_errors(self, *location: str | int) -> AbstractContextManager[None]:
        """Name the job file and the line of the location in errors that have no place yet."""
        return nullcontext() if self._source is None else self._source.placing_errors(*location)

    @property
    def file(self) -> Path | None:
        """The job file; None for a job that was made in Python."""
        return None if self._source is None else self._source.file

    @property
    def inferred(self) -> tuple[str, ...]:
        """What was inferred from its template, for somebody to approve."""
        return self._inferred

    @property
    def trees(self) -> Mapping[str, tuple[Hierarchy, ...]]:
        """Hierarchies by dimension that no file holds."""
        return self._trees

    def with_trees(self, trees: Mapping[str, tuple[Hierarchy, ...]]) -> Job:
        """The job with hierarchies that no file holds."""
        job = self.model_copy()
        job._trees = dict(trees)
        return job

    def with_paths(self, source: JobSource, inferred: tuple[str, ...] = ()) -> Job:
        """The job with its paths taken relative to the folder of its file, and what was inferred for it."""
        base = source.file.parent
        micro = self.microdata
        job = self.model_copy(
            update={
                "output": base / self.output,
                "instance": self.instance and base / self.instance,
                "labels": self.labels and base / self.labels,
                "template": self.template and base / self.template,
                "against": self.against
                and self.against.model_copy(
                    update={"releases": [base / folder for folder in self.against.releases]}
                ),
                "previous": self.previous
                and self.previous.model_copy(update={"file": base / self.previous.file}),
                "microdata": micro
                and micro.model_copy(
                    update={"file": [name if "://" in name else under(base, name) for name in micro.file]}
                ),
                "dimensions": {
                    name: dimension.model_copy(
                        update={
                            "hierarchy": [base / file for file in dimension.hierarchy],
                            "recode": dimension.recode and base / dimension.recode,
                        }
                    )
                    for name, dimension in self.dimensions.items()
                },
                "tables": [
                    table.model_copy(
                        update={
                            "file": table.file and base / table.file,
                            "structure": table.structure and base / table.structure,
                        }
                    )
                    for table in self.tables
                ],
            }
        )
        job._source, job._inferred = source, inferred
        return job


def _check_instance_alone(job: Job) -> None:
    odd = job.first_given(
        *("template", "tables", "microdata", "dimensions", "equations", "rules", "cells"),
        *("bounds", "weights", "levels"),
    )
    if odd:
        raise fault(
            f"there are both an instance and {odd}",
            "An instance brings its own cells, statuses, weights, bounds and levels: leave one of them out.",
            odd,
        )


def _check_tables(job: Job) -> None:
    for position, table in enumerate(job.tables):
        if table.file is None and job.microdata is None:
            raise fault(
                "the table has no file, and there is no [microdata]",
                "Name its file, or add [microdata].",
                "tables",
                position,
            )
    if job.microdata is not None and all(table.file is not None for table in job.tables):
        raise fault("no table uses the microdata", "Leave [microdata] or the files out.", "microdata")


def _check_dimensions(job: Job) -> None:
    used = job.used_dimensions
    for name, dimension in job.dimensions.items():
        if name not in used:
            raise fault(f"no table has the dimension {name!r}", nearest_name(name, used), "dimensions", name)
        if dimension.levels and any(t.file is not None and name in t.dimensions for t in job.tables):
            raise fault(
                f"levels of {name!r} are columns of microdata, but a table with it is read from a file",
                "Give a hierarchy instead.",
                *("dimensions", name, "levels"),
            )


def _check_columns(job: Job) -> None:
    """No column whose contents are published as codes may hold amounts, weights or ids."""
    own = ("response", "shadow")
    for position, table in enumerate(job.tables):
        settings = [(name, job.dimensions.get(name, DimensionJob())) for name in table.dimensions]
        columns = [dimension.column or name for name, dimension in settings]
        try:
            if table.file is not None:
                check_ready_made(columns, dict(table.cell_columns().parts()))
                continue
            parts = [(part, getattr(table, part)) for part in own]
            parts += [(part, getattr(job.microdata, part)) for part in MICRODATA_PARTS]
            parts += [("cost", cost) for cost in dict.fromkeys(table.costs)]
            levels = [level for _, dimension in settings for level in dimension.levels]
            check_roles([*columns, *levels], parts)
            check_one_column_each(columns)
        except InputError as error:
            raise fault(error.what, error.remedy, "tables", position) from None


def _check_weights(job: Job) -> None:
    from cellveil.rules.weights import DISTANCE, KINDS

    tabulated = [[*table.costs, table.shadow] for table in job.tables if table.file is None]
    own = [name for name in (tabulated or [[]])[0] if name and all(name in costs for costs in tabulated)]
    kind = job.weights.kind
    named = [*KINDS, DISTANCE]
    if tabulated and kind not in named and kind not in own:  # a column of files is looked for in them
        raise fault(
            f"there are no weights {kind!r}",
            f"{nearest_name(kind, [*named, *own])} A cost column must stand in the costs of every table.",
            *("weights", "kind"),
        )
