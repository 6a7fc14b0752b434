"""A seed is used where a person asks for it, and a warning reaches them wherever the fit ran."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import RANSACRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplasso import (
    PrivacyLeakWarning,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
    PrivateSearch,
)
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import leaks

KNOWN = {"n_rows": 200, "x_bound": 1.0, "max_iter": 40}
needs_workers = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _nothing_told_yet():
    leaks._told.clear()
    yield
    leaks._told.clear()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 5))
    return X, (X[:, 0] > 0).astype(int)


def classifier(**options):
    return PrivateLassoClassifier(classes=[0, 1], **{**KNOWN, **options})


def regressor(**options):
    return PrivateLassoRegressor(y_bound=1.0, **{**KNOWN, **options})


def leaks_told(told):
    return [found for found in told if issubclass(found.category, PrivacyLeakWarning)]


@pytest.mark.parametrize("seed", [None, 0, np.random.RandomState(3)])
@pytest.mark.parametrize("n_jobs", [1, 2])
@needs_workers
def test_members_of_an_ensemble_draw_secure_bits(data, seed, n_jobs):
    ensemble = BaggingClassifier(classifier(), n_estimators=4, random_state=seed, n_jobs=n_jobs)
    ensemble.fit(*data)
    members = ensemble.estimators_
    assert all(member.privacy_["secure_rng"] for member in members)
    assert [member.random_state for member in members] == [None] * 4
    assert len({member.vertices_.tobytes() for member in members}) == 4


@pytest.mark.parametrize("n_jobs", [1, 2])
@needs_workers
def test_members_of_a_seeded_estimator_are_seeded_and_it_is_said(data, n_jobs):
    def fitted():
        ensemble = BaggingClassifier(classifier(random_state=1), 3, random_state=0, n_jobs=n_jobs)
        return ensemble.fit(*data)

    with pytest.warns(PrivacyLeakWarning, match="random_state makes the fit repeatable"):
        ensemble = fitted()
    members = ensemble.estimators_
    assert not any(member.privacy_["secure_rng"] for member in members)
    assert len({member.random_state for member in members}) == 3
    again = fitted().estimators_
    for one, other in zip(members, again, strict=True):
        assert np.array_equal(one.vertices_, other.vertices_)


@pytest.mark.parametrize(
    ("wrap", "made"),
    [
        (
            lambda model: BaggingClassifier(
                make_pipeline(BaggingClassifier(model, 2)), 2, random_state=1
            ),
            classifier,
        ),
        (
            lambda model: BaggingClassifier(make_pipeline(FunctionTransformer(), model), 2),
            classifier,
        ),
        (lambda model: BaggingRegressor(model, 2, random_state=0), regressor),
        (
            lambda model: RANSACRegressor(
                model, min_samples=50, max_trials=2, residual_threshold=1e9
            ),
            regressor,
        ),
        (lambda model: VotingClassifier([("a", model), ("b", clone(model))], n_jobs=2), classifier),
        (
            lambda model: BaggingClassifier(
                PrivateSearch(model, {"radius": [1.0]}, trials=2.0), 2, random_state=0
            ),
            classifier,
        ),
        (
            lambda model: BaggingClassifier(model, 2, random_state=0),
            lambda: PrivateOnlineClassifier(1.0, window=50, classes=[0, 1]),
        ),
    ],
)
@needs_workers
def test_whatever_sets_seeds_by_itself_makes_no_fit_insecure(data, wrap, made):
    found = wrap(made()).fit(*data)
    statements = list(_statements(found))
    assert statements and all(stated["secure_rng"] for stated in statements)


def _statements(found):
    if hasattr(found, "privacy_"):
        yield found.privacy_
        return
    inner = getattr(found, "estimators_", None) or [getattr(found, "estimator_", None)]
    if hasattr(found, "steps"):
        inner = [found[-1]]
    for one in inner:
        yield from _statements(one)


def test_a_seed_that_a_person_sets_counts(data):
    with pytest.warns(PrivacyLeakWarning):
        one = classifier().set_params(random_state=5).fit(*data)
    assert not one.privacy_["secure_rng"]
    pipeline = make_pipeline(FunctionTransformer(), classifier())
    pipeline.set_params(privatelassoclassifier__random_state=5).fit(*data)
    assert np.array_equal(pipeline[-1].vertices_, one.vertices_)
    search = GridSearchCV(classifier(), {"random_state": [5]}, cv=2).fit(*data)
    assert np.array_equal(search.best_estimator_.vertices_, one.vertices_)


@needs_workers
def test_scores_of_seeded_fits_in_workers_are_told_of_too(data):
    """No model comes back from these fits, so the estimator warns where it is sent off."""
    with pytest.warns(PrivacyLeakWarning, match="random_state makes"):
        cross_val_score(classifier(random_state=0), *data, cv=2, n_jobs=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        GridSearchCV(classifier(), {"radius": [1.0, 2.0]}, cv=2, n_jobs=2).fit(*data)
    assert not leaks_told(told)


def test_a_seeded_model_warns_once_in_each_process_it_comes_to(data):
    with pytest.warns(PrivacyLeakWarning):
        content = pickle.dumps(classifier(random_state=0).fit(*data))
    leaks._told.clear()  # as in another process
    with pytest.warns(PrivacyLeakWarning, match="random_state makes"):
        pickle.loads(content)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pickle.loads(content)
        leaks._told.clear()
        pickle.loads(pickle.dumps(classifier().fit(*data)))
        pickle.loads(pickle.dumps(classifier(random_state=random_bits())))
        pickle.loads(pickle.dumps(classifier(random_state=0, epsilon=float("inf"))))
    assert not leaks_told(told)
