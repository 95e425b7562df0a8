"""The commands around proofs and attackers: --certificate, verify, audit --attacker."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from helpers.command import Command

CELLS = {(0, 0): [20], (0, 1): [30], (0, 2): [5, 4], (1, 0): [7, 7, 8], (1, 1): [9, 9, 9], (1, 2): [6, 6]}
"""Contributions of firms; the two primary cells have one firm each."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An instance with contributions."""
    target = tmp_path / "instance"
    target.mkdir()

    def write(name: str, rows: list[tuple[object, ...]]) -> None:
        with (target / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)

    def total(row: int | None, column: int | None) -> int:
        return sum(sum(v) for (r, c), v in CELLS.items() if row in (None, r) and column in (None, c))

    rows: list[tuple[object, ...]] = [("row", "col", "value", "status", "lpl", "upl")]
    for r in (None, 0, 1):
        for c in (None, 0, 1, 2):
            level = 3 if (r, c) in ((0, 0), (0, 1)) else 0
            codes = ("Total" if r is None else f"r{r}", "Total" if c is None else f"c{c}")
            rows.append((*codes, total(r, c), "u" if level else "s", level, level))
    write("cells.csv", rows)
    write("hier_row.csv", [("parent", "child"), ("Total", "r0"), ("Total", "r1")])
    write("hier_col.csv", [("parent", "child"), *(("Total", f"c{c}") for c in range(3))])
    firms = [(f"r{r}", f"c{c}", f"f{r}{c}{i}", x) for (r, c), v in CELLS.items() for i, x in enumerate(v)]
    write("contributions.csv", [("row", "col", "contributor", "amount"), *firms])
    return target


def pattern_file(folder: Path, *hidden: tuple[str, str]) -> Path:
    path = folder.parent / "pattern.csv"
    lines = ["row,col,status", *(f"{row},{column},m" for row, column in hidden)]
    path.write_text("\n".join(lines) + "\n")
    return path


RECTANGLE = (("r1", "c0"), ("r1", "c1"))


def test_certificate_and_verify(folder: Path, command: Command) -> None:
    out, proof, report = (folder.parent / name for name in ("p.csv", "cert", "r.json"))
    assert command("suppress", folder, "--out", out, "--certificate", proof).code == 0
    done = command("verify", folder, out, proof, "--report", report)
    assert done.code == 0 and "Valid: 8 of 8" in done.out
    assert json.loads(report.read_text())["certified_demands"] == 8


def test_verify_rejects_what_was_not_certified(folder: Path, command: Command) -> None:
    out, proof = folder.parent / "p.csv", folder.parent / "cert"
    command("suppress", folder, "--out", out, "--certificate", proof)
    published = pattern_file(folder, ("r1", "c0"))
    done = command("verify", folder, published, proof)
    assert done.code == 1 and "another pattern" in done.out
    proof.write_bytes(proof.read_bytes()[:-1] + b"\0")
    done = command("verify", folder, out, proof)
    assert done.code == 2 and "damaged" in done.err
    (folder.parent / "text").write_text("no certificate")
    assert command("verify", folder, out, folder.parent / "text").code == 2
    assert command("verify", folder, out, folder.parent / "missing").code == 2


def test_a_failed_run_leaves_no_certificate(folder: Path, command: Command) -> None:
    out, proof = folder.parent / "p.csv", folder.parent / "cert"
    command("suppress", folder, "--out", out, "--certificate", proof)
    cells = (folder / "cells.csv").read_text().replace(",s,", ",z,")
    (folder / "cells.csv").write_text(cells)
    assert command("suppress", folder, "--out", out, "--certificate", proof).code == 3
    assert not out.exists() and not proof.exists()


@pytest.mark.parametrize(("attacker", "code"), [("outsider", 0), ("insider", 1), ("pq", 1)])
def test_attackers(folder: Path, command: Command, attacker: str, code: int) -> None:
    """The rectangle keeps outsiders off, but each of the two firms knows the other by subtraction."""
    pattern, report = pattern_file(folder, *RECTANGLE), folder.parent / "r.json"
    options = ["--p", "20"] if attacker == "pq" else []
    done = command("audit", folder, pattern, "--attacker", attacker, *options, "--report", report)
    assert done.code == code
    figures = json.loads(report.read_text())
    assert figures["safe"] == (code == 0) and figures["attacker"].startswith(attacker)
    assert {"cell", "lower", "upper", "required_lower", "required_upper", "safe"} <= set(figures["cells"][0])


def test_attackers_that_cannot_be_tried(folder: Path, command: Command) -> None:
    pattern = pattern_file(folder, *RECTANGLE)
    done = command("audit", folder, pattern, "--attacker", "pq")
    assert done.code == 2 and "needs p" in done.err
    done = command("audit", folder, pattern, "--attacker", "insider", "--level", "holding")
    assert done.code == 2 and "holding level" in done.err
    (folder / "contributions.csv").unlink()
    done = command("audit", folder, pattern, "--attacker", "insider")
    assert done.code == 2 and "contributions" in done.err


def test_prior_knowledge_and_coalitions(folder: Path, command: Command) -> None:
    pattern = pattern_file(folder, *RECTANGLE)
    assert command("audit", folder, pattern, "--attacker", "outsider", "--prior", "80").code == 0
    assert command("audit", folder, pattern, "--attacker", "outsider", "--prior", "10").code == 1, (
        "cells of 20 can move by 2, not 3"
    )
    assert command("audit", folder, pattern, "--attacker", "outsider", "--prior", "0").code == 2
    done = command("audit", folder, pattern, "--attacker", "insider", "--prior", "10")
    assert done.code == 2 and "for outsiders" in done.err
    report = folder.parent / "r.json"
    both = ["--attacker", "outsider", "--attacker", "insider"]
    assert command("audit", folder, pattern, *both, "--report", report).code == 1
    figures = json.loads(report.read_text())
    assert figures["attacker"] == "outsider, insider" and not figures["safe"]
    assert [one["safe"] for one in figures["attackers"]] == [True, False]
    assert figures["cells"][0]["not_kept_off"] and figures["cells"][0]["upper"] is not None
    every = [(f"r{r}", f"c{c}") for r in range(2) for c in range(3)]
    pattern = pattern_file(folder, *(cell for cell in every if cell not in (("r0", "c0"), ("r0", "c1"))))
    assert command("audit", folder, pattern, "--attacker", "insider").code == 0
    assert command("audit", folder, pattern, "--attacker", "insider", "--coalition", "3").code == 1
