"""Global recoding as a job asks for it: of a dimension in all tables, or of a hierarchy in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cellveil.errors import InputError
from cellveil.job.data_sections import TableJob
from cellveil.job.job_model import Job
from cellveil.tables.coarser import fold, fold_to_level, join
from cellveil.tables.dimension import Dimension

if TYPE_CHECKING:
    from cellveil.argus.recoding import JoinedCodes, Recoding


def recoded(job: Job, dimension: Dimension) -> Dimension:
    """The dimension as all tables have it."""
    settings = job.dimensions.get(dimension.name)
    if settings is None or not settings.recodings:
        return dimension
    with job.placing_errors("dimensions", dimension.name, settings.recodings[0]):
        if settings.to_level is not None:
            return fold_to_level(dimension, settings.to_level)
        if settings.fold:
            return fold(dimension, settings.fold)
        if settings.recode is None:
            return _joined(dimension, [_read(code, parts) for code, parts in settings.join.items()])
        from cellveil.argus.recoding import read_recoding

        recoding = read_recoding(settings.recode)
        _check_plain(recoding)
        try:
            if recoding.is_tree:
                return fold(dimension, [code.strip() for code in recoding.folded])
            return _joined(dimension, recoding.joined)
        except InputError as error:
            raise error.located(file=recoding.file) from None


def recoded_in(table: TableJob, dimension: Dimension) -> Dimension:
    """The dimension as one table has it, folded; its codes stay those of the other tables."""
    if dimension.name in table.to_level:
        return fold_to_level(dimension, table.to_level[dimension.name])
    if dimension.name in table.fold:
        return fold(dimension, table.fold[dimension.name])
    return dimension


def _read(code: str, parts: str) -> JoinedCodes:
    from cellveil.argus.lexer import quoted
    from cellveil.argus.recoding import joined_codes

    return joined_codes(f"{quoted(code)} : {parts}")


def _check_plain(recoding: Recoding) -> None:
    for key, given in (("<MISSING>", recoding.missing), ("<CODELIST>", recoding.code_list)):
        if given:
            raise InputError(
                f"{key} of a recoding has no meaning in a job",
                file=recoding.file,
                remedy="Leave it out; labels of codes stand in the file that labels names.",
            )


def _joined(dimension: Dimension, joined: Sequence[JoinedCodes]) -> Dimension:
    """Join codes by ranges, which go by the order of the texts, right-aligned."""
    from cellveil.argus.metadata import ArgusVariable
    from cellveil.argus.recoding import holds_code

    variable = ArgusVariable("codes", length=max(map(len, dimension.codes)))
    new: dict[str, str] = {}
    for code in dimension.codes[1:]:
        found = [one.code for one in joined if holds_code(one, variable.padded(code), variable)]
        if len(found) > 1:
            raise InputError(
                f"the code {code!r} of {dimension.name!r} would become {found[0]!r} and {found[1]!r}",
                remedy="Let each code become one code.",
            )
        if found:
            new[code] = found[0]
    lost = [one.code for one in joined if one.code not in new.values()]
    if lost:
        raise InputError(
            f"no code of {dimension.name!r} becomes {lost[0]!r}",
            remedy="Correct the old codes behind it, or remove it.",
        )
    return join(dimension, new)
