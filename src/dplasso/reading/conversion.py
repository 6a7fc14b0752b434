"""Convert a file to a column store in bounded memory."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dplasso.base import checks
from dplasso.base.wording import ParameterError
from dplasso.data.row_chunks import RowChunk
from dplasso.reading.byte_source import LONGEST_LINE
from dplasso.reading.files import Files, PathLike, Unchanged
from dplasso.reading.formats import format_of
from dplasso.reading.options import ReadingOptions
from dplasso.reading.reader import check_options
from dplasso.storage import build_store

_LINES_IN_MEMORY = 8  # a line takes about this many times its size in memory
_LEAST_LINE = 4 << 20  # bytes


def convert(
    path: PathLike | Sequence[PathLike] | Files,
    output: PathLike,
    *,
    memory: int = 2 << 30,
    overwrite: bool = False,
    shards: int | None = None,
    **options: Any,
) -> Path:
    """Convert a file once into a column store, from which models train without loading it.

    ``path`` names one file or several, as for `read_rows`.
    The file may have any format that can be read piece by piece; ``memory`` is the most bytes to
    use. ``options`` are parameters of `read_rows`; ``n_features`` must be declared for svmlight
    text. With ``shards``, the folder has that many stores, with about as many rows each, for
    `dplasso.Shards`. Returns the absolute path of the store, a folder that is AS PRIVATE AS THE
    ROWS.
    """
    found = Files.of(path)
    check_options(found, [name for name, value in options.items() if value is not None])
    if options.get("longest_line") is None:
        longest = min(LONGEST_LINE, max(_LEAST_LINE, memory // _LINES_IN_MEMORY))
        options = {**options, "longest_line": longest}
    asked, as_found = ReadingOptions(**options), found.unchanged()
    pieces = format_of(found).pieces(found, asked)
    if pieces.n_features is None:
        raise ParameterError(
            "to convert {path} piece by piece, declare its number of columns with {n_features}",
            path=found,
        )
    stated = None if pieces.schema is None else pieces.schema.n_rows
    source: dict[str, Any] = {"rows": asked.n_rows or stated}
    if pieces.schema is None:
        source["zero_based"] = pieces.zero_based
    else:
        source["plan"] = pieces.schema.to_dict()
        source["classes_declared"] = "classes" not in pieces.undeclared
    return build_store(
        output,
        _checked_at_the_end(pieces.chunks, as_found),
        pieces.n_features,
        memory=memory,
        overwrite=overwrite,
        shards=None if shards is None else checks.count("shards", shards, least=1),
        feature_names=asked.names_of(pieces.n_features) if pieces.names is None else pieces.names,
        classes=pieces.classes,
        bounds=pieces.bounds,  # type: ignore[arg-type]  # written out there
        source=source,
        with_people=pieces.schema is not None and pieces.schema.person is not None,
    )


def _checked_at_the_end(chunks: Iterable[RowChunk], as_found: Unchanged) -> Iterator[RowChunk]:
    """The same chunks; an error before the store is complete if the files were changed."""
    yield from chunks
    as_found.check()
