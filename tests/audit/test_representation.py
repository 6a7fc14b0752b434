"""How rows are stored reaches no release; where it would, the audit finds it."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, PrivateOnlineRegressor, audit
from dplasso.audit.representation import forms
from planted import bugs_of, storage

BUGS = {name: bug for name, bug in bugs_of(storage).items() if "blind" not in name}
CHECKS = ["representation", "parties"]


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@given(
    st.sampled_from(forms.KINDS),
    st.sampled_from([0.1, 1.0, 2.7]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=25, deadline=None)
def test_every_form_holds_the_same_entries(kind, bound, seed):
    X = forms.rows_of_kind(kind, 9, 5, bound, np.random.default_rng(seed))
    for name, form in [*forms.forms_of(X), *forms.ways_to_store(X)]:
        if name != "coo of single parts":  # scipy would add these up in single precision
            assert np.array_equal(dense(form).astype(np.float64), X), name


def test_forms_differ_in_what_a_loader_may_choose():
    X = forms.rows_of_kind(forms.WHOLE, 20, 6, 1.0, np.random.default_rng(0))
    found = dict(forms.forms_of(X))
    kinds = {np.dtype(form.dtype).name for form in found.values()}
    assert kinds >= {"int8", "int32", "int64", "float16", "float32", "float64"}
    assert {form.format for form in found.values() if sp.issparse(form)} >= {
        *("csr", "csc", "coo", "bsr", "lil", "dok")
    }
    assert found["csr with zeros"].nnz > found["csr"].nnz < found["csr in halves"].nnz


def test_parts_add_up_to_other_numbers_in_other_orders():
    """In double precision, as scipy adds them; or the comparison could not fail."""
    sums = [dense(form).tobytes() for _, form in forms.orders_of(np.full((2, 2), 3.0))]
    assert len(set(sums)) > 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [(1.0, "bool"), (3.0, "int8"), (0.5, "float16"), (0.1, "float64"), (1e39, "float64")],
)
def test_one_row_decides_in_what_numbers_all_are_stored(value, kind):
    X = np.ones((4, 2))
    X[3, 1] = value
    assert forms.narrowest(X).dtype == kind


@pytest.mark.parametrize("bug", BUGS)
def test_a_slip_of_storage_is_found(monkeypatch, bug):
    BUGS[bug].plant(monkeypatch)
    report = audit.run(BUGS[bug].estimator(), checks=list(BUGS[bug].found_by), seed=0)
    assert not report.passed


@pytest.mark.parametrize(
    "estimator",
    [
        PrivateLassoClassifier(classes=[0, 1, 2], x_bound=0.3, selection="noisy_max", max_iter=4),
        PrivateLassoRegressor(
            x_bound=np.geomspace(0.1, 9.0, 7), y_bound=1.7, max_iter=4, fit_intercept=False
        ),
        PrivateLassoRegressor(
            solver="gradient", row_map="as_is", x_bound=1.1, neighboring="replace_one", n_rows=30
        ),
        PrivateOnlineRegressor(y_bound=0.7, row_map="as_is", noise="gamma", n_rows=100),
    ],
    ids=range(4),
)
def test_correct_code_does_not_alarm(estimator):
    report = audit.run(estimator, checks=CHECKS, seed=3)
    assert report.passed, str(report)
    of_storage = [verdict for verdict in report if "storage" in verdict.tested]
    assert len(of_storage) == 4 and all(verdict.runs > 40 for verdict in of_storage)


def test_an_alarm_names_the_ways_to_store_rows(monkeypatch):
    BUGS["constant of a store"].plant(monkeypatch)
    report = audit.run(audit.example_estimators()[0], checks=["representation"], seed=0)
    named = [name for verdict in report.alarms for name in verdict.details["found"]]
    assert named and all(name.startswith("store; ") for name in named)
