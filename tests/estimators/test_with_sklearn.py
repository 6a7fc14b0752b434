"""The estimators inside the tools that scikit-learn users have around them."""

import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor

ignore_seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")


def letters(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(200)])
    y = rng.integers(0, 2, rows)
    return [
        " ".join(rng.choice(words, 10)) + (" fever" if label else " well") for label in y
    ], np.array(["ill" if label else "fine" for label in y])


def text_model(**options):
    hashing = HashingVectorizer(n_features=2**20, binary=True, norm=None, alternate_sign=False)
    return make_pipeline(hashing, PrivateLassoClassifier(classes=["fine", "ill"], **options))


def test_text_through_a_public_vocabulary():
    texts, y = letters()
    model = text_model(epsilon=100.0, n_rows=400).fit(texts, y)
    assert model.score(texts, y) > 0.95
    assert model[-1].coef_.shape == (1, 2**20) and model[-1].solver_ == "gradient"
    model.set_params(privatelassoclassifier__solver="frank_wolfe").fit(texts, y)
    assert model.score(texts, y) > 0.95
    assert model[-1].coef_.shape == (1, 2**20) and model[-1].vertices_[0, 0] < 2**20 + 1


@ignore_seeds
def test_grid_search_cross_validation_and_clone():
    texts, y = letters()
    search = GridSearchCV(
        text_model(epsilon=100.0, random_state=0),
        {"privatelassoclassifier__radius": [0.1, 10.0]},
        cv=3,
        scoring="neg_log_loss",
        error_score="raise",
    ).fit(texts, y)
    assert search.best_params_ == {"privatelassoclassifier__radius": 10.0}
    scores = cross_val_score(text_model(epsilon=100.0), texts, y, error_score="raise")
    assert scores.shape == (5,) and scores.mean() > 0.9
    copy = clone(search.best_estimator_)
    assert not hasattr(copy[-1], "coef_")
    assert copy.get_params()["privatelassoclassifier__radius"] == 10.0


def test_a_table_with_categories():
    rng = np.random.default_rng(0)
    town, age = rng.choice(["A", "B", "C"], 500), rng.uniform(0, 120, 500)
    table = pd.DataFrame({"town": town, "age": age})
    y = (town == "B").astype(int)
    columns = ColumnTransformer(
        [("town", OneHotEncoder(categories=[["A", "B", "C"]]), ["town"])], remainder="passthrough"
    )
    model = make_pipeline(
        columns,
        PrivateLassoClassifier(
            epsilon=50.0, classes=[0, 1], n_rows=500, x_bound=[1.0, 1.0, 1.0, 120.0]
        ),
    )
    assert model.fit(table, y).score(table, y) > 0.95


@ignore_seeds
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_two_workers_fit_what_one_would(backend):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (300, 30)), np.arange(300) % 2
    models = [PrivateLassoClassifier(classes=[0, 1], random_state=s, max_iter=20) for s in range(4)]
    alone = [clone(model).fit(X, y).vertices_ for model in models]
    with joblib.parallel_backend(backend, n_jobs=2):
        fitted = joblib.Parallel()(joblib.delayed(model.fit)(X, y) for model in models)
    for model, vertices in zip(fitted, alone, strict=True):
        np.testing.assert_array_equal(model.vertices_, vertices)


def test_unseeded_workers_never_share_their_noise():
    X, y = np.zeros((10, 1000)), np.arange(10) % 2
    models = [PrivateLassoClassifier(classes=[0, 1], max_iter=20) for _ in range(4)]
    fitted = joblib.Parallel(n_jobs=2)(joblib.delayed(model.fit)(X, y) for model in models)
    assert len({model.vertices_.tobytes() for model in fitted}) == 4


def test_pickling_keeps_the_model():
    texts, y = letters()
    model = text_model(epsilon=100.0).fit(texts, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    assert str(again[-1].privacy_) == str(model[-1].privacy_)


def test_selecting_features_by_the_model():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 40))
    y = (X[:, 7] > 0).astype(int)
    model = PrivateLassoClassifier(epsilon=100.0, classes=[0, 1], n_nonzero=3)
    kept = SelectFromModel(model, threshold=1e-12).fit(X, y).get_support(indices=True)
    assert 7 in kept and len(kept) <= 3


def test_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (500, 10))
    Y = np.stack([X[:, 2], -X[:, 5]], axis=1)
    model = MultiOutputRegressor(PrivateLassoRegressor(epsilon=500.0)).fit(X, Y)
    assert model.score(X, Y) > 0.7


def test_a_list_of_texts_is_refused_with_a_way_to_encode_it():
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=2, x_bound=1.0)
    with pytest.raises(ValueError, match="encode a list of texts by HashingVectorizer") as caught:
        model.fit(["cough", "fever"], [0, 1])
    assert "cough" not in str(caught.value)


@pytest.mark.parametrize("path", ["budget.sqlite", Path("budget.sqlite")])
def test_the_path_of_a_ledger_is_refused_with_the_way_to_open_it(path):
    model = PrivateLassoClassifier(classes=[0, 1], n_rows=2, x_bound=1.0, accountant=path)
    with pytest.raises(ValueError, match=r"open the ledger at this path with Budget\.open"):
        model.fit([[0.0], [1.0]], [0, 1])
