"""Texts of the page: every language has the same keys and names to fill in; none is missing, none is idle."""

import re
import tomllib
from importlib.resources import files

import pytest

SERVICE = files("cellveil") / "service"
CALLED = re.compile(r"""\b(?:t|known)\((?:[^"`()]*\?\s*"([^"]+)"\s*:\s*)?("[^"]+"|`[^`]+`)""")
"""The key of a call, and the other one where it depends."""


def texts(language: str) -> dict[str, str]:
    found: dict[str, str] = {}

    def walk(section: dict[str, object], above: str) -> None:
        for key, value in section.items():
            if isinstance(value, dict):
                walk(value, f"{above}{key}.")
            else:
                assert isinstance(value, str) and value.strip() == value and value
                found[f"{above}{key.replace('.', '·')}"] = value

    walk(tomllib.loads((SERVICE / "texts" / f"{language}.toml").read_text("utf-8")), "")
    return found


@pytest.fixture(scope="module")
def english() -> dict[str, str]:
    return texts("en")


def scripts() -> str:
    return "\n".join(
        one.read_text("utf-8") for one in (SERVICE / "page").iterdir() if one.name.endswith(".js")
    )


def names(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w*\}", text))


def test_every_language_has_the_same_keys_and_names(english):
    german = texts("de")
    assert list(german) == list(english)
    assert [key for key in english if names(english[key]) != names(german[key])] == []


def test_every_text_that_the_page_names_is_there_and_none_is_idle(english):
    used: set[str] = set()
    for pair in CALLED.findall(scripts()):
        for called in filter(None, (one.strip('"`') for one in pair)):
            key = re.sub(r"\\\$\\\{.*?\\\}", "[^.]+", re.escape(called))
            whole = r"\.[^.]+" if "." not in called or called == "errors.kinds" else r"(\.one|\.many)?"
            found = [one for one in english if re.fullmatch(key + whole, one)]
            assert found or called == "datasets", called
            used |= {*found}
    assert sorted(set(english) - used - {"language.name"}) == []
