"""The smoothed hinge: a hinge but for its corner, and a loss like the others."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso import frank_wolfe
from dplasso.losses import loss_of_classes
from dplasso.losses.smoothed_hinge import SmoothedHingeLoss

smoothings = st.floats(0.05, 4.0)
margins = st.floats(-20.0, 20.0)
labels = st.sampled_from([0.0, 1.0])


@settings(max_examples=200, deadline=None)
@given(smoothings, margins, labels)
def test_gradient_is_the_derivative_and_bounded(smoothing, m, label):
    loss, y, h = SmoothedHingeLoss(smoothing=smoothing), np.array([label]), 1e-6
    low, high = (loss.value(np.array([[m + s]]), y) for s in (-h, h))
    gradient = loss.gradient(np.array([[m]]), y)[0, 0]
    assert (high - low) / (2 * h) == pytest.approx(gradient, abs=2 * h / smoothing + 1e-8)
    assert abs(gradient) <= 1.0


@settings(max_examples=200, deadline=None)
@given(smoothings, margins, labels)
def test_it_is_the_hinge_to_half_the_smoothing(smoothing, m, label):
    hinge = max(0.0, 1.0 - (2.0 * label - 1.0) * m)
    value = SmoothedHingeLoss(smoothing=smoothing).value(np.array([[m]]), np.array([label]))
    assert hinge - smoothing / 2.0 - 1e-9 <= value <= hinge + 1e-9


@settings(max_examples=200, deadline=None)
@given(smoothings, margins, margins, labels)
def test_slopes_keep_their_interval(smoothing, m, n, label):
    loss, y = SmoothedHingeLoss(smoothing=smoothing), np.array([label])
    moved = loss.gradient(np.array([[m]]), y) - loss.gradient(np.array([[n]]), y)
    assert -1e-12 <= moved[0, 0] * np.sign(m - n) <= loss.curvature[1] * abs(m - n) + 1e-12


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 30.0])
@pytest.mark.parametrize("reach", [0.0, 0.3, 6.0])
def test_the_bound_on_the_gradient_is_reached(smoothing, reach):
    loss = SmoothedHingeLoss(smoothing=smoothing)
    ends = np.array([[reach], [-reach]])
    largest = np.abs(loss.gradient(ends, np.array([0.0, 1.0]))).max()
    assert loss.gradient_bound(2.0 * reach, 0.5) == pytest.approx(largest, rel=1e-12)


def test_rows_add_up_and_labels_are_places_among_the_classes():
    loss = SmoothedHingeLoss(classes=("ham", "spam"), smoothing=0.5)
    y = loss.encode(["spam", "ham"])
    assert y.tolist() == [1.0, 0.0]
    assert loss.value(np.array([[-1.0], [-0.75]]), y) == pytest.approx(1.75 + 0.0625)


def test_impossible_ones_are_refused():
    with pytest.raises(ValueError, match="two labels"):
        SmoothedHingeLoss(classes=(0, 1, 2))
    with pytest.raises(ValueError, match="smoothing"):
        SmoothedHingeLoss(smoothing=0.0)
    with pytest.raises(ValueError, match=r"takes two classes, got 3; .*loss='logistic'"):
        loss_of_classes("hinge", [0, 1, 2])
    with pytest.raises(ValueError, match=r"smoothing must be at least 0\.0039"):
        sharp = SmoothedHingeLoss(smoothing=1e-3)
        frank_wolfe(np.eye(2), [0, 1], loss=sharp, radius=1.0, rounds=1, theta=1.0)
