"""All of scikit-learn's own checks, with little privacy and with the default budget."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor

pytestmark = [
    # The checks pass labels without declaring them, and seeds.
    pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning"),
    # They also hand over column vectors, on purpose.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
]


@parametrize_with_checks(
    [
        PrivateLassoClassifier(),
        PrivateLassoClassifier(epsilon=1e4),
        PrivateLassoClassifier(epsilon=math.inf),
        PrivateLassoRegressor(),
        PrivateLassoRegressor(epsilon=1e4),
        PrivateLassoRegressor(epsilon=math.inf),
        PrivateLassoClassifier(solver="gradient"),
        PrivateLassoClassifier(epsilon=1e4, solver="auto"),
        PrivateLassoClassifier(epsilon=1e4, solver="auto", n_nonzero=4),
        PrivateLassoRegressor(epsilon=1e4, solver="gradient"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_class_weight_classifiers": "it passes weights above 1, and ours are at most 1"
    },
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
