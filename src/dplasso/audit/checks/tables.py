"""Does the type of a table's column affect how other rows are read?"""

import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dplasso.audit.check import Check, Session, Subject, Verdict
from dplasso.base.extras import optional, require

_ROWS = 40
_BUCKETS = 1 << 40  # so many that different texts never collide
_LARGEST = 1e15


class Tables(Check[Subject]):
    """Writes the same values to Parquet in every type that a writer may choose for their column.

    One additional row may decide the type: a missing cell or a fraction makes whole numbers
    floating-point, another digit widens all decimals, a part of a second changes the unit of all
    times. As categories, as numbers and as labels, cells must be read as the same features and the
    same classes in all of those types, to the last bit. The check is deterministic except for the
    values. It finds a text, a number or a class that depends on the type of a column. It cannot
    find changes that another program made to the values before writing them.
    """

    name = "tables"
    once = True

    def is_for(self, subject: Subject) -> bool:
        """Whether tables can be read."""
        return optional("pyarrow") is not None

    def run(self, session: Session[Subject]) -> Iterator[Verdict]:
        found = list[tuple[str, int]]()
        with tempfile.TemporaryDirectory() as folder:
            for column in _columns(session.rng):
                first, *others = (_features(Path(folder), column, kind) for kind in column.kinds)
                for kind, features in zip(column.kinds[1:], others, strict=True):
                    differing = sum(a != b for a, b in zip(first, features, strict=True))
                    found.append((f"{column.name} as {kind}", differing))
        yield from self.counted(session, "rows that the type of a column changes", found)


class _Column(NamedTuple):
    """Some values, the types that hold all of them, and whether they can be read as numbers."""

    name: str
    values: list[Any]
    kinds: list[Any]
    numeric: bool = True


def _arrow() -> Any:
    """Import pyarrow, an optional library that no other check needs."""
    return require("pyarrow", "parquet", extra="tables", purpose="the audit of tables")


def _columns(rng: np.random.Generator) -> Iterator[_Column]:
    pa = _arrow()

    decimals = [pa.decimal128(38, scale) for scale in (4, 9, 15)]
    small = rng.integers(-100, 100, _ROWS).tolist()
    yield _Column("small numbers", small, [pa.int8(), pa.int64(), pa.float32(), pa.float64()])
    large = (rng.integers(0, 50, _ROWS) + 41_440_000_000).tolist()
    yield _Column("large numbers", large, [pa.int64(), pa.uint64(), pa.float64(), *decimals])
    yield _Column(
        "flags", (rng.random(_ROWS) < 0.5).tolist(), [pa.bool_(), pa.int8(), pa.float64()]
    )
    single = rng.normal(size=_ROWS).astype(np.float32).astype(np.float64).tolist()
    yield _Column("fractions", single, [pa.float32(), pa.float64()])
    exact = [Decimal(int(k)) / 1000 for k in rng.integers(0, 10**6, _ROWS)]
    yield _Column("decimals", exact, [*decimals, pa.decimal256(60, 20)])
    texts = [f"{k}" for k in small]
    kinds = [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    yield _Column("texts", texts, kinds)
    ticks = rng.integers(0, 10**9, _ROWS)
    ticks[::2] -= ticks[::2] % 86_400  # midnight, every second time
    times = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
    zones = [pa.timestamp("us", zone) for zone in ("UTC", "Asia/Tokyo")]
    yield _Column("times", ticks.astype("datetime64[s]").tolist(), [*times, *zones], numeric=False)
    spans = [pa.duration(unit) for unit in ("s", "ms", "us", "ns")]
    yield _Column("spans", ticks.astype("timedelta64[s]").tolist(), spans, numeric=False)


def _features(folder: Path, column: _Column, kind: Any) -> list[tuple[Any, ...]]:
    """The content read from every row: its class, and the columns and values of its entries."""
    from dplasso.reading.plans import TablePlan
    from dplasso.reading.tables import column_texts, table_chunks

    pa = _arrow()
    array = pa.array([*column.values, None]).cast(kind)
    path, names = folder / "rows.parquet", ["category", "number", "y"]
    labels = pa.array([*column.values, column.values[0]]).cast(kind)
    pa.parquet.write_table(pa.table([array, array, labels], names), path)
    plan = TablePlan(
        "y",
        bounds={"number": (-_LARGEST, _LARGEST)} if column.numeric else {},
        hashed={"category": _BUCKETS},
        ignore=() if column.numeric else ("number",),
        classes=sorted({*column_texts(path, "y"), "", "another"}),
    )
    _, chunks, classes = table_chunks(path, plan.schema())
    assert classes is not None
    return [
        (classes[int(chunk.labels[row])], chunk.indices[a:b].tolist(), chunk.values[a:b].tolist())
        for chunk in chunks
        for row, (a, b) in enumerate(zip(chunk.indptr[:-1], chunk.indptr[1:], strict=True))
    ]
