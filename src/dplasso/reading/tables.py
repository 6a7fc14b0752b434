"""Tables as rows of features, which follow from a schema.

The schema is public; no vocabulary and no range is read from the rows.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from os import PathLike
from typing import Any, NoReturn

from dplasso.base.extras import require
from dplasso.base.wording import Message, ParameterError, Setting
from dplasso.data.row_chunks import RowChunk
from dplasso.privacy import leaks
from dplasso.reading.byte_source import Progress
from dplasso.reading.files import Files
from dplasso.reading.plans import TablePlan
from dplasso.reading.table_files import open_table
from dplasso.reading.table_files.base import MOST_COLUMNS, TableFile, TableSettings
from dplasso.schema import FeatureSpace, Hashed, Schema
from dplasso.schema.cells import Cells, has_cells, is_text
from dplasso.schema.encoding import columns_of, encoded, kept_texts
from dplasso.schema.guesses import guessed, names_people
from dplasso.schema.schema import CELL_RULE

pa = require("pyarrow", extra="tables", purpose="reading tables")

MOST_CLASSES = 1000
_ALMOST = 0.65  # how similar two names are, from 0 to 1, of which one is meant by the other
_LISTED = 8  # names of columns in a message, at most
_LIKE_TODAY = 2  # the first rule of cells under which texts are those of today

_Path = str | PathLike[str]


def table_chunks(
    path: _Path | Files,
    plan: TablePlan | Schema,
    *,
    labelled: bool = True,
    scaled: bool = False,
    longest_line: int | None = None,
    fallback_encoding: str | None = None,
    new: bool = False,
    progress: Progress | None = None,
) -> tuple[FeatureSpace, Iterator[RowChunk], list[str] | None]:
    """The features and rows of a table, and the classes; labels are positions in the classes.

    Classes are None where labels are numbers, which are not changed. The schema of the feature
    space is complete: with its saved `to_dict`, other files give the same features. For rows to
    predict, ``labelled=False`` needs no target and returns zeros as labels; ``scaled`` centres and
    scales numbers to [-1, 1]. Names of columns are public: the file declares them. Rows are counted
    from 1, without the header. ``longest_line`` limits the bytes of a row of CSV (4 MiB) or of an
    unpacked page of Parquet (64 MiB). Several files are read as one table, in their order.
    ``new`` says that they are rows for a model, which may have a ``fallback_encoding``; see
    `TableSettings`.
    """
    settings = TableSettings(plan.delimiter, plan.encoding, longest_line, fallback_encoding)
    table = open_table(Files.of(path), settings)
    schema = plan if isinstance(plan, Schema) else _completed(table, plan, labelled)
    space = FeatureSpace(schema, scaled)
    named = columns_of(space, labelled)
    _check_names(table, named, lambda name: _not_there(table, schema, name, new))
    _check_cells(table, columns_of(space, labelled))
    if schema.cell_rule >= CELL_RULE:
        table.take_blanks_as_missing()
    if schema.cell_rule < _LIKE_TODAY:
        _warn_of_old_texts(table, schema)
    classes, target = schema.labels.classes, schema.target
    if labelled and target is not None and classes is None and schema.labels.bounds is None:
        classes = _found_classes(table, target)
        columns = {**schema.columns, target: replace(schema.labels, classes=classes)}
        space = FeatureSpace(replace(schema, columns=columns), scaled)
    found = None if classes is None else list(classes)
    return space, _chunks(table, space, labelled, progress), found


def column_texts(
    path: _Path | Files, name: str, settings: TableSettings | None = None
) -> Iterator[str]:
    """The cells of one column of a table as `Cells` writes them; missing cells are empty."""
    table = open_table(Files.of(path), settings or TableSettings())
    if name not in table.names:
        raise ValueError(f"{table.path} has no column {name!r}; it has {_listed(table.names)}")
    for batch in table.batches([name]):
        with table.readable():
            cells = Cells.of(batch.column(0))
        texts = [*cells.texts, ""]  # missing cells have the code -1
        yield from (texts[code] for code in cells.codes)


def _completed(table: TableFile, plan: TablePlan, labelled: bool) -> Schema:
    """The schema of a plan, with a role for every column of the file."""
    named = [*plan.bounds, *plan.hashed, *plan.text]
    if labelled:
        person = [] if plan.person is None else [plan.person]
        named = [*plan.ignore, *named, plan.target, *person]
    _check_names(table, named, lambda name: _absent(table, plan, name))
    known = frozenset(plan.schema().columns)
    left = [name for name in table.names if name not in known]
    if "" in left:
        raise ValueError(
            f"{table.path}{table.header} has no name for column {table.names.index('') + 1}; "
            "name it, or remove it (pandas writes its index there: use index=False)"
        )
    if len(left) > MOST_COLUMNS:
        raise ValueError(
            f"{table.path}: {len(left):,} columns have no role, and {MOST_COLUMNS:,} can be "
            "read; write the rows as svmlight text"
        )
    if naming := [name for name in left if names_people(name) or guessed(name) == "identifier"]:
        people = [name for name in naming if names_people(name)]
        raise ParameterError(
            "{path}: columns seem to identify people or rows, and have no role: {columns}. Name "
            "the column of people with {person}, so that all rows of a person are protected "
            "together; leave others out with {ignore}; or take them as categories on purpose with "
            "{hashed}",
            path=table.path,
            columns=_listed(naming),
            # Whom to protect is not guessed: an identifier of rows would protect nobody more.
            person=Setting("person", people[0] if len(people) == 1 else "COLUMN"),
            ignore=Setting("ignore", naming[:_LISTED]),
            hashed=Setting("hashed", naming[:_LISTED]),
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
    if not plan.bounds and not plan.hashed and not plan.text and not left:
        raise ValueError(f"{table.path} has no column to take features from; give it a role")
    return plan.schema(left)


def _check_names(table: TableFile, names: Iterable[str], absent: Callable[[str], str]) -> None:
    """Check that columns exist and hold one value per cell."""
    known = frozenset(table.names)
    for name in names:
        if name not in known:
            raise ValueError(absent(name))


def _check_cells(table: TableFile, names: Iterable[str]) -> None:
    """Reject columns whose cells are not one number, text or time each."""
    for name in names:
        if not has_cells(table.kinds.get(name, pa.string())):
            raise ValueError(
                f"{table.path}: column {name!r} has lists, records or intervals; ignore it"
            )


def _not_there(table: TableFile, schema: Schema, name: str, new: bool) -> str:
    near = _near(table, name)
    meant = f"did you mean {near!r}?" if near else "add it"
    if not near and name == schema.target:
        meant = "add it, or read rows without labels (labelled=False), as dplasso predict does"
    why = "which the model was trained with" if new else "which the schema names"
    return f"{table.path} has no column {name!r}, {why}; {meant}"


def _near(table: TableFile, name: str) -> str | None:
    """The column whose name is almost the one that was asked for, if there is one."""
    found = {own.casefold(): own for own in reversed(table.names)}
    near = get_close_matches(name.casefold(), found, n=1, cutoff=_ALMOST)
    return found[near[0]] if near else None


def _absent(table: TableFile, plan: TablePlan, name: str) -> str:
    near = _near(table, name)
    named = {plan.target, *plan.bounds, *plan.hashed, *plan.text, *plan.ignore}
    if near:
        meant = f"did you mean {near!r}?"
    elif table.kinds or named.intersection(table.names):
        meant = f"it has {_listed(table.names)}"
    else:  # without a header, the first row holds somebody's data
        meant = "correct it, or put names of columns in the first row if there are none"
    return f"{table.path} has no column {name!r}; {meant}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(repr(name) for name in names[:_LISTED]) + more


def _warn_of_old_texts(table: TableFile, schema: Schema) -> None:
    """Warn of columns whose texts may have been different when the model was trained."""
    hashed = [name for name, role in schema.columns.items() if isinstance(role, Hashed)]
    changed = [name for name in hashed if not _always_same(table.kinds.get(name, pa.string()))]
    if changed:
        warnings.warn(
            f"the model was trained when the text of a cell depended on the type of its column; "
            f"{_listed(changed)} may fall into other buckets now than in training: train it again",
            stacklevel=3,
        )


def _always_same(kind: Any) -> bool:
    """Whether values of a type have the same text now as under the first rule."""
    return bool(
        is_text(kind)
        or pa.types.is_dictionary(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_null(kind)
    )


def _found_classes(table: TableFile, target: str) -> list[str] | None:
    """The classes that occur, which is reported; None if labels are numbers."""
    if table.numeric([target]):
        return None
    leaks.report(
        Message(
            "classes were read from {path}, which reveals which labels occur; declare them "
            "with {classes}",
            path=table.path,
        )
    )
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
    table: TableFile, space: FeatureSpace, labelled: bool, progress: Progress | None
) -> Iterator[RowChunk]:
    done = 0
    kept = {name: kept_texts(space.schema, name) for name in space.schema.columns}
    for batch in table.batches(columns_of(space, labelled), kept):
        with table.readable():

            def refuse(row: int, why: str, before: int = done) -> NoReturn:
                table.refuse(before + row + 1, why)

            chunk = encoded(space, batch.column, len(batch), labelled, refuse)
        yield chunk
        done += len(batch)
        if progress is not None:
            progress(done, table.rows)
