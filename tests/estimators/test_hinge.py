"""``loss="hinge"``: both solvers, files, the statement, and no probabilities."""

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score
from sklearn.svm import LinearSVC

import dplasso
from dplasso import PrivateLassoClassifier
from dplasso.estimators import load
from dplasso.report import evaluate
from dplasso.solvers.lasso import lasso

pytestmark = pytest.mark.filterwarnings("ignore::dplasso.privacy.leaks.PrivacyLeakWarning")


def problem(rows=4000, columns=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, columns))
    return X, np.where(X[:, 2] - X[:, 7] + 0.1 * rng.normal(size=rows) > 0, "yes", "no")


def hinge(epsilon=4.0, **more):
    public = {"classes": ["no", "yes"], "n_rows": 4000, "x_bound": 1.0, "random_state": 0}
    return PrivateLassoClassifier(epsilon, **{"loss": "hinge", **public, **more})


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "auto"])
def test_both_solvers_learn_it(solver):
    X, y = problem()
    model = hinge(solver=solver).fit(X, y)
    assert set(np.argsort(-np.abs(model.coef_[0]))[:2]) == {2, 7}
    assert accuracy_score(y, model.predict(X)) > 0.9
    other = hinge(solver=solver, loss="logistic").fit(X, y)
    assert not np.array_equal(model.coef_, other.coef_)


def test_few_columns_can_be_selected_with_it():
    X, y = problem()
    wide = np.hstack([(X > 0).astype(float), np.zeros((len(X), 1200))])
    model = hinge(solver="auto", n_nonzero=2, row_map="presence").fit(wide, y)
    assert model.solver_ == "select" and set(model.vertices_[:, 0]) == {2, 7}


def test_without_privacy_it_is_the_constrained_minimum():
    X, y = problem(rows=500)
    model = hinge(math.inf, radius=4.0, fit_intercept=False, max_iter=3000).fit(X, y)
    loss = dplasso.losses.loss_of_classes("hinge", ["no", "yes"])
    labels, matrix = loss.encode(y), dplasso.ColumnMatrix.of(X)
    best = lasso(matrix, labels, loss, 4.0, gap=1e-9).weights
    ours, least = (loss.value(X @ w, labels) / len(y) for w in (model.coef_.T, best))
    assert least - 1e-9 <= ours <= least + 1e-3


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_a_saved_model_predicts_as_it_did(solver, tmp_path):
    X, y = problem()
    model = hinge(solver=solver).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.loss == "hinge"
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert again.privacy_["public"]["loss"] == {"value": "hinge", "source": "given"}


def test_margins_are_no_probabilities():
    X, y = problem()
    model = hinge().fit(X, y)
    for name in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, name) and hasattr(hinge(loss="logistic"), name)
    with pytest.raises(AttributeError) as refused:
        _ = model.predict_proba
    assert "has no probabilities; use decision_function" in str(refused.value.__cause__)
    found = evaluate(model, X, y)
    assert found.score == accuracy_score(y, model.predict(X))
    assert found.auc is None and found.reliability is None


def test_a_plain_model_has_the_same_predictions():
    X, y = problem()
    model = hinge(row_map="as_is").fit(X, y)
    plain = model.to_sklearn()
    assert isinstance(plain[-1], LinearSVC) and not hasattr(plain, "predict_proba")
    assert np.array_equal(plain.predict(X), model.predict(X))


def test_what_it_does_not_take_is_refused_by_name():
    X, _ = problem(rows=50)
    with pytest.raises(ValueError, match=r"loss='hinge' takes two classes, got 3; choose"):
        hinge(classes=[0, 1, 2]).fit(X, np.arange(50) % 3)
    with pytest.raises(ValueError, match=r"loss must be one of 'logistic', 'hinge', got 'hing'"):
        hinge(loss="hing").fit(X, np.zeros(50))
    assert not hasattr(hinge(loss="hing"), "predict_proba")


def test_streams_know_it_by_its_former_name():
    X, y = problem()
    found = [
        dplasso.PrivateOnlineClassifier(
            4.0, window=100, loss=name, classes=["no", "yes"], random_state=0
        ).fit(X, y)
        for name in ("hinge", "smoothed_hinge")
    ]
    assert np.array_equal(found[0].coef_, found[1].coef_)
    assert found[0].score(X, y) > 0.8
