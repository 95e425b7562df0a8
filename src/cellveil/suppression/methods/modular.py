"""`modular`: a hierarchical table in simple subtables, top down; then mended as a whole until shown safe.

For comparison: it has never been cheapest in our own figures, and `auto` does not use it.

A *module* takes one equation (a parent and its children) of each dimension: the cells with these codes, and
the relations that run among them. Modules are taken by the sum of the levels of their parents. In each of
them every demand of its primary cells gets the cheapest deviation of the module,

    min Σ_{i not hidden} w_i |y_i|   subject to   M_module y = 0,   −down ≤ y ≤ up,   y_p = ±d,

and what moves is hidden. A secondary cell that another module hid has a small demand of its own here, as it
would else be worked out from its parts, or from its neighbours. A module that hides a cell which stands in
other ones too sends these back to work, the upper ones first. Nothing is ever published, so this ends. A cell
costs its weight once for each module it stands in: each of them has to protect it.

Protected modules do not make a protected table: deviations of different modules need not fit together. So
all demands are put to the whole table. Deviations of modules that keep all relations count as they are;
cubes and linear programs over what is hidden meet others; for the rest more is hidden, at least cost. In the
end all demands are met once more, the cheapest way inside the pattern, and what that does not use is dropped.

Requires any relations whatever. Where a table has no dimensions, they are recovered from the relations; where
that fails, and in flat tables, there is one module for each connected part, which is the whole problem.
Ensures an exact witness for every demand on the whole table, or names those no pattern meets.
Does not ensure the least cost.
Cost: small linear programs in the modules; one over its component for each demand not met inside them, or
cubes where a component is too large for that.

References: de Wolf (2002), HiTaS; the mending on the whole table is our own.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from cellveil.arrays import Int
from cellveil.clock import NO_LIMIT, Deadline
from cellveil.deviations.cubes import has_cubes
from cellveil.deviations.ledger import Ledger
from cellveil.deviations.witness import Witnesses, are_deviations
from cellveil.params import Params, param, part
from cellveil.problem import Problem, Status
from cellveil.progress import Progress
from cellveil.suppression.draft import Draft, MethodEnding
from cellveil.suppression.engines.cube_packing import CubePackingParams, Packing
from cellveil.suppression.engines.local_search import drop_unused
from cellveil.suppression.engines.meet_demands import Completion
from cellveil.suppression.engines.one_demand import OneDemand
from cellveil.tables.dimension import Dimension
from cellveil.tables.structure import structured
from cellveil.tables.table import CELL, Table

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix


@dataclass(frozen=True, repr=False, eq=False)
class Module:
    """One simple subtable: its cells, the relations among them, and how far down it lies."""

    cells: Int
    rows: Int
    level: int


@dataclass(frozen=True, kw_only=True)
class ModularParams(Params):
    """Parameters of `modular`."""

    carried: float = param(
        0.01, "Share of its value by which a secondary of another module moves, and by 1 at least.", least=0
    )
    large: int = param(8_000, "Largest component, in cells, for a linear program per demand.", least=0)
    packing: CubePackingParams = part(CubePackingParams)


def modular(
    problem: Problem,
    *,
    deadline: Deadline = NO_LIMIT,
    seed: int = 0,
    progress: Progress | None = None,
    params: ModularParams | None = None,
) -> Draft:
    """Protect the modules, then the whole table; see the head of the module."""
    params, progress = params or ModularParams(), progress or Progress()
    progress.stage("modules")
    problem = problem.replace(table=structured(problem.table))
    descent = Descent(problem, modules_of(problem.table), params)
    descent.run(deadline, progress)
    progress.stage("whole table")
    ledger = Ledger(problem, descent.hidden)
    witnesses = descent.whole_witnesses()
    if len(witnesses):
        ledger.add_all(witnesses)
    whole = Completion(ledger, OneDemand, deadline, progress, seed=seed)
    whole.prove_by_cubes()
    _pack_where_large(whole, params, deadline, seed)
    whole.run()
    draft = _pruned(whole, params.large, deadline, progress, seed).draft()
    draft.num_lps += descent.num_lps
    return draft


def _pruned(whole: Completion, large: int, deadline: Deadline, progress: Progress, seed: int) -> Completion:
    """The same demands, met anew by what is hidden at least cost; as it was where that does not help."""
    if whole.ledger.num_open or whole.reason is not MethodEnding.COMPLETE:
        return whole
    drop_unused(whole.ledger)
    allowed = whole.ledger.hidden.copy()
    ledger = Ledger(whole.ledger.problem)
    if any(whole.protector.size_of(cell) > large for cell in np.unique(ledger.open_demands()[0]).tolist()):
        return whole
    progress.stage("pruning")
    again = Completion(
        ledger, lambda ledger: OneDemand(ledger, allowed=allowed), deadline, progress, seed=seed
    )
    again.prove_by_cubes()
    again.run()
    is_complete = not again.ledger.num_open and again.reason is MethodEnding.COMPLETE
    best, other = (again, whole) if is_complete and again.ledger.cost < whole.ledger.cost else (whole, again)
    best.earlier_lps += other.num_lps
    return best


def _pack_where_large(whole: Completion, params: ModularParams, deadline: Deadline, seed: int) -> None:
    """Components too large for linear programs are left to cubes, where the table has them."""
    cells = np.unique(whole.ledger.open_demands()[0]).tolist()
    is_small = all(whole.protector.size_of(cell) <= params.large for cell in cells)
    if is_small or not has_cubes(whole.ledger.problem.table):
        return
    packing = Packing(whole.ledger, params.packing, seed=seed)
    packing.protect(deadline)
    packing.clean(deadline)


# -- modules -------------------------------------------------------------------------------------------------


def modules_of(table: Table) -> list[Module]:
    """The modules of a table, top down; none where the whole table would be one.

    Examples
    --------
    >>> from cellveil.datasets import random_table
    >>> table = random_table((7, 4), hierarchical={0: 2}, zeros=0, contributors=9, seed=1).table
    >>> [(module.level, len(module.cells), len(module.rows)) for module in modules_of(table)]
    [(0, 12, 7), (1, 12, 7), (1, 12, 7)]
    """
    table = structured(table)
    blocks = [_Blocks.of(dimension) for dimension in table.dimensions]
    if not table.is_structured or all(len(block.level) == 1 for block in blocks):
        return []
    inside = _places(table, blocks)
    level = reduce(np.add.outer, [block.level for block in blocks]).ravel()
    # relations all of whose cells stand in a module
    parts = (table.relations.matrix != 0).astype(np.int64) @ inside
    parts.data *= parts.data == np.diff(table.relations.indptr)[parts.tocoo().row]
    parts = parts.tocsc()
    parts.eliminate_zeros()
    parts.sort_indices()
    found = []
    for number in np.flatnonzero(np.diff(parts.indptr)).tolist():
        cells, rows = (
            matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]].astype(np.int64)
            for matrix in (inside, parts)
        )
        found.append(Module(cells, rows, int(level[number])))
    return sorted(found, key=lambda module: module.level)


@dataclass(frozen=True, repr=False, eq=False)
class _Blocks:
    """The blocks of codes of one dimension: an equation each, and codes without any by themselves.

    Attributes
    ----------
    starts, blocks
        Code c stands in the blocks ``blocks[starts[c]:starts[c + 1]]``.
    level
        Level of each block's parent.
    """

    starts: Int
    blocks: Int
    level: Int

    @classmethod
    def of(cls, dimension: Dimension) -> _Blocks:
        groups = [(equation.codes, equation.parent) for equation in dimension.equations]
        inside = {code for codes, _ in groups for code in codes}
        groups += [((code,), code) for code in range(len(dimension)) if code not in inside]
        codes = np.concatenate([np.array(codes, dtype=np.int64) for codes, _ in groups])
        blocks = np.repeat(np.arange(len(groups)), [len(codes) for codes, _ in groups])
        level = np.array(
            [
                dimension.level[parent] if parent >= 0 else dimension.level[list(codes)].min()
                for codes, parent in groups
            ]
        )
        order = np.argsort(codes, kind="stable")
        return cls(np.searchsorted(codes[order], np.arange(len(dimension) + 1)), blocks[order], level)


def _places(table: Table, blocks: list[_Blocks]) -> csc_matrix:
    """Which cell stands in which module: the number of a module is that of its blocks, row-major."""
    from scipy.sparse import csc_matrix

    cells = np.arange(table.num_cells, dtype=np.int64)
    numbers, count = np.zeros(table.num_cells, dtype=np.int64), 1
    for block, column in zip(blocks, table.keys, strict=True):
        starts = block.starts[column[cells]]
        lengths = block.starts[column[cells] + 1] - starts
        offsets = np.cumsum(lengths) - lengths
        chosen = np.repeat(starts - offsets, lengths) + np.arange(int(lengths.sum()))
        cells, numbers = np.repeat(cells, lengths), np.repeat(numbers, lengths)
        numbers, count = numbers * len(block.level) + block.blocks[chosen], count * len(block.level)
    one = np.ones(len(cells), dtype=np.int64)
    inside = csc_matrix((one, (cells, numbers)), shape=(table.num_cells, count))
    inside.sort_indices()
    return inside


# -- protecting them -----------------------------------------------------------------------------------------


class Descent:
    """The modules of a problem, protected one after the other, top down, with returns.

    Attributes
    ----------
    hidden
        The pattern so far.
    """

    def __init__(self, problem: Problem, modules: list[Module], params: ModularParams | None = None) -> None:
        self.problem, self.modules, self.params = problem, modules, params or ModularParams()
        self.hidden = problem.hidden_at_start.copy()
        self.num_lps = 0
        cells = np.concatenate([np.zeros(0, dtype=np.int64), *(module.cells for module in modules)])
        owner = np.repeat(np.arange(len(modules)), [len(module.cells) for module in modules])
        order = np.argsort(cells, kind="stable")
        self._modules_of_cell = owner[order]
        self._borders = np.searchsorted(cells[order], np.arange(problem.table.num_cells + 1))
        self._share = np.maximum(np.diff(self._borders), 1)
        self._largest_level = int(max(problem.upl.max(initial=1), problem.lpl.max(initial=1), 1))
        self._own: list[set[int]] = [set() for _ in modules]
        self._found: list[Witnesses] = [Witnesses.of([]) for _ in modules]

    def run(self, deadline: Deadline, progress: Progress) -> None:
        """Work until no module has anything left to do."""
        queue = list(range(len(self.modules)))
        waiting = set(queue)
        done = 0
        while queue and not deadline.is_over:
            number = heapq.heappop(queue)
            waiting.discard(number)
            for cell in self._protect(number, deadline):
                for other in self._modules_of_cell[self._borders[cell] : self._borders[cell + 1]].tolist():
                    if other != number and other not in waiting:
                        heapq.heappush(queue, other)
                        waiting.add(other)
            done += 1
            progress.advance(done, done + len(queue), hidden=int(self.hidden.sum()))

    def whole_witnesses(self) -> Witnesses:
        """The deviations of modules that are deviations of the whole table."""
        found = Witnesses.joined(
            [
                Witnesses(part.starts, module.cells[part.cells], part.numerators, part.denominators)
                for part, module in zip(self._found, self.modules, strict=True)
            ]
        )
        return found.take(np.flatnonzero(are_deviations(self.problem, self.hidden, found)))

    def _protect(self, number: int, deadline: Deadline) -> list[int]:
        """Meet the demands of a module inside it as far as that goes; return the cells hidden for that."""
        part = self._part(number)
        if not len(part.primaries):
            return []
        ledger = Ledger(part)
        ledger.add_all(self._found[number])
        program = OneDemand(ledger)
        cells, ups, _ = ledger.open_demands()
        for cell, up in zip(cells.tolist(), ups.tolist(), strict=True):
            if deadline.is_over:
                break
            if program.size_of(cell) <= self.params.large and ledger.is_open(cell, up):
                program.protect(cell, up, deadline)
        drop_unused(ledger)
        self.num_lps += program.num_lps
        self._found[number] = ledger.witnesses()
        new: list[int] = self.modules[number].cells[ledger.secondaries()].tolist()
        self._own[number].update(new)
        self.hidden[new] = True
        return new

    def _part(self, number: int) -> Problem:
        """The module as a problem of its own, with demands of the secondary cells that others hid."""
        whole, module = self.problem, self.modules[number]
        cells = module.cells
        values, hidden = whole.table.values[cells], self.hidden[cells]
        carried = hidden & ~whole.hidden_at_start[cells] & ~np.isin(cells, sorted(self._own[number]))
        small = np.clip((self.params.carried * np.abs(values)).astype(np.int64), 1, self._largest_level)
        upl, lpl = (
            np.where(
                carried, np.minimum(small, np.minimum(room, 2.0**52)[cells].astype(np.int64)), level[cells]
            )
            for room, level in ((whole.up, whole.upl), (whole.down, whole.lpl))
        )
        status = np.where(
            hidden & (whole.status[cells] != Status.PRIMARY), Status.SECONDARY, whole.status[cells]
        )
        status = np.where(carried & ((upl > 0) | (lpl > 0)), Status.PRIMARY, status)
        return Problem(
            _subtable(whole.table, module),
            status.astype(np.int8),
            whole.weight[cells] * self._share[cells],
            whole.lb[cells],
            whole.ub[cells],
            lpl,
            upl,
            whole.spl[cells],
        )


def _subtable(table: Table, module: Module) -> Table:
    """The cells of a module and the relations among them, without dimensions."""
    cells, n = module.cells, len(module.cells)
    number = np.zeros(table.num_cells, dtype=np.int64)
    number[cells] = np.arange(n)
    return Table(
        (Dimension.unstructured(CELL, map(str, range(n))),),
        (np.arange(n, dtype=np.int32),),
        table.values[cells],
        table.decimals,
        table.relations.take_rows(module.rows).renumber(n, number),
    )
