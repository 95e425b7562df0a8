"""Paths in the job files of users: each must be a file that was uploaded for the job and its tables.

A job file names files: microdata, tables, hierarchies, labels, former patterns and releases. On the command
line they are the user's own; here they would be files of the server. So every key of the job model that is a
path is looked at before the job is accepted (`check_paths`), and all of them again when it has been read
(`check_resolved`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from cellveil.errors import InputError, nearest_name
from cellveil.service.job_folders import checked_name

OUTPUT = ("output",)
"""The one path that is not read: the service has an output folder of its own for each job."""

PATTERNS = ("microdata", "file")
"""The one key that takes patterns of names."""

MAGIC = "*?["


def check_paths(toml: str, names: Collection[str]) -> None:
    """Raise where a job file names anything but the files that go with it.

    Parameters
    ----------
    names
        The files of the job by their names in it.
    """
    from cellveil.job.job_model import Job

    data = parsed(toml)
    check_engine(data.get("microdata"))
    for section in ("suppress", "adjust"):
        given = data.get(section)
        check_options(given.get("options") if isinstance(given, dict) else None)
    for place, path in named_paths(Job, data):
        if place == OUTPUT:
            _check_output(path)
        elif not _is_given(path, names) and not (place[:2] == PATTERNS and _stands_for_some(path, names)):
            raise InputError(
                f"{'.'.join(map(str, place))} names {path[:100]!r}, which is not among the files of the job",
                remedy=f"Upload the file, and name it in files. {nearest_name(path, list(names))}".strip()
                if names
                else "Upload the file, and name it in files.",
            )


def check_engine(microdata: Any) -> None:
    """Raise where records are not files of the job: an engine reaches them with the rights of the server."""
    if not isinstance(microdata, Mapping):
        return
    odd = [key for key in ("connection", "table") if microdata.get(key) is not None]
    if odd or microdata.get("engine", "duckdb") != "duckdb":
        raise InputError(
            f"microdata.{odd[0] if odd else 'engine'}: a job of the service reads files that were uploaded",
            remedy="Leave it out, and upload the records; or run the job by `cellveil run`.",
        )


def check_options(options: Any) -> None:
    """Raise where an option of a method is a text of its own, which may name a file to be written or read."""
    if not isinstance(options, Mapping) or not any(isinstance(value, str) for value in options.values()):
        return
    free = free_options()
    for name, value in options.items():
        if isinstance(value, str) and str(name).rpartition(".")[2] in free:
            raise InputError(
                f"the option {str(name)[:60]!r} names a file, which a job of the service may not",
                remedy="Leave it out.",
            )


def free_options() -> set[str]:
    """Options of methods, of adjustment and of any run that take any text: names of files, that is."""
    from cellveil.adjustment.adjust_params import AdjustParams
    from cellveil.suppression.methods import METHODS
    from cellveil.suppression.suppressing import RunParams

    known = [*(entry.options for entry in METHODS.values()), AdjustParams.described(), RunParams.described()]
    return {
        name.rpartition(".")[2]
        for options in known
        for name, option in options.items()
        if isinstance(option.default, str) and not option.choices
    }


def check_resolved(job: BaseModel, folder: Path) -> None:
    """Raise where a path of a job that was read leads out of its folder, links followed."""
    root = folder.resolve()
    check_engine(vars(job).get("microdata") and vars(vars(job)["microdata"]))
    for place, path in _paths_of(type(job), {key: getattr(job, key) for key in type(job).model_fields}):
        found = Path(path).resolve()
        if place != OUTPUT and found != root and root not in found.parents:
            raise InputError(
                f"{'.'.join(map(str, place))} leads out of the folder of the job",
                remedy="Name files that were uploaded with it.",
            )


def parsed(toml: str) -> dict[str, Any]:
    """A job file as data.

    Raises
    ------
    InputError
        Where it is not TOML.
    """
    try:
        return tomllib.loads(toml)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        raise InputError(
            "the job file is not valid TOML", remedy="Check quotes, brackets and equals signs."
        ) from None


def named_paths(
    model: type[BaseModel], data: Mapping[str, Any]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every path in the data of a job file, with the key where it stands.

    Where a set of keys is expected and a text stands, the text counts as a path: some sections have such a
    short form.
    """
    yield from _paths_of(model, data)


def path_fields(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """The keys of a model that are paths, those of its sections too."""
    for name, field in model.model_fields.items():
        below = section_of(field.annotation)
        if names_files(field.annotation, field.metadata):
            yield (name,)
        elif below is not None:
            yield from ((name, *key) for key in path_fields(below))


def names_files(annotation: Any, metadata: Collection[Any] = ()) -> bool:
    """Whether a type is a path, or texts that stand for files."""
    from cellveil.job.sections import NAMES_FILES

    parts = get_args(annotation)
    return (
        annotation is Path or NAMES_FILES in metadata or NAMES_FILES in parts or any(map(names_files, parts))
    )


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The section within a type, if there is one."""
    if get_origin(annotation) is None and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := section_of(part))), None)


def _paths_of(model: type[BaseModel], data: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for name, field in model.model_fields.items():
        if data.get(name) is None:
            continue
        below = section_of(field.annotation)
        if names_files(field.annotation, field.metadata):
            yield from _texts(data[name], (name,))
        elif below is not None:
            yield from _within(below, data[name], (name,))


def _within(
    model: type[BaseModel], given: Any, place: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """The paths in a section, in a list of sections, or in sections by name."""
    if isinstance(given, BaseModel):
        given = {key: getattr(given, key) for key in type(given).model_fields}
    if isinstance(given, str | Path):
        yield place, str(given)
    elif isinstance(given, list):
        for position, part in enumerate(given):
            yield from _within(model, part, (*place, position))
    elif isinstance(given, Mapping):
        yield from ((place + inner, path) for inner, path in _paths_of(model, given))
        if not set(given) & set(model.model_fields):
            for name, part in given.items():
                yield from _within(model, part, (*place, name))
        else:
            for name, part in given.items():
                if name not in model.model_fields and isinstance(part, Mapping | BaseModel):
                    yield from _within(model, part, (*place, name))


def _texts(given: Any, place: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(given, list | tuple):
        for position, part in enumerate(given):
            yield from _texts(part, (*place, position))
    elif isinstance(given, Mapping):
        for key, part in given.items():
            yield from _texts(part, (*place, key))
    else:
        yield place, str(given)


def _is_given(path: str, names: Collection[str]) -> bool:
    """Whether a path is a file of the job, or a folder of such files."""
    plain = path.removeprefix("./").rstrip("/")
    return bool(plain) and any(name == plain or name.startswith(f"{plain}/") for name in names)


def _stands_for_some(path: str, names: Collection[str]) -> bool:
    """Whether a path is a pattern that files of the job match; it leads nowhere else."""
    plain = path.removeprefix("./")
    is_pattern = (
        any(mark in plain for mark in MAGIC) and ".." not in plain and not plain.startswith(("/", "~", "\\"))
    )
    return is_pattern and any(fnmatchcase(name, plain) for name in names)


def _check_output(path: str) -> None:
    """The output folder counts when a person runs the job; it must be one within the job's folder."""
    try:
        checked_name(path.removeprefix("./").rstrip("/") if path not in (".", "./") else "results")
    except InputError:
        raise InputError(
            "output is not a folder within that of the job",
            remedy='The service keeps the output itself: leave it out, or write output = "results".',
        ) from None
