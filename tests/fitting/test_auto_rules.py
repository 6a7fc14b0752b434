"""Public rules behind "auto": which fits are tables, and how large the ball is."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier
from dplasso.data import ColumnBounds
from dplasso.fitting.auto_rules import LARGEST_REACH, auto_reach, converged_reach, is_table

ROWS, COLUMNS, DELTA = 30_000, 120, 1e-9


@given(st.floats(0.01, 50.0), st.integers(1, 10**7), st.integers(1, 300))
def test_a_table_of_columns_that_share_one_bound_is_one_with_ranges_too(epsilon, rows, columns):
    shared, own = (
        is_table(epsilon, DELTA, rows, columns, 1, False, own_bounds)
        for own_bounds in (False, True)
    )
    assert own or not shared


@pytest.mark.parametrize(
    ("x_bound", "solver"),
    [
        (1.0, "gradient"),
        ([1.0] * COLUMNS, "gradient"),
        ([1.0, 40.0] * (COLUMNS // 2), "table"),
        ([(0.0, 1.0)] * COLUMNS, "table"),
        ([(18.0, 90.0), *[1.0] * (COLUMNS - 1)], "table"),
    ],
)
def test_few_rows_are_a_table_only_if_columns_have_bounds_of_their_own(x_bound, solver):
    def chosen(epsilon):
        model = PrivateLassoClassifier(epsilon, DELTA, classes=[0, 1], n_rows=ROWS, x_bound=x_bound)
        return model.plan(ROWS, COLUMNS).solver

    assert chosen(0.1) == solver
    assert chosen(1.0) == "table"
    assert chosen(0.001) == "table"  # hardly seen at all: shares of the classes are returned


def test_numbers_and_more_classes_are_tables_whatever_their_bounds():
    for outputs, of_numbers in ((1, True), (5, False)):
        assert is_table(0.1, DELTA, ROWS, COLUMNS, outputs, of_numbers, own_bounds=False)


def test_bounds_differ_if_any_column_has_its_own():
    assert not ColumnBounds.of(2.0, 3).differ
    assert not ColumnBounds.of([2.0, 2.0, 2.0], 3).differ
    assert ColumnBounds.of([2.0, 1.0, 2.0], 3).differ
    assert ColumnBounds.of([(0.0, 2.0), (0.0, 2.0), (0.0, 2.0)], 3).differ


@given(st.integers(1, 10**7), st.integers(1, 10**5), st.integers(2, 100))
def test_without_privacy_every_class_has_the_reach_of_one_output_at_least(rows, columns, outputs):
    assert converged_reach(rows, columns, outputs) >= LARGEST_REACH * outputs
    assert converged_reach(rows, columns, 1) == LARGEST_REACH


def test_many_classes_are_fitted_no_worse_without_privacy_than_with_it():
    rng = np.random.default_rng(0)
    centres, y = rng.uniform(-1.0, 1.0, (30, 4)), np.arange(600) % 30
    X = np.clip(centres[y] + 0.05 * rng.normal(size=(600, 4)), -1.0, 1.0)
    given = {"classes": list(range(30)), "n_rows": 600, "x_bound": [(-1.0, 1.0)] * 4}
    exact, private = (PrivateLassoClassifier(e, **given).fit(X, y) for e in (math.inf, 10.0))
    assert exact.score(X, y) >= private.score(X, y) - 0.01
    # The rule for a number of rounds would restrict the weights too much.
    radius = auto_reach(math.inf, 1e-6, 600, 4, 30)
    restricted = PrivateLassoClassifier(math.inf, radius=radius, **given).fit(X, y)
    assert exact.score(X, y) > restricted.score(X, y) + 0.1


def test_a_given_number_of_rounds_keeps_the_rule_of_rounds():
    given = {"classes": list(range(20)), "n_rows": 4_000, "x_bound": 1.0}
    plan = PrivateLassoClassifier(math.inf, max_iter=50, **given).plan(4_000, 6)
    assert plan.to_dict()["bounds"]["radius"]["value"] == 125.0
