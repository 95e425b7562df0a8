"""Writes one table as an instance, in this process: `python -m experiments.comparison.preparing`.

A process of its own, so that the one that starts the runs stays small: the system counts the memory of a
parent as that of its child.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cellveil.files import write_text
from experiments.comparison.compared_tables import chosen_tables

ABOUT = "about.json"


def prepare(name: str, folder: Path) -> None:
    """Write the instance and a few facts about it."""
    from cellveil.formats.instance import read_instance, write_instance

    (table,) = chosen_tables((), [name])
    problem = table.problem()
    if table.make is None:
        instance = table.path
    else:
        instance = folder / "table"
        write_instance(problem, instance)
        problem = read_instance(instance)
    facts = {
        "table": table.name,
        "family": table.family,
        "set": table.set,
        "what": table.what,
        "instance": str(instance.resolve()),
        "cells": problem.table.num_cells,
        "relations": len(problem.table.relations),
        "primaries": len(problem.primaries),
        "digest": problem.content_hash[:16],
    }
    write_text(folder / ABOUT, json.dumps(facts) + "\n")


if __name__ == "__main__":
    prepare(sys.argv[1], Path(sys.argv[2]))
