"""CSV and Parquet files as rows of features: numbers, hashed categories, hashed words.

The features follow from a `TablePlan` and the names of the file's columns, which are both public;
no vocabulary and no range is read from the rows.
"""

import contextlib
import csv
import io
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain
from os import PathLike, fspath
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplasso.base.extras import require
from dplasso.base.memory import size_text
from dplasso.base.silence import raise_alone
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data.row_chunks import RowChunk
from dplasso.privacy import leaks
from dplasso.reading.byte_source import LONGEST_LINE, Progress
from dplasso.reading.cells import Cells, is_number, numbers
from dplasso.reading.parquet_pages import ChunkSizes, ColumnChunk, column_chunks
from dplasso.reading.plans import CELL_RULE, FeatureSpace, TablePlan, repeated

pa = require(
    "pyarrow", "compute", "csv", "parquet", extra="tables", purpose="reading CSV and Parquet files"
)

MOST_CLASSES = 1000
MOST_COLUMNS = 1 << 17  # of a table: each takes some kilobytes, even a short one
_BLOCK = 4 << 20  # bytes of a CSV file parsed at a time, and the longest row
_BATCH = 1 << 16  # rows of a Parquet file read at a time, at most
_LEAST_BLOCK = 1 << 8  # bytes: the smallest block in which pyarrow can parse a row
_GUESSED_AT_ONCE = 1 << 12  # columns whose first rows are read together
_LISTED = 8  # names of columns in a message, at most
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_WORD = re.compile(r"\b\w\w+\b")  # the same as in scikit-learn's vectorizers

_Path = str | PathLike[str]
_Part = tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]  # rows, columns, values of entries


def table_chunks(
    path: _Path,
    plan: TablePlan,
    *,
    labelled: bool = True,
    longest_line: int | None = None,
    progress: Progress | None = None,
) -> tuple[FeatureSpace, Iterator[RowChunk], list[str] | None]:
    """The features and rows of a table, and the classes; labels are positions in the classes.

    Classes are None where labels are numbers, which are not changed. The plan of the feature space
    is complete: with its saved `to_dict`, other files give the same features. For rows to predict,
    ``labelled=False`` needs no target and returns zeros as labels. Names of columns are public: the
    file declares them. Rows are counted from 1, without the header. ``longest_line`` limits the
    bytes of a row of CSV (4 MiB) or of an unpacked page of Parquet (64 MiB).
    """
    table = _Table(fspath(path), plan.delimiter, longest_line)
    plan = _completed(table, plan, labelled)
    if plan.classes is None and labelled and not table.numeric([plan.target]):
        leaks.report(
            Message(
                "classes were read from {path}, which reveals which labels occur; declare them "
                "with {classes}",
                path=table.path,
            )
        )
        plan = replace(plan, classes=_found_classes(table, plan.target))
    if plan.cell_rule < CELL_RULE:
        _warn_of_old_texts(table, plan)
    space = FeatureSpace(plan)
    classes = None if plan.classes is None else list(plan.classes)
    return space, _chunks(table, space, labelled, progress), classes


def column_texts(
    path: _Path, name: str, delimiter: str | None = None, longest_line: int | None = None
) -> Iterator[str]:
    """The cells of one column of a table as `Cells` writes them; missing cells are empty."""
    table = _Table(fspath(path), delimiter, longest_line)
    if name not in table.names:
        raise ValueError(f"{table.path} has no column {name!r}; it has {_listed(table.names)}")
    for batch in table.batches([name]):
        with table.readable():
            cells = Cells.of(batch.column(0))
        texts = [*cells.texts, ""]  # missing cells have the code -1
        yield from (texts[code] for code in cells.codes)


class _Table:
    """A CSV or Parquet file: the names of its columns, and batches of some of them.

    CSV columns are read as text, because the types that pyarrow would guess depend on the rows.
    """

    def __init__(self, path: str, delimiter: str | None, longest_line: int | None = None) -> None:
        self.path, self.rows = path, None
        ending = re.search(r"\.(csv|tsv)(\.gz|\.bz2|\.zst)?$|\.(parquet|pq)$", path.lower())
        if ending is None:
            raise ValueError(f"{path} is no table that is known by its name; give .csv or .parquet")
        self.delimiter = _DELIMITERS.get(ending[1])
        if self.delimiter is not None:
            self.delimiter = delimiter or self.delimiter
        usual = LONGEST_LINE if self.delimiter is None else _BLOCK
        self.longest = usual if longest_line is None else longest_line
        self.kinds: dict[str, Any] = {}  # types of columns, where the file declares them
        with self.readable():
            if self.delimiter is not None:
                self.names: list[str] = self._csv_names(self.delimiter)
            else:
                with pa.parquet.ParquetFile(path) as file:
                    self.rows, schema = file.metadata.num_rows, file.schema_arrow
                self.names = schema.names
                self.kinds = dict(zip(schema.names, schema.types, strict=True))
        if twice := repeated(self.names):
            first = self.names.index(twice[0])
            second = self.names.index(twice[0], first + 1)
            raise ValueError(
                f"{path} has one name for columns {first + 1} and {second + 1}; rename one, or put "
                "names of columns in the first row"
            )
        if self.delimiter is not None and len(self.names) == 1:
            self._doubt_delimiter(self.names[0])

    def _doubt_delimiter(self, name: str) -> None:
        """Reject a header of one column that looks like several columns."""
        for sign in ";\t|,":
            if sign in name and sign != self.delimiter:
                raise ParameterError(
                    "{path} has one column only, and seems to be separated by {sign!r}; say so "
                    "with {delimiter}",
                    path=self.path,
                    sign=sign,
                    delimiter=Setting("delimiter", sign),
                )

    def batches(self, names: Sequence[str]) -> Generator[Any, None, None]:
        """Record batches of the named columns, in bounded memory."""
        if len(names) > MOST_COLUMNS:
            raise ParameterError(
                "{path}: {count:,} columns have a role, and {most:,} can be read; give the others "
                "to {ignore}, or write the rows as svmlight text",
                path=self.path,
                count=len(names),
                most=MOST_COLUMNS,
            )
        with self.readable():
            if self.delimiter is not None:
                with self._csv(names) as reader:
                    yield from reader
            else:
                yield from self._parquet(names)

    def numeric(self, names: Sequence[str]) -> list[str]:
        """The columns that have numbers, judged by their type, or else by their first rows."""
        if self.kinds:
            return [name for name in names if is_number(self.kinds[name])]
        found: list[str] = []
        for start in range(0, len(names), _GUESSED_AT_ONCE):
            some = names[start : start + _GUESSED_AT_ONCE]
            with closing(self.batches(some)) as batches:
                first = next(batches, None)
            if first is None:
                break
            for name in some:
                column = first.column(name)
                if column.null_count < len(column) and numbers(column) is not None:
                    found.append(name)
        return found

    def _csv_names(self, delimiter: str) -> list[str]:
        """The names in the first nonempty row; pyarrow would allocate memory for every column."""
        with pa.input_stream(self.path, compression="detect") as stream:
            head = stream.read(self.longest + 1).removeprefix(b"\xef\xbb\xbf")
        lines = io.StringIO(head.decode("utf-8", "replace"), newline="")
        try:
            row = next(filter(None, csv.reader(lines, delimiter=delimiter, strict=True)), None)
        except csv.Error:
            row = None
        rest = lines.read(1)
        if row is None or (len(head) > self.longest and not rest):
            raise pa.ArrowInvalid("straddling" if len(head) > self.longest else "no header")
        return row

    def _parquet(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield batches whose texts are coded by a dictionary, so that no long text is repeated."""
        texts = [name for name in names if _is_text(self.kinds[name])]
        with open(self.path, "rb") as raw, pa.parquet.ParquetFile(self.path) as file:
            places = {column.path: k for k, column in enumerate(file.schema)}
            try:
                groups = column_chunks(raw)
                chunks = [
                    {name: self._chunk(raw, name, group[places[name]]) for name in names}
                    for group in groups
                ]
            except (LookupError, ValueError) as error:
                if isinstance(error, ParameterError):
                    raise
                raise pa.ArrowInvalid("broken footer or pages") from error
            if len(chunks) != file.metadata.num_row_groups:
                raise pa.ArrowInvalid("broken footer")
        coded = [name for name in texts if all(found[name].can_be_coded for found in chunks)]
        with pa.parquet.ParquetFile(self.path, read_dictionary=coded) as file:
            for group, found in enumerate(chunks):
                sizes = [found[name].row_bytes(name in coded) for name in texts]
                sizes += [_width(self.kinds[name]) for name in names if name not in texts]
                rows = min(_BATCH, int(self.longest / max(sizes)))
                yield from file.iter_batches(max(1, rows), row_groups=[group], columns=list(names))

    def _chunk(self, raw: Any, name: str, chunk: ColumnChunk) -> ChunkSizes:
        """Unpacked sizes of the pages of a column chunk; a page that is too large is rejected."""
        found = ChunkSizes.of(raw, chunk)
        if found.largest > self.longest:
            raise ParameterError(
                "{path}: a page of column {column!r} unpacks to {size}, and {allowed} are allowed; "
                "write the file with smaller pages, or raise {longest_line}",
                path=self.path,
                column=name,
                size=size_text(found.largest),
                allowed=size_text(self.longest),
            )
        return found

    def refuse(self, row: int, why: str) -> NoReturn:
        raise ValueError(f"{self.path}: row {row} {why} (rows are counted without the header)")

    def _csv(self, names: Sequence[str]) -> Any:
        return pa.csv.open_csv(
            self.path,
            pa.csv.ReadOptions(block_size=max(self.longest, _LEAST_BLOCK)),
            pa.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            pa.csv.ConvertOptions(
                column_types={name: pa.string() for name in names},
                include_columns=list(names),
                strings_can_be_null=True,
            ),
        )

    @contextlib.contextmanager
    def readable(self) -> Iterator[None]:
        """Replace pyarrow's error messages, because they quote the rows."""
        try:
            yield
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise_alone(self._refusal(error))

    def _refusal(self, error: Exception) -> ValueError:
        if "straddling" in str(error):
            return ParameterError(
                "{path}: a row is longer than {longest}, or a quote is not closed; mend the "
                "file, or allow longer rows with {longest_line}",
                path=self.path,
                longest=size_text(self.longest),
            )
        if isinstance(error, MemoryError):
            return ValueError(f"{self.path} needs more memory than there is")
        return ValueError(
            f"{self.path} cannot be read as a table: it is empty, damaged, not in UTF-8, or "
            "has rows of different length; mend the file"
        )


def _width(kind: Any) -> int:
    """Bytes per value of a type that is not text."""
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # the type has no fixed width
        return 1 << 10


def _is_text(kind: Any) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _completed(table: _Table, plan: TablePlan, labelled: bool) -> TablePlan:
    """The plan with a role for every column of the file."""
    hashed = dict(plan.hashed)
    for name in plan.text:
        hashed.setdefault(name, plan.buckets)
    _check_names(table, plan, [*hashed, *([plan.target] if labelled else [])], labelled)
    if not plan.complete:
        known = {plan.target, *plan.bounds, *hashed, *plan.ignore}
        left = [name for name in table.names if name not in known]
        if len(left) > MOST_COLUMNS:
            raise ValueError(
                f"{table.path}: {len(left):,} columns have no role, and {MOST_COLUMNS:,} can be "
                "read; write the rows as svmlight text"
            )
        if numeric := table.numeric(left):
            raise ParameterError(
                "{path}: columns have numbers but no public bounds: {columns}; give {bounds}, or "
                "leave them out with {ignore}",
                path=table.path,
                columns=_listed(numeric),
                bounds=Setting("bounds", dict.fromkeys(numeric[:_LISTED], ("low", "high"))),
            )
        if left:
            leaks.report(
                Message(
                    "columns of {path} without a role are taken as categories, as their kind "
                    "suggests: {columns}, in {buckets:,} buckets each; give them a role with "
                    "{hashed} or {text}, or leave them out with {ignore}",
                    path=table.path,
                    columns=_listed(left),
                    buckets=plan.buckets,
                )
            )
        hashed.update(dict.fromkeys(left, plan.buckets))
    if not plan.bounds and not hashed:
        raise ValueError(f"{table.path} has no column to take features from; give it a role")
    return replace(plan, hashed=hashed, complete=True)


def _check_names(table: _Table, plan: TablePlan, more: list[str], labelled: bool) -> None:
    """Check that columns with a role exist and hold one value per cell."""
    ignored = plan.ignore if labelled and not plan.complete else ()
    known = frozenset(table.names)
    for name in [*ignored, *plan.bounds, *more]:
        if name not in known:
            raise ValueError(_absent(table, plan, name))
    used = table.names if not plan.complete else [*plan.bounds, *more]
    for name in set(used).difference(plan.ignore):
        if pa.types.is_nested(table.kinds.get(name, pa.string())):
            raise ValueError(f"{table.path}: column {name!r} has lists or records; ignore it")


def _absent(table: _Table, plan: TablePlan, name: str) -> str:
    if plan.complete:
        return f"{table.path} has no column {name!r}, which the model was trained with; add it"
    near = get_close_matches(name, table.names, n=1)
    named = {plan.target, *plan.bounds, *plan.hashed, *plan.text, *plan.ignore}
    if near:
        meant = f"did you mean {near[0]!r}?"
    elif table.kinds or named.intersection(table.names):
        meant = f"it has {_listed(table.names)}"
    else:  # without a header, the first row holds somebody's data
        meant = "correct it, or put names of columns in the first row if there are none"
    return f"{table.path} has no column {name!r}; {meant}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def _warn_of_old_texts(table: _Table, plan: TablePlan) -> None:
    """Warn of columns whose texts may have been different when the model was trained."""
    changed = [name for name in plan.hashed if not _always_same(table.kinds.get(name, pa.string()))]
    if changed:
        warnings.warn(
            f"the model was trained when the text of a cell depended on the type of its column; "
            f"{_listed(changed)} may fall into other buckets now than in training: train it again",
            stacklevel=3,
        )


def _always_same(kind: Any) -> bool:
    """Whether values of a type have the same text now as under the first rule."""
    return bool(
        _is_text(kind)
        or pa.types.is_dictionary(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_null(kind)
    )


def _found_classes(table: _Table, target: str) -> list[str]:
    found: set[str] = set()
    for batch in table.batches([target]):
        with table.readable():
            found.update(Cells.of(batch.column(0)).texts)
        if len(found) > MOST_CLASSES:
            raise ValueError(
                f"{table.path}: column {target!r} has more than {MOST_CLASSES:,} different labels; "
                "declare the classes, or choose another target"
            )
    return sorted(found)


def _chunks(
    table: _Table, space: FeatureSpace, labelled: bool, progress: Progress | None
) -> Iterator[RowChunk]:
    plan, texts, done = space.plan, frozenset(space.plan.text), 0
    used = [*plan.bounds, *plan.hashed, *([plan.target] if labelled else [])]
    for batch in table.batches(used):
        with table.readable():
            labels = np.zeros(len(batch))
            if labelled:
                labels = _labels(table, plan, batch.column(plan.target), done)
            parts: list[_Part] = []
            for name in plan.bounds:
                parts += _number_parts(table, space, name, batch.column(name), done)
            for name in plan.hashed:
                part = _word_part if name in texts else _category_part
                parts.append(part(space, name, Cells.of(batch.column(name))))
        yield _by_row(labels, parts)
        done += len(batch)
        if progress is not None:
            progress(done, table.rows)


def _labels(table: _Table, plan: TablePlan, column: Any, done: int) -> NDArray[np.float64]:
    """Labels as positions of their classes, or as unchanged numbers."""
    if plan.classes is None:
        labels = _checked_numbers(table, plan.target, column, done)
    else:
        cells, places = Cells.of(column), _places(plan.classes, column.type)
        known = np.array([places.get(text, -1) for text in cells.texts] + [-1], np.int64)
        labels = known[cells.codes].astype(np.float64)
        unknown = (labels < 0) & (cells.codes >= 0)
        labels[labels < 0] = np.nan
        if unknown.any():
            row = done + int(unknown.argmax()) + 1
            table.refuse(
                row, "has a label that is not among the classes, to the letter; declare it"
            )
    missing = ~np.isfinite(labels)
    if missing.any():
        table.refuse(done + int(missing.argmax()) + 1, "has no label; remove it or give it one")
    return labels


def _places(classes: Sequence[str], kind: Any) -> dict[str, int]:
    """The position of each text among the classes; numbers 1 and 0 match "true" and "false"."""
    places = {text: k for k, text in enumerate(classes)}
    if is_number(kind) or pa.types.is_boolean(kind):
        for number, word in (("0", "false"), ("1", "true")):
            if word in places:
                places.setdefault(number, places[word])
    return places


def _number_parts(
    table: _Table, space: FeatureSpace, name: str, column: Any, done: int
) -> list[_Part]:
    """The clipped numbers that are not 0, and an indicator of 1 where a number is missing."""
    numbers = _checked_numbers(table, name, column, done)
    missing = np.isnan(numbers)
    numbers = np.clip(np.where(missing, 0.0, numbers), *space.plan.bounds[name])
    numbers[missing] = 0.0  # the bounds may exclude 0
    rows, gaps, first = np.flatnonzero(numbers), np.flatnonzero(missing), space.starts[name]
    return [
        (rows, np.full(len(rows), first), numbers[rows]),
        (gaps, np.full(len(gaps), first + 1), np.ones(len(gaps))),
    ]


def _category_part(space: FeatureSpace, name: str, cells: Cells) -> _Part:
    buckets = np.array([space.bucket(name, f"{name}={text}") for text in cells.texts], np.int64)
    rows = np.flatnonzero(cells.codes >= 0)
    return rows, buckets[cells.codes[rows]], np.ones(len(rows))


def _word_part(space: FeatureSpace, name: str, cells: Cells) -> _Part:
    known: dict[str, int] = {}
    hits: list[list[int]] = []
    for text in cells.texts:
        words = set(_WORD.findall(text.lower()))
        for word in words:
            if word not in known:
                known[word] = space.bucket(name, f"{name}:{word}")
        hits.append(sorted({known[word] for word in words}))
    hits.append([])  # for missing cells
    counts = np.array([len(hit) for hit in hits], np.int64)[cells.codes]
    columns = np.fromiter(chain.from_iterable(hits[code] for code in cells.codes), np.int64)
    return np.repeat(np.arange(len(counts)), counts), columns, np.ones(len(columns))


def _by_row(labels: NDArray[np.float64], parts: list[_Part]) -> RowChunk:
    """Sort the entries by row; within a row they keep the column order of the parts."""
    rows, columns, values = (np.concatenate(field) for field in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    indptr = np.zeros(len(labels) + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=len(labels)), out=indptr[1:])
    return RowChunk(labels, indptr, columns[order], values[order])


def _checked_numbers(table: _Table, name: str, column: Any, done: int) -> NDArray[np.float64]:
    found = numbers(column)
    if found is None:
        wrong = (k for k in range(len(column)) if numbers(column.slice(k, 1)) is None)
        table.refuse(
            done + next(wrong, 0) + 1, f"has no number in column {name!r}; mend or ignore it"
        )
    return found
