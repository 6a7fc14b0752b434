"""Rows from any file the command line takes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.base import memory
from dplasso.cli.output import reading_bar
from dplasso.data import ColumnMatrix
from dplasso.data.columns import MOST_ROWS
from dplasso.data.merging import merged
from dplasso.data.sparse_bounds import SparseBounds
from dplasso.reading import assemble, read_svmlight, svmlight_chunks
from dplasso.reading.npz import read_npy, read_npz
from dplasso.reading.plans import FeatureNames, FeatureSpace, TablePlan
from dplasso.storage import ColumnStore, open_store
from dplasso.storage.column_format import damaged

_PREDICTED_BYTES = 128  # of a row without entries: its margin, and its prediction as text
_PACKINGS = ("", ".gz", ".bz2", ".zst")
TABLES = (
    *(f"{kind}{packing}" for kind in (".csv", ".tsv") for packing in _PACKINGS),
    ".parquet",
    ".pq",
)


def kind_of(path: Path) -> str:
    """What a file is, by its name; a folder is a column store."""
    name = path.name.lower()
    if path.is_dir():
        return "column store"
    if name.endswith(".npz"):
        return ".npz matrix"
    return "table" if name.endswith(TABLES) else "svmlight text"


@dataclass(frozen=True)
class Form:
    """How a file is to be read; what a model needs again to read new rows."""

    columns: int | None = None
    zero_based: bool = False
    labels: Path | None = None  # beside an .npz file
    plan: TablePlan | None = None
    names: Path | None = None  # of features, one a line
    rows: int | None = None  # declared
    longest_line: int | None = None  # in bytes; None: as the reader of the format has it

    @property
    def limits(self) -> dict[str, Any]:
        """What to pass to a reader besides."""
        return {} if self.longest_line is None else {"longest_line": self.longest_line}


@dataclass(frozen=True)
class Rows:
    """Rows, their labels, and what is publicly known of their columns."""

    X: Any  # sparse, or a ColumnMatrix
    y: NDArray[Any] | None
    bounds: NDArray[np.float64] | SparseBounds | None = None  # of columns, where a plan has them
    names: NDArray[Any] | FeatureNames | None = None
    plan: TablePlan | None = None
    classes: list[Any] | None = None
    undeclared: frozenset[str] = frozenset()  # public facts that were read from the data
    zero_based: bool = False
    declared_rows: int | None = None  # where a store knows it

    @property
    def recipe(self) -> dict[str, Any] | None:
        """How rows like these are read, to be kept with a model."""
        if self.plan is not None:
            return self.plan.to_dict()
        return {"zero_based": True} if self.zero_based else None


def read_rows(
    path: Path,
    form: Form,
    *,
    x_bound: float | None = 1.0,
    labelled: bool = True,
    quiet: bool = False,
) -> Rows:
    """Read a column store, a scipy ``.npz``, a table, or else svmlight text.

    Entries of a store are clipped to ``x_bound``, unless it is None; estimators clip the others.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist; check the path")
    match kind_of(path):
        case "column store":
            return _from_store(path, x_bound)
        case ".npz matrix":
            return _from_npz(path, form, labelled)
        case "table":
            return _from_table(path, form, labelled, quiet)
    return _from_svmlight(path, form, quiet)


def _from_store(path: Path, x_bound: float | None) -> Rows:
    store = open_store(path)
    source = store.source or {}
    plan = _plan_of(store, source)
    y: NDArray[Any] = store.labels
    if store.classes is not None:
        y = np.array(store.classes, dtype=object)[store.labels.astype(np.intp)]
    names = _objects(store.feature_names)
    declared = source.get("classes_declared", False) or store.classes is None
    undeclared: frozenset[str] = frozenset() if declared else frozenset({"classes"})
    return Rows(
        store.matrix(x_bound),
        y,
        bounds=store.bounds,
        names=names,
        plan=plan,
        classes=store.classes,
        undeclared=undeclared,
        zero_based=source.get("zero_based", False),
        declared_rows=source.get("rows"),
    )


def _plan_of(store: ColumnStore, source: dict[str, Any]) -> TablePlan | None:
    """The plan that a store notes, where it came from a table; other notes are of their kinds."""
    try:
        plan = TablePlan.from_dict(source["plan"]) if source.get("plan") else None
        fits = plan is None or FeatureSpace(plan).size == store.shape[1]
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        fits = False
    rows = source.get("rows")
    flags = [source.get(name, False) for name in ("zero_based", "classes_declared")]
    counted = rows is None or (type(rows) is int and rows >= 1)
    if not (fits and counted and all(isinstance(flag, bool) for flag in flags)):
        raise damaged(store.path, "what it notes about its source does not fit")
    return plan


def _from_npz(path: Path, form: Form, labelled: bool) -> Rows:
    X = read_npz(path)
    y = None if form.labels is None else read_npy(form.labels)
    if labelled and y is None:
        raise ValueError(f"{path} has no labels; give them with --labels y.npy")
    if y is not None and y.shape != X.shape[:1]:
        raise ValueError(f"{form.labels} does not have one label for each row of {path}")
    if X.shape[0] > MOST_ROWS:
        raise ValueError(f"{path} has more than {MOST_ROWS:,} rows; split it into parts")
    if not labelled:  # labels would be as many; without any, a short file can claim all those rows
        memory.check(
            X.shape[0] * _PREDICTED_BYTES, f"predicting {path.name}", "split it into parts"
        )
    return Rows(merged(X, "csr"), y, names=_named(form, X.shape[1]))


def _from_table(path: Path, form: Form, labelled: bool, quiet: bool) -> Rows:
    if form.plan is None:
        raise ValueError(f"{path} is a table; name the column to predict with --target")
    from dplasso.reading.tables import table_chunks  # brings pyarrow, which text does not need

    with reading_bar("reading", quiet=quiet, rows=True) as progress:
        space, chunks, classes = table_chunks(
            path, form.plan, labelled=labelled, progress=progress, **form.limits
        )
        X, y = assemble(chunks, space.size)
    if classes is not None and labelled:
        y = np.array(classes, dtype=object)[y.astype(np.intp)]
    undeclared = frozenset({"classes"} if form.plan.classes is None else ())
    known = (space.bounds, space.names, space.plan, classes, undeclared)
    return Rows(X, y if labelled else None, *known)


def _from_svmlight(path: Path, form: Form, quiet: bool) -> Rows:
    with reading_bar("reading", quiet=quiet) as progress:
        X, y = read_svmlight(
            path,
            columns=form.columns,
            zero_based=form.zero_based,
            progress=progress,
            **form.limits,
        )
    undeclared = frozenset({"n_features"} if form.columns is None else ())
    return Rows(
        X,
        y,
        names=_named(form, X.shape[1]),
        undeclared=undeclared,
        zero_based=form.zero_based,
    )


def chunks_of(path: Path, form: Form, progress: Any) -> tuple[Any, int, dict[str, Any]]:
    """Row chunks for a column store, their number of columns, and what else is known of them."""
    name = path.name.lower()
    if name.endswith(TABLES):
        if form.plan is None:
            raise ValueError(f"{path} is a table; name the column to predict with --target")
        from dplasso.reading.tables import table_chunks

        space, chunks, classes = table_chunks(path, form.plan, progress=progress, **form.limits)
        known = {"feature_names": space.names, "classes": classes, "bounds": space.bounds}
        declared = form.plan.classes is not None
        source = {"plan": space.plan.to_dict(), "rows": form.rows, "classes_declared": declared}
        return chunks, space.size, {**known, "source": source}
    if name.endswith(".npz"):
        raise ValueError(f"{path} is in memory as a whole once it is read; train from it as it is")
    if form.columns is None:
        raise ValueError(
            f"to convert {path} piece by piece, declare its number of columns with --features"
        )
    chunks = svmlight_chunks(
        path,
        columns=form.columns,
        zero_based=form.zero_based,
        progress=progress,
        **form.limits,
    )
    names = _named(form, form.columns)
    return (
        chunks,
        form.columns,
        {
            "feature_names": None if names is None else names.tolist(),
            "source": {"zero_based": form.zero_based, "rows": form.rows},
        },
    )


def _named(form: Form, columns: int) -> NDArray[Any] | None:
    if form.names is None:
        return None
    names = form.names.read_text("utf-8").splitlines()
    if len(names) != columns:
        raise ValueError(f"{form.names} has {len(names):,} names for {columns:,} columns")
    return _objects(names)


def _objects(names: Any) -> NDArray[Any] | None:
    return None if names is None else np.array(list(names), dtype=object)


def as_sparse(X: Any) -> Any:
    """Rows to predict from."""
    return X.rows() if isinstance(X, ColumnMatrix) else X


def same_file(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and os.path.samefile(first, second)
