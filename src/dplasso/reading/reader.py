"""`read_rows` reads a file of any format, also in the way that a model's rows were read."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base.silence import without_sizes
from dplasso.base.wording import ParameterError, Setting
from dplasso.data import ColumnMatrix
from dplasso.reading.formats import FORMATS, Format, format_of
from dplasso.reading.options import Buckets, Progress, ReadingOptions
from dplasso.reading.plans import FeatureSpace, TablePlan
from dplasso.reading.rows import Rows

_Path = str | os.PathLike[str]
# Parameters that may be given with ``like``, from which all others are known.
_OWN = frozenset({"labels", "zero_based", "labelled", "longest_line", "progress", "x_bound"})


def read_rows(
    path: _Path,
    *,
    like: Any = None,
    target: str | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    hashed: Buckets | None = None,
    text: Buckets | None = None,
    ignore: Sequence[str] | None = None,
    buckets: int | None = None,
    delimiter: str | None = None,
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
    """Read the rows of a file: svmlight text, CSV, Parquet, a scipy ``.npz``, or a column store.

    The name of the file determines its format. A parameter that the format does not take is
    rejected. A fact that is not declared and has to be read from the rows is reported as a leak.

    Parameters
    ----------
    path : str or path
        The file, or the folder of a column store.
    like : fitted model or Rows, default=None
        Read rows with the same columns as the model's training rows, or as these rows. Only
        ``labels``, ``zero_based``, ``labelled``, ``longest_line`` and ``progress`` may be given
        with it. Entries are not clipped: the model clips the rows it predicts.
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
    buckets : int, default=None
        Tables: number of buckets of columns that have none of their own. By default about a
        sixteenth of ``n_rows`` (256 to 65,536), or 4,096.
    delimiter : str, default=None
        Tables: the character between the columns of a CSV file; by default a comma, or a tab for
        ``.tsv``.
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
    ((2, 18), ['yes', 'no'], 'age', (1, 18))
    """
    given = {name: value for name, value in locals().items() if name not in ("path", "like")}
    options, found = ReadingOptions(**given), existing(path)
    check_options(found, _given(options))
    if like is None:
        return without_sizes(str(found), lambda: format_of(found).read(found, options))
    return without_sizes(str(found), lambda: _read_like(found, options, like))


def existing(path: _Path) -> Path:
    """The path, which must exist."""
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"{found} does not exist; check the path")
    return found


def check_options(path: Path, given: Iterable[str]) -> None:
    """Reject parameters that the format of a file does not take, rather than ignore them."""
    kind = format_of(path)
    for name in given:
        takers = [known.name for known in FORMATS if name in known.options]
        if takers and name not in kind.options:
            raise kind.refuse(path, name, takers[-1])


def like_options(path: Path, options: ReadingOptions, like: Any) -> ReadingOptions:
    """The options that read a file in the way the rows of ``like`` were read."""
    for name in _given(options) - _OWN:
        raise ParameterError(
            "{parameter} is known from {like}; leave it out", parameter=Setting(name)
        )
    recipe, columns = _recipe_of(like)
    plan = TablePlan.from_dict(recipe) if "target" in recipe else None
    kind = format_of(path)
    if plan is None and "target" in kind.options:
        raise ValueError(
            f"{path} is {kind.name}, but the model was not trained from one; convert it as its "
            "training rows were"
        )
    if plan is not None and not kind.keeps_plan:
        raise _not_of_the_plan(path, kind)
    zero_based = options.zero_based
    if zero_based is None:
        zero_based = recipe.get("zero_based", False)
    return replace(options, plan=plan, n_features=columns, zero_based=zero_based, x_bound=None)


def _read_like(path: Path, options: ReadingOptions, like: Any) -> Rows:
    asked, kind = like_options(path, options, like), format_of(path)
    found = kind.read(path, asked)
    if asked.plan is not None and not _same_features(asked.plan, found.plan):
        raise _not_of_the_plan(path, kind)
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


def _same_features(plan: TablePlan, found: TablePlan | None) -> bool:
    return found is not None and FeatureSpace(plan).names == FeatureSpace(found).names


def _not_of_the_plan(path: Path, kind: Format) -> ValueError:
    return ValueError(
        f"{path} is {kind.name} without the features of the table that the model was trained "
        "from; give a table with its columns, or a store converted like its training rows"
    )


def _given(options: ReadingOptions) -> set[str]:
    """The parameters that differ from their defaults."""
    return {
        field.name for field in fields(options) if getattr(options, field.name) is not field.default
    }
