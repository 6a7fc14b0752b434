"""A trial costs the larger of its two parts, its score is bounded by row, and its fit is capped."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dplasso import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.estimators import Sparsifier
from dplasso.losses.labels import LabelRange
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy import zcdp
from dplasso.privacy.events import Gaussian
from dplasso.search.scoring import UNIT, scorer_for
from dplasso.search.trial import TrialBudget, split

TRUTH = (0.7, 0.3)  # of randomised response: a bit, and its opposite


def answer(bit, said):
    return TRUTH[0] if bit == said else TRUTH[1]


def answers(rows):
    """The law of what randomised response says of each of some rows, one release a row."""
    for said in itertools.product((0, 1), repeat=len(rows)):
        yield said, math.prod(answer(bit, word) for bit, word in zip(rows, said, strict=True))


def trial_law(rows, validation, *, shared=False):
    """The exact law of (fit, score) with a coin a row. A fit tells of training rows, by position;
    with `shared`, of all rows, as a careless one would."""
    law = {}
    for coins in itertools.product((0, 1), repeat=len(rows)):
        chance = math.prod(validation if coin else 1 - validation for coin in coins)
        train = [bit if shared or not coin else 0 for bit, coin in zip(rows, coins, strict=True)]
        test = [bit if coin else 0 for bit, coin in zip(rows, coins, strict=True)]
        for fit, p in answers(train):
            for score, q in answers(test):
                law[fit, score] = law.get((fit, score), 0.0) + chance * p * q
    return law


def divergence(first, second, order):
    return math.log(sum(p**order * second[x] ** (1 - order) for x, p in first.items())) / (
        order - 1
    )


ONE = {0: {0: TRUTH[0], 1: TRUTH[1]}, 1: {0: TRUTH[1], 1: TRUTH[0]}}


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
@pytest.mark.parametrize("validation", [0.2, 0.5])
def test_a_trial_costs_the_larger_of_its_parts(order, validation):
    alone = divergence(ONE[0], ONE[1], order)  # what the fit costs, and what the score costs
    for rows in itertools.product((0, 1), repeat=2):
        changed = (1 - rows[0], *rows[1:])
        found = divergence(trial_law(rows, validation), trial_law(changed, validation), order)
        assert found <= alone * (1 + 1e-12)


def test_a_row_in_both_parts_would_cost_more():
    law = [trial_law(rows, 0.5, shared=True) for rows in ((0, 0), (1, 0))]
    assert divergence(*law, 8.0) > 1.2 * divergence(ONE[0], ONE[1], 8.0)


@given(st.integers(0, 2**32), st.sampled_from([0.1, 0.5]))
def test_every_row_is_in_one_part(seed, validation):
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40)
    (X1, y1, _), (X2, y2, _) = split(X, y, validation, random_bits(seed))
    assert sorted([*y1, *y2]) == list(range(40))
    assert np.array_equal(X1[:, 0], y1) and np.array_equal(X2[:, 0], y2)


def test_the_split_does_not_look_at_rows():
    one = split(np.zeros((30, 1)), np.arange(30), 0.3, random_bits(5))
    other = split(np.ones((30, 1)), np.arange(30), 0.3, random_bits(5))
    assert np.array_equal(one[0][1], other[0][1])


class Fixed:
    """A model that predicts what it is told."""

    def __init__(self, predicted):
        self.predicted = np.asarray(predicted)

    def predict(self, X):
        return self.predicted


class Classes:
    def __init__(self, *classes):
        self.classes = list(classes)


class Numbers:
    def __init__(self, bound):
        self.y_bound = bound


WEIGHTS = {"a": 1.0, "b": 0.3, "c": 7.0}
OF_CLASSES = scorer_for(Classes("a", "b", "c"), "auto", WEIGHTS, 1.0)
OF_NUMBERS = {
    scoring: scorer_for(Numbers(1.0), scoring, None, 1.0)
    for scoring in ("auto", "squared_error", "absolute_error")
}


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=20), st.data())
def test_gains_of_a_classifier(labels, data):
    weights, scorer = WEIGHTS, OF_CLASSES
    said = data.draw(st.lists(st.sampled_from("abc"), min_size=len(labels), max_size=len(labels)))
    gains = scorer.gains(Fixed(said), None, np.array(labels, dtype=object))
    assert gains.min() >= 0 and gains.max() <= UNIT and gains.dtype == np.int64
    wanted = [weights[label] * (label == word) for label, word in zip(labels, said, strict=True)]
    assert np.allclose(gains / UNIT * scorer.most, wanted, atol=1e-5)


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(
    st.lists(st.tuples(numbers, st.floats(-1e6, 1e6)), min_size=1),
    st.floats(1e-3, 1e3),
    st.floats(-1e5, 1e5),
)
@pytest.mark.parametrize("scoring", OF_NUMBERS)
def test_gains_of_a_regressor(scoring, pairs, bound, low):
    scorer = OF_NUMBERS[scoring]._replace(labels=LabelRange.of((low, low + bound)))
    predicted, labels = map(np.array, zip(*pairs, strict=True))
    gains = scorer.gains(Fixed(predicted), None, labels)
    assert gains.min() >= 0 and gains.max() <= UNIT and gains.dtype == np.int64


def test_errors_count_up_to_the_bound():
    scorer = scorer_for(Numbers(2.0), "absolute_error", None, 1.0)
    gains = scorer.gains(Fixed([1.0, 9.0, -5.0, 0.0]), None, np.array([1.0, 9.0, 5.0, 0.5]))
    assert (gains / UNIT).tolist() == [1.0, 0.0, 0.0, 0.75]


def test_the_noise_of_a_score_is_what_is_stated():
    scorer = scorer_for(Classes(0, 1), "accuracy", {0: 1.0, 1: 4.0}, 3.0)
    bits = random_bits(1).generator
    y = np.array([0] * 50 + [1] * 10)
    drawn = np.array([scorer.release(Fixed(y), None, y, bits) for _ in range(3000)])
    assert drawn.mean() == pytest.approx(90.0, abs=5 * 12 / math.sqrt(3000))
    assert drawn.std() == pytest.approx(3.0 * 4.0, rel=0.07)
    assert zcdp.rho(Gaussian(scorer.multiplier)) == pytest.approx(1 / 18)


@pytest.mark.parametrize("weights", [{0: 1.0}, {0: 1.0, 1: 0.0}, {0: 1.0, 1: 1.0, 2: 1.0}, [1, 1]])
def test_weights_must_be_those_of_the_classes(weights):
    with pytest.raises(ValueError, match="^score_weights must"):
        scorer_for(Classes(0, 1), "auto", weights, 1.0)


def problem(sparse, rows=300):
    rng = np.random.default_rng(0)
    X = sp.random_array((rows, 40), density=0.4, rng=rng, format="csr")
    return (X if sparse else X.toarray()), (np.asarray(X[:, [3]].todense()).ravel() > 0).astype(int)


@pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("options", [{}, {"solver": "gradient"}, {"row_map": "sqrt"}])
def test_a_prediction_depends_on_its_own_row_to_the_last_bit(sparse, options):
    X, y = problem(sparse)
    model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=300, random_state=0, **options)
    margins = model.fit(X, y).decision_function(X)
    for part in (np.arange(7), np.arange(100, 300), np.array([5])):
        assert np.array_equal(model.decision_function(X[part]), margins[part])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"solver": "gradient"},
        {"n_nonzero": Sparsifier()},
        {"neighboring": "replace_one", "max_iter": 7},
        {"solver": "gradient", "neighboring": "replace_one", "row_map": "as_is"},
    ],
)
@pytest.mark.parametrize("kind", [PrivateLassoClassifier, PrivateLassoRegressor])
def test_a_fit_spends_the_budget_of_a_trial_and_no_more(kind, options, monkeypatch):
    X, y = problem(True)
    charged, charge = [], TrialBudget.charge

    def noted(self, event, **facts):
        charged.append(zcdp.rho(event))
        charge(self, event, **facts)

    monkeypatch.setattr(TrialBudget, "charge", noted)
    for rho in (0.003, 0.5):
        epsilon = zcdp.epsilon_of(rho, 1e-6)
        model = kind(epsilon, n_rows=300, accountant=TrialBudget(rho), **options)
        if kind is PrivateLassoClassifier:
            model.set_params(classes=[0, 1])
        model.fit(X, y)
        assert rho * (1 - 1e-9) <= charged.pop() <= rho
        with pytest.raises(ValueError, match="more than was planned"):
            model.set_params(accountant=TrialBudget(rho * (1 - 1e-9))).fit(X, y)
