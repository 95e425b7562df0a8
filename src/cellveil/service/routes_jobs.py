"""Routes about jobs over tables: submit, watch, stop, cancel, run again, delete."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from cellveil.service.answers import JobFacts, JobRequest
from cellveil.service.events import stream
from cellveil.service.questions import AgainAsked, JobAsked
from cellveil.service.route_parts import JobId, TheDesk, User, errors
from cellveil.service.service_errors import ServiceError
from cellveil.service.store import JobRecord

router = APIRouter()

SEEN = re.compile(r"[0-9]{1,15}")
"""The number of an event."""


def _facts(job: JobRecord) -> JobFacts:
    names = (
        *("id", "name", "verb", "state", "created", "began", "ended", "exit_code"),
        "safe",
        "verdict",
        "error",
    )
    facts: dict[str, Any] = {name: getattr(job, name) for name in names}
    return JobFacts.model_validate(facts | {"progress": job.progress})


@router.post(
    "/jobs",
    operation_id="submitJob",
    tags=["jobs"],
    status_code=202,
    response_model=JobFacts,
    responses=errors(404, 429, 507),
)
def submit(user: User, desk: TheDesk, asked: JobAsked) -> JobFacts:
    """Queue a job; it runs in a process of its own, as the command line would run it."""
    return _facts(desk.submit(user, asked))


@router.get(
    "/jobs", operation_id="listJobs", tags=["jobs"], response_model=list[JobFacts], responses=errors()
)
def list_jobs(user: User, desk: TheDesk, limit: Annotated[int, Query(ge=1, le=1000)] = 50) -> list[JobFacts]:
    """Your jobs, the latest first."""
    return list(map(_facts, desk.store.jobs_of(user, limit)))


@router.get(
    "/jobs/{id}", operation_id="getJob", tags=["jobs"], response_model=JobFacts, responses=errors(404)
)
def get_job(user: User, desk: TheDesk, id: JobId) -> JobFacts:
    """Where a job stands."""
    return _facts(desk.job(user, id))


@router.get(
    "/jobs/{id}/request",
    operation_id="getRequest",
    tags=["jobs"],
    response_model=JobRequest,
    responses=errors(404),
)
def get_request(user: User, desk: TheDesk, id: JobId) -> JobRequest:
    """What was asked, with the job file."""
    folder = desk.folder(user, id)
    toml = folder.job_file.read_text("utf-8") if folder.job_file.exists() else ""
    return JobRequest(**folder.request() | {"toml": toml})


@router.delete("/jobs/{id}", operation_id="deleteJob", tags=["jobs"], status_code=204, responses=errors(404))
def delete_job(user: User, desk: TheDesk, id: JobId) -> None:
    """Delete a job with its data and results; one that runs is cancelled first."""
    desk.remove(user, id)


@router.post(
    "/jobs/{id}/stop",
    operation_id="stopJob",
    tags=["jobs"],
    status_code=202,
    response_model=JobFacts,
    responses=errors(404, 409),
)
def stop(user: User, desk: TheDesk, id: JobId) -> JobFacts:
    """End the search of a running job; the best certified pattern so far is kept and released."""
    job = desk.job(user, id)
    if not desk.supervisor.stop(job.id):
        raise ServiceError(409, f"the job cannot be stopped: it is {desk.job(user, id).state}.")
    return _facts(desk.job(user, id))


@router.post(
    "/jobs/{id}/cancel",
    operation_id="cancelJob",
    tags=["jobs"],
    status_code=202,
    response_model=JobFacts,
    responses=errors(404, 409),
)
def cancel(user: User, desk: TheDesk, id: JobId) -> JobFacts:
    """End a job that waits or runs; nothing of it is kept."""
    job = desk.job(user, id)
    if not desk.supervisor.cancel(job.id):
        raise ServiceError(409, f"the job cannot be cancelled: it is {desk.job(user, id).state}.")
    return _facts(desk.job(user, id))


@router.post(
    "/jobs/{id}/again",
    operation_id="repeatJob",
    tags=["jobs"],
    status_code=202,
    response_model=JobFacts,
    responses=errors(404, 429, 507),
)
def again(user: User, desk: TheDesk, id: JobId, asked: AgainAsked | None = None) -> JobFacts:
    """Queue a job once more over the same files, perhaps with another job file; it gets an id of its own."""
    asked = asked or AgainAsked()
    return _facts(desk.again(user, id, asked.toml, asked.name))


TEXT = {"text/event-stream": {"schema": {"type": "string"}}}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events: state, progress, end.", "content": TEXT}
}


@router.get(
    "/jobs/{id}/events",
    operation_id="watchJob",
    tags=["jobs"],
    response_class=StreamingResponse,
    responses={**EVENTS, **errors(404)},
)
def events(
    user: User,
    desk: TheDesk,
    id: JobId,
    request: Request,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> StreamingResponse:
    """Watch a job until its end; with Last-Event-ID what came after that event."""
    job = desk.job(user, id)
    after = int(last_event_id) if last_event_id and SEEN.fullmatch(last_event_id) else None
    told = stream(desk.store, job.id, after, request.app.state.closing)
    return StreamingResponse(told, media_type="text/event-stream", headers={"x-accel-buffering": "no"})
