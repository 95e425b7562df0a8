"""macOS, played: accents in another form, the exchange of names that it has, processes that are spawned."""

from __future__ import annotations

import ctypes
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unicodedata import normalize

import pytest

from cellveil.formats.tree_files import owner_of
from cellveil.microdata.data_files import expand_files
from cellveil.publishing import swap as swap_module
from cellveil.publishing.staging import new_run, staged
from helpers.other_systems import second_name
from helpers.planted_table import planted

NFC, NFD = (normalize(form, "Größe-é.csv") for form in ("NFC", "NFD"))


def test_a_release_whose_accents_come_back_decomposed_is_replaced(tmp_path: Path) -> None:
    assert NFC != NFD
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / NFD).write_text("old")
    second_name(folder / NFD, NFC)
    with staged(folder, new_run()) as staging:
        staging.new.mkdir()
        (staging.new / NFD).write_text("new")
        staging.complete([NFC])
        staging.exchange()
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(NFD, "new")]


def test_hierarchies_belong_to_their_dimension_in_either_form() -> None:
    for form in ("NFC", "NFD"):
        names = [normalize("NFC", "größe"), "size"]
        assert owner_of(normalize(form, "hier_größe_2.csv"), names) == names[0]


def test_patterns_find_decomposed_names(tmp_path: Path) -> None:
    (tmp_path / NFD).write_text("a,b\n1,2\n")
    assert [path.name for path in expand_files([tmp_path / "*.csv"])] == [NFD]


@pytest.mark.parametrize("answer", ["done", "unsupported", "not there"])
def test_names_are_exchanged_by_macos_or_in_steps(
    answer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real exchange of the system at hand stands in for that of macOS."""
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    asked = []

    def renamex_np(first: bytes, second: bytes, flags: int) -> int:
        asked.append(flags)
        if answer == "done":
            Path(first.decode()).rename(tmp_path / "aside")
            Path(second.decode()).rename(first.decode())
            (tmp_path / "aside").rename(second.decode())
            return 0
        ctypes.set_errno(swap_module.UNSUPPORTED[2])
        return -1

    library = SimpleNamespace() if answer == "not there" else SimpleNamespace(renamex_np=renamex_np)

    def opened(name: Any, use_errno: bool) -> Any:
        return library

    monkeypatch.setattr(swap_module, "sys", SimpleNamespace(platform="darwin"))
    monkeypatch.setattr(swap_module.ctypes, "CDLL", opened)
    swap_module.swap(one, other, tmp_path / "aside")
    assert asked == ([] if answer == "not there" else [swap_module.RENAME_EXCHANGE])
    assert ((one / "file").read_text(), (other / "file").read_text()) == ("other", "one")


def test_what_workers_are_given_can_be_handed_to_a_spawned_process() -> None:
    """Where processes are not forked, they get problem and view as bytes."""
    from cellveil.public_view import PublicView

    problem, pattern = planted()
    for thing in (problem, pattern, PublicView.of(problem, pattern)):
        again = pickle.loads(pickle.dumps(thing))
        assert type(again) is type(thing)
    assert pickle.loads(pickle.dumps(pattern)).hidden.tolist() == pattern.hidden.tolist()
