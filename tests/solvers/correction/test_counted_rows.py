"""The counts that a correction releases tell how many rows there are."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso.losses import LogisticLoss, SoftmaxLoss
from dplasso.solvers.correction import CountedRows, MarginRows, counted_rows, plan_correction


@pytest.mark.parametrize("classes", [2, 5])
def test_without_noise_every_row_is_counted_once(classes):
    rng = np.random.default_rng(0)
    loss = LogisticLoss() if classes == 2 else SoftmaxLoss(range(classes))
    plan = plan_correction(loss, mu=1.0, n_rows=123)
    margins = rng.normal(0.0, 20.0, (loss.outputs, 1000))
    rows = MarginRows(margins, rng.integers(classes, size=1000).astype(float), threads=1)
    counted = counted_rows(plan, rows.counts(1.0))
    assert counted.found == pytest.approx(1000, abs=1e-3)
    assert counted.contradicts(plan.n_rows) and not counted.contradicts(1001)


@pytest.mark.parametrize("outputs", [1, 5])
def test_the_stated_noise_is_that_of_the_sum(outputs):
    loss = LogisticLoss() if outputs == 1 else SoftmaxLoss(range(outputs))
    plan = plan_correction(loss, mu=0.5, n_rows=1000)
    size = len(MarginRows(np.zeros((outputs, 1)), np.zeros(1), threads=1).counts(1.0))
    draws = np.random.default_rng(0).normal(0.0, plan.count_sigma, (4000, size))
    found = [counted_rows(plan, draw.astype(np.int64)) for draw in draws]
    spread = float(np.std([one.found for one in found]))
    assert spread == pytest.approx(found[0].noise, rel=5 / math.sqrt(2 * len(found)))


@given(st.integers(1, 10**9), st.floats(1.0 / 1.1999, 1.9999), st.floats(0.0, 1e6))
def test_a_number_that_is_nearly_right_is_not_contradicted(declared, factor, noise):
    assert not CountedRows(declared * factor, noise).contradicts(declared)


@given(st.integers(1, 10**9), st.floats(0.0, 1.0 / 1.2001) | st.floats(2.0001, 100.0))
def test_without_noise_a_number_that_is_far_off_is_contradicted(declared, factor):
    assert CountedRows(declared * factor, 0.0).contradicts(declared)


@given(st.integers(1, 10**9), st.floats(0.0, 5.0), st.floats(1e-3, 1e6))
def test_what_noise_explains_is_not_contradicted(declared, sigmas, noise):
    for sign in (-1.0, 1.0):
        found = declared + sign * sigmas * noise * (1.0 - 1e-9)
        assert not CountedRows(found, noise).contradicts(declared)
