"""A fit that is refused has cost nothing; one that is charged is fitted."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateSearch, Sparsifier
from dplasso.base import memory

ROWS, COLUMNS = 40, 12


class Counting:
    """An accountant that counts how often it is charged."""

    def __init__(self):
        self.charges = 0

    def charge(self, event, *, delta, neighboring, label):
        self.charges += 1


def rows_for(rng, wide=False):
    columns = 1200 if wide else COLUMNS
    return sp.csr_array(rng.random((ROWS, columns)) * (rng.random((ROWS, columns)) < 0.3))


def fit(kind, options, X, y):
    """How often the accountant was charged, and whether there was a fit."""
    accountant = Counting()
    model = kind(accountant=accountant, **options)
    try:
        model.fit(X, y)
    except (ValueError, TypeError, OverflowError):
        return accountant.charges, False
    return accountant.charges, True


REFUSED = {
    "radius too large": {"radius": 1e155, "x_bound": 1e-100, "max_iter": 5},
    "bound too small": {"radius": 1.0, "x_bound": 1e-170, "max_iter": 5},
    "product too large": {"radius": 1e80, "x_bound": 1e80, "max_iter": 5},
    "product too small": {"radius": 1e-80, "x_bound": 1e-80, "max_iter": 5},
    "no privacy left": {"epsilon": 1e9, "delta": 0.5, "max_iter": 1, "radius": 1.0},
    "a released bound may be too large": {"x_bound": "private", "radius": 1e89, "max_iter": 3},
    "count and bound leave nothing": {
        "x_bound": "private",
        "bound_share": 0.6,
        "n_nonzero": Sparsifier(budget_share=0.5),
    },
    "a count without room": {"n_nonzero": Sparsifier(low=50, high=90)},
    "radius and a count": {"radius": 1e155, "x_bound": 1e-100, "n_nonzero": Sparsifier()},
    "too many rounds": {"max_iter": 10**12, "radius": 1.0},
    "too many rows": {"n_rows": 10**400},
    "a bar that is no number": {"verbose": "yes"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_fit_that_is_refused_is_not_charged(name):
    rng = np.random.default_rng(0)
    options = {"classes": [0, 1], "solver": "frank_wolfe", **REFUSED[name]}
    charged, fitted = fit(PrivateLassoClassifier, options, rows_for(rng), np.arange(ROWS) % 2)
    assert (charged, fitted) == (0, False)


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient", "auto"])
@pytest.mark.parametrize("x_bound", [1.0, "private"])
def test_labels_outside_the_classes_are_not_charged(solver, x_bound):
    rng = np.random.default_rng(0)
    options = {"classes": [0, 1], "solver": solver, "n_rows": ROWS, "x_bound": x_bound}
    charged, fitted = fit(PrivateLassoClassifier, options, rows_for(rng), np.arange(ROWS) % 3)
    assert (charged, fitted) == (0, False)


numbers = st.sampled_from([1e-300, 1e-120, 1e-80, 1e-3, 1.0, 1e3, 1e80, 1e120, 1e160, 1e300])


@settings(max_examples=15, deadline=None)
@given(
    solver=st.sampled_from(["frank_wolfe", "gradient", "auto"]),
    regression=st.booleans(),
    epsilon=st.sampled_from([1e-9, 1e-3, 1.0, 50.0, 1e7, 1e300]),
    delta=st.sampled_from([1e-300, 1e-6, 0.9]),
    radius=numbers | st.just("auto"),
    x_bound=numbers | st.just("private"),
    y_bound=numbers,
    row_map=st.sampled_from(["auto", "as_is", "presence", "sqrt", "blend"]),
    max_iter=st.sampled_from(["auto", 1, 3]),
    n_rows=st.sampled_from([1, ROWS, 10**9, 10**15]),
    n_nonzero=st.sampled_from([None, 2]),
    neighboring=st.sampled_from(["add_remove", "replace_one"]),
    count=st.booleans(),
    wide=st.booleans(),
)
def test_either_nothing_was_charged_or_there_is_a_fit(regression, y_bound, count, wide, **options):
    rng = np.random.default_rng(1)
    if options["neighboring"] == "replace_one":
        options["n_rows"] = ROWS  # the number of rows is public
    if options["solver"] != "frank_wolfe":
        options |= {"radius": "auto", "max_iter": "auto"}
    elif options["max_iter"] == "auto":
        options["max_iter"] = 4
    if count and options["solver"] == "frank_wolfe":
        options["n_nonzero"] = Sparsifier()
    kind, more = PrivateLassoClassifier, {"classes": [0, 1]}
    if regression:
        kind, more = PrivateLassoRegressor, {"y_bound": y_bound}
    charged, fitted = fit(kind, {**options, **more}, rows_for(rng, wide), np.arange(ROWS) % 2)
    assert charged == int(fitted)


def test_a_fit_without_privacy_may_not_be_charged_at_all():
    charged, fitted = fit(
        PrivateLassoClassifier, {"epsilon": math.inf}, np.ones((4, 2)), np.arange(4) % 2
    )
    assert (charged, fitted) == (0, False)


def test_what_needs_more_memory_than_there_is_is_not_charged(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    rng, y = np.random.default_rng(0), np.arange(ROWS) % 2
    options = {"classes": [0, 1], "radius": 1.0, "solver": "frank_wolfe", "x_bound": 1.0}
    assert fit(PrivateLassoClassifier, options | {"max_iter": 10**9}, rows_for(rng), y) == (
        0,
        False,
    )
    private = {"max_iter": 10**8, "x_bound": "private", "n_rows": ROWS}
    assert fit(PrivateLassoClassifier, options | private, rows_for(rng), y) == (0, False)
    assert fit(PrivateLassoClassifier, options | {"max_iter": 10}, rows_for(rng), y) == (1, True)
    wide = sp.csr_array(([1.0], ([0], [0])), shape=(ROWS, 10**8))
    for solver in ("frank_wolfe", "gradient"):
        more = {"classes": [0, 1], "solver": solver, "x_bound": 1.0, "n_rows": ROWS}
        assert fit(PrivateLassoClassifier, more, wide, y) == (0, False)


@pytest.mark.parametrize("x_bound", [1.0, "private"])
@pytest.mark.parametrize(("rows", "columns"), [(10**6, 40), (ROWS, 1100)])
def test_a_table_that_does_not_fit_is_not_charged(monkeypatch, x_bound, rows, columns):
    """Neither its declared rows, nor the products of its columns, of which there are few rows."""
    monkeypatch.setattr(memory, "available", lambda: 100 << 20)
    X, y = sp.csr_array((ROWS, columns)), np.arange(ROWS) % 2
    public = {"classes": [0, 1], "solver": "table", "x_bound": x_bound, "n_rows": rows}
    assert fit(PrivateLassoClassifier, public, X, y) == (0, False)
    with pytest.raises(memory.TooLargeError) as undeclared:
        PrivateLassoClassifier(**{**public, "n_rows": None}).fit(
            sp.csr_array((rows, columns)), np.arange(rows) % 2
        )
    assert str(undeclared.value).endswith("need more memory than there is; give fewer")
    search = PrivateSearch(PrivateLassoClassifier(**public), {"n_nonzero": [5]})
    with pytest.raises(memory.TooLargeError, match="^a table of .* columns would need about"):
        search.fit(X, y)
