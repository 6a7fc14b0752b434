"""Weights and probabilities are functions of the opened matrix, and sensible ones."""

import math

import numpy as np
import pytest

from dplasso.base.wording import ParameterError
from dplasso.federated.moments import simulate_moments
from dplasso.federated.moments.odds import without_own_noise
from dplasso.federated.moments.opened import Moments
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.shrunk import Shrunk
from dplasso.federated.moments.weights import fit_moments
from moment_jobs import agreed


def job(n=4000, classes=0, epsilon=math.inf, seed=0, **options):
    """Two parties; the labels follow some of five features."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, 5))
    line = X @ np.array([1.0, 0.0, -0.6, 0.0, 0.4])
    if classes == 0:
        y = line + 0.1 * rng.normal(size=n)
    elif classes == 2:
        y = (line + 0.2 * rng.normal(size=n) > 0.2).astype(int)
    else:
        y = np.argmax(X[:, :classes] + 0.1 * rng.normal(size=(n, classes)), axis=1)
    bounds = {"p0": 2.0, "p1": 2.0}
    terms = agreed(
        (2, 3), n_rows=n, n_classes=classes, epsilon=epsilon, row_bounds=bounds, **options
    )
    return terms, {"p0": X[:, :2], "p1": X[:, 2:]}, y


def test_without_privacy_weights_are_those_of_least_squares():
    terms, blocks, y = job()
    model = simulate_moments(terms, blocks, np.clip(y, -1, 1)).model
    whole = np.hstack([*blocks.values(), np.ones((len(y), 1))])
    expected = np.linalg.lstsq(whole, np.clip(y, -1, 1), rcond=None)[0]
    found = np.append(model.coefficients[:, 0], model.intercepts)
    assert found == pytest.approx(expected, abs=2e-4)


def test_numbers_are_in_the_units_of_labels():
    terms, blocks, y = job(y_bound=50.0)
    model = simulate_moments(terms, blocks, 30.0 * y).model
    found = model.numbers(model.scores(blocks))
    assert np.corrcoef(found, y)[0, 1] > 0.9
    assert np.mean((found - 30.0 * y) ** 2) < 0.1 * np.var(30.0 * y)


def test_parts_of_parties_add_up_to_the_scores():
    terms, blocks, y = job(epsilon=3.0)
    model = simulate_moments(terms, blocks, y, random_state=0).model
    parts = [model.part_scores(name, X) for name, X in blocks.items()]
    assert np.allclose(sum(parts), model.scores(blocks))
    assert [len(model.part(name)) for name in terms.names] == [2, 3]


def test_weights_stay_within_their_ball_and_their_number():
    terms, blocks, y = job(epsilon=3.0)
    moments = simulate_moments(terms, blocks, y, random_state=0).moments
    free = fit_moments(moments)
    for radius in (0.1, 0.5, 100.0):
        inside = fit_moments(moments, radius=radius)
        assert np.abs(inside.coefficients).sum() <= radius
        if radius == 100.0:
            assert inside.coefficients == pytest.approx(free.coefficients, abs=1e-6)
    few = fit_moments(moments, n_nonzero=2)
    assert np.flatnonzero(few.coefficients[:, 0]).tolist() == [0, 2]


def test_noise_alone_makes_small_weights():
    terms, blocks, y = job(n=200, epsilon=0.05)
    for seed in range(3):
        model = simulate_moments(terms, blocks, y, random_state=seed).model
        assert np.linalg.norm(model.coefficients) < 1.5


@pytest.mark.parametrize(("classes", "least"), [(2, 0.8), (3, 0.6)])
def test_probabilities_come_true(classes, least):
    terms, blocks, y = job(n=20_000, classes=classes, epsilon=1.0)
    model = simulate_moments(terms, blocks, y, random_state=1).model
    scores = model.scores(blocks)
    chances = model.probabilities(scores)
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(y)))
    hits = model.classes(scores) == y
    assert hits.mean() > least
    # The rules are cautious: rather less sure than they might be.
    assert -0.1 < chances.max(axis=1).mean() - hits.mean() < 0.03
    for place in range(classes):
        assert chances[:, place].mean() == pytest.approx(np.mean(y == place), abs=0.05)


def test_what_weights_fit_of_the_noise_is_taken_out():
    """Over many noises: what the matrix says of the weights that follow from it, and the truth."""
    options = {"n_classes": 2, "n_rows": 4000, "row_bounds": {"p0": 1.8, "p1": 1.8}}
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (4000, 60)) * np.where(np.arange(60) % 40 == 0, 1.0, 0.3)
    y = (X[:, 0] + X[:, 40] + 0.5 * rng.normal(size=4000) > 0.1).astype(int)
    blocks = {"p0": X[:, :30], "p1": X[:, 30:]}
    exact = simulate_moments(agreed((30, 30), epsilon=math.inf, **options), blocks, y).moments
    plan = moment_plan(agreed((30, 30), epsilon=3.0, **options))
    sigmas = np.sqrt(Moments.read(plan, np.zeros(exact.products.shape, np.int64)).variances)
    assert len(np.unique(sigmas[:60, :60])) == len(np.unique(sigmas[:60, 61])) == 2
    found = []
    for _ in range(100):
        noise = np.triu(rng.normal(size=exact.products.shape), 1) * sigmas
        noise += np.diag(rng.normal(size=len(noise)) * np.diag(sigmas)) / math.sqrt(2)
        moments = Moments(plan, exact.products + noise + noise.T, sigmas**2)
        shrunk = Shrunk(moments.spreads, moments.sigma, 1.0)
        weights = shrunk.solved(moments.slopes)
        along, spread = without_own_noise(moments, shrunk, np.arange(60), weights)
        w = weights[:, 0]
        naive = w @ moments.slopes[:, 0], w @ moments.spreads @ w
        true = w @ exact.slopes[:, 0], w @ exact.spreads @ w
        found.append(((along[0], spread[0]), naive, true))
    corrected, naive, true = np.mean(found, axis=0)
    assert np.all(np.abs(corrected - true) < 0.35 * np.abs(naive - true))


def test_normal_classes_get_their_exact_log_odds():
    """Two normal classes of equal spread, exact moments: the odds of the discriminant are exact."""
    terms, _, _ = job(classes=2)
    share, gap, spread = 0.3, np.array([0.3, -0.1, 0.0, 0.2, 0.0]), 0.04
    p, q, n = share, 1 - share, 4000.0
    means, label = p * gap, p - q
    within = spread * np.eye(5)
    products = np.zeros((7, 7))
    products[:5, :5] = n * (within + p * np.outer(gap, gap))
    products[:5, 5] = products[5, :5] = n * means
    products[:5, 6] = products[6, :5] = n * p * gap
    products[5, 5] = products[6, 6] = n
    products[5, 6] = products[6, 5] = n * label
    model = fit_moments(Moments(moment_plan(terms), products, np.zeros((7, 7))))
    rows = np.random.default_rng(0).normal(size=(50, 5))
    scores = rows @ model.coefficients + model.intercepts
    odds = scores * model.odds.slope + model.odds.intercept
    exact = math.log(p / q) + rows @ gap / spread - gap @ gap / (2 * spread)
    assert odds[:, 0] == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("sigma", [0.0, 20.0])
def test_several_normal_classes_get_their_log_odds(sigma):
    """Exact moments give the exact discriminant; known noise makes it more careful."""
    terms, _, _ = job(classes=3)
    rng = np.random.default_rng(0)
    shares, centres, n = np.array([0.2, 0.3, 0.5]), rng.uniform(-0.3, 0.3, (3, 5)), 4000.0
    within = 0.04 * np.eye(5) + 0.01
    products = np.full((9, 9), np.nan)
    products[:5, :5] = n * (within + (centres.T * shares) @ centres)
    products[:5, 5] = n * shares @ centres
    products[:5, 6:] = n * (shares[:, None] * centres).T
    products[5, 5], products[5, 6:] = n, n * shares
    variances = np.full((9, 9), sigma**2)
    variances[:, 6:] /= 4.0
    model = fit_moments(Moments(moment_plan(terms), products, variances))
    rows = rng.normal(size=(50, 5))
    scores = rows @ model.coefficients + model.intercepts
    away = rows[:, None, :] - centres
    squares = np.einsum("ijk,kl,ijl->ij", away, np.linalg.inv(within), away)
    exact = np.log(shares) - squares / 2.0
    scores, exact = (each - each.mean(axis=1, keepdims=True) for each in (scores, exact))
    if sigma == 0.0:
        assert scores == pytest.approx(exact, rel=1e-5, abs=1e-6)
        assert np.array_equal(model.classes(scores), exact.argmax(axis=1))
    else:
        assert 0.3 < np.std(scores) / np.std(exact) < 0.95


def test_classes_that_are_noise_get_their_shares():
    """Labels at random: probabilities are the shares of classes, for all rows alike."""
    rng = np.random.default_rng(0)
    terms, blocks, _ = job(n=2000, classes=5, epsilon=0.3)
    y = rng.choice(5, 2000, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    alike = 0
    for seed in range(20):
        model = simulate_moments(terms, blocks, y, random_state=seed).model
        alike += not np.any(model.coefficients)
    assert alike >= 16


@pytest.mark.parametrize("classes", [2, 4])
def test_no_probability_is_0_however_large_the_noise(classes):
    terms, blocks, y = job(n=200, classes=classes, epsilon=0.01)
    for seed in range(5):
        model = simulate_moments(terms, blocks, y, random_state=seed).model
        chances = model.probabilities(1e6 * model.scores(blocks))
        assert chances.min() >= 1e-5 and chances.sum(axis=1) == pytest.approx(1.0)


def test_numbers_have_no_probabilities():
    terms, blocks, y = job()
    model = simulate_moments(terms, blocks, y).model
    with pytest.raises(ParameterError, match="n_classes"):
        model.probabilities(model.scores(blocks))
