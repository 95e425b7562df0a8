"""Certificates against insiders: size of the file, and seconds that its exact check takes.

    python benchmarks/certificates.py                  industry × size, 1,560 cells
    python benchmarks/certificates.py 1560 17401 --limit 60 --coalition 2

Tables as in `limits.py`. All seconds, those of the limit of the search too, are of the processor.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from ablation import count_processor_time
from limits import problem_of


def measure(name: str, limit: float, coalition: int, level: str) -> dict[str, Any]:
    """Protect a table against insiders, and verify the certificate as read from its bytes."""
    import cellveil as cv
    from cellveil.attackers.attacker import Attacker
    from cellveil.certificate import Certificate, verify

    problem = problem_of(name)
    attackers = [Attacker("insider", coalition=coalition, level=level)]
    found = cv.suppress(problem, attackers=attackers, time_limit=limit)
    data = found.certificate.to_bytes()
    proof = Certificate.from_bytes(data)
    began = time.process_time()
    checked = verify(problem, found.pattern, proof)
    return {
        "cells": problem.table.num_cells,
        "primaries": len(problem.primaries),
        "outcome": f"{found.outcome}: {found.reason[:300]}",
        "against": checked.against,
        "valid": checked.is_valid,
        "demands": checked.demands,
        "met": checked.met,
        "witnesses": len(proof),
        "entries": len(proof.cells),
        "claims": len(proof.claims),
        "kilobytes": round(len(data) / 1000, 1),
        "seconds": round(time.process_time() - began, 2),
    }


def main() -> None:
    """Measure tables, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["1560"])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--coalition", type=int, default=1)
    parser.add_argument("--level", default="unit")
    given = parser.parse_args()
    count_processor_time()
    for name in given.tables:
        print(measure(name, given.limit, given.coalition, given.level), flush=True)


if __name__ == "__main__":
    main()
