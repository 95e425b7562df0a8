"""A submitted job names nothing but its own files: every key that is a path, every way to write one."""

from pathlib import Path

import pytest

from cellveil.errors import InputError
from cellveil.job import read_job
from cellveil.job.job_model import Job
from cellveil.service.desk import checked_options
from cellveil.service.paths_in_jobs import (
    check_paths,
    check_resolved,
    free_options,
    named_paths,
    parsed,
    path_fields,
    section_of,
)
from cellveil.service.questions import JobAsked, VerbOptions
from helpers.service import FIRMS, JOB

GIVEN = ("data/firms.csv", "data/tree.csv", "inst/cells.csv")

PATHS = {
    *(("output",), ("instance",), ("labels",), ("template",), ("microdata", "file"), ("previous", "file")),
    *(("dimensions", "hierarchy"), ("dimensions", "recode"), ("tables", "file"), ("tables", "structure")),
    ("against", "releases"),
}
"""All keys of a job that are paths. Whoever adds one: see that the service checks it, and add it here."""

WRITTEN = {
    ("output",): "output = {0}",
    ("instance",): "instance = {0}",
    ("labels",): "labels = {0}",
    ("template",): "template = {0}",
    ("microdata", "file"): "[microdata]\nfile = {0}",
    ("dimensions", "hierarchy"): "[dimensions.region]\nhierarchy = [{0}]",
    ("dimensions", "recode"): "[dimensions.file]\nrecode = {0}",
    ("tables", "file"): "[[tables]]\ndimensions = ['a']\n[[tables]]\nfile = {0}",
    ("tables", "structure"): "[[tables]]\nstructure = {0}",
    ("previous", "file"): "previous = {{file = {0}}}",
    ("against", "releases"): "against = {{releases = [{0}]}}",
}
SHORT = (
    *("previous = {0}", "against = {0}", "against = [{0}]", "[dimensions.region]\nhierarchy = {0}"),
    *("[microdata]\nfile = [{0}]", "dimensions.a.hierarchy = {0}", "tables = [{{file = {0}}}]"),
)

ELSEWHERE = (
    *(
        "/etc/passwd",
        "../x.csv",
        "data/../../x.csv",
        "~/x.csv",
        "data/other.csv",
        "",
        ".",
        "./",
        "..",
        "C:/x.csv",
    ),
    *("data/*/../../../x", "/data/*.csv", "*/etc/*", "[.][.]/x.csv", "\\\\server\\x", "file:///etc/passwd"),
    *(
        "https://example.org/x.csv",
        "s3://bucket/x.csv",
        "data",
        "dat",
        "data/firms.csv/x",
        "job.toml",
        "**/*",
    ),
)
FOLDERS = ("data", ".", "./", "dat")


def test_the_keys_that_are_paths_are_these() -> None:
    assert set(path_fields(Job)) == PATHS == set(WRITTEN)


def test_no_other_key_speaks_of_files() -> None:
    """A text that names a file would not be found by its type; its help would say so."""
    names = ("file", "files", "path", "folder", "url", "source")
    suspects = []

    def look(model: type, place: tuple[str, ...]) -> None:
        for name, field in model.model_fields.items():  # type: ignore[attr-defined]
            here = (*place, name)
            below = section_of(field.annotation)
            if below is not None:
                look(below, here)
            elif here not in PATHS and (name in names or "folder" in (field.description or "").lower()):
                suspects.append(here)

    look(Job, ())
    assert suspects == [("release", "source")]  # a public text: where the figures come from


@pytest.mark.parametrize("form", [*WRITTEN.values(), *SHORT])
@pytest.mark.parametrize("path", ELSEWHERE)
def test_paths_that_lead_elsewhere_are_refused(form: str, path: str) -> None:
    if form.startswith("output") and path in (*FOLDERS, "data/other.csv", "data/firms.csv/x"):
        return  # a folder within the job, where somebody runs it; the service has its own
    if path == "data" or (path == "**/*" and "microdata" in form):
        return  # the folder of the job's own files
    toml = form.format(f"'{path}'")
    with pytest.raises(InputError):
        check_paths(toml, GIVEN)


@pytest.mark.parametrize("form", [*WRITTEN.values(), *SHORT])
@pytest.mark.parametrize("path", ["data/firms.csv", "./data/tree.csv", "inst", "inst/"])
def test_files_of_the_job_are_accepted(form: str, path: str) -> None:
    check_paths(form.format(f"'{path}'"), GIVEN)


@pytest.mark.parametrize(
    "said",
    [
        "engine = 'postgres'\ntable = 'secrets'",
        "engine = 'spark'\nquery = 'SELECT 1'",
        "engine = 'spark'\nfile = 'data/firms.csv'",
        "file = 'data/firms.csv'\nconnection = 'HOME'",
    ],
)
def test_jobs_reach_no_engine_with_the_rights_of_the_server(said: str) -> None:
    with pytest.raises(InputError, match="reads files that were uploaded"):
        check_paths(f"[microdata]\n{said}", GIVEN)


def test_patterns_of_own_files_are_accepted() -> None:
    check_paths("[microdata]\nfile = 'data/f*.csv'", GIVEN)
    with pytest.raises(InputError, match="not among the files"):
        check_paths("[microdata]\nfile = 'data/x*.csv'", GIVEN)


@pytest.mark.parametrize(
    "toml", ["a = [", "[" * 5000, "x = " + "{a=" * 3000, "a = 1" + "0" * 5000, "\x00", "a.b=1\na=2"]
)
def test_what_is_no_job_file_is_refused(toml: str) -> None:
    with pytest.raises(InputError):
        parsed(toml)


def test_odd_kinds_in_place_of_sections_are_no_way_around() -> None:
    for toml in (
        *("microdata = [{file = '/etc/passwd'}]", "tables = {a = {file = '/etc/passwd'}}"),
        *("dimensions = [{hierarchy = '/etc/passwd'}]", "previous = [['/etc/passwd']]"),
        *("[microdata]\nfile = {a = ['/etc/passwd']}", "[microdata.x]\nfile = '/etc/passwd'"),
    ):
        assert "/etc/passwd" in [path for _, path in named_paths(Job, parsed(toml))], toml


def test_options_of_methods_name_no_files() -> None:
    assert {"checkpoint", "plot"} <= free_options()
    for name in free_options():
        for written in (name, f'"some.part.{name}"'):
            for section in ("suppress", "adjust"):
                with pytest.raises(InputError, match="names a file"):
                    check_paths(f"[{section}]\nmethod = 'genetic'\noptions = {{{written} = 'x'}}", GIVEN)
    check_paths("[suppress]\noptions = {mutation = 'adaptive', pool = 3}", GIVEN)
    asked = JobAsked(verb="suppress", options=VerbOptions(instance="x", options={"plot": "x.svg"}))
    with pytest.raises(InputError, match="names a file"):
        checked_options(asked)


def test_a_job_that_was_read_stays_within_its_folder(tmp_path: Path) -> None:
    inside = tmp_path / "input"
    (inside / "data").mkdir(parents=True)
    (inside / "data/firms.csv").write_text(FIRMS)
    (inside / "job.toml").write_text(JOB)
    check_resolved(read_job(inside / "job.toml"), inside)
    (tmp_path / "secret.csv").write_text(FIRMS)
    (inside / "data/firms.csv").unlink()
    (inside / "data/firms.csv").symlink_to(tmp_path / "secret.csv")
    with pytest.raises(InputError, match="leads out"):
        check_resolved(read_job(inside / "job.toml"), inside)
    (inside / "job.toml").write_text(JOB + "\n[dimensions.region]\nhierarchy = '../secret.csv'\n")
    with pytest.raises(InputError, match="leads out"):
        check_resolved(read_job(inside / "job.toml"), inside)
