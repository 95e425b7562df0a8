"""Business microdata of an invented country, skewed as such data are.

Most firms have a handful of employees and a few have thousands; turnover varies by a factor of a million;
districts specialise in some industries; some firms belong to holdings that reach over industries and
regions. None of it describes a real firm.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from cellveil.arrays import Float, Int
from cellveil.datasets.classification import SECTIONS, SIZES, Labels, classification
from cellveil.datasets.draw import choose, choose_by_row, normal, uniform
from cellveil.errors import InputError
from cellveil.files import atomic_path, write_text
from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

if TYPE_CHECKING:
    import pyarrow as pa

SIZE_STARTS = (10, 50, 250)
"""Employees from which the second, third and fourth size class begin."""

LARGEST_FIRM = 20_000
"""Most employees of a firm."""

CAPITAL = "W11"
"""The district with most firms."""

HOLDING_SHARE = 0.08
HOLDING_SIZES = range(2, 13)

SECTION_FACTS = {
    "A": (6.0, 1.35, 90, 0.10),
    "B": (0.3, 1.00, 400, 0.35),
    "C": (9.0, 0.95, 210, 0.45),
    "D": (0.8, 1.00, 700, 0.10),
    "E": (0.7, 0.95, 180, 0.05),
    "F": (12.0, 1.15, 140, 0.03),
    "G": (21.0, 1.12, 380, 0.20),
    "H": (5.0, 1.05, 160, 0.30),
    "I": (8.0, 1.20, 60, 0.02),
    "J": (5.0, 1.00, 190, 0.35),
    "K": (2.0, 1.00, 420, 0.20),
    "L": (4.0, 1.40, 330, 0.01),
    "M": (10.0, 1.25, 130, 0.20),
    "N": (4.0, 1.00, 90, 0.08),
    "O": (2.5, 0.95, 45, 0.01),
    "P": (1.5, 1.10, 55, 0.03),
    "Q": (4.0, 1.05, 65, 0.01),
    "R": (2.0, 1.30, 80, 0.05),
    "S": (5.0, 1.50, 40, 0.01),
    "T": (1.0, 1.20, 50, 0.01),
}
"""Share of firms; exponent of the tail of employees; turnover per head (thousands); share of exporters."""


@dataclass(frozen=True, repr=False, eq=False)
class BusinessData:
    """Firms, one per row, with the classifications they are coded by. Frozen.

    Parameters
    ----------
    frame
        A pyarrow Table with the columns

        - `firm`, `holding`: ids; a firm that belongs to no holding is its own holding;
        - `industry`, `region`, `size`: codes, the finest of each dimension;
        - `section`, `division`: the two coarser levels of the industry;
        - `employees`, and `turnover`, `domestic`, `export` in thousands: integers,
          turnover = domestic + export;
        - `weight`: sampling weight, 1.0 to 8.0;
        - `request`: “1” or “2” where the firm asked for protection, by the first or second code, else “0”;
        - `waiver`: whether the firm has waived protection.
    """

    frame: pa.Table

    def __repr__(self) -> str:
        return f"BusinessData({len(self)} firms)"

    def __len__(self) -> int:
        return int(self.frame.num_rows)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Industry, region (by administration and by coast) and size."""
        return classification()[0]

    @property
    def labels(self) -> Labels:
        """For each dimension the label of every code."""
        return classification()[1]

    def write(self, folder: Path | str, *, format: Literal["csv", "parquet"] = "csv") -> list[Path]:
        """Write firms.csv (or firms.parquet), hier_*.csv and labels.csv, as a user would bring them.

        Returns
        -------
        The files written.
        """
        folder = Path(folder)
        firms = folder / f"firms.{format}"
        _write_frame(self.frame, firms, format)
        region = self.dimensions[1].hierarchies
        tables: dict[str, Iterable[tuple[str, ...]]] = {
            "hier_industry.csv": _edges(self.dimensions[0].hierarchies[0]),
            "hier_region.csv": _edges(region[0]),
            "hier_region_coast.csv": _edges(region[1]),
            "hier_size.csv": _edges(self.dimensions[2].hierarchies[0]),
            "labels.csv": [
                ("dimension", "code", "label"),
                *(
                    (name, code, label)
                    for name, labels in self.labels.items()
                    for code, label in labels.items()
                ),
            ],
        }
        for name, rows in tables.items():
            write_text(folder / name, _csv_text(rows))
        return [firms, *(folder / name for name in tables)]


def business(firms: int = 50_000, seed: int = 1) -> BusinessData:
    """Make business microdata. Same seed and number of firms, same data.

    Examples
    --------
    >>> data = business(1000)
    >>> data
    BusinessData(1000 firms)
    >>> data.labels["industry"]["C"], data.labels["region"]["N1"]
    ('Manufacturing', 'Holmark')
    """
    if firms < 1:
        raise InputError("firms: not positive", remedy="Ask for at least one firm.")
    rng = np.random.default_rng(seed)
    industry, division, section = _draw_industries(rng, firms)
    region = _draw_regions(rng, division)
    employees = _draw_employees(rng, section)
    turnover = _draw_turnover(rng, section, division, employees)
    export = _draw_export(rng, section, turnover)
    size = np.searchsorted(SIZE_STARTS, employees, side="right")
    holding = _draw_holdings(rng, employees)
    drawn: dict[str, NDArray[Any]] = {
        "industry": industry,
        "region": region,
        "size": size,
        "employees": employees,
        "turnover": turnover,
        "export": export,
        "weight": _draw_weights(rng, size),
        "request": _draw_requests(rng, size),
        "waiver": rng.random(firms) < 0.004,
    }
    return BusinessData(_frame(holding, drawn))


def _draw_industries(rng: np.random.Generator, firms: int) -> tuple[Int, Int, Int]:
    """For each firm the numbers of its group, division and section; groups differ much in size."""
    tree = classification()[0][0].hierarchies[0]
    section_of_division = np.repeat(np.arange(len(SECTIONS)), [len(tree.children[code]) for code in SECTIONS])
    division_of = np.repeat(
        np.arange(len(section_of_division)), [len(tree.children[code]) for code in _above_leaves(tree)]
    )
    section_of = section_of_division[division_of]
    size = np.exp(0.9 * normal(rng, len(section_of)))
    shares = np.array([facts[0] for facts in SECTION_FACTS.values()]) / np.bincount(section_of, weights=size)
    group = choose(rng, size * shares[section_of], firms)
    return group, division_of[group], section_of[group]


def _draw_regions(rng: np.random.Generator, division: Int) -> Int:
    """District of each firm: most in the capital, and each division has places where it gathers."""
    dimensions = classification()[0]
    districts = dimensions[1].hierarchies[0].leaves
    num_divisions = len(_above_leaves(dimensions[0].hierarchies[0]))
    size = np.exp(0.6 * normal(rng, len(districts)))
    size[districts.index(CAPITAL)] = size.max() * 2
    gathering = np.exp(0.9 * normal(rng, num_divisions * len(districts)))
    return choose_by_row(rng, size * gathering.reshape(num_divisions, -1), division)


def _draw_employees(rng: np.random.Generator, section: Int) -> Int:
    """Pareto numbers of employees: 90 % below 10, 0.3 % from 250 on."""
    exponent = np.array([facts[1] for facts in SECTION_FACTS.values()])
    drawn = uniform(rng, len(section)) ** (-1.0 / exponent[section])
    return np.minimum(drawn, LARGEST_FIRM).astype(np.int64)


def _draw_turnover(rng: np.random.Generator, section: Int, division: Int, employees: Int) -> Int:
    """Turnover in thousands: per head log-normal around the division's level, wider for small firms."""
    per_head = np.array([float(facts[2]) for facts in SECTION_FACTS.values()])
    of_division = np.exp(0.3 * normal(rng, int(division.max()) + 1))
    spread = 0.4 + 0.5 / np.sqrt(employees)
    outlier = np.where(rng.random(len(section)) < 0.003, uniform(rng, len(section)) ** -0.5, 1.0)
    factor = np.exp(spread * normal(rng, len(section))) * outlier
    drawn = employees * per_head[section] * of_division[division] * factor
    return np.asarray(np.maximum(np.rint(drawn), 1).astype(np.int64))


def _draw_export(rng: np.random.Generator, section: Int, turnover: Int) -> Int:
    """The part of the turnover that is exported: large firms export more often."""
    exporters = np.array([facts[3] for facts in SECTION_FACTS.values()])
    chance = exporters[section] * np.clip(np.log10(turnover) / 4.0, 0.1, 1.6)
    share = np.where(rng.random(len(section)) < chance, rng.random(len(section)) ** 1.5, 0.0)
    return np.asarray(np.floor(turnover * share).astype(np.int64))


def _draw_weights(rng: np.random.Generator, size: Int) -> Float:
    """Sampling weights with one decimal: 1 from 50 employees on, up to 8 for the smallest firms."""
    lowest, highest = np.array([20, 10, 10, 10]), np.array([80, 30, 10, 10])
    tenths = lowest[size] + np.floor(rng.random(len(size)) * (highest - lowest + 1)[size])
    return np.asarray(tenths / 10.0)


def _draw_requests(rng: np.random.Generator, size: Int) -> Int:
    """0 for most firms; larger ones ask for protection more often."""
    chance = np.array([0.001, 0.01, 0.03, 0.08])[size]
    drawn = rng.random(len(size))
    return np.where(drawn < 0.3 * chance, 2, np.where(drawn < chance, 1, 0))


def _draw_holdings(rng: np.random.Generator, employees: Int) -> Int:
    """The number of each firm's holding, −1 without; large firms belong to one more often.

    Members are drawn without regard to industry or region.
    """
    firms = len(employees)
    members = round(HOLDING_SHARE * firms)
    # the smallest of exponential waiting times, which are shorter for larger firms
    waiting = -np.log(uniform(rng, firms)) / np.sqrt(employees)
    drawn = np.sort(np.argsort(waiting, kind="stable")[:members])
    drawn = drawn[np.argsort(rng.random(members), kind="stable")]
    shares = np.array([size**-1.5 for size in HOLDING_SIZES])
    sizes = HOLDING_SIZES.start + choose(rng, shares, members // HOLDING_SIZES.start)
    sizes = sizes[np.cumsum(sizes) <= members]
    number = np.full(firms, -1, dtype=np.int64)
    number[drawn[: int(sizes.sum())]] = np.repeat(np.arange(len(sizes)), sizes)
    return number


def _frame(holding: Int, drawn: Mapping[str, NDArray[Any]]) -> pa.Table:
    """Ids and codes for numbers; the industry with its two coarser levels."""
    import pyarrow as pa
    import pyarrow.compute as pc

    dimensions = classification()[0]
    digits = max(6, len(str(len(holding))))
    firm = _ids("F", np.arange(1, len(holding) + 1), digits)
    group = _coded(dimensions[0].hierarchies[0].leaves, drawn["industry"])
    return pa.table(
        {
            "firm": firm,
            "holding": pc.if_else(pa.array(holding >= 0), _ids("H", holding + 1, digits), firm),
            "industry": group,
            "section": pc.utf8_slice_codeunits(group, 0, 1),
            "division": pc.utf8_slice_codeunits(group, 0, 3),
            "region": _coded(dimensions[1].hierarchies[0].leaves, drawn["region"]),
            "size": _coded(tuple(SIZES), drawn["size"]),
            "employees": drawn["employees"],
            "turnover": drawn["turnover"],
            "domestic": drawn["turnover"] - drawn["export"],
            "export": drawn["export"],
            "weight": drawn["weight"],
            "request": _coded(("0", "1", "2"), drawn["request"]),
            "waiver": drawn["waiver"],
        }
    )


def _ids(letter: str, numbers: Int, digits: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    padded = pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), digits, "0")
    return pc.binary_join_element_wise(letter, padded, "")


def _coded(codes: tuple[str, ...], numbers: Int) -> pa.Array:
    import pyarrow as pa

    return pa.array(codes).take(pa.array(numbers))


def _above_leaves(tree: Hierarchy) -> list[str]:
    """The codes two levels below the total, whose children are the leaves, in order."""
    return [second for first in tree.children[tree.root] for second in tree.children[first]]


def _edges(tree: Hierarchy) -> Iterable[tuple[str, ...]]:
    return [("parent", "child"), *tree.pairs()]


def _csv_text(rows: Iterable[tuple[str, ...]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _write_frame(frame: pa.Table, target: Path, format: str) -> None:
    if format not in ("csv", "parquet"):
        raise InputError(f"unknown format {format!r}", remedy="Use csv or parquet.")
    import pyarrow.csv
    import pyarrow.parquet

    write = pyarrow.csv.write_csv if format == "csv" else pyarrow.parquet.write_table
    with atomic_path(target) as temporary:
        write(frame, temporary)
