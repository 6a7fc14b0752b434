"""Which files hold the rows, and how they are read: all that a driver knows of them."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dplasso.base import checks
from dplasso.base.wording import ParameterError
from dplasso.reading.files import Files, PathLike
from dplasso.schema import Schema
from dplasso.storage.column_format import HEADER

# Parameters of `read_rows` that have no meaning for parts of the rows, or are the driver's.
_NOT_TAKEN = ("like", "labels", "labelled", "progress", "x_bound")


class Shards:
    """Rows in files that several processes read, each its own part.

    Parameters
    ----------
    path : str or path, or a sequence of them
        A folder of files or of column stores (``dplasso convert --shards`` writes one), or the
        files themselves: svmlight text, tables with a schema, or column stores. A folder or a
        pattern is looked up where the fit is started. Files that are named one by one only have to
        exist, under the same name, where they are read.
    **options
        Parameters of `dplasso.read_rows` that say how the files are read. Facts that one file
        cannot tell for all must be declared: ``n_features`` of svmlight text, and the classes of a
        table.

    Examples
    --------
    >>> Shards(["rows-0.svm", "rows-1.svm"], n_features=100).count
    2
    """

    def __init__(self, path: PathLike | Sequence[PathLike], **options: Any) -> None:
        for name in _NOT_TAKEN:
            if name in options:
                raise TypeError(f"Shards got an unexpected option {name!r}")
        self.paths = _paths(path)
        self.options = {name: value for name, value in options.items() if value is not None}
        schema, names = options.get("schema"), options.get("feature_names")
        if schema is not None and not isinstance(schema, Schema):
            self.options["schema"] = Schema.from_toml(schema)
        if isinstance(names, str | os.PathLike):
            self.options["feature_names"] = Path(names).read_text("utf-8").splitlines()

    @property
    def count(self) -> int:
        """The number of files or column stores."""
        return len(self.paths)

    def divided(self, parts: int) -> list[tuple[str, ...]]:
        """Divide the files evenly among ``parts`` processes, in order.

        Parameters
        ----------
        parts : int
            The number of processes.

        Returns
        -------
        list of tuple of str
        """
        checks.count("actors", parts, least=1)
        if parts > self.count:
            raise ParameterError(
                "{actors} must not exceed the number of files, {count:,}, got {parts:,}; give "
                "fewer, or divide the rows by dplasso convert --shards",
                count=self.count,
                parts=parts,
            )
        ends = [self.count * part // parts for part in range(parts + 1)]
        return [self.paths[a:b] for a, b in zip(ends, ends[1:], strict=False)]


def _paths(path: PathLike | Sequence[PathLike]) -> tuple[str, ...]:
    one = isinstance(path, str | os.PathLike)
    given = [Path(path)] if one else [Path(each) for each in path]  # type: ignore[arg-type, union-attr]
    if len(given) > 1 and not any(each.exists() for each in given):
        return tuple(str(each) for each in given)  # elsewhere: whoever reads them checks them
    found = [place for each in given for place in _expanded(each)]
    return tuple(os.path.abspath(place) for place in found)


def _expanded(path: Path) -> list[Path]:
    """The parts of a folder of column stores, or the files that a path names."""
    if path.is_dir() and not (path / HEADER).exists():
        inside = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
        if inside and all((entry / HEADER).is_file() for entry in inside):
            return inside
    return list(Files.of(path).paths)
