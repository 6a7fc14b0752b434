"""Tables become the features that their plan says, the same from either format and at any time."""

import json
import math
import traceback
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from dplasso import PrivacyLeakError, PrivacyLeakWarning, set_strict
from dplasso.base.blanks import BLANKS
from dplasso.data.row_chunks import assemble
from dplasso.reading.plans import TablePlan
from dplasso.reading.table_files import base, delimited, parquet
from dplasso.reading.tables import table_chunks
from dplasso.schema import FeatureSpace, Schema

# Told, or refused: tests/cli/test_tables.py.
pytestmark = pytest.mark.filterwarnings("ignore:columns of .* without a role")

TABLE = pa.table(
    {
        "age": [30.0, None, 200.0, 0.0],
        "city": ["Rome", "Oslo", None, "Rome"],
        "note": ["The cat, the CAT!", None, "", "a dog-cat"],
        "id": [1, 2, 3, 4],
        "y": ["yes", "no", "no", "yes"],
    }
)
PLAN = TablePlan(
    target="y",
    bounds={"age": (0, 120)},
    hashed={"city": 50},
    buckets=100,
    text=["note"],
    ignore=["id"],
    missing=["age"],
    classes=["no", "yes"],
)


def written(folder, table, kind="csv"):
    path = folder / f"rows.{kind}"
    if kind == "csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)
    return path


def of_text(folder, text, name="rows.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(path, plan, **options):
    space, chunks, classes = table_chunks(path, plan, **options)
    X, y = assemble(chunks, space.size)
    return space, X, y, classes


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_role_gives_its_features(tmp_path, kind):
    space, X, y, classes = read(written(tmp_path, TABLE, kind), PLAN)
    names = list(space.names)
    assert len(names) == len(set(names)) == space.size == X.shape[1] == 2 + 50 + 100
    assert names[:3] == ["age", "age is missing", "city#0"] and names[-1] == "note#99"
    rome, oslo = (space.bucket("city", name) for name in ("Rome", "Oslo"))
    cat, dog, the = (space.bucket("note", word) for word in ("cat", "dog", "the"))
    wanted = np.zeros(X.shape)
    wanted[0, [rome, cat, the]] = wanted[1, [1, oslo]] = wanted[3, [rome, cat, dog]] = 1
    wanted[:, 0] = [30, 60, 120, 0]  # a missing cell is in the middle
    assert np.array_equal(X.toarray(), wanted)
    assert y.tolist() == [1, 0, 0, 1] and classes == ["no", "yes"]
    assert space.bounds.tolist() == [120.0] + [1.0] * 151


def test_buckets_are_the_same_for_ever():
    """Models that were saved depend on them."""
    plan = TablePlan("y", hashed={"city": 1 << 20, "note": 1 << 62}, text=["note"])
    space = FeatureSpace(plan.schema())
    assert space.bucket("city", "Rome") == 520919
    assert space.bucket("note", "ö") == 3135864325922187338


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_come_in_blocks_and_order(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(delimited, "_BLOCK", 256)
    monkeypatch.setattr(parquet, "BATCH", 10)
    numbers = np.arange(1.0, 501.0)
    table = pa.table({"a": numbers, "c": [f"v{k}" for k in range(500)], "y": numbers})
    told = []
    space, chunks, classes = table_chunks(
        written(tmp_path, table, kind),
        TablePlan("y", bounds={"a": (0, 1000)}),
        progress=lambda *what: told.append(what),
    )
    chunks = list(chunks)
    X, y = assemble(chunks, space.size)
    assert len(chunks) > 10 and classes is None
    assert np.array_equal(X[:, [0]].toarray()[:, 0], numbers) and np.array_equal(y, numbers)
    assert all(np.all(np.diff(row.indices) > 0) for row in X)
    assert len(told) == len(chunks) and told[-1] == (500, 500 if kind == "parquet" else None)


@pytest.mark.parametrize("suffix", [".csv.gz", ".tsv"])
def test_other_spellings_of_csv(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    delimiter = "\t" if suffix == ".tsv" else ","
    options = pa.csv.WriteOptions(delimiter=delimiter)
    with pa.output_stream(path, compression="detect") as stream:
        pa.csv.write_csv(TABLE, stream, options)
    _, X, _, _ = read(path, PLAN)
    _, wanted, _, _ = read(written(tmp_path, TABLE), PLAN)
    assert (wanted != X).nnz == 0


@given(texts=st.lists(st.text(max_size=30), min_size=1, max_size=5))
@settings(deadline=None)
def test_words_are_those_of_scikit_learn(tmp_path_factory, texts):
    table = pa.table({"t": pa.array(texts, pa.string()), "y": np.zeros(len(texts))})
    path = written(tmp_path_factory.mktemp("words"), table, "parquet")
    space, X, _, _ = read(path, TablePlan("y", text=["t"]))
    analyze = CountVectorizer().build_analyzer()
    for row, text in zip(X, texts, strict=True):
        words = [] if text in BLANKS else analyze(text)  # which stand for a missing cell
        assert set(row.indices) == {space.bucket("t", word) for word in words}


def test_a_saved_plan_gives_the_same_features(tmp_path):
    plan = TablePlan("y", {"age": (0, 9)}, ignore=["id"], classes=["no", "yes"])
    space, X, _, _ = read(written(tmp_path, TABLE), plan)
    plan = Schema.from_dict(json.loads(json.dumps(space.schema.to_dict())))
    assert FeatureSpace(plan).starts == space.starts
    # Other order, another column, no target.
    other = TABLE.select(["note", "id", "city", "age"]).append_column("new", TABLE["id"])
    again, rows, labels, _ = read(written(tmp_path, other), plan, labelled=False)
    assert list(again.names) == list(space.names)
    assert np.array_equal(again.bounds, space.bounds)
    assert (rows != X).nnz == 0 and not labels.any()


def test_missing_numbers_are_told_apart(tmp_path):
    path = of_text(tmp_path, "a,b,y\n5,x,1\n,x,2\nnan,,3\n 7 ,x,4\n-inf,x,5\n")
    space, X, y, _ = read(path, TablePlan("y", {"a": (2, 6)}, {"b": 1}, missing=["a"]))
    assert X.toarray().tolist() == [[5, 0, 1], [4, 1, 1], [4, 1, 0], [6, 0, 1], [2, 0, 1]]
    assert y.tolist() == [1, 2, 3, 4, 5]
    assert space.bounds.tolist() == [6, 1, 1]


def test_buckets_of_text_are_kept(tmp_path):
    path = of_text(tmp_path, "t,u,y\nsome words,other words,1\n")
    space, _, _, _ = read(path, TablePlan("y", hashed={"t": 7}, text=["t", "u"], buckets=5))
    assert {name: role.buckets for name, role in space.columns.items()} == {"t": 7, "u": 5}


def test_quoted_text_may_have_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    path = of_text(tmp_path, "t,y\n" + '"one\ntwo\n",1\n' * 50)
    space, X, y, _ = read(path, TablePlan("y", text=["t"]))
    words = {space.bucket("t", word) for word in ("one", "two")}
    assert X.shape[0] == len(y) == 50 and all(set(row.indices) == words for row in X)


def test_bounds_below_zero(tmp_path):
    path = of_text(tmp_path, "a,y\n-9,1\n9,2\n")
    space, X, _, _ = read(path, TablePlan("y", bounds={"a": (-5, 2)}))
    assert X.toarray()[:, 0].tolist() == [-5, 2] and space.bounds.tolist() == [5]


def test_a_missing_label_is_no_class(tmp_path):
    path = of_text(tmp_path, "c,y\na,no\na,\na,yes\n")
    with pytest.warns(PrivacyLeakWarning), pytest.raises(ValueError, match="row 2 has no label"):
        read(path, TablePlan("y"))


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3], pa.int8()),
        pa.array([1, 2, 3], pa.decimal128(5, 2)),
        pa.array([1.0, 2.0, 3.0], pa.float32()),
        pa.array(["1", "2", "3"]),
        pa.array(["1", "2", "3"], pa.large_string()),
        pa.array(["1", "2", "3"]).dictionary_encode(),
    ],
)
def test_types_of_parquet_columns(tmp_path, column):
    path = written(tmp_path, pa.table({"a": column, "y": [1, 2, 3]}), "parquet")
    _, X, y, _ = read(path, TablePlan("y", bounds={"a": (0, 5)}))
    assert X.toarray().tolist() == [[1], [2], [3]] and y.tolist() == [1, 2, 3]
    _, X, _, _ = read(path, TablePlan("y", hashed={"a": 1 << 40}))
    assert len(set(X.indices)) == 3 and X.data.tolist() == [1, 1, 1]


def test_classes_are_read_only_with_a_warning(tmp_path):
    path = written(tmp_path, TABLE)
    plan = TablePlan("y", {"age": (0, 9)}, {"city": 9, "note": 9}, ignore=["id"])
    with pytest.warns(PrivacyLeakWarning, match="classes were read"):
        space, _, y, classes = read(path, plan)
    assert classes == list(space.schema.labels.classes) == ["no", "yes"] and y.tolist() == [
        1,
        0,
        0,
        1,
    ]
    read(path, space.schema)  # declared by now: a warning would be an error
    set_strict(True)
    try:
        with pytest.raises(PrivacyLeakError, match="classes were read"):
            table_chunks(path, plan)
    finally:
        set_strict(None)


SECRET = "s3cret"
GOOD = f"age,city,y\n30,{SECRET},yes\n"


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        (GOOD + f"{SECRET},Oslo,no\n", {}, "row 2 has no number in column 'age'"),
        (GOOD + f"31,Oslo,{SECRET}\n", {}, "row 2 has a label that is not among the classes"),
        (GOOD + f"31,{SECRET},\n", {}, "row 2 has no label"),
        (GOOD + f"31,{SECRET}\n", {}, "line 3: the row has fewer cells"),
        (GOOD + f"31,{SECRET},no,9\n", {}, "line 3: the row has more cells"),
        (GOOD + f'31,"{SECRET},no\n9,b,no\n', {}, "line 3: the row that begins here"),
        (
            GOOD.encode() + b"31,\xff" + SECRET.encode() + b",no\n",
            {},
            "line 3: this is no text in UTF-8; pass encoding='latin-1'",
        ),
        ("", {}, "is empty; give a file"),
        ("\n\n", {}, "has no names of columns"),
        (GOOD.replace("age", ""), {"bounds": {}}, "line 1, has no name for column 1"),
        (GOOD, {"bounds": {}}, "numbers but no public bounds: 'age'; give bounds="),
        (GOOD, {"bounds": {"age": (0, 1), "size": (0, 1)}}, "has no column 'size'"),
        (GOOD, {"text": ["size"]}, "has no column 'size'"),
        (GOOD, {"target": "label", "ignore": ["y"]}, "has no column 'label'"),
        (GOOD, {"bounds": {}, "ignore": ["age", "city"]}, "no column to take features from"),
        (f"31,{SECRET},no\n30,Oslo,yes\n", {}, "no column 'age'; .* names of columns in the first"),
        (f"{SECRET},{SECRET},no\n30,Oslo,yes\n", {}, "names of columns in the first row"),
        (GOOD.replace("city", "age"), {}, "line 1, has one name for columns 1 and 2"),
    ],
)
def test_refusals_name_file_and_row_but_no_value(tmp_path, text, options, reason):
    path = of_text(tmp_path, text)
    plan = {"target": "y", "bounds": {"age": (0, 100)}, "classes": ["no", "yes"]} | options
    with pytest.raises(ValueError, match=reason) as refusal:
        read(path, TablePlan(**plan))
    assert str(path) in str(refusal.value)
    # As it would be shown, with what it was raised from.
    assert SECRET not in "".join(traceback.format_exception(refusal.value))


def test_numbers_as_labels_are_checked_in_every_row(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    monkeypatch.setattr(base, "_JUDGED_ROWS", 50)
    rows = "".join(f"{k},a\n" for k in range(100))
    path = of_text(tmp_path, "y,c\n" + rows + "x,a\n")
    with pytest.raises(ValueError, match="row 101 has no number in column 'y'"):
        read(path, TablePlan("y"))
    path = of_text(tmp_path, "y,c\n" + rows + "nan,a\n")
    with pytest.raises(ValueError, match="row 101 has no label"):
        read(path, TablePlan("y"))


def test_parquet_columns_that_make_no_features(tmp_path):
    path = written(tmp_path, pa.table({"a": [[1], [2]], "b": ["x", "z"], "y": [1, 2]}), "parquet")
    with pytest.raises(ValueError, match="column 'a' has lists, records"):
        table_chunks(path, TablePlan("y"))
    _, X, _, _ = read(path, TablePlan("y", ignore=["a"]))
    assert X.nnz == 2
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="cannot be read as a table"):
        table_chunks(path, TablePlan("y"))


def test_unknown_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="known by its name"):
        table_chunks(of_text(tmp_path, GOOD, "rows.xls"), PLAN)
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        table_chunks(tmp_path / "none.csv", PLAN)


def test_too_many_classes_are_no_classes(tmp_path):
    table = pa.table({"c": ["a"] * 1001, "y": [f"v{k}" for k in range(1001)]})
    with (
        pytest.warns(PrivacyLeakWarning),
        pytest.raises(ValueError, match="more than 1,000 different labels"),
    ):
        table_chunks(written(tmp_path, table), TablePlan("y"))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"bounds": {"a": (1, 0)}}, r"bounds=\{'a': \('low', 'high'\)\}"),
        ({"bounds": {"a": (0, math.inf)}}, r"bounds=\{'a': \('low', 'high'\)\}"),
        ({"bounds": {"a": (math.nan, 1)}}, r"bounds=\{'a': \('low', 'high'\)\}"),
        ({"bounds": {"a": (0, 0)}}, r"bounds=\{'a': \('low', 'high'\)\}"),
        ({"bounds": {"a": (0, 1)}, "text": ["a"]}, "column 'a' has two roles"),
        ({"ignore": ["y"]}, "column 'y' has two roles"),
        ({"hashed": {"a": 0}}, "buckets of column 'a'"),
        ({"hashed": {"a": 2.0}}, "buckets of column 'a'"),
        ({"buckets": 0}, "buckets of the plan"),
        ({"classes": ["a"]}, "two or more different"),
        ({"classes": ["a", "b", "a"]}, "two or more different"),
    ],
)
def test_plans_that_contradict_themselves(options, reason):
    with pytest.raises(ValueError, match=reason):
        TablePlan("y", **options)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch, kind):
    """Ten times the rows, in the memory of a few blocks."""
    monkeypatch.setattr(delimited, "_BLOCK", 1 << 16)
    monkeypatch.setattr(parquet, "BATCH", 1 << 11)

    def peak(rows):
        table = pa.table({"a": np.arange(rows) % 97, "c": np.arange(rows) % 89, "y": np.ones(rows)})
        path = written(tmp_path, table, kind)
        plan = TablePlan("y", bounds={"a": (0, 97)}, hashed={"c": 100})
        del table
        before = pa.total_allocated_bytes()
        most = 0
        _, chunks, _ = table_chunks(path, plan)
        tracemalloc.start()
        for _ in chunks:
            most = max(most, pa.total_allocated_bytes() - before)
        most += tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1000)  # what is imported on first use
    assert peak(400_000) < 3 * peak(40_000)


class Counted(str):
    """A name that counts how often it is compared with another."""

    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("kind", ["bounds", "hashed", "text"])
def test_names_are_looked_up_and_not_searched_for(tmp_path, kind):
    """Searching a list for every column would make time grow with the square of their number."""
    names = [Counted(f"c{k}") for k in range(400)]
    text = ",".join([*names, "y"]) + "\n" + ",".join(["1"] * 401) + "\n"
    (tmp_path / "wide.csv").write_text(text)
    roles = {
        "bounds": {"bounds": dict.fromkeys(names, (0.0, 2.0))},
        "hashed": {"hashed": dict.fromkeys(names, 3)},
        "text": {"hashed": dict.fromkeys(names, 3), "text": names},
    }[kind]
    plan = TablePlan(Counted("y"), **roles).schema()
    Counted.compared = 0
    space, chunks, _ = table_chunks(tmp_path / "wide.csv", plan, labelled=False)
    assert sum(chunk.rows for chunk in chunks) == 1
    assert len(list(space.roles)) == 401
    assert Counted.compared < 20 * len(names)
