"""`run_batch`: a batch file about tables from beginning to end, as the program TauArgus runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from cellveil.argus.batch.batch_file import read_batch
from cellveil.argus.batch.batch_params import BatchParams
from cellveil.argus.batch.batch_places import BatchPlaces
from cellveil.argus.batch.batch_run import BatchResult, BatchRun
from cellveil.argus.batch.logbook import DEFAULT, Logbook
from cellveil.errors import CellveilError


def run_batch(
    batch: Path | str,
    *,
    log: Path | str | None = None,
    temporary: Path | str | None = None,
    data: Path | str | None = None,
    params: BatchParams | None = None,
    tell_log: Callable[[Path], None] | None = None,
) -> BatchResult:
    """Run a batch file.

    Parameters
    ----------
    log
        The logbook; by default TauLogbook.txt in the folder for temporary files.
    temporary
        That folder; by default the system's.
    data
        A folder to look for data in that are not beside the batch file; it stands in for the drives of
        another operating system.
    tell_log
        Called in the end with the path of the logbook, however the run ends.

    Raises
    ------
    CellveilError
        At the first command that cannot be done, or where a table is not safe. The logbook says it too.
    """
    path = Path(batch).absolute()
    folder = Path(temporary) if temporary is not None else Path(tempfile.gettempdir())
    start = f"Start of batch procedure; file: {path}"
    book = Logbook(Path(log) if log is not None else folder / DEFAULT, start)
    try:
        places = BatchPlaces(path.parent, Path(data) if data is not None else None, path.stem)
        return BatchRun(places, book, params).run(read_batch(path))
    except CellveilError as error:
        book.write("Error in batch file", *getattr(error, "__notes__", ()), str(error))
        raise
    except KeyboardInterrupt:
        book.write("Error in batch file", "The run was interrupted.")
        raise
    except Exception as error:  # a bug; what it carries may be confidential
        book.write("Error in batch file", f"Internal error ({type(error).__name__}).")
        raise
    finally:
        book.write("End of TauArgus run")
        if tell_log is not None:
            tell_log(book.path)
