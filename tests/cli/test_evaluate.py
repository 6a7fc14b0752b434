"""``dplasso evaluate`` tells what a score is worth, and what is wrong with rows it cannot score."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, load
from refitted import refitted

RNG = np.random.default_rng(0)
X = RNG.uniform(-1.0, 1.0, (400, 6))


def saved(tmp_path, model, labels, rows=X):
    """A model, and rows with labels, in files."""
    model.save(tmp_path / "model.dpl")
    sp.save_npz(tmp_path / "X.npz", sp.csr_array(rows))
    np.save(tmp_path / "y.npy", labels)
    return tmp_path / "model.dpl", tmp_path / "X.npz", "--labels", tmp_path / "y.npy", "--public"


def classifier(classes=(0, 1), y=None):
    given = {"classes": classes, "max_iter": 40, "radius": 5.0, "x_bound": 1.0}
    return PrivateLassoClassifier(500.0, **given).fit(X, y)


@pytest.mark.parametrize("count", [2, 3])
def test_accuracy_is_beside_what_the_commonest_class_has(tmp_path, run, count):
    y = np.digitize(X[:, 0], [0.2, 0.7][: count - 1])
    files = saved(tmp_path, classifier(range(count), y), y)
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["majority_accuracy"] == np.bincount(y).max() / 400
    assert found["accuracy"] > found["majority_accuracy"] and "auc" in found
    model, shares = load(files[0]), np.bincount(y) / 400
    assert found["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-12)
    constant = log_loss(y, np.tile(shares, (400, 1)))
    assert found["log_loss_of_class_shares"] == pytest.approx(constant, rel=1e-12)
    assert found["verdict"] == "better than always answering the most common class"
    shown = run("evaluate", *files).out
    assert "majority_accuracy" in shown and found["verdict"] in shown


def test_a_model_that_always_says_the_same_is_told_to_be_no_better(tmp_path, run):
    y = (np.arange(400) % 20 == 0).astype(int)
    model = classifier(y=y)
    refitted(model, weights=sp.csr_array((1, 6)), intercepts=np.array([-1.0]))
    files = saved(tmp_path, model, y)
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["accuracy"] == found["majority_accuracy"] == 0.95
    assert found["verdict"] == "no better than always answering the most common class"
    assert found["verdict"] in run("evaluate", *files).out


def test_probabilities_of_a_rare_class_are_of_use_though_it_is_never_the_answer(tmp_path, run):
    """One row in twenty has the class; the model knows which rows have it in one case of three."""
    y = ((X[:, 0] > 0.7) & (np.arange(400) % 3 == 0)).astype(int)
    model = classifier(y=y)
    rising = sp.csr_array(([4.0], ([0], [0])), shape=(1, 6))
    refitted(model, weights=rising, intercepts=np.array([-5.0]))
    found = json.loads(run("evaluate", *saved(tmp_path, model, y), "--json").out)
    assert found["accuracy"] == found["majority_accuracy"]
    assert found["log_loss"] < found["log_loss_of_class_shares"]
    assert found["verdict"] == "better than the shares of the classes, by its probabilities"


def test_a_regressor_is_held_against_the_mean(tmp_path, run):
    model = PrivateLassoRegressor(500.0, max_iter=40, radius=5.0).fit(X, X[:, 0])
    files = saved(tmp_path, model, X[:, 0])
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["r2"] > 0.5 and "majority_accuracy" not in found
    assert found["verdict"] == "better than always answering the mean of these labels"
    np.save(tmp_path / "y.npy", -X[:, 0])
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["r2"] < 0 and found["verdict"].startswith("no better")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (np.full(400, 7), "not among the model's classes (0, 1)"),
        (np.full(400, "61.80339x"), "labels that are text, the model's classes are numbers"),
    ],
)
def test_labels_of_another_kind_are_refused_with_a_remedy(tmp_path, run, labels, said):
    done = run("evaluate", *saved(tmp_path, classifier(y=X[:, 0] > 0), labels))
    assert done.code == 1 and said in done.err and "as in training" in " ".join(done.err.split())
    assert "61.8" not in done.err and done.out == ""


def test_text_for_a_regressor_is_refused_and_not_shown(tmp_path, run):
    model = PrivateLassoRegressor(5.0, max_iter=5, radius=1.0).fit(X, X[:, 0])
    done = run("evaluate", *saved(tmp_path, model, np.full(400, "61.80339x")))
    assert done.code == 1 and "finite numbers" in done.err and "61.8" not in done.err


def test_help_says_what_rows_it_takes(run):
    text = " ".join(run("evaluate", "--help").out.split())
    for said in ("Rows with labels", "most common class", "--labels", "Declare these rows public"):
        assert said in text


def test_a_class_that_is_hardly_ever_found_is_shown(tmp_path, run):
    y = (np.arange(400) % 20 == 0).astype(int)
    model = classifier(y=y)
    refitted(model, weights=sp.csr_array((1, 6)), intercepts=np.array([-1.0]))
    files = saved(tmp_path, model, y)
    found = json.loads(run("evaluate", *files, "--json").out)["per_class"]
    assert found == {
        "0": {"rows": 380, "answered": 400, "found": 380},
        "1": {"rows": 20, "answered": 0, "found": 0},
    }
    out = run("evaluate", *files).out
    assert re.search(r"^0 +380 +400 +380 +100.0%$", out, re.M)
    assert re.search(r"^1 +20 +0 +0 +0.0%$", out, re.M)


@pytest.mark.parametrize("count", [10, 11])
def test_classes_are_counted_one_by_one_up_to_ten(tmp_path, run, count):
    y = np.arange(400) % (count - 1)  # the last does not occur
    model = classifier(list(range(count)), y)
    files = saved(tmp_path, model, y)
    found = json.loads(run("evaluate", *files, "--json").out)
    assert ("per_class" in found) == (count == 10)
    if count == 10:
        assert sum(of["rows"] for of in found["per_class"].values()) == 400
        assert sum(of["answered"] for of in found["per_class"].values()) == 400
        hits = sum(of["found"] for of in found["per_class"].values())
        assert hits / 400 == found["accuracy"]
        assert "no rows" in run("evaluate", *files).out
