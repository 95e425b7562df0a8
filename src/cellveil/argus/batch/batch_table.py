"""One table of a batch: from its data, recodings and rules to a problem, with a-priori statuses set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from cellveil.argus.apriori import AprioriFile, AprioriResult, apply_apriori
from cellveil.argus.argus_table import ArgusTable
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.float_noise import cleaned
from cellveil.argus.batch.linked_problem import refined, stricter
from cellveil.argus.batch.rule_line import RuleLine
from cellveil.argus.batch.table_line import TableLine
from cellveil.argus.cell_costs import cell_costs
from cellveil.argus.code_trees import CodeTree
from cellveil.argus.metadata import DataKind, Metadata
from cellveil.argus.rda import read_rda
from cellveil.argus.recoded_cells import recode_cells
from cellveil.argus.recoding import Recoding, recoded
from cellveil.argus.records_file import RecordsFile, read_records
from cellveil.argus.tab import read_tab
from cellveil.argus.table_spec import NUMBERS, CostKind
from cellveil.argus.tabular_file import TabularFile
from cellveil.problem import Problem, Status
from cellveil.rules.apply import find_primaries
from cellveil.rules.base import Rule
from cellveil.tables.table import Table


@dataclass(frozen=True, eq=False)
class BatchData:
    """A data file with its metadata, read when it is first needed."""

    path: Path
    kind: DataKind
    metadata_path: Path

    @cached_property
    def metadata(self) -> Metadata:
        """The variables."""
        return read_rda(self.metadata_path, self.kind)

    @cached_property
    def records(self) -> RecordsFile:
        """The records of microdata; numbers as floating-point numbers print are rounded."""
        found = read_records(self.path, self.metadata)
        frame, count = cleaned(found.frame, self._numeric())
        return replace(found, frame=frame, notes=(*found.notes, *_told(count)))

    @cached_property
    def cells(self) -> TabularFile:
        """The cells of a ready-made table, rounded likewise."""
        found = read_tab(self.path, self.metadata)
        data, count = cleaned(found.columns.data, self._numeric())
        return replace(found, columns=replace(found.columns, data=data)) if count else found

    def _numeric(self) -> list[str]:
        return [variable.name for variable in self.metadata.variables if variable.roles & NUMBERS]


def _told(count: int) -> list[str]:
    return [f"{count} numbers are printed floating-point numbers, and were rounded"] if count else []


@dataclass
class BatchTable:
    """A table while a batch runs.

    Parameters
    ----------
    totals
        What a ready-made table says of its totals: given, or to be computed.
    recodings
        Of its spanning variables, by name.
    settings
        A-priori files, in order.
    made
        The table with its unsafe cells, as it is now.
    """

    number: int
    data: BatchData
    line: TableLine
    rules: RuleLine = field(default_factory=RuleLine)
    totals: str = "given"
    recodings: dict[str, Recoding] = field(default_factory=dict)
    settings: list[AprioriFile] = field(default_factory=list)
    made: ArgusTable | None = None

    @property
    def name(self) -> str:
        """What it is, as logs say it."""
        spec = self.line.spec
        return f"{' x '.join(spec.spanning)} | {spec.response or '<freq>'}"

    @property
    def table(self) -> ArgusTable:
        """The table with its unsafe cells."""
        assert self.made is not None, "the state of the batch says that tables were read"
        return self.made

    def trees(self) -> Mapping[str, CodeTree]:
        """The codes of the data, before recoding."""
        is_micro = self.data.kind is DataKind.MICRODATA
        return self.data.records.trees if is_micro else self.data.cells.trees

    def linkable(self) -> Table:
        """The table with the codes that recodings have joined, so that it can be linked with others."""
        table = self.table.problem.table
        for name, recoding in self.recodings.items():
            if not recoding.is_tree:
                _, goal = recoding.apply(self.trees()[name], self.data.metadata.variable(name))
                table = refined(table, name, goal)
        return table

    def build(self, params: BatchParams) -> list[str]:
        """Make the table from its data, and set anew what a-priori files say; return notes."""
        is_micro = self.data.kind is DataKind.MICRODATA
        self.made, notes = self._from_records(params) if is_micro else self._from_cells()
        told = [*notes, *self.made.notes]
        for given in self.settings:
            result = self._apply(given, ignore_errors=True)
            told += [f"{len(result.faults)} a-priori lines no longer apply"] if result.faults else []
        return list(dict.fromkeys(told))

    def set_apriori(self, given: AprioriFile, *, ignore_errors: bool) -> AprioriResult:
        """Set what a file says."""
        result = self._apply(given, ignore_errors=ignore_errors)
        self.settings.append(given)
        return result

    def _apply(self, given: AprioriFile, *, ignore_errors: bool) -> AprioriResult:
        result = apply_apriori(self.table, given, safety_range=self.rules.manual, ignore_errors=ignore_errors)
        before, self.made = self.table.problem.weight, result.table
        if self.line.spec.cost is CostKind.DISTANCE:  # other cells are unsafe now; costs set by hand stay
            weight = result.table.problem.weight
            again = self._with_costs(result.table.problem)
            kept = np.where(weight == before, again.weight, weight)
            self.made = result.table.replace(problem=again.replace(weight=kept))
        return result

    def _rule(self, trees: Mapping[str, CodeTree]) -> Rule | None:
        spanning = self.line.spec.dimensions(self.data.metadata)
        used = {v.name: recoded(trees, v, self.recodings)[0].missing for v in spanning}
        return self.rules.rule(used)

    def _from_records(self, params: BatchParams) -> tuple[ArgusTable, Sequence[str]]:
        records, spec = self.data.records, self.line.spec
        rule = self._rule(records.trees)
        table = records.table(
            spec,
            recodings=self.recodings,
            weighted=self.rules.weighted,
            depth=max(rule.depth if rule else 1, params.kept_contributions),
            all_cells=rule is not None and rule.needs_all_cells,
            rounding=True,
        )
        problem = self._with_costs(find_primaries(table, rule, safety_range=self.rules.manual).problem)
        made = ArgusTable.of(problem, records.metadata, spec, records.trees, self.recodings, records.notes)
        return made, [] if rule else ["no rule is given: cells are unsafe by a-priori files only"]

    def _from_cells(self) -> tuple[ArgusTable, Sequence[str]]:
        cells, spec, manual = self.data.cells, self.line.spec, self.rules.manual
        if self.recodings:
            cells = recode_cells(cells, self.recodings)
        rule = self.rules.rule({name: tree.missing for name, tree in cells.trees.items()})
        given = cells.read(spec, totals=self.totals, safety_range=manual) if cells.has_status else None
        if given is not None and rule is None:
            return given.replace(problem=self._with_costs(given.problem)), []
        table = cells.table(spec, totals=self.totals)
        problem = find_primaries(table, rule, safety_range=manual).problem
        if given is None:
            told = [] if rule else ["neither rule nor status: cells are unsafe by a-priori files only"]
            return ArgusTable.of(self._with_costs(problem), cells.metadata, spec, cells.trees), told
        both = self._with_costs(stricter(problem, given.problem))
        made = ArgusTable.of(both, cells.metadata, spec, cells.trees)
        numbers = np.where(
            np.isin(np.arange(table.num_cells), problem.primaries), made.numbers, given.numbers
        )
        return made.replace(numbers=numbers.astype(np.int8), notes=(*made.notes, *given.notes)), []

    def _with_costs(self, problem: Problem) -> Problem:
        """With information loss to the power of lambda as weights; its logarithm where lambda is 0."""
        unsafe = problem.status == Status.PRIMARY
        base = cell_costs(problem.table, unsafe, self.line.spec, self.data.metadata)
        return problem.replace(weight=np.log1p(base) if self.line.power == 0 else base**self.line.power)
