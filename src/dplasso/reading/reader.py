"""`read_rows` reads a file of any format, also in the way that a model's rows were read."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.silence import without_sizes
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data import ColumnMatrix
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.privacy import leaks
from dplasso.reading.files import Files, PathLike
from dplasso.reading.formats import FORMATS, Format, format_of
from dplasso.reading.formats.table import Table
from dplasso.reading.formats.unreadable import Unreadable
from dplasso.reading.frames import read_frame
from dplasso.reading.options import Buckets, Progress, ReadingOptions
from dplasso.reading.rows import Rows
from dplasso.schema import FeatureSpace, Schema

_Path = PathLike
# Parameters that may be given with ``like``, from which all others are known.
_OWN = frozenset(
    {"labels", "zero_based", "labelled", "longest_line", "progress", "x_bound"}
    | {"delimiter", "encoding", "schema"}  # a new file may be written in another way
)


class UncheckedSchemaWarning(UserWarning):
    """A schema is given for a model whose columns have no names, so nothing can be compared.

    That follows from the model alone, so it reveals nothing about rows.
    """


def read_rows(
    path: Any,
    *,
    like: Any = None,
    schema: Schema | _Path | None = None,
    target: str | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    hashed: Buckets | None = None,
    text: Buckets | None = None,
    ignore: Sequence[str] | None = None,
    missing: Sequence[str] | None = None,
    person: str | None = None,
    buckets: int | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    n_features: int | None = None,
    zero_based: bool | None = None,
    labels: _Path | NDArray[Any] | None = None,
    feature_names: _Path | Sequence[str] | None = None,
    classes: Sequence[str] | None = None,
    n_rows: int | None = None,
    x_bound: float | None = 1.0,
    labelled: bool = True,
    longest_line: int | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Read the rows of a file: svmlight text, a table, a scipy ``.npz``, or a column store.

    Tables are CSV, Parquet, Arrow (Feather) and Excel files. Text may be compressed by gzip, bzip2,
    xz or zstd. The name of the file determines its format. A frame (pandas, polars, pyarrow, or a
    dict of lists) is read like a table. A parameter that the format does not take is rejected. A
    fact that is not declared and has to be read from the rows is reported as a leak.

    Parameters
    ----------
    path : str or path, a sequence of them, or a frame
        The file, or the folder of a column store. Several files, a folder of files, or a pattern
        such as ``parts/*.csv`` are read as one: those of a sequence in its order, those of a folder
        or a pattern in the order of their names. Tables must have the same columns. The result does
        not depend on how rows are split over files. A frame needs ``schema`` or ``like``.
    like : fitted model or Rows, default=None
        Read rows with the same columns as the model's training rows, or as these rows. Only
        ``labels``, ``zero_based``, ``labelled``, ``delimiter``, ``encoding``, ``longest_line`` and
        ``progress`` may be given with it, and ``schema`` for a model that was fitted to the output
        of a `TableEncoder` and knows no schema. Entries are not clipped: the model clips the rows
        it predicts.
    schema : Schema or path, default=None
        Tables: the role of every column, or the file that states them. It takes the place of the
        parameters that follow, up to ``buckets``, and of ``classes``.
    target : str, default=None
        Tables: the column with the labels.
    bounds : dict of str to (float, float), default=None
        Tables: columns of numbers with their public bounds (low, high), to which they are clipped.
    hashed : dict of str to int, or sequence of str, default=None
        Tables: columns of categories, with their numbers of buckets; None is the default number.
    text : dict of str to int, or sequence of str, default=None
        Tables: columns of words, with their numbers of buckets.
    ignore : sequence of str, default=None
        Tables: columns to leave out.
    missing : sequence of str, default=None
        Tables: columns of numbers that get one more feature, which is 1 where the cell is missing.
    person : str, default=None
        Tables: the column that identifies people. It is used to group rows, as ``groups``.
    buckets : int, default=None
        Tables: number of buckets of columns that have none of their own. By default about a
        sixteenth of ``n_rows`` (256 to 65,536), or 4,096.
    delimiter : str, default=None
        Tables: the character between the columns of a CSV file; by default a comma, or a tab for
        ``.tsv``; with ``like`` as there.
    encoding : str, default=None
        Tables: the encoding of a CSV file, such as "latin-1" or "cp1252". By default UTF-8, or what
        the mark at the beginning of the file says. With ``like``, a file that is not UTF-8
        throughout is read in the encoding that was stated there. Use such rows for predictions and
        scores only, because each of them affects how all are read.
    n_features : int, default=None
        svmlight: the number of columns. By default it is read from the data, which is reported.
    zero_based : bool, default=None
        svmlight: whether indices start at 0. By default they start at 1, or as in ``like``.
    labels : path or array, default=None
        ``.npz``: a ``.npy`` file of labels, or the labels.
    feature_names : path or sequence of str, default=None
        svmlight and ``.npz``: names of the columns, or a file with one per line.
    classes : sequence of str, default=None
        Tables: the possible labels. By default they are read from the data, which is reported.
    n_rows : int, default=None
        The declared number of rows, which determines the default of ``buckets``.
    x_bound : float or None, default=1.0
        Column stores: the bound to which entries are clipped; None means no clipping. Estimators
        clip the rows of other formats.
    labelled : bool, default=True
        Whether labels are needed. A table to predict need not have its target.
    longest_line : int, default=None
        The most bytes of a line, of a row of CSV, or of an unpacked Parquet page. Lines up to 64
        MiB (rows of CSV up to 4 MiB) are read by default; a line takes about 8 times its size.
    progress : callable, default=None
        Called with the amount of the file that was read, and the total if that is known.

    Returns
    -------
    Rows
        ``X``, ``y``, and the public facts about them.

    Raises
    ------
    ParameterError
        A parameter is missing, or the format does not take it.
    ValueError
        The file cannot be read. The error names the line or row, but never its values.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dplasso import read_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = Path(folder) / "people.csv"
    ...     _ = table.write_text("age,town,sick\\n60,Ulm,yes\\n30,Graz,no\\n")
    ...     rows = read_rows(table, target="sick", classes=["no", "yes"],
    ...                      bounds={"age": (0, 120)}, hashed={"town": 16})
    ...     new = Path(folder) / "new.csv"
    ...     _ = new.write_text("town,age\\nUlm,50\\n")
    ...     again = read_rows(new, like=rows, labelled=False)
    >>> rows.X.shape, rows.y.tolist(), rows.names[0], again.X.shape
    ((2, 17), ['yes', 'no'], 'age', (1, 17))
    """
    given = {name: value for name, value in locals().items() if name not in ("path", "like")}
    options = ReadingOptions(**given)
    if not isinstance(path, str | os.PathLike | Files | list | tuple):
        asked = options if like is None else like_options(None, options, like)
        return read_frame(path, asked)
    found = Files.of(path)
    check_options(found, _given(options))
    as_found = found.unchanged()
    rows = without_sizes(str(found), lambda: _read(found, options, like))
    as_found.check()
    return rows


def check_options(files: Files, given: Iterable[str]) -> None:
    """Reject parameters that the format of a file does not take, rather than ignore them."""
    kind = format_of(files)
    for name in given:
        takers = [known.name for known in FORMATS if name in known.options]
        if takers and name not in kind.options:
            raise kind.refuse(files, name, takers[-1])


def like_options(path: Files | None, options: ReadingOptions, like: Any) -> ReadingOptions:
    """The options that read files, or a frame, in the way the rows of ``like`` were read."""
    for name in _given(options) - _OWN:
        raise ParameterError(
            "{parameter} is known from {like}; leave it out", parameter=Setting(name)
        )
    recipe, columns = _recipe_of(like)
    schema = Schema.from_dict(recipe) if "target" in recipe else None
    scaled = recipe.get("scaled", False)
    if options.schema is not None:
        schema, scaled = _agreed(options.given_schema(), schema, like, scaled)
    fallback = None
    if schema is not None:
        # A new file may be in another encoding than the training rows: its own bytes tell.
        fallback, schema = schema.encoding, replace(schema, encoding=None)
    kind = Table() if path is None else format_of(path)
    if schema is None and "target" in kind.options:
        raise ParameterError(
            "{path} is {kind}, but the model was not trained from one and keeps no schema; give "
            "{schema} if it was fitted to the output of a TableEncoder, or convert the file as its "
            "training rows were",
            path=path or "it",
            kind=kind.name,
        )
    if schema is not None and not kind.keeps_schema:
        raise _not_of_the_schema(path, kind)
    zero_based = options.zero_based
    if zero_based is None:
        zero_based = recipe.get("zero_based", False)
    return replace(
        options,
        known=schema,
        scaled=scaled,
        fallback_encoding=fallback,
        n_features=columns,
        zero_based=zero_based,
        x_bound=None,
    )


def _read(files: Files, options: ReadingOptions, like: Any) -> Rows:
    if like is None:
        return format_of(files).read(files, options)
    return _read_like(files, options, like)


def _read_like(path: Files, options: ReadingOptions, like: Any) -> Rows:
    asked, kind = like_options(path, options, like), format_of(path)
    found = kind.read(path, asked)
    if asked.known is not None and not _same_features(asked.known, found.schema):
        raise _not_of_the_schema(path, kind)
    if found.X.shape[1] != asked.n_features:
        raise ValueError(
            f"{path} has {found.X.shape[1]} columns, the model {asked.n_features}; give data of "
            "the same form as in training"
        )
    X = found.X.rows() if isinstance(found.X, ColumnMatrix) else found.X
    y = found.y
    if y is not None and hasattr(like, "classes_") and y.dtype.kind == "O":
        y = np.asarray(y, dtype=str)
    return replace(found, X=X, y=y)


def _recipe_of(like: Any) -> tuple[Mapping[str, Any], int]:
    """How the rows of ``like`` (a model or `Rows`) were read, and their number of columns."""
    if isinstance(like, Rows):
        return like.recipe or {}, int(like.X.shape[1])
    if not hasattr(like, "n_features_in_"):
        raise ParameterError(
            "{like} must be a fitted model or Rows, got {kind}; fit it first",
            kind=type(like).__name__,
        )
    return getattr(like, "table_plan_", {}), int(like.n_features_in_)


def _agreed(given: Schema, kept: Schema | None, like: Any, scaled: bool) -> tuple[Schema, bool]:
    """The schema that was given for the rows of a model, and whether its numbers are scaled.

    A model that keeps no schema was fitted to the output of a `TableEncoder`, which scales numbers
    unless it is told not to. Names of its columns tell, if it has them, and whether it is the same
    schema. Otherwise declared bounds do: ranges of scaled numbers are [-1, 1].
    """
    if kept is not None and given.features != kept.features:
        raise ParameterError(
            "{schema} has other features than the model was trained with; leave it out, as the "
            "model keeps its own"
        )
    plain = FeatureSpace(given)
    if plain.size != _recipe_of(like)[1]:
        raise ParameterError(
            "{schema} does not have as many features as the model has columns; give the schema "
            "that the model was trained with"
        )
    if kept is not None:
        return given, scaled
    names = like.names if isinstance(like, Rows) else vars(like).get("feature_names_in_")
    if names is not None:
        return given, _are_scaled(given, list(names))
    leaks.warn_caller(
        Message(
            "whether {schema} is the one that the model was fitted with cannot be checked, because "
            "the model keeps no names of its columns; make sure that it is, with the columns in "
            "the same order, because predictions mean nothing otherwise. A model that is fitted "
            "to rows.described() keeps its schema"
        ),
        UncheckedSchemaWarning,
    )
    return given, not _has_bounds(like, plain.bounds)


def _are_scaled(given: Schema, names: list[str]) -> bool:
    """Whether names are those of scaled features; an error if they are of another schema."""
    for scaled in (True, False):
        if FeatureSpace(given, scaled).names.tolist() == names:
            return scaled
    raise ParameterError(
        "{schema} has other features than the names of the model's columns say, or has them in "
        "another order; give the schema that the model was trained with"
    )


def _has_bounds(model: Any, bounds: SparseBounds) -> bool:
    """Whether these bounds were declared, as a model has them that was fitted or loaded."""
    declared = getattr(model, "x_bound", None)
    if isinstance(declared, SparseBounds):
        return bool(declared == bounds)
    if not isinstance(declared, Sequence | np.ndarray) or isinstance(declared, str):
        return False
    own = [tuple(one) if np.ndim(one) else float(one) for one in declared]
    return own == bounds.with_pairs()


def _same_features(schema: Schema, found: Schema | None) -> bool:
    return found is not None and FeatureSpace(schema).names == FeatureSpace(found).names


def _not_of_the_schema(path: Files | None, kind: Format) -> ValueError:
    if isinstance(kind, Unreadable) and path is not None:
        return kind.refusal(path)
    return ValueError(
        f"{path} is {kind.name} without the features of the table that the model was trained "
        "from; give a table with its columns, or a store converted like its training rows"
    )


def _given(options: ReadingOptions) -> set[str]:
    """The parameters that differ from their defaults."""
    return {
        field.name for field in fields(options) if getattr(options, field.name) is not field.default
    }
