"""Where a job may write: nothing internal goes into a folder that is published, by whatever way."""

from __future__ import annotations

from pathlib import Path

import pytest

import cellveil as cv
from cellveil.errors import InputError
from helpers.command import Command

FIRMS = [("N", "a", 90), ("N", "a", 3), ("N", "b", 20), ("S", "a", 40), ("S", "b", 50), ("S", "b", 45)]
PUBLISHED = ["{}", '{region = "S"}']


def job_file(folder: Path, name: str = "job", output: str = "out", firms: object = FIRMS) -> Path:
    lines = [f"f{k},{region},{branch},{amount}" for k, (region, branch, amount) in enumerate(firms)]  # type: ignore[arg-type, var-annotated]
    (folder / f"{name}.csv").write_text("\n".join(["firm,region,branch,sales", *lines]) + "\n")
    path = folder / f"{name}.toml"
    path.write_text(
        f'output = "{output}"\nattackers = []\n[microdata]\nfile = "{name}.csv"\ncontributor = "firm"\n'
        '[[tables]]\ndimensions = ["region", "branch"]\nresponse = "sales"\n'
        '[[rules]]\nrule = "p%"\np = 10\n'
    )
    return path


def everything(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A folder with a job that has run; its release is in out/public."""
    result = cv.run_job(job_file(tmp_path))
    assert result.release is not None, "the test needs a release"
    return tmp_path


INSIDE = ["out/public", "out/public/sub/deeper", "out/internal", "out/internal/sub", "out/releases/x"]


@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("way", ["option", "key", "check"])
def test_an_output_folder_within_another_is_refused(
    released: Path, command: Command, inside: str, way: str
) -> None:
    before = everything(released / "out")
    if way == "option":
        ended = command("run", str(released / "job.toml"), "--out", str(released / inside))
    else:
        other = job_file(released, "other", output=inside)
        ended = command("run" if way == "key" else "check", str(other))
    assert ended.code == 2
    assert "Each job needs an output folder of its own" in ended.err
    assert everything(released / "out") == before


def test_within_its_own_public_folder_before_the_first_run(tmp_path: Path, command: Command) -> None:
    ended = command("run", str(job_file(tmp_path)), "--out", str(tmp_path / "out/public"))
    assert ended.code == 2
    assert not (tmp_path / "out").exists()


def test_its_own_output_folder_may_be_named(tmp_path: Path, command: Command) -> None:
    assert command("run", str(job_file(tmp_path)), "--out", str(tmp_path / "out")).code == 0


@pytest.mark.parametrize("link", ["whole", "public", "internal", "releases"])
def test_links_into_a_public_folder_are_followed(released: Path, link: str) -> None:
    target, other = released / "out/public", released / "other"
    if link == "whole":
        other.symlink_to(target)
    else:
        other.mkdir()
        (other / link).symlink_to(target)
    before = everything(released / "out")
    with pytest.raises(InputError, match=r"published|of its own"):
        cv.run_job(job_file(released, "second", output="other"))
    assert everything(released / "out") == before


@pytest.mark.parametrize(
    ("link", "target"), [("public", "internal"), ("internal", "public/sub"), ("public", ".")]
)
def test_links_that_lead_from_one_of_its_folders_into_the_other(
    tmp_path: Path, link: str, target: str
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / target).mkdir(parents=True, exist_ok=True)
    (tmp_path / "out" / link).symlink_to(target)
    with pytest.raises(InputError, match="a link that leads into the other"):
        cv.run_job(job_file(tmp_path))


def test_a_withdrawn_release_leaves_its_public_folder_public(released: Path) -> None:
    with (released / "job.toml").open("a") as file:
        file.write("".join(f'[[cells]]\nkey = {key}\nstatus = "z"\n' for key in PUBLISHED))
    with pytest.raises(cv.InfeasibleError):
        cv.run_job(released / "job.toml")
    assert not (released / "out/public").exists()
    with pytest.raises(InputError, match="of its own"):
        cv.run_job(job_file(released, "other", output="out/public"))


def test_a_release_around_the_internal_files_of_another_job_is_refused(tmp_path: Path) -> None:
    assert cv.run_job(job_file(tmp_path, "inner", output="out/public/sub")).is_safe
    before = everything(tmp_path / "out")
    with pytest.raises(InputError, match="internal files of a job lie in"):
        cv.run_job(job_file(tmp_path))
    assert everything(tmp_path / "out") == before


def test_a_release_by_hand_around_internal_files_is_refused(released: Path) -> None:
    safe = cv.protect(
        {"region": ["N", "S", "W"], "sales": [3, 4, 5]}, ["region"], "sales", rules=["threshold:1"]
    )
    with pytest.raises(InputError, match="internal files of a job lie in"):
        safe.release(released / "out")


INSTANCE = "out/internal/instance"
WRITERS = {
    "suppress": ["suppress", INSTANCE, "--out", "out/public/p.csv"],
    "suppress, deeper": ["suppress", INSTANCE, "--out", "out/public/x/p.csv"],
    "certificate": ["suppress", INSTANCE, "--out", "p.csv", "--certificate", "out/public/c"],
    "report": ["suppress", INSTANCE, "--out", "p.csv", "--report", "out/public/r.json"],
    "relaxed": ["suppress", INSTANCE, "--out", "p.csv", "--relax", "--relaxed", "out/public/relaxed"],
    "audit": ["audit", INSTANCE, "out/internal/pattern.csv", "--report", "out/public/r.json"],
    "adjust": ["adjust", INSTANCE, "--out", "out/public/adjusted.csv"],
    "compare": ["compare", "job.toml", "--methods", "auto", "--out", "out/public/c.html"],
    "init": ["init", "job.csv", "--out", "out/public/new.toml"],
    "demo": ["demo", "--firms", "100", "--out", "out/public/demo"],
    "overview": ["run", "job.toml", "--overview", "out/public"],
    "service": ["serve", "--port", "0", "--state", "out/public/state"],
    "kept": ["suppress", INSTANCE, "--out", "KEPT/p.csv"],
}


@pytest.mark.parametrize("writer", WRITERS)
def test_no_command_writes_into_a_public_folder(
    released: Path, command: Command, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    monkeypatch.chdir(released)
    kept = next((released / "out/releases").iterdir())
    before = everything(released)
    ended = command(*(part.replace("KEPT", str(kept)) for part in WRITERS[writer]))
    assert ended.code == 2, ended
    assert "published" in ended.err or "of its own" in ended.err
    assert everything(released) == before


def test_writers_of_the_library_refuse_it_too(released: Path) -> None:
    problem = cv.read_instance(released / INSTANCE)
    with pytest.raises(InputError, match="is published"):
        cv.write_instance(problem, released / "out/public/instance")
    with pytest.raises(InputError, match="is published"):
        cv.write_certificate(cv.suppress(problem).audit.certificate, released / "out/public/certificate")


def test_a_linked_public_folder_keeps_its_releases_in_the_output_folder(tmp_path: Path) -> None:
    site = tmp_path / "www" / "site"
    site.mkdir(parents=True)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/public").symlink_to(site)
    result = cv.run_job(job_file(tmp_path))
    assert result.release is not None
    assert (site / "about.json").is_file()
    assert len(list((tmp_path / "out/releases").iterdir())) == 1
    assert [path.name for path in site.parent.iterdir() if not path.name.startswith(".")] == ["site"]
