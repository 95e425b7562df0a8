"""Routes about data and job files: uploads, columns of tables and microdata, drafts, checks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request

from cellveil.service.answers import CheckAnswer, DraftAnswer, FileFacts, Recognised
from cellveil.service.built_in import DATASETS
from cellveil.service.questions import CheckAsked, DraftAsked, SourceWriting
from cellveil.service.route_parts import FileIdInPath, TheDesk, User, errors, while_waited_for
from cellveil.service.service_errors import not_found
from cellveil.service.store import StoredFile

router = APIRouter()

BINARY = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
BODY = {"requestBody": {"required": True, "content": BINARY}}
"""The body of an upload, for the description."""


def _facts(file: StoredFile) -> FileFacts:
    names = ("id", "name", "stored", "bytes", "sha256", "created")
    return FileFacts(**{name: getattr(file, name) for name in names})


@router.post(
    "/files",
    operation_id="uploadFile",
    tags=["files"],
    status_code=201,
    response_model=FileFacts,
    responses=errors(429, 507),
    openapi_extra=BODY,
)
async def upload(
    user: User,
    desk: TheDesk,
    request: Request,
    name: Annotated[str, Query(min_length=1, max_length=200, description="Its name; only shown.")],
) -> FileFacts:
    """Upload a file: its bytes are the body, and are written to disk as they come."""
    return _facts(await desk.uploads.take(user, name, request.stream()))


@router.get(
    "/files", operation_id="listFiles", tags=["files"], response_model=list[FileFacts], responses=errors()
)
def list_files(user: User, desk: TheDesk) -> list[FileFacts]:
    """Your uploads, the latest first."""
    return list(map(_facts, desk.store.files_of(user)))


@router.delete(
    "/files/{id}", operation_id="deleteFile", tags=["files"], status_code=204, responses=errors(404)
)
def delete_file(user: User, desk: TheDesk, id: FileIdInPath) -> None:
    """Delete an upload; jobs that were made of it keep it."""
    desk.uploads.remove(desk.file(user, id))


@router.post(
    "/files/{id}/columns",
    operation_id="recogniseFile",
    tags=["files"],
    response_model=Recognised,
    responses=errors(404, 503),
)
async def file_columns(
    user: User, desk: TheDesk, request: Request, id: FileIdInPath, writing: SourceWriting | None = None
) -> dict[str, Any]:
    """What the columns of an upload seem to be, and the choices that they propose."""
    given = (writing or SourceWriting()).model_dump()
    return await while_waited_for(
        request, lambda asker: _checked(desk.columns(asker, desk.file(user, id).id, given))
    )


@router.post(
    "/datasets/{name}/columns",
    operation_id="recogniseDataset",
    tags=["files"],
    response_model=Recognised,
    responses=errors(404, 503),
)
async def dataset_columns(
    user: User, desk: TheDesk, request: Request, name: Annotated[str, Path(max_length=60)]
) -> dict[str, Any]:
    """The same for built-in data; the choices are those of the demo."""
    built_in = DATASETS.get(name)
    if built_in is None:
        raise not_found("there are no such built-in data.")
    found = await while_waited_for(
        request, lambda asker: desk.columns(asker, f"dataset:{name}/{built_in.data}", {})
    )
    for column in found["columns"]:
        if column["name"] in built_in.hierarchies:
            column["hierarchy"] = {"kind": "built-in", "name": column["name"]}
    return _checked(found | {"proposed": dict(built_in.choices)})


def _checked(found: dict[str, Any]) -> dict[str, Any]:
    return Recognised.model_validate(found).model_dump()


@router.post(
    "/drafts", operation_id="draftJob", tags=["jobs"], response_model=DraftAnswer, responses=errors(404)
)
def draft(user: User, desk: TheDesk, asked: DraftAsked) -> DraftAnswer:
    """The job file of some choices, and the files that it names: both go into checks and jobs as they are."""
    toml, files = desk.draft(user, asked)
    return DraftAnswer(toml=toml, files=files)


@router.post(
    "/checks",
    operation_id="checkJob",
    tags=["jobs"],
    response_model=CheckAnswer,
    responses=errors(404, 503),
)
async def check(user: User, desk: TheDesk, request: Request, asked: CheckAsked) -> dict[str, Any]:
    """All of a job but the search: unsafe cells by rule, sizes, against whom, the likely plan."""
    return await while_waited_for(request, lambda asker: desk.check(asker, asked.toml, asked.files))
