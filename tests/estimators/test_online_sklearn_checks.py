"""All of scikit-learn's own checks of the online estimators, with privacy and without."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor

pytestmark = [
    # The checks pass labels without declaring them, and seeds.
    pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning"),
    # They also hand over column vectors, on purpose.
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.DataConversionWarning"),
]


@parametrize_with_checks(
    [
        PrivateOnlineClassifier(),
        PrivateOnlineClassifier(epsilon=math.inf, loss="smoothed_hinge", learner="oracle"),
        PrivateOnlineRegressor(window=100),
        PrivateOnlineRegressor(epsilon=math.inf, batch=3),
    ]
)
def test_scikit_learn_agrees(estimator, check):
    check(estimator)
