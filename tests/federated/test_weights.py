"""Weights: within the ball in every round, and where there is no noise, at the optimum."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.federated import simulate
from dplasso.federated.alignment import places_of
from dplasso.federated.sampling import Sampling
from dplasso.federated.simulation import _SECRET
from dplasso.kernels.projections import onto_l1_ball
from federations import agreed, made

SAMPLINGS = [
    {"sampling": "party"},
    {"sampling": "serial"},
    {"sampling": "nice", "tau": 6},
    {"sampling": "distributed", "tau": 2},
    {"sampling": "arbitrary", "probabilities": (0.5,) * 4},
]
FOUR = {"a": 5, "b": 5, "c": 5, "d": 5}


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(SAMPLINGS),
    st.sampled_from(["corrective", "universal"]),
    st.floats(0.01, 100.0),
    st.sampled_from([0.5, 4.0, math.inf]),
    st.integers(0, 1000),
)
def test_the_radius_is_kept_after_every_round(sampling, step, radius, epsilon, seed):
    terms = agreed(FOUR, "a", radius=radius, step=step, epsilon=epsilon, seed=seed, **sampling)
    data, norms = made(features=FOUR, seed=seed), []

    def watch(coordinator):
        norms.append(np.abs(coordinator.weights.values).sum())

    outcome = simulate(terms, data.blocks, data.y, random_state=seed, watch=watch)
    assert max(norms) <= radius * (1.0 + 1e-12)
    assert sum(map(abs, outcome.card.weights)) == pytest.approx(norms[-1], rel=1e-12)


def signal_in_one_party(rows=60, seed=0):
    """Centred columns, labels of the last party's features alone, and identifiers that share no
    place: the sketch of as many numbers as places loses nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (rows, 20))
    y = 0.9 * X[:, 16] - 0.8 * X[:, 18] + 0.3 * X[:, 19] + 0.02 * rng.normal(size=rows)
    universe = agreed(n_rows=rows).universe
    people, taken = [], set()
    for k in itertools.count():
        place = int(places_of([k], _SECRET, universe).places[0])
        if place not in taken:
            people.append(k)
            taken.add(place)
        if len(people) == rows:
            break
    blocks = {name: X[:, 5 * k : 5 * k + 5] for k, name in enumerate(FOUR)}
    return X, y, blocks, people, universe


def loss_of(X, y, w):
    left = (X - X.mean(axis=0)) @ w - (y - y.mean())
    return float(left @ left) / (2 * len(y))


def best(X, y, fits):
    """The least loss by projected gradient, the projection being onto ``fits``."""
    A, b = X - X.mean(axis=0), y - y.mean()
    w, pace = np.zeros(X.shape[1]), len(y) / np.linalg.norm(A, 2) ** 2
    for _ in range(20_000):
        w = fits(w - pace * A.T @ (A @ w - b) / len(y))
    return loss_of(X, y, w)


def weights_of(card):
    w = np.zeros(20)
    for party, feature, weight in zip(card.parties, card.features, card.weights, strict=True):
        w["abcd".index(party) * 5 + feature] = weight
    return w


@pytest.mark.parametrize("radius", [0.7, 5.0])
def test_corrective_steps_reach_the_optimum_where_one_party_has_all_the_signal(radius):
    X, y, blocks, people, universe = signal_in_one_party()
    terms = agreed(
        FOUR, "a", n_rows=60, epsilon=math.inf, rounds=20, sketch_size=universe, radius=radius
    )
    card = simulate(terms, blocks, y, identifiers=people).card
    optimum = best(X, y, lambda w: onto_l1_ball(w, radius))
    start = loss_of(X, y, np.zeros(20))
    found = loss_of(X, y, weights_of(card))
    assert optimum * (1.0 - 1e-6) <= found <= optimum * 1.01 + 1e-5 * start


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_universal_steps_converge_under_each_sampling(sampling):
    """To the best of the product of balls, as fast as their theorem says: like 1 / (p t)."""
    X, y, blocks, people, universe = signal_in_one_party()
    radius, rounds = 2.4, 300
    terms = agreed(
        FOUR, "a", n_rows=60, epsilon=math.inf, rounds=rounds, sketch_size=universe, radius=radius,
        step="universal", **sampling,
    )  # fmt: skip
    losses = []

    def watch(coordinator):
        if coordinator.card().rounds_done % 20 == 1 or coordinator.done:
            losses.append(loss_of(X, y, weights_of(coordinator.card())))

    simulate(terms, blocks, y, identifiers=people, watch=watch)

    def product(w):
        parts = [onto_l1_ball(part, radius / 4) for part in w.reshape(4, 5)]
        return np.concatenate(parts)

    optimum, chance = best(X, y, product), Sampling(terms).least_probability
    curvature = 4 * (2 * radius / 4) ** 2 * 0.25 / 2  # of the loss over the product, at most
    start, gaps = loss_of(X, y, np.zeros(20)) - optimum, np.array(losses) - optimum
    assert gaps.min() > -1e-6
    assert gaps[-1] <= 4.0 * (curvature + start) / (chance * rounds + 4.0)
    assert gaps[-1] < 0.5 * start


def test_universal_steps_are_those_of_the_sampling():
    """One party, one feature: the weight after t rounds follows from the steps alone."""
    terms = agreed({"a": 1}, "a", epsilon=math.inf, rounds=8, step="universal", radius=3.3)
    X = np.linspace(-1, 1, 40)[:, None]
    card = simulate(terms, {"a": X}, X[:, 0]).card
    signs, weight = [], 0.0
    for t in range(8):
        gradient = weight - 1.0
        signs.append(-1.0 if gradient > 0 else 1.0)
        eta = 2.0 / (t + 2.0)
        weight = (1.0 - eta) * weight + eta * 3.3 * signs[-1]
    assert card.weights == [pytest.approx(weight, rel=1e-9)]


def test_more_privacy_costs_accuracy_and_less_gives_it_back():
    """On rows enough: a sanity check of signs, scales and centres all the way through."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0], (4000, 8)) + 0.0
    y = 0.5 * X[:, 1] - 0.5 * X[:, 6] + 0.2
    blocks, errors = {"bank": X[:, :4], "shop": X[:, 4:]}, []
    for epsilon in (math.inf, 20.0, 0.05):
        terms = agreed(
            {"bank": 4, "shop": 4}, n_rows=4000, epsilon=epsilon, rounds=8, sketch_size=1000
        )
        outcome = simulate(terms, blocks, y, random_state=0)
        errors.append(float(np.mean((outcome.margins(blocks) - y) ** 2)))
    assert errors[0] < 0.01 * y.var() and errors[0] < errors[1] < 0.5 * y.var() < errors[2]
