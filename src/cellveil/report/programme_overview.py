"""The overview of a programme of publications: for each job its verdict, what is published, and the cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cellveil.errors import CellveilError, InfeasibleError, counted
from cellveil.report.figures import plain
from cellveil.report.report import versions

if TYPE_CHECKING:
    from cellveil.report.report import Report


class JobEnding(StrEnum):
    """How a job ended."""

    SAFE = "safe"
    NOT_SAFE = "not_safe"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def words(self) -> str:
        """For people."""
        return {"not_safe": "NOT SAFE", "failed": "FAILED", "infeasible": "INFEASIBLE"}.get(self, str(self))


SEVERITY = (0, 1, 3, 2, 130)
"""Exit codes, the worst last."""

WITHHELD = "–"
"""In place of a cost that may tell the value of a single cell."""

HEAD = ("Job", "Verdict", "Against", "Cells", "Published", "Cost", "Gap", "Seconds", "Report")


@dataclass(frozen=True)
class OverviewLine:
    """What one job of a programme came to. Names and shares only.

    Parameters
    ----------
    job
        Name of the job file.
    exit_code
        What the job alone would have ended with.
    verdict
        The result in one sentence, or why there is none.
    against
        Whom the release keeps off, in words.
    published
        Share of the cells that are published, in per cent.
    cost, gap
        As the report tells them.
    report, public
        Where its report and its public files are, seen from the overview; empty where there are none.
    """

    job: str
    title: str
    state: JobEnding
    exit_code: int
    verdict: str
    against: str = ""
    cells: int | None = None
    published: float | None = None
    cost: str = ""
    gap: float | None = None
    seconds: float | None = None
    report: str = ""
    public: str = ""

    @classmethod
    def of(cls, job: str, report: Report, took: float, links: tuple[str, str]) -> OverviewLine:
        """Of a job with a verdict."""
        shares = {line.name: line.percent_cells for line in report.classes}
        released, run = report.release is not None, report.suppression
        done, cost = report.is_safe and released, report.cost_texts[0]
        return cls(
            job,
            report.heading,
            JobEnding.SAFE if done else JobEnding.NOT_SAFE,
            0 if done else 1,
            report.verdict,
            report.decisive.against if done and report.decisive is not None else "",
            report.problem.table.num_cells,
            100.0 if report.instead is not None and done else shares["published"] if done else 0.0,
            cost,
            None if run.gap is None or cost == WITHHELD else 100 * run.gap,
            took,
            links[0],
            links[1] if released else "",
        )

    @classmethod
    def failed(cls, job: str, title: str, error: CellveilError, report: str = "") -> OverviewLine:
        """Of a job that ended with an error; an infeasible one has a report."""
        state = JobEnding.INFEASIBLE if isinstance(error, InfeasibleError) else JobEnding.FAILED
        return cls(job, title, state, error.exit_code, str(error), report=report)

    @classmethod
    def interrupted(cls, job: str, title: str) -> OverviewLine:
        """Of a job that was not done when the programme was interrupted."""
        return cls(job, title, JobEnding.INTERRUPTED, 130, "interrupted; everything of it is as it was.")

    def texts(self) -> tuple[str, ...]:
        """The columns of `HEAD`, the report left out."""
        shows_gap = self.cells is not None and self.cost not in ("", WITHHELD)
        gap = "?" if self.gap is None else f"{self.gap:.1f} %"
        return (
            self.title or self.job,
            self.state.words,
            self.against or "–",
            "–" if self.cells is None else f"{self.cells:,}",
            "–" if self.published is None else f"{self.published:.1f} %",
            self.cost or "–",
            gap if shows_gap else "–",
            "–" if self.seconds is None else f"{self.seconds:,.1f}",
        )


@dataclass(frozen=True)
class Overview:
    """All jobs of a programme, in the order in which they were given.

    Parameters
    ----------
    made
        When, as text.
    """

    lines: tuple[OverviewLine, ...]
    made: str = ""
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """The worst of the exit codes of the jobs: see `SEVERITY`."""
        return max((line.exit_code for line in self.lines), key=SEVERITY.index, default=0)

    @property
    def is_safe(self) -> bool:
        """Whether every job is shown safe and released."""
        return all(line.state is JobEnding.SAFE for line in self.lines)

    @property
    def verdict(self) -> str:
        """All in one sentence.

        Examples
        --------
        >>> Overview((OverviewLine.interrupted("a.toml", ""),)).verdict
        '0 of 1 job shown safe and released; 1 interrupted'
        """
        number = Counter(line.state for line in self.lines)
        told = [f"{number[JobEnding.SAFE]:,} of {counted(len(self.lines), 'job')} shown safe and released"]
        told += [
            f"{number[state]:,} {state.words}"
            for state in JobEnding
            if state is not JobEnding.SAFE and number[state]
        ]
        return "; ".join(told)

    @property
    def others(self) -> Sequence[OverviewLine]:
        """The jobs that released nothing."""
        return [line for line in self.lines if line.state is not JobEnding.SAFE]

    def to_dict(self) -> dict[str, Any]:
        """The same as data for JSON."""
        data = {"safe": self.is_safe, "verdict": self.verdict, "exit_code": self.exit_code}
        data |= {"made": self.made, "seconds": self.seconds, "versions": versions()}
        return dict(plain(data | {"jobs": [asdict(line) for line in self.lines]}))

    def to_html(self) -> str:
        """The same as one self-contained page."""
        from cellveil.report.overview_page import overview_page

        return overview_page(self)
