"""Bugs by which the type of a table's column affects other rows."""

import pyarrow as pa
import pyarrow.compute

from dplasso.schema import cells
from planted.bug import of_any_size


def texts_by_type(monkeypatch):
    """The text of a cell is what Arrow writes for the type of its column."""
    monkeypatch.setattr(cells, "_plain", lambda column: column)
    monkeypatch.setattr(cells, "_texts", lambda values: values.cast(pa.string()).to_pylist())


def times_by_unit(monkeypatch):
    """Times and spans of time are written with all digits of their unit."""
    right = cells._texts

    def texts(values):
        by_arrow = pa.types.is_timestamp(values.type) or pa.types.is_duration(values.type)
        return values.cast(pa.string()).to_pylist() if by_arrow else right(values)

    monkeypatch.setattr(cells, "_texts", texts)


def decimals_by_scale(monkeypatch):
    """A decimal becomes a number by Arrow's cast, which multiplies by a power of ten."""
    right = cells._plain

    def plain(column):
        return column.cast(pa.float64()) if pa.types.is_decimal(column.type) else right(column)

    monkeypatch.setattr(cells, "_plain", plain)


@of_any_size
def decimals_times(monkeypatch, size):
    """Decimals are read as a little more than they are."""
    right = cells._plain

    def plain(column):
        if not pa.types.is_decimal(column.type):
            return right(column)
        return pa.compute.multiply(right(column).cast(pa.float64()), size)

    monkeypatch.setattr(cells, "_plain", plain)
