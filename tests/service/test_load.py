"""Several clients at once lose no job and mix up no results; benchmarks/service_load.py does it at length."""

from pathlib import Path

from benchmarks.service_load import run_load


def test_no_job_is_lost_and_no_result_mixed_up(tmp_path: Path) -> None:
    load = run_load(tmp_path, 0.0, 3, 2)
    assert load.faults == []
    assert load.jobs and sum(load.ends.values()) == len(load.jobs)
