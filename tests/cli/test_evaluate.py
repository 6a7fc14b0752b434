"""``dplasso evaluate`` tells what a score is worth, and what is wrong with rows it cannot score."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

from dplasso import Budget, PrivateLassoClassifier, PrivateLassoRegressor, Schema, load
from dplasso.schema import Number, Person, Target
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


def calibration_error(model, y):
    """Written a second time: the gap in each of 15 bins, weighted by its rows.

    Of two classes it is about the probability of the second, else about that of the answer.
    """
    scores, total = model.predict_proba(X), 0.0
    if scores.shape[1] == 2:
        sure, right = scores[:, 1], y == 1
    else:
        sure, right = scores.max(axis=1), scores.argmax(axis=1) == y
    for low in range(15):
        inside = [k for k in range(len(y)) if low / 15 <= sure[k] < (low + 1) / 15 + (low == 14)]
        if inside:
            total += len(inside) * abs(sure[inside].mean() - right[inside].mean())
    return total / len(y)


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
    balanced = balanced_accuracy_score(y, model.predict(X))
    assert found["balanced_accuracy"] == pytest.approx(balanced, rel=1e-12)
    assert found["majority_balanced_accuracy"] == 1 / count
    assert found["calibration_error"] == pytest.approx(calibration_error(model, y), rel=1e-9)
    scores = model.predict_proba(X)
    area = roc_auc_score(y, scores[:, 1] if count == 2 else scores, multi_class="ovr")
    assert found["auc"] == pytest.approx(area, rel=1e-9)
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
    assert found["verdict"].startswith("better than the shares of the classes by log-loss")


def test_a_regressor_is_held_against_the_mean(tmp_path, run):
    model = PrivateLassoRegressor(500.0, max_iter=40, radius=5.0).fit(X, X[:, 0])
    files = saved(tmp_path, model, X[:, 0])
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["r2"] > 0.5 and "majority_accuracy" not in found
    assert found["verdict"] == "better than always answering the mean of these labels"
    np.save(tmp_path / "y.npy", -X[:, 0])
    found = json.loads(run("evaluate", *files, "--json").out)
    assert found["r2"] < 0 and found["verdict"].startswith("no better")


@pytest.mark.parametrize("y_bound", [0.4, (-0.2, 0.5)])
def test_numbers_are_scored_on_labels_as_they_are_and_as_clipped(tmp_path, run, y_bound):
    model = PrivateLassoRegressor(500.0, max_iter=40, radius=5.0, y_bound=y_bound).fit(X, X[:, 0])
    found = json.loads(run("evaluate", *saved(tmp_path, model, X[:, 0]), "--json").out)
    low, high = y_bound if isinstance(y_bound, tuple) else (-y_bound, y_bound)
    for ending, y in (("", X[:, 0]), ("_clipped", np.clip(X[:, 0], low, high))):
        errors, spread = y - model.predict(X), y - y.mean()
        assert found[f"mae{ending}"] == pytest.approx(np.abs(errors).mean(), rel=1e-9)
        assert found[f"rmse{ending}"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-9)
        assert found[f"mae_of_mean{ending}"] == pytest.approx(np.abs(spread).mean(), rel=1e-9)
        assert found[f"rmse_of_mean{ending}"] == pytest.approx(y.std(), rel=1e-9)
        r2 = 1 - np.sum(errors**2) / np.sum(spread**2)
        assert found[f"r2{ending}"] == pytest.approx(r2, rel=1e-9)
    assert found["rmse_clipped"] < found["rmse"]


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


def test_private_scores_are_charged_and_stated(tmp_path, run):
    y = (X[:, 0] > 0).astype(int)
    *files, _ = saved(tmp_path, classifier((0, 1), y), y)
    ledger = tmp_path / "budget.sqlite"
    Budget(1.0, 1e-6, ledger)
    given = ("evaluate", *files, "--epsilon", 0.7, "--budget", ledger)
    done = run(*given, "--json", "--strict")
    found = json.loads(done.out)
    assert done.err == "" and found["mean_over"] == "rows"
    told = {"model", "data", "scores", "trivial", "count", "mean_over", "meaning", "privacy"}
    assert set(found) == told
    assert set(found["scores"]) == set(found["trivial"]) == {"accuracy", "log_loss"}
    assert all(set(score) == {"value", "noise"} for score in found["scores"].values())
    assert found["privacy"]["epsilon"] == 0.7 and found["privacy"]["unit"] == "row"
    assert found["privacy"]["ledger"]["entry"] == 1
    refused = run(*given)
    assert refused.code == 1 and "budget" in refused.err and refused.out == ""
    assert len(Budget.open(ledger).entries()) == 1
    shown = run("evaluate", *files, "--epsilon", 1).out
    assert "mean over rows" in shown and "accuracy, trivial answer" in shown
    assert "always gives the more common class" in " ".join(shown.split())
    assert "standard deviation of its noise" in shown and "balanced_accuracy" not in shown
    assert "This score of a PrivateLassoClassifier is (1, 1e-06)-differentially private" in shown


def test_private_scores_of_people_follow_the_schema_of_the_model(tmp_path, run):
    path, schema = tmp_path / "visits.csv", tmp_path / "visits.toml"
    lines = [f"{k // 3},{20 + k % 60},{'yes' if k % 60 > 30 else 'no'}" for k in range(600)]
    path.write_text("\n".join(["patient,age,sick", *lines]) + "\n")
    columns = {"patient": Person(), "age": Number(0, 120), "sick": Target(["no", "yes"])}
    Schema(columns, n_rows=600, n_people=200, rows_per_person=2).to_toml(schema)
    model = tmp_path / "visits.dpl"
    assert run("train", path, "-o", model, "--schema", schema, "--epsilon", 5).code == 0
    found = json.loads(run("evaluate", model, path, "--epsilon", 1, "--strict", "--json").out)
    assert found["privacy"]["unit"] == "person: patient"
    assert found["privacy"]["public"]["rows_per_person"]["value"] == 2
    assert found["mean_over"] == "people" and "counts as 2 rows at most" in found["meaning"]
    fewer = run("evaluate", model, path, "--epsilon", 1, "--rows-per-person", 1, "--strict")
    assert fewer.code == 0 and "mean over people" in fewer.out
    told = " ".join(fewer.out.split())
    assert "counts as one row, however many they have" in told
    assert "All rows count as about" in told


def test_private_scores_and_public_rows_exclude_each_other(tmp_path, run):
    y = (X[:, 0] > 0).astype(int)
    files = saved(tmp_path, classifier((0, 1), y), y)
    assert "exclude each other" in run("evaluate", *files, "--epsilon", 1).err
    assert "needs --epsilon" in run("evaluate", *files, "--rows-per-person", 4).err
