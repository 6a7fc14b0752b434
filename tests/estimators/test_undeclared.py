"""Facts that were left out are told: once, at the caller's line, before anything is charged."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dplasso
from charging import Counted
from dplasso import (
    PrivacyLeakError,
    PrivacyLeakWarning,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineRegressor,
    PrivateSearch,
    UndeclaredBoundWarning,
)
from dplasso.federated import agree
from dplasso.privacy.statement import READ

ROWS = 60
X = np.random.default_rng(0).uniform(-1, 1, (ROWS, 4))
WIDE = sp.random_array((ROWS, 1200), density=0.01, rng=np.random.default_rng(0))
LABELS, NUMBERS = np.arange(ROWS) % 2, X[:, 0]
KNOWN = {"n_rows": ROWS, "x_bound": 1.0}
BY_NUMBERS = {"radius": 1.0, "max_iter": 3}


def classifier(**options):
    return PrivateLassoClassifier(**{"classes": [0, 1], **KNOWN, **options})


def regressor(**options):
    return PrivateLassoRegressor(**{**KNOWN, "y_bound": 1.0, **options})


def told(work):
    """What is told, and of which category; every warning names this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", dplasso.OnlyNoiseWarning)  # which depends on the draw
        work()
    assert all(warning.filename == __file__ for warning in caught)
    return [(warning.category, str(warning.message)) for warning in caught]


@pytest.fixture
def strict():
    dplasso.set_strict(True)
    yield
    dplasso.set_strict(None)


def test_what_is_declared_is_not_told(strict):
    for options in ({}, {"solver": "gradient"}, BY_NUMBERS):
        assert told(lambda options=options: classifier(**options).fit(X, LABELS)) == []
        assert told(lambda options=options: regressor(**options).fit(X, NUMBERS)) == []


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize(
    "options",
    [{"solver": "frank_wolfe", "radius": 2.0}, {"solver": "gradient"}, {"solver": "auto"}],
)
def test_a_bound_on_entries_that_was_left_out_is_told_once(epsilon, options):
    model = classifier(epsilon=epsilon, x_bound=None, **options)
    ((category, message),) = told(lambda: model.fit(X, LABELS))
    assert category is UndeclaredBoundWarning
    assert "beyond 1 are cut to 1; pass x_bound" in message


@pytest.mark.parametrize("epsilon", [1.0, math.inf])
@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_a_bound_on_labels_that_was_left_out_is_told_once(epsilon, solver):
    model = regressor(epsilon=epsilon, solver=solver, y_bound=None)
    ((category, message),) = told(lambda: model.fit(X, NUMBERS))
    assert category is UndeclaredBoundWarning
    assert "beyond 1 are cut to 1; pass y_bound" in message


@pytest.mark.parametrize(
    "options",
    [
        {"x_bound": "private"},
        {"solver": "frank_wolfe"},
        {"solver": "auto", "max_iter": 3},
        {"row_map": "presence"},
        {"row_map": "presence", "solver": "gradient"},
        {"x_bound": [1.0] * 1200},
    ],
)
def test_a_bound_that_is_not_used_is_not_told(options):
    assert told(lambda: classifier(**{"x_bound": None, **options}).fit(WIDE, LABELS)) == []


@pytest.mark.parametrize("row_map", ["as_is", "sqrt", "blend"])
def test_a_bound_that_other_maps_of_rows_use_is_told(row_map):
    for options in ({"solver": "frank_wolfe", "radius": 2.0}, {"solver": "gradient"}):
        model = classifier(x_bound=None, row_map=row_map, **options)
        assert [category for category, _ in told(lambda model=model: model.fit(WIDE, LABELS))] == [
            UndeclaredBoundWarning
        ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"radius": 1.0},
        {"max_iter": 3},
        {"solver": "gradient"},
        {"solver": "auto"},
        {"solver": "auto", "n_nonzero": 2},
        {"x_bound": "private"},
    ],
)
def test_a_number_of_rows_that_a_rule_reads_is_told_once(options):
    model = classifier(n_rows=None, **options)
    ((category, message),) = told(lambda: model.fit(WIDE, LABELS))
    assert category is PrivacyLeakWarning and message.startswith("the number of rows is not")
    assert "pass n_rows" in message
    assert READ in model.privacy_["public"]["n_rows"]["source"]


@pytest.mark.parametrize(
    "options",
    [
        {**BY_NUMBERS, "loss": "hinge"},  # nothing is corrected
        {"neighboring": "replace_one"},
        {"neighboring": "replace_one", "solver": "gradient"},
        {"epsilon": math.inf},
    ],
)
def test_a_number_of_rows_that_is_public_or_not_used_is_not_told(options, strict):
    model = classifier(n_rows=None, **options)
    assert told(lambda: model.fit(X, LABELS)) == []


@pytest.mark.parametrize(
    ("make", "left_out"),
    [(classifier, "n_rows"), (classifier, "x_bound"), (regressor, "y_bound")],
)
def test_strict_mode_refuses_before_anything_is_charged(make, left_out, strict):
    accountant = Counted()
    model = make(accountant=accountant).set_params(**{left_out: None})
    with pytest.raises(PrivacyLeakError, match=f"pass {left_out}"):
        model.fit(X, LABELS)
    assert accountant.charges == 0


@pytest.mark.parametrize("left_out", ["n_rows", "x_bound"])
def test_warnings_that_are_errors_come_before_the_charge(left_out):
    accountant = Counted()
    model = classifier(accountant=accountant).set_params(**{left_out: None})
    search = PrivateSearch(
        classifier().set_params(**{left_out: None}), {"radius": [1.0]}, accountant=accountant
    )
    for work in (model, search):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises((PrivacyLeakWarning, UndeclaredBoundWarning)):
                work.fit(X, LABELS)
    assert accountant.charges == 0


def test_a_search_tells_once_for_all_its_trials():
    model = PrivateLassoRegressor(max_iter=3)
    grid = {"radius": [1.0, 2.0, 3.0]}
    found = told(lambda: PrivateSearch(model, grid, trials=5.0).fit(X, NUMBERS))
    assert [category for category, _ in found] == [
        PrivacyLeakWarning,
        UndeclaredBoundWarning,
        UndeclaredBoundWarning,
    ]
    assert [message.split()[0] for _, message in found] == ["the", "x_bound", "y_bound"]


def test_a_bound_that_all_of_a_grid_declare_is_not_told():
    model, grid = classifier(x_bound=None), {"x_bound": [0.5, 1.0]}
    assert told(lambda: PrivateSearch(model, grid, trials=2.0).fit(X, LABELS)) == []
    grid = {"x_bound": [0.5, None]}
    assert len(told(lambda: PrivateSearch(model, grid, trials=2.0).fit(X, LABELS))) == 1


def test_many_fits_tell_once_where_python_shows_a_warning_once_per_line():
    """The line is the caller's, whatever of scikit-learn stands between."""
    model = make_pipeline(FunctionTransformer(), classifier(x_bound=None, n_rows=None))
    grid = GridSearchCV(model, {"privatelassoclassifier__radius": [2, 3]}, cv=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        grid.fit(X, LABELS)
    assert sorted(warning.category.__name__ for warning in caught) == [
        "PrivacyLeakWarning",
        "UndeclaredBoundWarning",
    ]
    assert {warning.filename for warning in caught} == {__file__}


def test_a_stream_of_numbers_tells_once():
    model = PrivateOnlineRegressor(n_rows=2 * ROWS)
    found = told(lambda: model.partial_fit(X, NUMBERS))
    assert [category for category, _ in found] == [UndeclaredBoundWarning]
    assert told(lambda: model.partial_fit(X, NUMBERS)) == []
    declared = PrivateOnlineRegressor(n_rows=ROWS, y_bound=1.0)
    assert told(lambda: declared.partial_fit(X, NUMBERS)) == []


def test_a_federation_tells_of_the_bounds_it_was_not_given():
    public = {"n_rows": ROWS, "epsilon": 1.0, "delta": 1e-6}
    parties, bounds = {"a": 2, "b": 2}, {"a": 1.0, "b": 1.0}
    assert told(lambda: agree(parties, "a", **public, x_bounds=bounds, y_bound=1.0)) == []
    for given in ({"x_bounds": {"a": 1.0}, "y_bound": 1.0}, {"x_bounds": bounds}):
        ((category, _),) = told(lambda given=given: agree(parties, "a", **public, **given))
        assert category is UndeclaredBoundWarning
    assert agree(parties, "a", **public).y_bound == 1.0


def test_ages_and_prices_are_what_the_warning_is_for():
    """With a bound that fits, a model learns what it could not with a bound of 1."""
    rng = np.random.default_rng(0)
    ages = rng.uniform(20, 80, (4000, 1))
    prices = 50.0 * ages[:, 0]
    with pytest.warns(UndeclaredBoundWarning):
        blind = PrivateLassoRegressor(3.0, n_rows=4000).fit(ages, prices)
    assert blind.predict(ages).max() < 100.0  # of 4,000
    model = PrivateLassoRegressor(3.0, n_rows=4000, x_bound=80.0, y_bound=4000.0)
    assert told(lambda: model.fit(ages, prices)) == []
    assert model.predict(ages).max() > 1000.0


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2]])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "frank_wolfe"},
        {"solver": "frank_wolfe", "radius": 2.0, "max_iter": 5},
        {"solver": "frank_wolfe", "radius": 2.0, "max_iter": 5, "loss": "hinge"},
        {"solver": "gradient"},
        {"solver": "table"},
        {"n_nonzero": 3},
    ],
)
def test_a_plan_that_reads_the_number_of_rows_says_so(classes, options):
    """Otherwise neighbours, whose numbers differ by 1, must have the same plan."""
    if "loss" in options and len(classes) > 2:
        pytest.skip("hinge loss is for two classes")
    model = PrivateLassoClassifier(classes=classes, x_bound=1.0, **options)
    fits = [model.prepare(np.zeros((n, 2000)), np.arange(n) % 2) for n in (60, 61)]
    plans = [fit.plan for fit in fits]
    assert plans[0].reads_row_count or plans[0].to_dict() == plans[1].to_dict()
    if (correction := plans[0].correction) is not None:
        assert plans[0].reads_row_count or correction == plans[1].correction
