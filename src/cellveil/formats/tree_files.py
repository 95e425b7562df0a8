"""Names of the hierarchy files of a tidy folder: ``hier_<dimension>.csv``, ``hier_<dimension>_<name>.csv``.

A dimension may be called anything, a file may not. Characters other than letters, digits, blanks and ``_-.``
are written as in web addresses (``/`` as ``%2F``), and so are capitals where names differ in nothing else. A
file belongs to the dimension with the longest name that it begins with, as it is written or decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from unicodedata import normalize
from urllib.parse import unquote

from cellveil.errors import InputError
from cellveil.files import folded_name
from cellveil.tables.dimension import Dimension

PREFIX, SUFFIX = "hier_", ".csv"
LONGEST = 240
"""Bytes of a file name; file systems allow 255."""

MAX_TRIES = 100


def tree_files(dimensions: Sequence[Dimension]) -> dict[str, list[str]]:
    """The file names of the trees of each dimension, all different also where case does not count.

    Raises
    ------
    InputError
        When a name is too long, or cannot be told from that of another dimension.
    """
    names = [dimension.name for dimension in dimensions]
    taken: set[str] = set()
    stems = {
        dimension.name: _free(_stems(dimension.name), dimension.name, names, taken)
        for dimension in dimensions
        if dimension.hierarchies
    }
    files = {dimension.name: [*stems.get(dimension.name, [])] for dimension in dimensions}
    for dimension in dimensions:
        if count := len(dimension.hierarchies):
            (stem,) = stems[dimension.name]
            numbers = [f"{number:0{len(str(count))}d}" for number in range(2, count + 1)]
            tries = ([f"{stem}_{'x' * more}{number}" for number in numbers] for more in range(MAX_TRIES))
            files[dimension.name] += _free(tries, dimension.name, names, taken)
    return {name: [f"{PREFIX}{stem}{SUFFIX}" for stem in given] for name, given in files.items()}


def owner_of(file: str, names: Sequence[str]) -> str | None:
    """The dimension that a hierarchy file belongs to, or None.

    Examples
    --------
    >>> owner_of("hier_region_2.csv", ["region", "size"]), owner_of("hier_a%2Fb.csv", ["a", "a/b"])
    ('region', 'a/b')
    """
    stem = stem_of(file)
    forms = {normalize("NFC", form) for form in (stem, unquote(stem))}
    owners = [name for name in names if any(_begins(form, normalize("NFC", name)) for form in forms)]
    return max(owners, key=len) if owners else None


def stem_of(file: str) -> str:
    """What stands for the dimension and the tree in the name of a hierarchy file."""
    return file.removeprefix(PREFIX).removesuffix(SUFFIX)


def _begins(form: str, name: str) -> bool:
    return form == name or form.startswith(f"{name}_")


def _free(tries: Iterable[list[str]], name: str, names: Sequence[str], taken: set[str]) -> list[str]:
    """The first of the lists whose stems are free and are read back as of this dimension."""
    for stems in tries:
        if len(f"{PREFIX}{max(stems, key=len, default='')}{SUFFIX}".encode()) > LONGEST:
            raise InputError(
                "the name of a dimension is too long for a file name",
                remedy=f"Give {name[:40]!r}… a shorter name.",
            )
        folded = [folded_name(stem) for stem in stems]
        if not taken.intersection(folded) and all(owner_of(stem, names) == name for stem in stems):
            taken.update(folded)
            return stems
    raise InputError(
        f"the dimension {name!r} cannot be told from another one in the names of files",
        remedy="Rename one of them.",
    )


def _stems(name: str) -> Iterator[list[str]]:
    """The name as it can stand in the name of a file: as it is if possible, without capitals, all encoded."""
    yield [_encoded(name, lambda character: character.isalnum() or character in "_-. ")]
    yield [
        _encoded(name, lambda character: character in "_-" or (character.islower() and character.isascii()))
    ]
    yield [_encoded(name, lambda character: False)]


def _encoded(name: str, is_kept: Callable[[str], bool]) -> str:
    return "".join(
        character if is_kept(character) else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in name
    )
