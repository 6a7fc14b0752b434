"""The command line does what the library does, says what it reveals, and never shows a row."""

import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, load
from dplasso.cli import app as application
from dplasso.cli import demo, train
from dplasso.privacy import leaks
from dplasso.reading import assemble
from dplasso.reading.tables import TablePlan, table_chunks

COMMAND = Path(sys.executable).with_name("dplasso")
ROWS, COLUMNS = 300, 40
FEW = ("--rounds", 15, "--radius", 5)
DECLARED = ("--features", COLUMNS, "--classes", "-1,1", "--rows", ROWS, *FEW)
SECRET = "61.80339"  # stands in broken lines, and must not in what is said of them


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process."""

    def command(*arguments):
        monkeypatch.setattr(leaks, "_setting", None)
        monkeypatch.setattr(leaks, "_told", set())
        monkeypatch.setattr(sys, "argv", ["dplasso", *map(str, arguments)])
        with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
            warnings.simplefilter("always", leaks.PrivacyLeakWarning)
            application.main()
        return Done(end.value.code or 0, *capsys.readouterr())

    return command


@pytest.fixture
def good(run):
    """Run the command, which succeeds; returns its standard output."""

    def command(*arguments):
        done = run(*arguments)
        assert done.code == 0, done.err
        return done.out

    return command


def subprocess_of(*arguments, **options):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, **options
    )
    return Done(done.returncode, done.stdout, done.stderr)


def problem(kind="binary", rows=ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((rows, COLUMNS), density=0.2, rng=rng, format="csr")
    X.data = np.round(2 * X.data - 1, 3)
    margins = X @ np.linspace(-3, 3, COLUMNS)
    if kind == "binary":
        return X, np.where(margins > 0, 1.0, -1.0)
    if kind == "three":
        return X, np.digitize(margins, [-0.5, 0.5]).astype(float)
    return X, np.round(margins / 10, 3)


def write_svmlight(path, X, y, base=1):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt") as file:
        for k in range(X.shape[0]):
            row = slice(X.indptr[k], X.indptr[k + 1])
            pairs = zip(X.indices[row] + base, X.data[row], strict=True)
            file.write(" ".join([f"{y[k]:g}", *(f"{j}:{float(v)!r}" for j, v in pairs)]) + "\n")
    return path


@pytest.fixture
def text(tmp_path):
    return write_svmlight(tmp_path / "rows.svm", *problem())


@pytest.fixture
def model(tmp_path, text, good):
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--quiet")
    return path


PEOPLE = {
    "--target": "sick",
    "--bounds": "age=0:120",
    "--hash": "town=16",
    "--text": "note",
    "--buckets": 64,
    "--ignore": "id",
}
TABLE = [part for pair in PEOPLE.items() for part in pair]
PLAN = TablePlan(
    target="sick",
    bounds={"age": (0.0, 120.0)},
    hashed={"town": 16},
    buckets=64,
    text=("note",),
    ignore=("id",),
    classes=("no", "yes"),
)


def people(rows=200, seed=0):
    rng = np.random.default_rng(seed)
    towns, words = ["Ulm", "Bern", "Graz"], ["cough", "fever", "well", "tired"]
    return [
        {
            "id": str(k),
            "age": str(rng.integers(0, 100)),
            "town": towns[rng.integers(3)],
            "note": " ".join(rng.choice(words, 2)),
            "sick": "yes" if rng.random() < 0.5 else "no",
        }
        for k in range(rows)
    ]


def write_table(path, rows):
    if path.suffix == ".parquet":
        table = pa.Table.from_pylist([{**row, "age": float(row["age"])} for row in rows])
        pyarrow.parquet.write_table(table, path)
        return path
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def python_fit(kind, X, y, seed=3, **options):
    made = PrivateLassoRegressor if kind == "regression" else PrivateLassoClassifier
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)
        return made(1.0, max_iter=15, radius=5.0, random_state=seed, **options).fit(X, y)


def assert_same_model(ours, theirs):
    assert np.array_equal(ours.vertices_, theirs.vertices_)
    assert np.array_equal(ours._weights.toarray(), theirs._weights.toarray())
    assert np.array_equal(ours.intercept_, theirs.intercept_)


# The same models and predictions as from Python.


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz"])
@pytest.mark.parametrize(
    ("kind", "classes"), [("binary", [-1, 1]), ("three", [0, 1, 2]), ("regression", None)]
)
def test_a_model_is_the_one_that_python_fits(tmp_path, good, name, kind, classes):
    X, y = problem(kind)
    data, path = write_svmlight(tmp_path / name, X, y), tmp_path / "model.dpl"
    task = ["--regression"] if classes is None else ["--classes", ",".join(map(str, classes))]
    given = ("--features", COLUMNS, *task, "--seed", 3, *FEW)
    out = good("train", data, "-o", path, *given)
    assert "differentially private" in out
    public = {} if classes is None else {"classes": classes}
    ours, theirs = load(path), python_fit(kind, X, y, **public)
    assert_same_model(ours, theirs)
    lines = good("predict", path, data).split()
    assert np.array_equal(np.array(lines, float), theirs.predict(X))
    if classes is not None:
        head, *rows = good("predict", path, data, "--proba").splitlines()
        assert head.split("\t") == [str(label) for label in classes]
        found = np.array([row.split("\t") for row in rows], float)
        assert np.allclose(found, theirs.predict_proba(X), rtol=1e-8, atol=0)


def test_options_reach_the_estimator(tmp_path, text, good):
    path = tmp_path / "model.dpl"
    more = ("--x-bound", 0.5, "--keep", 3, "--no-intercept", "--neighboring", "replace_one")
    more += ("--selection", "noisy_max", "--delta", 1e-5, "--threads", 1, "--seed", 3)
    good("train", text, "-o", path, *DECLARED, *more)
    params = load(path).get_params()
    wanted = {
        "x_bound": 0.5,
        "sparsify": 3,
        "fit_intercept": False,
        "neighboring": "replace_one",
        "selection": "noisy_max",
        "delta": 1e-5,
        "n_jobs": 1,
        "n_rows": ROWS,
        "classes": [-1.0, 1.0],
    }
    assert {name: params[name] for name in wanted} == wanted
    X, y = problem()
    python = {name: wanted[name] for name in wanted if name not in ("n_jobs",)}
    assert_same_model(load(path), python_fit("binary", X, y, **python))


def test_names_that_scikit_learn_has_are_understood(tmp_path, text, good):
    for name, options in {"a": ("--rounds", 7, "--seed", 1), "b": ("-T", 7, "--seed", 1)}.items():
        good("train", text, "-o", tmp_path / name, *DECLARED, *options)
    good("train", text, "-o", tmp_path / "c", *DECLARED, "--max-iter", 7, "--random-state", 1)
    models = [load(tmp_path / name) for name in "abc"]
    assert models[0].n_iter_ == 7
    assert_same_model(models[0], models[1])
    assert_same_model(models[0], models[2])


def test_npz_with_labels(tmp_path, good, run):
    X, y = problem()
    data, labels, path = tmp_path / "X.npz", tmp_path / "y.npy", tmp_path / "model.dpl"
    sp.save_npz(data, X)
    np.save(labels, y)
    good("train", data, "--labels", labels, "-o", path, *DECLARED, "--seed", 3)
    theirs = python_fit("binary", X, y, classes=[-1, 1])
    assert_same_model(load(path), theirs)
    assert np.array_equal(np.array(good("predict", path, data).split(), float), theirs.predict(X))
    scores = json.loads(good("evaluate", path, data, "--labels", labels, "--public", "--json"))
    assert scores["accuracy"] == theirs.score(X, y)
    assert "--labels" in run("train", data, "-o", path, *DECLARED).err
    np.save(labels, y[:-1])
    assert (
        "one label for each row"
        in run("train", data, "--labels", labels, "-o", path, *DECLARED).err
    )


def test_npz_with_labels_of_text_that_looks_like_numbers(tmp_path, good):
    X, y = problem()
    data, labels, path = tmp_path / "X.npz", tmp_path / "y.npy", tmp_path / "model.dpl"
    sp.save_npz(data, X)
    np.save(labels, np.where(y > 0, "1", "-1"))
    good("train", data, "--labels", labels, "-o", path, *DECLARED)
    assert load(path).classes_.tolist() == ["-1", "1"]


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet"])
def test_tables(tmp_path, good, name):
    data, path = write_table(tmp_path / name, people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--seed", 3, *FEW)
    space, chunks, classes = table_chunks(data, PLAN)
    X, y = assemble(chunks, space.size)
    labels = np.array(classes)[y.astype(int)]
    theirs = python_fit("binary", X, labels, classes=classes, x_bound=space.bounds)
    ours = load(path)
    assert_same_model(ours, theirs)
    assert ours.feature_names_in_[:2].tolist() == ["age", "age is missing"]
    assert good("predict", path, data).split() == theirs.predict(X).tolist()
    scores = json.loads(good("evaluate", path, data, "--public", "--json"))
    assert scores["accuracy"] == theirs.score(X, labels)


def test_the_model_knows_how_to_read_other_tables(tmp_path, good):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "no,yes", "--seed", 3, *FEW)
    new = people(5, seed=1)
    new[0]["town"] = "Nowhere"
    new = [{key: row[key] for key in ("note", "town", "age")} for row in new]  # no sick, no id
    found = good("predict", path, write_table(tmp_path / "new.csv", new)).split()
    space, chunks, _ = table_chunks(tmp_path / "new.csv", PLAN, labelled=False)
    X, _ = assemble(chunks, space.size)
    fitted = load(path)
    del fitted.feature_names_in_
    assert found == fitted.predict(X).tolist()


def test_classes_of_a_table_may_be_written_as_numbers(tmp_path, good, run):
    rows = [{**row, "sick": str(k % 2)} for k, row in enumerate(people())]
    data, path = write_table(tmp_path / "people.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--classes", "0,1", *FEW)
    assert load(path).classes_.tolist() == ["0", "1"]
    assert set(good("predict", path, data).split()) <= {"0", "1"}
    assert run("train", data, "-o", path, *TABLE, *FEW).err.count("classes were read") == 1
    assert load(path).classes_.tolist() == [0.0, 1.0]
    assert set(good("predict", path, data).split()) <= {"0", "1"}
    good("evaluate", path, data, "--public")


def test_regression_from_a_table(tmp_path, good):
    rows = [{**row, "sick": f"{int(row['age']) / 100}"} for row in people()]
    data, path = write_table(tmp_path / "people.csv", rows), tmp_path / "model.dpl"
    good("train", data, "-o", path, *TABLE, "--regression", "--y-bound", 2, "--seed", 3, *FEW)
    space, chunks, _ = table_chunks(data, replace(PLAN, classes=None))
    X, y = assemble(chunks, space.size)
    theirs = python_fit("regression", X, y, y_bound=2.0, x_bound=space.bounds)
    assert_same_model(load(path), theirs)
    assert np.array_equal(np.array(good("predict", path, data).split(), float), theirs.predict(X))
    scores = json.loads(good("evaluate", path, data, "--public", "--json"))
    assert scores["r2"] == theirs.score(X, y)


def test_indices_from_0_are_remembered(tmp_path, good, run):
    X, y = problem()
    data = write_svmlight(tmp_path / "rows.svm", X, y, base=0)
    path = tmp_path / "model.dpl"
    done = run("train", data, "-o", path, *DECLARED)
    assert done.code == 1 and "--zero-based" in done.err
    good("train", data, "-o", path, *DECLARED, "--zero-based", "--seed", 3)
    assert_same_model(load(path), python_fit("binary", X, y, classes=[-1, 1]))
    # Rows where no index is 0 look as if they started at 1.
    some = X[:, 1:][:50]
    moved = sp.hstack([sp.csr_array((50, 1)), some], format="csr")
    new = write_svmlight(tmp_path / "new.svm", moved, y, base=0)
    wanted = load(path).predict_proba(moved)[:, 1]
    rows = good("predict", path, new, "--proba").splitlines()[1:]
    assert np.allclose([float(row.split("\t")[1]) for row in rows], wanted, rtol=1e-8)


# Column stores.


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz"])
@pytest.mark.parametrize("x_bound", [1.0, 0.5])
def test_a_store_gives_the_model_that_its_text_gives(tmp_path, good, name, x_bound):
    X, y = problem()
    data, store = write_svmlight(tmp_path / name, X, y), tmp_path / "rows.dpc"
    facts = json.loads(good("convert", data, "-o", store, "--features", COLUMNS, "--json"))
    assert facts == {"store": str(store), "rows": ROWS, "columns": COLUMNS, "entries": X.nnz}
    seeded = (*DECLARED, "--seed", 3, "--x-bound", x_bound)
    for source, path in ((data, tmp_path / "a"), (store, tmp_path / "b")):
        good("train", source, "-o", path, *seeded)
    assert_same_model(load(tmp_path / "b"), load(tmp_path / "a"))
    assert good("predict", tmp_path / "a", store) == good("predict", tmp_path / "a", data)
    both = [good("evaluate", tmp_path / "a", rows, "--public", "-q") for rows in (data, store)]
    assert both == ["", ""]


def test_a_table_in_a_store(tmp_path, good, run):
    data, store = write_table(tmp_path / "people.csv", people()), tmp_path / "people.dpc"
    categories = ("--target", "sick", "--text", "note", "--buckets", 64, "--classes", "no,yes")
    categories += ("--ignore", "id", "--ignore", "age")
    good("convert", data, "-o", store, *categories)
    known = ("--classes", "no,yes", "--seed", 3, *FEW)
    good("train", store, "-o", tmp_path / "a", *known)
    good("train", data, "-o", tmp_path / "b", *categories, *known[2:])
    ours, theirs = load(tmp_path / "a"), load(tmp_path / "b")
    assert_same_model(ours, theirs)
    assert ours.classes_.tolist() == ["no", "yes"]
    assert ours.feature_names_in_.tolist() == theirs.feature_names_in_.tolist()
    assert good("predict", tmp_path / "a", store) == good("predict", tmp_path / "b", data)
    done = run("predict", tmp_path / "a", data)
    assert done.code == 1 and "convert it" in done.err
    done = run("train", store, "-o", tmp_path / "a", *FEW)
    assert done.code == 0 and "--classes" in done.err
    assert load(tmp_path / "a").privacy_["public"]["classes"]["source"] == train.READ


def test_a_store_is_replaced_only_when_asked(tmp_path, text, good, run):
    command = ("convert", text, "-o", tmp_path / "x.dpc", "--features", COLUMNS)
    good(*command)
    done = run(*command)
    assert done.code == 1 and "exists" in done.err
    good(*command, "--overwrite", "--memory", "0.1G")


@pytest.mark.parametrize("size", ["much", "1", "-5G"])
def test_convert_wants_a_sensible_size(tmp_path, text, run, size):
    done = run("convert", text, "-o", tmp_path / "x", "--features", COLUMNS, "--memory", size)
    assert done.code == 1 and "memory" in done.err
    assert os.listdir(tmp_path) == [text.name]


# What people and machines see.


def test_json_is_one_document_and_nothing_else(tmp_path, text):
    path = tmp_path / "model.dpl"
    given = ("train", text, "-o", path, "--seed", 3, *FEW, "--json")
    trained = subprocess_of(*given, "--test", text)
    assert trained.code == 0
    document = json.loads(trained.out)
    assert document["privacy"]["epsilon"] == 1.0
    assert document["columns"] == COLUMNS and document["rounds"] == 15
    assert document["test"]["rows"] == ROWS
    for said in ("--features", "--classes", "--seed", "guarantee does not cover", "training data"):
        assert said in trained.err
    evaluated = subprocess_of("evaluate", path, text, "--json")
    assert json.loads(evaluated.out)["accuracy"] == document["test"]["accuracy"]
    assert evaluated.err.startswith("warning: ")
    inspected = subprocess_of("inspect", path, "--json", "--top", 2)
    assert json.loads(inspected.out)["privacy"] == document["privacy"]
    assert len(json.loads(inspected.out)["largest"]) == 2 and inspected.err == ""


def test_without_privacy_json_has_no_infinity(tmp_path, text, run):
    path = tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *DECLARED, "-e", "inf", "--json")
    assert json.loads(done.out)["privacy"]["epsilon"] == "inf"
    assert "not private" in done.err


def test_long_names_are_not_cut(tmp_path, text, good):
    path = tmp_path / ("long" * 40) / "model.dpl"
    path.parent.mkdir()
    assert str(path) in good("train", text, "-o", path, *DECLARED)


def test_quiet_is_quiet(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "-q")
    assert done == (0, "", "")
    assert run("evaluate", tmp_path / "m", text, "--public", "-q") == (0, "", "")


def test_inspect(tmp_path, model, good):
    out = good("inspect", model)
    assert "Largest coefficients" in out and "differentially private" in out
    X, y = problem("three")
    data = write_svmlight(tmp_path / "three.svm", X, y)
    good("train", data, "-o", model, "--features", COLUMNS, "--classes", "0,1,2", *FEW)
    assert "class" in good("inspect", model)
    good("convert", data, "-o", tmp_path / "x.dpc", "--features", COLUMNS)
    facts = json.loads(good("inspect", tmp_path / "x.dpc", "--verify", "--json"))
    assert facts["entries"] == X.nnz and facts["verified"]
    assert "as private as the data" in good("inspect", tmp_path / "x.dpc")


def test_names_are_shown_as_they_are(tmp_path, text, good, run):
    names = tmp_path / "names.txt"
    names.write_text("".join(f"[/red]:smile: {k}\n" for k in range(COLUMNS)), "utf-8")
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--feature-names", names)
    assert "[/red]:smile: " in good("inspect", path)
    good("predict", path, text)
    names.write_text("too\nfew\n")
    path.unlink()
    done = run("train", text, "-o", path, *DECLARED, "--feature-names", names)
    assert done.code == 1 and "2 names for 40 columns" in done.err and not path.exists()


def test_report(tmp_path, model, text, good, run):
    page = tmp_path / "report.html"
    good("report", model, "-o", page, "--title", "Our model", "--public-data", text)
    html = page.read_text("utf-8")
    assert "Our model" in html and "Accuracy" in html
    done = run("report", model, "-o", tmp_path / "no" / "report.html")
    assert done.code == 1 and "folder" in done.err


def test_predictions_go_to_a_file(tmp_path, model, text, good, run):
    good("predict", model, text, "-o", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text() == good("predict", model, text)
    assert run("predict", model, text, "-o", tmp_path / "no" / "out.txt").code == 1


def test_demo(tmp_path, good, monkeypatch):
    monkeypatch.setattr(demo, "ROWS", 300)
    monkeypatch.setattr(demo, "TEST_ROWS", 100)
    monkeypatch.setattr(demo, "WORDS", 500)
    out = good("demo", "-o", tmp_path / "demo.html")
    assert "300 notes x 500 words" in out and "none" in out
    assert "<!doctype html>" in (tmp_path / "demo.html").read_text("utf-8")


def test_help_and_version():
    runner = CliRunner()
    helped = runner.invoke(application.app, ["--help"])
    assert helped.exit_code == 0
    for command in application.COMMANDS:
        assert command.__name__ in helped.output
        assert runner.invoke(application.app, [command.__name__, "--help"]).exit_code == 0
    assert runner.invoke(application.app, ["--version"]).output == "0.1.0\n"


def test_completion():
    """The script for a shell, and the answers that it asks for."""
    environment = {**os.environ, "_DPLASSO_COMPLETE": "source_bash"}
    script = subprocess_of(env=environment)
    assert script.code == 0 and "complete -o default -F" in script.out
    asked = {"_DPLASSO_COMPLETE": "complete_bash", "COMP_WORDS": "dplasso tr", "COMP_CWORD": "1"}
    assert subprocess_of(env={**os.environ, **asked}).out.split() == ["train"]
    assert "--show-completion" in subprocess_of("--help").out


# What is refused.


@pytest.mark.parametrize(
    "arguments",
    [
        ("train",),
        ("train", "rows.svm"),
        ("train", "rows.svm", "-o", "x", "--no-such-option"),
        ("train", "rows.svm", "-o", "x", "--rows", "many"),
        ("inspect", "x", "--top", "-1"),
        ("no-such-command",),
    ],
)
def test_misuse_is_2(run, arguments):
    done = run(*arguments)
    assert done.code == 2 and done.out == "" and "Usage" in done.err


def test_real_processes_exit_with_1_and_without_a_traceback(tmp_path, text):
    done = subprocess_of("train", tmp_path / "none.svm", "-o", tmp_path / "x")
    assert done.code == 1 and done.out == ""
    assert done.err.startswith("error: ") and "none.svm" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "line",
    [
        f"1 3:{SECRET} 2:0.5",
        f"1 3:{SECRET}x",
        f"{SECRET}:1 2:3",
        f"1 2:nan 3:{SECRET}",
        f"1 999:{SECRET}",
        f"1 0:{SECRET}",
    ],
)
def test_a_broken_line_is_named_but_not_shown(tmp_path, text, model, run, line):
    lines = text.read_text().splitlines()
    lines[6] = line
    text.write_text("\n".join(lines))
    for command in (
        ("train", text, "-o", tmp_path / "x", *DECLARED),
        ("convert", text, "-o", tmp_path / "x", "--features", COLUMNS),
        ("predict", model, text),
        ("evaluate", model, text, "--public"),
    ):
        done = run(*command)
        assert done.code == 1 and done.out == ""
        assert f"{text}, line 7: " in done.err
        assert SECRET not in done.err and "999" not in done.err
        assert "=True" not in done.err  # options have other names here
    assert not (tmp_path / "x").exists()


def test_a_broken_row_of_a_table_is_named_but_not_shown(tmp_path, run):
    for column in ("age", "sick"):
        rows = people()
        rows[6][column] = f"x{SECRET}"
        data = write_table(tmp_path / "people.csv", rows)
        done = run("train", data, "-o", tmp_path / "x", *TABLE, "--classes", "no,yes")
        assert done.code == 1 and "row 7 " in done.err and SECRET not in done.err
    data.write_text(data.read_text() + f"{SECRET},{SECRET}\n")
    done = run("train", data, "-o", tmp_path / "x", *TABLE, "--classes", "no,yes")
    assert done.code == 1 and SECRET not in done.err


def test_a_table_needs_a_target_and_bounds(tmp_path, run):
    data = write_table(tmp_path / "people.csv", people())
    done = run("train", data, "-o", tmp_path / "x")
    assert done.code == 1 and "--target" in done.err
    done = run("train", data, "-o", tmp_path / "x", "--target", "sick", "--ignore", "id")
    assert done.code == 1 and "--bounds age=" in done.err and "'age'" in done.err
    done = run("convert", data, "-o", tmp_path / "x")
    assert done.code == 1 and "--target" in done.err
    done = run("convert", data, "-o", tmp_path / "x", *TABLE)
    assert done.code == 1 and "one bound" in done.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--bounds", "age"),
        ("--bounds", "age=12"),
        ("--bounds", "age=a:b"),
        ("--hash", "town"),
        ("--hash", "town=x"),
        ("--radius", "wide"),
        ("--rounds", "2.5"),
        ("--classes", "no"),
    ],
)
def test_options_that_make_no_sense_are_named(tmp_path, run, option, value):
    data = write_table(tmp_path / "people.csv", people())
    done = run("train", data, "-o", tmp_path / "x", "--target", "sick", option, value)
    assert done.code == 1 and option.strip("-") in done.err


@pytest.mark.parametrize("option", [("-e", "-1"), ("--delta", "2"), ("--selection", "best")])
def test_parameters_are_checked_before_the_data_are_read(tmp_path, run, monkeypatch, option):
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    assert run("train", "rows.svm", "-o", tmp_path / "x", *option).code == 1


def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path, text, run, monkeypatch
):
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    for output in (tmp_path / "no" / "model.dpl", tmp_path):
        done = run("train", text, "-o", output, *DECLARED)
        assert done.code == 1 and str(output) in done.err and "folder" in done.err
    done = run("convert", text, "-o", tmp_path / "no" / "x.dpc", "--features", COLUMNS)
    assert done.code == 1 and "folder" in done.err


def test_files_that_are_something_else(tmp_path, text, model, run):
    done = run("predict", text, text)
    assert done.code == 1 and "not a dplasso model file" in done.err
    assert run("predict", tmp_path / "none.dpl", text).err.startswith("error: ")
    content = model.read_bytes()
    model.write_bytes(content[:-1])
    done = run("inspect", model)
    assert done.code == 1 and "truncated" in done.err
    for content in (b"", b"PK\x03\x04", b"no archive"):
        (tmp_path / "X.npz").write_bytes(content)
        done = run("train", tmp_path / "X.npz", "-o", tmp_path / "x", *DECLARED)
        assert done.code == 1 and "X.npz" in done.err and "defect" not in done.err
    assert run("train", tmp_path, "-o", tmp_path / "x", *DECLARED).code == 1
    assert run("convert", tmp_path / "X.npz", "-o", tmp_path / "x").code == 1


def test_other_columns_or_labels_than_the_model_has(tmp_path, model, text, run):
    X, y = problem()
    sp.save_npz(tmp_path / "X.npz", sp.csr_array(X[:, :-1]))
    done = run("predict", model, tmp_path / "X.npz")
    assert done.code == 1 and "39 columns" in done.err and "40" in done.err
    wide = write_svmlight(tmp_path / "wide.svm", X, y, base=5)
    assert "--features" in run("predict", model, wide).err
    write_svmlight(text, X, y + 7)
    done = run("evaluate", model, text, "--public")
    assert done.code == 1 and "classes" in done.err
    done = run("train", text, "-o", tmp_path / "x", *DECLARED)
    assert done.code == 1 and "--classes" in done.err


def test_nan_in_a_matrix(tmp_path, model, run):
    X, _ = problem()
    X.data[3] = np.nan
    sp.save_npz(tmp_path / "X.npz", X)
    done = run("predict", model, tmp_path / "X.npz")
    assert done.code == 1 and "NaN" in done.err


def test_probabilities_are_for_classifiers(tmp_path, good, run):
    data = write_svmlight(tmp_path / "rows.svm", *problem("regression"))
    path = tmp_path / "model.dpl"
    good("train", data, "-o", path, "--regression", "--features", COLUMNS, *FEW)
    done = run("predict", path, data, "--proba")
    assert done.code == 1 and "--proba" in done.err


def test_unforeseen_errors_tell_their_place_and_not_their_message(run, monkeypatch):
    def fail(*_):
        raise KeyError(SECRET)

    monkeypatch.setattr("dplasso.cli.inspect.load", fail)
    done = run("inspect", "model.dpl")
    assert done.code == 1 and "KeyError" in done.err and "inspect.py" in done.err
    assert SECRET not in done.err


def test_an_interrupt_is_130_and_leaves_nothing(tmp_path):
    pipe = tmp_path / "rows.svm"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [COMMAND, "train", pipe, "-o", tmp_path / "x", "--features", "5"],
        stderr=subprocess.PIPE,
        text=True,
    )
    with open(pipe, "w"):  # waits for the reader
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
    assert "interrupted" in process.communicate()[1]
    assert process.returncode == 130
    assert os.listdir(tmp_path) == [pipe.name]


def test_a_reader_that_leaves_is_no_defect(model, text):
    predict = subprocess.Popen(
        [COMMAND, "predict", model, text], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    predict.stdout.close()
    assert b"Traceback" not in predict.stderr.read()
    predict.stderr.close()
    assert predict.wait() == 1


# What is revealed.


@pytest.mark.parametrize(
    ("left_out", "said"),
    [("--features", "number of columns was read"), ("--classes", "classes were read")],
)
def test_facts_read_from_the_data_are_told_or_refused(tmp_path, text, run, left_out, said):
    place = DECLARED.index(left_out)
    given = (*DECLARED[:place], *DECLARED[place + 2 :])
    path = tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *given)
    assert done.code == 0 and said in done.err and left_out in done.err
    name = {"--features": "n_features", "--classes": "classes"}[left_out]
    assert load(path).privacy_["public"][name]["source"] == train.READ
    path.unlink()
    done = run("train", text, "-o", path, *given, "--strict")
    assert done.code == 1 and said in done.err and not path.exists()


def test_what_is_declared_is_not_told(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "--strict")
    assert done.code == 0 and done.err == ""
    public = load(tmp_path / "m").privacy_["public"]
    assert not [name for name, fact in public.items() if train.READ in fact["source"]]


def test_seeds_are_told_or_refused(tmp_path, text, run):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "--seed", 1)
    assert done.code == 0 and "--seed" in done.err
    assert run("train", text, "-o", tmp_path / "m", *DECLARED, "--seed", 1, "--strict").code == 1


def test_undeclared_rows_are_refused_in_strict_mode(tmp_path, text, run):
    given = ("train", text, "-o", tmp_path / "m", *DECLARED[:4], "--strict")
    done = run(*given)
    assert done.code == 1 and "--rows" in done.err


def test_classes_of_a_table_are_told_or_refused(tmp_path, run):
    data, path = write_table(tmp_path / "people.csv", people()), tmp_path / "model.dpl"
    done = run("train", data, "-o", path, *TABLE, *FEW)
    assert done.code == 0 and done.err.count("classes were read") == 1
    assert load(path).privacy_["public"]["classes"]["source"] == train.READ
    assert run("train", data, "-o", path, *TABLE, *FEW, "--strict").code == 1
    given = (*TABLE[:2], *TABLE[4:], "--ignore", "age")
    assert run("convert", data, "-o", tmp_path / "x", *given, "--strict").code == 1
    assert "classes were read" in run("convert", data, "-o", tmp_path / "x", *given).err


def test_figures_of_private_rows_are_told_or_refused(model, text, run):
    done = run("evaluate", model, text)
    assert done.code == 0 and "guarantee does not cover" in done.err and "accuracy" in done.out
    done = run("evaluate", model, text, "--strict")
    assert done.code == 1 and done.out == ""
    done = run("evaluate", model, text, "--strict", "--public")
    assert done.code == 0 and done.err == ""


def test_rows_to_test_on(tmp_path, text, run):
    X, y = problem(seed=1)
    new, path = write_svmlight(tmp_path / "new.svm", X, y), tmp_path / "model.dpl"
    done = run("train", text, "-o", path, *DECLARED, "--test", new, "--json")
    assert done.code == 0 and "guarantee does not cover" in done.err
    assert "training data" not in done.err
    assert json.loads(done.out)["test"]["accuracy"] == load(path).score(X, y)
    assert f"On {new}" in run("train", text, "-o", path, *DECLARED, "--test", new).out
    (tmp_path / "link.svm").symlink_to(text)
    done = run("train", text, "-o", path, *DECLARED, "--test", tmp_path / "link.svm")
    assert done.code == 0 and "link.svm is the training data" in done.err


@pytest.mark.parametrize("test", [("--test", "rows.svm", "--strict"), ("--test", "none.svm")])
def test_rows_to_test_on_are_refused_before_anything_is_read(
    tmp_path, text, run, monkeypatch, test
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train, "read_rows", lambda *_, **__: pytest.fail("read"))
    assert run("train", text, "-o", "m", *DECLARED, *test).code == 1


@pytest.mark.parametrize(("epsilon", "said"), [(10, False), (10.5, True)])
def test_a_large_epsilon_is_told(tmp_path, text, run, epsilon, said):
    done = run("train", text, "-o", tmp_path / "m", *DECLARED, "-e", epsilon)
    assert done.code == 0 and ("protects little" in done.err) == said
