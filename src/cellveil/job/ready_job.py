"""A job whose data are read and checked: all that is left is to search a pattern and to write the release."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellveil.formats.tidy_folder import check_dimension_names
from cellveil.job.job_files import FILES
from cellveil.job.job_model import Job
from cellveil.job.output_folder import Output, check_output, open_output
from cellveil.job.past import Past
from cellveil.job.preparing import Prepared, prepare
from cellveil.pattern import Pattern
from cellveil.progress import NoteTaker, Progress
from cellveil.public_view import PublicView
from cellveil.publishing import Publication, check_room
from cellveil.publishing.imprint import Imprint
from cellveil.publishing.public_folder import PUBLIC
from cellveil.publishing.releasing import check_formats, check_names


@dataclass(frozen=True, repr=False, eq=False)
class ReadyJob:
    """A job, and the problem that it is about.

    Parameters
    ----------
    notes
        What was taken for granted about the data.
    """

    job: Job
    prepared: Prepared
    past: Past
    notes: tuple[str, ...]

    @classmethod
    def of(cls, job: Job, progress: Progress, records: Any = None) -> ReadyJob:
        """Read or tabulate the data of a job; raises now whatever speaks against a run.

        Parameters
        ----------
        records
            In place of the files of [microdata].
        """
        taker = NoteTaker(progress)
        with job.placing_errors():
            prepared = prepare(job, taker, records)
            past = Past.of(job, prepared.problem, records)
            check_release(job, prepared)
        if job.release.written != job.release.formats:
            taker.note("no workbook is written: it needs the extra excel (pip install 'cellveil[excel]')")
        return cls(job, prepared, past, taker.notes)


@contextmanager
def locked_output(job: Job) -> Iterator[Output]:
    """The output folder of a job, for one run; raises where it could not be written to."""
    check_output(job.output, job.confidential_inputs())
    with open_output(job.output, FILES.values()) as output:
        yield output


def check_release(job: Job, prepared: Prepared) -> None:
    """Raise now what would speak against writing the public files after a long run."""
    problem = prepared.problem
    everything = Pattern.hiding(problem, np.ones(problem.table.num_cells, dtype=bool), "everything")
    settings = job.release
    check_formats(settings.written)
    check_dimension_names(problem.table.dimensions)
    with job.placing_errors("release"):
        publication = Publication.of(
            problem.table,
            PublicView.of(problem, everything),
            imprint=Imprint(unit=settings.unit, language=job.language),
            symbol=settings.symbol,
            labels=prepared.labels,
            decimals=settings.decimals,
        ).in_tables(prepared.tables, prepared.labels)
        check_names(publication, settings.written)
    check_room(job.output / PUBLIC, settings.written, publication)
