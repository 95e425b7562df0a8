"""Reading job files, from microdata to release. The first fault is told with file, line and remedy."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from cellveil.errors import InputError, check_kind, nearest_name
from cellveil.files import read_text
from cellveil.job.job_model import Job
from cellveil.job.places import JobSource
from cellveil.job.sections import FAULT
from cellveil.job.template_job import with_template


def read_job(path: Path | str) -> Job:
    """Read and validate a job file; its paths are taken relative to its folder.

    Raises
    ------
    InputError
        With file, line and key, and the nearest known name of an unknown key.
    """
    check_kind(path, (str, Path), "a job file", 'Give its path: read_job("job.toml").')
    source = JobSource(Path(path), read_text(Path(path)))
    try:
        data = tomllib.loads(source.text)
        _check_depth(data, source)
    except RecursionError:
        raise _too_deep(source) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        raise InputError(
            f"not valid TOML{_plain_words(str(error))}",
            file=path,
            line=int(at[1]) if at else source.text.count("\n") + 1,
            remedy="Check quotes, brackets and equals signs there.",
        ) from None
    except ValueError:
        raise InputError(
            "a number has too many digits", file=path, remedy="Write ordinary numbers."
        ) from None
    try:
        data, inferred = with_template(data, source.file.parent)
        job = Job.model_validate(data)
    except ValidationError as error:
        raise _explained(error, source) from None
    return job.with_paths(source, inferred)


def job_of(data: Mapping[str, Any]) -> Job:
    """A job from the data of a job file; its paths are taken relative to the working folder."""
    try:
        return Job.model_validate(data)
    except ValidationError as error:
        raise _explained(error, None) from None


def _check_depth(data: Any, source: JobSource) -> None:
    """Raise where keys or lists stand within each other deeper than any job has them."""
    level = [data]
    for _ in range(DEEPEST):
        level = [
            inner
            for part in level
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep(source)


def _too_deep(source: JobSource) -> InputError:
    return InputError(
        f"keys or lists stand more than {DEEPEST} deep within each other",
        file=source.file,
        remedy="Check dots and brackets.",
    )


def _plain_words(message: str) -> str:
    """What the parser says, unless it quotes the file."""
    words = re.sub(r" *[(]at .*", "", message).lower()
    return f" ({words})" if re.fullmatch(r"[a-z ,-]+", words) else ""


DEEPEST = 40
"""How deep keys and lists may stand within each other."""

TYPES: Mapping[str, tuple[str, str]] = {
    "string_type": ("is not a text", 'Put it in quotes: "…".'),
    "int_type": ("is not a whole number", "Write it without quotes and decimals."),
    "float_type": ("is not a number", "Write it without quotes."),
    "finite_number": ("is not a finite number", "Give an ordinary number."),
    "bool_type": ("is neither true nor false", "Write true or false, without quotes."),
    "list_type": ("is not a list", "Write […]."),
    "dict_type": ("is not a set of keys", "Write it as a section, or in braces."),
    "model_type": ("is not a set of keys", "Write it as a section, or in braces."),
    "path_type": ("is not a path", 'Put it in quotes: "…".'),
    "literal_error": ("is none of {expected}", "Write one of these."),
    "greater_than": ("is not above {gt:g}", "Give a larger number."),
    "greater_than_equal": ("is below {ge:g}", "Give a larger number."),
    "less_than_equal": ("is above {le:g}", "Give a smaller number."),
    "too_short": ("has too few entries", "Give at least {min_length}."),
    "too_long": ("has too many entries", "Give at most {max_length}."),
    "string_too_short": ("is too short", "Give at least {min_length} characters."),
    "string_too_long": ("is too long", "Give at most {max_length} characters."),
}
"""For each kind of fault: what is wrong, and the remedy."""

ARRAYS = ("tables", "rules", "cells", "attackers")
"""Sections that are written in double brackets."""


def _explained(error: ValidationError, source: JobSource | None) -> InputError:
    """The first fault in our words; an unknown key comes first, as it often causes the others."""
    faults = error.errors(include_url=False, include_input=False)
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    context: dict[str, Any] = first.get("ctx", {})
    location = (*first["loc"], *context.get("at", ()))
    what, remedy = _words(first["type"], location, context)
    if source is None:
        return InputError(what, remedy=remedy)
    return InputError(what, file=source.file, line=source.line_of(location), remedy=remedy)


def _words(kind: str, location: Sequence[str | int], context: Mapping[str, Any]) -> tuple[str, str]:
    key = ".".join(str(part) for part in location if isinstance(part, str))
    if kind == FAULT:
        return context["what"], context["remedy"]
    if kind == "extra_forbidden":
        return f"unknown key {key!r}", nearest_name(str(location[-1]), _known_keys(location[:-1]))
    if kind == "missing":
        return f"the key {key!r} is missing", f"Add {location[-1]} = …"
    if kind == "list_type" and key in ARRAYS:
        return f"{key} is not a list", f"Write [[{key}]] in double brackets."
    what, remedy = TYPES.get(kind, ("has a wrong value", "Look it up in the docs of job files."))
    return f"{key} {what.format(**context)}", remedy.format(**context)


def _known_keys(location: Sequence[int | str]) -> list[str]:
    """The keys of the part of the job at this location."""
    model: type[BaseModel] = Job
    for part in location:
        if part in model.model_fields:
            model = submodel(model.model_fields[str(part)].annotation) or model
    return list(model.model_fields)


def submodel(annotation: Any) -> type[BaseModel] | None:
    """The model within an annotation, if there is one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := submodel(part))), None)
