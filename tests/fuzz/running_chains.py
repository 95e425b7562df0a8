"""Run random chains of releases, and have the judge look at what readers of all of them can work out."""

from __future__ import annotations

import json
import os
import re
import shutil
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.chains import Chain
from fuzz.laid_chains import LaidChain
from fuzz.readers import Release, Verdict, judge
from fuzz.running import BAD_INPUT, BY_EXIT_CODE, CRASH, INFEASIBLE, NOT_SAFE, RELEASED, _keep_templates

LEFT_OUT = "left out"
KNOWN_COLUMNS = ("columns", "contains", "rounding", "absent", "population")
"""What `about.json` of newer releases says of its codes; older releases do not have it."""


@dataclass
class StepRan:
    """One release of a chain: how it ended, and what the judge says."""

    outcome: str
    message: str = ""
    is_odd: bool = False
    verdict: Verdict = field(default_factory=Verdict)


@dataclass
class ChainRan:
    """A chain that was run."""

    name: str
    chain: Chain
    steps: list[StepRan] = field(default_factory=list)

    @property
    def findings(self) -> list[str]:
        """All findings, in words; a crash is one."""
        found = [str(finding) for step in self.steps for finding in step.verdict.findings]
        return found + [f"{CRASH}: {step.message}" for step in self.steps if step.outcome == CRASH]

    @property
    def kinds(self) -> set[str]:
        """The kinds of findings."""
        return {finding.partition(":")[0] for finding in self.findings}

    def __str__(self) -> str:
        outcomes = ", ".join(step.outcome for step in self.steps)
        return f"{self.name} ({outcomes}): {'; '.join(self.findings[:3])}"


def run_chain(name: str, chain: Chain, folder: Path, *, is_blind: bool = False) -> ChainRan:
    """Run all jobs of a chain, and judge each release beside the former ones.

    Jobs name all former releases. Blind ones name none: so the judge must find what the releases give away.
    """
    _keep_templates()
    shutil.rmtree(folder, ignore_errors=True)
    ran = ChainRan(name, chain)
    laid = LaidChain(chain, folder, is_blind)
    (folder / "chain.json").write_text(json.dumps(chain, indent=1), encoding="utf-8")
    public: dict[int, Release] = {}
    batch = chain["steps"][-1].get("batch")
    with _without_fsync():
        for number in range(len(chain["steps"]) - (2 if batch else 0)):
            ran.steps.append(_one(laid, number, public))
        if batch:
            ran.steps += _batch(laid, batch, public)
    return ran


@contextmanager
def _without_fsync() -> Iterator[None]:
    """Files of tests need not outlive a power cut."""
    keep, os.fsync = os.fsync, lambda _: None
    try:
        yield
    finally:
        os.fsync = keep


def _one(laid: LaidChain, number: int, public: dict[int, Release]) -> StepRan:
    step = laid.steps[number]
    if step["kind"] == "instance" and not (laid.output(step["of"]) / "internal" / "instance").exists():
        return StepRan(LEFT_OUT)
    path = laid.write(number, *_against(laid, number, public))
    found = _ended(lambda: _run(path))
    _judged(laid, number, public, found)
    return found


def _run(path: Path) -> str:
    """Run a job; why nothing was released, or an empty text."""
    import cellveil as cv

    result = cv.run_job(cv.read_job(path))
    return "" if result.release is not None else "; ".join(result.audit.objections) or "no objection is named"


def _ended(run: Callable[[], str]) -> StepRan:
    import cellveil as cv
    from cellveil.errors import CellveilError

    try:
        why_not = run()
        return StepRan(NOT_SAFE if why_not else RELEASED, why_not)
    except cv.InfeasibleError as error:
        return StepRan(INFEASIBLE, str(error))
    except CellveilError as error:
        return StepRan(BY_EXIT_CODE.get(error.exit_code, CRASH), str(error))
    except Exception as error:  # whatever else comes out is a fault
        where = traceback.extract_tb(error.__traceback__)[-1]
        return StepRan(CRASH, f"{type(error).__name__} in {Path(where.filename).name}, {where.name}: {error}")


def _judged(laid: LaidChain, number: int, public: dict[int, Release], found: StepRan) -> None:
    """Have the release judged, and lay it among the former ones."""
    found.is_odd = bool(laid.job(number).get("population")) or _is_revised(laid, number)
    folder = laid.output(number) / "public"
    if found.outcome != RELEASED or not (folder / "about.json").exists():
        return
    release = laid.release(number, folder)
    found.verdict = judge([*public.values(), release])
    if not _is_revised(laid, len(laid.steps) - 1):
        assert not found.verdict.revised, f"{found.verdict.revised} former figures are not understood"
    public[number] = release
    if laid.steps[number]["against"] == "copy":
        kept = laid.folder / "kept" / f"r{number}"
        shutil.copytree(folder, kept)
        about = json.loads((kept / "about.json").read_text(encoding="utf-8"))
        for key in KNOWN_COLUMNS:
            about.pop(key, None)
        (kept / "about.json").write_text(json.dumps(about), encoding="utf-8")


def _is_revised(laid: LaidChain, number: int) -> bool:
    return any(step.get("revise") for step in laid.steps[: number + 1])


def _against(laid: LaidChain, number: int, public: dict[int, Release]) -> tuple[list[str], dict[str, Any]]:
    if laid.is_blind:
        return [], {}
    return [_folder(laid, former) for former in public], _mapping(laid, number, public)


def _folder(laid: LaidChain, number: int) -> str:
    """How a former release is named: by its public folder, its output folder, a copy, or what was kept."""
    how = laid.steps[number]["against"]
    if how == "copy":
        return f"kept/r{number}"
    kept = sorted((laid.output(number) / "releases").glob("*")) if how == "kept" else []
    if kept:
        return str(kept[-1].relative_to(laid.folder))
    return f"out{number}" if how == "output" else f"out{number}/public"


def _mapping(laid: LaidChain, number: int, public: dict[int, Release]) -> dict[str, Any]:
    """What the office says of former dimensions and codes, where the program has words for it."""
    from cellveil.job.sections import AgainstJob

    if laid.is_blind or laid.steps[number].get("mapping") is not True:
        return {}
    known = set(AgainstJob.model_fields)
    dimensions: dict[str, str] = {}
    codes: dict[str, dict[str, list[str]]] = {}
    step = laid.job(number)
    for former in public:
        other = laid.job(former)
        for column, view in other["views"].items():
            here = laid.name(step, column) if column in step["views"] else column
            if laid.name(other, column) != here:
                dimensions[laid.name(other, column)] = here
            back = step["views"].get(column, {}).get("rename", {})
            for code, inside in laid.codes(former, column).items():
                if view.get("rename") or view["form"] in ("join", "recode"):
                    codes.setdefault(here, {})[code] = sorted(back.get(one, one) for one in inside)
    found: dict[str, Any] = {}
    if dimensions and "dimensions" in known:
        found["dimensions"] = dimensions
    if codes and "codes" in known:
        found["codes"] = codes
    return found


def _batch(laid: LaidChain, order: str, public: dict[int, Release]) -> list[StepRan]:
    """Run the last two jobs as one batch; the second names the output of the first."""
    import cellveil as cv

    first, second = len(laid.steps) - 2, len(laid.steps) - 1
    if "stale_rules" in laid.steps[first]:
        stale = laid.write_stale(first)
        _ended(lambda: _run(stale))
    for number in (first, second):
        laid.steps[number]["against"] = "output"
    former, mapping = _against(laid, first, public)
    paths = [laid.write(first, former, mapping)]
    dummy = dict(public) | {first: None}
    former = [] if laid.is_blind else [*former, f"out{first}"]
    paths.append(laid.write(second, former, _mapping(laid, second, dummy)))  # type: ignore[arg-type]
    states: list[str] = []

    def run() -> str:
        found = cv.run_jobs(paths if order == "in order" else paths[::-1], workers=1)
        lines = found.lines if order == "in order" else found.lines[::-1]
        states.extend(str(line.state).replace("_", " ") for line in lines)
        return ""

    ended = _ended(run)
    if not states:
        return [ended, StepRan(ended.outcome, ended.message)]
    steps = []
    for number, state in zip((first, second), states, strict=True):
        steps.append(StepRan(RELEASED if state == "safe" else state))
        _judged(laid, number, public, steps[-1])
    return steps


# -- summaries --------------------------------------------------------------------------------------------


def features(chain: Chain) -> set[str]:
    """What a chain has, for the count of what was covered."""
    found = {f"{len(chain['steps'])} releases", f"{len(chain['columns'])} columns"}
    found |= {"equation"} if chain["equation"] else set()
    found |= {"negative values"} if chain["signed"] else set()
    found |= {"single child"} if _has_single_child(chain) else set()
    for step in chain["steps"]:
        found |= {
            name for name in ("population", "revise", "batch", "stale_rules", "decimals") if step.get(name)
        }
        found |= {"instance"} if step["kind"] == "instance" else set()
        found |= {f"former release by {step['against']}"}
        found |= {name for name in ("weight", "holding") if step.get(name)}
        found |= {"linked tables"} if len(step.get("tables", [])) > 1 else set()
        found |= {"counts"} if any(t["response"] is None for t in step.get("tables", [])) else set()
        found |= {"table to level"} if any(t.get("to_level") for t in step.get("tables", [])) else set()
        for view in step.get("views", {}).values():
            found.add(view["form"])
            found |= {
                f"renamed {name}" for name in ("name", "total", "rename", "file_column") if name in view
            }
    return found


def _has_single_child(chain: Chain) -> bool:
    parents = Counter(parent for tree in chain["trees"].values() for parent, _ in tree)
    return any(number == 1 for number in parents.values())


def summary(ran: Iterable[ChainRan]) -> str:
    """How chains and releases ended, what was refused and why, what leaks by kind and by feature."""
    chains = list(ran)
    outcomes = Counter(step.outcome for one in chains for step in one.steps)
    kinds = Counter(kind for one in chains for kind in one.kinds)
    programs = sum(step.verdict.programs for one in chains for step in one.steps)
    unproved = sum(step.verdict.unproved for one in chains for step in one.steps)
    required = sum(step.verdict.requirements for one in chains for step in one.steps)
    already = sum(len(step.verdict.known_already) for one in chains for step in one.steps)
    wrong = sum(bool(one.findings) for one in chains)
    lines = [
        f"{len(chains)} chains, {wrong} wrong; releases: "
        + ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
        + f"; {required} requirements, {already} known already, {programs} programs, {unproved} without answer"
    ]
    lines += [f"  {number:5} {kind}" for kind, number in kinds.most_common()]
    refused = [
        step for one in chains for step in one.steps if step.outcome in (BAD_INPUT, INFEASIBLE, NOT_SAFE)
    ]
    odd = Counter(_shape(step.message) for step in refused if step.is_odd)
    messages = Counter(_shape(step.message) for step in refused)
    lines.append(f"not released: {len(refused)}, of these with revisions or populations {odd.total()}")
    lines += [f"  {number:5} {message}" for message, number in messages.most_common(25)]
    drawn, bad = Counter[str](), Counter[str]()
    for one in chains:
        drawn.update(features(one.chain))
        bad.update(features(one.chain) if one.findings else ())
    lines.append("feature, chains, wrong: " + "; ".join(f"{f} {drawn[f]} {bad[f]}" for f in sorted(drawn)))
    return "\n".join(lines)


def _shape(message: str) -> str:
    """A message without the names and numbers of its case."""
    first = message.splitlines()[0] if message else "no message"
    first = re.sub(r"/\S*/|[\w-]*T\d+\.\w+-\w+", "", first)
    first = re.sub(r"\d+", "N", re.sub(r"'[^']*'|\"[^\"]*\"|\([^)]*\)", "…", first))
    return re.sub(r"\b(rN|outN|public|…)(, (rN|outN|public|…)?)*", "…", first)[:110]
