"""svmlight text: ``label index:value ...``, plain or compressed."""

from pathlib import Path

from dplasso.base.wording import ParameterError
from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.options import ReadingOptions
from dplasso.reading.rows import Rows
from dplasso.reading.svmlight import read_svmlight, svmlight_chunks


class SvmlightText(Format):
    """The format of any file that no other format recognises."""

    name = "svmlight text"
    options = frozenset({"n_features", "zero_based", "feature_names"})

    def recognises(self, path: Path) -> bool:
        return True

    def read(self, path: Path, options: ReadingOptions) -> Rows:
        X, y = read_svmlight(
            path,
            n_features=options.n_features,
            zero_based=bool(options.zero_based),
            progress=options.progress,
            **options.limits,
        )
        return Rows(
            X,
            y,
            names=options.names_of(X.shape[1]),
            undeclared=frozenset({"n_features"} if options.n_features is None else ()),
            zero_based=bool(options.zero_based),
        )

    def pieces(self, path: Path, options: ReadingOptions) -> Pieces:
        if options.n_features is None:
            raise ParameterError(
                "to convert {path} piece by piece, declare its number of columns with {n_features}",
                path=path,
            )
        chunks = svmlight_chunks(
            path,
            n_features=options.n_features,
            zero_based=bool(options.zero_based),
            progress=options.progress,
            **options.limits,
        )
        names = options.names_of(options.n_features)
        return Pieces(
            chunks,
            options.n_features,
            feature_names=None if names is None else names.tolist(),
            source={"zero_based": bool(options.zero_based), "rows": options.n_rows},
        )
