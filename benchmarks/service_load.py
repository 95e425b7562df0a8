"""Load on a service: many clients with mixed jobs for a while; no job may be lost, no result mixed up.

    python benchmarks/service_load.py [--seconds 60] [--clients 20] [--jobs 2]

Every client has data of its own, which no other has, so that a result tells whose it is. It has one job
under way at a time; when the time is up, jobs that still wait are cancelled, and those that run are waited
for. Prints how all of them ended, and how long answers took.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from helpers.service import JOB, TOKENS, RunningService, ServiceClient, running_service


@dataclass
class Load:
    """What the clients saw."""

    ends: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)
    jobs: dict[str, str] = field(default_factory=dict)


def records(number: int) -> str:
    """Firms of one client: the code of a region and the sum tell whose they are."""
    rows = [
        f"f{n},C{number}R{n % 4},{'small' if n % 5 else 'large'},{100 * number + 1 + n % 7}"
        for n in range(60)
    ]
    return "\n".join(["firm,region,size,turnover", *rows, ""])


def timed(load: Load, ask: Any) -> Any:
    """Ask, and keep how long it took."""
    began = time.perf_counter()
    answer = ask()
    load.answers.append(time.perf_counter() - began)
    if answer.status_code >= 500 and answer.status_code != 503:
        load.faults.append(f"{answer.request.method} {answer.request.url.path}: {answer.status_code}")
    return answer


def one_client(service: RunningService, number: int, end: float, load: Load) -> None:
    """Upload, submit, look, cancel, delete; then wait for all jobs, and see whose results they have."""
    draw, name = random.Random(number), list(TOKENS)[number % len(TOKENS)]
    with service.client(name) as client:
        file = client.send_file(f"firms{number}.csv", records(number))["id"]
        mine: dict[str, str] = {}
        last = ""
        while not mine or time.perf_counter() < end:  # at least one job, however slow the machine is
            kind = draw.choice(["run", "run", "bad", "cancel", "look", "look", "look"])
            if kind == "look" or (last and client.job(last)["state"] in ("queued", "running")):
                timed(load, lambda: client.get(draw.choice(["/jobs", "/files", "/about", "/rules"])))
                time.sleep(draw.random() / 4)
                continue
            toml = JOB.replace('"turnover"', '"nothing"') if kind == "bad" else JOB
            asked = {"toml": toml, "files": {"data/firms.csv": file}, "name": f"{number}"}
            answer = timed(load, lambda asked=asked: client.post("/jobs", json=asked))
            if answer.status_code == 429:
                time.sleep(0.2)
                continue
            id = last = answer.json()["id"]
            mine[id] = kind
            if kind == "cancel":
                timed(load, lambda id=id: client.post(f"/jobs/{id}/cancel"))
            time.sleep(draw.random())
        load.jobs |= mine
        for id, kind in mine.items():
            is_waiting = client.job(id)["state"] == "queued"
            if is_waiting:
                timed(load, lambda id=id: client.post(f"/jobs/{id}/cancel"))
            check(client, number, id, "cancel" if is_waiting else kind, load)


def check(client: ServiceClient, number: int, id: str, kind: str, load: Load) -> None:
    """Wait for a job; what it came to is what was asked, of this client's data."""
    job = client.waited(id)
    load.ends[f"{kind}: {job['state']}"] += 1
    expected = {"run": ("done",), "bad": ("failed",), "cancel": ("cancelled", "done")}[kind]
    if job["state"] not in expected or job["name"] != str(number):
        load.faults.append(f"{kind} ended as {job['state']}, named {job['name']}: {job['error']}")
    if job["state"] == "done":
        text = client.get(f"/jobs/{id}/downloads/pattern.csv").text
        codes = {line.split(",")[0] for line in text.splitlines()[1:]} - {"Total"}
        if not codes or any(not code.startswith(f"C{number}R") for code in codes):
            load.faults.append(f"the result of client {number} has the codes of another: {sorted(codes)[:3]}")


def run_load(state: Path, lasting: float, clients: int, jobs: int) -> Load:
    """The whole of it."""
    load = Load()
    with running_service(state, jobs=jobs, waiting=max(4, clients)) as service:
        end = time.perf_counter() + lasting
        threads = [
            threading.Thread(target=one_client, args=(service, number, end, load))
            for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        known = service.desk.store.job_ids()
        if sorted(known) != sorted(load.jobs):
            load.faults.append(f"{len(load.jobs)} jobs were taken, {len(known)} are known")
    return load


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        load = run_load(Path(folder), given.seconds, given.clients, given.jobs)
    print(f"{given.clients} clients, {given.jobs} workers, {given.seconds:g} s: {len(load.jobs)} jobs")
    for name, number in sorted(load.ends.items()):
        print(f"  {name}: {number}")
    median, slow = statistics.median(load.answers), statistics.quantiles(load.answers, n=100)[98]
    print(f"  {len(load.answers)} answers, median {1000 * median:.0f} ms, 99 % within {1000 * slow:.0f} ms")
    print(f"  faults: {len(load.faults)}")
    for fault in load.faults[:20]:
        print(f"    {fault}")
    sys.exit(1 if load.faults else 0)


if __name__ == "__main__":
    main()
