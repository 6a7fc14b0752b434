"""Precision, recall and gain agree with scikit-learn, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_score, recall_score

from dplasso.report.measured.ranking import ranking

PAIRS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.505, 0.9, 1.0]), st.integers(0, 1)),
    min_size=2,
    max_size=50,
)


def two(predicted):
    return np.column_stack([1 - predicted, predicted])


@settings(deadline=None)  # scikit-learn is slow the first time
@given(PAIRS)
def test_thresholds_and_average_precision_are_those_of_scikit_learn(pairs):
    predicted, places = (np.array(part) for part in zip(*pairs, strict=True))
    found = ranking(places, two(predicted))
    if places.min() == places.max():
        assert found is None
        return
    assert found.average_precision == pytest.approx(average_precision_score(places, predicted))
    assert found.share == pytest.approx(places.mean())
    for at in found.thresholds[::25]:
        chosen = predicted >= at.threshold
        assert at.chosen == pytest.approx(chosen.mean())
        assert at.recall == pytest.approx(recall_score(places, chosen))
        if chosen.any():
            assert at.precision == pytest.approx(precision_score(places, chosen))
        else:
            assert at.precision is None


@given(PAIRS)
def test_gain_rises_from_nothing_to_all_and_guessing_is_the_diagonal(pairs):
    predicted, places = (np.array(part) for part in zip(*pairs, strict=True))
    found = ranking(places, two(predicted))
    if found is None:
        return
    shares, gains = np.transpose(found.gain)
    assert (shares[0], gains[0], shares[-1], gains[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.all(np.diff(gains) >= -1e-12)
    guessing = ranking(places, two(np.full(len(places), 0.3)))
    np.testing.assert_allclose(*np.transpose(guessing.gain), atol=1e-12)


def test_a_perfect_order_finds_all_first():
    places = np.array([0] * 90 + [1] * 10)
    found = ranking(places, two(places * 0.9))
    assert found.average_precision == 1.0
    assert dict(found.gain)[0.1] == pytest.approx(1.0)
    assert all(precision == 1.0 for _, precision in found.precision_recall)


def test_several_classes_are_averaged_and_thresholds_are_of_answers():
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3, 300)
    scores = rng.dirichlet(np.ones(3), 300)
    scores[np.arange(300), places] += 0.5
    scores /= scores.sum(axis=1, keepdims=True)
    found = ranking(places, scores)
    each = [average_precision_score(places == k, scores[:, k]) for k in range(3)]
    assert found.average_precision == pytest.approx(np.mean(each)) and found.of_answers
    right = scores.argmax(axis=1) == places
    at = found.thresholds[60]
    sure = scores.max(axis=1) >= 0.6
    assert at.precision == pytest.approx(right[sure].mean())
    assert at.chosen == pytest.approx(sure.mean())
    assert at.recall == pytest.approx((right & sure).mean())
