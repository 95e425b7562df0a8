"""Templates of the pages on published and hidden cells."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment(*further: str) -> Environment:
    """The templates of this package and of `further` ones; everything put into them is escaped.

    One per process: each template is compiled once.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loaders = [PackageLoader(package) for package in ("cellveil.publishing", *further)]
    return Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template_text(package: str, name: str, folder: str = "templates") -> str:
    """A file of a package as it is."""
    return (files(package) / folder / name).read_text("utf-8")
