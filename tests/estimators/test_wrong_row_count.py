"""A declared number of rows that is far off is told by the counts that are released anyway."""

import warnings

import numpy as np
import pytest

from dplasso import PrivateLassoClassifier, RowCountWarning
from dplasso.estimators.base import PrivateLasso

ROWS = 400
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (ROWS, 5))
Y = (X[:, 0] > 0).astype(int)


def fit(n_rows: int, **options: object) -> PrivateLasso:
    settings = {"epsilon": 5.0, "classes": [0, 1], "x_bound": 1.0, **options}
    groups = settings.pop("groups", None)
    labels = settings.pop("labels", Y)
    return PrivateLassoClassifier(n_rows=n_rows, **settings).fit(X, labels, groups=groups)


@pytest.mark.parametrize("solver", ["auto", "gradient", "frank_wolfe", "table"])
@pytest.mark.parametrize("times", [0.1, 10])
def test_ten_times_too_many_or_too_few_rows_are_told_and_stated(solver, times):
    wrong = int(times * ROWS)
    with pytest.warns(RowCountWarning, match=f"n_rows is declared as {wrong:,}, but"):
        model = fit(wrong, solver=solver, epsilon=50.0)  # noise far below the difference
    stated = model.privacy_["public"]["n_rows"]
    assert stated["value"] == wrong
    assert stated["source"].startswith("declared; the released counts say about ")
    assert "the released counts say about" in str(model.privacy_)


@pytest.mark.parametrize(("times", "is_told"), [(1.5, True), (0.6, False)])
def test_half_as_many_rows_too_many_are_told_and_too_few_are_not(times, is_told):
    """Training rows of three folds are two thirds of all; too few rows do little harm."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", RowCountWarning)
        fit(int(times * ROWS), epsilon=50.0)
    assert any(warning.category is RowCountWarning for warning in found) == is_told


def test_it_follows_from_the_released_counts_for_more_than_two_classes():
    labels = np.digitize(X[:, 0], [-0.3, 0.3])
    with pytest.warns(RowCountWarning):
        fit(10 * ROWS, classes=[0, 1, 2], labels=labels)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_rows": ROWS + ROWS // 10},  # noise hardly ever makes it half of that
        {"epsilon": 0.001, "n_rows": 5 * ROWS},  # noise could explain it
        {"class_weight": {0: 1.0, 1: 0.01}},  # rows count less than 1
        {"groups": np.arange(ROWS) // 10, "n_people": ROWS // 10},
        {"groups": np.arange(ROWS) // 10, "n_people": ROWS // 10, "rows_per_person": 3},
    ],
)
def test_nothing_is_told_where_it_may_be_right(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RowCountWarning)
        model = fit(**{"n_rows": ROWS, **options})
    assert "released counts say" not in str(model.privacy_)


def test_a_wrong_number_of_people_is_named_so():
    with pytest.warns(RowCountWarning, match="n_people is declared as 4,000"):
        fit(4000, groups=np.arange(ROWS), n_people=4000)
