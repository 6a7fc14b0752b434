"""How rows are stored does not reach a released number, to the last bit."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dplasso import (
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    Sparsifier,
)
from dplasso.data.clip_limit import clip_limit
from dplasso.fitting import frank_wolfe
from storages import FORMS, KINDS, fits, held, stored

ROWS, COLUMNS = 24, 5
BOUNDS = (0.1, 1.1, 2.7, 1 / 3, 1e-40, 1e40, 1.0)
PER_COLUMN = (0.1, 2.7, 1.1, 1 / 3, 5.0)
COMMON = {"classes": [0, 1], "n_rows": ROWS, "random_state": 3, "n_jobs": 1}
# Every way in which rows reach a release. Epsilons are large: what is drawn then shows the scores.
ROUTES = {
    "frank_wolfe": {"epsilon": 20.0, "max_iter": 6, "solver": "frank_wolfe"},
    "noisy_max": {
        "epsilon": 20.0,
        "max_iter": 6,
        "solver": "frank_wolfe",
        "selection": "noisy_max",
    },
    "square roots": {"epsilon": 20.0, "max_iter": 6, "solver": "frank_wolfe", "row_map": "sqrt"},
    "sparsifier": {
        "epsilon": 20.0,
        "max_iter": 6,
        "solver": "frank_wolfe",
        "n_nonzero": Sparsifier(low=0, high=COLUMNS),
    },
    "gradient": {"epsilon": 5.0, "solver": "gradient", "row_map": "as_is"},
    "gradient, auto": {"epsilon": 5.0, "solver": "gradient"},
    "gradient, presence": {"epsilon": 5.0, "solver": "gradient", "row_map": "presence"},
    "gradient, blend": {"epsilon": 5.0, "solver": "gradient", "row_map": "blend"},
    "private bound": {"epsilon": 20.0, "max_iter": 6, "solver": "frank_wolfe"},
    "gradient, private bound": {"epsilon": 5.0, "solver": "gradient"},
}


def released(model):
    """Everything that a fit lets go of, as bits."""
    statement = {key: value for key, value in model.privacy_.items() if key != "date"}
    arrays = [model.coef_, model.intercept_, model.vertices_]
    return [(array.shape, array.tobytes()) for array in arrays], repr(statement)


def fitted(route, X, y, x_bound):
    bound = "private" if "private bound" in route else x_bound
    model = PrivateLassoClassifier(**COMMON, **ROUTES[route], x_bound=bound)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


def numbers(seed, ones):
    """Rows of small numbers that many kinds hold; about half are not 0."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.6)
    X = np.minimum(X, 1) if ones else X
    return X.astype(np.float64), rng.integers(0, 2, ROWS)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    route=st.sampled_from(sorted(ROUTES)),
    x_bound=st.sampled_from([*BOUNDS, PER_COLUMN]),
    ones=st.booleans(),
    signed=st.booleans(),
    seed=st.integers(0, 2**20),
    data=st.data(),
)
def test_a_fit_does_not_show_how_its_rows_are_stored(
    tmp_path, route, x_bound, ones, signed, seed, data
):
    X, y = numbers(seed, ones)
    X = -X if signed else X
    wanted = released(fitted(route, X, y, x_bound))
    kinds = [kind for kind in KINDS if fits(X, kind)]
    for form in data.draw(st.permutations(sorted(FORMS)))[:3]:
        kind = data.draw(st.sampled_from(kinds))
        if kind is np.float16 and form not in ("dense", "fortran"):
            kind = np.float32
        assert released(fitted(route, FORMS[form](X.astype(kind)), y, x_bound)) == wanted
    if "private bound" not in route:
        assert released(fitted(route, stored(tmp_path, X, x_bound), y, x_bound)) == wanted
    if np.isscalar(x_bound) and "private bound" not in route:
        assert released(fitted(route, held(X, x_bound), y, x_bound)) == wanted


@pytest.mark.parametrize("form", ["dense", "csr", "coo with repeats", "stored", "held"])
def test_columns_are_selected_first_alike(tmp_path, form):
    rng = np.random.default_rng(0)
    X = np.zeros((300, 1001))
    X[np.arange(300), rng.integers(0, 1001, 300)] = rng.integers(1, 4, 300)
    X[:, 7] = y = rng.integers(0, 2, 300)

    def fit(rows):
        model = PrivateLassoClassifier(
            50.0, classes=[0, 1], n_rows=300, n_nonzero=2, random_state=1, solver="auto",
            row_map="as_is", x_bound=2.7,
        )  # fmt: skip
        return model.fit(rows, y)

    wanted = fit(FORMS["csc"](X))
    assert wanted.solver_ == "select"
    if form == "stored":
        rows = stored(tmp_path, X, 2.7)
    else:
        rows = held(X, 2.7) if form == "held" else FORMS[form](X.astype(np.int8))
    assert released(fit(rows)) == released(wanted)


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("row_map", ["unit", "as_is"])
def test_a_stream_does_not_show_how_its_rows_are_stored(form, row_map):
    X, y = numbers(5, False)

    def weights(given):
        model = PrivateOnlineClassifier(
            5.0, classes=[0, 1], window=ROWS, n_features=COLUMNS, row_map=row_map, random_state=2
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.partial_fit(given, y)
        return model.coef_.tobytes(), model.intercept_.tobytes()

    assert weights(FORMS[form](X.astype(np.float32))) == weights(X)
    assert weights(FORMS[form](X.astype(np.uint8))) == weights(X)


@pytest.mark.parametrize("form", ["dense", "csc", "coo with repeats", "csc with repeats and zeros"])
def test_a_regression_does_not_show_how_its_rows_are_stored(form):
    X, y = numbers(8, False)

    def fit(rows):
        model = PrivateLassoRegressor(
            20.0, n_rows=ROWS, x_bound=2.7, y_bound=1.1, max_iter=5, random_state=4,
            solver="frank_wolfe",
        )  # fmt: skip
        return released(model.fit(rows, y * 1.5))

    assert fit(FORMS[form](X.astype(np.int16))) == fit(X)


def weight_of_constant(model, radius):
    """What the vertices of the last column add up to."""
    weight = 0.0
    for t, (column, sign) in enumerate(model.vertices_, 1):
        step = 2.0 / (t + 2.0)
        weight = (1.0 - step) * weight + step * radius * sign * (column == COLUMNS)
    return weight


@pytest.mark.parametrize("x_bound", [*BOUNDS, "private"])
@pytest.mark.parametrize("more", [3.0, 0.3, 1e-30, -1.0, 2.0**24 + 1])
def test_one_more_row_does_not_change_the_constant_of_the_intercept(x_bound, more, monkeypatch):
    """All ones, or not; exact in single precision, or not: the row is all that differs."""
    # The intercept as Frank-Wolfe leaves it, without a correction of probabilities.
    monkeypatch.setattr(frank_wolfe, "correction_beside", lambda request, mu: None)
    X, _ = numbers(1, True)
    longer = np.vstack([X, np.full(COLUMNS, more)])
    for rows in (X, longer, longer[1:]):
        model = PrivateLassoClassifier(
            100.0, classes=[0, 1], n_rows=ROWS, random_state=0, max_iter=4, x_bound=x_bound,
            solver="frank_wolfe",
        )  # fmt: skip
        model.fit(rows, np.ones(len(rows), int))  # one class: the intercept is the best vertex
        bound = model.privacy_["bounds"]["x_bound"]["value"]
        weight = weight_of_constant(model, model.privacy_["bounds"]["radius"]["value"])
        assert weight != 0.0
        assert model.intercept_[0] == pytest.approx(weight * clip_limit(bound), rel=1e-12)
