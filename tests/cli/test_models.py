"""Models and predictions of the command line are those that Python gives."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from commanding import (
    COLUMNS,
    DECLARED,
    FEW,
    KNOWN,
    ROWS,
    assert_same_model,
    problem,
    python_fit,
    write_svmlight,
)
from dplasso import load


@pytest.mark.parametrize("name", ["rows.svm", "rows.svm.gz"])
@pytest.mark.parametrize(
    ("kind", "classes"), [("binary", [-1, 1]), ("three", [0, 1, 2]), ("regression", None)]
)
def test_a_model_is_the_one_that_python_fits(tmp_path, good, name, kind, classes):
    X, y = problem(kind)
    data, path = write_svmlight(tmp_path / name, X, y), tmp_path / "model.dpl"
    task = (
        ["--regression", "--y-bound", 1]
        if classes is None
        else ["--classes", ",".join(map(str, classes))]
    )
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


def test_labels_may_have_a_range(tmp_path, good, run):
    X, y = problem("regression")
    data, path = write_svmlight(tmp_path / "rows.svm", X, y), tmp_path / "model.dpl"
    given = (data, "-o", path, "--features", COLUMNS, "--regression", "--seed", 3, *FEW, "--force")
    good("train", *given, "--y-bound", "-0.25:1.25")
    model = load(path)
    assert model.y_bound == (-0.25, 1.25)
    assert np.all(model.predict(X) >= -0.25) and np.all(model.predict(X) <= 1.25)
    refused = run("train", *given, "--y-bound", "0:b")
    assert refused.code != 0 and "two with a colon between" in refused.err


def test_a_hinge_model_is_trained_evaluated_and_audited(tmp_path, text, good):
    path = tmp_path / "model.dpl"
    good("train", text, "-o", path, *DECLARED, "--loss", "hinge")
    assert load(path).loss == "hinge"
    assert "accuracy" in good("evaluate", path, text, "--public")
    assert "No alarm" in good("audit", "--model", path, "--check", "accounting")


def test_options_reach_the_estimator(tmp_path, text, good):
    path = tmp_path / "model.dpl"
    more = ("--x-bound", 0.5, "--n-nonzero", 3, "--no-intercept", "--neighboring", "replace_one")
    more += ("--selection", "noisy_max", "--delta", 1e-5, "--threads", 1, "--seed", 3)
    good("train", text, "-o", path, *DECLARED, *more)
    params = load(path).get_params()
    wanted = {
        "x_bound": 0.5,
        "n_nonzero": 3,
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
    for name, options in {"a": ("--max-iter", 7, "--seed", 1), "b": ("-T", 7, "--seed", 1)}.items():
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
    good("train", data, "--labels", labels, "-o", path, *KNOWN, "--seed", 3)
    theirs = python_fit("binary", X, y, classes=[-1, 1])
    assert_same_model(load(path), theirs)
    assert np.array_equal(np.array(good("predict", path, data).split(), float), theirs.predict(X))
    scores = json.loads(good("evaluate", path, data, "--labels", labels, "--public", "--json"))
    assert scores["accuracy"] == theirs.score(X, y)
    assert "--labels" in run("train", data, "-o", tmp_path / "x", *KNOWN).err
    np.save(labels, y[:-1])
    assert (
        "one label for each row"
        in run("train", data, "--labels", labels, "-o", tmp_path / "x", *KNOWN).err
    )


def test_npz_with_labels_of_text_that_looks_like_numbers(tmp_path, good):
    X, y = problem()
    data, labels, path = tmp_path / "X.npz", tmp_path / "y.npy", tmp_path / "model.dpl"
    sp.save_npz(data, X)
    np.save(labels, np.where(y > 0, "1", "-1"))
    good("train", data, "--labels", labels, "-o", path, *KNOWN)
    assert load(path).classes_.tolist() == ["-1", "1"]


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


def test_a_private_bound(tmp_path, text, good, run):
    path = tmp_path / "model.dpl"
    out = good("train", text, "-o", path, *DECLARED, "--x-bound", "private", "--strict")
    assert "a bound on entries (exponential mechanism" in out and "(private quantile)" in out
    model = load(path)
    assert model.x_bound == "private"
    assert model.privacy_["bounds"]["x_bound"]["source"] == "private quantile"
    assert len(good("predict", path, text).split()) == ROWS
    done = run("train", text, "-o", tmp_path / "other", *DECLARED, "--x-bound", "narrow")
    assert done.code != 0 and "--x-bound must be a number" in done.err


def test_frank_wolfe_releases_a_bound_that_is_left_out(tmp_path, text, good):
    """From text and from a store, whose entries nothing may have clipped to 1 before."""
    options = (
        "--classes",
        "-1,1",
        "--rows",
        ROWS,
        "--seed",
        3,
        "--solver",
        "frank_wolfe",
        "--force",
    )
    store = tmp_path / "x.dpc"
    good("convert", text, "-o", store, "--features", COLUMNS)
    for source in ((text, "--features", COLUMNS), (store,)):
        good("train", *source, "-o", tmp_path / "a.dpl", *options, "--x-bound", "private")
        good("train", *source, "-o", tmp_path / "b.dpl", *options)
        asked, left_out = load(tmp_path / "a.dpl"), load(tmp_path / "b.dpl")
        assert left_out.x_bound is None and left_out.privacy_ == asked.privacy_
        assert_same_model(left_out, asked)
    assert "a bound on entries" in good("train", store, *options, "--dry-run")


def test_a_dry_run_says_that_a_ledger_has_too_little_left(tmp_path, text, good, run):
    ledger = tmp_path / "ledger.sqlite"
    good("budget", "init", ledger, "--epsilon", 1, "--delta", 1e-5)
    for epsilon in (0.5, 5):
        done = run("train", text, *DECLARED, "--epsilon", epsilon, "--dry-run", "--budget", ledger)
        assert done.code == 0 and "nothing was fitted" in done.out, done.err
        assert ("too little budget left" in done.err) == (epsilon == 5)


def test_a_dry_run_without_classes_asks_for_them(tmp_path, text, good):
    out = good("train", text, "-o", tmp_path / "model.dpl", "--rows", 400, "--dry-run")
    assert "give --classes" in out and "nothing was fitted" in out
    assert json.loads(good("train", text, "-o", "m", "--dry-run", "--json")) == {"plan": None}
    assert not (tmp_path / "model.dpl").exists()
