"""A Dask cluster behind TLS: members get in, all others and words in clear do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cellveil.errors import InputError
from cellveil.tasks import cluster
from helpers import task_work
from helpers.dask_workers import DaskWorkers, tls_files

pytest.importorskip("distributed", reason="needs the extra cluster")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tls_files(tmp_path_factory.mktemp("office"))


@pytest.fixture(scope="module")
def workers(office: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskWorkers]:
    with DaskWorkers(1, tmp_path_factory.mktemp("dask"), tls=office) as started:
        yield started


def configured(folder: Path) -> Any:
    """Dask's own configuration of a client with these certificates."""
    import dask

    pair = {kind: str(folder / f"{kind}.pem") for kind in ("cert", "key")}
    return dask.config.set(
        {"distributed.comm.tls.ca-file": str(folder / "ca.pem"), "distributed.comm.tls.client": pair}
    )


def test_a_member_gets_its_tasks_done(workers: DaskWorkers, office: Path) -> None:
    assert workers.address.startswith("tls://")
    with configured(office), cluster(workers.address) as pool:
        assert pool.run(task_work.drawn, 3, [1, 2]) == [task_work.drawn(3, seed) for seed in (1, 2)]


def test_others_do_not_get_in(workers: DaskWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cellveil.tasks.dask_cluster.ANSWER", 3)
    nobody = "no Dask scheduler answers"
    with (
        configured(tls_files(tmp_path)),
        pytest.raises(InputError, match=nobody),
        cluster(workers.address),
    ):
        pass
    for address in (workers.address, workers.address.replace("tls://", "tcp://")):
        with pytest.raises(InputError, match=nobody), cluster(address):
            pass
