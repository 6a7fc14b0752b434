"""svmlight text: ``label index:value ...``, plain or compressed."""

from collections.abc import Iterator
from pathlib import Path

from dplasso.base.wording import ParameterError, Setting
from dplasso.data.row_chunks import RowChunk
from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.formats.table import Table
from dplasso.reading.options import Progress, ReadingOptions
from dplasso.reading.svmlight import svmlight_chunks


class SvmlightText(Format):
    """The format of any file that no other format recognises."""

    name = "svmlight text"
    options = frozenset({"n_features", "zero_based", "feature_names"})
    takes_parts = True

    def recognises(self, path: Path) -> bool:
        return True

    def refuse(self, files: Files, parameter: str, taken_by: str) -> ParameterError:
        if parameter not in Table.options:
            return super().refuse(files, parameter, taken_by)
        return ParameterError(
            "{parameter} is for a table, and {path} is read as svmlight text, since its name has "
            "no ending of a table; let it end in .csv if it is one, or leave {parameter} out",
            parameter=Setting(parameter),
            path=files,
        )

    def pieces(self, files: Files, options: ReadingOptions) -> Pieces:
        columns, zero_based = options.n_features, bool(options.zero_based)
        return Pieces(
            _chunks(files, options, zero_based),
            columns,
            undeclared=frozenset({"n_features"} if columns is None else ()),
            zero_based=zero_based,
        )


def _chunks(files: Files, options: ReadingOptions, zero_based: bool) -> Iterator[RowChunk]:
    done = 0
    for path in files.paths:
        yield from svmlight_chunks(
            path,
            n_features=options.n_features,
            zero_based=zero_based,
            progress=_after(done, options.progress, len(files.paths) > 1),
            **options.limits,
        )
        done += path.stat().st_size


def _after(done: int, progress: Progress | None, parted: bool) -> Progress | None:
    """Count the bytes of earlier parts too; the total of all parts is not known."""
    if progress is None or not parted:
        return progress
    return lambda read, _: progress(done + read, None)
