"""Probabilities against observed shares, and when they are called off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso.report.measured.reliability import BINS, Reliability, reliability


def rows(predicted, seed=0):
    """Two columns of probabilities, and classes that are drawn by them."""
    hits = (np.random.default_rng(seed).random(len(predicted)) < predicted).astype(int)
    return hits, np.column_stack([1 - predicted, predicted])


@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(0, 1)), min_size=2, max_size=60))
def test_bins_hold_every_row_once_and_keep_the_means(pairs):
    predicted, places = (np.array(part) for part in zip(*pairs, strict=True))
    found = reliability(places, np.column_stack([1 - predicted, predicted]))
    assert found.rows == len(pairs) and 1 <= len(found.bins) <= BINS
    assert found.predicted == pytest.approx(predicted.mean(), abs=1e-12)
    assert found.observed == pytest.approx(places.mean(), abs=1e-12)
    assert abs(found.predicted - found.observed) - 1e-12 <= found.error <= 1.0


def test_the_error_is_the_mean_distance_over_rows():
    found = Reliability(((0.1, 0.2, 30), (0.8, 0.5, 10)))
    assert found.error == pytest.approx((30 * 0.1 + 10 * 0.3) / 40)


@pytest.mark.parametrize("rows_of_data", [200, 20_000])
def test_probabilities_that_come_true_are_not_off(rows_of_data):
    off = 0
    for seed in range(20):
        predicted = np.random.default_rng(100 + seed).random(rows_of_data)
        off += reliability(*rows(predicted, seed)).off
    assert off <= 2  # about two in a hundred by chance, and only if the error is large, too


@pytest.mark.parametrize(
    ("told", "tendency"), [(lambda p: np.sqrt(p), "too high"), (lambda p: p**2, "too low")]
)
def test_probabilities_that_do_not_come_true_are_off(told, tendency):
    predicted = np.random.default_rng(0).random(5000)
    hits, _ = rows(predicted, seed=1)
    found = reliability(hits, np.column_stack([1 - told(predicted), told(predicted)]))
    assert found.off and found.tendency.startswith(tendency)


def test_a_rare_class_is_off_by_a_smaller_error():
    predicted = np.full(50_000, 0.02)
    hits, _ = rows(np.full(50_000, 0.01))
    found = reliability(hits, np.column_stack([1 - predicted, predicted]))
    assert found.error < 0.02 and found.off


def test_few_rows_cannot_show_that_probabilities_are_off():
    assert not Reliability(((0.3, 0.5, 10), (0.6, 0.5, 10))).off
    assert Reliability(((0.3, 0.5, 1000), (0.6, 0.5, 1000))).off


def test_several_classes_are_judged_by_the_answers():
    scores = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    found = reliability(np.array([0, 2, 2]), scores)
    assert found.of_answers
    assert found.predicted == pytest.approx(0.6) and found.observed == pytest.approx(2 / 3)
