"""The audit's reference is a probability law, and that of the engine."""

import itertools

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor, Sparsifier
from dplasso.audit.reference import Table, column_bounds
from dplasso.audit.selection import data, reference
from dplasso.audit.selection.count import _law
from dplasso.audit.selection.subject import SelectionSubject, outcomes

ESTIMATORS = {
    "logistic": PrivateLassoClassifier(classes=[0, 1], max_iter=3, radius=4.0),
    "softmax": PrivateLassoClassifier(classes=["a", "b", "c"], max_iter=3, radius=4.0),
    "huber": PrivateLassoRegressor(max_iter=3, radius=4.0, y_bound=2.0, residual_bound=1.0),
    "stale": PrivateLassoClassifier(
        classes=[0, 1], max_iter=3, radius=4.0, selection="big_step_little_step"
    ),
    "presence": PrivateLassoClassifier(classes=[0, 1], max_iter=3, radius=4.0, row_map="presence"),
    "sqrt": PrivateLassoRegressor(max_iter=3, radius=4.0, x_bound=3.0, row_map="sqrt"),
    "bounds": PrivateLassoRegressor(
        max_iter=3, radius=4.0, x_bound=np.linspace(0.5, 3.0, 12), fit_intercept=False
    ),
}


@pytest.mark.parametrize("name", ["logistic", "stale"])
def test_all_transcripts_together_have_probability_one(name):
    subject = SelectionSubject(ESTIMATORS[name])
    table = Table(np.array([[0.5, 0.0], [-3.0, 0.4], [0.0, 1.0]]), np.array([0.0, 1.0, 1.0]))
    every = np.array(list(itertools.product(range(6), repeat=3)))
    total = np.exp(reference.log_likelihoods(table, every, subject.facts)).sum()
    assert total == pytest.approx(1.0)


def test_parts_do_not_show(monkeypatch):
    subject = SelectionSubject(ESTIMATORS["softmax"])
    table = data.mixed_rows(subject.columns, 4.0, subject.facts, np.random.default_rng(0))
    drawn = np.random.default_rng(1).integers(0, 78, (50, 3))
    whole = reference.log_likelihoods(table, drawn, subject.facts)
    monkeypatch.setattr(reference, "_CELLS", 7 * len(table.y) * 3)
    assert np.allclose(reference.log_likelihoods(table, drawn, subject.facts), whole, atol=1e-12)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_canary_is_told_by_its_own_gradient(name):
    """The log-likelihood ratio of the first round moves by theta times the canary's gradient."""
    subject = SelectionSubject(ESTIMATORS[name])
    facts = subject.facts
    with_canary, without = data.canary_rows(subject.columns, facts)
    rows, labels, _ = with_canary
    assert np.all(np.abs(rows[-1]) > column_bounds(subject.columns, facts))
    first = np.arange(2 * (subject.columns + facts.fit_intercept) * facts.outputs)[:, None]
    with_it = reference.log_likelihoods(with_canary, first, facts)
    ratio = with_it - reference.log_likelihoods(without, first, facts)
    start = np.zeros((1, 1, facts.outputs))
    gradient = np.abs(reference.gradients(start, labels[-1:], facts)).max()
    assert np.ptp(ratio) == pytest.approx(2.0 * facts.theta * facts.held_bound * gradient)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_outcomes_are_those_of_the_released_vertices(name):
    subject = SelectionSubject(ESTIMATORS[name])
    facts = subject.facts
    table = data.mixed_rows(subject.columns, 4.0, facts, np.random.default_rng(0))
    model = subject.copy().fit(*subject.data(*table))
    drawn = outcomes(model.vertices_, facts)
    weights = reference.weights_of(drawn, subject.columns + facts.fit_intercept, facts)
    stretched = weights[: subject.columns].T * (
        1.0 if facts.bounds is None else facts.x_bound / facts.bounds
    )
    correction = model.fitted_.correction
    stretched = stretched * (1.0 if correction is None else correction.scale)
    assert np.allclose(np.atleast_2d(model.coef_), stretched, atol=1e-12)


@pytest.mark.parametrize("precision", [0.5, 1.0, 3.0])
def test_the_law_of_a_count(precision):
    sparsifier = Sparsifier(low=2, high=6, precision=precision)
    subject = SelectionSubject(
        PrivateLassoClassifier(classes=[0, 1], n_nonzero=sparsifier, epsilon=8.0)
    )
    for truth in range(2, 7):
        law = _law(subject, truth)
        assert law.sum() == pytest.approx(1.0)
        assert len(np.flatnonzero(law)) <= 5
        ratio = law[law > 0] / _law(subject, 2)[law > 0]
        assert np.all(np.abs(np.log(ratio)) <= subject.facts.count_epsilon * (1 + 1e-12))
