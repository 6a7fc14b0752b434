"""A row's features follow from its cells and the schema, whatever holds the cells."""

import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import Schema, TableEncoder, read_rows
from dplasso.base.wording import ParameterError
from dplasso.schema import Category, Date, Hashed, Number, Person, Target, Text
from schemas import SMALL

FEATURES = Schema(
    {
        "number": Number(-100, 100, missing="indicator"),
        "bin": Number(-100, 100, bins=5),
        "log": Number(-100, 100, log=True, fill=0),
        "level": Category([0, 1, 2.5, "x"], missing="level"),
        "bucket": Hashed(1 << 20),
        "word": Text(1 << 20),
    }
)


def encoded(frame, schema=FEATURES):
    X = TableEncoder(schema, person="ignored").transform(frame)
    assert X.has_sorted_indices and X.format == "csr"
    return X.toarray()


def frames_of(columns):
    """The same cells in frames of every kind; None is a missing cell."""
    yield columns
    yield {name: np.array(cells, dtype=object) for name, cells in columns.items()}
    yield pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    yield pd.DataFrame(columns)
    yield pd.DataFrame(columns).convert_dtypes()
    yield pd.DataFrame(columns).astype("category")
    yield pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow")
    yield pl.DataFrame(columns, strict=False)
    table = pa.table(columns)
    yield table
    yield pa.table({name: table[name].combine_chunks().dictionary_encode() for name in columns})
    yield pa.concat_tables([table.slice(0, 1), table.slice(1)])
    if len(table):
        yield table.to_batches()[0]


@given(
    cells=st.lists(
        st.none() | st.integers(-200, 200) | st.sampled_from([2.5, 0.125, 1e-9, 0.1]),
        min_size=2,
        max_size=6,
    )
)
@settings(deadline=None, max_examples=12)
def test_numbers_are_encoded_alike_in_every_frame(cells):
    if all(isinstance(cell, int | None) for cell in cells):
        cells = [*cells, 7, None]
    cells = [float(cell) if isinstance(cell, int) else cell for cell in cells]
    columns = dict.fromkeys(FEATURES.columns, cells)
    wanted = encoded(columns)
    for frame in frames_of(columns):
        assert np.array_equal(encoded(frame), wanted)
    single = [encoded({name: [cell] for name in columns}) for cell in cells]
    assert np.array_equal(np.vstack(single), wanted)
    assert np.abs(wanted).max() <= 1.0


@given(
    cells=st.lists(
        st.none() | st.text(max_size=5) | st.sampled_from(["x", "NA", "1", "0"]), min_size=2
    )
)
@settings(deadline=None, max_examples=12)
def test_texts_are_encoded_alike_in_every_frame(cells):
    texts = Schema({name: FEATURES.columns[name] for name in ("level", "bucket", "word")})
    columns = {name: [*cells, "word", None] for name in texts.columns}
    wanted = encoded(columns, texts)
    for frame in frames_of(columns):
        assert np.array_equal(encoded(frame, texts), wanted)


WHOLE = [0, 1, 1, 100, 3]


@pytest.mark.parametrize(
    "cells",
    [
        np.array(WHOLE, np.int8),
        np.array(WHOLE, np.uint64),
        np.array(WHOLE, np.float16),
        np.array(WHOLE, np.float32),
        pd.Series(WHOLE, dtype="Int16"),
        pd.Series(WHOLE, dtype=pd.SparseDtype("float64")),
        pd.Series(WHOLE).astype("category"),
        pd.Series([str(one) for one in WHOLE], dtype="category"),
        pd.Series([str(one) for one in WHOLE], dtype="string"),
        pl.Series([str(one) for one in WHOLE], dtype=pl.Categorical),
        pl.Series(WHOLE, dtype=pl.UInt8),
        pa.array(WHOLE, pa.decimal128(10, 3)),
        pa.chunked_array([[0, 1], [1], [100, 3]]),
        [Decimal(one) for one in WHOLE],
        [np.float32(one) for one in WHOLE],
        [0, True, "1", 100.0, Decimal("3.00")],
        [str(one) for one in WHOLE],
    ],
    ids=lambda cells: f"{type(cells).__name__}-{getattr(cells, 'dtype', '')}",
)
def test_the_type_of_a_column_does_not_matter(cells):
    names = list(FEATURES.columns)
    wanted = encoded(dict.fromkeys(names, WHOLE))
    assert np.array_equal(encoded(dict.fromkeys(names, cells)), wanted)


def test_dates_are_encoded_alike_in_every_frame():
    schema = Schema({"day": SMALL.columns["visit"]})
    days = [datetime(2020, 1, 1), datetime(2023, 12, 31, 23), None, datetime(2022, 1, 1)]
    texts = ["2020-01-01", "2023-12-31 23:00", None, "2022-01-01T00:00:00"]
    wanted = encoded({"day": days}, schema)
    names = TableEncoder(schema).get_feature_names_out().tolist()
    assert wanted[0, names.index("day (trend) (scaled)")] == -1 and wanted[2, :2].tolist() == [0, 0]
    assert wanted[1, names.index("day on Sunday")] == wanted[1, names.index("day in hour 23")] == 1
    assert wanted[1, names.index("day in month 12")] == 1 and wanted[2].sum() == 0
    for cells in (
        texts,
        pd.Series(days),
        pd.Series(days).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pl.Series(days),
        pa.array(days, pa.timestamp("ns")),
        pa.array(texts).dictionary_encode(),
        [date(2020, 1, 1), *days[1:]],
    ):
        assert np.array_equal(encoded({"day": cells}, schema), wanted)
    german = Schema({"day": Date(["month", "trend"], "2020-01-01", "2024-01-01", "%d.%m.%Y")})
    found = [encoded({"day": cells}, german) for cells in (["31.12.2023"], [date(2023, 12, 31)])]
    assert np.array_equal(*found)


def rows_of_small():
    return {
        "age": [30.5, None, 200.0, 0.0],
        "income": [0.0, 10.0, None, 5000.0],
        "dose": [1.0, 2.0, None, 9.0],
        "town": ["Ulm", "NA", None, "Bonn"],
        "ward": ["a", None, "b", "a"],
        "visit": ["2020-01-01", "2023-12-31", None, "1999-01-01"],
        "note": ["the cat", None, "", "a dog-cat"],
        "id": ["1", "2", "3", "4"],
        "patient": ["p1", "p1", None, "p2"],
        "sick": ["yes", "no", "no", "yes"],
    }


def test_every_role_gives_its_features():
    X = encoded(rows_of_small(), SMALL)
    names = TableEncoder(SMALL).get_feature_names_out().tolist()

    def column(name):
        return X[:, names.index(name)].tolist()

    assert column("age (scaled)") == [(30.5 - 60) / 60, 0, 1, -1]
    assert column("age is missing") == [0, 1, 0, 0]
    assert column("income (log) (scaled)")[0] == -1 and column("income (log) (scaled)")[2:] == [
        0,
        1,
    ]
    assert [column(f"dose in {ends}") for ends in ("[0, 2)", "[2, 5)", "[5, 10]")] == [
        [1, 0, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 1],  # a missing cell is in the bin of the middle
    ]
    assert column("town=Ulm") == [1, 0, 0, 0] and column("town=NA") == [0, 1, 0, 0]
    assert column("town is missing") == [0, 0, 1, 0] and "town=Bonn" not in names
    assert column("visit (trend) (scaled)") == [
        -1,
        X[1, names.index("visit (trend) (scaled)")],
        0,
        -1,
    ]
    assert np.abs(X).max() == 1.0 and len(names) == len(set(names)) == X.shape[1]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_files_and_frames_are_read_alike(tmp_path, kind):
    table, path = pa.table(rows_of_small()), tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pa.parquet.write_table(table, path)
    else:
        with pa.output_stream(path, compression="detect") as stream:
            pa.csv.write_csv(table, stream)
    frame = rows_of_small()
    if kind.startswith("csv"):
        frame["note"] = ["the cat", None, None, "a dog-cat"]
    ours, theirs = read_rows(path, schema=SMALL), read_rows(frame, schema=SMALL)
    assert (ours.X != theirs.X).nnz == 0 and ours.y.tolist() == theirs.y.tolist()
    assert ours.bounds == theirs.bounds and ours.recipe == theirs.recipe
    assert ours.groups.tolist() == theirs.groups.tolist() == ["p1", "p1", None, "p2"]
    assert ours.class_weight == {"no": 0.5, "yes": 1.0} and ours.declared_rows == 100
    assert ours.described().groups is ours.groups
    # Numbers are only clipped, within the ranges that go with them.
    lows, highs = ours.bounds.ends().T
    dense = ours.X.toarray()
    assert np.all(dense >= lows) and np.all(dense <= highs) and dense[2, 0] == 120


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_is_split_into_features_labels_and_people(make):
    X, y, groups = SMALL.split(make(rows_of_small()))
    assert y.tolist() == ["yes", "no", "no", "yes"]
    assert groups.tolist() == ["p1", "p1", None, "p2"]
    if make is not dict:
        assert type(X) is type(make(rows_of_small()))
    names = list(X) if make is dict else list(getattr(X, "column_names", X.columns))
    assert names == list(SMALL.features)
    numbers = Schema({"age": Number(0, 1), "y": Target(low=0, high=9)})
    X, y, groups = numbers.split(make({"y": [3, 4], "age": [1, 2]}))
    assert y.tolist() == [3.0, 4.0] and groups is None


def test_identifiers_are_compared_to_the_letter():
    schema = Schema({"age": Number(0, 1), "who": Person(), "y": Target(low=0, high=1)})
    large = 2**53
    frame = {"age": [1] * 6, "y": [1] * 6, "who": ["a", "A", "a ", str(large), large + 1, large]}
    groups = schema.split(frame)[2].tolist()
    assert groups == ["a", "A", "a ", str(large), str(large + 1), str(large)]
    assert schema.split(frame | {"who": np.arange(6) + large})[2].tolist()[1] == str(large + 1)


SECRET = "s3cret"


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"age": [1, SECRET]}, "row 2 of the frame has no number in column 'age'"),
        ({"age": [1, [SECRET]]}, "column 'age' of X must hold numbers and texts"),
        (
            {"age": [1, 2], "day": ["2020-01-01", SECRET]},
            "row 2 .* no date of the form ISO 8601.* state their format in the schema",
        ),
        ({"age": [1, 2], "day": [date(2020, 1, 2), SECRET]}, "column 'day' of X must hold numbers"),
        ({"day": ["2020-01-01"]}, "X has no column 'age', which the schema names"),
        ({"age": [1, 2], "day": [None]}, "columns of X differ in length"),
        (np.eye(2), "X must be a frame whose columns have names .*, got ndarray"),
    ],
)
def test_errors_name_rows_and_columns_but_no_value(frame, reason):
    schema = Schema({"age": Number(0, 1), "day": Date(["month"])})
    if isinstance(frame, dict) and "day" not in frame:
        frame = frame | {"day": [None, None]}
    with pytest.raises(ValueError, match=reason) as refusal:
        encoded(frame, schema)
    assert SECRET not in str(refusal.value)
    two = pd.DataFrame([[1, 2]], columns=["age", "age"])
    with pytest.raises(ValueError, match="more than one column 'age'"):
        encoded(two, schema)


@given(
    cells=st.lists(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-(2**70), 2**70),
            st.none() | st.floats(-(2.0**52), 2.0**52, width=32) | st.just(math.nan),
            st.sampled_from([Decimal("0.1"), Decimal("2.50"), "", " 7 ", "NA", "1", "1.0", b"2"]),
            st.sampled_from([np.float32(0.1), np.int8(3), np.True_, np.str_("1")]),
        ),
        min_size=2,
        max_size=5,
    )
)
@settings(deadline=None, max_examples=40)
def test_no_row_changes_the_features_of_another(cells):
    """Whatever kinds of values the other rows of a column hold."""
    columns = dict.fromkeys(FEATURES.columns, cells)
    wanted = np.vstack([encoded({name: [cell] for name in columns}) for cell in cells])
    assert np.array_equal(encoded(columns), wanted)
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name in columns})
    assert np.array_equal(encoded(frame), wanted)


LONG = [9007199254740993, 9007199254740992, 7]


@pytest.mark.parametrize("role", [Person(), Hashed(1 << 20), Category([7, "9007199254740993"])])
def test_a_gap_in_one_row_never_merges_long_numbers_of_others(tmp_path, role):
    """With a gap, pandas holds whole numbers in floating point, where long ones are rounded."""
    schema = Schema({"id": role, "age": Number(0, 9), "y": Target(["a", "b"])}, n_rows=4)
    rows = {"age": [1, 2, 3, 4], "y": ["a", "b", "a", "b"]}
    exact = pd.DataFrame({"id": pd.array([*LONG, None], "Int64"), **rows})
    found = read_rows(exact, schema=schema)
    if isinstance(role, Person):
        assert found.groups.tolist() == [*map(str, LONG), None]
    rounded = pd.DataFrame({"id": [*map(float, LONG), np.nan], **rows})
    pa.parquet.write_table(pa.Table.from_pandas(rounded), tmp_path / "rounded.parquet")
    for given_rows in (rounded, rounded.astype({"id": object}), tmp_path / "rounded.parquet"):
        with pytest.raises(ValueError, match="rounded") as raised:
            read_rows(given_rows, schema=schema)
        assert "900719" not in str(raised.value)
    single = pd.DataFrame({"id": np.array([16777217, 16777216, 7, 8], np.float32), **rows})
    if isinstance(role, Person):
        with pytest.raises(ValueError, match="rounded"):
            read_rows(single, schema=schema)


def test_times_follow_from_their_microseconds_however_they_are_stored():
    """A date that nanoseconds cannot hold makes pandas store dates as objects."""
    schema = Schema({"at": Hashed(1 << 20), "y": Target(["a", "b"])}, n_rows=2)
    first, y = "2020-01-01T10:00:00.123456789", ["a", "b"]
    fine = pd.DataFrame({"at": np.array([first, "2021-01-01"], "datetime64[ns]"), "y": y})
    objects = fine.astype({"at": object})
    objects.loc[1, "at"] = datetime(9999, 1, 1)
    rows = [read_rows(frame, schema=schema).X[[0]].indices for frame in (fine, objects)]
    assert rows[0].tolist() == rows[1].tolist()


_N = 12
ODD = {
    "lists": pa.array([[1, 2]] * _N),
    "lists of polars": pl.Series([[1]] * _N),
    "records": pa.array([{"a": 1}] * _N),
    "maps": pa.array([[("a", 1)]] * _N, pa.map_(pa.string(), pa.int64())),
    "unions": pa.UnionArray.from_sparse(pa.array([0] * _N, pa.int8()), [pa.array([1] * _N)]),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([_N], pa.int32()), pa.array(["a"])),
    "intervals": pa.array([(1, 2, 3)] * _N, pa.month_day_nano_interval()),
    "intervals of pandas": pd.cut(pd.Series(range(_N)), 3),
    "bytes": pa.array([b"\xff\xfe"] * _N),
    "bytes of a size": pa.array([b"\xff\xfe"] * _N, pa.binary(2)),
    "bytes in a dictionary": pa.array([b"\xff\xfe"] * _N).dictionary_encode(),
    "bytes of an extension": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([b"\xff" * 16] * _N, pa.binary(16))
    ),
    "objects": [object()] * _N,
    "objects of polars": pl.Series([object()] * _N, dtype=pl.Object),
    "complex numbers": np.array([1j] * _N),
}


@pytest.mark.parametrize("role", [Number(0, 1), Category(["a"]), Hashed(8), Person(), Target()])
@pytest.mark.parametrize("odd", ODD)
def test_columns_without_cells_are_refused_in_our_words(odd, role):
    columns = {"x": Number(0, 1), "odd": role}
    if isinstance(role, Target):
        columns["odd"] = Target(["a", "b"])
    else:
        columns["sick"] = Target(["no", "yes"])
    frame = {"x": [0.5] * _N, "odd": ODD[odd], "sick": ["no", "yes"] * 6}
    with pytest.raises(ParameterError, match="^column 'odd' of X must hold .*; got .*; convert it"):
        read_rows(frame, schema=Schema(columns))


@pytest.mark.parametrize("classes", [["false", "true"], ["False", "True"], ["0", "1"]])
def test_booleans_are_classes_however_they_are_stored(classes):
    plain = [True, False] * 6
    schema = Schema({"x": Number(0, 1), "sick": Target(classes)})
    for stored in (
        plain,
        [np.bool_(one) for one in plain],
        np.array(plain),
        np.array(plain, object),
        pd.Series(plain, dtype="boolean"),
        pd.Series(plain).astype("category"),
        pd.Series(plain, dtype=object),
        pl.Series(plain),
        pa.array(plain),
        pa.array(plain).dictionary_encode(),
        pa.array([1, 0] * 6),
    ):
        rows = read_rows({"x": [0.5] * 12, "sick": stored}, schema=schema)
        assert rows.y.tolist() == [classes[1], classes[0]] * 6


def test_a_boolean_among_texts_keeps_its_text():
    """Another cell that is a text changes no cell that is a boolean."""
    schema = Schema({"x": Category(["1", "0"])})
    whole = TableEncoder(schema).transform({"x": [True, False] * 6})
    beside = TableEncoder(schema).transform({"x": [True, False] * 5 + [True, "text"]})
    assert np.array_equal(whole.toarray()[:11], beside.toarray()[:11])
