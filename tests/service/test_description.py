"""The OpenAPI description: complete, current in the docs, and kept by the service (schemathesis)."""

import json
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from cellveil.service.answers import ErrorAnswer
from cellveil.service.application import NO_TELEMETRY, described_app
from helpers.command import Command
from helpers.pages import ROOT
from helpers.service import TOKENS, running_service

GOLDEN = ROOT / "docs" / "openapi.json"


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return described_app().openapi()


def operations(description: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_description_in_the_docs_is_current(command: Command) -> None:
    told = json.loads(command("serve", "--describe").out)
    assert json.loads(GOLDEN.read_text("utf-8")) == told, "run: cellveil serve --describe > docs/openapi.json"


def test_every_operation_can_become_a_function_of_a_client(description: dict[str, Any]) -> None:
    found = operations(description)
    ids = [operation["operationId"] for _, _, operation in found]
    assert len(ids) == len(set(ids)) > 25
    for method, path, operation in found:
        assert len(operation["tags"]) == 1, path
        assert operation["summary"] and operation["description"], path
        success = [code for code in operation["responses"] if code.startswith("2")]
        assert len(success) == 1, path
        if success != ["204"]:
            assert operation["responses"][success[0]]["content"], (method, path)
        for code, answer in operation["responses"].items():
            if not code.startswith("2"):
                schema = answer["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}, (path, code)


def test_models_are_described(description: dict[str, Any]) -> None:
    for name, schema in description["components"]["schemas"].items():
        assert schema.get("description"), name
        assert name.isidentifier() and not name.endswith("_") and "-" not in name


def test_the_framework_tells_nobody_else() -> None:
    app = described_app()
    assert set(NO_TELEMETRY.values()) == {False}
    native = getattr(app, "_native_telemetry", None)
    assert native is None or not native.enabled()


def test_the_service_needs_its_extra(monkeypatch: pytest.MonkeyPatch, command: Command) -> None:
    monkeypatch.setitem(sys.modules, "cellveil.service.application", None)  # as where fastapi is missing
    ended = command("serve", "--describe")
    assert ended.code == 2 and "pip install 'cellveil[service]'" in ended.err


# -- schemathesis --------------------------------------------------------------------------------------------

STREAMS = ("watchJob",)
"""Operations that last as long as a job."""

HEADERS = {"Authorization": f"Bearer {TOKENS['ann']}", "Host": "localhost"}


def fuzzed(state: Path, examples: int, left_out: tuple[str, ...]) -> int:
    """Ask all kinds of things; every answer is one that the description has. Returns how many there were."""
    number = 0
    with running_service(state) as service, service.stranger() as client:
        schema = schemathesis.openapi.from_dict(service.app.openapi())
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.definition.raw["operationId"] not in left_out:
                number += ask_all(client, operation, examples)
    return number


def ask_all(client: httpx.Client, operation: Any, examples: int) -> int:
    """Ask one operation; returns how many answers there were."""
    known, answers = set(operation.definition.raw["responses"]), []
    shortened = settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )

    @shortened
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        asked = case.as_transport_kwargs(base_url=str(client.base_url), headers=HEADERS)
        asked = {key: value for key, value in asked.items() if key in TAKEN and value is not None}
        try:
            answer = client.request(**asked)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError):  # no client can send it
            return
        answers.append(answer.status_code)
        told = (asked["method"], asked["url"], answer.status_code, answer.text)
        assert answer.status_code not in (500, 502, 504), told
        assert str(answer.status_code) in known | {"404", "405"}, told
        if answer.status_code >= 400:
            ErrorAnswer.model_validate(answer.json())

    ask()
    return len(answers)


TAKEN = ("method", "url", "params", "headers", "json", "data", "content", "cookies", "files")


def test_whatever_is_asked_the_answer_is_described(tmp_path: Path, no_workers: None) -> None:
    assert fuzzed(tmp_path, 3, STREAMS) > 60


@pytest.mark.slow
def test_whatever_is_asked_at_length_the_answer_is_described(tmp_path: Path) -> None:
    assert fuzzed(tmp_path, 200, (*STREAMS, "recogniseDataset")) > 2000
