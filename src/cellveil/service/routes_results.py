"""Routes about what jobs over tables came to: figures, views for the page, explanations, downloads."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import FileResponse, Response
from starlette.background import BackgroundTask

from cellveil.service.answers import DownloadFacts, ExplanationAnswer, ResultAnswer, ViewManifest
from cellveil.service.downloads import DOWNLOADS, archive
from cellveil.service.route_parts import JobId, TheDesk, User, errors, while_waited_for
from cellveil.service.service_errors import not_found
from cellveil.service.store import JobState
from cellveil.service.views import MANIFEST, SEARCH, live_search, media_type_of, view_file

router = APIRouter()


@router.get(
    "/jobs/{id}/result",
    operation_id="getResult",
    tags=["results"],
    response_model=ResultAnswer,
    responses=errors(404, 409),
)
def result(user: User, desk: TheDesk, id: JobId) -> ResultAnswer:
    """The verdict, against whom, and all figures of the report."""
    folder, job = desk.finished(user, id), desk.job(user, id)
    file = folder.out / "internal" / "report.json"
    if not file.is_file():
        raise not_found("the job has no figures.")
    report: dict[str, Any] = json.loads(file.read_text("utf-8"))
    against = str(report.get("safe_against") or report.get("against") or "") if job.safe else ""
    not_asked = str(report.get("not_asked") or "")
    return ResultAnswer(
        safe=job.safe, verdict=job.verdict, against=against, not_asked=not_asked, report=report
    )


@router.get(
    "/jobs/{id}/view",
    operation_id="getView",
    tags=["results"],
    response_model=ViewManifest,
    responses=errors(404, 409),
)
def view(user: User, desk: TheDesk, id: JobId) -> dict[str, Any]:
    """The parts of the report in their order."""
    found: dict[str, Any] = json.loads(view_file(desk.finished(user, id), MANIFEST).read_text("utf-8"))
    return found


BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
FILE: dict[int | str, dict[str, Any]] = {200: {"description": "The file.", "content": BINARY}}


@router.get(
    "/jobs/{id}/view/{name}",
    operation_id="getViewPart",
    tags=["results"],
    response_class=Response,
    responses={**FILE, **errors(404, 409)},
)
def view_part(user: User, desk: TheDesk, id: JobId, name: Annotated[str, Path(max_length=60)]) -> Response:
    """A part of the report, or the data of all cells; search.svg also of a job whose report has none."""
    job = desk.job(user, id)
    if name == SEARCH and not (desk.state.job(job.id).view / SEARCH).is_file():
        return Response(live_search(desk.store.events(job.id)), media_type=media_type_of(name))
    path = view_file(desk.finished(user, id), name)
    return FileResponse(path, media_type=media_type_of(name))


@router.get(
    "/jobs/{id}/cells/{cell:path}/explanation",
    operation_id="explainCell",
    tags=["results"],
    response_model=ExplanationAnswer,
    responses=errors(404, 409, 503),
)
async def explanation(
    user: User,
    desk: TheDesk,
    request: Request,
    id: JobId,
    cell: Annotated[
        str, Path(max_length=400, description="As the command takes it: A,North or nace=A,region=N.")
    ],
) -> dict[str, Any]:
    """One cell, as `cellveil explain` tells it: what is in it, why it is hidden, what it protects."""
    return await while_waited_for(request, lambda asker: desk.explain(asker, id, cell))


@router.get(
    "/jobs/{id}/downloads",
    operation_id="listDownloads",
    tags=["results"],
    response_model=list[DownloadFacts],
    responses=errors(404),
)
def list_downloads(user: User, desk: TheDesk, id: JobId) -> list[DownloadFacts]:
    """What can be taken along; before the job is done, the job itself."""
    job = desk.job(user, id)
    folder = desk.state.job(job.id)
    return [
        DownloadFacts(
            name=one.name,
            about=one.about,
            is_public=one.is_public,
            bytes=None if one.is_archive else one.path(folder).stat().st_size,
        )
        for one in DOWNLOADS.values()
        if one.is_there(folder) and (job.state is JobState.DONE or one.place[0] == "input")
    ]


@router.get(
    "/jobs/{id}/downloads/{name}",
    operation_id="download",
    tags=["results"],
    response_class=FileResponse,
    responses={**FILE, **errors(404, 409)},
)
def download(user: User, desk: TheDesk, id: JobId, name: Annotated[str, Path(max_length=60)]) -> FileResponse:
    """One of the downloads."""
    found = DOWNLOADS.get(name)
    job = desk.job(user, id)
    if found is None:
        raise not_found("there is no such download.")
    folder = desk.state.job(job.id) if found.place[0] == "input" else desk.finished(user, id)
    if not found.is_there(folder):
        raise not_found("the job has no such download.")
    path = found.path(folder)
    if not found.is_archive:
        return FileResponse(path, media_type=found.media_type, filename=name)
    packed = archive(path, desk.state.scratch)
    return FileResponse(
        packed, media_type=found.media_type, filename=name, background=BackgroundTask(packed.unlink)
    )
