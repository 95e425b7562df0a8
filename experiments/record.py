"""What an experiment ends with: tables of figures, plots and remarks, written as a page with its data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cellveil.files import write_text

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Figures:
    """A table: its name for files, a caption, and rows that have the same columns."""

    name: str
    caption: str
    rows: Sequence[Row]

    def markdown(self) -> str:
        """The table as a page shows it.

        Examples
        --------
        >>> print(Figures("t", "Two.", [{"a": 1, "b": 0.25}]).markdown())
        | a | b |
        |---|---|
        | 1 | 0.25 |
        """
        if not self.rows:
            return "(no rows)"
        columns = list(self.rows[0])
        lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
        lines += ["| " + " | ".join(_shown(row.get(name)) for name in columns) + " |" for row in self.rows]
        return "\n".join(lines)

    def csv(self) -> str:
        """The table as data."""
        text = io.StringIO()
        if self.rows:
            writer = csv.DictWriter(text, list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        return text.getvalue()


@dataclass(frozen=True)
class Record:
    """Everything one run of an experiment found.

    Parameters
    ----------
    title, settings
        What was run.
    tables, plots, remarks
        What came out: plots are SVG texts by name.
    details
        Single measurements, written as data only.
    """

    title: str
    settings: Mapping[str, Any]
    tables: Sequence[Figures]
    remarks: Sequence[str] = ()
    plots: Mapping[str, str] = field(default_factory=dict)
    details: Sequence[Figures] = ()

    def markdown(self) -> str:
        """The page."""
        said = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        parts = [f"# {self.title}", f"Settings: {said}."]
        for table in self.tables:
            parts += [f"**{table.caption}**", table.markdown()]
        parts += [f"![{name}]({name}.svg)" for name in self.plots]
        parts += [f"- {remark}" for remark in self.remarks]
        return "\n\n".join(parts) + "\n"

    def write(self, folder: Path) -> list[Path]:
        """Write page, plots and data into a folder; returns the files."""
        texts = {"report.md": self.markdown()}
        texts |= {f"{table.name}.csv": table.csv() for table in (*self.tables, *self.details)}
        texts |= {f"{name}.svg": plot for name, plot in self.plots.items()}
        data = {table.name: list(table.rows) for table in (*self.tables, *self.details)}
        texts["figures.json"] = json.dumps(
            {"settings": dict(self.settings), "tables": data}, indent=1, default=float
        )
        for name, text in texts.items():
            write_text(folder / name, text)
        return [folder / name for name in texts]


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
