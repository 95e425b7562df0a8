"""From microdata to a table with all margins: records rolled up by SQL, out of core, where they are.

1. One scan of the microdata maps codes to leaf numbers, by joins with small tables, and keeps numbers only.
   Faults are counted there; only when there are any is the source read again to find the first one.
2. The records are added up to base cells, and these are rolled up dimension by dimension: a join with the
   closure (leaf, code that covers it) and a GROUP BY, never the product of all hierarchies at once.
3. The largest contributions are rolled up in the same way, as lists of the `depth` largest. That is exact as
   long as the lists that meet have no contributor in common. So contributors that have records in several
   base cells are kept apart, one row for each contributor and cell; and before each dimension those rows
   join the lists whose contributor has, under the codes rolled up so far, no other row left. Without ids
   each record is a contributor, and the largest records of the base cells get numbers to know them again.

Requires leaf codes and amounts with few decimals. Ensures an exactly additive table and, for every cell,
exact counts, sums and largest contributions, the same for any number of threads. Memory is bounded by
`memory_limit` and the final cells; the rest goes to temporary files, which are removed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Codes, Int
from cellveil.microdata import sql
from cellveil.microdata.engine import Engine, EngineOptions
from cellveil.microdata.opened_records import opened_records
from cellveil.microdata.records import Records, Roles
from cellveil.progress import Progress
from cellveil.tables.contributions import RECORD, Contributions
from cellveil.tables.dimension import Dimension

Ranked = dict[str, list[str]]
"""For each ranking of the contributions the tables with the largest found so far."""

Lists = dict[str, dict[str, NDArray[Any]]]


class RollUp:
    """Tabulates one source; made by `RollUp.opened`, which also cleans up.

    Let ``records`` be read first; then the rows of `cells` and `contributions` correspond.
    """

    def __init__(
        self,
        engine: Engine,
        records: Records,
        num_axes: int,
        roles: Roles,
        options: EngineOptions,
        progress: Progress,
    ) -> None:
        self._engine, self._roles, self._options = engine, roles, options
        self._codes = sql.codes(num_axes)
        self._num_tables = 0
        self._made: list[str] = []
        self.records, self.progress = records, progress

    @classmethod
    @contextmanager
    def opened(
        cls,
        source: Any,
        dimensions: Sequence[Dimension],
        roles: Roles,
        options: EngineOptions,
        progress: Progress | None,
    ) -> Iterator[RollUp]:
        """The records of a source on the engine that was chosen, not yet read."""
        progress = progress or Progress()
        progress.stage("read")
        with opened_records(source, roles.needed(), options) as (engine, microdata):
            records = Records(engine, microdata, dimensions, roles, progress)
            yield cls(engine, records, len(dimensions), roles, options, progress)

    # -- cells -------------------------------------------------------------------------------------------

    def cells(self) -> tuple[list[Codes], dict[str, Int]]:
        """Keys of all non-empty cells, sorted, and the sums of value, shadow and costs."""
        self.progress.stage("cells")
        sums = dict.fromkeys(("value", *self._roles.columns()), "sum")
        cells = self._table(sql.group("records", self._codes, sums))
        for axis in range(len(self._codes)):
            cells = self._table(sql.group(self._covered(cells, axis, list(sums)), self._codes, sums))
            self._keep(cells)
            self.progress.advance(axis + 1, len(self._codes))
        names = ", ".join(self._codes)
        columns = self._arrays(f"SELECT * FROM {cells} ORDER BY {names}")
        self._keep()
        return [columns[code] for code in self._codes], {name: columns[name] for name in sums}

    def has_negative(self) -> bool:
        """Whether a contributor adds a negative amount to the response of a finest cell."""
        if "unit" not in self._roles.members:
            return bool(self._engine.row("SELECT count(*) FROM records WHERE value < 0")[0])
        keys = ", ".join([*self._codes, "unit"])
        sums = f"SELECT sum(value) AS part FROM records GROUP BY {keys}"
        return bool(self._engine.row(f"SELECT count(*) FROM ({sums}) WHERE part < 0")[0])

    # -- contributions -----------------------------------------------------------------------------------

    def contributions(self, member: str | None) -> Contributions:
        """Contributions of every cell, in the order of `cells`; `member` is “unit”, “holding” or a record."""
        self.progress.stage(f"contributions of each {member or 'record'}")
        level = sql.MemberLevel(
            member, self._roles.weight is not None, self._roles.request is not None, self.records.has_waivers
        )
        num_axes = len(self._codes)
        selected = level.rows("records", num_axes)
        rows: str | None = f"({selected})" if level.stands_once else self._table(selected)
        figures: list[str] = []
        ranked: Ranked = {name: [] for name in level.rankings}
        for axis in range(num_axes):
            local, rows = self._split(level, rows, axis)
            self._add(level, local, figures, ranked)
            if axis == 0 and member is None:
                level, ranked = self._numbered_records(level, ranked)
            elif axis == 0 and not level.stands_once:
                ranked, rows = self._numbered(level, ranked, rows)
            covered = self._covered(_union(figures), axis, list(level.figures))
            figures = [self._table(sql.group(covered, self._codes, level.figures))]
            for name, payload in level.rankings.items():
                covered = self._covered(_union(ranked[name]), axis, ["size", *payload])
                ranked[name] = [self._table(self._largest(payload, covered))]
            if rows:
                covered = self._covered(rows, axis, ["member", *level.measures])
                rows = self._table(sql.group(covered, [*self._codes, "member"], level.measures))
            self._keep("ids", *figures, *_all(ranked), *([rows] if rows else []))
            self.progress.advance(axis + 1, num_axes)
        self._add(level, rows, figures, ranked)
        contributions = self._fetched(
            level,
            self._table(sql.group(_union(figures), self._codes, level.figures)),
            {
                name: self._table(self._largest(payload, _union(ranked[name])))
                for name, payload in level.rankings.items()
            },
        )
        self._keep()
        return contributions

    def _split(self, level: sql.MemberLevel, rows: str | None, axis: int) -> tuple[str | None, str | None]:
        """Rows whose member has no other one under the codes before `axis`, and the rest."""
        if rows is None or level.stands_once:
            return rows, None
        marked = self._table(level.marked(rows, axis, len(self._codes)))
        some = self._engine.row(f"SELECT count(*) FROM {marked} WHERE spans")[0]
        return (
            f"(SELECT * FROM {marked} WHERE NOT spans)",
            f"(SELECT * FROM {marked} WHERE spans)" if some else None,
        )

    def _add(self, level: sql.MemberLevel, rows: str | None, figures: list[str], ranked: Ranked) -> None:
        """Add the figures and the largest of rows, each another member, to the parts found so far."""
        if rows:
            figures.append(self._table(level.figures_of(rows, len(self._codes))))
            for name, payload in level.rankings.items():
                sizes = level.sizes_of(rows, len(self._codes), name)
                ranked[name].append(self._table(self._largest(payload, f"({sizes})")))

    def _numbered_records(self, level: sql.MemberLevel, ranked: Ranked) -> tuple[sql.MemberLevel, Ranked]:
        """Numbers for the largest records of base cells, which are known again in all cells above."""
        (base,) = ranked[sql.TOP]
        payload = level.rankings[sql.TOP]
        named = replace(level, member=sql.RECORD)
        columns = ", ".join([*self._codes, "size", *named.rankings[sql.TOP]])
        numbered = sql.numbered_records(base, self._codes, payload)
        return named, {sql.TOP: [self._table(f"SELECT {columns} FROM ({numbered})")]}

    def _numbered(
        self, level: sql.MemberLevel, ranked: Ranked, rows: str | None
    ) -> tuple[Ranked, str | None]:
        """Numbers instead of ids for the members that can still be among the largest: faster to compare."""
        remaining = [*_all(ranked), *([rows] if rows else [])]
        self._table(sql.numbered_ids(remaining), "ids")
        numbered = {}
        for name, payload in level.rankings.items():
            listed = [*self._codes, "size", *payload]
            numbered[name] = [self._table(sql.with_numbers(table, listed, "ids")) for table in ranked[name]]
        if rows:
            columns = [*self._codes, "member", *level.measures]
            rows = self._table(sql.with_numbers(rows, columns, "ids"))
        return numbered, rows

    def _largest(self, payload: Sequence[str], source: str) -> str:
        return sql.largest(source, self._codes, payload, self._options.depth, native=self._engine.native)

    def _listed(self, level: sql.MemberLevel, ranked: Mapping[str, str]) -> tuple[Lists, tuple[str, ...]]:
        """The largest of each ranking, cell by cell, with members as positions in the list of their ids."""
        lists: Lists = {}
        for name, payload in level.rankings.items():
            order = ", ".join([*self._codes, "size DESC", *payload])
            columns = ", ".join(["size", *payload])
            lists[name] = self._arrays(f"SELECT {columns} FROM {ranked[name]} ORDER BY {order}")
        if level.stands_once:
            known = np.unique(np.concatenate([entries["member"] for entries in lists.values()]))
            for entries in lists.values():
                entries["member"] = np.searchsorted(known, entries["member"])
            return lists, tuple(f"{RECORD}{number + 1}{self._roles.of_record}" for number in known.tolist())
        members = " UNION ".join(f"SELECT member FROM {table}" for table in ranked.values())
        ids = self._arrays(f"SELECT name, member FROM ids WHERE member IN ({members}) ORDER BY member")
        for entries in lists.values():
            entries["member"] = np.searchsorted(ids["member"], entries["member"])
        return lists, tuple(ids["name"].tolist())

    def _fetched(self, level: sql.MemberLevel, figures: str, ranked: Mapping[str, str]) -> Contributions:
        """The final cells as arrays."""
        names = ", ".join(self._codes)
        found = self._arrays(f"SELECT {', '.join(level.figures)} FROM {figures} ORDER BY {names}")
        lists, ids = self._listed(level, ranked)
        top, parts = lists[sql.TOP], lists.get(sql.PARTS)
        shape = _Shape(found["members"], self._options.depth)
        return Contributions(
            self.records.amount_decimals,
            found["members"],
            found["total"],
            found["absolute"],
            shape.spread(top["size"], 0),
            shape.spread(top["member"], -1, np.int32),
            ids,
            weighted_count=found["weighted_count"] / sql.WEIGHT_UNIT if level.weighted else None,
            top_weight=shape.spread(top["top_weight"], 0, np.float64) if level.weighted else None,
            waived=shape.spread(top["waived"], 0, np.bool_) if level.waivers else None,
            largest_unwaived=found["unwaived"] if level.waivers else None,
            requests=np.column_stack([found["request1"], found["request2"]]) if level.requests else None,
            parts=shape.spread(parts["size"], 0) if parts else None,
            part_who=shape.spread(parts["member"], -1, np.int32) if parts else None,
        )

    # -- running -----------------------------------------------------------------------------------------

    def _covered(self, source: str, axis: int, columns: Sequence[str]) -> str:
        return f"({sql.covered(source, f'closure{axis}', axis, len(self._codes), columns)})"

    def _table(self, select: str, name: str | None = None) -> str:
        """Run a query into a temporary table, with a new name if none is given."""
        self._num_tables += 1
        name = name or f"t{self._num_tables}"
        self._engine.make(name, select)
        self._made.append(name)
        return name

    def _keep(self, *names: str) -> None:
        """Drop all temporary tables but these."""
        for name in self._made:
            if name not in names:
                self._engine.drop(name)
        self._made = [name for name in self._made if name in names]

    def _arrays(self, query: str) -> dict[str, NDArray[Any]]:
        found = self._engine.cells(query).read_all()
        kinds = {"name": object, "top_weight": np.float64} | dict.fromkeys(self._codes, np.int32)
        return {
            name: np.array(found[name].to_numpy(), dtype=kinds.get(name, np.int64))
            for name in found.column_names
        }


def _all(ranked: Ranked) -> list[str]:
    return [table for tables in ranked.values() for table in tables]


def _union(tables: Sequence[str]) -> str:
    return f"({' UNION ALL '.join(f'SELECT * FROM {table}' for table in tables)})"


class _Shape:
    """From one entry for each of the largest contributions to an array of cells × depth."""

    def __init__(self, count: Int, depth: int) -> None:
        lengths = np.minimum(count, depth)
        self._cell = np.repeat(np.arange(len(count)), lengths)
        self._place = np.arange(len(self._cell)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        self._size = len(count), depth

    def spread(self, entries: NDArray[Any], blank: int, dtype: Any = np.int64) -> NDArray[Any]:
        array = np.full(self._size, blank, dtype=dtype)
        array[self._cell, self._place] = entries
        return array
