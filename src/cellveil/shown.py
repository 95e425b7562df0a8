"""The base of everything that shows the cells of a table: as a frame, and in notebooks.

What it looks like is the business of `cellveil.views`, which stands above all rooms and is loaded when
somebody looks. No view shows a value that an audit has not shown to be safe, unless it is asked to.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, repr=False)
class View:
    """What a notebook shows; `html` is the text of it."""

    html: str
    title: str

    def __repr__(self) -> str:
        return f"View({self.title})"

    def _repr_html_(self) -> str:
        return self.html


class Shown:
    """Goes out as a frame with a row for each cell, and as a view in notebooks."""

    def to_arrow(self, *, public: bool = False) -> Any:
        """The cells as an Arrow table, a row for each.

        Parameters
        ----------
        public
            Only what everybody may see: codes, values and which cells are hidden. Of a table that was not
            shown safe there is no such frame. Otherwise the frame is confidential.

        Raises
        ------
        NotSafeError
            Where a public frame is asked for, and the audit has something against publishing it.
        """
        return import_module("cellveil.views.cell_frames").arrow_of(self, public)

    def to_pandas(self, *, public: bool = False) -> Any:
        """The same as a frame of pandas."""
        return import_module("cellveil.views.cell_frames").pandas_of(self, public)

    def to_polars(self, *, public: bool = False) -> Any:
        """The same as a frame of polars."""
        return import_module("cellveil.views.cell_frames").polars_of(self, public)

    def show(self, *, values: bool = False, cells: int | None = None) -> View:
        """A view of the table for notebooks.

        Parameters
        ----------
        values
            Show all values, hidden and unsafe ones too: the view is then confidential.
        cells
            About how many cells to show at most; larger tables are cut to their upper levels and first lines.
        """
        view: View = import_module("cellveil.views").view_of(self, values=values, cells=cells)
        return view

    def _repr_html_(self) -> str:
        return self.show().html
