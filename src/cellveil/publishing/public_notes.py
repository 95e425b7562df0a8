"""Notes to public tables in words: what the signs mean, how to read the figures, and their quality."""

from __future__ import annotations

from collections.abc import Iterator

from cellveil.publishing.publication import Publication


def signs(table: Publication) -> Iterator[str]:
    """The signs of a table and their meaning."""
    words = table.words
    if table.num_hidden:
        yield f"{table.symbol or words('table.empty')}   {words('table.not_published')}"
    if not table.absent_text:
        yield f"{words('table.empty')}   {words('table.not_tabulated')}"


def reading(publication: Publication) -> Iterator[str]:
    """Why figures are missing or changed, and what that means for a reader."""
    if publication.is_adjusted:
        yield publication.words("reading.adjusted")
    else:
        yield publication.words("reading.hidden")
        yield publication.words("reading.mark_not_zero" if publication.hides_no_zero else "reading.mark")


def quality(publication: Publication) -> Iterator[str]:
    """How many figures are published, and whether they are as compiled."""
    words, number = publication.words, len(publication.tables)
    is_rounded = any(table.shown_decimals < table.decimals for table in publication.tables)
    rounded = "_rounded" if is_rounded else ""
    rows, hidden = publication.num_rows, publication.num_hidden_rows  # as in the data files
    share = 1000 * hidden / rows if rows else 0.0
    numbers = {
        "cells": words.number(rows),
        "hidden": words.number(hidden),
        "share": words.number(round(share), 1),
    }
    kind, told = ("adjusted", "not_as_compiled") if publication.is_adjusted else ("hidden", "as_compiled")
    yield words.of_number(number, f"quality.{kind}", **numbers)
    yield words(f"quality.{told}{rounded}", decimals=publication.shown_decimals)
