"""Errors of regressors: every row is counted, and what is off is called so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, median_absolute_error, root_mean_squared_error

from dplasso.report.measured.numbers import residuals

NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=60))
def test_every_row_is_in_one_cell_one_bar_and_one_group(pairs):
    actual, predicted = (np.array(part, np.float64) for part in zip(*pairs, strict=True))
    found = residuals(actual, predicted)
    for parts in (found.cells, found.bars, found.groups):
        assert sum(rows for *_, rows in parts) == len(pairs)
    assert found.size == pytest.approx(mean_absolute_error(actual, predicted))
    assert found.median_size == pytest.approx(median_absolute_error(actual, predicted))
    assert found.root_mean_square == pytest.approx(root_mean_squared_error(actual, predicted))
    for x, y, _ in found.cells:
        near = np.abs(predicted - x) <= 0.5 * found.width * (1 + 1e-6)
        assert np.any(near & (np.abs(actual - y) <= 0.5 * found.width * (1 + 1e-6)))


def test_the_slope_is_that_of_a_regression_of_actual_on_predicted():
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=400)
    actual = 2.0 * predicted + 1.0 + rng.normal(size=400)
    line = LinearRegression().fit(predicted[:, None], actual)
    assert residuals(actual, predicted).slope == pytest.approx(line.coef_[0])


def test_what_is_off_is_called_so():
    rng = np.random.default_rng(0)
    predicted = rng.normal(size=2000)
    noise = rng.normal(size=2000)
    fine, shifted, steep = (
        residuals(actual, predicted)
        for actual in (predicted + noise, predicted + noise + 1.0, 2.0 * predicted + noise)
    )
    assert not fine.off
    assert shifted.biased and not shifted.askew and shifted.off
    assert steep.askew and not steep.biased and steep.off
    few = np.arange(4.0)
    assert not residuals(few + [1.5, -1.0, 1.0, -0.5], few).off


def test_equal_predictions_have_no_slope():
    found = residuals(np.array([1.0, 2.0, 3.0]), np.full(3, 2.0))
    assert found.slope is None and not found.askew and found.mean == 0.0
    same = residuals(np.full(3, 5.0), np.full(3, 5.0))
    assert same.size == 0.0 and len(same.cells) == 1
