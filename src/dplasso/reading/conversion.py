"""Convert a file to a column store in bounded memory."""

import os
from pathlib import Path
from typing import Any

from dplasso.base.wording import ParameterError
from dplasso.reading.byte_source import LONGEST_LINE
from dplasso.reading.formats import format_of
from dplasso.reading.options import ReadingOptions
from dplasso.reading.reader import check_options, existing
from dplasso.storage import build_store

_LINES_IN_MEMORY = 8  # a line takes about this many times its size in memory
_LEAST_LINE = 4 << 20  # bytes


def convert(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    memory: int = 2 << 30,
    overwrite: bool = False,
    **options: Any,
) -> Path:
    """Convert a file once into a column store, from which models train without loading it.

    The file may have any format that can be read piece by piece; ``memory`` is the most bytes to
    use. ``options`` are parameters of `read_rows`; ``n_features`` must be declared for svmlight
    text. Returns the absolute path of the store, a folder that is AS PRIVATE AS THE ROWS.
    """
    found = existing(path)
    check_options(found, [name for name, value in options.items() if value is not None])
    if options.get("longest_line") is None:
        longest = min(LONGEST_LINE, max(_LEAST_LINE, memory // _LINES_IN_MEMORY))
        options = {**options, "longest_line": longest}
    asked = ReadingOptions(**options)
    pieces = format_of(found).pieces(found, asked)
    if pieces.n_features is None:
        raise ParameterError(
            "to convert {path} piece by piece, declare its number of columns with {n_features}",
            path=found,
        )
    source: dict[str, Any] = {"rows": asked.n_rows}
    if pieces.plan is None:
        source["zero_based"] = pieces.zero_based
    else:
        source["plan"] = pieces.plan.to_dict()
        source["classes_declared"] = "classes" not in pieces.undeclared
    return build_store(
        output,
        pieces.chunks,
        pieces.n_features,
        memory=memory,
        overwrite=overwrite,
        feature_names=asked.names_of(pieces.n_features) if pieces.names is None else pieces.names,
        classes=pieces.classes,
        bounds=pieces.bounds,  # type: ignore[arg-type]  # written out there
        source=source,
    )
