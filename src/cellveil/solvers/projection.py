"""The orthogonal projection onto {M y = 0}, computed without solving an LP.

Three ways, the first that applies:

* a table with dimensions: {M y = 0} is the tensor product of the kernels of its dimensions, so the projector
  is the product of one projector I − Q_k Q_kᵀ per dimension, applied along its axis; Q_k is an orthonormal
  basis of the rows of that dimension's equations (one column for a flat dimension: centring). This needs the
  relations to be exactly the equations of the dimensions, at all combinations of codes;
* anything else: y − Mᵀ (M Mᵀ)⁻¹ M y with one sparse factorisation, made once. Redundant relations make M Mᵀ
  singular; a tiny multiple of the identity is added, and one step of refinement takes its effect away.

Works on several vectors over the places of a table at once, as columns; linear in their number and in that of
the places (tensor) or of the entries of the factors (sparse). A table with dimensions may be cut down to some
codes of each: the projection is then onto the deviations that move nothing else.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cellveil.arrays import Float, Int
from cellveil.loops.douglas_rachford import centre
from cellveil.solvers import tolerances
from cellveil.solvers.parallel import in_parts
from cellveil.tables.dimension import Dimension
from cellveil.tables.structure import is_product
from cellveil.tables.table import Table

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


STRIP = 1024
"""Width of the strips in which long lines are worked on."""


class Projection(Protocol):
    """Projects vectors over `size` places onto {M y = 0}; `places` says where each of the `cells` stands."""

    size: int
    cells: Int
    places: Int

    def apply(self, y: Float) -> Float:
        """For each column the nearest vector that keeps every relation."""


def projection_of(table: Table) -> Projection:
    """The cheapest projection that is right for the table."""
    if is_product(table):
        return TensorProjection(table)
    return SparseProjection(table.relations.matrix)


class TensorProjection:
    """Product of one small projector per dimension, over the full array of a table or of some of its codes.

    Parameters
    ----------
    codes
        For each dimension the codes to keep, ascending; all where nothing is given.
    """

    def __init__(self, table: Table, codes: list[Int] | None = None) -> None:
        codes = [np.arange(size) for size in table.sizes] if codes is None else codes
        self.shape = tuple(len(mine) for mine in codes)
        self.size = prod(self.shape)
        spots = [np.full(size, -1) for size in table.sizes]
        for spot, mine in zip(spots, codes, strict=True):
            spot[mine] = np.arange(len(mine))
        keys = [spot[column] for spot, column in zip(spots, table.keys, strict=True)]
        self.cells: Int = np.flatnonzero(np.all([key >= 0 for key in keys], axis=0))
        inside = tuple(key[self.cells] for key in keys)
        self.places: Int = np.ravel_multi_index(inside, self.shape).astype(np.int64)
        self._bases = [
            _row_basis(dimension, mine) for dimension, mine in zip(table.dimensions, codes, strict=True)
        ]

    def apply(self, y: Float) -> Float:
        """See `Projection`."""
        y = y.copy()
        for axis, basis in enumerate(self._bases):
            before, after = prod(self.shape[:axis]), prod(self.shape[axis + 1 :]) * y.shape[1]
            block = y.reshape(before, self.shape[axis], after)
            if before >= after:
                in_parts(partial(_along_rows, block, basis), before, block[0].size)
            else:
                strips = -(-after // STRIP)
                in_parts(partial(_along_strips, block, basis), strips, block[:, :, :STRIP].size)
        return y


def _along_rows(block: Float, basis: Float, first: int, last: int) -> None:
    """Project along the middle axis, from row to row of the first one."""
    _along(block, basis, (first, last), (0, block.shape[2]))


def _along_strips(block: Float, basis: Float, first: int, last: int) -> None:
    """Project along the middle axis, from strip to strip of the last one.

    Strips are the same for any number of threads, and so are rounding errors.
    """
    for strip in range(first, last):
        columns = (strip * STRIP, min((strip + 1) * STRIP, block.shape[2]))
        _along(block, basis, (0, block.shape[0]), columns)


def _along(block: Float, basis: Float, rows: tuple[int, int], columns: tuple[int, int]) -> None:
    if basis.shape[1] == 1:
        centre(block, np.ascontiguousarray(basis[:, 0]), *rows, *columns)
    else:
        part = block[slice(*rows), :, slice(*columns)]
        part -= np.matmul(basis, np.matmul(basis.T, part))


def _row_basis(dimension: Dimension, codes: Int) -> Float:
    """Orthonormal columns that span the rows of the dimension's equations among these codes."""
    rows = np.zeros((len(dimension.equations), len(dimension)))
    for number, equation in enumerate(dimension.equations):
        rows[number, list(equation.codes)] = equation.coefs
    rows = rows[:, codes]
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    rank = int((sizes > tolerances.EQUAL * sizes.max(initial=1.0)).sum())
    return np.ascontiguousarray(directions[:rank].T)


class SparseProjection:
    """One factorisation of M Mᵀ, used again and again."""

    def __init__(self, matrix: csr_matrix) -> None:
        from scipy.sparse import identity
        from scipy.sparse.linalg import splu

        self._rows = matrix.tocsr()
        self._columns = matrix.T.tocsr()
        self.size = matrix.shape[1]
        self.cells: Int = np.arange(self.size)
        self.places: Int = self.cells
        gram = (self._rows @ self._columns).tocsc()
        scale = float(gram.diagonal().max(initial=1.0))
        gram = gram + tolerances.REGULARISATION * scale * identity(gram.shape[0], format="csc")
        self._factor = splu(gram, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})

    def apply(self, y: Float) -> Float:
        """See `Projection`."""
        y = y - self._columns @ self._factor.solve(self._rows @ y)
        return np.asarray(y - self._columns @ self._factor.solve(self._rows @ y))
