"""svmlight text: ``label index:value ...``, plain or compressed."""

from pathlib import Path

from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.options import ReadingOptions
from dplasso.reading.svmlight import svmlight_chunks


class SvmlightText(Format):
    """The format of any file that no other format recognises."""

    name = "svmlight text"
    options = frozenset({"n_features", "zero_based", "feature_names"})

    def recognises(self, path: Path) -> bool:
        return True

    def pieces(self, path: Path, options: ReadingOptions) -> Pieces:
        columns, zero_based = options.n_features, bool(options.zero_based)
        return Pieces(
            svmlight_chunks(
                path,
                n_features=columns,
                zero_based=zero_based,
                progress=options.progress,
                **options.limits,
            ),
            columns,
            undeclared=frozenset({"n_features"} if columns is None else ()),
            zero_based=zero_based,
        )
