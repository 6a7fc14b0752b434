"""What a cell is read as depends on its value, never on the type of its column."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.data.row_chunks import assemble
from dplasso.reading.plans import TablePlan
from dplasso.reading.tables import column_texts, table_chunks
from dplasso.schema import FeatureSpace, Schema
from dplasso.schema.cells import Cells, numbers
from dplasso.schema.schema import CELL_RULE

NAIVE = dt.datetime(2020, 1, 31, 14, 30, 0, 250_000)
AWARE = NAIVE.replace(tzinfo=dt.UTC)
BUCKETS = 1 << 40  # so many that different texts never meet


def written(folder, column, labels=None):
    path = folder / "rows.parquet"
    table = {"cell": column, "y": ["no"] * len(column) if labels is None else labels}
    if isinstance(column, pd.Series):
        pd.DataFrame(table).to_parquet(path)
    else:
        pa.parquet.write_table(pa.table(table), path)
    return path


def features(folder, column, **plan):
    """Features of every row of a column, as a tuple of their places and values each."""
    roles = plan or {"hashed": {"cell": BUCKETS}}
    plan = TablePlan("y", **roles, classes=["no", "yes"]).schema()
    _, chunks, _ = table_chunks(written(folder, column), plan)
    found = []
    for chunk in chunks:
        for first, last in zip(chunk.indptr[:-1], chunk.indptr[1:], strict=True):
            row = chunk.indices[first:last].tolist(), chunk.values[first:last].tolist()
            found.append(tuple(zip(*row, strict=True)))
    return found


def texts(folder, column):
    return list(column_texts(written(folder, column), "cell"))


# Rows that stay, and one more by which pandas or pyarrow choose another type for all of them.
BY_PANDAS = {
    "a missing whole number": ([41_440_000_037, 3, 41_440_000_037], np.nan),
    "a fraction among whole numbers": ([10**10, 12_345_678, 0, -7], 0.5),
    "a wider whole number": (np.array([1, 2, 100], np.int8), 10**12),
    "an unsigned one": ([1, 2, 3], 2**63 + 1),
    "a whole number among flags": (np.array([True, False]), 2),
    "a number of single precision": (np.array([0.1, 2.5, 1e10], np.float32), 0.1),
    "a time with a fraction of a second": (
        pd.to_datetime([0, 3, 86_400, 90_061], unit="s").as_unit("s"),
        pd.Timestamp("2020-01-01 00:00:00.5"),
    ),
    "a span with a fraction of a second": (
        pd.to_timedelta([0, -90, 90_061], unit="s").as_unit("s"),
        pd.Timedelta("0.5s"),
    ),
    "a decimal of another scale": ([Decimal("0.10"), Decimal("7.00")], Decimal("0.001")),
    "a missing decimal": ([Decimal("0.10"), Decimal("7.00")], None),
    "bytes": (["ö", "7"], b"x"),
    "another zone": ([AWARE, AWARE], AWARE.astimezone(dt.timezone(dt.timedelta(hours=2)))),
}


def both(stay, more):
    """The column as pandas holds it without the last row, and with it."""
    first = pd.Series(stay)
    if isinstance(stay, list):
        return first, pd.Series([*stay, more])
    if isinstance(stay, np.ndarray):  # as numpy's own rules have it
        return first, pd.Series(np.append(stay, more))
    return first, pd.concat([first, pd.Series([more])], ignore_index=True)


@pytest.mark.parametrize("name", BY_PANDAS)
def test_one_row_more_leaves_the_features_of_all_others(tmp_path, name):
    without, added = both(*BY_PANDAS[name])
    found, others = features(tmp_path, without), features(tmp_path, added)
    assert found == others[:-1] and all(found)


VALUES = {
    "7": [
        *(pa.array([7], kind) for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64())),
        pa.array(np.array([7], np.float16)),
        *(pa.array([Decimal(7)], kind) for kind in (pa.decimal128(3, 1), pa.decimal256(60, 20))),
        *(pa.array(["7"], kind) for kind in (pa.string(), pa.large_string(), pa.binary())),
        pa.array(["7"]).dictionary_encode(),
        pa.array([7]).dictionary_encode(),
        pa.array([7], pa.duration("s")),
        pa.array([7 * 10**9], pa.duration("ns")),
    ],
    "1": [pa.array([True]), pa.array([1]), pa.array([1.0])],
    "0": [pa.array([False]), pa.array([0]), pa.array([-0.0]), pa.array([Decimal("0.000")])],
    "41440000000": [pa.array([41_440_000_000]), pa.array([41_440_000_000.0])],
    "-9223372036854775808": [pa.array([-(2**63)]), pa.array([-(2.0**63)])],
    "18446744073709551615": [
        pa.array([2**64 - 1], pa.uint64()),
        pa.array([Decimal(2**64 - 1)], pa.decimal128(30, 5)),
    ],
    "9007199254740994": [pa.array([2**53 + 2]), pa.array([2.0**53 + 2.0])],
    "10000000000000000000000": [
        pa.array([1e22]),
        pa.array([Decimal(10) ** 22], pa.decimal128(38, 2)),
    ],
    "0.10000000149011612": [
        pa.array([0.1], pa.float32()),
        pa.array([float(np.float32(0.1))]),
    ],
    "0.1": [
        pa.array([0.1]),
        pa.array([Decimal("0.1")]),
        pa.array([Decimal("0.1")], pa.decimal128(30, 20)),
    ],
    "1e-20": [pa.array([1e-20]), pa.array([Decimal("1e-20")], pa.decimal128(38, 30))],
    "inf": [pa.array([np.inf]), pa.array([np.inf], pa.float32())],
    "2020-01-31": [
        pa.array([dt.date(2020, 1, 31)], pa.date32()),
        pa.array([dt.date(2020, 1, 31)], pa.date64()),
        pa.array([dt.datetime(2020, 1, 31)], pa.timestamp("s")),
        pa.array([dt.datetime(2020, 1, 31)], pa.timestamp("ns", "UTC")),
    ],
    "2020-01-31 14:30:00.25": [
        *(pa.array([NAIVE], pa.timestamp(unit)) for unit in ("ms", "us", "ns")),
        pa.array([AWARE], pa.timestamp("ms", "UTC")),
        pa.array([AWARE], pa.timestamp("us", "Asia/Tokyo")),
    ],
    "1960-12-31 23:59:59": [
        pa.array([dt.datetime(1960, 12, 31, 23, 59, 59)], pa.timestamp(unit))
        for unit in ("s", "ms", "us", "ns")
    ],
    "14:30:00.25": [
        pa.array([NAIVE.time()], kind)
        for kind in (pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    ],
    "-0.5": [
        pa.array([-500], pa.duration("ms")),
        pa.array([-500_000_000], pa.duration("ns")),
        pa.array([-0.5]),
    ],
    "": [
        pa.array([np.nan]),
        pa.array([None], pa.float32()),
        pa.array([None], pa.int64()),
        pa.nulls(1),
        pa.array([None], pa.timestamp("s")),
    ],
}


@pytest.mark.parametrize("text", VALUES)
def test_equal_values_have_one_text_in_columns_of_any_type(tmp_path, text):
    for column in VALUES[text]:
        assert texts(tmp_path, column) == [text], column.type


def test_a_missing_value_of_a_dictionary_is_missing():
    """Arrow does not write such columns to Parquet itself."""
    column = pa.DictionaryArray.from_arrays([2, 0, None, 1], pa.array(["b", None, "a", "unused"]))
    cells = Cells.of(column)
    assert [[*cells.texts, ""][code] for code in cells.codes] == ["a", "b", "", ""]
    column = pa.DictionaryArray.from_arrays([1, 0], pa.array([None, "7"]))
    assert np.array_equal(numbers(column), [7.0, np.nan], equal_nan=True)


def held(kind, value):
    """A column of one value, or None where the type does not hold it exactly."""
    try:
        if pa.types.is_decimal(kind):
            column = pa.array([Decimal(value.numerator) / Decimal(value.denominator)], kind)
        elif pa.types.is_integer(kind):
            column = pa.array([value.numerator], kind) if value.denominator == 1 else None
        else:
            column = pa.array([float(value)], kind)
    except (pa.ArrowInvalid, OverflowError):
        return None
    return column if column is not None and column[0].as_py() == value else None


NUMBERS = [pa.int16(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]
NUMBERS += [pa.decimal128(38, scale) for scale in (0, 3, 12)] + [pa.decimal256(70, 20)]


@given(
    st.integers(-(2**63), 2**64 - 1).map(Fraction)
    | st.integers(-(10**6), 10**6).map(lambda k: Fraction(k, 1024))
    | st.floats(allow_nan=False, allow_infinity=False, width=32).map(Fraction)
    | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)
)
@settings(deadline=None, max_examples=150)
def test_a_number_is_the_same_in_every_type_that_holds_it(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("numbers")
    columns = [column for column in (held(kind, value) for kind in NUMBERS) if column is not None]
    bounds = {"bounds": {"cell": (-1e308, 1e308)}}
    assert len({texts(folder, column)[0] for column in columns}) == 1
    assert len({str(features(folder, column, **bounds)) for column in columns}) == 1


@given(st.decimals(-1000, 1000, places=6))
@settings(deadline=None, max_examples=100)
def test_the_double_of_a_decimal_is_the_nearest_whatever_its_scale(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("decimals")
    for scale in (6, 9, 25):
        column = pa.array([value], pa.decimal128(38, scale))
        row = features(folder, column, bounds={"cell": (-1000, 1000)})
        assert row == ([((0, float(value)),)] if value else [()])
    # A CSV cell with the same digits is the same number.
    (folder / "rows.csv").write_text(f"cell,y\n{value:f},no\n")
    plan = TablePlan("y", bounds={"cell": (-1000, 1000)}, classes=["no", "yes"]).schema()
    X, _ = assemble(table_chunks(folder / "rows.csv", plan)[1], 2)
    assert X[[0], [0]][0] == float(value)


def test_a_csv_cell_is_read_without_regard_to_other_rows(tmp_path):
    stay = ["007", "7", "7.0", "true", "1e3", "2020-01-31"]
    for more in ("", "x", "0.5", "2020-01-31T12:00", "NA"):
        path = tmp_path / "rows.csv"
        path.write_text("\n".join(["cell,y", *(f"{cell},1" for cell in [*stay, more])]) + "\n")
        assert list(column_texts(path, "cell"))[:-1] == stay


def test_times_are_no_numbers_in_any_unit(tmp_path):
    for kind in (pa.date32(), pa.timestamp("s"), pa.duration("ms"), pa.time32("s")):
        with pytest.raises(ValueError, match="row 1 has no number in column 'cell'"):
            features(tmp_path, pa.array([1], kind), bounds={"cell": (0, 9)})


@pytest.mark.parametrize("classes", [["false", "true"], ["0", "1"]])
@pytest.mark.parametrize("kind", [pa.bool_(), pa.int8(), pa.float64()])
def test_labels_of_booleans_may_be_called_by_either_name(tmp_path, classes, kind):
    path = written(tmp_path, ["a", "b"], pa.array([1, 0]).cast(kind))
    plan = TablePlan("y", hashed={"cell": 4}, classes=classes).schema()
    _, y = assemble(table_chunks(path, plan)[1], 4)
    assert y.tolist() == [1, 0]


def test_labels_that_are_text_match_to_the_letter(tmp_path):
    path = written(tmp_path, ["a", "b"], ["1", "0"])
    plan = TablePlan("y", hashed={"cell": 4}, classes=["false", "true"]).schema()
    with pytest.raises(ValueError, match="not among the classes"):
        list(table_chunks(path, plan)[1])


@pytest.mark.filterwarnings("error")
def test_a_plan_of_the_first_rule_warns_where_texts_may_have_changed(tmp_path):
    schema = TablePlan("y", hashed={"cell": 4}, classes=["no", "yes"]).schema()
    assert schema.to_dict()["cell_rule"] == CELL_RULE
    plan = {"target": "y", "bounds": [], "hashed": [["cell", 4]], "buckets": 4096, "text": []}
    plan |= {"ignore": [], "classes": ["no", "yes"], "delimiter": None, "complete": True}
    old = Schema.from_dict(plan)
    assert FeatureSpace(old).starts == {"cell": 0}
    for column in (pa.array(["a"]), pa.array([1]), pa.array([dt.date(2020, 1, 31)])):
        table_chunks(written(tmp_path, column), old)
    for column in (pa.array([1.0]), pa.array([True]), pa.array([NAIVE])):
        with pytest.raises(UserWarning, match="'cell' may fall into other buckets"):
            table_chunks(written(tmp_path, column), old)
    with pytest.raises(ValueError, match="newer version"):
        Schema.from_dict({**plan, "cell_rule": CELL_RULE + 1})
