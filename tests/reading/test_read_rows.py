"""`read_rows`: every format by one function, and a new format by one file and one line."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import dplasso
from commanding import COLUMNS, PLAN, people, problem, write_svmlight, write_table
from dplasso import PrivateLassoClassifier, Rows, read_rows
from dplasso.base.wording import ParameterError
from dplasso.estimators.coefficients import without_names
from dplasso.reading import convert
from dplasso.reading.formats import FORMATS, Format
from dplasso.schema import FeatureSpace, Identifier, Number, Person, Schema, Target

ROLES = {
    "target": "sick",
    "bounds": {"age": (0.0, 120.0)},
    "hashed": {"town": 16},
    "text": ["note"],
    "buckets": 64,
    "ignore": ["id"],
    "missing": ["age"],
    "classes": ["no", "yes"],
}


@pytest.fixture
def table(tmp_path):
    return write_table(tmp_path / "people.csv", people())


@pytest.fixture
def text(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", *problem())


def test_svmlight_and_npz_and_store_have_the_same_rows(tmp_path, text):
    X, y = problem()
    sp.save_npz(tmp_path / "X.npz", X)
    np.save(tmp_path / "y.npy", y)
    convert(text, tmp_path / "store", memory=1 << 30, n_features=COLUMNS, n_rows=300)
    found = [
        read_rows(text, n_features=COLUMNS),
        read_rows(tmp_path / "X.npz", labels=tmp_path / "y.npy"),
        read_rows(tmp_path / "X.npz", labels=y),
        read_rows(tmp_path / "store"),
    ]
    for rows in found:
        assert isinstance(rows, Rows) and not rows.undeclared
        matrix = rows.X if sp.issparse(rows.X) else rows.X.rows()
        assert (matrix != X).nnz == 0 and np.array_equal(rows.y, y)
    assert found[-1].declared_rows == 300


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_a_table_has_its_plan_bounds_and_names(tmp_path, name):
    rows = read_rows(write_table(tmp_path / name, people()), **ROLES)
    space = FeatureSpace(replace(PLAN, hashed={"town": 16, "note": 64}).schema())
    assert rows.X.shape == (200, space.size) and rows.names == space.names
    assert rows.y.tolist() == [row["sick"] for row in people()]
    assert rows.classes == ["no", "yes"] and rows.undeclared == frozenset()
    assert np.array_equal(rows.bounds, space.bounds) and rows.recipe == rows.schema.to_dict()


def test_what_is_not_declared_is_reported_and_noted(table, text):
    roles = {name: value for name, value in ROLES.items() if name != "classes"}
    with pytest.warns(dplasso.PrivacyLeakWarning, match="declare them with classes"):
        assert read_rows(table, **roles).undeclared == {"classes"}
    with pytest.warns(dplasso.PrivacyLeakWarning, match="declare it with n_features"):
        assert read_rows(text).undeclared == {"n_features"}


def test_rows_are_read_like_others(tmp_path, table):
    rows = read_rows(table, **ROLES)
    new = [{key: row[key] for key in ("note", "town", "age")} for row in people(5, seed=1)]
    found = read_rows(write_table(tmp_path / "new.csv", new), like=rows, labelled=False)
    assert found.X.shape == (5, rows.X.shape[1]) and found.y is None
    again = read_rows(table, like=rows)
    assert (again.X != rows.X).nnz == 0 and again.y.tolist() == rows.y.tolist()


def test_a_model_knows_how_its_rows_were_read(tmp_path, text):
    X, y = problem()
    model = PrivateLassoClassifier(classes=[-1, 1], n_rows=300, x_bound=1.0).fit(X, y)
    moved = write_svmlight(tmp_path / "zero.svm", X, y, base=0)
    assert (read_rows(text, like=model).X != X).nnz == 0
    model.table_plan_ = {"zero_based": True}
    assert (read_rows(moved, like=model).X != X).nnz == 0
    with pytest.raises(ParameterError, match="n_features is known from like; leave it out"):
        read_rows(text, like=model, n_features=3)
    with pytest.raises(ParameterError, match="like must be a fitted model or Rows, got list"):
        read_rows(text, like=[])


def test_a_model_fitted_to_a_table_predicts_tables(tmp_path, table):
    """In Python as by the command: the model keeps how its rows were read."""
    rows = read_rows(table, **ROLES)
    model = PrivateLassoClassifier(1.0, classes=rows.classes, x_bound=rows.bounds, n_rows=200)
    model.fit(rows.described(), rows.y).save(tmp_path / "model.dpl")
    assert (model.feature_names_in_ == rows.names) and model.table_plan_ == rows.recipe
    loaded = dplasso.load(tmp_path / "model.dpl")
    loaded.predict_file(table, tmp_path / "out", identifier="id")
    lines = (tmp_path / "out").read_text().splitlines()
    wanted = without_names(model).predict(rows.X)
    assert [line.split("\t")[1] for line in lines[1:]] == wanted.tolist()


def test_rows_without_the_features_of_a_table_are_rejected(tmp_path, table, text):
    """A model of a table would silently predict nonsense for svmlight rows."""
    rows = read_rows(table, **ROLES)
    columns = rows.X.shape[1]
    X, _ = problem()
    wide = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], columns))
    sp.save_npz(tmp_path / "X.npz", wide)
    convert(text, tmp_path / "plain", memory=1 << 30, n_features=columns)
    convert(table, tmp_path / "like", memory=1 << 30, **ROLES)
    other = {**ROLES, "hashed": {"town": 32}, "text": {"note": 48}}
    convert(table, tmp_path / "other", memory=1 << 30, **other)
    for path in (text, tmp_path / "X.npz", tmp_path / "plain", tmp_path / "other"):
        with pytest.raises(ValueError, match="without the features of the table"):
            read_rows(path, like=rows, labelled=False)
    assert (read_rows(tmp_path / "like", like=rows).X != rows.X).nnz == 0


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        (
            "rows.svm",
            {"target": "y"},
            "^target is for a table, and .*rows.svm is read as svm",
        ),
        ("people.csv", {"labels": "y.npy"}, "^labels is for an .npz matrix, .* is a table"),
        ("people.csv", {}, "is a table; name the column to predict with target, or give schema$"),
        ("people.csv", {"target": "sick"}, r"person='COLUMN', .* ignore=\['id'\]; .* hashed="),
        (
            "people.csv",
            {"target": "sick", "ignore": ["id"]},
            r"give bounds=\{'age': \('low', 'high'\)",
        ),
        ("missing.svm", {}, "does not exist; check the path"),
    ],
)
def test_errors_name_parameters_of_python(tmp_path, table, text, name, given, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read_rows(tmp_path / name, **given)


def test_a_header_without_rows_is_named(tmp_path, table):
    head = tmp_path / "head.csv"
    head.write_text(table.read_text().splitlines()[0] + "\n")
    with pytest.raises(ValueError, match="names of columns and no rows; add rows"):
        read_rows(head, **ROLES)


def test_progress_counts_what_the_format_counts(table, text):
    for path, given, whole in (
        (text, {"n_features": COLUMNS}, text.stat().st_size),
        (table, ROLES, 200),
    ):
        seen = []
        read_rows(path, progress=lambda done, total, seen=seen: seen.append(done), **given)
        assert seen[-1] == whole


class JsonRows(Format):
    """A toy format: a JSON list of rows, each a list of numbers with its label first."""

    name = "a JSON file"
    options = frozenset({"zero_based"})

    def recognises(self, path):
        return path.suffix == ".json"

    def read(self, files, options):
        rows = np.array(json.loads(files.one.read_text()), dtype=float)
        return Rows(sp.csr_array(rows[:, 1:]), rows[:, 0])


@pytest.fixture
def toy():
    """The one line by which a format is registered."""
    FORMATS.insert(0, JsonRows())
    yield
    del FORMATS[0]


def test_a_new_format_is_one_file_and_one_line(tmp_path, toy, monkeypatch, capsys):
    from dplasso.cli.app import main

    X, y = problem()
    path, model = tmp_path / "rows.json", tmp_path / "model.dpl"
    path.write_text(json.dumps(np.column_stack([y, X.toarray()]).tolist()))
    rows = read_rows(path)
    assert (rows.X != X).nnz == 0 and np.array_equal(rows.y, y)
    with pytest.raises(ParameterError, match="target is for a table, and .* is a JSON file"):
        read_rows(path, target="y")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["dplasso", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code, capsys.readouterr().err
        return capsys.readouterr().out

    given = ("--classes", "-1,1", "--rows", 300, "--max-iter", 15, "--radius", 5, "--x-bound", 1)
    command("train", path, "-o", model, *given, "-q")
    found = np.array(command("predict", model, path).split(), float)
    assert np.array_equal(found, dplasso.load(model).predict(X))
    assert json.loads(command("evaluate", model, path, "--public", "--json"))["rows"] == len(y)


def test_a_lack_of_labels_is_told_with_the_way_to_read_rows_without_them(tmp_path):
    schema = Schema({"age": Number(0, 9), "who": Person(), "sick": Target(["no", "yes"])})
    (tmp_path / "new.csv").write_text("age\n5\n")
    for source in (tmp_path / "new.csv", {"age": [5]}):
        with pytest.raises(ValueError, match="has no column .*labelled=False"):
            read_rows(source, schema=schema)
        assert read_rows(source, schema=schema, labelled=False).X.shape == (1, 1)
    (tmp_path / "other.csv").write_text("height\n5\n")
    with pytest.raises(ValueError, match="has no column 'age'") as error:
        read_rows(tmp_path / "other.csv", schema=schema)
    assert "labelled" not in str(error.value)


def test_a_fit_to_the_matrix_alone_does_not_forget_people(tmp_path, table):
    roles = {"id": Person(), "age": Number(0, 120), "sick": Target(["no", "yes"])}
    schema = Schema(roles, n_rows=200, n_people=200)
    convert(table, tmp_path / "store", schema=schema)
    model = PrivateLassoClassifier(1.0, classes=["no", "yes"], n_rows=200, n_people=200)
    model.set_params(x_bound=120.0, max_iter=5)
    for rows in (read_rows(table, schema=schema), read_rows(tmp_path / "store", x_bound=120.0)):
        with pytest.raises(ValueError, match=r"rows\.described\(\), or pass groups=rows\.groups"):
            model.fit(rows.X, rows.y)
        assert model.fit(rows.X, rows.y, groups=rows.groups).privacy_.unit == "person"
        assert model.fit(rows.described(), rows.y).privacy_.unit == "person: id"
    one_by_one = replace(schema, columns={**roles, "id": Identifier()}, n_people=None)
    rows = read_rows(table, schema=one_by_one)
    assert model.set_params(n_people=None).fit(rows.X, rows.y).privacy_.unit == "row"
