"""Spark as the engine that tabulates microdata: a session here or on a cluster, in ANSI mode.

Every temporary table is a checkpoint on the executors: an executor that is lost ends the run with an error.
In ANSI mode a sum that is too large is an error, never another number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cellveil.errors import CellveilError, InputError, MissingExtraError
from cellveil.microdata.connection_engine import address_in
from cellveil.microdata.engine_choice import EngineChoice
from cellveil.microdata.engine_sql import Translator
from cellveil.microdata.file_kinds import FileKind, kind_of
from cellveil.microdata.foreign_engine import ForeignEngine, checked_query
from cellveil.microdata.source_options import SourceOptions
from cellveil.microdata.source_records import SOURCE
from cellveil.microdata.sources import read_header

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
}
"""What tabulation asks of a session while it runs; checkpoints cannot carry all constraints of a plan."""

TOO_LARGE = (
    "ARITHMETIC_OVERFLOW",
    "CAST_OVERFLOW",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "BINARY_ARITHMETIC_OVERFLOW",
)


class SparkEngine(ForeignEngine):
    """Runs the statements in a session; its temporary views have names of their own and are dropped."""

    def __init__(self, session: SparkSession, translator: Translator, prefix: str) -> None:
        super().__init__(translator)
        self._session, self._prefix = session, prefix

    def make(self, name: str, select: str, *, cheap: bool = False) -> None:
        """Run a query into a checkpoint; one that is `cheap` stays a view."""
        found = self._sql(self._translate(select))
        self._view(name, found if cheap else self._checkpoint(found))

    def drop(self, name: str) -> None:
        """Drop a temporary view."""
        self._session.catalog.dropTempView(self._prefix + name)
        self._made.remove(name)

    def load(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None:
        """A small temporary table of codes (texts) or numbers."""
        import pyarrow as pa

        kinds = {column: pa.string() if column == "code" else pa.int32() for column in columns}
        arrays = {column: pa.array(fields, kinds[column]) for column, fields in columns.items()}
        self._view(name, self._session.createDataFrame(pa.table(arrays)))

    def attach(self, frame: DataFrame) -> None:
        """The frame as the source."""
        self._view(SOURCE, frame)

    def types(self) -> Mapping[str, str]:
        """Names of all columns of the source, and their types."""
        return dict(self._session.table(self._prefix + SOURCE).dtypes)

    def close(self) -> None:
        """Drop the views that are left."""
        for name in list(self._made):
            self.drop(name)

    def _view(self, name: str, frame: DataFrame) -> None:
        self._translate.name(name)
        frame.createOrReplaceTempView(self._prefix + name)
        self._made.append(name)

    def _sql(self, query: str) -> DataFrame:
        with mapped_spark_errors():
            return self._session.sql(query)

    def _checkpoint(self, frame: DataFrame) -> DataFrame:
        with mapped_spark_errors():
            return frame.localCheckpoint(eager=True)

    def _run(self, statement: str) -> None:
        self._sql(statement)

    def _fetched(self, query: str) -> Any:
        with mapped_spark_errors():
            return self._sql(query).toArrow().to_reader()


@contextmanager
def mapped_spark_errors() -> Iterator[None]:
    """Turn what Spark raises into input errors; its text, which may quote records, is left out."""
    try:
        yield
    except CellveilError:
        raise
    except Exception as error:  # of Spark, Py4J or the network
        text = str(error)
        condition = getattr(error, "getCondition", lambda: None)() or type(error).__name__
        if any(name in text for name in TOO_LARGE):
            raise InputError(
                "a sum is too large", remedy="Use a larger unit (thousands, millions)."
            ) from None
        raise InputError(
            f"Spark could not run a statement of tabulation ({condition})",
            remedy="Check that the session runs, and that the files or tables can be read by it.",
        ) from None


@contextmanager
def opened_spark(
    choice: EngineChoice, source: Any, options: SourceOptions, prefix: str
) -> Iterator[SparkEngine]:
    """An engine in the session of a frame or choice, or in the one that the environment configures."""
    session = getattr(source, "sparkSession", None) or choice.connection or _session(choice.address)
    before: dict[str, str | None] = {name: session.conf.get(name, None) for name in SETTINGS}
    translator = Translator("spark", "", prefix)
    translator = Translator("spark", translator.quoted(prefix + SOURCE), prefix)
    engine = SparkEngine(session, translator, prefix)
    try:
        for name, value in SETTINGS.items():
            session.conf.set(name, value)
        with mapped_spark_errors():
            engine.attach(_frame(session, source, options))
        yield engine
    finally:
        engine.close()
        for name, former in before.items():
            if former is not None:
                session.conf.set(name, former)


def _session(address: str | None) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "Spark") from None
    with mapped_spark_errors():
        builder = SparkSession.builder.appName("cellveil")
        where = address_in(address, "")
        if where.startswith("sc://"):
            builder = builder.remote(where)
        elif where:
            builder = builder.master(where)
        return builder.getOrCreate()


def _frame(session: SparkSession, source: Any, options: SourceOptions) -> DataFrame:
    """The records: a Spark frame, a query of the catalogue, or files."""
    if options.query is not None:
        if source is not None:
            raise InputError("both files and a query are named", remedy="Leave one of the two out.")
        return session.sql(checked_query(options.query, "spark"))
    if hasattr(source, "createOrReplaceTempView"):
        given: DataFrame = source
        return given
    files = [source] if isinstance(source, (str, Path)) else source
    if (
        not isinstance(files, (list, tuple))
        or not all(isinstance(f, (str, Path)) for f in files)
        or not files
    ):
        raise InputError(
            f"microdata of type {type(source).__name__} cannot be read by Spark",
            remedy="Give Parquet or CSV files, a Spark frame, or query=.",
        )
    kinds = {kind_of(Path(file)) for file in files}
    if kinds == {FileKind.PARQUET}:
        return session.read.parquet(*map(str, files))
    if kinds != {FileKind.CSV} or options.skip:
        raise InputError(
            "Spark reads files of one kind, Parquet or CSV, with the header in the first line",
            remedy="Save them so, or use DuckDB.",
        )
    return _csv(session, [str(file) for file in files], options)


def _csv(session: SparkSession, files: list[str], options: SourceOptions) -> DataFrame:
    """All columns as texts, as everywhere."""
    delimiter = options.delimiter
    if delimiter is None:
        delimiter = read_header(Path(files[0]), options)[1] if Path(files[0]).is_file() else ","
    frame = session.read.csv(
        files,
        sep=delimiter,
        encoding="utf-8" if options.is_utf8 else options.encoding,
        header=True,
        inferSchema=False,
        enforceSchema=False,
        quote='"',
        escape='"',
        multiLine=True,
        mode="FAILFAST",
    )
    return frame.toDF(*(name.strip() for name in frame.columns))
