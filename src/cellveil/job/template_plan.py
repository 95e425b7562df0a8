"""Linked tables from a template: dimensions, common hierarchies, equations, and clusters of linked tables.

Variables of one hierarchy (nuts2 and nuts3 of hrc_nuts) are one dimension, of which a table shows a level;
responses of one hierarchy are tied by an equation. Both are read from the file of that name beside the
template, or else found in the records. What neither tells is refused: tables taken for independent that are
not would give each other away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from cellveil.errors import InputError, name_some
from cellveil.formats.rows import read_pairs
from cellveil.job.template_lines import SpanningVariable, TemplateLine, read_template
from cellveil.microdata.codes import distinct_codes
from cellveil.microdata.column_facts import adds_up, nested_order, sums_in
from cellveil.microdata.source_options import SourceOptions
from cellveil.tables.hierarchy import Hierarchy
from cellveil.tables.table import COUNT

ENDINGS = ("", ".hrc", ".csv")


@dataclass(frozen=True)
class TemplateRecords:
    """Where the records are, and how they are written."""

    source: Any
    options: SourceOptions


@dataclass(frozen=True)
class TemplatePlan:
    """What a template comes to, in the words of a job.

    Parameters
    ----------
    dimensions, tables, equations
        As in a job file.
    clusters
        Names of tables that are linked with each other, and with no others.
    notes
        What was inferred, for somebody to approve.
    """

    dimensions: Mapping[str, Mapping[str, Any]]
    tables: Sequence[Mapping[str, Any]]
    equations: Mapping[str, Sequence[str]]
    clusters: Sequence[Sequence[str]]
    notes: Sequence[str]


def plan_template(
    path: Path, records: TemplateRecords | None = None, equations: Mapping[str, Sequence[str]] | None = None
) -> TemplatePlan:
    """Read a template and work out what its tables have in common.

    Parameters
    ----------
    records
        The microdata: they tell what no file of a hierarchy does.
    equations
        Equations between responses that are known already.
    """
    lines = read_template(path)
    planner = _Planner(path, lines, records)
    planner.check_fields()
    known = dict(equations or {})
    ties = planner.equations(known)
    dimensions = planner.dimensions()
    tables = [planner.table(line) for line in lines]
    return TemplatePlan(dimensions, tables, ties, _clusters(lines, known | ties), planner.notes)


class _Planner:
    def __init__(self, path: Path, lines: Sequence[TemplateLine], records: TemplateRecords | None) -> None:
        self._path, self._lines, self._records = path, lines, records
        self._place: dict[SpanningVariable, tuple[str, int | None]] = {}  # dimension, and level of it
        self.notes: list[str] = []

    def check_fields(self) -> None:
        """One job has one population."""
        fields = sorted({str(line.field) for line in self._lines})
        if len(fields) > 1:
            raise InputError(
                f"the template has tables of several fields: {name_some(fields)}",
                file=self._path,
                remedy="Make one template, and one job, for each: they have records of their own.",
            )

    # -- responses ---------------------------------------------------------------------------------------

    def equations(self, known: dict[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        groups: dict[str, list[str]] = {}
        for line in self._lines:
            if line.hrc_response and line.response:
                group = groups.setdefault(line.hrc_response, [])
                group += [line.response] if line.response not in group else []
        found: dict[str, Sequence[str]] = {}
        for name, group in groups.items():
            is_known = any(left in group and set(right) <= set(group) for left, right in known.items())
            if len(group) > 1 and not is_known:
                found |= self._equation(name, group)
        self._note_sums(known | found)
        return found

    def _note_sums(self, known: Mapping[str, Sequence[str]]) -> None:
        """Say where responses add up that no equation ties: their tables give each other away."""
        responses = list(dict.fromkeys(line.response for line in self._lines if line.response))
        if self._records is None or len(responses) < 3:
            return
        for total, parts in sums_in(self._records.source, responses, self._records.options):
            if set(parts) != set(known.get(total, ())):
                self.notes.append(
                    f"WARNING: {total} = {' + '.join(parts)} in every record, and no equation says so: "
                    "everybody may know it. Give them one hrc_response"
                )

    def _equation(self, name: str, group: list[str]) -> dict[str, Sequence[str]]:
        file = self._file(name)
        if file is not None:
            tree = _tree(file)
            found = {code: below for code, below in tree.children.items() if {code, *below} <= set(group)}
            tied = {code for code, below in found.items() for code in (code, *below)}
            if tied == set(group):
                self.notes += [f"{code} = {' + '.join(below)} ({file.name})" for code, below in found.items()]
                return {code: list(below) for code, below in found.items()}
        elif self._records is not None:
            for total in group:
                parts = [part for part in group if part != total]
                if adds_up(self._records.source, total, parts, self._records.options):
                    self.notes.append(f"{total} = {' + '.join(parts)} (so it is in every record)")
                    return {total: parts}
        raise InputError(
            f"how the responses of {name!r} add up is not known: {name_some(group)}",
            file=self._path,
            remedy=f"Put {name}.hrc beside the template, name the records, or give [equations] in the job.",
        )

    # -- dimensions --------------------------------------------------------------------------------------

    def dimensions(self) -> dict[str, dict[str, Any]]:
        groups: dict[str, list[SpanningVariable]] = {}
        for line in self._lines:
            for one in line.spanning:
                group = groups.setdefault(one.hierarchy or one.variable, [])
                group += [one] if one not in group else []
        made: dict[str, dict[str, Any]] = {}
        self._check_one_hierarchy(groups)
        for key, group in groups.items():
            variables = list(dict.fromkeys(one.variable for one in group))
            name = variables[0] if len(variables) == 1 else key.removeprefix("hrc_").removesuffix(".hrc")
            if name in made:
                raise self._torn(name)
            made[name] = self._dimension(key, name, group, variables)
        self._note_nested([settings.get("column", name) for name, settings in made.items()])
        return made

    def _torn(self, name: str) -> InputError:
        return InputError(
            f"{name!r} stands in the template with different hierarchies",
            file=self._path,
            remedy="Name the same hierarchy in all lines.",
        )

    def _check_one_hierarchy(self, groups: Mapping[str, Sequence[SpanningVariable]]) -> None:
        """A variable taken for two dimensions would leave its common cells unseen."""
        first: dict[str, str] = {}
        for key, group in groups.items():
            for one in group:
                if first.setdefault(one.variable, key) != key:
                    raise self._torn(one.variable)

    def _note_nested(self, columns: Sequence[str]) -> None:
        """Say where two dimensions look like levels of one: then their tables have common cells."""
        if self._records is None:
            return
        for pair in combinations(columns, 2):
            found = nested_order(self._records.source, pair, self._records.options)
            if found is not None:
                self.notes.append(
                    f"WARNING: every {found[1]} has one {found[0]}: if they are levels of a tree, name it"
                )

    def _dimension(
        self, key: str, name: str, group: Sequence[SpanningVariable], variables: list[str]
    ) -> dict[str, Any]:
        file = self._file(key) if group[0].hierarchy else None
        settings: dict[str, Any] = {}
        depth = {variables[0]: None} if len(variables) == 1 else self._levels(key, variables, file, settings)
        if file is not None:
            settings["hierarchy"] = str(file)
        elif len(variables) == 1 and group[0].hierarchy:
            self.notes.append(f"{name}: there is no file {key!r}, so that it is flat")
        if len(variables) > 1:
            self.notes.append(f"{name}: one dimension of {', '.join(variables)}, with common cells")
        for one in group:
            self._place[one] = name, one.level or depth[one.variable]
        return settings

    def _levels(
        self, key: str, variables: list[str], file: Path | None, settings: dict[str, Any]
    ) -> dict[str, int | None]:
        """The level of each variable, None for the finest, whose codes the records have."""
        if self._records is None:
            raise InputError(
                f"how {name_some(variables)} of {key!r} are nested is not known",
                file=self._path,
                remedy="Name the records: they show it.",
            )
        source, options = self._records.source, self._records.options
        if file is None:
            order = nested_order(source, variables, options)
            if order is None:
                raise InputError(
                    f"the variables of {key!r} are not nested in the records: {name_some(variables)}",
                    file=self._path,
                    remedy="Give them hierarchies of their own, or correct the records.",
                )
            settings |= {"column": order[-1], "levels": order[:-1]}
            return {one: place if one != order[-1] else None for place, one in enumerate(order, 1)}
        depths = {one: self._depth(file, [c for (c,) in distinct_codes(source, [one], options=options)], one)
                  for one in variables}  # fmt: skip
        settings["column"] = max(variables, key=depths.__getitem__)
        return {one: depth if one != settings["column"] else None for one, depth in depths.items()}

    def _depth(self, file: Path, codes: Sequence[str], variable: str) -> int:
        tree = _tree(file)
        depth = {tree.root: 0}
        for above, code in tree.pairs():
            depth[code] = depth[above] + 1
        found = {depth.get(code, -1) for code in codes}
        if -1 in found or (len(found) > 1 and not set(codes) <= set(tree.leaves)):
            raise InputError(
                f"the codes of {variable!r} are not those of one level of the hierarchy",
                file=file,
                remedy="Correct the hierarchy or the records.",
            )
        return max(found, default=0)

    def table(self, line: TemplateLine) -> dict[str, Any]:
        """The table in the words of a job."""
        names = [self._place[one][0] for one in line.spanning]
        if len(set(names)) < len(names):
            raise InputError(
                f"the table {line.name!r} has two variables of one hierarchy",
                file=self._path,
                remedy="Name the finer one: its table has the totals of the coarser one.",
            )
        made: dict[str, Any] = {"name": line.name, "dimensions": names}
        given = {key: getattr(line, key) for key in ("response", "shadow", "decimals", "rounding")}
        made |= {key: value for key, value in given.items() if value is not None and value is not False}
        folded = {name: level for name, level in (self._place[one] for one in line.spanning) if level}
        return made | ({"to_level": folded} if folded else {})

    def _file(self, name: str) -> Path | None:
        """The file of a hierarchy beside the template, and nowhere else."""
        if Path(name).name != name or "\\" in name:
            raise InputError(
                f"the hierarchy {name!r} is not the name of a file beside the template",
                file=self._path,
                remedy="Put the file beside the template, and write its name without folders.",
            )
        places = [self._path.parent / f"{name}{ending}" for ending in ENDINGS]
        return next((place for place in places if place.is_file()), None)


def _tree(file: Path) -> Hierarchy:
    return Hierarchy.from_hrc(file) if file.suffix.lower() == ".hrc" else read_pairs(file)


def _clusters(lines: Sequence[TemplateLine], ties: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Tables of the same response share cells; those of tied responses share relations."""
    root = {line.response or COUNT: line.response or COUNT for line in lines}
    for left, right in ties.items():
        joint = {root[name] for name in (left, *right) if name in root}
        root = {name: min(joint) if top in joint else top for name, top in root.items()}
    found: dict[str, list[str]] = {}
    for line in lines:
        found.setdefault(root[line.response or COUNT], []).append(line.name)
    return list(found.values())
