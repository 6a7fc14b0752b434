"""CSV and Parquet files as rows of features: numbers, hashed categories, hashed words.

What a feature is follows from a `TablePlan` and the names of the file's columns, both public; no
vocabulary and no range is read from the rows.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from dplasso.privacy import leaks
from dplasso.reading.chunks import RowChunk
from dplasso.reading.plans import FeatureSpace, TablePlan, repeated

Progress = Callable[[int, int | None], None]  # rows so far, of how many

MOST_CLASSES = 1000
_BLOCK = 4 << 20  # bytes of a CSV file parsed at a time
_BATCH = 1 << 16  # rows of a Parquet file taken at a time
_LISTED = 8  # names of columns in a message
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_WORD = re.compile(r"\b\w\w+\b")  # as scikit-learn's vectorizers

_Path = str | PathLike[str]
_Part = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]  # rows, columns, values of entries


def table_chunks(
    path: _Path, plan: TablePlan, *, labelled: bool = True, progress: Progress | None = None
) -> tuple[FeatureSpace, Iterator[RowChunk], list[str] | None]:
    """Features and rows of a table, and the classes that labels are positions in.

    Classes are None where labels are numbers, taken as they are. The plan of the feature space is
    complete: save its `to_dict`, and other files give the same features. For rows to predict,
    ``labelled=False`` needs no target, and gives zeros as labels. Names of columns are public: the
    file declares them. Rows are counted from 1, without the header.
    """
    table = _Table(fspath(path), plan.delimiter)
    plan = _completed(table, plan, labelled)
    if plan.classes is None and labelled and not table.is_numeric(plan.target):
        leaks.report(
            f"classes were read from {table.path}, which reveals which labels occur; declare them"
        )
        plan = replace(plan, classes=_found_classes(table, plan.target))
    space = FeatureSpace(plan)
    classes = None if plan.classes is None else list(plan.classes)
    return space, _chunks(table, space, labelled, progress), classes


def column_texts(path: _Path, name: str, delimiter: str | None = None) -> Iterator[str]:
    """The cells of one column of a table as they are written; empty where they are missing."""
    table = _Table(fspath(path), delimiter)
    if name not in table.names:
        raise ValueError(f"{table.path} has no column {name!r}; it has {_listed(table.names)}")
    for batch in table.batches([name]):
        yield from (text or "" for text in _strings(batch.column(0)).to_pylist())


class _Table:
    """A file of either format: names of columns, and batches of some of them.

    CSV columns are read as text: what pyarrow would guess of their types depends on the rows.
    """

    def __init__(self, path: str, delimiter: str | None) -> None:
        self.path, self.rows = path, None
        ending = re.search(r"\.(csv|tsv)(\.gz|\.bz2|\.zst)?$|\.(parquet|pq)$", path.lower())
        if ending is None:
            raise ValueError(f"{path} is no table that is known by its name; give .csv or .parquet")
        self.delimiter = _DELIMITERS.get(ending[1])
        if self.delimiter is not None:
            self.delimiter = delimiter or self.delimiter
        self.kinds: dict[str, Any] = {}  # types of columns, where the file declares them
        with self._readable():
            if self.delimiter is not None:
                with self._csv(()) as reader:
                    self.names: list[str] = reader.schema.names
            else:
                with pa.parquet.ParquetFile(path) as file:
                    self.rows, schema = file.metadata.num_rows, file.schema_arrow
                self.names = schema.names
                self.kinds = dict(zip(schema.names, schema.types, strict=True))
        if twice := repeated(self.names):
            raise ValueError(f"{path} has two columns named {twice[0]!r}; rename one")
        if self.delimiter is not None and len(self.names) == 1:
            self._doubt_delimiter(self.names[0])

    def _doubt_delimiter(self, name: str) -> None:
        """A header of one column that looks like several."""
        for sign in ";\t|,":
            if sign in name and sign != self.delimiter:
                raise ValueError(
                    f"{self.path} has but one column; it seems to be separated by {sign!r}: say so "
                    f"with --delimiter {sign!r}"
                )

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of the named columns, in bounded memory."""
        with self._readable():
            if self.delimiter is not None:
                with self._csv(names) as reader:
                    yield from reader
            else:
                with pa.parquet.ParquetFile(self.path) as file:
                    yield from file.iter_batches(_BATCH, columns=list(names))

    def is_numeric(self, name: str) -> bool:
        """Whether a column has numbers: by its type, or else by its first rows."""
        if self.kinds:
            kind = self.kinds[name]
            return bool(
                pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
            )
        if self._first_rows is None:
            return False
        first = self._first_rows.column(name)
        return first.null_count < len(first) and _numbers(first) is not None

    @cached_property
    def _first_rows(self) -> Any:
        return next(self.batches(self.names), None)

    def refuse(self, row: int, why: str) -> NoReturn:
        raise ValueError(f"{self.path}: row {row} {why} (rows are counted without the header)")

    def _csv(self, names: Sequence[str]) -> Any:
        return pa.csv.open_csv(
            self.path,
            pa.csv.ReadOptions(block_size=_BLOCK),
            pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=list(names),
                strings_can_be_null=True,
            ),
        )

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        """pyarrow's own messages quote the rows."""
        try:
            yield
        except pa.ArrowInvalid:
            raise ValueError(
                f"{self.path} cannot be read as a table: it is empty, damaged, not in UTF-8, or "
                "has rows of different length; mend the file"
            ) from None


def _completed(table: _Table, plan: TablePlan, labelled: bool) -> TablePlan:
    """The plan with a role for every column of the file."""
    hashed = dict(plan.hashed)
    for name in plan.text:
        hashed.setdefault(name, plan.buckets)
    _check_names(table, plan, [*hashed, *([plan.target] if labelled else [])], labelled)
    if not plan.complete:
        known = {plan.target, *plan.bounds, *hashed, *plan.ignore}
        left = [name for name in table.names if name not in known]
        _refuse_unbounded(table, [name for name in left if table.is_numeric(name)])
        if left:
            leaks.report(
                f"columns of {table.path} without a role are taken as categories, as their kind "
                f"suggests: {_listed(left)}, in {plan.buckets:,} buckets each; give them --hash or "
                "--text, or --ignore them"
            )
        hashed.update(dict.fromkeys(left, plan.buckets))
    if not plan.bounds and not hashed:
        raise ValueError(f"{table.path} has no column to take features from; give it a role")
    return replace(plan, hashed=hashed, complete=True)


def _check_names(table: _Table, plan: TablePlan, more: list[str], labelled: bool) -> None:
    """Columns that have a role are there, and hold one value each."""
    ignored = plan.ignore if labelled and not plan.complete else ()
    for name in [*ignored, *plan.bounds, *more]:
        if name not in table.names:
            raise ValueError(_absent(table, plan, name))
    used = table.names if not plan.complete else [*plan.bounds, *more]
    for name in set(used).difference(plan.ignore):
        if pa.types.is_nested(table.kinds.get(name, pa.string())):
            raise ValueError(f"{table.path}: column {name!r} has lists or records; ignore it")


def _refuse_unbounded(table: _Table, numeric: list[str]) -> None:
    if numeric:
        options = " ".join(f"--bounds {name}=low:high" for name in numeric[:_LISTED])
        raise ValueError(
            f"{table.path}: columns have numbers but no public bounds: {_listed(numeric)}; give "
            f"{options}, or leave them out with --ignore"
        )


def _absent(table: _Table, plan: TablePlan, name: str) -> str:
    if plan.complete:
        return f"{table.path} has no column {name!r}, which the model was trained with; add it"
    near = get_close_matches(name, table.names, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"it has {_listed(table.names)}"
    return f"{table.path} has no column {name!r}; {meant}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def _found_classes(table: _Table, target: str) -> list[str]:
    found: set[str] = set()
    for batch in table.batches([target]):
        found.update(_strings(batch.column(0)).unique().drop_null().to_pylist())
        if len(found) > MOST_CLASSES:
            raise ValueError(
                f"{table.path}: column {target!r} has more than {MOST_CLASSES:,} different labels; "
                "declare the classes, or choose another target"
            )
    return sorted(found)


def _chunks(
    table: _Table, space: FeatureSpace, labelled: bool, progress: Progress | None
) -> Iterator[RowChunk]:
    plan, done = space.plan, 0
    used = [*plan.bounds, *plan.hashed, *([plan.target] if labelled else [])]
    for batch in table.batches(used):
        labels = np.zeros(len(batch))
        if labelled:
            labels = _labels(table, plan, batch.column(plan.target), done)
        parts: list[_Part] = []
        for name in plan.bounds:
            parts += _number_parts(table, space, name, batch.column(name), done)
        for name in plan.hashed:
            part = _word_part if name in plan.text else _category_part
            parts.append(part(space, name, _strings(batch.column(name))))
        yield _by_row(labels, parts)
        done += len(batch)
        if progress is not None:
            progress(done, table.rows)


def _labels(table: _Table, plan: TablePlan, column: Any, done: int) -> NDArray[np.float64]:
    """Positions of classes, or numbers as they are."""
    if plan.classes is None:
        labels = _checked_numbers(table, plan.target, column, done)
    else:
        strings = _strings(column)
        known = pc.index_in(strings, value_set=pa.array(plan.classes, pa.string()))
        labels = known.cast(pa.float64()).to_numpy(zero_copy_only=False)
        unknown = np.isnan(labels) & strings.is_valid().to_numpy(zero_copy_only=False)
        if unknown.any():
            row = done + int(unknown.argmax()) + 1
            table.refuse(
                row, "has a label that is not among the classes, to the letter; declare it"
            )
    missing = ~np.isfinite(labels)
    if missing.any():
        table.refuse(done + int(missing.argmax()) + 1, "has no label; remove it or give it one")
    return labels


def _number_parts(
    table: _Table, space: FeatureSpace, name: str, column: Any, done: int
) -> list[_Part]:
    """Numbers that are not 0, clipped; and ones where a number is missing."""
    numbers = _checked_numbers(table, name, column, done)
    missing = np.isnan(numbers)
    numbers = np.clip(np.where(missing, 0.0, numbers), *space.plan.bounds[name])
    numbers[missing] = 0.0  # bounds may leave 0 out
    rows, gaps, first = np.flatnonzero(numbers), np.flatnonzero(missing), space.starts[name]
    return [
        (rows, np.full(len(rows), first), numbers[rows]),
        (gaps, np.full(len(gaps), first + 1), np.ones(len(gaps))),
    ]


def _category_part(space: FeatureSpace, name: str, strings: Any) -> _Part:
    encoded = strings.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    buckets = np.array([space.bucket(name, f"{name}={value}") for value in values], np.int64)
    rows = np.flatnonzero(strings.is_valid().to_numpy(zero_copy_only=False))
    codes = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
    return rows, buckets[codes], np.ones(len(rows))


def _word_part(space: FeatureSpace, name: str, strings: Any) -> _Part:
    known: dict[str, int] = {}
    rows, columns = [], []
    for row, text in enumerate(strings.to_pylist()):
        words = set(_WORD.findall(text.lower())) if text else ()
        for word in words:
            if word not in known:
                known[word] = space.bucket(name, f"{name}:{word}")
        hit = sorted({known[word] for word in words})
        rows += [row] * len(hit)
        columns += hit
    return np.array(rows, np.int64), np.array(columns, np.int64), np.ones(len(rows))


def _by_row(labels: NDArray[np.float64], parts: list[_Part]) -> RowChunk:
    """Parts come in the order of columns; so do then the entries of every row."""
    rows, columns, values = (np.concatenate(field) for field in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(len(labels) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(labels)), out=indptr[1:])
    return RowChunk(labels, indptr, columns[order], values[order])


def _checked_numbers(table: _Table, name: str, column: Any, done: int) -> NDArray[np.float64]:
    numbers = _numbers(column)
    if numbers is None:
        place = next(k for k in range(len(column)) if _numbers(column.slice(k, 1)) is None)
        table.refuse(done + place + 1, f"has no number in column {name!r}; mend or ignore it")
    return numbers


def _numbers(column: Any) -> NDArray[np.float64] | None:
    """Numbers, NaN where missing; None where there is something else."""
    try:
        if pa.types.is_dictionary(column.type) or pa.types.is_large_string(column.type):
            column = _strings(column)
        if pa.types.is_string(column.type):
            column = pc.utf8_trim_whitespace(column)
        numbers = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return np.asarray(numbers, np.float64)


def _strings(column: Any) -> Any:
    return column.cast(pa.string())
