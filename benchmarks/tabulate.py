"""Tabulate large microdata, and the same by plain pandas: seconds, peak memory, ratio, equal results.

    python benchmarks/tabulate.py [--rows 10000000] [--ids] [--skip-pandas]
    python benchmarks/tabulate.py --engine spark|postgres [--rows 20000 200000 1000000]

Three hierarchical dimensions (industry 671 codes, region 125, size 11), skewed amounts; with ``--ids`` the
contributions of a contributor are added up in each cell first (about 5 % of the contributors have records in
several cells). Either way runs in a process of its own, one after the other, on the same file.

With ``--engine`` DuckDB and another engine tabulate the same records with contributors, holdings and weights
(industry 67 codes, region 25, size 11): every figure must be equal bit by bit, and the memory is that of the
client process alone, without server or JVM, which must not grow with the records. PostgreSQL is found by the
variables of libpq (PGHOST, …), Spark by CELLVEIL_SPARK (a master, by default local[2]).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cellveil.tables.dimension import Dimension
from cellveil.tables.hierarchy import Hierarchy

DATA = """
COPY (
    WITH drawn AS (
        SELECT i, hash(i * 7 + 1) % 1000003 / 1000003.0 AS u1, hash(i * 7 + 2) % 1000003 / 1000003.0 AS u2,
            hash(i * 7 + 3) % 1000003 / 1000003.0 AS u3, hash(i * 7 + 4) % 1000003 / 1000003.0 AS u4,
            hash(i * 7 + 5) AS h5
        FROM range({rows}) AS t(i)
    )
    SELECT
        'I' || lpad(CAST(CAST(floor(600 * pow(u1, 1.6)) AS INTEGER) AS VARCHAR), 3, '0') AS industry,
        'R' || lpad(CAST(CAST(floor(100 * pow(u2, 1.4)) AS INTEGER) AS VARCHAR), 2, '0') AS region,
        'S' || CAST(CAST(floor(8 * u3 * u3) AS INTEGER) AS VARCHAR) AS size,
        CAST(exp(14 * u4) AS BIGINT) AS amount,
        CASE WHEN h5 % 10000 = 0 THEN h5 % 50 WHEN h5 % 100 < 5 THEN i + 99 ELSE i + 100 END AS contributor
    FROM drawn
) TO '{path}' (FORMAT parquet)
"""


ENGINE_DATA = """
COPY (
    WITH drawn AS (
        SELECT i, hash(i * 7 + 1) % 1000003 / 1000003.0 AS u1, hash(i * 7 + 2) % 1000003 / 1000003.0 AS u2,
            hash(i * 7 + 3) % 1000003 / 1000003.0 AS u3, hash(i * 7 + 4) % 1000003 / 1000003.0 AS u4,
            hash(i * 7 + 5) AS h5, hash(i * 7 + 6) AS h6
        FROM range({rows}) AS t(i)
    ), units AS (
        SELECT *, CASE WHEN h5 % 10000 = 0 THEN h5 % 50 WHEN h5 % 100 < 5 THEN i + 99 ELSE i + 100 END AS unit
        FROM drawn
    )
    SELECT
        'I' || lpad(CAST(CAST(floor(60 * pow(u1, 1.6)) AS INTEGER) AS VARCHAR), 3, '0') AS industry,
        'R' || lpad(CAST(CAST(floor(20 * pow(u2, 1.4)) AS INTEGER) AS VARCHAR), 2, '0') AS region,
        'S' || CAST(CAST(floor(8 * u3 * u3) AS INTEGER) AS VARCHAR) AS size,
        CAST(exp(20 * u4) AS BIGINT) AS amount,
        CAST(1 + h6 % 5000 / 7.0 AS DOUBLE) AS weight,
        CAST(unit AS BIGINT) AS contributor,
        CAST(hash(unit) % ({rows} // 20 + 1) AS BIGINT) AS holding
    FROM units
) TO '{path}' (FORMAT parquet)
"""

TABLE = "cellveil_benchmark"
"""Where the records stand in PostgreSQL."""


def dimensions() -> list[Dimension]:
    industry = [("Total", f"J{i}") for i in range(10)]
    industry += [(f"J{i // 6}", f"K{i}") for i in range(60)]
    industry += [(f"K{i // 10}", f"I{i:03d}") for i in range(600)]
    region = [("Total", f"A{i}") for i in range(4)] + [(f"A{i // 5}", f"B{i}") for i in range(20)]
    region += [(f"B{i // 5}", f"R{i:02d}") for i in range(100)]
    size = [("Total", "small"), ("Total", "large")]
    size += [("small" if i < 4 else "large", f"S{i}") for i in range(8)]
    pairs = {"industry": industry, "region": region, "size": size}
    return [Dimension.of(name, Hierarchy.from_pairs(edges)) for name, edges in pairs.items()]


def by_cellveil(path: Path, ids: bool) -> np.ndarray:
    from cellveil.microdata.tabulate import tabulate

    table = tabulate(path, dimensions(), "amount", contributor="contributor" if ids else None, depth=2)
    return np.column_stack([*table.keys, table.values, table.units.count, table.units.top])


def coarse_dimensions() -> list[Dimension]:
    industry = [("Total", f"J{i}") for i in range(6)] + [(f"J{i // 10}", f"I{i:03d}") for i in range(60)]
    region = [("Total", f"A{i}") for i in range(4)] + [(f"A{i // 5}", f"R{i:02d}") for i in range(20)]
    size = [("Total", "small"), ("Total", "large")]
    size += [("small" if i < 4 else "large", f"S{i}") for i in range(8)]
    pairs = {"industry": industry, "region": region, "size": size}
    return [Dimension.of(name, Hierarchy.from_pairs(edges)) for name, edges in pairs.items()]


def by_engine(engine: str, path: Path) -> np.ndarray:
    """Every figure of the table, one row for each cell."""
    from cellveil.microdata.engine_choice import EngineChoice
    from cellveil.microdata.tabulate import tabulate

    os.environ.setdefault("CELLVEIL_SPARK", "local[2]")
    table = tabulate(
        TABLE if engine == "postgres" else path,
        coarse_dimensions(),
        "amount",
        contributor="contributor",
        holding="holding",
        weight="weight",
        engine=EngineChoice(engine, "CELLVEIL_SPARK" if engine == "spark" else None),
    )
    figures = [*table.keys, table.values]
    for level in (table.units, table.holdings):
        names = np.array([int(name) for name in level.names])
        figures += [level.count, level.total, level.absolute, level.weighted_count.view(np.int64)]
        figures += [level.top, level.top_weight.view(np.int64), level.parts]
        figures += [np.where(who < 0, -1, names[who]) for who in (level.who, level.part_who)]
    return np.column_stack(figures)


def load_postgres(path: Path) -> None:
    import pyarrow.parquet as pq
    from adbc_driver_postgresql import dbapi

    with dbapi.connect("postgresql://") as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(TABLE, pq.ParquetFile(path).iter_batches(), mode="replace")
        connection.commit()


def compare_engines(engine: str, rows: int, folder: Path) -> None:
    import duckdb

    data = folder / "data.parquet"
    duckdb.execute(ENGINE_DATA.format(rows=rows, path=data))
    if engine == "postgres":
        load_postgres(data)
    for way in ("duckdb", engine):
        command = [sys.executable, __file__, "--child", way, str(data), str(folder / f"{way}.npy")]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        print(f"{rows} rows, {way}: {answer.strip().splitlines()[-1]}", flush=True)
    equal = np.array_equal(*(np.load(folder / f"{way}.npy") for way in ("duckdb", engine)))
    print(f"results equal: {equal}", flush=True)
    if not equal:
        sys.exit(1)


def by_pandas(path: Path, ids: bool) -> np.ndarray:
    """One group-by for each combination of levels."""
    import pandas as pd

    data = pd.read_parquet(path)
    levels: list[list[str]] = []
    for dimension in dimensions():
        leaf = data[dimension.name].map(dimension.index).to_numpy()
        names = []
        for number, above in enumerate(paths_to_the_top(dimension)):
            names.append(f"{dimension.name}{number}")
            data[names[-1]] = above[leaf]
        levels.append(names)
        del data[dimension.name]
    data = data.sort_values("amount", ascending=False)
    found = []
    for keys in itertools.product(*levels):
        part = data
        if ids:
            part = data.groupby([*keys, "contributor"], sort=False, as_index=False)["amount"].sum()
            part = part.sort_values("amount", ascending=False)
        groups = part.groupby(list(keys), sort=False)["amount"]
        figures = groups.agg(["sum", "count", "first"])
        second = part.loc[groups.nth(1).index].set_index(list(keys))["amount"]
        figures["second"] = second.reindex(figures.index, fill_value=0)
        found.append(figures.reset_index().to_numpy())
    return np.concatenate(found)


def paths_to_the_top(dimension: Dimension) -> list[np.ndarray]:
    """For each level, the code above each leaf, by code number."""
    parent = np.full(len(dimension), -1)
    for equation in dimension.equations:
        parent[list(equation.codes[1:])] = equation.parent
    above, found = np.arange(len(dimension)), []
    while above[~dimension.is_parent].min() >= 0:
        found.append(above.astype(np.int16))
        above = np.where(above >= 0, parent[above], -1)
    return found


def child(way: str, path: Path, ids: bool, out: Path) -> None:
    start, before = time.perf_counter(), peak_memory()
    ways = {"cellveil": by_cellveil, "pandas": by_pandas}
    found = ways[way](path, ids) if way in ways else by_engine(way, path)
    seconds = time.perf_counter() - start
    memory = {"before_mb": round(before), "peak_mb": round(peak_memory())}
    np.save(out, found[np.lexsort(found[:, :3].T[::-1])].astype(np.int64))
    print(json.dumps({"seconds": round(seconds, 1), **memory, "cells": len(found)}))


def peak_memory() -> float:
    """Megabytes of this process alone, at most.

    What getrusage says may be that of the process that started it.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--engine", choices=["spark", "postgres"], help="compare it with DuckDB")
    parser.add_argument("--ids", action="store_true", help="add up the records of each contributor first")
    parser.add_argument("--skip-pandas", action="store_true")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        way, path, out = arguments.child
        child(way, Path(path), arguments.ids, Path(out))
        return
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory() as folder:
            if arguments.engine:
                compare_engines(arguments.engine, rows, Path(folder))
            else:
                compare(arguments, rows, Path(folder))


def compare(arguments: argparse.Namespace, rows: int, folder: Path) -> None:
    import duckdb

    data = folder / "data.parquet"
    duckdb.execute(DATA.format(rows=rows, path=data))
    ways = ["cellveil"] if arguments.skip_pandas else ["cellveil", "pandas"]
    results = {}
    for way in ways:
        command = [sys.executable, __file__, "--child", way, str(data), str(folder / f"{way}.npy")]
        command += ["--ids"] if arguments.ids else []
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        results[way] = json.loads(answer)
        print(
            f"{rows} rows, {'ids' if arguments.ids else 'no ids'}, {way}: {answer.strip()}",
            flush=True,
        )
    if len(ways) == 2:
        tables = [np.load(folder / f"{way}.npy") for way in ways]
        equal = np.array_equal(*tables)
        ratio = results["pandas"]["seconds"] / results["cellveil"]["seconds"]
        print(f"results equal: {equal}; cellveil is {ratio:.1f} times faster")
        if not equal:
            sys.exit(1)


if __name__ == "__main__":
    main()
