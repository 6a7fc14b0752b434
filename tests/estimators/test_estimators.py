"""What a fit gives, promises and refuses."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import dplasso
from dplasso import ColumnMatrix, PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.privacy import gaussian, zcdp
from dplasso.privacy.events import BoundedRange, Composed, PureDP, Repeated
from reference import weights_by_recursion

KNOWN = {"n_rows": 600, "x_bound": 1.0}
ignore_seeds = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")


@pytest.fixture(autouse=True)
def lenient(monkeypatch):
    monkeypatch.delenv("DPLASSO_STRICT", raising=False)
    yield
    dplasso.set_strict(None)


def toy(classes=2, rows=600, columns=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (rows, columns))
    margins = X[:, :classes] * 8 if classes > 2 else np.stack([0 * X[:, 0], 8 * X[:, 0]], axis=1)
    return X, margins.argmax(axis=1)


def classifier(classes=2, **options):
    return PrivateLassoClassifier(**{"classes": range(classes), **KNOWN, **options})


def regressor(**options):
    return PrivateLassoRegressor(**{**KNOWN, **options})


ESTIMATORS = {
    "binary": (lambda **o: classifier(**o), toy()),
    "softmax": (lambda **o: classifier(3, **o), toy(3)),
    "regression": (lambda **o: regressor(**o), toy()),
}
each_estimator = pytest.mark.parametrize("make, data", ESTIMATORS.values(), ids=ESTIMATORS)


@ignore_seeds
@each_estimator
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_are_what_the_released_vertices_add_up_to(make, data, fit_intercept):
    lasso = {"solver": "frank_wolfe", "fit_intercept": fit_intercept}
    model = make(epsilon=5.0, x_bound=0.5, random_state=3, **lasso).fit(*data)
    radius, columns = model.privacy_["bounds"]["radius"]["value"], 20 + fit_intercept
    column, up = model.vertices_[:, 0], model.vertices_[:, 1]
    outputs = model.fitted_.weights.shape[0]
    owner = model.vertices_[:, 2] if outputs > 1 else 0
    flat = weights_by_recursion(owner * columns + column, -up, radius, outputs * columns)
    weights, intercepts = flat.reshape(outputs, columns), np.zeros(outputs)
    if fit_intercept:
        intercepts = 0.5 * weights[:, 20]
    correction = model.fitted_.correction
    if hasattr(model, "classes_"):  # probabilities are corrected by what is released then
        weights = correction.scale * weights
        intercepts = correction.scale * intercepts + correction.shifts
    np.testing.assert_allclose(
        model.fitted_.weights.toarray(), weights[:, :20], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(model.intercept_, intercepts, rtol=1e-9, atol=1e-12)
    assert model.vertices_.dtype == np.int64 and len(model.vertices_) == model.n_iter_
    assert set(np.unique(up)) <= {-1, 1}


@each_estimator
def test_little_privacy_learns(make, data):
    assert make(epsilon=1e3).fit(*data).score(*data) > 0.7


@ignore_seeds
def test_accuracy_grows_with_epsilon_on_average():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 60))
    y = (X[:, :12] @ np.tile([1, -1, 0.5], 4) + 0.2 * rng.normal(size=2000) > 0).astype(int)
    means = [
        np.mean([classifier(epsilon=e, random_state=s).fit(X, y).score(X, y) for s in range(20)])
        for e in (0.03, 0.2, 1.0, 5.0, math.inf)
    ]
    assert np.all(np.diff(means) > 0)


@ignore_seeds
@each_estimator
def test_every_form_of_the_same_rows_gives_the_same_model(make, data):
    X, y = data
    X = np.round(X, 2) * (np.abs(X) > 0.5)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    names = [f"c{j}" for j in range(X.shape[1])]
    forms = [
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_array(X),
        wide,
        pd.DataFrame(X, columns=names),
        pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(X), columns=names),
        pl.DataFrame(X, schema=names),
        ColumnMatrix.of(X),
        X.tolist(),
    ]
    plain = make(random_state=1).fit(X, y)
    for form in forms:
        model = make(random_state=1).fit(form, y)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert hasattr(model, "feature_names_in_") == isinstance(form, pd.DataFrame | pl.DataFrame)
        if not isinstance(form, ColumnMatrix):
            np.testing.assert_allclose(model.predict(form), plain.predict(X), rtol=1e-12)
    single = make(random_state=1).fit(X.astype(np.float32), y)
    assert single.coef_.shape == plain.coef_.shape


@ignore_seeds
def test_bounds_per_column_are_a_public_scaling():
    X, y = toy()
    bounds = np.linspace(0.5, 4.0, 20)
    by_position = classifier(x_bound=bounds, random_state=2).fit(X * bounds, y)
    frame = pd.DataFrame(X * bounds, columns=[f"c{j}" for j in range(20)])
    named = {f"c{j}": bounds[j] for j in reversed(range(20))}
    by_name = classifier(x_bound=named, random_state=2).fit(frame, y)
    scaled = classifier(random_state=2).fit(X, y)
    np.testing.assert_array_equal(by_position.vertices_, by_name.vertices_)
    np.testing.assert_array_equal(by_position.vertices_, scaled.vertices_)
    np.testing.assert_allclose(by_position.coef_ * bounds, scaled.coef_, rtol=1e-12)


def test_ten_million_columns_stay_sparse():
    X = sp.random_array((10_000, 10_000_000), density=2e-6, rng=np.random.default_rng(0))
    y = np.arange(10_000) % 2
    model = classifier(solver="frank_wolfe").fit(sp.csr_array(X), y)
    assert model._dense is None and model.predict(sp.csr_array(X)).shape == (10_000,)
    assert model.fitted_.weights.nnz <= model.n_iter_
    assert model.sparsify().coef_.shape == (1, 10_000_000)


@each_estimator
def test_few_coefficients_are_kept_and_can_be_stored_sparsely(make, data):
    model = make(epsilon=0.3, n_nonzero=3, max_iter=60).fit(*data)
    assert model.n_nonzero == clone(model).n_nonzero == 3
    dense = model.coef_
    assert isinstance(dense, np.ndarray) and np.count_nonzero(dense) == 3
    assert sp.issparse(model.sparsify().coef_) and model.coef_.nnz == 3
    np.testing.assert_array_equal(model.coef_.toarray().ravel(), dense.ravel())
    assert isinstance(model.densify().coef_, np.ndarray)
    assert make().set_params(n_nonzero=7).get_params()["n_nonzero"] == 7


@each_estimator
def test_sparsifier_keeps_a_count_in_its_range_and_is_charged(make, data):
    keeper = Sparsifier(budget_share=0.2, low=2, high=5)
    model = make(epsilon=10.0, n_nonzero=keeper, max_iter=200).fit(*data)
    assert 2 <= model.fitted_.weights.nnz <= 5
    count, selections, *corrections = model.privacy_["releases"]
    assert count["mechanism"] == "double-geometric noise"
    spent = count["epsilon"] ** 2 / 2 + 200 * selections["bounded_range"] ** 2 / 8
    for times, part in zip((1, 2), corrections, strict=False):
        spent += times * 0.5 / part["noise_multiplier"] ** 2
    assert spent == pytest.approx(model.privacy_["rho"])
    assert spent <= zcdp.rho_of(10.0, 1e-6) * (1 + 1e-9)


@each_estimator
@pytest.mark.parametrize("neighboring", ["add_remove", "replace_one"])
@pytest.mark.parametrize("solver", ["frank_wolfe", "auto"])
def test_the_statement_is_json_and_a_paragraph(make, data, neighboring, solver):
    model = make(epsilon=2.0, neighboring=neighboring, solver=solver).fit(*data)
    statement = json.loads(json.dumps(model.privacy_, allow_nan=False))
    assert statement == model.privacy_ and statement["secure_rng"] is True
    if solver == "auto":  # all releases are Gaussian
        found = gaussian.epsilon_of(statement["mu"], statement["delta"])
    else:
        found = zcdp.epsilon_of(statement["rho"], statement["delta"])
    assert found == pytest.approx(2.0, rel=1e-6)
    text = str(model.privacy_)
    for part in ("(2, 1e-06)-differentially private", "n_rows = 600 (declared)", "x_bound = 1"):
        assert part in text
    assert "\n" not in text and "{" not in text


@each_estimator
def test_no_privacy_says_so(make, data):
    model = make(epsilon=math.inf).fit(*data)
    assert "NOT PRIVATE" in str(model.privacy_)
    assert json.loads(json.dumps(model.privacy_, allow_nan=False))["epsilon"] == "inf"


@ignore_seeds
def test_what_is_not_declared_is_said_warned_of_or_refused():
    X, y = toy()
    with pytest.warns(dplasso.PrivacyLeakWarning, match="classes were read from y"):
        model = PrivateLassoClassifier().fit(X, y)
    public = model.privacy_["public"]
    assert public["classes"] == {"value": [0, 1], "source": "READ FROM THE DATA"}
    assert public["n_rows"]["source"].startswith("READ FROM THE DATA")
    assert model.privacy_["bounds"]["x_bound"]["source"] == "not declared, 1 by default"
    assert "READ FROM THE DATA" in str(model.privacy_)
    dplasso.set_strict(True)
    for options, name in (
        ({"n_rows": 600, "x_bound": 1.0}, "classes"),
        ({"classes": [0, 1], "x_bound": 1.0}, "n_rows"),
        ({"classes": [0, 1], "n_rows": 600}, "x_bound"),
        ({"classes": [0, 1], "n_rows": 600, "x_bound": 1, "random_state": 0}, "random_state"),
    ):
        with pytest.raises(dplasso.PrivacyLeakError, match=name):
            PrivateLassoClassifier(**options).fit(X, y)
    with pytest.raises(dplasso.PrivacyLeakError, match="y_bound"):
        PrivateLassoRegressor(n_rows=600, x_bound=1.0).fit(X, y)
    PrivateLassoClassifier(classes=[0, 1], n_rows=600, x_bound=1.0).fit(X, y)
    PrivateLassoRegressor(n_rows=600, x_bound=1.0, y_bound=1.0).fit(X, y)
    options = {"radius": 5.0, "max_iter": 10, "loss": "hinge"}  # which has nothing to correct
    given = PrivateLassoClassifier(classes=[0, 1], x_bound=1.0, **options).fit(X, y)
    assert given.privacy_["public"]["n_rows"] == {"value": None, "source": "not used"}


def test_names_of_features_are_declared_or_said_to_be_read():
    X, y = toy()
    frame = pd.DataFrame(X, columns=[f"gene {k}" for k in range(X.shape[1])])
    names = list(frame.columns)
    read = classifier().fit(frame, y).privacy_["public"]["feature_names"]
    assert read == {"value": "those of X", "source": "READ FROM THE DATA and treated as public"}
    dplasso.set_strict(True)
    with pytest.raises(dplasso.PrivacyLeakError, match="feature_names"):
        classifier().fit(frame, y)
    declared = classifier(feature_names=names, x_bound=1.0).fit(frame, y).privacy_["public"]
    assert declared["feature_names"]["source"] == "declared"
    for wrong, rows in ((names[::-1], frame), (names, X)):
        with pytest.raises(ValueError, match="feature_names must be"):
            classifier(feature_names=wrong).fit(rows, y)


def test_a_seed_is_told_once_and_written_down():
    X, y = toy()
    dplasso.privacy.leaks._told.clear()
    with pytest.warns(dplasso.PrivacyLeakWarning, match="random_state"):
        model = classifier(random_state=5).fit(X, y)
    again = classifier(random_state=5).fit(X, y)  # a second warning would be an error
    np.testing.assert_array_equal(model.vertices_, again.vertices_)
    assert model.privacy_["secure_rng"] is False and "for tests only" in str(model.privacy_)


class Recorder:
    def __init__(self, refuse=False):
        self.charges, self.refuse = [], refuse

    def charge(self, event, *, delta, neighboring, label):
        self.charges.append((event, delta, neighboring, label))
        if self.refuse:
            raise RuntimeError("budget is spent")


@each_estimator
def test_the_accountant_is_charged_what_is_spent(make, data):
    book = Recorder()
    model = make(epsilon=3.0, delta=1e-5, max_iter=12, accountant=book).fit(*data)
    ((event, delta, neighboring, label),) = book.charges
    rounds = event.events[0] if isinstance(event, Composed) else event
    assert isinstance(rounds, Repeated) and isinstance(rounds.event, BoundedRange)
    assert (rounds.count, delta, neighboring) == (12, 1e-5, "add_remove")
    assert label == type(model).__name__
    assert zcdp.epsilon_of(zcdp.rho(event), delta) == pytest.approx(3.0, rel=1e-6)
    make(n_nonzero=Sparsifier(), accountant=book).fit(*data)
    assert isinstance(book.charges[-1][0], Composed)
    assert isinstance(book.charges[-1][0].events[0], PureDP)
    with pytest.raises(ValueError, match="epsilon is infinite.*cannot be charged"):
        make(epsilon=math.inf, accountant=book).fit(*data)
    assert len(book.charges) == 2


@each_estimator
def test_a_refused_charge_draws_nothing(make, data):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    model = make(accountant=Recorder(refuse=True), random_state=generator, n_nonzero=Sparsifier())
    with pytest.raises(RuntimeError, match="budget is spent"), pytest.warns():
        dplasso.privacy.leaks._told.clear()
        model.fit(*data)
    assert generator.bit_generator.state == before
    assert not hasattr(model, "vertices_") and not hasattr(model, "coef_")


def test_bad_parameters_are_refused_before_they_are_charged():
    X, y = toy()
    bad = {
        "epsilon": [0, -1.0, math.nan, "1", None, True],
        "delta": [0.0, 1.0, math.nan],
        "radius": [0.0, -1.0, math.inf, "large"],
        "max_iter": [0, 1.5, "many"],
        "x_bound": [0.0, -1.0, "1", [1.0]],
        "n_rows": [0, 2.5],
        "classes": [[0], [0, 0]],
        "n_nonzero": [0, -1, 1.5, True, "few", Sparsifier(low=5, high=1000)],
        "selection": ["fastest", "argmax", None],
        "neighboring": ["edit", None],
        "accountant": [object()],
        "random_state": ["a", -1],
        "n_jobs": [0, -3, 1.5],
    }
    for name, values in bad.items():
        for value in values:
            book = Recorder()
            options = {"classes": [0, 1], "n_rows": 600, "accountant": book, name: value}
            told = "low and high" if isinstance(value, Sparsifier) else name
            with pytest.raises(ValueError, match=told):
                PrivateLassoClassifier(**options).fit(X, y)
            assert not book.charges, (name, value)


@each_estimator
def test_weights_and_unknown_options_are_refused_with_the_reason(make, data):
    X, y = data
    with pytest.raises(TypeError, match="sample_weight.*influence"):
        make().fit(X, y, sample_weight=np.ones(len(y)))
    with pytest.raises(TypeError, match="unexpected option 'penalty'"):
        make(penalty="l2")
    with pytest.raises(TypeError, match="unexpected option 'colour'"):
        make().fit(X, y, colour="red")


def test_labels_outside_the_declared_ones_are_refused():
    X, y = toy(3)
    with pytest.raises(ValueError, match="outside the declared classes"):
        classifier().fit(X, y)


def test_declared_classes_that_do_not_occur_are_kept():
    X, y = toy()
    model = classifier(4, epsilon=100.0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3] and model.predict_proba(X).shape == (600, 4)
    assert classifier().fit(X, np.zeros(600, int)).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [["no", "yes"], [True, False], [-1.0, 1.0], [7, 3]])
def test_any_labels(labels):
    X, y = toy()
    named = np.array(labels)[y]
    model = PrivateLassoClassifier(epsilon=500.0, classes=labels, n_rows=600).fit(X, named)
    assert model.classes_.tolist() == sorted(labels) and model.score(X, named) > 0.8


@each_estimator
def test_probabilities(make, data):
    model = make(epsilon=1e3).fit(*data)
    if not hasattr(model, "predict_proba"):
        return
    X = data[0] * 1e4  # margins far beyond the range of exp
    chances = model.predict_proba(X)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    logs = model.predict_log_proba(X)
    assert np.all(np.isfinite(logs))
    np.testing.assert_allclose(np.exp(logs), chances, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[logs.argmax(axis=1)], model.predict(X))


@each_estimator
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_plain_scikit_learn_model_predicts_the_same(make, data, form):
    X, y = data
    model = make(epsilon=1e3).fit(X, y)
    plain = model.to_sklearn()
    assert type(plain).__module__.startswith("sklearn.")
    np.testing.assert_allclose(plain.predict(form(X)), model.predict(form(X)))
    if hasattr(model, "predict_proba"):
        both = plain.predict_proba(form(X)), model.predict_proba(form(X))
        np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-12)
    assert "dplasso" not in pickle.dumps(plain).decode("latin-1")


def test_the_regressor_clips_labels_and_residuals():
    X, y = toy()
    y = np.where(np.arange(600) < 3, 1e6, 0.8 * X[:, 1])
    model = PrivateLassoRegressor(epsilon=1e3, n_rows=600).fit(X, y)
    assert np.abs(model.predict(X)).max() < 3.0
    bounds = model.privacy_["bounds"]
    assert bounds["residual_bound"] == {"value": 1.0, "source": "public rule"}
    # The radius does not enter the price of a round.
    thetas = {
        PrivateLassoRegressor(radius=r, max_iter=9).fit(X, y).privacy_["releases"][0]["theta"]
        for r in (1.0, 100.0)
    }
    assert len(thetas) == 1


@each_estimator
def test_a_round_is_as_private_as_the_statement_says(make, data):
    """The log-ratio of the first round's laws on neighbours has at most the stated range."""
    X, y = data
    release = make(epsilon=1.0, max_iter=7).fit(X, y).privacy_["releases"][0]
    loss = make()._make_loss(y) if make is not ESTIMATORS["regression"][0] else None
    loss = loss or dplasso.SquaredLoss(1.0, 1.0)
    full = np.hstack([X, np.ones((len(X), 1))])
    alpha = full.T @ loss.gradient(np.zeros((len(X), loss.outputs)), loss.encode(y))
    widest = 0.0
    for corner in (-1.0, 1.0):
        for label in loss.classes if hasattr(loss, "classes") else (-5.0, 5.0):
            row = np.append(np.full(20, corner) * np.where(np.arange(20) % 2, 1, -1), 1.0)
            q = loss.gradient(np.zeros((1, loss.outputs)), loss.encode([label]))
            shift = release["theta"] * np.outer(row, q)
            widest = max(widest, 2 * np.abs(shift).max())
            signed = release["theta"] * np.stack([alpha, -alpha])
            moved = signed + np.stack([shift, -shift])
            ratio = moved - np.logaddexp.reduce(moved.ravel()) - signed
            ratio += np.logaddexp.reduce(signed.ravel())
            assert np.ptp(ratio) <= release["bounded_range"]
    assert widest > 0.45 * release["bounded_range"]  # at w = 0 a logistic gradient is 1/2


@each_estimator
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
def test_errors_show_no_value_of_the_data(make, data):
    X, y = data
    secret = "4711.125"
    words = X.astype(object)
    words[3, 2] = f"{secret} Main Street"
    frame = pd.DataFrame(words, columns=[f"c{j}" for j in range(20)])
    model = make().fit(X, y)
    for rows in (np.full(20, float(secret)), words, frame):
        for act in (make().fit, lambda rows, _: model.predict(rows)):
            with pytest.raises(ValueError, match="^X must") as refused:
                act(rows, y)
            assert secret not in str(refused.value)
            # Nor does a traceback, which shows what an error came from.
            assert refused.value.__cause__ is None and refused.value.__context__ is None


def test_many_declared_classes_warn_of_nothing():
    X, _ = toy()
    y = np.arange(600) % 400
    PrivateLassoClassifier(classes=range(400), n_rows=600, max_iter=3, radius=1.0).fit(X, y)


def test_booleans_stored_as_objects_are_labels_like_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 3))
    y = X[:, 0] > 0
    for classes in ([False, True], [0, 1]):
        model = PrivateLassoClassifier(5.0, classes=classes, n_rows=40, x_bound=1.0)
        model.fit(X, y.astype(object))
        assert model.score(X, y.astype(object)) == model.score(X, y)
    with pytest.warns(dplasso.PrivacyLeakWarning, match="classes were read"):
        read = PrivateLassoClassifier(5.0, n_rows=40, x_bound=1.0).fit(X, y.astype(object))
    assert read.classes_.tolist() == [False, True]
