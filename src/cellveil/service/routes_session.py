"""Routes about the service itself: sessions of the page, what there is to choose for tables, texts."""

from __future__ import annotations

import tomllib
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request

from cellveil.service import reference
from cellveil.service.answers import About, DatasetFacts, NamedFacts, RulesAnswer, SessionFacts
from cellveil.service.built_in import DATASETS
from cellveil.service.questions import TokenAsked
from cellveil.service.route_parts import TheDesk, User, errors
from cellveil.service.service_errors import no_token, not_found

TEXTS = FilePath(__file__).parent / "texts"
LANGUAGES = ("en", "de")

router = APIRouter()


@router.get("/about", operation_id="getAbout", tags=["service"], response_model=About, responses=errors())
def about(user: User, desk: TheDesk) -> About:
    """Version, limits, and who is asking."""
    from cellveil import __version__

    limits = {name: float(getattr(desk.limits, name)) for name in type(desk.limits).described()}
    names = [method.name for method in reference.methods()]
    return About(version=__version__, user=user, languages=list(LANGUAGES), methods=names, limits=limits)


@router.post(
    "/session", operation_id="beginSession", tags=["session"], response_model=SessionFacts, responses=errors()
)
def begin_session(asked: TokenAsked, request: Request) -> SessionFacts:
    """Begin a session of the page: a secret of limited time in place of the token."""
    settings, sessions = request.app.state.settings, request.app.state.sessions
    known = settings.users.of(asked.token)
    if known is None:
        raise no_token()
    session = sessions.begin(*known)
    return SessionFacts(user=session.user, session=session.id)


@router.get(
    "/session", operation_id="getSession", tags=["session"], response_model=SessionFacts, responses=errors()
)
def get_session(user: User) -> SessionFacts:
    """Who is asking."""
    return SessionFacts(user=user)


@router.delete("/session", operation_id="endSession", tags=["session"], status_code=204, responses=errors())
def end_session(user: User, request: Request) -> None:
    """End the session."""
    if request.state.session is not None:
        request.app.state.sessions.end(request.state.session.id)


@router.get(
    "/methods",
    operation_id="listMethods",
    tags=["reference"],
    response_model=list[NamedFacts],
    responses=errors(),
)
def methods(user: User) -> list[NamedFacts]:
    """Suppression methods."""
    return reference.methods()


@router.get(
    "/methods/{name}",
    operation_id="getMethod",
    tags=["reference"],
    response_model=NamedFacts,
    responses=errors(404),
)
def method(user: User, name: Annotated[str, Path(max_length=60)]) -> NamedFacts:
    """One method with its parameters."""
    found = reference.method(name)
    if found is None:
        raise not_found("there is no such method.")
    return found


@router.get(
    "/rules", operation_id="listRules", tags=["reference"], response_model=RulesAnswer, responses=errors()
)
def rules(user: User) -> RulesAnswer:
    """Rules that say which cells are unsafe, and presets of other tools."""
    return reference.rules()


@router.get(
    "/attackers",
    operation_id="listAttackers",
    tags=["reference"],
    response_model=list[NamedFacts],
    responses=errors(),
)
def attackers(user: User) -> list[NamedFacts]:
    """Whom tables can be protected against."""
    return reference.attackers()


@router.get(
    "/datasets",
    operation_id="listDatasets",
    tags=["reference"],
    response_model=list[DatasetFacts],
    responses=errors(),
)
def datasets(user: User) -> list[DatasetFacts]:
    """Built-in data."""
    return [
        DatasetFacts(name=one.name, title=one.title, about=one.about, rows=one.firms, files=list(one.files))
        for one in DATASETS.values()
    ]


@router.get(
    "/texts/{language}",
    operation_id="getTexts",
    tags=["service"],
    response_model=dict[str, Any],
    responses=errors(404),
)
def texts(language: Annotated[str, Path(max_length=10)]) -> dict[str, Any]:
    """The texts of the page in a language; no token is needed."""
    path = TEXTS / f"{language}.toml"
    if language not in LANGUAGES or not path.is_file():
        raise not_found("there are no texts in that language.")
    return tomllib.loads(path.read_text("utf-8"))
