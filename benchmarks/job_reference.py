"""The reference of job files in docs/jobs.md, made from the models, so that it says what the code does.

python benchmarks/job_reference.py
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from cellveil.job.job_model import Job
from cellveil.job.reading import ARRAYS, submodel

WORDS = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
}
PLURALS = {"text": "texts", "path": "paths", "whole number": "whole numbers", "set of keys": "sets of keys"}


def reference() -> str:
    """Every key of the job file as Markdown: one table per section."""
    return "\n\n".join(_section(heading, model) for heading, model in _sections())


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    yield "", Job
    for name, field in Job.model_fields.items():
        model = submodel(field.annotation)
        if model is not None:
            named = f"{name}.NAME" if get_origin(field.annotation) is dict else name
            yield f"[[{named}]]" if name in ARRAYS else f"[{named}]", model


def _section(heading: str, model: type[BaseModel]) -> str:
    title = f"### `{heading}`" if heading else "### At the top of the file"
    lines = [
        title,
        "",
        (model.__doc__ or "").strip(),
        "",
        "| key | kind | default | meaning |",
        "|---|---|---|---|",
    ]
    own = [name for name in model.model_fields if name in model.__annotations__]
    for name in dict.fromkeys([*own, *model.model_fields]):  # what it shares with others comes last
        field = model.model_fields[name]
        if submodel(field.annotation) is None:  # sections have their own table
            lines.append(
                f"| `{name}` | {_kind(field.annotation)} | {_default(field)} | {field.description} |"
            )
    return "\n".join(lines)


def _kind(annotation: Any) -> str:
    """The type of a key in words."""
    if annotation in WORDS:
        return WORDS[annotation]
    if annotation is Any:
        return "set of keys"
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{choice}`" for choice in parts)
    if origin in (Union, types.UnionType):
        return _kind(next(part for part in parts if part is not type(None)))
    if origin is list:
        one = _kind(parts[0])
        return f"list of {PLURALS.get(one, one)}"
    if origin is dict:
        return "set of keys"
    return _kind(parts[0])  # annotated


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    default = field.get_default(call_default_factory=True)
    if default is None or default in ([], {}, ""):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
        return f"`{json.dumps(default)}`"
    return f'`"{default}"`' if isinstance(default, str | Path) else f"`{default:g}`"


if __name__ == "__main__":
    print(reference())
