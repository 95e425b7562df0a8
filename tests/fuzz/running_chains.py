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

from fuzz.chains import TOTAL, Chain
from fuzz.laid_chains import LaidChain
from fuzz.readers import Finding, Release, Verdict, judge
from fuzz.running import BAD_INPUT, BY_EXIT_CODE, CRASH, INFEASIBLE, NOT_SAFE, RELEASED, _keep_templates

LEFT_OUT = "left out"
NOT_UNDERSTOOD = "the judge does not understand a former release"
KNOWN_COLUMNS = ("columns", "contains", "rounding", "absent", "population")
"""What `about.json` of newer releases says of its codes; older releases do not have it."""


@dataclass
class StepRan:
    """One release of a chain: how it ended, and what the judge says."""

    outcome: str
    message: str = ""
    is_expected: bool = False
    """Whether the judge sees why the job may be refused."""
    advice: list[str] = field(default_factory=list)
    """Why former releases were left out before."""
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
    def messages(self) -> list[str]:
        """Why releases were not made."""
        return [step.message for step in self.steps if step.message]

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
    """Run a job; where it is refused with a remedy that an office would take, take it."""
    step = laid.steps[number]
    if step["kind"] == "instance" and not (laid.output(step["of"]) / "internal" / "instance").exists():
        return StepRan(LEFT_OUT)
    named, compared, advice = list(public), list(public), []
    while True:
        path = laid.write(number, _against(laid, named), _mapping(laid, number, named))
        found = _ended(lambda path=path: _run(path))  # type: ignore[misc]
        if ASKS_FOR_MAPPING.search(found.message) and not step.get("mapping"):
            step["mapping"] = True
        elif "accept_known" in found.message and not step.get("accept"):
            step["accept"] = True
        elif found.outcome == BAD_INPUT and (unrelated := _unrelated(found, laid, named)) is not None:
            named.remove(unrelated)
            advice.append(found.message)
            if OTHER_RECORDS in found.message:  # the office decides; what is not named is not judged
                compared.remove(unrelated)
        else:
            break
    found.advice = advice
    found.is_expected = _is_expected(laid, number, named)
    _judged(laid, number, public, found, compared)
    return found


ASKS_FOR_MAPPING = re.compile(r"against\.(codes|dimensions)")
UNRELATED, OTHER_RECORDS = "nothing in common", "counts other records"


def _unrelated(found: StepRan, laid: LaidChain, formers: Iterable[int]) -> int | None:
    """The former release that a job is advised to leave out, as it has nothing to do with it."""
    if UNRELATED not in found.message and OTHER_RECORDS not in found.message:
        return None
    for former in formers:
        place = Path(_folder(laid, former))
        name = place.parent.name if place.name == "public" else place.name
        if re.search(rf"(?<!/){re.escape(name)}\b(?!\.toml)", found.message):
            return former
    return None


def _is_expected(laid: LaidChain, number: int, formers: Iterable[int]) -> bool:
    """Whether the job may well be refused: revisions, populations, codes that nothing explains."""
    step, formers = laid.job(number), list(formers)
    steps = [step, *(laid.job(former) for former in formers)]
    if _is_revised(laid, number) or any(one.get("population") for one in steps):
        return True
    if laid.steps[number].get("mapping"):
        return False
    is_old = any(laid.steps[former]["against"] == "copy" for former in formers)
    views = [view for one in steps for view in one["views"].values()]
    return is_old or any("rename" in view or "file_column" in view for view in views)


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


def _judged(
    laid: LaidChain, number: int, public: dict[int, Release], found: StepRan, formers: Iterable[int]
) -> None:
    """Have the release judged beside these former ones, and lay it among them."""
    folder = laid.output(number) / "public"
    if found.outcome != RELEASED or not (folder / "about.json").exists():
        return
    release = laid.release(number, folder)
    found.verdict = judge([*(public[former] for former in formers), release])
    if found.verdict.revised and not _is_revised(laid, len(laid.steps) - 1):
        text = f"{found.verdict.revised} former figures differ from the records, which were not revised"
        found.verdict.findings.append(Finding(NOT_UNDERSTOOD, text))
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


def _against(laid: LaidChain, formers: Iterable[int]) -> list[str]:
    return [] if laid.is_blind else [_folder(laid, former) for former in formers]


def _folder(laid: LaidChain, number: int) -> str:
    """How a former release is named: by its public folder, its output folder, a copy, or what was kept."""
    how = laid.steps[number]["against"]
    if how == "copy":
        return f"kept/r{number}"
    kept = sorted((laid.output(number) / "releases").glob("*")) if how == "kept" else []
    if kept:
        return str(kept[-1].relative_to(laid.folder))
    return f"out{number}" if how == "output" else f"out{number}/public"


def _mapping(laid: LaidChain, number: int, formers: Iterable[int]) -> dict[str, Any]:
    """What the office says of former dimensions and codes, where the program has words for it."""
    from cellveil.job.sections import AgainstJob

    known, step, formers = set(AgainstJob.model_fields), laid.job(number), list(formers)
    if laid.is_blind or not formers:
        return {}
    found: dict[str, Any] = {}
    if laid.steps[number].get("accept") and "accept_known" in known:
        found["accept_known"] = "out already"
    if not laid.steps[number].get("mapping") or not {"dimensions", "codes"} <= known:
        return found
    dimensions: dict[str, str] = {}
    codes: dict[str, dict[str, list[str]]] = {}
    for former in formers:
        other = laid.job(former)
        for column, view in other["views"].items():
            today = step["views"].get(column, {})
            in_data = today.get("file_column", column)
            name = laid.name(other, column)
            if name != in_data:
                dimensions[name] = in_data
            rename = today.get("rename", {})
            if view.get("rename", {}) != rename or other["against"] == "copy":
                total = view.get("total", TOTAL)
                for code, inside in laid.codes(former, column).items():
                    if code != total:
                        codes.setdefault(name, {})[code] = sorted(rename.get(one, one) for one in inside)
    return found | {key: said for key, said in (("dimensions", dimensions), ("codes", codes)) if said}


def _batch(laid: LaidChain, order: str, public: dict[int, Release]) -> list[StepRan]:
    """Run the last two jobs as one batch; the second names the output of the first."""
    import cellveil as cv

    first, second = len(laid.steps) - 2, len(laid.steps) - 1
    if "stale_rules" in laid.steps[first]:
        stale = laid.write_stale(first)
        _ended(lambda: _run(stale))
    for number in (first, second):
        laid.steps[number]["against"] = "output"
    both = [*public, first]
    paths = [laid.write(first, _against(laid, public), _mapping(laid, first, public))]
    paths.append(laid.write(second, _against(laid, both), _mapping(laid, second, both)))
    lines: list[Any] = []

    def run() -> str:
        found = cv.run_jobs(paths if order == "in order" else paths[::-1], workers=1)
        lines.extend(found.lines if order == "in order" else found.lines[::-1])
        return ""

    ended = _ended(run)
    steps = []
    for number, formers in ((first, list(public)), (second, both)):
        step = StepRan(ended.outcome, ended.message)
        if lines:
            line = lines[number - first]
            step = StepRan(
                BY_EXIT_CODE.get(line.exit_code, CRASH), "" if not line.exit_code else line.verdict
            )
        step.is_expected = _is_expected(laid, number, formers)
        if lines:
            _judged(laid, number, public, step, [former for former in formers if former in public])
        steps.append(step)
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
        + f"; {required} requirements, {already} known already, {programs} programs, "
        + f"{unproved} without answer"
    ]
    lines += [f"  {number:5} {kind}" for kind, number in kinds.most_common()]
    refused = [
        step for one in chains for step in one.steps if step.outcome in (BAD_INPUT, INFEASIBLE, NOT_SAFE)
    ]
    lines.append(f"not released: {len(refused)}")
    for is_expected in (False, True):
        messages = Counter(_shape(step.message) for step in refused if step.is_expected == is_expected)
        lines.append(
            f"{messages.total()} {'for a reason' if is_expected else 'without a reason'} that the judge sees"
        )
        lines += [f"  {number:5} {message}" for message, number in messages.most_common(20)]
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
