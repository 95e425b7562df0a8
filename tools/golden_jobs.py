"""Goldens of whole runs: jobs, commands on instances, and batches of tau-ARGUS.

A job runs as a command does, in a folder of its own. Its aspects are the exit code, what the command says,
each public file byte by byte, each part of `report.json`, and the digest of what it read: if that differs,
the case itself has changed. No job has a time limit.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cellveil as cv
from argus.test_batch import METADATA, READ, REGIONS, START, records
from cellveil.cli.app import run_command
from cellveil.datasets.demo_job import write_demo_job
from fuzz.jobs import write_job
from fuzz.laid_chains import LaidChain
from fuzz.planted_chains import planted
from fuzz.running_chains import _mapping
from golden_units import Aspects, Case, Unit, digest, lasting, lasting_json
from helpers.instances import INSTANCES
from job.test_programme import INFEASIBLE, job_file
from job.test_sdmx_tables import JOB as SDMX_JOB
from job.test_sdmx_tables import lines_20, save

INPUT = 'output = "out"\n[microdata]\nfile = "firms.csv"\ncontributor = "firm"\n'
TREES = "".join(f'[dimensions.{name}]\nhierarchy = "hier_{name}.csv"\n' for name in ("region", "size"))
TABLE = '[[tables]]\ndimensions = ["region", "size"]\nresponse = "turnover"\n'
BROAD = TREES.replace('region.csv"\n', 'region.csv"\nto_level = 1\n', 1)
RULES = '[[rules]]\nrule = "p%"\np = 10\n[[rules]]\nrule = "threshold"\nminimum = 3\n'
ALL = '[release]\nformats = ["csv", "html", "xlsx"]\nunit = "EUR 1,000"\nsource = "Invented firms"\n'
WEIGHTED = INPUT + 'weight = "weight"\nwaiver = "waiver"\nrequest = "request"\nholding = "holding"\n'
HOLDINGS = INPUT + 'holding = "holding"\n'
OUTSIDERS = "attackers = []\n"
PAIRS = '[[tables]]\ndimensions = ["section", "size"]\nresponse = "turnover"\n'
SUMS = "".join(TABLE.replace("turnover", name) for name in ("turnover", "domestic", "export"))
EQUATION = '[equations]\nturnover = ["domestic", "export"]\n'
TWO = 'previous = {file = "out", freeze = "published"}\n'
AGAINST = '[against]\nreleases = ["out"]\naccept_known = "out already"\n'

JOBS: dict[str, tuple[str, ...]] = {
    "survey": (HOLDINGS + BROAD + TABLE + RULES.replace("p = 10", 'p = 10\nlevel = "holding"') + ALL,),
    "fine survey": (INPUT + TREES + TABLE + RULES,),
    "outsiders only": (OUTSIDERS + INPUT + BROAD + TABLE + RULES,),
    "linked": (INPUT + BROAD + TABLE + PAIRS + RULES + ALL,),
    "equation": (INPUT + BROAD + SUMS + EQUATION + RULES,),
    "counts": (INPUT + BROAD + TABLE.replace('response = "turnover"\n', "")
               + '[[rules]]\nrule = "threshold"\nminimum = 3\n[suppress]\nrelax = true\n',),
    "weights, waivers, requests": (WEIGHTED + BROAD + TABLE + '[[rules]]\npreset = "tau-argus"\np = 15\n',),
    "dominance": (INPUT + BROAD + TABLE + '[[rules]]\nrule = "dominance"\nn = 2\nk = 80\n',),
    "(p, q)": (INPUT + BROAD + TABLE + '[[rules]]\nrule = "pq"\np = 10\nq = 60\n',),
    "costs of one": (INPUT + BROAD + TABLE + RULES + '[weights]\nkind = "one"\n',),
    "optimal": (OUTSIDERS + INPUT + BROAD + TABLE + RULES + '[suppress]\nmethod = "optimal"\n',),
    "hypercube": (INPUT + BROAD + TABLE + RULES + '[suppress]\nmethod = "hypercube"\n',),
    "coalition": (INPUT + BROAD + TABLE + RULES + '[[attackers]]\nkind = "insider"\ncoalition = 2\n',),
    "adjusted": (INPUT + BROAD + TABLE + RULES + "[adjust]\npublish = true\n",),
    "adjusted, linked": (INPUT + BROAD + TABLE + PAIRS + RULES
                         + '[adjust]\npublish = true\nobjective = "value"\n',),
    "again": (INPUT + BROAD + TABLE + RULES, TWO + INPUT + BROAD + TABLE + RULES.replace("p = 10", "p = 15")),
    "beside a release": (OUTSIDERS + INPUT + BROAD + TABLE + RULES,
                         OUTSIDERS + INPUT.replace('"out"', '"two"') + BROAD + TABLE + PAIRS + RULES
                         + AGAINST),
}  # fmt: skip
"""Jobs over invented firms, run one after the other in one folder."""

FUZZED = (1, 2, 4, 5, 13, 18, 23, 27, 31, 33)
PLANTED = (
    "recoded",
    "joined",
    "folded",
    "flat",
    "equation",
    "counts beside decimals",
    "instance",
    "revision",
)
"""Kinds of chains of releases in tests/fuzz."""

QUICK = ("survey", "adjusted", "infeasible", "batch", "chain: joined", "observations of SDMX")


def command(folder: Path, *arguments: object) -> tuple[int, str, str]:
    """Run a command in this process: exit code, output, messages, both without what changes."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command([str(argument) for argument in arguments])
    paths = {str(folder): "‹folder›", str(folder.resolve()): "‹folder›"}
    return code, lasting(out.getvalue(), paths), lasting(err.getvalue(), paths)


def read_files(folder: Path) -> dict[str, bytes]:
    """All files below a folder, by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def ran(folder: Path, before: Mapping[str, bytes], *arguments: object) -> Aspects:
    """Run a command: what it says, and the files it writes."""
    code, out, err = command(folder, *arguments)
    if "--json" in arguments and out:
        out = json.dumps(lasting_json(json.loads(out)))
    found: Aspects = {"exit": code, "output": digest(out), "messages": digest(err)}
    for name, content in read_files(folder).items():
        is_copy = "releases" in Path(name).parts  # of the public files, under the time of the release
        if before.get(name) == content or is_copy or name.endswith((".html.lock", ".lock")):
            continue
        if name.endswith(".json") and "/public/" not in name and "/instance/" not in name:
            for key, value in lasting_json(json.loads(content)).items():
                if (Path(name).name, key) == ("run.json", "run"):
                    continue  # the digest of files that name versions
                found[f"{name}: {key}"] = digest(lasting(json.dumps(value), {str(folder): "‹folder›"}))
        elif "/public/" in name or "/" not in name:
            found[name] = digest(public_content(folder, content))
        elif name.endswith(("certificate", "pattern.csv")):
            found[name] = digest(content)
    return found


def public_content(folder: Path, content: bytes) -> Any:
    """A public file as it is, but for the version and, in logs and reports of batches, for times."""
    try:
        return lasting(content.decode(), {str(folder): "‹folder›"})
    except UnicodeDecodeError:
        return content


def without_limits(path: Path) -> Path:
    """Take the time limits out of a job file."""
    text = re.sub(r"^time_limit = .*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)
    path.write_text(text, "utf-8")
    return path


def in_folder(lay: Callable[[Path], Iterator[tuple[str, tuple[object, ...]]]]) -> Iterator[Case]:
    """Run what is laid in a new folder: names of cases, and the commands that make them."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        written: set[str] = set()
        for case, arguments in lay(folder):
            before = read_files(folder)
            inputs = {name: digest(content) for name, content in before.items() if name not in written}
            yield case, {"input": digest(inputs)} | ran(folder, before, *arguments)
            after = read_files(folder)
            written |= {name for name, content in after.items() if before.get(name) != content}


def job(name: str, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The jobs of `JOBS`."""
    cv.business(400, seed=1).write(folder)
    for number, text in enumerate(JOBS[name]):
        (folder / f"job{number}.toml").write_text(text)
        yield (f"{name} · {number + 1}" if number else name), ("run", f"job{number}.toml")
    yield f"{name} · check", ("check", f"job{number}.toml", "--json")


def demo(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The job of `cellveil demo`, on fewer firms and coarser codes."""
    path = without_limits(write_demo_job(cv.business(2_000), folder))
    text = path.read_text("utf-8").replace(', "data/hier_region_coast.csv"]', "]\nto_level = 1")
    path.write_text(text.replace('levels = ["section"]', 'levels = ["section"]\nto_level = 1'), "utf-8")
    yield "demo", ("run", "job.toml")


def fuzzed(seed: int, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """A random job."""
    write_job(seed, folder)
    without_limits(folder / "job.toml")
    yield f"random job {seed}", ("run", "job.toml")


def chain(kind: str, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Releases that name all former ones."""
    laid = LaidChain(planted(kind), folder)
    for number in range(len(laid.steps)):
        formers = [k for k in range(number) if (laid.output(k) / "public").exists()]
        against = [f"out{former}" for former in formers]
        path = without_limits(laid.write(number, against, _mapping(laid, number, formers)))
        yield f"chain: {kind} · {number}", ("run", path.name)


def infeasible(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """A job whose unsafe cell nothing protects."""
    yield "infeasible", ("run", job_file(folder, "b", INFEASIBLE).name)


def batch(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Three jobs, one of them infeasible, in one command."""
    jobs = [job_file(folder, "a"), job_file(folder, "b", INFEASIBLE), job_file(folder, "c")]
    yield "batch", ("run", *(path.name for path in jobs), "--workers", 1)
    yield "batch · compare", ("compare", "a.toml", "--methods", "sequential,network", "--json")
    yield "batch · explain", ("explain", "a.toml", "N,food", "--json")


def sdmx(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """A table in SDMX-CSV."""
    save(folder, lines_20())
    (folder / "job.toml").write_text(SDMX_JOB)
    yield "observations of SDMX", ("run", "job.toml")


def instance(folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """The commands on instances, one after the other."""
    cv.write_instance(cv.random_table((7, 6), seed=1), folder / "instance")
    yield (
        "instance · suppress",
        ("suppress", "instance", "--out", "p.csv", "--certificate", "c", "--report", "s.json"),
    )
    yield "instance · audit", ("audit", "instance", "p.csv", "--json")
    yield (
        "instance · audit, contributors",
        ("audit", "instance", "p.csv", "--attacker", "insider", "--report", "a.json"),
    )
    yield "instance · verify", ("verify", "instance", "p.csv", "c")
    yield "instance · adjust", ("adjust", "instance", "--out", "adjusted.csv", "--report", "d.json")


# -- tau-ARGUS -----------------------------------------------------------------------------------------------

WRITE = '<WRITETABLE> (1, 1, SE-, "matrix.csv")\n<WRITETABLE> (1, 3, AS+FL+QU-, "values.csv")\n'
MORE = '<WRITETABLE> (1, 2, , "pivot.csv")\n<WRITETABLE> (1, 4, HL+, "sbs.csv")\n'
MORE += '<WRITETABLE> (1, 5, AR+, "b.tab")\n<WRITETABLE> (1, 6, TR+, "table.jj")\n'
BATCHES = {
    "optimal": f"{READ}<SUPPRESS> OPT(1)\n{WRITE}{MORE}",
    "modular": f"{READ}<SUPPRESS> MOD(1)\n{WRITE}",
    "modular without singletons": f"{READ}<SUPPRESS> MOD(1,5,0,0,0)\n{WRITE}",
    "hypercube": f"{READ}<SUPPRESS> GH(1)\n{WRITE}",
    "hypercube without protection of contributors": f"{READ}<SUPPRESS> GH(1,75,1,0)\n{WRITE}",
    "adjustment": f"{READ}<SUPPRESS> CTA(1)\n{WRITE}",
    "dominance": READ.replace("P(10,1)", "NK(1,75)|FREQ(3,20)") + f"<SUPPRESS> OPT(1)\n{WRITE}",
    "linked": START + '<SPECIFYTABLE> "Region"|"Sales"||\n<SAFETYRULE> P(10,1)|\n<READMICRODATA>\n'
    + f'<SUPPRESS> OPT(1)\n{WRITE}<WRITETABLE> (2, 2, AS-, "two.csv")\n',
    "nothing suppressed": f"{READ}{WRITE}",
}  # fmt: skip
SAMPLES = {
    "checkArgus_small/ex1": "batch_ex1.arb",
    "checkArgus_small/ex2": "batch_ex2.arb",
    "testW": "TestRecode.arb",
}


def argus(name: str, folder: Path) -> Iterator[tuple[str, tuple[object, ...]]]:
    """A batch over invented firms, or a public sample."""
    if name in SAMPLES:
        shutil.copytree(INSTANCES / "tauargus" / name, folder, dirs_exist_ok=True)
        folder.chmod(0o755)
        for packed in folder.glob("*.gz"):
            (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
        yield name, ("argus", SAMPLES[name], "log.txt")
        return
    texts = {"firms.csv": records(), "firms.rda": METADATA, "region.hrc": REGIONS, "job.arb": BATCHES[name]}
    for file, text in texts.items():
        (folder / file).write_text(text)
    yield name, ("argus", "job.arb", "log.txt")


def units() -> Iterator[Unit]:
    """All of them."""
    lays: dict[str, Callable[[Path], Iterator[tuple[str, tuple[object, ...]]]]] = {
        **{name: partial(job, name) for name in JOBS},
        **{f"random job {seed}": partial(fuzzed, seed) for seed in FUZZED},
        **{f"chain: {kind}": partial(chain, kind) for kind in PLANTED},
        **{
            "demo": demo,
            "infeasible": infeasible,
            "batch": batch,
            "observations of SDMX": sdmx,
            "instance": instance,
        },
    }
    for name, lay in lays.items():
        yield Unit("jobs", name, partial(in_folder, lay), name in QUICK)
    for name in [*BATCHES, *SAMPLES]:
        yield Unit("argus", name, partial(in_folder, partial(argus, name)), name == "optimal")
